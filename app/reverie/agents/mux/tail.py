"""The growing end of a mux transcript.

Threading, failure: as in `agents.mux.transcript`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from reverie.agents.mux.rows import FILES, turn_of
from reverie.agents.transcript_lines import LINE_BYTES, decoded_row, reading_transcript
from reverie.agents.transcripts import (
    OPEN_IDS,
    RECENT_IDS,
    TailPosition,
    Turn,
)
from reverie.values import Struct, field

FILE = FILES[-1]
_BLOCK_BYTES = 1 << 20
_REREAD_BYTES = 8 << 20
_EDGE_BYTES = 64


class _Announced(Struct):
    """The record of the rows returned so far, so that none is returned twice if the file is read again."""

    sequence: int
    """The sequence number of the newest returned row."""
    timestamp: int
    """The newest time of a returned row, in UTC ms."""
    recent: dict[str, None] = field(default_factory=dict)
    """The ids of the last returned rows, as keys."""
    begun: dict[str, None] = field(default_factory=dict)
    """The ids of answers that have begun and were not returned yet, as keys."""

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
    """A reader of one session's growing transcript; `poll` returns each new row once.

    A poll reads only the bytes that were appended since the last one. Without `position`, reading begins at
    the current end of the file, and only later rows are returned; with `TailPosition()`, all rows are.

    A half-written last line is returned when it is complete. When the file is cut or replaced (a compaction
    moves rows to the archive), reading continues from its beginning, or from its last 8 MiB, and rows that
    are not newer than the newest returned one are not returned again.

    When the model begins to answer, the agent appends an empty row; later it rewrites the file with the whole
    answer in that row. Therefore an empty row is not returned. If it is the last row, the next poll reads it
    again: `position` is then the start of this row.
    """

    def __init__(self, session_directory: Path, position: TailPosition | None = None) -> None:
        self._path = session_directory / FILE
        self.skipped = 0
        """Number of lines so far that were not rows."""
        self.bytes_read = 0
        """Number of bytes that polling has read so far."""
        self._skipping = False
        self._half = self._edge_before = b""
        start = position or TailPosition()
        self._offset, self._inode, self._edge = start.offset, start.inode, _bytes_of(start.edge)
        recent, begun = dict.fromkeys(start.recent), dict.fromkeys(start.begun)
        self._announced = _Announced(start.sequence, start.timestamp, recent, begun)
        if position is None:
            self._to_the_end()

    @property
    def position(self) -> TailPosition:
        """The position after the part of the transcript that was read."""
        known = self._announced
        ids = (tuple(known.recent), tuple(known.begun))
        return TailPosition(
            self._offset, self._inode, self._edge.hex(), known.sequence, known.timestamp, *ids
        )

    def poll(self) -> tuple[Turn, ...]:
        """Return the rows appended since the last poll, in order."""
        try:
            with reading_transcript(self._path) as file:
                self._require_same(file)
                return tuple(self._turns(file))
        except FileNotFoundError:
            self._begin(0)
            return ()

    def _turns(self, file: BinaryIO) -> Iterator[Turn]:
        last_begun = 0
        for line in self._lines(file):
            turn = _turn_in(line)
            last_begun = 0
            if turn is None:
                self.skipped += 1
            elif not self._announced.is_new(turn):
                continue
            elif turn.event == "begun":
                self._announced.note_begun(turn.id)
                last_begun = len(line)
            else:
                self._announced.note(turn)
                yield turn
        if last_begun and not self._half:
            self._offset, self._edge = self._offset - last_begun, self._edge_before

    def _lines(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the complete lines after the present position.

        A half-written last line is stored, so that it is read only once.
        """
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
        """Check whether `file` is the file that was read before; if not, choose a new position to read from.

        It is the same if it is not shorter than the part read so far and has the same bytes at the end of
        that part; if no bytes are known, it must have the same inode. Otherwise it was replaced or cut, and
        reading restarts at its beginning or, if it is long, at the first full line of its last
        `_REREAD_BYTES`.
        """
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
        """Set the position to the end of the last complete line, and store the newest rows."""
        rows = newest_rows(self._path.parent, most_rows=RECENT_IDS)
        for turn in rows.turns:
            self._announced.note(turn)
        for turn_id in rows.begun:
            self._announced.note_begun(turn_id)
        self._offset, self._inode, self._edge = rows.end, rows.inode, rows.edge


class NewestRows(Struct, frozen=True):
    """The newest rows of a transcript, and the position after them."""

    turns: tuple[Turn, ...] = ()
    """The rows, oldest first, without answers that are still being written."""
    begun: tuple[str, ...] = ()
    """The ids of the answers that are still being written."""
    end: int = 0
    """The position in the file after the last complete line, in bytes."""
    inode: int = 0
    """The inode number of the file."""
    edge: bytes = b""
    """The last bytes before `end`."""
    more: bool = False
    """Whether the file contains older rows."""


def newest_rows(session_directory: Path, *, most_rows: int = 1000, most_bytes: int = 4 << 20) -> NewestRows:
    """Return at most `most_rows` of a transcript's newest rows, reading backwards from its end.

    Reads about `most_bytes` bytes, or as many as the newest row needs (32 MiB at most), however long the
    transcript is. Empty if there is no transcript. Raises `UserError`.
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
    turns = map(_turn_in, kept[-most_rows:])
    # The last row with an id has its place at the first one.
    seen = {turn.id: turn for turn in turns if turn is not None}
    more = start > 0 or len(kept) > most_rows
    edge = data[max(0, end - _EDGE_BYTES) : end]
    rows = tuple(turn for turn in seen.values() if turn.event != "begun")
    begun = tuple(turn.id for turn in seen.values() if turn.event == "begun")
    return NewestRows(rows, begun, start + end, status.st_ino, edge, more)


def _turn_in(line: bytes) -> Turn | None:
    row = decoded_row(line)
    return None if row is None else turn_of(row)


def _bytes_of(text: str) -> bytes:
    """Return the bytes in a hexadecimal `text`; none if it is not one."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""
