"""The line hunks between two versions of a text, each of which can be taken or left.

Pure. A line keeps its ending (`\\n`, `\\r\\n` or none), so that taking all hunks gives the second version
character for character and taking none the first. Texts of bytes that are no UTF-8 may hold lone surrogates
(`surrogateescape`); nothing here minds them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from reverie.memory.line_union import lines_of


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `[start, start + len(removed))` of the text before give way to `added`. Both empty: the hunk
    stands for the file itself (`dream.review`)."""

    index: int
    start: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


def split_hunks(before: str, after: str) -> tuple[Hunk, ...]:
    """Every place where the two differ, in order, numbered from 0."""
    old, new = lines_of(before), lines_of(after)
    lead = _equal_lead(old, new)
    tail = _equal_lead(old[lead:][::-1], new[lead:][::-1])
    matcher = SequenceMatcher(None, old[lead : len(old) - tail], new[lead : len(new) - tail])
    changed = [opcode for opcode in matcher.get_opcodes() if opcode[0] != "equal"]
    return tuple(
        Hunk(
            index,
            lead + old_start,
            tuple(old[lead + old_start : lead + old_end]),
            tuple(new[lead + new_start : lead + new_end]),
        )
        for index, (_tag, old_start, old_end, new_start, new_end) in enumerate(changed)
    )


def apply_hunks(
    before: str, hunks: Sequence[Hunk], accepted: Collection[int], edits: Mapping[int, str]
) -> str:
    """The text before with the accepted hunks, each as it is or with the words of `edits` in its place.

    An edited hunk without a line ending at its end gets one when lines follow it.
    """
    lines, parts, at = lines_of(before), [], 0
    for hunk in hunks:
        end = hunk.start + len(hunk.removed)
        parts += lines[at : hunk.start]
        if hunk.index not in accepted:
            parts += hunk.removed
        elif hunk.index in edits:
            parts.append(_ended(edits[hunk.index], hunk) if end < len(lines) else edits[hunk.index])
        else:
            parts += hunk.added
        at = end
    return "".join((*parts, *lines[at:]))


def _ended(text: str, hunk: Hunk) -> str:
    if not text or text.endswith("\n"):
        return text
    crlf = any(line.endswith("\r\n") for line in (*hunk.removed, *hunk.added))
    return text + ("\r\n" if crlf else "\n")


def _equal_lead(old: Sequence[str], new: Sequence[str]) -> int:
    """How many lines at the front are the same: most edits touch a few lines of many."""
    shorter = min(len(old), len(new))
    return next((number for number in range(shorter) if old[number] != new[number]), shorter)
