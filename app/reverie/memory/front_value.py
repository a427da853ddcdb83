"""How a key and its value are written in front matter: in the style they had where that can say it, else in
the plainest. What is yielded are tries, the best first; `memory.front_edit` reads each before it believes it.

Pure functions, any thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reverie.memory.frontmatter import RESERVED, literal

_WORD_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
# May stand without quotes where it did before: begins with a letter, holds no `: ` and no ` #`.
_LENIENT = re.compile(r"[^\W\d_](?:(?!:(?:\s|\Z)|\s#).)*(?<=\S)")
BLOCK_HEADER = re.compile(r"([|>])[^\s#]*([ \t]+#[^\r\n]*)?[ \t]*(\r?\n)(?:[ \t]*\r?\n)*([ ]*)")


def scalars(style: str, value: str, *, flow: bool) -> Iterator[str]:
    """`value` on one line: in the style it had, else the plainest."""
    if style == "'" and value.isprintable():
        yield "'" + value.replace("'", "''") + "'"
    if style == '"':
        yield literal(value, quoted=True) if not value.isprintable() else '"' + _escaped(value) + '"'
    may_be_plain = not style and not flow and value.isprintable() and value.lower() not in RESERVED
    if may_be_plain and _LENIENT.fullmatch(value):
        yield value
    yield literal(value, quoted=flow)
    yield literal(value, quoted=True)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


def blocks(old: str, style: str, value: str) -> Iterator[str]:
    """`value` as an indented block as the one that was there."""
    header = BLOCK_HEADER.match(old)
    body = value.rstrip("\n")
    if header is None or not body or body[0] in " \t\n" or "\r" in value:
        return
    if style == ">" and "\n" in body:
        return
    ends = len(value) - len(body)
    chomping = "-" if ends == 0 else "" if ends == 1 else "+"
    newline, indent = header[3], header[4]
    lines = newline.join(indent + line if line else "" for line in body.split("\n"))
    yield f"{style}{chomping}{header[2] or ''}{newline}{lines}{newline * max(0, ends - 1)}"


def key_line(path: tuple[str, ...], value: str, indent: str, newline: str) -> str:
    """The line of a key, or the lines of a nested one. `value` is text, quoted where it must be."""
    if len(path) == 1:
        return f"{indent}{key_text(path[0])}: {literal(value)}"
    return f"{indent}{key_text(path[0])}:{newline}" + key_line(path[1:], value, indent + "  ", newline)


def key_text(name: str) -> str:
    """A key as it is written: quoted where YAML would read something else."""
    plain = _WORD_KEY.fullmatch(name) and name.lower() not in RESERVED
    return name if plain else literal(name, quoted=True)
