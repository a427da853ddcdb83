"""The fields and pages of the settings dialog, made from the type of each setting.

A page is only a form: the dialog fills it with the values of a draft and reads them back, by key.

Threading: GUI thread. Nothing is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from reverie.ui.appearance import GAP, UNIT
from reverie.ui.display_text import as_tooltip, translated, visible
from reverie.ui.settings.draft import Setting, explanation, is_base_url
from reverie.ui.settings.pages import SPECS, PageSpec, SettingSpec, choices, label
from reverie.ui.widgets.controls import WrapLabel, embolden
from reverie.ui.widgets.layouts import column
from reverie.values import Struct

_MB = 1_000_000
_SCALES = {"system1.keep_bytes": _MB}
"""The number of units of a setting in one unit of its control (such as bytes in a megabyte), by key."""
_SMALLEST_FONT = 6
_CHARS = 18
_PAIR = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*:\s*(.*)")
"""Matches a header: a name that HTTP allows, and its value."""


class Amount(QDoubleSpinBox):
    """A field for a number with decimals, which it shows without trailing zeros."""

    def textFromValue(self, value: float) -> str:
        return self.locale().toString(value, "g", 6)


class ModelBox(QComboBox):
    """A combo box for a model: a choice from the list, or a typed name such as `provider:model`."""

    def __init__(self, words: Sequence[tuple[str, str]]) -> None:
        """Create the box. `words` are its fixed choices, as (value, displayed text) pairs."""
        super().__init__()
        self._words = {text: value for value, text in words}
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.addItems(list(self._words))
        shorten(self)

    @property
    def value(self) -> str:
        """The chosen value or the typed text, which may be incomplete and thus no name of a model."""
        text = self.currentText().strip()
        return self._words.get(text, text)

    def choose(self, value: str) -> None:
        texts = {value: text for text, value in self._words.items()}
        self.setEditText(texts.get(value, value))
        edit = self.lineEdit()
        assert edit is not None
        edit.home(False)  # show the beginning of a long text

    def suggest(self, name: str) -> None:
        """Add the model `name` to the list of choices; the text in the box stays."""
        if self.findText(name) < 0:
            typed = self.currentText()
            self.addItem(name)
            self.setEditText(typed)


Control = QCheckBox | QSpinBox | QDoubleSpinBox | QComboBox | QLineEdit


def shorten(box: QComboBox) -> None:
    """Make the preferred width of a combo box a few characters, however long its choices are."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_CHARS)


def _control(setting: Setting) -> Control:
    key, spec = setting.key, SPECS[setting.key]
    unit = translated(spec.unit) if spec.unit else ""
    if setting.kind == "switch":
        return QCheckBox(translated(spec.label))
    if setting.kind == "whole" and spec.zero:
        return _sizes(setting, unit)
    if setting.kind == "whole":
        box = QSpinBox()
        scale = _SCALES.get(key, 1)
        box.setRange(int(setting.least) // scale, int(setting.most) // scale)
        box.setSuffix(unit)
        box.setGroupSeparatorShown(True)
        return box
    if setting.kind == "decimal":
        amount = Amount()
        amount.setRange(setting.least, setting.most)
        amount.setSuffix(unit)
        amount.setSpecialValueText(translated(spec.zero) if spec.zero else "")
        return amount
    if setting.kind == "choice":
        made = QComboBox()
        for value, text in choices(key):
            made.addItem(text, value)
        shorten(made)
        return made
    if setting.kind == "text" and (words := choices(key)):
        return ModelBox(words)
    line = QLineEdit()
    if setting.kind == "pairs":
        line.setEchoMode(QLineEdit.EchoMode.Password)
    return line


def _sizes(setting: Setting, unit: str) -> QComboBox:
    """Return a combo box of font sizes for a setting, with `unit` after each number.

    The size 0 is shown as a word, such as "System". If the setting allows negative numbers, the sizes are
    differences and are shown with a sign.
    """
    made = QComboBox()
    shorten(made)
    for size in range(int(setting.least), int(setting.most) + 1):
        if not size:
            made.addItem(translated(SPECS[setting.key].zero), 0)
        elif setting.least < 0 or size >= _SMALLEST_FONT:
            made.addItem((f"{size:+d}" if setting.least < 0 else str(size)) + unit, size)
    return made


class Field(QObject):
    """A setting and the widget in which the user edits it.

    Some values cannot be shown exactly: fractions are rounded, and bytes are shown in megabytes. Such a value
    stays exact until the user edits it.

    Signals:
        edited(): The user edited the value.
    """

    edited = Signal()

    def __init__(self, setting: Setting, parent: QObject) -> None:
        super().__init__(parent)
        self.setting = setting
        self.widget = _control(setting)
        self.widget.setAccessibleName(label(setting.key))
        self.widget.setAccessibleDescription(explanation(setting))
        self._scale = _SCALES.get(setting.key, 1)
        self._value: Any = setting.default
        self._as_shown: Any = None
        self._showing = False
        _change_signal(self.widget).connect(self._on_changed)

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
        elif isinstance(widget, ModelBox):
            widget.choose(value)
        elif isinstance(widget, QComboBox):
            widget.setCurrentIndex(max(0, widget.findData(value)))
        elif self.setting.kind == "pairs":
            # The values of headers are secrets, so only their names are shown.
            widget.clear()
            names = ", ".join(visible(name) for name in value)
            widget.setPlaceholderText(names or self.tr("Header: value; Another-Header: value"))
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
        if isinstance(widget, ModelBox):
            return widget.value
        return widget.currentData() if isinstance(widget, QComboBox) else widget.text().strip()

    @property
    def value(self) -> Any:
        """The value in the form; None if the text is invalid."""
        now = self._control_value()
        if now == self._as_shown:
            return self._value
        return _pairs(self._value, now) if self.setting.kind == "pairs" else now

    @property
    def problem(self) -> str:
        """The reason why the value cannot be saved; empty if it can."""
        value, setting = self.value, self.setting
        if isinstance(self.widget, ModelBox) and not re.search(setting.pattern, value):
            return self.tr("Enter a model as service:model, for example ollama:qwen3:8b.")
        if setting.last == "base_url" and not is_base_url(value):
            return self.tr("The address must start with http:// or https://.")
        bad = value is None or (setting.pattern and re.search(setting.pattern, value) is None)
        return self.tr("The value of “{label}” is not valid.").format(label=label(setting.key)) if bad else ""


def _change_signal(widget: Control) -> SignalInstance:
    if isinstance(widget, QCheckBox):
        return widget.toggled
    if isinstance(widget, ModelBox):
        return widget.editTextChanged
    if isinstance(widget, QComboBox):
        return widget.currentIndexChanged
    if not isinstance(widget, QLineEdit):
        return widget.valueChanged
    # A secret is saved, and its field is cleared, only when the user has typed all of it.
    secret = widget.echoMode() == QLineEdit.EchoMode.Password
    return widget.editingFinished if secret else widget.textChanged


def _pairs(before: Mapping[str, str], text: str) -> dict[str, str] | None:
    """Return a copy of `before`, with the values set from `text`: `Header: value; Another-Header: value`.

    An empty value removes the name; names that `text` does not mention keep their values. Returns None if
    `text` is invalid.
    """
    after = dict(before)
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        found = _PAIR.fullmatch(part)
        if found is None:
            return None
        after.pop(found[1], None)
        if found[2]:
            after[found[1]] = found[2]
    return after


class Row(Struct, frozen=True):
    """A row of a page."""

    widget: QWidget
    """The widget of the row, without its label."""
    heading: QWidget | None
    """The heading of the row's group; None for none."""
    text: str
    """The text in which the search of the settings looks for the typed words."""


class SettingsPage(QWidget):
    """A page of settings: a form with one row for each setting.

    Signals:
        changed(): The user edited a setting.
    """

    changed = Signal()

    def __init__(self, spec: PageSpec, schema: Mapping[str, Setting], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec = spec
        self.title = translated(spec.title)
        self.fields = {key: Field(schema[key], self) for key in spec.keys}
        self._rows: list[Row] = []
        self.about = WrapLabel(translated(spec.about) if spec.about else "")
        if not spec.about:
            self.about.hide()  # showing a widget without a parent would open a window
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(2 * GAP)
        self.form.setVerticalSpacing(GAP + UNIT)
        column(self, self.about, self.form, gap=GAP + UNIT).addStretch(1)
        self.lay_out()
        for field in self.fields.values():
            field.edited.connect(self.changed)
        self._gate()

    def lay_out(self) -> None:
        """Add the groups of the page to the form, one below the other."""
        for heading, rows in self.spec.groups:
            self.add_group(heading, rows)

    def add_group(self, heading: str, rows: Sequence[SettingSpec]) -> None:
        """Add a group of settings at the end of the form, below `heading` if it is not empty."""
        head: QLabel | None = None
        if heading:
            head = QLabel(translated(heading))
            embolden(head)
            head.setContentsMargins(0, GAP, 0, 0)
            self.form.addRow(head)
        for row in rows:
            self.add_setting(row.key, head)

    def add_setting(self, key: str, heading: QWidget | None = None) -> None:
        field = self.fields[key]
        self.add_row(SPECS[key].label, field.widget, explanation(field.setting), heading, key)

    def add_row(
        self, text: str, widget: QWidget, about: str, heading: QWidget | None = None, key: str = ""
    ) -> None:
        """Add a row with a label and `widget` at the end of the form.

        `text`: the untranslated label with its mnemonic. `about`: the tool tip of label and widget.
        `heading`: the heading of the row's group. `key`: the key of the setting, by which the search finds
        the row.
        """
        widget.setToolTip(as_tooltip(about))
        shown = translated(text)
        if isinstance(widget, QCheckBox):
            self.form.addRow(widget)
        else:
            name = QLabel(shown)
            name.setBuddy(widget)
            name.setToolTip(widget.toolTip())
            self.form.addRow(name, widget)
        words = [shown.replace("&", ""), about, key]
        if isinstance(widget, QComboBox):
            words += [widget.itemText(row) for row in range(widget.count())]
        self._rows.append(Row(widget, heading, "\n".join(words).casefold()))

    def set_narrow(self, narrow: bool) -> None:
        """Place each field below its label if `narrow`, otherwise beside it."""
        ways = QFormLayout.RowWrapPolicy
        self.form.setRowWrapPolicy(ways.WrapAllRows if narrow else ways.WrapLongRows)

    def _gate(self) -> None:
        """Connect the page's switch to the fields that can be edited only while it is on."""
        switch = self.fields[self.spec.switch].widget if self.spec.switch else None
        if not isinstance(switch, QCheckBox):
            return
        for key, field in self.fields.items():
            if key != self.spec.switch and key not in self.spec.free:
                field.widget.setEnabled(switch.isChecked())
                switch.toggled.connect(field.widget.setEnabled)

    def show_values(self, values: Mapping[str, Any]) -> None:
        """Show these values of settings, by key; ignore the settings of other pages."""
        for key, field in self.fields.items():
            if key in values:
                field.show_value(values[key])

    def edits(self, kept: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield (key, value) for each valid value that differs from the saved one in `kept`."""
        for key, field in self.fields.items():
            if key in kept and not field.problem and field.value != kept[key]:
                yield key, field.value

    @property
    def problem(self) -> str:
        """The reason why a setting of the page cannot be saved; empty if all of them can."""
        return next(filter(None, (field.problem for field in self.fields.values())), "")

    def show_matching(self, words: Sequence[str]) -> bool:
        """Show only the rows whose texts contain all `words`; return whether there are any.

        If the title of the page contains all of them, every row is shown. `words` must be casefolded.
        """
        all_of_it = all(word in self.title.casefold() for word in words)
        shown = [all_of_it or all(word in row.text for word in words) for row in self._rows]
        headed: dict[QWidget, bool] = {}
        for row, is_shown in zip(self._rows, shown, strict=True):
            self.form.setRowVisible(row.widget, is_shown)
            if row.heading is not None:
                headed[row.heading] = headed.get(row.heading, False) or is_shown
        for heading, is_shown in headed.items():
            self.form.setRowVisible(heading, is_shown)
        return any(shown)
