"""What a person selected, opened and scrolled to in the tree stays, whatever the files do."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6 import QtGui
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from ui_values import NOW, file, project_view, view

from reverie.agents.scopes import Scope
from reverie.memory.listing import MemoryFile
from reverie.memory.usage_rules import MemoryUsage
from reverie.services.views import MemoryView
from reverie.ui.icons import Icons
from reverie.ui.tree import node_model
from reverie.ui.tree.build import build_tree
from reverie.ui.tree.memory_tree import FileData
from reverie.ui.tree.model import PATH_ROLE, MemoryTreeModel
from reverie.ui.tree.row_look import RowLook
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.row_delegate import ROW_ROLE


class Shown:
    """A view with its model, fed by `show`."""

    def __init__(self, qtbot: Any, qtmodeltester: Any, start: MemoryView) -> None:
        self.model = MemoryTreeModel(lambda: NOW)
        self.view = MemoryTreeView(self.model, Icons())
        qtbot.addWidget(self.view)
        self.view.resize(400, 300)
        self.view.show()
        self.view.show_tree(build_tree(start), other=True)
        qtmodeltester.check(self.model)
        self.picked: list[str] = []
        self.view.picked.connect(self._on_picked)

    def _on_picked(self, data: object) -> None:
        self.picked.append(data.path if isinstance(data, FileData) else "")

    def show(self, after: MemoryView, **other: Any) -> None:
        self.view.show_tree(build_tree(after, self.model.memory_tree, **other), other=False)

    @property
    def selected(self) -> str:
        data = self.view.current_data()
        return data.path if isinstance(data, FileData) else ""

    def look(self, path: str) -> RowLook:
        found = self.model.index_at(path).data(ROW_ROLE)
        assert isinstance(found, RowLook)
        return found


def type_ahead(qtbot: Any, shown: Shown, letters: str) -> None:
    """One word, however slow the machine is."""
    pause = QApplication.keyboardInputInterval()
    QApplication.setKeyboardInputInterval(60_000)
    qtbot.keyClicks(shown.view, letters)
    QApplication.setKeyboardInputInterval(pause)


MANY = [f"folder/note-{number:03}.md" for number in range(80)]


@pytest.fixture
def shown(qtbot: Any, qtmodeltester: Any) -> Shown:
    return Shown(qtbot, qtmodeltester, project_view([*MANY, "z.md"]))


def test_selection_expansion_and_scroll_survive_changes_around_them(shown: Shown) -> None:
    view_ = shown.view
    path = "/memories/project/folder/note-040.md"
    assert view_.select_path(path)
    view_.verticalScrollBar().setValue(view_.visualRect(view_.currentIndex()).top() // 2 + 300)
    top = view_.visualRect(view_.currentIndex()).top()
    shown.picked.clear()
    # Something below goes, something below comes, a description changes.
    changed: list[str | MemoryFile] = [*MANY[:60], *MANY[61:], "folder/zz.md", "z.md"]
    changed[40] = file(MANY[40], "a new description")
    shown.show(project_view(changed))
    assert shown.selected == path
    assert view_.visualRect(view_.currentIndex()).top() == top
    assert view_.isExpanded(shown.model.index_at("/memories/project/folder"))
    assert shown.picked == [], "nothing was selected by a person"
    assert shown.look(path).detail == "a new description"


def test_a_selected_file_that_vanishes_selects_no_neighbour_and_is_selected_when_it_returns(
    shown: Shown,
) -> None:
    path = "/memories/project/folder/note-040.md"
    shown.view.select_path(path)
    shown.picked.clear()
    shown.show(project_view([name for name in MANY if name != MANY[40]]))
    assert shown.selected == ""
    shown.show(project_view(MANY))
    assert shown.selected == path
    assert shown.picked == []


def test_a_file_deleted_here_hands_the_selection_to_its_neighbour(shown: Shown) -> None:
    path = "/memories/project/folder/note-040.md"
    shown.view.select_path(path)
    shown.view.select_after_removal(path)
    shown.show(project_view([name for name in MANY if name != MANY[40]]))
    assert shown.selected == "/memories/project/folder/note-041.md"
    assert shown.picked[-1] == shown.selected, "the editor follows"


def test_a_folder_that_comes_back_is_open_again(shown: Shown) -> None:
    shown.view.select_path("/memories/project/folder/note-001.md")
    shown.show(project_view(["z.md"]))
    shown.show(project_view([*MANY, "z.md"]))
    assert shown.view.isExpanded(shown.model.index_at("/memories/project/folder"))
    shown.view.collapse(shown.model.index_at("/memories/project/folder"))
    shown.show(project_view(["z.md"]))
    shown.show(project_view([*MANY, "z.md"]))
    assert not shown.view.isExpanded(shown.model.index_at("/memories/project/folder"))


def test_expansion_is_remembered_over_another_workspace(shown: Shown) -> None:
    shown.view.select_path("/memories/project/folder/note-001.md")
    shown.view.show_tree(build_tree(project_view(["other.md"])), other=True)
    shown.view.show_tree(build_tree(project_view(MANY)), other=True)
    assert shown.view.isExpanded(shown.model.index_at("/memories/project/folder"))
    assert shown.selected == ""


def test_type_ahead_selects_by_name(qtbot: Any, shown: Shown) -> None:
    shown.view.select_path("/memories/project/folder/note-001.md")
    type_ahead(qtbot, shown, "note-07")
    assert shown.selected == "/memories/project/folder/note-070.md"


def test_a_wide_folder_shows_more_when_its_end_is_near(
    qtbot: Any, qtmodeltester: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_model, "BATCH", 60)
    shown = Shown(qtbot, qtmodeltester, project_view([f"n{number:03}.md" for number in range(300)]))
    root = shown.model.index_at("/memories/project")
    assert shown.model.rowCount(root) == 60
    shown.view.verticalScrollBar().setValue(shown.view.verticalScrollBar().maximum() - 100)
    assert shown.model.rowCount(root) == 120
    assert shown.view.select_path("/memories/project/n290.md"), "and a path beyond is found all the same"
    shown.view.select_path("/memories/project/n000.md")


def test_type_ahead_finds_rows_that_are_not_shown_yet(
    qtbot: Any, qtmodeltester: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_model, "BATCH", 60)
    shown = Shown(qtbot, qtmodeltester, project_view([f"n{number:03}.md" for number in range(300)]))
    shown.view.select_path("/memories/project/n001.md")
    type_ahead(qtbot, shown, "n25")
    assert shown.selected == "/memories/project/n250.md"


def test_enter_opens_and_a_notice_cannot_be_selected(qtbot: Any, qtmodeltester: Any) -> None:
    shown = Shown(qtbot, qtmodeltester, view({Scope.PROJECT: ["a.md"], Scope.GLOBAL: []}))
    notice = shown.model.index_of(("global", "n:empty"))
    assert not notice.flags() & Qt.ItemFlag.ItemIsSelectable
    shown.view.select_path("/memories/project/a.md")
    with qtbot.waitSignal(shown.view.opened) as opened:
        qtbot.keyClick(shown.view, Qt.Key.Key_Return)
    assert opened.args[0].path == "/memories/project/a.md"


def test_a_row_says_everything_about_its_memory(qtbot: Any, qtmodeltester: Any) -> None:
    used = MemoryUsage(pinned=True, access_count=12, last_accessed_at=NOW - 3 * 3_600_000)
    marked = file("a.md", "What it is", usage=used, seen_by_agent=False, unseen_reason="It is too large.")
    shown = Shown(qtbot, qtmodeltester, project_view([]))
    path = "/memories/project/a.md"
    shown.show(project_view([marked]), unseen={path: "changed"})
    shown.model.set_modified({path})
    index = shown.model.index_at(path)
    assert shown.look(path) == RowLook(
        "a.md", "What it is", "file", "12× · 3 h", has_use=True,
        pinned=True, badge="M", warning=True, modified=True,
    )  # fmt: skip
    assert index.data(PATH_ROLE) == path
    data = shown.view.data_at(index)
    assert isinstance(data, FileData)
    assert data.file.size == 10
    for said in ("What it is", "used 12 times", "It is too large.", "Not saved yet"):
        assert said in index.data(int(Qt.ItemDataRole.ToolTipRole))
    assert "pinned" in index.data(int(Qt.ItemDataRole.AccessibleTextRole))


def test_names_from_disk_are_shown_escaped_and_never_as_markup(qtbot: Any, qtmodeltester: Any) -> None:
    name = "a\u202eb<b>x.md"
    shown = Shown(qtbot, qtmodeltester, project_view([name]))
    index = shown.model.index_at(f"/memories/project/{name}")
    assert index.data() == "a\\u202eb<b>x.md"
    tip = index.data(int(Qt.ItemDataRole.ToolTipRole))
    assert "<b>" not in tip
    assert not QtGui.Qt.mightBeRichText(tip)
    assert "b>x.md" in tip


def test_a_folder_counts_the_memories_below_it_and_a_scope_all_of_its_own(shown: Shown) -> None:
    assert shown.look("/memories/project/folder").detail == "80"
    assert shown.look("/memories/project").detail == "81 notes"


def test_a_footer_that_grows_scrolls_the_selected_row_into_sight_and_no_other(
    qtbot: Any, qtmodeltester: Any
) -> None:
    files = [file(f"n{number:02}.md") for number in range(40)]
    shown = Shown(qtbot, qtmodeltester, project_view(files))
    view = shown.view
    view.select_path("/memories/project/n06.md")

    def is_seen() -> bool:
        # Qt's own scrolling leaves out a line at times.
        row = view.visualRect(view.currentIndex()).adjusted(0, 2, 0, -2)
        return view.viewport().rect().contains(row)

    assert is_seen()
    view.resize(400, 120)
    qtbot.waitUntil(is_seen)
    view.resize(400, 300)
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    assert not is_seen()
    at = view.verticalScrollBar().value()
    view.resize(400, 260)
    assert view.verticalScrollBar().value() >= at, "who scrolled away stays there"
