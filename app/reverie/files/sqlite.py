"""What every database of ours that several processes share needs to know of SQLite."""

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


def is_busy(error: sqlite3.Error) -> bool:
    """Whether somebody else holds the database."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
