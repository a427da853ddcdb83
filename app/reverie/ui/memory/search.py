"""The search field of the Memory tab and what it finds, over all open homes.

While the field holds a question the results stand where the trees were; emptied, it gives them back. The
index is made when somebody first searches in this window, from then on every watcher keeps it fresh, and the
shown answer with it.

Threading: GUI thread. Questions are answered on one lane, the index is brought up to date on another, so that
typing never waits for indexing. Failure: what cannot be searched is said above the results.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from reverie.errors import MendableError
from reverie.files.coalesce import Changes
from reverie.ui.bridge import WatchEvent
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobCancelled, JobControl, Lane
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.search_view import ResultList
from reverie.ui.search_field import SearchField
from reverie.ui.session import HomeSession
from reverie.ui.theme import GAP, UNIT

if TYPE_CHECKING:
    from reverie.services.search import Answer, SearchDesk

# While the index grows the answer is asked again this often.
_GROWING_MS = 700


class MemorySearchField(SearchField):
    """`chosen()`: Enter. `left()`: Esc. `moved(int)`: down or up into the results."""

    chosen = Signal()
    left = Signal()
    moved = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 10, Qt.Key.Key_PageUp: -10}
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.chosen.emit()
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif Qt.Key(event.key()) in steps:
            self.moved.emit(steps[Qt.Key(event.key())])
        else:
            super().keyPressEvent(event)


class MemorySearch(QObject):
    """`opened(Hit)`: a person wants to see it. `left()`: back to the trees, please."""

    opened = Signal(object)
    left = Signal()

    def __init__(self, tree: QWidget, icons: Icons, parent: QObject) -> None:
        super().__init__(parent)
        self.field = MemorySearchField(self.tr("Search all memories"))
        self.field.setToolTip(
            self.tr(
                'Words, “"exact words"” and /patterns/; narrowed down by scope:project, home:mux, '
                "pinned:yes, changed:<7d, by:agent"
            )
        )
        self.list = ResultList(icons)
        self.said = WrapLabel()
        self.said.setContentsMargins(GAP, UNIT, GAP, UNIT)
        self.pages = QStackedWidget()
        self._found = QWidget()
        column = QVBoxLayout(self._found)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.said)
        column.addWidget(self.list, 1)
        self.pages.addWidget(tree)
        self.pages.addWidget(self._found)
        self.answer: Answer | None = None
        self._desk: SearchDesk | None = None
        self._sessions: list[HomeSession] = []
        self._noted: list[tuple[str, Changes]] = []
        self._asking: Lane | None = None
        self._indexing: Lane | None = None
        self._updating = False
        self._owed = False
        self._read = 0
        self._asked_for_repair = ""
        self._stopped = False
        self._growing = QTimer(self)
        self._growing.setInterval(_GROWING_MS)
        self._growing.timeout.connect(self._ask)
        self.field.textChanged.connect(self._on_text)
        self.field.chosen.connect(self._on_chosen)
        self.field.left.connect(self.leave)
        self.field.moved.connect(self.list.step)
        self.list.opened.connect(self.opened)
        self.list.left.connect(self.leave)
        self.list.above.connect(self.focus)

    @property
    def showing(self) -> bool:
        """The results stand in the trees' place."""
        return self.pages.currentWidget() is self._found

    @property
    def settled(self) -> bool:
        """Nothing is under way: what is shown answers what is typed."""
        lanes = (self._asking, self._indexing)
        return not self._updating and not any(lane is not None and lane.busy for lane in lanes)

    @Slot(object)
    def add_session(self, session: HomeSession) -> None:
        """A home was opened in this window."""
        if session not in self._sessions:
            self._sessions.append(session)
            session.bridge.arrived.connect(self._on_arrived)
            if self._desk is not None:
                self._owed = True
                self._update()

    @Slot(object)
    def remove_session(self, session: HomeSession) -> None:
        """A home was closed: nothing of it is found any more."""
        if session not in self._sessions:
            return
        self._sessions.remove(session)
        session.bridge.arrived.disconnect(self._on_arrived)
        home_id = session.info.id
        self._noted = [noted for noted in self._noted if noted[0] != home_id]
        if self._indexing is not None:

            def forget(_nothing: None) -> None:
                if self._desk is not None:
                    self._desk.remove(home_id)
                if any(each.info.id == home_id for each in self._sessions):
                    # Opened again meanwhile: it is looked at as a new one.
                    self._owed = True
                    self._update()
                self._ask()

            # After the updates that still have it.
            self._indexing.submit("forget a home", lambda _control: None, done=forget)

    @Slot()
    def focus(self) -> None:
        """Into the field, its text selected."""
        self.field.setFocus()
        self.field.selectAll()

    @Slot()
    def leave(self) -> None:
        """Empty the field and give the trees back."""
        self.field.clear()
        self.left.emit()

    def stop(self) -> None:
        """End the lanes; calling it again is harmless."""
        self._stopped = True
        self._growing.stop()
        for lane in (self._asking, self._indexing):
            if lane is not None:
                lane.stop()

    # Asking

    @Slot(str)
    def _on_text(self, text: str) -> None:
        if not text.strip():
            if self._asking is not None:
                self._asking.abandon("search")
            self._growing.stop()
            self.answer = None
            self.list.show_hits((), several_homes=False)
            self.pages.setCurrentIndex(0)
            return
        self._start()
        self._ask()

    def _start(self) -> None:
        """The first search of this window: from here on there is an index, and it is kept fresh."""
        if self._asking is None and not self._stopped:
            self._asking, self._indexing = Lane("search", self), Lane("search-index", self)
            for lane in (self._asking, self._indexing):
                lane.unclaimed.connect(self._on_failed)
            self._owed = True
            self._update()

    @Slot()
    def _ask(self) -> None:
        text = self.field.text()
        if self._asking is None or not text.strip():
            return
        desk = self._desk

        def work(control: JobControl) -> Answer | None:
            from reverie.services.search import SearchStopped

            if desk is None:
                return None
            try:
                return desk.search(text, stop=control.cancel.is_set, told=control.report)
            except SearchStopped:
                raise JobCancelled from None

        self._asking.submit(
            "search", work, done=self._on_answer, progress=self._show, failed=self._on_failed, group="search"
        )

    def _on_answer(self, answer: Answer | None) -> None:
        if answer is None:
            return
        self._show(answer)
        if not answer.complete and not self._updating and self._asked_for_repair != answer.query:
            # The index was damaged, or thrown away by another process. Once per question, not for ever.
            self._asked_for_repair = answer.query
            self._owed = True
            self._update()

    def _show(self, answer: Answer) -> None:
        if answer.query != self.field.text():
            return
        self.answer = answer
        self.list.show_hits(answer.hits, several_homes=len(self._sessions) > 1)
        self._say(answer)
        self.pages.setCurrentWidget(self._found)

    def _say(self, answer: Answer) -> None:
        said = [*answer.problems]
        if self._updating and not answer.complete:
            said.append(self.tr("The search index is being made: {n} files so far.").format(n=self._read))
        elif not answer.hits and not answer.problems and answer.complete:
            said.append(self.tr("Nothing was found."))
        self.said.say(" ".join(said))
        self.said.setVisible(bool(said))

    def _on_failed(self, error: MendableError) -> None:
        self.said.say(str(error))
        self.said.show()
        self.pages.setCurrentWidget(self._found)

    @Slot()
    def _on_chosen(self) -> None:
        if self.list.current is not None and self.showing:
            self.opened.emit(self.list.current)

    # The index

    @Slot(object)
    def _on_arrived(self, event: WatchEvent) -> None:
        if self._asking is not None:
            self._noted.append((event.source, event.changes))
            self._update()

    def _update(self) -> None:
        """Bring the index up to date, once at a time; what comes meanwhile is done next."""
        if self._indexing is None or self._updating or not (self._owed or self._noted) or self._stopped:
            return
        self._updating, self._owed, self._read = True, False, 0
        noted, self._noted = self._noted, []
        workbenches = [session.workbench for session in self._sessions]
        desk = self._desk

        def work(control: JobControl) -> SearchDesk:
            from reverie.services.search import SearchDesk, SearchStopped

            made = desk or SearchDesk()
            for workbench in workbenches:
                made.add(workbench.parts, workbench.update_index)
            for home_id, changes in noted:
                made.note(home_id, changes)
            if desk is None:
                return made
            try:
                made.update(stop=control.cancel.is_set, told=control.report)
            except SearchStopped:
                raise JobCancelled from None
            return made

        self._indexing.submit(
            "update the search index",
            work,
            done=self._on_updated,
            progress=self._on_read,
            failed=self._on_update_failed,
            cancelled=self._on_update_cancelled,
        )
        self._growing.start()

    def _on_updated(self, desk: SearchDesk) -> None:
        if self._desk is None:
            self._desk, self._owed = desk, True
        self._updating = False
        self._growing.stop()
        self._update()
        self._ask()

    def _on_read(self, count: int) -> None:
        self._read = count
        if self.answer is not None:
            self._say(self.answer)

    def _on_update_failed(self, error: MendableError) -> None:
        self._updating = False
        self._growing.stop()
        self._on_failed(error)

    def _on_update_cancelled(self) -> None:
        self._updating = False
        self._growing.stop()
