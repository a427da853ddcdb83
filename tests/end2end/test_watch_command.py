"""`reverie watch` as a real process: turns that another process appends to a transcript lead to runs of the
memory writer, by rules and by a model over real sockets; one host per home; a clean stop."""

from __future__ import annotations

import configparser
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from helpers.model_server import Call, ModelServer, ParsedRequest, Reply
from helpers.samples import copy_sample
from helpers.turns import say_turns
from helpers.watching import wait_until
from reverie.cli import main
from reverie.cli import runs as watch
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.engine.client import EngineClient
from reverie.engine.process import LINGER_S
from reverie.engine.reach import reach
from reverie.files.locks import is_running
from reverie.profile import Profile
from reverie.services.host import Host
from reverie.services.views import HostStatus

ACME = "a1f3c9e2b7"
KEY = "tk-0123456789-abcdefghij-KEY"
PROJECT = Path(__file__).resolve().parents[2]
APPEND = """
import sys, time
from pathlib import Path
from helpers.turns import say_turns
say_turns(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:], at=time.time_ns() // 1_000_000)
"""


@dataclass
class Watching:
    """A command that runs the services, and the process that hosts them for it."""

    process: subprocess.Popen[str]
    host: int

    def kill(self) -> None:
        """Kill the command; what it hosted ends with it."""
        self.process.kill()
        self.process.wait(60)
        wait_until(lambda: not is_running(self.host))


def hosting_pid(process: subprocess.Popen[str]) -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.stderr.read() if process.stderr else ""
    told = json.loads(line)
    assert told["state"] == "hosting"
    return int(told["pid"])


@dataclass
class Place:
    """A sample home and a profile, with the writer on."""

    home: Path
    profile: Path

    @property
    def session(self) -> Path:
        return self.home / "sessions" / ACME

    @property
    def memory(self) -> str:
        return (self.home / "memories" / "acme-api-1d659342.md").read_text(encoding="utf-8")

    def state(self) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(
                (self.session / "system1-memory-writer-state.json").read_bytes()
            )
        except FileNotFoundError:
            return {}
        return found

    def runs(self) -> int:
        parts = open_parts(self.home, Profile.under(self.profile), system_clock)
        return sum(record.kind == "writer" and record.outcome != "running" for record in parts.runs.all())

    def append(self, first: int, *texts: str) -> None:
        """Turns, written by another process."""
        command = [sys.executable, "-c", APPEND, str(self.session), str(first), *texts]
        paths = os.pathsep.join(map(str, (PROJECT / "tests", PROJECT / "app")))
        subprocess.run(command, check=True, timeout=60, env={**os.environ, "PYTHONPATH": paths})

    def say(self, first: int, *texts: str) -> None:
        """Turns, written by this process."""
        say_turns(self.session, first, list(texts), at=system_clock())

    @contextmanager
    def watching(self, **env: str) -> Iterator[Watching]:
        """The process, once it follows every transcript; killed if a test leaves it running."""
        process = subprocess.Popen(
            [sys.executable, "-m", "reverie", *self._options(), "watch", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **env},
        )
        try:
            yield Watching(process, hosting_pid(process))
        finally:
            process.kill()
            process.communicate(timeout=60)

    def command(self, *words: str) -> int:
        return main([*self._options(), *words])

    def _options(self) -> list[str]:
        return ["--profile", str(self.profile), "--home", str(self.home)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    found = Place(copy_sample("mux-home", tmp_path), tmp_path / "profile")
    settle(found)
    return found


def settle(place: Place, more: str = "", model: str = "rules") -> None:
    path = place.profile / "config" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[system1]\nenabled = true\ninterval = 2\nmodel = "{model}"\n{more}', encoding="utf-8")


def stop(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    return out


def test_it_ends_with_a_sentence_once_another_home_is_in_the_place_of_this_one(
    place: Place, tmp_path: Path
) -> None:
    with place.watching() as watching:
        place.home.rename(tmp_path / "away")
        shutil.copytree(tmp_path / "away", place.home)
        _out, err = watching.process.communicate(timeout=60)
        assert watching.process.returncode == 1
        assert "now contains a different home" in err
        assert len(err.splitlines()) == 1


def test_it_hosts_again_after_its_engine_or_the_process_of_the_services_died(place: Place) -> None:
    profile = Profile.under(place.profile)

    def engine() -> int:
        client = EngineClient(partial(reach, profile))
        try:
            client.connect()
            return client.pid
        finally:
            client.stop()

    with place.watching() as watching:
        first = engine()
        time.sleep(LINGER_S + 0.5)  # else it would end a moment after its last client
        assert engine() == first
        os.kill(first, signal.SIGKILL)
        second = hosting_pid(watching.process)
        assert second != watching.host
        wait_until(lambda: not is_running(watching.host))
        last = engine()
        assert last != first
        os.kill(second, signal.SIGKILL)
        assert hosting_pid(watching.process) not in (watching.host, second)
        assert engine() == last
        place.append(40, "Always run the linter with --strict before you push.", "Good.")
        wait_until(lambda: place.runs() == 1, "a run of the third")
        stop(watching.process)
    wait_until(lambda: not is_running(last))


def test_with_a_clock_of_its_own_it_hosts_in_its_own_process(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[HostStatus] = []

    def note(_session: object, _parts: object, status: HostStatus) -> None:
        told.append(status)
        if status.state == "hosting":
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(watch, "_print_status", note)
    assert place.command("--now", "1700000000000", "watch") == 0
    assert [(each.state, each.pid) for each in told] == [("hosting", os.getpid()), ("stopped", os.getpid())]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_signal_stops_it_cleanly_and_the_home_is_free_again(place: Place, number: int) -> None:
    with place.watching() as watching:
        assert json.loads(stop(watching.process, number))["state"] == "stopped"
    with place.watching() as watching:
        stop(watching.process)


def test_a_signal_that_another_thread_was_handed_stops_it_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosting = threading.Event()

    def signal_here() -> None:
        assert hosting.wait(60)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        # Else the end of this thread could wake the one that waits.
        ended.wait(60)

    ended = threading.Event()
    thread = threading.Thread(target=signal_here)
    thread.start()
    monkeypatch.setattr(watch, "_print_status", lambda *_: hosting.set())
    assert place.command("watch") == 0
    ended.set()
    thread.join()


def test_a_second_one_says_who_hosts_and_exits_1(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    with place.watching() as watching:
        assert place.command("watch") == 1
        assert f"Process {watching.host}" in capsys.readouterr().err
        place.command("doctor", "--workspace", ACME, "--json")
        findings = {item["check"]: item for item in json.loads(capsys.readouterr().out)}
        assert findings["services"]["state"] == "pass"
        assert f"process {watching.host}" in findings["services"]["evidence"]
        stop(watching.process)


def test_by_rules_it_runs_after_every_second_turn_without_any_server(place: Place) -> None:
    before = place.memory
    with place.watching() as watching:
        place.append(40, "Always run the linter with --strict before you push.")
        wait_until(lambda: place.state().get("turnsSinceLastRun") == 1, "the first turn to be counted")
        assert (place.memory, place.runs()) == (before, 0)
        place.append(50, "And what is the time?")
        wait_until(lambda: place.state().get("lastRunCompletedAt"), "the first run")
        assert "--strict" in place.memory
        place.append(60, "Never commit to the main branch directly.", "Good.")
        wait_until(lambda: place.runs() == 2, "the second run")
        stop(watching.process)
    assert "main branch" in place.memory
    assert place.state()["turnsSinceLastRun"] == 0


def test_by_a_model_it_writes_what_the_model_says(place: Place) -> None:
    def answer(request: ParsedRequest) -> Reply:
        new = "- CI lives in ci/pipeline.yml\n"
        if request.tool_results:
            return Reply(text="Saved.")
        return Reply(calls=(Call("memory_write", {"old_string": first_line(place), "new_string": new}),))

    with ModelServer() as server:
        server.answer = answer
        settle(place, server.settings_toml("test", "openai"), "test:test-model")
        with place.watching(TEST_KEY=KEY) as watching:
            place.append(40, "Where is the pipeline?", "Thanks.")
            wait_until(lambda: place.state().get("lastRunCompletedAt"), "the run")
            stop(watching.process)
        assert server.requests
    assert "ci/pipeline.yml" in place.memory
    assert KEY.encode() not in b"".join(
        path.read_bytes() for path in place.profile.rglob("*") if path.is_file()
    )


def first_line(place: Place) -> str:
    return place.memory.splitlines(keepends=True)[0]


def test_killed_in_the_middle_the_next_one_runs_at_the_next_turn(place: Place) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        settle(place, server.settings_toml("test", "openai"), "test:test-model")
        with place.watching(TEST_KEY=KEY) as watching:
            place.append(40, "One.", "Two.")
            wait_until(lambda: server.requests, "the run to ask the model")
            watching.kill()
    state = place.state()
    assert state["turnsSinceLastRun"] == 0
    assert "lastRunStartedAt" in state
    assert "lastRunCompletedAt" not in state
    settle(place)
    with place.watching() as watching:
        place.append(50, "Always name the ticket in the commit message.")
        wait_until(lambda: place.state().get("lastRunCompletedAt"), "the run after the crash")
        stop(watching.process)
    assert "ticket" in place.memory


def test_a_stop_ends_a_run_that_is_at_work_and_the_next_turn_finds_it_due(place: Place) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        settle(place, server.settings_toml("test", "openai"), "test:test-model")
        with place.watching(TEST_KEY=KEY) as watching:
            place.append(40, "One.", "Two.")
            wait_until(lambda: server.requests, "the run to ask the model")
            stop(watching.process)
    state = place.state()
    assert "lastRunStartedAt" in state
    assert "lastRunCompletedAt" not in state
    settle(place)
    with place.watching() as watching:
        place.append(50, "Always name the ticket.")
        wait_until(lambda: place.state().get("lastRunCompletedAt"), "the run that was due")
        stop(watching.process)


def test_nothing_runs_where_nothing_is_switched_on(place: Place) -> None:
    (place.profile / "config" / "config.toml").write_text("")
    before = place.memory
    with place.watching() as watching:
        place.append(40, "Always use tabs.", "Yes.", "And spaces.", "No.")
        parts = open_parts(place.home, Profile.under(place.profile), system_clock)

        def told() -> set[str]:
            return {entry.event for entry in parts.activity.read()}

        wait_until(lambda: "writer.disabled" in told(), "the gate")
        stop(watching.process)
    assert (place.memory, place.state(), place.runs()) == (before, {}, 0)


def test_two_processes_never_run_twice_for_one_turn(place: Place) -> None:
    """One hosts and is killed half-way, the other takes over; both saw the same transcript."""
    parts = open_parts(place.home, Profile.under(place.profile), system_clock)
    host, turns = Host(parts, purpose="a window", retry_s=0.05), 20
    with place.watching() as watching:
        try:
            assert host.start().state == "viewing"
            for number in range(turns // 2):
                place.say(40 + 2 * number, f"Always note {number}.")
            wait_until(lambda: place.runs() >= 2, "runs of the first")
            watching.kill()
            wait_until(
                lambda: host._session is not None and host._session.ready.is_set(), "the second to take over"
            )
            before = place.runs()
            for number in range(turns // 2, turns):
                place.say(40 + 2 * number, f"Never forget {number}.")
            wait_until(lambda: place.runs() >= before + 3, "runs of the second")
        finally:
            host.stop()
    triggers = [record.details["triggerMessageId"] for record in parts.runs.all() if record.kind == "writer"]
    assert len(triggers) == len(set(triggers))
    assert len(triggers) <= turns // 2 + 1  # the one that was killed is due again at the next turn


def test_the_systemd_unit_starts_it_and_stops_it_by_sigterm() -> None:
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(PROJECT / "packaging" / "reverie-watch.service", encoding="utf-8")
    assert unit["Service"]["ExecStart"].split()[-2:] == ["%h/.local/bin/reverie", "watch"]
    assert (unit["Service"]["KillSignal"], unit["Service"]["KillMode"]) == ("SIGTERM", "mixed")
    assert unit["Install"]["WantedBy"] == "default.target"
