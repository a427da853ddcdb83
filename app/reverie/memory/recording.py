"""Recording of memory changes: who made them, snapshots in the history, usage.

The author of a change, Reverie, the agent or another program, is known, never guessed. Before each replace
the store logs path and hash in the write log; a change seen later whose content has that hash is Reverie's,
whichever process made it. A row stays until it is old and the log is long, so a watcher that starts late
still finds it. The agent's changes are found in its transcripts.

`Snapshots.observe` commits what changed since the last snapshot in the name of its author. `record` commits
under a given actor, before and after runs and hand edits.

The write log is one SQLite database per profile, in the state directory. Threading: blocking, any thread but
the GUI's; every call of the log opens its own connection, and commits of one home are serialised by the
history's own lock. Failure: `UserError`, of the log `Unavailable`. A caller that is about to write or to
destroy something must not continue then.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from reverie.agents.base import AgentWriter, Home, SessionPlace
from reverie.agents.scopes import COMPANIONS, ScopeRoot, unescape_key
from reverie.agents.transcripts import MemoryCall
from reverie.clock import DAY_MS, Clock
from reverie.errors import StoreError, Unavailable, UserError, user_error_from_os
from reverie.files.atomic import is_temporary
from reverie.files.directory import (
    Directory,
    SwappedError,
    ensure_private,
    everything_below,
    is_directory,
    is_file,
    is_link,
    own_is_there,
)
from reverie.files.locks import file_lock, lock_beside
from reverie.files.sqlite import make_private, refuse_irregular, set_aside, use_kept_journal, why
from reverie.memory.commands import MUTATING, insert_after, normalise, replace_once
from reverie.memory.history.history import History, SnapshotSource
from reverie.memory.history.reader import HistoryPlace
from reverie.memory.history.roots import SeenChange, Share
from reverie.memory.listing import read_rel
from reverie.memory.paths import CompanionPlace, MemoryPath, companion_place, memory_path, parse_memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.store import ReadOnlyStore, WriteGuard, write_locks
from reverie.memory.usage import UsageLog
from reverie.memory.usage_rules import MemoryUsage
from reverie.values import Struct, fields_of

_attribution_log = logging.getLogger("reverie.history")

OUTSIDE = "outside"
DELETED = ""
_BUSY_TIMEOUT_S = 5.0
_KEPT_MS = 90 * DAY_MS
_KEPT_ROWS = 100_000
_PRUNE_EVERY = 1_000
_SCHEMA = """
CREATE TABLE IF NOT EXISTS writes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    actor TEXT NOT NULL,
    run_id TEXT,
    at_ms INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS writes_by_content ON writes (path, sha256, id);
"""
# After another program has written a path, an old content of ours there no longer counts as our write.
_NEWEST_OWN = """
SELECT actor, run_id, at_ms FROM writes
WHERE path = ? AND sha256 = ?
AND id > coalesce((SELECT max(id) FROM writes WHERE path = ? AND actor = ?), 0)
ORDER BY id DESC LIMIT 1
"""


class Attribution(Struct, frozen=True):
    """The actor who wrote a content, in which run, and when (UTC ms)."""

    actor: str
    run_id: str | None
    at_ms: int


class _DamagedLogError(Unavailable):
    """The write log is no valid database any more."""


class WriteLog:
    """The write log of one profile. Nothing is created before the first `record`."""

    def __init__(self, database: Path) -> None:
        self._database = database

    def record(self, path: Path, sha256: str | None, *, actor: str, run_id: str | None, at_ms: int) -> None:
        """Log that `actor` is about to give `path` the content with this hash; None: to delete it."""
        self.record_all({path: sha256}, actor=actor, run_id=run_id, at_ms=at_ms)

    def record_all(
        self, contents: Mapping[Path, str | None], *, actor: str, run_id: str | None, at_ms: int
    ) -> None:
        """Log several contents at once, as `record` does."""
        if not contents:
            return
        ensure_private(self._database.parent)
        rows = [
            (path_text(path), sha256 or DELETED, actor, run_id, at_ms) for path, sha256 in contents.items()
        ]
        try:
            self._insert(rows)
        except _DamagedLogError:
            # A damaged log must not prevent saving; it is kept beside the new one.
            aside = set_aside(self._database)
            _attribution_log.warning(
                "the log of who wrote what was damaged and is set aside as %s", aside.name
            )
            self._insert(rows)

    def _insert(self, rows: Sequence[tuple[str, str, str, str | None, int]]) -> None:
        with self._connected() as connection:
            for row in rows:
                newest = connection.execute(
                    "INSERT INTO writes (path, sha256, actor, run_id, at_ms) VALUES (?, ?, ?, ?, ?)", row
                ).lastrowid
                if newest is not None and newest % _PRUNE_EVERY == 0:
                    _prune(connection, newest=newest, now_ms=row[-1])

    def actor_of(self, path: Path, sha256: str | None) -> Attribution | None:
        """Return who last gave `path` this content; None: no actor of this log."""
        return self.actors_of({path: sha256}).get(path)

    def actors_of(self, contents: Mapping[Path, str | None]) -> dict[Path, Attribution]:
        """Return the actors of several contents, as `actor_of` does; unknown ones are left out."""
        if not contents or not own_is_there(self._database):
            return {}
        found: dict[Path, Attribution] = {}
        with self._connected() as connection:
            for path, sha256 in contents.items():
                asked = (path_text(path), sha256 or DELETED, path_text(path), OUTSIDE)
                row = connection.execute(_NEWEST_OWN, asked).fetchone()
                if row is not None:
                    found[path] = Attribution(*row)
        return found

    def known(self) -> frozenset[str]:
        """Return every path with a row, as text."""
        if not own_is_there(self._database):
            return frozenset()
        with self._connected() as connection:
            return frozenset(path for (path,) in connection.execute("SELECT DISTINCT path FROM writes"))

    def newest(self) -> dict[str, tuple[str, str]]:
        """Return by path (as text) who last wrote it, and the SHA-256 of the content; empty if deleted."""
        if not own_is_there(self._database):
            return {}
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT path, actor, sha256 FROM writes "
                "WHERE id IN (SELECT max(id) FROM writes GROUP BY path)"
            ).fetchall()
        return {path: (actor, sha256) for path, actor, sha256 in rows}

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        make_private(self._database)
        try:
            refuse_irregular(self._database)
            with contextlib.closing(sqlite3.connect(self._database, timeout=_BUSY_TIMEOUT_S)) as connection:
                use_kept_journal(connection)
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.executescript(_SCHEMA)
                with connection:
                    yield connection
        except sqlite3.Error as error:
            kind = Unavailable if isinstance(error, sqlite3.OperationalError) else _DamagedLogError
            cause, next_step = why(
                error,
                f"SQLite says: {error}.",
                f"Check the disk, or move {self._database} away; a new one is begun.",
                self._database,
            )
            title = "The log of who wrote what cannot be used."
            raise kind(title, cause=cause, next_step=next_step) from error


def _prune(connection: sqlite3.Connection, *, newest: int, now_ms: int) -> None:
    connection.execute(
        "DELETE FROM writes WHERE id <= ? AND at_ms < ?", (newest - _KEPT_ROWS, now_ms - _KEPT_MS)
    )


def path_text(path: Path | str) -> str:
    """Return the path as text that SQLite can hold: names that are no valid UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


_MOST_SESSIONS = 8
_MOST_CALLS = 100
# The agent records the start of a call; another snapshot may have been made before the call ended.
_SLACK_MS = 60_000
_PATTERN = re.compile(r"\$[$&`']")

FileKey = tuple[str, str]
"""Root key and path below it."""


class _ToolWrite(Struct, frozen=True):
    """A call with its resolved paths: `place`, and `target` of a rename."""

    call: MemoryCall
    command: str
    fields: Mapping[str, object]
    place: FileKey
    target: FileKey | None = None


class _UnknownError(Exception):
    """The file's content is unknown, or the call does not fit it."""


class AgentWrites:
    """The memory tool calls of one home's agent, which prove the changes that it made itself.

    A change is the agent's if a memory tool call in one of its transcripts wrote its content (design.md
    section 4, "Actor"). Nothing is guessed. The calls since the last snapshot are replayed on the contents in
    the history; a change is the agent's if a call leaves exactly its bytes (or no file, for a deletion or
    rename). If anything else changed the file, the bytes differ and the change stays "outside". The cost is
    bounded: the sessions whose transcripts changed last, their last bytes, the newest calls. An unreadable
    transcript proves nothing, and no snapshot fails for it.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._read: dict[Path, tuple[object, tuple[MemoryCall, ...]]] = {}

    def of(self, changes: Sequence[SeenChange], since_ms: int | None) -> frozenset[FileKey]:
        """Return the changes that the agent made.

        `since_ms`: when the last snapshot was taken; files that existed before the first one are no change.
        """
        if since_ms is None or not changes:
            return frozenset()
        try:
            writes = self._writes(since_ms - _SLACK_MS)
        except UserError as error:
            _attribution_log.info("the agent's transcripts say nothing of who wrote a memory: %s", error)
            return frozenset()
        touched = {place for write in writes for place in (write.place, write.target) if place is not None}
        wanted = [change for change in changes if _is_touched((change.key, change.rel), touched)]
        return frozenset(_matching(wanted, writes)) if wanted else frozenset()

    def _writes(self, since_ms: int) -> list[_ToolWrite]:
        """Return the newest calls of the sessions in use, oldest first."""
        found: list[_ToolWrite] = []
        writer, sessions = self._home.writer, self._home.sessions
        if writer is None or sessions is None:
            return found
        for place in self._newest(writer, sessions.sessions_in_use()):
            for call in self._calls(writer, place):
                if call.at_ms >= since_ms:
                    # A call with an impossible path wrote nothing.
                    with contextlib.suppress(UserError):
                        found += self._write(writer, place.workspace_id, call)
        found.sort(key=lambda write: write.call.at_ms)
        return found[-_MOST_CALLS:]

    @staticmethod
    def _newest(writer: AgentWriter, places: Sequence[SessionPlace]) -> list[SessionPlace]:
        changed = [(max(stamp)[0], place) for place in places if (stamp := writer.transcript_stamp(place))]
        return [place for _at, place in sorted(changed, key=lambda each: -each[0])[:_MOST_SESSIONS]]

    def _calls(self, writer: AgentWriter, place: SessionPlace) -> tuple[MemoryCall, ...]:
        stamp = writer.transcript_stamp(place)
        known = self._read.get(place.directory)
        if known is None or known[0] != stamp:
            if len(self._read) > 4 * _MOST_SESSIONS:
                self._read.clear()
            known = self._read[place.directory] = (stamp, writer.memory_calls(place))
        return known[1]

    def _write(self, writer: AgentWriter, workspace_id: str, call: MemoryCall) -> Iterator[_ToolWrite]:
        if call.tool == "memory_write":
            file = writer.writer_place(workspace_id).memory_file
            if file is not None and file.is_relative_to(self._home.root):
                rel = file.relative_to(self._home.root).as_posix()
                yield _ToolWrite(call, "memory_write", call.input, (COMPANIONS, rel))
            return
        fields = normalise(call.input)
        command = fields.get("command")
        if command not in MUTATING:
            return
        renames = command == "rename"
        place_of = self._place(workspace_id, fields.get("old_path" if renames else "path"))
        target = self._place(workspace_id, fields.get("new_path")) if renames else None
        yield _ToolWrite(call, str(command), fields, place_of, target)

    def _place(self, workspace_id: str, text: object) -> FileKey:
        path: MemoryPath = parse_memory_path(str(text))
        if path.scope is None:
            raise UserError("That is no memory.")
        root = self._home.scope_root(self._home.context(workspace_id=workspace_id), path.scope)
        return root.key, path.rel


def _is_touched(place: FileKey, touched: set[FileKey]) -> bool:
    key, rel = place
    parts = rel.split("/")
    return any((key, "/".join(parts[:length])) in touched for length in range(1, len(parts) + 1))


def _matching(changes: Sequence[SeenChange], writes: Sequence[_ToolWrite]) -> set[FileKey]:
    """Replay the calls, starting from each of them in turn, and return the files that match.

    It is unknown which of the calls the history already has.
    """
    before = {(change.key, change.rel): change.before() for change in changes}
    after = {(change.key, change.rel): change.after() for change in changes}
    found: set[FileKey] = set()
    for expand in (True, False):
        for start in range(len(writes)):
            again = _Replay(before, after, expand)
            for write in writes[start:]:
                with contextlib.suppress(_UnknownError, UserError, UnicodeError):
                    again.do(write)
            found |= again.found
            if len(found) == len(after):
                return found
    return found


class _Replay:
    """A replay of calls on former contents.

    `expand`: replacement text is expanded as JavaScript does, which the agent's own code does with it
    (formats/mux.md section 6).
    """

    def __init__(
        self, before: Mapping[FileKey, bytes | None], after: Mapping[FileKey, bytes | None], expand: bool
    ) -> None:
        self._now = dict(before)
        self._after = after
        self._expand = expand
        self.found: set[FileKey] = set()

    def do(self, write: _ToolWrite) -> None:
        match write.command:
            case "create":
                self._put(write.place, str(write.fields.get("file_text", "")))
            case "delete":
                for place in self._below(write.place):
                    self._set(place, None)
            case "rename" if write.target is not None:
                for place in self._below(write.place):
                    moved = write.target[0], write.target[1] + place[1][len(write.place[1]) :]
                    self._set(moved, self._now[place])
                    self._set(place, None)
            case "str_replace":
                self._replace(write)
            case "insert":
                line, added = _line_of(write), str(write.fields.get("insert_text", ""))
                self._put(write.place, insert_after(_named(write), self._text(write.place), line, added))
            case "memory_write":
                self._memory_write(write)
            case _:
                pass

    def _replace(self, write: _ToolWrite) -> None:
        text, old = self._text(write.place), str(write.fields.get("old_str", ""))
        new = str(write.fields.get("new_str", ""))
        if not old:
            raise _UnknownError
        if self._expand:
            new = _expanded(text, old, new)
        self._put(write.place, replace_once(_named(write), text, old, new))

    def _memory_write(self, write: _ToolWrite) -> None:
        told = write.fields
        old, new, count = told.get("old_string"), told.get("new_string"), told.get("replace_count") or 1
        if not isinstance(old, str) or not isinstance(new, str) or not isinstance(count, int):
            raise _UnknownError
        if old:
            self._put(write.place, self._text(write.place).replace(old, new, count))
        elif not self._now.get(write.place):
            self._put(write.place, new)

    def _text(self, place: FileKey) -> str:
        content = self._now.get(place)
        if content is None:
            raise _UnknownError
        return content.decode("utf-8")

    def _put(self, place: FileKey, text: str) -> None:
        self._set(place, text.encode("utf-8"))

    def _set(self, place: FileKey, content: bytes | None) -> None:
        self._now[place] = content
        if place in self._after and self._after[place] == content:
            self.found.add(place)

    def _below(self, place: FileKey) -> list[FileKey]:
        key, rel = place
        return [
            each
            for each, content in self._now.items()
            if content is not None and each[0] == key and (each[1] == rel or each[1].startswith(f"{rel}/"))
        ]


def _line_of(write: _ToolWrite) -> int:
    try:
        return int(str(write.fields.get("insert_line")))
    except ValueError:
        raise _UnknownError from None


def _named(write: _ToolWrite) -> MemoryPath:
    return MemoryPath(None, tuple(write.place[1].split("/")))


def _expanded(text: str, old: str, new: str) -> str:
    at = text.find(old)
    parts = {"$$": "$", "$&": old, "$`": text[:at], "$'": text[at + len(old) :]}
    return _PATTERN.sub(lambda found: parts[found.group()], new) if at >= 0 else new


AGENT = "agent"


class ShareAssigner:
    """Assigns the changes of one snapshot to their authors.

    To Reverie by the write log, to the agent by its transcripts, else to "outside". `directories`: root key
    -> directory of its files.
    """

    def __init__(self, actors: WriteLog, agent: AgentWrites, directories: Mapping[str, Path]) -> None:
        self._actors = actors
        self._agent = agent
        self._directories = directories
        self._outside: dict[Path, str | None] = {}
        self._by_agent: dict[Path, str | None] = {}

    def share(self, changes: Sequence[SeenChange], since_ms: int | None) -> list[Share]:
        """Return the changes by actor, Reverie's first: the rest after their commit is another author's.

        Called by the history, under its lock.
        """
        known = self._actors.known()
        contents: dict[Path, str | None] = {}
        places: dict[tuple[str, str], Path] = {}
        for change in changes:
            directory = self._directories.get(change.key)
            # Nearly all files of a first scan are unknown to the log; a path object for each would be slow.
            if directory is None or path_text(os.path.join(directory, change.rel)) not in known:  # noqa: PTH118
                continue
            path = places[change.key, change.rel] = directory / change.rel
            contents[path] = sha256_of_bytes(change.after())
        ours = self._actors.actors_of(contents)
        rest = [change for change in changes if places.get((change.key, change.rel), _NOWHERE) not in ours]
        agents = self._agent.of(rest, since_ms)
        groups: dict[tuple[str, str | None], list[SeenChange]] = {}
        for change in changes:
            place = change.key, change.rel
            found = ours.get(places.get(place, _NOWHERE))
            who = (found.actor, found.run_id) if found is not None else (OUTSIDE, None)
            if found is None and place in agents:
                who = (AGENT, None)
                self._by_agent[self._directories[change.key] / change.rel] = sha256_of_bytes(change.after())
            elif found is None and place in places:
                self._outside[places[place]] = contents[places[place]]
            groups.setdefault(who, []).append(change)
        order = sorted(groups, key=lambda who: (who[0] == OUTSIDE, who[0] == AGENT))
        return [Share(actor, run_id, groups[actor, run_id]) for actor, run_id in order]

    def log(self, at_ms: int) -> None:
        """Log the assignment once it is committed.

        It prevents an old content of Reverie's from being taken for its own write again.
        """
        self._actors.record_all(self._outside, actor=OUTSIDE, run_id=None, at_ms=at_ms)
        self._actors.record_all(self._by_agent, actor=AGENT, run_id=None, at_ms=at_ms)


_NOWHERE = Path()


def never_kept(directory: Path) -> list[str]:
    """Return names below a directory that the history never lists, except temporary files of killed writes.

    Raises `Unavailable` if a folder cannot be read, because its contents are unknown.
    """
    return [
        item.name
        for _rel, item in _all_below(directory)
        if (item.name.startswith(".") or item.is_symlink()) and not is_temporary(item.name)
    ]


def why_not_kept(root: ScopeRoot, rel: str, name: str) -> str:
    """Return the reason why the history has no bytes of a file, as a sentence that names it `name`."""
    parts = rel.split("/")
    links = [depth for depth in range(1, len(parts) + 1) if is_link(root.directory / "/".join(parts[:depth]))]
    why = "is too large for the history"
    if links and links[0] < len(parts):
        why = f"lies behind the link {'/'.join(parts[: links[0]])}, where the history does not look"
    elif links:
        why = "is a link, which the history does not keep"
    elif any(part.startswith(".") for part in parts):
        why = "is hidden, and the history keeps no hidden files"
    return f"{name} {why}, so it could not be brought back."


def _files_below(directory: Path) -> list[str]:
    """Return the paths of all entries that are no folder, relative to the directory."""
    return [
        rel
        for rel, item in _all_below(directory)
        if not is_temporary(item.name) and not item.is_dir(follow_symlinks=False)
    ]


def _all_below(directory: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    try:
        for rel, _opened, item in everything_below(lambda: Directory.open(directory)):
            yield rel, item
    except (OSError, SwappedError) as error:
        title = f"A folder in {directory} cannot be read."
        if isinstance(error, SwappedError):
            raise Unavailable(title, cause="It changes at the moment.", next_step="Try again.") from error
        raise user_error_from_os(error, title) from error


def _not_kept(shown: str, cause: str) -> StoreError:
    return StoreError(
        f"{shown} was not deleted:",
        cause=cause,
        next_step="Move it away first, or delete it outside if you are sure.",
        reason="not-kept",
    )


# Maximum size for the quick check; a larger file is left to a snapshot.
_GLANCE = 1024 * 1024
_USAGE_FIELDS = fields_of(MemoryUsage)


class Snapshots:
    """Feeds the history of one home."""

    def __init__(
        self,
        home: Home,
        history: History,
        usage: UsageLog,
        actors: WriteLog,
        clock: Clock,
        *,
        require_same: Callable[[], None] = lambda: None,
    ) -> None:
        """Connect a home with its history.

        `require_same` raises `Unavailable` once another home is in the place of this one.
        """
        self._clock = clock
        self._require_same = require_same
        self._home = home
        self.history = history
        self._usage = usage
        self._actors = actors
        self._agent = AgentWrites(home)

    def record(
        self,
        *,
        actor: str,
        source: str,
        subject: str,
        run_id: str | None = None,
        dirty: Collection[Path] | None = None,
    ) -> str | None:
        """Commit everything that changed (or that changed at `dirty`) as `actor`'s; None when nothing did."""
        self._require_same()
        return self.history.snapshot(
            self._sources(self._home.roots()),
            actor=actor,
            source=source,
            subject=subject,
            run_id=run_id,
            dirty=dirty,
        )

    def observe(self, *, source: str, dirty: Collection[Path] | None = None) -> None:
        """Commit what changed since the last snapshot, each change under its own author."""
        self._require_same()
        subject = "Changes found by a scan" if dirty is None else "Changes seen"
        roots = self._home.roots()
        sharing = self._sharing(roots)
        self.history.snapshot(
            self._sources(roots),
            actor=OUTSIDE,
            source=source,
            subject=subject,
            dirty=dirty,
            share=sharing.share,
        )
        sharing.log(self._clock())

    def _sharing(self, roots: Sequence[ScopeRoot], companion: CompanionPlace | None = None) -> ShareAssigner:
        directories = {root.key: root.directory for root in roots}
        directories[COMPANIONS] = self._home.root
        if companion is not None:
            directories[companion.key] = companion.directory
        return ShareAssigner(self._actors, self._agent, directories)

    def record_companion(
        self, path: str | Path, *, actor: str, source: str, run_id: str | None = None
    ) -> str | None:
        """Commit one companion (below the home, or an absolute path) as it is now; None if unchanged."""
        self._require_same()
        place = companion_place(self._home.root, self._home.root / path)
        head = self.history.head()
        known = set(self.history.files(head, place.key)) if head is not None else set()
        paths = {name: place.directory / name for name in sorted(known | {place.rel})}
        # An unreadable companion must not count as deleted.
        names = [name for name, file in paths.items() if own_is_there(file) and is_file(file)]
        # Before a change of ours, log and transcripts decide who made any new content there.
        sharing = self._sharing(self._home.roots(), place) if actor == OUTSIDE else None
        commit = self.history.snapshot(
            [SnapshotSource(place.key, place.directory, names)],
            actor=actor,
            source=source,
            subject=f"Companion {path}",
            run_id=run_id,
            share=sharing.share if sharing is not None else None,
        )
        if sharing is not None:
            sharing.log(self._clock())
        return commit

    def is_agents(self, key: str, rel: str, content: bytes) -> bool:
        """Return whether the agent's transcripts prove that it gave this file its present content.

        For content that no snapshot has seen yet. `key`: of the file's root.
        """
        newest = self.history.commits(limit=1)
        if not newest:
            return False
        before = self.history.read(newest[0].id, key, rel)
        change = SeenChange(key, rel, lambda: before, lambda: content)
        return before != content and bool(self._agent.of([change], newest[0].at_ms))

    def preserve(self, root: ScopeRoot, rel: str) -> None:
        """Ensure that the history holds the file or folder at this path, before it is changed."""
        self._require_same()
        if not self._is_kept(root, rel):
            self.observe(source="before a change", dirty=[root.directory / rel])

    def _is_kept(self, root: ScopeRoot, rel: str) -> bool:
        """Return whether the newest commit certainly has the file's present content, so no scan is needed."""
        try:
            status, data = read_rel(os.fspath(root.directory), rel, _GLANCE)
            place, mode = HistoryPlace(root.key, rel), stat.S_IMODE(status.st_mode)
            return status.st_size == len(data) and self.history.is_newest(place, data, mode)
        except (OSError, UserError):
            return False  # a snapshot says what is wrong

    def refuse_unkept(self, root: ScopeRoot, rel: str) -> None:
        """Raise `StoreError` (reason "not-kept") if something at or below this path could not be restored.

        That is the case if the history has no bytes of it, or it cannot be read now, so that this is unknown.
        """
        path, shown = root.directory / rel, str(memory_path(root.scope, rel))
        head = self.history.head()
        versions = {} if head is None else self.history.files(head, root.key)
        found = [rel]
        if is_directory(path) and not is_link(path):
            if unlisted := never_kept(path):
                raise _not_kept(shown, f"{unlisted[0]} in it is hidden or a link, which the history lacks.")
            found = [f"{rel}/{each}" for each in _files_below(path)]
        for each in found:
            if each not in versions or versions[each].omitted:
                raise _not_kept(shown, why_not_kept(root, each, "it" if each == rel else each))
            try:
                with (root.directory / each).open("rb"):
                    pass
            except OSError as error:
                raise user_error_from_os(error, f"{shown} was not deleted: {each} cannot be read.") from error

    def keep(self, versions: Iterable[tuple[ScopeRoot, str, str]]) -> None:
        """Ensure that the history holds the current versions of these files (root, path, sha256).

        Callers record companions themselves.
        """
        wanted = [each for each in versions if each[0].key != COMPANIONS]
        kept = self.history.newest([HistoryPlace(root.key, rel) for root, rel, _sha256 in wanted])
        unseen = [
            root.directory / rel
            for (root, rel, sha256), data in zip(wanted, kept, strict=True)
            if sha256_of_bytes(data) != sha256
        ]
        if unseen:
            self.observe(source="before a change", dirty=unseen)

    def _sources(self, roots: Sequence[ScopeRoot]) -> Sequence[SnapshotSource]:
        by_prefix: dict[str, dict[str, MemoryUsage]] = {}
        for key, value in self._usage.load().items():
            prefix = key[: key.rfind(":") + 1]
            by_prefix.setdefault(prefix, {})[key] = value
        return [self._source(root, by_prefix.get(root.usage_prefix or "", {})) for root in roots]

    def _source(self, root: ScopeRoot, usage: Mapping[str, MemoryUsage]) -> SnapshotSource:
        metadata: dict[str, dict[str, Any]] = {}
        for key, value in usage.items():
            rel = unescape_key(key[len(root.usage_prefix or "") :])
            if self._home.usage_key(root, rel) == key:
                metadata[rel] = {name: getattr(value, name) for name in _USAGE_FIELDS}
        return SnapshotSource(root.key, root.directory, metadata=metadata, without=root.without)


_log = logging.getLogger("reverie.memory")


class DiskChangeListener:
    """The effects of one actor's changes on one home on disk: locks, attribution, usage, history.

    Usage follows formats/mux.md section 8: by a command an agent's read and any write count as one use, a
    person's read does not (the commands do not report it). A write in the window or by a run is no use,
    because uses decide what the agent loads next. The history comes first, so a change that could not be
    undone is not made. A use that cannot be counted after a change is a warning; after a read, a line in the
    log.

    `after_change` gets each changed path, for the snapshot after it; `writing` each file and its new content,
    before it is replaced; `warn` a sentence for each failure after a change was made. `counts`: a write or a
    rename is a use, as by the agent's command; False for a person's in the window, so that an edit does not
    change what the agent loads next.
    """

    def __init__(
        self,
        home: Home,
        *,
        actor: str,
        usage: UsageLog,
        actors: WriteLog,
        snapshots: Snapshots,
        lock_dir: Path,
        clock: Clock,
        guard: WriteGuard,
        after_change: Callable[[Path], None] = lambda path: None,
        writing: Callable[[ScopeRoot, str, bytes | None], None] = lambda root, rel, after: None,
        warn: Callable[[str], None] = _log.warning,
        counts: bool = True,
    ) -> None:
        self._home = home
        self._actor = actor
        self._own = actor != "agent"
        self._counts = counts
        self._usage = usage
        self._actors = actors
        self._snapshots = snapshots
        self._lock_dir = lock_dir
        self._clock = clock
        self._guard = guard
        self._after_change = after_change
        self._writing = writing
        self._warn = warn

    @contextlib.contextmanager
    def exclusive(self, root: ScopeRoot, rel: str = "") -> Iterator[None]:
        self._guard.require(root)
        with contextlib.ExitStack() as held:
            held.enter_context(write_locks(self._home, (root,), lock_dir=self._lock_dir))
            held.enter_context(file_lock(self._lock_dir, root.directory))
            path = root.directory / rel
            if rel and self._home.file_rule(root, rel).deletable and is_directory(path.parent):
                held.enter_context(lock_beside(path))
            yield

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        self._snapshots.preserve(root, rel)

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        self._snapshots.refuse_unkept(root, rel)

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        self._actors.record(
            root.directory / rel, sha256_of_bytes(after), actor=self._actor, run_id=None, at_ms=self._clock()
        )
        self._writing(root, rel, after)

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        self._after_change(root.directory / rel)
        with self._counting(rel):
            self._with_key(root, rel, self._note_write)

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        self._after_change(root.directory / rel)
        with self._counting(rel):
            self._with_key(root, rel, self._usage.delete)

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        self._after_change(root.directory / rel)
        self._after_change(root.directory / new_rel)
        old, new = self._home.usage_key(root, rel), self._home.usage_key(root, new_rel)
        if old is not None and new is not None:
            with self._counting(new_rel):
                self._usage.rename(old, new, counts=self._counts, own=self._own)

    def read(self, root: ScopeRoot, rel: str) -> None:
        # A read must not fail for its count, for example on a disk that is mounted read-only; the agent
        # handles its counts the same way.
        try:
            self._with_key(root, rel, self._usage.record_read)
        except ReadOnlyStore:
            return  # the doctor says so once, not each read
        except UserError as error:
            _log.warning("a use of %s is not counted: %s", rel, error)

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        self._with_key(root, rel, partial(self._note_pin, pinned))

    def _note_write(self, key: str) -> None:
        self._usage.record_write(key, own=self._own, counts=self._counts)

    def _note_pin(self, pinned: bool, key: str) -> None:
        self._usage.set_pinned(key, pinned, own=self._own, counts=self._counts)

    def warn(self, sentence: str) -> None:
        self._warn(sentence)

    @contextlib.contextmanager
    def _counting(self, rel: str) -> Iterator[None]:
        """Turn a failure of the sidecar into a warning: the file has changed by now."""
        try:
            yield
        except UserError as error:
            why = " ".join(part for part in (error.cause or error.title, error.next_step) if part)
            self._warn(f"{rel} was changed, but its pin and usage count were not updated. {why}")

    def _with_key(self, root: ScopeRoot, rel: str, change: Callable[[str], object]) -> None:
        key = self._home.usage_key(root, rel)
        if key is not None:
            change(key)
