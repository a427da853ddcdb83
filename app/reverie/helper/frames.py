"""What the window and its helper process say to each other: pickled tuples, each behind its length.

Both ends are this program, joined by pipes that nobody else has; nothing read from a home is ever unpickled.

To the helper: `("call", id, task, home, profile, arguments)`, `("cancel", id)`.
From it: `("ready", pid)`, `("progress", id, value)`, then exactly one of `("done", id, value)`,
`("failed", id, UserError)`, `("stopped", id)`, `("bug", id, text)`; between them `("log", level, name,
text)`.
"""

from __future__ import annotations

import contextlib
import pickle
import struct
import threading
from typing import IO, Any

_LENGTH = struct.Struct(">Q")
_LARGEST = 1 << 30


class FrameWriter:
    """Any thread; one frame at a time."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, *frame: Any) -> None:
        """Raises `OSError` where the other end is gone."""
        data = pickle.dumps(frame, protocol=pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self._stream.write(_LENGTH.pack(len(data)) + data)
            self._stream.flush()

    def close(self) -> None:
        """Once the frame that is on its way is sent, or fails. Calling it again is harmless."""
        with self._lock, contextlib.suppress(OSError):  # what was still to be sent goes nowhere
            self._stream.close()


def read_frame(stream: IO[bytes]) -> tuple[Any, ...] | None:
    """The next frame; None at the end of the stream, also where that comes in the middle of a frame."""
    head = _exactly(stream, _LENGTH.size)
    if head is None:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > _LARGEST:
        return None
    data = _exactly(stream, length)
    if data is None:
        return None
    frame: tuple[Any, ...] = pickle.loads(data)
    return frame


def _exactly(stream: IO[bytes], length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        piece = stream.read(length - len(parts))
        if not piece:
            return None
        parts += piece
    return bytes(parts)
