"""One process, one measurement: seconds from the start of the process to the first painted tree.

`first_paint.py bare ROWS` is a plain Qt window with a tree of as many rows; `first_paint.py reverie HOME
PROFILE` is the program as `reverie --home HOME` starts it, until the whole, usable window shows the memories.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ["QT_QPA_PLATFORM"] = "offscreen"


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


def reverie(home: str, profile: str) -> None:
    """Start the program as `reverie --home HOME` does, until its window has painted the memories."""
    from reverie.cli.main import main
    from reverie.engine import start as starting

    started = starting.StartingEngine

    def start(*command: Any) -> Any:
        """Start the engine, as the first thing a window does, then watch the window that is built."""
        engine = started(*command)
        from reverie.ui.app import MainWindow

        take_session = MainWindow._take_session

        def watched(window: MainWindow, session: Any) -> None:
            take_session(window, session)
            if session is not None:
                session.tree_changed.connect(lambda _update: (window.tab.tree.viewport().repaint(), done()))

        MainWindow._take_session = watched  # type: ignore[method-assign]
        return engine

    starting.StartingEngine = start  # type: ignore[assignment,misc]
    main(["--home", home, "--profile", profile, "--offscreen"])


def done() -> None:
    sys.stdout.write(f"{since_start():.4f}\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        bare(int(sys.argv[2]))
        done()
    reverie(*sys.argv[2:])
