"""One bad home among good ones in the window: it is listed with its cause, and the good ones are open."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ui_windows import Driver, Windows

from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.engine import engine as engines
from reverie.errors import Unavailable
from reverie.services.container import HomeContainer
from reverie.ui.icons import Icons
from reverie.ui.startup_options import StartupOptions
from reverie.ui.window import homes as open_homes
from reverie.ui.window.main_window import MainWindow
from reverie.ui.window.picker import Place


@pytest.fixture
def hung(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """`tmp_path/.claude` answers nobody until the event is set."""
    answers, stat = threading.Event(), os.stat
    place = tmp_path / ".claude"

    def slow_stat(path: Any, *arguments: Any, **more: Any) -> os.stat_result:
        if path == place and not answers.is_set():
            answers.wait(60)
        return stat(path, *arguments, **more)

    monkeypatch.setattr(os, "stat", slow_stat)
    monkeypatch.setattr(open_homes, "ANSWER_S", 0.2)
    yield answers
    answers.set()


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with one good home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return copy_sample("mux-home", tmp_path).rename(tmp_path / ".xum")


def begin(windows: Windows, qtbot: Any, *homes: Path) -> Driver:
    """A window that opens these, or what it finds."""
    window = MainWindow(windows.profile, system_clock, Icons(), StartupOptions(homes))
    windows.keep(window)
    window.show()
    window.start()
    return Driver(qtbot, window, homes[0] if homes else Path(), watching=True)


def troubled(driver: Driver) -> dict[str, Place]:
    picker = driver.window.picker
    rows = (picker.place(index) for index in picker.places.walk())
    return {place.title: place for place in rows if place is not None and place.trouble}


def test_a_link_to_nothing_is_listed_and_the_good_home_is_open(
    windows: Windows, qtbot: Any, user: Path, tmp_path: Path
) -> None:
    (tmp_path / ".claude").symlink_to(tmp_path / "unplugged")
    driver = begin(windows, qtbot)
    driver.settle()
    assert driver.session.info.root == user
    assert "It is a broken symbolic link" in troubled(driver)[".claude"].trouble


def test_a_home_that_hangs_is_listed_and_opened_once_it_answers(
    windows: Windows, qtbot: Any, user: Path, tmp_path: Path, hung: threading.Event
) -> None:
    shared = copy_sample("claude-home", tmp_path).rename(tmp_path / ".claude")
    driver = begin(windows, qtbot, shared, user)
    driver.until(lambda: driver.window.session is not None and ".claude" in troubled(driver))
    driver.settle()
    assert driver.session.info.root == user
    assert "is not responding" in troubled(driver)[".claude"].trouble
    assert not driver.window.gave_up
    driver.window.picker.pick_home(troubled(driver)[".claude"].home)
    assert "is not responding" in driver.tab.notice.sentence.text()
    driver.window.picker.pick_home(driver.session.info.id)
    assert not driver.tab.notice.isVisible()
    hung.set()
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    assert not troubled(driver)


def test_in_place_of_a_home_that_cannot_be_opened_those_that_are_found_are_offered(
    windows: Windows, qtbot: Any, user: Path, tmp_path: Path
) -> None:
    driver = begin(windows, qtbot, tmp_path / "gone")
    page = driver.tab.no_home
    driver.until(lambda: page.isVisible() and len(page.cards) == 1)
    assert page.title.text() == "This home could not be opened"
    assert f"There is no home at {tmp_path / 'gone'}" in page.sentence.text()
    assert driver.window.session is None
    page.cards[0].click()
    driver.settle()
    assert driver.session.info.root == user
    assert not page.isVisible()
    driver.window.homes.close_home(driver.session.info.id)
    driver.window.show_no_home()
    assert page.title.text() == "No home is open"


def test_where_nothing_can_be_opened_the_search_is_not_done_again_and_again(
    windows: Windows, qtbot: Any, user: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def refused(path: Path, *_about: object) -> HomeContainer:
        asked.append(path)
        raise Unavailable("Not now.")

    monkeypatch.setattr(engines, "open_parts", refused)
    driver = begin(windows, qtbot, tmp_path / "gone")
    driver.until(lambda: user in asked and not driver.window.lanes.busy())
    qtbot.wait(300)
    assert asked.count(user) == 1
    assert driver.tab.no_home.isVisible()


def test_the_only_home_that_is_found_is_shown_once_its_disk_answers(
    windows: Windows, qtbot: Any, tmp_path: Path, hung: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    late = copy_sample("claude-home", tmp_path).rename(tmp_path / ".claude")
    driver = begin(windows, qtbot)
    driver.until(lambda: driver.tab.no_home.isVisible())
    hung.set()
    driver.until(lambda: driver.window.session is not None)
    driver.settle()
    assert driver.session.info.root == late
    assert not driver.tab.no_home.isVisible()


def test_a_row_that_still_cannot_be_opened_keeps_its_reason_beside_it(
    windows: Windows, qtbot: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude").symlink_to(tmp_path / "unplugged")
    driver = begin(windows, qtbot)
    driver.until(lambda: driver.tab.no_home.isVisible() and ".claude" in troubled(driver))
    driver.window.picker.pick_home(troubled(driver)[".claude"].home)
    assert driver.tab.notice.isVisible()
    driver.until(lambda: not driver.window.lanes.busy())
    qtbot.wait(100)
    assert driver.tab.notice.isVisible()
    assert not driver.tab.no_home.isVisible()


def test_the_only_home_that_hangs_is_named_on_the_page(
    windows: Windows, qtbot: Any, user: Path, tmp_path: Path, hung: threading.Event
) -> None:
    shared = user.rename(tmp_path / ".claude")
    driver = begin(windows, qtbot, shared)
    page = driver.tab.no_home
    driver.until(lambda: page.isVisible())
    assert f"{shared} is not responding" in page.sentence.text()
    hung.set()
    driver.until(lambda: driver.window.session is not None)
    driver.settle()
    assert not driver.tab.notice.isVisible()
    assert not troubled(driver)


def test_a_home_that_could_not_be_opened_is_opened_by_a_press_once_it_can_be(
    windows: Windows, qtbot: Any, user: Path, tmp_path: Path
) -> None:
    (tmp_path / ".claude").symlink_to(tmp_path / "unplugged")
    driver = begin(windows, qtbot)
    driver.settle()
    assert driver.window.picker.pick_home(troubled(driver)[".claude"].home)
    driver.settle()
    assert ".claude" in troubled(driver), "it is listed as long as it cannot be opened"
    driver.window.picker.pick_home(driver.session.info.id)
    copy_sample("claude-home", tmp_path).rename(tmp_path / "unplugged")
    assert driver.window.picker.pick_home(troubled(driver)[".claude"].home)
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    driver.settle()
    assert driver.session.info.root.name in ("unplugged", ".claude")
    assert not troubled(driver)


def test_a_home_that_cannot_be_opened_gives_no_other_one_the_view(
    windows: Windows, home: Path, tmp_path: Path
) -> None:
    driver = windows.open(home)
    driver.window._open_wanted(tmp_path / "no-home")
    driver.until(lambda: "no-home" in driver.window.statusBar().currentMessage())
    driver.window.homes.open(copy_sample("mux-home-legacy", tmp_path / "other"))
    driver.until(lambda: len(driver.window.homes.sessions) == 2)
    driver.settle()
    assert driver.session.info.root == home


def test_a_workspace_is_asked_of_the_first_home_only(windows: Windows, home: Path, tmp_path: Path) -> None:
    driver = windows.open(home)
    other = copy_sample("mux-home-legacy", tmp_path / "other")
    driver.window._open_wanted(other)
    driver.until(lambda: driver.session.info.root == other)
    driver.settle()
    assert "does not have the workspace" not in driver.window.statusBar().currentMessage()
