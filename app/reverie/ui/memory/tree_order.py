"""In which order the tree shows its files, and whether only those that changed since one last looked.

The tree itself is built in that order by the session's job; here is only the choice, with its menu button and
its actions. The choice belongs to the window, not to a home: the next session gets it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from reverie.ui.icons import Icons
from reverie.ui.memory.tree_nodes import BY_NAME, SORT_KEYS, Arrangement

if TYPE_CHECKING:
    from reverie.ui.actions import Actions

ORDER_MENU = ("view.sort-name", "view.sort-recent", "view.sort-use", "view.sort-size", "view.only-changed")


class TreeOrder(QObject):
    """`chosen(Arrangement)`: show the tree so. `button` opens the menu."""

    chosen = Signal(object)

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._actions: Actions | None = None
        self.arrangement = BY_NAME
        self.button = QToolButton(parent)
        self.button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.button.setAutoRaise(True)
        self.button.setAccessibleName(self.tr("Order of the memories"))
        self._say()

    def set_actions(self, actions: Actions) -> None:
        """The window's actions in the button's menu."""
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
        """Anything but a known key is passed over: it may come from an older window's memory."""
        for known in SORT_KEYS:
            if known == key:
                self._choose(self.arrangement._replace(sort=known))

    @property
    def only_changed(self) -> bool:
        return self.arrangement.only_changed

    @only_changed.setter
    def only_changed(self, on: bool) -> None:
        self._choose(self.arrangement._replace(only_changed=on))

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
        self.only_changed = not self.only_changed

    def _choose(self, arrangement: Arrangement) -> None:
        changed = arrangement != self.arrangement
        self.arrangement = arrangement
        self._say()
        if changed:
            self.chosen.emit(arrangement)

    def _say(self) -> None:
        now = self.arrangement
        says = {
            "name": self.tr("Sorted by name"),
            "recent": self.tr("Sorted by last change"),
            "use": self.tr("Sorted by use"),
            "size": self.tr("Sorted by size"),
        }[now.sort]
        if now.only_changed:
            says += ". " + self.tr("Only what changed since you last looked")
        self.button.setToolTip(says)
        self.button.setAccessibleDescription(says)
        self.button.setIcon(self._icons.icon("edited" if now.only_changed else "sort"))
        if self._actions is not None:
            self._actions[f"view.sort-{now.sort}"].setChecked(True)
            self._actions["view.only-changed"].setChecked(now.only_changed)

    def update_icons(self) -> None:
        """After a change of the colour scheme."""
        self._say()
