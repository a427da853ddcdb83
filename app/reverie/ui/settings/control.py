"""Connects the settings dialog with the settings, the keyring and the model services.

Every question is a job on a lane of this control's own, started with the first question: neither keyring
nor model server may hold up the window, a refresh or a run.

Threading: GUI thread. Failure: shown in the dialog, which stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from reverie.engine.asking import ask
from reverie.engine.client import EngineClient
from reverie.errors import UserError
from reverie.settings import Settings, load_settings, save_settings
from reverie.ui.appearance import Icons
from reverie.ui.display_text import visible
from reverie.ui.jobs import JobControl, Lane, Work
from reverie.ui.settings.dialog import SettingsDialog
from reverie.ui.settings.draft import Setting, SettingsDraft, draft_of, schema, with_draft

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.profile import Profile
    from reverie.services.model_services import ModelsView, ModelsWithoutHome, ProbeLine
    from reverie.services.models import Models
    from reverie.ui.session import HomeSession
    from reverie.ui.settings.model_pages import LocalServer


@dataclass(frozen=True, slots=True)
class _KnownModels:
    schema: tuple[Setting, ...]
    draft: SettingsDraft
    models: ModelsView


class ProfileSettings:
    """The settings of a profile, which are the window's own file, and the engine that follows them. All of
    it blocks; in jobs only."""

    def __init__(self, profile: Profile, engine: EngineClient, home: HomeEngine | None = None) -> None:
        self._file = profile.settings_file
        self._engine = engine
        self._home = home

    @property
    def models(self) -> Models | ModelsWithoutHome:
        """The model services, of the home if one is open."""
        return self._engine.services.models if self._home is None else self._home.models

    def settings(self) -> Settings:
        """The settings as the file has them now."""
        return load_settings(self._file)[0]

    async def save_settings(self, settings: Settings) -> None:
        """Write them; every open home follows at once."""
        save_settings(self._file, settings)
        await ask(self._engine.services.forget_settings)


class SettingsControl(QObject):
    """Signals: `changed()` after settings or keys were saved; `window_style_changed(WindowStyle)`."""

    changed = Signal()
    window_style_changed = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._window = parent
        self._lane = Lane("models", self)
        self._service: ProfileSettings | None = None
        self._home = ""
        self.dialog: SettingsDialog | None = None

    # Opening

    def open_profile(self, profile: Profile, engine: EngineClient, session: HomeSession | None) -> None:
        """Show the settings of this machine, with those of a home of it."""
        if session is None:
            self.open(ProfileSettings(profile, engine))
        else:
            service = ProfileSettings(profile, engine, session.workbench)
            self.open(service, session.info.id, visible(session.info.label))

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
        dialog.engine.test.connect(self._test)
        dialog.providers.find_servers.connect(self._find)
        dialog.providers.key_given.connect(self._set_key)
        dialog.providers.key_forgotten.connect(self._forget_key)
        dialog.finished.connect(self._on_closed)
        dialog.open()
        self._read()

    def stop(self) -> None:
        """The window closes."""
        self._lane.stop()

    @property
    def busy(self) -> bool:
        return self._lane.busy

    def _read(self) -> None:
        service, home = self._service, self._home
        if service is None:
            return

        async def work(_control: JobControl) -> _KnownModels:
            return _KnownModels(
                schema(), draft_of(service.settings(), home), await ask(service.models.view, None)
            )

        self._submit("read settings", work, self._on_read, self._on_failed, "settings")

    def _on_read(self, known: _KnownModels) -> None:
        if self.dialog is not None:
            self.dialog.providers.setEnabled(True)
            self.dialog.show_schema(known.schema)
            self.dialog.show_draft(known.draft)
            self._show_models(known.models)

    def _show_models(self, models: ModelsView) -> None:
        if self.dialog is not None:
            self.dialog.providers.show_models(models)
            self.dialog.engine.show_models(models)

    # What is wanted

    @Slot(object)
    def _save(self, draft: SettingsDraft) -> None:
        service, home = self._service, self._home
        if service is None:
            return

        async def work(_control: JobControl) -> ModelsView:
            await service.save_settings(with_draft(service.settings(), draft, home))
            return await ask(service.models.view, None)

        def saved(models: ModelsView) -> None:
            self._on_saved(models)
            self.window_style_changed.emit(draft.window_style)

        self._submit("save settings", work, saved, self._on_failed, "")

    def _on_saved(self, models: ModelsView) -> None:
        if self.dialog is not None:
            self.dialog.saved()
        self._show_models(models)
        self.changed.emit()

    @Slot(str)
    def _test(self, name: str) -> None:
        service, dialog, home = self._service, self.dialog, self._home
        if service is None or dialog is None:
            return
        dialog.engine.testing(name)
        draft = dialog.draft

        async def work(_control: JobControl) -> Sequence[ProbeLine]:
            # What is typed is what is tried: the provider may have been added a moment ago.
            wanted = with_draft(service.settings(), draft, home)
            return await ask(service.models.test, name, wanted.providers.model_dump())

        self._submit("test a model", work, self._on_tested, self._on_test_failed, "test")

    def _on_tested(self, lines: Sequence[ProbeLine]) -> None:
        if self.dialog is not None:
            self.dialog.engine.tested(lines)

    def _on_test_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.engine.test_failed(str(error))

    @Slot()
    def _find(self) -> None:
        service = self._service
        if service is None:
            return

        self._submit(
            "find local servers",
            ask(service.models.local_servers),
            self._on_found,
            self._on_find_failed,
            "servers",
        )

    def _on_found(self, servers: Sequence[LocalServer]) -> None:
        if self.dialog is not None:
            self.dialog.providers.show_servers(servers)
            self.dialog.engine.suggest(
                [f"{provider}:{model}" for provider, _, models in servers for model in models]
            )

    def _on_find_failed(self, error: UserError) -> None:
        if self.dialog is not None:
            self.dialog.providers.find_failed(str(error))

    @Slot(str, str)
    def _set_key(self, provider: str, key: str) -> None:
        service = self._service
        if service is None:
            return

        async def work(_control: JobControl) -> ModelsView:
            await ask(service.models.set_key, provider, key)
            return await ask(service.models.view, None)

        message = self.tr("The key for {provider} is in the system's keyring.").format(provider=provider)
        self._submit("keep a key", work, self._set_message(message), self._on_failed, "")

    @Slot(str)
    def _forget_key(self, provider: str) -> None:
        service = self._service
        if service is None:
            return

        async def work(_control: JobControl) -> ModelsView:
            await ask(service.models.forget_key, provider)
            return await ask(service.models.view, None)

        message = self.tr("The key for {provider} was removed from the keyring.").format(provider=provider)
        self._submit("forget a key", work, self._set_message(message), self._on_failed, "")

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
        for group in ("settings", "test", "servers"):
            self._lane.abandon(group)
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None

    def _submit(
        self,
        name: str,
        work: Work[Any],
        done: Callable[[Any], None],
        failed: Callable[[UserError], None],
        group: str,
    ) -> None:
        self._lane.submit(name, work, done=done, failed=failed, group=group)
