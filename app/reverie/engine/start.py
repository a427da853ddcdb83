"""Starts an engine without waiting until it can be reached.

A window starts its engine before it loads Qt, so this module imports nothing of the engine.

Threading: any thread. Failure: `wait` raises `Unavailable` with the output of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.errors import Unavailable
from reverie.files.child import END_S, ChildProcess, own_command
from reverie.profile import Profile

START_S = 20.0


def engine_command(profile: Profile, program: Sequence[str] = ()) -> list[str]:
    """Return the command that starts an engine of `profile`.

    `program`: the command of another `reverie`; empty: this program.
    """
    # The engine has another working directory.
    places = [str(each.absolute()) for each in (profile.config, profile.data, profile.cache, profile.state)]
    return [*program, "_engine", *places] if program else own_command("_engine", *places)


class StartingEngine:
    """An engine that is being started.

    Its process detaches from this one once the engine can be reached.
    """

    def __init__(self, command: Sequence[str]) -> None:
        """Start the engine with `command`. Raises `Unavailable` if the process cannot be started."""
        try:
            self._process = ChildProcess(command, keeps_errors=True, start_new_session=True)
        except OSError as error:
            raise Unavailable("Reverie's engine could not be started.", cause=str(error)) from error

    def wait(self) -> None:
        """Wait until this engine, or another one of the profile, can be reached. Raises `Unavailable`."""
        is_late = not self._process.stop(START_S)
        code, lines = self._process.exit_code, self._process.errors(END_S).strip().splitlines()
        self._process.reader.close()
        if is_late:
            lines = [f"It did not start within {START_S:g} seconds."]
        if is_late or code:
            raise Unavailable(
                "Reverie's engine could not be started.",
                cause=lines[-1] if lines else f"The engine ended with code {code}.",
                next_step="Run `reverie engine` in a terminal to see the reason.",
            )
