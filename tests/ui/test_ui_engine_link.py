"""What the engine says arrives in the GUI thread, whole and in order; after the end nothing arrives."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import shiboken6
from PySide6.QtCore import QThread

from reverie.clock import system_clock
from reverie.engine.channel import HomeChanged
from reverie.files.watch import Changes
from reverie.profile import Profile
from reverie.ui.engine_link import EngineLink

HOME = Path("/home/somebody/.mux")


def changes(name: str) -> Changes:
    return Changes(frozenset({Path(name)}), False, 1, ())


def link(tmp_path: Path) -> EngineLink:
    return EngineLink(Profile.under(tmp_path), system_clock, own_process=False)


def test_events_posted_on_another_thread_arrive_here(qtbot: Any, tmp_path: Path) -> None:
    engine = link(tmp_path)
    arrived: list[tuple[Any, Any, bool]] = []

    def take(event: Any) -> None:
        arrived.append((event.home, event.changes, QThread.currentThread().isMainThread()))

    engine.heard.connect(take)
    poster = threading.Thread(
        target=lambda: [engine._post(HomeChanged(HOME, changes(str(number)))) for number in range(50)]
    )
    poster.start()
    poster.join()
    qtbot.waitUntil(lambda: len(arrived) == 50)
    assert [found for _home, found, _main in arrived] == [changes(str(number)) for number in range(50)]
    assert all(home == HOME and main for home, _found, main in arrived)


def test_a_stopped_link_is_silent(qtbot: Any, tmp_path: Path) -> None:
    engine = link(tmp_path)
    engine._post(HomeChanged(HOME, changes("before")))
    engine.stop()
    with qtbot.assertNotEmitted(engine.heard, wait=50):
        engine._post(HomeChanged(HOME, changes("after")))


def test_an_event_for_a_deleted_link_never_raises(qtbot: Any, tmp_path: Path) -> None:
    engine = link(tmp_path)
    shiboken6.delete(engine)
    engine._post(HomeChanged(HOME, changes("late")))
