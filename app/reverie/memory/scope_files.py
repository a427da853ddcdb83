"""The files of one scope root, as the store and runs see them.

The files are on disk, or in a copy-on-write overlay over the disk. `ScopeFiles` is the interface that the
store needs. `files.rooted.RootedDirectory` implements it for the disk; `OverlayFiles` lets a run work on a
copy, so that preview, dry run and the real run are one code path (design.md section 4).

Invariants: an overlay never writes to its base; it remembers the content that it read there, so that the
transaction can compare-and-swap against exactly what the run saw; and it refuses changes that the disk would
refuse (a file below a file, a name that is too long) or that a person forbids (a write-protected file), so
that a run gets the error while it can still choose another way.

Threading: one run, one overlay. Failure: `UserError`, nothing changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, Protocol

from reverie.agents.scopes import COMPANIONS, ScopeRoot
from reverie.errors import Conflict, StoreError
from reverie.files.atomic import refuse_write_protected
from reverie.files.rooted import DirectoryEntry, RemovalCheck, Walk
from reverie.memory.paths import memory_path, utf16_key
from reverie.values import Struct

# The limit of the usual file systems; the real one may be lower, which the transaction then finds.
_NAME_BYTES = 255


def sha256_of_text(text: str) -> str:
    """Return the hex SHA-256 of `text` in UTF-8, as the agent's editor uses it (formats/mux.md section 6)."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sha256_of_bytes(data: bytes | None) -> str | None:
    """Return the hex SHA-256 of a file's bytes; None for None (no file)."""
    return None if data is None else hashlib.sha256(data).hexdigest()


class ScopeFiles(Protocol):
    """The interface to the files below one root, on disk or in an overlay (which keeps changes in memory).

    `rel` is `/`-separated, `""` is the root. Only `UserError`s are raised.
    """

    def entry(self, rel: str) -> DirectoryEntry | None:
        """Return the file or folder at `rel`; None if there is none."""

    def listed(self, rel: str) -> str:
        """Return `rel` spelled as the directories list its names, on a file system that ignores case.

        On any other file system, and from the first missing name on, `rel` is unchanged.
        """

    def read(self, rel: str, *, limit: int | None = None) -> bytes:
        """Return the bytes of a file, at most `limit` of them; None: all."""

    def write(
        self,
        rel: str,
        data: bytes,
        *,
        create_only: bool = False,
        mode: int | None = None,
        before_replace: Callable[[bytes | None], None] | None = None,
    ) -> None:
        """Write a whole file, and create the folders above it.

        `create_only`: raise `Conflict` if the path exists. `before_replace` gets the current bytes at the
        last moment (None: no file), and may raise to refuse the write. `mode`: permission bits; None keeps
        the bits of the existing file.
        """

    def remove(self, rel: str, *, check: RemovalCheck | None = None) -> None:
        """Remove a file, or a folder with everything in it.

        `check` gets the removed entries before they are deleted, and may raise to restore them; None: no
        check.
        """

    def rename(self, rel: str, new_rel: str) -> None:
        """Move the file or folder `rel` to `new_rel`.

        Raises `Conflict` if the new path exists.
        """

    def walk(self, *, files_limit: int | None = None) -> Walk:
        """Return every entry below the root in the agent's order of names.

        `files_limit`: the number of files after which the walk ends; None: no limit.
        """


class FileChange(Struct, frozen=True):
    """One change to a file, made by an overlay, a job or a person.

    It is applied only if the file's content is still `before`.
    """

    root: ScopeRoot
    rel: str
    """The path below the directory of `root`."""
    before: bytes | None
    """The content before the change; None: there was no file."""
    after: bytes | None
    """The content after the change; None: the file is deleted."""
    mode: int | None = None
    """The permission bits of a file that is created; None: the default, or unchanged."""

    @property
    def path(self) -> str:
        """The path as people see it: the memory path, or for a companion its path in the home.

        A companion is a file that an agent loads beside its memories.
        """
        is_companion = self.root.key == COMPANIONS
        return self.rel if is_companion else str(memory_path(self.root.scope, self.rel))

    @property
    def command(self) -> Literal["create", "delete", "str_replace"]:
        """The memory command under which a run's record lists this change."""
        if self.after is None:
            return "delete"
        return "create" if self.before is None else "str_replace"


def in_order(changes: Iterable[FileChange]) -> list[FileChange]:
    """Return changes of several files in the order in which they can be applied.

    Writes come before deletes, so that a reader in between finds a merged line twice rather than not at all.
    But if one path contains another (a file becomes a folder, or a folder a file), the delete comes first.
    """
    changes = list(changes)
    written = {(each.root.key, each.rel) for each in changes if each.after is not None}
    above_written = {(key, above) for key, rel in written for above in _folders_above(rel)}

    def turn(change: FileChange) -> int:
        key = change.root.key
        if change.after is not None:
            return 1
        is_in_the_way = (key, change.rel) in above_written or any(
            (key, above) in written for above in _folders_above(change.rel)
        )
        return 0 if is_in_the_way else 2

    return sorted(changes, key=turn)


def _folders_above(rel: str) -> Iterator[str]:
    """Yield every folder above `rel`, below its root."""
    while rel := rel.rpartition("/")[0]:
        yield rel


class Savepoint(Struct, frozen=True):
    """The state of an overlay (changes to files in memory only) at one moment, for `rollback`."""

    written: Mapping[str, bytes | None]
    """Path of each changed file -> its content; None: the file is deleted."""
    removed_directories: frozenset[str]
    """The paths of the directories that the overlay removed or moved away."""


class OverlayFiles:
    """A copy-on-write view of `base`, on which a run works without changing the disk.

    Writes are kept in memory; `changes` returns their net result, which a transaction writes to the disk.
    """

    def __init__(self, base: ScopeFiles) -> None:
        self._base = base
        self._seen: dict[str, bytes | None] = {}
        self._written: dict[str, bytes | None] = {}
        self._modes: dict[str, int] = {}
        self._removed_directories: set[str] = set()

    def entry(self, rel: str) -> DirectoryEntry | None:
        """Return an entry as `ScopeFiles.entry` does, None if there is none.

        A file of the overlay has no time and no inode.
        """
        if rel in self._written:
            data = self._written[rel]
            if data is not None:
                return DirectoryEntry(rel=rel, kind="file", size=len(data), mtime_ns=0, inode=0, mode=0o644)
        if any(data is not None and _is_below(other, rel) for other, data in self._written.items()):
            return _directory(rel)
        if rel in self._written or self._is_removed(rel):
            return None
        return self._base.entry(rel)

    def listed(self, rel: str) -> str:
        """Return a path as `ScopeFiles.listed` does; files of the overlay keep their paths as given."""
        return rel if rel in self._written else self._base.listed(rel)

    def read(self, rel: str, *, limit: int | None = None) -> bytes:
        """Return the bytes of a file, at most `limit` (None: all), as `ScopeFiles.read` does.

        Bytes that are read from `base` are remembered, so that the transaction can compare them.
        """
        if rel in self._written or self._is_removed(rel):
            data = self._written.get(rel)
            if data is None:
                raise StoreError(f"There is no memory {rel}.", reason="missing")
            return data if limit is None else data[:limit]
        return self._from_base(rel, limit)

    def write(
        self,
        rel: str,
        data: bytes,
        *,
        create_only: bool = False,
        mode: int | None = None,
        before_replace: Callable[[bytes | None], None] | None = None,
    ) -> None:
        """Write to the overlay, in memory; for the arguments see `ScopeFiles.write`."""
        self._refuse_impossible(rel)
        if create_only and self.entry(rel) is not None:
            raise Conflict(f"{rel} already exists.")
        current = self._current(rel)
        self._refuse_protected(rel, "written")
        if before_replace is not None:
            before_replace(current)
        self._written[rel] = data
        if mode is not None:
            self._modes[rel] = mode

    def remove(self, rel: str, *, check: RemovalCheck | None = None) -> None:
        """Remove the file or folder `rel` from the overlay, in memory.

        Does not check for other writers: the transaction does that.
        """
        entry = self.entry(rel)
        if entry is None:
            raise StoreError(f"There is no memory {rel}.", reason="missing")
        if entry.kind == "file":
            self._refuse_protected(rel, "deleted")
            self._current(rel)
            self._written[rel] = None
            return
        below = [each.rel for each in self.walk().entries if each.kind == "file" and _is_below(each.rel, rel)]
        for file in below:
            self._refuse_protected(file, "deleted")
        for file in below:
            self._current(file)
            self._written[file] = None
        self._removed_directories.add(rel)

    def rename(self, rel: str, new_rel: str) -> None:
        """Move `rel` to `new_rel` in the overlay, in memory; permissions are kept."""
        entry = self.entry(rel)
        if entry is None:
            raise StoreError(f"There is no memory {rel}.", reason="missing")
        if self.entry(new_rel) is not None:
            raise Conflict(f"{new_rel} already exists.")
        if _is_below(new_rel, rel):
            raise StoreError(f"{rel} cannot be moved into itself.", next_step="Choose another folder.")
        self._refuse_impossible(new_rel)
        if entry.kind == "file":
            moved = {rel: new_rel}
        else:
            files = [entry.rel for entry in self.walk().entries if entry.kind == "file"]
            moved = {file: new_rel + file[len(rel) :] for file in files if _is_below(file, rel)}
        for old in moved:
            self._refuse_protected(old, "renamed")
        for old, new in moved.items():
            data, mode = self._current(old), self._mode(old)
            self._current(new)
            if mode is not None:
                self._modes[new] = mode
            self._written[old] = None
            self._written[new] = data
        if entry.kind != "file":
            self._removed_directories.add(rel)

    def walk(self, *, files_limit: int | None = None) -> Walk:
        """Return every entry of the base with the changes of this overlay, as `ScopeFiles.walk` does."""
        base = self._base.walk(files_limit=None if files_limit is None else files_limit + self._hidden())
        entries = {
            entry.rel: entry
            for entry in base.entries
            if entry.rel not in self._written and not self._is_removed(entry.rel)
        }
        for rel, data in self._written.items():
            if data is None or any(part.startswith(".") for part in rel.split("/")):
                continue
            entries[rel] = DirectoryEntry(
                rel=rel, kind="file", size=len(data), mtime_ns=0, inode=0, mode=0o644
            )
            parts = rel.split("/")[:-1]
            for depth in range(1, len(parts) + 1):
                parent = "/".join(parts[:depth])
                entries.setdefault(parent, _directory(parent))
        found = sorted(entries.values(), key=lambda entry: utf16_key(entry.rel))
        return Walk(entries=_cut(found, files_limit), problems=base.problems)

    def changes(self, root: ScopeRoot) -> tuple[FileChange, ...]:
        """Return the differences from the base as this overlay first read it, in path order.

        `root`: the root of the base. A renamed file keeps its mode, unless it replaces another file.
        """
        found = []
        for rel, after in sorted(self._written.items(), key=lambda item: utf16_key(item[0])):
            before = self._seen.get(rel)
            if before != after:
                mode = self._modes.get(rel) if before is None else None
                found.append(FileChange(root, rel, before, after, mode))
        return tuple(found)

    def removed_directories(self) -> tuple[str, ...]:
        """Return the directories to delete after the run if they are empty then, deepest first.

        They are the directories that the overlay removed, and those above a file that it deleted.
        """
        gone = set(self._removed_directories)
        for rel, data in self._written.items():
            if data is None and self._seen.get(rel) is not None:
                parts = rel.split("/")[:-1]
                gone.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
        if self._removed_directories:
            gone |= {
                entry.rel
                for entry in self._base.walk().entries
                if entry.kind == "directory" and self._is_removed(entry.rel)
            }
        return tuple(sorted(gone, key=lambda rel: (-rel.count("/"), rel)))

    def savepoint(self) -> Savepoint:
        """Return the present state, to which `rollback` can go back."""
        return Savepoint(dict(self._written), frozenset(self._removed_directories))

    def rollback(self, savepoint: Savepoint) -> None:
        """Discard writes and removals after the savepoint."""
        self._written = dict(savepoint.written)
        self._removed_directories = set(savepoint.removed_directories)

    def _current(self, rel: str) -> bytes | None:
        """Return the current bytes of a file, None if there is none.

        Bytes that are read from `base` are remembered, for the transaction to compare.
        """
        if rel in self._written:
            return self._written[rel]
        if self._is_removed(rel):
            return None
        entry = self._base.entry(rel)
        if entry is None:
            self._seen.setdefault(rel, None)
            return None
        return self._from_base(rel, None)

    def _refuse_protected(self, rel: str, done: str) -> None:
        """Raise `StoreError` if the file has no write permission bit (see `files.atomic`).

        `done`: the participle of the refused operation, for the message, such as "written".
        """
        if rel not in self._written and not self._is_removed(rel):
            entry = self._base.entry(rel)
            if entry is not None and entry.kind == "file":
                refuse_write_protected(rel, entry.mode, done)

    def _mode(self, rel: str) -> int | None:
        """Return the permission bits that a write of a file keeps; None for a file created in the overlay."""
        if rel in self._modes or rel in self._written:
            return self._modes.get(rel)
        entry = self._base.entry(rel)
        return None if entry is None else entry.mode & 0o777

    def _from_base(self, rel: str, limit: int | None) -> bytes:
        if rel not in self._seen or self._seen[rel] is None:
            data = self._base.read(rel, limit=limit)
            if limit is not None and len(data) >= limit:
                return data
            self._seen[rel] = data
        data = self._seen[rel] or b""
        return data if limit is None else data[:limit]

    def _hidden(self) -> int:
        """Return an upper bound for the number of files in `base` that the overlay has deleted or moved."""
        if self._removed_directories:
            return len(self._base.walk().entries)
        return sum(data is None for data in self._written.values())

    def _refuse_impossible(self, rel: str) -> None:
        *above, name = rel.split("/")
        if any(len(part.encode("utf-8", "surrogatepass")) > _NAME_BYTES for part in (*above, name)):
            raise StoreError(f"The name “{rel[:80]}…” is too long.", next_step="Choose a shorter name.")
        for depth in range(len(above), 0, -1):
            parent = self.entry("/".join(above[:depth]))
            if parent is None:
                continue
            if parent.kind != "directory":
                raise StoreError(
                    f"{rel} cannot be written:",
                    cause=f"{parent.rel} is a file, but a folder is needed.",
                    next_step="Choose another name.",
                    reason="directory",
                )
            return  # everything above it is a folder, too

    def _is_removed(self, rel: str) -> bool:
        return any(rel == directory or _is_below(rel, directory) for directory in self._removed_directories)


def _cut(entries: list[DirectoryEntry], files_limit: int | None) -> list[DirectoryEntry]:
    """Return the entries up to file number `files_limit`, counted from 1; None: all entries."""
    files = 0
    for position, entry in enumerate(entries):
        files += entry.kind == "file"
        if files_limit is not None and files >= files_limit:
            return entries[: position + 1]
    return entries


def _is_below(rel: str, directory: str) -> bool:
    return not directory or rel.startswith(directory + "/")


def _directory(rel: str) -> DirectoryEntry:
    return DirectoryEntry(rel=rel, kind="directory", size=0, mtime_ns=0, inode=0, mode=0o755)
