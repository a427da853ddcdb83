"""Fields of the settings: a control for each setting, forms of them, and the base of the dialog's pages.

A page is a form and nothing else: the dialog fills it with the values of a draft and reads them back, by key.

Threading: GUI thread; nothing is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QLayout,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from reverie.ui.appearance import GAP
from reverie.ui.dialogs import is_model_name
from reverie.ui.display_text import visible
from reverie.ui.settings.draft import (
    RULES,
    Setting,
    choice_text,
    field_label,
    field_unit,
    zero_text,
)
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.layouts import column

FormRows = Iterable[tuple[str, QWidget]]
"""The label of each field, with its mnemonic, and the field."""

Rows = Mapping[str, Sequence[QWidget]]
"""The key of each setting of a page, and the widgets that show it, the first of them its field."""


Control = QCheckBox | QSpinBox | QDoubleSpinBox | QComboBox | QLineEdit


class Field(QObject):
    """A setting and the control that shows it. `edited()`: by hand, not by `show_value`.

    A value that the control cannot show exactly (a fraction, bytes in megabytes) stays exact until it is
    edited."""

    edited = Signal()

    def __init__(self, key: str, widget: Control, parent: QObject, scale: int = 1) -> None:
        """`scale`: how many units of the setting one unit of the control is."""
        super().__init__(parent)
        self.key = key
        self.widget = widget
        self._scale = scale
        self._value: Any = None
        self._as_shown: Any = None
        self._showing = False
        _change_signal(widget).connect(self._on_changed)

    @Slot()
    def _on_changed(self) -> None:
        if not self._showing:
            self.edited.emit()

    def show_value(self, value: Any) -> None:
        self._showing = True
        self._put(value)
        self._showing = False
        self._value, self._as_shown = value, self._control_value()

    def _put(self, value: Any) -> None:
        widget = self.widget
        if isinstance(widget, QCheckBox):
            widget.setChecked(value)
        elif isinstance(widget, QSpinBox):
            widget.setValue(round(value / self._scale))
        elif isinstance(widget, QDoubleSpinBox):
            widget.setValue(value)
        elif isinstance(widget, QComboBox):
            widget.setCurrentIndex(max(0, widget.findData(value)))
        else:
            widget.setText(value)

    def _control_value(self) -> Any:
        widget = self.widget
        if isinstance(widget, QCheckBox):
            return widget.isChecked()
        if isinstance(widget, QSpinBox):
            return widget.value() * self._scale
        if isinstance(widget, QDoubleSpinBox):
            return widget.value()
        return widget.currentData() if isinstance(widget, QComboBox) else widget.text().strip()

    @property
    def value(self) -> Any:
        now = self._control_value()
        return self._value if now == self._as_shown else now


def _change_signal(widget: Control) -> SignalInstance:
    if isinstance(widget, QCheckBox):
        return widget.toggled
    if isinstance(widget, QComboBox):
        return widget.currentIndexChanged
    return widget.textChanged if isinstance(widget, QLineEdit) else widget.valueChanged


class SettingsPage(QWidget):
    """`changed()`: something was edited."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._fields: dict[str, Field] = {}

    def bind(self, section: str, scale: Mapping[str, int] | None = None, /, **widgets: Control) -> None:
        """Show the settings of `section` (`notes`, `background.*`) in these widgets, by their names."""
        for name, widget in widgets.items():
            field = Field(f"{section}.{name}", widget, self, (scale or {}).get(name, 1))
            field.edited.connect(self.changed)
            self._fields[field.key] = field

    @property
    def rows(self) -> Rows:
        """The settings that this page lays out by hand; those made from the schema are not among them."""
        return {key: (field.widget,) for key, field in self._fields.items()}

    @property
    def values(self) -> dict[str, Any]:
        """What is in the form, by key."""
        return {key: field.value for key, field in self._fields.items()}

    def show_values(self, values: Mapping[str, Any]) -> None:
        """Fill in the form; settings of other pages are ignored."""
        for key, field in self._fields.items():
            if key in values:
                field.show_value(values[key])

    def enable_while(self, switch: QCheckBox, *controls: QWidget) -> None:
        """`controls` can be used only while `switch` is on."""
        for control in controls:
            control.setEnabled(switch.isChecked())
            switch.toggled.connect(control.setEnabled)

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


def fill(form: QFormLayout, rows: FormRows, hints: dict[QWidget, WrapLabel] | None = None) -> QFormLayout:
    """Add rows to `form`; a field's hint, if it has one, goes below it."""
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
    """`name` is read aloud; `unit` follows the number."""
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


# Fields made from the schema, for every setting that no page lays out by hand.

_WIDE = 18
_PAIR = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*:\s*(.*)")
"""A header: its name as HTTP allows one, and its value."""


class GeneratedField(Field):
    """A field whose control follows from the type of the setting."""

    def __init__(self, setting: Setting, parent: QObject) -> None:
        super().__init__(setting.key, _widget(setting), parent)
        self.setting = setting
        self._value = setting.default
        self.touched = False
        self.edited.connect(self._on_edited)

    @Slot()
    def _on_edited(self) -> None:
        self.touched = True

    def show_value(self, value: Any) -> None:
        super().show_value(value)
        self.touched = False

    def _put(self, value: Any) -> None:
        widget = self.widget
        if self.setting.kind != "pairs" or not isinstance(widget, QLineEdit):
            super()._put(value)
            return
        # The values of headers are secrets: the names alone are shown.
        widget.clear()
        names = ", ".join(visible(name) for name in value)
        widget.setPlaceholderText(
            self.tr("kept: {names}; Name: removes one").format(names=names)
            if value
            else self.tr("Name: value; another: value")
        )

    @property
    def value(self) -> Any:
        """As it is edited; None for text that is not valid."""
        if not self.touched:
            return self._value
        now = self._control_value()
        return _pairs(self._value, now) if self.setting.kind == "pairs" else now

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        value, setting = self.value, self.setting
        bad = value is None or (setting.pattern and re.search(setting.pattern, value) is None)
        return self.tr("“{label}” is not valid.").format(label=field_label(setting.key)) if bad else ""


class GeneratedFields(QObject):
    """Settings of the schema as rows of a form. `edited()`: one of them was edited."""

    edited = Signal()

    def __init__(self, form: QFormLayout, settings: Sequence[Setting], parent: QObject) -> None:
        super().__init__(parent)
        self.form = form
        self.all = [GeneratedField(setting, self) for setting in settings]
        rows = [(field_label(field.setting.key), field.widget) for field in self.all]
        fill(form, [(text, widget) for text, widget in rows if not isinstance(widget, QCheckBox)])
        for _text, widget in rows:
            if isinstance(widget, QCheckBox):
                form.addRow(widget)
        for field in self.all:
            field.edited.connect(self.edited)

    def show_values(self, values: Mapping[str, Any]) -> None:
        """By key; what has no value is shown as its default."""
        for field in self.all:
            field.show_value(values.get(field.setting.key, field.setting.default))

    @property
    def edits(self) -> dict[str, Any]:
        """The values that differ from those shown, by key."""
        return {field.setting.key: field.value for field in self.all if field.touched and not field.problem}

    @property
    def problem(self) -> str:
        return next((field.problem for field in self.all if field.problem), "")


class AdvancedPage(SettingsPage):
    """What has no better place. The dialog adds its rows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.more = QFormLayout()
        self.stack(self.more)


def _widget(setting: Setting) -> Control:
    name = field_label(setting.key)
    if setting.kind == "switch":
        return switch(name)
    if setting.kind == "whole":
        return number(int(setting.least), int(setting.most), name, field_unit(setting.key))
    if setting.kind == "decimal":
        box = QDoubleSpinBox()
        box.setRange(setting.least, setting.most)
        box.setDecimals(1)
        box.setSuffix(field_unit(setting.key))
        box.setSpecialValueText(zero_text(setting.key))
        box.setAccessibleName(name)
        return box
    if setting.kind == "choice":
        return choice(name, [(choice_text(setting.key, each), each) for each in setting.choices], _WIDE)
    line = QLineEdit()
    line.setAccessibleName(name)
    if setting.kind == "pairs":
        line.setEchoMode(QLineEdit.EchoMode.Password)
    return line


def _pairs(before: Mapping[str, str], text: str) -> dict[str, str] | None:
    """`Name: value; another: value` put into `before`; an empty value takes one out. None: it is neither."""
    after = dict(before)
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        found = _PAIR.fullmatch(part)
        if found is None:
            return None
        after.pop(found[1], None)
        if found[2]:
            after[found[1]] = found[2]
    return after
