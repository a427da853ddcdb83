"""Matches of a query's terms in a text.

Pure; any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from reverie.memory.search.query import Term
from reverie.memory.search.words import SearchToken, folded, is_cjk, parts, tokens
from reverie.values import Struct

LINE_CHARS = 2_000
_MOST_HITS = 40
# Searched length of a text that is not plain; and maximum length of a phrase after its first word.
_LONGEST = 64_000
_FAR = 600
# A character in a shape (which has a space wherever there is no word) for a part of a word whose folded form
# has another length or depends on its neighbours. No text's own character has this shape.
_ODD = "\uffff"
_JAMO = range(0x1100, 0x1200)
Ranges = tuple[tuple[int, int], ...]


class _Wanted(Struct, frozen=True):
    """The terms of a query in compiled form."""

    terms: tuple[tuple[tuple[str, ...], bool], ...]
    """The folded words of each term, and whether its last word may be a prefix."""
    plain: re.Pattern[str]
    """A pattern that finds, in folded ASCII text, the first word of any term; a match ends at the end of the
    word that contains it."""
    shaped: re.Pattern[str]
    """A pattern like `plain`, for a text with its characters replaced by `_Shapes`."""
    longest: int
    """The number of words in the longest term."""


def term_hits(text: str, terms: Sequence[Term]) -> Ranges:
    """Return the positions of the query terms in `text`, in order, without overlaps.

    Positions are `(start, end)` in characters. Terms are also found inside an identifier. Fifty texts are
    searched at each key press, so a text is split into words only near a candidate. Candidates are searched
    in a copy of the text that is folded character by character (`_Shapes`) and so has the same length. After
    about forty hits the search stops.
    """
    wanted = _wanted(tuple(terms))
    if wanted is None:
        return ()
    found: list[tuple[int, int]] = []
    is_plain = text.isascii()
    if is_plain:
        firsts, shape = wanted.plain, text.lower()
    else:
        text = text[:_LONGEST]
        firsts, shape = wanted.shaped, text.translate(_SHAPES)
    known: dict[str, list[tuple[int, int]]] = {}
    beyond = 0
    for match in firsts.finditer(shape):
        start, end = match.span()
        if start < beyond:
            continue
        if not is_plain:
            start = shape.rfind(" ", 0, start) + 1
        while is_plain and start > 0 and (shape[start - 1].isalnum() or shape[start - 1] == "_"):
            start -= 1
        beyond = end
        if shape[start:end].isascii():
            _plain_hits(found, text, shape, (start, end), wanted)
        else:
            found += _odd_hits(known, text, (start, end), wanted)
        if len(found) >= _MOST_HITS:
            break
    return _merged(found)


def regex_hits(text: str, pattern: str, *, most: int = 20) -> Ranges:
    """Return the positions `(start, end)` at which the pattern matches, line by line, ignoring case.

    Only the first `LINE_CHARS` characters of each line are searched. The search stops after the line with hit
    number `most`.
    """
    search = re.compile(pattern, re.IGNORECASE)
    found: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        for match in search.finditer(line.rstrip("\r\n")[:LINE_CHARS]):
            if match.end() > match.start():
                found.append((at + match.start(), at + match.end()))
        at += len(line)
        if len(found) >= most:
            break
    return tuple(found)


@lru_cache(maxsize=32)
def _wanted(terms: tuple[Term, ...]) -> _Wanted | None:
    found = ((tuple(token.text for token in tokens(folded(term.text))), term.goes_on) for term in terms)
    wanted = tuple((words, goes_on) for words, goes_on in found if words)
    if not wanted:
        return None
    firsts = "|".join(re.escape(word) for word in dict.fromkeys(words[0] for words, _goes_on in wanted))
    longest = max(len(words) for words, _goes_on in wanted)
    plain, shaped = re.compile(rf"(?:{firsts})\w*"), re.compile(f"(?:{firsts}|{_ODD})[\\w{_ODD}]*")
    return _Wanted(wanted, plain, shaped, longest)


class _Shapes(dict[int, str]):
    """The folded form of each character, by code point; entries are added on first use.

    The form is one character: the folded letter or digit, a space for any sign between words, or `_ODD` for a
    character that cannot be folded alone.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        shape = _shape_of(char)
        self[code] = shape
        return shape


_SHAPES = _Shapes()


def _shape_of(char: str) -> str:
    if "\u0300" <= char <= "\u036f":
        return _ODD
    if not (char.isalnum() or char == "_"):
        return " "
    one = folded(char)
    # Letters beyond the basic plane may combine with the one before; they are too rare for a fast path.
    is_alone = ord(char) not in _JAMO and (ord(char) < 0x10000 or is_cjk(char))
    is_like = len(one) == 1 and one.isalnum() and is_cjk(one) == is_cjk(char)
    return one if char == "_" or (is_alone and is_like) else _ODD


def _may_begin(word: str, wanted: _Wanted) -> bool:
    """Return whether a word may contain the first word of a `wanted` term, by a quick, inexact test."""
    whole = _folded(word)
    return whole is None or wanted.plain.search(whole) is not None


@lru_cache(maxsize=8192)
def _folded(word: str) -> str | None:
    """Return the word folded as a whole; None if it has CJK characters and is folded in parts."""
    return None if any(map(is_cjk, word)) else folded(word)


def _plain_hits(
    found: list[tuple[int, int]], text: str, shape: str, span: tuple[int, int], wanted: _Wanted
) -> None:
    """Add to `found` the hits of the `wanted` terms that begin with the word at `span`.

    `shape` is `text` with each character folded, so this is only for words that can be folded character by
    character.
    """
    start, end = span
    word = shape[start:end]
    for words, goes_on in wanted.terms:
        first = words[0]
        if len(words) > 1:
            if word == first:
                stream = next(_streams(text, start, end, wanted.longest))
                hit = _run(stream, words, goes_on=goes_on)
                found += (hit,) if hit is not None else ()
        elif word == first or (goes_on and word.startswith(first)):
            found.append((start, start + len(first)))
        elif first in word and ("_" in word or text[start:end] != word):
            part = _part(SearchToken(word, start, end), text, first, goes_on=goes_on)
            found += (part,) if part is not None else ()


def _odd_hits(
    known: dict[str, list[tuple[int, int]]], text: str, span: tuple[int, int], wanted: _Wanted
) -> list[tuple[int, int]]:
    """Return the hits of the `wanted` terms that begin in the word at `span`.

    This is for a word with characters that cannot be folded one by one.

    `known` caches, by word, the hits within a word that do not depend on other words.
    """
    start, end = span
    word = text[start:end]
    if not _may_begin(word, wanted):
        return []
    if wanted.longest > 1:
        return _hits_within(text, start, end, wanted)
    if word not in known:
        known[word] = _hits_within(word, 0, len(word), wanted)
    return [(first + start, last + start) for first, last in known[word]]


def _hits_within(text: str, start: int, end: int, wanted: _Wanted) -> list[tuple[int, int]]:
    found = []
    for stream in _streams(text, start, end, wanted.longest):
        for words, goes_on in wanted.terms:
            span = _run(stream, words, goes_on=goes_on)
            if span is None and len(words) == 1:
                span = _part(stream[0], text, words[0], goes_on=goes_on)
            if span is not None:
                found.append(span)
    return found


def _streams(text: str, start: int, end: int, longest: int) -> Iterator[list[SearchToken]]:
    """Yield, for each token of the word `text[start:end]`, a list of this token and the next ones.

    A list has at most `longest` tokens.
    """
    rest = text[start : end + _FAR] if longest > 1 else text[start:end]
    ahead: list[SearchToken] = []
    source = (SearchToken(each.text, each.start + start, each.end + start) for each in tokens(rest))
    while True:
        ahead += islice(source, longest - len(ahead))
        if not ahead or ahead[0].start >= end:
            return
        yield ahead
        ahead = ahead[1:]


def _run(stream: Sequence[SearchToken], words: Sequence[str], *, goes_on: bool) -> tuple[int, int] | None:
    if len(words) > len(stream):
        return None
    last = len(words) - 1
    for place, word in enumerate(words):
        token = stream[place]
        if token.text != word and not (goes_on and place == last and token.text.startswith(word)):
            return None
    end = stream[last]
    # A word that folds to another length cannot be cut at a position: then the whole word is the hit.
    cut = end.start + len(words[-1]) if len(end.text) == end.end - end.start else end.end
    return stream[0].start, min(cut, end.end)


def _part(token: SearchToken, text: str, word: str, *, goes_on: bool) -> tuple[int, int] | None:
    if word not in token.text or token.text == word:
        return None
    for part in parts(token, text):
        if part.text == word or (goes_on and part.text.startswith(word)):
            return part.start, part.start + len(word) if part.end - part.start == len(part.text) else part.end
    return None


def _merged(spans: list[tuple[int, int]]) -> Ranges:
    result: list[tuple[int, int]] = []
    for start, end in sorted(set(spans)):
        if result and start < result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return tuple(result)
