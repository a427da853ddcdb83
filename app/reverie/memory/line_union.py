"""Two versions of one note made into one that has every line of both. Pure.

What both say in the same order stands once; where they differ, the lines of the first come before those of
the second. The front matter stays the first version's, since a note has only one; lines of the second
version's front matter that the first lacks follow at the end, as text. Lines are compared without their
endings; what is taken over gets the endings of the first version. So the result is a merge to be read and
shortened, never one in which a line is missing (`lost_lines` tells, and whoever merges asks it).

Threading: none. Failure: bytes that are no text give None.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reverie.memory.diff import changed_spans
from reverie.memory.frontmatter import split

_BOM = "\ufeff"
OTHER_FRONT_MATTER = "Front matter of the other version:"


def text_of(data: bytes) -> str | None:
    """The text of a note, None where it is no UTF-8 or holds a NUL."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def union(first: bytes, second: bytes) -> bytes | None:
    """Every line of both; `first` itself where it has every line of `second` in the same order."""
    one, two = text_of(first), text_of(second)
    if one is None or two is None:
        return None
    newline = "\r\n" if one.count("\r\n") * 2 > one.count("\n") else "\n"
    bom = _BOM if one.startswith(_BOM) else ""
    head, body = _parts(one.removeprefix(_BOM))
    other_head, other_body = _parts(two.removeprefix(_BOM))
    if not head:
        # A note without front matter gets that of the other.
        head, other_head = _with_endings(other_head, newline), ""
    if head and (body or other_body):
        head = "".join(_ended([head], newline))
    kept = Counter(_content(lines_of(head)))
    left = [line for line in _content(lines_of(other_head)) if _missing_once(kept, line)]
    merged = _merged(lines_of(body), lines_of(other_body), newline)
    if any(line.strip() for line in left):
        head = "".join(_ended([head], newline))
        merged = _ended(merged, newline)
        merged += [newline, OTHER_FRONT_MATTER + newline, newline, *(line + newline for line in left)]
    return (bom + head + "".join(merged)).encode("utf-8")


def lost_lines(result: bytes, *versions: bytes) -> tuple[str, ...]:
    """The non-blank lines of `versions` that stand in `result` less often than in one of them."""
    there = Counter(_content(lines_of(result.decode("utf-8", "replace").removeprefix(_BOM))))
    lost: list[str] = []
    for version in versions:
        wanted = Counter(_content(lines_of(version.decode("utf-8", "replace").removeprefix(_BOM))))
        lost += [line for line, count in wanted.items() if line.strip() and there[line] < count]
    return tuple(lost)


def _parts(text: str) -> tuple[str, str]:
    """Front matter with its fences, and the rest."""
    block = split(text) if not text.startswith(_BOM) else None
    at = block.body_start if block is not None else 0
    return text[:at], text[at:]


def _merged(first: Sequence[str], second: Sequence[str], newline: str) -> list[str]:
    merged: list[str] = []
    at = 0
    for span in changed_spans(_content(first), _content(second)):
        merged += first[at : span.old_end]
        new = second[span.new_start : span.new_end]
        if new:
            merged = _ended(merged, newline)
            merged += [_with_endings(line, newline) for line in new]
        at = span.old_end
    rest = list(first[at:])
    return (_ended(merged, newline) if rest else merged) + rest


def _ended(lines: list[str], newline: str) -> list[str]:
    """The same, its last line with an ending."""
    if lines and not lines[-1].endswith("\n"):
        return [*lines[:-1], lines[-1] + newline]
    return lines


def _with_endings(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def lines_of(text: str) -> list[str]:
    """With their endings; `\\n` alone ends a line, as it does for the agents, and for diff and merge."""
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


def _content(lines: Iterable[str]) -> list[str]:
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]


def _missing_once(kept: Counter[str], line: str) -> bool:
    """Whether `line` is not among what is kept; what is, is used up."""
    if kept[line] > 0:
        kept[line] -= 1
        return False
    return True
