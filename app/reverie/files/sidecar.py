"""The one way to read and change a JSON sidecar, an agent's or our own.

Reading is tolerant and never guesses: "missing" and "unreadable" are told apart, and a file that cannot be
reached now raises Unavailable, so it is never taken for empty. Every change is a read-modify-write of the raw
object, so fields nobody here knows and the order of keys survive.

Who enforces what: between Reverie's processes and threads the lock (`files.lock`), so no update is lost;
against agents, who take no lock, the compare-and-swap of `files.atomic`: when the bytes on disk are no longer
those that were read, the change is made again on what is there now. An unreadable file is kept beside its
successor as `<name>.unreadable-<UTC ms>` before the first write, never healed into emptiness.

Callable from any thread; blocks on disk and lock, so never from the GUI thread.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from reverie.clock import Clock
from reverie.errors import Conflict, mendable_from_os
from reverie.files.atomic import ATTEMPTS, create_file, replace_file
from reverie.files.directory import Directory, SwappedError
from reverie.files.jsjson import parse_object, stringify
from reverie.files.lock import file_lock
from reverie.files.real_path import real_path

Change = Callable[[dict[str, Any]], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class SidecarRead:
    """What a sidecar holds. `data` is the caller's own and empty unless `state` is "ok"; `sha256` (hex, of
    the bytes)
    is None for a missing file; `problem` says in words why a file is unreadable."""

    data: dict[str, Any]
    sha256: str | None
    state: Literal["missing", "ok", "unreadable"]
    problem: str = ""


class Sidecar:
    """One JSON file. A symlink at `path` is written through to the file it points to.

    `require` is called before each change and may raise to refuse it. `ending`: bytes that this class writes
    behind the object and that no other program does; see `is_ours`.
    """

    def __init__(
        self,
        path: Path,
        *,
        lock_dir: Path,
        clock: Clock,
        require: Callable[[], None] = lambda: None,
        ending: bytes = b"",
    ) -> None:
        self.path = path
        self._require = require
        self._ending = ending
        self._lock_dir = lock_dir
        self._clock = clock
        # What we wrote last: bytes of our own spelling that differ from it differ in what they say.
        self._own: bytes | None = None

    def read(self) -> SidecarRead:
        """Takes no lock: every writer replaces the file whole. Raises Unavailable."""
        return _parse(self._bytes(), self.path)

    def is_ours(self) -> bool:
        """Whether the bytes on disk now were written by this class, in whatever process, with an `ending`."""
        return bool(self._ending) and (self._bytes() or b"").endswith(self._ending)

    def update(self, change: Change) -> dict[str, Any]:
        """Replace the object by what `change` makes of it; returns the object as it is on disk afterwards.

        `change` gets an object of its own to edit and returns the new one; None, or one that says the same,
        writes nothing. It may be called more than once and must not have effects elsewhere; what it raises
        passes through. Raises Busy (lock), Conflict (another program keeps replacing the file) and
        Unavailable; the directory must exist, because a home that is gone must not be made anew.
        """
        self._require()
        with file_lock(self._lock_dir, self.path):
            for _ in range(ATTEMPTS):
                try:
                    return self._change_once(change)
                except (_OvertakenError, SwappedError):
                    continue
        raise Conflict(
            f"“{self.path.name}” could not be written.",
            cause="Another program keeps changing it.",
            next_step="Wait until that program is done, then try again.",
        )

    def _change_once(self, change: Change) -> dict[str, Any]:
        raw = self._bytes()
        seen = _parse(raw, self.path)
        changed = change(seen.data)
        if changed is None:
            return _parse(raw, self.path).data  # anew, because `change` may have edited what it was given
        text = stringify(changed)
        written = text + self._ending
        own = raw is not None and raw == self._own
        if written == raw or (not own and _says_same(text, changed, _parse(raw, self.path).data)):
            return changed
        self._write(raw, written, keep_aside=seen.state == "unreadable")
        return changed

    def _write(self, raw: bytes | None, written: bytes, *, keep_aside: bool) -> None:
        def check(current: bytes | None) -> None:
            if current != raw:
                raise _OvertakenError

        try:
            real = self._real_path()
            with Directory.open(real.parent) as directory:
                if keep_aside and raw is not None:
                    self._keep_aside(directory, real.name, raw)
                replace_file(directory, real.name, written, check=check)
                self._own = written
        except OSError as error:
            raise mendable_from_os(error, f"“{self.path.name}” could not be written.") from error

    def _keep_aside(self, directory: Directory, name: str, raw: bytes) -> None:
        """A copy first and the replace after it, so that at no instant neither of the two is there."""
        try:
            mode = stat.S_IMODE(directory.lstat(name).st_mode)
        except FileNotFoundError:
            raise _OvertakenError from None
        stamp = f"{name}.unreadable-{self._clock()}"
        for number in range(1000):
            aside = f"{stamp}-{number}" if number else stamp
            try:
                create_file(directory, aside, raw, mode=mode)
            except FileExistsError:
                continue
            return
        raise FileExistsError(f"{stamp} and its successors exist")

    def _bytes(self) -> bytes | None:
        for _ in range(ATTEMPTS):
            real = self._real_path()
            try:
                with Directory.open(real.parent) as directory:
                    return directory.read(real.name)
            except FileNotFoundError:
                return None
            except SwappedError:
                continue
            except OSError as error:
                raise mendable_from_os(error, f"“{self.path.name}” could not be read.") from error
        raise mendable_from_os(
            OSError(f"{real} is a symbolic link in a circle"), f"“{self.path.name}” could not be read."
        )

    def _real_path(self) -> Path:
        return Path(real_path(self.path))


class _OvertakenError(Exception):
    """The bytes on disk are no longer those that were read."""


def _says_same(written: bytes, changed: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether an object says what it said; Python's == alone takes 1 for true and does not see order."""
    return changed == before and written == stringify(before)


def _parse(raw: bytes | None, path: Path) -> SidecarRead:
    if raw is None:
        return SidecarRead({}, None, "missing")
    digest = hashlib.sha256(raw).hexdigest()
    try:
        return SidecarRead(parse_object(raw), digest, "ok")
    except ValueError as error:
        return SidecarRead({}, digest, "unreadable", f"{path.name} cannot be read: {error}.")
