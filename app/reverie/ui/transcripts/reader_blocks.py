"""The entries of a transcript in a document: blocks carry the number of their entry as user state and are in
order, so an entry is found by halving.

Qt may lose what a block carries where blocks are joined or split; it is given back here (`carried`, `carry`).
Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCursor, QTextDocument

from reverie.ui.transcripts.entries import Line

Carried = tuple[int, QTextBlockFormat]


class EntryBlocks:
    """What stands where in `document`. Numbers are those of entries that are in it."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document

    def first_of(self, number: int) -> QTextBlock:
        """The first block of an entry."""
        low, high = 0, self._document.blockCount() - 1
        while low < high:
            middle = (low + high) // 2
            if self._document.findBlockByNumber(middle).userState() < number:
                low = middle + 1
            else:
                high = middle
        return self._document.findBlockByNumber(low)

    def select(self, number: int, *, last: bool) -> QTextCursor:
        """A cursor that selects an entry, without the break behind it; `last`: none follows it."""
        cursor = QTextCursor(self.first_of(number))
        if last:
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        else:
            cursor.setPosition(self.first_of(number + 1).position() - 1, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def write(self, cursor: QTextCursor, number: int, lines: Iterable[Line]) -> None:
        """One entry from the cursor on, which stands in an empty block."""
        for row, (text, format_, back) in enumerate(lines):
            if row:
                cursor.insertBlock()
            cursor.setBlockFormat(back)
            cursor.insertText(text, format_)
            cursor.block().setUserState(number)

    def remove(self, start: int, end: int | None) -> None:
        """Let go of the entries from `start` to before `end`; None: to the end."""
        begin = self.first_of(start)
        cursor = QTextCursor(begin)
        if end is not None:
            following = self.first_of(end)
            kept, place = carried(following), begin.position()
            cursor.setPosition(following.position(), QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            carry(self._document.findBlock(place), kept)
            return
        before = begin.previous()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if before.isValid():
            kept = carried(before)
            cursor.deletePreviousChar()  # the break before it
            carry(cursor.block(), kept)


def begins(block: QTextBlock) -> bool:
    """Whether an entry begins with this block."""
    return not block.previous().isValid() or block.previous().userState() != block.userState()


def goes_on(block: QTextBlock) -> bool:
    """Whether its entry goes on below this block."""
    following = block.next()
    return following.isValid() and following.userState() == block.userState()


def carried(block: QTextBlock) -> Carried:
    """What a block carries beside its text: the number of its entry and its format."""
    return block.userState(), block.blockFormat()


def carry(block: QTextBlock, kept: Carried) -> None:
    """Give a block what another one carried."""
    QTextCursor(block).setBlockFormat(kept[1])
    block.setUserState(kept[0])
