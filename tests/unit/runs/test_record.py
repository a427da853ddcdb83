"""Run records: durable, found again, and damaged ones never in the way."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from helpers.expect_log import ExpectLog
from reverie.errors import StoreError
from reverie.runs.record import RunRecord, RunStore, not_applied
from reverie.values import replace

NOW = 1_787_300_000_000
OP = {"command": "delete", "path": "/memories/global/a.md", "applied": True}


def record(run_id: str, **changes: Any) -> RunRecord:
    made = RunRecord(
        id=run_id,
        kind="dream",
        home_id="h",
        home_root="/home",
        workspace_id=None,
        project_path=None,
        trigger="manual",
        engine="rules",
        started_at=NOW,
    )
    return replace(made, **changes)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def finished(store: RunStore, run_id: str, **changes: Any) -> RunRecord:
    begun = store.begin(record(run_id))
    return store.finish(begun, outcome="completed", ended_at=NOW, **changes)


def test_a_record_comes_back_as_it_was_written(store: RunStore) -> None:
    written = finished(store, store.new_id(NOW), ops=(OP,), conflicts=("x",), usage={"inputTokens": 1})
    assert store.load(written.id) == written
    assert store.all() == (written,)


def test_runs_are_listed_newest_first_whatever_the_length_of_their_numbers(store: RunStore) -> None:
    for run_id in ("9-aaaaaaaa", "10-aaaaaaaa", "1787300000000-bbbbbbbb", "1787300000000-aaaaaaaa"):
        finished(store, run_id)
    assert store.ids() == ("1787300000000-bbbbbbbb", "1787300000000-aaaaaaaa", "10-aaaaaaaa", "9-aaaaaaaa")
    assert [found.id for found in store.all(limit=2)] == list(store.ids()[:2])


def test_runs_of_one_millisecond_are_listed_in_their_order(store: RunStore) -> None:
    made = [finished(store, store.new_id(NOW)).id for _run in range(5)]
    assert store.ids() == tuple(reversed(made))
    assert all(len(run_id) == len(f"{NOW}-") + 8 for run_id in made)


def test_looking_at_a_home_without_runs_creates_nothing(store: RunStore, tmp_path: Path) -> None:
    assert store.all() == ()
    assert store.unsettled() == ()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        {"outcome": "splendid"},
        {"started_at": "soon"},
        {"ops": [5]},
        {"ops": [{"path": "x"}]},
        {"ops": 5},
        {"workspace_id": 5},
        {"details": []},
        {"conflicts": [None]},
    ],
    ids=str,
)
def test_a_damaged_record_is_named_and_hides_no_other(store: RunStore, damage: Any, tmp_path: Path) -> None:
    good = finished(store, "1-aaaaaaaa")
    finished(store, "2-aaaaaaaa")
    path = tmp_path / "runs/2-aaaaaaaa/record.json"
    raw = path.read_bytes()
    path.write_bytes(
        damage if isinstance(damage, bytes) else json.dumps({**json.loads(raw), **damage}).encode()
    )
    assert store.all() == (good,)
    assert len(store.problems) == 1
    assert "2-aaaaaaaa" in store.problems[0]
    with pytest.raises(StoreError):
        store.load("2-aaaaaaaa")


def test_a_record_that_cannot_be_opened_hides_no_other(store: RunStore, tmp_path: Path) -> None:
    good = finished(store, "1-aaaaaaaa")
    (tmp_path / "runs/2-aaaaaaaa/record.json").mkdir(parents=True)
    assert store.all() == (good,)
    assert len(store.problems) == 1


def test_what_was_killed_before_its_record_is_no_run(store: RunStore, tmp_path: Path) -> None:
    (tmp_path / "runs/1-aaaaaaaa").mkdir(parents=True)
    (tmp_path / "runs/1-aaaaaaaa.open").touch()
    assert store.all() == ()
    assert store.problems == ()
    assert store.unsettled() == ()


def test_open_runs_are_found_without_reading_the_others(
    store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        finished(store, f"{NOW + number}-aaaaaaaa")
    old = store.begin(record("5-aaaaaaaa"))  # a clock that stood in the past
    read: list[str] = []
    load = RunStore.load
    monkeypatch.setattr(RunStore, "load", lambda self, run_id: read.append(run_id) or load(self, run_id))
    assert store.unsettled() == (old,)
    assert read == ["5-aaaaaaaa"]
    store.finish(old, outcome="failed", ended_at=NOW)
    assert store.unsettled() == ()


def test_a_run_with_something_still_to_be_put_back_stays_open(store: RunStore) -> None:
    begun = store.begin(record("1-aaaaaaaa"))
    left = store.finish(begun, outcome="interrupted", ended_at=NOW, details={"pending": ["x"]})
    assert store.unsettled() == (left,)
    store.finish(left, outcome="interrupted", ended_at=NOW, details={})
    assert store.unsettled() == ()


def test_a_kill_between_outcome_and_mark_leaves_no_run_open(store: RunStore, tmp_path: Path) -> None:
    finished(store, "1-aaaaaaaa")
    (tmp_path / "runs/1-aaaaaaaa.open").touch()
    assert store.unsettled() == ()


def test_a_reverted_revert_brings_the_run_back_to_life(store: RunStore) -> None:
    dream = finished(store, "1-aaaaaaaa")
    revert = finished(store, "2-aaaaaaaa", reverts=dream.id)
    assert store.load(dream.id).reverted_by == revert.id
    redo = finished(store, "3-aaaaaaaa", reverts=revert.id)
    assert store.load(revert.id).reverted_by == redo.id
    assert not store.load(dream.id).reverted


def test_a_note_on_a_record_that_is_gone_is_not_missed(store: RunStore) -> None:
    finished(store, "2-aaaaaaaa", reverts="1-aaaaaaaa")


def test_a_run_ends_although_the_record_it_is_noted_on_cannot_be_read(store: RunStore) -> None:
    undone = finished(store, "1-aaaaaaaa")
    undo = finished(store, "2-aaaaaaaa", reverts=undone.id)
    file = store.directory_of(undone.id) / "record.json"
    file.unlink()
    file.mkdir()
    redo = finished(store, "3-aaaaaaaa", reverts=undo.id)
    assert redo.settled
    assert not store.unsettled()
    assert store.is_reverted(undo.id)
    assert not store.is_reverted(undone.id)


def test_a_record_that_somebody_settled_is_not_settled_again(store: RunStore) -> None:
    run = store.begin(record("1-aaaaaaaa"))
    store.finish(run, outcome="completed", ended_at=NOW, summary="recovered")
    revert = finished(store, "2-aaaaaaaa", reverts=run.id)
    late = store.finish(
        run,
        outcome="failed",
        ended_at=NOW,
        usage={"inputTokens": 1},
        details={"pending": ["x"], "costUsd": 1.0},
    )
    assert (late.outcome, late.summary, late.reverted_by) == ("completed", "recovered", revert.id)
    assert (late.usage, late.details) == ({"inputTokens": 1}, {"costUsd": 1.0}), "what it used was used"
    assert store.load(run.id) == late


def test_a_revert_that_ends_late_does_not_bring_back_what_others_took_back_since(store: RunStore) -> None:
    dream = finished(store, "1-aaaaaaaa")
    revert = finished(store, "2-aaaaaaaa", reverts=dream.id)
    finished(store, "3-aaaaaaaa", reverts=revert.id)
    store.finish(replace(revert, outcome="running"), outcome="completed", ended_at=NOW)
    assert not store.load(dream.id).reverted


@pytest.mark.parametrize(
    ("chain", "noted"),
    [
        ({"1-aaaaaaaa": "1-aaaaaaaa"}, {"1-aaaaaaaa"}),
        ({"1-aaaaaaaa": "2-aaaaaaaa", "2-aaaaaaaa": "1-aaaaaaaa"}, {"1-aaaaaaaa"}),
        ({"1-aaaaaaaa": "9-aaaaaaaa"}, {"1-aaaaaaaa"}),
    ],
    ids=["itself", "each other", "the run that ends"],
)
def test_a_run_ends_although_damaged_records_revert_each_other(
    store: RunStore, expect_log: ExpectLog, chain: dict[str, str], noted: set[str]
) -> None:
    for run_id in chain:
        finished(store, run_id)
    for run_id, reverts in chain.items():
        store.save(replace(store.load(run_id), reverts=reverts))
    expect_log("revert each other")
    assert finished(store, "9-aaaaaaaa", reverts="1-aaaaaaaa").settled
    assert {run_id for run_id in chain if store.load(run_id).reverted_by == "9-aaaaaaaa"} == noted
    assert not store.load("9-aaaaaaaa").reverted


@pytest.mark.parametrize("run_id", ["", "..", "a/b", "1-a/../b", ".", "a b"])
def test_no_run_id_leads_out_of_the_directory(store: RunStore, run_id: str) -> None:
    with pytest.raises(StoreError):
        store.directory_of(run_id)


def test_nothing_counts_as_applied_in_a_run_that_did_not_come_to_pass() -> None:
    refused = {"command": "create", "path": "/memories/global/c.md", "applied": False, "note": "refused"}
    left = {**OP, "path": "/memories/global/b.md"}
    ops = not_applied((OP, left, refused), "stopped", left=("/memories/global/b.md",))
    assert not any(op["applied"] for op in ops)
    assert [op["note"] for op in ops][0::2] == ["stopped", "refused"]
    assert "another program changed it" in ops[1]["note"]


def test_a_mark_that_cannot_be_removed_does_not_fail_a_run_that_is_settled(
    store: RunStore, monkeypatch: pytest.MonkeyPatch, expect_log: ExpectLog
) -> None:
    def full(_path: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", full)
        expect_log("could not be removed")
        done = finished(store, store.new_id(NOW))
    assert store.load(done.id).outcome == "completed"
    assert store.unsettled() == ()


def test_runs_of_one_millisecond_sort_as_they_were_begun_before_they_have_a_record(tmp_path: Path) -> None:
    """Of any home, however many wait for their record, and whatever else lies in the folder."""
    stores = [RunStore(tmp_path / "one"), RunStore(tmp_path / "other")]
    (tmp_path / "one" / f"{NOW}-no-run").mkdir(parents=True)
    (tmp_path / "one" / f"{NOW}-zzzzzzzz").mkdir()
    made = [stores[number % 2].new_id(NOW) for number in range(200)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(re.fullmatch(rf"{NOW}-[0-9a-f]{{8}}", each) for each in made)
