"""The engine: the open homes of a profile, their watchers and history, and the calls of all clients on them.

All clients share one `HomeEngine` per home and one watcher, whose changes go to each client that watches. A
home is closed after its last client has left it. A home that was replaced by another one keeps its old
identity here: calls for it fail, and a client that opens the place again gets the new home.

Threading: every method from any thread. Failure: `UserError` for a home that cannot be opened; nothing is
kept for a client that has left.
"""

from __future__ import annotations

import itertools
import logging
import os
import secrets
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from reverie.agents.base import DiscoveredHomes, LoadState
from reverie.agents.scopes import ScopeContext
from reverie.clock import Clock
from reverie.compose import adopt_home, look_for_homes, look_for_stores, open_parts
from reverie.context.facts import ContextFacts, GatheredContext
from reverie.engine.channel import CallMessage, Event, HomeChanged, Notice, Overwritten, Recorded
from reverie.engine.hosting import HomeHost
from reverie.engine.interface import RUNS, EngineCalls, HomeCalls, HomeUpdate
from reverie.engine.search import EngineSearch
from reverie.engine.server import NOBODY, CallControl, CallStopped, ClientConnection, RunProcesses, has_left
from reverie.errors import Unavailable, UserError
from reverie.files.log_file import set_debug, wanted_level
from reverie.files.watch import Changes, Watcher, WatchState
from reverie.files.watch_sources import WatchTarget
from reverie.memory.catalogue import UpdateObserver, UpdateStopped
from reverie.memory.listing import no_check
from reverie.profile import Profile
from reverie.services.host import WINDOW, Host
from reverie.services.recorder import HistoryRecorder
from reverie.services.search import SearchStopped, feed_catalogue
from reverie.services.views import (
    HostStatus,
    LintResult,
    MemoryView,
    Opened,
    SearchAnswer,
    SearchPlace,
    StatusView,
    TreesUpdate,
    update_of,
)
from reverie.services.workbench import Workbench
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.services.container import HomeContainer
    from reverie.settings import Settings

log = logging.getLogger("reverie.engine")

CLOSE_S = 3.0
LINT_SLICE_S = 2.0
_LARGE = 2_000
"""The number of files above which a home counts as large."""


class HomeWatch:
    """The watcher of one home, the recorder of its history, and the clients that get its changes.

    Each change that the watcher reports is also added to the history, and to the search index `index`.
    """

    def __init__(self, workbench: Workbench, index: EngineSearch) -> None:
        self._workbench = workbench
        self._index = index
        self._watcher: Watcher | None = None
        self._recorder: HistoryRecorder | None = None
        self._contexts: dict[ClientConnection, ScopeContext | None] = {}
        self._lock = threading.Lock()

    def add(self, client: ClientConnection, context: ScopeContext | None) -> WatchState:
        """Send changes of the home to this client from now on; return the state of the watcher.

        The first client starts the watcher. `context`: the context that the client shows, whose own files are
        watched as well, such as those of its project; None: the client shows none.
        """
        with self._lock:
            if has_left(client):
                raise CallStopped
            if self._watcher is None:
                self._watcher = self._workbench.watch(self._deliver, notify=self._notify)
                root = self._workbench.parts.home.root
                self._recorder = HistoryRecorder(
                    self._workbench,
                    recorded=lambda pins_kept: self._tell(Recorded(root, pins_kept)),
                    overwritten=lambda saves: self._tell(Overwritten(root, saves)),
                    notify=self._notify,
                )
                self._index.add(self._workbench.parts)
            self._contexts[client] = context
            self._watcher.set_targets(self._targets())
            self._watcher.start()
            return self._watcher.state()

    def look_at(self, client: ClientConnection, context: ScopeContext) -> None:
        """Watch the files of `context` instead of the context that this client showed before.

        Called again when the directories of that context have changed. Does nothing for a client that does
        not watch the home.
        """
        with self._lock:
            if client in self._contexts and self._watcher is not None:
                self._contexts[client] = context
                self._watcher.set_targets(self._targets())

    def remove(self, client: ClientConnection) -> None:
        """Stop sending changes to this client; stop the watcher after the last client."""
        with self._lock:
            if client not in self._contexts or self._watcher is None:
                return
            del self._contexts[client]
            if self._contexts:
                self._watcher.set_targets(self._targets())
                return
            watcher, self._watcher = self._watcher, None
            recorder, self._recorder = self._recorder, None
            self._index.remove(self._workbench.home_id)
        watcher.stop()
        if recorder is not None:
            recorder.stop()

    def state(self) -> WatchState | None:
        """Return the state of the watcher; None if no client watches the home."""
        watcher = self._watcher
        return None if watcher is None else watcher.state()

    def rescan(self, reason: str) -> None:
        """Compare all watched files with the disk, because events may have been missed.

        `reason` is for the log. Does nothing if no client watches the home.
        """
        watcher = self._watcher
        if watcher is not None:
            watcher.request_rescan(reason)

    def _targets(self) -> tuple[WatchTarget, ...]:
        contexts = dict.fromkeys(self._contexts.values())
        targets = (each for context in contexts for each in self._workbench.watch_targets(context))
        return tuple(dict.fromkeys(targets))

    def _deliver(self, changes: Changes) -> None:
        # The views come first, then the history.
        self._tell(HomeChanged(self._workbench.parts.home.root, changes))
        if self._recorder is not None:
            self._recorder.note(changes)
            # The first delivery means that the watches are in place: from then on a full scan misses nothing.
            self._recorder.start()
        self._index.note(self._workbench.home_id, changes)

    def _notify(self, sentence: str) -> None:
        self._tell(Notice(self._workbench.parts.home.root, sentence))

    def _tell(self, event: Event) -> None:
        for client in list(self._contexts):
            client.tell(event)


class HomeEngine(Workbench, HomeCalls):
    """One open home: the operations on its memories (`Workbench`), its watcher and its background services.

    All clients share it.
    """

    def __init__(
        self, parts: HomeContainer, index: EngineSearch, workers: RunProcesses | None = None
    ) -> None:
        super().__init__(parts)
        self._index = index
        self._workers = workers
        self._hosting = HomeHost(parts, workers)
        self._watch = HomeWatch(self, index)
        self._sent: dict[ClientConnection, tuple[int, MemoryView]] = {}
        self._sending = threading.Lock()
        # Not from 1: serials of an earlier engine must not be valid here.
        self._serials = itertools.count(secrets.randbits(48) + 1)
        self._checking = threading.Lock()
        self._gathered: ContextFacts | None = None
        self._gathering = threading.Lock()

    def keep_for(self, client: ClientConnection) -> None:
        """Keep this home open until `client` leaves it."""
        if client is not NOBODY:
            client.homes.add(self)

    def status(self, context: ScopeContext, *, client: ClientConnection = NOBODY) -> StatusView:
        """Return the data that the footer of a window shows: consolidations, harvests and problems.

        In the running consolidation, `ours` is True only if the calling client started it.
        """
        view = super().status(context)
        if view.running is None or not self._is_for_another(view.running.owner.pid, client):
            return view
        return replace(view, running=replace(view.running, ours=False))

    def _is_for_another(self, pid: int, client: ClientConnection) -> bool:
        return self._workers is not None and self._workers.is_for_another(pid, client)

    def watch_for(self, context: ScopeContext | None, *, client: ClientConnection = NOBODY) -> WatchState:
        """Send changes of the home to the client from now on; return the state of the watcher.

        `context`: the context that the client shows, whose own files are watched as well, such as those of
        its project; None: the client shows none.
        """
        if self._workers is not None and context is not None:
            self._workers.warm_up()  # a client that shows memories may well start a run
        return self._watch.add(client, context)

    def watch_state(self) -> WatchState | None:
        """Return the state of the watcher; None if the home is not watched."""
        return self._watch.state()

    def host(self, paused: bool, *, client: ClientConnection = NOBODY) -> HostStatus:
        """Run the background services for the client if the settings enable them; return their state.

        `paused`: pause the services instead, for all clients. See `HomeCalls.host`.
        """
        return self._hosting.ask(client, paused=paused)

    def stop_hosting(self, *, client: ClientConnection = NOBODY) -> None:
        """Withdraw the client's request for the background services; they stop with the last request."""
        self._hosting.forget(client)

    def follow_settings(self) -> None:
        """Read the settings of the profile again.

        Soon after this returns, the background services are started or stopped as the settings require.
        """
        self.parts.forget_settings()
        self._hosting.apply_settings()

    def run_host(
        self, purpose: str = WINDOW, *, progress: Callable[[HostStatus], None], cancel: threading.Event
    ) -> None:
        """Run the background services until `cancel` is set, even those that the settings do not enable.

        `progress` gets each new state. `purpose` is stored in the lease of the home, to tell other processes
        which program runs the services. This call runs in a process of its own, with the model keys of the
        caller's environment. Windows do not call it: they share one host (see `host`).
        """
        Host(self.parts, purpose=purpose).run(progress, cancel)

    def rescan(self, reason: str) -> None:
        """Compare all watched files with the disk, because events may have been missed.

        `reason` is for the log.
        """
        self._watch.rescan(reason)

    def start_history(self) -> None:
        """Bring the history of the home up to date with its files (`Workbench.start_history`).

        If the history is new or the home is large, a separate process does this, because in this process it
        would block the views for seconds.
        """
        if self._workers is not None and (
            self.parts.snapshots.history.head() is None
            or (self.parts.catalogue.count(self.home_id) or 0) > _LARGE
        ):
            call = CallMessage(0, self.parts.home.root, self.home_id, "start_history")
            try:
                self._workers.run_aside(CallControl(call), self.parts.run_dependencies)
            except UserError as error:
                log.info("the engine itself updates the history: %s", error)
            else:
                self._mark_started()
                return
        super().start_history()

    def feed_catalogue(self, *, progress: Callable[[int], None], cancel: threading.Event) -> None:
        """Read the whole home into the catalogue, which is the index of the search.

        `progress` gets the number of files read so far. Raises `CallStopped` once `cancel` is set.
        """
        try:
            feed_catalogue(self.parts, None, UpdateObserver(cancel.is_set, progress))
        except UpdateStopped:
            raise CallStopped from None

    def names(self, context: ScopeContext) -> MemoryView:
        """Return the three trees of memories of a context, made without opening a file.

        There is one tree for each scope: the global, the project's and the workspace's memories. They have no
        descriptions or usage.
        """
        return self.view(context, names_only=True)

    def refresh(
        self,
        context: ScopeContext,
        changes: Changes | None,
        *,
        known: int = 0,
        everything: bool = False,
        marks: bool = False,
        client: ClientConnection = NOBODY,
    ) -> HomeUpdate:
        """Return the parts of a context's views that `changes` affect; all of them if `changes` is None.

        `known`: the serial of the trees of memories that the client already has; if they are the latest, only
        the differences are sent. `everything`: read all parts again from disk. `marks`: include the trees
        even if no change affects them, because the marks of unseen memories may have changed.
        """
        touched = None if changes is None else self.relevant(context, changes)
        every = everything or touched is None
        info = self.contents() if touched is not None and touched.contents else None
        if touched is None or touched.contents:
            self._watch.look_at(client, context)
        trees = None
        if every or marks or (touched is not None and touched.tree):
            dirty = None if changes is None or changes.rescan or everything else changes.paths
            trees = self.trees(context, known=known, dirty=dirty, client=client)
        status = self.status(context) if every or (touched is not None and touched.status) else None
        return HomeUpdate(info, trees, status, touched, self._watch.state())

    def trees(
        self,
        context: ScopeContext,
        *,
        known: int = 0,
        dirty: Collection[Path] | None = None,
        client: ClientConnection = NOBODY,
    ) -> TreesUpdate:
        """Return the three trees of memories of a context, one for each scope, or only their differences.

        `known`: the serial of the trees that the client already has; if they are the latest ones that it got,
        only the differences are returned. `dirty`: the changed paths; if given, only these are read again,
        provided that trees of this context were sent to the client before. None: everything is read.
        """
        with self._sending:
            had, before = self._sent.get(client, (0, None))
            if before is None or before.context != context:
                before, dirty = None, None
            view = self.view(context, previous=before, dirty=dirty)
            serial = next(self._serials)
            self._sent[client] = (serial, view)
            if has_left(client):
                self._sent.pop(client, None)
            return update_of(view, before if known == had else None, serial)

    def findings(
        self,
        context: ScopeContext,
        dirty: frozenset[Path],
        *,
        check: Callable[[], None] = no_check,
        client: ClientConnection = NOBODY,
    ) -> LintResult:
        """Return the problems that `lint` finds in the memories of a context.

        It checks the trees that were last sent to the client. `dirty`: the paths that have changed since the
        last check; only these files are read again. `check` may raise to stop.
        """
        with self._checking:
            return self.lint.look(
                self._sent_view(context, client),
                dirty=dirty,
                slice_s=LINT_SLICE_S,
                check=check,
                wait=lambda: self._index.wait(LINT_SLICE_S),
            )

    def _sent_view(self, context: ScopeContext, client: ClientConnection) -> MemoryView:
        """Return the trees of a context as last sent to the client; if none were sent, read them now."""
        view = self._sent.get(client, (0, None))[1]
        return view if view is not None and view.context == context else self.view(context)

    def gather_context(
        self, context: ScopeContext, times: tuple[int, ...], *, client: ClientConnection = NOBODY
    ) -> GatheredContext:
        """Gather the facts from which the agent's context can be computed for any time in `times` (UTC ms).

        The agent's context is the text that it would load if it started at that time. The context for
        `times[0]` is stored as the one that the person saw last; the result also contains the one that was
        seen before. The facts are based on the trees that were last sent to the client.
        """
        # Late: a client needs the signature only.
        from reverie.context.glances import Glances
        from reverie.context.recipes import assemble

        parts = self.parts
        glances = Glances(parts.own_sidecars, lock_dir=parts.profile.locks, clock=parts.clock)
        with self._gathering:
            facts = self._gather(context, times, client)
            seen = glances.read(context)
            glances.store(context, assemble(facts, times[0]))
        return GatheredContext(replace(facts, listings={}), seen)

    def loaded(
        self, context: ScopeContext, *, client: ClientConnection = NOBODY
    ) -> tuple[Mapping[str, LoadState], int] | None:
        """Return how much of each file the agent would load if it started now, and the tokens of all of it.

        None if that is unknown for this agent.
        """
        from reverie.context.recipes import AGENTS, next_session  # late, as above

        if self.parts.home.kind not in AGENTS:
            return None
        now = self.parts.clock()
        with self._gathering:
            return next_session(self._gather(context, (now,), client), now)

    def loaded_texts(
        self, context: ScopeContext, *, client: ClientConnection = NOBODY
    ) -> tuple[tuple[str, str], ...]:
        """Return title and text of each part of the context that the agent would load if it started now.

        Empty for an agent whose context is unknown. This does not mark anything as seen.
        """
        from reverie.context.recipes import texts  # late, as above

        now = self.parts.clock()
        with self._gathering:
            return texts(self._gather(context, (now,), client), now)

    def _gather(
        self, context: ScopeContext, times: tuple[int, ...], client: ClientConnection
    ) -> ContextFacts:
        """Return the facts about the agent's context at `times` (UTC ms), reusing those gathered before.

        They are based on the trees last sent to `client`. The caller must hold the lock `_gathering`.
        """
        from reverie.context.gather import gather  # late, as above

        view, before = self._sent_view(context, client), self._gathered
        if before is not None and before.context != context:
            before = None
        self._gathered = gather(self.parts.home, context, view.scopes, times=times, before=before)
        return self._gathered

    def forget_client(self, *, client: ClientConnection = NOBODY) -> None:
        """Release the resources that this home holds for the client, which has left or closed the home."""
        if client is not NOBODY:
            client.homes.discard(self)
        self._hosting.forget(client)
        self._watch.remove(client)
        self._sent.pop(client, None)
        if "transcripts" in self.__dict__:  # the service was used
            self.transcripts.forget_client(client)
        if "claims" in self.__dict__:  # the service was used
            self.claims.close()


class ProfileEngine:
    """All open homes of one profile, and the clients of the engine.

    `on_idle` is called when the last client has left. `workers` carry out runs in separate processes; None:
    this process carries them out. `is_worker`: this process is such a worker. It then sets the environment
    variables that come with the call of a run, but only those that the settings name.
    """

    def __init__(
        self,
        profile: Profile,
        clock: Clock,
        *,
        on_idle: Callable[[], None] = lambda: None,
        workers: RunProcesses | None = None,
        is_worker: bool = False,
    ) -> None:
        self.profile = profile
        self._is_worker = is_worker
        self.clock = clock
        self._on_idle = on_idle
        self._workers = workers
        # Weak: clients keep a home open (`ClientConnection.homes`), and so do calls. Protected by the lock.
        self._homes: WeakValueDictionary[tuple[Path, str], HomeEngine] = WeakValueDictionary()
        self._opening: dict[Path, threading.Lock] = {}
        self._clients: set[ClientConnection] = set()
        self._lock = threading.Lock()
        self._left = threading.Event()
        self._left.set()
        self._ends = False
        self.index = EngineSearch(self._tell, workers)
        self.services = EngineServices(self)

    def join(self, client: ClientConnection) -> bool:
        """Add a client; return False if the engine is ending."""
        with self._lock:
            if self._ends:
                return False
            self._clients.add(client)
            self._left.clear()
            return True

    def begin_to_end(self) -> bool:
        """Stop accepting new clients, provided that none is connected; return False if one is connected."""
        with self._lock:
            self._ends = not self._clients
            return self._ends

    def leave(self, client: ClientConnection) -> None:
        """Remove a client that has left.

        Releases everything that is held for it: its homes, its last search and its request for the debug log.
        """
        try:
            # All at the same time, because the services of a home may take a while to end.
            threads = [
                threading.Thread(target=home.forget_client, kwargs={"client": client}, daemon=True)
                for home in self.open_homes()
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.index.forget_client(client)
            self.services.set_debug(False, client=client)
        finally:
            with self._lock:
                self._clients.discard(client)
                is_last = not self._clients
                if is_last:
                    self._left.set()
            if is_last:
                self._on_idle()

    @property
    def is_idle(self) -> bool:
        """Whether there is no client."""
        return not self._clients

    def target(
        self, root: Path, home_id: str, client: ClientConnection = NOBODY
    ) -> HomeEngine | EngineServices:
        """Return the object to which a call is addressed: a home, or `services` if `home_id` is empty.

        The home is opened if necessary, and kept open for the client. Raises `UserError`.
        """
        if not home_id:
            return self.services
        found = self.home(root, home_id)
        found.keep_for(client)
        return found

    def run_apart(self, call: CallMessage, control: CallControl) -> bytes | None:
        """Carry out a run in a separate process; return its encoded result.

        `control` reports the progress of `call` and can stop it. Returns None if the call does not start a
        run, or if there are no workers; the caller then calls the method in this process. Raises `UserError`.
        """
        if not call.home_id or call.method not in RUNS:
            return None
        home = self.home(call.home, call.home_id)
        if self._is_worker:
            # Only the variables that the settings name, whatever the client sent.
            for name in home.models.variables() & call.environment.keys():
                value = call.environment[name]
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
        if self._workers is None:
            return None
        return self._workers.run(control, home.parts.run_dependencies)

    def home(self, root: Path, home_id: str) -> HomeEngine:
        """Return the home at `root`, opening it if necessary.

        Raises `Unavailable` if the home there does not have the id `home_id`, because it was replaced by
        another one.
        """
        found = self._homes.get((root, home_id))
        if found is None:
            found = self.open(root)
        if found.home_id != home_id:
            raise Unavailable(
                f"{root} now contains a different home.",
                cause="The home was replaced while it was open.",
                next_step="Close the home and open it again.",
                reason="replaced",
            )
        return found

    def close(self) -> None:
        """Disconnect every client, and end the index and the workers.

        Waits up to three seconds until all clients have left and their homes are no longer watched.
        """
        for client in list(self._clients):
            client.channel.shut()
        self._left.wait(CLOSE_S)
        self.index.close()
        if self._workers is not None:
            self._workers.close()

    def open(self, path: Path) -> HomeEngine:
        """Return the home at `path`, opening it if necessary. Raises `UserError`."""
        # A lock for each home: the disk of one may hang, and must not block the others.
        with self._lock:
            opening = self._opening.setdefault(path, threading.Lock())
        with opening:
            found = HomeEngine(open_parts(path, self.profile, self.clock), self.index, self._workers)
            key = (found.parts.home.root, found.home_id)
            with self._lock:
                return self._homes.setdefault(key, found)

    def open_homes(self) -> list[HomeEngine]:
        """Return the homes that are open now."""
        with self._lock:
            return list(self._homes.values())

    def _tell(self, event: Event) -> None:
        with self._lock:
            clients = list(self._clients)
        for client in clients:
            client.tell(event)


class EngineServices(EngineCalls):
    """The implementation of `EngineCalls`: the calls that concern the engine itself, not one home."""

    def __init__(self, engine: ProfileEngine) -> None:
        self._engine = engine
        self._debugging: set[ClientConnection] = set()
        self._lock = threading.Lock()

    def _read_settings(self) -> Settings:
        """Return the settings of the profile, read from their file."""
        # Late, because it loads pydantic, and clients import this module.
        from reverie.settings import load_settings

        return load_settings(self._engine.profile.settings_file)[0]

    def open(self, path: Path, *, client: ClientConnection = NOBODY) -> Opened:
        """Open the home at `path` for the client; return what a client needs to show it.

        These are its projects and workspaces, and the limits and features of its agent. The home stays open
        until the client leaves it.
        """
        home = self._engine.open(path)
        home.keep_for(client)
        info = home.contents()
        return Opened(info, home.parts.home.caps, home.facts, home.recent_workspace(info))

    def forget_settings(self) -> None:
        """Make every open home read the settings of the profile again."""
        for home in self._engine.open_homes():
            home.follow_settings()

    def set_debug(self, on: bool, *, client: ClientConnection = NOBODY) -> None:
        """Turn the debug log of the engine on or off for the client.

        The log is on while any connected client has turned it on.
        """
        with self._lock:
            before = bool(self._debugging)
            (self._debugging.add if on and not has_left(client) else self._debugging.discard)(client)
            if bool(self._debugging) != before:
                set_debug(bool(self._debugging) or wanted_level(os.environ) == logging.DEBUG)

    def find_homes(self) -> DiscoveredHomes:
        """Return the agents' homes of this user, together with the places that could not be searched."""
        return look_for_homes()

    def find_stores(self, found: DiscoveredHomes) -> DiscoveredHomes:
        """Return the agents' homes inside the projects that the homes in `found` list, such as `.loki`.

        The result has only these, and the places that could not be read; it does not repeat the homes in
        `found`.
        """
        return look_for_stores(found, self._engine.profile)

    def adopt(self, path: Path, known_id: str, *, client: ClientConnection = NOBODY) -> Opened:
        """Open the home at `path` as the known home `known_id`, because that home was moved there.

        The home keeps its history. Returns the same as `open`.
        """
        adopt_home(path, known_id, self._engine.profile, self._engine.clock)
        return self.open(path, client=client)

    def search(
        self,
        text: str,
        homes: Sequence[str],
        *,
        place: SearchPlace | None = None,
        progress: Callable[[SearchAnswer], None],
        cancel: threading.Event,
        client: ClientConnection = NOBODY,
    ) -> SearchAnswer:
        """Search for `text` in the open homes with the ids `homes`; return the hits, best first.

        `place`: the place whose notes come first among equally good ones; None: no place comes first.
        `progress` gets the intermediate results of a search for a pattern. Raises `CallStopped` once `cancel`
        is set.
        """
        # By id: if a home was moved, the one at its latest path is searched.
        opened = {home.home_id: home.parts for home in self._engine.open_homes() if home.home_id in homes}
        try:
            answer = self._engine.index.search(
                text, opened.values(), place=place, client=client, stop=cancel.is_set, report=progress
            )
        except SearchStopped:
            raise CallStopped from None
        # After a restart the engine does not have the homes until another call opens them.
        return answer if len(opened) == len(homes) else replace(answer, complete=False)
