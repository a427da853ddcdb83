"""Who hosts the background services of a home, and what reaches them, over real transcripts and leases."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.benches import NOW, again, sample_parts
from helpers.expect_log import ExpectLog
from helpers.turns import append_rows, chat_row, say_turns
from helpers.watching import wait_until
from reverie.agents.mux.tail import TranscriptTail
from reverie.agents.transcripts import TailPosition, Turn
from reverie.compose import open_parts
from reverie.errors import StoreError
from reverie.files.watch import Changes
from reverie.profile import Profile
from reverie.resources import copy_demo_home
from reverie.services.container import HomeContainer
from reverie.services.host import Host, HostServices, host_lease_name
from reverie.services.views import HostStatus

ACME, PIPELINE, GARDEN = "a1f3c9e2b7", "c04d8e91aa", "77b0d2c4e5"


class Recorder:
    """Services that remember what they were told, and may be slow or broken."""

    def __init__(self) -> None:
        self.turns: list[tuple[str, str, str]] = []
        self.others: list[tuple[str, str]] = []
        self.kept: dict[str, TailPosition] = {}
        self.act: Callable[[str], None] = lambda _message: None
        self.cancel = threading.Event()

    def __call__(self, parts: HomeContainer, cancel: threading.Event) -> HostServices:
        self.cancel = cancel

        def open_tail(workspace_id: str) -> TranscriptTail | None:
            place = parts.home.session_place(workspace_id)
            return None if place is None else TranscriptTail(place.directory, self.kept.get(workspace_id))

        def turn_ended(workspace_id: str, event: Turn) -> None:
            self.act(event.id)
            self.turns.append((workspace_id, event.event, event.id))

        return HostServices(
            open_tail=open_tail,
            keep_tail=lambda workspace_id, tail: self.kept.update({workspace_id: tail.position}),
            turn_ended=turn_ended,
            launched=lambda: self.others.append(("launch", "")),
            compacted=lambda workspace_id: self.others.append(("compaction", workspace_id)),
            archived=lambda workspace_id: self.others.append(("archive", workspace_id)),
        )


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def host(parts: HomeContainer, recorder: Recorder) -> Iterator[Host]:
    host = Host(parts, services=recorder, retry_s=0.02)
    yield host
    host.stop()


def started(host: Host) -> Host:
    assert host.start().state == "hosting"
    assert host._session is not None
    assert host._session.ready.wait(20)
    return host


def session(parts: HomeContainer, workspace_id: str) -> Path:
    return parts.home.root / "sessions" / workspace_id


def events_of(parts: HomeContainer) -> list[str]:
    return [entry.event for entry in parts.activity.read()]


def test_each_turn_that_ends_reaches_the_writer_once_and_in_order(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    said = say_turns(session(parts, ACME), 40, ["one", "two", "three"], at=NOW)
    wait_until(lambda: len(recorder.turns) >= 3, "three turns")
    assert recorder.turns == [(ACME, "turn-end", name) for name in said]
    assert host._session is not None
    host._session.deliver(Changes(frozenset(), rescan=True, events=0, reasons=("a test",)))
    say_turns(session(parts, PIPELINE), 60, ["four"], at=NOW)
    wait_until(lambda: len(recorder.turns) >= 4, "the fourth turn")
    assert len(recorder.turns) == 4


def test_what_was_said_before_the_first_start_is_not_announced(host: Host, recorder: Recorder) -> None:
    started(host)
    wait_until(lambda: len(recorder.kept) >= 5, "every transcript to be looked at")
    assert recorder.turns == []
    assert recorder.others == [("launch", "")]


def test_aborted_turns_are_told_and_a_compaction_goes_to_the_dreams(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    aborted = chat_row(40, "assistant", "So", at=NOW, workspace_id=ACME, partial=True)
    marks = {"compacted": "user", "compactionBoundary": True, "compactionEpoch": 3}
    summary = chat_row(41, "assistant", "What was done", at=NOW + 1, workspace_id=ACME, **marks)
    append_rows(session(parts, ACME), aborted, summary)
    wait_until(lambda: ("compaction", ACME) in recorder.others, "the compaction")
    assert recorder.turns == [(ACME, "aborted", aborted["id"])]


def test_what_ended_while_nobody_hosted_counts_as_one_turn(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    say_turns(session(parts, ACME), 40, ["one"], at=NOW)
    wait_until(lambda: len(recorder.turns) == 1, "the first turn")
    host.stop()
    missed = say_turns(session(parts, ACME), 50, ["two", "three", "four"], at=NOW + 100)
    started(host)
    assert [name for _workspace, _kind, name in recorder.turns[1:]] == missed[-1:]


def test_in_a_session_that_appears_everything_counts_that_is_said_from_then_on(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    config = parts.home.root / "config.json"
    data = json.loads(config.read_text())
    data["projects"][0][1]["workspaces"].append({"id": "0123456789", "path": "/home/dev/x", "name": "x"})
    old = chat_row(1, "assistant", "Before", at=NOW - 9_999, workspace_id="0123456789")
    fresh = session(parts, "0123456789")
    fresh.mkdir()
    append_rows(fresh, old)
    said = say_turns(fresh, 2, ["one"], at=NOW + 1)
    config.write_text(json.dumps(data))
    wait_until(lambda: recorder.turns, "the new session's turn")
    assert [name for _workspace, _kind, name in recorder.turns] == said
    assert host.status.sessions == 6


def test_a_workspace_that_is_archived_gets_its_final_pass(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    config = parts.home.root / "config.json"
    data = json.loads(config.read_text())
    data["projects"][2][1]["workspaces"][1]["archivedAt"] = "2026-08-16T00:00:00Z"
    config.write_text(json.dumps(data))
    wait_until(lambda: ("archive", "5d6e7f8091") in recorder.others, "the final pass")
    assert ("archive", "3e9a1b5c6d") not in recorder.others


def test_one_process_hosts_the_others_view_and_take_over_when_it_stops(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    seen: list[HostStatus] = []
    other = Host(again(parts), services=Recorder(), retry_s=0.02, on_status=seen.append)
    try:
        status = other.start()
        assert status.state == "viewing"
        assert status.holder is not None
        assert "host.viewing" in events_of(parts)
        host.stop()
        wait_until(lambda: other.status.state == "hosting", "the other to take over")
        assert [status.state for status in seen] == ["viewing", "hosting"]
    finally:
        other.stop()


def test_starting_and_stopping_twice_is_as_good_as_once(host: Host, parts: HomeContainer) -> None:
    assert host.start() == host.start()
    host.stop()
    host.stop()
    assert host.status == HostStatus("stopped")
    assert parts.leases.holder(host_lease_name(parts.home_id)) is None
    assert events_of(parts).count("host.stopped") == 1
    started(host)


def test_a_stop_cancels_what_is_under_way_and_gives_the_lease_back(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    began = threading.Event()

    def long_run(_message: str) -> None:
        began.set()
        recorder.cancel.wait(60)

    recorder.act = long_run
    say_turns(session(parts, ACME), 40, ["one", "two"], at=NOW)
    assert began.wait(20)
    host.stop()
    assert parts.leases.holder(host_lease_name(parts.home_id)) is None
    assert [name for _workspace, _kind, name in recorder.turns] == [f"assistant-{NOW + 5}-41"]


def test_a_slow_run_in_one_workspace_does_not_hold_up_the_others(
    host: Host, parts: HomeContainer, recorder: Recorder
) -> None:
    started(host)
    go_on = threading.Event()

    def slow(message: str) -> None:
        if message.endswith("-41"):
            go_on.wait(60)

    recorder.act = slow
    say_turns(session(parts, ACME), 40, ["slow"], at=NOW)
    say_turns(session(parts, PIPELINE), 60, ["quick"], at=NOW)
    wait_until(lambda: any(name == PIPELINE for name, _kind, _id in recorder.turns), "the other workspace")
    assert all(name != ACME for name, _kind, _id in recorder.turns)
    go_on.set()
    wait_until(lambda: len(recorder.turns) == 2, "the slow one")


@pytest.mark.parametrize("error", [StoreError("The disk is full."), ValueError("a bug")])
def test_an_error_is_told_and_the_services_go_on(
    host: Host, parts: HomeContainer, recorder: Recorder, expect_log: ExpectLog, error: Exception
) -> None:
    if isinstance(error, ValueError):
        expect_log("a background service failed", logger="reverie.host")

    def fail(message: str) -> None:
        if message.endswith("-41"):
            raise error

    recorder.act = fail
    started(host)
    say_turns(session(parts, ACME), 40, ["one"], at=NOW)
    wait_until(lambda: "host.error" in events_of(parts), "the error in Activity")
    entry = next(entry for entry in parts.activity.read() if entry.event == "host.error")
    assert entry.workspace_id == ACME
    assert str(error.args[0]) in entry.text
    say_turns(session(parts, ACME), 50, ["two"], at=NOW + 100)
    wait_until(lambda: recorder.turns, "the next turn")


def test_a_lost_lease_ends_the_services_here(host: Host, parts: HomeContainer, recorder: Recorder) -> None:
    started(host)
    ended = recorder.cancel
    session = host._session
    assert session is not None
    session.lease.lost.set()
    wait_until(ended.is_set, "the services to end")
    wait_until(lambda: "host.lost" in events_of(parts), "the loss to be told")


def test_what_keeps_it_from_hosting_is_told_and_tried_again(parts: HomeContainer, recorder: Recorder) -> None:
    mended = threading.Event()

    def services(parts: HomeContainer, cancel: threading.Event) -> HostServices:
        if not mended.is_set():
            raise StoreError("The disk is full.")
        return recorder(parts, cancel)

    host = Host(parts, services=services, retry_s=0.02)
    try:
        assert host.start() == HostStatus("waiting", message="The disk is full.")
        assert parts.leases.holder(host_lease_name(parts.home_id)) is None
        mended.set()
        wait_until(lambda: host.status.state == "hosting", "another try")
        assert events_of(parts).count("host.waiting") == 1
    finally:
        host.stop()


def test_settings_that_change_count_at_the_next_turn(host: Host, parts: HomeContainer) -> None:
    started(host)
    assert parts.settings.system1.enabled is False
    parts.profile.config.mkdir(parents=True, exist_ok=True)
    parts.profile.settings_file.write_text("[system1]\nenabled = true\n")
    wait_until(lambda: parts.settings.system1.enabled, "the settings to be read again")


def test_a_home_that_was_replaced_is_left_alone_until_it_is_back(tmp_path: Path, recorder: Recorder) -> None:
    home = copy_demo_home(tmp_path)
    parts = open_parts(home, Profile.under(tmp_path / "profile"), lambda: NOW)
    host = Host(parts, services=recorder, retry_s=0.02)
    try:
        started(host)
        home.rename(tmp_path / "away")
        other = copy_demo_home(tmp_path)
        wait_until(lambda: host.status.state == "waiting", "the other home to be noticed")
        assert "now contains a different home" in host.status.message
        other.rename(tmp_path / "other")
        (tmp_path / "away").rename(home)
        wait_until(lambda: host.status.state == "hosting", "the first home to be hosted again")
    finally:
        host.stop()
