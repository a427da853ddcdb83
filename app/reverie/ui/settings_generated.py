"""Fields of settings that are made from the schema: whatever no page lays out by hand.

A field tells its value only when it was edited, so that a figure it cannot show exactly stays as it is.
Threading: GUI thread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QFormLayout, QLineEdit, QSpinBox, QWidget

from reverie.ui import settings_words as words
from reverie.ui.settings_page import SettingsPage, choice, fill, number, switch
from reverie.ui.settings_schema import Setting
from reverie.ui.shown import visible

_WIDE = 18
_PAIR = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*:\s*(.*)")
"""A header: its name as HTTP allows one, and its value."""


class Field(QObject):
    """One setting. `edited()`: by a person."""

    edited = Signal()

    def __init__(self, setting: Setting, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.setting = setting
        self.widget = _widget(setting)
        self._shown: Any = setting.default
        self.touched = False
        for signal in ("toggled", "valueChanged", "currentIndexChanged", "textChanged"):
            if hasattr(self.widget, signal):
                getattr(self.widget, signal).connect(self._on_edited)
                break

    @Slot()
    def _on_edited(self) -> None:
        self.touched = True
        self.edited.emit()

    def show_value(self, value: Any) -> None:
        self._shown = value
        self.widget.blockSignals(True)
        self._put(value)
        self.widget.blockSignals(False)
        self.touched = False

    def _put(self, value: Any) -> None:
        widget = self.widget
        if isinstance(widget, QCheckBox):
            widget.setChecked(value)
        elif isinstance(widget, QSpinBox | QDoubleSpinBox):
            widget.setValue(value)
        elif isinstance(widget, QComboBox):
            widget.setCurrentIndex(max(0, widget.findData(value)))
        elif self.setting.kind == "pairs":
            widget.clear()
            names = ", ".join(visible(name) for name in value)
            widget.setPlaceholderText(
                self.tr("kept: {names}; Name: removes one").format(names=names)
                if value
                else self.tr("Name: value; another: value")
            )
        else:
            widget.setText(value)

    @property
    def value(self) -> Any:
        """As it is edited; what nobody touched is what was shown."""
        widget = self.widget
        if not self.touched:
            return self._shown
        if isinstance(widget, QCheckBox):
            return widget.isChecked()
        if isinstance(widget, QSpinBox | QDoubleSpinBox):
            return widget.value()
        if isinstance(widget, QComboBox):
            return widget.currentData()
        text = widget.text().strip()
        return _pairs(self._shown, text) if self.setting.kind == "pairs" else text

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        value, setting = self.value, self.setting
        bad = value is None or (setting.pattern and re.search(setting.pattern, value) is None)
        return self.tr("“{label}” is not valid.").format(label=words.label(setting.key)) if bad else ""


class Fields(QObject):
    """Some settings of the schema as rows of a form. `edited()`: one of them was."""

    edited = Signal()

    def __init__(self, form: QFormLayout, settings: Sequence[Setting], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.form = form
        self.all = [Field(setting, self) for setting in settings]
        rows = [(words.label(field.setting.key), field.widget) for field in self.all]
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


def _widget(setting: Setting) -> QCheckBox | QSpinBox | QDoubleSpinBox | QComboBox | QLineEdit:
    name = words.label(setting.key)
    if setting.kind == "switch":
        return switch(name)
    if setting.kind == "whole":
        return number(int(setting.least), int(setting.most), name, words.unit(setting.key))
    if setting.kind == "decimal":
        box = QDoubleSpinBox()
        box.setRange(setting.least, setting.most)
        box.setDecimals(1)
        box.setSuffix(words.unit(setting.key))
        box.setSpecialValueText(words.zero(setting.key))
        box.setAccessibleName(name)
        return box
    if setting.kind == "choice":
        return choice(name, [(words.choice(setting.key, each), each) for each in setting.choices], _WIDE)
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
