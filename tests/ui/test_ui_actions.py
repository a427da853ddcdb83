"""One registry feeds menus, context menus, buttons and the shortcut sheet; nothing can be reached by two
names."""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import Any

import pytest
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
)
from ui_windows import Windows

from reverie.clock import system_clock
from reverie.ui.dialogs import ShortcutSheet
from reverie.ui.icons import NAMES, Icons
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window.actions import (
    ACTIONS,
    CONSOLIDATE_MENU,
    MENUS,
    OF_SOME_AGENTS,
    TREE_MENU,
    WITHOUT_MENU,
    ActionState,
)
from reverie.ui.window.main_window import MainWindow
from reverie.values import fields_of, replace


@pytest.fixture
def window(windows: Windows) -> MainWindow:
    made = MainWindow(windows.profile, system_clock, Icons(), StartupOptions())
    windows.keep(made)
    return made


def test_ids_and_keys_are_used_once() -> None:
    assert max(Counter(spec.id for spec in ACTIONS).values()) == 1
    assert max(Counter((spec.where, key) for spec in ACTIONS for key in spec.keys).values()) == 1


def test_every_row_names_what_exists(window: MainWindow) -> None:
    menus = {key for key, _ in MENUS}
    for spec in ACTIONS:
        assert spec.menu in menus
        assert not spec.icon or spec.icon in NAMES
        assert all(not QKeySequence(key).isEmpty() for key in spec.keys)
        if spec.slot:
            assert callable(attrgetter(spec.slot)(window)), spec.slot
    ids = {spec.id for spec in ACTIONS}
    assert ids >= {*TREE_MENU, *CONSOLIDATE_MENU}


def test_what_has_no_slot_is_never_possible() -> None:
    everything = ActionState(**dict.fromkeys(fields_of(ActionState), True))
    for spec in ACTIONS:
        assert spec.slot or not spec.rule(everything)


def test_with_nothing_open_only_opening_leaving_and_help_are_possible(window: MainWindow) -> None:
    possible = {spec.id for spec in ACTIONS if window.actions_[spec.id].isEnabled()}
    assert "home.open" in possible
    assert possible.isdisjoint({"memory.new", "memory.delete", "file.save", "dream.run", "dream.runs"})


@pytest.mark.parametrize(
    ("id_", "now", "possible"),
    [
        ("file.save", ActionState(modified=True, writable=True), True),
        ("file.save", ActionState(modified=True), False),
        ("memory.pin", ActionState(file=True), True),
        ("memory.pin", ActionState(folder=True), False),
        ("memory.delete", ActionState(folder=True), True),
        ("memory.delete", ActionState(companion=True), False),
        ("memory.open", ActionState(companion=True), True),
        ("dream.run", ActionState(can_consolidate=True), True),
        ("dream.run", ActionState(home=True, context=True), False),
        ("dream.cancel", ActionState(running=True), True),
        ("memory.undo", ActionState(undo=True), True),
        ("memory.redo", ActionState(undo=True), False),
        ("memory.redo", ActionState(redo=True), True),
    ],
)
def test_an_action_is_possible_only_when_it_makes_sense(id_: str, now: ActionState, possible: bool) -> None:
    assert next(spec for spec in ACTIONS if spec.id == id_).rule(now) == possible


def test_every_action_is_in_the_menu_bar_or_has_a_key_or_a_button(window: MainWindow) -> None:
    found: list[str] = []
    for action in window.menuBar().actions():
        menu = action.menu()
        assert menu is not None
        found += [inner.objectName() for inner in menu.actions() if not inner.isSeparator()]
    assert sorted([*found, *WITHOUT_MENU]) == sorted(spec.id for spec in ACTIONS)
    sorts = [action.objectName() for action in window.tab.order.button.menu().actions()]
    for id_ in WITHOUT_MENU:
        action = window.actions_[id_]
        assert action in window.actions(), "its keys work"
        assert action.shortcuts() or id_ in sorts, id_


def test_a_command_of_some_agents_is_in_the_menus_only_where_it_is_possible(window: MainWindow) -> None:
    actions = window.actions_
    for spec in ACTIONS:
        now = actions[spec.id]
        assert now.isVisible() == (now.isEnabled() or spec.id not in OF_SOME_AGENTS), spec.id
    assert not any(actions[id_].isVisible() for id_ in OF_SOME_AGENTS), "there is no home"
    actions.update_state(replace(actions.state, can_extract=True, can_tell=True))
    assert {id_ for id_ in OF_SOME_AGENTS if actions[id_].isVisible()} == {"dream.extract", "dream.tell"}


def test_the_sheet_lists_every_key(qtbot: Any, window: MainWindow) -> None:
    listed = {keys for _, rows in window.actions_.shortcuts() for _, keys in rows}
    for spec in ACTIONS:
        for key in spec.keys:
            native = QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
            assert any(native in keys for keys in listed), spec.id
    sheet = ShortcutSheet(window.actions_.shortcuts())
    qtbot.addWidget(sheet)
    assert sheet.windowTitle()


def test_keys_of_the_tree_are_not_the_editors(window: MainWindow) -> None:
    tree_keys = {action.objectName() for action in window.tab.tree.actions()}
    assert tree_keys == {"memory.rename", "memory.delete", "memory.undo", "memory.redo"}
    assert window.actions_["memory.delete"] not in window.tab.pane.text.actions()


def test_every_control_has_an_accessible_name(window: MainWindow) -> None:
    kinds = (QAbstractButton, QAbstractItemView, QLineEdit, QComboBox, QPlainTextEdit, QProgressBar)
    for kind in kinds:
        for control in window.findChildren(kind):
            # Headers, corner and scroll buttons are made by Qt inside a control of ours.
            if isinstance(control, QHeaderView) or control.objectName().startswith(("qt_", "Scroll")):
                continue
            text = control.text() if isinstance(control, QAbstractButton) else ""
            assert control.accessibleName() or text, control


def test_icons_are_drawn_in_the_colour_asked_for(qapp: object) -> None:
    from PySide6.QtGui import QColor

    icons = Icons()
    image = icons.pixmap("folder", 16, QColor("#ff0000")).toImage()
    colours = {
        image.pixelColor(x, y).name()
        for x in range(16)
        for y in range(16)
        if image.pixelColor(x, y).alpha() > 200
    }
    assert colours
    assert all(colour.startswith("#f") for colour in colours), colours
    assert icons.pixmap("folder", 16, QColor("#ff0000")) is icons.pixmap("folder", 16, QColor("#ff0000"))


def test_an_action_is_a_qaction_of_the_window(window: MainWindow) -> None:
    assert isinstance(window.actions_["dream.run"], QAction)
    assert window.tab.footer.button.defaultAction() is window.actions_["dream.run"]
