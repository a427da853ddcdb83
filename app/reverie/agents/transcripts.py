"""Transcripts of any agent: messages for a person, and turns for the jobs that follow a conversation.

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

from reverie.values import Struct, as_dict, field, replace

SHOWN_CHARS = 200_000
"""Maximum number of characters that a message shows of a text."""
Speaker = Literal["user", "assistant", "system", "tool"]
MessageKind = Literal["message", "reasoning", "tool", "context", "summary", "event"]
"""The kind of a message.

`message`: typed by a person or answered by the model; `context`: added by the agent for the model; `summary`:
replaces a compacted past; `event`: anything else that happened (aborted, rolled back).
"""


class ToolUse(Struct, frozen=True):
    """One tool call with its result."""

    name: str
    input: str
    output: str | None = None
    """The result; None if the transcript has none."""
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
    """Counts of the lines of a transcript read so far; readers update them while they yield messages."""

    lines: int = 0
    unknown: int = 0
    """The number of records of a kind that Reverie does not know."""
    broken: int = 0
    """The number of lines that are damaged or too long."""
    half_written: bool = False
    """Whether the last line is incomplete, because the agent is still writing it."""
    problems: list[str] = field(default_factory=list)
    """Messages about parts that could not be read."""


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


def shortened_message(
    speaker: Speaker, kind: MessageKind, text: str, *, tool: ToolUse | None = None, **facts: Any
) -> Message:
    """Return a message without a number, its text and those of its `tool` cut by `shortened`.

    `facts`: the other fields of the message.
    """
    text, cut = shortened(text)
    if tool is not None:
        asked, of_input = shortened(tool.input)
        answer, of_output = shortened(tool.output or "")
        tool = replace(tool, input=asked, output=None if tool.output is None else answer)
        cut += of_input + of_output
    return Message(0, speaker, kind, text, tool=tool, cut=cut, **facts)


class ReadableTranscript(Protocol):
    """One transcript on disk. Opening it reads nothing."""

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        """Yield every message in order from the start of the file.

        `reading`: the counts to which the lines are added while they are read. A half-written last line is
        not read. Memory use is bounded by the longest line.
        """


Role = Literal["system", "user", "assistant"]
TurnKind = Literal["message", "synthetic", "request", "boundary", "reset"]
TurnEvent = Literal["message", "begun", "turn-end", "aborted", "error", "compaction", "reset", "other"]
"""The meaning of an appended row.

`turn-end`: the assistant finished a turn. `aborted`, `error`: a turn ended before it was finished. `begun`:
the assistant is still writing; readers hold such a row back. `message`: a person wrote the row. `compaction`:
a summary replaced earlier rows. `reset`: the context was cleared. `other`: the agent added the row.
"""


class TurnToolUse(Struct, frozen=True):
    """One tool call of a row."""

    call_id: str
    name: str
    input: Any = None
    output: Any = None
    """The result; None if there is none (yet)."""
    state: str = ""
    """The agent's word for the progress of the call; may be empty."""


class Turn(Struct, frozen=True):
    """One row of a transcript."""

    id: str
    role: Role
    text: str
    sequence: int
    """The agent's number of the row, which grows from row to row."""
    timestamp: int | None = None
    """The time of the row (UTC ms); None if unknown."""
    kind: TurnKind = "message"
    """`message`: written by a person or the model. The agent adds the rows of all other kinds.

    `request`: it asks for a compaction. `boundary`: it has the summary that a compaction made. `reset`: it
    marks that the context was cleared. `synthetic`: any other row of the agent.
    """
    finished: bool = True
    """False for an answer that was cut off or ended with an error."""
    event: TurnEvent = "message"
    """The meaning of the row for a reader that follows the transcript."""
    tools: tuple[TurnToolUse, ...] = ()
    model: str | None = None
    """The model that wrote the row; None if no model is named."""
    error: str = ""
    """The message of an error; empty if there was none."""


class Boundary(Struct, frozen=True):
    """One compaction: the rows between `previous_sequence` and `sequence` became one summary."""

    summary_message_id: str
    """The id of the row with the summary."""
    sequence: int
    """The sequence number of the row with the summary; earlier rows were summarised."""
    epoch: int
    """The agent's number of the compaction in its session."""
    previous_sequence: int | None = None
    """The sequence number after which the summarised rows begin; None: at the start of the transcript."""
    request_message_id: str | None = None
    """The id of the row that asked for the compaction; None for an automatic one."""
    timestamp: int | None = None


class Transcript(ReadableTranscript, Protocol):
    """One session's transcript as turns, read again at each call; it need not exist.

    Raises `Unavailable`, `UserError`.
    """

    def turns(self, after: int | None = None, up_to: int | None = None) -> Iterator[Turn]:
        """Yield every row with `after` < sequence <= `up_to`, in order; None means no limit."""

    def boundaries(self) -> tuple[Boundary, ...]:
        """Return every compaction, oldest first."""

    def newest_turns(self) -> tuple[Turn, ...]:
        """Return the newest rows, oldest first, without answers that are still being written.

        Only a limited part at the end of the transcript is read.
        """

    def tail(self, position: TailPosition | None) -> Tail:
        """Return a reader of the rows that are appended after `position`; None: from now on."""

    def memory_calls(self) -> tuple[MemoryCall, ...]:
        """Return the newest successful calls of memory tools, oldest first.

        Only a limited part at the end of the transcript is read.
        """

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Return (time of change in ns, size, inode) of each existing file of the transcript.

        Equal stamps mean equal content.
        """


RECENT_IDS = 256
"""The maximum number of ids of returned rows in a position (`TailPosition`)."""
OPEN_IDS = 16
"""The maximum number of unfinished answers in a position (`TailPosition`)."""


class TailPosition(Struct, frozen=True):
    """The position up to which a transcript was read, so that reading can continue there later."""

    offset: int = 0
    """The number of bytes of the file that were read."""
    inode: int = 0
    """The inode number of the file."""
    edge: str = ""
    """The last of the bytes that were read (hex); they show whether the content of the file was replaced."""
    sequence: int = -1
    """The sequence number of the newest returned row; -1: there is no such row."""
    timestamp: int = 0
    """The latest time of a returned row (UTC ms); 0: there is no such row."""
    recent: tuple[str, ...] = ()
    """The ids of the last returned rows."""
    begun: tuple[str, ...] = ()
    """The ids of answers that have begun and not ended."""

    def as_json(self) -> dict[str, Any]:
        """Return the position as JSON, for storing between two starts of Reverie."""
        return as_dict(self) | {"recent": list(self.recent), "begun": list(self.begun)}

    @classmethod
    def of(cls, data: object) -> TailPosition | None:
        """Return the position that `as_json` wrote; None for anything else."""
        match data:
            case {
                "offset": int(offset),
                "inode": int(inode),
                "edge": str(edge),
                "sequence": int(sequence),
                "timestamp": int(timestamp),
                "recent": [*recent],
                **others,
            }:
                begun = others.get("begun", [])
                if isinstance(begun, list) and all(isinstance(each, str) for each in (*recent, *begun)):
                    ids = (tuple(recent[-RECENT_IDS:]), tuple(begun[-OPEN_IDS:]))
                    return cls(max(0, offset), inode, edge, sequence, timestamp, *ids)
        return None


class Tail(Protocol):
    """A reader that follows one transcript as it grows; belongs to one thread at a time."""

    @property
    def position(self) -> TailPosition:
        """The position after the part of the transcript that was read."""

    def poll(self) -> tuple[Turn, ...]:
        """Return the rows appended since the last poll, in order.

        Raises `UserError`.
        """


class MemoryCall(Struct, frozen=True):
    """One successful call of a memory tool."""

    call_id: str
    tool: str
    input: Mapping[str, Any]
    at_ms: int
    """The time of the call (UTC ms)."""
