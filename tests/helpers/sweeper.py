"""Chooses the faults of the sweep, runs them in several processes, and collects the results."""

from __future__ import annotations

import json
import queue
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helpers.failing_calls import KILL, Fault, Seen
from helpers.sweep import Case

ERRORS: tuple[Fault, ...] = ("EIO", "ENOSPC", "EACCES")
FAULTS: tuple[Fault, ...] = (*ERRORS, KILL)
Choice = Callable[[str, Sequence[Seen]], list["Job"]]


class CannotSweepError(Exception):
    """This machine cannot watch the calls of a process; why."""


@dataclass(frozen=True, slots=True)
class Job:
    """A fault at a call of an operation."""

    name: str
    fault: Fault
    at: int


def every_fault(name: str, calls: Sequence[Seen]) -> list[Job]:
    """Each fault at each call. But what SQLite and the object store of the history do in a row about one file
    has one way out: of each kind the first and the last call, with one error number each and the kill."""
    jobs = []
    for at, seen in enumerate(calls):
        if not _in_a_library(seen.path):
            jobs += [Job(name, fault, at) for fault in FAULTS]
        elif at in _ends(calls, at):
            jobs += [Job(name, ERRORS[at % len(ERRORS)], at), Job(name, KILL, at)]
    return jobs


def some_faults(count: int, seed: int) -> Choice:
    """`count` faults, at calls of different kinds."""

    def choose(name: str, calls: Sequence[Seen]) -> list[Job]:
        dice = random.Random(f"{seed} {name}")
        kinds = list({(seen.call, _kind(seen.path)): at for at, seen in enumerate(calls)}.values())
        picked = enumerate(dice.sample(kinds, count))
        return [Job(name, FAULTS[number % len(FAULTS)], at) for number, at in picked]

    return choose


def _in_a_library(path: str) -> bool:
    return ".sqlite" in path or "/objects/" in path


def _kind(path: str) -> str:
    return re.sub(r"[0-9a-f]{8,}|\d+|(?<=objects/)..", "#", path)


def _about(path: str) -> str:
    return path.partition("/objects/")[0] if "/objects/" in path else path.removesuffix("-journal")


def _ends(calls: Sequence[Seen], at: int) -> tuple[int, int]:
    """Of the calls of this kind in the stretch around `at` about one file: the first and the last."""
    first = last = at
    while first and _about(calls[first - 1].path) == _about(calls[at].path):
        first -= 1
    while last + 1 < len(calls) and _about(calls[last + 1].path) == _about(calls[at].path):
        last += 1
    kinds = [(seen.call, _kind(seen.path)) for seen in calls[first : last + 1]]
    wanted = kinds[at - first]
    same = [first + number for number, kind in enumerate(kinds) if kind == wanted]
    return same[0], same[-1]


@dataclass(slots=True)
class Tally:
    """What a sweep came to: cases by operation, fault and where they landed."""

    calls: dict[str, int] = field(default_factory=dict)
    cases: Counter[tuple[str, Fault, str]] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def add(self, case: Case) -> None:
        self.cases[case.name, case.fault, case.landed or "?"] += 1
        if case.problems:
            where = f"{case.name}, {case.fault} at call {case.at} ({case.call} {case.path})"
            self.problems.append(f"{where}: {'; '.join(case.problems)}")

    def lines(self) -> list[str]:
        told = [f"{sum(self.cases.values())} faults at {sum(self.calls.values())} changing system calls"]
        for name, calls in self.calls.items():
            by_fault = []
            for fault in FAULTS:
                landed = {
                    at: count for (one, each, at), count in self.cases.items() if (one, each) == (name, fault)
                }
                if landed:
                    ends = ", ".join(f"{at} {count}" for at, count in sorted(landed.items()))
                    by_fault.append(f"{fault} {sum(landed.values())} ({ends})")
            told.append(f"{name}, {calls} calls: {'; '.join(by_fault)}")
        return [*told, f"problems: {len(self.problems)}", *self.problems[:30]]


class Sweeper:
    """The other side of `helpers.sweep`; a context manager."""

    def __init__(self, directory: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "helpers.sweep", str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent,
        )

    def __enter__(self) -> Sweeper:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate(timeout=60)

    def ask(self, **job: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        report = dict(json.loads(self._process.stdout.readline()))
        if "skipped" in report:
            raise CannotSweepError(report["skipped"])
        return report


def sweep(directory: Path, names: Sequence[str], choose: Choice, *, processes: int = 1) -> Tally:
    """Let the chosen faults of these operations happen. An operation is shared out among the processes, which
    mostly wait: for the disk, and for what an agent may do after a run. Raises `CannotSweepError`."""
    waiting: queue.SimpleQueue[tuple[str, int]] = queue.SimpleQueue()
    for name in names:
        for part in range(processes):
            waiting.put((name, part))
    tally, errors, one_at_a_time = Tally(), list[Exception](), threading.Lock()

    def work(place: Path) -> None:
        try:
            with Sweeper(place) as sweeper:
                while not errors:
                    name, part = waiting.get_nowait()
                    calls = [Seen(**seen) for seen in sweeper.ask(name=name)["calls"]]
                    tally.calls[name] = len(calls)
                    # By the number of the call: ids differ, so no two processes choose the same list.
                    for job in (job for job in choose(name, calls) if job.at % processes == part):
                        case = Case(**sweeper.ask(**asdict(job)))
                        with one_at_a_time:
                            tally.add(case)
        except queue.Empty:
            return
        except Exception as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(directory / f"{each}",)) for each in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return tally
