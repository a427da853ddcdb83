"""The one store: every change of a memory, by hand, by model or by rules, goes through it.

It enforces the security envelope once: path rules (`memory.paths`), containment (`files.rooted`), caps of the
home, contents that the agent would not accept (`Home.check_content`), compare-and-swap, atomic writes. It
holds no constant of any agent. Other effects of a change (usage, attribution, history) are left to a
`ChangeListener`, so that the same store serves the disk and a run's overlay, where nothing but the overlay
changes until the run's transaction applies it.

The `WriteGuard` decides whether Reverie may write at all. A home reports layouts and versions that Reverie
does not know (`Home.write_refusals`). Such a store is read-only until a person permits writing. A permission
is kept in Reverie's own data directory, per home id and store, together with the evidence that the person
saw; any other evidence, such as the next version, asks again. Every path that writes asks the guard: the
store, transactions (runs, undo, recovery), sidecars inside a home, the agent's lock, companions, records,
trace dumps, recorded failures and the doctor's fixes. Runs ask once more before they begin. A test opens
every path and fails on a write below a home that is refused.

Rules: formats/mux.md sections 5 and 6. Deliberate differences: replacement text is literal (`$&` is not
expanded); a file that is not valid UTF-8 can be read but is never rewritten.

Threading: blocking; any thread but the GUI's. Mutations of one root are serialised between all Reverie
processes of a profile by `ChangeListener.exclusive`; towards agents every write is a compare-and-swap. The
guard caches nothing. Failure: `UserError` and nothing changed; of the guard `ReadOnlyStore`, `Busy`, or
`Unavailable` if another home was put in the place of this one. A failure after the change is made (its use
cannot be counted, its directory not synced) is a warning to `ChangeListener.warn`, never an error.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from reverie.agents.base import Home, check_content
from reverie.agents.capabilities import WriteLock
from reverie.agents.scopes import Caps, FileRule, Refusal, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.clock import Clock
from reverie.errors import AGENT_BUSY, Busy, Conflict, StoreError
from reverie.files.atomic import is_write_protected, undurable_as_warning
from reverie.files.directory import differ_in_case_only, ensure_private
from reverie.files.locks import file_lock, held_lock, is_held
from reverie.files.rooted import DirectoryEntry
from reverie.files.sidecar import Sidecar
from reverie.memory.paths import MemoryPath, memory_path, parse_memory_path
from reverie.memory.scope_files import ScopeFiles, sha256_of_bytes, sha256_of_text
from reverie.text.summaries import some
from reverie.values import Struct

PERMISSIONS = "write-anyway.json"
_ENTRIES = "permitted"


class ReadOnlyStore(StoreError):
    """Reverie does not write into this store; `reason` is the refusal's."""

    refusal: Refusal

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(
            refusal.title, cause=refusal.evidence, next_step=refusal.next_step, reason=refusal.reason
        )
        self.refusal = refusal


class WriteGuard:
    """Decides which stores of one home may be written. `file` keeps a person's permissions."""

    def __init__(
        self,
        home: Home,
        file: Path,
        *,
        lock_dir: Path,
        clock: Clock,
        require_same: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the guard of a home.

        `require_same` raises `Unavailable` once another home is in the place of this one.
        """
        self._home = home
        self._require_same = require_same
        self._file = file
        self._sidecar = Sidecar(file, lock_dir=lock_dir, clock=clock)
        self.lock_dir = lock_dir
        """The directory of the locks between the Reverie processes of this profile."""
        self._clock = clock

    def refusal(self, root: ScopeRoot | None = None) -> Refusal | None:
        """Return why `root` is read-only; None where it may be written.

        Without a root: the sidecars and companions of the home.
        """
        return self._first(self._home.write_refusals(root))

    def refusal_of(self, context: ScopeContext) -> Refusal | None:
        """Return why a run in this context may not begin: the first store that Reverie does not know.

        A store that is only not in use prevents nothing but writes into itself, unless there is no other.
        """
        roots = tuple(_roots_of(self._home, context))
        unknown = self._first(_unknown(self._reported(roots)))
        if unknown is not None:
            return unknown
        unused = [self.refusal(root) for root in roots]
        return unused[0] if unused and all(unused) else None

    def unknown(self, context: ScopeContext | None = None) -> tuple[tuple[Refusal, bool], ...]:
        """Return everything that Reverie does not know, with whether a person has permitted writing.

        In one context, or in all stores.
        """
        roots = self._home.roots() if context is None else tuple(_roots_of(self._home, context))
        reported = _unknown(self._reported(roots))
        permitted = self._permitted() if reported else {}
        return tuple((each, _covers(permitted, each)) for each in reported)

    def require(self, root: ScopeRoot | None = None) -> None:
        """Raise `ReadOnlyStore` where `root` (without one, the home's own files) is read-only.

        Raises `Unavailable` where it belongs to another home by now.
        """
        self._require_same()
        refusal = self.refusal(root)
        if refusal is not None:
            raise ReadOnlyStore(refusal)

    def require_context(self, context: ScopeContext) -> None:
        """Raise `ReadOnlyStore` where a run in this context may not begin (`refusal_of`).

        Raises `Unavailable` where it is another home by now.
        """
        self._require_same()
        refusal = self.refusal_of(context)
        if refusal is not None:
            raise ReadOnlyStore(refusal)

    def permit(self, refusals: Iterable[Refusal]) -> None:
        """Permit writing from now on, as long as exactly this evidence is found.

        Raises `StoreError` for a refusal that no person can permit.
        """
        given = tuple(refusals)
        for refusal in given:
            if not refusal.permissible:
                raise StoreError(
                    refusal.title, cause=refusal.evidence, next_step=refusal.next_step, reason=refusal.reason
                )

        def add(data: dict[str, Any]) -> dict[str, Any]:
            kept = data.get(_ENTRIES)
            entries = dict(kept) if isinstance(kept, dict) else {}
            for refusal in given:
                entries[refusal.store] = {"evidence": refusal.evidence, "permittedAt": self._clock()}
            return {**data, _ENTRIES: entries}

        ensure_private(self._file.parent)
        self._sidecar.update(add)

    def _first(self, reported: tuple[Refusal, ...]) -> Refusal | None:
        if not reported:
            return None
        permitted = self._permitted()
        return next((each for each in reported if not _covers(permitted, each)), None)

    def _reported(self, roots: Iterable[ScopeRoot]) -> tuple[Refusal, ...]:
        found = [*self._home.write_refusals()]
        for root in roots:
            found += self._home.write_refusals(root)
        return tuple(dict.fromkeys(found))

    def _permitted(self) -> dict[str, Any]:
        kept = self._sidecar.read().data.get(_ENTRIES)
        return kept if isinstance(kept, dict) else {}


def _unknown(reported: Iterable[Refusal]) -> tuple[Refusal, ...]:
    return tuple(each for each in reported if each.reason == "unknown-layout")


def rule_under(refusal: Refusal | None, rule: FileRule) -> FileRule:
    """Return the rule of a file in a store that `refusal` makes read-only; None leaves it unchanged."""
    if refusal is None or rule.kind != "editable":
        return rule
    return FileRule("read-only", str(ReadOnlyStore(refusal)))


def _covers(permitted: dict[str, Any], refusal: Refusal) -> bool:
    entry = permitted.get(refusal.store)
    return refusal.permissible and isinstance(entry, dict) and entry.get("evidence") == refusal.evidence


PATIENCE_S = 0.25
"""How long to wait for a Reverie of another profile, which holds it for one write only."""
OWN_PATIENCE_S = 10.0
"""How long to wait for other threads and processes of this profile."""


class _HeldLock(threading.local):
    """The lock files that this thread holds."""

    def __init__(self) -> None:
        self.files: set[Path] = set()


_held = _HeldLock()


@contextlib.contextmanager
def write_locks(
    home: Home, roots: Iterable[ScopeRoot], *, lock_dir: Path, patience_s: float = PATIENCE_S
) -> Iterator[None]:
    """Hold the agent's locks of these roots for the `with` block.

    This is the lock that an agent holds while it rewrites a store (`Home.write_lock`). Codex holds `flock` on
    a file in its home for a whole consolidation and overwrites any concurrent change. While Reverie holds it,
    the agent postpones its job, so Reverie takes it around each write only, never while a model thinks. It is
    reentrant per thread: a change of several files takes it once. Without `flock` (Windows) it is not taken.

    Reverie's own lock for the same file comes first, so that threads and processes of one profile wait for
    each other and none of them mistakes another for the agent. The order is the same everywhere: Reverie's
    own lock, the agent's, then those of directories and files. `Busy` has the reason "agent-busy" if the
    agent holds the lock, none if another Reverie does. `lock_dir`: of Reverie's own locks.
    """
    rules = home.store_rules
    found = () if rules is None else map(rules.write_lock, roots)
    locks = {lock.file: lock for lock in found if lock is not None}
    with contextlib.ExitStack() as stack:
        for file in sorted(locks):
            if file not in _held.files:
                stack.enter_context(file_lock(lock_dir, file, timeout_s=OWN_PATIENCE_S))
                stack.enter_context(_hold(locks[file], patience_s))
                _held.files.add(file)
                stack.callback(_held.files.discard, file)
        yield


def refuse_while_agent_writes(home: Home, context: ScopeContext | None = None, *, lock_dir: Path) -> None:
    """Raise `Busy` while the agent rewrites a store of this context (None: any store of the home).

    For a run, before it begins.
    """
    rules = home.store_rules
    if rules is None:
        return
    for root in home.roots() if context is None else _roots_of(home, context):
        lock = rules.write_lock(root)
        if lock is None or lock.file in _held.files or not is_held(lock.file):
            continue
        with file_lock(lock_dir, lock.file, timeout_s=OWN_PATIENCE_S):  # it may have been a Reverie
            if is_held(lock.file):
                raise _busy(lock)


def _roots_of(home: Home, context: ScopeContext) -> Iterator[ScopeRoot]:
    for scope in Scope:
        with contextlib.suppress(ScopeUnavailable):
            yield home.scope_root(context, scope)


def _hold(lock: WriteLock, patience_s: float) -> AbstractContextManager[None]:
    if sys.platform == "win32":
        return nullcontext()
    return held_lock(lock.file, lock.file, timeout_s=patience_s, mode=0o644, busy=_busy(lock))


def _busy(lock: WriteLock) -> Busy:
    return Busy(
        f"{lock.agent} is consolidating its memory.",
        cause=f"It (or a Reverie with another profile) holds {lock.file.name}. What is written meanwhile"
        " would be overwritten.",
        next_step="Wait until it is done. This takes a few minutes at most.",
        reason=AGENT_BUSY,
    )


def refuse_no_text(parsed: MemoryPath, *, valid: bool) -> None:
    """Raise `StoreError` for content that is no UTF-8, whose odd bytes a write would replace."""
    if not valid:
        raise StoreError(
            f"{parsed} is not a UTF-8 text file and is left as it is.",
            next_step="Convert it outside, then edit it here.",
            reason="not-text",
        )


def missing(parsed: MemoryPath) -> StoreError:
    """Return the error for a path without a memory."""
    return StoreError(
        f"There is no memory {parsed}.",
        next_step="View its directory to see what is there.",
        reason="missing",
    )


def changed(parsed: MemoryPath, what: str) -> Conflict:
    """Return the error for a file that is not the one the change was made for.

    `what`: half a sentence that says so.
    """
    return Conflict(
        f"{parsed} was not written:", cause=f"{what}.", next_step="Read it again and repeat the change."
    )


def encoded(parsed: MemoryPath, content: str, caps: Caps) -> bytes:
    """Return the bytes to write.

    Raises `StoreError` for invalid or too much text.
    """
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError:
        raise StoreError(
            f"{parsed} cannot be written.",
            cause="The text holds half of a surrogate pair, which is no UTF-8.",
            next_step="Remove the broken character.",
            reason="not-text",
        ) from None
    cap = caps.file_bytes
    if len(data) > cap:
        raise StoreError(
            f"{parsed} would be too large: {len(data):,} bytes.",
            cause=f"The limit of this home is {cap:,} bytes a file.",
            next_step="Shorten it, or split it into several memories.",
            reason="too-large",
        )
    return data


def refuse_full_scope(parsed: MemoryPath, files: ScopeFiles, caps: Caps) -> None:
    """Raise `StoreError` (reason `scope-full`) where one more file would exceed the home's cap."""
    cap = caps.files_per_scope
    count = sum(entry.kind == "file" for entry in files.walk(files_limit=cap).entries)
    if count >= cap:
        raise StoreError(
            f"{parsed} cannot be created: the scope is full.",
            cause=f"It holds {cap:,} files already, the limit of this home.",
            next_step="Merge or delete memories first.",
            reason="scope-full",
        )


def refuse_untouchable(
    home: Home, root: ScopeRoot, parsed: MemoryPath, done: str, *, as_a_whole: bool = False
) -> None:
    """Raise `StoreError` for a whole scope, and for files that the home keeps for its agent.

    `as_a_whole`: the file is deleted, or restored unchanged.
    """
    refuse_scope_root(parsed, done)
    rule = home.file_rule(root, parsed.rel)
    if rule.kind != "editable" and not (as_a_whole and rule.deletable):
        raise StoreError(
            f"{parsed} was not {done}.",
            cause=rule.sentence,
            next_step="Change what it is made from." if rule.kind == "generated" else "",
            reason="not-editable",
        )


def refuse_scope_root(parsed: MemoryPath, done: str) -> None:
    """Raise `StoreError` for a scope itself. `done`: the intended action, such as "renamed"."""
    if parsed.is_scope_root:
        raise StoreError(
            f"{parsed} is a whole scope and cannot be {done}.", next_step="Name a file inside it."
        )


def refuse_directory(parsed: MemoryPath, entry: DirectoryEntry | None) -> None:
    """Raise `StoreError` for a folder; a missing path is fine."""
    if entry is not None and entry.kind != "file":
        raise StoreError(f"{parsed} is a directory, not a memory.", next_step="Name a file inside it.")


class ChangeListener(Protocol):
    """The effects of a change beyond the file itself.

    `memory.recording` has the implementation for the disk. `rel` is below `root`; called on the store's
    thread. `will_change` and `will_delete` may refuse; a failure after the change is a warning.
    """

    def exclusive(self, root: ScopeRoot, rel: str = "") -> AbstractContextManager[None]:
        """Exclude the other Reverie processes of a profile from one root, as a context manager.

        Also excludes the agent from `rel`, where it takes a lock for that file.
        """

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        """Preserve the present state before a creation, overwrite, move or deletion. May raise to refuse."""

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        """Check, after `will_change`, that a file or folder could be restored. May raise to refuse."""

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        """Attribute the change, at the last moment before one file becomes `after`."""

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        """Handle a created or written file."""

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        """Handle a deleted file or folder."""

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        """Handle a file or folder that was moved to `new_rel`."""

    def read(self, root: ScopeRoot, rel: str) -> None:
        """Count the agent's view of a file as a use."""

    def warn(self, sentence: str) -> None:
        """Report a failure after a change that was made."""

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        """Handle a person's pin of a file, or its removal."""


class NoChangeListener:
    """The listener for overlays: nothing but the overlay changes."""

    def exclusive(self, root: ScopeRoot, rel: str = "") -> AbstractContextManager[None]:
        return nullcontext()

    def will_change(self, root: ScopeRoot, rel: str) -> None: ...
    def will_delete(self, root: ScopeRoot, rel: str) -> None: ...
    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None: ...
    def wrote(self, root: ScopeRoot, rel: str) -> None: ...
    def deleted(self, root: ScopeRoot, rel: str) -> None: ...
    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None: ...
    def read(self, root: ScopeRoot, rel: str) -> None: ...
    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None: ...
    def warn(self, sentence: str) -> None: ...


_ATTEMPTS = 20
# One byte more than the history keeps of a file: no comparison needs more of a larger one.
_MOST_READ = 64 * 1024 * 1024 + 1


class StoredText(Struct, frozen=True):
    """One memory as read.

    `content` is decoded with U+FFFD where `valid` is False; `sha256` is of `content`.
    """

    content: str
    sha256: str
    valid: bool
    size: int


class MemoryStore:
    """The memories of one scope context."""

    def __init__(
        self,
        home: Home,
        context: ScopeContext,
        files_of: Callable[[ScopeRoot], ScopeFiles],
        effects: ChangeListener,
    ) -> None:
        self.home = home
        self.context = context
        self._files_of = files_of
        self._effects = effects

    def resolve(self, path: str | MemoryPath) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        """Return the parsed path, spelled as the directories list it, with its root.

        Raises `PathRuleError`, `ScopeUnavailable`; refuses `/memories` itself.
        """
        parsed, root, files = self._located(path)
        return memory_path(root.scope, files.listed(parsed.rel)), root, files

    def resolve_new(self, path: str | MemoryPath) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        """Resolve a new name as `resolve` does; the last part keeps its spelling."""
        parsed, root, files = self._located(path)
        *above, name = parsed.segments or ("",)
        listed = files.listed("/".join(above)).split("/") if above else []
        return MemoryPath(root.scope, (*listed, name) if name else ()), root, files

    def _located(self, path: str | MemoryPath) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        parsed = parse_memory_path(path) if isinstance(path, str) else path
        if parsed.scope is None:
            raise StoreError(f"{parsed} names no scope.", next_step=f"Name one of {', '.join(Scope)}.")
        root = self.home.scope_root(self.context, parsed.scope)
        if root.leaves_out(parsed.rel):
            raise StoreError(
                f"{parsed} belongs to another scope.", next_step="Choose its project, and find it there."
            )
        return parsed, root, self._files_of(root)

    def entry(self, path: str | MemoryPath) -> DirectoryEntry | None:
        """Return the file or folder at the path; None if there is none.

        Raises `StoreError` for an invalid path, `ScopeUnavailable`.
        """
        parsed, _root, files = self.resolve(path)
        return files.entry(parsed.rel)

    def read_text(self, path: str | MemoryPath, *, as_use: bool) -> StoredText:
        """Return the whole text of one memory; `as_use` counts it as an agent's read.

        Refuses files over the cap.
        """
        parsed, root, files = self.resolve(path)
        text = self._text(parsed, files)
        if as_use:
            self._effects.read(root, parsed.rel)
        return text

    def note_use(self, path: MemoryPath) -> None:
        """Count one read by an agent."""
        parsed, root, _files = self.resolve(path)
        self._effects.read(root, parsed.rel)

    def save(self, path: str | MemoryPath, content: str, expected_sha256: str | None) -> str:
        """Write a whole file by compare-and-swap, and return the new hash; None expects no file.

        Raises `Conflict`. A path that leads through something that is not a directory, or to a directory, is
        a plain `StoreError`.
        """
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "saved")
        data = encoded(parsed, content, self.home.caps)
        with self._effects.exclusive(root):
            entry = files.entry(parsed.rel)
            refuse_directory(parsed, entry)
            if expected_sha256 is None:
                if entry is not None:
                    raise changed(parsed, "it exists already")
                refuse_full_scope(parsed, files, self.home.caps)
            elif entry is None:
                raise changed(parsed, "it was deleted meanwhile")
            else:
                present = self._text(parsed, files, any_size=True)
                if present.sha256 != expected_sha256:
                    raise changed(parsed, "it changed meanwhile")
                refuse_no_text(parsed, valid=present.valid)
            before = None if entry is None else present.content.encode("utf-8")
            check_content(self.home, root, parsed.rel, before, data)

            def compare(current: bytes | None) -> None:
                # Only for valid text is the hash of the decoded text that of the bytes.
                if sha256_of_bytes(current) != expected_sha256:
                    raise changed(parsed, "it changed meanwhile")

            self._effects.will_change(root, parsed.rel)
            self._write(root, files, parsed, data, compare, create_only=expected_sha256 is None)
        self._effects.wrote(root, parsed.rel)
        return sha256_of_text(content)

    def create(self, path: str | MemoryPath, content: str) -> None:
        """Create a memory; an existing file or directory is never replaced."""
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "created as a file")
        data = encoded(parsed, content, self.home.caps)
        with self._effects.exclusive(root):
            entry = files.entry(parsed.rel)
            if entry is not None:
                kind = "a directory" if entry.kind == "directory" else "a file"
                raise StoreError(
                    f"{parsed} exists already as {kind}.",
                    next_step="Choose another name."
                    if entry.kind == "directory"
                    else "To overwrite it, delete it first, or edit it with str_replace or insert.",
                    reason="exists",
                )
            refuse_full_scope(parsed, files, self.home.caps)
            check_content(self.home, root, parsed.rel, None, data)
            self._effects.will_change(root, parsed.rel)
            self._write(root, files, parsed, data, None, create_only=True)
        self._effects.wrote(root, parsed.rel)

    def edit(self, path: str | MemoryPath, change: Callable[[str], str]) -> str:
        """Read, `change` and write back, again when an agent wrote in between; return the new text."""
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "edited")
        with self._effects.exclusive(root):
            for _attempt in range(_ATTEMPTS):
                before = self._editable_text(parsed, files)
                after = change(before)
                data = encoded(parsed, after, self.home.caps)
                expected = before.encode("utf-8")
                check_content(self.home, root, parsed.rel, expected, data)

                def compare(current: bytes | None, expected: bytes = expected) -> None:
                    if current != expected:
                        raise changed(parsed, "it changed meanwhile")

                self._effects.will_change(root, parsed.rel)
                try:
                    self._write(root, files, parsed, data, compare)
                except Conflict:
                    continue
                break
            else:
                raise changed(parsed, "another program keeps writing it")
        self._effects.wrote(root, parsed.rel)
        return after

    def delete(self, path: str | MemoryPath) -> None:
        """Delete a file, or a directory with everything in it."""
        parsed, root, files = self.resolve(path)
        refuse_untouchable(self.home, root, parsed, "deleted", as_a_whole=True)
        with self._effects.exclusive(root, parsed.rel):
            for _attempt in range(_ATTEMPTS):
                with contextlib.suppress(_OvertakenStore):
                    self._delete(root, files, parsed)
                    break
            else:
                raise changed(parsed, "another program keeps writing it")
        self._effects.deleted(root, parsed.rel)

    def _delete(self, root: ScopeRoot, files: ScopeFiles, parsed: MemoryPath) -> None:
        """Delete once.

        Raises `_OvertakenStore`, and restores what was removed, if it was written to after the snapshot.
        """
        entry = files.entry(parsed.rel)
        if entry is None:
            raise missing(parsed)
        below = self._files_below(files, parsed.rel, entry)
        for rel in below:
            each = MemoryPath(parsed.scope, tuple(rel.split("/")))
            refuse_untouchable(self.home, root, each, "deleted", as_a_whole=True)
        # Read before the snapshot: if it is the same afterwards, the history has it.
        content = files.read(parsed.rel, limit=_MOST_READ) if entry.kind == "file" else None
        self._effects.will_change(root, parsed.rel)
        self._effects.will_delete(root, parsed.rel)
        for rel in below:
            check_content(self.home, root, rel, files.read(rel, limit=_MOST_READ), None)
            self._effects.replacing(root, rel, None)

        def unchanged(taken: list[DirectoryEntry], taken_content: bytes | None) -> None:
            same = {each.rel: _stamp(each) for each in taken} == below if content is None else True
            if not same or taken_content != content:
                raise _OvertakenStore

        protected = [rel for rel, stamp in below.items() if is_write_protected(stamp.mode)]
        with self._made():
            files.remove(parsed.rel, check=unchanged)
        self._say_protected(root, protected, "deleted")

    def rename(self, old: str | MemoryPath, new: str | MemoryPath) -> None:
        """Move a file or directory inside its scope.

        Neither size nor file count is checked (mux.md section 6).
        """
        source, root, files = self.resolve(old)
        target, target_root, _files = self.resolve_new(new)
        refuse_untouchable(self.home, root, source, "renamed")
        refuse_untouchable(self.home, target_root, target, "renamed")
        if source.scope is not target.scope or root.key != target_root.key:
            raise StoreError(
                f"{source} cannot be renamed into another scope.",
                cause="A rename stays inside one scope.",
                next_step="Create the memory there and delete this one.",
            )
        if target.segments[: len(source.segments)] == source.segments and source != target:
            raise StoreError(f"{source} cannot be moved into itself.", next_step="Choose another place.")
        with self._effects.exclusive(root):
            entry = files.entry(source.rel)
            if entry is None:
                raise missing(source)
            there = files.entry(target.rel)
            is_itself = there is not None and there.inode == entry.inode != 0
            if there is not None and not (is_itself and differ_in_case_only(source.rel, target.rel)):
                raise StoreError(
                    f"{target} exists already.", next_step="Choose another name.", reason="exists"
                )
            below = self._files_below(files, source.rel, entry)
            for rel in below:
                refuse_untouchable(
                    self.home, root, MemoryPath(source.scope, tuple(rel.split("/"))), "renamed"
                )
            contents = {rel: files.read(rel, limit=_MOST_READ) for rel in below}
            for rel, data in contents.items():
                check_content(self.home, root, target.rel + rel[len(source.rel) :], None, data)
                check_content(self.home, root, rel, data, None)
            self._effects.will_change(root, source.rel)
            for rel, data in contents.items():
                self._effects.replacing(root, target.rel + rel[len(source.rel) :], data)
                self._effects.replacing(root, rel, None)
            protected = [rel for rel, stamp in below.items() if is_write_protected(stamp.mode)]
            with self._made():
                files.rename(source.rel, target.rel)
            self._say_protected(root, protected, "renamed")
        self._effects.renamed(root, source.rel, target.rel)

    def pin(self, path: str | MemoryPath, pinned: bool) -> None:
        """Pin or unpin one path, without checking that a file exists (mux.md section 6)."""
        parsed, root, _files = self.resolve(path)
        refuse_scope_root(parsed, "pinned")
        self._effects.pinned(root, parsed.rel, pinned)

    def _write(
        self,
        root: ScopeRoot,
        files: ScopeFiles,
        parsed: MemoryPath,
        data: bytes,
        compare: Callable[[bytes | None], None] | None,
        *,
        create_only: bool = False,
    ) -> None:
        def before_replace(current: bytes | None) -> None:
            if compare is not None:
                compare(current)
            check_content(self.home, root, parsed.rel, current, data)
            self._effects.replacing(root, parsed.rel, data)

        protected = [] if create_only else self._protected(files, parsed.rel)
        with self._made():
            files.write(parsed.rel, data, create_only=create_only, before_replace=before_replace)
        self._say_protected(root, protected, "changed")

    @staticmethod
    def _protected(files: ScopeFiles, rel: str) -> list[str]:
        """Return the file if it is write-protected (`files.atomic`), else nothing."""
        entry = files.entry(rel)
        return [rel] if entry is not None and is_write_protected(entry.mode) else []

    def _say_protected(self, root: ScopeRoot, rels: list[str], done: str) -> None:
        if rels:
            path = memory_path(root.scope, rels[0])
            more = f" and {some(len(rels) - 1, 'more file')}" if len(rels) > 1 else ""
            verb = "were" if more else "was"
            self._effects.warn(f"{path}{more} {verb} {done} although write-protected.")

    @contextlib.contextmanager
    def _made(self) -> Iterator[None]:
        """Turn the failure to make a finished change durable into a warning."""
        warnings: list[str] = []
        with undurable_as_warning(warnings):
            yield
        for warning in warnings:
            self._effects.warn(warning)

    def _text(self, parsed: MemoryPath, files: ScopeFiles, *, any_size: bool = False) -> StoredText:
        entry = files.entry(parsed.rel)
        if entry is None:
            raise missing(parsed)
        if entry.kind != "file":
            raise StoreError(f"{parsed} is a directory, not a memory.", next_step="Name a file inside it.")
        cap = self.home.caps.file_bytes
        if entry.size > cap and not any_size:
            raise StoreError(
                f"{parsed} is too large: {entry.size:,} bytes.",
                cause=f"The limit of this home is {cap:,} bytes a file.",
                next_step="Shorten it outside, or split it.",
                reason="too-large",
            )
        data = files.read(parsed.rel)
        try:
            content, valid = data.decode("utf-8"), True
        except UnicodeDecodeError:
            content, valid = data.decode("utf-8", "replace"), False
        return StoredText(content, sha256_of_text(content), valid, len(data))

    def _editable_text(self, parsed: MemoryPath, files: ScopeFiles) -> str:
        text = self._text(parsed, files)
        refuse_no_text(parsed, valid=text.valid and "\0" not in text.content)
        return text.content

    @staticmethod
    def _files_below(files: ScopeFiles, rel: str, entry: DirectoryEntry) -> dict[str, _Stamp]:
        """Return the file, or all files in the folder, each with a stamp that reveals a later write."""
        if entry.kind == "file":
            return {rel: _stamp(entry)}
        return {
            found.rel: _stamp(found)
            for found in files.walk().entries
            if found.kind == "file" and found.rel.startswith(rel + "/")
        }


class _Stamp(Struct, frozen=True):
    """The facts that reveal a change of a file."""

    inode: int
    size: int
    mtime_ns: int
    mode: int


class _OvertakenStore(Exception):
    """Another process wrote in between."""


def _stamp(entry: DirectoryEntry) -> _Stamp:
    return _Stamp(entry.inode, entry.size, entry.mtime_ns, entry.mode)
