"""The launch sweep (formats/mux.md section 10): scenarios with order and reasons written by hand, and real
sweeps."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.benches import NOW, Time, contents, sample_parts, workspace
from helpers.foreign_home import make_foreign_home
from helpers.profiles import examples
from reverie.agents.scopes import escape_key
from reverie.clock import DAY_MS, HOUR_MS
from reverie.errors import StoreError
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.jobs.consolidate.triggers import (
    Anchors,
    Sweep,
    SweepService,
    SweepWorkspace,
    WriteTimes,
    plan_sweep,
)
from reverie.llm.client import Account
from reverie.runs.guard import Guard
from reverie.runs.record import Progress
from reverie.runs.stops import StopCheck
from reverie.services.container import HomeContainer
from reverie.values import replace

SCENARIOS = [
    json.loads(line)
    for line in Path(__file__).with_name("sweep_scenarios.jsonl").read_text(encoding="utf-8").splitlines()
]
ACME, GARDEN, PIPELINE, BACKFILL, MULTI = (
    "a1f3c9e2b7",
    "77b0d2c4e5",
    "c04d8e91aa",
    "5d6e7f8091",
    "e8f1a2b3c4",
)


def ago(hours: float | None) -> int | None:
    return None if hours is None else int(NOW - hours * HOUR_MS)


def planned(scenario: dict[str, Any], **options: Any) -> Sweep:
    """`workspaces` are [id, hours since last use, project, archived|unlisted|""]; all times are hours ago."""
    workspaces = tuple(
        SweepWorkspace(
            name,
            ago(idle) or 0,
            archived=mark == "archived",
            listed=mark != "unlisted",
            project_path=project,
            own_keys=f"workspace:{escape_key(name)}:",
            project_keys=None if project is None else f"project:{escape_key(project)}:",
        )
        for name, idle, project, mark in scenario["workspaces"]
    )
    covered = {
        bucket: {key: ago(hours) or 0 for key, hours in scenario["covered"][bucket].items()}
        for bucket in ("workspaces", "projects")
    }
    anchors = Anchors(**covered, newest=max(covered["workspaces"].values(), default=0))
    writes = WriteTimes({key: ago(hours) for key, hours in scenario["writes"].items()})
    return plan_sweep(workspaces, anchors, writes, global_keys="global:", now=NOW, **options)


def test_there_are_at_least_forty_scenarios_each_with_a_name_of_its_own() -> None:
    assert len({scenario["name"] for scenario in SCENARIOS}) == len(SCENARIOS) >= 40


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["name"] for scenario in SCENARIOS])
def test_the_sweep_goes_as_the_scenario_says(scenario: dict[str, Any]) -> None:
    found = planned(scenario)
    assert list(found.order) == scenario["order"]
    assert {item.workspace_id: item.reason for item in found.skipped} == scenario["skipped"]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=[scenario["name"] for scenario in SCENARIOS])
def test_no_sweep_is_longer_than_its_cap_and_names_everyone_once(scenario: dict[str, Any]) -> None:
    for cap in range(3):
        found = planned(scenario, cap=cap)
        assert len(found.order) <= cap
        named = [*found.order, *(item.workspace_id for item in found.skipped)]
        assert sorted(named) == sorted(name for name, *_rest in scenario["workspaces"])


hours = st.integers(0, 60)


@settings(max_examples=examples(150), deadline=None)
@given(
    workspaces=st.lists(
        st.tuples(st.sampled_from("ABCDE"), hours, st.sampled_from(["/p", "/q", None]), st.just("")),
        unique_by=lambda item: item[0],
        max_size=5,
    ),
    writes=st.dictionaries(
        st.sampled_from(["global:x", "project:/p:x", "project:/q:x", "workspace:A:x", "workspace:B:x"]), hours
    ),
    covered=st.fixed_dictionaries(
        {
            "workspaces": st.dictionaries(st.sampled_from("ABCDE"), hours),
            "projects": st.dictionaries(st.sampled_from(["/p", "/q"]), hours),
        }
    ),
)
def test_after_a_sweep_whose_runs_all_succeed_none_of_them_is_due_again(
    workspaces: list[Any], writes: dict[str, int], covered: dict[str, Any]
) -> None:
    scenario = {"workspaces": workspaces, "writes": writes, "covered": covered}
    first = planned(scenario)
    projects = {name: project for name, _idle, project, _mark in workspaces}
    for name in first.order:
        covered["workspaces"][name] = 0
        if projects[name] is not None:
            covered["projects"][projects[name]] = 0
    assert not set(first.order) & set(planned(scenario).order)


def test_a_prefix_finds_the_newest_write_below_it_and_nothing_else() -> None:
    writes = WriteTimes({"a:1": 3, "a:2": 9, "ab:1": 20, "b": None})
    assert [writes.newest(prefix) for prefix in ("a:", "ab:", "b", "c", None)] == [9, 20, 0, 0, 0]


# Real homes


class Failing:
    """An engine that does not come to its end."""

    name = "failing"

    def account(self) -> Account:
        return Account()

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
    ) -> str:
        raise StoreError("The model does not respond.")


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def parts(tmp_path: Path, time: Time) -> HomeContainer:
    return sample_parts("mux-home", tmp_path, time)


def sweeps(parts: HomeContainer) -> SweepService:
    return SweepService(parts.dream_dependencies, parts.dreams)


def reasons(sweep: Sweep) -> dict[str, str]:
    return {item.workspace_id: item.reason for item in sweep.skipped}


def test_planning_the_sample_names_every_workspace_and_touches_nothing(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    sweep = sweeps(parts).plan()
    assert {*sweep.order, *reasons(sweep)} == {item for item, _ in parts.home.recencies()}
    assert sweep.order
    assert reasons(sweep)["3e9a1b5c6d"] == "archived"
    assert contents(parts.home.root) == before


def test_a_sweep_runs_what_it_planned_and_then_nothing_is_due(parts: HomeContainer) -> None:
    planned_order = sweeps(parts).plan().order
    result = sweeps(parts).run(lambda _context: RulesEngine())
    assert result.sweep.order == planned_order
    assert result.succeeded
    assert {run.trigger for run in parts.runs.all()} == {"launch"}
    assert sweeps(parts).plan().order == ()
    assert sweeps(parts).run(lambda _context: RulesEngine()).runs == ()


def test_a_dreams_own_writes_never_qualify_it_again_even_much_later(parts: HomeContainer, time: Time) -> None:
    sweeps(parts).run(lambda _context: RulesEngine())
    time.now += 30 * DAY_MS
    assert sweeps(parts).plan().order == ()


def test_a_reverted_dream_does_not_make_the_sweep_run_again(parts: HomeContainer, time: Time) -> None:
    sweeps(parts).run(lambda _context: RulesEngine())
    changed = [run for run in parts.runs.all() if run.outcome == "completed"]
    assert changed
    time.now += DAY_MS
    for run in changed:
        assert parts.reverter.revert(run.id).reverts
    time.now += DAY_MS
    assert sweeps(parts).plan().order == ()


def test_a_failed_run_advances_nothing(parts: HomeContainer) -> None:
    before = sweeps(parts).plan()
    result = sweeps(parts).run(lambda _context: Failing())
    assert not result.succeeded
    assert result.as_json()["runs"][0]["outcome"] == "failed"
    # Nobody covered what the first would have covered, so its siblings are tried as well, up to the cap.
    assert result.sweep.order[0] == before.order[0]
    assert len(result.runs) <= 3
    assert sweeps(parts).plan() == before


def test_a_refused_run_uses_up_no_place(parts: HomeContainer) -> None:
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="a test"):
        result = sweeps(parts).run(lambda _context: RulesEngine())
    assert result.runs
    assert {run.result.outcome for run in result.runs} == {"skipped"}
    assert "cap" not in reasons(result.sweep).values()


def test_a_budget_that_is_used_up_ends_the_sweep(parts: HomeContainer) -> None:
    result = sweeps(parts).run(lambda _context: RulesEngine(), may_run=lambda _workspace: False)
    assert result.runs == ()
    assert "stopped" in reasons(result.sweep).values()


def test_a_cancelled_sweep_starts_nothing_more(parts: HomeContainer) -> None:
    cancel = threading.Event()
    cancel.set()
    assert sweeps(parts).run(lambda _context: RulesEngine(), cancel=cancel).runs == ()


def test_a_workspace_consolidated_by_hand_is_not_swept(parts: HomeContainer) -> None:
    first = sweeps(parts).plan().order[0]
    parts.dreams.run(DreamRequest(workspace(parts, first)), RulesEngine())
    assert first not in sweeps(parts).plan().order


def test_a_write_after_the_sweep_makes_its_workspace_due_once_debounce_is_over(
    parts: HomeContainer, time: Time
) -> None:
    first = sweeps(parts).run(lambda _context: RulesEngine()).sweep.order[0]
    time.now += HOUR_MS
    store = parts.store(workspace(parts, first), actor="agent")
    root = store.resolve("/memories/workspace/new.md")[1]
    parts.usage.record_write(f"{root.usage_prefix}new.md")
    assert reasons(sweeps(parts).plan())[first] == "debounced"
    time.now += 5 * HOUR_MS
    assert sweeps(parts).plan().order == (first,)


def test_an_old_sidecar_without_projects_is_swept_for_its_project_writes(tmp_path: Path) -> None:
    legacy = sample_parts("mux-home-legacy", tmp_path)
    plan = sweeps(legacy).plan()
    assert {*plan.order, *reasons(plan)} == {item for item, _ in legacy.home.recencies()}


def test_a_home_without_activity_sweeps_nothing(tmp_path: Path, parts: HomeContainer) -> None:
    home = make_foreign_home(tmp_path / "jotter", "/p")
    service = SweepService(replace(parts.dream_dependencies, home=home), parts.dreams)
    assert service.plan() == Sweep((), ())


def test_a_sweep_that_breaks_the_workspace_debounce_is_not_refused_by_it(
    parts: HomeContainer, time: Time
) -> None:
    parts.dreams.run(DreamRequest(workspace(parts, ACME)), RulesEngine())
    sidecar = parts.home.root / "memory-consolidation.json"
    covered = json.loads(sidecar.read_bytes())
    covered["projects"].pop("/home/dev/projects/acme-api")
    sidecar.write_text(json.dumps(covered))
    time.now += 2 * HOUR_MS
    assert sweeps(parts).plan().order[:1] == (ACME,)
    result = sweeps(parts).run(lambda _context: RulesEngine())
    assert (result.runs[0].workspace_id, result.runs[0].result.outcome != "skipped") == (ACME, True)
