"""1,000 changes by a second process under an open window, reconcile timer and focus scan off: tree ==
disk."""

from __future__ import annotations

from pathlib import Path

from helpers.window_churn import churn_under_a_window

CHANGES = 1_000


def run(directory: Path) -> tuple[list[str], bool]:
    outcome = churn_under_a_window(directory, CHANGES, seed=5)
    return [
        f"{outcome.changes} changes by a second process, {outcome.files} files at the end",
        f"{outcome.events} raw events delivered, {outcome.rescans} rescans",
        f"problems: {len(outcome.problems)}",
        *outcome.problems,
    ], not outcome.problems and outcome.changes >= CHANGES
