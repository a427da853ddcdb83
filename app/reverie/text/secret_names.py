"""Secrets that are known by the name in front of them: `DB_PASSWORD=...`, `"api_key": "..."`, `--token ...`.

A name is taken apart into words (`dbPassword` is "db", "password") and judged by the last of them. What
follows is judged by how such a name is used: a password may look like anything, a token or key has to look
made by a machine, because both words are common in prose and code. Pure functions; spans are `(start, end,
kind)`.

Each character is looked at a bounded number of times: names are bounded in length and begin at a boundary, a
bare value is not searched again, and a quoted one only from its opening quote on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from reverie.text.secret_shapes import Span, holds_any, is_placeholder

_Kind = Literal["password", "token", "mention"]

# A name, perhaps quoted, emphasised or typed (`token: str = `), and what separates it from its value.
_NAMED = re.compile(
    r"""(?<![A-Za-z0-9_.-])(?P<flag>--)?(?P<name>[A-Za-z_][A-Za-z0-9_.-]{1,79}+)(?:\\{0,4}["'`]|\*{1,2})?
        (?:[ \t]{0,4}:[ \t]{0,4}[A-Za-z_][A-Za-z0-9_.]{0,30}+[ \t]{0,4}(?==))?
        (?P<separator>[ \t]{0,4}(?:=>|:=|={1,3}|:)\*{0,2}[ \t]{0,8}|(?(flag)[ \t]{1,8}|(?!)))""",
    re.VERBOSE,
)
_OPENING_QUOTE = re.compile(r"""(?P<escape>\\{0,4})(?P<quote>["'`])""")
# YAML's way to put a value on the next line.
_BLOCK = re.compile(r"[|>][+-]?[1-9]?[+-]?[ \t]{0,8}\r?\n[ \t]{1,40}")
_QUOTED = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+'),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+"),
    "`": re.compile(r"[^`\n]*+"),
}
_QUOTED_IN_QUOTES = re.compile(r"""[^"'`\\\n]*+""")
_BARE = re.compile(r"""[^\s"'`,;<>&\\]++""")

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PASSWORDS = {"password", "passwd", "passwort", "pwd", "passphrase", "passcode", "secret"}
_TOKENS = {"token", "apikey", "authtoken", "accesstoken", "credential", "credentials"}
# One of them is in every name that `_kind_of_name` knows.
_IN_SUCH_NAMES = ("pass", "pwd", "secret", "token", "key", "credential")
_KEYS_OF = re.compile("api|access|account|auth|encryption|master|private|secret|service|signing")

_NO_VALUE = re.compile(
    r"""(?i)any|bool|boolean|bytes|default|disabled|empty|enabled|false|int|integer|missing|nil|no|none|null|number
        |object|off|on|optional|required|str|string|tbd|text|todo|true|undefined|unknown|unset|varchar|void|yes""",
    re.VERBOSE,
)
_CODE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*+(?:(?:\.|::|->|\?\.)[A-Za-z_][A-Za-z0-9_]*+)*+(?P<more>[(\[])?")
_PLACE = re.compile(r"(?:\.{0,2}|~)/|[A-Za-z]:\\|[a-z][a-z0-9+.-]*+://")
_FILE_NAME = re.compile(r".*\.[a-z]{2,5}\Z", re.DOTALL)
_LETTER = re.compile(r"[A-Za-z]")
_DIGIT = re.compile(r"\d")
_NOTHING_MORE = re.compile(r"""[ \t\r,;)\]}*|"'`.]*+(?:\n|\Z)""")
_LONG_RUN = re.compile(r"[A-Za-z0-9+/]{20}")
_LEAST: dict[_Kind, int] = {"password": 6, "token": 8, "mention": 16}


def named_secrets(text: str) -> Iterator[Span]:
    """Spans of all values that their name makes a secret."""
    if not holds_any(text.lower(), _IN_SUCH_NAMES):
        return
    position = 0
    while (named := _NAMED.search(text, position)) is not None:
        position = named.end()
        kind = _kind_of_name(named["name"])
        if kind is None:
            continue
        position = _end_of(_BLOCK, text, position)
        opening = _OPENING_QUOTE.match(text, position)
        if opening is not None:
            position = start = opening.end()
            pattern = _QUOTED_IN_QUOTES if opening["escape"] else _QUOTED[opening["quote"]]
            end = _end_of(pattern, text, start)
            secret = _is_quoted_secret(kind, named["name"], text[start:end])
        else:
            start = position
            position = _end_of(_BARE, text, start)
            end = start + len(text[start:position].rstrip("])}.!?|:*"))
            line_ends = _NOTHING_MORE.match(text, end) is not None
            secret = _is_bare_secret(kind, named, text[start:end], text[end : end + 1], line_ends=line_ends)
        if secret:
            position = max(position, end)
            yield start, end, "password" if kind == "password" else "token"


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match is not None else start


def _kind_of_name(name: str) -> _Kind | None:
    """`mention`: a secret's word somewhere in the name (`TOKEN_GITHUB`, `password_hash`), not at its end."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words:
        return None
    if words[-1] in _PASSWORDS:
        return "password"
    if words[-1] in _TOKENS or (words[-1] == "key" and len(words) > 1 and _KEYS_OF.fullmatch(words[-2])):
        return "token"
    return "mention" if not _PASSWORDS.union(_TOKENS).isdisjoint(words) else None


def _is_quoted_secret(kind: _Kind, name: str, value: str) -> bool:
    if any(character.isspace() for character in value):
        return False  # a sentence: a label, a message, an example
    if not _may_be_secret(kind, name, value):
        return False
    return kind == "password" or _looks_made(kind, value)


def _is_bare_secret(
    kind: _Kind, named: re.Match[str], value: str, following: str, *, line_ends: bool
) -> bool:
    """`line_ends`: whether nothing else stands on the line after the value, whose next character is
    `following`.
    """
    if not _may_be_secret(kind, named["name"], value):
        return False
    made = _looks_made(kind, value)
    code = _CODE.match(value + following)
    if code is not None and code["more"]:
        return False
    if code is not None and code.end() >= len(value) and not made:
        # `password = user_password` refers to something; `PASSWORD=correct_horse` alone on its line does not.
        refers = "." in value or not (named["separator"] == "=" and following in "\r\n")
        if refers and not value.isalnum():
            return False
    prose = ":" in named["separator"] and not line_ends
    return made or (kind == "password" and not prose)


def _may_be_secret(kind: _Kind, name: str, value: str) -> bool:
    if len(value) < 4 or is_placeholder(value) or _NO_VALUE.fullmatch(value) or value.lower() == name.lower():
        return False
    return not _PLACE.match(value) and (kind == "password" or not _FILE_NAME.match(value))


def _looks_made(kind: _Kind, value: str) -> bool:
    """No word but made by a machine, or by a person as if: letters and digits mixed, or one long run. The
    less its name says, the longer it has to be.
    """
    if len(value) < _LEAST[kind]:
        return False
    mixed = _LETTER.search(value) is not None and _DIGIT.search(value) is not None
    return mixed or (kind != "mention" and _LONG_RUN.search(value) is not None)
