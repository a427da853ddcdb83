"""A command of Reverie as an ordinary user runs it: the modes of files count.

Where the tests run as root, the process gives root's rights up for good (`helpers.ordinary_user`); it keeps
its files and its Python. Where they run as a user, it simply runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import ordinary_user


def reverie_as_user(
    *words: str, home_dir: Path, limit_s: float = 60.0, **env: str
) -> subprocess.CompletedProcess[str]:
    """`reverie WORDS` with the home directory `home_dir` and a profile of its own beside it. Skips the test
    where root cannot give its rights up."""
    call = [sys.executable, "-m", "reverie", *words, "--profile", str(home_dir / "profile")]
    return run_as_user(call, {**os.environ, "HOME": str(home_dir), **env}, limit_s)


def run_as_user(
    call: list[str], env: dict[str, str], limit_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Any command, without the rights of root."""
    if not hasattr(os, "geteuid"):
        pytest.skip("this system has no modes that root ignores")
    if os.geteuid() == 0 and not sys.platform.startswith("linux"):
        pytest.skip("root cannot give up single rights here")
    before = [sys.executable, "-P", ordinary_user.__file__]
    return subprocess.run(
        [*before, *call], env=env, capture_output=True, text=True, timeout=limit_s, check=False
    )
