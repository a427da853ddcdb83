"""The guard that decides whether Reverie may write into a home, and the locks of its agent.

A home reports layouts and versions that Reverie does not know (`Home.write_refusals`). Such a store is
read-only until a person permits writing. A permission is kept in Reverie's own data directory, per home id
and store, together with the evidence that the person saw; other evidence, such as a still newer version,
needs a new permission. Every path that writes asks the guard: the store, transactions (runs, undo, recovery),
sidecars inside a home, the agent's lock, companions, records, trace dumps, recorded failures and the doctor's
fixes. Runs ask once more before they begin. A test tries every code path that writes, and fails if anything
is written below a refused home.

Threading: blocking; any thread but the GUI's. The guard caches nothing. Failure: `ReadOnlyStore`, `Busy`, or
`Unavailable` if another home is now at the path of this one.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from reverie.agents.base import Home
from reverie.agents.capabilities import WriteLock
from reverie.agents.scopes import FileRule, Refusal, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.clock import Clock
from reverie.errors import AGENT_BUSY, Busy, StoreError
from reverie.files.directory import ensure_private
from reverie.files.locks import file_lock, held_lock, is_held
from reverie.files.sidecar import Sidecar

PERMISSIONS = "write-anyway.json"
_ENTRIES = "permitted"


class ReadOnlyStore(StoreError):
    """Raised if Reverie must not write into a store (directory of notes)."""

    refusal: Refusal
    """Why Reverie must not write, with the evidence; the `reason` of this error is `refusal.reason`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(
            refusal.title, cause=refusal.evidence, next_step=refusal.next_step, reason=refusal.reason
        )
        self.refusal = refusal


class WriteGuard:
    """The guard that decides which stores (directories of notes) of one home may be written.

    `file` stores a person's permissions.
    """

    def __init__(
        self,
        home: Home,
        file: Path,
        *,
        lock_dir: Path,
        clock: Clock,
        require_same: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the guard of a home.

        `file`: the file of a person's permissions. `lock_dir`: the directory of the locks between Reverie
        processes. `require_same` raises `Unavailable` if another home is now at the path of this one.
        """
        self._home = home
        self._require_same = require_same
        self._file = file
        self._sidecar = Sidecar(file, lock_dir=lock_dir, clock=clock)
        self.lock_dir = lock_dir
        """The directory of the locks between the Reverie processes of this profile."""
        self._clock = clock

    def refusal(self, root: ScopeRoot | None = None) -> Refusal | None:
        """Return the reason why `root` is read-only; None if it may be written.

        Without a root, the result is for the home's own files: the sidecars and the companions (files loaded
        beside the memories).
        """
        return self._first(self._home.write_refusals(root))

    def refusal_of(self, context: ScopeContext) -> Refusal | None:
        """Return the reason why a run in this context may not begin; None if it may.

        The result is the refusal of the first store with an unknown layout. A store that the agent does not
        use is also refused, but this is ignored as long as the context has a store that may be written.
        """
        roots = tuple(_roots_of(self._home, context))
        unknown = self._first(_unknown(self._reported(roots)))
        if unknown is not None:
            return unknown
        unused = [self.refusal(root) for root in roots]
        return unused[0] if unused and all(unused) else None

    def unknown(self, context: ScopeContext | None = None) -> tuple[tuple[Refusal, bool], ...]:
        """Return the refusals for unknown layouts, each with whether a person has permitted writing.

        `context`: only the stores of this context; None: all stores.
        """
        roots = self._home.roots() if context is None else tuple(_roots_of(self._home, context))
        reported = _unknown(self._reported(roots))
        permitted = self._permitted() if reported else {}
        return tuple((each, _covers(permitted, each)) for each in reported)

    def require(self, root: ScopeRoot | None = None) -> None:
        """Raise `ReadOnlyStore` if `root` (without one, the home's own files) is read-only.

        Raises `Unavailable` if another home is now at the path of this one.
        """
        self._require_same()
        refusal = self.refusal(root)
        if refusal is not None:
            raise ReadOnlyStore(refusal)

    def require_context(self, context: ScopeContext) -> None:
        """Raise `ReadOnlyStore` if a run in this context may not begin (`refusal_of`).

        Raises `Unavailable` if another home is now at the path of this one.
        """
        self._require_same()
        refusal = self.refusal_of(context)
        if refusal is not None:
            raise ReadOnlyStore(refusal)

    def permit(self, refusals: Iterable[Refusal]) -> None:
        """Store a person's permission to write in spite of `refusals`.

        The permission is valid as long as exactly the evidence in `refusals` is found. Raises `StoreError`
        for a refusal that no person can permit.
        """
        given = tuple(refusals)
        for refusal in given:
            if not refusal.permissible:
                raise StoreError(
                    refusal.title, cause=refusal.evidence, next_step=refusal.next_step, reason=refusal.reason
                )

        def add(data: dict[str, Any]) -> dict[str, Any]:
            kept = data.get(_ENTRIES)
            entries = dict(kept) if isinstance(kept, dict) else {}
            for refusal in given:
                entries[refusal.store] = {"evidence": refusal.evidence, "permittedAt": self._clock()}
            return {**data, _ENTRIES: entries}

        ensure_private(self._file.parent)
        self._sidecar.update(add)

    def _first(self, reported: tuple[Refusal, ...]) -> Refusal | None:
        if not reported:
            return None
        permitted = self._permitted()
        return next((each for each in reported if not _covers(permitted, each)), None)

    def _reported(self, roots: Iterable[ScopeRoot]) -> tuple[Refusal, ...]:
        found = [*self._home.write_refusals()]
        for root in roots:
            found += self._home.write_refusals(root)
        return tuple(dict.fromkeys(found))

    def _permitted(self) -> dict[str, Any]:
        kept = self._sidecar.read().data.get(_ENTRIES)
        return kept if isinstance(kept, dict) else {}


def _unknown(reported: Iterable[Refusal]) -> tuple[Refusal, ...]:
    return tuple(each for each in reported if each.reason == "unknown-layout")


def rule_under(refusal: Refusal | None, rule: FileRule) -> FileRule:
    """Return the rule of a file in a store that may have a `refusal`; None: the store may be written.

    With a refusal, an editable file becomes read-only for the reason of the refusal. In any other case the
    result is `rule`.
    """
    if refusal is None or rule.kind != "editable":
        return rule
    return FileRule("read-only", str(ReadOnlyStore(refusal)))


def _covers(permitted: dict[str, Any], refusal: Refusal) -> bool:
    entry = permitted.get(refusal.store)
    return refusal.permissible and isinstance(entry, dict) and entry.get("evidence") == refusal.evidence


PATIENCE_S = 0.25
"""The time to wait for a Reverie of another profile, in seconds; it holds the lock for one write only."""
OWN_PATIENCE_S = 10.0
"""Seconds to wait for other threads and processes of this profile."""


class _HeldLock(threading.local):
    """The lock files that this thread holds."""

    def __init__(self) -> None:
        self.files: set[Path] = set()


_held = _HeldLock()


@contextlib.contextmanager
def write_locks(
    home: Home, roots: Iterable[ScopeRoot], *, lock_dir: Path, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """Hold the agent's locks of `roots` for the `with` block.

    An agent holds such a lock while it rewrites a store (`StoreRules.write_lock`). Codex holds `flock` on a
    file in its home for a whole consolidation and overwrites any concurrent change. While Reverie holds the
    lock, the agent postpones its job, so Reverie holds it around each write only, never while a model thinks.
    The lock is reentrant per thread: a change of several files acquires it once. Without `flock` (Windows)
    nothing is locked.

    Reverie's own lock for the same file comes first, so that threads and processes of one profile wait for
    each other, and none of them mistakes another one for the agent. The order is the same everywhere:
    Reverie's own lock, the agent's, then the locks of directories and files. Raises `Busy`, with the reason
    "agent-busy" if the agent holds the lock, without a reason if another Reverie does. `lock_dir`: the
    directory of Reverie's own locks; `patience_s`: the longest time in seconds to wait for each of the
    agent's locks.
    """
    rules = home.store_rules
    found = () if rules is None else map(rules.write_lock, roots)
    locks = {lock.file: lock for lock in found if lock is not None}
    with contextlib.ExitStack() as stack:
        for file in sorted(locks):
            if file not in _held.files:
                stack.enter_context(file_lock(lock_dir, file, timeout_s=OWN_PATIENCE_S))
                stack.enter_context(_hold(locks[file], patience_s))
                _held.files.add(file)
                stack.callback(_held.files.discard, file)
        yield


def refuse_while_agent_writes(home: Home, context: ScopeContext | None = None, *, lock_dir: Path) -> None:
    """Raise `Busy` while the agent rewrites a store of this context (None: any store of the home).

    A run calls this before it begins. `lock_dir`: the directory of the locks between Reverie processes.
    """
    rules = home.store_rules
    if rules is None:
        return
    for root in home.roots() if context is None else _roots_of(home, context):
        lock = rules.write_lock(root)
        if lock is None or lock.file in _held.files or not is_held(lock.file):
            continue
        with file_lock(lock_dir, lock.file, timeout_s=OWN_PATIENCE_S):  # it may have been a Reverie
            if is_held(lock.file):
                raise _busy(lock)


def _roots_of(home: Home, context: ScopeContext) -> Iterator[ScopeRoot]:
    for scope in Scope:
        with contextlib.suppress(ScopeUnavailable):
            yield home.scope_root(context, scope)


def _hold(lock: WriteLock, patience_s: float) -> AbstractContextManager[None]:
    if sys.platform == "win32":
        return nullcontext()
    return held_lock(lock.file, lock.file, timeout_s=patience_s, mode=0o644, busy=_busy(lock))


def _busy(lock: WriteLock) -> Busy:
    return Busy(
        f"{lock.agent} is consolidating its memory.",
        cause=f"Claude Code, or Reverie with another profile, holds the lock {lock.file.name}. It would "
        "overwrite anything written now.",
        next_step="Wait until it has finished, a few minutes at most.",
        reason=AGENT_BUSY,
    )
