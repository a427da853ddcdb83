"""The keys of a note's front matter with their lines, for comparing and carrying them over.

Pure. A block that does not parse has no keys here: `read_keys` says None, and such notes are not merged until
the description rule has mended them."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.memory import frontmatter, yaml12


@dataclass(frozen=True, slots=True)
class FrontKey:
    """One key at the margin of a block. `meaning` is equal for equal values, however they are written;
    `lines` are its own and those below it up to the next key, without line ends."""

    name: str
    meaning: object
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FrontKeys:
    """`movable`: the block is a plain indented mapping without anchors, so that its keys can stand elsewhere.
    `preamble` are the lines above the first key, `description` is the one given, if it is text."""

    keys: tuple[FrontKey, ...]
    movable: bool
    preamble: tuple[str, ...] = ()
    description: str | None = None

    def meanings(self) -> dict[str, object]:
        """Values by key, the description left out: what it says is merged, not compared."""
        return {key.name: key.meaning for key in self.keys if key.name != "description"}


NO_KEYS = FrontKeys((), movable=True)


def read_keys(text: str) -> FrontKeys | None:
    """The keys of a text's front matter; none for a text without; None when the block is malformed."""
    block = frontmatter.split(text)
    if block is None:
        return NO_KEYS
    raw = text[block.block_start : block.block_end]
    try:
        root = yaml12.parse(raw)
    except yaml12.MalformedError:
        return None
    if root is None:
        return FrontKeys((), movable=True, preamble=_lines(raw))
    if root.kind != "mapping":
        return None
    pairs = list(root.pairs())
    starts = [raw.rfind("\n", 0, key.start) + 1 for key, _value in pairs]
    ends = [*starts[1:], len(raw)]
    keys = tuple(
        FrontKey(key.value.text or "", outline(value), _lines(raw[start:end]))
        for (key, value), start, end in zip(pairs, starts, ends, strict=True)
    )
    movable = (
        not root.flow
        and root.column == 0
        and all(
            key.value.text and raw[start] not in "?-%"
            for (key, _value), start in zip(pairs, starts, strict=True)
        )
        and not any(_has_anchor(value) for _key, value in pairs)
    )
    entry = root.entry("description")
    description = entry[1].value.text if entry is not None else None
    return FrontKeys(keys, movable, _lines(raw[: starts[0]]) if starts else (), description)


def outline(node: yaml12.Node) -> object:
    """A value as nested tuples that compare equal when the values do."""
    return node.kind, node.value.identity, tuple(outline(child) for child in node.children)


def _has_anchor(node: yaml12.Node) -> bool:
    return node.anchor is not None or any(_has_anchor(child) for child in node.children)


def _lines(raw: str) -> tuple[str, ...]:
    return tuple(line.removesuffix("\r") for line in raw.removesuffix("\n").split("\n")) if raw else ()
