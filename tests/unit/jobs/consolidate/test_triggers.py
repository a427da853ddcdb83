"""What runs by itself, and each gate that stops it (formats/mux.md sections 9 to 11, design.md section 4)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time, contents, sample_parts
from reverie.clock import DAY_MS, HOUR_MS
from reverie.errors import Busy, StoreError
from reverie.files.sidecar import Sidecar
from reverie.jobs.consolidate.coverage import HarvestLog
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.harvest import RulesExtractor
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.jobs.consolidate.triggers import TriggerDependencies, Triggers
from reverie.runs.guard import Guard
from reverie.runs.record import Progress, RunRecord
from reverie.runs.stops import StopCheck
from reverie.services.container import HomeContainer
from reverie.settings import BackgroundSettings
from reverie.values import replace

ACME, PIPELINE = "a1f3c9e2b7", "c04d8e91aa"
SUMMARY = "summary-1786528627809-k2ekv5pnb"
OPEN = BackgroundSettings(enabled=True, runs_per_day=20, tokens_per_day=1_000_000)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def parts(tmp_path: Path, time: Time) -> HomeContainer:
    """The sample with a compaction that nobody has harvested yet."""
    parts = sample_parts("mux-home", tmp_path, time)
    sidecar = parts.home.root / "memory-consolidation.json"
    sidecar.write_text(json.dumps({**json.loads(sidecar.read_bytes()), "harvestsByWorkspace": {}}))
    return parts


def dependencies(parts: HomeContainer, budget: BackgroundSettings = OPEN, **more: Any) -> TriggerDependencies:
    cancel = threading.Event()
    found = TriggerDependencies(
        run=parts.dream_dependencies,
        dreams=parts.dreams,
        harvests=parts.harvests,
        sweeps=parts.sweeps,
        seen=Sidecar(
            parts.own_sidecars / "seen-coverage.json", lock_dir=parts.profile.locks, clock=parts.clock
        ),
        budget=lambda: budget,
        engine_for=lambda _context, _trigger: RulesEngine(),
        extractor_for=lambda _context: RulesExtractor(),
        cancel=cancel,
        wait=lambda _seconds: False,
    )
    return replace(found, **more)


def triggers(parts: HomeContainer, budget: BackgroundSettings = OPEN, **more: Any) -> Triggers:
    return Triggers(dependencies(parts, budget, **more))


def said(parts: HomeContainer) -> list[tuple[str, int]]:
    return [
        (entry.event, entry.times) for entry in parts.activity.read() if entry.event.startswith("trigger")
    ]


def kinds(parts: HomeContainer) -> list[tuple[str, str]]:
    return [(run.kind, run.trigger) for run in reversed(parts.runs.all())]


def archive(parts: HomeContainer, workspace_id: str) -> None:
    config = parts.home.root / "config.json"
    data = json.loads(config.read_bytes())
    for _path, project in data["projects"]:
        for item in project["workspaces"]:
            if item.get("id") == workspace_id:
                item["archivedAt"] = "2026-09-01T00:00:00.000Z"
    config.write_text(json.dumps(data))


def covered_by_the_agent(parts: HomeContainer, workspace_id: str, at: int, trigger: str = "launch") -> None:
    sidecar = parts.home.root / "memory-consolidation.json"
    data = json.loads(sidecar.read_bytes())
    data["workspaces"][workspace_id] = {"lastRunAt": at, "trigger": trigger, "summary": "theirs", "ops": []}
    sidecar.write_text(json.dumps(data))


def test_nothing_runs_until_it_is_switched_on_and_that_is_said_once(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    off = triggers(parts, BackgroundSettings())
    for result in (off.on_launch(), off.on_compaction(ACME), off.on_archived(PIPELINE)):
        assert result.gate == "off"
    assert said(parts) == [("trigger.background", 3)]
    assert contents(parts.home.root) == before
    assert parts.runs.all() == ()


def test_a_compaction_is_harvested_and_then_dreamed_about(parts: HomeContainer) -> None:
    result = triggers(parts).on_compaction(ACME)
    assert result.gate is None
    assert kinds(parts) == [("harvest", "compaction"), ("dream", "compaction")]
    assert all(run.succeeded for run in (*result.harvests, *result.dreams))
    assert parts.coverage.load().workspaces[ACME]["trigger"] == "compaction"


def test_the_dream_after_a_harvest_does_not_wait_for_the_debounce(parts: HomeContainer, time: Time) -> None:
    triggers(parts).on_archived(ACME)
    time.now += HOUR_MS
    result = triggers(parts).on_compaction(ACME)
    assert [dream.outcome for dream in result.dreams] != ["skipped"]


def test_a_compaction_harvested_already_is_dreamed_about_all_the_same(parts: HomeContainer) -> None:
    triggers(parts).on_compaction(ACME)
    result = triggers(parts).on_compaction(ACME)
    assert [harvest.reason for harvest in result.harvests] == ["harvested"]
    assert [dream.succeeded for dream in result.dreams] == [True]
    assert result.harvests[0].summary in result.text
    assert result.dreams[0].summary in result.text


def test_a_workspace_without_a_compaction_starts_no_dream(parts: HomeContainer) -> None:
    result = triggers(parts).on_compaction(PIPELINE)
    assert [harvest.reason for harvest in result.harvests] == ["no-compaction"]
    assert result.dreams == ()


def test_a_failed_harvest_starts_a_dream_all_the_same(parts: HomeContainer) -> None:
    class Failing(RulesExtractor):
        async def extract(self, chunk: object, *, limits: StopCheck) -> tuple[()]:
            raise StoreError("No answer.")

    result = triggers(parts, extractor_for=lambda _context: Failing()).on_compaction(ACME)
    assert [harvest.outcome for harvest in result.harvests] == ["failed"]
    assert [dream.succeeded for dream in result.dreams] == [True]
    assert result.text == f"{result.harvests[0].summary} {result.dreams[0].summary}"


def test_a_workspace_archived_during_its_harvest_gets_the_final_pass(parts: HomeContainer) -> None:
    class Archiving(RulesExtractor):
        async def extract(self, chunk: Any, *, limits: StopCheck) -> Any:
            archive(parts, ACME)
            return await super().extract(chunk, limits=limits)

    triggers(parts, extractor_for=lambda _context: Archiving()).on_compaction(ACME)
    assert kinds(parts)[-1] == ("dream", "archive")


def test_an_archived_workspace_gets_its_final_pass_without_debounce(parts: HomeContainer, time: Time) -> None:
    triggers(parts).on_compaction(ACME)
    time.now += 1
    result = triggers(parts).on_archived(ACME)
    assert result.dreams[0].succeeded
    assert parts.coverage.load().workspaces[ACME]["trigger"] == "archive"


def test_an_archive_waits_for_the_run_at_work_and_then_runs(parts: HomeContainer) -> None:
    lease = parts.leases.acquire(dream_lease_name(parts.home_id), purpose="another dream")
    waits: list[float] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 3:
            lease.release()
        return False

    result = triggers(parts, wait=wait).on_archived(PIPELINE)
    # The last wait is for the look after the save.
    assert len(waits) == 4
    assert [dream.outcome for dream in result.dreams] == ["unchanged"] or result.dreams[0].succeeded


def test_a_compaction_waits_too_or_its_epoch_would_never_be_harvested(parts: HomeContainer) -> None:
    lease = parts.leases.acquire(dream_lease_name(parts.home_id), purpose="another dream")

    def wait(_seconds: float) -> bool:
        lease.release()
        return False

    result = triggers(parts, wait=wait).on_compaction(ACME)
    assert [harvest.outcome for harvest in result.harvests] == ["completed"]
    assert result.dreams[0].succeeded


def test_while_it_waits_for_another_run_nothing_is_tried_or_written(parts: HomeContainer) -> None:
    asked: list[str] = []
    seen = parts.own_sidecars / "seen-coverage.json"
    lease = parts.leases.acquire(dream_lease_name(parts.home_id), purpose="another dream")
    waits: list[tuple[int, int, bool]] = []

    def wait(_seconds: float) -> bool:
        waits.append((len(asked), len(parts.activity.read()), seen.exists()))
        if len(waits) == 9:
            lease.release()
        return False

    def engine_for(_context: object, trigger: str) -> RulesEngine:
        asked.append(trigger)
        return RulesEngine()

    result = triggers(parts, wait=wait, engine_for=engine_for).on_archived(PIPELINE)
    assert result.dreams[0].succeeded
    assert set(waits[:9]) == {(1, 1, False)}
    assert len(asked) == 2
    assert [entry.times for entry in parts.activity.read() if entry.event == "dream.skipped"] == [1]


def test_an_agent_at_work_is_asked_less_and_less_often(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_arguments: object, **_more: object) -> None:
        raise Busy("The agent is writing.")

    monkeypatch.setattr("reverie.jobs.consolidate.run.refuse_while_agent_writes", busy)
    waits: list[float] = []
    result = triggers(parts, wait=lambda seconds: waits.append(seconds) or False).on_archived(PIPELINE)
    assert result.dreams[0].outcome == "skipped"
    assert waits[:8] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert len(waits) < 130


def test_an_archive_stops_waiting_when_it_is_told_to(parts: HomeContainer) -> None:
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="another dream"):
        result = triggers(parts, wait=lambda _seconds: True).on_archived(PIPELINE)
    assert result.dreams[0].outcome == "skipped"


def test_the_final_pass_is_not_made_twice(parts: HomeContainer, time: Time) -> None:
    lease = parts.leases.acquire(dream_lease_name(parts.home_id), purpose="another dream")

    def wait(_seconds: float) -> bool:
        covered_by_the_agent(parts, PIPELINE, time.now, "archive")
        lease.release()
        return False

    result = triggers(parts, wait=wait).on_archived(PIPELINE)
    assert result.gate == "done"
    assert parts.runs.all() == ()


def test_the_same_trigger_is_not_started_twice_at_once(parts: HomeContainer) -> None:
    entered, leave = threading.Event(), threading.Event()

    class Waiting(RulesExtractor):
        async def extract(self, chunk: Any, *, limits: StopCheck) -> Any:
            entered.set()
            assert leave.wait(20)
            return await super().extract(chunk, limits=limits)

    both = triggers(parts, extractor_for=lambda _context: Waiting())
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(both.on_compaction, ACME)
        assert entered.wait(20)
        assert both.on_compaction(ACME).gate == "coalesced"
        leave.set()
        assert first.result(20).gate is None
    assert len([run for run in parts.runs.all() if run.kind == "harvest"]) == 1
    assert both.on_compaction(ACME).gate is None


def test_a_launch_sweeps(parts: HomeContainer) -> None:
    planned = parts.sweeps.plan().order
    result = triggers(parts).on_launch()
    assert result.sweep is not None
    assert result.sweep.sweep.order == planned
    assert set(kinds(parts)) == {("dream", "launch")}


def test_a_launch_tries_failed_and_abandoned_harvests_again_first(parts: HomeContainer, time: Time) -> None:
    log = HarvestLog(parts.coverage, parts.clock)
    triggers(parts).on_compaction(ACME)
    record = dict(log.record(ACME, SUMMARY) or {})
    log.save(ACME, {**record, "status": "failed", "attemptCount": 1})
    time.now += 1
    result = triggers(parts).on_launch()
    assert [harvest.details["boundaryKey"] for harvest in result.harvests] == [SUMMARY]
    assert (log.record(ACME, SUMMARY) or {})["status"] == "completed"
    assert (log.record(ACME, SUMMARY) or {})["attemptCount"] == 2


def test_no_more_runs_than_the_day_allows(parts: HomeContainer, time: Time) -> None:
    tight = triggers(parts, OPEN.model_copy(update={"runs_per_day": 2}))
    assert tight.on_compaction(ACME).gate is None  # a harvest and a dream
    assert tight.on_archived(PIPELINE).gate == "runs-used-up"
    assert tight.on_launch().gate == "runs-used-up"
    time.now += DAY_MS
    assert tight.on_archived(PIPELINE).gate is None


def test_a_harvest_that_uses_the_day_up_is_not_followed_by_a_dream(parts: HomeContainer) -> None:
    result = triggers(parts, OPEN.model_copy(update={"runs_per_day": 1})).on_compaction(ACME)
    assert (result.gate, result.dreams) == ("runs-used-up", ())
    assert kinds(parts) == [("harvest", "compaction")]


def test_a_sweep_ends_where_the_day_does(parts: HomeContainer) -> None:
    assert len(parts.sweeps.plan().order) > 1
    result = triggers(parts, OPEN.model_copy(update={"runs_per_day": 1})).on_launch()
    assert result.gate == "runs-used-up"
    assert len(result.dreams) == 1


@pytest.mark.parametrize(("used", "gate"), [(999, None), (1000, "tokens-used-up")])
def test_no_more_tokens_than_the_day_allows(parts: HomeContainer, used: int, gate: str | None) -> None:
    spend(parts, used)
    assert (
        triggers(parts, OPEN.model_copy(update={"tokens_per_day": 1000})).on_archived(PIPELINE).gate == gate
    )


def spend(parts: HomeContainer, tokens: int, **more: Any) -> None:
    run = RunRecord(
        id=parts.runs.new_id(NOW),
        kind="dream",
        home_id=parts.home_id,
        home_root=str(parts.home.root),
        workspace_id=ACME,
        project_path=None,
        trigger="launch",
        engine="a:model",
        started_at=NOW,
    )
    run = parts.runs.begin(replace(run, **more))
    usage = {"inputTokens": tokens - 10, "outputTokens": 10}
    parts.runs.finish(run, outcome="completed", ended_at=NOW, usage=usage)


def test_runs_by_hand_and_rehearsals_use_up_nothing(parts: HomeContainer) -> None:
    spend(parts, 10**9, trigger="manual")
    spend(parts, 10**9, dry_run=True)
    assert triggers(parts, OPEN.model_copy(update={"runs_per_day": 1})).on_archived(PIPELINE).gate is None


def test_a_budget_of_nothing_allows_nothing(parts: HomeContainer) -> None:
    assert triggers(parts, OPEN.model_copy(update={"runs_per_day": 0})).on_launch().gate == "runs-used-up"
    assert triggers(parts, OPEN.model_copy(update={"tokens_per_day": 0})).on_launch().gate == "tokens-used-up"


@pytest.mark.parametrize("trigger", ["compaction", "archive", "launch"])
def test_reverie_stands_down_when_the_agent_has_done_it_meanwhile(
    parts: HomeContainer, time: Time, trigger: str
) -> None:
    covered_by_the_agent(parts, ACME, NOW - 1000, trigger)
    found = triggers(parts)
    act: dict[str, Callable[[], Any]] = {
        "compaction": lambda: found.on_compaction(ACME),
        "archive": lambda: found.on_archived(ACME),
        "launch": found.on_launch,
    }
    assert act[trigger]().gate == "stood-down"
    assert said(parts) == [(f"trigger.{trigger}", 1)]
    assert parts.runs.all() == ()
    # They did not go on, so the next time it is ours again.
    time.now += 1
    assert act[trigger]().gate is None


def test_another_workspace_is_no_reason_to_stand_down(parts: HomeContainer) -> None:
    covered_by_the_agent(parts, ACME, NOW - 1000)
    assert triggers(parts).on_archived(PIPELINE).gate is None


def test_what_the_agent_did_long_ago_is_none_either(parts: HomeContainer) -> None:
    covered_by_the_agent(parts, ACME, NOW - 6 * HOUR_MS)
    assert triggers(parts).on_archived(ACME).gate is None


def test_reveries_own_records_never_make_it_stand_down(parts: HomeContainer, time: Time) -> None:
    for _round in range(3):
        assert triggers(parts).on_archived(ACME).gate is None
        time.now += HOUR_MS


def test_when_the_agent_goes_on_reverie_keeps_standing_down(parts: HomeContainer, time: Time) -> None:
    for _round in range(3):
        covered_by_the_agent(parts, ACME, time.now - 10)
        assert triggers(parts).on_archived(ACME).gate == "stood-down"
        time.now += DAY_MS
    assert said(parts) == [("trigger.archive", 3)]


def test_what_a_person_can_mend_is_told_and_not_raised(parts: HomeContainer) -> None:
    def broken(*_given: object) -> RulesEngine:
        raise StoreError("There is no such model.", next_step="Choose another.")

    result = triggers(parts, engine_for=broken).on_archived(ACME)
    assert result.gate == "error"
    assert "Choose another." in result.text
    assert said(parts) == [("trigger.archive", 1)]


def test_a_bug_is_raised_and_the_trigger_free_again(parts: HomeContainer) -> None:
    class Broken(RulesEngine):
        async def dream(
            self,
            overlay: DreamOverlay,
            guard: Guard,
            *,
            limits: StopCheck,
            progress: Callable[[Progress], None],
        ) -> str:
            raise ZeroDivisionError

    engines = [Broken(), RulesEngine()]
    found = triggers(parts, engine_for=lambda _context, _trigger: engines.pop(0))
    with pytest.raises(ZeroDivisionError):
        found.on_archived(ACME)
    assert found.on_archived(ACME).gate is None


def test_triggers_of_an_unknown_workspace_change_nothing(parts: HomeContainer) -> None:
    result = triggers(parts).on_compaction("0000000000")
    assert [harvest.reason for harvest in result.harvests] == ["no-compaction"]
    assert triggers(parts).on_archived("../..").gate == "error"
