"""Transcripts of any agent: messages for a person, turns and boundaries, and events while they grow.

Each agent's reader (`agents.mux.transcript` and the like) makes these values; only the reader depends on the
agent's format. Texts are untrusted and may be large: a reader streams, and does not cut text silently (`cut`
is the number of characters left out).

Threading: values; a reader belongs to one thread at a time, never the GUI's. Failure: `Unavailable` if the
file cannot be read at all; a line that cannot be read is counted in `ReadStatistics` and skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Protocol

from reverie.values import Struct, field

SHOWN_CHARS = 200_000
"""Maximum number of characters that a message shows of a text."""
Speaker = Literal["user", "assistant", "system", "tool"]
MessageKind = Literal["message", "reasoning", "tool", "context", "summary", "event"]
"""The kind of a message.

`message`: typed by a person or answered by the model; `context`: added by the agent for the model; `summary`:
replaces a compacted past; `event`: anything else that happened (aborted, rolled back).
"""


class ToolUse(Struct, frozen=True):
    """One tool call with its result. `output` None: the transcript has no result."""

    name: str
    input: str
    output: str | None = None
    is_error: bool = False


class Citation(Struct, frozen=True):
    """One place in the agent's memory that an answer claims to have used."""

    path: str
    """The path as the agent writes it, relative to its memory."""
    first: int = 0
    """The first line, from 1; 0 if no lines are named."""
    last: int = 0
    """The last line, from 1; 0 if no lines are named."""
    note: str = ""
    """The purpose of the citation, in the agent's words."""


class Message(Struct, frozen=True):
    """One entry of a transcript."""

    number: int
    """The position in reading order, from 0."""
    speaker: Speaker
    kind: MessageKind
    text: str
    id: str = ""
    """The agent's own id; empty if it has none."""
    timestamp: int | None = None
    """In UTC ms; None if unknown."""
    tool: ToolUse | None = None
    model: str = ""
    undone: bool = False
    """Whether a later rollback removed the message."""
    side: bool = False
    """Whether the message is by or to a sub-agent."""
    cut: int = 0
    """The number of characters of the text (or of a tool's output) that were left out."""
    citations: tuple[Citation, ...] = ()
    """The memory that an answer claims to have used."""
    cited_threads: tuple[str, ...] = ()
    """The ids of the earlier threads that an answer claims to have used."""

    @property
    def folded(self) -> bool:
        """Whether the message is collapsed at first when a conversation is shown."""
        return self.kind not in ("message", "summary") or self.undone


class ReadStatistics(Struct):
    """Counts of the lines of a transcript read so far, updated while messages are read."""

    lines: int = 0
    unknown: int = 0
    """The number of records of a kind that Reverie does not know."""
    broken: int = 0
    """The number of lines that are damaged or too long."""
    half_written: bool = False
    """Whether the last line is incomplete, because the agent is still writing it."""
    problems: list[str] = field(default_factory=list)
    """Sentences about parts that could not be read."""


_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # titles, links
    r"|[ -/]*[0-Z\\^-~])"
)


def without_escapes(text: str) -> str:
    """Return the text without terminal escape sequences (colours, cursor movements, titles)."""
    return _ESCAPE.sub("", text) if "\x1b" in text else text


def shortened(text: str) -> tuple[str, int]:
    """Return the part of a text that one message shows, and the number of characters left out.

    Terminal escape sequences are removed first.
    """
    text = without_escapes(text)
    return text[:SHOWN_CHARS], max(0, len(text) - SHOWN_CHARS)


class ReadableTranscript(Protocol):
    """One transcript on disk. Opening it reads nothing."""

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        """Yield every message in order from the start of the file.

        Counts the lines in `reading`. A half-written last line is not read. Memory use is bounded by the
        longest line.
        """


Role = Literal["system", "user", "assistant"]
TurnKind = Literal["message", "synthetic", "request", "boundary", "reset"]


class Turn(Struct, frozen=True):
    """One row of a transcript.

    `kind` separates the messages of people and the model (`message`) from rows that the agent added:
    `synthetic` rows, the `request` for a compaction, the `boundary` row with its summary and a context
    `reset`. `sequence` is the agent's number of the row, which grows. `timestamp` is UTC ms; `finished` is
    False for an answer that was cut off or ended with an error.
    """

    id: str
    role: Role
    text: str
    sequence: int
    timestamp: int | None = None
    kind: TurnKind = "message"
    finished: bool = True


class Boundary(Struct, frozen=True):
    """One compaction: the rows between `previous_sequence` and `sequence` became one summary.

    Everything after `previous_sequence` (None: from the start) and before `sequence` was summarised by the
    row `summary_message_id`. `request_message_id`: the row that asked for it, None for an automatic one.
    `epoch`: the agent's number of the compaction in its session.
    """

    summary_message_id: str
    sequence: int
    epoch: int
    previous_sequence: int | None = None
    request_message_id: str | None = None
    timestamp: int | None = None


class Transcript(Protocol):
    """One session's transcript, read again at each call; it need not exist. Raises `Unavailable`."""

    def turns(self, after: int | None = None, up_to: int | None = None) -> Iterator[Turn]:
        """Yield every row with `after` < sequence <= `up_to`, in order; None means no limit."""

    def boundaries(self) -> tuple[Boundary, ...]:
        """Return every compaction, oldest first."""


RECENT_IDS = 256
"""The maximum number of ids of returned rows in a position (`TailPosition`)."""
OPEN_IDS = 16
"""The maximum number of unfinished answers in a position (`TailPosition`)."""
TailKind = Literal["message", "begun", "turn-end", "aborted", "error", "compaction", "reset", "other"]


class TailToolUse(Struct, frozen=True):
    """One tool call of a row.

    `output` is None if there is no result (yet). `state`: the agent's word for the progress of the call; may
    be empty.
    """

    call_id: str
    name: str
    input: Any = None
    output: Any = None
    state: str = ""


class TailEvent(Struct, frozen=True):
    """One row that was appended to a transcript, as an event.

    `kind`: `turn-end`: the assistant finished a turn; `aborted`, `error`: it did not; `begun`: it is still
    writing (no event is returned for such a row); `message`: words of a person; `compaction`: earlier rows
    were replaced by a summary; `reset`: the context was cleared; `other`: added by the agent. `model`: the
    model that wrote the row. `error`: the message of an error; empty if there was none.
    """

    kind: TailKind
    turn: Turn
    tools: tuple[TailToolUse, ...] = ()
    model: str | None = None
    error: str = ""


class TailPosition(Struct, frozen=True):
    """The position up to which a transcript was read, so that reading can continue there later.

    `offset`: the number of bytes that were read of the file with the inode number `inode`. `edge`: the last
    of these bytes (hex), which show whether the content of the file was replaced. `sequence`, `timestamp`:
    the sequence number and time (UTC ms) of the newest row for which an event was returned; `recent`: the ids
    of the last such rows. `begun`: the ids of answers that have begun and not ended.
    """

    offset: int = 0
    inode: int = 0
    edge: str = ""
    sequence: int = -1
    timestamp: int = 0
    recent: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the position as JSON, for storing between two starts of Reverie."""
        return {
            "offset": self.offset,
            "inode": self.inode,
            "edge": self.edge,
            "sequence": self.sequence,
            "timestamp": self.timestamp,
            "recent": list(self.recent),
            "begun": list(self.begun),
        }

    @classmethod
    def of(cls, data: object) -> TailPosition | None:
        """Return the position that `as_json` wrote; None for anything else."""
        if not isinstance(data, Mapping):
            return None
        numbers = [data.get(name) for name in ("offset", "inode", "sequence", "timestamp")]
        edge, recent, begun = data.get("edge"), _texts(data.get("recent")), _texts(data.get("begun", []))
        if not all(isinstance(number, int) for number in numbers) or not isinstance(edge, str):
            return None
        if recent is None or begun is None:
            return None
        offset, inode, sequence, timestamp = (int(number or 0) for number in numbers)
        ids = (tuple(recent[-RECENT_IDS:]), tuple(begun[-OPEN_IDS:]))
        return cls(max(0, offset), inode, edge, sequence, timestamp, *ids)


class Tail(Protocol):
    """A reader that follows one transcript as it grows; belongs to one thread at a time."""

    @property
    def position(self) -> TailPosition:
        """The position after the part of the transcript that was read."""

    def poll(self) -> tuple[TailEvent, ...]:
        """Return the rows appended since the last poll, in order.

        Raises `UserError`.
        """


class MemoryCall(Struct, frozen=True):
    """One successful call of a memory tool. `at_ms`: the time of the call (UTC)."""

    call_id: str
    tool: str
    input: Mapping[str, Any]
    at_ms: int


def _texts(value: object) -> list[str] | None:
    whole = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return list(value) if whole and isinstance(value, list) else None
