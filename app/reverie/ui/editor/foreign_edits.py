"""Edits of an open text that the user did not type: applying them, and finding them in the undo stack.

Threading: GUI thread (QTextDocument). Failure: none.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QTextCursor, QTextDocument

from reverie.text.summaries import utf16_length
from reverie.ui.editor.buffer import Buffer, Display
from reverie.ui.editor.line_breaks import smallest_edit
from reverie.ui.editor.merge_steps import Edit
from reverie.ui.widgets.text_boxes import for_document, text_of
from reverie.values import Struct

MOST_EDITS = 50


MOST_STEPS = 20_000


Version = tuple[Buffer, Display]
"""The state of a file, and how much of its text the document shows."""


class _Edit(Struct):
    """An edit in the undo stack of a document that the user did not type."""

    steps: int
    """The number of undo steps of the document right after the edit."""
    text: int
    """The hash of the text of the document right after the edit."""
    before: Version
    """The version before the edit."""
    after: Version | None = None
    """The version before the edit was undone; None until then."""
    undone: bool = False
    """True while the edit is undone."""


class ForeignEdits:
    """The edits in a document's undo stack that others made (foreign edits), oldest first.

    Undo is meant for the user's typing, but a step of the undo stack can be a change by another program. If
    such a step is undone, the text is based on an older version again, and saving it would silently remove
    that program's change. So `changed` reports it, and the caller asks the user.
    """

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._edits: list[_Edit] = []

    def made(self, before: Version) -> None:
        """Record that the newest undo step is a change that the user did not type.

        `before`: the state of the file, and how much of its text the document showed, before that change.
        """
        self._forget_cut_off()
        self._edits.append(_Edit(self._document.availableUndoSteps(), self._hash(), before))

    def make_room(self) -> None:
        """Clear the undo stack if it has `MOST_EDITS` foreign edits or more than `MOST_STEPS` steps.

        Call this before a foreign edit of a text without unsaved typing. Otherwise the undo stack of a file
        that an agent writes all day would keep every version of that day.
        """
        if len(self._edits) >= MOST_EDITS or self._document.availableUndoSteps() > MOST_STEPS:
            self._document.clearUndoRedoStacks()
            self._edits = []

    def changed(self, now: Version) -> tuple[bool, Version] | None:
        """Find out whether the last change of the text has undone or redone an edit of another program.

        `now`: the version that the editor had until this change; a version is the state of the file and how
        much of its text is shown. Returns (True, the version to go back to) if an edit was undone, (False,
        the version to return to) if one was redone, and None otherwise. One change can undo several edits,
        so call this again until it returns None.
        """
        steps = self._document.availableUndoSteps()
        for edit in reversed(self._edits):
            if not edit.undone and steps < edit.steps:
                edit.undone, edit.after = True, now
                return True, edit.before
        for edit in self._edits:
            if edit.undone and steps == edit.steps and edit.after is not None and edit.text == self._hash():
                edit.undone = False
                return False, edit.after
        self._forget_cut_off()
        return None

    def _forget_cut_off(self) -> None:
        """Forget the undone edits if they can no longer be redone, because other text was typed since."""
        if self._edits and not self._document.isRedoAvailable():
            self._edits = [edit for edit in self._edits if not edit.undone]

    def _hash(self) -> int:
        return hash(self._document.toRawText())


def become(document: QTextDocument, edits: Sequence[Edit], wanted: str) -> None:
    """Change the text of a document to `wanted` by `edits`, in one undo step.

    An edit is (number of its first line from 0, old text, new text). `edits` are in the order of the lines.
    They are applied from the last to the first, so that the cursor, scroll position and marks stay with their
    lines.
    """
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    for start, old, new in reversed(edits):
        replace_text(cursor, document.findBlockByNumber(start).position(), old, new)
    if text_of(document) != wanted:
        # Half a surrogate pair, which no Python text can hold, has shifted the positions.
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(for_document(wanted))
    cursor.endEditBlock()


def replace_text(cursor: QTextCursor, position: int, old: str, new: str) -> None:
    """Replace `old`, which is the text at `position`, by `new`; only the part that differs is edited.

    `cursor`: a cursor of the document, which makes the edit. `position` is in UTF-16 units.
    """
    start, end, text = smallest_edit(old, new)
    cursor.setPosition(position + utf16_length(old[:start]))
    cursor.setPosition(position + utf16_length(old[:end]), QTextCursor.MoveMode.KeepAnchor)
    cursor.insertText(for_document(text))
