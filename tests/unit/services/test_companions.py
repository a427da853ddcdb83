"""Companions outside of the home: saved by compare-and-swap and kept in the history like those in it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path

import pytest

from helpers.at_steps import at_step, no_more_locks
from helpers.benches import Time
from helpers.claude_home import ClaudeHomeMaker, write
from helpers.opened_files import opened_files
from helpers.ordinary_user import without_power
from reverie.agents.base import Companion
from reverie.agents.scopes import COMPANIONS
from reverie.compose import open_parts
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.memory.companion_places import companion_place, is_of_companions
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.edits import CompanionFiles, companion_targets
from reverie.services.search import SearchService
from reverie.services.workbench import Workbench


@pytest.fixture
def maker(tmp_path: Path) -> ClaudeHomeMaker:
    maker = ClaudeHomeMaker(tmp_path)
    maker.file("CLAUDE.md", "Mine.\n")
    maker.file("settings.json", "{}")
    return maker


@pytest.fixture
def project(maker: ClaudeHomeMaker) -> Path:
    project = maker.repository("shop")
    maker.memory(project, {"MEMORY.md": ""})
    return project


@pytest.fixture
def parts(maker: ClaudeHomeMaker, project: Path, tmp_path: Path) -> HomeContainer:
    return open_parts(maker.root, Profile.under(tmp_path / "profile"), Time())


def companion(parts: HomeContainer, project: Path, path: Path) -> Companion:
    context = parts.home.context(project_path=str(project))
    return next(each for each in parts.home.companions(context) if each.path == path)


def versions(parts: HomeContainer, path: Path) -> list[bytes | None]:
    """What the history holds of a companion, oldest first."""
    place = companion_place(parts.home.root, path)
    history = parts.snapshots.history
    return [history.read(each.id, place.key, place.rel) for each in reversed(history.commits())]


def test_a_file_of_a_project_is_saved_by_compare_and_swap_with_before_and_after_kept(
    parts: HomeContainer, project: Path
) -> None:
    path = write(project / "CLAUDE.md", b"\xef\xbb\xbfOne\r\nTwo\r\n", mode=0o640)
    files, one = CompanionFiles(parts), companion(parts, project, path)
    text = files.read(one)
    assert (text.newline, text.bom) == ("\r\n", True)
    saved = files.save(one, text.content.replace("Two", "Three"), text.sha256)
    assert path.read_bytes() == b"\xef\xbb\xbfOne\r\nThree\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert versions(parts, path) == [b"\xef\xbb\xbfOne\r\nTwo\r\n", b"\xef\xbb\xbfOne\r\nThree\r\n"]
    path.write_bytes(b"by another")
    with pytest.raises(Conflict):
        files.save(one, "mine", saved.sha256)
    assert path.read_bytes() == b"by another"
    files.save(one, "mine", files.read(one).sha256)
    assert versions(parts, path)[-2:] == [b"by another", b"mine"]
    assert [each.actor for each in reversed(parts.snapshots.history.commits())] == [
        *("outside", "user", "outside", "user"),
    ]
    assert sorted(each.name for each in project.iterdir()) == [".git", "CLAUDE.md"], "nothing is left behind"


def test_the_history_of_a_link_is_that_of_the_file_it_leads_to(parts: HomeContainer, project: Path) -> None:
    path = write(project / "AGENTS.md", "One\n")
    link = project / "CLAUDE.md"
    link.symlink_to(path.name)
    files, one, bench = CompanionFiles(parts), companion(parts, project, link), Workbench(parts)
    files.save(one, "Two\n", files.read(one).sha256)
    target = bench.timeline.target(parts.home.context(project_path=str(project)), str(link))
    mine, seen = bench.change_log.page(None, target).changes
    assert (mine.who, seen.who) == ("you", "outside")
    assert seen.after is not None
    undo = bench.restore(bench.timeline.plan(target, seen.after))
    assert (link.is_symlink(), path.read_text()) == (True, "One\n")
    bench.undo(undo)
    assert (link.is_symlink(), path.read_text()) == (True, "Two\n")


def test_a_missing_one_is_made_and_its_directory_is_not(parts: HomeContainer, project: Path) -> None:
    files = CompanionFiles(parts)
    one = companion(parts, project, project / "CLAUDE.local.md")
    assert files.read(one).content == ""
    files.save(one, "Mine.\n", None)
    assert (project / "CLAUDE.local.md").read_text() == "Mine.\n"
    away = Companion(one.scope, project / "gone" / "CLAUDE.md", "gone/CLAUDE.md", False)
    with pytest.raises(Unavailable):
        files.save(away, "x", None)
    assert not (project / "gone").exists()


def test_two_files_of_one_name_have_histories_of_their_own(parts: HomeContainer, project: Path) -> None:
    files = CompanionFiles(parts)
    paths = [write(project / "CLAUDE.md", "a"), write(project / ".claude" / "CLAUDE.md", "b")]
    paths.append(parts.home.root / "CLAUDE.md")
    for number, path in enumerate(paths):
        one = companion(parts, project, path)
        files.save(one, f"new {number}", files.read(one).sha256)
    head = parts.snapshots.history.head()
    assert head is not None
    places = [companion_place(parts.home.root, path) for path in paths]
    assert len({place.key for place in places}) == 3
    assert places[2].key == COMPANIONS
    assert all(is_of_companions(place.key) for place in places)
    assert not is_of_companions("global")
    kept = [parts.snapshots.history.read(head, place.key, place.rel) for place in places]
    assert kept == [b"new 0", b"new 1", b"new 2"], "saving one forgets none of the others"


def test_a_link_out_of_its_directory_is_not_followed_and_one_in_it_is(
    parts: HomeContainer, project: Path
) -> None:
    files = CompanionFiles(parts)
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    write(project / "AGENTS.md", "shared")
    one = companion(parts, project, project / "CLAUDE.md")
    files.save(one, "changed", files.read(one).sha256)
    assert (project / "AGENTS.md").read_text() == "changed"
    assert (project / "CLAUDE.md").is_symlink()
    assert versions(parts, project / "AGENTS.md") == [b"shared", b"changed"]
    secret = write(project.parent / "secret.md", "secret")
    (project / "CLAUDE.local.md").symlink_to(secret)
    with pytest.raises(UserError):
        files.read(companion(parts, project, project / "CLAUDE.local.md"))


def test_credentials_are_no_companions_whatever_imports_them(
    maker: ClaudeHomeMaker, parts: HomeContainer, project: Path
) -> None:
    maker.file(".credentials.json", "{}")
    write(maker.user / ".ssh" / "id.md", "key")
    write(project / "CLAUDE.md", f"@{maker.root}/.credentials.json @{maker.user}/.ssh/id.md @ok.md\n")
    write(project / "ok.md", "")
    (project / "CLAUDE.local.md").symlink_to(maker.root / ".credentials.json")
    context = parts.home.context(project_path=str(project))
    names = [each.path.name for each in parts.home.companions(context)]
    assert "ok.md" in names
    assert not {".credentials.json", "id.md", "CLAUDE.local.md"} & set(names)


def test_their_directories_are_watched_for_them_alone(parts: HomeContainer, project: Path) -> None:
    write(project / ".claude" / "rules" / "a.md", "")
    context = parts.home.context(project_path=str(project))
    targets = companion_targets(parts.home.companions(context), {parts.home.root})
    assert {(target.path, target.only) for target in targets if target.path.is_relative_to(project)} == {
        (project, ("CLAUDE.md", "CLAUDE.local.md")),
        (project / ".claude" / "rules", ("a.md",)),
    }
    assert not any(target.recursive for target in targets)


_IMPORTED = (
    "@{user}/.kube/config @{user}/.config/gh/hosts.yml @{user}/.pgpass @{user}/.bash_history\n"
    "@.env @certs/server.pem @/etc/passwd @/proc/self/environ\n"
    "@{user}/notes/outside.md @docs/inside.md @link.md\n"
)


@pytest.fixture
def hostile(maker: ClaudeHomeMaker, project: Path) -> Path:
    """A project whose CLAUDE.md imports what nobody wants read; each such file holds the word `jellyfish`."""
    for name in (".kube/config", ".config/gh/hosts.yml", ".pgpass", ".bash_history", "notes/outside.md"):
        write(maker.user / name, "jellyfish @deeper.md\n")
    write(maker.user / "notes/deeper.md", "jellyfish\n")
    for name in (".env", "certs/server.pem"):
        write(project / name, "jellyfish\n")
    write(project / "docs/inside.md", "starfish\n")
    (project / "link.md").symlink_to(maker.user / ".kube/config")
    maker.typed(project)
    return write(project / "CLAUDE.md", _IMPORTED.format(user=maker.user))


def test_imports_of_credentials_of_the_system_and_from_outside_are_not_opened(
    maker: ClaudeHomeMaker, hostile: Path, parts: HomeContainer, project: Path
) -> None:
    context = parts.home.context(project_path=str(project))
    with opened_files() as opened:
        found = {each.path: each for each in parts.home.companions(context)}
        desk = SearchService()
        desk.add(parts)
        desk.update()
        assert desk.search("starfish").hits
        assert not desk.search("jellyfish").hits
    names = {path.name for path in found}
    assert "inside.md" in names
    assert not {"config", "hosts.yml", ".pgpass", ".bash_history", "server.pem", "passwd", "environ"} & names
    (named,) = [each for path, each in found.items() if path.name == ".env"]
    assert named.unopened, "named, since the agent loads it"
    assert "deeper.md" not in names, "what is not opened imports nothing"
    never = (
        str(maker.user / ".kube"),
        "/proc/self/environ",
        "outside.md",
        "deeper.md",
        ".env",
        "server.pem",
        "passwd",
    )
    assert not [name for name in opened if name.endswith(never) or "/.kube/" in name]
    assert b"jellyfish" not in parts.profile.catalogue.read_bytes()


def test_what_is_imported_from_outside_is_named_and_says_why_it_is_not_opened(
    maker: ClaudeHomeMaker, hostile: Path, parts: HomeContainer, project: Path
) -> None:
    one = companion(parts, project, maker.user / "notes" / "outside.md")
    text = CompanionFiles(parts).read(one)
    assert (text.content, text.read_only) == ("", one.unopened)
    assert one.unopened
    with pytest.raises(UserError):
        CompanionFiles(parts).save(one, "mine", text.sha256)
    assert one.path.read_text() == "jellyfish @deeper.md\n"
    watched = companion_targets([one], set())
    assert watched == []


def test_an_index_of_an_earlier_version_that_holds_credentials_is_removed(
    hostile: Path, parts: HomeContainer, project: Path
) -> None:
    index = parts.profile.cache / "search.sqlite"
    index.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(index)) as old:
        old.executescript(
            "CREATE TABLE docs (text); INSERT INTO docs VALUES ('jellyfish'); PRAGMA user_version = 3;"
        )
    assert b"jellyfish" in index.read_bytes()
    desk = SearchService()
    desk.add(parts)
    desk.update()
    assert desk.search("starfish").hits
    left = [path for path in index.parent.rglob("*") if path.is_file() and b"jellyfish" in path.read_bytes()]
    assert left == []


def test_a_very_large_file_is_shown_from_its_beginning_and_never_written(
    parts: HomeContainer, project: Path
) -> None:
    path = write(project / "CLAUDE.md", "Beginning.\n")
    os.truncate(path, 5 << 30)
    files, one = CompanionFiles(parts), companion(parts, project, path)
    text = files.read(one)
    assert text.content.startswith("Beginning.")
    assert (len(text.content), text.size) == (8 << 20, 5 << 30)
    assert text.read_only == "This file is larger than 8 MiB; its beginning is shown read-only."
    with pytest.raises(StoreError, match="larger than 8 MiB"):
        files.save(one, "less\n", text.sha256)
    assert path.stat().st_size == 5 << 30


def test_the_beginning_of_a_very_large_file_ends_with_a_whole_character(
    parts: HomeContainer, project: Path
) -> None:
    path = write(project / "CLAUDE.md", "記" * (3 << 20))
    text = CompanionFiles(parts).read(companion(parts, project, path))
    assert set(text.content) == {"記"}


def test_a_project_that_may_not_be_entered_is_not_said_to_be_gone(
    parts: HomeContainer, project: Path
) -> None:
    one = companion(parts, project, write(project / "CLAUDE.md", "Ours.\n"))
    project.parent.chmod(0)
    try:
        with pytest.raises(Unavailable, match="Permission is denied"):
            without_power(lambda: CompanionFiles(parts).read(one))
    finally:
        project.parent.chmod(0o755)


def test_one_that_is_saved_is_no_failure_where_the_history_cannot_note_it(
    parts: HomeContainer, project: Path
) -> None:
    path = write(project / "CLAUDE.md", "One\n")
    files, one = CompanionFiles(parts), companion(parts, project, path)
    text = files.read(one)
    with at_step("replace", lambda: no_more_locks(parts.profile)):
        saved = files.save(one, "Two\n", text.sha256)
    assert path.read_text() == saved.content == "Two\n"
    assert "could not be" in saved.note
