"""Garbage with Qt objects in it is never destroyed on a worker."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest
from PySide6.QtWidgets import QWidget

from reverie.ui.window import garbage as collector_module
from reverie.ui.window.garbage import GarbageCollection


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
    parent = QWidget()
    collector = GarbageCollection(parent)
    Cyclic(told)
    kept: list[list[int]] = []
    worker = threading.Thread(target=allocate_much, args=(kept,), name="worker")
    worker.start()
    worker.join()
    assert told == []
    qtbot.waitUntil(lambda: told == ["MainThread"])
    collector.stop()
    assert gc.isenabled()


def test_everything_is_collected_only_while_nobody_looks(qtbot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parent = QWidget()
    monkeypatch.setattr(collector_module, "YOUNG", 0)
    monkeypatch.setattr(collector_module, "AWAY_S", 0.0)
    active = [True]
    monkeypatch.setattr(parent, "isActiveWindow", lambda: bool(active))
    collector = GarbageCollection(parent)
    held = Held()
    held.itself = held  # type: ignore[attr-defined]
    alive = weakref.ref(held)
    collector.collect()
    del held
    collector.collect()
    assert alive() is not None, "it is not young any more"
    active.clear()
    collector.collect()
    assert alive() is None
    collector.stop()


def test_the_automatic_collector_comes_back_with_the_last_window(qtbot: Any) -> None:
    parent = QWidget()
    first, second = GarbageCollection(parent), GarbageCollection(parent)
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
