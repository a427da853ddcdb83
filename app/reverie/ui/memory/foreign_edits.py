"""Edits of an open text that nobody typed here: made line by line, and remembered in the undo stack.

`become` touches only the lines that differ, from the last to the first, so that cursor, scroll
and marks stay with their lines and the undo stack gets one step.

Undo is for the person who types, and one step of it may be somebody else's change. `ForeignEdits` knows
which: when such a step is undone the text has grown from an older version again, and saving it would take
away what the other one wrote without a word. So the owner is told, and asks (`Undone`); when it is redone,
all is as before (`Redone`).

Threading: GUI thread (QTextDocument). Nothing fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtGui import QTextCursor, QTextDocument

from reverie.ui.memory.co_editing import MERGE_CHARS, hunks
from reverie.ui.memory.newlines import smallest_edit

if TYPE_CHECKING:
    from reverie.ui.memory.editor_state import Buffer

MOST_EDITS = 50
MOST_STEPS = 20_000


@dataclass(frozen=True, slots=True)
class Undone:
    """A foreign edit was undone: the text grew from `before.base` again."""

    before: Buffer


@dataclass(frozen=True, slots=True)
class Redone:
    """It was redone: the buffer is `after` again, if the file is still that one."""

    after: Buffer


@dataclass(slots=True)
class _Edit:
    """`steps`: how many undo steps the document had once it was made. `text`: hash of the text then."""

    steps: int
    text: int
    before: Buffer
    after: Buffer | None = None
    undone: bool = False


class ForeignEdits:
    """The foreign edits in one document's undo stack, oldest first."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._edits: list[_Edit] = []

    def made(self, before: Buffer) -> None:
        """The last undo step is a foreign edit; the buffer was `before`."""
        self._forget_cut_off()
        self._edits.append(_Edit(self._document.availableUndoSteps(), self._hash(), before))

    def make_room(self) -> None:
        """Call it before others' text comes into one where nothing typed is unsaved. A file that an agent
        writes all day would keep every version of that day: what nobody undoes step by step is forgotten."""
        if len(self._edits) >= MOST_EDITS or self._document.availableUndoSteps() > MOST_STEPS:
            self._document.clearUndoRedoStacks()
            self._edits = []

    def changed(self, now: Buffer) -> Undone | Redone | None:
        """The text is another. `now`: the buffer that it had until then. Call it again until it says None."""
        steps = self._document.availableUndoSteps()
        for edit in reversed(self._edits):
            if not edit.undone and steps < edit.steps:
                edit.undone, edit.after = True, now
                return Undone(edit.before)
        for edit in self._edits:
            if edit.undone and steps == edit.steps and edit.after is not None and edit.text == self._hash():
                edit.undone = False
                return Redone(edit.after)
        self._forget_cut_off()
        return None

    def _forget_cut_off(self) -> None:
        """What was undone cannot come back once something else was typed."""
        if self._edits and not self._document.isRedoAvailable():
            self._edits = [edit for edit in self._edits if not edit.undone]

    def _hash(self) -> int:
        return hash(self._document.toRawText())


def become(document: QTextDocument, before: str, wanted: str) -> bool:
    """Make the text of `document`, which is `before`, `wanted`: one undo step, no line touched that stays.
    False: there was nothing to do."""
    if before == wanted:
        return False
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    if len(before) + len(wanted) > 2 * MERGE_CHARS:
        _replace(cursor, 0, before, wanted)
    else:
        for start, old, new in reversed(_pieces(before.split("\n"), wanted.split("\n"))):
            _replace(cursor, document.findBlockByNumber(start).position(), old, new)
    if document.toRawText().replace("\u2029", "\n") != wanted:
        # Half a surrogate pair, which no Python text can hold, has moved the places.
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(wanted)
    cursor.endEditBlock()
    return True


def _pieces(old: list[str], new: list[str]) -> list[tuple[int, str, str]]:
    """What differs: the first line, the old text from there on, the new one."""
    found = []
    for before, after in hunks(old, new):
        if before.end < len(old):
            was = "".join(line + "\n" for line in old[before.start : before.end])
            will = "".join(line + "\n" for line in new[after.start : after.end])
            found.append((before.start, was, will))
            continue
        # The last line has no line break of its own; the one before it goes along where a side has none.
        back = 1 if before.start == before.end or after.start == after.end else 0
        was = "\n".join(old[before.start - back :])
        found.append((before.start - back, was, "\n".join(new[after.start - back :])))
    return found


def _replace(cursor: QTextCursor, position: int, old: str, new: str) -> None:
    start, end, text = smallest_edit(old, new)
    cursor.setPosition(position + utf16(old[:start]))
    cursor.setPosition(position + utf16(old[:end]), QTextCursor.MoveMode.KeepAnchor)
    cursor.insertText(text)


def utf16(text: str) -> int:
    """How long a text is for Qt."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
