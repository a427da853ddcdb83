"""The threads of a Codex home: rollouts on disk, and what the agent's own books say of them (formats/codex.md
sections 1, 5 and 6).

The books are a cache that may be missing, behind, or name files that were moved: what lies on disk counts,
and the books only add titles and directories. No rollout is opened. Threading, failure: as `homes.base` says;
what the books cannot tell is a sentence in `problems`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from reverie.errors import Unavailable
from reverie.homes.codex_database import Row, state_database
from reverie.homes.listing import Source
from reverie.homes.reading import read_regular
from reverie.transcripts.codex import thread_id_of

_INDEX_BYTES = 64 << 20
_MOST_ROLLOUTS = 100_000
_THREAD_COLUMNS = (
    "id", "rollout_path", "created_at", "updated_at", "source", "cwd", "title", "archived", "memory_mode",
    "first_user_message", "name", "git_branch",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread. Times are UTC ms; `path` None where only the books know it. `source`: what led it, as the
    books say; empty where they do not."""

    id: str
    path: Path | None
    title: str = ""
    cwd: str = ""
    updated_at: int | None = None
    size: int = 0
    archived: bool = False
    subagent: bool = False
    source: str = ""
    memory_mode: str = ""
    git_branch: str = ""


@dataclass(slots=True)
class Books:
    """What the agent's databases say."""

    threads: Mapping[str, Row] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_books(home: Path, cache: Path | None, elsewhere: Path | None = None) -> Books:
    """The rows of threads, by thread id. `elsewhere`: see `codex_database.database_places`."""
    books = Books()
    database = state_database(home, cache, elsewhere)
    if database is not None:
        try:
            rows = database.rows("threads", _THREAD_COLUMNS, limit=_MOST_ROLLOUTS)
            books.threads = {str(row["id"]).lower(): row for row in rows if isinstance(row.get("id"), str)}
        except Unavailable as error:
            books.problems.append(str(error))
    return books


def threads(home: Path, books: Books) -> tuple[Thread, ...]:
    """Every thread, the one touched last first; those of sub-agents too."""
    names = _names(home)
    found: dict[str, Thread] = {}
    for path, archived, status in _rollouts(home, books.problems):
        thread_id = thread_id_of(path)
        if not thread_id:
            continue
        known = found.get(thread_id)
        # A plain rollout is preferred to the same one compressed.
        if known is not None and known.path is not None and known.path.suffix != ".zst":
            continue
        found[thread_id] = _told(
            Thread(
                thread_id,
                path,
                updated_at=status.st_mtime_ns // 1_000_000,
                size=status.st_size,
                archived=archived,
            ),
            books.threads.get(thread_id, {}),
            names,
        )
    for thread_id, row in books.threads.items():
        if thread_id not in found:
            found[thread_id] = _told(Thread(thread_id, None), row, names)
    return tuple(sorted(found.values(), key=lambda thread: (-(thread.updated_at or 0), thread.id)))


def source_of(thread: Thread) -> Source | None:
    """The thread as a transcript to open; None for one whose rollout is gone."""
    if thread.path is None:
        return None
    state = "sub-agent" if thread.subagent else "archived" if thread.archived else ""
    if thread.memory_mode not in ("", "enabled"):
        state = f"{state}, memory {thread.memory_mode}".removeprefix(", ")
    return Source(
        thread.id,
        "rollout",
        thread.path,
        thread.title,
        thread.cwd or None,
        thread.updated_at,
        thread.size,
        state,
        thread.archived,
    )


def _told(thread: Thread, row: Mapping[str, Any], names: Mapping[str, str]) -> Thread:
    updated = row.get("updated_at")
    source = row.get("source")
    return replace(
        thread,
        title=names.get(thread.id) or _text(row.get("name")) or _text(row.get("title")),
        cwd=_text(row.get("cwd")),
        updated_at=thread.updated_at or (updated * 1000 if isinstance(updated, int) else None),
        archived=thread.archived or bool(row.get("archived")),
        subagent=isinstance(source, str) and "subagent" in source,
        source=_text(source),
        memory_mode=_text(row.get("memory_mode")),
        git_branch=_text(row.get("git_branch")),
    )


def _names(home: Path) -> dict[str, str]:
    """Titles by thread id: the last line of `session_index.jsonl` wins."""
    try:
        data = read_regular(home / "session_index.jsonl", _INDEX_BYTES)
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line.decode("utf-8", "replace"))
            if isinstance(row, dict) and isinstance(row.get("id"), str):
                found[row["id"].lower()] = _text(row.get("thread_name"))
    return found


def _rollouts(home: Path, problems: list[str]) -> Iterator[tuple[Path, bool, os.stat_result]]:
    """Every file that may be a rollout, whether it is archived, and its status."""
    count = 0
    for directory, archived, depth in ((home / "sessions", False, 3), (home / "archived_sessions", True, 0)):
        for entry in _files(str(directory), depth, problems):
            name = entry.name
            if not name.startswith("rollout-") or not name.endswith((".jsonl", ".jsonl.zst")):
                continue
            count += 1
            if count > _MOST_ROLLOUTS:
                problems.append(f"Only the first {_MOST_ROLLOUTS:,} rollouts are listed.")
                return
            with contextlib.suppress(OSError):
                yield Path(entry.path), archived, entry.stat(follow_symlinks=False)


def _files(directory: str, depth: int, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            listed = sorted(entries, key=lambda entry: entry.name, reverse=True)
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(f"{directory} could not be listed: {error.strerror or error}.")
        return
    for entry in listed:
        with contextlib.suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                yield entry
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, depth - 1, problems)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
