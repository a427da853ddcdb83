"""The transaction of every run: a journal first, then one compare-and-swap per file; survives a crash.

A change by hand of several files uses it too (`services.changes`).

Order of effects (design.md principle 4): the images of all files before and after, then `journal.json`, all
durable; then each file by compare-and-swap; then usage; then `commit` (coverage); then the `applied` mark.
The commit point is the coverage sidecar, or the mark for a run without coverage:

- If the process dies before the commit point, `recover` restores every file that still has the run's content,
  and leaves and names those that another program changed since. All files have their old content, never a
  mix.
- If it dies later, all files are in place and only the record is finished.

A failure does not stop the roll-back of the other files. A file that is out of reach (disk full, home moved
away) is named as pending; the run stays open, and the next holder of the lease tries again.

Outside readers may see a mix while the transaction runs. The caller, recovery included, holds the home's
consolidation lease throughout and proves it with `check` before each effect. A lease can run out while its
process is suspended, so whoever changes or restores files also holds the run's fence (`runs.fence`) from
before the first check until after the `applied` mark. Recovery therefore never touches a run whose process is
only suspended, and a run that resumes without its lease restores its own files. The agent's own write lock,
if it has one, is held while files change.

Checkpoints, at which tests kill the process: `journal`, `temp`, `fsync`, `replace`, `usage`, `coverage`,
`applied`.

Failure: `Conflict` if a file is not as the run saw it; files that were already written are restored first
(`undone`).
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from reverie.agents.scopes import COMPANIONS, ScopeRoot
from reverie.errors import Busy, Conflict, StoreError, Unavailable, UserError
from reverie.files.atomic import checkpoint, make_mark, refuse_write_protected, remove_mark
from reverie.files.directory import SwappedError, own_is_there
from reverie.files.rooted import RootedDirectory, opened_below
from reverie.memory.paths import is_hidden, memory_path
from reverie.memory.scope_files import FileChange, ScopeFiles, in_order, sha256_of_bytes
from reverie.memory.write_guard import ReadOnlyStore
from reverie.runs.fence import fenced
from reverie.runs.journal import Contents, FileIntent, Journal, UsageDelta, load_journal, save_journal
from reverie.values import Struct

_log = logging.getLogger("reverie.runs")


def _anything(_root: ScopeRoot, _rel: str, _before: bytes | None, _after: bytes | None) -> None:
    """Accept any content; the default of `check_content`."""


class LeaseLost(Busy):
    """Raised when another process may hold the lease of the run.

    The run then restores the files that it changed, while it holds its fence (the lock of the run), and
    leaves its record to recovery.
    """

    reason = "lease-lost"


class Recovered(Struct, frozen=True):
    """The result of undoing a run, after a failure or a kill: which files were restored, and which not.

    Files are named by `FileIntent.path`.
    """

    committed: bool
    """Whether nothing was undone, because the run had reached its commit point."""
    restored: tuple[str, ...] = ()
    """The files that were restored."""
    left: tuple[str, ...] = ()
    """The files that were left, because another program has changed them since."""
    pending: tuple[str, ...] = ()
    """The files that cannot be reached now.

    The item "pins and use" means that pins and use counts could not be restored.
    """


class Transaction:
    """The changes of one run to files: prepares, applies, undoes and recovers them."""

    def __init__(
        self,
        run_directory: Path,
        home_root: Path,
        *,
        images: Contents,
        files_of: Callable[[ScopeRoot], ScopeFiles],
        apply_usage: Callable[[UsageDelta, UsageDelta], None],
        attribute: Callable[[ScopeRoot, str, str | None], None],
        keep: Callable[[Sequence[tuple[ScopeRoot, str, str]]], None] = lambda _versions: None,
        require: Callable[[ScopeRoot | None], None] = lambda _root: None,
        check_content: Callable[[ScopeRoot, str, bytes | None, bytes | None], None] = _anything,
        locked: Callable[[Sequence[ScopeRoot]], AbstractContextManager[None]] = lambda _roots: nullcontext(),
        swapped: Callable[[ScopeRoot, str], None] = lambda _root, _rel: None,
        overtaken: Callable[[str], Conflict] = lambda path: _changed_meanwhile(path),
    ) -> None:
        """Create the transaction of the run whose journal is in `run_directory`.

        A root is the directory of a scope in the home.

        - `images`: the store of file contents; `files_of`: returns access to the files of a root.
        - `apply_usage`: changes pins and usage (before, after), as `UsageLog.apply_delta` does.
        - `attribute`: is called before each file changes (root, path, hash of the new content, None to delete
          the file), to log the author.
        - `keep`: makes sure that the history holds these current versions (root, path, hash).
        - `require`: raises `ReadOnlyStore` if a root (None: the home's sidecars) must not be written.
        - `check_content`: raises if the agent would not accept a file (root, path, before, after).
        - `locked`: holds the agent's own locks of these roots, or raises `Busy`.
        - `swapped`: is called for each file that has got its new content; may raise.
        - `overtaken`: returns the error for a file (its path as people see it) whose content is not as the
          run saw it.
        """
        self._directory = run_directory
        self._home_root = home_root
        self._home_identity = _identity(home_root)
        self._files_of = files_of
        self._apply_usage = apply_usage
        self._attribute = attribute
        self._keep = keep
        self._require = require
        self._check_content = check_content
        self._locked = locked
        self._swapped = swapped
        self._overtaken = overtaken
        self.images = images
        self.undone: Recovered | None = None
        """The result of rolling back a failed `apply`; None if none failed."""

    def prepare(
        self,
        changes: Sequence[FileChange],
        *,
        emptied: Sequence[tuple[ScopeRoot, str]] = (),
        removed: Sequence[tuple[str, str]] = (),
        usage_before: UsageDelta | None = None,
        usage_after: UsageDelta | None = None,
        coverage: Mapping[str, Any] | None = None,
        for_review: bool = False,
        restores: bool = False,
        ops: Sequence[Mapping[str, Any]] = (),
        commit: str = "",
        removes_protected: bool = False,
    ) -> Journal:
        """Store the journal and the contents of the files before and after; return the journal.

        Nothing in the home changes.

        - `emptied`: directories (root, path) that the run deletes if they are empty.
        - `removed`: directories that an earlier run made (`Journal.made`), to be deleted if they are empty.
        - `usage_before`, `usage_after`: the pins and usage that the run changes; None: it changes none.
        - `coverage`: the agent's record of the consolidation; None if the run has none.
        - `for_review`: the journal is only shown and never applied (a dry run, or a run that waits for a
          review).
        - `ops`: the commands for the run's record; empty if they are in `coverage`.
        - `commit`: for a change by hand, the history's commit with the previous contents; empty if the run's
          images have them.
        - `restores`: allow hidden files to come back. A run may not create hidden files, because names such
          as `.git` or `.envrc` make other programs run commands.
        - `removes_protected`: allow the deletion of a write-protected file, because a person named it
          (`files.atomic`).

        Raises `StoreError` for a hidden or write-protected file.
        """
        hidden = None if restores else next(filter(_makes_hidden, changes), None)
        if hidden is not None:
            raise StoreError(
                f"{memory_path(hidden.root.scope, hidden.rel)} was not created.",
                cause="Its path contains a name that begins with a dot, which no run may create.",
                next_step="Choose another name.",
                reason="hidden",
            )
        for change in changes:
            mode = None if change.before is None else self._mode_now(change)
            if mode is not None and not (removes_protected and change.after is None):
                refuse_write_protected(str(memory_path(change.root.scope, change.rel)), mode, "changed")
        changes = in_order(changes)
        journal = Journal(
            intents=tuple(self.intent(change) for change in changes),
            emptied=(*((self._place_of(root), rel) for root, rel in emptied), *removed),
            made=self._missing_directories(changes),
            usage_before=dict(usage_before or {}),
            usage_after=dict(usage_after or {}),
            coverage=coverage,
            for_review=for_review,
            ops=tuple(ops),
            commit=commit,
        )
        save_journal(self._directory, journal)
        checkpoint("journal")
        return journal

    def intent(self, change: FileChange) -> FileIntent:
        """Store the contents of a change; return the change in the form that the journal contains."""
        return FileIntent(
            key=change.root.key,
            scope=change.root.scope,
            directory=self._place_of(change.root),
            usage_prefix=change.root.usage_prefix,
            rel=change.rel,
            before=self.images.put(change.before),
            after=self.images.put(change.after),
            mode=change.mode if change.mode is not None else self._mode_now(change),
        )

    def load(self) -> Journal | None:
        """Return the run's journal; None if the run wrote none and therefore changed nothing."""
        return load_journal(self._directory)

    def apply(
        self,
        journal: Journal,
        *,
        commit: Callable[[], None],
        check: Callable[[], None] = lambda: None,
        confirm: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the changes of `journal` in the home, all of them or none.

        `commit` saves the coverage record (the agent's record of the consolidation), or raises without having
        changed anything. `confirm` is for a run without a coverage record: it is called once all files are in
        place, and may raise if the run must not count. `check` is called before each change.

        If an error occurs before the coverage record is saved, or at any time in a run without one, all files
        are restored before the error is raised, and `undone` has the result of that. After `LeaseLost`, which
        `check` raises, files are restored too, but `undone` stays None, because recovery will finish the
        record.
        """
        self.require_writable(journal)
        for each in journal.intents:
            before, after = self.images.get(each.before), self.images.get(each.after)
            self._check_content(self.root_of(each), each.rel, before, after)
        with self.fenced(), self._locked(self._roots(journal.intents)):
            self._apply(journal, commit=commit, check=check, confirm=confirm)

    def _apply(
        self,
        journal: Journal,
        *,
        commit: Callable[[], None],
        check: Callable[[], None],
        confirm: Callable[[], None],
    ) -> None:
        # A run may have thought for minutes, and no snapshot has seen the changes made meanwhile.
        self._keep([(self.root_of(each), each.rel, each.before) for each in journal.intents if each.before])
        committed = False
        touched: list[FileIntent] = []
        try:
            for intent in journal.intents:
                check()
                with _noted(intent, touched):
                    self._swap(intent, expected=intent.before, wanted=intent.after)
                self._swapped(self.root_of(intent), intent.rel)
            self._remove_empty(journal.emptied)
            check()
            self._apply_usage(journal.usage_before, journal.usage_after)
            checkpoint("usage")
            check()
            commit()
            committed = journal.coverage is not None
            checkpoint("coverage")
            self._mark_applied(is_commit_point=not committed)
            self._confirm(confirm)
        except LeaseLost:
            # Recovery waits for the fence, so nothing has been restored yet. It repeats whatever fails here.
            self.roll_back(journal, touched)
            raise
        except BaseException:
            if not committed:
                self.undone = Recovered(False, pending=tuple(intent.path for intent in journal.intents))
                self.undone = self.roll_back(journal, touched)
            raise
        checkpoint("applied")

    def _confirm(self, confirm: Callable[[], None]) -> None:
        """Call `confirm` (see `apply`); if it raises, remove the `applied` mark and raise the error again.

        The mark shows that all files of the run were written, so that recovery restores none of them. If
        `confirm` raises, `apply` restores the files. If the process is killed meanwhile, recovery restores
        the remaining files, because the mark is missing.
        """
        try:
            confirm()
        except BaseException:
            remove_mark(self._directory / "applied")
            raise

    def roll_back(self, journal: Journal, touched: Sequence[FileIntent] | None = None) -> Recovered:
        """Restore the run's files, newest first; return which were restored and which were not.

        A file that another program has changed since is left as it is. `touched`: the only files that the run
        may have changed; None, after a kill, for all files of the journal. In the latter case, a file that
        the run was going to delete is restored even if another program deleted it, which does less harm than
        losing it.
        """
        intents = journal.intents if touched is None else touched
        try:
            with self.fenced(), self._locked(self._roots(intents)):
                return self._roll_back(journal, intents)
        except Busy:
            return Recovered(False, pending=tuple(intent.path for intent in intents))

    def _roll_back(self, journal: Journal, intents: Sequence[FileIntent]) -> Recovered:
        restored: list[str] = []
        left: list[str] = []
        pending: list[str] = []
        for intent in reversed(intents):
            try:
                if self._put_back(intent):
                    restored.append(intent.path)
            except (Unavailable, Busy):
                pending.append(intent.path)
            except UserError:
                left.append(intent.path)
        try:
            self._require_home()
            self._apply_usage(journal.usage_after, journal.usage_before)
        except UserError:
            pending.append("pins and use")
        for directory, rel in journal.made:
            with contextlib.suppress(UserError):  # the directory is not empty
                RootedDirectory(self._home_root / directory).remove_bare_folder(rel)
        return Recovered(False, tuple(restored), tuple(left), tuple(pending))

    def recover(self, journal: Journal | None, *, committed: Callable[[Journal], bool]) -> Recovered:
        """Finish or undo the work of a killed process; return which files were restored.

        `journal`: the journal of the run; None if it wrote none, so that there is nothing to do. `committed`
        returns whether the agent's record of the consolidation has been saved. Raises `Busy` while the agent
        rewrites one of the stores (directories of notes).
        """
        if journal is None or journal.for_review:
            return Recovered(False)
        with self.fenced():
            return self._recover(journal, committed)

    def _recover(self, journal: Journal, committed: Callable[[Journal], bool]) -> Recovered:
        if own_is_there(self._directory / "applied") or (journal.coverage is not None and committed(journal)):
            return Recovered(True)
        self.require_writable(journal)
        with self._locked(self._roots(journal.intents)):  # raises `Busy` while the agent works
            return self.roll_back(journal)

    def fenced(self) -> AbstractContextManager[None]:
        """Context manager: hold the fence (a lock) of the run; see `runs.fence`. Raises `Busy`."""
        return fenced(self._directory)

    def require_writable(self, journal: Journal) -> None:
        """Raise `ReadOnlyStore` if a directory of notes that `journal` changes must not be written."""
        for root in dict.fromkeys(self.root_of(intent) for intent in journal.intents):
            self._require_root(root)
        if journal.usage_before or journal.usage_after:
            self._require(None)

    def _require_root(self, root: ScopeRoot) -> None:
        self._require(None if root.key == COMPANIONS else root)

    def _roots(self, intents: Sequence[FileIntent]) -> list[ScopeRoot]:
        return list({intent.directory: self.root_of(intent) for intent in intents}.values())

    def root_of(self, intent: FileIntent) -> ScopeRoot:
        """Return the root (directory of a scope) of the file of `intent`, at the home's present path."""
        return ScopeRoot(intent.scope, intent.key, self._home_root / intent.directory, intent.usage_prefix)

    def paths(self, journal: Journal) -> list[Path]:
        """Return the files on disk that a journal changes."""
        paths = (self._home_root / intent.directory / intent.rel for intent in journal.intents)
        return list(dict.fromkeys(paths))

    def current(self, intent: FileIntent) -> bytes | None:
        """Return the present content of the file of `intent`; None if it does not exist."""
        files = self._files_of(self.root_of(intent))
        entry = files.entry(intent.rel)
        return files.read(intent.rel) if entry is not None and entry.kind == "file" else None

    def is_folder(self, intent: FileIntent) -> bool:
        """Return whether a directory exists at the path of the file of `intent`."""
        entry = self._files_of(self.root_of(intent)).entry(intent.rel)
        return entry is not None and entry.kind != "file"

    def in_place_of(self, root: ScopeRoot, rel: str) -> Iterator[str]:
        """Yield the paths of the files that prevent the file `rel` of the root from being created.

        Such a file has the name of a directory above `rel`, or lies below a directory named `rel`, or is
        something other than a regular file at `rel` itself.
        """
        files = self._files_of(root)
        above = rel
        while above := above.rpartition("/")[0]:
            entry = files.entry(above)
            if entry is not None:
                if entry.kind != "directory":
                    yield above
                break
        entry = files.entry(rel)
        if entry is not None and entry.kind == "other":
            yield rel
        elif entry is not None and entry.kind == "directory":
            below = (each for each in files.walk().entries if each.kind == "file")
            yield from (each.rel for each in below if each.rel.startswith(f"{rel}/"))

    def _mode_now(self, change: FileChange) -> int | None:
        entry = self._files_of(change.root).entry(change.rel)
        return None if entry is None else entry.mode & 0o777

    def _hash_now(self, intent: FileIntent) -> str | None:
        return sha256_of_bytes(self.current(intent))

    def _place_of(self, root: ScopeRoot) -> str:
        """Return the directory of a root as a path relative to the home, because the home may move.

        A directory outside the home is returned as an absolute path.
        """
        if root.directory.is_relative_to(self._home_root):
            return root.directory.relative_to(self._home_root).as_posix()
        return root.directory.as_posix()

    def _require_home(self) -> None:
        """Raise `Unavailable` if the home no longer exists or was replaced.

        A moved home must not be recreated, and another home in its place must not be changed.
        """
        if self._home_identity is None or _identity(self._home_root) != self._home_identity:
            raise Unavailable(
                f"{self._home_root} became unavailable during a run.",
                next_step="Make the home available again. Reverie then finishes or undoes the run.",
            )

    def _swap(self, intent: FileIntent, *, expected: str | None, wanted: str | None) -> None:
        """Replace the file of `intent` if it has the expected content; otherwise raise `Conflict`.

        `expected`: the hash of its present content; `wanted`: the hash of its new content. None means that
        there is no file.
        """
        self._require_home()
        root = self.root_of(intent)
        files = self._files_of(root)
        if wanted is None:
            self._delete(root, files, intent, expected)
            return
        data = self.images.get(wanted) or b""

        def compare(current: bytes | None) -> None:
            if sha256_of_bytes(current) != expected:
                raise self._overtaken(intent.path)
            self._attribute(root, intent.rel, wanted)

        if expected is None:
            # A directory without files belongs to no one: the run emptied or made it, or its write was
            # interrupted.
            RootedDirectory(root.directory).remove_bare_folder(intent.rel)
        mode = intent.mode if expected is None else None
        files.write(intent.rel, data, create_only=expected is None, mode=mode, before_replace=compare)

    def _delete(self, root: ScopeRoot, files: ScopeFiles, intent: FileIntent, expected: str | None) -> None:
        """Delete one file; raise `Conflict` if the hash of its content is not `expected`.

        None for `expected` means that there is no file. The file is renamed first, then its content is
        checked, and only then it is removed, so that no change by another program is lost.
        """
        if self._hash_now(intent) != expected:
            raise self._overtaken(intent.path)
        aside = self._aside(intent)
        self._attribute(root, intent.rel, None)
        files.rename(intent.rel, aside)
        checkpoint("replace")
        if sha256_of_bytes(files.read(aside)) != expected:
            self._return_set_aside(intent)
            raise self._overtaken(intent.path)
        files.remove(aside)

    def _put_back(self, intent: FileIntent) -> bool:
        """Restore the file of `intent` to its content before the run; return whether anything changed."""
        self._require_home()
        self._require_in_use(intent)
        returned = self._return_set_aside(intent)
        current = self._hash_now(intent)
        if current == intent.before:
            return returned
        if current != intent.after:
            raise self._overtaken(intent.path)
        self._swap(intent, expected=intent.after, wanted=intent.before)
        return True

    def _require_in_use(self, intent: FileIntent) -> None:
        """Raise `ReadOnlyStore` if the agent no longer uses the store (directory of notes) with this file.

        Otherwise, restoring the file could recreate that directory. A store with an unknown layout is
        accepted, because the run itself may have written that layout.
        """
        try:
            self._require_root(self.root_of(intent))
        except ReadOnlyStore as error:
            if not error.refusal.permissible:
                raise

    def _aside(self, intent: FileIntent) -> str:
        """Return the hidden path to which the file of `intent` is renamed before it is deleted.

        It is in the same directory, and always the same for this run and file, so that it is found after a
        crash.
        """
        parent, _slash, _name = intent.rel.rpartition("/")
        digest = hashlib.sha256(
            f"{self._directory.name}/{intent.rel}".encode("utf-8", "surrogatepass")
        ).hexdigest()
        return f"{parent}/.{digest[:16]}.reverie-aside" if parent else f".{digest[:16]}.reverie-aside"

    def _return_set_aside(self, intent: FileIntent) -> bool:
        """Give the file of `intent` its name back if it was renamed for its deletion; return whether it was.

        If another file has the name by now, the content is stored among the run's images (contents of files)
        instead and the renamed file is removed, so that no hidden file stays in the home.
        """
        files = self._files_of(self.root_of(intent))
        aside = self._aside(intent)
        try:
            files.rename(aside, intent.rel)
        except Conflict:
            self.images.put(files.read(aside))
            files.remove(aside)
        except StoreError as error:
            if error.reason != "missing":
                raise
            return False
        return True

    def _missing_directories(self, changes: Sequence[FileChange]) -> tuple[tuple[str, str], ...]:
        """Return the directories that these changes will create, deepest first.

        Each is a pair: the directory above it that exists already (relative to the home if it is inside), and
        its path below that. They may include a directory with the name of a file that the changes delete.
        """
        found: dict[Path, tuple[str, str]] = {}
        freed = {each.root.directory / each.rel for each in changes if each.after is None}
        for change in changes:
            if change.after is None:
                continue
            missing = []
            for directory in (change.root.directory / change.rel).parents:
                if os.path.lexists(directory) and directory not in freed:
                    break
                missing.append(directory)
            else:
                continue
            inside = directory.is_relative_to(self._home_root)
            place = directory.relative_to(self._home_root) if inside else directory
            found |= {each: (place.as_posix(), each.relative_to(directory).as_posix()) for each in missing}
        return tuple(found[each] for each in sorted(found, key=lambda each: (-len(each.parts), each)))

    def _remove_empty(self, directories: Sequence[tuple[str, str]]) -> None:
        """Remove those of `directories` that are empty; errors are ignored.

        Each is a pair: an existing directory, relative to the home, and a path below it. A directory that
        still contains a hidden file of the agent is not empty and stays.
        """
        for directory, rel in directories:
            *above, name = rel.split("/")
            try:
                with opened_below(os.path.realpath(self._home_root / directory), above) as opened:
                    opened.remove_empty(name)
            except (OSError, SwappedError):
                continue

    def _mark_applied(self, *, is_commit_point: bool) -> None:
        """Create the `applied` mark: a file which shows recovery that all files of the run were written.

        `is_commit_point`: the mark decides whether the run counts as completed, so a failure is raised.
        Otherwise the coverage record decides this, and a failure is only logged.
        """
        try:
            make_mark(self._directory / "applied")
        except UserError as error:
            if is_commit_point:
                raise
            _log.warning("run %s was applied but not marked so: %s", self._directory.name, error)


def _makes_hidden(change: FileChange) -> bool:
    """Return whether the change creates a hidden file.

    False for companions, because the agent chooses their paths.
    """
    is_new = change.before is None and change.after is not None
    return is_new and change.root.key != COMPANIONS and is_hidden(change.rel)


@contextlib.contextmanager
def _noted(intent: FileIntent, touched: list[FileIntent]) -> Iterator[None]:
    """Context manager: add `intent` to `touched`; remove it again if the `with` block raises `Conflict`.

    A `Conflict` means that another program, not this run, has changed the file.
    """
    touched.append(intent)
    try:
        yield
    except Conflict:
        touched.pop()
        raise


def _changed_meanwhile(path: str) -> Conflict:
    return Conflict(f"{path} changed during the run.", next_step="Start the run again.")


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        status = directory.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
