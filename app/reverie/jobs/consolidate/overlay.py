"""The copy a dream works on: the scopes of one context as copy-on-write overlays, and what they amount to.

Nothing here writes to the home. `changes` orders writes before deletes, so that a reader in the middle of the
transaction finds a merged line twice rather than not at all. Not thread-safe: one run, one overlay.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from reverie.agents.base import Home, comparable
from reverie.agents.capabilities import ConsolidatedFile, RootChange
from reverie.agents.memory_index import cut_of
from reverie.agents.scopes import Caps, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.claims.checking import CheckedClaim
from reverie.errors import UserError
from reverie.files.atomic import is_write_protected
from reverie.jobs.consolidate.noticed import NoticedPair
from reverie.jobs.consolidate.review import renamed_files
from reverie.jobs.consolidate.rules.plan import Note
from reverie.memory import front_matter
from reverie.memory.commands import MemoryCommands
from reverie.memory.front_matter import description
from reverie.memory.hotset import escaped
from reverie.memory.listing import unseen_reason
from reverie.memory.paths import ROOT, MemoryPath, memory_path, parse_memory_path
from reverie.memory.record_files import RecordFiles, run_files
from reverie.memory.scope_files import FileChange, OverlayFiles, Savepoint, ScopeFiles
from reverie.memory.store import MemoryStore, NoChangeListener
from reverie.memory.usage import UsageLog
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.guard import DRY_RUN_NOTE, Guard, Rails, folded_words
from reverie.values import Struct, replace

# What a dream changed in one root, for the home's index and links. A file that is gone counts as merged into
# the one that holds most of its lines, if that is at least half of them. Pure.


_PLAIN = re.compile(r"[^\W\d_][\w .,/()-]*")


def root_change(
    before: Mapping[str, str],
    after: Mapping[str, str],
    moved: Mapping[str, str],
    *,
    heirs_among: Collection[str],
) -> RootChange:
    """`before` and `after`: every text of the root by `rel`; `moved`: old -> new path; `heirs_among`: which
    files of `after` may have taken over another."""
    gone = [rel for rel in before if rel not in after and rel not in moved]
    came = set(moved.values())
    return RootChange(
        {rel: _read(text) for rel, text in after.items()},
        {rel: _read(before[rel]) for rel in gone},
        moved,
        _heirs({rel: before[rel] for rel in gone}, {rel: after[rel] for rel in heirs_among if rel in after}),
        tuple(rel for rel in after if rel not in before and rel not in came),
    )


def _heirs(gone: Mapping[str, str], candidates: Mapping[str, str]) -> dict[str, str]:
    if not gone:
        return {}
    lines = {rel: _lines(text) for rel, text in candidates.items()}
    heirs = {}
    for rel, text in gone.items():
        own = _lines(text)
        best = max(lines, key=lambda other: len(own & lines[other]), default="")
        if best and own and 2 * len(own & lines[best]) >= len(own):
            heirs[rel] = best
    return heirs


def _lines(text: str) -> set[str]:
    block = front_matter.split(text)
    body = text[block.body_start :] if block is not None else text
    return {folded_words(line) for line in body.splitlines()} - {""}


def _read(text: str) -> ConsolidatedFile:
    return ConsolidatedFile(text, _said(text, "name"), _said(text, "description"))


def _said(text: str, key: str) -> str:
    """What front matter says of a key; the parser, a hundred times dearer, only for what is not plain."""
    block = front_matter.split(text)
    if block is None:
        return ""
    found = re.search(rf"^{key}:[ \t]*(.*?)[ \t]*\r?$", text[block.block_start : block.block_end], re.M)
    if found is None:
        return ""
    if _PLAIN.fullmatch(found[1]) and found[1].lower() not in ("null", "true", "false"):
        return found[1]
    return (front_matter.declared(text, key=key) or "").strip()


_KEPT: Mapping[str, str] = {
    "notes": "the notes of a session",
    "log": "the log of a day",
    "kept": "what the agent keeps for itself",
}
_ALSO_NEVER_DELETED: Mapping[str, str] = {"index": "an index", "document": "a document of the agent's"}
"""What no dream touches, by the role of its file."""


class _ScopeOverlay(Struct, frozen=True):
    root: ScopeRoot
    files: OverlayFiles
    base: ScopeFiles

    def said(self, rel: str) -> str | None:
        """What a record is about; None for what is no record."""
        if not isinstance(self.base, RecordFiles) or not self.base.holder(rel):
            return None
        return self.base.said(rel)

    def stays(self, rel: str) -> bool:
        """Whether it is a record that must not go now."""
        return isinstance(self.base, RecordFiles) and self.base.stays(rel)


class DreamOverlay:
    """All a dream may see and change. The allowed scopes are those the context has, the project's only with
    a single project (formats/mux.md section 10): that is the scope rail."""

    def __init__(
        self, home: Home, context: ScopeContext, usage: UsageLog, stale: Sequence[CheckedClaim] = ()
    ) -> None:
        """`stale`: what its notes say that is not true any more."""
        self.stale = tuple(stale)
        self._home = home
        self._comparable = partial(comparable, home)
        self._usage_log = usage
        self._usage = usage.load()
        self._scopes: dict[str, _ScopeOverlay] = {}
        for scope in Scope:
            with contextlib.suppress(ScopeUnavailable):
                root = home.scope_root(context, scope)
                base = run_files(home, root, nothing_else=True)
                check = base.check if isinstance(base, RecordFiles) else _anything_goes
                self._scopes[root.key] = _ScopeOverlay(root, OverlayFiles(base, check), base)
        self._store = MemoryStore(home, context, self._files_of, NoChangeListener())
        self._before: dict[str, str] = {}
        self.noticed: Sequence[NoticedPair] = ()
        """What the engine left to a person; rules find theirs again whenever they are asked."""
        self._undeletable: frozenset[Scope] = frozenset()

    @property
    def caps(self) -> Caps:
        return self._home.caps

    @property
    def scopes(self) -> frozenset[Scope]:
        return frozenset(overlay.root.scope for overlay in self._scopes.values())

    def guard(self, *, budget: int, dry_run: bool, undeletable: frozenset[Scope] = frozenset()) -> Guard:
        """The rails of this overlay, around the commands that work on it."""
        self._undeletable = undeletable
        rails = Rails(
            self.scopes,
            budget,
            self.is_protected,
            dry_run,
            undeletable,
            self._kept,
            "" if (records := self._home.records) is None else records.sentence,
        )
        return Guard(MemoryCommands(self._store, count_reads=False), rails)

    def is_protected(self, path: MemoryPath) -> bool:
        """Pinned itself, or with something pinned below it."""
        key = self._key(path)
        return key is not None and any(
            usage.pinned and (pinned == key or pinned.startswith(key + "/"))
            for pinned, usage in self._usage.items()
        )

    def pinned_meanwhile(self) -> tuple[str, ...]:
        """Memories that this run takes away and somebody has pinned since it began."""
        usage = self._usage_log.load()
        found = []
        for change in self.changes():
            key = None if change.after is not None else self._home.usage_key(change.root, change.rel)
            if key in usage and usage[key].pinned and not self._usage.get(key, MemoryUsage()).pinned:
                found.append(str(memory_path(change.root.scope, change.rel)))
        return tuple(found)

    def notes(self, check: Callable[[], None]) -> tuple[Note, ...]:
        """Every memory a rule may look at: within the caps, valid text, with a name the commands accept, and
        not kept by the agent for itself."""
        pinned = {key for key, usage in self._usage.items() if usage.pinned}
        notes: list[Note] = []
        for overlay in self._scopes.values():
            for entry in overlay.files.walk().entries:
                check()
                if entry.kind != "file" or unseen_reason(entry.rel, entry.size, self.caps):
                    continue
                if self._home.file_rule(overlay.root, entry.rel).kind != "editable":
                    continue
                role = self._home.file_role(overlay.root, entry.rel)
                if role in _KEPT:
                    continue
                path = memory_path(overlay.root.scope, entry.rel)
                text = self._text(overlay, entry.rel)
                if text is None:
                    continue
                key = self._home.usage_key(overlay.root, entry.rel)
                usage = self._usage.get(key or "", MemoryUsage())
                self._before[str(path)] = text
                protected = key in pinned or path.scope in self._undeletable
                used, written = usage.access_count, usage.last_write_at
                said = overlay.said(entry.rel)
                records = None if said is None else self._home.records
                notes.append(
                    Note(
                        str(path),
                        text,
                        protected,
                        used,
                        written,
                        role == "index",
                        self._comparable,
                        records,
                        said or "",
                        overlay.stays(entry.rel),
                        role == "document",
                        is_write_protected(entry.mode),
                        entry.mtime_ns // 1_000_000,
                    )
                )
        return tuple(notes)

    def left_out(self) -> tuple[str, ...]:
        """The files that `notes` passed over: too large, no text, with a name that no command accepts, or
        kept by the agent for itself."""
        return tuple(
            path
            for overlay in self._scopes.values()
            for entry in overlay.files.walk().entries
            if entry.kind == "file"
            and (path := f"/memories/{overlay.root.scope.value}/{entry.rel}") not in self._before
        )

    def write_protected(self) -> tuple[str, ...]:
        """The memories that no run changes, because nobody may write them (`files.atomic`)."""
        return tuple(
            str(memory_path(overlay.root.scope, entry.rel))
            for overlay in self._scopes.values()
            for entry in overlay.base.walk().entries
            if entry.kind == "file"
            and is_write_protected(entry.mode)
            and self._home.file_rule(overlay.root, entry.rel).kind == "editable"
        )

    @staticmethod
    def _is_write_protected(overlay: _ScopeOverlay, rel: str) -> bool:
        entry = overlay.base.entry(rel)
        return entry is not None and is_write_protected(entry.mode)

    def texts_before_and_after(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """Every text of the context as the run found it and as it leaves it, by memory path: of each what
        must be kept (`comparable`)."""
        essence = self._comparable
        before = {path: essence(text).text for path, text in self._before.items()}
        after = dict(before)
        for change in self.changes():
            path = str(memory_path(change.root.scope, change.rel))
            if change.before is not None:
                before[path] = essence(change.before.decode("utf-8", "replace")).text
            after.pop(path, None)
            if change.after is not None:
                after[path] = essence(change.after.decode("utf-8", "replace")).text
        return before, after

    def graded_texts(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        """As `texts_before_and_after`, but every file as it is on disk, so that its lines have their numbers;
        of records only what they say."""
        if self._home.records is not None:
            return self.texts_before_and_after()
        before = dict(self._before)
        after = dict(before)
        for change in self.changes():
            path = str(memory_path(change.root.scope, change.rel))
            after.pop(path, None)
            if change.before is not None:
                before[path] = change.before.decode("utf-8", "replace")
            if change.after is not None:
                after[path] = change.after.decode("utf-8", "replace")
        return before, after

    def loaded(self, texts: Mapping[str, str]) -> Mapping[str, str]:
        """What a session would start with if these were all texts: of an index what is above its cut line, or
        the list of descriptions that the agent makes itself, and what it loads in full."""
        found: dict[str, str] = {}
        listed: list[str] = []
        for path, text in texts.items():
            if not path.startswith(f"{ROOT}/"):
                found[path] = text  # a file of the project, which an agent reads as a whole
                continue
            parsed = parse_memory_path(path)
            root = next(
                (each.root for each in self._scopes.values() if each.root.scope is parsed.scope), None
            )
            if root is None:
                continue
            if self._home.file_role(root, parsed.rel) == "index":
                found[path] = cut_of(text).loaded
            elif self._home.loads_whole(root, parsed.rel):
                found[path] = text
            elif self._home.lists_descriptions:
                said = description(text.encode()[: self.caps.description_prefix_bytes], self.caps).text
                listed.append(f'- {path} — "{escaped(said)}"' if said else f"- {path}")
        if listed:
            found["index"] = "\n".join(listed)
        return found

    def follow(self, ops: Sequence[Mapping[str, Any]], *, but: Collection[str] = ()) -> tuple[str, ...]:
        """Let the homes' indexes and links follow what has become of the memories; which files changed for
        that, as memory paths. `but`: files to leave as they are. The ops say what was a rename."""
        before, after = self.texts_before_and_after()
        moved = renamed_files(ops, before, after)
        followed = []
        rules = self._home.consolidation
        for overlay in self._scopes.values():
            if not overlay.files.changes(overlay.root):
                continue
            if rules is None or (self._home.records is None and not self._has_index(overlay)):
                continue
            change = self._root_change(overlay, moved)
            for rel, text in rules.index_updates(overlay.root, change).items():
                path = str(memory_path(overlay.root.scope, rel))
                data = text.encode()
                if self._is_write_protected(overlay, rel):
                    continue
                if path not in but and len(data) <= max(self.caps.file_bytes, len(overlay.files.read(rel))):
                    overlay.files.write(rel, data)
                    followed.append(path)
        return tuple(followed)

    def check(self, root: ScopeRoot, rel: str, before: bytes | None, after: bytes) -> None:
        """Raises `StoreError` where a file of this root must not become this."""
        base = self._scopes[root.key].base
        if isinstance(base, RecordFiles):
            base.check(rel, before, after)

    def adopt(self, changes: Iterable[FileChange]) -> None:
        """Take changes that were planned elsewhere into this copy."""
        for change in changes:
            files = self._scopes[change.root.key].files
            if change.after is not None:
                files.write(change.rel, change.after, mode=change.mode)
            elif files.entry(change.rel) is not None:
                files.remove(change.rel)

    def _root_change(self, overlay: _ScopeOverlay, moved: Mapping[str, str]) -> RootChange:
        after: dict[str, str] = {}
        for entry in overlay.files.walk().entries:
            if entry.kind == "file" and self._home.file_rule(overlay.root, entry.rel).kind == "editable":
                text = self._text(overlay, entry.rel)
                if text is not None:
                    after[entry.rel] = text
        before = dict(after)
        for change in overlay.files.changes(overlay.root):
            before.pop(change.rel, None)
            if change.before is not None:
                before[change.rel] = change.before.decode("utf-8", "replace")
        top = len(str(memory_path(overlay.root.scope, "")).rstrip("/")) + 1
        scope = str(memory_path(overlay.root.scope, "")).rstrip("/") + "/"
        renames = {old[top:]: new[top:] for old, new in moved.items() if old.startswith(scope)}
        heirs = [rel for rel in after if self._home.file_role(overlay.root, rel) == "memory"]
        return root_change(before, after, renames, heirs_among=heirs)

    def _has_index(self, overlay: _ScopeOverlay) -> bool:
        return any(
            entry.kind == "file" and self._home.file_role(overlay.root, entry.rel) == "index"
            for entry in overlay.files.walk().entries
        )

    def _kept(self, command: str, path: MemoryPath) -> str:
        """Why a command must not touch a path because of what it is to the agent; empty where it may."""
        overlay = next((found for found in self._scopes.values() if found.root.scope is path.scope), None)
        if overlay is None or not path.segments:
            return ""
        if kept := _KEPT.get(self._home.file_role(overlay.root, path.rel)):
            return f"{path} holds {kept}, which a run like this leaves alone."
        if command not in ("delete", "rename"):
            return ""
        for entry in overlay.files.walk().entries:
            if entry.kind == "file" and (entry.rel == path.rel or entry.rel.startswith(f"{path.rel}/")):
                if overlay.stays(entry.rel):
                    return f"{path} stays for now: a later record has the same id, and that one goes first."
                role = self._home.file_role(overlay.root, entry.rel)
                if role != "memory":
                    what = _KEPT.get(role) or _ALSO_NEVER_DELETED[role]
                    return f"{path} is or holds {what}, which no run deletes or renames."
        return ""

    def changes(self) -> Sequence[FileChange]:
        """What the overlay amounts to, writes before deletes."""
        changes = [
            change for overlay in self._scopes.values() for change in overlay.files.changes(overlay.root)
        ]
        written = {
            (change.root.key, f"{above}/")
            for change in changes
            if change.after is not None
            for above in _above(change.rel)
        }

        def turn(change: FileChange) -> int:
            """Writes before deletes, but what stands where a written file's directory belongs goes first."""
            if change.after is not None:
                return 1
            return 0 if (change.root.key, f"{change.rel}/") in written else 2

        return sorted(changes, key=turn)

    def emptied(self) -> Sequence[tuple[ScopeRoot, str]]:
        """Directories (below their root) that go once they are empty, deepest first in each root."""
        return [
            (overlay.root, rel)
            for overlay in self._scopes.values()
            for rel in overlay.files.removed_directories()
        ]

    def usage_delta(
        self, ops: Sequence[Mapping[str, Any]], *, now: int
    ) -> tuple[dict[str, MemoryUsage | None], dict[str, MemoryUsage | None]]:
        """Usage before and after the applied ops, for the keys they touch (formats/mux.md section 8)."""
        after: dict[str, MemoryUsage | None] = dict(self._usage)
        for op in ops:
            if op["applied"] or op.get("note") == DRY_RUN_NOTE:
                self._count(after, op, now)
        touched = {key for key in after if after[key] != self._usage.get(key)}
        return {key: self._usage.get(key) for key in touched}, {key: after[key] for key in touched}

    def savepoint(self) -> Mapping[str, Savepoint]:
        """A state to go back to with `rollback`."""
        return {key: overlay.files.savepoint() for key, overlay in self._scopes.items()}

    def rollback(self, savepoint: Mapping[str, Savepoint]) -> None:
        """Forget what came after the savepoint."""
        for key, overlay in self._scopes.items():
            overlay.files.rollback(savepoint[key])

    def _count(self, usage: dict[str, MemoryUsage | None], op: Mapping[str, Any], now: int) -> None:
        key = self._key(parse_memory_path(op["path"]))
        if key is None:
            return
        if op["command"] == "delete":
            for below in _subtree(usage, key):
                usage[below] = None
            return
        if op["command"] == "rename":
            new_key = self._key(parse_memory_path(op["newPath"]))
            if new_key is None:
                return
            for below in _subtree(usage, key):
                usage[new_key + below[len(key) :]], usage[below] = usage[below], None
            key = new_key
        present = usage.get(key) or MemoryUsage()
        usage[key] = replace(
            present, access_count=present.access_count + 1, last_accessed_at=now, last_write_at=now
        )

    def _key(self, path: MemoryPath) -> str | None:
        overlay = next((found for found in self._scopes.values() if found.root.scope is path.scope), None)
        return None if overlay is None else self._home.usage_key(overlay.root, path.rel)

    def _files_of(self, root: ScopeRoot) -> OverlayFiles:
        return self._scopes[root.key].files

    @staticmethod
    def _text(overlay: _ScopeOverlay, rel: str) -> str | None:
        """A memory's text; None for what is no UTF-8 text, vanished or cannot be read: rules leave such files
        alone."""
        try:
            text = overlay.files.read(rel).decode("utf-8")
        except (UnicodeDecodeError, UserError):
            return None
        return None if "\0" in text else text


def _anything_goes(_rel: str, _before: bytes | None, _after: bytes) -> None:
    """Files of their own may become what a run likes."""


def _above(rel: str) -> list[str]:
    """Every directory above a file, below its root."""
    parts = rel.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _subtree(usage: Mapping[str, MemoryUsage | None], key: str) -> list[str]:
    return [
        found for found in usage if usage[found] is not None and (found == key or found.startswith(key + "/"))
    ]
