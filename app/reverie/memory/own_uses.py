"""Counts of the uses of memories that were made through Reverie and not by the agent itself.

Threading: any thread but the GUI's. Failure: `UserError`; the tally itself is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from reverie.files.directory import ensure_private, read_regular
from reverie.files.locks import file_lock
from reverie.files.sidecar import parse_object
from reverie.memory.ledger_file import replace_unsynced
from reverie.memory.usage_rules import MemoryUsage, is_below

MOST_GONE = 2_000
FILE = "own-uses.json"


class Tally:
    """Counts of the uses of memories through Reverie, by logical key (the key in the agent's sidecar). Pure.

    The agent's sidecar counts every use, also the saves and pins of a person and the runs of Reverie
    (formats/mux.md section 8). The tally stores Reverie's own share, so that the uses by Reverie and by the
    agent can be shown separately; it never changes a sidecar. If a memory is moved, its count moves with it;
    the count of a deleted memory is kept in `gone`, for the case that the deletion is undone.
    """

    def __init__(self, uses: Mapping[str, int] | None = None, gone: Mapping[str, int] | None = None) -> None:
        self.uses = dict(uses or {})
        self.gone = dict(gone or {})
        """Counts of deleted memories; the newest last."""

    def add(self, key: str, count: int = 1) -> None:
        """Add `count` uses of the memory `key` by Reverie; a negative `count` removes uses."""
        left = max(0, self.uses.get(key, 0) + count)
        self.uses[key] = left
        if not left:
            del self.uses[key]

    def move(self, old: str, new: str) -> None:
        """Move the count of the memory `old`, or the counts of all memories in the folder `old`, to `new`.

        Both are logical keys (keys in the agent's sidecar).
        """
        for key in [key for key in self.uses if is_below(key, old)]:
            self.uses[new + key[len(old) :]] = self.uses.pop(key)

    def drop(self, key: str, entries: Iterable[str] = ()) -> None:
        """Move the counts of the deleted memory or folder `key` to `gone`.

        `entries`: the keys of all deleted memories that had an entry in the sidecar. Those that Reverie never
        used get a count of 0 in `gone`, so that their uses are not taken for Reverie's if the deletion is
        undone.
        """
        for below in {*entries, *(each for each in self.uses if is_below(each, key))}:
            self.gone.pop(below, None)
            self.gone[below] = self.uses.pop(below, 0)
        for oldest in list(self.gone)[: max(0, len(self.gone) - MOST_GONE)]:
            del self.gone[oldest]

    def apply(
        self, before: Mapping[str, MemoryUsage | None], after: Mapping[str, MemoryUsage | None]
    ) -> None:
        """Update the counts after several entries of the sidecar were changed through Reverie.

        The uses that the change adds count as Reverie's own; the counts of moved, deleted and restored
        memories are moved along. `before`, `after`: the entries by logical key; None if there is no entry.
        For the undo of a change, exchange the two.
        """
        left = {key: self.uses.get(key, 0) for key in before if before[key] and not after.get(key)}
        for key in left:
            self.drop(key, (key,))
        for key in after:
            was, now = before.get(key), after[key]
            if now is None:
                continue
            count = now.access_count - (was.access_count if was is not None else 0)
            if was is None:
                source = next((each for each in left if _went_to(before[each], now)), None)
                known = self.gone.pop(key, None)
                if known is not None:
                    count = known
                elif source is not None:
                    moved = before[source]
                    count = left.pop(source) + now.access_count - (moved.access_count if moved else 0)
                    # Different memories may have equal counts; a deleted one may come back, so keep it.
            self.add(key, count)


class OwnUses:
    """The file that stores one home's `Tally`. A file that cannot be read counts as zero uses."""

    def __init__(self, path: Path, *, lock_dir: Path) -> None:
        self._path = path
        self._lock_dir = lock_dir

    def read(self) -> Mapping[str, int]:
        """Return Reverie's own uses by logical key; empty if there is no valid file."""
        return self._read().uses

    def change(self, rule: Callable[[Tally], object]) -> None:
        """Call `rule`, which changes the tally in place, and write the file.

        Raises `UserError`; the old file is then unchanged.
        """
        ensure_private(self._path.parent)
        with file_lock(self._lock_dir, self._path):
            tally = self._read()
            before = dict(tally.uses), dict(tally.gone)
            rule(tally)
            if (tally.uses, tally.gone) == before:
                return
            replace_unsynced(self._path, {"uses": tally.uses, "gone": tally.gone})

    def _read(self) -> Tally:
        try:
            data = parse_object(read_regular(self._path))
        except (OSError, ValueError):
            return Tally()
        return Tally(_counts(data.get("uses"), 1), _counts(data.get("gone"), 0))


def _counts(raw: Any, least: int) -> dict[str, int]:
    if not isinstance(raw, dict):
        return {}
    return {key: count for key, count in raw.items() if type(count) is int and count >= least}


def _went_to(old: MemoryUsage | None, new: MemoryUsage) -> bool:
    """Return whether the new entry `new` is probably the removed entry `old`, moved to another key.

    `old`: None if there was no entry; then the result is False. A move keeps the count and the time of the
    last use. A count that is higher by one is accepted if the last use was a write, because in earlier
    versions a move by a run counted as a use.
    """
    if old is None or new.pinned != old.pinned:
        return False
    if new.access_count == old.access_count:
        return new.last_accessed_at == old.last_accessed_at
    return new.access_count == old.access_count + 1 and new.last_accessed_at == new.last_write_at
