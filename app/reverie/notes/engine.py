"""What does the thinking of an update: a model, or the embedded rules. Both change nothing but the draft.

Threading: one run, one event loop. Failure: an `EngineEnd` tells it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from reverie.agent.asking import EngineEnd
from reverie.notes.tool import NotesDraft
from reverie.transcripts.reading import Message


@dataclass(frozen=True, slots=True)
class NotesTask:
    """One run. `path`: the notes, as the tool must name them; `messages`: the newest of the conversation;
    `prompt`: a person's own instructions, None for the built-in ones; `deadline` is on `time.monotonic`'s
    clock."""

    run_id: str
    session_id: str
    title: str
    path: str
    messages: tuple[Message, ...]
    prompt: str | None
    timeout_ms: int
    deadline: float


class NotesEngine(Protocol):
    """One run's engine. `name` is `rules` or `PROVIDER:MODEL`. Faults of a model are in the `EngineEnd`; only
    bugs are raised."""

    @property
    def name(self) -> str: ...

    async def update(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineEnd:
        """Edit the draft until it is done, or `cancelled()` says so."""
