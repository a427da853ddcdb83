"""The session notes of one home, wired: which engine updates them, and where Reverie keeps what it knows.

The model is what the settings name for the notes; else what the agent itself would use, where it can be
reached; else the rules. A model that the settings name and that cannot be asked stops the update. Nothing is
sent to where no person has agreed that memories of this home go, unless the person who starts it named the
model in the settings.

`NotingDesk` is what the window asks. Threading: any thread but the GUI's. Failure: `MendableError`.
"""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path

from reverie.files.sidecar import Sidecar
from reverie.homes.scopes import ScopeContext
from reverie.memory.attribution import OUTSIDE
from reverie.memory.sharing import AGENT
from reverie.notes.engine import NotesEngine
from reverie.notes.outcome import NotesOutcome, NotesStanding
from reverie.notes.rules import RulesNotes
from reverie.notes.service import NotesDependencies, NotesService
from reverie.notes.state import NotesBook
from reverie.services.models import RULES, Models
from reverie.services.parts import HomeParts


class NotingDesk:
    """Session notes as the window shows and updates them."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def keeps_notes(self, session_id: str) -> bool:
        """Whether this home has notes for this session (there need be none yet). Raises `MendableError`."""
        return self._parts.home.notes_place(session_id) is not None

    def standing(self, session_id: str) -> NotesStanding:
        """State, size, problems and what stands between now and the next update. Reads the transcript the
        first time (a second for 100 MB), later only what is new. Raises `MendableError`."""
        return self._service.standing(session_id)

    def engine(self, session_id: str) -> tuple[str, str]:
        """The engine that `update` would use, and why. Raises `MendableError` where it cannot be asked."""
        context = self._parts.home.context(workspace_id=session_id)
        return NotesEngines(self._parts, Models(self._parts), by_hand=True).choose(context)

    def update(
        self, session_id: str, cancel: threading.Event | None = None, *, force: bool = False
    ) -> NotesOutcome:
        """Update the notes now, whatever the thresholds say. Blocks until it is done; `cancel` ends it."""
        return open_notes(self._parts, cancel, by_hand=True).update_now(session_id, force=force)

    @cached_property
    def _service(self) -> NotesService:
        return open_notes(self._parts)


class NotesFollower:
    """What a host does with a transcript that changed, where the agent keeps session notes."""

    def __init__(self, parts: HomeParts, cancel: threading.Event) -> None:
        self._parts = parts
        self._cancel = cancel

    def follow(self, session_id: str) -> bool:
        """Update its notes if they are due; False for a session that has none. Raises `MendableError`."""
        if self._parts.home.notes_place(session_id) is None:
            return False
        self._service.on_change(session_id)
        return True

    @cached_property
    def _service(self) -> NotesService:
        return open_notes(self._parts, self._cancel)


def open_notes(
    parts: HomeParts,
    cancel: threading.Event | None = None,
    *,
    models: Models | None = None,
    by_hand: bool = False,
) -> NotesService:
    """The session notes of this home. `by_hand`: a person starts it and has chosen the model in the
    settings, so that a remote one needs no further consent."""
    engines = NotesEngines(parts, models or Models(parts), by_hand=by_hand)

    def sidecar(path: Path) -> Sidecar:
        return Sidecar(path, lock_dir=parts.profile.locks, clock=parts.clock)

    def is_ours(file: Path, sha256: str) -> bool:
        found = parts.actors.actor_of(file, sha256)
        return found is not None and found.actor not in (OUTSIDE, AGENT)

    return NotesService(
        NotesDependencies(
            run=parts.run_dependencies,
            activity=parts.activity,
            book=NotesBook(sidecar(parts.own_sidecars / "session-notes.json")),
            save_trace=lambda run_id, document: parts.traces.save(run_id, document),
            settings=lambda: parts.read_settings().notes,
            engine_for=engines.engine,
            is_ours=is_ours,
        ),
        cancel,
    )


class NotesEngines:
    """Chooses the engine of one update."""

    def __init__(self, parts: HomeParts, models: Models, *, by_hand: bool) -> None:
        self._parts = parts
        self._models = models
        self._by_hand = by_hand

    def engine(self, context: ScopeContext) -> NotesEngine:
        """The engine for a run in `context`. Raises `MendableError`."""
        name, _why = self.choose(context)
        if name == RULES:
            from reverie.writer.rules import corrections

            return RulesNotes(corrections, self._parts.clock)
        from reverie.notes.model_notes import ModelNotes

        return ModelNotes(self._models.asking(name))

    def choose(self, context: ScopeContext) -> tuple[str, str]:
        """The engine's name and why it is this one. Raises `MendableError` where the model that the settings
        name cannot be asked."""
        setting = self._parts.read_settings().notes.model
        guess = self._parts.home.dream_wishes(context.workspace_id).model
        choice = self._models.choose_in_background(
            setting, [(guess, "It is the agent's own model.")], by_hand=self._by_hand
        )
        return choice.engine, choice.reason
