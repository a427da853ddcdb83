"""The page of the settings for the extraction of rollouts: whether it runs at the start, how much of it, and
by whom."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.settings_draft import Extract
from reverie.ui.settings_page import ModelPage, Rows, number, switch


class ExtractPage(ModelPage):
    """Everything counts for an extraction by hand, too, so nothing is ever greyed out."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = switch(self.tr("&Extract new rollouts at the start"))
        self.what = WrapLabel(
            self.tr(
                "When the background services of a Codex home start, threads that went on become trace "
                "summaries, and those a handbook for each directory. Extract in the Consolidate menu does "
                "it by hand. Results can be reviewed and undone."
            )
        )
        self.rollouts = number(1, 128, self.tr("Rollouts that are extracted at once"))
        self.idle = number(
            0, 86_400, self.tr("Seconds that a rollout must have been left alone"), self.tr(" s")
        )
        self.model.setPlaceholderText(self.tr("what a consolidation uses"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty as for a consolidation"))
        self.time = number(
            1, 3_600, self.tr("Time limit for each rollout and each directory, in seconds"), self.tr(" s")
        )
        self._lay_out()
        self.switch.toggled.connect(self.changed)
        for field in (self.rollouts, self.idle, self.time):
            field.valueChanged.connect(self.changed)

    def _lay_out(self) -> None:
        self.lay_out(
            (
                (self.tr("&Rollouts at once"), self.rollouts),
                (self.tr("Le&ft alone for"), self.idle),
                (self.tr("Mode&l"), self.model),
                (self.tr("Stop each &after"), self.time),
            ),
            self.switch,
            self.what,
        )

    @property
    def rows(self) -> Rows:
        return {
            "extract.at_launch": (self.switch,),
            "extract.model": (self.model,),
            "extract.max_rollouts": (self.rollouts,),
            "extract.idle_seconds": (self.idle,),
            "extract.time_limit_s": (self.time,),
        }

    @property
    def value(self) -> Extract:
        return Extract(
            self.switch.isChecked(),
            self.model_name,
            self.rollouts.value(),
            self.idle.value(),
            self.time.value(),
        )

    def show_value(self, value: Extract) -> None:
        self.switch.setChecked(value.at_launch)
        self.model.setText(value.model)
        self.rollouts.setValue(value.max_rollouts)
        self.idle.setValue(value.idle_seconds)
        self.time.setValue(value.time_limit_s)
