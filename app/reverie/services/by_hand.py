"""The runs that commands ask for, in their own process or of a running engine.

By hand neither the switch nor the day's budget counts; the rules of a sweep and of a harvest do. Each run
looks again at what it wrote, since an agent at work may overwrite that a moment later, and puts back what it
may. With its result comes a sentence for each write that is gone again.

Threading: blocks on disk and network until the run has its outcome; any thread. Failure: `UserError` where
none began.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from reverie.agents.scopes import ScopeContext
from reverie.jobs.consolidate.coverage import Trigger
from reverie.jobs.consolidate.harvest import HarvestRequest, dream_follows, follow_up
from reverie.jobs.consolidate.run import DreamRequest
from reverie.jobs.consolidate.triggers import Sweep, SweepResult
from reverie.jobs.extraction.state import ExtractProgress, ExtractResult
from reverie.jobs.notes.service import NotesOutcome
from reverie.jobs.writer.service import WriterOutcome
from reverie.runs.result import RunResult
from reverie.services.background import (
    BackgroundJobs,
    ExtractCandidate,
    ExtractionService,
    open_notes,
    open_writer,
)
from reverie.services.container import HomeContainer
from reverie.services.host import keep_usage
from reverie.services.models import Models
from reverie.services.run_views import ReviewService

Lost = tuple[str, ...]
"""A sentence for each write of the run that another program has overwritten since."""


class RunsByHand:
    """The runs of one home. `engine`: `auto`, `rules` or `PROVIDER:MODEL`."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def consolidate(
        self, context: ScopeContext, trigger: Trigger, engine: str, dry_run: bool, *, cancel: threading.Event
    ) -> tuple[RunResult, str, Lost]:
        """One dream, and who did the thinking."""
        parts = self._parts
        if not dry_run:
            keep_usage(parts)
        models = Models(parts)
        thinker = models.engine(models.choose(context, engine).engine, context, trigger)
        request = DreamRequest(context, trigger, thinker.name, dry_run)
        return parts.dreams.run(request, thinker, cancel=cancel), thinker.name, self._lost()

    def sweep_plan(self) -> Sweep:
        """What `sweep` would do now; changes nothing."""
        return self._parts.sweeps.plan()

    def sweep(self, engine: str, *, cancel: threading.Event) -> tuple[SweepResult, Lost]:
        """The launch sweep."""
        keep_usage(self._parts)
        background = BackgroundJobs(self._parts, by_hand=True)
        result = self._parts.sweeps.run(
            lambda context: background.engine_for(context, "launch", engine), cancel=cancel
        )
        return result, self._lost()

    def harvest(
        self, context: ScopeContext, engine: str, *, cancel: threading.Event
    ) -> tuple[RunResult, RunResult | None, Lost]:
        """Harvest the newest compaction of a workspace, then dream where that follows."""
        parts, background = self._parts, BackgroundJobs(self._parts, by_hand=True)
        keep_usage(parts)
        extractor = background.extractor_for(context, engine)
        result = parts.harvests.run(HarvestRequest(context), extractor, cancel=cancel)
        if not dream_follows(result):
            return result, None, self._lost()
        request = follow_up(parts.home, context, extractor.name)
        thinker = background.engine_for(context, request.trigger, engine)
        return result, parts.dreams.run(request, thinker, cancel=cancel), self._lost()

    def write(self, workspace_id: str, force: bool, *, cancel: threading.Event) -> tuple[WriterOutcome, Lost]:
        """One run of the memory writer."""
        keep_usage(self._parts)
        outcome = open_writer(self._parts, cancel, by_hand=True).run_now(workspace_id, force)
        return outcome, self._lost()

    def notes(self, session_id: str, force: bool, *, cancel: threading.Event) -> tuple[NotesOutcome, Lost]:
        """One update of the notes of a session."""
        outcome = open_notes(self._parts, cancel, by_hand=True).update_now(session_id, force=force)
        return outcome, self._lost()

    def extract_plan(self, project_path: str | None) -> tuple[tuple[ExtractCandidate, ...], bool]:
        """Which threads `extract` would take, and whether its results become notes; changes nothing."""
        service = ExtractionService(self._parts)
        return service.candidates(project_path), service.to_notes

    def extract(
        self,
        engine: str,
        project_path: str | None,
        *,
        progress: Callable[[ExtractProgress], None],
        cancel: threading.Event,
    ) -> tuple[ExtractResult, Lost]:
        """Extract what is new, then consolidate."""
        service = ExtractionService(self._parts)
        result = service.run(
            engine=engine, project_path=project_path, progress=progress, cancel=cancel, by_hand=True
        )
        return result, self._lost()

    def revert(
        self, run_id: str, paths: Sequence[str], hunks: Sequence[int]
    ) -> tuple[RunResult, tuple[str, ...], Lost]:
        """Take a run back, or these files and hunks of it; and what came back as well."""
        keep_usage(self._parts)
        if not paths:
            return self._parts.reverter.revert(run_id), (), self._lost()
        part, too = ReviewService(self._parts).named_parts(run_id, paths, hunks)
        return self._parts.reverter.revert(run_id, part), too, self._lost()

    def _lost(self) -> Lost:
        self._parts.coverage.look_again()
        return tuple(lost.sentence() for lost in self._parts.saves.settle())
