"""How this Reverie came onto the machine, and so which command mends or renews it. Looks only.

Callable from any thread; blocks on disk for some small files. Failure: what cannot be told apart counts as an
environment of pip, whose advice is right for every other.
"""

from __future__ import annotations

import importlib.metadata
import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import reverie

Kind = Literal["checkout", "deb", "folder", "pipx", "pip"]

_PACKAGED = Path("/usr/lib/reverie")
"""Where the Debian package puts the program (`packaging/package.py`)."""


@dataclass(frozen=True, slots=True)
class Installation:
    """`place`: where it lies. `mend`: a sentence with the command that makes it whole again."""

    kind: Kind
    place: Path
    mend: str

    @property
    def sentence(self) -> str:
        """What it is, in words."""
        return {
            "checkout": f"Run from the checkout {self.place}.",
            "deb": f"Installed as a Debian package in {self.place}.",
            "folder": f"The folder with its own Python in {self.place}.",
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
    """The installation that runs; each argument stands for what the interpreter says of itself. `source`:
    what pip noted of where the program came from, empty where it did not."""
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
        # Never by the bare name: what an index has under it need not be this program.
        return Installation("pip", environment, "Install again from the wheel or checkout that it came from.")
    words = shlex.join([str(program), "-m", "pip", "install", "--force-reinstall", came_from])
    return Installation("pip", environment, f"Install again: `{words}`.")


def _with_its_own_python(folder: Path) -> Installation:
    if folder == _PACKAGED:
        file = f"./reverie_{reverie.__version__}_*.deb"
        return Installation("deb", folder, f"Install again: `sudo apt-get install --reinstall {file}`.")
    return Installation("folder", folder, "Unpack the archive again; its folder must stay as it is.")


def _source() -> str:
    """The file or address that pip took the program from; empty where it does not say (PEP 610)."""
    try:
        told = importlib.metadata.distribution("reverie").read_text("direct_url.json")
        url = json.loads(told or "{}").get("url", "")
    except (importlib.metadata.PackageNotFoundError, ValueError, AttributeError):
        return ""
    parts = urlsplit(str(url))
    return unquote(parts.path) if parts.scheme == "file" else str(url)
