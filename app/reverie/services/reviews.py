"""Reviews of one home's runs: what a window shows of a run, group by group, and applying what a person chose.

`ReviewDesk` blocks on disk and must not be used on the GUI thread. Looking at a review changes nothing
anywhere.

Failure: `MendableError` for what a person can mend.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from reverie.services.status import run_summary, run_view
from reverie.services.views import (
    DreamProgress,
    FileChange,
    ReviewFile,
    ReviewGroup,
    ReviewHunk,
    ReviewView,
    RunView,
)

if TYPE_CHECKING:
    from reverie.dream.hunks import Hunk
    from reverie.dream.review import ReviewedFile, ReviewedGroup, Selection
    from reverie.runs.parts import Parts
    from reverie.runs.record import RunRecord
    from reverie.services.parts import HomeParts

_CONTEXT_LINES = 3
_Line = tuple[Literal[" ", "-", "+"], str]


class ReviewDesk:
    """Where the runs of one home are looked through."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def changes(self, run_id: str) -> tuple[FileChange, ...]:
        """What a run changed, or would have changed (dry run, held), file by file."""
        record = self._parts.runs.load(run_id)
        transaction = self._parts.transaction_for(run_id, "review")
        journal = transaction.load()
        notes = _notes(record)
        return tuple(
            FileChange(
                intent.path,
                transaction.images.get(intent.before),
                transaction.images.get(intent.after),
                notes.get(intent.path, ""),
            )
            for intent in (journal.intents if journal is not None else ())
        )

    def review(self, run_id: str) -> ReviewView:
        """Any run, also an old one or one that was applied. Raises `StoreError` for a run that does not exist
        or whose images are gone."""
        from reverie.dream.apply import load_review
        from reverie.dream.groups import came_to_pass

        loaded = load_review(self._parts.dream_dependencies, run_id)
        return ReviewView(
            run=run_summary(loaded.run),
            groups=tuple(_group(group) for group in loaded.review.groups),
            refused=tuple(_refused(op) for op in loaded.run.ops if not came_to_pass(op)),
            can_apply=not loaded.why_not,
            why_not=loaded.why_not,
            plan=loaded.review,
            can_take_back=loaded.can_take_back,
            taken_back=loaded.run.taken_back,
        )

    def named_parts(
        self, run_id: str, paths: Sequence[str], hunks: Sequence[int]
    ) -> tuple[Parts, tuple[str, ...]]:
        """See `dream.taking_back.named_parts`."""
        from reverie.dream.apply import load_review
        from reverie.dream.taking_back import named_parts

        loaded = load_review(self._parts.dream_dependencies, run_id)
        if not loaded.can_take_back:
            return dict.fromkeys(paths), ()  # the undo itself says why not
        return named_parts(loaded.review, paths, hunks, loaded.run.taken_back)

    def apply(
        self,
        run_id: str,
        selection: Selection,
        *,
        progress: Callable[[DreamProgress], None],
        cancel: threading.Event,
    ) -> RunView:
        """Carry out what was chosen of a run; blocks until that has its outcome."""
        from reverie.dream.apply import ApplyService

        service = ApplyService(self._parts.dream_dependencies)
        return run_view(service.apply(run_id, selection, cancel=cancel, progress=progress))


def _group(group: ReviewedGroup) -> ReviewGroup:
    return ReviewGroup(group.index, _title(group), group.reason, tuple(_file(file) for file in group.files))


def _title(group: ReviewedGroup) -> str:
    """What the group does, in a few words."""
    first = group.files[0]
    if len(group.files) == 1:
        if first.verb == "rename":
            return f"Rename {first.old_path} to {first.path}"
        return f"{first.verb.capitalize()} {first.path}"
    kept = [file.path for file in group.files if file.verb != "delete"]
    gone = [file.path for file in group.files if file.verb == "delete"]
    if group.kind == "merge" and len(kept) == 1:
        return f"Merge {', '.join(gone)} into {kept[0]}"
    if group.kind in ("rename", "delete", "create"):
        return f"{group.kind.capitalize()} {len(group.files)} memories"
    return f"Change {len(group.files)} memories together"


def _file(file: ReviewedFile) -> ReviewFile:
    from reverie.memory.line_union import lines_of

    context = lines_of(file.before or "") if file.verb in ("edit", "rename") else []
    hunks = []
    for position, hunk in enumerate(file.hunks):
        before = file.hunks[position - 1] if position else None
        after = file.hunks[position + 1] if position + 1 < len(file.hunks) else None
        hunks.append(_hunk(file, hunk, context, before, after))
    return ReviewFile(
        file.path,
        file.verb,
        None if file.before is None else _readable(file.before),
        None if file.after is None else _readable(file.after),
        tuple(hunks),
        file.old_path,
    )


def _hunk(
    file: ReviewedFile, hunk: Hunk, context: Sequence[str], before: Hunk | None, after: Hunk | None
) -> ReviewHunk:
    if not hunk.removed and not hunk.added:
        words = {
            "rename": f"{file.old_path} is renamed to {file.path}",
            "create": "The file comes, empty",
            "delete": "The empty file goes",
            "edit": "",
        }
        return ReviewHunk(hunk.index, words[file.verb], ())
    # Neighbours show the lines between them once each at most.
    start = max(hunk.start - _CONTEXT_LINES, before.start + len(before.removed) if before else 0)
    end = hunk.start + len(hunk.removed)
    stop = min(end + _CONTEXT_LINES, after.start if after else len(context))
    lines: list[_Line] = [
        *((" ", _shown(line)) for line in context[start : hunk.start]),
        *(("-", _shown(line)) for line in hunk.removed),
        *(("+", _shown(line)) for line in hunk.added),
        *((" ", _shown(line)) for line in context[end:stop]),
    ]
    return ReviewHunk(hunk.index, _place(hunk), tuple(lines))


def _place(hunk: Hunk) -> str:
    """Where the hunk is, by the lines before; for what is only added, the line after which it comes."""
    count = len(hunk.removed)
    if count == 0:
        return f"After line {hunk.start}" if hunk.start else "At the beginning"
    return f"Line {hunk.start + 1}" if count == 1 else f"Lines {hunk.start + 1}-{hunk.start + count}"


def _shown(line: str) -> str:
    return _readable(line.removesuffix("\n").removesuffix("\r"))


def _readable(text: str) -> str:
    """Bytes that are no UTF-8 as U+FFFD: for looking at, never for writing."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refused(op: Mapping[str, Any]) -> str:
    where = f"{op['path']} to {op['newPath']}" if op.get("newPath") else op["path"]
    return f"{op['command']} {where}: {op.get('note') or 'not applied'}"


def _notes(record: RunRecord) -> dict[str, str]:
    """The last word of the run's journal on each path."""
    notes: dict[str, str] = {}
    for op in record.ops:
        verb = f"{op['command']} {op.get('newPath', '')}".strip()
        notes[op["path"]] = f"{verb}: {op['note']}" if op.get("note") else verb
    return notes
