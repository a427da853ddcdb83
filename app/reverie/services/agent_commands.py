"""The six memory commands of agents on one home, for JSON lines on stdin and for the memory server.

The command itself is `memory.commands`. If the agent keeps an index of its memories, a rename also updates
the index and the links to the memory.

Threading: blocking, any thread but the GUI's. Failure: a refused command is a result, not an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from reverie.agents.memory_index import INDEX
from reverie.agents.scopes import Scope, ScopeContext
from reverie.errors import UserError, warned
from reverie.memory.commands import MemoryCommands, normalise
from reverie.memory.listing import index_entries
from reverie.memory.store import MemoryStore
from reverie.memory.write_log import OUTSIDE
from reverie.runs.record import RunKind
from reverie.services.container import HomeContainer, roots_of
from reverie.services.memory_index import IndexPlan, IndexService
from reverie.services.views import MemoryView

_RESERVED = frozenset({"user", "you", "agent", OUTSIDE, "other", *get_args(RunKind)})
"""The actors of the history that are not programs."""
_NAME_CHARS = 40


def actor_of_program(name: str) -> str:
    """Return the actor in the history for a program that calls itself `name`.

    The name is untrusted: it becomes one short line, and cannot be that of a person, of the agent or of a
    kind of run.
    """
    line = " ".join("".join(each if each.isprintable() else " " for each in name).split())[:_NAME_CHARS]
    return f"{line} (program)" if line.casefold() in _RESERVED else line or "unnamed program"


class AgentCommands:
    """The service that carries out memory commands of agents and other programs on one home.

    `view` returns the trees of memories of a context.
    """

    def __init__(self, parts: HomeContainer, view: Callable[[ScopeContext], MemoryView]) -> None:
        self._parts = parts
        self._view = view

    def execute(self, context: ScopeContext, program: str, request: Mapping[str, Any]) -> tuple[bool, str]:
        """Carry out a command of another program; return whether it succeeded, and its output or error.

        `program`: the name that the program gave itself. `request`: the arguments of the command, with its
        name under the key `command`. What the command changes is recorded in the history as one change set of
        that program. Nothing is counted as a use of a memory, because the program is not the agent of this
        home.
        """
        actor, changed, warnings = actor_of_program(program), list[Path](), list[str]()
        try:
            self._parts.require_same_home()
            store = self._parts.store(
                context, actor=actor, after_change=changed.append, warn=warnings.append, counts=False
            )
            answer = run_command(
                self._parts, store, request, actor=actor, count_reads=False, changed=changed.append
            )
        except UserError as error:
            return False, str(error)
        if changed:
            with warned(warnings):
                self._parts.snapshots.observe(source="the memory server", dirty=changed)
        text = answer["output"] if answer["success"] else answer["error"]
        return bool(answer["success"]), " ".join((str(text), *warnings))

    def roots(self, context: ScopeContext) -> dict[Scope, str]:
        """Return the scopes that a context has, each with the key of its root (`ScopeRoot.key`)."""
        return {root.scope: root.key for root in roots_of(self._parts.home, context)}

    def index(self, context: ScopeContext, most: int) -> tuple[int, tuple[tuple[str, str], ...]]:
        """Return the number of memories of a context, and path and description of at most `most` of them.

        Pinned memories come first, then those of the workspace, the project and the global scope.
        """
        scopes, caps = self._view(context).scopes, self._parts.home.caps
        entries = [entry for scope in Scope for entry in index_entries(scopes[scope], scope, caps)]
        entries.sort(key=lambda entry: not entry["pinned"])
        return len(entries), tuple((each["path"], each["description"] or "") for each in entries[:most])


def run_command(
    parts: HomeContainer,
    store: MemoryStore,
    request: Mapping[str, Any],
    *,
    actor: str,
    count_reads: bool,
    changed: Callable[[Path], None],
) -> dict[str, Any]:
    """Carry out one memory command; after a rename, update the agent's index and links too.

    `store`: the store of the context, which attributes changes to `actor`. `request`: the arguments of the
    command, with its name (`view`, `create`, `str_replace`, `insert`, `delete` or `rename`) under the key
    `command`. `count_reads`: count a `view` as a use of the memory. `changed` is called with each path that
    is written to update the index and the links. Returns the result of `MemoryCommands.execute`; its output
    mentions each text whose links still use the old name.
    """
    plan = _rename_plan(parts, store.context, request)
    answer = MemoryCommands(store, count_reads=count_reads).execute(request)
    if plan is not None and answer["success"]:
        left = IndexService(parts).follow_rename(store.context, plan, actor=actor, changed=changed)
        answer["output"] = " ".join([str(answer["output"]), *left]).strip()
    return answer


def _rename_plan(parts: HomeContainer, context: ScopeContext, request: Mapping[str, Any]) -> IndexPlan | None:
    """Return the edits in other files that renaming a memory requires, if the agent keeps an index.

    They update the index and the links to the memory. None if `request` is another command or cannot be
    carried out, or if no index covers the memory.
    """
    if request.get("command") != "rename":
        return None
    try:
        fields = normalise(request)
        old, new = str(fields.get("old_path", "")), str(fields.get("new_path", ""))
        _path, root, _files = parts.store(context, actor="user").resolve(old)
        if parts.home.file_role(root, INDEX) != "index":
            return None
        return IndexService(parts).plan_renames(context, {old: new})
    except UserError:
        return None  # the rename itself reports the problem
