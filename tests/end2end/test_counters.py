"""Two processes lose no update of a shared sidecar (design.md section 4). The campaign runs the full
counts."""

from __future__ import annotations

from pathlib import Path

from helpers.counters import count_in_two_processes
from helpers.samples import copy_sample


def test_two_processes_lose_no_usage_and_no_coverage_update(tmp_path: Path) -> None:
    counted = count_in_two_processes(copy_sample("mux-home", tmp_path), tmp_path / "profile", 60, 20)
    assert not counted.problems
