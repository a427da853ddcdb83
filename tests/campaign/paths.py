"""50,000 made-up memory paths and 1,000 symlink arrangements: none accepted leads outside its root, none
crashes."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from helpers.escapes import (
    Escapes,
    a_store,
    accepted_path_stays_inside,
    arrange,
    memory_paths,
    try_arrangements,
)

PATHS, ARRANGEMENTS = 50_000, 1_000


def run_paths(directory: Path) -> tuple[list[str], bool]:
    home, result = directory / "home", Escapes()
    (home / "sessions").mkdir(parents=True)
    (home / "config.json").write_text('{"projects": []}')
    arrange(home / "memory/global", directory, random.Random(1))
    store = a_store(home)

    @settings(
        max_examples=PATHS,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(text=memory_paths)
    def attempt(text: str) -> None:
        result.tried += 1
        inside = accepted_path_stays_inside(store, text)
        result.accepted += inside is not None
        if inside is False:
            result.problems.append(f"accepted: {text!r}")

    attempt()
    return _told(result, "paths"), not result.problems and result.tried >= PATHS


def run_symlinks(directory: Path) -> tuple[list[str], bool]:
    result = try_arrangements(directory, ARRANGEMENTS, seed=11)
    return _told(result, "symlink arrangements"), not result.problems and result.tried >= ARRANGEMENTS


def _told(result: Escapes, what: str) -> list[str]:
    accepted = f", {result.accepted} accepted" if result.accepted else ""
    return [
        f"{result.tried} {what} tried{accepted}",
        f"problems: {len(result.problems)}",
        *result.problems[:20],
    ]
