"""Harvests from lease to inbox on real homes (formats/mux.md sections 9 and 11)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time, again, contents, sample_parts, workspace
from helpers.foreign_home import make_foreign_home
from reverie.agents.mux.transcript import MuxTranscript
from reverie.agents.scopes import ScopeContext
from reverie.errors import StoreError
from reverie.jobs.consolidate.coverage import HarvestLog, pending
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.harvest import (
    Chunk,
    Extractor,
    HarvestRequest,
    HarvestService,
    RulesExtractor,
    RunResult,
    follow_up,
)
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.llm.client import Account
from reverie.runs.stops import StopCheck
from reverie.services.container import HomeContainer
from reverie.values import replace

ACME, PIPELINE, GARDEN = "a1f3c9e2b7", "c04d8e91aa", "77b0d2c4e5"
SUMMARY = "summary-1786528627809-k2ekv5pnb"
REMEMBER = "user-1786526102055-k1k3dlg3y"
MINUTE = 60_000


class Scripted:
    """Proposes what it is told to, whatever it reads; `before` runs at each chunk."""

    name = "scripted"

    def __init__(self, *proposed: Any, before: Callable[[], None] = lambda: None) -> None:
        self._proposed = proposed
        self._before = before
        self.chunks: list[Chunk] = []

    def account(self) -> Account:
        return Account()

    async def extract(self, chunk: Chunk, *, limits: StopCheck) -> Sequence[Any]:
        self.chunks.append(chunk)
        self._before()
        limits.check()
        return self._proposed


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def parts(tmp_path: Path, time: Time) -> HomeContainer:
    """The sample, without the harvest that its agent has done already."""
    parts = sample_parts("mux-home", tmp_path, time)
    forget(parts)
    (inbox(parts)).unlink()
    return parts


def forget(parts: HomeContainer) -> None:
    sidecar = parts.home.root / "memory-consolidation.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_bytes()), "harvestsByWorkspace": {}}))


def inbox(parts: HomeContainer) -> Path:
    return parts.home.root / "sessions" / ACME / "memory" / "harvest" / f"{SUMMARY}.md"


def service(parts: HomeContainer) -> HarvestService:
    return HarvestService(parts.dream_dependencies)


def harvest(
    parts: HomeContainer,
    extractor: Extractor | None = None,
    workspace_id: str = ACME,
    key: str | None = None,
    **more: Any,
) -> RunResult:
    request = HarvestRequest(workspace(parts, workspace_id), key)
    return service(parts).run(request, extractor or RulesExtractor(), **more)


def record(parts: HomeContainer) -> dict[str, Any]:
    found = HarvestLog(parts.coverage, parts.clock).record(ACME, SUMMARY)
    assert found is not None
    return dict(found)


def candidate(text: str = "Never retry a 409.", **more: Any) -> dict[str, Any]:
    return {
        "category": "preference",
        "text": text,
        "evidence": [REMEMBER],
        "confidence": 0.9,
        "rationale": "Said so.",
        **more,
    }


def test_what_the_person_said_is_in_the_inbox_with_its_message(parts: HomeContainer) -> None:
    result = harvest(parts)
    assert (result.outcome, result.details.get("inbox")) == (
        "completed",
        f"/memories/workspace/harvest/{SUMMARY}.md",
    )
    text = inbox(parts).read_text()
    assert "Remember that I never want 409 retried automatically, in any client we write." in text
    assert f"Evidence: {REMEMBER}\n" in text
    assert text.startswith(
        "---\ndescription: Harvested memory candidates for compaction 1\n---\n\n# Harvest inbox"
    )
    found = record(parts)
    assert (found["status"], found["attemptCount"], found["acceptedCandidates"]) == ("completed", 1, 1)
    assert found["completionMetadata"]["summaryHistorySequence"] == 18


def test_only_the_compacted_epoch_is_read(parts: HomeContainer) -> None:
    extractor = Scripted()
    harvest(parts, extractor)
    (chunk,) = extractor.chunks
    assert REMEMBER in chunk.ids
    assert SUMMARY not in chunk.ids
    assert "user-1786528447398-k2dcyrxwm" not in chunk.ids  # the request for the compaction
    later = {turn.id for turn in MuxTranscript(parts.home.root / "sessions" / ACME).turns(18)}
    assert not chunk.ids & later


def test_a_harvest_is_a_run_that_is_attributed_and_in_the_history(parts: HomeContainer) -> None:
    result = harvest(parts)
    (run,) = parts.runs.all()
    assert (run.id, run.kind, run.outcome, run.trigger, run.engine) == (
        result.run_id,
        "harvest",
        "completed",
        "compaction",
        "rules",
    )
    assert run.ops == ({"command": "create", "path": result.details.get("inbox"), "applied": True},)
    newest = parts.snapshots.history.commits(limit=1)[0]
    assert (newest.actor, newest.run_id) == ("harvest", result.run_id)
    assert [entry.event for entry in parts.activity.read()] == ["harvest.completed", "harvest.started"]


def test_a_harvest_can_be_reverted(parts: HomeContainer) -> None:
    before = contents(parts.home.root / "sessions")
    result = harvest(parts)
    assert parts.reverter.revert(result.run_id).reverts
    assert contents(parts.home.root / "sessions") == before


def test_the_inbox_counts_as_written_until_the_dream_covers_it(parts: HomeContainer) -> None:
    key = f"workspace:{ACME}:harvest/{SUMMARY}.md"
    before = parts.usage.load()[key].access_count
    harvest(parts)
    usage = parts.usage.load()[key]
    assert (usage.last_write_at, usage.access_count) == (NOW, before), "and as no use"


def test_a_completed_boundary_is_never_harvested_again(parts: HomeContainer) -> None:
    harvest(parts)
    result = harvest(parts)
    assert (result.outcome, result.reason) == ("skipped", "harvested")
    assert len(parts.runs.all()) == 1


def test_the_boundary_the_agent_harvested_itself_is_left_alone(tmp_path: Path) -> None:
    sample = sample_parts("mux-home", tmp_path)
    before = contents(sample.home.root)
    assert harvest(sample).reason == "harvested"
    assert contents(sample.home.root) == before


def test_a_transcript_without_compaction_has_nothing_to_harvest(parts: HomeContainer) -> None:
    for workspace_id in (PIPELINE, GARDEN):
        result = harvest(parts, workspace_id=workspace_id)
        assert (result.outcome, result.reason) == ("skipped", "no-compaction")
    assert harvest(parts, key="summary-0").reason == "no-compaction"
    assert parts.runs.all() == ()


def test_without_a_workspace_there_is_no_transcript(parts: HomeContainer) -> None:
    result = service(parts).run(HarvestRequest(parts.home.context()), RulesExtractor())
    assert (result.outcome, result.reason) == ("skipped", "no-transcript")


def test_an_agent_that_keeps_no_transcripts_has_none_to_harvest(tmp_path: Path, parts: HomeContainer) -> None:
    home = make_foreign_home(tmp_path / "jotter", "/p")
    foreign = HarvestService(replace(parts.dream_dependencies, home=home))
    result = foreign.run(HarvestRequest(ScopeContext("w", "/p")), RulesExtractor())
    assert result.reason == "no-transcript"


def test_nothing_found_means_no_file_and_a_completed_record(parts: HomeContainer) -> None:
    result = harvest(parts, Scripted())
    assert (result.outcome, result.details.get("inbox")) == ("unchanged", None)
    assert not inbox(parts).exists()
    assert record(parts)["status"] == "completed"


def test_nothing_found_and_no_record_saved_is_told_and_no_crash(parts: HomeContainer) -> None:
    sidecar = parts.home.root / "memory-consolidation.json"

    def lost() -> None:
        sidecar.rename(sidecar.with_name("kept.json"))
        sidecar.mkdir()

    result = harvest(parts, Scripted(before=lost))
    assert (result.outcome, result.details.get("inbox")) == ("unchanged", None)
    assert sidecar.name in result.summary


def test_an_old_inbox_is_removed_when_nothing_is_found_any_more(parts: HomeContainer) -> None:
    inbox(parts).parent.mkdir(exist_ok=True)
    inbox(parts).write_text("old")
    result = harvest(parts, Scripted())
    assert result.outcome == "completed"
    assert [op["command"] for op in result.ops] == ["delete"]
    assert not inbox(parts).exists()
    parts.reverter.revert(result.run_id)
    assert inbox(parts).read_text() == "old"


def test_a_pinned_inbox_is_never_removed_but_may_be_rewritten(parts: HomeContainer) -> None:
    inbox(parts).parent.mkdir(exist_ok=True)
    inbox(parts).write_text("old")
    parts.usage.set_pinned(f"workspace:{ACME}:harvest/{SUMMARY}.md", True)
    result = harvest(parts, Scripted())
    assert (result.outcome, [op["applied"] for op in result.ops]) == ("unchanged", [False])
    assert inbox(parts).read_text() == "old"
    forget(parts)
    assert harvest(parts).outcome == "completed"
    assert inbox(parts).read_text() != "old"


def test_candidates_that_fail_the_checks_are_counted_and_left_out(parts: HomeContainer) -> None:
    extractor = Scripted(
        candidate(),
        candidate(confidence=0.5),
        candidate(evidence=["user-1786960980411-k2fsrjhe0"]),
        candidate("The password is hunter2."),
        candidate(" never retry  a 409."),
        "nonsense",
    )
    result = harvest(parts, extractor)
    assert (record(parts)["acceptedCandidates"], record(parts)["skippedCandidates"]) == (1, 5)
    assert "5 left out" in result.summary
    assert inbox(parts).read_text().count("## ") == 1
    assert "hunter2" not in inbox(parts).read_text()


def fail() -> None:
    raise StoreError("The model does not respond.", next_step="Try later.")


def test_a_failed_extraction_writes_nothing_and_may_be_tried_again(parts: HomeContainer) -> None:
    before = contents(parts.home.root / "sessions")
    result = harvest(parts, Scripted(candidate(), before=fail))
    assert (result.outcome, result.next_step) == ("failed", "Try later.")
    assert contents(parts.home.root / "sessions") == before
    assert (record(parts)["status"], record(parts)["attemptCount"]) == ("failed", 1)
    assert record(parts)["error"] == "The model does not respond"
    assert harvest(parts).outcome == "completed"
    assert record(parts)["attemptCount"] == 2
    assert "error" not in record(parts)


def test_after_three_attempts_it_is_given_up(parts: HomeContainer) -> None:
    for _attempt in range(3):
        harvest(parts, Scripted(before=fail))
    result = harvest(parts)
    assert (result.outcome, result.reason) == ("skipped", "attempts-used-up")
    assert record(parts)["attemptCount"] == 3


def test_a_failure_in_a_later_chunk_writes_nothing_of_the_earlier_ones(parts: HomeContainer) -> None:
    chat = parts.home.root / "sessions" / ACME / "chat-archive.jsonl"
    rows = [json.loads(line) for line in chat.read_text().splitlines()]
    for row in rows:
        row["parts"] = [{"type": "text", "text": "x" * 7000}]
    chat.write_text("".join(json.dumps(row) + "\n" for row in rows))
    seen: list[int] = []

    def second() -> None:
        seen.append(1)
        if len(seen) > 1:
            fail()

    assert harvest(parts, Scripted(candidate(), before=second)).outcome == "failed"
    assert len(seen) == 2
    assert not inbox(parts).exists()


def test_cancel_ends_it_at_once_with_nothing_written(parts: HomeContainer) -> None:
    cancel = threading.Event()
    result = harvest(parts, Scripted(candidate(), before=cancel.set), cancel=cancel)
    assert (result.outcome, record(parts)["status"]) == ("cancelled", "failed")
    assert not inbox(parts).exists()


def test_a_bug_is_recorded_and_raised(parts: HomeContainer) -> None:
    def bug() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        harvest(parts, Scripted(before=bug))
    (run,) = parts.runs.all()
    assert (run.outcome, run.reason) == ("failed", "bug")
    assert record(parts)["status"] == "failed"
    assert parts.leases.holder(dream_lease_name(parts.home_id)) is None


def test_a_harvest_waits_for_nobody(parts: HomeContainer) -> None:
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="a dream"):
        result = harvest(parts)
    assert (result.outcome, result.reason) == ("skipped", "busy")


def test_it_is_pending_before_it_starts_and_nobody_else_starts_it(parts: HomeContainer) -> None:
    seen: list[str] = []
    harvest(parts, Scripted(before=lambda: seen.append(record(parts)["status"])))
    assert seen == ["pending"]


def test_one_that_was_killed_is_taken_over_once_it_is_stale(parts: HomeContainer, time: Time) -> None:
    class Killed(BaseException):
        pass

    def kill() -> None:
        raise Killed

    sidecar = parts.home.root / "memory-consolidation.json"
    seen: list[bytes] = []
    with pytest.raises(Killed):
        harvest(parts, Scripted(before=lambda: (seen.append(sidecar.read_bytes()), kill())[0]))
    sidecar.write_bytes(seen[0])
    assert harvest(parts).reason == "in-flight"
    time.now += 5 * MINUTE + 1
    assert harvest(again(parts, time)).outcome == "completed"
    assert record(parts)["attemptCount"] == 2


def test_one_that_is_stale_for_good_is_written_down_as_failed(parts: HomeContainer, time: Time) -> None:
    log = HarvestLog(parts.coverage, parts.clock)
    harvest(parts, Scripted(before=fail))
    log.save(ACME, {**record(parts), "status": "pending", "attemptCount": 3})
    time.now += 5 * MINUTE + 1
    assert harvest(parts).reason == "attempts-used-up"
    assert record(parts)["status"] == "failed"
    assert record(parts)["error"] == "The model does not respond"


def test_an_inbox_that_somebody_writes_meanwhile_is_not_overwritten(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.runs.transaction import Transaction

    prepare = Transaction.prepare

    def meddling(self: Transaction, *args: Any, **named: Any) -> Any:
        journal = prepare(self, *args, **named)
        inbox(parts).parent.mkdir(exist_ok=True)
        inbox(parts).write_text("mine")
        return journal

    monkeypatch.setattr(Transaction, "prepare", meddling)
    assert harvest(parts).outcome == "failed"
    assert inbox(parts).read_text() == "mine"
    assert record(parts)["status"] == "failed"


def test_the_transcript_is_never_touched(parts: HomeContainer) -> None:
    session = parts.home.root / "sessions" / ACME
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in session.glob("*.jsonl")}
    harvest(parts)
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in session.glob("*.jsonl")} == before


def test_a_vanished_home_is_unavailable(parts: HomeContainer, tmp_path: Path) -> None:
    context = workspace(parts, ACME)
    parts.home.root.rename(tmp_path / "away")
    result = service(parts).run(HarvestRequest(context), RulesExtractor())
    assert result.outcome == "skipped"
    assert not parts.home.root.exists()


def test_the_dream_after_it_takes_the_inbox_up_without_waiting(parts: HomeContainer) -> None:
    parts.dreams.run(DreamRequest(workspace(parts, ACME)), RulesEngine())
    harvest(parts)
    request = follow_up(parts.home, workspace(parts, ACME), "rules")
    assert (request.trigger, request.debounce) == ("compaction", False)
    assert parts.dreams.run(request, RulesEngine()).succeeded


def test_a_workspace_archived_meanwhile_gets_its_final_pass(parts: HomeContainer) -> None:
    config = parts.home.root / "config.json"
    archived = f'"archivedAt": "2026-09-01T00:00:00.000Z", "id": "{ACME}"'
    config.write_text(config.read_text().replace(f'"id": "{ACME}"', archived))
    assert follow_up(parts.home, workspace(parts, ACME), "rules").trigger == "archive"


def test_cancelling_the_task_ends_the_harvest_and_frees_the_lease(parts: HomeContainer) -> None:
    class Waiting(Scripted):
        async def extract(self, chunk: Chunk, *, limits: StopCheck) -> Sequence[Any]:
            task = asyncio.current_task()
            assert task is not None
            assert parts.runs.all()
            task.cancel()
            await asyncio.Event().wait()
            return ()

    with pytest.raises(asyncio.CancelledError):
        service(parts).run(HarvestRequest(workspace(parts, ACME)), Waiting())
    assert parts.runs.all()[0].outcome == "cancelled"
    assert parts.leases.holder(dream_lease_name(parts.home_id)) is None


def test_a_limit_is_told_as_such(parts: HomeContainer) -> None:
    hasty = HarvestService(replace(parts.dream_dependencies, time_limit_s=0.0))
    result = hasty.run(HarvestRequest(workspace(parts, ACME)), Scripted(candidate()))
    assert (result.outcome, result.reason) == ("failed", "timeout")
    assert "time limit" in result.summary


def test_one_that_died_after_its_inbox_was_in_place_is_finished_by_recovery_and_done_once(
    parts: HomeContainer, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead(BaseException):
        pass

    def die(*_given: object, **_named: object) -> None:
        raise Dead

    with monkeypatch.context() as dying:
        dying.setattr(HarvestLog, "save", lambda *_given, **_named: True)
        dying.setattr(parts.runs, "finish", die)
        with pytest.raises(Dead):
            harvest(parts)
    log = HarvestLog(parts.coverage, parts.clock)
    boundary = MuxTranscript(parts.home.root / "sessions" / ACME).boundaries()[-1]
    log.save(ACME, pending(ACME, boundary, None, now=NOW))
    time.now += 5 * MINUTE + 1
    reopened = again(parts, time)
    assert harvest(reopened).outcome == "unchanged"
    newest, dead = reopened.runs.all()
    assert (dead.outcome, [op["command"] for op in dead.ops]) == ("completed", ["create"])
    assert "note" not in dead.ops[0]
    assert (newest.outcome, record(reopened)["status"]) == ("unchanged", "completed")
    assert reopened.reverter.revert(dead.id).reverts
    assert not inbox(reopened).exists()
