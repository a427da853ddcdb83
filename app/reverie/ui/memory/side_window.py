"""A window that stays open beside the main one: something to choose from at the left, what it says at the
right, a message, and Close."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLayout, QPushButton, QWidget

from reverie.ui.columns import column
from reverie.ui.icons import Icons
from reverie.ui.memory.bars import MessageBar
from reverie.ui.panes import Panes


class SideWindow(QDialog):
    """Subclasses make the panes and hand them to `lay_out`, before they are shown."""

    splitter: Panes

    def __init__(self, icons: Icons, name: str, parent: QWidget | None, *, closable: bool = True) -> None:
        """`name`: of the message; `closable`: it can be put away."""
        super().__init__(parent)
        self.message = MessageBar(icons, name, closable=closable)

    def lay_out(self, panes: Panes, *above: QWidget | QLayout) -> QPushButton:
        """What stands above the panes, the panes, and the button that is returned: Close."""
        self.splitter = panes
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column(self, *above, panes, buttons, grows=panes)
        return buttons.button(QDialogButtonBox.StandardButton.Close)

    def follow(self) -> None:
        """The history took something in while the window is open; by itself it shows nothing of that."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())
