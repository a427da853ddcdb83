"""Locks: one holder at a time among threads and processes, none left by the dead."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from reverie.errors import Busy, Unavailable
from reverie.files.locks import file_lock, lock_beside

_HOLD = """
import sys
from pathlib import Path
from reverie.files.locks import file_lock
with file_lock(Path(sys.argv[1]), Path(sys.argv[2])):
    print("held", flush=True)
    sys.stdin.read()
"""


def _holder(lock_dir: Path, target: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(lock_dir), str(target)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_another_process_is_kept_out_until_the_holder_is_killed(tmp_path: Path) -> None:
    target = tmp_path / "memory-meta.json"
    with _holder(tmp_path / "locks", target) as holder:
        with (
            pytest.raises(Busy, match=r"memory-meta\.json is locked"),
            file_lock(tmp_path / "locks", target, timeout_s=0),
        ):
            pass
        with file_lock(tmp_path / "locks", tmp_path / "other.json", timeout_s=0):
            pass  # another target is free
        holder.kill()
        holder.wait()
        with file_lock(tmp_path / "locks", target):
            pass


def test_a_second_name_of_the_file_is_the_same_lock(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with (
        file_lock(tmp_path / "locks", tmp_path / "real" / "a.json"),
        pytest.raises(Busy),
        file_lock(tmp_path / "locks", tmp_path / "link" / "a.json", timeout_s=0),
    ):
        pass


def test_threads_exclude_each_other_and_all_get_their_turn(tmp_path: Path) -> None:
    inside = 0
    most = 0
    turns: list[int] = []

    def work(number: int) -> None:
        nonlocal inside, most
        for _ in range(20):
            with file_lock(tmp_path / "locks", tmp_path / "t"):
                inside += 1
                most = max(most, inside)
                turns.append(number)
                inside -= 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert sorted(turns) == sorted(list(range(4)) * 20)


def test_an_exception_inside_frees_the_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), file_lock(tmp_path / "locks", tmp_path / "t"):
        raise RuntimeError
    with file_lock(tmp_path / "locks", tmp_path / "t", timeout_s=0):
        pass


def test_locks_live_in_their_own_private_directory(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    with file_lock(tmp_path / "locks", tmp_path / "home" / "t"):
        pass
    assert list((tmp_path / "home").iterdir()) == []
    assert (tmp_path / "locks").stat().st_mode & 0o777 == 0o700
    assert [file.stat().st_mode & 0o777 for file in (tmp_path / "locks").iterdir()] == [0o600]


def test_an_unusable_lock_directory_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "locks").write_text("a file")
    with pytest.raises(Unavailable), file_lock(tmp_path / "locks", tmp_path / "t"):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX locks")
@pytest.mark.parametrize("beside", [False, True])
def test_unlocking_never_fails_what_was_done_under_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool
) -> None:
    import fcntl

    flock = fcntl.flock

    def no_unlock(fd: int, operation: int) -> None:
        if operation == fcntl.LOCK_UN:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flock(fd, operation)

    lock = partial(lock_beside, tmp_path / "x") if beside else partial(file_lock, tmp_path, tmp_path / "x")
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", no_unlock)
        with lock():
            pass
    with lock(timeout_s=0.1):
        pass
