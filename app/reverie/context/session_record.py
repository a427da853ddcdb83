"""Facts about a session and its project that the transcripts of Claude Code record.

Threading: blocking; any thread but the GUI's. Failure: a transcript that cannot be read counts as missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reverie.agents.claude.attachments import LoadedContext, recorded
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.claude.running_sessions import running_sessions
from reverie.agents.reading import cached_until_changed
from reverie.agents.scopes import ScopeContext
from reverie.context.facts import SessionRecord
from reverie.errors import UserError
from reverie.files.locks import is_running

_SESSIONS = 5
_MOST_FILES = 2000
_SESSIONS_BYTES = 64 << 20
_recorded_version = cached_until_changed(64)(recorded)


def read_record(home: ClaudeHome, context: ScopeContext) -> SessionRecord:
    """Return what Claude Code's transcripts record about the session of `context` and about its project.

    A transcript that cannot be read counts as missing.
    """
    own = _of_session(home, context.workspace_id)
    files = tuple(own.files.values())[:_MOST_FILES] if own is not None and own.complete else ()
    modified = {}
    for each in files:
        try:
            modified[each.path] = Path(each.path).stat().st_mtime_ns
        except (OSError, ValueError):
            continue
    newest = list(_newest(home, context.project_path))
    recalled: dict[str, int] = {}
    for one in newest:
        for path, times in one.recalled.items():
            recalled[path] = recalled.get(path, 0) + times
    # The newest session with either one shows how the agent works now.
    telling = next((one for one in newest if one.recalled or one.loads_index), None)
    return SessionRecord(
        files,
        own.at if own is not None and own.lists and own.complete else None,
        bool(files) and _runs(home.root, context.workspace_id),
        modified,
        telling is not None and not telling.loads_index,
        recalled,
    )


def _of_session(home: ClaudeHome, session_id: str | None) -> LoadedContext | None:
    if session_id is None:
        return None
    try:
        place = home.session_place(session_id)
    except UserError:
        return None
    return None if place is None else _recorded_in(place.directory / place.files[-1])


def _newest(home: ClaudeHome, project_path: str | None) -> Iterator[LoadedContext]:
    """Yield what each of the newest sessions of a project loaded, as its transcript records it.

    Nothing is yielded if `project_path` is None. At most `_SESSIONS` transcripts are read, with at most
    `_SESSIONS_BYTES` together.
    """
    if not project_path:
        return
    left = _SESSIONS_BYTES
    found = (each for each in home.sources(project_path) if each.kind == "session")
    for source, _number in zip(found, range(_SESSIONS), strict=False):
        left -= source.size
        if left < 0:
            return
        one = _recorded_in(source.path)
        if one is not None:
            yield one


def _recorded_in(path: Path) -> LoadedContext | None:
    try:
        return _recorded_version(path)
    except (OSError, UserError):
        return None


def _runs(config: Path, session_id: str | None) -> bool:
    return any(each.session_id == session_id and is_running(each.pid) for each in running_sessions(config))
