"""An agent's SQLite database, looked at through a copy.

Opening one in place, even read-only, leaves files beside it, and ignoring its write-ahead log misses what is
newest: so the file and its `-wal` are copied to Reverie's cache and the copy is opened, again whenever one of
them changed. Columns are asked for by name, since they differ between versions.

Threading: any thread but the GUI's; copies are made under names of their own and put in place at once.
Failure: `Unavailable` with a sentence.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.errors import Unavailable, user_error_from_os
from reverie.files.paths import open_regular, read_regular

_PATH_BYTES = 1 << 16
_LARGEST = 4 << 30
_TRIES = 3

Row = Mapping[str, Any]


class Database:
    """One database of an agent, as it is now."""

    def __init__(self, path: Path, cache: Path, *, otherwise: str = "") -> None:
        """`otherwise`: what is read all the same where the database cannot be, as a sentence's end."""
        self.path = path
        self._cache = cache
        self._otherwise = otherwise

    def rows(self, table: str, columns: Sequence[str], *, limit: int = 10_000) -> tuple[Row, ...]:
        """Rows of a table with those of `columns` that it has; a missing table has none. Raises
        `Unavailable`."""
        with self._opened() as connection:
            there = [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]
            names = [name for name in columns if name in there]
            if not names:
                return ()
            picked = ", ".join(map(_quoted, names))
            found = connection.execute(f"SELECT {picked} FROM {_quoted(table)} LIMIT ?", (limit,))
            return tuple(dict(zip(names, row, strict=True)) for row in found)

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; none of a missing one. Raises `Unavailable`."""
        with self._opened() as connection:
            return frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})"))

    def tables(self) -> frozenset[str]:
        """The tables there are. Raises `Unavailable`."""
        with self._opened() as connection:
            return frozenset(
                row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        title = f"{self.path.name} was not read."
        try:
            connection = sqlite3.connect(self._copy(), timeout=1)
        except sqlite3.Error as error:
            raise Unavailable(title, cause=f"It cannot be opened: {error}.") from error
        try:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
        except sqlite3.Error as error:
            raise Unavailable(
                title,
                cause=f"It is damaged, or of a version that is not known: {error}.",
                next_step=f"Let the agent repair it{self._otherwise}.",
            ) from error
        finally:
            connection.close()

    def _copy(self) -> Path:
        """A copy that is not older than the original was when this was called."""
        for _try in range(_TRIES):
            before = stamp(self.path)
            if before is None:
                raise Unavailable(f"{self.path.name} was not read.", cause="It is not there any more.")
            if before[0][1] > _LARGEST:
                raise Unavailable(f"{self.path.name} was not read.", cause="It is larger than 4 GiB.")
            name = hashlib.sha256(f"{self.path}\0{before}".encode()).hexdigest()[:32]
            place = self._cache / name
            if (place / "db.sqlite").exists():
                return place / "db.sqlite"
            try:
                self._copy_to(place)
            except OSError as error:
                raise user_error_from_os(error, f"{self.path.name} was not copied to be read.") from error
            if stamp(self.path) == before:
                self._forget_others(place)
                return place / "db.sqlite"
            shutil.rmtree(place, ignore_errors=True)
        raise Unavailable(
            f"{self.path.name} was not read.",
            cause="The agent is writing it all the time.",
            next_step="It is tried again at the next refresh.",
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

    def _forget_others(self, kept: Path) -> None:
        """Older copies of this database."""
        with contextlib.suppress(OSError):
            for place in self._cache.iterdir():
                if place == kept or place.name.startswith("."):
                    continue
                with contextlib.suppress(OSError):
                    if read_regular(place / "of", _PATH_BYTES) == os.fsencode(self.path):
                        shutil.rmtree(place, ignore_errors=True)


def stamp(path: Path) -> tuple[tuple[int, int, int], tuple[int, int, int] | None] | None:
    """What changes when a database changes; None where it is not there."""

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
