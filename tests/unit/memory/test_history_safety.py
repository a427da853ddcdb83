"""Whatever happens to the process, the disk or others: the history stays valid and loses nothing."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pygit2
import pytest

from helpers.ordinary_user import without_power
from reverie.clock import fixed_clock
from reverie.errors import StoreError, Unavailable, UserError
from reverie.files import atomic as checkpoint
from reverie.memory.history.history import History, SnapshotSource
from reverie.memory.history.repository import MOST_PACKS

NOW_MS = 1_784_000_000_000


def _history(base: Path, *, pack_after: int = 2000) -> History:
    return History(
        base / "history" / "home.git",
        lock_dir=base / "locks",
        clock=fixed_clock(NOW_MS),
        pack_after=pack_after,
    )


def _snapshot(history: History, base: Path, **more: object) -> str | None:
    sources = [SnapshotSource("global", base / "memories")]
    return history.snapshot(sources, actor="user", source="test", subject="Change", **more)  # type: ignore[arg-type]


def _kept(history: History, commit: str | None = None) -> dict[str, bytes | None]:
    commit = commit or history.head()
    assert commit is not None
    return {rel: history.read(commit, "global", rel) for rel in history.files(commit, "global")}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "memories").mkdir()
    (tmp_path / "memories" / "a.md").write_text("a")
    return tmp_path


@pytest.fixture
def observer() -> Iterator[None]:
    yield
    checkpoint.set_observer(None)


def _run(base: Path, code: str) -> subprocess.CompletedProcess[str]:
    head = f"""
        import os, sys
        from pathlib import Path
        from reverie.clock import system_clock
        from reverie.files import atomic as checkpoint
        from reverie.memory.history.history import History, SnapshotSource
        base = Path({str(base)!r})
        history = History(base / "history/home.git", lock_dir=base / "locks", clock=system_clock,
                          pack_after=0)
    """
    script = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)


# ---- kills


@pytest.mark.parametrize("step", ["history-objects", "history-ref", "history-pack"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
def test_a_kill_leaves_the_old_or_the_new_version_and_the_next_snapshot_works(
    base: Path, step: str, first: bool
) -> None:
    history = _history(base)
    before = None if first else _snapshot(history, base)
    (base / "memories" / "b.md").write_text("b")
    killed = _run(
        base,
        f"""
        checkpoint.set_observer(lambda name: os._exit(9) if name == {step!r} else None)
        sources = [SnapshotSource("global", base / "memories")]
        history.snapshot(sources, actor="user", source="test", subject="New")
        """,
    )
    assert killed.returncode == 9, killed.stderr
    history = _history(base)
    if step == "history-objects":
        assert history.head() == before
    else:
        assert set(_kept(history)) == {"a.md", "b.md"}
    assert history.check() == ()
    _snapshot(history, base)
    assert _kept(history) == {"a.md": b"a", "b.md": b"b"}
    assert history.problems == ()
    assert history.check() == ()


def test_locks_and_temporary_files_of_a_killed_process_block_nothing(base: Path) -> None:
    history = _history(base)
    _snapshot(history, base)
    repository = base / "history" / "home.git"
    (repository / "refs/heads/main.lock").write_text("")
    for leftover in ("tmp_reverie_1/pack", "objects/pack"):
        (repository / leftover).mkdir(parents=True, exist_ok=True)
    (repository / "objects/pack/tmp_reverie_2.pack").write_bytes(b"PACK")
    (repository / "objects/tmp_object_git2_3").write_bytes(b"x")
    (repository / "objects/tmp_reverie_4").write_bytes(b"x")
    (base / "memories" / "a.md").write_text("new")
    history = _history(base, pack_after=0)
    assert _snapshot(history, base)
    assert _kept(history) == {"a.md": b"new"}
    assert not [path for path in repository.rglob("*") if path.name.startswith("tmp_")]


# ---- two at once


def test_two_processes_at_once_keep_every_version_of_both(base: Path) -> None:
    code = """
        name = {name!r}
        root = base / name
        root.mkdir()
        for number in range(12):
            (root / "note.md").write_text(f"{{name}} {{number}}")
            sources = [SnapshotSource(name, root)]
            assert history.snapshot(sources, actor=name, source="test", subject=str(number))
    """
    import threading

    results: list[subprocess.CompletedProcess[str]] = []
    threads = [
        threading.Thread(target=lambda name=name: results.append(_run(base, code.format(name=name))))
        for name in ("one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.stderr for result in results] == ["", ""]
    history = _history(base)
    commits = history.commits()
    assert len(commits) == 24
    for name in ("one", "two"):
        own = [commit for commit in reversed(commits) if commit.actor == name]
        assert [history.read(commit.id, name, "note.md") for commit in own] == [
            f"{name} {number}".encode() for number in range(12)
        ]
    assert history.check() == ()


def test_two_threads_at_once_make_one_line_of_commits(base: Path) -> None:
    import threading

    history = _history(base)

    def keep(name: str) -> None:
        root = base / name
        root.mkdir()
        for number in range(8):
            (root / "note.md").write_text(str(number))
            history.snapshot([SnapshotSource(name, root)], actor=name, source="test", subject="Change")

    threads = [threading.Thread(target=keep, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(history.commits()) == 16
    assert history.check() == ()


# ---- what cannot be read


def _removing(path: Path, *, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove `path` at the moment the scan is about to read the file `when`."""
    from reverie.files.directory import Directory

    read = Directory.read

    def racing(self: Directory, name: str, limit: int | None = None) -> bytes:
        if name == when:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return read(self, name, limit)

    monkeypatch.setattr(Directory, "read", racing)


def test_a_file_that_vanishes_while_it_is_read_keeps_its_last_version(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = _history(base)
    (base / "memories" / "b.md").write_text("b")
    _snapshot(history, base)
    (base / "memories" / "a.md").write_text("new")
    (base / "memories" / "b.md").write_text("new")
    with monkeypatch.context() as patch:
        _removing(base / "memories" / "a.md", when="a.md", monkeypatch=patch)
        commit = _snapshot(history, base)
    assert _kept(history) == {"a.md": b"a", "b.md": b"new"}
    assert commit
    assert "global/a.md, its last version stays: the file vanished" in history.commits(limit=1)[0].notes
    assert "global/a.md" in history.problems[0]
    _snapshot(history, base)
    assert _kept(history) == {"b.md": b"new"}
    assert history.problems == ()


def test_a_directory_that_cannot_be_listed_keeps_what_was_in_it(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.files.directory import Directory

    history = _history(base)
    inside = base / "memories" / "dir" / "deep"
    inside.mkdir(parents=True)
    (inside / "b.md").write_text("b")
    (inside / "b.md").chmod(0o600)
    _snapshot(history, base)
    child = Directory.child

    def refusing(self: Directory, name: str) -> Directory:
        if name == "deep":
            raise PermissionError(13, "Permission denied")
        return child(self, name)

    (base / "memories" / "a.md").write_text("new")
    with monkeypatch.context() as patch:
        patch.setattr(Directory, "child", refusing)
        commit = _snapshot(history, base)
    assert commit
    assert _kept(history) == {"a.md": b"new", "dir/deep/b.md": b"b"}
    assert stat.filemode(history.files(commit, "global")["dir/deep/b.md"].mode) == "?rw-------"
    assert "permission denied" in history.problems[0]


def test_a_root_that_cannot_be_opened_keeps_everything(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reverie.files.directory import Directory

    history = _history(base)
    head = _snapshot(history, base)

    def refusing(path: Path) -> Directory:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(Directory, "open", refusing)
        assert _snapshot(history, base) is None
        assert "too many open files" in history.problems[0]
    assert history.head() == head


def test_a_file_that_is_replaced_by_a_link_while_it_is_read_leads_nowhere(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.files.directory import Directory

    (base / "secret").write_text("secret")
    (base / "memories" / "b.md").write_text("b")
    history = _history(base)
    lstat = Directory.lstat

    def racing(self: Directory, name: str) -> os.stat_result:
        status = lstat(self, name)
        if name == "b.md" and not (base / "memories" / "b.md").is_symlink():
            (base / "memories" / "b.md").unlink()
            (base / "memories" / "b.md").symlink_to(base / "secret")
        return status

    with monkeypatch.context() as patch:
        patch.setattr(Directory, "lstat", racing)
        _snapshot(history, base)
    assert _kept(history) == {"a.md": b"a"}


def test_a_file_that_never_holds_still_is_kept_and_read_again(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reverie.files.directory import Directory

    history = _history(base)
    read = Directory.read

    def growing(self: Directory, name: str, limit: int | None = None) -> bytes:
        content = read(self, name, limit)
        with (base / "memories" / name).open("ab") as file:
            file.write(b"+")
        return content

    with monkeypatch.context() as patch:
        patch.setattr(Directory, "read", growing)
        _snapshot(history, base)
    _snapshot(history, base)
    assert _kept(history) == {"a.md": (base / "memories" / "a.md").read_bytes()}


def test_a_file_over_the_limit_is_kept_by_hash_only(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reverie.memory.history import roots as history_scan

    monkeypatch.setattr(history_scan, "LARGEST_BYTES", 10)
    history = _history(base)
    (base / "memories" / "big.md").write_text("x" * 11)
    first = _snapshot(history, base) or ""
    assert history.files(first, "global")["big.md"].omitted
    assert not history.files(first, "global")["a.md"].omitted
    assert "Only the hash is recorded" in history.commits()[0].notes
    with pytest.raises(StoreError) as caught:
        history.read(first, "global", "big.md")
    assert caught.value.reason == "omitted"
    assert _snapshot(history, base) is None
    (base / "memories" / "big.md").write_text("y" * 11)
    second = _snapshot(history, base)
    assert second, "another hash is a change"
    (base / "memories" / "big.md").write_text("small")
    third = _snapshot(history, base) or ""
    assert history.read(third, "global", "big.md") == b"small"


def test_of_a_huge_file_only_the_ends_are_read_and_a_change_in_its_middle_shows(base: Path) -> None:
    history = _history(base)
    huge = base / "memories" / "huge.md"
    huge.touch()
    os.truncate(huge, 64 << 30)
    first = _snapshot(history, base) or ""
    assert history.files(first, "global")["huge.md"].omitted
    assert _snapshot(history, base) is None
    with huge.open("r+b") as file:
        file.seek(32 << 30)
        file.write(b"x")
    assert _snapshot(history, base), "its time is another one"


# ---- damage


def _objects(repository: Path) -> list[Path]:
    return [path for path in (repository / "objects").glob("[0-9a-f][0-9a-f]/*") if path.is_file()]


def _empty_head(repository: Path) -> None:
    (repository / "HEAD").write_bytes(b"")


def _no_head(repository: Path) -> None:
    (repository / "HEAD").unlink()


def _garbage_branch(repository: Path) -> None:
    (repository / "refs/heads/main").write_bytes(b"garbage\0\n")


def _branch_to_nowhere(repository: Path) -> None:
    (repository / "refs/heads/main").write_text("1" * 40 + "\n")


def _no_branch(repository: Path) -> None:
    (repository / "refs/heads/main").unlink()


def _no_objects(repository: Path) -> None:
    shutil.rmtree(repository / "objects")


def _deleted_object(repository: Path, kind: bytes) -> None:
    import zlib

    for path in _objects(repository):
        if zlib.decompress(path.read_bytes()).startswith(kind):
            path.chmod(0o600)
            path.unlink()


def _truncated_objects(repository: Path) -> None:
    for path in _objects(repository):
        path.chmod(0o600)
        path.write_bytes(path.read_bytes()[:5])


DAMAGES = {
    "empty HEAD": _empty_head,
    "no HEAD": _no_head,
    "garbage branch": _garbage_branch,
    "branch to nowhere": _branch_to_nowhere,
    "no branch": _no_branch,
    "no objects": _no_objects,
    "truncated objects": _truncated_objects,
    "deleted commit": lambda repository: _deleted_object(repository, b"commit"),
    "deleted tree": lambda repository: _deleted_object(repository, b"tree"),
    "deleted blob": lambda repository: _deleted_object(repository, b"blob"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_history_is_set_aside_and_a_new_one_begins(base: Path, damage: str) -> None:
    _snapshot(_history(base), base)
    repository = base / "history" / "home.git"
    DAMAGES[damage](repository)
    (base / "memories" / "b.md").write_text("b")
    history = _history(base)
    assert _snapshot(history, base)
    assert _kept(history) == {"a.md": b"a", "b.md": b"b"}
    aside = base / "history" / f"home.git.damaged-{NOW_MS}"
    assert aside.is_dir()
    assert aside.name in history.problems[0]
    assert aside.name in history.check()[0]
    assert len(history.commits()) == 1


def test_a_second_damaged_history_does_not_replace_the_first(base: Path) -> None:
    history = _history(base)
    for _ in range(2):
        _snapshot(history, base)
        _empty_head(base / "history" / "home.git")
    _snapshot(history, base)
    assert len(list((base / "history").glob("home.git.damaged-*"))) == 2


def test_reading_a_damaged_history_is_an_error_in_words_and_moves_nothing(base: Path) -> None:
    history = _history(base)
    head = _snapshot(history, base) or ""
    _garbage_branch(base / "history" / "home.git")
    with pytest.raises(StoreError) as caught:
        history.commits()
    assert caught.value.reason == "damaged"
    _deleted_object(base / "history" / "home.git", b"blob")
    with pytest.raises(StoreError, match="damaged"):
        history.read(head, "global", "a.md")
    assert "damaged" in history.check()[0]
    assert [path.name for path in (base / "history").iterdir()] == ["home.git"]


def test_an_old_version_that_is_lost_is_reported_and_does_not_stop_the_history(base: Path) -> None:
    history = _history(base)
    first = _snapshot(history, base) or ""
    blob = history.files(first, "global")["a.md"].blob
    (base / "memories" / "a.md").write_text("new")
    _snapshot(history, base)
    lost = base / "history/home.git/objects" / blob[:2] / blob[2:]
    lost.unlink()
    history = _history(base)
    (base / "memories" / "b.md").write_text("b")
    assert _snapshot(history, base)
    assert history.problems == ()
    (problem,) = history.check()
    assert blob[:10] in problem


@pytest.mark.parametrize("refused", ["HEAD", "refs/heads/main", "objects"])
def test_a_refusal_of_the_system_is_not_taken_for_damage(base: Path, refused: str) -> None:
    history = _history(base)
    _snapshot(history, base)
    path = base / "history" / "home.git" / refused
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        with pytest.raises(Unavailable):
            without_power(lambda: _snapshot(history, base))
    finally:
        path.chmod(mode)
    assert [path.name for path in (base / "history").iterdir()] == ["home.git"]
    assert _snapshot(history, base) is None


def test_a_full_disk_is_said_and_leaves_the_old_version(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from reverie.memory.history import repository as history_objects

    history = _history(base)
    head = _snapshot(history, base)
    for number in range(100):
        (base / "memories" / f"{number}.md").write_text(str(number))

    def full(_repository: object, _ids: object, directory: Path) -> None:
        (directory / "pack_git2_1").write_bytes(b"PACK")
        raise pygit2.GitError(f"cannot extend packfile '{directory}': {os.strerror(28)}")

    with monkeypatch.context() as patch:
        patch.setattr(history_objects, "write_pack", full)
        with pytest.raises(UserError, match="disk is full"):
            _snapshot(history, base)
    assert history.head() == head
    assert not list((base / "history/home.git/objects/pack").iterdir())
    assert not list((base / "history/home.git").glob("tmp_*"))
    assert _snapshot(history, base)
    assert len(_kept(history)) == 101


# ---- packing


def test_packing_keeps_everything_readable_and_removes_the_loose_objects(base: Path) -> None:
    history = _history(base, pack_after=20)
    versions = {}
    for number in range(12):
        (base / "memories" / "a.md").write_text(f"version {number}\n" * 50)
        versions[_snapshot(history, base)] = f"version {number}\n".encode() * 50
    repository = base / "history" / "home.git"
    assert len(_objects(repository)) <= 20
    assert list((repository / "objects/pack").glob("*.pack"))
    assert {commit: history.read(commit or "", "global", "a.md") for commit in versions} == versions
    assert history.check() == ()
    assert history.problems == ()


def test_many_packs_become_one(base: Path) -> None:
    history = _history(base)
    for number in range(MOST_PACKS + 1):
        for name in range(50):
            (base / "memories" / f"{name}.md").write_text(f"{number} {name}")
        _snapshot(history, base)
    repository = base / "history" / "home.git"
    assert len(list((repository / "objects/pack").iterdir())) == 2
    assert _objects(repository) == []
    assert history.check() == ()
    assert len(history.commits(key="global", rel="0.md")) == MOST_PACKS + 1
    if git := shutil.which("git"):
        subprocess.run(
            [git, "-C", str(repository), "fsck", "--strict", "--full"], check=True, capture_output=True
        )


def test_what_cannot_be_packed_stays_and_is_said(base: Path) -> None:
    history = _history(base)
    first = _snapshot(history, base) or ""
    blob = history.files(first, "global")["a.md"].blob
    (base / "memories" / "a.md").write_text("new")
    _snapshot(history, base)
    broken = base / "history/home.git/objects" / blob[:2] / blob[2:]
    broken.chmod(0o600)
    broken.write_bytes(b"broken")
    (base / "memories" / "a.md").write_text("newer")
    history = _history(base, pack_after=0)
    assert _snapshot(history, base)
    assert "could not be packed" in history.problems[0]
    assert len(_objects(base / "history/home.git")) > 10
    assert _kept(history) == {"a.md": b"newer"}


def test_a_reader_is_not_disturbed_by_packing(base: Path) -> None:
    from reverie.memory.history.repository import Repository

    history = _history(base)
    versions: dict[str, str] = {}
    for number in range(MOST_PACKS + 1):
        for name in range(50):
            (base / "memories" / f"{name}.md").write_text(f"{number} {name}")
        reader = Repository(base / "history/home.git") if versions else None
        commit = _snapshot(history, base) or ""
        versions[commit] = history.files(commit, "global")["7.md"].blob
    assert reader is not None
    assert len(list((base / "history/home.git/objects/pack").iterdir())) == 2
    assert [reader.blob(bytes.fromhex(blob)) for blob in versions.values()] == [
        f"{number} 7".encode() for number in range(MOST_PACKS + 1)
    ]


def test_what_a_killed_creation_left_is_swept(base: Path) -> None:
    left = base / "history" / "tmp_reverie_home.git.0123"
    other = base / "history" / "tmp_reverie_other.git.0123"
    for directory in (left, other):
        (directory / "objects").mkdir(parents=True)
    _snapshot(_history(base), base)
    assert not left.exists()
    assert other.exists(), "another home's history may be in the making"


def test_secrets_in_a_subject_do_not_reach_the_history(base: Path) -> None:
    secret = "sk-ant-api03-" + "A1b2C3d4" * 8
    history = _history(base)
    sources = [SnapshotSource("global", base / "memories")]
    history.snapshot(sources, actor="dream", source="test", subject=f"Merged notes about {secret}")
    assert secret not in history.commits()[0].subject
