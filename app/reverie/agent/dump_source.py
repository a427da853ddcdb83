"""A JSON document on disk, read in parts: what a 200 MB trace needs.

`JSON.stringify(value, null, 2)` puts every member on a line of its own and indents it by two spaces a level,
and no string can hold a raw line break. So a member of level `n` begins where a line begins with exactly `2n`
spaces, and its end is where the next one begins: finding the members of a level takes one search through the
bytes, without decoding anything. `layout` says whether a document is laid out so; any other is decoded whole
(up to a bound) and laid out again in memory.

Memory: one chunk (1 MiB) and what is asked for. Threading: safe, no state; a file is opened per read, without
following a link and without blocking on a pipe. Failure: plain `OSError`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from reverie.files.regular import open_regular

CHUNK = 1 << 20
_KEY_BYTES = 4096
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*', re.DOTALL)
_KINDS: dict[bytes, NodeKind] = {b"{": "object", b"[": "array", b'"': "text"}
_ESCAPE_BYTES = 12

NodeKind = Literal["object", "array", "text", "scalar"]


class Source(Protocol):
    """Bytes that can be read from anywhere."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`, or up to the end of the document. Raises `MendableError`."""


@dataclass(frozen=True, slots=True)
class MemorySource:
    """A document that is in memory already."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, end: int) -> bytes:
        """As `Source.read`; never fails."""
        return self.data[start:end]


@dataclass(frozen=True, slots=True)
class FileSource:
    """A regular file of `size` bytes when it was first looked at; what is added later is not read."""

    path: Path
    size: int

    def read(self, start: int, end: int) -> bytes:
        """As `Source.read`; the file is opened for each."""
        with open(_opened(self.path), "rb") as file:
            file.seek(start)
            return file.read(max(0, min(end, self.size) - start))


def open_source(path: Path) -> FileSource:
    """Raises `OSError` for what is no regular file."""
    with open(_opened(path), "rb") as file:
        return FileSource(path, os.fstat(file.fileno()).st_size)


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a document: `source[start:end]`. `key` is its name, its place in a list, or empty for the
    whole."""

    key: str | int
    kind: NodeKind
    start: int
    end: int
    level: int = 0

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def is_container(self) -> bool:
        return self.kind in ("object", "array")


def layout(source: Source) -> Node | None:
    """The whole document if it is an object laid out with two spaces a level, else None."""
    head = source.read(0, CHUNK)
    if not re.match(rb'(?:\xef\xbb\xbf)?\{\r?\n  "', head):
        return None
    tail = source.read(max(0, source.size - CHUNK), source.size).rstrip()
    end = max(0, source.size - CHUNK) + len(tail)
    return Node("", "object", head.index(b"{"), end)


def children(source: Source, node: Node, *, limit: int, skip: int = 0) -> tuple[tuple[Node, ...], bool]:
    """At most `limit` members of a container, from the one numbered `skip` on, and whether there are more."""
    if not node.is_container:
        return (), False
    found: list[Node] = []
    starts = _starts(source, node)
    begin = next(starts, None)
    place = 0
    while begin is not None:
        after = next(starts, None)
        if place >= skip:
            if len(found) == limit:
                return tuple(found), True
            found.append(_child(source, node, place, begin, node.end if after is None else after))
        begin, place = after, place + 1
    return tuple(found), False


def member(source: Source, node: Node, key: str) -> Node | None:
    """One member of an object by name."""
    found, _more = children(source, node, limit=10_000)
    return next((child for child in found if child.key == key), None)


def text_of(source: Source, node: Node, limit: int) -> tuple[str, bool]:
    """The text of a text node, of which at most about `limit` bytes are read, and whether that is all."""
    raw = source.read(node.start, min(node.end, node.start + limit + 2))
    whole = node.size <= limit + 2
    if whole:
        try:
            return str(json.loads(raw.decode("utf-8", "replace"), strict=False)), True
        except ValueError:
            whole = False
    return _cut_text(raw), whole


def _cut_text(raw: bytes) -> str:
    """As much of a JSON text as can be decoded, when its end is missing."""
    body = raw.decode("utf-8", "ignore").removeprefix('"')
    # An escape, or half of a pair of them, may have been cut in two.
    for cut in range(min(_ESCAPE_BYTES, len(body)) + 1):
        try:
            return str(json.loads(f'"{body[: len(body) - cut]}"', strict=False))
        except ValueError:
            continue
    return body


def _starts(source: Source, node: Node) -> Iterator[int]:
    """Where the members of a container begin (at the line break before each)."""
    pattern = re.compile(rb"\n {%d}(?=[^ \n\]}])" % (2 * (node.level + 1)))
    overlap = 2 * (node.level + 1) + 4
    position = node.start
    while position < node.end:
        chunk = source.read(position, min(position + CHUNK + overlap, node.end))
        if not chunk:
            return
        for match in pattern.finditer(chunk):
            if match.start() >= CHUNK:
                break
            yield position + match.start()
        position += CHUNK


def _child(source: Source, parent: Node, place: int, start: int, end: int) -> Node:
    level = parent.level + 1
    line = start + 1 + 2 * level
    end = _value_end(source, start, end, last=end == parent.end)
    key: str | int = place
    head = source.read(line, min(line + _KEY_BYTES, max(end, line + 1)))
    if parent.kind == "object":
        match = _KEY.match(head)
        if match is None:
            return Node(head[:40].decode("utf-8", "replace"), "scalar", end, end, level)
        key = _cut_text(b'"' + match[1])
        line, head = line + match.end(), head[match.end() :]
    return Node(key, _KINDS.get(head[:1], "scalar"), line, max(line, end), level)


def _value_end(source: Source, start: int, end: int, *, last: bool) -> int:
    """`end` without the comma, and for the last member without the bracket that closes the container."""
    begin = max(start, end - 256)
    tail = source.read(begin, end).rstrip()
    if last and b"\n" in tail and tail[-1:] in b"]}":
        line = tail.rindex(b"\n")
        if tail[line:].strip() in (b"]", b"}"):
            tail = tail[:line].rstrip()
    elif tail.endswith(b","):
        tail = tail[:-1].rstrip()
    return begin + len(tail)


def _opened(path: Path) -> int:
    return open_regular(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
