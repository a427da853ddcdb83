"""The memory writer of one home, wired: which engine it uses, and where it keeps what it knows.

The model is what the settings name for the writer; else what the agent itself would use for it, the model of
the turn that triggered the run, the agent's default; else the rules. A model that the settings name and that
cannot be asked stops the run (`model-unavailable`); one that was only guessed is passed over. Nothing is sent
to where no person has agreed that memories of this home go.

Threading: any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from reverie.agent.dumps import Dumps
from reverie.files.sidecar import Sidecar
from reverie.homes.agents import WriterWishes
from reverie.homes.scopes import ScopeContext
from reverie.log_level import asked_by, is_debug
from reverie.services.instructions import own_instructions
from reverie.services.models import RULES, Models
from reverie.services.parts import HomeParts
from reverie.settings import System1Settings
from reverie.writer.engine import WriterEngine
from reverie.writer.rules import RulesWriter
from reverie.writer.service import WriterDependencies, WriterService
from reverie.writer.state import OwnMarks


def open_writer(
    parts: HomeParts,
    cancel: threading.Event | None = None,
    *,
    models: Models | None = None,
    by_hand: bool = False,
) -> WriterService:
    """The writer of this home. `by_hand`: a person starts it and has chosen the model in the settings, so
    that a remote one needs no further consent."""
    return WriterService(writer_dependencies(parts, models, by_hand=by_hand), cancel)


def writer_dependencies(
    parts: HomeParts, models: Models | None = None, *, by_hand: bool = False
) -> WriterDependencies:
    """What the writer of this home works with."""
    engines = WriterEngines(parts, models or Models(parts), by_hand=by_hand)

    require = parts.write_guard.require

    def sidecar(path: Path) -> Sidecar:
        return Sidecar(path, lock_dir=parts.profile.locks, clock=parts.clock)

    def sidecar_in_home(path: Path) -> Sidecar:
        return Sidecar(path, lock_dir=parts.profile.locks, clock=parts.clock, require=require)

    return WriterDependencies(
        run=parts.run_dependencies,
        activity=parts.activity,
        dumps=Dumps(parts.home.root, sidecar(parts.own_sidecars / "writer-dumps.json"), require),
        save_trace=lambda run_id, document: parts.traces.save(run_id, document),
        marks=OwnMarks(sidecar(parts.own_sidecars / "writer-marks.json")),
        sidecar_for=sidecar_in_home,
        lock_dir=parts.profile.locks,
        lock_place=parts.own_sidecars,
        settings=lambda: parts.read_settings().system1,
        engine_for=engines.engine,
        debugging=debugging,
    )


def debugging() -> bool:
    """Whether the environment asks for debug output, or a person switched it on in the window."""
    return bool(asked_by(os.environ)) or is_debug()


class WriterEngines:
    """Chooses the engine of one run."""

    def __init__(self, parts: HomeParts, models: Models, *, by_hand: bool = False) -> None:
        self._parts = parts
        self._models = models
        self._by_hand = by_hand

    def engine(self, context: ScopeContext, wishes: WriterWishes, turn_model: str | None) -> WriterEngine:
        """The engine for a run in `context`. Raises `MendableError` where the model that the settings name
        cannot be asked."""
        name, _why = self.choose(self._parts.read_settings().system1, wishes, turn_model)
        if name == RULES:
            from reverie.dream.harvest_rules import candidates_in

            def statements(text: str) -> Iterator[str]:
                return (str(candidate["text"]) for candidate in candidates_in(text))

            return RulesWriter(statements, self._parts.clock)
        from reverie.writer.model_writer import ModelWriter

        return ModelWriter(
            self._models.asking(name), own_instructions(self._parts, context, wishes, "writer")
        )

    def choose(
        self, settings: System1Settings, wishes: WriterWishes, turn_model: str | None
    ) -> tuple[str, str]:
        """The engine's name and why it is this one. Raises `MendableError` as `engine` does."""
        guesses = (
            (wishes.model, "It is the agent's own model for this."),
            (turn_model, "It is the model of the turn."),
            (wishes.default_model, "It is the agent's default model."),
        )
        choice = self._models.choose_in_background(settings.model, guesses, by_hand=self._by_hand)
        return choice.engine, choice.reason
