"""What a person does by hand is done whole, can be taken back, and says truthfully what failed."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from helpers.at_steps import at_step, device_fails
from helpers.benches import contents, sample_parts, workspace
from helpers.ordinary_user import without_power
from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.files.directory import Directory
from reverie.memory.commands import MemoryCommands
from reverie.memory.history import roots as history_scan
from reverie.memory.recording import Snapshots
from reverie.memory.usage import UsageLog
from reverie.services.container import HomeContainer
from reverie.services.edits import CompanionFiles, UserEdits

ACME = "a1f3c9e2b7"
TESTING = "/memories/global/testing.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def edits(parts: HomeContainer) -> UserEdits:
    return UserEdits(parts)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


def memories(parts: HomeContainer) -> dict[str, bytes]:
    return contents(parts.home.root / "memory")


@pytest.mark.parametrize("path", [TESTING, "/memories/project/api", "/memories/global/machines"])
def test_a_delete_taken_back_gives_back_bytes_modes_and_use(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, path: str
) -> None:
    before, usage = memories(parts), parts.usage.load()
    undo = edits.delete(context, path)
    assert memories(parts) != before
    edits.undo(undo)
    assert memories(parts) == before
    assert parts.usage.load() == usage


@pytest.mark.parametrize("path", [TESTING, "/memories/project/api"])
def test_a_delete_taken_back_gives_back_what_the_agent_wrote_at_the_last_moment(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    preserve, written = parts.snapshots.preserve, []

    def overtaken(root: ScopeRoot, rel: str) -> None:
        preserve(root, rel)
        target = root.directory / rel
        file = target if target.is_file() else target / "late.md"
        if len(written) < 2:
            written.append(file)
            file.write_text(f"written by the agent {len(written)}\n")

    monkeypatch.setattr(parts.snapshots, "preserve", overtaken)
    undo = edits.delete(context, path)
    assert not written[0].exists()
    edits.undo(undo)
    assert written[0].read_text() == "written by the agent 2\n"


def test_a_place_that_was_taken_meanwhile_keeps_what_stands_there(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    undo = edits.delete(context, TESTING)
    edits.save(context, TESTING, "new\n", None)
    with pytest.raises(Conflict):
        edits.undo(undo)
    assert edits.read(context, TESTING).content == "new\n"


def test_a_folder_comes_back_around_a_file_that_exists_again(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    before = memories(parts)
    undo = edits.delete(context, "/memories/global/people")
    folder = parts.home.root / "memory/global/people"
    name = next(path for path in before if path.startswith("global/people/")).rpartition("/")[2]
    folder.mkdir()
    (folder / name).write_bytes(b"theirs\n")
    with pytest.raises(Conflict, match="already exists again and was left as it is"):
        edits.undo(undo)
    assert memories(parts) == {**before, f"global/people/{name}": b"theirs\n"}
    (folder / name).unlink()
    edits.undo(undo)
    assert memories(parts) == before


@pytest.mark.parametrize("held", ["", "deeper", "theirs.md", ".hidden"])
def test_a_deleted_memory_comes_back_where_a_folder_without_a_file_has_taken_its_name(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, held: str
) -> None:
    before = memories(parts)
    undo = edits.delete(context, TESTING)
    folder = parts.home.root / "memory/global/testing.md"
    folder.mkdir()
    if held == "deeper":
        (folder / held).mkdir()
    elif held:
        (folder / held).write_text("theirs\n")
        with pytest.raises(UserError):
            edits.undo(undo)
        assert (folder / held).read_text() == "theirs\n"
        (folder / held).unlink()
    edits.undo(undo)
    assert memories(parts) == before


def test_an_empty_folder_has_nothing_to_bring_back(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    (parts.home.root / "memory/global/empty").mkdir()
    undo = edits.delete(context, "/memories/global/empty")
    with pytest.raises(StoreError, match="The history does not contain"):
        edits.undo(undo)


def test_a_rename_is_taken_back(parts: HomeContainer, edits: UserEdits, context: ScopeContext) -> None:
    before = memories(parts)
    edits.undo(edits.rename(context, TESTING, "/memories/global/elsewhere/tests.md"))
    assert memories(parts) == before


def test_what_the_history_does_not_keep_is_not_deleted(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    hidden = parts.home.root / "memory/global/.hidden.md"
    hidden.write_text("only copy\n")
    with pytest.raises(StoreError) as told:
        edits.delete(context, "/memories/global/.hidden.md")
    assert told.value.reason == "not-kept"
    assert hidden.read_text() == "only copy\n"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("link.md", "is a symbolic link, which"),
        ("away/theirs.md", "is behind the symbolic link away,"),
        (".hidden.md", "is hidden,"),
    ],
)
def test_the_refusal_of_a_delete_says_why_the_history_lacks_the_file(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, path: str, why: str
) -> None:
    folder = parts.home.root / "memory/global"
    (folder / ".hidden.md").write_text("x\n")
    (folder / "link.md").symlink_to("testing.md")
    (folder / ".real").mkdir()
    (folder / ".real" / "theirs.md").write_text("x\n")
    (folder / "away").symlink_to(".real")
    with pytest.raises(StoreError) as told:
        edits.delete(context, f"/memories/global/{path}")
    assert why in told.value.cause
    assert "too large" not in told.value.cause


@pytest.mark.parametrize("name", [".notes.swp", "link.md"])
def test_a_folder_is_not_deleted_with_something_in_it_that_the_history_does_not_keep(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, name: str
) -> None:
    folder = parts.home.root / "memory/global/security"
    if name == "link.md":
        (folder / name).symlink_to(folder.parent / "testing.md")
    else:
        (folder / name).write_text("only copy\n")
    before = memories(parts)
    with pytest.raises(StoreError) as told:
        edits.delete(context, "/memories/global/security")
    assert told.value.reason == "not-kept"
    assert name in told.value.cause
    assert memories(parts) == before


@pytest.mark.parametrize(
    ("name", "mode"), [("locked.md", 0o000), ("closed", 0o000), ("closed", 0o300), ("fixed", 0o555)]
)
def test_a_folder_is_not_deleted_where_part_of_it_cannot_be_read_or_deleted(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, name: str, mode: int
) -> None:
    folder = parts.home.root / "memory/global/security"
    if name != "locked.md":
        (folder / name).mkdir()
        (folder / name / "only.md").write_text("only copy\n")
    else:
        (folder / name).write_text("only copy\n")
    before = memories(parts)
    (folder / name).chmod(mode)
    try:
        with pytest.raises(UserError):
            without_power(lambda: edits.delete(context, "/memories/global/security"))
    finally:
        (folder / name).chmod(0o755)
    assert memories(parts) == before
    assert [path.name for path in folder.parent.rglob(".*")] == []


@pytest.mark.parametrize(
    "name", [".draft.md", ".obsidian/state.json", "link.md", "large.md", "locked.md", ""]
)
def test_the_commands_delete_no_folder_with_something_that_the_history_does_not_keep(
    parts: HomeContainer, context: ScopeContext, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = parts.home.root / "memory/global/security"
    if name == "link.md":
        (folder / name).symlink_to(folder.parent / "testing.md")
    elif name:
        monkeypatch.setattr(history_scan, "LARGEST_BYTES", 10_000)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("only copy\n" * (1001 if name == "large.md" else 1))
    before = memories(parts)
    commands = MemoryCommands(parts.store(context, actor="agent"), count_reads=False)
    if name == "locked.md":
        (folder / name).chmod(0o000)
    answer = without_power(
        lambda: commands.execute({"command": "delete", "path": "/memories/global/security"})
    )
    if name == "locked.md":
        (folder / name).chmod(0o644)
    assert answer["success"] == (not name)
    assert (memories(parts) == before) == bool(name)


def test_the_commands_delete_no_file_that_is_too_large_for_the_history(
    parts: HomeContainer, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_scan, "LARGEST_BYTES", 10)
    commands = MemoryCommands(parts.store(context, actor="agent"), count_reads=False)
    assert not commands.execute({"command": "delete", "path": TESTING})["success"]
    assert (parts.home.root / "memory/global/testing.md").exists()


def test_a_file_that_cannot_be_read_is_not_deleted(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    file = parts.home.root / "memory/global/locked.md"
    file.write_text("only copy\n")
    file.chmod(0o000)
    with pytest.raises(UserError):
        without_power(lambda: edits.delete(context, "/memories/global/locked.md"))
    file.chmod(0o600)  # an ordinary user reads it only then
    assert file.read_text() == "only copy\n"


def test_what_a_killed_write_left_is_no_reason_to_keep_a_folder(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    folder = parts.home.root / "memory/global/security"
    (folder / ".0123456789ab.01234567.reverie-tmp").write_text("half\n")
    edits.delete(context, "/memories/global/security")
    assert not folder.exists()


def test_bytes_that_are_no_text_are_never_rewritten(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    path = parts.home.root / "memory/global/latin.md"
    path.write_bytes(b"caf\xe9\n")
    shown = edits.read(context, "/memories/global/latin.md")
    assert shown.read_only
    with pytest.raises(StoreError):
        edits.save(context, shown.path, shown.content + "more\n", shown.sha256)
    assert path.read_bytes() == b"caf\xe9\n"


def raise_eio(_directory: Directory) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def full(*_args: object, **_named: object) -> None:
    raise Unavailable("The sidecar was not written.", cause="The disk is full.")


def test_a_use_that_cannot_be_counted_is_a_warning_of_a_save_that_was_made(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = edits.read(context, TESTING)
    monkeypatch.setattr(UsageLog, "record_write", full)
    saved = edits.save(context, TESTING, "saved\n", text.sha256)
    assert saved.content == "saved\n"
    assert "its pin and usage count were not updated. The disk is full." in saved.note
    assert edits.read(context, TESTING).note == text.note
    newest = parts.snapshots.history.commits(limit=1)[0]
    assert newest.actor == "user"
    assert parts.snapshots.history.read(newest.id, "global", "testing.md") == b"saved\n"


@pytest.mark.parametrize("trouble", ["pins", "directory", "history"])
@pytest.mark.parametrize("kind", ["delete", "delete folder", "rename", "delete all"])
def test_what_was_done_is_never_told_as_failed(
    parts: HomeContainer,
    edits: UserEdits,
    context: ScopeContext,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    trouble: str,
) -> None:
    before = memories(parts)
    edits.pin(context, [TESTING], True)  # makes the folders of the profile, before the disk fails
    edits.pin(context, [TESTING], False)
    with monkeypatch.context() as patch:
        if trouble == "pins":
            for name in ("delete", "rename"):
                patch.setattr(UsageLog, name, full)
        elif trouble == "history":
            patch.setattr(Snapshots, "record", full)
        else:
            patch.setattr(Directory, "sync", raise_eio)
        paths = [TESTING] if kind == "delete" else ["/memories/global/machines"]
        if kind == "rename":
            undo = edits.rename(context, TESTING, "/memories/global/elsewhere.md")
        elif trouble == "directory":
            # A removal is taken back where its directory cannot be synced: an error, and nothing happened.
            with pytest.raises(Unavailable):
                edits.delete_all(context, paths)
            assert memories(parts) == before
            return
        else:
            undo = edits.delete_all(context, [TESTING, *paths] if kind == "delete all" else paths)
    assert undo.warning
    assert memories(parts) != before
    edits.undo(undo)
    assert memories(parts) == before


@pytest.mark.parametrize("kind", ["delete", "rename"])
def test_an_undo_that_cannot_give_pins_back_is_done_all_the_same(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    before = memories(parts)
    if kind == "delete":
        undo = edits.delete(context, TESTING)
    else:
        undo = edits.rename(context, TESTING, "/memories/global/elsewhere.md")
    for name in ("rename", "apply_delta"):
        monkeypatch.setattr(UsageLog, name, full)
    assert "The disk is full." in edits.undo(undo)
    assert memories(parts) == before


def test_the_commands_tell_a_change_that_was_made_as_made(
    parts: HomeContainer, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(UsageLog, "delete", full)
    warnings: list[str] = []
    store = parts.store(context, actor="agent", warn=warnings.append)
    answer = MemoryCommands(store, count_reads=False).execute({"command": "delete", "path": TESTING})
    assert answer["success"]
    assert len(warnings) == 1
    assert not (parts.home.root / "memory/global/testing.md").exists()


def test_a_companion_is_saved_by_compare_and_swap_and_only_as_text(
    parts: HomeContainer, context: ScopeContext
) -> None:
    files = CompanionFiles(parts)
    companion = next(found for found in parts.home.companions(context) if found.path.name == "AGENTS.md")
    text = files.read(companion)
    saved = files.save(companion, text.content + "More.\n", text.sha256)
    with pytest.raises(Conflict):
        files.save(companion, "stale\n", text.sha256)
    with pytest.raises(StoreError):
        files.save(companion, "half \ud800", saved.sha256)
    companion.path.write_bytes(b"caf\xe9\n")
    odd = files.read(companion)
    assert odd.read_only
    with pytest.raises(Conflict):
        files.save(companion, odd.content, odd.sha256)
    assert companion.path.read_bytes() == b"caf\xe9\n"


def test_an_undo_of_a_folder_that_fails_half_way_brings_nothing_back_and_can_be_repeated(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    before = memories(parts)
    undo = edits.delete(context, "/memories/global/people")
    without = memories(parts)
    with at_step("temp", device_fails, nth=2), pytest.raises(Unavailable):
        edits.undo(undo)
    assert memories(parts) == without
    edits.undo(undo)
    assert memories(parts) == before


WIDE = "\ufeff# Zanzibar\r\n\r\nThe keeper is called Kränze \U0001f9ed.\n"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_utf_16_memory_becomes_utf_8_with_the_same_text_and_undo_restores_its_bytes(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, encoding: str
) -> None:
    """T5."""
    file = parts.home.root / "memory/global/wide.md"
    file.write_bytes(WIDE.encode(encoding))
    before = memories(parts)
    shown = edits.read(context, "/memories/global/wide.md")
    assert shown.convertible
    undo = edits.convert_to_utf8(context, "/memories/global/wide.md", shown.sha256)
    assert file.read_bytes() == WIDE.removeprefix("\ufeff").encode()
    found = edits.read(context, "/memories/global/wide.md")
    assert (found.content, found.read_only, found.convertible) == (shown.content, "", False)
    edits.undo(undo)
    assert memories(parts) == before


@pytest.mark.parametrize(
    "data",
    [
        b"plain\n",
        b"\xff\xfea",  # half a unit
        b"\xff\xfe\x00\xd8",  # half a pair
        "text".encode("utf-32"),  # UTF-32 begins as UTF-16 does
        b"caf\xe9\n",
    ],
)
def test_what_is_not_utf_16_or_would_lose_a_byte_is_not_converted(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext, data: bytes
) -> None:
    file = parts.home.root / "memory/global/wide.md"
    file.write_bytes(data)
    shown = edits.read(context, "/memories/global/wide.md")
    assert not shown.convertible
    with pytest.raises(StoreError, match="was not changed"):
        edits.convert_to_utf8(context, "/memories/global/wide.md", shown.sha256)
    assert file.read_bytes() == data


def test_a_utf_16_memory_that_changed_or_may_not_be_written_is_not_converted(
    parts: HomeContainer, edits: UserEdits, context: ScopeContext
) -> None:
    file = parts.home.root / "memory/global/wide.md"
    file.write_bytes(WIDE.encode("utf-16-le"))
    seen = edits.read(context, "/memories/global/wide.md").sha256
    file.write_bytes((WIDE + "More.\n").encode("utf-16-le"))
    with pytest.raises(Conflict):
        edits.convert_to_utf8(context, "/memories/global/wide.md", seen)
    file.chmod(0o444)
    shown = edits.read(context, "/memories/global/wide.md")
    assert not shown.convertible
    with pytest.raises(StoreError):
        edits.convert_to_utf8(context, "/memories/global/wide.md", shown.sha256)
    assert file.read_bytes() == (WIDE + "More.\n").encode("utf-16-le")
