"""The history window: who changed what when, what each change was, and bringing a point back."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from test_ui_window import GuiThreadFiles
from ui_windows import Driver, Windows

from helpers.samples import snapshot
from reverie.agents.scopes import Scope
from reverie.memory.history import reader as history_log
from reverie.ui.memory.history_pages import CHANGES, CONTENT, LINES
from reverie.ui.memory.history_window import HistoryWindow, PointModel

TESTING = "/memories/global/testing.md"


def opened(driver: Driver, path: str) -> HistoryWindow:
    """Ctrl+H on a row."""
    assert driver.tree.select_path(path)
    driver.do("memory.history")
    window = driver.tab.history.window
    assert window is not None
    driver.until(lambda: window.is_read)
    return window


def told(window: HistoryWindow) -> list[str]:
    return [point.who for point in window.timeline.points.timeline.points]


def history_has(driver: Driver, window: HistoryWindow, count: int) -> None:
    driver.until(lambda: len(window.timeline.points.timeline.points) == count and window.is_read)


def test_the_history_of_a_memory_follows_is_compared_and_brought_back_also_when_it_is_gone(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    before = (home / "memory/global/testing.md").read_bytes()
    codecs.lookup("utf-16-le")  # Python loads it from a file when it is first needed, wherever that is
    with GuiThreadFiles() as touched:
        window = opened(driver, TESTING)
        QAbstractItemModelTester(window.timeline.points.timeline)
        QAbstractItemModelTester(window.pages.lines.model)
        assert told(window) == ["outside"]
        driver.open(TESTING)
        driver.type("typed by hand\n")
        driver.do("file.save")
        history_has(driver, window, 2)
        assert told(window) == ["you", "outside"]
        assert [point.who for point in window.timeline.points.selected] == ["outside"], (
            "what was selected stays so"
        )
        window.timeline.points.select_rows([0])
        driver.until(lambda: "+typed by hand" in window.pages.diff.toPlainText())
        window.pages.setCurrentIndex(LINES)
        driver.until(lambda: window.is_read and window.pages.lines.model.rowCount() > 1)
        assert window.pages.lines.current is not None
        assert window.pages.lines.current.who == "you"
        window.pages.lines.table.setCurrentIndex(window.pages.lines.model.index(1, 0))
        driver.qtbot.keyClick(window.pages.lines.table, Qt.Key.Key_Return)
        driver.until(lambda: [point.who for point in window.timeline.points.selected] == ["outside"])
        assert window.pages.currentIndex() == CHANGES
        window.pages.against.setCurrentIndex(1)
        driver.until(lambda: "+typed by hand" in window.pages.diff.toPlainText())
        window.pages.setCurrentIndex(CONTENT)
        driver.until(lambda: window.is_read and window.pages.text.toPlainText() in before.decode())
        window.restore.click()
        driver.until(lambda: driver.tab.history.dialog is not None)
        dialog = driver.tab.history.dialog
        assert dialog is not None
        assert dialog.list.count() == 1
        assert not dialog.newer.isVisible()
        dialog.agree.click()
        history_has(driver, window, 3)
    assert touched == []
    assert (home / "memory/global/testing.md").read_bytes() == before
    driver.until(lambda: "undo" in window.message.keys)
    window.message.button("undo").click()
    history_has(driver, window, 4)
    assert b"typed by hand" in (home / "memory/global/testing.md").read_bytes()
    (home / "memory/global/testing.md").unlink()
    history_has(driver, window, 5)
    window.timeline.points.select_rows([0])
    window.pages.setCurrentIndex(CONTENT)
    driver.until(lambda: window.is_read and "typed by hand" in window.pages.text.toPlainText())
    driver.qtbot.keyClick(window.restore, Qt.Key.Key_Space)
    driver.until(lambda: driver.tab.history.dialog is not None)
    dialog = driver.tab.history.dialog
    assert dialog is not None
    dialog.agree.click()
    history_has(driver, window, 6)
    assert b"typed by hand" in (home / "memory/global/testing.md").read_bytes()
    driver.until(lambda: "testing.md" in driver.paths(Scope.GLOBAL))
    # A page of one commit each: what happened long ago is looked for until it is found.
    monkeypatch.setattr(history_log, "COMMITS_A_PAGE", 1)
    window.close()
    driver.tab.history.show_path("/memories/global/preferences.md")
    history_has(driver, window, 1)
    window.timeline.who.setCurrentIndex(window.timeline.who.findData("writer"))
    driver.until(lambda: window.is_read and window.timeline.none.text() == "Nobody of these changed it.")


def test_folders_scopes_runs_and_filters(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.consolidate()
    driver.settle()
    looked = snapshot(home / "memory")
    window = opened(driver, "/memories/project")
    driver.until(lambda: "dream" in told(window))
    assert not window.pages.isTabVisible(LINES)
    run = told(window).index("dream")
    window.timeline.points.select_rows([run])
    driver.until(lambda: window.is_read and window.pages.changes.list.count() > 0)
    assert window.pages.changes.list.isVisible()
    name = window.pages.changes.list.currentItem().text().partition(" ")[0]
    driver.qtbot.keyClick(window.pages.changes.list, Qt.Key.Key_Return)
    driver.until(lambda: window.title.text() == name and window.is_read)
    assert not window.open_file.isVisible()
    driver.until(window.back.isVisible)
    window.back.click()
    driver.until(lambda: window.title.text() == "/memories/project" and window.is_read)
    assert not window.back.isVisible()
    window.timeline.points.select_rows([run])
    driver.until(lambda: window.is_read and window.open_file.isEnabled())
    assert window.show_run.isEnabled()
    window.timeline.points.select_rows([0, len(told(window)) - 1])
    driver.until(lambda: window.is_read)
    assert not window.restore.isEnabled(), "two points are no one point to go back to"
    window.timeline.points.select_rows([run])
    window.pages.setCurrentIndex(CONTENT)
    driver.until(lambda: window.is_read and window.pages.content.list.count() > 0)
    assert window.restore_one.isEnabled()
    window.timeline.who.setCurrentIndex(window.timeline.who.findData("dream"))
    driver.until(lambda: window.is_read and set(told(window)) == {"dream"})
    window.timeline.who.setCurrentIndex(window.timeline.who.findData("agent"))
    driver.until(lambda: window.is_read and told(window) == [])
    assert window.timeline.none.isVisible()
    assert window.timeline.none.text()
    window.timeline.who.setCurrentIndex(0)
    driver.until(lambda: window.is_read and len(told(window)) > 1)
    window.timeline.points.select_rows([run])
    window.show_run.click()
    driver.until(
        lambda: driver.tab.dreams.review_dialog is not None and driver.tab.dreams.review_dialog.is_read
    )
    assert snapshot(home / "memory") == looked, "looking changes nothing"
    driver.tab.dreams.review_dialog.close()  # type: ignore[union-attr]


def test_a_page_is_asked_for_once_until_its_answer_is_there(qtbot: object) -> None:
    model = PointModel(lambda: 0)
    asked: list[None] = []
    model.more_wanted.connect(lambda: asked.append(None))
    model.show_points((), folder=False, more=True)
    root = model.index(-1, -1)
    assert model.canFetchMore(root)
    model.fetchMore(root)
    model.fetchMore(root)
    assert len(asked) == 1
    model.add((), more=True)
    assert model.canFetchMore(root)
    model.add((), more=False)
    assert not model.canFetchMore(root)


def test_a_companion_has_a_history_and_is_restored_from_it(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    model = driver.tab.model
    for scope in range(model.rowCount()):
        parent = model.index(scope)
        for row in range(model.rowCount(parent)):
            index = model.index(row, 0, parent)
            if "AGENTS.md" in str(index.data()):
                driver.tree.setCurrentIndex(index)
    driver.until(lambda: driver.pane.file is not None)
    driver.type("typed by hand\n")
    driver.do("file.save")
    driver.settle()
    driver.tree.setFocus()
    driver.do("memory.history")
    window = driver.tab.history.window
    assert window is not None
    driver.until(lambda: window.is_read and bool(told(window)))
    assert told(window) == ["you", "outside"]
    assert window.title.text() == str(home / "AGENTS.md")
    window.timeline.points.select_rows([0])
    driver.until(lambda: window.is_read)
    assert "+typed by hand" in window.pages.diff.toPlainText()
    window.timeline.points.select_rows([1])
    driver.until(lambda: window.is_read)
    window.restore.click()
    driver.until(lambda: driver.tab.history.dialog is not None)
    driver.tab.history.dialog.agree.click()
    driver.until(lambda: "typed by hand" not in (home / "AGENTS.md").read_text())
    driver.settle()
    driver.tab.edits.undo()
    driver.until(lambda: "typed by hand" in (home / "AGENTS.md").read_text())
    driver.settle()
