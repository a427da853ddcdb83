"""Connections to an engine on another machine, over the standard input and output of the system's `ssh`.

`ssh` uses the person's own configuration, agent and known hosts. It must not prompt, because there is no
terminal. After a failure that only a person can fix, no attempt is made for a minute, because a machine may
block clients that try too often.

Threading: `connect` blocks until `ssh` has started; the first message of `engine.client` then blocks until
the machine responds; any thread but the GUI's. Failure: `Unavailable`. `RemoteMachine.explain` returns an
error with the reason in sentences, derived from the last kilobytes of the output of `ssh`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from reverie import __version__
from reverie.engine.channel import Channel, ConnectionLost, Refused
from reverie.engine.codec import WireError
from reverie.engine.reach import process_channel
from reverie.errors import Unavailable, UserError
from reverie.files.child import ChildProcess
from reverie.services.machines import MachineAddress

REFUSED = "machine-refused"
"""The `reason` of an error that only a person can fix; see `RemoteMachine.hurry`."""
LOST = "machine-lost"
"""The `reason` of an error that may be temporary, so that connecting is tried again."""
INSTALL = "pipx install reverie"
AGAIN_S = 60.0
SSH_END_S = 1.0
_CONNECT_S = 10
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
    """Return the local command that starts an engine on the machine at `address` through `ssh`.

    `program`: the command of `ssh`, with its first arguments.
    """
    port = ("-p", str(address.port)) if address.port else ()
    return [*program, *_OPTIONS, *port, "--", address.name, _COMMAND]


class RemoteMachine:
    """Another machine with an engine, reached through `ssh`.

    `program`: the command of `ssh`, with its first arguments.
    """

    def __init__(self, address: MachineAddress, program: Sequence[str] = ("ssh",)) -> None:
        self.address = address
        self.pid = 0
        """The process id of the `ssh` that was started last; 0 if none was."""
        self._program = tuple(program)
        self._process: ChildProcess | None = None
        self._last: UserError | None = None
        self._not_before = 0.0

    def connect(self) -> Channel:
        """Start an engine on the machine; return a channel to it.

        Raises `Unavailable`. After a failure that only a person can fix, every call in the next minute raises
        the error of that failure again, without a new attempt; `hurry` ends this minute.
        """
        if self._last is not None and time.monotonic() < self._not_before:
            raise _again(self._last)
        try:
            process = ChildProcess(
                ssh_command(self.address, self._program),
                keeps_errors=True,
                # Ctrl+C in the window's terminal must not end `ssh`, and `ssh` must not prompt there.
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(
                f"Cannot reach {self.address.name}.",
                cause=f"The program {self._program[0]} could not be started on this computer: "
                f"{error.strerror}.",
                next_step="Install the OpenSSH client.",
                reason=REFUSED,
            ) from error
        self._process, self.pid, self._last = process, process.pid, None
        return process_channel(process, SSH_END_S, logging.INFO)

    def hurry(self) -> None:
        """Let the next `connect` make an attempt at once, because a person has requested it.

        Otherwise, no attempt is made in the minute after a failure that only a person can fix.
        """
        self._not_before = 0.0

    def explain(self, failure: Refused | WireError | ConnectionLost | None) -> UserError:
        """Return the error that explains why the channel that `connect` last returned has failed.

        The channel must be closed. `failure`: the failure of the first messages (`Hello` and its reply); None
        if the connection was lost later.
        """
        if failure is None:
            return self._lost("") if self._last is None else _again(self._last)
        process = self._process
        assert process is not None  # `connect` raised otherwise
        error = self._error(failure, process.exit_code, process.errors(SSH_END_S))
        if error.reason == REFUSED:
            self._not_before = time.monotonic() + AGAIN_S
        self._last = error
        return error

    def _error(self, failure: Refused | WireError | ConnectionLost, code: int | None, text: str) -> UserError:
        name = self.address.name
        if isinstance(failure, Refused):
            return _refused(
                f"{name} has a different version of Reverie.",
                f"The version there is {failure.version}, the version here is {__version__}.",
                "Install the same version on both machines.",
            )
        if isinstance(failure, WireError):
            return _refused(
                f"{name} does not respond like Reverie.",
                "A startup file of the shell on that machine prints text, or the account cannot run "
                "commands.",
                f"Run `ssh {name} true`: it must print nothing.",
            )
        if code == 127:
            return _refused(
                f"Reverie is not installed on {name}.",
                "The command `reverie` was not found on that machine.",
                f"Run this on that machine: {INSTALL}",
            )
        if "invalid choice: 'engine'" in text:
            return _refused(
                f"{name} has a different version of Reverie.",
                "That version is too old to be used from another machine.",
                f"Install version {__version__} on that machine.",
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
            next_step="Your text is saved. Reverie will reconnect as soon as the machine responds.",
            reason=LOST,
        )


_SAID_BY_SSH = (
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "The host key of {name} has changed.",
        (
            "It differs from the key that ssh has stored: the machine was reinstalled, or someone is "
            "intercepting the connection."
        ),
        (
            "Find out which is the case. Then remove the old key with `ssh-keygen -R` and run `ssh {name}` "
            "once."
        ),
    ),
    (
        "Host key verification failed",
        "This computer has never connected to {name}.",
        "ssh does not know the host key of that machine.",
        "Run `ssh {name}` once in a terminal, compare the fingerprint, and confirm.",
    ),
    (
        "Permission denied",
        "{name} denied access.",
        (
            "The machine accepts none of the keys that ssh offers, and there is no terminal to enter a "
            "password in."
        ),
        "Check that `ssh {name}` works without asking for input; `ssh-add` unlocks a key.",
    ),
    (
        "Too many authentication failures",
        "{name} denied access.",
        "ssh offered too many keys.",
        "Set the right key in the ssh configuration (`IdentityFile`, `IdentitiesOnly yes`).",
    ),
    (
        "Could not resolve hostname",
        "{name} could not be found.",
        "The name is unknown, or the network is not available.",
        "Check the name and the network.",
    ),
)
"""Pieces of the output of `ssh`, with the sentences that explain each; the first one found is used."""


def _refused(title: str, cause: str, step: str) -> UserError:
    return Unavailable(title, cause=cause, next_step=step, reason=REFUSED)


def _again(error: UserError) -> UserError:
    return Unavailable(error.title, cause=error.cause, next_step=error.next_step, reason=error.reason)


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else " " for char in line.strip())[:300]
