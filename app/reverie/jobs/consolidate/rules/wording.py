"""Statements as tokens: what a sentence says, folded so that two wordings of the same thing look alike.

Spelling, inflection, units, number words, dates, quotes and markup are folded; numbers, identifiers and names
are marked, because two statements that differ in those differ in substance. Each token knows whether it is
negated.

Pure; linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from reverie.jobs.consolidate.rules import vocabulary
from reverie.jobs.consolidate.rules.vocabulary import fold_text, stem, word

# What `jobs.consolidate.rules.wording` reads in a statement: its tokens, what negates them, and what
# colours it. Values.


TokenKind = Literal["word", "weak", "number", "identifier", "name", "character"]
# What a mark on a statement says about it, by its first word.
MARKS = {
    "question": "whether it is asked or said",
    "hedge": "how settled it is",
    "future": "whether it is or will be",
    "former": "whether it was or is",
    "holding": "how long it holds",
    "negating": "a word that takes something back",
}
_WEIGHTS: dict[TokenKind, float] = {
    "word": 1.0,
    "weak": 0.3,
    "number": 1.5,
    "identifier": 1.5,
    "name": 1.2,
    "character": 0.5,
}


class WordToken(NamedTuple):
    """`canon` is equal for wordings of the same thing; `unit` is for numbers ("" when none stands there), and
    the year for dates. `negated`: an odd number of negations covers it. `initial`: its capital letter says
    nothing; `capital`: it has one."""

    canon: str
    kind: TokenKind
    unit: str = ""
    negated: bool = False
    initial: bool = False
    capital: bool = False

    @property
    def weight(self) -> float:
        return _WEIGHTS[self.kind]


class Negation(NamedTuple):
    """The numbers of the tokens that one negation covers. `forward`: it stands before them, so that the first
    is what it is about; else it stands somewhere in the clause."""

    reach: range
    forward: bool


@dataclass(frozen=True, slots=True)
class Wording:
    """One statement. `seen` are all its words with function words, `relations` pairs of (connector, object),
    `negations` what each negation covers, `negative` whether a language whose
    negation has no reach we know (Chinese, Japanese, Korean) negates anything, `marks` what else colours all
    of it (see `MARKS`), `past` whether it has a past tense, `ordered` whether an arrow or a word such as
    "then" makes the order matter, `clauses` the number of its clause for each token."""

    tokens: tuple[WordToken, ...]
    seen: frozenset[str]
    relations: frozenset[tuple[str, str]] = frozenset()
    negations: tuple[Negation, ...] = ()
    negative: bool = False
    marks: frozenset[str] = frozenset()
    passive: bool = False
    past: bool = False
    ordered: bool = False
    clauses: tuple[int, ...] = ()
    weight: float = field(default=0.0)

    @property
    def canons(self) -> frozenset[str]:
        return frozenset(token.canon for token in self.tokens)


_CODE_SPAN = re.compile(r"`+([^`]+)`+")
_FUNCTION = vocabulary.FUNCTION_WORDS | vocabulary.PREPOSITIONS
_WEAK = frozenset(vocabulary.WEAK_WORDS | {word(text) for text in vocabulary.WEAK_WORDS if len(text) > 3})
_MONTH = "|".join(sorted(vocabulary.MONTHS, key=len, reverse=True))
_UNIT = "|".join(
    sorted((re.escape(unit) for unit in vocabulary.UNITS if ord(unit[0]) < 0x2E80), key=len, reverse=True)
)
_CJK_UNIT = "|".join(
    sorted((unit for unit in vocabulary.UNITS if ord(unit[0]) >= 0x2E80), key=len, reverse=True)
)
_TOKEN = re.compile(
    rf"""
      (?P<url>\b[a-z][a-z0-9+.-]{{1,20}}://[^\s<>()"']+)
    | (?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)
    | (?P<dmy>\b(?P<dmy_day>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?\s+(?:of\s+|de\s+)?(?P<dmy_month>{_MONTH})\b\.?
        (?:,?\s+(?:de\s+)?(?P<dmy_year>\d{{4}})\b)?)
    | (?P<mdy>\b(?P<mdy_month>{_MONTH})\.?\s+(?P<mdy_day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!:)
        (?:,?\s+(?P<mdy_year>\d{{4}})\b)?)
    | (?P<time>\b\d{{1,2}}:\d{{2}}(?::\d{{2}})?\b)
    | (?P<version>\bv\d+(?:\.\d+)*(?:-[a-z]+[0-9.]*)?\b|\b\d+\.\d+\.\d+(?:[.-]\w+)*)
    | (?P<arrow>->|=>|<-)
    | (?P<bound>\bbound:(?:upper|lower)\b)
    | (?P<cjkword>[\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff々ー]+)
    | (?P<hangul>[\uac00-\ud7af]+)
    | (?P<money>[$€£]\s?\d+(?:[.,]\d+)*)
    | (?P<number>(?<![\w.])[-+]?\d+(?:[.,]\d+)*(?:e\d+)?
        (?:\s?(?P<unit>(?:{_UNIT})(?![\w/])(?!\.\w)|(?:{_CJK_UNIT}))|(?=[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af])|(?![\w])))
    | (?P<flag>(?<![\w-])--?[a-z][\w-]*)
    | (?P<path>(?<!\w)[~.#@$]?/?[^\W]*(?:(?:[./:@\\_+*-]{{1,3}}|\#)[\w{{}}*]+)+/?\*?|\#\w+|\$\w+)
    | (?P<word>\w+(?:'\w+)?)
    | (?P<clause>[,;:()]|\s-\s)
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SYMBOLS_ONLY = re.compile(r"^[^\w\s]+$")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|\w_\w")
_RUNS = re.compile(r"[\u3040-\u309f]+|[\u30a0-\u30ff\u31f0-\u31ffー]+|[\u3400-\u9fff\uf900-\ufaff々]")
_CJK_NOT = re.compile(vocabulary.CJK_NEGATION)
_CJK_NOT_NOT = re.compile(vocabulary.CJK_NOT_NEGATION)
_HANGUL_NOT = re.compile(vocabulary.HANGUL_NEGATION)
_HANGUL_PARTICLE = re.compile(vocabulary.HANGUL_PARTICLES)
_FORMER = re.compile(vocabulary.FORMER_CUES, re.IGNORECASE)
_FUTURE = re.compile(vocabulary.FUTURE_CUES, re.IGNORECASE)
_ELISION = re.compile(r"^(?:[cdjlmnst]|qu)'", re.IGNORECASE)
_BOUNDARY_WORDS = vocabulary.BOUNDARIES


@lru_cache(maxsize=4096)
def read_wording(text: str, *, code: bool = False, capital_nouns: bool = False) -> Wording:
    """The tokens of one statement; the same lines come again and again, so the last few are remembered.

    `code`: a line of code, where each word is an identifier and nothing is negated. `capital_nouns`: capital
    letters say nothing, as in German.
    """
    return _WordingReader(text, code, capital_nouns).read()


class _WordingReader:
    def __init__(self, text: str, code: bool, capital_nouns: bool) -> None:
        self._code = code
        self._capital_nouns = capital_nouns
        self._raw = text
        self._spans: list[tuple[int, int]] = []
        self._tokens: list[WordToken] = []
        self._seen: set[str] = set()
        self._relations: set[tuple[str, str]] = set()
        self._connector: str | None = None
        self._clauses: list[tuple[int, list[int], bool, bool]] = []
        self._last_word = ""
        self._clause_start = 0
        self._forward: list[int] = []
        self._whole = False
        self._prefers = False
        self._arrows = False
        self._article = False

    def read(self) -> Wording:
        text = self._raw if self._code else fold_text(self._raw)
        text = self._mark_code(text)
        for match in _TOKEN.finditer(text):
            self._take(match, text)
        self._end_clause()
        negations = self._negations()
        covered = Counter(number for group in negations for number in group.reach)
        tokens = tuple(
            token._replace(negated=True) if covered[number] % 2 else token
            for number, token in enumerate(self._tokens)
        )
        return Wording(
            tokens=tokens,
            seen=frozenset(self._seen),
            relations=frozenset(self._relations),
            negations=negations,
            negative=self._negative_script(text),
            passive=not self._code and bool(self._seen & vocabulary.PASSIVE_BY),
            marks=self._marks(text),
            past=not self._seen.isdisjoint(vocabulary.PAST_WORDS),
            ordered=self._arrows or bool(self._seen & vocabulary.SEQUENCE),
            clauses=self._clause_numbers(),
            weight=sum(token.weight for token in tokens),
        )

    def _mark_code(self, text: str) -> str:
        """Backticks out; remembers where code stood, and keeps symbols that are a whole code span as a
        token."""
        pieces: list[str] = []
        at = length = 0
        for match in _CODE_SPAN.finditer(text):
            before = text[at : match.start()]
            inner = match.group(1)
            if _SYMBOLS_ONLY.match(inner):
                self._add(WordToken(f"`{inner}", "identifier"))
                inner = " "
            pieces += [before, inner]
            length += len(before)
            self._spans.append((length, length + len(inner)))
            length += len(inner)
            at = match.end()
        pieces.append(text[at:])
        return "".join(pieces)

    def _take(self, match: re.Match[str], text: str) -> None:
        # The outermost group: of nested ones it is closed last.
        kind = match.lastgroup or ""
        whole = match.group(kind)
        code = self._code or (
            bool(self._spans) and any(start <= match.start() < end for start, end in self._spans)
        )
        if kind == "clause":
            if not code:
                self._end_clause()
        elif kind == "arrow":
            self._arrows = True
        elif kind in ("iso", "dmy", "mdy"):
            self._add(_date(kind, match))
        elif kind == "number":
            self._number(whole, match.group("unit"))
        elif kind == "time":
            self._add(WordToken(f"#{whole.lstrip('0') or '0'}", "number"))
        elif kind == "money":
            amount = whole[1:].strip().replace(",", "")
            self._add(WordToken(f"#{amount}", "number", vocabulary.UNITS[whole[0]]))
        elif kind == "bound":
            self._seen.add(whole)
            self._add(WordToken(whole, "weak"))
        elif kind == "cjkword":
            self._cjk(whole)
        elif kind == "hangul":
            self._seen.add(whole)
            self._add(WordToken(_HANGUL_PARTICLE.sub("", whole) or whole, "word"))
        elif kind == "word":
            self._word(whole, code, self._is_initial(match.start(), text))
        else:
            self._identifier(kind, whole, code)

    def _identifier(self, kind: str, whole: str, code: bool) -> None:
        canon = whole.casefold().strip(_EDGES.get(kind))
        parts = canon.split("-")
        if kind == "path" and not code and all(part.isalpha() for part in parts):
            # A compound with a function word in it ("roll-out", "log-in") is one word.
            for part in ["".join(parts)] if _FUNCTION.intersection(parts) else parts:
                self._word(part, code=False, initial=True)
        elif kind == "path" and canon.replace("/", "").isalpha() and canon.count("/") == 1 and not code:
            for part in canon.split("/"):
                self._word(part, code=False, initial=True)
        elif canon:
            self._seen.add(canon)
            self._add(WordToken(canon, "identifier"))

    def _number(self, whole: str, unit: str | None) -> None:
        digits = whole[: len(whole) - len(unit)].strip() if unit else whole
        digits = digits.removeprefix("+")
        if re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits):
            digits = digits.replace(",", "")
        self._add(
            WordToken(
                f"#{digits.replace(',', '.')}", "number", vocabulary.UNITS[unit.casefold()] if unit else ""
            )
        )

    def _word(self, surface: str, code: bool, initial: bool) -> None:
        text = surface.casefold()
        if not code and "'" in text:
            text = self._elision(text)
        if text in vocabulary.NUMBER_WORDS and not code:
            self._add(WordToken(f"#{vocabulary.NUMBER_WORDS[text]}", "number"))
            return
        if (
            not code
            and text in vocabulary.UNITS
            and len(text) > 2
            and self._counts_unit(vocabulary.UNITS[text])
        ):
            return
        self._article = text in vocabulary.ARTICLES
        self._seen.add(text)
        if code:
            self._add(WordToken(text if self._code else stem(text), "identifier"))
            return
        self._negation(text)
        self._last_word = text
        if text in vocabulary.ONE_WORDS:
            self._add(WordToken("#1", "weak"))
        elif text in vocabulary.NEGATED_PERMISSION:
            self._add(WordToken(word("allow"), "weak"))
        elif text in _FUNCTION and not _is_abbreviation(surface, text):
            self._connect(text)
        else:
            canon = word(text)
            self._prefers = self._prefers or canon == word("prefer")
            kind = self._kind_of(surface, text, canon, initial)
            canon = stem(text) if kind == "identifier" else canon
            self._add(WordToken(canon, kind, initial=initial, capital=surface[:1].isupper()))
            self._connect(text)

    def _counts_unit(self, unit: str) -> bool:
        """A unit written as a word after a number word or an article ("ten minutes", "an hour") joins its
        number."""
        last = self._tokens[-1] if len(self._tokens) > self._clause_start else None
        if last is not None and last.canon.startswith("#") and not last.unit:
            self._tokens[-1] = last._replace(unit=unit, kind="number")
            return True
        if self._article:
            self._add(WordToken("#1", "number", unit))
        return self._article

    def _elision(self, text: str) -> str:
        if text.startswith("n'"):
            self._whole = True
        text = _ELISION.sub("", text)
        return text.removesuffix("'s").replace("'", "")

    def _kind_of(self, surface: str, text: str, canon: str, initial: bool) -> TokenKind:
        if text in _WEAK or canon in _WEAK or (len(text) == 1 and text.isascii()):
            return "weak"
        if _CAMEL.search(surface) or any(letter.isdigit() for letter in text):
            return "identifier"
        if surface[0].isupper() and not initial and not self._capital_nouns:
            return "name"
        return "word"

    def _negation(self, text: str) -> None:
        if text in vocabulary.NEGATIONS_FORWARD or (text == "over" and self._prefers):
            self._forward.append(len(self._tokens))
        elif text in vocabulary.NEGATIONS_CLAUSE:
            self._whole = True
        elif text in _BOUNDARY_WORDS:
            self._end_clause()

    def _connect(self, text: str) -> None:
        if text in vocabulary.PREPOSITIONS or text in vocabulary.PASSIVE_BY:
            self._connector = text

    def _cjk(self, whole: str) -> None:
        for run in _RUNS.findall(whole):
            if "\u3040" <= run[0] <= "\u309f":
                continue
            if "\u30a0" <= run[0] <= "\u30ff":
                self._add(WordToken(run.rstrip("ー"), "word"))
            elif run not in vocabulary.HAN_FUNCTION:
                self._add(WordToken(run, "character"))

    def _add(self, token: WordToken) -> None:
        if self._connector and token.kind != "weak":
            self._relations.add((self._connector, token.canon))
            # The thing may follow an adjective: the second word counts as well, but only for standing in a
            # phrase.
            self._connector = None if self._connector.endswith("+") else f"{self._connector}+"
        self._seen.add(token.canon)
        self._tokens.append(token)

    def _end_clause(self) -> None:
        end = len(self._tokens)
        is_last = self._last_word in vocabulary.NEGATIONS_FORWARD
        self._clauses.append((self._clause_start, list(self._forward), self._whole, is_last))
        self._clause_start, self._forward, self._whole, self._connector = end, [], False, None

    def _clause_numbers(self) -> tuple[int, ...]:
        starts = [clause[0] for clause in self._clauses[1:]]
        return tuple(bisect_right(starts, number) for number in range(len(self._tokens)))

    def _negations(self) -> tuple[Negation, ...]:
        """What each negation covers: from it to the end of its clause, or the clause when nothing follows."""
        groups: list[Negation] = []
        before = 0
        ends = [clause[0] for clause in self._clauses[1:]] + [len(self._tokens)]
        for (start, forward, whole, is_last), end in zip(self._clauses, ends, strict=True):
            for position in forward:
                if position < end:
                    groups.append(Negation(range(position, end), True))
                elif start < end:
                    groups.append(Negation(range(start, end), False))
                elif is_last:
                    # "dark mode: no": the negation is a clause of its own and speaks of the one before.
                    groups.append(Negation(range(before, end), False))
            before = start
            if whole:
                groups.append(Negation(range(start, end), False))
        return tuple(group for group in groups if group.reach)

    def _is_initial(self, start: int, text: str) -> bool:
        before = text[:start].rstrip(" \"'(*_-")
        return not before or before[-1] in ".!?:;|>]"

    def _marks(self, text: str) -> frozenset[str]:
        if self._code:
            return frozenset()
        marks = {f"hedge {each}" for each in self._seen & vocabulary.HEDGES}
        marks |= {f"negating {word(each)}" for each in self._seen & vocabulary.NEGATING}
        marks |= {"holding" for connector, _thing in self._relations if connector in vocabulary.HOLDING}
        if self._raw.rstrip(" *_)\"'").endswith(("?", "？")):
            marks.add("question")
        if self._has(_FORMER, vocabulary.FORMER_TRIGGERS, text):
            marks.add("former")
        if self._has(_FUTURE, vocabulary.FUTURE_TRIGGERS, text):
            marks.add("future")
        return frozenset(marks)

    def _has(self, cue: re.Pattern[str], triggers: frozenset[str], text: str) -> bool:
        """Whether a cue stands there; looked for only where one of its words was seen or other scripts are
        used."""
        return not (text.isascii() and self._seen.isdisjoint(triggers)) and bool(cue.search(text))

    def _negative_script(self, text: str) -> bool:
        if text.isascii():
            return False
        return bool(_CJK_NOT.search(_CJK_NOT_NOT.sub("", text)) or _HANGUL_NOT.search(text))


_EDGES = {"path": ".:/*-_+#", "url": ".,:"}


def _is_abbreviation(surface: str, text: str) -> bool:
    """Whether a word in capitals is no function word, as in the time zones CET and EST."""
    return len(surface) > 1 and surface.isupper() and text not in vocabulary.ENGLISH_FUNCTION_WORDS


def _date(kind: str, match: re.Match[str]) -> WordToken:
    if kind == "iso":
        year, month, day = match.group("iso").split("-")
    else:
        year = match.group(f"{kind}_year") or ""
        month, day = vocabulary.MONTHS[match.group(f"{kind}_month").casefold()], match.group(f"{kind}_day")
    return WordToken(f"@{int(month)}-{int(day)}", "number", year)
