"""The text of a transcript: entries below each other, each with a line that says who and when; tool calls,
reasoning and what the agent put in are folded to that line.

What is folded is not in the document, so a long transcript costs what is shown of it. `reader_blocks` knows
where an entry stands in it. Texts are untrusted: plain, and made safe by `entries`.

Threading: GUI thread; no file is read here.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from reverie.transcripts.reading import Message
from reverie.ui.theme import UNIT, theme_of
from reverie.ui.transcripts.entries import CLOSED, OPEN, EntryStyle
from reverie.ui.transcripts.reader_blocks import EntryBlocks, begins, carried, carry, goes_on

_STRIPE = 3
_MARGIN = 14
_WHOLE = (Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Up, Qt.Key.Key_Down)
_FLAGS = Qt.TextInteractionFlag


class ReaderText(QPlainTextEdit):
    """Shows a run of messages without a gap; read only, the caret walks through it. `near_start()`,
    `near_end()`: scrolled to where more is wanted. `toggled(int)`: an entry was folded or unfolded."""

    near_start = Signal()
    near_end = Signal()
    toggled = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages: list[Message] = []
        self._unfolded: set[int] = set()
        self._folded: set[int] = set()
        self._all = False
        self._telling = True
        self._marked = -1
        self._blocks = EntryBlocks(self.document())
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setTextInteractionFlags(_FLAGS.TextSelectableByMouse | _FLAGS.TextSelectableByKeyboard)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName(self.tr("Transcript"))
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(_MARGIN)
        self._style()
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    # What is shown

    @property
    def messages(self) -> Sequence[Message]:
        return self._messages

    @property
    def first(self) -> int:
        """The number of the first entry shown; 0 where none is."""
        return self._messages[0].number if self._messages else 0

    @property
    def end(self) -> int:
        """The number behind the last entry shown."""
        return self._messages[-1].number + 1 if self._messages else 0

    def holds(self, number: int) -> bool:
        """Whether the entry of this number is among those read so far."""
        return bool(self._messages) and self.first <= number < self.end

    def message(self, number: int) -> Message:
        """The entry of this number; it must be held."""
        return self._messages[number - self.first]

    def show_messages(self, messages: Sequence[Message]) -> None:
        """These and no others, from the top."""
        self._telling = False
        self._messages = []
        self.clear()
        self._insert_at_end(messages)
        self.verticalScrollBar().setValue(0)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self._telling = True

    def forget(self) -> None:
        """Another transcript: what was folded or not there counts no more."""
        self._unfolded.clear()
        self._folded.clear()
        self._marked = -1
        self.show_messages(())

    def append(self, messages: Sequence[Message]) -> None:
        """What follows; nothing that is looked at moves."""
        self._telling = False
        place = self.verticalScrollBar().value()
        self._insert_at_end(messages)
        self.verticalScrollBar().setValue(place)
        self._telling = True

    def prepend(self, messages: Sequence[Message]) -> None:
        """What comes before; nothing that is looked at moves."""
        if not messages:
            return
        place = self._place()
        self._telling = False
        kept = carried(self.document().firstBlock())
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        cursor.insertBlock()
        cursor.setPosition(0)
        for number, message in enumerate(messages):
            if number:
                cursor.insertBlock()
            self._insert(cursor, message)
        cursor.endEditBlock()
        carry(cursor.block().next(), kept)
        self._messages[:0] = messages
        self._return_to(place)
        self._telling = True

    def replace_from(self, number: int, messages: Sequence[Message]) -> None:
        """What stands from `number` on is other now."""
        self._telling = False
        place = self.verticalScrollBar().value()
        self._remove(number, self.end)
        self._insert_at_end(messages)
        self.verticalScrollBar().setValue(place)
        self._telling = True

    def drop_before(self, number: int) -> None:
        """Let go of what comes before an entry."""
        place = self._place()
        self._telling = False
        self._remove(self.first, number)
        self._return_to(place)
        self._telling = True

    # Folding

    def is_unfolded(self, message: Message) -> bool:
        """Whether it shows its whole text now, by its kind and what a person folded."""
        if not message.folded:
            return message.number not in self._folded
        return message.number in self._unfolded or (self._all and message.number not in self._folded)

    def toggle(self, number: int) -> None:
        """Fold an entry, or unfold it."""
        message = self.message(number)
        self._set_unfolded(message, not self.is_unfolded(message))
        self.toggled.emit(number)

    def unfold(self, number: int) -> None:
        """Show the whole text of an entry."""
        message = self.message(number)
        if not self.is_unfolded(message):
            self._set_unfolded(message, True)

    def unfold_all(self, wanted: bool) -> None:
        """Everything unfolded, or folded as at first."""
        self._all = wanted
        self._unfolded.clear()
        self._folded.clear()
        self._show_anew()

    def _set_unfolded(self, message: Message, wanted: bool) -> None:
        own, other = (self._unfolded, self._folded) if wanted else (self._folded, self._unfolded)
        own.add(message.number)
        other.discard(message.number)
        place, cursor = self.verticalScrollBar().value(), self._cursor_of(message.number)
        self._telling = False
        self._write_over(cursor, message)
        self.verticalScrollBar().setValue(place)
        self._telling = True
        caret = self.textCursor()
        caret.setPosition(self._blocks.first_of(message.number).position())
        self.setTextCursor(caret)

    # Places

    def current(self) -> int:
        """The number of the entry the caret is in."""
        return max(self.first, self.textCursor().block().userState())

    def go_to(self, number: int) -> None:
        """The caret at the beginning of an entry, which is scrolled near the top."""
        block = self._blocks.first_of(number)
        caret = self.textCursor()
        caret.setPosition(block.position())
        self.setTextCursor(caret)
        self.verticalScrollBar().setValue(max(0, block.firstLineNumber() - 1))

    def go_to_end(self) -> None:
        self.moveCursor(QTextCursor.MoveOperation.End)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @property
    def at_bottom(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 1

    def mark(self, needle: str, number: int, *, back: bool = False) -> bool:
        """Show the words in one entry, and all of them coloured; False if they are not in it (any more in
        that direction)."""
        flags = QTextDocument.FindFlag.FindBackward if back else QTextDocument.FindFlag(0)
        block = self._blocks.first_of(number)
        caret = self.textCursor()
        inside = caret.block().userState() == number and self._marked == number
        if not inside:
            caret.setPosition(self._cursor_of(number).selectionEnd() if back else block.position())
        found = self.document().find(needle, caret, flags)
        if found.isNull() or found.block().userState() != number:
            return False
        self._marked = number
        self.setTextCursor(found)
        self.ensureCursorVisible()
        self._colour(needle)
        return True

    def unmark(self) -> None:
        self._marked = -1
        self.setExtraSelections([])

    # Writing

    def _insert_at_end(self, messages: Sequence[Message]) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        for message in messages:
            if self._messages:
                cursor.insertBlock()
            self._messages.append(message)
            self._insert(cursor, message)
        cursor.endEditBlock()

    def _insert(self, cursor: QTextCursor, message: Message) -> None:
        """One entry from the cursor on, which stands in an empty block."""
        lines = self._entries.lines(message, unfolded=self.is_unfolded(message))
        self._blocks.write(cursor, message.number, lines)

    def _write_over(self, cursor: QTextCursor, message: Message) -> None:
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        self._insert(cursor, message)
        cursor.endEditBlock()

    def _remove(self, start: int, end: int) -> None:
        """Let go of the entries from `start` to before `end`."""
        if start >= end or not self._messages:
            return
        first = self.first
        self._blocks.remove(start, end if end < self.end else None)
        del self._messages[start - first : end - first]

    # Places on screen

    def _cursor_of(self, number: int) -> QTextCursor:
        """A cursor that selects an entry, without the break behind it."""
        return self._blocks.select(number, last=number + 1 >= self.end)

    def _place(self) -> tuple[int, int]:
        """The entry at the top, and how many lines of it are above."""
        block = self.firstVisibleBlock()
        number = block.userState()
        top = self.verticalScrollBar().value()
        return number, top - self._blocks.first_of(number).firstLineNumber() if self.holds(number) else 0

    def _return_to(self, place: tuple[int, int]) -> None:
        number, lines = place
        if self.holds(number):
            self.verticalScrollBar().setValue(self._blocks.first_of(number).firstLineNumber() + lines)

    def _on_scrolled(self, value: int) -> None:
        if not self._telling or not self._messages:
            return
        bar = self.verticalScrollBar()
        if value >= bar.maximum() - bar.pageStep():
            self.near_end.emit()
        if value <= bar.pageStep():
            self.near_start.emit()

    # Keys and mouse

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._messages:
            self.toggle(self.current())
            return
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.key() in _WHOLE:
            event.ignore()  # these go through the whole transcript, of which this is a part
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        cursor = self.cursorForPosition(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            block = cursor.block()
            if begins(block) and block.text().startswith((CLOSED, OPEN)):
                self.toggle(block.userState())

    # Colours

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_entries"):
            self._style()
            self._show_anew()

    def _show_anew(self) -> None:
        """The same messages, written again."""
        current, messages = self.current(), list(self._messages)
        self.unmark()
        if messages:
            self.show_messages(messages)
            self.go_to(current)

    def _style(self) -> None:
        self._entries = EntryStyle(self.palette())

    def _colour(self, needle: str) -> None:
        """Every occurrence that is on screen or near it."""
        theme = theme_of(self.palette())
        found: list[QTextEdit.ExtraSelection] = []
        cursor = QTextCursor(self._blocks.first_of(self._marked))
        end = self._cursor_of(self._marked).selectionEnd()
        while len(found) < 200:
            cursor = self.document().find(needle, cursor)
            if cursor.isNull() or cursor.position() > end:
                break
            each = QTextEdit.ExtraSelection()
            each.cursor, each.format = cursor, QTextCharFormat()
            each.format.setBackground(theme.warn_back)
            found.append(each)
        self.setExtraSelections(found)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        block = self.firstVisibleBlock()
        while block.isValid():
            area = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if area.top() > event.rect().bottom():
                break
            number = block.userState()
            if self.holds(number):
                message = self.message(number)
                color = self._entries.stripe(message)
                if color is not None and (block.text() or goes_on(block)):
                    stripe = QRect(UNIT, int(area.top()), _STRIPE, int(area.height()) + 1)
                    painter.fillRect(stripe, QColor(color))
            block = block.next()
