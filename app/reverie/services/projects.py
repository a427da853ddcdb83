"""The projects behind the stores of notes: one repository is one project, whatever agent, checkout or clone.

`HomeProjects` reads the projects and orphaned stores of one home and identifies their repositories, opened
read-only in a process of their own, at most `MOST_REPOSITORIES` of a home. What was seen is stored, so that a
moved or deleted repository is recognized later. `survey_projects` groups the stores of several homes by the
rules of `claims.same_project`; a person's answers are stored and never asked for twice. Nothing is merged
here, and nothing is written into a home.

Threading: blocking, any thread but the GUI's. Failure: `UserError`; an unreadable repository counts as none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.agents.base import Identity, LostStore, Project
from reverie.agents.scopes import Scope, ScopeUnavailable
from reverie.claims.apart import RepositoryIdentities
from reverie.claims.repository import checkout_root
from reverie.claims.same_project import Answer, ProjectPlace, Question, answer_key, group_places, new_slug
from reverie.clock import Clock
from reverie.errors import StoreError, Unavailable
from reverie.files.directory import is_directory, real_path
from reverie.files.rooted import DirectoryEntry, RootedDirectory
from reverie.files.sidecar import Sidecar
from reverie.memory.listing import no_check
from reverie.profile import Profile
from reverie.services.container import HomeContainer
from reverie.services.views import LiveProject, StoreFile
from reverie.values import Struct, replace

MOST_REPOSITORIES = 512
MOST_FILES = 5_000
_MOST_REMEMBERED = 2_000
_MOST_CHECKOUTS = 4
_NOTE = ".md"


class IdentityLog:
    """The file that stores which repository was last seen in each project of one home."""

    def __init__(self, path: Path, *, lock_dir: Path, clock: Clock) -> None:
        self._sidecar = Sidecar(path, lock_dir=lock_dir, clock=clock)
        self._clock = clock

    def load(self) -> dict[str, Identity]:
        """Return the repository that was last seen in each project, by the path of the project."""
        raw = self._sidecar.read().data.get("projects")
        found = raw.items() if isinstance(raw, dict) else ()
        return {path: identity for path, entry in found if (identity := _identity(entry))}

    def remember(self, seen: Mapping[str, Identity]) -> None:
        """Store the repositories in `seen` that are new or changed; write nothing if there are none."""
        known = self.load()
        fresh = {
            path: identity for path, identity in seen.items() if identity and known.get(path) != identity
        }
        if not fresh:
            return

        def change(data: dict[str, Any]) -> dict[str, Any]:
            raw = data.get("projects")
            entries: dict[str, Any] = raw if isinstance(raw, dict) else {}
            for path, identity in fresh.items():
                entries.pop(path, None)
                entries[path] = {
                    "roots": list(identity.roots),
                    "remotes": list(identity.remotes),
                    "origin": identity.origin,
                    "below": identity.below,
                    "common": identity.common,
                    "worktree": identity.worktree,
                    "seenAt": self._clock(),
                }
            for path in list(entries)[:-_MOST_REMEMBERED]:
                del entries[path]
            data["projects"] = entries
            return data

        self._sidecar.update(change)


def _identity(entry: object) -> Identity | None:
    if not isinstance(entry, dict):
        return None
    origin, below, common = (_text(entry.get(name)) for name in ("origin", "below", "common"))
    roots, remotes = (tuple(sorted(_texts(entry.get(name)))) for name in ("roots", "remotes"))
    return Identity(roots, remotes, origin, below, common, entry.get("worktree") is True)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


class HomeProjects:
    """The projects and orphaned stores of one home, with the repositories that they belong to."""

    def __init__(self, parts: HomeContainer, repositories: RepositoryIdentities) -> None:
        self._parts = parts
        self._repositories = repositories
        path = parts.own_sidecars / "project-identities.json"
        self.log = IdentityLog(path, lock_dir=parts.profile.locks, clock=parts.clock)
        """The repositories that Reverie saw earlier in the projects of the home."""

    def listed(self, known: Mapping[str, Identity], check: Callable[[], None]) -> tuple[LiveProject, ...]:
        """Return the projects that the home lists, with their repositories, and store these repositories.

        `known`: the repositories seen earlier, by project path (`log.load()`). `check` is called repeatedly
        and may raise to stop. A project that does not exist now, or whose repository does not respond, gets
        its repository from `known`.
        """
        projects = []
        listed = [project for project in self._parts.home.contents().projects if self._has_scope(project)]
        for number, project in enumerate(listed):
            check()
            path, before = Path(project.path), known.get(project.path)
            there = path.is_absolute() and is_directory(path)
            identity = None if there else before
            # The agent's own directory may be in a repository, which says nothing about a project.
            if there and number < MOST_REPOSITORIES and not path.is_relative_to(self._parts.home.root):
                identity = self._repositories.read(path, before, check)
                if identity is None and before is not None and checkout_root(path) is not None:
                    identity = before
            projects.append(LiveProject(project.path, project.name, there, identity))
        self.log.remember({each.path: each.identity for each in projects if each.there and each.identity})
        return tuple(projects)

    def lost(self, known: Mapping[str, Identity]) -> Iterator[LostStore]:
        """Yield the orphaned stores of the home: directories of notes that no listed project uses.

        `known`: the repositories seen earlier, by project path. If the home does not name the former project
        of a store, the former path is the one in `known` for which the agent would use the same directory.
        """
        home = self._parts.home
        stores = () if home.orphans is None else home.orphans.lost_stores()
        remembered: dict[Path, str] = {}
        for path in known if any(not store.former_path for store in stores) else ():
            with contextlib.suppress(Unavailable):
                context = home.context(project_path=path, project_given=True)
                remembered[home.scope_root(context, Scope.PROJECT).directory] = path
        for store in stores:
            path = "" if store.former_path else remembered.get(store.directory, "")
            yield replace(store, former_path=path, name=Path(path).name) if path else store

    def former_identity(
        self, store: LostStore, known: Mapping[str, Identity], check: Callable[[], None], *, look: bool = True
    ) -> Identity | None:
        """Return the identity of the repository that an orphaned store belonged to; None if it is unknown.

        It is combined from the repositories that are at the possible paths of the project now, and those that
        Reverie saw there earlier (`known`, by path). `look`: if False, no repository is opened. `check` is
        called repeatedly and may raise to stop.
        """
        checkouts = store.checkouts[:_MOST_CHECKOUTS] if look else ()
        found: list[Identity] = []
        for path in dict.fromkeys((*checkouts, store.former_path)):
            exists = path in checkouts and Path(path).is_absolute()
            there = self._repositories.read(Path(path), known.get(path), check) if exists else None
            found += [identity for identity in (there, known.get(path)) if identity]
        if not found:
            return None
        roots = sorted({root for one in found for root in one.roots})
        remotes = sorted({remote for one in found for remote in one.remotes})
        return replace(found[0], roots=tuple(roots), remotes=tuple(remotes))

    def _has_scope(self, project: Project) -> bool:
        home = self._parts.home
        try:
            home.scope_root(home.context(project_path=project.path, project_given=True), Scope.PROJECT)
        except ScopeUnavailable:
            return False
        return True


def store_files(directory: Path, *, flat: bool = False) -> tuple[tuple[StoreFile, ...], bool]:
    """Return the files of the store `directory`, at most `MOST_FILES`, and True if it has more.

    `flat`: True if only the notes at the top level belong to the store, because deeper files are of the
    agent's present layout. A missing directory has no files.
    """
    try:
        entries = RootedDirectory(directory).walk(files_limit=MOST_FILES + 1).entries
    except Unavailable:
        return (), False
    files = [StoreFile(each.rel, each.size, each.mtime_ns) for each in entries if _belongs(each, flat)]
    return tuple(files[:MOST_FILES]), len(files) > MOST_FILES


def _belongs(entry: DirectoryEntry, flat: bool) -> bool:
    return entry.kind == "file" and not (flat and ("/" in entry.rel or not entry.rel.endswith(_NOTE)))


class ProjectStore(Struct, frozen=True):
    """One store (directory of notes) of a project, in one home."""

    home: Path
    """The root directory of the home to which the store belongs."""
    agent: str
    """The kind of the home, which names its agent."""
    store: Path
    """The directory of the notes; it need not exist."""
    checkout: str
    """The directory of the project to which the store belongs; empty if unknown. It need not exist."""
    worktree: bool
    """Whether the checkout is a linked git worktree."""
    notes: int
    """The number of files in the store."""
    current: bool
    """Whether the checkout exists and the agent loads the notes of the store there today."""


class ProjectAsk(Struct, frozen=True):
    """A question to a person: whether a project is the same as another one."""

    other: str
    """The slug (short unique name) of the other project."""
    reason: str
    """The reason for the question: "fork", "rewritten" or "unsure" (`claims.same_project.Verdict`)."""
    checkouts: tuple[str, str]
    """A directory of this project, and one of the other project."""


class ProjectRow(Struct, frozen=True):
    """One project with its stores in all homes."""

    slug: str
    """A short unique name for commands, which the project keeps."""
    name: str
    roots: tuple[str, ...]
    """The ids of the first commits of its repositories, sorted."""
    remotes: tuple[str, ...]
    """The addresses of all remotes of its repositories, sorted."""
    below: str
    """The path of the project below the root of the repository; empty for the root itself."""
    stores: tuple[ProjectStore, ...]
    asks: tuple[ProjectAsk, ...]
    """The questions whether this project is the same as another one."""
    keys: Mapping[str, str]
    """The path of each directory -> the key under which the slug and a person's answers are stored."""


class _KnownProject(Struct, frozen=True):
    """A project in the `ProjectRegistry`, as an earlier survey stored it."""

    slug: str
    name: str
    keys: tuple[str, ...]
    """The keys (`ProjectRow.keys`) and paths of all directories in which the project was seen."""


class ProjectRegistry:
    """The file with the slugs (short unique names) and names of projects, and a person's answers about them.

    Each profile (directory of Reverie's own files) has one such file.
    """

    def __init__(self, profile: Profile, clock: Clock) -> None:
        self._sidecar = Sidecar(profile.data / "projects.json", lock_dir=profile.locks, clock=clock)

    def answers(self) -> dict[tuple[str, str], Answer]:
        """Return a person's answers whether two repositories are one project.

        The key is the sorted pair of the repositories' `answer_key`s.
        """
        found: dict[tuple[str, str], Answer] = {}
        for entry in _objects(self._sidecar.read().data.get("answers")):
            keys, answer = tuple(sorted(_texts(entry.get("between")))), entry.get("answer")
            if len(keys) == 2 and (answer == "same" or answer == "apart"):
                found[keys[0], keys[1]] = answer
        return found

    def names(self) -> dict[str, str]:
        """Return the names that a person gave to projects without a repository, by the project's path."""
        raw = self._sidecar.read().data.get("names")
        return {path: _text(name) for path, name in raw.items()} if isinstance(raw, dict) else {}

    def projects(self) -> list[_KnownProject]:
        """Return the projects that earlier surveys stored (`remember`), oldest first."""
        raw = self._sidecar.read().data.get("projects")
        return [
            _KnownProject(slug, _text(entry.get("name")), _texts(entry.get("keys")))
            for slug, entry in (raw.items() if isinstance(raw, dict) else ())
            if isinstance(entry, dict)
        ]

    def remember(self, rows: Iterable[ProjectRow]) -> None:
        """Store the slug, name and keys of each project in `rows` that is new or has changed."""
        known = {project.slug: project for project in self.projects()}
        fresh = [
            row
            for row in rows
            if row.slug not in known
            or not {*row.keys, *row.keys.values()} <= set(known[row.slug].keys)
            or row.name != known[row.slug].name
        ]
        if not fresh:
            return

        def change(data: dict[str, Any]) -> dict[str, Any]:
            raw = data.get("projects")
            entries: dict[str, Any] = raw if isinstance(raw, dict) else {}
            for row in fresh:
                old = entries.get(row.slug)
                keys = _texts(old.get("keys")) if isinstance(old, dict) else ()
                entries[row.slug] = {
                    "name": row.name,
                    "keys": list(dict.fromkeys((*keys, *row.keys.values(), *row.keys))),
                }
            data["projects"] = entries
            return data

        self._sidecar.update(change)

    def answer(self, pairs: Iterable[tuple[str, str]], answer: Answer) -> None:
        """Store a person's answer for each of these pairs of repositories; it replaces earlier answers.

        A repository is given by its `answer_key`.
        """
        wanted = {(min(pair), max(pair)) for pair in pairs}

        def change(data: dict[str, Any]) -> dict[str, Any]:
            kept = [
                entry
                for entry in _objects(data.get("answers"))
                if tuple(sorted(_texts(entry.get("between")))) not in wanted
            ]
            data["answers"] = kept + [{"between": list(pair), "answer": answer} for pair in sorted(wanted)]
            return data

        self._sidecar.update(change)

    def name(self, path: str, name: str) -> None:
        """Store the name that a person gives to the project without a repository at `path`."""

        def change(data: dict[str, Any]) -> dict[str, Any]:
            raw = data.get("names")
            data["names"] = {**(raw if isinstance(raw, dict) else {}), path: name}
            return data

        self._sidecar.update(change)


def _objects(value: object) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


class _FoundStore(Struct, frozen=True):
    """A store (directory of notes), and what assigns it to a project."""

    place: ProjectPlace
    """The directory of the project, with its repository."""
    store: ProjectStore
    name: str
    """A name for the project."""


def survey_projects(
    homes: Sequence[HomeContainer], registry: ProjectRegistry, check: Callable[[], None] = no_check
) -> tuple[ProjectRow, ...]:
    """Return the projects of these homes with all their stores; those with the most notes come first.

    A project without any notes is listed only while its directory exists. New slugs are stored in `registry`.
    `check` is called repeatedly and may raise to stop.
    """
    repositories = RepositoryIdentities()
    names = registry.names()
    found: list[_FoundStore] = []
    try:
        for parts in homes:
            found += _stores_of(parts, HomeProjects(parts, repositories), names, check)
    finally:
        repositories.end()
    places = list({each.place.path: each.place for each in found}.values())
    grouping = group_places(places, registry.answers())
    stores: dict[str, list[_FoundStore]] = {}
    for each in found:
        stores.setdefault(each.place.path, []).append(each)
    known = registry.projects()
    rows: list[ProjectRow] = []
    taken = {one.slug for one in known}
    for group, before in zip(grouping.groups, _listed_before(grouping.groups, known), strict=True):
        inside = [each for place in group for each in stores[place.path]]
        rows.append(_row(group, inside, before, taken))
        taken.add(rows[-1].slug)
    registry.remember(rows)
    rows = [replace(row, asks=tuple(_asks(at, grouping.questions, rows))) for at, row in enumerate(rows)]
    return tuple(sorted(rows, key=lambda row: (-sum(each.notes for each in row.stores), row.slug)))


def _stores_of(
    parts: HomeContainer, projects: HomeProjects, names: Mapping[str, str], check: Callable[[], None]
) -> Iterator[_FoundStore]:
    home, known = parts.home, projects.log.load()
    lost = [store for store in projects.lost(known) if store.scope is Scope.PROJECT]
    abandoned = {store.directory for store in lost}
    for project in projects.listed(known, check):
        context = home.context(project_path=project.path, project_given=True)
        directory = home.scope_root(context, Scope.PROJECT).directory
        if directory in abandoned:
            continue
        notes = len(store_files(directory)[0])
        if project.there or notes:
            yield _found(parts, directory, project.path, project.identity, notes, project.name, names)
    for number, store in enumerate(lost):
        check()
        notes = len(store_files(store.directory, flat=store.flat)[0])
        if notes:
            identity = projects.former_identity(store, known, check, look=number < MOST_REPOSITORIES)
            path = store.former_path or store.owner
            one = _found(parts, store.directory, path, identity, notes, store.name or store.label, names)
            yield replace(one, store=replace(one.store, current=False))


def _found(
    parts: HomeContainer,
    directory: Path,
    path: str,
    identity: Identity | None,
    notes: int,
    name: str,
    names: Mapping[str, str],
) -> _FoundStore:
    """Return a store of notes, and the project directory by which it is assigned to a project.

    `parts`: the home of the store; `directory`: the directory of the notes; `path`: the path of the project
    directory, empty if unknown. `identity`: the identity of its repository, None if it has none; `notes`: the
    number of notes; `name`: a name for the project; `names`: the names that a person gave to projects, by
    path.
    """
    place = real_path(path) if path else str(directory)
    worktree = identity is not None and identity.worktree
    current = bool(path) and is_directory(Path(path))
    store = ProjectStore(parts.home.root, parts.home.kind, directory, path, worktree, notes, current)
    return _FoundStore(ProjectPlace(place, identity, "" if identity else names.get(place, "")), store, name)


def _listed_before(
    groups: Sequence[Sequence[ProjectPlace]], known: Sequence[_KnownProject]
) -> list[_KnownProject | None]:
    """Return the project in `known` that each group of directories is; None for a new project.

    A project is recognized by its repository. If that fails, for example because it had no repository when it
    was stored, it is recognized by one of its directories. `known`: the projects in the registry.
    """
    found: list[_KnownProject | None] = [None] * len(groups)
    taken: set[str] = set()
    for keys in (_keys, lambda group: {place.path: place.path for place in group}):
        for at, group in enumerate(groups):
            texts = set(keys(group).values())
            for one in known:
                if found[at] is None and one.slug not in taken and not texts.isdisjoint(one.keys):
                    found[at] = one
                    taken.add(one.slug)
    return found


def _keys(group: Iterable[ProjectPlace]) -> dict[str, str]:
    return {place.path: answer_key(place.identity) if place.identity else place.path for place in group}


def _row(
    group: Sequence[ProjectPlace], found: Sequence[_FoundStore], before: _KnownProject | None, taken: set[str]
) -> ProjectRow:
    """Return the row of one project, with the places in `group` and the stores in `found`.

    `before`: the project in the registry, whose slug and name are kept; None for a new project. `taken`: the
    slugs of other projects.
    """
    identities = [place.identity for place in group if place.identity]
    given = next((place.name for place in group if place.name), "")
    main = next((each for each in found if not each.store.worktree), found[0])
    origin = next((one.origin.rpartition("/")[2] for one in identities if one.origin), "")
    below = identities[0].below if identities else ""
    own = f"{origin}/{below}".rstrip("/") if origin else main.name
    name = given or (before.name if before else "") or own
    return ProjectRow(
        before.slug if before else new_slug(name, identities, group[0].path, taken),
        name,
        tuple(sorted({root for one in identities for root in one.roots})),
        tuple(sorted({remote for one in identities for remote in one.remotes})),
        below,
        tuple(sorted((each.store for each in found), key=lambda one: (not one.current, -one.notes))),
        (),
        _keys(group),
    )


def _asks(at: int, questions: Iterable[Question], rows: Sequence[ProjectRow]) -> Iterator[ProjectAsk]:
    for question in questions:
        if at in question.groups:
            mine = question.groups.index(at)
            other = rows[question.groups[1 - mine]]
            places = question.places[mine], question.places[1 - mine]
            yield ProjectAsk(other.slug, question.reason, places)


def answer_projects(
    registry: ProjectRegistry, rows: Sequence[ProjectRow], one: str, other: str, answer: Answer
) -> None:
    """Store a person's answer whether two projects are one.

    `one` and `other` are slugs of `rows`, or paths of their checkouts. Raises `StoreError` if there is no
    such project, or if one has no repository.
    """
    first, second = _asked(rows, one), _asked(rows, other)
    for each in (first, second):
        if not each.roots and not each.remotes:
            raise StoreError(
                f"{each.name} is not in a Git repository.",
                cause="Reverie recognizes the checkouts of a project by their repository.",
                next_step="Give both projects the same name: reverie projects --name PATH NAME",
                reason="no-repository",
            )
    pairs = {(mine, theirs) for mine in first.keys.values() for theirs in second.keys.values()}
    if first.slug == second.slug:
        # A person takes an earlier answer back, so only these two directories count.
        pairs = {(first.keys.get(real_path(one), ""), first.keys.get(real_path(other), ""))}
        if answer == "same" or any(mine == theirs or not mine or not theirs for mine, theirs in pairs):
            raise StoreError(
                f"{one} and {other} are already the same project.",
                cause="They have the same repository.",
                next_step="Give the paths of two checkouts that belong to different repositories.",
                reason="same-project",
            )
    registry.answer(pairs, answer)


def _asked(rows: Sequence[ProjectRow], wanted: str) -> ProjectRow:
    path = real_path(wanted)
    for row in rows:
        if wanted == row.slug or path in row.keys:
            return row
    raise StoreError(
        f"There is no project {wanted}.",
        next_step="Use a project's short name (slug) or checkout path, as listed by `reverie projects`.",
        reason="missing",
    )
