"""What does a writer's thinking: a model, or the embedded rules. Both change nothing but the draft.

Threading: one run, one event loop. Failure: an `EngineEnd` tells it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from reverie.agent.asking import EngineEnd
from reverie.writer.events import Events
from reverie.writer.memory_tools import Draft, WriterTools


@dataclass(frozen=True, slots=True)
class WriterTask:
    """One run: who asked, and what there is to read. `said`: what the person said since the last run, oldest
    first. `instructions` None: there are none. `deadline` is on `time.monotonic`'s clock."""

    run_id: str
    workspace_id: str
    workspace_name: str
    message_id: str
    memory_id: str
    instructions: str | None
    context_instructions: str | None
    events: Events
    said: tuple[str, ...]
    timeout_ms: int
    deadline: float


class WriterEngine(Protocol):
    """One run's engine. `name` is `rules` or `PROVIDER:MODEL`. Faults of a model are in the `EngineEnd`; only
    bugs are raised."""

    @property
    def name(self) -> str: ...

    async def write(
        self, task: WriterTask, draft: Draft, tools: WriterTools, cancelled: Callable[[], bool]
    ) -> EngineEnd:
        """Edit the draft by the tools until it is done, or `cancelled()` says so."""
