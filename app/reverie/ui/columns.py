"""Columns of widgets and layouts, and what scrolls where room is short: what most dialogs and pages are."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLayout, QScrollArea, QVBoxLayout, QWidget

from reverie.ui.theme import GAP, MARGIN, UNIT

Part = QWidget | QLayout


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
