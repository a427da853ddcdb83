"""A trace's document, read piece by piece: a page of members, what a line shows of one, its value, and a
search through all of it.

No size is too large: nothing reads more than it shows, and the search goes through the document in chunks.
Pure, for jobs. Failure: an `OSError` of the file goes through.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from reverie.agent.dump_source import CHUNK, Node, Source, children, text_of
from reverie.ui.shown import human_size

PAGE = 200
MOST_HITS = 200
_PREVIEW_BYTES = 240
_VALUE_BYTES = 256 << 10
_AROUND = 60


@dataclass(frozen=True, slots=True)
class Piece:
    """A member as a job read it."""

    node: Node
    preview: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One place that a search found: the nodes from the root down to it, and the text around it."""

    path: tuple[Node, ...]
    excerpt: str


def read_page(source: Source, node: Node, skip: int) -> tuple[tuple[Piece, ...], bool]:
    """A page of members with what is shown of each."""
    found, more = children(source, node, limit=PAGE, skip=skip)
    return tuple(Piece(child, preview(source, child)) for child in found), more


def preview(source: Source, node: Node) -> str:
    """What a member's line shows of it."""
    if node.kind == "object":
        return "{…}" + f" {human_size(node.size)}"
    if node.kind == "array":
        return "[…]" + f" {human_size(node.size)}"
    if node.kind == "text":
        text, whole = text_of(source, node, _PREVIEW_BYTES)
        line = " ".join(text.split())
        return line if whole else f"{line}… {human_size(node.size)}"
    return source.read(node.start, min(node.end, node.start + _PREVIEW_BYTES)).decode("utf-8", "replace")


def full_text(source: Source, node: Node) -> str:
    """A member's value to read and to copy, cut where it is very long."""
    if node.kind == "text":
        text, whole = text_of(source, node, _VALUE_BYTES)
        return text if whole else f"{text}… [{human_size(node.size)}]"
    raw = source.read(node.start, min(node.end, node.start + _VALUE_BYTES)).decode("utf-8", "replace")
    indent = "  " * node.level
    text = raw.replace(f"\n{indent}", "\n")
    return text if node.size <= _VALUE_BYTES else f"{text}… [{human_size(node.size)}]"


def search(source: Source, root: Node, needle: str, check: Callable[[], None]) -> tuple[Hit, ...]:
    """Where `needle` stands in names or values, in the order of the document."""
    if not needle:
        return ()
    spelled = {json.dumps(needle, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)}
    pattern = re.compile(
        b"|".join(re.escape(each.encode("utf-8", "replace")) for each in spelled), re.IGNORECASE
    )
    overlap = 8 * len(needle) + 16
    hits: list[Hit] = []
    position, last = root.start, -1
    while position < root.end and len(hits) < MOST_HITS:
        check()
        chunk = source.read(position, min(position + CHUNK + overlap, root.end))
        for match in pattern.finditer(chunk):
            at = position + match.start()
            if match.start() >= CHUNK or at <= last or len(hits) >= MOST_HITS:
                continue
            path = _path_to(source, root, at)
            hits.append(Hit(path, _excerpt(chunk, match)))
            # One line per member, however often it stands there.
            last = path[-1].end if not path[-1].is_container else at
        position += CHUNK
    return tuple(hits)


def _path_to(source: Source, root: Node, at: int) -> tuple[Node, ...]:
    path = [root]
    while path[-1].is_container:
        skip, found = 0, None
        while found is None:
            page, more = children(source, path[-1], limit=PAGE, skip=skip)
            # What stands before a value is its name.
            found = next((child for child in page if at < child.end), None)
            skip += PAGE
            if not more:
                break
        if found is None:
            break
        path.append(found)
    return tuple(path)


def _excerpt(chunk: bytes, match: re.Match[bytes]) -> str:
    start, end = max(0, match.start() - _AROUND), match.end() + _AROUND
    text = chunk[start:end].decode("utf-8", "ignore")
    return " ".join(text.split())
