"""The lock that an agent holds while it rewrites a store (`Home.write_lock`): Reverie takes it around every
write of its own, and stands down while the agent holds it.

Codex holds `flock` on a file in its home for the whole of a consolidation. What somebody writes meanwhile it
overwrites. While we hold the lock, the agent leaves its job waiting and comes back later, so it is held for
the moment of writing only, never while a model thinks. Reentrant per thread: a change of several files takes
it once. Where there is no `flock` (Windows) the agent's lock is not taken.

Before the agent's lock comes Reverie's own for the same file, so that threads and processes of one profile
wait for each other, and none of them takes another for the agent. The order is the same everywhere: Reverie's
own lock, the agent's, then those of directories and files.

Threading: blocking, any thread but the GUI's. Failure: `Busy` (reason "agent-busy") while the agent holds it,
`Busy` without that reason where another Reverie keeps us waiting too long, `MendableError` where a lock file
cannot be opened.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from reverie.errors import AGENT_BUSY, Busy, mendable_from_os
from reverie.files.kernel_locks import is_held
from reverie.files.lock import file_lock
from reverie.homes.agents import WriteLock
from reverie.homes.base import Home
from reverie.homes.scopes import Scope, ScopeContext, ScopeRoot, ScopeUnavailable

if sys.platform != "win32":
    import fcntl

PATIENCE_S = 0.25
"""How long a Reverie of another profile may hold it: for one write, which takes a moment."""
OWN_PATIENCE_S = 10.0
"""How long to wait for other threads and processes of this profile."""
_STEP_S = 0.01


class _Held(threading.local):
    """The lock files that this thread holds."""

    def __init__(self) -> None:
        self.files: set[Path] = set()


_held = _Held()


@contextlib.contextmanager
def write_locks(
    home: Home, roots: Iterable[ScopeRoot], *, lock_dir: Path, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """Hold the agent's locks of these roots for the `with` block. `lock_dir`: of Reverie's own locks."""
    locks = {lock.file: lock for root in roots if (lock := home.write_lock(root)) is not None}
    with contextlib.ExitStack() as stack:
        for file in sorted(locks):
            if file not in _held.files:
                stack.enter_context(file_lock(lock_dir, file, timeout_s=OWN_PATIENCE_S))
                stack.enter_context(_hold(locks[file], patience_s))
                _held.files.add(file)
                stack.callback(_held.files.discard, file)
        yield


def refuse_while_agent_writes(home: Home, context: ScopeContext | None = None, *, lock_dir: Path) -> None:
    """Raise `Busy` while the agent rewrites a store of this context (None: any store of the home): for a run,
    before it begins."""
    for root in home.roots() if context is None else _roots_of(home, context):
        lock = home.write_lock(root)
        if lock is None or lock.file in _held.files or not is_held(lock.file):
            continue
        with file_lock(lock_dir, lock.file, timeout_s=OWN_PATIENCE_S):  # it may have been one of us
            if is_held(lock.file):
                raise _busy(lock)


def _roots_of(home: Home, context: ScopeContext) -> Iterator[ScopeRoot]:
    for scope in Scope:
        with contextlib.suppress(ScopeUnavailable):
            yield home.scope_root(context, scope)


@contextlib.contextmanager
def _hold(lock: WriteLock, patience_s: float) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(lock.file, flags, 0o644)
    except OSError as error:
        raise mendable_from_os(error, f"{lock.file} could not be opened.") from error
    try:
        until = time.monotonic() + patience_s
        while not _taken(descriptor, lock):
            if time.monotonic() >= until:
                raise _busy(lock)
            time.sleep(_STEP_S)
        try:
            yield
        finally:
            # Unlocked explicitly: a child process forked in between holds a copy of the descriptor.
            # Where that fails, closing frees it: what was done under the lock is done.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def _taken(descriptor: int, lock: WriteLock) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise mendable_from_os(error, f"{lock.file} could not be locked.") from error
    return True


def _busy(lock: WriteLock) -> Busy:
    return Busy(
        f"{lock.agent} is consolidating its memory.",
        cause=f"It (or a Reverie with another profile) holds {lock.file.name}. What is written meanwhile"
        " would be overwritten.",
        next_step="Wait until it is done. This takes a few minutes at most.",
        reason=AGENT_BUSY,
    )
