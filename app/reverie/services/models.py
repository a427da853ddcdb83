"""Which model a home's dreams use, whether it may be asked, and what is to be said before it is.

The engine is what a person named, else what the settings say, else (`auto`) the model that the agent itself
would dream with, if its service can be reached with what is at hand, else the embedded rules. `auto` never
picks a model away from this machine before a person agreed to it (`give_consent`, per home and destination):
then it is the rules, and says so.

Threading: blocks on disk, keyring and network; any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from reverie.dream.engine import Engine
from reverie.errors import MendableError, StoreError
from reverie.homes.agents import DreamWishes
from reverie.homes.scopes import ScopeContext
from reverie.services.instructions import own_instructions
from reverie.services.model_services import ModelServices
from reverie.services.parts import HomeParts
from reverie.services.views import ConsentView, ModelsView

if TYPE_CHECKING:
    from reverie.agent.asking import Asking
    from reverie.agent.keys import KeyStore
    from reverie.dream.coverage import Trigger
    from reverie.files.sidecar import Sidecar

RULES, AUTO = "rules", "auto"


@dataclass(frozen=True, slots=True)
class Choice:
    """An engine, and why it is this one."""

    engine: str
    reason: str


class Models(ModelServices):
    """The models of one home."""

    def __init__(
        self,
        parts: HomeParts,
        *,
        env: Mapping[str, str] | None = None,
        keys: KeyStore | None = None,
    ) -> None:
        super().__init__(
            lambda: parts.settings, env=env, keys=keys, offered=lambda: parts.home.model_services()
        )
        self._parts = parts

    def view(self, context: ScopeContext | None) -> ModelsView:
        """What the button will use in `context`, and every service there is."""
        wanted = self.choose(context, AUTO, before_consent=True)
        return ModelsView(wanted.engine, wanted.reason, self.services())

    def choose(self, context: ScopeContext | None, wish: str, *, before_consent: bool = False) -> Choice:
        """The engine for a wish (`auto`, `rules` or `PROVIDER:MODEL`). With `before_consent` the model is
        named although a person has still to agree to it."""
        if wish != AUTO:
            return Choice(wish, "It was asked for.")
        setting = self._parts.settings.dream.engine
        if setting != AUTO:
            return Choice(setting, "The settings say so.")
        wishes = self._wishes(context)
        if wishes.model is None:
            return Choice(RULES, "No model is configured.")
        if not wishes.enabled:
            return Choice(RULES, "The agent's own dream is switched off in its home.")
        obstacle = self._obstacle(wishes.model)
        if obstacle:
            return Choice(RULES, obstacle)
        if not before_consent and not self._agreed(self._destination(wishes.model)):
            return Choice(RULES, f"Nobody has agreed yet to send memories to {wishes.model}.")
        return Choice(wishes.model, "It is the agent's own model for this.")

    def choose_in_background(
        self, setting: str, guesses: Iterable[tuple[str | None, str]], *, by_hand: bool
    ) -> Choice:
        """The engine of a small run: the model of the settings (empty for none), else the first of `guesses`
        (a model and why it is this one) that can be asked, else the rules. `by_hand`: a person starts it and
        has named the model in the settings, so that a remote one needs no further consent. Raises
        `MendableError` where the model that the settings name cannot be asked."""
        if setting == RULES:
            return Choice(RULES, "The settings say so.")
        if setting:
            self.provider(setting)
            if not by_hand:
                self.require_consent(setting)
            return Choice(setting, "The settings say so.")
        obstacle = ""
        for model, why in guesses:
            if model is None:
                continue
            try:
                self.provider(model)
                self.require_consent(model)
            except MendableError as error:
                obstacle = obstacle or f"{model} cannot be asked: {error.title}"
                continue
            return Choice(model, why)
        return Choice(RULES, obstacle or "No model is configured.")

    def engine(self, name: str, context: ScopeContext, trigger: Trigger) -> Engine:
        """The engine called `name`, ready to dream. Raises `MendableError` for one that cannot be asked."""
        if name == RULES:
            from reverie.dream.rules_engine import RulesEngine

            return RulesEngine()
        from reverie.dream.model_engine import ModelEngine

        self.provider(name)  # what is wrong with it is said before the run begins
        return ModelEngine(
            self.asking(name),
            instructions=self._instructions(context),
            trigger=trigger,
            workspace_name=context.workspace_id or "",
        )

    def asking(self, name: str) -> Asking:
        """How the model called `name` is asked; nothing is opened yet."""
        from reverie.agent.asking import Asking
        from reverie.agent.prices import cost_usd

        return Asking(
            name,
            open_provider=lambda: self.provider(name),
            cost_of=lambda usage: cost_usd(name, usage),
            clock=self._parts.clock,
        )

    def consent_needed(self, context: ScopeContext, engine: str) -> ConsentView | None:
        """What would leave this machine, if nobody has agreed to this destination yet; else None."""
        destination = self._destination(engine)
        if self._agreed(destination):
            return None
        from reverie.agent.vault import Vault
        from reverie.dream.overlay import DreamOverlay

        overlay = DreamOverlay(self._parts.home, context, self._parts.usage)
        notes = overlay.notes(lambda: None)
        vault = Vault()
        for note in notes:
            vault.learn(note.text)
        paths = tuple(note.path for note in notes)
        return ConsentView(destination, paths, vault.secrets_hidden, overlay.left_out())

    def give_consent(self, engine: str) -> None:
        """A person agreed that memories of this home go where this engine is."""
        destination = self._destination(engine)

        def change(data: dict[str, Any]) -> dict[str, Any]:
            agreed = data.setdefault("destinations", {})
            agreed.setdefault(destination, self._parts.clock())
            return data

        if destination:
            self._consents.update(change)

    def require_consent(self, engine: str) -> None:
        """Raises `StoreError` while nobody agreed to where this engine is."""
        destination = self._destination(engine)
        if not self._agreed(destination):
            raise StoreError(
                f"Nothing was sent to {destination}.",
                cause="Nobody has agreed yet that memories of this home go there.",
                next_step="Run it once from the window, which asks.",
                reason="consent",
            )

    def obstacle(self, engine: str) -> str:
        """Why a background run could not ask `engine`, as a sentence; empty if nothing is in the way."""
        try:
            self.require_consent(engine)
        except MendableError as error:
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
        """Why a model of the agent's cannot be asked, as a sentence; empty if nothing is known to be in the
        way."""
        try:
            self.provider(model)
        except MendableError as error:
            return f"The agent's own model {model} cannot be asked: {error.title}"
        return ""

    def _wishes(self, context: ScopeContext | None) -> DreamWishes:
        return self._parts.home.dream_wishes(None if context is None else context.workspace_id)

    def _instructions(self, context: ScopeContext) -> str:
        """The home's own prompt for a dream, else the built-in one."""
        from reverie.dream.prompts import built_in_instructions

        own = own_instructions(self._parts, context, self._wishes(context), "dream")
        return own or built_in_instructions()

    @cached_property
    def _consents(self) -> Sidecar:
        from reverie.files.sidecar import Sidecar

        path = self._parts.own_sidecars / "consent.json"
        return Sidecar(path, lock_dir=self._parts.profile.locks, clock=self._parts.clock)
