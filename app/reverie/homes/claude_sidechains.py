"""What the sub-agents of a session said: transcripts of their own beside its notes
(`<session>/subagents/*.jsonl`, formats/claude-code.md section 1), or, from older versions, beside its
transcript (`agent-*.jsonl`, section 8), where only their text says whose they are.

They are listed by their directory alone and opened like the session's own. Threading: any thread but the
GUI's. Failure: what cannot be listed is not there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reverie.homes.claude_projects import Listed, Session
from reverie.homes.listing import Source

_PLACE = "subagents"
_ENDING = ".jsonl"


def side_sources(projects: Path, session: Session, owner: str) -> Iterator[Source]:
    """Those of one session, newest first; no file is opened. `owner`: the project of the session."""
    try:
        with os.scandir(projects / session.directory / session.id / _PLACE) as entries:
            found = [
                _source(Path(entry.path), entry.stat(), session.id, owner) for entry in entries if _is(entry)
            ]
    except OSError:
        return
    yield from sorted(found, key=lambda each: (-(each.updated_at or 0), each.id))


def older_sources(one: Listed, owner: str) -> Iterator[Source]:
    """Those beside the transcripts of a directory, newest first. `owner`: the project of the directory."""
    found = [_source(path, status, "", owner, one.name) for path, status in one.sidechains]
    yield from sorted(found, key=lambda each: (-(each.updated_at or 0), each.id))


def _is(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_ENDING) and entry.is_file(follow_symlinks=False)


def _source(path: Path, status: os.stat_result, session_id: str, owner: str, directory: str = "") -> Source:
    # Called by its file: what it was asked would have to be read.
    name = path.name.removesuffix(_ENDING)
    return Source(
        f"{session_id or directory}/{name}",
        "sub-agent",
        path,
        name,
        owner,
        updated_at=status.st_mtime_ns // 1_000_000,
        size=status.st_size,
        state="sub-agent",
        under=session_id,
    )
