"""The next window begins where the last one ended, and never calls a person back who has gone on."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QTextCursor
from ui_windows import ACME, INGEST, Driver, Windows

from helpers.samples import copy_sample
from reverie.agents.scopes import Scope
from reverie.clock import system_clock
from reverie.services.window_state import Remembered, read_remembered
from reverie.ui.app import restore_geometry, with_remembered
from reverie.ui.icons import Icons
from reverie.ui.session_store import SessionStore
from reverie.ui.single_instance import OpenRequest
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window.main_window import MainWindow
from reverie.values import replace


def _again(
    windows: Windows, home: Path, remembered: Remembered, *, place: bool = True
) -> tuple[Driver, SessionStore]:
    driver = windows.begin(home, remembered.workspace if place else ACME)
    restore_geometry(driver.window, remembered)
    store = SessionStore(driver.window, remembered, place=place)
    driver.settle()
    return driver, store


def test_home_folders_file_cursor_splitters_and_tab_come_back(windows: Windows, home: Path) -> None:
    first = windows.open(home, INGEST)
    store = SessionStore(first.window, Remembered(), place=False)
    first.window.resize(790, 666)  # the offscreen screen is 800 wide
    first.window.splitter.setSizes([130, 655])
    first.window.tab.splitter.setSizes([330, 320])
    first.window.lazy_tabs.show_transcripts()
    target = sorted(first.paths(Scope.GLOBAL))[0]
    first.open(f"/memories/global/{target}")
    cursor = first.pane.text.textCursor()
    cursor.setPosition(3)
    cursor.setPosition(9, QTextCursor.MoveMode.KeepAnchor)
    first.pane.text.setTextCursor(cursor)
    first.tree.collapse(first.tab.model.index(0, 0))
    first.tab.order.sort_key = "size"
    opened = first.tree.opened_keys
    first.window.close()
    store.keep(windows.profile, home.parent / "elsewhere")

    kept = read_remembered(windows.profile)
    assert (kept.workspace, kept.file, kept.cursor, kept.tab) == (INGEST, f"/memories/global/{target}", 9, 3)
    again, store = _again(windows, home, kept)
    again.until(lambda: not store.restoring)
    window = again.window
    assert (window.width(), window.height()) == (790, 666)
    assert window.splitter.sizes()[0] == kept.picker_width
    assert window.tabs.currentIndex() == 3
    assert again.session.context.workspace_id == INGEST
    assert again.tree.opened_keys == opened
    assert again.tab.order.sort_key == "size"
    assert again.pane.file is not None
    assert again.pane.file.buffer.address.path == kept.file
    assert (again.pane.text.textCursor().anchor(), again.pane.text.textCursor().position()) == (3, 9)
    # A tree behind another tab has no height to scroll in.
    now = store.capture()
    assert replace(now, geometry="", tree_scroll=0) == replace(kept, geometry="", tree_scroll=0)
    window.tabs.setCurrentIndex(0)
    again.settle()
    assert window.tab.splitter.sizes()[0] == kept.tree_width

    # What is gone is left out, and what stands in the command line comes first.
    gone = replace(kept, file="/memories/global/gone.md", cursor=10**6)
    third, store = _again(windows, home, gone)
    assert not store.restoring
    assert third.pane.file is None
    fourth, store = _again(windows, home, kept, place=False)
    assert fourth.session.context.workspace_id == ACME
    assert fourth.pane.file is None


def test_every_home_that_was_open_comes_back_the_shown_one_first(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    first = windows.open(home)
    store = SessionStore(first.window, Remembered(homes=("/gone/before",)), place=False)
    first.window.homes.open(other)
    first.until(lambda: len(first.window.homes.sessions) == 2)
    first.window.close()
    store.keep(windows.profile, tmp_path / "elsewhere")
    kept = read_remembered(windows.profile)
    assert kept.homes == (str(home), str(other), "/gone/before")
    beginning = with_remembered(StartupOptions(), kept)
    assert beginning.homes == (home, other)
    assert beginning.workspace == ACME
    assert beginning.and_found


def test_a_throw_away_home_is_not_remembered(windows: Windows, home: Path, tmp_path: Path) -> None:
    first = windows.open(home)
    store = SessionStore(first.window, Remembered(home="/h", homes=("/h",)), place=False)
    store.keep(windows.profile, home.parent)
    kept = read_remembered(windows.profile)
    assert (kept.home, kept.homes) == ("/h", ("/h",))


def test_a_home_stays_on_screen_when_the_search_finds_no_other(windows: Windows, home: Path) -> None:
    """B1: the list and the title showed the home, the page said that none is open."""
    driver = windows.begin(home, and_found=True)
    driver.settle()
    driver.until(lambda: not driver.window.lanes.busy())
    tab = driver.tab
    assert driver.window.session is not None
    assert not tab.no_home.isVisible()
    assert tab.tree.isVisible()
    assert not driver.window.gave_up


def test_a_home_that_cannot_be_opened_is_not_told_as_no_home(windows: Windows, tmp_path: Path) -> None:
    driver = windows.begin(tmp_path / "gone", and_found=True)
    driver.until(lambda: driver.window.opening_failed and not driver.window.lanes.busy())
    assert driver.tab.no_home.title.text() == "This home could not be opened"


def _remembered(windows: Windows, home: Path, tmp_path: Path) -> Remembered:
    """What a window leaves that showed a memory of `home`."""
    first = windows.open(home, INGEST)
    store = SessionStore(first.window, Remembered(), place=False)
    first.open(f"/memories/global/{sorted(first.paths(Scope.GLOBAL))[0]}")
    first.window.close()
    store.keep(windows.profile, tmp_path / "elsewhere")
    return read_remembered(windows.profile)


def test_a_window_closed_before_its_home_is_read_forgets_nothing(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    kept = _remembered(windows, home, tmp_path)
    again = windows.begin(home, kept.workspace)
    store = SessionStore(again.window, kept, place=True)
    assert again.window.session is None
    again.window.close()
    store.keep(windows.profile, tmp_path / "elsewhere")
    now = read_remembered(windows.profile)
    assert (now.home, now.workspace, now.file) == (kept.home, INGEST, kept.file)
    assert now.file


def test_a_home_that_comes_late_does_not_call_back_who_uses_another_one(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    kept = _remembered(windows, home, tmp_path)
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    again = windows.begin(other, "")
    store = SessionStore(again.window, kept, place=True)
    again.settle()
    assert store.capture().home == kept.home, "it may come yet"
    path = f"/memories/global/{sorted(again.paths(Scope.GLOBAL))[0]}"
    again.open(path)
    again.window.homes.open(home)
    again.until(lambda: len(again.window.homes.sessions) == 2)
    again.settle()
    assert again.session.info.root == other
    assert again.pane.file is not None
    assert store.capture().home == str(other)


@pytest.mark.qt_log_ignore("does not support")
def test_a_home_that_comes_late_does_not_call_back_who_asked_for_another_one(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    kept = _remembered(windows, home, tmp_path)
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    again = windows.begin(tmp_path / "gone", "")  # the remembered one is slow
    store = SessionStore(again.window, kept, place=True)
    again.window.handle_request(OpenRequest((other,)))
    again.settle()
    again.window.homes.open(home)
    again.until(lambda: len(again.window.homes.sessions) == 2)
    again.settle()
    assert again.session.info.root == other
    assert store.capture().home == str(other)


def test_a_home_that_comes_late_does_not_call_back_who_pressed_a_card(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    kept = _remembered(windows, home, tmp_path)
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    beginning = StartupOptions((other,), engine=False, choosing=True)
    window = MainWindow(windows.profile, system_clock, Icons(), beginning)
    windows.keep(window)
    window.show()
    again = Driver(windows._qtbot, window, other, watching=True)
    store = SessionStore(window, kept, place=True)
    window.start()
    again.until(lambda: bool(window.tab.no_home.cards))
    window.tab.no_home.cards[0].click()
    again.settle()
    window.homes.open(home)
    again.until(lambda: len(window.homes.sessions) == 2)
    again.settle()
    assert again.session.info.root == other
    assert not store.restoring


@pytest.mark.qt_log_ignore("does not support")
def test_a_home_that_comes_late_is_shown_at_the_place_that_was_asked_for(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    kept = _remembered(windows, home, tmp_path)
    again = windows.begin(home, kept.workspace)
    store = SessionStore(again.window, kept, place=True)
    again.window.handle_request(OpenRequest(workspace=ACME))
    again.settle()
    assert again.session.context.workspace_id == ACME
    assert not store.restoring


def test_a_home_that_comes_late_is_shown_while_nothing_else_was_chosen(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    kept = _remembered(windows, home, tmp_path)
    again = windows.begin(copy_sample("mux-home-legacy", tmp_path / "other"), "")
    store = SessionStore(again.window, kept, place=True)
    again.settle()
    again.window.homes.open(home)
    again.until(lambda: not store.restoring)
    assert again.session.info.root == home
    assert again.session.context.workspace_id == INGEST
