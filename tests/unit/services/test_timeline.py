"""A timeline tells every change of what it follows, by whom, and brings each point back byte for byte."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.benches import NOW, Time, sample_parts, workspace
from helpers.samples import snapshot
from reverie.agents.scopes import ScopeContext
from reverie.errors import Conflict, StoreError
from reverie.memory.history.reader import COMMITS_A_PAGE, HistoryPlace, LogEntry
from reverie.runs.record import RunKind, RunRecord
from reverie.services.changes import ChangeSet
from reverie.services.container import HomeContainer
from reverie.services.edits import CompanionFiles, UserEdits
from reverie.services.timeline import RestorePlan, State, TimelineService, TimelineTarget
from reverie.services.views import Undo
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
TESTING = "/memories/global/testing.md"


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def parts(tmp_path: Path, clock: Time) -> HomeContainer:
    parts = sample_parts("mux-home", tmp_path, clock)
    parts.snapshots.observe(source="test")
    return parts


@pytest.fixture
def desk(parts: HomeContainer) -> TimelineService:
    return TimelineService(parts)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


@pytest.fixture
def edits(parts: HomeContainer) -> UserEdits:
    return UserEdits(parts)


def seen(parts: HomeContainer, *rels: str) -> None:
    """Somebody outside changed these, and the watcher saw it."""
    paths = [parts.home.root / "memory" / rel for rel in rels]
    parts.snapshots.observe(source="test", dirty=paths)


def write(parts: HomeContainer, rel: str, text: str | bytes) -> Path:
    path = parts.home.root / "memory" / rel
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@dataclass(frozen=True)
class Point:
    """One change of what is followed."""

    desk: TimelineService
    entry: LogEntry

    @property
    def what(self) -> str:
        return self.entry.what

    @property
    def who(self) -> str:
        return self.desk.who(self.entry.commit)

    @property
    def path(self) -> str:
        return self.desk.path_of(State(None, self.entry.place), "")

    @property
    def other_path(self) -> str:
        return self.desk.path_of(State(None, self.entry.other), "") if self.entry.other is not None else ""

    @property
    def after(self) -> State:
        return State(self.entry.commit.id, self.entry.place)

    @property
    def before(self) -> State:
        renamed = self.what == "renamed" and self.entry.other is not None
        return State(self.entry.commit.parent, (renamed and self.entry.other) or self.entry.place)


def points(desk: TimelineService, target: TimelineTarget) -> tuple[Point, ...]:
    return tuple(Point(desk, entry) for entry in desk._parts.snapshots.history.log(target.place).entries)


def told(desk: TimelineService, target: TimelineTarget) -> list[tuple[str, str]]:
    return [(point.who, point.what) for point in points(desk, target)]


def bring_back(
    parts: HomeContainer, desk: TimelineService, plan: RestorePlan, *, remove_newer: bool = False
) -> Undo:
    changes, pins = desk.changes(plan, remove_newer=remove_newer)
    return ChangeSet(parts).apply(plan.target.context, changes, kind="restore", subject="Restored", pins=pins)


def test_every_change_is_a_point_with_its_author_and_its_text(
    parts: HomeContainer, desk: TimelineService, edits: UserEdits, context: ScopeContext
) -> None:
    first = edits.read(context, TESTING).content
    write(parts, "global/testing.md", "from outside\n")
    seen(parts, "global/testing.md")
    edits.save(context, TESTING, "mine\n", edits.read(context, TESTING).sha256)
    edits.delete(context, TESTING)
    target = desk.target(context, TESTING)
    assert told(desk, target) == [
        ("you", "deleted"),
        ("you", "changed"),
        ("outside", "changed"),
        ("outside", "created"),
    ]
    contents = [desk.read(point.after) for point in points(desk, target)]
    assert contents == [None, b"mine\n", b"from outside\n", first.encode()]
    assert [desk.read(point.before) for point in points(desk, target)] == [*contents[1:], None]
    assert desk.read(desk.on_disk(target.place)) is None


def test_a_file_is_followed_through_renames_and_moves_whoever_made_them(
    parts: HomeContainer, desk: TimelineService, edits: UserEdits, context: ScopeContext
) -> None:
    edits.rename(context, TESTING, "/memories/global/deep/tests.md")
    moved = parts.home.root / "memory/global/deep/tests.md"
    text = "".join(f"line {number}\n" for number in range(10))
    moved.write_text(text)
    seen(parts, "global/deep/tests.md")
    moved.rename(write(parts, "global/again.md", text))
    write(parts, "global/again.md", text + "one more\n")  # renamed and edited between two looks
    seen(parts, "global/deep", "global/again.md")
    target = desk.target(context, "/memories/global/again.md")
    assert told(desk, target) == [
        ("outside", "renamed"),
        ("outside", "changed"),
        ("you", "renamed"),
        ("outside", "created"),
    ]
    found = points(desk, target)
    assert [point.path.rpartition("/")[2] for point in found] == [
        "again.md",
        "tests.md",
        "tests.md",
        "testing.md",
    ]
    assert found[0].other_path == "/memories/global/deep/tests.md"
    assert desk.read(found[0].before) == text.encode()
    old = points(desk, desk.target(context, TESTING))
    assert (old[0].what, old[0].other_path) == ("moved-away", "/memories/global/deep/tests.md")


def test_what_was_made_anew_under_an_old_name_is_no_rename(
    parts: HomeContainer, desk: TimelineService, context: ScopeContext
) -> None:
    (parts.home.root / "memory/global/testing.md").unlink()
    write(parts, "global/other.md", "nothing in common\n")
    seen(parts, "global/testing.md", "global/other.md")
    assert told(desk, desk.target(context, "/memories/global/other.md")) == [("outside", "created")]
    assert told(desk, desk.target(context, TESTING))[0] == ("outside", "deleted")


def test_a_folder_and_a_scope_tell_how_many_files_changed_and_what_differs(
    parts: HomeContainer, desk: TimelineService, edits: UserEdits, context: ScopeContext
) -> None:
    write(parts, "global/new/a.md", "a\n")
    write(parts, "global/new/b.md", "b\n")
    seen(parts, "global/new")
    write(parts, "global/new/a.md", "A\n")
    (parts.home.root / "memory/global/new/b.md").unlink()
    write(parts, "global/new/c.md", "c\n")
    seen(parts, "global/new")
    (parts.home.root / "memory/global/new/c.md").rename(parts.home.root / "memory/global/new/d.md")
    seen(parts, "global/new")
    edits.rename(context, "/memories/global/new", "/memories/global/newer")
    edits.pin(context, [TESTING], True)  # a pin is no change of what is remembered
    target = desk.target(context, "/memories/global/newer")
    found = points(desk, target)
    assert [each.what for each in found] == ["renamed", "changed", "changed", "created"]
    assert len(points(desk, desk.target(context, "/memories/global"))) == 5


def test_a_long_timeline_comes_in_pages_that_leave_nothing_out(
    parts: HomeContainer, desk: TimelineService, edits: UserEdits, context: ScopeContext
) -> None:
    for number in range(12):
        write(parts, "global/testing.md", f"{number}\n")
        seen(parts, "global/testing.md")
        write(parts, "global/other.md", f"{number}\n")
        seen(parts, "global/other.md")
    target = desk.target(context, TESTING)
    history = parts.snapshots.history
    whole = history.log(target.place, limit=1000)
    assert whole.next is None
    found: list[LogEntry] = []
    start = None
    while True:
        page = history.log(target.place, start, limit=5)
        assert len(page.entries) <= 5
        found += page.entries
        start = page.next
        if start is None:
            break
    assert tuple(found) == whole.entries
    edits.delete(context, TESTING)
    assert len(history.log(target.place, limit=1000).entries) == 14
    assert len(found) == 13
    assert COMMITS_A_PAGE < 5_000


def test_each_line_is_told_to_its_point_and_what_is_not_kept_yet_to_none(
    parts: HomeContainer, desk: TimelineService, edits: UserEdits, context: ScopeContext
) -> None:
    write(parts, "global/lines.md", "one\ntwo\nthree\n")
    seen(parts, "global/lines.md")
    path = "/memories/global/lines.md"
    edits.save(context, path, "one\n2\nthree\n", edits.read(context, path).sha256)
    edits.rename(context, path, "/memories/global/rows.md")
    write(parts, "global/rows.md", "one\n2\nthree\nfour\n")
    target = desk.target(context, "/memories/global/rows.md")
    view = desk.blame(target)
    told_to = [view.authors[author].who if author >= 0 else "" for _text, author in view.rows]
    assert [text for text, _author in view.rows] == ["one", "2", "three", "four"]
    assert told_to == ["outside", "you", "outside", ""]
    before = desk.blame(target, points(desk, target)[-1].after)
    assert [text for text, _author in before.rows] == ["one", "two", "three"]
    assert {author.who for author in before.authors} == {"outside"}
    write(parts, "global/rows.md", b"\0binary")
    assert desk.blame(target).rows == ()


def test_a_line_of_a_run_leads_to_it_as_long_as_its_record_is_there(
    parts: HomeContainer, context: ScopeContext
) -> None:
    runs: list[str] = []
    kinds: tuple[RunKind, ...] = ("dream", "writer", "dream")
    for number, kind in enumerate(kinds):
        record = RunRecord(
            id=parts.runs.new_id(NOW + number),
            kind=kind,
            home_id=parts.home_id,
            home_root=str(parts.home.root),
            workspace_id=ACME,
            project_path=None,
            trigger="manual",
            engine="rules",
            started_at=NOW + number,
        )
        parts.runs.note(record)
        path = write(parts, f"global/run{number}.md", "kept\n")
        parts.snapshots.record(actor=kind, source="test", subject="A run", run_id=record.id, dirty=[path])
        runs.append(record.id)
    desk = TimelineService(parts)
    for number, kind in enumerate(kinds):
        (author,) = desk.blame(desk.target(context, f"/memories/global/run{number}.md")).authors
        assert (author.who, author.change, author.subject) == (kind, runs[number], "A run")
    shutil.rmtree(parts.profile.runs(parts.home_id))
    (gone,) = desk.blame(desk.target(context, "/memories/global/run2.md")).authors
    assert (gone.who, gone.change) == ("dream", parts.snapshots.history.head())


def test_a_deleted_file_and_a_vanished_scope_come_back_with_pins_and_the_undo_takes_them_back(
    parts: HomeContainer, desk: TimelineService, edits: UserEdits, context: ScopeContext
) -> None:
    edits.pin(context, [TESTING], True)
    scope = parts.home.root / "memory/global"
    before = {path: data for path, (_m, _t, data) in snapshot(scope).items() if data is not None}
    target = desk.target(context, "/memories/global")
    then = points(desk, target)[0]
    shutil.rmtree(scope)
    file = desk.target(context, TESTING)
    assert points(desk, file), "a vanished scope keeps its timeline"
    plan = desk.plan(target, then.after)
    assert {each.verb for each in plan.files} == {"create"}
    bring_back(parts, desk, plan)
    assert {path: data for path, (_m, _t, data) in snapshot(scope).items() if data is not None} == before
    edits.delete(context, TESTING)
    restored = bring_back(parts, desk, desk.plan(file, points(desk, file)[0].before))
    assert (scope / "testing.md").read_bytes() == before["testing.md"]
    assert any(usage.pinned for key, usage in parts.usage.load().items() if key.endswith("testing.md"))
    UserEdits(parts).undo(restored)
    assert not (scope / "testing.md").exists()


def test_a_folder_comes_back_as_it_was_and_what_came_since_goes_only_when_asked(
    parts: HomeContainer, desk: TimelineService, context: ScopeContext
) -> None:
    for name in "abc":
        write(parts, f"global/f/{name}.md", f"{name}\n")
    seen(parts, "global/f")
    target = desk.target(context, "/memories/global/f")
    then = points(desk, target)[0].after
    write(parts, "global/f/a.md", "changed\n")
    (parts.home.root / "memory/global/f/b.md").unlink()
    write(parts, "global/f/d.md", "since\n")
    seen(parts, "global/f")
    plan = desk.plan(target, then)
    assert [(file.path[-4:], file.verb) for file in plan.files] == [("a.md", "change"), ("b.md", "create")]
    assert [file.path[-4:] for file in plan.newer] == ["d.md"]
    assert plan.same == 1
    folder = parts.home.root / "memory/global/f"
    undo = bring_back(parts, desk, plan)
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "b.md", "c.md", "d.md"]
    UserEdits(parts).undo(undo)
    assert (folder / "a.md").read_text() == "changed\n"
    bring_back(parts, desk, desk.plan(target, then), remove_newer=True)
    assert sorted(path.name for path in folder.iterdir()) == ["a.md", "b.md", "c.md"]
    assert (folder / "a.md").read_text() == "a\n"


def test_what_changes_between_plan_and_restore_is_told_and_left(
    parts: HomeContainer, desk: TimelineService, context: ScopeContext
) -> None:
    write(parts, "global/testing.md", "second\n")
    seen(parts, "global/testing.md")
    target = desk.target(context, TESTING)
    plan = desk.plan(target, points(desk, target)[1].after)
    path = write(parts, "global/testing.md", "third\n")
    with pytest.raises(Conflict):
        bring_back(parts, desk, plan)
    assert path.read_text() == "third\n"


def test_nothing_to_bring_back_and_no_scope_are_said(desk: TimelineService, context: ScopeContext) -> None:
    target = desk.target(context, TESTING)
    with pytest.raises(StoreError):
        desk.plan(target, desk.on_disk(target.place))
    with pytest.raises(StoreError):
        desk.target(context, "/memories/nowhere/x.md")
    assert points(desk, desk.target(context, "/memories/global/never.md")) == ()
    assert desk.files(points(desk, target)[-1].before) == {}


def test_looking_writes_nothing_in_the_home(
    parts: HomeContainer, desk: TimelineService, context: ScopeContext
) -> None:
    before = snapshot(parts.home.root)
    target = desk.target(context, "/memories/global")
    found = points(desk, target)
    desk.difference(found[-1].before, desk.on_disk(target.place))
    desk.plan(target, found[0].after)
    desk.blame(desk.target(context, TESTING))
    assert snapshot(parts.home.root) == before
    assert points(desk, TimelineTarget(context, target.scope, "", HistoryPlace("workspace/none", ""))) == ()


def test_a_companion_has_a_timeline_and_lines_and_comes_back_as_it_was(
    parts: HomeContainer, desk: TimelineService, context: ScopeContext, clock: Time
) -> None:
    companion = next(each for each in parts.home.companions(context) if each.path.name == "AGENTS.md")
    files = CompanionFiles(parts)
    before = files.read(companion)
    clock.now += 1_000
    files.save(companion, before.content + "\nmine\n", before.sha256)
    target = desk.target(context, str(companion.path))
    found = points(desk, target)
    assert [point.who for point in found] == ["you", "outside"]
    assert found[0].path == str(companion.path)
    assert (desk.read(found[1].after) or b"").decode() == before.content
    assert desk.difference(found[1].after, desk.on_disk(target.place)).endswith("+mine\n")
    assert desk.blame(target).rows[-1][0] == "mine"
    bench = Workbench(parts)
    plan = desk.plan(target, found[1].after)
    assert [(file.path, file.verb) for file in plan.files] == [(str(companion.path), "change")]
    undo = bench.restore(plan)
    assert companion.path.read_text() == before.content
    with pytest.raises(Conflict):
        bench.restore(plan)
    assert bench.undo(undo) == f"Restored {companion.label}."
    assert companion.path.read_text() == before.content + "\nmine\n"
    companion.path.unlink()
    parts.snapshots.observe(source="the watcher", dirty=[companion.path])
    undo = bench.restore(desk.plan(target, found[0].after))
    assert companion.path.read_text() == before.content + "\nmine\n"
    companion.path.write_text("by another")
    with pytest.raises(Conflict):
        bench.undo(undo)
    assert companion.path.read_text() == "by another"
    companion.path.write_text(before.content + "\nmine\n")
    bench.undo(undo)
    assert not companion.path.exists()
    assert not list(companion.path.parent.glob(".*aside*"))
    with pytest.raises(StoreError):
        desk.target(context, "/etc/passwd")
