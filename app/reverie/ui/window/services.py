"""The background services of the open homes: requesting them, and their label in the status bar.

Threading: GUI thread. Requests to the engine run as jobs on their own lane, because starting and stopping
take time; the engine reports changes through the session of the home. When the window closes, the engine ends
the services that only this window requested. Failure: an error in a service is part of its status and is
shown in Activity.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.files.log_file import is_debug
from reverie.ui.appearance import GAP
from reverie.ui.display_text import as_tooltip, counted, said, tr, visible
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.footer_control import FooterControl
from reverie.ui.session import HomeSession
from reverie.ui.traces.checks import ChecksControl
from reverie.ui.traces.log import LogControl
from reverie.ui.traces.tab import TracesTab
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.services.views import HostStatus


class HostLabel(Struct, frozen=True):
    """The texts of the label in the status bar about a home's background services."""

    text: str = ""
    """The text of the label; empty if there is nothing to show."""
    tip: str = ""
    """The tool tip of the label."""


class HostControl(QObject):
    """The requester of the background services of the open homes, which also receives their status.

    The engine runs (hosts) the services of a home while a window requests them and the settings enable them.
    The request is sent only after the home is open and painted. Only one process at a time can host a home;
    if another one does, the engine takes over when that process ends.

    Each request makes the engine read the settings again. It is repeated when settings were saved, when a fix
    was applied, when the window gets the focus (because other processes save settings too), and when the
    window is connected to a new engine.

    Signals:
        changed(str): The state of the services of the home with this id changed.
        status_message(str): There is an error for the status bar.
    """

    changed = Signal(str)
    status_message = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane = Lane("host", self)
        self._homes: dict[str, HomeSession] = {}
        self._status: dict[str, HostStatus] = {}
        self._paused: set[str] = set()
        self._stopped = False

    def add(self, session: HomeSession) -> None:
        """Request the services of an opened home, unless it is on another machine."""
        home_id = session.info.id
        if session.is_here and home_id not in self._homes:
            self._homes[home_id] = session
            session.host_changed.connect(self._on_status)
            session.engine_replaced.connect(self._settle)
            self._settle(home_id)

    def remove(self, home_id: str) -> None:
        """Withdraw the request for the services of a closed home.

        The services continue if another window requests them.
        """
        session = self._homes.pop(home_id, None)
        if session is None:
            return
        session.host_changed.disconnect(self._on_status)
        session.engine_replaced.disconnect(self._settle)
        self._paused.discard(home_id)
        self._status.pop(home_id, None)
        if not self._stopped:
            # On the same lane as earlier requests, so that it is the last one.
            end = ask(session.workbench.stop_hosting)
            self._lane.submit("end the services", end, done=lambda _nothing: None, failed=self._on_failed)

    @Slot()
    def recheck(self) -> None:
        """Repeat all requests, so that the engine reads the settings and uses this window's log level."""
        for home_id in self._homes:
            self._settle(home_id)

    def set_paused(self, home_id: str, paused: bool) -> None:
        """Pause the services of a home, or resume them if `paused` is False.

        A pause cancels active background runs, and applies to all windows of the profile. It ends when this
        window closes.
        """
        (self._paused.add if paused else self._paused.discard)(home_id)
        self._settle(home_id)
        self.changed.emit(home_id)

    def is_paused(self, home_id: str) -> bool:
        """Return True if the user has paused the services of this home in this window."""
        return home_id in self._paused

    def status(self, home_id: str) -> HostStatus | None:
        """Return the last status of a home's services; None if the engine has not reported one."""
        return self._status.get(home_id)

    def words(self, home_id: str) -> HostLabel:
        """Return the texts of the label in the status bar about the background services of a home.

        Both texts are empty if no service is switched on.
        """
        if home_id in self._paused:
            return HostLabel(tr("Services paused"), as_tooltip(tr("The background services are paused.")))
        return host_label(self._status.get(home_id))

    @property
    def busy(self) -> bool:
        return self._lane.busy

    def stop(self) -> None:
        """Stop sending requests, because the window closes; later calls do nothing.

        The engine ends the services for this window when the connection ends.
        """
        self._stopped = True
        self._lane.stop()

    @Slot(str)
    def _settle(self, home_id: str) -> None:
        """Send the request for the services of a home or, if the user has paused them, for a pause."""
        if self._stopped:
            return
        session, paused = self._homes[home_id], home_id in self._paused
        workbench, services, debug = session.workbench, session.engine.client.services, is_debug()
        before = self._status.get(home_id)

        async def work(_control: JobControl) -> HostStatus:
            await ask(services.set_debug, debug)
            return await ask(workbench.host, paused)

        def done(status: HostStatus) -> None:
            # A status that arrived meanwhile may be newer than this answer.
            if self._status.get(home_id) is before:
                self._on_status(home_id, status)

        self._lane.submit("settle the services", work, done=done, failed=self._on_failed)

    def _on_failed(self, error: UserError) -> None:
        self.status_message.emit(str(error))

    @Slot(str, object)
    def _on_status(self, home_id: str, status: HostStatus) -> None:
        if home_id not in self._homes:
            return
        self._status[home_id] = status
        self.changed.emit(home_id)


def host_label(status: HostStatus | None) -> HostLabel:
    """Return the texts of the label for the status of a home's services: a few words, and a tool tip.

    Both are empty if the services are stopped, or if `status` is None: the engine has not reported one yet.
    """
    if status is None or status.state == "stopped":
        return HostLabel()
    if status.state == "hosting":
        tip = tr("The background services of this home are running.")
        if status.sessions:
            followed = counted("1 transcript", "%n transcripts", status.sessions)
            tip = f"{tip} {tr('They are watching {transcripts}.').format(transcripts=followed)}"
        return HostLabel(tr("Services on"), as_tooltip(tip))
    if status.state == "viewing" and status.holder is not None:
        tip = tr("The background services of this home run in another process ({purpose}, process {pid}).")
        text = tip.format(purpose=visible(status.holder.purpose), pid=status.holder.owner.pid)
        return HostLabel(tr("Services in another process"), as_tooltip(text))
    return HostLabel(tr("Services waiting"), as_tooltip(said(status.message)))


class ServicesView(QObject):
    """The view of the background services: their state in the status bar, their log and checks in Traces.

    `log` and `checks` are the controllers of these two views of the Traces tab. They exist only after
    `show_in`, because the tab is built later.

    Signals:
        changed(): The set of enabled actions may have changed.
        status_message(str): There is a message for the status bar.
    """

    changed = Signal()
    status_message = Signal(str)

    def __init__(self, lane: Lane, dreams: FooterControl) -> None:
        super().__init__()
        self._lane = lane
        self._dreams = dreams
        self._session: HomeSession | None = None
        self._home = ""
        self._is_in_traces = False
        self.host = HostControl(self)
        self.label = QLabel()
        self.label.setContentsMargins(GAP, 0, GAP, 0)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.hide()
        self.host.changed.connect(self._on_host)
        self.host.status_message.connect(self.status_message)

    def show_in(self, traces: TracesTab) -> None:
        """Create the controllers of the log and the checks in the Traces tab, which has just been built."""
        self._is_in_traces = True
        self.log = LogControl(traces, traces.log, self._lane, self._dreams.jobs)
        self.checks = ChecksControl(traces, traces.checks)
        traces.log.detail.review.connect(self._dreams.review)
        self.log.pause.connect(self._pause)
        self.checks.fixed.connect(self.host.recheck)
        self.checks.fixed.connect(self._dreams.ask_engine)
        self.checks.debug_switched.connect(self.host.recheck)
        self.log.set_session(self._session)
        self.checks.set_session(self._session)
        self.log.say_paused(self.paused)

    def set_session(self, session: HomeSession | None) -> None:
        """Show the services of this home; None if no home is open."""
        self._session, self._home = session, session.info.id if session is not None else ""
        if self._is_in_traces:
            self.log.set_session(session)
            self.checks.set_session(session)
        self._on_host(self._home)

    def run_for(self, sessions: Iterable[HomeSession]) -> None:
        """Request the background services of these homes; those that the settings enable are run."""
        for session in sessions:
            self.host.add(session)

    @Slot()
    def settings_changed(self) -> None:
        """Make the engine read the changed settings or provider keys, and run the checks again."""
        self.host.recheck()
        if self._is_in_traces:
            self.checks.recheck()

    def stop(self) -> None:
        """Stop the controllers, because the window closes."""
        if self._is_in_traces:
            self.checks.stop()
        self.host.stop()

    @property
    def can_pause(self) -> bool:
        """True if the shown home has services that can be paused or resumed."""
        return bool(self.host.words(self._home).text)

    @property
    def paused(self) -> bool:
        return self.host.is_paused(self._home)

    @Slot()
    def toggle_pause(self) -> None:
        """Pause or resume the background services of the home that is shown."""
        self._pause(not self.paused)

    @Slot(bool)
    def _pause(self, pause: bool) -> None:
        if self._home:
            self.host.set_paused(self._home, pause)

    @Slot(str)
    def _on_host(self, home_id: str) -> None:
        """Show the new state of a home's background services, if that home is shown."""
        if home_id == self._home:
            words = self.host.words(home_id)
            self.label.setText(words.text)
            self.label.setToolTip(words.tip)
            self.label.setVisible(bool(words.text))
            if self._is_in_traces:
                self.log.say_paused(self.paused)
            self.changed.emit()
