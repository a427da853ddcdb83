"""Front matter as a form: what its keys say, and one value set, added or removed.

An edit changes the value's own characters, or whole lines of its key, and nothing else: key order, quoting
style, comments, indentation, line ends and byte order mark stay. The value is written in the style it had
where that can say it. Every edit is read again by the agents' own YAML rules (`memory.yaml12`) before it is
believed: the value reads back the same, and everything else says what it said. What cannot be done so is
refused with `FrontError`; nothing is ever half done.

Pure functions, any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.memory import yaml12
from reverie.memory.front_value import BLOCK_HEADER, blocks, key_line, key_text, scalars
from reverie.memory.frontmatter import BOM, EMPTY, Frontmatter, literal, outline, split

Reason = Literal["malformed", "not-a-mapping", "unclosed", "not-a-text", "too-long", "cannot"]
Key = str | Sequence[str]

_OPEN = re.compile(r"---(\r?\n)")
_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)*")


class FrontError(ValueError):
    """The front matter cannot be changed so. `reason` says why; what to do is to edit the text itself."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason: Reason = reason


@dataclass(frozen=True, slots=True)
class FrontEntry:
    """One key. `path` has one part, or two for a key inside a mapping. `text` is None for what is no string
    (a number, a list, a mapping with deeper ones); `raw` is how it is written."""

    path: tuple[str, ...]
    text: str | None
    raw: str


@dataclass(frozen=True, slots=True)
class Front:
    """What the front matter says. `problem` is empty, or why it says nothing; `line` (from 1, in the file) is
    where the parser stopped, 0 if it did not say."""

    there: bool
    problem: Reason | Literal[""] = ""
    line: int = 0
    entries: tuple[FrontEntry, ...] = ()

    def text(self, *path: str) -> str | None:
        """The string that a key says, None if it is not there or says something else."""
        return next((entry.text for entry in self.entries if entry.path == path), None)


def read(text: str, prefix_bytes: int | None = None) -> Front:
    """The front matter of a file's whole text. `prefix_bytes`: how far the agent looks for its end."""
    block = split(text)
    if block is None:
        return Front(there=False, problem="unclosed" if _is_unclosed(text) else "")
    raw = text[block.block_start : block.block_end]
    try:
        root = yaml12.parse(raw)
    except yaml12.MalformedError as error:
        mark = getattr(error.__cause__, "problem_mark", None)
        return Front(there=True, problem="malformed", line=mark.line + 2 if mark is not None else 0)
    if root is not None and root.kind != "mapping":
        return Front(there=True, problem="not-a-mapping", line=root.line + 2)
    late = prefix_bytes is not None and split(text, prefix_bytes) is None
    return Front(there=True, problem="too-long" if late else "", entries=tuple(_entries(raw, root)))


def set_value(text: str, key: Key, value: str, prefix_bytes: int | None = None) -> str:
    """`text` with the string `value` under `key`, a name or a path of two names.

    A key that is not there is added below the last one, front matter that is not there above the text. With
    `prefix_bytes` also: the agent, which looks no further, still sees the block. Raises `FrontError`.
    """
    path = _path(key)
    before = read(text)
    _refuse(before)
    if before.text(*path) == value:
        return text
    for candidate in _with(text, path, value):
        if _says(candidate, path) == value and _rest(candidate, path) == _rest(text, path):
            if prefix_bytes is not None and split(candidate, prefix_bytes) is None:
                was_seen = not before.there or split(text, prefix_bytes) is not None
                if was_seen:
                    raise FrontError("too-long")
            return candidate
    raise FrontError("cannot")


def remove(text: str, key: Key) -> str:
    """`text` without `key`. A mapping that would be empty goes, too, and so does a block that would hold
    nothing. Raises `FrontError`."""
    path = _path(key)
    _refuse(read(text))
    while True:
        block, root = _parsed(text)
        chain = _chain(root, path)
        if block is None or chain is None:
            return text
        parent = chain[-1][0]
        if len(path) == 1 or len(parent.children) > 2:
            break
        path = path[:-1]
    key_node, value_node = chain[-1][1]
    for candidate in _without(text, block, parent, key_node, value_node):
        if not _has(candidate, path) and _rest(candidate, path) == _rest(text, path):
            return candidate
    raise FrontError("cannot")


# Reading


def _path(key: Key) -> tuple[str, ...]:
    return (key,) if isinstance(key, str) else tuple(key)


def _refuse(front: Front) -> None:
    if front.problem and front.problem != "too-long":
        raise FrontError(front.problem)


def _is_unclosed(text: str) -> bool:
    start = len(BOM) if text.startswith(BOM) else 0
    return _OPEN.match(text, start) is not None and EMPTY.match(text, start) is None


def _parsed(text: str) -> tuple[Frontmatter | None, yaml12.Node | None]:
    block = split(text)
    return block, yaml12.parse(text[block.block_start : block.block_end]) if block is not None else None


def _entries(raw: str, root: yaml12.Node | None) -> Iterator[FrontEntry]:
    for key, value in root.pairs() if root is not None else ():
        name = key.value.text
        if name is None:
            continue
        inner = list(value.pairs()) if value.kind == "mapping" else []
        if inner and all(each.value.text is not None for each, _ in inner):
            for below, node in inner:
                yield FrontEntry((name, below.value.text or ""), node.value.text, raw[node.start : node.end])
        else:
            yield FrontEntry((name,), value.value.text, raw[value.start : value.end].rstrip())


def _chain(
    root: yaml12.Node | None, path: tuple[str, ...]
) -> list[tuple[yaml12.Node, tuple[yaml12.Node, yaml12.Node]]] | None:
    """Mapping and entry for each part of the path, or None."""
    found, node = [], root
    for part in path:
        entry = node.entry(part) if node is not None else None
        if node is None or entry is None:
            return None
        found.append((node, entry))
        node = entry[1]
    return found


def _says(text: str, path: tuple[str, ...]) -> str | None:
    """The string under a path; `None` also for what does not parse."""
    try:
        chain = _chain(_parsed(text)[1], path)
    except yaml12.MalformedError:
        return None
    return chain[-1][1][1].value.text if chain is not None else None


def _has(text: str, path: tuple[str, ...]) -> bool:
    """Something stands under a path; what does not parse counts as having it."""
    try:
        return _chain(_parsed(text)[1], path) is not None
    except yaml12.MalformedError:
        return True


def _rest(text: str, path: tuple[str, ...]) -> object:
    """Everything that a file says but what is under a path: the other keys, and its body."""
    try:
        block, root = _parsed(text)
    except yaml12.MalformedError:
        return None
    body = text[block.body_start :] if block is not None else _body(text)
    return body, _others(root, path)


def _body(text: str) -> str:
    start = len(BOM) if text.startswith(BOM) else 0
    empty = EMPTY.match(text, start)
    if empty is None:
        return text[start:]
    fence = re.compile(r"---(?:\r?\n|\Z)").match(text, empty.end())
    return text[fence.end() :] if fence is not None else text[start:]


def _others(node: yaml12.Node | None, path: tuple[str, ...]) -> object:
    if node is None:
        return ()
    if node.kind != "mapping":
        return () if node.value.identity == ("null", None) else outline(node)
    found = []
    for key, value in node.pairs():
        if key.value.text != path[0]:
            found.append((outline(key), outline(value)))
        elif len(path) > 1 and (inner := _others(value, path[1:])):
            found.append((outline(key), inner))
    return tuple(found)


# Setting


def _with(text: str, path: tuple[str, ...], value: str) -> Iterator[str]:
    """Ways to set a value, the best first; they may turn out wrong."""
    block, root = _parsed(text)
    if block is None:
        yield from _with_new_block(text, path, value)
        return
    raw = text[block.block_start : block.block_end]
    start, end, newline = text[: block.block_start], text[block.block_end :], block.newline
    if root is None:
        line = key_line(path, value, "", newline)
        yield f"{start}{line}{newline}{raw}{end}"
        yield f"{start}{raw}{newline}{line}{end}"
        return
    chain = _chain(root, path)
    if chain is not None:
        parent, (key, node) = chain[-1]
        changed = _replaced(raw, parent, key, node, value)
    else:
        above = _chain(root, path[:-1])
        nested = above[-1][1][1] if above else None
        if nested is None:
            changed = _added(raw, root, path, value, newline)
        elif nested.kind == "mapping":
            changed = _added(raw, nested, path[-1:], value, newline)
        elif nested.value.identity == ("null", None):
            space = "" if raw[: nested.start].endswith((" ", "\t")) else " "
            flow = f"{space}{{{key_text(path[-1])}: {literal(value, quoted=True)}}}"
            changed = iter((raw[: nested.start] + flow + raw[nested.end :],))
        else:
            raise FrontError("not-a-text")
    for candidate in changed:
        yield start + candidate + end


def _with_new_block(text: str, path: tuple[str, ...], value: str) -> Iterator[str]:
    start = len(BOM) if text.startswith(BOM) else 0
    empty = EMPTY.match(text, start)
    if empty is not None:
        yield text[: empty.end()] + key_line(path, value, "", empty[1]) + empty[1] + text[empty.end() :]
    newline = "\r\n" if text[: text.find("\n") + 1].endswith("\r\n") else "\n"
    fence = f"---{newline}"
    yield text[:start] + fence + key_line(path, value, "", newline) + newline + fence + text[start:]


def _replaced(
    raw: str, parent: yaml12.Node, key: yaml12.Node, node: yaml12.Node, value: str
) -> Iterator[str]:
    if node.kind == "mapping" or (node.kind == "sequence" and not node.flow):
        raise FrontError("not-a-text")
    if node.kind == "scalar" and node.style in ("|", ">"):
        old = raw[node.start : node.end].rstrip(" \t\r\n")
        tail = raw[node.start + len(old) :]
        for made in blocks(old, node.style, value):
            yield raw[: node.start] + made + tail
            yield raw[: node.start] + made + raw[node.end :]
        header = BLOCK_HEADER.match(old)
        comment = (header[2] or "") if header is not None else ""
        yield raw[: node.start] + literal(value, quoted=parent.flow) + comment + tail
        return
    absent = node.start == node.end
    if absent:
        # The parser marks what is absent where the next thing begins.
        colon = raw.find(":", key.end) + 1
        node = yaml12.Node("scalar", colon, colon, key.line, 0, node.value)
    kept = _PROPERTIES.match(raw, node.start, node.end)
    properties = kept[0] if kept is not None else ""
    space = " " if absent else ""
    for made in scalars(node.style, value, flow=parent.flow):
        for before in dict.fromkeys((properties, "")):
            yield raw[: node.start] + space + before + made + raw[node.end :]


def _added(raw: str, mapping: yaml12.Node, path: tuple[str, ...], value: str, newline: str) -> Iterator[str]:
    if mapping.flow:
        inner = literal(value, quoted=True)
        for name in reversed(path[1:]):
            inner = f"{{{key_text(name)}: {inner}}}"
        close = mapping.end - 1
        while close > mapping.start and raw[close - 1] in " \t\r\n":
            close -= 1
        comma = ", " if mapping.children and raw[close - 1] != "," else " " if mapping.children else ""
        yield f"{raw[:close]}{comma}{key_text(path[0])}: {inner}{raw[close:]}"
        return
    line = key_line(path, value, " " * mapping.column, newline)
    last = _line_end(raw, mapping.end)
    yield f"{raw[:last]}{newline}{line}{raw[last:]}"
    end = len(raw)
    yield f"{raw[:end]}{newline}{line}"
    first = raw.rfind("\n", 0, mapping.start) + 1
    yield f"{raw[:first]}{line}{newline}{raw[first:]}"


def _line_end(raw: str, at: int) -> int:
    """Where the line ends on which the last thing before `at` stands."""
    last = len(raw[:at].rstrip(" \t\r\n"))
    end = raw.find("\n", last)
    end = len(raw) if end < 0 else end
    return end - 1 if end > last and raw[end - 1] == "\r" else end


# Removing


def _without(
    text: str, block: Frontmatter, parent: yaml12.Node, key: yaml12.Node, node: yaml12.Node
) -> Iterator[str]:
    raw = text[block.block_start : block.block_end]
    start, end = text[: block.block_start], text[block.block_end :]
    if parent.flow:
        for cut in _flow_cuts(raw, parent, key, node):
            yield start + cut + end
        return
    first = raw.rfind("\n", 0, key.start) + 1
    # The parser marks what is absent where the next thing begins.
    last = _line_end(raw, key.end + 1 if node.start == node.end else node.end)
    after = raw.find("\n", last) + 1
    rest = raw[:first] + raw[after:] if after else raw[:first].removesuffix("\n").removesuffix("\r")
    if rest.strip():
        yield start + rest + end
        # Its last lines belonged to the value: blank ones that end a text.
        yield start + raw[: key.start] + raw[after:].lstrip(" ") + end
        return
    opening = len(BOM) if block.bom else 0
    yield text[:opening] + text[block.body_start :]
    yield start + "{}" + end


def _flow_cuts(raw: str, parent: yaml12.Node, key: yaml12.Node, node: yaml12.Node) -> Iterator[str]:
    place = parent.children.index(key)
    end = max(node.end, key.end)
    if place:
        yield raw[: max(parent.children[place - 1].end, parent.children[place - 2].end)] + raw[end:]
    elif len(parent.children) > 2:
        yield raw[: key.start] + raw[parent.children[2].start :]
    else:
        yield raw[: key.start] + raw[end:]
