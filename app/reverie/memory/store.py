"""The one store: every change of a memory, by hand, by model or by rules, goes through here; and whether
Reverie may write into it now.

It enforces the security envelope once: path rules (`memory.paths`), containment (`files.rooted`), caps of the
home, what the agent would not accept (`Home.check_content`), compare-and-swap, atomic writes. It holds no
constant of any agent. What else a change means (usage, attribution, history) is left to a `ChangeListener`,
so that the same store serves the disk and a run's overlay, where nothing but the overlay changes until the
run's transaction applies it.

A home reports layouts and versions that Reverie does not know (`Home.write_refusals`). Such a store is read-
only until a person permits writing. A permission is kept in Reverie's own data directory, per home id and
store, together with the evidence that the person saw; any other evidence, such as the next version, asks
again. Every path that writes asks the `WriteGuard`: the store, transactions (runs, undo, recovery), sidecars
inside a home, the agent's lock, companions, records, trace dumps, recorded failures and the doctor's fixes.
Runs ask once more before they begin. A test opens every path and fails on a write below a home that is
refused.

Rules: formats/mux.md sections 5 and 6. Deliberate differences: replacement text is literal (`$&` is not
expanded); a file that is not valid UTF-8 can be read but is never rewritten.

Threading: blocking; any thread but the GUI's. Mutations of one root are serialised between all Reverie
processes of a profile by `ChangeListener.exclusive`; towards agents every write is a compare-and-swap. The
guard caches nothing. Failure: `UserError` and nothing changed; of the guard `ReadOnlyStore`, `Busy`, or
`Unavailable` if another home was put in the place of this one. What goes wrong once the change is made (its
use cannot be counted, its directory not synced) is a warning to `ChangeListener.warn`, never an error.
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

# May Reverie write? Permissions for unknown layouts, and the lock of the agent.


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
    """Which stores of one home may be written. `file` keeps what a person has permitted."""

    def __init__(
        self,
        home: Home,
        file: Path,
        *,
        lock_dir: Path,
        clock: Clock,
        require_same: Callable[[], None] = lambda: None,
    ) -> None:
        """`require_same` raises `Unavailable` once another home is in the place of this one."""
        self._home = home
        self._require_same = require_same
        self._file = file
        self._sidecar = Sidecar(file, lock_dir=lock_dir, clock=clock)
        self.lock_dir = lock_dir
        """Where the locks between the Reverie processes of this profile lie."""
        self._clock = clock

    def refusal(self, root: ScopeRoot | None = None) -> Refusal | None:
        """Why `root` is read-only; None where it may be written. Without a root: the sidecars and companions
        of the home."""
        return self._first(self._home.write_refusals(root))

    def refusal_of(self, context: ScopeContext) -> Refusal | None:
        """Why a run in this context may not begin: the first store that Reverie does not know. One that is
        only not in use stops nothing but writes into itself, unless there is no other."""
        roots = tuple(_roots_of(self._home, context))
        unknown = self._first(_unknown(self._reported(roots)))
        if unknown is not None:
            return unknown
        unused = [self.refusal(root) for root in roots]
        return unused[0] if unused and all(unused) else None

    def unknown(self, context: ScopeContext | None = None) -> tuple[tuple[Refusal, bool], ...]:
        """Everything that Reverie does not know, in one context or in all stores, and whether a person has
        permitted writing."""
        roots = self._home.roots() if context is None else tuple(_roots_of(self._home, context))
        reported = _unknown(self._reported(roots))
        permitted = self._permitted() if reported else {}
        return tuple((each, _covers(permitted, each)) for each in reported)

    def require(self, root: ScopeRoot | None = None) -> None:
        """Raises `ReadOnlyStore` where `root` (the home's own files without one) is read-only, `Unavailable`
        where it is of another home by now."""
        self._require_same()
        refusal = self.refusal(root)
        if refusal is not None:
            raise ReadOnlyStore(refusal)

    def require_context(self, context: ScopeContext) -> None:
        """Raises `ReadOnlyStore` where a run in this context may not begin (`refusal_of`),
        `Unavailable` where it is another home by now."""
        self._require_same()
        refusal = self.refusal_of(context)
        if refusal is not None:
            raise ReadOnlyStore(refusal)

    def permit(self, refusals: Iterable[Refusal]) -> None:
        """Write from now on, as long as exactly this is found. Raises `StoreError` for what no person can
        permit."""
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
    """The rule of a file in a store that `refusal` makes read-only; None leaves it as it is."""
    if refusal is None or rule.kind != "editable":
        return rule
    return FileRule("read-only", str(ReadOnlyStore(refusal)))


def _covers(permitted: dict[str, Any], refusal: Refusal) -> bool:
    entry = permitted.get(refusal.store)
    return refusal.permissible and isinstance(entry, dict) and entry.get("evidence") == refusal.evidence


# The lock that an agent holds while it rewrites a store (`Home.write_lock`). Codex holds `flock` on a file in
# its home for a whole consolidation and overwrites what is written meanwhile. While Reverie holds it, the
# agent postpones its job, so Reverie takes it around each write only, never while a model thinks. It is
# reentrant per thread: a change of several files takes it once. Without `flock` (Windows) it is not taken.
#
# Reverie's own lock for the same file comes first, so that threads and processes of one profile wait for each
# other and none of them mistakes another for the agent. The order is the same everywhere: Reverie's own lock,
# the agent's, then those of directories and files. `Busy` has the reason "agent-busy" if the agent holds the
# lock, none if another Reverie does.


PATIENCE_S = 0.25
"""How long a Reverie of another profile may hold it: for one write, which takes a moment."""
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
    """Hold the agent's locks of these roots for the `with` block. `lock_dir`: of Reverie's own locks."""
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
    """Raise `Busy` while the agent rewrites a store of this context (None: any store of the home): for a run,
    before it begins."""
    rules = home.store_rules
    if rules is None:
        return
    for root in home.roots() if context is None else _roots_of(home, context):
        lock = rules.write_lock(root)
        if lock is None or lock.file in _held.files or not is_held(lock.file):
            continue
        with file_lock(lock_dir, lock.file, timeout_s=OWN_PATIENCE_S):  # it may have been one of us
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


# The store.


# What the store refuses, and in which words, apart from paths and containment (`memory.paths`,
# `files.rooted`). `StoreError` or `Conflict`, raised before anything changed.


def refuse_no_text(parsed: MemoryPath, *, valid: bool) -> None:
    """What is no UTF-8 must not come back with its odd bytes replaced."""
    if not valid:
        raise StoreError(
            f"{parsed} is not a UTF-8 text file and is left as it is.",
            next_step="Convert it outside, then edit it here.",
            reason="not-text",
        )


def missing(parsed: MemoryPath) -> StoreError:
    """There is nothing at this path."""
    return StoreError(
        f"There is no memory {parsed}.",
        next_step="View its directory to see what is there.",
        reason="missing",
    )


def changed(parsed: MemoryPath, what: str) -> Conflict:
    """The file is not what the change was made for. `what`: half a sentence that says so."""
    return Conflict(
        f"{parsed} was not written:", cause=f"{what}.", next_step="Read it again and repeat the change."
    )


def encoded(parsed: MemoryPath, content: str, caps: Caps) -> bytes:
    """The bytes to be written; text that is none, or too much of it, is refused."""
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
    """Raises `StoreError` (reason `scope-full`) where one more file would be above the home's cap."""
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
    """No scope as a whole, and nothing that the home keeps for its agent. `as_a_whole`: it goes, or comes
    back as it was."""
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
    """Raises `StoreError` for a scope itself. `done`: what would be done to it, such as "renamed"."""
    if parsed.is_scope_root:
        raise StoreError(
            f"{parsed} is a whole scope and cannot be {done}.", next_step="Name a file inside it."
        )


def refuse_directory(parsed: MemoryPath, entry: DirectoryEntry | None) -> None:
    """Raises `StoreError` for a folder; a missing path is fine."""
    if entry is not None and entry.kind != "file":
        raise StoreError(f"{parsed} is a directory, not a memory.", next_step="Name a file inside it.")


# What a change means beyond the file: the interface that the store calls, and the one that does nothing.
# `memory.recording` has the one for the disk. `will_change` and `will_delete` may refuse; what goes wrong
# after the change is a warning.


class ChangeListener(Protocol):
    """What a change means beyond the file itself. `rel` is below `root`; called on the store's thread."""

    def exclusive(self, root: ScopeRoot, rel: str = "") -> AbstractContextManager[None]:
        """Mutual exclusion over one root between the Reverie processes of a profile; and over `rel` with its
        agent, where that takes a lock for it."""

    def will_change(self, root: ScopeRoot, rel: str) -> None:
        """Before something is created, overwritten, moved or deleted: keep what is there. May raise to
        refuse."""

    def will_delete(self, root: ScopeRoot, rel: str) -> None:
        """After `will_change`, before a file or folder is deleted. May raise to refuse what could not be
        brought back."""

    def replacing(self, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        """At the last moment before one file becomes `after`: attribute the change."""

    def wrote(self, root: ScopeRoot, rel: str) -> None:
        """A file was created or written."""

    def deleted(self, root: ScopeRoot, rel: str) -> None:
        """A file or folder was deleted."""

    def renamed(self, root: ScopeRoot, rel: str, new_rel: str) -> None:
        """A file or folder was moved to `new_rel`."""

    def read(self, root: ScopeRoot, rel: str) -> None:
        """The agent viewed a file: that is a use."""

    def warn(self, sentence: str) -> None:
        """The change was made, and this went wrong with what belongs to it."""

    def pinned(self, root: ScopeRoot, rel: str, pinned: bool) -> None:
        """A person pinned a file, or unpinned it."""


class NoChangeListener:
    """For overlays: nothing but the overlay changes."""

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
# One byte more than the history keeps of a file: nobody needs to know more of a larger one.
_MOST_READ = 64 * 1024 * 1024 + 1


class StoredText(Struct, frozen=True):
    """One memory as read. `content` is decoded with U+FFFD where `valid` is False; `sha256` is of
    `content`."""

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
        """The parsed path, spelled as the directories list it, with its root. Raises `PathRuleError`,
        `ScopeUnavailable`; refuses `/memories` itself."""
        parsed, root, files = self._located(path)
        return memory_path(root.scope, files.listed(parsed.rel)), root, files

    def resolve_new(self, path: str | MemoryPath) -> tuple[MemoryPath, ScopeRoot, ScopeFiles]:
        """As `resolve`, for a new name: the last part stays as it is spelled here."""
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
        """The file or folder at the path; None if there is none. Raises `StoreError` for an invalid path,
        `ScopeUnavailable`."""
        parsed, _root, files = self.resolve(path)
        return files.entry(parsed.rel)

    def read_text(self, path: str | MemoryPath, *, as_use: bool) -> StoredText:
        """The whole text of one memory. `as_use` counts it as an agent's read. Refuses files over the cap."""
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
        """Whole-file compare-and-swap; `None` expects no file. Returns the new hash; raises `Conflict`.

        A path that leads through something that is not a directory, or to a directory, is a plain
        `StoreError`.
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
                # Valid text has the same hash decoded as in bytes, and other bytes never have.
                if sha256_of_bytes(current) != expected_sha256:
                    raise changed(parsed, "it changed meanwhile")

            self._effects.will_change(root, parsed.rel)
            self._write(root, files, parsed, data, compare, create_only=expected_sha256 is None)
        self._effects.wrote(root, parsed.rel)
        return sha256_of_text(content)

    def create(self, path: str | MemoryPath, content: str) -> None:
        """A new memory; an existing file or directory is never replaced."""
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
        """Read, `change`, write back; repeated when an agent wrote in between. Returns the new text."""
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
        """Delete a file, or a directory with all that is in it."""
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
        """Raises `_OvertakenStore`, and restores what it took, if it was written to after the snapshot."""
        entry = files.entry(parsed.rel)
        if entry is None:
            raise missing(parsed)
        below = self._files_below(files, parsed.rel, entry)
        for rel in below:
            each = MemoryPath(parsed.scope, tuple(rel.split("/")))
            refuse_untouchable(self.home, root, each, "deleted", as_a_whole=True)
        # Seen before the history looks: if it is the same afterwards, it is what the history has.
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
        """Move a file or directory inside its scope. Neither size nor file count is checked (mux.md section
        6)."""
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
        """Pin or unpin one path; whether a file is there is not checked (mux.md section 6)."""
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
        """The file, where it is write-protected (`files.atomic`)."""
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
        """A change that was made is no failure, also where the disk could not make it durable."""
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
        """The file, or all in the folder, and what tells that one was not written since."""
        if entry.kind == "file":
            return {rel: _stamp(entry)}
        return {
            found.rel: _stamp(found)
            for found in files.walk().entries
            if found.kind == "file" and found.rel.startswith(rel + "/")
        }


class _Stamp(Struct, frozen=True):
    """What tells that a file was not changed since."""

    inode: int
    size: int
    mtime_ns: int
    mode: int


class _OvertakenStore(Exception):
    """Somebody wrote in between."""


def _stamp(entry: DirectoryEntry) -> _Stamp:
    return _Stamp(entry.inode, entry.size, entry.mtime_ns, entry.mode)
