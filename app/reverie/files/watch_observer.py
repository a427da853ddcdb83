"""Events from any observer of watchdog: the source for systems without inotify.

Events pass an allow-list: created, modified, moved, deleted, closed after writing. Opened and
closed-without-writing would report our own reads back to us; a modified *directory* says nothing that its
entries do not say.

Threading and failure: as `files.watch_source` says. A root that is deleted ends its emitter, which `healthy`
reports.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Mapping

from watchdog import events
from watchdog.observers.api import BaseObserver, ObservedWatch

from reverie.files.watch_plan import Watched
from reverie.files.watch_source import Sink

log = logging.getLogger("reverie.watch")

ALLOWED: list[type[events.FileSystemEvent]] = [
    events.FileCreatedEvent,
    events.FileModifiedEvent,
    events.FileClosedEvent,
    events.FileMovedEvent,
    events.FileDeletedEvent,
    events.DirCreatedEvent,
    events.DirMovedEvent,
    events.DirDeletedEvent,
]


class ObserverSource:
    """A running observer and what it watches."""

    def __init__(self, sink: Sink, observer_class: Callable[[], BaseObserver]) -> None:
        self._handler = _Handler(sink)
        self._armed: dict[str, tuple[Watched, ObservedWatch]] = {}
        self._observer = observer_class()
        self._observer.start()

    @property
    def watches(self) -> int:
        return len(self._armed)

    def arm(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        for path, (watched, watch) in list(self._armed.items()):
            if directories.get(path) != watched:
                del self._armed[path]
                self._observer.unschedule(watch)
        fresh = set()
        for path, watched in directories.items():
            if path not in self._armed:
                # A path that is gone by now is seen when the plan is checked once more.
                with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                    watch = self._observer.schedule(
                        self._handler, path, recursive=watched.recursive, event_filter=ALLOWED
                    )
                    self._armed[path] = (watched, watch)
                    fresh.add(path)
        return frozenset(fresh)

    def healthy(self) -> bool:
        return self._observer.is_alive() and all(emitter.is_alive() for emitter in self._observer.emitters)

    def close(self) -> None:
        self._observer.stop()
        self._observer.join(timeout=1.0)


class _Handler(events.FileSystemEventHandler):
    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def dispatch(self, event: events.FileSystemEvent) -> None:
        try:
            self._sink.changed([os.fsdecode(path) for path in (event.src_path, event.dest_path) if path])
        except Exception:  # raising here would end the observer's thread, and leave a deaf program
            log.exception("an event could not be taken in")
            self._sink.trouble("error")
