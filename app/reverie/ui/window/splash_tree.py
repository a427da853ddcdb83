"""The names of the memories, on screen before the rest of the window is loaded (design.md section 7).

Importing and building the window takes several times as long as listing names. So a window created with
`build_ui=False` first shows the memory tree alone, of the place where the window will open, drawn as the
real tree will be. One job lists the names, the next imports the window's modules; `loaded` then says that
the window can be built without reading a file on the GUI thread. If the names take long, as on a share that
does not answer, the modules are imported on another lane meanwhile.

The tree is read-only. Threading: GUI thread; the work is in jobs. Failure: what cannot be listed is left to
the window, which reports it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractItemModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    QTimer,
    Signal,
    Slot,
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

from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.errors import UserError
from reverie.memory.listing import ScopeListing, names_only
from reverie.ui.appearance import GAP, UNIT, Icons, dimmed
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.tree.memory_tree import EMPTY, MemoryTree, build_tree, plain_look
from reverie.ui.tree.rows import RowLook, RowNode

if TYPE_CHECKING:
    from reverie.agents.base import Companion, Home


# Nothing here says `Qt.` or `QStyle.`: the first use of either creates all of its enums, about a hundred
# classes, which takes longer than listing ten thousand names. So roles and policies are plain numbers; a
# test compares them, and another checks that the enums are not created before the names are painted.


DISPLAY_ROLE = 0
NO_FOCUS = 0
SCROLL_BAR_OFF = 1
LEFT_IN_THE_MIDDLE = 0x0001 | 0x0080
# So many rows of a scope: more than a screen shows.
_MOST = 500
_SIGN = 16
_NOWHERE = QModelIndex()


class SplashModel(QAbstractItemModel):
    """Two levels. The id of an index is 0 for a scope, else one more than the row of its scope."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scopes: tuple[RowNode, ...] = ()

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


NAMES_LATEST_MS = 2_000
_ANSWER_S = 1.0


@dataclass(frozen=True, slots=True)
class _Names:
    """What `build_tree` needs to know."""

    scopes: Mapping[Scope, ScopeListing]
    companions: tuple[Companion, ...]


class SplashTree(QObject):
    """`painted()`: the names are on screen, or there are none; `loaded()`: so is what the window needs in
    memory."""

    loaded = Signal()
    painted = Signal()

    def __init__(self, icons: Icons, lane: Lane, import_lane: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._import_lane = import_lane
        self._loading = False
        self._deadline = QTimer(self)
        self._deadline.setSingleShot(True)
        self._deadline.setInterval(NAMES_LATEST_MS)
        self._deadline.timeout.connect(self._on_deadline)
        self.model = SplashModel(self)
        self.view = SplashView(self.model, icons)

    def begin(self, homes: tuple[Path, ...], workspace: str, closed: tuple[Path, ...] = ()) -> None:
        """Look at the first of `homes`, or at the first that is found and not one of `closed`."""

        def work(_control: JobControl) -> MemoryTree:
            return names_at_start(homes, workspace, closed)

        self._deadline.start()
        self._lane.submit("first look", work, done=self._on_names, failed=self._on_failed)

    def load(self) -> None:
        """Import what the window is made of."""
        self._load(self._lane)

    def _load(self, lane: Lane) -> None:
        self._deadline.stop()
        if self._loading:
            return
        self._loading = True
        self.painted.emit()

        def work(_control: JobControl) -> None:
            # Late: the names are on screen by now.
            from reverie.ui.window import parts as _loaded  # noqa: F401

        lane.submit("load the window", work, done=self._on_loaded)

    @Slot()
    def _on_deadline(self) -> None:
        self._load(self._import_lane)

    def _on_names(self, tree: MemoryTree) -> None:
        self.view.show_tree(tree)
        # Now: the imports that follow would keep the interpreter from it.
        self.view.viewport().repaint()
        self.load()

    def _on_failed(self, _error: UserError) -> None:
        self.load()

    def _on_loaded(self, _nothing: None) -> None:
        self.loaded.emit()


def names_at_start(homes: tuple[Path, ...], workspace: str, closed: tuple[Path, ...] = ()) -> MemoryTree:
    """The names at the place where the window begins; nothing where no home is found. Blocks. Raises
    `UserError`."""
    from reverie.agents.discovery import User, find_homes, open_home
    from reverie.files.paths import ask_each

    # Places that hang would keep the lane from what comes next; the window itself waits for them.
    if homes:
        path = next(
            iter(ask_each({home: partial(os.path.exists, home) for home in homes[:1]}, _ANSWER_S)), None
        )
    else:
        found = find_homes(os.environ, Path.home(), _ANSWER_S).homes
        path = next((home.root for home in found if home.root not in closed), None)
    if path is None:
        return EMPTY
    home = open_home(path, None, User(os.environ, Path.home()))
    context = home.context(workspace_id=_starting_workspace(home, workspace))
    scopes = {scope: _names(home, context, scope) for scope in Scope}
    return build_tree(_Names(scopes, home.companions(context)), names_only=True, closed=True)


def _starting_workspace(home: Home, asked: str) -> str | None:
    """The workspace asked for, else the one used last, else the first that is not archived."""
    workspaces = home.contents().workspaces()
    if asked in {each.id for each in workspaces}:
        return asked
    current = [each.id for each in workspaces if not each.archived]
    recencies = () if home.sessions is None else home.sessions.recencies()
    at = {id_: when for id_, when in recencies if id_ in current}
    return max(current, key=lambda id_: at.get(id_, 0), default=None)


def _names(home: Home, context: ScopeContext, scope: Scope) -> ScopeListing:
    try:
        return names_only(home.scope_root(context, scope))
    except ScopeUnavailable as gap:
        return ScopeListing(None, gap.cause or gap.title, gap.gap, (), (), ())
