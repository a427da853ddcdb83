"""A part of the context as it is loaded, with the lines one may want to look at on another ground. What they
are is said in words beside the list.

Lines are drawn as the window may draw them (`ui.shown`), which ends a line wherever Qt would, so that a line
of the text may be several here: all of them are marked.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent
from PySide6.QtGui import QTextCursor, QTextFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from reverie.ui.shown import visible_lines
from reverie.ui.theme import monospace, theme_of

SHOWN_CHARS = 400_000
_MARKED_LINES = 500


class LoadedText(QPlainTextEdit):
    """Read-only."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marked: list[int] = []
        self.setReadOnly(True)
        self.setFont(monospace())
        self.setAccessibleName(self.tr("The text as it is loaded"))
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setPlaceholderText(self.tr("Nothing is loaded."))

    @property
    def marked(self) -> list[str]:
        """The lines on another ground."""
        return [each.cursor.block().text() for each in self.extraSelections()]

    def show_text(self, text: str, marked: tuple[int, ...]) -> None:
        """`marked`: lines of `text`, from 1."""
        text = text[:SHOWN_CHARS]
        self.setPlainText(visible_lines(text))
        self._marked = _rows(text, marked[:_MARKED_LINES])
        self._mark()

    def _mark(self) -> None:
        found = []
        for row in self._marked:
            each = QTextEdit.ExtraSelection()
            each.format.setBackground(theme_of(self.palette()).warn_back)
            each.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            each.cursor = QTextCursor(self.document().findBlockByNumber(row))
            # All of a line that is wrapped.
            each.cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            found.append(each)
        self.setExtraSelections(found)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._marked:
            self._mark()


def _rows(text: str, marked: tuple[int, ...]) -> list[int]:
    """The rows, from 0, that these lines are shown on."""
    if not marked:
        return []
    found: list[int] = []
    wanted, row = set(marked), 0
    for number, line in enumerate(text.split("\n"), 1):
        count = max(1, len(line.splitlines()))
        if number in wanted:
            found += range(row, row + count)
        row += count
    return found
