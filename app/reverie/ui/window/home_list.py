"""The list at the left: homes, their projects, and the workspaces of each. What is selected is shown in the
tabs.

Archived and multi-project workspaces are marked; stores that nothing points at stand under a node of their
own. Built as `rows.Node`s, so that a changed project list moves only what changed and the selection stays.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QTreeView,
    QWidget,
)

from reverie.ui.appearance import CalmSelection, Icons
from reverie.ui.display_text import age, as_tooltip, exact_time, visible
from reverie.ui.memory.orphan_labels import orphan_reason, orphan_title
from reverie.ui.traces.feed import Followed
from reverie.ui.tree.node_model import AnyIndex, NodeModel
from reverie.ui.tree.rows import RowLook, RowNode, shared
from reverie.ui.widgets.lists import ROW_ROLE, RowDelegate

if TYPE_CHECKING:
    from reverie.agents.base import HomeContents, LostStore, Workspace

_DISPLAY = int(Qt.ItemDataRole.DisplayRole)
_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)
_ACCESSIBLE = int(Qt.ItemDataRole.AccessibleTextRole)

Kind = Literal["home", "project", "workspace", "orphans", "orphan"]


@dataclass(frozen=True, slots=True)
class Place:
    """A row of the picker. `path` is the project's or the orphan's; `marks` are words such as "archived"."""

    kind: Kind
    home: str
    title: str
    below: str = ""
    workspace_id: str = ""
    path: str = ""
    marks: tuple[str, ...] = ()
    reason: str = ""
    sign: str = ""
    """The name of its icon."""
    used_at: int = 0
    """When it was used last, UTC ms; 0 where the home does not say."""
    trouble: str = ""
    """Of a home that is not open: why, as a sentence."""


def home_node(
    key: str,
    label: str,
    root: str,
    contents: HomeContents | None,
    previous: RowNode | None,
    lost: Sequence[LostStore] | None = None,
) -> RowNode:
    """One home. `contents` None: it is being opened, or cannot be. `lost` None: nobody has looked yet, and
    what the home itself calls orphans is shown."""
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


def troubled_node(root: str, sentence: str, *, silent: bool) -> RowNode:
    """A home that cannot be opened; `silent`: its disk does not answer."""
    key = f"trouble:{root}"
    mark = "silent" if silent else "closed"
    return RowNode(
        key, Place("home", key, _last(root), reason=root, marks=(mark,), sign="warning", trouble=sentence)
    )


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
    # "Faster map" and "faster-map" say the same.
    same = "-".join(title.lower().split()) == workspace.name.lower()
    below = "" if same else workspace.name
    if workspace.updated_at is not None:
        # Where the agent gives its sessions no names, the time tells them apart.
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
    """Homes as roots."""

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
        """The name a row goes by."""
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
            "silent": self.tr("not answering"),
            "closed": self.tr("cannot be opened"),
        }
        return ", ".join(words[mark] for mark in place.marks)


class Picker(QTreeView):
    """`picked(Place)`: a person, or `pick_first`, selected a row."""

    picked = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.places = PickerModel(self)
        self._quiet = False
        self.setModel(self.places)
        self.setItemDelegate(RowDelegate(icons, self, on_window=True))
        CalmSelection(self)
        self.setHeaderHidden(True)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.setUniformRowHeights(True)
        self.setAccessibleName(self.tr("Homes, projects and workspaces"))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setIndentation(14)
        self.setFrameShape(QTreeView.Shape.NoFrame)
        self.viewport().setAutoFillBackground(False)  # a side list, on the window's own background
        self.selectionModel().currentChanged.connect(self._on_current)

    def show_homes(self, homes: Sequence[RowNode]) -> None:
        """The homes as they are now. New homes and projects start open, orphans closed."""
        before = {self.places.keys(index) for index in self.places.walk()}
        selected = self.places.keys(self.currentIndex())
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
        self._quiet = False

    def place(self, index: AnyIndex) -> Place | None:
        """What a row stands for; None for no row."""
        node = self.places.node(index)
        return node.data if node is not None else None

    def text_of(self, place: Place) -> str:
        """The place as its row names it."""
        return self.places.text_of(place)

    def followed(self, place: Place, home_name: str) -> Followed:
        """What a list beside it shows while `place` is selected: its project, else its home."""
        if place.kind not in ("project", "workspace"):
            return Followed(place.home, "", home_name)
        above = self.places.index_of((place.home, "p:" + place.path))
        project = self.place(above)
        name = self.text_of(project) if project is not None else home_name
        return Followed(place.home, place.path, name, home_name)

    def pick(self, home: str, *, workspace_id: str = "") -> bool:
        """Select a workspace of a home; without an id its first one, the last used being the home's own
        business."""
        for index in self.places.walk():
            place = self.place(index)
            if place is None or place.home != home or place.kind != "workspace":
                continue
            if workspace_id == place.workspace_id or (not workspace_id and "archived" not in place.marks):
                self._select(index)
                return True
        return False

    def pick_home(self, home: str) -> None:
        """Select the home itself."""
        index = self.places.index_of((home,))
        if index.isValid():
            self._select(index)

    def pick_project(self, home: str, path: str) -> bool:
        """Select a project of a home; False if it lists none of this path."""
        index = self.places.index_of((home, "p:" + path))
        if index.isValid():
            self._select(index)
        return index.isValid()

    def pick_orphans(self, home: str) -> bool:
        """Select the orphaned stores of a home; False if it has none."""
        index = self.places.index_of((home, "orphans"))
        if index.isValid():
            self._select(index)
        return index.isValid()

    def _select(self, index: QModelIndex) -> None:
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.scrollTo(index)

    @Slot(QModelIndex, QModelIndex)
    def _on_current(self, current: QModelIndex, _previous: QModelIndex) -> None:
        place = self.place(current)
        if place is not None and not self._quiet:
            self.picked.emit(place)
