"""Stores (directories of notes) that belong to another project's: their content, and merging them.

These are orphaned stores, whose project no longer exists, and stores of further checkouts of a repository.

A project is identified by the root commits and remotes of its repository, which are recorded while the
repository exists (`services.projects`). A merge is previewed file by file, and exactly the preview is
applied (compare-and-swap of each file, in the store and at its target), as one change that can be undone. No
line is lost: two different notes become one with every line of both, or stay two notes side by side; the
orphaned store is kept until the user removes it, which can be undone too.

Threading: blocking, any thread but the GUI's. Failure: `UserError`, nothing changed; an unreadable repository
counts as missing.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from reverie.agents.base import Identity, LostStore
from reverie.agents.scopes import Caps, Scope, ScopeContext, ScopeRoot
from reverie.claims.apart import RepositoryIdentities
from reverie.claims.same_project import ProjectPlace, group_places
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.files.rooted import RootedDirectory
from reverie.memory.listing import no_check
from reverie.memory.moves import free_path
from reverie.memory.note_merge import merge_note
from reverie.memory.paths import memory_path, parse_memory_path, rel_problem
from reverie.memory.scope_files import sha256_of_bytes
from reverie.memory.union import lost_lines, text_of, union
from reverie.services.changes import ChangeSet
from reverie.services.container import HomeContainer
from reverie.services.projects import (
    MOST_FILES,
    MOST_REPOSITORIES,
    HomeProjects,
    ProjectRegistry,
    store_files,
)
from reverie.services.views import (
    FileText,
    HandChange,
    LiveProject,
    MatchEvidence,
    MergeChoice,
    MergePreview,
    MergeRow,
    OrphansView,
    ProjectMatch,
    StoreFile,
    StoreView,
    Undo,
    file_text,
)
from reverie.values import replace

_NAME = re.compile(r"[^\w]+|_")
_SHOWN_HEX = 10


def matches(
    store: LostStore, identity: Identity | None, projects: Iterable[LiveProject]
) -> tuple[ProjectMatch, ...]:
    """Return the projects that an orphaned store may belong to, best first, each with the evidence.

    `identity`: the identity of the store's former repository; None if it is unknown. The order of evidence,
    strongest first: the home names the project as the owner, the same root commit, the same remote, the same
    name. A project whose directory does not exist counts only if the home itself names it as the owner. Pure.
    """
    if store.scope is Scope.GLOBAL:
        return ()
    found = [
        ProjectMatch(project.path, project.name, evidence)
        for project in projects
        if not (store.kind in ("missing-project", "other-checkout") and project.path == store.former_path)
        and (evidence := tuple(_evidence(store, identity, project)))
    ]
    return tuple(sorted(found, key=lambda match: (tuple(not has for has in match.rank), match.project_path)))


def best(found: Sequence[ProjectMatch]) -> ProjectMatch | None:
    """Return the best of these matches; None if there is none, or if the user must choose between equal ones.

    `found` has the best matches first. Pure.
    """
    if not found or (len(found) > 1 and found[0].rank == found[1].rank):
        return None
    return found[0]


def _evidence(store: LostStore, identity: Identity | None, project: LiveProject) -> Iterable[MatchEvidence]:
    if store.owner and store.owner == project.path:
        yield MatchEvidence("owner", store.former_source)
    if not project.there:
        return
    if identity is not None and project.identity is not None and identity.below == project.identity.below:
        for root in sorted(set(identity.roots) & set(project.identity.roots))[:1]:
            yield MatchEvidence("root", root[:_SHOWN_HEX])
        for remote in sorted(_folded_remotes(identity) & _folded_remotes(project.identity))[:1]:
            yield MatchEvidence("remote", remote)
    last = project.path.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if store.name and _folded(store.name) in (_folded(last), _folded(project.name)):
        yield MatchEvidence("name", last)


def _folded_remotes(identity: Identity) -> set[str]:
    return {remote.casefold() for remote in identity.remotes}


def _folded(name: str) -> str:
    """Return `name` without differences of case and punctuation, for comparison."""
    return _NAME.sub("-", name.casefold())


MOST_BYTES = 64 << 20
_SHOWN_AT_MOST = 8 * 1024 * 1024


class OrphanService:
    """The service that lists, merges and deletes the stores of one home whose project no longer exists.

    A store is the directory of a project's notes; without its project it is called an orphaned store.
    """

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        self._repositories = RepositoryIdentities()

    def survey(self, check: Callable[[], None] = no_check) -> OrphansView:
        """List the orphaned stores that contain something, and the stores of further checkouts.

        The latter belong to a repository of which another checkout has a store too, so that both can be
        merged. `check` is called repeatedly and may raise to stop.
        """
        try:
            return self._survey(check)
        finally:
            self._repositories.end()

    def _survey(self, check: Callable[[], None]) -> OrphansView:
        homes = HomeProjects(self._parts, self._repositories)
        known = homes.log.load()
        stores = tuple(homes.lost(known))
        projects = homes.listed(known, check)
        views = []
        for number, store in enumerate(stores):
            check()
            files, _more = store_files(store.directory, flat=store.flat)
            if files:
                former = homes.former_identity(store, known, check, look=number < MOST_REPOSITORIES)
                found = matches(store, former, projects)
                views.append(StoreView(store, files, found, best(found)))
        return OrphansView((*views, *self._other_checkouts(projects, check)), projects)

    def _other_checkouts(
        self, projects: Sequence[LiveProject], check: Callable[[], None]
    ) -> Iterator[StoreView]:
        """Yield the stores of further checkouts of a repository, besides the one with the most notes."""
        home = self._parts.home
        listed = {each.path: each for each in projects if each.there and each.identity is not None}
        places = [ProjectPlace(each.path, each.identity) for each in listed.values()]
        answers = ProjectRegistry(self._parts.profile, self._parts.clock).answers()
        for group in group_places(places, answers).groups:
            stores: dict[Path, LostStore] = {}
            for place in group if len(group) > 1 else ():
                context = home.context(project_path=place.path, project_given=True)
                root = home.scope_root(context, Scope.PROJECT)
                store = LostStore(
                    *("other-checkout", root.directory, place.path, Scope.PROJECT, root, context),
                    name=listed[place.path].name,
                    former_path=place.path,
                )
                stores.setdefault(root.directory, store)
            check()
            contents = {directory: store_files(directory)[0] for directory in stores}
            main = max(contents, key=lambda directory: len(contents[directory]), default=None)
            for directory, store in stores.items():
                files = contents[directory]
                if directory == main or not files:
                    continue
                found = matches(store, listed[store.former_path].identity, projects)
                target = main and stores[main].former_path
                first = next((match for match in found if match.project_path == target), None)
                yield StoreView(store, files, found, first)

    def read(self, store: LostStore, rel: str) -> FileText:
        """Read the file at the path `rel` in an orphaned store; the result is read-only."""
        files = RootedDirectory(store.directory)
        entry = files.entry(rel)
        if entry is None or entry.kind != "file":
            raise StoreError(f"{rel} no longer exists.", next_step="Refresh.", reason="missing")
        data = files.read(rel, limit=_SHOWN_AT_MOST)
        text = file_text(rel, data, mtime_ns=entry.mtime_ns, cap=None)
        return replace(text, read_only=text.read_only or "It is in an orphaned store, which is read-only.")

    def preview(self, store: LostStore, project_path: str = "") -> MergePreview:
        """Return a preview of merging `store` into a listed project; nothing is changed.

        `project_path` is empty for notes of global memory, which need no project. Raises `StoreError` if the
        store is too large.
        """
        _context, root = self._target(store, project_path)
        source = RootedDirectory(store.directory)
        files, more = store_files(store.directory, flat=store.flat)
        if more or sum(file.size for file in files) > MOST_BYTES:
            raise StoreError(
                "These memories are too large to merge in one step.",
                cause=f"They contain more than {MOST_FILES:,} files, or more than {MOST_BYTES >> 20} MiB.",
                next_step="Move some of the files elsewhere first.",
            )
        pins = self._pins(store)
        target = RootedDirectory(root.directory)
        taken: dict[str, str] = {each.rel: each.kind for each in target.walk().entries}
        rows = [self._row(source, target, root, file, taken, pins) for file in files]
        for at, row in enumerate(rows):  # a second path only now that all others are known
            if row.state == "differs":
                rel = free_path(row.rel, taken.__contains__, "-")
                taken[rel] = "file"
                rows[at] = replace(row, beside=str(memory_path(root.scope, rel)))
        return MergePreview(store, root.scope, project_path, tuple(rows), self._parts.usage.problem())

    def apply(self, preview: MergePreview, choices: Mapping[str, MergeChoice]) -> Undo:
        """Merge the store as `preview` shows; return the `Undo`.

        `choices`: the choices for files that differ, by the file's path in the store (`rel`); the default is
        the first choice that is possible.

        Raises `Conflict` if a file in the store or at its target differs from the preview.
        """
        self._parts.write_guard.require()
        context, _root = self._target(preview.store, preview.project_path)
        source = RootedDirectory(preview.store.directory)
        changes: list[HandChange] = []
        pins: dict[str, bool] = {}
        for row in preview.rows:
            change = _change(row, choices.get(row.rel) or (row.choices[0] if row.choices else "leave"))
            if change is None:
                continue
            if source.entry(row.rel) is None or source.read(row.rel) != row.lost:
                raise Conflict(
                    f"{row.rel} has changed since the preview.",
                    next_step="Check the preview again.",
                )
            changes.append(change)
            if row.pinned:
                pins[change.path] = True
        if not changes:
            raise StoreError(
                "There is nothing to merge.", cause="Each file is left where it is or already in the target."
            )
        subject = f"Merged an orphaned store by hand: {preview.store.label}"
        return ChangeSet(self._parts).apply(context, changes, kind="merge", subject=subject, pins=pins)

    def remove(self, store: LostStore) -> Undo:
        """Delete the files of an orphaned store; return the `Undo`.

        The history keeps their content for the undo. Hidden files in the store stay.
        """
        if store.kind == "other-checkout":
            raise StoreError(
                f"{store.label} was not removed:",
                cause="The agent still loads these memories in another checkout.",
                next_step="Delete the memories one by one, or remove that checkout first.",
                reason="in-use",
            )
        if store.context is None:
            raise StoreError(
                f"{store.label} was not removed:",
                cause="The history does not cover its location, so you would be unable to undo the removal.",
                next_step="If you are sure, delete it with another program.",
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
        undo = ChangeSet(self._parts).apply(
            store.context,
            changes,
            kind="merge",
            subject=f"Removed an orphaned store by hand: {store.label}",
            emptied=[str(memory_path(store.scope, rel)) for rel in sorted(folders, key=len, reverse=True)],
        )
        if store.kind != "workspace":  # the store of a workspace is not watched
            with contextlib.suppress(OSError):  # it still contains hidden files
                store.directory.rmdir()
        return undo

    # Merging

    def _target(self, store: LostStore, project_path: str) -> tuple[ScopeContext, ScopeRoot]:
        """Return the place into which a store is merged: the project or, for its notes, global memory."""
        scope = Scope.GLOBAL if store.scope is Scope.GLOBAL else Scope.PROJECT
        context = self._parts.home.context(project_path=project_path, project_given=True)
        root = self._parts.home.scope_root(context, scope)
        if root.directory == store.directory:
            raise StoreError(
                "These memories are already in this project.", next_step="Choose another one.", reason="same"
            )
        return context, root

    def _row(
        self,
        source: RootedDirectory,
        target: RootedDirectory,
        root: ScopeRoot,
        file: StoreFile,
        taken: dict[str, str],
        pins: frozenset[str],
    ) -> MergeRow:
        """Return the effect of a merge on one file.

        `taken`: the paths that exist in the target or that this merge adds, with `file` or `directory` for
        each; a new file is added.
        """
        home, rel = self._parts.home, file.rel
        row = MergeRow(rel, str(memory_path(root.scope, rel)), "blocked", pinned=rel in pins)
        problem = _name_problem(row)
        if problem is not None:
            return replace(row, blocked="name", why=problem)
        if file.size > home.caps.file_bytes:
            return replace(row, blocked="too-large")
        parts = rel.split("/")
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        if any(taken.get(folder) == "file" for folder in above) or taken.get(rel) == "directory":
            return replace(row, blocked="folder")
        try:
            row = replace(row, lost=source.read(rel), live=target.read(rel) if rel in taken else None)
        except UserError as error:
            return replace(row, blocked="unreadable", why=str(error))
        if row.live is None:
            taken[rel] = "file"
            return replace(row, state="create")
        if row.live == row.lost:
            return replace(row, state="same")
        return _differing(row, home.caps, is_index=home.file_role(root, rel) == "index")

    def _pins(self, store: LostStore) -> frozenset[str]:
        """Return the paths of the files of a store that were pinned, as recorded for its former project."""
        home, root = self._parts.home, store.root
        if root is not None and root.usage_prefix is None and store.former_path:
            former = home.context(project_path=store.former_path, project_given=True)
            with contextlib.suppress(Unavailable):
                root = home.scope_root(former, Scope.PROJECT)
        if root is None:
            return frozenset()
        pinned = {key for key, usage in self._parts.usage.load_for_showing().items() if usage.pinned}
        rels = (file.rel for file in store_files(store.directory, flat=store.flat)[0])
        return frozenset(rel for rel in rels if home.usage_key(root, rel) in pinned)


def _name_problem(row: MergeRow) -> str | None:
    """Return the reason why no memory can have the name of this file, as a sentence; None if one can."""
    problem = rel_problem(row.rel)
    if problem is None and str(parse_memory_path(row.path)) != row.path:
        problem = "spaces at the end of the name are not allowed"
    if problem is None and not row.rel.isprintable() and row.rel != row.rel.encode(errors="ignore").decode():
        problem = "it is not valid UTF-8"
    return problem


def _differing(row: MergeRow, caps: Caps, *, is_index: bool) -> MergeRow:
    """Return `row` with the state and choices of two different notes with one path.

    `is_index`: whether the note has one line for each memory.
    """
    live = row.live or b""
    if text_of(live) is not None and text_of(row.lost) is not None and not lost_lines(live, row.lost):
        return replace(row, state="contained")
    by_rules = merge_note(None, live, row.lost, rules=caps.front_matter, is_index=is_index)
    united = (None if by_rules.cards else by_rules.local, union(live, row.lost))
    fitting = (each for each in united if each and len(each) <= caps.file_bytes)
    merged = next((each for each in fitting if not lost_lines(each, live, row.lost)), None)
    choices: tuple[MergeChoice, ...] = ("both", "beside", "leave") if merged else ("beside", "leave")
    return replace(row, state="differs", union=merged, choices=choices)


def _change(row: MergeRow, choice: MergeChoice) -> HandChange | None:
    if row.state == "create":
        return HandChange(row.path, row.lost, None)
    if row.state != "differs" or choice == "leave":
        return None
    if choice == "beside":
        return HandChange(row.beside, row.lost, None)
    assert row.union is not None, "only what can be made is offered"
    return HandChange(row.path, row.union, sha256_of_bytes(row.live))
