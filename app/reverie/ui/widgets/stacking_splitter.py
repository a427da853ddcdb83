"""A splitter whose two parts are placed one above the other if it is narrow."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget


class StackingSplitter(QSplitter):
    """A splitter with two parts side by side or, if it is too narrow, one above the other.

    It remembers the sizes of both arrangements. `narrow`: the width below which the parts are one above the
    other. `above`: the initial height of the upper part then. Both are in pixels.
    """

    def __init__(self, narrow: int, above: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._narrow = narrow
        self._known = {True: [above, 10 * above]}  # by whether it is stacked
        self.splitterMoved.connect(self._remember)

    @property
    def is_stacked(self) -> bool:
        return self.orientation() == Qt.Orientation.Vertical

    def beside(self) -> list[int]:
        """Return the widths of the two parts for when they are side by side."""
        return self._known.get(False, self.sizes()) if self.is_stacked else self.sizes()

    def set_beside(self, sizes: list[int]) -> None:
        """Set the widths of the parts for when they are side by side."""
        if all(sizes):
            self._known[False] = sizes
        if not self.is_stacked:
            self.setSizes(sizes)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        if self.is_stacked:
            return hint
        parts = (self.widget(index) for index in range(self.count()))
        widths = [_least_width(part) for part in parts if part is not None and not part.isHidden()]
        return QSize(max(widths, default=hint.width()), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        stacked = event.size().width() < self._narrow
        if stacked != self.is_stacked:
            self._remember()
            self.setOrientation(Qt.Orientation.Vertical if stacked else Qt.Orientation.Horizontal)
            if known := self._known.get(stacked):
                self.setSizes(known)
        super().resizeEvent(event)
        self._remember()

    def _remember(self) -> None:
        """Store the sizes of the current arrangement, unless a part is hidden."""
        sizes = self.sizes()
        if len(sizes) > 1 and all(sizes):
            self._known[self.is_stacked] = sizes


def _least_width(part: QWidget) -> int:
    return max(part.minimumWidth(), part.minimumSizeHint().width())
