"""The parts that work on one home, wired together once and built on first use.

The composition root passes a `HomeContainer` to services and commands; `Contexts` finds a scope context for a
given root of the home. Nothing is opened or created before it is needed, so listing a tree needs neither
history nor leases and has no side effects.

Late imports: showing or listing memories needs no runs and no settings. `jobs.consolidate` and
`runs.transaction` load pydantic and asyncio (0.2 s), `llm.trace` loads ssl, and each command and window would
pay for that at its start.

Threading: the parts are safe on any thread but the GUI's. Two threads may build the same part twice, which is
harmless: shared state lies on disk, under locks. Failure: `UserError` from the part that is used,
`Unavailable` for a context that the home does not have.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agents.base import Home, HomeContents, LoadState, check_content, loaded_next
from reverie.agents.identity import KnownHome
from reverie.agents.scopes import Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.clock import Clock
from reverie.errors import Unavailable, UserError
from reverie.files.lease import Leases
from reverie.files.rooted import RootedDirectory
from reverie.files.sidecar import Sidecar
from reverie.memory.catalogue import FileCatalogue
from reverie.memory.history.history import History
from reverie.memory.recording import DiskChangeListener, Snapshots
from reverie.memory.store import MemoryStore
from reverie.memory.usage import UsageLog
from reverie.memory.write_guard import PERMISSIONS, WriteGuard, write_locks
from reverie.memory.write_log import WriteLog
from reverie.profile import Profile
from reverie.runs.activity import Activity
from reverie.runs.journal import Images
from reverie.runs.record import RunResult, RunStore
from reverie.runs.transaction import Transaction
from reverie.services.drafts import SaveWatch
from reverie.values import Struct, as_dict, fields_of, replace

if TYPE_CHECKING:
    from reverie.claims.checking import CheckedClaim
    from reverie.jobs.consolidate.coverage import CoverageLog
    from reverie.jobs.consolidate.harvest import HarvestService
    from reverie.jobs.consolidate.overlay import NoticedLog
    from reverie.jobs.consolidate.run import AgentLocks, DreamDependencies, DreamService
    from reverie.jobs.consolidate.triggers import SweepService
    from reverie.llm.trace_store import TraceStore
    from reverie.runs.recovery import Recovery
    from reverie.runs.revert import Reverter
    from reverie.runs.run import RunDependencies
    from reverie.settings import Settings

_log = logging.getLogger("reverie.services")


class HomeKey(Struct, frozen=True):
    """The identity of a home: the agent's directory and Reverie's id for it."""

    home: Home
    home_id: str
    adoptable: tuple[KnownHome, ...] = ()
    """Known homes that no longer exist at their path and may have been moved to this one."""
    require_same: Callable[[], None] = lambda: None
    """A function that raises `Unavailable` if another home has taken the place of this one."""


class HomeContainer:
    """The objects that work on one home, such as its history and the records of its runs.

    Each is built when it is first used, and then shared.
    """

    def __init__(
        self,
        key: HomeKey,
        profile: Profile,
        clock: Clock,
        settings: Callable[[], Settings],
        find_stale: Callable[
            [HomeContainer, ScopeContext, Callable[[], None]], tuple[CheckedClaim, ...]
        ] = lambda _parts, _context, _check: (),
        find_loaded: Callable[
            [HomeContainer, ScopeContext, int], Mapping[str, LoadState]
        ] = lambda _parts, _context, _at: {},
    ) -> None:
        """Store the arguments; the objects of the home are built from them later, on first use.

        `key`: the home and its id. `settings` returns the current settings. `find_stale(parts, context,
        check)` returns the statements in the memories of a context that are no longer true; consolidations
        call it. `find_loaded(parts, context, at)` returns how much of each file a session that starts at the
        time `at` (UTC ms) loads.
        """
        self.home = key.home
        self.home_id = key.home_id
        self.adoptable = key.adoptable
        self.require_same_home = key.require_same
        self.profile = profile
        self.clock = clock
        self._settings = settings
        self._find_stale = find_stale
        self._find_loaded = find_loaded
        self.saves = SaveWatch(self)

    @cached_property
    def settings(self) -> Settings:
        return self._settings()

    def read_settings(self) -> Settings:
        """Read the settings from their file now.

        The attribute `settings` is cached; see `forget_settings`.
        """
        return self._settings()

    def forget_settings(self) -> None:
        """Drop the cached settings, and the consolidation service `dreams`, which is built from them.

        Both are rebuilt on next use.
        """
        for name in ("settings", "dreams"):
            self.__dict__.pop(name, None)

    @property
    def own_sidecars(self) -> Path:
        """Reverie's own directory for this home; created on first use."""
        return self.profile.ensure(self.profile.own_sidecars(self.home_id))

    @property
    def usage_file(self) -> Path:
        """The file of pins and usage: the agent's own, or Reverie's if the agent has none."""
        kept = self.home.sidecars
        own = self.profile.own_sidecars(self.home_id) / "memory-meta.json"
        return own if kept is None else kept.usage

    @property
    def coverage_file(self) -> Path:
        """The file that records the last consolidations: the agent's own, or Reverie's if it has none."""
        kept = self.home.sidecars
        own = self.profile.own_sidecars(self.home_id) / "memory-consolidation.json"
        return own if kept is None else kept.coverage

    @cached_property
    def write_guard(self) -> WriteGuard:
        """The object that decides which stores (directories of memories) of this home may be written."""
        file = self.profile.own_sidecars(self.home_id) / PERMISSIONS
        return WriteGuard(
            self.home,
            file,
            lock_dir=self.profile.locks,
            clock=self.clock,
            require_same=self.require_same_home,
        )

    @cached_property
    def usage(self) -> UsageLog:
        own = self.own_sidecars / "memory-meta.json"
        return UsageLog(
            self.home,
            own_sidecar=own,
            lock_dir=self.profile.locks,
            clock=self.clock,
            require=self.write_guard.require,
        )

    @cached_property
    def coverage(self) -> CoverageLog:
        from reverie.jobs.consolidate.coverage import CoverageLog

        lock_dir, sidecars = self.profile.locks, self.home.sidecars
        if sidecars is not None:
            require = self.write_guard.require
            return CoverageLog(sidecars.coverage, lock_dir=lock_dir, clock=self.clock, require=require)
        own = self.own_sidecars / "memory-consolidation.json"
        return CoverageLog(own, lock_dir=lock_dir, clock=self.clock)

    @cached_property
    def actors(self) -> WriteLog:
        return WriteLog(self.profile.actor_log)

    @cached_property
    def catalogue(self) -> FileCatalogue:
        return FileCatalogue(self.profile.catalogue, lock_dir=self.profile.locks)

    @cached_property
    def snapshots(self) -> Snapshots:
        history = History(
            self.profile.history(self.home_id),
            lock_dir=self.profile.locks,
            clock=self.clock,
            pack_after=self.settings.history.pack_after,
            notify=lambda sentence: self.report("history.damaged", sentence, "warning"),
            known=partial(self.catalogue.versions, self.home_id),
        )
        return Snapshots(
            self.home, history, self.usage, self.actors, self.clock, require_same=self.require_same_home
        )

    def report(self, event: str, text: str, level: str = "info", workspace_id: str | None = None) -> None:
        """Record an event of this home in Activity, the log of what background services did.

        `event`: its name, such as `host.error`. `text`: a sentence for people. `level`: `info`, `warning` or
        another level of Activity. `workspace_id`: the workspace that it concerns; None: none.
        """
        home = str(self.home.root)
        self.activity.add(event, level=level, text=text, home=home, workspace_id=workspace_id)

    def own_sidecar(self, name: str) -> Sidecar:
        """Return the sidecar (small JSON file) called `name` among Reverie's own files for this home."""
        return Sidecar(self.own_sidecars / name, lock_dir=self.profile.locks, clock=self.clock)

    @cached_property
    def leases(self) -> Leases:
        return Leases(self.profile.leases_database)

    @cached_property
    def runs(self) -> RunStore:
        return RunStore(self.profile.runs(self.home_id))

    @cached_property
    def traces(self) -> TraceStore:
        from reverie.llm.trace_store import TraceStore

        return TraceStore(self.profile.traces(self.home_id))

    @cached_property
    def activity(self) -> Activity:
        return Activity(self.profile.activity(self.home_id), lock_dir=self.profile.locks, clock=self.clock)

    @cached_property
    def recovery(self) -> Recovery:
        from reverie.runs.recovery import Recovery

        return Recovery(
            self.runs,
            transaction_for=self.transaction_for,
            committed=lambda run, journal: (
                journal.coverage is not None
                and self.coverage.holds(
                    journal.coverage, workspace_id=run.workspace_id, project_path=run.project_path
                )
            ),
            give_back=lambda: self.agent_locks.settle(),
            activity=self.activity,
            clock=self.clock,
        )

    @cached_property
    def agent_locks(self) -> AgentLocks:
        from reverie.jobs.consolidate.run import AgentLocks

        return AgentLocks(
            self.home,
            self.runs,
            self.activity,
            self.profile.own_sidecars(self.home_id) / "agent-lock.json",
            guard=self.write_guard,
            clock=self.clock,
        )

    @cached_property
    def run_dependencies(self) -> RunDependencies:
        """The dependencies of the memory writer and session notes of this home."""
        from reverie.jobs.consolidate.run import dream_lease_name
        from reverie.runs.run import RunDependencies

        return RunDependencies(
            home=self.home,
            home_id=self.home_id,
            leases=self.leases,
            lease_name=dream_lease_name(self.home_id),
            runs=self.runs,
            usage=self.usage,
            snapshots=self.snapshots,
            guard=self.write_guard,
            recovery=self.recovery,
            transaction_for=self.transaction_for,
            clock=self.clock,
            activity=self.activity,
            save_trace=lambda run_id, document: self.traces.save(run_id, document),
        )

    @cached_property
    def dream_dependencies(self) -> DreamDependencies:
        """The dependencies of consolidations, harvests and applied reviews of this home."""
        from reverie.jobs.consolidate.run import DreamDependencies

        run = self.run_dependencies
        return DreamDependencies(
            **{each: getattr(run, each) for each in fields_of(type(run))},
            coverage=self.coverage,
            agent_locks=self.agent_locks,
            stale=self._stale_claims,
            notice=self.noticed.add,
            time_limit_s=self.settings.dream.time_limit_s,
            max_loss_percent=self.settings.dream.max_loss_percent,
        )

    @cached_property
    def noticed(self) -> NoticedLog:
        """The log of pairs of contradicting or similar statements that models noticed but did not change.

        A person decides about them.
        """
        from reverie.jobs.consolidate.overlay import NoticedLog

        return NoticedLog(lambda: self.own_sidecar("noticed.json"))

    def _stale_claims(self, context: ScopeContext, check: Callable[[], None]) -> tuple[CheckedClaim, ...]:
        try:
            return self._find_stale(self, context, check)
        except UserError as error:
            # A consolidation does not need it.
            _log.warning("Stale statements could not be looked for: %s", error)
            return ()

    def telling_loaded(self, context: ScopeContext, run: Callable[[], RunResult]) -> RunResult:
        """Call `run`, and add to its result the files that new sessions load differently because of it.

        In the details of the result, `loadedNext` lists the files that a new session now loads but did not
        load before, and the files that it no longer loads.
        """
        at = self.clock()
        before = self._loaded(context, at)
        result = run()
        if before is None or result.outcome != "completed" or not result.applied:
            return result
        after = self._loaded(context, at)
        change = loaded_next(before, before if after is None else after)
        if not change:
            return result
        return replace(result, details={**result.details, "loadedNext": as_dict(change)})

    def _loaded(self, context: ScopeContext, at: int) -> Mapping[str, LoadState] | None:
        try:
            return self._find_loaded(self, context, at)
        except UserError as error:
            # A consolidation does not need it.
            _log.warning("What the agent loads is not known: %s", error)
            return None

    @cached_property
    def dreams(self) -> DreamService:
        from reverie.jobs.consolidate.run import DreamService

        return DreamService(self.dream_dependencies)

    @cached_property
    def harvests(self) -> HarvestService:
        from reverie.jobs.consolidate.harvest import HarvestService

        return HarvestService(self.dream_dependencies)

    @cached_property
    def sweeps(self) -> SweepService:
        from reverie.jobs.consolidate.triggers import SweepService

        return SweepService(self.dream_dependencies, self.dreams)

    @cached_property
    def reverter(self) -> Reverter:
        from reverie.runs.revert import Reverter

        return Reverter(self.run_dependencies)

    def _writing(self, context: ScopeContext | None, root: ScopeRoot, rel: str, after: bytes | None) -> None:
        self.saves.writing(root, rel, after, context)

    def transaction_for(self, run_id: str, actor: str) -> Transaction:
        """Build the transaction for the files of one run; it records `actor` as the author of the changes."""
        images = Images(self.profile.images(self.home_id))

        def attribute(root: ScopeRoot, rel: str, sha256: str | None) -> None:
            self.actors.record(root.directory / rel, sha256, actor=actor, run_id=run_id, at_ms=self.clock())
            if rel.endswith(".md"):
                self._writing(None, root, rel, images.get(sha256))

        return Transaction(
            self.runs.directory_of(run_id),
            self.home.root,
            images=images,
            files_of=rooted_files,
            apply_usage=self.usage.apply_delta,
            attribute=attribute,
            keep=self.snapshots.keep,
            require=self.write_guard.require,
            check_content=partial(check_content, self.home),
            locked=partial(write_locks, self.home, lock_dir=self.profile.locks),
            swapped=lambda root, rel: self.saves.wrote(root.directory / rel),
        )

    def store(
        self,
        context: ScopeContext,
        *,
        actor: str,
        after_change: Callable[[Path], None] = lambda path: None,
        warn: Callable[[str], None] = _log.warning,
        counts: bool = True,
    ) -> MemoryStore:
        """Build the store of the memories of one context, which records `actor` as the author of changes.

        `after_change` is called with the path of each changed file; `warn` gets a sentence about a problem
        that occurred after a change was made; `counts`: True if a write or a rename counts as a use of the
        memory.
        """

        def changed(path: Path) -> None:
            self.saves.wrote(path)
            after_change(path)

        effects = DiskChangeListener(
            self.home,
            actor=actor,
            usage=self.usage,
            actors=self.actors,
            snapshots=self.snapshots,
            lock_dir=self.profile.locks,
            clock=self.clock,
            guard=self.write_guard,
            after_change=changed,
            counts=counts,
            writing=partial(self._writing, context),
            warn=warn,
        )
        # An agent changes write-protected files, too: see `files.atomic`.
        files_of = rooted_files if actor == "user" else partial(rooted_files, even_protected=True)
        return MemoryStore(self.home, context, files_of, effects)


def rooted_files(root: ScopeRoot, *, even_protected: bool = False) -> RootedDirectory:
    """Return the object that reads and writes the files below a root.

    `even_protected`: also write files whose permissions forbid writing (`files.atomic.is_write_protected`);
    otherwise they are refused.
    """
    return RootedDirectory(
        root.directory, without=root.without, private=root.private, even_protected=even_protected
    )


_WORKSPACE = "workspace/"


def roots_of(home: Home, context: ScopeContext) -> list[ScopeRoot]:
    """Return the roots of the scopes that a context has."""
    roots = []
    for scope in Scope:
        with contextlib.suppress(ScopeUnavailable):
            roots.append(home.scope_root(context, scope))
    return roots


def shown_contexts(parts: HomeContainer, contents: HomeContents) -> Iterator[tuple[str, ScopeContext]]:
    """Yield pairs: the key of a root (`ScopeRoot.key`), and a context that shows the root's memories.

    `contents`: the projects and workspaces of the home. A root may be yielded several times, with different
    contexts; callers prefer the last one. For a project, that is the context of its first workspace.
    """
    home = parts.home
    for project in contents.projects:
        for workspace in reversed(project.workspaces):
            path = workspace.memory_project
            context = home.context(workspace_id=workspace.id, project_path=path, project_given=True)
            context = replace(context, dreams_as=workspace.dreams_as)
            for scope in (Scope.PROJECT, Scope.WORKSPACE):
                with contextlib.suppress(ScopeUnavailable):
                    yield home.scope_root(context, scope).key, context
        if not project.workspaces:
            context = home.context(project_path=project.path, project_given=True)
            with contextlib.suppress(ScopeUnavailable):
                yield home.scope_root(context, Scope.PROJECT).key, context


class Contexts:
    """The contexts of one home, found by the roots of the files that they show.

    It is for code that knows a file by its root, while no context is selected.
    """

    def __init__(self, parts: HomeContainer) -> None:
        self._parts = parts
        contents = parts.home.contents()
        self._shown = list(shown_contexts(parts, contents))
        self._by_key = dict(self._shown)
        self._names = {
            f"{_WORKSPACE}{workspace.id}": workspace.title or workspace.name
            for workspace in contents.workspaces()
        }
        for project in contents.projects:
            context = parts.home.context(project_path=project.path, project_given=True)
            with contextlib.suppress(ScopeUnavailable):
                self._names[parts.home.scope_root(context, Scope.PROJECT).key] = project.name

    def owner(self, key: str) -> str:
        """Return the name of the project or workspace that a root belongs to; empty for the global root.

        `key`: the key of the root (`ScopeRoot.key`). If the name is unknown, the part of the key after the
        first `/` is returned.
        """
        return "" if key == Scope.GLOBAL else self._names.get(key, key.partition("/")[2] or key)

    def of(self, keys: Iterable[str]) -> ScopeContext | None:
        """Return a context that shows the roots with these keys (`ScopeRoot.key`); None if none shows all."""
        wanted = {key for key in keys if key != Scope.GLOBAL}
        if not wanted:
            return self._parts.home.context(project_path=None, project_given=True)
        for key in sorted(wanted, reverse=True):  # a workspace shows its project, not the other way round
            for context in self._candidates(key):
                if wanted <= self._roots(context):
                    return context
        return None

    def grouped(self, keys: Iterable[str]) -> dict[str, ScopeContext]:
        """Map the key of each root (`ScopeRoot.key`) to a context that shows the root.

        Uses as few different contexts as possible. Roots that no context shows are left out.
        """
        groups: list[tuple[set[str], ScopeContext]] = []
        for key in sorted(keys, key=lambda key: (key == Scope.GLOBAL, not key.startswith(_WORKSPACE), key)):
            for at, (members, _context) in enumerate(groups):
                joint = self.of({*members, key})
                if joint is not None:
                    groups[at] = ({*members, key}, joint)
                    break
            else:
                alone = self.of([key])
                if alone is not None:
                    groups.append(({key}, alone))
        return {key: context for members, context in groups for key in members}

    def _candidates(self, key: str) -> Iterator[ScopeContext]:
        if key in self._by_key:
            yield self._by_key[key]
        yield from (context for other, context in self._shown if other == key)
        if key in self._lost:
            yield self._lost[key]
        elif key.startswith(_WORKSPACE):
            with contextlib.suppress(Unavailable):  # unlisted, but its memories may exist
                yield self._parts.home.context(workspace_id=key.removeprefix(_WORKSPACE))

    @cached_property
    def _lost(self) -> dict[str, ScopeContext]:
        """A context for each root whose project or workspace is not listed, by the key of the root."""
        orphans = self._parts.home.orphans
        return {
            store.root.key: store.context
            for store in (() if orphans is None else orphans.lost_stores())
            if store.root is not None and store.context is not None
        }

    def _roots(self, context: ScopeContext) -> set[str]:
        found = set()
        for scope in (Scope.PROJECT, Scope.WORKSPACE):
            with contextlib.suppress(ScopeUnavailable):
                found.add(self._parts.home.scope_root(context, scope).key)
        return found


def asked_context(
    home: Home,
    *,
    workspace_id: str | None = None,
    project_path: str | None = None,
    project_given: bool = False,
) -> ScopeContext:
    """Return the context for the workspace or project that a caller named; see `Home.context`.

    With `project_given`, the project is the one at `project_path`; None or empty means no project. Without
    it, None for `project_path` means the project of the workspace, if there is one. If nothing is named, the
    context has only the home's global memory. A path below a project that the home lists is replaced by the
    path of that project (`resolve_project`).
    """
    sessions = home.sessions
    if project_given and project_path and sessions is not None:
        project_path = sessions.resolve_project(project_path)
    context = home.context(workspace_id=workspace_id, project_path=project_path, project_given=project_given)
    if project_given or not context.project_path or sessions is None:
        return context
    learned = sessions.resolve_project(context.project_path)
    if learned == context.project_path:
        return context
    return home.context(workspace_id=workspace_id, project_path=learned, project_given=True)
