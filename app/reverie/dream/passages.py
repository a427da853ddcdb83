"""Markdown as passages: the smallest stretches of a note that can be moved without breaking a sentence.

A passage is a heading, a list item with its continuation lines, a run of prose lines that belong to one
sentence, a table head, a table row, a block of code (fenced or indented), or a rule. Judging splits passages
into statements; merging carries whole passages. Lines are split at `\\n` only and lose a trailing `\\r`;
front matter is the caller's business.

Pure; linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["heading", "item", "prose", "head", "row", "code", "rule"]

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?=[ \t]|$)")
_BULLET = re.compile(r"^(\s*)([-*+•]|\d{1,3}[.)])(?:[ \t]+|$)")
_RULE = re.compile(r"^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_BOLD = re.compile(r"^(?:\*\*|__).+(?:\*\*|__):?$")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
_INDENTED = re.compile(r"^(?: {4}|\t)")
_TABLE_RULE = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?")
_SENTENCE_END = re.compile(r"[.!?:;。！？：；…][)\]»”\"'’*_`]*\s*$")
# A prose line at least this long that ends without punctuation is taken to go on in the next line (UTF-16 or
# not makes no difference here); shorter lines are taken for entries of a list without bullets.
_WRAP_LENGTH = 50


@dataclass(frozen=True, slots=True)
class Passage:
    """`lines` are verbatim without line ends, `first` is the zero-based number of the first one in the text
    parsed.

    `section` is the nearest heading above of level 2 or deeper ("" before the first), `parent` what it stands
    under within that: the list item above that is less indented, or a line that ends with a colon; `gap`
    tells whether a blank line stands before it, `ordered` whether a list item is numbered, `table` is the
    folded head of a row's table, `nested` tells that `parent` is a list item."""

    kind: Kind
    lines: tuple[str, ...]
    first: int
    section: str = ""
    parent: str = ""
    gap: bool = False
    level: int = 0
    ordered: bool = False
    table: str = ""
    nested: bool = False

    @property
    def end(self) -> int:
        """Number of the line after the last one."""
        return self.first + len(self.lines)


def fold_line(line: str) -> str:
    """A line without what does not change it: white space, list marker, quote marks of a block, case."""
    bare = _BULLET.sub("", line.strip().lstrip(">").lstrip(), count=1)
    return " ".join(bare.split()).casefold()


def is_unfinished(line: str) -> bool:
    """Whether a line of prose looks as if its sentence went on in the next one."""
    return len(line.strip()) >= _WRAP_LENGTH and not _SENTENCE_END.search(line)


def is_open(passage: Passage) -> bool:
    """Whether a fenced block is never closed, so that all that follows would be code as well."""
    fence = _FENCE.match(passage.lines[0]) if passage.kind == "code" else None
    if fence is None:
        return False
    return len(passage.lines) == 1 or not passage.lines[-1].strip().startswith(fence.group(1))


def split_passages(text: str) -> list[Passage]:
    """The passages of a note's body, in order. Blank lines are in none, except inside fenced blocks."""
    return _Splitter([line.removesuffix("\r") for line in text.split("\n")]).run()


class _Splitter:
    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._section = ""
        self._lead = ""
        self._items: list[tuple[int, str]] = []
        self._table = ""
        self._gap = False
        self._found: list[Passage] = []

    def run(self) -> list[Passage]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._gap, self._table = True, ""
                self._at += 1
                continue
            self._passage(line)
            self._gap = False
        return self._found

    def _passage(self, line: str) -> None:
        fence = _FENCE.match(line)
        heading = _HEADING.match(line)
        if fence:
            self._add("code", self._fence_end(fence.group(1)))
        elif heading:
            level = len(heading.group(1))
            self._section = heading_text(line) if level > 1 else ""
            self._add("heading", self._at + 1, level=level)
        elif "|" in line and (self._table or self._is_table_head()):
            self._table_line(line)
        elif _RULE.match(line):
            self._add("rule", self._at + 1)
        elif _INDENTED.match(line) and self._is_indented_code():
            self._add("code", self._indented_end())
        elif bullet := _BULLET.match(line):
            self._add(
                "item", self._item_end(), level=len(bullet.group(1)), ordered=bullet.group(2)[0].isdigit()
            )
        elif _UNDERLINE.match(self._line(self._at + 1)):
            level = 1 if "=" in self._line(self._at + 1) else 2
            self._section = " ".join(line.split()) if level > 1 else ""
            self._add("heading", self._at + 2, level=level)
        else:
            self._add("prose", self._prose_end())

    def _line(self, number: int) -> str:
        return self._lines[number] if number < len(self._lines) else ""

    def _is_indented_code(self) -> bool:
        before = self._found[-1].kind if self._found else ""
        return before not in ("item", "prose") or (before == "prose" and self._gap)

    def _indented_end(self) -> int:
        number = self._at + 1
        while number < len(self._lines) and _INDENTED.match(self._lines[number]):
            number += 1
        return number

    def _add(self, kind: Kind, end: int, *, level: int = 0, ordered: bool = False) -> None:
        if kind != "row":
            self._table = ""
        lines = tuple(self._lines[self._at : end])
        parent = self._parent(kind, level, fold_line(lines[0]))
        table = self._table if kind == "row" else ""
        nested = kind == "item" and bool(parent) and parent != self._lead
        self._found.append(
            Passage(kind, lines, self._at, self._section, parent, self._gap, level, ordered, table, nested)
        )
        self._at = end

    def _parent(self, kind: Kind, level: int, text: str) -> str:
        """What the passage stands under; remembers what the next ones may stand under."""
        if kind in ("heading", "rule"):
            self._lead, self._items = "", []
            return ""
        if kind == "prose":
            self._items = []
            self._lead = text if text.endswith((":", "：")) or _BOLD.match(text) else ""
            return ""
        if kind != "item":
            return self._lead
        while self._items and self._items[-1][0] >= level:
            self._items.pop()
        parent = self._items[-1][1] if self._items else self._lead
        self._items.append((level, text))
        return parent

    def _fence_end(self, mark: str) -> int:
        close = re.compile(rf"^ {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
        for number in range(self._at + 1, len(self._lines)):
            if close.match(self._lines[number]):
                return number + 1
        return len(self._lines)

    def _is_table_head(self) -> bool:
        following = self._line(self._at + 1)
        return "-" in following and bool(_TABLE_RULE.fullmatch(following.strip()))

    def _table_line(self, line: str) -> None:
        if self._table:
            self._add("row", self._at + 1)
        else:
            head = " | ".join(table_cells(line)).casefold()
            self._add("head", self._at + 2)
            self._table = head

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
    """The words of a heading without its marks."""
    return " ".join(line.strip().lstrip("#").rstrip("#").split())


def table_cells(line: str) -> list[str]:
    """The cells of a table row, trimmed; an escaped bar stays in its cell."""
    inner = line.strip()
    inner = inner.removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]
