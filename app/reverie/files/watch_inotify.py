"""Events on Linux: inotify through watchdog's bindings, with our own account of which directory is which.

Why not watchdog's observer. Its bookkeeping pairs the two halves of a move, which we do not need, and pays
for it: up to half a second of delay, a thread per watched root, a directory that was moved out and replaced
can end its reader thread with a KeyError, and it keeps silent when a directory below the root gets no watch
because the limit is reached. Here one thread serves all roots, both halves of a move are simply two dirty
paths, and a refused watch is reported.

Rules. A new directory is put under watch first and reported afterwards, with what was found in it: whoever
scans after the report misses nothing. A directory that leaves is forgotten with all below it, wherever it
went. Directories with hidden names are not entered; whoever wants one names it as a target. The mask is the
allow-list: opening, reading and closing after a read are never asked for, so our own reads cannot feed back;
a change of mode or owner counts only where it opens a directory to us. Of a file with a hidden name it is
told, too: nobody hears of those but who named them, and lock files are told by their time.

Threading: a reader thread owns the descriptor; the account is shared with `arm` under one lock, which is
never held while the sink is called.
Failure: an overflow of the kernel's queue, or an error of ours, is `trouble`: the owner makes a new source
and rescans.
"""

# ruff: noqa: PTH118 - strings, because this runs once per event or per file

from __future__ import annotations

import ctypes
import errno
import logging
import os
import select
import struct
import threading
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from watchdog.observers.inotify_c import InotifyConstants as Flag
from watchdog.observers.inotify_c import inotify_add_watch, inotify_init, inotify_rm_watch

from reverie.files.watch_plan import Watched
from reverie.files.watch_source import Sink

if TYPE_CHECKING:
    from watchdog.observers.inotify_c import WatchDescriptor

log = logging.getLogger("reverie.watch")

MASK = (
    Flag.IN_CREATE
    | Flag.IN_MODIFY
    | Flag.IN_CLOSE_WRITE
    | Flag.IN_MOVED_FROM
    | Flag.IN_MOVED_TO
    | Flag.IN_DELETE
    | Flag.IN_DELETE_SELF
    | Flag.IN_MOVE_SELF
    | Flag.IN_ATTRIB
    | Flag.IN_ONLYDIR
    | Flag.IN_DONT_FOLLOW
    | Flag.IN_EXCL_UNLINK
)
_ARRIVED = Flag.IN_CREATE | Flag.IN_MOVED_TO
_LEFT = Flag.IN_DELETE | Flag.IN_MOVED_FROM
_HEADER = struct.Struct("iIII")
_BUFFER_BYTES = 256 * 1024
# Vanished, replaced by something else, or not readable for us: nothing to watch, and no fault.
_NOT_WATCHABLE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG)


class InotifySource:
    """One inotify instance. `arm` decides what is watched."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lock = threading.RLock()
        self._armed: dict[str, Watched] = {}
        self._watch_of: dict[str, int] = {}
        # One directory can be reached under several names (bind mounts), so one watch may speak for several.
        self._paths_of: dict[int, set[str]] = {}
        self._children: dict[str, set[str]] = {}
        self._deep: set[str] = set()
        self._closing = False
        self._descriptor = _checked(inotify_init())
        os.set_inheritable(self._descriptor, False)
        try:
            self._wake_read, self._wake_write = os.pipe()
        except OSError:
            os.close(self._descriptor)
            raise
        self._reader = threading.Thread(target=self._read, name="reverie-inotify", daemon=True)
        self._reader.start()

    @property
    def watches(self) -> int:
        return len(self._watch_of)

    def healthy(self) -> bool:
        return self._reader.is_alive()

    def arm(self, directories: Mapping[str, Watched]) -> frozenset[str]:
        with self._lock:
            for path, watched in list(self._armed.items()):
                if directories.get(path) != watched or path not in self._watch_of:
                    self._forget(path)
                    del self._armed[path]
            fresh = set()
            for path in directories.keys() - self._armed.keys():
                # Noted first: a refusal halfway leaves watches that must be let go with this root one day.
                self._armed[path] = directories[path]
                self._watch(path, deep=directories[path].recursive)
                if path in self._watch_of:
                    fresh.add(path)
                else:
                    del self._armed[path]
            return frozenset(fresh)

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        os.write(self._wake_write, b"x")
        self._reader.join(timeout=1.0)
        if not self._reader.is_alive():
            for descriptor in (self._descriptor, self._wake_read, self._wake_write):
                os.close(descriptor)

    def _watch(self, path: str, *, deep: bool) -> list[str]:
        """Watch a directory, and what is below it if `deep`. Returns what was found below."""
        found: list[str] = []
        stack = [path]
        while stack and not self._closing:
            directory = stack.pop()
            if not self._add(directory) or not deep:
                continue
            self._deep.add(directory)
            try:
                with os.scandir(directory) as entries:
                    for entry in entries:
                        if entry.name.startswith("."):
                            continue
                        found.append(entry.path)
                        if entry.is_dir(follow_symlinks=False):
                            self._children.setdefault(directory, set()).add(entry.path)
                            stack.append(entry.path)
            except OSError:  # gone or closed to us since the line above; its parent reports that
                continue
        return found

    def _add(self, directory: str) -> bool:
        try:
            watch = _checked(inotify_add_watch(self._descriptor, os.fsencode(directory), MASK))
        except OSError as error:
            if error.errno in _NOT_WATCHABLE:
                return False
            raise
        before = self._watch_of.get(directory)
        if before is not None and before != watch:
            self._let_go(directory, before)
        self._watch_of[directory] = watch
        self._paths_of.setdefault(watch, set()).add(directory)
        return True

    def _forget(self, path: str) -> None:
        stack = [path]
        while stack:
            directory = stack.pop()
            stack.extend(self._children.pop(directory, ()))
            self._deep.discard(directory)
            watch = self._watch_of.pop(directory, None)
            if watch is not None:
                self._let_go(directory, watch)

    def _let_go(self, directory: str, watch: int) -> None:
        paths = self._paths_of.get(watch, set())
        paths.discard(directory)
        if not paths:
            self._paths_of.pop(watch, None)
            # Fails when the kernel has dropped the watch with its directory: nothing is left to do then.
            inotify_rm_watch(self._descriptor, cast("WatchDescriptor", watch))

    def _read(self) -> None:
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        poller.register(self._wake_read, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poller.poll()}
            if self._closing or self._wake_read in ready:
                return
            try:
                self._take_in(os.read(self._descriptor, _BUFFER_BYTES))
            except Exception:  # an error of ours must not leave the program deaf: start over
                log.exception("file events could not be taken in")
                self._sink.trouble("error")
                return

    def _take_in(self, data: bytes) -> None:
        changed: list[str] = []
        overflow = roots = False
        refused: OSError | None = None
        with self._lock:
            for watch, mask, name in _parse(data):
                if mask & Flag.IN_Q_OVERFLOW:
                    overflow = True
                elif not name:
                    roots |= self._about_itself(watch, mask)
                else:
                    try:
                        self._about_entry(watch, mask, os.fsdecode(name), changed)
                    except OSError as error:
                        refused = error
        if changed:
            self._sink.changed(changed)
        if overflow:
            self._sink.trouble("overflow")
        if refused is not None:
            self._sink.refused(refused)
        if roots:
            self._sink.roots_changed()

    def _about_itself(self, watch: int, mask: int) -> bool:
        """A watched directory was deleted, unmounted or moved; whether an armed one is concerned."""
        paths = self._paths_of.get(watch, set())
        armed = any(path in self._armed for path in paths)
        if mask & Flag.IN_IGNORED:
            for path in self._paths_of.pop(watch, set()):
                self._watch_of.pop(path, None)
        return armed

    def _about_entry(self, watch: int, mask: int, name: str, changed: list[str]) -> None:
        enter = bool(mask & Flag.IN_ISDIR) and not name.startswith(".")
        for directory in tuple(self._paths_of.get(watch, ())):
            path = os.path.join(directory, name)
            below = enter and directory in self._deep
            if mask & Flag.IN_ATTRIB:
                named = name.startswith(".") and not mask & Flag.IN_ISDIR
                if named or (below and path not in self._watch_of and self._enter(directory, path, changed)):
                    changed.append(path)
                continue
            # Before anything can be refused; it is handed over when the whole batch is taken in.
            changed.append(path)
            if below and mask & _ARRIVED:
                self._enter(directory, path, changed)
            elif below and mask & _LEFT:
                self._children.get(directory, set()).discard(path)
                self._forget(path)

    def _enter(self, directory: str, path: str, changed: list[str]) -> bool:
        self._children.setdefault(directory, set()).add(path)
        changed.extend(self._watch(path, deep=True))
        return path in self._watch_of


def _checked(result: int) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _parse(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(watch, mask, name) of each event in the kernel's own layout; the name is empty for the directory
    itself."""
    start = 0
    while start < len(data):
        watch, mask, _cookie, length = _HEADER.unpack_from(data, start)
        start += _HEADER.size
        yield watch, mask, data[start : start + length].rstrip(b"\0")
        start += length
