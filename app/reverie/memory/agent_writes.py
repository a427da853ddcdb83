"""Which changes the agent made itself: those whose content is what a memory tool call in one of the
transcripts in use wrote there (design.md section 4, "Actor").

Never guessed. The calls made since the last snapshot are done once more, on the contents that the history
holds; a change is the agent's if a call leaves exactly its bytes (or nothing, where it was deleted or renamed
away). Whatever else changed the file, the bytes are then others, and it stays "outside".

What it costs is bounded: the sessions whose transcripts changed last, their last bytes, the newest calls. A
transcript is read again only when it changed. The agent that writes a file and is slow to tell of it in its
transcript is not waited for.

Threading: any thread but the GUI's, under the history's lock. Failure: nobody is kept from a snapshot; what
cannot be read says nothing.
"""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reverie.errors import MendableError
from reverie.homes.base import Home
from reverie.homes.listing import SessionPlace
from reverie.homes.scopes import COMPANIONS
from reverie.memory.commands import MUTATING, insert_after, normalise, replace_once
from reverie.memory.history_shares import SeenChange
from reverie.memory.paths import MemoryPath, parse_memory_path
from reverie.transcripts.memory_calls import STREAMED, MemoryCall, newest_memory_calls
from reverie.transcripts.mux import FILES

_log = logging.getLogger("reverie.history")

_MOST_SESSIONS = 8
_MOST_CALLS = 100
# The agent notes when a call was begun; a snapshot of something else may have been made before it was over.
_SLACK_MS = 60_000
_PATTERN = re.compile(r"\$[$&`']")

Place = tuple[str, str]
"""Root key and path below it."""


@dataclass(frozen=True, slots=True)
class _Write:
    """A call with its paths found: `place`, and `target` of a rename."""

    call: MemoryCall
    command: str
    fields: Mapping[str, object]
    place: Place
    target: Place | None = None


class _UnknownError(Exception):
    """Nobody knows what the file held, or the call does not fit it."""


class AgentWrites:
    """The memory tool calls of one home's agent."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._read: dict[Path, tuple[object, tuple[MemoryCall, ...]]] = {}

    def of(self, changes: Sequence[SeenChange], since_ms: int | None) -> frozenset[Place]:
        """The changes that are the agent's. `since_ms`: when the history was last brought up to date; what
        was there before it began is nobody's change."""
        if since_ms is None or not changes:
            return frozenset()
        try:
            writes = self._writes(since_ms - _SLACK_MS)
        except MendableError as error:
            _log.info("the agent's transcripts say nothing of who wrote a memory: %s", error)
            return frozenset()
        touched = {place for write in writes for place in (write.place, write.target) if place is not None}
        wanted = [change for change in changes if _is_touched((change.key, change.rel), touched)]
        return frozenset(_matching(wanted, writes)) if wanted else frozenset()

    def _writes(self, since_ms: int) -> list[_Write]:
        """The newest calls of the sessions in use, oldest first."""
        found: list[_Write] = []
        for place in self._newest(self._home.sessions_in_use()):
            for call in self._calls(place.directory):
                if call.at_ms >= since_ms:
                    # A path that no file can have was written nowhere.
                    with contextlib.suppress(MendableError):
                        found += self._write(place.workspace_id, call)
        found.sort(key=lambda write: write.call.at_ms)
        return found[-_MOST_CALLS:]

    @staticmethod
    def _newest(places: Sequence[SessionPlace]) -> list[SessionPlace]:
        changed = [(max(stamp)[0], place) for place in places if (stamp := _stamp(place.directory))]
        return [place for _at, place in sorted(changed, key=lambda each: -each[0])[:_MOST_SESSIONS]]

    def _calls(self, directory: Path) -> tuple[MemoryCall, ...]:
        stamp = _stamp(directory)
        known = self._read.get(directory)
        if known is None or known[0] != stamp:
            if len(self._read) > 4 * _MOST_SESSIONS:
                self._read.clear()
            known = self._read[directory] = (stamp, newest_memory_calls(directory))
        return known[1]

    def _write(self, workspace_id: str, call: MemoryCall) -> Iterator[_Write]:
        if call.tool == "memory_write":
            place = self._home.writer_place(workspace_id)
            file = place.memory_file if place is not None else None
            if file is not None and file.is_relative_to(self._home.root):
                rel = file.relative_to(self._home.root).as_posix()
                yield _Write(call, "memory_write", call.input, (COMPANIONS, rel))
            return
        fields = normalise(call.input)
        command = fields.get("command")
        if command not in MUTATING:
            return
        renames = command == "rename"
        place_of = self._place(workspace_id, fields.get("old_path" if renames else "path"))
        target = self._place(workspace_id, fields.get("new_path")) if renames else None
        yield _Write(call, str(command), fields, place_of, target)

    def _place(self, workspace_id: str, text: object) -> Place:
        path: MemoryPath = parse_memory_path(str(text))
        if path.scope is None:
            raise MendableError("That is no memory.")
        root = self._home.scope_root(self._home.context(workspace_id=workspace_id), path.scope)
        return root.key, path.rel


def _stamp(directory: Path) -> list[tuple[int, int, int]]:
    """When the files of a transcript changed last, their sizes and identities."""
    found = []
    for name in (*FILES, STREAMED):
        with contextlib.suppress(OSError):
            status = (directory / name).stat()
            found.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return found


def _is_touched(place: Place, touched: set[Place]) -> bool:
    key, rel = place
    parts = rel.split("/")
    return any((key, "/".join(parts[:length])) in touched for length in range(1, len(parts) + 1))


def _matching(changes: Sequence[SeenChange], writes: Sequence[_Write]) -> set[Place]:
    """Do the calls again, from each of them on: which of them the history has already, nobody knows."""
    before = {(change.key, change.rel): change.before() for change in changes}
    after = {(change.key, change.rel): change.after() for change in changes}
    found: set[Place] = set()
    for expand in (True, False):
        for start in range(len(writes)):
            again = _Again(before, after, expand)
            for write in writes[start:]:
                with contextlib.suppress(_UnknownError, MendableError, UnicodeError):
                    again.do(write)
            found |= again.found
            if len(found) == len(after):
                return found
    return found


class _Again:
    """Calls done again on what files held. `expand`: replacement text is expanded as JavaScript does, which
    is what the agent's own code does with it (formats/mux.md section 6)."""

    def __init__(
        self, before: Mapping[Place, bytes | None], after: Mapping[Place, bytes | None], expand: bool
    ) -> None:
        self._now = dict(before)
        self._after = after
        self._expand = expand
        self.found: set[Place] = set()

    def do(self, write: _Write) -> None:
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
                line, added = int(str(write.fields["insert_line"])), str(write.fields.get("insert_text", ""))
                self._put(write.place, insert_after(_named(write), self._text(write.place), line, added))
            case "memory_write":
                self._memory_write(write)
            case _:
                pass

    def _replace(self, write: _Write) -> None:
        text, old = self._text(write.place), str(write.fields.get("old_str", ""))
        new = str(write.fields.get("new_str", ""))
        if not old:
            raise _UnknownError
        if self._expand:
            new = _expanded(text, old, new)
        self._put(write.place, replace_once(_named(write), text, old, new))

    def _memory_write(self, write: _Write) -> None:
        told = write.fields
        old, new, count = told.get("old_string"), told.get("new_string"), told.get("replace_count") or 1
        if not isinstance(old, str) or not isinstance(new, str) or not isinstance(count, int):
            raise _UnknownError
        if old:
            self._put(write.place, self._text(write.place).replace(old, new, count))
        elif not self._now.get(write.place):
            self._put(write.place, new)

    def _text(self, place: Place) -> str:
        content = self._now.get(place)
        if content is None:
            raise _UnknownError
        return content.decode("utf-8")

    def _put(self, place: Place, text: str) -> None:
        self._set(place, text.encode("utf-8"))

    def _set(self, place: Place, content: bytes | None) -> None:
        self._now[place] = content
        if place in self._after and self._after[place] == content:
            self.found.add(place)

    def _below(self, place: Place) -> list[Place]:
        key, rel = place
        return [
            each
            for each, content in self._now.items()
            if content is not None and each[0] == key and (each[1] == rel or each[1].startswith(f"{rel}/"))
        ]


def _named(write: _Write) -> MemoryPath:
    return MemoryPath(None, tuple(write.place[1].split("/")))


def _expanded(text: str, old: str, new: str) -> str:
    at = text.find(old)
    parts = {"$$": "$", "$&": old, "$`": text[:at], "$'": text[at + len(old) :]}
    return _PATTERN.sub(lambda found: parts[found.group()], new) if at >= 0 else new
