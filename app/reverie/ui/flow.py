"""A row of widgets that breaks into more rows when it gets narrow, so that nothing leaves the right edge."""

from __future__ import annotations

from PySide6.QtCore import QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Left to right, then down. An item wider than the layout is cut to its width. `rightwards`: rows end at
    the right edge."""

    def __init__(self, parent: QWidget | None = None, *, gap: int = 8, rightwards: bool = False) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self._rightwards = rightwards
        self.setContentsMargins(QMargins(0, 0, 0, 0))

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), place=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, place=True)

    def sizeHint(self) -> QSize:
        shown = [item.sizeHint() for item in self._items if not item.isEmpty()]
        width = sum(size.width() for size in shown) + self._gap * max(0, len(shown) - 1)
        return QSize(width, max((size.height() for size in shown), default=0))

    def minimumSize(self) -> QSize:
        return QSize(
            0, max((item.sizeHint().height() for item in self._items if not item.isEmpty()), default=0)
        )

    def _arrange(self, rect: QRect, *, place: bool) -> int:
        rows: list[list[tuple[QLayoutItem, QSize]]] = [[]]
        used = 0
        for item in self._items:
            if item.isEmpty():
                continue
            size = item.sizeHint()
            size.setWidth(min(size.width(), rect.width()))
            if rows[-1] and used + self._gap + size.width() > rect.width():
                rows.append([])
            used = size.width() if not rows[-1] else used + self._gap + size.width()
            rows[-1].append((item, size))
        top = rect.top()
        for number, row in enumerate(row for row in rows if row):
            top += self._gap // 2 if number else 0
            height = max(size.height() for _, size in row)
            width = sum(size.width() for _, size in row) + self._gap * (len(row) - 1)
            left = rect.left() + (rect.width() - width if self._rightwards else 0)
            for item, size in row:
                if place:
                    item.setGeometry(QRect(QPoint(left, top + (height - size.height()) // 2), size))
                left += size.width() + self._gap
            top += height
        return top - rect.top()
