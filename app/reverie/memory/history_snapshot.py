"""The next commit in the making: the last tree, with the roots that are being kept brought up to date.

Works under the commit lock, on objects that `memory.history` opens and closes; nothing is visible in the
repository before the sink is flushed and the branch moved.
"""

from __future__ import annotations

import functools
import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reverie.files.atomic import shown
from reverie.memory.history_commits import StoredCommit
from reverie.memory.history_objects import FILE_MODE, ObjectSink
from reverie.memory.history_repository import Repository
from reverie.memory.history_roots import FILES, METADATA, StoredRoot, key_name
from reverie.memory.history_scan import Scan, Scanner
from reverie.memory.history_stat import Remembered, StatCache
from reverie.memory.history_tree import Folder, Leaf


@dataclass(frozen=True)
class SnapshotSource:
    """One root to keep. `key`: `ScopeRoot.key` or "companions". `files`: exactly these (relative, `/`), or
    None for every file below `directory`, but for what `without` leaves out (see `homes.scopes.ScopeRoot`).
    `metadata`: by file, anything JSON; replaces what was kept."""

    key: str
    directory: Path
    files: Sequence[str] | None = None
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    without: str = ""


class Snapshot:
    """Takes one source after the other into `tree`; `notes` are lines on what was not kept as it is."""

    def __init__(
        self, repository: Repository, sink: ObjectSink, cache: StatCache, last: StoredCommit | None
    ) -> None:
        # Twice the same tree: one is edited, the other still tells what was there.
        tree = last.tree if last else None
        load = self._load = functools.cache(lambda raw: tuple(repository.tree(raw)))
        self.tree = Folder(load, tree)
        self.notes: list[str] = []
        self._last = Folder(load, tree)
        self._repository = repository
        self._sink = sink
        self._cache = cache
        self._now_ns = time.time_ns()
        self._rows: list[tuple[str, Mapping[str, Remembered], Mapping[str, Remembered]]] = []

    def take(self, source: SnapshotSource, dirty: Collection[Path] | None) -> None:
        """Bring one root up to date, looking only at `dirty` where that is enough. Raises DamagedError."""
        name = key_name(source.key)
        last = StoredRoot.load(self._repository, self._last, source.key)
        known: dict[str, Remembered] = {}
        if source.files is not None:
            scanner = self._scanner(source, known)
            scanner.take_listed(source.files)
            root = self._whole(scanner.found, last)
        else:
            rels = None if dirty is None or last is None else _dirty_rels(source, dirty)
            if last is not None and rels == set() and last.data == source.metadata:
                return
            scanner = self._scanner(source, known)
            looked_at = {scanner.scan(rel) for rel in rels} if rels is not None else {""}
            if "" in looked_at:
                scanner = self._scanner(source, known)
                scanner.scan()
                root = self._whole(scanner.found, last)
            else:
                root = self._part(source.key, scanner.found, looked_at, last)
        root.data = {rel: dict(entry) for rel, entry in source.metadata.items()}
        self._place(name, root, last)
        self._note(source.key, scanner.found, last)
        remembered = {rel: file.remembered for rel, file in scanner.found.files.items() if file.remembered}
        self._rows.append((name.decode(), known, remembered))

    def remember(self) -> None:
        """Bring the stat cache up to date; only once everything it names is durable."""
        self._cache.update(self._rows)

    def _scanner(self, source: SnapshotSource, known: dict[str, Remembered]) -> Scanner:
        """`known` collects what the stat cache says about the part that is looked at."""

        def recall(rel: str) -> Mapping[str, Remembered]:
            rows = self._cache.under(key_name(source.key).decode(), rel)
            known.update(rows)
            return rows

        return Scanner(
            source.directory,
            remembered=recall,
            put=lambda content: self._sink.put("blob", content),
            has=self._sink.has,
            now_ns=self._now_ns,
            without=source.without,
        )

    def _whole(self, found: Scan, last: StoredRoot | None) -> StoredRoot:
        """The root as a full look found it."""
        root = StoredRoot(Folder(self._load), {}, {})
        _fill(root, found, last)
        return root

    def _part(self, key: str, found: Scan, looked_at: Collection[str], last: StoredRoot | None) -> StoredRoot:
        """The last root with what was looked at replaced."""
        root = StoredRoot.load(self._repository, self.tree, key)
        if root is None:
            raise RuntimeError("a root without a last version needs a full look")
        for rel in looked_at:
            root.remove(rel)
        _fill(root, found, last)
        return root

    def _place(self, name: bytes, root: StoredRoot, last: StoredRoot | None) -> None:
        self.tree.put((name, FILES), root.files)
        if last is None or root.facts != last.facts or root.data != last.data:
            self.tree.put((name, METADATA), Leaf(FILE_MODE, self._sink.put("blob", root.metadata_blob())))

    def _note(self, key: str, found: Scan, last: StoredRoot | None) -> None:
        for rel, reason in sorted(found.unreadable.items()):
            kept = "its last version stays" if last and last.has(rel) else "it is not kept"
            self.notes.append(f"Could not read {shown(f'{key}/{rel}')}, {kept}: {reason}.")
        for rel, file in sorted(found.files.items()):
            if file.omitted:
                self.notes.append(f"Kept by hash only, over 64 MiB: {shown(f'{key}/{rel}')}.")


def _fill(root: StoredRoot, found: Scan, last: StoredRoot | None) -> None:
    for rel, file in found.files.items():
        root.put(rel, file)
    if last is not None:
        for rel in found.unreadable:
            root.take_over(rel, last)


def _dirty_rels(source: SnapshotSource, dirty: Collection[Path]) -> set[str]:
    """The paths to look at, relative to the root and none below another; {""} if that is the root itself."""
    # By text: comparing thousands of `Path` objects takes the interpreter from the window.
    directory, rels = os.fspath(source.directory), set[tuple[str, ...]]()
    inside = directory.rstrip(os.sep) + os.sep
    for path in map(os.fspath, dirty):
        if path.startswith(inside):
            rels.add(tuple(path[len(inside) :].split(os.sep)))  # noqa: PTH206
        elif path == directory or inside.startswith(path.rstrip(os.sep) + os.sep):
            return {""}
    left_out = re.compile(source.without).fullmatch if source.without else None
    return {
        "/".join(parts)
        for parts in rels
        if not any(part.startswith(".") for part in parts)
        and not (left_out and any(left_out("/".join(parts[:end])) for end in range(1, len(parts) + 1)))
        and not any(parts[:length] in rels for length in range(1, len(parts)))
    }
