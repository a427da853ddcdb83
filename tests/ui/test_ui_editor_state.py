"""What happens to open text when the file on disk changes: nothing typed is thrown away by itself."""

from typing import Any

import pytest

from reverie.agents.scopes import ScopeContext
from reverie.services.views import FileText
from reverie.ui.editor import buffer as state
from reverie.ui.editor.buffer import Address, Buffer, FileRef

REF = FileRef.memory("home", "global", "a.md")
ADDRESS = Address(ScopeContext("w", "/p"), "/memories/global/a.md")


def text(content: str, **other: Any) -> FileText:
    values: dict[str, Any] = {"read_only": "", "mtime_ns": 1, "newline": "\n", "bom": False} | other
    return FileText("/memories/global/a.md", content, f"sha of {content}", size=len(content), **values)


def opened(content: str = "one") -> Buffer:
    return state.opened(REF, ADDRESS, text(content))


def test_an_unedited_file_follows_the_disk() -> None:
    after, effect = state.seen_on_disk(opened(), text("two"), "one")
    assert effect == "follow"
    assert after.base == text("two")
    assert after.banner == ""


def conflicting(disk: str = "two") -> Buffer:
    """One with `mine` typed over `one`, which others changed."""
    after, _ = state.seen_on_disk(state.typed(opened(), True), text(disk), "mine")
    return state.merged(after, after.base, modified=True)


def test_an_edited_file_is_merged_and_asks_about_what_is_not_decided() -> None:
    edited = state.typed(opened(), True)
    after, effect = state.seen_on_disk(edited, text("two"), "mine")
    assert (effect, after.base, after.disk) == ("merge", text("one"), text("two"))
    asking = state.merged(after, after.base, modified=True)
    assert (asking.banner, asking.modified, asking.expected_sha256) == ("conflict", True, "sha of one")
    done = state.merged(after, after.disk, modified=True)
    assert (done.banner, done.modified, done.expected_sha256) == ("", True, "sha of two")
    again, effect = state.seen_on_disk(asking, text("two", mtime_ns=9), "mine")
    assert (effect, again.banner) == ("none", "conflict"), "the same version is not merged twice"
    assert state.typed(asking, False).modified, "undone typing decides nothing"


def test_what_cannot_be_edited_is_not_merged_but_asks() -> None:
    after, effect = state.seen_on_disk(state.typed(opened(), True), text("?", read_only="no"), "mine")
    assert (effect, after.banner, after.modified) == ("none", "conflict", True)


def test_an_undone_merge_asks_again() -> None:
    before = state.typed(opened(), True)
    after, _ = state.seen_on_disk(before, text("two"), "mine")
    undone = state.reopened(state.merged(after, after.disk, modified=True), before.base)
    assert (undone.banner, undone.modified, undone.expected_sha256) == ("conflict", True, "sha of one")


def test_the_echo_of_our_own_save_asks_nothing() -> None:
    saved = state.saved(state.typed(opened(), True), text("mine"), still_modified=False)
    after, effect = state.seen_on_disk(saved, text("mine", mtime_ns=9), "mine")
    assert (effect, after.banner, after.modified) == ("none", "", False)


def test_typing_on_during_a_save_stays_unsaved_and_the_next_save_builds_on_it() -> None:
    after = state.saved(state.typed(opened(), True), text("mine"), still_modified=True)
    assert after.modified
    assert after.expected_sha256 == "sha of mine"


def test_when_someone_wrote_the_very_same_text_there_is_no_conflict() -> None:
    after, effect = state.seen_on_disk(state.typed(opened(), True), text("mine"), "mine")
    assert (effect, after.banner, after.modified) == ("none", "", False)


def test_keep_mine_lets_the_next_save_replace_exactly_what_was_shown() -> None:
    conflict = conflicting()
    kept = state.kept_mine(conflict)
    assert (kept.banner, kept.modified, kept.expected_sha256) == ("", True, "sha of two")
    again, _ = state.seen_on_disk(kept, text("two"), "mine")
    assert again.banner == ""
    assert state.seen_on_disk(kept, text("three"), "mine")[1] == "merge"


def test_reload_takes_the_version_on_disk() -> None:
    conflict = conflicting()
    after, effect = state.taken_theirs(conflict)
    assert (effect, after.modified, after.expected_sha256) == ("follow", False, "sha of two")


@pytest.mark.parametrize(("modified", "banner"), [(True, "deleted"), (False, "gone")])
def test_a_deleted_file_stays_open(modified: bool, banner: str) -> None:
    after, effect = state.seen_on_disk(state.typed(opened(), modified), None, "one")
    assert (effect, after.banner) == ("none", banner)
    assert state.taken_theirs(after) == (after, "none")
    again = state.kept_mine(after)
    assert again.expected_sha256 is None, "saving it again creates the file"


def test_a_conflict_ends_when_the_disk_goes_back() -> None:
    conflict = conflicting()
    after, effect = state.seen_on_disk(conflict, text("one"), "mine")
    assert (effect, after.banner, after.modified) == ("none", "", True)


def test_a_file_is_the_same_file_in_every_workspace() -> None:
    assert FileRef.memory("h", "global", "a.md") == FileRef.memory("h", "global", "a.md")
    assert FileRef.memory("h", "workspace/1", "a.md") != FileRef.memory("h", "workspace/2", "a.md")
