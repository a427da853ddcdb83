"""A Codex home with rollouts, and extraction of it, for tests."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from helpers.codex_home import CodexHomeMaker, thread_id
from helpers.codex_home import talk as talk
from helpers.rollouts import START
from reverie.agents.codex.locations import bucket_of
from reverie.compose import open_parts
from reverie.jobs.extraction.service import ExtractResult
from reverie.profile import Profile
from reverie.services.background import ExtractionService
from reverie.services.container import HomeContainer

CWD = "/projects/demo"
OTHER = "/projects/other"
NOW = (START + 100_000) * 1000


def age(path: Path, number: int) -> None:
    """Give a rollout the time that its number says."""
    at = START + number * 60
    os.utime(path, (at, at))


def small_home(root: Path, numbers: Iterable[int] = (1, 2, 3), cwd: str = CWD) -> CodexHomeMaker:
    """A home of the first generation, with one short session for each number."""
    maker = CodexHomeMaker(root)
    maker.memories.mkdir()
    (root / "session_index.jsonl").write_text("")
    for number in numbers:
        age(maker.rollout(number, talk(number, cwd, f"Fix the build, part {number}")), number)
    return maker


def parts_of(home: Path, profile: Path, now: int = NOW) -> HomeContainer:
    return open_parts(home, Profile.under(profile), lambda: now)


def extract(home: Path, profile: Path, now: int = NOW, **more: Any) -> ExtractResult:
    return ExtractionService(parts_of(home, profile, now)).run(**more)


def memory_of(home: Path, cwd: str = CWD) -> Path:
    return home / "memories" / bucket_of(cwd) / "memory"


def traces_of(home: Path, cwd: str = CWD) -> list[str]:
    """The threads whose traces lie in a directory's memory."""
    return sorted(
        path.name.partition("_")[0] for path in (memory_of(home, cwd) / "trace_summaries").iterdir()
    )


def ids(*numbers: int) -> list[str]:
    return [thread_id(number) for number in numbers]
