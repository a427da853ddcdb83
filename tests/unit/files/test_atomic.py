"""Atomic writes: old or new and never a mix, whoever is killed, whoever else writes."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.ordinary_user import has_power
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.files import atomic as atomic_module
from reverie.files import directory as directory_module
from reverie.files.atomic import (
    atomic_write,
    create_file,
    is_temporary,
    make_mark,
    replace_file,
    set_observer,
    sweep_temporaries,
    temporary_name,
)
from reverie.files.directory import Directory

_KILLED_AT = """
import os, sys
from pathlib import Path
from reverie.files.atomic import atomic_write, replace_file
from reverie.files.atomic import set_observer
from reverie.files.directory import Directory
step, path, how = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
set_observer(lambda name: os._exit(9) if name == step else None)
if how == "plain":
    atomic_write(path, b"new" * 1000)
else:
    with Directory.open(path.parent) as directory:
        replace_file(directory, path.name, b"new" * 1000, check=lambda current: None)
"""

_LIMITED = """
import resource, sys
from pathlib import Path
from reverie.errors import UserError
from reverie.files.atomic import atomic_write
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    atomic_write(Path(sys.argv[1]), b"x" * 5000)
except UserError as error:
    print(error)
"""


@pytest.fixture(autouse=True)
def _no_observer_left() -> Iterator[None]:
    yield
    set_observer(None)


def _names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


@pytest.mark.parametrize("existing", [True, False], ids=["existing", "new"])
@pytest.mark.parametrize("how", ["plain", "checked"])
@pytest.mark.parametrize("step", ["temp", "fsync", "replace"])
def test_a_kill_leaves_old_or_new_and_the_sweep_clears_the_rest(
    tmp_path: Path, step: str, how: str, existing: bool
) -> None:
    path = tmp_path / "a.md"
    if existing:
        path.write_bytes(b"old")
    killed = subprocess.run([sys.executable, "-c", _KILLED_AT, step, str(path), how], check=False)
    assert killed.returncode == 9
    if step == "replace":
        assert path.read_bytes() == b"new" * 1000
    else:
        assert (path.read_bytes() if path.exists() else None) == (b"old" if existing else None)
    left = [name for name in _names(tmp_path) if name != "a.md"]
    assert all(is_temporary(name) for name in left)
    assert sweep_temporaries(tmp_path, older_than_s=-1) == len(left)
    assert [name for name in _names(tmp_path) if name != "a.md"] == []


def test_young_temporaries_and_other_files_are_not_swept(tmp_path: Path) -> None:
    young = tmp_path / temporary_name("a")
    young.write_bytes(b"")
    old = tmp_path / temporary_name("b")
    old.mkdir()
    (old / "inside").write_bytes(b"")
    (tmp_path / ".looks.like.reverie-tmp").write_bytes(b"")
    assert sweep_temporaries(tmp_path, older_than_s=60) == 0
    assert sweep_temporaries(tmp_path, older_than_s=-1) == 2
    assert _names(tmp_path) == [".looks.like.reverie-tmp"]
    assert sweep_temporaries(tmp_path / "missing", older_than_s=0) == 0


def test_a_replaced_file_of_old_date_under_a_temporary_name_counts_as_young(tmp_path: Path) -> None:
    left = tmp_path / temporary_name("a")
    left.write_bytes(b"")
    os.utime(left, (time.time() - 10_000, time.time() - 10_000))
    assert sweep_temporaries(tmp_path, older_than_s=60) == 0


def test_the_steps_come_in_order(tmp_path: Path) -> None:
    heard: list[str] = []
    set_observer(heard.append)
    atomic_write(tmp_path / "a", b"x")
    assert heard == ["temp", "fsync", "replace"]


def test_an_existing_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"")
    (tmp_path / "old").chmod(0o640)
    atomic_write(tmp_path / "old", b"x")
    assert (tmp_path / "old").stat().st_mode & 0o7777 == 0o640
    before = os.umask(0o027)
    try:
        atomic_write(tmp_path / "new", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o640
    atomic_write(tmp_path / "old", b"x", mode=0o600)
    assert (tmp_path / "old").stat().st_mode & 0o7777 == 0o600


@pytest.mark.skipif(not has_power(), reason="only root can give files away")
def test_root_leaves_a_file_to_its_owner(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"")
    os.chown(tmp_path / "theirs", 1234, 4321)
    atomic_write(tmp_path / "theirs", b"x")
    status = (tmp_path / "theirs").stat()
    assert (status.st_uid, status.st_gid) == (1234, 4321)


_AS_MEMBER = """
import ast, os, sys
from pathlib import Path
from helpers.ordinary_user import give_up_power
from reverie.errors import UserError
from reverie.files.atomic import atomic_write
os.umask(0o077)
os.setgroups(ast.literal_eval(sys.argv[2]))
give_up_power()
try:
    atomic_write(Path(sys.argv[1]), b"new")
except UserError as error:
    print(error.reason)
"""


@pytest.mark.skipif(
    not sys.platform.startswith("linux") or not has_power(), reason="only root can make files of others"
)
@pytest.mark.parametrize(
    ("owner", "mode", "groups", "after"),
    [
        ((54321, 54322), 0o660, [54322], (0, 54322)),
        ((54321, 54322), 0o666, [], (0, 0)),
        ((0, 54322), 0o644, [], (0, 0)),
        ((0, 54322), 0o640, [54322], (0, 54322)),
        ((0, 54322), 0o640, [], None),
        ((0, 54322), 0o664, [], None),
        ((54321, 54322), 0o640, [54322], None),
        ((54321, 54322), 0o644, [54322], None),
    ],
)
def test_a_shared_file_keeps_its_group_or_stays_as_it_is(
    tmp_path: Path, owner: tuple[int, int], mode: int, groups: list[int], after: tuple[int, int] | None
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(mode)
    os.chown(path, *owner)
    done = subprocess.run(
        [sys.executable, "-c", _AS_MEMBER, str(path), str(groups)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    status = path.stat()
    assert done.stdout.split() == (["owner"] if after is None else [])
    assert path.read_bytes() == (b"old" if after is None else b"new")
    assert (status.st_uid, status.st_gid) == (after or owner)
    assert stat.S_IMODE(status.st_mode) == mode
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_leaves_the_old_content_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    done = subprocess.run(
        [sys.executable, "-c", _LIMITED, str(path)], check=True, capture_output=True, text=True
    )
    assert "could not be written" in done.stdout
    assert "size limit" in done.stdout
    assert path.read_bytes() == b"old"
    assert _names(tmp_path) == ["a"]


def test_a_missing_directory_and_a_directory_in_the_way_are_errors_with_words(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    with pytest.raises(StoreError) as missing:
        atomic_write(tmp_path / "nowhere" / "a", b"x")
    assert missing.value.reason == "missing"
    with pytest.raises(StoreError) as taken:
        atomic_write(tmp_path / "dir", b"x")
    assert taken.value.reason == "directory"
    with pytest.raises(Unavailable):
        atomic_write(tmp_path / ("n" * 256), b"x")
    assert _names(tmp_path) == ["dir"]


def test_a_name_of_255_bytes_can_be_written(tmp_path: Path) -> None:
    atomic_write(tmp_path / ("n" * 255), b"x")
    atomic_write(tmp_path / ("ü" * 127), b"x")
    assert len(_names(tmp_path)) == 2


def test_a_name_that_is_not_utf8_can_be_written(tmp_path: Path) -> None:
    atomic_write(tmp_path / os.fsdecode(b"caf\xe9"), b"x")
    assert [os.fsencode(name) for name in _names(tmp_path)] == [b"caf\xe9"]


def test_create_never_replaces(tmp_path: Path) -> None:
    with Directory.open(tmp_path) as directory:
        create_file(directory, "a", b"first")
        with pytest.raises(FileExistsError):
            create_file(directory, "a", b"second")
    assert (tmp_path / "a").read_bytes() == b"first"
    assert _names(tmp_path) == ["a"]


@pytest.fixture(params=["exchange", "no-exchange"])
def swap(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "no-exchange":
        monkeypatch.setattr(directory_module, "_renameat2", lambda: None)
    return str(request.param)


@pytest.mark.usefixtures("swap")
@pytest.mark.parametrize("old", [b"old", None])
def test_the_check_sees_the_bytes_that_are_replaced(tmp_path: Path, old: bytes | None) -> None:
    if old is not None:
        (tmp_path / "a").write_bytes(old)
    seen: list[bytes | None] = []
    with Directory.open(tmp_path) as directory:
        replace_file(directory, "a", b"new", check=seen.append)
    assert seen == [old]
    assert (tmp_path / "a").read_bytes() == b"new"
    assert _names(tmp_path) == ["a"]


@pytest.mark.usefixtures("swap")
def test_a_check_that_raises_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def refuse(_current: bytes | None) -> None:
        raise Conflict("no")

    with Directory.open(tmp_path) as directory, pytest.raises(Conflict):
        replace_file(directory, "a", b"new", check=refuse)
    assert (tmp_path / "a").read_bytes() == b"old"
    assert _names(tmp_path) == ["a"]


def _by_rename(path: Path, data: bytes) -> None:
    other = path.with_name("agent.tmp")
    other.write_bytes(data)
    other.replace(path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
@pytest.mark.parametrize("old", [b"old", None], ids=["existing", "new"])
def test_a_version_written_after_the_check_is_seen_by_the_next_check(
    tmp_path: Path, old: bytes | None
) -> None:
    path = tmp_path / "a"
    if old is not None:
        path.write_bytes(old)
    seen: list[bytes | None] = []

    def check(current: bytes | None) -> None:
        seen.append(current)
        if len(seen) == 1:
            _by_rename(path, b"from the agent")

    with Directory.open(tmp_path) as directory:
        replace_file(directory, "a", b"new", check=check)
    assert seen == [old, b"from the agent"]
    assert path.read_bytes() == b"new"
    assert _names(tmp_path) == ["a"]


def _race(directory: Directory, monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """Let `steps` happen, one each, right after the exchanges of names that the code under test makes."""
    waiting = list(steps)
    real = Directory.exchange

    def exchange(self: Directory, name: str, other: str) -> bool:
        done = real(self, name, other)
        if waiting:
            waiting.pop(0)()
        return done

    monkeypatch.setattr(Directory, "exchange", exchange)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
@pytest.mark.parametrize("writes", [1, 2, 3])
def test_versions_written_while_an_exchange_is_undone_are_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    seen: list[bytes | None] = []

    def check(current: bytes | None) -> None:
        seen.append(current)
        if len(seen) == 1:
            _by_rename(path, b"version 0")
        else:
            raise Conflict("changed")

    with Directory.open(tmp_path) as directory:
        steps = [lambda n=n: _by_rename(path, b"version %d" % n) for n in range(1, writes + 1)]
        _race(directory, monkeypatch, *steps)
        with pytest.raises(Conflict):
            replace_file(directory, "a", b"new", check=check)
    newest = b"version %d" % writes
    assert seen == [b"old", newest]
    assert path.read_bytes() == newest
    assert _names(tmp_path) == ["a"]


def _interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
@pytest.mark.parametrize("overtaken", [False, True])
def test_an_interruption_right_after_an_exchange_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, overtaken: bool
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def check(_current: bytes | None) -> None:
        if overtaken:
            _by_rename(path, b"from the agent")

    with Directory.open(tmp_path) as directory:
        _race(directory, monkeypatch, _interrupt)
        with pytest.raises(KeyboardInterrupt):
            replace_file(directory, "a", b"new", check=check)
    assert path.read_bytes() == (b"from the agent" if overtaken else b"old")
    assert _names(tmp_path) == ["a"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
def test_a_newer_version_that_cannot_be_read_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    real = Directory.read

    def read(self: Directory, name: str, limit: int | None = None) -> bytes:
        data = real(self, name, limit)
        if data == b"from the agent":
            raise PermissionError(13, "Permission denied")
        return data

    with Directory.open(tmp_path) as directory, monkeypatch.context() as patched:
        patched.setattr(Directory, "read", read)
        with pytest.raises(PermissionError):
            replace_file(directory, "a", b"new", check=lambda _: _by_rename(path, b"from the agent"))
    assert path.read_bytes() == b"from the agent"
    assert _names(tmp_path) == ["a"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
def test_a_directory_put_in_the_place_of_the_file_after_the_check_stays(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def check(_current: bytes | None) -> None:
        path.unlink()
        (path / "inside").mkdir(parents=True)

    with Directory.open(tmp_path) as directory, pytest.raises(IsADirectoryError):
        replace_file(directory, "a", b"new", check=check)
    assert (path / "inside").is_dir()
    assert _names(tmp_path) == ["a"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
def test_a_file_deleted_while_an_exchange_is_undone_stays_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    seen: list[bytes | None] = []

    def check(current: bytes | None) -> None:
        seen.append(current)
        if len(seen) == 1:
            _by_rename(path, b"from the agent")
        else:
            raise Conflict("gone")

    with Directory.open(tmp_path) as directory:
        _race(directory, monkeypatch, path.unlink)
        with pytest.raises(Conflict):
            replace_file(directory, "a", b"new", check=check)
    assert seen == [b"old", None]
    assert _names(tmp_path) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux exchanges two names in one step")
def test_a_program_that_never_stops_writing_ends_in_a_conflict_with_its_version_kept(tmp_path: Path) -> None:
    path = tmp_path / "a"
    versions = 0

    def overtake(_current: bytes | None) -> None:
        nonlocal versions
        versions += 1
        _by_rename(path, b"version %d" % versions)

    with Directory.open(tmp_path) as directory, pytest.raises(Conflict, match="keeps replacing"):
        replace_file(directory, "a", b"new", check=overtake)
    assert path.read_bytes() == b"version %d" % versions
    assert _names(tmp_path) == ["a"]


def test_a_mark_is_made_once_and_for_its_owner(tmp_path: Path) -> None:
    for _again in range(2):
        make_mark(tmp_path / "mark")
    assert (tmp_path / "mark").read_bytes() == b""
    if os.name != "nt":
        assert (tmp_path / "mark").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["mark"]
    (tmp_path / "mark").write_bytes(b"somebody's")
    make_mark(tmp_path / "mark")
    assert (tmp_path / "mark").read_bytes() == b"somebody's"


def test_a_mark_without_a_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="mark"):
        make_mark(tmp_path / "missing" / "mark")


def _replaced_as_seen(directory: Directory, name: str, data: bytes) -> None:
    """Replace a file by what it holds and `data`, as an editor does that looks again after a conflict."""
    while True:
        seen = directory.read(name)

        def check(current: bytes | None, seen: bytes = seen) -> None:
            if current != seen:
                raise Conflict("it changed")

        with contextlib.suppress(Conflict):
            replace_file(directory, name, seen + data, check=check)
            return


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has leases")
def test_a_save_waits_for_a_program_that_has_the_file_open_for_writing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old\n")
    appender = path.open("ab", buffering=0)

    def append() -> None:
        time.sleep(0.05)
        appender.write(b"line\n")
        appender.close()

    thread = threading.Thread(target=append)
    with Directory.open(tmp_path) as directory:
        thread.start()
        _replaced_as_seen(directory, "file", b"ours\n")
    thread.join()
    assert path.read_bytes() == b"old\nline\nours\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has leases")
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_program_that_opens_the_file_around_the_exchange_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old\n")
    threads: list[threading.Thread] = []

    def append() -> None:
        with path.open("ab", buffering=0) as file:  # waits in the kernel
            file.write(b"line\n")

    def open_it() -> None:
        if not threads:
            threads.append(threading.Thread(target=append))
            threads[0].start()
            time.sleep(0.05)

    exchange = Directory.exchange

    def around(directory: Directory, name: str, other: str) -> bool:
        if moment == "before":
            open_it()
        done = exchange(directory, name, other)
        if moment == "after":
            open_it()
        return done

    monkeypatch.setattr(Directory, "exchange", around)
    with Directory.open(tmp_path) as directory:
        _replaced_as_seen(directory, "file", b"ours\n")
    threads[0].join()
    assert sorted(path.read_bytes().splitlines()) == [b"line", b"old", b"ours"]
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has leases")
def test_a_file_that_a_program_keeps_open_for_writing_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atomic_module, "_WRITER_WAIT_S", 0.05)
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with Directory.open(tmp_path) as directory:
        with path.open("ab"), pytest.raises(Conflict, match="open for writing"):
            replace_file(directory, "file", b"new", check=lambda _current: None)
        assert path.read_bytes() == b"old"
        with path.open("rb"):
            replace_file(directory, "file", b"new", check=lambda _current: None)
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
