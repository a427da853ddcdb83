"""The background services of one home.

One process hosts a home; it holds the home's lease. Other processes only view, and one of them takes over
when the lease is free. The time from acquiring the lease to its release is one `HostSession`. The engine
starts such a process for its windows, and for `reverie watch`.

A change of a transcript marks its workspace; a worker reads the appended part and passes each ended turn to
the memory writer and each compaction to the triggers of consolidation. A workspace has one worker at a time,
so its turns stay in order; three workspaces run at once. Consolidations have their own thread, because they
take minutes. Turns that ended while no process hosted count as one; otherwise a week's absence would start a
hundred runs. The last worker to end releases the lease, so that no other process starts while a run is still
ending. Workers survive any error; it is reported in Activity.

Threading: every method from any thread but the GUI's; `start` and `stop` are idempotent. `on_status` is
called on the thread that caused the change. `stop` returns within about two seconds. Failure: nothing is
raised. If another home took the place of this one, or the lease database cannot be used, this is reported in
the status and in Activity, and tried again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from reverie.agents.base import SessionPlace
from reverie.agents.transcripts import Tail, TailPosition, Turn
from reverie.errors import UserError
from reverie.files.lease import Lease, LeaseHeld
from reverie.files.locks import LeaseHolder
from reverie.files.watch import Changes, Watcher
from reverie.files.watch_sources import WatchTarget
from reverie.llm.keys import never_unlock
from reverie.memory.usage import UsageRestored
from reverie.services.container import HomeContainer
from reverie.services.views import HostStatus
from reverie.text.summaries import plain
from reverie.values import Struct

EVENT = "usage.kept"
_AGAIN_S = 1.0


def keep_usage(parts: HomeContainer, *, patient: bool = False) -> UsageRestored:
    """Write the pins and use counts again that Reverie saved and the agent overwrote; return the result.

    This must be called after each change of the agent's file with pins and use counts, and by commands before
    they change a home. What is written again is reported in Activity once per run of the agent; the rules are
    in `memory.ledger`. `patient`: True for callers that repeat the call; then the file is written only every
    few seconds (see `UsageLog.reapply_lost`).
    """
    kept = parts.usage.reapply_lost(patient=patient)
    if kept.announce:
        changes = "1 change" if kept.announce == 1 else f"{kept.announce:,} changes"
        parts.report(
            EVENT,
            f"{parts.home.kind} is running and overwrites pins and use counts. Reverie keeps {changes} "
            "and writes them again until the agent is restarted.",
        )
    return kept


class UsageKeeper:
    """A loop that restores overwritten pins and use counts (`keep_usage`), for a thread of its own.

    `failed` is called with the text of each error.
    """

    def __init__(self, parts: HomeContainer, *, failed: Callable[[str], None]) -> None:
        self._parts = parts
        self._failed = failed
        self._due = threading.Event()
        self._stopped = threading.Event()
        self._due.set()

    def wake(self) -> None:
        """Request a check, because the agent's file with pins and use counts has changed.

        Any thread; returns at once.
        """
        self._due.set()

    def stop(self) -> None:
        """Make `run` return soon. Any thread."""
        self._stopped.set()
        self._due.set()

    def run(self) -> None:
        """Restore pins and use counts that an agent overwrote, from Reverie's ledger of its own changes.

        It does so once at first and after each call of `wake`, and returns after `stop` is called.
        """
        while True:
            self._due.wait()
            if self._stopped.is_set():
                return
            self._due.clear()
            try:
                pending = keep_usage(self._parts, patient=True).pending
            except UserError as error:
                self._failed(str(error))
                pending = False
            if pending:
                self._stopped.wait(_AGAIN_S)
                self._due.set()


_log = logging.getLogger("reverie.host")

_WORKERS = 3
_STOP_S = 2.0
_LIST = ""
"""The entry of the queue of workspace ids that requests a new listing of the home's transcripts instead."""
_ENDS = ("turn-end", "aborted", "error")


class HostServices(Struct, frozen=True):
    """The functions that a host calls; a host is the process that runs the background services of a home.

    An argument of type `str` is the id of a workspace. All of them block; a `UserError` is reported in
    Activity.
    """

    open_tail: Callable[[str], Tail | None]
    """Opens the transcript of a workspace at the stored position; returns None if it has no transcript."""
    keep_tail: Callable[[str, Tail], None]
    """Stores the position up to which the transcript of a workspace was handled."""
    turn_ended: Callable[[str, Turn], object]
    """Handles the end of a turn in a workspace."""
    launched: Callable[[], object]
    """Starts the runs that are due when the services start."""
    compacted: Callable[[str], object]
    """Handles a compaction: the agent replaced a conversation by a summary."""
    archived: Callable[[str], object]
    """Handles that a workspace was archived."""
    follow: Callable[[str], bool] = lambda _workspace_id: False
    """Handles a changed transcript; returns False if the transcript must also be read turn by turn."""


def home_services(parts: HomeContainer, cancel: threading.Event) -> HostServices:
    """Return the functions that run the memory writer, session notes, triggers and extraction of one home.

    Setting `cancel` ends their runs.
    """
    from reverie.services.background import (
        BackgroundJobs,
        SessionNotesService,
        extract_at_launch,
        open_writer,
    )

    writer = open_writer(parts, cancel)
    triggers = BackgroundJobs(parts).triggers(cancel)

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
        follow=SessionNotesService(parts, cancel).follow,
    )


class HostSession:
    """The background services of a home, running while this process holds `lease`."""

    def __init__(
        self,
        parts: HomeContainer,
        lease: Lease,
        services: Callable[[HomeContainer, threading.Event], HostServices],
    ) -> None:
        self._parts = parts
        self.lease = lease
        self._cancel = threading.Event()
        self._services = services(parts, self._cancel)
        self._watcher: Watcher | None = None
        self._began = parts.clock()
        self._wake = threading.Condition()
        self._dirty: dict[str, None] = {}
        self._busy: set[str] = set()
        self._jobs: deque[tuple[str, Callable[[], object]]] = deque()
        self._places: dict[str, SessionPlace] | None = None
        self._files: dict[Path, str] = {}
        self._archived: frozenset[str] = frozenset()
        self._tails: dict[str, Tail] = {}
        self._fresh: set[str] = set()
        self._threads: list[threading.Thread] = []
        self._left = 0
        self._keeper = UsageKeeper(
            parts, failed=lambda text: self._report("host.error", text, _LIST, "warning")
        )
        self.ready = threading.Event()
        """Set once every transcript has been read for the first time."""

    @property
    def sessions(self) -> int:
        """The number of transcripts that are watched."""
        return len(self._places or ())

    def start(self) -> None:
        """Start the threads and return at once."""
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
        self._watch()
        for thread in self._threads:
            thread.start()

    def stop(self) -> bool:
        """End all runs; return True if all threads ended within two seconds."""
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
        """Handle changes on disk: workspaces whose transcripts changed are queued for the workers.

        A change of the file with pins and use counts starts a check for overwritten pins. A change of the
        settings drops the cached settings. After any other change, a worker lists the transcripts again.
        """
        settings = self._parts.profile.settings_file
        usage = None if self._parts.home.sidecars is None else self._parts.home.sidecars.usage
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
        """Wait for a queued workspace that no worker handles yet, and return its id; None after `stop`.

        `_LIST` instead of an id requests that the transcripts be listed again.
        """
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
        except UserError as error:
            self._report("host.error", str(error), key, "warning")
        except Exception as error:  # noqa: BLE001 - logged and reported, and the thread goes on
            # One broken workspace must not end the services of the others.
            _log.exception("a background service failed")
            self._report(
                "host.error", f"A background service failed: {type(error).__name__}: {error}", key, "error"
            )

    def _list(self) -> None:
        """List the transcripts in use again, and queue work for workspaces that were archived meanwhile."""
        home = self._parts.home
        contents = home.contents()
        in_use = () if home.sessions is None else home.sessions.sessions_in_use()
        places = {place.workspace_id: place for place in in_use}
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
        if new or len(before) != len(places):
            self._follow_places()
        self._mark(new)

    def _follow(self, workspace_id: str) -> None:
        """Read the new part of the transcript of a workspace, and start the runs that it triggers.

        The end of a turn is passed to the services at once. A compaction (the agent replaced a conversation
        by a summary) queues a run.
        """
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
        turns = tail.poll()
        if fresh:
            turns = tuple(turn for turn in turns if (turn.timestamp or 0) >= self._began)
        elif first:
            turns = tuple(_newest_only(turns))
        for turn in turns:
            if self._cancel.is_set():
                return  # the position of the tail is not stored, so the rest is read again
            if turn.event in _ENDS:
                self._services.turn_ended(workspace_id, turn)
            elif turn.event == "compaction":
                self._queue(workspace_id, partial(self._services.compacted, workspace_id))
        if turns or first:
            self._services.keep_tail(workspace_id, tail)

    def _open(self, workspace_id: str, *, fresh: bool) -> Tail | None:
        place = (self._places or {}).get(workspace_id)
        writer = self._parts.home.writer
        if fresh and place is not None and writer is not None:
            return writer.transcript(workspace_id).tail(TailPosition())
        return self._services.open_tail(workspace_id)

    def _watch(self) -> None:
        watch = self._parts.settings.watch
        self._watcher = Watcher(
            self.deliver,
            quiet_s=watch.quiet_ms / 1000,
            cap_s=watch.cap_ms / 1000,
            reconcile_s=watch.reconcile_minutes * 60 or None,
            polling=watch.polling,
            notify=lambda message: self._report("host.watch", message, _LIST, "warning"),
        )
        self._watcher.set_targets(self._targets())
        self._watcher.start()

    def _follow_places(self) -> None:
        """Tell the watcher which paths to watch now."""
        if self._watcher is not None:
            self._watcher.set_targets(self._targets())

    def _targets(self) -> list[WatchTarget]:
        """Return the transcripts in use, and the directories in which new ones appear, as watch targets."""

        home, settings = self._parts.home, self._parts.profile.settings_file
        targets = [WatchTarget(settings.parent, recursive=False, only=(settings.name,))]
        targets += [
            WatchTarget(place.directory, recursive=False, only=place.names)
            for place in (() if home.sessions is None else home.sessions.session_watches())
        ]
        if home.sidecars is not None:
            usage = home.sidecars.usage
            targets.append(WatchTarget(usage.parent, recursive=False, only=(usage.name,)))
        targets += [
            WatchTarget(place.directory, recursive=False, only=place.files[-1:])
            for place in (self._places or {}).values()
        ]
        return targets

    def _report(self, event: str, text: str, key: str, level: str) -> None:
        self._parts.report(event, text, level, key or None)


def _newest_only(turns: Iterable[Turn]) -> list[Turn]:
    """Return the last ended turn and the last compaction (summary of a conversation) in `turns`.

    The others need no runs of their own, because they occurred while no process hosted the home.
    """
    newest = {"end" if turn.event in _ENDS else turn.event: turn for turn in turns}
    return [turn for event, turn in newest.items() if event in ("end", "compaction")]


RETRY_S = 2.0
_ANSWER_S = 0.5
_CHECK_S = 0.2
WINDOW = "the window"
"""The purpose of a host that works for windows, as other processes show it to people."""


def host_lease_name(home_id: str) -> str:
    """Return the name of the lease for hosting a home's background services."""
    return f"host:{home_id}"


def services_wanted(parts: HomeContainer) -> bool:
    """Return True if the current settings enable any background service of this home."""
    settings = parts.read_settings()
    return (
        settings.system1.enabled
        or settings.notes.enabled
        or settings.background.of(parts.home_id).enabled
        or (settings.extract.at_launch and parts.home.extraction is not None)
    )


class Host:
    """The background services of one home in this process, which run while it holds the home's lease.

    `purpose` describes this process to others that wait for the lease.
    """

    def __init__(
        self,
        parts: HomeContainer,
        *,
        purpose: str = "background services",
        services: Callable[[HomeContainer, threading.Event], HostServices] = home_services,
        retry_s: float = RETRY_S,
        on_status: Callable[[HostStatus], None] = lambda _status: None,
    ) -> None:
        self._parts = parts
        self._purpose = purpose
        self._services = services
        self._retry_s = retry_s
        self._on_status = on_status
        self._lock = threading.RLock()
        self._session: HostSession | None = None
        self._keeper: threading.Thread | None = None
        self._checking: threading.Thread | None = None
        self._replaced: UserError | None = None
        self._stopping = threading.Event()
        self._status = HostStatus("stopped")

    @property
    def status(self) -> HostStatus:
        """The present state of the background services."""
        session, status = self._session, self._status
        if session is None or status.state != "hosting":
            return status
        is_ready = session.ready.is_set()
        return HostStatus("hosting", sessions=session.sessions, pid=os.getpid(), is_ready=is_ready)

    def start(self) -> HostStatus:
        """Start hosting, or wait until another process releases the lease; return the present state."""
        with self._lock:
            if self._keeper is None:
                self._stopping = threading.Event()
                self._try_to_host()
                self._keeper = threading.Thread(
                    target=self._keep, args=(self._stopping,), name="reverie-host", daemon=True
                )
                self._keeper.start()
            return self.status

    def stop(self) -> None:
        """End the services and release the lease. Safe to call at any time."""
        with self._lock:
            keeper, self._keeper = self._keeper, None
            self._stopping.set()
            hosted = self._session is not None
            self._end_session()
            self._set_status(HostStatus("stopped"))
        if keeper is not None and keeper is not threading.current_thread():
            keeper.join()
        if hosted:
            self._parts.report("host.stopped", "The background services of this home were stopped here.")

    def run(self, progress: Callable[[HostStatus], None], cancel: threading.Event) -> None:
        """Host the services until `cancel` is set; `progress` is called with each new state."""
        if self._purpose != WINDOW:
            never_unlock()  # there may be no person to respond to a prompt
        reported: HostStatus | None = None
        try:
            self.start()
            while True:
                if self.status != reported:
                    reported = self.status
                    progress(reported)
                if cancel.wait(_CHECK_S):
                    return
        finally:
            self.stop()

    def _keep(self, stopping: threading.Event) -> None:
        """Check repeatedly, until `stopping` is set, whether the lease is held and the home is the same.

        The services are stopped or started accordingly.
        """
        while not stopping.wait(self._retry_s):
            self._check_home()
            with self._lock:
                if stopping.is_set():
                    return
                if self._session is not None and self._session.lease.lost.is_set():
                    text = "Another process took over the background services."
                    self._parts.report("host.lost", text, "warning")
                    self._end_session()
                if self._replaced is not None:
                    self._end_session()
                if self._session is None:
                    self._try_to_host()

    def _check_home(self) -> None:
        """Check whether another home has taken the place of this one, and store the result in `_replaced`.

        `_replaced` is the error to raise, None if the home is the same. The disk is read on another thread,
        for which this waits `_ANSWER_S` seconds at most, so that `stop` works even if the disk hangs; the
        result is then stored later.
        """
        if self._checking is None or not self._checking.is_alive():
            self._checking = threading.Thread(target=self._compare, name="reverie-same-home", daemon=True)
            self._checking.start()
        self._checking.join(_ANSWER_S)

    def _compare(self) -> None:
        try:
            self._parts.require_same_home()
            self._replaced = None
        except UserError as error:
            self._replaced = error if error.reason == "replaced" else None

    def _try_to_host(self) -> None:
        leases, name = self._parts.leases, host_lease_name(self._parts.home_id)
        try:
            if self._replaced is not None:
                raise self._replaced
            holder = leases.holder(name)
            if holder is not None:
                self._view(holder)
                return
            self._session = self._begin(leases.acquire(name, purpose=self._purpose))
        except LeaseHeld as held:
            self._view(held.holder)
            return
        except UserError as error:
            if self._status.message != str(error):
                self._parts.report("host.waiting", str(error), "warning")
            self._set_status(HostStatus("waiting", message=plain(str(error))))
            return
        self._parts.report("host.started", "The background services of this home run in this process.")
        self._set_status(HostStatus("hosting"))

    def _begin(self, lease: Lease) -> HostSession:
        try:
            session = HostSession(self._parts, lease, self._services)
            session.start()
        except BaseException:
            lease.release()
            raise
        return session

    def _view(self, holder: LeaseHolder) -> None:
        if self._status.holder != holder:
            text = f"Process {holder.owner.pid} runs the background services of this home ({holder.purpose})."
            self._parts.report("host.viewing", text)
        self._set_status(HostStatus("viewing", holder))

    def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None and not session.stop():
            _log.info("a background run is still ending; the lease of the home stays until then")

    def _set_status(self, status: HostStatus) -> None:
        changed, self._status = status != self._status, status
        if changed:
            self._on_status(status)
