"""Every command with an engine that runs and without one: the same answers, exit codes and files."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from helpers.claude_transcripts import SESSION
from helpers.claude_transcripts import Chat as ClaudeChat
from helpers.command_pairs import Commands, alone_and_with_engine, differences, last_run, running_engine
from helpers.crowd import crowd
from helpers.engine_sockets import socket_path
from helpers.extraction import small_home
from helpers.model_runs import MODEL, everything_below, settle_on
from helpers.model_server import ModelServer, Reply
from helpers.notes_home import session_path
from helpers.samples import copy_sample
from reverie.cli import homes, main
from reverie.engine import client as client_module
from reverie.engine.client import EngineClient
from reverie.engine.reach import connect
from reverie.files.locks import is_running
from reverie.profile import Profile
from unit.engine.test_run_workers import until

ACME = "a1f3c9e2b7"
LINES = (
    {"command": "create", "path": "/memories/global/new.md", "file_text": "What: it is\n"},
    {"command": "view", "path": "/memories/global/new.md"},
    {"command": "save", "path": "/memories/global/new.md", "content": "x", "expected_sha256": "no"},
    {"command": "pin", "path": "/memories/global/new.md", "pinned": True},
    {"command": "index"},
    {"command": "no such"},
)


def mux_session(run: Commands) -> None:
    here = ("--workspace", ACME)
    run("homes", "--json")
    run("tree", *here)
    run("tree", *here, "--json")
    run("tree", "--workspace", "nobody")
    run("status", *here)
    run("memory", *here, given="\n".join(map(json.dumps, LINES)))
    run("search", "retry")
    run("context", *here)
    run("consolidate", *here, "--engine", "rules", "--dry-run", "--json")
    run("consolidate", *here, "--engine", "rules")
    dream = last_run(run)
    run("status", *here, "--json")
    run("runs", "--json")
    run("diff", dream)
    run("diff", "nothing-of-that-name")
    run("revert", dream)
    run("revert", dream, "--json")
    run("sweep", "--dry-run", "--json")
    run("sweep", "--engine", "rules")
    run("harvest", *here, "--engine", "rules", "--json")
    run("consolidate", *here, "--engine", "nobody:model")
    run("write", *here, "--force")
    run("notes")
    run("extract", "--dry-run")
    run("traces", "--json")
    run("doctor", *here)
    run("failures", "--project", str(run.home))


def claude_session(run: Commands) -> None:
    run("notes", "--session", SESSION, "--json")
    run("notes", "--session", SESSION)
    run("tree", "--session", SESSION)
    run("status", "--session", SESSION)
    run("runs")


def codex_session(run: Commands) -> None:
    run("extract", "--dry-run", "--json")
    run("extract", "--engine", "rules", "--json")
    run("extract", "--engine", "rules")
    run("runs", "--json")
    run("traces")


def claude_home(place: Path) -> Path:
    root = place / "claude"
    ClaudeChat().write(session_path(root))
    (root / "settings.json").write_text("{}", encoding="utf-8")
    return root


def test_on_a_home_of_mux(tmp_path: Path) -> None:
    def home(place: Path) -> Path:
        return copy_sample("mux-home", place)

    alone, beside, asked = alone_and_with_engine(home, tmp_path, mux_session)
    assert not "\n".join(differences(alone, beside))
    assert {each for each in asked if each.startswith(("shown.", "by_hand."))} == {
        "shown.trees",
        "shown.status",
        "shown.runs",
        "shown.changes",
        "shown.traces",
        "by_hand.consolidate",
        "by_hand.revert",
        "by_hand.extract_plan",
        "by_hand.sweep_plan",
        "by_hand.sweep",
        "by_hand.harvest",
        "by_hand.write",
    }


def test_on_a_home_of_claude(tmp_path: Path) -> None:
    alone, beside, asked = alone_and_with_engine(claude_home, tmp_path, claude_session)
    assert not "\n".join(differences(alone, beside))
    assert {"by_hand.notes", "shown.trees"} <= set(asked)


def test_on_a_home_of_codex(tmp_path: Path) -> None:
    def home(place: Path) -> Path:
        return small_home(place / "codex").root

    # One rollout at a time: of several that begin together, any may be the first run of the list.
    settings = "[extract]\nconcurrency = 1\n"
    alone, beside, asked = alone_and_with_engine(home, tmp_path, codex_session, settings=settings)
    assert not "\n".join(differences(alone, beside))
    assert {"by_hand.extract_plan", "by_hand.extract"} <= set(asked)


KEY = "tk-0123456789-abcdefghij-KEY"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


@pytest.fixture
def tree(home: Path, profile: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`reverie tree` in this process; what it printed."""

    def show(*more: str) -> str:
        code = main(["tree", "--profile", str(profile), "--home", str(home), "--workspace", ACME, *more])
        told = capsys.readouterr()
        assert (code, told.err) == (0, "")
        return told.out

    return show


def test_no_engine_is_started(tree: Callable[..., str], profile: Path) -> None:
    assert "Project" in tree() or "project" in tree()
    assert not socket_path(Profile.under(profile)).exists()


def test_an_engine_that_runs_is_asked(tree: Callable[..., str], profile: Path) -> None:
    alone = tree()
    with running_engine(profile) as asked:
        assert tree() == alone
        assert "shown.trees" in asked
        before = len(asked)
        assert tree("--now", "1787300000000")
        assert len(asked) == before, "a clock of its own"


def test_an_engine_of_another_version_is_not_asked(
    tree: Callable[..., str], profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_engine(profile) as asked:
        monkeypatch.setattr(client_module, "__version__", "0.0.1")
        assert tree()
        assert "shown.trees" not in asked


def test_an_engine_that_may_see_other_homes_is_not_asked(
    tree: Callable[..., str], profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_engine(profile) as asked:
        monkeypatch.setenv("CODEX_HOME", "/elsewhere")
        assert tree()
        assert "shown.trees" not in asked


def test_the_socket_of_a_dead_engine_is_no_engine(tree: Callable[..., str], profile: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(socket_path(Profile.under(profile))))
    assert tree()


def test_an_engine_that_does_not_answer_is_not_waited_for(
    tree: Callable[..., str], profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "_ANSWER_S", 0.1)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.bind(str(socket_path(Profile.under(profile))))
        silent.listen()
        assert tree()


@pytest.fixture
def engine(profile: Path) -> Iterator[EngineClient]:
    """A client that holds an engine, in a process of its own that has no key."""
    client = EngineClient(partial(connect, Profile.under(profile)))
    client.connect()
    yield client
    client.stop()
    until(lambda: not is_running(client.pid))


def begun(home: Path, profile: Path, *words: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", "--profile", profile, "--home", home, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )


def dream(home: Path, profile: Path, **env: str) -> subprocess.Popen[str]:
    return begun(home, profile, "consolidate", "--workspace", ACME, "--engine", MODEL, **env)


@pytest.mark.usefixtures("engine")
def test_a_run_has_the_key_of_the_command_and_nobody_keeps_it(home: Path, profile: Path) -> None:
    with ModelServer([Reply(text="Nothing to do.")] * 3) as server:
        settle_on(server, profile)
        for env in ({}, {"TEST_KEY": KEY}, {}):
            done = dream(home, profile, **env)
            done.communicate(timeout=60)
            assert done.returncode == 0
        sent = [request.headers.get("authorization", "") for request in server.requests]
    assert [KEY in each for each in sent] == [False, True, False], "each run has what its command has"
    kept = [path for path, data in everything_below(profile, home) if KEY.encode() in data]
    assert kept == []


def test_ctrl_c_cancels_a_run_of_the_engine(home: Path, profile: Path, engine: EngineClient) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        settle_on(server, profile)
        run = dream(home, profile, TEST_KEY=KEY)
        server.wait_for_requests(1)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (1, "")
    assert "cancelled" in err.lower()
    assert is_running(engine.pid)


@pytest.mark.usefixtures("engine")
def test_a_run_ends_with_its_command(home: Path, profile: Path) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        settle_on(server, profile)
        run = dream(home, profile, TEST_KEY=KEY)
        server.wait_for_requests(1)
        run.kill()
        run.communicate(timeout=60)
        server.wait_for_hang_up(1)


def test_a_run_whose_engine_is_killed_says_so(home: Path, profile: Path, engine: EngineClient) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(fault="hang")
        settle_on(server, profile)
        run = dream(home, profile, TEST_KEY=KEY)
        server.wait_for_requests(1)
        os.kill(engine.pid, signal.SIGKILL)
        _out, err = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "Reverie's engine is not running." in err


def test_all_at_once(tmp_path: Path) -> None:
    """The campaign takes a minute for it."""
    found = crowd(tmp_path, 6.0, rounds=2)
    assert found.problems == []
    assert found.lines > 3
    assert found.done["window"] > 1, dict(found.done)
