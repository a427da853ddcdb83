"""The "agent edited" badge: what somebody else changed since the person last looked."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import again, sample_parts, workspace
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
TESTING = "/memories/global/testing.md"


@pytest.fixture
def bench(tmp_path: Path) -> Workbench:
    workbench = Workbench(sample_parts("mux-home", tmp_path))
    workbench.start_history()
    return workbench


def badges(workbench: Workbench) -> frozenset[str]:
    workbench.parts.snapshots.observe(source="test")
    return workbench.view(workspace(workbench.parts, ACME)).changed_by_others


def outside(workbench: Workbench, text: str = "an agent's words\n") -> None:
    (workbench.parts.home.root / "memory/global/testing.md").write_text(text)


def test_on_the_first_opening_everything_counts_as_seen(bench: Workbench) -> None:
    assert badges(bench) == frozenset()


def test_an_outside_change_has_the_badge_until_it_is_opened(bench: Workbench) -> None:
    outside(bench)
    assert badges(bench) == {TESTING}
    bench.read(workspace(bench.parts, ACME), TESTING)
    assert badges(bench) == frozenset()
    outside(bench, "more words\n")
    assert badges(bench) == {TESTING}
    bench.mark_opened(workspace(bench.parts, ACME))
    assert badges(bench) == frozenset()


def test_what_is_remembered_of_versions_does_not_grow_with_their_number(bench: Workbench) -> None:
    for number in range(5):
        outside(bench, f"version {number}\n")
        assert badges(bench) == {TESTING}
    assert len(bench._seen._hashes) == len(bench._seen._by_person) == 1


def test_ones_own_save_has_no_badge(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    text = bench.read(context, TESTING)
    bench.save(context, TESTING, "mine\n", text.sha256)
    assert badges(bench) == frozenset()


@pytest.mark.parametrize("data", ["[]", "{", '{"files": []}', '{"baseline": 5, "files": {"x": 1}}'])
def test_damaged_marks_cost_badges_and_nothing_else(bench: Workbench, data: str) -> None:
    (bench.parts.own_sidecars / "seen.json").write_text(data)
    badges(bench)
    bench.read(workspace(bench.parts, ACME), TESTING)
    later = Workbench(again(bench.parts))
    later.start_history()
    outside(later)
    assert badges(later) == {TESTING}


def test_a_history_that_began_anew_hides_no_tree(bench: Workbench, tmp_path: Path) -> None:
    repository = bench.parts.profile.history(bench.home_id)
    repository.rename(tmp_path / "aside.git")
    assert badges(bench) == frozenset()
    later = Workbench(again(bench.parts))
    later.start_history()
    outside(later)
    assert badges(later) == {TESTING}


def test_of_a_damaged_history_activity_tells_once_where_the_old_one_is(bench: Workbench) -> None:
    (bench.parts.profile.history(bench.home_id) / "HEAD").write_bytes(b"garbage")
    later = Workbench(again(bench.parts))
    later.start_history()
    outside(later)
    later.parts.snapshots.observe(source="test")
    (told,) = later.parts.activity.read()
    assert told.event == "history.damaged"
    (aside,) = later.parts.profile.history(bench.home_id).parent.glob("*.damaged-*")
    assert aside.name in told.text
