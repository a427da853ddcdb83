"""The "agent edited" badge: what somebody else changed since the person last looked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from helpers.benches import again, sample_parts, workspace
from reverie.errors import Conflict, StoreError
from reverie.memory.history.history import History
from reverie.memory.history.roots import VersionChange
from reverie.services.views import UnseenChange, UnseenKind
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
    bench.edits.delete(context, TESTING)
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
    undo = bench.unseen.take_back(context, change)
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
    change = bench.unseen.change(context, TESTING)
    assert change is not None
    bench.unseen.take_back(context, change)
    assert file.read_bytes() == before
    file.unlink()
    assert unseen(bench) == {TESTING: "deleted"}
    see(bench)
    assert unseen(bench) == {}
    bench.unseen.take_back(context, change)
    assert file.read_bytes() == before, "what was told of can be brought back after it was seen"
    with pytest.raises(Conflict, match="Can't undo: it changed since"):
        bench.unseen.take_back(context, change)


def test_taking_back_refuses_what_was_changed_again_meanwhile(bench: Workbench) -> None:
    context = workspace(bench.parts, ACME)
    file = bench.parts.home.root / "memory/global/testing.md"
    outside(bench)
    unseen(bench)
    change = bench.unseen.change(context, TESTING)
    assert change is not None
    outside(bench, "still other words\n")
    with pytest.raises(Conflict, match="Can't undo: it changed since"):
        bench.unseen.take_back(context, change)
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


LINES = "".join(f"line {number}\n" for number in range(12))


def told(bench: Workbench) -> UnseenChange:
    bench.parts.snapshots.observe(source="test")
    change = bench.unseen.change(workspace(bench.parts, ACME), TESTING)
    assert change is not None
    return change


def save(bench: Workbench, text: str) -> None:
    context = workspace(bench.parts, ACME)
    bench.save(context, TESTING, text, bench.read(context, TESTING).sha256)


def test_undo_brings_back_what_was_told_also_once_it_was_seen(bench: Workbench) -> None:
    """S1: seeing moved the text that Undo brought back, so it did nothing and said that it did."""
    file = bench.parts.home.root / "memory/global/testing.md"
    before = file.read_bytes()
    outside(bench)
    change = told(bench)
    see(bench)
    bench.unseen.take_back(workspace(bench.parts, ACME), change)
    assert file.read_bytes() == before
    with pytest.raises(StoreError, match="nothing left"):
        bench.unseen.take_back(workspace(bench.parts, ACME), change)


def test_what_a_person_saved_is_theirs_whoever_writes_next(bench: Workbench) -> None:
    """S2: an own line was counted as another program's, and its Undo deleted it."""
    save(bench, LINES + "my line\n")
    outside(bench, (LINES + "my line\n").replace("line 3", "their 3"))
    change = told(bench)
    assert (change.lines, change.removed, change.actor) == ((3,), 1, "outside")
    bench.unseen.take_back(workspace(bench.parts, ACME), change)
    assert bench.read(workspace(bench.parts, ACME), TESTING).content == LINES + "my line\n"


@pytest.mark.parametrize("seen", [False, True])
def test_undo_keeps_the_lines_that_a_person_wrote_after_the_change(bench: Workbench, seen: bool) -> None:
    save(bench, LINES)
    outside(bench, LINES.replace("line 3", "their 3"))
    change = told(bench)
    if seen:
        see(bench)
    save(bench, LINES.replace("line 3", "their 3") + "my line\n")
    context = workspace(bench.parts, ACME)
    assert badges(bench) == frozenset(), "an own save counts as seen"
    renewed = bench.unseen.renewed(context, change)
    assert renewed is not None
    assert (renewed.lines, renewed.removed, renewed.before) == ((3,), 1, LINES + "my line\n")
    bench.unseen.take_back(context, change)
    assert bench.read(context, TESTING).content == LINES + "my line\n"
    assert bench.unseen.renewed(context, change) is None, "nothing is left of it"


def test_undo_says_so_where_a_person_wrote_on_the_same_lines(bench: Workbench) -> None:
    save(bench, LINES)
    outside(bench, LINES.replace("line 3", "their 3"))
    change = told(bench)
    mine = LINES.replace("line 3", "mine and their 3")
    save(bench, mine)
    context = workspace(bench.parts, ACME)
    assert bench.unseen.renewed(context, change) == change
    with pytest.raises(Conflict, match="Can't undo: it changed since"):
        bench.unseen.take_back(context, change)
    assert bench.read(context, TESTING).content == mine


def test_a_new_memory_that_a_person_went_on_with_is_not_deleted_by_undo(bench: Workbench) -> None:
    file = bench.parts.home.root / "memory/global/brand-new.md"
    file.write_text("hello\n")
    context = workspace(bench.parts, ACME)
    bench.parts.snapshots.observe(source="test")
    change = bench.unseen.change(context, NEW)
    assert change is not None
    bench.save(context, NEW, "hello\nmine\n", bench.read(context, NEW).sha256)
    assert bench.unseen.renewed(context, change) is None
    with pytest.raises(Conflict, match="Can't undo: it changed since"):
        bench.unseen.take_back(context, change)
    assert file.read_text() == "hello\nmine\n"


def test_what_a_person_deleted_and_somebody_made_again_is_new(bench: Workbench) -> None:
    bench.edits.delete(workspace(bench.parts, ACME), TESTING)
    outside(bench)
    change = told(bench)
    assert (change.kind, change.before) == ("new", None)
