"""A person's decision about a finding, carried out as a run.

`ProposalOverlay` tries a proposal on a copy of the memories, so that all files that it would change are
known, including the agent's index and links to a deleted note. `decide` carries out a proposal on the present
files. It uses the same overlay, guard, transaction and history as a consolidation, but writes no coverage
record: a decision is no consolidation. What a person decides is not held for review.

The run changes the memories only if each of them still has the bytes from which the proposal was made.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`; nothing is changed then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from reverie.agents.base import Home
from reverie.agents.scopes import ScopeContext
from reverie.errors import StoreError, UserError
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.rules.plan import Note, Operation, edit_operation
from reverie.jobs.consolidate.suggestions import Proposal, changed_since
from reverie.memory.listing import no_check
from reverie.memory.scope_files import FileChange
from reverie.memory.usage import UsageLog
from reverie.memory.write_guard import refuse_while_agent_writes
from reverie.runs.guard import Guard
from reverie.runs.record import Op, RunRecord, RunResult
from reverie.runs.run import Holding, Job, Plan, Run, RunContext, RunDependencies, Thought
from reverie.text.summaries import estimate_tokens
from reverie.values import replace

TIME_LIMIT_S = 120.0
HoldAgentLock = Callable[[ScopeContext, str, Callable[[], None]], AbstractContextManager[Holding]]
"""A function `(context, run id, check)` that returns the context manager for the agent's own lock."""


class ProposalOverlay:
    """A copy of the memories of a context, on which proposals are tried one after the other."""

    def __init__(
        self, home: Home, context: ScopeContext, usage: UsageLog, check: Callable[[], None] = no_check
    ) -> None:
        """Read the memories of `context`.

        `usage`: the record of uses and pins of the memories. `check` is called for each memory and may raise
        to stop.
        """
        self._overlay = DreamOverlay(home, context, usage)
        self.notes: Mapping[str, Note] = {note.path: note for note in self._overlay.notes(check)}
        """The memories that a run may read, by path."""

    def may_edit(self, path: str) -> bool:
        """Return whether a proposal may change the memory at `path`."""
        note = self.notes.get(path)
        return note is not None and not (note.index or note.document or note.write_protected)

    def changes(self, proposal: Proposal) -> Sequence[FileChange]:
        """Return all files that the proposal would change.

        Empty if the rules that limit what a run may change forbid a part of the proposal.
        """
        overlay, before = self._overlay, self._overlay.savepoint()
        try:
            guard = request_all(overlay, proposal, self.notes)
            overlay.follow(guard.ops)
            return overlay.changes()
        except UserError:
            return ()
        finally:
            overlay.rollback(before)

    def tokens_saved(self, changes: Sequence[FileChange]) -> int:
        """Return by how many tokens the text that a session loads at its start is shorter after `changes`.

        Never below 0.
        """
        return max(0, self._loaded(changes, "before") - self._loaded(changes, "after"))

    def _loaded(self, changes: Sequence[FileChange], side: str) -> int:
        texts = {change.path: getattr(change, side) for change in changes}
        read = {path: data.decode("utf-8", "replace") for path, data in texts.items() if data is not None}
        return sum(map(estimate_tokens, self._overlay.loaded(read).values()))


def request_all(overlay: DreamOverlay, proposal: Proposal, notes: Mapping[str, Note]) -> Guard:
    """Request the operations of a proposal from a new guard, deletions last; return the guard.

    The guard checks each operation against the limits of a run and applies it to `overlay`, the copy of the
    memories. `notes`: the memories by path. Raises `StoreError` with the reason if the guard refuses one.
    """
    guard = overlay.guard(budget=len(proposal.texts), dry_run=False)
    if proposal.heir:
        guard.rails = replace(guard.rails, is_protected=lambda _path: False)
    edits = [(path, text) for path, text in proposal.texts.items() if text is not None]
    operations = [edit_operation(path, notes[path].text, text) for path, text in edits]
    operations += [Operation("delete", path, {}) for path, text in proposal.texts.items() if text is None]
    for operation in operations:
        request = {"command": operation.command, "path": operation.path, **operation.arguments}
        answer = guard.execute(request, reason=str(proposal.why))
        if not answer["success"]:
            raise StoreError("Nothing was changed.", cause=str(answer["error"]), reason="refused")
    return guard


class JobByHand(Job[Thought]):
    """Base class of the jobs by which a person decides something and waits for the result."""

    lease = "whole"
    raises = True

    def __init__(self, parts: RunDependencies, context: ScopeContext, *, purpose: str) -> None:
        """Prepare a run on the memories of `context`; `purpose` is shown to others while it has the lease."""
        self._parts = parts
        self._context = context
        self.workspace_id = context.workspace_id
        self.project_path = context.project_path
        self.trigger = "manual"
        self.engine = "rules"
        self.purpose = purpose
        self.time_limit_s = TIME_LIMIT_S

    def refused(self, refusal: UserError) -> RunResult:
        """Raise the refusal, because a person waits for the result."""
        raise refusal

    def say(self, event: str, text: str, record: RunRecord, *, level: str = "info") -> None:
        """Report an event of the run in Activity, the log of background work; `text` is for people."""
        self._parts.activity.add_of_run(f"{self.kind}.{event}", text, record, level)


class DecisionJob(JobByHand[None]):
    """The run that carries out one proposal, the change with which a person resolves a finding."""

    kind = "decision"
    before = "before a decision"

    def __init__(
        self,
        parts: RunDependencies,
        hold: HoldAgentLock,
        context: ScopeContext,
        proposal: Proposal,
        expected: Sequence[FileChange],
    ) -> None:
        """Prepare the run.

        `hold`: a function that holds the agent's own lock during the run. `expected`: the changes that the
        person has seen and decided on.
        """
        super().__init__(parts, context, purpose="a decision")
        self._hold = hold
        self._proposal = proposal
        self._expected = {change.path: change for change in expected}
        self._guard: Guard | None = None

    def require(self) -> None:
        """Raise `ReadOnlyStore` if a store that the proposal changes must not be written."""
        for change in self._expected.values():
            self._parts.guard.require(change.root)

    def ready(self) -> None:
        """Raise `Busy` while the agent rewrites its memories."""
        refuse_while_agent_writes(self._parts.home, self._context, lock_dir=self._parts.guard.lock_dir)

    def hold(self, run_id: str, check: Callable[[], None]) -> AbstractContextManager[Holding]:
        """Context manager: hold the agent's own lock."""
        return self._hold(self._context, run_id, check)

    async def think(self, run: RunContext) -> None:
        """Do nothing, because the person has decided."""

    def accept(self, thought: None, run: RunContext) -> Plan:
        """Return the plan of the run: the changes of the proposal to the present files.

        Raises `Conflict` if they differ from the changes that the person has seen.
        """
        overlay = DreamOverlay(self._parts.home, self._context, self._parts.usage)
        notes = {note.path: note for note in overlay.notes(run.limits.check)}
        gone = [path for path in self._proposal.texts if path not in notes]
        if gone:
            raise changed_since(gone[0])
        guard = self._guard = request_all(overlay, self._proposal, notes)
        followed = overlay.follow(guard.ops)
        changes = overlay.changes()
        for change in changes:
            if change != self._expected.get(change.path):
                raise changed_since(change.path)
        if len(changes) != len(self._expected):
            raise changed_since(next(iter(self._expected)))
        usage_before, usage_after = overlay.usage_delta(
            guard.ops, now=run.started_at, heir=self._proposal.heir
        )
        return Plan(
            str(self._proposal.why),
            changes,
            guard.ops,
            emptied=overlay.emptied(),
            usage_before=usage_before,
            usage_after=usage_after,
            details={"action": self._proposal.action, **({"followed": list(followed)} if followed else {})},
        )

    def ops(self) -> tuple[Op, ...]:
        """Return the operations that were requested so far."""
        return () if self._guard is None else self._guard.ops


def decide(
    parts: RunDependencies,
    hold: HoldAgentLock,
    context: ScopeContext,
    proposal: Proposal,
    expected: Sequence[FileChange],
) -> RunResult:
    """Carry out a proposal as a run; return its result.

    `hold`: holds the agent's own lock during a run. `expected`: all changes of the proposal, as
    `ProposalOverlay.changes` returned them. Raises `Conflict` if the memories have changed since, `Busy`
    while another run is at work, and `ReadOnlyStore`.
    """
    return Run(parts, DecisionJob(parts, hold, context, proposal, expected)).go_at_once()
