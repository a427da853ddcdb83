"""How many functions and files one action runs through has a ceiling: it may fall, and not grow unseen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import ui_flows

TESTS = Path(__file__).parent.parent
CEILINGS = {
    "save": (1180, 145),
    "sidecar change": (823, 130),
    "consolidate": (1900, 182),
}
"""Flow -> most functions, most files, of window and engine together: as counted, and a tenth more. Version
0.1 touched 147, 128 and 201 files. Lower them with the numbers."""


def test_no_action_runs_through_more_of_the_program_than_it_may(tmp_path: Path) -> None:
    touched = tmp_path / "touched.txt"
    done = subprocess.run(
        [sys.executable, "-m", ui_flows.__name__, str(touched)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS / "ui")])},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    counts = {name: tuple(count) for name, count in json.loads(done.stdout).items()}
    assert counts.keys() == CEILINGS.keys()
    over = {
        name: (counts[name], ceiling)
        for name, ceiling in CEILINGS.items()
        if any(one > most for one, most in zip(counts[name], ceiling, strict=True))
    }
    assert over == {}, "(functions, files) counted, and what they may be"
    # Too few would mean that the counter misses a thread or a room.
    needed = {
        "save": ("memory/store.py", "ui/", "files/atomic.py", "files/watch"),
        "sidecar change": ("files/watch", "services/run_views.py", "ui/"),
        "consolidate": ("jobs/consolidate/run.py", "runs/transaction.py", "files/watch", "ui/"),
    }
    lines = touched.read_text().splitlines()
    assert [
        (name, place)
        for name, places in needed.items()
        for place in places
        if not any(line.startswith(f"{name}\t{place}") for line in lines)
    ] == []
