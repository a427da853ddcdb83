"""Parts of a run: files and hunks that were undone or are to be undone.

Hunks are numbered from 0 in the order of `changed_spans`. A file that a run created, deleted or renamed can
only be undone as a whole.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from reverie.errors import StoreError
from reverie.memory.diff import changed_spans, lines_of
from reverie.text.summaries import some

Parts = Mapping[str, frozenset[int] | None]
"""Path -> the numbers of the file's hunks; None for the whole file."""


def version_without(before: bytes | None, after: bytes | None, taken: Collection[int] | None) -> bytes | None:
    """Return a file's content after a run, with the hunks in `taken` undone.

    `before`, `after`: the contents before and after the run; None: there is no file. `taken`: the numbers of
    the hunks; None: all of them.
    """
    if taken is None or before is None or after is None:
        return before if taken is None or taken else after
    old, new = lines_of(before), lines_of(after)
    lines, at = [], 0
    for number, span in enumerate(changed_spans(old, new)):
        lines += new[at : span.new_start]
        undone = old[span.old_start : span.old_end]
        lines += undone if number in taken else new[span.new_start : span.new_end]
        at = span.new_end
    return b"".join((*lines, *new[at:]))


def hunk_count(before: bytes | None, after: bytes | None) -> int:
    """Return the number of changes (hunks) from `before` to `after` that can be undone one by one.

    A content of None means that there is no file; the result is 0 for a created or deleted file.
    """
    if before is None or after is None:
        return 0
    return len(changed_spans(lines_of(before), lines_of(after)))


def joined(first: Parts, second: Parts) -> dict[str, frozenset[int] | None]:
    """Return the parts of a run (files, or hunks of files) that are in `first` or in `second`.

    A file that is in one of them as a whole (None) is in the result as a whole.
    """
    found = dict(first)
    for path, hunks in second.items():
        known = found.get(path, frozenset())
        found[path] = None if hunks is None or known is None else known | hunks
    return found


def whole_where_complete(parts: Parts, counts: Mapping[str, int]) -> dict[str, frozenset[int] | None]:
    """Return `parts`; if all hunks of a file are in it, they are replaced by None (the whole file).

    `counts`: path -> the number of all hunks of the file.
    """
    return {
        path: None if hunks is not None and len(hunks) == counts.get(path) else hunks
        for path, hunks in parts.items()
    }


def require_parts(run_id: str, parts: Parts, taken: Parts, counts: Mapping[str, int]) -> None:
    """Raise `StoreError` unless `parts` belong to the run `run_id` and none of them was undone before.

    `taken` are the parts that were undone before; `counts` has the number of hunks of each file that the run
    changed.
    """
    for path, hunks in parts.items():
        if path not in counts:
            raise StoreError(
                f"Run {run_id} did not change {path}.",
                next_step=f"`reverie diff {run_id}` shows what it changed.",
                reason="missing",
            )
        unknown = sorted(hunk + 1 for hunk in hunks or () if not 0 <= hunk < counts[path])
        if unknown or hunks == frozenset():
            has = (
                f"The file has {some(counts[path], 'hunk')}."
                if counts[path]
                else "The file is created or deleted as a whole."
            )
            raise StoreError(
                f"Run {run_id} has no hunk {', '.join(map(str, unknown))} in {path}.",
                cause=has,
                next_step=f"`reverie diff {run_id}` shows the hunks with their numbers.",
                reason="missing",
            )
        before = taken.get(path, frozenset())
        again = hunks if before is None else (hunks or frozenset()) & before
        if before is None or again:
            what = path if not again else f"{_hunks(again)} of {path}"
            raise StoreError(f"Already undone: {what}.", reason="reverted")


def numbers_taken(before: bytes | None, after: bytes | None, taken: frozenset[int] | None) -> frozenset[int]:
    """Return the hunk numbers `taken`; if `taken` is None, the numbers of all hunks of the file.

    `before`, `after`: the contents of the file before and after the run, None if there is no file.
    """
    return frozenset(range(hunk_count(before, after))) if taken is None else taken


def taken_as_json(taken: frozenset[int] | None) -> str | list[int]:
    """Return the hunk numbers `taken` for scripts, counted from 1 as people see them.

    The result is "all" for a whole file (None).
    """
    return "all" if taken is None else [hunk + 1 for hunk in sorted(taken)]


def parts_as_json(parts: Parts) -> dict[str, list[int] | None]:
    """Return `parts` in the format in which a run's record stores them; None stands for a whole file."""
    return {path: None if hunks is None else sorted(hunks) for path, hunks in parts.items()}


def parts_from_json(data: Any) -> dict[str, frozenset[int] | None]:
    """Return the parts that `parts_as_json` has written; invalid entries are left out.

    As in `Parts`, None stands for a whole file.
    """
    if not isinstance(data, dict):
        return {}
    return {
        path: None if hunks is None else frozenset(hunks)
        for path, hunks in data.items()
        if hunks is None or (isinstance(hunks, list) and all(isinstance(hunk, int) for hunk in hunks))
    }


def _hunks(hunks: Collection[int]) -> str:
    numbers = ", ".join(str(hunk + 1) for hunk in sorted(hunks))
    return f"hunk {numbers}" if len(hunks) == 1 else f"hunks {numbers}"
