"""Listings show every memory, mark what the agent does not see, and come out the same however they are made.

Rules: formats/mux.md sections 4, 5 and 7; design.md section 4 ("what people see is every file").
"""

from __future__ import annotations

import contextlib
import errno
import gc
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.foreign_home import make_foreign_home
from helpers.profiles import examples
from helpers.samples import copy_sample, snapshot
from reverie.agents.base import Home
from reverie.agents.mux.home import MuxHome
from reverie.agents.scopes import Caps, Scope, ScopeContext, ScopeRoot
from reverie.errors import Unavailable
from reverie.files import directory as directory_module
from reverie.files.directory import Descent, Directory
from reverie.memory import listing as rescanning
from reverie.memory import listing as scanning
from reverie.memory.listing import ScopeListing, index_entries, names_only, scan_scope
from reverie.memory.paths import utf16_key
from reverie.memory.usage import UsageLog
from reverie.memory.usage_rules import MemoryUsage
from reverie.services.command_views import tree
from reverie.values import replace

SMALL_CAPS = Caps(
    file_bytes=60, files_per_scope=3, description_chars=20, description_prefix_bytes=64, view_depth=2
)
ROOMY = replace(SMALL_CAPS, files_per_scope=1000, file_bytes=1000)
OLD_NS = 1_700_000_000_000_000_000


def the_root(directory: Path) -> ScopeRoot:
    return ScopeRoot(Scope.GLOBAL, "global", directory, "global:")


def key_of(rel: str) -> str:
    return "global:" + rel.replace("%", "%25").replace(":", "%3A")


def scan(
    directory: Path,
    caps: Caps = ROOMY,
    *,
    usage: Mapping[str, MemoryUsage] | None = None,
    previous: ScopeListing | None = None,
    dirty: Collection[Path] | None = None,
) -> ScopeListing:
    return scan_scope(the_root(directory), caps, usage or {}, key_of, previous=previous, dirty=dirty)


def write(path: Path, text: str = "x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def rels(listing: ScopeListing) -> list[str]:
    return [file.rel for file in listing.files]


def unseen(listing: ScopeListing) -> dict[str, str]:
    assert all(file.seen_by_agent == (not file.unseen_reason) for file in listing.files)
    return {file.rel: file.unseen_reason for file in listing.files if not file.seen_by_agent}


# The sample home


def listings(
    home: Home, context: ScopeContext, usage: Mapping[str, MemoryUsage]
) -> dict[Scope, ScopeListing]:
    found = {}
    for scope in (Scope.GLOBAL, Scope.PROJECT, Scope.WORKSPACE):
        root = home.scope_root(context, scope)
        found[scope] = scan_scope(root, home.caps, usage, lambda rel, root=root: home.usage_key(root, rel))
    return found


@pytest.fixture
def sample(tmp_path: Path) -> dict[Scope, ScopeListing]:
    home = MuxHome(copy_sample("mux-home", tmp_path, whole=True))
    log = UsageLog(
        home, own_sidecar=tmp_path / "own.json", lock_dir=tmp_path / "locks", clock=lambda: 1_787_000_000_000
    )
    before = snapshot(home.root)
    found = listings(home, home.context(workspace_id="a1f3c9e2b7"), log.load())
    assert snapshot(home.root) == before
    return found


def test_no_garbage_collection_visits_the_memories_of_a_listing(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A fact.")
    listing = scan(tmp_path, usage={key_of("a.md"): MemoryUsage(pinned=True)})
    assert listing.files[0].usage.pinned
    assert not any(map(gc.is_tracked, listing.files))


def test_every_file_of_the_sample_home_is_listed_in_the_agents_order(sample: dict[Scope, ScopeListing]):
    assert rels(sample[Scope.PROJECT]) == [
        "api/conventions.md",
        "api/errors.md",
        "api/v2/pagination/cursor-notes.md",
        "api/v2/pagination/cursors.md",
        "architecture.md",
        "db/migrations.md",
        "db/postgres-version.md",
        "db/upgrade-2026.md",
        "deploy-staging.md",
        "deploy.md",
        "glossary.md",
        "incidents/2026-07-21-timeouts.md",
        "reference/endpoints.md",
        "reference/trace-dump.md",
        "todo.txt",
    ]
    assert sample[Scope.PROJECT].directories == (
        "api",
        "api/v2",
        "api/v2/pagination",
        "db",
        "incidents",
        "reference",
    )
    assert rels(sample[Scope.GLOBAL])[-3:] == ["testing-old.md", "testing.md", "日本語メモ.md"]
    assert len(sample[Scope.WORKSPACE].files) == 4


def test_the_sample_homes_pins_use_and_descriptions_are_there(sample: dict[Scope, ScopeListing]):
    files = {file.rel: file for file in sample[Scope.PROJECT].files}
    assert files["architecture.md"].usage == MemoryUsage(True, 10, 1787229300000, 1783414800000)
    assert files["architecture.md"].description == "One-page map of the service"
    assert files["reference/trace-dump.md"].usage == MemoryUsage()
    assert (files["todo.txt"].description, files["todo.txt"].description_state) == ("", "none")
    assert {file.rel for listing in sample.values() for file in listing.files if file.usage.pinned} == {
        "architecture.md",
        "preferences.md",
    }


def test_only_the_file_over_the_cap_is_not_seen_by_the_agent_and_still_in_its_index(
    sample: dict[Scope, ScopeListing],
):
    assert unseen(sample[Scope.PROJECT]) == {
        "reference/trace-dump.md": "the file is larger than 102,400 bytes"
    }
    assert unseen(sample[Scope.GLOBAL]) == {}
    entries = index_entries(sample[Scope.PROJECT], Scope.PROJECT, MuxHome(Path()).caps)
    assert [entry["path"] for entry in entries] == [
        f"/memories/project/{rel}" for rel in rels(sample[Scope.PROJECT])
    ]
    assert entries[4] == {
        "path": "/memories/project/architecture.md",
        "scope": "project",
        "description": "One-page map of the service",
        "pinned": True,
        "accessCount": 10,
        "lastAccessedAt": 1787229300000,
    }


def test_the_tree_nests_directories_and_counts_what_is_below_them(sample: dict[Scope, ScopeListing]):
    top = tree(Scope.PROJECT, sample[Scope.PROJECT])
    assert [child["name"] for child in top["children"]] == [
        "api",
        "architecture.md",
        "db",
        "deploy-staging.md",
        "deploy.md",
        "glossary.md",
        "incidents",
        "reference",
        "todo.txt",
    ]
    assert (top["path"], top["files"]) == ("/memories/project", 15)
    assert top["size"] == sum(file.size for file in sample[Scope.PROJECT].files)
    api = top["children"][0]
    assert (api["path"], api["files"]) == ("/memories/project/api", 4)
    cursors = api["children"][2]["children"][0]["children"][1]
    assert cursors["path"] == "/memories/project/api/v2/pagination/cursors.md"
    assert (cursors["pinned"], cursors["accessCount"], cursors["seenByAgent"]) == (False, 5, True)
    dump = top["children"][7]["children"][1]
    assert (dump["seenByAgent"], dump["unseenReason"]) == (False, "the file is larger than 102,400 bytes")


# What is listed


def test_hidden_names_links_and_special_files_are_not_listed(tmp_path: Path):
    root = tmp_path / "root"
    write(root / "a.md")
    write(root / ".hidden.md")
    write(root / ".git" / "config")
    write(root / "sub" / ".also-hidden")
    write(tmp_path / "outside" / "secret.md")
    (root / "link.md").symlink_to("a.md")
    (root / "escape").symlink_to(tmp_path / "outside")
    (root / "dangling").symlink_to("nowhere")
    os.mkfifo(root / "pipe.md")
    (root / "empty").mkdir()
    listing = scan(root)
    assert rels(listing) == ["a.md"]
    assert listing.directories == ("empty", "sub")
    assert rels(names_only(the_root(root))) == ["a.md"]


def test_files_stand_in_utf16_order_across_directories(tmp_path: Path):
    names = [
        "a.md",
        "a/b.md",
        "a-b.md",
        "a0.md",
        "\ue000.md",
        "😀.md",
        "é.md",
        "Z.md",
        "a/d/c.md",
    ]
    for name in names:
        write(tmp_path / name)
    listing = scan(tmp_path)
    assert rels(listing) == sorted(names, key=utf16_key)
    assert rels(listing).index("😀.md") < rels(listing).index("\ue000.md")


def test_a_linked_root_is_listed(tmp_path: Path):
    write(tmp_path / "real" / "a.md")
    (tmp_path / "root").symlink_to("real")
    assert rels(scan(tmp_path / "root")) == ["a.md"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("a..b.md", "'..' is not allowed"),
        ("back~up.md", "'~' is not allowed"),
        ("back\\slash.md", "backslashes"),
        ("%2e.md", "encoded dots"),
        ("%5C.md", "encoded dots"),
        ("tab\t.md", "control characters"),
        ("<x>.md", "< > and"),
        ('"x".md', "< > and"),
    ],
)
def test_a_name_that_the_agent_refuses_is_shown_with_the_reason_and_not_in_the_index(
    tmp_path: Path, name: str, reason: str
):
    write(tmp_path / name / "inside.md")
    write(tmp_path / f"z{name}")
    listing = scan(tmp_path)
    assert rels(listing) == [f"{name}/inside.md", f"z{name}"]
    for file in listing.files:
        assert not file.seen_by_agent
        assert reason in file.unseen_reason
    assert index_entries(listing, Scope.GLOBAL, ROOMY) == []


@pytest.mark.parametrize(
    "name",
    [
        "%20.md",
        "per%cent",
        "na\u00efve caf\u00e9.md",
        "kafka:topics.md",
        "a.b.md",
        "x.",
    ],
)
def test_an_odd_name_that_the_agent_takes_is_seen(tmp_path: Path, name: str):
    write(tmp_path / name)
    assert unseen(scan(tmp_path)) == {}
    assert len(index_entries(scan(tmp_path), Scope.GLOBAL, ROOMY)) == 1


@pytest.mark.parametrize("name", ["end ", "end\u00a0", "dir /a\ufeff"])
def test_a_name_that_ends_in_white_space_is_listed_by_the_agent_but_never_found(tmp_path: Path, name: str):
    write(tmp_path / name)
    listing = scan(tmp_path)
    assert list(unseen(listing).values()) == ["its name ends in whitespace, which the agent removes"]
    assert len(index_entries(listing, Scope.GLOBAL, ROOMY)) == 1


def test_a_name_that_is_no_utf8_is_shown_and_not_in_the_index(tmp_path: Path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xe9d.md")).write_text("---\ndescription: d\n---\n")
    write(tmp_path / "good.md")
    listing = scan(tmp_path)
    assert rels(listing) == ["b\udce9d.md", "good.md"]
    assert unseen(listing) == {"b\udce9d.md": "its name is not valid UTF-8"}
    assert listing.files[0].description == "d"
    assert [entry["path"] for entry in index_entries(listing, Scope.GLOBAL, ROOMY)] == [
        "/memories/global/good.md"
    ]


def test_a_file_may_be_as_large_as_the_cap_and_not_a_byte_larger(tmp_path: Path):
    write(tmp_path / "a.md", "x" * 60)
    write(tmp_path / "b.md", "x" * 61)
    listing = scan(tmp_path, SMALL_CAPS)
    assert unseen(listing) == {"b.md": "the file is larger than 60 bytes"}
    assert len(index_entries(listing, Scope.GLOBAL, SMALL_CAPS)) == 2


def test_files_beyond_the_cap_are_shown_and_marked_in_the_agents_order(tmp_path: Path):
    for name in ["b/1.md", "a~.md", "c.md", "d.md", ".hidden", "e.md"]:
        write(tmp_path / name)
    listing = scan(tmp_path, SMALL_CAPS)
    assert rels(listing) == ["a~.md", "b/1.md", "c.md", "d.md", "e.md"]
    assert set(unseen(listing)) == {"a~.md", "d.md", "e.md"}
    assert unseen(listing)["d.md"] == "the file is not among the first 3 files of its scope"
    # A refused name takes a place below the cap and is not shown in it.
    assert [entry["path"] for entry in index_entries(listing, Scope.GLOBAL, SMALL_CAPS)] == [
        "/memories/global/b/1.md",
        "/memories/global/c.md",
    ]


def test_a_home_of_another_kind_has_its_own_caps_and_keys(tmp_path: Path):
    home = make_foreign_home(tmp_path / "jotter", "/p")
    root = home.scope_root(home.context(project_path="/p"), Scope.PROJECT)
    write(root.directory / "100%.md")
    write(root.directory / "a%3Ab.md")
    write(root.directory / "a:b.md", "y" * 3000)
    usage = {
        "book|/p|100%.md": MemoryUsage(True),
        "book|/p|a%3Ab.md": MemoryUsage(False, 2),
        "book|/p|a:b.md": MemoryUsage(False, 3),
    }
    listing = scan_scope(root, home.caps, usage, lambda rel: home.usage_key(root, rel))
    assert [(file.rel, file.usage.pinned, file.usage.access_count) for file in listing.files] == [
        ("100%.md", True, 0),
        ("a%3Ab.md", False, 2),
        ("a:b.md", False, 3),
    ]
    assert unseen(listing) == {"a:b.md": "the file is larger than 2,048 bytes"}


def test_usage_is_found_even_where_keys_cannot_be_turned_back_into_paths(tmp_path: Path):
    def hashed(rel: str) -> str:
        return "global:" + hashlib.sha256(rel.encode()).hexdigest()

    write(tmp_path / "a.md")
    write(tmp_path / "b.md")
    root = the_root(tmp_path)
    first = scan_scope(root, ROOMY, {hashed("a.md"): MemoryUsage(True)}, hashed)
    assert [file.usage.pinned for file in first.files] == [True, False]
    second = scan_scope(root, ROOMY, {hashed("b.md"): MemoryUsage(True)}, hashed, previous=first, dirty=[])
    assert [file.usage.pinned for file in second.files] == [False, True]


def test_a_root_without_an_owner_has_no_usage(tmp_path: Path):
    write(tmp_path / "a.md")
    root = replace(the_root(tmp_path), usage_prefix=None)
    listing = scan_scope(root, ROOMY, {"global:a.md": MemoryUsage(True)}, lambda rel: None)
    assert listing.files[0].usage == MemoryUsage()


# What is not there, or cannot be read


def test_a_missing_root_is_empty_while_its_home_is_there(tmp_path: Path):
    assert scan(tmp_path / "memory") == ScopeListing(the_root(tmp_path / "memory"), "", None, (), (), ())
    assert names_only(the_root(tmp_path / "memory")).files == ()
    assert not (tmp_path / "memory").exists()


def test_a_vanished_home_is_unavailable_and_not_empty(tmp_path: Path):
    home = MuxHome(copy_sample("mux-home", tmp_path))
    root = home.scope_root(home.context(), Scope.GLOBAL)
    previous = scan_scope(root, home.caps, {}, key_of, available=home.available)
    home.root.rename(tmp_path / "elsewhere")
    for dirty in (None, [], [root.directory], [root.directory / "preferences.md"]):
        with pytest.raises(Unavailable):
            scan_scope(root, home.caps, {}, key_of, previous=previous, dirty=dirty, available=home.available)
    with pytest.raises(Unavailable):
        names_only(root, available=home.available)


def test_a_home_that_vanishes_during_the_scan_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home = tmp_path / "home"
    write(home / "memory" / "a.md")
    write(home / "memory" / "b.md")
    real = Directory.beginning

    def vanish(directory: Directory, name: str, size: int) -> tuple[os.stat_result, bytes]:
        shutil.rmtree(home, ignore_errors=True)
        return real(directory, name, size)

    monkeypatch.setattr(Directory, "beginning", vanish)
    with pytest.raises(Unavailable):
        scan_scope(the_root(home / "memory"), ROOMY, {}, key_of, available=home.is_dir)


def test_a_root_that_is_no_directory_says_so(tmp_path: Path):
    listing = scan(write(tmp_path / "memory"))
    assert "could not be read" in listing.unavailable
    assert listing.files == ()
    assert tree(Scope.GLOBAL, listing)["unavailable"] == listing.unavailable
    assert index_entries(listing, Scope.GLOBAL, ROOMY) == []


def test_a_directory_that_cannot_be_read_is_named_and_the_rest_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "good" / "a.md")
    write(tmp_path / "locked" / "b.md")
    real = scanning._open_folder

    def refuse(descent: Descent, name: str) -> Directory:
        if name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", name)
        return real(descent, name)

    before = scan(tmp_path)
    monkeypatch.setattr(scanning, "_open_folder", refuse)
    for listing in (
        scan(tmp_path),
        scan(tmp_path, previous=before),
        scan(tmp_path, previous=before, dirty=[tmp_path / "locked"]),
        scan(tmp_path, previous=scan(tmp_path), dirty=[tmp_path / "good"]),
    ):
        assert rels(listing) == ["good/a.md"]
        assert listing.directories == ("good", "locked")
        assert listing.problems == ("The folder locked could not be read: Permission denied.",)
    locked = scan(tmp_path)
    monkeypatch.undo()
    assert scan(tmp_path, previous=locked, dirty=[tmp_path / "locked"]) == before


def test_a_file_that_cannot_be_read_is_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "a.md", "---\ndescription: d\n---\n")
    os.utime(tmp_path / "a.md", ns=(OLD_NS, OLD_NS))

    def refuse(directory: Directory, name: str, size: int) -> tuple[os.stat_result, bytes]:
        raise PermissionError(errno.EACCES, "Permission denied", name)

    monkeypatch.setattr(Directory, "beginning", refuse)
    listing = scan(tmp_path)
    assert listing.files[0].size == len("---\ndescription: d\n---\n")
    assert unseen(listing) == {"a.md": "it cannot be read: Permission denied"}
    monkeypatch.undo()
    assert scan(tmp_path, previous=listing).files[0].description == "d"


def test_a_process_without_file_descriptors_sees_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "sub" / "a.md")

    def poor(descent: Descent, name: str) -> Directory:
        raise OSError(errno.EMFILE, "Too many open files", name)

    monkeypatch.setattr(scanning, "_open_folder", poor)
    with pytest.raises(Unavailable):
        scan(tmp_path)


def test_directories_nested_without_end_are_named_and_not_entered(tmp_path: Path):
    deep = tmp_path / "/".join(["d"] * (scanning.MAX_DEPTH + 2))
    write(deep / "x.md")
    write(tmp_path / "a.md")
    listing = scan(tmp_path)
    assert rels(listing) == ["a.md"]
    assert len(listing.problems) == 1
    assert "too deep" in listing.problems[0]


# Reading no more than necessary


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that scans read from now on."""
    names: list[str] = []
    real = Directory.beginning

    def noting(directory: Directory, name: str, size: int) -> tuple[os.stat_result, bytes]:
        names.append(name)
        return real(directory, name, size)

    monkeypatch.setattr(Directory, "beginning", noting)
    return names


def test_what_looks_unchanged_is_not_read_again(tmp_path: Path, reads: list[str]):
    for name in ("a.md", "sub/b.md", "c.md"):
        os.utime(write(tmp_path / name), ns=(OLD_NS, OLD_NS))
    first = scan(tmp_path)
    assert sorted(reads) == ["a.md", "b.md", "c.md"]
    reads.clear()
    assert scan(tmp_path, previous=first) == first
    assert reads == []
    os.utime(write(tmp_path / "c.md", "longer"), ns=(OLD_NS, OLD_NS))
    assert scan(tmp_path, previous=first) != first
    assert reads == ["c.md"]


def test_a_file_just_modified_is_read_again_even_if_it_looks_unchanged(tmp_path: Path):
    path = write(tmp_path / "a.md", "---\ndescription: one\n---\n")
    now = time.time_ns()
    os.utime(path, ns=(now, now))
    first = scan(tmp_path)
    path.write_text("---\ndescription: two\n---\n")
    os.utime(path, ns=(now, now))
    assert scan(tmp_path, previous=first).files[0].description == "two"


def test_a_dirty_file_is_read_again_even_if_it_looks_unchanged(tmp_path: Path):
    path = write(tmp_path / "a.md", "---\ndescription: one\n---\n")
    os.utime(path, ns=(OLD_NS, OLD_NS))
    first = scan(tmp_path)
    path.write_text("---\ndescription: two\n---\n")
    os.utime(path, ns=(OLD_NS, OLD_NS))
    assert scan(tmp_path, previous=first).files[0].description == "one"
    assert scan(tmp_path, previous=first, dirty=[path]).files[0].description == "two"


def test_dirty_paths_are_all_that_is_looked_at(tmp_path: Path, reads: list[str]):
    for name in ("a/1.md", "a/2.md", "b/3.md"):
        os.utime(write(tmp_path / name), ns=(OLD_NS, OLD_NS))
    first = scan(tmp_path)
    reads.clear()
    write(tmp_path / "b/3.md", "changed unseen")
    listing = scan(tmp_path, previous=first, dirty=[tmp_path / "a" / "1.md"])
    assert listing == first
    assert reads == ["1.md"]
    elsewhere = [tmp_path.parent / "other" / "x.md", tmp_path / "a" / ".hidden", tmp_path / ".git" / "index"]
    reads.clear()
    assert scan(tmp_path, previous=first, dirty=elsewhere) == first
    assert reads == []


def test_what_no_event_told_is_found_where_a_directory_is_listed_again(tmp_path: Path):
    for name in ("a.md", "gone.md", "changed.md", "gone/b/c.md", "gone/d.md", "kept/e.md"):
        write(tmp_path / name)
    first = scan(tmp_path)
    (tmp_path / "gone.md").unlink()
    shutil.rmtree(tmp_path / "gone")
    write(tmp_path / "changed.md", "otherwise")
    write(tmp_path / "new" / "f" / "g.md")
    listing = scan(tmp_path, previous=first, dirty=[tmp_path / "a.md"])
    assert listing == scan(tmp_path)
    assert rels(listing) == ["a.md", "changed.md", "kept/e.md", "new/f/g.md"]


def test_new_directories_are_found_from_the_deepest_path_alone(tmp_path: Path):
    first = scan(tmp_path)
    write(tmp_path / "a" / "b" / "c.md")
    write(tmp_path / "d" / ".hidden")
    listing = scan(
        tmp_path, previous=first, dirty=[tmp_path / "a" / "b" / "c.md", tmp_path / "d" / ".hidden"]
    )
    assert listing.directories == ("a", "a/b", "d")
    assert listing == scan(tmp_path)


def test_directories_that_change_places_change_their_content(tmp_path: Path):
    for name in ("a/1.md", "a/x/2.md", "b/3.md", "b/y/4.md"):
        write(tmp_path / name)
    first = scan(tmp_path)
    (tmp_path / "a").rename(tmp_path / "c")
    (tmp_path / "b").rename(tmp_path / "a")
    (tmp_path / "c").rename(tmp_path / "b")
    listing = scan(tmp_path, previous=first, dirty=[tmp_path / name for name in "abc"])
    assert rels(listing) == ["a/3.md", "a/y/4.md", "b/1.md", "b/x/2.md"]
    assert listing == scan(tmp_path)


def test_a_directory_that_comes_back_while_it_is_looked_at_is_scanned_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write(tmp_path / "sub" / "deep" / "a.md")
    first = scan(tmp_path)
    shutil.rmtree(tmp_path / "sub")
    real = scanning._open_folder

    def bring_back(descent: Descent, name: str) -> Directory:
        try:
            return real(descent, name)
        except FileNotFoundError:
            write(tmp_path / "sub" / "deep" / "b.md")
            raise

    monkeypatch.setattr(scanning, "_open_folder", bring_back)
    listing = scan(tmp_path, previous=first, dirty=[tmp_path / "sub" / "deep" / "a.md"])
    assert rels(listing) == ["sub/deep/b.md"]
    assert listing == scan(tmp_path)


def test_a_dirty_root_or_anything_above_it_means_everything(tmp_path: Path):
    root = tmp_path / "memory" / "global"
    write(root / "a.md")
    first = scan(root)
    write(root / "sub" / "b.md")
    for dirty in (root, root.parent, tmp_path):
        assert rels(scan(root, previous=first, dirty=[dirty])) == ["a.md", "sub/b.md"]


def test_dirty_paths_may_come_under_the_roots_real_name(tmp_path: Path):
    write(tmp_path / "real" / "a.md")
    root = tmp_path / "root"
    root.symlink_to("real")
    first = scan(root)
    write(tmp_path / "real" / "b.md")
    assert rels(scan(root, previous=first, dirty=[tmp_path / "real" / "b.md"])) == ["a.md", "b.md"]


def test_changed_usage_shows_without_any_dirty_path(tmp_path: Path, reads: list[str]):
    for name in ("a.md", "k%:1.md", "c.md"):
        write(tmp_path / name)
    first = scan(tmp_path, usage={key_of("a.md"): MemoryUsage(True)})
    reads.clear()
    usage = {
        key_of("k%:1.md"): MemoryUsage(False, 4),
        "global:gone.md": MemoryUsage(True),
        "project:/p:a.md": MemoryUsage(True),
    }
    listing = scan(tmp_path, usage=usage, previous=first, dirty=[])
    assert [file.usage for file in listing.files] == [MemoryUsage(), MemoryUsage(), MemoryUsage(False, 4)]
    assert reads == []
    assert listing == scan(tmp_path, usage=usage)


def test_names_come_without_opening_any_file(tmp_path: Path, reads: list[str]):
    write(tmp_path / "sub" / "a.md", "---\ndescription: d\n---\n")
    quick = names_only(the_root(tmp_path))
    assert (rels(quick), quick.directories, quick.names_only) == (["sub/a.md"], ("sub",), True)
    assert reads == []
    full = scan(tmp_path, previous=quick, dirty=[])
    assert full == scan(tmp_path)
    assert full.files[0].description == "d"


# An update is what a full scan would be

NAMES = ["a", "b", "c", "a.md", "b~", "😀", ".h"]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
TEXTS = st.sampled_from(["", "x", "---\ndescription: one\n---\n", "---\ndescription: two\n---\n", "y" * 70])
OPERATIONS = st.one_of(
    st.tuples(st.just("write"), PATHS, TEXTS),
    st.tuples(st.just("replace"), PATHS, TEXTS),
    st.tuples(st.just("remove"), PATHS, st.just("")),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("mkdir"), PATHS, st.just("")),
    st.tuples(st.just("link"), PATHS, PATHS),
)
STEPS = st.lists(st.lists(OPERATIONS, max_size=5), min_size=1, max_size=3)
USAGE = st.dictionaries(
    PATHS.map(key_of), st.builds(MemoryUsage, st.booleans(), st.integers(0, 2)), max_size=3
)


def real_places(*paths: Path) -> list[Path]:
    """Where these paths lie, and where they lead to: what a watcher of real directories reports."""
    return [
        place
        for path in paths
        for place in (Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(path)))
    ]


def change(root: Path, operation: tuple[str, str, str]) -> list[Path]:
    """Do one thing, as far as it can be done; returns the paths that changed, not those that came along."""
    kind, rel, argument = operation
    path = root / rel
    touched = [path, root / argument] if kind == "rename" else [path]
    dirty = real_places(*touched)
    with contextlib.suppress(OSError):
        if kind in ("write", "replace"):
            path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "write":
            path.write_text(argument)
        elif kind == "replace":
            temporary = path.with_name(".temporary")
            temporary.write_text(argument)
            temporary.replace(path)
        elif kind == "remove":
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        elif kind == "rename":
            path.rename(root / argument)
        elif kind == "mkdir":
            path.mkdir()
        else:
            path.symlink_to(root / argument)
    return dirty + real_places(*touched)


@pytest.mark.parametrize(
    ("small", "many"), [(scanning.SMALL, rescanning._MANY), (1, 0)], ids=["few and small", "many and large"]
)
def test_an_update_is_what_a_full_scan_would_be(small: int, many: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scanning, "SMALL", small)
    monkeypatch.setattr(rescanning, "_MANY", many)

    @settings(max_examples=examples(120), deadline=None)
    @given(st.lists(OPERATIONS, max_size=8), STEPS, st.lists(USAGE, min_size=4, max_size=4), st.booleans())
    def holds(
        before: list[tuple[str, str, str]],
        steps: list[list[tuple[str, str, str]]],
        usages: list[dict[str, MemoryUsage]],
        with_parents: bool,
    ) -> None:
        with tempfile.TemporaryDirectory() as name:
            root = Path(os.path.realpath(name)) / "root"
            root.mkdir()
            for operation in before:
                change(root, operation)
            listing = scan(root, SMALL_CAPS, usage=usages[0])
            for operations, usage in zip(steps, usages[1:], strict=False):
                dirty = [path for operation in operations for path in change(root, operation)]
                if with_parents:
                    dirty += [path.parent for path in dirty if path.is_relative_to(root)]
                listing = scan(root, SMALL_CAPS, usage=usage, previous=listing, dirty=dirty)
                expected = scan(root, SMALL_CAPS, usage=usage)
                assert listing == expected
                assert scan(root, SMALL_CAPS, usage=usage, previous=listing) == expected

    holds()


def test_a_directory_that_is_swapped_for_a_link_during_the_scan_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = tmp_path / "root"
    write(root / "sub" / "a.md")
    write(root / "b.md")
    write(tmp_path / "outside" / "secret.md")
    real = scanning._open_folder

    def swap(descent: Descent, name: str) -> Directory:
        if name == "sub" and not (root / "sub").is_symlink():
            shutil.rmtree(root / "sub")
            (root / "sub").symlink_to(tmp_path / "outside")
        return real(descent, name)

    monkeypatch.setattr(scanning, "_open_folder", swap)
    listing = scan(root)
    assert rels(listing) == ["b.md"]
    assert listing.directories == ()


def test_a_file_that_is_swapped_for_a_link_during_the_scan_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    root = tmp_path / "root"
    write(root / "a.md")
    write(root / "b.md")
    secret = write(tmp_path / "secret.md", "---\ndescription: secret\n---\n")
    real = Directory.beginning

    def swap(directory: Directory, name: str, size: int) -> tuple[os.stat_result, bytes]:
        if name == "a.md":
            (root / "a.md").unlink()
            (root / "a.md").symlink_to(secret)
        return real(directory, name, size)

    monkeypatch.setattr(Directory, "beginning", swap)
    assert rels(scan(root)) == ["b.md"]


def test_where_directories_cannot_be_held_open_paths_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = tmp_path / "root"
    write(root / "sub" / "a.md", "---\ndescription: d\n---\n")
    write(root / "b.md")
    (root / "link.md").symlink_to("b.md")
    (root / "linked").symlink_to("sub")
    expected = scan(root)
    monkeypatch.setattr(directory_module, "SUPPORTS_DIR_FD", False)
    assert scan(root) == expected
    assert scan(root, previous=expected, dirty=[root / "sub" / "a.md"]) == expected
    assert scan(tmp_path / "nothing").files == ()
    assert scan(root / "b.md").unavailable
