"""F6 walks through what is seen, and wherever the focus is, one sees it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
import shiboken6
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPushButton, QStyle, QWidget
from ui_windows import Driver, Windows

from helpers.samples import copy_sample
from reverie.ui.appearance import theme_of
from reverie.ui.mnemonics import descendants
from reverie.ui.window.panes import panes

LEAST_PIXELS = 12
"""What a caret in a text takes, the smallest sign of the focus there is."""


@pytest.fixture
def driver(windows: Windows, home: Path) -> Driver:
    made = windows.open(home)
    made.open(f"/memories/project/{sorted(made.paths())[0]}")
    made.window.activateWindow()
    made.until(made.window.isActiveWindow)
    return made


def walk(driver: Driver, key: Qt.Key, modifier: Qt.KeyboardModifier) -> list[QWidget]:
    """What has the focus after each press, until it comes round."""
    found: list[QWidget] = []
    while True:
        QTest.keyClick(QApplication.focusWidget() or driver.window, key, modifier)
        focus = QApplication.focusWidget()
        assert focus is not None
        if focus in found:
            return found
        found.append(focus)


def picture(widget: QWidget) -> QImage:
    return widget.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)


def unlike(one: QImage, other: QImage) -> int:
    """How many pixels differ."""
    mine, theirs = (memoryview(each.constBits()).cast("I") for each in (one, other))
    assert len(mine) == len(theirs)
    # Most lines are equal, and are compared at once.
    lines = (slice(start, start + one.width()) for start in range(0, len(mine), one.width()))
    unequal = (zip(mine[line], theirs[line], strict=True) for line in lines if mine[line] != theirs[line])
    return sum(a != b for pixels in unequal for a, b in pixels)


def page(driver: Driver, action: str) -> None:
    driver.do(action)
    driver.settle()
    if action == "view.changes":
        driver.until(lambda: driver.changes.is_settled)
    elif action == "view.traces":
        driver.until(lambda: driver.traces.is_settled)
    driver.until(lambda: len(panes(driver.window)) > 1)


@pytest.mark.parametrize("action", ["view.memory", "view.changes", "view.traces"])
def test_the_focus_is_seen_in_every_pane_of_a_tab(driver: Driver, action: str) -> None:
    page(driver, action)
    seen_in_every_pane(driver)


def test_the_focus_is_seen_in_every_pane_of_the_transcripts(windows: Windows, tmp_path: Path) -> None:
    driver = windows.begin(copy_sample("claude-home", tmp_path), "", watching=False)
    driver.until(lambda: driver.window.lazy_tabs.is_built)
    driver.do("view.transcripts")
    tab = driver.window.lazy_tabs.transcripts
    driver.until(lambda: tab.is_settled)
    assert tab.list.view in panes(driver.window)
    seen_in_every_pane(driver)


def seen_in_every_pane(driver: Driver) -> None:
    forth = walk(driver, Qt.Key.Key_F6, Qt.KeyboardModifier.NoModifier)
    assert set(forth) == set(panes(driver.window))
    assert driver.window.picker in forth
    assert len(forth) > 1
    back = walk(driver, Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
    turn = back.index(forth[0])
    assert (back[turn:] + back[:turn])[1:] == forth[:0:-1], "backwards it is the same way"
    for at, pane in enumerate(forth):
        pane.setFocus()
        driver.settle()
        with_focus = picture(pane)
        forth[at - 1].setFocus()
        driver.settle()
        without = picture(pane)
        assert unlike(with_focus, without) >= LEAST_PIXELS, pane.accessibleName()


def test_f6_leads_from_a_field_to_the_pane_beside_it(driver: Driver) -> None:
    driver.window.focus_search()
    QTest.keyClick(driver.tab.search.field, Qt.Key.Key_F6)
    assert QApplication.focusWidget() is driver.tree


def test_about_this_memory_is_a_pane(driver: Driver) -> None:
    driver.do("view.inspector")
    inspector = driver.tab.inspector.inspector
    driver.until(lambda: any(inspector.isAncestorOf(each) for each in panes(driver.window)))
    focused = walk(driver, Qt.Key.Key_F6, Qt.KeyboardModifier.NoModifier)
    assert any(inspector.isAncestorOf(each) for each in focused)


def test_a_list_with_a_frame_has_the_ring_of_the_accent(driver: Driver) -> None:
    page(driver, "view.changes")
    view = driver.changes.tab.changes.list
    accent = theme_of(view.palette()).accent.rgb()

    def edge() -> int:
        return picture(view).pixel(view.width() // 2, 0)

    driver.tree.setFocus()
    driver.window.picker.setFocus()
    assert edge() != accent
    view.setFocus()
    assert edge() == accent


@pytest.mark.parametrize(
    ("modifier", "step"),
    [
        (Qt.KeyboardModifier.ControlModifier, 1),
        (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier, -1),
    ],
)
def test_ctrl_tab_goes_round_the_tabs(driver: Driver, modifier: Qt.KeyboardModifier, step: int) -> None:
    tabs = driver.window.tabs
    driver.pane.text.setFocus()
    before = driver.pane.text.toPlainText()
    seen = []
    for _press in range(4):
        key = Qt.Key.Key_Tab if step > 0 else Qt.Key.Key_Backtab
        QTest.keyClick(QApplication.focusWidget() or driver.window, key, modifier)
        driver.settle()
        seen.append(tabs.currentIndex())
    assert seen == [(step * each) % 4 for each in (1, 2, 3, 4)]
    assert driver.pane.text.toPlainText() == before, "nothing was typed"


def undone(driver: Driver, there: Callable[[], bool]) -> None:
    """Ctrl+Z in the tree."""
    driver.tree.setFocus()
    QTest.keyClick(driver.tree, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    driver.until(there)
    driver.until(lambda: driver.window.actions_["memory.redo"].isEnabled())


def redone(driver: Driver, there: Callable[[], bool]) -> None:
    """Ctrl+Shift+Z in the tree."""
    driver.tree.setFocus()
    both = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    QTest.keyClick(driver.tree, Qt.Key.Key_Z, both)
    driver.until(there)


def test_what_was_taken_back_is_done_again_and_can_be_taken_back_again(driver: Driver, home: Path) -> None:
    names = sorted(driver.paths())[:2]
    paths = [f"/memories/project/{name}" for name in names]
    driver.tree.select_path(paths[0])
    driver.do("memory.delete")
    driver.until(lambda: names[0] not in driver.paths())
    driver.tree.select_path(paths[1])
    driver.do("memory.pin")
    driver.until(lambda: driver.file(paths[1]).file.usage.pinned)
    undone(driver, lambda: not driver.file(paths[1]).file.usage.pinned)
    undone(driver, lambda: names[0] in driver.paths())
    redone(driver, lambda: names[0] not in driver.paths())
    redone(driver, lambda: driver.file(paths[1]).file.usage.pinned)
    driver.until(lambda: not driver.window.actions_["memory.redo"].isEnabled())
    undone(driver, lambda: not driver.file(paths[1]).file.usage.pinned)
    undone(driver, lambda: names[0] in driver.paths())


def test_a_new_change_ends_what_could_be_done_again(driver: Driver) -> None:
    names = sorted(driver.paths())[:2]
    driver.tree.select_path(f"/memories/project/{names[0]}")
    driver.do("memory.delete")
    driver.until(lambda: names[0] not in driver.paths())
    undone(driver, lambda: names[0] in driver.paths())
    driver.tree.select_path(f"/memories/project/{names[1]}")
    driver.do("memory.delete")
    driver.until(lambda: names[1] not in driver.paths())
    driver.until(lambda: not driver.window.actions_["memory.redo"].isEnabled())
    assert names[0] in driver.paths()


def underlines(widget: QWidget) -> bool:
    return bool(widget.style().styleHint(QStyle.StyleHint.SH_UnderlineShortcut, None, widget))


def test_letters_for_alt_are_underlined_while_it_is_held(driver: Driver) -> None:
    menus, text = driver.window.menuBar(), driver.pane.text
    text.setFocus()
    assert not underlines(menus)
    QTest.keyPress(text, Qt.Key.Key_Alt)
    assert underlines(menus)
    QTest.keyRelease(text, Qt.Key.Key_Alt)
    driver.until(lambda: underlines(menus) is menus.hasFocus())
    menus.setFocus()
    QTest.keyClick(menus, Qt.Key.Key_Escape)
    text.setFocus()
    QTest.keyClick(text, Qt.Key.Key_Shift)
    assert not underlines(menus)


def test_a_dialog_underlines_its_letters_always(driver: Driver) -> None:
    dialog = QDialog(driver.window)
    assert underlines(QPushButton("&Move", dialog))


@pytest.mark.parametrize("key", [Qt.Key.Key_F6, Qt.Key.Key_Alt])
def test_walking_through_the_widgets_of_the_window_owns_none_of_them(driver: Driver, key: Qt.Key) -> None:
    """S3: F6 in Changes, then Apply: the garbage collector had taken the buttons of the difference."""
    driver.do("dream.preview")
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    page(driver, "view.changes")
    files = driver.reviewed()
    for _press in range(3):
        QTest.keyClick(QApplication.focusWidget() or driver.window, key)
    driver.settle()
    gc.collect()
    files.apply_button.click()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.settle()
    driver.reviewed()
    gc.collect()
    detail = driver.changes.tab.versions.detail
    assert shiboken6.isValid(detail)
    assert all(shiboken6.isValid(each) for each in descendants(detail))
    assert detail.can_edit is False
    assert driver.changes.tab.files.message.text.startswith("Applied")
