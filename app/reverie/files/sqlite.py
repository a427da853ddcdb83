"""What every database of ours that several processes share needs to know of SQLite.

Threading: a connection belongs to who opened it; nothing is kept here. Failure: `sqlite3.Error`, of which the
caller makes a sentence with `is_busy` and `why`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

from reverie.errors import mendable_from_os


def use_wal(connection: sqlite3.Connection) -> None:
    """Readers go on beside a writer who takes long."""
    _use_journal(connection, "WAL")


def use_kept_journal(connection: sqlite3.Connection) -> None:
    """A rollback journal that stays where it is. For transactions of a row or two, each on a connection of
    its own, making and removing what WAL needs takes many times as long as they do."""
    _use_journal(connection, "PERSIST")


def _use_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Once per database. While somebody else switches, or has it open in another way, it is busy, whatever
    the timeout, and is used as it is."""
    try:
        connection.execute(f"PRAGMA journal_mode = {mode}")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise


def is_damaged(error: sqlite3.Error) -> bool:
    """Whether the file is no database, or none any more."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def set_aside(database: Path) -> Path:
    """Rename a damaged database and what belongs to it, which would damage the next one, out of the way;
    returns the new path. Raises `Unavailable`."""
    aside = database.with_name(f"{database.name}.damaged-{time.time_ns() // 1_000_000}")
    try:
        for suffix in ("-journal", "-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{database}{suffix}").replace(f"{aside}{suffix}")
    except OSError as error:
        raise mendable_from_os(error, f"The damaged {database.name} was not set aside.") from error
    return aside


def why(error: sqlite3.Error, cause: str, next_step: str) -> tuple[str, str]:
    """Cause and next step for an error of SQLite that a person can mend; as given, where it is another."""
    code = getattr(error, "sqlite_errorcode", 0)
    return _MENDABLE.get(code) or _MENDABLE.get(code & 0xFF, (cause, next_step))


_FULL = ("The disk is full.", "Free some space and try again.")
_MENDABLE = {
    sqlite3.SQLITE_FULL: _FULL,
    # The file that readers and writers share cannot grow.
    sqlite3.SQLITE_IOERR_SHMSIZE: _FULL,
    sqlite3.SQLITE_READONLY: (
        "Its file can only be read.",
        "Check who owns the file and its folder, and their modes.",
    ),
}


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else holds the database."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
