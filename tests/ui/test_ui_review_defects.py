"""What a review of the window saw go wrong and no other test holds: the undo of a move, marks of an undone
run, counts of what was deleted, tabs, large type, a row and its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QLabel
from test_ui_tree_moving import drag, select
from ui_reviews import view
from ui_windows import Windows

from reverie.agents.scopes import Scope
from reverie.ui.changes.review import Choices, ReviewTree
from reverie.ui.editor.source_view import SourceView
from reverie.ui.memory.edit_dialogs import MoveDialog
from reverie.ui.metrics import icon_size, row_height

G, P, W = "/memories/global", "/memories/project", "/memories/workspace"


@pytest.mark.parametrize("points", [-2, 0, 6])
def test_a_tab_is_four_characters_wide_at_any_size(qtbot: Any, points: int) -> None:
    view = SourceView()
    qtbot.addWidget(view)
    view.set_zoom(points)
    space = QFontMetrics(view.font()).horizontalAdvance(" ")
    assert view.tabStopDistance() == pytest.approx(4 * space, abs=0.5)


def test_rows_and_icons_grow_with_the_font(qapp: QApplication) -> None:
    small, large = qapp.font(), qapp.font()
    small.setPointSize(9)
    large.setPointSize(20)
    assert icon_size(large) >= 1.8 * icon_size(small)
    assert row_height(large) > row_height(small)


def test_the_dialog_that_moves_opens_without_an_error(qtbot: Any) -> None:
    dialog = MoveDialog(
        [f"{P}/api/deploy.md"], {Scope.PROJECT: ["api"], Scope.GLOBAL: []}, lambda _path: False
    )
    qtbot.addWidget(dialog)
    dialog.show()
    said = [label.text() for label in dialog.findChildren(QLabel) if label.isVisible()]
    assert not any("already" in text or "rror" in text for text in said)
    assert not dialog.accept_button.isEnabled(), "nothing would move"
    dialog.scope.setCurrentIndex(dialog.scope.findData(Scope.GLOBAL))
    assert dialog.accept_button.isEnabled()


def test_what_is_deleted_and_restored_is_counted_as_what_it_is(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    pair = [f"{G}/testing.md", f"{G}/testing-old.md"]
    select(driver, *pair)
    driver.do("memory.delete")
    driver.until(lambda: not {"testing.md", "testing-old.md"} & driver.paths(Scope.GLOBAL))
    assert driver.tab.undo_bar.text == "Deleted 2 items"
    driver.settle()
    driver.do("memory.undo")
    driver.until(lambda: {"testing.md", "testing-old.md"} <= driver.paths(Scope.GLOBAL))
    assert "folder" not in driver.tab.undo_bar.text


def test_the_undo_of_a_move_says_where_it_went_back_to_and_keeps_it_selected(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    name = sorted(rel for rel in driver.paths(Scope.WORKSPACE) if "/" not in rel and rel.endswith(".md"))[0]
    path = f"{W}/{name}"
    driver.open(path)
    assert drag(driver, [path], P)
    driver.until(lambda: name in driver.paths(Scope.PROJECT) and name not in driver.paths(Scope.WORKSPACE))
    driver.settle()
    driver.do("memory.undo")
    driver.until(lambda: name in driver.paths(Scope.WORKSPACE) and name not in driver.paths(Scope.PROJECT))
    assert "project" not in driver.tab.undo_bar.text
    driver.settle()
    assert driver.tree.current_data() == driver.tab.model.file_at(path)
    driver.until(
        lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == path,
    )


def test_the_marks_of_a_run_leave_the_opened_memory_with_its_undo(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    path = f"{G}/commit-style.md"
    before = driver.open(path).content
    driver.consolidate()
    driver.until(lambda: driver.pane.file is not None and bool(driver.pane.text.marks))
    driver.footer.panel.result.button("revert").click()
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.content == before)
    driver.until(lambda: not driver.pane.text.marks)


def test_a_row_of_what_the_agent_sees_leads_to_its_text(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.window.lazy_tabs.show_context()
    driver.until(lambda: driver.window.lazy_tabs.context.is_settled)
    tab = driver.window.lazy_tabs.context
    assert tab.part is not None
    last = len(tab.part.loaded) - 1
    tab.list.setCurrentIndex(tab.list.rows.index(last, 0))
    entry = tab.entry
    assert entry is not None
    cursor = tab.text.textCursor()
    here = cursor.block().text()
    near = [here]
    for _ in range(3):
        cursor.movePosition(cursor.MoveOperation.NextBlock)
        near.append(cursor.block().text())
    assert any(entry.path in line for line in near), near


@pytest.mark.parametrize("columns_show_focus", [False, True])
def test_the_row_with_the_focus_draws_nothing_over_its_neighbours(
    qtbot: Any, columns_show_focus: bool
) -> None:
    """A ring that reaches into the next row stays there when the row alone is painted anew."""
    paths = [f"/memories/global/note-{number}.md" for number in range(5)]
    tree = ReviewTree()
    qtbot.addWidget(tree)
    tree.resize(400, 300)
    tree.setAllColumnsShowFocus(columns_show_focus or tree.allColumnsShowFocus())
    tree.show_choices(Choices(view(dict.fromkeys(paths, "a\n"), dict.fromkeys(paths, "b\n"))))
    tree.show()
    tree.activateWindow()
    tree.setFocus()
    qtbot.waitUntil(tree.hasFocus)
    colours: set[frozenset[str]] = set()
    for row in range(3):
        tree.setCurrentItem(tree.topLevelItem(row))
        area = tree.visualItemRect(tree.topLevelItem(row + 1))
        image = tree.viewport().grab().toImage().copy(area)
        colours.add(frozenset(image.pixelColor(200, y).name() for y in range(image.height())))
    assert colours == {frozenset({tree.palette().base().color().name()})}
