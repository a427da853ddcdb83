"""The card beside a conflict, with the lines on disk and buttons to choose which lines to keep.

Threading: GUI thread. The card changes no text; the signal `chosen` reports which button was clicked.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPalette, QWheelEvent
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QToolButton, QWidget

from reverie.text.text_merge import MergeConflict
from reverie.ui.appearance import GAP, UNIT, monospace, theme_of
from reverie.ui.display_text import visible_lines
from reverie.ui.editor.source_view import SourceView
from reverie.ui.icons import Icons
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column, row_of
from reverie.ui.widgets.text_views import read_only_text

_MOST_LINES = 6


MOST_ROWS, _MOST_CHARS = 500, 20_000


_WIDEST = 720


class ConflictChoice(QWidget):
    """A card beside a conflict: the lines on disk ("theirs"), and buttons to keep mine, theirs or both.

    A conflict is a place that the user and another program have changed differently. The card covers the text
    below the conflict, or above it if there is no room below. So the user's lines are visible in the text,
    and the lines on disk on the card. The card moves when the text scrolls.

    Signals:
        chosen(str): A button was clicked: "mine", "theirs" or "both".
        step(int): Go to the next (1) or the previous (-1) conflict.
        left(): The focus should go back to the text.
    """

    chosen = Signal(str)
    step = Signal(int)
    left = Signal()

    def __init__(self, view: SourceView, icons: Icons) -> None:
        super().__init__(view)
        # The view's font is for code, not for sentences and buttons.
        self.setFont(QApplication.font())
        self._view = view
        self._icons = icons
        self._conflict: MergeConflict | None = None
        self._sentences = ("", "")
        self.setAccessibleName(self.tr("Conflict"))
        self.title = WrapLabel()
        self.theirs = read_only_text(self.tr("Version on disk"))
        self.theirs.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.previous = self._arrow(Qt.ArrowType.UpArrow, self.tr("Previous conflict (Shift+F8)"))
        self.next = self._arrow(Qt.ArrowType.DownArrow, self.tr("Next conflict (F8)"))
        self.buttons: dict[str, FitPushButton] = {}
        self._lay_out()
        self._tint()
        self.hide()
        view.geometry_changed.connect(self.place)
        view.installEventFilter(self)

    def _arrow(self, arrow: Qt.ArrowType, name: str) -> QToolButton:
        made = QToolButton()
        made.setArrowType(arrow)
        made.setAutoRaise(True)
        made.setAccessibleName(name)
        made.setToolTip(name)
        made.clicked.connect(self._on_arrow)
        return made

    def _lay_out(self) -> None:
        head = row_of(self.title, self.previous, self.next, grows=self.title, gap=UNIT)
        row = FlowLayout()
        mine = self.tr("Keep your lines and discard the lines on disk (F9)")
        theirs = self.tr("Replace your lines with the lines on disk; Ctrl+Z undoes this (Shift+F9)")
        both = self.tr("Keep your lines, followed by the lines on disk (Ctrl+F9)")
        for key, label, tip in (
            ("mine", self.tr("Use &mine"), mine),
            ("theirs", self.tr("Use &theirs"), theirs),
            ("both", self.tr("Use &both"), both),
        ):
            self.buttons[key] = button = FitPushButton(label, tip, clicked=self._on_button)
            button.setObjectName(key)
            row.addWidget(button)
        column(self, head, self.theirs, row, margin=(GAP, UNIT + 2, GAP, GAP), gap=UNIT)

    @property
    def conflict(self) -> MergeConflict | None:
        return self._conflict

    def show_conflict(self, conflict: MergeConflict, number: int, count: int) -> None:
        """Show `conflict` on the card, as number `number` (counted from 1) of `count` conflicts."""
        self._conflict = conflict
        where = self.tr("Conflict {number} of {count}.").format(number=number, count=count)
        if not conflict.theirs:
            what = self.tr("These lines were deleted on disk.")
        elif not conflict.mine:
            what = self.tr("You deleted these lines. The version on disk is:")
        else:
            what = self.tr("You changed these lines. The version on disk is:")
        self._sentences = (f"{where} {what}", f"{where} {self.tr('Press Compare to see both versions.')}")
        self.title.say(self._sentences[0])
        text = visible_lines("\n".join(conflict.theirs[:MOST_ROWS])[:_MOST_CHARS])
        if self.theirs.content != text:
            self.theirs.setPlainText(text)
        for button in (self.previous, self.next):
            button.setVisible(count > 1)
        self.place()

    @property
    def has_focus(self) -> bool:
        """True if the card has the focus.

        `QWidget.focusWidget` cannot be used: it returns the child that had the focus last, even if the focus
        has left the card.
        """
        return self.isAncestorOf(QApplication.focusWidget() or self._view)

    def clear(self) -> None:
        """Hide the card and forget its conflict; if the card has the focus, emit `left`."""
        if self.has_focus:
            self.left.emit()
        self._conflict = None
        self.hide()

    def focus_choice(self) -> None:
        """Move the keyboard focus to the first button."""
        self.buttons["mine"].setFocus(Qt.FocusReason.ShortcutFocusReason)

    @Slot()
    def place(self) -> None:
        """Move the card below or above the conflict's lines; hide it while they are scrolled out of view."""
        conflict, view = self._conflict, self._view
        if conflict is None or not view.viewport().width():
            return
        port = view.viewport().geometry()
        top = view.block_top(conflict.at.start)
        bottom = self._bottom(conflict)
        if bottom < 0 or top > port.height():
            self.hide()
            return
        size = self._size(port.size())
        place = bottom + 2
        if place + size.height() > port.height():
            above = top - size.height() - 2
            place = above if above >= 0 else port.height() - size.height()
        self.setGeometry(QRect(port.topLeft() + QPoint(UNIT, max(0, place)), size))
        self.show()
        self.raise_()

    def _bottom(self, conflict: MergeConflict) -> int:
        """Return the y coordinate of the bottom of a conflict's last line, in pixels of the viewport."""
        if conflict.at.end < self._view.blockCount():
            return self._view.block_top(conflict.at.end)
        last = self._view.document().lastBlock()
        height = self._view.blockBoundingRect(last).height()
        return self._view.block_top(last.blockNumber()) + round(height)

    def _size(self, port: QSize) -> QSize:
        """Return the size of the card, with as many of the lines on disk as fit into the viewport.

        `port` is the size of the viewport. In a very small window the card shows none of the lines.
        """
        width = min(_WIDEST, port.width() - 2 * UNIT)
        row = QFontMetrics(self.theirs.font()).lineSpacing()
        margin = round(2 * self.theirs.document().documentMargin()) + 2
        height = 0
        for rows in range(min(_MOST_LINES, self._rows(width)), -1, -1):
            self.theirs.setVisible(rows > 0)
            self.title.say(self._sentences[1 if self._rows(width) and not rows else 0])
            self.theirs.setFixedHeight(rows * row + margin)
            height = self._height(width)
            if height <= port.height():
                break
        return QSize(width, min(height, port.height()))

    def _height(self, width: int) -> int:
        layout = self.layout()
        if layout is None:
            return 0
        layout.invalidate()
        return layout.totalHeightForWidth(width)

    def _rows(self, width: int) -> int:
        """Estimate how many rows the lines on disk need on a card that is `width` pixels wide and wraps them.

        Only the first `_MOST_LINES` lines of the shown conflict count; 0 if there is no conflict.
        """
        one = max(1, (width - 4 * GAP) // max(1, QFontMetrics(self.theirs.font()).horizontalAdvance("m")))
        conflict = self._conflict
        return sum(1 + len(line) // one for line in (conflict.theirs[:_MOST_LINES] if conflict else ()))

    @Slot()
    def _on_button(self) -> None:
        self.chosen.emit(self.sender().objectName())

    @Slot()
    def _on_arrow(self) -> None:
        self.step.emit(1 if self.sender() is self.next else -1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
            event.accept()
        else:
            super().keyPressEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._view.wheelEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FontChange and watched is self._view:
            self._tint()
            self.place()
        return super().eventFilter(watched, event)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "buttons"):
            self._tint()

    def _tint(self) -> None:
        theme = theme_of(self._view.palette())
        self.theirs.setFont(monospace() if self._view.font().pointSizeF() <= 0 else self._view.font())
        palette = self.theirs.palette()
        if palette.color(QPalette.ColorRole.Base) != theme.accent_back:
            palette.setColor(QPalette.ColorRole.Base, theme.accent_back)
            palette.setColor(QPalette.ColorRole.Text, theme.text)
            self.theirs.setPalette(palette)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self._view.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.bad)
        painter.setBrush(theme.window)
        painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), UNIT, UNIT)
