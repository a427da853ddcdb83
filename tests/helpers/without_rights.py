"""Commands of Reverie as an ordinary user runs them: the modes of files count.

Each command is a process of its own (`helpers.forked_commands`). Where the tests run as root, it gives root's
rights up for good (`helpers.ordinary_user`); it keeps its files and its Python. Where they run as a user, it
simply runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers import ordinary_user
from helpers.forked_commands import ForkedCommands, forked_commands


class AsUser:
    """Starts commands; see the module's docstring."""

    def __init__(self, commands: ForkedCommands) -> None:
        self._commands = commands

    def __call__(self, *words: str, home_dir: Path, **env: str) -> subprocess.CompletedProcess[str]:
        """`reverie WORDS` with the home directory `home_dir` and a profile of its own beside it."""
        call = [*words, "--profile", str(home_dir / "profile")]
        return self._commands.run(
            call, env={**os.environ, "HOME": str(home_dir), **env}, directory=Path.cwd()
        )


@contextmanager
def as_user() -> Iterator[AsUser]:
    """Skips the test where root cannot give its rights up."""
    if not hasattr(os, "geteuid"):
        pytest.skip("this system has no modes that root ignores")
    if os.geteuid() == 0 and not sys.platform.startswith("linux"):
        pytest.skip("root cannot give up single rights here")
    with forked_commands([sys.executable, "-P", ordinary_user.__file__, sys.executable]) as commands:
        yield AsUser(commands)
