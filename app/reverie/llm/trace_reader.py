"""Reading trace dumps: both generations of mux's, and Reverie's own.

`read_dump` returns a document of limited size, whatever the size of the file: long texts are truncated, long
lists end early, and both are reported (`shortened`). A damaged dump is read as far as possible, with a
sentence on the damage (`damage`). Field names are as in formats/mux.md section 14.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError` if the file cannot be read at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reverie.errors import UserError, user_error_from_os
from reverie.llm.json_document import (
    JsonNode,
    JsonSource,
    MemorySource,
    children,
    layout,
    open_source,
    text_of,
)
from reverie.llm.json_salvage import MORE_FOLLOWS, salvage
from reverie.values import Struct

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
    """One dump (trace file) as it was read: its document, and whether that is damaged or shortened."""

    document: Mapping[str, Any]
    size: int
    """In bytes."""
    damage: str
    """A sentence about the damage; empty if there is none."""
    lost: bool
    """Whether parts of the document are missing because of damage."""
    shortened: bool
    """Whether long parts were left out or cut."""
    source: JsonSource
    """The unchanged document, for a tree view that reads it piece by piece."""
    root: JsonNode | None
    """The root of the document; None if nothing of it could be read."""


def read_dump(path: Path, *, sketch: bool = False) -> Dump:
    """Read the dump (trace file) at `path`; raise `UserError` if it cannot be read.

    Damaged content is read as far as possible, and the damage is described in the result. `sketch`: leave out
    the long parts of a large dump (prompts, messages and events).
    """
    try:
        source = open_source(path)
        return _dump_of(source, sketch=sketch)
    except OSError as error:
        raise _unreadable(path, error) from error


def dump_of(data: bytes) -> Dump:
    """Return the dump (trace file) with the content `data`.

    Damaged content is read as far as possible, and the damage is described in the result. The long texts of a
    large file are shortened.
    """
    return _dump_of(MemorySource(data), sketch=False)


def _dump_of(source: JsonSource, *, sketch: bool) -> Dump:
    if source.size <= WHOLE_BYTES:
        return _small(source)
    root = layout(source)
    if root is None:
        head = MemorySource(source.read(0, WHOLE_BYTES))
        found = _small(head)
        damage = (
            f"The file is not structured like a trace, and only the first {WHOLE_BYTES:,} of its "
            f"{source.size:,} bytes were read."
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
        told = "The trace could be read only in part" if lost else "The trace is damaged"
        damage = f"{told}: {wrong}." if wrong else ""
    if not isinstance(value, dict):
        kind = {list: "a list", str: "a text", type(None): "nothing"}.get(type(value), "a single value")
        damage = damage or f"The file contains {kind}, not a trace."
        value, lost = ({} if value is None else {"value": value}), True
    root = None if damage else layout(source)
    if root is None:
        source = MemorySource(_laid_out(value))
        root = layout(source)
    return Dump(value, len(raw), damage, lost, False, source, root)


class _Reading(Struct):
    """A decoder of parts of a large document, with one limit of size for all parts together.

    `text_bytes`: the number of bytes after which a single text is cut. `skip`: the names of members that are
    left out. `left`: the number of bytes that may still be decoded. `damage`: the reason why a part could not
    be decoded; empty if there is none. `shortened`: whether anything was cut or left out.
    """

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
                self.damage = f"The trace could be read only in part: in “{node.key}” {wrong}."
            return value


def _no_number(_name: str) -> None:
    """Return None in place of NaN or an infinity, which are not valid JSON."""


def _ends_first(nodes: list[JsonNode]) -> list[JsonNode]:
    """Return `nodes` in the order in which to decode them: long, unimportant members come last.

    If the limit of size is reached, these are the ones that are cut.
    """
    return sorted(nodes, key=lambda node: (node.key in _BULK, node.size if node.key in _BULK else 0))


def _laid_out(value: dict[str, Any]) -> bytes:
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _unreadable(path: Path, error: OSError) -> UserError:
    return user_error_from_os(error, f"The trace {path.name} could not be read.")
