"""Text typed into a real window that is then killed with SIGKILL is offered at the next start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from helpers.typists import run_typists


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_was_typed_before_ten_kills_is_offered_byte_for_byte(tmp_path: Path) -> None:
    tally = run_typists(tmp_path, kills=7, at_random=3, seed=7)
    assert tally.problems == []
    assert tally.kills == 10
    assert tally.offered > 0
