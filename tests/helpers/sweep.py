"""Let one changing system call of a command fail, or kill the command there; then judge.

Run as `python -m helpers.sweep DIRECTORY`: a process that becomes an ordinary user, imports everything once
and then answers one JSON job a line with one JSON report. A job names an operation and, unless it only asks
for the calls of that, a fault and the number of the call. The operation runs in a fork, as the command that
people give; another fork, a fresh start after it, judges. `helpers.sweeper` is the other side.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helpers.failing_calls import Fault, NoBorderError, Seen, Watched, watched
from helpers.samples import copy_sample
from helpers.sweep_judge import States, Told, Verdict, memories, told
from helpers.sweep_operations import ACME, OPERATIONS, SEED, HandWork, Operation
from helpers.without_rights import give_up_power
from reverie.cli import main as command
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.services.parts import HomeParts

_CLONE_NEWUSER = 0x10000000


@dataclass(slots=True)
class Case:
    """What one fault came to. `landed` as `Verdict.judge` says; `claim` as in `Told`."""

    name: str
    fault: Fault
    at: int
    call: str = ""
    path: str = ""
    claim: str = ""
    landed: str = ""
    problems: list[str] = field(default_factory=list)


class Sweep:
    """One place: a home and a profile that are as before at the beginning of each case."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._home, self._profile = directory / "home", directory / "profile"
        self._kept = directory / "kept"
        self._known: dict[str, tuple[States, list[Seen]]] = {}
        self._home.mkdir(parents=True)
        os.environ["HOME"] = str(directory)

    def calls(self, name: str) -> list[Seen]:
        """The changing calls of an operation that nothing happens to."""
        return self._known_of(name)[1]

    def case(self, name: str, fault: Fault, at: int) -> Case:
        """Let it happen and judge it."""
        operation = OPERATIONS[name]
        states, _calls = self._known_of(name)
        self._lay_out(name)
        ended, said = self._run(operation, at, fault)
        case = Case(name, fault, at, claim=said.claim, problems=list(said.problems))
        if len(ended.seen) <= at:
            case.problems.append(f"there were {len(ended.seen)} calls only: {said.said}")
            return case
        case.call, case.path = ended.seen[at].call, os.path.relpath(ended.seen[at].path, self._directory)
        case.landed, problems = self._in_a_fork(lambda: self._judged(operation, states, said))
        case.problems += problems
        if case.problems:
            case.problems.append(f"told as {said.claim or 'nothing'}: {said.said}")
        return case

    def _judged(self, operation: Operation, states: States, said: Told) -> tuple[str, list[str]]:
        verdict = Verdict(
            operation,
            states,
            said,
            home=self._home,
            histories=self._profile / "data" / "history",
            again=lambda again: self._run(again)[1],
        )
        return verdict.judge(self._parts()), verdict.problems

    def _known_of(self, name: str) -> tuple[States, list[Seen]]:
        if name not in self._known:
            operation = OPERATIONS[name]
            self.furnish(operation)
            laid_out = memories(self._home)
            for each in (self._home, self._profile):
                if each.exists():
                    shutil.copytree(each, self._kept / name / each.name, symlinks=True)
            before: dict[str, bytes] = {}
            ended, said = self._run(operation, ready=lambda: before.update(memories(self._home)))
            assert (said.claim, said.problems) == ("done", ()), (name, said)
            assert before, name
            self._known[name] = States(before, memories(self._home), laid_out), ended.seen
        return self._known[name]

    def furnish(self, operation: Operation) -> None:
        """A home as it is before the operation."""
        self._clear()
        made = copy_sample("mux-home", self._directory / "sample", whole=False)
        for far in ("debug_obj", "memory/project/data-pipeline-21ca8fe13a59"):
            shutil.rmtree(made / far)
        for item in made.iterdir():
            item.rename(self._home / item.name)
        shutil.rmtree(made.parent)
        for each in (*((SEED,) if operation.known else ()), *(OPERATIONS[name] for name in operation.first)):
            _ended, said = self._run(each)
            assert said.claim == "done", said

    def _clear(self) -> None:
        # The directory itself stays: a home is known by its path and its inode.
        for item in self._home.iterdir():
            shutil.rmtree(item) if item.is_dir() else item.unlink()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _lay_out(self, name: str) -> None:
        self._clear()
        for each in (self._home, self._profile):
            if (kept := self._kept / name / each.name).exists():
                shutil.copytree(kept, each, symlinks=True, dirs_exist_ok=True)

    def _run(
        self,
        operation: Operation,
        at: int | None = None,
        fault: Fault = "",
        ready: Callable[[], object] = lambda: None,
    ) -> tuple[Watched, Told]:
        """Do it in a fork, as a command of its own would."""
        texts = [self._directory / name for name in ("in", "out", "err")]
        texts[0].write_text("".join(json.dumps(line) + "\n" for line in operation.lines))
        works: list[Callable[[], int]] = []

        def prepare() -> None:
            for number, (text, flags) in enumerate(zip(texts, (os.O_RDONLY, *[os.O_WRONLY] * 2), strict=True)):
                os.dup2(os.open(text, flags | os.O_CREAT | os.O_TRUNC if number else flags, 0o600), number)
            _own_streams()
            works.append(self._work(operation))
            pipe.write_text(json.dumps(memories_as_text(memories(self._home))))

        raise NotImplementedError


def main() -> None:
    raise NotImplementedError
