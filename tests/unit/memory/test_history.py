"""The history keeps every version verbatim, commits only what changed, and reads only what it must."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.clock import fixed_clock
from reverie.errors import StoreError
from reverie.files.directory import stamp_of
from reverie.memory.catalogue_scan import KnownVersion
from reverie.memory.history.history import History, SnapshotSource

NOW_MS = 1_784_000_000_000
AT_REST_NS = 1_000_000_000_000_000_000
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="the git command is not installed")


class Home:
    """A memory root and its history, with the few words that every test here needs."""

    def __init__(self, base: Path, *, pack_after: int = 2000) -> None:
        self.root = base / "memories"
        self.root.mkdir(parents=True)
        self.repository = base / "history" / "home.git"
        self.known: dict[str, KnownVersion] = {}
        self.history = History(
            self.repository,
            lock_dir=base / "locks",
            clock=fixed_clock(NOW_MS),
            pack_after=pack_after,
            known=lambda _key, _rel: self.known,
        )

    def write(self, rel: str, content: bytes | str) -> Path:
        path = self.root / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def snapshot(self, **more: Any) -> str | None:
        return self.history.snapshot(
            [SnapshotSource("global", self.root, metadata=more.pop("metadata", {}))],
            **{"actor": "user", "source": "test", "subject": "Change", **more},
        )

    def kept(self) -> dict[str, bytes | None]:
        head = self.history.head()
        assert head is not None
        return {rel: self.history.read(head, "global", rel) for rel in self.history.files(head, "global")}

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.repository), *arguments]
        return subprocess.run(
            command, check=True, capture_output=True, text=True, errors="surrogateescape"
        ).stdout


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a\r\nb\r\n",
        b"a\rb",
        b"no newline",
        b"\x00\xff\xfe",
        b"\xff\xfe",
        b"\xef\xbb\xbfb",
        b"x" * 5_000_000,
    ],
    ids=["empty", "crlf", "cr", "no-newline", "binary", "not-utf-8", "bom", "5-mb"],
)
def test_bytes_are_kept_as_they_are(home: Home, content: bytes) -> None:
    home.write("a.md", content)
    home.snapshot()
    assert home.kept() == {"a.md": content}


def test_nothing_changed_makes_no_commit(home: Home) -> None:
    home.write("a.md", "a")
    first = home.snapshot()
    assert first is not None
    assert home.snapshot() is None
    assert home.history.head() == first


def test_a_change_and_a_deletion_make_a_commit_and_the_old_version_stays(home: Home) -> None:
    home.write("a.md", "old")
    home.write("b.md", "b")
    first = home.snapshot()
    assert first
    home.write("a.md", "new")
    (home.root / "b.md").unlink()
    home.snapshot()
    assert home.kept() == {"a.md": b"new"}
    assert home.history.read(first, "global", "a.md") == b"old"
    assert home.history.read(first, "global", "b.md") == b"b"


def test_a_commit_says_who_which_run_and_from_where(home: Home) -> None:
    home.write("a.md", "a")
    home.snapshot(actor="dream", source="watch", run_id="1784-abcd", subject="Merge two notes\nand more")
    (commit,) = home.history.commits()
    assert (commit.actor, commit.source, commit.run_id) == ("dream", "watch", "1784-abcd")
    assert (commit.subject, commit.at_ms, commit.parent) == ("Merge two notes and more", NOW_MS, None)


def test_a_snapshot_by_hand_has_no_run(home: Home) -> None:
    home.write("a.md", "a")
    home.snapshot()
    assert home.history.commits()[0].run_id is None


def test_trailers_in_names_and_subjects_are_not_believed(home: Home) -> None:
    home.write("a.md", "a")
    home.snapshot(actor="user\nActor: evil", subject="Actor: evil\n\nActor: evil\nRun: 1")
    (commit,) = home.history.commits()
    assert commit.actor == "user Actor: evil"
    assert commit.run_id is None


def test_hidden_names_symlinks_and_special_files_are_not_memories(home: Home, tmp_path: Path) -> None:
    home.write("a.md", "a")
    home.write(".hidden.md", "x")
    home.write(".dir/b.md", "x")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (home.root / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    (home.root / "linked").symlink_to(tmp_path / "outside", target_is_directory=True)
    if hasattr(os, "mkfifo"):
        os.mkfifo(home.root / "pipe")
    home.snapshot()
    assert home.kept() == {"a.md": b"a"}


def test_a_root_that_is_not_passed_keeps_its_tree(home: Home, tmp_path: Path) -> None:
    home.write("a.md", "a")
    home.snapshot()
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("b")
    home.history.snapshot(
        [SnapshotSource("project/other", other)], actor="user", source="test", subject="Another root"
    )
    assert home.kept() == {"a.md": b"a"}
    assert list(home.history.files(home.history.head() or "", "project/other")) == ["b.md"]


def test_a_root_that_is_passed_and_missing_is_kept_as_empty(home: Home) -> None:
    home.write("a.md", "a")
    home.snapshot()
    shutil.rmtree(home.root)
    assert home.snapshot() is not None
    assert home.kept() == {}


def test_keys_that_contain_each_other_stay_apart(home: Home, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "files").mkdir(parents=True)
        (tmp_path / name / "files" / "a.md").write_text(name)
    sources = [SnapshotSource("project", tmp_path / "one"), SnapshotSource("project/files", tmp_path / "two")]
    head = home.history.snapshot(sources, actor="user", source="test", subject="Both")
    assert head
    assert home.history.read(head, "project", "files/a.md") == b"one"
    assert home.history.read(head, "project/files", "files/a.md") == b"two"


def test_listed_files_are_kept_hidden_ones_and_links_inside_the_root_too(home: Home) -> None:
    home.write("AGENTS.md", "agents")
    home.write(".claude/CLAUDE.md", "claude")
    home.write("unlisted.md", "x")
    (home.root / "CLAUDE.md").symlink_to("AGENTS.md")
    listed = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "missing.md")
    head = home.history.snapshot(
        [SnapshotSource("companions", home.root, files=listed)], actor="user", source="test", subject="Kept"
    )
    assert head
    assert set(home.history.files(head, "companions")) == {"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"}
    assert home.history.read(head, "companions", "CLAUDE.md") == b"agents"


def test_a_listed_link_that_leads_outside_is_not_followed(home: Home, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (home.root / "CLAUDE.md").symlink_to(tmp_path / "secret")
    home.write("a.md", "a")
    head = home.history.snapshot(
        [SnapshotSource("companions", home.root, files=("CLAUDE.md", "a.md"))],
        actor="u",
        source="t",
        subject="s",
    )
    assert list(home.history.files(head or "", "companions")) == ["a.md"]
    assert "CLAUDE.md" in " ".join(home.history.problems)


def test_git_is_loaded_only_when_a_history_is_used() -> None:
    code = "import sys; import reverie.memory.history.history; sys.exit('pygit2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- modes and metadata


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_permission_bits_are_kept_and_a_change_of_them_alone_is_a_change(home: Home) -> None:
    note = home.write("a.md", "a")
    first = home.snapshot()
    for mode in (0o600, 0o755, 0o640, 0o644):
        note.chmod(mode)
        head = home.snapshot()
        assert head
        assert home.history.files(head, "global")["a.md"].mode == mode
    assert home.history.files(first or "", "global")["a.md"].mode == stat.S_IMODE(note.stat().st_mode)


def test_pins_and_usage_come_back_and_a_change_of_them_alone_is_a_change(home: Home) -> None:
    home.write("a.md", "a")
    before = home.snapshot(metadata={"a.md": {"pinned": False, "accessCount": 1}})
    after = home.snapshot(metadata={"a.md": {"pinned": True, "accessCount": 2}})
    assert before
    assert after
    assert home.history.metadata(before, "global") == {"a.md": {"pinned": False, "accessCount": 1}}
    (change,) = home.history.changes(before, after)
    assert (change.key, change.rel, change.content_changed) == ("global", "a.md", False)
    assert (change.before, change.after) == (b"a", b"a")
    assert change.before_metadata == {"pinned": False, "accessCount": 1}
    assert change.after_metadata == {"pinned": True, "accessCount": 2}


def test_equal_metadata_is_no_change(home: Home) -> None:
    home.write("a.md", "a")
    home.snapshot(metadata={"a.md": {"pinned": True}})
    assert home.snapshot(metadata={"a.md": {"pinned": True}}) is None


# ---- changes and commits


def test_changes_tell_what_was_added_changed_and_deleted(home: Home) -> None:
    home.write("changed.md", "old")
    home.write("deleted.md", "gone")
    home.write("same.md", "same")
    before = home.snapshot()
    home.write("changed.md", "new")
    home.write("dir/added.md", "added")
    (home.root / "deleted.md").unlink()
    after = home.snapshot()
    assert after
    assert [(c.rel, c.before, c.after) for c in home.history.changes(before, after)] == [
        ("changed.md", b"old", b"new"),
        ("deleted.md", b"gone", None),
        ("dir/added.md", None, b"added"),
    ]
    assert {c.rel: c.after for c in home.history.changes(None, after)} == home.kept()
    assert home.history.changes(after, after) == ()


def test_a_file_that_became_a_directory_is_a_deletion_and_an_addition(home: Home) -> None:
    home.write("a", "file")
    before = home.snapshot()
    (home.root / "a").unlink()
    home.write("a/b.md", "inside")
    after = home.snapshot()
    assert [(c.rel, c.before, c.after) for c in home.history.changes(before, after or "")] == [
        ("a", b"file", None),
        ("a/b.md", None, b"inside"),
    ]


def test_commits_can_be_asked_for_one_root_one_file_or_one_directory(home: Home, tmp_path: Path) -> None:
    home.write("a.md", "1")
    first = home.snapshot()
    home.write("dir/b.md", "1")
    second = home.snapshot()
    home.write("a.md", "2")
    third = home.snapshot()
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("x")
    fourth = home.history.snapshot([SnapshotSource("x", other)], actor="user", source="test", subject="x")

    def ids(**filters: Any) -> list[str]:
        return [commit.id for commit in home.history.commits(**filters)]

    assert ids() == [fourth, third, second, first]
    assert ids(limit=2) == [fourth, third]
    assert ids(key="global") == [third, second, first]
    assert ids(key="global", rel="a.md") == [third, first]
    assert ids(key="global", rel="dir") == [second]
    assert ids(key="global", rel="never.md") == []


def test_an_unknown_version_is_an_error_in_words(home: Home) -> None:
    home.write("a.md", "a")
    for commit in ("0" * 40, "not an id", "ab"):
        with pytest.raises(StoreError) as caught:
            home.history.read(commit, "global", "a.md")
        assert caught.value.reason == "missing"
    home.snapshot()
    with pytest.raises(StoreError, match="not in the history"):
        home.history.files("1" * 40, "global")


def test_what_a_commit_does_not_have_is_none(home: Home) -> None:
    home.write("dir/a.md", "a")
    head = home.snapshot() or ""
    assert home.history.read(head, "global", "other.md") is None
    assert home.history.read(head, "global", "dir") is None
    assert home.history.read(head, "workspace/1", "a.md") is None
    assert home.history.files(head, "workspace/1") == {}


def test_looking_at_a_history_that_does_not_exist_creates_nothing(home: Home, tmp_path: Path) -> None:
    assert home.history.head() is None
    assert home.history.commits() == []
    assert home.history.check() == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memories"]


# ---- hostile names

_NAMES = [
    ".git", ".GIT", "git~1", ".git\u200c", "CON", "aux.md", "dot.", "blank ", "50%", "%41", "a:b", "x" * 255,
    "\udcff\udcfe", "caf\udce9", "new\nline", "-rf", "é", "e\u0301", "日本", ".gitmodules", "'\"`$", "\\",
]  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not let these names exist")
@settings(max_examples=settings().max_examples // 3)
@given(
    rels=st.sets(st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3).map(tuple), min_size=1, max_size=4)
)
def test_hostile_names_come_back(
    tmp_path_factory: pytest.TempPathFactory, rels: set[tuple[str, ...]]
) -> None:
    home = Home(tmp_path_factory.mktemp("names"))
    expected = {}
    for rel in sorted(rels, key=len):
        path = home.root.joinpath(*rel)
        if any(parent.is_file() for parent in path.parents) or path.is_dir():
            continue
        expected["/".join(rel)] = home.write("/".join(rel), "/".join(rel).encode("utf-8", "surrogateescape"))
    listed = SnapshotSource("global", home.root, files=tuple(expected))
    head = home.history.snapshot([listed], actor="user", source="test", subject="Names")
    assert head
    assert home.kept() == {rel: path.read_bytes() for rel, path in expected.items()}
    assert home.history.check() == ()


# ---- git's own tools


@needs_git
def test_git_log_show_and_fsck_work_on_the_repository(home: Home) -> None:
    for name in (".git", "git~1", ".gitmodules", "CON", "plain note.md", "\udcff"):
        (home.root / f"d-{name}").mkdir()
        home.write(f"d-{name}/{name.strip('.')}.md", name.encode("utf-8", "surrogateescape"))
    home.write("many/0.md", "0")
    home.snapshot(subject="First", run_id="r1")
    home.write("plain.md", "one\n")
    home.snapshot(subject="Second")
    assert home.git("fsck", "--strict", "--full") == ""
    assert home.git("log", "--format=%s|%(trailers:key=Actor,valueonly,separator=%x2C)").split("\n")[:2] == [
        "Second|user",
        "First|user",
    ]
    assert "+one" in home.git("show", "HEAD")
    assert home.git("show", "HEAD:global/files/plain.md") == "one\n"


@needs_git
def test_a_big_snapshot_is_one_sound_pack(home: Home) -> None:
    for number in range(120):
        home.write(f"{number % 7}/{number}.md", f"note {number}\n" * (number * 3))
    home.write("big.md", os.urandom(300_000))
    home.snapshot()
    assert "count: 0\n" in home.git("count-objects", "-v")
    assert home.git("fsck", "--strict", "--full") == ""
    home.git("verify-pack", *map(str, (home.repository / "objects" / "pack").glob("*.idx")))
    assert len(home.kept()) == 121


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_only_the_owner_can_enter_the_repository(home: Home) -> None:
    home.write("a.md", "a")
    home.snapshot()
    assert stat.S_IMODE(home.repository.stat().st_mode) == 0o700


# ---- reading only what must be read


class Opens:
    """Counts the memory files that are opened. An audit hook cannot be removed, so it is switched."""

    def __init__(self) -> None:
        self.on = False
        self.names: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event == "open" and str(arguments[0]).endswith(".md"):
            self.names.append(str(arguments[0]))

    def during(self, act: Callable[[], object]) -> list[str]:
        self.names, self.on = [], True
        try:
            act()
        finally:
            self.on = False
        return sorted(Path(name).name for name in self.names)


@pytest.fixture(scope="module")
def opens() -> Opens:
    return Opens()


def _settle(home: Home) -> None:
    """Keep every file, and have the catalogue know all, as if they had been at rest for long when read."""
    home.snapshot()
    home.known = {
        path.relative_to(home.root).as_posix(): KnownVersion(
            stamp_of(path.lstat()), time.time_ns() + 60 * 10**9, _blob(path.read_bytes())
        )
        for path in home.root.rglob("*.md")
    }


def _blob(content: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()


def test_unchanged_files_are_not_read_again(home: Home, opens: Opens) -> None:
    for name in ("a.md", "b.md", "dir/c.md"):
        home.write(name, name)
    assert opens.during(home.snapshot) == ["a.md", "b.md", "c.md"]
    _settle(home)
    assert opens.during(home.snapshot) == []
    home.write("b.md", "new")
    assert opens.during(home.snapshot) == ["b.md"]


def test_a_file_changed_within_its_time_stamp_is_seen(home: Home, opens: Opens) -> None:
    home.write("a.md", "one")
    _settle(home)
    home.known["a.md"] = home.known["a.md"]._replace(read_ns=time.time_ns())
    # as fresh as this it is read again whatever its stamp says
    assert opens.during(home.snapshot) == ["a.md"]


def test_a_file_with_its_old_size_and_old_mtime_is_seen_as_changed(home: Home) -> None:
    note = home.write("a.md", "one")
    os.utime(note, ns=(AT_REST_NS, AT_REST_NS))
    _settle(home)
    note.write_text("two")
    os.utime(note, ns=(AT_REST_NS, AT_REST_NS))
    assert home.snapshot() is not None
    assert home.kept() == {"a.md": b"two"}


def test_times_and_inodes_of_any_size_are_remembered(home: Home, opens: Opens) -> None:
    note = home.write("a.md", "far in the future")
    os.utime(note, ns=(0, 14_000_000_000 * 10**9))
    home.snapshot()
    home.snapshot()
    assert home.kept() == {"a.md": b"far in the future"}


def test_a_catalogue_that_names_unknown_content_is_not_believed(home: Home) -> None:
    home.write("a.md", "a")
    _settle(home)
    home.known["a.md"] = home.known["a.md"]._replace(blob=bytes(20))
    assert home.snapshot() is None
    assert home.kept() == {"a.md": b"a"}


def test_what_changed_is_read_whatever_the_catalogue_says(home: Home, opens: Opens) -> None:
    note = home.write("a.md", "a")
    _settle(home)
    assert opens.during(lambda: home.snapshot(dirty=[note])) == ["a.md"]


# ---- dirty paths

_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "remove", "rename"]),
        st.sampled_from(["a.md", "b.md", "d/a.md", "d/e/b.md", "d", ".h/a.md", ".h.md"]),
        st.sampled_from(["x", "y"]),
    ),
    max_size=6,
)


def _do(home: Home, step: tuple[str, str, str]) -> Iterator[Path]:
    """Do one step and tell which paths a watcher would name."""
    action, rel, content = step
    path = home.root / rel
    if action == "write" and not path.is_dir():
        missing = [parent for parent in path.parents if not parent.exists()]
        if any(parent.is_file() for parent in path.parents):
            return
        home.write(rel, content)
        yield from (path, *missing)
    elif action == "remove" and path.exists():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        yield path
    elif action == "rename" and path.exists() and not (home.root / "renamed").exists():
        path.rename(home.root / "renamed")
        yield from (path, home.root / "renamed")


@settings(max_examples=settings().max_examples // 3)
@given(first=_STEPS, then=_STEPS)
def test_a_snapshot_of_the_dirty_paths_equals_a_full_one(
    tmp_path_factory: pytest.TempPathFactory,
    first: list[tuple[str, str, str]],
    then: list[tuple[str, str, str]],
) -> None:
    base = tmp_path_factory.mktemp("dirty")
    home = Home(base)
    for step in first:
        list(_do(home, step))
    home.snapshot()
    dirty = [path for step in then for path in _do(home, step)]
    home.snapshot(dirty=dirty)
    kept = home.kept()
    assert home.snapshot() is None, "a full look finds nothing that the dirty paths did not show"
    assert kept == {
        str(path.relative_to(home.root)): path.read_bytes()
        for path in home.root.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(home.root).parts)
    }


def test_only_dirty_files_are_read(home: Home, opens: Opens) -> None:
    home.write("a.md", "a")
    home.write("b.md", "b")
    home.snapshot()
    changed = home.write("a.md", "new")
    assert opens.during(lambda: home.snapshot(dirty=[changed])) == ["a.md"]


def test_a_dirty_path_below_what_is_now_a_file_shows_the_file(home: Home) -> None:
    home.write("a/b.md", "b")
    home.snapshot()
    shutil.rmtree(home.root / "a")
    home.write("a", "now a file")
    home.snapshot(dirty=[home.root / "a" / "b.md"])
    assert home.kept() == {"a": b"now a file"}


@pytest.mark.parametrize("above", ["", ".."])
def test_a_dirty_root_or_its_parent_means_everything(home: Home, above: str) -> None:
    home.write("a.md", "a")
    home.snapshot()
    home.write("b.md", "b")
    home.snapshot(dirty=[home.root if not above else home.root.parent])
    assert set(home.kept()) == {"a.md", "b.md"}


def test_a_root_without_a_last_version_is_read_whole_whatever_is_dirty(home: Home) -> None:
    home.write("a.md", "a")
    home.snapshot(dirty=[])
    assert home.kept() == {"a.md": b"a"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_modes_of_files_that_are_not_dirty_stay(home: Home) -> None:
    home.write("d/a.md", "a").chmod(0o600)
    changed = home.write("d/b.md", "b")
    changed.chmod(0o640)
    home.snapshot()
    changed.write_text("new")
    head = home.snapshot(dirty=[changed]) or ""
    assert {rel: version.mode for rel, version in home.history.files(head, "global").items()} == {
        "d/a.md": 0o600,
        "d/b.md": 0o640,
    }
