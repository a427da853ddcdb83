"""Search queries: parsing, their form for the index, and their matches in a text.

All words must be found (the last one may be unfinished; `memory.search.index` has a fallback for when too few
notes have them all), `"phrases"` as they are written, `/regex/` line by line. Filters: `scope:project`,
`project:acme`, `agent:claude`, `home:mux`, `pinned:yes`, `changed:<7d` (or `>2w`), `by:agent`. Anything else
with a colon (`http://…`, `note: x`) is words. Nothing raises while a person is typing: an invalid query has
`problems`.

The words of a text are the same for the index and for queries. SQLite's `unicode61` tokenizer (with `_` as a
token character) splits the text that this module passes to it. Done here: folding of case, accents and
widths; runs of Chinese, Japanese and Korean as overlapping pairs of characters; the parts of identifiers
(`max_retries` and `maxRetries` are found by `retries`).

Pure; any thread.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from math import inf
from typing import Any, NamedTuple

from reverie.agents.scopes import Scope
from reverie.values import Struct, field, replace

# Languages that put no space between words; Hangul does, but its words carry their endings.
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CJK_RUN = re.compile(f"[{_CJK}]+")
# Only the marks of Latin, Greek and Cyrillic: without its mark a Japanese syllable is another one.
_MARKS = re.compile("[\u0300-\u036f]+")
_WORD = re.compile("\\w[\\w\u0300-\u036f]*")
# An identifier with parts; each alternative is tried once per token, so long blobs cost no more.
_SNAKE = re.compile(r"(?<!\w)(?:_+[^\W_]|[^\W_]+_)\w*")
_CAMEL = re.compile(r"(?<!\w)\w*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z])\w*")
_SEAM = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_LONGEST_IDENTIFIER = 100


class SearchToken(NamedTuple):
    """One word of a text, folded, and its position in the original.

    A tuple, because one is made for each word of fifty texts at every key press.
    """

    text: str
    start: int
    end: int


def folded(text: str) -> str:
    """Return `text` without differences of case, accent and width."""
    if text.isascii():
        return text.lower().replace("\0", " ")
    bare = _MARKS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).casefold().replace("\0", " ")


def is_cjk(char: str) -> bool:
    """Return whether a character belongs to a run without spaces."""
    return _CJK_RUN.match(char) is not None


def index_text(text: str) -> str:
    """Return a text's form for the index: folded, runs of CJK as pairs plus their last character."""
    plain = folded(text)
    return plain if plain.isascii() else _CJK_RUN.sub(lambda found: f" {_pairs(found[0])} ", plain)


def index_parts(text: str) -> str:
    """Return the parts of the identifiers in a text, each once, folded."""
    found: dict[str, None] = {}
    for pattern in (_SNAKE, _CAMEL):
        for match in pattern.finditer(text):
            if match.end() - match.start() <= _LONGEST_IDENTIFIER:
                found.update(dict.fromkeys(_SEAM.split(match[0])))
    found.pop("", None)
    return index_text(" ".join(found))


def fts_phrase(text: str, *, prefix: bool) -> str:
    """Return `text` as one FTS5 phrase, its words in order; empty if it has no word.

    With `prefix` the last word may be a prefix. A single character of CJK always may: it begins a pair or is
    the last of a run.
    """
    plain = folded(text)
    runs = list(_CJK_RUN.finditer(plain))
    ends_in_run = bool(runs) and not _WORD.search(plain, runs[-1].end())
    pieces: list[str] = []
    at = 0
    for place, run in enumerate(runs):
        is_last = ends_in_run and place == len(runs) - 1
        # The last character is a token of its own in the index; here its run may continue.
        pairs = _pairs(run[0], closed=not is_last or len(run[0]) == 1)
        pieces += [plain[at : run.start()], pairs]
        at = run.end()
    pieces.append(plain[at:])
    joined = " ".join(pieces).replace('"', " ")
    if not _WORD.search(joined):
        return ""
    goes_on = len(runs[-1][0]) == 1 if ends_in_run else prefix and len(_last_word(joined)) > 1
    return f'"{joined.strip()}"' + (" *" if goes_on else "")


def tokens(text: str) -> Iterator[SearchToken]:
    """Yield the words of a text in order, in their form for queries: runs of CJK character by character."""
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        at = 0
        for run in _CJK_RUN.finditer(word) if not word.isascii() else ():
            yield from _plain(word[at : run.start()], start + at)
            for place in range(run.start(), run.end()):
                yield SearchToken(folded(word[place]), start + place, start + place + 1)
            at = run.end()
        yield from _plain(word[at:], start + at)


def parts(token: SearchToken, text: str) -> Iterator[SearchToken]:
    """Yield the parts of an identifier and their positions; nothing for a plain word."""
    word = text[token.start : token.end]
    if len(word) > _LONGEST_IDENTIFIER or not (_SNAKE.match(word) or _CAMEL.match(word)):
        return
    at = 0
    for seam in (*_SEAM.finditer(word), None):
        end = seam.start() if seam is not None else len(word)
        if end > at:
            yield SearchToken(folded(word[at:end]), token.start + at, token.start + end)
        at = seam.end() if seam is not None else end


def _plain(word: str, start: int) -> Iterator[SearchToken]:
    """Yield a word between runs; folding may split it (a fraction, a ligature of signs)."""
    if not word:
        return
    for piece in _WORD.findall(folded(word)):
        yield SearchToken(piece, start, start + len(word))


def _pairs(run: str, *, closed: bool = True) -> str:
    pairs = [run[place : place + 2] for place in range(len(run) - 1)]
    return " ".join((*pairs, run[-1])) if closed or not pairs else " ".join(pairs)


def _last_word(text: str) -> str:
    return str(_WORD.findall(text)[-1])


HOUR_NS = 3_600_000_000_000
_UNITS = {"m": HOUR_NS // 60, "h": HOUR_NS, "d": 24 * HOUR_NS, "w": 7 * 24 * HOUR_NS}
_PIECE = re.compile(r'(?:(?P<key>[a-z]+):)?(?:"(?P<quoted>[^"]*)"?|(?P<plain>[^\s"]+))')
_REGEX = re.compile(r"(?:^|(?<=\s))/((?:[^/\\\n]|\\.)+)/(?=\s|$)")
_SPAN = re.compile(r"([<>]?)(\d{1,6})([mhdw])")
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_MOST_REPEATS = 3
_PATTERN_TOKEN = re.compile(
    r"(?P<repeat>(?:[*+?]|\{(?!\})(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})[?+]?)"
    # Comments, references and flags of the whole pattern hold nothing that repeats.
    r"|(?P<empty>\(\?(?:\#[^)]*|P=\w+|[a-zA-Z]+)\))"
    r"|(?P<open>\((?:\?(?:\(\w+\)|P?<\w+>|<?[=!]|>|[a-zA-Z]*(?:-[a-zA-Z]+)?:))?)"
    r"|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<other>[.^$]|\\[AbBZ1-9]|\[\^\]?(?:\\.|[^]\\])*\])"
    r"|(?P<single>\[\]?(?:\\.|[^]\\])*\]"
    r"|\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|0[0-7]{0,2}|.)|.)",
    re.DOTALL,
)
_SCOPED_FLAGS = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]+))?:")


class Changed(Struct, frozen=True):
    """A filter by time of modification."""

    newer: bool
    """Modified within the last `span_ns`; False: before that."""
    span_ns: int


class Term(Struct, frozen=True):
    """Text that must occur as it is written."""

    text: str
    goes_on: bool = False
    """Whether it may be the beginning of a longer word."""
    is_exact: bool = False
    """Whether it was in quotes, so that no other form of it counts."""

    @property
    def phrase(self) -> str:
        """The term as an FTS5 phrase; empty where it holds no word."""
        return fts_phrase(self.text, prefix=self.goes_on)


class SearchQuery(Struct, frozen=True):
    """A parsed query. Empty fields do not filter."""

    terms: tuple[Term, ...] = ()
    regex: str = ""
    scopes: frozenset[Scope] = frozenset()
    homes: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    """Parts of project paths, of which one must match."""
    agents: tuple[str, ...] = ()
    """Beginnings of the names of agents whose homes are searched."""
    pinned: bool | None = None
    changed: Changed | None = None
    by: str = ""
    """The actor of the last change: `user`, `agent`, `dream`, `outside` and so on."""
    problems: tuple[str, ...] = ()
    """Sentences for people; if there are any, nothing is searched."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is searched."""
        filters = self.scopes or self.homes or self.projects or self.agents or self.changed or self.by
        return not (self.terms or self.regex or filters or self.pinned is not None or self.problems)

    @property
    def without_first_letter(self) -> SearchQuery | None:
        """The query without a last word of which only one letter is typed.

        None where there is no such word, or no other. Too many words begin with a letter to search for all of
        them.
        """
        last = self.terms[-1] if self.terms else Term("")
        begun = next(reversed(list(tokens(last.text))), None) if last.goes_on else None
        if begun is None or begun.end - begun.start > 1 or last.phrase.endswith("*"):
            return None
        before = Term(last.text[: begun.start])
        terms = (*self.terms[:-1], *((before,) if before.phrase else ()))
        return replace(self, terms=terms) if terms else None


def parse_query(text: str) -> SearchQuery:
    """Parse a query; never raises."""
    made: dict[str, Any] = {}
    problems: list[str] = []
    found = _REGEX.search(text)
    if found is not None:
        made["regex"] = found[1]
        problems += regex_problem(found[1])
        text = f"{text[: found.start()]} {text[found.end() :]}"
    terms: list[Term] = []
    for piece in _PIECE.finditer(text):
        key, quoted = piece["key"], piece["quoted"]
        value = quoted if quoted is not None else piece["plain"]
        if key in _FILTERS:
            problems += _FILTERS[key](value.casefold(), made) if value else ()
        elif not key and quoted is None and value.endswith(":") and value[:-1] in _FILTERS:
            continue  # its value is still to come
        elif quoted is not None and not key:
            terms.append(Term(quoted, is_exact=True))
        else:
            terms.append(Term(piece[0].replace('"', " "), goes_on=piece.end() == len(text)))
    kept = [term for term in terms if term.phrase]
    if not kept and terms and "regex" not in made and any(term.text.strip() for term in terms):
        # Only signs (`->`, `$&`): not in the index, but in the texts.
        made["regex"] = re.escape(" ".join(term.text for term in terms).strip())
    return SearchQuery(terms=tuple(kept), problems=tuple(problems), **made)


def regex_problem(pattern: str) -> list[str]:
    """Return why a pattern is refused: it is invalid, or it might run for ever; empty for a good one.

    Python's engine backtracks and cannot be interrupted, and it blocks the interpreter while it works.
    """
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        return [f"/{pattern}/ is no regular expression: {error}."]
    open_ended, nested = _repeats(pattern, verbose=bool(compiled.flags & re.VERBOSE))
    if nested or open_ended > _MOST_REPEATS:
        return [f"/{pattern}/ could take for ever: it repeats what repeats. Say it more simply."]
    return []


class _PatternItem(Struct, frozen=True):
    """A character, a class or a group of a pattern, with its repeat."""

    text: str
    """Its source; unique for a group."""
    is_single: bool = False
    """Whether it matches one character out of a set, so alternatives like it are a set too."""
    is_ambiguous: bool = False
    """Whether a part of it repeats without limit, or is a choice: repeated in turn, it may run for ever."""


class _PatternGroup(Struct):
    """An open group, or the whole pattern."""

    verbose: bool
    alternatives: list[list[_PatternItem]] = field(default_factory=lambda: [[]])

    def is_ambiguous(self) -> bool:
        return self._is_choice() or any(item.is_ambiguous for items in self.alternatives for item in items)

    def _is_choice(self) -> bool:
        """Return whether its alternatives, after a common beginning, are more than a set of characters."""
        first, *others = self.alternatives
        at = 0
        while others and all(items[at : at + 1] == first[at : at + 1] != [] for items in others):
            at += 1
        rests = [items[at:] for items in self.alternatives]
        return bool(others) and not all(len(rest) == 1 and rest[0].is_single for rest in rests)


def _repeats(pattern: str, *, verbose: bool) -> tuple[int, bool]:
    """Return how many parts of a valid pattern repeat without limit, and whether repeats are nested.

    A repeated choice counts as nested.
    """
    count, nested, at = 0, False, 0
    groups = [_PatternGroup(verbose)]
    while token := _PATTERN_TOKEN.match(pattern, at):
        items = groups[-1].alternatives[-1]
        at = token.end()
        kind, text = token.lastgroup, token[0]
        if kind == "open":
            flags = _SCOPED_FLAGS.match(text)
            on, off = flags.groups("") if flags is not None else ("", "")
            groups.append(_PatternGroup((groups[-1].verbose or "x" in on) and "x" not in off))
        elif kind == "close" and len(groups) > 1:
            is_ambiguous = groups.pop().is_ambiguous()
            groups[-1].alternatives[-1].append(_PatternItem(f"group {at}", is_ambiguous=is_ambiguous))
        elif kind == "bar":
            groups[-1].alternatives.append([])
        elif kind == "repeat" and items:
            is_open_ended = _most(token) > 16
            repeated = items[-1]
            count, nested = count + is_open_ended, nested or (is_open_ended and repeated.is_ambiguous)
            is_ambiguous = repeated.is_ambiguous or is_open_ended
            items[-1] = _PatternItem(repeated.text + text, is_ambiguous=is_ambiguous)
        elif groups[-1].verbose and text == "#":
            at = pattern.find("\n", at) + 1 or len(pattern)
        elif kind in ("single", "other") and not (groups[-1].verbose and text.isspace()):
            items.append(_PatternItem(text, is_single=kind == "single"))
    return count, nested


def _most(repeat: re.Match[str]) -> float:
    """Return the largest number of times that a quantifier allows."""
    if repeat["least"] is None:
        return 1 if repeat[0].startswith("?") else inf
    most = repeat["most"] if repeat["comma"] else repeat["least"]
    return int(most) if most else inf


def _scope(value: str, made: dict[str, Any]) -> list[str]:
    found = {scope for scope in Scope if scope.value.startswith(value)}
    made["scopes"] = made.get("scopes", frozenset()) | found
    return [] if found else [f"There is no scope “{value}”: it is workspace, project or global."]


def _home(value: str, made: dict[str, Any]) -> list[str]:
    made["homes"] = (*made.get("homes", ()), value)
    return []


def _project(value: str, made: dict[str, Any]) -> list[str]:
    made["projects"] = (*made.get("projects", ()), value)
    return []


def _agent(value: str, made: dict[str, Any]) -> list[str]:
    made["agents"] = (*made.get("agents", ()), value)
    return []


def _pinned(value: str, made: dict[str, Any]) -> list[str]:
    for words, answer in ((_YES, True), (_NO, False)):
        if any(word.startswith(value) for word in words):
            made["pinned"] = answer
            return []
    return [f"pinned:{value} is neither pinned:yes nor pinned:no."]


def _changed(value: str, made: dict[str, Any]) -> list[str]:
    found = _SPAN.fullmatch(value)
    if found is not None:
        made["changed"] = Changed(found[1] != ">", int(found[2]) * _UNITS[found[3]])
        return []
    if re.fullmatch(r"[<>]?\d{0,6}", value):
        return []  # still being typed
    return [f"changed:{value} is no time: write changed:<7d, with m, h, d or w."]


def _by(value: str, made: dict[str, Any]) -> list[str]:
    made["by"] = {"me": "user", "you": "user"}.get(value, value)
    return []


_FILTERS = {
    "scope": _scope,
    "home": _home,
    "project": _project,
    "agent": _agent,
    "pinned": _pinned,
    "changed": _changed,
    "by": _by,
}


# Only this many characters of a line are searched: a pattern's time may grow with its cube.
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
    """The terms of a query, compiled."""

    terms: tuple[tuple[tuple[str, ...], bool], ...]
    """For each term its folded words, and whether the last one may be a prefix."""
    plain: re.Pattern[str]
    """Finds the first word of any term, to the end of the word that contains it, in ASCII text."""
    shaped: re.Pattern[str]
    """The same in a shape (see `_Shapes`)."""
    longest: int
    """Number of words in the longest term."""


def term_hits(text: str, terms: Sequence[Term]) -> Ranges:
    """Return the positions of the terms in `text`, in order, without overlaps.

    Terms are also found inside an identifier. Fifty texts are searched at each key press, so a text is split
    into words only near a candidate. Candidates are found in its shape, which is as long as the text and
    folded character by character. Ranges are `(start, end)` in characters.
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
    """Return where the pattern matches, line by line, ignoring case."""
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
    """The shape of each character; filled on demand."""

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
    """Return whether a word can hold the first one of a term; most that fold to another length cannot."""
    whole = _folded(word)
    return whole is None or wanted.plain.search(whole) is not None


@lru_cache(maxsize=8192)
def _folded(word: str) -> str | None:
    """Return the word folded as a whole; None where it would be folded in parts."""
    return None if any(map(is_cjk, word)) else folded(word)


def _plain_hits(
    found: list[tuple[int, int]], text: str, shape: str, span: tuple[int, int], wanted: _Wanted
) -> None:
    """Add the hits that begin with the plain word at `span`."""
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
    """Return the hits that begin within the word at `span`.

    `known`: hits within earlier words, where no other word matters.
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
    """Yield for each token of the word at `start`: it and the ones behind it, up to `longest`."""
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


WIDTH = 160
_BEFORE = 40
# Single spaces, which are the most, are not matched: fifty snippets are made at each key press.
_SPACE = re.compile(r"\s\s+|[^\S ]")


class Snippet(Struct, frozen=True):
    """One line of a text that shows why it was found."""

    text: str
    hits: Ranges
    """Positions in `text`, as `(start, end)` in characters; empty if only the name matches."""
    line: int = 0
    """From 1; 0 if only the name matches."""


def snippet(text: str, query: SearchQuery) -> Snippet:
    """Return the line of `text` with the most hits close together; without a hit its beginning."""
    return snippet_of(text, regex_hits(text, query.regex) if query.regex else term_hits(text, query.terms))


def snippet_of(text: str, hits: Ranges) -> Snippet:
    """Return the snippet for known hits."""
    if not hits:
        return Snippet(_beginning(text), ())
    start, end = _window(text, _densest(hits))
    return _cut(text, start, end, hits)


def _densest(hits: Ranges) -> tuple[int, int]:
    """Return the hit after which most others follow within a snippet."""
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
