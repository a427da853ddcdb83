"""The tokens of a statement, folded so that two phrasings of the same thing become similar.

Spelling, inflection, units, number words, dates, quotes and markup are folded. Numbers, identifiers and names
are marked, because statements that differ in these differ in meaning. Each token has a flag for negation.

The words and patterns are in `resources/vocabulary.toml`, where comments describe the purpose of each list;
they are read when this module is imported, which only the rules do. If the file is missing or damaged, the
import fails, because that is a bug of Reverie. Folding turns different spellings with the same meaning into
one: typographic characters, emphasis and links of Markdown, fixed phrases ("at most", "instead of"),
inflection and synonyms. It does not depend on context.

Pure; any thread; linear in the text.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import accumulate
from typing import Literal, NamedTuple

from reverie.resources import resource_table
from reverie.text.patterns import pattern_of
from reverie.values import Struct, field

_TABLE = resource_table("vocabulary.toml")


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLE["words"][name].split())


def _groups(name: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(line.split()) for line in _TABLE["groups"][name].strip().splitlines())


def _by_word(name: str) -> dict[str, str]:
    """Return the key of each word that is listed in the section `name` of the vocabulary, by word."""
    return {each: canon for canon, words in _TABLE[name].items() for each in words.split()}


def _one_of(*, words: list[str], marks: list[str]) -> str:
    """Return a pattern for any of these texts; `words` only match at the beginning of a word.

    Each text must begin with a character that is not special in a pattern. Testing that character first makes
    the search nine times as fast.
    """

    def by_first(patterns: list[str]) -> str:
        first = "".join(sorted({pattern[0] for pattern in patterns}))
        return f"(?=[{first}])(?:{'|'.join(patterns)})"

    return rf"\b{by_first(words)}|{by_first(marks)}"


ENGLISH_FUNCTION_WORDS = _words("english_function_words")
FUNCTION_WORDS = ENGLISH_FUNCTION_WORDS | _words("foreign_function_words")
WEAK_WORDS = _words("weak_words")
STATUS_MARKERS = _words("status_markers")
ENTITY_FOLDERS = _words("entity_folders")
ENVIRONMENTS = _words("environments")
FILLER_NAME_WORDS = _words("filler_name_words")
POOR_NAME_WORDS = _words("poor_name_words")
NOTE_NAME_WORDS = _words("note_name_words")
"""Words in a name which only say that the file is a note.

A name of such words alone says nothing; beside other words they are ignored.
"""
PLACEHOLDERS = _words("placeholders")
PAST_WORDS = _words("past_words")
FUTURE_TRIGGERS = _words("future_triggers")
FORMER_TRIGGERS = _words("former_triggers")
ONE_WORDS = _words("one_words")
ARTICLES = _words("articles")
NEGATIONS_FORWARD = _words("negations_forward")
NEGATIONS_CLAUSE = _words("negations_clause")
HEDGES = _words("hedges")
NEGATING = _words("negating")
STRONG_MODALS = _words("strong_modals")
WEAK_MODALS = _words("weak_modals")
LOADED_HEADINGS = HEDGES | STATUS_MARKERS | _words("more_loaded_headings")
SEQUENCE = _words("sequence")
QUALIFIERS = _words("qualifiers")
UNIVERSALS = _words("universals")
HOLDING = _words("holding")
NEGATED_PERMISSION = _words("negated_permission")
BOUNDARIES = _words("boundaries")
PASSIVE_BY = _words("passive_by")
PREPOSITIONS = _words("relations") | _words("more_prepositions")
PRESENT_WORDS = _words("present_words")
ANTONYM_PREFIXES = tuple(_TABLE["words"]["antonym_prefixes"].split())

SYNONYMS = _groups("synonyms")
EXCLUSIVE = _groups("exclusive")
NUMBER_WORDS = _by_word("numbers")
UNITS = _by_word("units")
MONTHS = {
    name: str(number)
    for names in _TABLE["groups"]["months"].strip().splitlines()
    for number, name in enumerate(names.split(), start=1)
}

_PATTERNS: dict[str, str] = _TABLE["patterns"]
CONTRADICTION_CUES = _one_of(words=_TABLE["contradictions"]["words"], marks=_TABLE["contradictions"]["marks"])
FUTURE_CUES = _PATTERNS["future_cues"]
FORMER_CUES = _PATTERNS["former_cues"]
CJK_NEGATION = _PATTERNS["cjk_negation"]
CJK_NOT_NEGATION = _PATTERNS["cjk_not_negation"]
HANGUL_NEGATION = _PATTERNS["hangul_negation"]
HANGUL_PARTICLES = _PATTERNS["hangul_particles"]
HAN_FUNCTION = frozenset(_TABLE["folding"]["han_function"])

_QUOTES = str.maketrans({char: text for chars, text in _TABLE["folding"]["quotes"] for char in chars})
_LINK = pattern_of(r"!?\[([^\[\]]*)\]\(<?([^()\s]*)>?[^()]*\)")
_EMPHASIS = pattern_of(r"(?<![\w/*.])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/*])(?:\*{1,3}|_{1,3}|~~)(?![\w/*])")
_UPPER, _LOWER = " bound:upper ", " bound:lower "
# Each phrase, with words of which the text must have one for the pattern to be tried.
_PHRASES = tuple(
    (frozenset(triggers.split()), pattern_of(pattern, re.IGNORECASE), replacement)
    for triggers, pattern, replacement in _TABLE["folding"]["phrases"]
)
_TRIGGERS = frozenset().union(*(triggers for triggers, _pattern, _replacement in _PHRASES))
_COMPARISON = pattern_of(r"(?<=\s)(?:<=|<)(?=\s?\d)|≤|(?<=\s)(?:>=|>)(?=\s?\d)|≥")
_PLAIN_WORD = pattern_of(r"[^\W\d_]+")
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々ー"
_SCRIPT_CHANGE = pattern_of(rf"(?<=[{_EAST_ASIAN}])(?=[A-Za-z0-9`#])|(?<=[A-Za-z0-9`%])(?=[{_EAST_ASIAN}])")


def word(canon: str) -> str:
    """Return the form of the lower-case word `canon` for comparison: uninflected, the same for synonyms."""
    return _SYNONYM.get(canon) or _SYNONYM.get(stem(canon)) or stem(canon)


@lru_cache(maxsize=65536)
def stem(text: str) -> str:
    """Return a word without plural, -ing, -ed, -ly, -ion or a final e.

    Short words and words in other scripts are returned unchanged.
    """
    if len(text) < 4 or not text.isascii():
        return text
    for ending, replacement, least in _ENDINGS:
        if text.endswith(ending) and len(text) - len(ending) >= least:
            text = text[: len(text) - len(ending)] + replacement
            if ending in ("ing", "ed") and len(text) > 3 and text[-1] == text[-2] and text[-1] in "bdfgmnprt":
                text = text[:-1]
            break
    return text[:-1] if len(text) > 3 and text.endswith("e") else text


_ENDINGS = (
    ("ies", "y", 2), ("ied", "y", 2), ("sses", "ss", 2), ("xes", "x", 2), ("ches", "ch", 2),
    ("shes", "sh", 2), ("ingly", "", 3), ("edly", "", 3), ("ally", "al", 3), ("ings", "", 3), ("ing", "", 3),
    ("eed", "eed", 1), ("ions", "", 4), ("ion", "", 4), ("ed", "", 3), ("ly", "", 4), ("'s", "", 2),
    ("ss", "ss", 1), ("us", "us", 1), ("is", "is", 1), ("s", "", 3),
)  # fmt: skip
_SYNONYM: dict[str, str] = {}
for _group in SYNONYMS:
    _first = min(_group, key=lambda text: (len(stem(text)), text))
    for _text in _group:
        _SYNONYM.setdefault(_text, stem(_first))


def fold_text(text: str) -> str:
    """Return a text without markup, typographic characters and variants of fixed phrases.

    Code spans retain their backticks.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES)
        text = _SCRIPT_CHANGE.sub(" ", text)
    if "](" in text:
        text = _LINK.sub(r"\1 \2", text)
    text = _EMPHASIS.sub("", text) if "*" in text or "_" in text or "~" in text else text
    triggers = _TRIGGERS.intersection(_PLAIN_WORD.findall(text.casefold()))
    if triggers:
        for wanted, pattern, replacement in _PHRASES:
            if not wanted.isdisjoint(triggers):
                text = pattern.sub(replacement, text)
    if _COMPARISON.search(text):
        text = _COMPARISON.sub(lambda match: _UPPER if match[0] in "<=≤" else _LOWER, text)
    return text


PRODUCTS = frozenset(map(word, _words("products")))


def _numbers_by_word() -> dict[str, tuple[int, ...]]:
    groups: dict[str, set[int]] = defaultdict(set)
    for number, group in enumerate(EXCLUSIVE):
        for each in group:
            groups[word(each)].add(number)
    return {each: tuple(sorted(numbers)) for each, numbers in groups.items()}


_GROUPS_OF = _numbers_by_word()


def excludes(a: frozenset[str], b: frozenset[str]) -> bool:
    """Return True if each of the two sets has a word that excludes a word of the other set.

    Words of one group exclude each other, such as "on" and "off".
    """
    of_a, of_b = _members(a), _members(b)
    return any(of_a[group] - of_b[group] and of_b[group] - of_a[group] for group in of_a.keys() & of_b.keys())


def _members(seen: frozenset[str]) -> dict[int, set[str]]:
    """Return which words of `seen` are in each group of words that exclude each other, by group number."""
    members: dict[int, set[str]] = defaultdict(set)
    for each in seen:
        for group in _GROUPS_OF.get(each) or _GROUPS_OF.get(word(each), ()):
            members[group].add(word(each))
    return members


TokenKind = Literal["word", "weak", "number", "identifier", "name", "character"]
_WEIGHTS: dict[TokenKind, float] = {
    "word": 1.0,
    "weak": 0.3,
    "number": 1.5,
    "identifier": 1.5,
    "name": 1.2,
    "character": 0.5,
}


class WordToken(NamedTuple):
    """One token of a statement: a word, number, name or identifier."""

    canon: str
    """The text in the form for comparison, equal for phrasings of the same thing."""
    kind: TokenKind
    unit: str = ""
    """The unit of a number, or the year of a date; empty if there is none."""
    negated: bool = False
    """True if an odd number of negations applies to the token."""
    initial: bool = False
    """True if it begins a sentence, where a capital letter does not mark a name."""
    capital: bool = False
    """True if it begins with a capital letter."""

    @property
    def weight(self) -> float:
        """The weight of the token in comparisons."""
        return _WEIGHTS[self.kind]


class Negation(NamedTuple):
    """A negation in a statement, and the tokens that it negates."""

    reach: range
    """The numbers of the tokens that it negates."""
    forward: bool
    """True if the negation comes before these tokens, so that it mainly applies to the first of them.

    Otherwise it is anywhere in the clause.
    """


class Wording(Struct, frozen=True):
    """The tokens of one statement, with the properties that matter for its meaning."""

    tokens: tuple[WordToken, ...]
    seen: frozenset[str]
    """All words of the statement, including function words."""
    relations: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a preposition and its object."""
    negations: tuple[Negation, ...] = ()
    negative: bool = False
    """True if it has a negation of unknown scope; this applies to Chinese, Japanese and Korean."""
    marks: frozenset[str] = frozenset()
    """Properties of the whole statement: a question, in doubt, in the future or past, retracted."""
    passive: bool = False
    """True if a verb is in the passive."""
    past: bool = False
    """True if a verb is in a past tense."""
    ordered: bool = False
    """True if an arrow, or a word such as "then", shows that the order of the words matters."""
    clauses: tuple[int, ...] = ()
    """For each token, the number of the clause in which it is."""
    weight: float = field(default=0.0)

    @property
    def canons(self) -> frozenset[str]:
        """The texts of all tokens in the form for comparison: uninflected, the same for synonyms."""
        return frozenset(token.canon for token in self.tokens)


_CODE_SPAN = pattern_of(r"(?<!`)`+([^`]+)`+")
_FUNCTION = FUNCTION_WORDS | PREPOSITIONS
_WEAK = frozenset(WEAK_WORDS | {word(text) for text in WEAK_WORDS if len(text) > 3})
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_UNIT = "|".join(sorted((re.escape(unit) for unit in UNITS if ord(unit[0]) < 0x2E80), key=len, reverse=True))
_CJK_UNIT = "|".join(sorted((unit for unit in UNITS if ord(unit[0]) >= 0x2E80), key=len, reverse=True))
_TOKEN = pattern_of(
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
_SYMBOLS_ONLY = pattern_of(r"^[^\w\s]+$")
_CAMEL = pattern_of(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]|\w_\w")
_RUNS = pattern_of(r"[\u3040-\u309f]+|[\u30a0-\u30ff\u31f0-\u31ffー]+|[\u3400-\u9fff\uf900-\ufaff々]")
_CJK_NOT = pattern_of(CJK_NEGATION)
_CJK_NOT_NOT = pattern_of(CJK_NOT_NEGATION)
_HANGUL_NOT = pattern_of(HANGUL_NEGATION)
_HANGUL_PARTICLE = pattern_of(HANGUL_PARTICLES)
_FORMER = pattern_of(FORMER_CUES, re.IGNORECASE)
_FUTURE = pattern_of(FUTURE_CUES, re.IGNORECASE)
_ELISION = pattern_of(r"^(?:[cdjlmnst]|qu)'", re.IGNORECASE)
_BOUNDARY_WORDS = BOUNDARIES


@lru_cache(maxsize=4096)
def read_wording(text: str, *, code: bool = False, capital_nouns: bool = False) -> Wording:
    """Return the tokens of one statement; the result is cached, because the same lines recur.

    `code`: the text is a line of code, in which each word is an identifier and nothing is negated.
    `capital_nouns`: capital letters do not mark names, as in German.
    """
    return _WordingReader(text, code, capital_nouns).read()


class _WordingReader:
    """A parser for one statement."""

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
        """Return the statement as tokens."""
        text = self._raw if self._code else fold_text(self._raw)
        text = self._mark_code(text)
        for match in _TOKEN.finditer(text):
            self._take(match, text)
        self._end_clause()
        negations = self._negations()
        turns = Counter(end for group in negations for end in (group.reach.start, group.reach.stop))
        covering = accumulate(turns[number] for number in range(len(self._tokens)))
        tokens = tuple(
            token._replace(negated=True) if count % 2 else token
            for token, count in zip(self._tokens, covering, strict=True)
        )
        return Wording(
            tokens=tokens,
            seen=frozenset(self._seen),
            relations=frozenset(self._relations),
            negations=negations,
            negative=self._negative_script(text),
            passive=not self._code and bool(self._seen & PASSIVE_BY),
            marks=self._marks(text),
            past=not self._seen.isdisjoint(PAST_WORDS),
            ordered=self._arrows or bool(self._seen & SEQUENCE),
            clauses=self._clause_numbers(),
            weight=sum(token.weight for token in tokens),
        )

    def _mark_code(self, text: str) -> str:
        """Return the text without backticks, and record which of its parts were code.

        A code span that consists only of symbols is added as a token.
        """
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
        # `lastgroup` is the outermost group, because it is closed last.
        """Add the token that the pattern of tokens found in `text`."""
        kind = match.lastgroup or ""
        whole = match.group(kind)
        code = self._code or self._is_in_code(match.start())
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
            self._add(WordToken(f"#{amount}", "number", UNITS[whole[0]]))
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

    def _is_in_code(self, at: int) -> bool:
        number = bisect_right(self._spans, (at, sys.maxsize)) - 1
        return number >= 0 and at < self._spans[number][1]

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
        self._add(WordToken(f"#{digits.replace(',', '.')}", "number", UNITS[unit.casefold()] if unit else ""))

    def _word(self, surface: str, code: bool, initial: bool) -> None:
        """Add a word as a token; a number word, unit, negation or function word gets its special role.

        `surface`: the word as written. `code`: it is part of code. `initial`: it begins a sentence.
        """
        text = surface.casefold()
        if not code and "'" in text:
            text = self._elision(text)
        if text in NUMBER_WORDS and not code:
            self._add(WordToken(f"#{NUMBER_WORDS[text]}", "number"))
            return
        if not code and text in UNITS and len(text) > 2 and self._counts_unit(UNITS[text]):
            return
        self._article = text in ARTICLES
        self._seen.add(text)
        if code:
            self._add(WordToken(text if self._code else stem(text), "identifier"))
            return
        self._negation(text)
        self._last_word = text
        if text in ONE_WORDS:
            self._add(WordToken("#1", "weak"))
        elif text in NEGATED_PERMISSION:
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
        """Attach the unit `unit`, written as a word, to the number before it; return False without a number.

        The number may be a number word or an article ("ten minutes", "an hour").
        """
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
        if text in NEGATIONS_FORWARD or (text == "over" and self._prefers):
            self._forward.append(len(self._tokens))
        elif text in NEGATIONS_CLAUSE:
            self._whole = True
        elif text in _BOUNDARY_WORDS:
            self._end_clause()

    def _connect(self, text: str) -> None:
        if text in PREPOSITIONS or text in PASSIVE_BY:
            self._connector = text

    def _cjk(self, whole: str) -> None:
        for run in _RUNS.findall(whole):
            if "\u3040" <= run[0] <= "\u309f":
                continue
            if "\u30a0" <= run[0] <= "\u30ff":
                self._add(WordToken(run.rstrip("ー"), "word"))
            elif run not in HAN_FUNCTION:
                self._add(WordToken(run, "character"))

    def _add(self, token: WordToken) -> None:
        if self._connector and token.kind != "weak":
            self._relations.add((self._connector, token.canon))
            # The object may follow an adjective, so the second word counts as well, marked by a plus sign.
            self._connector = None if self._connector.endswith("+") else f"{self._connector}+"
        self._seen.add(token.canon)
        self._tokens.append(token)

    def _end_clause(self) -> None:
        end = len(self._tokens)
        is_last = self._last_word in NEGATIONS_FORWARD
        self._clauses.append((self._clause_start, list(self._forward), self._whole, is_last))
        self._clause_start, self._forward, self._whole, self._connector = end, [], False, None

    def _clause_numbers(self) -> tuple[int, ...]:
        starts = [clause[0] for clause in self._clauses[1:]]
        return tuple(bisect_right(starts, number) for number in range(len(self._tokens)))

    def _negations(self) -> tuple[Negation, ...]:
        """Return the scope of each negation.

        It reaches from the negation to the end of the clause, or is the whole clause.
        """
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
                    # "dark mode: no": the negation is a clause of its own and negates the one before.
                    groups.append(Negation(range(before, end), False))
            before = start
            if whole:
                groups.append(Negation(range(start, end), False))
        return tuple(group for group in groups if group.reach)

    def _is_initial(self, start: int, text: str) -> bool:
        while start and text[start - 1] in " \"'(*_-":
            start -= 1
        return not start or text[start - 1] in ".!?:;|>]"

    def _marks(self, text: str) -> frozenset[str]:
        if self._code:
            return frozenset()
        marks = {f"hedge {each}" for each in self._seen & HEDGES}
        marks |= {f"negating {word(each)}" for each in self._seen & NEGATING}
        marks |= {"holding" for connector, _thing in self._relations if connector in HOLDING}
        if self._raw.rstrip(" *_)\"'").endswith(("?", "？")):
            marks.add("question")
        if self._has(_FORMER, FORMER_TRIGGERS, text):
            marks.add("former")
        if self._has(_FUTURE, FUTURE_TRIGGERS, text):
            marks.add("future")
        return frozenset(marks)

    def _has(self, cue: re.Pattern[str], triggers: frozenset[str], text: str) -> bool:
        """Return True if the text matches `cue`.

        The search is skipped unless one of the words `triggers` was seen or the text is not ASCII.
        """
        return not (text.isascii() and self._seen.isdisjoint(triggers)) and bool(cue.search(text))

    def _negative_script(self, text: str) -> bool:
        if text.isascii():
            return False
        return bool(_CJK_NOT.search(_CJK_NOT_NOT.sub("", text)) or _HANGUL_NOT.search(text))


_EDGES = {"path": ".:/*-_+#", "url": ".,:"}


def _is_abbreviation(surface: str, text: str) -> bool:
    """Return True if a word in capitals, such as CET or EST, is an abbreviation and not a function word."""
    return len(surface) > 1 and surface.isupper() and text not in ENGLISH_FUNCTION_WORDS


def _date(kind: str, match: re.Match[str]) -> WordToken:
    if kind == "iso":
        year, month, day = match.group("iso").split("-")
    else:
        year = match.group(f"{kind}_year") or ""
        month, day = MONTHS[match.group(f"{kind}_month").casefold()], match.group(f"{kind}_day")
    return WordToken(f"@{int(month)}-{int(day)}", "number", year)
