"""The settings where no home is open: read, saved, and the models they name tried out.

Threading: blocks; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.services.model_services import ModelServices
from reverie.services.views import ModelsView

if TYPE_CHECKING:
    from reverie.homes.scopes import ScopeContext
    from reverie.profile import Profile
    from reverie.settings import Settings


class ModelsWithoutHome(ModelServices):
    """What can be said of models while nobody knows of which home."""

    def view(self, context: ScopeContext | None) -> ModelsView:
        """Every service there is, and the engine that the settings name for any home."""
        engine = self._settings().dream.engine
        if engine == "auto":
            return ModelsView("rules", "No home is open.", self.services())
        return ModelsView(engine, "The settings say so.", self.services())


class SettingsDesk:
    """The settings of one profile."""

    def __init__(self, profile: Profile) -> None:
        self._file = profile.settings_file
        self.models = ModelsWithoutHome(self.settings)

    def settings(self) -> Settings:
        """The settings as the file has them now."""
        from reverie.settings import load_settings

        return load_settings(self._file)[0]

    def save_settings(self, settings: Settings) -> None:
        """Write them."""
        from reverie.settings import save_settings

        save_settings(self._file, settings)
