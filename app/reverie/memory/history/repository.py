"""A history on disk: its objects, and the bare repository with one branch that contains them.

libgit2 is configured (`libgit2`) to ignore the user's git configuration, to skip git's check of the
directory's owner (its mode is 0700), and to sync its writes.

A snapshot first collects its objects in memory. `ObjectSink.flush` then adds them to the repository: a few as
loose objects, many (a first snapshot, a big change) as one pack, which costs a few syncs instead of two per
object. When `flush` returns, the objects are durable. A process killed before that leaves at most a temporary
directory, which the next packing removes. Ids are raw (20 bytes) inside the history and hexadecimal outside.

Threading: as `memory.history.history`; a writer is one thread, under the commit lock. Failure:
`DamagedHistoryError` only for permanent damage: objects that are missing or whose content does not match
their id, an invalid branch, missing files that every repository has. Possibly temporary failures (no rights,
too many open files, a device error) stay `OSError`, which `memory.history.history` explains.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from reverie.files.atomic import checkpoint
from reverie.files.directory import ensure_private, open_regular, read_regular
from reverie.values import Struct

if TYPE_CHECKING:
    import pygit2


TREE_MODE = 0o40000
FILE_MODE = 0o100644
EXECUTABLE_MODE = 0o100755

# Above these a snapshot becomes a pack. libgit2 blocks the interpreter while it compresses and syncs a loose
# object, but not while it packs.
LOOSE_OBJECTS = 48
LOOSE_BYTES = 1024 * 1024
# Above this a snapshot flushes its objects, so that a large home does not fill the memory.
MEMORY_BYTES = 64 * 1024 * 1024
TEMPORARY_PREFIX = "tmp_reverie_"


@functools.cache
def libgit2() -> ModuleType:
    """Return pygit2, configured for this process.

    Loaded on first use, because listing memories must not need it.
    """
    import pygit2
    from pygit2.enums import ConfigLevel, Option

    pygit2.option(Option.ENABLE_FSYNC_GITDIR, True)
    pygit2.option(Option.SET_OWNER_VALIDATION, False)
    # Otherwise each entry of a new tree is looked up once more, and a damaged neighbour fails the snapshot.
    pygit2.option(Option.ENABLE_STRICT_OBJECT_CREATION, False)
    for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
        pygit2.option(Option.SET_SEARCH_PATH, level, "")
    return pygit2


class TreeEntry(Struct, frozen=True):
    """One entry of a git tree: a file or a directory."""

    name: bytes
    """The stored name, which is escaped."""
    mode: int
    """Git's mode, not permission bits."""
    id: bytes
    """The raw id of the file or directory."""

    @property
    def is_tree(self) -> bool:
        return self.mode == TREE_MODE


@functools.cache
def objects_in_memory() -> Any:
    """Return the class of an object store in memory, which libgit2 writes to and reads from.

    A function, because its base class exists only once pygit2 is loaded.
    """
    git = libgit2()

    class ObjectsInMemory(git.OdbBackend):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.objects: dict[str, tuple[int, bytes]] = {}
            self.size = 0

        def write_cb(self, id_: pygit2.Oid, content: bytes, kind: int) -> None:
            self.objects[str(id_)] = int(kind), content
            self.size += len(content)

        def refresh_cb(self) -> None:
            """Do nothing; libgit2 calls this before it reports an object as missing."""

        def exists_cb(self, id_: pygit2.Oid) -> bool:
            return str(id_) in self.objects

        def read_cb(self, id_: pygit2.Oid) -> tuple[int, bytes]:
            return self.objects[str(id_)]

        def read_header_cb(self, id_: pygit2.Oid) -> tuple[int, int]:
            kind, content = self.objects[str(id_)]
            return kind, len(content)

    return ObjectsInMemory


class ObjectSink:
    """A collector of new objects in memory, until they are flushed to a repository."""

    def __init__(self, repository: Path, odb: pygit2.Odb) -> None:
        """Start an empty collection.

        `odb`: the object store of the repository at `repository`.
        """
        self._path = repository
        self._odb = odb
        self._new, self._repository = self._empty()

    def _empty(self) -> tuple[Any, pygit2.Repository]:
        """Return an empty object store, and a repository that writes to it and also reads the history."""
        git = libgit2()
        new, odb = objects_in_memory()(), git.Odb()
        odb.add_backend(new, 1)
        odb.add_disk_alternate(str(self._path / "objects"))
        repository = git.Repository()
        repository.set_odb(odb)
        return new, repository

    def has(self, raw: bytes) -> bool:
        """Return whether the repository has the object with the raw id `raw`.

        Objects that were added but not flushed yet do not count.
        """
        return bool(self._odb.exists(raw.hex()))

    def blob(self, content: bytes) -> bytes:
        """Add a content, and return its raw id; it is in the repository after `flush`.

        Raises OSError.
        """
        with git_errors_as_os(self._path):
            id_ = self._repository.create_blob(content)
        if self._new.size > MEMORY_BYTES:
            self.flush()
        return bytes(id_.raw)

    def tree(self, entries: Iterable[TreeEntry]) -> bytes:
        """Add a tree with these entries, in any order, and return its raw id.

        Raises OSError.
        """
        git = libgit2()
        with git_errors_as_os(self._path):
            builder = self._repository.TreeBuilder()
            for entry in entries:
                builder.insert(entry.name.decode(), git.Oid(raw=entry.id), entry.mode)
            return bytes(builder.write().raw)

    def commit(self, message: str, *, author: str, at_s: int, tree: bytes, parent: bytes | None) -> bytes:
        """Add a commit, without moving any branch, and return its raw id.

        `at_s`: its time in UTC seconds; `tree`, `parent`: the raw ids of its tree and its parent (None for a
        first commit). Raises OSError.
        """
        git = libgit2()
        person = git.Signature(author, f"{author}@reverie.invalid", at_s, 0)
        parents = [git.Oid(raw=parent)] if parent is not None else []
        with git_errors_as_os(self._path):
            created = self._repository.create_commit(
                None, person, person, message, git.Oid(raw=tree), parents
            )
            return bytes(created.raw)

    def flush(self) -> None:
        """Add everything collected to the repository, durably.

        Raises OSError.
        """
        git, objects = libgit2(), self._new.objects
        with git_errors_as_os(self._path):
            if len(objects) > LOOSE_OBJECTS or self._new.size > LOOSE_BYTES:
                with temporary_directory(self._path) as directory:
                    write_pack(self._repository, [git.Oid(hex=name) for name in objects], directory)
                    install_pack(directory, self._path / "objects" / "pack")
            elif objects:
                for kind, content in objects.values():
                    self._odb.write(kind, content)
                # libgit2 syncs the directory of an object, but not the name of a new directory.
                sync_directory(self._path / "objects")
        self._new, self._repository = self._empty()


@contextlib.contextmanager
def temporary_directory(path: Path) -> Iterator[Path]:
    """Context manager: yield a new directory in the repository at `path`; it is removed at the end."""
    directory = path / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    directory.mkdir(mode=0o700)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)  # the next packing sweeps it


def write_pack(repository: pygit2.Repository, ids: Iterable[pygit2.Oid], directory: Path) -> None:
    """Write the objects `ids` of `repository` as a pack and its index into `directory`.

    Raises `GitError` or KeyError if an object cannot be read, `GitError` if the pack cannot be written.
    """
    builder = libgit2().PackBuilder(repository)
    for id_ in ids:
        builder.add(id_)
    builder.write(str(directory))


def install_pack(directory: Path, packs: Path) -> set[str]:
    """Move the pack in `directory` to `packs`, durably, and return the names of its files.

    Raises OSError.
    """
    # The index last: git looks for indexes.
    files = sorted(directory.iterdir(), key=lambda path: path.suffix == ".idx")
    for file in files:
        file.replace(packs / file.name)
    sync_directory(packs)
    return {file.name for file in files}


@contextlib.contextmanager
def git_errors_as_os(repository: Path) -> Iterator[None]:
    """Context manager: turn an error of libgit2 while it writes to this repository into an `OSError`.

    libgit2 loses the error number of the system, so the number is found from the system's text, which most
    messages of libgit2 end with. If the message lacks this text ("no error" on a full disk), a test file is
    written: if the disk is the cause, this fails with the system's error.
    """
    try:
        yield
    except libgit2().GitError as error:
        for number in errno.errorcode:
            if str(error).endswith(f": {os.strerror(number)}"):
                raise OSError(number, os.strerror(number)) from error
        with tempfile.TemporaryFile(prefix=TEMPORARY_PREFIX, dir=repository) as file:
            file.write(bytes(LOOSE_BYTES))
            file.flush()
            os.fsync(file.fileno())
        raise OSError(str(error)) from error


def sync_directory(directory: Path) -> None:
    """Sync a directory to the disk, so that added, renamed and removed entries are durable.

    Does nothing on Windows.
    """
    if os.name == "nt":
        return
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sweep(directory: Path, prefix: str = TEMPORARY_PREFIX) -> None:
    """Remove files and folders that killed processes left in `directory`. Call with the commit lock held.

    `prefix`: the beginning of their names.
    """
    for leftover in directory.iterdir():
        if leftover.name.startswith(prefix):
            with contextlib.suppress(OSError):  # the next sweep will try again
                if leftover.is_dir():
                    shutil.rmtree(leftover)
                else:
                    leftover.unlink()


Loader = Callable[[bytes], Iterable[TreeEntry]]
"""A function that returns the entries of the stored tree with a raw id."""
Names = tuple[bytes, ...]
"""A path as the stored (escaped) names of its folders and of the file, outermost first."""


class Leaf(Struct, frozen=True):
    """A stored file: git's mode and the raw id of its content."""

    mode: int
    id: bytes


class Folder:
    """One directory of a stored git tree, which is changed in memory.

    A folder stores the id of its tree and loads the entries only on access, so a snapshot of one changed file
    reads and writes only the trees on the path to it. Names are stored (escaped) names. Git has no empty
    folders: they vanish when written. `load` returns the entries of a stored tree and is called at most once
    per folder.
    """

    __slots__ = ("_entries", "_id", "_load")

    def __init__(self, load: Loader, tree_id: bytes | None = None) -> None:
        self._load = load
        self._id = tree_id
        self._entries: dict[bytes, Leaf | Folder] | None = None if tree_id else {}

    def get(self, names: Names) -> Leaf | Folder | None:
        """Return the file or folder at the path `names`; None if there is none.

        For an empty path, return this folder.
        """
        node: Leaf | Folder | None = self
        for name in names:
            if not isinstance(node, Folder):
                return None
            node = node._children().get(name)
        return node

    def folder(self, names: Names) -> Folder:
        """Return the folder at the path `names`, or a new empty folder, which is not added to this one."""
        node = self.get(names)
        return node if isinstance(node, Folder) else Folder(self._load)

    def put(self, names: Names, node: Leaf | Folder) -> None:
        """Put a file or folder at the path `names` (not empty); a file on the way is replaced by a folder."""
        self._changing_parent(names)[names[-1]] = node

    def remove(self, names: Names) -> None:
        """Remove the file or folder at the path `names` (not empty), if there is one."""
        if self.get(names) is not None:
            del self._changing_parent(names)[names[-1]]

    def leaves(self, prefix: Names = ()) -> Iterator[tuple[Names, Leaf]]:
        """Yield the path and the file of every file below this folder; each path begins with `prefix`."""
        stack: list[tuple[Names, Leaf | Folder]] = [(prefix, self)]
        while stack:
            names, node = stack.pop()
            if isinstance(node, Leaf):
                yield names, node
            else:
                stack.extend(((*names, name), child) for name, child in node._children().items())

    def differing(self, other: Folder) -> Iterator[tuple[Names, Leaf | None, Leaf | None]]:
        """Yield (path, file here, file in `other`) for each path at which the files differ; None: no file.

        Equal trees are not opened.
        """
        stack: list[tuple[Names, Leaf | Folder | None, Leaf | Folder | None]] = [((), self, other)]
        while stack:
            names, here, there = stack.pop()
            if here == there or (_id_of(here) is not None and _id_of(here) == _id_of(there)):
                continue
            here_leaf = here if isinstance(here, Leaf) else None
            there_leaf = there if isinstance(there, Leaf) else None
            if here_leaf or there_leaf:
                yield names, here_leaf, there_leaf
            ours = here._children() if isinstance(here, Folder) else {}
            theirs = there._children() if isinstance(there, Folder) else {}
            stack.extend(((*names, name), ours.get(name), theirs.get(name)) for name in {*ours, *theirs})

    def write(self, sink: ObjectSink) -> bytes | None:
        """Write this folder to `sink` unless it is stored already; return its raw id, None if it is empty."""
        if self._id is not None:
            return self._id
        # Depth first without recursion: a path may be deeper than Python's stack.
        order: list[Folder] = []
        stack: list[Folder] = [self]
        while stack:
            folder = stack.pop()
            order.append(folder)
            stack.extend(
                child
                for child in folder._children().values()
                if isinstance(child, Folder) and child._id is None
            )
        for folder in reversed(order):
            folder._write_flat(sink)
        return self._id

    def _write_flat(self, sink: ObjectSink) -> None:
        """Write this folder to `sink`, after all folders in it were written."""
        entries = []
        for name, node in self._children().items():
            if isinstance(node, Leaf):
                entries.append(TreeEntry(name, node.mode, node.id))
            elif node._id is not None:
                entries.append(TreeEntry(name, TREE_MODE, node._id))
        self._id = sink.tree(entries) if entries else None

    def _changing_parent(self, names: Names) -> dict[bytes, Leaf | Folder]:
        """Return the entries of the folder that contains the path `names`; the caller may change them.

        Marks this folder and every folder on the path as changed; missing folders are created.
        """
        children = self._changing()
        for name in names[:-1]:
            child = children.get(name)
            if not isinstance(child, Folder):
                child = children[name] = Folder(self._load)
            children = child._changing()
        return children

    def _changing(self) -> dict[bytes, Leaf | Folder]:
        children = self._children()
        self._id = None
        return children

    def _children(self) -> dict[bytes, Leaf | Folder]:
        if self._entries is None:
            self._entries = {
                entry.name: Folder(self._load, entry.id) if entry.is_tree else Leaf(entry.mode, entry.id)
                for entry in self._load(self._id or b"")
            }
        return self._entries


def _id_of(node: Leaf | Folder | None) -> bytes | None:
    return node._id if isinstance(node, Folder) else None


_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_NOT_A_NAME = re.compile(r"[^\w.-]+")
_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")


class Commit(Struct, frozen=True):
    """One snapshot.

    The message of the commit holds the subject; its trailers hold the actor, run and source.
    """

    id: str
    at_ms: int
    """The time of the commit in UTC ms, but always whole seconds, because git keeps seconds."""
    actor: str
    source: str
    """The occasion on which Reverie recorded the changes, such as "by hand" or "the watcher"."""
    run_id: str | None
    """The run that made the changes; None if it was no run."""
    subject: str
    parent: str | None = None
    """The id of the commit before this one; None for the first commit."""
    notes: str = ""
    """A line for each file whose current bytes were not stored, with the reason."""


class StoredCommit(Struct, frozen=True):
    """A commit with the raw ids of its tree and of the commit before it."""

    commit: Commit
    tree: bytes
    parent: bytes | None
    """The raw id of the commit before this one; None for the first commit."""


def commit_author(actor: str) -> str:
    """Return the name that git shows for an actor, without characters that git's signatures cannot hold."""
    return _NOT_A_NAME.sub("-", actor).strip("-.") or "reverie"


def commit_message(*, actor: str, source: str, run_id: str | None, subject: str, notes: Iterable[str]) -> str:
    """Return the message of a commit. Each text becomes a single line.

    `subject`: the first line. `actor`: the author of the changes; `source`: the occasion on which Reverie
    recorded them, such as "by hand" or "the watcher". `run_id`: the run that made the changes; None if it was
    no run. `notes`: further lines.
    """
    trailers = [f"Actor: {_line(actor)}"]
    if run_id is not None:
        trailers.append(f"Run: {_line(run_id)}")
    trailers.append(f"Source: {_line(source)}")
    parts = [_line(subject) or "Snapshot", "\n".join(filter(None, map(_line, notes))), "\n".join(trailers)]
    text = "\n\n".join(filter(None, parts)) + "\n"
    return text.encode("utf-8", "backslashreplace").decode()


def stored_commit(found: pygit2.Commit) -> StoredCommit:
    """Convert a commit of libgit2, whether or not Reverie wrote it, to a `StoredCommit`, and return it."""
    message = found.raw_message.decode("utf-8", "replace")
    paragraphs = message.strip("\n").split("\n\n")
    matches = map(_TRAILER.fullmatch, paragraphs[-1].split("\n"))
    trailers = {match[1]: match[2] for match in matches if match}
    has_trailers = len(paragraphs) > 1 and "Actor" in trailers
    parent = bytes(found.parent_ids[0].raw) if found.parent_ids else None
    commit = Commit(
        id=str(found.id),
        at_ms=found.commit_time * 1000,
        actor=trailers["Actor"] if has_trailers else "outside",
        source=trailers.get("Source", "") if has_trailers else "",
        run_id=trailers.get("Run") if has_trailers else None,
        subject=paragraphs[0].replace("\n", " "),
        parent=parent.hex() if parent else None,
        notes="\n\n".join(paragraphs[1 : -1 if has_trailers else None]),
    )
    return StoredCommit(commit, bytes(found.tree_id.raw), parent)


def _line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()


# Always escaped: the escape sign, separators and NTFS signs, `~` (short names such as GIT~1), control,
# ignorable and direction characters (HFS+ drops some of them when it compares), surrogates.
_UNSAFE = re.compile(
    '[\x00-\x1f\x7f-\x9f%/:\\\\<>"|?*~\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]'
)
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3])(?=[. ]|$)", re.IGNORECASE
)
_ESCAPE = re.compile(r"%(?:u([0-9A-F]{4})|([0-9A-F]{2}))")
_UNDECODABLE = range(0xDC80, 0xDD00)


def escape_segment(name: str) -> str:
    """Escape one path segment for use as the name of a tree entry.

    Git refuses `.git` and its spellings (other case, `git~1`, ignorable characters), checks the contents of
    `.gitmodules` and similar files, and Windows cannot check out `CON`, a trailing dot or a colon. So each
    path segment is escaped, reversibly for every name an operating system can return, including invalid UTF-8
    (surrogate escapes). Ordinary names stay as they are, so that `git log` remains readable. `%XX` is an
    ASCII character or (from 80 on) an undecodable byte, `%uXXXX` any other character. This is part of the
    history's format and must never change for names already stored.

    Raises `ValueError` for an empty name, which no file has.
    """
    if not name:
        raise ValueError("a path segment cannot be empty")
    escaped = _UNSAFE.sub(lambda match: _escape_character(match[0]), name)
    if escaped[0] == "." or _DEVICE.match(escaped):
        escaped = _escape_character(escaped[0]) + escaped[1:]
    if escaped[-1] in ". ":
        escaped = escaped[:-1] + _escape_character(escaped[-1])
    return escaped


def unescape_segment(escaped: str) -> str:
    """Return the name that `escape_segment` has escaped. A `%` that does not begin an escape is kept."""
    return _ESCAPE.sub(lambda match: _unescape_match(match), escaped) if "%" in escaped else escaped


def escape_rel(rel: str) -> tuple[bytes, ...]:
    """Return the tree entry names of a `/`-separated path, outermost first.

    Raises `ValueError` for an empty segment.
    """
    return tuple(escape_segment(segment).encode() for segment in rel.split("/"))


def unescape_rel(names: tuple[bytes, ...]) -> str:
    """Return the `/`-separated path for the tree entry names that `escape_rel` has returned."""
    return "/".join(unescape_segment(name.decode("utf-8", "surrogateescape")) for name in names)


def _escape_character(character: str) -> str:
    code = ord(character)
    if code < 0x80:
        return f"%{code:02X}"
    return f"%{code - 0xDC00:02X}" if code in _UNDECODABLE else f"%u{code:04X}"


def _unescape_match(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    code = int(match[2], 16)
    return chr(code if code < 0x80 else 0xDC00 + code)


BRANCH = "refs/heads/main"
_HEAD = f"ref: {BRANCH}\n".encode()
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n[gc]\n\tauto = 0\n"
_Kind = Literal["commit", "tree", "blob"]


class DamagedHistoryError(Exception):
    """Raised if the repository is damaged; its text is the reason, as a part of a sentence."""


class MissingVersionError(Exception):
    """Raised for a commit or file version that this repository does not have."""


class Repository:
    """An open repository. Cheap to open; one per operation, used by one thread."""

    def __init__(self, path: Path) -> None:
        """Open the repository at `path`.

        Raises DamagedHistoryError, FileNotFoundError, other OSErrors.
        """
        self.path = path
        self.objects = path / "objects"
        git = libgit2()
        flags = git.enums.RepositoryOpenFlag
        # libgit2's error for an unreadable directory is no proof of damage, so check with the system first.
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
        """Return the raw id of the newest commit; None if there is no commit yet.

        Raises DamagedHistoryError, OSError.
        """
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
        """Point the branch at the commit `new`, durably.

        `old`: the commit that it points at now; None if there is none yet. Raises OSError.
        """
        target = libgit2().Oid(raw=new)
        # We hold the commit lock, so a lock of git's own is left from a killed process.
        self.path.joinpath(f"{BRANCH}.lock").unlink(missing_ok=True)
        with git_errors_as_os(self.path):  # an error of the system (disk, rights), not damage
            if old is None:
                self.git.references.create(BRANCH, target)
            else:
                self.git.references[BRANCH].set_target(target)

    def has(self, raw: bytes) -> bool:
        """Return whether the object with this raw id is in the repository."""
        return bool(self.odb.exists(raw.hex()))

    def blob(self, raw: bytes) -> bytes:
        """Return the bytes of the blob with the id `raw`, checked against the id.

        Raises DamagedHistoryError, OSError.
        """
        return bytes(self._object(raw, "blob").data)

    def refuse_cut_short(self, raw: bytes) -> None:
        """Raise DamagedHistoryError if the object with the id `raw` has a file of its own that is cut short.

        Call this before libgit2 reads the object: libgit2 (1.9) never returns from reading a small loose
        object (one in a file of its own) that was cut short. Raises OSError if the file cannot be read.
        """
        try:
            zlib.decompress(read_regular(self.loose_path(raw)))
        except FileNotFoundError:
            pass
        except zlib.error as error:
            raise DamagedHistoryError(f"the object {raw.hex()[:10]} is unreadable ({error})") from error

    def loose_path(self, raw: bytes) -> Path:
        """Return the path of the file that stores the object with the id `raw` if it is not in a pack."""
        name = raw.hex()
        return self.objects / name[:2] / name[2:]

    def tree(self, raw: bytes) -> Iterator[TreeEntry]:
        """Yield the entries of the tree with this raw id.

        Raises DamagedHistoryError.
        """
        for entry in self._object(raw, "tree"):
            yield TreeEntry(entry.raw_name, int(entry.filemode), bytes(entry.id.raw))

    def commit(self, raw: bytes) -> StoredCommit:
        """Return the commit with this raw id.

        Raises DamagedHistoryError.
        """
        return stored_commit(self._object(raw, "commit"))

    def commit_named(self, commit_id: str) -> StoredCommit:
        """Return the commit with the hexadecimal id `commit_id`.

        Raises MissingVersionError, DamagedHistoryError.
        """
        try:
            raw = bytes.fromhex(commit_id)
        except ValueError as error:
            raise MissingVersionError(commit_id) from error
        if len(raw) != len(commit_id) // 2 or len(raw) != 20 or not self.has(raw):
            raise MissingVersionError(commit_id)
        return self.commit(raw)

    def entry(self, tree: bytes, names: tuple[bytes, ...]) -> TreeEntry | None:
        """Return the entry at the path `names` below the tree with the raw id `tree`; None if it is missing.

        For an empty path, return an entry for the tree itself.

        Raises DamagedHistoryError.
        """
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
        """Raise DamagedHistoryError unless all objects of the newest commit exist; contents are not read."""
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
        """Read all objects reachable from the commit `tip`, contents included; yield the errors."""
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
        """Return the object with the id `raw`, which must be of the kind `kind`, as pygit2 represents it.

        Raises DamagedHistoryError, OSError.
        """
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
        """Return the error to raise for the object with the id `raw`, which libgit2 cannot read.

        Raises OSError instead if the operating system refuses to read the files.
        """
        packs = self.objects / "pack"
        for path in (self.loose_path(raw), *(packs.iterdir() if packs.exists() else ())):
            _probe(path)
        return DamagedHistoryError(
            f"the {kind} {raw.hex()[:10]} is {'unreadable' if self.has(raw) else 'missing'}"
        )


def create(path: Path) -> None:
    """Make an empty repository at `path`, which must not exist; it appears in one step.

    Raises OSError.
    """
    ensure_private(path.parent)
    # Named after the repository: histories of other homes beside it have locks of their own.
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
    """Rename a damaged repository and return its new path, which ends with `now_ms` (UTC ms).

    Raises OSError.
    """
    aside = path.with_name(f"{path.name}.damaged-{now_ms}")
    while aside.exists():
        now_ms += 1
        aside = path.with_name(f"{path.name}.damaged-{now_ms}")
    path.rename(aside)
    sync_directory(path.parent)
    return aside


def _probe(path: Path) -> None:
    """Raise OSError if the file at `path` exists but the operating system refuses to read it."""
    with contextlib.suppress(FileNotFoundError), os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
        file.read(1)


MOST_PACKS = 20
_SUBDIRECTORY = re.compile(r"[0-9a-f]{2}")
_REST = re.compile(r"[0-9a-f]{38}")


def pack_if_worthwhile(repository: Repository, pack_after: int) -> None:
    """Pack the repository if it has more than `pack_after` loose objects or more than `MOST_PACKS` packs.

    Packing keeps the history small and fast. No object is removed before its copy has been read back from the
    new pack and its id compared, so after a kill at any point each object still exists. Every object is
    packed, referenced or not, so packing loses nothing. Call it with the commit lock held.

    Raises DamagedHistoryError if an object cannot be packed, OSError; in both cases nothing has been removed.
    """
    names = list(_loose(repository.objects))
    packs = _packs(repository.objects)
    if len(packs) <= MOST_PACKS and len(names) <= pack_after:
        return
    loose = {name: repository.objects / name[:2] / name[2:] for name in names}
    for name in loose:
        repository.refuse_cut_short(bytes.fromhex(name))  # libgit2 never returns from reading such an object
    if len(packs) > MOST_PACKS:
        _pack(repository, sorted({str(oid) for oid in repository.odb}), [*loose.values(), *packs])
    else:
        _pack(repository, list(loose), loose.values())


def _pack(repository: Repository, ids: Sequence[str], superseded: Iterable[Path]) -> None:
    git = libgit2()
    sweep(repository.path)
    sweep(repository.objects / "pack")
    sweep(repository.objects)
    # Left by earlier versions: libgit2's name for an unfinished loose object.
    sweep(repository.objects, "tmp_object_git2_")
    with temporary_directory(repository.path) as directory:
        # Below a directory `pack`, where libgit2 finds packs when they are read back.
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
    """Read every object back from the packs below `objects` alone; libgit2 compares content and id.

    Raises libgit2's `GitError` or KeyError if this fails.
    """
    git = libgit2()
    odb = git.Odb()
    odb.add_backend(git.OdbBackendPack(str(objects)), 1)
    for name in ids:
        odb.read(name)


def _loose(objects: Path) -> Iterable[str]:
    """Yield the ids of all loose objects (each in a file of its own) below the directory `objects`.

    Makes no `Path` objects, because this runs after each commit.
    """
    for first in os.listdir(objects):  # noqa: PTH208
        if _SUBDIRECTORY.fullmatch(first):
            rest = os.listdir(f"{objects}/{first}")  # noqa: PTH208
            yield from (first + name for name in rest if _REST.fullmatch(name))


def _packs(objects: Path) -> list[Path]:
    return [path for path in (objects / "pack").glob("pack-*.idx") if path.with_suffix(".pack").exists()]


def _remove(paths: Iterable[Path]) -> None:
    """Remove superseded object files; a file in use on Windows is left for the next packing."""
    directories = set()
    for path in paths:
        # The index first: git looks for indexes.
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


class Merge(Struct, frozen=True):
    """The result of a three-way merge of one file's lines, made by libgit2 with the same rules as git."""

    content: bytes
    """The merged file.

    After a conflict it shows both versions of the conflicting lines between conflict markers. A marker names
    its version, `current` or `incoming` (`ours` or `theirs` in `merge_versions`), but not if this version is
    an empty file. After a conflict in a binary file it is the current version, unchanged.
    """
    conflict: bool
    """Whether both sides changed the same lines. Different changes to a binary file are always a conflict."""


def merge_versions(base: bytes, ours: bytes, theirs: bytes) -> Merge:
    """Return the three-way merge: `ours` with the changes from `base` to `theirs`.

    Line endings are kept byte for byte.
    """
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
    # The paths become the labels of the conflict markers. pygit2 returns the result as text: as Latin-1 every
    # byte is one character, so nothing is lost on the way there and back.
    entries = [
        git.IndexEntry(label, repository.create_blob(side.decode("latin-1").encode()), FileMode.BLOB)
        for label, side in (("before", base), ("current", ours), ("incoming", theirs))
    ]
    result = repository.merge_file_from_index(*entries)
    return Merge(result.contents.encode("latin-1"), not result.automergeable)
