"""Edits of memories and companions by hand: save, delete, rename, pin, and the undo of each.

Everything goes through the store; the store records the state before and after in the history. An `Undo` is a
plain value: the content to restore is in the history, so the `Undo` is valid even after its window is closed.

The home lists its companions: files inside it, and files of a project, which are outside. They are protected
like memories by compare-and-swap and by containment: in the home, or, outside of it, in the file's own
directory. The history keeps the previous version (`memory.companion_places`). Restoring an older version
works the same way and can be undone like any change by hand.

Threading: blocking, any thread but the GUI's. Failure: `UserError`, and nothing is changed; a problem that
occurs after a change was made is a warning in its result.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path

from reverie.agents.base import Companion
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import CHANGED_SINCE, Conflict, StoreError, Unavailable, user_error_from_os, warned
from reverie.files.atomic import Undurable, is_write_protected, write_protected
from reverie.files.directory import is_link, real_path
from reverie.files.locks import file_lock
from reverie.files.rooted import RootedDirectory
from reverie.files.watch_sources import WatchTarget
from reverie.memory.companion_places import companion_place
from reverie.memory.paths import MemoryPath, memory_path
from reverie.memory.scope_files import ScopeFiles, sha256_of_bytes, sha256_of_text
from reverie.memory.store import MemoryStore
from reverie.memory.store_refusals import changed as changed_meanwhile
from reverie.memory.usage_rules import MemoryUsage
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.journal import Journal
from reverie.services.changes import ChangeSet, all_steps_or_none, joined
from reverie.services.container import HomeContainer
from reverie.services.views import (
    CompanionRestored,
    FieldChange,
    FilesChanged,
    FileText,
    HandChange,
    Renamed,
    RunReverted,
    Undo,
    file_text,
)
from reverie.text.summaries import utf16_text
from reverie.values import replace

_SHOWN_AT_MOST = 8 * 1024 * 1024


class UserEdits:
    """The service for edits by hand in one home: save, delete, rename, pin, and the undo of each."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._changes = ChangeSet(parts)

    def read(self, context: ScopeContext, path: str) -> FileText:
        """Read as much of a memory as can be shown; it may have any size.

        Files that the agent refuses are read as well.
        """
        parsed, root, files = self._resolve(context, path)
        entry = files.entry(parsed.rel)
        if entry is None:
            raise StoreError(
                f"There is no memory {parsed}.", next_step="It may have just been deleted.", reason="missing"
            )
        if entry.kind != "file":
            raise StoreError(f"{parsed} is a directory, not a memory.", next_step="Open a file inside it.")
        data = files.read(parsed.rel, limit=_SHOWN_AT_MOST)
        home = self._parts.home
        text = file_text(str(parsed), data, mtime_ns=entry.mtime_ns, cap=home.caps.file_bytes)
        rule = home.file_rule(root, parsed.rel)
        refusal = self._parts.write_guard.refusal(root)
        rendered = home.rendered(root, parsed.rel, data)
        if rendered is not None:
            return replace(
                text,
                content=rendered,
                sha256=sha256_of_text(rendered),
                read_only=rule.sentence,
                newline="\n",
                bom=False,
            )
        if rule.kind == "editable" and refusal is None and not is_write_protected(entry.mode):
            convertible = entry.size <= home.caps.file_bytes and utf16_text(data) is not None
            return replace(text, note=rule.sentence, convertible=convertible)
        if rule.kind != "editable":
            return replace(text, read_only=rule.sentence)
        if refusal is not None:
            return replace(text, read_only=str(ReadOnlyStore(refusal)), refusal=refusal)
        return replace(text, read_only=str(write_protected(parsed.name, entry.mode, "opened for editing")))

    def save(self, context: ScopeContext, path: str, content: str, expected_sha256: str | None) -> FileText:
        """Write a whole file; return its new state.

        `expected_sha256`: the hash of the content that was edited, None for a new file. Raises `Conflict` if
        the file on disk has a different hash.
        """
        changed: list[Path] = []
        warnings: list[str] = []
        self._store(context, changed, warnings).save(path, content, expected_sha256)
        self._record(changed, "Saved by hand", warnings)
        found = self.read(context, path)
        return replace(found, note=" ".join((found.note, *warnings)).strip())

    def convert_to_utf8(self, context: ScopeContext, path: str, expected_sha256: str) -> Undo:
        """Rewrite a UTF-16 memory as UTF-8 with the same text, without a byte order mark; return the `Undo`.

        `expected_sha256` is the hash of the text that the caller saw; raises `Conflict` if the file has
        another hash, `StoreError` if it is not UTF-16 or could not be rewritten without loss.
        """
        parsed, _root, files = self._resolve(context, path)
        text = utf16_text(data := files.read(parsed.rel, limit=_SHOWN_AT_MOST + 1))
        if text is None or not self.read(context, path).convertible:
            raise StoreError(
                f"{parsed} was not changed:",
                cause="The file is UTF-16 text that cannot be rewritten without loss.",
                next_step="Convert it to UTF-8 with another program.",
            )
        if sha256_of_text(text) != expected_sha256:
            raise changed_meanwhile(parsed, "it changed meanwhile")
        change = HandChange(str(parsed), text.encode("utf-8"), sha256_of_bytes(data))
        return self._changes.apply(context, [change], kind="merge", subject="Converted to UTF-8 by hand")

    def pin(self, context: ScopeContext, paths: Sequence[str], pinned: bool) -> Undo:
        """Pin or unpin several memories; return the `Undo`. If one of them cannot be pinned, none is."""
        warnings: list[str] = []
        store, home = self._store(context, [], warnings), self._parts.home
        resolved = [store.resolve(path) for path in paths]
        keys = [key for path, root, _files in resolved if (key := home.usage_key(root, path.rel)) is not None]
        before = self._parts.usage.load()
        try:
            for path, _root, _files in resolved:
                store.pin(path, pinned)
        finally:
            subject = "Pinned by hand" if pinned else "Unpinned by hand"
            self._record([], subject, warnings)
        after = self._parts.usage.load()
        count = len(resolved)
        pins = Journal(
            (),
            usage_before={key: before.get(key) for key in keys},
            usage_after={key: after.get(key) for key in keys},
        )
        return Undo(
            context,
            str(resolved[0][0]),
            (FilesChanged(context, pins),),
            f"The pins of {count} memories are unchanged." if count > 1 else "The pin is unchanged.",
            count,
            warning=" ".join(warnings),
        )

    def delete_all(self, context: ScopeContext, paths: Sequence[str]) -> Undo:
        """Delete several memories or folders as one change; return its `Undo`.

        If one cannot be deleted, none is, and the error is raised.
        """
        changes = [partial(self.delete, context, path) for path in paths]
        return self.as_one(changes, "Restored {count} items.")

    def as_one(self, changes: Iterable[Callable[[], Undo]], sentence: str = "Undid {count} changes.") -> Undo:
        """Make several changes that a person requested together; return one `Undo` for all of them.

        `changes`: functions that make one change each. `sentence` is the message shown after the undo. If one
        change fails, the changes before it are undone and its error is raised.
        """
        done: list[Undo] = []
        with all_steps_or_none(done, self.undo):
            for change in changes:
                done.append(change())
        return joined(done, sentence)

    def delete(self, context: ScopeContext, path: str) -> Undo:
        """Delete a memory or folder; return the `Undo`.

        Raises `StoreError` if it cannot be deleted, or if the history could not restore it.
        """
        changed: list[Path] = []
        warnings: list[str] = []
        store = self._store(context, changed, warnings)
        parsed, root, _files = store.resolve(path)
        usage = self._usage_below(root, parsed.rel)
        self._parts.snapshots.preserve(root, parsed.rel)
        step = self._changes.deleted(context, root, parsed.rel, self._history_head(), usage)
        store.delete(parsed)
        step = self._newest_of(step, root, parsed.rel, warnings)
        self._record(changed, "Deleted by hand", warnings)
        count = len(step.journal.intents)
        return Undo(
            context,
            str(parsed),
            (step,) if count else (),
            f"Restored {parsed}." if count == 1 else f"Restored {count} files of {parsed}.",
            removed=(str(parsed),),
            warning=" ".join(warnings),
        )

    def rename(self, context: ScopeContext, path: str, new_path: str) -> Undo:
        """Rename or move a memory or folder; its pins and usage move along. Return the `Undo`."""
        changed: list[Path] = []
        warnings: list[str] = []
        store = self._store(context, changed, warnings)
        old, root, _files = store.resolve(path)
        new, _root, _files = store.resolve_new(new_path)
        usage = self._usage_below(root, old.rel)
        store.rename(path, new_path)
        self._record(changed, "Renamed by hand", warnings)
        warning = " ".join(warnings)
        return Undo(
            context,
            str(old),
            (Renamed(context, str(old), str(new), usage),),
            f"Renamed back to {old}.",
            moved={str(old): str(new)},
            warning=warning,
        )

    def undo(self, undo: Undo) -> str:
        """Undo a change by hand, the newest of its steps first; return a message about it.

        A file that was changed since is left as it is; `Conflict` names it. If one step cannot be undone, the
        other steps still are. A second attempt skips the files that are already restored.
        """
        if not undo.steps:
            raise StoreError(f"The history does not contain {undo.path}.", next_step="Check the runs.")
        warnings: list[str] = []
        problems: list[Conflict] = []
        for step in reversed(undo.steps):
            try:
                self._take_back(step, warnings)
            except Conflict as error:
                problems.append(error)
        if problems:
            raise problems[0]
        return " ".join((undo.sentence, *dict.fromkeys(warnings)))

    def _take_back(
        self,
        step: FilesChanged | Renamed | RunReverted | CompanionRestored | FieldChange,
        warnings: list[str],
    ) -> None:
        """Undo one step. `warnings` gets the problems that occur after the step is undone.

        Raises `Conflict`, which names the files that changed since.
        """
        if isinstance(step, FilesChanged):
            self._changes.take_back(step, warnings)
        elif isinstance(step, Renamed):
            self._rename_back(step, warnings)
        elif isinstance(step, RunReverted):
            # If that run is itself the undo of another run, this makes the changes of the other run again.
            result = self._parts.reverter.revert(step.run_id)
            if result.conflicts:
                raise Conflict(
                    ("Not everything was undone" if result.applied else "Can't undo") + ": changed since.",
                    cause=f"{', '.join(result.conflicts)} was not changed.",
                    reason=CHANGED_SINCE,
                )
        elif isinstance(step, CompanionRestored):
            CompanionFiles(self._parts).take_back(step, warnings)
        else:
            from reverie.services.failures import RecordEdits  # late: for one kind of agent

            RecordEdits(self._parts).change(step, warnings)

    def _rename_back(self, step: Renamed, warnings: list[str]) -> None:
        changed: list[Path] = []
        store = self._store(step.context, changed, warnings)
        if store.entry(step.new) is None and store.entry(step.old) is not None:
            return  # an earlier attempt, which failed at another step, has renamed it back
        store.rename(step.new, step.old)
        path, root, _files = store.resolve(step.old)
        with warned(warnings):
            # Replace the present usage by the usage before the rename.
            now = self._usage_below(root, path.rel)
            keys = {*now, *step.usage}
            self._parts.usage.apply_delta(
                {key: now.get(key) for key in keys}, {key: step.usage.get(key) for key in keys}
            )
        self._record(changed, "Undone by hand", warnings)

    def _newest_of(self, step: FilesChanged, root: ScopeRoot, rel: str, warnings: list[str]) -> FilesChanged:
        """Return the undo data of a delete that was just made, for the newest content that the history has.

        `step`: the undo data that was made before the delete. If an agent wrote the files between that moment
        and the delete, the history has a newer commit with this content; the result then restores the files
        from that commit. Otherwise it is `step`. `root` and `rel`: the deleted memory or folder. Problems are
        added to `warnings`.
        """
        with warned(warnings):
            head = self._history_head()
            if head != step.journal.commit:
                newest = self._changes.deleted(step.context, root, rel, head, step.journal.usage_before)
                if newest.journal.intents:
                    return newest
        return step

    def _usage_below(self, root: ScopeRoot, rel: str) -> dict[str, MemoryUsage]:
        key = self._parts.home.usage_key(root, rel)
        if key is None:
            return {}
        usage = self._parts.usage.load()
        return {found: usage[found] for found in usage if found == key or found.startswith(key + "/")}

    def _history_head(self) -> str:
        head = self._parts.snapshots.history.head()
        if head is None:
            raise Conflict("The history is empty, so you would be unable to undo the deletion.")
        return head

    def _record(self, changed: list[Path], subject: str, warnings: list[str]) -> None:
        """Record the changed files in the history under `subject`.

        If that fails, `warnings` gets the reason, and the next snapshot includes the changes.
        """
        with warned(warnings):
            self._parts.snapshots.record(actor="user", source="by hand", subject=subject, dirty=changed)

    def _store(self, context: ScopeContext, changed: list[Path], warnings: list[str]) -> MemoryStore:
        return self._parts.store(
            context, actor="user", after_change=changed.append, warn=warnings.append, counts=False
        )

    def _resolve(self, context: ScopeContext, path: str) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        return self._parts.store(context, actor="user").resolve(path)


_TOO_LARGE = f"This file is larger than {_SHOWN_AT_MOST >> 20} MiB; its beginning is shown read-only."


class CompanionFiles:
    """The service that reads and saves companions: files that the agent loads beside its memories.

    A person can read and edit them; a consolidation never touches them.
    """

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts

    def read(self, companion: Companion) -> FileText:
        """Read the text of a companion; only the beginning if it is very large.

        If it does not exist yet, or must never be opened, the text is empty.
        """
        if companion.unopened:
            text = file_text(companion.label, b"", mtime_ns=0, cap=None)
            return replace(text, read_only=companion.unopened, note=companion.note)
        files, rel = self._place(companion)
        entry = files.entry(rel)
        data = b"" if entry is None else files.read(rel, limit=_SHOWN_AT_MOST)
        mtime_ns = 0 if entry is None else entry.mtime_ns
        text = file_text(companion.label, data, mtime_ns=mtime_ns, cap=None)
        if entry is not None and entry.size > _SHOWN_AT_MOST:
            # The limit may cut a character in two.
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
        """Write a companion by compare-and-swap; return its new state.

        `expected_sha256`: the hash of the content that was edited. If the file is missing, it is created;
        `expected_sha256` is then None or the hash of the empty text. Raises `Conflict` if the file has a
        different hash. A file that is not valid UTF-8 or is read-only is never rewritten.
        """
        data = _encoded(companion, content)
        expected = sha256_of_text("") if expected_sha256 is None else expected_sha256
        _commit, warning = self._write(companion, data, expected)
        found = self.read(companion)
        return replace(found, note=f"{found.note} {warning}".strip())

    def restore(self, context: ScopeContext, changes: Sequence[HandChange]) -> Undo:
        """Restore a companion to an earlier content from the history; return the `Undo`.

        `changes` holds one change, with the path of the companion, the content to restore, and the hash of
        the content that the person saw there. Raises `Conflict` if the file now has different content.
        """
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
        step = CompanionRestored(
            context,
            change.path,
            change.expected_sha256,
            sha256_of_bytes(data),
            None if entry is None else entry.mode & 0o777,
            commit,
        )
        was_there = change.expected_sha256 is not None
        sentence = f"{'Restored' if was_there else 'Deleted'} {companion.label}."
        return Undo(context, change.path, (step,), sentence, warning=warning)

    def take_back(self, step: CompanionRestored, warnings: list[str]) -> None:
        """Undo the restore `step`; if the companion did not exist before the restore, delete it.

        Raises `Conflict` if the file changed since. `warnings` gets the problems that occur after the write.
        """
        companion = self._at(step.context, step.path)
        if step.before is None:
            self._remove(companion, step.after, warnings)
            return
        place = companion_place(self._parts.home.root, kept_file(companion.path))
        before = self._parts.snapshots.history.read(step.commit, place.key, place.rel)
        if before is None or sha256_of_bytes(before) != step.before:
            raise StoreError(f"The history does not contain {step.path}.", next_step="Check its history.")
        _commit, warning = self._write(companion, before, step.after or "", step.mode)
        warnings += [warning] if warning else []

    def _remove(self, companion: Companion, expected: str | None, warnings: list[str]) -> None:
        """Delete a companion; raise `Conflict` if the hash of its content is not `expected` (None: no file).

        `warnings` gets the problems that occur after the deletion.
        """
        files, rel = self._place(companion)

        def compare(_taken: object, content: bytes | None) -> None:
            if sha256_of_bytes(content) != expected:
                raise _changed(companion)

        self._parts.write_guard.require()
        with file_lock(self._parts.profile.locks, companion.path):
            compare((), files.read(rel))
            with warned(warnings, Undurable):
                files.remove(rel, check=compare)
        self._note(companion.path, warnings)

    def _at(self, context: ScopeContext, path: str) -> Companion:
        for companion in self._parts.home.companions(context):
            if not companion.unopened and path in (str(companion.path), str(kept_file(companion.path))):
                return companion
        raise StoreError(
            f"The agent does not load {path} in the selected workspace or project.",
            next_step="Select the file in the tree.",
        )

    def _write(
        self, companion: Companion, data: bytes, expected: str, mode: int | None = None
    ) -> tuple[str, str]:
        """Write a companion by compare-and-swap; record its old and new content in the history.

        `expected`: the hash of its present content; `mode`: permission bits, None to leave them. Returns the
        commit of the old content, and the problems that occurred after the write, as sentences.
        """
        warnings: list[str] = []
        refused = companion.read_only or companion.unopened
        if refused:
            raise StoreError(f"{companion.label} could not be written.", cause=refused, reason="read-only")
        self._parts.write_guard.require()
        files, rel = self._place(companion)
        entry = files.entry(rel)
        if entry is not None and entry.size > _SHOWN_AT_MOST:
            raise StoreError(f"{companion.label} could not be written.", cause=_TOO_LARGE, reason="too-large")

        def compare(current: bytes | None) -> None:
            # Invalid text is shown with another hash than its bytes have, and so is never overwritten.
            if sha256_of_bytes(current or b"") != expected:
                raise _changed(companion)
            self._parts.actors.record(
                companion.path, sha256_of_bytes(data), actor="user", run_id=None, at_ms=self._parts.clock()
            )

        with file_lock(self._parts.profile.locks, companion.path):
            kept = kept_file(companion.path)
            self._parts.snapshots.record_companion(kept, actor="outside", source="before a change")
            commit = self._parts.snapshots.history.head() or ""
            with warned(warnings, Undurable):
                files.write(rel, data, before_replace=compare, mode=mode)
        self._note(kept, warnings)
        return commit, " ".join(warnings)

    def _note(self, path: Path, warnings: list[str]) -> None:
        """Record the present state of a companion in the history.

        If that fails, `warnings` gets the reason, and the next snapshot includes the change.
        """
        with warned(warnings):
            self._parts.snapshots.record_companion(path, actor="user", source="by hand")

    @staticmethod
    def _require_directory(companion: Companion, directory: Path) -> None:
        """Raise `Unavailable` if `directory`, in which the companion would be written, does not exist.

        A save would create it, but the person did not request a new directory in a project.
        """
        title = f"{companion.label} cannot be reached."
        try:
            if stat.S_ISDIR(directory.stat().st_mode):
                return
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise user_error_from_os(error, title) from error
        raise Unavailable(title, cause=f"{directory} does not exist.", next_step="Restore or create it.")

    def _place(self, companion: Companion) -> tuple[RootedDirectory, str]:
        place = companion_place(self._parts.home.root, companion.path)
        if place.directory != self._parts.home.root:
            self._require_directory(companion, place.directory)
        return RootedDirectory(place.directory), place.rel


def current_text(parts: HomeContainer) -> Callable[[ScopeContext, str, Companion | None], FileText]:
    """Return a function that reads a memory or companion as the editor shows it.

    Its arguments are the context, the memory path, and the companion (None: read the memory). Reading does
    not mark the file as seen.
    """
    edits, companions = UserEdits(parts), CompanionFiles(parts)

    def read(context: ScopeContext, path: str, companion: Companion | None) -> FileText:
        return edits.read(context, path) if companion is None else companions.read(companion)

    return read


def kept_file(path: Path) -> Path:
    """Return the path under which the history records a write to the file `path`.

    The history records files, not links. If `path` is a link to a file below its own directory, the result is
    the path of that file below this directory; otherwise it is `path`.
    """
    if not is_link(path):
        return path
    real, directory = Path(real_path(path)), real_path(path.parent)
    return path.parent / real.relative_to(directory) if real.is_relative_to(directory) else path


def companion_targets(companions: Iterable[Companion], watched: Collection[Path]) -> list[WatchTarget]:
    """Return what a watcher must watch for companions in directories that are not among `watched`.

    In such a directory only the companions are watched, not the other files.
    """
    names: dict[Path, list[str]] = {}
    for companion in companions:
        if companion.path.parent not in watched and not companion.unopened:
            names.setdefault(companion.path.parent, []).append(companion.path.name)
    return [WatchTarget(directory, recursive=False, only=tuple(only)) for directory, only in names.items()]


def _changed(companion: Companion) -> Conflict:
    return Conflict(
        f"{companion.label} was not written:",
        cause="it changed meanwhile.",
        next_step="Compare the versions, then save again.",
    )


def _encoded(companion: Companion, content: str) -> bytes:
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError:
        raise StoreError(
            f"{companion.label} cannot be written.",
            cause="The text contains a broken character (half a surrogate pair), which UTF-8 cannot store.",
            next_step="Remove the broken character.",
            reason="not-text",
        ) from None


def add_note(parts: HomeContainer, context: ScopeContext, text: str) -> str:
    """Write a new note to the agent, in the directory that the agent itself reads (`Home.note_path`).

    Returns its memory path. The file name consists of the time and the first line. Reverie never changes the
    note later; the agent adds it to its memory at its next consolidation.
    """
    words = text.strip()
    if not words:
        raise StoreError("The note is empty.", next_step="Write at least one sentence.", reason="empty")
    rules = parts.home.store_rules
    if rules is None:
        raise Unavailable("This agent does not accept notes.", next_step="Edit the agent's memories instead.")
    rel = rules.note_path(words.splitlines()[0].lstrip("#- "), parts.clock())
    path = str(memory_path(Scope.GLOBAL, rel))
    UserEdits(parts).save(context, path, f"{words}\n", None)
    return path
