"""One stint of hosting: from taking the lease of a home to giving it back, the services at work.

What happens: a change of a transcript marks its workspace; a worker takes it, reads what was appended, and
gives each ended turn to the memory writer and each compaction to the triggers of dreams. One workspace is
never worked on twice at a time, so that its turns keep their order; three are at once. Dreams have a lane of
their own, since they may take minutes. Where a tail stands is kept after its turns were dealt with.

What ended while nobody hosted counts as one turn, or a week away would start a hundred runs. In a session
that appears during the stint everything counts that was said since.

Threading: `deliver` from any thread, it only marks; `start` and `stop` from the owner's. The last worker that
leaves releases the lease, so that nobody else begins while a run of ours is still ending.
Failure: a worker survives everything: what a person can mend, and bugs, are entries in Activity.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.errors import MendableError
from reverie.files.coalesce import Changes
from reverie.files.lease import Lease
from reverie.homes.listing import SessionPlace
from reverie.services.parts import HomeParts
from reverie.services.usage_keeping import UsageKeeper
from reverie.transcripts.tail import TailEvent, TailPosition, TranscriptTail

if TYPE_CHECKING:
    from reverie.files.watch import Watcher, WatchState, WatchTarget

_log = logging.getLogger("reverie.host")

_WORKERS = 3
_STOP_S = 2.0
_LIST = ""
"""Stands for looking through the home's list anew, among the ids of workspaces."""
_ENDS = ("turn-end", "aborted", "error")


@dataclass(frozen=True, slots=True)
class HostServices:
    """What a host drives. All block; `MendableError` is told in Activity. `follow` gets a transcript that
    changed, and says whether that was all there is to do: then nothing reads it turn by turn."""

    open_tail: Callable[[str], TranscriptTail | None]
    keep_tail: Callable[[str, TranscriptTail], None]
    turn_ended: Callable[[str, TailEvent], object]
    launched: Callable[[], object]
    compacted: Callable[[str], object]
    archived: Callable[[str], object]
    follow: Callable[[str], bool] = lambda _workspace_id: False


def home_services(parts: HomeParts, cancel: threading.Event) -> HostServices:
    """Memory writer, session notes, triggers and start-up extraction of a home; `cancel` ends what they have
    under way."""
    from reverie.services.background import Background
    from reverie.services.extracting import extract_at_launch
    from reverie.services.noting import NotesFollower
    from reverie.services.writing import open_writer

    writer = open_writer(parts, cancel)
    triggers = Background(parts).triggers(cancel)

    def launched() -> None:
        try:
            triggers.on_launch()
        finally:
            extract_at_launch(parts, cancel)

    return HostServices(
        open_tail=writer.open_tail,
        keep_tail=writer.keep_tail,
        turn_ended=writer.on_turn_end,
        launched=launched,
        compacted=triggers.on_compaction,
        archived=triggers.on_archived,
        follow=NotesFollower(parts, cancel).follow,
    )


class Stint:
    """The services at work, while `lease` is held."""

    def __init__(
        self,
        parts: HomeParts,
        lease: Lease,
        services: Callable[[HomeParts, threading.Event], HostServices],
        *,
        own_watcher: bool,
    ) -> None:
        self._parts = parts
        self.lease = lease
        self._cancel = threading.Event()
        self._services = services(parts, self._cancel)
        self._own_watcher = own_watcher
        self._watcher: Watcher | None = None
        self._began = parts.clock()
        self._wake = threading.Condition()
        self._dirty: dict[str, None] = {}
        self._busy: set[str] = set()
        self._jobs: deque[tuple[str, Callable[[], object]]] = deque()
        self._places: dict[str, SessionPlace] | None = None
        self._files: dict[Path, str] = {}
        self._archived: frozenset[str] = frozenset()
        self._tails: dict[str, TranscriptTail] = {}
        self._fresh: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._left = 0
        self._keeper = UsageKeeper(parts, failed=lambda text: self._say("host.error", text, _LIST, "warning"))
        self.ready = threading.Event()
        """Set once every transcript was looked at for the first time."""

    @property
    def sessions(self) -> int:
        """How many transcripts are followed."""
        return len(self._places or ())

    @property
    def watch_state(self) -> WatchState | None:
        return None if self._watcher is None else self._watcher.state()

    def start(self) -> None:
        """Returns at once."""
        self._mark([_LIST])
        self._jobs.append((_LIST, self._services.launched))
        names = [
            *(f"reverie-host-{number}" for number in range(_WORKERS)),
            *("reverie-host-dreams", "reverie-host-usage"),
        ]
        works = [*([self._work] * _WORKERS), self._dream, self._keep_usage]
        self._threads = [
            threading.Thread(target=self._until_stopped, args=(work,), name=name, daemon=True)
            for name, work in zip(names, works, strict=True)
        ]
        if self._own_watcher:
            self._watch()
        for thread in self._threads:
            thread.start()

    def stop(self) -> bool:
        """End what is under way, within two seconds; whether everything had ended by then."""
        self._cancel.set()
        self._keeper.stop()
        with self._wake:
            self._wake.notify_all()
        deadline = time.monotonic() + _STOP_S
        if self._watcher is not None:
            self._watcher.stop()
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def deliver(self, changes: Changes) -> None:
        """What changed on the disk; only marks who has to look."""
        settings = self._parts.profile.settings_file
        usage = self._parts.home.usage_sidecar
        if usage is not None and (changes.rescan or usage in changes.paths):
            self._keeper.wake()
        if changes.rescan or settings in changes.paths:
            self._parts.forget_settings()
        known = self._files
        marked = {known[path] for path in changes.paths if path in known}
        others = any(path not in known and path not in (settings, usage) for path in changes.paths)
        if changes.rescan:
            marked = set(known.values())
        self._mark([*([_LIST] if changes.rescan or others else []), *marked])

    # The lanes

    def _until_stopped(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._wake:
                self._left += 1
                last = self._left == len(self._threads)
            if last:
                self.lease.release()

    def _work(self) -> None:
        while (key := self._take()) is not None:
            try:
                self._guarded(key, self._list if key == _LIST else partial(self._follow, key))
            finally:
                with self._wake:
                    self._busy.discard(key)
                    if not self._dirty and not self._busy:
                        self.ready.set()
                    self._wake.notify_all()

    def _dream(self) -> None:
        while True:
            with self._wake:
                while not self._jobs and not self._cancel.is_set():
                    self._wake.wait()
                if self._cancel.is_set():
                    return
                workspace_id, job = self._jobs.popleft()
            self._guarded(workspace_id, job)

    def _keep_usage(self) -> None:
        while not self._cancel.is_set():
            self._guarded(_LIST, self._keeper.run)

    def _take(self) -> str | None:
        """The next workspace that nobody works on; None: it is over."""
        with self._wake:
            while not self._cancel.is_set():
                key = next((name for name in self._dirty if name not in self._busy), None)
                if key is not None:
                    del self._dirty[key]
                    self._busy.add(key)
                    return key
                self._wake.wait()
            return None

    def _mark(self, keys: Iterable[str]) -> None:
        with self._wake:
            self._dirty.update(dict.fromkeys(keys))
            self._wake.notify_all()

    def _queue(self, workspace_id: str, job: Callable[[], object]) -> None:
        with self._wake:
            self._jobs.append((workspace_id, job))
            self._wake.notify_all()

    def _guarded(self, key: str, act: Callable[[], object]) -> None:
        try:
            act()
        except MendableError as error:
            self._say("host.error", str(error), key, "warning")
        except Exception as error:  # noqa: BLE001 - logged and told, and the lane goes on
            # One broken workspace must not end the services of the others.
            _log.exception("a background service failed")
            self._say(
                "host.error", f"A background service failed: {type(error).__name__}: {error}", key, "error"
            )

    # Following the home

    def _list(self) -> None:
        """Which transcripts are in use, and who was archived meanwhile."""
        home = self._parts.home
        contents = home.contents()
        places = {place.workspace_id: place for place in home.sessions_in_use()}
        archived = frozenset(workspace.id for workspace in contents.workspaces() if workspace.archived)
        first = self._places is None
        before = self._places or {}
        new = [name for name in places if name not in before]
        if not first:
            for name in sorted(archived - self._archived):
                self._queue(name, partial(self._services.archived, name))
            self._fresh.update(new)
        self._places, self._archived = places, archived
        self._files = {place.directory / place.files[-1]: name for name, place in places.items()}
        for name in before.keys() - places.keys():
            self._tails.pop(name, None)
        if self._watcher is not None and (new or len(before) != len(places)):
            self._watcher.set_targets(self._targets())
        self._mark(new)

    def _follow(self, workspace_id: str) -> None:
        """Deal with what was appended to one transcript."""
        if self._services.follow(workspace_id):
            return
        tail = self._tails.get(workspace_id)
        first = tail is None
        fresh = workspace_id in self._fresh
        if tail is None:
            opened = self._open(workspace_id, fresh=fresh)
            if opened is None:
                return
            tail = self._tails[workspace_id] = opened
            self._fresh.discard(workspace_id)
        events = tail.poll()
        if fresh:
            events = tuple(event for event in events if (event.turn.timestamp or 0) >= self._began)
        elif first:
            events = tuple(_newest_only(events))
        for event in events:
            if self._cancel.is_set():
                return  # where the tail stands is not kept, so the rest is found again
            if event.kind in _ENDS:
                self._services.turn_ended(workspace_id, event)
            elif event.kind == "compaction":
                self._queue(workspace_id, partial(self._services.compacted, workspace_id))
        if events or first:
            self._services.keep_tail(workspace_id, tail)

    def _open(self, workspace_id: str, *, fresh: bool) -> TranscriptTail | None:
        place = (self._places or {}).get(workspace_id)
        if fresh and place is not None:
            return TranscriptTail(place.directory, TailPosition())
        return self._services.open_tail(workspace_id)

    # Watching

    def _watch(self) -> None:
        from reverie.files.watch import Watcher

        wishes = self._parts.settings.watch
        self._watcher = Watcher(
            self.deliver,
            quiet_s=wishes.quiet_ms / 1000,
            cap_s=wishes.cap_ms / 1000,
            reconcile_s=wishes.reconcile_minutes * 60 or None,
            polling=wishes.polling,
            notify=lambda message: self._say("host.watch", message, _LIST, "warning"),
        )
        self._watcher.set_targets(self._targets())
        self._watcher.start()

    def _targets(self) -> list[WatchTarget]:
        """The transcripts in use, and what tells that others came into use (design.md section 4)."""
        from reverie.files.watch import WatchTarget

        settings = self._parts.profile.settings_file
        targets = [WatchTarget(settings.parent, recursive=False, only=(settings.name,))]
        targets += [
            WatchTarget(place.directory, recursive=False, only=place.names)
            for place in self._parts.home.use_watched()
        ]
        if self._parts.home.usage_sidecar is not None:
            usage = self._parts.home.usage_sidecar
            targets.append(WatchTarget(usage.parent, recursive=False, only=(usage.name,)))
        targets += [
            WatchTarget(place.directory, recursive=False, only=place.files[-1:])
            for place in (self._places or {}).values()
        ]
        return targets

    def _say(self, event: str, text: str, key: str, level: str) -> None:
        home = str(self._parts.home.root)
        self._parts.activity.add(
            event,
            level=level,
            text=text,
            home=home,
            workspace_id=key or None,
        )


def _newest_only(events: Iterable[TailEvent]) -> list[TailEvent]:
    """The last ended turn and the last compaction of what was said while nobody hosted."""
    newest: dict[str, TailEvent] = {}
    for event in events:
        newest["end" if event.kind in _ENDS else event.kind] = event
    return [event for kind, event in newest.items() if kind in ("end", "compaction")]
