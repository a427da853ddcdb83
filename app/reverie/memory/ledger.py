"""The rules of the ledger: Reverie's changes to an agent's file of pins and uses (its usage sidecar).

No function here reads or writes a file.

Pure; any thread. No function raises, whatever the content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from reverie.clock import DAY_MS
from reverie.memory.usage_rules import UNUSED, Entries, MemoryUsage, put, usage_of
from reverie.values import Struct, field, replace

MAX_DELTAS = 2_000
MAX_AGE_MS = 30 * DAY_MS


class Delta(Struct, frozen=True):
    """One change by Reverie of a memory's pin or use, which the agent is not known to have read yet."""

    before: MemoryUsage | None
    """The memory's entry in the sidecar (the agent's file of pins and uses) without Reverie's changes; None:
    no entry."""
    after: MemoryUsage | None
    """The entry with Reverie's changes; None: Reverie removed it."""
    at: int
    """The time at which the change was made, or was last seen overwritten; UTC ms."""
    lost: bool = False
    """Whether the change was overwritten and not made again yet, so that the file does not contain it."""
    overwritten: bool = False
    """Whether a running agent is known not to have read the change."""

    @property
    def is_pin(self) -> bool:
        return (self.before or UNUSED).pinned != (self.after or UNUSED).pinned


class Ledger(Struct, frozen=True):
    """Reverie's changes to the agent's file of pins and uses, until the agent is known to have read them.

    The agent app reads this file, its sidecar, once and then writes it whole, from memory, at every use
    (formats/mux.md sections 8 and 20.D1), so a pin set meanwhile is overwritten until the agent restarts.
    Therefore the ledger has a delta for each changed entry: the entry before and after Reverie's change. When
    another process has written the file, the new version is compared with the deltas:

    - If the agent wrote it and it contains the change, the agent has read the change: the delta is removed.
    - If it lacks the change, the change is made again, except for a pin that the agent itself changed.
    - If another Reverie process wrote it and it contains the change, the delta stays, because this does not
      show that the agent has read the change.

    A delta is also removed when a person reverses the change, when the file of the memory is deleted, or
    after 30 days without a sign of the agent.

    Whether a version contains a change is decided by its pins, its write times, and the rule that each use by
    the agent raises count and time together. The agent reads the whole file, so if it has read one change, it
    has read all earlier ones. If the content leaves it open whether the agent has read a change, the answer
    is no for a change that the agent overwrote before, and yes for any other.
    """

    version: str = ""
    """A hash of the sidecar's entries, as Reverie last wrote them or last compared them with the deltas."""
    deltas: Mapping[str, Delta] = field(default_factory=dict)
    """The changes by logical key (key in the sidecar), in the order in which they were made."""
    announced: bool = False
    """Whether a person was informed that a running agent overwrites these changes; reset when no overwritten
    change remains."""
    origin: tuple[str, Ledger] | None = None
    """An identifier of the file that the last change was to replace, and the ledger before that change. While
    that file still exists, the change has not reached the disk. An agent that writes the old state again
    creates another file, with another identifier."""

    @property
    def overwritten(self) -> int:
        """The number of Reverie's changes that a running agent is known not to have read.

        The agent overwrote them in the sidecar, or they were made while it was overwriting earlier ones.
        """
        return sum(delta.overwritten for delta in self.deltas.values())

    @property
    def unknown_pins(self) -> frozenset[str]:
        """The keys of the memories whose pin, or lack of one, a running agent is known not to have read."""
        return frozenset(key for key, delta in self.deltas.items() if delta.overwritten and delta.is_pin)

    def as_of(self, file: str) -> Ledger:
        """Return this ledger, or the one before the last change if that change never reached the file.

        `file`: the identifier of the current file, as in `origin`.
        """
        return self.origin[1] if self.origin is not None and self.origin[0] == file else self

    def with_changes(
        self, before: Mapping[str, MemoryUsage | None], after: Mapping[str, MemoryUsage | None], now: int
    ) -> Ledger:
        """Return the ledger with the changes from `before` to `after` added.

        Deltas that are too old, and the oldest ones beyond the limit, are dropped. `before`, `after`: the
        changed entries by logical key, None for no entry; `now`: UTC ms.
        """
        deltas = dict(self.deltas)
        overwritten = self.overwritten > 0
        for key in after:
            earlier = deltas.pop(key, None)
            base = earlier.before if earlier is not None else before.get(key)
            if base != after[key]:
                deltas[key] = Delta(base, after[key], now, overwritten=overwritten)
        recent = [(key, delta) for key, delta in deltas.items() if delta.at > now - MAX_AGE_MS]
        return replace(self, deltas=dict(recent[-MAX_DELTAS:]))


def judged(
    deltas: Mapping[str, Delta],
    entries: Entries,
    exists: Callable[[str], bool],
    *,
    by_agent: bool,
    now: int,
) -> dict[str, Delta]:
    """Return the deltas that are still needed after another process has written the sidecar.

    A delta is one change of an entry by Reverie (see `Delta`). `entries` is the new content of the sidecar;
    `by_agent`: the agent wrote it, not another Reverie process. A delta is dropped if it is older than
    `MAX_AGE_MS`, or if it changed an entry (did not remove it) and this entry or its file no longer exists.
    The others depend on the new content:

    - If it lacks the change, the delta is marked as lost, or dropped if making the change again would have no
      effect. If the agent wrote the content, the delta is also marked as overwritten, and its time becomes
      `now`.
    - If it contains the change, the delta is dropped if the agent wrote the content, because the agent has
      read the change. If another Reverie process wrote it, the delta stays, and its `before` and `after` are
      adapted to the new entry (`_moved`).

    `exists` returns whether a key has a file. `now`: the present time in UTC ms.
    """
    left: dict[str, Delta] = {}
    for (key, delta), knows in zip(
        deltas.items(), _verdicts(deltas, entries, by_agent=by_agent), strict=True
    ):
        if delta.at <= now - MAX_AGE_MS:
            continue  # no sign of an agent for so long: an old copy of the file is no agent that overwrites
        found = usage_of(entries.get(key))
        if delta.after is not None and (_was_dropped(delta, found) or not exists(key)):
            continue
        if not knows:
            target = _remade(key, delta, found, exists, agent_pin=by_agent)
            base = found if key in entries else None
            if (target or UNUSED) != found:
                marked = delta.overwritten or by_agent
                left[key] = Delta(base, target, now if by_agent else delta.at, lost=True, overwritten=marked)
        elif not by_agent:
            left[key] = _moved(delta, found)
    return left


def put_back(
    deltas: Mapping[str, Delta], entries: Entries, exists: Callable[[str], bool]
) -> dict[str, Delta]:
    """Apply the overwritten changes to `entries` again, in place; return all deltas, none marked as lost.

    `exists` returns whether a key has a file. An entry that Reverie had removed is removed again if it has no
    file; if it has one, only the uses that were added to it since stay. In a delta that was applied again,
    `before` and `after` become the entry before and after this call. The exception is an entry that Reverie
    created: its delta keeps both values, so that an undo of the change still removes the entry.
    """
    made: dict[str, Delta] = {}
    for key, delta in deltas.items():
        if delta.lost:
            found = usage_of(entries.get(key))
            base = found if key in entries else None
            after = _remade(key, delta, found, exists, agent_pin=False)
            put(entries, key, after)
            delta = replace(delta, lost=False)
            if (delta.before or UNUSED) != UNUSED:
                delta = replace(delta, before=base, after=after)
        made[key] = delta
    return made


def _verdicts(deltas: Mapping[str, Delta], entries: Entries, *, by_agent: bool) -> list[bool]:
    """Return for each delta (change of an entry), in order, whether this version of the sidecar contains it.

    `entries`: the entries of the version. `by_agent`: the agent wrote it, not another Reverie process.
    """
    verdicts = [
        False if delta.lost else _contains(delta, usage_of(entries.get(key))) for key, delta in deltas.items()
    ]
    known_to = max((n for n, verdict in enumerate(verdicts) if verdict), default=-1)
    lost_from = next((n for n, verdict in enumerate(verdicts) if verdict is False), len(verdicts))
    decided: list[bool] = []
    for number, (verdict, delta) in enumerate(zip(verdicts, deltas.values(), strict=True)):
        if verdict is not None:
            decided.append(verdict)
        elif not by_agent:
            decided.append(True)
        elif number < known_to or number > lost_from:
            decided.append(number < known_to)
        else:
            decided.append(not delta.overwritten)
    return decided


def _contains(delta: Delta, now: MemoryUsage) -> bool | None:
    """Return whether the entry `now` of the sidecar contains the change `delta`; None if that is unclear."""
    before, after = delta.before or UNUSED, delta.after or UNUSED
    if now == after:
        return True
    if now == before:
        return False
    if delta.after is None:
        return not _grew_from(before, now)
    if delta.is_pin:
        if now.pinned == after.pinned:
            return now.access_count >= after.access_count
        # Our counts and times without our pin: a writer that had seen the pin removed it.
        return _marks(now) == _marks(after)
    if before.last_write_at != after.last_write_at and (now.last_write_at or 0) <= (after.last_write_at or 0):
        return now.last_write_at == after.last_write_at and now.access_count >= after.access_count
    if not _grew_from(after, now):
        return False
    return None if _grew_from(before, now) else True


def _was_dropped(delta: Delta, now: MemoryUsage) -> bool:
    """Return whether the sidecar no longer has the entry of `delta`, which existed before that change.

    `now`: the present entry. False for a delta that is marked as lost, because Reverie knows that its change
    is missing.
    """
    return now == UNUSED and (delta.before or UNUSED) != UNUSED and not delta.lost


def _moved(delta: Delta, now: MemoryUsage) -> Delta:
    """Return `delta` adapted to the present entry, which another Reverie process has changed as well.

    `now`: the present entry, which contains the change of `delta`. In the result, `after` is `now`, and
    `before` is the entry that this change turns into `now`. A delta that created or removed an entry is
    returned unchanged.
    """
    before, after = delta.before or UNUSED, delta.after or UNUSED
    if delta.after is None or now == after or before == UNUSED:
        return delta
    count = max(now.access_count - (after.access_count - before.access_count), 0)
    pinned = before.pinned if now.pinned == after.pinned else now.pinned
    return replace(delta, before=replace(before, pinned=pinned, access_count=count), after=now)


def _remade(
    key: str, delta: Delta, now: MemoryUsage, exists: Callable[[str], bool], *, agent_pin: bool
) -> MemoryUsage | None:
    """Return the current entry `now` of the memory `key` with the change `delta` made to it again.

    The uses that the change added are added to the count; of two times the later one is used. None if the
    result is empty, or if Reverie had removed the entry and the memory has no file. `exists` returns whether
    a key has a file. `agent_pin`: whether the agent wrote `now`; a pin that differs from `delta.before` is
    then the agent's own change, and is kept.
    """
    if delta.after is None and not exists(key):
        return None
    before, after = delta.before or UNUSED, delta.after or UNUSED
    ours = delta.is_pin and not (agent_pin and now.pinned != before.pinned)
    made = MemoryUsage(
        after.pinned if ours else now.pinned,
        max(now.access_count + after.access_count - before.access_count, 0),
        _merged_time(before.last_accessed_at, after.last_accessed_at, now.last_accessed_at),
        _merged_time(before.last_write_at, after.last_write_at, now.last_write_at),
    )
    return None if made == UNUSED else made


def _merged_time(before: int | None, after: int | None, now: int | None) -> int | None:
    if now == before:
        return after
    return now if now is None or after is None else max(now, after)


def _grew_from(base: MemoryUsage, now: MemoryUsage) -> bool:
    """Return whether the entry `now` can result from the entry `base` by later activity of the agent."""
    was_used = now.access_count > base.access_count
    is_later = (now.last_accessed_at or 0) > (base.last_accessed_at or 0)
    return (
        now.access_count >= base.access_count
        and (now.last_accessed_at or 0) >= (base.last_accessed_at or 0)
        and (now.last_write_at or 0) >= (base.last_write_at or 0)
        and (was_used or not is_later)
    )


def _marks(usage: MemoryUsage) -> tuple[int, int | None, int | None]:
    return usage.access_count, usage.last_accessed_at, usage.last_write_at
