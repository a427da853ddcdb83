"""Each changing system call of save, delete, rename, consolidation, undo and the trash fails once with each
error number, and a kill comes before it once, as an ordinary user. The longest part of the
campaign."""

from __future__ import annotations

from pathlib import Path

from helpers.sweep_operations import OPERATIONS
from helpers.sweeper import CannotSweepError, every_fault, sweep

PROCESSES = 4


def run(directory: Path) -> tuple[list[str], bool]:
    """Kept when nothing was lost or mixed, and everything was told truly and in words."""
    try:
        tally = sweep(directory, tuple(OPERATIONS), every_fault, processes=PROCESSES)
    except CannotSweepError as error:
        return [f"not here ({error})"], True
    return tally.lines(), not tally.problems and len(tally.calls) == len(OPERATIONS)
