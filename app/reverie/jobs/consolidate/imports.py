"""An import: files from elsewhere become a proposal, which a person reviews before a memory changes.

Each file is written into a copy of the memories, by the rules of every other write. A file that the agent
would not accept is left out with the reason, and so is one that is no text. A file that is there already
with the same bytes is unchanged. What remains is recorded as a run that is held for review; the import itself
changes nothing.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`; nothing is recorded then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reverie.agents.base import Home
from reverie.agents.scopes import Scope, ScopeContext
from reverie.errors import UserError
from reverie.files.bundle import BundledFile, LeftOut
from reverie.jobs.consolidate.decision import JobByHand
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.review import HELD_NOTE
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import FileChange
from reverie.memory.usage import UsageLog
from reverie.runs.record import Op, RunResult
from reverie.runs.run import Plan, Run, RunContext, RunDependencies
from reverie.text.summaries import some
from reverie.values import Struct

_MOST_NAMED = 100
"""The largest number of files that the run's record names as left out."""


class PlannedImport(Struct, frozen=True):
    """The changes that an import proposes, and the files that it does not need or cannot use."""

    changes: Sequence[FileChange]
    unchanged: tuple[str, ...]
    """The memory paths of files that are there already with the same bytes."""
    left_out: tuple[LeftOut, ...]


def plan_import(
    home: Home,
    context: ScopeContext,
    usage: UsageLog,
    scope: Scope,
    files: Sequence[BundledFile],
    check: Callable[[], None],
) -> PlannedImport:
    """Return the changes that would bring the bytes of `files` into a scope of `context`.

    `usage`: the record of pins and uses of the memories. `check` is called for each file and may raise to
    stop. Raises `ScopeUnavailable` if the context has no such scope.
    """
    home.scope_root(context, scope)
    overlay = DreamOverlay(home, context, usage)
    unchanged, left_out = list[str](), list[LeftOut]()
    for file in files:
        check()
        path = str(memory_path(scope, file.rel))
        try:
            text = file.data.decode()
        except UnicodeDecodeError:
            left_out.append(LeftOut(file.rel, "It is not UTF-8 text."))
            continue
        if "\0" in text:
            left_out.append(LeftOut(file.rel, "It is no text: it contains a NUL character."))
            continue
        try:
            if not overlay.bring_in(path, text):
                unchanged.append(path)
        except UserError as error:
            left_out.append(LeftOut(file.rel, str(error)))
    return PlannedImport(overlay.changes(), tuple(unchanged), tuple(left_out))


class ImportJob(JobByHand[PlannedImport]):
    """The run that records an import as a proposal; it changes no memory."""

    kind = "import"
    before = "before an import"

    def __init__(
        self,
        parts: RunDependencies,
        context: ScopeContext,
        scope: Scope,
        files: Sequence[BundledFile],
        source: str,
    ) -> None:
        """Prepare the run; `source`: the name of the folder or archive, for the record."""
        super().__init__(parts, context, purpose="an import")
        self._scope = scope
        self._files = files
        self._ops: tuple[Op, ...] = ()
        self.planned = PlannedImport((), (), ())
        """The result of the run; empty before it has ended."""
        self.details = {"from": source}

    def require(self) -> None:
        """Raise `ReadOnlyStore` if the store of the scope must not be written."""
        self._parts.guard.require(self._parts.home.scope_root(self._context, self._scope))

    async def think(self, run: RunContext) -> PlannedImport:
        """Return the changes that the import proposes."""
        parts = self._parts
        return plan_import(parts.home, self._context, parts.usage, self._scope, self._files, run.limits.check)

    def accept(self, thought: PlannedImport, run: RunContext) -> Plan:
        """Return a plan that only records the changes, for review."""
        self.planned = thought
        left = [{"path": each.rel, "reason": each.reason} for each in thought.left_out[:_MOST_NAMED]]
        details = {"leftOut": left} if left else {}
        if not thought.changes:
            return Plan("No changes needed.", outcome="unchanged", details=details)
        self._ops = tuple(
            {"command": each.command, "path": each.path, "applied": False, "note": HELD_NOTE}
            for each in thought.changes
        )
        return Plan(
            f"Held for review: import of {some(len(thought.changes), 'file')}.",
            thought.changes,
            self._ops,
            outcome="held",
            reason="held",
            next_step="Review the run. It has changed nothing so far.",
            for_review=True,
            details=details,
        )

    def ops(self) -> tuple[Op, ...]:
        """Return the operations that the import proposes."""
        return self._ops


def propose_import(
    parts: RunDependencies, context: ScopeContext, scope: Scope, files: Sequence[BundledFile], source: str
) -> tuple[RunResult, PlannedImport]:
    """Record an import as a run that is held for review; return its result and the proposed changes.

    Raises `Busy` while another run is at work, `ReadOnlyStore`, and `ScopeUnavailable`.
    """
    job = ImportJob(parts, context, scope, files, source)
    return Run(parts, job).go_at_once(), job.planned
