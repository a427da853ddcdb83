"""Fixtures of the watcher's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.watching import Recorder, Start, tree
from reverie.files.watch import Changes, Watcher
from reverie.files.watch_sources import WatchTarget


@pytest.fixture
def seen() -> Recorder:
    return Recorder()


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def start(seen: Recorder, told: list[str]) -> Iterator[Start]:
    """Starts a watcher on targets and waits for its first rescan; stops it in the end."""
    watchers: list[Watcher] = []

    def start(
        *targets: Path | WatchTarget, deliver: Callable[[Changes], None] = seen, **options: Any
    ) -> Watcher:
        options = {"quiet_s": 0.02, "cap_s": 0.3, "reconcile_s": None, "poll_s": 0.05, **options}
        watcher = Watcher(deliver, notify=told.append, **options)
        watchers.append(watcher)
        watcher.set_targets([tree(target) if isinstance(target, Path) else target for target in targets])
        watcher.start()
        if deliver is seen:
            seen.wait_for_reason("start")
            seen.forget()
        return watcher

    yield start
    for watcher in watchers:
        watcher.stop()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "memory"
    root.mkdir()
    return root
