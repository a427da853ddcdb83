"""Leases: one holder, gone with its process, lost when it sleeps too long, and never in the way for good."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reverie.errors import Busy, Unavailable
from reverie.files import lease as lease_module
from reverie.files.lease import LeaseHeld, Leases
from reverie.files.locks import this_process

_HOLD = """
import sys
from pathlib import Path
from reverie.files.lease import Leases
lease = Leases(Path(sys.argv[1])).acquire("dream", purpose="a dream", ttl_s=float(sys.argv[2]))
print("held", flush=True)
sys.stdin.readline()
print("lost" if lease.lost.wait(20) else "kept", flush=True)
"""

_COMPETE = """
import sys
from pathlib import Path
from reverie.files.lease import LeaseHeld, Leases
leases = Leases(Path(sys.argv[1]))
sys.stdin.readline()
try:
    leases.acquire("dream", purpose="a dream")
    print("held", flush=True)
except LeaseHeld:
    print("refused", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "state" / "leases.sqlite"


def _start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _tell(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def _until(condition: Callable[[], object]) -> None:
    """Wait for a condition; a minute means never."""
    end = time.monotonic() + 60
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < end
        pause.wait(0.01)


def _try(database: Path) -> bool:
    try:
        Leases(database).acquire("dream", purpose="mine").release()
    except LeaseHeld:
        return False
    return True


def test_a_held_lease_is_refused_in_the_same_process_too_and_says_who_holds_it(database: Path) -> None:
    leases = Leases(database)
    with leases.acquire("dream", purpose="a dream of project x") as lease:
        with pytest.raises(LeaseHeld, match="a dream of project x") as held:
            Leases(database).acquire("dream", purpose="another")
        assert held.value.holder.owner == this_process()
        assert held.value.holder == leases.holder("dream")
        assert held.value.reason == "busy"
        with leases.acquire("another", purpose="something else"):
            pass
        assert lease.renew()
    assert leases.holder("dream") is None
    leases.acquire("dream", purpose="again").release()


def test_looking_for_a_holder_creates_nothing(database: Path) -> None:
    assert Leases(database).holder("dream") is None
    assert not database.parent.exists()


def test_an_empty_database_has_no_holders(database: Path) -> None:
    database.parent.mkdir()
    database.touch()
    assert Leases(database).holder("dream") is None


def test_the_directory_is_private(database: Path) -> None:
    Leases(database).acquire("dream", purpose="x").release()
    assert database.parent.stat().st_mode & 0o777 == 0o700


def test_another_process_is_refused_while_the_owner_lives_and_takes_over_at_once_when_it_is_killed(
    database: Path,
) -> None:
    with _start(_HOLD, database, 3600) as owner:
        assert _line(owner) == "held"
        leases = Leases(database)
        with pytest.raises(LeaseHeld) as held:
            leases.acquire("dream", purpose="mine")
        assert held.value.holder.owner.pid == owner.pid
        owner.kill()
        os.waitid(os.P_PID, owner.pid, os.WEXITED | os.WNOWAIT)
        assert leases.holder("dream") is None
        leases.acquire("dream", purpose="mine").release()


def test_of_many_processes_that_start_at_once_exactly_one_gets_it(database: Path) -> None:
    competitors = [_start(_COMPETE, database) for _ in range(4)]
    for competitor in competitors:
        _tell(competitor)
    answers = [_line(competitor) for competitor in competitors]
    for competitor in competitors:
        competitor.communicate("\n")
    assert sorted(answers) == ["held", "refused", "refused", "refused"]


def test_the_heartbeat_keeps_a_short_lease(database: Path) -> None:
    leases = Leases(database)
    with leases.acquire("dream", purpose="x", ttl_s=2.0) as lease:
        first = leases.holder("dream")
        assert first is not None
        _until(
            lambda: (
                (now := leases.holder("dream")) is not None and now.expires_at_ms > first.expires_at_ms + 300
            )
        )
        assert not lease.lost.is_set()
        assert not _try(database)


def test_a_lease_whose_owner_is_stopped_expires_and_the_owner_learns_it(database: Path) -> None:
    with _start(_HOLD, database, 0.3) as owner:
        assert _line(owner) == "held"
        owner.send_signal(signal.SIGSTOP)
        _until(lambda: _try(database))
        with Leases(database).acquire("dream", purpose="mine"):
            owner.send_signal(signal.SIGCONT)
            _tell(owner)
            assert _line(owner) == "lost"


def test_an_expired_lease_is_taken_from_a_living_owner_whose_renewal_then_fails(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = Leases(database)
    with leases.acquire("dream", purpose="x", ttl_s=3600) as lease:
        now = time.time_ns() // 1_000_000
        monkeypatch.setattr(lease_module, "_now_ms", lambda: now + 3_700_000)
        assert leases.holder("dream") is None
        with leases.acquire("dream", purpose="y") as other:
            assert not lease.lost.is_set()
            assert not lease.renew()
            assert lease.lost.is_set()
            lease.release()
            assert other.renew()
    assert leases.holder("dream") is None


def test_an_expired_lease_that_nobody_took_is_renewed(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = Leases(database)
    with leases.acquire("dream", purpose="x", ttl_s=3600) as lease:
        now = time.time_ns() // 1_000_000
        monkeypatch.setattr(lease_module, "_now_ms", lambda: now + 3_700_000)
        assert lease.renew()
        assert leases.holder("dream") is not None


def test_a_lease_that_cannot_be_renewed_for_its_whole_time_is_lost(database: Path) -> None:
    with Leases(database).acquire("dream", purpose="x", ttl_s=0.2) as lease:
        database.rename(database.with_name("gone"))
        assert lease.lost.wait(60)
        database.with_name("gone").rename(database)


def test_release_is_idempotent_ends_the_thread_and_frees_only_its_own(database: Path) -> None:
    leases = Leases(database)
    before = threading.active_count()
    lease = leases.acquire("dream", purpose="x")
    assert threading.active_count() == before + 1
    lease.release()
    assert threading.active_count() == before
    with leases.acquire("dream", purpose="y") as other:
        lease.release()
        assert not lease.renew()
        assert not lease.lost.is_set()
        assert other.renew()


def test_a_damaged_database_is_set_aside_by_who_wants_a_lease_and_told_to_who_only_looks(
    database: Path, expect_log: Callable[..., None]
) -> None:
    expect_log("was damaged and is set aside", logger="reverie.files")
    damaged = b"this is no database, and long enough to be seen as none" * 50
    database.parent.mkdir()
    database.write_bytes(damaged)
    leases = Leases(database)
    with pytest.raises(Unavailable, match="delete that file"):
        leases.holder("dream")
    with leases.acquire("dream", purpose="x"):
        assert leases.holder("dream") is not None
    (aside,) = database.parent.glob("*.damaged-*")
    assert aside.read_bytes() == damaged


def test_who_held_a_lease_in_a_database_that_was_set_aside_learns_that_it_is_lost(
    database: Path, expect_log: Callable[..., None]
) -> None:
    expect_log("was damaged and is set aside", logger="reverie.files")
    leases = Leases(database)
    with leases.acquire("dream", purpose="x") as first:
        database.write_bytes(b"what a power failure left" * 400)
        with leases.acquire("dream", purpose="y") as second:
            assert not first.renew()
            assert first.lost.is_set()
            assert second.renew()


def test_beside_an_older_version_that_keeps_the_database_open_in_its_way_both_are_kept_apart(
    database: Path,
) -> None:
    leases = Leases(database)
    leases.acquire("other", purpose="x").release()
    older = sqlite3.connect(database, isolation_level=None)
    try:
        assert older.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
        row = ("dream", "token", this_process().pid, this_process().started, this_process().boot, "a", 0)
        forever = 2**53
        older.execute("INSERT INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (*row, forever))
        with pytest.raises(LeaseHeld):
            leases.acquire("dream", purpose="mine")
        with leases.acquire("sweep", purpose="mine"):
            assert older.execute("SELECT count(*) FROM leases").fetchone() == (2,)
    finally:
        older.close()
    with pytest.raises(LeaseHeld):
        leases.acquire("dream", purpose="mine")
    assert not database.with_name(f"{database.name}-wal").exists()


def test_a_database_that_stays_locked_is_busy(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_module, "_BUSY_TIMEOUT_S", 0.0)
    leases = Leases(database)
    leases.acquire("other", purpose="x").release()
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(Busy, match="list of running jobs"):
            leases.acquire("dream", purpose="x")
    finally:
        connection.close()


def test_a_lease_that_a_full_disk_kept_from_going_is_free_for_us_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expect_log: Callable[..., None]
) -> None:
    expect_log("could not be released", logger="reverie.files", count=None)
    leases = Leases(tmp_path / "leases.sqlite")
    lease = leases.acquire("dream", purpose="a dream")

    def full(*_lease: str) -> None:
        raise Unavailable("The list of running jobs cannot be used.", cause="The disk is full.")

    with monkeypatch.context() as patch:
        patch.setattr(leases, "_free", full)
        lease.release()
    assert leases.holder("dream") is None
    leases.acquire("dream", purpose="the next one").release()
