"""What stands above the trees (which workspace this is, the usual buttons), and the page for when there is
none."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from reverie.ui.icons import Icons
from reverie.ui.labels import ElidedLabel, WrapLabel, embolden
from reverie.ui.theme import GAP, MARGIN, UNIT, theme_of


class Heading(QWidget):
    """Title and a dim line below it at the left, flat buttons at the right."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.title = ElidedLabel()
        self.below = ElidedLabel()
        embolden(self.title, 1.15)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        texts.addWidget(self.title)
        texts.addWidget(self.below)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(0)
        row = QHBoxLayout(self)
        row.setContentsMargins(MARGIN, GAP, GAP, GAP)
        row.setSpacing(GAP)
        row.addLayout(texts, 1)
        row.addLayout(self._buttons)
        self._tint()

    def set_actions(self, actions: Sequence[QAction]) -> None:
        for action in actions:
            button = QToolButton()
            button.setDefaultAction(action)
            button.setAutoRaise(True)
            button.setAccessibleName(action.text().replace("&", ""))
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            self._buttons.addWidget(button)

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


class EmptyPage(QWidget):
    """A title, a sentence and what one can do about it."""

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
        centred = QHBoxLayout()
        centred.addStretch(1)
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(GAP)
        centred.addLayout(self._buttons)
        centred.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN * 2, MARGIN, MARGIN * 2, MARGIN)
        outer.setSpacing(GAP + UNIT)
        outer.addStretch(2)
        outer.addWidget(self._sign)
        outer.addWidget(self.title)
        outer.addWidget(self.sentence)
        outer.addLayout(centred)
        outer.addStretch(3)
        self._tint()

    def say(self, title: str, sentence: str) -> None:
        self.title.say(title)
        self.sentence.say(sentence)

    def set_actions(self, actions: Sequence[QAction]) -> None:
        """Push buttons for actions; they follow the actions' text and state."""
        for action in actions:
            button = QToolButton()
            button.setDefaultAction(action)
            button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            button.setAccessibleName(action.text().replace("&", ""))
            self._buttons.addWidget(button)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_sign"):
            self._tint()

    def _tint(self) -> None:
        theme = theme_of(self.palette())
        self._sign.setPixmap(
            self._icons.pixmap(self._sign_name, 48, theme.dim_window, self.devicePixelRatioF())
        )
