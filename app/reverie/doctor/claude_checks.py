"""What the doctor says of a project of Claude Code: its index, where the agent stops reading it, and the lock
of consolidations (formats/claude-code.md sections 4, 5 and 12).

`look` gathers; it blocks on disk and only reads. The checks are pure. Threading: any thread but the GUI's.
Failure: what cannot be read is a sentence of the finding.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from reverie.agents.base import Home
from reverie.agents.capabilities import StatusLine
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.claude.index import INDEX, MOST_CHARS, MOST_LINES, Cut, cut_of, links
from reverie.agents.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.doctor.findings import Finding, ago
from reverie.files.directory import walk_paths
from reverie.memory.listing import read_rel
from reverie.text.summaries import some

_INDEX_BYTES = 4 << 20
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class ClaudeFacts:
    """One project's memory."""

    off: str
    """What switches the memory off, in words; empty where it is on."""
    cut: Cut | None
    """What the agent loads of the index; None where there is no index, or it cannot be read."""
    problem: str
    """Why the index cannot be read; empty where it can, or is not there."""
    memories: int
    """How many memories there are beside the index."""
    unlisted: int
    """How many of them no line of the index names."""
    dangling: int
    """How many links of the index lead to no file."""
    lock: StatusLine | None
    """When the memory was consolidated last."""
    closed: tuple[str, ...] = ()
    """Its folders that cannot be looked into, and why; what is in them is not counted."""


def look(home: Home, context: ScopeContext) -> ClaudeFacts | None:
    """The facts of the context's project; None for another agent, or where no project is chosen."""
    if not isinstance(home, ClaudeHome) or not context.project_path:
        return None
    try:
        directory = home.scope_root(context, Scope.PROJECT).directory
    except ScopeUnavailable:
        return None
    text, problem = "", ""
    cut: Cut | None = None
    try:
        _status, data = read_rel(os.fspath(directory), INDEX, _INDEX_BYTES)
        text = data.decode("utf-8", "replace")
        cut = cut_of(text)
    except FileNotFoundError:
        if os.path.lexists(directory / INDEX):
            problem = f"{INDEX} is no regular file, so Reverie does not read it."
    except OSError as error:
        problem = f"{INDEX} cannot be read: {error.strerror or error}."
    names: set[str] = set()
    closed: dict[str, str] = {}

    def not_listed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed[os.path.relpath(error.filename, directory)] = error.strerror or str(error)

    for folder, _folders, files in walk_paths(directory, onerror=not_listed):
        inside = os.path.relpath(folder, directory)
        names.update(
            os.path.normpath(f"{inside}/{name}") for name in files if name.endswith(".md") and name != INDEX
        )
        if len(names) > _MOST_FILES:
            break
    named = {link.rel for link in links(text) if link.rel is not None}
    status = home.agent_status(context)
    return ClaudeFacts(
        home.memory_off(context),
        cut,
        problem,
        len(names),
        len(names - named) if cut is not None else 0,
        sum(
            rel.endswith(".md") and rel not in names and rel != INDEX and not _is_below(rel, closed)
            for rel in named
        ),
        status[0] if status else None,
        tuple(f"{name} ({why})" for name, why in sorted(closed.items()) if name != "." or not problem),
    )


def _is_below(rel: str, folders: Iterable[str]) -> bool:
    return any(folder == "." or rel.startswith(f"{folder}/") for folder in folders)


def index(facts: ClaudeFacts, _now: int) -> Finding:
    check, title = "claude-index", "Claude Code loads the memories of this project"
    if facts.off:
        return Finding(check, title, "warn", f"Auto memory is off: {facts.off}. The files stay.")
    if facts.problem:
        return Finding(check, title, "fail", facts.problem)
    closed = f"Not looked into: {', '.join(facts.closed)}." if facts.closed else ""
    if facts.cut is None and closed:
        return Finding(check, title, "warn", closed)
    if facts.cut is None:
        kept = f"There are {some(facts.memories, 'memory')} and no {INDEX}, so none is loaded."
        nothing = "There are no memories yet."
        return Finding(check, title, *(("warn", kept) if facts.memories else ("pass", nothing)))
    size = f"{facts.cut.lines:,} of {MOST_LINES} lines, {facts.cut.chars:,} of {MOST_CHARS:,} characters."
    parts = []
    if facts.cut.line is not None:
        parts.append(f"It stops reading {INDEX} at line {facts.cut.line:,}; shorten or remove lines.")
    if facts.unlisted:
        parts.append(f"{some(facts.unlisted, 'memory')} without a line in {INDEX}.")
    if facts.dangling:
        parts.append(f"{some(facts.dangling, 'line')} of {INDEX} without a file.")
    parts += [closed] if closed else []
    return Finding(check, title, "warn" if parts else "pass", " ".join((f"{INDEX}: {size}", *parts)))


def lock(facts: ClaudeFacts, now: int) -> Finding:
    check, title = "claude-lock", "Nothing else consolidates these memories"
    line = facts.lock
    if line is None:
        return Finding(check, title, "pass", "There is no memory of this project on disk.")
    when = "" if line.at is None else f" ({ago(now, line.at)})"
    busy = line.state in ("running", "warn")
    return Finding(check, title, "warn" if busy else "pass", f"{line.label}: {line.text}{when}")


CLAUDE_CHECKS = (index, lock)
"""In the order in which they matter."""
