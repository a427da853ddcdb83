"""Changes that an agent made itself, proven by its transcripts.

Threading: blocking, any thread but the GUI's. Failure: an unreadable transcript proves nothing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reverie.agents.base import AgentWriter, Home, SessionPlace
from reverie.agents.scopes import COMPANIONS
from reverie.agents.transcripts import MemoryCall
from reverie.errors import UserError
from reverie.memory.commands import MUTATING, insert_after, normalise, replace_once
from reverie.memory.history.roots import SeenChange
from reverie.memory.paths import MemoryPath, parse_memory_path
from reverie.memory.write_log import attribution_log
from reverie.values import Struct

_MOST_SESSIONS = 8
_MOST_CALLS = 100
# The agent records the start of a call; another snapshot may have been made before the call ended.
_SLACK_MS = 60_000
_PATTERN = re.compile(r"\$[$&`']")

FileKey = tuple[str, str]
"""A file, as the key of its root and its path below the root."""


class _ToolWrite(Struct, frozen=True):
    """One call of a memory tool of the agent that changes a file or a folder."""

    call: MemoryCall
    """The call as the transcript records it, with its time."""
    command: str
    """The memory command, such as "create"; "memory_write" for the tool of the agent's memory writer."""
    fields: Mapping[str, object]
    """The arguments of the command."""
    place: FileKey
    """The file or folder that is changed; for a rename, its old path."""
    target: FileKey | None = None
    """The new path of what is renamed; None for any other command."""


class _UnknownError(Exception):
    """Raised if an agent's tool call cannot be replayed.

    The content of the file before the call is unknown, or the call cannot be applied to that content.
    """


class AgentWrites:
    """The memory tool calls of one home's agent, which prove that the agent itself made a change.

    The calls since the last snapshot of the home (commit to its history) are read from the agent's
    transcripts, and replayed on the contents that this snapshot stored. A change counts as the agent's only
    if a replayed call results in exactly the new bytes (or in no file, for a deletion or rename). To limit
    the cost, only the newest calls are read, from the transcripts that changed last. From an unreadable
    transcript no change is attributed to the agent, and no error is raised.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._read: dict[Path, tuple[object, tuple[MemoryCall, ...]]] = {}

    def of(self, changes: Sequence[SeenChange], since_ms: int | None) -> frozenset[FileKey]:
        """Return the keys of the files in `changes` that the agent changed.

        `since_ms`: the time of the last snapshot (UTC ms); None if there is none yet: then the result is
        empty.
        """
        if since_ms is None or not changes:
            return frozenset()
        try:
            writes = self._writes(since_ms - _SLACK_MS)
        except UserError as error:
            attribution_log.info("the agent's transcripts say nothing of who wrote a memory: %s", error)
            return frozenset()
        touched = {place for write in writes for place in (write.place, write.target) if place is not None}
        wanted = [change for change in changes if _is_touched((change.key, change.rel), touched)]
        return frozenset(_matching(wanted, writes)) if wanted else frozenset()

    def _writes(self, since_ms: int) -> list[_ToolWrite]:
        """Return the agent's newest calls that change a memory, at most `_MOST_CALLS`, oldest first.

        They are read from the transcripts that changed last. Calls before `since_ms` (UTC ms) are left out.
        """
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
        stamps = ((place, writer.transcript(place.workspace_id).stamp()) for place in places)
        changed = [(max(stamp)[0], place) for place, stamp in stamps if stamp]
        return [place for _at, place in sorted(changed, key=lambda each: -each[0])[:_MOST_SESSIONS]]

    def _calls(self, writer: AgentWriter, place: SessionPlace) -> tuple[MemoryCall, ...]:
        transcript = writer.transcript(place.workspace_id)
        stamp = transcript.stamp()
        known = self._read.get(place.directory)
        if known is None or known[0] != stamp:
            if len(self._read) > 4 * _MOST_SESSIONS:
                self._read.clear()
            known = self._read[place.directory] = (stamp, transcript.memory_calls())
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
            raise UserError("This is not the path of a memory.")
        root = self._home.scope_root(self._home.context(workspace_id=workspace_id), path.scope)
        return root.key, path.rel


def _is_touched(place: FileKey, touched: set[FileKey]) -> bool:
    key, rel = place
    parts = rel.split("/")
    return any((key, "/".join(parts[:length])) in touched for length in range(1, len(parts) + 1))


def _matching(changes: Sequence[SeenChange], writes: Sequence[_ToolWrite]) -> set[FileKey]:
    """Return the files in `changes` whose new content results from replaying `writes` on the old content.

    `writes`: the agent's tool calls that write, oldest first. The replay starts once at each call, because it
    is unknown which of the calls the old content already includes.
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
    """A replay of tool calls on copies of the contents that the files had before the calls.

    `expand`: whether `$&` and the like in a replacement text are expanded, as the agent's own JavaScript code
    does (formats/mux.md section 6).
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
