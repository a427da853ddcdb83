"""The door of the window: which views a change touches, the footer, and an opening after a kill."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from helpers.benches import NOW, sample_parts, workspace
from helpers.claude_home import NOW_S, ClaudeHomeMaker
from reverie.agents.scopes import EDITABLE, Scope
from reverie.errors import Conflict, Unavailable
from reverie.files.watch import Changes
from reverie.jobs.consolidate.run import dream_lease_name
from reverie.llm.provider import ProviderError
from reverie.profile import Profile
from reverie.runs.record import Outcome, RunRecord
from reverie.runs.recovery import Recovery
from reverie.services.container import HomeContainer, HomeKey
from reverie.services.costs import month_start
from reverie.services.run_views import RECENT_RUNS
from reverie.services.views import Relevance
from reverie.services.workbench import Workbench
from reverie.settings import Settings
from reverie.values import replace

ACME, MULTI = "a1f3c9e2b7", "e8f1a2b3c4"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    return Workbench(sample_parts("mux-home", tmp_path))


def touched(bench: Workbench, *paths: Path, rescan: bool = False) -> Relevance:
    changes = Changes(frozenset(paths), rescan, len(paths), ())
    return bench.relevant(workspace(bench.parts, ACME), changes)


def begun(bench: Workbench) -> RunRecord:
    """A run whose process died before it did anything."""
    return bench.parts.runs.begin(
        RunRecord(
            id=bench.parts.runs.new_id(NOW),
            kind="dream",
            home_id=bench.home_id,
            home_root=str(bench.parts.home.root),
            workspace_id=ACME,
            project_path=None,
            trigger="manual",
            engine="rules",
            started_at=NOW,
        )
    )


def test_each_change_touches_the_views_that_show_it(bench: Workbench) -> None:
    root = bench.parts.home.root
    runs = bench.parts.profile.runs(bench.home_id)
    assert touched(bench, root / "memory/global/deep/x.md") == Relevance(True, False, False, False)
    assert touched(bench, root / "memory-meta.json") == Relevance(True, False, False, False)
    assert touched(bench, root / "AGENTS.md") == Relevance(True, False, False, False)
    assert touched(bench, root / "memory-consolidation.json") == Relevance(False, True, False, False)
    assert touched(bench, runs / "1-x/record.json") == Relevance(False, True, True, False)
    assert touched(bench, root / "config.json") == Relevance(False, True, False, True)
    assert touched(bench, root / "memory") == Relevance(True, True, False, True)
    dumps = root / "debug_obj" / ACME / "system1_memory_writer"
    assert touched(bench, dumps / "1-x.json") == Relevance(False, False, False, False, True)
    own_traces = bench.parts.profile.traces(bench.home_id)
    assert touched(bench, own_traces / "1-x.json") == Relevance(False, False, False, False, True)
    assert touched(bench, root / "debug_obj" / "other") == Relevance(False, True, False, True, True)
    said = bench.parts.profile.activity(bench.home_id)
    assert touched(bench, said) == Relevance(False, False, False, False, activity=True)
    assert touched(bench) == Relevance(False, False, False, False)
    assert touched(bench, rescan=True) == Relevance(True, True, True, True, True, True, True)


def test_memories_of_another_workspace_do_not_touch_this_tree(bench: Workbench) -> None:
    assert not touched(bench, bench.parts.home.root / f"sessions/{MULTI}/memory/x.md").tree


def test_the_footer_says_what_the_sidecar_says(bench: Workbench) -> None:
    rows = {row.scope: row for row in bench.status(workspace(bench.parts, ACME)).rows}
    assert all(row.available for row in rows.values())
    assert rows[Scope.GLOBAL].last_run_at == 1_787_126_415_000
    assert [rows[scope].changes for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)] == [1, 0, 0]


def test_a_project_that_is_unavailable_is_never_never(bench: Workbench) -> None:
    row = bench.status(workspace(bench.parts, MULTI)).rows[1]
    assert (row.available, row.last_run_at) == (False, None)
    assert row.reason


def test_damaged_records_and_sidecars_leave_a_footer(bench: Workbench) -> None:
    (bench.parts.home.root / "memory-consolidation.json").write_text("{")
    (bench.parts.profile.runs(bench.home_id) / "1-aaaaaaaa/record.json").mkdir(parents=True)
    status = bench.status(workspace(bench.parts, ACME))
    assert all(row.last_run_at is None for row in status.rows)
    assert status.problems


def paid_runs(bench: Workbench, count: int, started_at: int) -> None:
    for number in range(count):
        run = RunRecord(
            id=f"{started_at + number}-0000000a",
            kind="dream",
            home_id=bench.home_id,
            home_root=str(bench.parts.home.root),
            trigger="manual",
            engine="m",
            started_at=started_at + number,
            workspace_id=ACME,
            project_path=None,
            outcome="completed",
            usage={"inputTokens": 2, "outputTokens": 1},
            details={"costUsd": 0.5},
        )
        bench.parts.runs.note(run)


@pytest.mark.parametrize("outcome", ["interrupted", "completed"])
def test_what_a_recovered_run_used_counts_also_where_it_is_known_later(
    bench: Workbench, outcome: Outcome
) -> None:
    paid_runs(bench, 1, month_start(NOW))
    paid_runs(bench, RECENT_RUNS, NOW - 10_000)
    runs, context = bench.parts.runs, workspace(bench.parts, ACME)
    (oldest,) = (run_id for run_id in runs.ids() if run_id.startswith(str(month_start(NOW))))
    whole = runs.load(oldest)
    runs.save(replace(whole, outcome=outcome, usage=None, details={"recovered": True}))
    before = bench.status(context).spent[Scope.GLOBAL]
    runs.finish(whole, outcome="completed", ended_at=NOW)
    after = bench.status(context).spent[Scope.GLOBAL]
    assert after.month_tokens == before.month_tokens + 3
    assert after.month_cost == pytest.approx((before.month_cost or 0) + 0.5)


def test_each_run_of_a_month_is_read_once_for_its_costs(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    paid_runs(bench, 30, month_start(NOW))
    paid_runs(bench, RECENT_RUNS, NOW - 10_000)
    paid_runs(bench, 5, month_start(NOW) - 10_000)
    read: list[str] = []
    load, scandir, scans = bench.parts.runs.load, os.scandir, []

    def loading(run_id: str) -> RunRecord:
        read.append(run_id)
        return load(run_id)

    def scanning(path: str | Path) -> object:
        scans.append(Path(path))
        return scandir(path)

    monkeypatch.setattr(bench.parts.runs, "load", loading)
    monkeypatch.setattr("reverie.runs.record.os.scandir", scanning)
    context = workspace(bench.parts, ACME)
    first = bench.status(context)
    assert len(read) == len(set(read)) == RECENT_RUNS + 30
    assert scans.count(bench.parts.profile.runs(bench.home_id)) == 1
    spent = first.spent[Scope.GLOBAL]
    assert (spent.last_tokens, spent.month_tokens) == (3, 3 * (RECENT_RUNS + 30))
    assert spent.month_cost == pytest.approx(0.5 * (RECENT_RUNS + 30))
    paid_runs(bench, 1, NOW)
    read.clear()
    again = bench.status(context).spent[Scope.GLOBAL]
    # The run that is not among the newest any more is read a last time.
    assert len(read) == RECENT_RUNS + 1
    assert again.month_tokens == spent.month_tokens + 3


def test_the_footer_names_who_is_at_work(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    assert bench.status(context).running is None
    with bench.parts.leases.acquire(dream_lease_name(bench.home_id), purpose="dream (launch)"):
        running = bench.status(context).running
    assert running is not None
    assert running.purpose == "dream (launch)"


def test_opening_settles_a_dead_run_unless_somebody_is_at_work(bench: Workbench) -> None:
    record = begun(bench)
    with bench.parts.leases.acquire(dream_lease_name(bench.home_id), purpose="dream"):
        bench.start_history()
        assert bench.parts.runs.load(record.id).outcome == "running"
    bench.start_history()
    assert bench.parts.runs.load(record.id).outcome == "interrupted"
    (shown,) = bench.status(workspace(bench.parts, ACME)).interrupted
    assert shown.id == record.id


def test_a_recovery_that_has_to_wait_does_not_keep_the_history_from_beginning(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(bench)

    def full(_recovery: Recovery) -> None:
        raise Unavailable("The disk is full.")

    monkeypatch.setattr(Recovery, "run", full)
    with pytest.raises(Unavailable):
        bench.start_history()
    assert bench.parts.snapshots.history.head() is not None
    assert bench.view(workspace(bench.parts, ACME)).changed_by_others == frozenset()


def test_looking_at_the_trees_opens_neither_history_nor_leases(bench: Workbench) -> None:
    bench.view(workspace(bench.parts, ACME))
    bench.status(workspace(bench.parts, ACME))
    profile = bench.parts.profile
    assert not profile.history(bench.home_id).exists()
    assert not profile.leases_database.exists()


def test_the_changes_of_a_run_carry_its_own_words(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    run = bench.start_dream(
        context, dry_run=False, engine="rules", progress=lambda _progress: None, cancel=threading.Event()
    )
    changes = bench.reviews.changes(run.run_id)
    assert {change.path for change in changes} == {op["path"] for op in run.ops if op["applied"]}
    assert all(change.note for change in changes)
    assert json.dumps(bench.revert(run.run_id).summary)
    assert bench.runs(limit=1)[0].kind == "revert"


def test_an_engine_that_does_not_exist_is_refused(bench: Workbench) -> None:
    with pytest.raises(ProviderError) as told:
        bench.start_dream(
            workspace(bench.parts, ACME),
            dry_run=False,
            engine="nobody:gpt",
            progress=lambda _progress: None,
            cancel=threading.Event(),
        )
    assert told.value.fault == "settings"


def test_each_row_of_the_footer_counts_the_changes_of_its_own_scope_and_says_when_they_were_undone(
    bench: Workbench,
) -> None:
    """B6: the total of the run stood at every scope, also after the run was undone."""
    context = workspace(bench.parts, ACME)
    run = bench.start_dream(
        context, dry_run=False, engine="rules", progress=lambda _: None, cancel=threading.Event()
    )
    assert run.outcome == "completed"
    applied = [op for op in run.ops if op["applied"]]
    rows = {row.scope: row for row in bench.status(context).rows}
    for scope, row in rows.items():
        mine = [op for op in applied if f"/{scope.value}/" in f"{op['path']} {op.get('newPath', '')}"]
        assert row.changes == len(mine), scope
        assert not row.undone
    assert sum(row.changes for row in rows.values()) == len(applied)
    assert len({row.changes for row in rows.values()}) > 1, "the sample has different numbers"
    bench.revert(run.run_id)
    assert all(row.undone for row in bench.status(context).rows)


def test_the_list_is_made_again_only_for_titles_that_are_new(tmp_path: Path) -> None:
    maker = ClaudeHomeMaker(tmp_path)
    maker.typed("/work/api")
    transcripts = [maker.session("/work/api", number, prompt=f"Prompt {number}") for number in range(3)]
    key = HomeKey(maker.home(), "home-1")
    bench = Workbench(HomeContainer(key, Profile.under(tmp_path / "profile"), lambda: NOW, Settings))
    any_read, info = bench.learn_titles(2, "/work/api")
    assert any_read
    assert info is not None
    assert sorted(each.title for each in info.contents.workspaces()) == ["", "Prompt 1", "Prompt 2"]
    any_read, info = bench.learn_titles(2, "/work/other")
    assert any_read, "what is left of other projects is read then"
    assert info is not None
    assert all(each.title for each in info.contents.workspaces())
    os.utime(transcripts[0], (NOW_S + 9, NOW_S + 9))
    assert bench.learn_titles(2, "/work/api") == (True, None), "it says what it said before"
    assert bench.learn_titles(2, "/work/api") == (False, None)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize(
    "sample", ["mux-home", "claude-home", "codex-v1-home", "codex-v2-home", "loki-project"]
)
def test_the_files_of_a_listing_carry_the_rules_and_roles_of_their_home(
    tmp_path: Path, sample: str, quick: bool
) -> None:
    bench = Workbench(sample_parts(sample, tmp_path))
    home = bench.parts.home
    projects = [project.path for project in home.contents().projects]
    contexts = [home.context(project_path=path) for path in ("", *projects)]
    listings = [
        listing for context in contexts for listing in bench.view(context, names_only=quick).scopes.values()
    ]
    seen = 0
    for listing in listings:
        root = listing.root
        if root is None:
            continue
        for file in listing.files:
            seen += 1
            assert (file.rule or EDITABLE) == home.file_rule(root, file.rel)
            assert file.role == home.file_role(root, file.rel)
        for rel in listing.directories:
            assert listing.folder_rules.get(rel, EDITABLE) == home.file_rule(root, rel)
    assert seen > 0


def test_a_file_that_is_seen_changing_gets_its_rule_as_well(tmp_path: Path) -> None:
    bench = Workbench(sample_parts("claude-home", tmp_path))
    project = bench.parts.home.contents().projects[0].path
    context = bench.parts.home.context(project_path=project)
    before = bench.view(context)
    root = before.scopes[Scope.PROJECT].root
    assert root is not None
    (root.directory / "team" / "new").mkdir(parents=True)
    changed = root.directory / "team" / "new" / "MEMORY.md"
    changed.write_text("theirs")
    listing = bench.view(context, previous=before, dirty=[changed]).scopes[Scope.PROJECT]
    file = listing.file("team/new/MEMORY.md")
    assert file is not None
    assert file.rule is not None
    assert (file.rule.kind, file.role) == ("read-only", "index")
    assert listing.folder_rules["team/new"].kind == "read-only"
    assert listing.file("team/new/none.md") is None


def test_a_new_memory_is_its_template_filled_in_with_its_description(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    path = "/memories/global/deploy-notes.md"
    text = bench.create(context, path, "# {{title}}\n", "How we deploy")
    assert text.content == "---\ndescription: How we deploy\n---\n# Deploy notes\n"
    with pytest.raises(Conflict):
        bench.create(context, path, "", "")
    assert {template.scope for template in bench.templates()} == set(Scope)
