"""The engine as a process: one per profile and environment, found by its socket and started when needed.

The process that holds the engine's lock file in the profile is the engine. It listens on a socket that only
its user can reach: the socket is in a private directory, has the mode 0600, and a connecting process of
another user is refused. If there is a socket but no process holds the lock, the socket belongs to a dead
engine and is replaced. On a system without such sockets, and for an engine on another machine, the messages
are sent over standard input and output (`--stdio`); such an engine has one client.

The engine ends a moment after its last client has left, or if no client connects within half a minute. Runs
are carried out by processes of their own (`engine.workers`), which end with the engine.

Threading: `serve` blocks; each client has a thread. Failure: `Unavailable` if no engine can be started or
reached, with the output of the engine.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

from reverie.clock import system_clock
from reverie.engine.channel import Channel, FromClient, FromEngine
from reverie.engine.client import EngineClient
from reverie.engine.engine import ProfileEngine
from reverie.engine.reach import (
    engine_lock,
    is_ours,
    make_ours,
    make_secret,
    reach,
    socket_channel,
    socket_places,
)
from reverie.engine.server import ClientConnection
from reverie.engine.start import engine_command
from reverie.engine.workers import Workers
from reverie.errors import Busy, UserError, user_error_from_os
from reverie.files.locks import held_lock
from reverie.files.log_file import log_handler, wanted_level
from reverie.profile import Profile
from reverie.services.workbench import LOOK_AGAIN

log = logging.getLogger("reverie.engine")

LINGER_S = 1.0
NOBODY_S = 30.0
ENDING_S = 10.0
LOOK_S = 0.1
_READY = "ready"
_POLL_S = 0.01
_SWITCH_S = 0.0005
"""The thread switch interval of the engine in seconds, for `sys.setswitchinterval`.

A search releases Python's global lock hundreds of times, and while other threads compute it waits up to this
long to get the lock back each time.
"""
LOOK_AGAIN_S = 1.5
"""How long a worker that ends waits for the thread that checks the coverage record, in seconds.

It is shorter than the time that a worker gets to end.
"""


class EngineRuns(Busy):
    """Raised if another process is already the engine of this profile.

    `pid` is the id of that process, or 0 if it does not respond.
    """

    def __init__(self, pid: int) -> None:
        super().__init__(f"Process {pid or 'unknown'} is already the engine of this profile.")


def serve(
    profile: Profile,
    *,
    ready: Callable[[], None] = lambda: None,
    linger_s: float = LINGER_S,
    nobody_s: float = NOBODY_S,
) -> None:
    """Run the engine of `profile` in this process until no client needs it.

    It ends if no client has connected for `nobody_s` seconds after the start, or `linger_s` seconds after the
    last client has left. `ready` is called once clients can connect. Raises `EngineRuns`.
    """
    make_secret(profile)
    file = engine_lock(profile)
    until = time.monotonic() + ENDING_S
    while True:
        try:
            with held_lock(file, profile.state, timeout_s=0):
                _serve_socket(profile, ready, linger_s, nobody_s)
            return
        except Busy as error:
            pid = _pid_of_engine(profile)
            if pid or time.monotonic() > until:
                raise EngineRuns(pid) from error
            time.sleep(LOOK_S)  # an engine that does not respond is starting or ending


def serve_detached(profile: Profile, *, linger_s: float = LINGER_S, nobody_s: float = NOBODY_S) -> int:
    """Run `serve` in a new process that is detached from this one; return the exit code.

    In this process, it returns 0 once clients can connect, or 1 if the engine could not be started. For the
    arguments see `serve`. The process is detached so that the engine continues for other clients after this
    process has ended, and so that this process need not reap it.
    """
    answer, telling = os.pipe()
    if os.fork():
        os.close(telling)
        with os.fdopen(answer, "rb") as told:
            said = told.read()
        sys.stderr.write(said.decode("utf-8", "replace").removeprefix(_READY))
        return 0 if said == _READY.encode() else 1
    os.close(answer)
    os.chdir("/")  # it outlives its starter and must not keep a disk in use
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)

    def say(text: str) -> None:
        with contextlib.suppress(OSError):  # the starter no longer waits
            os.write(telling, text.encode())
        os.close(telling)

    try:
        serve(profile, ready=lambda: say(_READY), linger_s=linger_s, nobody_s=nobody_s)
    except EngineRuns:
        say(_READY)
    except UserError as error:
        say(str(error))
        return 1
    return 0


def serve_streams(profile: Profile) -> None:
    """Run an engine for one client over standard input and output; return once the client has left."""
    _serve_one(_engine_of(profile))


def _engine_of(profile: Profile, on_idle: Callable[[], None] = lambda: None) -> ProfileEngine:
    sys.setswitchinterval(_SWITCH_S)
    workers = Workers([*engine_command(profile), "--worker"])
    return ProfileEngine(profile, system_clock, on_idle=on_idle, workers=workers)


def serve_worker(profile: Profile) -> NoReturn:
    """Run as a worker: carry out the requests of one engine until that engine is gone.

    The engine started this process and sends the requests over its standard input. Once the engine is gone,
    the process ends at once, even in the middle of a run.
    """
    _serve_one(ProfileEngine(profile, system_clock, is_worker=True))
    for thread in threading.enumerate():
        if thread.name == LOOK_AGAIN:
            thread.join(LOOK_AGAIN_S)
    # Otherwise Python would wait for threads that are blocked by a model or a disk.
    os._exit(0)


def _serve_one(engine: ProfileEngine) -> None:
    # Nothing else may use these streams: accidental output must not get between the messages, and a child
    # process must not read them.
    reader = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    writer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is meant for the command there
    channel = Channel(reader, writer, FromClient, shut=writer.close, close=reader.close)
    # The client may be on another machine; this process ends with it.
    ClientConnection(channel, engine, os.getpid()).serve()
    engine.close()


def _serve_socket(profile: Profile, ready: Callable[[], None], linger_s: float, nobody_s: float) -> None:
    idle = threading.Event()
    engine = _engine_of(profile, idle.set)
    ended = threading.Event()
    listening, path = _listening(profile)
    with listening:
        ready()
        try:
            threading.Thread(target=_accept, args=(listening, engine, ended), daemon=True).start()
            idle.wait(nobody_s)
            while True:
                # Cleared before the check, so that a client that leaves from now on is noticed.
                idle.clear()
                if _stays_idle(engine, linger_s) and engine.begin_to_end():
                    break
                idle.wait()
        finally:
            ended.set()
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # closing alone would not wake the thread that accepts
                listening.shutdown(socket.SHUT_RDWR)
            engine.close()


def _listening(profile: Profile) -> tuple[socket.socket, Path]:
    """Open the engine's socket at the first usable path of `socket_places`; return the socket and its path.

    A path is usable if its folder belongs to this user. The socket of a dead engine is replaced. If no path
    is usable, raises the `UserError` of the first one.
    """
    refusal: UserError | None = None
    for path in socket_places(profile):
        try:
            make_ours(path)
            return _listening_at(path), path
        except UserError as error:
            log.info("the engine is not reached at %s: %s", path, error)
            refusal = refusal or error
    assert refusal is not None  # there is a place at least
    raise refusal


def _listening_at(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        path.unlink(missing_ok=True)
        listening.bind(str(path))
        listening.listen()
    except OSError as error:
        listening.close()
        raise user_error_from_os(
            error, f"The socket {path} of Reverie's engine could not be created."
        ) from error
    finally:
        os.umask(before)
    return listening


def _pid_of_engine(profile: Profile) -> int:
    """Return the process id of the running engine; 0 if the engine does not respond."""
    client = EngineClient(partial(reach, profile))
    with contextlib.suppress(UserError):
        client.connect()
    client.stop()
    return client.pid


def _stays_idle(engine: ProfileEngine, linger_s: float) -> bool:
    until = time.monotonic() + linger_s
    while time.monotonic() < until:
        if not engine.is_idle:
            return False
        time.sleep(_POLL_S)
    return engine.is_idle


def _accept(listening: socket.socket, engine: ProfileEngine, ended: threading.Event) -> None:
    """Accept connections on the socket `listening` and serve each client in a thread, until `ended` is set.

    If the system refuses resources (descriptors, memory, threads), accepting is tried again, because an
    engine that stopped listening would hold its lock without being reachable.
    """
    failing = False
    while True:
        try:
            connection, _address = listening.accept()
        except OSError as error:
            if ended.is_set():
                return
            if not failing:
                log.warning("a client could not be accepted: %s", error.strerror)
            failing = True
            time.sleep(LOOK_S)
            continue
        failing = False
        try:
            if is_ours(connection):
                client = ClientConnection(socket_channel(connection, FromClient), engine)
                threading.Thread(target=client.serve, name="reverie-client", daemon=True).start()
                continue
            log.warning("a process of another user tried to reach the engine")
        except (OSError, RuntimeError) as error:  # RuntimeError: no further thread can be started
            log.warning("a client could not be served: %s", error)
        connection.close()


def inline_channel(engine: ProfileEngine) -> Channel:
    """Connect to an engine in this process and return the client's end of the channel.

    Messages are encoded as between two processes.
    """
    ours, theirs = socket.socketpair()
    client = ClientConnection(socket_channel(theirs, FromClient), engine)
    threading.Thread(target=client.serve, name="reverie-client", daemon=True).start()
    return socket_channel(ours, FromEngine)


def _log_dead_thread(of: threading.ExceptHookArgs) -> None:
    """Log the exception that ended a thread, because nobody reads the standard error of an engine."""
    if of.exc_value is not None and not isinstance(of.exc_value, SystemExit):
        name = of.thread.name if of.thread is not None else "unknown"
        log.error("the thread %s ended", name, exc_info=of.exc_value)


def main(arguments: list[str]) -> int:
    """Run `reverie _engine CONFIG DATA CACHE STATE [--stdio|--worker]`, and return the exit code.

    Reverie starts its own engines and workers with this command. The first four arguments are the folders of
    the profile. `--stdio`: serve one client over standard input and output. `--worker`: carry out runs for
    the engine that started this process. Without an option, start a detached engine that listens on a socket.
    """
    profile = Profile(*map(Path, arguments[:4]))
    threading.excepthook = _log_dead_thread
    with contextlib.suppress(OSError, UserError):  # a full or read-only disk: an engine without a log
        ours = logging.getLogger("reverie")
        ours.setLevel(wanted_level(os.environ) or logging.INFO)
        ours.addHandler(log_handler(profile.engine_log))
        ours.propagate = False
    if "--worker" in arguments[4:]:
        serve_worker(profile)
    try:
        if "--stdio" not in arguments[4:]:
            return serve_detached(profile)
        serve_streams(profile)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0
