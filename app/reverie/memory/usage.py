"""Pins and use of the memories of one home: the sidecar of formats/mux.md section 8.

Every change is one read-modify-write of `files.sidecar`, so no other process of this profile loses an update and
unknown fields survive. What the agent's loader would throw away is moved to `<sidecar>.rejected.json` beside it on the
next save, never dropped. A home without a usage sidecar gets one in Reverie's own data directory.

Threading: any thread but the GUI's. Failure: `Unavailable`, `Busy`, `Conflict`; an unreadable sidecar reads as no
entries and is set aside before the first write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from reverie.clock import Clock
from reverie.files.sidecar import Sidecar
from reverie.homes.base import Home
from reverie.memory import usage_entries as rules
from reverie.memory.usage_entries import UNUSED as UNUSED
from reverie.memory.usage_entries import Entries
from reverie.memory.usage_entries import Usage as Usage


class UsageLog:
    """The usage sidecar of one home. Keys are logical keys, as `Home.usage_key` gives them."""

    def __init__(self, home: Home, *, own_sidecar: Path, lock_dir: Path, clock: Clock) -> None:
        path = home.usage_sidecar or own_sidecar
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock)
        self._rejected = Sidecar(path.with_name(path.name + ".rejected.json"), lock_dir=lock_dir, clock=clock)
        self._clock = clock

    def load(self) -> dict[str, Usage]:
        """Every entry that says something, by logical key."""
        return rules.usages(self._sidecar.read().data)

    def record_read(self, key: str) -> None:
        self._update(lambda entries: rules.note_use(entries, key, self._clock(), write=False))

    def record_write(self, key: str) -> None:
        self._update(lambda entries: rules.note_use(entries, key, self._clock(), write=True))

    def set_pinned(self, key: str, pinned: bool) -> None:
        """Pin (counted as a use) or unpin (statistics stay)."""
        self._update(lambda entries: rules.note_pin(entries, key, pinned, self._clock()))

    def rename(self, old_key: str, new_key: str) -> None:
        """Move an entry and those below it, and count one write on the new key."""
        self._update(lambda entries: rules.note_rename(entries, old_key, new_key, self._clock()))

    def delete(self, key: str) -> None:
        """Drop an entry and those below it."""
        self._update(lambda entries: rules.note_delete(entries, key))

    def apply_delta(self, before: Mapping[str, Usage | None], after: Mapping[str, Usage | None]) -> None:
        """Three-way, field by field: what still is as in `before` becomes as in `after`."""
        if before or after:
            self._update(lambda entries: rules.merge(entries, before, after))

    def _update(self, change: Callable[[Entries], object]) -> None:
        def apply(data: dict[str, Any]) -> dict[str, Any]:
            entries = data.get("entries")
            if not isinstance(entries, dict):
                if entries is not None:
                    self._keep_rejected({"entries": entries})
                entries = data["entries"] = {}
            rejected = rules.take_rejects(entries)
            if rejected:
                self._keep_rejected(rejected)
            change(entries)
            rules.prune(entries)
            return data

        self._sidecar.update(apply)

    def _keep_rejected(self, rejected: Mapping[str, Any]) -> None:
        def add(kept: dict[str, Any]) -> dict[str, Any]:
            for key, raw in rejected.items():
                versions = kept.setdefault(key, [])
                if raw not in versions:
                    versions.append(raw)
            return kept

        self._rejected.update(add)
