"""The settings: a list of pages at the left, the page at the right, and a search over all of them.

What is edited counts at once: a moment after the last edit, or when the dialog closes, what differs from
what is kept is asked to be saved, and the last change can be undone. What cannot be saved as it is typed
stays in the form, with the reason below; closing asks before it is lost.

A form and nothing else: it is shown a draft, gives changes back by signal, and jobs read and save
(`SettingsControl`). A key is never among the values.

Threading: GUI thread; nothing is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QBoxLayout, QDialog, QListWidget, QPushButton, QWidget

from reverie.engine.asking import ask
from reverie.engine.client import EngineClient
from reverie.errors import UserError
from reverie.settings import Settings, change_settings, load_settings
from reverie.ui.appearance import GAP, Icons, descendants, row_height
from reverie.ui.dialogs import ask_unsaved
from reverie.ui.display_text import visible
from reverie.ui.jobs import LINK_PATIENCE_S, JobControl, Lane, single_shot
from reverie.ui.settings.fields import (
    Field,
    ModelBox,
    ModelForm,
    SettingsDraft,
    SettingsPage,
    draft_of,
    schema,
    with_draft,
)
from reverie.ui.settings.pages import MODELS, PAGES, label
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.layouts import column, row_of, scrolled, stacked
from reverie.ui.widgets.messages import MessageBar

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.profile import Profile
    from reverie.services.models import Models, ModelsView, ModelsWithoutHome, ProbeLine
    from reverie.ui.session import HomeSession

TYPING_MS = 400
"""How long after the last edit it is saved."""
_SIDE_CHARS = 18
_NARROW_CHARS = 72
_ROWS_ABOVE = 3.5
QWIDGETSIZE_MAX = (1 << 24) - 1


class SettingsSearch(SearchField):
    """Escape empties it; only then it closes the dialog."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            event.accept()
            return
        super().keyPressEvent(event)


class SettingsDialog(QDialog):
    """`save(SettingsDraft)`: these changes. The form of the models has signals of its own."""

    save = Signal(object)

    def __init__(self, icons: Icons, home: str, parent: QWidget | None = None) -> None:
        """`home`: the name of the home whose background is set; empty without one."""
        super().__init__(parent)
        self.setWindowTitle(self.tr("Settings"))
        settings = {setting.key: setting for setting in schema()}
        self.pages: dict[str, SettingsPage] = {}
        for spec in PAGES:
            if spec.id == MODELS:
                self.pages[spec.id] = ModelForm(spec, settings, icons)
            else:
                self.pages[spec.id] = SettingsPage(spec, settings)
        models = self.pages[MODELS]
        assert isinstance(models, ModelForm)
        self.models = models
        if not home:
            self.pages["background"].about.say(self.tr("Open a home to set what may run in its background."))
        self.fields: dict[str, Field] = {k: f for page in self.pages.values() for k, f in page.fields.items()}
        self._home = home
        self._kept: SettingsDraft | None = None
        self._wanted = ""
        self._saving: SettingsDraft | None = None
        self._to_remove = ""
        """The service to remove once that is saved."""
        self._undo: SettingsDraft | None = None
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
        self.undo = FitPushButton(
            self.tr("&Undo"), self.tr("Take the last change back"), clicked=self._on_undo
        )
        self.close_button = FitPushButton(self.tr("&Close"), clicked=self.reject)
        self._lay_out()
        self._connect()
        self._validate()

    def _lay_out(self) -> None:
        letter = self.fontMetrics().averageCharWidth()
        self.side.setAccessibleName(self.tr("Pages of the settings"))
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

    # What is known

    @property
    def changes(self) -> SettingsDraft:
        """What is typed, can be saved and is not kept yet."""
        if self._kept is None:
            return SettingsDraft({})
        pages = (page for page in self.pages.values() if page is not self.models)
        values = {key: value for page in pages for key, value in page.edits(self._kept.values)}
        return SettingsDraft(values, self.models.changes)

    @property
    def draft(self) -> SettingsDraft:
        """Everything as it is typed, as far as it can be saved."""
        return (self._kept or SettingsDraft({})).updated(self.changes)

    @property
    def problem(self) -> str:
        """Why something that is typed cannot be saved; empty if all of it can."""
        return next(filter(None, (page.problem for page in self.pages.values())), "")

    def show_draft(self, draft: SettingsDraft) -> None:
        """The settings as they are on disk."""
        self._kept = draft
        for name, page in self.pages.items():
            page.show_values(draft.values)
            page.setEnabled(name != "background" or bool(self._home))
        self.models.show_kept(draft.providers)
        for model in {str(field.value) for field in self._choices()}:
            self._offer(model)
        self._validate()
        if self._wanted:
            self.show_setting(self._wanted)  # nothing could take the focus before

    def _choices(self) -> list[Field]:
        return [field for field in self.fields.values() if isinstance(field.widget, ModelBox)]

    def say_used(self, name: str, reason: str) -> None:
        """What the Consolidate button uses as things are saved."""
        model = self.tr("Consolidate uses {model} now. {reason}").format(model=visible(name), reason=reason)
        without = self.tr("Consolidate works without a model now. {reason}").format(reason=reason)
        self.used.say(without if name == "rules" else model)

    def show_setting(self, key: str) -> None:
        """Turn to a page, by its id, or to the field of a setting, by its key."""
        self.search.clear()
        ids = list(self.pages)
        page = key if key in ids else next(id_ for id_, each in self.pages.items() if key in each.fields)
        self.side.setCurrentRow(ids.index(page))
        self._wanted = key if key in self.fields else ""
        if self._wanted and self._kept is not None:
            self.fields[key].widget.setFocus(Qt.FocusReason.ShortcutFocusReason)

    # Saving

    @Slot()
    def _on_changed(self) -> None:
        if self._kept is not None:
            self._soon.start()
            self._validate()

    @Slot()
    def commit(self) -> None:
        """Have everything saved that is not kept yet."""
        self._soon.stop()
        changes = self.changes
        if self._saving is None and (changes.values or changes.providers):
            same = _settings_of(changes) == _settings_of(self._undo)
            # What is typed in one field in several goes is one change.
            self._ask_for(changes, goes_on=same and self._is_typed)
            self._is_typed = True

    def _ask_for(self, changes: SettingsDraft, *, goes_on: bool = False) -> None:
        assert self._kept is not None
        self._saving, self._is_typed = changes, False
        if not goes_on:
            self._undo = self._kept.before(changes)
        self.save.emit(changes)

    def saved(self) -> None:
        """What was asked to be saved is on disk."""
        changes, self._saving = self._saving, None
        if changes is None or self._kept is None:
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
        """Something asked for did not work; the form stays."""
        self._saving, self._has_failed, self._to_remove = None, True, ""
        self.message.say_error(error)
        self._validate()
        if self._closing:
            self._close()

    def say(self, sentence: str) -> None:
        self.message.say(sentence)

    @Slot()
    def _on_undo(self) -> None:
        self._soon.stop()
        undo = self._undo
        if undo is not None and self._saving is None:
            self._show(undo)
            self._ask_for(undo)

    def _show(self, changes: SettingsDraft) -> None:
        assert self._kept is not None
        for page in self.pages.values():
            page.show_values(changes.values)
        if changes.providers:
            self.models.show_kept(self._kept.updated(changes).providers, changes.providers)

    def _validate(self) -> None:
        undo = self._undo if self._saving is None else None
        said = self.problem
        if not said and undo is not None and not self._has_failed:
            name = label(next(iter(undo.values))) if undo.values else next(iter(undo.providers))
            said = self.tr("Saved: {name}").format(name=name)
        self.status.say(said)
        self.undo.setEnabled(undo is not None)

    def reject(self) -> None:
        """Close, once everything that can be saved is; nothing else that was typed is thrown away unasked."""
        self.models.finish()
        self.commit()
        self._closing = True
        if self._saving is None and not self.models.key.text().strip():
            self._close()

    def _close(self) -> None:
        """Everything is saved that can be."""
        self._closing = False
        if self.problem or self.changes != SettingsDraft({}) or self.models.key.text().strip():
            answer = ask_unsaved(self, [self.problem] if self.problem else [])
            if answer == "save" and not self.problem:
                self.reject()
            if answer != "discard":
                return
        super().reject()

    def key_kept(self, service: str, key: str) -> None:
        """It is in the keyring."""
        self.models.key_kept(service, key)
        if self._closing:
            self.reject()

    # Pages

    @Slot(str)
    def _on_search(self, query: str) -> None:
        words = query.casefold().split()
        found = [page.show_matching(words) for page in self.pages.values()]
        for row, is_shown in enumerate(found):
            self.side.item(row).setHidden(not is_shown)
        row = self.side.currentRow()
        if not any(found):
            text = self.tr("No setting has “{query}” in its name, explanation or key.")
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
        """A model that is known to be there can be chosen for every job."""
        if ":" in model:
            for field in self._choices():
                assert isinstance(field.widget, ModelBox)
                field.widget.suggest(model)

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
        """The pages' list beside the page, or above it where that is too narrow."""
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


def _settings_of(changes: SettingsDraft | None) -> frozenset[str]:
    """Which settings are changed."""
    return frozenset((*changes.values, *changes.providers)) if changes is not None else frozenset()


# Connects the settings dialog with the settings, the keyring and the model services.
#
# The settings file is read first: what the engine and the services answer follows.
#
# Every question is a job on a lane of this control's own: neither keyring nor model server may hold up the
# window, a refresh or a run, nor each other, nor what is to be saved.
#
# Threading: GUI thread. Failure: shown in the dialog, which stays open.


class ProfileSettings:
    """The settings of a profile, which are the window's own file, and the engine that follows them. All of
    it blocks; in jobs only."""

    def __init__(self, profile: Profile, engine: EngineClient, home: HomeEngine | None = None) -> None:
        self._profile = profile
        self._engine = engine
        self._home = home

    @property
    def models(self) -> Models | ModelsWithoutHome:
        """The model services, of the home if one is open."""
        return self._engine.services.models if self._home is None else self._home.models

    def settings(self) -> Settings:
        """The settings as the file has them now."""
        return load_settings(self._profile.settings_file)[0]

    async def change_settings(self, change: Callable[[Settings], Settings]) -> None:
        """Change and save them; every open home follows at once."""
        profile = self._profile
        change_settings(profile.settings_file, change, profile.locks, timeout_s=LINK_PATIENCE_S)
        await ask(self._engine.services.forget_settings)


class SettingsControl(QObject):
    """Signals: `changed()` after settings or keys were saved; `window_style_changed(WindowStyle)`."""

    changed = Signal()
    window_style_changed = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._window = parent
        self._saving, self._keys, self._asking = (
            Lane(name, self) for name in ("settings", "keyring", "models")
        )
        self._service: ProfileSettings | None = None
        self._home = ""
        self.dialog: SettingsDialog | None = None

    # Opening

    def open_profile(
        self, profile: Profile, engine: EngineClient, session: HomeSession | None, setting: str = ""
    ) -> None:
        """Show the settings of this machine, with those of a home of it; first a page, or one of them."""
        if session is None:
            self.open(ProfileSettings(profile, engine))
        else:
            service = ProfileSettings(profile, engine, session.workbench)
            self.open(service, session.info.id, visible(session.info.label))
        if setting and self.dialog is not None:
            self.dialog.show_setting(setting)

    def open(self, service: ProfileSettings, home_id: str = "", label: str = "") -> None:
        """Show the settings; those of the background are of the home `home_id`, if one is open."""
        if self.dialog is not None:
            self.dialog.raise_()
            self.dialog.activateWindow()
            return
        self._service, self._home = service, home_id
        dialog = SettingsDialog(self._icons, label, self._window)
        self.dialog = dialog
        dialog.save.connect(self._save)
        dialog.models.test.connect(self._test)
        dialog.models.list_wanted.connect(self._list)
        dialog.models.key_given.connect(self._set_key)
        dialog.models.key_forgotten.connect(self._forget_key)
        dialog.finished.connect(self._on_closed)
        dialog.open()
        self._read()

    def stop(self) -> None:
        """The window closes."""
        for lane in self._lanes:
            lane.stop()

    @property
    def busy(self) -> bool:
        return any(lane.busy for lane in self._lanes)

    @property
    def _lanes(self) -> tuple[Lane, ...]:
        return self._saving, self._keys, self._asking

    def _read(self) -> None:
        service, home = self._service, self._home
        if service is None:
            return

        def work(_control: JobControl) -> SettingsDraft:
            return draft_of(service.settings(), home)

        self._saving.submit("read settings", work, done=self._on_read, failed=self._on_failed, group="shown")
        self._ask_models(service)

    def _on_read(self, draft: SettingsDraft) -> None:
        if self.dialog is not None:
            self.dialog.show_draft(draft)

    def _ask_models(self, service: ProfileSettings) -> None:
        view = ask(service.models.view, None)
        self._keys.submit(
            "ask for the services", view, done=self._show_models, failed=self._on_failed, group="shown"
        )

    def _show_models(self, models: ModelsView) -> None:
        if self.dialog is not None:
            self.dialog.models.show_models(models)
            self.dialog.say_used(models.engine, models.engine_reason)

    # What is wanted

    @Slot(object)
    def _save(self, draft: SettingsDraft) -> None:
        service, home = self._service, self._home
        if service is None:
            return

        async def work(_control: JobControl) -> None:
            await service.change_settings(lambda settings: with_draft(settings, draft, home))

        done = partial(self._on_saved, draft)
        self._saving.submit("save settings", work, done=done, failed=self._on_failed)

    def _on_saved(self, draft: SettingsDraft, _nothing: None) -> None:
        if self.dialog is not None:
            if any(key.startswith("window.") for key in draft.values):
                self.window_style_changed.emit(self.dialog.draft.updated(draft).window_style)
            self.dialog.saved()
        if self._service is not None and self.dialog is not None:
            self._ask_models(self._service)
        self.changed.emit()

    @Slot(str)
    def _test(self, name: str) -> None:
        self._ask_typed("test a model", lambda models: models.test, name, self._on_tested)

    def _on_tested(self, lines: Sequence[ProbeLine]) -> None:
        if self.dialog is not None:
            self.dialog.models.tested(lines)

    @Slot(str)
    def _list(self, service: str) -> None:
        def listed(names: Sequence[str]) -> None:
            if self.dialog is not None:
                self.dialog.models.show_list(service, names)

        self._ask_typed("list models", lambda models: models.offered_models, service, listed)

    def _ask_typed(
        self,
        name: str,
        question: Callable[[Models | ModelsWithoutHome], Callable[..., Any]],
        about: str,
        done: Callable[[Any], None],
    ) -> None:
        """Ask the services as they are typed, saved or not."""
        service, dialog, home = self._service, self.dialog, self._home
        if service is None or dialog is None:
            return
        draft, key = dialog.draft, dialog.models.key.text().strip()

        async def work(_control: JobControl) -> Any:
            wanted = with_draft(service.settings(), draft, home)
            return await ask(question(service.models), about, wanted.providers.model_dump(), key)

        self._asking.submit(name, work, done=done, failed=self._on_form_failed, group="shown")

    def _on_form_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.models.failed(str(error))

    @Slot(str, str)
    def _set_key(self, provider: str, key: str) -> None:
        service = self._service
        if service is None:
            return

        async def work(_control: JobControl) -> ModelsView:
            await ask(service.models.set_key, provider, key)
            return await ask(service.models.view, None)

        message = self.tr("The key for {provider} is in the system's keyring.").format(provider=provider)

        def done(models: ModelsView) -> None:
            self._set_message(message)(models)
            if self.dialog is not None:
                self.dialog.key_kept(provider, key)

        self._keys.submit("keep a key", work, done=done, failed=self._on_failed)

    @Slot(str)
    def _forget_key(self, provider: str) -> None:
        service = self._service
        if service is None:
            return

        async def work(_control: JobControl) -> ModelsView:
            await ask(service.models.forget_key, provider)
            return await ask(service.models.view, None)

        message = self.tr("The key for {provider} was removed from the keyring.").format(provider=provider)
        self._keys.submit("forget a key", work, done=self._set_message(message), failed=self._on_failed)

    def _set_message(self, sentence: str) -> Callable[[ModelsView], None]:
        def done(models: ModelsView) -> None:
            if self.dialog is not None:
                self.dialog.say(sentence)
            self._show_models(models)
            self.changed.emit()

        return done

    def _on_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.failed(error)

    @Slot()
    def _on_closed(self) -> None:
        """Whatever was still being asked for the dialog is not wanted any more."""
        for lane in self._lanes:
            lane.abandon("shown")
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None
