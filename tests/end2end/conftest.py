"""What tests of commands share."""

from __future__ import annotations

import pytest

from reverie.jobs.consolidate import coverage
from reverie.services import drafts


@pytest.fixture(autouse=True)
def _no_agent_overwrites_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command in this process looks again at what it wrote without the second of waiting: no agent comes
    here that would overwrite it. What the look finds is the rule of `test_lost_saves.py` and
    `test_coverage.py`."""
    monkeypatch.setattr(coverage, "_SETTLED_S", 0.0)
    monkeypatch.setattr(drafts, "SETTLE_S", 0.0)
