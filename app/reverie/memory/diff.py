"""Comparison of versions of one file: differing words and lines, a unified diff, and blame.

The diff has git's format and can be passed to `git apply`, except for a file that is binary or not valid
UTF-8. Such a diff is only for reading (invalid bytes are shown as U+FFFD); a restore uses the bytes in the
history.

Pure; any thread.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Generic, Literal, TypeVar, get_args

from reverie.text.matching import differing, matching, ratio
from reverie.values import Struct

_T = TypeVar("_T", str, bytes)
CONTEXT_LINES = 3
_BINARY_PREFIX_BYTES = 8000
_MODE = "100644"
_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LEAST_STEPS = 4_000
"""Steps (see `text.matching`) that are always allowed for two lines; few, as there may be thousands of
lines."""
WordSpans = tuple[tuple[int, int], ...]
"""(start, length) of parts of a text, in characters."""
_NO_NEWLINE = "\\ No newline at end of file\n"
_C_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class ChangedSpan(Struct, frozen=True):
    """A place at which two sequences differ: `[old_start, old_end)` became `[new_start, new_end)`.

    The numbers are indexes from 0. At most one of the two ranges is empty: items were only added, or only
    removed.
    """

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def word_spans(old: str, new: str, *, alike: float = 0.0) -> tuple[WordSpans, WordSpans]:
    """Return the spans, as (start, length) in characters, of the words that the other text lacks.

    The first value has the spans in `old`, the second has the spans in `new`. Both are empty if the share of
    words that the texts have in common is below `alike` (0 to 1). The work is linear in the texts: a stretch
    whose words repeat too often to be matched one by one counts as different as a whole.
    """
    texts = _WORD.findall(old), _WORD.findall(new)
    runs = matching(*texts, least=_LEAST_STEPS)
    if ratio(runs, *texts) < alike:
        return (), ()
    places = differing(runs, *texts)
    return (
        _in_characters(texts[0], [(start, end) for start, end, _, _ in places]),
        _in_characters(texts[1], [(start, end) for _, _, start, end in places]),
    )


InvisibleKind = Literal["line ends", "last line end", "blanks at the end", "spaces", "composition"]


def invisible_differences(old: Sequence[str], new: Sequence[str]) -> tuple[InvisibleKind, ...]:
    """Return the kinds of difference that a person cannot see, such as line endings or blanks at the end.

    The lines of `old` and `new`, which include their endings, are compared one by one. The result is in the
    order of `InvisibleKind`.
    """
    found: set[InvisibleKind] = set()
    for one, other in zip(old, new, strict=False):
        if one == other or _looks(one) != _looks(other):
            continue
        (body, end), (other_body, other_end) = _body_and_end(one), _body_and_end(other)
        if end != other_end:
            found.add("line ends" if end and other_end else "last line end")
        core, other_core = body.rstrip(), other_body.rstrip()
        if body[len(core) :] != other_body[len(other_core) :]:
            found.add("blanks at the end")
        composed, other_composed = (unicodedata.normalize("NFC", each) for each in (core, other_core))
        if composed != other_composed:
            found.add("spaces")
        if core != other_core and (core != composed or other_core != other_composed):
            found.add("composition")
    return tuple(kind for kind in get_args(InvisibleKind) if kind in found)


def invisible_in(difference: str) -> tuple[InvisibleKind, ...]:
    """Return the kinds of difference that a person cannot see between removed and added lines of a diff.

    `difference`: a unified diff. The result is in the order of `InvisibleKind`.
    """
    found: set[InvisibleKind] = set()
    sides: dict[str, list[str]] = {"-": [], "+": []}
    last = ""
    for line in [*difference.split("\n"), ""]:
        kind = line[:1]
        if kind in sides and not line.startswith(("--- ", "+++ ")):
            if kind == "-" and last == "+":
                found.update(invisible_differences(*sides.values()))
                sides = {"-": [], "+": []}
            sides[kind].append(line[1:] + "\n")
            last = kind
        elif line == _NO_NEWLINE.rstrip("\n") and last:
            sides[last][-1] = sides[last][-1].removesuffix("\n")
        else:
            found.update(invisible_differences(*sides.values()))
            sides, last = {"-": [], "+": []}, ""
    return tuple(kind for kind in get_args(InvisibleKind) if kind in found)


def _looks(line: str) -> list[str]:
    return (line if line.isascii() else unicodedata.normalize("NFC", line)).split()


def _body_and_end(line: str) -> tuple[str, str]:
    body = line.removesuffix("\n").removesuffix("\r") if line.endswith("\n") else line
    return body, line[len(body) :]


def _in_characters(words: Sequence[str], parts: Sequence[tuple[int, int]]) -> WordSpans:
    places = [0, *accumulate(map(len, words))]
    return tuple((places[start], places[end] - places[start]) for start, end in parts if start < end)


def unified(
    before: bytes | None, after: bytes | None, label: str, *, taken_back: Collection[int] | None = None
) -> str:
    """Return a git-style unified diff of two contents, or "" if nothing differs; None: no file.

    `label`: the path to show; leading slashes are dropped, and names that git would quote are quoted.
    `taken_back`: the indexes (from 0, in `changed_spans`) of the changes that were undone. If it is given and
    both files exist, each header has the numbers (from 1) of the changes below it, and says which of them
    were undone.
    """
    if before == after:
        return ""
    name = label.lstrip("/") or "file"
    old_name, new_name = _quoted(f"a/{name}"), _quoted(f"b/{name}")
    head = [f"diff --git {old_name} {new_name}\n"]
    if before is None:
        head.append(f"new file mode {_MODE}\n")
        old_name = "/dev/null"
    if after is None:
        head.append(f"deleted file mode {_MODE}\n")
        new_name = "/dev/null"
    old, new = before or b"", after or b""
    if is_binary(old) or is_binary(new):
        return "".join((*head, f"Binary files {old_name} and {new_name} differ\n"))
    if old == new:
        return "".join(head)
    head.append(f"--- {_ended(old_name)}\n+++ {_ended(new_name)}\n")
    if before is None or after is None:
        taken_back = None  # the file is created or deleted as a whole
    return "".join(head) + "".join(_hunks(_lines(old), _lines(new), taken_back))


def is_binary(content: bytes) -> bool:
    """Return whether git would call this binary: a NUL byte near the beginning."""
    return b"\0" in content[:_BINARY_PREFIX_BYTES]


def _lines(content: bytes) -> list[str]:
    return [line.decode("utf-8", "replace") for line in lines_of(content)]


def _hunks(old: Sequence[str], new: Sequence[str], taken_back: Collection[int] | None) -> Iterator[str]:
    number = 0
    for group in _groups(changed_spans(old, new)):
        first, last = group[0], group[-1]
        lead = min(CONTEXT_LINES, first.old_start)
        tail = min(CONTEXT_LINES, len(old) - last.old_end)
        yield (
            f"@@ -{_range(first.old_start - lead, last.old_end + tail)}"
            f" +{_range(first.new_start - lead, last.new_end + tail)} @@"
            f"{'' if taken_back is None else _numbers(range(number, number + len(group)), taken_back)}\n"
        )
        number += len(group)
        at = first.old_start - lead
        for change in group:
            yield from (_line(" ", line) for line in old[at : change.old_start])
            yield from (_line("-", line) for line in old[change.old_start : change.old_end])
            yield from (_line("+", line) for line in new[change.new_start : change.new_end])
            at = change.old_end
        yield from (_line(" ", line) for line in old[at : at + tail])


def _numbers(hunks: range, taken_back: Collection[int]) -> str:
    """Return the numbers of the changes below a header of the diff, such as ` hunks 1-3 (2 taken back)`.

    `hunks`: the indexes (from 0) of these changes. `taken_back`: the indexes of all changes that were undone.
    """
    gone = [str(hunk + 1) for hunk in hunks if hunk in taken_back]
    if len(hunks) == 1:
        return f" hunk {hunks[0] + 1}{' (taken back)' if gone else ''}"
    words = f" ({', '.join(gone)} taken back)" if gone else ""
    return f" hunks {hunks[0] + 1}-{hunks[-1] + 1}{words}"


def changed_spans(old: Sequence[_T], new: Sequence[_T]) -> list[ChangedSpan]:
    """Return the differences between the sequences `old` and `new`, in order.

    The result must not change between versions of Reverie, because run records store indexes into it.
    """
    return [ChangedSpan(*places) for places in differing(matching(old, new), old, new)]


def _groups(changes: Sequence[ChangedSpan]) -> Iterator[list[ChangedSpan]]:
    """Yield `changes` in groups of neighbours whose context lines touch or overlap."""
    group: list[ChangedSpan] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _range(start: int, end: int) -> str:
    """Return the lines from `start` to before `end` (from 0) in the notation `start,count` of a unified diff.

    A count of 1 is omitted; an empty range has the number of the line before it.
    """
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


def _quoted(name: str) -> str:
    """Return the name as git shows it: in quotes with C escapes when it could break the line format."""
    escaped = "".join(
        _C_ESCAPES.get(char)
        or (char if char.isprintable() else "".join(f"\\{byte:03o}" for byte in _bytes(char)))
        for char in name
    )
    return f'"{escaped}"' if escaped != name else name


def _bytes(char: str) -> bytes:
    return char.encode("utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass")


def _ended(name: str) -> str:
    # git ends a name with blanks with a tab, so that the blank is not taken for a separator
    return f"{name}\t" if " " in name else name


V = TypeVar("V")


class BlameLine(Struct, Generic[V], frozen=True):
    """One line of a file, and the version of the file that introduced it."""

    text: bytes
    """The line with its line ending."""
    version: V
    """The version, as it was passed to `blame`."""


def blame(versions: Iterable[tuple[V, bytes | None]]) -> tuple[BlameLine[V], ...]:
    """Return the lines of a file's newest version, each with the version that introduced it.

    `versions`: (version, content), newest first, read only as far as needed. A content of None means that
    there was no file, or that its bytes are unknown: then all lines of the next newer version count as
    introduced by that one. A line is followed from each version to the one before it, as long as a comparison
    of the two matches it; a different line ending makes a different line. Empty if there are no versions, or
    if the newest content is None.
    """
    upcoming: Iterator[tuple[V, bytes | None]] = iter(versions)
    first = next(upcoming, None)
    if first is None or first[1] is None:
        return ()
    version, content = first
    newest = lines_of(content or b"")
    owner: dict[int, V] = {}
    # line of the current version -> line of the newest one, for lines of unknown origin
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
    """Return the lines of `content` with their line ends (`\\n` or `\\r\\n`); the last may lack one."""
    *whole, last = content.split(b"\n")
    return [line + b"\n" for line in whole] + ([last] if last else [])


def _kept(old: list[bytes], new: list[bytes]) -> dict[int, int]:
    """Return the unchanged lines, as the index in `new` -> the index in `old`."""
    kept: dict[int, int] = {}
    at_old = at_new = 0
    for change in changed_spans(old, new):
        for offset in range(change.old_start - at_old):
            kept[at_new + offset] = at_old + offset
        at_old, at_new = change.old_end, change.new_end
    for offset in range(len(old) - at_old):
        kept[at_new + offset] = at_old + offset
    return kept
