"""Looks again at what Reverie wrote, and notices when another program overwrites it.

An agent may read a file, work, and replace it without looking again; what Reverie saved in between is lost
then, although the save succeeded. So every write is remembered for a few seconds. When the file becomes
another that lacks the change, the write counts as overwritten: its text is kept as a draft, so that the
window offers it again, and whoever asked learns of it. A version that contains the change, or moves it about,
is no loss; neither is one that differs in front matter that the agent rewrites itself (`Home.essence`).

`check` looks at once, for a watcher that saw a change; `settle` waits first where an agent is at work, for a
command that is about to end. The text is held in memory until then, as the history may not have seen it.

Threading: any thread but the GUI's; a lock guards what is remembered. Failure: a file that cannot be read
counts as unchanged and is looked at again; a draft that cannot be kept is a line in the log, and the report
says that there is none.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import comparable
from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.errors import UserError
from reverie.files.paths import read_regular
from reverie.memory.paths import memory_path

if TYPE_CHECKING:
    from reverie.agents.base import Home
    from reverie.services.container import HomeContainer

_log = logging.getLogger("reverie.memory")

WATCHED_S = 10.0
"""For how long after a write a foreign version counts as overwriting it."""
SETTLE_S = 1.5
"""How long a command waits where an agent is at work."""
_BUSY_S = 15.0
_MOST_BYTES = 4 << 20
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class LostSave:
    """A write of ours that another program overwrote."""

    path: str
    """The memory path."""
    at_ms: int
    """When Reverie wrote it, UTC ms."""
    text: str | None
    """What Reverie wrote; None where it deleted the file, which is there again."""
    kept: bool
    """Whether the text is kept as a draft."""

    def sentence(self) -> str:
        """What a person should know, with the next step."""
        if self.text is None:
            return f"{self.path} was deleted, and another program wrote it again."
        offered = " The text is kept as a draft, which the window offers." if self.kept else ""
        return f"{self.path} was saved, and another program overwrote it.{offered}"


@dataclass(frozen=True, slots=True)
class _WatchedWrite:
    root: ScopeRoot
    rel: str
    context: ScopeContext | None
    before: bytes | None
    after: bytes | None
    at_ms: int
    until: float
    done: bool = False
    """The write is known to have happened. Until then a file that is as before was not overwritten."""


class SaveWatch:
    """What Reverie wrote into one home in the last seconds. `now`: seconds that only grow."""

    def __init__(self, parts: HomeContainer, *, now: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._now = now
        self._lock = threading.Lock()
        self._writes: dict[Path, _WatchedWrite] = {}
        self._unreported: list[LostSave] = []

    def writing(self, root: ScopeRoot, rel: str, after: bytes | None, context: ScopeContext | None) -> None:
        """A file is about to become `after` (None: to go). `context` None: no draft can be made of it."""
        path = root.directory / rel
        # What was overwritten since the last check would be forgotten with the write that follows it.
        lost = self._check([path])
        found, before = _content(path)
        with self._lock:
            self._unreported += lost
            known = self._writes.get(path)
            if known is not None and found and before == known.after and self._now() < known.until:
                before = known.before  # both changes must last
            write = _WatchedWrite(
                root, rel, context, before, after, self._parts.clock(), self._now() + WATCHED_S
            )
            self._writes.pop(path, None)
            if before != after and len(self._writes) < _MOST:
                self._writes[path] = write

    def wrote(self, path: Path) -> None:
        """The write to `path`, and to what lies below it, has happened."""
        with self._lock:
            for known, write in self._writes.items():
                if known == path or known.is_relative_to(path):
                    self._writes[known] = replace(write, done=True)

    def check(self, paths: Collection[Path] | None = None) -> tuple[LostSave, ...]:
        """The writes (to `paths`; None: all) that were overwritten since; each is reported once."""
        lost = self._check(paths)
        with self._lock:
            earlier, self._unreported = self._unreported, []
        return (*earlier, *lost)

    def _check(self, paths: Collection[Path] | None) -> tuple[LostSave, ...]:
        with self._lock:
            for path in [path for path, write in self._writes.items() if self._now() >= write.until]:
                del self._writes[path]  # what somebody changes later is a change like any other
            wanted = [(path, write) for path, write in self._writes.items() if paths is None or path in paths]
        lost = []
        for path, write in wanted:
            found, content = _content(path)
            if not found or content == write.after:
                if found and not write.done:
                    self.wrote(path)
                continue
            if content == write.before and not write.done:
                continue  # it failed, and whoever asked for it knows
            if self._contains(write, content):
                continue  # a later version may still drop it
            if self._is_ours(path, write, content):
                self._forget(path, write)
                continue
            with self._lock:
                if self._writes.get(path) is not write:
                    continue  # written again meanwhile
                del self._writes[path]
            lost.append(self._lost(write))
        return tuple(lost)

    def settle(self) -> tuple[LostSave, ...]:
        """As `check`; where an agent is at work, after a moment in which it may still overwrite something."""
        lost = list(self.check())
        with self._lock:
            newest = max((write.until for write in self._writes.values()), default=None)
        if newest is None or not self._agent_is_at_work():
            return tuple(lost)
        end = newest - WATCHED_S + SETTLE_S
        while self._now() < end:
            time.sleep(0.1)
            lost += self.check()
        return tuple(lost)

    def _forget(self, path: Path, write: _WatchedWrite) -> None:
        with self._lock:
            known = self._writes.get(path)
            if known is not None and known.until == write.until:
                del self._writes[path]

    def _is_ours(self, path: Path, write: _WatchedWrite, content: bytes | None) -> bool:
        """Whether a Reverie of this profile wrote that version later, such as a run in another process."""
        from reverie.memory.store import sha256_of_bytes

        try:
            author = self._parts.actors.actor_of(path, sha256_of_bytes(content))
        except UserError:
            return False
        return author is not None and author.at_ms > write.at_ms

    def _contains(self, write: _WatchedWrite, content: bytes | None) -> bool:
        if write.after is None or content is None:
            return write.after is content
        return contains_change(self._parts.home, write.before, write.after, content)

    def _lost(self, write: _WatchedWrite) -> LostSave:
        path = str(memory_path(write.root.scope, write.rel))
        text = None if write.after is None else write.after.decode("utf-8", "replace")
        return LostSave(path, write.at_ms, text, self._keep(write, path, text))

    def _keep(self, write: _WatchedWrite, path: str, text: str | None) -> bool:
        from reverie.memory.store import sha256_of_bytes
        from reverie.services.drafts import Draft, DraftService

        if text is None or write.context is None:
            return False
        base = None if write.before is None else write.before.decode("utf-8", "replace")
        draft = Draft(
            store=write.root.key,
            rel=write.rel,
            path=path,
            context=write.context,
            content=text,
            base=base,
            base_sha256=sha256_of_bytes(write.before),
            cursor=0,
            at_ms=write.at_ms,
            overwritten=True,
        )
        try:
            DraftService(self._parts, os.urandom(4).hex()).keep(draft)
        except UserError as error:
            _log.warning("an overwritten save is not kept as a draft: %s", error)
            return False
        return True

    def _agent_is_at_work(self) -> bool:
        """Whether a transcript of the home grew in the last seconds."""
        sessions = self._parts.home.sessions
        try:
            places = () if sessions is None else sessions.sessions_in_use()
        except UserError:
            return False
        for place in places:
            for name in place.files[-1:]:
                try:
                    age = time.time() - (place.directory / name).stat().st_mtime
                except OSError:
                    continue
                if age < _BUSY_S:
                    return True
        return False


def contains_change(home: Home, before: bytes | None, after: bytes, now: bytes) -> bool:
    """Whether the change from `before` to `after` is in `now`: its new lines are there, and the lines that it
    took away are not back. Pure."""
    old, ours, theirs = (_lines(home, content) for content in (before, after, now))
    added, removed = ours - old, old - ours
    if any(theirs[line] < ours[line] for line in added):
        return False
    return not removed & (theirs - ours)


def _lines(home: Home, content: bytes | None) -> Counter[str]:
    """What a text says, line by line, without its shape."""
    text = "" if content is None else content.decode("utf-8", "replace")
    said = comparable(home, text).text.splitlines()
    return Counter(bare for line in said if (bare := line.strip()) and bare != "---")


def _content(path: Path) -> tuple[bool, bytes | None]:
    """Whether the file could be looked at, and its bytes; None for no file."""
    try:
        return True, read_regular(path, _MOST_BYTES, follow=False)
    except FileNotFoundError:
        return True, None
    except OSError:
        return False, None
