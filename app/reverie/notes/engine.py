"""What does the thinking of an update: a model, or the embedded rules. Both change nothing but the draft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from reverie.agent.account import Account
from reverie.errors import MendableError
from reverie.notes.tool import NotesDraft
from reverie.transcripts.reading import Message

EngineOutcome = Literal["completed", "time-limit", "cancelled", "failed"]


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


@dataclass(frozen=True, slots=True)
class EngineEnd:
    """How the thinking ended. `error` says why it `failed`."""

    outcome: EngineOutcome
    error: MendableError | None = None
    account: Account = field(default_factory=Account)


class NotesEngine(Protocol):
    """One run's engine. `name` is `rules` or `PROVIDER:MODEL`. Faults of a model are in the `EngineEnd`; only
    bugs are raised."""

    @property
    def name(self) -> str: ...

    async def update(
        self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]
    ) -> EngineEnd: ...
