"""The coverage sidecar: tolerant reading, strict writing, nothing inferred (formats/mux.md section 9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import with_op
from helpers.samples import copy_sample
from reverie.agents.scopes import ProjectGap, ScopeContext
from reverie.jobs.consolidate.coverage import (
    CoverageLog,
    is_record,
    pruned_harvests,
    read_coverage,
    status_of,
)

NOW = 1_787_300_000_000
ACME = ScopeContext("a1f3c9e2b7", "/home/dev/projects/acme-api")


def a_record(at: int = 1, **more: Any) -> dict[str, Any]:
    return {"lastRunAt": at, "trigger": "manual", "summary": "s", "ops": [], **more}


def a_harvest(**more: Any) -> dict[str, Any]:
    base = {
        "status": "completed",
        "startedAt": 1,
        "attemptCount": 1,
        "boundaryKey": "b",
        "compactionEpoch": 1,
    }
    return {**base, "acceptedCandidates": 0, "skippedCandidates": 0, **more}


@pytest.fixture
def sidecar(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path) / "memory-consolidation.json"


def log(path: Path) -> CoverageLog:
    return CoverageLog(path, lock_dir=path.parent.parent / "locks", clock=lambda: NOW)


def test_status_of_the_sample_home_is_what_its_sidecar_says(sidecar: Path) -> None:
    status = status_of(log(sidecar).load(), ACME, now=NOW)
    assert status.workspace_record is not None
    assert status.workspace_record["lastRunAt"] == 1_786_528_649_809
    assert status.project_record == status.workspace_record
    assert status.global_record is not None
    assert status.global_record["lastRunAt"] == 1_787_126_415_000
    assert status.latest_harvest is not None
    assert status.latest_harvest["acceptedCandidates"] == 2
    assert status.project_available


def test_a_home_that_is_gone_by_then_makes_no_failure_of_a_run_that_is_over(tmp_path: Path) -> None:
    path = tmp_path / "home" / "coverage.json"
    path.parent.mkdir()
    coverage = log(path)
    coverage.save(a_record(5), workspace_id="w", project_path="/p")
    path.parent.rename(tmp_path / "away")
    coverage.look_again(lambda _seconds: None)
    assert not path.parent.exists()


def test_a_record_that_the_agent_overwrote_in_the_same_instant_is_saved_again(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps({"workspaces": {"old": a_record(1)}, "projects": {}}))
    coverage, before, waits = log(path), path.read_bytes(), list[float]()
    coverage.save(a_record(5), workspace_id="w", project_path="/p")
    path.write_bytes(before)
    coverage.look_again(waits.append)
    assert 0 < sum(waits) <= 1
    found = coverage.load()
    assert (found.workspaces["w"], found.projects["/p"]) == (a_record(5), a_record(5))
    assert "old" in found.workspaces
    coverage.save(a_record(6), workspace_id="w", project_path="/p")
    newer = {"workspaces": {"w": a_record(7)}, "projects": {"/p": a_record(7)}}
    path.write_text(json.dumps(newer))
    coverage.look_again(lambda _seconds: None)
    assert json.loads(path.read_bytes()) == newer
    path.write_bytes(before)
    coverage.look_again(lambda _seconds: None)
    assert path.read_bytes() == before


def test_the_status_goes_by_the_project_that_consolidations_are_recorded_for(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps({"projects": {"_scratch": a_record(3), "/scratch/w": a_record(9)}}))
    chat = ScopeContext("w", "/scratch/w", dreams_as="_scratch")
    assert status_of(log(path).load(), chat, now=10).project_record == a_record(3)
    none = status_of(log(path).load(), ScopeContext("w", "/scratch/w", dreams_as=""), now=10)
    assert (none.project_record, none.project_available) == (None, False)
    assert chat.for_dreams() == chat
    assert ScopeContext("w", "/p", dreams_as="").for_dreams() == ScopeContext(
        "w", None, ProjectGap.MULTI_PROJECT
    )


def test_project_coverage_is_never_inferred_from_workspaces(tmp_path: Path) -> None:
    sidecar = copy_sample("mux-home-legacy", tmp_path) / "memory-consolidation.json"
    status = status_of(
        log(sidecar).load(), ScopeContext("2b3c4d5e6f", "/home/dev/projects/bookstall"), now=NOW
    )
    assert status.workspace_record is not None
    assert status.project_record is None
    assert status.latest_harvest is None
    assert status.project_available


def test_without_a_single_project_there_is_no_project_record(sidecar: Path) -> None:
    context = ScopeContext("e8f1a2b3c4", None, ProjectGap.MULTI_PROJECT)
    status = status_of(log(sidecar).load(), context, now=NOW)
    assert status.project_record is None
    assert not status.project_available


def test_a_missing_sidecar_is_never_everywhere(tmp_path: Path) -> None:
    status = status_of(log(tmp_path / "h/none.json").load(), ACME, now=NOW)
    assert (status.workspace_record, status.project_record, status.global_record) == (None, None, None)
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize(
    "bad",
    [
        5,
        None,
        {},
        a_record(lastRunAt="1"),
        a_record(lastRunAt=True),
        a_record(trigger="nightly"),
        a_record(ops={}),
        a_record(ops=[with_op("view", "/memories/global/a.md")]),
        a_record(ops=[{"command": "insert", "path": "/x", "applied": 1}]),
        a_record(ops=[with_op("insert", "/x", note=None)]),
        a_record(usage=None),
        a_record(usage={"inputTokens": 1}),
    ],
)
def test_one_bad_record_hides_no_other_and_is_named(bad: Any) -> None:
    coverage = read_coverage({"workspaces": {"good": a_record(), "bad": bad}, "projects": {"/p": a_record()}})
    assert set(coverage.workspaces) == {"good"}
    assert set(coverage.projects) == {"/p"}
    assert any("bad" in problem for problem in coverage.problems)


@pytest.mark.parametrize(
    "raw", [{"workspaces": []}, {"workspaces": "x", "projects": 3}, {"harvestsByWorkspace": []}]
)
def test_buckets_of_the_wrong_type_are_empty(raw: dict[str, Any]) -> None:
    coverage = read_coverage(raw)
    assert (dict(coverage.workspaces), dict(coverage.projects), dict(coverage.harvests)) == ({}, {}, {})


def test_saving_writes_workspace_and_project_in_one_file_and_keeps_unknown_fields(sidecar: Path) -> None:
    raw = json.loads(sidecar.read_text())
    raw["future"] = {"x": 1}
    raw["workspaces"]["c04d8e91aa"]["extra"] = "kept"
    sidecar.write_text(json.dumps(raw))
    record = a_record(NOW, ops=[with_op("delete", "/memories/global/a.md")])
    log(sidecar).save(record, workspace_id="a1f3c9e2b7", project_path="/home/dev/projects/acme-api")
    saved = json.loads(sidecar.read_text())
    assert saved["workspaces"]["a1f3c9e2b7"] == saved["projects"]["/home/dev/projects/acme-api"] == record
    assert saved["workspaces"]["c04d8e91aa"]["extra"] == "kept"
    assert saved["future"] == {"x": 1}
    assert saved["harvestsByWorkspace"] == raw["harvestsByWorkspace"]


def test_without_a_project_no_project_record_is_written(sidecar: Path) -> None:
    before = json.loads(sidecar.read_text())["projects"]
    log(sidecar).save(a_record(NOW), workspace_id="e8f1a2b3c4", project_path=None)
    assert json.loads(sidecar.read_text())["projects"] == before


def test_a_legacy_sidecar_gets_its_projects_bucket_with_the_first_run(tmp_path: Path) -> None:
    sidecar = copy_sample("mux-home-legacy", tmp_path) / "memory-consolidation.json"
    before = json.loads(sidecar.read_text())
    log(sidecar).save(a_record(NOW), workspace_id="2b3c4d5e6f", project_path="/home/dev/projects/bookstall")
    saved = json.loads(sidecar.read_text())
    assert saved["projects"] == {"/home/dev/projects/bookstall": a_record(NOW)}
    assert saved["workspaces"]["90817263f4"] == before["workspaces"]["90817263f4"]


def test_a_record_the_agent_would_choke_on_is_moved_beside_and_lost_nowhere(sidecar: Path) -> None:
    raw = json.loads(sidecar.read_text())
    raw["workspaces"]["odd"] = {"lastRunAt": "yesterday"}
    raw["projects"] = ["not", "an", "object"]
    sidecar.write_text(json.dumps(raw))
    for _run in range(2):
        log(sidecar).save(a_record(NOW), workspace_id="a1f3c9e2b7", project_path="/p")
    saved = json.loads(sidecar.read_text())
    rejected = json.loads((sidecar.parent / "memory-consolidation.json.rejected.json").read_text())
    assert all(is_record(record) for record in saved["workspaces"].values())
    assert set(saved["projects"]) == {"/p"}
    assert rejected == {
        "workspaces": [{"odd": {"lastRunAt": "yesterday"}}],
        "projects": [["not", "an", "object"]],
    }


def test_an_unreadable_sidecar_is_a_problem_when_read_and_set_aside_when_written(sidecar: Path) -> None:
    sidecar.write_text("{broken")
    assert log(sidecar).load().problems
    log(sidecar).save(a_record(NOW), workspace_id="w", project_path=None)
    assert json.loads(sidecar.read_text())["workspaces"] == {"w": a_record(NOW)}
    aside = [path for path in sidecar.parent.iterdir() if ".unreadable-" in path.name]
    assert [path.read_text() for path in aside] == ["{broken"]


def test_a_record_the_agent_would_refuse_is_never_written(sidecar: Path) -> None:
    before = sidecar.read_bytes()
    with pytest.raises(ValueError, match="refuse"):
        log(sidecar).save(a_record(NOW, trigger="nightly"), workspace_id="w", project_path=None)
    assert sidecar.read_bytes() == before


def test_a_saved_record_is_the_commit_point_it_is_recognised_by(sidecar: Path) -> None:
    record = a_record(NOW)
    coverage = log(sidecar)
    assert not coverage.holds(record, workspace_id="w", project_path=None)
    coverage.save(record, workspace_id="w", project_path=None)
    assert coverage.holds(record, workspace_id="w", project_path=None)
    assert not coverage.holds(a_record(NOW + 1), workspace_id="w", project_path=None)


def test_the_newest_harvest_is_by_completion_else_by_start() -> None:
    harvests = {
        "a": a_harvest(startedAt=10, completedAt=20),
        "b": a_harvest(status="pending", startedAt=30),
        "c": a_harvest(startedAt=25, completedAt=26),
    }
    coverage = read_coverage({"harvestsByWorkspace": {"a1f3c9e2b7": {**harvests, "bad": {"status": "?"}}}})
    status = status_of(coverage, ACME, now=40)
    assert status.latest_harvest == harvests["b"]
    assert len(coverage.problems) == 1


@pytest.mark.parametrize(
    ("attempts", "age_ms", "expected"),
    [(3, 300_001, "failed"), (3, 300_000, "pending"), (2, 900_000, "pending")],
)
def test_a_stale_pending_harvest_without_attempts_left_is_a_failure(
    attempts: int, age_ms: int, expected: str
) -> None:
    harvest = a_harvest(status="pending", startedAt=NOW - age_ms, attemptCount=attempts)
    coverage = read_coverage({"harvestsByWorkspace": {"a1f3c9e2b7": {"b": harvest}}})
    latest = status_of(coverage, ACME, now=NOW).latest_harvest
    assert latest is not None
    assert latest["status"] == expected


def test_the_twenty_newest_harvests_are_kept_and_what_cannot_be_read_is_too() -> None:
    bucket: dict[str, Any] = {f"h{number}": a_harvest(startedAt=number) for number in range(25)}
    bucket["odd"] = {"status": "?"}
    kept = pruned_harvests(bucket)
    assert set(kept) == {"odd", *(f"h{number}" for number in range(5, 25))}
