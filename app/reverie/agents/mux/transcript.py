"""Transcripts of mux, `chat-archive.jsonl`, then `chat.jsonl` (formats/mux.md section 13).

They are read as turns, as messages for a person, as events while they grow, and for calls of memory tools.

Read as a stream, a row at a time, since rows may carry whole files. A row that is in both files (after a
crash of the agent) counts once. Lines that are no row, have no place in the order (`historySequence`), or are
longer than 16 MiB are skipped and counted.

Only read, never locked: the agent may be writing; a half line at the end is skipped like any other damage.

Threading: any thread but the GUI's, one reader each. Failure: a missing file is an empty one; `Unavailable`
for one that cannot be read.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from reverie.agents.base import HomeContents, SessionPlace, TranscriptSource
from reverie.agents.mux.config import is_plain_component
from reverie.agents.reading import as_count, as_object, as_shown, as_text, objects_of, texts_of
from reverie.agents.transcripts import (
    LINE_BYTES,
    OPEN_IDS,
    RECENT_IDS,
    Boundary,
    MemoryCall,
    Message,
    MessageKind,
    ReadStatistics,
    Speaker,
    TailEvent,
    TailKind,
    TailPosition,
    TailToolUse,
    ToolUse,
    Turn,
    TurnKind,
    decoded_row,
    decoded_rows,
    opened_transcript,
    reading_transcript,
    transcript_lines,
)
from reverie.errors import Unavailable, UserError
from reverie.files.directory import is_directory
from reverie.values import Struct, field

LARGEST = 1 << 30
"""The largest transcript that is read from its beginning, in bytes: some seconds' work."""
FILES = ("chat-archive.jsonl", "chat.jsonl")
_BOUNDARY_MARKS = (b"compactionBoundary", b"compaction-request")
_COMPACTED = ("user", "idle", "heartbeat")


class MuxTranscript:
    """The transcript of one session. `skipped` counts the lines that the last reading skipped."""

    def __init__(self, session_directory: Path) -> None:
        self._directory = session_directory
        self.skipped = 0

    def turns(self, after: int | None = None, up_to: int | None = None) -> Iterator[Turn]:
        """Yield every row with `after` < sequence <= `up_to`, in order."""
        seen: set[int] = set()
        for row in self.rows():
            turn = turn_of(row)
            if turn is None:
                self.skipped += 1
                continue
            in_range = (after is None or turn.sequence > after) and (up_to is None or turn.sequence <= up_to)
            if in_range and turn.sequence not in seen:
                seen.add(turn.sequence)
                yield turn

    def boundaries(self) -> tuple[Boundary, ...]:
        """Return every compaction, oldest first."""
        found: dict[int, Boundary] = {}
        previous: int | None = None
        request: str | None = None
        # Most rows of a long transcript have no mark, and parsing them would take most of the time.
        for row in self.rows(marks=_BOUNDARY_MARKS):
            turn = turn_of(row)
            if turn is None or turn.sequence in found:
                continue
            if turn.kind == "request":
                request = turn.id
            elif turn.kind == "boundary":
                epoch = row_metadata(row)["compactionEpoch"]
                found[turn.sequence] = Boundary(
                    turn.id, turn.sequence, epoch, previous, request, turn.timestamp
                )
                previous, request = turn.sequence, None
        return tuple(found.values())

    def rows(self, marks: tuple[bytes, ...] = ()) -> Iterator[dict[str, Any]]:
        """Yield decoded rows of both files; with `marks`, only those whose line has one of them."""
        self.skipped = 0
        for name in FILES:
            for line in self._lines(self._directory / name):
                if marks and not any(mark in line for mark in marks):
                    continue
                rows, whole = decoded_rows(line)
                yield from rows
                self.skipped += not whole

    def _lines(self, path: Path) -> Iterator[bytes]:
        size = 0
        with contextlib.suppress(OSError):  # reading it reports the error
            size = path.stat().st_size
        if size > LARGEST:
            raise Unavailable(
                f"The transcript {path.name} was not read.",
                cause=f"It has {size:,} bytes, and no more than {LARGEST:,} are read.",
                next_step="Look at what fills it, or move it away.",
            )
        with contextlib.suppress(FileNotFoundError):
            yield from transcript_lines(path, self._skip)

    def _skip(self) -> None:
        self.skipped += 1


def turn_of(row: dict[str, Any]) -> Turn | None:
    """Return the row as a turn; None for one without id, role or sequence."""
    metadata = row_metadata(row)
    identity, role, sequence = row.get("id"), row.get("role"), as_count(metadata.get("historySequence"))
    if not isinstance(identity, str) or not identity or sequence is None:
        return None
    if role not in ("system", "user", "assistant"):
        return None
    texts = [part.get("text") for part in objects_of(row.get("parts")) if part.get("type") == "text"]
    return Turn(
        id=identity,
        role=role,
        text="\n".join(texts_of(texts)),
        sequence=sequence,
        timestamp=_timestamp(metadata.get("timestamp")),
        kind=_kind(role, metadata),
        finished=metadata.get("partial") is not True and not metadata.get("error"),
    )


def _kind(role: str, metadata: dict[str, Any]) -> TurnKind:
    if role == "assistant" and _is_boundary(metadata):
        return "boundary"
    if metadata.get("contextBoundaryKind") == "reset":
        return "reset"
    own = (as_object(metadata.get(name)) for name in ("muxMetadata", "cmuxMetadata"))
    if role == "user" and any(item.get("type") == "compaction-request" for item in own):
        return "request"
    return "synthetic" if metadata.get("synthetic") is True else "message"


def _is_boundary(metadata: dict[str, Any]) -> bool:
    compacted, epoch = metadata.get("compacted"), as_count(metadata.get("compactionEpoch"))
    return (
        metadata.get("compactionBoundary") is True
        and (compacted is True or compacted in _COMPACTED)
        and bool(epoch)
    )


def row_metadata(row: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a row; empty where it has none."""
    return as_object(row.get("metadata"))


def _timestamp(value: Any) -> int | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
    return int(value) if good else None


_KINDS: dict[TurnKind, MessageKind] = {
    "message": "message",
    "synthetic": "context",
    "request": "event",
    "boundary": "summary",
    "reset": "event",
}


class MuxReadable:
    """Implements `agents.transcripts.ReadableTranscript` for one session directory.

    Each part of a row becomes one message. Pictures and other files are named by their kind and not loaded.
    """

    def __init__(self, session_directory: Path) -> None:
        self._directory = session_directory

    def messages(self, reading: ReadStatistics) -> Iterator[Message]:
        transcript, number, seen = MuxTranscript(self._directory), 0, set[int]()
        for row in transcript.rows():
            reading.lines += 1
            turn = turn_of(row)
            if turn is None:
                reading.unknown += 1
            elif turn.sequence not in seen:
                seen.add(turn.sequence)
                for message in _parts(row, turn, number):
                    number = message.number + 1
                    yield message
        reading.broken += transcript.skipped


def _parts(row: dict[str, Any], turn: Turn, number: int) -> Iterator[Message]:
    model = as_text(row_metadata(row).get("model"))
    for part in objects_of(row.get("parts")):
        kind, text, tool = _KINDS[turn.kind], as_text(part.get("text")), None
        if part.get("type") == "reasoning":
            kind = "reasoning"
        elif part.get("type") == "dynamic-tool":
            kind, tool = "tool", _tool(part)
        elif part.get("type") == "file":
            text = f"[{as_text(part.get('mediaType')) or 'file'}]"
        if text or tool is not None:
            yield _message(number, turn, kind, text, tool, model)
            number += 1
    if not turn.finished:
        yield _message(number, turn, "event", "The answer was cut off.", None, model)


def _message(
    number: int, turn: Turn, kind: MessageKind, text: str, tool: ToolUse | None, model: str
) -> Message:
    speaker: Speaker = "tool" if tool is not None else turn.role
    return Message(number, speaker, kind, text, turn.id, turn.timestamp, tool, model)


def _tool(part: dict[str, Any]) -> ToolUse:
    output, state = part.get("output"), part.get("state")
    failed = state == "output-error" or (isinstance(output, dict) and output.get("success") is False)
    if output is None and state == "output-error":
        output = part.get("errorText", "")
    return ToolUse(
        as_text(part.get("toolName")) or "?",
        as_shown(part.get("input")),
        None if output is None else as_shown(output),
        failed,
    )


FILE = "chat.jsonl"
_BLOCK_BYTES = 1 << 20
_REREAD_BYTES = 8 << 20
_EDGE_BYTES = 64
_MARKS_OF_AN_END = ("duration", "usage", "finishReason")


class _Announced(Struct):
    """The rows that were announced, so that none is announced twice when the file is read again."""

    sequence: int
    timestamp: int
    recent: dict[str, None] = field(default_factory=dict)
    begun: dict[str, None] = field(default_factory=dict)

    def is_new(self, turn: Turn) -> bool:
        if turn.id in self.recent:
            return False
        if turn.id in self.begun:
            return True
        # A cleared history counts from the start again, but its rows have later times.
        older = turn.sequence <= self.sequence
        return not older or (turn.timestamp or 0) > self.timestamp

    def note(self, turn: Turn) -> None:
        late = turn.id in self.begun
        self.begun.pop(turn.id, None)
        self.sequence = max(self.sequence, turn.sequence) if late else turn.sequence
        self.timestamp = max(self.timestamp, turn.timestamp or 0)
        self.recent[turn.id] = None
        while len(self.recent) > RECENT_IDS:
            del self.recent[next(iter(self.recent))]

    def note_begun(self, turn_id: str) -> None:
        self.begun[turn_id] = None
        while len(self.begun) > OPEN_IDS:
            del self.begun[next(iter(self.begun))]


class TranscriptTail:
    """The growing end of one session as typed events, each row once and at the cost of its own bytes.

    Without `position` it begins at the present end, and announces only later rows; `TailPosition()` announces
    everything.

    A half-written last line waits for the next poll. When the file is cut or replaced (a compaction moves
    rows to the archive), reading continues from its beginning, or from its last 8 MiB, and rows that are not
    younger than the newest announced one are not announced again. The agent appends an empty row when the
    model begins to answer and later rewrites the file with the whole answer in that place; so an empty row
    announces nothing, and while it is the last one the tail's position stays before it.
    """

    def __init__(self, session_directory: Path, position: TailPosition | None = None) -> None:
        self._path = session_directory / FILE
        self.skipped = 0
        """Number of lines so far that were no row."""
        self.bytes_read = 0
        """Number of bytes that polling has read so far."""
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
        """The end of what was read."""
        known = self._announced
        ids = (tuple(known.recent), tuple(known.begun))
        return TailPosition(
            self._offset, self._inode, self._edge.hex(), known.sequence, known.timestamp, *ids
        )

    def poll(self) -> tuple[TailEvent, ...]:
        """Return the rows appended since the last poll, in order."""
        try:
            with reading_transcript(self._path) as file:
                self._require_same(file)
                return tuple(self._events(file))
        except FileNotFoundError:
            self._begin(0)
            return ()

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
        """Yield complete lines from the present position; a half-written one is kept and read once."""
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
        """Continue at the present position, or restart if the file was replaced or cut."""
        status = os.fstat(file.fileno())
        same = status.st_ino == self._inode or self._inode == 0 or bool(self._edge)
        if same and status.st_size >= self._offset + len(self._half) and self._edge_holds(file):
            self._inode = status.st_ino
            return
        self._begin(status.st_ino)
        if status.st_size > _REREAD_BYTES:
            # New rows are at the end; all others were announced before the file was rewritten.
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
        """Move behind the last complete line, and remember the newest rows."""
        rows = newest_rows(self._path.parent, most_rows=RECENT_IDS)
        for event in rows.events:
            self._announced.note(event.turn)
        for turn_id in rows.begun:
            self._announced.note_begun(turn_id)
        self._offset, self._inode, self._edge = rows.end, rows.inode, rows.edge


class NewestRows(Struct, frozen=True):
    """The newest rows of a transcript, oldest first, and the ids of the unfinished answers.

    `end`: behind the last complete line, with the bytes before it in `edge`. `more`: whether the file holds
    older rows.
    """

    events: tuple[TailEvent, ...] = ()
    begun: tuple[str, ...] = ()
    end: int = 0
    inode: int = 0
    edge: bytes = b""
    more: bool = False


def newest_rows(session_directory: Path, *, most_rows: int = 1000, most_bytes: int = 4 << 20) -> NewestRows:
    """Read the newest rows backwards from the end, however long the transcript is.

    Reads about `most_bytes`, or as many as the newest row needs (32 MiB at most). Raises `UserError`.
    """
    path = session_directory / FILE
    try:
        with reading_transcript(path) as file:
            return _read_back(file, most_rows, most_bytes)
    except FileNotFoundError:
        return NewestRows()


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
    """Return one line as an event; None for one that is no row."""
    row = decoded_row(line)
    turn = None if row is None else turn_of(row)
    if row is None or turn is None:
        return None
    metadata = row_metadata(row)
    return TailEvent(
        _event_kind(turn, metadata, empty=not row.get("parts")),
        turn,
        tuple(_tools(row)),
        as_text(metadata.get("model")) or None,
        as_text(metadata.get("error")),
    )


def _event_kind(turn: Turn, metadata: Mapping[str, Any], *, empty: bool) -> TailKind:
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


def _tools(row: Mapping[str, Any]) -> Iterator[TailToolUse]:
    for part in objects_of(row.get("parts")):
        name = part.get("toolName")
        if part.get("type") == "dynamic-tool" and isinstance(name, str):
            call_id, state = as_text(part.get("toolCallId")), as_text(part.get("state"))
            yield TailToolUse(call_id, name, part.get("input"), part.get("output"), state)


def _hex(text: str) -> str:
    try:
        bytes.fromhex(text)
    except ValueError:
        return ""
    return text


_log = logging.getLogger("reverie.transcripts")

STREAMED = "partial.json"
TOOLS = frozenset({"memory", "memory_write"})
_MARK = b'"memory'


def newest_memory_calls(session_directory: Path, *, most_bytes: int = 2 << 20) -> tuple[MemoryCall, ...]:
    """Return the newest successful calls of memory tools (sections 6, 13 and 14), oldest first, each once.

    A call without a time is left out. The answer that is being streamed is in `partial.json`; a compaction
    moves rows to the archive, whose end is read with the rest of the byte limit. An unreadable file yields
    nothing: a transcript must not prevent a snapshot.
    """
    found: dict[str, MemoryCall] = {}
    left = most_bytes
    for name in (STREAMED, *reversed(FILES)):
        data = _end_of(session_directory / name, left)
        left -= len(data)
        for line in [data] if name == STREAMED else data.split(b"\n"):
            row = decoded_row(line) if _MARK in line else None
            for call in _calls(row) if row is not None else ():
                found.setdefault(call.call_id, call)
    return tuple(sorted(found.values(), key=lambda call: call.at_ms))


def transcript_stamp(session_directory: Path) -> tuple[tuple[int, int, int], ...]:
    """Return time of change (ns), size and inode of each file of a transcript."""
    found = []
    for name in (*FILES, STREAMED):
        with contextlib.suppress(OSError):
            status = (session_directory / name).stat()
            found.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return tuple(found)


def _end_of(path: Path, most: int) -> bytes:
    """Return the last bytes of a file, from the beginning of a line on."""
    if most <= 0:
        return b""
    try:
        with opened_transcript(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - most))
            data = file.read(most)
    except FileNotFoundError:
        return b""
    except (OSError, UserError) as error:
        _log.info("the transcript %s says nothing of who wrote a memory: %s", path.name, error)
        return b""
    return data if size <= most else data[data.find(b"\n") + 1 :]


def _calls(row: Mapping[str, Any]) -> Iterator[MemoryCall]:
    said_at = row_metadata(dict(row)).get("timestamp")
    for part in _call_parts(row.get("parts"), "type"):
        if part.get("type") != "dynamic-tool":
            continue
        at = part.get("timestamp", said_at)
        yield from _call(part, part.get("toolCallId"), at)
        for number, nested in enumerate(_call_parts(part.get("nestedCalls"), "toolName")):
            nested_id = nested.get("toolCallId") or f"{part.get('toolCallId')}/{number}"
            yield from _call(nested, nested_id, nested.get("timestamp", at))


def _call(part: Mapping[str, Any], call_id: object, at: object) -> Iterator[MemoryCall]:
    tool, given, output = part.get("toolName"), part.get("input"), part.get("output")
    if isinstance(output, dict) and isinstance(output.get("value"), dict):
        output = output["value"]
    done = isinstance(output, dict) and output.get("success") is True
    if not isinstance(at, int | float) or isinstance(at, bool):
        return
    if tool in TOOLS and done and isinstance(given, dict) and isinstance(call_id, str):
        with contextlib.suppress(ValueError, OverflowError):
            yield MemoryCall(call_id, str(tool), given, int(at))


def _call_parts(value: object, name: str) -> list[Mapping[str, Any]]:
    return [part for part in objects_of(value) if name in part]


# A watch each; a home with more live workspaces than this is in use in the newest of them.
_MOST_IN_USE = 256


def session_place(root: Path, workspace_id: str) -> SessionPlace:
    """Return where a workspace's transcript lies, and the names of its files."""
    return SessionPlace(workspace_id, root / "sessions" / workspace_id, FILES)


def in_use(root: Path, contents: HomeContents, recencies: Mapping[str, int]) -> tuple[SessionPlace, ...]:
    """Return at most 256 existing sessions of listed, unarchived workspaces, last used first."""
    live = [
        workspace.id
        for workspace in contents.workspaces()
        if not workspace.archived and is_plain_component(workspace.id)
    ]
    live.sort(key=lambda workspace_id: -recencies.get(workspace_id, 0))
    places = (session_place(root, workspace_id) for workspace_id in live)
    return tuple([place for place in places if is_directory(place.directory)][:_MOST_IN_USE])


def sources(root: Path, contents: HomeContents, project_path: str | None) -> tuple[TranscriptSource, ...]:
    """Return the sessions of listed workspaces that have a transcript, newest first.

    Each is under the project that lists its workspace.
    """
    found = []
    names = {project.path: project.name for project in contents.projects}
    for workspace in contents.workspaces():
        wanted = project_path is None or project_path in (
            *workspace.project_paths,
            workspace.memory_project,
            workspace.bucket,
        )
        if not wanted or not is_plain_component(workspace.id):
            continue
        place = session_place(root, workspace.id)
        times, size = [], 0
        for name in place.files:
            with contextlib.suppress(OSError):
                found_file = (place.directory / name).stat()
                times.append(found_file.st_mtime_ns // 1_000_000)
                size += found_file.st_size
        if times:
            title = workspace.title or workspace.name
            found.append(
                TranscriptSource(
                    workspace.id,
                    "session",
                    place.directory,
                    title,
                    workspace.bucket,
                    max(times),
                    size,
                    archived=workspace.archived,
                    project_name=names.get(workspace.bucket, ""),
                )
            )
    return tuple(sorted(found, key=lambda source: -(source.updated_at or 0)))
