"""The window's end of the helper process, which does its heavy work so that painting never waits.

The process starts with the first call and ends when its input ends, so it never outlives a window that was
killed. If it dies, the next call starts a new one; the calls under way fail, and their runs are recovered
from their journals like those of any dead process.

Frames are pickled tuples, each behind its length. Both ends are this program, joined by pipes that nobody
else has; nothing read from a home is ever unpickled. To the helper: `("call", id, task, home, profile,
arguments)`, `("cancel", id)`. From it: `("ready", pid)`, `("progress", id, value)`, then exactly one of
`("done", id, value)`, `("failed", id, UserError)`, `("stopped", id)`, `("bug", id, text)`; between them
`("log", level, name, text)`.

Threading: `call` blocks, on any thread but the GUI's, several at once; `stop` from the owner's. Failure:
`call` raises the task's `UserError`; `HelperStopped` for a task cancelled before it had an answer;
`HelperGone` (`Unavailable`) where the process died; `HelperBug` for a bug in it.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import pickle
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

from reverie.errors import Unavailable
from reverie.files import locks as processes
from reverie.profile import Profile

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


log = logging.getLogger("reverie.helper")

ARGUMENT = "_helper"
"""What `python -m reverie` is told to become one; no command of the contract."""
STOP_S = 2.0
_POLL_S = 0.05
_KILLED_S = 0.5


class HelperStopped(Exception):
    """The task was cancelled and has no answer."""


class HelperBug(Exception):
    """A bug in the helper; the text is its traceback."""

    @property
    def trace(self) -> str:
        """What `str` says: the crash path shows it in place of where it was heard of."""
        return str(self)


class HelperGone(Unavailable):
    """The helper process ended with the task under way."""

    reason = "helper"

    def __init__(self) -> None:
        super().__init__(
            "Reverie's helper process ended unexpectedly.",
            cause="Somebody ended it, or the system ran out of memory.",
            next_step="Try again: it is started anew, and what was under way is recovered first.",
        )


class Helper:
    """One helper process, or none yet."""

    def __init__(self, command: tuple[str, ...] | None = None) -> None:
        self._command = command or helper_command()
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._waiting: dict[int, SimpleQueue[tuple[Any, ...]]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: FrameWriter | None = None
        self._reader: threading.Thread | None = None
        self._stopping = False

    @property
    def pid(self) -> int | None:
        """Of the process that runs now."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    @property
    def is_stopping(self) -> bool:
        """Whether no call is answered any more."""
        return self._stopping

    def call(
        self,
        task: str,
        home: Path,
        profile: Profile,
        *arguments: Any,
        progress: Callable[[Any], None] = lambda _value: None,
        cancelled: Callable[[], bool] = lambda: False,
        check: Callable[[], None] = lambda: None,
    ) -> Any:
        """Do a task of `helper.server` and return what it returns. While it is under way `cancelled` is
        asked, and passed on, and `check` may raise to give the answer up."""
        answers: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        with self._lock:
            writer, call_id = self._started(), next(self._ids)
            self._waiting[call_id] = answers
        asked = False
        try:
            _send(writer, "call", call_id, task, home, profile, arguments)
            while True:
                try:
                    kind, *values = answers.get(timeout=_POLL_S)
                except Empty:
                    check()
                    if not asked and cancelled():
                        _send(writer, "cancel", call_id)
                        asked = True
                    continue
                if kind == "progress":
                    progress(values[0])
                    continue
                return _answer(kind, values)
        finally:
            if self._waiting.pop(call_id, None) is not None:
                with contextlib.suppress(OSError, ValueError):  # gone, or its pipe was closed by `stop`
                    writer.send("cancel", call_id)

    def stop(self) -> None:
        """End the process, within two seconds; calls under way end as gone. Calling it again is harmless."""
        with self._lock:
            self._stopping = True
            process, self._process = self._process, None
            writer = self._writer
        if process is None:
            return
        until = time.monotonic() + STOP_S
        # Closing waits for a call that is writing, and that one for a process that does not read.
        breaker = threading.Timer(STOP_S, _kill, (process,))
        breaker.daemon = True
        breaker.start()
        if writer is not None:
            writer.close()
        breaker.cancel()
        try:
            process.wait(max(_POLL_S, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            _kill(process)
            # One that waits for a disk which does not answer ends only with that.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_KILLED_S)
        if self._reader is not None:
            self._reader.join(max(0.1, until - time.monotonic()))

    def _started(self) -> FrameWriter:
        """The way to a process that runs. Raises `HelperGone` where there can be none."""
        if self._stopping:
            raise HelperGone
        if self._process is not None and self._process.poll() is None:
            assert self._writer is not None
            return self._writer
        try:
            process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, close_fds=True
            )
        except OSError as error:
            log.warning("the helper process could not be started: %s", error)
            raise HelperGone from error
        assert process.stdin is not None
        processes.count_as_ours(process.pid)
        self._process, self._writer = process, FrameWriter(process.stdin)
        of_process = (process, self._writer)
        reader = threading.Thread(target=self._read, args=of_process, name="reverie-helper", daemon=True)
        self._reader = reader
        reader.start()
        log.debug("the helper process %d was started", process.pid)
        return self._writer

    def _read(self, process: subprocess.Popen[bytes], writer: FrameWriter) -> None:
        assert process.stdout is not None
        while (frame := read_frame(process.stdout)) is not None:
            kind, *rest = frame
            if kind == "log":
                level, name, text = rest
                logging.getLogger(name).log(level, "%s", text)
            elif kind == "progress":
                self._hand_on(rest[0], (kind, *rest[1:]))
            elif kind != "ready":
                answers = self._waiting.pop(rest[0], None)
                if answers is not None:
                    answers.put((kind, *rest[1:]))
        process.wait()
        writer.close()
        process.stdout.close()
        # One that was started anew meanwhile answers for itself.
        if self._process is process or self._process is None:
            for call_id in list(self._waiting):
                answers = self._waiting.pop(call_id, None)
                if answers is not None:
                    answers.put(("gone",))

    def _hand_on(self, call_id: int, answer: tuple[Any, ...]) -> None:
        answers = self._waiting.get(call_id)
        if answers is not None:
            answers.put(answer)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        log.error("the helper did not end within %g s and was killed", STOP_S)
        process.kill()


def helper_command() -> tuple[str, ...]:
    """How this program starts itself as a helper."""
    if getattr(sys, "frozen", False):
        return (sys.executable, ARGUMENT)
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return (sys.executable, "-P", "-m", "reverie", ARGUMENT)


def _send(writer: FrameWriter, *frame: Any) -> None:
    try:
        writer.send(*frame)
    except (OSError, ValueError) as error:  # ValueError: the pipe was closed by `stop`
        raise HelperGone from error


def _answer(kind: str, values: list[Any]) -> Any:
    if kind == "done":
        return values[0]
    if kind == "failed":
        raise values[0]
    if kind == "stopped":
        raise HelperStopped
    if kind == "bug":
        raise HelperBug(values[0])
    raise HelperGone
