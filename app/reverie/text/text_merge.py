r"""Three-way merge of a text that the user and another program edit at the same time. Pure, no Qt.

The merge has three texts, whose line breaks are all `\n`: `base`, the common ancestor; `mine`, the typed
text; `theirs`, the text on disk. Texts are split into lines at `\n`, so a missing line break at the end is a
change like any other, and `"\n".join(text.split("\n")) == text` holds for every text.

A change that only one side made is applied. The same change on both sides is applied once. Different changes
of both sides that overlap or touch are a conflict: until the user decides, the merged text has the lines of
mine there, and the conflict contains the lines of theirs. No line that one side added is ever missing from
both the merged text and the conflicts.

`Merged.rebased` records a merge with undecided conflicts as a text: it has the lines of theirs everywhere
except in the conflicts, where it has the lines of `base`. As the next base, it gives the same conflicts
again, so a draft needs no list of them.

Threading: any thread. Time is about n log n: if lines repeat too often to be matched cheaply, the whole part
that differs is one change. This makes a conflict larger but loses nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from reverie.text.matching import differing, matching
from reverie.values import Struct

Side = Literal["mine", "theirs", "both"]
_Kind = Literal["mine", "theirs", "same", "conflict"]
TYPING_STEPS = 20_000
"""Steps (see `text.matching`) that any two texts may take while the user is typing."""
# Merging larger texts would block typing, so the user decides about the whole file.
MERGE_CHARS = 120_000


class Region(Struct, frozen=True):
    """The lines of a text from `start` up to `end` (exclusive), counted from 0.

    A region can be empty; it is then a place at which another text has lines and this one has none.
    """

    start: int
    end: int


class MergeConflict(Struct, frozen=True):
    """A place in the text that the user and another program changed in different ways."""

    at: Region
    """The lines of the conflict in the merged text; there, they are the lines `mine`."""
    base: Region
    """The lines of the conflict in the base of the next merge (`Merged.rebased`)."""
    mine: tuple[str, ...]
    """The typed lines."""
    theirs: tuple[str, ...]
    """The lines on disk."""


class Merged(Struct, frozen=True):
    """The result of a merge: a text, its conflicts, and the base of the next merge."""

    text: str
    taken: tuple[Region, ...]
    """The regions of `text` with lines that came from the text on disk; an empty region is a deletion."""
    conflicts: tuple[MergeConflict, ...]
    rebased: str
    """The base to use with `text` in the next merge.

    It is the text on disk, but with the lines of the old base in each conflict.
    """


class TextChange(Struct, frozen=True):
    """A region of lines that is not the same in all three texts.

    `kind`: which of the two texts changed it: `mine`, `theirs`, both in the same way (`same`), or both in
    different ways (`conflict`). `base`, `mine`, `theirs`: the region in each text.
    """

    kind: _Kind
    base: Region
    mine: Region
    theirs: Region


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Merge the changes from `base` to `theirs` into `mine`; return the merged text and its conflicts.

    A place that both texts changed, in different ways, becomes a conflict.
    """
    return _built(base, mine, theirs, take=True)


def open_conflicts(base: str, mine: str, theirs: str) -> tuple[MergeConflict, ...]:
    """Return the conflicts of a merge that the user has not decided yet.

    `base`: the `Merged.rebased` of the merge, or the base that `decided` returned; it differs from `theirs`
    only in the undecided conflicts. `mine`: the typed text; `theirs`: the text on disk. A conflict remains
    until the user decides it or types the lines of `theirs`; typing the lines of `base` again does not end
    it.
    """
    return _built(base, mine, theirs, take=False).conflicts


def settled(base: str, mine: str, theirs: str) -> str:
    """Return `base` with the lines of `theirs` in each place where `mine` has become equal to `theirs`.

    `base` is the `Merged.rebased` of the merge. These places are then no longer conflicts.
    """
    return _built(base, mine, theirs, take=False).rebased


def decided(base: str, mine: str, theirs: str, conflict: MergeConflict, side: Side) -> tuple[str, str]:
    """Return the text and its base after the user has decided `conflict`, one of the `open_conflicts`.

    The conflict is replaced by the lines of `side`: "mine", "theirs" or "both".
    """
    lines, below = mine.split("\n"), base.split("\n")
    lines[conflict.at.start : conflict.at.end] = chosen(conflict, side)
    below[conflict.base.start : conflict.base.end] = conflict.theirs
    return "\n".join(lines), settled("\n".join(below), "\n".join(lines), theirs)


def chosen(conflict: MergeConflict, side: Side) -> list[str]:
    """Return the lines that replace a conflict if the user chooses `side`: "mine", "theirs" or "both".

    For "both", `conflict.mine` comes first.
    """
    if side == "mine":
        return list(conflict.mine)
    if side == "theirs":
        return list(conflict.theirs)
    return [*conflict.mine, *conflict.theirs]


def hunks(old: list[str], new: list[str]) -> list[tuple[Region, Region]]:
    """Return the regions in which the lines differ, as pairs: the region in `old` and that in `new`."""
    runs = matching(old, new, TYPING_STEPS)
    return [
        (Region(start, end), Region(new_start, new_end))
        for start, end, new_start, new_end in differing(runs, old, new)
    ]


def _built(base: str, mine: str, theirs: str, *, take: bool) -> Merged:
    """Return the merge of the texts `mine` and `theirs`, whose common ancestor is `base`.

    `take`: apply the changes that only `theirs` has; if False, these changes become conflicts too.
    """
    base_lines, mine_lines, their_lines = base.split("\n"), mine.split("\n"), theirs.split("\n")
    text: list[str] = []
    rebased: list[str] = []
    taken: list[Region] = []
    conflicts: list[MergeConflict] = []
    mine_at = theirs_at = 0
    for change in changes(base_lines, mine_lines, their_lines):
        text += mine_lines[mine_at : change.mine.start]
        rebased += their_lines[theirs_at : change.theirs.start]
        ours = mine_lines[change.mine.start : change.mine.end]
        others = their_lines[change.theirs.start : change.theirs.end]
        start = len(text)
        if change.kind == "conflict" or (change.kind == "theirs" and not take):
            text += ours
            rebased_start = len(rebased)
            rebased += base_lines[change.base.start : change.base.end]
            conflicts.append(
                MergeConflict(
                    Region(start, len(text)),
                    Region(rebased_start, len(rebased)) if take else change.base,
                    tuple(ours),
                    tuple(others),
                )
            )
        else:
            text += others if change.kind == "theirs" else ours
            rebased += others
            if change.kind == "theirs":
                taken.append(Region(start, len(text)))
        mine_at, theirs_at = change.mine.end, change.theirs.end
    text += mine_lines[mine_at:]
    rebased += their_lines[theirs_at:]
    return Merged("\n".join(text), tuple(taken), tuple(conflicts), "\n".join(rebased))


def changes(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[TextChange]:
    """Yield the changes of `mine` and `theirs` against `base`, in order.

    Changes of the two texts that overlap or touch are combined into one.
    """
    ours, others = hunks(base, mine), hunks(base, theirs)
    mine_at = theirs_at = 0  # the next hunk of each side
    mine_shift = theirs_shift = 0  # how far lines of that side lie behind those of the base
    while mine_at < len(ours) or theirs_at < len(others):
        start = min(
            ours[mine_at][0].start if mine_at < len(ours) else len(base) + 1,
            others[theirs_at][0].start if theirs_at < len(others) else len(base) + 1,
        )
        end = start
        first_mine, first_theirs, shifts = mine_at, theirs_at, (mine_shift, theirs_shift)
        grew = True
        while grew:
            grew = False
            while mine_at < len(ours) and ours[mine_at][0].start <= end:
                region, side = ours[mine_at]
                end, mine_shift, mine_at, grew = (
                    max(end, region.end),
                    side.end - region.end,
                    mine_at + 1,
                    True,
                )
            while theirs_at < len(others) and others[theirs_at][0].start <= end:
                region, side = others[theirs_at]
                end, theirs_shift = max(end, region.end), side.end - region.end
                theirs_at, grew = theirs_at + 1, True
        in_mine = Region(start + shifts[0], end + mine_shift)
        in_theirs = Region(start + shifts[1], end + theirs_shift)
        kind: _Kind = "conflict"
        if mine_at == first_mine:
            kind = "theirs"
        elif theirs_at == first_theirs:
            kind = "mine"
        elif mine[in_mine.start : in_mine.end] == theirs[in_theirs.start : in_theirs.end]:
            kind = "same"
        yield TextChange(kind, Region(start, end), in_mine, in_theirs)
