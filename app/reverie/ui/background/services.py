"""The background services in a window: one host per open home, with Activity, the Doctor and a label in the
status bar.

A host runs while the services of its home are switched on, and is started only after the home is open and
painted. A lease decides which process hosts: if another one does, this one watches and takes over when it
ends. Switches are read again when settings were saved, something was fixed, or the window gets the focus,
since other processes save settings too.

Threading: GUI thread. Starting and stopping touch the disk and are jobs on a lane of its own; a host's
threads report by queued signal. `stop` waits for every host, three seconds at most. Failure: what a host
cannot do is in its status and in Activity.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel

from reverie.clock import Clock
from reverie.errors import UserError
from reverie.services.host import Host
from reverie.settings import load_settings
from reverie.ui.appearance import GAP, Icons
from reverie.ui.background.activity import ActivityControl, ActivityTab
from reverie.ui.background.doctor import DoctorControl, DoctorTab
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.footer_control import FooterControl
from reverie.ui.session import HomeSession
from reverie.ui.translation import counted, tr

if TYPE_CHECKING:
    from reverie.services.host import HostStatus


STOP_S = 3.0


@dataclass(frozen=True, slots=True)
class HostLabel:
    """The services of one home in the status bar."""

    text: str = ""
    """Empty: nothing is switched on."""
    tip: str = ""


class HostControl(QObject):
    """The hosts of the open homes. Signals: `changed(str)`: the state of the services of the home with this
    id changed; `status_message(str)`: something did not work."""

    changed = Signal(str)
    status_message = Signal(str)
    _told = Signal(str, object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._lane: Lane | None = None
        self._homes: dict[str, HomeSession] = {}
        self._hosts: dict[str, Host] = {}
        self._status: dict[str, HostStatus] = {}
        self._paused: set[str] = set()
        self._stopped = False
        self._told.connect(self._on_status, Qt.ConnectionType.QueuedConnection)

    def add(self, session: HomeSession) -> None:
        """A home was opened: its services run here if they are wanted."""
        home_id = session.info.id
        if session.is_here and home_id not in self._homes:
            self._homes[home_id] = session
            self._settle(home_id)

    def remove(self, home_id: str) -> None:
        """A home was closed: its services end here."""
        if self._homes.pop(home_id, None) is None:
            return
        self._paused.discard(home_id)
        self._status.pop(home_id, None)
        hosts = self._hosts

        def work(_control: JobControl) -> None:
            host = hosts.get(home_id)
            if host is not None:
                host.stop()
                hosts.pop(home_id, None)

        if self._lane is not None and not self._stopped:
            self._lane.submit("end the services", work, done=self._on_settled, failed=self._on_failed)

    @Slot()
    def recheck(self) -> None:
        """Read the switches again."""
        for home_id in self._homes:
            self._settle(home_id)

    def set_paused(self, home_id: str, paused: bool) -> None:
        """Stop the services of a home here, whatever is switched on, until it is taken back or the window
        closes; what runs is cancelled."""
        (self._paused.add if paused else self._paused.discard)(home_id)
        self._settle(home_id)
        self.changed.emit(home_id)

    def is_paused(self, home_id: str) -> bool:
        """Whether the services of this home were paused by hand."""
        return home_id in self._paused

    def status(self, home_id: str) -> HostStatus | None:
        """The last status; None if it was never started."""
        return self._status.get(home_id)

    def words(self, home_id: str) -> HostLabel:
        """For the status bar."""
        if home_id in self._paused:
            return HostLabel(
                tr("Services paused"), as_tooltip(tr("The background services are paused here."))
            )
        return host_label(self._status.get(home_id))

    @property
    def busy(self) -> bool:
        return self._lane is not None and self._lane.busy

    def stop(self) -> None:
        """The window closes: give every lease back. Calling it again is harmless."""
        self._stopped = True
        if self._lane is not None:
            self._lane.stop()
        # Not on this thread, which does no disk work, and all at once.
        ending = [threading.Thread(target=host.stop, daemon=True) for host in self._hosts.values()]
        for thread in ending:
            thread.start()
        for thread in ending:
            thread.join(STOP_S)
        self._hosts.clear()

    def _settle(self, home_id: str) -> None:
        """Let what runs follow what is wanted."""
        if self._stopped:
            return
        session, paused, hosts = self._homes[home_id], home_id in self._paused, self._hosts

        def report(status: HostStatus) -> None:
            if not self._stopped:
                self._told.emit(home_id, status)

        def work(control: JobControl) -> None:
            settings = load_settings(session.profile.settings_file)[0]
            wanted = (
                settings.system1.enabled
                or settings.notes.enabled
                or settings.background.of(home_id).enabled
                or (settings.extract.at_launch and session.facts.extracts)
            )
            host = hosts.get(home_id)
            if wanted and not paused:
                if host is None:
                    control.check()
                    host = hosts[home_id] = Host(session.local.parts, purpose="the window", on_status=report)
                host.start()
            elif host is not None:
                host.stop()

        if self._lane is None:
            self._lane = Lane("host", self)
        self._lane.submit("settle the services", work, done=self._on_settled, failed=self._on_failed)

    def _on_settled(self, _nothing: None) -> None:
        """The host reports its own status."""

    def _on_failed(self, error: UserError) -> None:
        self.status_message.emit(str(error))

    @Slot(str, object)
    def _on_status(self, home_id: str, status: HostStatus) -> None:
        if home_id not in self._homes:
            return
        self._status[home_id] = status
        self.changed.emit(home_id)


def host_label(status: HostStatus | None) -> HostLabel:
    """A status as a word or two, and a sentence."""
    if status is None or status.state == "stopped":
        return HostLabel()
    if status.state == "hosting":
        tip = tr("The background services of this home run in this window.")
        if status.sessions:
            followed = counted("1 transcript", "%n transcripts", status.sessions)
            tip = f"{tip} {tr('It follows {transcripts}.').format(transcripts=followed)}"
        return HostLabel(tr("Services on"), as_tooltip(tip))
    if status.state == "viewing" and status.holder is not None:
        tip = tr("Another process hosts the background services: {purpose}, process {pid}.")
        text = tip.format(purpose=visible(status.holder.purpose), pid=status.holder.owner.pid)
        return HostLabel(tr("Services elsewhere"), as_tooltip(text))
    return HostLabel(tr("Services waiting"), as_tooltip(status.message))


class ServicesView(QObject):
    """Wires the hosts, Activity, the Doctor and the consolidation together. Signals: `changed()`: the set of
    enabled actions may have changed; `status_message(str)`; `doctor_wanted()`: show the Doctor tab."""

    changed = Signal()
    status_message = Signal(str)
    doctor_wanted = Signal()

    def __init__(self, icons: Icons, clock: Clock, lane: Lane, dreams: FooterControl, log_file: Path) -> None:
        super().__init__()
        self._home = ""
        self.activity = ActivityTab(icons, clock)
        self.activity_control = ActivityControl(self.activity, lane, dreams.jobs, log_file)
        self.doctor = DoctorTab(icons)
        self.doctor_control = DoctorControl(self.doctor)
        self.host = HostControl(self)
        self.label = QLabel()
        self.label.setContentsMargins(GAP, 0, GAP, 0)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.hide()
        self.activity.review.connect(dreams.review)
        self.activity.doctor.connect(self.doctor_wanted)
        self.activity_control.pause.connect(self._pause)
        self.doctor_control.fixed.connect(self.host.recheck)
        self.doctor_control.fixed.connect(dreams.ask_engine)
        self.doctor_control.debug_switched.connect(self.activity_control.say_level)
        self.host.changed.connect(self._on_host)
        self.host.status_message.connect(self.status_message)

    def set_session(self, session: HomeSession | None) -> None:
        """The home that is shown; None: none is open."""
        self._home = session.info.id if session is not None else ""
        self.activity_control.set_session(session)
        self.doctor_control.set_session(session)
        self._on_host(self._home)

    def run_for(self, sessions: Iterable[HomeSession]) -> None:
        """Host the services of these homes where they are wanted."""
        for session in sessions:
            self.host.add(session)

    @Slot()
    def settings_changed(self) -> None:
        """Other settings or keys count now."""
        self.host.recheck()
        self.doctor_control.recheck()

    def stop(self) -> None:
        """The window closes."""
        self.doctor_control.stop()
        self.host.stop()

    @property
    def can_pause(self) -> bool:
        """There is something to pause, or to let go on."""
        return bool(self.host.words(self._home).text)

    @property
    def paused(self) -> bool:
        return self.host.is_paused(self._home)

    @Slot()
    def toggle_pause(self) -> None:
        """Pause the background services of the shown home here, or go on."""
        self._pause(not self.paused)

    @Slot(bool)
    def _pause(self, pause: bool) -> None:
        if self._home:
            self.host.set_paused(self._home, pause)

    @Slot(str)
    def _on_host(self, home_id: str) -> None:
        """The background services of a home are in another state."""
        if home_id == self._home:
            words = self.host.words(home_id)
            self.label.setText(words.text)
            self.label.setToolTip(words.tip)
            self.label.setVisible(bool(words.text))
            self.activity_control.say_paused(self.paused)
            self.changed.emit()
