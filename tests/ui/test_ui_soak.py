"""Writer, dream, agent and person at once, for a few seconds; the campaign does it for half an hour."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers.isolation import TEST_PROFILE
from helpers.soak import soak


@pytest.mark.skipif(TEST_PROFILE != "campaign", reason="the campaign has the soak")
def test_under_everything_at_once_nothing_leaks_and_the_window_shows_the_disk(
    qtbot: Any, tmp_path: Path
) -> None:
    soaked = soak(tmp_path, 6, seed=9, flat=False)
    assert not soaked.problems, "\n".join(soaked.lines())
