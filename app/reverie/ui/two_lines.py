"""List rows of two lines: what, and below it in dim where; short words at the right, a sign before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from reverie.ui.icons import Icons
from reverie.ui.theme import GAP, SIGN_CONTRAST, UNIT, CalmSelection, dimmed, readable, tabular, theme_of

_SIGN = 16

Cut = Literal["middle", "end"]
"""Where a text loses what has no room: names are told by their ends as well, sentences are not."""
_CUTS = {"middle": Qt.TextElideMode.ElideMiddle, "end": Qt.TextElideMode.ElideRight}


@dataclass(frozen=True, slots=True)
class TwoLines:
    """Texts that are safe to draw already; `right` and `right_below` stand at the end of their lines.

    `sign`: an icon's name; a list that shows signs keeps their room on every row. `grave`: the sign has the
    colour of what went wrong. `marks`: icons at the end of the upper line, from the right edge inwards.
    """

    title: str
    below: str
    right: str = ""
    quiet: bool = False
    sign: str = ""
    right_below: str = ""
    grave: bool = False
    marks: tuple[str, ...] = ()
    cut: Cut = "middle"
    cut_below: Cut = "middle"


class TwoLineDelegate(QStyledItemDelegate):
    """Draws an item's `TwoLines` under `ROLE`."""

    ROLE = int(Qt.ItemDataRole.UserRole) + 1

    def __init__(self, view: QWidget, icons: Icons | None = None, *, right_from: int = 0) -> None:
        """`icons`: for a list that shows signs. `right_from`: how wide a row must be to show what stands at
        its right."""
        super().__init__(view)
        self._icons = icons
        self._right_from = right_from
        CalmSelection(view)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(80, 2 * QFontMetrics(option.font).height() + 2 * UNIT + 2)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        lines: TwoLines | None = index.data(self.ROLE)
        view = option.widget
        view.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, view)
        if lines is None:
            return
        colours = _Colours(option)
        painter.save()
        painter.setFont(tabular(option.font))
        metrics = QFontMetrics(painter.font())
        area = option.rect.adjusted(GAP, UNIT, -GAP, -UNIT)
        if self._icons is not None:
            self._draw_sign(painter, area.topLeft(), lines.sign, colours.sign(lines.sign, grave=lines.grave))
            area.setLeft(area.left() + _SIGN + GAP)
        upper = QRect(area.left(), area.top(), area.width(), metrics.height())
        lower = upper.translated(0, metrics.height() + 1)
        for mark in lines.marks:
            upper.setRight(upper.right() - _SIGN)
            self._draw_sign(painter, QPoint(upper.right(), upper.top()), mark, colours.sign(mark))
            upper.setRight(upper.right() - UNIT)
        if option.rect.width() >= self._right_from:
            painter.setPen(colours.dim)
            for slot, said in ((upper, lines.right), (lower, lines.right_below)):
                if said:
                    slot.setRight(slot.right() - _draw_right(painter, slot, metrics, said) - GAP)
        painter.setPen(colours.dim)
        painter.drawText(lower, 0, metrics.elidedText(lines.below, _CUTS[lines.cut_below], lower.width()))
        painter.setPen(colours.dim if lines.quiet else colours.text)
        painter.drawText(upper, 0, metrics.elidedText(lines.title, _CUTS[lines.cut], upper.width()))
        painter.restore()

    def _draw_sign(self, painter: QPainter, at: QPoint, name: str, tint: QColor) -> None:
        if self._icons is not None and name:
            ratio = painter.device().devicePixelRatioF()
            painter.drawPixmap(at, self._icons.pixmap(name, _SIGN, tint, ratio))


def _draw_right(painter: QPainter, slot: QRect, metrics: QFontMetrics, said: str) -> int:
    """At the end of `slot`, in half of it at the most; returns how wide it is."""
    text = metrics.elidedText(said, Qt.TextElideMode.ElideRight, slot.width() // 2)
    painter.drawText(slot, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
    return metrics.horizontalAdvance(text)


class _Colours:
    """The row's colours on its own background, selected or not."""

    def __init__(self, option: QStyleOptionViewItem) -> None:
        theme = theme_of(option.palette)
        self.text, self.dim, self._back = theme.text, theme.dim, theme.base
        if option.state & QStyle.StateFlag.State_Selected:
            active = option.state & QStyle.StateFlag.State_Active
            group = QPalette.ColorGroup.Active if active else QPalette.ColorGroup.Inactive
            self._back = option.palette.color(group, QPalette.ColorRole.Highlight)
            chosen = option.palette.color(group, QPalette.ColorRole.HighlightedText)
            self.text = readable(chosen, self._back)
            self.dim = dimmed(self.text, self._back)
        self._theme = theme

    def sign(self, name: str, *, grave: bool = False) -> QColor:
        theme = self._theme
        tints = {"check": theme.good, "warning": theme.warn, "flag": theme.warn, "pin": theme.accent}
        tint = theme.bad if grave else tints.get(name, self.dim)
        return readable(tint, self._back, SIGN_CONTRAST)
