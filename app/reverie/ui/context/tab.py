"""The Context tab: what an agent would be told, piece by piece, why each memory is in or out, and the text.

Shows what it is given and asks by signal; `context.control` gathers and puts together.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QLabel,
    QSlider,
    QWidget,
)

from reverie.context.seen import Since
from reverie.context.view import ContextView, Entry, Gauge, Part
from reverie.errors import MendableError
from reverie.ui.buttons import FitPushButton
from reverie.ui.columns import pane
from reverie.ui.context import words
from reverie.ui.context.budget import BudgetGauge
from reverie.ui.context.entry_list import EntryList
from reverie.ui.context.loaded_text import LoadedText
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.part_tab import PartTab
from reverie.ui.theme import GAP, MARGIN, UNIT

MOST_DAYS = 28


class ContextTab(PartTab):
    """`days_wanted(int)`: the clock was moved so many days ahead.
    `pin_wanted(str, bool)` and `open_wanted(str)`: of a memory path."""

    days_wanted = Signal(int)
    pin_wanted = Signal(str, bool)
    open_wanted = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(icons, "context-message", "preview", parent)
        self.view: ContextView | None = None
        self._text_of: tuple[str, str] | None = None
        self.since = WrapLabel()
        self.clock_name = QLabel(self.tr("As of:"))
        self.clock = QSlider(Qt.Orientation.Horizontal)
        self.clock.setRange(0, MOST_DAYS)
        self.clock.setPageStep(7)
        self.clock.setMinimumWidth(80)
        self.clock.setMaximumWidth(260)
        self.clock.setAccessibleName(self.tr("How many days ahead the context is worked out for"))
        self.clock.setToolTip(self.tr("What would be loaded later, if nothing was used in between"))
        self.clock_says = QLabel()
        self.clock_name.setBuddy(self.clock)
        self.bar.setAccessibleName(self.tr("Parts of the context"))
        self.gauges = QWidget()
        self._gauge_row = FlowLayout(self.gauges, gap=MARGIN)
        self._gauges: list[BudgetGauge] = []
        self.note = WrapLabel()
        self.marks = WrapLabel()
        self.list = EntryList(icons)
        self.text = LoadedText()
        self.only = QCheckBox(self.tr("Only what is &loaded"))
        self.pin = FitPushButton()
        self.open = FitPushButton()
        self.open.say(self.tr("Open"), self.tr("Show the selected memory in the editor"))
        self.copy = FitPushButton()
        self.copy.say(self.tr("Copy the text"), self.tr("Copy this part as it is loaded"))
        self._arrange()
        self.bar.currentChanged.connect(self._show_part)
        self.only.toggled.connect(self._show_part)
        self.list.picked.connect(self._on_picked)
        self.list.opened.connect(self._on_opened)
        self.clock.valueChanged.connect(self._on_clock)
        self.pin.clicked.connect(self._on_pin)
        self.open.clicked.connect(self._on_open)
        self.copy.clicked.connect(self._on_copy)
        self.forget()

    def _arrange(self) -> None:
        time = QHBoxLayout()
        time.setSpacing(GAP)
        time.addWidget(self.clock_name)
        time.addWidget(self.clock, 2)
        time.addWidget(self.clock_says)
        time.addStretch(1)
        self._time = QWidget()
        time.setContentsMargins(0, 0, 0, 0)
        self._time.setLayout(time)
        self.marks.setContentsMargins(MARGIN, UNIT, MARGIN, UNIT)
        # The marks stand below the list, which would else move away under the pointer.
        self.lay_out(
            (self.since, self._time),
            (self.gauges, self.note),
            (self.pin, self.open, self.copy, self.only),
            self.list,
            pane(self.marks, self.text, grows=self.text, gap=0),
            (300, 300),
        )

    # What is known

    def forget(self, title: str = "", sentence: str = "") -> None:
        """Nothing is known of what is selected; `sentence` says why."""
        self.view = None
        self.message.clear()
        self.nothing.say(
            title or self.tr("No context yet"),
            sentence
            or self.tr(
                "Select a workspace or a project at the left: what its agent would be told shows here."
            ),
        )
        self.turn_to(self.nothing)

    def show_view(self, view: ContextView, place: str, *, drafts: int = 0) -> None:
        """The context of what is called `place`; `drafts`: so many unsaved texts are counted in it."""
        self.view = view
        said = self.tr("{place}: about {tokens} tokens").format(place=place, tokens=f"{view.tokens:,}")
        if drafts:
            said += " · " + self.tr("with unsaved text")
        self.title.say(said)
        self._show_bar(view)
        self._time.setVisible(view.part("hot-set") is not None or view.part("lessons") is not None)
        self.clock_says.setText(words.in_days(self.clock.value()))
        self.turn_to(self.page)
        self._show_part()

    def show_since(self, since: Since | None, now: int) -> None:
        """What changed since somebody looked."""
        said = words.since_words(since, now)
        self.since.say(said)
        self.since.setVisible(bool(said))

    def say_error(self, error: MendableError) -> None:
        self.message.say_error(error)

    @property
    def part(self) -> Part | None:
        """The part that is shown."""
        index = self.bar.currentIndex()
        parts = self.view.parts if self.view is not None else ()
        return parts[index] if 0 <= index < len(parts) else None

    @property
    def gauge_texts(self) -> tuple[str, ...]:
        return tuple(gauge.text for gauge in self._gauges if not gauge.isHidden())

    def show_key(self, key: str) -> None:
        """Show the part with this key, if there is one."""
        for index, part in enumerate(self.view.parts if self.view is not None else ()):
            if part.key == key:
                self.bar.setCurrentIndex(index)

    def _show_bar(self, view: ContextView) -> None:
        titles = [f"{words.part_title(part)} · {len(part.loaded):,}" for part in view.parts]
        self.bar.blockSignals(True)
        while self.bar.count() > len(titles):
            self.bar.removeTab(self.bar.count() - 1)
        while self.bar.count() < len(titles):
            self.bar.addTab("")
        for index, title in enumerate(titles):
            self.bar.setTabText(index, title)
        self.bar.blockSignals(False)

    @Slot()
    def _show_part(self) -> None:
        part = self.part
        if part is None:
            return
        self._show_gauges(part.gauges)
        self.note.say(words.note_lines(part))
        self.note.setVisible(bool(part.notes))
        shown = part.loaded if self.only.isChecked() else part.entries
        self.list.show_entries(shown)
        if self._text_of != (part.key, part.text):
            same = self._text_of is not None and self._text_of[0] == part.key
            at = self.text.verticalScrollBar().value() if same else 0
            self.text.show_text(part.text, part.marked)
            self.text.verticalScrollBar().setValue(at)
            self._text_of = (part.key, part.text)
        self.copy.setEnabled(bool(part.text))
        self._on_picked(self.list.current)

    def _show_gauges(self, gauges: tuple[Gauge, ...]) -> None:
        while len(self._gauges) < len(gauges):
            made = BudgetGauge(gauges[len(self._gauges)], self.gauges)
            self._gauges.append(made)
            self._gauge_row.addWidget(made)
            made.show()
        for index, widget in enumerate(self._gauges):
            widget.setVisible(index < len(gauges))
            if index < len(gauges):
                widget.show_gauge(gauges[index])

    # What is wanted

    @Slot(object)
    def _on_picked(self, entry: Entry | None) -> None:
        is_memory = entry is not None and entry.is_memory
        pinned = entry is not None and entry.pinned
        can_pin = is_memory and self.part is not None and self.part.key in ("hot-set", "index")
        self.pin.say(
            self.tr("Unpin") if pinned else self.tr("Pin"),
            self.tr("A pinned memory is loaded before those that are used often"),
        )
        self.pin.setEnabled(can_pin)
        self.pin.setVisible(self.view is not None and self.view.part("hot-set") is not None)
        said = words.marks(entry)
        self.marks.say(said)
        self.marks.setVisible(bool(said))
        self.open.setEnabled(is_memory)

    @Slot(object)
    def _on_opened(self, entry: Entry) -> None:
        if entry.is_memory:
            self.open_wanted.emit(entry.path)

    @Slot(int)
    def _on_clock(self, days: int) -> None:
        self.clock_says.setText(words.in_days(days))
        self.days_wanted.emit(days)

    @Slot()
    def _on_pin(self) -> None:
        entry = self.list.current
        if entry is not None and entry.is_memory:
            self.pin_wanted.emit(entry.path, not entry.pinned)

    @Slot()
    def _on_open(self) -> None:
        entry = self.list.current
        if entry is not None:
            self._on_opened(entry)

    @Slot()
    def _on_copy(self) -> None:
        if self.part is not None:
            QGuiApplication.clipboard().setText(self.part.text)
