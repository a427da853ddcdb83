"""Marks in loaded text: lines that look like a secret or an instruction, or that hide something.

Results for the newest texts are cached, because most texts stay the same while a person types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from reverie.agents.scopes import Caps
from reverie.memory.lint import lint
from reverie.memory.listing import LintFinding

_KINDS = frozenset({"secret", "instruction", "hidden", "bidi"})


Marks = tuple[LintFinding, ...]
"""The findings about a text that need a person's attention."""


def marks_of(data: bytes, caps: Caps, rel: str, size: int) -> Marks:
    """Return the findings in a file that a person should look at: secrets, instructions and hidden text.

    `data`: the beginning of the file, which has `size` bytes; `caps`: the agent's limits; `rel`: the path of
    the file in its scope.
    """
    return tuple(each for each in lint(data, caps, rel=rel, size=size) if each.kind in _KINDS)


@lru_cache(maxsize=32)
def marks_in(text: str, caps: Caps) -> Marks:
    """Return the findings in a text that a person should look at: secrets, instructions and hidden text.

    `caps`: the limits of the agent that loads the text. The lines of the findings are counted from its first
    line.
    """
    data = text.encode("utf-8", "replace")
    return marks_of(data, caps, "", len(data))


@lru_cache(maxsize=4096)
def marks_in_line(text: str, caps: Caps) -> Marks:
    """Return the same as `marks_in`, for a short text, such as a description or a lesson.

    More results are cached than by `marks_in`.
    """
    data = text.encode("utf-8", "replace")
    return marks_of(data, caps, "", len(data))


def marked_lines(pieces: Iterable[tuple[int, Marks]]) -> tuple[int, ...]:
    """Return the sorted numbers, counted from 1, of the lines of a text that have findings.

    `pieces`: for each piece of the text, the number of its first line in the text, and its findings (marks).
    """
    return tuple(sorted(set(_lines(pieces))))


def _lines(pieces: Iterable[tuple[int, Marks]]) -> Iterator[int]:
    for first, marks in pieces:
        yield from (first + mark.line - 1 for mark in marks if mark.line)
