"""Every change set of a home, and taking any of them back."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import Time, sample_parts, workspace
from reverie.agents.scopes import ScopeContext
from reverie.errors import Conflict, StoreError
from reverie.services.change_log import ChangeLogService
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits
from reverie.services.timeline import TimelineService

TESTING = "/memories/global/testing.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    parts = sample_parts("mux-home", tmp_path, Time())
    parts.snapshots.observe(source="test")
    return parts


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, "a1f3c9e2b7")


@pytest.fixture
def timeline(parts: HomeContainer) -> TimelineService:
    return TimelineService(parts)


@pytest.fixture
def log(parts: HomeContainer, timeline: TimelineService) -> ChangeLogService:
    return ChangeLogService(parts, timeline)


def file_of(parts: HomeContainer) -> Path:
    return parts.home.root / "memory/global/testing.md"


def outside(parts: HomeContainer, text: str | None) -> None:
    """Another program writes, or deletes, and the watcher saw it."""
    if text is None:
        file_of(parts).unlink()
    else:
        file_of(parts).write_text(text)
    parts.snapshots.observe(source="test", dirty=[file_of(parts)])


LINES = "".join(f"Line {number}.\n" for number in range(12))


def two_hunks(parts: HomeContainer) -> None:
    outside(parts, LINES)
    outside(parts, LINES.replace("Line 2.", "Second.").replace("Line 9.", "Ninth."))


def test_what_was_there_at_first_was_seen_and_cannot_be_taken_back(log: ChangeLogService) -> None:
    (first,) = log.page().changes
    assert first.is_first
    assert (first.who, first.parent) == ("outside", None)
    assert first.count > 5
    assert not log.review(first).can_take_back
    paths = [file.path for file in first.files]
    assert len(set(paths)) == len(paths), "two projects, but each file has a name of its own"


def test_each_commit_is_a_change_set_with_its_lines(parts: HomeContainer, log: ChangeLogService) -> None:
    two_hunks(parts)
    newest, *_ = log.page().changes
    assert (newest.added, newest.removed, newest.count) == (2, 2, 1)
    assert [(file.path, file.verb) for file in newest.files] == [(TESTING, "edit")]
    assert not newest.is_first
    page = log.page(limit=1)
    assert page.next is not None
    assert [change.id for change in log.page(page.next, limit=9).changes] == [
        change.id for change in log.page().changes[1:]
    ]


def test_lines_are_counted_file_by_file_and_a_rename_changes_none(
    parts: HomeContainer, log: ChangeLogService
) -> None:
    one, other = file_of(parts), file_of(parts).with_name("other.md")
    one.write_text("---\n\nSame.\n")
    other.write_text("Kept.\n")
    parts.snapshots.observe(source="test", dirty=[one, other])
    one.write_text("Kept.\n")
    other.write_text("---\n\nSame.\n")
    parts.snapshots.observe(source="test", dirty=[one, other])
    newest = log.page().changes[0]
    assert (newest.added, newest.removed) == (4, 4), "the same lines in another file are another change"
    third = other.rename(other.with_name("third.md"))
    parts.snapshots.observe(source="test", dirty=[other, third])
    newest = log.page().changes[0]
    assert (newest.added, newest.removed) == (0, 0)
    third.unlink()
    one.write_text("---\n\nSame.\n")
    parts.snapshots.observe(source="test", dirty=[one, third])
    newest = log.page().changes[0]
    assert (newest.added, newest.removed) == (3, 4), "its content in a file that was there is no rename"


def test_one_hunk_is_taken_back_and_undone_while_later_edits_stay(
    parts: HomeContainer, log: ChangeLogService
) -> None:
    two_hunks(parts)
    change = log.page().changes[0]
    outside(parts, file_of(parts).read_text() + "Later.\n")
    view = log.review(change)
    assert (view.can_take_back, view.taken_back) == (True, {})
    undo = log.take_back(change, {TESTING: frozenset({1})})
    assert file_of(parts).read_text() == LINES.replace("Line 2.", "Second.") + "Later.\n"
    assert log.review(change).taken_back == {TESTING: frozenset({1})}
    back = log.page().changes[0]
    assert (back.who, back.how) == ("you", "undone")
    UserEdits(parts).undo(undo)
    assert "Ninth." in file_of(parts).read_text()


def test_where_the_same_lines_changed_since_nothing_is_taken_back(
    parts: HomeContainer, log: ChangeLogService
) -> None:
    two_hunks(parts)
    change = log.page().changes[0]
    outside(parts, file_of(parts).read_text().replace("Second.", "Other."))
    before = file_of(parts).read_bytes()
    with pytest.raises(Conflict):
        log.take_back(change)
    assert file_of(parts).read_bytes() == before
    log.take_back(change, {TESTING: frozenset({1})})
    assert "Line 9." in file_of(parts).read_text()


def test_a_deleted_and_a_created_file_go_back_as_a_whole(
    parts: HomeContainer, log: ChangeLogService, context: ScopeContext
) -> None:
    UserEdits(parts).pin(context, [TESTING], True)
    file_of(parts).chmod(0o640)
    kept = file_of(parts).read_bytes()
    parts.snapshots.observe(source="test")
    outside(parts, None)
    deleted = log.page().changes[0]
    assert [file.verb for file in deleted.files] == ["delete"]
    log.take_back(deleted)
    assert file_of(parts).read_bytes() == kept
    assert file_of(parts).stat().st_mode & 0o777 == 0o640
    assert any(usage.pinned for key, usage in parts.usage.load().items() if key.endswith("testing.md"))
    back = log.page().changes[0]
    assert not log.review(deleted).can_take_back, "it is back"
    with pytest.raises(StoreError):
        log.take_back(deleted)
    log.take_back(back)
    assert not file_of(parts).exists()


def test_a_memory_is_followed_and_a_version_of_it_is_found(
    parts: HomeContainer, log: ChangeLogService, timeline: TimelineService, context: ScopeContext
) -> None:
    first = file_of(parts).read_bytes()
    UserEdits(parts).rename(context, TESTING, "/memories/global/checks.md")
    target = timeline.target(context, "/memories/global/checks.md")
    changes = log.page(None, target).changes
    assert len(changes) == 2
    assert [file.path for file in changes[1].files] == [TESTING], "of many files only what is followed"
    assert changes[0].moved == ((TESTING, "/memories/global/checks.md"),)
    renamed = log.review(changes[0])
    assert [file.verb for group in renamed.groups for file in group.files] == ["rename"]
    only = log.review(changes[1])
    assert [file.path for group in only.groups for file in group.files] == [TESTING]
    found, before, after = log.version(context, changes[1], TESTING)
    assert timeline.read(before) is None
    assert timeline.read(after) == first
    assert found.path == TESTING
    log.take_back(changes[0])
    assert file_of(parts).read_bytes() == first


def test_what_is_too_large_or_no_text_is_named(parts: HomeContainer, log: ChangeLogService) -> None:
    outside(parts, "a\0b")
    view = log.review(log.page().changes[0])
    assert view.refused == (f"{TESTING} is not text.",)
    assert view.groups == ()


def test_what_came_since_a_commit_is_told_without_reading_what_was_before(
    parts: HomeContainer, log: ChangeLogService
) -> None:
    history = parts.snapshots.history
    for number in range(3):
        outside(parts, f"Version {number}.\n")
    newest, second, *_ = log.page().changes
    assert [each.commit.id for each in history.newest_steps(until=second.id).commits] == [newest.id]
    assert history.newest_steps(until=newest.id).commits == ()
    assert history.newest_steps(until=newest.id).next is None
