"""Changing records of a loki-mode store by hand: a field, patterns, taking each back.

Every change is made under the store's own lock beside the file, so that the agent and Reverie wait for each
other, in what the file holds at that moment, and by compare-and-swap, for writers that take no lock. The
history has the file before and after. The text of a skill beside its record follows, unless a person changed
it.

Threading: blocking, any thread but the GUI's. Failure: `MendableError`, nothing changed;
what goes wrong once a change is made is a warning beside its result.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from reverie.errors import Conflict, MendableError, StoreError, Unavailable
from reverie.files.atomic import made_all_the_same
from reverie.files.beside_lock import lock_beside
from reverie.files.lock import file_lock
from reverie.homes.loki_names import DERIVED, FOLDERS, KIND
from reverie.homes.loki_records import patterns_of
from reverie.homes.scopes import Scope, ScopeRoot
from reverie.memory.paths import memory_path
from reverie.memory.store import sha256_of_bytes
from reverie.services.parts import HomeParts, rooted_files
from reverie.services.record_changes import RecordChange, parsed, skill_text, spelled
from reverie.services.views import Undo


class RecordEdits:
    """The records of one home."""

    def __init__(self, parts: HomeParts) -> None:
        if parts.home.kind != KIND:
            raise Unavailable("This home keeps no records.", next_step="Open a project of loki-mode.")
        self._parts = parts
        self._root: ScopeRoot = parts.home.scope_root(parts.home.context(), Scope.PROJECT)
        self._files = rooted_files(self._root)

    def patterns(self, rel: str = "semantic/patterns.json") -> tuple[dict[str, Any], ...]:
        """The patterns of a store, as they are on disk. Raises `StoreError`."""
        return patterns_of(parsed(self._files.read(rel), rel))

    def change(self, change: RecordChange, warnings: list[str] | None = None) -> RecordChange:
        """Make a change; what takes it back. `warnings` gets what went wrong once it was made. Raises
        `Conflict` where what it expects is not there."""
        rel = change.rel
        self._refuse_others(rel)
        self._parts.write_guard.require(self._root)
        path = self._root.directory / rel
        with file_lock(self._parts.profile.locks, path), lock_beside(path):
            before = self._files.read(rel)
            document = parsed(before, rel)
            changed = change.made_in(document)
            images = {rel: (before, spelled(changed, before))}
            with ExitStack() as held:
                images |= self._rendering(rel, document, changed, held)
                images = {name: pair for name, pair in images.items() if pair[0] != pair[1]}
                if images:
                    self._write(images, [] if warnings is None else warnings)
        return change.back(document)

    def apply(self, change: RecordChange) -> Undo:
        """`change` as a hand edit like any other. Raises `Conflict`."""
        warnings: list[str] = []
        back = self.change(change, warnings)
        path = str(memory_path(Scope.PROJECT, change.rel))
        context = self._parts.home.context()
        return Undo("record", context, path, record=back, warning=" ".join(warnings))

    def undo(self, undo: Undo) -> str:
        """Take a change of `apply` back; a sentence on it. Raises `Conflict`."""
        assert undo.record is not None
        warnings: list[str] = []
        self.change(undo.record, warnings)
        return " ".join((f"Took back the change in {undo.path}.", *warnings))

    def _write(self, images: dict[str, tuple[bytes, bytes]], warnings: list[str]) -> None:
        paths = [self._root.directory / rel for rel in images]
        self._parts.snapshots.observe(source="before a change", dirty=paths)
        try:
            for rel, (before, after) in images.items():
                with made_all_the_same(warnings):
                    self._replace(rel, before, after)
        finally:
            try:  # what is changed is changed; the next snapshot takes it in
                self._parts.snapshots.record(
                    actor="user", source="by hand", subject="Record changed by hand", dirty=paths
                )
            except MendableError as error:
                warnings.append(str(error))

    def _replace(self, rel: str, before: bytes, after: bytes) -> None:
        def compare(current: bytes | None) -> None:
            if current != before:
                raise Conflict(
                    f"{rel} was not written:", cause="it changed meanwhile.", next_step="Try again."
                )
            self._parts.actors.record(
                self._root.directory / rel,
                sha256_of_bytes(after),
                actor="user",
                run_id=None,
                at_ms=self._parts.clock(),
            )

        self._files.write(rel, after, before_replace=compare)

    def _rendering(
        self, rel: str, before: Any, after: Any, held: ExitStack
    ) -> dict[str, tuple[bytes, bytes]]:
        """What becomes of the text beside a skill's record: anew, where it is the agent's."""
        folders, name = rel.split("/")[:-1], rel.removesuffix(".json") + ".md"
        if "skills" not in folders or not isinstance(before, dict) or self._files.entry(name) is None:
            return {}
        held.enter_context(file_lock(self._parts.profile.locks, self._root.directory / name))
        current = self._files.read(name)
        if current.decode("utf-8", "replace").strip() != skill_text(before).strip():
            return {}
        return {name: (current, skill_text(after).encode("utf-8", "surrogatepass"))}

    def _refuse_others(self, rel: str) -> None:
        parts = Path(rel).parts
        if not any(part in FOLDERS for part in parts[:-1]) or parts[-1] in DERIVED:
            raise StoreError(
                f"{rel} is not for editing.", cause="The agent keeps it for itself.", reason="not-editable"
            )
