"""Folding of words and phrases: what is written differently and means the same becomes the same.

Typographic characters, Markdown's emphasis and links, fixed phrases ("at most", "instead of"), inflection and
a list of synonyms. Nothing here depends on context; what a sentence says is read in `wording`.

Pure.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from reverie.dream import vocabulary as words

_QUOTES = str.maketrans(
    {
        **dict.fromkeys("“”„«»", '"'),
        **dict.fromkeys("‘’ʼ", "'"),
        **dict.fromkeys("–—", " - "),
        **dict.fromkeys("✓✔✅☑", " yes "),
        **dict.fromkeys("✗✘❌❎", " no "),
        **dict.fromkeys("→⇒", " -> "),
        **dict.fromkeys("…\u00a0\u202f", " "),
        **dict.fromkeys("、，", ","),
        "：": ":",
        "；": ";",
    }
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\(<?([^()\s]*)>?[^()]*\)")
_EMPHASIS = re.compile(r"(?<![\w/*.])(?:\*{1,3}|_{1,3}|~~)(?=\S)|(?<=[^\s/*])(?:\*{1,3}|_{1,3}|~~)(?![\w/*])")
_UPPER, _LOWER = " bound:upper ", " bound:lower "
# Each phrase with the words of which one must be there: most statements have none and skip the search.
_PHRASES = tuple(
    (frozenset(triggers.split()), re.compile(pattern, re.IGNORECASE), replacement)
    for triggers, pattern, replacement in (
        ("most exceed exceeding", r"\bat most\b|\bnot exceed(?:ing)?\b", _UPPER),
        ("more longer", r"\b(?:no more|not more|no longer) than\b", _UPPER),
        ("less fewer", r"\b(?<!no )(?<!not )(?:less|fewer) than\b", _UPPER),
        ("up", r"\bup to\b", _UPPER),
        ("under below", r"\b(?:under|below)(?= \d)", _UPPER),
        ("zu weniger", r"\bbis zu\b|\bweniger als\b", _UPPER),
        ("plus moins", r"\bau plus\b|\b(?<!au )moins de\b", _UPPER),
        ("máximo sumo menos", r"\bcomo máximo\b|\ba lo sumo\b|\b(?<!al )menos de\b", _UPPER),
        ("max maximum höchstens maximal", r"\b(?:max|maximum|höchstens|maximal)(?:\.|\b)(?: of\b)?", _UPPER),
        ("least less fewer", r"\bat least\b|\b(?:no|not) (?:less|fewer) than\b", _LOWER),
        ("more greater", r"\b(?:more|greater) than\b", _LOWER),
        ("over above", r"\b(?:over|above)(?= \d)", _LOWER),
        ("exceed exceeds exceeding", r"\bexceed(?:s|ing)?\b", _LOWER),
        (
            "mehr moins plus menos más",
            r"\bmehr als\b|\bau moins\b|\bplus de(?= \d)|\bal menos\b|\bmás de\b",
            _LOWER,
        ),
        (
            "minimum mindestens minimal min",
            r"\b(?:minimum|mindestens|minimal|min(?=\.? \d))\b(?: of\b)?",
            _LOWER,
        ),
        ("instead rather opposed", r"\binstead of\b|\brather than\b|\bas opposed to\b", " statt "),
        ("lieu plutôt lugar", r"\bau lieu de\b|\bplutôt que\b|\ben lugar de\b", " statt "),
        ("prior", r"\bprior to\b", " before "),
        ("has have had", r"\b(?:has|have|had) to\b", " must "),
        ("pull", r"\bpull[ -]requests?\b", " pr "),
        ("next", r"\bnext to\b", " beside "),
        ("third", r"\bthird[ -]part(?:y|ies)\b", " thirdparty "),
        ("standard", r"\bstandard library\b", " stdlib "),
        ("order", r"\bin order to\b", " to "),
        ("soon once", r"\bas soon as\b|\bonce\b(?= (?:the|a|an|it|they|all)\b)", " when "),
        ("e i z p example", r"\be\.g\.|\bi\.e\.|\bz\. ?b\.|\bfor example\b|\bp\. ?ex\.", " "),
        ("day", r"\b(?:every|each|per) day\b", " daily "),
        ("hour", r"\b(?:every|each|per) hour\b", " hourly "),
        ("week", r"\b(?:every|each|per) week\b", " weekly "),
        ("year", r"\b(?:every|each|per) year\b", " yearly "),
        ("month", r"\b(?:every|each|per|a) month\b", " monthly "),
        ("cent", r"\b(?:per|pour) cent\b", " percent "),
        ("can", r"\bcan ?not\b", " cannot "),
        ("longer more", r"\bno longer\b|\bnot any ?more\b", " not "),
        ("free", r"\bfree of\b", " without "),
        ("t", r"\b(\w+?)n't\b", r" \1 not "),
    )
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
for _group in words.SYNONYMS:
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
