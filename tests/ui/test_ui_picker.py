"""The list of homes: what it marks, and that it moves only what changed."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QDir, QPointF, Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QMenu, QWidget
from ui_windows import INGEST, Windows

from reverie.agents.base import HomeContents, Orphan, Project, Workspace
from reverie.ui.dialogs import ask_home
from reverie.ui.icons import Icons
from reverie.ui.widgets.row_delegate import ROW_ROLE
from reverie.ui.window.picker import Picker, Place, home_node
from reverie.values import replace


def workspace(id_: str, **other: Any) -> Workspace:
    values: dict[str, Any] = {
        "name": id_, "title": "", "path": f"/src/{id_}", "bucket": "/p/one", "project_paths": (),
        "multi_project": False,
    } | other  # fmt: skip
    return Workspace(id_, **values)


CONTENTS = HomeContents(
    (
        Project("/p/one", "one", (workspace("w1", title="A title"), workspace("w2", archived=True))),
        Project("_multi", "", (workspace("w3", multi_project=True, project_paths=("/p/one", "/p/two")),)),
    ),
    (Orphan("project", Path("/home/memory/project/gone-1"), "gone-1", "No project points at it."),),
)


def filled(qtbot: Any, contents: HomeContents = CONTENTS) -> Picker:
    picker = Picker(Icons())
    qtbot.addWidget(picker)
    picker.show_homes([home_node("h", "~/.xum", "/home", contents, None)])
    return picker


def places(picker: Picker) -> list[Place]:
    return [place for place in map(picker.place, picker.places.walk()) if place is not None]


def test_homes_hold_projects_and_these_workspaces(qtbot: Any, qtmodeltester: Any) -> None:
    picker = filled(qtbot)
    qtmodeltester.check(picker.places)
    kinds = [place.kind for place in places(picker)]
    assert kinds == ["home", "project", "workspace", "workspace", "project", "workspace", "orphans", "orphan"]


def test_a_title_of_a_workspace_loses_its_end_and_a_path_its_middle(qtbot: Any) -> None:
    picker = filled(qtbot)
    cut = {
        place.kind: index.data(ROW_ROLE).cut_end
        for index in picker.places.walk()
        if (place := picker.place(index)) is not None
    }
    assert cut["workspace"]
    assert not any(cut[kind] for kind in ("home", "project", "orphan"))


def test_archived_and_several_projects_are_marked(qtbot: Any) -> None:
    picker = filled(qtbot)
    by_id = {place.workspace_id: place for place in places(picker) if place.workspace_id}
    assert by_id["w1"].marks == ()
    assert by_id["w2"].marks == ("archived",)
    assert by_id["w3"].marks == ("multi",)
    looks = {
        picker.place(index).workspace_id: index.data(ROW_ROLE)  # type: ignore[union-attr]
        for index in picker.places.walk()
    }
    assert looks["w2"].quiet
    assert not looks["w1"].quiet
    assert len({looks[id_].icon for id_ in ("w1", "w2", "w3")}) == 3


def test_a_workspace_goes_by_its_title_and_shows_its_name_beside(qtbot: Any) -> None:
    picker = filled(qtbot)
    assert picker.pick("h", workspace_id="w1")
    look = picker.currentIndex().data(ROW_ROLE)
    assert (look.name, look.detail) == ("A title", "w1")


def test_a_name_that_says_the_same_as_the_title_is_not_repeated(qtbot: Any) -> None:
    node = home_node(
        "h",
        "~/.xum",
        "/home",
        HomeContents((Project("/p", "p", (workspace("a-title", title="A title"),)),)),
        None,
    )
    assert node.children[0].children[0].data.below == ""


def test_the_first_choice_is_no_archived_workspace(qtbot: Any) -> None:
    contents = replace(
        CONTENTS, projects=(Project("/p", "p", (workspace("old", archived=True), workspace("new"))),)
    )
    picker = filled(qtbot, contents)
    with qtbot.waitSignal(picker.picked) as picked:
        assert picker.pick("h")
    assert picked.args[0].workspace_id == "new"


def test_a_changed_list_keeps_the_selection_and_tells_nobody(qtbot: Any) -> None:
    picker = filled(qtbot)
    picker.pick("h", workspace_id="w3")
    selected = picker.places.keys(picker.currentIndex())
    changed = replace(
        CONTENTS, projects=(Project("/p/new", "new", (workspace("w9"),)), *CONTENTS.projects[::-1])
    )
    node = home_node("h", "~/.xum", "/home", changed, picker.places.tree.children[0])
    with qtbot.assertNotEmitted(picker.picked):
        picker.show_homes([node])
    assert picker.places.keys(picker.currentIndex()) == selected
    assert picker.isExpanded(picker.places.index_of(("h", "p:/p/new"))), "new projects start open"


def test_what_did_not_change_is_the_same_node() -> None:
    node = home_node("h", "~/.xum", "/home", CONTENTS, None)
    again = home_node("h", "~/.xum", "/home", CONTENTS, node)
    assert again.children[0].data == node.children[0].data


def test_a_home_without_workspaces_can_still_be_picked(qtbot: Any) -> None:
    picker = filled(qtbot, HomeContents(()))
    assert not picker.pick("h")
    with qtbot.waitSignal(picker.picked):
        picker.pick_home("h")


def test_memories_of_another_place_turn_grey_until_those_of_the_new_one_are_there(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home, watching=False)
    let_go = threading.Event()

    def wait(_control: object) -> None:
        let_go.wait(30)

    driver.window.lanes.scan.submit("a slow disk", wait, done=lambda _nothing: None)
    assert driver.window.picker.pick(driver.session.info.id, workspace_id=INGEST)
    assert driver.tree.isEnabled()  # most trees are there at once
    driver.until(lambda: not driver.tree.isEnabled())
    let_go.set()
    driver.settle()
    assert driver.tree.isEnabled()


def test_the_dialog_for_a_home_lists_directories_that_begin_with_a_dot_on_every_system(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    window, seen = QWidget(), []
    qtbot.addWidget(window)

    def leave(dialog: QFileDialog) -> QDialog.DialogCode:
        hidden = bool(dialog.filter() & QDir.Filter.Hidden)
        seen.append((hidden, dialog.testOption(QFileDialog.Option.DontUseNativeDialog)))
        return QDialog.DialogCode.Rejected

    monkeypatch.setattr(QFileDialog, "exec", leave)
    assert ask_home(window) is None
    assert seen == [(True, True)], "a dialog of the system knows no such filter"


def test_memories_that_are_dropped_on_a_place_stay_and_it_is_said_why(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.tab.undo_bar.clear()
    data = driver.tab.model.mimeData([driver.tab.model.index_at("/memories/project/deploy.md")])
    at = driver.window.picker.visualRect(driver.window.picker.currentIndex()).center()
    buttons, keys = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    enter = QDragEnterEvent(at, Qt.DropAction.MoveAction, data, buttons, keys)
    QApplication.sendEvent(driver.window.picker.viewport(), enter)
    assert enter.isAccepted()
    drop = QDropEvent(QPointF(at), Qt.DropAction.MoveAction, data, buttons, keys)
    QApplication.sendEvent(driver.window.picker.viewport(), drop)
    assert "between the scopes of one workspace" in driver.tab.undo_bar.text
    assert drop.dropAction() is Qt.DropAction.IgnoreAction


def test_what_was_done_in_a_place_is_not_told_over_the_next_one(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.tab.undo_bar.say("Moved plan.md to Project")
    driver.choose(INGEST)
    driver.until(lambda: driver.tab.undo_bar.isHidden())


def test_only_a_home_has_the_menu_of_a_home(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    picker = driver.window.picker
    shown: list[str] = []
    for index in list(picker.places.walk()):
        picker.scrollTo(index)
        place = picker.place(index)
        assert place is not None
        monkeypatch.setattr(QMenu, "popup", lambda _menu, _at, kind=place.kind: shown.append(kind))
        picker.customContextMenuRequested.emit(picker.visualRect(index).center())
    assert shown == ["home"]
