"""List rows of two lines: what, and below it in dim where; a short word at the right, a sign before them."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from reverie.ui.icons import Icons
from reverie.ui.theme import GAP, SIGN_CONTRAST, UNIT, CalmSelection, dimmed, readable, tabular, theme_of

_SIGN = 16


@dataclass(frozen=True, slots=True)
class TwoLines:
    """Texts that are safe to draw already. `sign`: an icon's name; a list that shows signs keeps their room
    on every row."""

    title: str
    below: str
    right: str = ""
    quiet: bool = False
    sign: str = ""


class TwoLineDelegate(QStyledItemDelegate):
    """Draws an item's `TwoLines` under `ROLE`."""

    ROLE = int(Qt.ItemDataRole.UserRole) + 1

    def __init__(self, view: QWidget, icons: Icons | None = None) -> None:
        """`icons`: for a list that shows signs."""
        super().__init__(view)
        self._icons = icons
        CalmSelection(view)

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(80, 2 * QFontMetrics(option.font).height() + 2 * UNIT + 2)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        lines = index.data(self.ROLE)
        view = option.widget
        view.style().drawPrimitive(QStyle.PrimitiveElement.PE_PanelItemViewItem, option, painter, view)
        if lines is None:
            return
        theme = theme_of(option.palette)
        text, dim, back = theme.text, theme.dim, theme.base
        if option.state & QStyle.StateFlag.State_Selected:
            active = option.state & QStyle.StateFlag.State_Active
            group = QPalette.ColorGroup.Active if active else QPalette.ColorGroup.Inactive
            back = option.palette.color(group, QPalette.ColorRole.Highlight)
            text = readable(option.palette.color(group, QPalette.ColorRole.HighlightedText), back)
            dim = dimmed(text, back)
        painter.save()
        painter.setFont(tabular(option.font))
        metrics = QFontMetrics(painter.font())
        area = option.rect.adjusted(GAP, UNIT, -GAP, -UNIT)
        if self._icons is not None:
            tints = {"check": theme.good, "warning": theme.warn, "flag": theme.warn}
            if lines.sign:
                tint = readable(tints.get(lines.sign, dim), back, SIGN_CONTRAST)
                ratio = painter.device().devicePixelRatioF()
                painter.drawPixmap(area.topLeft(), self._icons.pixmap(lines.sign, _SIGN, tint, ratio))
            area.setLeft(area.left() + _SIGN + GAP)
        upper = QRect(area.left(), area.top(), area.width(), metrics.height())
        lower = upper.translated(0, metrics.height() + 1)
        painter.setPen(dim)
        right = metrics.elidedText(lines.right, Qt.TextElideMode.ElideRight, area.width() // 2)
        painter.drawText(upper, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, right)
        room = area.width() - (metrics.horizontalAdvance(right) + GAP if right else 0)
        painter.drawText(
            lower, 0, metrics.elidedText(lines.below, Qt.TextElideMode.ElideMiddle, area.width())
        )
        painter.setPen(dim if lines.quiet else text)
        painter.drawText(upper, 0, metrics.elidedText(lines.title, Qt.TextElideMode.ElideMiddle, room))
        painter.restore()
