"""What a person may want to look at in what an agent is told: text that looks like a secret or like an
instruction, or that hides something.

Pure; any thread. What was found is remembered for the texts seen last, since most of them stay while one is
typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from reverie.homes.scopes import Caps
from reverie.memory.lint import LintFinding, lint

_KINDS = frozenset({"secret", "instruction", "hidden", "bidi"})
Marks = tuple[LintFinding, ...]


def marks_of(data: bytes, caps: Caps, rel: str, size: int) -> Marks:
    """The marks of a file that begins with `data`."""
    return tuple(each for each in lint(data, caps, rel=rel, size=size) if each.kind in _KINDS)


@lru_cache(maxsize=32)
def marks_in(text: str, caps: Caps) -> Marks:
    """The marks of a text as it is loaded; their lines are its own."""
    data = text.encode("utf-8", "replace")
    return marks_of(data, caps, "", len(data))


@lru_cache(maxsize=4096)
def marks_in_line(text: str, caps: Caps) -> Marks:
    """`marks_in` for what is short and stands among many: a description, a lesson."""
    data = text.encode("utf-8", "replace")
    return marks_of(data, caps, "", len(data))


def marked_lines(pieces: Iterable[tuple[int, Marks]]) -> tuple[int, ...]:
    """The lines of a text that are marked, from 1. Of each piece of it: the line it begins on, its marks."""
    return tuple(sorted(set(_lines(pieces))))


def _lines(pieces: Iterable[tuple[int, Marks]]) -> Iterator[int]:
    for first, marks in pieces:
        yield from (first + mark.line - 1 for mark in marks if mark.line)
