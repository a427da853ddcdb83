"""Status lines about the memory of a project of Claude Code (formats/claude-code.md sections 5 and 12.1.8).

They report when a memory was last consolidated, whether Claude Code loads it, and whether it searches all of
it. The lock records the time but not the author: Claude Code and Reverie leave the same file, except for the
process id in it. An unreadable lock counts as "never consolidated".

Threading: any thread but the GUI's. Failure: none; no function raises.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from reverie.agents.capabilities import StatusLine
from reverie.agents.claude.consolidation import HasEnded, LockState, never_ended, read_lock
from reverie.agents.claude.locations import LOCK_NAME, MOST_SCANNED, SCANNED
from reverie.agents.claude.settings import MemorySettings
from reverie.agents.scopes import Scope
from reverie.files.directory import walk_paths

_LABEL = "Consolidation by Claude Code or Reverie"
_SLACK_MS = 60_000
_COUNTED = 10_000


def status_lines(
    directory: Path, settings: MemorySettings, now_ms: int, has_ended: HasEnded = never_ended
) -> tuple[StatusLine, ...]:
    """Return the status lines of a memory directory at `now_ms` (UTC), under the settings in effect there.

    `has_ended` returns whether a consolidation is over, given the id of its process, its start, and the
    current time (both UTC ms); by default, a consolidation counts as running while its process is alive.
    """
    found = [_of(read_lock(directory / LOCK_NAME, now_ms, has_ended=has_ended), now_ms)]
    if settings.off:
        text = f"Turned off ({settings.off}). The files still exist but are not loaded."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    if settings.refused:
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", settings.refused, "warn"))
    elif settings.directory is not None:
        whose = "The project's own settings place" if settings.by_project else "Settings place"
        text = f"{whose} this memory in {settings.directory} ({settings.source})."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text))
    closed: list[str] = []
    memories = _memories(directory, closed)
    if closed:
        text = f"These folders cannot be read: {', '.join(closed)}."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    if memories > MOST_SCANNED:
        text = (
            f"{memories:,} memories. The agent scans the {MOST_SCANNED} changed most recently and finds "
            "the others only through the index."
        )
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    return tuple(found)


def _memories(directory: Path, closed: list[str]) -> int:
    """Return the number of files below `directory` that the agent looks at when it searches the memory.

    Counting stops soon after `_COUNTED`. Links to directories are skipped. A text on each folder that cannot
    be read is added to `closed`.
    """
    count = 0

    def not_listed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed.append(f"{error.filename} ({error.strerror})")

    for folder, _folders, names in walk_paths(directory, onerror=not_listed):
        count += sum(is_scanned(rel) for rel in rels(directory, folder, names))
        if count > _COUNTED:
            break
    return count


def rels(directory: Path, folder: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the files `names` in `folder`, relative to the memory directory `directory`."""
    inside = os.path.relpath(folder, directory)
    return (name if inside == "." else f"{inside}/{name}" for name in names)


def is_scanned(rel: str) -> bool:
    """Return whether the agent looks at a file when it searches a memory directory.

    `rel`: the path of the file in that directory.
    """
    return re.fullmatch(SCANNED, rel) is not None


def _of(lock: LockState, now_ms: int) -> StatusLine:
    if lock.at is None:
        return StatusLine(Scope.PROJECT, _LABEL, "Never.")
    if lock.at > now_ms + _SLACK_MS:
        text = "The recorded time is in the future, so a clock was wrong."
        return StatusLine(Scope.PROJECT, _LABEL, text, "warn", lock.at)
    if lock.running:
        return StatusLine(Scope.PROJECT, _LABEL, "Consolidation is running now.", "running", lock.at)
    if lock.ended:
        text = "Claude Code consolidated these memories; its session is still open."
        return StatusLine(Scope.PROJECT, _LABEL, text, "ok", lock.at)
    if lock.alive:
        text = "Started over an hour ago. Treated as finished, although the program is still open."
        return StatusLine(Scope.PROJECT, _LABEL, text, "warn", lock.at)
    if lock.holder is not None:
        text = "The consolidation was started by a program that has closed. Its end is not recorded."
        return StatusLine(Scope.PROJECT, _LABEL, text, "ok", lock.at)
    return StatusLine(Scope.PROJECT, _LABEL, "Done.", "ok", lock.at)
