"""The fourth page of the settings: the memory writer that works between the turns of a conversation."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.settings_draft import System1
from reverie.ui.settings_page import ModelPage, Rows, choice, number, switch

MOST_TURNS = 50
MOST_SECONDS = 600
MOST_TRACES = 100_000
MB = 1_000_000
MOST_MEGABYTES = 100_000
_CHARS = 18


class System1Page(ModelPage):
    """Everything is for editing only while the writer works."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = switch(self.tr("&Write memories while conversations go on"))
        self.what = WrapLabel(
            self.tr(
                "After every so many turns of an assistant, what it learned goes into the memory of its "
                "project. Runs can be reviewed and undone; why none happened stands in Activity and Doctor."
            )
        )
        self.interval = number(1, MOST_TURNS, self.tr("Turns between two runs"))
        self.target = choice(
            self.tr("Where it writes"),
            (
                (self.tr("The project's memory file"), "project-file"),
                (self.tr("A memory of the project, system-1.md"), "project-memory"),
            ),
            least_chars=_CHARS,
        )
        self.model.setPlaceholderText(self.tr("the model of the conversation"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty for the conversation's"))
        self.time = number(1, MOST_SECONDS, self.tr("Time limit of a run, in seconds"), self.tr(" s"))
        self.traces = choice(
            self.tr("Which runs leave a trace"),
            (
                (self.tr("Those that fail"), "failures"),
                (self.tr("All of them"), "always"),
                (self.tr("None"), "never"),
            ),
            least_chars=_CHARS,
        )
        self.count = number(1, MOST_TRACES, self.tr("Traces to keep at most"))
        self.room = number(1, MOST_MEGABYTES, self.tr("Megabytes of traces to keep at most"), self.tr(" MB"))
        self._shown = System1()
        self._lay_out()
        self.switch.toggled.connect(self._on_switch)
        for field in (self.interval, self.time, self.count, self.room):
            field.valueChanged.connect(self.changed)
        for box in (self.target, self.traces):
            box.currentIndexChanged.connect(self.changed)
        self._on_switch(False)

    def _lay_out(self) -> None:
        self.lay_out(
            (
                (self.tr("A run every so many t&urns"), self.interval),
                (self.tr("Write &into"), self.target),
                (self.tr("Mode&l"), self.model),
                (self.tr("Stop a run &after"), self.time),
                (self.tr("Keep a trac&e of runs"), self.traces),
                (self.tr("At most so &many traces"), self.count),
                (self.tr("At most so mu&ch of them"), self.room),
            ),
            self.switch,
            self.what,
        )

    @property
    def rows(self) -> Rows:
        return {
            "system1.enabled": (self.switch,),
            "system1.interval": (self.interval,),
            "system1.target": (self.target,),
            "system1.model": (self.model,),
            "system1.time_limit_s": (self.time,),
            "system1.traces": (self.traces,),
            "system1.keep_count": (self.count,),
            "system1.keep_bytes": (self.room,),
        }

    @property
    def value(self) -> System1:
        seconds, megabytes, shown = self.time.value(), self.room.value(), self._shown
        # The form rounds both; what nobody touched stays exact.
        return System1(
            self.switch.isChecked(),
            self.interval.value(),
            str(self.target.currentData()),
            self.model_name,
            shown.time_limit_s if seconds == _seconds(shown) else seconds,
            str(self.traces.currentData()),
            self.count.value(),
            shown.keep_bytes if megabytes == _megabytes(shown) else megabytes * MB,
        )

    def show_value(self, value: System1) -> None:
        self._shown = value
        self.switch.setChecked(value.enabled)
        self.interval.setValue(value.interval)
        self.target.setCurrentIndex(max(0, self.target.findData(value.target)))
        self.model.setText(value.model)
        self.time.setValue(_seconds(value))
        self.traces.setCurrentIndex(max(0, self.traces.findData(value.traces)))
        self.count.setValue(value.keep_count)
        self.room.setValue(_megabytes(value))

    @Slot(bool)
    def _on_switch(self, on: bool) -> None:
        for control in (
            self.interval,
            self.target,
            self.model,
            self.time,
            self.traces,
            self.count,
            self.room,
        ):
            control.setEnabled(on)
        self.changed.emit()


def _seconds(value: System1) -> int:
    return max(1, round(value.time_limit_s))


def _megabytes(value: System1) -> int:
    return max(1, round(value.keep_bytes / MB))
