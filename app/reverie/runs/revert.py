"""Revert: undoes a run, or a part of it, by three-way merge.

Per file, the merge base is the content after the run, "ours" is the present content, and "theirs" the content
before the run. An untouched file gets its old bytes back. If the file was edited since and the changes do not
overlap, both are preserved; otherwise the file stays as it is and is reported as a conflict, and the earlier
version stays in the run's images. Pins and usage are restored in the same way, field by field, so that a
sweep never mistakes a revert for a new write. The coverage record stays, because the consolidation did take
place. A revert is a run of its own and can be reverted.

A part (`runs.parts`: files, or hunks of an edited file) is undone in the same way, but all or nothing: if
there is one conflict, or if lines fit in more than one place, nothing is undone. Parts that were undone
before are part of the merge base, so a later undo reverts the rest. The pin and use of a file are restored
with its last part.

Threading: any thread but the GUI's; under the home's consolidation lease. Failure: `UserError`, and nothing
changed.
"""

from __future__ import annotations

from collections.abc import Callable

from reverie.agents.base import check_content
from reverie.errors import Conflict, StoreError, UserError
from reverie.memory.diff import lines_of
from reverie.memory.history.repository import merge_versions
from reverie.memory.scope_files import FileChange, in_order, sha256_of_bytes
from reverie.memory.write_guard import ReadOnlyStore, refuse_while_agent_writes
from reverie.runs.journal import FileIntent, Journal
from reverie.runs.parts import (
    Parts,
    hunk_count,
    joined,
    parts_as_json,
    require_parts,
    version_without,
    whole_where_complete,
)
from reverie.runs.record import Outcome, RunRecord, RunResult
from reverie.runs.run import NO_LIMIT_S, Job, Plan, Run, RunContext, RunDependencies
from reverie.runs.transaction import Transaction
from reverie.text.summaries import left_as_before, some, was_left
from reverie.values import Struct, field


def merged(
    transaction: Transaction,
    intent: FileIntent,
    taken: frozenset[int] | None = frozenset(),
    part: frozenset[int] | None = None,
) -> FileChange | None:
    """Return the change that undoes the run's effect on one file; None if the file stays as it is.

    `transaction`: the transaction of the run; `intent`: the file and the run's change of it. `taken`: the
    hunks that were undone before, None if the whole file was; `part`: the hunks to undo now, None for the
    whole file. Raises `Conflict` if lines that the run changed have been changed again since.
    """
    before, after = transaction.images.get(intent.before), transaction.images.get(intent.after)
    current = transaction.current(intent)
    becomes = merged_back(intent.path, before, after, current, taken, part)
    if becomes == current:
        return None
    root, untouched = transaction.root_of(intent), current == version_without(before, after, taken)
    if untouched:
        return FileChange(root, intent.rel, current, becomes, intent.mode)
    return FileChange(root, intent.rel, current, becomes)


def merged_back(
    path: str,
    before: bytes | None,
    after: bytes | None,
    current: bytes | None,
    taken: frozenset[int] | None = frozenset(),
    part: frozenset[int] | None = None,
) -> bytes | None:
    """Return `current` without the change from `before` to `after`.

    A content of None means that there is no file. `path`: the path of the file, for messages. `taken`: the
    hunks that were undone before, None if the whole file was; `part`: the hunks to undo now, None for the
    whole file. Raises `Conflict` if lines of the change have been changed again since, or if the lines of
    `part` fit in more than one place.
    """
    wanted_part = None if taken is None or part is None else taken | part
    base, wanted = version_without(before, after, taken), version_without(before, after, wanted_part)
    if wanted in (base, current):
        return current
    if current == base:
        return wanted
    if current is None or base is None or wanted is None:
        raise Conflict(f"{path} has been changed or deleted since.")
    merge = merge_versions(base, current, wanted)
    if merge.conflict:
        raise Conflict(f"The lines to undo in {path} have been edited since.")
    if part is not None and not _fits_once(base, current, wanted):
        raise Conflict(f"{path} has been edited since; the lines to undo now occur in more than one place.")
    return merge.content


def _fits_once(base: bytes, current: bytes, wanted: bytes) -> bool:
    """Return whether the change from `base` to `wanted` fits into `current` in one place only.

    This is tested by merging once more with the lines in reverse order: if lines are repeated, the two
    directions choose different places, and the results differ.
    """
    versions = [
        content if content.endswith(b"\n") else content + b"\n" for content in (base, current, wanted)
    ]
    forward = merge_versions(*versions)
    backward = merge_versions(*map(_upside_down, versions))
    return not backward.conflict and _upside_down(backward.content) == forward.content


def _upside_down(content: bytes) -> bytes:
    return b"".join(reversed(lines_of(content)))


class RevertPlan(Struct):
    """The changes that a revert is going to make, and the files that it has to leave as they are."""

    journal: Journal
    """The changes of the run to undo."""
    part: Parts | None
    """The part to undo; None for everything that is left of the run."""
    taken: Parts
    """The parts that were undone before."""
    counts: dict[str, int]
    """Path -> the number of hunks that can be undone one by one."""
    changes: list[FileChange] = field(default_factory=list)
    conflicts: list[FileIntent] = field(default_factory=list)
    """The files to leave as they are."""
    refused: dict[str, str] = field(default_factory=dict)
    """Path -> the reason why the file of a conflict cannot be written, such as another file at its path."""

    @property
    def completed(self) -> frozenset[str]:
        """The paths of the files that are completely undone after this revert."""
        both = whole_where_complete(joined(self.taken, self.part or {}), self.counts)
        return frozenset(path for path, hunks in both.items() if hunks is None)


def taken_back(transaction: Transaction, journal: Journal) -> RevertPlan:
    """Return the plan that undoes an edit by a person, which has a transaction but is not a run.

    `transaction`: the transaction of the edit; `journal`: its journal. Nothing is merged: a file that was
    changed since stays as it is, so that a person can decide. Raises `StoreError` if the previous contents
    are missing.
    """
    plan = RevertPlan(journal, None, {}, {})
    for intent in journal.intents:
        current = transaction.current(intent)
        found = sha256_of_bytes(current)
        replaced = intent.before is None and transaction.is_folder(intent)
        if replaced or found not in (intent.before, intent.after):
            plan.conflicts.append(intent)
        elif found != intent.before:
            root, before = transaction.root_of(intent), transaction.images.get(intent.before)
            plan.changes.append(FileChange(root, intent.rel, current, before, intent.mode))
    leave_blocked(transaction, plan)
    return plan


def leave_blocked(transaction: Transaction, plan: RevertPlan) -> tuple[str, ...]:
    """Turn the changes of `plan` that another file makes impossible into conflicts; return their paths.

    For example, another file exists at the path of a deleted file. The deletes that would have made room for
    these changes become conflicts too. `transaction`: the transaction of the run to revert.
    """
    paths: list[str] = []
    while blocked := _blocked(transaction, plan):
        plan.changes = [change for change in plan.changes if (change.root.key, change.rel) not in blocked]
        found = [intent for intent in plan.journal.intents if (intent.key, intent.rel) in blocked]
        plan.conflicts += found
        for intent in found:
            paths.append(intent.path)
            why = "not changed, because the earlier file cannot be restored"
            if intent.before is not None:
                why = "cannot be restored, because another file exists at this path"
            plan.refused[intent.path] = f"{intent.path} {why}."
    return tuple(paths)


def _blocked(transaction: Transaction, plan: RevertPlan) -> set[tuple[str, str]]:
    """Return (key of the root, path) of each change of `plan` that another file makes impossible.

    The root is the directory of a scope.
    """
    going = {(change.root.key, change.rel) for change in plan.changes if change.after is None}
    missing = [intent for intent in plan.conflicts if intent.before is not None]

    def is_blocked(change: FileChange) -> bool:
        if change.after is None:
            return any(each.key == change.root.key and _is_way(each.rel, change.rel) for each in missing)
        if change.before is not None:
            return False
        standing = transaction.in_place_of(change.root, change.rel)
        return any((change.root.key, rel) not in going for rel in standing)

    return {(change.root.key, change.rel) for change in plan.changes if is_blocked(change)}


def _is_way(one: str, other: str) -> bool:
    """Return whether one of two relative paths is a directory above the other."""
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")


def how_far(plan: RevertPlan, undid_nothing: bool) -> str:
    """Return the end of the log sentence "Run X was ...": "reverted", "reverted in part" or "not reverted".

    `undid_nothing`: the revert failed, so that it is "not reverted".
    """
    if undid_nothing:
        return "not reverted"
    return "reverted" if plan.part is None else "reverted in part"


def not_taken_back(original: RunRecord, error: UserError) -> Conflict:
    """Return the error to raise if the undo of a part of a run is refused, so that nothing is changed.

    `original`: the run to undo; `error`: the refusal.
    """
    return Conflict(
        "Nothing was undone.",
        cause=str(error),
        next_step=f"Undo other parts only, or restore the run's lines (see `reverie diff {original.id}`).",
        reason=error.reason,
    )


def summary_of(
    original: RunRecord, restored: tuple[str, ...], conflicts: tuple[str, ...], plan: RevertPlan
) -> str:
    """Return one or more sentences that state which files a revert restored and which it left unchanged.

    `original`: the reverted run. `restored`, `conflicts`: the paths of the restored files, and of the files
    that have changed since; `plan` has the reasons.
    """
    count = len(restored)
    if plan.part is not None:
        return _part_summary(plan.part) if count else "The changes to undo no longer existed."
    refused = plan.refused
    verb = "Reapplied" if original.kind == "revert" else "Restored"
    summary = f"{verb} {some(count, 'file')}." if count else "Nothing was restored."
    if refused:
        summary += (
            f" {some(len(refused), 'file')} {left_as_before(len(refused))}: {' '.join(refused.values())}"
        )
    changed = [path for path in conflicts if path not in refused]
    if changed:
        summary += (
            f" {some(len(changed), 'file')} changed later on the same lines and {was_left(len(changed))}:"
            f" {', '.join(changed)}."
            f" `reverie diff {original.id}` shows the versions before the run."
        )
    return summary


def _part_summary(part: Parts) -> str:
    whole = [path for path, hunks in part.items() if hunks is None]
    edited = [path for path, hunks in part.items() if hunks is not None]
    hunks = sum(len(hunks) for hunks in part.values() if hunks is not None)
    counts = [_files(whole)] if whole else []
    if edited:
        counts.append(f"{some(hunks, 'change')} in {_files(edited)}")
    return f"Took back {' and '.join(counts)}."


def _files(paths: list[str]) -> str:
    return paths[0].rpartition("/")[2] if len(paths) == 1 else some(len(paths), "file")


REFUSED = ("agent-refuses", "read-only")
"""The reasons of errors which mean that a file must not be written with its previous content."""


class Reverter:
    """The reverts of one home: undoes runs, or parts of them."""

    def __init__(self, parts: RunDependencies) -> None:
        self._parts = parts

    def revert(self, run_id: str, part: Parts | None = None) -> RunResult:
        """Undo one run, or only `part` of it (None: the whole run); return the result.

        In the result, `reverts` is `run_id`, `applied` the restored files, and `conflicts` the files that
        were left as they are.

        Raises `StoreError` if the run changed nothing, a part is unknown, or anything was undone already;
        `Conflict` if a part cannot be restored; `ReadOnlyStore` if a file must not be written; `LeaseHeld`
        while another run is in progress on this home.
        """
        original = self._parts.runs.load(run_id)  # a wrong id needs no lease
        job = RevertJob(self._parts, original, part)
        return Run(self._parts, job).go_at_once()


class RevertJob(Job[RevertPlan]):
    """The job that undoes one run, or a part of it."""

    kind = "revert"
    before = "before a revert"
    lease = "whole"
    raises = True
    time_limit_s = NO_LIMIT_S

    def __init__(self, parts: RunDependencies, original: RunRecord, part: Parts | None) -> None:
        self._parts = parts
        self._original = original
        self._part = part
        self._carried_out: RevertPlan | None = None
        self.workspace_id = original.workspace_id
        self.project_path = original.project_path
        self.trigger = "manual"
        self.engine = "revert"
        self.purpose = f"revert of {original.id}"
        self.reverts = original.id

    @property
    def source(self) -> str:
        """The text that the history shows as the source of the change."""
        return self.purpose

    def ready(self) -> None:
        """Load the record again under the lease; raise a `UserError` if the run cannot be undone now.

        The reason may be that it was undone meanwhile, that the agent is writing, or that a store must not be
        written.
        """
        parts = self._parts
        refuse_while_agent_writes(parts.home, lock_dir=parts.guard.lock_dir)
        self._original = self._revertible(parts.runs.load(self._original.id))
        self._require_writable(self._original, self._part)

    def refused(self, refusal: UserError) -> RunResult:
        """Raise `refusal` instead of returning a result, because a person waits for the result of an undo."""
        raise refusal

    def keeps(self, outcome: Outcome) -> bool:
        """Return False: for a revert that ended before it changed a file, no record is saved."""
        return False

    async def think(self, run: RunContext) -> RevertPlan | Plan:
        """Return the plan of the changes that undo the run; nothing on disk is changed.

        It is always a `RevertPlan`, never a `Plan`.
        """
        return self._plan(self._original, self._part)

    def accept(self, thought: RevertPlan, run: RunContext) -> Plan:
        """Return the plan to carry out, with every possible change in `thought`.

        The summary of the plan names the conflicts.
        """
        parts, original, plan = self._parts, self._original, thought
        given_back = self._usage_keys(plan, parts.transaction_for(original.id, "revert"))
        usage_before, usage_after = (
            {key: usage for key, usage in side.items() if given_back(key)}
            for side in (plan.journal.usage_before, plan.journal.usage_after)
        )
        restored = tuple(each.path for each in plan.changes)
        conflicts = tuple(intent.path for intent in plan.conflicts)
        undid_nothing = bool(conflicts) and not restored
        self._carried_out = plan
        details: dict[str, object] = {} if plan.part is None else {"part": parts_as_json(plan.part)}
        if plan.refused:
            details["refused"] = sorted(plan.refused)
        return Plan(
            summary_of(original, restored, conflicts, plan),
            plan.changes,
            outcome="failed" if undid_nothing else "completed",
            reason="conflict" if undid_nothing else "",
            usage_before=usage_after,
            usage_after=usage_before,
            removed=plan.journal.made,
            restores=True,
            even_empty=True,
            conflicts=conflicts,
            details=details,
        )

    def say(self, event: str, text: str, record: RunRecord, *, level: str = "info") -> None:
        """Write the result of the revert to Activity."""
        plan = self._carried_out
        if plan is None or event not in ("completed", "failed") or record.reason not in ("", "conflict"):
            return
        conflicts = list(record.conflicts)
        level = "warning" if conflicts else "info"
        text = f"Run {self._original.id} was {how_far(plan, event == 'failed')}. {text}"
        details = {"reverts": self._original.id, "conflicts": conflicts}
        self._parts.activity.add_of_run(f"revert.{event}", text, record, level, details)

    def _revertible(self, original: RunRecord) -> RunRecord:
        if original.reverted:
            raise StoreError(
                f"Run {original.id} has already been reverted.",
                next_step=f"To redo it, revert run {original.reverted_by}.",
                reason="reverted",
            )
        if original.dry_run or original.outcome not in ("completed", "interrupted"):
            raise StoreError(
                f"Run {original.id} changed nothing (outcome: {original.outcome}).",
                next_step="There is nothing to undo.",
                reason="nothing-to-revert",
            )
        if original.part and self._parts.runs.is_reverted(original.reverts):
            raise StoreError(
                f"Run {original.id} undid part of run {original.reverts}, all of which was undone later.",
                next_step=f"First redo run {original.reverts}: revert the run that undid it.",
                reason="reverted",
            )
        return original

    def _require_writable(self, original: RunRecord, part: Parts | None) -> None:
        """Raise `ReadOnlyStore` if a file to restore is in a directory of notes that is read-only now.

        `original`: the run to undo. `part`: the files and hunks to undo; None: the whole run. The refusal is
        also written to Activity.
        """
        parts = self._parts
        transaction = parts.transaction_for(original.id, "revert")
        journal = transaction.load() or Journal(())
        if part is not None:
            journal = Journal(tuple(intent for intent in journal.intents if intent.path in part))
        try:
            transaction.require_writable(journal)
        except ReadOnlyStore as refusal:
            parts.activity.add(
                "revert.skipped",
                level="warning",
                text=f"Run {original.id} was not reverted. {refusal}",
                home=str(parts.home.root),
                workspace_id=original.workspace_id,
                details={"reverts": original.id, "reason": refusal.reason},
            )
            raise

    def _plan(self, original: RunRecord, part: Parts | None) -> RevertPlan:
        """Return the plan of the changes of all files; change nothing.

        `original`: the run to undo. `part`: the files and hunks to undo; None: the whole run. If one file of
        a part is refused, the whole part is refused: `Conflict` is raised.
        """
        source = self._parts.transaction_for(original.id, "revert")
        journal = source.load() or Journal(())
        taken = original.taken_back
        counts: dict[str, int] = {}
        if part is not None or taken:
            images = source.images
            counts = {
                intent.path: hunk_count(images.get(intent.before), images.get(intent.after))
                for intent in journal.intents
            }
        if part is not None:
            self._require_part(original, part, counts)
        both = whole_where_complete(joined(taken, part or {}), counts)
        is_all = part is None or all(both.get(path, frozenset()) is None for path in counts)
        plan = RevertPlan(journal, None if is_all else part, taken, counts)
        for intent in journal.intents:
            hunks = None if part is None else part.get(intent.path, frozenset())
            if hunks == frozenset():
                continue
            try:
                before = taken.get(intent.path, frozenset())
                change = merged(source, intent, before, hunks)
                if change is not None:
                    check_content(self._parts.home, change.root, change.rel, change.before, change.after)
            except (Conflict, StoreError) as error:
                if part is not None:
                    raise not_taken_back(original, error) from error
                if error.reason in REFUSED or not isinstance(error, Conflict):
                    plan.refused[intent.path] = str(error)
                plan.conflicts.append(intent)
                continue
            if change is not None:
                plan.changes.append(change)
        blocked = leave_blocked(source, plan)
        if blocked and part is not None:
            raise not_taken_back(original, Conflict(f"Another file now has the path {blocked[0]}."))
        plan.changes = in_order(plan.changes)
        return plan

    def _require_part(self, original: RunRecord, part: Parts, counts: dict[str, int]) -> None:
        """Raise `StoreError` if `part` of the run `original` cannot be undone on its own.

        `counts`: path -> the number of hunks that can be undone one by one.
        """
        if original.reverts is not None or original.outcome != "completed":
            kind = "an undo" if original.reverts is not None else "an interrupted run"
            raise StoreError(
                f"Run {original.id} can only be undone as a whole, because it is {kind}.",
                next_step=f"`reverie revert {original.id}` undoes all of it.",
                reason="nothing-to-revert",
            )
        if not part:
            raise StoreError(
                "No part of the run was selected.", next_step="Select at least one file.", reason="missing"
            )
        require_parts(original.id, part, original.taken_back, counts)

    def _usage_keys(self, plan: RevertPlan, transaction: Transaction) -> Callable[[str], bool]:
        """Return a function that takes a usage key and returns whether to restore its pin and use count.

        If the plan undoes only a part of the run, these are restored for each file that is then undone
        completely. Otherwise they are restored for all files, except for those with a conflict and those that
        were undone completely before.
        """

        def keys(wanted: Callable[[FileIntent], bool]) -> set[str | None]:
            return {
                self._parts.home.usage_key(transaction.root_of(intent), intent.rel)
                for intent in plan.journal.intents
                if wanted(intent)
            }

        if plan.part is not None:
            completed = keys(lambda intent: intent.path in plan.completed)
            return lambda key: key in completed
        left = keys(lambda intent: intent in plan.conflicts or intent.path in plan.completed)
        return lambda key: key not in left
