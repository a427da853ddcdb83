"""A line to search with, whose button to empty it has a name, too."""

from __future__ import annotations

from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget


class SearchField(QLineEdit):
    """`what` is shown while it is empty, and is its accessible name."""

    def __init__(self, what: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setPlaceholderText(what)
        self.setAccessibleName(what)
        self.setClearButtonEnabled(True)
        for button in self.findChildren(QToolButton):
            button.setAccessibleName(self.tr("Clear"))
