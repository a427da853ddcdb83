"""Reading trace dumps: both generations of mux's, and Reverie's own.

`read_dump` returns a document of bounded size, whatever the file's: long texts are cut, long lists end early,
and both are reported (`shortened`). A damaged dump is read as far as possible, with a sentence on the damage
(`damage`). Field names are those of formats/mux.md section 14.

A document on disk is read in parts, because a trace may have 200 MB. `JSON.stringify(value, null, 2)` puts
every member on a line of its own, indented by two spaces a level, and no string contains a raw line break. So
a member of level `n` begins at a line that begins with exactly `2n` spaces, and ends where the next one
begins: one search through the bytes finds the members of a level without decoding them. Any other document
(see `layout`) is decoded whole, up to a limit, and formatted again in memory. At most one chunk (1 MiB) and
the requested part are in memory; a file is opened per read, without following a link or blocking on a pipe.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError` if the file cannot be read at all;
functions on a `JsonSource` raise `OSError`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol

from reverie.errors import UserError, user_error_from_os
from reverie.files.directory import open_regular
from reverie.values import Struct

CHUNK = 1 << 20
_KEY_BYTES = 4096
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*', re.DOTALL)
_KINDS: dict[bytes, NodeKind] = {b"{": "object", b"[": "array", b'"': "text"}
_ESCAPE_BYTES = 12

NodeKind = Literal["object", "array", "text", "scalar"]


class JsonSource(Protocol):
    """Bytes with random access."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end` or the end of the document.

        Raises `OSError` or `UserError`.
        """


class MemorySource(Struct, frozen=True):
    """A document in memory."""

    data: bytes

    @property
    def size(self) -> int:
        return len(self.data)

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end` or the end of the document; never fails."""
        return self.data[start:end]


class FileSource(Struct, frozen=True):
    """A regular file, read up to the size that it had when it was opened."""

    path: Path
    size: int

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes from `start` up to `end` or the end of the document, opening the file for it."""
        with open(_opened(self.path), "rb") as file:
            file.seek(start)
            return file.read(max(0, min(end, self.size) - start))


def open_source(path: Path) -> FileSource:
    """Return a source for the file at `path`. Raises `OSError` if it is not a regular file."""
    with open(_opened(path), "rb") as file:
        return FileSource(path, os.fstat(file.fileno()).st_size)


class JsonNode(Struct, frozen=True):
    """One value of a document: `source[start:end]`."""

    key: str | int
    """The name or list index of the value; empty for the whole document."""
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


def layout(source: JsonSource) -> JsonNode | None:
    """Return the root of a document that is an object indented with two spaces a level, else None."""
    head = source.read(0, CHUNK)
    if not re.match(rb'(?:\xef\xbb\xbf)?\{\r?\n  "', head):
        return None
    tail = source.read(max(0, source.size - CHUNK), source.size).rstrip()
    end = max(0, source.size - CHUNK) + len(tail)
    return JsonNode("", "object", head.index(b"{"), end)


def children(
    source: JsonSource, node: JsonNode, *, limit: int, skip: int = 0
) -> tuple[tuple[JsonNode, ...], bool]:
    """Return at most `limit` members of a container, starting with number `skip`, and whether more follow."""
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
    """Return one member of an object by name; None if it does not exist."""
    found, _more = children(source, node, limit=10_000)
    return next((child for child in found if child.key == key), None)


def text_of(source: JsonSource, node: JsonNode, limit: int) -> tuple[str, bool]:
    """Return the text of a text node, and whether it is complete; reads at most about `limit` bytes."""
    raw = source.read(node.start, min(node.end, node.start + limit + 2))
    whole = node.size <= limit + 2
    if whole:
        try:
            return str(json.loads(raw.decode("utf-8", "replace"), strict=False)), True
        except ValueError:
            whole = False
    return _cut_text(raw), whole


def _cut_text(raw: bytes) -> str:
    """Decode as much of a JSON text as possible if its end is missing."""
    body = raw.decode("utf-8", "ignore").removeprefix('"')
    # An escape, or one of a surrogate pair of escapes, may have been cut.
    for cut in range(min(_ESCAPE_BYTES, len(body)) + 1):
        try:
            return str(json.loads(f'"{body[: len(body) - cut]}"', strict=False))
        except ValueError:
            continue
    return body


def _starts(source: JsonSource, node: JsonNode) -> Iterator[int]:
    """Yield the starts of a container's members (the line break before each)."""
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
    """Return `end` without the comma, and for the last member without the container's closing bracket."""
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
    """A value, or the beginning of it; a container in the formatting of the document."""

    node: JsonNode
    text: str
    is_whole: bool


class DocumentPage(Struct, frozen=True):
    """Some members of a container, each with the beginning of its value; nested containers without."""

    members: tuple[Excerpt, ...]
    more: bool
    """Whether further members follow."""


class DocumentHit(Struct, frozen=True):
    """One match of a search: the nodes from the root down to it, and the text around it."""

    path: tuple[JsonNode, ...]
    excerpt: str


def page_of(source: JsonSource, node: JsonNode, skip: int) -> DocumentPage:
    """Return a page of members of a container, starting with number `skip`."""
    found, more = children(source, node, limit=PAGE, skip=skip)
    return DocumentPage(tuple(_beginning(source, child) for child in found), more)


def value_of(source: JsonSource, node: JsonNode) -> Excerpt:
    """Return a value for reading and copying, cut if it is very long."""
    if node.kind == "text":
        return Excerpt(node, *text_of(source, node, _VALUE_BYTES))
    raw = source.read(node.start, min(node.end, node.start + _VALUE_BYTES)).decode("utf-8", "replace")
    indent = "  " * node.level
    return Excerpt(node, raw.replace(f"\n{indent}", "\n"), node.size <= _VALUE_BYTES)


def places_of(
    source: JsonSource, root: JsonNode, needle: str, check: Callable[[], None]
) -> tuple[DocumentHit, ...]:
    """Return the matches of `needle` in names and values, in the order of the document.

    `check` is called for each chunk and may raise to stop.
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


_TOKEN = re.compile(
    r"\s*(?:(?P<mark>[{}\[\],:])"
    r'|(?P<text>"[^"\\]*(?:\\.[^"\\]*)*")'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=[\s,\]}])"
    r"|(?P<word>true|false|null)\b)",
    re.DOTALL,
)
_OPEN_TEXT = re.compile(r'\s*"(?P<body>[^"\\]*(?:\\.[^"\\]*)*)\\?\Z', re.DOTALL)
_MAX_DEPTH = 200
MORE_FOLLOWS = "more follows after its end"
"""Start of a problem with a text of which nothing is missing."""

_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None}
_MISSING = object()


def salvage(text: str) -> tuple[Any, str]:
    """Return the readable beginning of a damaged JSON text, with open brackets closed, and the problem.

    The problem is empty for valid JSON, the value None if nothing could be read. Time and memory are linear
    in its length; deep nesting ends the reading, not the program.
    """
    reader = _DamagedJsonReader()
    position = len(text) - len(text.lstrip("\ufeff"))
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            break
        position = match.end()
        problem = reader.take(match)
        if problem:
            return reader.value, f"{problem} at character {match.start():,}"
        if reader.complete:
            rest = text[position:].strip(" \t\r\n\0")
            return reader.value, f"{MORE_FOLLOWS}, from character {position:,} on" if rest else ""
    left = text[position:]
    if not left.strip():
        return reader.value, "it ends in the middle" if text.strip() else "it is empty"
    open_text = _OPEN_TEXT.match(left)
    if open_text is not None:
        reader.put(_decoded(open_text["body"]))
        return reader.value, "it ends in the middle of a text"
    return reader.value, f"it is not JSON from character {position:,} on"


class _DamagedJsonReader:
    """A builder of values from tokens; `value` is the result so far."""

    def __init__(self) -> None:
        self.value: Any = None
        self.complete = False
        self._open: list[Any] = []
        self._keys: list[Any] = []

    def take(self, match: re.Match[str]) -> str:
        """Add one token; return the problem with it, if any."""
        if match["mark"]:
            return self._mark(match["mark"])
        if match["text"]:
            value: Any = _decoded(match["text"][1:-1])
            if self._wants_key:
                self._keys[-1] = value
                return ""
        elif match["number"]:
            value = _number(match["number"])
        else:
            value = _WORDS[match["word"]]
        if self._wants_key:
            return "a name is missing"
        self.put(value)
        self.complete = not self._open
        return ""

    def put(self, value: Any) -> None:
        if not self._open:
            self.value = value
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        elif self._keys[-1] is not _MISSING:
            self._open[-1][self._keys[-1]] = value
            self._keys[-1] = _MISSING

    @property
    def _wants_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1], dict) and self._keys[-1] is _MISSING

    def _mark(self, mark: str) -> str:
        if mark in "{[":
            if self._wants_key:
                return "a name is missing"
            if len(self._open) >= _MAX_DEPTH:
                return "it is nested too deeply"
            container: Any = {} if mark == "{" else []
            self.put(container)
            self._open.append(container)
            self._keys.append(_MISSING)
        elif mark in "}]":
            if not self._open or isinstance(self._open[-1], dict) != (mark == "}"):
                return "brackets do not match"
            self._open.pop()
            self._keys.pop()
            self.complete = not self._open
        elif not self._open:
            return "it does not begin with a value"
        return ""


def _decoded(body: str) -> str:
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return body


def _number(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # more digits than Python converts
        return text


WHOLE_BYTES = 8 << 20
"""Documents up to this size are decoded at once."""

_TEXT_BYTES = 1 << 20
_SKETCH_TEXT_BYTES = 4096
_MOST_ITEMS = 2_000
_SMALL_BYTES = 64 << 10
_DECODED_BYTES = 16 << 20
# The members that make dumps large and that a row of a list does not need.
_BULK = frozenset(
    {
        "systemPrompt",
        "existingMemory",
        "userMessage",
        "events",
        "messages",
        "globalAgentsMd",
        "contextAgentsMd",
    }
)


class Dump(Struct, frozen=True):
    """One dump."""

    document: Mapping[str, Any]
    size: int
    damage: str
    lost: bool
    """Whether parts of it are missing because of damage."""
    shortened: bool
    source: JsonSource
    """The document as it is, for a tree that opens it piece by piece."""
    root: JsonNode | None
    """None: nothing of it could be read."""


def read_dump(path: Path, *, sketch: bool = False) -> Dump:
    """Return the dump at `path`. Raises `UserError`.

    A `sketch` of a large one leaves out the long parts: prompts, messages and events.
    """
    try:
        source = open_source(path)
        return _dump_of(source, sketch=sketch)
    except OSError as error:
        raise _unreadable(path, error) from error


def dump_of(data: bytes) -> Dump:
    """Return the dump with these bytes."""
    return _dump_of(MemorySource(data), sketch=False)


def _dump_of(source: JsonSource, *, sketch: bool) -> Dump:
    if source.size <= WHOLE_BYTES:
        return _small(source)
    root = layout(source)
    if root is None:
        head = MemorySource(source.read(0, WHOLE_BYTES))
        found = _small(head)
        damage = (
            f"It is not laid out as dumps are, and of its {source.size:,} bytes only the first "
            f"{WHOLE_BYTES:,} were read."
        )
        return Dump(found.document, source.size, damage, True, True, found.source, found.root)
    reading = _Reading(
        source, _SKETCH_TEXT_BYTES if sketch else _TEXT_BYTES, skip=_BULK if sketch else frozenset()
    )
    document = reading.value(root)
    lost = bool(reading.damage)
    return Dump(document, source.size, reading.damage, lost, reading.shortened, source, root)


def _small(source: JsonSource) -> Dump:
    raw = source.read(0, source.size)
    text = raw.decode("utf-8", "replace").removeprefix("\ufeff")
    damage, lost = "", False
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        value, wrong = salvage(text)
        lost = bool(wrong) and not wrong.startswith(MORE_FOLLOWS)
        told = "It could be read in part only" if lost else "It is damaged"
        damage = f"{told}: {wrong}." if wrong else ""
    if not isinstance(value, dict):
        kind = {list: "a list", str: "a text", type(None): "nothing"}.get(type(value), "a single value")
        damage = damage or f"It holds {kind}, not a trace."
        value, lost = ({} if value is None else {"value": value}), True
    root = None if damage else layout(source)
    if root is None:
        source = MemorySource(_laid_out(value))
        root = layout(source)
    return Dump(value, len(raw), damage, lost, False, source, root)


class _Reading(Struct):
    """A decoder for parts of a large document, up to a limit for all of them together."""

    source: JsonSource
    text_bytes: int
    skip: frozenset[str]
    left: int = _DECODED_BYTES
    damage: str = ""
    shortened: bool = False

    def value(self, node: JsonNode) -> Any:
        if node.kind == "text":
            limit = max(0, min(self.text_bytes, self.left))
            text, whole = text_of(self.source, node, limit)
            self.left -= min(node.size, limit)
            self.shortened = self.shortened or not whole
            return text if whole else f"{text}… [{node.size:,} bytes in all]"
        if not node.is_container or node.size <= min(_SMALL_BYTES, self.left):
            return self._decoded(node)
        found, more = children(self.source, node, limit=_MOST_ITEMS)
        self.shortened = self.shortened or more
        if not found:
            return self._decoded(node)
        if node.kind == "object":
            wanted = [child for child in found if child.key not in self.skip]
            self.shortened = self.shortened or len(wanted) < len(found)
            return {str(child.key): self.value(child) for child in _ends_first(wanted)}
        if self.left <= 0:
            self.shortened = True
            return []
        return [self.value(child) for child in found]

    def _decoded(self, node: JsonNode) -> Any:
        raw = self.source.read(node.start, min(node.end, node.start + _TEXT_BYTES))
        self.left -= len(raw)
        text = raw.decode("utf-8", "replace")
        try:
            return json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError):
            value, wrong = salvage(text)
            if wrong:
                self.damage = f"It could be read in part only: in “{node.key}” {wrong}."
            return value


def _no_number(_name: str) -> None:
    """Replace NaN and the like, which are not valid JSON, by None."""


def _ends_first(nodes: list[JsonNode]) -> list[JsonNode]:
    """Sort the facts about the end of a run before members that may use up the limit."""
    return sorted(nodes, key=lambda node: (node.key in _BULK, node.size if node.key in _BULK else 0))


def _laid_out(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _unreadable(path: Path, error: OSError) -> UserError:
    return user_error_from_os(error, f"The trace {path.name} was not read.")
