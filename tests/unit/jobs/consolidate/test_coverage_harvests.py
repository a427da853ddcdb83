"""Harvest records: attempts, stale ones, pruning, and what a foreign sidecar may hold (formats/mux.md section
9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time
from reverie.agents.transcripts import Boundary
from reverie.jobs.consolidate.coverage import (
    CoverageLog,
    HarvestLog,
    completed,
    failed,
    is_harvest,
    pending,
    refusal,
)

MINUTE = 60_000
BOUNDARY = Boundary("summary-1", 18, 2, 7, "user-1")


def record(status: str = "failed", *, attempts: int = 1, started: int = NOW, **more: Any) -> dict[str, Any]:
    return {
        **pending("w", BOUNDARY, None, now=started),
        "status": status,
        "attemptCount": attempts,
        **more,
    }


@pytest.fixture
def log(tmp_path: Path) -> HarvestLog:
    time = Time()
    return HarvestLog(CoverageLog(tmp_path / "coverage.json", lock_dir=tmp_path / "locks", clock=time), time)


def saved(tmp_path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((tmp_path / "coverage.json").read_bytes())
    return found


def test_what_is_written_is_what_the_agents_loader_accepts() -> None:
    started = pending("w", BOUNDARY, None, now=NOW)
    assert started["completionMetadata"] == {
        "workspaceId": "w",
        "summaryMessageId": "summary-1",
        "summaryHistorySequence": 18,
        "compactionEpoch": 2,
        "previousBoundaryHistorySequence": 7,
        "compactionRequestMessageId": "user-1",
    }
    # Without the request's message the agent refuses the metadata, and the record with it.
    bare = pending("w", Boundary("s", 1, 1), None, now=NOW)
    assert "completionMetadata" not in bare
    assert is_harvest(bare)
    partial = {**started["completionMetadata"]}
    del partial["compactionRequestMessageId"]
    assert not is_harvest({**started, "completionMetadata": partial})
    assert not is_harvest({**started, "completionMetadata": {**partial, "compactionRequestMessageId": 7}})
    usage = {"inputTokens": 3, "outputTokens": 4}
    done = completed(started, now=NOW, accepted=2, skipped=1, usage=usage)
    assert (done["acceptedCandidates"], done["skippedCandidates"], done["usage"]) == (2, 1, usage)
    assert "usage" not in completed(started, now=NOW, accepted=0, skipped=0, usage=None)
    for made in (started, done, failed(started, now=NOW, error="x")):
        assert is_harvest(made)


def test_an_error_is_redacted_and_cut() -> None:
    key = "sk-" + "a1B2" * 10
    made = failed(record(), now=NOW, error=f"refused {key} " + "x" * 1000)
    assert key not in made["error"]
    assert len(made["error"]) <= 500


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (None, None),
        (record("completed"), "harvested"),
        (record("completed", attempts=9), "harvested"),
        (record("pending", started=NOW - 5 * MINUTE), "in-flight"),
        (record("pending", started=NOW - 5 * MINUTE - 1), None),
        (record("pending", started=NOW - 6 * MINUTE, attempts=3), "attempts-used-up"),
        (record("pending", attempts=3), "in-flight"),
        (record("failed"), None),
        (record("failed", attempts=2), None),
        (record("failed", attempts=3), "attempts-used-up"),
        (record("failed", attempts=4), "attempts-used-up"),
    ],
)
def test_who_may_be_harvested(found: dict[str, Any] | None, expected: str | None) -> None:
    assert refusal(found, now=NOW) == expected


def test_another_attempt_counts_up_and_forgets_the_last_error(log: HarvestLog, tmp_path: Path) -> None:
    log.save("w", failed({**record(), "future": 1}, now=NOW, error="bad"))
    again = pending("w", BOUNDARY, log.record("w", "summary-1"), now=NOW)
    log.save("w", again)
    assert saved(tmp_path)["harvestsByWorkspace"]["w"]["summary-1"] == {
        "future": 1,
        **again,
        "attemptCount": 2,
    }


def test_the_newest_twenty_are_kept(log: HarvestLog, tmp_path: Path) -> None:
    for number in range(25):
        made = pending("w", Boundary(f"s{number}", number, number + 1), None, now=NOW + number)
        log.save("w", completed(made, now=NOW + number, accepted=0, skipped=0, usage=None))
    assert list(saved(tmp_path)["harvestsByWorkspace"]["w"]) == [f"s{number}" for number in range(5, 25)]


def test_saving_leaves_everything_else_as_it_was(log: HarvestLog, tmp_path: Path) -> None:
    good = {"lastRunAt": 1, "trigger": "manual", "summary": "", "ops": [], "mine": 1}
    before = {
        "workspaces": {"w": good},
        "projects": {"/p": good},
        "harvestsByWorkspace": {"v": {"odd": 3}, "u": 4},
        "future": True,
    }
    (tmp_path / "coverage.json").write_text(json.dumps(before))
    log.save("w", record())
    after = saved(tmp_path)
    assert {**after, "harvestsByWorkspace": {}} == {**before, "harvestsByWorkspace": {}}
    assert after["harvestsByWorkspace"]["v"] == {"odd": 3}
    assert after["harvestsByWorkspace"]["u"] == 4


def test_a_bucket_that_is_no_object_is_replaced(log: HarvestLog, tmp_path: Path) -> None:
    (tmp_path / "coverage.json").write_text('{"harvestsByWorkspace": []}')
    log.save("w", record())
    assert set(saved(tmp_path)) == {"workspaces", "projects", "harvestsByWorkspace"}


def test_a_record_the_agent_would_refuse_is_never_written(log: HarvestLog, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="refuse"):
        log.save("w", {**record(), "status": "odd"})
    assert not (tmp_path / "coverage.json").exists()


def test_a_record_is_not_saved_over_that_of_a_harvest_that_came_first(log: HarvestLog) -> None:
    ours = record()
    assert log.save("w", ours, after=None)
    theirs = {**ours, "attemptCount": 2}
    log.save("w", theirs)
    assert not log.save("w", failed(ours, now=NOW, error="late"), after=ours)
    assert log.record("w", ours["boundaryKey"]) == theirs
    assert log.save("w", failed(theirs, now=NOW, error="bad"), after=theirs)


def test_what_is_due_again_is_listed_oldest_first(log: HarvestLog) -> None:
    for number, made in enumerate(
        (
            record("failed", started=NOW - 2),
            record("completed"),
            record("pending"),
            record("pending", started=NOW - 6 * MINUTE),
            record("failed", attempts=3),
        )
    ):
        log.save(f"w{number}", made)
    assert log.due() == (("w3", "summary-1"), ("w0", "summary-1"))


def test_what_is_pending_for_good_is_written_down_as_failed(log: HarvestLog) -> None:
    stale = record("pending", attempts=3, started=NOW - 6 * MINUTE)
    log.save("w", stale)
    log.give_up("w", stale)
    found = log.record("w", "summary-1")
    assert found is not None
    assert found["status"] == "failed"
    assert "stale pending" in found["error"]


def test_the_recorded_error_of_what_is_pending_for_good_is_kept(log: HarvestLog) -> None:
    stale = {**record("pending", attempts=3, started=NOW - 6 * MINUTE), "error": "The model is gone."}
    log.save("w", stale)
    log.give_up("w", stale)
    found = log.record("w", "summary-1")
    assert found is not None
    assert (found["status"], found["error"]) == ("failed", "The model is gone.")


def test_what_may_still_come_to_its_end_is_not_given_up(log: HarvestLog) -> None:
    fresh = record("pending", attempts=3)
    log.save("w", fresh)
    log.give_up("w", fresh)
    found = log.record("w", "summary-1")
    assert found is not None
    assert found["status"] == "pending"
