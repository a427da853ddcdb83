"""Words that the judgement of near-duplicates knows, and two questions about them: what is the folded form of
a word or a text, and which words exclude each other?

The words and patterns are in `resources/vocabulary.toml`, where comments say what each list is for; they are
read when this module is imported, which only the rules are. What is written differently and means the same
becomes the same: typographic characters, Markdown's emphasis and links, fixed phrases ("at most", "instead
of"), inflection and synonyms. Nothing here depends on context; what a sentence says is read in `wording`.

Pure; any thread. A missing or damaged file fails the import: a bug of ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from functools import lru_cache

from reverie.resources import resource_table

_TABLE = resource_table("vocabulary.toml")


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLE["words"][name].split())


def _groups(name: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(line.split()) for line in _TABLE["groups"][name].strip().splitlines())


def _by_word(name: str) -> dict[str, str]:
    """The names of a section by the words that stand for them."""
    return {each: canon for canon, words in _TABLE[name].items() for each in words.split()}


def _one_of(*, words: list[str], marks: list[str]) -> str:
    """A pattern for any of these; `words` begin where a word begins. Each begins with a plain character: to
    look at that one first makes a search nine times as fast."""

    def by_first(patterns: list[str]) -> str:
        first = "".join(sorted({pattern[0] for pattern in patterns}))
        return f"(?=[{first}])(?:{'|'.join(patterns)})"

    return rf"\b{by_first(words)}|{by_first(marks)}"


ENGLISH_FUNCTION_WORDS = _words("english_function_words")
FUNCTION_WORDS = ENGLISH_FUNCTION_WORDS | _words("foreign_function_words")
WEAK_WORDS = _words("weak_words")
STATUS_MARKERS = _words("status_markers")
ENTITY_FOLDERS = _words("entity_folders")
FILLER_NAME_WORDS = _words("filler_name_words")
POOR_NAME_WORDS = _words("poor_name_words")
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
GERMAN_ARTICLES = _words("german_articles")
LOADED_HEADINGS = HEDGES | STATUS_MARKERS | _words("more_loaded_headings")
SEQUENCE = _words("sequence")
HOLDING = _words("holding")
PRONOUNS = _words("pronouns")
NEGATED_PERMISSION = _words("negated_permission")
BOUNDARIES = _words("boundaries")
RELATIONS = _words("relations")
PASSIVE_BY = _words("passive_by")
PREPOSITIONS = RELATIONS | _words("more_prepositions")
PRESENT_WORDS = _words("present_words")
ANTONYM_PREFIXES = tuple(_TABLE["words"]["antonym_prefixes"].split())

SYNONYMS = _groups("synonyms")
EXCLUSIVE = _groups("exclusive")
_OPPOSITES = _groups("opposite_relations")
OPPOSITE_RELATIONS = tuple(zip(_OPPOSITES[::2], _OPPOSITES[1::2], strict=True))
ENVIRONMENT_MARKERS = _by_word("environments")
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
_LINK = re.compile(r"!?\[([^\[\]]*)\]\(<?([^()\s]*)>?[^()]*\)")
_EMPHASIS = re.compile(r"(?<![\w/*.])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/*])(?:\*{1,3}|_{1,3}|~~)(?![\w/*])")
_UPPER, _LOWER = " bound:upper ", " bound:lower "
# Each phrase with the words of which one must be there.
_PHRASES = tuple(
    (frozenset(triggers.split()), re.compile(pattern, re.IGNORECASE), replacement)
    for triggers, pattern, replacement in _TABLE["folding"]["phrases"]
)
_TRIGGERS = frozenset().union(*(triggers for triggers, _pattern, _replacement in _PHRASES))
_COMPARISON = re.compile(r"(?<=\s)(?:<=|<)(?=\s?\d)|≤|(?<=\s)(?:>=|>)(?=\s?\d)|≥")
_PLAIN_WORD = re.compile(r"[^\W\d_]+")
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af々ー"
_SCRIPT_CHANGE = re.compile(rf"(?<=[{_EAST_ASIAN}])(?=[A-Za-z0-9`#])|(?<=[A-Za-z0-9`%])(?=[{_EAST_ASIAN}])")


def word(canon: str) -> str:
    """The folded form of one lower-case word: inflection off, synonyms on one of them."""
    return _SYNONYM.get(canon) or _SYNONYM.get(stem(canon)) or stem(canon)


@lru_cache(maxsize=65536)
def stem(text: str) -> str:
    """Light: plural, -ing, -ed, -ly, -ion and a final e go; short words and other scripts stay."""
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
    """Markup, typographic characters and fixed phrases folded; code spans lose their marks."""
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


def excludes(a: frozenset[str], b: frozenset[str], *, strict: bool = False) -> bool:
    """Whether each side has a word of a group that the other side has another word of.

    `strict`: of groups of more than three (days, systems) both must have the same words if they have any.
    """
    of_a, of_b = _members(a), _members(b)
    for group in of_a.keys() & of_b.keys():
        if of_a[group] - of_b[group] and of_b[group] - of_a[group]:
            return True
        if strict and len(EXCLUSIVE[group]) > 3 and of_a[group] != of_b[group]:
            return True
    return False


def excluding_words(seen: frozenset[str]) -> frozenset[str]:
    """Those of some words that exclude any other."""
    return frozenset(word(each) for each in seen if each in _GROUPS_OF or word(each) in _GROUPS_OF)


def _members(seen: frozenset[str]) -> dict[int, set[str]]:
    """By group, the words of it that were seen."""
    members: dict[int, set[str]] = defaultdict(set)
    for each in seen:
        for group in _GROUPS_OF.get(each) or _GROUPS_OF.get(word(each), ()):
            members[group].add(word(each))
    return members
