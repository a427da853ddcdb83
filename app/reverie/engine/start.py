"""Starting an engine without waiting for it: the first thing that a window does, before it loads Qt.

Light on purpose: nothing of the engine is imported here.

Threading: any thread. Failure: `Unavailable` with what the engine printed, from `wait`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from reverie.errors import Unavailable
from reverie.profile import Profile

START_S = 20.0


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
