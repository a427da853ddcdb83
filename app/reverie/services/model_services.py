"""The services that models are asked of: which there are, their keys, and whether one answers.

They follow from the settings, the environment and the system's keyring, not from a home.

Threading: blocks on disk, keyring and network; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reverie.errors import MendableError
from reverie.services.views import ProbeLine, ProviderView

if TYPE_CHECKING:
    from reverie.agent.catalogue import Catalogue
    from reverie.agent.keys import KeyStore
    from reverie.agent.provider import Provider
    from reverie.settings import Settings


class ModelServices:
    """The services as `settings` have them whenever one is needed; `env` is where keys are looked for first,
    `keys` the keyring (None: the system's)."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        *,
        env: Mapping[str, str] | None = None,
        keys: KeyStore | None = None,
    ) -> None:
        self._settings = settings
        self._env = os.environ if env is None else env
        self._given_keys = keys

    def services(self) -> tuple[ProviderView, ...]:
        """Every service there is."""
        return tuple(
            ProviderView(info.name, info.base_url, info.key_source, info.local)
            for info in self._catalogue.known()
        )

    def provider(self, name: str) -> Provider:
        """One model of one service. Raises `ProviderError`."""
        return self._catalogue.provider(name)

    def test(self, name: str) -> tuple[ProbeLine, ...]:
        """One real tool call, told in words."""
        from reverie.agent.probe import probe

        async def ask() -> Any:
            provider = self.provider(name)
            try:
                return await probe(provider)
            finally:
                await provider.close()

        try:
            report = asyncio.run(ask())
        except MendableError as error:
            return (ProbeLine("settings", "fail", str(error)),)
        return tuple(ProbeLine(step.name, step.state, step.sentence) for step in report.steps)

    def local_servers(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """`(provider, base URL, models)` of the model servers that answer on this machine."""
        found = asyncio.run(self._catalogue.detect_local())
        return tuple((server.provider, server.base_url, server.models) for server in found)

    def set_key(self, provider: str, key: str) -> None:
        """Keep the key of a service in the keyring."""
        self._keys.set(provider, key)

    def forget_key(self, provider: str) -> None:
        """Remove the key of a service from the keyring."""
        self._keys.delete(provider)

    @property
    def _catalogue(self) -> Catalogue:
        from reverie.agent.catalogue import Catalogue

        return Catalogue(self._settings().providers.root, self._env, self._keys)

    @cached_property
    def _keys(self) -> KeyStore:
        if self._given_keys is not None:
            return self._given_keys
        from reverie.agent.keys import SystemKeys

        return SystemKeys()
