"""Recording a failed iteration: what is stored, what never is, and that the loop closes."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import reverie.failures.record as record_module
from helpers.loki_home import FINGERPRINT, NOON, LokiMaker
from helpers.samples import snapshot
from reverie.errors import Unavailable, UserError
from reverie.failures.lessons import retrieve
from reverie.failures.record import Failure, RecordedFailure, capture, places_of, record
from reverie.files.locks import lock_beside

GOAL = "build todo REST API"
ON: dict[str, str] = {}


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    found = LokiMaker(tmp_path / "people" / "ada" / "night-bus")
    git = found.project / ".git"
    git.mkdir()
    (git / "config").write_text('[remote "origin"]\nurl = git@github.com:nightowl/night-bus.git\n')
    return found


def recorded(maker: LokiMaker, env: dict[str, str] = ON, now: int = NOON, **fields: Any) -> RecordedFailure:
    failure = Failure(**{"phase": "ACT", "exit_code": 1, "goal": GOAL, **fields})
    return record(maker.project, failure, env=env, home_dir=maker.project.parent, now_ms=now)


def block(maker: LokiMaker, env: dict[str, str] = ON) -> str:
    return retrieve(
        maker.memory, now_ms=NOON, goal=GOAL, phase="ACT", on=env.get("LOKI_FAILURE_MEMORY") != "0"
    ).block


def stored(done: RecordedFailure) -> dict[str, Any]:
    assert done.path is not None
    found = json.loads(done.path.read_text())
    assert isinstance(found, dict)
    return found


def test_the_loop_closes_with_a_crash(maker: LokiMaker) -> None:
    places = places_of(maker.project, maker.project.parent)
    stack = "    at buildTimetable (/home/bob/x.ts:1:2)\n    at run (y.ts:1)"
    capture(maker.project, {"error_class": "MemoryError", "stack": stack, "rarv_phase": "ACT"}, places, NOON)
    done = recorded(maker)
    told = block(maker)
    assert done.entry is not None
    assert told.startswith(
        "\nPAST FAILURES TO AVOID:\n- MemoryError: phase=ACT; signature: buildTimetable > run; fp="
    )
    assert "MemoryError".lower() not in GOAL.lower()


def test_the_loop_closes_without_a_crash(maker: LokiMaker) -> None:
    recorded(maker, phase="verify", exit_code=2)
    assert block(maker) == "\nPAST FAILURES TO AVOID:\n- IterationError: phase=VERIFY; exit=2\n"


def test_an_episode_is_what_the_agent_would_have_written(maker: LokiMaker) -> None:
    done = recorded(maker, task_id="iteration-5")
    episode = stored(done)
    assert done.path == maker.memory / "episodic" / "2026-08-19" / f"task-{episode['id']}.json"
    assert episode.pop("id").startswith("ep-2026-08-19-")
    assert episode == {
        "task_id": "iteration-5",
        "timestamp": "2026-08-19T12:00:00.000000Z",
        "duration_seconds": 0,
        "agent": "reverie",
        "context": {"phase": "ACT", "goal": GOAL, "files_involved": []},
        "action_log": [],
        "outcome": "failure",
        "errors_encountered": [{"type": "IterationError", "message": "phase=ACT; exit=1", "resolution": ""}],
        "artifacts_produced": [],
        "git_commit": None,
        "tokens_used": 0,
        "files_read": [],
        "files_modified": [],
        "importance": 0.5,
        "access_count": 0,
    }
    text = done.path.read_text()
    assert text == json.dumps(json.loads(text), indent=2)


def test_index_and_timeline_are_kept_up_as_the_agent_does_it(maker: LokiMaker) -> None:
    maker.json(
        "memory/index.json", {"version": "1.1.0", "mine": 1, "topics": [{"id": "act", "episode_ids": ["e"]}]}
    )
    first, second = recorded(maker), recorded(maker, phase="VERIFY", goal="")
    index = json.loads((maker.memory / "index.json").read_text())
    timeline = json.loads((maker.memory / "timeline.json").read_text())
    assert index["mine"] == 1
    assert [(topic["id"], topic["episode_ids"]) for topic in index["topics"]] == [
        ("act", ["e", first.episode_id]),
        ("verify", [second.episode_id]),
    ]
    assert [action["action"] for action in timeline["recent_actions"]] == ["Task completed", GOAL]


def test_a_damaged_index_is_left_to_its_owner(maker: LokiMaker) -> None:
    index = maker.file("memory/index.json", "{torn")
    done = recorded(maker)
    assert index.read_text() == "{torn"
    assert done.path is not None
    assert ["index.json" in problem for problem in done.problems] == [True]


def test_the_newest_crash_is_attached_whatever_it_is_of(maker: LokiMaker) -> None:
    """A wrong match, as shipped: it mislabels one lesson, and no other."""
    recorded(maker, now=NOON - 60_000)
    maker.crash(1_000, error_class="Old")
    wrong = maker.crash(2_000, error_class="OfAnother", fingerprint="b" * 64)
    maker.crash(1_500, error_class="Right", fingerprint="c" * 64)
    done = recorded(maker)
    assert done.crash == wrong
    lessons = retrieve(maker.memory, now_ms=NOON).lessons
    assert [lesson.type for lesson in lessons] == ["OfAnother", "IterationError"]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"null"])
def test_a_crash_that_cannot_be_read_means_the_fallback(content: bytes, maker: LokiMaker) -> None:
    maker.file("crash/x-1.json", content)
    done = recorded(maker)
    assert done.entry is not None
    assert done.entry["message"] == "phase=ACT; exit=1"
    assert done.crash is None


def test_a_crash_that_is_not_there_means_the_fallback_and_is_told(maker: LokiMaker) -> None:
    done = recorded(maker, crash=maker.project / "gone.json")
    assert done.entry is not None
    assert done.entry["message"] == "phase=ACT; exit=1"
    assert "gone.json" in done.problems[0]


def test_a_minimal_record_is_told_as_it_is(maker: LokiMaker) -> None:
    maker.json("crash/scruberror-1.json", {"error_class": "ScrubError", "rules_version": "1.0"})
    assert stored(recorded(maker))["errors_encountered"][0]["type"] == "ScrubError"


def test_a_crash_from_elsewhere_is_kept_scrubbed(maker: LokiMaker) -> None:
    given = maker.project / "crash.json"
    given.write_text(json.dumps({"error_class": "Boom", "stack": "  at f (/home/bob/x.js:1)", "note": "bob"}))
    done = recorded(maker, crash=given)
    assert done.crash is not None
    assert done.crash.parent == maker.store / "crash"
    assert "bob" not in done.crash.read_text()
    assert "signature: f" in block(maker)


@pytest.mark.parametrize(
    ("env", "config", "written"),
    [
        ({"LOKI_TELEMETRY": "off"}, "", False),
        ({"LOKI_TELEMETRY_DISABLED": "true"}, "", False),
        ({"DO_NOT_TRACK": "1"}, "", False),
        ({}, "TELEMETRY_DISABLED=true\n", False),
        ({"LOKI_TELEMETRY": "on"}, "A=1\nexport TELEMETRY_DISABLED='true' # mine\n", False),
        ({}, "# TELEMETRY_DISABLED=true\nTELEMETRY_DISABLED=false\nNOT_TELEMETRY_DISABLED=true\n", True),
        ({"LOKI_TELEMETRY": "on", "DO_NOT_TRACK": "0"}, "", True),
    ],
)
def test_where_collecting_is_off_no_crash_is_written_but_the_loop_closes(
    env: dict[str, str], config: str, written: bool, maker: LokiMaker
) -> None:
    user = maker.project.parent / ".loki"
    user.mkdir()
    (user / "config").write_text(config)
    given = maker.project / "crash.json"
    given.write_text('{"error_class": "Boom"}')
    done = recorded(maker, env, crash=given)
    assert (maker.store / "crash").exists() is written
    assert done.entry is not None
    assert done.entry["type"] == "Boom"


def test_switched_off_an_episode_has_no_error(maker: LokiMaker) -> None:
    maker.crash(1_000)
    off = {"LOKI_FAILURE_MEMORY": "0"}
    assert stored(recorded(maker, off))["errors_encountered"] == []
    assert block(maker) == ""
    assert block(maker, off) == ""


@pytest.mark.parametrize(
    "config", ['{"memory": {"disabled": true}}', "{", "[]", b"\xff".decode("latin-1") + "{"]
)
def test_a_store_that_switches_capturing_off_gets_nothing(config: str, maker: LokiMaker) -> None:
    maker.file("config.json", config)
    before = snapshot(maker.project)
    done = recorded(maker)
    assert done.path is None
    assert "config.json" in done.reason
    assert snapshot(maker.project) == before


@pytest.mark.parametrize("config", ["{}", '{"memory": {"disabled": false}}', '{"memory": 3}'])
def test_other_settings_do_not(config: str, maker: LokiMaker) -> None:
    maker.file("config.json", config)
    assert recorded(maker).path is not None


def test_success_is_no_failure(maker: LokiMaker) -> None:
    before = snapshot(maker.project)
    assert recorded(maker, exit_code=0).path is None
    assert snapshot(maker.project) == before


def test_there_has_to_be_a_project(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        record(tmp_path / "gone", Failure("ACT", 1), env={}, home_dir=tmp_path, now_ms=NOON)


def test_nothing_private_is_stored(maker: LokiMaker) -> None:
    private = ["ada", "nightowl", "night-bus", "bob@example.com", "10.1.2.3", "ghp_" + "a1" * 12, "hunter2"]
    text = f"{maker.project} of {' '.join(private)} PASSWORD=hunter2 /home/ada/x"
    crash = {
        "error_class": f"{private[3]} broke",
        "stack_signature": ["run", f"in_{private[5]}", "/home/ada/x.py", "nightowl"],
        "fingerprint": private[5],
        "friction_kind": text,
        "rarv_phase": text,
        "os": "ada",
        **dict.fromkeys(private, text),
    }
    maker.json("crash/x-1.json", crash)
    goal = f"{maker.project} {' '.join(private[1:-1])} PASSWORD=hunter2"
    done = recorded(maker, goal=goal, phase=f"act {private[3]}", task_id="ghp_" + "a1" * 12)
    assert done.path is not None
    for path in maker.memory.rglob("*.json"):
        told = path.read_text()
        assert not [word for word in private if word in told.replace("reverie", "")], told
    assert not [word for word in private if word in block(maker)]


def test_a_phase_is_redacted_before_it_is_spelt_in_upper_case(maker: LokiMaker) -> None:
    token = "ghp_" + "a1" * 12
    done = recorded(maker, phase=f"act in {maker.project}/x of /home/bob\nwith {token}")
    assert stored(done)["context"]["phase"] == "ACT IN ./X OF ~ WITH [REDACTED:GITHUB_TOKEN]"
    for path in maker.memory.rglob("*.json"):
        told = path.read_text().lower()
        assert token not in told
        assert "bob" not in told
        assert "people" not in told


def test_a_memory_root_elsewhere_is_obeyed(maker: LokiMaker, tmp_path: Path) -> None:
    done = recorded(maker, {"LOKI_MEMORY_BASE_PATH": str(tmp_path / "shared")})
    assert done.path is not None
    assert done.path.is_relative_to(tmp_path / "shared")


def test_a_store_that_cannot_be_written_is_said(maker: LokiMaker) -> None:
    maker.file("memory/episodic", "a file")
    with pytest.raises(UserError):
        recorded(maker)


def test_a_lock_beside_a_file_is_that_of_its_other_writers(tmp_path: Path) -> None:
    import fcntl

    target = tmp_path / "patterns.json"
    with (
        lock_beside(target),
        (tmp_path / "patterns.json.lock").open("w") as other,
        pytest.raises(BlockingIOError),
    ):
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with (tmp_path / "patterns.json.lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(UserError, match="locked by its agent"), lock_beside(target, timeout_s=0.01):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["patterns.json.lock"]


def test_a_derived_file_that_the_agent_holds_does_not_hold_up_its_hook(
    maker: LokiMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert record_module._DERIVED_WAIT_S <= 2
    monkeypatch.setattr(record_module, "_DERIVED_WAIT_S", 0.01)
    maker.memory.mkdir(parents=True)
    with lock_beside(maker.memory / "index.json"):
        done = recorded(maker)
    assert stored(done)["outcome"] == "failure"
    assert [problem.split()[0] for problem in done.problems] == ["index.json"]
    assert (maker.memory / "timeline.json").exists()


def test_the_fingerprint_of_a_crash_without_frames_is_that_of_all_such(maker: LokiMaker) -> None:
    maker.crash(1_000)
    assert f"fp={FINGERPRINT[:12]}" in stored(recorded(maker))["errors_encountered"][0]["message"]


def test_a_phase_is_stored_in_upper_case_as_by_the_agent(maker: LokiMaker) -> None:
    done = recorded(maker, phase="iteration")
    assert done.path is not None
    assert json.loads(done.path.read_text())["context"]["phase"] == "ITERATION"


@pytest.mark.parametrize(
    "linked", [".loki", ".loki/memory", ".loki/memory/episodic", ".loki/memory/episodic/DAY", ".loki/crash"]
)
def test_nothing_is_written_through_a_linked_folder(maker: LokiMaker, tmp_path: Path, linked: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index.json").write_text('{"name": "my-web-app"}')
    (outside / "memory").mkdir()
    day = f"{datetime.fromtimestamp(NOON / 1000, UTC):%Y-%m-%d}"
    link = maker.project / linked.replace("DAY", day)
    if link.is_dir():
        shutil.rmtree(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside, target_is_directory=True)
    before = snapshot(outside)
    places = places_of(maker.project, maker.project.parent)
    captured = partial(capture, maker.project, {"error_class": "MemoryError"}, places, NOON)
    act = captured if linked == ".loki/crash" else partial(recorded, maker)
    with pytest.raises(UserError) as refused:
        act()
    assert refused.value.reason == "escape"
    assert snapshot(outside) == before


def test_a_memory_that_the_environment_names_may_be_a_link(maker: LokiMaker, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to(tmp_path / "real", target_is_directory=True)
    done = recorded(maker, {"LOKI_MEMORY_BASE_PATH": str(tmp_path / "named")})
    assert done.path is not None
    assert done.path.resolve().is_relative_to(tmp_path / "real")
    assert not done.problems
