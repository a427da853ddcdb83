"""Reading parts of a JSON document of any size: nodes, pages of members, values, and a search.

A document on disk is read in parts, because a trace may have 200 MB. `JSON.stringify(value, null, 2)` puts
every member on a line of its own, indented by two spaces a level, and no string contains a raw line break. So
a member of level `n` begins at a line that begins with exactly `2n` spaces, and ends where the next one
begins: one search through the bytes finds the members of a level without decoding them. `layout` recognises
such documents; the reader of any other document decodes it as a whole, up to a limit, and formats it again in
memory. At most one chunk (1 MiB) and the requested part are in memory; a file is opened for each read,
without following a link or blocking on a pipe.

Threading: blocks on disk; any thread but the GUI's. Failure: `OSError`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, Protocol

from reverie.files.directory import open_regular
from reverie.values import Struct

CHUNK = 1 << 20
_KEY_BYTES = 4096
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*', re.DOTALL)
_KINDS: dict[bytes, NodeKind] = {b"{": "object", b"[": "array", b'"': "text"}
_ESCAPE_BYTES = 12

NodeKind = Literal["object", "array", "text", "scalar"]


class JsonSource(Protocol):
    """A document of which any range of bytes can be read."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from offset `start` up to `end` or the end of the document.

        Raises `OSError` or `UserError`.
        """


class MemorySource(Struct, frozen=True):
    """A document whose bytes are in memory."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from offset `start` up to `end` or the end of the document; never fails."""
        return self.data[start:end]


class FileSource(Struct, frozen=True):
    """A regular file, read up to the size that it had when it was opened."""

    path: Path
    size: int

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from offset `start` up to `end` or the end of the document.

        The file is opened for each call. Raises `OSError`.
        """
        with open(_opened(self.path), "rb") as file:
            file.seek(start)
            return file.read(max(0, min(end, self.size) - start))


def open_source(path: Path) -> FileSource:
    """Return a source for the file at `path`. Raises `OSError` if it is not a regular file."""
    with open(_opened(path), "rb") as file:
        return FileSource(path, os.fstat(file.fileno()).st_size)


class JsonNode(Struct, frozen=True):
    """The place of one value in a document: the bytes `start` to `end` of its source."""

    key: str | int
    """The name or list index of the value; empty for the whole document."""
    kind: NodeKind
    start: int
    end: int
    level: int = 0
    """The depth of the value in the document; 0 for the whole document."""

    @property
    def size(self) -> int:
        return self.end - self.start

    @property
    def is_container(self) -> bool:
        return self.kind in ("object", "array")


def layout(source: JsonSource) -> JsonNode | None:
    """Return the root of a document if it is a JSON object with two spaces of indentation a level, else None.

    Only such a document can be read in parts. Only its beginning is checked.
    """
    head = source.read(0, CHUNK)
    if not re.match(rb'(?:\xef\xbb\xbf)?\{\r?\n  "', head):
        return None
    tail = source.read(max(0, source.size - CHUNK), source.size).rstrip()
    end = max(0, source.size - CHUNK) + len(tail)
    return JsonNode("", "object", head.index(b"{"), end)


def children(
    source: JsonSource, node: JsonNode, *, limit: int, skip: int = 0
) -> tuple[tuple[JsonNode, ...], bool]:
    """Return at most `limit` members of `node` after its first `skip` ones, and whether more follow.

    `node`: an object or a list (any other value has no members) in the document `source`.
    """
    if not node.is_container:
        return (), False
    found: list[JsonNode] = []
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


def member(source: JsonSource, node: JsonNode, key: str) -> JsonNode | None:
    """Return the member `key` of the object `node` of the document `source`; None if it does not exist.

    Only the first 10,000 members are examined.
    """
    found, _more = children(source, node, limit=10_000)
    return next((child for child in found if child.key == key), None)


def text_of(source: JsonSource, node: JsonNode, limit: int) -> tuple[str, bool]:
    """Return the text of `node`, a JSON string in `source`, and whether it is the whole text.

    At most about `limit` bytes are read.
    """
    raw = source.read(node.start, min(node.end, node.start + limit + 2))
    whole = node.size <= limit + 2
    if whole:
        try:
            return str(json.loads(raw.decode("utf-8", "replace"), strict=False)), True
        except ValueError:
            whole = False
    return _cut_text(raw), whole


def _cut_text(raw: bytes) -> str:
    """Decode the JSON string `raw`, of which the end is missing, as far as possible."""
    body = raw.decode("utf-8", "ignore").removeprefix('"')
    # An escape, or one of a surrogate pair of escapes, may have been cut.
    for cut in range(min(_ESCAPE_BYTES, len(body)) + 1):
        try:
            return str(json.loads(f'"{body[: len(body) - cut]}"', strict=False))
        except ValueError:
            continue
    return body


def _starts(source: JsonSource, node: JsonNode) -> Iterator[int]:
    """Yield the offset of the line break before each member of `node`, an object or a list."""
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


def _child(source: JsonSource, parent: JsonNode, place: int, start: int, end: int) -> JsonNode:
    level = parent.level + 1
    line = start + 1 + 2 * level
    end = _value_end(source, start, end, last=end == parent.end)
    key: str | int = place
    head = source.read(line, min(line + _KEY_BYTES, max(end, line + 1)))
    if parent.kind == "object":
        match = _KEY.match(head)
        if match is None:
            return JsonNode(head[:40].decode("utf-8", "replace"), "scalar", end, end, level)
        key = _cut_text(b'"' + match[1])
        line, head = line + match.end(), head[match.end() :]
    return JsonNode(key, _KINDS.get(head[:1], "scalar"), line, max(line, end), level)


def _value_end(source: JsonSource, start: int, end: int, *, last: bool) -> int:
    """Return the offset at which the value of a member ends.

    `start`: an offset before the end of the value. `end`: an offset after it: only white space follows the
    value up to `end`, and a comma or, if `last` (the member is the last one), the closing bracket of its
    container. All offsets are in bytes.
    """
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


PAGE = 200
MOST_HITS = 200
_PREVIEW_BYTES = 240
_VALUE_BYTES = 256 << 10
_AROUND = 60


class Excerpt(Struct, frozen=True):
    """The text of a value, or only its beginning; `is_whole` tells whether it is the whole value.

    The text of an object or list is formatted as in the document.
    """

    node: JsonNode
    text: str
    is_whole: bool


class DocumentPage(Struct, frozen=True):
    """Some members of a container (an object or a list), each with the beginning of its value.

    The text of a member that is itself a container is empty.
    """

    members: tuple[Excerpt, ...]
    more: bool
    """Whether further members follow."""


class DocumentHit(Struct, frozen=True):
    """One match of a search: the nodes from the root down to the match, and the text around the match."""

    path: tuple[JsonNode, ...]
    excerpt: str


def page_of(source: JsonSource, node: JsonNode, skip: int) -> DocumentPage:
    """Return a page of at most 200 members of `node`, an object or a list, after its first `skip` members.

    `source`: the document. Each member has the beginning of its value, for display.
    """
    found, more = children(source, node, limit=PAGE, skip=skip)
    return DocumentPage(tuple(_beginning(source, child) for child in found), more)


def value_of(source: JsonSource, node: JsonNode) -> Excerpt:
    """Return the value `node` of the document `source` for display and copying, cut off after 256 KiB."""
    if node.kind == "text":
        return Excerpt(node, *text_of(source, node, _VALUE_BYTES))
    raw = source.read(node.start, min(node.end, node.start + _VALUE_BYTES)).decode("utf-8", "replace")
    indent = "  " * node.level
    return Excerpt(node, raw.replace(f"\n{indent}", "\n"), node.size <= _VALUE_BYTES)


def places_of(
    source: JsonSource, root: JsonNode, needle: str, check: Callable[[], None]
) -> tuple[DocumentHit, ...]:
    """Search names and values below `root` for the text `needle`, ignoring case; return the matches in order.

    There is at most one match per value, and at most `MOST_HITS` in all; none if `needle` is empty. `source`:
    the document. `check` is called for each part that is read and may raise to stop.
    """
    if not needle:
        return ()
    spelled = {json.dumps(needle, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)}
    pattern = re.compile(
        b"|".join(re.escape(each.encode("utf-8", "replace")) for each in spelled), re.IGNORECASE
    )
    overlap = 8 * len(needle) + 16
    hits: list[DocumentHit] = []
    position, last = root.start, -1
    while position < root.end and len(hits) < MOST_HITS:
        check()
        chunk = source.read(position, min(position + CHUNK + overlap, root.end))
        for match in pattern.finditer(chunk):
            at = position + match.start()
            if match.start() >= CHUNK or at <= last or len(hits) >= MOST_HITS:
                continue
            path = _path_to(source, root, at)
            hits.append(DocumentHit(path, _around(chunk, match)))
            # One hit per member, however often the word occurs in it.
            last = path[-1].end if not path[-1].is_container else at
        position += CHUNK
    return tuple(hits)


def _beginning(source: JsonSource, node: JsonNode) -> Excerpt:
    if node.is_container:
        return Excerpt(node, "", False)
    if node.kind == "text":
        return Excerpt(node, *text_of(source, node, _PREVIEW_BYTES))
    raw = source.read(node.start, min(node.end, node.start + _PREVIEW_BYTES))
    return Excerpt(node, raw.decode("utf-8", "replace"), True)


def _path_to(source: JsonSource, root: JsonNode, at: int) -> tuple[JsonNode, ...]:
    path = [root]
    while path[-1].is_container:
        skip, found = 0, None
        while found is None:
            page, more = children(source, path[-1], limit=PAGE, skip=skip)
            # Bytes before a value belong to its name.
            found = next((child for child in page if at < child.end), None)
            skip += PAGE
            if not more:
                break
        if found is None:
            break
        path.append(found)
    return tuple(path)


def _around(chunk: bytes, match: re.Match[bytes]) -> str:
    start, end = max(0, match.start() - _AROUND), match.end() + _AROUND
    text = chunk[start:end].decode("utf-8", "ignore")
    return " ".join(text.split())
