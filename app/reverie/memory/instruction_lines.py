"""Detection of lines that read like an instruction to a model from someone other than its user.

Pure; any thread.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import cache
from string import Template
from typing import Any

from reverie.resources import load_table
from reverie.text.secret_shapes import any_of
from reverie.values import Struct

_LONGEST_SENTENCE = 600
_SET = re.compile(r"(\[\^?\]?(?:\\.|[^\]])*\])")
_BOUNDARY = re.compile(
    r"[.!?](?=\s|\Z)|[。！？；]|[;{}:]\n|[\"'})\]],?\n|\n[ \t]*(?:\n|[-*+#>|•\"'<$]|\d{1,3}[.)][ \t]"
    r"|(?:echo|curl|sudo|export|cd|npm|pip|git|source|eval|const|let|var|await|return|import|def|if|for)[ ])"
)
# Languages in which the verb comes last.
_VERB_LAST = re.compile("[\u3040-\u30ff\uac00-\ud7af]")


class _Phrase(Struct, frozen=True):
    needs: tuple[tuple[str, ...], ...]
    """The pattern is only tried if the text contains at least one string of each group."""
    pattern: re.Pattern[str]


class _Meaning(Struct, frozen=True):
    ideas: tuple[str, ...]
    unless_forbidden: bool
    forbidden_anywhere: bool
    in_order: bool


class _Rules(Struct, frozen=True):
    phrases: tuple[_Phrase, ...]
    ideas: Mapping[str, re.Pattern[str]]
    meanings: tuple[_Meaning, ...]
    near: re.Pattern[str]
    """A pattern that finds the words that select the sentences to check.

    Of words with the same beginning the longest one matches.
    """
    told_by: Mapping[str, tuple[int, ...]]
    """Word that `near` finds -> the indexes in `meanings` of the classes for which its sentence is checked.
    """


@cache
def _rules() -> _Rules:
    return load_table("instructions.toml", _rules_of)


def _rules_of(table: Mapping[str, Any]) -> _Rules:
    pieces, words = table["pieces"], table["words"]
    near = [tuple(row["near"].split()) for row in table["classes"]]
    every = {word for some in near for word in some}
    return _Rules(
        phrases=tuple(
            _Phrase(
                needs=tuple(tuple(Template(need).substitute(words).split()) for need in row["needs"]),
                pattern=re.compile(Template(row["pattern"]).substitute(pieces)),
            )
            for row in table["phrases"]
        ),
        ideas={name: _idea(ways, pieces["S"]) for name, ways in table["ideas"].items()},
        meanings=tuple(
            _Meaning(
                ideas=tuple(row["ideas"]),
                unless_forbidden=row["unless_forbidden"],
                forbidden_anywhere=row.get("forbidden_anywhere", False),
                in_order=row.get("in_order", False),
            )
            for row in table["classes"]
        ),
        near=re.compile(any_of(every)),
        told_by={
            word: tuple(which for which, some in enumerate(near) if any(each in word for each in some))
            for word in every
        },
    )


def _idea(ways: str, between: str) -> re.Pattern[str]:
    """Return one pattern that matches each of several phrasings of an idea, as whole words.

    `ways` has one phrasing per line, each a regular expression; `between` is the pattern that replaces the
    spaces in them.
    """
    lines = (
        line.strip().replace(r"\w+", r"\w{1,20}").replace(r"\w*", r"\w{0,20}") for line in ways.splitlines()
    )
    joined = "|".join(_spaced(line, between) for line in lines if line)
    return re.compile(rf"(?<![a-z0-9_-])(?:{joined})(?![a-z0-9_]|-[a-z])")


def _spaced(way: str, between: str) -> str:
    """Return the phrasing `way` with the pattern `between` for its spaces, except those in `[...]`."""
    return "".join(
        piece if number % 2 else piece.replace(" ?", f"(?:{between})?").replace(" ", between)
        for number, piece in enumerate(_SET.split(way))
    )


def instruction_lines(text: str) -> list[int]:
    """Return the lines, from 1, that read like an instruction to a model from someone other than its user.

    Such lines have the wording of prompt injection. There are two kinds of rules, both in
    `resources/instructions.toml`: fixed phrases, and classes, each of which requires several ideas in one
    sentence (for wider permissions, secrets sent elsewhere, text that spreads or persists, something hidden
    from the person, other instructions ignored). Notes about how to work are not reported, because memories
    are meant for them. Sentences that forbid such actions are not reported either.

    Each line is listed once, in order. Letters of other widths and styles are treated like plain letters.
    Pass the text without its invisible characters. The rules are read and compiled when the first text is
    searched. Time is linear in the text: repetitions are bounded, and each sentence is tried once per class.
    Pure; any thread.
    """
    # Neither folding adds or removes a line break, so lines keep their numbers.
    plain = (text if text.isascii() else unicodedata.normalize("NFKC", text)).lower()
    starts = {*_said(plain), *_meant(plain)}
    lines: list[int] = []
    line, counted = 1, 0
    for start in sorted(starts):
        line += plain.count("\n", counted, start)
        counted = start
        if not lines or lines[-1] != line:
            lines.append(line)
    return lines


def _said(plain: str) -> Iterator[int]:
    """Yield the position of each fixed phrase of the rules (see `instruction_lines`) in the text `plain`."""
    for phrase in _rules().phrases:
        if all(any(word in plain for word in group) for group in phrase.needs):
            for match in phrase.pattern.finditer(plain):
                yield match.end() - len(match[0].lstrip("\n"))


def _meant(plain: str) -> Iterator[int]:
    """Yield the position of each instruction that a class of rules finds in the text `plain`.

    A class describes one kind of instruction by several ideas (see `instruction_lines`). It finds each
    sentence that has all of them; the position is that of the first idea in the sentence.
    """
    rules = _rules()
    bounds = [0, *(match.end() for match in _BOUNDARY.finditer(plain))]
    looked_at: set[tuple[int, int]] = set()
    for match in rules.near.finditer(plain):
        position = match.start()
        number = bisect_right(bounds, position) - 1
        end = bounds[number + 1] if number + 1 < len(bounds) else len(plain)
        for which in rules.told_by[match[0]]:
            if (which, number) in looked_at:
                continue
            looked_at.add((which, number))
            start = max(bounds[number], position - _LONGEST_SENTENCE)
            sentence = plain[start : min(end, position + _LONGEST_SENTENCE)]
            found = _asks(sentence, rules.meanings[which], rules.ideas)
            if found is not None:
                yield start + found


def _asks(sentence: str, meaning: _Meaning, ideas: Mapping[str, re.Pattern[str]]) -> int | None:
    """Return the position in `sentence` at which the first idea of `meaning` occurs, if it has all of them.

    None if it lacks an idea. None also if the sentence forbids the action, unless `meaning` is a class of
    rules for which this does not matter. `ideas`: the name of an idea -> its pattern.
    """
    first = ideas[meaning.ideas[0]].search(sentence)
    if first is None:
        return None
    start = first.end() if meaning.in_order and _VERB_LAST.search(sentence) is None else 0
    for number, name in enumerate(meaning.ideas[1:]):
        if ideas[name].search(sentence, 0 if number else start) is None:
            return None
    forbids = ideas["forbids"]
    if meaning.unless_forbidden and forbids.search(sentence, 0, first.start()) is not None:
        return None
    if meaning.forbidden_anywhere and forbids.search(sentence, first.end()) is not None:
        return None
    return first.start()
