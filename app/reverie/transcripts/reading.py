"""A transcript as a person reads it, whatever agent wrote it: messages in order, tool calls with their
results, what the agent injected for itself told apart.

Each agent's reader (`transcripts.mux_reading` and the like) makes these; a viewer needs nothing else. Texts
are untrusted and may be large: a reader streams, and cuts no text silently (`cut` says so).

Threading: values; a reader belongs to one thread at a time. Failure: `Unavailable` where the file cannot be
read at all; a line that cannot be read is counted in `Reading` and hides no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, Protocol

SHOWN_CHARS = 200_000
"""What a message shows of a text."""
Speaker = Literal["user", "assistant", "system", "tool"]
MessageKind = Literal["message", "reasoning", "tool", "context", "summary", "event"]
"""`message`: what a person typed or the model answered; `context`: what the agent put in front of the model
by itself; `summary`: what stands for a compacted past; `event`: what happened besides (aborted, rolled
back)."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call with its result. `output` None: no result is in the transcript."""

    name: str
    input: str
    output: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """One place in the agent's memory that an answer says it used."""

    path: str
    """As the agent names it, relative to its memory."""
    first: int = 0
    """First line, from 1; 0 when no lines are named."""
    last: int = 0
    note: str = ""
    """What it was used for, in the agent's words."""


@dataclass(frozen=True, slots=True)
class Message:
    """One entry. `number` counts from 0 in reading order; `id` is the agent's own, empty where it has none;
    `timestamp` UTC ms. `undone`: a later rollback took it back. `side`: said by or to a sub-agent. `cut`: how
    many characters of the text (or of a tool's output) were left out."""

    number: int
    speaker: Speaker
    kind: MessageKind
    text: str
    id: str = ""
    timestamp: int | None = None
    tool: ToolUse | None = None
    model: str = ""
    undone: bool = False
    side: bool = False
    cut: int = 0
    citations: tuple[Citation, ...] = ()
    """The memory that an answer used."""
    cited_threads: tuple[str, ...] = ()
    """The ids of the earlier threads that an answer used."""

    @property
    def folded(self) -> bool:
        """Whether a reader of the conversation wants it closed at first."""
        return self.kind not in ("message", "summary") or self.undone


@dataclass(slots=True)
class Reading:
    """What became of the lines so far: filled while messages are taken."""

    lines: int = 0
    unknown: int = 0
    broken: int = 0
    half_written: bool = False
    problems: list[str] = field(default_factory=list)


_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[ -/]*[0-Z\\^-~])"
)


def without_escapes(text: str) -> str:
    """The text without the sequences that colour a terminal, move its cursor or set its title."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def shortened(text: str) -> tuple[str, int]:
    """As much of a text as one message shows, and how many characters were left out. Escape sequences of a
    terminal are no text."""
    text = without_escapes(text)
    return text[:SHOWN_CHARS], max(0, len(text) - SHOWN_CHARS)


class ReadableTranscript(Protocol):
    """One transcript on disk. Opening it reads nothing."""

    def messages(self, reading: Reading) -> Iterator[Message]:
        """Every message in order, streaming from the start of the file; a half-written last line is left for
        the next time. Memory stays bounded by the longest line."""
