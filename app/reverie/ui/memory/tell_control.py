"""Telling the agent something in the person's own words: a dialog for the text, and a job that writes it.

For homes whose agent takes notes (`Home.note_path`). Threading: GUI thread; the note is written by a job.
Failure: shown in the dialog, which stays open with the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QPlainTextEdit, QWidget

from reverie.errors import AGENT_BUSY, MendableError
from reverie.ui.columns import column
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.session import HomeSession
from reverie.ui.theme import MARGIN

if TYPE_CHECKING:
    from reverie.ui.memory.tab import MemoryTab

RETRY_MS = 1_500
"""Between two tries while the agent holds its lock."""


class TellDialog(QDialog):
    """A text field and a message. `confirmed(str)`: the person wants this text to be written."""

    confirmed = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(self.tr("Tell Codex"))
        self.resize(480, 300)
        what = WrapLabel(
            self.tr(
                "Write what Codex should remember. It becomes a note that Codex folds into its memory when it"
                " consolidates the next time."
            )
        )
        self.text = QPlainTextEdit()
        self.text.setAccessibleName(self.tr("What Codex should remember"))
        self.text.setTabChangesFocus(True)
        self.message = MessageBar(icons, "tell", closable=False)
        buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.accept_button = buttons.button(QDialogButtonBox.StandardButton.Ok)
        self.accept_button.setText(self.tr("Tell Codex"))
        buttons.accepted.connect(self._tell)
        buttons.rejected.connect(self.reject)
        outer = column(self, what, self.text, self.message, gap=MARGIN)
        outer.addWidget(buttons)
        self.text.textChanged.connect(self._judge)
        self._judge()

    @Slot()
    def _judge(self) -> None:
        self.accept_button.setEnabled(bool(self.text.toPlainText().strip()))

    @Slot()
    def _tell(self) -> None:
        self.accept_button.setEnabled(False)
        self.confirmed.emit(self.text.toPlainText())


class TellControl(QObject):
    """Slots are named by the action registry."""

    def __init__(self, tab: MemoryTab, icons: Icons) -> None:
        super().__init__(tab)
        self._tab = tab
        self._icons = icons
        self._session: HomeSession | None = None
        self.dialog: TellDialog | None = None

    @property
    def available(self) -> bool:
        """Whether the shown home's agent takes notes."""
        return self._session is not None and self._session.workbench.takes_notes

    def set_session(self, session: HomeSession | None) -> None:
        """Another home is shown; a text that was not written yet belongs to the old one."""
        self._session = session
        if self.dialog is not None:
            self.dialog.close()

    @Slot()
    def show(self) -> None:
        """Ask for the text."""
        if not self.available:
            return
        if self.dialog is None:
            self.dialog = TellDialog(self._icons, self._tab)
            self.dialog.confirmed.connect(self._write)
            self.dialog.destroyed.connect(self._forget)
        self.dialog.show()
        self.dialog.text.setFocus()

    @Slot()
    def _forget(self) -> None:
        self.dialog = None

    @Slot(str)
    def _write(self, text: str) -> None:
        session, dialog = self._session, self.dialog
        if session is None or session.context is None or dialog is None:
            return
        workbench, context = session.workbench, session.context

        def work(_control: JobControl) -> str:
            return workbench.tell_agent(context, text)

        def done(path: str) -> None:
            if dialog is self.dialog:
                dialog.accept()
            self._tab.undo_bar.say(self.tr("Codex will read {path}.").format(path=path))

        def failed(error: MendableError) -> None:
            if dialog is not self.dialog:
                return
            if error.reason == AGENT_BUSY:
                sentence = self.tr("{reason} The note is written by itself when that is done.")
                dialog.message.say(sentence.format(reason=error.title))
                QTimer.singleShot(RETRY_MS, dialog, lambda: self._write(dialog.text.toPlainText()))
                return
            dialog.message.say_error(error)
            dialog.accept_button.setEnabled(True)

        session.lanes.scan.submit("tell the agent", work, done=done, failed=failed)
