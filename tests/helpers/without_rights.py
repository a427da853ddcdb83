"""A command of Reverie as an ordinary user runs it: the modes of files count.

Root reads and writes whatever the modes say, by two capabilities. Where the tests run as root, the process
here gives these up for good and is asked by the modes like anybody else; it keeps its files and its Python.
Where they run as a user, it simply runs.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

_PR_CAPBSET_DROP = 24
_DAC_OVERRIDE, _DAC_READ_SEARCH = 1, 2


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
    is_root = os.geteuid() == 0
    if is_root and not sys.platform.startswith("linux"):
        pytest.skip("root cannot give up single rights here")
    libc = ctypes.CDLL(None, use_errno=True) if is_root else None

    def give_up() -> None:
        assert libc is not None
        for capability in (_DAC_OVERRIDE, _DAC_READ_SEARCH):
            if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0):
                os._exit(77)

    done = subprocess.run(
        call,
        env=env,
        capture_output=True,
        text=True,
        timeout=limit_s,
        check=False,
        preexec_fn=give_up if is_root else None,
    )
    if is_root and done.returncode == 77:
        pytest.skip("root may not give up its rights here")
    return done
