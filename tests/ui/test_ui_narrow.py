"""A window as narrow as a phone shows the memories or the editor, with a way back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from ui_windows import Driver, Windows

from reverie.agents.scopes import Scope


@pytest.fixture
def driver(windows: Windows, home: Path) -> Driver:
    made = windows.open(home)
    made.settle()
    made.window.picker.hide()
    made.until(lambda: made.window.minimumSizeHint().width() <= 375)
    made.window.resize(375, 700)
    made.until(lambda: made.tab.is_narrow)
    return made


def press(driver: Driver, path: str) -> None:
    driver.tree.select_path(path)
    place = driver.tree.visualRect(driver.tree.currentIndex()).center()
    QTest.mouseClick(driver.tree.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(place))


def seen(driver: Driver) -> tuple[bool, bool]:
    return driver.tree.isVisible(), driver.pane.isVisible()


def test_a_pressed_memory_takes_the_place_of_the_list_and_back_returns_to_its_row(driver: Driver) -> None:
    assert seen(driver) == (True, False)
    path = f"/memories/global/{sorted(driver.paths(Scope.GLOBAL))[0]}"
    press(driver, path)
    driver.until(lambda: driver.pane.file is not None)
    assert seen(driver) == (False, True)
    assert driver.tab.back.isVisible()
    assert driver.window.focusWidget() is driver.tab.back, "and not the tabs"
    driver.tab.back.click()
    assert seen(driver) == (True, False)
    assert driver.tree.hasFocus()
    assert driver.tab.path_for_history() == path


def test_keys_lead_to_the_editor_and_to_the_search_wherever_they_are(driver: Driver) -> None:
    driver.do("view.to-editor")
    assert seen(driver) == (False, True)
    driver.do("view.search")
    assert seen(driver) == (True, False)
    assert driver.tab.search.field.hasFocus()


def test_a_page_beside_the_trees_is_seen_and_left(driver: Driver) -> None:
    driver.do("view.context")
    assert driver.tab.beside is not None
    assert driver.tab.beside.isVisible()
    driver.tab.back.click()
    assert seen(driver) == (True, False)


def test_a_wide_window_shows_both_and_no_back(driver: Driver, qtbot: Any) -> None:
    driver.window.resize(1200, 700)
    qtbot.waitUntil(lambda: not driver.tab.is_narrow)
    assert seen(driver) == (True, True)
    assert not driver.tab.back.isVisible()
    driver.pane.text.setFocus()
    driver.window.resize(375, 700)
    qtbot.waitUntil(lambda: driver.tab.is_narrow)
    assert seen(driver) == (False, True), "what one works in stays"
