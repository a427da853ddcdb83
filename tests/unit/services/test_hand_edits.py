"""What a person does by hand is done whole, can be taken back, and says truthfully what failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import contents, sample_parts, workspace
from reverie.errors import Conflict, MendableError, StoreError, Unavailable
from reverie.homes.scopes import ScopeContext, ScopeRoot
from reverie.memory.usage import UsageLog
from reverie.services.companions import CompanionFiles
from reverie.services.hand_edits import HandEdits
from reverie.services.parts import HomeParts

ACME = "a1f3c9e2b7"
TESTING = "/memories/global/testing.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeParts:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def edits(parts: HomeParts) -> HandEdits:
    return HandEdits(parts)


@pytest.fixture
def context(parts: HomeParts) -> ScopeContext:
    return workspace(parts, ACME)


def memories(parts: HomeParts) -> dict[str, bytes]:
    return contents(parts.home.root / "memory")


@pytest.mark.parametrize("path", [TESTING, "/memories/project/api", "/memories/global/machines"])
def test_a_delete_taken_back_gives_back_bytes_modes_and_use(
    parts: HomeParts, edits: HandEdits, context: ScopeContext, path: str
) -> None:
    before, usage = memories(parts), parts.usage.load()
    undo = edits.delete(context, path)
    assert memories(parts) != before
    edits.undo(undo)
    assert memories(parts) == before
    assert parts.usage.load() == usage


@pytest.mark.parametrize("path", [TESTING, "/memories/project/api"])
def test_a_delete_taken_back_gives_back_what_the_agent_wrote_at_the_last_moment(
    parts: HomeParts, edits: HandEdits, context: ScopeContext, path: str, monkeypatch: pytest.MonkeyPatch
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
    parts: HomeParts, edits: HandEdits, context: ScopeContext
) -> None:
    undo = edits.delete(context, TESTING)
    edits.save(context, TESTING, "new\n", None)
    with pytest.raises(Conflict):
        edits.undo(undo)
    assert edits.read(context, TESTING).content == "new\n"


def test_a_rename_is_taken_back(parts: HomeParts, edits: HandEdits, context: ScopeContext) -> None:
    before = memories(parts)
    edits.undo(edits.rename(context, TESTING, "/memories/global/elsewhere/tests.md"))
    assert memories(parts) == before


def test_what_the_history_does_not_keep_is_not_deleted(
    parts: HomeParts, edits: HandEdits, context: ScopeContext
) -> None:
    hidden = parts.home.root / "memory/global/.hidden.md"
    hidden.write_text("only copy\n")
    with pytest.raises(StoreError) as told:
        edits.delete(context, "/memories/global/.hidden.md")
    assert told.value.reason == "not-kept"
    assert hidden.read_text() == "only copy\n"


@pytest.mark.parametrize("name", [".notes.swp", "link.md"])
def test_a_folder_is_not_deleted_with_something_in_it_that_the_history_does_not_keep(
    parts: HomeParts, edits: HandEdits, context: ScopeContext, name: str
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


def test_what_a_killed_write_left_is_no_reason_to_keep_a_folder(
    parts: HomeParts, edits: HandEdits, context: ScopeContext
) -> None:
    folder = parts.home.root / "memory/global/security"
    (folder / ".0123456789ab.01234567.reverie-tmp").write_text("half\n")
    edits.delete(context, "/memories/global/security")
    assert not folder.exists()


def test_bytes_that_are_no_text_are_never_rewritten(
    parts: HomeParts, edits: HandEdits, context: ScopeContext
) -> None:
    path = parts.home.root / "memory/global/latin.md"
    path.write_bytes(b"caf\xe9\n")
    shown = edits.read(context, "/memories/global/latin.md")
    assert shown.read_only
    with pytest.raises(StoreError):
        edits.save(context, shown.path, shown.content + "more\n", shown.sha256)
    assert path.read_bytes() == b"caf\xe9\n"


def test_a_use_that_cannot_be_counted_does_not_look_like_a_failed_save(
    parts: HomeParts, edits: HandEdits, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = edits.read(context, TESTING)

    def full(*_args: object) -> None:
        raise Unavailable("The sidecar was not written.", cause="The disk is full.")

    monkeypatch.setattr(UsageLog, "record_write", full)
    with pytest.raises(MendableError, match="was changed") as told:
        edits.save(context, TESTING, "saved\n", text.sha256)
    assert told.value.reason == "uncounted"
    assert edits.read(context, TESTING).content == "saved\n"
    newest = parts.snapshots.history.commits(limit=1)[0]
    assert newest.actor == "user"
    assert parts.snapshots.history.read(newest.id, "global", "testing.md") == b"saved\n"


def test_a_companion_is_saved_by_compare_and_swap_and_only_as_text(
    parts: HomeParts, context: ScopeContext
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
