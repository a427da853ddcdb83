"""The page of the settings for session notes: whether they are kept, by which thresholds, and by whom."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLabel, QLineEdit, QSpinBox, QVBoxLayout, QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.settings_draft import RULES, Notes, is_model_name
from reverie.ui.theme import GAP, MARGIN

MOST_TOKENS = 10_000_000
MOST_CALLS = 1_000
MOST_SECONDS = 3_600


class NotesPage(QWidget):
    """`changed()`: something was edited."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = QCheckBox(self.tr("&Keep the notes of sessions up to date"))
        self.switch.setAccessibleName(self.switch.text().replace("&", ""))
        self.what = WrapLabel(
            self.tr(
                "While a session of Claude Code grows, its notes are updated: only after enough growth, and "
                "then at so many tool calls or at the end of an answer. Updates can be reviewed and undone."
            )
        )
        self.start = _number(1, MOST_TOKENS, self.tr("Tokens of a session at which notes begin"))
        self.growth = _number(1, MOST_TOKENS, self.tr("Tokens of growth between two updates"))
        self.calls = _number(1, MOST_CALLS, self.tr("Tool calls that make an update due"))
        self.model = QLineEdit()
        self.model.setPlaceholderText(self.tr("the agent's own model, else rules"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty for the agent's own"))
        self.hint = WrapLabel()
        self.time = _number(1, MOST_SECONDS, self.tr("Time limit of an update, in seconds"), self.tr(" s"))
        self._shown = Notes()
        self._lay_out()
        self.switch.toggled.connect(self._on_switch)
        self.model.textChanged.connect(self._on_typed)
        for number in (self.start, self.growth, self.calls, self.time):
            number.valueChanged.connect(self.changed)
        self._on_switch(False)
        self._say_problem()

    def _lay_out(self) -> None:
        form = self._form = QFormLayout()
        form.setHorizontalSpacing(GAP)
        form.setVerticalSpacing(GAP)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        for text, control in (
            (self.tr("Begin at so many &tokens"), self.start),
            (self.tr("Update after &growth by"), self.growth),
            (self.tr("At so man&y tool calls"), self.calls),
            (self.tr("Mode&l"), self.model),
            (self.tr("Stop an update &after"), self.time),
        ):
            label = QLabel(text)
            label.setBuddy(control)
            form.addRow(label, control)
            if control is self.model:
                form.addRow("", self.hint)
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        column.setSpacing(GAP)
        column.addWidget(self.switch)
        column.addWidget(self.what)
        column.addLayout(form)
        column.addStretch(1)

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        name = self.model.text().strip()
        if not name or name == RULES or is_model_name(name):
            return ""
        return self.tr("A model is “rules” or provider:model, such as ollama:qwen3:8b.")

    @property
    def value(self) -> Notes:
        seconds = self.time.value()
        return Notes(
            self.switch.isChecked(),
            self.model.text().strip(),
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

    def _say_problem(self) -> None:
        self.hint.say(self.problem)
        self._form.setRowVisible(self.hint, bool(self.problem))

    @Slot()
    def _on_typed(self) -> None:
        self._say_problem()
        self.changed.emit()


def _seconds(value: Notes) -> int:
    return max(1, round(value.time_limit_s))


def _number(least: int, most: int, name: str, unit: str = "") -> QSpinBox:
    box = QSpinBox()
    box.setRange(least, most)
    box.setSuffix(unit)
    box.setGroupSeparatorShown(True)
    box.setAccessibleName(name)
    return box
