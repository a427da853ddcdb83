"""Companions: files the agent loads beside its memories. Shown and editable by a person, never touched by a
run.

The home says which there are: files inside of it, and files of a project, which lie outside. The same
containment and compare-and-swap apply as for memories, below the home or, outside of it, the file's own
directory; the history keeps the version before (`memory.companion_places`). An older version comes back by
the same way, and that is taken back by an `Undo` like any change by hand.

Threading: blocks on disk; not for the GUI thread. Failure: `MendableError`, nothing
changed; what goes wrong once a change is made is a warning beside its result.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from reverie.errors import Conflict, MendableError, StoreError, Unavailable, mendable_from_os
from reverie.files.atomic import made_all_the_same
from reverie.files.lock import file_lock
from reverie.files.protection import is_write_protected, write_protected
from reverie.files.real_path import real_path
from reverie.files.rooted import RootedDirectory
from reverie.files.there import is_link
from reverie.files.watch_plan import WatchTarget
from reverie.homes.listing import Companion
from reverie.homes.scopes import ScopeContext
from reverie.memory.companion_places import companion_place
from reverie.memory.store import sha256_of_bytes, sha256_of_text
from reverie.memory.write_guard import ReadOnlyStore
from reverie.services.parts import HomeParts
from reverie.services.texts import file_text
from reverie.services.views import FileText, HandChange, Undo, UndoFile

_MOST_BYTES = 8 << 20
_TOO_LARGE = f"This file is larger than {_MOST_BYTES >> 20} MiB; its beginning is shown read-only."


class CompanionFiles:
    """The companions of one home."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def read(self, companion: Companion) -> FileText:
        """The text of the file, of a very large one the beginning; a companion that does not exist yet, or is
        never opened, reads as empty."""
        if companion.unopened:
            text = file_text(companion.label, b"", mtime_ns=0, cap=None)
            return replace(text, read_only=companion.unopened, note=companion.note)
        files, rel = self._place(companion)
        entry = files.entry(rel)
        data = b"" if entry is None else files.read(rel, limit=_MOST_BYTES)
        mtime_ns = 0 if entry is None else entry.mtime_ns
        text = file_text(companion.label, data, mtime_ns=mtime_ns, cap=None)
        if entry is not None and entry.size > _MOST_BYTES:
            # The cut may go through a character.
            cut = text.content[:-1] if text.content.endswith("\ufffd") else text.content
            text = replace(text, content=cut)
            return replace(text, size=entry.size, read_only=_TOO_LARGE, note=companion.note)
        refusal = None if companion.read_only else self._parts.write_guard.refusal()
        if refusal is not None:
            return replace(text, read_only=str(ReadOnlyStore(refusal)), refusal=refusal)
        read_only = text.read_only or companion.read_only
        if entry is not None and not read_only and is_write_protected(entry.mode):
            read_only = str(write_protected(companion.label, entry.mode, "opened for editing"))
        return replace(text, read_only=read_only, note=companion.note)

    def save(self, companion: Companion, content: str, expected_sha256: str | None) -> FileText:
        """Compare-and-swap; `None` and the hash of the empty text both create a missing file. Bytes that are
        no valid UTF-8 are never rewritten, nor is what is only shown."""
        data = _encoded(companion, content)
        expected = sha256_of_text("") if expected_sha256 is None else expected_sha256
        _commit, warning = self._write(companion, data, expected)
        found = self.read(companion)
        return replace(found, note=f"{found.note} {warning}".strip())

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
        commit, warning = self._write(
            companion, data, change.expected_sha256 or sha256_of_text(""), change.mode
        )
        file = UndoFile(
            change.path,
            change.expected_sha256,
            sha256_of_bytes(data),
            None if entry is None else entry.mode & 0o777,
        )
        return Undo("companion", context, change.path, commit=commit, files=(file,), warning=warning)

    def undo(self, undo: Undo) -> str:
        """Take a restore back; what was not there before it goes again. Raises `Conflict` where it changed
        since."""
        (file,) = undo.files
        companion = self._at(undo.context, file.path)
        if file.before_sha256 is None:
            warning = self._remove(companion, file.after_sha256)
            return f"{companion.label} is gone again. {warning}".strip()
        place = companion_place(self._parts.home.root, self._kept(companion))
        before = self._parts.snapshots.history.read(undo.commit, place.key, place.rel)
        if before is None or sha256_of_bytes(before) != file.before_sha256:
            raise StoreError(f"The history holds no {file.path}.", next_step="Look at its history.")
        _commit, warning = self._write(companion, before, file.after_sha256 or "", file.mode)
        return f"{companion.label} is as before. {warning}".strip()

    def _remove(self, companion: Companion, expected: str | None) -> str:
        """Compare-and-swap with nothing; what went wrong after it, as sentences."""
        warnings: list[str] = []
        files, rel = self._place(companion)

        def compare(_taken: object, content: bytes | None) -> None:
            if sha256_of_bytes(content) != expected:
                raise _changed(companion)

        self._parts.write_guard.require()
        with file_lock(self._parts.profile.locks, companion.path):
            compare((), files.read(rel))
            with made_all_the_same(warnings):
                files.remove(rel, check=compare)
        self._note(companion.path, warnings)
        return " ".join(warnings)

    def _at(self, context: ScopeContext, path: str) -> Companion:
        for companion in self._parts.home.companions(context):
            if not companion.unopened and path in (str(companion.path), str(self._kept(companion))):
                return companion
        raise StoreError(f"{path} is not read beside the memories here.", next_step="Choose it in the tree.")

    def _write(
        self, companion: Companion, data: bytes, expected: str, mode: int | None = None
    ) -> tuple[str, str]:
        """Compare-and-swap with the version before and after in the history; the commit of that before, and
        what went wrong once it was written, as sentences."""
        warnings: list[str] = []
        refused = companion.read_only or companion.unopened
        if refused:
            raise StoreError(f"{companion.label} was not written.", cause=refused, reason="read-only")
        self._parts.write_guard.require()
        files, rel = self._place(companion)
        entry = files.entry(rel)
        if entry is not None and entry.size > _MOST_BYTES:
            raise StoreError(f"{companion.label} was not written.", cause=_TOO_LARGE, reason="too-large")

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
            with made_all_the_same(warnings):
                files.write(rel, data, before_replace=compare, mode=mode)
        self._note(kept, warnings)
        return commit, " ".join(warnings)

    def _note(self, path: Path, warnings: list[str]) -> None:
        """Note a change that is made by now in the history; if that fails, the next snapshot takes it in."""
        try:
            self._parts.snapshots.record_companion(path, actor="user", source="by hand")
        except MendableError as error:
            warnings.append(str(error))

    @staticmethod
    def _require_directory(companion: Companion, directory: Path) -> None:
        """A save would make it, and nobody asked for a directory in a project."""
        title = f"{companion.label} cannot be reached."
        try:
            if stat.S_ISDIR(directory.stat().st_mode):
                return
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise mendable_from_os(error, title) from error
        raise Unavailable(title, cause=f"{directory} is not there.", next_step="Bring it back, or make it.")

    @staticmethod
    def _kept(companion: Companion) -> Path:
        return kept_file(companion.path)

    def _place(self, companion: Companion) -> tuple[RootedDirectory, str]:
        place = companion_place(self._parts.home.root, companion.path)
        if place.directory != self._parts.home.root:
            self._require_directory(companion, place.directory)
        return RootedDirectory(place.directory), place.rel


def kept_file(path: Path) -> Path:
    """The file whose bytes change: the history keeps no links, and what a link leads to is written."""
    if not is_link(path):
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
