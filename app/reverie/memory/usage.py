"""Pins and use of the memories of one home: the agent's sidecar (formats/mux.md section 8).

Every change is one read-modify-write through `files.sidecar`: no update is lost between the Reverie processes
of a profile, and unknown fields and untouched entries stay as they are. Entries that the agent's loader would
discard are moved to `<sidecar>.rejected.json` beside it on the next save. A home without a usage sidecar gets
one in Reverie's own data directory.

An agent that overwrites its sidecar from memory would undo Reverie's changes. A ledger (`memory.ledger`)
in Reverie's data directory remembers them. It is written before each change, under the sidecar's lock, and
names the file that the change will replace, so after a kill between the two writes the change counts as not
made. Every change, like `reapply_lost`, first restores changes that the agent has overwritten. A file written
by Reverie ends with a newline, which no agent writes, so a Reverie with another profile is not mistaken for
the agent.

Threading: any thread but the GUI's. Failure: `Unavailable` (also if the home is missing, because this does
not mean that there are no pins), `Busy` or `Conflict`, and nothing changed. An unreadable sidecar reads as
empty, as it does for the agent, and is kept under another name before the first write.
"""

from __future__ import annotations

import errno
import functools
import hashlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.base import Home
from reverie.agents.scopes import ScopeRoot, unescape_key
from reverie.clock import Clock
from reverie.errors import Unavailable, UserError, user_error_from_os
from reverie.files.directory import ensure_private
from reverie.files.locks import file_lock
from reverie.files.sidecar import Sidecar, stringify
from reverie.memory import usage_rules
from reverie.memory.ledger import Ledger, judged, put_back
from reverie.memory.ledger_file import LedgerFile
from reverie.memory.own_uses import FILE, OwnUses, Tally
from reverie.memory.usage_rules import Entries, MemoryUsage
from reverie.memory.write_guard import ReadOnlyStore
from reverie.values import Struct, replace

_log = logging.getLogger("reverie.memory")

LEDGER = "usage-deltas.json"
_PACE_S = 3.0
"""Minimum seconds between two restorations of lost changes, while nothing else is written."""
_SETTLE_S = 0.8
"""Seconds for which an overwritten version is left unchanged, so that Reverie with another profile sees it
too."""


_CLOSED = frozenset({errno.EACCES, errno.EPERM, errno.EISDIR, errno.EINVAL, errno.ELOOP})


def _is_closed(error: Unavailable) -> bool:
    """Return whether the cause of `error` is that the operating system refused to open the sidecar.

    `Unavailable` has other causes, too, such as a missing home.
    """
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in _CLOSED


class UsageRestored(Struct, frozen=True):
    """The result of restoring changes of pins and use that an agent overwrote."""

    keys: tuple[str, ...] = ()
    """The keys of the changes restored now."""
    announce: int = 0
    """The number of changes that a running agent does not know, for a message to the person; 0 if there are
    none, or if the person was informed before."""
    pending: bool = False
    """Whether changes still have to be restored: try again in a second."""


class UsageLog:
    """The file with the pins and uses of one home's memories (its usage sidecar).

    A memory is named by its logical key, which is its key in that file (`Home.usage_key`).
    """

    def __init__(
        self,
        home: Home,
        *,
        own_sidecar: Path,
        lock_dir: Path,
        clock: Clock,
        require: Callable[[], None] = lambda: None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the usage sidecar of a home, or Reverie's own at `own_sidecar` if the home has none.

        `lock_dir`: the directory of the locks between Reverie processes. `require` raises `ReadOnlyStore`
        while the home's own sidecar must not be written. `seconds` returns the time of a monotonic clock.
        """
        in_home = home.sidecars is not None
        path = own_sidecar if home.sidecars is None else home.sidecars.usage
        permitted = require if in_home else lambda: None
        rejected = path.with_name(f"{path.name}.rejected.json")
        self._home = home
        self._lock_dir = lock_dir
        self._clock = clock
        self._seconds = seconds
        self._put_back_at = -_PACE_S
        self._noticed_at = 0.0
        ending = b"\n" if in_home else b""
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock, require=permitted, ending=ending)
        self._own_uses = OwnUses(own_sidecar.with_name(FILE), lock_dir=lock_dir)
        self._rejected = Sidecar(rejected, lock_dir=lock_dir, clock=clock, require=permitted)
        # No other program overwrites a sidecar of our own.
        self._ledger = LedgerFile(own_sidecar.with_name(LEDGER)) if in_home else None

    def load(self) -> dict[str, MemoryUsage]:
        """Return the pin and use of each memory that has any, by logical key (key in the sidecar).

        Raises `Unavailable` if the home is missing or the file cannot be opened.
        """
        self._require_home()
        return usage_rules.usages(self._sidecar.read().data)

    def load_for_showing(self) -> dict[str, MemoryUsage]:
        """Return the entries for display, with the fields `unknown_to_agent` and `own_count` filled in.

        The result is empty if the system refuses to open the sidecar; `problem` returns the reason.
        """
        try:
            found = self.load()
        except Unavailable as error:
            if not _is_closed(error):
                raise
            return {}
        for key in self.unknown_pins():
            if key in found:
                found[key] = replace(found[key], unknown_to_agent=True)
        for key, count in self._own_uses.read().items():
            if key in found:
                found[key] = replace(found[key], own_count=min(count, found[key].access_count))
        return found

    def problem(self, *, or_damaged: bool = True) -> str:
        """Return the reason why the usage sidecar cannot be read; empty if it can, or if there is none.

        With `or_damaged` False, a damaged sidecar is not reported, only one that the system refuses to open:
        from a damaged one the agent reads no entries.
        """
        try:
            found = self._sidecar.read().problem
            problem = found if or_damaged else ""
        except Unavailable as error:
            if not _is_closed(error):
                raise
            problem = str(error)
        return f"Pins and use counts are unknown. {problem}" if problem else ""

    def record_read(self, key: str) -> None:
        """Count one use of the memory `key`."""
        self._change(lambda entries: usage_rules.note_use(entries, key, self._clock(), write=False), [key])

    def record_write(self, key: str, *, own: bool = False, counts: bool = True) -> None:
        """Record one write of the memory `key`.

        `own`: the write was made by a person or Reverie, not by the agent. With `counts` the write counts as
        a use; otherwise only its time is recorded.
        """

        def note(entries: usage_rules.Entries) -> None:
            if counts:
                usage_rules.note_use(entries, key, self._clock(), write=True)
            else:
                usage = usage_rules.usage_of(entries.get(key))
                usage_rules.put(entries, key, usage_rules.written(usage, self._clock()))

        self._change(note, [key])
        if own and counts:
            self._tally(lambda tally: tally.add(key))

    def set_pinned(self, key: str, pinned: bool, *, own: bool = False, counts: bool = True) -> None:
        """Pin (`pinned`) or unpin the memory `key`.

        `own`: a person or Reverie does this, not the agent. With `counts`, pinning counts as a use. Unpinning
        never does, and leaves the statistics unchanged.
        """
        now = self._clock()
        self._change(lambda entries: usage_rules.note_pin(entries, key, pinned, now, counts=counts), [key])
        if own and pinned and counts:
            self._tally(lambda tally: tally.add(key))

    def rename(self, old_key: str, new_key: str, *, counts: bool = True, own: bool = False) -> None:
        """Move the entry `old_key`, and the entries below it, to `new_key`, replacing existing ones.

        `counts`: also count one write for the new key; `own`: a person or Reverie does this, not the agent.
        """
        self._change(
            lambda entries: usage_rules.note_rename(entries, old_key, new_key, self._clock(), counts=counts),
            subtrees=[old_key, new_key],
        )

        def moved(tally: Tally) -> None:
            tally.move(old_key, new_key)
            if own and counts:
                tally.add(new_key)

        self._tally(moved)

    def delete(self, key: str) -> None:
        """Delete the entry of the memory or folder `key`, and the entries below it."""
        gone = set[str]()

        def dropped(entries: usage_rules.Entries) -> None:
            gone.update(usage_rules.keys_below(entries, key))
            usage_rules.note_delete(entries, key)

        self._change(dropped, subtrees=[key])
        self._tally(lambda tally: tally.drop(key, gone))

    def apply_delta(
        self, before: Mapping[str, MemoryUsage | None], after: Mapping[str, MemoryUsage | None]
    ) -> None:
        """Apply a change: set each field that still has its value in `before` to its value in `after`.

        Both map logical keys to entries, None if there is no entry. Other values are not changed. Added uses
        count as Reverie's.
        """
        if before or after:
            self._change(lambda entries: usage_rules.merge(entries, before, after), [*before, *after])
            self._tally(lambda tally: tally.apply(before, after))

    def _tally(self, rule: Callable[[Tally], object]) -> None:
        """Call `rule` to change the counts of the uses that were made through Reverie.

        A failure is only logged: the sidecar is changed already, and only the display becomes less exact.
        """
        try:
            self._own_uses.change(rule)
        except UserError as error:
            _log.warning("own uses are not told apart: %s", error)

    def unknown_pins(self) -> frozenset[str]:
        """Return the keys whose pin, or lack of one, a running agent is known not to have read yet."""
        return frozenset() if self._ledger is None else self._ledger.read().unknown_pins

    def reapply_lost(self, *, patient: bool = False) -> UsageRestored:
        """Restore the changes of pins and use that the agent has overwritten; return the result.

        `patient`: for callers that repeat the call. Changes are then restored only every few seconds, and
        not at once: a Reverie with another profile must have time to see that its changes were overwritten,
        too. While the sidecar must not be written, nothing is restored; the ledger keeps the changes.
        """
        try:
            return self._reapply(patient=patient)
        except ReadOnlyStore:
            return UsageRestored()

    def _reapply(self, *, patient: bool) -> UsageRestored:
        if self._ledger is None:
            return UsageRestored()
        ledger = self._ledger.read()
        if ledger == Ledger() or (not ledger.deltas and not ledger.announced):
            return UsageRestored()
        if not patient:
            return self._change(lambda entries: None, tell=True)
        now = self._seconds()
        kept = self._change(lambda entries: None, tell=True, put_back=False)
        if not kept.pending:
            self._noticed_at = 0.0
            return kept
        self._noticed_at = self._noticed_at or now
        if now - self._noticed_at < _SETTLE_S or now - self._put_back_at < _PACE_S:
            return kept
        self._put_back_at, self._noticed_at = now, 0.0
        return replace(self._change(lambda entries: None), announce=kept.announce)

    def _require_home(self) -> None:
        if not self._home.available():
            raise Unavailable(
                f"Pins and use counts of the memories in {self._home.root} are not available:",
                cause="the home was moved or removed, or its disk is not mounted.",
                next_step="Restore the home, or choose another one.",
            )

    def _change(
        self,
        rule: Callable[[Entries], object],
        keys: Iterable[str] = (),
        *,
        subtrees: Iterable[str] = (),
        tell: bool = False,
        put_back: bool = True,
    ) -> UsageRestored:
        """Restore the changes that the agent has overwritten, then change the sidecar with `rule`.

        Returns the result of restoring. `rule` gets all entries, and may change those with the keys `keys`,
        and those at and below the keys `subtrees`. `tell`: mark the changes that a running agent does not
        know as announced to the person. With `put_back` False, overwritten changes are only marked as such in
        the ledger.
        """
        self._require_home()
        if self._ledger is None:
            ensure_private(self._sidecar.path.parent)
        request = _Request(
            rule, tuple(keys), tuple(subtrees), tell, put_back, self._clock(), self._file_test()
        )
        base: Ledger | None = None
        outcome: _UsageOutcome | None = None

        # Other files are written only under the sidecar's lock; a second call writes them again.
        def change(data: dict[str, Any]) -> dict[str, Any] | None:
            nonlocal base, outcome
            if self._ledger is not None and base is None:
                base = self._ledger.read()
            kept = base if outcome is None else outcome.ledger
            outcome = _outcome(data, self._file_name(), base, request, by_agent=not self._sidecar.is_ours())
            if outcome.rejected:
                self._rejected.collect(outcome.rejected)
            if self._ledger is not None and outcome.ledger != kept:
                self._ledger.write(outcome.ledger)
            return outcome.data

        try:
            self._sidecar.update(change)
        except UserError:
            if base is not None and outcome is not None:
                self._restore_ledger(outcome.ledger, base)
            raise
        return UsageRestored() if outcome is None else outcome.kept

    def _file_name(self) -> str:
        """Return an identifier of the current sidecar file that no other file ever had.

        Empty if there is no file.
        """
        try:
            status = self._sidecar.path.stat()
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise user_error_from_os(error, f"“{self._sidecar.path.name}” could not be read.") from error
        return f"{status.st_ino} {status.st_mtime_ns}"

    def _restore_ledger(self, ledger: Ledger, base: Ledger) -> None:
        """Write the earlier ledger `base` again, because the sidecar could not be written.

        Otherwise `reapply_lost` would make the refused change later. `ledger`: the ledger that was written
        with the change; nothing is done if another process has written a later one.
        """
        with file_lock(self._lock_dir, self._sidecar.path):
            if self._ledger is not None and self._ledger.read().version == ledger.version:
                self._ledger.write(base)

    def _file_test(self) -> Callable[[str], bool]:
        """Return a function that tests whether a key names something on disk.

        The function reads the home's roots at its first call.
        """
        roots = functools.cache(self._home.roots)
        return lambda key: any(self._stands_for(root, key) for root in roots())

    def _stands_for(self, root: ScopeRoot, key: str) -> bool:
        if root.usage_prefix is None or not key.startswith(root.usage_prefix):
            return False
        component = key[len(root.usage_prefix) :]
        return any(
            self._home.usage_key(root, rel) == key and os.path.lexists(f"{root.directory}/{rel}")
            for rel in (unescape_key(component), component)
        )


class _Request(Struct, frozen=True):
    """One change of the sidecar that `UsageLog._change` makes."""

    rule: Callable[[Entries], object]
    """Changes the entries, in place."""
    keys: tuple[str, ...]
    """The keys of the entries that `rule` may change."""
    subtrees: tuple[str, ...]
    """The keys of further entries that `rule` may change, with all entries below them."""
    tell: bool
    """Whether to mark the changes that a running agent does not know as announced to the person."""
    put_back: bool
    """Whether to restore, before the change, those that the agent has overwritten."""
    now: int
    """The present time, UTC ms."""
    exists: Callable[[str], bool]
    """Returns whether a key has a file."""

    def states(self, entries: Entries, also: Iterable[str] = ()) -> dict[str, MemoryUsage | None]:
        keys = [
            *also,
            *self.keys,
            *(key for top in self.subtrees for key in usage_rules.keys_below(entries, top)),
        ]
        return {key: usage_rules.usage_of(entries[key]) if key in entries else None for key in keys}


class _UsageOutcome(Struct, frozen=True):
    """The result of one change of the sidecar."""

    data: dict[str, Any] | None
    """The new content of the sidecar; None: the sidecar is not written."""
    ledger: Ledger
    """The ledger after the change."""
    rejected: Mapping[str, Any]
    """The entries that were removed because they are not objects."""
    kept: UsageRestored
    """The result of restoring changes that the agent had overwritten."""


def _outcome(
    data: dict[str, Any], file: str, base: Ledger | None, request: _Request, *, by_agent: bool
) -> _UsageOutcome:
    """Return the result of restoring lost changes and then applying the new one to `data`, in place.

    `data`: the content of the sidecar. `file`: the identifier of the file (`UsageLog._file_name`). `base`:
    the ledger; None: no agent overwrites this sidecar. `request`: the new change. `by_agent`: the agent wrote
    the present version of the file, not another Reverie process.
    """
    raw = data.get("entries")
    entries = raw if isinstance(raw, dict) else {}
    rejected = (
        {"entries": raw} if raw is not None and raw is not entries else usage_rules.take_rejects(entries)
    )
    found = _version(entries)
    before = ledger = Ledger() if base is None else base.as_of(file)
    if data and ledger.deltas and ledger.version != found:
        left = judged(ledger.deltas, entries, request.exists, by_agent=by_agent, now=request.now)
        ledger = replace(ledger, version=found, deltas=left)
    lost = tuple(key for key, delta in ledger.deltas.items() if delta.lost)
    if lost and request.put_back:
        ledger = replace(ledger, deltas=put_back(ledger.deltas, entries, request.exists))
    announce = ledger.overwritten if request.tell and not ledger.announced else 0
    ledger = replace(ledger, announced=ledger.overwritten > 0 and (ledger.announced or announce > 0))
    states = request.states(entries)
    request.rule(entries)
    if _version(entries) == found:
        return _UsageOutcome(None, ledger, {}, UsageRestored((), announce, pending=bool(lost)))
    usage_rules.prune(entries)
    data["entries"] = entries
    ledger = ledger.with_changes(states, request.states(entries, states), request.now)
    origin = file, replace(before, origin=None)
    kept = UsageRestored(lost if request.put_back else (), announce)
    return _UsageOutcome(data, replace(ledger, version=_version(entries), origin=origin), rejected, kept)


def _version(entries: Entries) -> str:
    """Return a hash of the entries in their order, independent of the file's formatting."""
    return hashlib.sha256(stringify(entries)).hexdigest()
