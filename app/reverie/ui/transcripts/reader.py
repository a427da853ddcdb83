"""The view of one transcript: its text page by page, a search in all of it, its facts, and its growth.

Pages are loaded while scrolling, and text far above is dropped, so that memory depends on the displayed part,
not on the size of the file. While the view is visible it polls for growth of the file, less often if the
transcript is slow to read.

Threading: GUI thread; the engine is called in jobs on the given lane. Failure: shown in the bar above the
text; the displayed text stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QWidget

from reverie.agents.transcript_pages import Page, Stamp, weight
from reverie.agents.transcripts import ReadStatistics
from reverie.engine.asking import Request, ask
from reverie.errors import UserError
from reverie.ui.appearance import GAP, UNIT
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, Work, repeating
from reverie.ui.transcripts.text import SEPARATOR, ReaderText, memory_used, read_so_far
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, column
from reverie.ui.widgets.messages import MessageBar
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.agents.base import TranscriptSource
    from reverie.agents.transcripts import Message
    from reverie.services.traces import TranscriptService


class ReaderBar(QWidget):
    """The controls above the text: search, previous and next hit, copy, unfold.

    The view connects them.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.search = SearchField(self.tr("Search this transcript"))
        self.back = self._button("↑", self.tr("Previous match (Shift+F3)"))
        self.forth = self._button("↓", self.tr("Next match (F3)"))
        self.copy = self._button(
            self.tr("Cop&y entry"), self.tr("Copy the full text of the entry at the cursor")
        )
        self.unfold = QCheckBox(self.tr("&Unfold all"))
        self.back.setAccessibleName(self.tr("Previous match"))
        self.forth.setAccessibleName(self.tr("Next match"))
        row = FlowLayout(self.search, self.back, self.forth, self.copy, self.unfold)
        self.search.setMinimumWidth(200)
        self.search.setToolTip(
            self.tr(
                "Press Ctrl+Up or Ctrl+Down to go to the previous or next prompt, Ctrl+Home or Ctrl+End "
                "to go to the beginning or end"
            )
        )
        for button in (self.back, self.forth):
            button.setFixedWidth(34)
        column(self, row, margin=0, gap=None)

    def follow(self, *, there: bool) -> None:
        """Enable the controls that can be used now; `there`: True if any text is shown."""
        self.copy.setEnabled(there)
        for button in (self.back, self.forth):
            button.setEnabled(there and bool(self.search.text()))
        for control in (self.search, self.unfold):
            control.setEnabled(there)

    @staticmethod
    def _button(text: str, tip: str) -> FitPushButton:
        made = FitPushButton(text, tip)
        made.setAutoDefault(False)  # Enter in a list or in the text must not press a button
        return made


class ReaderSearch(QObject):
    """The search in the transcript of one view, by words and by prompts.

    It searches the current entry first, then the whole file, by a job that does not change the loaded pages.
    `busy`: True if such a job is running.
    """

    def __init__(self, view: TranscriptView) -> None:
        super().__init__(view)
        self._view = view
        self._group = f"search a transcript {id(view)}"
        self.busy = False

    def forget(self) -> None:
        """Cancel the search. Called when another transcript is shown."""
        self._view.lane.abandon(self._group)
        self.busy = False
        self.say("")

    @Slot()
    def find_next(self) -> None:
        """Go to the next occurrence of the search words."""
        self._find(back=False)

    @Slot()
    def find_previous(self) -> None:
        """Go to the previous occurrence of the search words."""
        self._find(back=True)

    def _find(self, *, back: bool) -> None:
        needle, text = self._view.search.text(), self._view.text
        if not needle or not text.messages:
            return
        current = text.current()
        if text.is_unfolded(text.message(current)) and text.mark(needle, current, back=back):
            self.say("")
            return
        self._seek(current, needle, back=back)

    @Slot()
    def next_prompt(self) -> None:
        """Go to the next prompt."""
        self._seek(self._view.text.current(), "", back=False)

    @Slot()
    def previous_prompt(self) -> None:
        """Go to the previous prompt."""
        self._seek(self._view.text.current(), "", back=True)

    def _seek(self, number: int, needle: str, *, back: bool) -> None:
        """Go from entry `number` to the nearest entry that contains `needle`.

        If `needle` is empty, go to the nearest prompt. With `back`, search backwards.
        """
        transcript = self._view.transcript
        if transcript is None:
            return
        self.busy = True
        if needle:
            self.say(self.tr("Searching…"))

        def done(place: int | None) -> None:
            self.busy = False
            if place is None:
                self.say(self.tr("Not found.") if needle else "")
                return
            around = place >= number if back else place <= number
            note = (
                self.tr("Search continued from the end.")
                if back
                else self.tr("Search continued from the beginning.")
            )
            self.say(note if around and needle and place != number else "")
            self._view.go_to(place, needle, back=back)

        def failed(error: UserError) -> None:
            self.busy = False
            self.say("")
            self._view.message.say_error(error)

        self._view.lane.submit(
            "search a transcript",
            ask(transcript.service.find, transcript.source, needle, number, back=back),
            done=done,
            failed=failed,
            group=self._group,
        )

    @Slot()
    def start_again(self) -> None:
        """Cancel the search and remove the highlights. Called when the search words have changed."""
        self._view.lane.abandon(self._group)
        self.busy = False
        self._view.text.unmark()
        self.say("")
        self._view.follow()

    def say(self, sentence: str) -> None:
        """Show a sentence about the search; if it is empty, hide its line."""
        self._view.found.say(sentence)
        self._view.found.setVisible(bool(sentence))


ASK_MS = 700
MOST_CHARS = 3_000_000
MOST_MESSAGES = 3_000
_BEFORE = 30
# A view waits this many times as long as the last reading of a growing transcript took.
_SHARE = 8


class ReadingStart(Struct, frozen=True):
    """Where to open a transcript: at its beginning, at its end, or at the message with this id."""

    message_id: str = ""
    at_end: bool = False


FROM_THE_START = ReadingStart()


class ShownTranscript(Struct, frozen=True):
    """The transcript that is shown and the service that reads it."""

    service: TranscriptService
    source: TranscriptSource


class TranscriptView(QWidget):
    """The view of one transcript, which `open` reads.

    Signal: `opened(int)`, emitted when `open` has finished, with the number of the requested entry, or -1 if
    the transcript does not have it or none was requested.
    """

    opened = Signal(int)

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lane = lane
        self._group = f"transcript {id(self)}"
        self.transcript: ShownTranscript | None = None
        self._stamp: Stamp = ()
        self._facts = ReadStatistics()
        self._at_end = False
        self._reading = ""
        self._took = 0.0
        self._rested = 0.0
        self._growth_failed = False
        self.finding = ReaderSearch(self)
        self.text = ReaderText(self.tr("Transcript"))
        self.message = MessageBar(icons, "transcript-message", closable=False)
        self.facts = WrapLabel()
        self.found = WrapLabel()
        self.bar = ReaderBar()
        self.search = self.bar.search
        self._ask = repeating(self, ASK_MS, self._ask_growth)
        self._lay_out()
        self._connect()
        self.follow()

    def _lay_out(self) -> None:
        parts = self.bar, self.found, self.message, self.text, self.facts
        column(self, *parts, grows=self.text, margin=(GAP, GAP, GAP, UNIT), gap=UNIT)
        self.found.hide()

    def _connect(self) -> None:
        self.search.returnPressed.connect(self.finding.find_next)
        self.search.textChanged.connect(self.finding.start_again)
        self.bar.forth.clicked.connect(self.finding.find_next)
        self.bar.back.clicked.connect(self.finding.find_previous)
        self.bar.copy.clicked.connect(self._copy)
        self.bar.unfold.toggled.connect(self.text.unfold_all)
        self.text.near_start.connect(self._read_before)
        self.text.near_end.connect(self._read_on)

    @property
    def is_read(self) -> bool:
        """True if neither reading nor a search is in progress."""
        return not self._reading and not self.finding.busy

    def open(
        self,
        service: TranscriptService,
        finding: Request[TranscriptSource | None] | TranscriptSource,
        start: ReadingStart = FROM_THE_START,
    ) -> None:
        """Read and show a transcript.

        `finding` is the transcript, or a request that returns it (None: there is no such transcript).
        """
        self.clear()
        self._reading = "open"
        self.facts.say(self.tr("Reading…"))

        async def work(_control: JobControl) -> tuple[ShownTranscript, tuple[Page, Stamp, int]] | None:
            source = await finding if isinstance(finding, Request) else finding
            if source is None:
                return None
            opened = await ask(service.open, source, message_id=start.message_id, at_end=start.at_end)
            return ShownTranscript(service, source), opened

        self._submit("read a transcript", work, self._on_opened)

    def clear(self) -> None:
        """Show no transcript."""
        self.lane.abandon(self._group)
        self.finding.forget()
        self.transcript, self._stamp, self._facts = None, (), ReadStatistics()
        self._at_end, self._reading = False, ""
        self._ask.stop()
        self.message.clear()
        self.found.hide()
        self.text.unmark()
        self.text.forget()
        self.follow()

    def _on_opened(self, found: tuple[ShownTranscript, tuple[Page, Stamp, int]] | None) -> None:
        if found is None:
            self._reading = ""
            self.message.say(self.tr("No transcript found."))
            self.follow()
            self.opened.emit(-1)
            return
        self.transcript, (page, self._stamp, place) = found
        self._take(page, self.text.show_messages)
        if place >= 0:
            self.text.unfold(place)
            self.text.go_to(place)
        elif page.at_end and self.text.first:
            self.text.go_to_end()
        if self.isVisible():
            self._ask.start()
        self.opened.emit(place)

    def _take(self, page: Page, put: Callable[[Sequence[Message]], None] | None) -> None:
        """Pass the messages of a page to `put`, unless that is None, and update the facts."""
        self._reading = ""
        self._facts, self._at_end = page.facts, page.at_end
        if put is not None:
            put(page.messages)
        self.message.clear()
        self.follow()

    def follow(self) -> None:
        """Update the line of facts and the controls, because another part of the text is shown."""
        self.bar.follow(there=bool(self.text.messages))
        if self.transcript is None:
            self.facts.say("")
        else:
            facts = read_so_far(self.text.end, self.text.first, self._facts, at_end=self._at_end)
            self.facts.say(SEPARATOR.join((facts, *self._facts.problems)))

    @Slot()
    def _read_on(self) -> None:
        if self._reading or self._at_end or not self.text.messages:
            return
        start = self.text.end
        self._read("on", lambda asked: ask(asked.service.page, asked.source, start), self._on_more)

    def _on_more(self, page: Page) -> None:
        """Append a page, and drop entries from the top that exceed the limits of messages and characters."""
        self._take(page, self.text.append)
        shown = self.text.messages
        over, chars = len(shown) - MOST_MESSAGES, sum(map(weight, shown)) - MOST_CHARS
        drop = 0
        while drop < len(shown) - 1 and (over > drop or chars > 0):
            chars -= weight(shown[drop])
            drop += 1
        if drop:
            self.text.drop_before(self.text.first + drop)
            self.follow()

    @Slot()
    def _read_before(self) -> None:
        first = self.text.first
        if self._reading or not first:
            return
        start = max(0, first - 4 * _BEFORE)

        self._read(
            "before",
            lambda asked: ask(
                asked.service.page, asked.source, start, messages=first - start, chars=MOST_CHARS
            ),
            self._on_before,
        )

    def _on_before(self, page: Page) -> None:
        first = self.text.first
        if page.messages and page.messages[-1].number == first - 1:
            self._reading = ""
            self.text.prepend(page.messages)
            self.follow()
        else:  # the preceding entries are too long to be shown together with the rest
            self._take(page, self.text.show_messages)
            self.text.go_to_end()

    def go_to(self, number: int, needle: str = "", *, back: bool = False) -> None:
        """Show an entry, reading it if needed, and highlight `needle` in it.

        The first occurrence is selected or, with `back`, the last one.
        """
        if self.text.holds(number):
            self._arrive(number, needle, back=back)
            return

        def arrived(page: Page) -> None:
            self._take(page, self.text.show_messages)
            if self.text.holds(number):
                self._arrive(number, needle, back=back)

        self._read("go", lambda asked: ask(asked.service.page_with, asked.source, number), arrived)

    def _arrive(self, number: int, needle: str, *, back: bool) -> None:
        """Scroll to an entry and, unless `needle` is empty, unfold it and highlight `needle` in it.

        The first occurrence is selected or, with `back`, the last one.
        """
        if needle:
            self.text.unfold(number)
        self.text.go_to(number)
        if needle:
            self.text.mark(needle, number, back=back)

    @Slot()
    def go_to_start(self) -> None:
        """Show the first entry."""
        self.go_to(0)

    @Slot()
    def go_to_end(self) -> None:
        """Show the last entry, reading it if needed."""
        if self._at_end:
            self.text.go_to_end()
            return

        def arrived(page: Page) -> None:
            self._take(page, self.text.show_messages)
            self.text.go_to_end()

        self._read("end", lambda asked: ask(asked.service.last, asked.source), arrived)

    @Slot()
    def _ask_growth(self) -> None:
        transcript = self.transcript
        if transcript is None or self._reading or self.finding.busy or not self._at_end:
            return
        if time.monotonic() - self._rested < self._took * _SHARE:
            return
        known, first, count = self._stamp, self.text.first, len(self.text.messages)
        self._reading = "growth"

        async def work(control: JobControl) -> tuple[tuple[Stamp, Page | None], float]:
            began = time.monotonic()
            found = await ask(
                transcript.service.growth,
                transcript.source,
                known,
                first,
                messages=count + 4 * _BEFORE,
                chars=2 * MOST_CHARS,
            )
            return found, time.monotonic() - began

        self._submit("ask whether a transcript grew", work, self._on_grown)

    def _on_grown(self, found: tuple[tuple[Stamp, Page | None], float]) -> None:
        """Update the text to a changed transcript; if the end was visible, scroll to the new end.

        Entries that are equal are not written again.
        """
        (self._stamp, page), took = found
        self._rested = time.monotonic()
        if page is None:
            self._reading = ""
            if self._growth_failed:
                self._growth_failed = False
                self.message.clear()
            return
        self._took = took
        follow = self.text.at_bottom
        before, after = self.text.messages, page.messages
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        if same or not after:
            changed = self.text.first + same
            self._take(page, None)
            if not after:
                self.text.show_messages(())
            elif same < len(before):
                self.text.replace_from(changed, after[same:])
            elif same < len(after):
                self.text.append(after[same:])
        else:
            self._take(page, self.text.show_messages)
        self.follow()
        if follow:
            self.text.go_to_end()

    def _read(
        self, why: str, read: Callable[[ShownTranscript], Request[Page]], done: Callable[[Page], None]
    ) -> None:
        if self.transcript is None:
            return
        self._reading = why
        if why in ("go", "end"):
            self.facts.say(self.tr("Reading…"))

        self._submit("read a transcript", read(self.transcript), done)

    def _submit(self, name: str, work: Work[Any], done: Callable[..., None]) -> None:
        self.lane.submit(name, work, done=done, failed=self._on_failed, group=self._group)

    def _on_failed(self, error: UserError) -> None:
        self._growth_failed = self._reading == "growth"
        self._reading = ""
        self.message.say_error(error)
        self.follow()

    @Slot()
    def _copy(self) -> None:
        message = self.text.message(self.text.current())
        tool = message.tool
        parts = [message.text] if tool is None else [tool.name, tool.input, tool.output or ""]
        parts += memory_used(message)
        QGuiApplication.clipboard().setText("\n".join(part for part in parts if part))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        shift = event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        wanted = {
            (Qt.Key.Key_F3, False): self.finding.find_previous if shift else self.finding.find_next,
            (Qt.Key.Key_Up, True): self.finding.previous_prompt,
            (Qt.Key.Key_Down, True): self.finding.next_prompt,
            (Qt.Key.Key_Home, True): self.go_to_start,
            (Qt.Key.Key_End, True): self.go_to_end,
        }.get((Qt.Key(event.key()), bool(control)))
        if wanted is None or not self.text.messages:
            super().keyPressEvent(event)
        else:
            wanted()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self.transcript is not None:
            self._ask.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._ask.stop()
