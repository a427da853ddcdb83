"""What a person does to memories by hand: save, delete, rename, pin, and taking it back.

Everything goes through the store; the history holds the state before (the store's effects see to it) and
after. An `Undo` is a value: what to bring back lies in the history, so it outlives the window.

Threading: blocking, any thread but the GUI's. Failure: `MendableError`, nothing
changed; what goes wrong once a change is made is a warning beside its result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from reverie.errors import Conflict, MendableError, StoreError
from reverie.files.protection import is_write_protected, write_protected
from reverie.homes.scopes import ScopeContext, ScopeRoot
from reverie.memory.paths import MemoryPath
from reverie.memory.scope_files import ScopeFiles
from reverie.memory.store import MemoryStore, sha256_of_text
from reverie.memory.usage import Usage
from reverie.memory.write_guard import ReadOnlyStore
from reverie.services.hand_changes import HandChanges
from reverie.services.parts import HomeParts
from reverie.services.planned_changes import (
    PlannedFile,
    all_or_nothing,
    all_steps_or_none,
    new_folders,
    warnings_of,
)
from reverie.services.texts import file_text
from reverie.services.views import FileText, Undo
from reverie.text.counts import some

_SHOWN_AT_MOST = 8 * 1024 * 1024


class HandEdits:
    """Hand edits of one home."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts
        self._changes = HandChanges(parts)

    def read(self, context: ScopeContext, path: str) -> FileText:
        """A memory of any size as far as it can be shown; people see also what the agent refuses."""
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
        said = home.rendered(root, parsed.rel, data)
        if said is not None:
            return replace(
                text,
                content=said,
                sha256=sha256_of_text(said),
                read_only=rule.sentence,
                newline="\n",
                bom=False,
            )
        if rule.kind == "editable" and refusal is not None:
            return replace(text, read_only=str(ReadOnlyStore(refusal)), refusal=refusal)
        if rule.kind == "editable" and is_write_protected(entry.mode):
            return replace(
                text, read_only=str(write_protected(parsed.name, entry.mode, "opened for editing"))
            )
        if rule.kind == "editable":
            return replace(text, note=rule.sentence)
        return replace(text, read_only=rule.sentence)

    def save(self, context: ScopeContext, path: str, content: str, expected_sha256: str | None) -> FileText:
        """Write a whole file; it as it is then. `expected_sha256`: the hash it was edited from, None for a
        new one; `Conflict` where the disk has another."""
        changed: list[Path] = []
        warnings: list[str] = []
        self._store(context, changed, warnings).save(path, content, expected_sha256)
        self._record(changed, "Saved by hand", warnings)
        found = self.read(context, path)
        return replace(found, note=" ".join((found.note, *warnings)).strip())

    def pin(self, context: ScopeContext, paths: Sequence[str], pinned: bool) -> Undo:
        """Pin or unpin several memories; none if one of them cannot be."""
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
        return Undo(
            "pin",
            context,
            str(resolved[0][0]),
            usage={key: before[key] for key in keys if key in before},
            usage_after={key: after[key] for key in keys if key in after},
            count=len(resolved),
            warning=" ".join(warnings),
        )

    def delete_all(self, context: ScopeContext, paths: Sequence[str]) -> Undo:
        """Delete several memories or folders, as one; if one cannot be deleted, the others come back."""
        return self.as_one([partial(self.delete, context, path) for path in paths])

    def as_one(self, changes: Sequence[Callable[[], Undo]]) -> Undo:
        """Several changes that a person asked for as one: one `Undo`. If one fails, those before it are
        taken back and its error is raised."""
        done: list[Undo] = []
        with all_steps_or_none(done, self.undo):
            for change in changes:
                done.append(change())
        first = done[0]
        if len(done) == 1:
            return first
        count = sum(undo.count or 1 for undo in done)
        return Undo(
            first.kind,
            first.context,
            first.path,
            first.new_path,
            steps=tuple(done),
            count=count,
            warning=warnings_of(done),
        )

    def delete(self, context: ScopeContext, path: str) -> Undo:
        """Delete a memory or folder. Raises `StoreError`, also where it could not be given back."""
        changed: list[Path] = []
        warnings: list[str] = []
        store = self._store(context, changed, warnings)
        parsed, root, _files = store.resolve(path)
        usage = self._usage_below(root, parsed.rel)
        self._parts.snapshots.preserve(root, parsed.rel)
        commit = self._history_head()
        store.delete(parsed)
        commit = self._last_with(root, parsed.rel, commit, warnings)
        self._record(changed, "Deleted by hand", warnings)
        return Undo(
            "delete", context, str(parsed), commit=commit, usage=usage, count=1, warning=" ".join(warnings)
        )

    def rename(self, context: ScopeContext, path: str, new_path: str) -> Undo:
        """Move a memory or folder; pins and usage go along."""
        changed: list[Path] = []
        warnings: list[str] = []
        store = self._store(context, changed, warnings)
        old, root, _files = store.resolve(path)
        new, _root, _files = store.resolve_new(new_path)
        usage = self._usage_below(root, old.rel)
        store.rename(path, new_path)
        self._record(changed, "Renamed by hand", warnings)
        warning = " ".join(warnings)
        return Undo("rename", context, str(old), str(new), usage=usage, count=1, warning=warning)

    def undo(self, undo: Undo) -> str:
        """Take a change by hand back; a sentence on it. Raises `Conflict` when something else stands in its
        place by now; what was changed since is left then."""
        warnings: list[str] = []
        sentence = self._undo(undo, warnings)
        return " ".join((sentence, *dict.fromkeys(warnings)))

    def _undo(self, undo: Undo, warnings: list[str]) -> str:
        """The sentence; `warnings` gets what went wrong once it was taken back."""
        if undo.steps:
            return self._undo_steps(undo, warnings)
        if undo.kind == "companion":
            from reverie.services.companions import CompanionFiles

            return CompanionFiles(self._parts).undo(undo)
        if undo.files:
            count = self._changes.undo(undo, warnings)
            is_move = undo.kind == "move" and undo.count == 1
            return f"Moved back to {undo.path}." if is_move else f"Took back {some(count, 'changed file')}."
        if undo.kind == "record":
            from reverie.services.records import RecordEdits

            return RecordEdits(self._parts).undo(undo)
        if undo.kind == "pin":
            self._undo_pin(undo)
            return (
                f"Pins of {undo.count} memories are as before." if undo.count > 1 else "The pin is as before."
            )
        changed: list[Path] = []
        store = self._store(undo.context, changed, warnings)
        if undo.kind == "rename":
            store.rename(undo.new_path, undo.path)
            with _made(warnings):
                self._use_as_before(store, undo)
            sentence = f"Renamed back to {undo.path}."
        else:
            count = self._bring_back(store, undo, changed, warnings)
            sentence = (
                f"Brought back {undo.path}." if count == 1 else f"Brought back {count} files of {undo.path}."
            )
        self._record(changed, "Undone by hand", warnings)
        return sentence

    def _undo_steps(self, undo: Undo, warnings: list[str]) -> str:
        """Newest first. One that cannot be taken back does not keep the others; what is back already is
        passed over when it is tried again."""
        problems: list[Conflict] = []
        for step in reversed(undo.steps):
            try:
                if not self._is_back(step):
                    self._undo(step, warnings)
            except Conflict as error:
                problems.append(error)
        if problems:
            raise problems[0]
        verb = {"delete": "Brought back", "pin": "Pinned as before:"}.get(undo.kind, "Took back")
        things = "memories or folders" if undo.kind == "delete" else "changes"
        return f"{verb} {undo.count} {things}."

    def _is_back(self, undo: Undo) -> bool:
        """Whether this was taken back before, when another step of the same change was in the way."""
        if undo.files or undo.steps or undo.kind not in ("rename", "delete"):
            return False
        store = self._store(undo.context, [])
        if undo.kind == "rename":
            return store.entry(undo.new_path) is None and store.entry(undo.path) is not None
        parsed, root, files = store.resolve(undo.path)
        history = self._parts.snapshots.history
        below = [
            rel
            for rel in history.files(undo.commit, root.key)
            if rel == parsed.rel or rel.startswith(parsed.rel + "/")
        ]
        return bool(below) and all(
            (entry := files.entry(rel)) is not None
            and entry.kind == "file"
            and files.read(rel) == history.read(undo.commit, root.key, rel)
            for rel in below
        )

    def _use_as_before(self, store: MemoryStore, undo: Undo) -> None:
        """What the renamed memory has now, but for what it had before."""
        path, root, _files = store.resolve(undo.path)
        now = self._usage_below(root, path.rel)
        keys = {*now, *undo.usage}
        self._parts.usage.apply_delta(
            {key: now.get(key) for key in keys}, {key: undo.usage.get(key) for key in keys}
        )

    def _undo_pin(self, undo: Undo) -> None:
        keys = {*undo.usage, *undo.usage_after}
        self._parts.usage.apply_delta(
            {key: undo.usage_after.get(key) for key in keys}, {key: undo.usage.get(key) for key in keys}
        )
        with contextlib.suppress(MendableError):  # the next snapshot notes the pins as well
            self._parts.snapshots.record(actor="user", source="by hand", subject="Undone by hand", dirty=[])

    def _bring_back(self, store: MemoryStore, undo: Undo, changed: list[Path], warnings: list[str]) -> int:
        parsed, root, _files = store.resolve(undo.path)
        history = self._parts.snapshots.history
        versions = history.files(undo.commit, root.key)
        rels = [rel for rel in versions if rel == parsed.rel or rel.startswith(parsed.rel + "/")]
        if not rels:
            raise StoreError(f"The history holds no {undo.path}.", next_step="Look at the runs of this home.")
        planned: list[PlannedFile] = []
        for rel in rels:
            data = history.read(undo.commit, root.key, rel)
            if data is None:
                raise StoreError(f"The history holds no {rel}.", next_step="Look at the runs of this home.")
            path = MemoryPath(parsed.scope, tuple(rel.split("/")))
            planned.append(PlannedFile(path, root, None, data, versions[rel].mode, None))
        done: list[PlannedFile] = []
        with all_or_nothing(store, done, new_folders(store, planned)):
            for one in planned:
                store.restore(one.path, one.after or b"", mode=one.mode)
                done.append(one)
        changed.extend(root.directory / rel for rel in rels)
        with _made(warnings):
            self._parts.usage.apply_delta(dict.fromkeys(undo.usage), dict(undo.usage))
        return len(rels)

    def _last_with(self, root: ScopeRoot, rel: str, commit: str, warnings: list[str]) -> str:
        """The newest commit that has what was just deleted: an agent may have written it once more after
        `commit`. Where somebody's snapshot saw it gone already, that one."""
        with _made(warnings):
            head = self._history_head()
            if head != commit:
                versions = self._parts.snapshots.history.files(head, root.key)
                if any(each == rel or each.startswith(rel + "/") for each in versions):
                    return head
        return commit

    def _usage_below(self, root: ScopeRoot, rel: str) -> dict[str, Usage]:
        key = self._parts.home.usage_key(root, rel)
        if key is None:
            return {}
        usage = self._parts.usage.load()
        return {found: usage[found] for found in usage if found == key or found.startswith(key + "/")}

    def _history_head(self) -> str:
        head = self._parts.snapshots.history.head()
        if head is None:
            raise Conflict("The history is empty, so the delete could not be kept.")
        return head

    def _record(self, changed: list[Path], subject: str, warnings: list[str]) -> None:
        """Note in the history what was changed; if that fails, the next snapshot takes it in."""
        with _made(warnings):
            self._parts.snapshots.record(actor="user", source="by hand", subject=subject, dirty=changed)

    def _store(
        self, context: ScopeContext, changed: list[Path], warnings: list[str] | None = None
    ) -> MemoryStore:
        told = [] if warnings is None else warnings
        return self._parts.store(
            context, actor="user", after_change=changed.append, warn=told.append, counts_renames=False
        )

    def _resolve(self, context: ScopeContext, path: str) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        return self._parts.store(context, actor="user").resolve(path)


@contextlib.contextmanager
def _made(warnings: list[str]) -> Iterator[None]:
    """The change itself was made by now: what fails here is a warning."""
    try:
        yield
    except MendableError as error:
        warnings.append(str(error))
