"""The lines of a transcript file, one at a time: never more than one in memory, none longer than 16 MiB.

Only read, never locked: the agent may be writing. Threading: any thread but the GUI's, one reader each.
Failure: `FileNotFoundError` is the caller's; `Unavailable` for anything else that is in the way.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from reverie.errors import NotRegularFileError, Unavailable, mendable_from_os
from reverie.files.regular import open_regular

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
    try:
        file = opened_transcript(path)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise mendable_from_os(error, f"The transcript {path.name} was not read.") from error
    with file:
        try:
            if path.suffix == ".zst":
                yield from _compressed(file, skipped, cut_short, end)
            else:
                yield from _lines(file, skipped, end)
        except OSError as error:
            raise mendable_from_os(error, f"The transcript {path.name} was not read.") from error


def decoded_row(line: bytes) -> dict[str, Any] | None:
    """The JSON object of a line; None for anything else."""
    try:
        row = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


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
