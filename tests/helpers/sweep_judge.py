"""The judge of the sweep: what a command told, and what a fresh start finds after it.

Everything is as before or as after, never some of each; no text is lost; what was told is true, in words for
people; nothing is left open; the next command works. Several deletes by hand are made one by one: a kill may
leave the last of them as they were, and all is in its place when an error is told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.failing_calls import Watched
from helpers.sweep_operations import AFTERWARDS, Operation
from reverie.errors import UserError
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.services.changes import settle
from reverie.services.container import HomeContainer

_NO_WORDS = re.compile(r"\[Errno|Traceback|Exception ignored|<class|\b[A-Z]\w+(?:Error|Exception)\b")


@dataclass(frozen=True, slots=True)
class Told:
    """The end of one command. `claim`: "done", "failed", or "" for one that was killed before it said."""

    claim: str
    said: str
    problems: tuple[str, ...] = ()


def told(operation: Operation, ended: Watched, out: str, err: str) -> Told:
    """What a person, or the program that gave the command, learns from its end."""
    problems: list[str] = []
    answer = _answer(out)
    claim = ""
    if (operation.lines or operation.by_hand) and "success" in answer:
        claim = "done" if answer["success"] else "failed"
        if claim == "done" and not ended.killed and ended.code:
            problems.append("DONE, yet the command ended as failed")
    elif not ended.killed:
        claim = "failed" if ended.code else "done"
    words = " ".join(str(answer.get(name, "")) for name in ("error", "cause", "nextStep", "warning"))
    if ended.hung:
        problems.append("it hung")
    elif claim == "failed" and not f"{words}{err}".strip():
        problems.append("it failed without a word")
    if _NO_WORDS.search(err) or _NO_WORDS.search(words):
        problems.append("no words for people")
    return Told(claim, f"{out.strip()[-700:]} | {err.strip()[-1500:]}", tuple(problems))


def _answer(out: str) -> dict[str, Any]:
    first, _end, _rest = out.partition("\n")
    for text in (out, first):
        try:
            found = json.loads(text)
        except ValueError:
            continue
        return found if isinstance(found, dict) else {}
    return {}


@dataclass(frozen=True, slots=True)
class States:
    """The memories before an operation and after it, and what was there to lose."""

    before: dict[str, bytes]
    after: dict[str, bytes]
    precious: dict[str, bytes]


class Verdict:
    """A fresh start: recover, look, go on. `again` gives a command, unharmed."""

    def __init__(
        self,
        operation: Operation,
        states: States,
        said: Told,
        *,
        home: Path,
        histories: Path,
        again: Callable[[Operation], Told],
    ) -> None:
        self._operation = operation
        self._states = states
        self._said = said
        self._home = home
        self._histories = histories
        self._again = again
        self.problems: list[str] = []

    def judge(self, parts: HomeContainer) -> str:
        """How it landed: "before", "after", "one by one", or "mix", which is a problem."""
        try:
            with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="recovery"):
                settle(parts)
                parts.recovery.run()
        except UserError as error:
            self.problems.append(f"recovery failed: {error}")
        now = memories(self._home)
        landed = self._landed(now)
        self._nothing_lost(now)
        self._whole(parts)
        if self._said.claim == "done" and landed == "before":
            self.problems.append("told as done, yet everything is as before")
        if self._said.claim == "failed" and landed == "after":
            self.problems.append("DONE, yet told as failed")
        self._go_on(landed)
        return landed

    def _landed(self, now: dict[str, bytes]) -> str:
        before, after = self._states.before, self._states.after
        if now in (before, after):
            return "before" if now == before else "after"
        differs = {}
        for name in sorted(now.keys() | before.keys() | after.keys()):
            if before.get(name) != after.get(name) or now.get(name) != before.get(name):
                is_ = {now.get(name) == before.get(name): "before", now.get(name) == after.get(name): "after"}
                differs[name] = is_.get(True, "neither")
        if self._operation.by_hand == "delete" and not self._said.claim and "neither" not in differs.values():
            return "one by one"
        self.problems.append(f"MIX: {differs}")
        return "mix"

    def _nothing_lost(self, now: dict[str, bytes]) -> None:
        missing = {name: data for name, data in self._states.precious.items() if data not in now.values()}
        if missing:
            kept = kept_texts(self._histories)
            if lost := [name for name, data in missing.items() if data not in kept]:
                self.problems.append(f"LOST: {lost}")

    def _whole(self, parts: HomeContainer) -> None:
        for name in ("memory-meta.json", "memory-consolidation.json"):
            try:
                json.loads((self._home / name).read_bytes())
            except (OSError, ValueError) as error:
                self.problems.append(f"{name} is torn: {error}")
        running = [record.id for record in parts.runs.all() if record.outcome == "running"]
        if running or parts.runs.problems:
            self.problems.append(f"left running: {running}; damaged: {parts.runs.problems}")

    def _go_on(self, landed: str) -> None:
        """The same command where it was not done, another one where it was."""
        repeated = landed == "before" and self._operation.by_hand not in ("undo", "move back", "undo reshape")
        said = self._again(self._operation if repeated else AFTERWARDS)
        if said.claim != "done" or said.problems:
            self.problems.append(f"the next command does not work: {said}")
        elif repeated and memories(self._home) != self._states.after:
            self.problems.append("done once more it does not come to the same")


def memories(home: Path) -> dict[str, bytes]:
    """Every memory, and every instruction file beside them, that an agent or a person would find."""
    found = {path.name: path.read_bytes() for path in home.glob("*.md")}
    for top in (home / "memory", *home.glob("sessions/*/memory")):
        for path in top.rglob("*"):
            rel = path.relative_to(home)
            if path.is_file() and not any(part.startswith(".") for part in rel.parts):
                found[rel.as_posix()] = path.read_bytes()
    return found


def kept_texts(histories: Path) -> set[bytes]:
    """Every version of every file that the histories hold."""
    import pygit2

    found: set[bytes] = set()
    seen: set[Any] = set()

    def gather(tree: Any) -> None:
        for item in tree:
            if item.id in seen:
                continue
            seen.add(item.id)
            if item.type_str == "tree":
                gather(item)
            elif item.type_str == "blob":
                found.add(bytes(item.data))

    for head in histories.glob("*/HEAD"):
        repository = pygit2.Repository(str(head.parent))
        for name in repository.references:
            for commit in repository.walk(repository.references[name].resolve().target):
                gather(commit.tree)
    return found
