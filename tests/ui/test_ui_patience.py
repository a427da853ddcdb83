"""What the window says while something takes long, and while a disk does not answer at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reverie.ui import app
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.window import status_labels as patience
from reverie.ui.window.status_labels import SlowDiskIndicator


class Disk:
    """One directory whose disk answers, or does not until `go`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.answers, self.asked = threading.Event(), threading.Event()

    def look(self, _control: JobControl | None = None) -> None:
        self.asked.set()
        assert self.answers.wait(30)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    found, stat = Disk(tmp_path / "home"), os.stat

    def slow_stat(path: Any, **more: Any) -> os.stat_result:
        if path == found.place:
            found.look()
        return stat(path, **more)

    monkeypatch.setattr(os, "stat", slow_stat)
    monkeypatch.setattr(patience, "CHECK_MS", 5)
    monkeypatch.setattr(patience, "SLOW_S", 0.02)
    monkeypatch.setattr(patience, "DEAD_S", 0.04)
    yield found
    found.answers.set()


@pytest.fixture
def lane() -> Iterator[Lane]:
    made = Lane("test")
    yield made
    made.stop()


def label_of(lane: Lane, disk: Disk, qtbot: Any) -> tuple[SlowDiskIndicator, list[str]]:
    label = SlowDiskIndicator((lane,), lambda: (disk.place,))
    qtbot.addWidget(label)
    said: list[str] = []
    label.status_message.connect(said.append)
    return label, said


def test_a_disk_that_does_not_answer_is_named_once_and_so_is_that_it_answers_again(
    lane: Lane, disk: Disk, qtbot: Any
) -> None:
    label, said = label_of(lane, disk, qtbot)
    lane.submit("read", disk.look, done=lambda _nothing: None)
    qtbot.waitUntil(lambda: bool(said))
    assert str(disk.place) in said[0]
    assert "is not responding" in label.text()
    disk.answers.set()
    qtbot.waitUntil(lambda: len(said) == 2)
    assert said[1] == f"{disk.place} is responding again."
    assert not label.text()


def test_a_job_that_nobody_waits_for_any_more_still_keeps_the_thread_waiting(
    lane: Lane, disk: Disk, qtbot: Any
) -> None:
    _label, said = label_of(lane, disk, qtbot)
    lane.submit("read", disk.look, done=lambda _nothing: None, group="read")
    assert disk.asked.wait(30)
    lane.submit("read", lambda _control: None, done=lambda _nothing: None, group="read")
    qtbot.waitUntil(lambda: bool(said))


def test_a_long_job_on_a_disk_that_answers_accuses_nobody(lane: Lane, disk: Disk, qtbot: Any) -> None:
    label, said = label_of(lane, disk, qtbot)
    over = threading.Event()
    disk.answers.set()
    lane.submit("compute", lambda _control: over.wait(30), done=lambda _done: None)
    qtbot.waitUntil(lambda: bool(label.text()))
    assert "disk might be slow" in label.toolTip()
    over.set()
    qtbot.waitUntil(lambda: not label.text())
    assert not said


def test_the_home_seen_last_is_opened_where_its_disk_does_not_answer_and_not_where_it_is_gone(
    tmp_path: Path, disk: Disk
) -> None:
    places = (str(tmp_path), str(tmp_path / "gone"))
    assert app.those_that_may_be(places) == (str(tmp_path),)
    assert app.those_that_may_be((str(disk.place),), within_s=0.01) == (str(disk.place),)
