"""The engine as a process: one per profile, found by its socket, started by whoever needs it first.

The process that holds `engine.lock` in the profile is the engine. It listens on a socket that only its user
can reach: in a private directory, mode 0600, and the peer's user is compared. A socket without a holder of
the lock belongs to a dead engine and is replaced. Where a system has no such sockets, and for an engine
elsewhere, the same is spoken over standard input and output (`--stdio`): such an engine has one client.

The engine ends a moment after its last client has left, and when nobody comes within half a minute.

Threading: `serve` blocks; each client has a thread. `connect` blocks, on any thread but the GUI's. Failure:
`Unavailable` where no engine can be started or reached, with what the engine printed.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from reverie.clock import system_clock
from reverie.engine.engine import Engine
from reverie.engine.server import ClientConnection
from reverie.engine.wire import Channel, FromClient, FromEngine
from reverie.errors import Busy, Unavailable, UserError
from reverie.files.directory import ensure_private
from reverie.files.locks import held_lock
from reverie.profile import Profile

log = logging.getLogger("reverie.engine")

LINGER_S = 1.0
NOBODY_S = 30.0
START_S = 20.0
_ATTEMPTS = 5
_READY = "ready"
_POLL_S = 0.01
_SWITCH_S = 0.0005
"""A search gives the interpreter up hundreds of times, and beside a scan it waits as long for each return."""
_LONGEST_PATH = 100
"""Bytes of a socket's path; systems take 104 to 108."""


# Serving


def serve(profile: Profile, *, ready: Callable[[], None] = lambda: None) -> int:
    """Be the engine of `profile` until nobody needs one. `ready` is called once it can be reached, or another
    process is the engine already."""
    try:
        with held_lock(profile.ensure(profile.locks) / "engine.lock", profile.state, timeout_s=0):
            _serve_socket(profile, ready)
    except Busy:
        ready()
    return 0


def serve_detached(profile: Profile) -> int:
    """As `serve`, in a process of its own that belongs to nobody; returns once that can be reached.

    Whoever starts an engine need not stay its parent: a window that ends leaves it to the others, and one
    that stays has no dead child to bury.
    """
    answer, telling = os.pipe()
    if os.fork():
        os.close(telling)
        with os.fdopen(answer, "rb") as told:
            said = told.read()
        sys.stderr.write(said.decode("utf-8", "replace").removeprefix(_READY))
        return 0 if said == _READY.encode() else 1
    os.close(answer)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)

    def say(text: str) -> None:
        with contextlib.suppress(OSError):  # nobody waits any more
            os.write(telling, text.encode())
        os.close(telling)

    try:
        return serve(profile, ready=lambda: say(_READY))
    except UserError as error:
        say(str(error))
        return 1


def serve_streams(profile: Profile) -> int:
    """Be the engine of one client, over standard input and output, until it is gone."""
    sys.setswitchinterval(_SWITCH_S)
    # What anything prints by mistake must not end up among the messages.
    writer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    engine = Engine(profile, system_clock)
    reader = sys.stdin.buffer
    channel = Channel(reader, writer, FromClient, shut=writer.close, close=reader.close)
    ClientConnection(channel, engine).serve()
    return 0


def _serve_socket(profile: Profile, ready: Callable[[], None]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is for the command there
    sys.setswitchinterval(_SWITCH_S)
    idle = threading.Event()
    engine = Engine(profile, system_clock, on_idle=idle.set)
    path = socket_path(profile)
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        before = os.umask(0o177)
        try:
            listening.bind(str(path))
        finally:
            os.umask(before)
        listening.listen()
        ready()
        try:
            threading.Thread(target=_accept, args=(listening, engine), daemon=True).start()
            idle.wait(NOBODY_S)
            while not _stays_idle(engine):
                idle.clear()
                idle.wait()
        finally:
            path.unlink(missing_ok=True)
            engine.close()


def _stays_idle(engine: Engine) -> bool:
    until = time.monotonic() + LINGER_S
    while time.monotonic() < until:
        if not engine.is_idle:
            return False
        time.sleep(_POLL_S)
    return engine.is_idle


def _accept(listening: socket.socket, engine: Engine) -> None:
    while True:
        try:
            connection, _address = listening.accept()
        except OSError:
            return  # closed: the engine ends
        if _is_ours(connection):
            channel = socket_channel(connection, FromClient)
            client = ClientConnection(channel, engine)
            threading.Thread(target=client.serve, name="reverie-client", daemon=True).start()
        else:
            log.warning("a process of another user tried to reach the engine")
            connection.close()


def _is_ours(connection: socket.socket) -> bool:
    """Whether the process at the other end is this user's. Where the system does not say, the modes of the
    directory and of the socket decide alone."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _pid, user, _group = struct.unpack("3i", credentials)
    return bool(user == os.geteuid())


# Reaching


def connect(profile: Profile) -> Channel:
    """A channel to the engine of `profile`, which is started if need be. Raises `Unavailable`."""
    if not hasattr(socket, "AF_UNIX"):
        return stdio_channel(profile)
    # Again where it ended between its start and our coming, as one does that nobody needs.
    for _attempt in range(_ATTEMPTS):
        with contextlib.suppress(OSError):  # none there, or a dead one's
            return _reach(profile)
        _start(profile)
    raise Unavailable(
        "Reverie's engine does not answer.",
        cause="It was started, and cannot be reached.",
        next_step="End the process `reverie _engine`, then try again.",
    )


def stdio_channel(profile: Profile) -> Channel:
    """An engine of our own, over its standard input and output."""
    process = subprocess.Popen(
        [*engine_command(profile), "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    reader, writer = cast(BinaryIO, process.stdout), cast(BinaryIO, process.stdin)

    def close() -> None:
        reader.close()
        process.wait()

    return Channel(reader, writer, FromEngine, shut=writer.close, close=close)


def inline_channel(engine: Engine) -> Channel:
    """A channel to an engine in this process: everything as between processes, without one."""
    ours, theirs = socket.socketpair()
    client = ClientConnection(socket_channel(theirs, FromClient), engine)
    threading.Thread(target=client.serve, name="reverie-client", daemon=True).start()
    return socket_channel(ours, FromEngine)


def socket_channel(connection: socket.socket, incoming: object) -> Channel:
    """A channel over a connected socket."""

    reader, writer = connection.makefile("rb"), connection.makefile("wb")

    def close() -> None:
        for each in (reader, writer, connection):
            with contextlib.suppress(OSError):  # a frame that was half sent
                each.close()

    return Channel(reader, writer, incoming, shut=lambda: connection.shutdown(socket.SHUT_RDWR), close=close)


def engine_command(profile: Profile) -> list[str]:
    """How this program starts itself as an engine."""
    places = [str(each) for each in (profile.config, profile.data, profile.cache, profile.state)]
    if getattr(sys, "frozen", False):
        return [sys.executable, "_engine", *places]
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return [sys.executable, "-P", "-m", "reverie", "_engine", *places]


def socket_path(profile: Profile) -> Path:
    """Where the engine of a profile listens. The directory is made."""
    digest = hashlib.sha256(os.fsencode(profile.state.absolute())).hexdigest()[:16]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    root = Path(runtime) if Path(runtime).is_absolute() else Path(tempfile.gettempdir())
    return ensure_private(root / f"reverie-{os.getuid()}") / f"engine-{digest}.socket"


def _reach(profile: Profile) -> Channel:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(str(socket_path(profile)))
    except OSError:
        connection.close()
        raise
    return socket_channel(connection, FromEngine)


def _start(profile: Profile) -> None:
    """Start an engine; back once it can be reached, or another one is there. Raises `Unavailable`."""
    try:
        started = subprocess.run(
            engine_command(profile),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=START_S,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error
    if started.returncode:
        lines = started.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Unavailable(
            "Reverie's engine could not be started.",
            cause=lines[-1] if lines else f"It ended with code {started.returncode}.",
            next_step="Run `reverie engine` in a terminal to see what is in its way.",
        )


def main(arguments: list[str]) -> int:
    """`reverie _engine CONFIG DATA CACHE STATE [--stdio]`, as this program starts itself."""
    profile = Profile(*map(Path, arguments[:4]))
    try:
        return serve_streams(profile) if "--stdio" in arguments[4:] else serve_detached(profile)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 1
