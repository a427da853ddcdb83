"""The tables of redaction: formats of known secrets, and words that distinguish secrets from other values.

The formats are the rows of `resources/secrets.toml`; the words are the lists of
`resources/secret_words.toml`. Both are immutable and read when first needed. A missing or damaged file raises
`FileNotFoundError` or `ValueError` each time (a bug of ours): nothing is redacted with half a table.

Any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from string import ascii_lowercase
from typing import Any, cast

from reverie.resources import load_table
from reverie.values import Struct

LONG_WORD = 30
_FLAGS = frozenset({"exact", "random"})


class Prefixed(Struct, frozen=True):
    """A type of secret that begins with a known prefix, which identifies its service."""

    service: str
    prefix: str
    """The beginning of the secret, case-sensitive; unique in the table."""
    alphabet: str
    """The characters that may follow the prefix."""
    least: int
    """The minimum number of characters after the prefix."""
    source: str
    """Site and page of the documentation that describes the format."""
    exact: bool = False
    """Whether exactly `least` characters follow; the next character is then not one of `alphabet`."""
    random: bool = False
    """Whether the characters after the prefix must look random, because it is short or an ordinary word."""


class Shaped(Struct, frozen=True):
    """A type of secret that a regular expression finds by its format, without a known prefix."""

    service: str
    word: str
    """A string that every match of the pattern contains; texts without the string are not searched."""
    pattern: str
    """The regular expression; group 1, or the whole match if there is no group, is the secret."""
    source: str
    """Site and page of the documentation that describes the format."""

    @property
    def is_one_word(self) -> bool:
        """Whether the secret is always in one word of at least `LONG_WORD` characters.

        Then the pattern is applied to long words only, which takes less time than to search the whole text.
        """
        return len(self.word) < 4 or self.word in ("_mmk", "token-", "NRAL")


class Nearby(Struct, frozen=True):
    """A type of secret without a prefix, recognised only near its service's name and a word such as "key"."""

    service: str
    names: tuple[str, ...]
    """Names of the service in lower case; one of them must be on the same line."""
    pattern: str
    """A regular expression that matches the secret as a whole word."""
    source: str
    """Site and page of the documentation that describes the format."""


class SecretTable(Struct, frozen=True):
    """The types of secrets in the resource file `secrets.toml`, each in the order of the file.

    `prefixed`: those that begin with a known prefix. `patterns`: those that have a format of their own.
    `nearby`: those that are recognised only near the name of their service.
    """

    prefixed: tuple[Prefixed, ...]
    patterns: tuple[Shaped, ...]
    nearby: tuple[Nearby, ...]


class SecretWords(Struct, frozen=True):
    """The words, in lower case, and the patterns by which secrets in prose are recognised."""

    gives: frozenset[str]
    """Words and signs that announce the value after a word such as "password": `is`, `=`."""
    fillers: frozenset[str]
    """Words that may be between a word of `gives` and the value."""
    examples: frozenset[str]
    """Values that documentation uses as examples, written without hyphens and underscores."""
    example_parts: tuple[str, ...]
    """Parts of words by which a value is recognised as an example from documentation.

    A value with digits is never recognised by them.
    """
    sentence: frozenset[str]
    """Words of sentences: a phrase with one of them is not a passphrase."""
    self_naming: frozenset[str]
    """Words that show that a value only describes a missing secret, such as `your` or `example`."""
    self_naming_ends: tuple[str, ...]
    """Like `self_naming`, for endings of words."""
    defaults: frozenset[str]
    """Default passwords of programs, which are not marked as secrets."""
    open_keys: frozenset[str]
    """Words which, before `key`, name a key that is not secret."""
    password_names: frozenset[str]
    """Last words of names whose value is a password: `db_password`."""
    token_names: frozenset[str]
    """Last words of names whose value is a token or key: `api_token`."""
    password_endings: tuple[str, ...]
    """Endings of names written in one word: PGPASSWORD, dbpasswd, CLIENTSECRET."""
    token_endings: tuple[str, ...]
    """Endings of such names for tokens and keys."""
    foreign_passwords: tuple[str, ...]
    """Endings of names for a password in other languages, with an underscore for each space."""
    foreign_tokens: tuple[str, ...]
    """Endings of names for a token or key in other languages, with an underscore for each space."""
    what_passes: frozenset[str]
    """Words before `pass` that make it a verb: 'If the tests pass: ...'."""
    no_pass: frozenset[str]
    """Words that end with `pass` but do not mean a password."""
    whose_pass: frozenset[str]
    """Words before `pass` that make it a password: 'the db pass: ...'."""
    account_hints: tuple[str, ...]
    """Strings, one of which is in every text that contains a login as `name / password`."""
    passwords: str
    """A pattern for the words for a password, in all languages."""
    letter_pairs: Mapping[str, int]
    """How rarely the second lower-case letter of a pair follows the first in words, in bits."""
    open_tokens: frozenset[str]
    """Words which, before `token`, name a token that is not secret."""
    options: Mapping[str, str]
    """Patterns for the option that takes a password, by name of the program; group 1 is the password."""
    announced: Mapping[str, str]
    """Patterns for secrets that have no word such as "password" nearby; the group `value` is the secret."""


@cache
def secret_table() -> SecretTable:
    """Return the table of secrets that comes with the program.

    Raises `FileNotFoundError` or `ValueError` if its file is missing or damaged, which is a bug.
    """
    return load_table("secrets.toml", _table)


@cache
def secret_words() -> SecretWords:
    """Return the lists of words that come with the program.

    Raises `FileNotFoundError` or `ValueError` if their file is missing or damaged, which is a bug.
    """
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


_LISTS = [
    (name, str(kind).startswith("frozenset"))
    for name, kind in SecretWords.__annotations__.items()
    if str(kind) in ("tuple[str, ...]", "frozenset[str]")
]


def _words(data: Mapping[str, Any]) -> SecretWords:
    lists = {name: tuple(words.split()) for name, words in data["words"].items()}
    words = SecretWords(
        **cast(Any, {name: frozenset(lists[name]) if is_set else lists[name] for name, is_set in _LISTS}),
        passwords="|".join(data["languages"]["passwords"].split("\n")[:-1]),
        letter_pairs={
            one + other: int(bits)
            for one, row in data["letter_pairs"].items()
            for other, bits in zip(ascii_lowercase, row, strict=True)
        },
        options=data["options"],
        announced=data["announced"],
    )
    if not (all(lists.values()) and words.options and len(words.letter_pairs) == len(ascii_lowercase) ** 2):
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
