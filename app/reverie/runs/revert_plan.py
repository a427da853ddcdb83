"""What a revert is going to do: where each file goes by three-way merge, and how that is told.

Reads files and images, changes nothing. Threading: any thread but the GUI's. Failure: `Conflict` for a file
that cannot go back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reverie.errors import Conflict, MendableError
from reverie.memory.snapshots import Snapshots
from reverie.runs.journal import FileIntent, Journal, PlannedChange
from reverie.runs.parts import Parts, joined, lines_of_bytes, version_without, whole_where_complete
from reverie.runs.record import RunRecord
from reverie.runs.transaction import Transaction
from reverie.text.counts import left_as_before, some, was_left


def merged(
    transaction: Transaction,
    intent: FileIntent,
    snapshots: Snapshots,
    taken: frozenset[int] | None = frozenset(),
    part: frozenset[int] | None = None,
) -> PlannedChange | None:
    """What the file should become, None if it stays. `taken` was taken back before; `part` goes back now,
    None for all of the file. Raises `Conflict` where both sides changed the same lines."""
    before, after = transaction.images.get(intent.before), transaction.images.get(intent.after)
    wanted_part = None if taken is None or part is None else taken | part
    base, wanted = version_without(before, after, taken), version_without(before, after, wanted_part)
    current = transaction.current(intent)
    if wanted in (base, current):
        return None
    if current == base:
        root = transaction.root_of(intent)
        return PlannedChange(root, intent.rel, current, wanted, intent.mode, intent.place)
    if current is None or base is None or wanted is None:
        raise Conflict(f"{intent.path} changed since the run.")
    merge = snapshots.history.merge(base, current, wanted)
    if merge.conflict:
        raise Conflict(f"{intent.path} changed since the run, on the same lines.")
    if part is not None and not _fits_once(snapshots, base, current, wanted):
        raise Conflict(f"{intent.path} changed since the run: the lines fit in more than one place.")
    if merge.content == current:
        return None
    return PlannedChange(transaction.root_of(intent), intent.rel, current, merge.content)


def _fits_once(snapshots: Snapshots, base: bytes, current: bytes, wanted: bytes) -> bool:
    """Whether the merge comes out the same from the last line to the first. Where lines stand
    there twice, the two directions choose different ones."""
    versions = [
        content if content.endswith(b"\n") else content + b"\n" for content in (base, current, wanted)
    ]
    forward = snapshots.history.merge(*versions)
    backward = snapshots.history.merge(*map(_upside_down, versions))
    return not backward.conflict and _upside_down(backward.content) == forward.content


def _upside_down(content: bytes) -> bytes:
    return b"".join(reversed(lines_of_bytes(content)))


@dataclass(slots=True)
class RevertPlan:
    """What a revert is going to do. `part` None: all of the run that is left."""

    journal: Journal
    part: Parts | None
    taken: Parts
    counts: dict[str, int]
    changes: list[PlannedChange] = field(default_factory=list)
    conflicts: list[FileIntent] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    """Those of the conflicts that may not be written, by path: why."""

    @property
    def completed(self) -> frozenset[str]:
        """The paths of which nothing is left in place after a part was taken back."""
        both = whole_where_complete(joined(self.taken, self.part or {}), self.counts)
        return frozenset(path for path, hunks in both.items() if hunks is None)


def how_far(plan: RevertPlan, undid_nothing: bool) -> str:
    """For the log: "Run X was ..."."""
    if undid_nothing:
        return "not reverted"
    return "reverted" if plan.part is None else "reverted in part"


def not_taken_back(original: RunRecord, error: MendableError) -> Conflict:
    """Why a part was refused; as for all of it, nothing was changed."""
    return Conflict(
        "Nothing was taken back.",
        cause=str(error),
        next_step=f"Leave that out, or put the lines back by hand: `reverie diff {original.id}` shows them.",
        reason=error.reason,
    )


def summary_of(
    original: RunRecord, restored: tuple[str, ...], conflicts: tuple[str, ...], plan: RevertPlan
) -> str:
    """One or more sentences on what came of it."""
    count = len(restored)
    if plan.part is not None:
        return _part_summary(plan.part) if count else "What was to be taken back had gone already."
    refused = plan.refused
    summary = f"{some(count, 'file')} put back." if count else "Nothing was put back."
    if refused:
        summary += (
            f" {some(len(refused), 'file')} {left_as_before(len(refused))}: {' '.join(refused.values())}"
        )
    changed = [path for path in conflicts if path not in refused]
    if changed:
        summary += (
            f" {some(len(changed), 'file')} changed since on the same lines and {was_left(len(changed))}:"
            f" {', '.join(changed)}."
            f" `reverie diff {original.id}` shows the versions before the run."
        )
    return summary


def _part_summary(part: Parts) -> str:
    files = sum(hunks is None for hunks in part.values())
    hunks = sum(len(hunks) for hunks in part.values() if hunks is not None)
    counts = [some(files, "file")] if files else []
    if hunks:
        counts.append(f"{some(hunks, 'change')} in {some(len(part) - files, 'file')}")
    return f"Taken back: {' and '.join(counts)}."
