"""The stat cache: which stored version a file had when it was last read; unchanged files are not read again.

A row is trusted only if size, both times and inode are still the same and the file had been at rest for
`RACY_NS` when it was read: a file changed again within the granularity of its own time stamp would look
unchanged (git calls this racily clean).

It is a cache, and not synced: each row is a fact of its own, whichever of them a power failure leaves. A
damaged, foreign or older database is thrown away and built anew, which costs one full read. It lies inside
the repository directory, so that both are set aside together. Used under the commit lock, one connection per
snapshot.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from reverie.files.sqlite import refuse_irregular, use_kept_journal

# FAT counts times in two seconds, the coarsest of the file systems in use.
RACY_NS = 2_000_000_000
_VERSION = 1
_SCHEMA = """
CREATE TABLE files (
    root TEXT NOT NULL, rel BLOB NOT NULL, stamp TEXT NOT NULL, read_ns INTEGER NOT NULL, blob BLOB NOT NULL,
    PRIMARY KEY (root, rel)
) WITHOUT ROWID
"""


class Stamp(NamedTuple):
    """What tells one version of a file from the next without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class Remembered(NamedTuple):
    """A file as it was when it was read at `read_ns` (real time); `blob` is the raw id of its content."""

    stamp: Stamp
    read_ns: int
    blob: bytes

    def still_holds(self, stamp: Stamp) -> bool:
        """Whether a file that now looks like `stamp` certainly has the remembered content."""
        return self.stamp == stamp and self.read_ns - max(stamp.mtime_ns, stamp.ctime_ns) > RACY_NS


def stamp_of(status: os.stat_result) -> Stamp:
    """What tells that a file changed without reading it."""
    # Windows has no inode in a directory scan and a birth time in place of the time of the last change
    inode = status.st_ino if os.name != "nt" else 0
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode)


class StatCache:
    """The cache as a context manager. Raises `sqlite3.Error` only where a new database cannot be made."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        try:
            self._connection = self._open()
        except sqlite3.DatabaseError:
            self._connection = self._start_anew()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def is_empty(self) -> bool:
        """Whether nothing is known; a damaged cache is begun anew and empty."""
        try:
            return self._db().execute("SELECT 1 FROM files LIMIT 1").fetchone() is None
        except sqlite3.DatabaseError:
            self._connection = self._start_anew()
            return True

    def under(self, root: str, rel: str = "") -> dict[str, Remembered]:
        """What is remembered of the file `rel` or of the files below it; all files of the root for ""."""
        try:
            return self._read(root, rel)
        except (sqlite3.DatabaseError, UnicodeDecodeError, TypeError, ValueError):
            self._connection = self._start_anew()
            return {}

    def update(self, rows: Iterable[tuple[str, Mapping[str, Remembered], Mapping[str, Remembered]]]) -> None:
        """Turn what `under` gave for some part of a root into something else: root, old and new of each."""
        gone: list[tuple[str, bytes]] = []
        changed: list[tuple[str, bytes, str, int, bytes]] = []
        for root, old, new in rows:
            gone += ((root, _encode(rel)) for rel in old if rel not in new)
            changed += (
                (root, _encode(rel), _stamp_text(row.stamp), row.read_ns, row.blob)
                for rel, row in new.items()
                if old.get(rel) != row
            )
        if not gone and not changed:
            return
        try:
            self._write(gone, changed)
        except sqlite3.DatabaseError:
            self._connection = self._start_anew()

    def _read(self, root: str, rel: str) -> dict[str, Remembered]:
        query = "SELECT rel, stamp, read_ns, blob FROM files WHERE root = ?"
        values: list[str | bytes] = [root]
        if rel:
            # "0" follows "/", so this is the file itself and everything that begins with `rel/`
            query += " AND (rel = ? OR (rel > ? AND rel < ?))"
            values += [_encode(rel), _encode(rel) + b"/", _encode(rel) + b"0"]
        rows = self._db().execute(query, values)
        return {
            bytes(name).decode("utf-8", "surrogatepass"): Remembered(
                Stamp(*map(int, stamp.split())), read_ns, bytes(blob)
            )
            for name, stamp, read_ns, blob in rows
        }

    def _write(
        self, gone: list[tuple[str, bytes]], changed: list[tuple[str, bytes, str, int, bytes]]
    ) -> None:
        connection = self._db()
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("DELETE FROM files WHERE root = ? AND rel = ?", gone)
        connection.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?)", changed)
        connection.execute("COMMIT")

    def _db(self) -> sqlite3.Connection:
        if self._connection is None:
            raise RuntimeError("the stat cache is not open")
        return self._connection

    def _open(self) -> sqlite3.Connection:
        refuse_irregular(self._database)
        connection = sqlite3.connect(self._database, timeout=10, isolation_level=None)
        try:
            use_kept_journal(connection)
            connection.execute("PRAGMA synchronous = OFF")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, _VERSION):
                raise sqlite3.DatabaseError("a stat cache of another version")
            if version == 0:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _start_anew(self) -> sqlite3.Connection:
        self._close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self._database}{suffix}").unlink(missing_ok=True)
        return self._open()

    def _close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):  # closing a damaged database fails as well
                self._connection.close()
            self._connection = None


def _stamp_text(stamp: Stamp) -> str:
    # as text: inodes and times far away do not fit into SQLite's integers
    return " ".join(map(str, stamp))


def _encode(rel: str) -> bytes:
    # surrogatepass keeps every name apart, those with undecodable bytes included
    return rel.encode("utf-8", "surrogatepass")
