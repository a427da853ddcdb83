"""Installs locked packages into an environment quickly: chooses the pip, and installs in parallel.

Creating an environment without pip takes a sixth of the time. The pip of the Python that creates it then
installs into it from outside (`--python`, since pip 22.3). If that does not work, the environment gets a pip
of its own. Pip uses one core and spends most of its time computing, so the locked packages are installed in
portions, in parallel.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

MOST_PORTIONS = 4
Told = TypeVar("Told")
_ENTRY = re.compile(r"^(?=[^\s#])", re.MULTILINE)


def outer_python() -> str:
    """Return the Python from which environments are created, even if this process runs in an environment."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def reaches(python: str | Path) -> bool:
    """Return True if the pip of the Python that creates environments can install packages for `python`."""
    return _works([*outer(python), "--version"])


def outer(python: str | Path) -> list[str]:
    return [outer_python(), "-m", "pip", "--python", str(python)]


def pip_for(python: Path) -> list[str]:
    """Return the command of a pip that installs into the environment of `python`.

    It is the environment's own pip, else the one of the Python that created it, else one that is installed
    now.
    """
    own = [str(python), "-m", "pip"]
    if _works([str(python), "-c", "import pip"]):
        return own
    if reaches(python):
        return outer(python)
    subprocess.run([python, "-m", "ensurepip", "--upgrade"], capture_output=True, check=False)
    return own


def missing_venv_message(missing: Sequence[str], package: str, *, debian: bool) -> str:
    advice = (
        f"Run: sudo apt-get install -y {package}" if debian else "Install a complete Python and try again."
    )
    return f"This Python ({sys.executable}) lacks {' and '.join(missing)}. {advice}"


def _works(command: Sequence[str]) -> bool:
    done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode == 0


def portions(locks: Sequence[str], count: int) -> list[str]:
    """Return the texts of at most `count` requirement files that share no package, made from `locks`.

    `locks`: the texts of lock files. If a package is in several of them, its entry in the first one is used.
    The entries of one package stay together.
    """
    packages: dict[str, list[str]] = {}
    for lock in locks:
        known = set(packages)
        for entry in _ENTRY.split(lock):
            name = entry.partition("==")[0].strip().lower()
            if "==" in entry and name not in known:
                packages.setdefault(name, []).append(entry)
    names = sorted(packages)
    dealt = (names[start :: min(count, MOST_PORTIONS)] for start in range(min(count, MOST_PORTIONS)))
    return ["".join(entry for name in portion for entry in packages[name]) for portion in dealt if portion]


def in_portions(locks: Sequence[Path], install: Callable[[Path], Told]) -> list[Told]:
    """Call `install` with requirement files that together cover all lock files; return the results.

    As many calls run at once as there are cores. The lock files list every dependency, so no file depends on
    another one.
    """
    texts = portions([lock.read_text(encoding="utf-8") for lock in locks], os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(len(texts)) as pool:
        files = [Path(directory) / f"requirements-{number}.txt" for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        return list(pool.map(install, files))
