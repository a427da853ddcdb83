"""Keys and context menu of a review: the same for a preview and for a finished run, and none of them fires
while somebody types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolButton
from ui_reviews import A, B, C, merge, run
from ui_windows import Driver, Windows

from reverie.services.views import ReviewView
from reverie.ui.changes.review import Choices
from reverie.ui.changes.rows import ChangeRow
from reverie.ui.changes.tab import ChangesTab
from reverie.ui.dialogs import ShortcutSheet
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.values import replace

SHIFT = Qt.KeyboardModifier.ShiftModifier
LETTERS = "npNPaxeo"


class Shown:
    """The files and the difference of one change set, in a window of their own."""

    def __init__(self, qtbot: Any, tab: ChangesTab) -> None:
        self._qtbot = qtbot
        self.pane = pane = tab.files
        self.opened: list[str] = []
        self.taken_back: list[Any] = []
        pane.open_wanted.connect(lambda _row, path: self.opened.append(path))
        pane.take_back.connect(lambda _row, parts: self.taken_back.append(parts))

    def show(self, view: ReviewView) -> Shown:
        self.pane.begin(ChangeRow("r1", 1, view.run))
        self.pane.show_review(Choices(view))
        return self

    def press(self, key: Qt.Key, modifier: Any = Qt.KeyboardModifier.NoModifier, *, on: Any = None) -> str:
        """A real key press; the change that is selected then, in words."""
        widget = on or self.pane.tree
        widget.setFocus()
        QTest.keyClick(widget, key, modifier)
        return self.where

    @property
    def where(self) -> str:
        part = self.pane.tree.part
        assert part is not None
        assert part.file is not None
        return Path(part.file.path).name + ("" if part.hunk is None else f" {part.hunk}")

    @property
    def offered(self) -> dict[str, bool]:
        """What the menu shows, and whether it can be chosen."""
        actions = self.pane.actions_.menu.actions()
        return {each.text(): each.isEnabled() for each in actions if each.isVisible() and each.text()}


@pytest.fixture
def shown(qtbot: Any) -> Iterator[Shown]:
    lane = Lane("review keys")
    tab = ChangesTab(lane, Icons(), lambda: 0)
    qtbot.addWidget(tab)
    tab.resize(1200, 500)
    tab.show()
    tab.activateWindow()
    qtbot.waitUntil(tab.isActiveWindow)
    yield Shown(qtbot, tab)
    lane.stop()


def plan() -> ReviewView:
    return merge()


def finished() -> ReviewView:
    return merge(can_apply=False, of=run(dry_run=False), can_take_back=True)


BOTH = pytest.mark.parametrize("view", [plan, finished])


@BOTH
@pytest.mark.parametrize("where", ["tree", "difference"])
def test_n_and_p_go_from_change_to_change_and_with_shift_from_file_to_file(
    shown: Shown, view: Any, where: str
) -> None:
    shown.show(view())
    on = shown.pane.tree if where == "tree" else shown.pane.detail.diff
    assert shown.where == "a.md"
    seen = [shown.press(Qt.Key.Key_N, on=on) for _ in range(4)]
    assert seen == ["b.md", "c.md 0", "c.md 1", "c.md 1"], "the last stays"
    assert shown.press(Qt.Key.Key_P, SHIFT, on=on) == "b.md", "not the file one is in"
    assert shown.press(Qt.Key.Key_N, SHIFT, on=on) == "c.md"
    assert shown.press(Qt.Key.Key_P, on=on) == "b.md"
    assert shown.press(Qt.Key.Key_P, on=on) == "a.md"
    assert shown.press(Qt.Key.Key_P, on=on) == "a.md", "the first stays"
    assert QApplication.focusWidget() is on


@BOTH
def test_x_leaves_out_what_is_selected_and_a_takes_it_again(shown: Shown, view: Any) -> None:
    shown.show(view())
    choices = shown.pane.choices
    assert choices is not None
    before = choices.selection
    assert [shown.press(Qt.Key.Key_N) for _ in range(2)][-1] == "c.md 0"
    assert shown.press(Qt.Key.Key_X) == "c.md 0", "the selection stays"
    assert choices.selection.rejected_hunks[C] == {0}
    item = shown.pane.tree.currentItem()
    assert item is not None
    assert item.checkState(0) == Qt.CheckState.Unchecked
    if choices.view.can_take_back:
        assert item.text(1) == "to be undone"
        assert choices.to_take_back == {C: frozenset({0})}
        assert shown.pane.undo.accessibleName().replace("&", "").startswith("Take back 1 of")
    shown.press(Qt.Key.Key_A)
    assert choices.file_taken(*_of(choices, C)) == "all"
    assert choices.to_take_back == {} or not choices.view.can_take_back
    assert before.rejected_groups == choices.selection.rejected_groups
    assert shown.taken_back == []


@BOTH
def test_keys_do_nothing_while_somebody_types_beside_the_tree(shown: Shown, view: Any) -> None:
    shown.show(view())
    choices = shown.pane.choices
    assert choices is not None
    before, selected = choices.selection, shown.where
    editor = shown.pane.detail.editor
    shown.pane.detail._pages.setCurrentWidget(editor)
    editor.setFocus()
    editor.blockSignals(True)  # the words themselves are a choice, too
    editor.clear()
    QTest.keyClicks(editor, LETTERS)
    assert editor.toPlainText() == LETTERS
    assert (choices.selection, shown.where, shown.opened, shown.taken_back) == (before, selected, [], [])


@BOTH
def test_keys_are_those_of_the_tree_and_the_difference_alone(shown: Shown, view: Any) -> None:
    shown.show(view())
    choices, pane = shown.pane.choices, shown.pane
    assert choices is not None
    QGuiApplication.clipboard().setText("of somebody")
    before, selected = choices.selection, shown.where
    pane.detail._pages.setCurrentWidget(pane.detail.editor)
    pane.undo.show()
    for on in (pane.undo, pane.detail.editor):
        on.setFocus()
        assert QApplication.focusWidget() is on
        QTest.keyClick(on, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | SHIFT)
    for letter in (Qt.Key.Key_X, Qt.Key.Key_N, Qt.Key.Key_O):
        shown.press(letter, on=pane.undo)
    assert (choices.selection, shown.where, shown.opened) == (before, selected, [])
    assert QGuiApplication.clipboard().text() == "of somebody"


def test_e_edits_a_plan_and_is_typed_from_then_on(shown: Shown) -> None:
    shown.show(plan())
    editor = shown.pane.detail.editor
    shown.press(Qt.Key.Key_E)
    assert QApplication.focusWidget() is editor
    editor.clear()
    QTest.keyClicks(editor, LETTERS)
    assert editor.toPlainText() == LETTERS
    assert shown.where == "a.md"


@pytest.mark.parametrize("key", [Qt.Key.Key_P, Qt.Key.Key_A])
def test_no_key_of_the_difference_leads_into_the_editor_where_the_next_would_be_typed(
    shown: Shown, key: Qt.Key
) -> None:
    shown.show(plan())
    choices, detail = shown.pane.choices, shown.pane.detail
    assert choices is not None
    shown.press(Qt.Key.Key_E)
    QTest.keyClicks(detail.editor, "mine ")
    words = detail.editor.toPlainText()
    if key == Qt.Key.Key_A:
        shown.press(Qt.Key.Key_X)
        shown.press(key, on=detail.diff)
    else:
        shown.press(Qt.Key.Key_N)
        shown.press(Qt.Key.Key_P, on=detail.diff)
    assert (shown.where, detail.editor.isVisible()) == ("a.md", True)
    focus = QApplication.focusWidget()
    assert focus is shown.pane.tree
    QTest.keyClick(focus, Qt.Key.Key_X)
    assert detail.editor.toPlainText() == words
    assert choices.file_taken(*_of(choices, A)) == "none"


def test_a_finished_run_is_not_edited(shown: Shown) -> None:
    shown.show(finished())
    shown.press(Qt.Key.Key_E)
    assert QApplication.focusWidget() is shown.pane.tree
    assert shown.where == "a.md", "a letter without a deed does not move the selection"


@BOTH
@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_return_takes_back_and_applies_nothing(shown: Shown, view: Any, key: Qt.Key) -> None:
    shown.show(view())
    asked: list[Any] = []
    shown.pane.apply.connect(lambda *each: asked.append(each))
    shown.press(Qt.Key.Key_X)
    for on in (shown.pane.tree, shown.pane.detail.diff):
        shown.press(key, on=on)
    assert (asked, shown.taken_back, shown.opened) == ([], [], [])


@pytest.mark.parametrize(("view", "button"), [(plan, "apply_button"), (finished, "undo")])
def test_after_a_press_the_keys_of_the_review_go_on(shown: Shown, view: Any, button: str) -> None:
    shown.show(view())
    shown.press(Qt.Key.Key_X)
    pressed = getattr(shown.pane, button)
    pressed.setFocus()
    QTest.keyClick(pressed, Qt.Key.Key_Space)
    assert not pressed.isEnabled()
    assert QApplication.focusWidget() is shown.pane.tree


def test_the_menu_offers_what_has_a_meaning(shown: Shown) -> None:
    shown.show(plan())
    assert shown.offered == {
        "&Next change": True, "&Previous change": True, "Next &file": True, "Pre&vious file": True,
        "&Accept": True, "&Reject": True, "&Edit the text": True, "&Open memory": True, "&Copy path": True,
    }  # fmt: skip
    shown.show(finished())
    assert shown.offered == {
        "&Next change": True, "&Previous change": True, "Next &file": True, "Pre&vious file": True,
        "&Keep": True, "&Mark to take back": True, "Take &back now": True, "&Open memory": True,
        "&Copy path": True,
    }  # fmt: skip
    assert shown.press(Qt.Key.Key_N) == "b.md"
    assert not shown.offered["&Open memory"], "the run deleted it"
    shown.show(merge(can_apply=False, of=run(dry_run=False, reverted=True)))
    assert not shown.offered["&Accept"], "nothing can be chosen any more"
    assert not shown.offered["&Reject"]


@pytest.mark.qt_log_ignore("does not support")
@BOTH
def test_the_menu_comes_by_mouse_and_by_keyboard(qtbot: Any, shown: Shown, view: Any) -> None:
    shown.show(view())
    menu, viewport = shown.pane.actions_.menu, shown.pane.tree.viewport()
    item = shown.pane.tree.currentItem()
    assert item is not None
    at = shown.pane.tree.visualItemRect(item).center()
    for reason in (QContextMenuEvent.Reason.Mouse, QContextMenuEvent.Reason.Keyboard):
        QApplication.sendEvent(viewport, QContextMenuEvent(reason, at, viewport.mapToGlobal(at)))
        qtbot.waitUntil(menu.isVisible)
        menu.close()
    assert menu.accessibleName()


def test_a_review_that_is_not_shown_has_no_menu(shown: Shown) -> None:
    shown.pane.show_nothing("")
    shown.pane.tree.customContextMenuRequested.emit(QPoint(1, 1))
    assert not shown.pane.actions_.menu.isVisible()
    assert not any(shown.offered.values())


def test_take_back_now_asks_for_that_part_and_never_loses_other_marks(shown: Shown) -> None:
    shown.show(finished())
    choices = shown.pane.choices
    assert choices is not None
    actions = shown.pane.actions_
    [shown.press(Qt.Key.Key_N) for _ in range(3)]
    assert shown.where == "c.md 1"
    actions["take-back"].trigger()
    assert shown.taken_back == [{C: frozenset({1})}]
    assert choices.to_take_back == {}, "nothing is marked by it"
    shown.press(Qt.Key.Key_X)
    assert actions["take-back"].isEnabled(), "it is the one that is marked"
    shown.press(Qt.Key.Key_P)
    assert not actions["take-back"].isEnabled(), "another is marked"


@BOTH
def test_o_opens_the_file_and_its_path_is_copied(shown: Shown, view: Any) -> None:
    shown.show(view())
    shown.press(Qt.Key.Key_O)
    assert shown.opened == [A]
    shown.press(Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | SHIFT)
    assert QGuiApplication.clipboard().text() == A
    tree = shown.pane.tree
    group = tree.topLevelItem(0)
    assert group is not None
    tree.setCurrentItem(group)
    QTest.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | SHIFT)
    assert QGuiApplication.clipboard().text() == f"{A}\n{B}"


def test_the_sheet_lists_every_key_of_a_review(qtbot: Any, shown: Shown) -> None:
    from PySide6.QtWidgets import QLabel

    sheet = ShortcutSheet(())
    qtbot.addWidget(sheet)
    listed = {label.text() for label in sheet.findChildren(QLabel)}
    keys = [key for each in shown.pane.tree.actions() for key in each.shortcuts()]
    assert len(keys) == len(set(keys)) == 9
    assert {key.toString(QKeySequence.SequenceFormat.NativeText) for key in keys} <= listed
    assert "Reject / Mark to take back" in listed
    assert "N: Next change" in shown.pane.tree.accessibleDescription()


def _of(choices: Any, path: str) -> Any:
    return next((g, f) for g in choices.view.groups for f in g.files if f.path == path)


def reviewed(driver: Driver) -> Any:
    """The review of a run that just ended, with the focus in it."""
    assert driver.consolidate() == "completed"
    driver.footer.panel.result.button("review").click()
    pane = driver.changes.tab.files
    driver.until(lambda: driver.changes.is_settled and pane.choices is not None)
    driver.window.activateWindow()
    driver.until(driver.window.isActiveWindow)
    pane.tree.setFocus()
    return pane


def test_a_part_of_a_finished_run_is_taken_back_by_keyboard_alone(windows: Windows, home: Path) -> None:
    style = home / "memory/global/commit-style.md"
    before = style.read_bytes()
    driver = windows.open(home)
    pane = reviewed(driver)
    for _ in range(len(list(pane.tree.parts()))):
        if pane.tree.part.file.path.endswith("global/commit-style.md"):
            break
        QTest.keyClick(pane.tree, Qt.Key.Key_N)
    assert pane.tree.part.file.path.endswith("global/commit-style.md")
    QTest.keyClick(pane.tree, Qt.Key.Key_X)
    dreamt = style.read_bytes()
    pane.undo.setFocus()
    QTest.keyClick(pane.undo, Qt.Key.Key_Space)
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.until(lambda: pane.choices is not None and bool(pane.choices.view.taken_back))
    assert dreamt != before
    assert style.read_bytes() != dreamt


def test_a_memory_of_a_review_is_opened_in_the_editor_where_letters_are_text(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    pane = reviewed(driver)
    part = pane.tree.part
    while not pane.choices.path_now(part.file):
        QTest.keyClick(pane.tree, Qt.Key.Key_N, SHIFT)
        assert pane.tree.part is not part
        part = pane.tree.part
    QTest.keyClick(pane.tree, Qt.Key.Key_O)
    path = pane.choices.path_now(part.file)
    driver.until(
        lambda: driver.tab.editor.file is not None and driver.tab.editor.file.buffer.address.path == path
    )
    driver.until(lambda: driver.window.focusWidget() is driver.pane.text)
    before, text = pane.choices.selection, driver.pane.text.toPlainText()
    QTest.keyClicks(driver.pane.text, LETTERS)
    assert driver.pane.text.toPlainText() == LETTERS + text
    assert pane.choices.selection == before
    assert pane.tree.part is part
    QTest.keyClick(driver.pane.text, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)


def test_a_memory_of_another_workspace_is_not_taken_for_one_of_the_shown(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    pane = reviewed(driver)
    opened: list[str] = []
    driver.changes.open_wanted.connect(opened.append)
    for scope in ("workspace", "project", "global"):
        other = replace(pane.row.run, workspace_id="another", project_path="/another")
        pane.open_wanted.emit(replace(pane.row, run=other), f"/memories/{scope}/notes.md")
        assert (opened == []) == (scope != "global")
        assert "another project or workspace" in pane.message.text


def test_letters_typed_into_the_search_for_changes_stay_letters(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    assert driver.consolidate() == "completed"
    driver.do("dream.runs")
    pane, text = driver.changes.tab.files, driver.changes.tab.changes.text
    driver.until(lambda: driver.changes.is_settled and pane.choices is not None)
    driver.window.activateWindow()
    driver.until(driver.window.isActiveWindow)
    before, part = pane.choices.selection, pane.tree.part
    text.setFocus()
    QTest.keyClicks(text, "con")
    assert text.text() == "con"
    text.clear()
    driver.until(lambda: driver.changes.is_settled)
    assert pane.choices.selection == before
    assert pane.tree.part == part


def test_the_buttons_of_a_hunk_leave_it_out_and_take_it_again(shown: Shown) -> None:
    shown.show(plan())
    pane = shown.pane
    choices, view = pane.choices, pane.detail.diff
    assert choices is not None
    [shown.press(Qt.Key.Key_N) for _ in range(2)]
    assert "+ The third line of the memory about deployments." in view.toPlainText()
    _press(view, C, 0, "reject")
    assert choices.selection.rejected_hunks[C] == {0}
    assert "rejected" in view.toPlainText()
    _press(view, C, 0, "accept")
    assert C not in choices.selection.rejected_hunks
    _press(view, C, 1, "edit")
    assert QApplication.focusWidget() is pane.detail.editor
    assert shown.where == "c.md 1"


def test_a_button_takes_one_hunk_of_a_finished_run_back_at_once(shown: Shown) -> None:
    shown.show(finished())
    [shown.press(Qt.Key.Key_N) for _ in range(2)]
    _press(shown.pane.detail.diff, C, 1, "take-back")
    assert shown.taken_back == [{C: frozenset({1})}]


def test_the_button_says_how_much_is_applied_or_taken_back(shown: Shown) -> None:
    shown.show(plan())
    pane = shown.pane
    assert pane.apply_button.accessibleName().replace("&", "") == "Apply 4 of 4"
    shown.press(Qt.Key.Key_N, SHIFT)
    shown.press(Qt.Key.Key_N, SHIFT)
    shown.press(Qt.Key.Key_X)
    assert pane.apply_button.accessibleName().replace("&", "") == "Apply 2 of 4"
    assert pane.undo.isHidden()
    shown.show(finished())
    assert pane.undo.accessibleName().replace("&", "") == "Undo all"
    assert pane.apply_button.isHidden()
    shown.press(Qt.Key.Key_X)
    assert pane.undo.accessibleName().replace("&", "") == "Take back 2 of 4", "what was merged comes back too"


def _press(view: Any, path: str, hunk: int, key: str) -> None:
    bar = view._bars[path, hunk]
    button = bar.findChild(QToolButton, key)
    assert button is not None
    assert button.height() >= 24
    QTest.mouseClick(button, Qt.MouseButton.LeftButton)
