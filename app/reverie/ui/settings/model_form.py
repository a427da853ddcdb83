"""The settings page on which the user sets up a model service and its models.

Threading: GUI thread; nothing is read or written here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QLineEdit, QWidget

from reverie.agents.capabilities import ProviderInfo
from reverie.ui.appearance import GAP, UNIT, theme_of
from reverie.ui.dialogs import is_model_name
from reverie.ui.display_text import key_source, probe_state
from reverie.ui.display_text import translatable as _
from reverie.ui.icons import Icons
from reverie.ui.settings.pages import PageSpec
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, row_of

if TYPE_CHECKING:
    from reverie.llm.probe import ProbeStep
    from reverie.services.models import ModelsView
from reverie.ui.settings.draft import Setting
from reverie.ui.settings.fields import SettingsPage, shorten

_SIGNS = {"pass": "check", "fail": "error", "skip": "info"}


_STEPS = 5


_PREFIX = "providers.*."


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class ProbeLines(QWidget):
    """The steps of a connection test, each with an icon and a sentence.

    Space for all steps is reserved, so that the form does not move.
    """

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
        """Show the (state, sentence) pairs of the steps; a step with an unknown state gets no icon.

        Steps that were skipped after a failed step are not shown, because the failed step is the reason.
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
        """Set the minimum height: that of `_STEPS` lines, or of the shown steps if they need more lines."""
        least = _STEPS * (self.fontMetrics().height() + UNIT)
        self.setMinimumHeight(max(least, self._grid.heightForWidth(self.width())))


class _Models(QComboBox):
    """A combo box of models, whose list is loaded when the user opens it.

    Signals:
        opened(): The user opened the list while it was empty.
    """

    opened = Signal()

    def showPopup(self) -> None:
        if self.count():
            super().showPopup()
        else:
            self.opened.emit()


class ModelForm(SettingsPage):
    """The page that sets up a model: service, address, key and model, a list of models, and a test.

    The user chooses a service, or types the name of a new one, which is saved once it has an address. The key
    is not a setting: a signal passes it from its field to the system's keyring, and the field is cleared once
    the keyring has it. It is never shown again.

    Signals:
        key_given(service, key): Store the key in the keyring.
        key_forgotten(service): Remove the key from the keyring.
        list_wanted(service): List the models of the service.
        test(model): Test the model.
        use(model): Use the model for consolidations.
        removed(service): Remove the settings of the service.
    """

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
            field.edited.connect(self._on_edited)  # before `changed` is emitted
        for box, name in ((self.service, self.tr("Service")), (self.model, self.tr("Model"))):
            box.setEditable(True)
            box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
            box.setCompleter(None)  # type: ignore[arg-type]
            box.setAccessibleName(name)
            shorten(box)
        edit = self.model.lineEdit()
        assert edit is not None
        edit.setPlaceholderText(self.tr("Open the list to see the models of the service"))
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setAccessibleName(self.tr("Key"))
        about = self.tr("Remove your settings for this service")
        self.remove = FitPushButton(self.tr("Re&move"), about, clicked=self._on_remove)
        about = self.tr("Remove the key from the keyring")
        self.forget = FitPushButton(self.tr("For&get key"), about, clicked=self._on_forget)
        about = self.tr("Send the model one request to test it")
        self.test_button = FitPushButton(self.tr("&Test"), about, clicked=self._on_test)
        self.use_button = FitPushButton(self.tr("&Use for consolidation"), clicked=self._on_use)
        about = self.tr("Choose a service, or type a name to add one")
        self.add_row(_("&Service"), _with(self.service, self.remove), about)
        self.add_rows(self.spec.rows[:1])
        about = self.tr("Stored in the system's keyring, never in a file")
        self.add_row(_("&Key"), _with(self.key, self.forget), about)
        self.add_row(_("Mode&l"), self.model, self.tr("The name of a model that this service offers"))
        self.form.addRow(FlowLayout(self.test_button, self.use_button))
        self.form.addRow(self.results)
        self.results.say([])
        self.add_rows(self.spec.rows[1:])

    @property
    def model_name(self) -> str:
        """The shown model as `service:model`; either part may be empty."""
        return f"{self._shown}:{self.model.currentText().strip()}"

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        """The valid edits that are not saved yet, by service and by the last part of the key."""
        bad = self._shown if self.problem else None
        found = {name: self._changed(name) for name in self._edits if name != bad and self._has_address(name)}
        return {name: changed for name, changed in found.items() if changed}

    def _changed(self, name: str) -> dict[str, Any]:
        """Return the edits of the service `name` that differ from the saved settings."""
        kept = {**self._defaults, **self._kept.get(name, {})}
        return {last: value for last, value in self._edits.get(name, {}).items() if value != kept[last]}

    def _own(self, name: str) -> dict[str, Any]:
        """Return the saved settings of the service `name`, changed by the edits."""
        return {**self._kept.get(name, {}), **self._edits.get(name, {})}

    def _has_address(self, name: str) -> bool:
        return name in self._known or bool(self._own(name).get("base_url"))

    @property
    def problem(self) -> str:
        """The reason why some input cannot be saved; empty if all of it can."""
        typed = self.service.currentText().strip()
        if typed and not _NAME.fullmatch(typed):
            return self.tr(
                "The name of a service can contain only letters, digits, dots, hyphens and underscores."
            )
        for name in self._edits:
            if self._changed(name) and not self._has_address(name):
                return self.tr("The service {name} has no address yet. Enter its address.").format(name=name)
        return super().problem

    def show_kept(self, kept: Mapping[str, Mapping[str, Any] | None], replaced: Collection[str] = ()) -> None:
        """Show `kept`, the saved settings of each service; None means that a service has only defaults.

        Unsaved edits of the services in `replaced` are dropped; those of other services stay.
        """
        self._kept = {name: values for name, values in kept.items() if values is not None}
        self._edits = {name: edits for name, edits in self._edits.items() if name not in replaced}
        self._fill_services()
        self._show_service()

    def saved(self, kept: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Update the form after a save; `kept` are the settings that are in the file now.

        Edits that were made after the save stay in the form.
        """
        self._kept = {name: values for name, values in kept.items() if values is not None}
        self._edits = {name: edits for name, edits in self._edits.items() if self._changed(name)}
        headers = self.fields[f"{_PREFIX}headers"]
        own = self._kept.get(self._shown, {})
        if headers.value == own.get("headers", {}):
            headers.show_value(headers.value)  # clears the typed text, which is secret
        self._fill_services()
        self._validate()

    def show_models(self, models: ModelsView) -> None:
        """Add the services that the engine knows to the list, and show where their keys are stored."""
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
        """Show the settings of the service that the user chose, and clear the input for the previous one."""
        self.give_key()
        typed = self.service.currentText().strip()
        self._shown = typed if _NAME.fullmatch(typed) else ""
        self.key.clear()
        self.model.clear()
        self.model.clearEditText()
        self.results.say([])
        self._show_service()

    def _show_service(self) -> None:
        own = self._own(self._shown)
        for field in self.fields.values():
            field.show_value(own.get(field.setting.last, field.setting.default))
            field.widget.setEnabled(bool(self._shown))
        self._say_known()

    def _say_known(self) -> None:
        """Set the placeholder texts of the address and key: the values that are used for empty fields."""
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

    def finish(self) -> None:
        """Emit `key_given` for the typed key, and accept the typed headers if their field has the focus.

        Called before the dialog closes, because these two fields otherwise wait until they lose the focus.
        """
        self.give_key()
        if self._shown and self.fields[f"{_PREFIX}headers"].widget.hasFocus():
            self._on_edited()

    @Slot()
    def give_key(self) -> None:
        """Emit `key_given` for the typed key, if there is one."""
        key = self.key.text().strip()
        if key and self._shown:
            self.key_given.emit(self._shown, key)

    def key_kept(self, service: str, key: str) -> None:
        """Clear the field for the key of `service` if it still has `key`, which is now in the keyring."""
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
        """Open the list with the names of the models that `service` offers."""
        self._end(self.tr("{service} offers no models.").format(service=service) if not names else "")
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

    def tested(self, lines: Sequence[ProbeStep]) -> None:
        """Show the result of each step of the test."""
        self._end()
        self.results.say([(line.state, line.sentence) for line in lines])

    def failed(self, sentence: str) -> None:
        """Show `sentence`, the reason why the test failed or why the models could not be listed."""
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
    """Return a field with a button at its right."""
    made = QWidget()
    row_of(field, button, holder=made, grows=field)
    made.setFocusProxy(field)
    return made
