"""What is shown of runs: the footer of a context, the list of runs, their costs, and reviews.

Everything is read from sidecars and run records, never from what a run returned. Showing a review changes
nothing; applying one goes through `jobs.consolidate`.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.files.lease import LeaseHolder
from reverie.jobs.consolidate.apply import ApplyService, load_review
from reverie.jobs.consolidate.coverage import status_of
from reverie.jobs.consolidate.review import (
    Hunk,
    ReviewedFile,
    ReviewedGroup,
    ReviewSelection,
    came_to_pass,
    named_parts,
)
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.jobs.writer.service import writer_lease_name
from reverie.memory.diff import text_lines
from reverie.runs.activity import ActivityEntry
from reverie.runs.record import Parts, RunRecord
from reverie.runs.result import Progress, ReportCard, RunResult, card_from_json
from reverie.services.container import HomeContainer
from reverie.services.views import (
    ChangedFile,
    CoverageRow,
    HarvestRow,
    ReviewFile,
    ReviewGroup,
    ReviewHunk,
    ReviewView,
    RunSummary,
    Spent,
    StatusView,
)
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.jobs.consolidate.coverage import Status


# Costs of models per scope: of the last run that asked one, and of this calendar month (UTC). A run counts
# for its workspace, for its project and for global memory. Pure.


def month_start(now: int) -> int:
    """UTC ms at the beginning of the month of `now`."""
    moment = datetime.fromtimestamp(now / 1000, UTC)
    return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp() * 1000)


def spent_by_scope(records: Iterable[RunRecord], context: ScopeContext, *, now: int) -> Mapping[Scope, Spent]:
    """`records` newest first, all of this month and as many older ones as the last run is looked for in."""
    paid = [record for record in records if record.usage]
    belongs: dict[Scope, Callable[[RunRecord], bool]] = {
        Scope.WORKSPACE: lambda record: (
            context.workspace_id is not None and record.workspace_id == context.workspace_id
        ),
        Scope.PROJECT: lambda record: (
            context.project_path is not None and record.project_path == context.project_path
        ),
        Scope.GLOBAL: lambda _record: True,
    }
    since = month_start(now)
    return {scope: _spent([record for record in paid if belongs[scope](record)], since) for scope in Scope}


def cost_of(record: RunRecord) -> float | None:
    """What a run cost in US dollars; None: nothing was asked, or the price is not known."""
    cost = record.details.get("costUsd")
    return float(cost) if isinstance(cost, int | float) else None


def _tokens(record: RunRecord) -> int:
    usage = record.usage or {}
    return usage.get("inputTokens", 0) + usage.get("outputTokens", 0)


def _spent(paid: list[RunRecord], since: int) -> Spent:
    if not paid:
        return Spent()
    month = [record for record in paid if record.started_at >= since]
    costs = [cost_of(record) for record in month]
    known = [cost for cost in costs if cost is not None]
    return Spent(
        last_tokens=_tokens(paid[0]),
        last_cost=cost_of(paid[0]),
        month_tokens=sum(map(_tokens, month)),
        month_cost=sum(known) if known else None,
        month_unknown=len(known) < len(costs),
    )


RECENT_RUNS = 100


def status_view(parts: HomeContainer, context: ScopeContext) -> StatusView:
    """The footer: what the sidecar says, never what a run returned."""
    status = parts.coverage.load()
    shown = status_of(status, context, now=parts.clock())
    records = parts.runs.all(limit=RECENT_RUNS)
    runs = [run_summary(record) for record in records]
    undone = frozenset(run.started_at for run in runs if run.reverted)
    taken_back = {record.started_at: tuple(record.taken_back) for record in records}
    return StatusView(
        rows=tuple(
            _row(parts, context, scope, shown, undone, taken_back)
            for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)
        ),
        harvest=_harvest_row(shown),
        running=parts.leases.holder(dream_lease_name(parts.home_id)),
        interrupted=tuple(run for run in runs if run.outcome == "interrupted" and not run.reverted),
        problems=(*shown.problems, *_usage_problem(parts)),
        spent=_spent_per_scope(parts, context),
        agent=() if parts.home.jobs is None else parts.home.jobs.agent_status(context),
    )


def _usage_problem(parts: HomeContainer) -> tuple[str, ...]:
    problem = parts.usage.problem()
    return (problem,) if problem else ()


def run_summary(record: RunRecord) -> RunSummary:
    """A record as the lists of runs show it."""
    return RunSummary(
        id=record.id,
        kind=record.kind,
        workspace_id=record.workspace_id,
        started_at=record.started_at,
        ended_at=record.ended_at,
        outcome=record.outcome,
        engine=record.engine,
        trigger=record.trigger,
        summary=record.summary,
        reason=record.reason,
        ops=record.ops,
        dry_run=record.dry_run,
        reverted=record.reverted,
        conflicts=record.conflicts,
        usage=record.usage,
        cost_usd=cost_of(record),
        partly_undone=bool(record.taken_back) and not record.reverted,
        project_path=record.project_path,
        discarded=bool(record.details.get("discarded")),
        applied_by=str(record.details.get("appliedBy") or ""),
        card=None if (card := card_from_json(record.details.get("card"))) is None else card.counts,
    )


def _row(
    parts: HomeContainer,
    context: ScopeContext,
    scope: Scope,
    status: Status,
    undone: frozenset[int],
    taken_back: Mapping[int, tuple[str, ...]],
) -> CoverageRow:
    """`undone`: when the runs started that were taken back; `taken_back`: by the same, the paths of which a
    part was. A coverage record has the start of its run."""
    try:
        parts.home.scope_root(context, scope)
    except ScopeUnavailable as gap:
        reason = gap.cause or gap.title
        return CoverageRow(scope, None, "", 0, "", available=False, reason=reason, permanent=gap.permanent)
    record = {
        Scope.WORKSPACE: status.workspace_record,
        Scope.PROJECT: status.project_record,
        Scope.GLOBAL: status.global_record,
    }[scope]
    if record is None:
        return CoverageRow(scope, None, "", 0, "", available=True)
    ops = tuple(record["ops"])
    changes = sum(bool(op["applied"]) and _is_of(op, scope) for op in ops)
    return CoverageRow(
        scope,
        int(record["lastRunAt"]),
        record["trigger"],
        changes,
        record["summary"],
        available=True,
        ops=ops,
        undone=int(record["lastRunAt"]) in undone,
        partly_undone=any(
            _is_of({"path": path}, scope) for path in taken_back.get(int(record["lastRunAt"]), ())
        ),
    )


def _is_of(op: Mapping[str, Any], scope: Scope) -> bool:
    """Whether an operation changed a memory of this scope; a move between scopes is one of both."""
    prefix = f"/memories/{scope.value}/"
    return any(str(op.get(name, "")).startswith(prefix) for name in ("path", "newPath"))


def _spent_per_scope(parts: HomeContainer, context: ScopeContext) -> Mapping[Scope, Spent]:
    """Every run of this month, and of the older ones as many as the last run is looked for in."""
    now, store = parts.clock(), parts.runs
    since = month_start(now)
    this_month = sum(int(run_id.partition("-")[0]) >= since for run_id in store.ids())
    records = store.all(limit=max(this_month, RECENT_RUNS))
    return spent_by_scope(records, context, now=now)


def _harvest_row(status: Status) -> HarvestRow | None:
    harvest = status.latest_harvest
    if harvest is None:
        return None
    return HarvestRow(
        status=harvest["status"],
        at=int(harvest.get("completedAt") or harvest["startedAt"]),
        accepted=int(harvest["acceptedCandidates"]),
        skipped=int(harvest["skippedCandidates"]),
        error=str(harvest.get("error", "")),
    )


# Reviews: a run shown group by group, and applying what the user chose.


_CONTEXT_LINES = 3
_Line = tuple[Literal[" ", "-", "+"], str]


class ReviewService:
    """Where the runs of one home are looked through."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def changes(self, run_id: str) -> tuple[ChangedFile, ...]:
        """What a run changed, or would have changed (dry run, held), file by file."""
        record = self._parts.runs.load(run_id)
        transaction = self._parts.transaction_for(run_id, "review")
        journal = transaction.load()
        notes = _notes(record)
        return tuple(
            ChangedFile(
                intent.path,
                transaction.images.get(intent.before),
                transaction.images.get(intent.after),
                notes.get(intent.path, ""),
            )
            for intent in (journal.intents if journal is not None else ())
        )

    def review(self, run_id: str) -> ReviewView:
        """Any run, also an old one or one that was applied. Raises `StoreError` for a run that does not exist
        or whose images are gone."""

        loaded = load_review(self._parts.dream_dependencies, run_id)
        return ReviewView(
            run=run_summary(loaded.run),
            groups=tuple(review_group(group) for group in loaded.review.groups),
            refused=tuple(_refused(op) for op in loaded.run.ops if not came_to_pass(op)),
            can_apply=not loaded.why_not,
            why_not=loaded.why_not,
            plan=loaded.review,
            can_take_back=loaded.can_take_back,
            taken_back=loaded.run.taken_back,
            card=loaded.card,
        )

    def card(self, run_id: str) -> ReportCard | None:
        """What a run did to the facts; None while it is at work."""
        return load_review(self._parts.dream_dependencies, run_id).card

    def named_parts(
        self, run_id: str, paths: Sequence[str], hunks: Sequence[int]
    ) -> tuple[Parts, tuple[str, ...]]:
        """See `jobs.consolidate.review.named_parts`."""

        loaded = load_review(self._parts.dream_dependencies, run_id)
        if not loaded.can_take_back:
            return dict.fromkeys(paths), ()  # the undo itself says why not
        return named_parts(loaded.review, paths, hunks, loaded.run.taken_back)

    def discard(self, run_id: str, discarded: bool) -> None:
        """A person does not want this proposal, or does again."""
        self._parts.runs.change(
            run_id, lambda run: replace(run, details={**run.details, "discarded": discarded})
        )

    def apply(
        self,
        run_id: str,
        selection: ReviewSelection,
        *,
        progress: Callable[[Progress], None],
        cancel: threading.Event,
    ) -> RunResult:
        """Carry out what was chosen of a run; blocks until that has its outcome."""

        service = ApplyService(self._parts.dream_dependencies)
        return service.apply(run_id, selection, cancel=cancel, progress=progress)


def review_group(group: ReviewedGroup) -> ReviewGroup:
    """A group as it is shown."""
    files = tuple(_file(file) for file in group.files)
    return ReviewGroup(group.index, group.kind, group.reason, files)


def _file(file: ReviewedFile) -> ReviewFile:
    context = text_lines(file.before or "") if file.verb in ("edit", "rename") else []
    hunks = []
    for position, hunk in enumerate(file.hunks):
        before = file.hunks[position - 1] if position else None
        after = file.hunks[position + 1] if position + 1 < len(file.hunks) else None
        hunks.append(_hunk(file, hunk, context, before, after))
    return ReviewFile(
        file.path,
        file.verb,
        None if file.before is None else _readable(file.before),
        None if file.after is None else _readable(file.after),
        tuple(hunks),
        file.old_path,
    )


def _hunk(
    file: ReviewedFile, hunk: Hunk, context: Sequence[str], before: Hunk | None, after: Hunk | None
) -> ReviewHunk:
    if not hunk.removed and not hunk.added:
        return ReviewHunk(hunk.index, hunk.start, ())
    # Neighbours show the lines between them once each at most.
    start = max(hunk.start - _CONTEXT_LINES, before.start + len(before.removed) if before else 0)
    end = hunk.start + len(hunk.removed)
    stop = min(end + _CONTEXT_LINES, after.start if after else len(context))
    lines: list[_Line] = [
        *((" ", _shown(line)) for line in context[start : hunk.start]),
        *(("-", _shown(line)) for line in hunk.removed),
        *(("+", _shown(line)) for line in hunk.added),
        *((" ", _shown(line)) for line in context[end:stop]),
    ]
    return ReviewHunk(hunk.index, hunk.start, tuple(lines))


def _shown(line: str) -> str:
    return _readable(line.removesuffix("\n").removesuffix("\r"))


def _readable(text: str) -> str:
    """Bytes that are no UTF-8 as U+FFFD: for looking at, never for writing."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refused(op: Mapping[str, Any]) -> str:
    where = f"{op['path']} to {op['newPath']}" if op.get("newPath") else op["path"]
    return f"{op['command']} {where}: {op.get('note') or 'not applied'}"


def _notes(record: RunRecord) -> dict[str, str]:
    """The last word of the run's journal on each path."""
    notes: dict[str, str] = {}
    for op in record.ops:
        verb = f"{op['command']} {op.get('newPath', '')}".strip()
        notes[op["path"]] = f"{verb}: {op['note']}" if op.get("note") else verb
    return notes


# What the background services of a home decided, and which of their runs are under way.
#
# Threading: as in `Workbench`, whose object this is made from. Failure: `Unavailable` for a log that cannot
# be read.


class RunningWork(Struct, frozen=True):
    """A run that holds the lease `name`. `workspace_id`: whose it is; None for a run of the whole home."""

    name: str
    holder: LeaseHolder
    workspace_id: str | None = None


class ActivityPage(Struct, frozen=True):
    """The newest decisions, newest first, and what runs."""

    entries: tuple[ActivityEntry, ...]
    running: tuple[RunningWork, ...]


class ActivityService:
    """The decisions and the runs of one home. `is_for_another`: whether this process does a run of another
    client than this one; such a run is not `ours` for it."""

    def __init__(
        self,
        parts: HomeContainer,
        is_for_another: Callable[[int, Hashable], bool] = lambda _pid, _client: False,
    ) -> None:
        self._parts = parts
        self._is_for_another = is_for_another

    def page(self, workspaces: Collection[str], limit: int, *, client: Hashable = None) -> ActivityPage:
        """At most `limit` decisions, and what runs for the home or for one of these workspaces."""
        return ActivityPage(self._parts.activity.read(limit), self.running(workspaces, client=client))

    def running(self, workspaces: Collection[str], *, client: Hashable = None) -> tuple[RunningWork, ...]:
        """Who holds a lease of a run of the home, or of one of these workspaces."""
        parts = self._parts
        names: list[tuple[str, str | None]] = [(dream_lease_name(parts.home_id), None)]
        names += [(writer_lease_name(parts.home_id, id_), id_) for id_ in workspaces]
        held = [(name, parts.leases.holder(name), id_) for name, id_ in names]
        found = [RunningWork(name, holder, id_) for name, holder, id_ in held if holder is not None]
        # A writer takes the home's lease for a moment, too; it is one run all the same.
        writing = {work.holder.owner for work in found if work.workspace_id is not None}
        return tuple(
            replace(work, holder=self._seen_by(client, work.holder))
            for work in found
            if work.workspace_id is not None or work.holder.owner not in writing
        )

    def _seen_by(self, client: Hashable, holder: LeaseHolder) -> LeaseHolder:
        another = holder.ours and self._is_for_another(holder.owner.pid, client)
        return replace(holder, ours=False) if another else holder
