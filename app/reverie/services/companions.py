"""Companions: files the agent loads beside its memories. Shown and editable by a person, never touched by a
run.

The home says which there are: files inside of it, and files of a project, which lie outside. The same
containment and compare-and-swap apply as for memories, below the home or, outside of it, the file's own
directory; the history keeps the version before (`memory.companion_places`). An older version comes back by
the same way, and that is taken back by an `Undo` like any change by hand.

Threading: blocks on disk; not for the GUI thread. Failure: `MendableError`, nothing changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from reverie.errors import Conflict, StoreError, Unavailable
from reverie.files.lock import file_lock
from reverie.files.real_path import real_path
from reverie.files.rooted import RootedDirectory
from reverie.files.watch_plan import WatchTarget
from reverie.homes.listing import Companion
from reverie.homes.scopes import ScopeContext
from reverie.memory.companion_places import companion_place
from reverie.memory.store import sha256_of_bytes, sha256_of_text
from reverie.memory.write_guard import ReadOnlyStore
from reverie.services.parts import HomeParts
from reverie.services.texts import file_text
from reverie.services.views import FileText, HandChange, Undo, UndoFile


class CompanionFiles:
    """The companions of one home."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def read(self, companion: Companion) -> FileText:
        """The file's text; a companion that does not exist yet, or is never opened, reads as empty."""
        if companion.unopened:
            text = file_text(companion.label, b"", mtime_ns=0, cap=None)
            return replace(text, read_only=companion.unopened, note=companion.note)
        files, rel = self._place(companion)
        entry = files.entry(rel)
        data = b"" if entry is None else files.read(rel)
        mtime_ns = 0 if entry is None else entry.mtime_ns
        text = file_text(companion.label, data, mtime_ns=mtime_ns, cap=None)
        refusal = None if companion.read_only else self._parts.write_guard.refusal()
        if refusal is not None:
            return replace(text, read_only=str(ReadOnlyStore(refusal)), refusal=refusal)
        return replace(text, read_only=text.read_only or companion.read_only, note=companion.note)

    def save(self, companion: Companion, content: str, expected_sha256: str | None) -> FileText:
        """Compare-and-swap; `None` and the hash of the empty text both create a missing file. Bytes that are
        no valid UTF-8 are never rewritten, nor is what is only shown."""
        data = _encoded(companion, content)
        expected = sha256_of_text("") if expected_sha256 is None else expected_sha256
        self._write(companion, data, expected)
        return self.read(companion)

    def restore(self, context: ScopeContext, changes: Sequence[HandChange]) -> Undo:
        """Give a companion the bytes that the history has of it: one change, its path the file's, its hash
        that of what a person saw there. Raises `Conflict` where something else stands there by now."""
        if len(changes) != 1:
            raise StoreError("There is nothing to change.", next_step="Choose another point.")
        (change,) = changes
        companion = self._at(context, change.path)
        files, rel = self._place(companion)
        entry = files.entry(rel)
        data = change.after or b""
        commit = self._write(companion, data, change.expected_sha256 or sha256_of_text(""), change.mode)
        file = UndoFile(
            change.path,
            change.expected_sha256,
            sha256_of_bytes(data),
            None if entry is None else entry.mode & 0o777,
        )
        return Undo("companion", context, change.path, commit=commit, files=(file,))

    def undo(self, undo: Undo) -> str:
        """Take a restore back; what was not there before it goes again. Raises `Conflict` where it changed
        since."""
        (file,) = undo.files
        companion = self._at(undo.context, file.path)
        if file.before_sha256 is None:
            self._remove(companion, file.after_sha256)
            return f"{companion.label} is gone again."
        place = companion_place(self._parts.home.root, self._kept(companion))
        before = self._parts.snapshots.history.read(undo.commit, place.key, place.rel)
        if before is None or sha256_of_bytes(before) != file.before_sha256:
            raise StoreError(f"The history holds no {file.path}.", next_step="Look at its history.")
        self._write(companion, before, file.after_sha256 or "", file.mode)
        return f"{companion.label} is as before."

    def _remove(self, companion: Companion, expected: str | None) -> None:
        """Compare-and-swap with nothing."""
        files, rel = self._place(companion)

        def compare(_taken: object, content: bytes | None) -> None:
            if sha256_of_bytes(content) != expected:
                raise _changed(companion)

        self._parts.write_guard.require()
        with file_lock(self._parts.profile.locks, companion.path):
            compare((), files.read(rel))
            files.remove(rel, check=compare)
        self._parts.snapshots.record_companion(companion.path, actor="user", source="by hand")

    def _at(self, context: ScopeContext, path: str) -> Companion:
        for companion in self._parts.home.companions(context):
            if not companion.unopened and path in (str(companion.path), str(self._kept(companion))):
                return companion
        raise StoreError(f"{path} is not read beside the memories here.", next_step="Choose it in the tree.")

    def _write(self, companion: Companion, data: bytes, expected: str, mode: int | None = None) -> str:
        """Compare-and-swap with the version before and after in the history; the commit of that before."""
        refused = companion.read_only or companion.unopened
        if refused:
            raise StoreError(f"{companion.label} was not written.", cause=refused, reason="read-only")
        self._parts.write_guard.require()
        files, rel = self._place(companion)

        def compare(current: bytes | None) -> None:
            # Bytes that are no valid text have another hash than what is shown of them, and so stay.
            if sha256_of_bytes(current or b"") != expected:
                raise _changed(companion)
            self._parts.actors.record(
                companion.path, sha256_of_bytes(data), actor="user", run_id=None, at_ms=self._parts.clock()
            )

        with file_lock(self._parts.profile.locks, companion.path):
            kept = self._kept(companion)
            self._parts.snapshots.record_companion(kept, actor="outside", source="before a change")
            commit = self._parts.snapshots.history.head() or ""
            files.write(rel, data, before_replace=compare, mode=mode)
        self._parts.snapshots.record_companion(kept, actor="user", source="by hand")
        return commit

    @staticmethod
    def _kept(companion: Companion) -> Path:
        return kept_file(companion.path)

    def _place(self, companion: Companion) -> tuple[RootedDirectory, str]:
        place = companion_place(self._parts.home.root, companion.path)
        if place.directory != self._parts.home.root and not place.directory.is_dir():
            # A save would make it, and nobody asked for a directory in a project.
            raise Unavailable(
                f"{companion.label} cannot be reached.",
                cause=f"{place.directory} is not there.",
                next_step="Bring it back, or make it.",
            )
        return RootedDirectory(place.directory), place.rel


def kept_file(path: Path) -> Path:
    """The file whose bytes change: the history keeps no links, and what a link leads to is written."""
    if not path.is_symlink():
        return path
    real = Path(real_path(path))
    return path.parent / real.relative_to(real_path(path.parent)) if _is_below(real, path) else path


def _is_below(real: Path, link: Path) -> bool:
    return real.is_relative_to(real_path(link.parent))


def companion_targets(companions: Iterable[Companion], watched: Collection[Path]) -> list[WatchTarget]:
    """What to watch for companions in directories that are not `watched` already: only these files there."""
    names: dict[Path, list[str]] = {}
    for companion in companions:
        if companion.path.parent not in watched and not companion.unopened:
            names.setdefault(companion.path.parent, []).append(companion.path.name)
    return [WatchTarget(directory, recursive=False, only=tuple(only)) for directory, only in names.items()]


def _changed(companion: Companion) -> Conflict:
    return Conflict(
        f"{companion.label} was not written:",
        cause="it changed meanwhile.",
        next_step="Compare, then save again.",
    )


def _encoded(companion: Companion, content: str) -> bytes:
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise StoreError(
            f"{companion.label} cannot be written.",
            cause="The text holds half of a surrogate pair, which is no UTF-8.",
            next_step="Remove the broken character.",
            reason="not-text",
        ) from None
