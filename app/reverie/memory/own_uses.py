"""Which of the uses that a sidecar counts are a person's saves and pins or Reverie's runs, not the agent's.

The agent's own code counts each of its reads and, for whoever makes them, each save, pin and command
(formats/mux.md section 8), and ranks by that count. Reverie counts alike, so that both sides add up; this
tally, in Reverie's data directory, tells the two apart where they are shown. It never changes a sidecar.

The tally follows a memory that is moved, and waits for one that is deleted, in case the deletion is undone.
It is replaced whole under a lock. What cannot be read counts as nothing.

Threading: any thread but the GUI's. Failure: `MendableError` by `change` alone, before the file is touched.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reverie.errors import mendable_from_os
from reverie.files.atomic import temporary_name
from reverie.files.directory import ensure_private
from reverie.files.jsjson import parse_object, stringify
from reverie.files.lock import file_lock
from reverie.files.regular import read_regular
from reverie.memory.usage_entries import Usage, is_below

MOST_GONE = 2_000
FILE = "own-uses.json"


class Tally:
    """Counts by logical key. Pure."""

    def __init__(self, uses: Mapping[str, int] | None = None, gone: Mapping[str, int] | None = None) -> None:
        self.uses = dict(uses or {})
        self.gone = dict(gone or {})
        """Of memories that were deleted; the newest last."""

    def add(self, key: str, count: int = 1) -> None:
        """So many more, or fewer."""
        left = max(0, self.uses.get(key, 0) + count)
        self.uses[key] = left
        if not left:
            del self.uses[key]

    def move(self, old: str, new: str) -> None:
        """A memory or folder has another name."""
        for key in [key for key in self.uses if is_below(key, old)]:
            self.uses[new + key[len(old) :]] = self.uses.pop(key)

    def drop(self, key: str) -> None:
        """A memory or folder was deleted."""
        for below in [each for each in self.uses if is_below(each, key)]:
            self.gone.pop(below, None)
            self.gone[below] = self.uses.pop(below)
        for oldest in list(self.gone)[: max(0, len(self.gone) - MOST_GONE)]:
            del self.gone[oldest]

    def apply(self, before: Mapping[str, Usage | None], after: Mapping[str, Usage | None]) -> None:
        """A change of several entries by a run or by hand, or its undo: what it counted more is ours."""
        left = {key: self.uses.get(key, 0) for key in before if before[key] and not after.get(key)}
        for key in left:
            self.drop(key)
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
                    self.gone.pop(source, None)
            self.add(key, count)


class OwnUses:
    """The file of one home."""

    def __init__(self, path: Path, *, lock_dir: Path) -> None:
        self._path = path
        self._lock_dir = lock_dir

    def read(self) -> Mapping[str, int]:
        """The counts by logical key; none where there is no file that can be understood."""
        return self._read().uses

    def change(self, rule: Callable[[Tally], object]) -> None:
        """Apply `rule`. Raises `MendableError`; the old file stays then."""
        ensure_private(self._path.parent)
        with file_lock(self._lock_dir, self._path):
            tally = self._read()
            before = dict(tally.uses), dict(tally.gone)
            rule(tally)
            if (tally.uses, tally.gone) == before:
                return
            temporary = self._path.with_name(temporary_name(self._path.name))
            try:
                temporary.write_bytes(stringify({"uses": tally.uses, "gone": tally.gone}))
                temporary.replace(self._path)
            except OSError as error:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise mendable_from_os(error, f"“{self._path.name}” could not be written.") from error

    def _read(self) -> Tally:
        try:
            data = parse_object(read_regular(self._path))
        except (OSError, ValueError):
            return Tally()
        return Tally(_counts(data.get("uses")), _counts(data.get("gone")))


def _counts(raw: Any) -> dict[str, int]:
    if not isinstance(raw, dict):
        return {}
    return {key: count for key, count in raw.items() if type(count) is int and count > 0}


def _went_to(old: Usage | None, new: Usage) -> bool:
    """Whether an entry that went is the one that came: a move keeps its times."""
    return old is not None and new.access_count >= old.access_count and new.pinned == old.pinned
