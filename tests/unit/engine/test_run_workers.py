"""Runs in processes of their own: real ones, on a real home, with a model that never answers."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.expect_log import ExpectLog
from helpers.model_runs import write_settings
from helpers.model_server import ModelServer, Reply
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.engine.channel import CallMessage
from reverie.engine.client import EngineClient
from reverie.engine.engine import HomeEngine, ProfileEngine
from reverie.engine.interface import RUNS
from reverie.engine.methods import method_of
from reverie.engine.process import inline_channel
from reverie.engine.reach import connect
from reverie.engine.server import CallControl
from reverie.engine.start import engine_command
from reverie.engine.workers import RunEnded, Workers
from reverie.errors import StoreError, Unavailable, UserError
from reverie.files.locks import is_ours, is_running
from reverie.profile import Profile
from reverie.runs.record import RunResult

ACME = "a1f3c9e2b7"
NOTE = "memory/global/new.md"


def until(condition: Callable[[], bool], *, patience_s: float = 60) -> float:
    """How long it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() < start + patience_s
        time.sleep(0.005)
    return time.monotonic() - start


def children(pid: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile.under(tmp_path / "profile")


@pytest.fixture
def home_dir(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def workers(profile: Profile) -> Workers:
    return Workers([*engine_command(profile), "--worker"], spare=False, cancel_s=0.5)


@pytest.fixture
def engine(profile: Profile, workers: Workers) -> Iterator[ProfileEngine]:
    engine = ProfileEngine(profile, system_clock, workers=workers)
    yield engine
    engine.close()


@pytest.fixture
def client(engine: ProfileEngine) -> Iterator[EngineClient]:
    client = EngineClient(lambda: inline_channel(engine))
    yield client
    client.stop()


def opened(client: EngineClient, home_dir: Path) -> HomeEngine:
    info = client.services.open(home_dir).info
    return client.home(info.root, info.id)


@pytest.fixture
def home(client: EngineClient, home_dir: Path) -> HomeEngine:
    return opened(client, home_dir)


def settings_of(server: ModelServer, profile: Profile) -> None:
    server.answer = lambda _request: Reply(fault="hang")
    text = f'{server.settings_toml("vllm")}[dream]\nengine = "vllm:test-model"\n'
    write_settings(profile.config.parent, text)


class Dream:
    """A dream by a model that never answers."""

    def __init__(self, home: HomeEngine) -> None:
        self.cancel = threading.Event()
        self.ends: list[RunResult | UserError] = []
        self._home = home
        self._thread = threading.Thread(target=self._dream)

    def begin(self, server: ModelServer) -> Dream:
        before = len(server.requests)
        self._thread.start()
        until(lambda: len(server.requests) > before or bool(self.ends))
        assert not self.ends, self.ends
        return self

    def ended(self) -> RunResult | UserError:
        self._thread.join(30)
        return self.ends[0]

    def _dream(self) -> None:
        context = self._home.context(ACME, None)
        try:
            run = self._home.start_dream(
                context, dry_run=False, engine="auto", progress=lambda _told: None, cancel=self.cancel
            )
        except UserError as error:
            self.ends.append(error)
        else:
            self.ends.append(run)


@pytest.fixture
def server(profile: Profile) -> Iterator[ModelServer]:
    with ModelServer() as server:
        settings_of(server, profile)
        yield server


@pytest.fixture
def dream(home: HomeEngine, server: ModelServer) -> Iterator[Dream]:
    dream = Dream(home).begin(server)
    yield dream
    dream.cancel.set()
    dream.ended()


def worker_of(home: HomeEngine) -> int:
    running = home.status(home.context(ACME, None)).running
    assert running is not None
    return running.owner.pid


def test_a_run_is_done_by_a_process_of_its_own_which_ends_with_it(home: HomeEngine) -> None:
    told: list[object] = []
    holders: list[int] = []
    context = home.context(ACME, None)

    def note(step: object) -> None:
        told.append(step)
        running = home.status(context).running
        if running is not None:
            assert running.ours
            holders.append(running.owner.pid)

    run = home.start_dream(context, dry_run=False, engine="rules", progress=note, cancel=threading.Event())
    assert run.outcome == "completed"
    assert told
    assert os.getpid() not in holders
    assert len(set(holders)) == 1
    until(lambda: not is_running(holders[0]) and not is_ours(holders[0]))
    reverted = home.revert(run.run_id)
    assert reverted.reverts == run.run_id
    with pytest.raises(StoreError):
        home.revert("nothing-of-that-name")
    until(lambda: not children(os.getpid()))


def test_while_a_run_is_under_way_views_are_answered(dream: Dream, home: HomeEngine) -> None:
    context = home.context(ACME, None)
    before = time.monotonic()
    assert home.view(context).scopes
    assert time.monotonic() - before < 5
    assert not dream.ends


def test_a_run_that_is_cancelled_ends_as_cancelled(dream: Dream) -> None:
    dream.cancel.set()
    ended = dream.ended()
    assert isinstance(ended, RunResult)
    assert ended.outcome == "cancelled"


def test_one_that_does_not_stop_is_ended_and_put_in_order(
    dream: Dream, home: HomeEngine, expect_log: ExpectLog
) -> None:
    expect_log("did not end and is killed")
    worker = worker_of(home)
    os.kill(worker, signal.SIGSTOP)
    dream.cancel.set()
    ended = dream.ended()
    assert isinstance(ended, RunEnded)
    assert str(ended).startswith("The run did not stop within 0.5 seconds, so Reverie ended its process. ")
    assert "nothing had changed" in ended.cause
    assert not is_running(worker)
    assert [run.outcome for run in home.runs(limit=5)] == ["interrupted"]


def test_one_that_dies_is_told_and_put_in_order(dream: Dream, home: HomeEngine) -> None:
    os.kill(worker_of(home), signal.SIGKILL)
    ended = dream.ended()
    assert isinstance(ended, RunEnded)
    assert ended.title == "The process of the run ended unexpectedly."
    assert "nothing had changed" in ended.cause
    assert home.status(home.context(ACME, None)).running is None
    assert [run.outcome for run in home.runs(limit=5)] == ["interrupted"]


def test_for_another_client_the_run_is_not_its_own(
    dream: Dream, home: HomeEngine, engine: ProfileEngine, home_dir: Path
) -> None:
    other = EngineClient(lambda: inline_channel(engine))
    seen = opened(other, home_dir)
    running = seen.status(seen.context(ACME, None)).running
    assert running is not None
    assert not running.ours
    (work,) = seen.activity.running((ACME,))
    assert not work.holder.ours
    assert seen.activity.page((ACME,), 5)[1] == (work,)
    (own,) = home.activity.running((ACME,))
    assert own.holder.ours
    assert own.holder.owner == work.holder.owner
    assert not dream.ends
    other.stop()


def test_one_is_kept_ready(profile: Profile, home_dir: Path) -> None:
    workers = Workers([*engine_command(profile), "--worker"])
    engine = ProfileEngine(profile, system_clock, workers=workers)
    client = EngineClient(lambda: inline_channel(engine))
    home = opened(client, home_dir)
    workers.warm_up(0)
    until(lambda: len(children(os.getpid())) == 1)
    (ready,) = children(os.getpid())
    holders = set()

    def note(_step: object) -> None:
        running = home.status(home.context(ACME, None)).running
        holders.update(() if running is None else (running.owner.pid,))

    context = home.context(ACME, None)
    home.start_dream(context, dry_run=True, engine="rules", progress=note, cancel=threading.Event())
    assert holders == {ready}
    client.stop()
    engine.close()
    until(lambda: not children(os.getpid()))


def test_what_cannot_be_started_is_told(profile: Profile, home_dir: Path) -> None:
    engine = ProfileEngine(profile, system_clock, workers=Workers(["/nowhere/reverie"], spare=False))
    client = EngineClient(lambda: inline_channel(engine))
    with pytest.raises(Unavailable, match="could not be started"):
        opened(client, home_dir).revert("any")
    client.stop()
    engine.close()


def test_no_worker_outlives_an_engine_that_is_killed(
    server: ModelServer, profile: Profile, home_dir: Path
) -> None:
    client = EngineClient(lambda: connect(profile))
    home = opened(client, home_dir)
    dream = Dream(home).begin(server)
    engine, worker = client.pid, worker_of(home)
    assert worker in children(engine)
    os.kill(engine, signal.SIGKILL)
    assert until(lambda: not is_running(worker)) < 4  # 2 where the machine does nothing else
    assert isinstance(dream.ended(), Unavailable)
    # The next engine puts in order what is left; a run that was stopped in time has said so itself.
    home.start_history()
    assert client.pid != engine
    assert {run.outcome for run in home.runs(limit=5)} <= {"interrupted", "cancelled"}
    last = client.pid
    client.stop()
    until(lambda: not is_running(last))


def test_a_worker_takes_those_variables_only_that_the_settings_name(
    profile: Profile, home_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = '[providers.work]\nbase_url = "https://models.example/v1"\nkey_env = "WORK_KEY"\n'
    write_settings(profile.config.parent, settings)
    for name in ("OPENAI_API_KEY", "WORK_KEY", "https_proxy", "PYTHONPATH"):
        monkeypatch.setenv(name, "before")
    sent = {"OPENAI_API_KEY": None, "WORK_KEY": "key", "https_proxy": "http://proxy", "PYTHONPATH": "/evil"}
    expected = {**sent, "PYTHONPATH": "before"}

    def taken(engine: ProfileEngine) -> dict[str, str | None]:
        home = engine.open(home_dir)
        root = home.parts.home.root
        call = CallMessage(1, root, home.home_id, "revert", b"", environment=sent)
        assert "key" not in repr(call).replace("key_env", "")
        assert engine.run_apart(call, CallControl(call)) is None
        engine.close()
        return {name: os.environ.get(name) for name in sent}

    assert taken(ProfileEngine(profile, system_clock)) == dict.fromkeys(sent, "before"), "not an engine"
    assert taken(ProfileEngine(profile, system_clock, is_worker=True)) == expected


def test_every_run_can_be_asked_for() -> None:
    assert all(method_of(HomeEngine, name) is not None for name in RUNS)


def test_a_coverage_record_that_the_agent_overwrites_comes_back_after_a_run_of_a_worker(
    home: HomeEngine, home_dir: Path
) -> None:
    context = home.context(ACME, None)

    def json_files() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in home_dir.rglob("*.json")}

    before = json_files()
    result = home.start_dream(
        context, dry_run=False, engine="rules", progress=lambda _value: None, cancel=threading.Event()
    )
    assert result.outcome == "completed"
    after = json_files()
    written = {
        path: data for path, data in after.items() if b"lastRunAt" in data and before.get(path) != data
    }
    assert written
    for path in written:
        path.write_bytes(before.get(path, b"{}"))  # as an agent does that had read it just before
    until(
        lambda: (
            json_files().keys() >= written.keys()
            and all(path.read_bytes() == data for path, data in written.items())
        )
    )
