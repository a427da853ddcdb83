"""`reverie memory`: memory commands as JSON lines, for scripts, agents and tests (design.md section 5).

Each line names its own context, actor and time; a bad line is answered and the next one goes on. Besides the
six commands of an agent there are `read`, `save`, `pin` and `index`, what an editor does. An agent's views
count as use, a person's never do.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.cli.answers import DONE, print_json_line, trouble
from reverie.cli.context import require_workspace
from reverie.clock import is_time
from reverie.errors import Conflict, MendableError, StoreError
from reverie.homes.scopes import ProjectGap, Scope, ScopeContext, ScopeUnavailable
from reverie.memory.commands import COMMANDS, MemoryCommands, normalise
from reverie.memory.listing import index_entries, scan_scope
from reverie.memory.store import MemoryStore
from reverie.services.parts import HomeParts
from reverie.services.usage_keeping import keep_usage

if TYPE_CHECKING:
    from reverie.cli.session import Session
    from reverie.services.index_care import RenamePlan

_ACTORS = ("agent", "user")


def memory(session: Session) -> int:
    """Answer the lines of stdin until it ends."""
    clock = LineClock(session.clock)
    parts = session.home(clock)
    lines = MemoryLines(
        parts,
        clock,
        workspace_id=session.arguments.workspace,
        project=session.arguments.project,
        warn=trouble,
    )
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="replace", newline="\n")
    for answer in lines.answer_all(source):
        print_json_line(answer)
    return DONE


class LineClock:
    """The clock of a session of lines: a line's `now` holds for that line, else the clock given."""

    def __init__(self, fallback: Any) -> None:
        self._fallback = fallback
        self.now: int | None = None

    def __call__(self) -> int:
        """UTC ms."""
        return int(self._fallback()) if self.now is None else self.now


class MemoryLines:
    """Answers lines over one home. `workspace_id` and `project` hold for lines that name none; `warn` gets a
    sentence for what went wrong once the lines were answered."""

    def __init__(
        self,
        parts: HomeParts,
        clock: LineClock,
        *,
        workspace_id: str | None,
        project: str | None,
        warn: Callable[[str], None],
    ) -> None:
        self._parts = parts
        self._clock = clock
        self._workspace_id = workspace_id
        self._project = project
        self._warn = warn
        self._changed: list[Path] = []
        self._pinned_by = ""
        self._known: set[str] = set()

    def answer_all(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """One answer a line, blank lines aside; what changed goes into the history at the end."""
        keep_usage(self._parts)
        try:
            for line in lines:
                if line.strip():
                    yield self.answer(line)
        finally:
            self._note_changes()

    def _note_changes(self) -> None:
        """Take what was changed into the history. The changes are made and answered by now: where this
        fails, the next snapshot takes them in."""
        try:
            if self._changed:
                self._parts.snapshots.observe(source="memory commands", dirty=self._changed)
            if self._pinned_by:
                self._parts.snapshots.record(
                    actor=self._pinned_by, source="memory commands", subject="Pins", dirty=[]
                )
        except MendableError as error:
            self._warn(f"What was changed is not in the history yet. {error}")

    def answer(self, line: str) -> dict[str, Any]:
        """The answer to one line; never raises for what a person or a model can mend."""
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            return {"success": False, "error": "The line is not valid JSON."}
        if not isinstance(request, dict):
            return {"success": False, "error": "A line must be a JSON object."}
        try:
            return self._dispatch(request)
        except MendableError as error:
            if request.get("command") != "save":
                return {"success": False, "error": str(error)}
            kind = "conflict" if isinstance(error, Conflict) else "error"
            return {"success": False, "kind": kind, "error": str(error)}

    def _dispatch(self, request: Mapping[str, Any]) -> dict[str, Any]:
        command, now = request.get("command"), request.get("now")
        if command is not None and not isinstance(command, str):
            raise StoreError("command must be text.", reason="usage")
        if now is not None and not is_time(now):
            raise StoreError("now must be a whole number of milliseconds since 1970.", reason="usage")
        self._clock.now = now
        self._parts.require_same_home()
        actor = request.get("actor") or ("agent" if command in COMMANDS else "user")
        if actor not in _ACTORS:
            raise StoreError(f"actor must be one of {', '.join(_ACTORS)}.", reason="usage")
        context = self._context(request)
        warnings: list[str] = []
        store = self._parts.store(
            context, actor=actor, after_change=self._changed.append, warn=warnings.append
        )
        answer = self._answer(store, context, request, actor)
        if warnings:
            answer["warnings"] = [*answer.get("warnings", ()), *warnings]
        return answer

    def _answer(
        self, store: MemoryStore, context: ScopeContext, request: Mapping[str, Any], actor: str
    ) -> dict[str, Any]:
        command = request.get("command")
        if command in COMMANDS:
            plan = self._plan(context, request)
            answer = MemoryCommands(store, count_reads=actor == "agent").execute(request)
            if plan is not None and answer.get("success"):
                self._follow(context, plan, actor, answer)
            return answer
        own = {"read": self._read, "save": self._save, "pin": self._pin, "index": self._index}.get(
            str(command)
        )
        if own is None:
            known = ", ".join(sorted({*COMMANDS, "read", "save", "pin", "index"}))
            raise StoreError(
                f"Unknown command {command!r}.", next_step=f"Use one of {known}.", reason="usage"
            )
        return own(store, request, actor)

    def _plan(self, context: ScopeContext, request: Mapping[str, Any]) -> RenamePlan | None:
        """What follows a rename where the agent keeps an index; None for anything else."""
        fields = normalise(request)
        old, new = fields.get("old_path"), fields.get("new_path")
        if fields.get("command") != "rename" or not isinstance(old, str) or not isinstance(new, str):
            return None
        from reverie.homes.claude_index import INDEX
        from reverie.services.index_care import IndexDesk

        try:
            _path, root, _files = self._parts.store(context, actor="user").resolve(old)
            if self._parts.home.file_role(root, INDEX) != "index":
                return None
            return IndexDesk(self._parts).plan_renames(context, {old: new})
        except MendableError:
            return None  # the rename itself says what is wrong

    def _follow(self, context: ScopeContext, plan: RenamePlan, actor: str, answer: dict[str, Any]) -> None:
        """Bring the index and links after a rename; what could not follow is a sentence in the answer."""
        from reverie.services.index_care import IndexDesk

        left = IndexDesk(self._parts).follow_rename(context, plan, actor=actor, changed=self._changed.append)
        if left:
            answer["output"] = " ".join([str(answer.get("output", "")), *left]).strip()

    def _context(self, request: Mapping[str, Any]) -> ScopeContext:
        workspace_id = request.get("workspace_id", self._workspace_id)
        project = request.get("project_path", self._project)
        for name, value in (("workspace_id", workspace_id), ("project_path", project)):
            if value is not None and not isinstance(value, str):
                raise StoreError(f"{name} must be text.", reason="usage")
        given = "project_path" in request or self._project is not None
        context = self._parts.home.context(
            workspace_id=workspace_id or None, project_path=project or None, project_given=given
        )
        # A line that says `"project_path": null` gives its whole context itself, as the battery's lines do,
        # and is believed. A project beside the workspace says nothing about the workspace.
        if workspace_id and (project or not given):
            self._require_known(workspace_id)
        return context

    def _require_known(self, workspace_id: str) -> None:
        """Raises `Ambiguous` for a workspace that the home neither lists nor has a store of: a typing error
        must not make a store that nobody owns, whether or not a project is named beside it."""
        if workspace_id in self._known:
            return
        # While the list cannot be read, nobody knows which workspaces there are. A context with a project
        # does not say so, as it needs no list.
        alone = self._parts.home.context(workspace_id=workspace_id)
        if alone.project_gap is not ProjectGap.UNKNOWN:
            require_workspace(self._parts, workspace_id)
            self._known.add(workspace_id)

    @staticmethod
    def _read(store: MemoryStore, request: Mapping[str, Any], actor: str) -> dict[str, Any]:
        text = store.read_text(_path(request), as_use=actor == "agent")
        return {"success": True, "content": text.content, "sha256": text.sha256}

    @staticmethod
    def _save(store: MemoryStore, request: Mapping[str, Any], _actor: str) -> dict[str, Any]:
        content, expected = request.get("content"), request.get("expected_sha256")
        if not isinstance(content, str) or not isinstance(expected, str | None):
            raise StoreError(
                "save needs content as text and expected_sha256 as text or null.", reason="usage"
            )
        return {"success": True, "sha256": store.save(_path(request), content, expected)}

    def _pin(self, store: MemoryStore, request: Mapping[str, Any], actor: str) -> dict[str, Any]:
        pinned = request.get("pinned")
        if not isinstance(pinned, bool):
            raise StoreError("pin needs pinned as true or false.", reason="usage")
        path = _path(request)
        store.pin(path, pinned)
        self._pinned_by = actor
        return {"success": True, "output": f"{'Pinned' if pinned else 'Unpinned'} {path.strip()}."}

    def _index(self, store: MemoryStore, _request: Mapping[str, Any], _actor: str) -> dict[str, Any]:
        home, usage = self._parts.home, self._parts.usage.load_for_showing()
        entries: list[dict[str, Any]] = []
        for scope in (Scope.GLOBAL, Scope.PROJECT, Scope.WORKSPACE):
            try:
                root = home.scope_root(store.context, scope)
            except ScopeUnavailable:
                continue
            listing = scan_scope(root, home.caps, usage, partial(home.usage_key, root))
            entries.extend(dict(entry) for entry in index_entries(listing, scope, home.caps))
        answer: dict[str, Any] = {"success": True, "entries": entries}
        if problem := self._parts.usage.closed_problem():
            answer["warnings"] = [problem]
        return answer


def _path(request: Mapping[str, Any]) -> str:
    path = normalise({"path": request.get("path")}).get("path")
    if not isinstance(path, str):
        raise StoreError("The command lacks path.", reason="usage")
    return path
