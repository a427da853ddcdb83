"""Waiting until a window shows what it should, and taking its picture. For screenshots and the tour only.

Nothing waits for ever: every wait has a deadline, and what was missing is said.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEventLoop
from PySide6.QtWidgets import QWidget

from reverie.ui.window.main_window import MainWindow

STEP_MS = 20
# How little to compress: the same picture in about half the time, and in no larger file.
_QUICK = 85
# How often a layout may ask for another until it is at rest: a line wraps, so a scroll bar comes, so ...
_LAYOUT_TURNS = 5


def wait_for(condition: Callable[[], bool], limit_ms: int) -> bool:
    """Run the event loop until `condition` holds; False when the time is up."""
    deadline = time.monotonic() + limit_ms / 1000
    while not condition():
        if time.monotonic() > deadline:
            return False
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, STEP_MS)
        time.sleep(STEP_MS / 4000)
    QCoreApplication.processEvents()
    return True


def is_loaded(window: MainWindow) -> bool:
    """Tree and footer of the selection are there, and the other tabs."""
    tab = window.tab
    return (
        window.session is not None
        and window.session.status is not None
        and tab.has_full_tree
        and window.lazy_tabs.is_built
        and not window.lanes.scan.busy
    )


def select_a_file(window: MainWindow) -> bool:
    """Open a memory, so that the editor is not empty: the project's first, else the first of all."""
    paths = list(window.tab.model.memory_tree.files)
    prefix = "/memories/project/"
    own = [path for path in paths if path.startswith(prefix) and "/" not in path.removeprefix(prefix)]
    return any(window.tab.tree.select_path(path) for path in (own or paths)[:1])


def finish_layouts() -> None:
    """Run the event loop until no layout asks for another."""
    for _turn in range(_LAYOUT_TURNS):
        QCoreApplication.processEvents()


def save_picture(widget: QWidget, file: Path) -> bool:
    """A PNG of the widget as it is now."""
    finish_layouts()
    file.parent.mkdir(parents=True, exist_ok=True)
    return widget.grab().save(str(file), "PNG", _QUICK)


class Screenshot:
    """`reverie --screenshot FILE`."""

    def __init__(self, window: MainWindow, file: Path) -> None:
        self._window = window
        self._file = file

    def take(self, limit_ms: int) -> int:
        """Exit code: 0 when everything was loaded and the picture is written."""
        window = self._window
        loaded = wait_for(lambda: is_loaded(window) or window.gave_up, limit_ms)
        if loaded and select_a_file(window):
            wait_for(lambda: window.tab.pane.file is not None, limit_ms // 4)
        saved = save_picture(window, self._file)
        if loaded and saved and not window.opening_failed:
            return 0
        missing = "the picture was not written" if not saved else "not everything could be loaded"
        sys.stderr.write(f"reverie: {missing}: {self._file}\n")
        return 1
