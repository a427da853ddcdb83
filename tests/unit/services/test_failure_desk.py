"""The failures of a project for the window: what stands where, and the two changes a person may make."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.loki_home import FINGERPRINT, NOON, LokiMaker, error
from helpers.samples import copy_sample
from reverie.compose import open_parts
from reverie.errors import Conflict, Unavailable
from reverie.failures.lessons import retrieve
from reverie.files.watch import Changes
from reverie.profile import Profile
from reverie.services.failures import FailureService
from reverie.services.views import FieldChange
from reverie.services.workbench import Workbench

PATTERNS = "semantic/patterns.json"


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    return LokiMaker(tmp_path / "project")


def bench(maker: LokiMaker, tmp_path: Path) -> Workbench:
    return Workbench(open_parts(maker.project, Profile.under(tmp_path / "profile"), lambda: NOON))


def everything_in(directory: Path) -> dict[str, Any]:
    return {str(each): each.stat().st_mtime_ns for each in directory.rglob("*")}


def test_lessons_stand_where_the_agent_finds_them(maker: LokiMaker, tmp_path: Path) -> None:
    seen = f"phase=ACT; fp={FINGERPRINT[:12]}"
    for hour in range(5):
        maker.episode(hour, f"2026-08-19T0{hour}:00:00Z", errors=[error(message=seen)])
    maker.episode(9, "2026-07-01T00:00:00Z", errors=[error(message=seen)])
    maker.json(
        "memory/shop/episodic/2026-08-19/task-1.json",
        {"outcome": "failure", "errors_encountered": [error(message="sell")]},
    )
    maker.crash(1_787_052_600)
    maker.crash(1_787_052_700)
    before = everything_in(maker.project)
    view = bench(maker, tmp_path).failures.look()
    assert everything_in(maker.project) == before
    assert [each.state for each in view.lessons] == [
        *["injected"] * 3,
        *["window"] * 2,
        "elsewhere",
        "older",
    ]
    assert [each.episode_id[-1:] for each in view.lessons[:5]] == ["4", "3", "2", "1", "0"]
    assert view.lessons[0].seen == 6
    assert view.block() == retrieve(maker.memory, now_ms=NOON).block
    (group,) = view.crashes
    assert len(group.crashes) == 2
    assert view.crash_of(view.lessons[0]) == group
    assert len(view.lessons_of(group)) == 6
    assert view.crash_of(view.lessons[5]) is None
    assert (view.on, view.recorded, view.source, view.problems) == (True, True, None, ())


def test_the_switch_and_the_settings_of_the_store_are_said(maker: LokiMaker, tmp_path: Path) -> None:
    maker.episode(1)
    maker.json("config.json", {"memory": {"disabled": True}})
    made = bench(maker, tmp_path)
    view = FailureService(made.parts, made.records, {"LOKI_FAILURE_MEMORY": "0"}).look()
    assert (view.on, view.recorded, view.block("iteration"), view.injected) == (False, False, "", ())
    assert [each.state for each in view.lessons] == ["window"]


def test_every_case_of_the_checklist_is_shown_and_problems_are_told(maker: LokiMaker, tmp_path: Path) -> None:
    maker.everything()
    view = bench(maker, tmp_path).failures.look()
    assert len(view.lessons) == 6
    assert len(view.problems) == 6
    assert [len(group.crashes) for group in view.crashes] == [1, 2]
    assert len(view.anti_patterns) == 4
    assert view.priors("guessing all") == ("guessing", "collect all rows")
    assert "- (prior) guessing\n" in view.block("guessing")


def test_the_block_with_a_resolution_is_what_the_agent_would_get(maker: LokiMaker, tmp_path: Path) -> None:
    maker.episode(1, errors=[error("A", "a")])
    maker.episode(2, errors=[{"type": "B", "message": "b"}])
    made = bench(maker, tmp_path)
    view = made.failures.look()
    for number, lesson in enumerate(view.lessons):
        promised = view.block()
        made.failures.resolve(lesson, "asked Ada")
        view = made.failures.look()
        assert view.block() == promised
        assert view.lessons[number].resolution == "asked Ada"


def test_a_resolution_is_taken_back_to_the_byte(maker: LokiMaker, tmp_path: Path) -> None:
    path = maker.episode(1, errors=[error(), {"type": "B", "message": "none given"}])
    before = path.read_bytes()
    made = bench(maker, tmp_path)
    first, second = made.failures.look().lessons
    undos = [made.failures.resolve(first, "one"), made.failures.resolve(second, "two")]
    assert [[type(step) for step in undo.steps] for undo in undos] == [[FieldChange], [FieldChange]]
    assert b'"two"' in path.read_bytes()
    for undo in reversed(undos):
        assert made.undo(undo).startswith("Undid the change in /memories/project/episodic/")
    assert path.read_bytes() == before
    assert made.failures.resolve(first, "again").path.endswith("task-ep-2026-08-19-1.json")


def test_an_error_that_is_another_by_now_is_left(maker: LokiMaker, tmp_path: Path) -> None:
    path = maker.episode(1, errors=[error("A", "a"), error("B", "b")])
    made = bench(maker, tmp_path)
    first, second = made.failures.look().lessons
    undo = made.failures.resolve(first, "seen")
    maker.episode(1, errors=[error("B", "b", "other")])
    for stale in (first, second):
        with pytest.raises(Conflict):
            made.failures.resolve(stale, "x")
    with pytest.raises(Conflict):
        made.undo(undo)
    path.unlink()
    with pytest.raises(Conflict):
        made.failures.resolve(first, "x")


def test_the_sample_has_lessons_of_all_days(tmp_path: Path) -> None:
    sample = copy_sample("loki-project", tmp_path)
    made = Workbench(open_parts(sample, Profile.under(tmp_path / "profile"), lambda: NOON))
    view = made.failures.look()
    assert {"injected", "older"} <= {each.state for each in view.lessons}
    assert len(view.crashes) == 3
    assert view.problems == ()


def test_other_homes_keep_no_failures(tmp_path: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    made = Workbench(open_parts(home, Profile.under(tmp_path / "profile"), lambda: NOON))
    with pytest.raises(Unavailable):
        _ = made.failures


def test_crashes_and_settings_are_watched_though_they_are_no_memories(
    maker: LokiMaker, tmp_path: Path
) -> None:
    maker.episode(1)
    made = bench(maker, tmp_path)
    watched = {target.path: target.only for target in made.watch_targets()}
    assert watched[maker.store / "crash"] == ()
    assert {"crash", "config.json"} <= set(watched[maker.store])
    path = maker.crash(NOON // 1000)
    touched = made.relevant(made.parts.home.context(), Changes(frozenset([path]), False, 1, ()))
    assert touched.contents
    assert not touched.tree
