"""A kill at any instant leaves old or new, never a mix (design.md section 8). The campaign runs the full
count."""

from __future__ import annotations

from pathlib import Path

from helpers.kills import run_kills

SAMPLE: list[tuple[str, str | None]] = [
    ("dream", "usage"),
    ("dream", "coverage"),
    ("dream", None),
    ("harvest", "journal"),
    ("apply", "replace"),
    ("apply", "history-ref"),
    ("revert", "applied"),
    ("part", "replace"),
    ("part", "coverage"),
    ("save", "fsync"),
    ("delete", "history-ref"),
    ("pin", None),
    ("reshape", "temp"),
    ("reshape", "replace"),
    ("reshape", "usage"),
    ("reshape-applied", "replace"),
    ("reshape-undone", "replace"),
]


def test_killed_jobs_leave_old_or_new_and_can_be_reverted(tmp_path: Path) -> None:
    tally = run_kills(tmp_path, SAMPLE, seed=7)
    assert not tally.problems, "\n".join(tally.lines())
    assert sum(tally.kills.values()) >= 7
