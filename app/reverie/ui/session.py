"""An open home in a window: its engine, its watcher, and the refreshes of its views.

Content reaches the views in one way: the watcher reports changes, a job reads the changed parts, and the
result is emitted. Nothing that the window does itself (saving, deleting, a consolidation) refreshes a view;
if the watcher is stopped, no view changes. There are four exceptions: the first read after a selection, an
explicit refresh, the marks of memories that the user has not seen, and whether another process still runs a
consolidation.

Threading: GUI thread. The engine is used only in jobs: on the scan lane (reading, edits by the user), the
history lane (snapshots of changes by other programs) and the consolidator lane. At most one refresh runs.
Changes that arrive meanwhile are merged into the next refresh, so each refresh ends even if a program writes
all the time.

Failure: if a refresh fails, the views keep their content, `trouble` is emitted, and the next refresh reads
everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, SignalInstance, Slot

from reverie.agents.scopes import Caps, ScopeContext
from reverie.engine.asking import ask
from reverie.engine.channel import Event, HomeChanged, HostChanged, Notice, Overwritten, Recorded
from reverie.engine.client import EngineClient
from reverie.errors import UserError
from reverie.files.watch import Changes
from reverie.profile import Profile
from reverie.services.views import TreesUpdate, updated
from reverie.ui.engine_link import EngineLink
from reverie.ui.jobs import JobControl, Lanes, Work, single_shot
from reverie.ui.tree.build import build_tree
from reverie.ui.tree.memory_tree import BY_NAME, Arrangement, MemoryTree
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.engine.engine import HomeEngine
    from reverie.files.watch import WatchState
    from reverie.services.views import HomeFacts, HomeInfo, MemoryView, Opened, Relevance, StatusView
from reverie.ui.home_watcher import HomeWatcher, LeasePoll


def reconnect(
    before: HomeSession | None,
    after: HomeSession | None,
    signals: Callable[[HomeSession], Iterable[SignalInstance]],
    slot: Callable[..., object],
) -> None:
    """Connect `slot` to signals of the home that is shown now, in place of the home that was shown before.

    `signals` returns the signals of a home. `before` and `after` are None if no home was, or is, shown.
    """
    for signal in signals(before) if before is not None else ():
        signal.disconnect(slot)
    for signal in signals(after) if after is not None else ():
        signal.connect(slot)


class WatchEvent(Struct, frozen=True):
    """The changes that the watcher of a home reported. `source` is the home's id."""

    source: str
    changes: Changes


class HomeOpened(Struct, frozen=True):
    """A home that was opened, with the facts about it that do not change."""

    workbench: HomeEngine
    profile: Profile
    info: HomeInfo
    caps: Caps
    facts: HomeFacts
    recent_workspace: str = ""
    is_demo: bool = False


async def open_home(path: Path, profile: Profile, engine: EngineClient) -> HomeOpened:
    """Let the engine open the home at `path`, and return the result. Must be called in a job."""
    return _opened(await ask(engine.services.open, path), profile, engine)


async def adopt_home(path: Path, known_id: str, profile: Profile, engine: EngineClient) -> HomeOpened:
    """Open the home at `path` with the history of the known home that was moved there.

    `known_id` is the id of the known home. Must be called in a job.
    """
    return _opened(await ask(engine.services.adopt, path, known_id), profile, engine)


def _opened(opened: Opened, profile: Profile, engine: EngineClient) -> HomeOpened:
    info = opened.info
    workbench = engine.home(info.root, info.id)
    return HomeOpened(workbench, profile, info, opened.caps, opened.facts, opened.recent_workspace)


RETRY_MS = 3000
_TITLES_AT_ONCE = 40
_MOST_TITLES = 500


class Choice(Struct, frozen=True):
    """The part of a home that the user selected: a workspace or a project.

    If both are None, only the home's global memory is selected.
    """

    workspace_id: str | None = None
    project_path: str | None = None


HOME_ALONE = Choice()


class TreeUpdate(Struct, frozen=True):
    """The current memory trees of a home, as `tree_changed` emits them to the views."""

    context: ScopeContext
    tree: MemoryTree
    view: MemoryView
    other: bool
    """True if the context differs from that of the previous update."""
    names_only: bool
    """True if this is a quick first read of the names, without contents."""
    changes: Changes | None = None
    serial: int = 0
    """The number of the state that the engine sent and stored; 0 for a first read, which is not stored."""


class _Refreshed(Struct, frozen=True):
    info: HomeInfo | None
    tree: TreeUpdate | None
    status: StatusView | None
    touched: Relevance | None
    watch: WatchState | None


class HomeSession(QObject):
    """An open home in a window. Its signals carry frozen values.

    Signals:
        arrived(WatchEvent): The watcher reported changes.
        info_changed(HomeInfo): Projects, workspaces or titles of the home have changed.
        tree_changed(TreeUpdate): The trees have changed.
        status_changed(StatusView): The status of the shown context has changed.
        runs_changed(): Runs were added or changed.
        outside_changed(): Something outside the selected part of the home has changed.
        activity_changed(): The activity of the background services has changed.
        traces_changed(): Traces were added or changed.
        project_changed(): The repository of the shown project has changed.
        trouble(UserError | None): A read failed; None once reading works again.
        watch_changed(WatchState): The state of the watcher has changed.
        history_started(): The history has started recording.
        marks_changed(): The marks of memories that the user has not seen may have changed.
        notified(str): There is a message for the user.
        overwritten(object): Another program overwrote saves: a tuple of `LostSave`.
        host_changed(str, HostStatus): The state of the background services of the home with this id has
            changed.
        engine_replaced(str): Requests to the engine for the home with this id have to be repeated.
    """

    arrived = Signal(object)
    info_changed = Signal(object)
    tree_changed = Signal(object)
    status_changed = Signal(object)
    runs_changed = Signal()
    outside_changed = Signal()
    activity_changed = Signal()
    traces_changed = Signal()
    project_changed = Signal()
    trouble = Signal(object)
    watch_changed = Signal(object)
    history_started = Signal()
    marks_changed = Signal()
    notified = Signal(str)
    overwritten = Signal(object)
    host_changed = Signal(str, object)
    engine_replaced = Signal(str)

    def __init__(
        self,
        opened: HomeOpened,
        lanes: Lanes,
        engine: EngineLink,
        *,
        watching: bool = True,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.workbench = opened.workbench
        self.profile = opened.profile
        self.engine = engine
        self.is_demo = opened.is_demo
        self.info = self._named(opened.info)
        self.caps = opened.caps
        self.facts = opened.facts
        self.recent_workspace = opened.recent_workspace
        self.lanes = lanes
        self.rescan_on_focus = True
        self.context: ScopeContext | None = None
        self.status: StatusView | None = None
        self._choice = Choice()
        self.arrangement = BY_NAME
        self._update: TreeUpdate | None = None
        self._everything = False
        self._pending: Changes | None = None
        self._refreshing = False
        self._unread = False
        self._titled: str | None = None
        self._reading_titles = False
        self._titles_wanted = ""
        self._titles_left = 0
        self._marks_stale = False
        self._closed = False
        self._history_started = False
        self.is_recorded = False
        """Whether the history has recorded every change that was reported."""
        engine.heard.connect(self._on_heard)
        engine.replaced.connect(self._on_engine_replaced)
        engine.lost.connect(self._on_engine_lost)
        self._watch = HomeWatcher(opened.workbench, lanes.scan, self, enabled=watching)
        self._watch.started.connect(self.watch_changed)
        self._watch.failed.connect(self._on_aside_failed)
        self._lease_poll = LeasePoll(opened.workbench, lanes.scan, self)
        self._lease_poll.status_read.connect(self._take_status)
        self._lease_poll.failed.connect(self._on_aside_failed)
        self._retry = single_shot(self, RETRY_MS, self.reload)

    @property
    def is_here(self) -> bool:
        """True if the home is on this machine."""
        return self.engine.machine is None

    @property
    def is_watched(self) -> bool:
        """True if the watcher of the home runs, so that changes on disk are reported."""
        return self._watch.is_started

    @Slot()
    def _on_engine_replaced(self) -> None:
        """Start the watcher again and read everything again, because another engine is connected now."""
        if self._closed:
            return
        self._watch.lost()
        self.is_recorded = self._history_started = False
        self.engine_replaced.emit(self.info.id)
        self.reload()

    @Slot(object)
    def _on_engine_lost(self, error: UserError) -> None:
        """Report that the machine of this home cannot be reached; the views keep their content."""
        if not self._closed:
            self._watch.lost()
            self.trouble.emit(error)

    def _named(self, info: HomeInfo) -> HomeInfo:
        """Return `info` with the label for the window, which also names the machine if it is another one.

        The label of the demo home is "Demo".
        """
        machine = self.engine.machine_name
        if self.is_demo:
            return replace(info, label=self.tr("Demo"))
        return replace(info, label=f"{info.label} · {machine}") if machine else info

    def select_place(self, workspace_id: str, project_path: str) -> None:
        """Show a workspace or a project; an empty argument means that none is selected."""
        self.select(Choice(workspace_id or None, project_path or None))

    def select(self, choice: Choice = HOME_ALONE) -> None:
        """Show the workspace or project `choice` of the home: first only the names in its trees, then all.

        Without a choice, only the global memories of the home are shown.
        """
        self._choice = choice
        self.context, self._update, self.status = None, None, None
        self._unread = False
        self._lease_poll.stop()
        self.lanes.scan.submit(
            "list names",
            self._names_job(choice),
            done=self._on_names,
            failed=self._on_names_failed,
            group=self._group,
        )

    @Slot()
    def reload(self) -> None:
        """Read all views of the selected part again."""
        if self.context is None:
            self.select(self._choice)
            return
        self._everything = True
        self._arrived(_changes(rescan=True))

    @property
    def _group(self) -> str:
        return f"select {self.info.id}"

    def _names_job(self, choice: Choice) -> Work[TreeUpdate]:
        workbench = self.workbench

        async def work(_control: JobControl) -> TreeUpdate:
            context = await ask(workbench.context, choice.workspace_id, choice.project_path)
            view = await ask(workbench.names, context)
            return TreeUpdate(context, build_tree(view, names_only=True), view, other=True, names_only=True)

        return work

    def _on_names(self, update: TreeUpdate) -> None:
        self.context = update.context
        self._update = update
        self._everything = True
        self._pending = None
        self.trouble.emit(None)
        self.tree_changed.emit(update)
        self._refresh_with(self._refresh_job(update, None))

    def _on_names_failed(self, error: UserError) -> None:
        """Report that the memories of the newly selected part could not be listed; start the watcher.

        The read is repeated soon, or when the watcher reports a change.
        """
        self._unread = True
        self._on_failed(error)
        self._watch.start(self.context)

    def _on_failed(self, error: UserError) -> None:
        """Report the error of a read and read everything again soon; the views keep their content.

        The repetition is needed because the cause of the error can disappear without an event.
        """
        self._everything = True
        if not self._closed:
            self._retry.start()
        self.trouble.emit(error)

    def _on_aside_failed(self, error: UserError) -> None:
        """Emit the error of a request as a message (`notified`), because no view depends on the request."""
        self.notified.emit(str(error))

    @Slot(object)
    def _on_heard(self, event: Event) -> None:
        if event.home != self.info.root or self._closed:
            return
        if isinstance(event, HomeChanged):
            self.is_recorded = False
            self.arrived.emit(WatchEvent(self.info.id, event.changes))
            self._arrived(event.changes)
        elif isinstance(event, Recorded):
            self._on_recorded(event)
        elif isinstance(event, Overwritten):
            self.overwritten.emit(event.saves)
        elif isinstance(event, Notice):
            self.notified.emit(event.sentence)
        elif isinstance(event, HostChanged):
            self.host_changed.emit(self.info.id, event.status)

    def _on_recorded(self, event: Recorded) -> None:
        self.is_recorded = True
        if not self._history_started:
            self._history_started = True
            self.history_started.emit()
        if event.pins_kept:
            self.notified.emit(
                self.tr(
                    "The running agent overwrites pins and use counts. Reverie keeps its own changes ({n}) "
                    "and writes them again until the agent restarts."
                ).format(n=event.pins_kept)
            )
        self._on_marked(None)

    def _on_marked(self, _nothing: None) -> None:
        """Announce that memories were marked as seen, and show the new marks in the trees."""
        self.marks_changed.emit()
        self.refresh_marks()

    def _arrived(self, changes: Changes) -> None:
        self._pending = changes if self._pending is None else self._pending.merged(changes)
        self._pump()

    def _pump(self) -> None:
        if self._refreshing or self._closed or (self._pending is None and not self._marks_stale):
            return
        if self._update is None:
            if self._unread and self._pending is not None:
                self.select(self._choice)
            return
        changes, self._pending = self._pending or _changes(), None
        marks, self._marks_stale = self._marks_stale, False
        self._refresh_with(self._refresh_job(self._update, changes, everything=self._everything, marks=marks))

    def _refresh_with(self, work: Work[_Refreshed]) -> None:
        self._refreshing = True
        self.lanes.scan.submit(
            "refresh",
            work,
            done=self._on_refreshed,
            failed=self._on_refresh_failed,
            cancelled=self._on_refresh_cancelled,
            group=self._group,
        )

    def _refresh_job(
        self, update: TreeUpdate, changes: Changes | None, *, everything: bool = False, marks: bool = False
    ) -> Work[_Refreshed]:
        workbench, arrangement = self.workbench, self.arrangement

        async def work(_control: JobControl) -> _Refreshed:
            found = await ask(
                workbench.refresh,
                update.context,
                changes,
                known=update.serial,
                everything=everything,
                marks=marks,
            )
            after = None if found.trees is None else _followed(update, found.trees, arrangement, changes)
            return _Refreshed(found.info, after, found.status, found.touched, found.watch)

        return work

    def _on_refreshed(self, found: _Refreshed) -> None:
        self._refreshing = False
        self._everything = False
        self._retry.stop()
        self.trouble.emit(None)
        if found.info is not None:
            self._take_info(found.info)
        if found.tree is not None:
            if self.arrangement.show == "changed":
                self.also_show(found.tree.view.changed_by_others)
            self._update = found.tree
            self.tree_changed.emit(found.tree)
        if found.status is not None:
            self._take_status(found.status)
        touched = found.touched
        if touched is not None and touched.contents:
            self.outside_changed.emit()
        if touched is not None and touched.runs:
            self.runs_changed.emit()
        if touched is not None and touched.activity:
            self.activity_changed.emit()
        if touched is not None and touched.traces:
            self.traces_changed.emit()
        if touched is not None and touched.project:
            self.project_changed.emit()
        if found.watch is not None:
            self.watch_changed.emit(found.watch)
        self._watch.start(self.context)
        self._pump()
        project = (self.context.project_path if self.context is not None else None) or ""
        if found.info is not None or self._titled != project:
            self._titled = project
            self._read_titles(project)

    def _take_info(self, found: HomeInfo) -> None:
        info = self._named(found)
        if info != self.info:
            self.info = info
            self.info_changed.emit(info)

    def _read_titles(self, project: str) -> None:
        """Read missing titles of workspaces in small jobs: those of `project` first, newest first.

        A job that has started is never superseded, because the engine reads each title only once, so its
        result would be lost.
        """
        self._titles_wanted, self._titles_left = project, _MOST_TITLES
        if not self._reading_titles:
            self._read_some_titles()

    def _read_some_titles(self) -> None:
        workbench, project = self.workbench, self._titles_wanted
        self._reading_titles = True
        self._titles_left -= _TITLES_AT_ONCE

        def done(found: tuple[bool, HomeInfo | None]) -> None:
            self._reading_titles = False
            any_read, info = found
            if self._closed:
                return
            if info is not None:
                self._take_info(info)
            if (any_read or project != self._titles_wanted) and self._titles_left > 0:
                self._read_some_titles()

        self.lanes.scan.submit(
            "read titles",
            ask(workbench.learn_titles, _TITLES_AT_ONCE, project),
            done=done,
            failed=self._on_no_titles,
        )

    def _on_no_titles(self, error: UserError) -> None:
        self._reading_titles = False
        self._on_aside_failed(error)

    def _on_refresh_failed(self, error: UserError) -> None:
        self._refreshing = False
        self._on_failed(error)
        self._watch.start(self.context)
        self._pump()

    def _on_refresh_cancelled(self) -> None:
        self._refreshing = False
        self._everything = True

    def _take_status(self, status: StatusView) -> None:
        self.status = status
        self.status_changed.emit(status)
        self._lease_poll.follow(self.context, status)

    def arrange(self, arrangement: Arrangement) -> None:
        """Set the order and the filter of the files in the trees; no file is read."""
        same = arrangement.show == self.arrangement.show
        self.arrangement = arrangement._replace(also=self.arrangement.also if same else frozenset())
        self.refresh_marks()

    def also_show(self, paths: Iterable[str]) -> None:
        """Show these memories in the trees even if the filter would hide them."""
        if self.arrangement.show != "all":
            self.arrangement = self.arrangement._replace(also=self.arrangement.also | frozenset(paths))

    @Slot()
    def refresh_marks(self) -> None:
        """Get the trees from the engine again, with the current marks of unseen memories; no file is read."""
        self._marks_stale = True
        self._pump()

    def mark_seen(self) -> None:
        """Mark all present memories of the selected context as seen."""
        self.arrangement = self.arrangement._replace(also=frozenset())
        if self.context is not None:
            workbench, context = self.workbench, self.context

            self.lanes.history.submit(
                "mark as seen", ask(workbench.mark_opened, context), done=self._on_marked
            )

    def focused(self) -> None:
        """Compare the home with the disk, because the window got the focus and events may have been missed.

        Does nothing if the home is not watched or `rescan_on_focus` is False.
        """
        if self.is_watched and self.rescan_on_focus:
            self._watch.rescan("focus")

    def close(self, *, leave: bool = True) -> None:
        """Stop emitting signals and refreshing, because the home or the window closes.

        `leave`: also tell the engine, in a job, that this window no longer needs the home. Otherwise the
        engine notices that when the connection ends.
        """
        self._closed = True
        self._lease_poll.stop()
        self._retry.stop()
        self.lanes.scan.abandon(self._group)
        self._update = None
        if leave:
            workbench = self.workbench

            self.lanes.scan.submit("stop watching", ask(workbench.forget_client), done=lambda _nothing: None)


def _followed(
    update: TreeUpdate, found: TreesUpdate, arrangement: Arrangement, changes: Changes | None
) -> TreeUpdate:
    """Return the update of the trees after the engine has sent `found`, which may have only differences.

    `update`: the update to which they refer. `changes`: the changes on disk that caused this; None for a
    first read.
    """
    view = updated(found, update.view)
    tree = build_tree(view, update.tree, unseen=view.unseen, arrangement=arrangement)
    return TreeUpdate(
        update.context, tree, view, other=False, names_only=False, changes=changes, serial=found.serial
    )


def _changes(*, rescan: bool = False) -> Changes:
    return Changes(frozenset(), rescan, 0, ())
