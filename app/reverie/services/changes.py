"""Several files changed by hand as one: a move between scopes, a merge, a restore, and the undo of each.

A change is a tuple of `FileChange`, carried out by the transaction of the runs (`runs.transaction`) with a
journal of its own, and undone like a run (`runs.revert.taken_back`). It is not a run: it has no lease, no
model, no record and no run id, and a person waits for it; `reverie runs` never lists it. The journal exists
while the change is made, so that a change that a killed process left unfinished can be rolled back
(`settle`); it is removed when the change ends. A value, `FilesChanged`, describes how to undo the change; the
earlier bytes are in the history.

Order: everything is checked and recorded in the history, then files are written, then files are deleted, so
that a moved file always exists somewhere; then pins and usage change. Each file is changed by
compare-and-swap. If a step fails or a file differs from what the caller saw, the steps already done are
rolled back; the error names files that another program changed meanwhile, which stay as they are. A file that
the history does not keep is never overwritten or deleted (`_refuse_not_kept`).

The store itself does what needs only one step: a save, the delete of a file or folder, a rename and a pin are
one system call each. A journal (four syncs of the disk) would make them slower and no safer.

Threading: blocking, any thread but the GUI's; changes of one home wait for each other. Failure: `UserError`;
`Conflict` names the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from reverie.agents.base import check_content
from reverie.agents.scopes import ScopeContext, ScopeRoot
from reverie.errors import Busy, Conflict, StoreError, Unavailable, UserError, user_error_from_os, warned
from reverie.files.atomic import is_write_protected, remove_mark
from reverie.files.directory import is_directory, own_is_there, real_path
from reverie.files.locks import file_lock, lock_beside
from reverie.memory.history.history import History
from reverie.memory.history.roots import FileVersion
from reverie.memory.paths import MemoryPath, memory_path, parse_memory_path
from reverie.memory.recording import why_not_kept
from reverie.memory.scope_files import FileChange, sha256_of_bytes
from reverie.memory.store import MemoryStore
from reverie.memory.store_refusals import refuse_untouchable
from reverie.memory.usage_rules import UNUSED, MemoryUsage, written
from reverie.memory.write_guard import ReadOnlyStore, write_locks
from reverie.runs.journal import FileIntent, Journal, UsageDelta, load_journal
from reverie.runs.revert import taken_back
from reverie.runs.transaction import Recovered, Transaction
from reverie.services.container import HomeContainer, rooted_files
from reverie.services.views import FilesChanged, HandChange, Undo
from reverie.text.summaries import some, was_left
from reverie.values import replace

_log = logging.getLogger("reverie.services")

ChangeKind = Literal["move", "merge", "restore"]

_SUBJECT_UNDONE = "Undone by hand"
# For more changes than this, the history does not determine the author of each (`memory.recording`).
_AT_ONCE = 400


def each_once(changes: Sequence[HandChange]) -> Sequence[HandChange]:
    """Return `changes` unchanged, after checking them.

    Raises `StoreError` if `changes` is empty, or if two of them are for the same file.
    """
    if not changes:
        raise StoreError("There is nothing to change.", next_step="Select a memory first.")
    if len({change.path for change in changes}) != len(changes):
        raise StoreError("The same file would be changed twice.", next_step="Use other names.")
    return changes


def lenient_path(path: str) -> MemoryPath:
    """Parse the path of an existing or former file or folder, whose name may break the agent's rules.

    A path that leads out of its root is still refused by the code that opens the file.
    """
    parsed = parse_memory_path("/".join(path.split("/")[:3]))
    if parsed.scope is None:
        return parsed
    return memory_path(parsed.scope, "/".join(part for part in path.split("/")[3:] if part))


@contextlib.contextmanager
def all_steps_or_none(done: Sequence[Undo], take_back: Callable[[Undo], object]) -> Iterator[None]:
    """Context manager: if the `with` block raises anything, undo the changes in `done`, newest first.

    The block appends to `done`. `take_back` undoes one change. If a change cannot be undone, the remaining
    changes are undone all the same, and a `UserError` of the block is replaced by a `Conflict` that also
    names this problem.
    """
    try:
        yield
    except BaseException as error:
        problems: list[UserError] = []
        for undo in reversed(done):
            try:
                take_back(undo)
            except UserError as problem:
                problems.append(problem)
        if problems and isinstance(error, UserError):
            stays = " ".join(f"{problem.title} {problem.cause}".strip() for problem in problems)
            raise _also(error, stays) from error
        raise


def joined(done: Sequence[Undo], sentence: str = "Undid {count} changes.") -> Undo:
    """Join the `Undo`s of several changes into one, because the person made them with one command.

    `sentence` is the message shown after the undo, in which `{count}` is the number of changes.
    """
    first, count = done[0], sum(undo.count for undo in done)
    if len(done) == 1:
        return first
    return Undo(
        first.context,
        first.path,
        tuple(step for undo in done for step in undo.steps),
        sentence.format(count=count),
        count,
        moved={old: new for undo in done for old, new in undo.moved.items()},
        removed=tuple(path for undo in done for path in undo.removed),
        warning=" ".join(dict.fromkeys(undo.warning for undo in done if undo.warning)),
    )


def settle(parts: HomeContainer) -> None:
    """Roll back a change by hand that a killed process left unfinished.

    If there is none, this costs one check of the disk. Raises `Unavailable` or `Busy` while a file cannot be
    restored, `ReadOnlyStore` while restoring is not permitted.
    """
    ChangeSet(parts).settle()


def _listed(paths: Sequence[str]) -> str:
    """Return the first three paths and the number of the others, as text for a sentence."""
    more = len(paths) - 3
    return ", ".join(paths[:3]) + (f" and {more} more" if more > 0 else "")


def _also(error: UserError, sentence: str) -> Conflict:
    """Return `error` as a `Conflict`, with `sentence` added to the cause that it names."""
    return Conflict(error.title, cause=f"{error.cause} {sentence}".strip(), next_step=error.next_step)


def _overtaken(path: str) -> Conflict:
    return Conflict(
        f"{path} was not changed:", cause="it changed meanwhile.", next_step="Read it again, then retry."
    )


class _HistoryContents:
    """The contents of the files of one change by hand, by their hash.

    While the change is made, all contents are in memory. A recovery or an undo, which has only the `journal`
    of the change, reads the earlier contents from the history.
    """

    def __init__(self, history: History, journal: Journal | None = None) -> None:
        self._history = history
        self._commit = "" if journal is None else journal.commit
        self._made: dict[str, bytes] = {}
        self._places: dict[str, FileIntent] = {}
        self._versions: dict[str, Mapping[str, FileVersion]] = {}
        for intent in () if journal is None else journal.intents:
            if intent.before is not None:
                self._places[intent.before] = intent

    def put(self, data: bytes | None) -> str | None:
        if data is None:
            return None
        name = hashlib.sha256(data).hexdigest()
        self._made[name] = data
        return name

    def get(self, name: str | None) -> bytes | None:
        if name is None or name in self._made:
            return None if name is None else self._made[name]
        intent = self._places.get(name)
        data = None if intent is None else self.kept(intent.key, intent.rel)
        if data is None or sha256_of_bytes(data) != name:
            what = "this version" if intent is None else intent.path
            raise StoreError(f"The history does not contain {what}.", next_step="Check its history.")
        return data

    def kept(self, key: str, rel: str) -> bytes | None:
        """Return the content of the file `rel` (in the root `key`) as it was recorded before the change.

        None if the commit that was made before the change does not have the file.
        """
        if key not in self._versions:
            self._versions[key] = self._history.files(self._commit, key)
        found = self._versions[key].get(rel)
        return None if found is None or found.omitted else self._history.blob(found.blob)


class ChangeSet:
    """Changes several files of one home as one change: all of them or none."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._directory = parts.profile.edits(parts.home_id)

    def apply(
        self,
        context: ScopeContext,
        changes: Sequence[HandChange],
        *,
        kind: ChangeKind,
        subject: str,
        pins: Mapping[str, bool] | None = None,
        moved: Mapping[str, str] | None = None,
        emptied: Sequence[str] = (),
    ) -> Undo:
        """Make all of the changes or none; return the `Undo`.

        `kind`: the kind of change, which decides about usage and limits. `subject`: the description in the
        history. `pins`: path -> whether it is pinned afterwards; None: no pin changes. `moved`: old path ->
        new path, whose pin and usage move along; None: nothing moved. `emptied`: folders to remove once they
        are empty.
        """
        store = self._parts.store(context, actor="user")
        planned = [self._plan(store, change, kind) for change in each_once(changes)]
        for root in dict.fromkeys(change.root for change in planned):
            self._parts.write_guard.require(root)  # before any lock is taken or folder made
        self._refuse_full_scopes(planned, kind)
        commit = self._keep(planned)
        usage = self._usage_change(store, planned, kind, pins or {}, moved or {})
        folders = [store.resolve(lenient_path(folder)) for folder in emptied]
        warnings: list[str] = []
        journal = self._carry_out(
            context,
            [change for change in planned if change.after != change.before],
            commit,
            warnings,
            usage=usage,
            emptied=[(root, path.rel) for path, root, _files in folders],
        )
        self._record(planned, subject, warnings)
        # A moved file is named by the place to which Undo brings it back.
        first = next((change.path for change in changes if change.after is not None), changes[0].path)
        shown = next(iter(moved), first) if moved else first
        count = len(moved) if moved else len(planned)
        is_one_move = kind == "move" and count == 1
        return Undo(
            context,
            shown,
            (FilesChanged(context, journal),),
            f"Moved back to {shown}."
            if is_one_move
            else f"Undid changes to {some(len(journal.intents), 'changed file')}.",
            count,
            moved=dict(moved or {}),
            removed=tuple(
                change.path for change in planned if change.after is None and change.path not in (moved or ())
            ),
            warning=" ".join(dict.fromkeys(warnings)),
        )

    def deleted(
        self, context: ScopeContext, root: ScopeRoot, rel: str, commit: str, usage: UsageDelta
    ) -> FilesChanged:
        """Return the data to undo a delete of the file or folder `rel` in `root`, which was already made.

        The files are restored from `commit`, which still has them; `usage` is the usage that they had.
        """
        history = self._parts.snapshots.history
        contents = _HistoryContents(history)
        transaction = self._transaction(context, contents, self._parts.usage.apply_delta)
        versions = {
            each: found
            for each, found in history.files(commit, root.key).items()
            if (each == rel or each.startswith(rel + "/")) and not found.omitted
        }
        before = history.blobs([found.blob for found in versions.values()])
        intents = tuple(
            transaction.intent(FileChange(root, each, data, None, found.mode))
            for (each, found), data in zip(versions.items(), before, strict=True)
        )
        return FilesChanged(
            context, Journal(intents, usage_before=usage, usage_after=dict.fromkeys(usage), commit=commit)
        )

    def take_back(self, step: FilesChanged, warnings: list[str]) -> None:
        """Undo the change `step`, for each file that is still as the change left it.

        If some files were changed since, the others are restored and a `Conflict` names the changed ones. Any
        other failure leaves all files as they are. `warnings` gets the problems that occur after the files
        are restored.
        """
        journal, parts = step.journal, self._parts
        contents = _HistoryContents(parts.snapshots.history, journal)
        transaction = self._transaction(step.context, contents, parts.usage.apply_delta)
        plan = taken_back(transaction, journal)
        for change in plan.changes:
            parts.write_guard.require(change.root)
            self._refuse_untouchable(change)
        # The usage of a file that is unchanged, or was restored before, stays.
        key_of = parts.home.usage_key
        back = {key_of(each.root, each.rel) for each in plan.changes}
        theirs = {key_of(transaction.root_of(each), each.rel) for each in journal.intents} - back
        before, after = (
            {key: value for key, value in side.items() if key not in theirs}
            for side in (journal.usage_before, journal.usage_after)
        )
        if plan.changes:
            # Even if that fails: the newest commit has the content, unless the history does not keep it.
            with contextlib.suppress(UserError):
                self._observe(plan.changes)
            self._carry_out(
                step.context,
                plan.changes,
                parts.snapshots.history.head() or "",
                warnings,
                usage=(after, before),
                removed=journal.made,
                even_without_usage=True,
            )
        else:
            parts.usage.apply_delta(after, before)
        if plan.changes or not journal.intents:
            self._record(plan.changes, _SUBJECT_UNDONE, warnings)
        if plan.conflicts:
            raise _not_taken_back(plan.conflicts)

    def settle(self) -> None:
        """Roll back a change that a killed process left unfinished; see the function `settle` of this module.

        If there is none, this costs one check of the disk. Does nothing while another process is making a
        change.
        """
        if own_is_there(self._directory / "journal.json"):
            with contextlib.ExitStack() as held:
                try:
                    held.enter_context(self._alone(timeout_s=1))
                except Busy:
                    return
                self._settle()

    # Checking

    def _plan(self, store: MemoryStore, change: HandChange, kind: ChangeKind) -> FileChange:
        """Check a change that a person made; return it as a `FileChange` with the file's present content.

        A merge must not exceed the size limit of the home; a restore may use a name that the agent would not
        accept. Raises `Conflict` if the present content is not the one that the change expects.
        """
        # Existing names may break the agent's rules; new ones may not, unless they existed before.
        known = change.expected_sha256 is not None or kind == "restore"
        path = lenient_path(change.path) if known else parse_memory_path(change.path)
        if not path.segments:
            raise StoreError(
                f"{path} is the folder of a whole scope, not a single memory.",
                next_step="Choose files inside the scope.",
            )
        path, root, files = store.resolve(path)
        entry = files.entry(path.rel)
        if entry is not None and entry.kind != "file":
            raise Conflict(
                f"{path} was not changed:",
                cause="A folder with this name already exists.",
                next_step="Choose another name.",
            )
        before = None if entry is None else files.read(path.rel)
        if sha256_of_bytes(before) != change.expected_sha256:
            what = "it was deleted" if entry is None else "it was created"
            what = "it changed" if entry is not None and change.expected_sha256 is not None else what
            raise Conflict(
                f"{path} was not changed:", cause=f"{what} meanwhile.", next_step="Read it again, then retry."
            )
        cap = store.home.caps.file_bytes
        if kind == "merge" and change.after is not None and len(change.after) > max(cap, len(before or b"")):
            raise StoreError(
                f"{path} would be too large: {len(change.after):,} bytes.",
                cause=f"The limit of this home is {cap:,} bytes per file.",
                next_step="Shorten the text, or move part of it to another memory.",
                reason="too-large",
            )
        planned = FileChange(root, path.rel, before, change.after, change.mode)
        if planned.after != planned.before:
            self._refuse_untouchable(planned)
        return planned

    def _refuse_full_scopes(self, planned: Iterable[FileChange], kind: ChangeKind) -> None:
        """Raise `StoreError` if new files would exceed the largest number of files of a scope.

        A restore may exceed it.
        """
        if kind == "restore":
            return
        more: dict[str, int] = {}
        at: dict[str, FileChange] = {}
        for one in planned:
            step = (one.after is not None) - (one.before is not None)
            more[one.root.key] = more.get(one.root.key, 0) + step
            at[one.root.key] = one
        cap = self._parts.home.caps.files_per_scope
        for key, count in more.items():
            if count <= 0:
                continue
            files = rooted_files(at[key].root)
            there = sum(entry.kind == "file" for entry in files.walk(files_limit=cap).entries)
            if there + count > cap:
                raise StoreError(
                    f"Nothing was changed, because the scope {at[key].root.scope} is full.",
                    cause=f"The scope would contain more than {cap:,} files, the limit of this home.",
                    next_step="Merge or delete memories in this scope first.",
                    reason="scope-full",
                )

    def _keep(self, planned: Sequence[FileChange]) -> str:
        """Record the present content of the files to change in the history; return the id of the commit.

        Raises `StoreError` if the history does not keep the content of one of them.
        """
        self._observe(planned)
        history = self._parts.snapshots.history
        commit = history.head() or ""
        contents = _HistoryContents(history, Journal((), commit=commit))
        for one in planned:
            if one.before is not None:
                kept = contents.kept(one.root.key, one.rel) if commit else None
                if kept is None:
                    raise StoreError(
                        f"{one.path} was not changed:",
                        cause=why_not_kept(one.root, one.rel, "it"),
                        next_step="If you are sure, change the file with another program.",
                        reason="not-kept",
                    )
                if kept != one.before:
                    raise _overtaken(one.path)
        return commit

    # Applying

    def _carry_out(
        self,
        context: ScopeContext,
        changes: Sequence[FileChange],
        commit: str,
        warnings: list[str],
        *,
        usage: tuple[UsageDelta, UsageDelta] = ({}, {}),
        emptied: Sequence[tuple[ScopeRoot, str]] = (),
        removed: Sequence[tuple[str, str]] = (),
        even_without_usage: bool = False,
    ) -> Journal:
        """Make all of the changes or none, even if this process is killed halfway.

        `commit`: the commit of the history with the present content of the files. `usage`: the entries with
        pins and use counts before and after the change; empty if it changes none. `emptied`: the folders
        (root, path) to remove if they are empty afterwards. `removed`: for an undo, the folders (directory of
        the root, path) that the undone change created; they are removed if they are empty afterwards.
        `warnings` gets the problems that do not prevent the change. `even_without_usage`: if pins and use
        counts cannot be updated, add a warning instead of failing.
        """
        contents, log = _HistoryContents(self._parts.snapshots.history), self._parts.usage
        followed: list[bool] = []

        def put_usage_back(before: UsageDelta, after: UsageDelta) -> None:
            """Change pins and use counts from `before` to `after`, if `follow` has changed any."""
            if followed:
                log.apply_delta(before, after)

        def follow() -> None:
            if not any(usage):
                return
            try:
                log.apply_delta(*usage)
                followed.append(True)
            except UserError as error:
                if not even_without_usage:
                    raise
                warnings.append(str(error))

        transaction = self._transaction(context, contents, put_usage_back, changes)
        protected = [
            change.path
            for change in changes
            if change.after is None
            and (entry := rooted_files(change.root).entry(change.rel)) is not None
            and is_write_protected(entry.mode)
        ]
        with self._alone(), self._locked(changes):
            self._settle()
            journal = transaction.prepare(
                changes,
                emptied=emptied,
                removed=removed,
                usage_before=usage[0],
                usage_after=usage[1],
                restores=True,  # a restored file may be hidden, and a person may use names that a run may not
                commit=commit,
                removes_protected=True,
            )
            try:
                transaction.apply(journal, commit=follow)
            except BaseException as error:
                self._put_back(transaction.undone, changes, error)
                raise
            self._forget()
        warnings += [f"{path} was deleted although it is write-protected." for path in protected]
        return journal

    def _put_back(
        self, undone: Recovered | None, changes: Sequence[FileChange], error: BaseException
    ) -> None:
        """Record in the history the files that were restored after the failure `error`; remove the journal.

        `undone`: the result of restoring the files; None if nothing had been changed. The journal stays if a
        file could not be restored yet. If files were left as they are, or could not be restored yet, a
        `UserError` is replaced by a `Conflict` that names them.
        """
        if undone is None or not undone.pending:
            self._forget()
        if undone is None:
            return
        self._record(changes, _SUBJECT_UNDONE, [])
        told = []
        if undone.left:
            told.append(f"{_listed(undone.left)} changed meanwhile, and {was_left(len(undone.left))}.")
        if undone.pending:
            told.append(f"{_listed(undone.pending)} could not be restored yet.")
        if told and isinstance(error, UserError):
            raise _also(error, " ".join(told)) from error

    def _settle(self) -> None:
        """Roll back a change that a killed process left unfinished; the caller holds the lock of `_alone`.

        If the change had finished, only its journal is removed.
        """
        try:
            journal = load_journal(self._directory)
            if journal is None:
                self._forget_mark()
                return
            contents = _HistoryContents(self._parts.snapshots.history, journal)
            transaction = self._transaction(None, contents, self._parts.usage.apply_delta)
            found = transaction.recover(journal, committed=lambda _journal: False)
        except (Unavailable, Busy):
            raise
        except ReadOnlyStore as error:
            if error.refusal.permissible:
                raise
            self._tell(f"Left as it is. {error}")
        except UserError as error:  # damaged: it will never be read
            self._tell(f"The earlier text could not be restored: {error}")
        else:
            if found.pending:
                raise Unavailable(
                    "A manual change was interrupted and could not be undone yet.",
                    cause=f"These files cannot be reached: {_listed(found.pending)}.",
                    next_step="Check that the home exists and its disk has free space, then try again.",
                    reason="recovery",
                )
            if not found.committed:
                left = f" Left, since they changed meanwhile: {_listed(found.left)}." if found.left else ""
                self._tell(f"{some(len(found.restored), 'file')} put back.{left}")
        self._forget()

    def _tell(self, what: str) -> None:
        text = f"A manual change was interrupted. {what}"
        self._parts.report("edit.interrupted", text, "warning")

    def _forget(self) -> None:
        """Remove the journal, durably, and then the mark file, which shows that all files were written.

        In this order, because a mark without a journal is never mistaken for an interrupted change.
        """
        try:
            remove_mark(self._directory / "journal.json")
            self._forget_mark()
        except UserError as error:
            # The next recovery finds that the change had finished, and removes its journal.
            _log.warning("the journal of a change by hand stays: %s", error)

    def _forget_mark(self) -> None:
        """Remove the mark file, which shows that all files of a change were written.

        The removal is not synced to disk: it is durable once the next journal is, because that sync covers
        the same directory.
        """
        try:
            (self._directory / "applied").unlink(missing_ok=True)
        except OSError as error:
            title = "The record of a manual change could not be removed."
            raise user_error_from_os(error, title) from error

    @contextlib.contextmanager
    def _alone(self, timeout_s: float = 10.0) -> Iterator[None]:
        """Context manager: hold the lock that allows one change or recovery at a time.

        `timeout_s`: the longest time in seconds to wait for it.
        """
        self._parts.profile.ensure(self._directory)
        with file_lock(self._parts.profile.locks, self._directory, timeout_s=timeout_s):
            yield

    @contextlib.contextmanager
    def _locked(self, changes: Sequence[FileChange]) -> Iterator[None]:
        """Context manager: hold the store's lock of each of these files (`DiskChangeListener.exclusive`).

        The locks are held for the whole change, because a rollback must also finish before the agent rewrites
        the store.
        """
        home, lock_dir = self._parts.home, self._parts.profile.locks
        roots = {os.path.normcase(real_path(each.root.directory)): each.root for each in changes}
        with contextlib.ExitStack() as held:
            held.enter_context(write_locks(home, roots.values(), lock_dir=lock_dir))
            for name in sorted(roots):
                held.enter_context(file_lock(lock_dir, roots[name].directory))
            for path in sorted(
                {
                    each.root.directory / each.rel
                    for each in changes
                    if home.file_rule(each.root, each.rel).deletable
                }
            ):
                if is_directory(path.parent):
                    held.enter_context(lock_beside(path))
            yield

    def _transaction(
        self,
        context: ScopeContext | None,
        contents: _HistoryContents,
        apply_usage: Callable[[UsageDelta, UsageDelta], None],
        changes: Sequence[FileChange] = (),
    ) -> Transaction:
        """Build the transaction that carries out a change by hand.

        `context`: the context of the change; None if it is unknown, as in a recovery. `contents`: the
        contents of the files, by hash. `apply_usage` changes usage entries from its first argument to its
        second. `changes`: the files of the change. Each is read again right after it was written, and
        `Conflict` is raised if another program has changed it meanwhile; so a moved file is removed from its
        old place only after this check.
        """
        parts = self._parts
        wanted = {(each.root.key, each.rel): each.after for each in changes}

        def attribute(root: ScopeRoot, rel: str, sha256: str | None) -> None:
            path = root.directory / rel
            parts.actors.record(path, sha256, actor="user", run_id=None, at_ms=parts.clock())
            parts.saves.writing(root, rel, contents.get(sha256), context)

        def swapped(root: ScopeRoot, rel: str) -> None:
            parts.saves.wrote(root.directory / rel)
            after = wanted[root.key, rel]
            if after is not None and rooted_files(root).read(rel) != after:
                path = memory_path(root.scope, rel)
                raise Conflict(
                    f"Another program just changed {path}.", next_step="Check the new text, then try again."
                )

        return Transaction(
            self._directory,
            parts.home.root,
            images=contents,
            files_of=rooted_files,
            apply_usage=apply_usage,
            attribute=attribute,
            require=parts.write_guard.require,
            check_content=partial(check_content, parts.home),
            locked=partial(write_locks, parts.home, lock_dir=parts.profile.locks),
            swapped=swapped,
            overtaken=_overtaken,
        )

    def _refuse_untouchable(self, change: FileChange) -> None:
        whole = change.after is None or change.before is None
        path = memory_path(change.root.scope, change.rel)
        refuse_untouchable(self._parts.home, change.root, path, "changed", as_a_whole=whole)

    def _observe(self, changes: Sequence[FileChange]) -> None:
        paths = [change.root.directory / change.rel for change in changes]
        for start in range(0, len(paths), _AT_ONCE):
            self._parts.snapshots.observe(source="before a change", dirty=paths[start : start + _AT_ONCE])

    def _usage_change(
        self,
        store: MemoryStore,
        planned: Sequence[FileChange],
        kind: ChangeKind,
        pins: Mapping[str, bool],
        moved: Mapping[str, str],
    ) -> tuple[UsageDelta, UsageDelta]:
        """Return the usage entries before and after the changes `planned`.

        A removed file loses its entry, a file written by a merge gets the time of the write, and the entry of
        a moved file (`moved`: old path -> new path) moves with it. A restored file gets no entry. `pins`:
        path -> whether it is pinned afterwards.
        """
        load, now = self._parts.usage.load(), self._parts.clock()
        before: dict[str, MemoryUsage | None] = {}
        after: dict[str, MemoryUsage | None] = {}

        def note(key: str | None, value: MemoryUsage | None) -> None:
            if key is not None:
                before.setdefault(key, load.get(key))
                after[key] = value

        def current(key: str | None) -> MemoryUsage:
            return (None if key is None else after.get(key, load.get(key))) or UNUSED

        for one in planned:
            key = self._parts.home.usage_key(one.root, one.rel)
            if one.after is None:
                note(key, None)
            elif kind == "merge" and one.after != one.before:
                note(key, written(current(key), now))
        for old, new in moved.items():
            key = self._key_at(store, old)
            if key is not None and key in load:
                note(self._key_at(store, new), load[key])
        for path, pinned in pins.items():
            key = self._key_at(store, path)
            note(key, replace(current(key), pinned=pinned))
        return before, after

    def _key_at(self, store: MemoryStore, path: str) -> str | None:
        found, root, _files = store.resolve(lenient_path(path))
        return self._parts.home.usage_key(root, found.rel)

    def _record(self, changes: Iterable[FileChange], subject: str, warnings: list[str]) -> None:
        """Record the changes in the history under `subject`.

        If that fails, `warnings` gets the reason, and the next snapshot includes the changes.
        """
        paths = [change.root.directory / change.rel for change in changes]
        with warned(warnings):
            self._parts.snapshots.record(actor="user", source="by hand", subject=subject, dirty=paths)


def _not_taken_back(intents: Sequence[FileIntent]) -> Conflict:
    paths = [intent.path for intent in intents]
    if all(intent.after is None for intent in intents):
        verb = "already exists again and was" if len(paths) == 1 else "already exist again and were"
        return Conflict(
            f"{_listed(paths)} {verb} left as {'it is' if len(paths) == 1 else 'they are'}.",
            next_step=f"Rename {'it' if len(paths) == 1 else 'them'} first, then undo again.",
        )
    return Conflict(
        "Not everything was undone:",
        cause=f"{_listed(paths)} changed again later, and {was_left(len(paths))}.",
        next_step="Undo the rest by hand.",
    )
