"""What a window asks of an engine, and the trees that it gets.

`EngineCalls` and `HomeCalls` are signatures alone: the engine has the methods (`engine.engine`), and a window
loads nothing of them. Everything else that an engine offers is a public method of its classes, which a client
loads with the first call that is not here.

Trees cross the wire whole the first time, later only what is different. `TreesUpdate` is made by the engine,
which remembers what it sent each client last, and put together with what the client has. A client that has
something else says so by the number, and gets everything.

Values, and signatures that the type checker compares with the engine's. Threading and failure: as of the
engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import Companion, DiscoveredHomes, LoadState
from reverie.agents.scopes import Caps, Refusal, Scope, ScopeContext
from reverie.files.watch import Changes, WatchState
from reverie.memory.listing import (
    FileChanges,
    MemoryFile,
    ScopeListing,
    changes_between,
    in_order,
    name_only,
    no_check,
    position,
)
from reverie.runs.parts import Parts
from reverie.runs.record import Progress, RunResult
from reverie.services import HomeServices, service_made_by
from reverie.services.views import (
    FileText,
    HomeFacts,
    HomeInfo,
    HostStatus,
    LintResult,
    MemoryView,
    Relevance,
    RunSummary,
    SearchAnswer,
    SearchPlace,
    StatusView,
    Template,
    Undo,
)
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from reverie.engine.doctor import HomeDoctor
    from reverie.services.activity import ActivityService
    from reverie.services.models import ModelsWithoutHome


class TreesUpdate(Struct, frozen=True):
    """The trees of a context. `serial` counts what one client was sent."""

    serial: int
    view: MemoryView
    """Without the files of the scopes in `changes`."""
    changes: Mapping[Scope, FileChanges] = field(default_factory=dict)


def update_of(after: MemoryView, before: MemoryView | None, serial: int) -> TreesUpdate:
    """`after` for a client that has `before`."""
    scopes: dict[Scope, ScopeListing] = {}
    changes: dict[Scope, FileChanges] = {}
    for scope, listing in after.scopes.items():
        # What a later scan needs stays with who scans.
        bare = replace(listing, faults={}, use=None, scanned_ns=0)
        had = before.scopes.get(scope) if before is not None else None
        if had is not None and had.names_only == listing.names_only:
            changes[scope] = changes_between(had.files, listing.files)
            bare = replace(bare, files=())
        scopes[scope] = bare
    return TreesUpdate(serial, replace(after, scopes=scopes), changes)


def updated(update: TreesUpdate, before: MemoryView | None) -> MemoryView:
    """The view that `update` makes of `before`."""
    scopes = dict(update.view.scopes)
    for scope, changes in update.changes.items():
        had = before.scopes[scope].files if before is not None else ()
        scopes[scope] = replace(scopes[scope], files=_changed(had, changes))
    return replace(update.view, scopes=scopes)


# One listing may hold a hundred thousand files: a few that changed are put in their places.
_FEW = 1000


def _changed(before: tuple[MemoryFile, ...], changes: FileChanges) -> tuple[MemoryFile, ...]:
    if not changes.changed and not changes.gone:
        return before
    if len(changes.changed) + len(changes.gone) > _FEW:
        files = {file.rel: file for file in before}
        for rel in changes.gone:
            files.pop(rel, None)
        files.update((file.rel, file) for file in changes.changed)
        return tuple(in_order(tuple(files.values())))
    listed = list(before)
    for rel in changes.gone:
        index, is_there = position(listed, rel)
        if is_there:
            del listed[index]
    for file in changes.changed:
        index, is_there = position(listed, file.rel)
        listed[index : index + is_there] = [file]
    return tuple(listed)


class NamesUpdate(Struct, frozen=True):
    """The trees at a first look. Of nearly every file there is nothing but its path."""

    view: MemoryView
    """Without files."""
    names: Mapping[Scope, tuple[str, ...]]
    others: Mapping[Scope, tuple[MemoryFile, ...]]
    """The files of which more is known."""


def names_of(view: MemoryView) -> NamesUpdate:
    """A first look for the wire."""
    names: dict[Scope, tuple[str, ...]] = {}
    others: dict[Scope, tuple[MemoryFile, ...]] = {}
    scopes = {scope: replace(listing, files=()) for scope, listing in view.scopes.items()}
    for scope, listing in view.scopes.items():
        names[scope] = tuple(file.rel for file in listing.files if file == name_only(file.rel))
        others[scope] = tuple(file for file in listing.files if file != name_only(file.rel))
    return NamesUpdate(replace(view, scopes=scopes), names, others)


def first_look(
    context: ScopeContext, scopes: Mapping[Scope, ScopeListing], companions: tuple[Companion, ...]
) -> NamesUpdate:
    """The names of a context for the wire."""
    return names_of(MemoryView(context, scopes, companions))


def named(update: NamesUpdate) -> MemoryView:
    """The view that was sent as `update`."""
    scopes = {
        scope: replace(
            listing, files=tuple(in_order((*map(name_only, update.names[scope]), *update.others[scope])))
        )
        for scope, listing in update.view.scopes.items()
    }
    return replace(update.view, scopes=scopes)


class Opened(Struct, frozen=True):
    """A home that could be opened, and what about it does not change."""

    info: HomeInfo
    caps: Caps
    facts: HomeFacts
    recent_workspace: str
    """The workspace that was used last; empty where the home does not say."""


class HomeUpdate(Struct, frozen=True):
    """What is different in the views of one context. None for a part: it is as it was."""

    info: HomeInfo | None
    trees: TreesUpdate | None
    status: StatusView | None
    touched: Relevance | None
    """Which views the changes touch; None where everything was asked for."""
    watch: WatchState | None
    """How the home is watched; None where it is not."""


class HomeCalls(HomeServices):
    """What a window asks of an open home."""

    @service_made_by(lambda home, kind: kind(home.parts, home.watch_state))
    def doctor() -> type[HomeDoctor]:
        """Why the memory writer or a consolidation did not run, and how to fix it."""
        from reverie.engine import doctor as module

        return module.HomeDoctor

    @service_made_by(lambda home, kind: kind(home.parts, home._is_for_another))
    def activity() -> type[ActivityService]:
        """The activity of this home. A run of another client is not `ours` for the one that asks."""
        from reverie.services import activity as module

        return module.ActivityService

    def context(self, workspace_id: str | None, project_path: str | None) -> ScopeContext:
        """The context of a workspace, else of a project, else of the global memory alone."""
        raise NotImplementedError

    def names(self, context: ScopeContext) -> NamesUpdate:
        """The quick first look at the three trees: no file is opened."""
        raise NotImplementedError

    def refresh(
        self,
        context: ScopeContext,
        changes: Changes | None,
        *,
        known: int = 0,
        everything: bool = False,
        marks: bool = False,
    ) -> HomeUpdate:
        """What `changes` made different in the views of a context; None: all of it, for the first time. With
        `everything` all is read again, whatever changed; with `marks` at least what was seen. `known`: the
        serial of what the client has of this context; with it only what changed is sent."""
        raise NotImplementedError

    def status(self, context: ScopeContext) -> StatusView:
        """As `Workbench.status`. A run that another client started is not `ours` for this one."""
        raise NotImplementedError

    def watch_for(self, context: ScopeContext | None) -> WatchState:
        """Tell this client what is seen changing from now on; `context` is what it looks at."""
        raise NotImplementedError

    def learn_titles(self, most: int, project_path: str | None) -> tuple[bool, HomeInfo | None]:
        """As `Workbench.learn_titles`."""
        raise NotImplementedError

    def host(self, paused: bool) -> HostStatus:
        """This client wants the background services of this home as the settings, which are read anew, want
        them; not while `paused`. `HostChanged` tells it of another state. There is one host for all clients:
        a pause by one is a pause for all of them, until that client takes it back or leaves."""
        raise NotImplementedError

    def stop_hosting(self) -> None:
        """This client does not want the background services any more; the last one ends them."""
        raise NotImplementedError

    def rescan(self, reason: str) -> None:
        """Compare everything with the disk, since events may have been missed."""
        raise NotImplementedError

    def forget_client(self) -> None:
        """The client that asks is gone, or does not look at this home any more."""
        raise NotImplementedError

    def findings(
        self, context: ScopeContext, dirty: frozenset[Path], *, check: Callable[[], None] = no_check
    ) -> LintResult:
        """What `lint` finds in the memories of a context, as listed in the trees that the client was sent
        last. `dirty`: paths seen changing, which are read again."""
        raise NotImplementedError

    def loaded(self, context: ScopeContext) -> Mapping[str, LoadState] | None:
        """How much of each memory of `context` the agent loads when it starts now, by memory path; None for
        an agent of which that is not known. Nothing counts as seen by it."""
        raise NotImplementedError

    def mark_opened(self, context: ScopeContext) -> None:
        """As `Workbench.mark_opened`."""
        raise NotImplementedError

    def permit_writing(self, refusal: Refusal) -> None:
        """As `Workbench.permit_writing`."""
        raise NotImplementedError

    def read(self, context: ScopeContext, path: str) -> FileText:
        """As `Workbench.read`."""
        raise NotImplementedError

    def author_of(self, context: ScopeContext, path: str, sha256: str, companion: Path | None = None) -> str:
        """As `Workbench.author_of`."""
        raise NotImplementedError

    def save(self, context: ScopeContext, path: str, content: str, expected_sha256: str | None) -> FileText:
        """As `Workbench.save`."""
        raise NotImplementedError

    def templates(self) -> tuple[Template, ...]:
        """As `Workbench.templates`."""
        raise NotImplementedError

    def create(self, context: ScopeContext, path: str, template: str, description: str) -> FileText:
        """As `Workbench.create`."""
        raise NotImplementedError

    def add_note(self, context: ScopeContext, text: str) -> str:
        """As `Workbench.add_note`."""
        raise NotImplementedError

    def undo(self, undo: Undo) -> str:
        """As `Workbench.undo`."""
        raise NotImplementedError

    def start_dream(
        self,
        context: ScopeContext,
        *,
        dry_run: bool,
        engine: str,
        progress: Callable[[Progress], None],
        cancel: threading.Event,
    ) -> RunResult:
        """As `Workbench.start_dream`."""
        raise NotImplementedError

    def runs(self, *, limit: int | None = None) -> tuple[RunSummary, ...]:
        """As `Workbench.runs`."""
        raise NotImplementedError

    def revert(self, run_id: str, part: Parts | None = None) -> RunResult:
        """As `Workbench.revert`."""
        raise NotImplementedError

    def undo_run(self, context: ScopeContext, run_id: str, part: Parts | None = None) -> Undo:
        """As `Workbench.undo_run`."""
        raise NotImplementedError


class EngineCalls:
    """What is asked of the engine itself."""

    @service_made_by(lambda services, kind: kind(services._engine.read_settings))
    def models() -> type[ModelsWithoutHome]:
        """The models, while no home is open."""
        from reverie.services import models as module

        return module.ModelsWithoutHome

    def open(self, path: Path) -> Opened:
        """Open the home at `path`, or find it open."""
        raise NotImplementedError

    def adopt(self, path: Path, known_id: str) -> Opened:
        """Give the home at `path` the history of the known home that was moved there, and open it."""
        raise NotImplementedError

    def find_homes(self) -> DiscoveredHomes:
        """The agents' homes of this user, and the places that could not be looked at."""
        raise NotImplementedError

    def find_stores(self, found: DiscoveredHomes) -> DiscoveredHomes:
        """The stores in the projects that these homes list."""
        raise NotImplementedError

    def forget_settings(self) -> None:
        """The settings of the profile changed: every open home reads them again."""
        raise NotImplementedError

    def set_debug(self, on: bool) -> None:
        """Whether gates and outcomes go to the log of the engine, and of the runs it starts from now on,
        while this client is there."""
        raise NotImplementedError

    def search(
        self,
        text: str,
        homes: Sequence[str],
        *,
        place: SearchPlace | None = None,
        progress: Callable[[SearchAnswer], None],
        cancel: threading.Event,
    ) -> SearchAnswer:
        """What answers `text` in these homes now, best first; `homes`: their ids, `place`: where one is. A
        pattern reports what was found so far. Where the answer is not `complete`, `IndexChanged` says when to
        ask again."""
        raise NotImplementedError


RUNS = frozenset(
    {
        "run_host",
        "start_dream",
        "reviews.apply",
        "revert",
        "extracting.run",
        "noting.update",
        "replays.run",
        "by_hand.consolidate",
        "by_hand.sweep",
        "by_hand.harvest",
        "by_hand.write",
        "by_hand.notes",
        "by_hand.extract",
        "by_hand.revert",
    }
)
"""What a process of its own does."""
