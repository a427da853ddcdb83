"""A workbench with a desk of models that answers from memory and remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from reverie.errors import UserError
from reverie.settings import Settings
from reverie.values import replace


@dataclass(frozen=True)
class Provider:
    name: str
    base_url: str
    key_source: str
    local: bool = False


@dataclass(frozen=True)
class Models:
    engine: str
    engine_reason: str
    providers: tuple[Provider, ...]


@dataclass(frozen=True)
class Line:
    name: str
    state: str
    sentence: str


@dataclass(frozen=True)
class Consent:
    destination: str
    files: tuple[str, ...]
    secrets_hidden: int = 0
    stays: tuple[str, ...] = ()


PROVIDERS = (
    Provider("anthropic", "https://api.anthropic.com", "environment"),
    Provider("openai", "https://api.openai.com/v1", "missing"),
    Provider("ollama", "http://127.0.0.1:11434/v1", "none needed", local=True),
)
WORKS = (
    Line("reachable", "pass", "The server answers."),
    Line("key", "skip", "No key is needed."),
    Line("tool-calling", "fail", "The model answered without calling the tool."),
)


@dataclass
class Desk:
    """Give `error` and every answer is that."""

    kept: Settings = field(default_factory=Settings)
    providers: tuple[Provider, ...] = PROVIDERS
    keys: dict[str, str] = field(default_factory=dict)
    offered: Sequence[str] = ()
    error: UserError | None = None
    tested: list[str] = field(default_factory=list)
    tested_with: Mapping[str, Mapping[str, Any]] | None = None
    tested_key: str = ""

    @property
    def models(self) -> Desk:
        """The models of a workbench: here the same desk."""
        return self

    def view(self, _context: None) -> Models:
        shown = [
            replace(provider, key_source="keyring") if provider.name in self.keys else provider
            for provider in self.providers
        ]
        overridden = self.kept.providers.root
        urls = {name: each.base_url for name, each in overridden.items() if each.base_url}
        named = [replace(each, base_url=urls.get(each.name, each.base_url)) for each in shown]
        engine = self.kept.dream.engine
        if engine == "auto":
            return Models("rules", "No model is configured.", tuple(named))
        return Models(engine, "It is chosen in the settings.", tuple(named))

    def test(
        self, name: str, providers: Mapping[str, Mapping[str, Any]] | None = None, key: str = ""
    ) -> tuple[Line, ...]:
        self._fail()
        self.tested.append(name)
        self.tested_with, self.tested_key = providers, key
        return WORKS

    def offered_models(self, provider: str, providers: Mapping[str, Any], key: str = "") -> Any:
        self._fail()
        self.tested.append(provider)
        self.tested_with, self.tested_key = providers, key
        return self.offered

    def set_key(self, provider: str, key: str) -> None:
        self._fail()
        self.keys[provider] = key

    def forget_key(self, provider: str) -> None:
        self._fail()
        del self.keys[provider]

    def settings(self) -> Settings:
        return self.kept

    async def change_settings(self, change: Callable[[Settings], Settings]) -> None:
        self._fail()
        self.kept = change(self.kept)

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error
