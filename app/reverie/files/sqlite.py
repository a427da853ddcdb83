"""What every database that several processes share needs to know of SQLite.

Threading: a connection belongs to whoever opened it; nothing is kept here. Failure: `sqlite3.Error`, which
the caller turns into a sentence with `is_busy` and `why`.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import time
from pathlib import Path

from reverie.errors import UserError, user_error_from_os
from reverie.files.paths import is_directory, is_irregular, open_regular


def make_private(database: Path) -> None:
    """An empty file that only its owner can read, where there is none yet: the folder may be one that others
    can enter. What belongs to a database gets its mode. Failure: none, opening it tells."""
    with contextlib.suppress(OSError):
        os.close(os.open(database, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def refuse_irregular(database: Path) -> None:
    """Raises `sqlite3.OperationalError` if the database, or a file that belongs to it, is not a regular file:
    SQLite would wait for ever for the writer of a pipe."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        path = Path(f"{database}{suffix}")
        if is_irregular(path):
            raise sqlite3.OperationalError(f"{path.name} is not a regular file; move it away")


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
    """Whether the error means that the file is not a database (any more)."""
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
        raise user_error_from_os(error, f"The damaged {database.name} was not set aside.") from error
    return aside


def why(error: sqlite3.Error, cause: str, next_step: str, database: Path | None = None) -> tuple[str, str]:
    """Cause and next step for an error of SQLite that a person can fix; the given ones for any other error,
    or if `database` is not known."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _FULL_CODES:
        return _FULL
    if database is not None and code & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        # SQLite opens a file for reading only, whatever kept it from opening it for writing.
        found = _in_the_way(database)
        if found is not None:
            return found.cause, found.next_step
        if code & 0xFF == sqlite3.SQLITE_READONLY:
            return (
                f"{database.name} could only be opened for reading, although its modes allow writing.",
                "Check the disk, then try again.",
            )
    return cause, next_step


def _in_the_way(database: Path) -> UserError | None:
    """What the system says of opening the file for writing, or of changing its folder; None: nothing."""
    try:
        os.close(open_regular(database, os.O_RDWR))
    except FileNotFoundError:
        pass  # the folder decides
    except OSError as error:
        return user_error_from_os(error, "")
    if os.access(database.parent, os.W_OK | os.X_OK) or not is_directory(database.parent):
        return None
    read_only = hasattr(os, "ST_RDONLY") and os.statvfs(database.parent).f_flag & os.ST_RDONLY
    return user_error_from_os(OSError(errno.EROFS if read_only else errno.EACCES, ""), "")


_FULL = ("The disk is full.", "Free some space and try again.")
# The second: the file that readers and writers share cannot grow.
_FULL_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another connection holds the database."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
