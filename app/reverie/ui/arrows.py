"""The arrows of combo boxes, headers and tree rows."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPen

from reverie.ui.metrics import _USUAL_ICON, icon_size


def draw_chevron(
    painter: QPainter, area: QRect, colour: QColor, *, down: bool = True, turned: float = 0.0
) -> None:
    """Draw an arrow that points down, or up if `down` is False, in the middle of `area`.

    It has the size of the text and is rotated by `turned` degrees.
    """
    size = icon_size(painter.font()) / _USUAL_ICON
    tip = 2.0 if down else -2.0
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(QRectF(area).center())
    painter.scale(size, size)
    painter.rotate(turned)
    path = QPainterPath(QPointF(-4, -tip))
    path.lineTo(QPointF(0, tip))
    path.lineTo(QPointF(4, -tip))
    painter.strokePath(path, QPen(colour, 1.5))
    painter.restore()


def draw_branch(painter: QPainter, area: QRect, colour: QColor, *, is_open: bool, leftwards: bool) -> None:
    """Draw the arrow of a tree row that can be expanded.

    It points down if the row `is_open`, otherwise to the side: to the left if `leftwards`, for languages
    written from right to left.
    """
    draw_chevron(painter, area, colour, turned=0.0 if is_open else 90.0 if leftwards else -90.0)
