"""Events from watchdog's observer: inotify on Linux, the system's own way elsewhere.

Only watchdog's public interface is used, but for ending the thread of a watch that it fails to end; what that
leaves open is made up for here:

- Events pass an allow-list. Opened and closed-without-writing would report our own reads back to us; a
  modified *directory* says nothing that its entries do not say. A change of mode, owner or time is reported
  of files with a hidden name only: nobody hears of those but who named them, and lock files are told by their
  time.
- A directory that was moved out of a watched tree keeps its watches, under its old name, and may end
  watchdog's reader with a KeyError when it goes; one that exchanged its name with another is mistaken for
  it. The root is watched anew, and reported so.
- A watch that is refused below a root, for want of rights or at the system's limit, is not told. When a
  directory came, the kernel's own list (`/proc/self/fdinfo`) says whether it is watched; one more watch, on
  a directory of ours, tells whether the limit is reached.
- Lost events are told to the log only. What watchdog logs as a warning or an error is `trouble`.
- A reader thread that dies is not replaced. The threads that an observer starts are remembered, and without
  one of them the source is not `healthy`.

Known limits: after something was moved out of a watched tree, what happens there is reported up to half a
second later, as watchdog waits for the other half of the move. Each directory that is armed costs a thread,
which sleeps. Directories with hidden names are watched, and the plan drops what happens in them.

Threading and failure: as `files.watch_sources` says.
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
# Vanished, replaced by something else, or not readable for us: nothing to watch, and no fault.
_NOT_WATCHABLE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)
_INODE = re.compile(r"^inotify .*\bino:([0-9a-f]+)", re.MULTILINE)


class _News(Struct):
    """What the handlers noted for the next `arm`."""

    lost: set[str] = field(default_factory=set)
    """Armed directories that are gone, or that something watched has left."""
    came: dict[str, str] = field(default_factory=dict)
    """Directories that ought to be under watch, each with the armed one above it."""
    counts: bool = False
    """The number of watched directories may be another."""


class ObserverSource:
    """A running observer and what it watches."""

    def __init__(self, sink: Sink, observer_class: Callable[[], BaseObserver]) -> None:
        self.sink = sink
        self.closing = False
        self.watches = 0
        self._lock = threading.Lock()
        self._news = _News()
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
            news, self._news = self._news, _News()
        news.lost.update(self._unwatched(news.came))
        ended = {emitter.watch for emitter in self._observer.emitters if not emitter.is_alive()}
        gone = [
            path
            for path, (watched, watch) in self._armed.items()
            if directories.get(path) != watched or path in news.lost or watch in ended
        ]
        for path in gone:
            self._let_go(path)
        fresh = frozenset(
            path for path in directories.keys() - self._armed.keys() if self._watch(path, directories[path])
        )
        if fresh or gone or news.counts:
            self.watches = len(self._watched_inodes()) or len(self._armed)
        if self._descriptors and any(directories[path].recursive for path in fresh):
            self._ask_for_one_more()
        return fresh

    def healthy(self) -> bool:
        return self._observer.is_alive() and all(thread.is_alive() for thread in self._threads)

    def close(self) -> None:
        if self.closing:
            return
        self.closing = True
        _sources.discard(self)
        for path in tuple(self._armed):
            self._let_go(path)
        with _ending():
            self._observer.stop()
        if threading.current_thread() is not self._observer:
            self._observer.join(timeout=1.0)

    def note(self, root: str, event: events.FileSystemEvent) -> None:
        """What an event about a directory means for the watches below `root`."""
        path, target = os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
        moved = isinstance(event, events.DirMovedEvent)
        # Two folders that exchange their names in one call are each other's by watchdog's account: what
        # happens in them would be reported under the wrong name, or not at all.
        left = moved and (not target or os.path.lexists(path))
        ended = path == root and isinstance(event, (events.DirDeletedEvent, events.DirMovedEvent))
        with self._lock:
            self._news.counts = True
            if left or ended:
                self._news.lost.add(root)
            elif not isinstance(event, events.DirDeletedEvent):
                self._news.came[target or path] = root
        if left or ended:
            self.sink.roots_changed()

    def _watch(self, path: str, watched: Watched) -> bool:
        # watchdog says nothing of a directory that is closed to us.
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

    def _let_go(self, path: str) -> None:
        armed = self._armed.pop(path, None)
        if armed is None:  # `close`, from another thread, was quicker
            return
        emitter = next((each for each in self._observer.emitters if each.watch is armed[1]), None)
        events_of = getattr(emitter, "_inotify", None)
        try:
            with _ending():
                self._observer.unschedule(armed[1])
        except Exception:  # watchdog's account of a moved directory may be wrong: then start over
            # It did not come to waking the thread of this watch, which would wait for ever.
            with contextlib.suppress(AttributeError):
                events_of._move_event_grouper.close()  # type: ignore[union-attr]
            log.info("the watch of a folder could not be ended", exc_info=True)
            if not self.closing:
                self.sink.trouble("error")

    def _unwatched(self, came: Mapping[str, str]) -> Iterator[str]:
        """The roots below which a directory that came is not under watch."""
        inodes = self._watched_inodes() if came else set()
        for path, root in came.items():
            armed = self._armed.get(root)
            if armed is None or not armed[0].recursive:
                continue
            with contextlib.suppress(OSError):  # gone again
                # Some file systems list other numbers than they tell: then even the root seems unwatched.
                known = os.stat(root).st_ino in inodes and os.lstat(path).st_ino not in inodes
                if known and os.access(path, os.R_OK):
                    yield root

    def _ask_for_one_more(self) -> None:
        """Raises OSError if the system refuses one more watch."""
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
        """The kernel's list of what is under watch; empty where it gives none."""
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
        except Exception:  # raising here would end the observer's thread, and leave a deaf program
            log.exception("an event could not be taken in")
            self._source.sink.trouble("error")


class _Complaints(logging.Handler):
    """Passes on what watchdog logs: to our log, and as trouble to each source, as it does not say whose
    it is.
    """

    def emit(self, record: logging.LogRecord) -> None:
        ended = record.levelno > logging.WARNING and bool(_ends)
        text = record.getMessage()
        # An emitter that is just being ended complains that it is.
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
# A directory that is found by its event and by a look into the one above is noted twice: that is no fault.
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.observers\.inotify")


@contextlib.contextmanager
def _ending() -> Iterator[None]:
    """While emitters are being ended."""
    _ends.append(1)
    try:
        yield
    finally:
        _ends.pop()


@contextlib.contextmanager
def _threads_refused() -> Iterator[None]:
    """Each watch is a thread: one that the system refuses counts as a refused watch."""
    try:
        yield
    except RuntimeError as error:  # what Python raises then
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error


def _inotify_descriptors() -> set[int]:
    """Descriptors of this process that are inotify instances; none on other systems."""
    found: set[int] = set()
    if sys.platform == "linux":
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify":  # noqa: PTH115
                    found.add(int(name))
    return found


def _serves_all(thread: threading.Thread) -> bool:
    """Return whether it is a thread of watchdog's that serves all watches of an observer. Others may have started
    meanwhile: threads of the program, or emitters of another source, each of which serves one watch.
    """
    return type(thread).__module__.startswith("watchdog.") and not isinstance(thread, EventEmitter)
