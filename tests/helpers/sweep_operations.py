"""What the sweep does to a home, as people do it: by the commands, and by the services behind the window.

Threading: in the forked child that is watched.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from helpers.engines import ScriptedEngine
from helpers.reshapes import SHAPES
from reverie.errors import UserError
from reverie.runs.record import RunResult
from reverie.services.container import HomeContainer

ACME = "a1f3c9e2b7"
_FOLDER = "/memories/global/people"
_NOTE, _MOVED = "/memories/global/testing.md", "/memories/global/moved/testing.md"
_NEW: Mapping[str, Any] = {
    "command": "create",
    "path": "/memories/global/fresh/deep/new.md",
    "file_text": "# New\n\nfresh words\n",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that people do. `words`: the command, with `RUN` for the newest consolidation; `lines`: its
    stdin; `by_hand`: what the window's services do instead. `first`: the operations before it, unharmed;
    `known`: the home was used before, so that history and databases exist."""

    words: tuple[str, ...] = ()
    lines: tuple[Mapping[str, Any], ...] = ()
    by_hand: str = ""
    first: tuple[str, ...] = ()
    known: bool = True


def memory(command: str, **more: Any) -> Operation:
    """One line of `reverie memory`."""
    return Operation(("memory",), ({"command": command, **more},))


OPERATIONS: Mapping[str, Operation] = {
    "create": Operation(("memory",), (_NEW,)),
    "first create": Operation(("memory",), (_NEW,), known=False),
    "save": memory("str_replace", path=_NOTE, old_str="No sleeps", new_str="Never any sleeps"),
    "delete": memory("delete", path="/memories/global/testing-old.md"),
    "delete folder": memory("delete", path=_FOLDER),
    "rename": memory("rename", old_path=_NOTE, new_path=_MOVED),
    "rename folder": memory("rename", old_path=_FOLDER, new_path="/memories/global/humans"),
    "consolidate": Operation(("consolidate", "--engine", "rules")),
    "revert": Operation(("revert", "RUN"), first=("consolidate",)),
    "hand save": Operation(by_hand="save"),
    "hand delete": Operation(by_hand="delete"),
    "hand rename": Operation(by_hand="rename"),
    "hand undo": Operation(by_hand="undo"),
    "hand move": Operation(by_hand="move"),
    "hand undo of a move": Operation(by_hand="move back"),
    "hand restore": Operation(by_hand="restore", first=("delete folder",)),
    "hand companion": Operation(by_hand="companion"),
    "reshape": Operation(by_hand="reshape"),
    "apply of a reshape": Operation(by_hand="apply reshape"),
    "undo of a reshape": Operation(by_hand="undo reshape"),
}
AFTERWARDS = memory("create", path="/memories/global/afterwards.md", file_text="afterwards\n")
SEED = memory("create", path="/memories/global/seed.md", file_text="# Seed\n\nseed\n")


class HandWork:
    """What the window does by its services, told as a command's answer would be."""

    def __init__(self, parts: HomeContainer, kind: str) -> None:
        from reverie.services.edits import UserEdits

        self._parts = parts
        self._edits = UserEdits(parts)
        self._context = parts.home.context(workspace_id=ACME)
        self._work = self._made_ready(kind)

    def go(self) -> int:
        """Do it and say so."""
        try:
            answer = {"success": True, "warning": self._work()}
        except UserError as error:
            answer = {"success": False, "error": str(error)}
        sys.stdout.write(json.dumps(answer))
        return 0

    def _made_ready(self, kind: str) -> Callable[[], str]:
        """The work; what comes before it is done here."""
        edits, context = self._edits, self._context
        if kind == "undo":
            deleted = edits.delete(context, _FOLDER)
            return lambda: edits.undo(deleted)
        if kind == "move back":
            moved = self._moved()
            return lambda: edits.undo(moved)
        if kind == "undo reshape":
            run = self._reshaped(dry_run=False)
            return lambda: _done(self._parts.reverter.revert(run.run_id))
        if kind == "apply reshape":
            preview = self._reshaped(dry_run=True)
            return lambda: self._applied(preview.run_id)
        return {
            "save": self._save,
            "delete": lambda: edits.delete_all(context, [_FOLDER, "/memories/global/testing-old.md"]).warning,
            "rename": lambda: edits.rename(context, _NOTE, _MOVED).warning,
            "move": lambda: self._moved().warning,
            "restore": self._restore,
            "companion": self._companion,
            "reshape": lambda: _done(self._reshaped(dry_run=False)),
        }[kind]

    def _reshaped(self, *, dry_run: bool) -> RunResult:
        from reverie.jobs.consolidate.run import DreamRequest

        request = DreamRequest(self._context, dry_run=dry_run)
        return self._parts.dreams.run(request, ScriptedEngine(*SHAPES["all of them"]))

    def _applied(self, run_id: str) -> str:
        from reverie.jobs.consolidate.apply import ApplyService
        from reverie.jobs.consolidate.review import ReviewSelection

        return _done(ApplyService(self._parts.dream_dependencies).apply(run_id, ReviewSelection()))

    def _save(self) -> str:
        text = self._edits.read(self._context, _NOTE)
        return self._edits.save(self._context, _NOTE, text.content + "\nmore words\n", text.sha256).note

    def _moved(self) -> Any:
        from reverie.services.moves import Moves

        names = ("testing.md", "preferences.md")
        targets = {f"/memories/global/{name}": f"/memories/workspace/{name}" for name in names}
        return Moves(self._parts).move(self._context, targets)

    def _restore(self) -> str:
        from reverie.services.trash import TrashService

        desk = TrashService(self._parts)
        return desk.restore(desk.page()[0]).warning

    def _companion(self) -> str:
        from reverie.services.edits import CompanionFiles

        companion = self._parts.home.companions(self._context)[0]
        files = CompanionFiles(self._parts)
        text = files.read(companion)
        return files.save(companion, text.content + "\nmore words\n", text.sha256).note


def _done(run: RunResult) -> str:
    """No warning. Raises `UserError` where the run did not come to pass."""
    if not run.succeeded:
        raise UserError(run.summary)
    return ""
