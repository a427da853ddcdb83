"""A part of a run taken back: what is asked for and nothing else, all of it or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import contents, sample_parts, workspace
from helpers.engines import ScriptedEngine, carried_out
from reverie.errors import Conflict, StoreError, Unavailable
from reverie.jobs.consolidate.run import DreamRequest, dream_lease_name
from reverie.runs.parts import Parts, version_without
from reverie.services.container import HomeContainer

ACME = "a1f3c9e2b7"
LINES = "".join(f"Line {number}.\n" for number in range(20))
CHANGED = (
    LINES.replace("Line 2.", "Line two.")
    .replace("Line 9.\n", "Line nine.\nAnd more.\n")
    .replace("Line 17.\n", "")
)
PATH, GONE, NEW = (f"/memories/global/{name}.md" for name in ("twenty", "gone", "new"))


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    made = sample_parts("mux-home", tmp_path)
    (made.home.root / "memory/global/twenty.md").write_text(LINES)
    (made.home.root / "memory/global/gone.md").write_text("Line 3.\n")
    return made


@pytest.fixture
def run_id(parts: HomeContainer) -> str:
    """A run that edits one file in three places, deletes one and makes one."""
    engine = ScriptedEngine(
        *(
            {"command": "str_replace", "path": PATH, "old_str": old, "new_str": new}
            for old, new in (
                ("Line 2.", "Line two."),
                ("Line 9.\n", "Line nine.\nAnd more.\n"),
                ("Line 16.\nLine 17.\n", "Line 16.\n"),
            )
        ),
        {"command": "delete", "path": GONE},
        {"command": "create", "path": NEW, "file_text": "New.\n"},
    )
    run = carried_out(parts, DreamRequest(workspace(parts, ACME)), engine)
    assert run.outcome == "completed", run
    assert text(parts, PATH) == CHANGED
    return run.run_id


def place(parts: HomeContainer, path: str) -> Path:
    return parts.home.root / path.replace("/memories/", "memory/", 1).lstrip("/")


def text(parts: HomeContainer, path: str) -> str | None:
    return place(parts, path).read_text() if place(parts, path).exists() else None


def memories(parts: HomeContainer) -> dict[str, bytes]:
    return {name: data for name, data in contents(parts.home.root).items() if name.startswith("memory/")}


def test_one_hunk_goes_back_and_everything_else_stays(parts: HomeContainer, run_id: str) -> None:
    covered = (parts.home.root / "memory-consolidation.json").read_bytes()
    usage = parts.usage.load()
    before = memories(parts)
    result = parts.reverter.revert(run_id, {PATH: frozenset({1})})
    assert text(parts, PATH) == CHANGED.replace("Line nine.\nAnd more.\n", "Line 9.\n")
    changed = {name for name, data in memories(parts).items() if data != before.get(name)}
    assert changed == {"memory/global/twenty.md"}
    assert parts.usage.load() == usage
    assert (parts.home.root / "memory-consolidation.json").read_bytes() == covered
    assert result.summary == "Took back 1 change in " + result.applied[0].rpartition("/")[2] + "."
    record = parts.runs.load(run_id)
    assert not record.reverted
    assert record.taken_back == {PATH: frozenset({1})}
    assert record.as_json()["takenBack"] == {PATH: [2]}
    assert parts.snapshots.history.commits()[0].run_id == result.run_id


def test_lines_written_since_outside_the_hunk_stay(parts: HomeContainer, run_id: str) -> None:
    mine = CHANGED.replace("Line 5.", "Line five, by me.") + "Mine.\n"
    place(parts, PATH).write_text(mine)
    parts.reverter.revert(run_id, {PATH: frozenset({0, 2})})
    expected = mine.replace("Line two.", "Line 2.").replace("Line 16.\n", "Line 16.\nLine 17.\n")
    assert text(parts, PATH) == expected


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Line nine.", "Line NINE.", "The lines to undo in"),
        # The lines of the hunk and those around it stand there twice: either could be meant.
        (
            "Line 8.\nLine nine.\nAnd more.\nLine 10.\n",
            "Line 8.\nLine nine.\nAnd more.\nLine 10.\n" * 2,
            "more than one place",
        ),
    ],
)
def test_a_conflict_refuses_every_part_that_was_asked_for(
    parts: HomeContainer, run_id: str, old: str, new: str, why: str
) -> None:
    place(parts, PATH).write_text(CHANGED.replace(old, new))
    before, runs = contents(parts.home.root), parts.runs.ids()
    with pytest.raises(Conflict, match=why):
        parts.reverter.revert(run_id, {GONE: None, PATH: frozenset({1})})
    assert contents(parts.home.root) == before
    assert parts.runs.ids() == runs
    parts.reverter.revert(run_id, {GONE: None, PATH: frozenset({0})})
    assert text(parts, GONE) == "Line 3.\n"


def test_a_file_that_came_or_went_is_taken_back_with_its_use(parts: HomeContainer, run_id: str) -> None:
    parts.reverter.revert(run_id, {GONE: None, NEW: None})
    assert (text(parts, GONE), text(parts, NEW), text(parts, PATH)) == ("Line 3.\n", None, CHANGED)
    assert "global:new.md" not in parts.usage.load()
    assert parts.runs.load(run_id).taken_back == {GONE: None, NEW: None}


def test_what_was_taken_back_is_not_taken_back_again(parts: HomeContainer, run_id: str) -> None:
    parts.reverter.revert(run_id, {PATH: frozenset({0}), NEW: None})
    before = contents(parts.home.root)
    again: tuple[Parts, ...] = ({PATH: frozenset({0, 1})}, {NEW: None})
    for part in again:
        with pytest.raises(StoreError, match="Already undone"):
            parts.reverter.revert(run_id, part)
    assert contents(parts.home.root) == before


@pytest.mark.parametrize(
    "part", [{"/memories/global/other.md": None}, {PATH: frozenset({3})}, {NEW: frozenset({0})}, {}]
)
def test_what_the_run_did_not_change_is_no_part_of_it(parts: HomeContainer, run_id: str, part: Parts) -> None:
    before = contents(parts.home.root)
    with pytest.raises(StoreError):
        parts.reverter.revert(run_id, part)
    assert contents(parts.home.root) == before


def test_the_whole_undo_takes_back_the_rest(parts: HomeContainer, run_id: str) -> None:
    parts.reverter.revert(run_id, {PATH: frozenset({1}), GONE: None})
    place(parts, GONE).write_text("Line 3, by me.\n")
    parts.reverter.revert(run_id)
    assert (text(parts, PATH), text(parts, NEW)) == (LINES, None)
    assert text(parts, GONE) == "Line 3, by me.\n"
    assert parts.runs.load(run_id).reverted


def test_the_last_part_makes_it_an_undone_run(parts: HomeContainer, run_id: str) -> None:
    parts.reverter.revert(run_id, {PATH: frozenset({0, 1}), NEW: None})
    assert not parts.runs.load(run_id).reverted
    parts.reverter.revert(run_id, {PATH: frozenset({2}), GONE: None})
    assert (text(parts, PATH), text(parts, NEW), text(parts, GONE)) == (LINES, None, "Line 3.\n")
    assert parts.runs.load(run_id).reverted


def test_a_part_taken_back_can_be_undone_and_that_again(parts: HomeContainer, run_id: str) -> None:
    taken = parts.reverter.revert(run_id, {PATH: frozenset({1}), NEW: None})
    after = memories(parts)
    redone = parts.reverter.revert(taken.run_id)
    assert (text(parts, PATH), text(parts, NEW)) == (CHANGED, "New.\n")
    assert parts.runs.load(run_id).taken_back == {}
    parts.reverter.revert(redone.run_id)
    assert memories(parts) == after
    assert parts.runs.load(run_id).taken_back == {PATH: frozenset({1}), NEW: None}


def test_undoing_an_undone_undo_again_marks_the_run_as_undone(parts: HomeContainer, run_id: str) -> None:
    undone = parts.reverter.revert(run_id)
    redone = parts.reverter.revert(undone.run_id)
    assert not parts.runs.load(run_id).reverted
    parts.reverter.revert(redone.run_id)
    assert text(parts, PATH) == LINES
    assert parts.runs.load(run_id).reverted_by == undone.run_id


def test_a_part_of_an_undone_run_or_of_an_undo_is_refused(parts: HomeContainer, run_id: str) -> None:
    taken = parts.reverter.revert(run_id, {PATH: frozenset({1})})
    whole = parts.reverter.revert(run_id)
    before = contents(parts.home.root)
    with pytest.raises(StoreError, match="already been reverted"):
        parts.reverter.revert(run_id, {PATH: frozenset({0})})
    with pytest.raises(StoreError, match="only be undone as a whole"):
        parts.reverter.revert(whole.run_id, {PATH: None})
    with pytest.raises(StoreError, match="all of which was undone later"):
        parts.reverter.revert(taken.run_id)
    assert contents(parts.home.root) == before


def test_a_part_whose_record_could_not_be_written_is_marked_by_recovery(
    parts: HomeContainer, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object, **_named: object) -> None:
        raise Unavailable("record.json was not written.", cause="The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(type(parts.runs), "change", full)
        result = parts.reverter.revert(run_id, {PATH: frozenset({1})})
    assert parts.runs.load(run_id).taken_back == {}
    with parts.leases.acquire(dream_lease_name(parts.home_id), purpose="test"):
        parts.recovery.run()
    assert parts.runs.load(result.run_id).outcome == "completed"
    assert parts.runs.load(run_id).taken_back == {PATH: frozenset({1})}
    assert not parts.runs.load(run_id).reverted


def test_bytes_that_are_no_text_and_other_line_ends_stay_as_they_are() -> None:
    old = b"a\r\nb \xff\r\nc\r\nd\r\ne"
    new = b"A\r\nb \xff\r\nc\r\nd\r\nE\r\nf"
    assert version_without(old, new, {1}) == b"A\r\nb \xff\r\nc\r\nd\r\ne"
    assert version_without(old, new, {0}) == b"a\r\nb \xff\r\nc\r\nd\r\nE\r\nf"
    assert version_without(old, new, {0, 1}) == version_without(old, new, None) == old
    assert version_without(old, new, ()) == new
