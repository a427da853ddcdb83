"""The settings dialog: a list of pages at the left, one page at the right, and a search over all pages.

Threading: GUI thread; nothing is read or written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QBoxLayout, QDialog, QListWidget, QPushButton, QWidget

from reverie.errors import UserError
from reverie.ui.appearance import GAP
from reverie.ui.dialogs import ask_unsaved
from reverie.ui.display_text import visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import single_shot
from reverie.ui.metrics import row_height
from reverie.ui.mnemonics import descendants
from reverie.ui.settings.draft import SettingsDraft, schema
from reverie.ui.settings.fields import Field, ModelBox, SettingsPage
from reverie.ui.settings.model_form import ModelForm
from reverie.ui.settings.pages import MODELS, PAGES, label
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.layouts import column, row_of, scrolled, stacked
from reverie.ui.widgets.messages import MessageBar

if TYPE_CHECKING:
    from reverie.services.models import ModelsView

TYPING_MS = 400
"""The delay in milliseconds between the last edit and its saving."""
_SIDE_CHARS = 18
_NARROW_CHARS = 72
_ROWS_ABOVE = 3.5
QWIDGETSIZE_MAX = (1 << 24) - 1


class SettingsSearch(SearchField):
    """A search field in which Escape clears the text first and closes the dialog only when it is empty."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            event.accept()
            return
        super().keyPressEvent(event)


class SettingsDialog(QDialog):
    """The settings dialog, which saves edits without an OK button.

    Shortly after the last edit, and when the dialog closes, all valid edits are saved; the last change can be
    undone. Invalid input stays in the form, with the reason at the bottom; when the dialog closes, the user
    is asked before that input is lost.

    The dialog is only a form: it shows a draft and emits changes; `SettingsControl` reads and saves in jobs.
    The key of a model service is never part of a draft. The page of the models (`ModelForm`) has signals of
    its own.

    Signals:
        save(SettingsDraft): Save these changes.
    """

    save = Signal(object)

    def __init__(self, icons: Icons, home: str, parent: QWidget | None = None) -> None:
        """Create the dialog.

        `home` is the name of the home whose background settings are shown; empty if no home is open.
        """
        super().__init__(parent)
        self.setWindowTitle(self.tr("Settings"))
        settings = {setting.key: setting for setting in schema()}
        specs = {spec.id: spec for spec in PAGES}
        self.models = ModelForm(specs[MODELS], settings, icons)
        self.pages: dict[str, SettingsPage] = {
            id_: self.models if id_ == MODELS else SettingsPage(spec, settings) for id_, spec in specs.items()
        }
        if not home:
            self.pages["background"].about.say(self.tr("Open a home to configure its background runs."))
        self.fields: dict[str, Field] = {k: f for page in self.pages.values() for k, f in page.fields.items()}
        self._home = home
        self._kept = SettingsDraft({})
        """The settings as saved in the file; without values until they have been read."""
        self._wanted = ""
        self._saving: SettingsDraft | None = None
        self._to_remove = ""
        """The name of the model service that leaves the form once its removal is saved; "" for none."""
        self._undo = SettingsDraft({})
        """The changes that undo the last change; without keys if there was none."""
        self._closing = self._has_failed = self._is_typed = False
        self._soon = single_shot(self, TYPING_MS, self.commit)
        self.message = MessageBar(icons, "settings-message")
        self.search = SettingsSearch(self.tr("Search the settings"))
        self.side = QListWidget()
        self.stack = stacked(*(scrolled(page, page.title, sideways=True) for page in self.pages.values()))
        self.nothing = WrapLabel()
        self.stack.addWidget(self.nothing)
        self.used = WrapLabel()
        self.status = WrapLabel()
        self.undo = FitPushButton(self.tr("&Undo"), self.tr("Undo the last change"), clicked=self._on_undo)
        self.close_button = FitPushButton(self.tr("&Close"), clicked=self.reject)
        self._lay_out()
        self._connect()
        self._validate()

    def _lay_out(self) -> None:
        letter = self.fontMetrics().averageCharWidth()
        self.side.setAccessibleName(self.tr("Settings pages"))
        self.side.setFrameShape(QListWidget.Shape.NoFrame)
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.side.addItems([page.title for page in self.pages.values()])
        self.pages["consolidation"].form.addRow(self.used)
        self._body = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._body.setSpacing(GAP)
        self._body.addWidget(self.side)
        self._body.addWidget(self.stack, 1)
        below = row_of(self.status, self.undo, self.close_button, grows=self.status)
        column(self, self.search, self._body, self.message, below, grows=self._body)
        room = self.screen().availableSize()
        self.resize(QSize(letter * 112, self.fontMetrics().height() * 40).boundedTo(room))
        self.side.setCurrentRow(0)
        for widget in descendants(self):
            if isinstance(widget, QPushButton):
                widget.setAutoDefault(False)  # Return in a field presses none

    def _connect(self) -> None:
        QShortcut(QKeySequence(QKeySequence.StandardKey.Find), self, self.search.setFocus)
        self.search.textChanged.connect(self._on_search)
        self.side.currentRowChanged.connect(self.stack.setCurrentIndex)
        for page in self.pages.values():
            page.changed.connect(self._on_changed)
            page.setEnabled(False)
        self.models.use.connect(self._on_use)
        self.models.test.connect(self._offer)
        self.models.removed.connect(self._on_removed)

    @property
    def changes(self) -> SettingsDraft:
        """The valid edits that are not saved yet."""
        pages = (page for page in self.pages.values() if page is not self.models)
        values = {key: value for page in pages for key, value in page.edits(self._kept.values)}
        return SettingsDraft(values, self.models.changes)

    @property
    def draft(self) -> SettingsDraft:
        """The saved settings, changed by the valid edits."""
        return self._kept.updated(self.changes)

    @property
    def problem(self) -> str:
        """The reason why some input cannot be saved; empty if all of it can."""
        return next(filter(None, (page.problem for page in self.pages.values())), "")

    def show_draft(self, draft: SettingsDraft) -> None:
        """Show `draft`, the settings as saved in the file, and enable the form."""
        self._kept = draft
        for name, page in self.pages.items():
            page.show_values(draft.values)
            page.setEnabled(name != "background" or bool(self._home))
        self.models.show_kept(draft.providers)
        for model in {box.value for box in self._model_boxes()}:
            self._offer(model)
        self._validate()
        if self._wanted:
            self.show_setting(self._wanted)  # no field could take the focus before

    def _model_boxes(self) -> list[ModelBox]:
        return [field.widget for field in self.fields.values() if isinstance(field.widget, ModelBox)]

    def show_models(self, models: ModelsView) -> None:
        """Show the services that the engine knows, and which model the Consolidate button uses and why."""
        self.models.show_models(models)
        text = self.tr("Consolidate currently uses {model}. {reason}")
        if models.engine == "rules":
            text = self.tr("Consolidate currently works without a model. {reason}")
        self.used.say(text.format(model=visible(models.engine), reason=models.engine_reason))

    def show_setting(self, key: str) -> None:
        """Show the page with the id `key`, or the setting with that key, which then gets the focus."""
        self.search.clear()
        ids = list(self.pages)
        page = key if key in ids else next(id_ for id_, each in self.pages.items() if key in each.fields)
        self.side.setCurrentRow(ids.index(page))
        self._wanted = key if key in self.fields else ""
        if self._wanted and self._kept.values:
            self.fields[key].widget.setFocus(Qt.FocusReason.ShortcutFocusReason)

    @Slot()
    def _on_changed(self) -> None:
        if self._kept.values:
            self._soon.start()
            self._validate()

    @Slot()
    def commit(self) -> None:
        """Emit `save` with all valid edits, unless a save is in progress or there are none."""
        self._soon.stop()
        changes = self.changes
        if self._saving is None and changes.keys:
            # Successive edits of one field are one change.
            self._ask_for(changes, goes_on=self._is_typed and changes.keys == self._undo.keys)
            self._is_typed = True

    def _ask_for(self, changes: SettingsDraft, *, goes_on: bool = False) -> None:
        self._saving, self._is_typed = changes, False
        if not goes_on:
            self._undo = self._kept.before(changes)
        self.save.emit(changes)

    def saved(self) -> None:
        """Update the dialog after the changes that `save` emitted were saved.

        Edits that were made meanwhile are saved next. If the user is closing the dialog, it closes once all
        is saved.
        """
        changes, self._saving = self._saving, None
        if changes is None:
            return
        self._kept = self._kept.updated(changes)
        self.models.saved(self._kept.providers)
        self._has_failed = False
        self.message.clear()
        self._validate()
        removed, self._to_remove = self._to_remove, ""
        if removed:
            self._on_removed(removed)
        else:
            self.commit()
        if self._closing:
            self.reject()

    def failed(self, error: UserError) -> None:
        """Show the error of a save that failed; the user's input stays in the form."""
        self._saving, self._has_failed, self._to_remove = None, True, ""
        self.message.say_error(error)
        self._validate()
        if self._closing:
            self._close()

    @Slot()
    def _on_undo(self) -> None:
        self._soon.stop()
        undo = self._undo
        if undo.keys and self._saving is None:
            self._show(undo)
            self._ask_for(undo)

    def _show(self, changes: SettingsDraft) -> None:
        for page in self.pages.values():
            page.show_values(changes.values)
        if changes.providers:
            self.models.show_kept(self._kept.updated(changes).providers, changes.providers)

    def _validate(self) -> None:
        undo, said = self._undo, self.problem
        can_undo = self._saving is None and bool(undo.keys)
        if not said and can_undo and not self._has_failed:
            name = label(next(iter(undo.values))) if undo.values else next(iter(undo.providers))
            said = self.tr("Saved: {name}").format(name=name)
        self.status.say(said)
        self.undo.setEnabled(can_undo)

    def reject(self) -> None:
        """Save all valid edits, then close the dialog; ask before discarding invalid input."""
        self.models.finish()
        self.commit()
        self._closing = True
        if self._saving is None and not self.models.key.text().strip():
            self._close()

    def _close(self) -> None:
        """Close the dialog; if some input is not saved, ask the user first, who may cancel this."""
        self._closing = False
        if self.problem or self.changes.keys or self.models.key.text().strip():
            answer = ask_unsaved(self, [self.problem] if self.problem else [])
            if answer == "save" and not self.problem:
                self.reject()
            if answer != "discard":
                return
        super().reject()

    def key_kept(self, service: str, key: str) -> None:
        """Clear the field for the key of `service` if it still has `key`, which is now in the keyring.

        If the user is closing the dialog, continue with that.
        """
        self.models.key_kept(service, key)
        if self._closing:
            self.reject()

    @Slot(str)
    def _on_search(self, query: str) -> None:
        words = query.casefold().split()
        found = [page.show_matching(words) for page in self.pages.values()]
        for row, is_shown in enumerate(found):
            self.side.item(row).setHidden(not is_shown)
        row = self.side.currentRow()
        if not any(found):
            text = self.tr("No setting contains “{query}” in its name, description or key.")
            self.nothing.say(text.format(query=query.strip()))
            self.stack.setCurrentWidget(self.nothing)
        elif row < 0 or not found[row]:
            self.side.setCurrentRow(found.index(True))
        else:
            self.stack.setCurrentIndex(row)

    @Slot(str)
    def _on_use(self, model: str) -> None:
        self._offer(model)
        choice = self.fields["dream.engine"].widget
        assert isinstance(choice, ModelBox)
        choice.choose(model)

    @Slot(str)
    def _offer(self, model: str) -> None:
        """Add `model`, which was tested or chosen by the user, to the choices of every field for a model."""
        if ":" in model:
            for box in self._model_boxes():
                box.suggest(model)

    @Slot(str)
    def _on_removed(self, service: str) -> None:
        self._soon.stop()
        if self._saving is not None:
            self._to_remove = service
            return
        changes = SettingsDraft({}, {service: None})
        self._ask_for(changes)
        self._show(changes)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange and hasattr(self, "_body"):
            self._fit()

    def _fit(self) -> None:
        """Place the list of pages beside the page, or above the page if the dialog is too narrow."""
        letter, row = self.fontMetrics().averageCharWidth(), row_height(self.font())
        narrow = self.width() < letter * _NARROW_CHARS
        ways = QBoxLayout.Direction
        self._body.setDirection(ways.TopToBottom if narrow else ways.LeftToRight)
        self.side.setMaximumWidth(QWIDGETSIZE_MAX if narrow else letter * _SIDE_CHARS)
        self.side.setMaximumHeight(round(row * _ROWS_ABOVE) if narrow else QWIDGETSIZE_MAX)
        for at in range(self.side.count()):
            self.side.item(at).setSizeHint(QSize(0, row))
        for page in self.pages.values():
            page.set_narrow(narrow)
