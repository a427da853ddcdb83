"""Searching the memories and companions of every open home.

One `SearchService` per engine or command. Homes are added as they are opened; what a watcher saw is noted and
brought into the index by the next update. The index lies
in the cache directory; nothing is written into a home, and being found is no use.

Snippets are made from the files as they are now, for the rows that are shown only; they stay on this machine
and show memory text as it is.

Threading: every method from any thread, one update at a time; searching and updating block. Failure:
`UserError`; a home that cannot be reached is left out of an answer and named in its `problems`.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.scopes import COMPANIONS, Scope, ScopeRoot
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.memory.attribution import OUTSIDE
from reverie.memory.catalogue import (
    SEARCHED_BYTES,
    CatalogueDamaged,
    FileCatalogue,
    UpdateObserver,
    UpdateStopped,
)
from reverie.memory.listing import is_gone, read_rel, scope_usage
from reverie.memory.paths import memory_path
from reverie.memory.search.index import Doc, SearchLimits, find, nearest
from reverie.memory.search.query import SearchQuery, Snippet, parse_query, regex_hits, snippet, term_hits
from reverie.services.contexts import shown_contexts

if TYPE_CHECKING:
    from reverie.services.container import HomeContainer


# What a search answers. Values; they hold memory text as it is and stay on this machine.


class SearchStopped(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A file that answers. `path` is its memory path, for a companion its path on disk. `workspace_id` and
    `project_path` name a context it is shown in; `reachable` False: none shows it (its owner is gone)."""

    home_id: str
    home: str
    home_label: str
    path: str
    scope: Scope
    score: float
    snippet: Snippet
    name_hits: tuple[tuple[int, int], ...] = ()
    root_key: str = ""
    companion: bool = False
    workspace_id: str | None = None
    project_path: str | None = None
    reachable: bool = True

    def as_json(self) -> dict[str, Any]:
        """As `reverie search --json` tells it."""
        return {
            "home": self.home,
            "path": self.path,
            "scope": self.scope.value,
            "score": self.score,
            "snippet": self.snippet.text,
            "hits": [list(hit) for hit in self.snippet.hits],
            "line": self.snippet.line,
            "workspaceId": self.workspace_id,
            "projectPath": self.project_path,
        }


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """`problems`: sentences on what was asked in vain, and on homes that could not be looked at. `complete`
    False: the index of some home is still being made, or the pattern was not tried on everything yet.
    `corrected`: nothing holds what was asked, and this was looked for instead."""

    query: str
    hits: tuple[SearchHit, ...]
    problems: tuple[str, ...] = ()
    complete: bool = True
    corrected: str = ""


# The places of indexed rows, and the context in which each is shown.


@dataclass(frozen=True, slots=True)
class IndexedPlace:
    """Where the rows of one root lie, and in which context they are shown."""

    directory: Path
    root: ScopeRoot | None
    workspace_id: str | None = None
    project_path: str | None = None
    reachable: bool = True


def places_of(parts: HomeContainer) -> dict[str, IndexedPlace]:
    """By the key of a root as the rows of the index have it, companions under `COMPANIONS`."""
    home, contents = parts.home, parts.home.contents()
    shown = dict(shown_contexts(parts, contents))
    places = {COMPANIONS: IndexedPlace(home.root, None)}
    for root in home.roots(contents):
        context = shown.get(root.key)
        if root.scope is Scope.GLOBAL:
            places[root.key] = IndexedPlace(root.directory, root)
        elif context is None:
            places[root.key] = IndexedPlace(root.directory, root, reachable=False)
        else:
            places[root.key] = IndexedPlace(root.directory, root, context.workspace_id, context.project_path)
    return places


def owner_of(parts: HomeContainer, path: Path) -> str | None:
    """The project whose companion this is."""
    home = parts.home
    for project in home.contents().projects:
        context = home.context(project_path=project.path, project_given=True)
        if any(companion.path == path for companion in home.companions(context)):
            return project.path
    return None


_log = logging.getLogger("reverie.search")
COUNT = 50
# So much of a file is read for its snippet, and more only where the words do not stand there.
_GLANCE = 64 * 1024
# How often a search for a pattern tells what it has so far.
_REPORT_S = 0.2


@dataclass
class _Shelf:
    """What is known of one open home."""

    parts: HomeContainer
    label: str
    stale: bool = True
    dirty: set[Path] = field(default_factory=set)
    trouble: str = ""
    places: Mapping[str, IndexedPlace] | None = None
    """Where its rows lie; None: to be read again."""
    place_changes: int = 0


class SearchService:
    """Answers over the homes that were added."""

    def __init__(self, feed: Feed | None = None) -> None:
        """`feed`: what is called in place of `feed_catalogue`."""
        self._feed = feed or feed_catalogue
        self._lock = threading.Lock()
        self._shelves: dict[str, _Shelf] = {}
        self._damaged = False

    def add(self, parts: HomeContainer) -> None:
        """A home is open from now on; the next update reads all of it."""
        with self._lock:
            self._shelves[parts.home_id] = _Shelf(parts, parts.home.label)

    def remove(self, home_id: str) -> None:
        """A home was closed; its index stays for the next time."""
        with self._lock:
            self._shelves.pop(home_id, None)

    def has(self, home_id: str) -> bool:
        """Whether a home was added."""
        return home_id in self._shelves

    def root_of(self, home_id: str) -> Path | None:
        """The directory of a home; None if it was not added."""
        shelf = self._shelves.get(home_id)
        return None if shelf is None else shelf.parts.home.root

    def note(self, home_id: str, changes: Changes) -> None:
        """A watcher saw something."""
        with self._lock:
            shelf = self._shelves.get(home_id)
            if shelf is None:
                return
            shelf.stale = shelf.stale or changes.rescan
            shelf.dirty |= changes.paths
            places = (shelf.places or {}).values()
            roots = {place.directory for place in places if place.root is not None}
            if changes.rescan or any(roots.isdisjoint(path.parents) for path in changes.paths):
                shelf.places = None
                shelf.place_changes += 1

    @property
    def waiting(self) -> bool:
        """Something is to be brought into the index."""
        with self._lock:
            return any(shelf.stale or shelf.dirty for shelf in self._shelves.values())

    def unread(self) -> set[str]:
        """The homes that the next update reads completely."""
        return {home_id for home_id, shelf in self._all() if shelf.stale}

    def outdated(self) -> list[str]:
        """The homes that an update has something to do for."""
        return [
            home_id
            for home_id, shelf in self._all()
            if shelf.stale or shelf.dirty or not self._is_complete(shelf, home_id)
        ]

    def update(self, *, stop: Callable[[], bool] = lambda: False) -> None:
        """Bring the index up to date with everything noted so far. Raises `SearchStopped`; what a home that
        cannot be reached says is told with the next answer."""
        for home_id in self.outdated():
            self.update_home(home_id, stop=stop)

    def update_home(
        self, home_id: str, *, stop: Callable[[], bool], report: Callable[[int], None] = lambda _count: None
    ) -> None:
        """As `update`, for one home; `report` hears how many files were read so far."""
        with self._lock:
            shelf = self._shelves.get(home_id)
            if shelf is None:
                return
            stale, dirty, damaged = shelf.stale, frozenset(shelf.dirty), self._damaged
            shelf.stale, shelf.dirty, self._damaged = False, set(), False
        try:
            if damaged:
                shelf.parts.catalogue.rebuild()
            self._feed(shelf.parts, None if stale else dirty, UpdateObserver(stop, report))
            shelf.trouble = ""
        except UpdateStopped:
            self._again(shelf, dirty, stale=True)
            raise SearchStopped from None
        except UserError as error:
            self._again(shelf, dirty, stale=True)
            shelf.trouble = str(error)

    def search(
        self,
        text: str,
        *,
        homes: Collection[str] | None = None,
        count: int = COUNT,
        stop: Callable[[], bool] = lambda: False,
        report: Callable[[SearchAnswer], None] = lambda _answer: None,
        correcting: bool = False,
    ) -> SearchAnswer:
        """What answers `text` now in these homes (None: in all), best first. Does not update; a damaged index
        is marked for the next update. A last word of one letter that nothing holds is taken for the beginning
        of one, and asks nothing yet. A pattern (`/…/`) is tried file by file: `report` hears what was found
        so far. `correcting`: where nothing answers, words that nothing holds are taken for slips of the keys.
        Raises `SearchStopped`."""
        query = parse_query(text)
        among = [each for each in self._all() if homes is None or each[0] in homes]
        answer = self._answer(text, query, among, count, stop, report)
        before = query.without_first_letter if not answer.hits and not answer.problems else None
        if before is not None:
            return self._answer(text, before, among, count, stop, report)
        if not correcting or answer.hits or answer.problems or not answer.complete or not among:
            return answer
        try:
            similar = nearest(among[0][1].parts.catalogue, query)
        except CatalogueDamaged:
            return answer  # the question itself has marked it
        if similar is None:
            return answer
        second = self._answer(text, similar, among, count, stop, report)
        said = " ".join(term.text for term in similar.terms)
        return replace(second, corrected=said) if second.hits else answer

    def _answer(
        self,
        text: str,
        query: SearchQuery,
        among: list[tuple[str, _Shelf]],
        count: int,
        stop: Callable[[], bool],
        report: Callable[[SearchAnswer], None],
    ) -> SearchAnswer:
        shelves = _wanted(among, query)
        problems = (*query.problems, *(shelf.trouble for _id, shelf in shelves if shelf.trouble))
        if query.is_empty or query.problems or not shelves:
            return SearchAnswer(text, (), problems)
        index = shelves[0][1].parts.catalogue
        try:
            docs, complete = find(index, query, self._limits(index, query, shelves, count))
        except CatalogueDamaged as damage:
            _log.info("the search index cannot be read: %s", damage)
            self._mark_damaged()
            return SearchAnswer(text, (), problems, complete=False)
        if query.regex:
            return self._tried(text, query, docs, problems, count, stop, report, complete=complete)
        hits: list[SearchHit] = []
        for doc in docs:
            if stop():
                raise SearchStopped
            hit = self._hit(doc, query)
            if hit is not None:
                hits.append(hit)
        return SearchAnswer(text, tuple(hits), problems, complete)

    # The index

    def _all(self) -> list[tuple[str, _Shelf]]:
        with self._lock:
            return list(self._shelves.items())

    def _again(self, shelf: _Shelf, dirty: Iterable[Path], *, stale: bool) -> None:
        with self._lock:
            shelf.stale = shelf.stale or stale
            shelf.dirty |= set(dirty)

    def _is_complete(self, shelf: _Shelf, home_id: str) -> bool:
        """Another process may have thrown the index away."""
        try:
            return bool(shelf.parts.catalogue.complete((home_id,)))
        except CatalogueDamaged:
            return False

    def _mark_damaged(self) -> None:
        """The next update makes the index anew; removing it waits for an update under way, which nobody who
        searches should."""
        with self._lock:
            self._damaged = True
            for shelf in self._shelves.values():
                shelf.stale = True

    # Which rows

    def _limits(
        self, index: FileCatalogue, query: SearchQuery, shelves: list[tuple[str, _Shelf]], count: int
    ) -> SearchLimits:
        only: set[int] | None = None
        without: set[int] = set()
        if query.pinned is not None:
            pinned = {id_ for shelf in shelves for id_ in self._pinned(index, *shelf)}
            only, without = (pinned, without) if query.pinned else (None, pinned)
        if query.by:
            ours = {id_: actor for shelf in shelves for id_, actor in self._written(index, *shelf).items()}
            if OUTSIDE.startswith(query.by):
                without = without | set(ours)
            else:
                own = {id_ for id_, actor in ours.items() if actor.startswith(query.by)}
                only = own if only is None else only & own
        return SearchLimits(
            tuple(home_id for home_id, _shelf in shelves), time.time_ns(), count, only=only, without=without
        )

    def _pinned(self, index: FileCatalogue, home_id: str, shelf: _Shelf) -> set[int]:
        home, found = shelf.parts.home, set[int]()
        usage = {key: use for key, use in shelf.parts.usage.load_for_showing().items() if use.pinned}
        for key, place in self._placed(shelf).items() if usage else ():
            root = place.root
            if root is None:
                continue
            use = scope_usage(root, usage, lambda rel, root=root: home.usage_key(root, rel))  # type: ignore[misc]
            rels = [rel for rel, each in use.by_rel.items() if each.pinned] if use is not None else []
            found |= {id_ for id_, _sha in index.ids(home_id, key, rels).values()}
        return found

    def _written(self, index: FileCatalogue, home_id: str, shelf: _Shelf) -> dict[int, str]:
        """Rows whose content is what one of us wrote last, and who."""
        newest = shelf.parts.actors.newest()
        found: dict[int, str] = {}
        for key, place in self._placed(shelf).items():
            base = os.fspath(place.directory) + os.sep
            writers = {
                path[len(base) :].replace(os.sep, "/"): who
                for path, who in newest.items()
                if path.startswith(base)
            }
            for rel, (id_, sha256) in index.ids(home_id, key, list(writers)).items():
                actor, written = writers[rel]
                if written == sha256 and actor != OUTSIDE:
                    found[id_] = actor
        return found

    # What is shown

    def _placed(self, shelf: _Shelf) -> Mapping[str, IndexedPlace]:
        """The places of a home's roots by key; read again after each change."""
        with self._lock:
            places, changes = shelf.places, shelf.place_changes
        if places is None:
            places = places_of(shelf.parts)
            with self._lock:
                if shelf.place_changes == changes:
                    shelf.places = places
        return places

    def _hit(self, doc: Doc, query: SearchQuery) -> SearchHit | None:
        """The row as it is shown; None if its file is no longer there."""
        read = self._read(doc, _GLANCE)
        if read is None:
            return None
        place, shelf, text, is_all = read
        cut = snippet(text, query)
        if not cut.hits and not is_all:
            more = self._read(doc, SEARCHED_BYTES)
            cut = snippet(more[2], query) if more is not None else cut
        return self._made(doc, place, shelf, cut, query)

    def _read(self, doc: Doc, size: int) -> tuple[IndexedPlace, _Shelf, str, bool] | None:
        """The file's text as it is shown, of at most so many bytes of it, and whether that is all; None if it
        is gone."""
        shelf = self._shelves.get(doc.home)
        if shelf is None:
            return None  # closed meanwhile
        try:
            place = self._placed(shelf).get(doc.root)
        except UserError:
            return None
        if place is None:
            return None
        try:
            if doc.root == COMPANIONS:
                folder, _, name = os.fspath(place.directory / doc.rel).rpartition(os.sep)
                status, data = read_rel(folder or os.sep, name, size)
            else:
                status, data = read_rel(os.fspath(place.directory), doc.rel, size)
        except OSError as error:
            # What cannot be read is found by its name.
            return None if is_gone(error) else (place, shelf, "", True)
        is_all = status.st_size <= len(data)
        rendered_text = None
        if place.root is not None and (is_all or size < SEARCHED_BYTES):
            # Half a record says nothing in words: one that is has to be read whole.
            rendered_text = shelf.parts.home.rendered(place.root, doc.rel, data)
            if rendered_text is not None and not is_all:
                return self._read(doc, SEARCHED_BYTES)
        text = data.decode("utf-8", "replace") if rendered_text is None else rendered_text
        return place, shelf, text, is_all

    def _made(
        self, doc: Doc, place: IndexedPlace, shelf: _Shelf, cut: Snippet, query: SearchQuery
    ) -> SearchHit:
        home = shelf.parts.home
        is_companion = doc.root == COMPANIONS
        path = os.fspath(place.directory / doc.rel) if is_companion else str(memory_path(doc.scope, doc.rel))
        hit = SearchHit(
            doc.home,
            str(home.root),
            shelf.label,
            path,
            doc.scope,
            doc.score,
            cut,
            _name_hits(path, query),
            doc.root,
            companion=is_companion,
            workspace_id=place.workspace_id,
            project_path=place.project_path,
            reachable=place.reachable,
        )
        if is_companion and doc.scope is Scope.PROJECT:
            return replace(hit, project_path=owner_of(shelf.parts, Path(path)))
        return hit

    # Patterns

    def _tried(
        self,
        asked: str,
        query: SearchQuery,
        docs: Iterable[Doc],
        problems: tuple[str, ...],
        count: int,
        stop: Callable[[], bool],
        report: Callable[[SearchAnswer], None],
        *,
        complete: bool,
    ) -> SearchAnswer:
        """A pattern tried on one file after the other, until enough is found."""
        pattern = re.compile(query.regex, re.IGNORECASE)
        hits: list[SearchHit] = []
        at = time.monotonic()
        for doc in docs:
            if stop():
                raise SearchStopped
            read = self._read(doc, SEARCHED_BYTES)
            if read is not None:
                place, shelf, text, _is_all = read
                if regex_hits(text, query.regex, most=1) or pattern.search(doc.rel):
                    hits.append(self._made(doc, place, shelf, snippet(text, query), query))
            if len(hits) >= count:
                break
            if time.monotonic() - at > _REPORT_S:
                at = time.monotonic()
                report(SearchAnswer(asked, tuple(hits), problems, complete=False))
        return SearchAnswer(asked, tuple(hits), problems, complete)


def _wanted(among: list[tuple[str, _Shelf]], query: SearchQuery) -> list[tuple[str, _Shelf]]:
    return [
        (home_id, shelf)
        for home_id, shelf in among
        if not query.homes
        or any(
            wanted in f"{home_id} {shelf.parts.home.root} {shelf.label}".casefold()
            or wanted == shelf.parts.home.kind
            for wanted in query.homes
        )
    ]


Feed = Callable[["HomeContainer", Collection[Path] | None, UpdateObserver], None]


def feed_catalogue(parts: HomeContainer, dirty: Collection[Path] | None, watcher: UpdateObserver) -> None:
    """Bring the rows of one home up to date: for changes at `dirty`, or all (None). Raises `UpdateStopped`,
    `UserError`."""
    parts.require_same_home()
    parts.catalogue.update(parts.home, parts.home_id, dirty=dirty, watcher=watcher)


def _name_hits(path: str, query: SearchQuery) -> tuple[tuple[int, int], ...]:
    if query.regex:
        return regex_hits(path, query.regex)
    return term_hits(path, query.terms)
