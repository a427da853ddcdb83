"""Lines and rows of transcript files, one at a time.

Never more than one line is in memory, and no line is longer than 16 MiB. Files are read without a lock,
because the agent may be writing to them.

Threading, failure: as in `agents.transcripts`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from reverie.agents.transcripts import ReadStatistics
from reverie.errors import NotRegularFileError, Unavailable, user_error_from_os
from reverie.files.directory import open_regular

LINE_BYTES = 16 * 1024 * 1024
_PIECE = 1 << 20
_PACKED_PIECE = 1024
"""The number of compressed bytes read at once; small, because a few may unpack to many, all in memory."""


def opened_transcript(path: Path) -> BinaryIO:
    """Open a transcript for reading and return the open file.

    Raises `Unavailable` for anything but a regular file, such as a pipe, and `OSError` if the file is missing
    or cannot be opened.
    """
    try:
        return os.fdopen(open_regular(path, os.O_RDONLY), "rb")
    except (NotRegularFileError, IsADirectoryError) as error:
        raise Unavailable(
            f"The transcript {path.name} could not be read.",
            cause="It is not a regular file.",
            next_step="Restore the transcript, or remove what is in its place.",
        ) from error


@contextlib.contextmanager
def reading_transcript(path: Path) -> Iterator[BinaryIO]:
    """Context manager: open a transcript for reading and yield the file.

    Raises `FileNotFoundError`, and `Unavailable` for any other failure.
    """
    try:
        with opened_transcript(path) as file:
            yield file
    except FileNotFoundError:
        raise
    except OSError as error:
        raise user_error_from_os(error, f"The transcript {path.name} could not be read.") from error


def end_of(file: BinaryIO, most: int) -> bytes:
    """Return at most the last `most` bytes of an open file."""
    file.seek(max(0, file.seek(0, os.SEEK_END) - most))
    return file.read(most)


def transcript_lines(
    path: Path,
    skipped: Callable[[], object],
    *,
    cut_short: Callable[[], object] = lambda: None,
    end: int | None = None,
) -> Iterator[bytes]:
    """Yield every line that is not blank; a `.zst` file is decompressed.

    `skipped` is called for a line that is too long, which is left out; `cut_short` if a compressed file ends
    early. A half-written last line is yielded without its line break. `end`: stop after this many
    (uncompressed) bytes; None: read to the end. Raises `FileNotFoundError`, `Unavailable`.
    """
    with reading_transcript(path) as file:
        if path.suffix == ".zst":
            yield from _compressed(file, skipped, cut_short, end)
        else:
            yield from _lines(file, skipped, end)


_RECORD_KEYS = frozenset({"timestamp", "uuid", "sessionId", "leafUuid", "metadata"})
"""Each record of an agent has one of these keys; objects inside of a record do not."""
_AROUND = "\ufeff\0 \t\r\n"
_MOST_STARTS = 64
_DECODER = json.JSONDecoder()


def decoded_row(line: bytes) -> dict[str, Any] | None:
    """Return the first JSON record in a line, as `decoded_rows` reads it; None if there is none."""
    rows, _whole = decoded_rows(line)
    return rows[0] if rows else None


def decoded_rows(line: bytes) -> tuple[tuple[dict[str, Any], ...], bool]:
    """Return the JSON records in a line, and whether the line is whole.

    A whole line is one record, possibly surrounded by a byte order mark and NULs. If a killed process left
    the line broken, every complete record in it is returned. A broken line without a line break contains no
    records, because it may still be being written.
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
        """A decompressing reader, for which a file ends where it is unfinished or damaged."""

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


def rows_of(path: Path, reading: ReadStatistics, *, end: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield every record of a transcript in order.

    `reading`: the counts to which the lines are added, also broken, too long and half-written ones. `end`:
    read only this number of bytes from the start of the file; None: all. Raises `FileNotFoundError`,
    `Unavailable`.
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
