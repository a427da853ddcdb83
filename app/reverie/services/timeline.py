"""The history of one home, as a person browses it.

It shows the changes of a file, a folder or a scope, their authors, the difference between two points in time,
the author of each line, and the changes that restoring a point would make.

Files are followed through renames and moves between scopes (`memory.history.reader`). Authors are taken from
the history, never guessed. Only the history and, for "now", the files are read; nothing is written. A restore
is planned here and carried out by `Workbench.apply_changes`: a plan has the hash of each file on disk, so
that a file that changes in between is reported and not overwritten.

Threading: blocks on disk; any thread but the GUI's. `check` is called between files and may raise to stop.
Failure: `UserError`.

The results are frozen values, safe to pass between threads. Times are UTC ms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot
from reverie.errors import StoreError, UserError
from reverie.memory.companion_places import companion_place, is_of_companions
from reverie.memory.diff import blame, is_binary, unified
from reverie.memory.history.reader import Cursor, HistoryPlace, LogEntry
from reverie.memory.history.repository import Commit, libgit2
from reverie.memory.listing import no_check
from reverie.memory.paths import ROOT, memory_path, parse_memory_path, utf16_key
from reverie.memory.scope_files import sha256_of_bytes
from reverie.runs.record import RunKind
from reverie.services.container import rooted_files, roots_of
from reverie.services.edits import kept_file
from reverie.services.views import HandChange
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.memory.history.history import History
    from reverie.services.container import HomeContainer


Who = Literal["you", "agent", "outside", "other"] | RunKind
WHO: tuple[Who, ...] = ("you", "agent", *get_args(RunKind), "outside", "other")
Verb = Literal["create", "change", "delete"]

NOW = ""
"""The value of `State.commit` that stands for the content on disk, which belongs to no commit."""


class TimelineTarget(Struct, frozen=True):
    """The file, folder or scope whose history is read."""

    context: ScopeContext
    scope: Scope
    path: str
    """The memory path; for a companion, the path on disk."""
    place: HistoryPlace
    """The place in the history; its `rel` is empty for a scope."""
    beside: bool = False
    """True for a companion, a file that the agent loads beside its memories."""


class State(Struct, frozen=True):
    """The content that a file or folder had at a commit."""

    commit: str | None
    """The id of the commit; `NOW` for the content on disk.

    None stands for the time before the first commit, when there was no content.
    """
    place: HistoryPlace
    """The file or folder."""


class LineAuthor(Struct, frozen=True):
    """The author of a line: the change that added the line."""

    change: str
    """The id of the change set, a run or a commit."""
    at_ms: int
    """The time of the change (UTC ms)."""
    who: Who
    actor: str
    """The author as the history names it; `who` is derived from this."""
    subject: str
    """The description of the commit."""


class BlameView(Struct, frozen=True):
    """The author of each line of one version of a file."""

    rows: tuple[tuple[str, int], ...] = ()
    """The lines, each with the index of its author in `authors`; -1 if it is not in the history yet."""
    authors: tuple[LineAuthor, ...] = ()


class RestoredFile(Struct, frozen=True):
    """One file that a restore writes or deletes."""

    path: str
    verb: Verb
    blob: str | None
    """The id of the content to restore; None to delete the file."""
    expected_sha256: str | None
    """The hash of the file on disk now; None if there is no file."""
    mode: int | None = None
    """The permission bits to restore; None to leave them."""
    pinned: bool = False
    """Whether the restore pins the file; if False, it changes no pin."""


class RestorePlan(Struct, frozen=True):
    """The changes that a restore would make."""

    target: TimelineTarget
    """The file, folder or scope to restore."""
    state: State
    """The state to restore."""
    path: str
    """The path to which the target is restored: its present one or, if it was deleted, its last one."""
    files: tuple[RestoredFile, ...] = ()
    """The files to restore."""
    newer: tuple[RestoredFile, ...] = ()
    """The files that exist now but not in the restored state.

    They are deleted only if a person wants that.
    """
    refused: tuple[tuple[str, str], ...] = ()
    """A pair (path, reason) for each file that cannot be restored."""
    same: int = 0
    """The number of files that need no change."""


def inner_of(place: HistoryPlace, rel: str) -> str:
    """Return the path of the file `rel` relative to the file or folder `place`; empty for `place` itself."""
    return rel[len(place.rel) :].lstrip("/")


def joined(rel: str, inner: str) -> str:
    """Join a path and a path below it; either may be empty."""
    return f"{rel}/{inner}" if rel and inner else rel or inner


def name_problem(path: str) -> str:
    """Return why no file can be written at the memory path `path`, as a sentence; empty if one can."""
    try:
        parse_memory_path(path)
    except UserError as error:
        return error.cause or error.title
    return ""


COMPARED_BYTES = 2 * 1024 * 1024
_WHO: Mapping[str, Who] = {"user": "you", **{who: who for who in WHO}}


class TimelineService:
    """The service that reads the history of the files and folders of one home, and plans restores."""

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._beside: dict[str, Path] = {}  # directory of the requested companions, by key

    # Reading

    def target(self, context: ScopeContext, path: str) -> TimelineTarget:
        """Return the `TimelineTarget` of a path, by which other methods identify a file, folder or scope.

        `path`: a memory, folder or scope, existing or deleted, or a companion of the context. Raises
        `ScopeUnavailable` if the context does not have the scope, `StoreError` if the path is not one of
        these.
        """
        if not path.startswith(f"{ROOT}/"):
            return self._companion(context, path)
        head, _, rel = path.removeprefix(ROOT).strip("/").partition("/")
        if head not in set(Scope):
            raise StoreError(f"{path} is not a scope.", next_step=f"Use one of: {', '.join(Scope)}.")
        scope = Scope(head)
        root = self._parts.home.scope_root(context, scope)
        return TimelineTarget(context, scope, path.rstrip("/"), HistoryPlace(root.key, rel))

    def _companion(self, context: ScopeContext, path: str) -> TimelineTarget:
        for companion in self._parts.home.companions(context):
            if str(companion.path) == path:
                place = companion_place(self._parts.home.root, kept_file(companion.path))
                self._beside[place.key] = place.directory
                return TimelineTarget(
                    context, companion.scope, path, HistoryPlace(place.key, place.rel), beside=True
                )
        raise StoreError(
            f"The agent does not load {path} in the selected workspace or project.",
            next_step="Select the file in the tree.",
        )

    def on_disk(self, place: HistoryPlace) -> State:
        """Return the `State` that stands for the present content of a place on disk; reads nothing."""
        return State(NOW, place)

    def path_of(self, state: State, inner: str) -> str:
        """Return the memory path of a file in a state.

        `inner`: the path of the file below the place of the state; empty for the place itself.
        """
        return self._path_of(state.place, inner)

    def files(self, state: State, *, check: Callable[[], None] = no_check) -> dict[str, str]:
        """Return the files of a state: the path below its place, and the id of the content.

        The path is "" if the place is itself a file. `check` is called repeatedly and may raise to stop.
        """
        if state.commit is None:
            return {}
        if state.commit == NOW:
            return {inner: blob for inner, blob, _sha256 in self._on_disk(state.place, check)}
        return {
            inner_of(state.place, rel): blob
            for rel, blob in self._history.leaves(state.commit, state.place).items()
        }

    def read(self, state: State, inner: str = "") -> bytes | None:
        """Return the content of a file in a state; None if it does not exist there.

        `state`: one version of a file or folder; `inner`: the path of the file below a folder, else empty.
        Raises `StoreError` (reason "omitted") if the file was too large for the history.
        """
        rel = joined(state.place.rel, inner)
        if state.commit is None or not rel:
            return None
        if state.commit != NOW:
            return self._history.read(state.commit, state.place.key, rel)
        root = self._root(state.place.key)
        files = rooted_files(root) if root is not None else None
        entry = files.entry(rel) if files is not None else None
        return files.read(rel) if files is not None and entry is not None and entry.kind == "file" else None

    def difference(self, old: State, new: State) -> str:
        """Return a unified diff of two states of a file, or a sentence if there can be no diff.

        Empty if nothing differs.
        """
        try:
            before, after = self.read(old), self.read(new)
        except StoreError as error:
            return str(error)
        if max(len(before or b""), len(after or b"")) > COMPARED_BYTES:
            return "The texts are too large to compare line by line."
        return unified(before, after, self._path_of(new.place, ""))

    def blame(
        self, target: TimelineTarget, at: State | None = None, *, check: Callable[[], None] = no_check
    ) -> BlameView:
        """Return the author of each line of the file `target` in the state `at`, or now if `at` is None.

        Empty if the file is not text. `check` is called repeatedly and may raise to stop.
        """
        content = self.read(at or self.on_disk(target.place))
        if content is None or is_binary(content) or len(content) > COMPARED_BYTES:
            return BlameView()
        lines = blame(self._versions(target, at, content, check))
        entries = {line.version.commit.id: line.version for line in lines if line.version is not None}
        newest_first = sorted(entries.values(), key=lambda entry: -entry.commit.at_ms)
        places = {entry.commit.id: number for number, entry in enumerate(newest_first)}
        rows = tuple(
            (
                line.text.rstrip(b"\r\n").decode("utf-8", "replace"),
                places[line.version.commit.id] if line.version is not None else -1,
            )
            for line in lines
        )
        return BlameView(rows, tuple(self._author(entry.commit) for entry in newest_first))

    def _versions(
        self, target: TimelineTarget, at: State | None, content: bytes, check: Callable[[], None]
    ) -> Iterator[tuple[LogEntry | None, bytes | None]]:
        start = Cursor(at.commit, at.place) if at is not None and at.commit else None
        first = True
        while True:
            log = self._history.log(target.place, start)
            for entry in log.entries:
                check()
                kept = self._history.blob(entry.blob) if entry.blob else None
                if first and kept != content:
                    yield None, content
                first = False
                yield entry, kept
            if log.next is None:
                break
            start = log.next
        if first:
            yield None, content

    # Restoring

    def plan(
        self, target: TimelineTarget, state: State, *, check: Callable[[], None] = no_check
    ) -> RestorePlan:
        """Plan the changes that restore `state` of `target`.

        A file that was renamed since is restored under its present name, a deleted file at its former path.
        `check` is called repeatedly and may raise to stop. Raises `StoreError` if the state has no content or
        is the current one.
        """
        if state.commit in (None, NOW):
            raise StoreError("There is nothing to restore.", next_step="Choose another point.")
        commit = str(state.commit)
        place = self._destination(target, state)
        current: dict[str, str | None] = {}
        blobs: dict[str, str] = {}
        for inner, blob, sha256 in self._on_disk(place, check):
            current[inner], blobs[inner] = sha256, blob
        versions = self._history.files(commit, state.place.key)
        usage = self._history.metadata(commit, state.place.key)
        files: list[RestoredFile] = []
        refused: list[tuple[str, str]] = []
        wanted = self.files(state)
        same = 0
        for inner in sorted(wanted, key=utf16_key):
            check()
            rel, path = joined(state.place.rel, inner), self._path_of(place, inner)
            if blobs.get(inner) == wanted[inner]:
                same += 1
                continue
            why = (
                "It was too large for the history." if versions[rel].omitted else self._problem(target, path)
            )
            if why:
                refused.append((path, why))
                continue
            is_new = inner not in current
            files.append(
                RestoredFile(
                    path,
                    "create" if is_new else "change",
                    wanted[inner],
                    current.get(inner),
                    versions[rel].mode if is_new else None,
                    is_new and usage.get(rel, {}).get("pinned") is True,
                )
            )
        newer = tuple(
            RestoredFile(self._path_of(place, inner), "delete", None, current[inner])
            for inner in sorted(current, key=utf16_key)
            if inner not in wanted and not target.beside and not name_problem(self._path_of(place, inner))
        )
        path = self._path_of(place, "")
        return RestorePlan(target, state, path, tuple(files), newer, tuple(refused), same)

    def changes(
        self, plan: RestorePlan, *, remove_newer: bool = False
    ) -> tuple[Sequence[HandChange], dict[str, bool]]:
        """Return the changes of files that a plan consists of, and the pins that it restores (path -> True).

        `remove_newer`: also delete the files in `plan.newer`, which do not exist in the restored state.
        """
        made = [
            HandChange(file.path, self._bytes(file), file.expected_sha256, file.mode) for file in plan.files
        ]
        if remove_newer:
            made += [HandChange(file.path, None, file.expected_sha256) for file in plan.newer]
        return made, {file.path: True for file in plan.files if file.pinned}

    def _problem(self, target: TimelineTarget, path: str) -> str:
        """Return why nothing can be restored to the path `path`, as a sentence; empty if it can."""
        if not target.beside:
            return name_problem(path)
        beside = self._parts.home.companions(target.context)
        return next((each.read_only or each.unopened for each in beside if str(each.path) == target.path), "")

    def _bytes(self, file: RestoredFile) -> bytes:
        content = self._history.blob(file.blob or "")
        if content is None:
            raise StoreError(f"The history does not contain {file.path}.", next_step="Choose another point.")
        return content

    def _destination(self, target: TimelineTarget, state: State) -> HistoryPlace:
        if any(True for _ in self._on_disk(target.place, no_check)) or state.place == target.place:
            return target.place
        reachable = {root.key for root in roots_of(self._parts.home, target.context)}
        return state.place if state.place.key in reachable else target.place

    # Paths and contents

    @property
    def _history(self) -> History:
        return self._parts.snapshots.history

    def _root(self, key: str) -> ScopeRoot | None:
        beside = self._beside.get(key)
        if beside is not None:
            return ScopeRoot(Scope.GLOBAL, key, beside, None)
        return next((root for root in self._parts.home.roots() if root.key == key), None)

    def _on_disk(
        self, place: HistoryPlace, check: Callable[[], None]
    ) -> Iterator[tuple[str, str, str | None]]:
        """Yield the files on disk at a place and below it: the path below the place, git id and hash of each.

        The git id is that of the content, as in the history. `check` is called before each file and may raise
        to stop. Raises `UserError` if the folder cannot be read completely, because missing files would look
        deleted.
        """
        root = self._root(place.key)
        files = None if root is None else rooted_files(root)
        entry = None if files is None else files.entry(place.rel)
        if files is None or entry is None:
            return
        entries = [entry]
        if entry.kind != "file":
            prefix = f"{place.rel}/" if place.rel else ""
            walk = files.walk()
            if walk.problems:
                raise UserError(
                    "Not every file could be read.", cause=walk.problems[0], next_step="Try again."
                )
            entries = [each for each in walk.entries if each.kind == "file" and each.rel.startswith(prefix)]
        for each in entries:
            check()
            data = files.read(each.rel)
            yield inner_of(place, each.rel), str(libgit2().hash(data)), sha256_of_bytes(data)

    def _path_of(self, place: HistoryPlace, inner: str) -> str:
        """Return the memory path of a place in the history; for a companion, its path on disk.

        `inner`: the path of a file below the place; empty for the place itself.
        """
        if is_of_companions(place.key):
            return str(self._beside.get(place.key, Path()) / place.rel)
        scope = Scope(place.key.partition("/")[0])
        rel = joined(place.rel, inner)
        return str(memory_path(scope, rel)) if rel else f"{ROOT}/{scope.value}"

    # Authors

    def who(self, commit: Commit) -> Who:
        """Return the kind of author of a commit, such as `agent`; `other` if the history names none."""
        return _WHO.get(commit.actor) or _WHO.get(self._kind(commit.run_id)) or "other"

    def _author(self, commit: Commit) -> LineAuthor:
        change = commit.run_id if commit.run_id and self._kind(commit.run_id) else commit.id
        return LineAuthor(change, commit.at_ms, self.who(commit), commit.actor, commit.subject)

    def _kind(self, run_id: str | None) -> str:
        """Return the kind of the run with the id `run_id`; empty for None, or if its record is missing."""
        try:
            return self._parts.runs.load(run_id).kind if run_id is not None else ""
        except StoreError:
            return ""
