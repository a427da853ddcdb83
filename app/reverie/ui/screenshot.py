"""Saves pictures of the window once it is loaded. Every wait has a time limit.

Threading: GUI thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEventLoop
from PySide6.QtWidgets import QWidget

from reverie.ui.tree.memory_tree import FileData, path_of
from reverie.ui.window.main_window import MainWindow

STEP_MS = 20


# A weak compression: half the time, and no larger a file.
_QUICK = 85


# How often one layout may request the next: a line wraps, so a scroll bar appears, and so on.
_LAYOUT_TURNS = 5


def wait_for(condition: Callable[[], bool], limit_ms: int) -> bool:
    """Run the event loop until `condition()` is True; return False if that takes longer than `limit_ms`."""
    deadline = time.monotonic() + limit_ms / 1000
    while not condition():
        if time.monotonic() > deadline:
            return False
        QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, STEP_MS)
        time.sleep(STEP_MS / 4000)
    QCoreApplication.processEvents()
    return True


def is_loaded(window: MainWindow) -> bool:
    """Return True if tree and footer of the selected place are shown, and the other tabs can be built."""
    tab = window.tab
    return (
        window.session is not None
        and window.session.status is not None
        and tab.has_full_tree
        and window.lazy_tabs.is_built
        and not window.lanes.scan.busy
    )


def select_a_file(window: MainWindow) -> bool:
    """Select a memory in the tree unless one is selected; the editor then opens it.

    It is the first of the project's own folder or, if that has none, the first of all. Returns whether a
    memory is selected.
    """
    selected = window.tab.tree.current_data()
    if selected is not None and isinstance(selected, FileData):
        return True
    paths = list(window.tab.model.memory_tree.files)
    prefix = "/memories/project/"
    own = [path for path in paths if path.startswith(prefix) and "/" not in path.removeprefix(prefix)]
    return any(window.tab.tree.select_path(path) for path in (own or paths)[:1])


def shows_the_selected(window: MainWindow) -> bool:
    """Return True if the editor shows the text of the memory that is selected in the tree."""
    file = window.tab.pane.file
    return file is not None and file.buffer.address.path == path_of(window.tab.tree.current_data())


def finish_layouts() -> None:
    """Run the event loop often enough that all pending layouts are done."""
    for _turn in range(_LAYOUT_TURNS):
        QCoreApplication.processEvents()


def save_picture(widget: QWidget, file: Path) -> bool:
    """Save a picture of the widget as it is now, as PNG; return False if it could not be written."""
    finish_layouts()
    file.parent.mkdir(parents=True, exist_ok=True)
    return widget.grab().save(str(file), "PNG", _QUICK)


class Screenshot:
    """The maker of the picture for `reverie --screenshot FILE`."""

    def __init__(self, window: MainWindow, file: Path) -> None:
        self._window = window
        self._file = file

    def take(self, limit_ms: int) -> int:
        """Wait until everything is loaded, at most `limit_ms`, then save the picture; return the exit code.

        It is 0 only if everything was loaded and the picture was written.
        """
        window = self._window
        loaded = wait_for(lambda: is_loaded(window) or window.gave_up, limit_ms)
        if loaded and select_a_file(window):
            wait_for(lambda: shows_the_selected(window), limit_ms // 4)
        saved = save_picture(window, self._file)
        if loaded and saved and not window.opening_failed:
            return 0
        missing = "the picture was not written" if not saved else "not everything could be loaded"
        sys.stderr.write(f"reverie: {missing}: {self._file}\n")
        return 1
