"""`sweep` and `harvest` through the command line, by rules and by a model over real sockets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW
from helpers.model_runs import MODEL, Wire, everything_below, settle_on, turn
from helpers.model_server import Call, ModelServer, Reply
from helpers.samples import copy_sample, snapshot
from reverie.cli import main

ACME, PIPELINE = "a1f3c9e2b7", "c04d8e91aa"
SUMMARY = "summary-1786528627809-k2ekv5pnb"
REMEMBER = "user-1786526102055-k1k3dlg3y"
KEY = "tk-0123456789-abcdefghij-KEY"
SECRET = "sk-proj-" + "9f8E7d6C5b4A3" * 3
Run = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The sample, with its compaction not harvested yet."""
    home = copy_sample("mux-home", tmp_path)
    sidecar = home / "memory-consolidation.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_bytes()), "harvestsByWorkspace": {}}))
    inbox(home).unlink()
    return home


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


@pytest.fixture
def run(home: Path, profile: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """One command on the sample home; its exit code, what it printed, what it complained of."""

    def invoke(*words: str, now: int = NOW) -> tuple[int, str, str]:
        code = main(["--profile", str(profile), "--now", str(now), "--home", str(home), *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def inbox(home: Path) -> Path:
    return home / "sessions" / ACME / "memory" / "harvest" / f"{SUMMARY}.md"


def coverage(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((home / "memory-consolidation.json").read_bytes())
    return found


def test_a_sweep_is_shown_before_and_then_done(run: Run, home: Path) -> None:
    before = snapshot(home)
    code, out, _err = run("sweep", "--dry-run", "--json")
    plan = json.loads(out)
    assert (code, set(plan)) == (0, {"order", "skipped"})
    assert snapshot(home) == before
    assert {"workspaceId": "3e9a1b5c6d", "reason": "archived"} in plan["skipped"]
    code, out, _err = run("sweep", "--json", "--engine", "rules")
    done = json.loads(out)
    assert (code, done["order"]) == (0, plan["order"])
    assert [run["workspaceId"] for run in done["runs"]] == plan["order"]
    for workspace_id in plan["order"]:
        assert coverage(home)["workspaces"][workspace_id]["trigger"] == "launch"
    assert json.loads(run("sweep", "--json")[1])["order"] == []


def test_a_sweep_for_people_says_why_not(run: Run) -> None:
    _code, out, _err = run("sweep", "--dry-run")
    assert "3e9a1b5c6d" in out
    assert "archived" in out
    assert "nothing was written since" in out or "used within" in out


def test_a_harvest_by_rules_is_followed_by_its_dream(run: Run, home: Path) -> None:
    code, out, _err = run("harvest", "--workspace", ACME, "--engine", "rules", "--json")
    told = json.loads(out)
    assert (code, told["outcome"], told["dream"]["trigger"]) == (0, "completed", "compaction")
    assert told["inbox"] == f"/memories/workspace/harvest/{SUMMARY}.md"
    assert told["record"]["acceptedCandidates"] == 1
    status = json.loads(run("status", "--workspace", ACME, "--json")[1])
    assert status["latestHarvestRecord"] == told["record"]
    assert status["workspaceRecord"]["trigger"] == "compaction"
    kinds = [item["kind"] for item in json.loads(run("runs", "--json")[1])]
    assert kinds == ["dream", "harvest"]


def test_a_harvest_can_be_looked_at_and_taken_back(run: Run, home: Path) -> None:
    before = inbox(home).exists()
    told = json.loads(run("harvest", "--workspace", ACME, "--engine", "rules", "--json")[1])
    assert "never want 409" in run("diff", told["runId"])[1]
    code, _out, _err = run("revert", told["runId"])
    assert (code, inbox(home).exists()) == (0, before)


def test_a_second_harvest_says_that_there_is_nothing_left(run: Run) -> None:
    run("harvest", "--workspace", ACME, "--engine", "rules")
    code, out, err = run("harvest", "--workspace", ACME, "--engine", "rules", "--json")
    told = json.loads(out)
    assert (code, told["reason"], told["dream"]["outcome"]) == (1, "harvested", "unchanged")
    assert "have already been collected" in err


def test_a_workspace_without_compaction_says_so(run: Run) -> None:
    code, _out, err = run("harvest", "--workspace", PIPELINE, "--engine", "rules")
    assert code == 1
    assert "has not compacted this conversation" in err


def test_a_harvest_for_people_shows_both_runs(run: Run) -> None:
    code, out, err = run("harvest", "--workspace", ACME, "--engine", "rules")
    assert (code, err) == (0, "")
    assert "1 candidate found in compaction 1." in out
    assert out.count("Run ") == 2


CANDIDATE = {
    "category": "preference",
    "text": "Clients never retry HTTP 409.",
    "evidence": [REMEMBER],
    "confidence": 0.95,
    "rationale": "The person insisted on it.",
}
REPLIES = [
    turn(Call("propose", {"candidates": [CANDIDATE, {**CANDIDATE, "confidence": 0.3}]})),
    Reply(text="done"),
    Reply(text="No changes needed."),
]


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_harvest_by_model_writes_its_inbox_and_dreams(
    run: Run, home: Path, profile: Path, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    chat = home / "sessions" / ACME / "chat-archive.jsonl"
    chat.write_text(chat.read_text().replace("Go ahead with the fix", f"Use {SECRET} for it"))
    with ModelServer(REPLIES) as server:
        settle_on(server, profile, wire)
        code, out, err = run("harvest", "--workspace", ACME, "--engine", MODEL, "--json")
        assert SECRET not in server.sent
        assert REMEMBER in server.sent
    told = json.loads(out)
    assert (code, told["outcome"], told["dream"]["outcome"]) == (0, "completed", "unchanged"), err
    assert (told["record"]["acceptedCandidates"], told["record"]["skippedCandidates"]) == (1, 1)
    assert told["record"]["usage"] == {"inputTokens": 200, "outputTokens": 40}
    assert "Clients never retry HTTP 409." in inbox(home).read_text()
    for path, data in everything_below(profile):
        assert SECRET.encode() not in data, path
        assert KEY.encode() not in data, path
    traces = list((profile / "data" / "traces").rglob("*.json"))
    assert {json.loads(path.read_bytes())["reverie"]["kind"] for path in traces} == {"harvest", "dream"}


def test_a_service_that_fails_leaves_everything_to_the_next_attempt(
    run: Run, home: Path, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    before = snapshot(home / "sessions")
    with ModelServer([Reply(status=401, error="no")]) as server:
        settle_on(server, profile)
        code, out, err = run("harvest", "--workspace", ACME, "--engine", MODEL, "--json")
    told = json.loads(out)
    # The consolidation goes on, as the agent's own does, and fails at the same service.
    assert (code, told["outcome"], told["dream"]["outcome"]) == (1, "failed", "failed")
    assert told["record"]["status"] == "failed"
    assert snapshot(home / "sessions") == before
    assert KEY not in out + err
    code, out, _err = run("harvest", "--workspace", ACME, "--engine", "rules", "--json")
    assert (code, json.loads(out)["record"]["attemptCount"]) == (0, 2)
