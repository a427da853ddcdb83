"""The background services of a home in an engine: one host for all clients, gone with the last of them."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from helpers.expect_log import ExpectLog
from helpers.model_runs import write_settings
from helpers.samples import copy_sample
from helpers.turns import say_turns
from reverie.clock import system_clock
from reverie.engine import hosting
from reverie.engine.channel import Event, HomeChanged, HostChanged
from reverie.engine.client import EngineBug, EngineClient
from reverie.engine.codec import encode
from reverie.engine.engine import HomeEngine, ProfileEngine
from reverie.engine.hosting import FAILED, PAUSED_ELSEWHERE, STARTING
from reverie.engine.process import inline_channel
from reverie.engine.reach import connect
from reverie.engine.server import CallControl, CallStopped
from reverie.engine.workers import Workers
from reverie.files.lease import Leases
from reverie.files.locks import LeaseHolder, is_running
from reverie.files.log_file import is_debug
from reverie.profile import Profile
from reverie.services.host import host_lease_name
from reverie.services.views import HostStatus
from unit.engine.test_engine_process import short_lived
from unit.engine.test_run_workers import opened, until

ACME = "a1f3c9e2b7"
ON = "[system1]\nenabled = true\ninterval = 1\n"


class Window:
    """A client that shows one home, and what it heard of the services."""

    def __init__(self, home_dir: Path, channel: Callable[[], object]) -> None:
        self.heard: list[Event] = []
        self.client = EngineClient(channel, on_event=self.heard.append)  # type: ignore[arg-type]
        self.home = opened(self.client, home_dir)

    @property
    def states(self) -> list[str]:
        """Without what comes twice in a row."""
        found = [event.status.state for event in self.heard if isinstance(event, HostChanged)]
        return [state for state, before in zip(found, ["", *found], strict=False) if state != before]

    @property
    def last(self) -> HostStatus:
        heard = [event.status for event in self.heard if isinstance(event, HostChanged)]
        return heard[-1] if heard else HostStatus("stopped")


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile.under(tmp_path / "profile")


@pytest.fixture
def home_dir(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def engine(profile: Profile) -> Iterator[ProfileEngine]:
    engine = ProfileEngine(profile, system_clock)
    yield engine
    engine.close()


@pytest.fixture
def window(engine: ProfileEngine, home_dir: Path, profile: Profile) -> Iterator[Callable[[], Window]]:
    write_settings(profile.config.parent, ON)
    shown: list[Window] = []

    def open_one() -> Window:
        shown.append(Window(home_dir, lambda: inline_channel(engine)))
        return shown[-1]

    yield open_one
    for each in shown:
        each.client.stop()


def holder(profile: Profile, home: HomeEngine) -> LeaseHolder | None:
    return Leases(profile.leases_database).holder(host_lease_name(home.home_id))


def activity(home: HomeEngine, event: str) -> int:
    return [entry.event for entry in home.activity.page((), 500)[0]].count(event)


def test_one_host_serves_all_who_ask_and_ends_with_the_last(
    window: Callable[[], Window], profile: Profile
) -> None:
    first, second = window(), window()
    assert first.home.host(False).state in ("waiting", "hosting")
    second.home.host(False)
    until(lambda: first.last.state == second.last.state == "hosting")
    assert first.last.pid == os.getpid()
    held = holder(profile, first.home)
    assert held is not None
    assert activity(first.home, "host.started") == 1
    first.client.stop()
    until(lambda: second.home.host(False).state == "hosting")
    second.home.stop_hosting()
    until(
        lambda: holder(profile, second.home) is None
    )  # the engine may still have to see that the first left
    # The lease is given back before Activity is told.
    until(lambda: activity(second.home, "host.stopped") > 0)
    assert activity(second.home, "host.started") == activity(second.home, "host.stopped") == 1


def test_a_client_that_leaves_ends_what_it_asked_for(window: Callable[[], Window], profile: Profile) -> None:
    shown = window()
    home_id = shown.home.home_id
    shown.home.host(False)
    until(lambda: shown.last.state == "hosting")
    shown.client.stop()
    until(lambda: Leases(profile.leases_database).holder(host_lease_name(home_id)) is None)


def test_a_pause_counts_for_all_and_the_others_are_told_why(
    window: Callable[[], Window], profile: Profile
) -> None:
    first, second = window(), window()
    first.home.host(False)
    second.home.host(False)
    assert first.home.host(True).state == "stopped"
    assert holder(profile, first.home) is None
    until(lambda: second.last == HostStatus("waiting", message=PAUSED_ELSEWHERE))
    assert second.home.host(False) == HostStatus("waiting", message=PAUSED_ELSEWHERE)
    third = window()
    assert third.home.host(False).state == "waiting"
    first.client.stop()
    until(lambda: second.last.state == third.last.state == "hosting")
    assert second.states[-2:] == ["waiting", "hosting"]


def test_the_settings_begin_and_end_it_without_another_question(
    window: Callable[[], Window], profile: Profile
) -> None:
    shown = window()
    write_settings(profile.config.parent, "")
    assert shown.home.host(False).state == "stopped"
    write_settings(profile.config.parent, ON)
    shown.client.services.forget_settings()
    until(lambda: shown.states[-1:] == ["hosting"])
    write_settings(profile.config.parent, "")
    shown.client.services.forget_settings()
    until(lambda: shown.states[-2:] == ["hosting", "stopped"])
    assert holder(profile, shown.home) is None


def test_where_another_process_hosts_all_are_told_and_the_engine_takes_over(
    window: Callable[[], Window], profile: Profile
) -> None:
    shown = window()
    with Leases(profile.leases_database).acquire(host_lease_name(shown.home.home_id), purpose="another"):
        shown.home.host(False)
        until(lambda: shown.last.state == "viewing")
        assert shown.last.holder is not None
        assert shown.last.holder.purpose == "another"
    until(lambda: shown.states[-1:] == ["hosting"])


def test_what_only_the_host_follows_goes_to_no_client(
    window: Callable[[], Window], home_dir: Path, profile: Profile
) -> None:
    write_settings(profile.config.parent, f'{ON}model = "rules"\n')
    shown = window()
    shown.home.watch_for(shown.home.context(None, None))
    shown.home.host(False)
    until(lambda: shown.last.is_ready)
    say_turns(home_dir / "sessions" / ACME, 40, ["Always lint with --strict."], at=system_clock())
    until(lambda: any(run.kind == "writer" for run in shown.home.runs(limit=5)))
    changed = [
        path for event in shown.heard if isinstance(event, HomeChanged) for path in event.changes.paths
    ]
    assert not [path for path in changed if "chat" in path.name]


def test_a_home_that_is_put_away_ends_its_services(window: Callable[[], Window], profile: Profile) -> None:
    shown = window()
    shown.home.host(False)
    until(lambda: shown.last.state == "hosting")
    shown.home.forget_client()
    assert holder(profile, shown.home) is None


@pytest.fixture
def quiet_log() -> Iterator[None]:
    level = logging.getLogger("reverie").level
    yield
    logging.getLogger("reverie").setLevel(level)


@pytest.mark.usefixtures("quiet_log")
def test_the_log_tells_more_while_a_client_wants_it(window: Callable[[], Window]) -> None:
    first, second = window(), window()
    first.client.services.set_debug(True)
    second.client.services.set_debug(True)
    first.client.services.set_debug(False)
    assert is_debug()
    second.client.stop()
    until(lambda: not is_debug())


def test_real_windows_share_one_host_and_a_killed_engine_leaves_none(
    profile: Profile, home_dir: Path
) -> None:
    write_settings(profile.config.parent, ON)
    channel = partial(connect, profile, command=short_lived(profile))
    first, second = Window(home_dir, channel), Window(home_dir, channel)
    first.home.host(False)
    second.home.host(False)
    until(lambda: first.last.state == second.last.state == "hosting")
    held = holder(profile, first.home)
    assert held is not None
    engine = first.client.pid
    assert len({held.owner.pid, engine, os.getpid()}) == 3, "runs of the services slow no view"
    assert second.client.pid == engine
    os.kill(engine, signal.SIGKILL)
    until(lambda: not is_running(engine) and not second.client.is_connected)
    until(lambda: not is_running(held.owner.pid))
    assert holder(profile, opened(second.client, home_dir)) is None, "nobody asked the new one"
    heard = len(second.heard)
    second.home.host(False)
    until(lambda: any(isinstance(each, HostChanged) for each in second.heard[heard:]))
    until(lambda: second.last.state == "hosting")
    assert second.client.pid != engine
    first.client.stop()
    second.client.stop()
    until(lambda: not is_running(second.client.pid))


def test_a_host_that_dies_is_started_again_and_a_pause_ends_its_process(
    profile: Profile, home_dir: Path
) -> None:
    write_settings(profile.config.parent, ON)
    shown = Window(home_dir, partial(connect, profile, command=short_lived(profile)))
    shown.home.host(False)
    until(lambda: shown.last.state == "hosting")
    held = holder(profile, shown.home)
    assert held is not None
    os.kill(held.owner.pid, signal.SIGKILL)
    until(lambda: shown.last.state == "waiting" and "ended unexpectedly" in shown.last.message)
    until(lambda: shown.last.state == "hosting")
    again = holder(profile, shown.home)
    assert again is not None
    assert again.owner.pid != held.owner.pid
    shown.home.host(True)
    assert holder(profile, shown.home) is None
    until(lambda: not is_running(again.owner.pid))
    shown.client.stop()


class Failing:
    """Stands for `Workers`: the first host fails with a bug, the next one works."""

    def __init__(self) -> None:
        self.begun = 0
        self.failing, self.working = threading.Event(), threading.Event()

    def warm_up(self) -> None:
        pass

    def close(self) -> None:
        pass

    def run(self, control: CallControl, _home: object) -> bytes:
        self.begun += 1
        if self.begun == 1:
            assert self.failing.wait(60)
            raise EngineBug("Traceback: ZeroDivisionError")
        assert self.working.wait(60)
        control.report(encode(HostStatus("hosting")))
        control.cancel.wait()
        raise CallStopped


def test_a_host_that_fails_of_a_bug_is_told_logged_and_started_again(
    profile: Profile, home_dir: Path, monkeypatch: pytest.MonkeyPatch, expect_log: ExpectLog
) -> None:
    expect_log("the background services failed")
    monkeypatch.setattr(hosting, "RETRY_S", 0.01)
    write_settings(profile.config.parent, ON)
    workers = Failing()
    engine = ProfileEngine(profile, system_clock, workers=cast(Workers, workers))
    shown = Window(home_dir, lambda: inline_channel(engine))
    assert shown.home.host(False).message == STARTING
    workers.failing.set()
    until(lambda: shown.last.message == FAILED)
    workers.working.set()
    until(lambda: shown.last == HostStatus("hosting"))
    assert shown.home.host(True) == HostStatus("stopped")
    shown.client.stop()
    engine.close()


def test_one_that_hosts_by_itself_needs_no_setting_and_tells_a_window_who_it_is(
    profile: Profile, home_dir: Path
) -> None:
    shown = Window(home_dir, partial(connect, profile, command=short_lived(profile)))
    heard: list[HostStatus] = []
    cancel = threading.Event()
    hosting_ = threading.Thread(
        target=partial(shown.home.run_host, "reverie watch", progress=heard.append, cancel=cancel)
    )
    hosting_.start()
    until(lambda: bool(heard) and heard[-1].is_ready)
    held = holder(profile, shown.home)
    assert held is not None
    assert held.owner.pid == heard[-1].pid not in (shown.client.pid, os.getpid())
    write_settings(profile.config.parent, ON)
    shown.home.host(False)
    until(lambda: shown.last.state == "viewing")
    assert shown.last.holder is not None
    assert shown.last.holder.purpose == "reverie watch"
    cancel.set()
    hosting_.join()
    until(lambda: shown.last.state == "hosting")
    shown.client.stop()
    until(lambda: not is_running(shown.client.pid))


def test_the_log_of_the_engine_and_of_its_runs_tells_more(profile: Profile, home_dir: Path) -> None:
    client = EngineClient(partial(connect, profile, command=short_lived(profile)))
    home = opened(client, home_dir)
    home.noting.update(ACME)
    assert "[notes]" not in profile.engine_log.read_text()
    client.services.set_debug(True)
    home.noting.update(ACME)
    client.stop()
    until(lambda: not is_running(client.pid))
    assert "[notes]" in profile.engine_log.read_text()
