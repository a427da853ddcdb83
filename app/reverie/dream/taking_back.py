"""Which parts of a finished run a person takes back, from what they left ticked in its review.

A `Selection` of a finished run is what shall stay of it. The rails of a review count here too: a deleted
memory whose lines would stand nowhere else once its receiver is taken back comes back with it, unless a
person agreed to the loss. What the run itself lost stays as it is.

Pure and quick enough for the GUI thread.
"""

from __future__ import annotations

from collections.abc import Collection

from reverie.dream.review import Review, ReviewedFile, Selection, resolve
from reverie.errors import StoreError
from reverie.runs.parts import Parts


def standing(review: Review, taken: Parts) -> Selection:
    """What of the run is in place: all but what was taken back."""
    rejected = {file.path: gone for file in review.files if (gone := hunks_taken(file, taken))}
    selection = Selection(rejected_hunks=rejected)
    return Selection(rejected_hunks=rejected, agreed_losses=frozenset(resolve(review, selection).blocked))


def hunks_taken(file: ReviewedFile, taken: Parts) -> frozenset[int]:
    """The hunks of a file that were taken back."""
    found = taken.get(file.path, frozenset())
    return frozenset(hunk.index for hunk in file.hunks) if found is None else found


def to_take_back(review: Review, selection: Selection, taken: Parts) -> Parts:
    """What goes back so that the selection is what stays; empty for nothing."""
    blocked = resolve(review, selection).blocked
    parts: dict[str, frozenset[int] | None] = {}
    for group in review.groups:
        for file in group.files:
            every = frozenset(hunk.index for hunk in file.hunks)
            left = selection.rejected_hunks.get(file.path, frozenset())
            if group.index in selection.rejected_groups or file.path in blocked:
                left = every
            new = left - hunks_taken(file, taken)
            if new and (file.verb != "edit" or left == every):
                parts.update(dict.fromkeys(file.paths, None))
            elif new:
                parts[file.path] = new
    return parts


def named_parts(
    review: Review, paths: Collection[str], hunks: Collection[int], taken: Parts
) -> tuple[Parts, tuple[str, ...]]:
    """The parts that a command names (files by either of their names, hunks of one edited file, numbered from
    1) with what the rails bring back besides, and the paths of the latter. Raises `StoreError` for what the
    run does not have, or what was taken back already."""
    selection = standing(review, taken)
    named: set[str] = set()
    for path in dict.fromkeys(paths):
        # A diff names files without their first slash.
        file = next((file for file in review.files if {path, f"/{path}"} & set(file.paths)), None)
        if file is None:
            raise StoreError(
                f"The run did not change {path}.",
                next_step="`reverie diff RUN` shows what it changed.",
                reason="missing",
            )
        named.update(file.paths)
        gone, every = hunks_taken(file, taken), frozenset(hunk.index for hunk in file.hunks)
        if hunks and file.verb != "edit":
            raise StoreError(
                f"{path} has no hunks to take back: the run made, deleted or renamed it.",
                next_step="Leave --hunk out to take back all of it.",
                reason="missing",
            )
        wanted = frozenset(number - 1 for number in hunks) or every
        if not wanted <= every:
            numbers = ", ".join(str(hunk + 1) for hunk in sorted(wanted - every))
            raise StoreError(
                f"There is no hunk {numbers} in {path}.",
                cause=f"It has {len(every)}.",
                next_step="`reverie diff RUN` shows them with their numbers.",
                reason="missing",
            )
        again = wanted & gone if hunks else wanted if gone == every else frozenset()
        if again:
            what = f"hunk {', '.join(str(hunk + 1) for hunk in sorted(again))} of {path}" if hunks else path
            raise StoreError(f"Already taken back: {what}.", reason="reverted")
        for hunk in wanted:
            selection = selection.with_hunk(file.path, hunk, accepted=False)
    parts = to_take_back(review, selection, taken)
    return parts, tuple(path for path in parts if path not in named)
