"""What goes wrong around a dream ends in one honest outcome: never a mix, never coverage for a failed run."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from helpers.benches import Time, contents, sample_parts, workspace
from helpers.expect_log import ExpectLog
from helpers.foreign_home import make_foreign_home
from reverie.agents.scopes import ProjectGap, Scope, ScopeContext
from reverie.errors import Unavailable
from reverie.jobs.consolidate.coverage import CoverageLog
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.llm.client import Account
from reverie.memory.usage import UsageLog
from reverie.profile import Profile
from reverie.runs.guard import Guard
from reverie.runs.record import Progress, RunResult, RunStore
from reverie.runs.stops import StopCheck
from reverie.services.container import HomeContainer, HomeKey
from reverie.settings import Settings
from reverie.values import replace

ACME = "a1f3c9e2b7"


class Rules:
    """The rules engine, and what somebody else does once it has planned."""

    name = "rules"

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        self._meanwhile = meanwhile

    def account(self) -> Account:
        return Account()

    async def dream(
        self,
        overlay: DreamOverlay,
        guard: Guard,
        *,
        limits: StopCheck,
        progress: Callable[[Progress], None],
    ) -> str:
        summary = await RulesEngine().dream(overlay, guard, limits=limits, progress=progress)
        self._meanwhile()
        return summary


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def dream(parts: HomeContainer, meanwhile: Callable[[], object] = lambda: None) -> RunResult:
    return parts.dreams.run(DreamRequest(workspace(parts, ACME)), Rules(meanwhile))


def unavailable(*_args: object, **_more: object) -> None:
    raise Unavailable("The disk is full.")


def state(parts: HomeContainer) -> dict[str, bytes]:
    return contents(parts.home.root)


def same_but_for_spelling(parts: HomeContainer, before: dict[str, bytes]) -> bool:
    """Usage may be spelt anew, everything else is as it was."""
    now = state(parts)
    return {name: data for name, data in now.items() if name != "memory-meta.json"} == {
        name: data for name, data in before.items() if name != "memory-meta.json"
    }


@pytest.mark.parametrize("where", [(UsageLog, "apply_delta"), (CoverageLog, "save")])
def test_a_sidecar_that_cannot_be_written_fails_the_run_and_nothing_has_changed(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch, where: tuple[type, str]
) -> None:
    before, usage = state(parts), parts.usage.load()
    with monkeypatch.context() as broken:
        calls = iter([unavailable])
        real = getattr(*where)
        broken.setattr(*where, lambda *args, **more: next(calls, real)(*args, **more))
        result = dream(parts)
    assert (result.outcome, result.reason) == ("failed", "unavailable")
    assert "nothing was changed" in result.summary
    assert same_but_for_spelling(parts, before)
    assert parts.usage.load() == usage
    assert not any(op["applied"] for op in parts.runs.load(result.run_id).ops)
    assert dream(parts).outcome == "completed"


def test_a_coverage_save_that_fails_after_taking_effect_is_a_completed_run(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    save = CoverageLog.save

    def save_then_fail(log: CoverageLog, *args: object, **more: object) -> None:
        save(log, *args, **more)  # type: ignore[arg-type]
        raise Unavailable("The directory could not be synced.")

    monkeypatch.setattr(CoverageLog, "save", save_then_fail)
    result = dream(parts)
    assert result.outcome == "completed"
    assert parts.coverage.load().workspaces[ACME] == result.record


def test_a_file_pinned_while_the_run_was_at_work_is_not_deleted(parts: HomeContainer) -> None:
    gone = [op["path"] for op in dream(parts, lambda: None).ops if op["command"] == "delete"]
    fresh = sample_parts("mux-home", parts.profile.data.parent)
    key = f"global:{next(path for path in gone if '/global/' in path).removeprefix('/memories/global/')}"
    dream(fresh, lambda: fresh.usage.set_pinned(key, True))
    assert (fresh.home.root / "memory/global" / key.removeprefix("global:")).exists()
    assert fresh.usage.load()[key].pinned


def test_a_home_that_is_gone_refuses_the_dream_with_a_reason(parts: HomeContainer) -> None:
    context = workspace(parts, ACME)
    shutil.rmtree(parts.home.root)
    result = parts.dreams.run(DreamRequest(context), RulesEngine())
    assert (result.outcome, result.reason) == ("skipped", "unavailable")
    assert result.summary
    assert not parts.home.root.exists()


def test_a_home_that_goes_while_the_engine_thinks_is_not_made_anew(
    parts: HomeContainer,
) -> None:
    result = dream(parts, lambda: shutil.rmtree(parts.home.root))
    assert result.outcome == "failed"
    assert not parts.home.root.exists()
    assert parts.runs.load(result.run_id).outcome == "failed"


def test_a_scope_whose_directory_goes_meanwhile_is_no_mass_deletion(parts: HomeContainer) -> None:
    result = dream(parts, lambda: shutil.rmtree(parts.home.root / "memory/global", ignore_errors=True))
    assert result.outcome in ("completed", "unchanged", "failed")
    assert not any(name.startswith("memory/global/") for name in state(parts))


def test_a_database_of_leases_that_cannot_be_opened_refuses_with_a_reason(parts: HomeContainer) -> None:
    parts.profile.leases_database.mkdir(parents=True)
    result = dream(parts)
    assert (result.outcome, result.reason) == ("skipped", "unavailable")


def test_an_activity_log_that_cannot_be_written_keeps_the_reason_of_a_refusal(
    parts: HomeContainer, expect_log: ExpectLog
) -> None:
    parts.profile.activity(parts.home_id).mkdir(parents=True)
    expect_log("Activity was not written")
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="dream"):
        result = dream(parts)
    assert (result.outcome, result.reason) == ("skipped", "busy")


def test_usage_that_cannot_be_read_is_a_failed_run_not_an_exception(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = workspace(parts, ACME)
    parts.snapshots.observe(source="test")
    monkeypatch.setattr(type(parts.snapshots), "observe", lambda *_args, **_more: None)
    monkeypatch.setattr(UsageLog, "load", unavailable)
    result = parts.dreams.run(DreamRequest(context), RulesEngine())
    assert (result.outcome, result.reason) == ("failed", "unavailable")
    assert parts.runs.load(result.run_id).outcome == "failed"


def test_a_run_whose_record_cannot_be_finished_is_finished_by_recovery(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(RunStore, "finish", unavailable)
        result = dream(parts)
    assert result.outcome == "completed"
    assert "disk is full" in result.summary
    (found,) = parts.recovery.run()
    assert (found.outcome, list(found.ops)) == ("completed", list(result.ops))


def test_a_run_that_loses_its_lease_leaves_everything_to_who_has_it(parts: HomeContainer) -> None:
    """A process held up beyond its lease, while another one takes over, recovers it and dreams the same."""
    before = state(parts)
    name = dream_lease_name(parts.home_id)
    seen: list[RunResult] = []

    def taken_over() -> None:
        if seen:
            return
        with closing(sqlite3.connect(parts.profile.leases_database)) as database, database:
            database.execute("UPDATE leases SET expires_at_ms = 0 WHERE name = ?", (name,))
        other = threading.Thread(target=lambda: seen.append(dream(parts)))
        other.start()
        other.join()

    result = dream(parts, taken_over)
    (other,) = seen
    assert other.outcome == "completed"
    assert (result.outcome, result.reason) == ("interrupted", "lease-lost")
    assert not any(op["applied"] for op in result.ops)
    assert parts.runs.load(result.run_id).outcome == "interrupted"
    assert state(parts) != before
    assert parts.coverage.load().workspaces[ACME] == other.record
    assert parts.leases.holder(name) is None


def test_a_bug_in_the_engine_is_a_failed_run_and_raised(parts: HomeContainer) -> None:
    def bug() -> None:
        raise ZeroDivisionError

    before = state(parts)
    with pytest.raises(ZeroDivisionError):
        dream(parts, bug)
    (record,) = parts.runs.all()
    assert (record.outcome, record.reason) == ("failed", "bug")
    assert not any(op["applied"] for op in record.ops)
    assert state(parts) == before


def test_a_history_that_fails_after_the_run_does_not_make_it_a_failed_one(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(parts.snapshots), "record", unavailable)
    monkeypatch.setattr(type(parts.snapshots), "observe", lambda *_args, **_more: None)
    result = dream(parts)
    assert result.outcome == "completed"
    assert parts.runs.load(result.run_id).outcome == "completed"
    assert "history" in result.summary
    assert parts.activity.read()[0].event == "dream.history"


def test_a_disk_that_fills_up_right_after_the_commit_point_raises_nothing(
    parts: HomeContainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_from_here(*_args: object, **_more: object) -> None:
        monkeypatch.setattr(type(parts.activity), "add", unavailable)
        monkeypatch.setattr(type(parts.snapshots), "record", unavailable)
        unavailable()

    monkeypatch.setattr(RunStore, "finish", full_from_here)
    monkeypatch.setattr(type(parts.snapshots), "observe", lambda *_args, **_more: None)
    result = dream(parts)
    assert result.outcome == "completed"
    assert result.summary.count("disk is full") == 3


def test_a_context_without_workspace_or_project_dreams_of_global_memory_alone(parts: HomeContainer) -> None:
    context = ScopeContext(None, None, ProjectGap.NO_PROJECT)
    before = state(parts)
    result = parts.dreams.run(DreamRequest(context), RulesEngine())
    assert result.outcome == "completed"
    changed = {name for name in before if state(parts).get(name) != before[name]}
    assert all(name.startswith(("memory/global/", "memory-")) for name in changed)
    assert parts.reverter.revert(result.run_id).conflicts == ()


def test_names_with_marks_and_other_alphabets_are_merged_counted_and_reverted(parts: HomeContainer) -> None:
    root = parts.home.scope_root(workspace(parts, ACME), Scope.WORKSPACE).directory
    names = ["50%: done.md", "ünïcode %3A.md", "日本語.md"]
    for name in names:
        (root / name).write_text("The lighthouse keeper counts gulls.\nEvery morning before tea.\n")
    before = {name: data for name, data in state(parts).items() if not name.startswith("memory-")}
    result = dream(parts)
    assert result.outcome == "completed"
    assert sum((root / name).exists() for name in names) == 1
    assert not parts.reverter.revert(result.run_id).conflicts
    after = {name: data for name, data in state(parts).items() if not name.startswith("memory-")}
    assert after == before


def test_a_scope_outside_the_home_is_changed_and_reverted_too(tmp_path: Path) -> None:
    home = make_foreign_home(tmp_path / "jotter", "/p")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = home.scope_root

    def moved(context: ScopeContext, scope: Scope) -> object:
        root = place(context, scope)
        return replace(root, directory=elsewhere) if scope is Scope.GLOBAL else root

    home.scope_root = moved  # type: ignore[method-assign, assignment]
    parts = HomeContainer(HomeKey(home, "0" * 16), Profile.under(tmp_path / "profile"), Time(), Settings)
    for name in ("a.md", "b.md"):
        (elsewhere / name).write_text("Tea at four o'clock.\nMilk first.\n")
    result = parts.dreams.run(DreamRequest(home.context()), RulesEngine())
    assert result.outcome == "completed"
    assert len(list(elsewhere.iterdir())) == 1
    assert not parts.reverter.revert(result.run_id).conflicts
    assert len(list(elsewhere.iterdir())) == 2
