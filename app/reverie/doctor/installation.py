"""How Reverie was installed, and the command that repairs the installation.

If that is unknown, pip is assumed, because the advice for pip works in all other cases.
"""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import sys
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import reverie
from reverie.values import Struct

Kind = Literal["checkout", "deb", "folder", "pipx", "pip"]


_PACKAGED = Path("/usr/lib/reverie")
"""The program's directory in the Debian package (`packaging/package.py`)."""


class Installation(Struct, frozen=True):
    """How and where the running program was installed."""

    kind: Kind
    """`checkout`: run from its sources; `folder`: an unpacked archive with its own Python."""
    place: Path
    """The directory of the installation."""
    next_step: str
    """A sentence with the command that repairs the installation."""

    @property
    def sentence(self) -> str:
        """A sentence about how and where the program was installed, such as "Installed by pip in ..."."""
        return {
            "checkout": f"Run from the checkout {self.place}.",
            "deb": f"Installed as a Debian package in {self.place}.",
            "folder": f"Unpacked archive with its own Python in {self.place}.",
            "pipx": f"Installed by pipx in {self.place}.",
            "pip": f"Installed by pip in {self.place}.",
        }[self.kind]


def installation(
    *,
    frozen: bool | None = None,
    executable: Path | None = None,
    package: Path | None = None,
    prefix: Path | None = None,
    source: str | None = None,
) -> Installation:
    """Return how the running program was installed.

    The arguments replace values of the running interpreter, for tests; None keeps the real value. `frozen`:
    whether the program is a bundle with its own Python. `executable`: the path of the interpreter. `package`:
    the directory of the package. `prefix`: the root of the environment. `source`: the file or address from
    which pip installed the program; empty if unknown.
    """
    program = executable or Path(sys.executable)
    if getattr(sys, "frozen", False) if frozen is None else frozen:
        return _with_its_own_python(program.resolve().parent)
    inside = package or Path(reverie.__file__).resolve().parent
    checkout = inside.parents[1]
    if (checkout / "packaging" / "dev.py").is_file():
        return Installation("checkout", checkout, "Set up again: `python3 packaging/dev.py setup`.")
    environment = prefix or Path(sys.prefix)
    if (environment / "pipx_metadata.json").is_file():
        return Installation("pipx", environment, f"Install again: `pipx reinstall {environment.name}`.")
    came_from = _source() if source is None else source
    if not came_from:
        # Never by the bare name: a package of that name in an index need not be this program.
        return Installation("pip", environment, "Install it again from the wheel or checkout used before.")
    words = shlex.join([str(program), "-m", "pip", "install", "--force-reinstall", came_from])
    return Installation("pip", environment, f"Install again: `{words}`.")


def _with_its_own_python(folder: Path) -> Installation:
    if folder == _PACKAGED:
        file = f"./reverie_{reverie.__version__}_*.deb"
        return Installation("deb", folder, f"Install again: `sudo apt-get install --reinstall {file}`.")
    return Installation("folder", folder, "Unpack the archive again and leave the unpacked folder unchanged.")


def _source() -> str:
    """Return the file or address from which pip installed the program; empty if unknown (PEP 610)."""
    try:
        direct_url = importlib.metadata.distribution("reverie").read_text("direct_url.json")
        url = json.loads(direct_url or "{}").get("url", "")
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        return ""
    parts = urlsplit(str(url))
    return unquote(parts.path) if parts.scheme == "file" else str(url)
