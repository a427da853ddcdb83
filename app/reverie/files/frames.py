"""Frames over a pair of streams: four bytes of length, and that many bytes.

Threading: only one thread may read from a stream, and only one at a time may write to it. Failure: `OSError`
of the stream, or `ValueError` if it was closed; `EOFError` if it ends before or within a frame;
`FrameTooLarge`.
"""

from __future__ import annotations

from typing import BinaryIO

LARGEST_FRAME = 256 << 20
"""The largest size of a frame in bytes.

The trees of 1,000,000 memories fit. A larger frame is a fault or an attack.
"""
_LENGTH_BYTES = 4
_PIECE = 1 << 20


class FrameTooLarge(Exception):
    """Raised if the other end announces a frame (message) that is larger than allowed."""


def write_frame(stream: BinaryIO, frame: bytes) -> None:
    """Write a frame (its length, then its bytes) to `stream`; block while the other end does not read."""
    stream.write(len(frame).to_bytes(_LENGTH_BYTES, "big") + frame)
    stream.flush()


def read_frame(stream: BinaryIO, largest: int = LARGEST_FRAME) -> bytes:
    """Wait for the next frame in `stream` and return it.

    Raises `FrameTooLarge` if it has more than `largest` bytes, and `EOFError` if the stream ends first.
    """
    length = int.from_bytes(_read(stream, _LENGTH_BYTES), "big")
    if length > largest:
        raise FrameTooLarge(f"a message of {length:,} bytes is too large")
    return _read(stream, length)


def _read(stream: BinaryIO, length: int) -> bytes:
    parts = bytearray()
    # In pieces, so that a peer that only announces a large frame takes no memory.
    while len(parts) < length:
        piece = stream.read(min(length - len(parts), _PIECE))
        if not piece:
            raise EOFError
        parts += piece
    return bytes(parts)
