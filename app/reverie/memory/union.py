"""The union of two versions of one note, which contains every line of both.

Pure; any thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from reverie.memory.diff import changed_spans
from reverie.memory.front_matter_rules import block_of

_BOM = "\ufeff"
OTHER_FRONT_MATTER = "Front matter of the other version:"


def text_of(data: bytes) -> str | None:
    """Return the text of a note; None if it is not valid UTF-8 or contains a NUL."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def union(first: bytes, second: bytes) -> bytes | None:
    """Merge two versions of a note into one with every line of both.

    Common lines appear once; at each difference the lines of the first version come before those of the
    second. The front matter is taken from the first version, or from the second if the first has none; lines
    that only the second front matter has are added at the end of the text. Lines are compared without their
    line endings; added lines get the line endings of the first version. Returns `first` itself if it has
    every line of `second` in the same order, and None for bytes that are not text. `lost_lines` can check
    that no line is missing.
    """
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
        head = "".join(_with_last_ending([head], newline))
    kept = Counter(_content(text_lines(head)))
    left = [line for line in _content(text_lines(other_head)) if _missing_once(kept, line)]
    merged = _merged(text_lines(body), text_lines(other_body), newline)
    if any(line.strip() for line in left):
        head = "".join(_with_last_ending([head], newline))
        merged = _with_last_ending(merged, newline)
        merged += [newline, OTHER_FRONT_MATTER + newline, newline, *(line + newline for line in left)]
    return (bom + head + "".join(merged)).encode("utf-8")


def lost_lines(result: bytes, *versions: bytes) -> tuple[str, ...]:
    """Return the non-blank lines of `versions` that occur in `result` less often than in one of them."""
    there = Counter(_content(text_lines(result.decode("utf-8", "replace").removeprefix(_BOM))))
    lost: list[str] = []
    for version in versions:
        wanted = Counter(_content(text_lines(version.decode("utf-8", "replace").removeprefix(_BOM))))
        lost += [line for line, count in wanted.items() if line.strip() and there[line] < count]
    return tuple(lost)


def _parts(text: str) -> tuple[str, str]:
    """Return the front matter of a text, with its `---` lines, and the text below it."""
    block = block_of(text) if not text.startswith(_BOM) else None
    at = block.body_start if block is not None else 0
    return text[:at], text[at:]


def _merged(first: Sequence[str], second: Sequence[str], newline: str) -> list[str]:
    merged: list[str] = []
    at = 0
    for span in changed_spans(_content(first), _content(second)):
        merged += first[at : span.old_end]
        new = second[span.new_start : span.new_end]
        if new:
            merged = _with_last_ending(merged, newline)
            merged += [_with_endings(line, newline) for line in new]
        at = span.old_end
    rest = list(first[at:])
    return (_with_last_ending(merged, newline) if rest else merged) + rest


def _with_last_ending(lines: list[str], newline: str) -> list[str]:
    """Return the lines with the line ending `newline` added to the last one if it has none."""
    if lines and not lines[-1].endswith("\n"):
        return [*lines[:-1], lines[-1] + newline]
    return lines


def _with_endings(text: str, newline: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", newline)


def text_lines(text: str) -> list[str]:
    """Return the lines of a text with their line endings.

    Only `\\n` ends a line, as for the agents, and for diff and merge.
    """
    *whole, last = text.split("\n")
    return [line + "\n" for line in whole] + ([last] if last else [])


def _content(lines: Iterable[str]) -> list[str]:
    return [line.removesuffix("\n").removesuffix("\r") for line in lines]


def _missing_once(kept: Counter[str], line: str) -> bool:
    """Return whether `line` is missing from `kept`; if it is there, lower its count by one."""
    if kept[line] > 0:
        kept[line] -= 1
        return False
    return True
