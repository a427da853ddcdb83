"""Walking through a transcript by words and by prompts: in the entry that is shown first, then through all of
the file in a job of its own, which disturbs no page.

Threading: GUI thread. Failure: told in the view.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot

from reverie.errors import MendableError
from reverie.transcripts.paging import is_prompt, says
from reverie.ui.jobs import JobControl

if TYPE_CHECKING:
    from reverie.transcripts.paging import Wanted
    from reverie.ui.transcripts.view import TranscriptView


class ReaderSearch(QObject):
    """The search of one view. `busy`: a job is on its way."""

    def __init__(self, view: TranscriptView) -> None:
        super().__init__(view)
        self._view = view
        self._group = f"search a transcript {id(view)}"
        self.busy = False

    def forget(self) -> None:
        """Another transcript."""
        self._view.lane.abandon(self._group)
        self.busy = False
        self.say("")

    @Slot()
    def find_next(self) -> None:
        self._find(back=False)

    @Slot()
    def find_previous(self) -> None:
        self._find(back=True)

    def _find(self, *, back: bool) -> None:
        needle, text = self._view.search.text(), self._view.text
        if not needle or not text.messages:
            return
        current = text.current()
        if text.is_unfolded(text.message(current)) and text.mark(needle, current, back=back):
            self.say("")
            return
        self._seek(says(needle), current, needle, back=back)

    @Slot()
    def next_prompt(self) -> None:
        self._seek(is_prompt, self._view.text.current(), "", back=False)

    @Slot()
    def previous_prompt(self) -> None:
        self._seek(is_prompt, self._view.text.current(), "", back=True)

    def _seek(self, wanted: Wanted, number: int, needle: str, *, back: bool) -> None:
        transcript = self._view.transcript
        if transcript is None:
            return
        self.busy = True
        if needle:
            self.say(self.tr("Searching…"))

        def work(control: JobControl) -> int | None:
            return transcript.find(wanted, number, control.check, back=back)

        def done(place: int | None) -> None:
            self.busy = False
            if place is None:
                self.say(self.tr("Not found.") if needle else "")
                return
            around = place >= number if back else place <= number
            told = (
                self.tr("Found again from the end.") if back else self.tr("Found again from the beginning.")
            )
            self.say(told if around and needle and place != number else "")
            self._view.go_to(place, needle, back=back)

        def failed(error: MendableError) -> None:
            self.busy = False
            self.say("")
            self._view.message.say_error(error)

        self._view.lane.submit("search a transcript", work, done=done, failed=failed, group=self._group)

    @Slot()
    def start_again(self) -> None:
        """Other words are looked for."""
        self._view.lane.abandon(self._group)
        self.busy = False
        self._view.text.unmark()
        self.say("")
        self._view.follow()

    def say(self, sentence: str) -> None:
        """What came of it; empty for nothing to say."""
        self._view.found.say(sentence)
        self._view.found.setVisible(bool(sentence))
