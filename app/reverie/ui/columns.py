"""Columns of widgets and layouts, and what scrolls where room is short: what most dialogs and pages are; and
how wide the columns of their tables are.

Threading: GUI thread. Failure: none.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHeaderView, QLayout, QScrollArea, QVBoxLayout, QWidget

from reverie.ui.theme import GAP, MARGIN, UNIT

Part = QWidget | QLayout

_LEAST_COLUMN = 300
_USUAL_LINE = 14
"""How high a line is, in pixels, of the type that widths of columns are given for."""


class Column(QWidget):
    """What stands below each other is never squeezed so that a wrapped line is cut off, nor a part so
    that it is of no use. How much room that is follows from the width."""

    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            # What holds it grows before the next frame. In Qt's own order, new content is painted once
            # squeezed into the old height.
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
        width = max(hint.width(), _LEAST_COLUMN)
        if layout is None or not layout.hasHeightForWidth():
            return QSize(width, hint.height())
        return QSize(width, max(hint.height(), layout.minimumHeightForWidth(max(1, self.width()))))


def column(
    holder: QWidget,
    *parts: Part,
    grows: QWidget | None = None,
    margin: int = MARGIN,
    gap: int = GAP,
) -> QVBoxLayout:
    """Lay `parts` out in `holder`, from its top; `grows`, one of them, takes the room that is left."""
    made = QVBoxLayout(holder)
    made.setContentsMargins(margin, margin, margin, margin)
    made.setSpacing(gap)
    for part in parts:
        if isinstance(part, QLayout):
            made.addLayout(part)
        else:
            made.addWidget(part, 1 if part is grows else 0)
    return made


def pane(*parts: Part, grows: QWidget, gap: int = UNIT) -> QWidget:
    """A part of a window: a column without margins."""
    made = QWidget()
    column(made, *parts, grows=grows, margin=0, gap=gap)
    return made


def scrolled(inside: QWidget, name: str = "", *, sideways: bool = False) -> QScrollArea:
    """`inside` with all the room it needs; what does not fit is scrolled to, sideways only if `sideways`.
    `name`: its accessible name."""
    area = QScrollArea()
    area.setAccessibleName(name)
    return scrolling(area, inside, sideways=sideways)


def scrolling(area: QScrollArea, inside: QWidget, *, sideways: bool = False) -> QScrollArea:
    """`area`, as `scrolled` would make it."""
    area.setWidget(inside)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    if not sideways:
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area


def size_sections(header: QHeaderView, widths: Sequence[int]) -> None:
    """The first columns of a table, as wide as `widths` (pixels of usual type) say: wider in larger type."""
    larger = max(1.0, header.fontMetrics().height() / _USUAL_LINE)
    for section, width in enumerate(widths):
        header.resizeSection(section, round(width * larger))
