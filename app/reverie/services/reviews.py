"""Reviews: the changes of a run, group by group, and applying the parts that the user chose.

Showing a review changes nothing; applying one goes through `jobs.consolidate`.

Threading: blocks on disk; any thread but the GUI's. Failure: `UserError`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from reverie.jobs.consolidate.apply import ApplyService, context_of, load_review
from reverie.jobs.consolidate.review import (
    LEAST_ALIKE,
    Hunk,
    MergedLine,
    ReviewedFile,
    ReviewedGroup,
    ReviewSelection,
    came_to_pass,
    merged_lines,
    named_parts,
)
from reverie.memory.diff import WordSpans, invisible_differences, word_spans
from reverie.memory.union import text_lines
from reverie.runs.card import ReportCard
from reverie.runs.parts import Parts
from reverie.runs.record import Progress, RunRecord, RunResult
from reverie.services.container import HomeContainer
from reverie.services.views import ChangedFile, ReviewFile, ReviewGroup, ReviewHunk, ReviewView
from reverie.values import replace

_CONTEXT_LINES = 3
_Line = tuple[Literal[" ", "-", "+"], str]


class ReviewService:
    """The service that shows the changes of a run for review, and applies those that a person chose."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def changes(self, run_id: str) -> tuple[ChangedFile, ...]:
        """Return the files that a run changed, or would change if it was a dry run or is held for review."""
        record = self._parts.runs.load(run_id)
        transaction = self._parts.transaction_for(run_id, "review")
        journal = transaction.load()
        notes = _notes(record)
        return tuple(
            ChangedFile(
                intent.path,
                transaction.images.get(intent.before),
                transaction.images.get(intent.after),
                notes.get(intent.path, ""),
            )
            for intent in (journal.intents if journal is not None else ())
        )

    def review(self, run_id: str) -> ReviewView:
        """Build the review of a run, even if it is old or was already applied.

        Raises `StoreError` if the run does not exist or its file images were deleted.
        """

        loaded = load_review(self._parts.dream_dependencies, run_id)
        return ReviewView(
            run=loaded.run,
            groups=tuple(review_group(group) for group in loaded.review.groups),
            refused=tuple(_refused(op) for op in loaded.run.ops if not came_to_pass(op)),
            can_apply=not loaded.why_not,
            why_not=loaded.why_not,
            plan=loaded.review,
            can_take_back=loaded.can_take_back,
            taken_back=loaded.run.taken_back,
            card=loaded.card,
        )

    def card(self, run_id: str) -> ReportCard | None:
        """Return the report card of a run, which says which facts the run lost, changed or kept.

        None while the run is in progress.
        """
        return load_review(self._parts.dream_dependencies, run_id).card

    def named_parts(
        self, run_id: str, paths: Sequence[str], hunks: Sequence[int]
    ) -> tuple[Parts, tuple[str, ...]]:
        """Return the files `paths` of a run, or hunks of them, and what can only be undone with them.

        `hunks`: the numbers, from 1, of hunks of one file; empty: the whole files. The second value is the
        paths of the files that were added. If the run cannot be undone at all, `paths` are returned
        unchecked. Raises `StoreError` for files or hunks that the run does not have or that were undone
        before. See `jobs.consolidate.review.named_parts`.
        """

        loaded = load_review(self._parts.dream_dependencies, run_id)
        if not loaded.can_take_back:
            return dict.fromkeys(paths), ()  # the undo raises with the reason
        return named_parts(run_id, loaded.review, paths, hunks, loaded.run.taken_back)

    def discard(self, run_id: str, discarded: bool) -> None:
        """Record in the run whether a person has discarded its proposal, the changes that it would make."""
        self._parts.runs.change(
            run_id, lambda run: replace(run, details={**run.details, "discarded": discarded})
        )

    def apply(
        self,
        run_id: str,
        selection: ReviewSelection,
        *,
        progress: Callable[[Progress], None],
        cancel: threading.Event,
    ) -> RunResult:
        """Apply the changes of a run that `selection` accepts; block until the end, and return the result.

        `progress` gets each step; setting `cancel` ends the run.
        """

        service, parts = ApplyService(self._parts.dream_dependencies), self._parts
        context = context_of(parts.dream_dependencies, parts.runs.load(run_id))
        return parts.telling_loaded(
            context, lambda: service.apply(run_id, selection, cancel=cancel, progress=progress)
        )


def review_group(group: ReviewedGroup) -> ReviewGroup:
    """Return the view of a group of files that are accepted or rejected together."""
    files = tuple(_file(file) for file in group.files)
    merged = _merged(files) if group.kind == "merge" else {}
    fates = {path: Counter(line.fate for line in lines) for path, lines in merged.items()}
    return ReviewGroup(group.index, group.kind, group.reason, files, merged, fates)


def _merged(files: Sequence[ReviewFile]) -> dict[str, tuple[MergedLine, ...]]:
    kept = [file for file in files if file.verb != "delete"]
    if len(kept) != 1:
        return {}
    before, after = kept[0].before or "", kept[0].after or ""
    gone = (file for file in files if file.verb == "delete")
    return {file.path: merged_lines(before, file.before or "", after) for file in gone}


def _file(file: ReviewedFile) -> ReviewFile:
    context = text_lines(file.before or "") if file.verb in ("edit", "rename") else []
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
        return ReviewHunk(hunk.index, hunk.start, ())
    # Neighbouring hunks show each line between them at most once.
    start = max(hunk.start - _CONTEXT_LINES, before.start + len(before.removed) if before else 0)
    end = hunk.start + len(hunk.removed)
    stop = min(end + _CONTEXT_LINES, after.start if after else len(context))
    lines: list[_Line] = [
        *((" ", _shown(line)) for line in context[start : hunk.start]),
        *(("-", _shown(line)) for line in hunk.removed),
        *(("+", _shown(line)) for line in hunk.added),
        *((" ", _shown(line)) for line in context[end:stop]),
    ]
    invisible = invisible_differences(hunk.removed, hunk.added)
    return ReviewHunk(hunk.index, hunk.start, tuple(lines), line_marks(lines), invisible)


def line_marks(lines: Sequence[tuple[str, str]]) -> tuple[WordSpans, ...]:
    """Return for each line of a hunk the spans of the words that differ from the line that it replaces."""
    removed = [number for number, (kind, _text) in enumerate(lines) if kind == "-"]
    added = [number for number, (kind, _text) in enumerate(lines) if kind == "+"]
    marks: list[WordSpans] = [()] * len(lines)
    for one, other in zip(removed, added, strict=False):
        marks[one], marks[other] = word_spans(lines[one][1], lines[other][1], alike=LEAST_ALIKE)
    return tuple(marks) if any(marks) else ()


def _shown(line: str) -> str:
    return _readable(line.removesuffix("\n").removesuffix("\r"))


def _readable(text: str) -> str:
    """Return `text` with undecodable bytes (surrogate escapes) as U+FFFD; for display, never for writing."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _refused(op: Mapping[str, Any]) -> str:
    where = f"{op['path']} to {op['newPath']}" if op.get("newPath") else op["path"]
    return f"{op['command']} {where}: {op.get('note') or 'not applied'}"


def _notes(record: RunRecord) -> dict[str, str]:
    """Return, for each path in the run's record, the last command on the path, with its note, if any."""
    notes: dict[str, str] = {}
    for op in record.ops:
        verb = f"{op['command']} {op.get('newPath', '')}".strip()
        notes[op["path"]] = f"{verb}: {op['note']}" if op.get("note") else verb
    return notes
