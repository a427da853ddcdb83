"""The page of the settings for the extraction of rollouts: whether it runs at the start, how much of it, and
by whom."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLabel, QLineEdit, QSpinBox, QVBoxLayout, QWidget

from reverie.ui.labels import WrapLabel
from reverie.ui.settings_draft import RULES, Extract, is_model_name
from reverie.ui.theme import GAP, MARGIN


class ExtractPage(QWidget):
    """`changed()`: something was edited."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.switch = QCheckBox(self.tr("&Extract new rollouts at the start"))
        self.switch.setAccessibleName(self.switch.text().replace("&", ""))
        self.what = WrapLabel(
            self.tr(
                "When the background services of a Codex home start, threads that went on become trace "
                "summaries, and those a handbook for each directory. Extract in the Consolidate menu does "
                "it by hand. Results can be reviewed and undone."
            )
        )
        self.rollouts = _number(1, 128, self.tr("Rollouts that are extracted at once"))
        self.idle = _number(
            0, 86_400, self.tr("Seconds that a rollout must have been left alone"), self.tr(" s")
        )
        self.model = QLineEdit()
        self.model.setPlaceholderText(self.tr("what a consolidation uses"))
        self.model.setAccessibleName(self.tr("Model: rules or provider:model; empty as for a consolidation"))
        self.hint = WrapLabel()
        self.time = _number(
            1, 3_600, self.tr("Time limit for each rollout and each directory, in seconds"), self.tr(" s")
        )
        self._concurrency = Extract().concurrency
        self._lay_out()
        self.switch.toggled.connect(self.changed)
        self.model.textChanged.connect(self._on_typed)
        for number in (self.rollouts, self.idle, self.time):
            number.valueChanged.connect(self.changed)
        self._say_problem()

    def _lay_out(self) -> None:
        form = self._form = QFormLayout()
        form.setHorizontalSpacing(GAP)
        form.setVerticalSpacing(GAP)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        for text, control in (
            (self.tr("&Rollouts at once"), self.rollouts),
            (self.tr("Le&ft alone for"), self.idle),
            (self.tr("Mode&l"), self.model),
            (self.tr("Stop each &after"), self.time),
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
    def value(self) -> Extract:
        return Extract(
            self.switch.isChecked(),
            self.model.text().strip(),
            self.rollouts.value(),
            self._concurrency,
            self.idle.value(),
            self.time.value(),
        )

    def show_value(self, value: Extract) -> None:
        self._concurrency = value.concurrency
        self.switch.setChecked(value.at_launch)
        self.model.setText(value.model)
        self.rollouts.setValue(value.max_rollouts)
        self.idle.setValue(value.idle_seconds)
        self.time.setValue(value.time_limit_s)

    def _say_problem(self) -> None:
        self.hint.say(self.problem)
        self._form.setRowVisible(self.hint, bool(self.problem))

    @Slot()
    def _on_typed(self) -> None:
        self._say_problem()
        self.changed.emit()


def _number(least: int, most: int, name: str, unit: str = "") -> QSpinBox:
    box = QSpinBox()
    box.setRange(least, most)
    box.setSuffix(unit)
    box.setGroupSeparatorShown(True)
    box.setAccessibleName(name)
    return box
