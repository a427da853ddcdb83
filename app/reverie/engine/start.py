"""Where an engine listens, and starting one without waiting for it: the first thing that a window does,
before it loads Qt.

Light on purpose: nothing of the engine is imported here.

Threading: any thread. Failure: `Unavailable` with what the engine printed, from `wait`.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from reverie.errors import Unavailable
from reverie.files.directory import ensure_private
from reverie.profile import Profile

START_S = 20.0
_LONGEST_PATH = 100
"""Bytes of a socket's path; systems take 104 to 108."""
_OF_AGENTS = ("MUX_", "XUM_", "CLAUDE", "CODEX_", "LOKI_", "HOME", "TZ")


def socket_path(profile: Profile) -> Path:
    """Where the engine of a profile listens. The directory is made."""
    digest = hashlib.sha256(os.fsencode(profile.state.absolute())).hexdigest()[:16]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    roots = (runtime if Path(runtime).is_absolute() else "/tmp", tempfile.gettempdir(), "/tmp")
    places = [Path(root) / f"reverie-{os.getuid()}" / f"engine-{digest}.socket" for root in roots]
    path = next(each for each in places if len(os.fsencode(each)) <= _LONGEST_PATH)
    ensure_private(path.parent)
    return path


def surroundings(env: Mapping[str, str]) -> str:
    """What an environment says of the agents' homes, as a digest: with another one the same home may have
    other memories. A process asks only an engine that has the same."""
    told = sorted((name, value) for name, value in env.items() if name.startswith(_OF_AGENTS))
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()


def engine_command(profile: Profile, program: Sequence[str] = ()) -> list[str]:
    """How this program, or another `reverie`, starts itself as an engine."""
    # The engine works in no directory of ours.
    places = [str(each.absolute()) for each in (profile.config, profile.data, profile.cache, profile.state)]
    if not program and getattr(sys, "frozen", False):
        program = (sys.executable,)
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return [*(program or (sys.executable, "-P", "-m", "reverie")), "_engine", *places]


class StartingEngine:
    """An engine that was started. Its process leaves this one once it can be reached."""

    def __init__(self, command: Sequence[str]) -> None:
        """Raises `Unavailable`."""
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error

    def wait(self) -> None:
        """Until it can be reached, or another one is there. Raises `Unavailable`."""
        try:
            _nothing, printed = self._process.communicate(timeout=START_S)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            self._process.communicate()
            raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error
        if self._process.returncode:
            lines = printed.decode("utf-8", "replace").strip().splitlines()
            raise Unavailable(
                "Reverie's engine could not be started.",
                cause=lines[-1] if lines else f"It ended with code {self._process.returncode}.",
                next_step="Run `reverie engine` in a terminal to see what is in its way.",
            )
