"""Events from watchdog's observer: inotify on Linux, the system's own mechanism elsewhere.

Only watchdog's public interface is used, except to end the thread of a watch that it fails to end. Its gaps
are filled here:

- Events pass an allow-list. "Opened" and "closed without writing" would report our own reads back to us; a
  modified *directory* adds nothing to the events of its entries. A change of mode, owner or time is reported
  only for files with a hidden name: only targets that name such a file get its events, and lock files are
  recognised by their time.
- A directory that was moved out of a watched tree keeps its watches under its old name, and may end
  watchdog's reader with a KeyError when it is removed; two directories that exchanged their names are
  mistaken for each other. In both cases the root is watched again and reported as changed.
- A refused watch below a root (missing rights, the system's limit) is not reported. When a directory appears,
  the kernel's own list (`/proc/self/fdinfo`) shows whether it is watched; one more watch, on a directory of
  ours, shows whether the limit is reached.
- Lost events are only logged. Whatever watchdog logs as a warning or an error is `trouble`.
- A reader thread that dies is not replaced. The threads that an observer starts are recorded; if one of them
  has ended, the source is not `healthy`.

Known limits: after something was moved out of a watched tree, events there are reported up to half a second
late, as watchdog waits for the other half of the move. Each watched directory costs a thread, which sleeps.
Directories with hidden names are watched, and the plan drops their events.

Threading and failure: as in `files.watch_sources`.
"""

# ruff: noqa: PTH116, PTH119, PTH208 - strings, because this runs once per event
from __future__ import annotations

import contextlib
import errno
import logging
import os
import re
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from weakref import WeakSet

from watchdog import events
from watchdog.observers.api import BaseObserver, EventEmitter, ObservedWatch

from reverie.files.watch_sources import Sink, Watched
from reverie.values import Struct, field

log = logging.getLogger("reverie.watch")

ALLOWED: list[type[events.FileSystemEvent]] = [
    events.FileAttribEvent,
    events.FileCreatedEvent,
    events.FileModifiedEvent,
    events.FileClosedEvent,
    events.FileMovedEvent,
    events.FileDeletedEvent,
    events.DirAttribEvent,
    events.DirCreatedEvent,
    events.DirMovedEvent,
    events.DirDeletedEvent,
]
# Vanished, replaced by something else, or not readable for us: nothing to watch, and no error.
_NOT_WATCHABLE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)
_INODE = re.compile(r"^inotify .*\bino:([0-9a-f]+)", re.MULTILINE)


class _Notes(Struct):
    """What events since the last call of `arm` mean for the watches: which to renew, which to add."""

    lost: set[str] = field(default_factory=set)
    """Directories to watch again: they vanished, or a watched directory was moved out of them."""
    came: dict[str, str] = field(default_factory=dict)
    """New directories that should be under watch, each with the watched directory above it."""
    counts: bool = False
    """Whether the number of watched directories may have changed."""


class ObserverSource:
    """An `EventSource` that uses a running observer of the library watchdog."""

    def __init__(self, sink: Sink, observer_class: Callable[[], BaseObserver]) -> None:
        self.sink = sink
        self.closing = False
        self.watches = 0
        self._lock = threading.Lock()
        self._notes = _Notes()
        self._armed: dict[str, tuple[Watched, ObservedWatch]] = {}
        with _making, _threads_refused():
            descriptors, threads = _inotify_descriptors(), set(threading.enumerate())
            self._observer = observer_class()
            self._observer.start()
            self._descriptors = _inotify_descriptors() - descriptors
            self._threads = [thread for thread in set(threading.enumerate()) - threads if _serves_all(thread)]
        _sources.add(self)

    def arm(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        with self._lock:
            notes, self._notes = self._notes, _Notes()
        notes.lost.update(self._unwatched(notes.came))
        ended = {emitter.watch for emitter in self._observer.emitters if not emitter.is_alive()}
        gone = [
            path
            for path, (watched, watch) in self._armed.items()
            if directories.get(path) != watched or path in notes.lost or watch in ended
        ]
        for path in gone:
            self._unwatch(path)
        fresh = frozenset(
            path for path in directories.keys() - self._armed.keys() if self._watch(path, directories[path])
        )
        if fresh or gone or notes.counts:
            self.watches = len(self._watched_inodes()) or len(self._armed)
        if self._descriptors and any(directories[path].recursive for path in fresh):
            self._probe_limit()
        return fresh

    def healthy(self) -> bool:
        return self._observer.is_alive() and all(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        if self.closing:
            return
        self.closing = True
        _sources.discard(self)
        for path in tuple(self._armed):
            self._unwatch(path)
        with _ending():
            self._observer.stop()
        if threading.current_thread() is not self._observer:
            self._observer.join(timeout=1.0)

    def note(self, root: str, event: events.FileSystemEvent) -> None:
        """Record for the next `arm` which watches must be added or renewed because of `event`.

        `event`: an event about a directory; `root`: the watched directory that reported it.
        """
        path, target = os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
        moved = isinstance(event, events.DirMovedEvent)
        # watchdog mixes up two folders that exchange their names in one call: events in them would be
        # reported under the wrong name, or not at all.
        left = moved and (not target or os.path.lexists(path))
        ended = path == root and isinstance(event, (events.DirDeletedEvent, events.DirMovedEvent))
        with self._lock:
            self._notes.counts = True
            if left or ended:
                self._notes.lost.add(root)
            elif not isinstance(event, events.DirDeletedEvent):
                self._notes.came[target or path] = root
        if left or ended:
            self.sink.roots_changed()

    def _watch(self, path: str, watched: Watched) -> bool:
        # watchdog does not report a directory that we may not read.
        if self.closing or not os.access(path, os.R_OK):
            return False
        handler = _Handler(self, path)
        try:
            with _threads_refused():
                watch = self._observer.schedule(
                    handler, path, recursive=watched.recursive, event_filter=ALLOWED
                )
        except OSError as error:
            if error.errno in _NOT_WATCHABLE:
                return False
            raise
        self._armed[path] = (watched, watch)
        return True

    def _unwatch(self, path: str) -> None:
        armed = self._armed.pop(path, None)
        if armed is None:  # `close`, from another thread, was faster
            return
        emitter = next((each for each in self._observer.emitters if each.watch is armed[1]), None)
        events_of = getattr(emitter, "_inotify", None)
        try:
            with _ending():
                self._observer.unschedule(armed[1])
        except Exception:  # watchdog's records of a moved directory may be wrong: then start over
            # It failed before waking the thread of this watch, which would wait for ever.
            with contextlib.suppress(AttributeError):
                events_of._move_event_grouper.close()  # type: ignore[union-attr]
            log.info("the watch of a folder could not be ended", exc_info=True)
            if not self.closing:
                self.sink.trouble("error")

    def _unwatched(self, came: Mapping[str, str]) -> Iterator[str]:
        """Yield each watched root below which one of the new directories has no watch.

        `came` maps each new directory to its root.
        """
        inodes = self._watched_inodes() if came else set()
        for path, root in came.items():
            armed = self._armed.get(root)
            if armed is None or not armed[0].recursive:
                continue
            with contextlib.suppress(OSError):  # gone again
                # Some file systems list other inodes than `stat` does: then even the root seems unwatched.
                known = os.stat(root).st_ino in inodes and os.lstat(path).st_ino not in inodes
                if known and os.access(path, os.R_OK):
                    yield root

    def _probe_limit(self) -> None:
        """Raise OSError if the system refuses one more watch."""
        try:
            place = tempfile.TemporaryDirectory(prefix="reverie-watch-", ignore_cleanup_errors=True)
        except OSError:  # a full disk says nothing about watches
            log.info("whether there are watches left cannot be found out", exc_info=True)
            return
        with place as path, _threads_refused():
            watch = self._observer.schedule(events.FileSystemEventHandler(), path, event_filter=ALLOWED)
            with _ending():
                self._observer.unschedule(watch)

    def _watched_inodes(self) -> set[int]:
        """Return the inodes in the kernel's list of watches; empty if there is no such list."""
        found: set[int] = set()
        for descriptor in self._descriptors:
            with contextlib.suppress(OSError):
                text = Path(f"/proc/self/fdinfo/{descriptor}").read_text("ascii")
                found.update(int(inode, 16) for inode in _INODE.findall(text))
        return found


class _Handler(events.FileSystemEventHandler):
    def __init__(self, source: ObserverSource, root: str) -> None:
        self._source = source
        self._root = root

    def dispatch(self, event: events.FileSystemEvent) -> None:
        try:
            if event.is_directory:
                self._source.note(self._root, event)
            paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
            if isinstance(event, (events.DirAttribEvent, events.FileAttribEvent)):
                named = os.path.basename(paths[0]).startswith(".") and not event.is_directory
                paths = paths if named else []
            if paths:
                self._source.sink.changed(paths)
        except Exception:  # raising here would end the observer's thread, and with it all events
            log.exception("an event could not be taken in")
            self._source.sink.trouble("error")


class _Complaints(logging.Handler):
    """A logging handler that copies watchdog's warnings to our log, and reports trouble to each source.

    Each source gets it, because watchdog does not say which source a record is about.
    """

    def emit(self, record: logging.LogRecord) -> None:
        ended = record.levelno > logging.WARNING and bool(_ends)
        text = record.getMessage()
        # An emitter that is being ended logs that as an error.
        log.log(logging.DEBUG if ended else logging.INFO, "watchdog: %s", text, exc_info=record.exc_info)
        for source in () if ended else tuple(_sources):
            if not source.closing:
                source.sink.trouble("overflow" if "overflow" in text else "error")


_making = threading.Lock()
_sources: WeakSet[ObserverSource] = WeakSet()
_ends: list[int] = []
_watchdog_log = logging.getLogger("watchdog")
_watchdog_log.addHandler(_Complaints(logging.WARNING))
_watchdog_log.propagate = False
# watchdog warns of a directory that is found both by its event and by listing its parent: harmless.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.observers\.inotify")


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    """Context manager for a block that ends emitters (watchdog's threads, one for each watch).

    Within the block, errors that watchdog logs are not reported as trouble.
    """
    _ends.append(1)
    try:
        yield
    finally:
        _ends.pop()


@contextlib.contextmanager
def _threads_refused() -> Iterator[None]:
    """Context manager: turn the RuntimeError for a thread that cannot be started into an `OSError`.

    Each watch needs a thread.
    """
    try:
        yield
    except RuntimeError as error:  # raised by Python when a thread cannot be started
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error


def _inotify_descriptors() -> set[int]:
    """Return the descriptors of this process that are inotify instances; empty on systems without inotify."""
    found: set[int] = set()
    if sys.platform == "linux":
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify":  # noqa: PTH115
                    found.add(int(name))
    return found


def _serves_all(thread: threading.Thread) -> bool:
    """Return whether `thread` is a thread of watchdog that serves all watches of an observer.

    False for threads of the program, and for emitters, each of which serves one watch.
    """
    return type(thread).__module__.startswith("watchdog.") and not isinstance(thread, EventEmitter)
