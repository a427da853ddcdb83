"""The parts of a note: the words of its name, front matter keys, passages and sentences.

Pure; takes time linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from reverie.jobs.consolidate.rules.wording import (
    CONTRADICTION_CUES,
    MONTHS,
)
from reverie.memory import yaml12
from reverie.memory.front_matter_rules import block_of
from reverie.text.patterns import pattern_of
from reverie.values import Struct

Kind = Literal["heading", "item", "prose", "head", "row", "code", "rule"]

_FENCE = pattern_of(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = pattern_of(r"^ {0,3}(#{1,6})(?=[ \t]|$)")
_BULLET = pattern_of(r"^(\s*)([-*+•]|\d{1,3}[.)])(?:[ \t]+|$)")
_RULE = pattern_of(r"^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_BOLD = pattern_of(r"^(?:\*\*|__).+(?:\*\*|__):?$")
_UNDERLINE = pattern_of(r"^ {0,3}(?:=+|-+)[ \t]*$")
_INDENTED = pattern_of(r"^(?: {4}|\t)")
_TABLE_RULE = pattern_of(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_SENTENCE_END = pattern_of(r"[.!?:;。！？：；…][)\]»”\"'’*_`]*\s*$")
# A prose line of at least this length that ends without punctuation is assumed to continue on the next line;
# shorter lines are assumed to be entries of a list without bullets.
_WRAP_LENGTH = 50


class Passage(Struct, frozen=True):
    """The smallest stretch of Markdown that can be moved without breaking a sentence.

    Comparing notes splits passages into statements; merging moves them whole. Front matter is not part of
    any.
    """

    kind: Kind
    lines: tuple[str, ...]
    """The unchanged lines, without line endings."""
    first: int
    """The number of the first line in the parsed text, from 0."""
    section: str = ""
    """The nearest heading of level 2 or deeper above the passage; empty before the first one."""
    parent: str = ""
    """The folded line that the passage belongs to within its section.

    This is the list item above with less indentation, or a line that ends with a colon; empty if there is
    none.
    """
    gap: bool = False
    """True if a blank line is before the passage."""
    level: int = 0
    """The level of a heading, or the indentation of a list item."""
    ordered: bool = False
    """Whether a list item is numbered."""
    table: str = ""
    """The folded header of the table that a row belongs to."""
    nested: bool = False
    """True if `parent` is a list item."""

    @property
    def end(self) -> int:
        """The number of the line after its last line."""
        return self.first + len(self.lines)


_EMPHASIS = pattern_of(r"[*`]+|(?<!\w)_+|_+(?!\w)")
_STOPS = pattern_of(r"[,;.!…]+(?=\s|$)")


def fold_line(line: str) -> str:
    """Return a line without details that do not change its meaning.

    These are white space, the list marker, quote marks of a block, emphasis, punctuation after a word, and
    case.
    """
    bare = _BULLET.sub("", line.strip().lstrip(">").lstrip(), count=1)
    if "*" in bare or "`" in bare or "_" in bare:
        bare = _EMPHASIS.sub("", bare)
    return " ".join(_STOPS.sub("", bare).split()).casefold()


def is_unfinished(line: str) -> bool:
    """Return True if the sentence in a line of prose seems to continue on the next line."""
    return len(line.strip()) >= _WRAP_LENGTH and not _SENTENCE_END.search(line)


def is_open(passage: Passage) -> bool:
    """Return True if the passage is a fenced block of code that is never closed.

    All text after it would be code as well.
    """
    fence = _FENCE.match(passage.lines[0]) if passage.kind == "code" else None
    if fence is None:
        return False
    return len(passage.lines) == 1 or not _closing(fence.group(1)).match(passage.lines[-1])


def split_passages(text: str) -> list[Passage]:
    """Return the passages of a note's body in order; blank lines are only part of fenced blocks."""
    return list(passages_of(text))


def passages_of(text: str) -> Iterator[Passage]:
    """Yield the passages as `split_passages` returns them, for callers that need only the first ones."""
    return _Splitter([line.removesuffix("\r") for line in text.split("\n")]).run()


def code_among(text: str, numbers: Iterable[int]) -> frozenset[int]:
    """Return the `numbers` (from 0) of lines that are code; `text` is the body of a note."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    asked = frozenset(numbers)
    # Whether an indented line is code or belongs to a list depends on the lines before it.
    is_deep = any(_INDENTED.match(lines[number]) for number in asked)
    code = _code_blocks(lines) if is_deep else _fenced(lines)
    return asked.intersection(number for first, end in code for number in range(first, end))


def _code_blocks(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each block of code, and the line after its last one."""
    for each in _Splitter(lines, with_parents=False).run():
        if each.kind == "code":
            yield each.first, each.end


def _fenced(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first line of each fenced block, and the line after its last one."""
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence:
            end = _fence_end(lines, number, fence.group(1))
            yield number, end
            number = end
        else:
            number += 1


def _closing(mark: str) -> re.Pattern[str]:
    """Return a pattern that matches the line that closes a code block opened by the line `mark`."""
    return re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$")


def _fence_end(lines: Sequence[str], first: int, mark: str) -> int:
    close = _closing(mark)
    for number in range(first + 1, len(lines)):
        if close.match(lines[number]):
            return number + 1
    return len(lines)


class _Splitter:
    """A parser that splits Markdown into passages.

    Without `with_parents`, `Passage.parent` stays empty, which saves most of the time.
    """

    def __init__(self, lines: list[str], *, with_parents: bool = True) -> None:
        self._lines = lines
        self._with_parents = with_parents
        self._at = 0
        self._section = ""
        self._lead = ""
        self._items: list[tuple[int, str]] = []
        self._table = ""
        self._gap = False
        self._newest: Passage | None = None

    def run(self) -> Iterator[Passage]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._gap, self._table = True, ""
                self._at += 1
                continue
            self._newest = self._passage(line)
            yield self._newest
            self._gap = False

    def _passage(self, line: str) -> Passage:
        """Return the passage that begins with `line`, and advance the parser past the passage."""
        fence = _FENCE.match(line)
        if fence:
            return self._made("code", _fence_end(self._lines, self._at, fence.group(1)))
        heading = _HEADING.match(line)
        if heading:
            level = len(heading.group(1))
            self._section = heading_text(line) if level > 1 else ""
            return self._made("heading", self._at + 1, level=level)
        if "|" in line and (self._table or self._is_table_head()):
            return self._table_line(line)
        if _RULE.match(line):
            return self._made("rule", self._at + 1)
        if _INDENTED.match(line) and self._is_indented_code():
            return self._made("code", self._indented_end())
        bullet = _BULLET.match(line)
        if bullet:
            level, ordered = len(bullet.group(1)), bullet.group(2)[0].isdigit()
            return self._made("item", self._item_end(), level=level, ordered=ordered)
        if _UNDERLINE.match(self._line(self._at + 1)):
            level = 1 if "=" in self._line(self._at + 1) else 2
            self._section = " ".join(line.split()) if level > 1 else ""
            return self._made("heading", self._at + 2, level=level)
        return self._made("prose", self._prose_end())

    def _line(self, number: int) -> str:
        return self._lines[number] if number < len(self._lines) else ""

    def _is_indented_code(self) -> bool:
        before = self._newest.kind if self._newest is not None else ""
        return before not in ("item", "prose") or (before == "prose" and self._gap)

    def _indented_end(self) -> int:
        number = self._at + 1
        while number < len(self._lines) and _INDENTED.match(self._lines[number]):
            number += 1
        return number

    def _made(self, kind: Kind, end: int, *, level: int = 0, ordered: bool = False) -> Passage:
        if kind != "row":
            self._table = ""
        lines = tuple(self._lines[self._at : end])
        parent = self._parent(kind, level, lines[0]) if self._with_parents else ""
        table = self._table if kind == "row" else ""
        nested = kind == "item" and bool(parent) and parent != self._lead
        first, self._at = self._at, end
        return Passage(kind, lines, first, self._section, parent, self._gap, level, ordered, table, nested)

    def _parent(self, kind: Kind, level: int, line: str) -> str:
        """Return the parent of a passage, and record the passage as a possible parent of the next ones."""
        if kind in ("heading", "rule"):
            self._lead, self._items = "", []
            return ""
        if kind == "prose":
            self._items = []
            text = fold_line(line)
            self._lead = text if text.endswith((":", "：")) or _BOLD.match(text) else ""
            return ""
        if kind != "item":
            return self._lead
        while self._items and self._items[-1][0] >= level:
            self._items.pop()
        parent = self._items[-1][1] if self._items else self._lead
        self._items.append((level, fold_line(line)))
        return parent

    def _is_table_head(self) -> bool:
        following = self._line(self._at + 1)
        return "-" in following and bool(_TABLE_RULE.fullmatch(following.strip()))

    def _table_line(self, line: str) -> Passage:
        if self._table:
            return self._made("row", self._at + 1)
        head = " | ".join(table_cells(line)).casefold()
        passage = self._made("head", self._at + 2)
        self._table = head
        return passage

    def _item_end(self) -> int:
        number = self._at + 1
        while number < len(self._lines):
            line = self._lines[number]
            if not line.strip() or self._starts_block(line) or not line[0].isspace():
                break
            number += 1
        return number

    def _prose_end(self) -> int:
        number = self._at + 1
        while number < len(self._lines):
            before, line = self._lines[number - 1], self._lines[number]
            if not line.strip() or self._starts_block(line):
                break
            if not is_unfinished(before):
                break
            number += 1
        return number

    @staticmethod
    def _starts_block(line: str) -> bool:
        return bool(
            _FENCE.match(line) or _HEADING.match(line) or _BULLET.match(line) or _RULE.match(line)
        ) or line.lstrip().startswith(("|", ">"))


def heading_text(line: str) -> str:
    """Return the words of a heading line without the marks such as `##`."""
    return " ".join(line.strip().lstrip("#").rstrip("#").split())


def table_cells(line: str) -> list[str]:
    """Return the cells of a table row without surrounding spaces; an escaped bar does not end a cell."""
    inner = line.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]


class FrontKey(Struct, frozen=True):
    """One top-level key of a front matter block."""

    name: str
    meaning: object
    """The value in a canonical form: equal values compare equal, whatever their syntax."""
    lines: tuple[str, ...]
    """Its lines up to the next key, without line ends."""


class FrontKeys(Struct, frozen=True):
    """The keys of a front matter block."""

    keys: tuple[FrontKey, ...]
    movable: bool
    """True if the block is a plain mapping without anchors, so that its keys can be moved to another note."""
    preamble: tuple[str, ...] = ()
    """The lines before the first key."""
    description: str | None = None
    """The value of the `description` key; None if it is not text."""

    def meanings(self) -> dict[str, object]:
        """Return the value of each key, except the description, which is merged and not compared."""
        return {key.name: key.meaning for key in self.keys if key.name != "description"}


NO_KEYS = FrontKeys((), movable=True)
"""The keys of a text without front matter."""


def read_keys(text: str) -> FrontKeys | None:
    """Return the keys of a text's front matter; `NO_KEYS` if it has none, None if the block is malformed.

    A note with a malformed block is not merged until the block is repaired.
    """
    block = block_of(text)
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


def outline(node: yaml12.YamlNode) -> object:
    """Return a YAML value as nested tuples, so that equal values compare equal."""
    return node.kind, node.value.identity, tuple(outline(child) for child in node.children)


def _has_anchor(node: yaml12.YamlNode) -> bool:
    return node.anchor is not None or any(_has_anchor(child) for child in node.children)


def _lines(raw: str) -> tuple[str, ...]:
    return tuple(line.removesuffix("\r") for line in raw.removesuffix("\n").split("\n")) if raw else ()


_NAME_WORD = pattern_of(r"v\d+(?:\.\d+)*|\d+(?:\.\d+)+|\d+|[^\W\d_]+\d+|[^\W\d_]+", re.IGNORECASE)
_CAMEL = pattern_of(r"(?<=[a-z])(?=[A-Z])")
BULLET = pattern_of(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_SENTENCES = pattern_of(
    r"(?<=[.!?;])[)\"'»”’*_]*\s+(?!\d)|(?<=[^\d][.!?;])[)\"'»”’*_]*\s+|(?<=[。！？；])\s*|<br ?/?>"
)
_ABBREVIATION = pattern_of(r"\b(?:e\.g|i\.e|etc|vs|cf|no|nr|z\. ?b|bzw|ca|ex|max|min)\.$", re.IGNORECASE)
_ORDINAL = pattern_of(r"\b\d{1,2}\.$")
_LONGEST_ENDING = 12
"""The number of characters at the end of a text that are searched for an abbreviation or ordinal."""
_MONTH = re.compile(rf"(?:{'|'.join(MONTHS)})\b", re.IGNORECASE)
CONTRADICTION = pattern_of(CONTRADICTION_CUES, re.IGNORECASE)
_DATE = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_MID_CAPITAL = pattern_of(r"(?<=[\w,] )[^\W\d_][^\W_]{2,}")
_LONGEST = 1000
_CAPITAL_SHARE = 0.35


def name_words(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of the file name, and those of its folders, in lower case.

    Dates and versions are not split.
    """
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["memories"]:
        parts = parts[2:]
    *folders, name = parts or [""]
    stem = name.rsplit(".", 1)[0] if "." in name[1:] else name
    return tuple(_name_words(stem)), tuple(each for folder in folders for each in _name_words(folder))


def _name_words(text: str) -> Iterator[str]:
    for date in _DATE.finditer(text):
        yield f"@{int(date[2])}-{int(date[3])}-{date[1]}"
    spaced = _CAMEL.sub(" ", _DATE.sub(" ", text))
    for found in _NAME_WORD.findall(spaced):
        yield found.casefold()


def has_capital_nouns(body: str) -> bool:
    """Return True if nouns begin with capital letters, as in German, so that capitals do not mark names."""
    middle = _MID_CAPITAL.findall(body)
    capitals = [each for each in middle if each[0].isupper()]
    return len(capitals) >= 3 and len(capitals) > _CAPITAL_SHARE * len(middle)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text; a semicolon ends one, an abbreviation or an ordinal does not."""
    sentences: list[list[str]] = []
    for piece in _SENTENCES.split(text):
        before = sentences[-1][-1][-_LONGEST_ENDING:] if sentences else ""
        is_ordinal = _ORDINAL.search(before) and (piece[:1].islower() or _MONTH.match(piece))
        if sentences and (is_ordinal or _ABBREVIATION.search(before)):
            sentences[-1].append(piece)
        elif piece and piece.strip():
            sentences.append([piece.strip()])
    return [part for pieces in sentences for part in _parts(" ".join(pieces))]


def _parts(text: str) -> Iterator[str]:
    """Yield the pieces of a text, split between words, each short enough to be compared word by word."""
    at = 0
    while len(text) - at > _LONGEST:
        cut = text.rfind(" ", at + _LONGEST // 2, at + _LONGEST)
        cut = cut if cut > 0 else at + _LONGEST
        yield text[at:cut]
        at = cut
        while at < len(text) and text[at].isspace():
            at += 1
    if at < len(text):
        yield text[at:]


# Some tools manage a block in every instruction file, between two comments.
_BLOCK_BEGINS = pattern_of(r"\s*<!--[^>]*\b(?:start|begin)\b[^>]*-->\s*$", re.IGNORECASE)
_BLOCK_ENDS = pattern_of(r"\s*<!--[^>]*\bend\b[^>]*-->\s*$", re.IGNORECASE)


def without_managed(text: str) -> str:
    """Return the text with blank lines in place of each block that a tool generates and updates."""
    if "<!--" not in text:
        return text
    lines, begin = text.split("\n"), -1
    for number, line in enumerate(lines):
        if _BLOCK_BEGINS.match(line):
            begin = number
        elif begin >= 0 and _BLOCK_ENDS.match(line):
            lines[begin : number + 1] = [""] * (number + 1 - begin)
            begin = -1
    return "\n".join(lines)
