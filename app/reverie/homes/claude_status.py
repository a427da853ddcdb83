"""What Claude Code says of its own consolidation of a memory directory, in words (formats/claude-code.md
section 5), whether it loads that memory at all, and whether it looks through all of it (section 4).

The file is read by `claude_lock`. Threading: any thread but the GUI's. Failure: what cannot be read counts as
never.
"""

from __future__ import annotations

import os
from pathlib import Path

from reverie.homes.agents import StatusLine
from reverie.homes.claude_index import INDEX
from reverie.homes.claude_lock import LockState, read_lock
from reverie.homes.claude_names import LOCK_NAME, MOST_SCANNED
from reverie.homes.scopes import Scope

_LABEL = "Claude Code consolidation"
_SLACK_MS = 60_000
_COUNTED = 10_000


def status_lines(directory: Path, off: str, now_ms: int) -> tuple[StatusLine, ...]:
    """`off`: what switches the memory off, empty where it is on."""
    found = [_of(read_lock(directory / LOCK_NAME, now_ms), now_ms)]
    if off:
        text = f"Switched off ({off}). The files stay, and are not loaded."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    memories = _memories(directory)
    if memories > MOST_SCANNED:
        text = (
            f"{memories:,} memories; the agent looks through the {MOST_SCANNED} changed last, and finds the"
            " others by the index only."
        )
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    return tuple(found)


def _memories(directory: Path) -> int:
    """The files that the agent looks through, links to directories not followed; counted up to a bound."""
    count = 0
    for _folder, _folders, names in os.walk(directory):
        count += sum(name.endswith(".md") and name != INDEX for name in names)
        if count > _COUNTED:
            break
    return count


def _of(lock: LockState, now_ms: int) -> StatusLine:
    if lock.at is None:
        return StatusLine(Scope.PROJECT, _LABEL, "Never.")
    if lock.at > now_ms + _SLACK_MS:
        text = "The time of the last one lies in the future; a clock was wrong."
        return StatusLine(Scope.PROJECT, _LABEL, text, "warn", lock.at)
    if lock.running:
        return StatusLine(Scope.PROJECT, _LABEL, f"Running in process {lock.holder}.", "running", lock.at)
    if lock.alive:
        text = f"Process {lock.holder} took it over an hour ago and still runs; it counts as ended."
        return StatusLine(Scope.PROJECT, _LABEL, text, "warn", lock.at)
    if lock.holder is not None:
        text = f"Begun by process {lock.holder}, which has ended."
        return StatusLine(Scope.PROJECT, _LABEL, text, "ok", lock.at)
    return StatusLine(Scope.PROJECT, _LABEL, "Done.", "ok", lock.at)
