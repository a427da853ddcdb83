"""The background services as a window shows them: the hosts of its homes, Activity, the Doctor, a word in the
status bar. Wires them to each other and to the consolidation; no rule of its own.

Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel

from reverie.clock import Clock
from reverie.ui.activity.control import ActivityControl
from reverie.ui.activity.tab import ActivityTab
from reverie.ui.doctor.control import DoctorControl
from reverie.ui.doctor.tab import DoctorTab
from reverie.ui.host_control import HostControl
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.memory.footer_control import FooterControl
from reverie.ui.session import HomeSession
from reverie.ui.theme import GAP


class ServicesView(QObject):
    """`changed()`: what is possible is another. `said(str)`: a sentence on what did not work.
    `doctor_wanted()`: the Doctor is to be shown."""

    changed = Signal()
    said = Signal(str)
    doctor_wanted = Signal()

    def __init__(self, icons: Icons, clock: Clock, lane: Lane, dreams: FooterControl, log_file: Path) -> None:
        super().__init__()
        self._home = ""
        self.activity = ActivityTab(icons, clock)
        self.activity_control = ActivityControl(self.activity, lane, dreams.jobs, log_file)
        self.doctor = DoctorTab(icons)
        self.doctor_control = DoctorControl(self.doctor, clock)
        self.host = HostControl(self)
        self.label = QLabel()
        self.label.setContentsMargins(GAP, 0, GAP, 0)
        self.label.setTextFormat(Qt.TextFormat.PlainText)
        self.label.hide()
        self.activity.review.connect(dreams.review)
        self.activity.doctor.connect(self.doctor_wanted)
        self.activity_control.pause.connect(self._pause)
        self.doctor_control.mended.connect(self.host.look_again)
        self.doctor_control.mended.connect(dreams.ask_engine)
        self.doctor_control.debug_switched.connect(self.activity_control.say_level)
        self.host.changed.connect(self._on_host)
        self.host.said.connect(self.said)

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
        self.host.look_again()
        self.doctor_control.look_again()

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
