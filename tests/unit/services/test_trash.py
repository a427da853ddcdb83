"""Everything deleted is in the trash with who did it, and comes back byte for byte without overwriting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.benches import contents, sample_parts, workspace
from helpers.samples import snapshot
from reverie.agents.scopes import ScopeContext
from reverie.errors import Conflict, StoreError, Unavailable
from reverie.memory.recording import Snapshots
from reverie.services.changes import ChangeSet
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.trash import TrashEntry, TrashService, numbered
from reverie.services.views import Undo

ACME = "a1f3c9e2b7"
TESTING = "/memories/global/testing.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    parts = sample_parts("mux-home", tmp_path)
    parts.snapshots.observe(source="a scan on opening")
    return parts


@pytest.fixture
def desk(parts: HomeContainer) -> TrashService:
    return TrashService(parts)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


def memories(parts: HomeContainer) -> dict[str, bytes]:
    return contents(parts.home.root / "memory")


def entries(desk: TrashService) -> dict[str, TrashEntry]:
    return {entry.path: entry for entry in desk.page()[0]}


def test_what_anybody_deleted_is_listed_with_who_did_it_and_looking_writes_nothing(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    assert desk.page()[0] == ()
    before = memories(parts)
    UserEdits(parts).delete(context, TESTING)
    (parts.home.root / "memory/global/machines/laptop.md").unlink()
    parts.snapshots.observe(source="a scan on opening")
    looked = snapshot(parts.home.root)
    found = entries(desk)
    assert {path: entry.actor for path, entry in found.items()} == {
        TESTING: "user",
        "/memories/global/machines/laptop.md": "outside",
    }
    assert found[TESTING].size == len(before["global/testing.md"])
    assert desk.read(found[TESTING]) == before["global/testing.md"]
    assert snapshot(parts.home.root) == looked


def test_several_come_back_byte_for_byte_with_mode_and_pin_and_can_be_taken_back(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    edits = UserEdits(parts)
    file = parts.home.root / "memory/global/testing.md"
    file.chmod(0o600)
    edits.pin(context, [TESTING], True)
    before = memories(parts)
    edits.delete(context, TESTING)
    edits.delete(context, "/memories/project/api")
    gone = memories(parts)
    undo = desk.restore(desk.page()[0])
    assert memories(parts) == before
    assert file.stat().st_mode & 0o777 == 0o600
    key = parts.home.usage_key(parts.home.roots()[0], "testing.md")
    assert key is not None
    assert parts.usage.load()[key].pinned
    assert desk.page()[0] == ()
    edits.undo(undo)
    assert memories(parts) == gone
    assert set(entries(desk)) == {TESTING, *(path for path in entries(desk) if "/project/api/" in path)}


def test_a_taken_place_is_kept_and_the_file_comes_back_beside_it(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    old = memories(parts)["global/testing.md"]
    edits = UserEdits(parts)
    edits.delete(context, TESTING)
    edits.save(context, TESTING, "new\n", None)
    edits.save(context, "/memories/global/testing-2.md", "also taken\n", None)
    (entry,) = desk.page()[0]
    assert entry.taken
    assert desk.names([entry]) == {entry.id: "/memories/global/testing-3.md"}
    desk.restore([entry])
    now = memories(parts)
    assert (now["global/testing.md"], now["global/testing-3.md"]) == (b"new\n", old)
    with pytest.raises(Conflict):
        desk.restore([entry], {entry.id: TESTING})
    desk.restore([entry], {entry.id: "/memories/global/elsewhere/again.md"})
    assert memories(parts)["global/elsewhere/again.md"] == old


def test_versions_deleted_twice_are_both_there_and_get_names_of_their_own(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    edits = UserEdits(parts)
    for text in ("one\n", "two\n"):
        edits.save(context, "/memories/global/twice.md", text, None)
        edits.delete(context, "/memories/global/twice.md")
    found = desk.page()[0]
    assert [desk.read(entry) for entry in found] == [b"two\n", b"one\n"]
    desk.restore(found)
    now = memories(parts)
    assert (now["global/twice.md"], now["global/twice-2.md"]) == (b"two\n", b"one\n")


def test_a_move_or_rename_is_no_deletion(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    UserEdits(parts).rename(context, TESTING, "/memories/global/new/place.md")
    root = parts.home.root / "memory/global"
    (root / "machines").rename(root / "boxes")
    parts.snapshots.observe(source="a scan on opening")
    assert desk.page()[0] == ()


def test_several_contexts_come_back_as_one_or_not_at_all(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    projects = [root for root in parts.home.roots() if root.key.startswith("project/")]
    files = [next(path for path in sorted(root.directory.rglob("*.md"))) for root in projects]
    before = memories(parts)
    for file in files:
        file.unlink()
    parts.snapshots.observe(source="a scan on opening")
    reachable = [entry for entry in desk.page()[0] if entry.reachable]
    lost = [entry for entry in desk.page()[0] if not entry.reachable]
    assert len(reachable) >= 2
    assert len(reachable) + len(lost) == len(files)
    gone = memories(parts)
    if lost:
        with pytest.raises(Unavailable):
            desk.restore([*reachable, *lost])
        assert memories(parts) == gone
    taken = reachable[-1]
    with pytest.raises(Conflict):
        desk.restore(reachable, {taken.id: _other_file(parts, taken)})
    assert memories(parts) == gone
    undo = desk.restore(reachable)
    assert undo.count == len(reachable)
    assert len(undo.steps) == len(reachable)
    assert {path for path in before if path not in memories(parts)} == {
        f"project/{entry.deletion.place.key.partition('/')[2]}/{entry.deletion.place.rel}" for entry in lost
    }


def test_a_restore_of_several_contexts_says_what_went_wrong_in_any_of_them(
    parts: HomeContainer, desk: TrashService, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = [root for root in parts.home.roots() if root.key.startswith("project/")]
    for root in projects:
        next(path for path in sorted(root.directory.rglob("*.md"))).unlink()
    parts.snapshots.observe(source="a scan on opening")
    reachable = [entry for entry in desk.page()[0] if entry.reachable]
    assert len(reachable) >= 2
    record, calls = Snapshots.record, 0

    def once(self: Snapshots, **other: Any) -> object:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise Unavailable("The history was not written.", cause="The disk is full.")
        return record(self, **other)

    monkeypatch.setattr(Snapshots, "record", once)
    undo = desk.restore(reachable)
    assert undo.warning == "The history was not written. The disk is full."


def test_a_restore_that_fails_takes_everything_else_back_and_keeps_what_changed_since(
    parts: HomeContainer, desk: TrashService, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = [root for root in parts.home.roots() if root.key.startswith("project/")]
    for root in projects:
        next(path for path in sorted(root.directory.rglob("*.md"))).unlink()
    parts.snapshots.observe(source="a scan on opening")
    first, second, *_rest = [entry for entry in desk.page()[0] if entry.reachable]
    gone = memories(parts)
    apply, theirs = ChangeSet.apply, b"theirs\n"
    paths: list[Path] = []

    def failing(self: ChangeSet, context: ScopeContext, changes: Any, **other: Any) -> Undo:
        if paths:
            paths[0].write_bytes(theirs)
            raise Unavailable("The second project is not there.", cause="Its disk is gone.")
        paths.append(_place(parts, first if changes[0].path == first.path else second))
        return apply(self, context, changes, **other)

    monkeypatch.setattr(ChangeSet, "apply", failing)
    with pytest.raises(
        Conflict, match=r"The second project is not there.* changed again later, and was left"
    ):
        desk.restore([first, second])
    rel = paths[0].relative_to(parts.home.root / "memory").as_posix()
    assert memories(parts) == {**gone, rel: theirs}


def _place(parts: HomeContainer, entry: TrashEntry) -> Path:
    root = next(root for root in parts.home.roots() if root.key == entry.deletion.place.key)
    return root.directory / entry.deletion.place.rel


def _other_file(parts: HomeContainer, entry: TrashEntry) -> str:
    root = next(root for root in parts.home.roots() if root.key == entry.deletion.place.key)
    other = next(path for path in sorted(root.directory.rglob("*.md")))
    return f"/memories/{entry.scope}/{other.relative_to(root.directory).as_posix()}"


def test_nothing_selected_is_said(desk: TrashService) -> None:
    with pytest.raises(StoreError):
        desk.restore([])


@pytest.mark.parametrize(
    ("rel", "expected"),
    [("a.md", "a-2.md"), ("x/a.b.md", "x/a.b-2.md"), ("README", "README-2"), ("x/.hid", "x/.hid-2")],
)
def test_a_numbered_name_keeps_its_suffix(rel: str, expected: str) -> None:
    assert numbered(rel, 2) == expected


def test_a_long_history_is_read_page_by_page(
    parts: HomeContainer, desk: TrashService, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.memory.history import reader as history_deletions

    monkeypatch.setattr(history_deletions, "DELETIONS_COMMITS_A_PAGE", 2)
    edits = UserEdits(parts)
    for number in range(3):
        edits.save(context, f"/memories/global/{number}.md", f"{number}\n", None)
        edits.delete(context, f"/memories/global/{number}.md")
    found, start = [], None
    while True:
        entries, start = desk.page(start)
        found += [entry.path for entry in entries]
        if start is None:
            break
    assert found == [f"/memories/global/{number}.md" for number in (2, 1, 0)]


@pytest.mark.parametrize("way", ["restored", "undone", "by hand"])
def test_what_is_back_is_not_listed_also_once_it_was_changed(
    parts: HomeContainer, desk: TrashService, context: ScopeContext, way: str
) -> None:
    """W3: one's own restored and edited note was listed as deleted, and as another memory in its place."""
    file = parts.home.root / "memory/global/testing.md"
    before = file.read_bytes()
    edits = UserEdits(parts)
    undo = edits.delete(context, TESTING)
    (entry,) = desk.page()[0]
    assert entry.path == TESTING
    if way == "restored":
        desk.restore([entry])
    elif way == "undone":
        edits.undo(undo)
    else:
        file.write_bytes(before)
        parts.snapshots.observe(source="test")
    assert desk.page()[0] == ()
    edits.save(context, TESTING, "changed since\n", edits.read(context, TESTING).sha256)
    assert desk.page()[0] == ()


def test_what_was_restored_under_another_name_is_not_listed_until_that_is_undone(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    UserEdits(parts).delete(context, TESTING)
    (entry,) = desk.page()[0]
    undo = desk.restore([entry], {entry.id: "/memories/global/again.md"})
    assert desk.page()[0] == ()
    UserEdits(parts).undo(undo)
    assert TESTING in entries(desk)


def test_a_place_that_another_memory_has_taken_is_told_of(
    parts: HomeContainer, desk: TrashService, context: ScopeContext
) -> None:
    UserEdits(parts).delete(context, TESTING)
    UserEdits(parts).save(context, TESTING, "another memory\n", None)
    (entry,) = desk.page()[0]
    assert entry.taken
