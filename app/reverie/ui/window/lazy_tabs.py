"""The tabs that are not needed at once, Changes, Traces and Transcripts, and the two pages that
stand in place of the editor: what the agent sees, and what its next attempt is sent.

Placeholders hold their places from the start. A job imports the modules of the tabs once the first tree is on
screen, and each tab is built when it is first shown or asked for; only Traces is built at once, because the
background services report to it. Until then nothing can be paused and no services are hosted.

Threading: GUI thread; the imports are a job. Failure: an import that fails is a bug.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QStatusBar, QTabWidget, QWidget

from reverie.clock import Clock
from reverie.ui.appearance import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.footer_control import FooterControl
from reverie.ui.session import HomeSession
from reverie.ui.traces.feed import Followed, View
from reverie.ui.window.homes import OpenHomes
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.ui.changes.control import ChangesControl
    from reverie.ui.context_tab import ContextControl, ContextTab
    from reverie.ui.failures_tab import FailuresControl, FailuresTab
    from reverie.ui.memory.tab import MemoryTab
    from reverie.ui.traces.tab import TracesTab
    from reverie.ui.transcripts.tab import JobsDialog, TranscriptsTab
    from reverie.ui.window.other_tabs import OtherTabs, ServicesView


_CHANGES, _TRACES, _TRANSCRIPTS = range(1, 4)
"""The places of the tabs."""


class TabContext(Struct, frozen=True):
    """What the tabs are built with."""

    icons: Icons
    clock: Clock
    lane: Lane
    history: Lane
    dreams: FooterControl
    homes: OpenHomes
    memory: MemoryTab


class LazyTabs(QObject):
    """Signals: `built()`: the tabs can be shown; `changed()`: the set of enabled actions may have changed;
    `open_wanted(str)`: show this memory in the editor; `settings_wanted(str)`: a page of the settings;
    `worth_wanted()`: show what is worth a look; `status_message(str)`."""

    built = Signal()
    open_wanted = Signal(str)
    worth_wanted = Signal()
    settings_wanted = Signal(str)
    changed = Signal()
    status_message = Signal(str)

    def __init__(self, tabs: QTabWidget, status_bar: QStatusBar, context: TabContext) -> None:
        super().__init__(tabs)
        self._tabs = tabs
        self._status_bar = status_bar
        self._context = context
        self._session: HomeSession | None = None
        self._followed: Followed | None = None
        self._asked = self._closed = self._hosting = False
        self._changes: ChangesControl | None = None
        self._shown_when_built: Callable[[], None] | None = None
        self._view: View = "runs"
        self._traces: TracesTab | None = None
        self._services: ServicesView | None = None
        self._transcripts: TranscriptsTab | None = None
        self._jobs: JobsDialog | None = None
        self._others: OtherTabs | None = None
        self._context_control: ContextControl | None = None
        self._failures_control: FailuresControl | None = None
        for title in self._titles():
            tabs.addTab(QWidget(), title)
        context.dreams.review_wanted.connect(self._on_review_wanted)
        context.memory.orphans.history_wanted.connect(self._on_history_wanted)
        tabs.currentChanged.connect(self._on_current)

    def _titles(self) -> tuple[str, ...]:
        return (
            self.tr("Changes"),
            self.tr("Traces"),
            self.tr("Transcripts"),
        )

    @property
    def is_built(self) -> bool:
        return self._services is not None

    @property
    def changes(self) -> ChangesControl:
        """Not before `built`."""
        return self._changes or self._make_changes()

    @property
    def traces(self) -> TracesTab:
        """Not before `built`."""
        assert self._traces is not None
        return self._traces

    @property
    def services(self) -> ServicesView:
        """Not before `built`."""
        assert self._services is not None
        return self._services

    @property
    def transcripts(self) -> TranscriptsTab:
        """Not before `built`."""
        return self._transcripts or self._make_transcripts()

    @property
    def context(self) -> ContextTab:
        """Not before `built`."""
        return self.context_control.tab

    @property
    def context_control(self) -> ContextControl:
        """Not before `built`."""
        return self._context_control or self._make_context()

    @property
    def failures(self) -> FailuresTab:
        """Not before `built`."""
        return self.failures_control.tab

    @property
    def failures_control(self) -> FailuresControl:
        """Not before `built`."""
        return self._failures_control or self._make_failures()

    @property
    def has_failures(self) -> bool:
        """Whether the agent of the shown home learns of failing."""
        return self._session is not None and self._session.facts.has_failures

    @property
    def agent_jobs(self) -> JobsDialog | None:
        """None until it was asked for."""
        return self._jobs

    def load(self) -> None:
        """Something is on screen by now; asked again, nothing happens."""
        if self._asked or self._closed:
            return
        self._asked = True

        def work(_control: JobControl) -> None:
            # Late: the first tree is on screen by now.
            from reverie.ui.window import other_tabs as _loaded  # noqa: F401

        session = self._context.memory.session
        # Where trees, files and saves are worked on, what one does first would wait for it.
        lane = session.lanes.history if session is not None else self._context.lane
        lane.submit("load the other tabs", work, done=lambda _nothing: self._build())

    def _build(self) -> None:
        if self._closed:
            return
        from reverie.ui.window.other_tabs import OtherTabs  # late: a job has imported it

        context = self._context
        self._others = OtherTabs(context.icons, context.clock, context.lane, context.memory)
        traces = self._make_traces()
        services = self._services = self._others.services(traces)
        self._status_bar.insertPermanentWidget(0, services.label)
        context.dreams.footer.aged.connect(traces.log.list.viewport().update)
        services.status_message.connect(self.status_message)
        services.changed.connect(self.changed)
        services.checks.fixed.connect(context.memory.editor.permission_changed)
        if self._session is not None:
            services.set_session(self._session)
        if self._hosting:
            services.run_for(context.homes.sessions)
        self._on_current(self._tabs.currentIndex())
        if self._shown_when_built is not None:
            self._shown_when_built()
            self._shown_when_built = None
        self.built.emit()
        self.changed.emit()

    @Slot(int)
    def _on_current(self, index: int) -> None:
        """A tab is shown: build it if it is not built yet."""
        makers = {
            _CHANGES: (self._changes, self._make_changes),
            _TRANSCRIPTS: (self._transcripts, self._make_transcripts),
        }
        if self.is_built and not self._closed and index in makers:
            there, make = makers[index]
            if there is None:
                make()

    @property
    def _ready(self) -> OtherTabs:
        assert self._others is not None
        return self._others

    def _make_changes(self) -> ChangesControl:
        control = self._changes = self._ready.changes(self._context.history)
        control.open_wanted.connect(self.open_wanted)
        control.worth_wanted.connect(self.worth_wanted)
        control.set_session(self._session)
        self._take_place(_CHANGES, control.tab)
        return control

    def _make_traces(self) -> TracesTab:
        context = self._context
        traces = self._traces = self._ready.traces()
        for session in context.homes.sessions:
            traces.add_session(session)
        context.homes.opened.connect(traces.add_session)
        traces.follow_place(self._followed)
        traces.status_message.connect(self.status_message)
        traces.settings_wanted.connect(self.settings_wanted)
        traces.show_view(self._view)
        self._take_place(_TRACES, traces)
        return traces

    def _make_transcripts(self) -> TranscriptsTab:
        transcripts = self._transcripts = self._ready.transcripts()
        transcripts.status_message.connect(self.status_message)
        if self._session is not None:
            transcripts.set_session(self._session)
        self._take_place(_TRANSCRIPTS, transcripts)
        return transcripts

    def _make_context(self) -> ContextControl:
        control = self._context_control = self._ready.context()
        control.open_wanted.connect(self._on_open_wanted)
        self._context.memory.memory_picked.connect(control.tab.select)
        if self._session is not None:
            control.set_session(self._session, self._context.memory.update_)
        return control

    def _make_failures(self) -> FailuresControl:
        control = self._failures_control = self._ready.failures()
        control.open_wanted.connect(self._on_open_wanted)
        control.changed.connect(self._context.memory.situation_changed)
        control.tab.transcript_wanted.connect(self.show_transcript)
        if self._session is not None:
            control.set_session(self._session)
        return control

    def _take_place(self, index: int, widget: QWidget) -> None:
        """What was held is there now: shown, if its place is."""
        tabs, place = self._tabs, self._tabs.widget(index)
        shown, visible = tabs.currentIndex(), tabs.isTabVisible(index)
        # The place goes only afterwards: else another tab would come to the front for a moment.
        blocked = tabs.blockSignals(True)
        tabs.insertTab(index + 1, widget, tabs.tabText(index))
        tabs.setTabVisible(index + 1, visible)
        if shown == index:
            tabs.setCurrentIndex(index + 1)
        tabs.removeTab(index)
        tabs.blockSignals(blocked)
        if place is not None:
            place.deleteLater()

    def set_session(self, session: HomeSession | None) -> None:
        """The home that is shown; None: none is open."""
        self._session = session
        if self._jobs is not None:
            self._jobs.close()
        parts = (self._services, self._transcripts, self._context_control, self._failures_control)
        for part in (self._changes, *parts):
            if part is not None:
                part.set_session(session)
        if not self.has_failures and self.beside == "failures":
            self._context.memory.show_beside(None)

    @Slot(object)
    def remove_session(self, session: HomeSession) -> None:
        """A home was closed."""
        if self._changes is not None and self._changes.session is session:
            self._changes.set_session(self._session)
        if self._traces is not None:
            self._traces.remove_session(session)
        if self._services is not None:
            self._services.host.remove(session.info.id)

    def follow_place(self, followed: Followed | None) -> None:
        """Another home or project is selected at the left; None: none is open."""
        self._followed = followed
        if self._traces is not None:
            self._traces.follow_place(followed)

    def host(self) -> None:
        """Host the services of the open homes where they are wanted."""
        self._hosting = True
        if self._services is not None:
            self._services.run_for(self._context.homes.sessions)

    @Slot()
    def settings_changed(self) -> None:
        """Other settings or keys count now."""
        if self._services is not None:
            self._services.settings_changed()

    def hosts(self, home_id: str) -> bool:
        """Whether the background services of a home run here."""
        status = self._services.host.status(home_id) if self._services is not None else None
        return status is not None and status.state == "hosting"

    def focused(self) -> None:
        """The window has the focus again."""
        if self._services is not None:
            self._services.host.recheck()

    def stop(self) -> None:
        """The window closes."""
        self._closed = True
        controls = (self._context_control, self._failures_control)
        for part in (self._changes, self._services, self._traces, self._transcripts, *controls):
            if part is not None:
                part.stop()

    @property
    def can_pause(self) -> bool:
        return self._services is not None and self._services.can_pause

    @property
    def paused(self) -> bool:
        return self._services is not None and self._services.paused

    @Slot()
    def toggle_pause(self) -> None:
        """Pause the background services of the shown home here, or go on."""
        if self._services is not None:
            self._services.toggle_pause()

    @Slot()
    def show_changes(self) -> None:
        self._tabs.setCurrentIndex(_CHANGES)

    @Slot()
    def show_runs(self) -> None:
        """What the consolidations changed."""
        self._in_changes(lambda: self.changes.show_runs())

    @Slot()
    def show_deleted(self) -> None:
        """Deleted memories, to be restored."""
        self._in_changes(lambda: self.changes.show_deleted())

    @Slot()
    def show_history(self) -> None:
        """What happened to what is selected."""
        path = self._context.memory.path_for_history()
        self._in_changes(lambda: self.changes.show_history(path))

    @Slot(object, str, object)
    def _on_history_wanted(self, session: HomeSession, path: str, context: ScopeContext) -> None:
        if session is self._session:
            self._in_changes(lambda: self.changes.show_history(path, context))

    @Slot(object, str)
    def _on_review_wanted(self, session: HomeSession, run_id: str) -> None:
        """The run may be of a home that was shown before."""

        def show() -> None:
            if session is not self.changes.session:
                self.changes.set_session(session)
            self.changes.show_change(run_id)

        self._in_changes(show)

    def _in_changes(self, show: Callable[[], None]) -> None:
        """Bring the tab to the front and show something there, once it can be."""
        self.show_changes()
        if self.is_built:
            show()
        else:
            self._shown_when_built = show

    @Slot()
    def show_traces(self) -> None:
        """The runs of the shown workspace."""
        self._show_view("runs")

    @Slot()
    def show_log(self) -> None:
        """What the background services did."""
        self._show_view("log")

    @Slot()
    def show_checks(self) -> None:
        """Every check of the shown workspace."""
        self._show_view("checks")

    def _show_view(self, view: View) -> None:
        """A view of Traces, now or once it is built."""
        self._view = view
        if self._traces is not None:
            self._traces.show_view(view)
        self._tabs.setCurrentIndex(_TRACES)

    @Slot()
    def show_transcripts(self) -> None:
        self._tabs.setCurrentIndex(_TRANSCRIPTS)

    @property
    def beside(self) -> str:
        """Which page stands in place of the editor: `context` or `failures`; empty for neither."""
        shown = self._context.memory.beside
        for name, control in (("context", self._context_control), ("failures", self._failures_control)):
            if control is not None and control.tab is shown:
                return name
        return ""

    @Slot()
    def show_context(self) -> None:
        """What the agent sees, in place of the editor."""
        if self.is_built:
            self._context.memory.show_beside(self.context)

    @Slot()
    def show_failures(self) -> None:
        """What is sent to the next attempt; only where the agent learns of failing."""
        if self.has_failures and self.is_built:
            self._context.memory.show_beside(self.failures)

    @Slot()
    def toggle_context(self) -> None:
        """Show what the agent sees, or the editor again."""
        self._toggle("context", self.show_context)

    @Slot()
    def toggle_failures(self) -> None:
        """Show what is sent to the next attempt, or the editor again."""
        self._toggle("failures", self.show_failures)

    def _toggle(self, page: str, show: Callable[[], None]) -> None:
        if self.beside == page and self._tabs.currentIndex() == 0:
            self._context.memory.show_beside(None)
        else:
            show()
        self.changed.emit()

    @Slot(str)
    def _on_open_wanted(self, path: str) -> None:
        """A memory of the shown home is to be seen in the editor."""
        self._tabs.setCurrentIndex(0)
        self._context.memory.show_beside(None)
        self._context.memory.tree.reveal(path)

    @Slot(str)
    def show_transcript(self, source_id: str) -> None:
        """One transcript of the shown home, by its id."""
        self.show_transcripts()
        if self._transcripts is not None:
            self._transcripts.show_source(source_id)

    @Slot()
    def show_agent_jobs(self) -> None:
        """Show the background jobs of the shown home's agent."""
        if self._session is None or not self.is_built:
            return
        if self._jobs is None:
            self._jobs = self._ready.jobs(self._tabs)
            self._jobs.transcript_wanted.connect(self.show_transcript)
        self._jobs.show_jobs(self._session)
