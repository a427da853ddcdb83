"""What loki-mode itself would inject, and the sentence that says why Reverie's block is another."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from helpers.samples import snapshot
from reverie.failures.lessons import Retrieved, retrieve

NOON = int(datetime(2026, 8, 20, 12, tzinfo=UTC).timestamp() * 1000)
TODAY = "2026-08-20"


class Store:
    """A memory root with an index, as loki-mode makes it."""

    def __init__(self, memory: Path) -> None:
        self.memory = memory
        self.memory.mkdir(parents=True)
        (memory / "index.json").write_text('{"version": "1.1.0", "topics": []}')

    def put(self, name: str, content: object, day: str = TODAY) -> None:
        file = self.memory / "episodic" / day / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())

    def look(self, goal: str = "", phase: str = "") -> Retrieved:
        before = snapshot(self.memory)
        found = retrieve(self.memory, now_ms=NOON, goal=goal, phase=phase)
        assert snapshot(self.memory) == before
        return found


def episode(message: str = "m", **more: Any) -> dict[str, Any]:
    return {
        "id": "ep-1",
        "timestamp": "2026-08-20T09:00:00.000000Z",
        "context": {"phase": "ACT", "goal": "mend the login"},
        "outcome": "failure",
        "action_log": [],
        "errors_encountered": [{"type": "IterationError", "message": message, "resolution": ""}],
        "importance": 0.5,
        **more,
    }


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / ".loki" / "memory")
    store.put("task-ep-1.json", episode("first"))
    return store


BLOCK = "\nPAST FAILURES TO AVOID:\n- IterationError: first\n"


def test_a_sound_store_gives_both_the_same_block_and_no_sentence(store: Store) -> None:
    found = store.look()
    assert (found.block, found.agent_block, found.difference) == (BLOCK, BLOCK, "")


def test_without_the_index_loki_mode_injects_nothing(store: Store) -> None:
    (store.memory / "index.json").unlink()
    found = store.look()
    assert (found.block, found.agent_block) == (BLOCK, "")
    assert found.difference == "loki-mode adds no lessons until memory/index.json exists."


def test_without_the_index_and_without_a_lesson_there_is_nothing_to_say(tmp_path: Path) -> None:
    found = retrieve(tmp_path / "none", now_ms=NOON)
    assert (found.agent_block, found.difference) == ("", "")


@pytest.mark.parametrize(
    ("odd", "cause"),
    [
        ({"context": None}, "has no context"),
        ({"context": "text"}, "has a context that is not an object"),
        ({"context": {"goal": 5}}, "has a goal that is not text"),
        ({"errors_encountered": "text"}, "has errors in a form other than a list"),
        ({"errors_encountered": None}, "has errors in a form other than a list"),
        ({"errors_encountered": ["text"]}, "has errors with an entry that is not an object"),
        ({"errors_encountered": [None]}, "has errors with an entry that is not an object"),
        ({"timestamp": "yesterday"}, "has a time that cannot be read"),
        ({"last_accessed": "yesterday"}, "has a time of its last use that cannot be read"),
        ({"action_log": None}, "has an action log in a form other than a list"),
        ({"action_log": ["text"]}, "has an action log with an entry that is not an object"),
    ],
)
@pytest.mark.parametrize("outcome", ["failure", "success"])
def test_one_odd_neighbour_closes_the_block_whether_or_not_it_failed(
    store: Store, odd: dict[str, Any], cause: str, outcome: str
) -> None:
    store.put("task-ep-2.json", episode("second", outcome=outcome, **odd))
    found = store.look()
    assert "- IterationError: first\n" in found.block
    assert found.agent_block == ""
    assert found.difference == (
        f"loki-mode adds no lessons now: memory/episodic/{TODAY}/task-ep-2.json {cause}."
    )


@pytest.mark.parametrize("content", [5, [1], "text", True])
def test_a_scalar_or_a_list_anywhere_in_the_store_silences_everything(store: Store, content: object) -> None:
    store.put("task-ep-0.json", content, day="2026-07-01")
    found = store.look()
    assert (found.block, found.agent_block) == (BLOCK, "")
    assert found.difference.endswith("memory/episodic/2026-07-01/task-ep-0.json contains no record.")


def test_an_odd_importance_matters_only_where_the_goal_may_retrieve_the_episode(store: Store) -> None:
    store.put("task-ep-1.json", episode("first", importance="high"))
    unknown = store.look()
    assert unknown.agent_block == ""
    assert "task-ep-1.json has an importance that is not a number" in unknown.difference
    assert store.look("water plants").difference == ""
    found = store.look("mend the login")
    assert found.agent_block == ""
    assert "task-ep-1.json has an importance that is not a number" in found.difference


@pytest.mark.parametrize(
    ("name", "goal", "closes"),
    [
        ("importance", "mend the login", True),
        ("importance", "", True),
        ("importance", "water plants", False),
        ("confidence", "water plants", True),
    ],
)
def test_an_odd_figure_of_a_pattern_silences_the_lessons_too(
    store: Store, name: str, goal: str, closes: bool
) -> None:
    patterns = store.memory / "semantic" / "patterns.json"
    patterns.parent.mkdir()
    patterns.write_text(json.dumps({"patterns": [{"pattern": "Login: first the cookie", name: "high"}]}))
    found = store.look(goal)
    assert found.agent_block == ("" if closes else BLOCK)
    assert ("memory/semantic/patterns.json has a" in found.difference) == closes


def test_what_loki_mode_retrieves_gets_a_good_time_of_its_last_use(store: Store) -> None:
    store.put("task-ep-1.json", episode("first", last_accessed="yesterday"))
    assert store.look("mend the login").agent_block == BLOCK
    assert store.look("water plants").agent_block == ""


@pytest.mark.parametrize("name", ["task-a.b.json", "task-task-x.json", "task-my-task-x.json"])
def test_a_name_that_is_listed_and_not_found_again_is_left_out(store: Store, name: str) -> None:
    store.put(name, episode("hidden"))
    found = store.look()
    assert "hidden" in found.block
    assert found.agent_block == BLOCK
    assert found.difference == (
        f"loki-mode leaves out memory/episodic/{TODAY}/{name}: it looks for this episode under a "
        "different name."
    )


def test_a_byte_order_mark_hides_an_episode_from_loki_mode(store: Store) -> None:
    store.put("task-ep-2.json", b"\xef\xbb\xbf" + json.dumps(episode("hidden")).encode())
    found = store.look()
    assert found.agent_block == BLOCK
    assert found.difference.endswith("it begins with a byte order mark.")


def test_times_are_compared_as_texts(store: Store) -> None:
    store.put("task-ep-1.json", episode("early", timestamp="2026-08-20T09:00:00+05:00"))
    store.put("task-ep-2.json", episode("late", timestamp="2026-08-20T08:30:00Z"))
    found = store.look()
    assert found.block.index("late") < found.block.index("early")
    assert found.agent_block.index("early") < found.agent_block.index("late")
    assert found.difference == "loki-mode sorts the lessons by their times as text, not as points in time."


def test_odd_types_and_messages_are_spelt_as_python_does(store: Store) -> None:
    errors = [{"type": None, "message": 0}, {"message": ["a", 1]}, {"error_type": "X", "message": None}]
    store.put("task-ep-1.json", episode(errors_encountered=errors))
    assert store.look().agent_block == "\nPAST FAILURES TO AVOID:\n- None\n- : ['a', 1]\n- X\n"


def test_a_day_of_one_digit_is_a_date_for_loki_mode(tmp_path: Path) -> None:
    store = Store(tmp_path / "memory")
    store.put("task-ep-1.json", episode("first"), day="2026-8-20")
    assert store.look().agent_block == BLOCK


def test_with_the_switch_off_neither_says_anything(store: Store) -> None:
    store.put("task-ep-2.json", episode(context=None))
    assert retrieve(store.memory, now_ms=NOON, on=False) == Retrieved()
