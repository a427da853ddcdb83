"""A change that was suspended and wakes after its lease is over, when another process has come first: nothing
is mixed, nothing is lost, and everybody tells the truth."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helpers.suspended import run_kinds
from helpers.suspended_kinds import KINDS

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no process can be suspended there")

_SAMPLE = (*(name for name, kind in KINDS.items() if kind.is_run), "save", "move", "merge")
"""All kinds of run, and three changes by hand; the campaign takes every kind at every step."""


def test_a_change_suspended_at_any_step_loses_nothing_and_tells_the_truth(tmp_path: Path) -> None:
    found = run_kinds(tmp_path, 20_261_122, 1, _SAMPLE)
    assert [each.kind for each in found] == list(_SAMPLE)
    assert [each for each in found if each.problems] == []
    assert {each.landed for each in found} >= {"old", "new"}
    refused = {each.kind for each in found if each.meanwhile == "suspended"}
    assert refused, "a run in the middle of its changes is recovered by nobody"
