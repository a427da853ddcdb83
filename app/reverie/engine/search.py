"""The search over the open homes, and the thread that keeps its index, the catalogue, up to date.

A home is read into the catalogue when it is first watched or searched: completely at first, then only the
changes that its watcher reports. Clients get `IndexChanged` when an update of a home starts, while it reads
files, and when it ends.

A search never waits for an update: it uses the catalogue as it is. An update of many files is done in a
separate process, because reading them here would block the views; the engine itself reads a few.

Threading: every method from any thread; `search` blocks, `wait` and `close` may, the others return at once.
Failure: if a home cannot be indexed, the next change tries again; until then, the home is named in the
`problems` of each answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from pathlib import Path

from reverie.engine.channel import CallMessage, IndexChanged
from reverie.engine.codec import decode
from reverie.engine.server import CallControl, CallStopped, ClientConnection, RunProcesses, has_left
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.memory.catalogue import UpdateObserver, UpdateStopped
from reverie.services.container import HomeContainer
from reverie.services.search import SearchService, SearchStopped, feed_catalogue
from reverie.services.views import SearchAnswer, SearchPlace

log = logging.getLogger("reverie.engine")

FIRST_S = 2.0
"""The seconds after opening a home until it is indexed, unless it is searched before.

The views are read first.
"""
FEW = 100
"""The most files that the engine itself reads for one update; more are read by a separate process."""
_STOP_S = 2.0


class EngineSearch:
    """The search index (the catalogue) of all homes of an engine.

    `tell` sends an event to every client. `workers` index large homes in separate processes; None: the engine
    indexes every home itself.
    """

    def __init__(self, tell: Callable[[IndexChanged], None], workers: RunProcesses | None = None) -> None:
        self._tell = tell
        self._workers = workers
        self._service = SearchService(self._feed)
        self._thread: threading.Thread | None = None
        self._condition = threading.Condition()
        self._due: float | None = None
        """The time of `time.monotonic` at which the next update begins; None if none is needed."""
        self._updating = False
        self._stopping = False
        self._feeding: CallControl | None = None
        self._retried: dict[ClientConnection, str] = {}

    def add(self, parts: HomeContainer) -> None:
        """Add a home that was not watched until now; it is indexed completely within a few seconds."""
        self._service.add(parts)
        self._update_in(FIRST_S)

    def remove(self, home_id: str) -> None:
        """Stop updating a home that is no longer watched; its index is kept."""
        self._service.remove(home_id)

    def note(self, home_id: str, changes: Changes) -> None:
        """Schedule an update of the index, because the watcher reported these changes of a home."""
        self._service.note(home_id, changes)
        # A home that was not read yet is read completely, which need not start early.
        self._update_in(FIRST_S if home_id in self._service.unread() else 0)

    def search(
        self,
        text: str,
        homes: Collection[HomeContainer],
        *,
        place: SearchPlace | None = None,
        client: ClientConnection,
        stop: Callable[[], bool],
        report: Callable[[SearchAnswer], None],
    ) -> SearchAnswer:
        """Search `homes` for `text`; return the answer, best hits first (see `SearchService.search`).

        `place`: the place whose notes come first among equally good ones; None: no place comes first.
        `report` gets the hits so far. `stop` returns True once the result is no longer wanted; then
        `SearchStopped` is raised. If the index of a home is not up to date, an update starts right after the
        search, unless the client repeats the search for the same text.
        """
        for parts in homes:
            if not self._service.has(parts):
                self._service.add(parts)
        wanted = frozenset(parts.home_id for parts in homes)
        answer = self._service.search(text, homes=wanted, place=place, stop=stop, report=report)
        is_behind = not answer.complete or not wanted.isdisjoint(self._service.unread())
        if is_behind and self._retried.get(client) != text:
            self._retried[client] = text
            if has_left(client):
                self.forget_client(client)
            self._update_in(0)
        return answer

    def forget_client(self, client: ClientConnection) -> None:
        """Forget the last search of a client that has left."""
        self._retried.pop(client, None)

    def close(self) -> None:
        """End the update in progress; the next engine continues with it. Repeated calls are harmless."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
            thread, feeding = self._thread, self._feeding
        if feeding is not None:
            feeding.stop()
        if thread is not None:
            thread.join(_STOP_S)

    def wait(self, timeout_s: float) -> bool:
        """Wait until no update of the index is due or running; return False if the time runs out first.

        The time is `timeout_s` seconds. Returns True at once if the engine is ending.
        """
        with self._condition:
            return self._condition.wait_for(
                lambda: self._stopping or (self._due is None and not self._updating), timeout_s
            )

    def _update_in(self, seconds: float) -> None:
        due = time.monotonic() + seconds
        with self._condition:
            self._due = due if self._due is None else min(self._due, due)
            self._condition.notify_all()
            if self._thread is None and not self._stopping:
                self._thread = threading.Thread(target=self._run, name="reverie-index", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while self._wait_until_due():
            for homes in (self._service.outdated, self._service.overtaken):
                for home_id in homes():
                    try:
                        self._update(home_id)
                    except SearchStopped:
                        return
                    except Exception:
                        # A bug with one home must not end the indexing of the others.
                        log.exception("a home could not be indexed")
            with self._condition:
                self._updating = False
                self._condition.notify_all()

    def _wait_until_due(self) -> bool:
        """Wait until the next update is due, and return True; return False if the engine is ending."""
        with self._condition:
            while not self._stopping:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    self._due = None
                    self._updating = True
                    return True
                self._condition.wait(left)
        return False

    def _update(self, home_id: str) -> None:
        root = self._service.root_of(home_id)
        if root is None:
            return  # removed meanwhile
        self._tell(IndexChanged(root, 0, is_ready=False))
        read = 0

        def report(count: int) -> None:
            nonlocal read
            read = count
            self._tell(IndexChanged(root, count, is_ready=False))

        try:
            self._service.update_home(home_id, stop=lambda: self._stopping, report=report)
        finally:
            self._tell(IndexChanged(root, read, is_ready=True))

    def _feed(self, parts: HomeContainer, dirty: Collection[Path] | None, watcher: UpdateObserver) -> None:
        """Read a home into the catalogue (the search index), in a separate process if there are many files.

        `dirty`: the paths that may have changed; None: unknown, so the whole home is read. A changed
        directory counts as one file. `watcher` gets the progress and may stop the reading.
        """
        count = parts.catalogue.count(parts.home_id) if dirty is None else len(dirty)
        if self._workers is None or (count is not None and count <= FEW):
            feed_catalogue(parts, dirty, watcher)
            return
        call = CallMessage(0, parts.home.root, parts.home_id, "feed_catalogue")
        control = CallControl(call, lambda value: watcher.on_progress(decode(value, int)))
        with self._condition:
            self._feeding = control
        try:
            self._workers.run_aside(control)
        except CallStopped:
            raise UpdateStopped from None
        except UserError as error:
            if watcher.stop():
                raise UpdateStopped from None
            log.info("the engine itself reads %s: %s", parts.home.root, error)
            feed_catalogue(parts, dirty, watcher)
        finally:
            self._feeding = None
