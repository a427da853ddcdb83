"""Texts of any size on which a careless comparison or pattern takes quadratic time."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator

_UNITS: dict[str, str] = {
    "one letter": "a",
    "one word": "word ",
    "blanks": " ",
    "tabs": "\t",
    "digits": "7",
    "number words": "1 2 ",
    "dots": ".",
    "dots and blanks": ". ",
    "sentences": "It holds. ",
    "closing marks": '")*_',
    "commas": ",",
    "colons": "a: ",
    "arrows": "a -> ",
    "hashes": "#",
    "headings": "# a\n",
    "levels": "###### a\n\n",
    "hyphens": "-",
    "rules": "---\n",
    "underlined": "a\n---\n",
    "list": "- a\n",
    "checkboxes": "- [ ] a\n",
    "numbered": "1. a\n",
    "deeper": "  - a\n\t- b\n",
    "quotes": "> ",
    "quoted lines": "> > a\n",
    "backticks": "`",
    "code spans": "`a` ",
    "unclosed code": "`a ",
    "fences": "```\n",
    "fences with text": "```a\nb\n",
    "nested fences": "````\n```\n",
    "tildes": "~~~\n",
    "indented": "    a\n",
    "stars": "*",
    "emphasis": "*a ",
    "strong": "**a** ",
    "underscores": "_",
    "brackets": "[",
    "links": "[a](b) ",
    "open links": "[a](",
    "closed brackets": "]",
    "images": "![",
    "angle brackets": "<",
    "comments": "<!-- ",
    "begin comments": "<!-- begin -->\n",
    "end comments": "<!-- end\n",
    "breaks": "<br>",
    "pipes": "|",
    "rows": "| a | b |\n",
    "table rules": "| - | :-: |\n",
    "half a table rule": "|-",
    "bare returns": "\r",
    "words and returns": "a\r",
    "returns and blanks": "\r \r",
    "line ends": "\n",
    "CR LF": "a\r\n",
    "separators": "a\u2028b\u2029",
    "no-break spaces": "\u00a0",
    "other spaces": "\u2003\u3000 ",
    "wide": "\u6f22\u5b57",
    "kana": "\u30ab\u306a",
    "hangul": "\ud55c\uad6d ",
    "wide stops": "\u6f22\u3002",
    "emoji": "\U0001f600",
    "accents": "e\u0301",
    "joined": "\u200d",
    "marks": "\u202e",
    "paths": "a/b",
    "slashes": "/",
    "dotted": "a.",
    "versions": "1.2.",
    "addresses": "https://a.b/c ",
    "half an address": "a://",
    "mail": "a@b.",
    "imports": "@a/b ",
    "options": "--a-b ",
    "flags": "-",
    "keys": "a: b\n",
    "equals": "A=b ",
    "quotation": '"a" ',
    "apostrophes": "'",
    "backslashes": "\\",
    "escapes": "\\n",
    "braces": "{",
    "closed braces": "}",
    "JSON": '{"a":1},',
    "hex": "0f",
    "base64": "QUJD+/",
    "dates": "2025-01-02 ",
    "times": "10:20:",
    "months": "3 March ",
    "money": "$1,",
    "abbreviations": "e.g. ",
    "conflicts": "<<<<<<< a\n=======\n>>>>>>> b\n",
}


def repeated(size: int) -> Iterator[tuple[str, str]]:
    """Give each kind of text that repeats one thing, `size` characters of it."""
    for name, unit in _UNITS.items():
        yield name, (unit * (size // len(unit) + 1))[:size]


def _json(size: int) -> str:
    dice = random.Random(1)
    rows = ({"id": dice.randrange(99_999), "name": f"n{dice.randrange(50)}", "tags": ["a", "b"]}
            for _ in itertools.count())  # fmt: skip
    text = "["
    while len(text) < size:
        text += ",".join(json.dumps(next(rows), separators=(",", ":")) for _ in range(500)) + ","
    return text[:size]


def _csv(size: int) -> str:
    dice = random.Random(2)
    return ",".join(str(dice.randrange(1000)) for _ in range(size // 3))[:size]


def _prose(size: int) -> str:
    dice = random.Random(3)
    words = [f"w{dice.randrange(3000)}" + dice.choice(["", "", "", ".", ","]) for _ in range(size // 4)]
    return " ".join(words)[:size]


_MADE: dict[str, Callable[[int], str]] = {
    "minified JSON": _json,
    "CSV": _csv,
    "prose of one line": _prose,
    "prose of many lines": lambda size: _prose(size).replace(". ", ".\n"),
    "lists of prose": lambda size: "- " + _prose(size).replace(". ", ".\n- "),
    "table of prose": lambda size: "| a | b |\n|---|---|\n| " + _prose(size).replace(". ", " |\n| "),
}


def long_texts(size: int) -> Iterator[tuple[str, str]]:
    """Give a hundred kinds of text, each of `size` characters, by name."""
    yield from repeated(size)
    for name, make in _MADE.items():
        yield name, make(size)[:size]
