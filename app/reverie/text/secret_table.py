"""What secrets of known services look like: the rows of `resources/secrets.toml`; and the words that tell a
secret from another value: the lists of `resources/secret_words.toml`. Each is read when first asked for.

`prefixed` holds secrets that begin with a mark of their service; a row says which characters follow and how
many at least. `patterns` holds secrets whose mark is inside or around them, each with a word without which
the pattern cannot match. `nearby` holds secrets without any mark: they count only on a line that names the
service and has a word for a secret on it. The invariants of the rows stand in the file.
The rules that use the words are in `text.redact` and `text.secret_values`.

Immutable; any thread. A missing or damaged file raises `FileNotFoundError` or `ValueError` each time (a bug
of ours): nothing is redacted with half a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from reverie.resources import load_table

LONG_WORD = 30
_FLAGS = frozenset({"exact", "random"})


@dataclass(frozen=True, slots=True)
class Prefixed:
    """A secret that begins with `prefix`."""

    service: str
    prefix: str
    """Unique in the table, case counts."""
    alphabet: str
    """The characters that follow the prefix."""
    least: int
    """How many characters follow at least; fewer make no secret."""
    source: str
    """Site and page of the documentation that describes the form."""
    exact: bool = False
    """Exactly `least` characters follow, and then none of the alphabet."""
    random: bool = False
    """The prefix is short or an ordinary word, so the rest must look random too."""


@dataclass(frozen=True, slots=True)
class Shaped:
    """A secret with a form of its own. Group 1 of `pattern`, or all of it, is the secret."""

    service: str
    word: str
    """Part of whatever the pattern matches; texts without it are not searched."""
    pattern: str
    source: str

    @property
    def is_one_word(self) -> bool:
        """Whether the secret is in one word of at least `LONG_WORD` characters, so that only such words are
        searched. The words of other patterns are long enough to be rare."""
        return len(self.word) < 4 or self.word in ("_mmk", "token-", "NRAL")


@dataclass(frozen=True, slots=True)
class Nearby:
    """A secret that only its surroundings give away."""

    service: str
    names: tuple[str, ...]
    """One of them, in lower case, is on the same line."""
    pattern: str
    """Matches the secret as a whole word."""
    source: str


@dataclass(frozen=True, slots=True)
class SecretTable:
    """All rows of the file, in its order."""

    prefixed: tuple[Prefixed, ...]
    patterns: tuple[Shaped, ...]
    nearby: tuple[Nearby, ...]


@dataclass(frozen=True, slots=True)
class SecretWords:
    """The lists of words, in small letters."""

    gives: frozenset[str]
    """After a word for a secret, these say that its value comes next."""
    fillers: frozenset[str]
    """These may stand between them and the value."""
    examples: frozenset[str]
    """Values of documentation, without hyphens and underscores."""
    example_parts: tuple[str, ...]
    """A value of letters with one of these in it is one of documentation, too."""
    open_keys: frozenset[str]
    """Before `key`, these name a key that is no secret."""
    options: Mapping[str, str]
    """By the name of a program, a pattern for the option that takes a password; group 1 is the password."""


@cache
def secret_table() -> SecretTable:
    """The table that comes with the program. Raises `FileNotFoundError` and `ValueError`: bugs of ours."""
    return load_table("secrets.toml", _table)


@cache
def secret_words() -> SecretWords:
    """The words that come with the program. Raises `FileNotFoundError` and `ValueError`: bugs of ours."""
    return load_table("secret_words.toml", _words)


def _table(data: Mapping[str, Any]) -> SecretTable:
    alphabets, rows = data["alphabets"], data["secrets"]
    table = SecretTable(
        prefixed=tuple(
            _prefixed(service, prefix, alphabets[alphabet], least, source, frozenset(flags))
            for service, prefix, alphabet, least, source, *flags in rows["prefixed"]
        ),
        patterns=tuple(
            Shaped(service, word, pattern, source) for service, word, source, pattern in rows["patterns"]
        ),
        nearby=tuple(
            Nearby(service, tuple(names), pattern, source)
            for service, names, source, pattern in rows["nearby"]
        ),
    )
    if not (table.prefixed and table.patterns and table.nearby):
        raise ValueError("it lacks rows")
    return table


def _words(data: Mapping[str, Any]) -> SecretWords:
    lists = {name: tuple(words.split()) for name, words in data["words"].items()}
    words = SecretWords(
        gives=frozenset(lists["gives"]),
        fillers=frozenset(lists["fillers"]),
        examples=frozenset(lists["examples"]),
        example_parts=lists["example_parts"],
        open_keys=frozenset(lists["open_keys"]),
        options=data["options"],
    )
    if not (all(lists.values()) and words.options):
        raise ValueError("it lacks words")
    return words


def _prefixed(
    service: str, prefix: str, alphabet: str, least: int, source: str, flags: frozenset[str]
) -> Prefixed:
    if not flags <= _FLAGS:
        raise ValueError(f"unknown flags of {prefix!r}: {sorted(flags - _FLAGS)}")
    return Prefixed(
        service, prefix, alphabet, least, source, exact="exact" in flags, random="random" in flags
    )
