"""What the pages of the settings have in common: fields with names, a form of them, and the model that is
typed.

A page holds values only; the dialog shows it a draft and takes another one back. Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from reverie.ui.columns import column
from reverie.ui.labels import WrapLabel
from reverie.ui.settings_draft import RULES, is_model_name
from reverie.ui.theme import GAP

FormRows = Iterable[tuple[str, QWidget]]
"""The label of each field, with its mnemonic, and the field."""

Rows = Mapping[str, Sequence[QWidget]]
"""The key of each setting of a page, and the widgets that show it, the first of them its field."""


class SettingsPage(QWidget):
    """`changed()`: something was edited."""

    changed = Signal()

    @property
    def rows(self) -> Rows:
        """The settings that this page lays out by hand; those made from the schema are not among them."""
        return {}

    def stack(self, *parts: QWidget | QLayout) -> None:
        """Everything on the page, from the top."""
        column(self, *parts).addStretch(1)


class ModelPage(SettingsPage):
    """A page on which a model can be named: what is typed is judged at once, in a line below the field."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = QLineEdit()
        self.hint = WrapLabel()
        self._form = QFormLayout()

    def lay_out(self, rows: FormRows, *above: QWidget) -> None:
        """`rows` have `self.model` among them."""
        fill(self._form, rows, {self.model: self.hint})
        self.stack(*above, self._form)
        self.model.textChanged.connect(self._on_typed)
        self._say_problem()

    @property
    def model_name(self) -> str:
        """As it is typed; may be no model string yet."""
        return self.model.text().strip()

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        name = self.model_name
        if not name or name == RULES or is_model_name(name):
            return ""
        return self.tr("A model is “rules” or provider:model, such as ollama:qwen3:8b.")

    def _say_problem(self) -> None:
        self.hint.say(self.problem)
        self._form.setRowVisible(self.hint, bool(self.problem))

    @Slot()
    def _on_typed(self) -> None:
        self._say_problem()
        self.changed.emit()


def fill(form: QFormLayout, rows: FormRows, hints: dict[QWidget, WrapLabel] | None = None) -> QFormLayout:
    """`form` with these rows; below a field stands its hint, if it has one."""
    form.setHorizontalSpacing(GAP)
    form.setVerticalSpacing(GAP)
    form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
    for text, control in rows:
        label = QLabel(text)
        label.setBuddy(control)
        form.addRow(label, control)
        if hints and control in hints:
            form.addRow("", hints[control])
    return form


def switch(text: str) -> QCheckBox:
    """What turns on all that the page is about."""
    box = QCheckBox(text)
    box.setAccessibleName(text.replace("&", ""))
    return box


def number(least: int, most: int, name: str, unit: str = "") -> QSpinBox:
    """`name` is read aloud; `unit` stands behind the figure."""
    box = QSpinBox()
    box.setRange(least, most)
    box.setSuffix(unit)
    box.setGroupSeparatorShown(True)
    box.setAccessibleName(name)
    return box


def choice(name: str, choices: Iterable[tuple[str, str]], least_chars: int = 0) -> QComboBox:
    """One of (text, key). `least_chars`: as wide as so many characters, however long the texts are."""
    box = QComboBox()
    box.setAccessibleName(name)
    if least_chars:
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        box.setMinimumContentsLength(least_chars)
    for text, key in choices:
        box.addItem(text, key)
    return box
