"""Session restore: the next window starts where the last one of the profile ended.

The state is a small JSON file of the profile (`Remembered`). Reading it never fails: a field that is
missing or
of another type counts as its default, and unknown fields are ignored. No text of a memory is stored.

Size and splitters are set before the window is shown; place, open folders, file, cursor and scroll positions
follow when the tree is on screen, never before it (design.md section 7). As soon as another place or file is
selected by hand, nothing more is restored. What no longer exists is skipped.

Threading: GUI thread. The file is read before the window is created and written after its event loop has
ended.
Imported before the first paint: nothing heavy at the top, and `Qt` (whose enums are slow to create) only
where it is used.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QTextCursor

from reverie.errors import UserError
from reverie.files.atomic import atomic_write
from reverie.files.directory import ensure_private
from reverie.files.paths import read_regular
from reverie.profile import Profile
from reverie.ui.tree.memory_tree import CompanionData

if TYPE_CHECKING:
    from reverie.ui.editor.documents import OpenFile
    from reverie.ui.session import HomeSession, TreeUpdate
    from reverie.ui.window.main_window import MainWindow


log = logging.getLogger("reverie.window")

MOST_FOLDERS = 2_000
MOST_HOMES = 100
_LARGEST = 1_000_000
_FILE = "window.json"


@dataclass(frozen=True, slots=True)
class Remembered:
    """The window as it was closed. Rows of the tree are tuples of keys; lengths and scroll positions
    pixels."""

    home: str = ""
    """The root of the home that was shown."""
    homes: tuple[str, ...] = ()
    """The roots of every home that was open, in the order of the list."""
    closed: tuple[str, ...] = ()
    """The places of homes closed by hand; they stay closed until they are opened by hand."""
    workspace: str = ""
    project: str = ""
    geometry: str = ""
    """Qt's own bytes, in base64."""
    picker: bool = True
    picker_width: int = 0
    tree_width: int = 0
    tab: int = 0
    sort: str = ""
    opened: tuple[tuple[str, ...], ...] | None = None
    """The open rows of the tree; None for those that open by themselves."""
    tree_scroll: int = 0
    file: str = ""
    """A memory path, or the path of a companion."""
    companion: bool = False
    cursor: int = 0
    """In UTF-16 units, like `anchor`."""
    anchor: int = 0
    text_scroll: int = 0


def remembered_file(profile: Profile) -> Path:
    """Where it lies in a profile; it need not exist."""
    return profile.state / _FILE


def read_remembered(profile: Profile) -> Remembered:
    """The state of the last window; the default for every field that is missing or invalid."""
    try:
        stored: Any = json.loads(read_regular(remembered_file(profile), _LARGEST))
    except (OSError, ValueError, RecursionError):
        return Remembered()
    return _from(stored) if isinstance(stored, dict) else Remembered()


def _from(stored: Mapping[str, Any]) -> Remembered:
    kept: dict[str, Any] = {}
    for field in fields(Remembered):
        value, default = stored.get(field.name), field.default
        if field.name == "opened":
            kept["opened"] = _keys(value)
        elif field.name in ("homes", "closed"):
            kept[field.name] = _texts(value)
        elif type(value) is type(default) and not (isinstance(value, int) and value < 0):
            # A bool is no number here: the types have to be the same.
            kept[field.name] = value
    return Remembered(**kept)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(text for text in value[:MOST_HOMES] if isinstance(text, str) and text)


def _keys(value: Any) -> tuple[tuple[str, ...], ...] | None:
    if not isinstance(value, list):
        return None
    paths = [path for path in value[:MOST_FOLDERS] if isinstance(path, list)]
    return tuple(tuple(path) for path in paths if path and all(isinstance(key, str) for key in path))


def write_remembered(profile: Profile, remembered: Remembered) -> None:
    """Keep it. Raises `UserError`."""
    ensure_private(profile.state)
    text = json.dumps(asdict(remembered), ensure_ascii=True, indent=1)
    atomic_write(remembered_file(profile), text.encode(), mode=0o600)


class SessionStore(QObject):
    """Created once the UI is built, before a home is opened. `restoring`: something is still waiting for
    the tree or the text."""

    def __init__(self, window: MainWindow, remembered: Remembered, *, place: bool) -> None:
        """`place`: restore home and file too; not when the command line names what to open."""
        super().__init__(window)
        self._window = window
        self._wanted = remembered
        self._session: HomeSession | None = None
        self.restoring = place and bool(remembered.home)
        self._begin()
        if self.restoring:
            window.homes.opened.connect(self._on_opened)

    def _begin(self) -> None:
        window, wanted = self._window, self._wanted
        window.picker.setVisible(wanted.picker)
        if wanted.picker_width:
            rest = max(1, window.width() - wanted.picker_width)
            window.splitter.set_beside([wanted.picker_width, rest])
        if wanted.tree_width:
            rest = max(1, window.width() - wanted.picker_width * wanted.picker - wanted.tree_width)
            window.tab.splitter.setSizes([wanted.tree_width, rest])
        if 0 < wanted.tab < window.tabs.count():
            window.tabs.setCurrentIndex(wanted.tab)
        if wanted.sort:
            window.tab.order.sort_key = wanted.sort

    # Place

    @Slot(object)
    def _on_opened(self, session: HomeSession) -> None:
        if not self.restoring or not session.is_here or str(session.info.root) != self._wanted.home:
            return
        self._window.homes.opened.disconnect(self._on_opened)
        wanted, home, picker = self._wanted, session.info.id, self._window.picker
        there = (
            picker.pick(home, workspace_id=wanted.workspace)
            if wanted.workspace
            else bool(wanted.project) and picker.pick_project(home, wanted.project)
        )
        if not there and (wanted.workspace or wanted.project):
            self.restoring = False
            return
        if not there:
            picker.pick_home(home)
        self._session = session
        session.tree_changed.connect(self._on_tree)

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """The tree with everything in it is there: open folders, then the file."""
        if update.names_only or self._session is None:
            return
        self._session.tree_changed.disconnect(self._on_tree)
        wanted, tab = self._wanted, self._window.tab
        context = update.context
        # A person who has picked something meanwhile is not called back.
        if (context.workspace_id or "") != wanted.workspace or tab.tree.current_data() is not None:
            self.restoring = False
            return
        if wanted.opened is not None:
            tab.tree.reopen(wanted.opened)
        if not self._open_file(update):
            self.restoring = False
        tab.tree.verticalScrollBar().setValue(wanted.tree_scroll)

    def _open_file(self, update: TreeUpdate) -> bool:
        wanted, tab = self._wanted, self._window.tab
        if not wanted.file:
            return False
        tab.buffers.opened.connect(self._on_file)
        if not wanted.companion:
            if tab.tree.select_path(wanted.file):
                return True
        else:
            for scope in update.tree.root.children:
                for node in scope.children:
                    data = node.data
                    if isinstance(data, CompanionData) and str(data.companion.path) == wanted.file:
                        tab.editor.open(data)
                        return True
        tab.buffers.opened.disconnect(self._on_file)
        return False

    @Slot(object)
    def _on_file(self, file: OpenFile) -> None:
        """The text is on screen: cursor and scroll position."""
        self._window.tab.buffers.opened.disconnect(self._on_file)
        self.restoring = False
        wanted, pane = self._wanted, self._window.tab.pane
        if pane.file is not file or _name(file) != (wanted.file, wanted.companion):
            return
        last = pane.text.document().characterCount() - 1
        cursor = pane.text.textCursor()
        cursor.setPosition(min(wanted.anchor, last))
        cursor.setPosition(min(wanted.cursor, last), QTextCursor.MoveMode.KeepAnchor)
        pane.text.setTextCursor(cursor)
        pane.text.verticalScrollBar().setValue(wanted.text_scroll)

    # Remembering

    def capture(self) -> Remembered:
        """The window as it is now (it may be closed already)."""
        window, tab = self._window, self._window.tab
        sizes, inner = window.splitter.beside(), tab.splitter.sizes()
        shown = Remembered(
            geometry=bytes(window.saveGeometry().toBase64().data()).decode("ascii"),
            picker=not window.picker.isHidden(),
            picker_width=sizes[0] or self._wanted.picker_width,
            tab=max(0, window.tabs.currentIndex()),
            sort=tab.order.sort_key,
        )
        if tab.splitter.orientation() == Qt.Orientation.Horizontal:
            shown = replace(shown, tree_width=inner[0])
        roots = [str(session.info.root) for session in window.homes.sessions if session.is_here]
        # Those that were not opened this time, or could not be, are still the person's homes.
        closed = dict.fromkeys((*map(str, sorted(window.homes.left_closed)), *self._wanted.closed))
        closed = {place: None for place in closed if place not in roots}
        homes = [home for home in dict.fromkeys((*roots, *self._wanted.homes)) if home not in closed]
        shown = replace(shown, homes=tuple(homes[:MOST_HOMES]), closed=tuple(closed)[:MOST_HOMES])
        session = window.session
        if session is None or session.context is None or not session.is_here:
            return shown
        context, text = session.context, tab.pane.text
        shown = replace(
            shown,
            home=str(session.info.root),
            workspace=context.workspace_id or "",
            project="" if context.workspace_id else context.project_path or "",
            opened=tuple(sorted(tab.tree.opened_keys))[:MOST_FOLDERS],
            tree_scroll=tab.tree.verticalScrollBar().value(),
        )
        file = tab.pane.file
        if file is None:
            return shown
        name, companion = _name(file)
        return replace(
            shown,
            file=name,
            companion=companion,
            cursor=text.textCursor().position(),
            anchor=text.textCursor().anchor(),
            text_scroll=text.verticalScrollBar().value(),
        )

    def keep(self, profile: Profile, throw_away: Path) -> None:
        """Write it down, once the loop has ended. A home below `throw_away` will not be there next time."""
        now = self.capture()
        lasting = tuple(home for home in now.homes if not Path(home).is_relative_to(throw_away))
        now = replace(now, homes=lasting)
        if Path(now.home).is_relative_to(throw_away):
            kept = self._wanted
            now = replace(
                kept,
                home=kept.home if kept.home not in now.closed else "",
                homes=now.homes,
                closed=now.closed,
                geometry=now.geometry,
                picker=now.picker,
                picker_width=now.picker_width,
            )
        try:
            write_remembered(profile, now)
        except UserError as error:
            log.warning("the window is not remembered: %s", error.title)


def _name(file: OpenFile) -> tuple[str, bool]:
    address = file.buffer.address
    if address.companion is not None:
        return str(address.companion.path), True
    return address.path, False
