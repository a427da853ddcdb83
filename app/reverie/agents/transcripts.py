"""Transcripts of any agent: messages for a person, turns and boundaries, and events while they grow.

Each agent's reader (`agents.mux.transcript` and the like) makes these values; nothing else knows its format.
Texts are untrusted and may be large: a reader streams, and cuts no text silently (`cut` counts what was left
out).

Threading: values; a reader belongs to one thread at a time, never the GUI's. Failure: `Unavailable` where the
file cannot be read at all; a line that cannot be read is counted in `ReadStatistics` and hides no other.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol

from reverie.errors import NotRegularFileError, Unavailable, user_error_from_os
from reverie.files.directory import open_regular
from reverie.values import Struct, field, replace

SHOWN_CHARS = 200_000
"""Maximum number of characters that a message shows of a text."""
Speaker = Literal["user", "assistant", "system", "tool"]
MessageKind = Literal["message", "reasoning", "tool", "context", "summary", "event"]
"""`message`: typed by a person or answered by the model; `context`: added by the agent for the model;
`summary`: replaces a compacted past; `event`: anything else that happened (aborted, rolled back)."""


class ToolUse(Struct, frozen=True):
    """One tool call with its result. `output` None: the transcript has no result."""

    name: str
    input: str
    output: str | None = None
    is_error: bool = False


class Citation(Struct, frozen=True):
    """One place in the agent's memory that an answer claims to have used."""

    path: str
    """As the agent writes it, relative to its memory."""
    first: int = 0
    """First line, from 1; 0 when no lines are named."""
    last: int = 0
    note: str = ""
    """Its purpose, in the agent's words."""


class Message(Struct, frozen=True):
    """One entry of a transcript.

    `number` counts from 0 in reading order; `id` is the agent's own, empty where it has none; `timestamp` UTC
    ms. `undone`: a later rollback took it back. `side`: by or to a sub-agent. `cut`: how many characters of
    the text (or of a tool's output) were left out.
    """

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
        """Whether it is closed at first when a conversation is shown."""
        return self.kind not in ("message", "summary") or self.undone


class ReadStatistics(Struct):
    """Counts of the lines read so far, updated while messages are read."""

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
        """Stream every message in order from the start of the file.

        A half-written last line is left for the next time. Memory stays bounded by the longest line.
        """


Role = Literal["system", "user", "assistant"]
TurnKind = Literal["message", "synthetic", "request", "boundary", "reset"]


class Turn(Struct, frozen=True):
    """One row of a transcript.

    `kind` separates words of people and the model (`message`) from what the agent added: `synthetic` rows,
    the `request` for a compaction, the `boundary` row with its summary and a context `reset`. `timestamp` is
    UTC ms; `finished` is False for an answer cut off or in error.
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
    """

    summary_message_id: str
    sequence: int
    epoch: int
    previous_sequence: int | None = None
    request_message_id: str | None = None
    timestamp: int | None = None


class Transcript(Protocol):
    """One session's transcript, read anew at each call; it need not exist. Raises `Unavailable`."""

    def turns(self, after: int | None = None, up_to: int | None = None) -> Iterator[Turn]:
        """Yield every row with `after` < sequence <= `up_to`, in order."""

    def boundaries(self) -> tuple[Boundary, ...]:
        """Return every compaction, oldest first."""


RECENT_IDS = 256
"""Maximum number of ids of announced rows in a position."""
OPEN_IDS = 16
"""Maximum number of unfinished answers in a position."""
TailKind = Literal["message", "begun", "turn-end", "aborted", "error", "compaction", "reset", "other"]


class TailToolUse(Struct, frozen=True):
    """One tool call of a row. `output` None: there is none (yet)."""

    call_id: str
    name: str
    input: Any = None
    output: Any = None
    state: str = ""


class TailEvent(Struct, frozen=True):
    """One row.

    `turn-end`: the assistant finished a turn; `aborted`, `error`: it did not; `begun`: it is still writing,
    which is not announced; `message`: words of a person; `other`: added by the agent. `model` wrote the row.
    """

    kind: TailKind
    turn: Turn
    tools: tuple[TailToolUse, ...] = ()
    model: str | None = None
    error: str = ""


class TailPosition(Struct, frozen=True):
    """The position of a tail in its file.

    Up to `offset` of the file `inode` everything was read; `edge` are the bytes just before it (hex), which
    reveal a file that was replaced in place. `sequence` and `recent`: the newest announced row and the ids of
    the last ones. `begun`: answers that have begun and not ended.
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
        """The end of what was read."""

    def poll(self) -> tuple[TailEvent, ...]:
        """Return the rows appended since the last poll, in order.

        Raises `UserError`.
        """


class MemoryCall(Struct, frozen=True):
    """One successful call of a memory tool. `at_ms`: when it was made (UTC)."""

    call_id: str
    tool: str
    input: Mapping[str, Any]
    at_ms: int


def _texts(value: object) -> list[str] | None:
    whole = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return list(value) if whole and isinstance(value, list) else None


# Lines of a transcript file, one at a time: never more than one in memory, none longer than 16 MiB. Never
# locked: the agent may be writing.


LINE_BYTES = 16 * 1024 * 1024
_PIECE = 1 << 20
_PACKED_PIECE = 1024
"""Small, because a few bytes may unpack to many, all of which are in memory at once."""


def opened_transcript(path: Path) -> BinaryIO:
    """Open a regular file for reading; never blocks on a pipe in its place."""
    try:
        return os.fdopen(open_regular(path, os.O_RDONLY), "rb")
    except (NotRegularFileError, IsADirectoryError) as error:
        raise Unavailable(
            f"The transcript {path.name} was not read.",
            cause="It is not a regular file.",
            next_step="Look at what lies in its place.",
        ) from error


@contextlib.contextmanager
def reading_transcript(path: Path) -> Iterator[BinaryIO]:
    """Open a transcript for reading, as a context manager.

    Raises `FileNotFoundError`, and `Unavailable` for any other failure.
    """
    try:
        with opened_transcript(path) as file:
            yield file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise user_error_from_os(error, f"The transcript {path.name} was not read.") from error


def transcript_lines(
    path: Path,
    skipped: Callable[[], object],
    *,
    cut_short: Callable[[], object] = lambda: None,
    end: int | None = None,
) -> Iterator[bytes]:
    """Yield every line that is not blank; a `.zst` file is decompressed.

    `skipped` is called for a line that is too long, `cut_short` where a compressed file ends early. A
    half-written last line is yielded without its line break. `end`: stop after this many (uncompressed)
    bytes. Raises `FileNotFoundError`, `Unavailable`.
    """
    with reading_transcript(path) as file:
        if path.suffix == ".zst":
            yield from _compressed(file, skipped, cut_short, end)
        else:
            yield from _lines(file, skipped, end)


_RECORD_KEYS = frozenset({"timestamp", "uuid", "sessionId", "leafUuid", "metadata"})
"""Each record of an agent has one of these keys; objects inside of a record have none."""
_AROUND = "\ufeff\0 \t\r\n"
_MOST_STARTS = 64
_DECODER = json.JSONDecoder()


def decoded_row(line: bytes) -> dict[str, Any] | None:
    """Return the first record of a line (`decoded_rows`); None where there is none."""
    rows, _whole = decoded_rows(line)
    return rows[0] if rows else None


def decoded_rows(line: bytes) -> tuple[tuple[dict[str, Any], ...], bool]:
    """Return the records of a line, and whether the line is whole.

    A whole line is one record, possibly surrounded by a byte order mark and NULs. Of any other line, as a
    killed process leaves it, every complete record is returned.
    """
    text = line.decode("utf-8", "replace")
    for each in (text, text.strip(_AROUND)):
        try:
            row = json.loads(each)
        except (ValueError, RecursionError):
            continue
        return ((row,), True) if isinstance(row, dict) else ((), False)
    # A line that is still being written may become whole later.
    return (tuple(_whole_records(text)) if text.endswith("\n") else ()), False


def _whole_records(text: str) -> Iterator[dict[str, Any]]:
    """Yield the complete records inside a broken line."""
    at = 0
    for _ in range(_MOST_STARTS):
        start = text.find('{"', at)
        if start < 0:
            return
        try:
            value, at = _DECODER.raw_decode(text, start)
        except RecursionError:
            return
        except json.JSONDecodeError as error:
            # The error may come from the next record, if a broken one ends in the middle of a text.
            at = max(start + 1, text.rfind('{"', 0, error.pos) if error.pos < len(text) - 1 else 0)
        else:
            if not _RECORD_KEYS.isdisjoint(value):
                yield value


def _lines(file: BinaryIO, skipped: Callable[[], object], end: int | None) -> Iterator[bytes]:
    left = end

    def following(most: int) -> bytes:
        nonlocal left
        if left is None:
            return file.readline(most)
        piece = file.readline(min(most, left))
        left -= len(piece)
        return piece

    while line := following(LINE_BYTES + 1):
        if len(line) > LINE_BYTES and not line.endswith(b"\n"):
            while (piece := following(LINE_BYTES)) and not piece.endswith(b"\n"):
                pass
            skipped()
        elif not line.isspace():
            yield line


def _compressed(
    file: BinaryIO, skipped: Callable[[], object], cut_short: Callable[[], object], end: int | None
) -> Iterator[bytes]:
    import zstandard

    class Tolerant(io.RawIOBase):
        """A reader that treats the unreadable rest of an unfinished or damaged file as its end."""

        def __init__(self) -> None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
            self._begun = False
            self._packed = self._ready = b""

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            while not self._ready:
                self._packed = self._packed or file.read(_PACKED_PIECE)
                if not self._packed:
                    if self._begun:
                        self._end()
                    return 0
                try:
                    self._ready, self._begun = self._frame.decompress(self._packed), True
                except zstandard.ZstdError:
                    self._end()
                    return 0
                self._packed = self._frame.unused_data
                if self._frame.eof:  # one file may hold several frames
                    self._frame, self._begun = zstandard.ZstdDecompressor().decompressobj(), False
            piece, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
            buffer[: len(piece)] = piece
            return len(piece)

        def _end(self) -> None:
            cut_short()
            self._begun, self._packed = False, b""
            file.seek(0, io.SEEK_END)

    yield from _lines(io.BufferedReader(Tolerant(), _PIECE), skipped, end)


# The rows of a transcript: its lines as JSON objects, with a tally of what was none.
#
# Threading, failure: as `agents.transcripts` says.


def rows_of(path: Path, reading: ReadStatistics, *, end: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield every row in order and count the lines in `reading`.

    Counts those that are broken, too long or half-written as well. `end`: read only the first bytes of the
    file. Raises `FileNotFoundError`, `Unavailable`.
    """

    def too_long() -> None:
        reading.broken += 1
        reading.problems.append("A line of more than 16 MiB was skipped.")

    def cut_short() -> None:
        reading.half_written = True

    for line in transcript_lines(path, too_long, cut_short=cut_short, end=end):
        reading.lines += 1
        rows, whole = decoded_rows(line)
        yield from rows
        if whole:
            continue
        if line.endswith(b"\n"):
            reading.broken += 1
        else:
            reading.half_written = True


# Pairing tool calls with their results, which come later, while streaming. Messages leave in order; one
# that waits for its result holds back at most `HELD` others, so memory stays bounded, and a later result
# becomes a message of its own.


HELD = 200


class Pairing:
    """The messages of one stream, with tool calls paired with their results.

    Results come later than their calls. Messages leave in order; one that waits for its result holds back at
    most `HELD` others, so memory stays bounded, and a later result becomes a message of its own. Numbers are
    assigned when messages leave.
    """

    def __init__(self) -> None:
        self._held: deque[Message] = deque()
        self._waiting: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._left = 0

    def put(self, message: Message, *, call_id: str = "") -> Iterator[Message]:
        """Accept a message and yield those that are ready.

        With `call_id` the message is a call that waits for a result.
        """
        self._held.append(message)
        if call_id:
            self._waiting[call_id] = self._places[call_id] = self._left + len(self._held) - 1
        yield from self._ready()

    def result(self, call_id: str, output: str, *, is_error: bool, late: Message) -> Iterator[Message]:
        """Accept a result and yield the messages that are ready.

        `late` is the message to show where its call has left already or never came.
        """
        place = self._waiting.pop(call_id, None)
        if place is None:
            self._held.append(late)
        else:
            index = place - self._left
            message = self._held[index]
            tool = message.tool or ToolUse("?", "")
            self._held[index] = replace(
                message,
                tool=replace(tool, output=output, is_error=is_error or tool.is_error),
                cut=message.cut + late.cut,
            )
        yield from self._ready()

    def mark_failed(self, call_id: str) -> bool:
        """Mark a call as failed; return False if it has left already or never came."""
        place = self._places.get(call_id, -1)
        if place < self._left:
            return False
        message = self._held[place - self._left]
        tool = message.tool or ToolUse("?", "")
        self._held[place - self._left] = replace(message, tool=replace(tool, is_error=True))
        return True

    def rest(self) -> Iterator[Message]:
        """Yield everything that is still held, at the end of the transcript."""
        self._waiting.clear()
        yield from self._ready()

    def _ready(self) -> Iterator[Message]:
        while self._held:
            first = min(self._waiting.values(), default=None)
            if first is not None and first <= self._left:
                if len(self._held) <= HELD:
                    return
                self._waiting = {name: place for name, place in self._waiting.items() if place > self._left}
            message = self._held.popleft()
            yield replace(message, number=self._left)
            self._left += 1
        if len(self._places) > 2 * HELD:
            self._places = {name: place for name, place in self._places.items() if place >= self._left}


# A long transcript page by page. Going forward costs reading on; going back before the last page costs
# reading from the start. A search reads through separately, so that it disturbs no page.


PAGE_MESSAGES = 120
PAGE_CHARS = 150_000
_LINE_CHARS = 60

Check = Callable[[], object]
Wanted = Callable[[Message], bool]
Stamp = tuple[tuple[str, int, int], ...]


class TranscriptStatistics(Struct, frozen=True):
    """Counts of the lines read so far, as an immutable value."""

    lines: int = 0
    unknown: int = 0
    broken: int = 0
    half_written: bool = False
    problems: tuple[str, ...] = ()


class Page(Struct, frozen=True):
    """Messages in order, numbered without a gap. `at_end`: none follows for now."""

    messages: tuple[Message, ...]
    at_end: bool
    facts: TranscriptStatistics


class PagedTranscript:
    """One transcript, read page by page. `path` is its file, or the directory of its files.

    Going forward costs reading on; going back before the last page costs reading from the start. A search
    reads through separately, so that it disturbs no page.
    """

    def __init__(self, readable: ReadableTranscript, path: Path) -> None:
        self._readable = readable
        self._path = path
        self._reading = ReadStatistics()
        self._rest: Iterator[Message] | None = None
        self._next = 0
        self._pushed: Message | None = None

    def page(
        self, start: int, check: Check, *, messages: int = PAGE_MESSAGES, chars: int = PAGE_CHARS
    ) -> Page:
        """Return the messages from number `start` on: at most `messages`, and about `chars` characters.

        A page is not empty unless there are no messages.
        """
        position = self._pushed.number if self._pushed is not None else self._next
        if self._rest is None or start < position:
            self._begin()
        found: list[Message] = []
        held, at_end = 0, False
        while len(found) < messages and held < chars:
            check()
            message = self._take()
            if message is None:
                at_end = True
                break
            if message.number >= start:
                found.append(message)
                held += weight(message)
        if not at_end:
            self._pushed = self._take()
            at_end = self._pushed is None
        facts = self._facts()
        if at_end:
            self._rest = None  # what is appended later is read from the start: lines may have changed since
        return Page(tuple(found), at_end, facts)

    def last(self, check: Check, *, messages: int = PAGE_MESSAGES) -> Page:
        """Return the last messages."""
        self._begin()
        kept: deque[Message] = deque(maxlen=messages)
        while (message := self._take()) is not None:
            check()
            kept.append(message)
        self._rest = None
        chars = 0
        for place in range(len(kept) - 1, -1, -1):
            chars += weight(kept[place])
            if chars > PAGE_CHARS and place < len(kept) - 1:
                kept = deque(list(kept)[place + 1 :])
                break
        return Page(tuple(kept), True, self._facts())

    def find(self, wanted: Wanted, number: int, check: Check, *, back: bool = False) -> int | None:
        """Return the number of the next wanted message after `number`, wrapping around at the end.

        With `back`, searches before `number`. None: no message is wanted.
        """
        nearest: int | None = None
        other: int | None = None
        for message in self._readable.messages(ReadStatistics()):
            check()
            if back and nearest is not None and message.number >= number:
                return nearest
            if not wanted(message):
                continue
            if back:
                if message.number < number:
                    nearest = message.number
                else:
                    other = message.number
            elif message.number > number:
                return message.number
            elif other is None:
                other = message.number
        return nearest if nearest is not None else other

    def stamp(self) -> Stamp:
        """Return a value that changes whenever the transcript does; empty where it does not exist."""
        with contextlib.suppress(NotADirectoryError, FileNotFoundError), os.scandir(self._path) as entries:
            names = sorted(entry.path for entry in entries if entry.name.endswith(".jsonl"))
            return tuple(each for name in names for each in _stamped(name))
        return tuple(_stamped(str(self._path)))

    def _begin(self) -> None:
        self._reading = ReadStatistics()
        self._rest = self._readable.messages(self._reading)
        self._next, self._pushed = 0, None

    def _take(self) -> Message | None:
        if self._pushed is not None:
            message, self._pushed = self._pushed, None
            return message
        found = next(self._rest, None) if self._rest is not None else None
        if found is not None:
            self._next = found.number + 1
        return found

    def _facts(self) -> TranscriptStatistics:
        reading = self._reading
        return TranscriptStatistics(
            reading.lines, reading.unknown, reading.broken, reading.half_written, tuple(reading.problems)
        )


def weight(message: Message) -> int:
    """Return the cost of showing a message, in characters; each line costs some more."""
    tool = message.tool
    texts = [message.text] if tool is None else [message.text, tool.input, tool.output or ""]
    texts += [f"{each.path}{each.note}\n" for each in message.citations]
    return sum(len(text) + _LINE_CHARS * text.count("\n") for text in texts)


def says(needle: str) -> Wanted:
    """Return a filter for messages that contain these words, ignoring case."""
    folded = needle.casefold()

    def wanted(message: Message) -> bool:
        tool = message.tool
        said = [message.text] if tool is None else [message.text, tool.name, tool.input, tool.output or ""]
        said += [f"{each.path} {each.note}" for each in message.citations]
        said += message.cited_threads
        return any(folded in text.casefold() for text in said)

    return wanted


def is_prompt(message: Message) -> bool:
    """Return whether a person typed the message."""
    return message.speaker == "user" and message.kind == "message"


def _stamped(path: str) -> Iterator[tuple[str, int, int]]:
    with contextlib.suppress(OSError):
        status = os.stat(path)  # noqa: PTH116 - called every second
        yield path, status.st_size, status.st_mtime_ns
