"""Files with many memories, presented to a run as folders with a file for each record.

Reading records takes no lock; `RecordFiles.swap` is the only way to write one: it takes the agent's own lock,
compares the record as it is at that moment, and replaces the whole file by compare-and-swap, because some
writers take no lock. So no concurrent change of the file is lost. A file that cannot be read whole has no
records.

Threading: blocking, any thread but the GUI's. Failure: `UserError`, nothing changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from reverie.agents.base import Home
from reverie.agents.capabilities import Records, RecordText
from reverie.agents.scopes import ScopeRoot
from reverie.errors import Conflict, StoreError
from reverie.files.locks import file_lock
from reverie.files.rooted import DirectoryEntry, RemovalCheck, RootedDirectory, Walk
from reverie.memory.paths import utf16_key
from reverie.memory.scope_files import ScopeFiles, sha256_of_bytes
from reverie.values import replace

_ATTEMPTS = 20


def run_files(
    home: Home,
    root: ScopeRoot,
    *,
    lock_dir: Path | None = None,
    wrote: Callable[[str, str | None], None] = lambda _rel, _sha256: None,
    nothing_else: bool = False,
) -> ScopeFiles:
    """Return the files of a root in the form in which runs of this home see them.

    `lock_dir`: the directory of Reverie's own locks; None: records can only be read. `wrote` is called with a
    file of records just before it changes. `nothing_else`: only records are visible, in a home that has them.
    """
    base = RootedDirectory(root.directory, without=root.without, private=root.private)
    records = home.records
    if records is None:
        return base
    return RecordFiles(base, records, lock_dir=lock_dir, wrote=wrote, nothing_else=nothing_else)


class RecordFiles:
    """A view in which each record is a file, for runs only. Implements `ScopeFiles`."""

    def __init__(
        self,
        base: RootedDirectory,
        records: Records,
        *,
        lock_dir: Path | None,
        wrote: Callable[[str, str | None], None],
        nothing_else: bool,
    ) -> None:
        self._base = base
        self._nothing_else = nothing_else
        self._records = records
        self._lock_dir = lock_dir
        self._wrote = wrote
        self._known: dict[str, tuple[DirectoryEntry, dict[str, RecordText]]] = {}

    def holder(self, rel: str) -> str:
        """Return the real file that holds the record `rel`; empty if `rel` is no record."""
        return self._records.holder(rel)

    def place(self, rel: str) -> int | None:
        """Return the position of the record in its file now; None if it is missing."""
        found = self._record(rel)
        return None if found is None else found.place

    def said(self, rel: str) -> str:
        """Return the subject of the record `rel`; empty if there is no such record."""
        found = self._record(rel)
        return "" if found is None else found.said

    def stays(self, rel: str) -> bool:
        """Return whether the record `rel` must not be deleted now."""
        found = self._record(rel)
        return found is not None and found.stays

    def check(self, rel: str, before: bytes | None, after: bytes) -> None:
        """Raise `StoreError` if a run may not change a record from `before` to `after`."""
        if not self.holder(rel):
            return
        if before is None:
            raise StoreError(
                f"{rel} is not made:",
                cause="The agent alone makes records.",
                next_step="Change one there is.",
            )
        name = rel.rpartition("/")[2]
        self._records.check(name, before.decode("utf-8", "replace"), after.decode("utf-8", "replace"))

    def entry(self, rel: str) -> DirectoryEntry | None:
        if holder := self.holder(rel):
            found, real = self._record(rel), self._base.entry(holder)
            return None if found is None or real is None else _file(rel, found, real)
        entry = self._base.entry(rel)
        if entry is not None and self._records.is_holder(rel):
            return _folder(entry)
        if self._nothing_else and rel and not any(each.rel == rel for each in self.walk().entries):
            return None
        return entry

    def listed(self, rel: str) -> str:
        return rel if self.holder(rel) else self._base.listed(rel)

    def read(self, rel: str, *, limit: int | None = None) -> bytes:
        if not self.holder(rel):
            if self._nothing_else:
                raise StoreError(f"There is no memory {rel}.", reason="missing")
            return self._base.read(rel, limit=limit)
        found = self._record(rel)
        if found is None:
            raise StoreError(f"There is no memory {rel}.", reason="missing")
        return found.text.encode("utf-8", "surrogatepass")[:limit]

    def walk(self, *, files_limit: int | None = None) -> Walk:
        walk = self._base.walk()
        entries: list[DirectoryEntry] = []
        holders = [entry.rel for entry in walk.entries if self._records.is_holder(entry.rel)]
        for entry in walk.entries:
            if entry.kind != "file" or entry.rel not in holders:
                if not self._nothing_else or any(each.startswith(f"{entry.rel}/") for each in holders):
                    entries.append(entry)
                continue
            entries.append(_folder(entry))
            entries += (
                _file(f"{entry.rel}/{name}", found, entry) for name, found in self._all(entry.rel).items()
            )
        entries.sort(key=lambda entry: utf16_key(entry.rel))
        files = [number for number, entry in enumerate(entries) if entry.kind == "file"]
        if files_limit is not None and len(files) >= files_limit:
            entries = entries[: files[files_limit - 1] + 1] if files_limit else []
        return Walk(entries, walk.problems)

    def write(
        self,
        rel: str,
        data: bytes,
        *,
        create_only: bool = False,
        mode: int | None = None,
        before_replace: Callable[[bytes | None], None] | None = None,
    ) -> None:
        self._base.write(rel, data, create_only=create_only, mode=mode, before_replace=before_replace)

    def remove(self, rel: str, *, check: RemovalCheck | None = None) -> None:
        self._base.remove(rel, check=check)

    def rename(self, rel: str, new_rel: str) -> None:
        self._base.rename(rel, new_rel)

    def swap(
        self,
        rel: str,
        data: bytes | None,
        compare: Callable[[bytes | None], None],
        *,
        place: int | None = None,
    ) -> None:
        """Replace the record `rel` by `data`, unless `compare`, which gets the current record, raises.

        `data` None removes the record; a new record is inserted at position `place`.
        """
        holder, name = self.holder(rel), rel.rpartition("/")[2]
        text = None if data is None else data.decode("utf-8", "surrogatepass")
        with self._locked(holder):
            for _attempt in range(_ATTEMPTS):
                before = self._base.read(holder)
                found = self._records.one(before, name)
                compare(None if found is None else found.text.encode("utf-8", "surrogatepass"))
                with contextlib.suppress(_RecordOvertaken):
                    self._replace(holder, before, self._records.folded(before, name, text, place))
                    return
        raise Conflict(f"{holder} was not written:", cause="another program keeps writing it.")

    def _replace(self, holder: str, before: bytes, after: bytes) -> None:
        def unchanged(current: bytes | None) -> None:
            if current != before:
                raise _RecordOvertaken
            self._wrote(holder, sha256_of_bytes(after))

        if after != before:
            self._base.write(holder, after, before_replace=unchanged)

    @contextlib.contextmanager
    def _locked(self, holder: str) -> Iterator[None]:
        assert self._lock_dir is not None  # a view that is only read
        path = self._base.root / holder
        if self._base.entry(holder) is None:
            raise StoreError(f"{holder} is not there any more.", reason="missing")
        with file_lock(self._lock_dir, path), self._records.lock(path):
            yield

    def _record(self, rel: str) -> RecordText | None:
        holder = self.holder(rel)
        return self._all(holder).get(rel.rpartition("/")[2]) if holder else None

    def _all(self, holder: str) -> dict[str, RecordText]:
        """Return the records of the file `holder` by name, read again if the file has changed."""
        entry = self._base.entry(holder)
        if entry is None or entry.kind != "file":
            return {}
        known = self._known.get(holder)
        if known is None or known[0] != entry:
            try:
                found = self._records.split(self._base.read(holder))
            except StoreError:
                found = ()
            known = self._known[holder] = (entry, {each.name: each for each in found})
        return known[1]


class _RecordOvertaken(Exception):
    """Raised if a writer without a lock changed the file in between."""


def _file(rel: str, record: RecordText, holder: DirectoryEntry) -> DirectoryEntry:
    return replace(holder, rel=rel, kind="file", size=len(record.text.encode("utf-8", "surrogatepass")))


def _folder(entry: DirectoryEntry) -> DirectoryEntry:
    return replace(entry, kind="directory", size=0)
