"""One process, one measurement: seconds from the start of the process to the first painted tree.

`first_paint.py bare ROWS` is a plain Qt window with a tree of as many rows; `first_paint.py reverie HOME
PROFILE names|whole|both` is the program as `reverie --home HOME` starts it; `both` goes on after the
names and says on stderr when they are painted.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"
PAINTED = "names are painted"


def since_start() -> float:
    """Seconds since this process was started, interpreter included."""
    ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")


def bare(rows: int) -> None:
    from PySide6.QtGui import QStandardItem, QStandardItemModel
    from PySide6.QtWidgets import QApplication, QMainWindow, QTreeView

    application = QApplication([])
    application.setStyle("Fusion")
    window, view, model = QMainWindow(), QTreeView(), QStandardItemModel()
    for number in range(rows):
        model.appendRow(QStandardItem(f"note-{number:06d}.md"))
    view.setUniformRowHeights(True)
    view.setModel(model)
    window.setCentralWidget(view)
    window.resize(1240, 780)
    window.show()
    view.viewport().repaint()


def reverie(home: str, profile: str, until: str) -> None:
    """The program as `reverie --home HOME` starts it, until the names are painted, or until the whole window
    shows them."""
    from reverie.cli.main import main
    from reverie.engine import start as starting

    started = starting.StartingEngine

    def start(*command: Any) -> Any:
        """The first thing a window does; Qt is loaded behind it, as always."""
        engine = started(*command)
        from reverie.ui.window.main_window import MainWindow
        from reverie.ui.window.splash_tree import SplashTree

        # The splash tree loads the window as soon as the names are painted.
        if until == "both":
            _before(SplashTree, "load", lambda: sys.stderr.write(PAINTED + "\n"))
        if until == "names":
            _before(SplashTree, "load", done)
        else:
            _after(MainWindow, "_reveal", done)
        return engine

    starting.StartingEngine = start  # type: ignore[assignment,misc]
    main(["--home", home, "--profile", profile, "--offscreen"])


def _before(owner: type, name: str, first: Callable[[], object]) -> None:
    plain = getattr(owner, name)

    def both(itself: object) -> None:
        first()
        plain(itself)

    setattr(owner, name, both)


def _after(owner: type, name: str, then: Callable[[], object]) -> None:
    plain = getattr(owner, name)

    def both(itself: object) -> None:
        plain(itself)
        then()

    setattr(owner, name, both)


def done() -> None:
    sys.stdout.write(f"{since_start():.4f}\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        bare(int(sys.argv[2]))
        done()
    reverie(*sys.argv[2:])
