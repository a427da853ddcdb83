"""The picker: the list of homes at the left of the window, with projects, workspaces and orphaned stores.

Threading: GUI thread; nothing here reads a file. Failure: none.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QItemSelectionModel, QModelIndex, Qt, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QAbstractItemView, QTreeView, QWidget

from reverie.ui.display_text import age, as_tooltip, exact_time, visible
from reverie.ui.icons import Icons
from reverie.ui.memory.orphan_labels import orphan_reason, orphan_title
from reverie.ui.session import HomeSession
from reverie.ui.traces.feed import Followed
from reverie.ui.tree.model import PATHS_MIME
from reverie.ui.tree.node_model import AnyIndex, NodeModel
from reverie.ui.tree.row_look import RowLook
from reverie.ui.tree.rows import RowNode, shared
from reverie.ui.widgets.row_delegate import ROW_ROLE, RowDelegate
from reverie.ui.window.palette import Entry
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.agents.base import HomeContents, LostStore, Workspace
    from reverie.services.views import SearchHit


_DISPLAY = int(Qt.ItemDataRole.DisplayRole)


_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)


_ACCESSIBLE = int(Qt.ItemDataRole.AccessibleTextRole)


Kind = Literal["home", "project", "workspace", "orphans", "orphan"]


class Place(Struct, frozen=True):
    """The data of one row in the list of homes: a home, project, workspace or orphaned store."""

    kind: Kind
    home: str
    """The id of the home."""
    title: str
    below: str = ""
    """A second text, such as a name or time."""
    workspace_id: str = ""
    path: str = ""
    """The path of a project, of a workspace's project, or of an orphaned store."""
    marks: tuple[str, ...] = ()
    """Words such as "archived"."""
    reason: str = ""
    """The text of the tool tip: the path, or why the row is special."""
    sign: str = ""
    """The name of the icon."""
    used_at: int = 0
    """The time of the last use, UTC in milliseconds; 0 if the home does not record it."""
    trouble: str = ""
    """A sentence about why the home is not open; empty if it is."""
    machine: str = ""
    """The name of the machine of a home that is not open; empty for this machine."""


def home_node(
    key: str,
    label: str,
    root: str,
    contents: HomeContents | None,
    previous: RowNode | None,
    lost: Sequence[LostStore] | None = None,
) -> RowNode:
    """Return the node for the row of a home and the rows below it, reusing unchanged nodes of `previous`.

    `key`: the id of the home. `label`, `root`: its name and its path. `contents`: its projects and
    workspaces; None if it is not open. `lost`: the orphaned stores that a search has found; None if there was
    no search yet, and then the orphaned stores in `contents` are shown.
    """
    old = {child.key: child for child in previous.children} if previous is not None else {}
    children: list[RowNode] = []
    for project in contents.projects if contents is not None else ():
        name = project.name or project.path
        place = Place("project", key, name, path=project.path, reason=project.path, sign="project")
        inner = tuple(_workspace_node(key, name, workspace) for workspace in project.workspaces)
        children.append(shared(old.get("p:" + project.path), "p:" + project.path, place, inner))
    inner = _orphan_nodes(key, contents, lost)
    if inner:
        place = Place("orphans", key, "", marks=(str(len(inner)),), sign="orphan")
        children.append(shared(old.get("orphans"), "orphans", place, inner))
    data = Place("home", key, label, reason=root, sign="home")
    return shared(previous, key, data, tuple(children))


def troubled_node(root: str, sentence: str, *, silent: bool, machine: str = "") -> RowNode:
    """Return the node for the row of a home that cannot be opened; `silent`: its disk does not answer.

    `sentence` is the reason. `machine`: the name of the other machine; "" for this one. If `root` is empty,
    the machine itself cannot be used.
    """
    key = f"trouble:{machine}:{root}"
    title = " · ".join(part for part in (_last(root), machine) if part)
    mark = "silent" if silent else "closed"
    place = Place("home", key, title, reason=root, marks=(mark,), sign="warning", trouble=sentence)
    return RowNode(key, replace(place, machine=machine))


def _orphan_nodes(
    key: str, contents: HomeContents | None, lost: Sequence[LostStore] | None
) -> tuple[RowNode, ...]:
    if lost is None:
        orphans = contents.orphans if contents is not None else ()
        found = [(orphan.directory, orphan.label, orphan.reason) for orphan in orphans]
    else:
        found = [(store.directory, orphan_title(store), orphan_reason(store)) for store in lost]
    return tuple(
        RowNode(f"o:{path}", Place("orphan", key, title, path=str(path), reason=reason, sign="orphan"))
        for path, title, reason in found
    )


def _workspace_node(home: str, project: str, workspace: Workspace) -> RowNode:
    title = workspace.label
    # "Faster map" and "faster-map" are the same name.
    same = "-".join(title.lower().split()) == workspace.name.lower()
    below = "" if same else workspace.name
    if workspace.updated_at is not None:
        # Sessions without names are distinguished by their time.
        below = exact_time(workspace.updated_at)[:-3]
    marks = tuple(
        mark for mark, set_ in (("multi", workspace.multi_project), ("archived", workspace.archived)) if set_
    )
    sign = "multi" if workspace.multi_project else "archived" if workspace.archived else "workspace"
    place = Place(
        "workspace",
        home,
        title,
        below,
        workspace.id,
        workspace.bucket,
        marks,
        ", ".join(map(_last, workspace.project_paths)) if workspace.multi_project else project,
        sign,
        workspace.updated_at or 0,
    )
    return RowNode("w:" + workspace.id, place)


def _last(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path


class PickerModel(NodeModel):
    """The Qt model of the list of homes; its root rows are the homes."""

    def value(self, node: RowNode, role: int) -> Any:
        place: Place = node.data
        if role == ROW_ROLE:
            return self._look(place)
        if role == _DISPLAY:
            return self.text_of(place)
        if role == _TOOLTIP:
            about = place.trouble or self._marks(place)
            return as_tooltip(place.title, place.below, place.reason, about, place.workspace_id)
        if role == _ACCESSIBLE:
            parts = (self.text_of(place), visible(place.below), self._marks(place))
            return ", ".join(part for part in parts if part)
        return None

    def _look(self, place: Place) -> RowLook:
        archived = "archived" in place.marks
        detail = self._marks(place) if archived or place.trouble else visible(place.below)
        if place.used_at and not archived:
            detail = age(time.time_ns() // 1_000_000, place.used_at)
        return RowLook(
            self.text_of(place),
            detail,
            place.sign,
            bold=place.kind == "home",
            quiet=archived or bool(place.trouble) or place.kind in ("orphan", "orphans"),
            cut_end=place.kind == "workspace",
        )

    def text_of(self, place: Place) -> str:
        """Return the displayed name of a place."""
        if place.kind == "orphans":
            return self.tr("Orphaned stores ({n})").format(n=place.marks[0])
        if place.kind == "project" and place.path == "_multi":
            return self.tr("Several projects")
        return visible(place.title)

    def _marks(self, place: Place) -> str:
        if place.kind != "workspace" and not place.trouble:
            return ""
        words = {
            "multi": self.tr("several projects"),
            "archived": self.tr("archived"),
            "silent": self.tr("not responding"),
            "closed": self.tr("cannot be opened"),
        }
        return ", ".join(words[mark] for mark in place.marks)


class Picker(QTreeView):
    """The list of homes, with their projects and workspaces.

    Archived workspaces and those of several projects are marked; orphaned stores are in a group of their own.
    If the list of projects changes, only the changed rows are updated, so the selection stays.

    Signals:
        picked(Place): A row was selected, by the user or by a `pick` method.
        place_gone(): The home no longer lists the selected project or workspace.
        memories_dropped(): The user dropped memories on this list, which does not accept them.
    """

    picked = Signal(object)
    place_gone = Signal()
    memories_dropped = Signal()

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.places = PickerModel(self)
        self._quiet = False
        self.setModel(self.places)
        self.setItemDelegate(RowDelegate(icons, self, on_window=True))
        self.setHeaderHidden(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setUniformRowHeights(True)
        self.setAccessibleName(self.tr("Homes, projects and workspaces"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.setAcceptDrops(True)
        self.viewport().setAutoFillBackground(False)  # a side list, on the window's own background
        # The selected row, not the current one: Qt makes the first row current when the list gets the focus.
        self.selectionModel().selectionChanged.connect(self._on_selected)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._hold(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._hold(event)

    def dropEvent(self, event: QDropEvent) -> None:
        if self._hold(event):
            self.memories_dropped.emit()

    def _hold(self, event: QDropEvent) -> bool:
        """Accept a drag event if memories are dragged, but move nothing; return True if they are.

        The list takes no memories, but if the event were not accepted, no drop event would follow, and no
        message could be shown.
        """
        is_memory = event.mimeData().hasFormat(PATHS_MIME)
        event.setDropAction(Qt.DropAction.IgnoreAction)
        event.setAccepted(is_memory)
        return is_memory

    def show_homes(self, homes: Sequence[RowNode]) -> None:
        """Show the rows of these homes.

        Rows of homes and projects that were not listed before are expanded; orphaned stores are collapsed.
        """
        before = {self.places.keys(index) for index in self.places.walk()}
        selected = self.places.keys(self.currentIndex())
        is_gone = False
        self._quiet = True
        self.places.set_tree(RowNode("", None, tuple(homes)))
        for index in list(self.places.walk()):
            place = self.place(index)
            if (
                self.places.keys(index) not in before
                and place is not None
                and place.kind in ("home", "project")
            ):
                self.setExpanded(index, True)
        if selected and self.places.keys(self.currentIndex()) != selected:
            index = self.places.index_of(selected)
            if index.isValid():
                self._select(index)
            else:
                self.selectionModel().clear()
                is_gone = len(selected) > 1 and selected[1].startswith("p:")
        self._quiet = False
        if is_gone:
            self.place_gone.emit()

    def place(self, index: AnyIndex) -> Place | None:
        """Return the data of a row; None for an invalid index."""
        node = self.places.node(index)
        return node.data if node is not None else None

    def text_of(self, place: Place) -> str:
        """Return the name of a home, project or workspace, as its row shows it."""
        return self.places.text_of(place)

    def followed(self, place: Place, home_name: str) -> Followed:
        """Return the place that other views follow: `place` if it is a project or workspace, else its home.

        `home_name` is the displayed name of the home.
        """
        if place.kind not in ("project", "workspace"):
            return Followed(place.home, "", home_name, home_name)
        name = self.text_of(place)
        return Followed(place.home, place.path, name, home_name, place.workspace_id or "")

    def pick(self, home: str, *, workspace_id: str = "") -> bool:
        """Select a workspace of a home, and return True; return False if it is not listed.

        `home`: the id of the home. If `workspace_id` is "", select the first workspace that is not archived.
        """
        for index in self.places.walk():
            place = self.place(index)
            if place is None or place.home != home or place.kind != "workspace":
                continue
            if workspace_id == place.workspace_id or (not workspace_id and "archived" not in place.marks):
                self._select(index)
                return True
        return False

    def pick_first(self, session: HomeSession, asked: str) -> None:
        """Select the workspace `asked`, or else the one used last, the first one, or the home itself.

        `asked` is the id of a workspace, or "".
        """
        home = session.info.id
        for wanted in (asked, session.recent_workspace):
            if wanted and self.pick(home, workspace_id=wanted):
                return
        if not self.pick(home):
            self.pick_home(home)

    def pick_hit(self, hit: SearchHit) -> None:
        """Select the workspace, project or home to which a search result belongs."""
        if hit.workspace_id and self.pick(hit.home_id, workspace_id=hit.workspace_id):
            return
        if not hit.project_path or not self.pick_project(hit.home_id, hit.project_path):
            self.pick_home(hit.home_id)

    def pick_home(self, home: str) -> bool:
        """Select the row of the home with this id; return False if it is not listed."""
        return self.pick_keys((home,))

    def pick_project(self, home: str, path: str) -> bool:
        """Select the project at `path` in the home with the id `home`; return False if it is not listed."""
        return self.pick_keys((home, "p:" + path))

    def pick_orphans(self, home: str) -> bool:
        """Select the group of orphaned stores of the home with the id `home`; return False if it has none."""
        return self.pick_keys((home, "orphans"))

    def pick_keys(self, keys: tuple[str, ...]) -> bool:
        """Select the row that these keys lead to, and return True; return False if there is no such row.

        `keys`: the keys of the nodes on the way, from the home down to the row.
        """
        index = self.places.index_of(keys)
        if index.isValid():
            self._select(index)
        return index.isValid()

    def entries(self) -> list[Entry]:
        """Return a palette entry for each home, project and workspace, with the names of its parents."""
        made, titles = [], dict[tuple[str, ...], str]()
        for index in self.places.walk():
            place, keys = self.place(index), self.places.keys(index)
            if place is not None and place.kind in ("home", "project", "workspace"):
                titles[keys] = self.text_of(place)
                above = " · ".join(titles[keys[:depth]] for depth in range(1, len(keys)))
                made.append(Entry("place", keys, titles[keys], above, icon=place.sign))
        return made

    def _select(self, index: QModelIndex) -> None:
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.scrollTo(index)

    @Slot()
    def _on_selected(self) -> None:
        selected = self.selectionModel().selectedRows()
        place = self.place(selected[0]) if selected else None
        if place is not None and not self._quiet:
            self.picked.emit(place)
