"""The fields and pages of the settings dialog, made from the type of each setting.

A page is only a form: the dialog fills it with the values of a draft and reads them back, by key.

Threading: GUI thread. Nothing is read or written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot
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


class HeadersLine(QLineEdit):
    """A field in which headers are typed; it shows only the names of the saved ones, never their values."""

    def __init__(self) -> None:
        super().__init__()
        self.setEchoMode(QLineEdit.EchoMode.Password)

    def show_names(self, headers: Mapping[str, str]) -> None:
        """Clear the typed text, and show the names of the saved `headers` in its place."""
        self.clear()
        names = ", ".join(visible(name) for name in headers)
        self.setPlaceholderText(names or self.tr("Header: value; Another-Header: value"))


def shorten(box: QComboBox) -> None:
    """Make the preferred width of a combo box a few characters, however long its choices are."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_CHARS)


_WAYS: tuple[tuple[type[QWidget], Callable[[Any, Any], object], Callable[[Any], Any], str], ...] = (
    (QCheckBox, QCheckBox.setChecked, QCheckBox.isChecked, "toggled"),
    (QSpinBox, QSpinBox.setValue, QSpinBox.value, "valueChanged"),
    (QDoubleSpinBox, QDoubleSpinBox.setValue, QDoubleSpinBox.value, "valueChanged"),
    (ModelBox, ModelBox.choose, lambda box: box.value, "editTextChanged"),
    (QComboBox, lambda box, value: box.setCurrentIndex(max(0, box.findData(value))), QComboBox.currentData,
     "currentIndexChanged"),
    # A secret is saved, and its field is cleared, only when the user has typed all of it.
    (HeadersLine, HeadersLine.show_names, lambda line: line.text().strip(), "editingFinished"),
    (QLineEdit, QLineEdit.setText, lambda line: line.text().strip(), "textChanged"),
)  # fmt: skip
"""How each kind of control shows a value and returns it, and its signal for edits; the first match counts."""


def _control(setting: Setting) -> QWidget:
    spec, words = SPECS[setting.key], choices(setting.key)
    unit, zero = (translated(text) if text else "" for text in (spec.unit, spec.zero))
    if setting.kind == "switch":
        return QCheckBox(translated(spec.label))
    if setting.kind == "whole" and not zero:
        box = QSpinBox()
        box.setRange(int(setting.least) // spec.scale, int(setting.most) // spec.scale)
        box.setSuffix(unit)
        box.setGroupSeparatorShown(True)
        return box
    if setting.kind == "decimal":
        amount = Amount()
        amount.setRange(setting.least, setting.most)
        amount.setSuffix(unit)
        amount.setSpecialValueText(zero)
        return amount
    if setting.kind == "pairs":
        return HeadersLine()
    if setting.kind == "text":
        return ModelBox(words) if words else QLineEdit()
    made = QComboBox()
    shorten(made)
    for value, text in words or _sizes(setting, unit, zero):
        made.addItem(text, value)
    return made


def _sizes(setting: Setting, unit: str, zero: str) -> Iterator[tuple[int, str]]:
    """Yield the font sizes that a setting allows, as (size, text) pairs; `unit` stands after each number.

    `zero` is the text of the size 0, such as "System". If the setting allows negative numbers, the sizes are
    differences and are shown with a sign.
    """
    signed = setting.least < 0
    for size in range(int(setting.least), int(setting.most) + 1):
        if not size:
            yield 0, zero
        elif signed or size >= _SMALLEST_FONT:
            yield size, (f"{size:+d}" if signed else str(size)) + unit


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
        self._scale = SPECS[setting.key].scale
        self._value: Any = setting.default
        self._as_shown: Any = None
        self._showing = False
        _kind, self._put, self._get, changed = next(way for way in _WAYS if isinstance(self.widget, way[0]))
        getattr(self.widget, changed).connect(self._on_changed)

    @Slot()
    def _on_changed(self) -> None:
        if not self._showing:
            self.edited.emit()

    def show_value(self, value: Any) -> None:
        self._showing = True
        self._put(self.widget, value if self._scale == 1 else round(value / self._scale))
        self._showing = False
        self._value, self._as_shown = value, self._get(self.widget)

    @property
    def value(self) -> Any:
        """The value in the form; None if the text is invalid."""
        now = self._get(self.widget)
        if now == self._as_shown:
            return self._value
        if self.setting.kind == "pairs":
            return _pairs(self._value, now)
        return now if self._scale == 1 else now * self._scale

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


class SettingsPage(QWidget):
    """A page of settings: a form with one row for each setting.

    Signals:
        changed(): The user edited a setting.
    """

    changed = Signal()

    def __init__(self, spec: PageSpec, schema: Mapping[str, Setting]) -> None:
        super().__init__()
        self.spec = spec
        self.title = translated(spec.title)
        self.fields = {key: Field(schema[key], self) for key in spec.keys}
        self._rows: list[tuple[QWidget, QWidget | None, str]] = []
        """The widget of each row without its label, the heading of its group, and the text for the search."""
        self.about = WrapLabel(translated(spec.about) if spec.about else "")
        if not spec.about:
            self.about.hide()  # showing a widget without a parent would open a window
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(2 * GAP)
        self.form.setVerticalSpacing(GAP + UNIT)
        column(self, self.about, self.form, gap=GAP + UNIT).addStretch(1)
        self.lay_out()
        for key, field in self.fields.items():
            field.edited.connect(self.changed)
            switch = self.fields[spec.switch].widget if spec.switch else None
            if isinstance(switch, QCheckBox) and key not in (spec.switch, *spec.free):
                field.widget.setEnabled(switch.isChecked())
                switch.toggled.connect(field.widget.setEnabled)

    def lay_out(self) -> None:
        """Add the rows of the page to the form, one below the other."""
        self.add_rows(self.spec.rows)

    def add_rows(self, rows: Iterable[str | SettingSpec]) -> None:
        """Add settings, and the headings of their groups, at the end of the form."""
        head: QLabel | None = None
        for row in rows:
            if isinstance(row, SettingSpec):
                about = explanation(self.fields[row.key].setting)
                self.add_row(row.label, self.fields[row.key].widget, about, head, row.key)
                continue
            head = QLabel(translated(row))
            embolden(head)
            head.setContentsMargins(0, GAP, 0, 0)
            self.form.addRow(head)

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
        self._rows.append((widget, heading, "\n".join(words).casefold()))

    def set_narrow(self, narrow: bool) -> None:
        """Place each field below its label if `narrow`, otherwise beside it."""
        ways = QFormLayout.RowWrapPolicy
        self.form.setRowWrapPolicy(ways.WrapAllRows if narrow else ways.WrapLongRows)

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
        groups: dict[QWidget | None, bool] = {}
        for widget, heading, text in self._rows:
            found = all_of_it or all(word in text for word in words)
            self.form.setRowVisible(widget, found)
            groups[heading] = groups.get(heading, False) or found
        for heading, found in groups.items():
            if heading is not None:
                self.form.setRowVisible(heading, found)
        return any(groups.values())
