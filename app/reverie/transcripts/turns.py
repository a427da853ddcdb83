"""What every transcript amounts to: turns in order, and the boundaries where an agent compacted its context.

Plain immutable data without a word of any agent; the readers (`transcripts.mux` and the like) make it, and a
home says which reader its sessions need.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

Role = Literal["system", "user", "assistant"]
TurnKind = Literal["message", "synthetic", "request", "boundary", "reset"]


@dataclass(frozen=True, slots=True)
class Turn:
    """One row of a transcript. `kind` tells what people and the model said (`message`) from what the agent
    added for itself: `synthetic` rows, the `request` for a compaction, the `boundary` row with its summary
    and a context `reset`. `timestamp` is UTC ms; `finished` is False for an answer cut off or in error."""

    id: str
    role: Role
    text: str
    sequence: int
    timestamp: int | None = None
    kind: TurnKind = "message"
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Boundary:
    """One compaction: everything after `previous_sequence` (None: from the start) and before `sequence` was
    summarised by the row `summary_message_id`. `request_message_id`: who asked, None for an automatic one."""

    summary_message_id: str
    sequence: int
    epoch: int
    previous_sequence: int | None = None
    request_message_id: str | None = None
    timestamp: int | None = None


class Transcript(Protocol):
    """One session's transcript, read anew at each call; it need not exist. Raises `Unavailable`."""

    def turns(self, after: int | None = None, up_to: int | None = None) -> Iterator[Turn]:
        """Every row with `after` < sequence <= `up_to`, in order."""

    def boundaries(self) -> tuple[Boundary, ...]:
        """Every compaction, oldest first."""
