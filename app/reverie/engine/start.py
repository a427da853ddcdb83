"""Starting an engine without waiting for it: the first thing that a window does, before it loads Qt.

Light on purpose: nothing of the engine is imported here.

Threading: any thread. Failure: `Unavailable` with what the engine printed, from `wait`.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from reverie.errors import Unavailable
from reverie.profile import Profile
from reverie.values import Struct

START_S = 20.0


def engine_command(profile: Profile, program: Sequence[str] = ()) -> list[str]:
    """How this program, or another `reverie`, starts itself as an engine."""
    # The engine works in no directory of ours.
    places = [str(each.absolute()) for each in (profile.config, profile.data, profile.cache, profile.state)]
    if not program and getattr(sys, "frozen", False):
        program = (sys.executable,)
    # -P: `-m` alone puts the current directory first on the search path, and that may be anybody's checkout.
    return [*(program or (sys.executable, "-P", "-m", "reverie")), "_engine", *places]


class NamesWanted(Struct, frozen=True):
    """Where a window begins."""

    homes: tuple[Path, ...] = ()
    """The homes it opens; the first counts."""
    workspace: str = ""
    closed: tuple[Path, ...] = ()
    """Homes that are not taken where none of `homes` is given."""
    restore: bool = False
    """Without `homes`: where the last window of the profile ended."""

    def as_text(self) -> str:
        """For the command line of the engine."""
        paths = {"homes": list(map(str, self.homes)), "closed": list(map(str, self.closed))}
        return json.dumps(paths | {"workspace": self.workspace, "restore": self.restore})

    @classmethod
    def from_text(cls, text: str) -> NamesWanted:
        """What `as_text` made."""
        told = json.loads(text)
        homes, closed = (tuple(map(Path, told[key])) for key in ("homes", "closed"))
        return cls(homes, told["workspace"], closed, told["restore"])


class StartingEngine:
    """An engine that was started. Its process leaves this one once it can be reached."""

    def __init__(self, command: Sequence[str], names: str = "") -> None:
        """`names`: which names it is to tell first (`engine.first_names`). Raises `Unavailable`."""
        try:
            self._process = subprocess.Popen(
                [*command, *(("--names", names) if names else ())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE if names else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error

    def names(self, limit_s: float) -> bytes:
        """The names that it was to tell; empty where they did not come within `limit_s` seconds."""
        line, until = b"", time.monotonic() + limit_s
        stream = self._process.stdout
        while stream is not None and not line.endswith(b"\n"):
            ready, _writable, _failed = select.select([stream], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(stream.fileno(), 1 << 20) if ready else b""
            if not piece:
                return b""
            line += piece
        return line

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
