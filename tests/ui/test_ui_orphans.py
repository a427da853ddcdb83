"""Orphaned stores in the window: found, looked at, merged and removed, each to be taken back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from ui_windows import Driver, Windows

from helpers.audit import problems
from helpers.claude_home import ClaudeHomeMaker
from helpers.codex_home import CodexHomeMaker
from reverie.agents.base import LostStore
from reverie.agents.claude.locations import directory_of
from reverie.agents.mux.names import project_dir_name
from reverie.agents.scopes import Scope
from reverie.memory.union import lost_lines, union
from reverie.services.views import (
    LiveProject,
    MatchEvidence,
    MergePreview,
    MergeRow,
    OrphansView,
    ProjectMatch,
    StoreFile,
    StoreView,
)
from reverie.ui.app import make_application
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory.orphaned_stores import MergeStoreDialog, OrphansPage
from reverie.ui.window.picker import Place

ACME = "/home/dev/projects/acme-api"
STORE = "memory/project/acme-api-db553efff149"
SESSION = "0d15ea5e42"


@pytest.fixture
def left(home: Path) -> Path:
    """What a workspace out of the list left behind: one note differs, one is new, one is not to be merged."""
    memory = home / "sessions" / SESSION / "memory"
    memory.mkdir(parents=True)
    (memory.parent / "metadata.json").write_text(json.dumps({"projectPath": ACME}))
    mine = (home / STORE / "deploy.md").read_bytes()
    (memory / "deploy.md").write_bytes(b"First of all.\n" + mine + b"\nLast of all.\n")
    (memory / "fresh.md").write_text("fresh\n")
    (memory / "bad~name.md").write_text("stays\n")
    return memory


def page_of(driver: Driver) -> OrphansPage:
    return driver.tab.orphans.page


def orphans(driver: Driver) -> list[Place]:
    picker = driver.window.picker
    places = (picker.place(index) for index in picker.places.walk())
    return [place for place in places if place is not None and place.kind == "orphan"]


def test_an_orphaned_store_is_merged_removed_and_both_taken_back(
    windows: Windows, home: Path, left: Path
) -> None:
    driver = windows.open(home)
    driver.until(lambda: len(orphans(driver)) == 4)  # no project of the sample is on this machine
    driver.do("view.orphans")
    driver.until(lambda: page_of(driver).isVisible())
    page = page_of(driver)
    driver.until(lambda: len(page.view.stores) == 4)
    driver.until(page.stores.hasFocus)
    assert not driver.window.actions_["memory.new"].isEnabled()  # its trees are not to be seen
    page.select(str(left))
    assert page.name.text() == f"acme-api · {SESSION}"
    assert "metadata.json" in page.match.text()
    assert page.target_path == ACME
    page.files.setCurrentRow(2)
    driver.until(lambda: page.text.toPlainText() == "fresh")
    assert page.text.isReadOnly()
    page.files.setCurrentRow(0)

    before = {path: path.read_bytes() for path in (home / STORE).rglob("*.md")}
    kept = {path.name: path.read_bytes() for path in left.iterdir()}
    page.merge.click()
    driver.until(lambda: driver.tab.orphans.dialog is not None)
    dialog = driver.tab.orphans.dialog
    assert dialog is not None
    assert dialog.row is not None
    assert dialog.row.rel == "deploy.md"
    driver.until(lambda: "+Last of all." in dialog.diff.toPlainText())
    assert "1 new, 1 merged" in dialog.counts.text()
    assert {path: path.read_bytes() for path in (home / STORE).rglob("*.md")} == before

    # Somebody changes what was shown: nothing is written, and the dialog says so.
    old = before[home / STORE / "deploy.md"]
    (home / STORE / "deploy.md").write_bytes(old + b"Meanwhile.\n")
    dialog.merge_button.click()
    driver.until(lambda: "changed" in dialog.message.text)
    assert not (home / STORE / "fresh.md").exists()
    (home / STORE / "deploy.md").write_bytes(old)
    dialog.merge_button.click()
    driver.until(lambda: driver.tab.orphans.dialog is None)
    assert "2 notes were merged into acme-api" in page.message.text
    assert page.message.keys == ("undo", "remove")
    merged = (home / STORE / "deploy.md").read_bytes()
    assert lost_lines(merged, old, kept["deploy.md"]) == ()
    assert (home / STORE / "fresh.md").read_text() == "fresh\n"
    assert {path.name: path.read_bytes() for path in left.iterdir()} == kept

    page.message.button("undo").click()
    driver.until(lambda: not (home / STORE / "fresh.md").exists())
    driver.until(lambda: bool(page.message.text))
    assert {path: path.read_bytes() for path in (home / STORE).rglob("*.md")} == before

    page.remove.click()
    assert page.message.keys == ("remove-now", "keep")
    assert left.exists()
    page.stores.setCurrentRow((page.stores.currentRow() + 1) % 4)
    assert page.message.keys == ()  # what was asked is not answered for another store
    page.select(str(left))
    page.remove.click()
    page.message.button("remove-now").click()
    driver.until(lambda: len(orphans(driver)) == 3 and len(page.view.stores) == 3)
    assert not list(left.iterdir())
    driver.until(lambda: page.message.keys == ("undo",))
    page.message.button("undo").click()
    driver.until(lambda: len(orphans(driver)) == 4 and len(page.view.stores) == 4)
    assert {path.name: path.read_bytes() for path in left.iterdir()} == kept


def test_undo_beside_a_removed_store_takes_back_nothing_else(
    windows: Windows, home: Path, left: Path
) -> None:
    driver = windows.open(home)
    driver.until(lambda: len(orphans(driver)) == 4)
    path = "/memories/project/glossary.md"
    was_pinned, context = driver.file(path).file.usage.pinned, driver.session.context
    driver.do("view.orphans")
    driver.until(lambda: len(page_of(driver).view.stores) == 4)
    page = page_of(driver)
    page.select(str(left))
    page.remove.click()
    page.message.button("remove-now").click()
    driver.until(lambda: page.message.keys == ("undo",))
    driver.tab.edits.pin(driver.session, context, [path], not was_pinned)
    driver.until(lambda: driver.file(path).file.usage.pinned != was_pinned)
    page.message.button("undo").click()
    driver.settle()
    assert driver.file(path).file.usage.pinned != was_pinned
    assert "Undo those changes first" in page.message.text
    assert not list(left.iterdir())


# The page and the dialog by themselves


def store(kind: Any = "project", scope: Scope = Scope.PROJECT, **facts: Any) -> LostStore:
    return LostStore(
        kind, Path("/home/x/memory/project/app-0123456789ab"), "app-0123456789ab", scope, **facts
    )


def view_of(lost: LostStore, *matches: ProjectMatch, best: ProjectMatch | None = None) -> OrphansView:
    files = (StoreFile("a.md", 10, 0), StoreFile("b/c.md", 2048, 0))
    shown = StoreView(lost, files, matches, best)
    projects = (LiveProject("/p/one", "one", True), LiveProject("/p/gone", "gone", False))
    return OrphansView((shown,), (*projects, LiveProject("/p/two", "two", True)))


@pytest.fixture
def page(qtbot: Any) -> OrphansPage:
    make_application()
    made = OrphansPage(Icons())
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    return made


def test_with_equal_evidence_no_project_is_chosen_for_a_person(page: OrphansPage, qtbot: Any) -> None:
    same = (MatchEvidence("root", "abcdef1234"),)
    one, two = ProjectMatch("/p/one", "one", same), ProjectMatch("/p/two", "two", same)
    page.show_orphans(view_of(store(), one, two), "~/.x")
    assert page.target_path is None
    assert not page.merge.isEnabled()
    assert "one and two" in page.match.text()
    assert "abcdef1234" in page.match.text()
    assert [page.target.itemData(row) for row in range(page.target.count())] == [
        None,
        "/p/one",
        "/p/two",
        "/p/gone",
    ]
    page.target.setCurrentIndex(2)
    assert page.merge.isEnabled()
    with qtbot.waitSignal(page.merge_wanted) as asked:
        page.merge.click()
    assert asked.args[1] == "/p/two"


def test_a_single_best_match_is_chosen_and_says_why(page: OrphansPage) -> None:
    match = ProjectMatch("/p/two", "two", (MatchEvidence("remote", "host/two"), MatchEvidence("name", "two")))
    page.show_orphans(view_of(store(), match, best=match), "~/.x")
    assert page.target_path == "/p/two"
    assert "host/two" in page.match.text()
    assert not page.remove.isEnabled()  # nothing keeps it
    assert page.remove.toolTip()


def test_without_any_evidence_a_person_chooses(page: OrphansPage) -> None:
    page.show_orphans(view_of(store()), "~/.x")
    assert page.target_path is None
    assert page.name.text() == "app-0123456789ab"
    loose = store("older-layout", Scope.GLOBAL, flat=True)
    page.show_orphans(view_of(loose), "~/.x")
    assert page.target_path == ""
    assert page.merge.isEnabled()


def test_a_home_without_orphans_says_so_and_the_selection_survives_a_new_look(page: OrphansPage) -> None:
    view = view_of(store())
    page.show_orphans(view, "~/.x")
    page.files.setCurrentRow(1)
    page.show_orphans(OrphansView((*view.stores, view.stores[0]), view.projects), "~/.x")
    assert page.files.currentRow() == 1
    page.show_orphans(OrphansView((), ()), "~/.x")
    assert page.none.isVisible()


def test_everything_on_the_page_is_reached_by_keyboard_and_has_a_name(page: OrphansPage) -> None:
    match = ProjectMatch("/p/two", "two", (MatchEvidence("name", "two"),))
    page.show_orphans(view_of(store(), match, best=match), "~/.x")
    for widget in (page.stores, page.target, page.merge, page.files, page.text):
        assert widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        assert widget.accessibleName()
    assert problems(page) == []
    page.resize(360, 700)
    assert problems(page) == []
    assert page.splitter.orientation() is Qt.Orientation.Vertical
    assert page.minimumSizeHint().width() <= 360


def test_the_dialog_offers_only_what_loses_no_line(qtbot: Any) -> None:
    make_application()
    lane = Lane("merge test")
    try:
        live, other = b"a\nb\n", b"a\nc\n"
        rows = (
            MergeRow("bad.md", "/memories/project/bad.md", "blocked", blocked="too-large"),
            MergeRow(
                *("d.md", "/memories/project/d.md", "differs", other, live, union(live, other)),
                beside="/memories/project/d-2.md",
                choices=("both", "beside", "leave"),
            ),
            MergeRow(
                *("raw.md", "/memories/project/raw.md", "differs", b"\xff", live),
                beside="/memories/project/raw-2.md",
                choices=("beside", "leave"),
            ),
            MergeRow("s.md", "/memories/project/s.md", "same", live, live),
        )
        dialog = MergeStoreDialog(MergePreview(store(), Scope.PROJECT, "/p/one", rows), "one", lane, Icons())
        qtbot.addWidget(dialog)
        dialog.show()
        assert dialog.row == rows[1]
        assert dialog.choices == {"d.md": "both", "raw.md": "beside"}
        assert problems(dialog) == []
        qtbot.waitUntil(lambda: "+c" in dialog.diff.toPlainText() and "-b" not in dialog.diff.toPlainText())
        dialog.radios["leave"].click()
        assert "1 new" in dialog.counts.text()
        dialog.list.setCurrentRow(2)
        assert not dialog.radios["both"].isVisible()
        assert dialog.radios["beside"].isChecked()
        dialog.radios["leave"].click()
        assert not dialog.merge_button.isEnabled()
        dialog.list.setCurrentRow(0)
        assert not any(radio.isVisible() for radio in dialog.radios.values())
        assert "limit" in dialog.explained.text()
        dialog.list.setCurrentRow(1)
        dialog.radios["both"].click()
        with qtbot.waitSignal(dialog.merge) as asked:
            dialog.merge_button.click()
        assert asked.args[1] == {"d.md": "both", "raw.md": "leave"}
    finally:
        lane.stop()


def test_a_note_of_a_vanished_workspace_is_brought_back_through_its_history(
    windows: Windows, home: Path, left: Path
) -> None:
    driver = windows.open(home)
    driver.until(lambda: len(orphans(driver)) == 4)
    (left / "fresh.md").unlink()
    driver.settle()
    driver.do("view.orphans")
    driver.until(lambda: page_of(driver).isVisible())
    page = page_of(driver)
    driver.until(lambda: len(page.view.stores) == 4)
    page.select(str(left))
    assert page.history.isEnabled()
    page.history.click()
    rows = driver.changes.tab.changes
    driver.until(lambda: driver.changes.is_settled and len(rows.shown_rows) > 1)
    rows.select(rows.shown_rows[-1].key)
    files = driver.reviewed()
    files.restore_folder_button.click()
    driver.until((left / "fresh.md").exists)
    assert (left / "fresh.md").read_text() == "fresh\n"
    driver.settle()


def test_searching_leads_back_from_the_page_to_the_trees(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.until(lambda: len(orphans(driver)) == 3)
    driver.do("view.orphans")
    driver.until(lambda: page_of(driver).isVisible())
    driver.do("view.search")
    driver.until(driver.tab.search.field.isVisible)
    assert not page_of(driver).isVisible()


def test_a_store_whose_project_came_back_is_gone_when_the_page_is_asked_for_again(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    project = tmp_path / "work/acme-api"
    store = home / "memory/project" / project_dir_name(str(project))
    (home / STORE).rename(store)
    config = home / "config.json"
    config.write_text(config.read_text().replace(f'"{ACME}"', json.dumps(str(project))))
    driver = windows.open(home)
    driver.do("view.orphans")
    driver.until(lambda: page_of(driver).isVisible())

    def is_listed() -> bool:
        return any(each.store.directory == store for each in page_of(driver).view.stores)

    driver.until(is_listed)
    driver.settle()
    driver.do("view.search")
    project.mkdir(parents=True)
    driver.do("view.orphans")
    driver.until(lambda: not is_listed())


def test_orphans_asked_for_before_the_first_look_are_shown_when_they_are_found(
    windows: Windows, home: Path
) -> None:
    driver = windows.open(home)
    driver.do("view.orphans")
    assert "no orphaned stores" not in driver.window.statusBar().currentMessage()
    driver.until(lambda: page_of(driver).isVisible())
    assert len(page_of(driver).view.stores) == 3


def test_the_orphans_of_a_claude_home_are_looked_for(windows: Windows, tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    there = tmp_path / "a_b"
    there.mkdir()
    maker.session(there, 1)
    older = maker.projects / directory_of(str(there)).replace("a-b", "a_b") / "memory"
    older.mkdir(parents=True)
    (older / "mesh.md").write_text("Where the mesh lies.\n")
    driver = windows.open(maker.root)
    driver.do("view.orphans")
    driver.until(lambda: bool(page_of(driver).view.stores))
    (view,) = page_of(driver).view.stores
    assert view.best is not None
    assert view.best.project_path == str(there)
    assert str(there) in page_of(driver).reason.text()


def test_a_home_whose_stores_cannot_be_orphaned_says_that(windows: Windows, tmp_path: Path) -> None:
    maker = CodexHomeMaker(tmp_path / "codex")
    maker.bucket(str(tmp_path))
    maker.newest()
    driver = windows.open(maker.root)
    driver.do("view.orphans")
    driver.until(lambda: "This agent has no orphaned stores" in driver.window.statusBar().currentMessage())
