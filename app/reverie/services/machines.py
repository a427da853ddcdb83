"""The addresses of other machines whose homes are shown: `ssh://user@machine:port/path/of/a/home`.

An address becomes an argument of `ssh`, so names that `ssh` could take for an option, a command or a pattern
are refused.

Threading: pure. Failure: `parse_address` raises `UserError`.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote, unquote

from reverie.errors import UserError
from reverie.values import Struct

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\]")


class MachineAddress(Struct, frozen=True):
    """The address of another machine, and optionally of a home on it: `ssh://user@host:port/path`."""

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
    """Parse the address of a machine, such as `ssh://user@host:22/folder`. Raises `UserError`."""
    scheme, found, rest = text.partition("://")
    if not found or scheme.lower() != "ssh":
        raise _wrong(text, "The address does not begin with ssh://.")
    if any(char.isspace() or not char.isprintable() for char in text):
        raise _wrong(text, "The address contains a space or an unprintable character.")
    place, slash, path = rest.partition("/")
    user, at, machine = place.rpartition("@")
    if ":" in user:
        raise _wrong(text, "The address must not contain a password; use a key or the ssh agent.")
    host, colon, port = machine, "", ""
    if not machine.endswith("]"):
        host, colon, port = machine.rpartition(":") if ":" in machine else (machine, "", "")
    if (at and not _NAME.fullmatch(user)) or not _HOST.fullmatch(host):
        raise _wrong(text, "The name of the user or machine could be mistaken for an option of ssh.")
    if colon and not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) < 65536):
        raise _wrong(text, f"{port or 'Nothing'} is not a valid port.")
    home = unquote(slash + path)
    if not home.isprintable():
        raise _wrong(text, "The path contains an unprintable character.")
    return MachineAddress(
        host.strip("[]"), user, int(port) if port else 0, Path(home) if path.strip("/") else None
    )


def _wrong(text: str, cause: str) -> UserError:
    shown = "".join(char if char.isprintable() else "�" for char in text)
    return UserError(
        f"{shown} is not a valid machine address.",
        cause=cause,
        next_step="Use ssh://user@machine, ssh://machine:port or ssh://machine/path/to/home.",
        reason="address",
    )
