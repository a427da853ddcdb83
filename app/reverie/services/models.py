"""The models of a home's consolidations, the services that offer them, and the consent that they need.

The engine is the one that a person named, else the one in the settings, else (`auto`) the model that the
agent itself would use for a consolidation, if its service is reachable with the keys at hand, else the
embedded rules. `auto` never chooses a model outside this machine before a person has consented to it
(`give_consent`, per home and destination); until then it chooses the rules and gives this as the reason.

A window imports this module when it opens, only for its signatures. Therefore the modules that call a model
or build an engine are imported late, inside the functions that need them.

Threading: blocks on disk, keyring and network; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.capabilities import AgentDreamConfig, AgentWriterConfig, ModelService, ProviderInfo
from reverie.agents.scopes import ScopeContext
from reverie.errors import StoreError, UserError
from reverie.llm.probe import ProbeReport, ProbeStep, probe
from reverie.services.views import ConsentView
from reverie.text.summaries import phrase
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.files.sidecar import Sidecar
    from reverie.jobs.consolidate.coverage import Trigger
    from reverie.jobs.consolidate.engine import Engine
    from reverie.llm.catalogue import Catalogue
    from reverie.llm.client import ModelClient
    from reverie.llm.keys import KeyStore
    from reverie.llm.provider import Provider
    from reverie.services.container import HomeContainer
    from reverie.settings import ProvidersSettings, Settings


class ModelsView(Struct, frozen=True):
    """The engine that a consolidation will use, and all model services."""

    engine: str
    """The engine that the Consolidate button will use: `rules` or `PROVIDER:MODEL`."""
    engine_reason: str
    """The reason for the choice of this engine, as a sentence."""
    providers: tuple[ProviderInfo, ...]


class ModelServices:
    """The model services, read from `settings` each time they are used.

    The services come from the settings and from the agent's own configuration (`offered`); if both name a
    service, the settings win. Keys are searched first in the environment `env`, then in `keys`, the keyring
    (None: the system's).
    """

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
        """Return all model services."""
        return self._catalogue.known()

    def variables(self) -> frozenset[str]:
        """Return the names of the environment variables that determine keys and proxies of the services."""
        return self._catalogue.variables()

    def provider(self, name: str) -> Provider:
        """Return the provider (connection to a model service) of the model called `name`, `PROVIDER:MODEL`.

        Raises `ProviderError`.
        """
        return self._catalogue.provider(name)

    def test(
        self, name: str, providers: Mapping[str, Mapping[str, Any]] | None = None, key: str = ""
    ) -> tuple[ProbeStep, ...]:
        """Test the model called `name` by one real tool call; return the steps with their results.

        `providers`: the `providers` table of settings that need not be saved; None: the saved settings.
        `key`: a key that was typed and is not stored yet; empty: the stored key.
        """
        import asyncio

        from reverie.llm.catalogue import parse_model

        async def ask() -> ProbeReport:
            catalogue = self._catalogue_with(providers, parse_model(name).provider, key)
            provider = catalogue.provider(name)
            try:
                return await probe(provider)
            finally:
                await provider.close()

        try:
            return asyncio.run(ask()).steps
        except UserError as error:
            return (ProbeStep("settings", "fail", str(error)),)

    def offered_models(
        self, provider: str, providers: Mapping[str, Mapping[str, Any]], key: str = ""
    ) -> tuple[str, ...]:
        """Request the list of models that a service offers.

        `providers`: the `providers` table of settings that need not be saved. `key`: a key that was typed and
        is not stored yet; empty: the stored key. Raises `ProviderError`.
        """
        import asyncio

        return asyncio.run(self._catalogue_with(providers, provider, key).models(provider))

    def set_key(self, provider: str, key: str) -> None:
        """Store the key of the service `provider` in the keyring."""
        self._keys.set(provider, key)

    def forget_key(self, provider: str) -> None:
        """Remove the key of the service `provider` from the keyring."""
        self._keys.delete(provider)

    @property
    def _catalogue(self) -> Catalogue:
        return self._catalogue_of(self._settings().providers)

    def _catalogue_with(
        self, providers: Mapping[str, Mapping[str, Any]] | None, name: str, key: str
    ) -> Catalogue:
        """Build the catalogue of services with settings and a key that are not saved yet.

        `providers`: the settings of the services; None: the saved ones. `key`: a key for the service `name`;
        empty: the stored one.
        """
        from reverie.llm.keys import TypedKey
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
        from reverie.llm.keys import SystemKeys

        return SystemKeys()


class ModelsWithoutHome(ModelServices):
    """The service that lists and tests models before a home is open."""

    def view(self, context: ScopeContext | None) -> ModelsView:
        """Return all model services, and the engine that the settings name for every home.

        `context` has no effect, because no home is open.
        """
        engine = self._settings().dream.engine
        if engine == "auto":
            return ModelsView("rules", "No home is open.", self.services())
        return ModelsView(engine, "It is chosen in the settings.", self.services())


_OF = {"dream": "consolidation", "writer": "the memory writer"}


def own_instructions(
    parts: HomeContainer,
    context: ScopeContext,
    config: AgentDreamConfig | AgentWriterConfig,
    kind: Literal["dream", "writer"],
) -> str:
    """Return the prompt of the agent definition that `config` names; empty: use the built-in prompt.

    An agent definition is a file in which the agent's user wrote a prompt. One that cannot be used is
    reported in Activity. `kind`: whether the prompt is for consolidations ("dream") or for the memory writer,
    for that report.
    """
    problem = config.problem
    if config.definition is not None:
        from reverie.agents.definition import parse_agent_definition

        try:
            return parse_agent_definition(config.definition).body
        except StoreError as error:
            problem = f"The agent definition of {_OF[kind]} is not used. {error}"
    if problem:
        text = f"{problem} The built-in prompt is used."
        parts.report(f"{kind}.prompt", text, "warning", context.workspace_id)
    return ""


RULES, AUTO = "rules", "auto"


class ModelChoice(Struct, frozen=True):
    """An engine, and the reason why it was chosen."""

    engine: str
    reason: str


class Models(ModelServices):
    """The service that chooses the models for one home, and opens and checks them."""

    def __init__(
        self, parts: HomeContainer, *, env: Mapping[str, str] | None = None, keys: KeyStore | None = None
    ) -> None:
        super().__init__(
            lambda: parts.settings,
            env=env,
            keys=keys,
            offered=lambda: () if parts.home.models is None else parts.home.models.model_services(),
        )
        self._parts = parts

    def view(self, context: ScopeContext | None) -> ModelsView:
        """Return the engine that the Consolidate button will use in `context`, and all model services.

        If `context` is None, the engine is chosen by the agent's settings for the home as a whole.
        """
        wanted = self.choose(context, AUTO, before_consent=True)
        return ModelsView(wanted.engine, wanted.reason, self.services())

    def choose(
        self, context: ScopeContext | None, requested: str, *, before_consent: bool = False
    ) -> ModelChoice:
        """Return the engine that would consolidate in `context`, and why it is chosen.

        `requested`: `auto`, `rules` or `PROVIDER:MODEL`. If `context` is None, the agent's settings for the
        home as a whole are used. `before_consent`: if a person still has to consent to the agent's model,
        True returns this model all the same, False returns the rules.
        """
        return self._chosen(self._config(context), requested, before_consent=before_consent)

    def choose_extraction(self, requested: str, *, before_consent: bool = False) -> ModelChoice:
        """Return the engine that an extraction would use, and why it is chosen.

        `requested`: `auto`, `rules` or `PROVIDER:MODEL`. `before_consent`: if a person still has to consent
        to the agent's model, True returns this model all the same, False returns the rules.
        """
        extraction = self._parts.home.extraction
        model = None if extraction is None else extraction.extraction_model()
        return self._chosen(AgentDreamConfig(model), requested, before_consent=before_consent)

    def _chosen(self, config: AgentDreamConfig, requested: str, *, before_consent: bool) -> ModelChoice:
        """Return the engine for `requested` (`auto`, `rules` or `PROVIDER:MODEL`), and why it is chosen.

        `config` is the configuration in the agent's files. `before_consent`: if a person still has to consent
        to the agent's model, True returns this model all the same, False returns the rules.
        """
        if requested != AUTO:
            return ModelChoice(requested, phrase("You asked for this engine."))
        setting = self._parts.settings.dream.engine
        if setting != AUTO:
            return ModelChoice(setting, phrase("It is chosen in the settings."))
        if config.model is None:
            return ModelChoice(RULES, phrase("No model is configured."))
        if not config.enabled:
            return ModelChoice(RULES, phrase("The agent's own consolidation is off in its home."))
        obstacle = self._obstacle(config.model)
        if obstacle:
            return ModelChoice(RULES, obstacle)
        if not before_consent and not self._agreed(self._destination(config.model)):
            return ModelChoice(
                RULES, phrase("You have not approved sending memories to {model} yet.", model=config.model)
            )
        return ModelChoice(config.model, phrase("The agent uses this model for this task."))

    def choose_in_background(
        self, setting: str, guesses: Iterable[tuple[str | None, str]], *, by_hand: bool
    ) -> ModelChoice:
        """Choose the engine of the memory writer or of session notes; return it and the reason for it.

        `setting`: the engine that the user's settings name for this job, `PROVIDER:MODEL` or `rules`; empty
        if they name none. If it is empty, the first of `guesses` that can be used is chosen, else the rules.
        Each guess is a model (None: it is skipped) and the reason for using it. `by_hand`: a person starts
        the run, so that a remote model in `setting` needs no further consent; for a guess it is always
        needed. Raises `UserError` if the model in `setting` cannot be used.
        """
        if setting == RULES:
            return ModelChoice(RULES, phrase("It is chosen in the settings."))
        if setting:
            self.provider(setting)
            if not by_hand:
                self.require_consent(setting)
            return ModelChoice(setting, phrase("It is chosen in the settings."))
        obstacle = ""
        for model, why in guesses:
            if model is None:
                continue
            try:
                self.provider(model)
                self.require_consent(model)
            except UserError as error:
                # If consent is missing, the title only says that nothing was sent; the cause has the reason.
                why = error.cause if error.reason == "consent" else error.title
                obstacle = obstacle or phrase("{model} cannot be used: {why}", model=model, why=why)
                continue
            return ModelChoice(model, why)
        return ModelChoice(RULES, obstacle or phrase("No model is configured."))

    def engine(self, name: str, context: ScopeContext, trigger: Trigger) -> Engine:
        """Return the engine called `name`, ready to consolidate. Raises `UserError` if it cannot be used.

        `trigger`: the occasion of the run.
        """
        from reverie.jobs.consolidate.engine import ModelEngine, RulesEngine, built_in_instructions

        if name == RULES:
            return RulesEngine()

        self.provider(name)  # raises before the run begins
        return ModelEngine(
            self.asking(name),
            instructions=self._instructions(context) or built_in_instructions(),
            trigger=trigger,
            workspace_name=context.workspace_id or "",
        )

    def asking(self, name: str) -> ModelClient:
        """Return a client for the model called `name`; its service is opened on the first request."""
        from reverie.llm.client import ModelClient
        from reverie.llm.prices import cost_usd

        return ModelClient(
            name,
            open_provider=lambda: self.provider(name),
            cost_of=lambda usage: cost_usd(name, usage),
            clock=self._parts.clock,
        )

    def consent_needed(self, context: ScopeContext, engine: str) -> ConsentView | None:
        """Return the data that `engine` would send to a destination to which the user has not consented yet.

        None if no consent is needed.
        """
        from reverie.jobs.consolidate.overlay import DreamOverlay
        from reverie.llm.vault import Vault

        destination = self._destination(engine)
        if self._agreed(destination):
            return None

        overlay = DreamOverlay(self._parts.home, context, self._parts.usage)
        notes = overlay.notes(lambda: None)
        vault = Vault()
        for note in notes:
            vault.learn(note.text)
        paths = tuple(note.path for note in notes)
        return ConsentView(destination, paths, vault.secrets_hidden, overlay.left_out())

    def give_consent(self, engine: str) -> None:
        """Record that a person consented to send memories of this home to the destination of this engine."""
        destination = self._destination(engine)

        def change(data: dict[str, Any]) -> dict[str, Any]:
            agreed = data.setdefault("destinations", {})
            agreed.setdefault(destination, self._parts.clock())
            return data

        if destination:
            self._consents.update(change)

    def require_consent(self, engine: str) -> None:
        """Raise `StoreError` unless a person has consented to the destination of this engine."""
        destination = self._destination(engine)
        if not self._agreed(destination):
            raise StoreError(
                f"Nothing was sent to {destination}.",
                cause="You have not approved sending memories of this home to this destination.",
                next_step="Start a run from the window once, and give your approval there.",
                reason="consent",
            )

    def obstacle(self, engine: str) -> str:
        """Return the reason why a background run could not use `engine`, as a sentence; empty if it can."""
        try:
            self.require_consent(engine)
        except UserError as error:
            return str(error)
        return ""

    def _destination(self, engine: str) -> str:
        return "" if engine == RULES else self.provider(engine).destination

    def _agreed(self, destination: str) -> bool:
        if not destination:
            return True
        agreed = self._consents.read().data.get("destinations")
        return isinstance(agreed, dict) and destination in agreed

    def _obstacle(self, model: str) -> str:
        """Return the reason why a model of the agent cannot be used, as a sentence; empty if it can be."""
        try:
            self.provider(model)
        except UserError as error:
            return f"The agent's own model {model} cannot be used: {error.title}"
        return ""

    def _config(self, context: ScopeContext | None) -> AgentDreamConfig:
        models = self._parts.home.models
        if models is None:
            return AgentDreamConfig()
        return models.dream_config(None if context is None else context.workspace_id)

    def _instructions(self, context: ScopeContext) -> str:
        """Return the home's own prompt for a consolidation; empty for the built-in prompt."""
        return own_instructions(self._parts, context, self._config(context), "dream")

    @cached_property
    def _consents(self) -> Sidecar:
        return self._parts.own_sidecar("consent.json")
