"""Search in the memories and companions of every open home.

One `SearchService` per engine or command. Homes are added when they are opened; changes that a watcher saw
are collected and added to the index by the next update. The index is in the cache directory. Nothing is
written into a home, and a search hit does not count as a use of the memory.

Snippets are made from the current files, only for the rows that are shown. They contain memory text
unredacted and stay on this machine.

Threading: every method from any thread, one update at a time; searching and updating block. Failure:
`UserError`; a home that cannot be reached is left out of an answer and named in its `problems`.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.scopes import COMPANIONS, Scope, ScopeRoot
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.memory.catalogue import FileCatalogue, UpdateObserver, UpdateStopped, companion_rel
from reverie.memory.catalogue_file import CatalogueDamaged
from reverie.memory.catalogue_scan import SEARCHED_BYTES, read_companion
from reverie.memory.listing import is_gone, read_rel, scope_usage
from reverie.memory.paths import memory_path
from reverie.memory.search.hits import regex_hits, term_hits
from reverie.memory.search.index import WHOLE, Doc, Loose, SearchLimits, find, find_loose
from reverie.memory.search.loose import Group, passage
from reverie.memory.search.query import SearchQuery, parse_query
from reverie.memory.search.snippets import Snippet, snippet, snippet_of
from reverie.memory.write_log import OUTSIDE
from reverie.services.container import shown_contexts
from reverie.services.views import COUNT, SearchAnswer, SearchHit, SearchPlace
from reverie.text.summaries import readable_text
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from reverie.services.container import HomeContainer


class SearchStopped(Exception):
    """Raised to stop a search or an update because the answer is no longer wanted."""


class IndexedPlace(Struct, frozen=True):
    """A memory root of a home, or all companions of the home, as the search index knows it.

    Companions are files that the agent loads beside its memories. `workspace_id` and `project_path` name a
    context that shows the root; both are None for the global scope and for companions.
    """

    directory: Path
    """The directory to which paths in the index are relative."""
    root: ScopeRoot | None
    """The memory root; None for the companions."""
    workspace_id: str | None = None
    project_path: str | None = None
    reachable: bool = True
    """Whether a context shows the root."""


def places_of(parts: HomeContainer) -> dict[str, IndexedPlace]:
    """Return an `IndexedPlace` for each memory root of a home, and one for its companions.

    The keys are the roots' keys (`ScopeRoot.key`), which the rows of the index contain too. The key of the
    companions is `COMPANIONS`.
    """
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
    """Return the path of the project that the companion at `path` belongs to; None if there is none."""
    home = parts.home
    for project in home.contents().projects:
        context = home.context(project_path=project.path, project_given=True)
        if any(companion.path == path for companion in home.companions(context)):
            return project.path
    return None


_log = logging.getLogger("reverie.search")
_NO_WORDS = SearchQuery()
# The number of bytes read for a snippet; more are read only if these do not contain the words.
_GLANCE = 64 * 1024
# The same for a search in which the best passage of every file is needed.
_LOOSE_GLANCE = 24 * 1024
# If fewer notes than FEW have all words, up to _LOOSE notes with some of the words are returned too.
FEW = 5
_LOOSE = 20
# The least share of the query's words, by weight, that a hit must have (second: in the current place).
_LEAST_SHARE, _LEAST_SHARE_HERE = 0.25, 0.1
# The weight of words that are close together in one passage, against words anywhere in the note.
_TOGETHER = 0.7
# The bonus of a note in the current place, which most searches are about.
_HERE = 3.0
# The share of the query with which a note of that place comes before other notes with all words.
_BEFORE_OTHERS = 0.5
# The weight of words in a note's name, against those in its text.
_NAME = 3.0
# The interval in seconds at which a search for a pattern reports its hits so far.
_REPORT_S = 0.2


class _Shelf(Struct, dict=True):
    """An open home that can be searched, and the state of its index."""

    parts: HomeContainer
    label: str
    """The name of the home."""
    stale: bool = True
    """Whether all files of the home must be read."""
    dirty: set[Path] = field(default_factory=set)
    """The changed paths that the next update reads."""
    trouble: str = ""
    """The reason why the last update failed; empty if it did not."""
    places: Mapping[str, IndexedPlace] | None = None
    """The result of `places_of` for the home; None if it must be called again."""
    place_changes: int = 0
    """How often `places` was set to None; a result of `places_of` is outdated if this grew meanwhile."""


class SearchService:
    """The search for notes in the homes that were added to it."""

    def __init__(self, feed: Feed | None = None) -> None:
        """Create a service without homes.

        `feed`: the function that updates the rows of a home; None: `feed_catalogue`.
        """
        self._feed = feed or feed_catalogue
        self._lock = threading.Lock()
        self._shelves: dict[str, _Shelf] = {}
        self._damaged = False

    def add(self, parts: HomeContainer) -> None:
        """Add a home that was opened; the next update reads all of its files."""
        with self._lock:
            self._shelves[parts.home_id] = _Shelf(parts, parts.home.label)

    def remove(self, home_id: str) -> None:
        """Remove a home that was closed; its index is kept for the next time."""
        with self._lock:
            self._shelves.pop(home_id, None)

    def has(self, parts: HomeContainer) -> bool:
        """Return True if this home was added and has not been reopened since."""
        shelf = self._shelves.get(parts.home_id)
        return shelf is not None and shelf.parts is parts

    def root_of(self, home_id: str) -> Path | None:
        """Return the directory of a home; None if it was not added."""
        shelf = self._shelves.get(home_id)
        return None if shelf is None else shelf.parts.home.root

    def note(self, home_id: str, changes: Changes) -> None:
        """Record changes that a watcher saw, for the next update."""
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
        """Whether changes are waiting to be added to the index."""
        with self._lock:
            return any(shelf.stale or shelf.dirty for shelf in self._shelves.values())

    def unread(self) -> set[str]:
        """Return the ids of the homes that the next update reads completely."""
        return {home_id for home_id, shelf in self._all() if shelf.stale}

    def outdated(self) -> list[str]:
        """Return the ids of the homes whose index an update would change."""
        return [
            home_id
            for home_id, shelf in self._all()
            if shelf.stale or shelf.dirty or not self._is_complete(shelf, home_id)
        ]

    def overtaken(self) -> list[str]:
        """Return the ids of homes whose index is incomplete because another process rebuilt it.

        These homes must be read completely again.
        """
        return [
            home_id
            for home_id, shelf in self._all()
            if not (shelf.stale or shelf.dirty or shelf.trouble or self._is_complete(shelf, home_id))
        ]

    def update(self, *, stop: Callable[[], bool] = lambda: False) -> None:
        """Update the index of all homes with the changes collected so far.

        `stop` returns True to stop the update; then `SearchStopped` is raised. The errors of homes that
        cannot be reached are reported with the next answer.
        """
        for home_id in self.outdated():
            self.update_home(home_id, stop=stop)

    def update_home(
        self, home_id: str, *, stop: Callable[[], bool], report: Callable[[int], None] = lambda _count: None
    ) -> None:
        """Update the index for one home; `report` is called with the number of files read so far.

        `stop` returns True to stop the update; then `SearchStopped` is raised.
        """
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
            self._again(shelf, dirty)
            raise SearchStopped from None
        except UserError as error:
            self._again(shelf, dirty)
            shelf.trouble = str(error)

    def search(
        self,
        text: str,
        *,
        homes: Collection[str] | None = None,
        count: int = COUNT,
        place: SearchPlace | None = None,
        stop: Callable[[], bool] = lambda: False,
        report: Callable[[SearchAnswer], None] = lambda _answer: None,
    ) -> SearchAnswer:
        """Find notes that match `text` in the homes with the ids `homes` (None: in all), best first.

        At most `count` notes are returned. Notes with all words come first, and among equally good ones the
        notes of `place` (None: no place comes first); if there are few, notes with only some of the words
        follow. If the last word has one letter and no note contains it as a word, it counts as an unfinished
        word and is ignored. A pattern (`/…/`) is tried on one file after another; `report` is called with the
        hits so far. The index is not updated; if it is damaged, the next update rebuilds it. `stop` returns
        True to stop the search; then `SearchStopped` is raised.
        """
        query = parse_query(text)
        among = [each for each in self._all() if homes is None or each[0] in homes]
        ask = partial(self._answer, text, among=among, place=place, count=count, stop=stop, report=report)
        before = query.without_first_letter
        # The search for any of the words comes last: it takes ten times as long.
        answer = ask(query, loosely=before is None)
        if before is None or answer.problems or len(answer.hits) >= FEW:
            return answer
        return ask(query if any(hit.matched == "all" for hit in answer.hits) else before)

    def _answer(
        self,
        text: str,
        query: SearchQuery,
        *,
        among: list[tuple[str, _Shelf]],
        place: SearchPlace | None,
        count: int,
        stop: Callable[[], bool],
        report: Callable[[SearchAnswer], None],
        loosely: bool = True,
    ) -> SearchAnswer:
        shelves = [each for each in among if _is_wanted(each[0], each[1], query)]
        problems = (*query.problems, *(shelf.trouble for _id, shelf in shelves if shelf.trouble))
        if query.is_empty or query.problems or not shelves:
            return SearchAnswer(text, (), problems)
        index = shelves[0][1].parts.catalogue
        try:
            limits = self._limits(index, query, shelves, place, count)
            docs, complete = find(index, query, limits)
            ours = [doc for doc in docs if (doc.home, doc.root) in limits.here] if limits.here else docs
            loose = Loose((), ())
            if loosely and not query.regex and len(docs) < min(FEW, count):
                loose = find_loose(index, query, replace(limits, count=_LOOSE))
            elif loosely and not query.regex and len(ours) < min(FEW, count) and len(query.terms) > 1:
                # Enough notes of other places do not prevent the search for more notes of this place.
                here = set(limits.here)
                roots = here if limits.roots is None else here & set(limits.roots)
                loose = find_loose(index, query, replace(limits, count=_LOOSE, roots=roots))
        except CatalogueDamaged as damage:
            _log.info("the search index cannot be read: %s", damage)
            # The next update rebuilds it. It is not removed here, because that would wait for an update in
            # progress, and a search should not wait.
            with self._lock:
                self._damaged = True
                for shelf in self._shelves.values():
                    shelf.stale = True
            return SearchAnswer(text, (), problems, complete=False)
        if query.regex:
            return self._tried(text, query, docs, problems, count, stop, report, complete=complete)
        hits: list[SearchHit] = []
        first_other = None
        for doc in docs:
            if stop():
                raise SearchStopped
            hit = self._hit(doc, query)
            if hit is not None:
                if first_other is None and limits.here and (doc.home, doc.root) not in limits.here:
                    first_other = len(hits)
                hits.append(hit)
        before, after = self._loose_hits(query, loose, {doc.id for doc in docs}, limits.here, stop)
        at = len(hits) if first_other is None else first_other
        hits[at:at] = before
        hits = [*hits, *after][:count]
        return SearchAnswer(text, tuple(hits), problems, complete)

    def _loose_hits(
        self,
        query: SearchQuery,
        loose: Loose,
        known: Collection[int],
        here: Collection[tuple[str, str]],
        stop: Callable[[], bool],
    ) -> tuple[list[SearchHit], list[SearchHit]]:
        """Return the notes that have some of the query's words, best first, in two lists.

        The first list has the notes that come before all others: those in the workspace or project in which
        the person searches that match well enough. The second list has the other notes. They are ordered by
        how many of the words occur close together in the note. `loose`: the candidates. `known`: the ids of
        rows to leave out. `here`: (home id, key of a root) for the roots of that workspace or project. `stop`
        returns True to stop; then `SearchStopped` is raised.
        """
        before, after = list[SearchHit](), list[SearchHit]()
        for doc in loose.docs:
            if stop():
                raise SearchStopped
            if doc.id in known:
                continue
            is_here = (doc.home, doc.root) in here
            if loose.groups:
                hit, share = self._loose_hit(doc, loose.groups, _HERE if is_here else 0.0)
            else:  # text in quotes, without words that no note has
                exact = self._hit(doc, query)
                hit, share = None if exact is None else replace(exact, matched="any"), 0.0
            if hit is not None:
                (before if is_here and share >= _BEFORE_OTHERS else after).append(hit)
        return (sorted(before, key=lambda hit: -hit.score), sorted(after, key=lambda hit: -hit.score))

    def _loose_hit(self, doc: Doc, groups: Sequence[Group], more: float) -> tuple[SearchHit | None, float]:
        """Return the hit for a row of the index, and the share of the query's words that the note contains.

        `groups`: the words, each with its forms and synonyms. The hit is None if the share is too small.
        `more` is added to the score of the hit; a value above 0 means that the note is in the workspace or
        project in which the person searches, for which a smaller share is enough.
        """
        read = self._read(doc, _LOOSE_GLANCE)
        if read is None:
            return None, 0.0
        place, shelf, text, _is_all = read
        owner = (place.project_path or "").replace("\\", "/").rstrip("/").rpartition("/")[2]
        said = passage(text, groups, called=f"{owner} {doc.rel}")
        if said.anywhere < (_LEAST_SHARE_HERE if more else _LEAST_SHARE):
            return None, 0.0
        named = passage(doc.rel, groups)
        together = said.together + (_NAME - 1) * named.anywhere
        score = doc.score * (1 - _TOGETHER) + WHOLE * _TOGETHER * together + more
        made = self._made(
            replace(doc, score=round(score, 4)), place, shelf, snippet_of(text, said.hits), _NO_WORDS
        )
        at = len(made.path) - len(doc.rel)
        shown = replace(
            made,
            matched="near" if said.is_like else "any",
            name_hits=tuple((start + at, end + at) for start, end in named.hits)
            if made.path.endswith(doc.rel)
            else (),
        )
        return shown, said.anywhere

    # The index

    def _all(self) -> list[tuple[str, _Shelf]]:
        with self._lock:
            return list(self._shelves.items())

    def _again(self, shelf: _Shelf, dirty: Iterable[Path]) -> None:
        with self._lock:
            shelf.stale = True
            shelf.dirty |= set(dirty)

    def _is_complete(self, shelf: _Shelf, home_id: str) -> bool:
        """Return True if the index has all files of a home; another process may have removed some of them."""
        try:
            return bool(shelf.parts.catalogue.complete((home_id,)))
        except CatalogueDamaged:
            return False

    # Selecting rows

    def _limits(
        self,
        index: FileCatalogue,
        query: SearchQuery,
        shelves: list[tuple[str, _Shelf]],
        place: SearchPlace | None,
        count: int,
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
        roots, beside = self._of_projects(index, query.projects, shelves) if query.projects else (None, ())
        if place is not None and place.only:
            within = {(home_id, key) for home_id, _shelf in shelves for key in place.only}
            roots, beside = within if roots is None else roots & within, ()
        return SearchLimits(
            tuple(home_id for home_id, _shelf in shelves),
            time.time_ns(),
            count,
            only=only,
            without=without,
            roots=roots,
            beside=beside,
            here=self._here(place, shelves) if place is not None else (),
        )

    def _of_projects(
        self, index: FileCatalogue, wanted: Sequence[str], shelves: list[tuple[str, _Shelf]]
    ) -> tuple[set[tuple[str, str]], set[int]]:
        """Find the projects in the homes `shelves` that have one of the words `wanted` in their path.

        Returns (home id, key of the root) for the roots of these projects, and the ids of the rows of their
        companions. `index`: the catalogue that has the rows.
        """
        roots, beside = set[tuple[str, str]](), set[int]()
        for home_id, shelf in shelves:
            for key, place in self._placed(shelf).items():
                if place.project_path and any(part in place.project_path.casefold() for part in wanted):
                    roots.add((home_id, key))
            home = shelf.parts.home
            for project in home.contents().projects:
                if any(part in project.path.casefold() for part in wanted):
                    context = home.context(project_path=project.path, project_given=True)
                    companions = [each for each in home.companions(context) if each.scope is Scope.PROJECT]
                    rels = [companion_rel(home, each.path) for each in companions]
                    beside |= {id_ for id_, _sha in index.ids(home_id, COMPANIONS, rels).values()}
        return roots, beside

    def _here(self, place: SearchPlace, shelves: list[tuple[str, _Shelf]]) -> set[tuple[str, str]]:
        return {
            (home_id, key)
            for home_id, shelf in shelves
            for key, each in self._placed(shelf).items()
            if (place.workspace_id and each.workspace_id == place.workspace_id)
            or (
                place.project_path
                and each.project_path
                and Path(place.project_path).is_relative_to(each.project_path)
            )
        }

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
        """Return row id -> actor for each row of a home whose present content was written through Reverie."""
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

    # Building hits

    def _placed(self, shelf: _Shelf) -> Mapping[str, IndexedPlace]:
        """Return the result of `places_of` for the home of `shelf`.

        It is cached in `shelf` until a change outside of the known roots, which may have added a root.
        """
        with self._lock:
            places, changes = shelf.places, shelf.place_changes
        if places is None:
            places = places_of(shelf.parts)
            with self._lock:
                if shelf.place_changes == changes:
                    shelf.places = places
        return places

    def _hit(self, doc: Doc, query: SearchQuery) -> SearchHit | None:
        """Build the hit for the row `doc` of the index; None if its file no longer exists."""
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
        """Read the beginning of the file of the row `doc`, at most `size` bytes, as text for display.

        Returns its place, its home, the text, and whether this is the whole text; None if the file no longer
        exists.
        """
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
                found = read_companion(place.directory / doc.rel, size)
                if found is None:
                    return None
                data, full = found.data, found.stamp.size
            else:
                status, data = read_rel(os.fspath(place.directory), doc.rel, size)
                full = status.st_size
        except OSError as error:
            # A record that cannot be read is still found by its name.
            return None if is_gone(error) else (place, shelf, "", True)
        is_all = full <= len(data)
        rendered_text = None
        if place.root is not None and (is_all or size < SEARCHED_BYTES):
            # A record cannot be rendered from a part of its file, so such a file is read whole.
            rendered_text = shelf.parts.home.rendered(place.root, doc.rel, data)
            if rendered_text is not None and not is_all:
                return self._read(doc, SEARCHED_BYTES)
        text = readable_text(data) if rendered_text is None else rendered_text
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
            regex_hits(path, query.regex) if query.regex else term_hits(path, query.terms),
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
        """Search for a pattern in one file after another; return the answer once it has `count` hits.

        `asked`: the text of the search, `problems`: sentences about it and about homes that failed; both are
        returned in the answer. `docs`: the rows of the files to search. `stop` returns True to stop; then
        `SearchStopped` is raised. `report` is called with the hits so far. `complete`: the value of this
        field in the answer.
        """
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


def _is_wanted(home_id: str, shelf: _Shelf, query: SearchQuery) -> bool:
    """Return True if the query does not name agents or homes, or names those of `shelf`."""
    kind = shelf.parts.home.kind
    names = f"{home_id} {shelf.parts.home.root} {shelf.label}".casefold()
    return (not query.agents or any(map(kind.startswith, query.agents))) and (
        not query.homes or any(wanted in names or wanted == kind for wanted in query.homes)
    )


Feed = Callable[["HomeContainer", Collection[Path] | None, UpdateObserver], None]


def feed_catalogue(parts: HomeContainer, dirty: Collection[Path] | None, watcher: UpdateObserver) -> None:
    """Update the rows of one home in the catalogue, for the paths in `dirty`, or all of them (None).

    `watcher` gets the progress and may stop the update. Raises `UpdateStopped`, `UserError`.
    """
    parts.require_same_home()
    parts.catalogue.update(parts.home, parts.home_id, dirty=dirty, watcher=watcher)
