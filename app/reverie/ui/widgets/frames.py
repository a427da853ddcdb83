"""Frames that views fill: tabs of several parts or with a page that says why there is nothing, and the
heading above the trees.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QListView,
    QMessageBox,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from reverie.ui.appearance import GAP, MARGIN, UNIT, Icons, theme_of
from reverie.ui.widgets.controls import ElidedLabel, WrapLabel, embolden, flat_button
from reverie.ui.widgets.layouts import FlowLayout, column, row_of, split, stacked
from reverie.ui.widgets.message_bar import MessageBar

_NARROWEST = 320


class TabPage(QWidget):
    """`shown()`: it came to the front."""

    shown = Signal()

    def minimumSizeHint(self) -> QSize:
        return QSize(_NARROWEST, super().minimumSizeHint().height())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


class Heading(QWidget):
    """Title and a dim line below it at the left, flat buttons at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ElidedLabel()
        self.below = ElidedLabel()
        embolden(self.title, 1.15)
        texts = column(None, self.title, self.below, margin=0, gap=0)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(0)
        row_of(texts, self._buttons, holder=self, grows=texts, margin=(MARGIN, GAP, GAP, GAP))
        self._tint()

    def set_actions(self, actions: Sequence[QAction]) -> None:
        for action in actions:
            self._buttons.addWidget(flat_button(action))

    def say(self, title: str, below: str) -> None:
        self.title.say(title)
        self.below.say(below)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        dim = theme_of(self.palette()).dim_window
        if hasattr(self, "below") and self.below.palette().color(QPalette.ColorRole.WindowText) != dim:
            palette = self.below.palette()
            palette.setColor(QPalette.ColorRole.WindowText, dim)
            self.below.setPalette(palette)


def message_box(
    parent: QWidget | None, icon: QMessageBox.Icon, title: str, text: str, more: str
) -> QMessageBox:
    """A question with plain text, `more` of it below; the caller adds the buttons."""
    box = QMessageBox(parent)
    box.setIcon(icon)
    box.setWindowTitle(title)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setText(text)
    box.setInformativeText(more)
    return box


class EmptyPage(QWidget):
    """A title and a sentence where there is nothing else."""

    def __init__(self, icons: Icons, sign: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._sign_name = sign
        self._sign = QLabel()
        self._sign.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.title = WrapLabel()
        embolden(self.title, 1.3)
        self.sentence = WrapLabel()
        self.title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        outer = column(self, margin=(MARGIN * 2, MARGIN, MARGIN * 2, MARGIN), gap=GAP + UNIT)
        outer.addStretch(2)
        outer.addWidget(self._sign)
        outer.addWidget(self.title)
        outer.addWidget(self.sentence)
        outer.addStretch(3)
        self._tint()

    def say(self, title: str, sentence: str) -> None:
        self.title.say(title)
        self.sentence.say(sentence)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_sign"):
            self._tint()

    def _tint(self) -> None:
        theme = theme_of(self.palette())
        self._sign.setPixmap(
            self._icons.pixmap(self._sign_name, 48, theme.dim_window, self.devicePixelRatioF())
        )


class PartTab(TabPage):
    """Subclasses call `lay_out` once, and `turn_to` what is to be seen: `blank` at first, since nobody has
    looked, `nothing` or `page`."""

    def __init__(self, icons: Icons, name: str, sign: str, parent: QWidget | None = None) -> None:
        """`name`: of the message; `sign`: the icon of the page for nothing."""
        super().__init__(parent)
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.message = MessageBar(icons, name)
        self.bar = QTabBar()
        self.bar.setDrawBase(False)
        self.bar.setExpanding(False)
        self.bar.setUsesScrollButtons(True)
        self.nothing = EmptyPage(icons, sign)
        self.blank, self.page = QWidget(), QWidget()
        self._pages = stacked(self.blank, self.nothing, self.page)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        # Above every page: what could not be read at the first look is said, too.
        whole.addWidget(self.message)
        whole.addWidget(self._pages, 1)

    def lay_out(
        self,
        head: Sequence[QWidget],
        below: Sequence[QWidget],
        buttons: Sequence[QWidget],
        rows: QListView,
        selected: QWidget,
        sizes: tuple[int, int],
    ) -> None:
        """`head` stands below the title, `below` and `buttons` below the bar; `sizes`: of the rows and of
        what is selected."""
        above = column(None, self.title, *head, margin=(MARGIN, MARGIN, MARGIN, UNIT), gap=UNIT)
        under = column(None, margin=(MARGIN, UNIT, MARGIN, UNIT), gap=UNIT)
        for part in below:
            under.addWidget(part)
        row = FlowLayout()
        for button in buttons:
            row.addWidget(button)
        under.addLayout(row)
        rows.setFrameShape(QListView.Shape.NoFrame)
        self.splitter = split(rows, selected, sizes=sizes, upright=True)
        column(self.page, above, self.bar, under, self.splitter, grows=self.splitter, margin=0, gap=0)

    def turn_to(self, page: QWidget) -> None:
        """The page below the rows: a part, or why there is none."""
        self._pages.setCurrentWidget(page)
