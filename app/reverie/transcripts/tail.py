"""The growing end of a mux transcript as typed events, each row once and for no more than its own bytes
(formats/mux.md section 13).

`TranscriptTail.poll` reads what was appended to `chat.jsonl` since the last poll. A half-written last line
stays for the next one; U+2028 and the like inside a row end no line; a row longer than 16 MiB is passed over
without being held. When the file is cut or replaced (a compaction moves rows to the archive and writes the
file anew), reading goes on from its beginning, or from the last 8 MiB of it, and rows that are not younger
than the newest one announced are not announced again.

The agent appends an empty row when the model begins to answer, and writes the file anew with the whole answer
(or what there was of it when it was aborted) in that row's place. So an empty row announces nothing; the one
that takes its place does, whatever was appended meanwhile. While it is the last row the tail stands before
it, where the file written anew is still the same, so that the answer costs its own bytes only.

Where a tail stands is a small value (`position`), so that a later process goes on from it. Only read, never
locked. Not thread-safe: one tail, one reader. Failure: `MendableError` for what cannot be read; a missing
file has no rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from reverie.errors import mendable_from_os
from reverie.transcripts.lines import LINE_BYTES, decoded_row, opened_transcript
from reverie.transcripts.mux import row_metadata, turn_of
from reverie.transcripts.turns import Turn

FILE = "chat.jsonl"
_BLOCK_BYTES = 1 << 20
_REREAD_BYTES = 8 << 20
_RECENT_IDS = 256
_OPEN_IDS = 16
_EDGE_BYTES = 64
_MARKS_OF_AN_END = ("duration", "usage", "finishReason")

TailKind = Literal["message", "begun", "turn-end", "aborted", "error", "compaction", "reset", "other"]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call of a row. `output` None: there is none (yet)."""

    call_id: str
    name: str
    input: Any = None
    output: Any = None
    state: str = ""


@dataclass(frozen=True, slots=True)
class TailEvent:
    """One row. `turn-end`: the assistant came to the end of a turn; `aborted`, `error`: it did not; `begun`:
    it is at it, which is not announced; `message`: what a person said; `other`: what the agent added for
    itself. `model` wrote the row."""

    kind: TailKind
    turn: Turn
    tools: tuple[ToolUse, ...] = ()
    model: str | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class TailPosition:
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
        ids = (tuple(recent[-_RECENT_IDS:]), tuple(begun[-_OPEN_IDS:]))
        return cls(max(0, offset), inode, edge, sequence, timestamp, *ids)


@dataclass(slots=True)
class _Announced:
    """Which rows were announced, so that none is twice when the file is read anew."""

    sequence: int
    timestamp: int
    recent: dict[str, None] = field(default_factory=dict)
    begun: dict[str, None] = field(default_factory=dict)

    def is_new(self, turn: Turn) -> bool:
        if turn.id in self.recent:
            return False
        if turn.id in self.begun:
            return True
        # A history that was cleared counts from the start again, but its rows are younger.
        older = turn.sequence <= self.sequence
        return not older or (turn.timestamp or 0) > self.timestamp

    def note(self, turn: Turn) -> None:
        late = turn.id in self.begun
        self.begun.pop(turn.id, None)
        self.sequence = max(self.sequence, turn.sequence) if late else turn.sequence
        self.timestamp = max(self.timestamp, turn.timestamp or 0)
        self.recent[turn.id] = None
        while len(self.recent) > _RECENT_IDS:
            del self.recent[next(iter(self.recent))]

    def note_begun(self, turn_id: str) -> None:
        self.begun[turn_id] = None
        while len(self.begun) > _OPEN_IDS:
            del self.begun[next(iter(self.begun))]


class TranscriptTail:
    """The tail of one session. Without `position` it stands at the end of what is there now, and announces
    only what comes after; `TailPosition()` announces everything."""

    def __init__(self, session_directory: Path, position: TailPosition | None = None) -> None:
        self._path = session_directory / FILE
        self.skipped = 0
        """Lines that were no row, so far."""
        self.bytes_read = 0
        """What polling has cost so far."""
        self._skipping = False
        self._half = self._edge_before = b""
        start = position or TailPosition()
        self._offset, self._inode, self._edge = start.offset, start.inode, bytes.fromhex(_hex(start.edge))
        recent, begun = dict.fromkeys(start.recent), dict.fromkeys(start.begun)
        self._announced = _Announced(start.sequence, start.timestamp, recent, begun)
        if position is None:
            self._to_the_end()

    @property
    def position(self) -> TailPosition:
        """Where it stands now."""
        known = self._announced
        ids = (tuple(known.recent), tuple(known.begun))
        return TailPosition(
            self._offset, self._inode, self._edge.hex(), known.sequence, known.timestamp, *ids
        )

    def poll(self) -> tuple[TailEvent, ...]:
        """What was appended since the last poll, in order."""
        try:
            with opened_transcript(self._path) as file:
                self._require_same(file)
                return tuple(self._events(file))
        except FileNotFoundError:
            self._begin(0)
            return ()
        except OSError as error:
            raise mendable_from_os(error, f"The transcript {self._path.name} was not read.") from error

    def _events(self, file: BinaryIO) -> Iterator[TailEvent]:
        last_begun = 0
        for line in self._lines(file):
            event = event_of(line)
            last_begun = 0
            if event is None:
                self.skipped += 1
            elif not self._announced.is_new(event.turn):
                continue
            elif event.kind == "begun":
                self._announced.note_begun(event.turn.id)
                last_begun = len(line)
            else:
                self._announced.note(event.turn)
                yield event
        if last_begun and not self._half:
            self._offset, self._edge = self._offset - last_begun, self._edge_before

    def _lines(self, file: BinaryIO) -> Iterator[bytes]:
        """Complete lines from where we stand; what is half-written is kept, so that it is read once."""
        file.seek(self._offset + len(self._half))
        while piece := file.readline(LINE_BYTES):
            self.bytes_read += len(piece)
            line, self._half = self._half + piece, b""
            ended = line.endswith(b"\n")
            if not ended and not self._skipping and len(line) < LINE_BYTES:
                self._half = line
                return
            self._advance(line)
            skipped = self._skipping or len(line) > LINE_BYTES or not ended
            self._skipping = not ended
            if not skipped and line.strip():
                yield line
            elif skipped and ended:
                self.skipped += 1

    def _advance(self, line: bytes) -> None:
        self._offset += len(line)
        self._edge_before = self._edge
        self._edge = (self._edge + line[-_EDGE_BYTES:])[-_EDGE_BYTES:]

    def _require_same(self, file: BinaryIO) -> None:
        """Go on where we stood, or from the beginning of a file that is another one, or was cut."""
        status = os.fstat(file.fileno())
        same = status.st_ino == self._inode or self._inode == 0 or bool(self._edge)
        if same and status.st_size >= self._offset + len(self._half) and self._edge_holds(file):
            self._inode = status.st_ino
            return
        self._begin(status.st_ino)
        if status.st_size > _REREAD_BYTES:
            # What is new to us stands at the end; all the rest was announced before it was written anew.
            file.seek(status.st_size - _REREAD_BYTES)
            self._offset = file.tell() + len(file.readline(_REREAD_BYTES))

    def _edge_holds(self, file: BinaryIO) -> bool:
        known = (self._edge + self._half)[-_EDGE_BYTES:]
        if not known:
            return True
        file.seek(self._offset + len(self._half) - len(known))
        return file.read(len(known)) == known

    def _begin(self, inode: int) -> None:
        self._offset, self._inode, self._edge = 0, inode, b""
        self._skipping, self._half = False, b""

    def _to_the_end(self) -> None:
        """Stand behind the last complete line, and know the newest rows."""
        rows = newest_rows(self._path.parent, most_rows=_RECENT_IDS)
        for event in rows.events:
            self._announced.note(event.turn)
        for turn_id in rows.begun:
            self._announced.note_begun(turn_id)
        self._offset, self._inode, self._edge = rows.end, rows.inode, rows.edge


@dataclass(frozen=True, slots=True)
class NewestRows:
    """The newest rows of a transcript, oldest first, and the ids of the answers that have only begun. `end`:
    behind the last complete line, with the bytes before it. `more`: whether the file holds older rows."""

    events: tuple[TailEvent, ...] = ()
    begun: tuple[str, ...] = ()
    end: int = 0
    inode: int = 0
    edge: bytes = b""
    more: bool = False


def newest_rows(session_directory: Path, *, most_rows: int = 1000, most_bytes: int = 4 << 20) -> NewestRows:
    """Read backwards from the end: about `most_bytes`, or as many as the newest row needs (32 MiB at most),
    however long the transcript is. Raises `MendableError`."""
    path = session_directory / FILE
    try:
        with opened_transcript(path) as file:
            return _read_back(file, most_rows, most_bytes)
    except FileNotFoundError:
        return NewestRows()
    except OSError as error:
        raise mendable_from_os(error, f"The transcript {path.name} was not read.") from error


def _read_back(file: BinaryIO, most_rows: int, most_bytes: int) -> NewestRows:
    status = os.fstat(file.fileno())
    start, blocks = status.st_size, [b""]
    while start > 0:
        taken = status.st_size - start
        lines = sum(block.count(b"\n") for block in blocks)
        if (taken >= most_bytes and lines > 1) or lines > most_rows or taken >= 2 * LINE_BYTES:
            break
        size = min(_BLOCK_BYTES, start)
        start -= size
        file.seek(start)
        blocks.append(file.read(size))
    data = b"".join(reversed(blocks))
    end = data.rfind(b"\n") + 1
    # The first line may have begun before what was read.
    begin = 0 if start == 0 else data.find(b"\n") + 1
    lines_of = data[begin:end].split(b"\n")[:-1] if end > begin else []
    kept = [line for line in lines_of if line.strip()]
    events = (event_of(line) for line in kept[-most_rows:])
    seen: dict[str, TailEvent] = {}
    for event in events:
        if event is not None:
            seen[event.turn.id] = event
    more = start > 0 or len(kept) > most_rows
    edge = data[max(0, end - _EDGE_BYTES) : end]
    rows = tuple(event for event in seen.values() if event.kind != "begun")
    begun = tuple(event.turn.id for event in seen.values() if event.kind == "begun")
    return NewestRows(rows, begun, start + end, status.st_ino, edge, more)


def event_of(line: bytes) -> TailEvent | None:
    """One line as an event; None for one that is no row."""
    row = decoded_row(line)
    turn = None if row is None else turn_of(row)
    if row is None or turn is None:
        return None
    metadata = row_metadata(row)
    model = metadata.get("model")
    error = metadata.get("error")
    return TailEvent(
        _kind(turn, metadata, empty=not row.get("parts")),
        turn,
        tuple(_tools(row)),
        model if isinstance(model, str) and model else None,
        error if isinstance(error, str) else "",
    )


def _kind(turn: Turn, metadata: Mapping[str, Any], *, empty: bool) -> TailKind:
    if turn.kind == "boundary":
        return "compaction"
    if turn.kind == "reset":
        return "reset"
    if turn.kind != "message":
        return "other"
    if turn.role != "assistant":
        return "message"
    if metadata.get("error") or metadata.get("errorType"):
        return "error"
    if metadata.get("partial") is True:
        return "aborted"
    return "begun" if empty and not any(name in metadata for name in _MARKS_OF_AN_END) else "turn-end"


def _tools(row: Mapping[str, Any]) -> Iterator[ToolUse]:
    parts = row.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("type") != "dynamic-tool":
            continue
        name, call_id = part.get("toolName"), part.get("toolCallId")
        if isinstance(name, str):
            state = part.get("state")
            yield ToolUse(
                call_id if isinstance(call_id, str) else "",
                name,
                part.get("input"),
                part.get("output"),
                state if isinstance(state, str) else "",
            )


def _texts(value: object) -> list[str] | None:
    whole = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return list(value) if whole and isinstance(value, list) else None


def _hex(text: str) -> str:
    try:
        bytes.fromhex(text)
    except ValueError:
        return ""
    return text
