"""Views of runs and of changes.

They are the footer of a context, the list of runs, their costs, reviews, and everything that changed in the
memories of a home, newest first.

Runs are read from sidecars and run records, never from what a run returned. Showing a review changes nothing;
applying one goes through `jobs.consolidate`.

Each commit of the history is one change set, by you, by the agent, by a run or by another program, and any of
it can be taken back. It is shown as a review, like a run. Paths are memory paths; where a commit touches two
projects, each path says which. Taking back merges three ways (`runs.revert.merged_back`): what was changed
since stays, and where both changed the same lines nothing is taken back. It is a change by hand, so Undo
brings it back.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.errors import Conflict, StoreError, Unavailable
from reverie.files.locks import LeaseHolder
from reverie.jobs.consolidate.apply import ApplyService, context_of, load_review
from reverie.jobs.consolidate.card import report_card
from reverie.jobs.consolidate.coverage import status_of
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.review import (
    LEAST_ALIKE,
    Hunk,
    MergedLine,
    ReviewedFile,
    ReviewedGroup,
    ReviewSelection,
    build_review,
    came_to_pass,
    merged_lines,
    named_parts,
    text_of,
)
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.jobs.writer.service import writer_lease_name
from reverie.memory.companion_places import is_of_companions
from reverie.memory.diff import WordSpans, invisible_differences, is_binary, word_spans
from reverie.memory.history.reader import CommitSteps, Cursor, FileStep, HistoryPlace
from reverie.memory.paths import ROOT, memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.union import text_lines
from reverie.runs.activity import ActivityEntry
from reverie.runs.card import ReportCard, card_from_json, sentence
from reverie.runs.parts import Parts, hunk_count
from reverie.runs.record import Progress, RunRecord, RunResult, started_of
from reverie.runs.revert import merged_back
from reverie.services.changes import ChangeSet, all_steps_or_none, joined
from reverie.services.container import Contexts, HomeContainer
from reverie.services.edits import CompanionFiles, UserEdits
from reverie.services.timeline import COMPARED_BYTES, State, TimelineService, TimelineTarget, Who
from reverie.services.views import (
    ChangedFile,
    CoverageRow,
    HandChange,
    HarvestRow,
    ReviewFile,
    ReviewGroup,
    ReviewHunk,
    ReviewView,
    RunSummary,
    Spent,
    StatusView,
    Undo,
)
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.jobs.consolidate.coverage import Status
    from reverie.memory.history.history import History

# Costs of models per scope: of the last run that asked one, and of this calendar month (UTC). A run counts
# for its workspace, for its project and for global memory. Pure.


def month_start(now: int) -> int:
    """Return the beginning of the month of `now`, both in UTC ms."""
    moment = datetime.fromtimestamp(now / 1000, UTC)
    return int(datetime(moment.year, moment.month, 1, tzinfo=UTC).timestamp() * 1000)


class PaidRun(Struct, frozen=True):
    """The cost of a run that asked a model, and the context that it ran for."""

    started_at: int
    workspace_id: str | None
    project_path: str | None
    tokens: int
    cost_usd: float | None
    """None: the price is not known."""


def paid_run(record: RunRecord) -> PaidRun | None:
    """Return the cost of a run; None if it asked no model."""
    if not record.usage:
        return None
    tokens = record.usage.get("inputTokens", 0) + record.usage.get("outputTokens", 0)
    return PaidRun(record.started_at, record.workspace_id, record.project_path, tokens, cost_of(record))


def spent_by_scope(
    runs: Iterable[PaidRun | None], context: ScopeContext, *, now: int
) -> Mapping[Scope, Spent]:
    """Add up the costs of runs for each scope of a context.

    `runs` are newest first: all of this month, and as many older ones as are searched for the last run.
    `now`: UTC ms.
    """
    paid = [run for run in runs if run is not None]
    belongs: dict[Scope, Callable[[PaidRun], bool]] = {
        Scope.WORKSPACE: lambda run: (
            context.workspace_id is not None and run.workspace_id == context.workspace_id
        ),
        Scope.PROJECT: lambda run: (
            context.project_path is not None and run.project_path == context.project_path
        ),
        Scope.GLOBAL: lambda _run: True,
    }
    since = month_start(now)
    return {scope: _spent([run for run in paid if belongs[scope](run)], since) for scope in Scope}


def cost_of(record: RunRecord) -> float | None:
    """Return the cost of a run in US dollars; None if nothing was asked, or the price is not known."""
    cost = record.details.get("costUsd")
    return float(cost) if isinstance(cost, int | float) else None


def _spent(paid: list[PaidRun], since: int) -> Spent:
    if not paid:
        return Spent()
    month = [run for run in paid if run.started_at >= since]
    known = [run.cost_usd for run in month if run.cost_usd is not None]
    return Spent(
        last_tokens=paid[0].tokens,
        last_cost=paid[0].cost_usd,
        month_tokens=sum(run.tokens for run in month),
        month_cost=sum(known) if known else None,
        month_unknown=len(known) < len(month),
    )


RECENT_RUNS = 100


def status_view(parts: HomeContainer, context: ScopeContext, paid: dict[str, PaidRun | None]) -> StatusView:
    """Build the footer of a context from the coverage sidecar, never from what a run returned.

    `paid` keeps, from one call to the next, what settled runs of this month cost, by their ids: a home may
    have thousands.
    """
    status = parts.coverage.load()
    shown = status_of(status, context, now=parts.clock())
    ids = parts.runs.ids()
    records = parts.runs.read(ids[:RECENT_RUNS])
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
        spent=spent_by_scope(
            (*map(paid_run, records), *_earlier_this_month(parts, ids[RECENT_RUNS:], paid)),
            context,
            now=parts.clock(),
        ),
        agent=() if parts.home.jobs is None else parts.home.jobs.agent_status(context),
    )


def _usage_problem(parts: HomeContainer) -> tuple[str, ...]:
    problem = parts.usage.problem()
    return (problem,) if problem else ()


def run_summary(record: RunRecord) -> RunSummary:
    """Convert a run record to a row for lists of runs."""
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
    """Build the row of the footer for one scope.

    `undone`: when the runs started that were taken back; `taken_back`: by the same, the paths of runs of
    which a part was. A coverage record has the start of its run.
    """
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
    """Return whether an operation changed a memory of this scope; a move between scopes counts for both."""
    prefix = f"/memories/{scope.value}/"
    return any(str(op.get(name, "")).startswith(prefix) for name in ("path", "newPath"))


def _earlier_this_month(
    parts: HomeContainer, ids: Sequence[str], paid: dict[str, PaidRun | None]
) -> list[PaidRun | None]:
    """Return the costs of the runs of this month among `ids`, newest first.

    `paid` caches those of settled runs by id; other months are removed from it.
    """
    since = month_start(parts.clock())
    this_month = [run_id for run_id in ids if started_of(run_id) >= since]
    known, found = paid.copy(), []
    for run_id in this_month:
        if run_id in known:
            found.append(known[run_id])
            continue
        for record in parts.runs.read([run_id]):
            found.append(paid_run(record))
            # What a recovered run used may come later: from the process that was held up in it.
            if record.settled and (record.usage or not record.details.get("recovered")):
                paid[run_id] = found[-1]
    for run_id in known.keys() - set(this_month):
        paid.pop(run_id, None)
    return found


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
    """The reviews of the runs of one home: a run group by group, and applying what a person chose."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def changes(self, run_id: str) -> tuple[ChangedFile, ...]:
        """List the files that a run changed, or would have changed (dry run, held)."""
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
        """Any run, also an old one or one that was applied.

        Raises `StoreError` for a run that does not exist or whose images are gone.
        """

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
        """Return the report card of a run, about the facts it changed; None while the run is at work."""
        return load_review(self._parts.dream_dependencies, run_id).card

    def named_parts(
        self, run_id: str, paths: Sequence[str], hunks: Sequence[int]
    ) -> tuple[Parts, tuple[str, ...]]:
        """Return the parts of a run that names choose; see `jobs.consolidate.review.named_parts`."""

        loaded = load_review(self._parts.dream_dependencies, run_id)
        if not loaded.can_take_back:
            return dict.fromkeys(paths), ()  # the undo itself says why not
        return named_parts(run_id, loaded.review, paths, hunks, loaded.run.taken_back)

    def discard(self, run_id: str, discarded: bool) -> None:
        """Record whether a person has discarded this proposal."""
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

        service, parts = ApplyService(self._parts.dream_dependencies), self._parts
        context = context_of(parts.dream_dependencies, parts.runs.load(run_id))
        return parts.telling_loaded(
            context, lambda: service.apply(run_id, selection, cancel=cancel, progress=progress)
        )


def review_group(group: ReviewedGroup) -> ReviewGroup:
    """Convert a group to its view."""
    files = tuple(_file(file) for file in group.files)
    merged = _merged(files) if group.kind == "merge" else {}
    return ReviewGroup(group.index, group.kind, group.reason, files, merged)


def _merged(files: Sequence[ReviewFile]) -> dict[str, tuple[MergedLine, ...]]:
    kept = [file for file in files if file.verb != "delete"]
    if len(kept) != 1:
        return {}
    before, after = kept[0].before or "", kept[0].after or ""
    gone = (file for file in files if file.verb == "delete")
    return {file.path: merged_lines(before, file.before or "", after) for file in gone}


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
    invisible = invisible_differences(hunk.removed, hunk.added)
    return ReviewHunk(hunk.index, hunk.start, tuple(lines), line_marks(lines), invisible)


def line_marks(lines: Sequence[tuple[str, str]]) -> tuple[WordSpans, ...]:
    """Find, by line of a hunk, the words that differ from the line that it replaces."""
    removed = [number for number, (kind, _text) in enumerate(lines) if kind == "-"]
    added = [number for number, (kind, _text) in enumerate(lines) if kind == "+"]
    marks: list[WordSpans] = [()] * len(lines)
    for one, other in zip(removed, added, strict=False):
        marks[one], marks[other] = word_spans(lines[one][1], lines[other][1], alike=LEAST_ALIKE)
    return tuple(marks) if any(marks) else ()


def _shown(line: str) -> str:
    return _readable(line.removesuffix("\n").removesuffix("\r"))


def _readable(text: str) -> str:
    """Decode bytes for showing, never for writing; invalid UTF-8 becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refused(op: Mapping[str, Any]) -> str:
    where = f"{op['path']} to {op['newPath']}" if op.get("newPath") else op["path"]
    return f"{op['command']} {where}: {op.get('note') or 'not applied'}"


def _notes(record: RunRecord) -> dict[str, str]:
    """Return the last note in the run's journal on each path."""
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
    """A run that holds the lease `name`. `workspace_id`: its workspace; None for a run of the whole home."""

    name: str
    holder: LeaseHolder
    workspace_id: str | None = None


class ActivityPage(Struct, frozen=True):
    """The newest decisions, newest first, and the runs that are under way."""

    entries: tuple[ActivityEntry, ...]
    running: tuple[RunningWork, ...]


class ActivityService:
    """The decisions and the runs of one home.

    `is_for_another`: whether this process does a run of another client than this one; such a run is not
    `ours` for it.
    """

    def __init__(
        self,
        parts: HomeContainer,
        is_for_another: Callable[[int, Hashable], bool] = lambda _pid, _client: False,
    ) -> None:
        self._parts = parts
        self._is_for_another = is_for_another

    def page(self, workspaces: Collection[str], limit: int, *, client: Hashable = None) -> ActivityPage:
        """Return at most `limit` decisions, and what runs for the home or for one of these workspaces."""
        return ActivityPage(self._parts.activity.read(limit), self.running(workspaces, client=client))

    def running(self, workspaces: Collection[str], *, client: Hashable = None) -> tuple[RunningWork, ...]:
        """Return the runs that hold a lease of the home, or of one of these workspaces."""
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


# Change sets: each commit of the history.


MOST_FILES = 300
"""A change set shows no more files than this."""
_MOST_COUNTED = 20
_MOST_OTHERS = 2_000
_TOLD = 20
_TOLD_LINES = 3
_SUBJECT = "Taken back by hand"
_EVERYTHING = HistoryPlace("", "")
How = Literal["", "restored", "undone"]
_HOW: Mapping[str, How] = {"Restored": "restored", "Undone": "undone", _SUBJECT: "undone"}
"""What the history says of a change by hand that gave back what was."""


class LoggedFile(Struct, frozen=True):
    """One file of a change set."""

    path: str
    """What the review of the change set calls it."""
    place: HistoryPlace
    verb: Literal["create", "edit", "delete"]


class LoggedChange(Struct, frozen=True):
    """One commit of the history."""

    id: str
    parent: str | None
    at_ms: int
    who: Who
    actor: str
    """The history's own word for `who`."""
    run_id: str | None
    how: How
    notes: str
    files: tuple[LoggedFile, ...]
    """At most `MOST_FILES`."""
    count: int
    """Of all its files."""
    moved: tuple[tuple[str, str], ...] = ()
    """Old and new path of each file that only has another place; both are among the files."""
    owner: str = ""
    """What people call the one project or workspace it changed; empty for several."""
    added: int = 0
    removed: int = 0
    """Lines; 0 for a change set of many files."""
    is_first: bool = False
    """Nothing of these stores was known before: the files were seen, not made."""
    place: HistoryPlace | None = None
    """Where the file or folder was that is followed."""

    @property
    def after(self) -> State | None:
        """The followed file or folder after this change; before it, where this deleted it."""
        if self.place is None:
            return None
        gone = all(file.verb == "delete" for file in self.files)
        return State(self.parent if gone else self.id, self.place)


def _moved(steps: Sequence[FileStep]) -> Iterator[tuple[FileStep, FileStep]]:
    """Pair each file that went with one that came with the same content."""
    gone = {step.before: step for step in steps if not step.after}
    for step in steps:
        if not step.before and step.after in gone:
            yield gone.pop(step.after), step


class ChangeLogPage(Struct, frozen=True):
    """A page of change sets, newest first."""

    changes: tuple[LoggedChange, ...] = ()
    next: Cursor | None = None
    head: str = ""


class _FileBytes(Struct, frozen=True):
    """One file of a commit with its bytes."""

    path: str
    place: HistoryPlace
    before: bytes | None
    after: bytes | None


_RATED: tuple[Who, ...] = ("agent", "dream")
"""Whose change sets have a report card: what a person types has its source in the person."""


class ChangeLogService:
    """The change sets of one home."""

    def __init__(self, parts: HomeContainer, timeline: TimelineService) -> None:
        self._parts = parts
        self._timeline = timeline

    def page(
        self, start: Cursor | None = None, target: TimelineTarget | None = None, *, limit: int = 100
    ) -> ChangeLogPage:
        """Return the next change sets of the home, or of one file, folder or scope through all its names."""
        if target is None:
            found = self._history.newest_steps(start.commit if start else None, limit=limit)
            changes = self._of_memories(found.commits)
            following = Cursor(found.next, _EVERYTHING) if found.next is not None else None
            return ChangeLogPage(changes, following, found.head)
        log = self._history.log(target.place, start, limit=limit)
        places = [[entry.place, *([entry.other] if entry.other else [])] for entry in log.entries]
        changes = self._logged(
            self._history.steps([entry.commit.id for entry in log.entries]),
            lambda number, place: any(_is_in(place, other) for other in places[number]),
        )
        own = {entry.commit.id: entry.place for entry in log.entries}
        changes = tuple(replace(change, place=own[change.id]) for change in changes)
        return ChangeLogPage(changes, log.next, log.head)

    def _of_memories(self, commits: Sequence[CommitSteps]) -> tuple[LoggedChange, ...]:
        return self._logged(commits, lambda _number, place: not is_of_companions(place.key))

    def _logged(
        self, commits: Sequence[CommitSteps], wanted: Callable[[int, HistoryPlace], bool]
    ) -> tuple[LoggedChange, ...]:
        """Return the change sets that changed a wanted file."""
        found = []
        for number, commit in enumerate(commits):
            steps = tuple(step for step in commit.steps if wanted(number, step.place))
            if steps:
                found.append(replace(commit, steps=steps))
        owner, lines = Contexts(self._parts).owner, self._lines(found)
        return tuple(self._one(commit, owner, *counts) for commit, counts in zip(found, lines, strict=True))

    def _one(self, found: CommitSteps, owner: Callable[[str], str], added: int, removed: int) -> LoggedChange:
        commit, keys = found.commit, {step.place.key for step in found.steps}
        named = self._named([step.place for step in found.steps], owner)
        owners = {owner(key) for key in keys if not is_of_companions(key)} - {""}
        return LoggedChange(
            id=commit.id,
            parent=commit.parent,
            at_ms=commit.at_ms,
            who=self._timeline.who(commit),
            actor=commit.actor,
            run_id=commit.run_id,
            how=next((how for start, how in _HOW.items() if commit.subject.startswith(start)), ""),
            notes=commit.notes,
            files=tuple(
                LoggedFile(
                    named[step.place],
                    step.place,
                    "create" if not step.before else "edit" if step.after else "delete",
                )
                for step in found.steps[:MOST_FILES]
            ),
            count=len(found.steps),
            moved=tuple(
                (named[old.place], named[new.place]) for old, new in _moved(found.steps[:MOST_FILES])
            ),
            owner=owners.pop() if len(owners) == 1 else "",
            added=added,
            removed=removed,
            is_first=found.is_first,
        )

    def _named(self, places: Sequence[HistoryPlace], owner: Callable[[str], str]) -> dict[HistoryPlace, str]:
        """Name each of these files by its path; where a scope has several owners, the owner is added."""
        keys: dict[str, set[str]] = {}
        for place in places:
            keys.setdefault(place.key.partition("/")[0], set()).add(place.key)
        named = {}
        for place in places:
            scope = place.key.partition("/")[0]
            if is_of_companions(place.key) or len(keys[scope]) == 1:
                named[place] = self._timeline.path_of(State(None, place), "")
            else:
                named[place] = f"{ROOT}/{scope} ({owner(place.key)})/{place.rel}"
        return named

    def _lines(self, commits: Sequence[CommitSteps]) -> list[tuple[int, int]]:
        """Count the lines that each commit added and removed; 0 for one of many files."""
        few = [commit.steps if len(commit.steps) <= _MOST_COUNTED else () for commit in commits]
        ids = sorted({blob for steps in few for step in steps for blob in (step.before, step.after) if blob})
        lines = {
            blob: Counter(content.removesuffix(b"\n").split(b"\n") if content else ())
            for blob, content in zip(ids, self._history.blobs(ids), strict=True)
            if content is not None and len(content) <= COMPARED_BYTES
        }
        found = []
        for steps in few:
            added = removed = 0
            for step in steps:
                before, after = lines.get(step.before, Counter()), lines.get(step.after, Counter())
                added += (after - before).total()
                removed += (before - after).total()
            # A file that only has another name is neither added nor removed.
            made = Counter(step.after for step in steps if not step.before)
            renamed = made & Counter(step.before for step in steps if not step.after)
            same = sum(lines.get(blob, Counter()).total() * count for blob, count in renamed.items())
            found.append((added - same, removed - same))
        return found

    # One change set

    def review(self, logged: LoggedChange) -> ReviewView:
        """Build a review of a change set, in which every hunk that is still in place can be taken back.

        Where the change log is that of one file or folder, the review shows only that.
        """
        found, refused = [], []
        for change in self._changes(logged, most=MOST_FILES):
            sides = [side for side in (change.before, change.after) if side is not None]
            if any(len(side) > COMPARED_BYTES for side in sides):
                refused.append(f"{change.path} is too large to be shown.")
            elif any(is_binary(side) for side in sides):
                refused.append(f"{change.path} is no text.")
            elif sides:
                found.append(change)
        before = {each.path: text_of(each.before) for each in found if each.before is not None}
        after = {each.path: text_of(each.after) for each in found if each.after is not None}
        plan = build_review(_renames(found), before, after, max_loss_percent=100.0)
        groups = tuple(group if group.kind == "merge" else replace(group, reason="") for group in plan.groups)
        still = {each.path: self._gone(each) for each in found if not logged.is_first}
        gone = {path: hunks for path, hunks in still.items() if hunks != frozenset()}
        return ReviewView(
            run=None,
            groups=tuple(map(review_group, groups)),
            refused=tuple(refused),
            can_apply=False,
            why_not="",
            plan=plan,
            can_take_back=not logged.is_first and bool(found) and len(gone) < len(found),
            taken_back=gone,
            card=self._card(logged, found) if logged.who in _RATED and not logged.is_first else None,
        )

    def card(self, logged: LoggedChange) -> ReportCard | None:
        """Return the report card of a change set.

        None where it only made new files, or changed more files than can be compared.
        """
        return None if logged.count > MOST_FILES else self._card(logged, self._changes(logged))

    def _card(self, logged: LoggedChange, changes: Sequence[_FileBytes]) -> ReportCard | None:
        own = [each for each in changes if not is_of_companions(each.place.key)]
        if logged.parent is None or all(each.before is None for each in own):
            return None
        before = {each.path: text_of(each.before) for each in own if each.before is not None}
        after = {each.path: text_of(each.after) for each in own if each.after is not None}
        others = self._others(logged.parent, own)
        context = Contexts(self._parts).of({each.place.key for each in own})
        home, usage = self._parts.home, self._parts.usage
        loaded = None if context is None else DreamOverlay(home, context, usage).loaded
        return report_card({**others, **before}, {**others, **after}, loaded=loaded)

    def _others(self, commit: str, changes: Sequence[_FileBytes]) -> dict[str, str]:
        """Read the other texts of the stores that a change set changed, as of that commit."""
        names, blobs = list[str](), list[str]()
        known = {each.path for each in changes}
        for key, first in {each.place.key: each for each in changes}.items():
            above = first.path.removesuffix(first.place.rel)
            for rel, version in list(self._history.files(commit, key).items())[:_MOST_OTHERS]:
                if above + rel not in known and not version.omitted:
                    names.append(above + rel)
                    blobs.append(version.blob)
        return {
            name: text_of(data)
            for name, data in zip(names, self._history.blobs(blobs), strict=True)
            if data is not None and len(data) <= COMPARED_BYTES and not is_binary(data)
        }

    def tell_of_agent(self, since: str | None) -> None:
        """Report in Activity the agent's own consolidations since this commit that lost or changed facts."""
        for change in self._of_memories(self._history.newest_steps(limit=_TOLD, until=since).commits):
            merges = any(file.verb == "delete" for file in change.files) or change.removed >= _TOLD_LINES
            card = self.card(change) if change.who == "agent" and merges else None
            if card is not None and (card.changed or card.kept < card.facts):
                said = f"The agent rewrote its memories: {sentence(card.counts)}."
                self._parts.report(
                    "agent.consolidation", f"{said} The tab Changes shows it, with undo.", "warning"
                )

    def _gone(self, change: _FileBytes) -> frozenset[int] | None:
        """Return the hunks of which nothing is left in the file.

        None if nothing is left of the whole change.
        """
        current = self._current(change.place)
        if change.before is None or change.after is None:
            return None if current == change.before else frozenset()
        if current in (change.before, change.after):
            return None if current == change.before else frozenset()
        count = hunk_count(change.before, change.after)
        gone = frozenset(hunk for hunk in range(count) if self._is_gone(change, current, hunk))
        return None if len(gone) == count else gone

    def _is_gone(self, change: _FileBytes, current: bytes | None, hunk: int) -> bool:
        if current is None:
            return True
        try:
            return self._back(change, current, frozenset({hunk})) == current
        except Conflict:
            return False  # it says so when it is asked for

    def take_back(
        self, logged: LoggedChange, parts: Parts | None = None, target: TimelineTarget | None = None
    ) -> Undo:
        """Take a change set back, or these parts of it: all of them or none.

        `target`: what is followed. Raises `Conflict` where a file was changed since on the same lines.
        """
        changes: dict[str, list[HandChange]] = {}
        pins: dict[str, bool] = {}
        for change in self._changes(logged):
            hunks = None if parts is None else parts.get(change.path, frozenset())
            if hunks == frozenset():
                continue
            current = self._current(change.place)
            wanted = self._back(change, current, hunks)
            if wanted != current:
                path, mode = self._timeline.path_of(State(None, change.place), ""), None
                if current is None:
                    mode, pinned = self._facts(logged, change.place)
                    pins |= {path: True} if pinned else {}
                hand = HandChange(path, wanted, sha256_of_bytes(current), mode)
                changes.setdefault(change.place.key, []).append(hand)
        if not changes:
            raise StoreError("Nothing of it is left to take back.", next_step="Choose another change.")
        if target is not None and target.beside:
            (made,) = changes.values()
            return CompanionFiles(self._parts).restore(target.context, made)
        return self._applied(changes, pins)

    def _applied(self, changes: Mapping[str, Sequence[HandChange]], pins: Mapping[str, bool]) -> Undo:
        known = Contexts(self._parts).grouped(changes)
        groups: dict[ScopeContext, list[HandChange]] = {}
        for key, made in changes.items():
            if key not in known:
                raise Unavailable(
                    f"{made[0].path} cannot be taken back:",
                    cause="No project of this home points at it any more.",
                    next_step="Copy its text into another memory.",
                )
            groups.setdefault(known[key], []).extend(made)
        done: list[Undo] = []
        with all_steps_or_none(done, UserEdits(self._parts).undo):
            for context, made in groups.items():
                own = {change.path: True for change in made if change.path in pins}
                done.append(
                    ChangeSet(self._parts).apply(context, made, kind="restore", subject=_SUBJECT, pins=own)
                )
        return joined(done)

    def version(
        self, context: ScopeContext, logged: LoggedChange, path: str, target: TimelineTarget | None = None
    ) -> tuple[TimelineTarget, State, State]:
        """Locate a file of a change set for `TimelineService`.

        Returns the target, and its states before and after the change. Raises `StoreError` where the change
        did not touch `path`.
        """
        place = next((place for place, name in self._steps(logged)[1].items() if name == path), None)
        if place is None:
            raise StoreError(f"The change did not touch {path}.", next_step="Choose another one.")
        before, after = State(logged.parent, place), State(logged.id, place)
        if target is not None and target.beside:
            return target, before, after
        scope = Scope(place.key.partition("/")[0])
        context = Contexts(self._parts).of([place.key]) or context
        return TimelineTarget(context, scope, str(memory_path(scope, place.rel)), place), before, after

    def _steps(self, logged: LoggedChange) -> tuple[Sequence[FileStep], Mapping[HistoryPlace, str]]:
        """Return the files of a change set that are shown, and the name of each.

        A log of one file or folder shows only the files that it follows, any other log no companions.
        """
        (found,) = self._history.steps([logged.id])
        followed = {file.place for file in logged.files} if logged.place is not None else None
        steps = [
            step
            for step in found.steps
            if (not is_of_companions(step.place.key) if followed is None else step.place in followed)
        ]
        return steps, self._named([step.place for step in steps], Contexts(self._parts).owner)

    def _changes(self, logged: LoggedChange, *, most: int | None = None) -> tuple[_FileBytes, ...]:
        steps, named = self._steps(logged)
        steps = steps[:most]
        contents = iter(
            self._history.blobs([each for step in steps for each in (step.before, step.after) if each])
        )
        return tuple(
            _FileBytes(
                named[step.place],
                step.place,
                next(contents) if step.before else None,
                next(contents) if step.after else None,
            )
            for step in steps
        )

    def _back(self, change: _FileBytes, current: bytes | None, hunks: frozenset[int] | None) -> bytes | None:
        snapshots = self._parts.snapshots
        try:
            return merged_back(change.path, change.before, change.after, current, snapshots, part=hunks)
        except Conflict as error:
            raise Conflict(
                "Nothing was taken back.", cause=str(error), next_step="Leave that out, or edit it by hand."
            ) from error

    def _current(self, place: HistoryPlace) -> bytes | None:
        return self._timeline.read(self._timeline.on_disk(place))

    def _facts(self, logged: LoggedChange, place: HistoryPlace) -> tuple[int | None, bool]:
        """Return permission bits and pin of a file before a change set."""
        if logged.parent is None:
            return None, False
        version = self._history.files(logged.parent, place.key).get(place.rel)
        pinned = self._history.metadata(logged.parent, place.key).get(place.rel, {}).get("pinned") is True
        return None if version is None else version.mode, pinned

    @property
    def _history(self) -> History:
        return self._parts.snapshots.history


def _is_in(place: HistoryPlace, other: HistoryPlace) -> bool:
    return place.key == other.key and (
        not other.rel or place.rel == other.rel or place.rel.startswith(other.rel + "/")
    )


def _renames(changes: Sequence[_FileBytes]) -> list[Mapping[str, Any]]:
    """Return renames: pairs of a removed file and a new one with the same content."""
    came: dict[bytes, list[str]] = {}
    for change in changes:
        if change.before is None and change.after:
            came.setdefault(change.after, []).append(change.path)
    return [
        {"command": "rename", "path": change.path, "newPath": came[change.before].pop(0), "applied": True}
        for change in changes
        if change.after is None and change.before and came.get(change.before)
    ]
