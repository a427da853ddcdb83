"""The files of one scope root, as the store sees them: on disk, or as a copy-on-write overlay over the disk.

`ScopeFiles` is the interface that the store needs. `files.rooted.RootedDirectory` implements it for the disk;
`OverlayFiles` lets a run work on a copy, so that preview, dry run and the real run are one code path
(design.md section 4).

Invariants: an overlay never writes to its base; what it read from the base is remembered, so that the
transaction can compare-and-swap against exactly what the run saw; and it refuses what the disk would refuse
(a file below a file, a name that is too long) or a person forbids (a write-protected file), so that a run
learns of it while it can still choose another way. Not thread-safe: one run, one overlay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from reverie.agents.scopes import COMPANIONS, ScopeRoot
from reverie.errors import Conflict, StoreError
from reverie.files.atomic import refuse_write_protected
from reverie.files.rooted import DirectoryEntry, RemovalCheck, Walk
from reverie.memory.paths import memory_path, utf16_key
from reverie.values import Struct

# What the usual file systems allow; the one below may allow less, which the transaction then finds.
_NAME_BYTES = 255


class ScopeFiles(Protocol):
    """Files below one root; `rel` is `/`-separated, `""` is the root. Raises the `UserError` family
    only."""

    def entry(self, rel: str) -> DirectoryEntry | None:
        """The file or folder at `rel`; None if there is none."""

    def listed(self, rel: str) -> str:
        """`rel` as the directories spell it, where the file system does not tell upper from lower case."""

    def read(self, rel: str, *, limit: int | None = None) -> bytes:
        """The bytes of a file, at most `limit` of them."""

    def write(
        self,
        rel: str,
        data: bytes,
        *,
        create_only: bool = False,
        mode: int | None = None,
        before_replace: Callable[[bytes | None], None] | None = None,
    ) -> None:
        """Write a whole file, and the folders above it. `create_only`: raise `Conflict` if the path exists.
        `before_replace` gets the current bytes at the last moment (None: no file), and raises to refuse.
        `mode`: permission bits; None keeps them."""

    def remove(self, rel: str, *, check: RemovalCheck | None = None) -> None:
        """Remove a file, or a folder with all that is in it. `check` gets what was taken, before it is
        deleted, and raises to give it back."""

    def rename(self, rel: str, new_rel: str) -> None:
        """Move a file or folder; raises `Conflict` if the new path exists."""

    def walk(self, *, files_limit: int | None = None) -> Walk:
        """Every entry below the root in the agent's order of names; with `files_limit` up to the last of so
        many files."""


class FileChange(Struct, frozen=True):
    """One change of a file, made by an overlay, a job or a person. Carried out only where the file still is
    as in `before`."""

    root: ScopeRoot
    rel: str
    """Path below the root's directory."""
    before: bytes | None
    """None: there is no file."""
    after: bytes | None
    """None: it is deleted."""
    mode: int | None = None
    """Permission bits of a file that is created; None: as usual, or as they are."""
    place: int | None = None
    """For a record that comes back: its position in the file that holds it."""

    @property
    def path(self) -> str:
        """As people see it: a memory path; a companion has none and is called by its path in the home."""
        is_companion = self.root.key == COMPANIONS
        return self.rel if is_companion else str(memory_path(self.root.scope, self.rel))

    @property
    def command(self) -> Literal["create", "delete", "str_replace"]:
        """The command that a run's record lists it under."""
        if self.after is None:
            return "delete"
        return "create" if self.before is None else "str_replace"


class Savepoint(Struct, frozen=True):
    """The state of an overlay at one moment."""

    written: Mapping[str, bytes | None]
    removed_directories: frozenset[str]


class OverlayFiles:
    """A copy-on-write view of `base`. Writes stay in memory; `changes()` says what they amount to."""

    def __init__(
        self,
        base: ScopeFiles,
        check: Callable[[str, bytes | None, bytes], None] = lambda _rel, _before, _after: None,
    ) -> None:
        """`check` may raise to refuse what a file (None: there is none) would become."""
        self._base = base
        self._check = check
        self._seen: dict[str, bytes | None] = {}
        self._written: dict[str, bytes | None] = {}
        self._modes: dict[str, int] = {}
        self._removed_directories: set[str] = set()

    def entry(self, rel: str) -> DirectoryEntry | None:
        """As `ScopeFiles.entry`. A file that was written here has no time and no inode."""
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
        """As `ScopeFiles.listed`; what was written here is spelled as it was written."""
        return rel if rel in self._written else self._base.listed(rel)

    def read(self, rel: str, *, limit: int | None = None) -> bytes:
        """As `ScopeFiles.read`; what is read is remembered."""
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
        """As `ScopeFiles.write`, in memory."""
        self._refuse_impossible(rel)
        if create_only and self.entry(rel) is not None:
            raise Conflict(f"{rel} exists already.")
        current = self._current(rel)
        self._refuse_protected(rel, "written")
        self._check(rel, current, data)
        if before_replace is not None:
            before_replace(current)
        self._written[rel] = data
        if mode is not None:
            self._modes[rel] = mode

    def remove(self, rel: str, *, check: RemovalCheck | None = None) -> None:
        """As `ScopeFiles.remove`, in memory. No check for other writers: the transaction does that."""
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
        """As `ScopeFiles.rename`, in memory; permissions go along."""
        entry = self.entry(rel)
        if entry is None:
            raise StoreError(f"There is no memory {rel}.", reason="missing")
        if self.entry(new_rel) is not None:
            raise Conflict(f"{new_rel} exists already.")
        if _is_below(new_rel, rel):
            raise StoreError(f"{rel} cannot be moved into itself.", next_step="Choose another place.")
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
            self._check(new, self._current(new), data or b"")
            if mode is not None:
                self._modes[new] = mode
            self._written[old] = None
            self._written[new] = data
        if entry.kind != "file":
            self._removed_directories.add(rel)

    def walk(self, *, files_limit: int | None = None) -> Walk:
        """As `ScopeFiles.walk`, of the base with what was changed here."""
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
        """What differs from the base as this overlay first saw it, in path order; `root` is the base's.

        A renamed file keeps its mode, unless it replaces another file."""
        found = []
        for rel, after in sorted(self._written.items(), key=lambda item: utf16_key(item[0])):
            before = self._seen.get(rel)
            if before != after:
                mode = self._modes.get(rel) if before is None else None
                found.append(FileChange(root, rel, before, after, mode))
        return tuple(found)

    def removed_directories(self) -> tuple[str, ...]:
        """Directories that should vanish once they are empty, deepest first."""
        gone = set(self._removed_directories)
        if gone:
            gone |= {
                entry.rel
                for entry in self._base.walk().entries
                if entry.kind == "directory" and self._is_removed(entry.rel)
            }
        return tuple(sorted(gone, key=lambda rel: (-rel.count("/"), rel)))

    def savepoint(self) -> Savepoint:
        """A state to go back to with `rollback`."""
        return Savepoint(dict(self._written), frozenset(self._removed_directories))

    def rollback(self, savepoint: Savepoint) -> None:
        """Forget what was written and removed after the savepoint."""
        self._written = dict(savepoint.written)
        self._removed_directories = set(savepoint.removed_directories)

    def _current(self, rel: str) -> bytes | None:
        """The bytes of a file now; reading them from the base pins what the transaction will compare
        against."""
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
        """Refuse a change of a write-protected file (see `files.atomic`)."""
        if rel not in self._written and not self._is_removed(rel):
            entry = self._base.entry(rel)
            if entry is not None and entry.kind == "file":
                refuse_write_protected(rel, entry.mode, done)

    def _mode(self, rel: str) -> int | None:
        """The permissions that go along with a file; None for one that came into being here."""
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
        """An upper bound of the base's files that this view hides."""
        if self._removed_directories:
            return len(self._base.walk().entries)
        return sum(data is None for data in self._written.values())

    def _refuse_impossible(self, rel: str) -> None:
        *above, name = rel.split("/")
        if any(len(part.encode("utf-8", "surrogatepass")) > _NAME_BYTES for part in (*above, name)):
            raise StoreError(f"The name of {rel[:80]}… is too long.", next_step="Choose a shorter name.")
        for depth in range(len(above), 0, -1):
            parent = self.entry("/".join(above[:depth]))
            if parent is None:
                continue
            if parent.kind != "directory":
                raise StoreError(
                    f"{rel} cannot be written:",
                    cause=f"{parent.rel} is a file, where a folder is needed.",
                    next_step="Choose another name.",
                    reason="directory",
                )
            return  # and so is everything above it

    def _is_removed(self, rel: str) -> bool:
        return any(rel == directory or _is_below(rel, directory) for directory in self._removed_directories)


def _cut(entries: list[DirectoryEntry], files_limit: int | None) -> list[DirectoryEntry]:
    """The entries up to the last of `files_limit` files."""
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
