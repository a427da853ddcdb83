"""A process of ours that answers in frames: what may hang, crash or eat the memory is done there.

`Child` is this side: it starts the process, exchanges frames with it (a length and that many bytes, over its
standard input and output) and ends it. Nothing here waits for ever: each wait has a limit, and a process that
cannot even be killed, because it waits for a disk that does not answer, is left alone. `ParentFrames` is the
other side, with `die_after` and `limit_memory` to bound a process from within.

The process ends with its parent, however that ends: its input ends. One that hangs just then ends by its own
alarm. Windows has no such alarm: there it stays until what it hangs in comes back. Memory is limited on Linux
alone; macOS takes the limits and does not hold to them.

Threading: a child belongs to one thread at a time; `end` from any. Failure: `ChildSilent`, `ChildEnded`.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import IO, BinaryIO, cast

log = logging.getLogger("reverie.files")

END_S = 2.0
"""How long a process that was killed may take to be gone."""
LARGEST_FRAME = 256 << 20
_LENGTH = struct.Struct(">I")
_CHECK_S = 0.05
_MOST_SHOWN = 4096
_left_alone: list[subprocess.Popen[bytes]] = []
"""Processes that could not be killed."""


class ChildSilent(Exception):
    """The process did not take or give a frame in time."""


class ChildEnded(Exception):
    """The process is gone. The text says how, with the end of what it printed as an error."""


def own_command(*arguments: str) -> list[str]:
    """The command that starts this program with `arguments`."""
    if getattr(sys, "frozen", False):
        return [sys.executable, *arguments]
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return [sys.executable, "-P", "-m", "reverie", *arguments]


class Child:
    """One process. One that nobody refers to any more is killed."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start it; returns at once. Raises `OSError`."""
        # Not a pipe, which somebody would have to read.
        self._printed = cast(IO[bytes], tempfile.TemporaryFile())  # noqa: SIM115 - closed by `_end`
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._printed,
                # Ctrl+C in a terminal is for the parent, which ends it.
                start_new_session=True,
            )
        except OSError:
            self._printed.close()
            raise
        self._reading: tuple[threading.Thread, list[bytes]] | None = None
        """The frame that is waited for; there is no thread while nobody waits."""
        self._end = weakref.finalize(self, _end, self._process, self._printed)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it can be sent something."""
        return self._end.alive and self._process.poll() is None

    def send(self, frame: bytes, within_s: float) -> None:
        """Hand it a frame. Raises `ChildSilent` where it does not take it within so many seconds."""
        # In a thread, because a write to a process that does not read cannot be given up.
        failed: list[Exception] = []
        thread = _in_background(_write, cast(BinaryIO, self._process.stdin), frame, failed)
        thread.join(within_s)
        if thread.is_alive():
            raise ChildSilent
        if failed:
            raise self._ended()

    def receive(self, within_s: float, check: Callable[[], None] = lambda: None) -> bytes:
        """The next frame that it sends. Raises `ChildSilent` where none comes within so many seconds. `check`
        is called meanwhile, and may raise to stop.
        """
        until = time.monotonic() + within_s
        if self._reading is None:
            frames: list[bytes] = []
            reader = cast(BinaryIO, self._process.stdout)
            self._reading = _in_background(_read_into, reader, frames), frames
        thread, frames = self._reading
        while True:
            thread.join(_CHECK_S)
            if not thread.is_alive():
                self._reading = None
                if not frames:
                    raise self._ended()
                return frames[0]
            check()
            if time.monotonic() > until:
                raise ChildSilent

    def end(self) -> None:
        """Kill it. Calling it again is harmless."""
        self._end()

    def _ended(self) -> ChildEnded:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        code = self._process.poll()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
        said = ""
        with contextlib.suppress(OSError, ValueError):
            self._printed.seek(max(0, self._printed.seek(0, 2) - _MOST_SHOWN))
            said = self._printed.read().decode("utf-8", "replace").strip()
        self.end()
        return ChildEnded(f"Its process ended {how}." + (f"\n{said}" if said else ""))


def _end(process: subprocess.Popen[bytes], printed: IO[bytes]) -> None:
    process.kill()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        log.warning("the process %d cannot be killed: it waits for a disk that does not answer", process.pid)
        # Closing its streams could wait for a thread that uses them.
        _left_alone.append(process)
    else:
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):  # a frame that was half sent
                cast(BinaryIO, stream).close()
    printed.close()


def _in_background(work: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, name="reverie-child", daemon=True)
    thread.start()
    return thread


def _write(stream: BinaryIO, frame: bytes, failed: list[Exception]) -> None:
    try:
        stream.write(_LENGTH.pack(len(frame)) + frame)
        stream.flush()
    except (OSError, ValueError) as error:
        failed.append(error)


def _read(stream: BinaryIO) -> bytes | None:
    """The next frame; None at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > LARGEST_FRAME:
        return None
    frame = stream.read(length)
    return frame if len(frame) == length else None


def _read_into(stream: BinaryIO, frames: list[bytes]) -> None:
    try:
        frame = _read(stream)
    except (OSError, ValueError, MemoryError) as error:
        log.warning("the answer of a process could not be read: %s", type(error).__name__)
    else:
        frames += [] if frame is None else [frame]


# In the process.


class ParentFrames:
    """The frames from and to the process that started this one."""

    def __init__(self) -> None:
        self._reader, self._writer = sys.stdin.buffer, sys.stdout.buffer
        # Whatever prints must not get between the frames.
        sys.stdout = sys.stderr

    def receive(self) -> bytes | None:
        """The next one; None once the parent is gone."""
        return _read(self._reader)

    def send(self, frame: bytes) -> None:
        """Raises `OSError` once the parent is gone."""
        self._writer.write(_LENGTH.pack(len(frame)) + frame)
        self._writer.flush()


def die_after(seconds: float) -> None:
    """End this process after so many seconds, whatever it does then; calling it again counts anew. The system
    does it, so that a process that hangs ends, too. Nothing where there are no alarms.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def limit_memory(most: int) -> None:
    """Let this process have at most so many bytes of its own, beyond which it gets a `MemoryError`; and no
    core dump. Linux alone holds to it.
    """
    if sys.platform == "win32":
        return
    import resource  # not there on Windows

    for kind, value in ((resource.RLIMIT_DATA, most), (resource.RLIMIT_CORE, 0)):
        _soft, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or value < hard:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(kind, (value, hard))
