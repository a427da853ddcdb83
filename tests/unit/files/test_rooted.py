"""Rooted directories: nothing outside is read or changed, whatever the symlinks do."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.ordinary_user import without_power
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.files import directory as directory_module
from reverie.files import rooted as removal_module
from reverie.files import rooted as rooted_module
from reverie.files.atomic import Undurable, held_name, is_temporary, set_observer, temporary_name
from reverie.files.directory import Directory
from reverie.files.rooted import DirectoryEntry, EscapesRoot, RootedDirectory

SECRET = b"outside"


@pytest.fixture
def rooted(tmp_path: Path) -> RootedDirectory:
    (tmp_path / "root").mkdir()
    return RootedDirectory(tmp_path / "root")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside" / "dir").mkdir(parents=True)
    (tmp_path / "outside" / "file").write_bytes(SECRET)
    (tmp_path / "outside" / "dir" / "file").write_bytes(SECRET)
    return tmp_path / "outside"


@pytest.fixture(autouse=True)
def _no_observer_left() -> Iterator[None]:
    yield
    set_observer(None)


def _reason(call: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        call()
    assert caught.value.title
    assert caught.value.next_step
    return caught.value.reason


def _tree(directory: Path) -> dict[str, bytes | str | None]:
    """Everything below a directory: bytes of files, targets of links, None for directories."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(directory.rglob("*")):
        rel = str(path.relative_to(directory))
        if path.is_symlink():
            found[rel] = str(path.readlink())
        else:
            found[rel] = path.read_bytes() if path.is_file() else None
    return found


# Files and directories


def test_writes_make_parents_and_the_root_and_read_back(tmp_path: Path) -> None:
    rooted = RootedDirectory(tmp_path / "home" / "memory")
    assert not rooted.exists()
    rooted.write("a/b/c.md", b"text")
    assert rooted.exists()
    assert rooted.read("a/b/c.md") == b"text"
    assert rooted.read("a/b/c.md", limit=2) == b"te"
    entry = rooted.entry("a/b/c.md")
    assert entry is not None
    status = (tmp_path / "home" / "memory" / "a" / "b" / "c.md").stat()
    assert (entry.kind, entry.size, entry.mtime_ns, entry.inode) == (
        "file",
        4,
        status.st_mtime_ns,
        status.st_ino,
    )
    assert entry.mode == status.st_mode & 0o7777


def test_looking_creates_nothing(tmp_path: Path) -> None:
    rooted = RootedDirectory(tmp_path / "missing")
    assert rooted.entry("") is None
    assert rooted.entry("a/b") is None
    assert rooted.walk().entries == []
    assert rooted.sweep(older_than_s=0) == 0
    assert _reason(lambda: rooted.read("a")) == "missing"
    assert _reason(lambda: rooted.remove("a")) == "missing"
    assert _reason(lambda: rooted.rename("a", "b/c")) == "missing"
    assert list(tmp_path.iterdir()) == []


def test_missing_special_and_directory_are_told_apart(rooted: RootedDirectory) -> None:
    rooted.write("file", b"x")
    (rooted.root / "dir").mkdir()
    os.mkfifo(rooted.root / "pipe")
    assert rooted.entry("nothing") is None
    assert rooted.entry("file/below") is None
    assert rooted.entry("dir/nothing") is None
    kinds = {
        rel: entry.kind for rel in ("", "file", "dir", "pipe") if (entry := rooted.entry(rel)) is not None
    }
    assert kinds == {"": "directory", "file": "file", "dir": "directory", "pipe": "other"}
    assert _reason(lambda: rooted.read("nothing")) == "missing"
    assert _reason(lambda: rooted.read("file/below")) == "missing"
    assert _reason(lambda: rooted.read("dir")) == "directory"
    assert _reason(lambda: rooted.read("")) == "directory"
    assert _reason(lambda: rooted.read("pipe")) == "special"
    assert _reason(lambda: rooted.write("pipe", b"x")) == "special"
    assert _reason(lambda: rooted.write("dir", b"x")) == "directory"
    assert _reason(lambda: rooted.write("dir", b"x", before_replace=lambda _: None)) == "directory"
    assert _reason(lambda: rooted.write("", b"x")) == "directory"
    assert _reason(lambda: rooted.write("file/below", b"x")) == "directory"
    assert _reason(lambda: rooted.remove("")) == "directory"
    assert _reason(lambda: rooted.rename("", "x")) == "directory"


def test_a_root_that_is_a_file_is_an_error_and_not_empty(tmp_path: Path) -> None:
    (tmp_path / "root").write_bytes(b"x")
    rooted = RootedDirectory(tmp_path / "root")
    assert not rooted.exists()
    assert _reason(lambda: rooted.entry("a")) == "directory"
    assert _reason(lambda: rooted.write("a", b"x")) == "directory"


def test_the_hook_sees_the_current_bytes_and_what_it_raises_leaves_them(rooted: RootedDirectory) -> None:
    seen: list[bytes | None] = []
    rooted.write("a", b"1", before_replace=seen.append)
    rooted.write("a", b"2", before_replace=seen.append)
    assert seen == [None, b"1"]

    def refuse(_current: bytes | None) -> None:
        raise Conflict("changed")

    assert _reason_of_conflict(lambda: rooted.write("a", b"3", before_replace=refuse))
    assert _reason_of_conflict(lambda: rooted.write("new/deep/b", b"3", before_replace=refuse))
    assert _tree(rooted.root) == {"a": b"2"}


def _reason_of_conflict(call: Callable[[], object]) -> bool:
    with pytest.raises(Conflict):
        call()
    return True


def test_create_only_never_replaces(rooted: RootedDirectory) -> None:
    rooted.write("a", b"1", create_only=True)
    seen: list[bytes | None] = []
    assert (
        _reason(lambda: rooted.write("a", b"2", create_only=True, before_replace=seen.append)) == "conflict"
    )
    (rooted.root / "dir").mkdir()
    assert _reason(lambda: rooted.write("dir", b"2", create_only=True)) == "conflict"
    assert seen == [b"1"]
    assert _tree(rooted.root) == {"a": b"1", "dir": None}


def test_an_existing_mode_is_kept_and_a_given_one_wins(rooted: RootedDirectory) -> None:
    rooted.write("a", b"1", mode=0o600)
    rooted.write("a", b"2")
    assert (rooted.root / "a").stat().st_mode & 0o7777 == 0o600
    rooted.write("b", b"1", create_only=True, mode=0o640)
    assert (rooted.root / "b").stat().st_mode & 0o7777 == 0o640


def test_a_directory_vanishes_at_once_and_a_kill_before_its_deletion_leaves_only_what_is_swept(
    rooted: RootedDirectory,
) -> None:
    rooted.write("d/e/f", b"x")
    rooted.write("d/g", b"x")
    rooted.write("kept/h", b"x")

    def stop(name: str) -> None:
        assert name == "hide"
        raise KeyboardInterrupt

    set_observer(stop)
    with pytest.raises(KeyboardInterrupt):
        rooted.remove("d")
    set_observer(None)
    assert rooted.entry("d") is None
    assert [entry.rel for entry in rooted.walk().entries] == ["kept", "kept/h"]
    (rooted.root / "kept" / temporary_name("h")).write_bytes(b"")
    assert rooted.sweep(older_than_s=60) == 0
    assert rooted.sweep(older_than_s=-1) == 2
    assert _tree(rooted.root) == {"kept": None, "kept/h": b"x"}


def test_a_removed_directory_is_given_back_and_one_made_anew_meanwhile_gets_what_it_lacks(
    rooted: RootedDirectory,
) -> None:
    rooted.write("d/e/f", b"old")
    rooted.write("d/g", b"old")
    seen: list[str] = []

    def refuse(taken: list[DirectoryEntry], content: bytes | None) -> None:
        assert content is None
        seen.extend(entry.rel for entry in taken)
        if len(seen) > 2:
            rooted.write("d/e/new", b"new")
            rooted.write("d/g", b"new")
        raise StoreError("no")

    for _ in range(2):
        with pytest.raises(StoreError, match="no"):
            rooted.remove("d", check=refuse)
    assert seen == ["d/e/f", "d/g"] * 2
    found = {name: data for name, data in _tree(rooted.root).items() if not name.startswith(".")}
    assert found == {"d": None, "d/e": None, "d/e/f": b"old", "d/e/new": b"new", "d/g": b"new"}


def test_files_and_directories_are_removed_and_renamed_whole(rooted: RootedDirectory) -> None:
    rooted.write("d/e/f", b"x")
    rooted.write("a", b"a")
    rooted.rename("d", "new/place")
    rooted.rename("a", "new/a")
    assert _tree(rooted.root) == {
        "new": None,
        "new/a": b"a",
        "new/place": None,
        "new/place/e": None,
        "new/place/e/f": b"x",
    }
    rooted.remove("new/place")
    rooted.remove("new/a")
    assert _tree(rooted.root) == {"new": None}


@pytest.mark.parametrize("renameat2", [True, False])
def test_rename_never_replaces_and_leaves_no_parents_behind(
    rooted: RootedDirectory, monkeypatch: pytest.MonkeyPatch, renameat2: bool
) -> None:
    if not renameat2:
        monkeypatch.setattr(directory_module, "_renameat2", lambda: None)
    rooted.write("a", b"a")
    rooted.write("b", b"b")
    (rooted.root / "empty").mkdir()
    (rooted.root / "dir").mkdir()
    (rooted.root / "dangling").symlink_to("nowhere")
    before = _tree(rooted.root)
    for target in ("b", "empty", "dangling", ""):
        assert _reason(partial(rooted.rename, "a", target)) == "conflict"
        assert _reason(partial(rooted.rename, "dir", target)) == "conflict"
    assert _reason(lambda: rooted.rename("missing", "new/place")) == "missing"
    assert _reason(lambda: rooted.rename("dir", "dir/inside/itself")) == "name"
    assert _reason(lambda: rooted.rename("a", "a")) == "name"
    assert _tree(rooted.root) == before


# Names


@pytest.mark.parametrize(
    "rel", ["/", "/etc/passwd", "a//b", "a/", "./a", "a/.", ".", "a\0b", "\ud800", "a/\udbff\udfff"]
)
def test_what_is_no_relative_path_of_plain_names_is_refused(rooted: RootedDirectory, rel: str) -> None:
    for call in _every_operation(rooted, rel):
        assert _reason(call) == "name"


@pytest.mark.parametrize("rel", ["..", "../outside/file", "a/../../outside/file", "a/.."])
def test_dot_dot_is_refused_as_an_escape(rooted: RootedDirectory, outside: Path, rel: str) -> None:
    for call in _every_operation(rooted, rel):
        assert _reason(call) == "escape"


def _every_operation(rooted: RootedDirectory, rel: str) -> list[Callable[[], object]]:
    return [
        lambda: rooted.entry(rel),
        lambda: rooted.read(rel),
        lambda: rooted.write(rel, b"x"),
        lambda: rooted.write(rel, b"x", create_only=True),
        lambda: rooted.remove(rel),
        lambda: rooted.rename(rel, "target"),
        lambda: rooted.rename("source", rel) if rooted.entry("source") else _write_then_rename(rooted, rel),
    ]


def _write_then_rename(rooted: RootedDirectory, rel: str) -> None:
    rooted.write("source", b"x")
    rooted.rename("source", rel)


def test_long_hidden_odd_and_non_utf8_names_work(rooted: RootedDirectory) -> None:
    names = [
        "n" * 255,
        ".hidden",
        "tab\tnew\nline",
        "back\\slash",
        "-rf",
        "é" * 127,
        os.fsdecode(b"caf\xe9"),
        " ",
    ]
    for name in names:
        rooted.write(name, b"x")
        assert rooted.read(name) == b"x"
    listed = [entry.rel for entry in rooted.walk().entries]
    assert sorted(listed) == sorted(set(names) - {".hidden"})
    rooted.rename(os.fsdecode(b"caf\xe9"), "cafe")
    rooted.remove("n" * 255)


def test_a_name_too_long_is_missing_to_readers_and_clear_to_writers(rooted: RootedDirectory) -> None:
    with pytest.raises(Unavailable, match="too long"):
        rooted.write("n" * 256, b"x")
    assert _reason(lambda: rooted.read("n" * 256)) == "unavailable"
    assert list(rooted.root.iterdir()) == []


# Walking


def test_walk_skips_hidden_names_temporaries_links_and_special_files(
    rooted: RootedDirectory, outside: Path
) -> None:
    for rel in ("a.md", "d/b.md", "d/.hidden.md", ".git/config", f"d/{temporary_name('b.md')}"):
        rooted.write(rel, b"x")
    (rooted.root / "empty").mkdir()
    (rooted.root / "link.md").symlink_to("a.md")
    (rooted.root / "linked").symlink_to("d")
    (rooted.root / "out").symlink_to(outside)
    os.mkfifo(rooted.root / "pipe")
    walk = rooted.walk()
    assert [(entry.rel, entry.kind) for entry in walk.entries] == [
        ("a.md", "file"),
        ("d", "directory"),
        ("d/b.md", "file"),
        ("empty", "directory"),
    ]
    assert walk.problems == []


def test_walk_is_in_utf16_order_and_a_cut_walk_goes_depth_first(rooted: RootedDirectory) -> None:
    for rel in ("a/z.md", "a.md", "\uffee.md", "\U0001f600.md", "b.md"):
        rooted.write(rel, b"x")
    assert [entry.rel for entry in rooted.walk().entries] == [
        "a", "a.md", "a/z.md", "b.md", "\U0001f600.md", "\uffee.md",
    ]  # fmt: skip
    assert [entry.rel for entry in rooted.walk(files_limit=1).entries] == ["a", "a/z.md"]
    assert [entry.rel for entry in rooted.walk(files_limit=2).entries] == ["a", "a.md", "a/z.md"]
    assert rooted.walk(files_limit=0).entries == []


def test_a_root_that_goes_away_during_a_walk_is_unavailable_and_not_a_mass_deletion(
    rooted: RootedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooted.write("a/b", b"x")
    rooted.write("c", b"x")
    real = Directory.names

    def vanish(self: Directory) -> list[os.DirEntry[str]]:
        names = real(self)
        if rooted.root.exists():
            rooted.root.rename(rooted.root.with_name("elsewhere"))
        return names

    monkeypatch.setattr(Directory, "names", vanish)
    with pytest.raises(Unavailable, match="became unavailable while"):
        rooted.walk()


def test_a_deep_tree_is_walked_with_few_descriptors(rooted: RootedDirectory) -> None:
    rel = "/".join(["d"] * 150) + "/file"
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    rooted.write(rel, b"x")
    # What earlier tests of this process left open is not counted.
    in_use = max(int(each.name) for each in Path("/dev/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (in_use + 40, hard))
    try:
        assert rooted.read(rel) == b"x"
        assert rooted.walk().entries[-1].rel == rel
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# Symlinks


def test_symlinks_that_stay_inside_are_followed(rooted: RootedDirectory) -> None:
    rooted.write("real/file", b"x")
    (rooted.root / "relative").symlink_to("real/file")
    (rooted.root / "absolute").symlink_to(rooted.root / "real" / "file")
    (rooted.root / "dir").symlink_to("real")
    (rooted.root / "out-and-in").symlink_to(f"../{rooted.root.name}/real")
    (rooted.root / "chain").symlink_to("relative")
    for rel in ("relative", "absolute", "dir/file", "out-and-in/file", "chain"):
        assert rooted.read(rel) == b"x"
        entry = rooted.entry(rel)
        assert entry is not None
        assert (entry.rel, entry.kind) == (rel, "file")
    rooted.write("chain", b"y")
    rooted.write("dir/new", b"z")
    assert rooted.read("real/file") == b"y"
    assert (rooted.root / "chain").is_symlink()
    assert rooted.read("real/new") == b"z"


def test_a_link_is_removed_and_renamed_itself_not_what_it_leads_to(
    rooted: RootedDirectory, outside: Path
) -> None:
    rooted.write("real/file", b"x")
    (rooted.root / "link").symlink_to("real")
    (rooted.root / "out").symlink_to(outside)
    rooted.rename("link", "moved")
    rooted.remove("moved")
    rooted.remove("out")
    assert _tree(rooted.root) == {"real": None, "real/file": b"x"}
    assert set(_tree(outside)) == {"dir", "dir/file", "file"}


def test_a_root_may_be_a_symlink(rooted: RootedDirectory, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(rooted.root)
    linked = RootedDirectory(tmp_path / "link")
    linked.write("a", b"x")
    assert [entry.rel for entry in linked.walk().entries] == ["a"]
    assert rooted.read("a") == b"x"


def test_dangling_and_circular_links_never_crash(rooted: RootedDirectory) -> None:
    (rooted.root / "dangling").symlink_to("nowhere/file")
    (rooted.root / "dangling-out").symlink_to("../nowhere")
    (rooted.root / "self").symlink_to("self")
    (rooted.root / "ping").symlink_to("pong")
    (rooted.root / "pong").symlink_to("ping")
    (rooted.root / "circle-out").symlink_to("self/../../outside")
    for number in range(1500):
        (rooted.root / f"chain{number}").symlink_to(f"chain{number + 1}")
    for number in range(50):
        (rooted.root / f"short{number}").symlink_to(f"short{number + 1}")
    (rooted.root / "short50").mkdir()
    assert rooted.entry("dangling") is None
    refused = ("dangling-out", "self", "ping", "self/below", "circle-out", "chain0", "chain0/below")
    for rel in (*refused, "short0", "short0/below"):
        assert _reason(partial(rooted.entry, rel)) == "escape"
        assert _reason(partial(rooted.read, rel)) == "escape"
        assert _reason(partial(rooted.write, rel, b"x")) == "escape"
        assert _reason(partial(rooted.write, rel, b"x", before_replace=lambda _: None)) == "escape"
    rooted.write("dangling", b"x")
    assert (rooted.root / "nowhere" / "file").read_bytes() == b"x"


@pytest.mark.parametrize("weaker", [False, True], ids=["descriptors", "paths"])
@pytest.mark.parametrize("rel", ["file", "dir", "dir/file", "dir/new", "dir/new/deep"])
@pytest.mark.parametrize("absolute", [True, False])
def test_links_that_lead_outside_are_refused(
    rooted: RootedDirectory,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
    rel: str,
    absolute: bool,
    weaker: bool,
) -> None:
    if weaker:
        monkeypatch.setattr(directory_module, "SUPPORTS_DIR_FD", False)
        monkeypatch.setattr(rooted_module, "SUPPORTS_DIR_FD", False)
    target = outside if absolute else Path("../outside")
    (rooted.root / "file").symlink_to(target / "file")
    (rooted.root / "dir").symlink_to(target / "dir")
    rooted.write("source", b"x")
    before = _tree(outside)
    assert _reason(lambda: rooted.entry(rel)) == "escape"
    assert _reason(lambda: rooted.read(rel)) == "escape"
    assert _reason(lambda: rooted.write(rel, b"x")) == "escape"
    assert _reason(lambda: rooted.write(rel, b"x", create_only=True)) == "escape"
    if "/" in rel:
        assert _reason(lambda: rooted.remove(rel)) == "escape"
        assert _reason(lambda: rooted.rename(rel, "new")) == "escape"
        assert _reason(lambda: rooted.rename("source", rel)) == "escape"
    assert _tree(outside) == before


_names = st.sampled_from(["a", "b", "c"])
_rels = st.lists(_names, min_size=1, max_size=3).map("/".join)
_targets = st.one_of(
    _rels,
    st.lists(st.sampled_from(["..", "a", "b", "outside", "root", "file", "."]), min_size=1, max_size=5).map(
        "/".join
    ),
    st.sampled_from(
        ["{top}/outside", "{top}/outside/file", "{top}/root", "{top}/root/a/b", "/", "/etc/passwd"]
    ),
)
_arrangements = st.lists(
    st.tuples(_rels, st.one_of(st.just("dir"), st.just("file"), _targets.map(lambda target: "->" + target))),
    max_size=7,
)


@given(_arrangements, st.lists(_rels, min_size=1, max_size=4))
def test_no_arrangement_of_symlinks_leads_outside(
    arrangement: list[tuple[str, str]], rels: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory).resolve()
        _arrange(top, arrangement)
        before = _tree(top / "outside")
        rooted = RootedDirectory(top / "root")
        for rel in rels:
            for call in (
                partial(rooted.entry, rel),
                partial(rooted.write, rel, b"new", before_replace=_never_secret),
                partial(rooted.write, rel + "/x", b"new", create_only=True),
                partial(_read_no_secret, rooted, rel),
                partial(rooted.rename, rel, "moved/" + rel),
                partial(rooted.remove, rel),
                rooted.walk,
            ):
                _call_or_refuse(call)
        assert _tree(top / "outside") == before
        assert sorted(path.name for path in top.iterdir()) == ["outside", "root"]


def _arrange(top: Path, arrangement: list[tuple[str, str]]) -> None:
    (top / "root").mkdir()
    (top / "outside" / "a" / "b").mkdir(parents=True)
    for rel in ("file", "a/file", "a/b/c", "c"):
        (top / "outside" / rel).write_bytes(SECRET)
    for rel, what in arrangement:
        place = top / "root" / rel
        try:
            # Links inside links count, but none is made through one that leads outside.
            if not place.parent.resolve().is_relative_to(top / "root"):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            if what == "dir":
                place.mkdir()
            elif what == "file":
                with place.open("xb") as file:
                    file.write(b"inside")
            else:
                place.symlink_to(what[2:].format(top=top))
        except (OSError, RuntimeError):
            continue


def _never_secret(data: bytes | None) -> None:
    assert data in (None, b"inside", b"new")


def _read_no_secret(rooted: RootedDirectory, rel: str) -> None:
    _never_secret(rooted.read(rel))


def _call_or_refuse(call: Callable[[], object]) -> None:
    with contextlib.suppress(UserError):
        call()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
@pytest.mark.parametrize("operation", ["read", "write", "create", "rename", "remove", "walk"])
def test_a_directory_swapped_for_a_symlink_meanwhile_never_leads_outside(
    rooted: RootedDirectory, outside: Path, operation: str
) -> None:
    rooted.write("d/file", b"inside")
    rooted.write("source", b"inside")
    (rooted.root / "swap").symlink_to(outside)
    before = _tree(outside)
    stop = threading.Event()
    flips = 0

    def flip() -> None:
        nonlocal flips
        with Directory.open(rooted.root) as directory:
            while not stop.is_set():
                directory.exchange("d", "swap")
                flips += 1

    def act(number: int) -> None:
        if operation == "read":
            _never_secret(rooted.read("d/file"))
        elif operation == "write":
            rooted.write("d/file", b"new", before_replace=_never_secret)
        elif operation == "create":
            rooted.write(f"d/new/{number}", b"new", create_only=True)
        elif operation == "rename":
            rooted.rename(*(("source", "d/moved") if number % 2 else ("d/moved", "source")))
        elif operation == "remove":
            rooted.write("d/dir/x", b"new")
            rooted.remove("d/dir")
        else:
            listed = {entry.rel for entry in rooted.walk().entries}
            assert listed <= {"d", "d/file", "swap", "swap/file", "source"}

    flipper = threading.Thread(target=flip)
    flipper.start()
    try:
        number = 0
        while flips < 2000 or number < 100:
            number += 1
            _call_or_refuse(partial(act, number))
    finally:
        stop.set()
        flipper.join()
    assert _tree(outside) == before


# Troubles of the system

_WITHOUT_POWER = """
import ctypes, os, sys
from pathlib import Path
from reverie.errors import UserError
from reverie.files.rooted import RootedDirectory

# Root loses the power to ignore permission bits; for anyone else this changes nothing.
header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
assert ctypes.CDLL(None).capset(header, none) == 0
rooted = RootedDirectory(Path(sys.argv[1]))
for act in (
    lambda: rooted.write("d/file", b"new"),
    lambda: rooted.write("d/new", b"new", create_only=True),
    lambda: rooted.remove("d/file"),
    lambda: rooted.rename("d/file", "moved"),
    lambda: rooted.read("secret/file"),
    lambda: rooted.entry("secret/file"),
    lambda: RootedDirectory(rooted.root / "secret").walk(),
):
    try:
        act()
        print("done")
    except UserError as error:
        print(error.reason, error.cause)
print(rooted.walk().problems)
print(RootedDirectory(rooted.root / "d").sweep(older_than_s=-1))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="takes capabilities from root as Linux does")
def test_directories_that_refuse_give_clear_errors_and_stay_as_they_were(rooted: RootedDirectory) -> None:
    rooted.write("d/file", b"old")
    rooted.write("secret/file", b"old")
    (rooted.root / "d" / temporary_name("x")).write_bytes(b"")
    (rooted.root / "d").chmod(0o555)
    (rooted.root / "secret").chmod(0o000)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _WITHOUT_POWER, str(rooted.root)],
            check=True,
            capture_output=True,
            text=True,
        )
    finally:
        (rooted.root / "d").chmod(0o755)
        (rooted.root / "secret").chmod(0o755)
    lines = done.stdout.splitlines()
    assert lines[:7] == ["unavailable Permission is denied."] * 7
    assert "“secret” could not be listed" in lines[7]
    assert lines[8] == "0"
    assert rooted.read("d/file") == b"old"


_LIMITED = """
import resource, sys
from pathlib import Path
from reverie.errors import UserError
from reverie.files.rooted import RootedDirectory
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
rooted = RootedDirectory(Path(sys.argv[1]))
for rel in ("old", "new/file"):
    try:
        rooted.write(rel, b"x" * 5000, before_replace=lambda current: None)
    except UserError as error:
        print(error)
"""


def test_a_full_disk_leaves_old_content_and_no_new_directories(rooted: RootedDirectory) -> None:
    rooted.write("old", b"old")
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(rooted.root)], check=True, capture_output=True, text=True
    )
    assert done.stdout.count("size limit") == 2
    assert _tree(rooted.root) == {"old": b"old"}


def test_a_directory_that_cannot_be_made_durable_is_not_left_behind(
    rooted: RootedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_directory: Directory) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Directory, "sync", failing)
    assert _reason(lambda: rooted.write("a/b/file", b"new")) == "unavailable"
    assert list(rooted.root.iterdir()) == []


_KILLED_AT = """
import os, sys
from pathlib import Path
from reverie.files.atomic import set_observer
from reverie.files.rooted import RootedDirectory
set_observer(lambda name: os._exit(9) if name == sys.argv[2] else None)
RootedDirectory(Path(sys.argv[1])).write("d/file", b"new", before_replace=lambda current: None)
"""


@pytest.mark.parametrize("step", ["temp", "fsync", "replace"])
def test_a_kill_in_a_write_leaves_old_or_new(rooted: RootedDirectory, step: str) -> None:
    rooted.write("d/file", b"old")
    killed = subprocess.run([sys.executable, "-c", _KILLED_AT, str(rooted.root), step], check=False)
    assert killed.returncode == 9
    assert rooted.read("d/file") == (b"new" if step == "replace" else b"old")
    assert [entry.rel for entry in rooted.walk().entries] == ["d", "d/file"]
    left = [path.name for path in (rooted.root / "d").iterdir() if path.name != "file"]
    assert all(is_temporary(name) for name in left)
    assert rooted.sweep(older_than_s=-1) == len(left)
    assert [path.name for path in (rooted.root / "d").iterdir()] == ["file"]


_KILLED_REMOVAL = """
import os, sys
from pathlib import Path
from reverie.files.atomic import set_observer
from reverie.files.rooted import RootedDirectory
set_observer(lambda name: os._exit(9))
check = (lambda *_: os._exit(9)) if sys.argv[2] == "look" else (lambda *_: None)
RootedDirectory(Path(sys.argv[1])).remove("d", check=check)
"""


@pytest.mark.parametrize("step", ["look", "hide"])
def test_the_sweep_returns_what_a_killed_removal_had_not_checked(rooted: RootedDirectory, step: str) -> None:
    rooted.write("d/file", b"old")
    killed = subprocess.run([sys.executable, "-c", _KILLED_REMOVAL, str(rooted.root), step], check=False)
    assert killed.returncode == 9
    assert rooted.walk().entries == []
    assert all(is_temporary(path.name) for path in rooted.root.iterdir())
    rooted.sweep(older_than_s=3600)
    assert rooted.walk().entries == []
    rooted.sweep(older_than_s=-1)
    assert _tree(rooted.root) == ({"d": None, "d/file": b"old"} if step == "look" else {})


def test_the_sweep_never_replaces_what_took_the_place_of_a_killed_removal(rooted: RootedDirectory) -> None:
    rooted.write("d", b"new")
    (rooted.root / held_name("d")).write_bytes(b"old")
    rooted.sweep(older_than_s=-1)
    assert rooted.read("d") == b"new"
    assert sorted(path.read_bytes() for path in rooted.root.iterdir()) == [b"new", b"old"]


@pytest.mark.parametrize("name", [".hidden", "link", "closed"])
def test_a_removal_that_is_checked_takes_nothing_unseen(rooted: RootedDirectory, name: str) -> None:
    rooted.write("d/file", b"old")
    if name == "link":
        (rooted.root / "d" / name).symlink_to("file")
    elif name == "closed":
        rooted.write("d/closed/file", b"old")
        (rooted.root / "d" / name).chmod(0o000)
    else:
        (rooted.root / "d" / name).write_bytes(b"only copy")
    seen: list[str] = []

    def look(taken: list[DirectoryEntry], _content: bytes | None) -> None:
        seen.extend(entry.rel for entry in taken)
        raise StoreError("no")

    with pytest.raises(UserError):
        without_power(lambda: rooted.remove("d", check=look))
    (rooted.root / "d" / name).chmod(0o755)
    assert seen == ([] if name == "closed" else sorted(["d/file", f"d/{name}"]))
    assert (rooted.root / "d" / "file").exists()


def test_a_folder_that_cannot_be_deleted_as_a_whole_stays_whole(rooted: RootedDirectory) -> None:
    rooted.write("d/a", b"old")
    rooted.write("d/fixed/b", b"old")
    before = _tree(rooted.root)
    (rooted.root / "d/fixed").chmod(0o555)
    with pytest.raises(Unavailable):
        without_power(lambda: rooted.remove("d"))
    (rooted.root / "d/fixed").chmod(0o755)
    assert _tree(rooted.root) == before


def test_what_is_left_of_a_folder_that_could_not_be_deleted_gets_its_name_back(
    rooted: RootedDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooted.write("d/a", b"old")

    def fails(_self: Directory, _name: str) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(removal_module, "remove_tree", fails)
        with pytest.raises(Unavailable):
            rooted.remove("d")
    assert _tree(rooted.root) == {"d": None, "d/a": b"old"}


def test_a_folder_that_was_looked_at_and_has_lost_something_counts_as_removed(
    rooted: RootedDirectory,
) -> None:
    rooted.write("d/below/a", b"old")

    def close(step: str) -> None:
        if step == "hide":
            next(rooted.root.iterdir()).chmod(0o555)

    set_observer(close)
    try:
        with pytest.raises(Undurable, match="was removed, but the rest of it"):
            without_power(lambda: rooted.remove("d", check=lambda _taken, _content: None))
    finally:
        set_observer(None)
    assert rooted.entry("d") is None
    (left,) = rooted.root.iterdir()
    left.chmod(0o755)
    assert is_temporary(left.name), "the sweep finds it"


def test_an_unexpected_store_error_is_not_taken_for_missing(rooted: RootedDirectory, outside: Path) -> None:
    (rooted.root / "out").symlink_to(outside)
    with pytest.raises(EscapesRoot):
        rooted.entry("out/nothing")
    assert issubclass(EscapesRoot, StoreError)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list what is open")
def test_what_is_made_on_the_way_leaves_nothing_open(tmp_path: Path) -> None:
    files = RootedDirectory(tmp_path / "room")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for number in range(20):
        files.write(f"new-{number}/deep/note.md", b"x", create_only=True)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("root", ["half-\ud83d/memory", "nul\0/memory"])
def test_a_root_that_no_file_system_holds_has_nothing_in_it_and_is_not_made(
    tmp_path: Path, root: str
) -> None:
    rooted = RootedDirectory(tmp_path / root)
    assert not rooted.exists()
    assert rooted.entry("note.md") is None
    assert rooted.walk().entries == []
    with pytest.raises(StoreError, match="does not exist"):
        rooted.read("note.md")
    with pytest.raises(StoreError, match="no file system can store"):
        rooted.write("note.md", b"x")
    assert list(tmp_path.iterdir()) == []
