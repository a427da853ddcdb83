"""The bare repository on disk: making it, opening it, its one branch, and setting a damaged one aside.

libgit2 is loaded here, on first use (listing a tree of memories must not need it), and told to forget the
user's git configuration, to leave ownership to the mode 0700 of the directory, and to fsync what it writes.

`DamagedError` is raised only for what is certainly not a passing trouble of the system: objects that are
missing or whose content does not match their id, a branch that is no branch, files that no repository lacks.
What may pass (no rights, too many open files, a device error) stays `OSError`.

Threading: as `memory.history`; whoever writes holds its commit lock.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from reverie.files.directory import ensure_private
from reverie.files.regular import open_regular, read_regular
from reverie.memory.history_commits import StoredCommit, decode_commit
from reverie.memory.history_objects import (
    TEMPORARY_PREFIX,
    TREE_MODE,
    Kind,
    TreeEntry,
    decode_tree,
    read_loose,
    sync_directory,
)

if TYPE_CHECKING:
    import pygit2

BRANCH = "refs/heads/main"
_HEAD = f"ref: {BRANCH}\n".encode()
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n"
_KINDS: dict[int, str] = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}


class DamagedError(Exception):
    """The repository cannot be trusted any more; the text says what was found, in half a sentence."""


class MissingVersionError(Exception):
    """A commit or file version that this repository does not have."""


@functools.cache
def libgit2() -> ModuleType:
    """pygit2, configured for this process."""
    import pygit2
    from pygit2.enums import ConfigLevel, Option

    pygit2.option(Option.ENABLE_FSYNC_GITDIR, True)
    pygit2.option(Option.SET_OWNER_VALIDATION, False)
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.option(Option.SET_SEARCH_PATH, level, "")
    return pygit2


class Repository:
    """An open repository. Cheap to open; one per operation, used by one thread."""

    def __init__(self, path: Path) -> None:
        """Open what lies at `path`. Raises DamagedError, OSError (FileNotFoundError: nothing lies there)."""
        self.path = path
        self.objects = path / "objects"
        git = libgit2()
        flags = git.enums.RepositoryOpenFlag
        # What libgit2 says of a directory it cannot read is no proof of damage: ask the system first.
        path.stat()
        for needed in ("objects", "refs", "HEAD"):
            try:
                (path / needed).stat()
            except FileNotFoundError as error:
                raise DamagedError(f"{needed} is missing") from error
        if read_regular(path / "HEAD") != _HEAD:
            raise DamagedError("HEAD does not name the branch")
        try:
            self._repository: pygit2.Repository = git.Repository(str(path), flags.NO_SEARCH | flags.BARE)
        except git.GitError as error:
            raise DamagedError(str(error)) from error
        self.odb: pygit2.Odb = self._repository.odb

    def tip(self) -> bytes | None:
        """The raw id of the newest commit; None before the first."""
        git = libgit2()
        _probe(self.path / BRANCH)
        try:
            reference = self._repository.references.get(BRANCH)
        except (git.GitError, ValueError) as error:
            raise DamagedError("the branch is unreadable") from error
        if reference is None:
            return None
        if not isinstance(reference.target, git.Oid):
            raise DamagedError("the branch does not point to a commit")
        return bytes(reference.target.raw)

    def move_tip(self, new: bytes, old: bytes | None) -> None:
        """Point the branch at `new`, durably; `old` is where it points now. Raises OSError."""
        target = libgit2().Oid(raw=new)
        # We hold the commit lock, so a lock of git's own is left from a killed process.
        self.path.joinpath(f"{BRANCH}.lock").unlink(missing_ok=True)
        try:
            if old is None:
                self._repository.references.create(BRANCH, target)
            else:
                self._repository.references[BRANCH].set_target(target)
        except libgit2().GitError as error:
            # The system's trouble (disk, rights), not damage.
            raise OSError(str(error)) from error

    def has(self, raw: bytes) -> bool:
        """Whether the object with this raw id is in the repository."""
        return bool(self.odb.exists(raw.hex()))

    def read(self, raw: bytes, kind: Kind) -> bytes:
        """The bytes of an object, checked against its id. Raises DamagedError if they cannot be had."""
        git = libgit2()
        found = self.loose(raw)
        if found is None:
            try:
                number, data = self.odb.read(raw.hex())
            except (KeyError, git.GitError, ValueError) as error:
                raise self._damage(raw, kind) from error
            found = _KINDS[number], data
        if found[0] != kind:
            raise DamagedError(f"the object {raw.hex()[:10]} is no {kind}")
        return found[1]

    def loose(self, raw: bytes) -> tuple[str, bytes] | None:
        """The object if it is stored loose. Raises DamagedError if it is not sound, OSError."""
        try:
            return read_loose(self.loose_path(raw), raw)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise DamagedError(f"the object {raw.hex()[:10]} is unreadable ({error})") from error

    def loose_path(self, raw: bytes) -> Path:
        """Where the object would lie by itself, unpacked."""
        name = raw.hex()
        return self.objects / name[:2] / name[2:]

    def tree(self, raw: bytes) -> Iterator[TreeEntry]:
        """The entries of a tree. Raises DamagedError."""
        try:
            yield from decode_tree(self.read(raw, "tree"))
        except ValueError as error:
            raise DamagedError(f"the tree {raw.hex()[:10]} is unreadable ({error})") from error

    def commit(self, raw: bytes) -> StoredCommit:
        """A commit. Raises DamagedError."""
        try:
            return decode_commit(raw, self.read(raw, "commit"))
        except ValueError as error:
            raise DamagedError(f"the commit {raw.hex()[:10]} is unreadable ({error})") from error

    def commit_named(self, commit_id: str) -> StoredCommit:
        """The commit with this hexadecimal id. Raises MissingVersionError, DamagedError."""
        try:
            raw = bytes.fromhex(commit_id)
        except ValueError as error:
            raise MissingVersionError(commit_id) from error
        if len(raw) != len(commit_id) // 2 or len(raw) != 20 or not self.has(raw):
            raise MissingVersionError(commit_id)
        return self.commit(raw)

    def entry(self, tree: bytes, names: tuple[bytes, ...]) -> TreeEntry | None:
        """What a path below a tree leads to; the tree itself for an empty path. Raises DamagedError."""
        found = TreeEntry(b"", TREE_MODE, tree)
        for name in names:
            if not found.is_tree:
                return None
            self.loose(found.id)  # libgit2 must not meet one that is cut short
            try:
                opened = self._repository[found.id.hex()]
            except (KeyError, ValueError, libgit2().GitError) as error:
                raise self._damage(found.id, "tree") from error
            if not isinstance(opened, libgit2().Tree):
                raise DamagedError(f"the object {found.id.hex()[:10]} is no tree")
            stored = name.decode()
            if stored not in opened:
                return None
            child = opened[stored]
            found = TreeEntry(name, int(child.filemode), bytes(child.id.raw))
        return found

    def verify_newest(self) -> None:
        """Raise DamagedError unless the newest version is all there (contents are looked for, not read)."""
        tip = self.tip()
        if tip is None:
            return
        stack = [self.commit(tip).tree]
        while stack:
            for entry in self.tree(stack.pop()):
                if entry.is_tree:
                    stack.append(entry.id)
                elif not self.has(entry.id):
                    raise self._damage(entry.id, "blob")

    def damages(self, tip: bytes) -> Iterator[DamagedError]:
        """Read everything that `tip` leads to, contents included; yields what cannot be had."""
        seen: set[bytes] = set()
        pending: list[tuple[Kind, bytes]] = [("commit", tip)]
        while pending:
            kind, raw = pending.pop()
            if raw in seen:
                continue
            seen.add(raw)
            try:
                if kind == "commit":
                    stored = self.commit(raw)
                    pending += [("commit", stored.parent)] if stored.parent else []
                    pending.append(("tree", stored.tree))
                elif kind == "tree":
                    pending += [("tree" if entry.is_tree else "blob", entry.id) for entry in self.tree(raw)]
                else:
                    self.read(raw, "blob")
            except DamagedError as damage:
                yield damage

    def _damage(self, raw: bytes, kind: Kind) -> DamagedError:
        """The error for an object that libgit2 cannot give us; OSError where the system is to blame."""
        packs = self.objects / "pack"
        for path in (self.loose_path(raw), *(packs.iterdir() if packs.exists() else ())):
            _probe(path)
        return DamagedError(f"the {kind} {raw.hex()[:10]} is missing")


def create(path: Path) -> None:
    """Make an empty repository at `path`, which must not exist; it appears in one step. Raises OSError."""
    ensure_private(path.parent)
    # named after the repository: histories of other homes beside it have locks of their own
    own = f"{TEMPORARY_PREFIX}{path.name}."
    sweep(path.parent, own)
    temp = path.with_name(f"{own}{secrets.token_hex(8)}")
    temp.mkdir(mode=0o700)
    made = [
        temp,
        *(temp / name for name in ("objects", "objects/info", "objects/pack", "refs", "refs/heads")),
    ]
    for directory in made[1:]:
        directory.mkdir()
    for name, content in (("HEAD", _HEAD), ("config", _CONFIG)):
        with (temp / name).open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    for directory in made:
        sync_directory(directory)
    temp.rename(path)
    sync_directory(path.parent)


def set_aside(path: Path, now_ms: int) -> Path:
    """Rename a damaged repository out of the way and return its new path. Raises OSError."""
    aside = path.with_name(f"{path.name}.damaged-{now_ms}")
    while aside.exists():
        now_ms += 1
        aside = path.with_name(f"{path.name}.damaged-{now_ms}")
    path.rename(aside)
    sync_directory(path.parent)
    return aside


def sweep(directory: Path, prefix: str = TEMPORARY_PREFIX) -> None:
    """Remove what killed processes left of ours in `directory`. Call with the commit lock held."""
    import shutil

    for leftover in directory.iterdir():
        if leftover.name.startswith(prefix):
            with contextlib.suppress(OSError):  # the next sweep will try again
                if leftover.is_dir():
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink()


def _probe(path: Path) -> None:
    """Raise OSError if the system refuses to read a file that is there."""
    with contextlib.suppress(FileNotFoundError), os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        file.read(1)
