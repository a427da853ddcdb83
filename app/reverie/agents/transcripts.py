"""Transcripts, whatever agent wrote them: as messages for a person, as turns and boundaries, as events while
they grow; reading lines, pairing calls with results, paging.

Each agent's reader (`agents.mux.transcript` and the like) makes these values; nothing else knows its format.
Texts are untrusted and may be large: a reader streams, and cuts no text silently (`cut` says so).

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
"""What a message shows of a text."""
Speaker = Literal["user", "assistant", "system", "tool"]
MessageKind = Literal["message", "reasoning", "tool", "context", "summary", "event"]
"""`message`: what a person typed or the model answered; `context`: what the agent put in front of the model
by itself; `summary`: what stands for a compacted past; `event`: what happened besides (aborted, rolled
back)."""


class ToolUse(Struct, frozen=True):
    """One tool call with its result. `output` None: no result is in the transcript."""

    name: str
    input: str
    output: str | None = None
    is_error: bool = False


class Citation(Struct, frozen=True):
    """One place in the agent's memory that an answer says it used."""

    path: str
    """As the agent names it, relative to its memory."""
    first: int = 0
    """First line, from 1; 0 when no lines are named."""
    last: int = 0
    note: str = ""
    """What it was used for, in the agent's words."""


class Message(Struct, frozen=True):
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


class ReadStatistics(Struct):
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

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        """Every message in order, streaming from the start of the file; a half-written last line is left for
        the next time. Memory stays bounded by the longest line."""


# A transcript as data: turns in order, and the boundaries where an agent compacted its context.


Role = Literal["system", "user", "assistant"]
TurnKind = Literal["message", "synthetic", "request", "boundary", "reset"]


class Turn(Struct, frozen=True):
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


class Boundary(Struct, frozen=True):
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


# A transcript that grows: its rows as events, and how far they were read.


RECENT_IDS = 256
"""How many ids of announced rows a position remembers."""
OPEN_IDS = 16
"""How many answers that have only begun it remembers."""
TailKind = Literal["message", "begun", "turn-end", "aborted", "error", "compaction", "reset", "other"]


class TailToolUse(Struct, frozen=True):
    """One tool call of a row. `output` None: there is none (yet)."""

    call_id: str
    name: str
    input: Any = None
    output: Any = None
    state: str = ""


class TailEvent(Struct, frozen=True):
    """One row. `turn-end`: the assistant came to the end of a turn; `aborted`, `error`: it did not; `begun`:
    it is at it, which is not announced; `message`: what a person said; `other`: what the agent added for
    itself. `model` wrote the row."""

    kind: TailKind
    turn: Turn
    tools: tuple[TailToolUse, ...] = ()
    model: str | None = None
    error: str = ""


class TailPosition(Struct, frozen=True):
    """Where a tail stands: up to `offset` of the file `inode` everything was read; `edge` are the bytes just
    before it (hex), by which a file that was replaced in place is told. `sequence` and `recent`: the newest
    row announced and the ids of the last ones. `begun`: answers that were seen to begin, and not to end."""

    offset: int = 0
    inode: int = 0
    edge: str = ""
    sequence: int = -1
    timestamp: int = 0
    recent: tuple[str, ...] = ()
    begun: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """As it is kept between two starts of Reverie."""
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
        """The position that `as_json` made; None for anything else."""
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
    """Follows one transcript as it grows; belongs to one thread at a time."""

    @property
    def position(self) -> TailPosition:
        """Up to where it was read."""

    def poll(self) -> tuple[TailEvent, ...]:
        """What was appended since the last poll, in order. Raises `UserError`."""


class MemoryCall(Struct, frozen=True):
    """One successful call. `at_ms`: when it was made (UTC)."""

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
"""Small, since a few bytes may stand for many: what they unpack to is in memory at once."""


def opened_transcript(path: Path) -> BinaryIO:
    """A regular file opened for reading; never blocks on a pipe that somebody put in its place."""
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
    """A transcript, opened. Raises `FileNotFoundError`, and `Unavailable` for whatever else goes wrong."""
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
    """Every line that is not blank; a name in `.zst` is read through its compression. `skipped` is called for
    one that is too long, `cut_short` where a compressed file ends early. A half-written last line comes as it
    is, without its line break. `end`: stop after this many (uncompressed) bytes. Raises `FileNotFoundError`,
    `Unavailable`."""
    with reading_transcript(path) as file:
        if path.suffix == ".zst":
            yield from _compressed(file, skipped, cut_short, end)
        else:
            yield from _lines(file, skipped, end)


_RECORD_KEYS = frozenset({"timestamp", "uuid", "sessionId", "leafUuid", "metadata"})
"""Each record of an agent has one of these; what lies inside of a record has none."""
_AROUND = "\ufeff\0 \t\r\n"
_MOST_STARTS = 64
_DECODER = json.JSONDecoder()


def decoded_row(line: bytes) -> dict[str, Any] | None:
    """Return the first record of a line (`decoded_rows`); None where there is none."""
    rows, _whole = decoded_rows(line)
    return rows[0] if rows else None


def decoded_rows(line: bytes) -> tuple[tuple[dict[str, Any], ...], bool]:
    """Return the records of a line, and whether the line is whole: one record, around which a byte order mark
    and NULs are passed over. Of another line, as a killed process leaves it, return each record that is
    whole."""
    text = line.decode("utf-8", "replace")
    for each in (text, text.strip(_AROUND)):
        try:
            row = json.loads(each)
        except (ValueError, RecursionError):
            continue
        return ((row,), True) if isinstance(row, dict) else ((), False)
    # What is still being written may yet become whole.
    return (tuple(_whole_records(text)) if text.endswith("\n") else ()), False


def _whole_records(text: str) -> Iterator[dict[str, Any]]:
    """Yield the records that stand whole in a line that is none."""
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
            # Where a stub ends in the middle of a text, the next record makes the error.
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
        """A file still being written, or damaged, ends where it cannot be read on."""

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
    """Every row in order; `reading` counts the lines, and those that are broken, too long or half-written.
    `end`: read only the first bytes of the file. Raises `FileNotFoundError`, `Unavailable`."""

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
    """One stream. Numbers are given here, in the order of leaving."""

    def __init__(self) -> None:
        self._held: deque[Message] = deque()
        self._waiting: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._left = 0

    def put(self, message: Message, *, call_id: str = "") -> Iterator[Message]:
        """Take a message in; with `call_id` it is a call that waits for a result."""
        self._held.append(message)
        if call_id:
            self._waiting[call_id] = self._places[call_id] = self._left + len(self._held) - 1
        yield from self._ready()

    def result(self, call_id: str, output: str, *, is_error: bool, late: Message) -> Iterator[Message]:
        """Take a result in; `late` is what to show where its call has left already or never came."""
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
        """Mark a call as failed. False: it has left already, or never came."""
        place = self._places.get(call_id, -1)
        if place < self._left:
            return False
        message = self._held[place - self._left]
        tool = message.tool or ToolUse("?", "")
        self._held[place - self._left] = replace(message, tool=replace(tool, is_error=True))
        return True

    def rest(self) -> Iterator[Message]:
        """Everything that is still held: the transcript is at its end."""
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
    """What became of the lines read so far."""

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
    """One transcript. `path` is its file, or the directory its files lie in."""

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
        """The messages from number `start` on: at most `messages`, and about `chars` characters. A page is
        not empty unless nothing is there."""
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
        """The last messages."""
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
        """The number of the message nearest behind `number` (with `back`: before it) that is wanted; where
        there is none, the first (the last) one of all. None: no message is."""
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
        """Changes whenever the transcript does; empty where nothing is there."""
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
    """What a message costs to show, in characters; a line costs as much as some."""
    tool = message.tool
    texts = [message.text] if tool is None else [message.text, tool.input, tool.output or ""]
    texts += [f"{each.path}{each.note}\n" for each in message.citations]
    return sum(len(text) + _LINE_CHARS * text.count("\n") for text in texts)


def says(needle: str) -> Wanted:
    """Whether a message holds these words somewhere, in whatever case."""
    folded = needle.casefold()

    def wanted(message: Message) -> bool:
        tool = message.tool
        said = [message.text] if tool is None else [message.text, tool.name, tool.input, tool.output or ""]
        said += [f"{each.path} {each.note}" for each in message.citations]
        said += message.cited_threads
        return any(folded in text.casefold() for text in said)

    return wanted


def is_prompt(message: Message) -> bool:
    """Whether a person typed it."""
    return message.speaker == "user" and message.kind == "message"


def _stamped(path: str) -> Iterator[tuple[str, int, int]]:
    with contextlib.suppress(OSError):
        status = os.stat(path)  # noqa: PTH116 - called every second
        yield path, status.st_size, status.st_mtime_ns
