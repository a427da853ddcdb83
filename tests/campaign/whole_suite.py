"""The whole suite in a fresh clone: under every Python of this machine, and as an ordinary user.

Each run sets itself up as the README says, in an environment of its own. What is not committed is not in the
clone, which the report says.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MINOR_VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14))
"""What the program promises to run on."""
SYSTEM_PYTHON = Path("/usr/bin/python3")
_ASK = (
    "import platform, sys; print(platform.python_implementation(),"
    " getattr(sys, '_base_executable', '') or sys.executable, platform.python_version(), sep='\\n')"
)
_COUNTS = re.compile(r"\b(\d+) (passed|failed|skipped|errors?|xfailed)\b")
_PROBLEM = re.compile(r"^ *(?:FAILED|ERROR)\b.*$", re.MULTILINE)
_MOST_TOLD = 30


@dataclass(frozen=True)
class Interpreter:
    """One CPython that can make environments."""

    program: Path
    version: tuple[int, ...]

    @property
    def minor(self) -> tuple[int, ...]:
        return self.version[:2]

    def __str__(self) -> str:
        return f"Python {'.'.join(map(str, self.version))} ({self.program})"


@dataclass(frozen=True)
class SuiteRun:
    """What one run of the suite came to."""

    counts: dict[str, int]
    problems: tuple[str, ...]
    seconds: float
    code: int

    @property
    def kept(self) -> bool:
        return self.code == 0 and self.counts.get("passed", 0) > 0

    def lines(self, title: str) -> list[str]:
        names = ("passed", "failed", "skipped")
        numbers = ", ".join(f"{self.counts.get(name, 0):,} {name}" for name in names)
        errors = self.counts.get("errors", 0) + self.counts.get("error", 0)
        verdict = "" if self.kept else f", BROKEN (exit code {self.code})"
        told = [f"{title}: {numbers}{f', {errors} errors' if errors else ''}, {self.seconds:.0f} s{verdict}"]
        return told + [f"  {problem}" for problem in self.problems[:_MOST_TOLD]]


def asked(program: Path, **how: object) -> Interpreter | None:
    """The interpreter behind a program; None for what is no CPython. An environment stands for the Python
    that made it."""
    try:
        done = subprocess.run(  # type: ignore[call-overload]
            [program, "-I", "-c", _ASK], capture_output=True, text=True, check=False, timeout=60, **how
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = done.stdout.splitlines()
    if done.returncode or len(words) != 3 or words[0] != "CPython":
        return None
    version = tuple(int(part) for part in re.findall(r"\d+", words[2])[:3])
    return Interpreter(Path(words[1]), version)


def candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    """Programs that may be a Python: the system's, on PATH, pyenv's, the one that runs this."""
    yield SYSTEM_PYTHON
    names = ("python3", *(f"python{major}.{minor}" for major, minor in MINOR_VERSIONS))
    for folder in [Path("/usr/bin"), *map(Path, environ.get("PATH", "").split(os.pathsep))]:
        yield from (folder / name for name in names if (folder / name).is_file())
    pyenv = Path(environ.get("PYENV_ROOT") or Path(environ.get("HOME", "/")) / ".pyenv")
    yield from sorted(pyenv.glob("versions/*/bin/python3"))
    yield Path(sys.executable)


def chosen(found: Iterable[Interpreter | None], named: Iterable[Interpreter]) -> list[Interpreter]:
    """The newest of each minor version, the system's own, and those that were `named`; each once."""
    usable = [one for one in found if one is not None and one.minor >= MINOR_VERSIONS[0]]
    newest: dict[tuple[int, ...], Interpreter] = {}
    for one in usable:
        if one.minor not in newest or one.version > newest[one.minor].version:
            newest[one.minor] = one
    system = [one for one in usable if one.program == SYSTEM_PYTHON]
    once = {one.program: one for one in [*newest.values(), *named, *system]}
    return sorted(once.values(), key=lambda one: one.version)


def run_pythons(
    directory: Path, programs: Iterable[Path], tests: Sequence[str] = ()
) -> tuple[list[str], bool]:
    """The suite (or `tests` of it) under each minor version of Python, the system's own, and `programs`."""
    told, kept = uncommitted(), True
    named = []
    for program in programs:
        one = asked(Path(shutil.which(program) or program).absolute())
        if one is None:
            told, kept = [*told, f"{program} is no CPython: BROKEN"], False
        else:
            named.append(one)
    pythons = chosen(map(asked, dict.fromkeys(candidates(os.environ))), named)
    here = {one.minor for one in pythons}
    for minor in MINOR_VERSIONS:
        if minor not in here:
            told.append(f"Python {minor[0]}.{minor[1]} is not installed")
    for number, python in enumerate(pythons):
        clone = fresh_clone(directory / f"clone-{number}")
        environment = {**clean_environment(os.environ), "HOME": os.environ.get("HOME", str(directory))}
        done = run_suite(clone, python, environment, tests)
        told += done.lines(str(python))
        kept = kept and done.kept
        shutil.rmtree(clone)
    return told, kept


def run_user(directory: Path, tests: Sequence[str] = ()) -> tuple[list[str], bool]:
    """The whole suite (or `tests` of it) as a user without rights, in a clone and a home of its own."""
    home = directory / "home"
    home.mkdir()
    clone = fresh_clone(directory / "clone")
    how: dict[str, object] = {}
    if os.name == "posix" and os.geteuid() == 0:
        import pwd  # there is none on Windows

        user = pwd.getpwnam("nobody")
        how = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        for folder, _folders, files in os.walk(directory):
            for name in (".", *files):
                os.chown(Path(folder, name), user.pw_uid, user.pw_gid, follow_symlinks=False)
    for program in dict.fromkeys([Path(sys.executable), *candidates(os.environ)]):
        # root's own Python may lie where nobody else may look.
        python = asked(program, cwd=directory, **how)
        if python is not None and python.minor >= MINOR_VERSIONS[0]:
            break
    else:
        return ["No Python can be started as an ordinary user."], False
    environment = {**clean_environment(os.environ), "HOME": str(home)}
    done = run_suite(clone, python, environment, tests, **how)
    who = "nobody" if how else "this user"
    return [*uncommitted(), *done.lines(f"as {who}, {python}")], done.kept


def uncommitted() -> list[str]:
    """A sentence if the checkout has changes that the clones lack."""
    status = ["git", "-C", str(ROOT), "status", "--porcelain"]
    done = subprocess.run(status, capture_output=True, text=True, check=True)
    changed = len(done.stdout.splitlines())
    return [f"{changed} uncommitted changes are not in the clones"] if changed else []


def fresh_clone(place: Path) -> Path:
    """The checkout's HEAD as somebody gets it who clones it."""
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(place)], check=True)
    return place


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What an ordinary run has: nothing of the campaign, nothing of another user's home."""
    foreign = ("REVERIE_", "XDG_", "VIRTUAL_ENV", "PYTHON", "QT_", "HOME", "USER", "LOGNAME", "MAIL")
    return {name: value for name, value in environ.items() if not name.startswith(foreign)}


def run_suite(
    clone: Path, python: Interpreter, environment: Mapping[str, str], tests: Sequence[str], **how: object
) -> SuiteRun:
    """`dev.py test` under one interpreter, from set-up to the counts."""
    began = time.monotonic()
    done = subprocess.run(  # type: ignore[call-overload]
        [python.program, clone / "packaging" / "dev.py", "test", "--python", python.program, "--", *tests],
        cwd=clone,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        **how,
    )
    return outcome(done.stdout, done.returncode, time.monotonic() - began)


def outcome(output: str, code: int, seconds: float) -> SuiteRun:
    """The counts of the last line that has any, and every line that names a failure."""
    # What runs beside the tests is told as a step, with counts of its own.
    lines = [line for line in output.splitlines() if not line.startswith("  ok ")]
    summaries = [found for line in lines if (found := _COUNTS.findall(line))]
    counts = {name: int(number) for number, name in summaries[-1]} if summaries else {}
    problems = [problem.strip() for problem in _PROBLEM.findall(output)]
    if code and not problems:
        problems = lines[-5:]
    return SuiteRun(counts, tuple(problems), seconds, code)
