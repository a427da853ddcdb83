"""The dream from lease to coverage record, on real homes with the rules engine (formats/mux.md sections 9,
10)."""

from __future__ import annotations

import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time, again, contents, sample_parts, workspace
from helpers.engines import ScriptedEngine
from helpers.unsynced import Unsynced
from reverie.agents.scopes import Scope
from reverie.clock import HOUR_MS
from reverie.errors import StoreError
from reverie.files.atomic import set_observer
from reverie.jobs.consolidate import run
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.runs.record import RunResult
from reverie.runs.transaction import LeaseLost
from reverie.services.container import HomeContainer

ACME, PIPELINE, BACKFILL, MULTI = "a1f3c9e2b7", "c04d8e91aa", "5d6e7f8091", "e8f1a2b3c4"


EDITS = [
    {"command": "insert", "path": f"/memories/global/{name}.md", "insert_line": line, "insert_text": "x"}
    for name, line in (("snippets/jq", 0), ("preferences", 4), ("testing", 0))
]


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def dream(parts: HomeContainer, workspace_id: str, **request: Any) -> RunResult:
    return parts.dreams.run(DreamRequest(workspace(parts, workspace_id), **request), RulesEngine())


def coverage(parts: HomeContainer) -> dict[str, dict[str, dict[str, object]]]:
    return json.loads((parts.home.root / "memory-consolidation.json").read_bytes())


def settle(parts: HomeContainer, workspace_id: str) -> None:
    """Dream until there is nothing to do."""
    for _run in range(20):
        if dream(parts, workspace_id).outcome == "unchanged":
            return
    raise AssertionError("dreams never come to rest")


def test_the_sample_home_is_merged_as_its_notes_ask(parts: HomeContainer) -> None:
    root = parts.home.root
    result = dream(parts, ACME)
    assert result.outcome == "completed"
    changing = [op for op in result.ops if op["applied"]]
    assert 0 < len(changing) <= 8
    acme = root / "memory/project/acme-api-db553efff149"
    assert (root / "memory/global/commit-style.md").exists() != (
        root / "memory/global/commit-messages.md"
    ).exists()
    assert (acme / "api/v2/pagination/cursors.md").exists()
    assert not (acme / "api/v2/pagination/cursor-notes.md").exists()
    for kept in (
        "deploy.md",
        "deploy-staging.md",
        "architecture.md",
        "db/postgres-version.md",
        "db/upgrade-2026.md",
    ):
        assert (acme / kept).exists(), kept
    for kept in ("preferences.md", "testing.md", "testing-old.md"):
        assert (root / "memory/global" / kept).exists(), kept


def test_what_killed_writes_left_is_swept_and_what_may_still_be_at_work_is_not(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = parts.home.root / "memory/global/snippets/.0123456789ab.01234567.reverie-tmp"
    left.write_text("half\n")
    dream(parts, ACME)
    assert left.exists()
    monkeypatch.setattr(run, "LEFT_OVER_AFTER_S", -60.0)  # an hour later, as it were
    dream(parts, ACME)
    assert not left.exists()


def test_versions_of_a_schema_stay_apart(parts: HomeContainer) -> None:
    settle(parts, PIPELINE)
    schema = parts.home.root / "memory/project/data-pipeline-21ca8fe13a59/schema"
    assert {path.name for path in schema.iterdir()} == {"events.md", "events-v2.md", "v1-seconds.md"}
    assert (schema.parent / "backfill-runbook.md").exists()


def test_coverage_is_saved_for_workspace_and_project_at_once(parts: HomeContainer) -> None:
    result = dream(parts, ACME)
    saved = coverage(parts)
    assert saved["workspaces"][ACME] == saved["projects"]["/home/dev/projects/acme-api"] == result.record
    assert saved["workspaces"][ACME]["lastRunAt"] == NOW
    assert saved["workspaces"][ACME]["trigger"] == "manual"


def test_a_dream_never_touches_another_project_or_workspace(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    settle(parts, ACME)
    after = contents(parts.home.root)
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    allowed = (
        "memory/global/",
        "memory/project/acme-api-db553efff149/",
        f"sessions/{ACME}/memory/",
        "memory-",
    )
    assert changed
    assert all(name.startswith(allowed) for name in changed), changed


def test_a_settled_home_is_a_success_that_changes_no_memory_and_saves_coverage(parts: HomeContainer) -> None:
    settle(parts, ACME)
    later = again(parts, Time(NOW + HOUR_MS))
    before = contents(parts.home.root)
    result = dream(later, ACME)
    after = contents(parts.home.root)
    assert (result.outcome, result.summary, result.ops) == ("unchanged", "no changes needed", ())
    assert {name for name in before if before[name] != after[name]} == {"memory-consolidation.json"}
    assert coverage(later)["projects"]["/home/dev/projects/acme-api"]["lastRunAt"] == NOW + HOUR_MS


def test_rules_leave_a_file_alone_whose_name_no_agent_can_say(parts: HomeContainer) -> None:
    unspeakable = parts.home.root / "memory/global" / os.fsdecode(b"b\xff.md")
    unspeakable.write_bytes(b"A note without a description.\n")
    settle(parts, ACME)
    assert unspeakable.read_bytes() == b"A note without a description.\n"
    for sidecar in ("memory-meta.json", "memory-consolidation.json"):
        assert b"udcff" not in (parts.home.root / sidecar).read_bytes()


def test_siblings_share_project_coverage_and_keep_their_own(parts: HomeContainer) -> None:
    before = coverage(parts)["workspaces"]
    dream(parts, BACKFILL)
    saved = coverage(parts)
    assert saved["projects"]["/home/dev/projects/data-pipeline"] == saved["workspaces"][BACKFILL]
    assert saved["workspaces"][PIPELINE] == before[PIPELINE]


def test_a_multi_project_run_leaves_projects_and_their_records_alone(parts: HomeContainer) -> None:
    before, files = coverage(parts)["projects"], contents(parts.home.root / "memory/project")
    result = dream(parts, MULTI)
    assert result.succeeded
    assert coverage(parts)["projects"] == before
    assert contents(parts.home.root / "memory/project") == files


def test_a_legacy_home_gets_its_first_project_record(tmp_path: Path) -> None:
    parts = sample_parts("mux-home-legacy", tmp_path)
    assert "projects" not in coverage(parts)
    assert dream(parts, "2b3c4d5e6f").succeeded
    assert set(coverage(parts)["projects"]) == {"/home/dev/projects/bookstall"}


def test_a_dry_run_says_what_it_would_do_and_leaves_the_home_alone(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    result = dream(parts, ACME, dry_run=True)
    assert result.outcome == "completed"
    assert result.ops
    assert all(not op["applied"] and op["note"] == "dry-run" for op in result.ops)
    assert contents(parts.home.root) == before
    assert parts.runs.load(result.run_id).dry_run


def test_a_second_dream_is_refused_with_the_reason_while_one_runs(parts: HomeContainer) -> None:
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="dream (manual)"):
        result = dream(parts, ACME)
    assert (result.outcome, result.reason) == ("skipped", "busy")
    assert result.summary
    assert dream(parts, ACME).succeeded


def test_siblings_wait_for_each_other_since_they_share_project_and_global(parts: HomeContainer) -> None:
    seen: list[RunResult] = []

    def meanwhile() -> None:
        other = threading.Thread(target=lambda: seen.append(dream(parts, BACKFILL)))
        other.start()
        other.join()

    engine = ScriptedEngine(meanwhile=meanwhile)
    assert parts.dreams.run(DreamRequest(workspace(parts, PIPELINE)), engine).succeeded
    assert [result.outcome for result in seen] == ["skipped"]


def test_a_cancelled_dream_changes_nothing_and_saves_no_coverage(parts: HomeContainer) -> None:
    cancel = threading.Event()
    create = {"command": "create", "path": "/memories/global/new.md", "file_text": "x"}
    before = contents(parts.home.root)
    result = parts.dreams.run(
        DreamRequest(workspace(parts, ACME)), ScriptedEngine(create, meanwhile=cancel.set), cancel=cancel
    )
    assert result.outcome == "cancelled"
    assert contents(parts.home.root) == before
    assert parts.runs.load(result.run_id).ops[0]["applied"] is False
    assert parts.leases.holder(dream_lease_name(parts.home_id)) is None


def test_what_was_written_after_the_snapshot_and_read_by_the_run_is_in_the_history_before_it(
    parts: HomeContainer,
) -> None:
    late = parts.home.root / "memory/global/late.md"
    text = "---\ndescription: late\n---\n\nwritten while the model thinks\n"
    edit = {
        "command": "str_replace",
        "path": "/memories/global/late.md",
        "old_str": "description: late",
        "new_str": "description: Late",
    }

    class Slow(ScriptedEngine):
        async def dream(self, *args: Any, **limits: Any) -> str:
            late.write_text(text)
            return await super().dream(*args, **limits)

    engine = Slow(edit)
    result = parts.dreams.run(DreamRequest(workspace(parts, ACME)), engine)
    assert result.outcome == "completed"
    history = parts.snapshots.history
    after, before = history.commits(key="global", rel="late.md")
    assert (after.actor, before.actor) == ("dream", "outside")
    assert history.read(before.id, "global", "late.md") == text.encode()


def test_a_file_changed_meanwhile_is_planned_for_again_on_what_is_there_now(parts: HomeContainer) -> None:
    target = parts.home.root / "memory/global/testing.md"
    engine = ScriptedEngine(*EDITS, meanwhile=lambda: target.write_text("somebody else's words\n"))
    result = parts.dreams.run(DreamRequest(workspace(parts, ACME)), engine)
    assert result.outcome == "completed"
    assert len(result.ops) == len(EDITS)
    assert all(op["applied"] for op in result.ops)
    assert target.read_text() == "x\nsomebody else's words\n"
    assert (parts.home.root / "memory/global/preferences.md").read_text().splitlines()[4] == "x"
    assert parts.usage.load()["global:testing.md"].access_count == 7
    assert [entry.event for entry in parts.activity.read()][:2] == ["dream.completed", "dream.again"]
    assert len(parts.runs.all()) == 1


def test_a_file_that_keeps_changing_fails_the_run_and_puts_everything_back(parts: HomeContainer) -> None:
    target = parts.home.root / "memory/global/testing.md"
    versions = iter([b"one\n", b"two\n"])
    before, covered = contents(parts.home.root), parts.coverage.load()
    engine = ScriptedEngine(*EDITS, meanwhile=lambda: target.write_bytes(next(versions)) and None)
    result = parts.dreams.run(DreamRequest(workspace(parts, ACME)), engine)
    assert (result.outcome, result.reason) == ("failed", "conflict")
    assert not any(op["applied"] for op in result.ops)
    record = parts.runs.load(result.run_id)
    assert (record.outcome, record.ops, record.conflicts) == ("failed", result.ops, ())
    after = contents(parts.home.root)
    assert after.pop("memory/global/testing.md") == b"two\n"
    before.pop("memory/global/testing.md")
    assert after == before
    assert parts.coverage.load() == covered


def test_a_delete_that_would_lose_lines_is_held_for_review(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    engine = ScriptedEngine({"command": "delete", "path": "/memories/global/snippets/jq.md"})
    result = parts.dreams.run(DreamRequest(workspace(parts, ACME)), engine)
    assert (result.outcome, result.reason) == ("held", "held")
    assert "/memories/global/snippets/jq.md" in result.summary
    assert contents(parts.home.root) == before
    with pytest.raises(StoreError):
        parts.reverter.revert(result.run_id)


def test_a_lease_lost_in_the_second_attempt_leaves_the_run_to_recovery(parts: HomeContainer) -> None:
    attempts: list[int] = []

    def lost() -> None:
        attempts.append(1)
        if len(attempts) == 2:
            raise LeaseLost("The lease ran out.")

    gone = {"command": "delete", "path": "/memories/global/snippets/jq.md"}
    result = parts.dreams.run(DreamRequest(workspace(parts, ACME)), ScriptedEngine(gone, meanwhile=lost))
    assert len(attempts) == 2
    assert (result.outcome, result.reason) == ("interrupted", "lease-lost")
    assert [run.id for run in parts.runs.unsettled()] == [result.run_id]


def test_a_run_that_shrinks_a_scope_too_far_is_held(parts: HomeContainer) -> None:
    gone = {"command": "str_replace", "path": "/memories/workspace/findings.md", "new_str": "x"}
    text = (parts.home.root / f"sessions/{PIPELINE}/memory/findings.md").read_text()
    result = parts.dreams.run(
        DreamRequest(workspace(parts, PIPELINE)), ScriptedEngine({**gone, "old_str": text})
    )
    assert result.outcome == "held"


@pytest.mark.parametrize(("age_h", "outcome"), [(5.99, "skipped"), (6, "unchanged")])
def test_background_triggers_wait_six_hours_and_manual_ones_do_not(
    parts: HomeContainer, age_h: float, outcome: str
) -> None:
    settle(parts, ACME)
    later = again(parts, Time(NOW + int(age_h * HOUR_MS)))
    assert dream(later, ACME, trigger="launch").outcome == outcome
    assert dream(later, ACME, trigger="archive").outcome == "unchanged"
    assert dream(later, ACME, trigger="manual").outcome == "unchanged"


def test_a_dream_needs_neither_checkout_nor_project_directory(tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path)
    config = parts.home.root / "config.json"
    config.write_text(
        config.read_text().replace("/home/dev/projects/acme-api", str(tmp_path / "gone/acme-api"))
    )
    store = parts.home.root / "memory/project"
    root = parts.home.scope_root(workspace(parts, ACME), Scope.PROJECT)
    shutil.copytree(store / "acme-api-db553efff149", root.directory)
    assert dream(parts, ACME).succeeded
    assert not (tmp_path / "gone").exists()


def test_the_dreams_own_writes_never_look_newer_than_its_coverage(parts: HomeContainer) -> None:
    result = dream(parts, ACME)
    touched = [usage.last_write_at for usage in parts.usage.load().values() if usage.last_write_at == NOW]
    assert touched
    assert all(at <= result.record["lastRunAt"] for at in touched)


def test_every_run_is_in_the_history_before_and_after(parts: HomeContainer) -> None:
    messages = (parts.home.root / "memory/global/commit-messages.md").read_bytes()
    result = dream(parts, ACME)
    newest, before = parts.snapshots.history.commits()[:2]
    assert (newest.actor, newest.run_id) == ("dream", result.run_id)
    assert before.actor == "outside"
    assert parts.snapshots.history.read(before.id, "global", "commit-messages.md") == messages


def test_a_home_without_coverage_sidecar_keeps_it_in_reveries_own_data(tmp_path: Path) -> None:
    from helpers.foreign_home import make_foreign_home
    from reverie.profile import Profile
    from reverie.services.container import HomeKey
    from reverie.settings import Settings

    home = make_foreign_home(tmp_path / "jotter", "/p")
    parts = HomeContainer(HomeKey(home, "0" * 16), Profile.under(tmp_path / "profile"), Time(), Settings)
    context = home.context(project_path="/p", project_given=True)
    root = home.scope_root(context, Scope.GLOBAL).directory
    root.mkdir(parents=True)
    (root / "a.md").write_text("Tea at four o'clock.\nMilk first.\n")
    (root / "b.md").write_text("Tea at four o'clock.\nMilk first.\n")
    before = {path.name for path in home.root.iterdir()}
    result = parts.dreams.run(DreamRequest(context), RulesEngine())
    assert result.outcome == "completed", result
    assert len(list(root.iterdir())) == 1
    assert {path.name for path in home.root.iterdir()} == before
    assert parts.coverage.load().projects["/p"]["lastRunAt"] == NOW


def test_directories_made_by_the_first_run_are_durable_before_a_memory_changes(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    unsynced = Unsynced(monkeypatch)
    seen: dict[str, set[str]] = {}
    set_observer(lambda step: seen.setdefault(step, set()).update(unsynced.names()))
    try:
        assert dream(parts, ACME).outcome == "completed"
    finally:
        set_observer(None)
    assert {"journal", "replace", "history-ref"} <= {*seen}
    assert {step: names for step, names in seen.items() if names} == {}
