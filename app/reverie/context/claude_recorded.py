"""What a session of Claude Code loaded, as its transcript records it, beside what a new session would load
(formats/claude-code.md sections 12.1.4 and 12.1.14).

The record is fact, the other parts are Reverie's rules (`context.claude`), so the two check each other. Each
file gets one verdict: the same; changed since the record; or, where no change of the file explains it, a
difference that the rules or a setting must explain. A session never re-reads its files while it runs.

In recall mode the program does not load the index. It chooses memories for each prompt instead and records
them. Where the newest sessions of a project recalled memories and loaded no index, the index part says so.

`read_record` blocks on disk and is bounded: one transcript of the session and the newest few of the project,
each read once for each state of its file. The rest is pure. Threading: any thread but the GUI's. Failure: a
transcript that cannot be read records nothing.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.context.view import Entry, Gauge, Note, Part, Reason
from reverie.errors import MendableError
from reverie.files.process import is_running
from reverie.homes.claude_index import INDEX
from reverie.homes.claude_running import running_sessions
from reverie.homes.scopes import Scope, ScopeContext
from reverie.memory.paths import memory_path
from reverie.text.tokens import estimate_tokens
from reverie.transcripts.claude_attachments import RECALL_BYTES, LoadedFile, Recorded, recorded

if TYPE_CHECKING:
    from reverie.context.facts import Facts
    from reverie.homes.claude import ClaudeHome

_SESSIONS = 5
_MOST_FILES = 2000
_SESSIONS_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What the transcripts of a context record."""

    files: tuple[LoadedFile, ...] = ()
    """What the chosen session has in its context, in order."""
    at: int | None = None
    """When it was recorded, UTC ms; None where the session records nothing."""
    running: bool = False
    """Whether the process of the session lives."""
    modified: Mapping[str, int] = field(default_factory=dict)
    """When each of `files` was changed last, ns; those that are not there now are left out."""
    recalls: bool = False
    """Whether the project's newest sessions recall memories instead of loading the index."""
    recalled: Mapping[str, int] = field(default_factory=dict)
    """How often those sessions recalled each memory, by its path on disk."""


NOTHING = SessionRecord()


def read_record(home: ClaudeHome, context: ScopeContext) -> SessionRecord:
    """Read what is recorded for a session and its project."""
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
    return SessionRecord(
        files,
        own.at if own is not None and own.lists and own.complete else None,
        bool(files) and _runs(home.root, context.workspace_id),
        modified,
        bool(recalled) and not any(one.loads_index for one in newest if one.recalled),
        recalled,
    )


def _of_session(home: ClaudeHome, session_id: str | None) -> Recorded | None:
    if session_id is None:
        return None
    try:
        place = home.session(session_id)
    except MendableError:
        return None
    return None if place is None else _recorded_in(place.directory / place.files[-1])


def _newest(home: ClaudeHome, project_path: str | None) -> Iterator[Recorded]:
    """The records of the newest sessions of a project."""
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


def _recorded_in(path: Path) -> Recorded | None:
    try:
        status = path.stat()
        return _recorded_version(path, status.st_mtime_ns, status.st_size)
    except (OSError, MendableError):
        return None


@lru_cache(maxsize=64)
def _recorded_version(path: Path, _mtime_ns: int, _size: int) -> Recorded:
    return recorded(path)


def _runs(config: Path, session_id: str | None) -> bool:
    return any(each.session_id == session_id and is_running(each.pid) for each in running_sessions(config))


# The view


def with_record(parts: tuple[Part, ...], facts: Facts, drafted: Collection[str]) -> tuple[Part, ...]:
    """The parts of a new session, corrected for recall mode, then what the chosen session loaded. `drafted`:
    the memory paths that have unsaved text."""
    record = facts.record
    if record.recalls:
        parts = tuple(_recalling(part, facts) if part.key == "index-file" else part for part in parts)
    if record.at is None:
        return parts
    return (*parts, _recorded_part(record, record.at, parts, facts, drafted))


@dataclass(frozen=True, slots=True)
class _Predicted:
    """A file that a new session would load."""

    entry: Entry
    text: str
    modified_ns: int
    """0 where it is not known."""
    drafted: bool = False


def _recorded_part(
    record: SessionRecord, at: int, parts: tuple[Part, ...], facts: Facts, drafted: Collection[str]
) -> Part:
    predicted = dict(_predicted(parts, facts, drafted))
    entries = []
    for each in record.files:
        other = predicted.pop(_key(each.path), None)
        reason = _verdict(each, other, record.modified.get(each.path), at)
        size = len(each.text.encode("utf-8", "surrogatepass"))
        entries.append(
            Entry(
                other.entry.path if other is not None else each.path,
                "in",
                reason,
                size=size,
                bytes=size,
                tokens=estimate_tokens(each.text),
                file=Path(each.path),
                description=each.kind,
            )
        )
    for path, other in predicted.items():
        newer = other.drafted or other.modified_ns // 1_000_000 > at
        missed: Reason = "recorded-new" if newer else "recorded-missed"
        entries.append(Entry(other.entry.path, "out", missed, size=other.entry.size, file=Path(path)))
    differ = sum(entry.reason in _DIFFERENCES for entry in entries)
    notes: list[Note] = ["recorded"]
    notes += ["session-runs"] if record.running else []
    notes.append("rules-differ" if differ else "rules-agree")
    gauges = (
        Gauge("bytes", sum(entry.bytes for entry in entries)),
        Gauge("tokens", sum(entry.tokens for entry in entries)),
        Gauge("files", len(record.files)),
    )
    text = "\n".join(each.text for each in record.files)
    return Part("recorded", tuple(entries), gauges, text, tuple(notes), str(differ))


_DIFFERENCES: frozenset[Reason] = frozenset({"recorded-other", "recorded-only", "recorded-missed"})
"""What neither a change of the file nor its absence explains."""


def _verdict(each: LoadedFile, other: _Predicted | None, modified_ns: int | None, at: int) -> Reason:
    """How a file that the session loaded stands to what a new session would load."""
    if modified_ns is None and other is None:
        return "recorded-gone"
    changed = (modified_ns or 0) // 1_000_000 > at
    if other is None:
        return "recorded-changed" if changed else "recorded-only"
    # After a cut the agent adds a warning of its own.
    cut = other.entry.state == "cut" and each.text.startswith(other.text.rstrip("\r\n") + "\n")
    if other.text == each.text or cut:
        return "recorded-same"
    return "recorded-changed" if changed or other.drafted else "recorded-other"


def _predicted(
    parts: tuple[Part, ...], facts: Facts, drafted: Collection[str]
) -> Iterator[tuple[str, _Predicted]]:
    """Every file that a new session would load, by its path on disk."""
    listing = facts.listings.get(Scope.PROJECT)
    index_path = str(memory_path(Scope.PROJECT, INDEX))
    for part in parts:
        for entry in part.loaded:
            if part.key == "instructions" and entry.file is not None:
                stamp = facts.texts[str(entry.file)].stamp
                yield _key(str(entry.file)), _Predicted(entry, entry.text, stamp[1])
            elif facts.off:
                continue  # it is shown as what would be loaded, if the memory were on
            elif part.key == "index-file" and entry.path == index_path and listing and listing.root:
                known = facts.texts.get(index_path)
                modified = 0 if known is None else known.stamp[1]
                path = _key(str(listing.root.directory / INDEX))
                yield path, _Predicted(entry, entry.text, modified, index_path in drafted)


def _key(path: str) -> str:
    """A path as both sides may write it."""
    return os.path.realpath(path)


def _memory_key(path: str) -> str:
    """A memory's path in a home, also where the home was moved since it was recorded."""
    _above, found, below = path.replace("\\", "/").rpartition("/projects/")
    return below if found else _key(path)


def _recalling(part: Part, facts: Facts) -> Part:
    """The index part of a project whose sessions recall memories instead of loading the index."""
    listing = facts.listings.get(Scope.PROJECT)
    directory = listing.root.directory if listing is not None and listing.root is not None else None
    index = str(memory_path(Scope.PROJECT, INDEX))
    recalled = {_memory_key(path): times for path, times in facts.record.recalled.items()}
    entries = []
    long = 0
    for entry in part.entries:
        if entry.path in (index, INDEX):
            reason: Reason = "missing" if entry.reason == "missing" else "recall-index"
            entries.append(replace(entry, state="out", reason=reason, bytes=0, tokens=0, text=""))
            continue
        rel = entry.path.removeprefix(f"{memory_path(Scope.PROJECT, '')}/")
        times = recalled.get(_memory_key(str(directory / rel)), 0) if directory is not None else 0
        is_long = entry.size > RECALL_BYTES
        long += is_long
        entries.append(
            replace(
                entry,
                state="out",
                reason="recall-long" if is_long else "recalled" if times else "on-demand",
                detail=str(times) if times else "",
            )
        )
    notes: tuple[Note, ...] = ("recall-mode", "recall-long") if long else ("recall-mode",)
    gauges = (Gauge("bytes", 0), Gauge("tokens", 0))
    kept = tuple(note for note in part.notes if note != "cut-warning")
    return replace(
        part, entries=tuple(entries), gauges=gauges, text="", notes=(*kept, *notes), cut_line=None, marked=()
    )
