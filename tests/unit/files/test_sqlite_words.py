"""What is said of a database that could not be used fits what keeps it from being used."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from helpers.ordinary_user import without_power
from reverie.errors import Unavailable
from reverie.files.lease import Leases
from reverie.files.sqlite import Database, refuse_irregular, why

GIVEN = ("SQLite says something.", "Check the disk.")


def a_database(tmp_path: Path) -> Path:
    path = tmp_path / "list.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
    return path


def refused(database: Path, mode: str) -> sqlite3.Error:
    with (
        contextlib.closing(sqlite3.connect(f"file:{database}?mode={mode}", uri=True)) as connection,
        pytest.raises(sqlite3.OperationalError) as caught,
    ):
        connection.execute("INSERT INTO t VALUES (1)")
    return caught.value


def test_a_file_that_is_read_only_by_its_modes_is_said_to_be_and_to_be_mended_there(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    database.chmod(0o444)
    cause, next_step = without_power(lambda: why(refused(database, "rw"), *GIVEN, database))
    assert cause == "Permission is denied."
    assert "their modes" in next_step


def test_a_folder_that_is_read_only_by_its_modes_is_said_to_be(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    tmp_path.chmod(0o555)
    try:
        said = without_power(lambda: why(refused(database, "rw"), *GIVEN, database))
    finally:
        tmp_path.chmod(0o755)
    assert "their modes" in said[1]


def test_where_the_modes_allow_writing_nobody_is_sent_to_look_at_them(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    # As after an I/O error of the disk, which makes SQLite open the file for reading only.
    cause, next_step = why(refused(database, "ro"), *GIVEN, database)
    assert "could not be opened for writing a moment ago" in cause
    assert "for reading" not in cause
    assert "check the disk" in next_step


def test_a_damaged_name_that_is_no_text_makes_a_database_unreadable_and_nothing_worse(tmp_path: Path) -> None:
    path = a_database(tmp_path)
    data = bytearray(path.read_bytes())
    row = data.index(b"tt\x02CREATE TABLE t (a)")  # name, table, page and text of a row of the schema
    data[row : row + 1] = b"\xaa"
    data[row + 18 : row + 21] = b"((,"
    path.write_bytes(bytes(data))
    with pytest.raises(Unavailable, match="could not be read"):
        Database(path, tmp_path / "cache").rows("t", ["a"])


def test_another_error_keeps_the_sentence_of_who_met_it(tmp_path: Path) -> None:
    database = a_database(tmp_path)
    error = sqlite3.OperationalError("no such table: x")
    assert why(error, *GIVEN, database) == GIVEN


@pytest.mark.parametrize("suffix", ["", "-journal", "-wal"])
def test_a_pipe_in_place_of_a_database_or_of_its_journal_is_said_and_never_waited_for(
    tmp_path: Path, suffix: str
) -> None:
    database = tmp_path / "leases.sqlite"
    Leases(database).acquire("x", purpose="a test").release()
    pipe = Path(f"{database}{suffix}")
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with pytest.raises(Unavailable, match=f"{pipe.name} is not a regular file"):
        Leases(database).holder("x")


def test_a_file_beside_a_database_that_goes_at_this_moment_is_nothing_odd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last connection that closes removes `-wal` and `-shm`, between any two looks at them."""
    path = a_database(tmp_path)
    beside = path.with_name(f"{path.name}-shm")
    looks = 0
    really = os.stat

    def look(name: Any, *arguments: Any, **named: Any) -> os.stat_result:
        nonlocal looks
        if os.fspath(name) != str(beside):
            return really(name, *arguments, **named)
        looks += 1
        beside.touch() if looks % 2 else beside.unlink(missing_ok=True)
        return really(name, *arguments, **named)

    monkeypatch.setattr(os, "stat", look)
    for _ in range(4):
        refuse_irregular(path)
    assert looks


def test_a_pipe_beside_a_database_is_refused(tmp_path: Path) -> None:
    path = a_database(tmp_path)
    os.mkfifo(path.with_name(f"{path.name}-shm"))
    with pytest.raises(sqlite3.OperationalError, match=r"list\.sqlite-shm is not a regular file"):
        refuse_irregular(path)
