"""Which pip fills an environment, and with what: the slow steps of a set-up, made short.

Making an environment without pip takes a sixth of the time; the pip of the Python that makes it installs into
it from outside (`--python`, since pip 22.3). Where that does not work the environment gets its own. Pip works
on one core, and most of its time is its own, so the locked packages are installed in portions side by side.
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
    """The Python that environments are made from, even where this one runs in an environment."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def reaches(python: str | Path) -> bool:
    """Whether the pip outside can install for `python`."""
    return _works([*outer(python), "--version"])


def outer(python: str | Path) -> list[str]:
    return [outer_python(), "-m", "pip", "--python", str(python)]


def pip_for(python: Path) -> list[str]:
    """The pip that installs into the environment of `python`: its own, or the one outside, or a new one."""
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
    """The texts of lock files as at most `count` requirement files that share no package.

    A package that stands in several lock files is taken from the first; the entries of one package stay
    together.
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
    """Call `install` with requirement files that together are all lock files, as many at once as there are
    cores. The lock files name every dependency, so no portion needs another one."""
    texts = portions([lock.read_text(encoding="utf-8") for lock in locks], os.cpu_count() or 1)
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(len(texts)) as pool:
        files = [Path(directory) / f"requirements-{number}.txt" for number in range(len(texts))]
        for file, text in zip(files, texts, strict=True):
            file.write_text(text, encoding="utf-8")
        return list(pool.map(install, files))
