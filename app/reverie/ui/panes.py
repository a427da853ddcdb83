"""Two panes that lie side by side where there is room, and below each other where there is none."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSplitter, QWidget


class Panes(QSplitter):
    """Neither pane can be folded away. Whoever holds it calls `turn` from its `resizeEvent`."""

    def __init__(
        self,
        first: QWidget,
        second: QWidget,
        *,
        beside_from: int,
        sizes: tuple[int, int],
        below: tuple[int, int] | None = None,
        grows: int | None = 1,
    ) -> None:
        """`beside_from`: how wide the holder is where they begin to lie side by side. `sizes`: of them side
        by side; `below`: of them below each other, where turning is to set them anew. `grows`: which of them
        takes the room that is left; None: both, as `sizes` has it."""
        super().__init__()
        self._beside_from = beside_from
        self._sizes, self._below = list(sizes), list(below) if below is not None else None
        self.addWidget(first)
        self.addWidget(second)
        if grows is not None:
            self.setStretchFactor(grows, 1)
        self.setSizes(self._sizes)
        self.setChildrenCollapsible(False)

    def turn(self, width: int) -> None:
        """The holder is so wide now."""
        wide = width >= self._beside_from
        wanted = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
        if self.orientation() != wanted:
            self.setOrientation(wanted)
            if self._below is not None:
                self.setSizes(self._sizes if wide else self._below)
