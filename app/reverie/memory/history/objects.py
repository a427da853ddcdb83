"""Git objects made by us: ids, trees, and how new objects reach the disk.

A snapshot first collects its objects in an `ObjectSink` and then writes them in one go: a few become loose
objects, many (a first snapshot, a big change) become one pack, which costs three fsyncs instead of two per
file. Nothing is visible to git until `flush` returns, and then everything is durable; a kill before that
leaves at most a temporary file that the next packing clears away.

Ids are raw (20 bytes) inside the history and hexadecimal outside. Used under the commit lock, by one thread.
Errors of the system travel up as `OSError`; `memory.history.history` makes words of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from reverie.files.paths import read_regular

if TYPE_CHECKING:
    import pygit2


Kind = Literal["commit", "tree", "blob"]

TREE_MODE = 0o40000
FILE_MODE = 0o100644
EXECUTABLE_MODE = 0o100755

# Above these a snapshot becomes a pack. A loose object costs two fsyncs, a pack as many however big it is.
LOOSE_OBJECTS = 48
LOOSE_BYTES = 8 * 1024 * 1024
# A pack index has 31-bit offsets before it needs its extension; big snapshots get several packs instead.
PACK_BYTES = 512 * 1024 * 1024
TEMPORARY_PREFIX = "tmp_reverie_"

_NUMBERS: dict[Kind, int] = {"commit": 1, "tree": 2, "blob": 3}
_COMPRESSION = 1
_ID_BYTES = 20


class TreeEntry(NamedTuple):
    """One line of a tree: the stored (escaped) name, git's mode, the id."""

    name: bytes
    mode: int
    id: bytes

    @property
    def is_tree(self) -> bool:
        return self.mode == TREE_MODE


def object_id(kind: Kind, data: bytes) -> bytes:
    """The id git gives to these bytes."""
    return hashlib.sha1(_with_head(kind, data), usedforsecurity=False).digest()


def _with_head(kind: Kind, data: bytes) -> bytes:
    """What git stores, and takes for the id."""
    return b"%s %d\0" % (kind.encode(), len(data)) + data


def encode_tree(entries: Iterable[TreeEntry]) -> bytes:
    """A tree object. Git orders names as bytes, a directory as if its name ended with a slash."""
    ordered = sorted(entries, key=lambda entry: entry.name + b"/" if entry.is_tree else entry.name)
    return b"".join(b"%o %s\0%s" % (entry.mode, entry.name, entry.id) for entry in ordered)


def decode_tree(data: bytes) -> Iterator[TreeEntry]:
    """The entries of a tree object, in its order. Raises `ValueError` on bytes that are no tree."""
    at = 0
    while at < len(data):
        end = data.index(b"\0", at)
        mode, name = data[at:end].split(b" ", 1)
        at = end + 1 + _ID_BYTES
        if at > len(data):
            raise ValueError("a tree ends in the middle of an entry")
        yield TreeEntry(name, int(mode, 8), data[end + 1 : at])


def read_loose(path: Path, raw: bytes) -> tuple[Kind, bytes]:
    """A loose object, checked against its id. Raises `ValueError` if it is not sound, OSError.

    Ours, because libgit2 (1.9) never returns from a loose object that was cut short.
    """
    try:
        head, _, data = zlib.decompress(read_regular(path)).partition(b"\0")
    except zlib.error as error:
        raise ValueError(str(error)) from error
    for kind in _NUMBERS:
        if head.startswith(kind.encode()) and object_id(kind, data) == raw:
            return kind, data
    raise ValueError("its content is not what its name says")


class ObjectSink:
    """Collects new objects and writes them together; a context manager that drops what was not flushed."""

    def __init__(self, odb: pygit2.Odb, objects: Path) -> None:
        self._odb = odb
        self._objects = objects
        self._known: set[bytes] = set()
        self._pending: list[tuple[bytes, Kind, bytes]] = []
        self._pending_bytes = 0
        self._pack: PackWriter | None = None

    def __enter__(self) -> ObjectSink:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pack is not None:
            self._pack.abandon()

    def has(self, raw: bytes) -> bool:
        """Whether the object is in the repository or collected here."""
        if raw in self._known:
            return True
        if not self._odb.exists(raw.hex()):
            return False
        self._known.add(raw)
        return True

    def put(self, kind: Kind, data: bytes) -> bytes:
        """The id of the object, which will be there after `flush`."""
        raw = object_id(kind, data)
        if self.has(raw):
            return raw
        self._known.add(raw)
        if self._pack is not None:
            self._add_to_pack(raw, kind, data)
            return raw
        self._pending.append((raw, kind, data))
        self._pending_bytes += len(data)
        if len(self._pending) > LOOSE_OBJECTS or self._pending_bytes > LOOSE_BYTES:
            for pending in self._pending:
                self._add_to_pack(*pending)
            self._pending.clear()
        return raw

    def flush(self) -> None:
        """Make everything collected visible and durable."""
        if self._pack is not None:
            self._pack.finish()
            self._pack = None
        if self._pending:
            _write_loose(self._objects, self._pending)
        self._pending.clear()

    def _add_to_pack(self, raw: bytes, kind: Kind, data: bytes) -> None:
        if self._pack is not None and self._pack.size > PACK_BYTES:
            self._pack.finish()
            self._pack = None
        if self._pack is None:
            self._pack = PackWriter(self._objects / "pack")
        self._pack.add(raw, kind, data)


def _write_loose(objects: Path, pending: Sequence[tuple[bytes, Kind, bytes]]) -> None:
    """Each object as a file of its own. Ours, because libgit2 holds the interpreter while it syncs, and syncs
    a directory for each object in it, but never the name of a new one."""
    directories = {objects}
    for raw, kind, data in pending:
        name = raw.hex()
        directory = objects / name[:2]
        temp = objects / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
        try:
            with temp.open("xb") as file:
                file.write(zlib.compress(_with_head(kind, data), _COMPRESSION))
                file.flush()
                os.fsync(file.fileno())
            temp.chmod(0o444)  # as git has them
            directory.mkdir(exist_ok=True)
            temp.replace(directory / name[2:])
        except BaseException:
            with contextlib.suppress(OSError):
                temp.unlink(missing_ok=True)
            raise
        directories.add(directory)
    for directory in directories:
        sync_directory(directory)


class PackWriter:
    """One pack file and its index (version 2), without deltas: quick to write, packed tighter later on.

    Objects are streamed to a temporary file; the pack gets its name in `finish`, the index last, because git
    looks for indexes.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._temp = directory / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}.pack"
        self._file = self._temp.open("x+b")
        self._entries: list[tuple[bytes, int, int]] = []
        self.size = self._file.write(_pack_head(0))

    def add(self, raw: bytes, kind: Kind, data: bytes) -> None:
        """One object; `raw` is its id. It counts once the pack is finished."""
        record = _record_head(_NUMBERS[kind], len(data)) + zlib.compress(data, _COMPRESSION)
        self._entries.append((raw, zlib.crc32(record), self.size))
        self._file.write(record)
        self.size += len(record)

    def finish(self) -> None:
        """Give the pack its name. Each object may have been added only once."""
        with self._file as file:
            file.seek(0)
            file.write(_pack_head(len(self._entries)))
            file.seek(0)
            checksum = _sha1_of(file)
            file.seek(0, os.SEEK_END)
            file.write(checksum)
            file.flush()
            os.fsync(file.fileno())
        name = self._directory / f"pack-{checksum.hex()}"
        index = self._temp.with_suffix(".idx")
        with index.open("xb") as file:
            file.write(_index(self._entries, checksum))
            file.flush()
            os.fsync(file.fileno())
        self._temp.replace(name.with_suffix(".pack"))
        index.replace(name.with_suffix(".idx"))
        sync_directory(self._directory)

    def abandon(self) -> None:
        """Remove what was written; the error that led here matters more than one in doing so."""
        self._file.close()
        for temp in (self._temp, self._temp.with_suffix(".idx")):
            with contextlib.suppress(OSError):
                temp.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Make the names in a directory durable. Nothing to do where directories cannot be opened (Windows)."""
    if os.name == "nt":
        return
    fd = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _sha1_of(file: BinaryIO) -> bytes:
    digest = hashlib.sha1(usedforsecurity=False)
    while part := file.read(1 << 20):
        digest.update(part)
    return digest.digest()


def _pack_head(count: int) -> bytes:
    return struct.pack(">4sLL", b"PACK", 2, count)


def _record_head(number: int, size: int) -> bytes:
    """Kind and size of a packed object: four bits of the size beside the kind, then seven a byte."""
    first, rest = number << 4 | size & 0x0F, size >> 4
    head = bytearray()
    while rest:
        head.append(first | 0x80)
        first, rest = rest & 0x7F, rest >> 7
    head.append(first)
    return bytes(head)


def _index(entries: list[tuple[bytes, int, int]], pack_checksum: bytes) -> bytes:
    entries = sorted(entries)
    counts = [0] * 256
    for raw, _, _ in entries:
        counts[raw[0]] += 1
    fanout, total = [], 0
    for count in counts:
        total += count
        fanout.append(total)
    body = b"".join(
        (
            b"\xfftOc",
            struct.pack(">L256L", 2, *fanout),
            b"".join(raw for raw, _, _ in entries),
            struct.pack(f">{len(entries)}L", *(crc for _, crc, _ in entries)),
            struct.pack(f">{len(entries)}L", *(offset for _, _, offset in entries)),
            pack_checksum,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


# Directories of the history as values that can be edited in part.
#
# A `Folder` knows the id of the tree it stands for and loads its entries only when somebody looks inside,
# so a snapshot of one changed file among many reads and writes only the trees on the way to it. Names are
# stored names (`history_names`). Empty folders do not exist in git: they vanish when written.


Loader = Callable[[bytes], Iterable[TreeEntry]]
Names = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A stored file: git's mode and the raw id of its content."""

    mode: int
    id: bytes


class Folder:
    """One directory. `load` gives the entries of a stored tree and is called at most once."""

    __slots__ = ("_entries", "_id", "_load")

    def __init__(self, load: Loader, tree_id: bytes | None = None) -> None:
        self._load = load
        self._id = tree_id
        self._entries: dict[bytes, Leaf | Folder] | None = None if tree_id else {}

    def get(self, names: Names) -> Leaf | Folder | None:
        """What lies at the path; this folder itself for an empty path."""
        node: Leaf | Folder | None = self
        for name in names:
            if not isinstance(node, Folder):
                return None
            node = node._children().get(name)
        return node

    def folder(self, names: Names) -> Folder:
        """The folder at the path, an empty one where there is none (which is then not part of this one)."""
        node = self.get(names)
        return node if isinstance(node, Folder) else Folder(self._load)

    def put(self, names: Names, node: Leaf | Folder) -> None:
        """Set what lies at the path (not empty); a file on the way gives way to a folder."""
        self._changing_parent(names)[names[-1]] = node

    def remove(self, names: Names) -> None:
        """Remove what lies at the path (not empty), if anything does."""
        if self.get(names) is not None:
            del self._changing_parent(names)[names[-1]]

    def leaves(self, prefix: Names = ()) -> Iterator[tuple[Names, Leaf]]:
        """Every file below, with its path."""
        stack: list[tuple[Names, Leaf | Folder]] = [(prefix, self)]
        while stack:
            names, node = stack.pop()
            if isinstance(node, Leaf):
                yield names, node
            else:
                stack.extend(((*names, name), child) for name, child in node._children().items())

    def differing(self, other: Folder) -> Iterator[tuple[Names, Leaf | None, Leaf | None]]:
        """Files that differ from `other`: path, here, there. Equal trees are not opened."""
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
        """The id of this folder, written to `sink` where it is new; None if no file lies in it."""
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
        """Write this folder, all of whose folders are written."""
        entries = []
        for name, node in self._children().items():
            if isinstance(node, Leaf):
                entries.append(TreeEntry(name, node.mode, node.id))
            elif node._id is not None:
                entries.append(TreeEntry(name, TREE_MODE, node._id))
        self._id = sink.put("tree", encode_tree(entries)) if entries else None

    def _changing_parent(self, names: Names) -> dict[bytes, Leaf | Folder]:
        """The entries beside the last name of a path, with every folder on the way marked as changed."""
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


# One commit as bytes and back: the message says what, its trailers say who, in which run and from where.
#
# Our own writing and reading of git's commit format, so that a commit can go into the same pack as its
# files. Git keeps seconds: the time of a commit read back is a whole second. Pure functions.


_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_NOT_A_NAME = re.compile(r"[^\w.-]+")
_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")


@dataclass(frozen=True, slots=True)
class Commit:
    """One snapshot. `at_ms`: UTC, whole seconds. `notes`: which files were not kept as they are, and why."""

    id: str
    at_ms: int
    actor: str
    source: str
    run_id: str | None
    subject: str
    parent: str | None = None
    notes: str = ""


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """A commit with the tree it points to, both ids raw."""

    commit: Commit
    tree: bytes
    parent: bytes | None


def encode_commit(
    *,
    tree: bytes,
    parent: bytes | None,
    at_ms: int,
    actor: str,
    source: str,
    run_id: str | None,
    subject: str,
    notes: Iterable[str],
) -> bytes:
    """A commit object. Texts become single lines; a time before 1970, which git cannot keep, becomes 1970."""
    name = _NOT_A_NAME.sub("-", actor).strip("-") or "reverie"
    person = f"{name} <{name}@reverie.invalid> {max(0, at_ms // 1000)} +0000"
    head = [f"tree {tree.hex()}"]
    if parent is not None:
        head.append(f"parent {parent.hex()}")
    head += [f"author {person}", f"committer {person}"]
    trailers = [f"Actor: {_line(actor)}"]
    if run_id is not None:
        trailers.append(f"Run: {_line(run_id)}")
    trailers.append(f"Source: {_line(source)}")
    parts = [_line(subject) or "Snapshot", "\n".join(filter(None, map(_line, notes))), "\n".join(trailers)]
    text = "\n".join(head) + "\n\n" + "\n\n".join(filter(None, parts)) + "\n"
    return text.encode("utf-8", "backslashreplace")


def decode_commit(commit_id: bytes, data: bytes) -> StoredCommit:
    """A commit object, ours or another's. Raises `ValueError` on bytes that are no commit."""
    head, _, message = data.decode("utf-8", "replace").partition("\n\n")
    fields: dict[str, str] = {}
    for line in head.split("\n"):
        field, _, value = line.partition(" ")
        fields.setdefault(field, value)
    time = re.search(r"> (-?\d+) [+-]\d{4}$", fields.get("committer", ""))
    if "tree" not in fields or time is None:
        raise ValueError("a commit lacks its tree or its time")
    paragraphs = message.strip("\n").split("\n\n")
    found = map(_TRAILER.fullmatch, paragraphs[-1].split("\n"))
    trailers = {match[1]: match[2] for match in found if match}
    has_trailers = len(paragraphs) > 1 and "Actor" in trailers
    parent = bytes.fromhex(fields["parent"]) if "parent" in fields else None
    commit = Commit(
        id=commit_id.hex(),
        at_ms=int(time[1]) * 1000,
        actor=trailers["Actor"] if has_trailers else "outside",
        source=trailers.get("Source", "") if has_trailers else "",
        run_id=trailers.get("Run") if has_trailers else None,
        subject=paragraphs[0].replace("\n", " "),
        parent=parent.hex() if parent else None,
        notes="\n\n".join(paragraphs[1 : -1 if has_trailers else None]),
    )
    return StoredCommit(commit, bytes.fromhex(fields["tree"]), parent)


def _line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()


# Names inside the history: any file name in, a name that git stores and every tool accepts out, and back.
#
# Git refuses `.git` and everything a file system may take for it (other case, `git~1`, ignorable characters
# in between), checks the contents of `.gitmodules` and friends, and Windows cannot check out `CON`, a
# trailing dot or a colon. So each path segment is escaped, and the escape is reversible for every name an
# operating system can hand us, names that are not valid UTF-8 (surrogate escapes) included. Ordinary names
# stay as they are, so that `git log` remains readable.
#
# The code: `%XX` is an ASCII character or (from 80 on) an undecodable byte, `%uXXXX` any other character.
# Pure functions; both sides belong to the format of the history and must never change for names already
# stored.


# Never allowed plain: the escape sign, separators and NTFS signs, `~` (short names such as GIT~1), control,
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
    """One path segment as one tree entry name. Raises `ValueError` for an empty name, which no file has."""
    if not name:
        raise ValueError("a path segment cannot be empty")
    escaped = _UNSAFE.sub(lambda match: _escape_character(match[0]), name)
    if escaped[0] == "." or _DEVICE.match(escaped):
        escaped = _escape_character(escaped[0]) + escaped[1:]
    if escaped[-1] in ". ":
        escaped = escaped[:-1] + _escape_character(escaped[-1])
    return escaped


def unescape_segment(escaped: str) -> str:
    """The name that `escape_segment` was given. A `%` that begins no escape stands for itself."""
    return _ESCAPE.sub(lambda match: _unescape_match(match), escaped) if "%" in escaped else escaped


def escape_rel(rel: str) -> tuple[bytes, ...]:
    """The tree entry names of a `/`-separated path, outermost first; `ValueError` for an empty segment."""
    return tuple(escape_segment(segment).encode() for segment in rel.split("/"))


def unescape_rel(names: tuple[bytes, ...]) -> str:
    """The `/`-separated path that `escape_rel` was given."""
    return "/".join(unescape_segment(name.decode("utf-8", "surrogateescape")) for name in names)


def _escape_character(character: str) -> str:
    code = ord(character)
    if code < 0x80:
        return f"%{code:02X}"
    if code in _UNDECODABLE:
        return f"%{code - 0xDC00:02X}"
    return f"%u{code:04X}"


def _unescape_match(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    code = int(match[2], 16)
    return chr(code if code < 0x80 else 0xDC00 + code)
