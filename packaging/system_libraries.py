"""Finds the Linux system libraries that Qt needs and that are missing, and the packages that have them.

PySide6 names only one missing library, and not always the right one, so `ldd` is used. Standard library only,
like `dev.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

# Shared libraries that the PySide6 wheels take from the system, and the Debian packages that hold them. The
# first group is needed to import Qt and to draw offscreen, the second for a window on an X server.
OFFSCREEN_PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libglx0",
    "libOpenGL.so.0": "libopengl0",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
WINDOW_PACKAGES = {
    "libICE.so.6": "libice6",
    "libSM.so.6": "libsm6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}


def missing_libraries(ldd_output: str) -> tuple[str, ...]:
    """Return the names of the libraries that `ldd` did not find, each once, in order."""
    names = (line.split("=>")[0].strip() for line in ldd_output.splitlines() if "=> not found" in line)
    return tuple(dict.fromkeys(names))


def debian_packages(libraries: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the packages to install for these libraries, and the libraries that no known package has."""
    known = {**OFFSCREEN_PACKAGES, **WINDOW_PACKAGES}
    packages: dict[str, None] = {}
    unknown = []
    for library in libraries:
        if library in known:
            packages[known[library]] = None
        else:
            unknown.append(library)
    return tuple(packages), tuple(unknown)


def qt_misses(venv: Path) -> tuple[str, ...]:
    """Return the libraries that the PySide6 of an environment lacks; empty on macOS and Windows."""
    if not sys.platform.startswith("linux") or shutil.which("ldd") is None:
        return ()
    qt = next(venv.glob("lib*/python3*/site-packages/PySide6"), None)
    if qt is None:
        return ()
    names = ("QtWidgets.abi3.so", "QtSvg.abi3.so", "Qt/plugins/platforms/libqoffscreen.so")
    files = [qt / name for name in (*names, "Qt/plugins/platforms/libqxcb.so") if (qt / name).exists()]
    environment = {**os.environ, "LC_ALL": "C"}
    found = subprocess.run(["ldd", *files], capture_output=True, text=True, env=environment, check=False)
    return missing_libraries(found.stdout)


def libraries_message(libraries: Sequence[str], *, apt: bool, dnf: bool) -> str:
    """Return a message with the missing libraries and the one command that installs them.

    `apt`, `dnf`: True if the system has this package manager.
    """
    packages, unknown = debian_packages(libraries)
    if apt and packages:
        advice = f"Run: sudo apt-get install -y {' '.join(packages)}"
        if unknown:
            advice += f"\nNo known package holds {', '.join(unknown)}."
    elif dnf:
        advice = "Run: sudo dnf install -y " + " ".join(f"'{library}()(64bit)'" for library in libraries)
    else:
        advice = "Install them with the package manager of this system."
    return f"Qt lacks these system libraries: {', '.join(libraries)}.\n{advice}"
