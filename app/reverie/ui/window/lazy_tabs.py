"""The parts of the window that are built on demand, to show the first tree sooner.

These are the tabs Changes, Traces and Transcripts, two pages that are shown in place of the editor, and the
background services. The pages are Context (the text that the agent loads) and Failures (the lessons that its
next attempt gets). At first the tabs are empty placeholders. Once the first tree is on screen, a job imports
the table of factories and the services are built; each tab is built when it is first shown or requested.
Until the services are built, none can be hosted or paused.

Threading: GUI thread; the imports are a job. Failure: an import that fails is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QStatusBar, QTabWidget, QWidget

from reverie.ui.jobs import JobControl
from reverie.ui.session import HomeSession
from reverie.ui.traces.feed import Followed, View

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.ui.changes.control import ChangesControl
    from reverie.ui.context_tab import ContextTab
    from reverie.ui.failures_tab import FailuresTab
    from reverie.ui.traces.tab import TracesTab
    from reverie.ui.transcripts.tab import JobsDialog, TranscriptsTab
    from reverie.ui.window.services import ServicesView
from reverie.ui.window.tab_context import Factory, TabContext

_CHANGES, _TRACES, _TRANSCRIPTS = range(1, 4)
"""The indexes of the tabs."""


class LazyTabs(QObject):
    """The tabs Changes, Traces and Transcripts, and the pages shown in place of the editor, built on demand.

    The pages are Context and Failures. The background services of the homes are also requested here.

    Signals:
        built(): The code of the tabs is loaded, so the tabs can be shown.
        changed(): The set of enabled actions may have changed.
        open_wanted(str): Request to show the memory with this path in the editor.
        settings_wanted(str): Request to show this page of the settings.
        worth_wanted(): Request to show the page "Worth a look".
        status_message(str): There is a message for the status bar.
    """

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
        self._shown_when_built: Callable[[], None] | None = None
        self._view: View = "runs"
        self._factories: Mapping[str, Factory] = {}
        self._parts: dict[str, Any] = {}
        for title in (self.tr("Changes"), self.tr("Traces"), self.tr("Transcripts")):
            tabs.addTab(QWidget(), title)
        context.dreams.review_wanted.connect(self._on_review_wanted)
        context.memory.orphans.history_wanted.connect(self._on_history_wanted)
        tabs.currentChanged.connect(self._on_current)

    def _part(self, name: str) -> Any:
        """Return the tab, page or controller called `name`; build it if necessary.

        Call this only after `load` has imported the code.
        """
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = self._factories[name](self._context)
            getattr(self, f"_connect_{name}")(part)
        return part

    @property
    def is_built(self) -> bool:
        """True if every tab and page can be used; each is built on first use."""
        return "services" in self._parts

    @property
    def changes(self) -> ChangesControl:
        """The controller of the Changes tab; use it only after `built`."""
        control: ChangesControl = self._part("changes")
        return control

    @property
    def traces(self) -> TracesTab:
        """The Traces tab; use it only after `built`."""
        tab: TracesTab = self._part("traces")
        return tab

    @property
    def services(self) -> ServicesView:
        """The view of the background services (status bar and Traces tab); use it only after `built`."""
        services: ServicesView = self._parts["services"]
        return services

    @property
    def transcripts(self) -> TranscriptsTab:
        """The Transcripts tab; use it only after `built`."""
        tab: TranscriptsTab = self._part("transcripts")
        return tab

    @property
    def context(self) -> ContextTab:
        """The Context page, with the text that the agent loads; use it only after `built`."""
        tab: ContextTab = self._part("context")
        return tab

    @property
    def failures(self) -> FailuresTab:
        """The Failures page; use it only after `built`."""
        tab: FailuresTab = self._part("failures")
        return tab

    @property
    def has_failures(self) -> bool:
        """True if the agent of the shown home learns from failures, so that there is a Failures page."""
        return self._session is not None and self._session.facts.has_failures

    @property
    def agent_jobs(self) -> JobsDialog | None:
        """The dialog with the agent's own background jobs; None before it is first shown."""
        return self._parts.get("jobs")

    def load(self) -> None:
        """Import the code of the tabs in a job, then build the view `services` and emit `built`.

        Later calls do nothing.
        """
        if self._asked or self._closed:
            return
        self._asked = True

        def work(_control: JobControl) -> Mapping[str, Factory]:
            from reverie.ui.window.tab_factories import FACTORIES  # late: the first tree is on screen by now

            return FACTORIES

        session = self._context.memory.session
        # On the lane of trees, files and saves, the first requests would wait for the imports.
        lane = session.lanes.history if session is not None else self._context.lane
        lane.submit("load the other tabs", work, done=self._build)

    def _build(self, factories: Mapping[str, Factory]) -> None:
        """Store the imported functions that build the tabs; build `services` and the tab that is shown."""
        if self._closed:
            return
        self._factories = factories
        self._part("services")
        self._on_current(self._tabs.currentIndex())
        if self._shown_when_built is not None:
            self._shown_when_built()
            self._shown_when_built = None
        self.built.emit()
        self.changed.emit()

    @Slot(int)
    def _on_current(self, index: int) -> None:
        """Build the tab at `index`, which is shown now, if it is not built yet."""
        name = {_CHANGES: "changes", _TRACES: "traces", _TRANSCRIPTS: "transcripts"}.get(index)
        if self.is_built and not self._closed and name is not None:
            self._part(name)

    def _connect_changes(self, control: ChangesControl) -> None:
        control.open_wanted.connect(self.open_wanted)
        control.worth_wanted.connect(self.worth_wanted)
        control.set_session(self._session)
        self._replace_placeholder(_CHANGES, control.tab)

    def _connect_traces(self, traces: TracesTab) -> None:
        homes = self._context.homes
        for session in homes.sessions:
            traces.add_session(session)
        homes.opened.connect(traces.add_session)
        traces.follow_place(self._followed)
        traces.status_message.connect(self.status_message)
        traces.settings_wanted.connect(self.settings_wanted)
        traces.show_view(self._view)
        context, services = self._context, self.services
        services.show_in(traces)
        services.checks.fixed.connect(context.memory.editor.permission_changed)
        context.dreams.footer.aged.connect(traces.log.list.viewport().update)
        self._replace_placeholder(_TRACES, traces)

    def _connect_services(self, services: ServicesView) -> None:
        context = self._context
        self._status_bar.insertPermanentWidget(0, services.label)
        services.status_message.connect(self.status_message)
        services.changed.connect(self.changed)
        if self._session is not None:
            services.set_session(self._session)
        if self._hosting:
            services.run_for(context.homes.sessions)

    def _connect_transcripts(self, transcripts: TranscriptsTab) -> None:
        transcripts.status_message.connect(self.status_message)
        if self._session is not None:
            transcripts.set_session(self._session)
        self._replace_placeholder(_TRANSCRIPTS, transcripts)

    def _connect_context(self, tab: ContextTab) -> None:
        memory = self._context.memory
        tab.open_wanted.connect(self._on_open_wanted)
        memory.memory_picked.connect(tab.list.pick)
        if self._session is not None:
            tab.set_session(self._session, memory.update_)

    def _connect_failures(self, tab: FailuresTab) -> None:
        tab.open_wanted.connect(self._on_open_wanted)
        tab.changed.connect(self._context.memory.situation_changed)
        tab.transcript_wanted.connect(self.show_transcript)
        if self._session is not None:
            tab.set_session(self._session)

    def _connect_jobs(self, dialog: JobsDialog) -> None:
        dialog.transcript_wanted.connect(self.show_transcript)

    def _replace_placeholder(self, index: int, widget: QWidget) -> None:
        """Replace the placeholder tab at `index` by `widget`; if it was shown, `widget` is shown."""
        tabs, place = self._tabs, self._tabs.widget(index)
        shown, visible = tabs.currentIndex(), tabs.isTabVisible(index)
        # The placeholder is removed only afterwards, or another tab would come to the front for a moment.
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
        """Show this home in the tabs that are built; None if no home is open."""
        self._session = session
        if self.agent_jobs is not None:
            self.agent_jobs.close()
        for name in ("changes", "services", "transcripts", "context", "failures"):
            if name in self._parts:
                self._parts[name].set_session(session)
        if not self.has_failures and self.beside == "failures":
            self._context.memory.show_beside(None)

    @Slot(object)
    def remove_session(self, session: HomeSession) -> None:
        """Remove a home that was closed from the tabs and the services."""
        if "changes" in self._parts and self.changes.session is session:
            self.changes.set_session(self._session)
        if "traces" in self._parts:
            self.traces.remove_session(session)
        if self.is_built:
            self.services.host.remove(session.info.id)

    def follow_place(self, followed: Followed | None) -> None:
        """Show the runs of the selected home, project or workspace in the Traces tab.

        `followed`: the selection in the list of homes; None if no home is open.
        """
        self._followed = followed
        if "traces" in self._parts:
            self.traces.follow_place(followed)

    def host(self) -> None:
        """Request that the background services of all open homes run.

        If `is_built` is False, the request is carried out later, once the services are built. Of the services
        of a home, only those that its settings enable are run.
        """
        self._hosting = True
        if self.is_built:
            self.services.run_for(self._context.homes.sessions)

    @Slot()
    def settings_changed(self) -> None:
        """Apply changed settings, or changed keys of model providers, to the background services."""
        if self.is_built:
            self.services.settings_changed()

    def hosts(self, home_id: str) -> bool:
        """Return True if the background services of the home with this id run for this window."""
        status = self.services.host.status(home_id) if self.is_built else None
        return status is not None and status.state == "hosting"

    def focused(self) -> None:
        """Request the background services again; call this when the window gets the focus.

        Another process may have changed in the settings which services are enabled.
        """
        if self.is_built:
            self.services.host.recheck()

    def stop(self) -> None:
        """Stop the controllers of the tabs, because the window closes."""
        self._closed = True
        for name in ("changes", "services", "traces", "transcripts", "context", "failures"):
            if name in self._parts:
                self._parts[name].stop()

    @property
    def can_pause(self) -> bool:
        return self.is_built and self.services.can_pause

    @property
    def paused(self) -> bool:
        return self.is_built and self.services.paused

    @Slot()
    def toggle_pause(self) -> None:
        """Pause or resume the background services of the home that is shown."""
        if self.is_built:
            self.services.toggle_pause()

    @Slot()
    def show_changes(self) -> None:
        self._tabs.setCurrentIndex(_CHANGES)

    @Slot()
    def show_runs(self) -> None:
        """Show the list of consolidations in the Changes tab, with the changes that each made."""
        self._in_changes(lambda: self.changes.show_runs())

    @Slot()
    def show_deleted(self) -> None:
        """Show the list of deleted memories in the Changes tab, where they can be restored."""
        self._in_changes(lambda: self.changes.show_deleted())

    @Slot()
    def show_history(self) -> None:
        """Show in the Changes tab the history of the selected row, else of the open memory.

        If there is neither, the history of the global memories is shown.
        """
        path = self._context.memory.path_for_history()
        self._in_changes(lambda: self.changes.show_history(path))

    @Slot(object, str, object)
    def _on_history_wanted(self, session: HomeSession, path: str, context: ScopeContext) -> None:
        if session is self._session:
            self._in_changes(lambda: self.changes.show_history(path, context))

    @Slot(object, str)
    def _on_review_wanted(self, session: HomeSession, run_id: str) -> None:
        """Show the changes of a run in the Changes tab, even if it belongs to a home that is not shown."""

        def show() -> None:
            if session is not self.changes.session:
                self.changes.set_session(session)
            self.changes.show_change(run_id)

        self._in_changes(show)

    def _in_changes(self, show: Callable[[], None]) -> None:
        """Bring the Changes tab to the front and call `show`, at once or as soon as the tab can be built."""
        self.show_changes()
        if self.is_built:
            show()
        else:
            self._shown_when_built = show

    @Slot()
    def show_traces(self) -> None:
        """Show the runs of the selected workspace in the Traces tab."""
        self._show_view("runs")

    @Slot()
    def show_log(self) -> None:
        """Show the log of the background services in the Traces tab."""
        self._show_view("log")

    @Slot()
    def show_checks(self) -> None:
        """Show in the Traces tab the checks of the selected workspace, which tell why jobs did not run."""
        self._show_view("checks")

    def _show_view(self, view: View) -> None:
        """Show the Traces tab with this view, at once or when the tab is built.

        `view` is `runs`, `log` or `checks`.
        """
        self._view = view
        if "traces" in self._parts:
            self.traces.show_view(view)
        self._tabs.setCurrentIndex(_TRACES)

    @Slot()
    def show_transcripts(self) -> None:
        self._tabs.setCurrentIndex(_TRANSCRIPTS)

    @property
    def beside(self) -> str:
        """The page that is shown in place of the editor: `context` or `failures`; "" for neither."""
        shown = self._context.memory.beside
        for name in ("context", "failures"):
            if name in self._parts and self._parts[name] is shown:
                return name
        return ""

    @Slot()
    def show_context(self) -> None:
        """Show the Context page in place of the editor."""
        if self.is_built:
            self._context.memory.show_beside(self.context)

    @Slot()
    def show_failures(self) -> None:
        """Show the Failures page in place of the editor, if the agent learns from failures."""
        if self.has_failures and self.is_built:
            self._context.memory.show_beside(self.failures)

    @Slot()
    def toggle_context(self) -> None:
        """Show the Context page in place of the editor; if it is shown, show the editor."""
        self._toggle("context", self.show_context)

    @Slot()
    def toggle_failures(self) -> None:
        """Show the Failures page in place of the editor; if it is shown, show the editor."""
        self._toggle("failures", self.show_failures)

    def _toggle(self, page: str, show: Callable[[], None]) -> None:
        if self.beside == page and self._tabs.currentIndex() == 0:
            self._context.memory.show_beside(None)
        else:
            show()
        self.changed.emit()

    @Slot(str)
    def _on_open_wanted(self, path: str) -> None:
        """Show the memory at `path`, in the home that is shown, in the editor."""
        self._tabs.setCurrentIndex(0)
        self._context.memory.show_beside(None)
        self._context.memory.tree.reveal(path)

    @Slot(str)
    def show_transcript(self, source_id: str) -> None:
        """Show the transcript with this id, from the home that is shown, in the Transcripts tab."""
        self.show_transcripts()
        if "transcripts" in self._parts:
            self.transcripts.show_source(source_id)

    @Slot()
    def show_agent_jobs(self) -> None:
        """Show a dialog with the background jobs that the agent of the shown home ran itself."""
        if self._session is None or not self.is_built:
            return
        self._part("jobs").show_jobs(self._session)
