"""The memory tree as a picture of itself: scopes and what stands directly in them, to be looked at only.

For the fraction of a second before the window has its parts (`first_look`), drawn as `row_delegate` draws
names. Nothing here says `Qt.` or `QStyle.`: the first use of either makes every enum of theirs, a hundred
classes, which takes longer than listing ten thousand names and which a list of names needs none of. So roles
and policies go by number here; a test compares the numbers, and another that nobody asks for the enums before
the names are painted.

Threading: GUI thread. No method reads a file.
"""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, QSize
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QFrame,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from reverie.ui.icons import Icons
from reverie.ui.memory.tree_looks import plain_look
from reverie.ui.memory.tree_nodes import MemoryTree
from reverie.ui.row_look import RowLook
from reverie.ui.rows import Node
from reverie.ui.theme import GAP, UNIT, dimmed

DISPLAY_ROLE = 0
NO_FOCUS = 0
SCROLL_BAR_OFF = 1
LEFT_IN_THE_MIDDLE = 0x0001 | 0x0080
# So many rows of a scope: more than a screen shows.
_MOST = 500
_SIGN = 16
_NOWHERE = QModelIndex()


class FirstRows(QAbstractItemModel):
    """Two levels. The id of an index is 0 for a scope, else one more than the row of its scope."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scopes: tuple[Node, ...] = ()

    def show_tree(self, tree: MemoryTree) -> None:
        """Only the scopes and what stands directly in them."""
        self.beginResetModel()
        self._scopes = tree.root.children
        self.endResetModel()

    def look(self, index: QModelIndex | QPersistentModelIndex) -> RowLook:
        """The same look that the tree gives the row later."""
        return plain_look(self._node(index).data)

    def index(
        self, row: int, column: int = 0, parent: QModelIndex | QPersistentModelIndex = _NOWHERE
    ) -> QModelIndex:
        if column != 0 or not 0 <= row < self.rowCount(parent):
            return QModelIndex()
        return self.createIndex(row, 0, parent.row() + 1 if parent.isValid() else 0)

    # Qt has two functions of this name, the other without arguments; PySide's stubs cannot say that.
    def parent(  # type: ignore[override]
        self, child: QModelIndex | QPersistentModelIndex = _NOWHERE
    ) -> QModelIndex:
        scope = child.internalId() if child.isValid() else 0
        return self.createIndex(scope - 1, 0, 0) if scope else QModelIndex()

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _NOWHERE) -> int:
        if not parent.isValid():
            return len(self._scopes)
        return 0 if parent.internalId() else min(len(self._scopes[parent.row()].children), _MOST)

    def columnCount(self, parent: QModelIndex | QPersistentModelIndex = _NOWHERE) -> int:
        return 1

    def hasChildren(self, parent: QModelIndex | QPersistentModelIndex = _NOWHERE) -> bool:
        return bool(self._node(parent).children) if parent.isValid() else bool(self._scopes)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = DISPLAY_ROLE) -> Any:
        return self.look(index).name if role == DISPLAY_ROLE and index.isValid() else None

    def _node(self, index: QModelIndex | QPersistentModelIndex) -> Node:
        scope = index.internalId()
        return self._scopes[scope - 1].children[index.row()] if scope else self._scopes[index.row()]


class FirstRowDelegate(QAbstractItemDelegate):
    """Sign, name and dim detail, where `RowDelegate` draws them. What is too long is cut off."""

    def __init__(self, icons: Icons, rows: FirstRows, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._rows = rows

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, max(QFontMetrics(option.font).height(), _SIGN) + GAP)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        look = self._rows.look(index)
        text, dim = QPalette.ColorRole.Text, QPalette.ColorRole.PlaceholderText
        colours = self._colours(option.palette)
        style = option.widget.style()
        area = option.rect.adjusted(UNIT // 2, 0, -GAP, 0)
        painter.save()
        painter.setClipRect(area)
        if look.icon:
            ratio = painter.device().devicePixelRatioF()
            sign = self._icons.pixmap(look.icon, _SIGN, colours.color(dim), ratio)
            painter.drawPixmap(area.left(), area.top() + (area.height() - _SIGN) // 2, sign)
            area.setLeft(area.left() + _SIGN + 6)
        font = QFont(option.font)
        font.setBold(look.bold)
        font.setItalic(look.italic)
        painter.setFont(font)
        role = dim if look.quiet else text
        # By the style, since for a pen's colour PySide asks whether it is a `Qt.GlobalColor`.
        style.drawItemText(painter, area, LEFT_IN_THE_MIDDLE, colours, True, look.name, role)
        if look.detail:
            area.setLeft(area.left() + QFontMetrics(font).horizontalAdvance(look.name) + GAP + 2)
            painter.setFont(option.font)
            style.drawItemText(painter, area, LEFT_IN_THE_MIDDLE, colours, True, look.detail, dim)
        painter.restore()

    def _colours(self, palette: QPalette) -> QPalette:
        """The text's colour and a quieter one."""
        text, back = palette.color(QPalette.ColorRole.Text), palette.color(QPalette.ColorRole.Base)
        colours = QPalette()
        colours.setColor(QPalette.ColorRole.Text, text)
        colours.setColor(QPalette.ColorRole.PlaceholderText, dimmed(text, back))
        return colours


class FirstView(QTreeView):
    """The picture. Nobody selects, opens or closes anything in it, and it takes no focus."""

    def __init__(self, rows: FirstRows, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self.setModel(rows)
        self.setItemDelegate(FirstRowDelegate(icons, rows, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setProperty("focusPolicy", NO_FOCUS)
        self.setProperty("horizontalScrollBarPolicy", SCROLL_BAR_OFF)
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setItemsExpandable(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setIndentation(16)
        self.setAccessibleName(self.tr("Memories"))

    def show_tree(self, tree: MemoryTree) -> None:
        """The names, with the scopes open."""
        self._rows.show_tree(tree)
        self.expandToDepth(0)
