"""What every database of ours that several processes share needs to know of SQLite.

Threading: a connection belongs to who opened it; nothing is kept here. Failure: `sqlite3.Error`, of which the
caller makes a sentence with `is_busy` and `why`.
"""

from __future__ import annotations

import sqlite3


def use_wal(connection: sqlite3.Connection) -> None:
    """Once per database. Whoever comes second while the first one switches finds it busy, whatever its
    timeout, and need not switch."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise


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
