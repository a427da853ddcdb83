"""The extraction of one Codex home, wired: which engine, which limits, and what a window is told of it.

The engine is what a person named, else what the settings say for extraction, else what a consolidation would
use (`services.models`). Nothing is sent to where no person has agreed that memories of this home go.

Threading: blocking; any thread but the GUI's. `progress` is called on the thread that runs it. Failure:
`MendableError` for an engine that cannot be asked; a run itself ends in a result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from reverie.homes.codex import CodexHome
from reverie.homes.codex_names import KIND
from reverie.rollouts.progress import ExtractProgress as ExtractProgress
from reverie.rollouts.progress import ExtractResult as ExtractResult
from reverie.rollouts.progress import PartEnd as PartEnd
from reverie.rollouts.selection import SKIP_WORDS
from reverie.rollouts.selection import Limits as SelectionLimits
from reverie.rollouts.service import Engines, ExtractRequest, ExtractService
from reverie.rollouts.state import ExtractState
from reverie.rollouts.writing import ExtractDependencies
from reverie.services.models import AUTO, RULES, Choice, Models
from reverie.services.parts import HomeParts


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thread as an extraction sees it. `chosen` is extracted by the next one; else `reason` is the
    machine word and `sentence` says why not. `updated_at` UTC ms, `size` bytes."""

    thread_id: str
    title: str
    project_path: str
    updated_at: int | None
    size: int
    chosen: bool
    reason: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class ExtractView:
    """For a footer: when anything was extracted or consolidated last (UTC ms), how the last consolidation
    ended, how many threads wait, and who is at work in words; empty for nobody. `engine` is what an
    extraction would use, `why` says why. `to_notes`: each result becomes a note to the agent."""

    last_at: int | None
    last_outcome: str
    waiting: int
    holder: str
    engine: str
    why: str
    to_notes: bool = False


class ExtractDesk:
    """Extraction of one home."""

    def __init__(self, parts: HomeParts, models: Models | None = None) -> None:
        self._parts = parts
        self._models = models or Models(parts)

    @property
    def available(self) -> bool:
        """Whether this home keeps rollouts that can be extracted; costs nothing."""
        return self._parts.home.kind == KIND

    @property
    def to_notes(self) -> bool:
        """Whether each result becomes a note to the agent, which folds it into its memory itself."""
        home = self._parts.home
        return isinstance(home, CodexHome) and home.extracts_to_notes

    def status(self, project_path: str | None = None) -> ExtractView:
        """Where extraction stands, for one directory or for all. Reads beginnings of rollouts."""
        found = self._service().status(self._request(project_path))
        choice = self.choose(before_consent=True)
        held = found.holder
        holder = "" if held is None else f"Process {held.owner.pid}: {held.purpose}"
        return ExtractView(
            found.last_at,
            found.last_outcome,
            found.candidates,
            holder,
            choice.engine,
            choice.reason,
            self.to_notes,
        )

    def candidates(self, project_path: str | None = None) -> tuple[Candidate, ...]:
        """Every thread that was looked at, chosen ones first."""
        found = self._service().plan(self._request(project_path))
        chosen = tuple(
            Candidate(each.id, each.title, each.cwd, each.updated_at, each.size, True)
            for each in found.chosen
        )
        return chosen + tuple(
            Candidate(
                each.thread.id,
                each.thread.title,
                each.thread.cwd,
                each.thread.updated_at,
                each.thread.size,
                False,
                each.reason,
                f"Left out: {SKIP_WORDS[each.reason]}.",
            )
            for each in found.skipped
        )

    def choose(self, wish: str = AUTO, *, before_consent: bool = False) -> Choice:
        """The engine for a wish (`auto`, `rules`, `PROVIDER:MODEL`). `before_consent`: named although a
        person has still to agree to it."""
        if wish == AUTO and self._parts.read_settings().extract.model:
            return Choice(self._parts.read_settings().extract.model, "The settings say so.")
        return self._models.choose(None, wish, before_consent=before_consent)

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
        """Both stages; blocks until all of it has its outcome. `by_hand`: whoever asks has named the model
        itself, by option or in the settings, so that it needs no further consent. Raises `StoreError` (reason
        "consent") for a destination that nobody has agreed to, and `ProviderError`."""
        choice = self.choose(engine)
        if choice.engine != RULES:
            self._models.provider(choice.engine)  # what is wrong with it is said before the run begins
            if not by_hand:
                self._models.require_consent(choice.engine)
        request = self._request(project_path, trigger=trigger)
        return self._service().run(request, self._engines(choice.engine), cancel=cancel, progress=progress)

    def _engines(self, name: str) -> Engines:
        if name == RULES:
            from reverie.rollouts.rule_merge import RulesMerge
            from reverie.rollouts.rules import RulesStageOne

            return Engines(RULES, lambda: RulesStageOne(_statements), RulesMerge)
        from reverie.rollouts.model_stages import ModelStageOne, ModelStageTwo

        asking = self._models.asking(name)
        return Engines(name, lambda: ModelStageOne(asking), lambda: ModelStageTwo(asking))

    def _request(self, project_path: str | None, *, trigger: str = "manual") -> ExtractRequest:
        settings = self._parts.read_settings().extract
        return ExtractRequest(
            project_path,
            SelectionLimits(settings.max_rollouts, settings.idle_seconds * 1000),
            settings.concurrency,
            settings.time_limit_s,
            trigger,
        )

    def _service(self) -> ExtractService:
        parts = self._parts
        return ExtractService(
            ExtractDependencies(
                run=parts.run_dependencies,
                activity=parts.activity,
                save_trace=lambda run_id, document: parts.traces.save(run_id, document),
                state=ExtractState(parts.profile.own_sidecars(parts.home_id) / "extract.sqlite"),
            )
        )


def extract_at_launch(parts: HomeParts, cancel: threading.Event) -> ExtractResult | None:
    """The extraction at the start of the background services; None where it is switched off, which Activity
    tells, or this home has none. Raises `MendableError` for an engine that cannot be asked."""
    desk = ExtractDesk(parts)
    if not desk.available or cancel.is_set():
        return None
    if desk.to_notes:
        parts.activity.add(
            "extract.by-agent",
            level="info",
            text="This Codex extracts memories by itself. `reverie extract` offers its results as notes.",
            home=str(parts.home.root),
            workspace_id=None,
        )
        return None
    if not parts.read_settings().extract.at_launch:
        parts.activity.add(
            "extract.disabled",
            level="info",
            text="Extraction at the start is off. Switch it on in the settings.",
            home=str(parts.home.root),
            workspace_id=None,
        )
        return None
    return desk.run(cancel=cancel, trigger="launch")


def _statements(text: str) -> Iterator[str]:
    """What a person says outright: whole sentences by the rules of the harvest, else the clause in one."""
    from reverie.dream.harvest_rules import candidates_in, sentences
    from reverie.rollouts.preferences import preference_in

    for sentence in sentences(text):
        whole = next(candidates_in(sentence), None)
        said = preference_in(sentence) if whole is None else str(whole["text"])
        if said is not None:
            yield said
