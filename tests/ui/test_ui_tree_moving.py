"""In the tree: another name in its place, dragging, several at once, and one Undo for all of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, QMimeData, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit
from ui_windows import SEVERAL, Driver, Windows

from helpers.samples import copy_sample
from reverie.agents.scopes import Scope
from reverie.ui.appearance import dark_palette, theme_of
from reverie.ui.memory import edits
from reverie.ui.memory.edit_dialogs import MoveDialog
from reverie.ui.tree.memory_tree import FileData

DEPLOY = "/memories/project/deploy.md"
G, P = "/memories/global", "/memories/project"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


def select(driver: Driver, *paths: str) -> None:
    """As Ctrl and clicks do; the last one is current."""
    driver.tree.select_path(paths[0])
    flags = QItemSelectionModel.SelectionFlag
    for path in paths[1:]:
        index = driver.tab.model.index_at(path, reveal=True)
        driver.tree.selectionModel().setCurrentIndex(index, flags.Select | flags.Rows)


def drag(driver: Driver, paths: list[str], onto: str) -> bool:
    """As a drag does it, without a mouse; whether the place took it."""
    model = driver.tab.model
    data = model.mimeData([model.index_at(path, reveal=True) for path in paths])
    parent = model.index_at(onto, reveal=True)
    move = Qt.DropAction.MoveAction
    if not model.canDropMimeData(data, move, -1, -1, parent):
        return False
    assert not model.dropMimeData(data, move, -1, -1, parent), "rows go when the files have gone"
    return True


def type_name(driver: Driver, name: str) -> QLineEdit:
    driver.do("memory.rename")
    field = driver.tree.viewport().findChild(QLineEdit)
    assert isinstance(field, QLineEdit)
    field.selectAll()
    QTest.keyClicks(field, name)
    return field


def test_one_day_in_the_tree(windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = windows.open(home)
    tree, model = driver.tree, driver.tab.model

    # Another name, in its place.
    tree.select_path(DEPLOY)
    driver.do("memory.rename")
    field = tree.viewport().findChild(QLineEdit)
    assert isinstance(field, QLineEdit)
    assert (field.text(), field.selectedText()) == ("deploy.md", "deploy")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    driver.until(lambda: tree.viewport().findChild(QLineEdit) is None)
    field = type_name(driver, "architecture.md")
    QTest.keyClick(field, Qt.Key.Key_Escape)
    driver.until(lambda: tree.viewport().findChild(QLineEdit) is None)
    assert driver.tab.undo_bar.isHidden()
    field = type_name(driver, "architecture.md")
    QTest.keyClick(field, Qt.Key.Key_Return)
    assert tree.viewport().findChild(QLineEdit) is field, "a name that is taken is not taken by Enter"
    assert driver.tab.undo_bar.text == field.accessibleDescription() == "architecture.md already exists."
    field.selectAll()
    QTest.keyClicks(field, "shipping.md")
    QTest.keyClick(field, Qt.Key.Key_Return)
    driver.until(lambda: "shipping.md" in driver.paths() and "deploy.md" not in driver.paths())
    driver.until(lambda: tree.current_data() == model.file_at(f"{P}/shipping.md"))
    driver.settle()
    driver.do("memory.undo")
    driver.until(lambda: "deploy.md" in driver.paths())

    # Several onto another scope; what is open goes along with what was typed.
    file = driver.open(DEPLOY)
    driver.type("mine\n")
    assert drag(driver, [DEPLOY, f"{P}/api"], G)
    driver.until(lambda: "deploy.md" in driver.paths(Scope.GLOBAL) and "deploy.md" not in driver.paths())
    driver.until(lambda: not any(path.startswith("api/") for path in driver.paths()))
    assert file.buffer.address.path == f"{G}/deploy.md"
    assert file.content.startswith("mine\n")
    assert "items" in driver.tab.undo_bar.text
    driver.settle()
    driver.tab.undo_bar.button("undo").click()
    driver.until(lambda: "deploy.md" in driver.paths() and "deploy.md" not in driver.paths(Scope.GLOBAL))
    driver.until(lambda: any(path.startswith("api/") for path in driver.paths()))
    assert file.buffer.address.path == DEPLOY
    driver.settle()

    # A name that is taken asks, and cancelling moves nothing.
    (home / "memory/global/deploy.md").write_text("theirs\n")
    driver.until(lambda: "deploy.md" in driver.paths(Scope.GLOBAL))
    answers = [False, True]
    asked: list[Any] = []

    def ask(_parent: Any, names: Any) -> bool:
        asked.append(names)
        return answers.pop(0)

    monkeypatch.setattr(edits, "ask_keep_both", ask)
    assert drag(driver, [DEPLOY], G)
    assert drag(driver, [DEPLOY], G)
    driver.until(lambda: "deploy 2.md" in driver.paths(Scope.GLOBAL))
    assert asked == [["deploy.md"], ["deploy.md"]]
    assert (home / "memory/global/deploy.md").read_text() == "theirs\n"
    driver.settle()

    # Several pinned and deleted as one, and taken back in reverse.
    pair = [f"{G}/deploy.md", f"{G}/testing-old.md"]
    select(driver, *pair)
    assert {row.path for row in driver.tab.tree.selected_rows() if isinstance(row, FileData)} == set(pair)
    driver.do("memory.copy-path")
    driver.do("memory.pin")
    driver.until(lambda: all(driver.file(path).file.usage.pinned for path in pair))
    driver.do("memory.delete")
    driver.until(lambda: not {"deploy.md", "testing-old.md"} & driver.paths(Scope.GLOBAL))
    driver.settle()
    driver.do("memory.undo")
    driver.until(lambda: driver.paths(Scope.GLOBAL) >= {"deploy.md", "testing-old.md"})
    driver.until(lambda: all(driver.file(path).file.usage.pinned for path in pair))
    driver.settle()
    driver.do("memory.undo")
    driver.until(lambda: not any(driver.file(path).file.usage.pinned for path in pair))


def test_what_is_dragged_is_named_beside_the_pointer_and_covers_no_target(
    windows: Windows, home: Path
) -> None:
    tree = (driver := windows.open(home)).tree
    select(driver, DEPLOY, f"{P}/api")
    drag = tree.drag_of_selection()
    assert drag is not None
    assert set(drag.mimeData().text().splitlines()) == {f"{P}/api", DEPLOY}
    assert drag.hotSpot().x() < 0
    assert drag.hotSpot().y() < 0
    label = drag.pixmap().deviceIndependentSize()
    assert 0 < label.width() < tree.viewport().width() / 2
    driver.tree.select_path(P)
    assert tree.drag_of_selection() is None, "a scope stays where it is"


def test_what_cannot_be_dropped_is_refused_with_a_sentence(windows: Windows, home: Path) -> None:
    driver = windows.open(home, SEVERAL)
    note = f"{G}/{sorted(path for path in driver.paths(Scope.GLOBAL) if '/' not in path)[0]}"
    bar = driver.tab.undo_bar
    assert drag(driver, [note], G)
    assert "already" in bar.text
    assert drag(driver, [note], P)
    assert "Nothing was moved" in bar.text
    assert len(bar.text) > len("Nothing was moved. "), "and why"
    model = driver.tab.model
    foreign = QMimeData()
    foreign.setData("application/x-reverie-memory-paths", b'{"model": "another", "paths": ["x"]}')
    target = model.index_at(G)
    assert not model.canDropMimeData(foreign, Qt.DropAction.MoveAction, -1, -1, target)
    foreign.setData("application/x-reverie-memory-paths", b"broken")
    assert not model.canDropMimeData(foreign, Qt.DropAction.MoveAction, -1, -1, target)
    taken = {f"{G}/taken.md"}.__contains__
    dialog = MoveDialog([f"{G}/a.md"], {Scope.WORKSPACE: ["x"], Scope.GLOBAL: ["b/c"]}, taken, driver.window)
    for name, folder, fine in (
        ("a.md", "", False),
        ("b.md", "", True),
        ("a.md", "b/c", True),
        ("a.md", "new/place", True),
        ("", "", False),
        (".a", "", False),
        ("a~.md", "", False),
        ("taken.md", "", False),
    ):
        dialog.name.setText(name)
        dialog.folder.setEditText(folder)
        assert dialog.accept_button.isEnabled() == fine, (name, folder)
    dialog.keep_both.setChecked(True)
    assert dialog.accept_button.isEnabled()
    assert dict(dialog.plan().targets) == {f"{G}/a.md": f"{G}/taken 2.md"}
    several = MoveDialog([f"{G}/a.md", f"{G}/b.md"], {Scope.GLOBAL: ["d"]}, taken, driver.window)
    assert not several.accept_button.isEnabled()
    several.folder.setEditText("d")
    assert dict(several.plan().targets) == {f"{G}/a.md": f"{G}/d/a.md", f"{G}/b.md": f"{G}/d/b.md"}


def test_a_hint_follows_the_colours_of_the_system(qtbot: Any, qapp: QApplication) -> None:
    asked = MoveDialog(["/memories/global/a.md"], {Scope.GLOBAL: []}, lambda _path: False)
    qtbot.addWidget(asked)
    asked.folder.setEditText("archive")
    asked.show()
    light = qapp.palette()
    qapp.setPalette(dark_palette())
    qapp.processEvents()
    shown = asked.hint.palette().color(asked.hint.foregroundRole())
    qapp.setPalette(light)
    assert shown == theme_of(dark_palette()).dim_window


def test_a_new_name_without_an_ending_keeps_the_old_one(windows: Windows, home: Path) -> None:
    """B27: `.md` was dropped without a word."""
    driver = windows.open(home)
    model = driver.tab.model
    path = "/memories/global/testing.md"
    assert model.setData(model.index_at(path), "checks") is False
    driver.until(lambda: (home / "memory/global/checks.md").exists())
    assert not (home / "memory/global/checks").exists()
    driver.until(lambda: model.file_at("/memories/global/checks.md") is not None)
    # Another ending is a person's own choice, and a folder has none.
    assert model.with_ending("/memories/global/checks.md", "checks.txt") == "checks.txt"
    assert model.with_ending("/memories/project/v1.2", "v2") == "v2"


def test_a_duplicate_has_the_same_bytes_and_the_next_free_name(windows: Windows, home: Path) -> None:
    text = b"\xef\xbb\xbf---\r\nname: x\r\n---\r\n{title} {{date}}\r\n"
    (home / "memory/global/note.md").write_bytes(text)
    driver = windows.open(home)
    driver.until(lambda: "note.md" in driver.paths(Scope.GLOBAL))
    for name in ("note 2.md", "note 3.md"):
        select(driver, f"{G}/note.md")
        driver.do("memory.duplicate")
        driver.until(lambda name=name: name in driver.paths(Scope.GLOBAL))
        driver.settle()
        assert (home / "memory/global" / name).read_bytes() == text
    assert (home / "memory/global/note.md").read_bytes() == text


def test_a_memory_that_cannot_be_read_is_not_duplicated_and_says_why(windows: Windows, home: Path) -> None:
    (home / "memory/global/note.md").write_bytes(b"caf\xe9\n")
    driver = windows.open(home)
    driver.until(lambda: "note.md" in driver.paths(Scope.GLOBAL))
    select(driver, f"{G}/note.md")
    driver.do("memory.duplicate")
    driver.until(lambda: "was not duplicated" in driver.tab.hand._undo_bar.text)
    assert "UTF-8" in driver.tab.hand._undo_bar.text
    assert not (home / "memory/global/note 2.md").exists()


def test_the_place_on_disk_is_copied_and_shown(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    (home / "memory/global/folder").mkdir()
    (home / "memory/global/folder/note.md").write_text("Words.\n")
    driver.until(lambda: "folder/note.md" in driver.paths(Scope.GLOBAL))
    shown: list[str] = []
    answers = [True, True, False]
    monkeypatch.setattr(
        edits.QDesktopServices, "openUrl", lambda url: (shown.append(url.toLocalFile()), answers.pop(0))[1]
    )
    select(driver, f"{G}/folder/note.md")
    driver.do("memory.copy-file-path")
    assert QGuiApplication.clipboard().text() == str(home / "memory/global/folder/note.md")
    driver.do("memory.reveal")
    select(driver, f"{G}/folder")
    driver.do("memory.reveal")
    assert shown == [str(home / "memory/global/folder")] * 2
    driver.do("memory.reveal")
    assert "could not be opened" in driver.tab.hand._undo_bar.text
    assert str(home / "memory/global/folder") in driver.tab.hand._undo_bar.text
