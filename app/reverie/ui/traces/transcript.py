"""What was said around the message that triggered a run, from the agent's own transcript. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QWidget

from reverie.ui.columns import column
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.traces.feed import TraceFeed
from reverie.ui.transcripts.view import Start, TranscriptView

if TYPE_CHECKING:
    from reverie.services.transcripts import TranscriptDesk
    from reverie.transcripts.paging import PagedTranscript


class TranscriptDialog(QDialog):
    """Stays open beside the window."""

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Transcript"))
        self.resize(900, 640)
        self.title = WrapLabel()
        self.view = TranscriptView(feed.lane, icons)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        self.view.opened.connect(self._on_opened)
        column(self, self.title, self.view, self.buttons, grows=self.view)

    @property
    def is_read(self) -> bool:
        return self.view.is_read

    def open_at(self, desk: TranscriptDesk, workspace_id: str, message_id: str) -> None:
        """Read the transcript of a workspace and show it at a message."""
        self.title.say(self.tr("Reading the transcript…"))
        self.show()

        def opening() -> PagedTranscript | None:
            source = desk.of_workspace(workspace_id)
            return desk.open(source) if source is not None else None

        self.view.open(opening, Start(message_id))

    @Slot(int)
    def _on_opened(self, place: int) -> None:
        if place >= 0:
            self.title.say(self.tr("The run was triggered by this message."))
            self.view.text.setFocus()
        elif self.view.text.messages:
            self.title.say(self.tr("The message that triggered the run is not in the transcript any more."))
        else:
            self.title.say(self.tr("There is no transcript of this workspace."))
