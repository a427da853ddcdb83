"""Empty notes, and white space without a meaning.

Pure; any thread.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.jobs.consolidate.rules.reading import code_among
from reverie.memory.front_matter_rules import BOM, block_of
from reverie.text.patterns import pattern_of

_EMPTY_BLOCK = pattern_of(r"---\r?\n(?:[ \t]*\r?\n)*---[ \t]*(?:\r?\n|\Z)")
_BLANK_END = pattern_of(r"[ \t]\r?(?:\n|\Z)")
_HARD_BREAK = pattern_of(r"[^ \t] {2,}\r?$")


def is_empty(text: str) -> bool:
    """Return True if a text has only white space, or only an empty front matter block."""
    bare = text.removeprefix(BOM)
    return (
        not _EMPTY_BLOCK.sub("", bare.lstrip(), count=1).strip()
        if bare.startswith("---")
        else not bare.strip()
    )


def without_noise(text: str) -> str | None:
    """Return the note without trailing white space and blank lines at its end; None if it has neither."""
    block = block_of(text)
    start = block.body_start if block is not None else 0
    body = text[start:]
    if block is None and text.removeprefix(BOM).startswith(("---\n", "---\r\n")):
        # This may be a block that is never closed, so the end of the front matter is unknown.
        return None
    words = body.rstrip()
    end = body[len(words) :]
    if words and "\n\n" not in end and "\n\r\n" not in end and not _BLANK_END.search(body):
        return None
    lines = body.split("\n")
    ends = [number for number in range(len(lines)) if _has_blank_end(lines, number, is_first=not start)]
    if not ends and _with_one_end(body, has_block=block is not None) == body:
        return None
    last = range(max(0, len(lines) - 2), len(lines))
    has_code = any(sign in body for sign in ("```", "~~~", "    ", "\t"))
    code = code_among(body, (*ends, *last)) if has_code else frozenset()
    for number in ends:
        if number not in code:
            end = "\r" if lines[number].endswith("\r") else ""
            lines[number] = lines[number].removesuffix("\r").rstrip(" \t") + end
    tidied = "\n".join(lines)
    if code.isdisjoint(last):
        tidied = _with_one_end(tidied, has_block=block is not None)
    return text[:start] + tidied if tidied != body else None


def _has_blank_end(lines: Sequence[str], number: int, *, is_first: bool) -> bool:
    """Return True if a line ends with white space that has no meaning in prose.

    `number`: the index of the line in `lines`. `is_first`: it is the first line of the note.
    """
    line = lines[number]
    if not line.removesuffix("\r").endswith((" ", "\t")):
        return False
    if is_first and not number and line.strip() == "---":
        return False  # Without the trailing blank, this line would open a front matter block.
    following = lines[number + 1] if number + 1 < len(lines) else ""
    return not (_HARD_BREAK.search(line) and following.strip())


def _with_one_end(body: str, *, has_block: bool) -> str:
    """Return the body without blank lines at its end.

    A body that consists of blank lines becomes empty only if there is front matter (`has_block`).
    """
    words = body.rstrip(" \t\r\n")
    if not words:
        return "" if has_block else body
    end = body.find("\n", len(words)) + 1
    is_lone_return = "\r" in body[end:].replace("\r\n", "")
    return body if not end or is_lone_return else body[:end]
