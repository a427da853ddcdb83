"""Fails a test that leaves a thread running, and reports where the thread was started.

Python threads are compared before and after; threads that are about to end get a moment. QThreads are checked
only if Qt has been imported. Threads of debuggers and runners, named in `_LASTING`, are allowed.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

_GRACE_S = 2.0
_LASTING = ("pydev", "pytest_timeout")
_origins: WeakKeyDictionary[Any, traceback.StackSummary] = WeakKeyDictionary()
_qthreads: list[Any] = []
_start_thread = threading.Thread.start


def _origin() -> traceback.StackSummary:
    """Where we are, without the source lines: reading those would touch files on the thread that is
    watched."""
    walk = itertools.islice(traceback.walk_stack(sys._getframe(2)), 12)
    frames = traceback.StackSummary.extract(walk, lookup_lines=False)
    frames.reverse()
    return frames


def _start_and_remember(thread: threading.Thread) -> None:
    _origins[thread] = _origin()
    _start_thread(thread)


def _watch_qthreads() -> None:
    """Remember every QThread from now on. Needs Qt imported; safe to call again."""
    qthread = sys.modules["PySide6.QtCore"].QThread
    if getattr(qthread.start, "__module__", None) == __name__:
        return
    start = qthread.start

    def remember(thread: Any, *arguments: Any) -> None:
        _qthreads.append(thread)
        _origins[thread] = _origin()
        start(thread, *arguments)

    qthread.start = remember


def _running_qthreads() -> list[Any]:
    from shiboken6 import isValid

    return [thread for thread in _qthreads if isValid(thread) and thread.isRunning()]


def _describe(kind: str, thread: Any, name: str) -> str:
    frames = [frame for frame in _origins.get(thread, ()) if "site-packages" not in frame.filename]
    where = "".join(traceback.format_list(frames)) or "  (unknown)"
    return f"{kind} {name!r} is still running; it was started here:\n{where}"


def wait_for(thread: threading.Thread) -> None:
    """Wait for it, for `_GRACE_S` at most; also for one that another thread is starting at this moment, which
    Python refuses to join until it runs."""
    until = time.monotonic() + _GRACE_S
    while time.monotonic() < until:
        try:
            thread.join(until - time.monotonic())
            break
        except RuntimeError:
            time.sleep(0.001)


@contextmanager
def threads_watched(complaints: list[str]) -> Iterator[None]:
    """Threads that were started meanwhile and are still running are told in `complaints`."""
    threading.Thread.start = _start_and_remember  # type: ignore[method-assign]
    qt = "PySide6.QtCore" in sys.modules
    if qt:
        _watch_qthreads()
        _qthreads.clear()
    before = set(threading.enumerate())
    yield
    threading.Thread.start = _start_thread  # type: ignore[method-assign]
    for thread in set(threading.enumerate()) - before:
        # Threads that Python did not start (a QThread that ran Python code) have no join of their own.
        if thread.name.startswith(_LASTING) or isinstance(thread, threading._DummyThread):
            continue
        wait_for(thread)
        if thread.is_alive():
            complaints.append(_describe("thread", thread, thread.name))
    if qt:
        for thread in _running_qthreads():
            if not thread.wait(int(_GRACE_S * 1000)):
                complaints.append(_describe("QThread", thread, thread.objectName() or type(thread).__name__))
                # Destroyed while running, it would abort the rest of the tests.
                thread.requestInterruption()
                thread.quit()
        _qthreads.clear()
