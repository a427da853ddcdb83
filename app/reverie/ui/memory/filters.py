"""The filters and the sort order of the trees: the row of filter chips above the trees, and the sort menu.

The chips are All, Loaded, Changed, Pinned, Stale and Warnings, each with its count. This module only holds
the choice; a job of the session builds the trees accordingly. The choice belongs to the window, not to a
  home, so it also applies to the next home that is shown.

The counts of pinned and changed files come from the tree. The count of loaded files comes from the context,
the counts of stale files and warnings from the checks; these three can arrive later. A filter for which the
home has no data is hidden.

Threading: GUI thread; files are read only by jobs. The counts are updated a moment after the trees, so that
a burst of changes is counted once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from reverie.agents.base import loaded_next
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.display_text import counted, tr
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane, single_shot
from reverie.ui.tree.memory_tree import BY_NAME, SORT_KEYS, Arrangement, Show
from reverie.ui.tree.model import MemoryTreeModel
from reverie.ui.widgets.chips import FilterChips

if TYPE_CHECKING:
    from reverie.agents.base import LoadState
    from reverie.ui.memory.shown_place import ShownPlace
    from reverie.ui.session import TreeUpdate
    from reverie.ui.window.actions import Actions

log = logging.getLogger("reverie.filters")
COUNT_MS = 120
LOADED_MS = 400
EXPECTED_MS = 10_000
"""Milliseconds after a save during which a change of the loaded files is attributed to the save."""


ORDER_MENU = ("view.sort-name", "view.sort-recent", "view.sort-use", "view.sort-size", "view.only-changed")


class TreeOrder(QObject):
    """The chosen order and filter of the trees, and the `button` that opens the sort menu."""

    chosen = Signal(object)
    """Emitted with the new `Arrangement` when the order or the filter has changed."""

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._actions: Actions | None = None
        self.arrangement = BY_NAME
        self.button = QToolButton(parent)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setAutoRaise(True)
        self.button.setAccessibleName(self.tr("Sort order of the memories"))
        self._say()

    def set_actions(self, actions: Actions) -> None:
        """Create the button's menu from the window's sort actions."""
        self._actions = actions
        menu = QMenu(self.button)
        actions.fill_menu(menu, ORDER_MENU)
        self.button.setMenu(menu)
        group = QActionGroup(self)
        for id_ in ORDER_MENU[:-1]:
            group.addAction(actions[id_])
        self._say()

    @property
    def sort_key(self) -> str:
        return self.arrangement.sort

    @sort_key.setter
    def sort_key(self, key: str) -> None:
        """Choose the sort order.

        An unknown key, which another version may have stored, is ignored.
        """
        for known in SORT_KEYS:
            if known == key:
                self._choose(self.arrangement._replace(sort=known))

    def show(self, show: Show, only: frozenset[str] = frozenset()) -> None:
        """Choose the filter `show` of the trees.

        `only`: the paths of the memories to show, for the filters "loaded", "stale" and "warnings".
        """
        self._choose(self.arrangement._replace(show=show, only=only))

    @Slot()
    def by_name(self) -> None:
        self.sort_key = "name"

    @Slot()
    def by_recent(self) -> None:
        self.sort_key = "recent"

    @Slot()
    def by_use(self) -> None:
        self.sort_key = "use"

    @Slot()
    def by_size(self) -> None:
        self.sort_key = "size"

    @Slot()
    def toggle_only_changed(self) -> None:
        self.show("all" if self.arrangement.show == "changed" else "changed")

    def _choose(self, arrangement: Arrangement) -> None:
        """Set the arrangement, and emit `chosen` if it has changed."""
        changed = arrangement != self.arrangement
        self.arrangement = arrangement
        self._say()
        if changed:
            self.chosen.emit(arrangement)

    def _say(self) -> None:
        """Update the text of the button and the check marks of its menu."""
        now = self.arrangement
        says = {
            "name": self.tr("Sorted by name"),
            "recent": self.tr("Sorted by last change"),
            "use": self.tr("Sorted by use"),
            "size": self.tr("Sorted by size"),
        }[now.sort]
        self.button.setToolTip(says)
        self.button.setAccessibleDescription(says)
        self.button.setIcon(self._icons.icon("sort"))
        if self._actions is not None:
            self._actions[f"view.sort-{now.sort}"].setChecked(True)
            self._actions["view.only-changed"].setChecked(now.show == "changed")


def tree_filters() -> dict[str, tuple[str, str]]:
    """Return the name and the tool tip of each filter of the trees."""
    return {
        "all": (tr("All"), tr("All memories")),
        "loaded": (tr("Loaded"), tr("Memories that the agent loads in full when it starts")),
        "changed": (tr("Changed"), tr("Memories changed by someone else since you last viewed them")),
        "pinned": (tr("Pinned"), tr("Memories that a consolidation never deletes or renames")),
        "stale": (tr("Stale"), tr("Memories with statements about the project that are no longer true")),
        "warnings": (
            tr("Warnings"),
            tr(
                "Memories with warnings, such as secret-like text, hidden characters, or text that "
                "the agent does not see"
            ),
        ),
    }


def next_session_words(states: Mapping[str, LoadState], total: int) -> str:
    """Return a sentence about what a new session loads: tokens in all, and files by load state.

    A file that is loaded only when needed is not counted.
    """
    counts = Counter(state for path, state in states.items() if path.startswith("/memories/"))
    beside = Counter(state for path, state in states.items() if not path.startswith("/memories/"))
    full, part, line, listed = (counts[state] for state in ("full", "part", "line", "listed"))
    parts = [tr("{n} in full").format(n=full)] if full else []
    parts += [tr("{n} in part").format(n=part)] if part else []
    parts += [tr("{n} by index line").format(n=line)] if line else []
    parts += [tr("{n} by name").format(n=listed)] if listed else []
    others = beside["full"] + beside["part"]
    parts += [counted("1 instruction file", "%n instruction files", others)] if others else []
    if not parts:
        return tr("Next session: no memories are loaded")
    size = counted("1 token", "%n tokens", total)
    return tr("Next session: {size} · {parts}").format(size=size, parts=", ".join(parts))


class FilterControl(QObject):
    """The controller that keeps the filter chips, their counts and the shown trees consistent."""

    next_said = Signal(str)
    """Emitted with a sentence about what a new session of the agent loads; "" if that is unknown."""
    displaced = Signal(object)
    """Emitted with a `LoadedNext` when a save changes which files a new session of the agent loads."""

    def __init__(
        self,
        shown: ShownPlace,
        chips: FilterChips,
        order: TreeOrder,
        model: MemoryTreeModel,
        lane: Lane,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._shown = shown
        self._lane = lane
        self._chips = chips
        self._order = order
        self._model = model
        self._loaded: Mapping[str, LoadState] | None = None
        self._before_save: Mapping[str, LoadState] | None = None
        self._given_up = single_shot(self, EXPECTED_MS, self._give_up)
        self._soon = single_shot(self, COUNT_MS, self._count)
        self._ask_soon = single_shot(self, LOADED_MS, self._ask_loaded)
        chips.chosen.connect(self._on_chosen)
        order.chosen.connect(self._on_order)
        model.warnings_changed.connect(self._soon.start)

    def forget(self) -> None:
        """Stop reading what the agent loads, because another home is shown."""
        self._lane.abandon("loaded")

    def follow(self, update: TreeUpdate) -> None:
        """Update the counts and the loaded files, after a delay, for the updated trees."""
        if update.other:
            self._give_up()
            self._set_loaded(None)
        if not update.names_only:
            self._soon.start()
            self._ask_soon.start()

    @Slot()
    def expect_change(self) -> None:
        """Watch for a change of the loaded files caused by a save, to announce it by `displaced`.

        Stops after `EXPECTED_MS`.
        """
        if self._before_save is None:
            self._before_save = self._loaded
        self._given_up.start()

    @Slot()
    def _give_up(self) -> None:
        """Stop attributing changes of the loaded files to a save."""
        self._before_save = None

    @Slot()
    def _ask_loaded(self) -> None:
        """Read in a job how much of each file the agent loads."""
        place = self._shown.place
        if place is None:
            return
        session, update = place

        def failed(error: UserError) -> None:
            # The Context tab shows this error; here only the marks of loaded files are missing.
            log.info("cannot determine what the agent loads: %s", error.title)
            self._set_loaded(None)

        self._lane.submit(
            "what the agent loads",
            ask(session.workbench.loaded, update.context),
            done=self._set_loaded,
            failed=failed,
            group="loaded",
        )

    def _set_loaded(self, found: tuple[Mapping[str, LoadState], int] | None) -> None:
        """Show how much of each file the agent loads, and how many tokens in all; None means unknown."""
        states = found[0] if found is not None else None
        self._loaded = states
        self.next_said.emit(next_session_words(*found) if found is not None else "")
        self._model.set_loaded(states or {})
        if self._before_save is not None and states is not None:
            change = loaded_next(self._before_save, states)
            if change:
                self._before_save = None
                self.displaced.emit(change)
        self._soon.start()

    @Slot(str)
    def _on_chosen(self, show: Show) -> None:
        self._order.show(show, self._paths(show))

    @Slot(object)
    def _on_order(self, _arrangement: object) -> None:
        self._chips.choose(self._order.arrangement.show)

    def _paths(self, show: Show) -> frozenset[str]:
        """Return the paths of the memories that the filter "loaded", "stale" or "warnings" shows.

        Empty for the other filters, for which the tree itself knows the memories.
        """
        if show == "loaded":
            states = (self._loaded or {}).items()
            return frozenset(path for path, state in states if state in ("full", "part"))
        if show == "stale":
            return self._model.stale_paths()
        return self._model.warned_paths() if show == "warnings" else frozenset()

    @Slot()
    def _count(self) -> None:
        """Update the counts of the chips, and the paths that the active filter shows."""
        update = self._shown.update
        if update is None:
            return
        show = self._order.arrangement.show
        self._chips.say(
            {
                "all": len(update.tree.files),
                "loaded": len(self._paths("loaded")) if self._loaded is not None else None,
                "changed": len(update.view.unseen),
                "pinned": update.tree.pinned,
                "stale": len(self._model.stale_paths()) or (0 if show == "stale" else None),
                "warnings": len(self._model.warned_paths()),
            }
        )
        # Files are added to the active filter but not removed, so that no row disappears while it is read.
        self._order.show(show, self._order.arrangement.only | self._paths(show))
