"""Git objects made by us: ids, trees, and how new objects reach the disk.

A snapshot first collects its objects in an `ObjectSink` and then writes them in one go: a few become loose
objects, many (a first snapshot, a big change) become one pack, which costs three fsyncs instead of two per
file. Nothing is visible to git until `flush` returns, and then everything is durable; a kill before that
leaves at most a temporary file that the next packing clears away.

Ids are raw (20 bytes) inside the history and hexadecimal outside. Used under the commit lock, by one thread.
Errors of the system travel up as `OSError`; `memory.history` makes words of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple

from reverie.files.regular import read_regular

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
