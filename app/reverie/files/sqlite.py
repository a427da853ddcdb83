"""Helpers for shared SQLite databases, and reading another program's database through a copy.

Another program's database is not opened in place, because even a read-only connection leaves files beside it,
and without the write-ahead log the newest rows are missed. So the file and its `-wal` are copied to Reverie's
cache and the copy is opened; they are copied again whenever one of them changed. Columns are selected by
name, since they differ between versions.

Threading: a connection belongs to the thread that opened it, and none is cached. A copy is read on any thread
but the GUI's; it is created under a name of its own and renamed in one step. Failure: `sqlite3.Error`, which
`own_database`, or the caller with `why`, turns into a sentence; `Unavailable` if a copy cannot be made or
read.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.errors import Busy, Unavailable, UserError, user_error_from_os
from reverie.files.directory import is_directory, is_irregular, open_regular, read_regular


def make_private(database: Path) -> None:
    """Create an empty database file that only its owner can read, unless the file exists.

    Other users may be able to enter the folder. SQLite gives the files that it creates beside the database
    the same permissions. Errors are ignored, because opening the database reports them.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(database, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def refuse_irregular(database: Path) -> None:
    """Raise `sqlite3.OperationalError` if the database, its journal or write-ahead log is not a regular file.

    If one of them were a pipe, SQLite would wait for ever for its writer.
    """
    for suffix in ("", "-journal", "-wal", "-shm"):
        path = Path(f"{database}{suffix}")
        if is_irregular(path):
            raise sqlite3.OperationalError(f"{path.name} is not a regular file; move it elsewhere")


@contextlib.contextmanager
def own_database(
    database: Path,
    what: str,
    remedy: str,
    *,
    create: bool,
    timeout_s: float,
    damaged: type[Unavailable] = Unavailable,
) -> Iterator[sqlite3.Connection]:
    """Context manager: open a database of Reverie's own, without implicit transactions.

    `create`: create it if it does not exist. `timeout_s`: the time to wait for other connections. An error of
    SQLite in the block is raised as `Busy`, `damaged` or `Unavailable`, with `what` the database contains as
    the subject of its title, and `remedy` as the next step if a person cannot fix the cause.
    """
    try:
        refuse_irregular(database)
        uri = f"{database.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        connection = sqlite3.connect(uri, uri=True, timeout=timeout_s, isolation_level=None)
        with contextlib.closing(connection):
            yield connection
    except sqlite3.Error as error:
        if is_busy(error):
            raise Busy(
                f"{what} is in use.",
                cause=f"Another process kept {database.name} locked for {timeout_s:g} seconds.",
                next_step="Try again.",
            ) from error
        cause, next_step = why(error, f"SQLite reports about {database}: {error}.", remedy, database)
        kind = damaged if is_damaged(error) else Unavailable
        raise kind(f"{what} cannot be used.", cause=cause, next_step=next_step) from error


def use_wal(connection: sqlite3.Connection) -> None:
    """Switch the database of `connection` to WAL mode, in which readers continue during a long write."""
    _use_journal(connection, "WAL")


def use_kept_journal(connection: sqlite3.Connection) -> None:
    """Switch the database to a rollback journal that is kept between transactions.

    Meant for databases whose transactions write a row or two, each on a connection of its own: creating and
    removing the files of WAL mode would take many times as long as such a transaction.
    """
    _use_journal(connection, "PERSIST")


def _use_journal(connection: sqlite3.Connection, mode: str) -> None:
    """Set the journal mode of the database to `mode`; SQLite stores the mode in the file.

    While another connection switches the mode, or has the database open in another mode, SQLite reports it as
    busy, whatever the timeout; the mode is then left as it is.
    """
    try:
        connection.execute(f"PRAGMA journal_mode = {mode}")
    except sqlite3.OperationalError as error:
        if not is_busy(error):
            raise


def is_damaged(error: sqlite3.Error) -> bool:
    """Return whether the error means that the file is not a database or is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


def set_aside(database: Path) -> Path:
    """Rename a damaged database and the files that belong to it; return the new path of the database.

    The other files are its journal and write-ahead log, which would damage a new database of the same name.
    Raises `Unavailable`.
    """
    aside = database.with_name(f"{database.name}.damaged-{time.time_ns() // 1_000_000}")
    try:
        for suffix in ("-journal", "-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                Path(f"{database}{suffix}").replace(f"{aside}{suffix}")
    except OSError as error:
        raise user_error_from_os(error, f"The damaged {database.name} could not be renamed.") from error
    return aside


def why(error: sqlite3.Error, cause: str, next_step: str, database: Path | None = None) -> tuple[str, str]:
    """Return the cause and the next step to show to a person for `error`, an error of SQLite.

    If the cause is one that a person can fix (a full disk, missing permissions), both texts describe it;
    otherwise they are the arguments `cause` and `next_step`. `database`: the file whose permissions are
    checked; None: no check.
    """
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
                f"{database.name} could not be opened for writing a moment ago, and now can be opened.",
                "Try again. If it happens again, check the disk.",
            )
    return cause, next_step


def _in_the_way(database: Path) -> UserError | None:
    """Return the error that keeps this process from writing `database` or changing entries of its folder.

    None if it can do both.
    """
    try:
        os.close(open_regular(database, os.O_RDWR))
    except FileNotFoundError:
        pass  # then the folder matters
    except OSError as error:
        return user_error_from_os(error, "")
    if os.access(database.parent, os.W_OK | os.X_OK) or not is_directory(database.parent):
        return None
    read_only = hasattr(os, "ST_RDONLY") and os.statvfs(database.parent).f_flag & os.ST_RDONLY
    return user_error_from_os(OSError(errno.EROFS if read_only else errno.EACCES, ""), "")


_FULL = ("The disk is full.", "Free up disk space, then try again.")
# The second means that the file that readers and writers share cannot grow.
_FULL_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether the error means that another connection is using the database."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


_PATH_BYTES = 1 << 16
_LARGEST = 4 << 30
_TRIES = 3

Row = Mapping[str, Any]


class Database:
    """One database of an agent, read through a copy of its current state; the original is never opened."""

    def __init__(self, path: Path, cache: Path, *, otherwise: str = "") -> None:
        """Store the path of the database and the directory `cache` for copies of it; nothing is read yet.

        `otherwise`: the end of the next step in the error for an unreadable database, such as what to read in
        its place.
        """
        self.path = path
        self._cache = cache
        self._otherwise = otherwise

    def rows(self, table: str, columns: Sequence[str], *, limit: int = 10_000) -> tuple[Row, ...]:
        """Return at most `limit` rows of `table`, as mappings; columns that do not exist are left out.

        Empty if the table does not exist or has none of `columns`. Raises `Unavailable`.
        """
        with self._opened() as connection:
            there = [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]
            names = [name for name in columns if name in there]
            if not names:
                return ()
            picked = ", ".join(map(_quoted, names))
            found = connection.execute(f"SELECT {picked} FROM {_quoted(table)} LIMIT ?", (limit,))
            return tuple(dict(zip(names, row, strict=True)) for row in found)

    def columns(self, table: str) -> frozenset[str]:
        """Return the column names of a table; empty for a missing table. Raises `Unavailable`."""
        with self._opened() as connection:
            return frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})"))

    def tables(self) -> frozenset[str]:
        """Return the names of the tables. Raises `Unavailable`."""
        with self._opened() as connection:
            return frozenset(
                row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        title = f"{self.path.name} could not be read."
        try:
            connection = sqlite3.connect(self._copy(), timeout=1)
        except sqlite3.Error as error:
            raise Unavailable(title, cause=f"The database cannot be opened: {error}.") from error
        try:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
        # Python decodes SQLite's message about a damaged name strictly.
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise Unavailable(
                title,
                cause=f"The database is damaged, or its version is unknown: {error}.",
                next_step=f"Start the agent, which may repair the database{self._otherwise}.",
            ) from error
        finally:
            connection.close()

    def _copy(self) -> Path:
        """Return the path of a copy of the database that is at least as new as the database was at the call.

        Raises `UserError`.
        """
        for _try in range(_TRIES):
            before = stamp(self.path)
            if before is None:
                raise Unavailable(
                    f"{self.path.name} could not be read.", cause="The database no longer exists."
                )
            if before[0][1] > _LARGEST:
                raise Unavailable(
                    f"{self.path.name} could not be read.", cause="It exceeds Reverie's limit of 4 GiB."
                )
            name = hashlib.sha256(f"{self.path}\0{before}".encode()).hexdigest()[:32]
            place = self._cache / name
            if (place / "db.sqlite").exists():
                return place / "db.sqlite"
            try:
                self._copy_to(place)
            except OSError as error:
                raise user_error_from_os(
                    error, f"{self.path.name} could not be copied for reading."
                ) from error
            if stamp(self.path) == before:
                self._delete_other_copies(place)
                return place / "db.sqlite"
            shutil.rmtree(place, ignore_errors=True)
        raise Unavailable(
            f"{self.path.name} could not be read.",
            cause="The agent keeps changing the database.",
            next_step="Reverie will try again at the next refresh.",
        )

    def _copy_to(self, place: Path) -> None:
        self._cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = Path(tempfile.mkdtemp(prefix=".new-", dir=self._cache))
        try:
            _copy_file(self.path, made / "db.sqlite")
            wal = self.path.with_name(self.path.name + "-wal")
            with contextlib.suppress(FileNotFoundError):
                _copy_file(wal, made / "db.sqlite-wal")
            (made / "of").write_bytes(os.fsencode(self.path))
            with contextlib.suppress(OSError):  # another thread made the same one
                made.rename(place)
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def _delete_other_copies(self, kept: Path) -> None:
        """Delete all copies of this database except `kept`."""
        with contextlib.suppress(OSError):
            for place in self._cache.iterdir():
                if place == kept or place.name.startswith("."):
                    continue
                with contextlib.suppress(OSError):
                    if read_regular(place / "of", _PATH_BYTES) == os.fsencode(self.path):
                        shutil.rmtree(place, ignore_errors=True)


def stamp(path: Path) -> tuple[tuple[int, int, int], tuple[int, int, int] | None] | None:
    """Return a value that changes when the database at `path` changes; None if there is no such file.

    The value is a pair: (mtime in ns, size, inode) of the file, and the same of its write-ahead log (None if
    there is no log).
    """

    def of(each: Path) -> tuple[int, int, int] | None:
        try:
            status = each.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino

    main = of(path)
    return None if main is None else (main, of(path.with_name(path.name + "-wal")))


def _copy_file(source: Path, target: Path) -> None:
    with os.fdopen(open_regular(source, os.O_RDONLY), "rb") as read, target.open("xb") as write:
        shutil.copyfileobj(read, write, 1 << 20)
    target.chmod(0o600)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
