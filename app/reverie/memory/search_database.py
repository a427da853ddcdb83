"""The search index as a file: one SQLite database per profile, which can be thrown away at any time.

Rebuilt, never repaired: a file that is damaged, truncated or of another version is removed and begun anew by
the next update. One writer at a time, by a kernel lock; readers go on beside it (WAL) and see what was
complete.

Threading: every call opens its own connection. Failure: `IndexDamaged` tells that it must be rebuilt,
`Unavailable` that the disk does not let us.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import Unavailable, mendable_from_os
from reverie.files.directory import ensure_private
from reverie.files.lock import file_lock
from reverie.files.sqlite import make_private, refuse_irregular, use_wal, why
from reverie.files.there import own_is_there

# Count up with every change of the tables, of what `memory.search_text` makes of a text, or of which files
# may be in it: an index of another version is removed whole. In version 3 there could be credentials that a
# file imported.
VERSION = 4
_BUSY_S = 5.0
_LOCK_S = 120.0
# What the machine, not the file, is to blame for.
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
# Contentless: the texts are on disk already. A changed file gets a new row; what stood there before stays in
# the word lists until the next rebuild and leads to no row (deleting from a contentless table needs the old
# text, or a newer SQLite than many systems have). Names stand in a table of their own, too: to look for a
# common word in one column only, the lists of all columns would have to be read.
_SCHEMA = f"""
CREATE TABLE homes (home TEXT PRIMARY KEY, complete INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE docs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    home TEXT NOT NULL,
    root TEXT NOT NULL,
    rel BLOB NOT NULL,
    scope TEXT NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    sha256 BLOB NOT NULL,
    UNIQUE (home, root, rel)
);
CREATE INDEX docs_by_time ON docs (mtime_ns);
CREATE VIRTUAL TABLE words USING fts5(
    name, body, parts, content='', prefix='2 3', tokenize="unicode61 remove_diacritics 0 tokenchars '_'"
);
CREATE VIRTUAL TABLE names USING fts5(
    name, content='', prefix='2 3', tokenize="unicode61 remove_diacritics 0 tokenchars '_'"
);
PRAGMA user_version = {VERSION};
"""


class IndexDamaged(Exception):
    """The index cannot be read: it is to be built anew."""


class SearchDatabase:
    """The file and its lock. Nothing is created before the first writing."""

    def __init__(self, path: Path, *, lock_dir: Path) -> None:
        self.path = path
        self._lock_dir = lock_dir

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection to look things up with; None where there is no index (of this version) yet. Raises
        `IndexDamaged`."""
        if not own_is_there(self.path):
            yield None
            return
        with _told(self.path), contextlib.closing(self._connect()) as connection:
            # Nothing is ever written through this one; only our own update makes a file.
            connection.execute("PRAGMA query_only = ON")
            yield connection if _version(connection) == VERSION else None

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The one connection that writes, in manual transactions; begun anew where there is no index of this
        version. Raises `IndexDamaged`, `Busy`, `Unavailable`."""
        ensure_private(self.path.parent)
        with file_lock(self._lock_dir, self.path, timeout_s=_LOCK_S), _told(self.path):
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
        """Throw it away; the next writing begins anew."""
        with file_lock(self._lock_dir, self.path, timeout_s=_LOCK_S):
            self._remove()

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm", "-journal"):
            try:
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
            except OSError as error:
                raise mendable_from_os(error, "The damaged search index could not be removed.") from error

    def _connect(self) -> sqlite3.Connection:
        refuse_irregular(self.path)
        make_private(self.path)
        return sqlite3.connect(self.path, timeout=_BUSY_S, isolation_level=None)


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        is_machine = code is not None and code & 0xFF in _MACHINE and code != sqlite3.SQLITE_IOERR_SHORT_READ
        if not is_machine:
            raise IndexDamaged(f"{path.name}: {error}") from error
        cause, next_step = why(
            error, f"SQLite says: {error}.", f"Check the disk that holds {path.parent}, then try again.", path
        )
        title = "The search index cannot be used now."
        raise Unavailable(title, cause=cause, next_step=next_step) from error
