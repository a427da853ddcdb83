"""`reverie context` as scripts use it (design.md section 5)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.battery import run_here
from helpers.benches import NOW
from helpers.claude_home import ClaudeHomeMaker, session_id, topic
from helpers.loki_home import NOON, LokiMaker
from helpers.samples import copy_sample, snapshot

ACME = "a1f3c9e2b7"


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


def test_the_shape_that_others_rely_on(tmp_path: Path, profile: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    before = snapshot(home)
    code, out, err = run_here(home, profile, "context", "--workspace", ACME, "--json", now=NOW)
    assert (code, err) == (0, "")
    found = json.loads(out)
    hot = found["hotSet"]
    assert [item["path"] for item in hot["items"]][:2] == [
        "/memories/global/preferences.md",
        "/memories/project/architecture.md",
    ]
    for item in hot["items"]:
        assert set(item) == {"path", "pinned", "truncated", "bytes", "tokens", "score"}
    assert all({"path", "reason"} <= set(each) for each in hot["skipped"])
    assert hot["totalBytes"] == sum(item["bytes"] for item in hot["items"])
    assert hot["totalTokens"] == -(-len(hot["block"]) // 4)
    index = found["index"]
    assert {entry["path"] for entry in index["entries"]} == {
        each["path"] for each in (*hot["items"], *hot["skipped"])
    }
    assert index["block"].count("\n") + 1 == len(index["entries"])
    assert found["agent"] == "mux"
    assert found["totalTokens"] >= hot["totalTokens"] + index["totalTokens"]
    assert snapshot(home) == before


def test_later_the_same_memories_score_less(tmp_path: Path, profile: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    scores = []
    for now in (NOW, NOW + 7 * 86_400_000):
        _, out, _ = run_here(home, profile, "context", "--workspace", ACME, "--json", now=now)
        scores.append([item["score"] for item in json.loads(out)["hotSet"]["items"]])
    assert scores[1] == pytest.approx([score / 2 for score in scores[0]])


def test_people_read_why_and_the_text(tmp_path: Path, profile: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    code, out, _ = run_here(home, profile, "context", "--workspace", ACME, now=NOW)
    assert code == 0
    assert "Loaded in full: " in out
    assert "  in  /memories/global/preferences.md  pinned, score " in out
    assert "  out /memories/workspace/findings/retry-loop.md  enough others are loaded in full" in out
    assert "  | <hot_memories>" in out


def test_without_a_workspace_the_choices_are_listed(tmp_path: Path, profile: Path) -> None:
    code, _, err = run_here(copy_sample("mux-home", tmp_path), profile, "context", now=NOW)
    assert code == 2
    assert ACME in err


def test_a_session_of_claude_code_is_named_as_one(tmp_path: Path, profile: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    repository = maker.repository("demo")
    (repository / "CLAUDE.md").write_text("Be brief.\n")
    maker.memory(repository, {"MEMORY.md": "- [A](a.md)\n", "a.md": topic("a")})
    for number in (1, 2):
        maker.session(repository, number)
    maker.typed(repository)
    words = ("context", "--session", session_id(1), "--json")
    code, out, err = run_here(maker.root, profile, *words, now=NOW)
    assert (code, err) == (0, "")
    parts = {part["key"]: part for part in json.loads(out)["parts"]}
    assert parts["index-file"]["text"] == "- [A](a.md)"
    assert parts["instructions"]["entries"][0]["file"] == str(repository / "CLAUDE.md")
    assert json.loads(out)["hotSet"]["items"] == []


def test_the_block_of_lessons_is_that_of_failures(
    tmp_path: Path, profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOKI_FAILURE_MEMORY", raising=False)
    maker = LokiMaker(tmp_path / "project")
    maker.episode(1, "2026-08-19T10:00:00.000000Z")
    code, out, err = run_here(maker.store, profile, "context", "--json", now=NOON)
    assert (code, err) == (0, "")
    _, block, _ = run_here(maker.store, profile, "failures", "--project", str(maker.project), now=NOON)
    assert json.loads(out)["parts"][0]["text"] == block != ""
