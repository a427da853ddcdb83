"""Dumps of writer runs in the agent's own `debug_obj`, where its people look for them (formats/mux.md
section 14).

A dump is written once, redacted once more, and never altered. Reverie keeps a ledger of those it wrote, in
its own directory, and retention removes only what stands in there and still has the bytes it was written
with: a dump of the agent's, or one that somebody changed, is never touched.

Threading: any thread but the GUI's; the ledger has a lock. Failure: `MendableError`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from reverie.errors import Conflict, MendableError, StoreError
from reverie.files.jsjson import stringify
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar
from reverie.text.redact import redacted

_OUTSIDE_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SAME_NAMES = 100


def dump_name(run_started_at: int, trigger_message_id: str) -> str:
    """As the agent names its own."""
    return f"{run_started_at}_{_OUTSIDE_A_NAME.sub('_', trigger_message_id)}.json"


@dataclass(frozen=True, slots=True)
class _Written:
    rel: str
    sha256: str
    size: int


class Dumps:
    """The dumps that Reverie writes into one home, whose directory is `root`. `require` raises where the
    home must not be written."""

    def __init__(self, root: Path, ledger: Sidecar, require: Callable[[], None] = lambda: None) -> None:
        self._require = require
        self._root = root
        self._files = RootedDirectory(root)
        self._ledger = ledger

    def write(self, directory: Path, document: Mapping[str, Any]) -> Path:
        """One dump into `directory`, which lies below the home. Its name is taken from the document."""
        self._require()
        data = stringify(redacted(dict(document)))
        name = dump_name(int(document["runStartedAt"]), str(document["triggerMessageId"]))
        rel = self._create(directory.relative_to(self._root).as_posix(), name, data)
        entry = asdict(_Written(rel, hashlib.sha256(data).hexdigest(), len(data)))

        def add(ledger: dict[str, Any]) -> dict[str, Any]:
            known = ledger.get("dumps")
            return {**ledger, "dumps": [*(known if isinstance(known, list) else []), entry]}

        self._ledger.update(add)
        return self._root / rel

    def written(self) -> frozenset[Path]:
        """The dumps that are Reverie's, as far as it knows."""
        return frozenset(self._root / item.rel for item in _listed(self._ledger.read().data))

    def prune(self, *, keep_count: int, keep_bytes: int) -> tuple[Path, ...]:
        """Remove the oldest of Reverie's own dumps beyond the limits; the newest stays. Those gone."""
        self._require()
        kept, used = 0, 0
        doomed: list[_Written] = []
        for item in reversed(_listed(self._ledger.read().data)):
            used += item.size
            if not kept or (kept < keep_count and used <= keep_bytes):
                kept += 1
            else:
                doomed.append(item)
        if not doomed:
            return ()
        removed = tuple(self._root / item.rel for item in doomed if self._remove(item))
        gone = {item.rel for item in doomed}

        def forget(ledger: dict[str, Any]) -> dict[str, Any]:
            left = [item for item in _listed(ledger) if item.rel not in gone]
            return {**ledger, "dumps": [asdict(item) for item in left]}

        self._ledger.update(forget)
        return removed

    def _create(self, directory: str, name: str, data: bytes) -> str:
        stem = name.removesuffix(".json")
        for number in range(1, _SAME_NAMES):
            rel = f"{directory}/{name}" if number == 1 else f"{directory}/{stem}-{number}.json"
            try:
                self._files.write(rel, data, create_only=True, mode=0o600)
            except Conflict:
                continue
            return rel
        raise StoreError(f"The dump {name} was not written.", cause="Its name is taken, many times over.")

    def _remove(self, item: _Written) -> bool:
        """Whether it is gone by now and was ours; one that somebody changed stays, and is no longer ours."""
        try:
            data = self._files.read(item.rel)
            if hashlib.sha256(data).hexdigest() != item.sha256:
                return False
            self._files.remove(item.rel)
        except MendableError:
            return False  # gone already, or out of reach: nothing that anybody waits for
        return True


def _listed(ledger: Mapping[str, Any]) -> list[_Written]:
    """Oldest first; what is no entry is passed over."""
    found = ledger.get("dumps")
    items = found if isinstance(found, list) else []
    return [
        _Written(item["rel"], item["sha256"], item["size"])
        for item in items
        if isinstance(item, dict)
        and isinstance(item.get("rel"), str)
        and isinstance(item.get("sha256"), str)
        and isinstance(item.get("size"), int)
    ]
