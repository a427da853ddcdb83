"""The runs that a person starts by a command, in the command's own process or in a running engine.

Neither the background switch nor the daily budget applies to such a run, but the rules of a sweep and of a
harvest do. After each run the written files are checked again, because an agent at work may overwrite them a
moment later. Overwritten pins, use counts and coverage records are written again. For each overwritten memory
the result has a sentence (see `Lost`).

Threading: blocks on disk and network until the run is over; any thread. Failure: `UserError` if no run could
start.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from reverie.agents.scopes import ScopeContext
from reverie.jobs.consolidate.coverage import Trigger
from reverie.jobs.consolidate.harvest import HarvestRequest, dream_follows, follow_up
from reverie.jobs.consolidate.run import DreamRequest
from reverie.jobs.consolidate.triggers import Sweep, SweepResult
from reverie.jobs.extraction.service import ExtractProgress, ExtractResult
from reverie.jobs.extraction.state import ThreadSelection
from reverie.jobs.single_file.notes_service import NotesOutcome
from reverie.jobs.single_file.writer_service import WriterOutcome
from reverie.runs.record import RunResult
from reverie.services.background import (
    BackgroundJobs,
    ExtractionService,
    open_notes,
    open_writer,
)
from reverie.services.container import HomeContainer
from reverie.services.host import keep_usage
from reverie.services.models import Models
from reverie.services.reviews import ReviewService

Lost = tuple[str, ...]
"""A sentence for each write of the run that another program has overwritten since the run."""


class RunsByHand:
    """The runs that a person starts by a command in one home.

    `engine` is always `auto`, `rules` or `PROVIDER:MODEL`. The overwritten writes that the methods return
    (`Lost`) have one sentence for each write of the run that another program has overwritten since.
    """

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def consolidate(
        self, context: ScopeContext, trigger: Trigger, engine: str, dry_run: bool, *, cancel: threading.Event
    ) -> tuple[RunResult, str, Lost]:
        """Run one consolidation; return its result, the name of its engine, and the overwritten writes.

        `trigger`: the occasion of the run. `dry_run`: change nothing, only show the changes.
        """
        parts = self._parts
        if not dry_run:
            keep_usage(parts)
        models = Models(parts)
        thinker = models.engine(models.choose(context, engine).engine, context, trigger)
        request = DreamRequest(context, trigger, thinker.name, dry_run)
        result = parts.telling_loaded(context, lambda: parts.dreams.run(request, thinker, cancel=cancel))
        return result, thinker.name, self._lost()

    def sweep_plan(self) -> Sweep:
        """Return the idle workspaces that `sweep` would consolidate now, in their order; change nothing."""
        return self._parts.sweeps.plan()

    def sweep(self, engine: str, *, cancel: threading.Event) -> tuple[SweepResult, Lost]:
        """Consolidate idle workspaces with `engine`, as the background services do at launch.

        Returns the result and the overwritten writes.
        """
        keep_usage(self._parts)
        background = BackgroundJobs(self._parts, by_hand=True)
        result = self._parts.sweeps.run(
            lambda context: background.engine_for(context, "launch", engine), cancel=cancel
        )
        return result, self._lost()

    def harvest(
        self, context: ScopeContext, engine: str, *, cancel: threading.Event
    ) -> tuple[RunResult, RunResult | None, Lost]:
        """Harvest the newest compaction of a workspace; then consolidate, as the agent does after a harvest.

        A compaction is a summary by which the agent shortened a conversation; a harvest collects facts from
        that conversation. There is no consolidation if the harvest was refused. Returns the result of the
        harvest, the result of the consolidation (None if there was none), and the overwritten writes.
        """
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
        """Run the memory writer once for a workspace; return its outcome.

        Returns also the writes of the run that another program has overwritten meanwhile. `force`: run it
        even if it is not due.
        """
        keep_usage(self._parts)
        outcome = open_writer(self._parts, cancel, by_hand=True).run_now(workspace_id, force)
        return outcome, self._lost()

    def notes(self, session_id: str, force: bool, *, cancel: threading.Event) -> tuple[NotesOutcome, Lost]:
        """Update the notes of a session once; return the outcome and the overwritten writes.

        `force`: update them even if there is nothing new since the last update.
        """
        outcome = open_notes(self._parts, cancel, by_hand=True).update_now(session_id, force=force)
        return outcome, self._lost()

    def extract_plan(self, project_path: str | None) -> tuple[ThreadSelection, bool]:
        """Return the threads (conversations) that `extract` would consider, and whether results become notes.

        The second value is True if each result is written as a note to the agent. `project_path`: only for
        this directory; None: for all. Changes nothing.
        """
        service = ExtractionService(self._parts)
        return service.plan(project_path), service.to_notes

    def extract(
        self,
        engine: str,
        project_path: str | None,
        *,
        progress: Callable[[ExtractProgress], None],
        cancel: threading.Event,
    ) -> tuple[ExtractResult, Lost]:
        """Extract memories from new conversations; return the result and the overwritten writes.

        `project_path`: only for this directory; None: for all. `progress` is called whenever the `stage` of a
        conversation or directory changes.
        """
        service = ExtractionService(self._parts)
        result = service.run(
            engine=engine, project_path=project_path, progress=progress, cancel=cancel, by_hand=True
        )
        return result, self._lost()

    def revert(
        self, run_id: str, paths: Sequence[str], hunks: Sequence[int]
    ) -> tuple[RunResult, tuple[str, ...], Lost]:
        """Undo a run, or only the files `paths` and the hunks with the numbers `hunks` of it.

        Returns the result, the paths that had to be restored together with the requested ones, and the
        overwritten writes. Without paths and hunks, the whole run is undone.
        """
        keep_usage(self._parts)
        if not paths:
            return self._parts.reverter.revert(run_id), (), self._lost()
        part, too = ReviewService(self._parts).named_parts(run_id, paths, hunks)
        return self._parts.reverter.revert(run_id, part), too, self._lost()

    def _lost(self) -> Lost:
        self._parts.coverage.look_again()
        return tuple(lost.sentence() for lost in self._parts.saves.settle())
