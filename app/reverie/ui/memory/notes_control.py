"""The session notes of the selected session: their status, and updating them by hand.

They are shown in a row above the footer, for sessions whose agent keeps notes. The status requires reading
the transcript, so a job reads it after each update of the trees. An update of the notes runs on the writer's
lane, one at a time, and can be cancelled. The written file reaches the views through the watcher.

Threading: GUI thread. The workbench is used only inside jobs. Failure: shown in the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtWidgets import QMenu, QSizePolicy, QVBoxLayout, QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui import display_text
from reverie.ui.appearance import MARGIN, UNIT
from reverie.ui.display_text import age, counted, visible
from reverie.ui.editor.control import EditorControl
from reverie.ui.editor.pane import EditorPane
from reverie.ui.jobs import JobControl, Lanes, Ticket, single_shot
from reverie.ui.session import HomeSession, TreeUpdate
from reverie.ui.tree.view import MemoryTreeView
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import row_of
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.jobs.single_file.notes_sections import NotesProblem
    from reverie.jobs.single_file.notes_service import NotesOutcome, NotesStanding


class ProblemsMenu(QObject):
    """The menu of `button` with the problems in the session notes; an entry goes to its line in the editor.

    The notes are opened first if the editor shows another file. If the line does not exist any more, the
    nearest one is shown. Without problems the button is hidden.
    """

    def __init__(
        self,
        button: FitPushButton,
        tree: MemoryTreeView,
        editor: EditorControl,
        pane: EditorPane,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._tree = tree
        self._editor = editor
        self._pane = pane
        self.button = button
        self.menu = QMenu(button)
        self.menu.setToolTipsVisible(True)
        self._problems: tuple[NotesProblem, ...] = ()
        self._wanted = ("", 0)
        button.setMenu(self.menu)
        editor.state_changed.connect(self._follow)
        editor.was_read.connect(self._follow)

    def show_problems(self, problems: Sequence[NotesProblem], path: str) -> None:
        """List the problems of the notes at the memory path `path`."""
        self.button.setVisible(bool(problems) and self.button.parentWidget() is not None)
        if tuple(problems) != self._problems:
            self._problems = tuple(problems)
            self.menu.clear()
            for problem in problems:
                go = self.menu.addAction(self._sentence(problem).replace("&", "&&"))
                go.triggered.connect(partial(self._go, path, max(1, problem.line)))
            text = counted(self.tr("1 problem"), "%n problems", len(problems))
            self.button.say(text, self.tr("Problems in these notes; select a problem to go to its line"))

    def _go(self, path: str, line: int, _checked: bool = False) -> None:
        """Go to a line of the notes, after opening them if necessary."""
        self._wanted = (path, line)
        if not self._follow_now() and (notes := self._tree.reveal(path)) is not None:
            self._editor.open(notes, focus=True)

    @Slot()
    def _follow(self) -> None:
        """Go to the chosen line once the notes are open."""
        if self._wanted[0]:
            self._follow_now()

    def _follow_now(self) -> bool:
        """Go to the chosen line if the notes are open; return True if they are."""
        file, (path, line) = self._pane.file, self._wanted
        if file is None or file.buffer.address.path != path:
            return False
        self._wanted = ("", 0)
        self._pane.view.set_mode("source")
        self._pane.text.go_to_line(line)
        self._pane.text.setFocus()
        return True

    def _sentence(self, problem: NotesProblem) -> str:
        """Return a problem as a sentence."""
        name, tokens = visible(problem.section.removeprefix("# ")), f"{problem.tokens:,}"
        said = {
            "empty": self.tr("The notes are empty"),
            "missing": self.tr("The section “{name}” is missing"),
            "order": self.tr("The sections are in a different order than in the template"),
            "description": self.tr("The description under “{name}” was changed"),
            "long-section": self.tr("“{name}” has {tokens} tokens; the agent reads at most {most}"),
            "long-file": self.tr("The notes have {tokens} tokens; the agent reads at most {most}"),
        }[problem.kind]
        return said.format(name=name, tokens=tokens, most=f"{problem.most:,}")


QUIET_MS = 400


class _NotesSeen(Struct, frozen=True):
    """The status of a session's notes, and the engine that an update would use."""

    standing: NotesStanding
    engine: str
    """The engine that an update would use; empty if there is none."""
    why: str
    """The reason why this engine is used, or why there is none."""


class NotesRow(QWidget):
    """A sentence about the notes, with a button to update them and one that lists their problems."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.text = WrapLabel()
        self.problems = FitPushButton(self.tr("Problems"))
        self.problems.hide()
        self.button = FitPushButton(self.tr("&Update notes"))
        row = row_of(self.text, holder=self, grows=self.text, margin=(MARGIN, UNIT, MARGIN, UNIT))
        buttons = QVBoxLayout()  # side by side they would be too wide for a narrow window
        buttons.setSpacing(UNIT)
        buttons.addWidget(self.problems)
        buttons.addWidget(self.button)
        row.addLayout(buttons)
        self.hide()


class NotesControl(QObject):
    """The controller of the row about the session notes."""

    state_changed = Signal()
    """Emitted when the set of enabled actions changes."""

    def __init__(
        self,
        tree: MemoryTreeView,
        editor: EditorControl,
        pane: EditorPane,
        lanes: Lanes,
        now: Callable[[], int],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._lanes = lanes
        self._now = now
        self._session: HomeSession | None = None
        self._runs_in: HomeSession | None = None
        self._session_id = ""
        self._seen: _NotesSeen | None = None
        self._ticket: Ticket | None = None
        self._of = ""  # the session whose notes are being updated
        self._said = ""
        self._stale = False  # an update ended since the status was last read
        self.row = NotesRow()
        self._problems = ProblemsMenu(self.row.problems, tree, editor, pane, self)
        self.row.button.clicked.connect(self._on_button)
        self._quiet = single_shot(self, QUIET_MS, self._look)

    @property
    def available(self) -> bool:
        """True if the session that is shown has notes and no update is running."""
        return self._seen is not None and self._ticket is None

    @property
    def running(self) -> bool:
        return self._ticket is not None

    def runs_in(self, session: HomeSession) -> bool:
        """Return True if session notes of this home are being updated."""
        return self.running and self._runs_in is session

    def set_session(self, session: HomeSession | None) -> None:
        """Set the home to show; None means no home. A running update continues."""
        self._session = session
        self._forget("")

    def follow(self, update: TreeUpdate) -> None:
        """Read the status of the notes again, after a delay, for the updated trees."""
        session_id = update.context.workspace_id or ""
        if session_id != self._session_id:
            self._forget(session_id)
        if session_id and not update.names_only:
            self._quiet.start()

    def update_now(self) -> None:
        """Update the notes of the session that is shown, even if the thresholds are not reached."""
        session, session_id = self._session, self._session_id
        if session is None or not self.available:
            return
        workbench = session.workbench

        async def work(control: JobControl) -> NotesOutcome:
            return await ask(workbench.noting.update, session_id, control.cancel)

        def ended(sentence: str) -> None:
            self._ticket = None
            if session is self._session and session_id == self._session_id:
                self._said, self._stale = sentence, True
                self._show()
                self._quiet.start()
            self.state_changed.emit()

        def done(outcome: NotesOutcome) -> None:
            ended(" ".join(part for part in (outcome.summary, outcome.next_step) if part))

        def failed(error: UserError) -> None:
            ended(str(error))

        def cancelled() -> None:
            ended(self.tr("Cancelled; nothing was changed."))

        self._said, self._of, self._runs_in = "", session_id, session
        self._ticket = self._lanes.writer.submit(
            "update the session notes", work, done=done, failed=failed, cancelled=cancelled
        )
        self._show()
        self.state_changed.emit()

    @Slot()
    def _on_button(self) -> None:
        if self._ticket is None:
            self.update_now()
        elif self._here:
            self._ticket.cancel()

    @property
    def _here(self) -> bool:
        """True if the notes that are being updated are those of the session that is shown."""
        return self._ticket is not None and self._of == self._session_id

    def _forget(self, session_id: str) -> None:
        """Clear the status; called when the session `session_id` is shown ("" for no session)."""
        self._quiet.stop()
        self._session_id, self._seen, self._said, self._stale = session_id, None, "", False
        self._show()
        self.state_changed.emit()

    @Slot()
    def _look(self) -> None:
        """Read the status of the notes in a job."""
        session, session_id = self._session, self._session_id
        if session is None or not session_id or not session.facts.keeps_session_notes:
            return
        workbench = session.workbench

        async def work(_control: JobControl) -> _NotesSeen | None:
            if not await ask(workbench.noting.keeps_notes, session_id):
                return None
            standing = await ask(workbench.noting.standing, session_id)
            try:
                engine, why = await ask(workbench.noting.engine, session_id)
            except UserError as error:
                engine, why = "", str(error)
            return _NotesSeen(standing, engine, why)

        def done(seen: _NotesSeen | None) -> None:
            if session_id == self._session_id:
                self._seen, self._stale = seen, False
                self._show()
                self.state_changed.emit()

        def failed(_error: UserError) -> None:
            # The Memory tab already shows that the home cannot be read.
            done(None)

        session.lanes.history.submit(
            "look at the session notes", work, done=done, failed=failed, group="notes"
        )

    def _show(self) -> None:
        """Update the row from the status of the notes."""
        seen, row = self._seen, self.row
        row.setVisible(seen is not None and row.parentWidget() is not None)
        problems = seen.standing.problems if seen is not None and not self._stale else ()
        self._problems.show_problems(problems, self._path)
        if seen is None:
            return
        state = "" if self._stale and not self._here else self._state(seen.standing)
        said = [state, visible(self._said or seen.standing.sentence)]
        row.text.say(" ".join(part for part in said if part))
        row.button.setEnabled(self._ticket is None or self._here)
        if self._here:
            row.button.say(self.tr("Ca&ncel"), self.tr("Stop the update before it changes the notes"))
            return
        tip = self.tr("Update this session's notes now with {engine}. {why}").format(
            engine=display_text.engine(seen.engine) if seen.engine else self.tr("no engine"),
            why=visible(seen.why),
        )
        unread = self.tr("Current versions of Claude Code do not read session notes.")
        row.button.say(self.tr("&Update notes"), f"{tip} {unread}")

    @property
    def _path(self) -> str:
        """The memory path of the notes."""
        standing = self._seen.standing if self._seen is not None else None
        name = standing.path.name if standing is not None and standing.path is not None else ""
        return f"/memories/workspace/{name}" if name else ""

    def _state(self, standing: NotesStanding) -> str:
        """Return the status of the notes as a sentence."""
        if self._here or standing.running:
            return self.tr("Session notes: updating…")
        if not standing.exists:
            return self.tr("Session notes: not created yet.")
        if standing.is_template:
            return self.tr("Session notes: empty so far.")
        text = self.tr("Session notes: {tokens} of {limit} tokens").format(
            tokens=f"{standing.tokens:,}", limit=f"{standing.limit_tokens:,}"
        )
        if standing.updated_at is not None:
            text += " · " + self.tr("updated {when}").format(when=age(self._now(), standing.updated_at))
        return text + "."
