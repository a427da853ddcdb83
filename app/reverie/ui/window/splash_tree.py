"""The names of the memories, on screen before the rest of the window is loaded (design.md section 7).

Importing and building the window takes several times as long as listing names. So a window created with
`build_ui=False` first shows the memory tree alone, of the place where the window will open, drawn as the
real tree will be. One job hears the names from the engine that starts, the next imports the window's
modules; `loaded` then says that the window can be built without reading a file on the GUI thread.

The tree is read-only. Threading: GUI thread; the work is in jobs. Failure: what cannot be listed is left to
the window, which reports it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6 import QtCore
from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QRect,
    QSize,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPalette
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QFrame,
    QStyleOptionViewItem,
    QTreeView,
    QWidget,
)

from reverie.engine.first_names import FirstNames, FirstScope, find_names, whole_names
from reverie.engine.start import NamesWanted, StartingEngine
from reverie.errors import UserError
from reverie.memory.listing import name_only
from reverie.ui.appearance import (
    GAP,
    MARGIN,
    UNIT,
    Icons,
    dimmed,
    draw_branch,
    icon_size,
    row_height,
    theme_of,
)
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.tree.memory_tree import (
    SCOPES,
    CompanionData,
    FileData,
    FolderData,
    NoticeData,
    RowLook,
    RowNode,
    ScopeData,
    plain_look,
)

if TYPE_CHECKING:
    from reverie.agents.base import Companion
    from reverie.agents.scopes import Scope
    from reverie.services.views import MemoryView


# Nothing here says `Qt.` or `QStyle.`: the first use of either creates all of its enums, about a hundred
# classes, which takes longer than listing ten thousand names. So roles and policies are plain numbers; a
# test compares them, and another checks that the enums are not created before the names are painted.


DISPLAY_ROLE = 0
NO_FOCUS = 0
SCROLL_BAR_OFF = 1
LEFT_IN_THE_MIDDLE = 0x0001 | 0x0080
# So many rows of a scope: more than a screen shows.
_MOST = 500
_NOWHERE = QModelIndex()
NAMES_LATEST_S = 2.0


def first_rows(names: FirstNames) -> tuple[RowNode, ...]:
    """The rows of a tree with its scopes open and its folders closed, as the tree shows them later."""
    return tuple(
        _scope_row(scope, names.scopes[scope], [each for each in names.companions if each.scope is scope])
        for scope in SCOPES
        if scope in names.scopes
    )


# What a closed folder holds: nobody sees it.
_INSIDE = (RowNode("", None),)


def _scope_row(scope: Scope, first: FirstScope, companions: list[Companion]) -> RowNode:
    rows = [RowNode("c:" + each.label, CompanionData(each)) for each in companions]
    if first.unavailable:
        rows.append(RowNode("n:unavailable", NoticeData("unavailable", first.unavailable)))
    elif not (first.folders or first.files):
        rows.append(RowNode("n:empty", NoticeData("empty", first.nothing)))
    for folder in first.folders:
        data = FolderData(scope, folder.name, folder.notes)
        rows.append(RowNode("d:" + folder.name, data, () if folder.is_empty else _INSIDE))
    rows += [RowNode("f:" + name, FileData(scope, name_only(name), "", True)) for name in first.files]
    scope_data = ScopeData(scope, first.notes, first.unavailable, first.problems)
    return RowNode(scope.value, scope_data, tuple(rows))


class SplashModel(QAbstractItemModel):
    """Two levels. The id of an index is 0 for a scope, else one more than the row of its scope."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scopes: tuple[RowNode, ...] = ()

    def show_names(self, names: FirstNames) -> None:
        """The scopes and what stands directly in them."""
        self.beginResetModel()
        self._scopes = first_rows(names)
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

    def _node(self, index: QModelIndex | QPersistentModelIndex) -> RowNode:
        scope = index.internalId()
        return self._scopes[scope - 1].children[index.row()] if scope else self._scopes[index.row()]


class SplashDelegate(QAbstractItemDelegate):
    """Sign, name and dim detail, where `RowDelegate` draws them. What is too long is cut off."""

    def __init__(self, icons: Icons, rows: SplashModel, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._rows = rows

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(120, row_height(option.font))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        look = self._rows.look(index)
        text, dim = QPalette.ColorRole.Text, QPalette.ColorRole.PlaceholderText
        colours = self._colours(option.palette)
        style = option.widget.style()
        area = option.rect.adjusted(UNIT // 2, 0, -MARGIN, 0)
        painter.save()
        painter.setClipRect(area)
        if look.icon:
            ratio = painter.device().devicePixelRatioF()
            side = icon_size(option.font)
            sign = self._icons.pixmap(look.icon, side, colours.color(dim), ratio)
            painter.drawPixmap(area.left(), area.top() + (area.height() - side) // 2, sign)
            area.setLeft(area.left() + side + 6)
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


class SplashView(QTreeView):
    """The picture. Nobody selects, opens or closes anything in it, and it takes no focus."""

    def __init__(self, rows: SplashModel, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = rows
        self.setModel(rows)
        self.setItemDelegate(SplashDelegate(icons, rows, self))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setProperty("focusPolicy", NO_FOCUS)
        self.setProperty("horizontalScrollBarPolicy", SCROLL_BAR_OFF)
        self.setProperty("verticalScrollBarPolicy", SCROLL_BAR_OFF)
        self.setIndentation(icon_size(self.font()))
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setItemsExpandable(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setAccessibleName(self.tr("Memories"))

    def show_names(self, names: FirstNames) -> None:
        """The names, with the scopes open."""
        self._rows.show_names(names)
        self.expandToDepth(0)

    def drawBranches(
        self, painter: QPainter, area: QRect, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        """As our style does, which is not loaded yet."""
        if self._rows.hasChildren(index):
            leftwards = self.isRightToLeft()
            sign = QRect(area)
            sign.setWidth(self.indentation())
            if not leftwards:
                sign.moveRight(area.right())
            colour = theme_of(self.palette()).dim
            draw_branch(painter, sign, colour, is_open=self.isExpanded(index), leftwards=leftwards)


class SplashTree(QObject):
    """Says `loaded` when the names are on screen, or there are none, and what the window needs is in
    memory."""

    loaded = Signal()

    def __init__(self, icons: Icons, lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._starting: StartingEngine | None = None
        self.whole: tuple[Path, MemoryView] | None = None
        """The home and all its names, once they are `loaded`; None: nobody told them."""
        self.model = SplashModel(self)
        self.view = SplashView(self.model, icons)

    def begin_with(self, starting: StartingEngine) -> None:
        """Show the names that the starting engine tells."""
        self._starting = starting
        self._show(lambda: FirstNames.from_text(starting.line(NAMES_LATEST_S)))

    def begin(self, wanted: NamesWanted) -> None:
        """Show the names that are found here."""

        def find() -> FirstNames:
            found = find_names(wanted)
            return FirstNames() if found is None else FirstNames.of(found)

        self._show(find)

    def _show(self, find: Callable[[], FirstNames]) -> None:
        self._lane.submit("first look", lambda _control: find(), done=self._on_names, failed=self._on_failed)

    def load(self) -> None:
        """Import what the window is made of."""
        # Here and not in the job: the enums are made one after the other, and what is painted
        # meanwhile, such as a scroll bar, would find half of them.
        _made = QtCore.Qt.BrushStyle
        starting = self._starting

        def work(_control: JobControl) -> tuple[Path, MemoryView] | None:
            # Late: the names are on screen by now.
            from reverie.ui.window import parts as _loaded  # noqa: F401

            return None if starting is None else whole_names(starting.line(NAMES_LATEST_S))

        self._lane.submit("load the window", work, done=self._on_loaded)

    def _on_names(self, names: FirstNames) -> None:
        self.view.show_names(names)
        # Now: the imports that follow would keep the interpreter from it.
        self.view.repaint()
        self.load()

    def _on_failed(self, _error: UserError) -> None:
        self._starting = None  # nothing of it is waited for any more
        self.load()

    def _on_loaded(self, whole: tuple[Path, MemoryView] | None) -> None:
        self.whole = whole
        self.loaded.emit()
