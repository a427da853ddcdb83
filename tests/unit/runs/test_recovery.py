"""What a killed run left behind is finished or undone, as often as it takes (design.md sections 3 and 8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import again, contents, sample_parts, workspace
from reverie.errors import Unavailable
from reverie.files.atomic import set_observer
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.runs.record import RunRecord, RunResult
from reverie.runs.transaction import Recovered, Transaction
from reverie.services.container import HomeContainer

ACME = "a1f3c9e2b7"


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def dream(parts: HomeContainer) -> RunResult:
    return parts.dreams.run(DreamRequest(workspace(parts, ACME)), RulesEngine())


def kill_at(
    step: str, parts: HomeContainer, monkeypatch: pytest.MonkeyPatch, *, revert: str = ""
) -> RunRecord:
    """Dream (or revert a run) until `step` after the journal, and leave everything as a kill would: nothing
    put back or finished."""
    passed: list[str] = []

    def die(name: str) -> None:
        passed.append(name)
        if name == step and "journal" in passed:
            raise Killed

    monkeypatch.setattr(Transaction, "roll_back", lambda *_: Recovered(False))
    monkeypatch.setattr("reverie.runs.run.Run._finish", lambda *_: None)
    set_observer(die)
    try:
        with pytest.raises(Killed):
            parts.reverter.revert(revert) if revert else dream(parts)
    finally:
        set_observer(None)
        monkeypatch.undo()
    (record,) = parts.runs.unsettled()
    return record


def memories(parts: HomeContainer) -> dict[str, bytes]:
    return {name: data for name, data in contents(parts.home.root).items() if not name.startswith("memory-")}


def test_a_run_killed_half_way_is_put_back_and_says_so(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, usage = memories(parts), parts.usage.load()
    record = kill_at("usage", parts, monkeypatch)
    assert memories(parts) != before
    (found,) = again(parts).recovery.run()
    assert (found.id, found.outcome, found.reason) == (record.id, "interrupted", "interrupted")
    assert found.ops
    assert not any(op["applied"] for op in found.ops)
    assert memories(parts) == before
    assert parts.usage.load() == usage
    assert parts.recovery.run() == ()


def test_a_run_killed_after_its_commit_point_is_completed_with_its_ops(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill_at("coverage", parts, monkeypatch)
    after = memories(parts)
    (found,) = again(parts).recovery.run()
    covered = parts.coverage.load().workspaces[ACME]
    assert (found.outcome, found.summary) == ("completed", covered["summary"])
    assert list(found.ops) == covered["ops"]
    assert any(op["applied"] for op in found.ops)
    assert memories(parts) == after


def test_the_next_dream_recovers_first_and_then_runs(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = kill_at("replace", parts, monkeypatch)
    assert dream(again(parts)).outcome == "completed"
    assert parts.runs.load(record.id).outcome == "interrupted"


def test_a_run_whose_process_lives_on_without_its_lease_is_recovered_too(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This very process made it, as one that was suspended and taken over would have."""
    before = memories(parts)
    kill_at("replace", parts, monkeypatch)
    parts.recovery.run()
    assert memories(parts) == before


def test_a_recovery_that_was_suspended_undoes_nothing_that_came_after_another_one(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = kill_at("usage", parts, monkeypatch)
    seen = parts.runs.unsettled()
    other = again(parts)
    other.recovery.run()
    later = dream(other)  # it writes the very same as the one that was put back
    written = memories(parts)
    with monkeypatch.context() as asleep:
        asleep.setattr(parts.runs, "unsettled", lambda: seen)
        assert parts.recovery.run() == ()
    assert memories(parts) == written
    assert [run.outcome for run in parts.runs.all()] == ["completed", "interrupted"]
    assert parts.runs.load(later.run_id).outcome == "completed"
    assert parts.runs.load(record.id).ended_at is not None


def test_while_a_memory_cannot_be_put_back_no_dream_builds_on_the_mix(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = kill_at("usage", parts, monkeypatch)
    mixed = memories(parts)

    def unreachable(*_args: object) -> bool:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(Transaction, "_put_back", unreachable)
    result = dream(again(parts))
    assert (result.outcome, result.reason) == ("skipped", "recovery")
    assert result.summary
    assert memories(parts) == mixed
    assert parts.runs.load(record.id).outcome == "running"
    monkeypatch.undo()
    assert dream(again(parts)).outcome == "completed"
    assert parts.runs.load(record.id).outcome == "interrupted"


def test_a_recovery_killed_in_the_middle_is_repeated(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = memories(parts)
    kill_at("usage", parts, monkeypatch)
    for nth in (1, 2, 3):
        passed = 0

        def die(name: str, nth: int = nth) -> None:
            nonlocal passed
            passed += name == "replace"
            if passed == nth:
                raise Killed

        set_observer(die)
        try:
            with pytest.raises(Killed):
                again(parts).recovery.run()
        finally:
            set_observer(None)
    again(parts).recovery.run()
    assert memories(parts) == before
    assert not [name for name in memories(parts) if name.rpartition("/")[2].startswith(".")]


def test_what_somebody_wrote_meanwhile_is_left_and_named(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = memories(parts)
    record = kill_at("usage", parts, monkeypatch)
    journal = parts.transaction_for(record.id, "test").load()
    assert journal is not None
    intent = next(intent for intent in journal.intents if intent.after is not None)
    path = parts.home.root / intent.directory / intent.rel
    path.write_bytes(b"an agent's words\n")
    (found,) = parts.recovery.run()
    assert found.conflicts == (intent.path,)
    assert intent.path in found.summary
    notes = {op["path"]: op["note"] for op in found.ops}
    assert "another program changed it" in notes[intent.path]
    assert memories(parts) == {**before, f"{intent.directory}/{intent.rel}": b"an agent's words\n"}


def test_a_damaged_journal_is_told_once_and_stops_nobody(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = kill_at("journal", parts, monkeypatch)
    (parts.runs.directory_of(record.id) / "journal.json").write_bytes(b"{")
    (found,) = parts.recovery.run()
    assert found.outcome == "interrupted"
    assert "could not undo" in found.summary
    assert parts.recovery.run() == ()


def test_a_killed_revert_of_a_revert_is_finished_with_both_notes(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = dream(parts)
    dreamt = memories(parts)
    revert = parts.reverter.revert(run.run_id)
    record = kill_at("applied", parts, monkeypatch, revert=revert.run_id)
    (found,) = again(parts).recovery.run()
    assert (found.id, found.outcome, found.kind) == (record.id, "completed", "revert")
    assert found.ops
    assert all(op["applied"] for op in found.ops)
    assert memories(parts) == dreamt
    assert parts.runs.load(revert.run_id).reverted_by == record.id
    assert not parts.runs.load(run.run_id).reverted


def test_recovery_is_told_in_activity(parts: HomeContainer, monkeypatch: pytest.MonkeyPatch) -> None:
    record = kill_at("usage", parts, monkeypatch)
    parts.recovery.run()
    newest = parts.activity.read()[0]
    assert (newest.event, newest.level, newest.run_id) == ("run.interrupted", "warning", record.id)
