"""The page of the settings for session notes: whether they are kept, by which thresholds, and by whom."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.settings_draft import Notes
from reverie.ui.settings_page import ModelPage, Rows, number, switch

MOST_TOKENS = 10_000_000
MOST_CALLS = 1_000
MOST_SECONDS = 3_600


class NotesPage(ModelPage):
    """The thresholds are for editing only while notes are kept."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = switch(self.tr("&Keep the notes of sessions up to date"))
        self.what = WrapLabel(
            self.tr(
                "While a session of Claude Code grows, its notes are updated: only after enough growth, and "
                "then at so many tool calls or at the end of an answer. Updates can be reviewed and undone. "
                "They are for you: Claude Code of today does not read them, and deletes them with their "
                "transcript."
            )
        )
        self.start = number(1, MOST_TOKENS, self.tr("Tokens of a session at which notes begin"))
        self.growth = number(1, MOST_TOKENS, self.tr("Tokens of growth between two updates"))
        self.calls = number(1, MOST_CALLS, self.tr("Tool calls that make an update due"))
        self.model.setPlaceholderText(self.tr("the agent's own model, else rules"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty for the agent's own"))
        self.time = number(1, MOST_SECONDS, self.tr("Time limit of an update, in seconds"), self.tr(" s"))
        self._shown = Notes()
        self._lay_out()
        self.switch.toggled.connect(self._on_switch)
        for field in (self.start, self.growth, self.calls, self.time):
            field.valueChanged.connect(self.changed)
        self._on_switch(False)

    def _lay_out(self) -> None:
        self.lay_out(
            (
                (self.tr("Begin at so many &tokens"), self.start),
                (self.tr("Update after &growth by"), self.growth),
                (self.tr("At so man&y tool calls"), self.calls),
                (self.tr("Mode&l"), self.model),
                (self.tr("Stop an update &after"), self.time),
            ),
            self.switch,
            self.what,
        )

    @property
    def rows(self) -> Rows:
        return {
            "notes.enabled": (self.switch,),
            "notes.model": (self.model,),
            "notes.start_tokens": (self.start,),
            "notes.growth_tokens": (self.growth,),
            "notes.tool_calls": (self.calls,),
            "notes.time_limit_s": (self.time,),
        }

    @property
    def value(self) -> Notes:
        seconds = self.time.value()
        return Notes(
            self.switch.isChecked(),
            self.model_name,
            self.start.value(),
            self.growth.value(),
            self.calls.value(),
            # The form rounds it; what nobody touched stays exact.
            self._shown.time_limit_s if seconds == _seconds(self._shown) else seconds,
        )

    def show_value(self, value: Notes) -> None:
        self._shown = value
        self.switch.setChecked(value.enabled)
        self.model.setText(value.model)
        self.start.setValue(value.start_tokens)
        self.growth.setValue(value.growth_tokens)
        self.calls.setValue(value.tool_calls)
        self.time.setValue(_seconds(value))

    @Slot(bool)
    def _on_switch(self, on: bool) -> None:
        # The model stays: an update by hand uses it, whether notes are kept or not.
        for control in (self.start, self.growth, self.calls):
            control.setEnabled(on)
        self.changed.emit()


def _seconds(value: Notes) -> int:
    return max(1, round(value.time_limit_s))
