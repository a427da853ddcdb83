"""What nobody may write (mode 0444) is not changed behind a person's back: the rule of `files.atomic`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.benches import contents, sample_parts, workspace
from helpers.engines import ScriptedEngine
from reverie.agents.scopes import ScopeContext
from reverie.cli.memory import LineClock, MemoryLines
from reverie.errors import StoreError
from reverie.files.atomic import is_write_protected
from reverie.files.rooted import RootedDirectory
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.memory.scope_files import sha256_of_bytes
from reverie.services.changes import ChangeSet
from reverie.services.container import HomeContainer
from reverie.services.edits import CompanionFiles, UserEdits
from reverie.services.views import HandChange

ACME = "a1f3c9e2b7"
STYLE = "/memories/global/commit-style.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


@pytest.fixture(autouse=True)
def _protected(parts: HomeContainer) -> None:
    (parts.home.root / "memory/global/commit-style.md").chmod(0o444)


@pytest.fixture
def style(parts: HomeContainer) -> Path:
    return parts.home.root / "memory/global/commit-style.md"


@pytest.mark.parametrize(
    ("mode", "protected"), [(0o444, True), (0o400, True), (0o000, True), (0o644, False), (0o464, False)]
)
def test_a_file_is_write_protected_when_no_bit_allows_writing(mode: int, protected: bool) -> None:
    assert is_write_protected(0o100000 | mode) == protected


def test_a_hand_edit_is_refused_with_the_next_step(
    parts: HomeContainer, context: ScopeContext, style: Path
) -> None:
    edits, before = UserEdits(parts), style.read_bytes()
    shown = edits.read(context, STYLE)
    assert "write-protected (mode 0444)" in shown.read_only
    with pytest.raises(StoreError) as caught:
        edits.save(context, STYLE, "other\n", shown.sha256)
    assert caught.value.reason == "write-protected"
    assert "chmod u+w" in caught.value.next_step
    assert style.read_bytes() == before
    style.chmod(0o644)
    assert edits.read(context, STYLE).read_only == ""
    edits.save(context, STYLE, "other\n", shown.sha256)
    assert style.read_bytes() == b"other\n"


def test_a_delete_by_hand_says_it_and_undo_brings_the_permissions_back(
    parts: HomeContainer, context: ScopeContext, style: Path
) -> None:
    edits, before = UserEdits(parts), style.read_bytes()
    undo = edits.delete(context, STYLE)
    assert not style.exists()
    assert undo.warning == f"{STYLE} was deleted although write-protected."
    edits.undo(undo)
    assert style.read_bytes() == before
    assert style.stat().st_mode & 0o777 == 0o444


def test_a_folder_with_such_files_is_deleted_and_says_how_many(
    parts: HomeContainer, context: ScopeContext
) -> None:
    folder = parts.home.root / "memory/global/machines"
    (folder / "desktop.md").write_text("# Desktop\n")
    for file in folder.iterdir():
        file.chmod(0o444)
    undo = UserEdits(parts).delete(context, "/memories/global/machines")
    assert "/desktop.md and 1 more file were deleted although write-protected" in undo.warning


def test_a_rename_by_hand_keeps_the_permissions_and_says_it(
    parts: HomeContainer, context: ScopeContext, style: Path
) -> None:
    undo = UserEdits(parts).rename(context, STYLE, "/memories/global/style.md")
    assert "renamed although write-protected" in undo.warning
    assert style.with_name("style.md").stat().st_mode & 0o777 == 0o444


def test_a_dream_leaves_it_as_it_is_and_says_so(
    parts: HomeContainer, context: ScopeContext, style: Path
) -> None:
    before = style.read_bytes()
    result = parts.dreams.run(DreamRequest(context), RulesEngine())
    assert result.outcome == "completed"
    assert (style.read_bytes(), style.stat().st_mode & 0o777) == (before, 0o444)
    assert style.with_name("commit-messages.md").exists(), "its near-duplicate has nothing to be merged into"
    assert f"Left as it is, because write-protected: {STYLE}." in result.summary
    assert not any(op["path"] == STYLE for op in result.ops)


@pytest.mark.parametrize(
    "request_",
    [
        {"command": "insert", "path": STYLE, "insert_line": 0, "insert_text": "x"},
        {"command": "delete", "path": STYLE},
        {"command": "rename", "path": STYLE, "new_path": "/memories/global/new.md"},
        {"command": "delete", "path": "/memories/global/machines"},
    ],
    ids=lambda request: f"{request['command']} {request['path'].rpartition('/')[2]}",
)
def test_a_model_is_refused_in_words(
    parts: HomeContainer, context: ScopeContext, style: Path, request_: dict[str, object]
) -> None:
    (parts.home.root / "memory/global/machines/laptop.md").chmod(0o444)
    before = contents(parts.home.root / "memory")
    result = parts.dreams.run(DreamRequest(context), ScriptedEngine(request_))
    assert contents(parts.home.root / "memory") == before
    (op,) = result.ops
    assert not op["applied"]
    assert "write-protected (mode 0444)" in op["note"]


def test_a_run_is_not_reverted_over_it(parts: HomeContainer, context: ScopeContext, style: Path) -> None:
    style.chmod(0o644)
    edit = {"command": "insert", "path": STYLE, "insert_line": 0, "insert_text": "x"}
    run = parts.dreams.run(DreamRequest(context), ScriptedEngine(edit))
    style.chmod(0o444)
    changed = style.read_bytes()
    with pytest.raises(StoreError, match="write-protected"):
        parts.reverter.revert(run.run_id)
    assert style.read_bytes() == changed
    style.chmod(0o644)
    parts.reverter.revert(run.run_id)
    assert style.read_bytes() != changed


def lines(parts: HomeContainer, **request: object) -> dict[str, object]:
    clock = LineClock(parts.clock)
    answered = MemoryLines(parts, clock, workspace_id=ACME, project=None, warn=print)
    (answer,) = answered.answer_all([json.dumps(request)])
    return answer


def test_reverie_memory_as_an_agent_does_as_the_agent_and_warns(parts: HomeContainer, style: Path) -> None:
    answer = lines(parts, command="insert", path=STYLE, insert_line=0, insert_text="x")
    assert answer["success"]
    assert answer["warnings"] == [f"{STYLE} was changed although write-protected."]
    assert style.read_bytes().startswith(b"x\n")
    assert style.stat().st_mode & 0o777 == 0o444


def test_reverie_memory_as_a_person_is_refused(parts: HomeContainer, style: Path) -> None:
    before = style.read_bytes()
    request = {"command": "insert", "path": STYLE, "insert_line": 0, "insert_text": "x", "actor": "user"}
    answer = lines(parts, **request)
    assert not answer["success"]
    assert "write-protected" in str(answer["error"])
    assert style.read_bytes() == before


def test_a_companion_is_not_edited(tmp_path: Path) -> None:
    parts = sample_parts("mux-home", tmp_path / "other")
    companion = next(each for each in parts.home.companions(parts.home.context()) if not each.read_only)
    companion.path.chmod(0o444)
    files = CompanionFiles(parts)
    shown = files.read(companion)
    assert "write-protected (mode 0444)" in shown.read_only
    with pytest.raises(StoreError, match="write-protected"):
        files.save(companion, "other\n", shown.sha256)


def test_whoever_may_write_it_all_the_same_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "a.md").chmod(0o444)
    with pytest.raises(StoreError, match="write-protected"):
        RootedDirectory(tmp_path).write("a.md", b"b")
    RootedDirectory(tmp_path, even_protected=True).write("a.md", b"b")
    assert (tmp_path / "a.md").read_bytes() == b"b"


def test_a_merge_by_hand_that_deletes_it_says_it_and_so_does_taking_that_back(
    parts: HomeContainer, context: ScopeContext, style: Path
) -> None:
    before = style.read_bytes()
    other = style.with_name("commit-messages.md")
    changes = [
        HandChange("/memories/global/commit-messages.md", b"both\n", sha256_of_bytes(other.read_bytes())),
        HandChange(STYLE, None, sha256_of_bytes(before)),
    ]
    undo = ChangeSet(parts).apply(context, changes, kind="merge", subject="Merged by hand")
    assert undo.warning == f"{STYLE} was deleted although it is write-protected."
    assert UserEdits(parts).undo(undo) == "Undid changes to 2 changed files."
    assert style.read_bytes() == before


def test_taking_back_several_says_what_each_of_them_warns_of(
    parts: HomeContainer, context: ScopeContext, style: Path
) -> None:
    edits = UserEdits(parts)
    undo = edits.as_one(
        [
            lambda: edits.rename(context, STYLE, "/memories/global/style.md"),
            lambda: edits.pin(context, ["/memories/global/style.md"], True),
        ]
    )
    assert "renamed although write-protected" in undo.warning
    assert "renamed although write-protected" in edits.undo(undo)
    assert style.exists()
