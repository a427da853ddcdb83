"""Who wrote what is known by path and content, across processes, and never guessed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from helpers.expect_log import ExpectLog
from reverie.memory.write_log import OUTSIDE, WriteLog


def test_a_content_is_attributed_to_who_announced_it_last(tmp_path: Path) -> None:
    log = WriteLog(tmp_path / "state/actors.sqlite")
    log.record(tmp_path / "a.md", "aa", actor="dream", run_id="r1", at_ms=1)
    log.record(tmp_path / "a.md", "aa", actor="user", run_id=None, at_ms=2)
    found = log.actor_of(tmp_path / "a.md", "aa")
    assert found is not None
    assert (found.actor, found.run_id, found.at_ms) == ("user", None, 2)


def test_another_content_or_place_is_not_attributed(tmp_path: Path) -> None:
    log = WriteLog(tmp_path / "actors.sqlite")
    log.record(tmp_path / "a.md", "aa", actor="dream", run_id="r1", at_ms=1)
    assert log.actor_of(tmp_path / "a.md", "bb") is None
    assert log.actor_of(tmp_path / "b.md", "aa") is None
    assert log.actor_of(tmp_path / "a.md", None) is None


def test_a_delete_is_attributed_too(tmp_path: Path) -> None:
    log = WriteLog(tmp_path / "actors.sqlite")
    log.record(tmp_path / "a.md", None, actor="revert", run_id="r2", at_ms=1)
    found = log.actor_of(tmp_path / "a.md", None)
    assert found is not None
    assert found.run_id == "r2"


def test_asking_creates_nothing(tmp_path: Path) -> None:
    assert WriteLog(tmp_path / "none/actors.sqlite").actor_of(tmp_path / "a.md", "aa") is None
    assert not (tmp_path / "none").exists()


def test_names_that_are_no_utf8_are_kept_apart(tmp_path: Path) -> None:
    log = WriteLog(tmp_path / "actors.sqlite")
    log.record(Path("/x/\udcff.md"), "aa", actor="user", run_id=None, at_ms=1)
    assert log.actor_of(Path("/x/\udcff.md"), "aa") is not None
    assert log.actor_of(Path("/x/\udcfe.md"), "aa") is None


def test_two_processes_write_one_log(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from reverie.memory.recording import WriteLog as ActorLog\n"
        "log = ActorLog(Path(sys.argv[1]))\n"
        "for n in range(50):\n"
        "    log.record(Path('/x'), sys.argv[2] + str(n), actor='user', run_id=None, at_ms=n)\n"
    )
    database = tmp_path / "actors.sqlite"
    workers = [subprocess.Popen([sys.executable, "-c", script, str(database), name]) for name in "ab"]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    log = WriteLog(database)
    assert all(log.actor_of(Path("/x"), f"{name}{number}") for name in "ab" for number in range(50))


def test_an_old_content_of_ours_that_somebody_else_puts_back_is_not_ours(tmp_path: Path) -> None:
    log = WriteLog(tmp_path / "actors.sqlite")
    log.record(tmp_path / "a.md", "aa", actor="user", run_id=None, at_ms=1)
    log.record(tmp_path / "a.md", "bb", actor=OUTSIDE, run_id=None, at_ms=2)
    assert log.actor_of(tmp_path / "a.md", "aa") is None
    log.record(tmp_path / "a.md", "aa", actor="user", run_id=None, at_ms=3)
    assert log.actor_of(tmp_path / "a.md", "aa") is not None


def test_a_damaged_log_is_set_aside_and_nobody_is_kept_from_saving(
    tmp_path: Path, expect_log: ExpectLog
) -> None:
    (tmp_path / "actors.sqlite").write_bytes(b"not a database" * 100)
    log = WriteLog(tmp_path / "actors.sqlite")
    expect_log("damaged")
    log.record(tmp_path / "a", "aa", actor="user", run_id=None, at_ms=1)
    assert log.actor_of(tmp_path / "a", "aa") is not None
    assert [path.read_bytes()[:5] for path in tmp_path.glob("*.damaged-*")] == [b"not a"]
