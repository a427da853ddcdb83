"""Extractions that are killed in the middle, two at once, and over a long rollout. The full counts are a part
of the campaign."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.codex_home import talk, thread_id, trace_text
from helpers.extraction import CWD, NOW, OTHER, age, extract, ids, memory_of, parts_of, small_home, traces_of
from helpers.extraction_kills import extractions, run_kills
from helpers.long_rollouts import write_long
from reverie.agents.codex.locations import bucket_of
from reverie.errors import Busy
from reverie.files.lease import Leases
from reverie.jobs.extraction.service import LEASE_S, directory_lease_name, rollout_lease_name
from reverie.jobs.extraction.stage_two import RulesMerge, Staging
from reverie.jobs.extraction.state import ExtractState


def test_what_a_killed_extraction_left_is_completed_by_the_next(tmp_path: Path) -> None:
    tally = run_kills(tmp_path, 3, seed=20_261_121)
    assert tally.problems == []
    assert tally.kills >= 1


def test_of_two_processes_each_rollout_is_extracted_by_one(tmp_path: Path) -> None:
    maker = small_home(tmp_path / "codex", range(1, 5))
    for number in range(5, 9):
        age(maker.rollout(number, talk(number, OTHER, f"Fix the docs, part {number}")), number)
    job = {"home": str(maker.root), "profile": str(tmp_path / "profile")}
    with extractions() as run:
        told = run([job, job])
    assert None not in told
    done = Counter(
        end["threadId"] for one in told for end in one["rollouts"] if end["outcome"] == "completed"
    )
    assert done == Counter(ids(*range(1, 9)))
    assert all(end["outcome"] in ("completed", "unchanged") for one in told for end in one["directories"])
    assert traces_of(maker.root) == ids(*range(1, 5))
    assert traces_of(maker.root, OTHER) == ids(*range(5, 9))
    parts = parts_of(maker.root, tmp_path / "profile")
    for cwd in (CWD, OTHER):
        handbook = (memory_of(maker.root, cwd) / "MEMORY.md").read_text()
        assert handbook.count("(`trace_summaries/") == 4, "it knows every trace"
    assert not extract(maker.root, tmp_path / "profile").candidates
    assert len({record.id for record in parts.runs.all()}) == len(parts.runs.all())


def test_a_directory_is_consolidated_once_where_no_trace_came_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, profile = small_home(tmp_path / "codex", [1, 2]).root, tmp_path / "profile"
    extract(home, profile)
    parts = parts_of(home, profile)
    state = ExtractState(parts.profile.own_sidecars(parts.home_id) / "extract.sqlite")
    handbook = memory_of(home) / "MEMORY.md"

    def counted_again() -> None:
        """As where the other process keeps a row for a trace that the consolidation has already read."""
        row = state.rows()[thread_id(1)]
        assert state.put(row, after=row.run_id)

    def consolidations() -> int:
        return [record.details.get("stage") for record in parts.runs.all()].count(2)

    asked: list[str] = []
    consolidate = RulesMerge.consolidate

    async def watched(self: RulesMerge, staging: Staging, *rest: Any) -> str:
        asked.append(staging.cwd)
        return await consolidate(self, staging, *rest)

    monkeypatch.setattr(RulesMerge, "consolidate", watched)
    counted_again()
    assert extract(home, profile).directories == ()
    assert (asked, consolidations()) == ([], 1)
    assert not state.directories()[bucket_of(CWD)].waiting
    counted_again()
    handbook.unlink()
    assert len(extract(home, profile).directories) == 1, "without its handbook it is consolidated again"
    assert (asked, handbook.exists()) == ([CWD], True)
    counted_again()
    next((memory_of(home) / "trace_summaries").iterdir()).write_text(trace_text(thread_id(1), CWD, "# New"))
    assert len(extract(home, profile).directories) == 1
    assert asked == [CWD, CWD]


def test_a_trace_that_was_taken_back_meanwhile_gets_into_no_handbook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker, profile = small_home(tmp_path / "codex", [1]), tmp_path / "profile"
    extract(maker.root, profile)
    handbook = memory_of(maker.root) / "MEMORY.md"
    before = handbook.read_bytes()
    age(maker.rollout(2, talk(2, CWD, "Fix the tests")), 2)
    consolidate = RulesMerge.consolidate

    async def taken_back(self: RulesMerge, staging: Staging, *rest: Any) -> str:
        told = await consolidate(self, staging, *rest)
        parts = parts_of(maker.root, profile)
        parts.reverter.revert(parts.runs.ids()[0])
        return told

    with monkeypatch.context() as patch:
        patch.setattr(RulesMerge, "consolidate", taken_back)
        (directory,) = extract(maker.root, profile).directories
    assert directory.outcome == "failed"
    assert handbook.read_bytes() == before
    assert traces_of(maker.root) == ids(1)


def test_a_living_holder_is_respected_and_an_expired_one_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, profile = small_home(tmp_path / "codex", [1, 2]).root, tmp_path / "profile"
    parts = parts_of(home, profile)
    bucket = bucket_of(CWD)
    with parts.leases.acquire(rollout_lease_name(parts.home_id, thread_id(1)), purpose="test"):
        held = parts.leases.acquire(
            directory_lease_name(parts.home_id, bucket), purpose="test", ttl_s=LEASE_S
        )
        with held:
            first = extract(home, profile)
            assert [end.id for end in first.rollouts] == ids(2)
            assert [(each.thread.id, each.reason) for each in first.skipped] == [(thread_id(1), "lease-held")]
            assert first.directories == ()
            assert not (memory_of(home) / "MEMORY.md").exists()
            assert "extract.lease-held" in {entry.event for entry in parts.activity.read()}
    assert extract(home, profile).succeeded
    assert (memory_of(home) / "MEMORY.md").exists()

    rollout = next((home / "sessions").rglob(f"*{thread_id(1)}.jsonl"))
    age(rollout, 500)
    monkeypatch.setattr(Leases, "_extend", lambda *_arguments: True)  # its heart does not beat
    late = parts.leases.acquire(rollout_lease_name(parts.home_id, thread_id(1)), purpose="stuck", ttl_s=0.001)
    assert [end.id for end in extract(home, profile).rollouts] == ids(1)
    monkeypatch.undo()
    with pytest.raises((Busy, AssertionError)):
        assert late.renew()
    late.release()


def test_a_lock_of_the_agent_itself_makes_reverie_stand_down(tmp_path: Path) -> None:
    from helpers.codex_home import LOCKS_TABLE

    maker = small_home(tmp_path / "codex", [1])
    lock = f"INSERT INTO memory_consolidation_locks VALUES ('{CWD}', 'x', strftime('%s', 'now'))"
    maker.database("state_5.sqlite", LOCKS_TABLE, lock)
    result = extract(maker.root, tmp_path / "profile")
    assert [end.id for end in result.rollouts] == ids(1)
    assert result.directories == ()
    assert not (memory_of(maker.root) / "MEMORY.md").exists()


@pytest.mark.parametrize("above", [0, 1, 2])
def test_a_link_in_place_of_a_memory_is_left_alone(tmp_path: Path, above: int) -> None:
    home = small_home(tmp_path / "codex", [1]).root
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (home / "memories").rmdir()
    link = (memory_of(home), memory_of(home).parent, home / "memories")[above]
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere)
    result = extract(home, tmp_path / "profile")
    assert [end.reason for end in result.rollouts] == ["link"]
    assert list(elsewhere.iterdir()) == []


def test_memory_stays_small_over_a_long_rollout(tmp_path: Path) -> None:
    maker = small_home(tmp_path / "codex", [2])
    extract(maker.root, tmp_path / "profile")  # what is imported late has been by now
    age(write_long(maker.rollout(1, talk(1, CWD)), 4 << 20), 1)
    tracemalloc.start()
    result = extract(maker.root, tmp_path / "profile", NOW)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [end.id for end in result.rollouts] == ids(1)
    assert peak < 4 << 20
