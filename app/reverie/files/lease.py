"""Leases: the exclusive right to do a job, across processes, without ever blocking others for good.

One row per name in an SQLite database of Reverie's own state directory (0700). A lease is held by one `Lease`
object: a second `acquire` is refused, in the same process too. A lease ends in three ways: `release`, the
death of its process (noticed at once by the next `acquire`, from process id, start and boot), or expiry, when
a living owner has stopped renewing it (suspended, stuck). A heartbeat thread renews it three times per
period. If another owner acquired the lease meanwhile, `lost` is set, and the former owner must stop before
its next write.

The database is not synced: no lease outlives a boot, so none has to survive a power failure. The next
`acquire` renames a damaged database; `lost` is then set for every lease that is still held in it.

Leases use real time, not the `--now` clock. People and agents never wait for a lease, because every write is
compare-and-swap anyway; a lease only keeps two jobs from doing the same work.

Threading: any thread; every call opens its own connection. Failure: `LeaseHeld`, `Busy`, `Unavailable`; a
lease that cannot be released expires.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from reverie.errors import Busy, Unavailable, UserError
from reverie.files.directory import ensure_private, own_is_there
from reverie.files.locks import LeaseHolder, ProcessId, is_alive, is_ours, this_process
from reverie.files.sqlite import own_database, set_aside, use_kept_journal

_log = logging.getLogger("reverie.files")

_BUSY_TIMEOUT_S = 5.0
_TABLE = """
CREATE TABLE IF NOT EXISTS leases (
    name TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    pid INTEGER NOT NULL,
    started INTEGER NOT NULL,
    boot TEXT NOT NULL,
    purpose TEXT NOT NULL,
    acquired_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL
) WITHOUT ROWID
"""


class LeaseHeld(Busy):
    """Raised if a living owner holds the lease; `holder` describes the owner."""

    holder: LeaseHolder

    def __init__(self, holder: LeaseHolder) -> None:
        super().__init__(
            f"This is already being done: {holder.purpose}.",
            cause=f"Process {holder.owner.pid} is doing it.",
            next_step="Wait until it is done, or end that process, then try again.",
        )
        self.holder = holder


class Leases:
    """The leases (exclusive rights to do a job) of one profile, shared by all Reverie processes that use it.

    A profile is the set of Reverie's own directories for one user. Nothing is created on disk before the
    first `acquire`.
    """

    def __init__(self, database: Path, *, ttl_s: float = 30.0) -> None:
        """Store the path of the database, and the default lifetime of a lease.

        `ttl_s`: the lifetime in seconds, counted from the last renewal.
        """
        self._database = database
        self._ttl_s = ttl_s

    def acquire(self, name: str, *, purpose: str, ttl_s: float | None = None) -> Lease:
        """Acquire the lease `name` and return it; a thread renews it until it is released.

        `ttl_s`: its lifetime in seconds without a renewal (None: the default). `purpose`: what the lease is
        for, shown to others while it is held. Raises LeaseHeld, and Busy or Unavailable if the database
        cannot be used.
        """
        ttl_s = self._ttl_s if ttl_s is None else ttl_s
        ensure_private(self._database.parent)
        token = secrets.token_hex(16)
        try:
            self._insert(name, token, purpose, ttl_s)
        except _DamagedLeasesError:
            aside = set_aside(self._database)
            _log.warning("the list of running jobs was damaged and is set aside as %s", aside.name)
            self._insert(name, token, purpose, ttl_s)
        return Lease(self, name, token, ttl_s)

    def _insert(self, name: str, token: str, purpose: str, ttl_s: float) -> None:
        owner = this_process()
        with self._connected(create=True) as connection, _transaction(connection):
            connection.execute(_TABLE)
            now = _now_ms()
            holder = _living_holder(connection, name, now)
            if holder is not None:
                raise LeaseHeld(holder)
            expires = now + int(ttl_s * 1000)
            row = (name, token, owner.pid, owner.started, owner.boot, purpose, now, expires)
            connection.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def holder(self, name: str) -> LeaseHolder | None:
        """Return the holder of the lease `name`; None if it is free or expired, or its owner is dead.

        Creates nothing on disk. Raises Busy or Unavailable.
        """
        if not own_is_there(self._database):
            return None
        with self._connected(create=False) as connection:
            if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'leases'").fetchone() is None:
                return None
            return _living_holder(connection, name, _now_ms())

    def _extend(self, name: str, token: str, ttl_s: float) -> bool:
        with self._connected(create=False) as connection:
            changed = connection.execute(
                "UPDATE leases SET expires_at_ms = ? WHERE name = ? AND token = ?",
                (_now_ms() + int(ttl_s * 1000), name, token),
            ).rowcount
        return changed == 1

    def _free(self, name: str, token: str) -> None:
        with self._connected(create=False) as connection:
            connection.execute("DELETE FROM leases WHERE name = ? AND token = ?", (name, token))

    @contextlib.contextmanager
    def _connected(self, *, create: bool) -> Iterator[sqlite3.Connection]:
        with own_database(
            self._database,
            "The list of running jobs",
            "Check the disk. If the error persists, close Reverie and delete that file: it contains no "
            "memories.",
            create=create,
            timeout_s=_BUSY_TIMEOUT_S,
            damaged=_DamagedLeasesError,
        ) as connection:
            use_kept_journal(connection)
            connection.execute("PRAGMA synchronous = OFF")
            yield connection


class _DamagedLeasesError(Unavailable):
    """Raised if the database of leases is damaged, or if its file is not a database."""


class Lease:
    """A held lease (an exclusive right to do a job), returned by `Leases.acquire`.

    As a context manager it releases itself at the end of the block. `lost`: an event that is set once another
    owner has the lease, or the lease could not be renewed for its whole lifetime.
    """

    def __init__(self, leases: Leases, name: str, token: str, ttl_s: float) -> None:
        self.name = name
        self.lost = threading.Event()
        """Set once another owner has the lease, or the lease could not be renewed for its whole period."""
        self._leases = leases
        self._token = token
        self._ttl_s = ttl_s
        self._renewed = time.monotonic()
        self._released = threading.Event()
        self._heartbeat = threading.Thread(target=self._beat, name=f"lease {name}", daemon=True)
        self._heartbeat.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def renew(self) -> bool:
        """Extend the lease by its whole lifetime from now; return whether it is still held.

        If it is no longer held, the event `lost` is set. An expired lease that no other owner has acquired is
        renewed like any other. Raises Busy or Unavailable.
        """
        if self.lost.is_set() or self._released.is_set():
            return False
        if self._leases._extend(self.name, self._token, self._ttl_s):
            self._renewed = time.monotonic()
            return True
        if not self._released.is_set():
            self.lost.set()
        return False

    def release(self) -> None:
        """Release the lease; further calls do nothing. If that fails, the lease expires later."""
        if self._released.is_set():
            return
        self._released.set()
        if threading.current_thread() is not self._heartbeat:
            self._heartbeat.join()
        try:
            self._leases._free(self.name, self._token)
        except UserError as error:
            _given_up.add(self._token)
            _log.warning("lease %s could not be released and will expire: %s", self.name, error)

    def _beat(self) -> None:
        while not self._released.wait(self._ttl_s / 3):
            try:
                if not self.renew():
                    return
            except UserError as error:
                _log.info("lease %s could not be renewed: %s", self.name, error)
                if time.monotonic() - self._renewed >= self._ttl_s:
                    self.lost.set()
                    return


_given_up: set[str] = set()
"""The tokens of leases that this process released but could not delete, for example on a full disk."""


def _living_holder(connection: sqlite3.Connection, name: str, now_ms: int) -> LeaseHolder | None:
    row = connection.execute(
        "SELECT token, pid, started, boot, purpose, acquired_at_ms, expires_at_ms FROM leases WHERE name = ?",
        (name,),
    ).fetchone()
    if row is None or row[0] in _given_up:
        return None
    owner = ProcessId(*row[1:4])
    # In another container, for example, the same id is another process.
    here = owner.boot == this_process().boot
    holder = LeaseHolder(owner, row[4], row[5], row[6], ours=here and is_ours(owner.pid))
    return holder if now_ms < holder.expires_at_ms and is_alive(owner) else None


@contextlib.contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
