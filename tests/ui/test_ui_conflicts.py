"""Somebody else writes into the file that is being edited: seen, merged, and asked about in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from ui_windows import Driver, Windows

from reverie.ui.editor import merge_control as co_editing_control
from reverie.ui.editor.conflict_choice import MOST_ROWS

PATH = "/memories/project/deploy.md"
LINES = [f"line {number}" for number in range(1, 31)]


@pytest.fixture
def driver(windows: Windows, home: Path) -> Driver:
    disk(home).write_text("\n".join(LINES) + "\n")
    return windows.open(home)


def disk(home: Path) -> Path:
    return home / "memory/project/acme-api-db553efff149/deploy.md"


def changed(driver: Driver, changes: dict[int, str | None]) -> None:
    """Somebody replaces the file: line number -> its new text, None takes it away."""
    lines = [
        (changes.get(number, line))
        for number, line in enumerate(disk(driver.home).read_text().split("\n"), 1)
    ]
    new = disk(driver.home).with_suffix(".new")
    new.write_text("\n".join(line for line in lines if line is not None))
    new.replace(disk(driver.home))


def edit(driver: Driver, line: int, text: str) -> None:
    """As a person would: caret at the end of a line, and typing."""
    cursor = QTextCursor(driver.pane.text.document().findBlockByNumber(line - 1))
    cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock)
    driver.pane.text.setTextCursor(cursor)
    driver.type(text)


def test_changes_apart_are_merged_marked_told_and_taken_back(driver: Driver) -> None:
    file = driver.open(PATH)
    edit(driver, 5, " mine")
    where = driver.pane.text.textCursor().block().text()
    changed(driver, {2: "line 2 theirs", 20: None})
    driver.until(lambda: "line 2 theirs" in file.text)
    assert "line 5 mine" in file.text
    assert "line 20" not in file.text
    assert driver.pane.text.textCursor().block().text() == where, "the caret stays with its line"
    assert driver.pane.banner.isHidden()
    assert driver.pane.text.marks[1] == "theirs"
    assert "by another program" in driver.pane.text.mark_at(1)[1]
    assert driver.pane.merged.text == "2 changes by another program were merged into your text."
    assert file.buffer.modified
    assert disk(driver.home).read_text().count("mine") == 0, "nothing is written unasked"

    driver.pane.merged.button("back").click()
    assert "line 2 theirs" not in file.text
    assert "line 5 mine" in file.text
    assert len(file.conflicts) == 2, "what they wrote is asked about now"
    driver.do("conflict.theirs")
    driver.do("conflict.theirs")
    assert "line 2 theirs" in file.text
    driver.do("file.save")
    driver.until(lambda: not file.buffer.modified)
    assert disk(driver.home).read_text() == file.text
    assert not driver.pane.text.marks, "saved: from here on it is one text"
    assert driver.pane.merged.isHidden()


def test_a_place_both_changed_is_decided_where_it_stands(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = driver.open(PATH)
    for line in (3, 12, 25):
        edit(driver, line, " mine")
    changed(driver, {3: "line 3 theirs", 12: None, 25: "line 25 theirs", 29: "line 29 theirs"})
    driver.until(lambda: len(file.conflicts) == 3)
    card = driver.tab.co_editing.card
    assert card is not None
    assert "line 29 theirs" in file.text, "what does not meet the typing is merged"
    assert driver.pane.text.marks[2] == "conflict"
    assert driver.pane.banner.text == "You and another program changed the same lines in 3 places."

    asked: list[int] = []
    monkeypatch.setattr(
        co_editing_control, "ask_about_conflicts", lambda _parent, count, _can: asked.append(count) or "show"
    )
    driver.do("file.save")
    assert asked == [3]
    assert "mine" not in disk(driver.home).read_text(), "nothing is saved over what nobody decided"
    assert card.isVisible()
    assert card.title.text().startswith("Conflict 1 of 3.")
    assert card.theirs.toPlainText() == "line 3 theirs"
    assert QApplication.focusWidget() is card.buttons["mine"] or not driver.window.isActiveWindow()

    driver.do("conflict.both")
    assert "line 3 mine\nline 3 theirs\nline 4" in file.text
    assert "deleted on disk" in card.title.text()
    driver.do("conflict.next")
    assert "2 of 2" in card.title.text()
    card.buttons["theirs"].click()
    assert "line 25 mine" not in file.text
    file.document.undo()
    assert len(file.conflicts) == 2, "an undone decision asks again"
    assert "line 25 mine" in file.text
    file.document.redo()
    assert len(file.conflicts) == 1
    driver.do("conflict.mine")
    assert not card.isVisible()
    assert driver.pane.banner.isHidden()
    assert not driver.window.actions_["conflict.next"].isEnabled()
    driver.do("file.save")
    driver.until(lambda: not file.buffer.modified)
    saved = disk(driver.home).read_text()
    assert saved == file.text
    assert "line 12 mine" in saved
    assert "line 25 theirs" in saved


def test_once_a_conflict_is_settled_the_focus_stays_in_the_tree(driver: Driver, qtbot: Any) -> None:
    file = driver.open(PATH)
    edit(driver, 3, " mine")
    changed(driver, {3: "line 3 theirs"})
    driver.until(lambda: len(file.conflicts) == 1)
    driver.do("conflict.next")
    card = driver.tab.co_editing.card
    assert card is not None
    card.buttons["both"].setFocus()
    qtbot.mouseClick(card.buttons["both"], Qt.MouseButton.LeftButton)
    driver.until(lambda: not file.conflicts and not card.isVisible())
    left: list[str] = []
    card.left.connect(lambda: left.append("left"))
    driver.open("/memories/global/testing.md")
    driver.open(PATH)
    assert left == [], "the button had the focus once, and a click on a row would lead into the text"


def test_undone_with_ctrl_z_a_merge_is_asked_about_and_never_saved_away(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = driver.open(PATH)
    edit(driver, 5, " mine")
    changed(driver, {2: "line 2 theirs"})
    driver.until(lambda: "line 2 theirs" in file.text)
    file.document.undo()
    assert "line 2 theirs" not in file.text
    assert [conflict.theirs for conflict in file.conflicts] == [("line 2 theirs",)]
    monkeypatch.setattr(co_editing_control, "ask_about_conflicts", lambda *_: "cancel")
    driver.do("file.save")
    driver.tab.editor.save_all()
    driver.until(lambda: not file.saving)
    driver.settle()
    assert "line 2 theirs" in disk(driver.home).read_text()
    file.document.redo()
    assert file.conflicts == ()
    assert file.buffer.banner == ""
    monkeypatch.setattr(co_editing_control, "ask_about_conflicts", lambda *_: "mine")
    file.document.undo()
    driver.do("file.save")
    driver.until(lambda: not file.buffer.modified)
    assert "line 2 theirs" not in disk(driver.home).read_text(), "only when the person says so"


def test_what_is_no_text_any_more_is_not_merged_and_not_written_over(driver: Driver) -> None:
    file = driver.open(PATH)
    edit(driver, 5, " mine")
    disk(driver.home).write_bytes(b"caf\xe9\n")
    driver.until(lambda: file.buffer.banner == "conflict")
    assert driver.pane.banner.keys == ("reload", "compare")
    assert "line 5 mine" in file.text
    assert not file.read_only


def test_the_card_goes_along_and_gives_the_keyboard_back(driver: Driver, qtbot: Any) -> None:
    file = driver.open(PATH)
    edit(driver, 30, " mine")
    changed(driver, {30: "line 30 theirs"})
    driver.until(lambda: bool(file.conflicts))
    card = driver.tab.co_editing.card
    assert card is not None
    driver.do("conflict.next")
    port = driver.pane.text.viewport().geometry()
    assert port.contains(card.geometry())
    qtbot.keyClick(card.buttons["mine"], Qt.Key.Key_Escape)
    assert not card.buttons["mine"].hasFocus()
    driver.open("/memories/project/glossary.md")
    assert not card.isVisible()
    driver.open(PATH)
    driver.do("conflict.next")
    assert card.isVisible()


def test_the_form_never_types_over_what_others_wrote_meanwhile(driver: Driver) -> None:
    disk(driver.home).write_text("---\nname: a\ntype: user\ndescription: b\n---\n" + "\n".join(LINES) + "\n")
    file = driver.open(PATH)
    driver.until(lambda: file.text.startswith("---"))
    driver.do("edit.front")
    form = driver.pane.view.form
    assert form is not None
    driver.until(lambda: form.fields[("description",)].editor.text() == "b")
    QTest.keyClicks(form.fields[("description",)].editor, "c")
    changed(driver, {21: "line 16 theirs"})
    driver.until(lambda: "line 16 theirs" in file.text)
    # At once, before the form was told of the new text.
    QTest.keyClicks(form.fields[("description",)].editor, "d")
    assert "line 16 theirs" in file.text
    assert "description: cdb\n" in file.text
    changed(driver, {2: "name: theirs"})
    driver.until(lambda: "name: theirs" in file.text)
    QTest.keyClicks(form.fields[("name",)].editor, "!")
    assert "name: theirs\n" in file.text, "a value of theirs is never replaced unseen"
    assert form.fields[("name",)].editor.text() == "theirs"
    changed(driver, {22: "line 17 theirs"})
    driver.until(lambda: "line 17 theirs" in file.text)
    form.fields[("name",)].remove.click()
    assert "line 17 theirs" in file.text
    assert "name:" not in file.text


def test_only_the_first_lines_of_a_long_change_are_marked_and_shown_on_the_card(driver: Driver) -> None:
    file = driver.open(PATH)
    edit(driver, 5, " mine")
    most = co_editing_control.MOST_MARKED
    changed(driver, {2: "\n".join(["theirs"] * 3 * most), 5: "\n".join(["line 5 theirs"] * 3 * most)})
    driver.until(lambda: len(file.conflicts) == 1)
    assert file.text.count("theirs") == 3 * most
    kinds = list(driver.pane.text.marks.values())
    assert (kinds.count("conflict"), kinds.count("theirs")) == (1, most - 1)
    card = driver.tab.co_editing.card
    assert card is not None
    assert card.theirs.document().blockCount() == MOST_ROWS
    card.chosen.emit("theirs")
    driver.until(lambda: file.text.count("theirs") == 6 * most)
