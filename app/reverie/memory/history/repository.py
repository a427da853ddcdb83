"""The bare repository on disk: creating and opening it, its one branch, renaming a damaged one, packing.

libgit2 is configured (`history.objects`) to ignore the user's git configuration, to leave ownership to the
mode 0700 of the directory, and to sync what it writes.

`DamagedHistoryError` is raised only for damage that does not pass: objects that are missing or whose content
does not match their id, an invalid branch, files that every repository has. What may pass (no rights, too
many open files, a device error) stays `OSError`.

Threading: as `memory.history.history`; a writer holds its commit lock.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.files.atomic import checkpoint
from reverie.files.directory import ensure_private, open_regular, read_regular
from reverie.memory.history.objects import (
    TEMPORARY_PREFIX,
    TREE_MODE,
    StoredCommit,
    TreeEntry,
    git_errors_as_os,
    install_pack,
    libgit2,
    objects_in_memory,
    stored_commit,
    sweep,
    sync_directory,
    temporary_directory,
    write_pack,
)
from reverie.values import Struct

if TYPE_CHECKING:
    import pygit2


BRANCH = "refs/heads/main"
_HEAD = f"ref: {BRANCH}\n".encode()
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n"
_Kind = Literal["commit", "tree", "blob"]


class DamagedHistoryError(Exception):
    """The repository is damaged; the text says how, in half a sentence."""


class MissingVersionError(Exception):
    """A commit or file version that this repository does not have."""


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
                raise DamagedHistoryError(f"{needed} is missing") from error
        if read_regular(path / "HEAD") != _HEAD:
            raise DamagedHistoryError("HEAD does not name the branch")
        try:
            self.git: pygit2.Repository = git.Repository(str(path), flags.NO_SEARCH | flags.BARE)
        except git.GitError as error:
            raise DamagedHistoryError(str(error)) from error
        self.odb: pygit2.Odb = self.git.odb

    def tip(self) -> bytes | None:
        """The raw id of the newest commit; None before the first."""
        git = libgit2()
        _probe(self.path / BRANCH)
        try:
            reference = self.git.references.get(BRANCH)
        except (git.GitError, ValueError) as error:
            raise DamagedHistoryError("the branch is unreadable") from error
        if reference is None:
            return None
        if not isinstance(reference.target, git.Oid):
            raise DamagedHistoryError("the branch does not point to a commit")
        return bytes(reference.target.raw)

    def move_tip(self, new: bytes, old: bytes | None) -> None:
        """Point the branch at `new`, durably; `old` is where it points now. Raises OSError."""
        target = libgit2().Oid(raw=new)
        # We hold the commit lock, so a lock of git's own is left from a killed process.
        self.path.joinpath(f"{BRANCH}.lock").unlink(missing_ok=True)
        with git_errors_as_os(self.path):  # the system's trouble (disk, rights), not damage
            if old is None:
                self.git.references.create(BRANCH, target)
            else:
                self.git.references[BRANCH].set_target(target)

    def has(self, raw: bytes) -> bool:
        """Whether the object with this raw id is in the repository."""
        return bool(self.odb.exists(raw.hex()))

    def blob(self, raw: bytes) -> bytes:
        """The bytes of a blob, checked against its id. Raises DamagedError if they cannot be had, OSError."""
        return bytes(self._object(raw, "blob").data)

    def refuse_cut_short(self, raw: bytes) -> None:
        """Raise DamagedError if the object is loose and not all there; OSError if it cannot be read.

        libgit2 (1.9) never returns from reading a small loose object that was cut short.
        """
        try:
            zlib.decompress(read_regular(self.loose_path(raw)))
        except FileNotFoundError:
            pass
        except zlib.error as error:
            raise DamagedHistoryError(f"the object {raw.hex()[:10]} is unreadable ({error})") from error

    def loose_path(self, raw: bytes) -> Path:
        """The path of the object if it is loose."""
        name = raw.hex()
        return self.objects / name[:2] / name[2:]

    def tree(self, raw: bytes) -> Iterator[TreeEntry]:
        """The entries of a tree. Raises DamagedError."""
        for entry in self._object(raw, "tree"):
            yield TreeEntry(entry.raw_name, int(entry.filemode), bytes(entry.id.raw))

    def commit(self, raw: bytes) -> StoredCommit:
        """A commit. Raises DamagedError."""
        return stored_commit(self._object(raw, "commit"))

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
            opened = self._object(found.id, "tree")
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

    def damages(self, tip: bytes) -> Iterator[DamagedHistoryError]:
        """Read everything that `tip` leads to, contents included; yields what cannot be had."""
        seen: set[bytes] = set()
        pending: list[tuple[_Kind, bytes]] = [("commit", tip)]
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
                    self.blob(raw)
            except DamagedHistoryError as damage:
                yield damage

    def _object(self, raw: bytes, kind: _Kind) -> Any:
        """The object, of pygit2's class for this kind. Raises DamagedError, OSError."""
        git = libgit2()
        self.refuse_cut_short(raw)
        try:
            found = self.git[git.Oid(raw=raw)]
        except (KeyError, ValueError, git.GitError) as error:
            raise self._damage(raw, kind) from error
        if found.type_str != kind:
            raise DamagedHistoryError(f"the object {raw.hex()[:10]} is no {kind}")
        return found

    def _damage(self, raw: bytes, kind: _Kind) -> DamagedHistoryError:
        """The error for an object that libgit2 cannot give us; OSError where the system is to blame."""
        packs = self.objects / "pack"
        for path in (self.loose_path(raw), *(packs.iterdir() if packs.exists() else ())):
            _probe(path)
        return DamagedHistoryError(
            f"the {kind} {raw.hex()[:10]} is {'unreadable' if self.has(raw) else 'missing'}"
        )


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


def _probe(path: Path) -> None:
    """Raise OSError if the system refuses to read a file that is there."""
    with contextlib.suppress(FileNotFoundError), os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        file.read(1)


# Packing keeps the history small and fast. No object is removed before its copy has been read back from the
# new pack, id by id, so a kill at any point leaves each object in at least one place. Every object is packed,
# referenced or not: packing forgets nothing. Works under the commit lock; on failure (`DamagedHistoryError`,
# `OSError`) nothing is removed.


MOST_PACKS = 20
_SUBDIRECTORY = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{38}")


def pack_if_worthwhile(repository: Repository, pack_after: int) -> None:
    """Pack when there are more than `pack_after` loose objects or more than `MOST_PACKS` packs.

    Raises DamagedError if an object cannot be packed, OSError; in both cases nothing has been removed.
    """
    names = list(_loose(repository.objects))
    packs = _packs(repository.objects)
    if len(packs) <= MOST_PACKS and len(names) <= pack_after:
        return
    loose = {name: repository.objects / name[:2] / name[2:] for name in names}
    for name in loose:
        repository.refuse_cut_short(bytes.fromhex(name))  # libgit2 must not meet one that is cut short
    if len(packs) > MOST_PACKS:
        _pack(repository, sorted({str(oid) for oid in repository.odb}), [*loose.values(), *packs])
    else:
        _pack(repository, list(loose), loose.values())


def _pack(repository: Repository, ids: Sequence[str], superseded: Iterable[Path]) -> None:
    git = libgit2()
    sweep(repository.path)
    sweep(repository.objects / "pack")
    sweep(repository.objects)
    # Left by earlier versions: libgit2's name for a loose object in the making.
    sweep(repository.objects, "tmp_object_git2_")
    with temporary_directory(repository.path) as directory:
        # Below a directory `pack`, where libgit2 looks for packs when they are read back.
        (directory / "pack").mkdir()
        try:
            write_pack(repository.git, [git.Oid(hex=name) for name in ids], directory / "pack")
            _verify(directory, ids)
        except (git.GitError, KeyError, ValueError) as error:
            raise DamagedHistoryError(f"its objects cannot be packed ({error})") from error
        kept = install_pack(directory / "pack", repository.objects / "pack")
    checkpoint("history-pack")
    _remove([path for path in superseded if path.name not in kept])


def _verify(objects: Path, ids: Iterable[str]) -> None:
    """Read every object back from the packs below `objects` alone; libgit2 compares content and id."""
    git = libgit2()
    odb = git.Odb()
    odb.add_backend(git.OdbBackendPack(str(objects)), 1)
    for name in ids:
        odb.read(name)


def _loose(objects: Path) -> Iterable[str]:
    """The names of all loose objects. As text: it is asked after each commit."""
    for first in os.listdir(objects):  # noqa: PTH208
        if _SUBDIRECTORY.fullmatch(first):
            rest = os.listdir(f"{objects}/{first}")  # noqa: PTH208
            yield from (first + name for name in rest if _REST.fullmatch(name))


def _packs(objects: Path) -> list[Path]:
    return [path for path in (objects / "pack").glob("pack-*.idx") if path.with_suffix(".pack").exists()]


def _remove(paths: Iterable[Path]) -> None:
    """Remove superseded objects; one that is in use on Windows waits for the next packing."""
    directories = set()
    for path in paths:
        # the index first: git looks for indexes
        files = [path, *path.parent.glob(f"{path.stem}.*")] if path.suffix == ".idx" else [path]
        for file in files:
            with contextlib.suppress(PermissionError):
                if os.name == "nt":
                    file.chmod(0o600)
                file.unlink(missing_ok=True)
        directories.add(path.parent)
    for directory in directories:
        if directory.name != "pack":
            with contextlib.suppress(OSError):
                directory.rmdir()  # fails while anything is left in it, as it should


# Three-way merge of one file's lines (libgit2's, the same as git's); writes nothing.


class Merge(Struct, frozen=True):
    """`conflict` False: both changes are in `content`. True: they touch the same lines and `content` shows
    both between conflict markers, named unless that side is empty (of a binary file: `ours`, unchanged)."""

    content: bytes
    conflict: bool


def merge_versions(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    """Apply to `ours` what changed from `base` to `theirs`; line endings are kept byte for byte."""
    if ours == theirs or theirs == base:
        return Merge(ours, False)
    if ours == base:
        return Merge(theirs, False)
    if any(b"\0" in side for side in (base, ours, theirs)):
        return Merge(ours, True)
    return _merge_lines(base, ours, theirs)


def _merge_lines(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    from pygit2.enums import FileMode

    git = libgit2()
    odb = git.Odb()
    odb.add_backend(objects_in_memory()(), 1)
    repository = git.Repository()
    repository.set_odb(odb)
    # The paths become the labels of the conflict markers. pygit2 hands the result out as text: as Latin-1
    # every byte is one character, so nothing is lost on the way there and back.
    entries = [
        git.IndexEntry(label, repository.create_blob(side.decode("latin-1").encode()), FileMode.BLOB)
        for label, side in (("before", base), ("current", ours), ("incoming", theirs))
    ]
    result = repository.merge_file_from_index(*entries)
    return Merge(result.contents.encode("latin-1"), not result.automergeable)
