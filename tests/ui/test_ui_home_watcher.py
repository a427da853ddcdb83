"""Who watches a home after an engine died: only what the engine of now said counts."""

from __future__ import annotations

import threading
from typing import Any, cast

from ui_windows import LIMIT_MS

from reverie.engine.engine import HomeEngine
from reverie.errors import Unavailable
from reverie.files.watch import WatchState
from reverie.ui.home_watcher import HomeWatcher
from reverie.ui.jobs import Lane

STATE = WatchState("events", 1, 0, 0, (), "")


class Slow:
    """A home whose engine answers when it is told to."""

    def __init__(self) -> None:
        self.asked = 0
        self.answer = threading.Semaphore(0)
        self.dead = False

    def watch_for(self, _context: object) -> WatchState:
        self.asked += 1
        assert self.answer.acquire(timeout=LIMIT_MS / 1000)
        if self.dead:
            raise Unavailable("Reverie's engine is not running.")
        return STATE


def test_an_answer_of_the_engine_before_does_not_count(qtbot: Any) -> None:
    home, lane = Slow(), Lane("watch")
    watcher = HomeWatcher(cast(HomeEngine, home), lane, lane, enabled=True)
    started: list[WatchState] = []
    watcher.started.connect(started.append)
    try:
        watcher.start(None)
        qtbot.waitUntil(lambda: home.asked == 1)
        home.answer.release()
        # The engine dies while its answer is on the way.
        watcher.lost()
        qtbot.waitUntil(lambda: not lane.busy)
        assert not watcher.is_started
        assert started == []
        watcher.start(None)
        home.answer.release()
        qtbot.waitUntil(lambda: watcher.is_started)
        assert started == [STATE]
    finally:
        lane.stop()


def test_a_failure_of_the_engine_before_does_not_stop_the_one_of_now(qtbot: Any) -> None:
    home, lane = Slow(), Lane("watch")
    watcher = HomeWatcher(cast(HomeEngine, home), lane, lane, enabled=True)
    try:
        home.dead = True
        watcher.start(None)
        qtbot.waitUntil(lambda: home.asked == 1)
        watcher.lost()
        watcher.start(None)  # waits for its turn
        home.answer.release()
        qtbot.waitUntil(lambda: home.asked == 2)
        watcher.start(None)  # that one is under way
        home.dead = False
        home.answer.release()
        qtbot.waitUntil(lambda: watcher.is_started)
        assert home.asked == 2
    finally:
        lane.stop()
