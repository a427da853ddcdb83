"""Which engine a background run uses, and the triggers of one home wired to it.

A background run never asks anybody: it uses what the settings say, else the agent's own model, else the rules
(`services.models`), and sends nothing to where no person has agreed that it goes. The switch and the budget
are read anew for each trigger, so that a switch turned off stops the next run.

Threading: blocking; any thread but the GUI's. Failure: `MendableError` for an engine that cannot be asked.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from reverie.services.models import AUTO, RULES, Models

if TYPE_CHECKING:
    from reverie.dream.coverage import Trigger
    from reverie.dream.engine import Engine
    from reverie.dream.harvest_extract import Extractor
    from reverie.dream.triggers import Budget, Triggers
    from reverie.homes.scopes import ScopeContext
    from reverie.services.parts import HomeParts


class Background:
    """Background runs of one home. `wish` is an engine a person asked for, as on the command line; `by_hand`:
    a person started it and has chosen the engine, by option or in the settings."""

    def __init__(self, parts: HomeParts, models: Models | None = None, *, by_hand: bool = False) -> None:
        self._parts = parts
        self._models = models or Models(parts)
        self._by_hand = by_hand

    def engine_for(self, context: ScopeContext, trigger: Trigger, wish: str = AUTO) -> Engine:
        """What dreams. Raises `MendableError`."""
        return self._models.engine(self._name(context, wish), context, trigger)

    def extractor_for(self, context: ScopeContext, wish: str = AUTO) -> Extractor:
        """What mines a transcript. Raises `MendableError`."""
        name = self._name(context, wish)
        if name == RULES:
            from reverie.dream.harvest_rules import RulesExtractor

            return RulesExtractor()
        from reverie.dream.harvest_model import ModelExtractor

        self._models.provider(name)  # what is wrong with it is said before the run begins
        return ModelExtractor(self._models.asking(name), workspace_name=context.workspace_id or "")

    def triggers(self, cancel: threading.Event) -> Triggers:
        """The triggers of this home; `cancel` ends what they have under way."""
        from reverie.dream.triggers import TriggerDependencies, Triggers
        from reverie.files.sidecar import Sidecar

        parts = self._parts
        seen = parts.own_sidecars / "seen-coverage.json"
        return Triggers(
            TriggerDependencies(
                home=parts.home,
                runs=parts.runs,
                coverage=parts.coverage,
                activity=parts.activity,
                dreams=parts.dreams,
                harvests=parts.harvests,
                sweeps=parts.sweeps,
                seen=Sidecar(seen, lock_dir=parts.profile.locks, clock=parts.clock),
                clock=parts.clock,
                budget=self._budget,
                engine_for=self.engine_for,
                extractor_for=self.extractor_for,
                cancel=cancel,
                wait=cancel.wait,
            )
        )

    def _name(self, context: ScopeContext, wish: str) -> str:
        name = self._models.choose(context, wish).engine
        if not self._by_hand:
            self._models.require_consent(name)
        return name

    def _budget(self) -> Budget:
        from reverie.dream.triggers import Budget
        from reverie.settings import load_settings

        settings, _problems = load_settings(self._parts.profile.settings_file)
        home = settings.background.of(self._parts.home_id)
        return Budget(home.enabled, home.runs_per_day, home.tokens_per_day)
