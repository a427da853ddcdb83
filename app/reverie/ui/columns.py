"""Columns of widgets and layouts: what most dialogs and pages are."""

from __future__ import annotations

from PySide6.QtWidgets import QLayout, QVBoxLayout, QWidget

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
