"""Records are changed field by field under the store's own lock: nothing that others write is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.at_steps import at_step, no_more_locks
from helpers.loki_home import LokiMaker, error
from helpers.pattern_writers import write_in_two_processes
from helpers.samples import copy_sample
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.failures.lessons import retrieve
from reverie.files.locks import lock_beside
from reverie.memory.history.reader import HistoryPlace
from reverie.profile import Profile
from reverie.services.failures import RecordEdits, parsed, resolution, spelled
from reverie.services.views import FieldChange
from reverie.services.workbench import Workbench

EPISODE = "episodic/2026-08-19/task-ep-2026-08-19-1.json"
PATTERNS = "semantic/patterns.json"


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    found = LokiMaker(tmp_path / "project")
    found.episode(1, errors=[error("A", "a"), error("B", "b")], mine={"z": 1, "a": [0.1, 1.5e300, None]})
    return found


@pytest.fixture
def edits(maker: LokiMaker, tmp_path: Path) -> RecordEdits:
    return Workbench(open_parts(maker.project, Profile.under(tmp_path / "profile"), system_clock)).records


def record(maker: LokiMaker, rel: str) -> Any:
    return json.loads((maker.memory / rel).read_text())


def test_a_resolution_is_written_and_nothing_else(maker: LokiMaker, edits: RecordEdits) -> None:
    path = maker.memory / EPISODE
    before = path.read_text()
    back = edits.change(resolution(EPISODE, 1, {"resolution": ""}, "asked Ada, naïvely"))
    text = path.read_text()
    assert record(maker, EPISODE)["errors_encountered"][1]["resolution"] == "asked Ada, naïvely"
    changed = [
        pair for pair in zip(before.splitlines(), text.splitlines(), strict=True) if pair[0] != pair[1]
    ]
    assert changed == [('      "resolution": ""', '      "resolution": "asked Ada, na\\u00efvely"')]
    edits.change(back)
    assert path.read_text() == before


def test_the_lesson_has_the_resolution_and_the_block_stays(maker: LokiMaker, edits: RecordEdits) -> None:
    now = 1_787_140_800_000
    block = retrieve(maker.memory, now_ms=now).block
    edits.change(resolution(EPISODE, 0, {"resolution": ""}, "mended"))
    after = retrieve(maker.memory, now_ms=now)
    assert [lesson.resolution for lesson in after.lessons] == ["mended", ""]
    assert after.block == block


def test_a_file_keeps_its_spelling(maker: LokiMaker, edits: RecordEdits, tmp_path: Path) -> None:
    sample = copy_sample("loki-project", tmp_path) / ".loki" / "memory"
    for path in sample.rglob("*.json"):
        data = path.read_bytes()
        assert spelled(parsed(data, path.name), data) == data
    maker.file(f"memory/{PATTERNS}", '{\n  "patterns": [],\n  "note": "ü"\n}\n')
    edits.change(FieldChange(PATTERNS, ("note",), "ü", "ö"))
    assert (maker.memory / PATTERNS).read_text() == '{\n  "patterns": [],\n  "note": "ö"\n}\n'


@pytest.mark.parametrize(
    "change",
    [
        resolution(EPISODE, 1, {"resolution": "another"}, "x"),
        resolution(EPISODE, 7, {"resolution": ""}, "x"),
        resolution(EPISODE, -1, {"resolution": ""}, "x"),
        FieldChange(EPISODE, ("importance",), 0.5, 0.7),
        FieldChange(EPISODE, ("task_id", "deep"), "x", "y"),
        FieldChange("semantic/anti-patterns.json", ("patterns", 0, "id"), "gone", "x"),
    ],
)
def test_what_is_not_as_expected_is_left(change: FieldChange, maker: LokiMaker, edits: RecordEdits) -> None:
    maker.patterns(name="anti-patterns")
    before = (maker.memory / EPISODE).read_bytes()
    with pytest.raises(Conflict):
        edits.change(change)
    assert (maker.memory / EPISODE).read_bytes() == before


def test_a_field_that_was_not_there_comes_and_goes(maker: LokiMaker, edits: RecordEdits) -> None:
    before = (maker.memory / EPISODE).read_bytes()
    back = edits.change(FieldChange(EPISODE, ("importance",), None, 0.0, was_there=False))
    assert record(maker, EPISODE)["importance"] == 0.0
    edits.change(back)
    assert (maker.memory / EPISODE).read_bytes() == before


@pytest.mark.parametrize(
    "rel", ["index.json", "timeline.json", "handoffs/a.json", "namespaces.json", "decisions.md"]
)
def test_what_the_agent_keeps_for_itself_is_not_changed(
    rel: str, maker: LokiMaker, edits: RecordEdits
) -> None:
    maker.json(f"memory/{rel}", {"a": 1})
    with pytest.raises(StoreError):
        edits.change(FieldChange(rel, ("a",), 1, 2))
    assert record(maker, rel) == {"a": 1}


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": "\xff"}', b'{"a": 1, "a": 2}', b"[" * 100_000])
def test_what_cannot_be_read_whole_is_never_written(
    content: bytes, maker: LokiMaker, edits: RecordEdits
) -> None:
    maker.file(f"memory/{PATTERNS}", content)
    with pytest.raises(StoreError):
        edits.change(FieldChange(PATTERNS, ("id",), "x", "y"))
    assert (maker.memory / PATTERNS).read_bytes() == content


def test_two_writers_of_the_patterns_lose_nothing(maker: LokiMaker, edits: RecordEdits) -> None:
    assert write_in_two_processes(maker, edits, 25) == []


def test_a_writer_without_a_lock_is_not_overwritten(
    maker: LokiMaker, edits: RecordEdits, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = maker.patterns({"id": "a"})
    whole = RecordEdits._write

    def late(self: RecordEdits, rel: str, before: bytes, after: bytes, warnings: list[str]) -> None:
        path.write_text('{"patterns": ["theirs"]}')
        whole(self, rel, before, after, warnings)

    monkeypatch.setattr(RecordEdits, "_write", late)
    with pytest.raises(Conflict):
        edits.change(FieldChange(PATTERNS, ("patterns", 0, "id"), "a", "b"))
    assert path.read_text() == '{"patterns": ["theirs"]}'


def test_a_store_that_its_agent_holds_is_waited_for(
    maker: LokiMaker, edits: RecordEdits, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = maker.patterns({"id": "a"})

    def soon(target: Path) -> Any:
        return lock_beside(target, timeout_s=0.02)

    monkeypatch.setattr("reverie.services.failures.lock_beside", soon)
    with lock_beside(path), pytest.raises(UserError, match="locked by its agent"):
        edits.change(FieldChange(PATTERNS, ("patterns", 0, "id"), "a", "b"))
    edits.change(FieldChange(PATTERNS, ("patterns", 0, "id"), "a", "b"))
    assert record(maker, PATTERNS)["patterns"] == [{"id": "b"}]


def test_the_history_has_the_record_before_and_after(maker: LokiMaker, tmp_path: Path) -> None:
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), system_clock)
    before = (maker.memory / EPISODE).read_bytes()
    RecordEdits(parts).change(resolution(EPISODE, 0, {"resolution": ""}, "mended"))
    history = parts.snapshots.history
    place = HistoryPlace("project/memory", EPISODE)
    entries = history.log(place).entries
    kept = [history.read(entry.commit.id, place.key, place.rel) for entry in entries]
    assert kept == [(maker.memory / EPISODE).read_bytes(), before]
    assert [entry.commit.actor for entry in entries] == ["user", "outside"]


def test_other_homes_keep_no_records(tmp_path: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    parts = open_parts(home, Profile.under(tmp_path / "profile"), system_clock)
    with pytest.raises(Unavailable):
        _ = Workbench(parts).records


@pytest.fixture
def desk(maker: LokiMaker, tmp_path: Path) -> Workbench:
    return Workbench(open_parts(maker.project, Profile.under(tmp_path / "profile"), system_clock))


def test_an_episode_goes_and_comes_back_by_undo_and_from_the_trash(maker: LokiMaker, desk: Workbench) -> None:
    context, path = desk.parts.home.context(), f"/memories/project/{EPISODE}"
    before = (maker.memory / EPISODE).read_bytes()
    undo = desk.edits.delete(context, path)
    assert not (maker.memory / EPISODE).exists()
    assert retrieve(maker.memory, now_ms=1_787_140_800_000).lessons == ()
    desk.undo(undo)
    assert (maker.memory / EPISODE).read_bytes() == before
    desk.edits.delete(context, path)
    (entry,) = [each for each in desk.trash.page()[0] if not each.taken]
    undo = desk.trash.restore([entry])
    assert (maker.memory / EPISODE).read_bytes() == before
    desk.undo(undo)
    assert not (maker.memory / EPISODE).exists()


@pytest.mark.parametrize(
    "rel",
    [
        "episodic",
        "episodic/2026-08-19",
        "episodic/2026-08-19/index.json",
        PATTERNS,
        "index.json",
        "handoffs/a.json",
        "skills/a.json",
    ],
)
def test_nothing_else_of_the_agent_is_deleted(rel: str, maker: LokiMaker, desk: Workbench) -> None:
    if rel.endswith(".json"):
        maker.json(f"memory/{rel}", {"a": 1})
    with pytest.raises(StoreError):
        desk.edits.delete(desk.parts.home.context(), f"/memories/project/{rel}")
    assert (maker.memory / rel).exists()
    assert (maker.memory / EPISODE).exists()


def test_an_episode_is_only_deleted_and_only_while_its_agent_does_not_hold_it(
    maker: LokiMaker, desk: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, path = desk.parts.home.context(), f"/memories/project/{EPISODE}"
    text = desk.read(context, path)
    with pytest.raises(StoreError):
        desk.save(context, path, "mine", text.sha256)
    with pytest.raises(StoreError):
        desk.edits.rename(context, path, path.replace("-1.json", "-2.json"))

    def soon(target: Path) -> Any:
        return lock_beside(target, timeout_s=0.02)

    monkeypatch.setattr("reverie.memory.recording.lock_beside", soon)
    with lock_beside(maker.memory / EPISODE), pytest.raises(UserError, match="locked by its agent"):
        desk.edits.delete(context, path)
    assert (maker.memory / EPISODE).exists()


def test_a_change_that_is_made_is_no_failure_where_the_history_cannot_note_it(
    maker: LokiMaker, edits: RecordEdits, tmp_path: Path
) -> None:
    change = resolution(EPISODE, 1, {"resolution": ""}, "asked Ada")
    with at_step("replace", lambda: no_more_locks(Profile.under(tmp_path / "profile"))):
        undo = edits.apply(change)
    assert record(maker, EPISODE)["errors_encountered"][1]["resolution"] == "asked Ada"
    assert "could not be" in undo.warning
