"""Stores that nobody works on any more: what they hold, whose they were, and merging them where work goes on.

Looking opens repositories only at project paths that the home itself names, read-only, at most
`MOST_REPOSITORIES` of them. Merging is previewed file by file; what is applied is exactly that (compare and
swap on both sides), as one change by hand that can be taken back. No line is lost: two notes that differ
become one with every line of both, or stand beside each other, and the lost store itself stays as it is until
a person removes it; that, too, can be taken back, since only what the history keeps is removed.

Threading: blocking, any thread but the GUI's. Failure: `MendableError`, nothing changed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reverie.errors import Conflict, MendableError, StoreError, Unavailable
from reverie.files.rooted import Entry, RootedDirectory
from reverie.files.there import is_directory
from reverie.homes.listing import LostStore, Project
from reverie.homes.scopes import Scope, ScopeContext, ScopeUnavailable
from reverie.memory.line_union import lost_lines, text_of, union
from reverie.memory.paths import memory_path, parse_memory_path, rel_problem
from reverie.memory.store import sha256_of_bytes
from reverie.services.hand_changes import HandChanges
from reverie.services.orphan_matching import LiveProject, best, matches
from reverie.services.orphan_views import (
    MergeChoice,
    MergePreview,
    MergeRow,
    OrphansView,
    StoreFile,
    StoreView,
)
from reverie.services.parts import HomeParts
from reverie.services.repository_identity import Identity, IdentityLog, read_identity
from reverie.services.texts import file_text
from reverie.services.views import FileText, HandChange, Undo

MOST_REPOSITORIES = 64
MOST_FILES = 5_000
MOST_BYTES = 64 << 20
_MOST_CHECKOUTS = 4
_SHOWN_AT_MOST = 8 * 1024 * 1024
_NOTE = ".md"


@dataclass(frozen=True, slots=True)
class _Target:
    """Where a merge goes."""

    context: ScopeContext
    scope: Scope
    files: RootedDirectory
    taken: Mapping[str, str]
    """Path -> `file` or `directory` of everything that stands there, and what this merge puts there."""


class OrphanDesk:
    """The lost stores of one home."""

    def __init__(self, parts: HomeParts) -> None:
        self._parts = parts

    def survey(self, check: Callable[[], None] = lambda: None) -> OrphansView:
        """Every lost store that holds something. `check` may raise to stop."""
        log = self._identities()
        known = log.load()
        stores = self._with_remembered_paths(self._parts.home.lost_stores(), known)
        projects = self._projects(known, check)
        log.remember({each.path: each.identity for each in projects if each.identity})
        views = []
        for number, store in enumerate(stores):
            check()
            files, more = self._files(store)
            if files:
                checkouts = store.checkouts[:_MOST_CHECKOUTS] if number < MOST_REPOSITORIES else ()
                found = matches(store, _former_identity(store, checkouts, known), projects)
                views.append(
                    StoreView(store, files, more, found, best(found), removable=store.context is not None)
                )
        return OrphansView(tuple(views), projects)

    def read(self, store: LostStore, rel: str) -> FileText:
        """One file of a lost store, for reading only."""
        files = RootedDirectory(store.directory)
        entry = files.entry(rel)
        if entry is None or entry.kind != "file":
            raise StoreError(f"{rel} is not there any more.", next_step="Look again.", reason="missing")
        data = files.read(rel, limit=_SHOWN_AT_MOST)
        text = file_text(rel, data, mtime_ns=entry.mtime_ns, cap=None)
        return replace(text, read_only=text.read_only or "It lies in an orphaned store and is only shown.")

    def preview(self, store: LostStore, project_path: str = "") -> MergePreview:
        """What merging `store` into a listed project would do; for notes of global memory no project."""
        target = self._target(store, project_path)
        taken = dict(target.taken)
        source = RootedDirectory(store.directory)
        files, more = self._files(store)
        if more or sum(file.size for file in files) > MOST_BYTES:
            raise StoreError(
                "This store is too large to be merged in one go.",
                cause=f"It holds more than {MOST_FILES:,} files, or more than {MOST_BYTES >> 20} MiB.",
                next_step="Move some of them away first.",
            )
        pins = self._pins(store)
        # Everything that has its place already, before a free one is looked for.
        rows = [self._row(source, target, file, taken, pins) for file in files]
        placed = tuple(_with_beside(rows, taken, target.scope))
        return MergePreview(store, target.scope, project_path, placed, problem=self._parts.usage.problem())

    def apply(self, preview: MergePreview, choices: Mapping[str, MergeChoice]) -> Undo:
        """Do what the preview shows; `choices` by `rel` for files that differ (else the first that there is).
        Raises `Conflict` when either side is not what was shown."""
        self._parts.write_guard.require()
        target = self._target(preview.store, preview.project_path)
        source = RootedDirectory(preview.store.directory)
        changes: list[HandChange] = []
        pins: dict[str, bool] = {}
        for row in preview.rows:
            change = _change(row, choices.get(row.rel) or (row.choices[0] if row.choices else "leave"))
            if change is None:
                continue
            if source.entry(row.rel) is None or source.read(row.rel) != row.lost:
                raise Conflict(
                    f"{row.rel} in the orphaned store changed meanwhile.",
                    next_step="Look at the preview again.",
                )
            changes.append(change)
            if row.pinned:
                pins[change.path] = True
        if not changes:
            raise StoreError("There is nothing to merge.", cause="Everything is there already.")
        subject = f"Merged an orphaned store by hand: {preview.store.label}"
        return HandChanges(self._parts).apply(
            target.context, changes, kind="merge", subject=subject, pins=pins
        )

    def remove(self, store: LostStore) -> Undo:
        """Remove the files of a lost store; the history keeps them. What is hidden in it stays."""
        if store.context is None:
            raise StoreError(
                f"{store.label} was not removed:",
                cause="It lies where the history keeps nothing, so it could not be brought back.",
                next_step="Delete it outside if you are sure.",
                reason="not-kept",
            )
        self._parts.write_guard.require()
        source = RootedDirectory(store.directory)
        entries = source.walk().entries
        changes = [
            HandChange(
                str(memory_path(store.scope, entry.rel)), None, sha256_of_bytes(source.read(entry.rel))
            )
            for entry in entries
            if entry.kind == "file"
        ]
        folders = [entry.rel for entry in entries if entry.kind == "directory"]
        undo = HandChanges(self._parts).apply(
            store.context,
            changes,
            kind="merge",
            subject=f"Removed an orphaned store by hand: {store.label}",
            emptied=[str(memory_path(store.scope, rel)) for rel in sorted(folders, key=len, reverse=True)],
        )
        if store.kind != "workspace":  # nobody watches its session, so that taking it back would not be seen
            with contextlib.suppress(OSError):  # something hidden is in it, and keeps it
                store.directory.rmdir()
        return undo

    # Looking

    def _identities(self) -> IdentityLog:
        path = self._parts.own_sidecars / "project-identities.json"
        return IdentityLog(path, lock_dir=self._parts.profile.locks, clock=self._parts.clock)

    def _with_remembered_paths(
        self, stores: Sequence[LostStore], known: Mapping[str, Identity]
    ) -> Iterator[LostStore]:
        """The home forgets a project that was taken off its list; what was seen of it before tells which it
        was."""
        home = self._parts.home
        remembered: dict[Path, str] = {}
        for path in known if any(not store.former_path for store in stores) else ():
            with contextlib.suppress(Unavailable):
                context = home.context(project_path=path, project_given=True)
                remembered[home.scope_root(context, Scope.PROJECT).directory] = path
        for store in stores:
            path = "" if store.former_path else remembered.get(store.directory, "")
            yield store._replace(former_path=path, name=Path(path).name) if path else store

    def _projects(self, known: Mapping[str, Identity], check: Callable[[], None]) -> tuple[LiveProject, ...]:
        projects = []
        listed = [project for project in self._parts.home.contents().projects if self._has_scope(project)]
        for number, project in enumerate(listed):
            check()
            there = Path(project.path).is_absolute() and is_directory(Path(project.path))
            identity = (
                read_identity(Path(project.path), known.get(project.path), check)
                if there and number < MOST_REPOSITORIES
                else None
            )
            projects.append(LiveProject(project.path, project.name, there, identity))
        return tuple(projects)

    def _has_scope(self, project: Project) -> bool:
        home = self._parts.home
        try:
            home.scope_root(home.context(project_path=project.path, project_given=True), Scope.PROJECT)
        except ScopeUnavailable:
            return False
        return True

    @staticmethod
    def _files(store: LostStore) -> tuple[tuple[StoreFile, ...], bool]:
        try:
            entries = RootedDirectory(store.directory).walk(files_limit=MOST_FILES + 1).entries
        except Unavailable:
            return (), False  # it went away: there is nothing to be rescued now
        files = [StoreFile(each.rel, each.size, each.mtime_ns) for each in entries if _belongs(store, each)]
        return tuple(files[:MOST_FILES]), len(files) > MOST_FILES

    # Merging

    def _target(self, store: LostStore, project_path: str) -> _Target:
        home = self._parts.home
        scope = Scope.GLOBAL if store.scope is Scope.GLOBAL else Scope.PROJECT
        context = home.context(project_path=project_path, project_given=True)
        root = home.scope_root(context, scope)
        if root.directory == store.directory:
            raise StoreError(
                "A store cannot be merged into itself.", next_step="Choose another project.", reason="same"
            )
        files = RootedDirectory(root.directory)
        return _Target(context, scope, files, {each.rel: each.kind for each in files.walk().entries})

    def _row(
        self,
        source: RootedDirectory,
        target: _Target,
        file: StoreFile,
        taken: dict[str, str],
        pins: frozenset[str],
    ) -> MergeRow:
        row = MergeRow(
            file.rel,
            str(memory_path(target.scope, file.rel)),
            "blocked",
            pinned=file.rel in pins,
        )
        problem = _name_problem(row)
        if problem is not None:
            return replace(row, blocked="name", why=problem)
        cap = self._parts.home.caps.file_bytes
        if file.size > cap:
            return replace(row, blocked="too-large")
        if (
            any(taken.get(above) == "file" for above in _above(file.rel))
            or taken.get(file.rel) == "directory"
        ):
            return replace(row, blocked="folder")
        try:
            lost = source.read(file.rel)
            live = target.files.read(file.rel) if file.rel in taken else None
        except MendableError as error:
            return replace(row, blocked="unreadable", why=str(error))
        if live is None:
            taken[file.rel] = "file"
            return replace(row, state="create", lost=lost)
        if live == lost:
            return replace(row, state="same", lost=lost, live=live)
        return _differing(replace(row, lost=lost, live=live), cap)

    def _pins(self, store: LostStore) -> frozenset[str]:
        """Which of its files were pinned, by the sidecar's records of its former project."""
        home, root = self._parts.home, store.root
        if root is not None and root.usage_prefix is None and store.former_path:
            former = home.context(project_path=store.former_path, project_given=True)
            with contextlib.suppress(Unavailable):
                root = home.scope_root(former, Scope.PROJECT)
        if root is None:
            return frozenset()
        pinned = {key for key, usage in self._parts.usage.load_for_showing().items() if usage.pinned}
        rels = (file.rel for file in self._files(store)[0])
        return frozenset(rel for rel in rels if home.usage_key(root, rel) in pinned)


def _belongs(store: LostStore, entry: Entry) -> bool:
    """Of a flat store, only the notes directly in it: what lies deeper is of the layout of today."""
    return entry.kind == "file" and not (store.flat and ("/" in entry.rel or not entry.rel.endswith(_NOTE)))


def _former_identity(
    store: LostStore, checkouts: Sequence[str], known: Mapping[str, Identity]
) -> Identity | None:
    """Of the repository it belonged to: where that still stands, and as it was last seen."""
    roots: set[str] = set()
    remotes: set[str] = set()
    for path in dict.fromkeys((*checkouts, store.former_path)):
        look = path in checkouts and Path(path).is_absolute()
        there = read_identity(Path(path), known.get(path)) if look else None
        for identity in (there, known.get(path)):
            if identity is not None:
                roots.update(identity.roots)
                remotes.update(identity.remotes)
    return Identity(tuple(sorted(roots)), tuple(sorted(remotes))) if roots or remotes else None


def _name_problem(row: MergeRow) -> str | None:
    """Why no memory can have this name."""
    problem = rel_problem(row.rel)
    if problem is None and str(parse_memory_path(row.path)) != row.path:
        problem = "spaces at its end are not allowed"
    if problem is None and not row.rel.isprintable() and row.rel != row.rel.encode(errors="ignore").decode():
        problem = "it is not valid UTF-8"
    return problem


def _differing(row: MergeRow, cap: int) -> MergeRow:
    live = row.live or b""
    merged = union(live, row.lost)
    if merged is not None and not lost_lines(live, row.lost) and text_of(live) is not None:
        return replace(row, state="contained")
    if merged is not None and (len(merged) > cap or lost_lines(merged, live, row.lost)):
        merged = None
    choices: tuple[MergeChoice, ...] = ("both", "beside", "leave") if merged else ("beside", "leave")
    return replace(row, state="differs", union=merged, choices=choices)


def _with_beside(rows: Sequence[MergeRow], taken: dict[str, str], scope: Scope) -> Iterator[MergeRow]:
    for row in rows:
        if row.state == "differs":
            rel = _free(row.rel, taken)
            taken[rel] = "file"
            row = replace(row, beside=str(memory_path(scope, rel)))
        yield row


def _free(rel: str, taken: Mapping[str, str]) -> str:
    folder, slash, name = rel.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    number = 2
    while (free := f"{folder}{slash}{stem}-{number}{dot}{ending}") in taken:
        number += 1
    return free


def _above(rel: str) -> Iterator[str]:
    parts = rel.split("/")
    return ("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _change(row: MergeRow, choice: MergeChoice) -> HandChange | None:
    if row.state == "create":
        return HandChange(row.path, row.lost, None)
    if row.state != "differs" or choice == "leave":
        return None
    if choice == "beside":
        return HandChange(row.beside, row.lost, None)
    assert row.union is not None, "only what can be made is offered"
    return HandChange(row.path, row.union, sha256_of_bytes(row.live))
