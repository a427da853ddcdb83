"""The database file of the catalogue, its lock and its schema.

Threading: any thread but the GUI's. Failure: `Unavailable`, `Busy`, `CatalogueDamaged`.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import Unavailable, user_error_from_os
from reverie.files.directory import (
    ensure_private,
    own_is_there,
)
from reverie.files.locks import file_lock
from reverie.files.sqlite import make_private, refuse_irregular, use_wal, why

# Increase with every change of the tables, of `memory.search.query`'s output, of the lint rules, or of the
# files that are allowed in it: a catalogue of another version is removed whole.
VERSION = 3
_FORMER = "search.sqlite"
"""The name of the index of older versions, which may contain credentials from imported files."""
_BUSY_S = 5.0
_LOCK_S = 120.0
# Errors of the machine, not of the file.
_MACHINE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_INTERRUPT,
}
# Contentless: the texts are on disk already. A changed file gets a new row; its old words stay in the word
# lists until the next rebuild and lead to no row (deleting from a contentless table needs the old text, or a
# newer SQLite than many systems have). Names are in a table of their own as well: a search for a common word
# in one column would have to read the lists of all columns.
_SCHEMA = f"""
CREATE TABLE homes (home TEXT PRIMARY KEY, complete INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    home TEXT NOT NULL,
    root TEXT NOT NULL,
    rel BLOB NOT NULL,
    scope TEXT NOT NULL,
    mtime_ns INTEGER NOT NULL,
    stamp TEXT NOT NULL,
    read_ns INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    blob BLOB NOT NULL,
    findings TEXT NOT NULL,
    UNIQUE (home, root, rel)
);
CREATE INDEX files_by_time ON files (mtime_ns);
CREATE VIRTUAL TABLE words USING fts5(
    name, body, parts, content='', prefix='2 3', tokenize="unicode61 remove_diacritics 0 tokenchars '_'"
);
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row);
CREATE VIRTUAL TABLE names USING fts5(
    name, content='', prefix='2 3', tokenize="unicode61 remove_diacritics 0 tokenchars '_'"
);
PRAGMA user_version = {VERSION};
"""


class CatalogueDamaged(Exception):
    """Raised if the catalogue cannot be read and must be rebuilt."""


class CatalogueFile:
    """The database with the search index of a profile, and its lock; created by the first write."""

    def __init__(self, path: Path, *, lock_dir: Path) -> None:
        self.path = path
        self._lock_dir = lock_dir

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Context manager: yield a connection for queries; None if no catalogue (of this version) exists yet.

        Raises `CatalogueDamaged`, `Unavailable`.
        """
        if not own_is_there(self.path):
            yield None
            return
        with _database_errors(self.path), contextlib.closing(self._connect()) as connection:
            # Nothing is ever written through this connection; only our own update creates the file.
            connection.execute("PRAGMA query_only = ON")
            yield connection if _version(connection) == VERSION else None

    def state(self) -> tuple[int, ...]:
        """Return a value that changes with each write to the database by any process; for comparison."""
        found: list[int] = []
        for name in (self.path.name, f"{self.path.name}-wal"):
            with contextlib.suppress(OSError):  # a missing file is a state as well
                status = self.path.with_name(name).stat()
                found += (status.st_ino, status.st_size, status.st_mtime_ns)
        return tuple(found)

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Context manager: yield the single write connection, which uses manual transactions.

        If the file is missing or of another version, a new one is created. Raises `CatalogueDamaged`, `Busy`,
        `Unavailable`.
        """
        ensure_private(self.path.parent)
        with file_lock(self._lock_dir, self.path, timeout_s=_LOCK_S), _database_errors(self.path):
            with contextlib.closing(self._connect()) as connection:
                is_ours = _version(connection) == VERSION
            if not is_ours:
                self._remove()
            with contextlib.closing(self._connect()) as connection:
                use_wal(connection)
                connection.execute("PRAGMA synchronous = NORMAL")
                if not is_ours:
                    connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
                yield connection

    def remove(self) -> None:
        """Delete the file; the next write creates it."""
        with file_lock(self._lock_dir, self.path, timeout_s=_LOCK_S):
            self._remove()

    def _remove(self) -> None:
        for name in (self.path.name, _FORMER):
            for suffix in ("", "-wal", "-shm", "-journal"):
                try:
                    self.path.with_name(name + suffix).unlink(missing_ok=True)
                except OSError as error:
                    title = "The damaged search index could not be removed."
                    raise user_error_from_os(error, title) from error

    def _connect(self) -> sqlite3.Connection:
        refuse_irregular(self.path)
        make_private(self.path)
        return sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def _database_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        is_machine = code is not None and code & 0xFF in _MACHINE and code != sqlite3.SQLITE_IOERR_SHORT_READ
        if not is_machine:
            raise CatalogueDamaged(f"{path.name}: {error}") from error
        cause, next_step = why(
            error,
            f"SQLite reports: {error}.",
            f"Check the disk that holds {path.parent}, then try again.",
            path,
        )
        title = "The search index cannot be used at the moment."
        raise Unavailable(title, cause=cause, next_step=next_step) from error
