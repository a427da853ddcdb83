"""Drafts: text that was typed but not saved, or saved and then overwritten by another program.

`DraftService` keeps drafts outside the home, so that neither a crash nor a kill loses text. Layout:
`<state>/drafts/<home id>/<sha256 of store and path>-<instance>.json`, mode 0600 in a directory of 0700,
written atomically. The name consists of a digest, so that a memory's name cannot lead out of the directory,
and of the id of the window (`instance`), so that two windows (or an old draft and new typing) never share a
file. A draft carries its own checksum; one that does not match is renamed to `.damaged`, reported once and
never deleted. A draft is offered when the process in which it was typed (a client of the engine) has ended;
if the file has its text by then, the draft is removed.

`SaveWatch` remembers each write for a few seconds. An agent may read a file, work, and replace the file
without reading it again, so that a save in between is lost. When the file changes to a version that lacks the
saved change, the saved text is stored as a draft and reported. Nothing is lost if the new version contains
the change, possibly elsewhere, or differs only in front matter that the agent rewrites
(`agents.base.comparable`). During these seconds the saved text is held in memory, as the history may not have
it yet.

Threading: blocking, any thread but the GUI's; a lock guards the data of `SaveWatch`. Failure: `UserError`. If
`SaveWatch` cannot read a file, the file counts as unchanged and is read again later; if it cannot store a
draft, this is logged and reported. The text of a draft is never logged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Protocol

from reverie.agents.base import Companion, Home, comparable
from reverie.agents.scopes import ProjectGap, ScopeContext, ScopeRoot
from reverie.clock import Clock
from reverie.errors import UserError, user_error_from_os
from reverie.files.atomic import atomic_write, sweep_temporaries
from reverie.files.directory import ensure_private, read_regular
from reverie.files.locks import ProcessId, is_alive, process_id, this_process
from reverie.memory.history.repository import merge_versions
from reverie.memory.paths import memory_path, parse_memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.write_log import WriteLog
from reverie.profile import Profile
from reverie.services.views import DRAFT_NAME, Draft, FileText, LostSave, Offer, Offers, draft_name
from reverie.values import Struct, astuple, columns, replace

_log = logging.getLogger("reverie.memory")

COMPANION_STORE = "companion"
_STALE_S = 3600.0

WATCHED_S = 10.0
"""The seconds after a write in which a new version by another program can count as overwriting the write."""
SETTLE_S = 1.5
"""The seconds that a command waits for an agent at work, which may still overwrite files."""
_BUSY_S = 15.0
_MOST_BYTES = 4 << 20
_MOST = 5_000


class DraftHome(Protocol):
    """The attributes of an open home that are needed to store drafts, the unsaved texts of the editor."""

    home: Home
    home_id: str
    profile: Profile
    clock: Clock

    @property
    def actors(self) -> WriteLog: ...


class DraftClient(Protocol):
    """A client of the engine, such as a window, in which a person types drafts."""

    @property
    def pid(self) -> int:
        """The process id of the client; while this process runs, its drafts are not offered to others."""


CurrentText = Callable[[ScopeContext, str, Companion | None], FileText]
"""A function that reads a memory by its path, or a companion, as the editor would show it now."""


def drafts_directory(profile: Profile, home_id: str) -> Path:
    """Return the directory of the drafts of a home."""
    return profile.state / "drafts" / home_id


def write_draft(home: DraftHome, draft: Draft, instance: str, owner: ProcessId) -> str:
    """Write a draft, an unsaved text, durably to a file; return the name of the file.

    `instance`: the id of the window; `owner`: the process in which the text was typed.
    """
    name = draft_name(draft.store, draft.rel, instance)
    directory = drafts_directory(home.profile, home.home_id)
    ensure_private(directory)
    atomic_write(directory / name, _document(draft, owner), mode=0o600)
    return name


class DraftService:
    """The drafts of one home: texts that a person typed but did not save.

    `read` returns the present version of the file that a draft belongs to.
    """

    def __init__(self, home: DraftHome, read: CurrentText) -> None:
        self._home = home
        self._read_current = read
        self._directory = drafts_directory(home.profile, home.home_id)

    def keep(
        self,
        draft: Draft,
        instance: str,
        *,
        replaces: Collection[str] = (),
        client: DraftClient | None = None,
    ) -> str:
        """Write a draft, durably, then delete the drafts with the names `replaces`; return the new file name.

        `instance`: the id of the window. `client`: the client in which the text was typed; None: this
        process.
        """
        name = write_draft(self._home, draft, instance, _process_of(client))
        self.drop([old for old in replaces if old != name])
        return name

    def drop(self, names: Collection[str]) -> None:
        """Delete the drafts with these file names, because their text was saved or discarded."""
        for name in names:
            if not DRAFT_NAME.fullmatch(name):
                raise ValueError("not the name of a draft")
            try:
                with contextlib.suppress(FileNotFoundError):
                    (self._directory / name).unlink()
            except OSError as error:
                raise user_error_from_os(error, "The draft could not be removed.") from error

    def offered(self, instance: str, *, client: DraftClient | None = None) -> Offers:
        """Return every draft that no open window is still editing, and the draft files that are damaged.

        `instance` and `client`: the window and the client (None: this process) that request the drafts. The
        drafts of that window are left out; drafts of other windows of the same client count as drafts of
        closed windows. The draft of an overwritten save is always returned, because no window edits it.
        """
        own = _process_of(client)
        offers: list[Offer] = []
        damaged: list[Path] = []
        for name in self._names():
            found = self._read(name)
            if isinstance(found, Path):
                damaged.append(found)
            elif found is not None and not name.endswith(f"-{instance}.json"):
                draft, owner = found
                # Drafts of this process are from closed windows, and overwritten text is in no window.
                if draft.overwritten or owner.pid == own.pid or not is_alive(owner):
                    offer = self._offer(name, draft)
                    if offer is not None:
                        offers.append(offer)
        newest_first = sorted(offers, key=lambda offer: offer.draft.at_ms, reverse=True)
        return Offers(tuple(newest_first), tuple(damaged))

    def offer(self, name: str) -> Offer | None:
        """Return the draft with the file name `name`, together with the file that it belongs to.

        None if the draft no longer exists or the file already has its text.
        """
        found = self._read(name)
        return self._offer(name, found[0]) if isinstance(found, tuple) else None

    def _names(self) -> list[str]:
        try:
            names = sorted(entry.name for entry in os.scandir(self._directory))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise user_error_from_os(error, "The drafts could not be listed.") from error
        sweep_temporaries(self._directory, older_than_s=_STALE_S)
        return [name for name in names if DRAFT_NAME.fullmatch(name)]

    def _read(self, name: str) -> tuple[Draft, ProcessId] | Path | None:
        """Return a draft and the process in which it was typed; None if there is no draft of this name.

        If its file is damaged, rename it and return its new path.
        """
        path, renamed = self._directory / name, self._directory / f"{name}.{os.urandom(4).hex()}.damaged"
        try:
            data = read_regular(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise user_error_from_os(error, "The draft could not be read.") from error
        try:
            return _parsed(data)
        except ValueError:
            pass
        try:
            return path.rename(renamed)
        except OSError as error:
            raise user_error_from_os(error, "The damaged draft could not be renamed.") from error

    def _offer(self, name: str, draft: Draft) -> Offer | None:
        home = self._home.home
        companion: Companion | None = None
        disk: FileText | None = None
        gap = ""
        try:
            if draft.store == COMPANION_STORE:
                companion = self._companion(draft)
            else:
                scope = parse_memory_path(draft.path).scope
                if scope is None or home.scope_root(draft.context, scope).key != draft.store:
                    raise UserError(
                        "The folder of this draft is no longer used.",
                        next_step="Copy the draft into another memory.",
                    )
            disk = self._read_current(draft.context, draft.path, companion)
        except UserError as error:
            gap = "" if error.reason == "missing" else str(error)
        if disk is not None and disk.read_only:
            gap = disk.read_only
        elif disk is not None and _holds(home, draft, disk):
            self.drop([name])
            return None
        return Offer(name, draft, disk, companion, gap)

    def _companion(self, draft: Draft) -> Companion:
        for companion in self._home.home.companions(draft.context):
            if str(companion.path) == draft.rel:
                return companion
        raise UserError("The agent no longer loads this file.", next_step="Copy the draft into another file.")


def _process_of(client: DraftClient | None) -> ProcessId:
    return this_process() if client is None else process_id(client.pid)


def _document(draft: Draft, owner: ProcessId) -> bytes:
    body = columns(draft, _COLUMNS) | {"owner": astuple(owner)}
    return json.dumps({"check": _check(body), "draft": body}).encode("ascii")


_COLUMNS = (
    "store rel path workspace=context.workspace_id project=context.project_path gap=context.project_gap "
    "content base base_sha256 cursor at=at_ms overwritten"
)
"""The attributes of a draft and their keys in its file, for `columns`."""


def _check(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("ascii")).hexdigest()


def _parsed(data: bytes) -> tuple[Draft, ProcessId]:
    """Return the draft (unsaved text) in the data of its file, and the process in which it was typed.

    Raises ValueError if the data are damaged. The types of the fields need no check of their own, because the
    checksum covers them.
    """
    try:
        document = json.loads(data)
        body = document["draft"]
        if _check(body) != document["check"]:
            raise ValueError("the checksum does not match")
        gap = body["gap"] and ProjectGap(body["gap"])
        context = ScopeContext(body["workspace"], body["project"], gap)
        draft = Draft(
            store=body["store"],
            rel=body["rel"],
            path=body["path"],
            context=context,
            content=body["content"],
            base=body["base"],
            base_sha256=body["baseSha256"],
            cursor=body["cursor"],
            at_ms=body["at"],
            # Earlier versions wrote this field only if it was true.
            overwritten=body.get("overwritten", False),
        )
        return draft, ProcessId(*body["owner"])
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("a field is missing") from error


class _WatchedWrite(Struct, frozen=True):
    """One write by Reverie, with the time until which Reverie notices if another program overwrites it."""

    root: ScopeRoot
    rel: str
    context: ScopeContext | None
    before: bytes | None
    """The content of the file before the write; None for no file."""
    after: bytes | None
    """The content of the file after the write; None for no file."""
    at_ms: int
    until: float
    """The end of the watch, in seconds of the monotonic clock."""
    done: bool = False
    """True if the write is known to have happened.

    Until then, a file with its earlier content does not count as overwritten.
    """


class SaveWatch:
    """A log of the latest writes of Reverie into one home, to notice when another program overwrites them.

    `now`: a monotonic clock, in seconds.
    """

    def __init__(self, home: DraftHome, *, now: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._now = now
        self._lock = threading.Lock()
        self._writes: dict[Path, _WatchedWrite] = {}
        self._unreported: list[LostSave] = []

    def writing(self, root: ScopeRoot, rel: str, after: bytes | None, context: ScopeContext | None) -> None:
        """Register a write before it is made.

        `after` is the new content of the file, None if the file is removed. `context`: where the editor shows
        the file; None: unknown, so that the text of an overwritten write cannot be kept as a draft.
        """
        path = root.directory / rel
        # Check first: the entry of an earlier write to this path is replaced below.
        lost = self._check([path])
        found, before = _content(path)
        with self._lock:
            self._unreported += lost
            known = self._writes.get(path)
            if known is not None and found and before == known.after and self._now() < known.until:
                before = known.before  # both changes must last
            write = _WatchedWrite(
                root, rel, context, before, after, self._home.clock(), self._now() + WATCHED_S
            )
            self._writes.pop(path, None)
            if before != after and len(self._writes) < _MOST:
                self._writes[path] = write

    def wrote(self, path: Path) -> None:
        """Record that the registered writes to `path`, and to files below that path, have been made."""
        with self._lock:
            for known, write in self._writes.items():
                if known == path or known.is_relative_to(path):
                    self._writes[known] = replace(write, done=True)

    def check(self, paths: Collection[Path] | None = None) -> tuple[LostSave, ...]:
        """Return the registered writes to `paths` (None: all) that were overwritten, each only once."""
        lost = self._check(paths)
        with self._lock:
            earlier, self._unreported = self._unreported, []
        return (*earlier, *lost)

    def _check(self, paths: Collection[Path] | None) -> tuple[LostSave, ...]:
        with self._lock:
            for path in [path for path, write in self._writes.items() if self._now() >= write.until]:
                del self._writes[path]  # a later change does not count as overwriting
            wanted = [(path, write) for path, write in self._writes.items() if paths is None or path in paths]
        lost = []
        for path, write in wanted:
            found, content = _content(path)
            if not found or content == write.after:
                if found and not write.done:
                    self.wrote(path)
                continue
            if content == write.before and not write.done:
                continue  # the write failed, and its caller got the error
            if self._contains(write, content):
                continue  # a later version may still drop it
            is_ours = self._is_ours(path, write, content)
            with self._lock:
                known = self._writes.get(path)
                if known is None or known.until != write.until:
                    continue  # written again meanwhile
                del self._writes[path]
            if not is_ours:
                lost.append(self._lost(write))
        return tuple(lost)

    def settle(self) -> tuple[LostSave, ...]:
        """Wait a moment if an agent is at work and may still overwrite files, then return `check()`."""
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

    def _is_ours(self, path: Path, write: _WatchedWrite, content: bytes | None) -> bool:
        """Return True if Reverie, with this profile, wrote `content` (None: deleted the file) after `write`.

        The writer may be a run in another process.
        """
        try:
            author = self._home.actors.actor_of(path, sha256_of_bytes(content))
        except UserError:
            return False
        return author is not None and author.at_ms > write.at_ms

    def _contains(self, write: _WatchedWrite, content: bytes | None) -> bool:
        if write.after is None or content is None:
            return write.after is content
        return contains_change(self._home.home, write.before, write.after, content)

    def _lost(self, write: _WatchedWrite) -> LostSave:
        """Return the report of an overwritten write, and store its text as a draft if that is possible."""
        path, kept = str(memory_path(write.root.scope, write.rel)), False
        text = None if write.after is None else write.after.decode("utf-8", "replace")
        if text is not None and write.context is not None:
            draft = Draft(
                store=write.root.key,
                rel=write.rel,
                path=path,
                context=write.context,
                content=text,
                base=None if write.before is None else write.before.decode("utf-8", "replace"),
                base_sha256=sha256_of_bytes(write.before),
                cursor=0,
                at_ms=write.at_ms,
                overwritten=True,
            )
            try:
                write_draft(self._home, draft, os.urandom(4).hex(), this_process())
                kept = True
            except UserError as error:
                _log.warning("an overwritten save is not kept as a draft: %s", error)
        return LostSave(path, write.at_ms, text, kept)

    def _agent_is_at_work(self) -> bool:
        """Return True if a transcript of the home grew in the last few seconds."""
        sessions = self._home.home.sessions
        try:
            places = () if sessions is None else sessions.sessions_in_use()
        except UserError:
            return False
        for path in (place.directory / name for place in places for name in place.files[-1:]):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime < _BUSY_S:
                    return True
        return False


def contains_change(home: Home, before: bytes | None, after: bytes, now: bytes) -> bool:
    """Return True if `now` contains the change from `before` to `after`, which are contents of a file.

    `before` is None if there was no file. `now` must have all lines that the change added. A change that only
    removed lines is contained if `now` has none of these lines. Pure.
    """
    old, ours, theirs = (_lines(home, content) for content in (before, after, now))
    added, removed = ours - old, old - ours
    if added:
        return all(theirs[line] >= ours[line] for line in added)
    return not removed & (theirs - ours)


def _holds(home: Home, draft: Draft, disk: FileText) -> bool:
    """Return True if the file `disk` already contains the text of the draft.

    It does if merging the draft into the file changes nothing. For a draft of an overwritten save, it is
    enough that the file contains the change of that save.
    """
    texts = (draft.base, draft.content, disk.content)
    base, text, now = ((each or "").encode("utf-8", "surrogatepass") for each in texts)
    if text == now:
        return True
    merge = merge_versions(base, now, text)
    if not merge.conflict and merge.content == now and draft.base is not None:
        return True
    is_change = _lines(home, base) != _lines(home, text)
    return draft.overwritten and is_change and contains_change(home, base, text, now)


def _lines(home: Home, content: bytes | None) -> Counter[str]:
    """Return how often each line, stripped, occurs in a text, without empty lines and front matter fences.

    A content of None (no file) has no lines.
    """
    text = "" if content is None else content.decode("utf-8", "replace")
    lines = comparable(home, text).text.splitlines()
    return Counter(bare for line in lines if (bare := line.strip()) and bare != "---")


def _content(path: Path) -> tuple[bool, bytes | None]:
    """Return True and the content of a file, None if there is no file; False and None if it is unreadable."""
    try:
        return True, read_regular(path, _MOST_BYTES, follow=False)
    except FileNotFoundError:
        return True, None
    except OSError:
        return False, None
