"""The lines of a text that show why it was found, with the places of the hits in them.

Ranges are `(start, end)` in characters of the snippet's text. Pure; any thread.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from reverie.memory.search_hits import Ranges, regex_hits, term_hits
from reverie.memory.search_query import Query

WIDTH = 160
_BEFORE = 40
# A single space is left as it is: most are, and fifty snippets are made for each key that is pressed.
_SPACE = re.compile(r"\s\s+|[^\S ]")


@dataclass(frozen=True, slots=True)
class Snippet:
    """One line. `hits` lie within `text`; none: the name answers the question. `line` counts from 1."""

    text: str
    hits: Ranges
    line: int = 0


def snippet(text: str, query: Query) -> Snippet:
    """The place in `text` where most of what is asked stands together, else how it begins."""
    hits = regex_hits(text, query.regex) if query.regex else term_hits(text, query.terms)
    if not hits:
        return Snippet(_beginning(text), ())
    start, end = _window(text, _densest(hits))
    return _cut(text, start, end, hits)


def _densest(hits: Ranges) -> tuple[int, int]:
    """The hit after which most others follow within a snippet."""
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
    even = _even(window)
    shown = even if lead else even.lstrip()
    skipped = len(even) - len(shown) - len(lead)
    # Each run leaves its first character: where the others begin, and how many there are.
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


def _even(text: str) -> str:
    """`text` with one space for each run of white space."""
    return _SPACE.sub(" ", text)


def _beginning(text: str) -> str:
    """How a text begins, front matter aside."""
    if text.startswith("---"):
        end = text.find("\n---", 3)
        after = text.find("\n", end + 1) if end > 0 else -1
        text = text[after + 1 :] if after > 0 and text[after + 1 :].strip() else text
    shown = _even(text[: WIDTH * 2]).strip()
    return shown if len(shown) <= WIDTH else f"{shown[:WIDTH]}…"
