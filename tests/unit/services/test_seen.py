"""The "agent edited" badge: what somebody else changed since the person last looked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.benches import again, sample_parts, workspace
from reverie.errors import Conflict, StoreError
from reverie.memory.history.history import History
from reverie.memory.history.roots import VersionChange
from reverie.services.views import UnseenKind
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


def unseen(workbench: Workbench) -> Mapping[str, UnseenKind]:
    workbench.parts.snapshots.observe(source="test")
    return workbench.view(workspace(workbench.parts, ACME)).unseen


def see(workbench: Workbench, path: str = TESTING) -> None:
    context = workspace(workbench.parts, ACME)
    change = workbench.unseen.change(context, path)
    assert change is not None
    workbench.unseen.mark(context, path, change.sha256)


def outside(workbench: Workbench, text: str = "an agent's words\n") -> None:
    (workbench.parts.home.root / "memory/global/testing.md").write_text(text)


def test_on_the_first_opening_everything_counts_as_seen(bench: Workbench) -> None:
    assert badges(bench) == frozenset()


def test_an_outside_change_has_the_badge_until_it_is_seen_and_opening_is_not_seeing(bench: Workbench) -> None:
    """B4: the mark vanished on opening, and no line was marked."""
    outside(bench)
    assert badges(bench) == {TESTING}
    bench.read(workspace(bench.parts, ACME), TESTING)
    assert badges(bench) == {TESTING}
    see(bench)
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


NEW = "/memories/global/brand-new.md"


def test_new_changed_and_deleted_are_told_apart(bench: Workbench) -> None:
    """B4: new and changed shared one sign, and what was deleted was not listed."""
    memory = bench.parts.home.root / "memory/global"
    outside(bench)
    (memory / "brand-new.md").write_text("hello\n")
    (memory / "preferences.md").unlink()
    found = unseen(bench)
    assert found == {TESTING: "changed", NEW: "new", "/memories/global/preferences.md": "deleted"}
    assert badges(bench) == {TESTING, NEW}


def test_what_came_and_went_unseen_is_not_listed(bench: Workbench) -> None:
    file = bench.parts.home.root / "memory/global/brand-new.md"
    file.write_text("hello\n")
    assert unseen(bench) == {NEW: "new"}
    file.unlink()
    assert unseen(bench) == {}


def test_what_a_person_deleted_is_not_unseen(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    bench.delete(context, TESTING)
    assert unseen(bench) == {}


def test_a_change_says_which_lines_who_and_what_was_there(bench: Workbench) -> None:
    file = bench.parts.home.root / "memory/global/testing.md"
    before = file.read_text()
    lines = before.split("\n")
    file.write_text("\n".join([*lines[:2], "an agent's line", *lines[3:]]))
    assert unseen(bench) == {TESTING: "changed"}
    change = bench.unseen.change(workspace(bench.parts, ACME), TESTING)
    assert change is not None
    assert (change.kind, change.before, change.lines, change.removed) == ("changed", before, (2,), 1)
    assert change.at_ms > 0


def test_a_second_change_is_compared_with_what_was_seen_not_with_the_beginning(bench: Workbench) -> None:
    file = bench.parts.home.root / "memory/global/testing.md"
    outside(bench, "one\n")
    unseen(bench)
    see(bench)
    file.write_text("one\ntwo\n")
    assert unseen(bench) == {TESTING: "changed"}
    change = bench.unseen.change(workspace(bench.parts, ACME), TESTING)
    assert change is not None
    assert (change.before, change.lines, change.removed) == ("one\n", (1,), 0)


def test_taking_back_brings_what_was_seen_and_can_be_undone(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    file = bench.parts.home.root / "memory/global/testing.md"
    before = file.read_bytes()
    outside(bench)
    unseen(bench)
    change = bench.unseen.change(context, TESTING)
    assert change is not None
    undo = bench.unseen.take_back(context, TESTING, change.sha256)
    assert file.read_bytes() == before
    assert unseen(bench) == {}
    bench.undo(undo)
    assert file.read_text() == "an agent's words\n"


def test_a_deleted_memory_comes_back_with_every_byte_and_goes_from_the_list_once_seen(
    bench: Workbench,
) -> None:
    context = workspace(bench.parts, ACME)
    file = bench.parts.home.root / "memory/global/testing.md"
    before = file.read_bytes()
    file.unlink()
    assert unseen(bench) == {TESTING: "deleted"}
    bench.unseen.take_back(context, TESTING, "")
    assert file.read_bytes() == before
    file.unlink()
    assert unseen(bench) == {TESTING: "deleted"}
    see(bench)
    assert unseen(bench) == {}
    with pytest.raises(StoreError):
        bench.unseen.take_back(context, TESTING, "")


def test_taking_back_refuses_what_was_changed_again_meanwhile(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    file = bench.parts.home.root / "memory/global/testing.md"
    outside(bench)
    unseen(bench)
    change = bench.unseen.change(context, TESTING)
    assert change is not None
    outside(bench, "still other words\n")
    with pytest.raises(Conflict):
        bench.unseen.take_back(context, TESTING, change.sha256)
    assert file.read_text() == "still other words\n"


def test_what_changed_between_two_commits_is_read_from_the_history_once(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a home of 100,000 memories each reading takes as long as the rest of a refresh."""
    asked: list[str | None] = []
    changes = History.changes

    def counted(self: History, old: str | None, new: str) -> tuple[VersionChange, ...]:
        asked.extend([new] if old != new else [])
        return changes(self, old, new)

    monkeypatch.setattr(History, "changes", counted)
    outside(bench)
    assert badges(bench) == badges(bench) == {TESTING}
    assert len(asked) == 1
    outside(bench, "more words\n")
    assert badges(bench) == {TESTING}
    assert len(asked) == 2
