"""Transcripts of mux, `chat-archive.jsonl`, then `chat.jsonl` (formats/mux.md section 13).

The reader holds only one row at a time in memory, because a row may contain whole files. A row that is in
both files (after a crash of the agent) is returned once. Lines that are no row, have no place in the order
(`historySequence`), or are longer than 16 MiB are skipped and counted.

The files are read without a lock, because the agent may be writing to them. A half-written last line is
skipped like any other damaged line.

Threading: any thread but the GUI's, one reader each. Failure: a missing file counts as empty; `Unavailable`
if a file cannot be read.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.agents.reading import as_count, as_object, objects_of, texts_of
from reverie.agents.transcript_lines import decoded_rows, transcript_lines
from reverie.agents.transcripts import Boundary, Turn, TurnKind
from reverie.errors import Unavailable

LARGEST = 1 << 30
"""The largest transcript that is read from its beginning, in bytes: some seconds' work."""
FILES = ("chat-archive.jsonl", "chat.jsonl")
_BOUNDARY_MARKS = (b"compactionBoundary", b"compaction-request")
_COMPACTED = ("user", "idle", "heartbeat")


class MuxTranscript:
    """The transcript of one session. `skipped` is the number of lines that the last reading skipped."""

    def __init__(self, session_directory: Path) -> None:
        self._directory = session_directory
        self.skipped = 0

    def turns(self, after: int | None = None, up_to: int | None = None) -> Iterator[Turn]:
        """Yield every row with `after` < sequence <= `up_to`, in order; None means no limit."""
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
        """Yield the decoded rows of the transcript: of the archive, then of the current file.

        `marks`: yield only rows whose line contains one of these byte strings; empty: all rows.
        """
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
                f"The transcript {path.name} could not be read.",
                cause=f"It is {size:,} bytes long; Reverie reads at most {LARGEST:,} bytes.",
                next_step="To read it, open it in another program.",
            )
        with contextlib.suppress(FileNotFoundError):
            yield from transcript_lines(path, self._skip)

    def _skip(self) -> None:
        self.skipped += 1


def turn_of(row: dict[str, Any]) -> Turn | None:
    """Return the row as a turn; None if it has no id, role or sequence."""
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
    """Return the metadata of a row; empty if it has none."""
    return as_object(row.get("metadata"))


def _timestamp(value: Any) -> int | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
    return int(value) if good else None
