"""Engines that do what a test specifies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reverie.jobs.consolidate.apply import ApplyService, load_review
from reverie.jobs.consolidate.engine import Engine
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest
from reverie.llm.client import Account
from reverie.runs.guard import Guard
from reverie.runs.record import Progress, RunResult
from reverie.runs.stops import StopCheck
from reverie.services.container import HomeContainer


def carried_out(parts: HomeContainer, request: DreamRequest, engine: Engine) -> RunResult:
    """A consolidation that a person agrees to, all of it, where its report card holds it."""
    run = parts.dreams.run(request, engine)
    if run.outcome != "held":
        return run
    selection = ReviewSelection()
    for file in load_review(parts.dream_dependencies, run.run_id).review.files:
        selection = selection.with_agreed_loss(file.path, agreed=True)
    return ApplyService(parts.dream_dependencies).apply(run.run_id, selection)


class ScriptedEngine:
    """Issues the requests it is given, as a model could, and keeps the answers. The nth has the reason
    `because n`. `meanwhile`: what somebody else does once it has asked."""

    name = "scripted"

    def __init__(self, *requests: Mapping[str, Any], meanwhile: Callable[[], object] = lambda: None) -> None:
        self._requests = requests
        self._meanwhile = meanwhile
        self.answers: list[dict[str, Any]] = []

    def account(self) -> Account:
        return Account()

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
        faults: Sequence[str] = (),
    ) -> str:
        overlay.notes(limits.check)
        self.answers = [
            guard.execute(request, reason=f"because {number}")
            for number, request in enumerate(self._requests)
        ]
        self._meanwhile()
        limits.check()
        return "as scripted"
