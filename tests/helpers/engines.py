"""Engines that do what a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.llm.client import Account
from reverie.runs.guard import Guard
from reverie.runs.result import Progress
from reverie.runs.run import StopCheck


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
