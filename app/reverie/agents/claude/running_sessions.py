"""Sessions that are running or were killed: `sessions/<pid>.json`.

See formats/claude-code.md sections 12.1.1 and 12.3. A killed process leaves its file behind.
`<pid>.<hex>.key` beside it is a secret that is never opened, so only files named `<digits>.json` are read.

Threading: any thread. Failure: a file that cannot be read is left out.
"""

from __future__ import annotations

import re
from pathlib import Path

from reverie.agents.reading import entries_in, read_json
from reverie.values import Struct

SESSIONS_DIRECTORY = "sessions"
_NAME = re.compile(r"[0-9]{1,10}\.json")
_BYTES = 64 << 10
_MOST = 200


class RunningSession(Struct, frozen=True):
    """One session of Claude Code, as the file of its process describes it; the process may have ended."""

    pid: int
    session_id: str
    cwd: str
    """The working directory in which the session runs."""
    status: str = ""
    """`idle` or `busy`; empty if the file contains neither."""


def running_sessions(config: Path) -> tuple[RunningSession, ...]:
    """Return the sessions in `<config>/sessions`, by process id, without checking whether they still run."""
    found = []
    names = (entry.name for entry in entries_in(config / SESSIONS_DIRECTORY) if _NAME.fullmatch(entry.name))
    for name in sorted(names, key=lambda each: int(each.removesuffix(".json")))[:_MOST]:
        one = _read(config / SESSIONS_DIRECTORY / name)
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
