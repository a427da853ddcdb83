"""Reaching an engine: that of a profile by its socket, started if need be, or one of our own by its streams.

Threading: everything blocks; any thread but the GUI's. Failure: `Unavailable` where no engine can be started
or reached, with what it printed.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import threading
from collections.abc import Sequence
from typing import BinaryIO, cast

from reverie.engine.place import socket_path
from reverie.engine.start import StartingEngine, engine_command
from reverie.engine.wire import Channel, FromEngine
from reverie.errors import Unavailable
from reverie.profile import Profile

log = logging.getLogger("reverie.engine")

END_S = 3.0
_ATTEMPTS = 5


def connect(
    profile: Profile, *, command: Sequence[str] | None = None, starting: StartingEngine | None = None
) -> Channel:
    """A channel to the engine of `profile`, which is started if need be, by `command` where that is given.
    `starting`: one that was started already. Raises `Unavailable`."""
    if not hasattr(socket, "AF_UNIX"):
        return stdio_channel(profile)
    if starting is not None:
        starting.wait()
    # Again where it ended between its start and our coming, as one does that nobody needs.
    for _attempt in range(_ATTEMPTS):
        with contextlib.suppress(OSError):  # none there, or a dead one's
            return reach(profile)
        StartingEngine(engine_command(profile) if command is None else command).wait()
    raise Unavailable(
        "Reverie's engine does not answer.",
        cause="It was started, and cannot be reached.",
        next_step="End the process `reverie _engine`, then try again.",
    )


def stdio_channel(profile: Profile, program: Sequence[str] = ()) -> Channel:
    """An engine of our own, over its standard input and output. `program`: another `reverie` than this one.
    Raises `Unavailable`."""
    try:
        process = subprocess.Popen(
            [*engine_command(profile, program), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
    except OSError as error:
        raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error
    return process_channel(process, END_S, logging.ERROR)


def process_channel(process: subprocess.Popen[bytes], end_s: float, level: int) -> Channel:
    """A channel over the standard streams of a process that is, or leads to, an engine. It ends with the
    channel; after `end_s` it is killed, which is logged with `level`."""
    reader, writer = cast(BinaryIO, process.stdout), cast(BinaryIO, process.stdin)
    # Closing waits for a message that is on its way, and that one for a process that may not read.
    breaker = threading.Timer(end_s, _kill, (process, level))
    breaker.daemon = True

    def shut() -> None:
        with contextlib.suppress(RuntimeError):  # it was shut before
            breaker.start()
        writer.close()

    def close() -> None:
        reader.close()
        process.wait()
        breaker.cancel()

    return Channel(reader, writer, FromEngine, shut=shut, close=close)


def _kill(process: subprocess.Popen[bytes], level: int) -> None:
    if process.poll() is None:
        log.log(level, "process %d did not end with its connection and was killed", process.pid)
        process.kill()


def socket_channel(connection: socket.socket, incoming: object) -> Channel:
    """A channel over a connected socket."""

    reader, writer = connection.makefile("rb"), connection.makefile("wb")

    def close() -> None:
        for each in (reader, writer, connection):
            with contextlib.suppress(OSError):  # a frame that was half sent
                each.close()

    return Channel(reader, writer, incoming, shut=lambda: connection.shutdown(socket.SHUT_RDWR), close=close)


def running_channel(profile: Profile) -> Channel:
    """As `reach`. Raises `Unavailable`."""
    try:
        return reach(profile)
    except OSError as error:
        raise Unavailable("No engine of Reverie runs.", cause=str(error)) from error


def reach(profile: Profile) -> Channel:
    """A channel to the engine of `profile` that runs. Raises `OSError` where there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(socket_path(profile)))
    except OSError:
        connection.close()
        raise
    return socket_channel(connection, FromEngine)
