"""The names of the memories, on screen before the rest of the window is loaded (design.md section 7).

What the window is made of takes several times as long to import and build as a list of names does. So a
window that was begun `furnished=False` shows this first: the memory tree alone, as the window will show it
(drawn by `first_rows`), of the place where the window will begin. One job lists the names, the next one
imports the modules of the window; `loaded` then says that it can be built without reading a file on the GUI
thread. Where the names let people wait, as on a share that does not answer, the window is loaded beside it.

The tree here is looked at only. Threading: GUI thread; the work is in jobs. Failure: what cannot be listed is
left to the window, which says so in words.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from reverie.errors import MendableError
from reverie.homes.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.memory.listing import ScopeListing, names_only
from reverie.ui.first_rows import FirstRows, FirstView
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.tree_nodes import EMPTY, MemoryTree, build_tree

if TYPE_CHECKING:
    from reverie.homes.base import Home
    from reverie.homes.listing import Companion

NAMES_LATEST_MS = 2_000
_ANSWER_S = 1.0
# What a window is made of. As `import` statements in `main_window` name them.
_WINDOW = (
    "reverie.ui.actions",
    "reverie.ui.close_home",
    "reverie.ui.dialogs",
    "reverie.ui.late_tabs",
    "reverie.ui.memory.tab",
    "reverie.ui.open_homes",
    "reverie.ui.picker",
    "reverie.ui.session_store",
    "reverie.ui.settings_control",
    "reverie.ui.welcome",
    "reverie.helper.workbench",
    "reverie.services.workbench",
)


class _Names(NamedTuple):
    """What `build_tree` needs to know."""

    scopes: Mapping[Scope, ScopeListing]
    companions: tuple[Companion, ...]


class FirstLook(QObject):
    """`loaded()`: the names are on screen, or there are none, and what the window needs is imported."""

    loaded = Signal()

    def __init__(self, icons: Icons, lane: Lane, aside: Lane, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._aside = aside
        self._loading = False
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.setInterval(NAMES_LATEST_MS)
        self._late.timeout.connect(self._on_late)
        self.model = FirstRows(self)
        self.view = FirstView(self.model, icons)

    def begin(self, homes: tuple[Path, ...], workspace: str, closed: tuple[Path, ...] = ()) -> None:
        """Look at the first of `homes`, or at the first that is found and not one of `closed`."""

        def work(_control: JobControl) -> MemoryTree:
            return first_names(homes, workspace, closed)

        self._late.start()
        self._lane.submit("first look", work, done=self._on_names, failed=self._on_failed)

    def load(self) -> None:
        """Import what the window is made of."""
        self._load(self._lane)

    def _load(self, lane: Lane) -> None:
        self._late.stop()
        if self._loading:
            return
        self._loading = True

        def work(_control: JobControl) -> None:
            for name in _WINDOW:
                __import__(name, fromlist=("*",))

        lane.submit("load the window", work, done=self._on_loaded)

    @Slot()
    def _on_late(self) -> None:
        self._load(self._aside)

    def _on_names(self, tree: MemoryTree) -> None:
        self.view.show_tree(tree)
        # Now: the imports that follow would keep the interpreter from it.
        self.view.viewport().repaint()
        self.load()

    def _on_failed(self, _error: MendableError) -> None:
        self.load()

    def _on_loaded(self, _nothing: None) -> None:
        self.loaded.emit()


def first_names(homes: tuple[Path, ...], workspace: str, closed: tuple[Path, ...] = ()) -> MemoryTree:
    """The names at the place where the window begins; nothing where no home is found. Blocks. Raises
    `MendableError`."""
    from reverie.files.look import ask_each
    from reverie.homes.discovery import User, find_homes, open_home

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
    context = home.context(workspace_id=_beginning(home, workspace))
    scopes = {scope: _names(home, context, scope) for scope in Scope}
    return build_tree(_Names(scopes, home.companions(context)), names_only=True, closed=True)


def _beginning(home: Home, asked: str) -> str | None:
    """The workspace asked for, else the one used last, else the first that is not archived."""
    workspaces = home.contents().workspaces()
    if asked in {each.id for each in workspaces}:
        return asked
    current = [each.id for each in workspaces if not each.archived]
    at = {id_: when for id_, when in home.recencies() if id_ in current}
    return max(current, key=lambda id_: at.get(id_, 0), default=None)


def _names(home: Home, context: ScopeContext, scope: Scope) -> ScopeListing:
    try:
        return names_only(home.scope_root(context, scope))
    except ScopeUnavailable as gap:
        return ScopeListing(None, gap.cause or gap.title, gap.gap, (), (), ())
