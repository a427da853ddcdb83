"""`Workbench`: everything that a window or a command can show of one home or do with it.

Nothing here refreshes a view: views learn of changes only from the watcher (design.md principle 1). Reading
creates nothing inside the home; the data that the first opening creates (history, seen marks) goes to
Reverie's own directories.

Threading: every method blocks on disk; never call one on the GUI thread. Failure: `UserError` for problems
that a person can solve; any other exception is a bug and propagates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path

from reverie.agents.base import Companion, TitlesRead, rules_of
from reverie.agents.scopes import Refusal, Scope, ScopeContext, ScopeRoot, ScopeUnavailable
from reverie.errors import StoreError, Unavailable
from reverie.files.watch import Changes, Watcher
from reverie.files.watch_sources import WatchTarget
from reverie.memory.front_matter import FrontError, set_description
from reverie.memory.listing import ScopeListing, names_only, scan_scope
from reverie.memory.paths import memory_path
from reverie.memory.usage import UsageRestored
from reverie.memory.usage_rules import MemoryUsage
from reverie.runs.parts import Parts
from reverie.runs.record import Progress, RunRecord, RunResult
from reverie.services import HomeServices
from reverie.services.changes import ChangeKind, ChangeSet, settle
from reverie.services.container import HomeContainer, asked_context
from reverie.services.edits import add_note, current_text
from reverie.services.host import keep_usage
from reverie.services.lint import LintService
from reverie.services.templates import all_templates, filled
from reverie.services.timeline import RestorePlan
from reverie.services.unseen import SeenLog, author_of, relevant, watch_targets
from reverie.services.views import (
    FileText,
    HandChange,
    HomeFacts,
    HomeInfo,
    LostSave,
    MemoryView,
    Relevance,
    StatusView,
    Template,
    Undo,
    UnseenKind,
    run_undone,
)

LOOK_AGAIN = "reverie-coverage"
"""The name of the thread that checks after a consolidation whether its record was overwritten.

The agent may overwrite the coverage record, which says when a scope was last consolidated. A process that
carried out the run for another one waits for this thread before it exits.
"""


class Workbench(HomeServices):
    """One open home, for showing its memories and changing them.

    Larger subjects are services of their own, each built on first use: `timeline`, `traces`, `trash` and so
    on. The methods here are for the trees, the editor and runs.
    """

    def __init__(self, parts: HomeContainer) -> None:
        self.parts = parts
        self._history_started = threading.Event()
        self._paid: dict[str, RunRecord | None] = {}

    @property
    def home_id(self) -> str:
        """Reverie's id of this home."""
        return self.parts.home_id

    @cached_property
    def lint(self) -> LintService:
        """The service that finds problems in the memories of this home."""
        return LintService(self.parts.home_id, self.parts.home.caps, self.parts.catalogue)

    @cached_property
    def _current_text(self) -> Callable[[ScopeContext, str, Companion | None], FileText]:
        return current_text(self.parts)

    @cached_property
    def _changes(self) -> ChangeSet:
        return ChangeSet(self.parts)

    @cached_property
    def _seen(self) -> SeenLog:
        return SeenLog(
            self.parts.own_sidecars / "seen.json",
            lambda: self.parts.snapshots.history,
            self.parts.actors,
            lock_dir=self.parts.profile.locks,
            clock=self.parts.clock,
        )

    def contents(self) -> HomeInfo:
        """List the projects and workspaces of the home.

        Raises `Unavailable` if the home no longer exists or another one has taken its place.
        """
        self.parts.require_same_home()
        home = self.parts.home
        contents = home.contents()
        return HomeInfo(
            self.home_id, home.root, home.kind, home.label, contents, contents.problems, self.parts.adoptable
        )

    def context(self, workspace_id: str | None, project_path: str | None) -> ScopeContext:
        """Return the context of a workspace, else of a project, else of the global memory only.

        `workspace_id`: None for no workspace. `project_path`: None for the project of the workspace, if it
        has one; without a workspace, for no project.
        """
        return asked_context(
            self.parts.home,
            workspace_id=workspace_id,
            project_path=project_path,
            project_given=workspace_id is None,
        )

    def recent_workspace(self, info: HomeInfo) -> str:
        """Return the id of the most recently used workspace in `info`; empty if unknown."""
        sessions = self.parts.home.sessions
        listed = {workspace.id for workspace in info.contents.workspaces() if not workspace.archived}
        recencies = () if sessions is None else sessions.recencies()
        return max(((at, id_) for id_, at in recencies if id_ in listed), default=(0, ""))[1]

    def learn_titles(self, most: int, project_path: str | None) -> tuple[bool, HomeInfo | None]:
        """Read the titles of up to `most` workspaces that are not known yet.

        `project_path`: the project whose workspaces come first; None: no project comes first. Returns whether
        any title was read, and the home with its projects and workspaces if a title has changed, else None.
        Raises `Unavailable` if the home no longer exists.
        """
        sessions = self.parts.home.sessions
        if sessions is None:
            return False, None
        found = sessions.learn_titles(most, project_path) if project_path else TitlesRead()
        if not found.read:
            found = sessions.learn_titles(most)
        # A session in use is read again after every answer, mostly without a new title.
        return found.read > 0, self.contents() if found.changed else None

    def view(
        self,
        context: ScopeContext,
        *,
        previous: MemoryView | None = None,
        dirty: Collection[Path] | None = None,
        names_only: bool = False,
    ) -> MemoryView:
        """Return the trees of memories of the three scopes of a context.

        `previous`: an earlier view; its files are not read again if their size and time are unchanged.
        `dirty`: with `previous`, the only paths that may have changed; None: every file is examined.
        `names_only`: a quick first reading, without descriptions, sizes and pins.
        """
        self.parts.require_same_home()
        usage = {} if names_only else self.parts.usage.load_for_showing()
        known = previous.scopes if previous is not None and previous.context == context else {}
        scopes = {
            scope: self._scope(context, scope, usage, known.get(scope), dirty, names_only) for scope in Scope
        }
        companions = self.parts.home.companions(context)
        if names_only:
            return MemoryView(context, scopes, companions)
        return MemoryView(context, scopes, companions, self._unseen_in(scopes), self._refusals(scopes))

    def permit_writing(self, refusal: Refusal) -> None:
        """Permit writing to the store (directory of notes) that `refusal` makes read-only.

        Called once a person has read the refusal and decided to write all the same. The permission is valid
        as long as the check finds exactly the same problem.
        """
        self.parts.write_guard.permit([refusal])

    def status(self, context: ScopeContext) -> StatusView:
        """Return the data of the footer of a context: consolidations, harvests, problems and costs.

        It is read from the agent's and Reverie's files, never from the return value of a run.
        """
        from reverie.services.run_views import status_view

        return status_view(self.parts, context, self._paid)

    def read(self, context: ScopeContext, path: str) -> FileText:
        """Read the memory at the memory path `path` for the editor; see `UserEdits.read`."""
        return self.edits.read(context, path)

    def author_of(self, context: ScopeContext, path: str, sha256: str, companion: Path | None = None) -> str:
        """Return the actor who wrote this content of a memory or companion; empty if unknown.

        `sha256`: the hash of the content; `companion`: the path of the companion, None for the memory at
        `path`.
        """
        try:
            return author_of(self.parts, context, path, sha256, companion)
        except (StoreError, Unavailable):
            return ""  # the author is only displayed; the next write reports the problem

    def save(self, context: ScopeContext, path: str, content: str, expected_sha256: str | None) -> FileText:
        """Write a memory by compare-and-swap; if `expected_sha256` is None, create it.

        Raises `Conflict` if the file differs from the version that the editor loaded.
        """
        return self.edits.save(context, path, content, expected_sha256)

    def templates(self) -> tuple[Template, ...]:
        """Return the templates for new memories."""
        return all_templates(self.parts.profile.config / "templates")

    def create(self, context: ScopeContext, path: str, template: str, description: str) -> FileText:
        """Create a memory whose text is `template`; add `description` to its front matter unless it is empty.

        `template` is the text itself, of which `{{title}}` and `{{date}}` are filled in. Raises `Conflict` if
        the file exists already.
        """
        content = filled(template, path, self.parts.clock())
        if description:
            rules = self.parts.home.caps.front_matter
            try:
                content = set_description(content, description, rules=rules)
            except FrontError as error:
                raise StoreError(
                    "The memory was not created.",
                    cause="The agent cannot read the front matter of the template.",
                    next_step="Correct the template, or leave the description empty.",
                ) from error
        return self.save(context, path, content, None)

    @property
    def facts(self) -> HomeFacts:
        """The features that the agent of this home has.

        Reads no file.
        """
        agent = self.parts.home
        return HomeFacts(
            takes_notes=agent.store_rules is not None,
            consolidates=agent.consolidates,
            extracts=agent.extraction is not None,
            has_failures=agent.failures is not None,
            keeps_session_notes=agent.notes is not None,
            loads_pinned=agent.sidecars is not None,
            may_lose_stores=agent.orphans is not None,
        )

    def add_note(self, context: ScopeContext, text: str) -> str:
        """Write `text` as a note to the agent; return the memory path of the note."""
        return add_note(self.parts, context, text)

    def apply_changes(
        self,
        context: ScopeContext,
        changes: Sequence[HandChange],
        *,
        kind: ChangeKind,
        subject: str,
        pins: Mapping[str, bool] | None = None,
    ) -> Undo:
        """Make several changes as one: all or nothing.

        `kind`: the kind of change, which decides about usage and limits. `subject`: the description in the
        history. `pins`: path -> whether it is pinned afterwards; None: no pin changes. Raises `Conflict` if a
        file is not as expected.
        """
        return self._changes.apply(context, changes, kind=kind, subject=subject, pins=pins)

    def restore(self, plan: RestorePlan, *, remove_newer: bool = False) -> Undo:
        """Carry out a restore that `timeline` planned; return the `Undo`.

        `remove_newer`: also delete the files in `plan.newer`, which do not exist in the restored state.
        Raises `Conflict` if a file changed since the plan was made.
        """
        changes, pins = self.timeline.changes(plan, remove_newer=remove_newer)
        context = plan.target.context
        if plan.target.beside:
            return self.companions.restore(context, changes)
        subject = f"Restored by hand: {plan.path}"
        return self.apply_changes(context, changes, kind="restore", subject=subject, pins=pins)

    def undo(self, undo: Undo) -> str:
        """Undo a change that a person made; return a message about it.

        Raises `Conflict` if a file was changed since; see `UserEdits.undo`.
        """
        return self.edits.undo(undo)

    def start_history(self) -> None:
        """Record the changes made while no watcher was running, and recover a run that was killed.

        Slow the first time.
        """

        from reverie.runs.run import recover

        try:
            settle(self.parts)
            recover(self.parts.run_dependencies, "recovery")
        finally:
            self.parts.snapshots.observe(source="a scan on opening")
            self._mark_started()

    def _mark_started(self) -> None:
        """Record that the history has everything that changed while no watcher was running."""
        self._seen.start()
        self._history_started.set()

    @property
    def history_started(self) -> bool:
        """Whether `start_history` has finished."""
        return self._history_started.is_set()

    def observe(self, changes: Changes) -> UsageRestored:
        """Record in the history the changes that a watcher saw, and restore overwritten pins and use counts.

        Returns the result of restoring the pins and use counts that the agent has overwritten. While its
        `pending` is True, the caller must call `keep_usage` a second later.
        """
        history = self.parts.snapshots.history
        head = history.head()
        self.parts.snapshots.observe(source="the watcher", dirty=None if changes.rescan else changes.paths)
        if head is not None and history.head() != head:
            self.change_log.tell_of_agent(head)
        sidecars = self.parts.home.sidecars
        if sidecars is None or not self._touches(changes, sidecars.usage):
            return UsageRestored()
        return self.keep_usage()

    def keep_usage(self) -> UsageRestored:
        """Restore pins and use counts that the agent overwrote, at most every few seconds.

        Returns the result.
        """
        return keep_usage(self.parts, patient=True)

    def lost_saves(self, changes: Changes) -> tuple[LostSave, ...]:
        """Return Reverie's writes of the last few seconds that these changes overwrote.

        Their texts are kept as drafts.
        """
        return self.parts.saves.check(None if changes.rescan else changes.paths)

    def mark_opened(self, context: ScopeContext) -> None:
        """Mark all present memories of the home as seen; do nothing before `start_history` has finished.

        `context` has no effect.
        """
        if self._history_started.is_set():
            self._seen.mark_all()

    def start_dream(
        self,
        context: ScopeContext,
        *,
        dry_run: bool,
        engine: str,
        progress: Callable[[Progress], None],
        cancel: threading.Event,
    ) -> RunResult:
        """Run a consolidation that a person requested; block until it is over, and return its result.

        `dry_run`: change nothing, only show the changes. `engine`: `auto`, `rules` or `PROVIDER:MODEL`.
        `progress` gets each step; setting `cancel` ends the run. Raises `StoreError` (reason "consent") if a
        person has not consented to the destination.
        """
        from reverie.jobs.consolidate.run import DreamRequest

        engine = self.models.choose(context, engine).engine
        self.models.require_consent(engine)
        request = DreamRequest(context, "manual", engine, dry_run)
        thinker = self.models.engine(engine, context, "manual")
        result = self.parts.telling_loaded(
            context, lambda: self.parts.dreams.run(request, thinker, cancel=cancel, progress=progress)
        )
        again = self.parts.coverage.look_again
        threading.Thread(target=again, name=LOOK_AGAIN, daemon=True).start()
        return result

    def runs(self, *, limit: int | None = None) -> tuple[RunRecord, ...]:
        """Return the newest runs of this home; at most `limit`, or all if it is None."""
        return self.parts.runs.all(limit=limit)

    def revert(self, run_id: str, part: Parts | None = None) -> RunResult:
        """Undo a run by a three-way merge; return the result of the undo, which is a run too.

        `part`: the files and hunks to undo; None: the whole run. Raises `UserError` if there is nothing to
        undo.
        """
        return self.parts.reverter.revert(run_id, part)

    def undo_run(self, context: ScopeContext, run_id: str, part: Parts | None = None) -> Undo:
        """Undo a run as `revert` does; return an `Undo` that makes the changes of the run again.

        `part`: the files and hunks to undo; None: the whole run. `context`: the context that a window shows
        after the `Undo` was used.
        """
        return run_undone(context, self.revert(run_id, part))

    def watch(self, deliver: Callable[[Changes], None], *, notify: Callable[[str], None]) -> Watcher:
        """Create a watcher of this home and its runs; it is not started yet.

        `deliver` gets each batch of changes, `notify` sentences for the user.
        """
        watch = self.parts.settings.watch
        watcher = Watcher(
            deliver,
            quiet_s=watch.quiet_ms / 1000,
            cap_s=watch.cap_ms / 1000,
            reconcile_s=watch.reconcile_minutes * 60 or None,
            polling=watch.polling,
            notify=notify,
        )
        watcher.set_targets(self.watch_targets())
        return watcher

    def watch_targets(self, context: ScopeContext | None = None) -> tuple[WatchTarget, ...]:
        """Return everything that a watcher of this home watches; see `services.unseen.watch_targets`.

        `context`: the context that is shown; None: no context is shown.
        """
        return watch_targets(self.parts, context)

    def relevant(self, context: ScopeContext, changes: Changes) -> Relevance:
        """Return which views of a context these changes affect; see `services.unseen.relevant`."""
        return relevant(self.parts, context, changes)

    def _scope(
        self,
        context: ScopeContext,
        scope: Scope,
        usage: Mapping[str, MemoryUsage],
        previous: ScopeListing | None,
        dirty: Collection[Path] | None,
        quick: bool,
    ) -> ScopeListing:
        home = self.parts.home
        try:
            root = home.scope_root(context, scope)
        except ScopeUnavailable as gap:
            return ScopeListing(None, gap.cause or gap.title, gap.gap, (), (), ())
        rules = partial(rules_of, home, root)
        if quick:
            return names_only(root, rules)
        return scan_scope(
            root,
            home.caps,
            usage,
            partial(home.usage_key, root),
            rules,
            previous=previous,
            dirty=dirty if previous is not None else None,
        )

    def _refusals(self, scopes: Mapping[Scope, ScopeListing]) -> dict[Scope, Refusal]:
        roots = {scope: listing.root for scope, listing in scopes.items() if listing.root is not None}
        found = {scope: self.parts.write_guard.refusal(root) for scope, root in roots.items()}
        return {scope: refusal for scope, refusal in found.items() if refusal is not None}

    def _unseen_in(self, scopes: Mapping[Scope, ScopeListing]) -> Mapping[str, UnseenKind]:
        if not self._history_started.is_set():
            return {}
        roots = {listing.root.key: listing.root for listing in scopes.values() if listing.root is not None}
        return self.unseen_in(roots)

    def unseen_in(self, roots: Mapping[str, ScopeRoot]) -> Mapping[str, UnseenKind]:
        """Return the kind of change of each memory in `roots` that others changed since a person saw it.

        `roots`: the roots to search, by key. The result is by memory path.
        """
        found = self._seen.unseen(roots).items()
        return {str(memory_path(roots[key].scope, rel)): kind for (key, rel), kind in found}

    @staticmethod
    def _touches(changes: Changes, path: Path) -> bool:
        return changes.rescan or path in changes.paths
