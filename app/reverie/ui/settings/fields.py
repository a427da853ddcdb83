"""What the settings dialog shows and edits: the schema of the settings, their values as a draft, a control
for each setting, made from its type, and pages of them.

Everything is derived from `settings.Settings`: type, default and limits of each setting. A draft is put into
the settings as they are on disk by then, which may be newer than those it was made from. A page is a form and
nothing else: the dialog fills it with the values of a draft and reads them back, by key.

Threading: slow to import (pydantic), so a job does; controls on the GUI thread, drafts are pure. Nothing is
read or written. Failure: `with_draft` raises `UserError`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import BaseModel, RootModel, ValidationError
from pydantic.fields import FieldInfo
from PySide6.QtCore import QObject, Qt, Signal, SignalInstance, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFormLayout,
    QGridLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from reverie.agents.capabilities import ProviderInfo
from reverie.errors import UserError
from reverie.settings import Settings
from reverie.ui.appearance import GAP, UNIT, Icons, WindowStyle, theme_of
from reverie.ui.dialogs import is_model_name
from reverie.ui.display_text import as_tooltip, key_source, probe_state, tr, translated, visible
from reverie.ui.display_text import translatable as _
from reverie.ui.settings.pages import HELP, LABELS, UNITS, ZEROS, PageSpec, choices, label
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, column, row_of
from reverie.values import Struct, fields_of

if TYPE_CHECKING:
    from reverie.services.models import ModelsView, ProbeLine

# Schema and draft.


Kind = Literal["switch", "whole", "decimal", "choice", "text", "pairs"]
ANY = "*"
"""Stands in a key for a name that people choose."""


class Setting(Struct, frozen=True):
    """One setting of the schema."""

    key: str
    """As in `config.toml`, with dots: `dream.engine`, `providers.*.wire`."""
    kind: Kind
    default: Any
    least: float = 0
    """`least` and `most`: the limits of a number."""
    most: float = 0
    choices: tuple[str, ...] = ()
    pattern: str = ""
    """What a text has to match; empty for any."""

    @property
    def last(self) -> str:
        """Its own name within its table."""
        return self.key.rpartition(".")[2]

    @property
    def where(self) -> str:
        """Its place in `config.toml`: `[dream] engine`."""
        return where(self.key)


def where(key: str) -> str:
    """`dream.engine` as `[dream] engine`; a name that people choose as `NAME`."""
    table, _, last = key.replace(ANY, "NAME").rpartition(".")
    return f"[{table}] {last}"


def schema() -> tuple[Setting, ...]:
    """Every setting of this version, in the order of the file."""
    return tuple(_of_section(Settings))


def values_of(settings: Settings) -> dict[str, Any]:
    """The value of every setting that is in no table of names, by its key."""
    return {
        f"{section}.{name}": value
        for section, values in settings.model_dump().items()
        for name, value in values.items()
        if section not in _tables(type(settings))
    }


def _tables(kind: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for name, field in kind.model_fields.items() if _entry(field) is not None)


def _of_section(kind: type[BaseModel], name: str = "") -> Iterator[Setting]:
    for own, info in kind.model_fields.items():
        key, inner = f"{name}{own}", info.annotation
        entry = _entry(info)
        if entry is not None:
            yield from _of_section(entry, f"{key}.{ANY}.")
        elif isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _of_section(inner, f"{key}.")
        else:
            yield _setting(key, info)


def _entry(field: FieldInfo) -> type[BaseModel] | None:
    """What each entry of a table of names is; None for another field."""
    inner = field.annotation
    if not (isinstance(inner, type) and issubclass(inner, RootModel)):
        return None
    found: type[BaseModel] = get_args(inner.model_fields["root"].annotation)[1]
    return found


def _setting(key: str, field: FieldInfo) -> Setting:
    inner, default = field.annotation, field.default
    if inner is bool:
        return Setting(key, "switch", default)
    if get_origin(inner) is Literal:
        return Setting(key, "choice", default, choices=get_args(inner))
    if inner in (int, float):
        least, most = (_limit(field, name) for name in ("ge", "le"))
        return Setting(key, "whole" if inner is int else "decimal", default, least, most)
    if get_origin(inner) is dict:
        return Setting(key, "pairs", default)
    if inner is str:
        return Setting(key, "text", default, pattern=_limit(field, "pattern"))
    raise TypeError(f"{key} is of a kind that the window cannot show: {inner}")


def _limit(field: FieldInfo, name: str) -> Any:
    """A limit that the type names."""
    return next(getattr(each, name) for each in field.metadata if getattr(each, name, None) is not None)


RULES, AUTO = "rules", "auto"
_BACKGROUND = f"background.{ANY}."


@dataclasses.dataclass(frozen=True, slots=True)
class SettingsDraft:
    """Settings as the dialog edits them. One that it gives back may hold some settings only: all others
    stay as they are on disk."""

    values: Mapping[str, Any]
    """By the keys of the schema, except those of providers. `background.*` stands for the home that is
    shown."""
    providers: Mapping[str, Mapping[str, Any] | None] = dataclasses.field(default_factory=dict, repr=False)
    """Of each model service, by name, and by the last part of the key; None: it has no settings. Headers are
    secrets."""

    @property
    def window_style(self) -> WindowStyle:
        """Of a draft with every value."""
        return WindowStyle(**{each: self.values[f"window.{each}"] for each in fields_of(WindowStyle)})

    def updated(self, changes: SettingsDraft) -> SettingsDraft:
        """This draft after `changes`."""
        providers = {name: dict(values) for name, values in self.providers.items() if values is not None}
        for name, values in changes.providers.items():
            if values is None:
                providers.pop(name, None)
            else:
                providers.setdefault(name, {}).update(values)
        return SettingsDraft({**self.values, **changes.values}, providers)

    def before(self, changes: SettingsDraft) -> SettingsDraft:
        """What has to be changed back to undo `changes` of this draft."""
        return SettingsDraft(
            {key: self.values[key] for key in changes.values},
            {name: self.providers.get(name) for name in changes.providers},
        )


def is_base_url(text: str) -> bool:
    """Whether `text` can be the address of a service; empty stands for the usual one."""
    if not text:
        return True
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"\s", text)


def draft_of(settings: Settings, home_id: str) -> SettingsDraft:
    """What the dialog shows for one home, or where none is open (empty)."""
    values = values_of(settings)
    if home_id:
        values |= _of_home(settings, home_id)
    return SettingsDraft(
        values,
        settings.providers.model_dump(),
    )


def _of_home(settings: Settings, home_id: str) -> dict[str, Any]:
    """What may run in the background in one home."""
    values = settings.background.of(home_id).model_dump()
    return {f"{_BACKGROUND}{name}": value for name, value in values.items()}


def with_draft(settings: Settings, draft: SettingsDraft, home_id: str) -> Settings:
    """`settings` with the values of `draft`, for one home. Raises `UserError` if a value is not valid."""
    plain = settings.model_dump()
    of_home = {key: value for key, value in draft.values.items() if key.startswith(_BACKGROUND)}
    for key, value in draft.values.items():
        if key not in of_home:
            section, _, name = key.partition(".")
            plain[section][name] = value
    before = _of_home(settings, home_id)
    # A home whose values are the defaults needs no entry.
    if before | of_home != before:
        plain["background"][home_id] = {
            key.removeprefix(_BACKGROUND): value for key, value in (before | of_home).items()
        }
    for provider, values in draft.providers.items():
        if values is None:
            plain["providers"].pop(provider, None)
        else:
            plain["providers"].setdefault(provider, {}).update(values)
    try:
        return Settings.model_validate(plain)
    except ValidationError as error:
        names = ", ".join(".".join(map(str, each["loc"])) for each in error.errors(include_url=False))
        raise UserError(
            "These settings cannot be saved.",
            cause=f"Not valid: {names}.",
            next_step="Correct them and save again.",
            reason="settings",
        ) from error


def explanation(setting: Setting) -> str:
    """The tool tip of a field: what it does, its default, and its place in `config.toml`."""
    default = tr("Default: {value}").format(value=as_toml(setting.default))
    return "\n".join((translated(HELP[setting.key]), default, setting.where))


def as_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{}"
    return f'"{value}"' if isinstance(value, str) else str(value)


# Controls and pages.


_MB = 1_000_000
_SCALES = {"system1.keep_bytes": _MB}
"""How many units of a setting one unit of its control is."""
_SMALLEST_FONT = 6
_CHARS = 18
_PAIR = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*:\s*(.*)")
"""A header: its name as HTTP allows one, and its value."""


class Amount(QDoubleSpinBox):
    """Shows no decimals that say nothing."""

    def textFromValue(self, value: float) -> str:
        return self.locale().toString(value, "g", 6)


class ModelBox(QComboBox):
    """Which model: one of a few choices that have words, or `provider:model` as it is typed."""

    def __init__(self, words: Sequence[tuple[str, str]]) -> None:
        """`words`: (value, text)."""
        super().__init__()
        self._words = {text: value for value, text in words}
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.addItems(list(self._words))
        shorten(self)

    @property
    def value(self) -> str:
        """What is chosen or typed; may be no model yet."""
        text = self.currentText().strip()
        return self._words.get(text, text)

    def choose(self, value: str) -> None:
        texts = {value: text for text, value in self._words.items()}
        self.setEditText(texts.get(value, value))
        edit = self.lineEdit()
        assert edit is not None
        edit.home(False)  # of a long text the beginning is shown

    def suggest(self, name: str) -> None:
        """Offer a model; what is typed stays."""
        if self.findText(name) < 0:
            typed = self.currentText()
            self.addItem(name)
            self.setEditText(typed)


Control = QCheckBox | QSpinBox | QDoubleSpinBox | QComboBox | QLineEdit


def shorten(box: QComboBox) -> None:
    """Ask for room for a few characters, however long the texts are."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_CHARS)


def _control(setting: Setting) -> Control:
    key, unit = setting.key, translated(UNITS[setting.key]) if setting.key in UNITS else ""
    if setting.kind == "switch":
        return QCheckBox(translated(LABELS[key]))
    if setting.kind == "whole" and key in ZEROS:
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
        amount.setSpecialValueText(translated(ZEROS[key]) if key in ZEROS else "")
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
    """A size of type, of which 0 has words; one that can be below 0 is a difference."""
    made = QComboBox()
    shorten(made)
    for size in range(int(setting.least), int(setting.most) + 1):
        if not size:
            made.addItem(translated(ZEROS[setting.key]), 0)
        elif setting.least < 0 or size >= _SMALLEST_FONT:
            made.addItem((f"{size:+d}" if setting.least < 0 else str(size)) + unit, size)
    return made


class Field(QObject):
    """A setting and the control that shows it. `edited()`: by hand, not by `show_value`.

    A value that the control cannot show exactly (a fraction, bytes in megabytes) stays exact until it is
    edited."""

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
            # The values of headers are secrets: the names alone are shown.
            widget.clear()
            names = ", ".join(visible(name) for name in value)
            widget.setPlaceholderText(names or self.tr("Name: value; another: value"))
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
        """As it is edited; None for text that is not valid."""
        now = self._control_value()
        if now == self._as_shown:
            return self._value
        return _pairs(self._value, now) if self.setting.kind == "pairs" else now

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        value, setting = self.value, self.setting
        if isinstance(self.widget, ModelBox) and not re.search(setting.pattern, value):
            return self.tr("A model is written as service:model, such as ollama:qwen3:8b.")
        if setting.last == "base_url" and not is_base_url(value):
            return self.tr("An address begins with http:// or https://.")
        bad = value is None or (setting.pattern and re.search(setting.pattern, value) is None)
        return self.tr("“{label}” is not valid.").format(label=label(setting.key)) if bad else ""


def _change_signal(widget: Control) -> SignalInstance:
    if isinstance(widget, QCheckBox):
        return widget.toggled
    if isinstance(widget, ModelBox):
        return widget.editTextChanged
    if isinstance(widget, QComboBox):
        return widget.currentIndexChanged
    if not isinstance(widget, QLineEdit):
        return widget.valueChanged
    # A secret is taken as a whole and wiped, so not while it is being typed.
    secret = widget.echoMode() == QLineEdit.EchoMode.Password
    return widget.editingFinished if secret else widget.textChanged


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


class Row(Struct, frozen=True):
    """A row of a page, and what a search looks for in it."""

    widget: QWidget
    heading: QWidget | None
    text: str


class SettingsPage(QWidget):
    """`changed()`: something was edited."""

    changed = Signal()

    def __init__(self, spec: PageSpec, schema: Mapping[str, Setting], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec = spec
        self.title = translated(spec.title)
        self.fields = {key: Field(schema[key], self) for key in spec.keys}
        self._rows: list[Row] = []
        self.about = WrapLabel(translated(spec.about) if spec.about else "")
        if not spec.about:
            self.about.hide()  # showing what has no parent yet would open a window
        self.form = QFormLayout()
        self.form.setHorizontalSpacing(2 * GAP)
        self.form.setVerticalSpacing(GAP + UNIT)
        column(self, self.about, self.form, gap=GAP + UNIT).addStretch(1)
        self.lay_out()
        for field in self.fields.values():
            field.edited.connect(self.changed)
        self._gate()

    def lay_out(self) -> None:
        """The groups below each other."""
        for heading, keys in self.spec.groups:
            self.add_group(heading, keys)

    def add_group(self, heading: str, keys: Sequence[str]) -> None:
        """These settings, below what is there."""
        head: QLabel | None = None
        if heading:
            head = QLabel(translated(heading))
            embolden(head)
            head.setContentsMargins(0, GAP, 0, 0)
            self.form.addRow(head)
        for key in keys:
            self.add_setting(key, head)

    def add_setting(self, key: str, heading: QWidget | None = None) -> None:
        field = self.fields[key]
        self.add_row(LABELS[key], field.widget, explanation(field.setting), heading, key)

    def add_row(
        self,
        text: str,
        widget: QWidget,
        about: str,
        heading: QWidget | None = None,
        key: str = "",
    ) -> None:
        """`text`: the label, to be translated, with its mnemonic. `about`: the tool tip of both. `key`: of
        the setting."""
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
        """Lay each field below its label, or beside it."""
        ways = QFormLayout.RowWrapPolicy
        self.form.setRowWrapPolicy(ways.WrapAllRows if narrow else ways.WrapLongRows)

    def _gate(self) -> None:
        """What needs the switch of the page can be edited only while it is on."""
        switch = self.fields[self.spec.switch].widget if self.spec.switch else None
        if not isinstance(switch, QCheckBox):
            return
        for key, field in self.fields.items():
            if key != self.spec.switch and key not in self.spec.free:
                field.widget.setEnabled(switch.isChecked())
                switch.toggled.connect(field.widget.setEnabled)

    def show_values(self, values: Mapping[str, Any]) -> None:
        """Fill in the form; settings of other pages are ignored."""
        for key, field in self.fields.items():
            if key in values:
                field.show_value(values[key])

    def edits(self, kept: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The values that differ from those kept and can be saved, by key."""
        for key, field in self.fields.items():
            if key in kept and not field.problem and field.value != kept[key]:
                yield key, field.value

    @property
    def problem(self) -> str:
        """Why something of it cannot be saved; empty if all of it can."""
        return next(filter(None, (field.problem for field in self.fields.values())), "")

    def show_matching(self, words: Sequence[str]) -> bool:
        """Only the rows that have every one of `words`, all of them if the title has; whether there are
        any."""
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


# The page on which a model is set up: service, address, key and model, the list of models that the service
# offers, and a test of what is typed.
#
# A service is chosen or named by typing; one of a new name is saved once it has an address. A key goes from
# its field into the system's keyring by a signal and is wiped from the field once it is there; it is never
# shown again, and no setting holds it.
#
# Threading: GUI thread; nothing is read or written here.


_SIGNS = {"pass": "check", "fail": "error", "skip": "info"}
_STEPS = 5
_PREFIX = "providers.*."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ProbeLines(QWidget):
    """The steps of a test, each with a sign and a sentence. It keeps room for all of them."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(GAP)
        self._grid.setVerticalSpacing(UNIT)
        self._grid.setColumnStretch(1, 1)
        self._grid.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._made: list[QWidget] = []
        self.texts: tuple[str, ...] = ()

    def say(self, lines: Iterable[tuple[str, str]]) -> None:
        """Show the (state, sentence) of each step; states other than those of a test have no sign.

        Steps that a failed one left untried are not shown: the failure explains them.
        """
        for widget in self._made:
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._made, texts, failed = [], [], False
        for row, (state, sentence) in enumerate(lines):
            if failed and state == "skip":
                continue
            failed = failed or state == "fail"
            sign, label = QLabel(), WrapLabel(sentence)
            name = probe_state(state)
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
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Reserve the height of all steps, and more where a long sentence needs several lines."""
        least = _STEPS * (self.fontMetrics().height() + UNIT)
        self.setMinimumHeight(max(least, self._grid.heightForWidth(self.width())))


class _Models(QComboBox):
    """`opened()`: its list was asked for while it has none."""

    opened = Signal()

    def showPopup(self) -> None:
        if self.count():
            super().showPopup()
        else:
            self.opened.emit()


class ModelForm(SettingsPage):
    """Signals: `key_given(service, key)`, `key_forgotten(service)`; `list_wanted(service)`: its models;
    `test(model)`; `use(model)`: consolidate with it; `removed(service)`: its settings."""

    key_given = Signal(str, str)
    key_forgotten = Signal(str)
    list_wanted = Signal(str)
    test = Signal(str)
    use = Signal(str)
    removed = Signal(str)

    def __init__(self, spec: PageSpec, schema: Mapping[str, Setting], icons: Icons) -> None:
        self.service, self.key, self.model = QComboBox(), QLineEdit(), _Models()
        self.results = ProbeLines(icons)
        self._known: dict[str, ProviderInfo] = {}
        self._kept: dict[str, Mapping[str, Any]] = {}
        self._edits: dict[str, dict[str, Any]] = {}
        self._shown = ""
        self._busy = self._had_focus = False
        super().__init__(spec, schema)
        self.service.editTextChanged.connect(self._on_service)
        self.key.editingFinished.connect(self.give_key)
        self.key.textChanged.connect(self._validate)
        self.model.editTextChanged.connect(self._validate)
        self.model.opened.connect(self._on_list)
        self._validate()

    def lay_out(self) -> None:
        self._defaults = {field.setting.last: field.setting.default for field in self.fields.values()}
        for field in self.fields.values():
            field.edited.connect(self._on_edited)  # before `changed` tells others
        for box, name in ((self.service, self.tr("Service")), (self.model, self.tr("Model"))):
            box.setEditable(True)
            box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            box.setCompleter(None)  # type: ignore[arg-type]
            box.setAccessibleName(name)
            shorten(box)
        edit = self.model.lineEdit()
        assert edit is not None
        edit.setPlaceholderText(self.tr("Open the list to see what the service offers"))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setAccessibleName(self.tr("Key"))
        self.remove = FitPushButton(self.tr("Re&move"), self.tr("Remove your settings of this service"))
        self.remove.clicked.connect(self._on_remove)
        self.forget = FitPushButton(self.tr("For&get key"), self.tr("Take the key out of the keyring"))
        self.forget.clicked.connect(self._on_forget)
        self.test_button = FitPushButton(self.tr("&Test"), self.tr("Make one real tool call"))
        self.test_button.clicked.connect(self._on_test)
        self.use_button = FitPushButton(self.tr("&Use for consolidation"), clicked=self._on_use)
        about = self.tr("Choose a service, or type a name for another one")
        self.add_row(_("&Service"), _with(self.service, self.remove), about)
        self.add_setting(f"{_PREFIX}base_url")
        about = self.tr("Kept in the keyring of the system, never in a file")
        self.add_row(_("&Key"), _with(self.key, self.forget), about)
        self.add_row(_("Mode&l"), self.model, self.tr("A model of this service"))
        self.form.addRow(FlowLayout(self.test_button, self.use_button))
        self.form.addRow(self.results)
        self.results.say([])
        for heading, keys in self.spec.groups[1:]:
            self.add_group(heading, keys)

    # Values

    @property
    def current(self) -> str:
        """The service whose settings are shown."""
        return self._shown

    @property
    def model_name(self) -> str:
        """As `service:model`."""
        return f"{self._shown}:{self.model.currentText().strip()}"

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        """What was edited and can be saved, by service and the last part of the key."""
        found = {}
        for name in self._edits:
            changed = self._changed(name)
            if changed and not (name == self._shown and self.problem) and self._has_address(name):
                found[name] = changed
        return found

    def _changed(self, name: str) -> dict[str, Any]:
        """What was edited of a service and is not kept yet."""
        kept = {**self._defaults, **self._kept.get(name, {})}
        return {last: value for last, value in self._edits.get(name, {}).items() if value != kept[last]}

    def _has_address(self, name: str) -> bool:
        own = {**self._kept.get(name, {}), **self._edits.get(name, {})}
        return name in self._known or bool(own.get("base_url"))

    @property
    def problem(self) -> str:
        """Why something of it cannot be saved; empty if all of it can."""
        typed = self.service.currentText().strip()
        if typed and not _NAME.fullmatch(typed):
            return self.tr("The name of a service has letters, digits, dots, hyphens and underscores.")
        for name in self._edits:
            if self._changed(name) and not self._has_address(name):
                return self.tr("The service {name} has no address yet.").format(name=name)
        return super().problem

    def show_kept(self, kept: Mapping[str, Mapping[str, Any] | None], replaced: Collection[str] = ()) -> None:
        """The settings of each service; one without an entry has the defaults. Edits of the `replaced` ones
        are dropped."""
        self._kept = {name: values for name, values in kept.items() if values is not None}
        self._edits = {name: edits for name, edits in self._edits.items() if name not in replaced}
        self._fill_services()
        self._show_service()

    def saved(self, kept: Mapping[str, Mapping[str, Any] | None]) -> None:
        """These are on disk now; what was edited meanwhile stays."""
        self._kept = {name: values for name, values in kept.items() if values is not None}
        self._edits = {name: edits for name, edits in self._edits.items() if self._changed(name)}
        headers = self.fields[f"{_PREFIX}headers"]
        own = self._kept.get(self._shown, {})
        if headers.value == own.get("headers", {}):
            headers.show_value(headers.value)  # wiped
        self._fill_services()
        self._validate()

    def show_models(self, models: ModelsView) -> None:
        """The services as they are known now."""
        self._known = {provider.name: provider for provider in models.providers}
        self._fill_services()
        self._say_known()

    def _fill_services(self) -> None:
        typed = self.service.currentText()
        self.service.blockSignals(True)
        self.service.clear()
        self.service.addItems(list(dict.fromkeys([*self._known, *self._kept])))
        self.service.setEditText(typed or self.service.itemText(0))
        self.service.blockSignals(False)
        if not typed:
            self._on_service()

    @Slot()
    def _on_service(self) -> None:
        """Another service: its settings, and nothing that was typed for the last one."""
        self.give_key()
        typed = self.service.currentText().strip()
        self._shown = typed if _NAME.fullmatch(typed) else ""
        self.key.clear()
        self.model.clear()
        self.model.clearEditText()
        self.results.say([])
        self._show_service()

    def _show_service(self) -> None:
        own = {**self._kept.get(self._shown, {}), **self._edits.get(self._shown, {})}
        for field in self.fields.values():
            field.show_value(own.get(field.setting.last, field.setting.default))
            field.widget.setEnabled(bool(self._shown))
        self._say_known()

    def _say_known(self) -> None:
        """What the fields stand for while they are empty."""
        known = self._known.get(self._shown)
        address = self.fields[f"{_PREFIX}base_url"].widget
        assert isinstance(address, QLineEdit)
        address.setPlaceholderText(known.base_url if known is not None else "https://")
        self.key.setPlaceholderText(key_source(known.key_source) if known is not None else "")
        self._validate()

    @Slot()
    def _on_edited(self) -> None:
        edits = self._edits.setdefault(self._shown, {})
        for field in self.fields.values():
            if not field.problem:
                edits[field.setting.last] = field.value
        self._validate()

    @Slot()
    def _validate(self) -> None:
        known = self._known.get(self._shown)
        self.key.setEnabled(bool(self._shown))
        self.forget.setEnabled(known is not None and known.key_source == "keyring")
        self.remove.setEnabled(self._shown in self._kept)
        ready = is_model_name(self.model_name) and not self.problem
        self.test_button.setEnabled(ready and not self._busy)
        self.use_button.setEnabled(ready)

    # Asking

    def finish(self) -> None:
        """The dialog closes: take what the focus is still in."""
        self.give_key()
        if self._shown and self.fields[f"{_PREFIX}headers"].widget.hasFocus():
            self._on_edited()

    @Slot()
    def give_key(self) -> None:
        """Keep the key that was typed."""
        key = self.key.text().strip()
        if key and self._shown:
            self.key_given.emit(self._shown, key)

    def key_kept(self, service: str, key: str) -> None:
        """It is in the keyring."""
        if service == self._shown and self.key.text().strip() == key:
            self.key.clear()

    @Slot()
    def _on_forget(self) -> None:
        self.key_forgotten.emit(self._shown)

    @Slot()
    def _on_remove(self) -> None:
        self._edits.pop(self._shown, None)
        self.removed.emit(self._shown)

    @Slot()
    def _on_use(self) -> None:
        self.use.emit(self.model_name)

    @Slot()
    def _on_list(self) -> None:
        if self._shown and not self._busy:
            self._begin(self.tr("Asking {service} for its models…").format(service=self._shown))
            self.list_wanted.emit(self._shown)

    def show_list(self, service: str, names: Sequence[str]) -> None:
        """What a service offers."""
        self._end(self.tr("{service} offers no model.").format(service=service) if not names else "")
        if service != self._shown:
            return
        typed = self.model.currentText()
        self.model.addItems(list(names))
        self.model.setEditText(typed)
        if names and self.isVisible():
            self.model.showPopup()

    @Slot()
    def _on_test(self) -> None:
        self._begin(self.tr("Asking {model}…").format(model=self.model_name))
        self.test.emit(self.model_name)

    def tested(self, lines: Sequence[ProbeLine]) -> None:
        """Show the result of each step of the test."""
        self._end()
        self.results.say([(line.state, line.sentence) for line in lines])

    def failed(self, sentence: str) -> None:
        """A test or a list could not be made."""
        self._end()
        self.results.say([("fail", sentence)])

    def _begin(self, sentence: str) -> None:
        self._busy = True
        self._had_focus = self.test_button.hasFocus()
        self.results.say([("", sentence)])
        self._validate()

    def _end(self, sentence: str = "") -> None:
        self._busy = False
        self.results.say([("", sentence)] if sentence else [])
        self._validate()
        if self._had_focus:
            # Qt moved the focus to the next field when the button was disabled.
            self.test_button.setFocus()


def _with(field: QWidget, button: QWidget) -> QWidget:
    """A field with a button at its right."""
    made = QWidget()
    row_of(field, button, holder=made, grows=field)
    made.setFocusProxy(field)
    return made
