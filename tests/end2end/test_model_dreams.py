"""Dreams by a model through the command line, against a model service over real sockets, in both wire
formats."""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW
from helpers.model_runs import MODEL, Wire, coverage_of, everything_below, memory, settle_on, turn
from helpers.model_server import ModelServer, Reply
from helpers.samples import copy_sample, snapshot
from reverie.cli import main

ACME, ARCHIVED = "a1f3c9e2b7", "3e9a1b5c6d"
KEY = "tk-0123456789-abcdefghij-KEY"
SECRET = "sk-test-FAKE-FAKE-FAKE-FAKE-0000000000"
WIRES: tuple[Wire, ...] = ("openai", "anthropic")
Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.fixture
def run(home: Path, profile: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """One command on the sample home; the JSON it printed, with its exit code under `code`."""

    def invoke(*words: str) -> Any:
        options = ["--profile", str(profile), "--now", str(NOW), "--home", str(home), "--json"]
        code = main([*options, *words])
        told = json.loads(capsys.readouterr().out)
        return {**told, "code": code} if isinstance(told, dict) else told

    return invoke


def consolidate(run: Run, *words: str, workspace: str = ACME) -> dict[str, Any]:
    return dict(run("consolidate", "--workspace", workspace, "--engine", MODEL, *words))


EDITS = [
    turn(memory("view", path="/memories"), memory("view", path="/memories/global/testing.md")),
    turn(
        memory(
            "insert",
            path="/memories/global/testing.md",
            insert_line=0,
            insert_text="Größe zählt: 改善 ✓",
            reason="It was missing.",
        )
    ),
    Reply(text="One line was added."),
]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("chunk", [0, 1, 7])
def test_a_dream_by_model_applies_covers_and_can_be_undone(
    run: Run, home: Path, profile: Path, wire: Wire, chunk: int
) -> None:
    before = (home / "memory/global/testing.md").read_bytes()
    replies = [Reply(reply.text, reply.calls, chunk=chunk, keep_alives=2) for reply in EDITS]
    with ModelServer(replies) as server:
        settle_on(server, profile, wire)
        told = consolidate(run)
        assert {request.wire for request in server.requests} == {wire}
    assert (told["code"], told["outcome"], told["summary"]) == (0, "completed", "One line was added.")
    assert told["usage"] == {"inputTokens": 300, "outputTokens": 60}
    assert (home / "memory/global/testing.md").read_text().startswith("Größe zählt: 改善 ✓\n")
    assert coverage_of(home)["workspaces"][ACME]["ops"] == told["ops"]
    assert run("runs")[0]["usage"]["inputTokens"] == 300
    assert run("revert", told["runId"])["code"] == 0
    assert (home / "memory/global/testing.md").read_bytes() == before


def test_a_run_leaves_no_folder_that_it_emptied_and_an_undo_brings_it_back(
    run: Run, home: Path, profile: Path
) -> None:
    box = home / "memory" / "global" / "box"
    box.mkdir()
    text = (home / "memory" / "global" / "testing.md").read_bytes()
    (box / "copy.md").write_bytes(text)
    replies = [turn(memory("delete", path="/memories/global/box/copy.md")), Reply(text="One copy went.")]
    with ModelServer(replies) as server:
        settle_on(server, profile)
        told = consolidate(run)
    assert told["outcome"] == "completed"
    assert not box.exists()
    run("revert", told["runId"])
    assert (box / "copy.md").read_bytes() == text


@pytest.mark.parametrize("wire", WIRES)
def test_a_dry_run_by_model_leaves_the_home_as_it_was(
    run: Run, home: Path, profile: Path, wire: Wire
) -> None:
    before = snapshot(home)
    with ModelServer(EDITS) as server:
        settle_on(server, profile, wire)
        told = consolidate(run, "--dry-run")
    assert (told["code"], [op["note"] for op in told["ops"]]) == (0, ["dry-run"])
    assert snapshot(home) == before
    assert "Größe" in run("diff", told["runId"])[0]["diff"]


def test_parallel_calls_of_one_answer_keep_their_order_and_the_budget(
    run: Run, home: Path, profile: Path
) -> None:
    inserts = [
        memory("insert", path="/memories/global/testing.md", insert_line=0, insert_text=letter)
        for letter in string.ascii_letters * 2
    ]
    with ModelServer([turn(*inserts), Reply(text="Done.")]) as server:
        settle_on(server, profile)
        told = consolidate(run)
        answers = server.requests[-1].tool_results
    assert len(answers) == 104
    assert sum(op["applied"] for op in told["ops"]) == 8
    text = (home / "memory/global/testing.md").read_text()
    assert text.startswith("h\ng\nf\n")
    assert "used up" in answers[8]


def test_a_model_that_makes_mistakes_is_told_and_goes_on(run: Run, home: Path, profile: Path) -> None:
    from helpers.model_server import Call

    wrong = (
        Call("memory", "{broken"),
        Call("memory", '["list"]'),
        Call("rm", {"path": "/"}),
        Call("memory", {"command": "view"}),
        Call("memory", {"command": "create", "path": 7, "file_text": "x"}),
        memory("create", path="/memories/global/../../evil.md", file_text="x"),
        memory("delete", path="/memories/global/preferences.md"),
    )
    before = snapshot(home / "memory")
    with ModelServer([turn(*wrong), Reply(text="I give up.")]) as server:
        settle_on(server, profile)
        told = consolidate(run)
        answers = server.requests[-1].tool_results
    assert (told["code"], told["outcome"]) == (0, "unchanged")
    assert len(answers) == len(wrong)
    assert snapshot(home / "memory") == before
    assert not list(home.rglob("evil.md"))
    assert [op["applied"] for op in told["ops"]] == [False] * len(told["ops"])


def test_a_final_pass_is_told_so_and_takes_nothing_from_the_project(
    run: Run, home: Path, profile: Path
) -> None:
    with ModelServer(
        [turn(memory("delete", path="/memories/project/deploy.md")), Reply(text="Done.")]
    ) as server:
        settle_on(server, profile)
        told = consolidate(run, "--trigger", "archive")
        assert "archived" in server.requests[0].system
        assert "deletes nothing from project memory" in server.requests[-1].tool_results[0]
    assert told["trigger"] == "archive"


def test_a_dream_that_would_lose_lines_is_held(run: Run, home: Path, profile: Path) -> None:
    before = snapshot(home)
    with ModelServer(
        [turn(memory("delete", path="/memories/project/deploy.md")), Reply(text="Gone.")]
    ) as server:
        settle_on(server, profile)
        told = consolidate(run)
    assert (told["code"], told["outcome"], told["reason"]) == (1, "held", "held")
    assert snapshot(home) == before


@pytest.mark.parametrize("wire", WIRES)
def test_neither_secrets_nor_keys_leave_or_are_kept_anywhere_but_in_their_file(
    run: Run, home: Path, profile: Path, wire: Wire
) -> None:
    path = "/memories/global/security/rotating-keys.md"
    moved = [
        turn(memory("view", path=path)),
        turn(
            memory(
                "str_replace",
                path=path,
                old_str="    PAYMENTS_KEY={{REVERIE_SECRET_1}}",
                new_str="\n    PAYMENTS_KEY={{REVERIE_SECRET_1}}",
                reason="Says what {{REVERIE_SECRET_1}} is for.",
            )
        ),
        Reply(text=f"Noted {SECRET}, and {KEY}."),
    ]
    with ModelServer(moved) as server:
        settle_on(server, profile, wire)
        told = consolidate(run)
        sent = server.sent
    assert told["outcome"] == "completed", told
    assert f"\n\n    PAYMENTS_KEY={SECRET}" in (home / path.replace("/memories", "memory", 1)).read_text()
    assert SECRET not in sent
    kept = list(everything_below(profile, home))
    holders = {file.name for file, data in kept if SECRET.encode() in data}
    # The file itself, the contents kept for undo, and the history's objects hold it; nothing else does.
    assert "rotating-keys.md" in holders
    assert not [
        file
        for file, data in kept
        if SECRET.encode() in data
        and file.name != "rotating-keys.md"
        and profile / "data/images" not in file.parents
        and ".git" not in str(file)
    ]
    assert any(".git" in str(file) for file, data in kept if SECRET.encode() in data)
    assert not [file for file, data in kept if KEY.encode() in data]


def test_a_model_that_is_far_away_is_named_in_the_records_without_its_key(
    run: Run, home: Path, profile: Path
) -> None:
    with ModelServer([Reply(text="Nothing to do.")]) as server:
        settle_on(server, profile)
        told = consolidate(run)
    assert told["engine"] == MODEL
    record = run("runs")[0]
    assert record["engine"] == MODEL
    assert KEY not in json.dumps(record)
