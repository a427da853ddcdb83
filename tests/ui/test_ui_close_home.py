"""Closing a home: it leaves the list and stays away, nothing in it changes, and no typed text is lost."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu
from ui_windows import Driver, Windows

from helpers.samples import copy_sample
from reverie.agents.base import TroubledPlace
from reverie.errors import UserError
from reverie.services.window_state import Remembered, read_remembered
from reverie.ui import dialogs
from reverie.ui.app import with_remembered
from reverie.ui.session_store import SessionStore
from reverie.ui.startup_options import StartupOptions

PATH = "/memories/project/deploy.md"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return copy_sample("mux-home-legacy", tmp_path / "other")


def with_two(windows: Windows, home: Path, other: Path) -> Driver:
    driver = windows.open(home)
    driver.window.homes.open(other)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    return driver


def contents(home: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in sorted(home.rglob("*")) if file.is_file()}


def test_a_closed_home_leaves_list_search_and_traces_and_the_next_one_is_shown(
    windows: Windows, home: Path, other: Path
) -> None:
    driver = with_two(windows, home, other)
    window, closed = driver.window, driver.session
    window.lazy_tabs.show_traces()
    driver.until(lambda: driver.traces.is_settled and bool(driver.traces.feed.lines))
    driver.tab.search.field.setText("deploy")
    driver.until(lambda: driver.tab.search.settled and driver.tab.search.answer is not None)
    served, before = driver.served, contents(home)

    driver.do("home.close")
    driver.until(lambda: driver.is_settled() and driver.tab.search.settled)
    assert [node.data.reason for node in window.homes.nodes] == [str(other)]
    assert driver.session.info.root == other
    assert window.picker.place(window.picker.currentIndex()).home == driver.session.info.id
    assert not any(line.session is closed for line in driver.traces.feed.lines)
    answer = driver.tab.search.answer
    assert answer is not None
    assert not any(hit.home_id == closed.info.id for hit in answer.hits)
    driver.until(lambda: served.watch_state() is None)
    assert contents(home) == before

    window.homes.open(home)
    driver.until(lambda: len(window.homes.sessions) == 2)
    assert home not in window.homes.left_closed


def test_a_home_that_is_opened_again_at_once_is_searched_again(
    windows: Windows, home: Path, other: Path
) -> None:
    """Forgetting it came after it was opened again: nothing of it was found any more."""
    driver = with_two(windows, home, other)
    search = driver.tab.search
    search.field.setText("deploy")
    driver.until(lambda: search.settled and search.answer is not None)
    driver.do("home.close")
    (home / "memory/global/quokka.md").write_text("A quokka.\n")
    driver.window.homes.open(home)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    driver.until(lambda: driver.is_settled() and search.settled)
    search.field.setText("quokka")
    # An answer may come before the index was read again; the one after it is shown unasked.
    driver.until(lambda: [hit.path for hit in search.list.results.hits] == ["/memories/global/quokka.md"])


def test_without_the_last_home_the_window_offers_to_open_one(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    driver.open(PATH)
    driver.do("home.close")
    window = driver.window
    assert driver.tab.no_home.isVisible()
    assert (window.session, window.windowTitle()) == (None, "Reverie[*]")
    assert not window.homes.nodes
    for action in ("home.close", "memory.trash", "dream.run", "file.save"):
        assert not window.actions_[action].isEnabled(), action
    for show in ("traces", "log", "checks", "transcripts", "context", "memory"):
        driver.do(f"view.{show}")
    driver.until(lambda: not window.lanes.busy())
    window.homes.open(home)
    driver.settle()
    assert driver.tab.tree.isVisible()


def test_a_closed_home_that_is_found_again_stays_closed_until_it_is_asked_for(
    windows: Windows, home: Path, other: Path, isolated_home: Path
) -> None:
    found = isolated_home / ".mux"
    shutil.move(home, found)
    driver = with_two(windows, found, other)
    store = SessionStore(driver.window, Remembered(), place=False)
    driver.do("home.close")
    driver.settle()
    driver.window.homes.discover()
    driver.until(lambda: not driver.window.lanes.busy())
    assert [session.info.root for session in driver.window.homes.sessions] == [other]

    driver.window.close()
    store.keep(windows.profile, found.parent / "elsewhere")
    kept = read_remembered(windows.profile)
    assert (kept.home, kept.homes, kept.closed) == (str(other), (str(other),), (str(found),))
    beginning = with_remembered(StartupOptions(), kept)
    assert beginning.closed == (found,)

    again = windows.begin(other, "", and_found=True, closed=beginning.closed)
    store = SessionStore(again.window, kept, place=True)
    again.settle()
    again.until(lambda: not again.window.lanes.busy())
    assert [session.info.root for session in again.window.homes.sessions] == [other]
    assert store.capture().closed == (str(found),)
    again.window.homes.open(found)
    again.until(lambda: len(again.window.homes.sessions) == 2)
    assert store.capture().closed == ()


def test_unsaved_text_is_asked_for_before_its_home_is_closed(
    windows: Windows, home: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = with_two(windows, home, other)
    file = home / "memory/project/acme-api-db553efff149/deploy.md"
    before, answers, asked = file.read_bytes(), ["cancel", "save"], []

    def ask(_parent: object, names: list[str]) -> Any:
        asked.append(names)
        return answers.pop(0)

    monkeypatch.setattr(dialogs, "ask_unsaved", ask)
    driver.open(PATH)
    driver.type("mine\n")
    driver.do("home.close")
    assert len(driver.window.homes.sessions) == 2
    assert driver.pane.file.buffer.modified
    driver.do("home.close")
    driver.until(lambda: len(driver.window.homes.sessions) == 1)
    assert file.read_bytes() == b"mine\n" + before
    assert len(asked) == 2
    driver.settle()

    driver.window.homes.open(home)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    driver.window.picker.pick(driver.window.homes.sessions[1].info.id, workspace_id="a1f3c9e2b7")
    driver.settle()
    driver.open(PATH)
    driver.type("given up\n")
    driver.tab.keeper.flush()
    driver.until(lambda: any(windows.profile.state.rglob("drafts/*/*")))
    answers.append("discard")
    driver.do("home.close")
    assert not driver.tab.buffers.unsaved()
    assert file.read_bytes() == b"mine\n" + before
    assert not driver.window.isWindowModified()
    driver.until(lambda: not any(windows.profile.state.rglob("drafts/*/*")))


def test_a_home_in_which_a_run_goes_on_is_not_closed(windows: Windows, home: Path) -> None:
    driver = windows.open(home)
    go_on = threading.Event()
    driver.window.lanes.consolidator.submit(
        "hold", lambda _control: go_on.wait(20), done=lambda _nothing: None
    )
    driver.do("dream.preview")
    driver.do("home.close")
    assert driver.window.statusBar().currentMessage().startswith("A run is in progress in ")
    assert len(driver.window.homes.sessions) == 1
    go_on.set()
    driver.until(lambda: not driver.tab.dreams.jobs.running)
    driver.do("home.close")
    assert not driver.window.homes.sessions


def test_a_place_that_cannot_be_opened_can_be_closed_and_the_list_has_a_menu(
    windows: Windows, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = windows.open(home)
    window, picker = driver.window, driver.window.picker
    shown: list[list[str]] = []
    monkeypatch.setattr(
        QMenu, "popup", lambda menu, _at: shown.append([each.objectName() for each in menu.actions()])
    )
    picker.customContextMenuRequested.emit(QPoint(20, 5))
    assert shown == [["home.close", "home.open"]]

    bad = TroubledPlace(tmp_path / "bad", UserError("It cannot be read."))
    window.homes._say_troubled(bad)
    row = next(index for index in picker.places.walk() if picker.place(index).trouble)
    picker.setCurrentIndex(row)
    driver.do("home.close")
    assert window.homes.troubled_places == ()
    assert window.homes.left_closed == {bad.root}
    assert driver.tab.tree.isVisible(), "the home beside it is shown again"


def test_closing_a_place_that_cannot_be_opened_leaves_the_shown_place_shown(
    windows: Windows, home: Path, other: Path, tmp_path: Path
) -> None:
    """The first home of the list took its place."""
    driver = with_two(windows, home, other)
    window, picker = driver.window, driver.window.picker
    for home_id, pick in (
        (window.homes.sessions[1].info.id, picker.pick_home),
        (window.homes.sessions[0].info.id, lambda id_: picker.pick(id_, workspace_id="c04d8e91aa")),
        (
            window.homes.sessions[0].info.id,
            lambda id_: picker.pick_project(id_, "/home/dev/projects/pixel-garden"),
        ),
    ):
        pick(home_id)
        driver.settle()
        shown = picker.place(picker.currentIndex())
        window.homes._say_troubled(TroubledPlace(tmp_path / "bad", UserError("It cannot be read.")))
        picker.setCurrentIndex(next(row for row in picker.places.walk() if picker.place(row).trouble))
        driver.do("home.close")
        assert picker.place(picker.currentIndex()) == shown
        window.homes._left_closed.clear()
