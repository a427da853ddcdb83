"""The first page of the settings: which engine consolidates, whether it works, and what it may do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from reverie.ui import words
from reverie.ui.buttons import FitPushButton
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel, embolden
from reverie.ui.settings_draft import AUTO, RULES, Draft, is_model_name
from reverie.ui.settings_page import Rows, SettingsPage, number
from reverie.ui.shown import visible
from reverie.ui.theme import GAP, MARGIN, UNIT, theme_of

if TYPE_CHECKING:
    from reverie.services.views import ModelsView, ProbeLine

_SIGNS = {"pass": "check", "fail": "error", "skip": "info"}


class ProbeLines(QWidget):
    """The steps of a test, each with a sign and a sentence."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GAP)
        self._grid.setVerticalSpacing(UNIT)
        self._grid.setColumnStretch(1, 1)
        self._made: list[QWidget] = []
        self.texts: tuple[str, ...] = ()

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """(state, sentence) of each; states other than those of a test have no sign."""
        for widget in self._made:
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._made, texts = [], []
        for row, (state, sentence) in enumerate(lines):
            sign, label = QLabel(), WrapLabel(sentence)
            name = words.probe_state(state)
            label.setAccessibleName(f"{name}: {label.text()}" if name else label.text())
            if state in _SIGNS:
                theme = theme_of(self.palette())
                colour = {"pass": theme.good, "fail": theme.bad}.get(state, theme.dim_window)
                sign.setPixmap(self._icons.pixmap(_SIGNS[state], 16, colour, self.devicePixelRatioF()))
                sign.setToolTip(name)
            self._grid.addWidget(sign, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(label, row, 1)
            self._made += [sign, label]
            texts.append(label.text())
        self.texts = tuple(texts)
        self.updateGeometry()


class EnginePage(SettingsPage):
    """`test(model)` asks for a test."""

    test = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.auto = QRadioButton(self.tr("A&utomatic: the agent's own model, else rules"))
        self.rules = QRadioButton(self.tr("&Rules: no model, no account, no network"))
        self.model = QRadioButton(self.tr("A &model: memories go to its provider"))
        self.name = QComboBox()
        self.name.setEditable(True)
        self.name.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.name.setAccessibleName(self.tr("Model, as provider:model"))
        self.name.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        edit = self.name.lineEdit()
        assert edit is not None
        edit.setPlaceholderText(self.tr("provider:model, such as ollama:qwen3:8b"))
        self.test_button = FitPushButton(self.tr("Test"))
        self.test_button.setToolTip(self.tr("Make one real tool call and say what works"))
        self.hint = WrapLabel()
        self.used = WrapLabel()
        self.results = ProbeLines(icons)
        self.loss = number(0, 100, self.tr("Largest loss of a scope's lines, in percent"), self.tr(" %"))
        self.time = number(1, 3600, self.tr("Time limit of a run, in seconds"), self.tr(" s"))
        self._testing = False
        self._had_focus = False
        self._lay_out()
        self.auto.setChecked(True)
        for choice in (self.auto, self.rules, self.model):
            choice.toggled.connect(self._on_edited)
        self.name.editTextChanged.connect(self._on_typed)
        self.loss.valueChanged.connect(self._on_edited)
        self.time.valueChanged.connect(self._on_edited)
        self.test_button.clicked.connect(self._on_test)
        self._judge()

    def _lay_out(self) -> None:
        line = QHBoxLayout()
        line.setContentsMargins(MARGIN * 2, 0, 0, 0)
        line.setSpacing(GAP)
        line.addWidget(self.name, 1)
        line.addWidget(self.test_button)
        below = QVBoxLayout()
        below.setContentsMargins(MARGIN * 2, 0, 0, 0)
        below.setSpacing(UNIT)
        below.addWidget(self.hint)
        below.addWidget(self.results)
        limits = QGridLayout()
        limits.setHorizontalSpacing(GAP)
        limits.setVerticalSpacing(GAP)
        limits.setColumnStretch(0, 1)
        for row, (text, control) in enumerate(
            (
                (self.tr("Hold a run for review if a scope would lose more of its lines than"), self.loss),
                (self.tr("Stop a run that takes longer than"), self.time),
            )
        ):
            label = WrapLabel(text)
            label.setBuddy(control)
            limits.addWidget(label, row, 0)
            limits.addWidget(control, row, 1)
        self.limits = _heading(self.tr("Limits"))
        self.limits.setContentsMargins(0, GAP, 0, 0)
        self.stack(
            _heading(self.tr("Consolidate with")),
            *(self.auto, self.rules, self.model, line, below, self.used, self.limits, limits),
        )

    # Values

    @property
    def rows(self) -> Rows:
        return {
            "dream.engine": (self.auto, self.rules, self.model, self.name, self.test_button),
            "dream.max_loss_percent": (self.loss,),
            "dream.time_limit_s": (self.time,),
        }

    @property
    def engine(self) -> str:
        """What is chosen; may be no model string yet."""
        if self.model.isChecked():
            return self.name.currentText().strip()
        return RULES if self.rules.isChecked() else AUTO

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        if not self.model.isChecked() or is_model_name(self.engine):
            return ""
        return self.tr("Write the model as provider:model.")

    def show_draft(self, draft: Draft) -> None:
        if draft.engine not in (AUTO, RULES):
            self.name.setEditText(draft.engine)
        choices = {AUTO: self.auto, RULES: self.rules}
        choices.get(draft.engine, self.model).setChecked(True)
        self.loss.setValue(draft.max_loss_percent)
        self.time.setValue(draft.time_limit_s)
        self._judge()

    def show_models(self, models: ModelsView) -> None:
        """What the button will use as things are saved."""
        self.used.say(
            self.tr("As saved, “Consolidate now” uses {engine}. {reason}").format(
                engine=words.engine(models.engine), reason=visible(models.engine_reason)
            )
        )

    def suggest(self, names: Sequence[str]) -> None:
        """Models that were found; what is typed stays."""
        typed = self.name.currentText()
        known = [self.name.itemText(row) for row in range(self.name.count())]
        self.name.blockSignals(True)
        self.name.addItems([name for name in names if name not in known])
        self.name.setEditText(typed)
        self.name.blockSignals(False)

    def choose(self, name: str) -> None:
        """Take a model that was found."""
        self.model.setChecked(True)
        self.name.setEditText(name)

    # Testing

    def testing(self, name: str) -> None:
        """A test of this model is under way."""
        self._testing = True
        self._had_focus = self.test_button.hasFocus()
        self.results.say([("", self.tr("Asking {model}…").format(model=name))])
        self._judge()

    def tested(self, lines: Sequence[ProbeLine]) -> None:
        """What each step of the test said."""
        self._end_test([(line.state, line.sentence) for line in lines])

    def test_failed(self, sentence: str) -> None:
        """The test could not be made."""
        self._end_test([("fail", sentence)])

    def _end_test(self, lines: Sequence[tuple[str, str]]) -> None:
        self._testing = False
        self.results.say(lines)
        self._judge()
        if self._had_focus:
            # Qt moved the focus to the next field when the button was disabled.
            self.test_button.setFocus()
            self._had_focus = False

    @Slot()
    def _on_test(self) -> None:
        self.test.emit(self.engine)

    @Slot()
    def _on_typed(self) -> None:
        self.model.setChecked(True)
        self.results.say([])
        self._on_edited()

    @Slot()
    def _on_edited(self) -> None:
        self._judge()
        self.changed.emit()

    def _judge(self) -> None:
        typed = bool(self.name.currentText().strip())
        self.hint.say(self.problem if typed else "")
        self.hint.setVisible(bool(self.hint.text()))
        can_test = self.model.isChecked() and not self.problem and not self._testing
        self.test_button.setEnabled(can_test)


def _heading(text: str) -> QLabel:
    made = QLabel(text)
    embolden(made)
    return made
