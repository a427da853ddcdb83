"""Two processes that count in the same sidecars; the result must be the sum of both.

Run as `python -m helpers.counters HOME PROFILE WORKSPACE USES COVERAGES`: makes that many usage updates of
one shared and one own key, and writes that many coverage records of an own workspace and of one shared
project.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile

SHARED_PROJECT = "/shared/project"


@dataclass(slots=True)
class Counted:
    """The counts that two processes left."""

    uses: int
    coverages: int
    problems: list[str] = field(default_factory=list)


def count(home: Path, profile: Path, name: str, uses: int, coverages: int) -> None:
    """Do the work of one process."""
    parts = open_parts(home, Profile.under(profile), system_clock)
    for number in range(uses):
        parts.usage.record_read("global:shared.md" if number % 2 else f"global:{name}.md")
    for number in range(coverages):
        record = {"lastRunAt": number, "trigger": "manual", "summary": name, "ops": []}
        parts.coverage.save(record, workspace_id=f"{name}-{number}", project_path=SHARED_PROJECT)


def count_in_two_processes(home: Path, profile: Path, uses: int, coverages: int) -> Counted:
    """Run two processes at once and compare the counts with the sum."""
    before = json.loads((home / "memory-consolidation.json").read_bytes())["workspaces"].keys()
    workers = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "helpers.counters",
                str(home),
                str(profile),
                name,
                str(uses),
                str(coverages),
            ],
            cwd=Path(__file__).parent.parent,
        )
        for name in ("one", "two")
    ]
    problems = [
        f"a counting process failed: {worker.wait(timeout=600)}"
        for worker in workers
        if worker.wait(timeout=600)
    ]
    entries = json.loads((home / "memory-meta.json").read_bytes())["entries"]
    counted = {name: entries[f"global:{name}.md"]["accessCount"] for name in ("one", "two", "shared")}
    if counted != {"one": (uses + 1) // 2, "two": (uses + 1) // 2, "shared": uses // 2 * 2}:
        problems.append(f"usage updates were lost: {counted}")
    workspaces = json.loads((home / "memory-consolidation.json").read_bytes())["workspaces"]
    expected = {f"{name}-{number}" for name in ("one", "two") for number in range(coverages)}
    if missing := (expected | before) - workspaces.keys():
        problems.append(f"{len(missing)} coverage records were lost")
    return Counted(2 * uses, 2 * coverages, problems)


if __name__ == "__main__":
    count(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
