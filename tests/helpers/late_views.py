"""Simulates a slow machine: the watcher delivers late, and jobs begin and end late.

It is a pytest plugin for the tests of the window (`-p helpers.late_views`). A test that checks a view without
waiting for it passes on a fast machine and fails here. The environment variable `REVERIE_LATE_SEED`
determines each delay.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Awaitable
from typing import Any

import pytest

from reverie.engine.asking import Request
from reverie.engine.channel import Event
from reverie.ui.engine_link import EngineLink
from reverie.ui.jobs import JobControl, Lane

EVENTS_S = 2.0
"""A delivery comes at most so late."""
JOBS_S = 0.3
"""A job begins at most so late, and its answer comes at most so late."""


def pytest_configure(config: pytest.Config) -> None:
    """Patch the two places where a window gets everything from."""
    dice = random.Random(os.environ.get("REVERIE_LATE_SEED", "1"))
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    post, submit = EngineLink._post, Lane.submit

    def post_late(link: EngineLink, event: Event | None) -> None:
        time.sleep(dice.random() * EVENTS_S)
        post(link, event)

    def submit_late(lane: Lane, name: str, work: Any, **callbacks: Any) -> Any:
        async def slow(control: JobControl) -> Any:
            time.sleep(dice.random() * JOBS_S)
            asked = work if isinstance(work, Request) else work(control)
            found = await asked if isinstance(asked, Awaitable) else asked
            time.sleep(dice.random() * JOBS_S)
            return found

        return submit(lane, name, slow, **callbacks)

    patch.setattr(EngineLink, "_post", post_late)
    patch.setattr(Lane, "submit", submit_late)
