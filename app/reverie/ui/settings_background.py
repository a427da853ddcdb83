"""The third page of the settings: what may run by itself in the home that is shown, and how much of it."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFormLayout, QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.settings_draft import Background
from reverie.ui.settings_page import Rows, SettingsPage, fill, number, switch

MOST_RUNS = 1000
MOST_TOKENS = 1_000_000_000
TOKENS_STEP = 50_000


class BackgroundPage(SettingsPage):
    """The budgets are for editing only while something may run. `home`: what the home that is shown is
    called, empty where none is open; then there is nothing to edit."""

    def __init__(self, home: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self.switch = switch(
            self.tr("&Consolidate {home} in the background").format(home=home)
            if home
            else self.tr("&Consolidate in the background")
        )
        self.what = WrapLabel(
            self.tr(
                "When a workspace is compacted or archived, and when Reverie starts. Whatever a run changes "
                "can be reviewed and undone, and what kept one from running is told."
            )
        )
        self.runs = number(0, MOST_RUNS, self.tr("Runs a day at most"))
        self.tokens = number(0, MOST_TOKENS, self.tr("Tokens a day at most"))
        self.tokens.setSingleStep(TOKENS_STEP)
        rows = (
            (self.tr("R&uns a day at most"), self.runs),
            (self.tr("&Tokens a day at most"), self.tokens),
        )
        without = WrapLabel(self.tr("Open a home to say what may run by itself in it."))
        self.stack(without, self.switch, self.what, fill(QFormLayout(), rows))
        without.setVisible(not home)
        self.switch.setEnabled(bool(home))
        self.switch.toggled.connect(self._on_switch)
        self.runs.valueChanged.connect(self.changed)
        self.tokens.valueChanged.connect(self.changed)
        self._on_switch(False)

    @property
    def rows(self) -> Rows:
        return {
            "background.*.enabled": (self.switch,),
            "background.*.runs_per_day": (self.runs,),
            "background.*.tokens_per_day": (self.tokens,),
        }

    @property
    def value(self) -> Background | None:
        if not self._home:
            return None
        return Background(self.switch.isChecked(), self.runs.value(), self.tokens.value())

    def show_value(self, value: Background) -> None:
        self.switch.setChecked(value.enabled)
        self.runs.setValue(value.runs_per_day)
        self.tokens.setValue(value.tokens_per_day)

    @Slot(bool)
    def _on_switch(self, on: bool) -> None:
        self.runs.setEnabled(on)
        self.tokens.setEnabled(on)
        self.changed.emit()
