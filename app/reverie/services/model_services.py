"""The services that models are asked of: which there are, their keys, and whether one answers.

They follow from the settings, the environment and the system's keyring, and from what the agent of a home is
itself set up to use (`offered`); the settings win where both name a service.

Threading: blocks on disk, keyring and network; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reverie.agents.capabilities import ModelService
from reverie.agents.scopes import ScopeContext
from reverie.errors import UserError
from reverie.llm.catalogue import NETWORK_VARIABLES, Catalogue, ProviderInfo
from reverie.llm.provider import Provider
from reverie.settings import Settings

if TYPE_CHECKING:
    from reverie.llm.catalogue import KeyStore
    from reverie.settings import ProvidersSettings


@dataclass(frozen=True, slots=True)
class ModelsView:
    """`engine`: what the button will use (`rules` or `PROVIDER:MODEL`); `engine_reason`: why, as a
    sentence."""

    engine: str
    engine_reason: str
    providers: tuple[ProviderInfo, ...]


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """One step of the test of a model; `state` is `pass`, `fail` or `skip`."""

    name: str
    state: str
    sentence: str


class ModelServices:
    """The services as `settings` have them whenever one is needed; `env` is where keys are looked for first,
    `keys` the keyring (None: the system's), `offered` the services of the agent itself."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        *,
        env: Mapping[str, str] | None = None,
        keys: KeyStore | None = None,
        offered: Callable[[], Iterable[ModelService]] = tuple,
    ) -> None:
        self._settings = settings
        self._offered = offered
        self._env = os.environ if env is None else env
        self._given_keys = keys

    def services(self) -> tuple[ProviderInfo, ...]:
        """Every service there is."""
        return self._catalogue.known()

    def variables(self) -> frozenset[str]:
        """The variables of the environment that say with which key a service is asked, and over which
        proxy."""
        return self._catalogue.key_names() | NETWORK_VARIABLES

    def provider(self, name: str) -> Provider:
        """One model of one service. Raises `ProviderError`."""
        return self._catalogue.provider(name)

    def test(
        self, name: str, providers: Mapping[str, Mapping[str, Any]] | None = None, key: str = ""
    ) -> tuple[ProbeLine, ...]:
        """Make one real tool call and report each step in words.

        `providers`: try the model with this table of the settings, which need not be saved; None: as saved.
        `key`: one that was typed and is not kept yet.
        """
        from reverie.llm.catalogue import parse_model, probe

        async def ask() -> Any:
            catalogue = self._catalogue_with(providers, parse_model(name).provider, key)
            provider = catalogue.provider(name)
            try:
                return await probe(provider)
            finally:
                await provider.close()

        try:
            report = asyncio.run(ask())
        except UserError as error:
            return (ProbeLine("settings", "fail", str(error)),)
        return tuple(ProbeLine(step.name, step.state, step.sentence) for step in report.steps)

    def offered_models(
        self, provider: str, providers: Mapping[str, Mapping[str, Any]], key: str = ""
    ) -> tuple[str, ...]:
        """The models that a service offers now; `providers` and `key` as for `test`. Raises
        `ProviderError`."""
        return asyncio.run(self._catalogue_with(providers, provider, key).models(provider))

    def set_key(self, provider: str, key: str) -> None:
        """Keep the key of a service in the keyring."""
        self._keys.set(provider, key)

    def forget_key(self, provider: str) -> None:
        """Remove the key of a service from the keyring."""
        self._keys.delete(provider)

    @property
    def _catalogue(self) -> Catalogue:
        return self._catalogue_of(self._settings().providers)

    def _catalogue_with(
        self, providers: Mapping[str, Mapping[str, Any]] | None, name: str, key: str
    ) -> Catalogue:
        """The services with settings and a key that are not saved yet."""
        from reverie.llm.catalogue import TypedKey
        from reverie.settings import ProvidersSettings

        settings = self._settings().providers
        if providers is not None:
            settings = ProvidersSettings.model_validate(providers)
        return self._catalogue_of(settings, TypedKey(self._keys, name, key) if key else None)

    def _catalogue_of(self, settings: ProvidersSettings, keys: KeyStore | None = None) -> Catalogue:
        from reverie.llm.catalogue import Catalogue
        from reverie.settings import ProviderSettings

        offered = {
            service.name: ProviderSettings(
                wire=service.wire,
                base_url=service.base_url,
                key_env=service.key_env,
                headers=dict(service.headers),
            )
            for service in self._offered()
        }
        return Catalogue({**offered, **settings.root}, self._env, keys or self._keys)

    @cached_property
    def _keys(self) -> KeyStore:
        if self._given_keys is not None:
            return self._given_keys
        from reverie.llm.catalogue import SystemKeys

        return SystemKeys()


class ModelsWithoutHome(ModelServices):
    """What can be said of models while nobody knows of which home."""

    def view(self, context: ScopeContext | None) -> ModelsView:
        """Every service there is, and the engine that the settings name for any home."""
        engine = self._settings().dream.engine
        if engine == "auto":
            return ModelsView("rules", "No home is open.", self.services())
        return ModelsView(engine, "The settings say so.", self.services())
