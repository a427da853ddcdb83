"""Starts an engine without waiting for it, and parses the addresses of engines on other machines.

A window starts its engine before it loads Qt, so nothing of the engine is imported here. An address is
`ssh://user@machine:port/path/of/a/home`. It becomes an argument of `ssh`, so names that `ssh` could take for
an option, a command or a pattern are refused.

Threading: any thread. Failure: `wait` raises `Unavailable` with the output of the engine; `parse_address`
raises `UserError`.
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
    """Return the command that starts this program, or another `reverie`, as an engine."""
    # The engine has another working directory.
    places = [str(each.absolute()) for each in (profile.config, profile.data, profile.cache, profile.state)]
    if not program and getattr(sys, "frozen", False):
        program = (sys.executable,)
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return [*(program or (sys.executable, "-P", "-m", "reverie")), "_engine", *places]


class StartingEngine:
    """An engine that is being started.

    Its process detaches from this one once the engine can be reached.
    """

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
        """Wait until this engine, or another one, can be reached. Raises `Unavailable`."""
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


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\]")


class MachineAddress(Struct, frozen=True):
    """The address of a machine: `ssh://user@host:port/path`."""

    host: str
    """A host name, an address, or an alias from the configuration of `ssh`."""
    user: str = ""
    """The user; empty for the user in the configuration of `ssh`."""
    port: int = 0
    """The port; 0 for the port in the configuration of `ssh`."""
    path: Path | None = None
    """The home to open; None to open all homes that are found on the machine."""

    @property
    def url(self) -> str:
        """The address in the form that `parse_address` accepts."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        user, port = f"{self.user}@" if self.user else "", f":{self.port}" if self.port else ""
        return f"ssh://{user}{host}{port}{quote(str(self.path)) if self.path is not None else ''}"

    @property
    def name(self) -> str:
        """The name of the machine, as people see it."""
        return f"{self.user}@{self.host}" if self.user else self.host


def parse_address(text: str) -> MachineAddress:
    """Parse the address of a machine. Raises `UserError`."""
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
