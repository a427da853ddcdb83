"""Editing by hand on a real home: nothing typed is lost, nothing unedited is changed, both sides of a
conflict stay."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from ui_windows import ACME, INGEST, SEVERAL, Driver, Windows

from helpers.samples import copy_sample
from reverie.agents.scopes import Scope
from reverie.engine.asking import ask
from reverie.ui import dialogs
from reverie.ui.editor.compare_dialog import CompareDialog
from reverie.ui.memory.edit_dialogs import MoveDialog, NewMemory, PathDialog
from reverie.ui.widgets.row_delegate import ROW_ROLE
from reverie.ui.window.palette import Palette

PATH = "/memories/project/deploy.md"


@pytest.fixture
def driver(windows: Windows, home: Path) -> Driver:
    return windows.open(home)


def disk(driver: Driver, rel: str = "deploy.md") -> Path:
    return driver.home / "memory/project/acme-api-db553efff149" / rel


def write_outside(file: Path, text: str) -> None:
    """By a process of its own, as an agent or `vim` would."""
    code = "import os,sys; p=sys.argv[1]; open(p+'.t','w').write(sys.argv[2]); os.replace(p+'.t', p)"
    subprocess.run([sys.executable, "-c", code, str(file), text], check=True)


def save(driver: Driver) -> None:
    file = driver.pane.file
    assert file is not None
    driver.do("file.save")
    driver.until(lambda: not file.saving and not file.buffer.modified)


def test_a_save_writes_the_text_and_keeps_the_undo_stack(driver: Driver) -> None:
    file = driver.open(PATH)
    before = disk(driver).read_text()
    driver.type("First line.\n")
    assert driver.window.isWindowModified()
    assert driver.tab.model.index_at(PATH).data(ROW_ROLE).modified
    save(driver)
    assert disk(driver).read_text() == "First line.\n" + before
    assert not driver.window.isWindowModified()
    driver.settle()
    assert driver.pane.banner.isHidden(), "our own write asks nothing"
    file.document.undo()
    assert file.text == before
    assert file.buffer.modified


def test_what_is_not_edited_keeps_its_bytes(driver: Driver) -> None:
    contents = {
        "crlf.md": b"one\r\ntwo\r\n",
        "mark.md": b"\xef\xbb\xbfone\ntwo",
        "mixed.md": b"one\r\ntwo\nthree\rfour",
        "spaces.md": "nb\u00a0sp\u2028x\n".encode(),
    }
    for name, content in contents.items():
        disk(driver, name).write_bytes(content)
    driver.until(lambda: contents.keys() <= driver.paths())
    for name, content in contents.items():
        driver.open(f"/memories/project/{name}")
        driver.pane.text.moveCursor(QTextCursor.MoveOperation.End)
        driver.type("!")
        save(driver)
        assert disk(driver, name).read_bytes() == content + b"!", name


def test_an_unedited_file_follows_the_disk_and_keeps_its_place(driver: Driver) -> None:
    lines = [f"line {number}\n" for number in range(200)]
    disk(driver).write_text("".join(lines))
    file = driver.open(PATH)
    driver.until(lambda: file.text.startswith("line 0"))
    cursor = driver.pane.text.textCursor()
    cursor.setPosition(file.text.index("line 150"))
    driver.pane.text.setTextCursor(cursor)
    driver.pane.text.centerCursor()
    scroll = driver.pane.text.verticalScrollBar().value()
    write_outside(disk(driver), "".join([*lines[:-1], "the last line\n"]))
    driver.until(lambda: file.text.endswith("the last line\n"))
    assert driver.pane.text.textCursor().block().text() == "line 150"
    assert driver.pane.text.verticalScrollBar().value() == scroll
    assert not file.buffer.modified


def conflict(driver: Driver) -> Any:
    file = driver.open(PATH)
    driver.type("mine\n")
    write_outside(disk(driver), "theirs\n")
    driver.until(lambda: file.buffer.banner == "conflict")
    assert not driver.pane.banner.isHidden()
    return file


def test_a_change_under_unsaved_text_asks_and_reload_takes_theirs(driver: Driver) -> None:
    file = conflict(driver)
    driver.pane.banner.button("reload").click()
    assert file.text == "theirs\n"
    assert driver.pane.banner.isHidden()
    file.document.undo()
    assert file.text.startswith("mine\n"), "and the undo stack still has mine"


def test_keep_mine_saves_over_theirs(driver: Driver) -> None:
    file = conflict(driver)
    driver.pane.banner.button("keep").click()
    assert driver.pane.banner.isHidden()
    assert file.buffer.modified
    save(driver)
    assert disk(driver).read_text().startswith("mine\n")


def test_compare_shows_both_sides(driver: Driver) -> None:
    conflict(driver)
    driver.pane.banner.button("compare").click()
    dialog = compared(driver)
    driver.until(lambda: "-theirs" in dialog.diff.toPlainText())
    assert "+mine" in dialog.diff.toPlainText()
    dialog.keep.click()
    assert driver.pane.banner.isHidden()
    driver.until(lambda: driver.pane.findChild(CompareDialog) is None)


def compared(driver: Driver) -> CompareDialog:
    dialog = driver.pane.findChild(CompareDialog)
    assert dialog is not None
    return dialog


def test_what_compare_did_not_show_is_never_decided_about(driver: Driver) -> None:
    file = conflict(driver)
    driver.pane.banner.button("compare").click()
    dialog = compared(driver)
    assert not dialog.keep.isEnabled()
    driver.until(lambda: "-theirs" in dialog.diff.toPlainText())
    write_outside(disk(driver), "newer\n")
    driver.until(lambda: file.buffer.disk.content == "newer\n")
    dialog.keep.click()
    assert file.buffer.banner == "conflict"
    driver.until(lambda: "-newer" in dialog.diff.toPlainText())
    assert dialog.message.text == "The file changed again on disk. This is the newest version."
    # What is chosen is chosen for this file, whichever the editor shows by then.
    driver.open("/memories/project/glossary.md")
    dialog.reload.click()
    assert not dialog.isVisible()
    assert file.text == "newer\n"
    driver.open(PATH)
    driver.type("mine\n")
    write_outside(disk(driver), "newest\n")
    driver.until(lambda: file.buffer.banner == "conflict")
    driver.pane.banner.button("compare").click()
    again = compared(driver)
    driver.until(again.keep.isEnabled)
    disk(driver).unlink()
    driver.until(lambda: file.buffer.banner == "deleted")
    again.keep.click()
    assert not again.isVisible()
    assert file.buffer.banner == "deleted", "the editor asks what to do now"


def test_a_save_that_meets_a_newer_file_changes_nothing_and_asks(windows: Windows, home: Path) -> None:
    driver = windows.open(home, watching=False)  # so that the save meets it, not the watcher
    file = driver.open(PATH)
    driver.type("mine\n")
    write_outside(disk(driver), "theirs\n")
    driver.do("file.save")
    driver.until(lambda: file.buffer.banner == "conflict")
    assert disk(driver).read_text() == "theirs\n"
    assert file.text.startswith("mine\n")


def test_a_file_deleted_under_unsaved_text_can_be_saved_again(driver: Driver) -> None:
    file = driver.open(PATH)
    driver.type("mine\n")
    disk(driver).unlink()
    driver.until(lambda: file.buffer.banner == "deleted")
    driver.pane.banner.button("save").click()
    driver.until(lambda: disk(driver).exists() and not file.buffer.modified)
    assert disk(driver).read_text().startswith("mine\n")
    driver.until(lambda: "deploy.md" in driver.paths())


def test_unsaved_text_survives_any_walk_through_the_tree(driver: Driver) -> None:
    file = driver.open(PATH)
    driver.type("mine\n")
    driver.open("/memories/project/glossary.md")
    driver.choose(SEVERAL)
    driver.choose("a1f3c9e2b7")
    assert PATH in driver.tab.editor.unsaved_paths()
    assert driver.open(PATH) is file
    assert file.text.startswith("mine\n")


def test_a_file_that_cannot_be_opened_leaves_no_wish_to_the_next_one(windows: Windows, home: Path) -> None:
    driver = windows.open(home, watching=False)  # so that the row stays
    editor, other = driver.tab.editor, "/memories/project/glossary.md"
    driver.window.activateWindow()
    driver.tree.setFocus()
    disk(driver).unlink()
    assert driver.tree.select_path(PATH)
    editor.open(driver.file(PATH), focus=True, line=3)
    driver.until(lambda: driver.pane.file is None and "deploy.md" in driver.pane.nothing.text())
    driver.open(other)
    assert driver.tree.hasFocus()
    assert driver.pane.text.textCursor().blockNumber() == 0
    # Nor does one that is passed by before it is there.
    editor.open(driver.file("/memories/project/architecture.md"), focus=True, line=3)
    assert driver.tree.select_path("/memories/project/deploy-staging.md")
    driver.settle()
    driver.until(lambda: driver.pane.file.buffer.address.path.endswith("deploy-staging.md"))
    assert driver.tree.hasFocus()


def test_a_file_that_is_not_text_is_read_only_with_the_reason(driver: Driver) -> None:
    disk(driver, "broken.md").write_bytes(b"caf\xe9\n")
    driver.until(lambda: "broken.md" in driver.paths())
    driver.open("/memories/project/broken.md")
    assert driver.pane.text.isReadOnly()
    assert not driver.pane.reason.isHidden()
    assert not driver.window.actions_["file.save"].isEnabled()


def test_a_file_over_the_agents_limit_is_shown_and_not_written(windows: Windows, whole_home: Path) -> None:
    (whole_home / "memory/global/large.md").write_text("word " * 800_000)
    driver = windows.open(whole_home)
    driver.open("/memories/project/reference/trace-dump.md")
    assert driver.pane.text.isReadOnly()
    assert driver.pane.gauge.over
    driver.open("/memories/global/large.md")
    assert driver.pane.gauge.over
    assert "This file is near its size limit" not in driver.pane.limit.text


def test_a_new_memory_has_a_path_the_store_takes_and_is_made_selected_and_opened(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/memories/global/ideas/first.md"
    monkeypatch.setattr(PathDialog, "ask_new", lambda *_, **__: NewMemory(path, "What: it is"))
    driver.do("memory.new")
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == path)
    assert driver.file(path).file.description == "What: it is"
    assert driver.tree.current_data() is not None
    the_dialog_judges_a_path_as_the_store_would(driver)


def test_a_new_memory_begins_with_the_template_that_was_chosen(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = driver.session.profile.config / "templates"
    own.mkdir(parents=True)
    (own / "standup.md").write_text("# {{title}}\n\nmine\n")
    path = "/memories/global/why-sqlite.md"

    def ask(dialog: PathDialog) -> int:
        dialog.rel.setText("why-sqlite.md")
        dialog.description.setText("Why it is SQLite")
        driver.until(lambda: dialog.template.findText("standup") > 0)
        dialog.scope.setCurrentIndex(dialog.scope.findData(Scope.PROJECT))
        dialog.template.setCurrentIndex(dialog.template.findText("Decision"))
        dialog.scope.setCurrentIndex(dialog.scope.findData(Scope.GLOBAL))
        assert dialog.template.chosen is None, "a decision is a project's"
        dialog.template.setCurrentIndex(dialog.template.findText("standup"))
        return PathDialog.DialogCode.Accepted

    monkeypatch.setattr(PathDialog, "exec", ask)
    driver.do("memory.new")
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == path)
    assert driver.pane.text.toPlainText() == (
        "---\ndescription: Why it is SQLite\n---\n# Why sqlite\n\nmine\n"
    )


def test_a_deleted_memory_is_brought_back_with_its_pin(driver: Driver) -> None:
    path = "/memories/project/architecture.md"
    before = disk(driver, "architecture.md").read_bytes()
    driver.open(path)
    driver.do("memory.delete")
    driver.until(lambda: "architecture.md" not in driver.paths())
    assert not disk(driver, "architecture.md").exists()
    driver.until(lambda: not driver.tab.undo_bar.isHidden())
    driver.tab.undo_bar.button("undo").click()
    driver.until(lambda: "architecture.md" in driver.paths())
    driver.until(lambda: driver.file(path).file.usage.pinned)
    assert disk(driver, "architecture.md").read_bytes() == before


@pytest.mark.parametrize(
    "rows", [(PATH, "/memories/project/glossary.md"), ("/memories/project/locks",)], ids=["several", "folder"]
)
def test_a_delete_by_hand_closes_the_open_file_and_asks_nothing(
    windows: Windows, home: Path, rows: tuple[str, ...]
) -> None:
    inside = home / "memory/project/acme-api-db553efff149/locks"
    inside.mkdir()
    (inside / "held.md").write_text("Held.\n")
    driver = windows.open(home)
    opened = rows[0] if rows[0] == PATH else "/memories/project/locks/held.md"
    seen: list[str] = []
    driver.tab.editor.state_changed.connect(
        lambda: seen.append("" if driver.pane.file is None else driver.pane.file.buffer.banner)
    )
    driver.open(opened)
    select_rows(driver, rows)
    driver.until(lambda: driver.pane.file is not None)
    driver.do("memory.delete")
    driver.until(lambda: driver.tab.model.file_at(opened) is None)
    driver.settle()
    assert driver.pane.file is None
    assert not any(seen), "not told as deleted by somebody else, not even for a moment"
    assert driver.tab.undo_bar.text.startswith("Deleted ")
    driver.tab.undo_bar.button("undo").click()
    driver.until(lambda: driver.tab.model.file_at(opened) is not None)
    if rows[0] == PATH:
        driver.until(lambda: driver.pane.file is not None)
    file = driver.open(opened)
    driver.until(lambda: file.buffer.banner == "")


def test_a_delete_by_hand_keeps_unsaved_text(driver: Driver) -> None:
    file = driver.open(PATH)
    driver.type("mine\n")
    select_rows(driver, (PATH, "/memories/project/glossary.md"))
    driver.do("memory.delete")
    driver.until(lambda: file.buffer.banner == "deleted")
    assert driver.pane.file is file
    assert file.text.startswith("mine\n")


def test_saves_and_pins_by_hand_are_no_use(driver: Driver) -> None:
    driver.open(PATH)
    count = driver.file(PATH).file.usage.access_count
    assert count, "the agent has used it"
    driver.type("one\n")
    save(driver)
    driver.type("two\n")
    save(driver)
    driver.do("memory.pin")
    driver.until(lambda: driver.file(PATH).file.usage.pinned)
    usage = driver.file(PATH).file.usage
    assert (usage.access_count, usage.own_count) == (count, 0), "what the agent loads next goes by uses"
    model = driver.tab.model
    look = model.index_at(PATH).data(ROW_ROLE)
    assert look.use.startswith(f"{count}×"), "the row shows the agent's use"


def select_rows(driver: Driver, paths: tuple[str, ...]) -> None:
    """Select these rows, the first one the current one."""
    assert driver.tree.select_path(paths[0])
    flags = QItemSelectionModel.SelectionFlag
    for path in paths[1:]:
        driver.tree.selectionModel().select(driver.tab.model.index_at(path), flags.Select | flags.Rows)


def test_a_renamed_memory_keeps_its_unsaved_text(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    new = "/memories/project/runbooks/deploying.md"
    file = driver.open(PATH)
    driver.type("mine\n")
    monkeypatch.setattr(MoveDialog, "ask", lambda *_, **__: {PATH: new})
    driver.do("memory.move")
    driver.until(lambda: "runbooks/deploying.md" in driver.paths() and "deploy.md" not in driver.paths())
    driver.settle()
    assert driver.pane.file is file
    assert file.buffer.address.path == new
    assert file.buffer.banner == ""
    save(driver)
    assert disk(driver, "runbooks/deploying.md").read_text().startswith("mine\n")
    driver.do("memory.undo")
    driver.until(lambda: "deploy.md" in driver.paths())
    assert file.buffer.address.path == PATH


def test_a_name_with_unsaved_text_is_taken_and_its_text_is_never_replaced(driver: Driver) -> None:
    other = "/memories/project/glossary.md"
    renamed = driver.open(PATH)
    driver.tab.model.setData(driver.tab.model.index_at(PATH), "shipping.md")
    driver.until(lambda: "shipping.md" in driver.paths() and "deploy.md" not in driver.paths())
    driver.settle()
    write_outside(disk(driver), "theirs\n")
    driver.until(lambda: "deploy.md" in driver.paths())
    file = driver.open(PATH)
    driver.type("mine\n")
    disk(driver).unlink()
    driver.until(lambda: file.buffer.banner == "deleted" and "deploy.md" not in driver.paths())

    assert driver.tab.model.name_problem(other, "deploy.md") == (
        "Another memory with this name has unsaved text. Choose another name."
    )
    assert driver.tab.model.is_taken(PATH), "nothing new is made or moved there either"
    # Undo asks for no name: shipping.md comes back as deploy.md.
    driver.do("memory.undo")
    driver.until(lambda: "deploy.md" in driver.paths())
    driver.until(lambda: file.buffer.banner == "conflict")
    assert driver.pane.file is file
    assert "mine" in file.text
    assert renamed.buffer.banner == "gone"


def test_a_pin_shows_when_the_sidecar_says_so_and_a_companion_is_edited_in_its_place(driver: Driver) -> None:
    driver.open(PATH)
    assert not driver.file(PATH).file.usage.pinned
    driver.do("memory.pin")
    driver.until(lambda: driver.file(PATH).file.usage.pinned)
    assert driver.window.actions_["memory.pin"].isChecked()
    driver.do("memory.pin")
    driver.until(lambda: not driver.file(PATH).file.usage.pinned)
    index = driver.tab.model.index_of(("global", "c:AGENTS.md"))
    driver.tree.setCurrentIndex(index)
    driver.until(
        lambda: driver.pane.file is not None and driver.pane.file.buffer.address.companion is not None
    )
    before = (driver.home / "AGENTS.md").read_text()
    driver.type("Said first.\n")
    save(driver)
    assert (driver.home / "AGENTS.md").read_text() == "Said first.\n" + before


@pytest.mark.parametrize("answer", ["discard", "save"])
def test_closing_with_unsaved_text_asks_and_can_be_called_off(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    before = disk(driver).read_text()
    driver.open(PATH)
    driver.type("mine\n")
    asked: list[Any] = []
    answers = ["cancel", answer]

    def ask(_parent: Any, names: Any) -> str:
        asked.append(names)
        return answers[len(asked) - 1]

    monkeypatch.setattr(dialogs, "ask_unsaved", ask)
    driver.window.close()
    assert driver.window.isVisible()
    assert asked == [[PATH]]
    assert disk(driver).read_text() == before
    driver.window.close()
    driver.until(lambda: not driver.window.isVisible())
    assert asked == [[PATH]] * 2
    assert disk(driver).read_text() == ("mine\n" + before if answer == "save" else before)


def the_dialog_judges_a_path_as_the_store_would(driver: Driver) -> None:
    for scope, rel, fine in (
        (Scope.PROJECT, "new/note.md", True),
        (Scope.PROJECT, "deploy.md", False),
        (Scope.GLOBAL, "deploy.md", True),
        (Scope.PROJECT, "a..b.md", False),
        (Scope.PROJECT, "", False),
        (Scope.PROJECT, ".hidden", False),
        (Scope.PROJECT, "api", False),
    ):
        dialog = PathDialog("New", "Create", [scope], rel, driver.tab.model.is_taken, driver.window)
        assert dialog.accept_button.isEnabled() == fine, rel
        assert (dialog.problem() == "") == fine, rel


@pytest.mark.parametrize(
    ("typed", "made"),
    [
        ("plan", "plan.md"),
        ("a/plan", "a/plan.md"),
        ("v1.2/plan", "v1.2/plan.md"),
        ("x.txt", "x.txt"),
        (".x", ".x"),
    ],
)
def test_a_name_without_an_ending_becomes_a_markdown_file(qtbot: Any, typed: str, made: str) -> None:
    dialog = PathDialog("New", "Create", [Scope.GLOBAL], typed, lambda _path: False)
    qtbot.addWidget(dialog)
    assert dialog.path == f"/memories/global/{made}"


def test_a_new_memory_is_offered_only_the_scopes_that_exist(
    windows: Windows, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home, SEVERAL)
    offered: list[Any] = []
    monkeypatch.setattr(PathDialog, "ask_new", lambda _parent, scopes, *_: offered.append(scopes))
    driver.do("memory.new")
    assert offered == [[Scope.WORKSPACE, Scope.GLOBAL]]


def test_a_pin_is_told_in_the_bar_with_undo_and_ctrl_p_pins_nothing(driver: Driver) -> None:
    """B11: Ctrl+P pinned without a word, also from inside the editor."""
    driver.open(PATH)
    driver.pane.text.setFocus()
    QTest.keyClick(driver.pane.text, Qt.Key.Key_P, Qt.KeyboardModifier.ControlModifier)
    palette = next(each for each in driver.window.findChildren(Palette) if each.isVisible())
    QTest.keyClick(palette.field, Qt.Key.Key_Escape)
    driver.settle()
    assert not driver.file(PATH).file.usage.pinned
    driver.do("memory.pin")
    driver.until(lambda: driver.file(PATH).file.usage.pinned)
    assert "Pinned" in driver.tab.undo_bar.text
    driver.tab.undo_bar.button("undo").click()
    driver.until(lambda: not driver.file(PATH).file.usage.pinned)


PLAN, RENAMED = "/memories/workspace/plan.md", "/memories/workspace/plan2.md"


def test_an_undone_rename_touches_the_files_of_its_own_workspace_only(windows: Windows, home: Path) -> None:
    here, there = (home / "sessions" / id_ / "memory" for id_ in (ACME, INGEST))
    (here / "plan.md").write_text("Mine.\n")
    (there / "plan2.md").write_text("Another one.\n")
    driver = windows.open(home)
    driver.open(PLAN)
    driver.tab.model.rename_asked.emit(PLAN, "plan2.md")
    driver.until(lambda: driver.tab.model.file_at(RENAMED) is not None)
    mine = driver.open(RENAMED)
    driver.type("Unsaved. ")
    driver.choose(INGEST)
    other = driver.open(RENAMED)
    assert other is not mine
    driver.do("memory.undo")
    driver.until((here / "plan.md").exists)
    driver.settle()
    assert (other.buffer.address.path, other.buffer.ref.rel) == (RENAMED, "plan2.md")
    assert driver.pane.file is other
    assert (mine.buffer.address.path, mine.buffer.ref.rel) == (PLAN, "plan.md")
    assert mine.buffer.address.context.workspace_id == ACME
    driver.choose(ACME)
    assert driver.open(PLAN) is mine
    save(driver)
    assert (here / "plan.md").read_text() == "Unsaved. Mine.\n"


def test_what_ends_late_is_not_undone_from_another_home(windows: Windows, home: Path, tmp_path: Path) -> None:
    driver = windows.open(home)
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    driver.window.homes.open(other)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    driver.settle()
    file = driver.open(PATH)
    driver.type("Unsaved. ")
    driver.tab.model.rename_asked.emit(PATH, "deploying.md")
    assert driver.window.picker.pick_home(driver.window.homes.sessions[1].info.id)
    driver.settle()
    assert disk(driver, "deploying.md").exists()
    assert file.buffer.address.path == "/memories/project/deploying.md"
    assert not driver.window.actions_["memory.undo"].isEnabled()
    assert "Renamed" not in driver.tab.undo_bar.text


def test_the_undo_in_the_bar_takes_back_what_the_bar_tells_of_and_nothing_else(driver: Driver) -> None:
    driver.open(PATH)
    glossary = "/memories/project/glossary.md"
    was_pinned = driver.file(glossary).file.usage.pinned
    driver.do("memory.pin")
    driver.until(lambda: driver.file(PATH).file.usage.pinned)
    undo = driver.tab.undo_bar.button("undo")
    context = driver.tab.update_.context
    work = driver.session.workbench.edits.pin
    driver.tab.edits.apply(
        driver.session, "pin", ask(work, context, (glossary,), not was_pinned), lambda _: None
    )
    driver.until(lambda: driver.file(glossary).file.usage.pinned != was_pinned)
    undo.click()
    driver.settle()
    assert driver.file(glossary).file.usage.pinned != was_pinned
    assert driver.file(PATH).file.usage.pinned
    assert "Undo those changes first" in driver.tab.undo_bar.text


def test_a_memory_that_a_filter_hides_is_shown_when_it_is_asked_for(driver: Driver) -> None:
    driver.tab.chips.chips["pinned"].click()
    driver.until(lambda: not driver.tab.model.index_at(PATH).isValid())
    driver.window.open_memory(PATH)
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == PATH)
    driver.until(lambda: getattr(driver.tree.current_data(), "path", "") == PATH)
    assert "no longer exists" not in driver.window.statusBar().currentMessage()
    driver.tab.chips.chips["all"].click()
    driver.tab.chips.chips["pinned"].click()
    driver.until(lambda: not driver.tab.model.index_at(PATH).isValid())


def test_a_hidden_search_hit_is_opened_and_does_not_take_the_focus_later(driver: Driver) -> None:
    driver.tab.chips.chips["pinned"].click()
    driver.until(lambda: not driver.tab.model.index_at(PATH).isValid())
    search = driver.tab.search
    search.field.setText("deploy")
    driver.until(lambda: search.settled and search.answer is not None)
    hit = next(hit for hit in search.answer.hits if hit.path == PATH)
    driver.tab.open_hit(hit)
    assert driver.tab._hit_when_there is None
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == PATH)


def test_a_new_memory_is_shown_and_opened_under_any_filter(driver: Driver) -> None:
    driver.tab.chips.chips["pinned"].click()
    driver.until(lambda: not driver.tab.model.index_at(PATH).isValid())
    new = "/memories/project/brand-new.md"
    driver.tab.edits.create(driver.session, driver.tab.update_.context, NewMemory(new, "New."))
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.buffer.address.path == new)
    assert driver.tab.model.index_at(new).isValid()
    assert not driver.tab.model.index_at(PATH).isValid()


def test_a_utf_16_memory_is_converted_from_its_message_and_undone(windows: Windows, home: Path) -> None:
    """T5."""
    file = home / "memory/global/wide.md"
    before = "\ufeffThe keeper is called Kränze.\n".encode("utf-16-le")
    file.write_bytes(before)
    driver = windows.open(home)
    shown = driver.open("/memories/global/wide.md")
    assert shown.read_only
    driver.pane.reason.button("convert").click()
    driver.until(lambda: file.read_bytes() == "The keeper is called Kränze.\n".encode())
    driver.until(lambda: driver.pane.file is not None and not driver.pane.file.read_only)
    assert driver.tab.undo_bar.text == "Converted wide.md to UTF-8"
    assert "convert" not in driver.pane.reason.keys
    driver.do("memory.undo")
    driver.until(lambda: file.read_bytes() == before)
    driver.until(lambda: driver.pane.file is not None and driver.pane.file.read_only)
    driver.pane.reason.button("convert").click()
    driver.until(lambda: driver.pane.file is not None and not driver.pane.file.read_only)
    driver.type("Still here. ")
    save(driver)
    assert file.read_text() == "Still here. The keeper is called Kränze.\n"
