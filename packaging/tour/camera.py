"""Takes the pictures of a tour: waits until the window is ready, changes its size and colours for a while.

Everything runs on the window's thread. Every wait has a deadline, after which `TourFailed` is raised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from reverie.ui.appearance import dark_palette
from reverie.ui.screenshot import save_picture, wait_for
from reverie.ui.window.main_window import MainWindow

WAIT_MS = 30_000
WIDE = (1240, 780)
NARROW = (375, 760)


class TourFailed(Exception):
    """Raised if the tour cannot go on; the text says what did not happen in time."""


class Camera:
    """A camera that takes pictures of `window` into `directory` and writes the path of each to stdout."""

    def __init__(self, window: MainWindow, directory: Path) -> None:
        self.window = window
        self._directory = directory

    def picture(self, name: str, widget: QWidget | None = None) -> None:
        """Save `widget` (None: the window) as `name`.png. Raises `TourFailed` if it cannot be written."""
        file = self._directory / f"{name}.png"
        if not save_picture(self.window if widget is None else widget, file):
            raise TourFailed(f"{file} could not be written")
        sys.stdout.write(f"{file}\n")
        sys.stdout.flush()

    def wait(self, what: str, condition: Callable[[], bool], limit_ms: int = WAIT_MS) -> None:
        """Run the event loop until `condition` returns True.

        Raises `TourFailed` after `limit_ms` milliseconds; its text names `what`, the state that was awaited.
        """
        arrived = wait_for(lambda: condition() or self.window.opening_failed, limit_ms)
        if self.window.opening_failed:
            raise TourFailed("the home could not be opened")
        if not arrived:
            raise TourFailed(f"{what} did not come within {limit_ms // 1000} s")

    @contextmanager
    def narrow(self) -> Iterator[None]:
        """Context manager: make the window as narrow as a phone, without the list of homes, for a while."""
        window = self.window
        size, picker_hidden = window.size(), window.picker.isHidden()
        window.picker.hide()
        # The layout lowers the minimum width later, and until then `resize` would stop at the old one.
        self.wait(
            "the window to ask for less room",
            lambda: max(window.minimumWidth(), window.minimumSizeHint().width()) <= NARROW[0],
        )
        window.resize(*NARROW)
        yield
        window.picker.setVisible(not picker_hidden)
        window.resize(size)


@contextmanager
def dark_colours() -> Iterator[None]:
    """Context manager: give the whole application the dark palette inside the block."""
    light = QApplication.palette()
    QApplication.setPalette(dark_palette())
    yield
    QApplication.setPalette(light)
