"""Applying a reviewed run: a new run makes the changes that a person chose from a dry run or a held run.

`load_review` reads a stored run as a `Review`; `ApplyService.apply` carries out a `ReviewSelection`, as a job
on the common run (`runs.run`). It differs from a consolidation only in the source of its changes: a three-way
merge per file of the text that the run saw, the chosen text and the present one. If both sides changed the
same lines, nothing of that group is applied. The retention check then judges the final texts, so a delete is
left out if its lines were removed elsewhere meanwhile. A run can be applied once, and again after its apply
was undone.

Threading: blocking, never on the GUI thread. Failure: `apply` ends in exactly one outcome and never raises
for a problem that a person can fix; `load_review` raises `StoreError`.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from reverie.agents.base import comparable
from reverie.agents.reading import as_list, as_text, texts_of
from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.errors import Conflict, StoreError, UserError
from reverie.jobs.consolidate.card import report_card
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.review import (
    Resolution,
    Review,
    ReviewedFile,
    ReviewedGroup,
    ReviewSelection,
    build_review,
    came_to_pass,
    chosen_change,
    covers,
    refused_descriptions,
    resolve,
    text_of,
)
from reverie.jobs.consolidate.run import ConsolidationJob, DreamDependencies, coverage_record, skipped
from reverie.memory.history.repository import merge_versions
from reverie.memory.paths import memory_path, parse_memory_path
from reverie.memory.scope_files import FileChange, in_order
from reverie.runs.card import ReportCard, card_from_json
from reverie.runs.journal import FileIntent, Journal
from reverie.runs.record import Progress, RunRecord, RunResult, RunStore
from reverie.runs.retention import judge_retention
from reverie.runs.run import Holding, Plan, Run, RunContext
from reverie.runs.transaction import Transaction
from reverie.text.summaries import some
from reverie.values import Struct, field, replace

REJECTED = "rejected in review"
"""The note of an op (an operation of a run on a memory) that the person rejected."""
CAME_TO_NOTHING = "came to nothing"
"""The note of an op that had no effect on any file in the end."""
_CHANGED_SINCE = "changed since the preview; both versions are kept"


class ApplyPlan(Struct):
    """The changes that applying a reviewed run makes, and the files that it leaves unchanged."""

    changes: dict[str, FileChange] = field(default_factory=dict)
    """The change of each file, with its content now and after the apply, by memory path."""
    done: dict[str, Mapping[str, bytes | None]] = field(default_factory=dict)
    """The chosen contents of a file's paths (None: no file), by `ReviewedFile.path`.

    Only files that get their chosen contents or already have them. A moved file has two paths.
    """
    left: dict[str, str] = field(default_factory=dict)
    """The reason why a file is left unchanged, by `ReviewedFile.path`."""
    conflicts: list[str] = field(default_factory=list)
    """The files in `left` that are unchanged because their present content conflicts with the chosen one."""
    unapplied: dict[str, bytes] = field(default_factory=dict)
    """The chosen content of a file in conflict, by memory path."""

    def conflict(self, file: ReviewedFile, why: str, chosen: Mapping[str, bytes | None]) -> None:
        """Leave the file unchanged because its present state conflicts with the chosen contents.

        The chosen contents are added to `unapplied`.
        """
        self.leave(file, why)
        self.conflicts.append(file.path)
        self.unapplied |= {path: data for path, data in chosen.items() if data is not None}

    def leave(self, file: ReviewedFile, why: str) -> None:
        """Leave the file unchanged, with the reason `why`, and drop the changes planned for its paths."""
        self.left[file.path] = why
        self.done.pop(file.path, None)
        for path in file.paths:
            self.changes.pop(path, None)


def plan_apply(
    review: Review,
    resolution: Resolution,
    source: Transaction,
    journal: Journal,
    selection: ReviewSelection,
    others: Mapping[str, str],
    *,
    file_bytes: int,
    essence: Callable[[str], str] = str,
) -> ApplyPlan:
    """Return the plan of applying a reviewed run to the present files; nothing on disk is changed.

    `resolution`: the contents that result from `selection`, the person's choices. `source` and `journal`: the
    contents and the files of the reviewed run. `others`: the present texts of the context's other memories.
    No memory may become larger than `file_bytes`. `essence` returns the part of a text that must be
    preserved.
    """
    plan = ApplyPlan(left=dict(resolution.blocked))
    intents = {intent.path: intent for intent in journal.intents}
    for group in review.groups:
        try:
            changes = _of_group(group, resolution, source, intents, file_bytes)
        except UserError as error:
            for file in group.files:
                chosen = chosen_change(file, resolution)
                if chosen:
                    plan.conflict(file, _CHANGED_SINCE if isinstance(error, Conflict) else str(error), chosen)
            continue
        for file in group.files:
            chosen = chosen_change(file, resolution)
            if chosen:
                plan.done[file.path] = chosen
        plan.changes.update(changes)
    now = {path: essence(text) for path, text in {**others, **_texts_now(source, journal)}.items()}
    _keep_lines(plan, review, selection, now, essence)
    while blocked := _blocked(plan, review, source):
        for file in blocked:
            plan.conflict(file, "another file exists at this path", plan.done.get(file.path, {}))
        # The blocked files would have preserved lines that some delete now loses.
        _keep_lines(plan, review, selection, now, essence)
    return plan


def _blocked(plan: ApplyPlan, review: Review, source: Transaction) -> list[ReviewedFile]:
    """Return the files that cannot be created, because another file is at their path or above it."""
    going = {(change.root.key, change.rel) for change in plan.changes.values() if change.after is None}
    paths = {
        path
        for path, change in plan.changes.items()
        if change.before is None
        and any((change.root.key, rel) not in going for rel in source.in_place_of(change.root, change.rel))
    }
    return [file for file in review.files if not paths.isdisjoint(file.paths)]


def _texts_now(source: Transaction, journal: Journal) -> dict[str, str]:
    """Return the present texts of the files of the reviewed run, by memory path.

    Files that do not exist or cannot be read are left out.
    """
    texts = {}
    for intent in journal.intents:
        with contextlib.suppress(UserError):
            current = source.current(intent)
            if current is not None:
                texts[intent.path] = text_of(current)
    return texts


def _of_group(
    group: ReviewedGroup,
    resolution: Resolution,
    source: Transaction,
    intents: Mapping[str, FileIntent],
    file_bytes: int,
) -> dict[str, FileChange]:
    """Return the changes that the files of one group need to get their chosen contents, by memory path.

    `intents`: the files of the reviewed run, by memory path. Raises `Conflict` if a file changed on the same
    lines, and `UserError` if it would be larger than `file_bytes`.
    """
    changes = {}
    for file in group.files:
        for path, wanted in chosen_change(file, resolution).items():
            intent = intents[path]
            current = source.current(intent)
            after = _merged(intent, source.images.get(intent.before), current, wanted)
            if after is not None and len(after) > max(file_bytes, len(current or b"")):
                raise UserError(f"{path} would exceed the agent's limit of {file_bytes} bytes per file.")
            if after != current:
                mode = intent.mode if current is None else None
                changes[path] = FileChange(source.root_of(intent), intent.rel, current, after, mode)
    return changes


def _merged(
    intent: FileIntent, base: bytes | None, current: bytes | None, wanted: bytes | None
) -> bytes | None:
    """Return the content of a file after the chosen change, keeping what was changed since the review.

    `base`: the content that the reviewed run saw; `current`: the present one; `wanted`: the chosen one; None
    means no file. Raises `Conflict` if the same lines differ from `base` in both.
    """
    if current in (base, wanted):
        return wanted
    if base is None or current is None or wanted is None:
        raise Conflict(f"{intent.path} has changed since the preview.")
    merged = merge_versions(base, current, wanted)
    if merged.conflict:
        raise Conflict(f"The lines to change in {intent.path} have been edited since the preview.")
    return merged.content


def _keep_lines(
    plan: ApplyPlan,
    review: Review,
    selection: ReviewSelection,
    now: Mapping[str, str],
    essence: Callable[[str], str],
) -> None:
    """Make conflicts of the deletes in `plan` that would lose lines which exist nowhere else now.

    `now`: the present texts by memory path. `essence` returns the part of a text that must be preserved.
    """
    before, after = dict(now), dict(now)
    for path, change in plan.changes.items():
        after.pop(path, None)
        if change.after is not None:
            after[path] = essence(text_of(change.after))
    # Rejected descriptions count as text that preserves these lines.
    after[""] = "".join(refused_descriptions(review, selection))
    blocked = judge_retention(before, after).blocked_deletes
    for file in review.files:
        if file.source in blocked and file.path not in selection.agreed_losses:
            plan.conflict(file, "some of its lines no longer exist anywhere else", {})


def ops_as_done(
    ops: Sequence[Mapping[str, Any]], review: Review, plan: ApplyPlan
) -> tuple[Mapping[str, Any], ...]:
    """Return the operations of the reviewed run with the outcomes that they have under `plan`.

    They are in the format of coverage records, the agent's records of consolidations.
    """
    group_of = {position: group for group in review.groups for position in group.ops}
    return tuple(
        _as_done(op, group_of.get(position), plan) if came_to_pass(op) else op
        for position, op in enumerate(ops)
    )


def usage_ops(
    ops: Sequence[Mapping[str, Any]], review: Review, plan: ApplyPlan
) -> tuple[Mapping[str, Any], ...]:
    """Return the operations that count as a use of memories: those that were applied.

    An operation on a directory that was applied in part counts for the files that it changed.
    """
    group_of = {position: group for group in review.groups for position in group.ops}
    counted: list[Mapping[str, Any]] = []
    for position, op in enumerate(ops):
        group = group_of.get(position)
        if group is None or not _as_done(op, group, plan)["applied"]:
            continue
        files = _files_of(op, group)
        if all(_is_as_wanted(op, file, plan.done.get(file.path)) for file in files):
            counted.append({**op, "applied": True})
            continue
        uses = (_use_of(op, file, plan.done.get(file.path)) for file in files)
        counted += [use for use in uses if use is not None]
    return tuple(counted)


def _is_as_wanted(op: Mapping[str, Any], file: ReviewedFile, done: Mapping[str, bytes | None] | None) -> bool:
    """Return True if `file` was created, deleted or moved as the operation `op` requested, whatever its text.

    `done`: the contents that were applied, by path; None: the file was left unchanged.
    """
    if done is None:
        return False
    if file.old_path:
        return len(done) > 1
    return op["command"] != "delete" or file.verb != "delete" or done[file.path] is None


def _use_of(
    op: Mapping[str, Any], file: ReviewedFile, done: Mapping[str, bytes | None] | None
) -> Mapping[str, Any] | None:
    """Return the operation that describes what was really done to one file; None if it is unchanged.

    `op`: the operation of the reviewed run. `done`: the contents that were applied, by path; None: the file
    was left unchanged.
    """
    if done is None:
        return None
    gone, moved = done.get(file.source, b"") is None, len(done) > 1
    if op["command"] == "rename":
        use = {"command": "rename", "path": file.source, "newPath": file.path}
        return {**use, "applied": True} if moved else None
    command = op["command"] if op["command"] != "delete" or gone or file.verb != "delete" else "str_replace"
    path = file.path if moved or not file.old_path else file.old_path
    return {"command": command, "path": path, "applied": True}


def _as_done(op: Mapping[str, Any], group: ReviewedGroup | None, plan: ApplyPlan) -> dict[str, Any]:
    """Return the operation `op` with `applied` set, and with the reason as its note if it was not applied.

    A delete of a file of which a part is kept becomes a `str_replace`. `group`: the changes under review that
    the operation belongs to; None: nothing is left of its change after the whole run, so it counts as not
    applied.
    """
    plain = {key: value for key, value in op.items() if key != "note"}
    if group is None:
        return {**plain, "applied": False, "note": CAME_TO_NOTHING}
    files = _files_of(op, group)
    done = [file for file in files if file.path in plan.done]
    if op["command"] == "rename" and any(file.old_path for file in files):
        done = [file for file in done if len(plan.done[file.path]) > 1 or not file.old_path]
    if not done:
        why = next((plan.left[file.path] for file in files if file.path in plan.left), REJECTED)
        return {**plain, "applied": False, "note": why}
    if len(files) == 1 and op["command"] != "rename":
        effect = plan.done[files[0].path]
        if files[0].old_path and len(effect) == 1:
            plain["path"] = files[0].old_path
        if op["command"] == "delete" and files[0].verb == "delete" and effect[files[0].path] is not None:
            plain["command"] = "str_replace"
    return {**plain, "applied": True}


def _files_of(op: Mapping[str, Any], group: ReviewedGroup) -> list[ReviewedFile]:
    """Return the files of the group that the operation `op` is about.

    If it names none of them (its path only existed during the run), all files of the group are returned.
    """
    names = [name for name in (op["path"], op.get("newPath")) if name]
    about = [file for file in group.files if any(covers(name, path) for name in names for path in file.paths)]
    return about or list(group.files)


class LoadedReview(Struct, frozen=True):
    """A stored run, ready for review, with its journal, which lists the files that it changes."""

    run: RunRecord
    journal: Journal
    review: Review
    others: Mapping[str, str]
    """The present memories of the context that the run does not touch; empty if they were not needed."""
    why_not: str
    """The reason why the run cannot be applied; empty if it can."""
    can_take_back: bool = False
    """Whether the run's changes are in effect, so that parts of them can be undone."""
    card: ReportCard | None = None
    """The report card of the run, which says which facts the run lost, changed or kept.

    If the run stored none, it is computed now, as far as possible.
    """


def load_review(parts: DreamDependencies, run_id: str) -> LoadedReview:
    """Return a stored run with its changes as a review. Raises `StoreError`.

    If the run can be applied, the review has the data to check a selection against today's rails, the limits
    of a run's changes.
    """
    run = parts.runs.load(run_id)
    transaction = parts.transaction_for(run_id, "review")
    journal = transaction.load() or Journal(())
    why_not = _why_not(parts.runs, run, journal)
    before, after = {}, {}
    for intent in journal.intents:
        was, becomes = transaction.images.get(intent.before), transaction.images.get(intent.after)
        if was is not None:
            before[intent.path] = text_of(was)
        if becomes is not None:
            after[intent.path] = text_of(becomes)
    overlay: DreamOverlay | None = None
    rails: dict[str, Any] = {
        "others": {},
        "followed": followed_by(run),
        "essence": lambda text: comparable(parts.home, text).text,
    }
    can_take_back = _can_take_back(run, journal)
    if can_take_back:
        # If they cannot be read, undoing restores what the run deleted rather than lose lines.
        with contextlib.suppress(UserError):
            overlay = DreamOverlay(parts.home, context_of(parts, run), parts.usage)
            rails["others"] = _others(overlay, before.keys() | after.keys())
    if not why_not:
        overlay = DreamOverlay(parts.home, context_of(parts, run), parts.usage)
        rails["others"] = _others(overlay, before.keys() | after.keys())
        rails["is_protected"] = lambda path: overlay.is_protected(parse_memory_path(path))
    review = build_review(
        run.ops,
        before,
        after,
        reasons=reasons_of(run),
        # The loss of lines by a finished run was judged when it ran.
        max_loss_percent=100.0 if can_take_back else parts.max_loss_percent,
        **rails,
    )
    card = card_from_json(run.details.get("card"))
    # A revert only restores text, so it gets no card.
    if card is None and run.outcome != "running" and run.kind != "revert":
        others = rails["others"]
        loaded = None if overlay is None else overlay.loaded
        card = report_card({**others, **before}, {**others, **after}, loaded=loaded)
    return LoadedReview(run, journal, review, rails["others"], why_not, can_take_back, card)


def context_of(parts: DreamDependencies, run: RunRecord) -> ScopeContext:
    """Return the context (workspace and project) in which a run worked.

    If the agent has assigned the workspace to another project since, the context still has the run's project.
    """
    context = parts.home.context(
        workspace_id=run.workspace_id, project_path=run.project_path, project_given=True
    )
    if run.workspace_id is not None and context.project_path is not None:
        listed = parts.home.context(workspace_id=run.workspace_id)
        if listed.project_path == context.project_path:
            return listed
    return context


def followed_by(run: RunRecord) -> tuple[str, ...]:
    """Return the memory paths of the files that a run changed only to keep indexes and links valid."""
    named = {name for op in run.ops if came_to_pass(op) for name in (op["path"], op.get("newPath")) if name}
    return tuple(path for path in texts_of(run.details.get("followed")) if path not in named)


def reasons_of(run: RunRecord) -> Sequence[str]:
    """Return the reasons that the engine gave, one for each operation of the run; empty if it gave none."""
    return tuple(map(as_text, as_list(run.details.get("reasons"))))


class ApplyService:
    """The service that applies reviewed runs of one home."""

    def __init__(self, parts: DreamDependencies) -> None:
        self._parts = parts

    def apply(
        self,
        run_id: str,
        selection: ReviewSelection,
        *,
        cancel: threading.Event | None = None,
        progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> RunResult:
        """Apply the changes of a run that a person selected; return the result of the new run.

        `run_id`: the reviewed run. `cancel`: an event that ends the new run early; None: it cannot be
        cancelled. If it cannot start, the result is `skipped`.
        """
        parts = self._parts
        try:
            run = parts.runs.load(run_id)  # before any lease, to report a wrong id at once
        except UserError as refusal:
            return skipped(parts, None, "manual", refusal)
        job = (ApplyImportJob if run.kind == "import" else ApplyJob)(parts, run, selection)
        return Run(parts, job, cancel=cancel, progress=progress).go_at_once()


class ApplyJob(ConsolidationJob[LoadedReview]):
    """The job that applies the selected changes of a reviewed run to the present files."""

    before = "before a reviewed run is applied"
    attempts = 2

    def __init__(self, parts: DreamDependencies, reviewed: RunRecord, selection: ReviewSelection) -> None:
        context = context_of(parts, reviewed)
        super().__init__(parts, context, trigger=reviewed.trigger, engine=reviewed.engine)
        self._reviewed = reviewed
        self._selection = selection
        self._done: tuple[Mapping[str, Any], ...] = ()
        self._differing = ""
        self.purpose = f"applying run {reviewed.id}"
        self.details = {"applies": reviewed.id, "reasons": list(reasons_of(reviewed))}

    def ready(self) -> None:
        """Load the record again under the lease; raise `StoreError` if the run cannot be applied."""
        runs, run_id = self._parts.runs, self._reviewed.id
        run = self._reviewed = runs.load(run_id)
        journal = self._parts.transaction_for(run_id, "review").load() or Journal(())
        why_not = _why_not(runs, run, journal)
        if why_not:
            raise StoreError(why_not, reason="not-applicable")

    def hold(self, run_id: str, check: Callable[[], None]) -> AbstractContextManager[Holding]:
        """Return a context manager that holds the agent's own lock of its memories, if it has one.

        `check` is called before the lock is acquired, and raises if the lease of the run was lost.
        """
        return self._parts.agent_locks.hold(self._context, run_id, check)

    def begun(self, record: RunRecord) -> None:
        """Report in Activity that the apply has started."""
        self.say("started", f"The selected changes of run {self._reviewed.id} are being applied.", record)

    async def think(self, run: RunContext) -> LoadedReview | Plan:
        """Return the run as a review in its present state; no engine is involved."""
        loaded = load_review(self._parts, self._reviewed.id)
        run.limits.check()
        return loaded

    def accept(self, thought: LoadedReview, run: RunContext) -> Plan:
        """Return the selected changes, merged into the present files, as a plan."""
        parts, reviewed, loaded = self._parts, self._reviewed, thought
        overlay = DreamOverlay(parts.home, self._context, parts.usage)
        source = parts.transaction_for(reviewed.id, "review")
        plan = plan_apply(
            loaded.review,
            resolve(loaded.review, self._selection),
            source,
            loaded.journal,
            self._selection,
            loaded.others,
            file_bytes=overlay.caps.file_bytes,
            essence=lambda text: comparable(parts.home, text).text,
        )
        run.limits.check()
        self._done = ops_as_done(reviewed.ops, loaded.review, plan)
        self._differing = _differing(loaded.review, self._selection, plan)
        card = self._follow(plan, loaded, run)
        # The chosen contents of files in conflict are stored with this run: a person may have written them.
        unapplied = {path: source.images.put(data) for path, data in plan.unapplied.items()}
        details = {"card": card.as_json(), **({"unapplied": unapplied} if unapplied else {})}
        if plan.left and not plan.done:
            return Plan(
                f"Nothing was applied. {_left_words(plan)}",
                ops=self._done,
                outcome="failed",
                reason="conflict" if plan.conflicts else "blocked",
                next_step="Check the run again. A new preview uses the current memories.",
                conflicts=tuple(plan.conflicts),
                details=details,
            )
        uses = usage_ops(reviewed.ops, loaded.review, plan)
        usage_before, usage_after = overlay.usage_delta(uses, now=run.started_at)
        summary = _summary(reviewed, plan, self._done, self._differing)
        return Plan(
            summary,
            in_order(plan.changes.values()),
            self._done,
            coverage=self._coverage_record(summary, run),
            usage_before=usage_before,
            usage_after=usage_after,
            emptied=_emptied(loaded.journal, source, plan),
            conflicts=tuple(plan.conflicts),
            details=details,
        )

    def ops(self) -> tuple[Mapping[str, Any], ...]:
        """Return the operations of the reviewed run with their outcomes."""
        return self._done

    def refused(self, refusal: UserError) -> RunResult:
        """Report in Activity that the apply was skipped; return the result."""
        return skipped(self._parts, self.workspace_id, self.trigger, refusal)

    def _coverage_record(self, summary: str, run: RunContext) -> dict[str, Any] | None:
        """Return the coverage record of the new run; None if the reviewed run was no consolidation."""
        spent = self._reviewed.usage or {}
        usage = None
        if {"inputTokens", "outputTokens"} <= spent.keys():
            usage = {name: spent[name] for name in ("inputTokens", "outputTokens")}
        return coverage_record(summary, self._done, usage, trigger=self.trigger, at=run.started_at)

    def _follow(self, plan: ApplyPlan, loaded: LoadedReview, run: RunContext) -> ReportCard:
        """Update indexes and links for the chosen changes in `plan`; return the report card of all changes.

        The reviewed run's own updates of indexes and links are replaced, unless the person rejected them.
        """
        parts, followed = self._parts, followed_by(self._reviewed)
        rejected = {
            path
            for group in loaded.review.groups
            if group.index in self._selection.rejected_groups
            for file in group.files
            for path in file.paths
        }
        for path in followed:
            if path not in rejected:
                plan.changes.pop(path, None)
                plan.left.pop(path, None)
                plan.done.pop(path, None)
                plan.conflicts = [other for other in plan.conflicts if other != path]
        overlay = DreamOverlay(parts.home, self._context, parts.usage)
        overlay.notes(run.limits.check)
        overlay.adopt(plan.changes.values())
        _before, after = overlay.graded_texts()
        new = set(overlay.follow(self._done, but=rejected))
        for change in overlay.changes():
            path = str(memory_path(change.root.scope, change.rel))
            if path in new:
                known = plan.changes.get(path)
                plan.changes[path] = change if known is None else replace(known, after=change.after)
        before, final = overlay.graded_texts()
        return report_card(
            *(before, after),
            final=final,
            loaded=overlay.loaded,
            stale=parts.stale(self._context, run.limits.check),
            check=run.limits.check,
        )


class ApplyImportJob(ApplyJob):
    """The job that applies the selected files of a reviewed import, which is no consolidation."""

    kind = "import"
    before = "before an import is applied"

    def _coverage_record(self, summary: str, run: RunContext) -> None:
        """Return None, so that no workspace counts as consolidated."""


def _why_not(runs: RunStore, run: RunRecord, journal: Journal) -> str:
    """Return the reason why a run cannot be applied; empty if it can."""
    if run.outcome == "running":
        return f"Run {run.id} is still running."
    if not journal.intents:
        return f"Run {run.id} proposed no changes."
    if not journal.for_review or run.outcome not in ("completed", "held"):
        if run.outcome == "completed":
            return f"Run {run.id} was applied while it ran. You can undo it."
        return f"Run {run.id} has nothing to apply (outcome: {run.outcome})."
    applied_by = run.details.get("appliedBy")
    if not isinstance(applied_by, str):
        return ""
    try:
        if runs.load(applied_by).reverted:
            return ""
    except StoreError:
        pass  # Its record was deleted; the run counts as applied nevertheless.
    return f"Run {run.id} was already applied by run {applied_by}. Undo that run first to choose again."


def _can_take_back(run: RunRecord, journal: Journal) -> bool:
    """Return whether the run's changes are in effect, so that they can be undone."""
    is_in_place = run.outcome == "completed" and not run.dry_run and not journal.for_review
    return bool(journal.intents) and is_in_place and not run.reverted and run.reverts is None


def _others(overlay: DreamOverlay, touched: Collection[str]) -> dict[str, str]:
    """Return the texts of the context's memories that are not in `touched`, by memory path."""
    return {note.path: note.text for note in overlay.notes(lambda: None) if note.path not in touched}


def _emptied(reviewed: Journal, source: Transaction, plan: ApplyPlan) -> list[tuple[ScopeRoot, str]]:
    """Return the directories that the reviewed run emptied and in which the plan deletes a file."""
    roots = {intent.directory: source.root_of(intent) for intent in reviewed.intents}
    gone = [(change.root.key, change.rel) for change in plan.changes.values() if change.after is None]
    return [
        (root, rel)
        for directory, rel in reviewed.emptied
        if (root := roots.get(directory)) is not None
        and any(key == root.key and path.startswith(rel + "/") for key, path in gone)
    ]


def _summary(
    reviewed: RunRecord, plan: ApplyPlan, ops: Sequence[Mapping[str, Any]], in_other_words: str
) -> str:
    """Return the summary of the new run: that of the reviewed run, or how much of it was applied.

    `ops`: the operations with their outcomes. `in_other_words` is the part about files that differ from the
    reviewed run (`_differing`).
    """
    wanted = [op for before, op in zip(reviewed.ops, ops, strict=True) if came_to_pass(before)]
    done = sum(bool(op["applied"]) for op in wanted)
    if done == len(wanted) and not plan.left and not in_other_words and reviewed.outcome != "held":
        return reviewed.summary
    head = "All changes were rejected in review."
    if done:
        head = f"Applied {done} of {len(wanted)} reviewed changes{in_other_words}."
    return f"{head} {_left_words(plan)}".strip()


def _differing(review: Review, selection: ReviewSelection, plan: ApplyPlan) -> str:
    """Return the part of a summary that counts the written files that differ from the proposal.

    For example, `, 1 file in part, 1 file in other words`; empty if there are none.
    """
    written = [file for file in review.files if file.path in plan.done]
    edited = sum(selection.is_edited(file.path) for file in written)
    part = sum(
        bool(selection.rejected_hunks.get(file.path)) and file.path not in selection.edited_files
        for file in written
    )
    parts = [f"{some(part, 'file')} in part"] if part else []
    parts += [f"{some(edited, 'file')} reworded"] if edited else []
    return "".join(f", {each}" for each in parts)


def _left_words(plan: ApplyPlan) -> str:
    """Return one sentence for each file that is left unchanged, with the reason."""
    return " ".join(f"{path} was not changed: {why.rstrip('.')}." for path, why in plan.left.items())
