"""`.consolidate-lock`: what it says, and that it is taken and given back as its agent expects."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helpers.claude_transcripts import Chat
from reverie.agents.capabilities import LockBefore
from reverie.agents.claude.consolidation import QUIET_MS, STALE_MS, ClaudeLock, Ended, LockState, read_lock
from reverie.agents.claude.locations import LOCK_NAME
from reverie.errors import Busy, Conflict, UserError

NOW = 1_800_000_000_000
OURS, THEIRS = 4711, 815


def nobody(_pid: int) -> bool:
    return False


def everybody(_pid: int) -> bool:
    return True


def at(file: Path, body: bytes, when_ms: int = NOW) -> Path:
    file.write_bytes(body)
    os.utime(file, ns=(when_ms * 1_000_000,) * 2)
    return file


def lock_of(file: Path, alive: Callable[[int], bool] = everybody) -> ClaudeLock:
    return ClaudeLock(file, pid=OURS, clock_ms=lambda: NOW, is_alive=alive)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / LOCK_NAME


@pytest.mark.parametrize(
    ("body", "age_ms", "alive", "expected"),
    [
        (b"815", 0, everybody, LockState(NOW, 815, True, True)),
        (b"815\n", STALE_MS - 1, everybody, LockState(NOW - STALE_MS + 1, 815, True, True)),
        (b"815", STALE_MS, everybody, LockState(NOW - STALE_MS, 815, True, False)),
        (b"815", 0, nobody, LockState(NOW, 815, False, False)),
        (b"", 0, everybody, LockState(NOW, None, False, False)),
        (b" \n", 5, everybody, LockState(NOW - 5, None, False, False)),
        (b"nobody", 0, everybody, LockState(NOW, None, False, False)),
        (b"0", 0, everybody, LockState(NOW, None, False, False)),
        (b"-3", 0, everybody, LockState(NOW, None, False, False)),
        (b"99999999999999999999", 0, everybody, LockState(NOW, None, False, False)),
        (b"\xff\xfe815", 0, everybody, LockState(NOW, None, False, False)),
        (b"815", -60_000, everybody, LockState(NOW + 60_000, 815, True, True)),
        (b"815", -60_000, nobody, LockState(NOW + 60_000, 815, False, False)),
    ],
)
def test_the_body_names_the_holder_and_the_mtime_the_last_consolidation(
    file: Path, body: bytes, age_ms: int, alive: Callable[[int], bool], expected: LockState
) -> None:
    at(file, body, NOW - age_ms)
    assert read_lock(file, NOW, alive) == expected


def test_no_file_is_never_and_so_is_what_is_no_file(file: Path) -> None:
    assert read_lock(file, NOW, everybody) == LockState()
    file.mkdir()
    assert read_lock(file, NOW, everybody) == LockState()


def test_this_process_runs_and_an_impossible_one_does_not(file: Path) -> None:
    now = file.parent.stat().st_mtime_ns // 1_000_000
    at(file, str(os.getpid()).encode(), now)
    assert read_lock(file, now).running
    at(file, b"4194399", now)
    assert not read_lock(file, now).running


def test_nothing_is_taken_while_another_holder_is_alive(file: Path) -> None:
    at(file, b"815", NOW - 1000)
    with pytest.raises(Busy) as refused:
        lock_of(file).look()
    assert refused.value.reason == "agent-busy"
    assert "815" in refused.value.cause
    assert file.read_bytes() == b"815"
    assert file.stat().st_mtime_ns == (NOW - 1000) * 1_000_000


@pytest.mark.parametrize(
    ("body", "age_ms", "alive"),
    [(b"815", 0, nobody), (b"815", STALE_MS, everybody), (b"", 0, everybody), (b"4711", 0, everybody)],
)
def test_a_dead_an_old_an_empty_and_an_own_one_are_free(
    file: Path, body: bytes, age_ms: int, alive: Callable[[int], bool]
) -> None:
    at(file, body, NOW - age_ms)
    lock = lock_of(file, alive)
    before = lock.look()
    lock.take(before)
    assert file.read_bytes() == b"4711"


def test_a_success_leaves_the_present_and_no_holder(file: Path) -> None:
    at(file, b"815", NOW - 90_000_000)
    lock = lock_of(file, nobody)
    lock.take(lock.look())
    lock.done(OURS)
    assert read_lock(file, NOW, everybody) == LockState(NOW, None, False, False)


def test_a_failure_gives_back_every_byte_and_the_mtime_and_the_mode(file: Path) -> None:
    at(file, b"815\n", NOW - 90_000_000)
    file.chmod(0o600)
    lock = lock_of(file, nobody)
    before = lock.look()
    lock.take(before)
    lock.put_back(before, OURS)
    assert file.read_bytes() == b"815\n"
    assert file.stat().st_mtime_ns == (NOW - 90_000_000) * 1_000_000
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_failure_of_the_first_one_leaves_no_file(file: Path) -> None:
    lock = lock_of(file)
    before = lock.look()
    assert before == LockBefore(None, 0)
    lock.take(before)
    assert file.read_bytes() == b"4711"
    lock.put_back(before, OURS)
    assert not file.exists()


@pytest.mark.parametrize("there", [False, True])
def test_of_two_the_quicker_one_has_it(file: Path, there: bool) -> None:
    if there:
        at(file, b"", NOW - 5)
    lock = lock_of(file)
    before = lock.look()
    at(file, b"815", NOW)
    with pytest.raises(Busy):
        lock.take(before)
    assert file.read_bytes() == b"815"


def test_one_that_came_between_look_and_exclusive_creation_stays(file: Path) -> None:
    lock = lock_of(file)
    file.symlink_to(file.parent / "elsewhere")
    with pytest.raises(UserError):
        lock.take(LockBefore(None, 0))
    assert not (file.parent / "elsewhere").exists()


def test_what_somebody_else_took_meanwhile_is_left_to_them(file: Path) -> None:
    lock = lock_of(file)
    before = lock.look()
    lock.take(before)
    at(file, b"815", NOW + 5)
    for give_back in (lambda: lock.done(OURS), lambda: lock.put_back(before, OURS)):
        with pytest.raises(Conflict):
            give_back()
        assert file.read_bytes() == b"815"
    file.unlink()
    with pytest.raises(Conflict):
        lock.done(OURS)
    assert not file.exists()


def test_a_link_is_not_followed(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "precious"
    other.write_text("keep")
    file.symlink_to(other)
    with pytest.raises(UserError):
        lock_of(file).look()
    assert other.read_text() == "keep"


def test_a_lock_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    lock = lock_of(tmp_path / "gone" / LOCK_NAME)
    with pytest.raises(UserError) as refused:
        lock.take(lock.look())
    assert LOCK_NAME in str(refused.value)


# A consolidation that is over though its process lives


def ended(file: Path, transcript: Path | None = None) -> Ended:
    return Ended(file.parent, lambda pid: transcript if pid == THEIRS else None)


def saved(path: Path, *rows: tuple[int, str | None]) -> Path:
    """A transcript that records saved memories: when (ms after NOW), and the program's word for it."""
    chat = Chat()
    chat.user("Good morning")
    for after_ms, verb in rows:
        told = datetime.fromtimestamp((NOW + after_ms) / 1000, UTC).isoformat()
        more = {} if verb is None else {"verb": verb}
        chat.record("system", subtype="memory_saved", timestamp=told, **more)
    return chat.write(path)


@pytest.mark.parametrize(
    ("rows", "over"),
    [
        ([], False),
        ([(5_000, "Improved")], True),
        ([(5_000, "Improved"), (9_000, None)], True),
        ([(-5_000, "Improved")], False),
        ([(5_000, None)], False),
    ],
)
def test_the_session_tells_that_its_consolidation_is_over(
    file: Path, tmp_path: Path, rows: list[tuple[int, str | None]], over: bool
) -> None:
    at(file, b"815")
    transcript = saved(tmp_path / "chat.jsonl", *rows)
    state = read_lock(file, NOW + 60_000, everybody, ended(file, transcript))
    assert state == LockState(NOW, THEIRS, alive=True, running=not over, ended=over)
    assert read_lock(file, NOW + 60_000, everybody, ended(file)).running, "another session says nothing"


def test_after_minutes_without_a_change_a_consolidation_is_over(file: Path) -> None:
    at(file, b"815")
    topic = at(file.parent / "deep.md", b"x", NOW + 120_000)
    over = NOW + 120_000 + QUIET_MS
    assert read_lock(file, over - 1, everybody, ended(file)).running
    assert read_lock(file, over, everybody, ended(file)).ended
    (file.parent / "sub").mkdir()
    os.utime(at(file.parent / "sub" / "a.md", b"x", over).parent, ns=(NOW * 1_000_000,) * 2)
    assert read_lock(file, over + 5, everybody, ended(file)).running, "also below"
    assert topic.exists()


def test_a_consolidation_that_is_over_does_not_keep_ours_away(file: Path, tmp_path: Path) -> None:
    at(file, b"815", NOW - 60_000)
    lock = ClaudeLock(file, pid=OURS, clock_ms=lambda: NOW, is_alive=everybody, has_ended=ended(file))
    with pytest.raises(Busy):
        lock.look()
    transcript = saved(tmp_path / "chat.jsonl", (-20_000, "Improved"))
    own = ended(file, transcript)
    lock = ClaudeLock(file, pid=OURS, clock_ms=lambda: NOW, is_alive=everybody, has_ended=own)
    before = lock.look()
    lock.take(before)
    lock.put_back(before, OURS)
    assert file.read_bytes() == b"815"
    assert file.stat().st_mtime_ns == (NOW - 60_000) * 1_000_000


def test_a_transcript_that_cannot_be_read_says_nothing(file: Path, tmp_path: Path) -> None:
    at(file, b"815")
    for transcript in (tmp_path / "none.jsonl", tmp_path):
        assert read_lock(file, NOW + 1, everybody, ended(file, transcript)).running
