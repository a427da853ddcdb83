"""The Transcripts tab: every transcript of the home that is shown above, the selected one below.

Listed when it is first looked at, and again now and then while it is looked at, since most agents'
transcripts lie outside of what is watched. Titles that are not in the list are read in small jobs, so that
opening one never waits for them.

Threading: GUI thread; a lane of its own. Failure: told in the status bar.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QSplitter, QStackedWidget, QVBoxLayout, QWidget

from reverie.clock import Clock
from reverie.errors import MendableError
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.heading import EmptyPage
from reverie.ui.tab_page import TabPage
from reverie.ui.transcripts.source_list import SourceList
from reverie.ui.transcripts.view import TranscriptView

if TYPE_CHECKING:
    from reverie.homes.listing import Source
    from reverie.ui.session import HomeSession

LIST_MS = 10_000
PICK_MS = 120
_TITLES_AT_ONCE = 20


class TranscriptsTab(TabPage):
    """`said(str)`: a sentence for the status bar."""

    said = Signal(str)

    def __init__(self, icons: Icons, now: Clock, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session: HomeSession | None = None
        self._lane = Lane("transcripts", self)
        self._listed = False
        self._stopped = False
        self._titling = False
        self._wanted = ""
        self._open = ""
        self._open_path: Path | None = None
        self.list = SourceList(now)
        self.view = TranscriptView(self._lane, icons)
        self.empty = EmptyPage(icons, "source")
        self.empty.say(
            self.tr("No transcripts yet"),
            self.tr("What was said between you and the agent shows here as soon as there is a session."),
        )
        self._lay_out()
        self._again = QTimer(self)
        self._again.setInterval(LIST_MS)
        self._again.timeout.connect(self.read_again)
        self._pick = QTimer(self)
        self._pick.setSingleShot(True)
        self._pick.setInterval(PICK_MS)
        self._pick.timeout.connect(self._open_selected)
        self.list.picked.connect(self._pick.start)
        self.list.opened.connect(self._on_opened)

    def _lay_out(self) -> None:
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.addWidget(self.list)
        self.splitter.addWidget(self.view)
        self.splitter.setSizes([220, 520])
        self.splitter.setChildrenCollapsible(False)
        self.pages = QStackedWidget()
        for page in (QWidget(), self.empty, self.splitter):  # blank until they are listed
            self.pages.addWidget(page)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)

    def set_session(self, session: HomeSession | None) -> None:
        """Another home is shown, or none."""
        if session is self._session:
            return
        if self._session is not None:
            self._session.outside_changed.disconnect(self.read_again)
        self._session = session
        self._listed = self._titling = False
        self._wanted = self._open = ""
        for group in ("list transcripts", "titles"):
            self._lane.abandon(group)
        self.view.clear()
        self.list.forget()
        self.list.show_all()
        self.pages.setCurrentIndex(0)
        if session is not None:
            session.outside_changed.connect(self.read_again)
            self.read_again()

    def stop(self) -> None:
        """Nothing more is read. Calling it again is harmless."""
        self._stopped = True
        self.view.clear()
        self._again.stop()
        self._pick.stop()
        self._lane.stop()

    @property
    def is_settled(self) -> bool:
        """Everything is listed, titled and read."""
        quiet = not self._pick.isActive() and not self._titling
        return self._listed and quiet and not self._lane.busy

    def show_source(self, source_id: str) -> None:
        """Open a transcript by its id, as soon as it is listed."""
        self._wanted = source_id
        if self._listed:
            self._find_wanted()
        else:
            self.read_again()

    @Slot()
    def read_again(self) -> None:
        """List them anew, while they are looked at."""
        session = self._session
        if session is None or self._stopped or not (self.isVisible() or self._wanted):
            return
        desk = session.workbench

        def work(_control: JobControl) -> tuple[Source, ...]:
            return desk.transcripts.sources()

        self._lane.submit(
            "list transcripts", work, done=self._on_listed, failed=self._on_failed, group="list transcripts"
        )

    def _on_listed(self, sources: tuple[Source, ...]) -> None:
        first, self._listed = not self._listed, True
        self.list.show_sources(sources)
        self.pages.setCurrentWidget(self.splitter if sources else self.empty)
        if self._wanted:
            self._find_wanted()
        elif first and self.list.shown:
            self.list.select_id(self.list.shown[0].id)
        selected = self.list.selected
        if selected is not None and selected.id == self._open and selected.path != self._open_path:
            self._open = ""  # it goes on in another file: it was reverted, or archived
            self._open_selected()
        self._read_titles()

    def _on_failed(self, error: MendableError) -> None:
        self.said.emit(str(error))

    def _find_wanted(self) -> None:
        wanted, self._wanted = self._wanted, ""
        if not self.list.select_id(wanted):
            self.list.show_all()
            if not self.list.select_id(wanted):
                self.said.emit(self.tr("There is no transcript {id} any more.").format(id=wanted))

    # Titles

    def _read_titles(self) -> None:
        session, untold = self._session, self.list.model.untold()[:_TITLES_AT_ONCE]
        if session is None or not untold or self._titling or not self.isVisible():
            return
        self._titling = True
        desk = session.workbench

        def work(control: JobControl) -> dict[str, Source]:
            found = {}
            for source in untold:
                control.check()
                found[source.id] = desk.transcripts.told(source)
            return found

        self._lane.submit(
            "read titles",
            work,
            done=partial(self._on_titles, session),
            failed=self._on_no_titles,
            group="titles",
        )

    def _on_no_titles(self, error: MendableError) -> None:
        # The next reading of the list tries again.
        self._titling = False
        self._on_failed(error)

    def _on_titles(self, session: HomeSession, told: Mapping[str, Source]) -> None:
        self._titling = False
        if session is self._session:
            self.list.take_told(told)
            self._read_titles()

    # The selected one

    @Slot()
    def _open_selected(self) -> None:
        session, source = self._session, self.list.selected
        if session is None or source is None:
            self._open = ""
            self.view.clear()
            return
        if source.id == self._open:
            return
        self._open, self._open_path = source.id, source.path
        desk = session.workbench
        self.view.open(lambda: desk.transcripts.open(source))

    @Slot()
    def _on_opened(self) -> None:
        """Enter on a row: into its text."""
        self._pick.stop()
        self._open_selected()
        self.view.text.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._again.start()
        self.read_again()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._again.stop()
