"""What one can do with an open transcript, above its text: search it, walk through it, copy, unfold."""

from __future__ import annotations

from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from reverie.ui.buttons import FitPushButton
from reverie.ui.flow import FlowLayout
from reverie.ui.search_field import SearchField
from reverie.ui.theme import GAP


class ReaderBar(QWidget):
    """The controls alone; what they do is the view's."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search = SearchField(self.tr("Search this transcript"))
        self.back = self._button("↑", self.tr("Previous place with these words (Shift+F3)"))
        self.forth = self._button("↓", self.tr("Next place with these words (F3)"))
        self.prompt_back = self._button(
            self.tr("&Previous prompt"), self.tr("What was typed before this (Ctrl+Up)")
        )
        self.prompt_forth = self._button(
            self.tr("&Next prompt"), self.tr("What was typed after this (Ctrl+Down)")
        )
        self.to_start = self._button(self.tr("&Beginning"), self.tr("The first entry (Ctrl+Home)"))
        self.to_end = self._button(
            self.tr("&End"), self.tr("The last entry; new ones are followed (Ctrl+End)")
        )
        self.copy = self._button(self.tr("Cop&y entry"), self.tr("The entry the caret is in, as it stands"))
        self.unfold = QCheckBox(self.tr("&Unfold all"))
        self.back.setAccessibleName(self.tr("Previous place"))
        self.forth.setAccessibleName(self.tr("Next place"))
        row = FlowLayout(gap=GAP)
        for widget in (
            *(self.search, self.back, self.forth, self.prompt_back, self.prompt_forth),
            *(self.to_start, self.to_end, self.copy, self.unfold),
        ):
            row.addWidget(widget)
        self.search.setMinimumWidth(200)
        for button in (self.back, self.forth):
            button.setFixedWidth(34)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addLayout(row)

    def follow(self, *, there: bool) -> None:
        """Enabled is what can be done; `there`: a transcript is shown."""
        for button in (self.prompt_back, self.prompt_forth, self.to_start, self.to_end, self.copy):
            button.setEnabled(there)
        for button in (self.back, self.forth):
            button.setEnabled(there and bool(self.search.text()))
        for control in (self.search, self.unfold):
            control.setEnabled(there)

    @staticmethod
    def _button(text: str, tip: str) -> FitPushButton:
        made = FitPushButton()
        made.say(text, tip)
        made.setAutoDefault(False)  # Enter in a list or in the text is not for a button
        return made
