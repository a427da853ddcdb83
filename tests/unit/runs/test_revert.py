"""Undo of a run: every byte back, later edits kept, conflicts told (design.md sections 4 and 8)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.benches import NOW, contents, sample_parts, workspace
from helpers.engines import ScriptedEngine
from reverie.errors import StoreError, Unavailable
from reverie.files.lease import LeaseHeld
from reverie.jobs.consolidate.apply import load_review
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.runs.journal import Journal, load_journal
from reverie.runs.record import RunResult
from reverie.runs.revert import RevertPlan, summary_of
from reverie.services.container import HomeContainer

ACME = "a1f3c9e2b7"
STYLE = "memory/global/commit-style.md"
MESSAGES = "memory/global/commit-messages.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def dream(parts: HomeContainer) -> RunResult:
    result = parts.dreams.run(DreamRequest(workspace(parts, ACME)), RulesEngine())
    assert result.outcome == "completed", result
    return result


def memories(root: Path) -> dict[str, bytes]:
    return {name: data for name, data in contents(root).items() if name != "memory-consolidation.json"}


def test_a_revert_gives_back_every_byte_pin_and_use_and_keeps_coverage(parts: HomeContainer) -> None:
    before = memories(parts.home.root)
    modes = {path: path.stat().st_mode for path in parts.home.root.rglob("*.md")}
    run = dream(parts)
    assert memories(parts.home.root) != before
    covered = (parts.home.root / "memory-consolidation.json").read_bytes()
    result = parts.reverter.revert(run.run_id)
    after = memories(parts.home.root)
    usage = json.loads(before.pop("memory-meta.json")), json.loads(after.pop("memory-meta.json"))
    assert after == before
    assert usage[0] == usage[1]
    assert {path: path.stat().st_mode for path in modes} == modes
    assert (parts.home.root / "memory-consolidation.json").read_bytes() == covered
    assert not result.conflicts
    assert parts.runs.load(run.run_id).reverted
    newest = parts.snapshots.history.commits()[0]
    assert (newest.actor, newest.run_id) == ("revert", result.run_id)


def test_a_revert_leaves_no_folder_that_the_run_made(parts: HomeContainer) -> None:
    folders = {path for path in parts.home.root.rglob("*") if path.is_dir()}
    deep = "/memories/global/" + "/".join(["deep"] * 40) + "/x.md"
    engine = ScriptedEngine({"command": "create", "path": deep, "file_text": "x"})
    run = parts.dreams.run(DreamRequest(workspace(parts, ACME)), engine)
    assert run.outcome == "completed"
    assert (parts.home.root / "memory/global/deep").is_dir()
    parts.reverter.revert(run.run_id)
    assert {path for path in parts.home.root.rglob("*") if path.is_dir()} == folders


@pytest.mark.parametrize("method", ["change", "finish"])
def test_a_revert_whose_record_cannot_be_written_is_done_and_recovery_finishes_its_record(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    before = memories(parts.home.root)
    run = dream(parts)

    def full(*_args: object, **_named: object) -> None:
        raise Unavailable("record.json was not written.", cause="The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(type(parts.runs), method, full)
        result = parts.reverter.revert(run.run_id)
    assert result.applied
    assert "The disk is full." in result.summary
    after = memories(parts.home.root)
    assert {name for name in before if before[name] != after[name]} <= {"memory-meta.json"}
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="test"):
        parts.recovery.run()
    assert parts.runs.load(result.run_id).outcome == "completed"
    assert parts.runs.load(run.run_id).reverted_by == result.run_id


def test_a_later_edit_elsewhere_in_the_file_survives(parts: HomeContainer) -> None:
    before = (parts.home.root / STYLE).read_text()
    run = dream(parts)
    merged = (parts.home.root / STYLE).read_text()
    (parts.home.root / STYLE).write_text(
        merged.replace("Subject in the imperative", "SUBJECT in the imperative")
    )
    result = parts.reverter.revert(run.run_id)
    assert not result.conflicts
    expected = before.replace("Subject in the imperative", "SUBJECT in the imperative")
    assert (parts.home.root / STYLE).read_text() == expected
    assert (parts.home.root / MESSAGES).exists()


def test_an_overlapping_edit_is_a_conflict_that_keeps_both_versions(parts: HomeContainer) -> None:
    before = (parts.home.root / STYLE).read_bytes()
    run = dream(parts)
    (parts.home.root / STYLE).write_text("rewritten from scratch\n")
    result = parts.reverter.revert(run.run_id)
    assert result.conflicts == ("/memories/global/commit-style.md",)
    assert "1 file changed later on the same lines and was left as it is: /memories/g" in result.summary
    assert (parts.home.root / STYLE).read_text() == "rewritten from scratch\n"
    assert (parts.home.root / MESSAGES).exists()
    journal = parts.transaction_for(run.run_id, "test").load()
    assert journal is not None
    kept = {intent.path: intent.before for intent in journal.intents}["/memories/global/commit-style.md"]
    assert parts.transaction_for(run.run_id, "test").images.get(kept) == before


def test_a_file_written_anew_under_a_deleted_name_is_left_alone(parts: HomeContainer) -> None:
    run = dream(parts)
    (parts.home.root / MESSAGES).write_text("new words\n")
    result = parts.reverter.revert(run.run_id)
    assert "/memories/global/commit-messages.md" in result.conflicts
    assert (parts.home.root / MESSAGES).read_text() == "new words\n"


def test_a_revert_never_makes_a_memory_look_freshly_written(parts: HomeContainer) -> None:
    run = dream(parts)
    parts.reverter.revert(run.run_id)
    assert all((usage.last_write_at or 0) < NOW for usage in parts.usage.load().values())


def test_a_pin_set_after_the_run_survives_the_revert(parts: HomeContainer) -> None:
    run = dream(parts)
    parts.usage.set_pinned("global:commit-style.md", True)
    parts.reverter.revert(run.run_id)
    assert parts.usage.load()["global:commit-style.md"].pinned


def test_a_reverted_run_is_not_reverted_twice_but_its_revert_can_be(parts: HomeContainer) -> None:
    run = dream(parts)
    dreamt = memories(parts.home.root)
    revert = parts.reverter.revert(run.run_id)
    with pytest.raises(StoreError, match="already"):
        parts.reverter.revert(run.run_id)
    parts.reverter.revert(revert.run_id)
    redone = memories(parts.home.root)
    assert {name: data for name, data in redone.items() if name.startswith("memory/")} == {
        name: data for name, data in dreamt.items() if name.startswith("memory/")
    }
    assert not parts.runs.load(run.run_id).reverted


def test_runs_that_changed_nothing_and_runs_that_are_not_there_are_refused(parts: HomeContainer) -> None:
    dry = parts.dreams.run(DreamRequest(workspace(parts, ACME), dry_run=True), RulesEngine())
    for run_id in (dry.run_id, f"{NOW}-00000000", "../x", ""):
        with pytest.raises(StoreError):
            parts.reverter.revert(run_id)


def test_files_since_renamed_are_conflicts_and_keep_their_new_names(parts: HomeContainer) -> None:
    run = dream(parts)
    merged = (parts.home.root / STYLE).read_bytes()
    (parts.home.root / STYLE).rename(parts.home.root / "memory/global/renamed.md")
    result = parts.reverter.revert(run.run_id)
    assert "/memories/global/commit-style.md" in result.conflicts
    assert not (parts.home.root / STYLE).exists()
    assert (parts.home.root / "memory/global/renamed.md").read_bytes() == merged


def test_what_may_not_be_written_is_not_said_to_have_changed_since(parts: HomeContainer) -> None:
    run = parts.runs.load(dream(parts).run_id)
    plan = RevertPlan(Journal(()), None, {}, {}, refused={"/memories/global/b.md": "b.md is read-only."})
    summary = summary_of(run, (), ("/memories/global/a.md", "/memories/global/b.md"), plan)
    assert "1 file left as it is: b.md is read-only." in summary
    assert "1 file changed later on the same lines and was left as it is: /memories/global/a.md." in summary


def test_a_revert_that_could_put_nothing_back_is_no_revert_and_may_be_tried_again(
    parts: HomeContainer,
) -> None:
    run = dream(parts)
    journal = parts.transaction_for(run.run_id, "test").load()
    assert journal is not None
    usage = parts.usage.load()
    for intent in journal.intents:
        path = parts.home.root / intent.directory / intent.rel
        path.write_bytes(b"somebody's words\n")
    before = memories(parts.home.root)
    result = parts.reverter.revert(run.run_id)
    assert len(result.conflicts) == len(journal.intents) > 1
    count = len(journal.intents)
    assert f"{count} files changed later on the same lines and were left as they are: " in result.summary
    assert memories(parts.home.root) == before
    assert parts.usage.load() == usage
    record = parts.runs.load(result.run_id)
    assert (record.outcome, record.reason) == ("failed", "conflict")
    assert not parts.runs.load(run.run_id).reverted
    for intent in journal.intents:
        path = parts.home.root / intent.directory / intent.rel
        content = parts.transaction_for(run.run_id, "test").images.get(intent.after)
        path.unlink() if content is None else path.write_bytes(content)
    assert not parts.reverter.revert(run.run_id).conflicts


def test_use_of_a_file_in_conflict_stays_as_it_is(parts: HomeContainer) -> None:
    run = dream(parts)
    (parts.home.root / STYLE).write_text("rewritten from scratch\n")
    usage = parts.usage.load()["global:commit-style.md"]
    parts.reverter.revert(run.run_id)
    assert parts.usage.load()["global:commit-style.md"] == usage


def test_a_history_that_fails_afterwards_does_not_make_a_done_revert_a_failed_one(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (parts.home.root / STYLE).read_bytes()
    run = dream(parts)

    def full(*_args: object, **_more: object) -> str:
        raise Unavailable("The history cannot be written.")

    monkeypatch.setattr(type(parts.snapshots), "record", full)
    monkeypatch.setattr(type(parts.snapshots), "observe", lambda *_args, **_more: None)
    result = parts.reverter.revert(run.run_id)
    assert "history cannot be written" in result.summary
    assert (parts.home.root / STYLE).read_bytes() == before
    assert parts.runs.load(result.run_id).outcome == "completed"
    assert parts.runs.load(run.run_id).reverted


def test_the_ops_of_a_revert_say_what_became_of_each_file(parts: HomeContainer) -> None:
    run = dream(parts)
    journal = parts.transaction_for(run.run_id, "test").load()
    assert journal is not None
    record = parts.runs.load(parts.reverter.revert(run.run_id).run_id)
    deleted = {intent.path for intent in journal.intents if intent.after is None}
    assert deleted
    assert {op["path"] for op in record.ops if op["command"] == "create"} == deleted
    assert {op["command"] for op in record.ops if op["path"] not in deleted} == {"str_replace"}


def test_a_revert_waits_for_nobody(parts: HomeContainer) -> None:
    run = dream(parts)
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="dream"), pytest.raises(LeaseHeld):
        parts.reverter.revert(run.run_id)
    assert not parts.runs.load(run.run_id).reverted


def test_an_undo_whose_copies_are_gone_says_so_and_not_that_the_file_changed(parts: HomeContainer) -> None:
    """X13."""
    run = dream(parts)
    journal = parts.transaction_for(run.run_id, "test").images
    intents = load_journal(parts.profile.runs(parts.home_id) / run.run_id)
    assert intents is not None
    before = next(intent.before for intent in intents.intents if intent.before is not None)
    assert journal.get(before) is not None
    (parts.profile.images(parts.home_id) / before).unlink()
    result = parts.reverter.revert(run.run_id)
    assert "copy of a file no longer exists" in result.summary
    assert "changed since" not in result.summary
    assert len(result.conflicts) == len(result.details["refused"]) == 1


def test_an_undo_has_no_report_card_and_says_what_it_did(parts: HomeContainer) -> None:
    """W6: "1 without a source" of an exact undo."""
    run = dream(parts)
    undo = parts.reverter.revert(run.run_id)
    assert load_review(parts.dream_dependencies, undo.run_id).card is None
    assert undo.summary.startswith("Restored ")
    assert parts.reverter.revert(undo.run_id).summary.startswith("Reapplied ")
