"""The rails of a run: scopes, pins, budget, dry run, journal (formats/mux.md section 10, checklist
"Rails")."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.benches import Time, contents, sample_parts, workspace
from reverie.jobs.consolidate.overlay import DreamOverlay
from reverie.runs.guard import Guard
from reverie.services.container import HomeContainer

ACME, PIPELINE, MULTI = "a1f3c9e2b7", "c04d8e91aa", "e8f1a2b3c4"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def guard_of(
    parts: HomeContainer, workspace_id: str = ACME, *, budget: int = 8, dry_run: bool = False
) -> Guard:
    return DreamOverlay(parts.home, workspace(parts, workspace_id), parts.usage).guard(
        budget=budget, dry_run=dry_run
    )


def create(path: str) -> dict[str, Any]:
    return {"command": "create", "path": path, "file_text": "x"}


def test_a_run_in_scope_is_applied_to_the_overlay_only(parts: HomeContainer) -> None:
    before = contents(parts.home.root)
    guard = guard_of(parts)
    for scope in ("workspace", "project", "global"):
        assert guard.execute(create(f"/memories/{scope}/new.md"))["success"]
    assert [op["applied"] for op in guard.ops] == [True, True, True]
    assert contents(parts.home.root) == before


@pytest.mark.parametrize(
    "request_",
    [
        create("/memories/global/.git/HEAD"),
        create("/memories/workspace/.envrc"),
        create("/memories/project/api/.vscode/tasks.json"),
        {"command": "insert", "path": "/memories/global/.note.md", "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": "/memories/global/.note.md"},
        {
            "command": "rename",
            "old_path": "/memories/global/testing.md",
            "new_path": "/memories/global/.envrc",
        },
        {"command": "rename", "old_path": "/memories/global/.note.md", "new_path": "/memories/global/x.md"},
    ],
)
def test_a_run_touches_no_hidden_name(parts: HomeContainer, request_: dict[str, Any]) -> None:
    (parts.home.root / "memory/global/.note.md").write_text("hidden\n")
    guard = guard_of(parts)
    answer = guard.execute(request_)
    assert not answer["success"]
    assert "begins with a dot" in answer["error"]
    assert guard.remaining == 8
    assert guard.execute(create("/memories/global/a.b/c.md"))["success"]


def test_project_memory_is_out_of_bounds_without_a_single_project(parts: HomeContainer) -> None:
    guard = guard_of(parts, MULTI)
    answer = guard.execute(create("/memories/project/new.md"))
    assert not answer["success"]
    assert guard.ops == (
        {"command": "create", "path": "/memories/project/new.md", "applied": False, "note": answer["error"]},
    )
    assert guard.remaining == 8


@pytest.mark.parametrize(
    "request_",
    [
        {"command": "delete", "path": "/memories/project/backfill-runbook.md"},
        {
            "command": "rename",
            "old_path": "/memories/project/backfill-runbook.md",
            "new_path": "/memories/project/x.md",
        },
        {"command": "rename", "path": "/memories/workspace/plan.md", "new_path": "/memories/workspace/x.md"},
    ],
)
def test_a_pinned_memory_is_never_deleted_or_renamed_but_may_be_edited(
    parts: HomeContainer, request_: dict[str, Any]
) -> None:
    guard = guard_of(parts, PIPELINE)
    assert not guard.execute(request_)["success"]
    assert guard.remaining == 8
    edit = {"command": "insert", "path": "/memories/workspace/plan.md", "insert_line": 0, "insert_text": "x"}
    assert guard.execute(edit)["success"]


def test_a_directory_that_holds_a_pinned_memory_is_protected(parts: HomeContainer) -> None:
    parts.usage.set_pinned("global:meetings/2026/07/14-planning.md", True)
    guard = guard_of(parts)
    for path in ("/memories/global/meetings", "/memories/global/meetings/2026/07"):
        assert not guard.execute({"command": "delete", "path": path})["success"]
    assert guard.execute({"command": "delete", "path": "/memories/global/people"})["success"]


def test_the_budget_stops_changes_and_reading_goes_on(parts: HomeContainer) -> None:
    guard = guard_of(parts, budget=2)
    assert guard.execute(create("/memories/global/a.md"))["success"]
    assert not guard.execute({"command": "delete", "path": "/memories/global/none.md"})["success"]
    refused = guard.execute(create("/memories/global/b.md"))
    assert not refused["success"]
    assert guard.remaining == 0
    assert guard.execute({"command": "view", "path": "/memories/global/a.md"})["success"]
    assert [op["applied"] for op in guard.ops] == [True, False, False]


def test_a_failing_request_costs_and_is_journaled_with_the_reason(parts: HomeContainer) -> None:
    guard = guard_of(parts)
    answer = guard.execute({"command": "str_replace", "path": "/memories/global/testing.md", "old_str": "zz"})
    assert guard.ops[0]["note"] == answer["error"]
    assert guard.remaining == 7


@pytest.mark.parametrize(
    "request_",
    [
        {"command": "create", "file_text": "x"},
        {"command": "rename", "old_path": "/memories/global/testing.md"},
        {"command": "rename", "path": "/memories/global/testing.md"},
        {"command": "delete", "path": 7},
        {"command": "insert", "path": "/memories/global/testing.md", "insert_line": -1, "insert_text": "x"},
    ],
)
def test_a_malformed_request_is_answered_costs_nothing_and_is_not_journaled(
    parts: HomeContainer, request_: dict[str, Any]
) -> None:
    guard = DreamOverlay(parts.home, workspace(parts, PIPELINE), parts.usage).guard(budget=1, dry_run=False)
    answer = guard.execute(request_)
    assert not answer["success"]
    assert answer["error"]
    assert (guard.remaining, guard.ops) == (1, ())


def test_a_dry_run_costs_budget_and_is_journaled_as_not_applied(parts: HomeContainer) -> None:
    guard = guard_of(parts, dry_run=True)
    assert guard.execute(create("/memories/global/a.md"))["success"]
    assert guard.ops == (
        {"command": "create", "path": "/memories/global/a.md", "applied": False, "note": "dry-run"},
    )
    assert guard.remaining == 7


def test_a_withdrawn_group_is_no_longer_applied(parts: HomeContainer) -> None:
    guard = guard_of(parts)
    guard.execute(create("/memories/global/a.md"))
    guard.execute(create("/memories/global/b.md"))
    guard.withdraw(1, "undone")
    assert [(op["applied"], op.get("note")) for op in guard.ops] == [(True, None), (False, "undone")]


_PATHS = [
    "/memories/global/a.md",
    "/memories/global/testing.md",
    "/memories/global/preferences.md",
    "/memories/project/overview.md",
    "/memories/project/backfill-runbook.md",
    "/memories/project/schema",
    "/memories/workspace/plan.md",
    "/memories/workspace/findings.md",
    "/memories/global",
    "/memories/other/a.md",
    "/memories/global/../x.md",
    "nonsense",
]
_REQUESTS = st.one_of(
    st.fixed_dictionaries(
        {"command": st.just("create"), "path": st.sampled_from(_PATHS), "file_text": st.text()}
    ),
    st.fixed_dictionaries({"command": st.just("delete"), "path": st.sampled_from(_PATHS)}),
    st.fixed_dictionaries(
        {
            "command": st.just("rename"),
            "old_path": st.sampled_from(_PATHS),
            "new_path": st.sampled_from([*_PATHS, "/memories/global/deep/er.md"]),
        }
    ),
    st.fixed_dictionaries(
        {
            "command": st.just("insert"),
            "path": st.sampled_from(_PATHS),
            "insert_line": st.integers(-1, 3),
            "insert_text": st.text(),
        }
    ),
    st.fixed_dictionaries(
        {"command": st.sampled_from(["view", "explode", ""]), "path": st.sampled_from(_PATHS)}
    ),
)


@given(requests=st.lists(_REQUESTS, max_size=25), workspace_id=st.sampled_from([PIPELINE, MULTI]))
def test_no_sequence_of_requests_leaves_the_rails(
    tmp_path_factory: pytest.TempPathFactory, requests: list[dict[str, Any]], workspace_id: str
) -> None:
    parts = _shared(tmp_path_factory)
    overlay = DreamOverlay(parts.home, workspace(parts, workspace_id), parts.usage)
    guard = overlay.guard(budget=8, dry_run=False)
    for request in requests:
        guard.execute(request)
    mutating = [
        request
        for request in requests
        if request["command"] in ("create", "delete", "rename", "insert")
        and request.get("insert_line", 0) >= 0
    ]
    assert len(guard.ops) == len(mutating)
    assert [op["command"] for op in guard.ops] == [request["command"] for request in mutating]
    assert guard.applied <= 8 - guard.remaining <= 8
    gone = {change.rel for change in overlay.changes() if change.after is None}
    assert not gone & {"preferences.md", "backfill-runbook.md", "plan.md"}
    if workspace_id == MULTI:
        assert all(change.root.scope != "project" for change in overlay.changes())


_SHARED: list[HomeContainer] = []


def _shared(factory: pytest.TempPathFactory) -> HomeContainer:
    """One home for all examples: overlays never write to it."""
    if not _SHARED:
        _SHARED.append(sample_parts("mux-home", factory.mktemp("rails"), Time()))
    return _SHARED[0]


def test_a_flood_of_refused_requests_fills_no_journal_and_is_answered(parts: HomeContainer) -> None:
    guard = guard_of(parts)
    for number in range(300):
        assert not guard.execute(create(f"/memories/nowhere/{number}/{'x' * 10_000}"))["success"]
    assert len(guard.ops) == 100
    assert all(len(op["path"]) <= 500 and len(op["note"]) <= 500 for op in guard.ops)
    assert guard.execute(create("/memories/global/new.md"))["success"]
    assert guard.ops[-1]["applied"]
