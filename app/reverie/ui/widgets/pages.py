"""Pages that views fill: a page of a tab widget, a heading, a page for the case that there is no content.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QWidget

from reverie.ui.appearance import GAP, MARGIN, UNIT, theme_of
from reverie.ui.display_text import as_tooltip
from reverie.ui.icons import Icons
from reverie.ui.widgets.controls import (
    ElidedLabel,
    FitToolButton,
    WrapLabel,
    embolden,
    flat_button,
    tint,
)
from reverie.ui.widgets.layouts import column, row_of

_NARROWEST_PAGE = 320


class TabPage(QWidget):
    """A page of a tab widget.

    Signals:
        shown(): The page was brought to the front.
    """

    shown = Signal()

    def minimumSizeHint(self) -> QSize:
        return QSize(_NARROWEST_PAGE, super().minimumSizeHint().height())

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()


class Heading(QWidget):
    """A heading with a title, a dim line of text below it, and flat buttons at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ElidedLabel()
        self.below = ElidedLabel()
        embolden(self.title, 1.15)
        texts = column(None, self.title, self.below, margin=(GAP, 0, 0, 0), gap=0)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(0)
        row = row_of(texts, self._buttons, grows=texts)
        self._rows = column(self, row, margin=(UNIT, GAP, GAP, UNIT), gap=UNIT)
        self._tint()

    def set_actions(self, actions: Sequence[QAction], below: QAction) -> None:
        """Add a button for each of `actions`, and one with the text of `below` under the heading."""
        for action in actions:
            self._buttons.addWidget(flat_button(action))
        button = FitToolButton()
        button.setDefaultAction(below)
        button.setAutoRaise(True)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._rows.addWidget(button)

        def follow() -> None:
            button.setAccessibleName(below.iconText())
            button.setToolTip(as_tooltip(below.iconText(), below.toolTip()))

        below.changed.connect(follow)
        follow()

    def say(self, title: str, below: str) -> None:
        self.title.say(title)
        self.below.say(below)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._tint()

    def _tint(self) -> None:
        if hasattr(self, "below"):
            tint(self.below, theme_of(self.palette()).dim_window)


class EmptyPage(QWidget):
    """A page with a title and a sentence, for the case that there is no content."""

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
