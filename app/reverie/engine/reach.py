"""Reaching an engine: that of a profile by its socket, started if need be; one of our own by its streams; one
on another machine over the streams of the system's `ssh`.

Where an engine listens follows from the profile and from the environment (`engine_name`): processes that see
other homes, or have other keys, have another engine. `ssh` is the person's own: its configuration, agent and
known hosts count. It may
ask nothing, since there is no terminal to ask in. A failure that a person must fix is not provoked again for
a minute, because a machine may shut out who knocks too often.

Threading: everything that connects blocks; any thread but the GUI's. Over `ssh` that is until it has started;
until the machine answers, the greeting of `engine.client` does. Failure: `Unavailable` where no engine can be
started or reached, with what it printed; `RemoteMachine.explain` says in sentences why a machine cannot be
used, from what `ssh` printed, of which a few kilobytes are kept.
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
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from reverie import __version__
from reverie.engine.channel import Channel, ConnectionLost, FromEngine, Refused
from reverie.engine.codec import WireError
from reverie.engine.start import MachineAddress, StartingEngine, engine_command
from reverie.errors import Unavailable, UserError
from reverie.files.directory import ensure_private, is_link
from reverie.profile import Profile

_LONGEST_PATH = 100
"""Bytes of a socket's path; systems take 104 to 108."""
AGENT_VARIABLES = frozenset(
    {
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY",
        "CLAUDE_CODE_DISABLE_CLAUDE_MDS",
        "CLAUDE_CODE_REMOTE",
        "CLAUDE_CODE_REMOTE_MEMORY_DIR",
        "CLAUDE_CODE_SIMPLE",
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE",
        "CODEX_HOME",
        "CODEX_SQLITE_HOME",
        "DO_NOT_TRACK",
        "HOME",
        "LOKI_FAILURE_MEMORY",
        "LOKI_MEMORY_BASE_PATH",
        "LOKI_TELEMETRY",
        "LOKI_TELEMETRY_DISABLED",
        "MUX_ROOT",
        "NODE_ENV",
        "TZ",
        "XUM_ROOT",
    }
)
"""What Reverie reads of the environment to find and understand the agents' homes. Their other variables do
not count: an agent sets some for whatever it starts, such as a command of Reverie."""
_OF_MODELS = ("_API_KEY", "_API_TOKEN", "_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
"""How variables end that say how a model service is asked. Those that only the settings name are not here."""


def engine_name(profile: Profile, env: Mapping[str, str] = os.environ) -> str:
    """Return the name of the engine for a profile and an environment.

    It follows from the variables that name the agents' homes and from those of the model services. Any user
    can read the path of a socket, so the name is made with a secret of the profile, lest keys and passwords
    be guessed from it. The first engine makes the secret (`make_secret`); until then the name is that of no
    engine."""
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
    """Make the secret of `engine_name` unless there is one. It is the target of a symbolic link, which is
    made whole and by one process alone. A disk without such links, or a full one, has none. Raises
    `UserError`."""
    profile.ensure(profile.locks)
    with contextlib.suppress(OSError):
        _secret_link(profile).symlink_to(secrets.token_hex(16))


def _secret_link(profile: Profile) -> Path:
    return profile.locks / "engine.secret"


def engine_lock(profile: Profile) -> Path:
    """The file whose lock the engine of this profile and environment holds."""
    return profile.locks / f"engine-{engine_name(profile)}.lock"


def socket_places(profile: Profile) -> list[Path]:
    """Return the paths where the engine of this profile and environment may listen, best first. Nothing is
    made.

    The engine takes the first whose folder it can make its own; a client looks at all of them, because what
    can be used may have changed since. The last is in the profile itself, where nobody else can come first.
    """
    name = engine_name(profile)
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    roots = (runtime if Path(runtime).is_absolute() else "/tmp", tempfile.gettempdir(), "/tmp")
    places = [Path(root) / f"reverie-{os.getuid()}" / f"engine-{name}.socket" for root in roots]
    places.append(profile.state.absolute() / "socket" / name)
    short = [each for each in dict.fromkeys(places) if len(os.fsencode(each)) <= _LONGEST_PATH]
    return short or places[-1:]  # too long for the system, which then says so


def make_ours(path: Path) -> None:
    """Make the folder of a socket, or see that it is this user's own and no link. Raises `UserError`."""
    if is_link(path.parent):
        raise Unavailable(f"{path.parent} is a symbolic link, which could lead elsewhere at any time.")
    ensure_private(path.parent)


def is_ours(connection: socket.socket) -> bool:
    """Whether the process at the other end of a connected socket is this user's. Where the system does not
    tell, the modes of the folder and of the socket decide alone."""
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
        raise Unavailable("Reverie's engine is not running.", cause=str(error)) from error


def reach(profile: Profile) -> Channel:
    """Return a channel to the engine of `profile` that runs. Raises `OSError` where there is none, or only
    one of another user: it would be sent the keys of models."""
    refusal: OSError | None = None
    for place in socket_places(profile):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(str(place))
            if is_ours(connection):
                return socket_channel(connection, FromEngine)
            log.warning("another user listens at %s, and is told nothing", place)
            refusal = PermissionError(errno.EACCES, "it belongs to another user", str(place))
        except OSError as error:
            refusal = refusal or error
        connection.close()
    assert refusal is not None  # there is a place at least
    raise refusal


# An engine on another machine.


REFUSED = "machine-refused"
"""Reason of an error that a person has to fix; see `RemoteMachine.hurry`."""
LOST = "machine-lost"
"""Reason of an error that may pass."""
INSTALL = "pipx install reverie"
AGAIN_S = 60.0
SSH_END_S = 1.0
_CONNECT_S = 10
_MOST_PRINTED = 8192
_OPTIONS = (
    "-T",
    *("-o", "BatchMode=yes"),
    *("-o", f"ConnectTimeout={_CONNECT_S}"),
    *("-o", "ServerAliveInterval=5"),
    *("-o", "ServerAliveCountMax=3"),
)
# A shell without a login often lacks the directory that pipx installs into. `sh`, because a person's own
# shell may be one that writes this differently.
_COMMAND = """exec sh -c 'PATH="$PATH:$HOME/.local/bin" exec reverie engine --stdio'"""


def ssh_command(address: MachineAddress, program: Sequence[str] = ("ssh",)) -> list[str]:
    """What is run here to have an engine there."""
    port = ("-p", str(address.port)) if address.port else ()
    return [*program, *_OPTIONS, *port, "--", address.name, _COMMAND]


class _Printed:
    """The last of what a program prints to a stream, read in a thread until its end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), name="reverie-ssh", daemon=True)
        self._thread.start()

    def _read(self, stream: BinaryIO) -> None:
        with stream:
            while piece := stream.read1(_MOST_PRINTED):  # type: ignore[attr-defined]
                self._kept = (self._kept + piece)[-_MOST_PRINTED:]

    def text(self) -> str:
        """What it was. A process that the program left behind may hold the stream open."""
        self._thread.join(SSH_END_S)
        return self._kept.decode("utf-8", "replace")


class RemoteMachine:
    """A machine elsewhere. `program`: how `ssh` is called."""

    def __init__(self, address: MachineAddress, program: Sequence[str] = ("ssh",)) -> None:
        self.address = address
        self.pid = 0
        """The process of `ssh` that was started last."""
        self._program = tuple(program)
        self._process: subprocess.Popen[bytes] | None = None
        self._printed: _Printed | None = None
        self._last: UserError | None = None
        self._not_before = 0.0

    def connect(self) -> Channel:
        """A channel to an engine there, which is started for it. Raises `Unavailable`."""
        if self._last is not None and time.monotonic() < self._not_before:
            raise _again(self._last)
        try:
            process = subprocess.Popen(
                ssh_command(self.address, self._program),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                # Ctrl+C in the terminal of the window is not for it, and it has no terminal to ask in.
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(
                f"Cannot reach {self.address.name}.",
                cause=f"The program {self._program[0]} could not be started here: {error.strerror}.",
                next_step="Install the OpenSSH client.",
                reason=REFUSED,
            ) from error
        self._process, self.pid, self._last = process, process.pid, None
        self._printed = _Printed(cast(BinaryIO, process.stderr))
        return process_channel(process, SSH_END_S, logging.INFO)

    def hurry(self) -> None:
        """A person wants to try again now."""
        self._not_before = 0.0

    def explain(self, failure: Refused | WireError | ConnectionLost | None) -> UserError:
        """Why the channel that `connect` gave last, which is closed by now, is of no use; None: why there is
        none now where there was one."""
        if failure is None:
            return self._lost("") if self._last is None else _again(self._last)
        process, printed = self._process, self._printed
        code = process.poll() if process is not None else None
        error = self._error(failure, code, printed.text() if printed is not None else "")
        if error.reason == REFUSED:
            self._not_before = time.monotonic() + AGAIN_S
        self._last = error
        return error

    def _error(self, failure: Refused | WireError | ConnectionLost, code: int | None, text: str) -> UserError:
        name = self.address.name
        if isinstance(failure, Refused):
            return _refused(
                f"{name} has another version of Reverie.",
                f"There it is {failure.version}, here {__version__}.",
                "Install the same version at both ends.",
            )
        if isinstance(failure, WireError):
            return _refused(
                f"{name} does not answer as Reverie does.",
                "A startup file of the shell there prints something, or the account runs no commands.",
                f"Run `ssh {name} true`: it must print nothing.",
            )
        if code == 127:
            return _refused(
                f"{name} has no Reverie.",
                "The command `reverie` is not found there.",
                f"Run there: {INSTALL}",
            )
        if "invalid choice: 'engine'" in text:
            return _refused(
                f"{name} has another version of Reverie.",
                "It is too old to be used from another machine.",
                f"Install version {__version__} there.",
            )
        for pattern, title, cause, step in _SAID_BY_SSH:
            if pattern in text:
                return _refused(title.format(name=name), cause, step.format(name=name))
        return self._lost(text)

    def _lost(self, printed: str) -> UserError:
        lines = [line for line in printed.splitlines() if line.strip()]
        return Unavailable(
            f"Cannot reach {self.address.name}.",
            cause=_printable(lines[-1]) if lines else "The connection was lost.",
            next_step="What you type is kept. Reverie connects again as soon as the machine answers.",
            reason=LOST,
        )


_SAID_BY_SSH = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "The host key of {name} has changed.",
        "It is not the one that ssh knows: the machine was set up again, or someone is in between.",
        "Find out which, then remove the old key with `ssh-keygen -R` and run `ssh {name}` once.",
    ),
    (
        "Host key verification failed",
        "{name} is not known here yet.",
        "ssh does not know its host key.",
        "Run `ssh {name}` once in a terminal, compare the fingerprint, and say yes.",
    ),
    (
        "Permission denied",
        "{name} does not let you in.",
        "It accepts no key that ssh offers, and there is no terminal to type a password in.",
        "Check that `ssh {name}` works without a question; `ssh-add` unlocks a key.",
    ),
    (
        "Too many authentication failures",
        "{name} does not let you in.",
        "ssh offered it too many keys.",
        "Name the right one in the configuration of ssh (`IdentityFile`, `IdentitiesOnly yes`).",
    ),
    (
        "Could not resolve hostname",
        "{name} could not be found.",
        "Its name is not known, or the network is away.",
        "Check the name and the network.",
    ),
)
"""What `ssh` prints, and the sentences for it; the first that fits counts."""


def _refused(title: str, cause: str, step: str) -> UserError:
    return Unavailable(title, cause=cause, next_step=step, reason=REFUSED)


def _again(error: UserError) -> UserError:
    return Unavailable(error.title, cause=error.cause, next_step=error.next_step, reason=error.reason)


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else " " for char in line.strip())[:300]
