"""Connections to an engine on this machine.

The engine of a profile is reached through its socket, and started if necessary. An engine that serves only
this process is reached through its standard input and output.

The path of the socket depends on the profile and on the environment (`engine_name`): processes that find
other homes, or have other keys, use another engine.

Threading: everything that connects blocks; any thread but the GUI's. Failure: `Unavailable` if no engine can
be started or reached, with the output of the engine.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import secrets
import socket
import struct
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from reverie.agents.variables import AGENT_VARIABLES
from reverie.engine.channel import Channel, FromEngine
from reverie.engine.start import StartingEngine, engine_command
from reverie.errors import Unavailable
from reverie.files.child import ChildProcess
from reverie.files.directory import ensure_private, is_link
from reverie.profile import Profile

_LONGEST_PATH = 100
"""The largest length of a socket's path in bytes.

Systems allow 104 to 108.
"""
_OF_MODELS = ("_API_KEY", "_API_TOKEN", "_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""The endings of the names of environment variables with which model services are reached.

Variables that only the settings name are not included.
"""


def engine_name(profile: Profile, env: Mapping[str, str] = os.environ) -> str:
    """Return the name of the engine for a profile and an environment; it is part of the path of the socket.

    It depends on the variables that name the agents' homes and on the variables with keys of model services.
    Any user can read the path of a socket, so the name also depends on a secret of the profile; otherwise
    keys and passwords could be guessed from the name. The first engine creates the secret (`make_secret`).
    Without a secret, the returned name is one that no engine uses.
    """
    counted = sorted(
        (name, value)
        for name, value in env.items()
        if name in AGENT_VARIABLES or (value and name.upper().endswith(_OF_MODELS))
    )
    try:
        secret = os.readlink(_secret_link(profile))  # noqa: PTH115 - a text, no path
    except OSError:
        secret = ""
    of = repr((os.fsencode(profile.state.absolute()), counted)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(of, key=os.fsencode(secret)[:64], digest_size=8).hexdigest()


def make_secret(profile: Profile) -> None:
    """Create the secret of `engine_name` unless it exists.

    The secret is the target of a symbolic link, because only one process can create a link, and does so
    atomically. On a full disk, or one without symbolic links, no secret is created. Raises `UserError`.
    """
    profile.ensure(profile.locks)
    with contextlib.suppress(OSError):
        _secret_link(profile).symlink_to(secrets.token_hex(16))


def _secret_link(profile: Profile) -> Path:
    return profile.locks / "engine.secret"


def engine_lock(profile: Profile) -> Path:
    """Return the path of the lock file that the engine of this profile and environment holds."""
    return profile.locks / f"engine-{engine_name(profile)}.lock"


def socket_places(profile: Profile) -> list[Path]:
    """Return the paths where the engine of this profile and environment may listen, best first.

    Nothing is created.

    The engine uses the first path whose folder it can make its own; a client tries all of them, because
    another path may be usable now. The last path is in the profile itself, where no other user can create it
    first.
    """
    name = engine_name(profile)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    roots = (runtime if Path(runtime).is_absolute() else "/tmp", tempfile.gettempdir(), "/tmp")
    places = [Path(root) / f"reverie-{os.getuid()}" / f"engine-{name}.socket" for root in roots]
    places.append(profile.state.absolute() / "socket" / name)
    short = [each for each in dict.fromkeys(places) if len(os.fsencode(each)) <= _LONGEST_PATH]
    return short or places[-1:]  # too long: the system reports an error when it is used


def make_ours(path: Path) -> None:
    """Create the folder that will hold the socket `path`, as a private folder of this user.

    Raises `UserError` if the folder cannot be created, belongs to another user or is a symbolic link.
    """
    if is_link(path.parent):
        raise Unavailable(f"{path.parent} is a symbolic link, and its target could change at any time.")
    ensure_private(path.parent)


def is_ours(connection: socket.socket) -> bool:
    """Return whether the process at the other end of a connected socket belongs to this user.

    On a system that does not report the user of that process, returns True: there, only the permissions of
    the folder and the socket protect the connection.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _pid, user, _group = struct.unpack("3i", credentials)
    return bool(user == os.geteuid())


log = logging.getLogger("reverie.engine")

END_S = 3.0
_ATTEMPTS = 5


def connect(
    profile: Profile, *, command: Sequence[str] | None = None, starting: StartingEngine | None = None
) -> Channel:
    """Return a channel to the engine of `profile`; start the engine if necessary.

    `command`: the command that starts it; None: this program. `starting`: an engine that was started already;
    None: none was. Raises `Unavailable`.
    """
    if not hasattr(socket, "AF_UNIX"):
        return stdio_channel(profile)
    if starting is not None:
        starting.wait()
    # Retry: an engine without a client may end between its start and our connection.
    for _attempt in range(_ATTEMPTS):
        with contextlib.suppress(Unavailable):  # no socket, or that of a dead engine
            return reach(profile)
        StartingEngine(engine_command(profile) if command is None else command).wait()
    raise Unavailable(
        "Reverie's engine is not responding.",
        cause="The engine was started but cannot be reached.",
        next_step="End the process `reverie _engine`, then try again.",
    )


def stdio_channel(profile: Profile, program: Sequence[str] = ()) -> Channel:
    """Start an engine for this client alone; return a channel over the engine's standard input and output.

    `program`: the command of another `reverie`; empty: this one. Raises `Unavailable`.
    """
    try:
        process = ChildProcess([*engine_command(profile, program), "--stdio"])
    except OSError as error:
        raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error
    return process_channel(process, END_S, logging.ERROR)


def process_channel(process: ChildProcess, end_s: float, level: int) -> Channel:
    """Return a channel over the standard input and output of an engine, or of a program that connects to one.

    When the channel is closed, the process is ended. If it has not ended after `end_s` seconds, it is killed,
    and this is logged with the level `level`.
    """

    # Closing waits for a message in transit, which a process that does not read would block.
    def kill() -> None:
        if process.kill():
            log.log(level, "process %d did not end with its connection and was killed", process.pid)

    breaker = threading.Timer(end_s, kill)
    breaker.daemon = True

    first = threading.Lock()

    def shut() -> None:
        if first.acquire(blocking=False):  # two threads may shut at once, and a thread starts only once
            breaker.start()
        process.hang_up()

    def close() -> None:
        process.reader.close()
        process.wait()
        breaker.cancel()

    return Channel(process.reader, process.writer, FromEngine, shut=shut, close=close)


def socket_channel(connection: socket.socket, incoming: object) -> Channel:
    """Return a channel over the connected socket `connection`.

    `incoming`: the union of the message types that this end may receive.
    """

    reader, writer = connection.makefile("rb"), connection.makefile("wb")

    def close() -> None:
        for each in (reader, writer, connection):
            with contextlib.suppress(OSError):  # a frame may have been sent in part
                each.close()

    return Channel(reader, writer, incoming, shut=lambda: connection.shutdown(socket.SHUT_RDWR), close=close)


def reach(profile: Profile) -> Channel:
    """Return a channel to the running engine of `profile`; never start one.

    Raises `Unavailable` if no engine of this user runs. An engine of another user is not used, because the
    keys of models must not be sent to it.
    """
    refusal: OSError | None = None
    for place in socket_places(profile):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(place))
            if is_ours(connection):
                return socket_channel(connection, FromEngine)
            log.warning("another user listens at %s, and is told nothing", place)
            refusal = PermissionError(errno.EACCES, "the file belongs to another user", str(place))
        except OSError as error:
            refusal = refusal or error
        connection.close()
    raise Unavailable("Reverie's engine is not running.", cause=str(refusal)) from refusal
