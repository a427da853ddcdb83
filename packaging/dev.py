"""The development commands of this project. They need only a bare CPython 3.11 with pip and venv.

Only the standard library is used. `setup` creates `.venv` with the exact versions of the two lock files and
the project in editable mode, and looks for system libraries that Qt needs and does not find. The other
commands run `setup` first. A stamp inside the environment (a hash over the lock files, the Python version,
the path of the checkout and this file) shows that the environment is up to date, so that a second run starts
at once. The stamp is removed before the first change and written after the last one, so an interrupted set-up
is repeated. Pip's own configuration (proxies, mirrors) is respected; no registry is named here.

Messages of this program go to stderr, because stdout belongs to the command that is run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pips import in_portions, missing_venv_message, outer_python, pip_for, reaches
from system_libraries import WINDOW_PACKAGES, debian_packages, libraries_message, qt_misses

ROOT = Path(__file__).resolve().parent.parent
VENV = Path(os.environ.get("REVERIE_VENV") or ROOT / ".venv")
LOCKS = (ROOT / "packaging" / "requirements.txt", ROOT / "packaging" / "requirements-dev.txt")
# What `package` builds with, in an environment of its own (`build/venv`).
PACKAGE_LOCK = ROOT / "packaging" / "requirements-package.txt"
PICTURES = ROOT / "packaging" / "pictures.py"
OLDEST_PYTHON = (3, 11)
# -P: without it `-m` would import from the caller's current directory first.
REVERIE = ("-P", "-m", "reverie")
# Root may open any file, which hides mistakes: of these, one test in USER_SHARE runs without its rights too.
USER_TESTS = (
    *(f"tests/unit/{package}" for package in ("files", "agents", "memory", "runs", "services")),
    "tests/unit/test_settings.py",
    "tests/unit/test_profile.py",
    "tests/end2end/test_bad_homes.py",
)
USER_SHARE = 20
OWN_TEXTS = (
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    *(f"resources/guide/{file.name}" for file in sorted((ROOT / "resources" / "guide").glob("*.md"))),
)
"""The names of the texts that this project writes about itself: its documents and the pages of the guide."""
TEST_COUNTS = re.compile(r"^(\d+ passed.*?)(?:, \d+ deselected)?(?: in [\d.]+s.*)?$", re.MULTILINE)
"""Matches the last line of pytest's output: the counts without the time."""
LOCK_HEADER = "# Exact versions and hashes, without addresses, made by `packaging/dev.py lock`.\n"

USAGE = """\
usage: python3 packaging/dev.py COMMAND [ARGUMENTS...]

  run [ARGUMENTS...]   set up, then open the window; arguments go to reverie (`run --home DIR`)
  test [--python PATH] [-- ARGUMENTS]
                       set up, then the whole check: ruff, mypy, layers, tests; arguments go to pytest.
                       With --python: under that interpreter, in an environment of its own below build/
  setup                make .venv with the locked versions, install what Qt needs
  bench                print the budgets as ratios, measured in one run
  campaign             the full counts of the promises (takes long); writes a report (`--report FILE`)
  shots [DIR]          render all screenshots into DIR; without it, take those of the README anew
  package [PART...]    build and check in dist/ what people install: wheel, program, deb (without PART all)
  translate            take new texts into resources/translations (--missing, --fill FILE)
  lock [--upgrade]     make the lock files again from pyproject.toml (needs uv)
"""


class Stop(Exception):
    """Raised if the command cannot go on; the text says what is wrong and what to do about it."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def python_in(venv: Path, *, windows: bool = os.name == "nt") -> Path:
    return venv / "Scripts" / "python.exe" if windows else venv / "bin" / "python"


def venv_version(venv: Path) -> tuple[int, ...]:
    """Return the Python version of the environment `venv` from its `pyvenv.cfg`; `()` if it is unusable."""
    try:
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    pairs = (line.partition("=") for line in lines)
    values = {name.strip(): value.strip() for name, _, value in pairs}
    # `venv` writes `version`, virtualenv and uv write `version_info`.
    text = values.get("version") or values.get("version_info", "")
    numbers = tuple(int(part) for part in text.split(".")[:3] if part.isdigit())
    return numbers if python_in(venv).exists() else ()


def child_environment(environ: Mapping[str, str], *, linux: bool | None = None) -> dict[str, str]:
    """Return the environment variables for the programs that this file starts."""
    unwanted = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "__PYVENV_LAUNCHER__"}
    # Each of the many processes that the tests start would compile what has changed since the set-up.
    unwanted.add("PYTHONDONTWRITEBYTECODE")
    child = {name: value for name, value in environ.items() if name not in unwanted}
    child["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    locale = next((child[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if child.get(name)), "C")
    if locale in {"C", "POSIX"} and (sys.platform.startswith("linux") if linux is None else linux):
        # Qt warns about any locale that is not UTF-8.
        child["LC_ALL"] = "C.UTF-8"
    return child


def stamp_of(files: Iterable[Path], *facts: str) -> str:
    """Return one hash over the contents of `files` and over `facts`; it changes if any of them changes."""
    digest = hashlib.sha256()
    for piece in [*(file.read_bytes() for file in files), *(fact.encode() for fact in facts)]:
        digest.update(hashlib.sha256(piece).digest())
    return digest.hexdigest()


def step(title: str, command: Sequence[str | Path], *, cwd: Path = ROOT) -> bool:
    """Run a command; print one line with `title` if it succeeds, its whole output if not.

    Return True if it succeeded.
    """
    went_well, sentence = quietly(title, command, cwd=cwd)
    say(sentence)
    return went_well


def quietly(title: str, command: Sequence[str | Path], *, cwd: Path = ROOT) -> tuple[bool, str]:
    """Run a command without printing its output; return True if it succeeded, and a text to print about it.

    `title` names the command in that text.
    """
    began = time.monotonic()
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=child_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    took = time.monotonic() - began
    if done.returncode == 0:
        counts = TEST_COUNTS.findall(done.stdout)[-1:]
        return True, f"  ok      {': '.join([title, *counts])} ({took:.1f} s)"
    words = shlex.join(str(part) for part in command)
    return False, f"  FAILED  {title} ({took:.1f} s): {words}\n{done.stdout.rstrip()}"


def must(title: str, command: Sequence[str | Path], advice: str) -> None:
    if not step(title, command):
        raise Stop(advice)


def make_venv() -> None:
    from_outside = reaches(outer_python())
    needed = ("venv",) if from_outside else ("venv", "ensurepip")
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        if can_apt():
            apt_install([package])
        else:
            raise Stop(missing_venv_message(missing, package, debian=Path("/etc/debian_version").exists()))
    must(
        "make .venv",
        [sys.executable, "-m", "venv", "--clear", *(["--without-pip"] if from_outside else []), VENV],
        "The virtual environment could not be made; see the output above.",
    )


def ensure_packages() -> Path:
    """Install what the lock files list into the environment, unless the stamp shows that this is done.

    Return the Python of the environment.
    """
    python = python_in(VENV)
    if venv_version(VENV) < OLDEST_PYTHON:
        make_venv()
    stamp_file = VENV / "reverie-setup-stamp"
    sources = [*LOCKS, ROOT / "pyproject.toml", Path(__file__)]

    def wanted() -> str:
        return stamp_of(sources, ".".join(map(str, venv_version(VENV))), str(ROOT))

    if stamp_file.exists() and stamp_file.read_text(encoding="ascii") == wanted():
        return python
    stamp_file.unlink(missing_ok=True)
    pip: list[str | Path] = [*pip_for(python), "install", "--no-input", "--compile"]
    install_locked([*pip, "--no-deps", "--require-hashes", "--only-binary", ":all:"])
    must(
        "install reverie in editable mode",
        # The build backend comes from the lock file too: without isolation pip fetches nothing.
        [*pip, "--no-deps", "--no-build-isolation", "--editable", ROOT],
        "The project itself could not be installed; see the output above.",
    )
    must("byte-compile", [python, "-m", "compileall", "-q", ROOT / "app"], "A source file does not compile.")
    stamp_file.write_text(wanted(), encoding="ascii")
    return python


def install_locked(pip: Sequence[str | Path]) -> None:
    done = in_portions(LOCKS, lambda file: quietly("install locked packages", [*pip, "-r", file]))
    for _went_well, sentence in done:
        say(sentence)
    if not all(went_well for went_well, _sentence in done):
        raise Stop("Pip could not install the locked packages; is the network (or your mirror) reachable?")


def can_apt() -> bool:
    debian = sys.platform.startswith("linux") and Path("/etc/debian_version").exists()
    return debian and shutil.which("apt-get") is not None and os.geteuid() == 0


def apt_install(packages: Sequence[str]) -> None:
    environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
    # A list that cannot be fetched is no reason to stop: the packages may be in the other lists.
    step("apt-get update", [*environment, "apt-get", "-qq", "update"])
    must(
        f"apt-get install {' '.join(packages)}",
        [*environment, "apt-get", "-qq", "-y", "--no-install-recommends", "install", *packages],
        f"These Debian packages could not be installed: {' '.join(packages)}.",
    )


def ensure_libraries() -> None:
    """Install the system libraries that Qt lacks, if that is possible.

    Otherwise print how to install them, and stop if not even the offscreen platform can work.
    """
    missing = qt_misses(VENV)
    if not missing:
        return
    packages, _ = debian_packages(missing)
    if packages and can_apt():
        apt_install(packages)
        missing = qt_misses(VENV)
    if missing:
        apt, dnf = (shutil.which(name) is not None for name in ("apt-get", "dnf"))
        message = libraries_message(missing, apt=apt, dnf=dnf)
        if any(library not in WINDOW_PACKAGES for library in missing):
            raise Stop(message)
        say(f"{message}\nWithout them no window can open on an X server; everything else works.")


def ensure_translations(python: Path) -> None:
    """Compile the translations that have changed since they were last compiled."""
    files = list((ROOT / "resources" / "translations").glob("*.ts"))
    compiled = [file.with_suffix(".qm") for file in files]
    if any(
        not new.exists() or new.stat().st_mtime < file.stat().st_mtime
        for file, new in zip(files, compiled, strict=True)
    ):
        must(
            "compile the translations",
            [python, ROOT / "packaging" / "translations.py", "--compile"],
            "A translation does not compile.",
        )


def set_up() -> Path:
    python = ensure_packages()
    ensure_libraries()
    ensure_translations(python)
    return python


def has_display(environ: Mapping[str, str], platform: str) -> bool:
    """Return whether a window can be opened; a platform plugin that is set explicitly is assumed to work."""
    if not platform.startswith("linux"):
        return True
    return any(environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"))


def replace_by(command: Sequence[str | Path], **extra: str) -> int:
    """Replace this process by `command`, in the caller's own directory, and return its exit code.

    `extra`: environment variables to add. On a system that cannot replace a process, start `command` and wait
    for it.
    """
    words = [str(part) for part in command]
    environment = {**child_environment(os.environ), **extra}
    sys.stderr.flush()
    if os.name == "posix":
        os.execve(words[0], words, environment)
    return subprocess.call(words, env=environment)


def run(arguments: Sequence[str]) -> int:
    python = set_up()
    if arguments or has_display(os.environ, sys.platform):
        return replace_by([python, *REVERIE, *arguments])
    directory = tempfile.mkdtemp(prefix="reverie-tour-")
    say(
        "No window can open: DISPLAY and WAYLAND_DISPLAY are not set.\n"
        "The main job runs offscreen on the demo home instead. Every job is a command too:\n"
        "`python3 packaging/dev.py run homes`, `... run --home DIR --screenshot FILE`, `... run --help`."
    )
    return replace_by([python, PICTURES, directory], QT_QPA_PLATFORM="offscreen")


def pytest_arguments(arguments: Sequence[str]) -> list[str]:
    return list(arguments[1:] if arguments[:1] == ["--"] else arguments)


def test(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--python"]:
        return test_under(arguments[1:])
    python = set_up()
    # import-linter has no `__main__`, and its console script names the place where .venv was made.
    layers = "import sys; from importlinter.cli import lint_imports_command; sys.exit(lint_imports_command())"
    checks: dict[str, Sequence[str | Path]] = {
        "ruff check": ["-m", "ruff", "check", "--quiet", "."],
        "ruff format --check": ["-m", "ruff", "format", "--check", "--quiet", "."],
        "layers": ["-c", layers],
        "README, guide and docs are true": stale_check(),
    }
    failed = [title for title, words in checks.items() if not step(title, [python, *words])]
    # Without a cache mypy takes half a minute on one core; the tests are prepared on the other meanwhile.
    beside: dict[str, Sequence[str | Path]] = {"mypy --strict": [python, "-m", "mypy"]}
    if is_root() and not pytest_arguments(arguments):
        seed = current_commit()
        beside[f"a part of the tests as an ordinary user (seed {seed})"] = user_command(python, seed)
    with ThreadPoolExecutor(1) as pool:
        running = {title: pool.submit(quietly, title, words) for title, words in beside.items()}
        compile_tests(python)
        code = run_tests(python, arguments)
        for title, future in running.items():
            went_well, sentence = future.result()
            say(sentence)
            failed += [] if went_well else [title]
    if failed:
        say(f"FAILED: {', '.join(failed)} (see above)")
    return 1 if failed else code


def stale_check() -> list[str | Path]:
    """Return the command that runs `reverie check` on the project's own texts.

    It fails if a statement in them is no longer true.
    """
    files = [word for name in OWN_TEXTS for word in ("--file", name)]
    return [*REVERIE, "--profile", ROOT / "build" / "check", "check", "--project", ROOT, *files]


def is_root() -> bool:
    """Return True if this process is root and can give up its rights."""
    return sys.platform.startswith("linux") and os.geteuid() == 0


def current_commit() -> str:
    """Return the short hash of the checkout's commit; `none` outside of git."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return "none"
    return done.stdout.strip() or "none"


def user_command(python: Path, seed: str) -> list[str | Path]:
    """Return the command that runs a part of the tests without the rights of root.

    `python`: the interpreter. `seed` chooses the part: another text chooses other tests.
    """
    without_rights: list[str | Path] = [python, "-P", ROOT / "tests" / "helpers" / "ordinary_user.py"]
    # The checkout may belong to somebody else: nothing is written there.
    pytest: list[str | Path] = [python, "-B", "-m", "pytest", "-n0", "-p", "no:cacheprovider"]
    return [*without_rights, *pytest, "--sample", str(USER_SHARE), "--sample-seed", seed, *USER_TESTS]


def test_under(arguments: Sequence[str]) -> int:
    """Run the whole check with another Python, in an environment of its own; return the exit code.

    `arguments`: the path of that Python, then arguments for pytest.
    """
    if not arguments:
        raise Stop("--python takes the path of an interpreter.")
    found = shutil.which(arguments[0])
    if found is None:
        raise Stop(f"There is no program at {arguments[0]}.")
    asked = subprocess.run(
        [found, "-I", "-c", "import platform; print(platform.python_version())"],
        capture_output=True,
        text=True,
        check=False,
    )
    version = asked.stdout.strip()
    if asked.returncode or not re.fullmatch(r"[\w.+]+", version):
        raise Stop(f"{found} is no Python interpreter.")
    say(f"Testing with Python {version} ({found}).")
    venv = ROOT / "build" / f"venv-{version}"
    return replace_by([found, __file__, "test", *arguments[1:]], REVERIE_VENV=str(venv))


def compile_tests(python: Path) -> None:
    """Let pytest rewrite the tests once, if it has not yet; otherwise each of its workers would do so.

    Errors are ignored here: the tests report them.
    """
    if not any((ROOT / "tests" / "unit" / "__pycache__").glob("*-pytest-*.pyc")):
        say(
            quietly("compile the tests", [python, "-m", "pytest", "--collect-only", "-qq"])[1].partition(
                "\n"
            )[0]
        )


def run_tests(python: Path, arguments: Sequence[str]) -> int:
    words = pytest_arguments(arguments)
    # One more than there are cores: for half of the time a test waits, for a child process or for a limit.
    workers = str((os.cpu_count() or 1) + 1)
    # Slow tests come first; a worker that has finished takes half of the tests that another still has to run.
    spread = ["-n", workers, "--dist", "worksteal"]
    if any(word.startswith(("-n", "-p", "--pdb")) for word in words):
        spread = []
    command = [str(python), "-m", "pytest", *spread, *words]
    return subprocess.call(command, cwd=ROOT, env=child_environment(os.environ), stdin=subprocess.DEVNULL)


def bench(arguments: Sequence[str]) -> int:
    return replace_by([set_up(), ROOT / "tests" / "benchmarks" / "run.py", *arguments])


def campaign(arguments: Sequence[str]) -> int:
    python = set_up()
    words = list(arguments)
    if "--report" not in words:
        name = time.strftime("reverie-campaign-%Y%m%d-%H%M%S.md")
        words += ["--report", str(Path(tempfile.gettempdir()) / name)]
    say(f"The report will be {words[words.index('--report') + 1]}")
    return replace_by(
        [python, ROOT / "tests" / "campaign" / "run.py", *words], REVERIE_TEST_PROFILE="campaign"
    )


def shots(arguments: Sequence[str]) -> int:
    if len(arguments) > 1:
        raise Stop("shots takes one argument at most: the directory for the screenshots.")
    return replace_by([set_up(), PICTURES, *arguments], QT_QPA_PLATFORM="offscreen")


def package(arguments: Sequence[str]) -> int:
    return replace_by([set_up(), ROOT / "packaging" / "package.py", *arguments])


def translate(arguments: Sequence[str]) -> int:
    return replace_by([set_up(), ROOT / "packaging" / "translations.py", *arguments])


def lock(arguments: Sequence[str]) -> int:
    uv = shutil.which("uv")
    if uv is None:
        raise Stop("Making the lock files needs uv: it resolves for every platform at once.")
    options = ["--universal", "--python-version", "3.11", "--no-build", "--generate-hashes"]
    options += ["--no-annotate", "--no-header", "--quiet", *arguments]
    program, tools, builder = (str(file) for file in (*LOCKS, PACKAGE_LOCK))
    sources = {
        program: ["pyproject.toml"],
        tools: ["--group", "dev", "--constraints", program],
        builder: ["--group", "package", "--constraints", program, "--constraints", tools],
    }
    for target, source in sources.items():
        command = [uv, "pip", "compile", *source, *options, "--output-file", target]
        must(f"lock {Path(target).name}", command, "These requirements do not fit together; see above.")
    for file in (*LOCKS, PACKAGE_LOCK):
        file.write_text(LOCK_HEADER + file.read_text(encoding="utf-8"), encoding="utf-8", newline="\n")
    return 0


def setup(arguments: Sequence[str]) -> int:
    if arguments:
        raise Stop("setup takes no arguments.")
    set_up()
    version = ".".join(map(str, venv_version(VENV)))
    say(f"Ready: {VENV} (Python {version})")
    return 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "run": run,
    "test": test,
    "setup": setup,
    "bench": bench,
    "campaign": campaign,
    "shots": shots,
    "package": package,
    "translate": translate,
    "lock": lock,
}


def main(argv: Sequence[str]) -> int:
    if argv[:1] in (["-h"], ["--help"], ["help"]):
        print(USAGE, end="")
        return 0
    if not argv or argv[0] not in COMMANDS:
        say(USAGE.rstrip() if not argv else f"There is no command {argv[0]!r}.\n\n{USAGE.rstrip()}")
        return 2
    if sys.version_info < OLDEST_PYTHON:
        say(f"Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or later is needed; {sys.executable} is older.")
        return 1
    try:
        return COMMANDS[argv[0]](argv[1:])
    except Stop as stop:
        say(str(stop))
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
