"""A reviewed run applied: what was chosen and nothing else, once, on the files as they are by then."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time, contents, sample_parts, workspace
from helpers.engines import ScriptedEngine
from helpers.samples import snapshot
from reverie.files import atomic as checkpoint
from reverie.jobs.consolidate.apply import ApplyService, load_review
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.runs.record import RunResult
from reverie.services.container import HomeContainer
from reverie.values import replace

ACME = "a1f3c9e2b7"
ALL = ReviewSelection()
GLOBAL = "/memories/global"
PREFERENCES, TESTING = f"{GLOBAL}/preferences.md", f"{GLOBAL}/testing.md"
EIGHT = [
    {"command": "create", "path": f"{GLOBAL}/n{n}.md", "file_text": f"{letter}\n"}
    for n, letter in enumerate("abcdefgh")
]


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def parts(tmp_path: Path, time: Time) -> HomeContainer:
    return sample_parts("mux-home", tmp_path, time)


def preview(parts: HomeContainer, *requests: dict[str, Any], dry_run: bool = True) -> RunResult:
    request = DreamRequest(workspace(parts, ACME), engine="scripted", dry_run=dry_run)
    return parts.dreams.run(request, ScriptedEngine(*requests))


def apply(parts: HomeContainer, run_id: str, selection: ReviewSelection = ALL) -> RunResult:
    return ApplyService(parts.dream_dependencies).apply(run_id, selection)


def file(parts: HomeContainer, path: str) -> Path:
    return parts.home.root / "memory" / path.removeprefix("/memories/")


def sidecar(parts: HomeContainer, name: str) -> dict[str, Any]:
    return dict(json.loads((parts.home.root / name).read_bytes()))


def usage(parts: HomeContainer, path: str) -> Any:
    return parts.usage.load().get("global:" + path.removeprefix(f"{GLOBAL}/"))


def merge_requests(parts: HomeContainer) -> list[dict[str, Any]]:
    """testing.md goes into preferences.md."""
    text = file(parts, TESTING).read_text()
    return [
        {"command": "insert", "path": PREFERENCES, "insert_line": 4, "insert_text": text},
        {"command": "delete", "path": TESTING},
    ]


def test_a_preview_leaves_the_home_as_it_is_to_byte_and_time(parts: HomeContainer) -> None:
    before = snapshot(parts.home.root)
    result = preview(parts, *merge_requests(parts))
    load_review(parts.dream_dependencies, result.run_id)
    assert snapshot(parts.home.root) == before


def test_what_was_accepted_stands_there_and_what_was_rejected_does_not(parts: HomeContainer) -> None:
    shown = preview(parts, *EIGHT)
    result = apply(parts, shown.run_id, ALL.with_group(3, accepted=False))
    assert result.outcome == "completed"
    assert result.summary == "Applied 7 of 8 reviewed changes."
    assert [file(parts, str(request["path"])).exists() for request in EIGHT] == [
        True, True, True, False, True, True, True, True,
    ]  # fmt: skip
    assert [op["applied"] for op in result.ops].count(False) == 1
    assert result.ops[3]["note"] == "rejected in review"


def test_coverage_is_saved_once_for_workspace_and_project(parts: HomeContainer) -> None:
    shown = preview(parts, *EIGHT)
    saves: list[str] = []
    checkpoint.set_observer(lambda name: saves.append(name) if name == "coverage" else None)
    try:
        result = apply(parts, shown.run_id)
    finally:
        checkpoint.set_observer(None)
    assert saves == ["coverage"]
    saved = sidecar(parts, "memory-consolidation.json")
    project = workspace(parts, ACME).project_path
    assert saved["workspaces"][ACME] == saved["projects"][project] == result.record
    assert result.record["lastRunAt"] == NOW
    assert (result.record["trigger"], result.record["summary"]) == ("manual", "as scripted")
    assert all(op["applied"] and "note" not in op for op in result.record["ops"])


def test_all_of_a_preview_applied_is_what_the_run_itself_would_have_done(tmp_path: Path) -> None:
    for name in ("direct", "reviewed"):
        (tmp_path / name).mkdir()
    direct = sample_parts("mux-home", tmp_path / "direct")
    reviewed = sample_parts("mux-home", tmp_path / "reviewed")
    moves: list[dict[str, Any]] = [
        {"command": "rename", "old_path": f"{GLOBAL}/snippets", "new_path": f"{GLOBAL}/bits"},
        {"command": "insert", "path": f"{GLOBAL}/bits/jq.md", "insert_line": 0, "insert_text": "x\n"},
    ]
    preview(direct, *merge_requests(direct), *moves, dry_run=False)
    apply(reviewed, preview(reviewed, *merge_requests(reviewed), *moves).run_id)
    names = {name for name in contents(direct.home.root) if name.startswith("memory/")}
    assert names == {name for name in contents(reviewed.home.root) if name.startswith("memory/")}
    assert contents(direct.home.root) == contents(reviewed.home.root)


def test_rejecting_the_receiver_of_a_merge_keeps_the_other_memory(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    shown = preview(parts, *merge_requests(parts))
    result = apply(parts, shown.run_id, ALL.with_hunk(PREFERENCES, 0, accepted=False))
    assert (result.outcome, result.reason) == ("failed", "blocked")
    assert "no longer exist anywhere" in result.summary
    assert contents(parts.home.root) == before
    agreed = ALL.with_hunk(PREFERENCES, 0, accepted=False).with_agreed_loss(TESTING, agreed=True)
    assert apply(parts, shown.run_id, agreed).outcome == "completed"
    assert not file(parts, TESTING).exists()
    assert file(parts, PREFERENCES).read_bytes() == before["memory/global/preferences.md"]


def test_a_held_run_is_applied_after_a_look_file_by_file(parts: HomeContainer) -> None:
    held = preview(parts, {"command": "delete", "path": TESTING}, dry_run=False)
    assert held.outcome == "held"
    assert apply(parts, held.run_id).reason == "blocked"
    assert file(parts, TESTING).exists()
    result = apply(parts, held.run_id, ALL.with_agreed_loss(TESTING, agreed=True))
    assert result.outcome == "completed"
    assert not file(parts, TESTING).exists()
    assert result.ops[0] == {"command": "delete", "path": TESTING, "applied": True}


def test_words_of_a_person_are_what_is_written(parts: HomeContainer) -> None:
    shown = preview(parts, EIGHT[0], EIGHT[1])
    chosen = ALL.with_file_text(str(EIGHT[0]["path"]), "mine\r\n").with_hunk_text(
        str(EIGHT[1]["path"]), 0, "other words"
    )
    apply(parts, shown.run_id, chosen)
    assert file(parts, str(EIGHT[0]["path"])).read_bytes() == b"mine\r\n"
    assert file(parts, str(EIGHT[1]["path"])).read_bytes() == b"other words"


def test_a_change_elsewhere_in_the_file_is_merged(parts: HomeContainer) -> None:
    shown = preview(
        parts, {"command": "insert", "path": TESTING, "insert_line": 0, "insert_text": "at the top\n"}
    )
    path = file(parts, TESTING)
    path.write_bytes(path.read_bytes() + b"\nadded by hand\n")
    assert apply(parts, shown.run_id).outcome == "completed"
    assert path.read_bytes().startswith(b"at the top\n")
    assert path.read_bytes().endswith(b"\nadded by hand\n")


def test_a_change_of_the_same_lines_is_a_conflict_and_nothing_of_its_group_is_applied(
    parts: HomeContainer,
) -> None:
    shown = preview(parts, *merge_requests(parts), EIGHT[0])
    file(parts, PREFERENCES).write_text("all new\n")
    result = apply(parts, shown.run_id)
    assert result.outcome == "completed"
    assert file(parts, PREFERENCES).read_text() == "all new\n"
    assert file(parts, TESTING).exists()
    assert file(parts, str(EIGHT[0]["path"])).exists()
    record = parts.runs.load(result.run_id)
    assert set(record.conflicts) == {PREFERENCES, TESTING}
    assert [op["applied"] for op in record.ops] == [False, False, True]
    kept = parts.transaction_for(result.run_id, "test").images.get(record.details["unapplied"][PREFERENCES])
    assert kept is not None
    assert file(parts, TESTING).read_bytes() in kept


def test_nothing_but_conflicts_is_a_failed_run_without_coverage(parts: HomeContainer) -> None:
    shown = preview(parts, *merge_requests(parts))
    file(parts, PREFERENCES).unlink()
    before = contents(parts.home.root)
    result = apply(parts, shown.run_id)
    assert (result.outcome, result.reason) == ("failed", "conflict")
    assert contents(parts.home.root) == before


def test_a_delete_stays_when_its_lines_were_removed_elsewhere_meanwhile(parts: HomeContainer) -> None:
    copy = file(parts, f"{GLOBAL}/copy.md")
    copy.write_bytes(file(parts, TESTING).read_bytes())
    shown = preview(parts, {"command": "delete", "path": TESTING}, EIGHT[0])
    assert not load_review(parts.dream_dependencies, shown.run_id).why_not
    copy.unlink()
    result = apply(parts, shown.run_id)
    assert file(parts, TESTING).exists()
    assert "no longer exist anywhere" in result.ops[0]["note"]
    assert result.ops[1]["applied"]


def test_what_was_pinned_meanwhile_neither_goes_nor_moves(parts: HomeContainer) -> None:
    shown = preview(parts, *merge_requests(parts))
    parts.usage.set_pinned("global:testing.md", True)
    result = apply(parts, shown.run_id)
    assert file(parts, TESTING).exists()
    assert [op["applied"] for op in result.ops] == [True, False]
    assert "pinned" in result.ops[1]["note"]
    assert usage(parts, TESTING).pinned


def test_a_run_is_applied_once(parts: HomeContainer) -> None:
    shown = preview(parts, *EIGHT)
    first = apply(parts, shown.run_id)
    assert parts.runs.load(shown.run_id).details["appliedBy"] == first.run_id
    assert parts.runs.load(first.run_id).details["applies"] == shown.run_id
    before = contents(parts.home.root)
    again = apply(parts, shown.run_id)
    assert (again.outcome, again.reason) == ("skipped", "not-applicable")
    assert first.run_id in again.summary
    assert contents(parts.home.root) == before


def test_after_an_undo_it_can_be_chosen_anew(parts: HomeContainer) -> None:
    shown = preview(parts, *EIGHT)
    first = apply(parts, shown.run_id)
    parts.reverter.revert(first.run_id)
    assert apply(parts, shown.run_id, ALL.with_group(0, accepted=False)).outcome == "completed"


@pytest.mark.parametrize(
    ("dry_run", "requests", "word"),
    [(False, EIGHT[:1], "applied while it ran"), (True, [], "proposed no changes")],
)
def test_what_cannot_be_applied_says_why(
    parts: HomeContainer, dry_run: bool, requests: list[dict[str, Any]], word: str
) -> None:
    run = preview(parts, *requests, dry_run=dry_run)
    assert word in load_review(parts.dream_dependencies, run.run_id).why_not
    assert apply(parts, run.run_id).outcome == "skipped"


def test_a_run_that_does_not_exist_and_a_home_that_is_busy_are_refused(parts: HomeContainer) -> None:
    assert (apply(parts, "1-x").outcome, apply(parts, "1-x").reason) == ("skipped", "missing")
    shown = preview(parts, *EIGHT)
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="a test"):
        assert apply(parts, shown.run_id).reason == "busy"


def test_everything_rejected_is_a_run_that_changed_nothing(parts: HomeContainer) -> None:
    shown = preview(parts, EIGHT[0])
    memories = {name: data for name, data in contents(parts.home.root).items() if name.startswith("memory/")}
    result = apply(parts, shown.run_id, ALL.with_group(0, accepted=False))
    assert result.outcome == "unchanged"
    assert result.record["ops"][0]["applied"] is False
    assert memories == {
        name: data for name, data in contents(parts.home.root).items() if name.startswith("memory/")
    }


def test_use_is_counted_for_what_was_applied_only(parts: HomeContainer) -> None:
    shown = preview(parts, *EIGHT[:2])
    apply(parts, shown.run_id, ALL.with_group(1, accepted=False))
    assert usage(parts, str(EIGHT[0]["path"])).last_write_at == NOW
    assert usage(parts, str(EIGHT[1]["path"])) is None


def test_a_rejected_rename_keeps_name_and_use_and_its_edit_counts_there(parts: HomeContainer) -> None:
    old, new = TESTING, f"{GLOBAL}/checks.md"
    shown = preview(
        parts,
        {"command": "rename", "old_path": old, "new_path": new},
        {"command": "insert", "path": new, "insert_line": 0, "insert_text": "more\n"},
    )
    uses = usage(parts, old)
    result = apply(parts, shown.run_id, ALL.with_hunk(new, 0, accepted=False))
    assert file(parts, old).read_bytes().startswith(b"more\n")
    assert not file(parts, new).exists()
    assert [(op["path"], op["applied"]) for op in result.ops] == [(old, False), (old, True)]
    assert usage(parts, old) == replace(uses, last_write_at=NOW), "no use, and the time of the write"
    assert usage(parts, new) is None


def test_cancelled_it_changes_nothing(parts: HomeContainer) -> None:
    shown = preview(parts, *EIGHT)
    before = contents(parts.home.root)
    cancel = threading.Event()
    cancel.set()
    result = ApplyService(parts.dream_dependencies).apply(shown.run_id, ALL, cancel=cancel)
    assert result.outcome == "cancelled"
    assert contents(parts.home.root) == before
    assert apply(parts, shown.run_id).outcome == "completed"


def test_a_file_larger_than_the_agent_reads_is_not_written(parts: HomeContainer) -> None:
    shown = preview(parts, *EIGHT[:2])
    big = ALL.with_file_text(str(EIGHT[0]["path"]), "x" * (parts.home.caps.file_bytes + 1))
    result = apply(parts, shown.run_id, big)
    assert [op["applied"] for op in result.ops] == [False, True]
    assert "would exceed the agent's limit of" in result.ops[0]["note"]


def test_an_old_memory_edited_after_the_undo_keeps_only_that_edit(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    shown = preview(parts, *EIGHT, dry_run=True)
    done = apply(parts, shown.run_id, ALL.with_group(5, accepted=False))
    file(parts, PREFERENCES).write_text("mine\n")
    parts.reverter.revert(done.run_id)
    after = contents(parts.home.root)
    after.pop("memory-consolidation.json")
    before.pop("memory-consolidation.json")
    before["memory/global/preferences.md"] = b"mine\n"
    assert {name for name in after if after[name] != before.get(name)} <= {"memory-meta.json"}
    assert after.keys() == before.keys()
    assert json.loads(after["memory-meta.json"]) == json.loads(before["memory-meta.json"])


def test_an_undone_apply_does_not_make_a_sweep_due(parts: HomeContainer, time: Time) -> None:
    writes = {key: use.last_write_at for key, use in parts.usage.load().items()}
    shown = preview(parts, *merge_requests(parts))
    time.now += 60_000
    done = apply(parts, shown.run_id)
    time.now += 60_000
    parts.reverter.revert(done.run_id)
    assert {key: use.last_write_at for key, use in parts.usage.load().items()} == writes
