"""The campaign part `agents`: Reverie against the programs themselves, which work for scripted models.

Each module of checks runs in a process of its own: with a home, XDG directories and a temporary directory of
its own, without proxies and without a setting of an agent from this machine, and for a limited time. What it
found is written down after each rule, so that a module that is ended still counts for what it did.

Invariants: every process that a module started is ended when the module ends (they are recognised by a mark
in their environment, where the system shows it; elsewhere by their process group). Failure: a module that
cannot be imported, raises, dies or takes too long is a problem of the part; a module that is not there is
reported as not run.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import json
import os
import secrets
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .base import Outcome, Programs
from .install import Installed, Sources, install, without_foreign_hosts

MODULES = (
    "layout_checks",
    "codex_store",
    "codex_context",
    "claude_read",
    "claude_context",
    "claude_write",
    "claude_front_matter",
    "mux_services",
    "loki_program",
)
"""The modules of checks in the order in which they run."""
LIMIT_S = 1800.0
"""How long one module may take."""
_MOST_TOLD = 20
_PACKAGE = "campaign.agents"
_MARK = "REVERIE_CAMPAIGN_MARK"
_FOREIGN = ("REVERIE_", "MUX_", "XUM_", "CODEX_", "OPENAI_", "CLAUDE", "ANTHROPIC_", "LOKI_", "GIT_", "TMUX")
_SECRET_ENDINGS = ("_API_KEY", "_API_TOKEN", "_AUTH_TOKEN", "_ACCESS_TOKEN", "_PROXY", "_proxy")
_HOMES = (".codex", ".claude", ".claude.json", ".mux", ".xum", ".loki", ".bun")
"""What the agents make in a person's home."""


@dataclass(frozen=True, slots=True)
class Report:
    """What came of one module."""

    module: str
    outcomes: tuple[Outcome, ...]
    seconds: float = 0.0
    not_run: str = ""
    """Why the module did not run; empty when it did."""
    notes: tuple[str, ...] = field(default=())
    """Sentences that are no problem."""

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(problem for each in self.outcomes for problem in each.problems)

    def lines(self) -> list[str]:
        """The report as lines of a list."""
        if self.not_run:
            return [f"**{self.module}**: not run ({self.not_run})"]
        cases = sum(each.cases for each in self.outcomes)
        tried = sum(not each.skipped for each in self.outcomes)
        head = f"**{self.module}**: {tried} rules, {cases:,} cases, problems: {len(self.problems)}"
        told = [f"{head} ({self.seconds:.0f} s)"]
        for each in self.outcomes:
            came = f"not tried: {each.skipped}" if each.skipped else f"{each.cases:,} cases"
            told.append(f"  {each.rule}: {came}")
            told += [f"  PROBLEM: {problem}" for problem in each.problems[:_MOST_TOLD]]
            if len(each.problems) > _MOST_TOLD:
                told.append(f"  and {len(each.problems) - _MOST_TOLD} more problems")
        return told + [f"  {note}" for note in self.notes]


def run(
    directory: Path,
    sources: Sources,
    *,
    modules: Sequence[str] = MODULES,
    package: str = _PACKAGE,
    limit: float = LIMIT_S,
) -> tuple[list[str], bool]:
    """Install the programs and run the modules; the lines of the report, and whether every promise held."""
    before = _in_the_home()
    installed = install(sources)
    reports = []
    for name in modules:
        reports.append(run_module(name, installed, directory / name, package, limit))
        # The whole part may take an hour.
        sys.stderr.write(reports[-1].lines()[0] + "\n")
    left = sorted(_in_the_home() - before)
    told = [f"{title} {version}" for title, version in installed.versions.items()]
    told += installed.missing
    told += [line for report in reports for line in report.lines()]
    told += [f"PROBLEM: made in the home of the person who runs this: {name}" for name in left]
    cases = sum(each.cases for report in reports for each in report.outcomes)
    problems = sum(len(report.problems) for report in reports) + len(left)
    told.append(f"{cases:,} cases against real programs, problems: {problems}")
    if not cases:
        told.append("nothing was checked against a real program")
    return told, not problems


def run_module(name: str, installed: Installed, directory: Path, package: str, limit: float) -> Report:
    """Run the checks of one module in a process of its own below `directory`."""
    if not _exists(name, package):
        return Report(name, (), not_run="there is no such module yet")
    mark = secrets.token_hex(8)
    environment = module_environment(os.environ, directory)
    environment[_MARK] = mark
    results = directory / "results.jsonl"
    task = json.dumps(_paths(installed.programs))
    started = time.monotonic()
    with (directory / "log.txt").open("w") as log:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                f"{_PACKAGE}.part",
                f"{package}.{name}",
                str(directory / "work"),
                str(results),
            ],
            cwd=directory,
            env={**environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            process.communicate(task, timeout=limit)
            ended = "" if process.returncode == 0 else f"ended with code {process.returncode}"
        except subprocess.TimeoutExpired:
            ended = f"took longer than {limit:.0f} s and was ended"
        finally:
            left = end_processes(mark, process)
    outcomes = list(_outcomes(results))
    if ended:
        outcomes.append(Outcome("the module runs to its end", 1, (f"{name} {ended}{_last_line(directory)}",)))
    notes = (f"processes that were still running and were ended: {', '.join(left)}",) if left else ()
    return Report(name, tuple(outcomes), time.monotonic() - started, notes=notes)


def module_environment(base: Mapping[str, str], directory: Path) -> dict[str, str]:
    """The environment of a module's process: every place that a program may write to is below `directory`."""
    kept = {
        name: value
        for name, value in base.items()
        if not name.startswith(_FOREIGN) and not name.endswith(_SECRET_ENDINGS)
    }
    # A home of Codex must not lie below the temporary directory, or Codex makes no helper programs for it.
    places = {
        "HOME": "home",
        "XDG_CONFIG_HOME": "home/.config",
        "XDG_DATA_HOME": "home/.local/share",
        "XDG_CACHE_HOME": "home/.cache",
        "XDG_STATE_HOME": "home/.local/state",
        "XDG_RUNTIME_DIR": "runtime",
        "TMPDIR": "tmp",
        "TMUX_TMPDIR": "tmp",
        "CLAUDE_CODE_TMPDIR": "tmp",
    }
    for name, place in places.items():
        (directory / place).mkdir(parents=True, exist_ok=True, mode=0o700)
        kept[name] = str(directory / place)
    kept.pop("DBUS_SESSION_BUS_ADDRESS", None)
    kept |= {"QT_QPA_PLATFORM": "offscreen", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
    return without_foreign_hosts(kept)


def end_processes(mark: str, process: subprocess.Popen[str]) -> list[str]:
    """End the module's process and all that carry its mark; the names of those that outlived it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
    left: dict[int, str] = {}
    for _attempt in range(3):  # a process may start another one meanwhile
        running = dict(_marked(mark))
        if not running:
            break
        left |= running
        for number in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.2)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    left.pop(process.pid, None)
    return sorted(left.values())


def _marked(mark: str) -> Iterator[tuple[int, str]]:
    """The processes that have the mark in their environment, where the system shows it (Linux)."""
    wanted = f"{_MARK}={mark}".encode()
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted in (place / "environ").read_bytes().split(b"\0"):
                yield int(place.name), (place / "comm").read_text().strip()


def _in_the_home() -> set[str]:
    return {name for name in _HOMES if (Path.home() / name).exists()}


def _exists(name: str, package: str) -> bool:
    return importlib.util.find_spec(f"{package}.{name}") is not None


def _paths(programs: Programs) -> dict[str, str | None]:
    return {
        each.name: None if (path := getattr(programs, each.name)) is None else str(path)
        for each in dataclasses.fields(programs)
    }


def _outcomes(results: Path) -> Iterator[Outcome]:
    """What the module wrote down; a last line that was cut off is left out."""
    if not results.is_file():
        return
    for line in results.read_text("utf-8").splitlines():
        with contextlib.suppress(ValueError):
            told = json.loads(line)
            yield Outcome(told["rule"], told["cases"], tuple(told["problems"]), told["skipped"])


def _last_line(directory: Path) -> str:
    lines = (directory / "log.txt").read_text("utf-8", "replace").splitlines()
    told = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {told[:300]}" if told else ""


# The module's own process


def main(arguments: Sequence[str]) -> int:
    """`part.py MODULE DIRECTORY RESULTS`, the programs as JSON on standard input."""
    module, directory, results = arguments[0], Path(arguments[1]), Path(arguments[2])
    paths = {name: path and Path(path) for name, path in json.load(sys.stdin).items()}
    directory.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf-8") as file:

        def write(outcome: Outcome) -> None:
            file.write(json.dumps(dataclasses.asdict(outcome)) + "\n")
            file.flush()

        try:
            checks = importlib.import_module(module).checks
            for outcome in checks(Programs(**paths), directory):
                write(outcome)
        except Exception as error:  # noqa: BLE001 - a broken module is a finding, the others still run
            traceback.print_exc()
            write(Outcome("the module runs to its end", 1, (_where(module, error),)))
    return 0


def _where(module: str, error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).parent.name == module.split(".")[-2]]
    frame = (own or frames)[-1]
    what = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {what} ({Path(frame.filename).name}, line {frame.lineno})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
