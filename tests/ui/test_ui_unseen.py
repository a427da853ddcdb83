"""What someone else did is marked until it was seen: in the trees, beside the lines, and with Undo."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from ui_windows import Driver, Windows

from reverie.clock import system_clock
from reverie.ui.memory import inspector
from reverie.ui.tree.memory_tree import GoneData
from reverie.ui.widgets.row_delegate import ROW_ROLE

PATH = "/memories/global/testing.md"


@pytest.fixture(autouse=True)
def _in_front(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offscreen no window is in front; the look itself is what is tested."""
    monkeypatch.setattr("PySide6.QtWidgets.QWidget.isActiveWindow", lambda _widget: True)


def file_of(home: Path) -> Path:
    return home / "memory/global/testing.md"


def badge(driver: Driver, path: str = PATH) -> str:
    return str(driver.tab.model.index_at(path).data(ROW_ROLE).badge)


def gone(driver: Driver) -> list[QModelIndex]:
    """The rows of what was deleted unseen."""
    driver.tree.expandAll()
    return [index for index in driver.tab.model.walk() if isinstance(driver.tree.data_at(index), GoneData)]


def test_a_changed_memory_has_its_letter_and_its_lines_until_they_were_on_screen(
    windows: Windows, home: Path
) -> None:
    """B4."""
    file = file_of(home)
    file.write_text("".join(f"line {number}\n" for number in range(300)))
    driver = windows.open(home)
    file.write_text(file.read_text() + "the last line\n")
    driver.until(lambda: badge(driver) == "M")
    driver.open(PATH)
    pane, control = driver.pane, driver.tab.unseen
    driver.until(pane.unseen.isVisible)
    assert pane.unseen.text.startswith("Changed by ")
    assert pane.unseen.text.endswith("+1 −0")
    assert pane.text.mark_at(300)[0] == "theirs"
    for _look in range(2 * inspector.SEEN_AFTER):
        control._look()
    driver.settle()
    assert badge(driver) == "M", "the changed line was not on screen"
    pane.unseen.button("show").click()
    for _look in range(inspector.SEEN_AFTER):
        control._look()
    driver.until(lambda: badge(driver) == "")
    assert pane.text.mark_at(300)[0] == "theirs", "the mark beside the line stays while the file is open"


def test_undo_in_the_bar_brings_back_what_was_seen(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    file = file_of(home)
    before = file.read_bytes()
    file.write_text("another text\n")
    driver.until(lambda: badge(driver) == "M")
    driver.open(PATH)
    driver.until(driver.pane.unseen.isVisible)
    driver.pane.unseen.button("undo").click()
    driver.until(lambda: file.read_bytes() == before)
    driver.until(lambda: badge(driver) == "")
    driver.do("memory.undo")
    driver.until(lambda: file.read_text() == "another text\n")


def test_a_deleted_memory_stays_listed_until_it_was_seen_or_is_back(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    file = file_of(home)
    before = file.read_bytes()
    file.unlink()
    driver.until(lambda: len(gone(driver)) == 1)
    (index,) = gone(driver)
    assert index.data(ROW_ROLE).badge == "D"
    assert "deleted" in index.data(int(Qt.ItemDataRole.AccessibleTextRole))
    driver.tree.setCurrentIndex(index)
    driver.until(driver.pane.gone.isVisible)
    driver.pane.gone.button("undo").click()
    driver.until(lambda: file.exists() and gone(driver) == [])
    assert file.read_bytes() == before
    file.unlink()
    driver.until(lambda: len(gone(driver)) == 1)
    driver.do("memory.seen")
    driver.until(lambda: gone(driver) == [])


def test_the_marks_of_a_change_go_when_it_is_taken_back(windows: Windows, home: Path) -> None:
    """B32: marks beside lines 2 and 11 outlived the undone run."""
    driver = windows.open(home)
    file = file_of(home)
    before = file.read_text()
    driver.open(PATH)
    file.write_text("one\n" + before)
    driver.until(lambda: driver.pane.text.mark_at(0)[0] == "theirs")
    file.write_text(before)
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.text == before)
    driver.settle()
    assert not driver.pane.text.marks


def test_the_filter_counts_what_went_and_opens_the_folders_that_hold_a_change(
    windows: Windows, home: Path
) -> None:
    folder = home / "memory/global/deep/er"
    folder.mkdir(parents=True)
    (folder / "kept.md").write_text("One line.\n")
    (home / "memory/global/goes.md").write_text("One line.\n")
    driver = windows.open(home)
    before = driver.tree.opened_keys
    (folder / "kept.md").write_text("Another line.\n")
    (home / "memory/global/goes.md").unlink()
    driver.until(lambda: badge(driver, "/memories/global/deep/er/kept.md") == "M")
    chip = driver.tab.chips.chips["changed"]
    driver.until(lambda: chip.text() == "Changed 2")
    chip.click()

    def row(path: str) -> QModelIndex:
        return driver.tab.model.index_at(path)

    driver.until(lambda: driver.tree.isExpanded(row("/memories/global/deep/er")))
    assert driver.tree.isExpanded(row("/memories/global/deep"))
    driver.tab.chips.chips["all"].click()
    driver.until(lambda: row(PATH).isValid())
    assert driver.tree.opened_keys == before
    assert not driver.tree.isExpanded(row("/memories/global/deep"))


def test_how_long_ago_goes_on_while_one_looks(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    driver.window.resize(1500, 800)
    file_of(home).write_text("Written outside.\n")
    driver.until(lambda: badge(driver) == "M")
    driver.open(PATH)
    driver.until(driver.pane.unseen.isVisible)
    lines = driver.tab.inspector.inspector.history.lines
    driver.until(lambda: lines[0].text().endswith("just now"))
    later = system_clock() + 16 * 60_000
    for control in (driver.tab.unseen, driver.tab.inspector):
        monkeypatch.setattr(control, "_now", lambda: later)
    driver.tab.footer.aged.emit()
    assert "16 min" in driver.pane.unseen.text
    assert "16 min" in lines[0].text()


def test_a_note_that_a_run_or_a_program_deletes_while_it_is_open_can_be_restored(
    windows: Windows, home: Path
) -> None:
    """W10: "This file was deleted on disk. Save again." of what the own run had deleted."""
    driver = windows.open(home)
    file = file_of(home)
    before = file.read_bytes()
    driver.open(PATH)
    file.unlink()
    driver.until(driver.pane.gone.isVisible)
    assert driver.pane.file is None
    assert "testing.md was deleted by another program" in driver.pane.gone.text
    driver.pane.gone.button("undo").click()
    driver.until(lambda: file.exists() and gone(driver) == [])
    assert file.read_bytes() == before


def test_the_history_beside_a_memory_names_each_minute_once(windows: Windows, home: Path) -> None:
    """R4: "You · just now" three times."""
    driver = windows.open(home)
    driver.window.resize(1500, 800)
    open_file = driver.open(PATH)
    for number in range(3):
        driver.type(f"{number}\n")
        driver.do("file.save")
        driver.until(lambda: not open_file.buffer.modified)
    lines = driver.tab.inspector.inspector.history.lines
    driver.until(lambda: [line.text().split(" ·")[0] for line in lines] == ["You", "First seen", ""])
