"""Text typed into a real window that is then killed with SIGKILL is offered at the next start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.typists import STARTS, run_typists


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_was_typed_before_a_kill_is_offered_byte_for_byte(tmp_path: Path) -> None:
    # Once for each way a file may begin, and twice at any moment; the campaign kills a hundred.
    tally = run_typists(tmp_path, kills=len(STARTS), at_random=2, seed=7)
    assert tally.problems == []
    assert tally.kills == len(STARTS) + 2
    assert tally.offered > 0
