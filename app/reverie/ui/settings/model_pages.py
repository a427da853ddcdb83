"""The first two pages of the settings: what consolidates and its limits; model services, their keys and
addresses, and servers on this machine.

A key goes from its field into the system's keyring by a signal and is wiped from the field; it is never
shown again, and no setting holds it.

Threading: GUI thread; nothing is read or written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import (
    QComboBox,
    QFormLayout,
    QGridLayout,
    QHeaderView,
    QLabel,
    QLineEdit,
    QRadioButton,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from reverie.llm.catalogue import ProviderInfo
from reverie.ui.appearance import GAP, MARGIN, UNIT, CalmSelection, Icons, theme_of
from reverie.ui.dialogs import is_model_name
from reverie.ui.display_text import as_tooltip, engine, key_source, probe_state, visible
from reverie.ui.settings.draft import AUTO, RULES, Setting, is_base_url
from reverie.ui.settings.fields import GeneratedFields, Rows, SettingsPage, number
from reverie.ui.translation import counted
from reverie.ui.widgets.controls import FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import column, row_of

if TYPE_CHECKING:
    from reverie.services.model_services import ModelsView, ProbeLine


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
        self.bind("dream", max_loss_percent=self.loss, time_limit_s=self.time)
        self.test_button.clicked.connect(self._on_test)
        self._validate()

    def _lay_out(self) -> None:
        line = row_of(self.name, self.test_button, grows=self.name, margin=(MARGIN * 2, 0, 0, 0))
        below = column(None, self.hint, self.results, margin=(MARGIN * 2, 0, 0, 0), gap=UNIT)
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
        choices = (self.auto, self.rules, self.model, self.name, self.test_button)
        return {"dream.engine": choices, **super().rows}

    @property
    def values(self) -> dict[str, Any]:
        return {"dream.engine": self.engine, **super().values}

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

    def show_values(self, values: Mapping[str, Any]) -> None:
        super().show_values(values)
        name = values["dream.engine"]
        if name not in (AUTO, RULES):
            self.name.setEditText(name)
        choices = {AUTO: self.auto, RULES: self.rules}
        choices.get(name, self.model).setChecked(True)
        self._validate()

    def show_models(self, models: ModelsView) -> None:
        """What the button will use as things are saved."""
        self.used.say(
            self.tr("As saved, “Consolidate” uses {engine}. {reason}").format(
                engine=engine(models.engine), reason=visible(models.engine_reason)
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
        self._validate()

    def tested(self, lines: Sequence[ProbeLine]) -> None:
        """Show the result of each step of the test."""
        self._end_test([(line.state, line.sentence) for line in lines])

    def test_failed(self, sentence: str) -> None:
        """The test could not be made."""
        self._end_test([("fail", sentence)])

    def _end_test(self, lines: Sequence[tuple[str, str]]) -> None:
        self._testing = False
        self.results.say(lines)
        self._validate()
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
        self._validate()
        self.changed.emit()

    def _validate(self) -> None:
        typed = bool(self.name.currentText().strip())
        self.hint.say(self.problem if typed else "")
        self.hint.setVisible(bool(self.hint.text()))
        can_test = self.model.isChecked() and not self.problem and not self._testing
        self.test_button.setEnabled(can_test)


def _heading(text: str) -> QLabel:
    made = QLabel(text)
    embolden(made)
    return made


LocalServer = tuple[str, str, Sequence[str]]
"""Provider, base URL, models."""
_ROLE = Qt.ItemDataRole.UserRole
_PREFIX = "providers.*."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ProvidersPage(SettingsPage):
    """`key_given(provider, key)`, `key_forgotten(provider)`, `find_servers()`, `model_chosen(model)`,
    `changed()`: an address was edited."""

    key_given = Signal(str, str)
    key_forgotten = Signal(str)
    find_servers = Signal()
    model_chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._providers: dict[str, ProviderInfo] = {}
        self._addresses: dict[str, str] = {}
        self._kept: Mapping[str, Mapping[str, Any]] = {}
        self._edits: dict[str, dict[str, Any]] = {}
        self.more: GeneratedFields | None = None
        self.table = _tree((self.tr("Provider"), self.tr("Key"), self.tr("Address")), self.tr("Providers"))
        self.table.currentItemChanged.connect(self._show_current)
        self.address = QLineEdit()
        self.address.setAccessibleName(self.tr("Address of the provider"))
        self.address.textEdited.connect(self._on_address)
        self.key = QLineEdit()
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setAccessibleName(self.tr("Key of the provider"))
        self.key.setPlaceholderText(self.tr("Kept in the system's keyring, nowhere else"))
        self.key.textChanged.connect(self._validate)
        self.key.returnPressed.connect(self._on_key)
        self.save_key = FitPushButton(self.tr("Save key"), clicked=self._on_key)
        self.forget_key = FitPushButton(self.tr("Forget key"), clicked=self._on_forget)
        self._added: set[str] = set()
        self.new = QLineEdit()
        self.new.setAccessibleName(self.tr("Name of another provider"))
        self.new.setPlaceholderText(self.tr("a name of your own"))
        self.new.textChanged.connect(self._validate)
        self.new.returnPressed.connect(self._on_add)
        self.add = FitPushButton(self.tr("Add"))
        self.add.setToolTip(self.tr("Add a provider of this name; then give its address"))
        self.add.clicked.connect(self._on_add)
        self.hint = WrapLabel()
        self.look = FitPushButton(self.tr("Find local servers"))
        self.look.setToolTip(self.tr("Look at the usual ports of this machine"))
        self.look.clicked.connect(self._on_find)
        self.found_hint = WrapLabel()
        self.found = _tree((self.tr("Model"), self.tr("Server")), self.tr("Models of local servers"))
        self.found.itemActivated.connect(self._on_chosen)
        self.found.itemSelectionChanged.connect(self._validate)
        self.use = FitPushButton(self.tr("Use this model"), clicked=self._on_use)
        self.found.hide()
        self.use.hide()
        self._lay_out()
        self._show_current()

    def _lay_out(self) -> None:
        keys = row_of(self.key, self.save_key, self.forget_key, grows=self.key)
        form = self._form = QFormLayout()
        form.setHorizontalSpacing(GAP)
        form.setVerticalSpacing(GAP)
        form.addRow(_buddy(self.tr("&Address"), self.address), self.address)
        form.addRow(_buddy(self.tr("&Key"), self.key), keys)
        adding = row_of(_buddy(self.tr("An&other provider"), self.new), self.new, self.add, grows=self.new)
        finding = row_of(self.look, self.found_hint, grows=self.found_hint)
        outer = column(self)
        outer.addWidget(self.table, 3)
        outer.addLayout(adding)
        outer.addLayout(form)
        outer.addWidget(self.hint)
        outer.addLayout(finding)
        outer.addWidget(self.found, 2)
        outer.addWidget(self.use, 0, Qt.AlignmentFlag.AlignLeft)

    # Values

    @property
    def rows(self) -> Rows:
        """The settings that are laid out by hand, of the provider that is chosen."""
        return {"providers.*.base_url": (self.address,)}

    @property
    def base_urls(self) -> Mapping[str, str]:
        """Addresses that differ from what was shown, by provider."""
        return {
            name: address
            for name, address in self._addresses.items()
            if name in self._providers and address != self._providers[name].base_url
        }

    @property
    def problem(self) -> str:
        """Why this cannot be saved; empty if it can."""
        for name, address in self.base_urls.items():
            if not is_base_url(address):
                return self.tr("The address of {provider} must begin with http:// or https://.").format(
                    provider=name
                )
        for name in sorted(self._added):
            if not self._addresses.get(name):
                return self.tr("The provider {provider} has no address yet.").format(provider=name)
        return self.more.problem if self.more is not None else ""

    def expect(self, settings: Sequence[Setting]) -> None:
        """What else there is to set of each provider: rows of the form, made from the schema."""
        if self.more is None:
            self.more = GeneratedFields(self._form, settings, self)
            self.more.edited.connect(self._on_more)

    @property
    def edits(self) -> Mapping[str, Mapping[str, Any]]:
        """What was edited, by provider and the last part of the key."""
        edits = {name: dict(values) for name, values in self._edits.items() if name in self._providers}
        for name, address in self.base_urls.items():
            edits.setdefault(name, {})["base_url"] = address
        return edits

    def show_kept(self, kept: Mapping[str, Mapping[str, Any]]) -> None:
        """The settings of each provider; one without an entry has the defaults."""
        self._kept, self._edits = kept, {}
        self._show_more()

    def _show_more(self) -> None:
        if self.more is not None:
            own = {**self._kept.get(self.current, {}), **self._edits.get(self.current, {})}
            self.more.show_values({f"{_PREFIX}{name}": value for name, value in own.items()})
            for field in self.more.all:
                field.widget.setEnabled(self.current in self._providers)

    @Slot()
    def _on_more(self) -> None:
        assert self.more is not None
        edited = self._edits.setdefault(self.current, {})
        edited.update((field.setting.last, field.value) for field in self.more.all if field.touched)
        self._validate()
        self.changed.emit()

    def show_models(self, models: ModelsView) -> None:
        """The services as they are known now; addresses that were edited and not saved stay."""
        edited = self.base_urls
        current = self.current
        waiting = {name: self._providers[name] for name in self._added}
        self._providers = waiting | {provider.name: provider for provider in models.providers}
        self._added -= {provider.name for provider in models.providers}
        self._addresses = {name: provider.base_url for name, provider in self._providers.items()} | {
            name: address for name, address in edited.items() if name in self._providers
        }
        self.table.blockSignals(True)
        self.table.clear()
        for name, provider in self._providers.items():
            item = self._add_row(provider)
            if name == current or self.table.currentItem() is None:
                self.table.setCurrentItem(item)
        self.table.blockSignals(False)
        self._show_addresses()
        self._show_current()

    def _add_row(self, provider: ProviderInfo) -> QTreeWidgetItem:
        item = QTreeWidgetItem([visible(provider.name), key_source(provider.key_source), ""])
        item.setData(0, _ROLE, provider.name)
        self.table.addTopLevelItem(item)
        return item

    @property
    def _new_name(self) -> str:
        """What is typed, if a provider can be called so and none is yet."""
        name = self.new.text().strip()
        return name if _NAME.fullmatch(name) and name not in self._providers else ""

    @Slot()
    def _on_add(self) -> None:
        name = self._new_name
        if not name:
            return
        self._providers[name] = ProviderInfo(name, "", "", "missing", local=False)
        self._added.add(name)
        self.table.setCurrentItem(self._add_row(self._providers[name]))
        self.new.clear()
        self.address.setFocus()
        self._validate()
        self.changed.emit()

    def saved(self) -> None:
        """What was edited is on disk now."""
        self._providers = {
            name: replace(provider, base_url=self._addresses.get(name, provider.base_url))
            for name, provider in self._providers.items()
        }
        self._added.clear()
        self._kept = {
            name: {**self._kept.get(name, {}), **self._edits.get(name, {})}
            for name in {*self._kept, *self._edits}
        }
        self._edits = {}
        self._show_more()

    @property
    def current(self) -> str:
        """The selected provider."""
        item = self.table.currentItem()
        return str(item.data(0, _ROLE)) if item is not None else ""

    def _show_addresses(self) -> None:
        for row in range(self.table.topLevelItemCount()):
            item = self.table.topLevelItem(row)
            assert item is not None
            address = self._addresses.get(str(item.data(0, _ROLE)), "")
            item.setText(2, visible(address))
            item.setToolTip(2, as_tooltip(address))

    @Slot()
    def _show_current(self) -> None:
        provider = self._providers.get(self.current)
        self.address.setText(self._addresses.get(self.current, ""))
        self.key.clear()
        self._show_more()
        self.address.setEnabled(provider is not None)
        # A key is kept at once, and so only for what is there once the form is saved.
        known = provider is not None and provider.key_source != "none needed"
        self.key.setEnabled(known and self.current not in self._added)
        self._validate()

    @Slot()
    def _validate(self) -> None:
        provider = self._providers.get(self.current)
        source = provider.key_source if provider is not None else ""
        self.add.setEnabled(bool(self._new_name))
        self.save_key.setEnabled(bool(self.key.text().strip()) and self.key.isEnabled())
        self.forget_key.setEnabled(source == "keyring")
        note = self.tr("The environment has a key for this provider; it wins over the keyring.")
        self.hint.say(self.problem or (note if source == "environment" else ""))
        self.hint.setVisible(bool(self.hint.text()))
        self.use.setEnabled(bool(self._chosen()))

    @Slot(str)
    def _on_address(self, text: str) -> None:
        self._addresses[self.current] = text.strip()
        self._show_addresses()
        self._validate()
        self.changed.emit()

    @Slot()
    def _on_key(self) -> None:
        key = self.key.text().strip()
        if key and self.current:
            self.key.clear()
            self.key_given.emit(self.current, key)

    @Slot()
    def _on_forget(self) -> None:
        self.key_forgotten.emit(self.current)

    # Local servers

    @Slot()
    def _on_find(self) -> None:
        self.look.setEnabled(False)
        self.found_hint.say(self.tr("Looking…"))
        self.find_servers.emit()

    def show_servers(self, servers: Sequence[LocalServer]) -> None:
        """What answers on this machine."""
        self.look.setEnabled(True)
        names = [
            (f"{provider}:{model}", address) for provider, address, models in servers for model in models
        ]
        if not servers:
            self.found_hint.say(self.tr("No server answers at the usual ports."))
        elif not names:
            addresses = ", ".join(address for _, address, _ in servers)
            self.found_hint.say(self.tr("{servers} answers, but offers no model.").format(servers=addresses))
        else:
            self.found_hint.say(counted(self.tr("1 model found."), "%n models found.", len(names)))
        self.found.clear()
        for name, address in names:
            item = QTreeWidgetItem([visible(name), visible(address)])
            item.setData(0, _ROLE, name)
            self.found.addTopLevelItem(item)
        self.found.setVisible(bool(names))
        self.use.setVisible(bool(names))
        first = self.found.topLevelItem(0)
        if first is not None:
            self.found.setCurrentItem(first)
        self._validate()

    def find_failed(self, sentence: str) -> None:
        """The search for local servers broke off."""
        self.look.setEnabled(True)
        self.found_hint.say(sentence)

    def _chosen(self) -> str:
        item = self.found.currentItem()
        return str(item.data(0, _ROLE)) if item is not None else ""

    @Slot()
    def _on_use(self) -> None:
        if self._chosen():
            self.model_chosen.emit(self._chosen())

    @Slot(QTreeWidgetItem, int)
    def _on_chosen(self, _item: QTreeWidgetItem, _column: int) -> None:
        self._on_use()


class _ProviderTable(QTreeWidget):
    """Asks for a few rows; more come with more room."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self.minimumHeight())


def _tree(columns: Sequence[str], name: str) -> QTreeWidget:
    made = _ProviderTable()
    made.setAccessibleName(name)
    made.setRootIsDecorated(False)
    made.setUniformRowHeights(True)
    made.setAllColumnsShowFocus(True)
    made.setHeaderLabels(list(columns))
    made.setTextElideMode(Qt.TextElideMode.ElideMiddle)
    made.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    header = made.header()
    header.setStretchLastSection(True)
    header.setSectionsMovable(False)
    for section in range(len(columns) - 1):
        header.setSectionResizeMode(section, QHeaderView.ResizeMode.ResizeToContents)
    made.setMinimumHeight(header.sizeHint().height() + 4 * made.fontMetrics().lineSpacing())
    CalmSelection(made)
    return made


def _buddy(text: str, control: QWidget) -> QLabel:
    made = QLabel(text)
    made.setBuddy(control)
    return made
