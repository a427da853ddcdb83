"""The rails of a run: the scopes and files that it may change, and how many changes it may make.

Prompts are rendered from the same values. Every mutating request of a model or of the rules engine passes
`Guard.execute`, which checks the request, reserves its cost before anything is awaited, issues it to the
memory commands of the run's overlay and journals it (formats/mux.md section 10).

- A malformed request, or one that names no path, is answered and otherwise ignored.
- A refusal is journaled with its reason and costs nothing.
- An accepted request costs one change, even if it fails or the run is a dry run.
- Reading is free and remains possible after the budget is used up.

Not thread-safe: one guard per run and event loop. Concurrent tool calls of that loop are safe, because
reserving is synchronous.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reverie.agents.scopes import Scope
from reverie.errors import UserError
from reverie.memory.commands import MUTATING, MemoryCommands, normalise, paths_of
from reverie.memory.paths import MemoryPath, is_hidden, parse_memory_path
from reverie.runs.record import DRY_RUN_NOTE
from reverie.values import Struct, replace

# A model that floods the guard must not fill the record or the agent's coverage sidecar. Refusals beyond the
# limit are answered but not journaled.
_REFUSALS_KEPT = 100
_SHOWN_CHARS = 500


class Rails(Struct, frozen=True):
    """The limits of a run: the scopes and paths that it may change, and the number of changes."""

    scopes: frozenset[Scope]
    budget: int
    """The maximum number of changes."""
    is_protected: Callable[[MemoryPath], bool]
    """A function that returns whether a path is pinned or has a pinned memory below it."""
    dry_run: bool = False
    undeletable: frozenset[Scope] = frozenset()
    """Scopes from which nothing may be deleted, as in the final pass over an archived workspace."""
    kept: Callable[[str, MemoryPath], str] = lambda _command, _path: ""
    """A function `(command, path)` that returns the reason why the command must not change the path.

    The reason is the role of the file for the agent, such as an index. It is empty if the command may change
    the path.
    """


class JournalEntry(Struct, frozen=True):
    """One request to change a memory, and its outcome.

    The fields except `reason` are those of an operation in the agent's record of a consolidation (coverage
    record).
    """

    command: str
    path: str
    new_path: str | None
    """The destination of a rename; None for other commands."""
    applied: bool
    note: str | None = None
    """The reason why the request was not applied; None if it was."""
    reason: str = ""
    """The engine's reason for the request. This field is Reverie's own, not part of the agent's record."""

    def as_op(self) -> dict[str, Any]:
        """Return the entry as JSON data, as in the agent's records and in the output of `reverie runs`.

        It does not contain `reason`.
        """
        op: dict[str, Any] = {"command": self.command, "path": self.path}
        if self.new_path is not None:
            op["newPath"] = self.new_path
        op["applied"] = self.applied
        if self.note is not None:
            op["note"] = self.note
        return op


class Guard:
    """The only access of a run to the memories: checks each request and journals each attempted change."""

    def __init__(self, commands: MemoryCommands, rails: Rails) -> None:
        self._commands = commands
        self.rails = rails
        self._spent = 0
        self._refused = 0
        self._journal: list[JournalEntry] = []

    @property
    def remaining(self) -> int:
        """The number of changes left in the budget."""
        return self.rails.budget - self._spent

    @property
    def ops(self) -> tuple[dict[str, Any], ...]:
        """The requests so far to change a memory, with their outcomes, as made by `JournalEntry.as_op`."""
        return tuple(entry.as_op() for entry in self._journal)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The engine's reason for each entry of `ops`; empty if it gave none."""
        return tuple(entry.reason for entry in self._journal)

    @property
    def applied(self) -> int:
        """The number of requests that succeeded, including requests of a dry run."""
        return sum(entry.applied or entry.note == DRY_RUN_NOTE for entry in self._journal)

    def execute(self, request: Mapping[str, Any], *, reason: str = "", free: bool = False) -> dict[str, Any]:
        """Carry out one request like `MemoryCommands.execute`, or refuse it; return the result.

        The result has `success`, then `output` if it is True, else `error`. `reason` is the engine's reason
        for the request, empty if it gave none. With `free`, an insert or replacement does not count against
        the budget; requests of models are never free.
        """
        reason = reason[:_SHOWN_CHARS]
        command = str(request.get("command"))
        if command not in MUTATING:
            return self._commands.execute(request)
        try:
            paths = paths_of(normalise(request))
        except UserError as error:
            return {"success": False, "error": str(error)}
        if len(paths) < (2 if command == "rename" else 1):
            # The agent neither counts nor records a call without a path, so it is no change.
            return self._commands.execute(request)
        is_free = free and command in ("insert", "str_replace")
        refusal = self._refusal(command, paths, free=is_free)
        if refusal is not None:
            return self._refuse(command, paths, refusal, reason)
        self._spent += not is_free
        position = len(self._journal)
        self._journal.append(_entry(command, paths, applied=False))
        answer = self._commands.execute(request)
        self._journal[position] = replace(self._outcome(command, paths, answer), reason=reason)
        return answer

    def withdraw(self, since: int, note: str) -> None:
        """Mark the applied requests from index `since` of `ops` on as not applied.

        Call this after the run's copy of the files was rolled back to that point. `note`: the reason, which
        each of these entries gets.
        """
        for position in range(since, len(self._journal)):
            if self._journal[position].applied or self._journal[position].note == DRY_RUN_NOTE:
                self._journal[position] = replace(self._journal[position], applied=False, note=note)

    def _outcome(self, command: str, paths: Sequence[str], answer: Mapping[str, Any]) -> JournalEntry:
        if not answer["success"]:
            return _entry(command, paths, applied=False, note=str(answer["error"])[:_SHOWN_CHARS])
        if self.rails.dry_run:
            return _entry(command, paths, applied=False, note=DRY_RUN_NOTE)
        return _entry(command, paths, applied=True)

    def _refuse(self, command: str, paths: Sequence[str], note: str, reason: str) -> dict[str, Any]:
        self._refused += 1
        if self._refused <= _REFUSALS_KEPT:
            shown = [path[:_SHOWN_CHARS] for path in paths]
            entry = _entry(command, shown, applied=False, note=note[:_SHOWN_CHARS])
            self._journal.append(replace(entry, reason=reason))
        return {"success": False, "error": note}

    def _refusal(self, command: str, paths: Sequence[str], *, free: bool) -> str | None:
        """Return the reason why the limits of the run forbid a command; None if they allow it.

        `paths`: the memory paths that the command would change. `free`: True if the command does not count
        against the budget.
        """
        if self.remaining <= 0 and not free:
            return f"The {self.rails.budget} changes of this run are used up. Reading goes on."
        for text in paths:
            try:
                path = parse_memory_path(text)
            except UserError as error:
                return str(error)
            if is_hidden(path.rel):
                return f"{path} is hidden: no run touches a name that begins with a dot."
            if path.scope is not None and path.scope not in self.rails.scopes:
                allowed = ", ".join(
                    f"/memories/{scope.value}/" for scope in Scope if scope in self.rails.scopes
                )
                return f"{path} is out of bounds for this run, which may change {allowed} only."
            if command == "delete" and path.scope in self.rails.undeletable:
                return f"{path} stays: this run deletes nothing from {path.scope.value} memory."
            if why := self.rails.kept(command, path):
                return why
            if command in ("delete", "rename") and path.segments and self.rails.is_protected(path):
                return (
                    f"{path} is pinned, or holds a pinned memory. Pinned memories may be edited, "
                    "never deleted or renamed by a run."
                )
        return None


def _entry(command: str, paths: Sequence[str], *, applied: bool, note: str | None = None) -> JournalEntry:
    shown = [_canonical(path) for path in paths] or [""]
    return JournalEntry(command, shown[0], shown[1] if len(shown) > 1 else None, applied, note)


def _canonical(path: str) -> str:
    """Return the memory path `path` in its canonical form; an invalid path is returned unchanged."""
    try:
        return str(parse_memory_path(path))
    except UserError:
        return path
