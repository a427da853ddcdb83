"""A changing system call that fails, or a kill at it, loses nothing, mixes nothing and is told truly
(`helpers.sweep_judge`). The campaign has them all."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.sweeper import CannotSweepError, some_faults, sweep

SAMPLE = ("create", "hand undo", "reshape", "undo of a reshape")


def test_a_failing_system_call_loses_nothing_and_is_told_truly(tmp_path: Path) -> None:
    try:
        tally = sweep(tmp_path / "sweep", SAMPLE, some_faults(3, seed=18))
    except CannotSweepError as error:
        pytest.skip(str(error))
    assert not tally.problems, "\n".join(tally.lines())
    assert sum(tally.cases.values()) == 3 * len(SAMPLE)
