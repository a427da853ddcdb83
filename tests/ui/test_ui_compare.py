"""Compare: two memories side by side, and a difference copied from one to the other by one press."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QItemSelectionModel, Qt
from ui_windows import Windows

from reverie.ui.memory.compare import differences, with_difference
from reverie.ui.memory.side_by_side import aligned

LEFT = "# Deploy\n\nPort 7443\nRun the smoke tests\n"
RIGHT = "# Deploy\n\nPort 8443\nRun the smoke tests\nTag the release\n"
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "", "é 😀"]), max_size=8).map("\n".join)


@given(TEXTS, TEXTS, st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]), st.booleans())
def test_a_text_that_gets_every_difference_becomes_the_other(
    one: str, other: str, newline: str, mark: str, ends: bool
) -> None:
    """In whatever order they are copied; line ends and a byte order mark stay those of the target."""
    left = one + "\n"
    right = mark + other.replace("\n", newline) + (newline if ends else "")
    for _step in range(20):
        rows = aligned(left, right)
        found = differences(rows)
        if not found:
            break
        right = with_difference(right, rows, found[-1], "right")
    assert not differences(aligned(left, right))
    assert right.startswith("\ufeff") == bool(mark)
    assert newline == "\r\n" or "\r" not in right


def test_only_the_chosen_difference_is_copied() -> None:
    rows = aligned(LEFT, RIGHT)
    first, last = differences(rows)
    assert with_difference(RIGHT, rows, first, "right") == RIGHT.replace("8443", "7443")
    assert with_difference(LEFT, rows, last, "left") == LEFT + "Tag the release\n"
    assert with_difference(RIGHT, rows, last, "right") == RIGHT.removesuffix("Tag the release\n")


@pytest.fixture
def pair(home: Path) -> Path:
    folder = home / "memory/global/pair"
    folder.mkdir()
    (folder / "left.md").write_text(LEFT)
    (folder / "right.md").write_text(RIGHT)
    return home


def compared(driver: Any) -> Any:
    """The page with the two memories."""
    tree = driver.tab.tree
    driver.until(lambda: tree.select_path("/memories/global/pair/left.md"))
    index = tree.memory_model.index_at("/memories/global/pair/right.md")
    tree.selectionModel().select(
        index, QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
    )
    driver.do("memory.compare")
    page = driver.tab.comparing.page
    driver.until(lambda: page.compared is not None and page.difference is not None)
    return page


def test_two_selected_memories_are_compared_and_a_difference_is_copied_and_undone(
    windows: Windows, pair: Path
) -> None:
    driver = windows.open(pair)
    page = compared(driver)
    assert page.note.text() == "Difference 1 of 2"
    assert [name.text() for name in page.names] == ["global/pair/left.md", "global/pair/right.md"]
    driver.qtbot.keyClick(page.sides.left, Qt.Key.Key_N)
    assert page.note.text() == "Difference 2 of 2"
    driver.qtbot.keyClick(page.sides.left, Qt.Key.Key_N)
    driver.qtbot.keyClick(page.sides.left, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    right = pair / "memory/global/pair/right.md"
    driver.until(lambda: right.read_text() == RIGHT.replace("8443", "7443"))
    driver.until(lambda: page.note.text() == "Difference 1 of 1")
    page.message.button("undo").click()
    driver.until(lambda: right.read_text() == RIGHT)
    driver.until(lambda: page.note.text().endswith("of 2"))


def test_a_memory_that_changed_meanwhile_is_not_overwritten(windows: Windows, pair: Path) -> None:
    driver = windows.open(pair, watching=False)
    page = compared(driver)
    right = pair / "memory/global/pair/right.md"
    right.write_text("Somebody else was here.\n")
    page.to_right.click()
    driver.until(lambda: "right.md was not changed" in page.message.text)
    assert right.read_text() == "Somebody else was here.\n"


def test_with_one_memory_selected_the_window_says_what_to_do(windows: Windows, pair: Path) -> None:
    driver = windows.open(pair)
    driver.until(lambda: driver.tab.tree.select_path("/memories/global/pair/left.md"))
    driver.do("memory.compare")
    assert driver.tab.undo_bar.text.startswith("Select two memories")
