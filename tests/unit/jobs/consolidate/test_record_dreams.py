"""Records of a loki-mode store in a dream: each is one memory, and the file that holds them stays whole."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import Time, again, contents
from helpers.engines import ScriptedEngine
from helpers.loki_home import LokiMaker
from helpers.pattern_writers import OTHER_WRITER
from reverie.compose import open_parts
from reverie.files import atomic as checkpoint
from reverie.jobs.consolidate.apply import ApplyService, load_review
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest
from reverie.profile import Profile
from reverie.runs.record import RunResult
from reverie.runs.transaction import Recovered
from reverie.services.container import HomeContainer

STORE = "memory/semantic/patterns.json"
RECORDS = "/memories/project/semantic/patterns.json"


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    found = LokiMaker(tmp_path / "project")
    found.everything()
    return found


@pytest.fixture
def parts(maker: LokiMaker, tmp_path: Path) -> HomeContainer:
    return open_parts(maker.project, Profile.under(tmp_path / "profile"), Time())


def alike(maker: LokiMaker) -> None:
    """Three that say the same, each with something of its own, among others."""
    link = {"to": "sem-00000001", "relation": "related_to", "strength": 0.5}
    maker.patterns(
        {"id": "plain", "pattern": "Stream tables", "links": [link], "odd": 1.50},
        maker.anti_pattern(1, source_episodes=["e1"], mine={"kept": [1]}, usage_count=2),
        "scalar",
        maker.anti_pattern(2, source_episodes=["e2", "e3"], confidence=0.7),
        maker.anti_pattern(3, what="guess", source_episodes=["e3"]),
        maker.anti_pattern(9, links=[link]) | {"pattern": "Avoid: TypeError", "conditions": []},
    )


def dream(parts: HomeContainer, engine: Any = None, *, dry_run: bool = False) -> RunResult:
    request = DreamRequest(parts.home.context(), "manual", "rules", dry_run)
    return parts.dreams.run(request, engine or RulesEngine())


def listed(maker: LokiMaker) -> list[Any]:
    found = json.loads((maker.store / STORE).read_text())["patterns"]
    assert isinstance(found, list)
    return found


def by_id(maker: LokiMaker) -> dict[str, Any]:
    return {each["id"]: each for each in listed(maker) if isinstance(each, dict)}


def test_those_that_say_the_same_become_the_best_founded_and_nothing_else_changes(
    maker: LokiMaker, parts: HomeContainer
) -> None:
    alike(maker)
    before, all_before = by_id(maker), contents(maker.store)
    result = dream(parts)
    assert (result.outcome, result.summary) == ("completed", "Merged 1 group of similar records.")
    assert by_id(maker) == {
        "plain": before["plain"],
        "sem-00000002": {
            **before["sem-00000002"],
            "incorrect_approach": "guess",
            "confidence": 0.75,
            "source_episodes": ["e2", "e3", "e1"],
            "usage_count": 2,
            "mine": {"kept": [1]},
        },
        "sem-00000009": {
            **before["sem-00000009"],
            "links": [{"to": "sem-00000002", "relation": "related_to", "strength": 0.5}],
        },
    }
    assert listed(maker)[1] == "scalar"
    lock = f"{STORE}.lock"
    assert {**contents(maker.store), STORE: b"", lock: b""} == {**all_before, STORE: b"", lock: b""}
    assert dream(parts).outcome == "unchanged"
    (newest,) = parts.snapshots.history.commits(limit=1)
    assert (newest.actor, newest.run_id) == ("dream", result.run_id)
    assert parts.reverter.revert(result.run_id).conflicts == ()
    assert contents(maker.store) == all_before | {lock: b""}


@pytest.mark.parametrize(
    ("said", "is_one"),
    [
        ("Don't run migrations during the nightly import of feeds", True),
        ("Do not run migrations during the nightly import of feeds in staging", False),
        ("Do not run migrations during the weekly import of feeds", False),
        ("Always run migrations during the nightly import of feeds", False),
    ],
)
def test_other_words_for_the_same_are_found_and_kept(
    said: str, is_one: bool, maker: LokiMaker, parts: HomeContainer
) -> None:
    one = {**maker.anti_pattern(1), "pattern": "Do not run migrations during the nightly import of feeds"}
    two = {**maker.anti_pattern(2), "pattern": said}
    maker.patterns(one, two)
    dream(parts)
    assert len(listed(maker)) == (1 if is_one else 2)
    if is_one:
        assert listed(maker)[0]["conditions"] == [*one["conditions"], f"Also: {said}"]


def test_a_preview_shows_each_record_and_what_is_rejected_leaves_the_rest(
    maker: LokiMaker, parts: HomeContainer
) -> None:
    alike(maker)
    before = (maker.store / STORE).read_bytes()
    preview = dream(parts, dry_run=True)
    assert (maker.store / STORE).read_bytes() == before
    review = load_review(parts.dream_dependencies, preview.run_id).review
    files = {file.path: file for file in review.files}
    assert {path.removeprefix(RECORDS): file.verb for path, file in files.items()} == {
        "/sem-00000001": "delete",
        "/sem-00000002": "edit",
        "/sem-00000003": "delete",
        "/sem-00000009": "edit",
    }
    kept = f"{RECORDS}/sem-00000003"
    hunks = frozenset(hunk.index for hunk in files[kept].hunks)
    choice = ReviewSelection(rejected_hunks={kept: hunks})
    result = ApplyService(parts.dream_dependencies).apply(preview.run_id, choice)
    assert result.outcome == "completed"
    assert list(by_id(maker)) == ["plain", "sem-00000002", "sem-00000003", "sem-00000009"]
    parts.reverter.revert(result.run_id)
    assert (maker.store / STORE).read_bytes() == before


def test_a_text_that_is_no_record_any_more_is_left_in_review(maker: LokiMaker, parts: HomeContainer) -> None:
    alike(maker)
    preview = dream(parts, dry_run=True)
    choice = ReviewSelection(edited_files={f"{RECORDS}/sem-00000002": "# Freely told\n"})
    result = ApplyService(parts.dream_dependencies).apply(preview.run_id, choice)
    assert result.outcome == "failed"
    assert len(by_id(maker)) == 5


def test_a_model_changes_texts_and_cannot_break_anything(maker: LokiMaker, parts: HomeContainer) -> None:
    alike(maker)
    before, others = by_id(maker), contents(maker.store)
    one, two = f"{RECORDS}/sem-00000001", f"{RECORDS}/sem-00000002"
    edit = {"command": "str_replace", "path": two}
    engine = ScriptedEngine(
        {**edit, "old_str": "confidence: 0.7", "new_str": "confidence: {"},
        {**edit, "old_str": "id: sem-00000002", "new_str": "id: sem-7"},
        {"command": "insert", "path": two, "insert_line": 0, "insert_text": "# A heading"},
        {"command": "create", "path": f"{RECORDS}/new", "file_text": "id: new\n"},
        {"command": "rename", "old_path": two, "new_path": f"{RECORDS}/other"},
        {**edit, "old_str": "- e2", "new_str": '- e2\n- e1\nmine: {"kept": [1]}'},
        {**edit, "old_str": "source_episodes:\n- e2\n- e3", "new_str": "source_episodes:\n- e2\n- e3\n- e1"},
        {"command": "delete", "path": one},
    )
    result = dream(parts, engine)
    done = [answer["success"] for answer in engine.answers]
    assert done == [False, False, False, False, False, False, True, True]
    assert result.outcome == "held", "mine of the deleted record would stand nowhere"
    assert by_id(maker) == before
    engine = ScriptedEngine(
        {**edit, "old_str": "links: []", "new_str": 'links: []\nmine: {"kept": [1]}'},
        {**edit, "old_str": "- e3", "new_str": "- e3\n- e1"},
        {"command": "delete", "path": one},
    )
    assert dream(parts, engine).outcome == "completed"
    after = by_id(maker)["sem-00000002"]
    assert (after["usage_count"], after["mine"], after["source_episodes"]) == (
        2,
        {"kept": [1]},
        ["e2", "e3", "e1"],
    )
    assert {rel for rel, data in contents(maker.store).items() if others.get(rel) != data} <= {
        STORE,
        f"{STORE}.lock",
    }


@pytest.mark.parametrize(
    "request_",
    [
        {"command": "create", "path": "/memories/project/new.md", "file_text": "x"},
        {"command": "str_replace", "path": "/memories/project/decisions.md", "old_str": "D", "new_str": "E"},
        {"command": "delete", "path": "/memories/project/episodic"},
        {"command": "delete", "path": RECORDS},
        {"command": "delete", "path": "/memories/project/semantic"},
        {"command": "insert", "path": RECORDS, "insert_line": 0, "insert_text": "x"},
        {"command": "str_replace", "path": "/memories/project/index.json", "old_str": "1", "new_str": "2"},
        {"command": "rename", "old_path": "/memories/project/decisions.md", "new_path": f"{RECORDS}/x"},
    ],
)
def test_outside_of_the_anti_patterns_a_dream_changes_nothing(
    request_: dict[str, Any], maker: LokiMaker, parts: HomeContainer
) -> None:
    before = contents(maker.store)
    engine = ScriptedEngine(request_)
    dream(parts, engine)
    assert [answer["success"] for answer in engine.answers] == [False]
    assert contents(maker.store) == before


def test_a_dream_sees_the_anti_patterns_and_nothing_else(maker: LokiMaker, parts: HomeContainer) -> None:
    view = [{"command": "view", "path": path} for path in ("/memories/project", RECORDS)]
    hidden = ("decisions.md", "index.json", "semantic/anti-patterns.json", "episodic", "skills/fix-it-now.md")
    engine = ScriptedEngine(
        *view, *({"command": "view", "path": f"/memories/project/{rel}"} for rel in hidden)
    )
    dream(parts, engine)
    top, records, *others = engine.answers
    names = ["semantic/", "patterns.json/", "sem-00000002", "sem-00000003", "sem-00000004"]
    assert [line.strip() for line in top["output"].splitlines()[1:]] == names
    assert [line.strip() for line in records["output"].splitlines()[1:]] == names[2:]
    assert [answer["success"] for answer in others] == [False] * len(hidden)
    overlay = DreamOverlay(parts.home, parts.home.context(), parts.usage)
    assert len(overlay.notes(lambda: None)) == 3
    assert overlay.left_out() == ()


@pytest.mark.parametrize("content", [b"", b"{", b'{"patterns": [], "patterns": []}', b"[1]", None])
def test_a_store_that_cannot_be_read_is_left_alone(
    content: bytes | None, maker: LokiMaker, parts: HomeContainer
) -> None:
    (maker.store / STORE).unlink()
    if content is not None:
        (maker.store / STORE).write_bytes(content)
    before = contents(maker.store)
    assert dream(parts).outcome == "unchanged"
    assert contents(maker.store) == before


def test_records_of_one_id_become_one_and_come_back(maker: LokiMaker, parts: HomeContainer) -> None:
    maker.patterns(*(maker.anti_pattern(1, source_episodes=[f"e{number}"]) for number in range(12)))
    before = (maker.store / STORE).read_bytes()
    results = [dream(parts), dream(parts), dream(parts)]
    assert [result.outcome for result in results] == ["completed", "completed", "unchanged"]
    (kept,) = listed(maker)
    assert sorted(kept["source_episodes"]) == sorted(f"e{number}" for number in range(12))
    for result in reversed(results[:2]):
        parts.reverter.revert(result.run_id)
    assert (maker.store / STORE).read_bytes() == before


def test_an_undo_keeps_what_the_agent_has_written_since(maker: LokiMaker, parts: HomeContainer) -> None:
    alike(maker)
    before = by_id(maker)
    result = dream(parts)
    document = json.loads((maker.store / STORE).read_text())
    document["patterns"].insert(0, maker.anti_pattern(0x77))
    document["patterns"][-1]["confidence"] = 0.9
    (maker.store / STORE).write_text(json.dumps(document, indent=2))
    assert parts.reverter.revert(result.run_id).conflicts == ()
    assert by_id(maker) == {
        **before,
        "sem-00000077": maker.anti_pattern(0x77),
        "sem-00000009": {**before["sem-00000009"], "confidence": 0.9},
    }


def test_a_run_that_dies_half_way_is_put_back(
    maker: LokiMaker, parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike(maker)
    before = (maker.store / STORE).read_bytes()
    for died_after in range(1, 5):
        states = {before}

        def die(_step: str, states: set[bytes] = states, died_after: int = died_after) -> None:
            states.add((maker.store / STORE).read_bytes())
            if len(states) > died_after:
                raise SystemExit("killed")

        with monkeypatch.context() as patch, contextlib.suppress(SystemExit):
            patch.setattr("reverie.runs.transaction.Transaction.roll_back", lambda *_args: Recovered(False))
            patch.setattr("reverie.runs.run.Run._finish", lambda *_args: sys.exit("dead"))
            checkpoint.set_observer(die)
            try:
                dream(parts)
            finally:
                checkpoint.set_observer(None)
        assert (maker.store / STORE).read_bytes() != before
        parts = again(parts)
        parts.recovery.run()
        assert (maker.store / STORE).read_bytes() == before


def test_another_process_that_writes_at_the_same_time_loses_nothing(
    maker: LokiMaker, parts: HomeContainer
) -> None:
    alike(maker)
    path = maker.store / STORE
    other = subprocess.Popen([sys.executable, "-c", OTHER_WRITER, str(path), "40"])
    outcomes = []
    try:
        while other.poll() is None:
            result = dream(parts)
            outcomes.append(result.outcome)
            if result.outcome == "completed":
                parts.reverter.revert(result.run_id)
    finally:
        assert other.wait(100) == 0
    assert set(outcomes) <= {"completed", "unchanged"}
    assert "completed" in outcomes
    dream(parts)
    found = by_id(maker)
    wanted = {"plain", "sem-00000002", "sem-00000009", *(f"other-{number}" for number in range(40))}
    assert set(found) == wanted
    assert len(listed(maker)) == len(wanted) + 1
    assert found["sem-00000002"]["source_episodes"] == ["e2", "e3", "e1"]
