"""The sessions of Claude Code that run now, or were killed: `sessions/<pid>.json` (formats/claude-code.md
sections 12.1.1 and 12.3).

The program writes one such file for each process and removes it when the process ends, so a file may be left
by a process that was killed. Beside it lies `<pid>.<hex>.key`, a secret that is never opened: only names of
digits with `.json` are read.

Threading: any thread but the GUI's. Failure: a file that cannot be read or understood is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from reverie.homes.reading import entries_in, read_json

DIRECTORY = "sessions"
_NAME = re.compile(r"[0-9]{1,10}\.json")
_BYTES = 64 << 10
_MOST = 200


@dataclass(frozen=True, slots=True)
class RunningSession:
    """One process of the program, as its file says."""

    pid: int
    session_id: str
    cwd: str
    """The working directory in which the session runs."""
    status: str = ""
    """`idle` or `busy`; empty where the file does not say."""


def running_sessions(config: Path) -> tuple[RunningSession, ...]:
    """The sessions in `<config>/sessions`, by process id. Whether their processes live is not asked."""
    found = []
    names = (entry.name for entry in entries_in(config / DIRECTORY) if _NAME.fullmatch(entry.name))
    for name in sorted(names, key=lambda each: int(each.removesuffix(".json")))[:_MOST]:
        one = _read(config / DIRECTORY / name)
        if one is not None:
            found.append(one)
    return tuple(found)


def _read(path: Path) -> RunningSession | None:
    try:
        data = read_json(path, _BYTES, follow=False)
    except (OSError, ValueError):
        return None
    match data:
        case {"pid": int(pid), "sessionId": str(session_id), "cwd": str(cwd)}:
            status = data.get("status")
            return RunningSession(pid, session_id, cwd, status if isinstance(status, str) else "")
    return None
