"""Layouts: columns, rows that wrap, scroll areas, panes that stack, widths of table columns, short lists.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from PySide6.QtCore import QCoreApplication, QEvent, QMargins, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLayout,
    QLayoutItem,
    QListWidget,
    QScrollArea,
    QSizePolicy,
    QSplitter,
    QStackedWidget,
    QTabWidget,
    QVBoxLayout,
    QWidget,
    QWidgetItem,
)

from reverie.ui.appearance import GAP, MARGIN, UNIT
from reverie.ui.metrics import scaled

Part = QWidget | QLayout
Margins = int | tuple[int, int, int, int]
"""One margin for all sides, or left, top, right, bottom; in pixels."""
_Box = TypeVar("_Box", bound=QBoxLayout)

_LEAST_COLUMN = 300
_LEAST_NAMES = 205
_USUAL_LINE = 14
"""The line height, in pixels, of the default font, for which the widths of columns are given."""


class Column(QWidget):
    """A widget whose minimum height depends on its width.

    This ensures that no wrapped line is cut off and that no part gets too small to use.
    """

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            # Grow the parent before the next frame; in Qt's own order, new content is painted once in
            # the old height.
            holder = self.parentWidget()
            while holder is not None:
                QCoreApplication.sendPostedEvents(holder, QEvent.Type.LayoutRequest.value)
                holder = None if holder.isWindow() else holder.parentWidget()
        return handled

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()

    def minimumSizeHint(self) -> QSize:
        hint, layout = super().minimumSizeHint(), self.layout()
        # In large type the file names keep their space, but not everything beside them.
        width = max(hint.width(), _LEAST_COLUMN, scaled(self.font(), _LEAST_NAMES))
        if layout is None or not layout.hasHeightForWidth():
            return QSize(width, hint.height())
        return QSize(width, max(hint.height(), layout.minimumHeightForWidth(max(1, self.width()))))


def column(
    holder: QWidget | None,
    *parts: Part,
    grows: Part | None = None,
    margin: Margins | None = MARGIN,
    gap: int | None = GAP,
) -> QVBoxLayout:
    """Arrange `parts` (widgets or layouts) from top to bottom in `holder`; return the layout.

    If `holder` is None, the layout belongs to no widget yet and can be added to another layout. `grows` is
    the part that gets the remaining space. `margin`, outside the parts, and `gap`, between them, are in
    pixels; None: the value of the style.
    """
    return _filled(QVBoxLayout(), holder, parts, grows, margin, gap)


def row_of(
    *parts: Part,
    holder: QWidget | None = None,
    grows: Part | None = None,
    margin: Margins | None = 0,
    gap: int | None = GAP,
) -> QHBoxLayout:
    """Arrange `parts` (widgets or layouts) from left to right; return the layout.

    For the arguments see `column`.
    """
    return _filled(QHBoxLayout(), holder, parts, grows, margin, gap)


def _filled(
    box: _Box,
    holder: QWidget | None,
    parts: Sequence[Part],
    grows: Part | None,
    margin: Margins | None,
    gap: int | None,
) -> _Box:
    if holder is not None:
        holder.setLayout(box)
    if isinstance(margin, int):
        margin = (margin, margin, margin, margin)
    if margin is not None:
        box.setContentsMargins(*margin)
    if gap is not None:
        box.setSpacing(gap)
    for part in parts:
        stretch = 1 if part is grows else 0
        if isinstance(part, QLayout):
            box.addLayout(part, stretch)
        else:
            box.addWidget(part, stretch)
    return box


_Row = TypeVar("_Row", bound=QWidget)


def keyed_rows(
    box: QBoxLayout, rows: dict[str, _Row], wanted: Sequence[str], make: Callable[[str], _Row]
) -> dict[str, _Row]:
    """Show at the beginning of `box` one row for each key of `wanted`, and return the rows by key.

    A row in `rows`, which are those shown before, stays if its key is wanted, and keeps the focus; the others
    are deleted. `make` returns a new row.
    """
    if list(rows) == list(wanted):
        return rows
    for key, row in rows.items():
        box.removeWidget(row)
        if key not in wanted:
            row.hide()
            row.deleteLater()
    shown = {key: rows.get(key) or make(key) for key in wanted}
    for place, row in enumerate(shown.values()):
        box.insertWidget(place, row)
    return shown


def pane(*parts: Part, grows: QWidget | None = None, gap: int = UNIT) -> QWidget:
    """Return a widget in which `parts` are arranged from top to bottom, without margins.

    `grows` is the part that gets the remaining space, if any. `gap`: the space between the parts in pixels.
    """
    made = QWidget()
    column(made, *parts, grows=grows, margin=0, gap=gap)
    return made


def split(
    first: QWidget,
    second: QWidget,
    *,
    sizes: tuple[int, int],
    upright: bool = False,
    grows: QWidget | None = None,
) -> QSplitter:
    """Return a splitter with two widgets side by side or, with `upright`, one above the other.

    Neither can be collapsed. `sizes` are their initial sizes in pixels. `grows` is the widget that gets the
    remaining space; None shares it between both.
    """
    made = QSplitter(Qt.Orientation.Vertical if upright else Qt.Orientation.Horizontal)
    made.setChildrenCollapsible(False)
    made.addWidget(first)
    made.addWidget(second)
    if grows is not None:
        made.setStretchFactor(made.indexOf(grows), 1)
    made.setSizes(list(sizes))
    return made


def tabbed(name: str, *pages: tuple[str, QWidget]) -> QTabWidget:
    """Return a tab widget with the given (title, page) pairs; `name` is its accessible name."""
    made = QTabWidget()
    made.setAccessibleName(name)
    made.setDocumentMode(True)
    for title, page in pages:
        made.addTab(page, title)
    return made


def stacked(*pages: QWidget) -> QStackedWidget:
    """Return a stack of pages that shows the first one."""
    made = QStackedWidget()
    for page in pages:
        made.addWidget(page)
    return made


def scrolled(inside: QWidget, name: str = "", *, sideways: bool = False) -> QScrollArea:
    """Return a scroll area around the widget `inside`.

    `name` is its accessible name. It scrolls horizontally only if `sideways`.
    """
    area = QScrollArea()
    area.setAccessibleName(name)
    return scrolling(area, inside, sideways=sideways)


def scrolling(area: QScrollArea, inside: QWidget, *, sideways: bool = False) -> QScrollArea:
    """Put `inside` into an existing scroll area and configure the area as `scrolled` does; return it.

    It scrolls horizontally only if `sideways`.
    """
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    if not sideways:
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(inside)  # last: each change of the area asks a widget for its size again
    return area


def size_sections(header: QHeaderView, widths: Sequence[int]) -> None:
    """Set the widths of the first columns of a table, one for each item of `widths`.

    `widths` are in pixels for the default font; with a larger font the columns are wider.
    """
    larger = max(1.0, header.fontMetrics().height() / _USUAL_LINE)
    for section, width in enumerate(widths):
        header.resizeSection(section, round(width * larger))


class FlowLayout(QLayout):
    """A layout that places items from left to right, and continues in a new row if the width is used up.

    An item that is wider than the layout gets the width of the layout.
    """

    def __init__(
        self, *widgets: QWidget, holder: QWidget | None = None, gap: int = GAP, or_column: bool = False
    ) -> None:
        """Create the layout; `or_column`: if one row is not enough, give each item a row of its own."""
        super().__init__(holder)
        self._items: list[QLayoutItem] = []
        self._gap = gap
        self._or_column = or_column
        # The layouts around this one query the same few widths many times for one change.
        self._heights: dict[int, int] = {}
        self.setContentsMargins(QMargins(0, 0, 0, 0))
        for widget in widgets:
            self.addWidget(widget)

    def addWidget(self, widget: QWidget) -> None:
        # Not Qt's own items: Python loses them before the layout when it collects a window as garbage.
        self.addChildWidget(widget)
        self.addItem(QWidgetItem(widget))

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)
        self.invalidate()

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

    def invalidate(self) -> None:
        super().invalidate()
        self._heights.clear()

    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = self._arrange(QRect(0, 0, width, 0), place=False)
        return self._heights[width]

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
        if self._or_column and len(rows) > 1:
            rows = [[each] for row in rows for each in row]
        top = rect.top()
        for number, row in enumerate(row for row in rows if row):
            top += self._gap // 2 if number else 0
            height = max(size.height() for _, size in row)
            left = rect.left()
            for item, size in row:
                if place:
                    item.setGeometry(QRect(QPoint(left, top + (height - size.height()) // 2), size))
                left += size.width() + self._gap
            top += height
        return top - rect.top()


class Panes(QSplitter):
    """A splitter with two panes, side by side if there is room, else one above the other.

    No pane can be collapsed. The widget that contains it must call `turn` in its `resizeEvent`.
    """

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
        """Create the panes.

        `beside_from`: the panes are side by side if the containing widget is at least this wide, in pixels.
        `sizes`: the widths of both panes when they are side by side. `below`: their heights when one is above
        the other; None: changing the arrangement sets no sizes. `grows`: the index of the pane that gets the
        remaining space; None shares it between both.
        """
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
        """Place the panes side by side or one above the other; `width` is that of the containing widget."""
        wide = width >= self._beside_from
        wanted = Qt.Orientation.Horizontal if wide else Qt.Orientation.Vertical
        if self.orientation() != wanted:
            self.setOrientation(wanted)
            if self._below is not None:
                self.setSizes(self._sizes if wide else self._below)


class FewRows(QListWidget):
    """A list that is as high as its rows, up to `most` rows; if it has more, it scrolls."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setUniformItemSizes(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        row = self.sizeHintForRow(0) if self.count() else QFontMetrics(self.font()).height() + UNIT
        return QSize(100, row * min(self._most, max(1, self.count())) + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.sizeHint().height())
