"""The threads of a Codex home: rollouts on disk with facts from the agent's databases.

See formats/codex.md sections 1, 2, 5 and 6. The databases are read through copies. The databases are a cache
that may be missing, outdated, or name files that were moved. So the files on disk define the list of threads;
the databases add titles, directories, the names of projects, and which of a reverted thread's files is the
current one. No rollout is opened.

Threading, failure: as in `agents.base`; `problems` has a sentence on missing data.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.base import TranscriptSource
from reverie.agents.capabilities import Thread
from reverie.agents.codex.databases import CodexDatabases
from reverie.agents.codex.transcript import Finder, rollout_id_of, thread_id_of
from reverie.agents.reading import as_text, sorted_entries
from reverie.errors import Unavailable, warned
from reverie.files.directory import is_file, read_regular
from reverie.files.sqlite import Database, Row
from reverie.values import Struct, field, replace

_INDEX_BYTES = 64 << 20
_MOST_ROLLOUTS = 100_000
_THREAD_COLUMNS = (
    "id", "rollout_path", "created_at", "updated_at", "source", "cwd", "title", "archived", "memory_mode",
    "first_user_message", "name", "git_branch", "preview", "is_pinned", "project_id",
    "thread_section_id",
)  # fmt: skip
_NAME_COLUMNS = ("id", "name")
_PINNED = "Pinned"
"""The section that Codex itself makes for pinned threads; earlier versions have `is_pinned`."""
_ROOT_COLUMNS = ("project_id", "path", "position")
_MOST_PROJECTS = 10_000


class Books(Struct):
    """The rows of Codex's databases about threads, projects and the sections of its list of threads."""

    threads: Mapping[str, Row] = field(default_factory=dict)
    """Thread id -> row."""
    problems: list[str] = field(default_factory=list)
    """Messages about databases that cannot be read."""
    projects: Mapping[str, str] = field(default_factory=dict)
    """Project id -> name that a person gave to the project."""
    sections: Mapping[str, str] = field(default_factory=dict)
    """Section id -> name of the section."""
    project_roots: Mapping[str, str] = field(default_factory=dict)
    """Directory -> name of the project of which it is a root."""


def read_books(databases: CodexDatabases) -> Books:
    """Return the rows about threads, projects and sections; empty without a database of threads."""
    books = Books()
    database = databases.of_threads()
    if database is not None:
        with warned(books.problems, Unavailable):
            rows = database.rows("threads", _THREAD_COLUMNS, limit=_MOST_ROLLOUTS)
            books.threads = {str(row["id"]).lower(): row for row in rows if isinstance(row.get("id"), str)}
            books.projects = _named(database, "projects")
            books.sections = _named(database, "thread_sections")
            roots = (
                database.rows("project_roots", _ROOT_COLUMNS, limit=_MOST_PROJECTS) if books.projects else ()
            )
            books.project_roots = {
                row["path"]: books.projects[row["project_id"]]
                for row in roots
                if isinstance(row.get("path"), str) and row.get("project_id") in books.projects
            }
    return books


def _named(database: Database, table: str) -> dict[str, str]:
    """Return id -> name for the rows of a table; empty if there is no such table."""
    return {
        row["id"]: row["name"]
        for row in database.rows(table, _NAME_COLUMNS, limit=_MOST_PROJECTS)
        if isinstance(row.get("id"), str) and isinstance(row.get("name"), str) and row["name"].strip()
    }


def threads(home: Path, books: Books) -> tuple[Thread, ...]:
    """Return every thread, including those of sub-agents, most recently changed first.

    `books`: the rows of the agent's databases, which add facts to the files of the threads.
    """
    names = _names(home)
    found: dict[str, Thread] = {}
    for path, archived, status in _rollouts(home, books.problems):
        thread_id = thread_id_of(path)
        if not thread_id:
            continue
        row = books.threads.get(thread_id, {})
        known = found.get(thread_id)
        if known is not None and known.path is not None and not _is_newer(path, known.path, row):
            continue
        found[thread_id] = _described(
            Thread(
                thread_id,
                path,
                updated_at=status.st_mtime_ns // 1_000_000,
                size=status.st_size,
                archived=archived,
            ),
            row,
            names,
            books,
        )
    for thread_id, row in books.threads.items():
        if thread_id not in found:
            found[thread_id] = _described(Thread(thread_id, None), row, names, books)
    return tuple(sorted(found.values(), key=lambda thread: (-(thread.updated_at or 0), thread.id)))


def rollout_finder(home: Path) -> Finder:
    """Return a function that finds the file of a rollout by its id.

    The home is listed again if an id is unknown or its file is missing, because the file of a thread is moved
    when it is archived.
    """
    known: dict[str, Path] = {}

    def find(rollout: str) -> Path | None:
        path = known.get(rollout)
        if path is not None and is_file(path):
            return path
        known.clear()
        for each, _archived, _status in _rollouts(home, []):
            other = known.get(rollout_id_of(each))
            # A plain rollout is preferred to the same one compressed.
            if other is None or other.suffix == ".zst":
                known[rollout_id_of(each)] = each
        return known.get(rollout) if rollout else None

    return find


def source_of(thread: Thread) -> TranscriptSource | None:
    """Return the transcript of a thread; None if its rollout is missing."""
    if thread.path is None:
        return None
    state = "sub-agent" if thread.subagent else "archived" if thread.archived else ""
    if thread.memory_mode not in ("", "enabled"):
        state = f"{state}, memory {thread.memory_mode}".removeprefix(", ")
    if thread.pinned:
        state = f"{state}, pinned".removeprefix(", ")
    if thread.section:
        state = f"{state}, in section “{thread.section}”".removeprefix(", ")
    return TranscriptSource(
        thread.id,
        "rollout",
        thread.path,
        thread.title,
        thread.cwd or None,
        thread.updated_at,
        thread.size,
        state,
        thread.archived,
        project_name=thread.project,
    )


def _is_newer(path: Path, known: Path, row: Mapping[str, Any]) -> bool:
    """Return whether to read the rollout `path` instead of `known`; both are files of one thread.

    `row`: the row of the thread in the database. The file to read is the one that the database names as
    current, else the newest part (segment) of the thread; a plain rollout is preferred to the same rollout in
    compressed form.
    """
    current = Path(as_text(row.get("rollout_path"))).name.removesuffix(".zst")

    def rank(each: Path) -> tuple[bool, str, bool]:
        segment = rollout_id_of(each)
        # Segment ids grow with time; the first file of a thread carries the id of the thread.
        later = "" if segment == thread_id_of(each) else segment
        return each.name.removesuffix(".zst") == current, later, each.suffix != ".zst"

    return rank(path) > rank(known)


def _described(thread: Thread, row: Mapping[str, Any], names: Mapping[str, str], books: Books) -> Thread:
    updated = row.get("updated_at")
    source = row.get("source")
    section = books.sections.get(as_text(row.get("thread_section_id")), "")
    return replace(
        thread,
        title=names.get(thread.id)
        or as_text(row.get("name"))
        or as_text(row.get("title"))
        or as_text(row.get("preview")),
        cwd=as_text(row.get("cwd")),
        updated_at=thread.updated_at or (updated * 1000 if isinstance(updated, int) else None),
        archived=thread.archived or bool(row.get("archived")),
        subagent=isinstance(source, str) and "subagent" in source,
        source=as_text(source),
        memory_mode=as_text(row.get("memory_mode")),
        git_branch=as_text(row.get("git_branch")),
        pinned=row.get("is_pinned") == 1 or section == _PINNED,
        section="" if section == _PINNED else section,
        project=books.projects.get(as_text(row.get("project_id")))
        or books.project_roots.get(as_text(row.get("cwd")), ""),
    )


def _names(home: Path) -> dict[str, str]:
    """Return titles by thread id, from `session_index.jsonl`; the last line for a thread wins."""
    try:
        data = read_regular(home / "session_index.jsonl", _INDEX_BYTES)
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line.decode("utf-8", "replace"))
            if isinstance(row, dict) and isinstance(row.get("id"), str):
                found[row["id"].lower()] = as_text(row.get("thread_name"))
    return found


def _rollouts(home: Path, problems: list[str]) -> Iterator[tuple[Path, bool, os.stat_result]]:
    """Yield (path, whether it is archived, `stat_result`) of every file that may be a rollout.

    Each directory that cannot be listed adds a message to `problems`.
    """
    count = 0
    for directory, archived, depth in ((home / "sessions", False, 3), (home / "archived_sessions", True, 0)):
        for entry in _files(directory, depth, problems):
            name = entry.name
            if not name.startswith("rollout-") or not name.endswith((".jsonl", ".jsonl.zst")):
                continue
            count += 1
            if count > _MOST_ROLLOUTS:
                problems.append(f"Only the first {_MOST_ROLLOUTS:,} transcripts are listed.")
                return
            with contextlib.suppress(OSError):
                yield Path(entry.path), archived, entry.stat(follow_symlinks=False)


def _files(directory: Path, depth: int, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    for entry in reversed(sorted_entries(directory, problems)):
        with contextlib.suppress(OSError):
            if entry.is_file(follow_symlinks=False):
                yield entry
            elif depth and entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path), depth - 1, problems)
