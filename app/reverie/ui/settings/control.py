"""The controller of the settings dialog: reads and saves the settings, stores keys, and asks model services.

Threading: GUI thread; everything that blocks is a job. Failure: shown in the dialog, which stays open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QWidget

from reverie.engine.asking import Request, ask
from reverie.engine.client import EngineClient
from reverie.settings import Settings, change_settings, load_settings
from reverie.ui.display_text import visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import LINK_PATIENCE_S, JobControl, Lane, Work
from reverie.ui.settings.dialog import SettingsDialog
from reverie.ui.settings.draft import SettingsDraft, draft_of, with_draft
from reverie.ui.settings.model_form import ModelForm

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.profile import Profile
    from reverie.services.models import Models, ModelsView, ModelsWithoutHome
    from reverie.ui.session import HomeSession

T = TypeVar("T")


class ProfileSettings:
    """The settings file of a profile, and the engine, which has to reload it after a change.

    This process writes the file itself. All methods block, so call them only in jobs.
    """

    def __init__(self, profile: Profile, engine: EngineClient, home: HomeEngine | None = None) -> None:
        self._profile = profile
        self._engine = engine
        self._home = home

    @property
    def models(self) -> Models | ModelsWithoutHome:
        """The model services: those for the open home or, without a home, those for the profile."""
        return self._engine.services.models if self._home is None else self._home.models

    def settings(self) -> Settings:
        """Return the settings, read from the file."""
        return load_settings(self._profile.settings_file)[0]

    async def change_settings(self, change: Callable[[Settings], Settings]) -> None:
        """Apply `change` to the settings and save the result; every open home reloads them at once."""
        profile = self._profile
        change_settings(profile.settings_file, change, profile.locks, timeout_s=LINK_PATIENCE_S)
        await ask(self._engine.services.forget_settings)


class SettingsControl(QObject):
    """The controller that connects the settings dialog with the settings file, keyring and model services.

    The dialog first shows the settings from the file; what the engine and the services return is added later.
    Requests run as jobs on three lanes (queues of jobs) of this controller, so that a slow keyring or model
    server delays neither the window nor other requests. Errors are shown in the dialog, which stays open.

    Signals:
        changed(): Settings or keys were saved.
        window_style_changed(WindowStyle): The style of the window was changed.
    """

    changed = Signal()
    window_style_changed = Signal(object)
    _service: ProfileSettings
    """The settings of the dialog that was opened last."""

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._window = parent
        self._lanes = tuple(Lane(name, self) for name in ("settings", "keyring", "models"))
        self._saving, self._keys, self._asking = self._lanes
        self._home = ""
        self.dialog: SettingsDialog | None = None

    def open_profile(
        self, profile: Profile, engine: EngineClient, session: HomeSession | None, setting: str = ""
    ) -> None:
        """Show the settings of the profile and, if there is a session, of its home.

        `setting`: the page id or setting key to show first; empty for the first page.
        """
        if session is None:
            self.open(ProfileSettings(profile, engine))
        else:
            service = ProfileSettings(profile, engine, session.workbench)
            self.open(service, session.info.id, visible(session.info.label))
        if setting and self.dialog is not None:
            self.dialog.show_setting(setting)

    def open(self, service: ProfileSettings, home_id: str = "", label: str = "") -> None:
        """Open the settings dialog; if it is open already, bring it to the front.

        `service`: reads and saves the settings. `home_id`: the home whose background services can be set;
        empty for none. `label`: the name of that home.
        """
        if self.dialog is not None:
            self.dialog.raise_()
            self.dialog.activateWindow()
            return
        self._service, self._home = service, home_id
        dialog = self.dialog = SettingsDialog(self._icons, label, self._window)
        dialog.save.connect(self._save)
        dialog.models.test.connect(self._test)
        dialog.models.list_wanted.connect(self._list)
        dialog.models.key_given.connect(self._set_key)
        dialog.models.key_forgotten.connect(self._forget_key)
        dialog.finished.connect(self._on_closed)
        dialog.open()
        self._saving.submit(
            "read settings",
            lambda _control: draft_of(service.settings(), home_id),
            done=self._in_dialog(SettingsDialog.show_draft),
            failed=self._in_dialog(SettingsDialog.failed),
            group="shown",
        )
        self._ask_models()

    def stop(self) -> None:
        """End the lanes and cancel their jobs, because the window closes."""
        for lane in self._lanes:
            lane.stop()

    @property
    def busy(self) -> bool:
        return any(lane.busy for lane in self._lanes)

    def _in_dialog(self, show: Callable[[SettingsDialog, T], object]) -> Callable[[T], None]:
        """Return a handler that calls `show` with the dialog and a result, unless the dialog was closed."""

        def handle(result: T) -> None:
            if self.dialog is not None:
                show(self.dialog, result)

        return handle

    def _ask_models(self) -> None:
        self._keys.submit(
            "ask for the services",
            ask(self._service.models.view, None),
            done=self._in_dialog(SettingsDialog.show_models),
            failed=self._in_dialog(SettingsDialog.failed),
            group="shown",
        )

    @Slot(object)
    def _save(self, draft: SettingsDraft) -> None:
        service, home = self._service, self._home

        async def work(_control: JobControl) -> None:
            await service.change_settings(lambda settings: with_draft(settings, draft, home))

        def show(dialog: SettingsDialog, _nothing: None) -> None:
            if any(key.startswith("window.") for key in draft.values):
                self.window_style_changed.emit(dialog.draft.updated(draft).window_style)
            dialog.saved()
            if self.dialog is not None:
                self._ask_models()

        self._change(self._saving, "save settings", work, show)

    @Slot(str)
    def _test(self, name: str) -> None:
        self._ask_typed("test a model", lambda models: models.test, name, ModelForm.tested)

    @Slot(str)
    def _list(self, service: str) -> None:
        def show(form: ModelForm, names: Sequence[str]) -> None:
            form.show_list(service, names)

        self._ask_typed("list models", lambda models: models.offered_models, service, show)

    def _ask_typed(
        self,
        name: str,
        question: Callable[[Models | ModelsWithoutHome], Callable[..., Any]],
        about: str,
        show: Callable[[ModelForm, Any], None],
    ) -> None:
        """Call a method of the model services in a job, with the unsaved settings and key of the form.

        `name` is the name of the job. `question` is called with the model services and returns the method to
        call. `about` is the first argument of that method: the name of a model or service. `show` is called
        with the form and the result; an error is shown in the form.
        """
        service, dialog, home = self._service, self.dialog, self._home
        if dialog is None:
            return
        draft, key = dialog.draft, dialog.models.key.text().strip()

        async def work(_control: JobControl) -> Any:
            wanted = with_draft(service.settings(), draft, home)
            return await ask(question(service.models), about, wanted.providers.model_dump(), key)

        done = self._in_dialog(lambda dialog, result: show(dialog.models, result))
        failed = self._in_dialog(lambda dialog, error: dialog.models.failed(str(error)))
        self._asking.submit(name, work, done=done, failed=failed, group="shown")

    @Slot(str, str)
    def _set_key(self, provider: str, key: str) -> None:
        message = self.tr("The key for {provider} was saved in the system's keyring.")
        models = self._service.models
        self._change_key("save a key", ask(models.set_key, provider, key), message, provider, key)

    @Slot(str)
    def _forget_key(self, provider: str) -> None:
        message = self.tr("The key for {provider} was removed from the keyring.")
        models = self._service.models
        self._change_key("forget a key", ask(models.forget_key, provider), message, provider)

    def _change_key(
        self, name: str, request: Request[None], message: str, provider: str, key: str | None = None
    ) -> None:
        """Change the key of a service in a job called `name`, and show `message`.

        `request` makes the change. `key` is the key that was stored; None if it was removed.
        """
        service = self._service

        async def work(_control: JobControl) -> ModelsView:
            await request
            return await ask(service.models.view, None)

        def show(dialog: SettingsDialog, models: ModelsView) -> None:
            dialog.message.say(message.format(provider=provider))
            dialog.show_models(models)
            if key is not None:
                dialog.key_kept(provider, key)

        self._change(self._keys, name, work, show)

    def _change(
        self, lane: Lane, name: str, work: Work[T], show: Callable[[SettingsDialog, T], object]
    ) -> None:
        """Run a job that changes settings or keys; then show the result, and emit `changed`."""
        handle = self._in_dialog(show)

        def done(result: T) -> None:
            handle(result)
            self.changed.emit()

        lane.submit(name, work, done=done, failed=self._in_dialog(SettingsDialog.failed))

    @Slot()
    def _on_closed(self) -> None:
        """Discard the results of requests that the closed dialog has made, and delete the dialog."""
        for lane in self._lanes:
            lane.abandon("shown")
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None
