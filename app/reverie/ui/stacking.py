"""Two parts beside each other, and above each other where that is too narrow for both.

The parts say how wide they must be at least; together that is more than a narrow window has. So the narrow
order is told as what is needed at least, and taken before the wide one would not fit. Each order keeps its
own sizes. GUI thread.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget


class StackingSplitter(QSplitter):
    """`narrow`: the width below which it stacks; `above`: how high the upper part is then, at first."""

    def __init__(self, narrow: int, above: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._narrow = narrow
        self._known = {True: [above, 10 * above]}  # by whether it is stacked
        self.splitterMoved.connect(self._remember)

    @property
    def is_stacked(self) -> bool:
        return self.orientation() == Qt.Orientation.Vertical

    def beside(self) -> list[int]:
        """The widths beside each other, also while it is stacked."""
        return self._known.get(False, self.sizes()) if self.is_stacked else self.sizes()

    def set_beside(self, sizes: list[int]) -> None:
        """Give the parts these widths, now or once they are beside each other again."""
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
        """The sizes of this order. A part that is hidden has none, and gets its old one when it is shown."""
        sizes = self.sizes()
        if len(sizes) > 1 and all(sizes):
            self._known[self.is_stacked] = sizes


def _least_width(part: QWidget) -> int:
    return max(part.minimumWidth(), part.minimumSizeHint().width())
