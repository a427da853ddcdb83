"""The homes of one window: the list at the left; finding, opening and closing homes; unsaved text on
closing.

A home that was closed by hand stays closed when it is found again, until it is opened by its path. One bad
home never keeps the others away: each place is asked in a thread of its own before a job opens it, and one
that does not answer in time is listed as such and opened as soon as it answers. Closing changes nothing on
disk.

Threading: GUI thread; homes are found and opened, and their watchers and services ended, in jobs. Failure:
a home that cannot be opened is listed with the reason, or reported by `failed`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QObject, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent
from PySide6.QtWidgets import QAbstractItemView, QMenu, QTreeView, QWidget

from reverie.agents.base import ANSWER_S, DiscoveredHomes, TroubledPlace, not_answering
from reverie.clock import Clock
from reverie.engine.asking import ask
from reverie.engine.remote import RemoteMachine
from reverie.engine.start import MachineAddress
from reverie.errors import UserError
from reverie.files.directory import DiskCheck
from reverie.profile import Profile
from reverie.resources import copy_demo_home
from reverie.ui import dialogs
from reverie.ui.appearance import Icons
from reverie.ui.display_text import age, as_tooltip, exact_time, tr, visible
from reverie.ui.engine_link import EngineLink
from reverie.ui.jobs import JobControl, Lanes, Work, repeating
from reverie.ui.memory.orphan_labels import orphan_reason, orphan_title
from reverie.ui.session import HomeOpened, HomeSession, adopt_home, open_home
from reverie.ui.traces.feed import Followed
from reverie.ui.tree.model import PATHS_MIME
from reverie.ui.tree.node_model import AnyIndex, NodeModel
from reverie.ui.tree.row_look import RowLook
from reverie.ui.tree.rows import RowNode, shared
from reverie.ui.widgets.row_delegate import ROW_ROLE, RowDelegate
from reverie.ui.window.machines import MachineHomes
from reverie.ui.window.palette import Entry
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.agents.base import HomeContents, LostStore, Workspace
    from reverie.services.views import HomeInfo, SearchHit
    from reverie.ui.editor.documents import OpenFile
    from reverie.ui.memory.tab import MemoryTab


# The list. Archived and multi-project workspaces are marked; stores without a project have a node of their
# own. Rows are `RowNode`s, so a changed project list moves only what changed and the selection stays.


_DISPLAY = int(Qt.ItemDataRole.DisplayRole)
_TOOLTIP = int(Qt.ItemDataRole.ToolTipRole)
_ACCESSIBLE = int(Qt.ItemDataRole.AccessibleTextRole)

Kind = Literal["home", "project", "workspace", "orphans", "orphan"]


class Place(Struct, frozen=True):
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
    machine: str = ""
    """Of one that is not open: the machine it is on, if it is not this one."""


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


def troubled_node(root: str, sentence: str, *, silent: bool, machine: str = "") -> RowNode:
    """A home that cannot be opened; `silent`: its disk does not answer. With `machine` and no `root`: none of
    that machine can."""
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
    """The list of homes. `picked(Place)`: a row was selected, by hand or by a `pick` method. `place_gone()`:
    the home does not list the selected project or workspace any more. `memories_dropped()`: memories were
    dragged here, where no place takes them."""

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
        # Not the current row: Qt makes the first one that as soon as the list has the focus.
        self.selectionModel().selectionChanged.connect(self._on_selected)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        self._hold(event)

    def dragMoveEvent(self, event: QDragMoveEvent) -> None:
        self._hold(event)

    def dropEvent(self, event: QDropEvent) -> None:
        if self._hold(event):
            self.memories_dropped.emit()

    def _hold(self, event: QDropEvent) -> bool:
        """Accept dragged memories, so that their drop can be answered; nothing is moved by that."""
        is_memory = event.mimeData().hasFormat(PATHS_MIME)
        event.setDropAction(Qt.DropAction.IgnoreAction)
        event.setAccepted(is_memory)
        return is_memory

    def show_homes(self, homes: Sequence[RowNode]) -> None:
        """The homes as they are now. New homes and projects start open, orphans closed."""
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
        """The value of a row; None for no row."""
        node = self.places.node(index)
        return node.data if node is not None else None

    def text_of(self, place: Place) -> str:
        """The place as its row names it."""
        return self.places.text_of(place)

    def followed(self, place: Place, home_name: str) -> Followed:
        """What a list beside it shows while `place` is selected: its workspace or project, else its home."""
        if place.kind not in ("project", "workspace"):
            return Followed(place.home, "", home_name, home_name)
        name = self.text_of(place)
        return Followed(place.home, place.path, name, home_name, place.workspace_id or "")

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

    def pick_first(self, session: HomeSession, asked: str) -> None:
        """Select the workspace `asked`, else the one used last, else the first, else the home itself."""
        home = session.info.id
        for wanted in (asked, session.recent_workspace):
            if wanted and self.pick(home, workspace_id=wanted):
                return
        if not self.pick(home):
            self.pick_home(home)

    def pick_hit(self, hit: SearchHit) -> None:
        """Select the workspace, project or home that a search result belongs to."""
        if hit.workspace_id and self.pick(hit.home_id, workspace_id=hit.workspace_id):
            return
        if not hit.project_path or not self.pick_project(hit.home_id, hit.project_path):
            self.pick_home(hit.home_id)

    def pick_home(self, home: str) -> bool:
        """Select the home itself."""
        return self.pick_keys((home,))

    def pick_project(self, home: str, path: str) -> bool:
        """Select a project of a home; False if it lists none of this path."""
        return self.pick_keys((home, "p:" + path))

    def pick_orphans(self, home: str) -> bool:
        """Select the orphaned stores of a home; False if it has none."""
        return self.pick_keys((home, "orphans"))

    def pick_keys(self, keys: tuple[str, ...]) -> bool:
        """Select a row; False if there is none of these keys."""
        index = self.places.index_of(keys)
        if index.isValid():
            self._select(index)
        return index.isValid()

    def entries(self) -> list[Entry]:
        """Homes, projects and workspaces as lines of the palette, with what they belong to."""
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


AT_ONCE_S = 0.01
"""How long the GUI thread waits for a place; most answer in a tenth of that."""
_ASK_AGAIN_MS = 50


class OpenHomes(QObject):
    """The sessions of the window's homes, and the places that cannot be opened now (`troubled_places`)."""

    opened = Signal(object)
    """The `HomeSession`; emitted again for a home that is open already."""
    closed = Signal(object)
    """The `HomeSession` that was closed by hand."""
    failed = Signal(str, object)
    """The path, and the `UserError`."""
    listed = Signal()
    """The list has to be filled again."""
    none_found = Signal()
    """The search found no home, and none is open or being opened."""
    noticed = Signal(str)
    """Why a place could not be opened, while others can."""

    def __init__(
        self,
        lanes: Lanes,
        profile: Profile,
        clock: Clock,
        engine: EngineLink,
        parent: QObject | None = None,
        *,
        watching: bool = True,
        asking: bool = True,
        left_closed: Iterable[Path] = (),
    ) -> None:
        """`left_closed`: the places of homes closed by hand."""
        super().__init__(parent)
        self._lanes = lanes
        self._profile = profile
        self._clock = clock
        self._watching = watching
        self._engine = engine
        self._asking = asking
        self._sessions: dict[str, HomeSession] = {}
        self._places: dict[str, set[Path]] = {}
        self._left_closed = set(left_closed)
        self._nodes: dict[str, RowNode] = {}
        self._opening = 0
        self._asked: set[str] = set()
        self._lost: dict[str, tuple[LostStore, ...]] = {}
        self._troubled: dict[Path, TroubledPlace] = {}
        self._asking_places: dict[Path, DiskCheck] = {}
        self._asking_again = repeating(self, _ASK_AGAIN_MS, self._ask_again)
        self._machines: dict[MachineAddress, MachineHomes] = {}

    @property
    def sessions(self) -> tuple[HomeSession, ...]:
        return tuple(self._sessions.values())

    @property
    def nodes(self) -> tuple[RowNode, ...]:
        """What the picker shows, in the order the homes were opened; last those that cannot be."""
        troubled = (
            troubled_node(str(place.root), str(place.error), silent=place.silent)
            for place in self._troubled.values()
        )
        elsewhere = (
            troubled_node(root, str(error), silent=not root, machine=there.link.machine_name)
            for there in self._machines.values()
            for root, error in there.troubled
        )
        return (*self._nodes.values(), *troubled, *elsewhere)

    @property
    def troubled_places(self) -> tuple[TroubledPlace, ...]:
        return tuple(self._troubled.values())

    @property
    def left_closed(self) -> frozenset[Path]:
        """The places that are not opened although they are found."""
        return frozenset(self._left_closed)

    def session(self, home_id: str) -> HomeSession | None:
        """The session of a home that is open; None where it is not."""
        return self._sessions.get(home_id)

    def asked_by(self, session: HomeSession) -> frozenset[Path | MachineAddress]:
        """The places and machines that this home was opened from."""
        if session.engine.machine is not None:
            return frozenset((session.engine.machine.address,))
        return frozenset(self._places.get(session.info.id, ()))

    def discover(self) -> None:
        """Open every home an agent of this user has."""

        services = self._engine.client.services

        def failed(error: UserError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit(
            "look for homes", ask(services.find_homes), done=self._on_found, failed=failed
        )

    def open(self, path: Path) -> None:
        """Open the home at `path`; one that is open already is told as opened again. One whose disk does not
        answer fails after a few seconds, and is opened once it answers."""
        self._left_closed.discard(path)
        if path in self._asking_places:
            if path in self._troubled:
                self.failed.emit(str(path), self._troubled[path].error)
            return
        look = DiskCheck((path,))
        if look.answered.wait(AT_ONCE_S):
            self._open_answering(path)
            return
        self._asking_places[path] = look
        self._opening += 1
        self._asking_again.start()

    def _open_answering(self, path: Path) -> None:
        place = path.absolute()
        self._submit(str(path), lambda _control: open_home(place, self._profile, self._engine.client))

    @Slot()
    def _ask_again(self) -> None:
        """Whether the places that gave no answer have one by now."""
        for path, look in list(self._asking_places.items()):
            known = self._troubled.get(path)
            if look.answered.is_set():
                del self._asking_places[path]
                if known is None or not known.silent:
                    self._opening -= 1
                self._open_answering(path)
            elif known is None and look.took_s > ANSWER_S:
                self._opening -= 1
                self._say_troubled(TroubledPlace(path, not_answering(path), silent=True))
        if not self._asking_places:
            self._asking_again.stop()

    def _say_troubled(self, place: TroubledPlace) -> None:
        """List a place that cannot be opened now; one whose disk hangs is waited for."""
        known = self._troubled.get(place.root)
        self._troubled[place.root] = place
        if place.silent and place.root not in self._asking_places:
            self._asking_places[place.root] = DiskCheck((place.root,))
            self._asking_again.start()
        if known is None or known.silent != place.silent:
            self.listed.emit()
            if self._opening or self._sessions:
                self.noticed.emit(str(place.error))
            else:
                self.failed.emit(str(place.root), place.error)

    def open_machine(self, address: MachineAddress) -> None:
        """Open the homes of another machine, or the one that the address names. One that is open already is
        told as opened again."""
        there = self._machines.get(address)
        if there is None:
            machine = RemoteMachine(address)
            link = EngineLink(self._profile, self._clock, self, own_process=True, machine=machine)
            there = self._machines[address] = MachineHomes(link, self._profile, self)
            there.opened.connect(self._on_opened_elsewhere)
            there.listed.connect(self.listed)
            there.failed.connect(self._on_machine_failed)
            there.ended.connect(self._on_machine_ended)
        there.try_again()

    def try_again(self, place: Place) -> bool:
        """A person looks at a place that cannot be opened. True where a place of this machine is opened once
        more; one whose disk does not answer is waited for."""
        known = self._troubled.get(Path(place.reason)) if not place.machine else None
        if known is not None and not known.silent:
            self.open(known.root)
            return True
        for there in self._machines.values():
            if place.machine and there.link.machine_name == place.machine:
                there.try_again()
        return False

    @Slot(object, object)
    def _on_opened_elsewhere(self, link: EngineLink, opened: HomeOpened) -> None:
        known = self._sessions.get(opened.info.id)
        if known is not None and known.engine is not link:
            text = self.tr("{root} on {machine} is not opened: it has the identity of {home}.")
            root, home = opened.info.root, known.info.label
            self.noticed.emit(text.format(root=root, machine=link.machine_name, home=home))
            return
        self._take(opened, link)

    @Slot(object)
    def _on_machine_failed(self, error: UserError) -> None:
        if self._sessions or self._opening:
            self.noticed.emit(str(error))
        else:
            self.failed.emit("", error)

    @Slot()
    def _on_machine_ended(self) -> None:
        if not (self._sessions or self._is_opening or self.nodes):
            self.none_found.emit()

    @property
    def _is_opening(self) -> bool:
        return bool(self._opening) or any(there.is_opening for there in self._machines.values())

    def open_demo(self, directory: Path) -> None:
        """Open a throw-away copy of the demo home, made below `directory`."""
        profile, engine = self._profile, self._engine.client

        async def work(_control: JobControl) -> HomeOpened:
            # Nobody else's to read, wherever temporary files are.
            directory.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            directory.mkdir(exist_ok=True)
            copy = directory / "demo-home"
            path = copy if copy.is_dir() else copy_demo_home(directory)
            return replace(await open_home(path, profile, engine), is_demo=True)

        self._submit(str(directory), work)

    def _submit(self, path: str, work: Work[HomeOpened]) -> None:
        def failed(error: UserError) -> None:
            self._opening -= 1
            if Path(path) in self._troubled:
                self._troubled[Path(path)] = TroubledPlace(Path(path), error)
                self.listed.emit()
            self.failed.emit(path, error)

        def done(opened: HomeOpened) -> None:
            self._opening -= 1
            self._troubled.pop(Path(path), None)
            if Path(path) in self._left_closed:
                return  # closed while it was being opened once more
            self._places.setdefault(opened.info.id, set()).add(Path(path))
            self._on_opened(opened)

        self._opening += 1
        self._lanes.scan.submit("open a home", work, done=done, failed=failed)

    def _on_found(self, found: DiscoveredHomes) -> None:
        found = self._wanted(found)
        if not (found.homes or found.troubled or self._sessions or self._is_opening):
            self.none_found.emit()
        for home in found.homes:
            self.open(home.root)
        for place in found.troubled:
            self._say_troubled(place)
        if found.homes:
            self._discover_projects(found)

    def _wanted(self, found: DiscoveredHomes) -> DiscoveredHomes:
        """`found` without the places closed by hand."""
        closed = self._left_closed
        return DiscoveredHomes(
            tuple(home for home in found.homes if home.root not in closed),
            tuple(place for place in found.troubled if place.root not in closed),
        )

    def _discover_projects(self, homes: DiscoveredHomes) -> None:
        """Open the stores in the projects of these homes, after the homes: it takes longer."""
        services = self._engine.client.services

        def failed(error: UserError) -> None:
            self.failed.emit("", error)

        self._lanes.scan.submit(
            "look for projects' stores", ask(services.find_stores, homes), done=self._on_stores, failed=failed
        )

    def _on_stores(self, found: DiscoveredHomes) -> None:
        for home in self._wanted(found).homes:
            self.open(home.root)

    def _on_opened(self, opened: HomeOpened) -> None:
        if self._was_moved(opened.info):
            return
        self._left_closed.discard(opened.info.root)
        self._take(opened, self._engine)

    def _take(self, opened: HomeOpened, engine: EngineLink) -> None:
        session = self._sessions.get(opened.info.id)
        if session is None:
            session = HomeSession(opened, self._lanes, engine, watching=self._watching, parent=self)
            self._sessions[opened.info.id] = session
            session.info_changed.connect(self._on_info)
        self._list(session.info)
        self.opened.emit(session)

    def _was_moved(self, info: HomeInfo) -> bool:
        """Ask whether this is a known home at a new place; if so, it is opened as that one.
        Asked once per window, and only where somebody can answer."""
        if not self._asking or not info.adoptable or info.id in self._asked or info.id in self._sessions:
            return False
        self._asked.add(info.id)
        known = info.adoptable[0]
        parent = self.parent()
        window = parent if isinstance(parent, QWidget) else None
        if not dialogs.ask_adoption(window, info.root, known.root):
            return False
        profile, engine = self._profile, self._engine.client
        self._places.setdefault(known.id, set()).update(self._places.pop(info.id, ()))
        self._submit(str(info.root), lambda _control: adopt_home(info.root, known.id, profile, engine))
        return True

    @Slot(object)
    def _on_info(self, info: HomeInfo) -> None:
        self._list(info)

    @Slot(str, object)
    def set_lost(self, home_id: str, stores: tuple[LostStore, ...]) -> None:
        """The orphaned stores of a home, once they were searched for."""
        session = self._sessions.get(home_id)
        if session is not None and self._lost.get(home_id) != stores:
            self._lost[home_id] = stores
            self._list(session.info)

    def close_home(self, home_id: str) -> None:
        """It leaves the list, and nothing of it is watched any more; on disk nothing changes."""
        session = self._sessions.pop(home_id, None)
        if session is None:
            return
        for kept in (self._nodes, self._lost):
            kept.pop(home_id, None)
        if session.is_here:
            self._left_closed |= {session.info.root, *self._places.pop(home_id, ())}
        session.info_changed.disconnect(self._on_info)
        session.close()
        self.closed.emit(session)
        self.listed.emit()

    def close_trouble(self, place: Place) -> None:
        """The same for a place that cannot be opened: it is asked no more."""
        if not place.machine:
            self.close_place(Path(place.reason))
        for there in self._machines.values():
            if place.machine and there.link.machine_name == place.machine:
                there.close_place(place.reason)

    def close_place(self, place: Path) -> None:
        """As `close_trouble`, for a place of this machine."""
        if self._asking_places.pop(place, None) is not None and place not in self._troubled:
            self._opening -= 1
        if self._troubled.pop(place, None) is not None:
            self._left_closed.add(place)
            self.listed.emit()

    def _list(self, info: HomeInfo) -> None:
        self._nodes[info.id] = home_node(
            info.id,
            info.label,
            str(info.root),
            info.contents,
            self._nodes.get(info.id),
            self._lost.get(info.id),
        )
        self.listed.emit()

    def close(self) -> None:
        """Hear of nothing any more, and wait for no place."""
        self._asking_again.stop()
        for session in self._sessions.values():
            session.close(leave=False)

    def disconnect_machines(self) -> None:
        """End the connections to other machines, once nothing more is to be sent to them."""
        for there in self._machines.values():
            there.stop()


class HomeCloser(QObject):
    """Closes one home of the window: asks for unsaved text, refuses while a run is going on, then shows
    another home. `none_left()`: no home is open any more."""

    status_message = Signal(str)
    none_left = Signal()

    def __init__(
        self,
        homes: OpenHomes,
        picker: Picker,
        tab: MemoryTab,
        unsaved: UnsavedChanges,
        menu: QMenu,
        hosts: Callable[[str], bool],
    ) -> None:
        """`menu`: the context menu of a home's row. `hosts`: whether the background services of a home run
        here."""
        super().__init__(picker)
        self._homes, self._picker, self._tab = homes, picker, tab
        self._unsaved, self._hosts = unsaved, hosts
        self.menu = menu
        picker.customContextMenuRequested.connect(self._show_menu)

    @property
    def possible(self) -> bool:
        """There is something to close."""
        return self._tab.session is not None or self._picker.place(self._picker.currentIndex()) is not None

    def close_selected(self) -> None:
        """Close the home that is selected at the left, or that one of its rows belongs to."""
        place, shown = self._picker.place(self._picker.currentIndex()), self._tab.session
        if place is not None and place.trouble:
            self._homes.close_trouble(place)
            self.show_again()
            return
        home = place.home if place is not None else shown.info.id if shown else ""
        session = self._homes.session(home)
        if session is not None:
            self._ask(session)

    def _ask(self, session: HomeSession) -> None:
        if self._runs_in(session):
            text = self.tr("A run is going on in {home}. Cancel it or wait for its end, then close the home.")
            self.status_message.emit(text.format(home=session.info.label))
        # Later: the answer to a save comes in the middle of what the editor still has to do.
        elif self._unsaved.may_close(
            session.info.id, lambda: QTimer.singleShot(0, self, lambda: self._ask(session))
        ):
            self._close(session)

    def _runs_in(self, session: HomeSession) -> bool:
        tab = self._tab
        running = session.status.running if session.status is not None else None
        # What was started by hand is known exactly; what the services started shows by its lease.
        return (
            tab.dreams.jobs.runs_in(session.workbench)
            or tab.extraction.runs_in(session)
            or tab.notes.runs_in(session)
            or (self._hosts(session.info.id) and running is not None and running.ours)
        )

    def _close(self, session: HomeSession) -> None:
        home = session.info.id
        if self._homes.session(home) is not session:
            return
        # Unsaved text was saved or given up.
        self._tab.editor.forget_home(home)
        if session is self._tab.session:
            self._show_another(home)
        self._homes.close_home(home)
        self._tab.situation_changed.emit()
        text = self.tr("Closed {home}; its files are as they were.")
        self.status_message.emit(text.format(home=session.info.label))

    def _show_another(self, closed: str) -> None:
        """Show the next home of the list, else the one before."""
        sessions = self._homes.sessions
        ids = [session.info.id for session in sessions]
        at = ids.index(closed) if closed in ids else -1
        others = [*sessions[at + 1 :], *reversed(sessions[: max(at, 0)])]
        if others:
            self._picker.pick_first(others[0], "")
        else:
            self.none_left.emit()

    @Slot()
    def show_again(self) -> None:
        """Select the place that is shown again; where the home lists it no more, its workspace under the
        project that it belongs to now, else the home."""
        session, picker = self._tab.session, self._picker
        if session is None or session.context is None:
            self._show_another("")
            return
        home, context = session.info.id, session.context
        if context.workspace_id and picker.pick(home, workspace_id=context.workspace_id):
            return
        if not context.project_path or not picker.pick_project(home, context.project_path):
            picker.pick_home(home)

    def _show_menu(self, at: QPoint) -> None:
        place = self._picker.place(self._picker.indexAt(at))
        if place is not None and place.kind == "home":
            self.menu.popup(self._picker.viewport().mapToGlobal(at))


class UnsavedChanges:
    """Asks what to do with unsaved text before the window or a home closes. "Save" closes it once
    everything is saved; if something could not be saved, it stays open and the status bar says so."""

    def __init__(
        self, tab: MemoryTab, close_window: Callable[[], object], say: Callable[[str], object]
    ) -> None:
        self._tab, self._close_window, self._say = tab, close_window, say
        self._then: Callable[[], object] | None = None
        self._home = ""

    def may_close(self, home: str = "", then: Callable[[], object] | None = None) -> bool:
        """Whether nothing of `home` (of any home, if empty) is unsaved, or its text may be discarded; asks.
        After "save", `then` is called once everything is saved; without it the window closes."""
        if not self._tab.telling.may_close(home):
            return False
        unsaved = self._files(home)
        if not unsaved:
            return True
        answer = dialogs.ask_unsaved(self._tab.window(), [file.buffer.address.label for file in unsaved])
        if answer == "save":
            self._then, self._home = then or self._close_window, home
            for file in unsaved:
                self._tab.buffers.save(file)
        return answer == "discard"

    def _files(self, home: str) -> tuple[OpenFile, ...]:
        return tuple(file for file in self._tab.buffers.unsaved() if not home or file.buffer.ref.home == home)

    def update(self) -> None:
        """The state of some file changed: close if nothing is unsaved any more, give up if a save failed."""
        then = self._then
        if then is None:
            return
        unsaved = self._files(self._home)
        if not unsaved:
            self._then = None
            then()
        elif not any(file.saving for file in unsaved):
            self._then = None
            home = tr("Not everything could be saved; the home stays open.")
            window = tr("Not everything could be saved; the window stays open.")
            self._say(home if self._home else window)
