"""Child processes that communicate over their standard input and output.

`ChildProcess` starts, stops and kills a process; the engine's wire uses it (`engine.reach`). `Child` is a
process that answers in frames (`files.frames`), for work that may hang, crash or use up the
memory. Nothing here waits for ever: each wait has a limit, and a process that cannot even be killed, because
it waits for a disk that does not respond, is abandoned. `ParentFrames` is the child's side, with `die_after`
and `limit_memory` to limit a process from within.

The process ends when its parent does, in whatever way, because its input ends. If the process hangs at that
moment, its own alarm ends it. Windows has no such alarm, so there the process remains until the blocking call
returns. Memory is limited on Linux only; macOS accepts the limits and does not enforce them.

Threading: a child belongs to one thread at a time; `end` may be called from any. Failure: `ChildSilent`,
`ChildEnded`.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import IO, Any, BinaryIO, cast

from reverie.files.frames import FrameTooLarge, read_frame, write_frame

log = logging.getLogger("reverie.files")

END_S = 2.0
"""The time in seconds within which a killed process must end."""
_CHECK_S = 0.05
_MOST_SHOWN = 4096
_MOST_KEPT = 8192
_left_alone: list[ChildProcess] = []
"""The processes that could not be killed."""


class ChildSilent(Exception):
    """Raised if the process did not accept or send a frame (one message) in time."""


class ChildEnded(Exception):
    """Raised if the process has ended.

    The text of the exception describes how it ended, with the last part of its standard error output.
    """


def own_command(*arguments: str) -> list[str]:
    """Return the command that starts Reverie itself with `arguments`, as a list for `subprocess`."""
    if getattr(sys, "frozen", False):
        return [sys.executable, *arguments]
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return [sys.executable, "-P", "-m", "reverie", *arguments]


class ChildProcess:
    """A child process with pipes to its standard input and from its standard output.

    The process must end when its standard input is closed. `keeps_errors`: keep the last part of its standard
    error output for `errors`. `options`: further arguments of `subprocess.Popen`.
    """

    def __init__(self, command: Sequence[str], *, keeps_errors: bool = False, **options: Any) -> None:
        """Start the process `command` without waiting for anything. Raises `OSError`.

        `keeps_errors` and `options`: see the class.
        """
        if keeps_errors:
            options["stderr"] = subprocess.PIPE
        self._process: subprocess.Popen[bytes] = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options
        )
        self.reader = cast(BinaryIO, self._process.stdout)
        self.writer = cast(BinaryIO, self._process.stdin)
        self.pid = self._process.pid
        self._errors = b""
        self._reading_errors = _in_background(self._read_errors) if keeps_errors else None

    def _read_errors(self) -> None:
        with cast(Any, self._process.stderr) as stream:
            while piece := stream.read1(_MOST_KEPT):
                self._errors = (self._errors + piece)[-_MOST_KEPT:]

    def errors(self, within_s: float) -> str:
        """Return the last 8 KiB of the standard error output; empty unless `keeps_errors` was set.

        Waits at most `within_s` seconds for the output to end, because a process that the child started may
        keep it open.
        """
        if self._reading_errors is not None:
            self._reading_errors.join(within_s)
        return self._errors.decode("utf-8", "replace")

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._process.poll()

    def hang_up(self) -> None:
        """Close the standard input of the process, so that it ends.

        Blocks while another thread is writing to it.
        """
        with contextlib.suppress(OSError, ValueError):  # it has ended
            self.writer.close()

    def stop(self, within_s: float, *, terminate: bool = False) -> bool:
        """Ask the process to end, and wait; return False if it had to be killed.

        It is asked by closing its standard input or, with `terminate`, by a signal, and killed if it still
        runs after `within_s` seconds. A process that waits for a disk that does not respond may survive even
        that.
        """
        if terminate:
            self._process.terminate()
        else:
            self.hang_up()
        if self.wait(within_s):
            return True
        self.kill()
        self.wait(END_S)
        return False

    def wait(self, within_s: float | None = None) -> bool:
        """Wait until the process has ended; return False if it still runs after `within_s` seconds.

        `within_s`: None for no limit.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(within_s)
        return self.exit_code is not None

    def kill(self) -> bool:
        """Kill the process; return whether it was still running."""
        is_running = self.exit_code is None
        self._process.kill()
        return is_running


class Child:
    """A child process that gets requests and returns answers as frames (a length, then that many bytes).

    The process is killed once there are no more references to the object.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start the process `command`; return at once. Raises `OSError`."""
        # Not a pipe, which would have to be read.
        self._printed = cast(IO[bytes], tempfile.TemporaryFile())  # noqa: SIM115 - closed by `_end`
        try:
            # A session of its own: Ctrl+C in a terminal goes to the parent only, which ends this process.
            self._process = ChildProcess(command, stderr=self._printed, start_new_session=True)
        except OSError:
            self._printed.close()
            raise
        self._reading: tuple[threading.Thread, list[bytes]] | None = None
        """The thread that reads the expected frame, and its result; None unless one is expected."""
        self._end = weakref.finalize(self, _end, self._process, self._printed)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs, so that frames can be sent to it."""
        return self._end.alive and self._process.exit_code is None

    def send(self, frame: bytes, within_s: float) -> None:
        """Send a frame to the process.

        Raises `ChildSilent` if the process does not accept it within `within_s` seconds, and `ChildEnded`.
        """
        # In a thread, because a write to a process that does not read cannot be cancelled.
        failed: list[Exception] = []
        thread = _in_background(_write, self._process.writer, frame, failed)
        thread.join(within_s)
        if thread.is_alive():
            raise ChildSilent
        if failed:
            raise self._ended()

    def receive(self, within_s: float, check: Callable[[], None] = lambda: None) -> bytes:
        """Return the next frame from the process.

        Raises `ChildSilent` if none arrives within `within_s` seconds, and `ChildEnded`. `check` is called
        repeatedly while waiting, and may raise to stop.
        """
        until = time.monotonic() + within_s
        if self._reading is None:
            frames: list[bytes] = []
            self._reading = _in_background(_read_into, self._process.reader, frames), frames
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
        """Kill the process; further calls do nothing."""
        self._end()

    def _ended(self) -> ChildEnded:
        self._process.wait(END_S)
        code = self._process.exit_code
        how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
        said = ""
        with contextlib.suppress(OSError, ValueError):
            self._printed.seek(max(0, self._printed.seek(0, 2) - _MOST_SHOWN))
            said = self._printed.read().decode("utf-8", "replace").strip()
        self.end()
        return ChildEnded(f"The process ended {how}." + (f"\n{said}" if said else ""))


def _end(process: ChildProcess, printed: IO[bytes]) -> None:
    process.kill()
    if process.wait(END_S):
        process.hang_up()
        process.reader.close()
    else:
        log.warning("the process %d cannot be killed: it waits for a disk that does not answer", process.pid)
        # Closing its streams could wait for a thread that uses them.
        _left_alone.append(process)
    printed.close()


def _in_background(work: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, name="reverie-child", daemon=True)
    thread.start()
    return thread


def _write(stream: BinaryIO, frame: bytes, failed: list[Exception]) -> None:
    try:
        write_frame(stream, frame)
    except (OSError, ValueError) as error:
        failed.append(error)


def _read_into(stream: BinaryIO, frames: list[bytes]) -> None:
    try:
        frames.append(read_frame(stream))
    except EOFError:
        pass  # the process has ended
    except (OSError, ValueError, MemoryError, FrameTooLarge) as error:
        log.warning("the answer of a process could not be read: %s", type(error).__name__)


class ParentFrames:
    """The connection of a child process to its parent: frames (messages) on standard input and output."""

    def __init__(self) -> None:
        self._reader, self._writer = sys.stdin.buffer, sys.stdout.buffer
        # Printed text must not get between the frames.
        sys.stdout = sys.stderr

    def receive(self) -> bytes:
        """Return the next frame from the parent. Raises `EOFError` once the parent has ended."""
        return read_frame(self._reader)

    def send(self, frame: bytes) -> None:
        """Send a frame to the parent. Raises `OSError` once the parent has ended."""
        write_frame(self._writer, frame)


def die_after(seconds: float) -> None:
    """End this process after `seconds`, even if it hangs; a further call restarts the countdown.

    Does nothing on Windows, which has no alarm signals.
    """
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, seconds)


def limit_memory(most: int) -> None:
    """Limit the memory that this process can allocate to `most` bytes, and turn off core dumps.

    An allocation beyond the limit raises `MemoryError`. Only Linux enforces the limit; Windows has none.
    """
    if sys.platform == "win32":
        return
    import resource  # not there on Windows

    for kind, value in ((resource.RLIMIT_DATA, most), (resource.RLIMIT_CORE, 0)):
        _soft, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or value < hard:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(kind, (value, hard))
