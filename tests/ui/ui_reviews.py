"""Reviews as the window is given them, made from texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reverie.jobs.consolidate.review import Hunk, ReviewedFile, build_review
from reverie.memory.diff import invisible_differences
from reverie.runs.record import RunRecord
from reverie.services.reviews import line_marks, review_group
from reverie.services.views import ReviewFile, ReviewHunk, ReviewView
from reverie.values import replace

A, B, C, D = (f"/memories/global/{name}.md" for name in "abcd")
KEPT = "Line that stays.\n"
LINES = "".join(f"Line {number} of the memory about deployments.\n" for number in range(12))


def run(*, reverted: bool = False, **other: Any) -> RunRecord:
    values: dict[str, Any] = {
        "id": "r1", "kind": "dream", "home_id": "h", "home_root": "/h", "workspace_id": "w",
        "project_path": None, "started_at": 1, "ended_at": 2, "outcome": "completed", "engine": "rules",
        "trigger": "manual", "summary": "Tidied up.", "dry_run": True,
        "reverted_by": "another" if reverted else None,
    } | other  # fmt: skip
    return RunRecord(**values)


def view(
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    reasons: Sequence[str] = (),
    can_apply: bool = True,
    refused: Sequence[str] = (),
    of: RunRecord | None = None,
    can_take_back: bool = False,
    **rails: Any,
) -> ReviewView:
    """One operation for each file that differs."""
    ops = [
        {"command": _command(path, before, after), "path": path, "applied": False, "note": "dry-run"}
        for path in dict.fromkeys((*before, *after))
        if before.get(path) != after.get(path)
    ]
    plan = build_review(ops, before, after, reasons=reasons, **rails)
    groups = tuple(
        replace(review_group(group), files=tuple(_file(file) for file in group.files))
        for group in plan.groups
    )  # fmt: skip
    why = "" if can_apply else "It is on disk already."
    return ReviewView(of or run(), groups, tuple(refused), can_apply, why, plan, can_take_back)


def merge(**other: Any) -> ReviewView:
    """`a` takes up the lines of `b`, which goes; `c` is edited in two places."""
    c = LINES.replace("Line 2 of", "The third line of").replace("Line 9 of", "The tenth line of")
    return view(
        {A: KEPT, B: "Only b says this line.\nAnd this other line too.\n", C: LINES},
        {A: KEPT + "Only b says this line.\nAnd this other line too.\n", C: c},
        max_loss_percent=100,
        **other,
    )


def _command(path: str, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    if path not in after:
        return "delete"
    return "str_replace" if path in before else "create"


def _file(file: ReviewedFile) -> ReviewFile:
    hunks = tuple(_hunk(hunk) for hunk in file.hunks)
    return ReviewFile(file.path, file.verb, file.before, file.after, hunks, file.old_path)


def _hunk(hunk: Hunk) -> ReviewHunk:
    removed = tuple(("-", line.rstrip("\r\n")) for line in hunk.removed)
    added = tuple(("+", line.rstrip("\r\n")) for line in hunk.added)
    lines = (*removed, *added)
    invisible = invisible_differences(hunk.removed, hunk.added)
    return ReviewHunk(hunk.index, hunk.start, lines, line_marks(lines), invisible)  # type: ignore[arg-type]
