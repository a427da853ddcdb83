"""Starting an engine without waiting for it, the first thing that a window does, before it loads Qt; and the
addresses of engines on other machines: `ssh://user@machine:port/path/of/a/home`.

Light on purpose: nothing of the engine is imported here. An address becomes an argument of `ssh`, so only
names are taken that it cannot read as an option, a command or a pattern.

Threading: any thread. Failure: `Unavailable` with what the engine printed, from `wait`; `UserError` for what
is no address.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from reverie.errors import Unavailable, UserError
from reverie.profile import Profile
from reverie.values import Struct

START_S = 20.0


def engine_command(profile: Profile, program: Sequence[str] = ()) -> list[str]:
    """How this program, or another `reverie`, starts itself as an engine."""
    # The engine works in no directory of ours.
    places = [str(each.absolute()) for each in (profile.config, profile.data, profile.cache, profile.state)]
    if not program and getattr(sys, "frozen", False):
        program = (sys.executable,)
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return [*(program or (sys.executable, "-P", "-m", "reverie")), "_engine", *places]


class StartingEngine:
    """An engine that was started. Its process leaves this one once it can be reached."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the engine. Raises `Unavailable`."""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error

    def wait(self) -> None:
        """Until it can be reached, or another one is there. Raises `Unavailable`."""
        try:
            _nothing, printed = self._process.communicate(timeout=START_S)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            self._process.communicate()
            raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error
        if self._process.returncode:
            lines = printed.decode("utf-8", "replace").strip().splitlines()
            raise Unavailable(
                "Reverie's engine could not be started.",
                cause=lines[-1] if lines else f"It ended with code {self._process.returncode}.",
                next_step="Run `reverie engine` in a terminal to see what is in its way.",
            )


# Addresses of other machines.


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\]")


class MachineAddress(Struct, frozen=True):
    """Where a machine is, as `ssh://user@host:port/path` says it."""

    host: str
    """A name, an address, or what the configuration of `ssh` calls it."""
    user: str = ""
    """Empty: as the configuration of `ssh` says."""
    port: int = 0
    """0: as the configuration of `ssh` says."""
    path: Path | None = None
    """The one home to open; None: those that are found there."""

    @property
    def url(self) -> str:
        """As `parse_address` reads it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        user, port = f"{self.user}@" if self.user else "", f":{self.port}" if self.port else ""
        return f"ssh://{user}{host}{port}{quote(str(self.path)) if self.path is not None else ''}"

    @property
    def name(self) -> str:
        """As a person calls it."""
        return f"{self.user}@{self.host}" if self.user else self.host


def parse_address(text: str) -> MachineAddress:
    """The address that `text` names. Raises `UserError`."""
    scheme, found, rest = text.partition("://")
    if not found or scheme.lower() != "ssh":
        raise _wrong(text, "It does not begin with ssh://.")
    if any(char.isspace() or not char.isprintable() for char in text):
        raise _wrong(text, "It holds a space or a character that cannot be printed.")
    place, slash, path = rest.partition("/")
    user, at, machine = place.rpartition("@")
    if ":" in user:
        raise _wrong(text, "A password has no place in it; use a key or the agent of ssh.")
    host, colon, port = machine, "", ""
    if not machine.endswith("]"):
        host, colon, port = machine.rpartition(":") if ":" in machine else (machine, "", "")
    if (at and not _NAME.fullmatch(user)) or not _HOST.fullmatch(host):
        raise _wrong(text, "The user or the machine has a name that ssh could take for something else.")
    if colon and not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536):
        raise _wrong(text, f"{port or 'Nothing'} is not a valid port.")
    home = unquote(slash + path)
    if not home.isprintable():
        raise _wrong(text, "The path holds a character that cannot be printed.")
    return MachineAddress(
        host.strip("[]"), user, int(port) if port else 0, Path(home) if path.strip("/") else None
    )


def _wrong(text: str, cause: str) -> UserError:
    shown = "".join(char if char.isprintable() else "�" for char in text)
    return UserError(
        f"{shown} is not a valid machine address.",
        cause=cause,
        next_step="Write ssh://user@machine, ssh://machine:port or ssh://machine/path/of/a/home.",
        reason="address",
    )
