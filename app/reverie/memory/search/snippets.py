"""Snippets: the line of a text that shows why it was found.

Pure; any thread.
"""

from __future__ import annotations

import re

from reverie.memory.search.hits import Ranges, regex_hits, term_hits
from reverie.memory.search.query import SearchQuery
from reverie.values import Struct

WIDTH = 160
_BEFORE = 40
# Single spaces, which are the most, are not matched: fifty snippets are made at each key press.
_SPACE = re.compile(r"\s\s+|[^\S ]")


class Snippet(Struct, frozen=True):
    """One line of a text that shows why it was found."""

    text: str
    hits: Ranges
    """Positions in `text`, as `(start, end)` in characters; empty if only the name of the file matches."""
    line: int = 0
    """The number of the line, from 1; 0 if only the name of the file matches."""


def snippet(text: str, query: SearchQuery) -> Snippet:
    """Return the line of `text` in which most matches of `query` are close together.

    Without a match, return the beginning of the text.
    """
    return snippet_of(text, regex_hits(text, query.regex) if query.regex else term_hits(text, query.terms))


def snippet_of(text: str, hits: Ranges) -> Snippet:
    """Return the line of `text` with the greatest number of these hits close together, cut to a short length.

    Without hits, return the beginning of the text.
    """
    if not hits:
        return Snippet(_beginning(text), ())
    start, end = _window(text, _densest(hits))
    return _cut(text, start, end, hits)


def _densest(hits: Ranges) -> tuple[int, int]:
    """Return the hit (start, end) that is followed by the most other hits within the length of a snippet."""
    best, most, last = hits[0], 0, 0
    for first, (start, _end) in enumerate(hits):
        last = max(last, first)
        while last + 1 < len(hits) and hits[last + 1][1] <= start + WIDTH - _BEFORE:
            last += 1
        if last - first + 1 > most:
            best, most = hits[first], last - first + 1
    return best


def _window(text: str, hit: tuple[int, int]) -> tuple[int, int]:
    start = max(0, hit[0] - _BEFORE)
    newline = text.rfind("\n", start, hit[0])
    if newline >= 0:
        start = newline + 1
    elif start > 0:
        space = text.find(" ", start, hit[0])
        start = space + 1 if space >= 0 else start
    end = min(len(text), max(start + WIDTH, hit[1]))
    return start, min(end, hit[0] + WIDTH)


def _cut(text: str, start: int, end: int, hits: Ranges) -> Snippet:
    lead = "…" if start > 0 and text[start - 1] != "\n" else ""
    window = text[start:end]
    even = _collapse_spaces(window)
    shown = even if lead else even.lstrip()
    skipped = len(even) - len(shown) - len(lead)
    # Each run keeps its first character; a gap is the start and number of the removed ones.
    runs = _SPACE.finditer(window) if len(even) < len(window) else ()
    gaps = [(run.start() + 1, more) for run in runs if (more := len(run[0]) - 1)]

    def place(at: int) -> int:
        gone = sum(max(0, min(more, at - start - first)) for first, more in gaps) if gaps else 0
        return max(0, at - start - gone - skipped)

    seen = [(max(first, start), min(last, end)) for first, last in hits if first < end and last > start]
    made = f"{lead}{shown}".rstrip()
    ranges = ((place(first), min(place(last), len(made))) for first, last in seen)
    tail = "…" if end < len(text) else ""
    line = text.count("\n", 0, seen[0][0] if seen else start) + 1
    return Snippet(made + tail, tuple(each for each in ranges if each[0] < each[1]), line)


def _collapse_spaces(text: str) -> str:
    """Return `text` with one space for each run of white space."""
    return _SPACE.sub(" ", text)


def _beginning(text: str) -> str:
    """Return the beginning of a text, without its front matter."""
    if text.startswith("---"):
        end = text.find("\n---", 3)
        after = text.find("\n", end + 1) if end > 0 else -1
        text = text[after + 1 :] if after > 0 and text[after + 1 :].strip() else text
    shown = _collapse_spaces(text[: WIDTH * 2]).strip()
    return shown if len(shown) <= WIDTH else f"{shown[:WIDTH]}…"
