"""Applying a reviewed run: what a person took of a dry run or a held one becomes a run of its own.

`load_review` reads a stored run as a `Review`; `ApplyService.apply` carries a `ReviewSelection` out, as a job
on the one Run (`runs.run`) that differs from a dream only in where its changes come from: a plan over the
files as they are now. A run is applied once; after its apply was undone, once more.

Threading: blocking, never on the GUI thread. Failure: `apply` ends in exactly one outcome and never raises
for what a person can fix; `load_review` raises `StoreError`.
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
from reverie.jobs.consolidate.run import (
    DreamDependencies,
    coverage_record,
    save_coverage,
    say_of_dream,
    skipped,
)
from reverie.memory.history.repository import merge_versions
from reverie.memory.paths import memory_path, parse_memory_path
from reverie.memory.scope_files import FileChange, in_order
from reverie.runs.card import ReportCard, card_from_json
from reverie.runs.journal import FileIntent, Journal
from reverie.runs.record import Progress, RunRecord, RunResult, RunStore
from reverie.runs.retention import judge_retention
from reverie.runs.run import Holding, Job, Plan, Run, RunContext
from reverie.runs.transaction import Transaction
from reverie.text.summaries import some
from reverie.values import Struct, field, replace

# Planning: three-way per file (as the run saw it, as chosen, as it is now). Where both sides changed the same
# lines, nothing of that group is applied. The first rail of `runs.guard` then judges what would really be on
# disk: a delete whose lines were removed elsewhere meanwhile is left out. Nothing here writes.


REJECTED = "rejected in review"
CAME_TO_NOTHING = "came to nothing"
Check = Callable[[ScopeRoot, str, bytes | None, bytes], None]
_CHANGED_SINCE = "changed since the preview; both versions are kept"


class ApplyPlan(Struct):
    """`changes`: bytes now and bytes then, by memory path. `done`: what was chosen of each file that gets it
    (`ReviewedFile.path`), also where it stands there already. `left`: why a file stays as it is. `conflicts`
    are among those, `unapplied` the chosen bytes of their files."""

    changes: dict[str, FileChange] = field(default_factory=dict)
    done: dict[str, Mapping[str, bytes | None]] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    conflicts: list[str] = field(default_factory=list)
    unapplied: dict[str, bytes] = field(default_factory=dict)

    def conflict(self, file: ReviewedFile, why: str, chosen: Mapping[str, bytes | None]) -> None:
        """Leave the file because the disk says otherwise by now; what was `chosen` is kept with the run."""
        self.leave(file, why)
        self.conflicts.append(file.path)
        self.unapplied |= {path: data for path, data in chosen.items() if data is not None}

    def leave(self, file: ReviewedFile, why: str) -> None:
        """Leave the file as it is, and say why; what was planned for its paths is dropped."""
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
    check: Check = lambda _root, _rel, _before, _after: None,
) -> ApplyPlan:
    """The plan over the files as they stand now. `source` holds the images of the reviewed run, `others`
    are the context's other memories now, and no memory may come out larger than `file_bytes`; `essence`
    gives what of a text must be kept; `check` raises where a file must not become what was chosen."""
    plan = ApplyPlan(left=dict(resolution.blocked))
    intents = {intent.path: intent for intent in journal.intents}
    for group in review.groups:
        try:
            changes = _of_group(group, resolution, source, intents, file_bytes, check)
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
            plan.conflict(file, "something else stands in its place", plan.done.get(file.path, {}))
        _keep_lines(plan, review, selection, now, essence)  # what they would have kept
    return plan


def _blocked(plan: ApplyPlan, review: Review, source: Transaction) -> list[ReviewedFile]:
    """The files that cannot be made because a file that stays is where they, or a folder above them,
    belong."""
    going = {(change.root.key, change.rel) for change in plan.changes.values() if change.after is None}
    paths = {
        path
        for path, change in plan.changes.items()
        if change.before is None
        and any((change.root.key, rel) not in going for rel in source.in_place_of(change.root, change.rel))
    }
    return [file for file in review.files if not paths.isdisjoint(file.paths)]


def _texts_now(source: Transaction, journal: Journal) -> dict[str, str]:
    """The reviewed run's files as they stand now; what cannot be read keeps no line."""
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
    check: Check,
) -> dict[str, FileChange]:
    """The changes of one group. Raises `Conflict` where one of them cannot be made."""
    changes = {}
    for file in group.files:
        for path, wanted in chosen_change(file, resolution).items():
            intent = intents[path]
            current = source.current(intent)
            after = _merged(intent, source.images.get(intent.before), current, wanted)
            if after is not None and len(after) > max(file_bytes, len(current or b"")):
                raise UserError(f"{path} would be larger than the agent reads ({file_bytes} bytes).")
            if after != current:
                mode = intent.mode if current is None else None
                if after is not None:
                    check(source.root_of(intent), intent.rel, current, after)
                changes[path] = FileChange(source.root_of(intent), intent.rel, current, after, mode)
    return changes


def _merged(
    intent: FileIntent, base: bytes | None, current: bytes | None, wanted: bytes | None
) -> bytes | None:
    if current in (base, wanted):
        return wanted
    if base is None or current is None or wanted is None:
        raise Conflict(f"{intent.path} changed since the preview.")
    merged = merge_versions(base, current, wanted)
    if merged.conflict:
        raise Conflict(f"{intent.path} changed since the preview, on the same lines.")
    return merged.content


def _keep_lines(
    plan: ApplyPlan,
    review: Review,
    selection: ReviewSelection,
    now: Mapping[str, str],
    essence: Callable[[str], str],
) -> None:
    """Leave out each delete whose lines would stand nowhere by now."""
    before, after = dict(now), dict(now)
    for path, change in plan.changes.items():
        after.pop(path, None)
        if change.after is not None:
            after[path] = essence(text_of(change.after))
    after[""] = "".join(refused_descriptions(review, selection))  # counts as a text that keeps them
    blocked = judge_retention(before, after).blocked_deletes
    for file in review.files:
        if file.source in blocked and file.path not in selection.agreed_losses:
            plan.conflict(file, "lines of it stand nowhere else any more", {})


def ops_as_done(
    ops: Sequence[Mapping[str, Any]], review: Review, plan: ApplyPlan
) -> tuple[Mapping[str, Any], ...]:
    """The reviewed run's ops with what came of them, in the shape of a coverage record's."""
    group_of = {position: group for group in review.groups for position in group.ops}
    return tuple(
        _as_done(op, group_of.get(position), plan) if came_to_pass(op) else op
        for position, op in enumerate(ops)
    )


def usage_ops(
    ops: Sequence[Mapping[str, Any]], review: Review, plan: ApplyPlan
) -> tuple[Mapping[str, Any], ...]:
    """What counts as use: each op that came to pass, and one over a directory that came to pass in part for
    those files that it changed."""
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
    """Whether the file came, went or moved as the op wanted, whatever its text."""
    if done is None:
        return False
    if file.old_path:
        return len(done) > 1
    return op["command"] != "delete" or file.verb != "delete" or done[file.path] is None


def _use_of(
    op: Mapping[str, Any], file: ReviewedFile, done: Mapping[str, bytes | None] | None
) -> Mapping[str, Any] | None:
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
    """The files of the group an op is about; all of them where it names none (a name in between)."""
    names = [name for name in (op["path"], op.get("newPath")) if name]
    about = [file for file in group.files if any(covers(name, path) for name in names for path in file.paths)]
    return about or list(group.files)


class LoadedReview(Struct, frozen=True):
    """A stored run with its journal. `others`: the memories of its context that it does not touch, as they
    stand now. `why_not`: why it cannot be applied (`others` is not read then); empty when it can."""

    run: RunRecord
    journal: Journal
    review: Review
    others: Mapping[str, str]
    why_not: str
    can_take_back: bool = False
    """It is in place, so that parts of it can be taken back."""
    card: ReportCard | None = None
    """What became of the facts; of a run that kept none, as far as can be told now."""


def load_review(parts: DreamDependencies, run_id: str) -> LoadedReview:
    """A run as a review; for one that can be applied with the rails as they are now."""
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
        # Where they cannot be read, what the run deleted comes back rather than that lines are lost.
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
        # What a finished run lost was judged when it ran.
        max_loss_percent=100.0 if can_take_back else parts.max_loss_percent,
        **rails,
    )
    card = card_from_json(run.details.get("card"))
    if card is None and run.outcome != "running" and run.kind != "revert":  # what comes back was there
        others = rails["others"]
        loaded = None if overlay is None else overlay.loaded
        card = report_card({**others, **before}, {**others, **after}, loaded=loaded)
    return LoadedReview(run, journal, review, rails["others"], why_not, can_take_back, card)


def context_of(parts: DreamDependencies, run: RunRecord) -> ScopeContext:
    """The context a run worked in, whatever the agent says of the workspace by now."""
    context = parts.home.context(
        workspace_id=run.workspace_id, project_path=run.project_path, project_given=True
    )
    if run.workspace_id is not None and context.project_path is not None:
        listed = parts.home.context(workspace_id=run.workspace_id)
        if listed.project_path == context.project_path:
            return listed
    return context


def followed_by(run: RunRecord) -> tuple[str, ...]:
    """The files of a run that only followed its other changes."""
    named = {name for op in run.ops if came_to_pass(op) for name in (op["path"], op.get("newPath")) if name}
    return tuple(path for path in texts_of(run.details.get("followed")) if path not in named)


def reasons_of(run: RunRecord) -> Sequence[str]:
    """The engine's own words for each of the run's ops; empty where there are none."""
    return tuple(map(as_text, as_list(run.details.get("reasons"))))


class ApplyService:
    """Applies reviewed runs of one home."""

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
        """Carry out what was chosen of a run. `skipped`, with the reason, where that cannot be begun."""
        parts = self._parts
        try:
            run = parts.runs.load(run_id)  # a wrong id needs no lease to be told
        except UserError as refusal:
            return skipped(parts, None, "manual", refusal)
        job = ApplyJob(parts, run, selection)
        return Run(parts, job, cancel=cancel, progress=progress).go_at_once()


class ApplyJob(Job[LoadedReview]):
    """What was chosen of a reviewed run, on the files as they stand now."""

    kind = "dream"
    before = "before a reviewed run is applied"
    lease = "whole"
    begins = "before thinking"
    attempts = 2

    def __init__(self, parts: DreamDependencies, reviewed: RunRecord, selection: ReviewSelection) -> None:
        self._parts = parts
        self._reviewed = reviewed
        self._selection = selection
        self._context = context_of(parts, reviewed)
        self._done: tuple[Mapping[str, Any], ...] = ()
        self._differing = ""
        self.workspace_id = self._context.workspace_id
        self.project_path = self._context.project_path
        self.trigger = reviewed.trigger
        self.engine = reviewed.engine
        self.purpose = f"applying run {reviewed.id}"
        self.time_limit_s = parts.time_limit_s
        self.details = {"applies": reviewed.id, "reasons": list(reasons_of(reviewed))}

    def require(self) -> None:
        """Raises `ReadOnlyStore`."""
        self._parts.guard.require_context(self._context)

    def ready(self) -> None:
        """Look at the record as it is under the lease. Raises `StoreError` where it cannot be applied."""
        runs, run_id = self._parts.runs, self._reviewed.id
        run = self._reviewed = runs.load(run_id)
        journal = self._parts.transaction_for(run_id, "review").load() or Journal(())
        why_not = _why_not(runs, run, journal)
        if why_not:
            raise StoreError(why_not, reason="not-applicable")

    def hold(self, run_id: str, check: Callable[[], None]) -> AbstractContextManager[Holding]:
        """The agent's own lock."""
        return self._parts.agent_locks.hold(self._context, run_id, check)

    def begun(self, record: RunRecord) -> None:
        """Say so."""
        self.say("started", f"What was chosen of run {self._reviewed.id} is being applied.", record)

    async def think(self, run: RunContext) -> LoadedReview | Plan:
        """Nobody thinks again: the review as it is now."""
        loaded = load_review(self._parts, self._reviewed.id)
        run.limits.check()
        return loaded

    def accept(self, thought: LoadedReview, run: RunContext) -> Plan:
        """What the selection comes to on the files as they stand now."""
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
            check=overlay.check,
        )
        run.limits.check()
        self._done = ops_as_done(reviewed.ops, loaded.review, plan)
        self._differing = _differing(loaded.review, self._selection, plan)
        card = self._follow(plan, loaded, run)
        # The chosen version of what stays in conflict is kept with this run: a person may have worded it.
        unapplied = {path: source.images.put(data) for path, data in plan.unapplied.items()}
        details = {"card": card.as_json(), **({"unapplied": unapplied} if unapplied else {})}
        if plan.left and not plan.done:
            return Plan(
                f"Nothing was applied. {_left_words(plan)}",
                ops=self._done,
                outcome="failed",
                reason="conflict" if plan.conflicts else "blocked",
                next_step="Look at the run again; a new preview sees the memories as they are now.",
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

    def commit(self, plan: Plan, _record: RunRecord) -> None:
        """Save the coverage record: the commit point."""
        if plan.coverage is not None:
            save_coverage(self._parts.coverage, self._context, plan.coverage)

    def ops(self) -> tuple[Mapping[str, Any], ...]:
        """What is done of what was chosen."""
        return self._done

    def refused(self, refusal: UserError) -> RunResult:
        """Told in Activity."""
        return skipped(self._parts, self.workspace_id, self.trigger, refusal)

    def say(self, event: str, text: str, record: RunRecord, *, level: str = "info") -> None:
        """An entry in Activity."""
        say_of_dream(self._parts.activity, event, text, record, level=level)

    def _coverage_record(self, summary: str, run: RunContext) -> dict[str, Any]:
        spent = self._reviewed.usage or {}
        usage = None
        if {"inputTokens", "outputTokens"} <= spent.keys():
            usage = {name: spent[name] for name in ("inputTokens", "outputTokens")}
        return coverage_record(summary, self._done, usage, trigger=self.trigger, at=run.started_at)

    def _follow(self, plan: ApplyPlan, loaded: LoadedReview, run: RunContext) -> ReportCard:
        """What only follows is made anew from what was chosen of the rest, on what stands there now; the card
        of it all."""
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


def _why_not(runs: RunStore, run: RunRecord, journal: Journal) -> str:
    """Why a run cannot be applied; empty when it can."""
    if run.outcome == "running":
        return f"Run {run.id} is still at work."
    if not journal.intents:
        return f"Run {run.id} wanted to change nothing."
    if not journal.for_review or run.outcome not in ("completed", "held"):
        if run.outcome == "completed":
            return f"Run {run.id} was applied when it ran. It can be undone."
        return f"Run {run.id} ended as {run.outcome}: there is nothing to apply."
    applied_by = run.details.get("appliedBy")
    if not isinstance(applied_by, str):
        return ""
    try:
        if runs.load(applied_by).reverted:
            return ""
    except StoreError:
        pass  # its record is gone; that it was applied stays true
    return f"Run {run.id} was applied already, by run {applied_by}. Undo that one first to choose anew."


def _can_take_back(run: RunRecord, journal: Journal) -> bool:
    is_in_place = run.outcome == "completed" and not run.dry_run and not journal.for_review
    return bool(journal.intents) and is_in_place and not run.reverted and run.reverts is None


def _others(overlay: DreamOverlay, touched: Collection[str]) -> dict[str, str]:
    """The context's memories that the run does not touch."""
    return {note.path: note.text for note in overlay.notes(lambda: None) if note.path not in touched}


def _emptied(reviewed: Journal, source: Transaction, plan: ApplyPlan) -> list[tuple[ScopeRoot, str]]:
    """Of the directories the reviewed run emptied, those from which this one takes a file."""
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
    """The run's own line where all of it was taken, else how much of it was. `in_other_words`: what of it
    differs from the plan."""
    wanted = [op for before, op in zip(reviewed.ops, ops, strict=True) if came_to_pass(before)]
    done = sum(bool(op["applied"]) for op in wanted)
    if done == len(wanted) and not plan.left and not in_other_words and reviewed.outcome != "held":
        return reviewed.summary
    head = "All of it was rejected in review."
    if done:
        head = f"Applied {done} of {len(wanted)} reviewed changes{in_other_words}."
    return f"{head} {_left_words(plan)}".strip()


def _differing(review: Review, selection: ReviewSelection, plan: ApplyPlan) -> str:
    """`, 1 file in part, 1 file in other words`, of those that were written."""
    written = [file for file in review.files if file.path in plan.done]
    edited = sum(selection.is_edited(file.path) for file in written)
    part = sum(
        bool(selection.rejected_hunks.get(file.path)) and file.path not in selection.edited_files
        for file in written
    )
    parts = [f"{some(part, 'file')} in part"] if part else []
    parts += [f"{some(edited, 'file')} in other words"] if edited else []
    return "".join(f", {each}" for each in parts)


def _left_words(plan: ApplyPlan) -> str:
    return " ".join(f"{path} stays as it is: {why.rstrip('.')}." for path, why in plan.left.items())
