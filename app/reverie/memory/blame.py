"""Who wrote each line: the newest version's lines, each with the version that brought it.

Pure. Versions come newest first and are read only while some line's origin is open, so a long history costs
as much as its answer needs. A line counts as the same while a comparison of neighbouring versions keeps it; a
line with another ending is another line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from reverie.memory.diff import changed_spans

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class BlameLine(Generic[V]):
    """One line with its ending, and the version that brought it."""

    text: bytes
    version: V


def blame(versions: Iterable[tuple[V, bytes | None]]) -> tuple[BlameLine[V], ...]:
    """`versions`: newest first; None: there was no file, or its bytes are not known, so that everything newer
    begins there. Empty for no versions."""
    upcoming: Iterator[tuple[V, bytes | None]] = iter(versions)
    first = next(upcoming, None)
    if first is None or first[1] is None:
        return ()
    version, content = first
    newest = lines_of(content or b"")
    owner: dict[int, V] = {}
    # line of the version being looked at -> line of the newest one, for those whose origin is open
    open_lines = {number: number for number in range(len(newest))}
    lines = newest
    while open_lines and (following_version := next(upcoming, None)) is not None:
        older_version, older = following_version
        older_lines = lines_of(older) if older is not None else []
        kept = _kept(older_lines, lines) if older is not None else {}
        following: dict[int, int] = {}
        for number, at in open_lines.items():
            if number in kept:
                following[kept[number]] = at
            else:
                owner[at] = version
        open_lines, lines, version = following, older_lines, older_version
    for at in open_lines.values():
        owner[at] = version
    return tuple(BlameLine(text, owner[at]) for at, text in enumerate(newest))


def lines_of(content: bytes) -> list[bytes]:
    """Lines with their endings; the last may lack one."""
    *whole, last = content.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _kept(old: list[bytes], new: list[bytes]) -> dict[int, int]:
    """Line of `new` -> line of `old`, for the lines that stayed."""
    kept: dict[int, int] = {}
    at_old = at_new = 0
    for change in changed_spans(old, new):
        for offset in range(change.old_start - at_old):
            kept[at_new + offset] = at_old + offset
        at_old, at_new = change.old_end, change.new_end
    for offset in range(len(old) - at_old):
        kept[at_new + offset] = at_old + offset
    return kept
