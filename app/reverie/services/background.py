"""The jobs of one home wired to their engines: consolidation, memory writer, session notes, extraction.

A background run never prompts the user: it uses the model that the settings name, else the agent's own, else
the rules (`services.models`), and sends nothing to a destination that the user has not consented to. If a
model named in the settings cannot be used, the run stops; a model that was only inferred is skipped. The
background switch and the daily budget are read again for each trigger, so that turning a switch off stops the
next run.

Threading: blocking; any thread but the GUI's. Failure: `UserError` if the engine cannot be used; a run itself
never raises, it returns a result.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.capabilities import AgentWriterConfig
from reverie.agents.scopes import Scope, ScopeContext
from reverie.files.log_file import asked_by, is_debug
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.harvest import ModelExtractor, RulesExtractor, candidates_in, sentences
from reverie.jobs.consolidate.triggers import TriggerDependencies, Triggers
from reverie.jobs.extraction.service import ExtractProgress, ExtractResult, ExtractView, HomeExtraction
from reverie.jobs.extraction.stage_one import ModelStageOne, RulesStageOne, preference_in
from reverie.jobs.extraction.stage_two import ModelStageTwo, RulesMerge
from reverie.jobs.extraction.state import ExtractState, ThreadSelection
from reverie.jobs.single_file.notes import ModelNotes, NotesEngine, RulesNotes
from reverie.jobs.single_file.notes_service import (
    NotesDependencies,
    NotesOutcome,
    NotesService,
    NotesStanding,
    NotesState,
)
from reverie.jobs.single_file.service import StateTable
from reverie.jobs.single_file.writer import ModelWriter, RulesWriter, WriterEngine, corrections
from reverie.jobs.single_file.writer_service import WriterDependencies, WriterService
from reverie.jobs.single_file.writer_turns import StateMarks
from reverie.llm.trace_store import Dumps
from reverie.memory.recording import AGENT
from reverie.memory.write_log import OUTSIDE
from reverie.services.container import HomeContainer
from reverie.services.models import AUTO, RULES, ModelChoice, Models, own_instructions
from reverie.settings import BackgroundSettings, System1Settings, load_settings
from reverie.text.summaries import phrase

if TYPE_CHECKING:
    from reverie.jobs.consolidate.coverage import Trigger
    from reverie.jobs.consolidate.engine import Engine
    from reverie.jobs.consolidate.harvest import Extractor


class _Engines:
    """The base of the classes that choose an engine for a run in one home.

    `by_hand`: the user started the run and chose its engine, by option or in the settings, so that a remote
    engine needs no further consent.
    """

    def __init__(self, parts: HomeContainer, models: Models | None = None, *, by_hand: bool = False) -> None:
        self._parts = parts
        self._models = models or Models(parts)
        self._by_hand = by_hand


class BackgroundJobs(_Engines):
    """The builder of engines, extractors and triggers for consolidations and harvests of one home.

    A harvest collects facts from a conversation that the agent compacted. `requested`: the engine that the
    user named on the command line.
    """

    def engine_for(self, context: ScopeContext, trigger: Trigger, requested: str = AUTO) -> Engine:
        """Return the engine (a model or the rules) that consolidates in `context`.

        `trigger`: the occasion of the run. `requested`: `auto`, `rules` or `PROVIDER:MODEL`. Raises
        `UserError` if the engine cannot be used.
        """
        return self._models.engine(self._name(context, requested), context, trigger)

    def extractor_for(self, context: ScopeContext, requested: str = AUTO) -> Extractor:
        """Return the extractor that finds memories in a transcript.

        `requested`: `auto`, `rules` or `PROVIDER:MODEL`. Raises `UserError` if its model cannot be used.
        """
        name = self._name(context, requested)
        if name == RULES:
            return RulesExtractor()

        self._models.provider(name)  # raises before the run begins
        return ModelExtractor(self._models.asking(name), workspace_name=context.workspace_id or "")

    def triggers(self, cancel: threading.Event) -> Triggers:
        """Build the object that starts this home's background runs; setting `cancel` stops those runs."""

        parts = self._parts
        return Triggers(
            TriggerDependencies(
                run=parts.dream_dependencies,
                dreams=parts.dreams,
                harvests=parts.harvests,
                sweeps=parts.sweeps,
                seen=parts.own_sidecar("seen-coverage.json"),
                budget=self._budget,
                engine_for=self.engine_for,
                extractor_for=self.extractor_for,
                cancel=cancel,
                wait=cancel.wait,
            )
        )

    def _name(self, context: ScopeContext, requested: str) -> str:
        name = self._models.choose(context, requested).engine
        if not self._by_hand:
            self._models.require_consent(name)
        return name

    def _budget(self) -> BackgroundSettings:
        settings, _problems = load_settings(self._parts.profile.settings_file)
        return settings.background.of(self._parts.home_id)


def open_writer(
    parts: HomeContainer,
    cancel: threading.Event | None = None,
    *,
    models: Models | None = None,
    by_hand: bool = False,
) -> WriterService:
    """Open the memory writer of this home.

    `cancel`: setting it ends the runs of the writer; None: they cannot be cancelled. `models`: the home's
    service for models; None: a new one. `by_hand`: a person starts the writer and has chosen its model in the
    settings, so that a remote model needs no further consent.
    """
    return WriterService(writer_dependencies(parts, models, by_hand=by_hand), cancel)


def writer_dependencies(
    parts: HomeContainer, models: Models | None = None, *, by_hand: bool = False
) -> WriterDependencies:
    """Return the objects that the memory writer of this home works with, such as its settings and engines.

    `models`: the home's service for models; None: a new one. `by_hand`: a person starts the writer and has
    chosen its model in the settings, so that a remote model needs no further consent.
    """
    engines = WriterEngines(parts, models, by_hand=by_hand)

    require = parts.write_guard.require

    def sidecar_of(workspace_id: str, path: Path) -> Sidecar:
        def require_session() -> None:
            context = parts.home.context(workspace_id=workspace_id)
            require(parts.home.scope_root(context, Scope.WORKSPACE))

        return Sidecar(path, lock_dir=parts.profile.locks, clock=parts.clock, require=require_session)

    return WriterDependencies(
        run=parts.run_dependencies,
        dumps=Dumps(parts.home.root, parts.own_sidecar("writer-dumps.json"), require),
        marks=StateTable(parts.own_sidecar("writer-marks.json"), "workspaces", StateMarks),
        sidecar_for=sidecar_of,
        lock_place=parts.own_sidecars,
        settings=lambda: parts.read_settings().system1,
        engine_for=engines.engine,
        debugging=debugging,
    )


def debugging() -> bool:
    """Return True if debug logging is on.

    It is turned on by the environment variable `REVERIE_DEBUG` or `REVERIE_LOG_LEVEL`, or by a person in the
    window.
    """
    return bool(asked_by(os.environ)) or is_debug()


class WriterEngines(_Engines):
    """The choice of the engine for one run of the memory writer.

    The first of these that can be used is chosen: the model that the settings name, the agent's model for
    this task, the model of the turn that triggers the run, the agent's default model, the rules.
    """

    def engine(
        self, context: ScopeContext, config: AgentWriterConfig, turn_model: str | None
    ) -> WriterEngine:
        """Return the engine for a run in `context`.

        `config`: the agent's configuration of its writer; `turn_model`: the model that the triggering turn
        used, None if unknown. Raises `UserError` if the model that the settings name cannot be used.
        """
        name, _why = self.choose(self._parts.read_settings().system1, config, turn_model)
        if name == RULES:

            def statements(text: str) -> Iterator[str]:
                return (str(candidate["text"]) for candidate in candidates_in(text))

            return RulesWriter(statements, self._parts.clock)

        return ModelWriter(
            self._models.asking(name), own_instructions(self._parts, context, config, "writer")
        )

    def choose(
        self, settings: System1Settings, config: AgentWriterConfig, turn_model: str | None
    ) -> tuple[str, str]:
        """Choose an engine; return its name and the reason for the choice.

        `config`: the agent's configuration of its writer; `turn_model`: the model that the triggering turn
        used, None if unknown. Raises `UserError` if the model in `settings` cannot be used.
        """
        guesses = (
            (config.model, phrase("The agent uses this model for this task.")),
            (turn_model, phrase("The turn used this model.")),
            (config.default_model, phrase("It is the agent's default model.")),
        )
        choice = self._models.choose_in_background(settings.model, guesses, by_hand=self._by_hand)
        return choice.engine, choice.reason


class SessionNotesService:
    """The service that shows and updates the session notes of one home, for the window and for the host.

    The host is the process that runs the background services. Setting `cancel` ends the updates that `follow`
    has started.
    """

    def __init__(self, parts: HomeContainer, cancel: threading.Event | None = None) -> None:
        self._parts = parts
        self._cancel = cancel

    def keeps_notes(self, session_id: str) -> bool:
        """Return whether this agent writes notes for this session; the notes need not exist yet.

        Raises `UserError` if the home cannot be read.
        """
        notes = self._parts.home.notes
        return notes is not None and notes.notes_place(session_id) is not None

    def standing(self, session_id: str) -> NotesStanding:
        """Return the state, size and problems of a session's notes, and the reason if no update is due now.

        The first call reads the whole transcript (about 1 s for 100 MB), later calls only the appended part.
        Raises `UserError` if the notes or the transcript cannot be read.
        """
        return self._service.standing(session_id)

    def engine(self, session_id: str) -> tuple[str, str]:
        """Return the name of the engine that `update` would use, and the reason for the choice.

        Raises `UserError` if that engine cannot be used.
        """
        context = self._parts.home.context(workspace_id=session_id)
        return NotesEngines(self._parts, by_hand=True).choose(context)

    def update(
        self, session_id: str, cancel: threading.Event | None = None, *, force: bool = False
    ) -> NotesOutcome:
        """Update the notes of a session now, even if no threshold is reached; return the outcome.

        Blocks until the update is done; setting `cancel` ends it early. Without `force` nothing is done if
        there are no new messages and the notes are unchanged since the last update.
        """
        return open_notes(self._parts, cancel, by_hand=True).update_now(session_id, force=force)

    def follow(self, session_id: str) -> bool:
        """Update the notes of a session, because its transcript has changed, if an update is due.

        Returns False if the session has no notes, else True. Raises `UserError` if the home cannot be read.
        """
        if not self.keeps_notes(session_id):
            return False
        self._service.on_change(session_id)
        return True

    @cached_property
    def _service(self) -> NotesService:
        return open_notes(self._parts, self._cancel)


def open_notes(
    parts: HomeContainer,
    cancel: threading.Event | None = None,
    *,
    models: Models | None = None,
    by_hand: bool = False,
) -> NotesService:
    """Open the service that writes the session notes of this home.

    `cancel`: setting it ends the updates of the notes; None: they cannot be cancelled. `models`: the home's
    service for models; None: a new one. `by_hand`: a person starts the update and has chosen its model in the
    settings, so that a remote model needs no further consent.
    """
    engines = NotesEngines(parts, models, by_hand=by_hand)

    def is_ours(file: Path, sha256: str) -> bool:
        found = parts.actors.actor_of(file, sha256)
        return found is not None and found.actor not in (OUTSIDE, AGENT)

    return NotesService(
        NotesDependencies(
            run=parts.run_dependencies,
            book=StateTable(parts.own_sidecar("session-notes.json"), "sessions", NotesState),
            settings=lambda: parts.read_settings().notes,
            engine_for=engines.engine,
            is_ours=is_ours,
        ),
        cancel,
    )


class NotesEngines(_Engines):
    """The choice of the engine for one update of session notes.

    If the user starts the run, a model that the settings name needs no further consent.
    """

    def engine(self, context: ScopeContext) -> NotesEngine:
        """Return the engine for a run in `context`. Raises `UserError` as `choose` does."""
        name, _why = self.choose(context)
        if name == RULES:
            return RulesNotes(corrections, self._parts.clock)

        return ModelNotes(self._models.asking(name))

    def choose(self, context: ScopeContext) -> tuple[str, str]:
        """Choose an engine; return its name and the reason for the choice.

        Raises `UserError` if the model that the settings name cannot be used.
        """
        setting = self._parts.read_settings().notes.model
        models = self._parts.home.models
        guess = None if models is None else models.dream_config(context.workspace_id).model
        choice = self._models.choose_in_background(
            setting, [(guess, "The agent itself uses this model.")], by_hand=self._by_hand
        )
        return choice.engine, choice.reason


class ExtractionService:
    """The service that extracts memories from the rollouts (files of conversations) of one Codex home.

    Both stages use the engine that the user named, else the one in the settings. Without either, stage one
    uses the agent's own model for extractions, and stage two the engine that a consolidation would use.
    """

    def __init__(self, parts: HomeContainer, models: Models | None = None) -> None:
        self._parts = parts
        self._models = models or Models(parts)

    @property
    def available(self) -> bool:
        """True if this home keeps rollouts that can be extracted. Reads no file."""
        return self._parts.home.extraction is not None

    @property
    def to_notes(self) -> bool:
        """True if each result of an extraction is written as a note to the agent.

        The agent later adds the note to its own memory.
        """
        extraction = self._parts.home.extraction
        return extraction is not None and extraction.extracts_to_notes

    def status(self, project_path: str | None = None) -> ExtractView:
        """Return the state of extraction for the directory `project_path`; None: for all directories.

        Reads the beginnings of rollouts.
        """
        choice = self.choose(before_consent=True)
        return self._extraction(project_path).status(choice.engine, choice.reason)

    def plan(self, project_path: str | None = None) -> ThreadSelection:
        """Return the threads (conversations) that the next extraction reads, and the others with the reason.

        `project_path`: only the threads of this directory; None: of all.
        """
        return self._extraction(project_path).plan()

    def choose(self, requested: str = AUTO, *, before_consent: bool = False) -> ModelChoice:
        """Return the engine that would read the conversations (stage one of the extraction), and why.

        `requested`: `auto`, `rules` or `PROVIDER:MODEL`. `before_consent`: if a person still has to consent
        to the agent's model, True returns this model all the same, False returns the rules.
        """
        setting = self._parts.read_settings().extract.model
        if requested == AUTO and setting:
            return ModelChoice(setting, "It is chosen in the settings.")
        return self._models.choose_extraction(requested, before_consent=before_consent)

    def run(
        self,
        *,
        engine: str = AUTO,
        project_path: str | None = None,
        progress: Callable[[ExtractProgress], None] = lambda _progress: None,
        cancel: threading.Event | None = None,
        by_hand: bool = False,
        trigger: str = "manual",
    ) -> ExtractResult:
        """Run both stages of the extraction; block until both have finished, and return the result.

        `engine`: `auto`, `rules` or `PROVIDER:MODEL`. `project_path`: only for this directory; None: for all.
        `progress` is called whenever the `stage` of a rollout or directory changes. `cancel`: an event that
        ends the run early; None: it cannot be cancelled. `by_hand`: the caller has named the model, by option
        or in the settings, so that it needs no further consent. `trigger`: the occasion, for the run's
        record. Raises `StoreError` (reason "consent") if a person must still consent to the use of a model,
        `ProviderError` if a model cannot be used.
        """
        one = two = self.choose(engine).engine
        if engine == AUTO and not self._parts.read_settings().extract.model:
            two = self._models.choose(None, engine).engine  # that of a consolidation
        for name in {one, two} - {RULES}:
            self._models.provider(name)  # raises before the run begins
            if not by_hand:
                self._models.require_consent(name)
        cancel = cancel or threading.Event()
        extraction = self._extraction(project_path, trigger=trigger, cancel=cancel, progress=progress)
        return extraction.run(
            one,
            lambda: RulesStageOne(_statements) if one == RULES else ModelStageOne(self._models.asking(one)),
            lambda: RulesMerge() if two == RULES else ModelStageTwo(self._models.asking(two)),
        )

    def _extraction(self, project_path: str | None, **more: Any) -> HomeExtraction:
        """Return the extraction of this home with the present settings; for the arguments see the class."""
        parts = self._parts
        state = ExtractState(parts.profile.own_sidecars(parts.home_id) / "extract.sqlite")
        settings = parts.read_settings().extract
        return HomeExtraction(parts.run_dependencies, state, settings, project_path, **more)


def extract_at_launch(parts: HomeContainer, cancel: threading.Event) -> ExtractResult | None:
    """Run the extraction that is due when the background services start.

    Returns None if nothing is extracted: the home has no rollouts, `cancel` is set, extraction at launch is
    switched off, or the agent extracts memories itself. The last two reasons are reported in Activity. Raises
    `UserError` if the engine cannot be used.
    """
    service = ExtractionService(parts)
    if not service.available or cancel.is_set():
        return None
    if service.to_notes:
        text = "This Codex extracts memories itself. `reverie extract` saves its results as notes for Codex."
        parts.report("extract.by-agent", text)
        return None
    if not parts.read_settings().extract.at_launch:
        parts.report("extract.disabled", "Extraction at startup is off. Turn it on in Settings.")
        return None
    return service.run(cancel=cancel, trigger="launch")


def _statements(text: str) -> Iterator[str]:
    """Yield the sentences or clauses of `text` in which a person states something worth remembering.

    A sentence is yielded whole if the rules of the harvest accept it. Otherwise only the clause in it that
    states a preference is yielded, if there is one.
    """

    for sentence in sentences(text):
        whole = next(candidates_in(sentence), None)
        preference = preference_in(sentence) if whole is None else str(whole["text"])
        if preference is not None:
            yield preference
