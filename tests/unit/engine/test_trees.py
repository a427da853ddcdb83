"""Trees over the wire: of a change only what is different, and never on the wrong ground."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.samples import copy_sample
from reverie.agents.scopes import Scope, ScopeContext
from reverie.clock import system_clock
from reverie.engine.client import EngineClient, EngineGone
from reverie.engine.engine import HomeEngine, ProfileEngine
from reverie.engine.process import inline_channel
from reverie.profile import Profile
from reverie.services.views import updated
from unit.engine.test_run_workers import until

GLOBAL = ScopeContext(None, None)


class Served:
    """A home, and engines for it one after the other."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = copy_sample("mux-home", tmp_path)
        self.profile = Profile.under(tmp_path / "profile")
        self.note = self.root / "memory" / "global" / "trees.md"
        self.clients: list[EngineClient] = []
        self.engines: list[ProfileEngine] = []

    def home(self) -> HomeEngine:
        """As a client of another engine has it."""
        engine = ProfileEngine(self.profile, system_clock)
        client = EngineClient(lambda: inline_channel(engine))
        self.engines.append(engine)
        self.clients.append(client)
        info = client.services.open(self.root).info
        return client.home(info.root, info.id)

    def close(self) -> None:
        for client in self.clients:
            client.stop()
        for engine in self.engines:
            engine.close()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.close()


def test_of_a_change_only_what_is_different_is_sent(served: Served) -> None:
    home = served.home()
    first = home.trees(GLOBAL)
    view = updated(first, None)
    served.note.write_text("A note.\n")
    second = home.trees(GLOBAL, known=first.serial, dirty=frozenset({served.note}))
    assert [file.rel for file in second.changes[Scope.GLOBAL].changed] == ["trees.md"]
    view = updated(second, view)
    assert view.scopes[Scope.GLOBAL].files == home.view(GLOBAL).scopes[Scope.GLOBAL].files
    served.note.unlink()
    third = home.trees(GLOBAL, known=second.serial, dirty=frozenset({served.note}))
    assert third.changes[Scope.GLOBAL].gone == ("trees.md",)
    assert updated(third, view).scopes[Scope.GLOBAL].files == home.view(GLOBAL).scopes[Scope.GLOBAL].files


def test_a_client_that_missed_an_answer_gets_everything(served: Served) -> None:
    home = served.home()
    first = home.trees(GLOBAL)
    served.note.write_text("A note.\n")
    home.trees(GLOBAL, known=first.serial)  # and its answer is lost
    assert home.trees(GLOBAL, known=first.serial).changes == {}


def test_what_an_engine_before_sent_is_no_ground_for_another(served: Served) -> None:
    """The first answer of each would have the same number, if they counted from one."""
    before = served.home().trees(GLOBAL)
    served.note.write_text("A note.\n")
    home = served.home()
    home.trees(GLOBAL, known=before.serial)  # and its answer is lost
    update = home.trees(GLOBAL, known=before.serial)
    assert update.changes == {}
    assert "trees.md" in {file.rel for file in updated(update, None).scopes[Scope.GLOBAL].files}


@pytest.mark.parametrize(
    ("ask", "held_up"),
    [
        (lambda client, home: home.refresh(GLOBAL, None), "view"),
        (lambda client, home: home.watch_for(GLOBAL), "watch_for"),
        (
            lambda client, home: client.services.search("tree", [home.home_id], progress=print, cancel=None),
            "index",
        ),
    ],
)
def test_a_call_that_outlasts_its_client_leaves_nothing_behind(
    served: Served, monkeypatch: pytest.MonkeyPatch, ask: Callable[..., object], held_up: str
) -> None:
    home = served.home()
    (engine,), (client,) = served.engines, served.clients
    opened = engine.home(served.root, home.home_id)
    place, name = (engine.index, "search") if held_up == "index" else (opened, held_up)
    begun, going_on = threading.Event(), threading.Event()
    method = getattr(place, name)

    def held(*arguments: object, **more: object) -> object:
        begun.set()
        assert going_on.wait(30)
        return method(*arguments, **more)

    def asking() -> None:
        with pytest.raises(EngineGone):
            ask(client, home)

    monkeypatch.setattr(place, name, held)
    thread = threading.Thread(target=asking)
    thread.start()
    assert begun.wait(30)
    connection = weakref.ref(next(iter(engine._clients)))
    client.stop()
    until(lambda: engine.is_idle)
    going_on.set()
    thread.join()
    until(lambda: gc.collect() >= 0 and connection() is None)


def test_a_home_stays_open_until_its_last_client_has_left_it(served: Served) -> None:
    first = served.home()
    (engine,) = served.engines
    second = EngineClient(lambda: inline_channel(engine))
    served.clients.append(second)
    second.services.open(served.root)
    first.watch_for(GLOBAL)
    opened = weakref.ref(engine.home(served.root, first.home_id))
    serial = first.refresh(GLOBAL, None).trees
    first.forget_client()
    gc.collect()
    assert opened() is not None
    second.stop()
    until(lambda: gc.collect() >= 0 and opened() is None)
    again = first.refresh(GLOBAL, None).trees
    assert again is not None
    assert serial is not None
    assert again.view.scopes.keys() == serial.view.scopes.keys()


def test_a_home_stays_open_for_a_client_that_asks_for_it_by_its_place_alone(served: Served) -> None:
    first = served.home()
    (engine,) = served.engines
    second = EngineClient(lambda: inline_channel(engine))
    served.clients.append(second)
    again = second.home(served.root, first.home_id)
    assert again.refresh(GLOBAL, None).trees is not None
    opened = weakref.ref(engine.home(served.root, first.home_id))
    first.forget_client()
    gc.collect()
    assert opened() is not None
    again.forget_client()
    until(lambda: gc.collect() >= 0 and opened() is None)


def test_an_engine_is_rid_of_a_client_even_if_forgetting_it_fails(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.home()
    (engine,), (client,) = served.engines, served.clients
    failed: list[object] = []
    monkeypatch.setattr(threading, "excepthook", failed.append)
    monkeypatch.setattr(engine.index, "forget_client", lambda _client: 1 / 0)
    client.stop()
    until(lambda: engine.is_idle and bool(failed))


def test_a_home_that_is_watched_again_while_its_watch_ends_is_recorded(served: Served) -> None:
    home = served.home()
    (engine,) = served.engines
    watch = engine.home(served.root, home.home_id)._watch
    home.watch_for(GLOBAL)
    connection = next(iter(engine._clients))
    stopping, going_on = threading.Event(), threading.Event()
    watcher = watch._watcher
    assert watcher is not None
    stop = watcher.stop

    def slow() -> None:
        stopping.set()
        assert going_on.wait(30)
        stop()

    watcher.stop = slow  # type: ignore[method-assign]
    thread = threading.Thread(target=watch.remove, args=(connection,))
    thread.start()
    assert stopping.wait(30)
    home.watch_for(GLOBAL)
    recorder = watch._recorder
    going_on.set()
    thread.join()
    assert not recorder._stopped


def test_a_first_look_crosses_as_it_is(served: Served) -> None:
    home = served.home()
    assert home.names(GLOBAL) == home.view(GLOBAL, names_only=True)
