"""Two memories beside each other: lines that differ are tinted, the words that differ marked, both sides
scroll as one. Read-only; what hides in a text is shown escaped."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Slot
from PySide6.QtGui import QColor, QTextCursor, QTextFormat
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QTextEdit, QWidget

from reverie.text.tokens import utf16_length
from reverie.ui.memory.duplicates.alignment import Row, Side
from reverie.ui.shown import visible
from reverie.ui.theme import UNIT, monospace, theme_of


class SideBySide(QWidget):
    """Give it rows with `show_rows`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.left = _Half()
        self.right = _Half()
        self.left.setAccessibleName(self.tr("The first memory"))
        self.right.setAccessibleName(self.tr("The second memory"))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(UNIT)
        row.addWidget(self.left, 1)
        row.addWidget(self.right, 1)
        self._rows: tuple[Row, ...] = ()
        for here, there in ((self.left, self.right), (self.right, self.left)):
            here.verticalScrollBar().valueChanged.connect(there.verticalScrollBar().setValue)
            here.horizontalScrollBar().valueChanged.connect(there.horizontalScrollBar().setValue)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    def show_rows(self, rows: Sequence[Row]) -> None:
        """The two sides of each row beside each other; what differs is tinted."""
        self._rows = tuple(rows)
        self.left.show_sides([(row.left, row.same) for row in rows])
        self.right.show_sides([(row.right, row.same) for row in rows])
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_rows"):
            self._tint()

    @Slot()
    def _tint(self) -> None:
        theme = theme_of(self.palette())
        self.left.tint(theme.removed_back, theme.removed)
        self.right.tint(theme.added_back, theme.added)


class _Half(QPlainTextEdit):
    """One side; rows keep their place, so lines do not wrap."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setFont(monospace())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self._sides: list[tuple[Side, bool]] = []

    def show_sides(self, sides: Sequence[tuple[Side, bool]]) -> None:
        self._sides = list(sides)
        self.setPlainText("\n".join(_shown(side.text) for side, _same in sides))

    def tint(self, back: QColor, mark: QColor) -> None:
        selections = []
        strong = QColor(mark)
        strong.setAlpha(45)
        for number, (side, same) in enumerate(self._sides):
            if same or not side.number:
                continue
            block = self.document().findBlockByNumber(number)
            line = QTextEdit.ExtraSelection()
            line.format.setBackground(back)
            line.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            line.cursor = QTextCursor(block)
            selections.append(line)
            for start, end in side.spans:
                if end - start >= len(side.text):
                    continue
                word = QTextEdit.ExtraSelection()
                word.format.setBackground(strong)
                word.format.setFontUnderline(True)
                word.cursor = QTextCursor(block)
                at = block.position()
                word.cursor.setPosition(at + utf16_length(_shown(side.text[:start])))
                word.cursor.setPosition(
                    at + utf16_length(_shown(side.text[:end])), QTextCursor.MoveMode.KeepAnchor
                )
                selections.append(word)
        self.setExtraSelections(selections)


def _shown(text: str) -> str:
    """One line, with its tabs."""
    return "\t".join(visible(cell) for cell in text.split("\t"))
