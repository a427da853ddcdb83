"""Garbage with Qt objects in it is never destroyed on a worker."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
from PySide6.QtCore import QObject

from reverie.ui.window import main_window as collector_module
from reverie.ui.window.main_window import GcScheduler


class Cyclic:
    """Part of a cycle, and tells which thread destroyed it."""

    def __init__(self, told: list[str]) -> None:
        self.itself = self
        self._told = told

    def __del__(self) -> None:
        self._told.append(threading.current_thread().name)


def allocate_much(kept: list[list[int]]) -> None:
    kept.extend([number] for number in range(300_000))


class Held:
    """What a full collection would destroy."""


@pytest.fixture
def low_threshold() -> Any:
    before = gc.get_threshold()
    gc.collect()
    gc.set_threshold(1000, 10, 10)
    yield
    gc.set_threshold(*before)


def test_a_worker_that_allocates_collects_nothing_and_the_gui_thread_does(
    qtbot: Any, low_threshold: None
) -> None:
    told: list[str] = []
    parent = QObject()
    collector = GcScheduler(parent)
    Cyclic(told)
    kept: list[list[int]] = []
    worker = threading.Thread(target=allocate_much, args=(kept,), name="worker")
    worker.start()
    worker.join()
    assert told == []
    qtbot.waitUntil(lambda: told == ["MainThread"])
    collector.stop()
    assert gc.isenabled()


def test_what_survived_is_looked_at_again_only_when_nobody_works(
    qtbot: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent = QObject()
    jobs = [True]
    monkeypatch.setattr(collector_module, "YOUNG", 0)
    monkeypatch.setattr(collector_module, "AWAY_S", 0.0)
    monkeypatch.setattr(collector_module, "LONG_S", 0.0)
    collector = GcScheduler(parent, lambda: bool(jobs))
    held = Held()
    held.itself = held  # type: ignore[attr-defined]
    alive = weakref.ref(held)
    collector.collect_due()
    del held
    collector.collect_due()
    assert alive() is not None, "it was frozen"
    jobs.clear()
    collector.collect_due()
    assert alive() is None
    collector.stop()
    assert gc.get_freeze_count() == 0


def test_while_something_is_at_work_it_looks_more_often(qtbot: Any) -> None:
    parent = QObject()
    jobs: list[bool] = []
    collector = GcScheduler(parent, lambda: bool(jobs))
    paces = []
    for change in (lambda: None, lambda: jobs.append(True), jobs.clear):
        change()
        collector.collect_due()
        paces.append(collector._timer.interval())
    collector.stop()
    assert paces == [
        collector_module.INTERVAL_MS,
        collector_module.BUSY_INTERVAL_MS,
        collector_module.INTERVAL_MS,
    ]


def test_the_automatic_collector_comes_back_with_the_last_window(qtbot: Any) -> None:
    parent = QObject()
    first, second = GcScheduler(parent), GcScheduler(parent)
    first.stop()
    first.stop()
    assert not gc.isenabled()
    second.stop()
    assert gc.isenabled()


def test_without_it_a_worker_would(low_threshold: None) -> None:
    """The rule that the module rests on, so that it can go once Python or PySide cures it."""
    told: list[str] = []
    alive = weakref.ref(Cyclic(told))
    worker = threading.Thread(target=allocate_much, args=([],), name="worker")
    worker.start()
    worker.join()
    assert alive() is None
    assert told == ["worker"]
