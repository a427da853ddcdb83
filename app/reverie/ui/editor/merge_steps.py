"""The steps of an open text: what to show after others have changed its file or the user has decided.

A step contains everything that the editor needs to show it: the edits of the text, the marks, the conflicts,
and the version on which the text is then based. The steps of short texts are computed at once; those of
longer ones would block the window, so a job computes them. Pure.

Threading: any thread.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from reverie.text import text_merge as three_way
from reverie.text.text_merge import MERGE_CHARS, MergeConflict, Region, Side
from reverie.ui.editor.line_breaks import body, widget_text, written
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.services.views import FileText

CHARS_AT_ONCE, LINES_AT_ONCE = 50_000, 2_000
"""The most characters and lines of all texts together for which a step is computed at once."""
MOST_EDITS = 300
"""The most edits that change a text line by line; more of them become one."""

Edit = tuple[int, str, str]
"""A change of a text: the index of its first line, the old text there, the new text."""


class Texts(Struct, frozen=True):
    r"""The three texts of a merge; all have `\n` as line breaks."""

    base: str
    """The text of the version on which the text in the editor is based."""
    mine: str
    """The text in the editor."""
    disk: FileText
    """The version that is now on disk; the property `theirs` is its text."""

    @property
    def theirs(self) -> str:
        return widget_text(body(self.disk.content))

    @property
    def are_short(self) -> bool:
        """True if the texts are short enough to be merged or compared without blocking the window."""
        texts = self.base, self.mine, self.theirs
        lines = sum(text.count("\n") + 1 for text in texts)
        return sum(map(len, texts)) <= CHARS_AT_ONCE and lines <= LINES_AT_ONCE


class MergeStep(Struct, frozen=True):
    """What the editor shows after a change on disk, a merge or a decision about a conflict."""

    text: str
    """The text to show."""
    base: FileText | None
    """The version on which `text` is based; the one on disk if there is no conflict.

    None if the step does not change on which version the text is based.
    """
    edits: tuple[Edit, ...] = ()
    """The changes that turn the present text of the editor into `text`, in the order of the lines."""
    taken: tuple[Region, ...] = ()
    """The regions of `text` with lines that came from disk; an empty region is a deletion."""
    conflicts: tuple[MergeConflict, ...] = ()
    """The open conflicts."""
    modified: bool = False
    """True if `text` differs from the text on disk."""


def following(texts: Texts) -> MergeStep:
    """Return the step that replaces the text in the editor, `texts.mine`, by the text on disk.

    `texts.base` must be the text on disk or, if the editor cannot show all of it, the part that it shows.
    """
    edits, regions = edits_between(texts.mine, texts.base)
    return MergeStep(texts.base, texts.disk, edits, regions)


def merging(texts: Texts) -> MergeStep:
    """Return the step that merges the changes on disk into the text in the editor."""
    found = three_way.merge(texts.base, texts.mine, texts.theirs)
    return _step(texts, found.text, found.rebased, found.taken)


def rechecking(texts: Texts) -> MergeStep:
    """Return the step that finds out which conflicts are still open, without changing the text."""
    return _step(texts, texts.mine, texts.base)


def deciding(texts: Texts, chosen: MergeConflict, index: int, side: Side) -> MergeStep:
    """Return the step that replaces a conflict by the lines of `side`, as the user has decided.

    `chosen`: the conflict. `index`: its position among the open conflicts. `side`: `mine`, `theirs` or
    `both`. If newer changes have put another conflict in this position, the step does not change the text.
    """
    below = three_way.settled(texts.base, texts.mine, texts.theirs)
    conflicts = three_way.open_conflicts(below, texts.mine, texts.theirs)
    if index >= len(conflicts) or conflicts[index].theirs != chosen.theirs:
        return _step(texts, texts.mine, below)
    return _step(texts, *three_way.decided(below, texts.mine, texts.theirs, conflicts[index], side))


def taking_back(texts: Texts, before: str) -> MergeStep:
    """Return the step that removes the merged changes of others from the text in the editor.

    `before`: the text on which the typed text was based before these changes were merged. The remaining text
    is based on it again, so the step lists the conflicts of the remaining text with the text on disk.
    """
    return _step(texts, three_way.merge(texts.base, texts.mine, before).text, before)


def edits_between(old: str, new: str) -> tuple[tuple[Edit, ...], tuple[Region, ...]]:
    """Return the edits that turn `old` into `new`, and the regions of `new` that they change.

    An edit is (number of its first line from 0, old text, new text). If the texts are too long to be
    compared, there is one edit and no region.
    """
    if old == new:
        return (), ()
    if len(old) + len(new) > 2 * MERGE_CHARS:
        return ((0, old, new),), ()
    was, now = old.split("\n"), new.split("\n")
    found = three_way.hunks(was, now)
    edits = tuple(_edit(was, now, *pair) for pair in found)
    return edits if len(edits) <= MOST_EDITS else ((0, old, new),), tuple(after for _, after in found)


def _edit(old: list[str], new: list[str], before: Region, after: Region) -> Edit:
    """Return the edit that replaces the lines `before` of `old` by the lines `after` of `new`."""
    if before.end < len(old):
        was = "".join(line + "\n" for line in old[before.start : before.end])
        return before.start, was, "".join(line + "\n" for line in new[after.start : after.end])
    # The last line has no line break; include the one before it if a side has no lines here.
    back = 1 if before.start == before.end or after.start == after.end else 0
    was = "\n".join(old[before.start - back :])
    return before.start - back, was, "\n".join(new[after.start - back :])


def _step(texts: Texts, text: str, base: str, taken: tuple[Region, ...] = ()) -> MergeStep:
    """Return the step that shows `text`, with the conflicts that the user has not decided yet.

    `base`: the text of the version on which `text` is based. `taken`: the lines of `text` that came from
    disk.
    """
    theirs = texts.theirs
    below = base if base == theirs else three_way.settled(base, text, theirs)
    conflicts = () if below == theirs else three_way.open_conflicts(below, text, theirs)
    edits = edits_between(texts.mine, text)[0]
    return MergeStep(text, _based(texts.disk, below, theirs), edits, taken, conflicts, text != theirs)


def _based(disk: FileText, text: str, theirs: str) -> FileText:
    """Return a version with the text `text`, to be the base of the text in the editor.

    `theirs`: the text of `disk`, the version on disk. If it equals `text`, there is no conflict, and the
    result is `disk`. Otherwise the result is a copy of `disk` with other content, which was never on disk.
    """
    if text == theirs:
        return disk
    content = written(disk, text)
    sha256 = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
    return replace(disk, content=content, sha256=sha256)
