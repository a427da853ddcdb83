"""Who reads files into the catalogue: the engine a few, a process of its own many."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from helpers.benches import sample_parts, workspace
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.engine import search
from reverie.engine.channel import IndexChanged
from reverie.engine.codec import encode
from reverie.engine.engine import (
    HomeEngine,
    ProfileEngine,
)
from reverie.engine.search import EngineSearch
from reverie.engine.server import CallControl, CallStopped
from reverie.errors import Unavailable
from reverie.files.watch import Changes
from reverie.memory.usage import UsageRestored
from reverie.services.container import HomeContainer
from reverie.services.recorder import VIEWS_FIRST_S, HistoryRecorder
from reverie.services.search import feed_catalogue
from reverie.services.views import updated
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"


class Apart:
    """Notes what a process of its own is asked for, and does it here."""

    def __init__(self, parts: HomeContainer) -> None:
        self.asked: list[str] = []
        self.fails: Exception | None = None
        self._parts = parts

    def run_aside(self, control: CallControl) -> bytes:
        self.asked.append(control.call.method)
        if self.fails is not None:
            raise self.fails
        home = HomeEngine(self._parts, EngineSearch(lambda _event: None))
        home.feed_catalogue(progress=lambda count: control.report(encode(count)), cancel=control.cancel)
        return b""


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def apart(parts: HomeContainer) -> Apart:
    return Apart(parts)


@pytest.fixture
def index(
    parts: HomeContainer, apart: Apart, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], EngineSearch]]:
    monkeypatch.setattr(search, "FIRST_S", 0.0)
    made: list[EngineSearch] = []

    def make() -> EngineSearch:
        made.append(EngineSearch(lambda _event: None, apart))
        made[-1].add(parts)
        assert made[-1].wait(20)
        return made[-1]

    yield make
    for each in made:
        each.close()


def found(index: EngineSearch, parts: HomeContainer, text: str) -> bool:
    answer = index.search(text, [parts], client=None, stop=lambda: False, report=lambda _answer: None)
    return bool(answer.hits)


def changed(*paths: Path) -> Changes:
    return Changes(frozenset(paths), False, 1, ())


def test_a_home_whose_rows_went_while_another_was_read_is_read_again(
    parts: HomeContainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged index is built anew for the home that is read; the others stayed without."""
    monkeypatch.setattr(search, "FIRST_S", 0.0)
    other = open_parts(copy_sample("mux-home-legacy", tmp_path / "second"), parts.profile, parts.clock)
    feed, damaged = search.feed_catalogue, [other.home_id]

    def damaged_once(given: HomeContainer, *arguments: Any) -> None:
        if given.home_id in damaged:
            damaged.clear()
            given.catalogue.rebuild()
        feed(given, *arguments)

    monkeypatch.setattr(search, "feed_catalogue", damaged_once)
    made = EngineSearch(lambda _event: None)
    for each in (parts, other):
        made.add(each)
        assert made.wait(20)
    both = {parts.home_id, other.home_id}
    assert not damaged
    assert parts.catalogue.complete(both) == both
    made.close()


def test_a_home_is_first_read_by_a_process_of_its_own_and_a_few_changes_by_the_engine(
    index: Callable[[], EngineSearch], parts: HomeContainer, apart: Apart
) -> None:
    made = index()
    assert apart.asked == ["feed_catalogue"]
    assert found(made, parts, "deploy")
    note = parts.home.root / "memory/global/new.md"
    note.write_text("a quokka\n")
    made.note(parts.home_id, changed(note))
    assert made.wait(20)
    assert found(made, parts, "quokka")
    assert apart.asked == ["feed_catalogue"]


def test_many_changes_are_read_by_a_process_of_its_own(
    index: Callable[[], EngineSearch],
    parts: HomeContainer,
    apart: Apart,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = index()
    monkeypatch.setattr(search, "FEW", 2)
    notes = [parts.home.root / f"memory/global/new-{number}.md" for number in range(4)]
    for note in notes:
        note.write_text("a quokka\n")
    made.note(parts.home_id, changed(*notes))
    assert made.wait(20)
    assert found(made, parts, "quokka")
    assert apart.asked == ["feed_catalogue"] * 2


def test_where_no_process_can_be_had_the_engine_reads_everything(
    index: Callable[[], EngineSearch], parts: HomeContainer, apart: Apart
) -> None:
    apart.fails = Unavailable("The run could not be started.")
    assert found(index(), parts, "deploy")


def test_a_small_home_that_was_read_before_is_read_by_the_engine(
    index: Callable[[], EngineSearch], parts: HomeContainer, apart: Apart
) -> None:
    feed_catalogue(parts, None, search.UpdateObserver())
    assert found(index(), parts, "deploy")
    assert apart.asked == []


def test_reading_that_is_stopped_ends_and_says_so(parts: HomeContainer) -> None:
    home = HomeEngine(parts, EngineSearch(lambda _event: None))
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CallStopped):
        home.feed_catalogue(progress=lambda _count: None, cancel=cancel)


def test_clients_hear_how_far_a_process_of_its_own_is(
    parts: HomeContainer, apart: Apart, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FIRST_S", 0.0)
    heard: list[IndexChanged] = []
    made = EngineSearch(heard.append, apart)
    made.add(parts)
    assert made.wait(20)
    made.close()
    assert heard[-1].is_ready
    assert heard[-1].files_read > 5


def test_trees_asked_for_beside_another_answer_are_sent_whole_and_nothing_is_listed_anew(
    parts: HomeContainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = ProfileEngine(parts.profile, system_clock)
    home = engine.open(parts.home.root)
    context = workspace(parts, ACME)
    first = home.trees(context)
    home.trees(context, known=first.serial, dirty=())
    asked: list[object] = []
    view = home.view

    def noting(*arguments: object, **more: object) -> object:
        asked.append(more["previous"])
        return view(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(home, "view", noting)
    late = home.trees(context, known=first.serial, dirty=())
    assert asked != [None]
    assert late.changes == {}
    assert updated(late, None).scopes.keys() == first.view.scopes.keys()
    engine.close()


class Bench:
    """What a recorder asks of a home, in order, and when."""

    def __init__(self) -> None:
        self.seen: list[object] = []
        self.at = 0.0

    def start_history(self) -> None:
        self.seen.append("all")

    def keep_usage(self) -> UsageRestored:
        return UsageRestored()

    def lost_saves(self, _changes: Changes) -> tuple[object, ...]:
        return ()

    def observe(self, changes: Changes) -> UsageRestored:
        self.at = time.monotonic()
        self.seen.append((changes.rescan, changes.paths))
        return UsageRestored()


def recorder_of(bench: Bench, done: threading.Event) -> HistoryRecorder:
    return HistoryRecorder(
        cast(Workbench, bench),
        recorded=lambda _count: done.set(),
        overwritten=lambda _lost: None,
        notify=lambda _sentence: None,
    )


def test_what_was_noted_before_the_first_full_scan_is_not_scanned_for_again() -> None:
    bench, done = Bench(), threading.Event()
    recorder = recorder_of(bench, done)
    recorder.note(Changes(frozenset({Path("/a")}), True, 1, ("start",)))
    recorder.start()
    assert done.wait(20)
    done.clear()
    recorder.note(Changes(frozenset({Path("/b")}), True, 1, ("lost",)))
    assert done.wait(20)
    recorder.stop()
    assert bench.seen == ["all", (False, {Path("/a")}), (True, {Path("/b")})]


def test_a_change_is_recorded_once_the_views_had_their_time() -> None:
    bench, done = Bench(), threading.Event()
    recorder = recorder_of(bench, done)
    recorder.start()
    assert done.wait(20)
    done.clear()
    noted = time.monotonic()
    recorder.note(Changes(frozenset({Path("/a")}), False, 1, ("event",)))
    recorder.note(Changes(frozenset({Path("/b")}), False, 1, ("event",)))
    assert done.wait(20)
    assert bench.at >= noted + VIEWS_FIRST_S
    recorder.stop()
    assert bench.seen == ["all", (False, {Path("/a"), Path("/b")})]
