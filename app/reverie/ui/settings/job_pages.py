"""The third page of the settings: what may run by itself in the home that is shown, and how much of it."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFormLayout, QWidget

from reverie.ui.appearance import LARGEST_FONT, WindowStyle
from reverie.ui.settings.draft import BackgroundDraft, Extract, Notes, System1
from reverie.ui.settings.fields import ModelPage, Rows, SettingsPage, choice, fill, number, switch
from reverie.ui.widgets.controls import WrapLabel

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
    def value(self) -> BackgroundDraft | None:
        if not self._home:
            return None
        return BackgroundDraft(self.switch.isChecked(), self.runs.value(), self.tokens.value())

    def show_value(self, value: BackgroundDraft) -> None:
        self.switch.setChecked(value.enabled)
        self.runs.setValue(value.runs_per_day)
        self.tokens.setValue(value.tokens_per_day)

    @Slot(bool)
    def _on_switch(self, on: bool) -> None:
        self.runs.setEnabled(on)
        self.tokens.setEnabled(on)
        self.changed.emit()


# The fourth page of the settings: the memory writer that works between the turns of a conversation.


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


# The page of the settings for session notes: whether they are kept, by which thresholds, and by whom.


NOTES_MOST_TOKENS = 10_000_000
MOST_CALLS = 1_000
NOTES_MOST_SECONDS = 3_600


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
        self.start = number(1, NOTES_MOST_TOKENS, self.tr("Tokens of a session at which notes begin"))
        self.growth = number(1, NOTES_MOST_TOKENS, self.tr("Tokens of growth between two updates"))
        self.calls = number(1, MOST_CALLS, self.tr("Tool calls that make an update due"))
        self.model.setPlaceholderText(self.tr("the agent's own model, else rules"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty for the agent's own"))
        self.time = number(
            1, NOTES_MOST_SECONDS, self.tr("Time limit of an update, in seconds"), self.tr(" s")
        )
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
            self._shown.time_limit_s if seconds == _notes_seconds(self._shown) else seconds,
        )

    def show_value(self, value: Notes) -> None:
        self._shown = value
        self.switch.setChecked(value.enabled)
        self.model.setText(value.model)
        self.start.setValue(value.start_tokens)
        self.growth.setValue(value.growth_tokens)
        self.calls.setValue(value.tool_calls)
        self.time.setValue(_notes_seconds(value))

    @Slot(bool)
    def _on_switch(self, on: bool) -> None:
        # The model stays: an update by hand uses it, whether notes are kept or not.
        for control in (self.start, self.growth, self.calls):
            control.setEnabled(on)
        self.changed.emit()


def _notes_seconds(value: Notes) -> int:
    return max(1, round(value.time_limit_s))


# The page of the settings for the extraction of rollouts: whether it runs at the start, how much of it, and
# by whom.


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


# The page of the settings that says how the window looks: theme, font size, language.


_SMALLEST_FONT = 6


class WindowPage(SettingsPage):
    """The values of `window_wishes.WindowStyle`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        system = self.tr("As the system")
        self.theme = choice(
            self.tr("Colours"),
            ((system, "system"), (self.tr("Light"), "light"), (self.tr("Dark"), "dark")),
        )
        # The smallest value stands for the system's size.
        self.font_size = number(_SMALLEST_FONT - 1, LARGEST_FONT, self.tr("Font size"), self.tr(" pt"))
        self.font_size.setSpecialValueText(system)
        # Languages are named in themselves, so that who does not read the shown one finds the way back.
        self.language = choice(
            self.tr("Language"), ((system, "system"), ("English", "en"), ("Deutsch", "de"))
        )
        self.note = WrapLabel(
            self.tr("Colours and font size count at once, the language when Reverie is started next.")
        )
        rows = (
            (self.tr("Colou&rs"), self.theme),
            (self.tr("&Font size"), self.font_size),
            (self.tr("&Language"), self.language),
        )
        # The dialog adds what the schema has besides.
        self.more = QFormLayout()
        self.stack(fill(QFormLayout(), rows), self.note, self.more)
        self.theme.currentIndexChanged.connect(self.changed)
        self.font_size.valueChanged.connect(self.changed)
        self.language.currentIndexChanged.connect(self.changed)

    @property
    def rows(self) -> Rows:
        return {
            "window.theme": (self.theme,),
            "window.font_size": (self.font_size,),
            "window.language": (self.language,),
        }

    @property
    def value(self) -> WindowStyle:
        size = self.font_size.value()
        return WindowStyle(
            size if size >= _SMALLEST_FONT else 0, self.language.currentData(), self.theme.currentData()
        )

    def show_value(self, value: WindowStyle) -> None:
        self.theme.setCurrentIndex(self.theme.findData(value.theme))
        self.language.setCurrentIndex(self.language.findData(value.language))
        self.font_size.setValue(max(value.font_size, _SMALLEST_FONT - 1))
