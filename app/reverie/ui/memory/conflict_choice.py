"""The choice beside a place that both sides changed: what stands on disk, and whose lines to keep.

A card over the text, below the lines it is about (above them where there is no room), so that both sides are
seen at once: mine in the text, theirs on the card. It goes along when the text scrolls.

Threading: GUI thread. It decides nothing itself: `chosen` tells what was pressed.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QKeyEvent, QPainter, QPaintEvent, QPalette, QWheelEvent
from PySide6.QtWidgets import QApplication, QHBoxLayout, QPlainTextEdit, QToolButton, QVBoxLayout, QWidget

from reverie.ui.buttons import FitPushButton
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.co_editing import Conflict
from reverie.ui.memory.source_view import SourceView
from reverie.ui.shown import visible_lines
from reverie.ui.theme import GAP, UNIT, monospace, theme_of

_MOST_LINES = 6
_MOST_CHARS = 20_000
_WIDEST = 720


class ConflictChoice(QWidget):
    """`chosen(str)`: mine, theirs or both. `step(int)`: to the next (1) or the previous (-1) conflict.
    `left()`: back to the text."""

    chosen = Signal(str)
    step = Signal(int)
    left = Signal()

    def __init__(self, view: SourceView, icons: Icons) -> None:
        super().__init__(view)
        # The view's own font is that of code; sentences and buttons are not.
        self.setFont(QApplication.font())
        self._view = view
        self._icons = icons
        self._conflict: Conflict | None = None
        self._sentences = ("", "")
        self.setAccessibleName(self.tr("Conflict"))
        self.title = WrapLabel()
        self.theirs = QPlainTextEdit()
        self.theirs.setReadOnly(True)
        self.theirs.setAccessibleName(self.tr("What stands on disk"))
        self.theirs.setTabChangesFocus(True)
        self.theirs.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.theirs.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
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
        head = QHBoxLayout()
        head.setSpacing(UNIT)
        head.addWidget(self.title, 1)
        head.addWidget(self.previous)
        head.addWidget(self.next)
        row = FlowLayout(gap=GAP)
        for key, label, tip in (
            ("mine", self.tr("Keep &mine"), self.tr("Your lines stay, theirs are left out (F9)")),
            (
                "theirs",
                self.tr("Take &theirs"),
                self.tr("Their lines replace yours; Ctrl+Z asks again (Shift+F9)"),
            ),
            ("both", self.tr("Keep &both"), self.tr("Your lines, then theirs (Ctrl+F9)")),
        ):
            button = FitPushButton()
            button.setObjectName(key)
            button.say(label, tip)
            button.clicked.connect(self._on_button)
            self.buttons[key] = button
            row.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(GAP, UNIT + 2, GAP, GAP)
        column.setSpacing(UNIT)
        column.addLayout(head)
        column.addWidget(self.theirs)
        column.addLayout(row)

    # What is shown

    @property
    def conflict(self) -> Conflict | None:
        return self._conflict

    def show_conflict(self, conflict: Conflict, number: int, count: int) -> None:
        """Offer the choice for the `number`-th of `count` conflicts."""
        self._conflict = conflict
        where = self.tr("Conflict {number} of {count}.").format(number=number, count=count)
        if not conflict.theirs:
            what = self.tr("These lines were deleted on disk.")
        elif not conflict.mine:
            what = self.tr("You deleted these lines; on disk they are:")
        else:
            what = self.tr("You changed these lines; on disk they are:")
        self._sentences = (f"{where} {what}", f"{where} {self.tr('Compare shows both sides.')}")
        self.title.say(self._sentences[0])
        text = visible_lines("\n".join(conflict.theirs)[:_MOST_CHARS])
        if self.theirs.toPlainText() != text:
            self.theirs.setPlainText(text)
        for button in (self.previous, self.next):
            button.setVisible(count > 1)
        self.place()

    def clear(self) -> None:
        """There is nothing to choose."""
        if self.isAncestorOf(self.focusWidget() or self._view):
            self.left.emit()
        self._conflict = None
        self.hide()

    def focus_choice(self) -> None:
        """To the buttons, by keyboard."""
        self.buttons["mine"].setFocus(Qt.FocusReason.ShortcutFocusReason)

    # Place

    @Slot()
    def place(self) -> None:
        """Stand below the lines, or above them; not at all while they are out of sight."""
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

    def _bottom(self, conflict: Conflict) -> int:
        """Where the last line of the place ends, in the viewport."""
        if conflict.at.end < self._view.blockCount():
            return self._view.block_top(conflict.at.end)
        last = self._view.document().lastBlock()
        height = self._view.blockBoundingRect(last).height()
        return self._view.block_top(last.blockNumber()) + round(height)

    def _size(self, port: QSize) -> QSize:
        """As many rows of theirs as there is room for; none in the smallest windows."""
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
        """How many rows theirs takes once its lines are broken at the edge."""
        one = max(1, (width - 4 * GAP) // max(1, QFontMetrics(self.theirs.font()).horizontalAdvance("m")))
        conflict = self._conflict
        return sum(1 + len(line) // one for line in (conflict.theirs if conflict is not None else ()))

    # Events

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
