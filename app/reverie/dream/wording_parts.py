"""What `dream.wording` reads in a statement: its tokens, what negates them, and what colours it. Values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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


class Token(NamedTuple):
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

    tokens: tuple[Token, ...]
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
