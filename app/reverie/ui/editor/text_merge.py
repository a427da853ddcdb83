"""Two people in one text: what somebody else wrote is merged into what is being typed. Pure, no Qt.

Three texts with line breaks `\n` only: `base`, the one both grew from; `mine`, the typed one; `theirs`, the
one on disk. Lines are what is between line breaks, so a missing line break at the end is a change like any
other and `"\n".join(text.split("\n")) == text` holds for every text.

Changes of one side are taken. Changes of both sides that overlap or touch are a conflict: the merged text
keeps mine there and the conflict holds theirs, until a person decides. The same change at both sides is
taken once. No line that one side added is ever missing from both the merged text and the conflicts.

`rebased` is how a half-decided merge is remembered: theirs everywhere but in the conflicts, where it stays
`base`. Merging the same three texts again gives the same conflicts, so a draft needs no list of them.

Any thread; time about n log n: where lines repeat too much to be matched cheaply the differing stretch is one
change, which makes a conflict larger but loses nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal

from reverie.text.matching import differing, matching
from reverie.values import Struct

Side = Literal["mine", "theirs", "both"]
_Kind = Literal["mine", "theirs", "same", "conflict"]
_LEAST_STEPS = 20_000
"""Steps (see `text.matching`) for any two texts: a person types meanwhile."""
# Above this size a person decides about the whole file; merging it would hold up the typing.
MERGE_CHARS = 500_000


class Region(Struct, frozen=True):
    """Lines `start` up to `end` of a text; empty where lines are missing."""

    start: int
    end: int


class MergeConflict(Struct, frozen=True):
    """Both sides changed the same place. `at`: its lines in the merged text, where mine stands.
    `base`: its lines in the base. `mine` and `theirs`: what each side has there."""

    at: Region
    base: Region
    mine: tuple[str, ...]
    theirs: tuple[str, ...]


class Merged(Struct, frozen=True):
    """`taken`: lines of `text` that came from theirs; an empty region is where they deleted. `rebased`: the
    base that `text` has from now on; theirs, once there is no conflict."""

    text: str
    taken: tuple[Region, ...]
    conflicts: tuple[MergeConflict, ...]
    rebased: str


class _Change(Struct, frozen=True):
    """A stretch that is not the same in all three texts."""

    kind: _Kind
    base: Region
    mine: Region
    theirs: Region


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Take into `mine` what changed from `base` to `theirs`."""
    return _built(base, mine, theirs, take=True)


def open_conflicts(base: str, mine: str, theirs: str) -> tuple[MergeConflict, ...]:
    """What is not decided yet between a half-decided base (`Merged.rebased`) and theirs. Every place counts
    where they differ and mine is not theirs: what a person typed back to the old lines is no decision."""
    return _built(base, mine, theirs, take=False).conflicts


def settled(base: str, mine: str, theirs: str) -> str:
    """The half-decided base after typing: where mine has become theirs there is nothing left to decide."""
    return _built(base, mine, theirs, take=False).rebased


def decided(base: str, mine: str, theirs: str, conflict: MergeConflict, side: Side) -> tuple[str, str]:
    """`(text, base)` after a person decided about one of the `open_conflicts` of these three texts."""
    lines, below = mine.split("\n"), base.split("\n")
    lines[conflict.at.start : conflict.at.end] = chosen(conflict, side)
    below[conflict.base.start : conflict.base.end] = conflict.theirs
    return "\n".join(lines), settled("\n".join(below), "\n".join(lines), theirs)


def chosen(conflict: MergeConflict, side: Side) -> list[str]:
    """The lines that stand in the place of a conflict after a decision."""
    if side == "mine":
        return list(conflict.mine)
    if side == "theirs":
        return list(conflict.theirs)
    return [*conflict.mine, *conflict.theirs]


def hunks(old: list[str], new: list[str]) -> list[tuple[Region, Region]]:
    """Where `new` differs from `old`: lines in old, lines in new."""
    runs = matching(old, new, _LEAST_STEPS)
    return [
        (Region(start, end), Region(new_start, new_end))
        for start, end, new_start, new_end in differing(runs, old, new)
    ]


def _built(base: str, mine: str, theirs: str, *, take: bool) -> Merged:
    """`take` False: changes of theirs alone are conflicts too."""
    base_lines, mine_lines, their_lines = base.split("\n"), mine.split("\n"), theirs.split("\n")
    text: list[str] = []
    rebased: list[str] = []
    taken: list[Region] = []
    conflicts: list[MergeConflict] = []
    mine_at = theirs_at = 0
    for change in _changes(base_lines, mine_lines, their_lines):
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


def _changes(base: list[str], mine: list[str], theirs: list[str]) -> Iterator[_Change]:
    """The changes in order. Hunks of both sides that overlap or touch are one change."""
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
        yield _Change(kind, Region(start, end), in_mine, in_theirs)


# Between a file's text and a text widget that knows only one kind of line break. Pure.
#
# A widget turns every line break into its own and gives back `\n`. What was not edited must reach the disk
# as it was: mixed CRLF and LF, a lone CR, exotic separators. So the text on disk is kept beside the edited
# one and each line that is still there keeps its own ending; new lines get the file's prevailing one.
#
# `widget_text(restored(original, edited)) == edited` and `restored(original, widget_text(original)) ==
# original`.


# What QTextDocument takes for the end of a block (besides CR LF, LF and CR): U+2029 and two noncharacters.
_BREAK = re.compile("\r\n|\r|\n|\u2029|\ufdd0|\ufdd1")


def widget_text(text: str) -> str:
    """`text` as a widget gives it back when nobody edits it."""
    return _BREAK.sub("\n", text)


def prevailing_newline(text: str, default: str = "\n") -> str:
    """The most frequent line break of `text`; LF, CR LF or CR."""
    counts = Counter(found for found in _BREAK.findall(text) if found in ("\n", "\r\n", "\r"))
    return counts.most_common(1)[0][0] if counts else default


def restored(original: str, edited: str, default: str = "\n") -> str:
    """Give `edited` (line breaks `\\n` only) the line breaks of `original`, also where a line was changed;
    new lines end as most do."""
    breaks = _BREAK.findall(original)
    newline = prevailing_newline(original, default)
    if all(found == newline for found in breaks):
        return edited.replace("\n", newline) if newline != "\n" else edited
    old, new = _BREAK.split(original), edited.split("\n")
    endings: list[str] = [newline] * (len(new) - 1)
    runs = matching(old, new, _LEAST_STEPS)
    same = [(at, at + length, new_at, new_at + length) for at, new_at, length in runs]
    for start, end, new_start, new_end in [*same, *differing(runs, old, new)]:
        # From the end: a line that was split, or joined with the next one, ends as it did.
        for offset in range(1, min(end - start, new_end - new_start) + 1):
            if new_end - offset < len(endings) and end - offset < len(breaks):
                endings[new_end - offset] = breaks[end - offset]
    for at in range(len(endings) - 2, -1, -1):
        if endings[at] == "\r" and not new[at + 1] and endings[at + 1] == "\n":
            endings[at] = "\n"  # the two would be one CR LF
    return "".join(part for pair in zip(new, [*endings, ""], strict=True) for part in pair)


def smallest_edit(old: str, new: str) -> tuple[int, int, str]:
    """`(start, end, text)`: replacing old[start:end] by text gives new. So a view keeps its place."""
    limit = min(len(old), len(new))
    # Halving finds the common beginning in n compared characters without a Python loop over each.
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if old[:middle] == new[:middle]:
            low = middle
        else:
            high = middle - 1
    start = low
    low, high = 0, limit - start
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle :] == new[len(new) - middle :]:
            low = middle
        else:
            high = middle - 1
    return start, len(old) - low, new[start : len(new) - low]
