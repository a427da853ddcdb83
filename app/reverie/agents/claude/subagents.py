"""Transcripts of sub-agents in a Claude Code home.

They are beside the session's notes (`<session>/subagents/*.jsonl`, formats/claude-code.md section 1). Those
of older versions are beside the session's transcript (`agent-*.jsonl`, section 8 of the same
document), and only their text names the session.

Threading: any thread but the GUI's. Failure: directories that cannot be listed count as empty.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from reverie.agents.base import TranscriptSource
from reverie.agents.claude.projects import ProjectDirectory, StoredSession

_PLACE = "subagents"
_ENDING = ".jsonl"


def side_sources(projects: Path, session: StoredSession, owner: str) -> Iterator[TranscriptSource]:
    """Yield the sub-agent transcripts of one session, newest first, without opening a file.

    `owner`: the project of the session.
    """
    try:
        with os.scandir(projects / session.directory / session.id / _PLACE) as entries:
            found = [
                _source(Path(entry.path), entry.stat(), session.id, owner) for entry in entries if _is(entry)
            ]
    except OSError:
        return
    yield from sorted(found, key=lambda each: (-(each.updated_at or 0), each.id))


def older_sources(one: ProjectDirectory, owner: str) -> Iterator[TranscriptSource]:
    """Yield the sub-agent transcripts that older versions stored in the directory `one`, newest first.

    `owner`: the project of the directory.
    """
    found = [_source(path, status, "", owner, one.name) for path, status in one.sidechains]
    yield from sorted(found, key=lambda each: (-(each.updated_at or 0), each.id))


def _is(entry: os.DirEntry[str]) -> bool:
    return entry.name.endswith(_ENDING) and entry.is_file(follow_symlinks=False)


def _source(
    path: Path, status: os.stat_result, session_id: str, owner: str, directory: str = ""
) -> TranscriptSource:
    # Named by its file: a better title would have to be read from it.
    name = path.name.removesuffix(_ENDING)
    return TranscriptSource(
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
