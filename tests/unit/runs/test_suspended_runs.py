"""A run that was suspended and wakes after its lease is over leaves old or new, and says which."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.samples import copy_sample

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no process can be suspended there")


@pytest.mark.parametrize("kind", ["dream", "revert"])
def test_a_run_suspended_at_any_step_ends_old_or_new_and_tells_the_truth(tmp_path: Path, kind: str) -> None:
    sample = copy_sample("mux-home", tmp_path / "sample", whole=False)
    done = subprocess.run(
        [sys.executable, "-m", "helpers.suspended", str(sample), str(tmp_path), kind],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert {"journal", "fsync", "replace", "usage", "applied"} <= {run["step"] for run in runs}
    for run in runs:
        assert run["meanwhile"] in ("suspended", "recovered"), run
        assert run["woken"] in ("old", "new"), run
        assert run["settled"] == run["woken"], run
        assert (run["said"] == "completed") == (run["woken"] == "new"), run
        assert (run["recorded"] == "completed") == (run["woken"] == "new"), run
    assert any(run["meanwhile"] == "suspended" and run["woken"] == "old" for run in runs)
