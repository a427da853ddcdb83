"""The doctor's checks of the memory of one project of Claude Code: its index, and the lock.

Nothing is written (formats/claude-code.md sections 4, 5 and 12). Threading: any thread but the GUI's.
Failure: the check has a sentence on parts that cannot be read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from reverie.agents.capabilities import AgentCheck, StatusLine
from reverie.agents.claude.locations import TEAM
from reverie.agents.claude.status import is_scanned, rels
from reverie.agents.memory_index import INDEX, MOST_CHARS, MOST_LINES, Cut, cut_of, links
from reverie.files.directory import open_regular, walk_paths
from reverie.text.summaries import phrase, plain, plural, together
from reverie.values import Struct

_INDEX_BYTES = 4 << 20
_MOST_FILES = 10_000


class _MemoryFacts(Struct, frozen=True):
    """The facts about one project's memory that the doctor's checks use."""

    off: str
    """The reason why the memory is off, in words; empty if it is on."""
    cut: Cut | None
    """The loaded part of the index; None if there is no index, or it cannot be read."""
    problem: str
    """The reason why the index cannot be read; empty if it can, or does not exist."""
    memories: int
    """The number of memories that the index covers.

    Memories of the team, or of a folder with an index of its own, are not counted.
    """
    unlisted: int
    """The number of those `memories` that no line of the index names."""
    dangling: int
    """The number of links in the index that lead to no file."""
    lock: StatusLine | None
    """The agent's status line about consolidations of the memory; None if there is none."""
    closed: tuple[str, ...] = ()
    """The folders that cannot be read, each as `folder (reason)`; the files in them are not counted."""


def memory_checks(directory: Path, off: str, status: Sequence[StatusLine]) -> tuple[AgentCheck, ...]:
    """Return the doctor's checks of one project's memory, which is in `directory`.

    `off`: the reason why the memory is off, in words; empty if it is on. `status`: the agent's status lines
    about the memory, of which the first is about consolidations; it may be empty.
    """
    facts = _facts(directory, off, status[0] if status else None)
    return _index(facts), _lock(facts)


def _index_text(directory: Path) -> tuple[str | None, str]:
    """Return the text of the memory index in `directory`, and an empty string.

    If it cannot be read, return None and the reason (empty if there is no such file).
    """
    path = directory / INDEX
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None, f"{INDEX} is not a regular file, so Reverie does not read it."
        # No link that takes its place in between is followed.
        with os.fdopen(open_regular(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            return file.read(_INDEX_BYTES).decode("utf-8", "replace"), ""
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return None, f"{INDEX} cannot be read: {error.strerror or error}."


def _facts(directory: Path, off: str, lock: StatusLine | None) -> _MemoryFacts:
    text, problem = _index_text(directory)
    cut = None if text is None else cut_of(text)
    there: set[str] = set()
    indexed: set[str] = {TEAM}
    closed: dict[str, str] = {}

    def not_listed(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            closed[os.path.relpath(error.filename, directory)] = error.strerror or str(error)

    for folder, _folders, files in walk_paths(directory, onerror=not_listed):
        there.update(rel for rel in rels(directory, folder, files) if rel.endswith(".md"))
        if INDEX in files and folder != str(directory):
            indexed.add(os.path.relpath(folder, directory))
        if len(there) > _MOST_FILES:
            break
    memories = {rel for rel in there if is_scanned(rel) and not _is_below(rel, indexed)}
    named = {link.rel for link in links(text or "") if link.rel is not None}
    return _MemoryFacts(
        off,
        cut,
        problem,
        len(memories),
        len(memories - named) if cut is not None else 0,
        sum(rel.endswith(".md") and rel not in there and not _is_below(rel, closed) for rel in named),
        lock,
        tuple(f"{name} ({why})" for name, why in sorted(closed.items()) if name != "." or not problem),
    )


def _is_below(rel: str, folders: Iterable[str]) -> bool:
    return any(folder == "." or rel.startswith(f"{folder}/") for folder in folders)


def _index(facts: _MemoryFacts) -> AgentCheck:
    check = "claude-index"
    loaded = phrase("Claude Code loads the memories of this project")
    partly = phrase("Claude Code does not load every memory of this project")
    none = phrase("Claude Code loads no memory of this project")
    if facts.off:
        evidence = phrase("Auto memory is off: {reason}. The files are not deleted.", reason=facts.off)
        return AgentCheck(check, none, "warn", evidence)
    if facts.problem:
        return AgentCheck(check, none, "fail", plain(facts.problem))
    closed = phrase("Not checked: {folders}.", folders=", ".join(facts.closed)) if facts.closed else None
    if facts.cut is None and closed:
        return AgentCheck(check, none, "warn", closed)
    if facts.cut is None and not facts.memories:
        return AgentCheck(check, phrase("There are no memories yet"), "pass", phrase("No memories to load."))
    if facts.cut is None:
        kept = plural(
            "There is 1 memory but no {index}, so Claude Code does not load it.",
            "There are %n memories but no {index}, so Claude Code loads none of them.",
            facts.memories,
            index=INDEX,
        )
        return AgentCheck(check, none, "warn", kept)
    size = phrase(
        "{index}: {lines} of {most_lines} lines, {chars} of {most_chars} characters.",
        index=INDEX,
        lines=facts.cut.lines,
        most_lines=MOST_LINES,
        chars=facts.cut.chars,
        most_chars=MOST_CHARS,
    )
    parts = []
    if facts.cut.line is not None:
        cut = phrase(
            "Claude Code stops reading {index} at line {line}. Shorten or remove lines.",
            index=INDEX,
            line=facts.cut.line,
        )
        parts.append(cut)
    if facts.unlisted:
        unlisted = plural(
            "1 memory is not listed in {index}.",
            "%n memories are not listed in {index}.",
            facts.unlisted,
            index=INDEX,
        )
        parts.append(unlisted)
    if facts.dangling:
        dangling = plural(
            "1 line of {index} names a file that does not exist.",
            "%n lines of {index} name files that do not exist.",
            facts.dangling,
            index=INDEX,
        )
        parts.append(dangling)
    parts += [closed] if closed else []
    return AgentCheck(check, partly if parts else loaded, "warn" if parts else "pass", together(size, *parts))


def _lock(facts: _MemoryFacts) -> AgentCheck:
    check, free = "claude-lock", phrase("No other program consolidates these memories")
    line = facts.lock
    if line is None:
        return AgentCheck(check, free, "pass", phrase("This project has no memory on disk."))
    evidence = phrase("{label}: {text}", label=line.label, text=line.text)
    if line.state == "running":
        title = phrase("Another program also consolidates these memories")
        return AgentCheck(check, title, "warn", evidence, at=line.at)
    return AgentCheck(check, free, "warn" if line.state == "warn" else "pass", evidence, at=line.at)
