"""The trash in the window: what was deleted, by whom, and bringing it back as one undoable change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from ui_windows import Windows

from reverie.agents.scopes import Scope
from reverie.errors import Unavailable
from reverie.memory.recording import Snapshots
from reverie.ui.memory.trash_window import TrashWindow

TESTING = "/memories/global/testing.md"


def shown(driver: Any) -> TrashWindow:
    driver.do("memory.trash")
    window: TrashWindow = driver.tab.trash.window
    driver.until(lambda: window.is_read)
    return window


def test_deleted_memories_come_back_from_the_trash(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    kept = (home / "memory/global/testing.md").read_bytes()
    window = shown(driver)
    assert window.none.isVisible()
    assert not window.restore.isEnabled()

    driver.tree.select_path(TESTING)
    driver.do("memory.delete")
    driver.until(lambda: window.list.count() == 1 and window.is_read)
    driver.settle()
    (home / "memory/global/commit-style.md").unlink()
    driver.until(lambda: window.list.count() == 2 and window.is_read)
    assert not window.none.isVisible()
    said = [window.list.item(row).data(Qt.ItemDataRole.AccessibleTextRole) for row in range(2)]
    assert any("testing.md" in line and "You" in line for line in said)
    assert any("commit-style.md" in line and "Unknown outside process" in line for line in said)

    window.filter.setText("testing")
    assert window.list.count() == 1
    driver.until(lambda: window.is_read)
    assert "No sleeps in tests" in window.text.toPlainText()
    window.restore.click()
    driver.until(lambda: (home / "memory/global/testing.md").exists())
    driver.until(lambda: "testing.md" in driver.paths(Scope.GLOBAL))
    assert (home / "memory/global/testing.md").read_bytes() == kept
    window.filter.clear()
    driver.until(lambda: window.list.count() == 1 and window.is_read)

    monkeypatch.setattr(driver.tab.trash, "ask_name", lambda _entry: "/memories/global/style/again.md")
    window.restore_as.click()
    driver.until(lambda: (home / "memory/global/style/again.md").exists())
    driver.until(lambda: window.message.keys == ("undo",))
    window.message.button("undo").click()
    driver.until(lambda: not (home / "memory/global/style").exists())
    driver.settle()


def test_the_trash_is_usable_when_narrow(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.tree.select_path(TESTING)
    driver.do("memory.delete")
    driver.until(lambda: not (home / "memory/global/testing.md").exists())
    driver.settle()
    window = shown(driver)
    driver.until(lambda: window.list.count() == 1 and window.is_read)
    window.resize(360, 640)
    assert window.width() == 360
    assert window.splitter.orientation() == Qt.Orientation.Vertical
    for widget in (window.restore, window.restore_as, window.list, window.text, window.filter):
        right = widget.mapTo(window, widget.rect().topRight()).x()
        assert right <= window.width()


def test_what_a_restore_warns_of_is_said_beside_its_undo(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    driver.tree.select_path(TESTING)
    driver.do("memory.delete")
    driver.until(lambda: not (home / "memory/global/testing.md").exists())
    window = shown(driver)
    driver.until(lambda: window.list.count() == 1 and window.is_read)
    record = Snapshots.record

    def fails(self: Snapshots, *, subject: str = "", **other: Any) -> Any:
        if subject == "Restored from the trash":
            raise Unavailable("The history was not written.", cause="The disk is full.")
        return record(self, subject=subject, **other)

    monkeypatch.setattr(Snapshots, "record", fails)
    window.restore.click()
    driver.until(lambda: window.message.keys == ("undo",))
    assert window.message.text == "1 memory was restored. The history was not written. The disk is full."
    driver.settle()
