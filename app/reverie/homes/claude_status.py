"""When a memory directory of Claude Code was consolidated last, in words (formats/claude-code.md sections 5
and 12.1.8), whether Claude Code loads that memory at all, and whether it looks through all of it (section 4).

The lock says when, not who: Claude Code and Reverie leave the same file, but for the process in it.

The file is read by `claude_lock`. Threading: any thread but the GUI's. Failure: what cannot be read counts as
never.
"""

from __future__ import annotations

from pathlib import Path

from reverie.files.descent import walk_paths
from reverie.homes.agents import StatusLine
from reverie.homes.claude_index import INDEX
from reverie.homes.claude_lock import HasEnded, LockState, read_lock
from reverie.homes.claude_names import LOCK_NAME, MOST_SCANNED
from reverie.homes.claude_settings import MemorySettings
from reverie.homes.scopes import Scope

_LABEL = "Consolidation by Claude Code or Reverie"
_SLACK_MS = 60_000
_COUNTED = 10_000


def status_lines(
    directory: Path, settings: MemorySettings, now_ms: int, has_ended: HasEnded | None = None
) -> tuple[StatusLine, ...]:
    """The lines about a memory directory, under the settings that count there. `has_ended`: see
    `claude_lock`."""
    lock = directory / LOCK_NAME
    state = read_lock(lock, now_ms) if has_ended is None else read_lock(lock, now_ms, has_ended=has_ended)
    found = [_of(state, now_ms)]
    if settings.off:
        text = f"Switched off ({settings.off}). The files stay, and are not loaded."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    if settings.refused:
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", settings.refused, "warn"))
    elif settings.directory is not None:
        whose = "The project's own settings put" if settings.by_project else "Settings put"
        text = f"{whose} this memory in {settings.directory} ({settings.source})."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text))
    closed: list[str] = []
    memories = _memories(directory, closed)
    if closed:
        text = f"Not looked into: {', '.join(closed)}."
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    if memories > MOST_SCANNED:
        text = (
            f"{memories:,} memories; the agent looks through the {MOST_SCANNED} changed last, and finds the"
            " others by the index only."
        )
        found.append(StatusLine(Scope.PROJECT, "Claude Code memory", text, "warn"))
    return tuple(found)


def _memories(directory: Path, closed: list[str]) -> int:
    """The files that the agent looks through, links to directories not followed; counted up to a bound. What
    cannot be looked into is added to `closed`."""
    count = 0

    def not_listed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed.append(f"{error.filename} ({error.strerror})")

    for _folder, _folders, names in walk_paths(directory, onerror=not_listed):
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
        return StatusLine(Scope.PROJECT, _LABEL, "Running now.", "running", lock.at)
    if lock.ended:
        text = "Done by Claude Code; its session is still open."
        return StatusLine(Scope.PROJECT, _LABEL, text, "ok", lock.at)
    if lock.alive:
        text = "Started over an hour ago by a program that is still open; it counts as ended."
        return StatusLine(Scope.PROJECT, _LABEL, text, "warn", lock.at)
    if lock.holder is not None:
        text = "Started by a program that has closed; its end is not recorded."
        return StatusLine(Scope.PROJECT, _LABEL, text, "ok", lock.at)
    return StatusLine(Scope.PROJECT, _LABEL, "Done.", "ok", lock.at)
