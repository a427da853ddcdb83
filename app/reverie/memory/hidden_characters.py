"""Detection of hidden characters, which a model reads and a person does not see.

Pure; any thread.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from reverie.values import Struct

HiddenKind = Literal["zero-width", "tags", "bidi", "control"]

_ZERO_WIDTH = "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2064\u206a-\u206f"
_ZERO_WIDTH += "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef"
_BIDI = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"
_CONTROL = "\x01-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f"
_ANY = re.compile(f"[{_ZERO_WIDTH}{_BIDI}{_TAGS}{_CONTROL}]")
_INVISIBLE = re.compile(f"[{_ZERO_WIDTH}{_BIDI}{_TAGS}]+")
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{1,16}\U000e007f")
_OPENS = {"\u202a": "\u202c", "\u202b": "\u202c", "\u2066": "\u2069", "\u2067": "\u2069", "\u2068": "\u2069"}
_CLOSES = frozenset("\u202c\u2069")
_MARKS = frozenset("\u200e\u200f\u061c")
_OVERRIDES = frozenset("\u202d\u202e")
_JOINERS = frozenset("\u200c\u200d")
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
# Emoji bases that are neither symbols nor punctuation to Unicode: digits of keycaps, a letter, a dash.
_EMOJI_BASES = frozenset("#*0123456789\u2139\u3030")


class HiddenCharacter(Struct, frozen=True):
    """A character that a model reads and a person does not see."""

    line: int
    """The number of the character's line, from 1; only line feeds end a line."""
    char: str
    kind: HiddenKind


def hidden_characters(text: str) -> list[HiddenCharacter]:
    """Return every hidden character that has no legitimate use at its position, in order.

    These are characters that a model reads and a person does not see: invisible ones, direction marks and
    control characters. Legitimate uses are ignored: joiners inside emoji and the scripts that use them,
    balanced direction marks in lines with right-to-left letters, flag sequences of tag characters, one
    variation selector behind its base, a byte order mark at the very beginning. Time is linear in the text.
    """
    if _ANY.search(text) is None:
        return []
    found: list[HiddenCharacter] = []
    for number, line in enumerate(text.split("\n"), 1):
        if _ANY.search(line) is not None:
            found += _in_line(number, line)
    # A byte order mark at the very beginning is handled by the editor and the front matter.
    return found[1:] if found and text.startswith("\ufeff") and found[0].char == "\ufeff" else found


def without_invisible(text: str) -> str:
    """Return `text` without zero-width characters, direction marks and tag characters."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def spelled_by_tags(text: str) -> str:
    """Return the ASCII text that the invisible tag characters in `text` encode."""
    return "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) <= 0xE007E)


def _in_line(number: int, line: str) -> list[HiddenCharacter]:
    flags = {at for match in _FLAG.finditer(line) for at in range(*match.span())}
    directed = _is_directed(line)
    found = []
    for match in _ANY.finditer(line):
        at, char = match.start(), match[0]
        kind = _kind(char)
        if at in flags or (kind == "bidi" and directed and char not in _OVERRIDES):
            continue
        if kind == "zero-width" and _is_at_home(line, at):
            continue
        found.append(HiddenCharacter(number, char, kind))
    return found


def _kind(char: str) -> HiddenKind:
    if 0xE0000 <= ord(char) <= 0xE007F:
        return "tags"
    if char in _OVERRIDES or char in _CLOSES or char in _OPENS or char in _MARKS:
        return "bidi"
    return "control" if unicodedata.category(char) == "Cc" else "zero-width"


def _is_directed(line: str) -> bool:
    """Return whether a line has right-to-left letters, and direction marks that are balanced."""
    expected: list[str] = []
    for char in line:
        if char in _OPENS:
            expected.append(_OPENS[char])
        elif char in _CLOSES and (not expected or expected.pop() != char):
            return False
    return not expected and any(
        char.isalnum() and unicodedata.bidirectional(char) in _RIGHT_TO_LEFT for char in line
    )


def _is_at_home(line: str, at: int) -> bool:
    """Return whether the zero-width character at index `at` is legitimate after the character before it."""
    char, before = line[at], line[at - 1 : at]
    if not before:
        return False
    if char in _JOINERS:
        return _is_emoji(before) or 0x600 <= ord(before) <= 0x18AF
    if "\ufe00" <= char <= "\ufe0f":
        return unicodedata.category(before) in ("So", "Sm", "Po", "Lo", "Sk") or before in _EMOJI_BASES
    if char >= "\U000e0100":
        return unicodedata.category(before) == "Lo"
    return 0x1800 <= ord(before) <= 0x18AF or 0x1100 <= ord(before) <= 0x11FF


def _is_emoji(char: str) -> bool:
    return unicodedata.category(char) == "So" or char == "\ufe0f" or 0x1F3FB <= ord(char) <= 0x1F3FF
