"""The difference between two versions of one file, as git would print it.

Pure text work for people and for `reverie diff`; what it prints can be fed to `git apply`, except where a
file is binary or not valid UTF-8 (shown with U+FFFD: this is for reading, restoring takes bytes from the
history).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple, TypeVar

_T = TypeVar("_T", str, bytes)
CONTEXT_LINES = 3
_BINARY_PREFIX_BYTES = 8000
_MODE = "100644"
_NO_NEWLINE = "\\ No newline at end of file\n"
_C_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class Span(NamedTuple):
    """Lines `[old_start, old_end)` became `[new_start, new_end)`; at least one side is not empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def unified(
    before: bytes | None, after: bytes | None, label: str, *, taken_back: Collection[int] | None = None
) -> str:
    """A git-style unified diff, or "" when nothing differs. None means that the file is not there.

    `label` is the path to show; leading slashes are dropped, names git would quote are quoted. With
    `taken_back` each header says which hunks of a changed file follow, numbered from 1 as a run's parts are,
    and which of these (numbered from 0) were taken back.
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
        taken_back = None  # it comes or goes as a whole
    return "".join(head) + "".join(_hunks(_lines(old), _lines(new), taken_back))


def is_binary(content: bytes) -> bool:
    """Whether git would call this binary: a NUL byte near the beginning."""
    return b"\0" in content[:_BINARY_PREFIX_BYTES]


def _lines(content: bytes) -> list[str]:
    """Lines with their `\n` (a `\r` before it belongs to the line); the last may lack one."""
    *whole, last = content.split(b"\n")
    lines = [line + b"\n" for line in whole] + ([last] if last else [])
    return [line.decode("utf-8", "replace") for line in lines]


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
    """` hunks 1-3 (2 taken back)`: each run of changed lines below the header is one."""
    gone = [str(hunk + 1) for hunk in hunks if hunk in taken_back]
    if len(hunks) == 1:
        return f" hunk {hunks[0] + 1}{' (taken back)' if gone else ''}"
    words = f" ({', '.join(gone)} taken back)" if gone else ""
    return f" hunks {hunks[0] + 1}-{hunks[-1] + 1}{words}"


def changed_spans(old: Sequence[_T], new: Sequence[_T]) -> list[Span]:
    """Where the two differ, in order. Equal ends are cut off first: most edits touch a few lines of many."""
    shorter = min(len(old), len(new))
    start = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    end = next((i for i in range(shorter - start) if old[-1 - i] != new[-1 - i]), shorter - start)
    matcher = SequenceMatcher(None, old[start : len(old) - end], new[start : len(new) - end])
    return [
        Span(start + old_start, start + old_end, start + new_start, start + new_end)
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def _groups(changes: Sequence[Span]) -> Iterator[list[Span]]:
    """Changes whose contexts touch or overlap share a hunk."""
    group: list[Span] = []
    for change in changes:
        if group and change.old_start - group[-1].old_end > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _range(start: int, end: int) -> str:
    """`start,count` as diff writes it: an empty range names the line before it, a count of 1 is left out."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n{_NO_NEWLINE}"


def _quoted(name: str) -> str:
    """The name as git shows it: in quotes with C escapes when it could break the line format."""
    escaped = "".join(
        _C_ESCAPES.get(char)
        or (char if char.isprintable() else "".join(f"\\{byte:03o}" for byte in _bytes(char)))
        for char in name
    )
    return f'"{escaped}"' if escaped != name else name


def _bytes(char: str) -> bytes:
    return char.encode("utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass")


def _ended(name: str) -> str:
    # git ends a name with blanks with a tab, so that nobody takes the blank for a separator
    return f"{name}\t" if " " in name else name
