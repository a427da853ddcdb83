"""Search over the open homes, and the thread that keeps their index up to date.

A home is indexed from when it is watched, or first searched: completely once, then what its watcher sees.
Clients hear `IndexChanged` when an update of a home begins, while it reads, and when it has ended.

A search never waits for an update: it asks what is in the index, and the update pauses between two files
while any search is under way. The thread has no lower scheduling priority than the others: holding the
interpreter's lock it would then hold them up.

Threading: every method from any thread; `search` blocks, the others return at once. Failure: a home that
cannot be indexed is tried again with the next change, and named in the `problems` of an answer.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from reverie.engine.wire import IndexChanged
from reverie.files.watch import Changes
from reverie.services.container import HomeContainer
from reverie.services.search import SearchAnswer, SearchService, SearchStopped

log = logging.getLogger("reverie.engine")

FIRST_S = 2.0
"""How long after it is opened a home is indexed if nobody searches: what a window shows first goes first."""
_LONGEST_PAUSE_S = 1.0
_STOP_S = 2.0


class EngineSearch:
    """The index of all homes of an engine. `tell` sends an event to every client."""

    def __init__(self, tell: Callable[[IndexChanged], None]) -> None:
        self._tell = tell
        self._service = SearchService()
        self._thread: threading.Thread | None = None
        self._condition = threading.Condition()
        self._due: float | None = None
        """When the next update begins; None: nothing is to be done."""
        self._searches = 0
        self._stopping = False
        self._retried: dict[object, str] = {}

    def add(self, parts: HomeContainer) -> None:
        """Index this home soon, completely, since nobody has watched it until now."""
        self._service.add(parts)
        self._update_in(FIRST_S)

    def remove(self, home_id: str) -> None:
        """Nobody watches this home any more; its index stays for the next time."""
        self._service.remove(home_id)

    def note(self, home_id: str, changes: Changes) -> None:
        """The watcher of a home saw something."""
        self._service.note(home_id, changes)
        self._update_in(0)

    def search(
        self,
        text: str,
        homes: Collection[HomeContainer],
        *,
        client: object,
        stop: Callable[[], bool],
        report: Callable[[SearchAnswer], None],
    ) -> SearchAnswer:
        """See `SearchService.search`. What is missing in the index for it is indexed at once; for a question
        that a client repeats, only the first time. Raises `SearchStopped`."""
        for parts in homes:
            if not self._service.has(parts.home_id):
                self._service.add(parts)
        wanted = frozenset(parts.home_id for parts in homes)
        with self._undisturbed():
            answer = self._service.search(text, homes=wanted, stop=stop, report=report)
        is_behind = not answer.complete or not wanted.isdisjoint(self._service.unread())
        if is_behind and self._retried.get(client) != text:
            self._retried[client] = text
            self._update_in(0)
        return answer

    def forget_client(self, client: object) -> None:
        """A client is gone."""
        self._retried.pop(client, None)

    def close(self) -> None:
        """End the update under way; the next one continues there. Calling it again is harmless."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(_STOP_S)

    @contextmanager
    def _undisturbed(self) -> Iterator[None]:
        with self._condition:
            self._searches += 1
        try:
            yield
        finally:
            with self._condition:
                self._searches -= 1
                self._condition.notify_all()

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
            for home_id in self._service.outdated():
                try:
                    self._update(home_id)
                except SearchStopped:
                    return
                except Exception:
                    # A home that trips over a bug must not end the indexing of the others.
                    log.exception("a home could not be indexed")

    def _wait_until_due(self) -> bool:
        """False at the end."""
        with self._condition:
            while not self._stopping:
                left = None if self._due is None else self._due - time.monotonic()
                if left is not None and left <= 0:
                    self._due = None
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
            self._service.update_home(home_id, stop=self._give_way, report=report)
        finally:
            self._tell(IndexChanged(root, read, is_ready=True))

    def _give_way(self) -> bool:
        """Wait while anybody searches. Whether the update is to stop."""
        with self._condition:
            # Not for ever: a pattern may be tried on many files, and the update holds the index's lock.
            self._condition.wait_for(lambda: self._stopping or not self._searches, timeout=_LONGEST_PAUSE_S)
            return self._stopping
