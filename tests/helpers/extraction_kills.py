"""Extractions that are killed, and extractions that run at the same time, as real processes.

Run as `python -m helpers.extraction_kills`, it imports everything once and forks a child for each; one JSON
job a line on stdin, one report a line on stdout. A job is a list of extractions at once; each names a home, a
profile, and where to die: at the `nth` passing of the checkpoint `step`; never without one.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.benches import contents
from helpers.extraction import NOW, extract, parts_of, small_home
from reverie.files import atomic as checkpoint
from reverie.jobs.extraction import stage_one as rules  # noqa: F401 - once, for all children

STEPS = ("journal", "temp", "fsync", "replace", "applied", "history-objects", "history-ref")


def live(job: dict[str, Any], report: Path) -> None:
    """One extraction; it may die before its end."""
    passed = 0

    def die_here(name: str) -> None:
        nonlocal passed
        if name == job.get("step"):
            passed += 1
            if passed == job["nth"]:
                os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.set_observer(die_here)
    result = extract(Path(job["home"]), Path(job["profile"]), job.get("now", NOW))
    report.write_text(json.dumps(result.as_json()))


def _raise(jobs: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
    """Fork, let live, and tell what each came to; None for one that was killed."""
    children = []
    for number, job in enumerate(jobs):
        report = Path(job["profile"]).parent / f"report-{number}.json"
        report.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            try:
                live(job, report)
            except BaseException as error:  # noqa: BLE001 - a fork must never return to its parent's loop
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
                os._exit(3)
            os._exit(0)
        children.append((child, report))
    told = []
    for child, report in children:
        _pid, status = os.waitpid(child, 0)
        told.append(json.loads(report.read_text()) if status == 0 else None)
    return told


@contextmanager
def extractions() -> Iterator[Any]:
    """A function that runs a list of jobs at the same time in real processes."""
    with subprocess.Popen(
        [sys.executable, "-m", "helpers.extraction_kills"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent.parent,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def run(jobs: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(jobs) + "\n")
            process.stdin.flush()
            return list(json.loads(process.stdout.readline()))

        yield run
        process.stdin.close()


@dataclass
class Tally:
    kills: int = 0
    survived: int = 0
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        return [
            f"extractions killed: {self.kills}; finished before the kill: {self.survived}",
            f"problems: {len(self.problems)}",
            *self.problems[:20],
        ]


def run_kills(directory: Path, count: int, seed: int) -> Tally:
    """Kill `count` extractions; the next one must end where one that nobody killed does."""
    chosen, tally = random.Random(seed), Tally()
    whole = small_home(directory / "whole" / "codex")
    extract(whole.root, directory / "whole" / "profile")
    wanted = _memories(whole.root)
    with extractions() as run:
        for number in range(count):
            place = directory / f"kill-{number}"
            home, profile = small_home(place / "codex").root, place / "profile"
            step = STEPS[number % len(STEPS)]
            nth = chosen.randint(1, 4 if step in ("journal", "applied", "history-ref") else 20)
            (told,) = run([{"home": str(home), "profile": str(profile), "step": step, "nth": nth}])
            tally.kills, tally.survived = tally.kills + (told is None), tally.survived + (told is not None)
            began = time.monotonic()
            result = extract(home, profile)
            where = f"killed at {step} number {nth}"
            if not result.succeeded:
                tally.problems.append(f"{where}: the next one failed: {result.summary}")
            if time.monotonic() - began > 20:
                tally.problems.append(f"{where}: something blocked the next one")
            now = _memories(home)
            # The handbook's own words are the same too: merging what was merged changes nothing.
            if now != wanted:
                names = sorted(
                    name for name in now.keys() | wanted.keys() if now.get(name) != wanted.get(name)
                )
                tally.problems.append(f"{where}: not as if nobody had killed it: {names[:5]}")
            parts = parts_of(home, profile)
            if parts.runs.unsettled():
                tally.problems.append(f"{where}: a run stays open")
            if extract(home, profile).candidates:
                tally.problems.append(f"{where}: something is extracted twice")
    return tally


def _memories(home: Path) -> dict[str, bytes]:
    """What was written, with the place of the home taken out. A hidden file that a killed process was writing
    goes after an hour."""
    found = contents(home / "memories")
    return {
        name: data.replace(str(home).encode(), b"HOME")
        for name, data in found.items()
        if not name.endswith(".reverie-tmp")
    }


def main() -> None:
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_raise(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
