"""The Context tab: the text that an agent would load, in parts, and why each memory is loaded or not.

`ContextTab` shows the data and emits requests as signals; `ContextControl` gathers and assembles the data.

Threading: GUI thread; gathering runs on its own lane. Failure: shown in the tab.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QRectF, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFontMetrics, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QLabel, QSizePolicy, QSlider, QWidget

from reverie.context.facts import ContextFacts
from reverie.context.glances import Change, ChangeKind, Since, since
from reverie.context.recipes import AGENTS, assemble
from reverie.context.view import (
    IMPORT_PROBLEMS,
    NOTES,
    PARTS,
    REASONS,
    ContextEntry,
    ContextPart,
    ContextView,
    Gauge,
    Note,
    load_state,
)
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import GAP, MARGIN, UNIT, tabular, theme_of
from reverie.ui.display_text import age, as_tooltip, counted, tr, visible
from reverie.ui.display_text import translatable as _
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.session import TreeUpdate
from reverie.ui.tree.findings import headline
from reverie.ui.tree.model import loaded_words
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, pane, row_of
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.pages import PartTab
from reverie.ui.widgets.text_views import LoadedText
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.clock import Clock
    from reverie.memory.listing import LintFinding
    from reverie.ui.editor.buffers import Buffers
    from reverie.ui.memory.edits import Edits
    from reverie.ui.session import HomeSession


# Texts of the tab. The functions are pure; callers make texts from disk safe to draw.
_NOTES: Mapping[Note, str] = {
    **NOTES,
    "hot-set-experiment": _(
        "mux loads this only if its “memory-hot-set” experiment is on. Reverie cannot detect whether it is."
    ),
    "own-words": _("The agent adds fixed sentences around this part. Reverie shows them in its own words."),
}
_UNITS: dict[str, tuple[str, str]] = {
    "bytes": (_("{used} of {cap} bytes"), _("{used} bytes")),
    "tokens": (_("{used} of {cap} tokens"), _("{used} tokens")),
    "items": (_("{used} of {cap} memories"), _("{used} memories")),
    "lines": (_("{used} of {cap} lines"), _("{used} lines")),
    "chars": (_("{used} of {cap} characters"), _("{used} characters")),
    "lessons": (_("{used} of {cap} lessons"), _("{used} lessons")),
    "files": (_("{used} of {cap} files"), _("{used} files")),
}
_CHANGES: dict[ChangeKind, str] = {
    "came": _("{name} was added"),
    "went": _("{name} was removed"),
    "cut": _("{name} is now cut off"),
    "whole": _("{name} is complete again"),
    "resized": _("{name} changed size"),
}
_NAMED = 3
_LEAST_SCORE = 0.001


def part_title(part: ContextPart) -> str:
    """Return the translated title of a part of the context."""
    return tr(PARTS[part.key])


def reason(entry: ContextEntry) -> str:
    """Return the reason why an entry is loaded or not, as a translated text.

    If the listing of the memories gives its own explanation, that is used.
    """
    if entry.reason == "unseen" and entry.detail:
        return tr("not visible to the agent: {why}").format(why=visible(entry.detail))
    if entry.reason == "cut" and entry.detail:
        return tr("{tokens} tokens in the middle are left out").format(tokens=entry.detail)
    said = tr(REASONS[entry.reason])
    if entry.reason == "not-imported":
        return tr("{why}: {problem}").format(why=said, problem=tr(IMPORT_PROBLEMS[entry.detail]))
    if entry.pin_unknown:
        return tr("{why} · the running agent has not read this pin change yet").format(why=said)
    if entry.reason in ("lesson", "newest-only") and entry.detail:
        return f"{said} · {counted('seen once', 'seen %n times', int(entry.detail))}"
    if entry.reason in ("cut", "falls-off") and entry.line:
        return tr("{why}: line {line}").format(why=said, line=entry.line)
    return said


def state(entry: ContextEntry) -> str:
    """Return words for how much of an entry's file is loaded, such as "loaded in full"."""
    loaded = load_state(entry)
    return tr("not loaded") if loaded in (None, "needed") else loaded_words(loaded)


def note_lines(part: ContextPart) -> str:
    """Return the notes about a part as one line of sentences."""
    return " ".join(
        tr(_NOTES[note]).format(detail=visible(part.detail), line=part.cut_line) for note in part.notes
    )


def gauge_text(gauge: Gauge) -> str:
    """Return the used amount of a budget and, if it has one, its limit, with the unit, as text."""
    return tr(_UNITS[gauge.unit][0 if gauge.cap else 1]).format(used=f"{gauge.used:,}", cap=f"{gauge.cap:,}")


def score(entry: ContextEntry) -> str:
    """Return a text with the score by which an entry was ranked; "" if it has none."""
    if not entry.score:
        return ""
    return tr("score {score}").format(
        score=f"{entry.score:.3g}" if entry.score >= _LEAST_SCORE else f"< {_LEAST_SCORE}"
    )


def amount(entry: ContextEntry) -> str:
    """Return how many bytes and tokens of an entry are loaded, as text; "" if none are."""
    if not entry.bytes:
        return ""
    return tr("{bytes} bytes · {tokens} tokens").format(bytes=f"{entry.bytes:,}", tokens=f"{entry.tokens:,}")


def in_days(days: int) -> str:
    """Return a text for the time `days` days from now: "now" for 0, "in 3 days" for 3."""
    return tr("now") if days == 0 else counted("in 1 day", "in %n days", days)


def since_words(found: Since | None, now: int) -> str:
    """Return one or two sentences about how the context has changed since the user last viewed it.

    `found` None means that the user has not viewed it before; the result is then "". `now`: UTC ms.
    """
    if found is None:
        return ""
    when = age(now, found.at)
    if not found.changes:
        return tr("No changes since your last visit ({when}).").format(when=when)
    listed = [change for change in found.changes if change.part != "index"] or list(found.changes)
    said = "; ".join(_change(change) for change in listed[:_NAMED])
    more = len(listed) - _NAMED
    if more > 0:
        said += "; " + counted("1 more", "%n more", more)
    sign = "+" if found.tokens > 0 else "-" if found.tokens < 0 else "±"
    return tr("Since your last visit ({when}): {changes}. Change in size: {tokens} tokens.").format(
        when=when, changes=said, tokens=f"{sign}{abs(found.tokens):,}"
    )


def _change(change: Change) -> str:
    return tr(_CHANGES[change.kind]).format(name=visible(short(change.path)))


def marks(entry: ContextEntry | None) -> str:
    """Return one sentence with the findings about an entry that need attention; "" if there are none.

    `entry` None: no entry is selected.
    """
    if entry is None or not entry.marks:
        return ""
    said = " ".join(headline(mark) for mark in entry.marks[:_NAMED])
    return tr("{name}: {marks}").format(name=visible(short(entry.path)), marks=said)


def place_of(entry: ContextEntry, part: ContextPart) -> int:
    """Return the number, from 1, of the line in the part's text where the entry begins; 0 if unknown."""
    if part.key == "index-file" and entry.line:
        return entry.line
    for number, line in enumerate(part.text.split("\n"), 1):
        if entry.path in line:
            return number
    return 0


def short(path: str) -> str:
    """Return a memory path without the common prefix `/memories/`."""
    return path.removeprefix("/memories/")


_SIGNS = {"in": "check", "cut": "warning", "out": "close"}
_WIDE = 420


def spoken(entry: ContextEntry) -> str:
    """Return the text that a screen reader reads for an entry's row."""
    return ", ".join(_words_of(entry))


def _words_of(entry: ContextEntry) -> Iterator[str]:
    yield visible(short(entry.path))
    yield state(entry)
    yield reason(entry)
    yield from (said for said in (score(entry), amount(entry)) if said)
    if entry.marks:
        yield tr("needs attention")


def with_marks(view: ContextView, found: Callable[[str], tuple[LintFinding, ...]]) -> ContextView:
    """Return a copy of `view` in which each entry is also marked with the findings that `found` returns.

    `found` is called with the memory path of the entry.
    """
    parts = []
    for part in view.parts:
        entries = (replace(entry, marks=(*entry.marks, *found(entry.path))) for entry in part.entries)
        parts.append(replace(part, entries=tuple(entries)))
    return replace(view, parts=tuple(parts))


class EntryModel(LineModel):
    """The Qt model of the entries (memories) of one part of the context.

    Each row has an icon for how much of the file is loaded, and signs and numbers at its right edge.
    """

    def look(self, value: ContextEntry) -> TwoLines:
        below = reason(value)
        if value.description:
            below += f" · {visible(value.description)}"
        return TwoLines(
            visible(short(value.path)),
            below,
            score(value),
            quiet=value.state == "out",
            sign=_SIGNS[value.state],
            right_below=amount(value),
            marks=("pin",) * value.pinned + ("warning",) * bool(value.marks),
            cut_below="end",
        )

    def spoken(self, value: ContextEntry) -> str:
        return spoken(value)

    def tooltip(self, value: ContextEntry) -> str:
        said = [value.description] if value.description else []
        return as_tooltip(value.path, *said, *map(headline, value.marks))


class EntryList(LineList):
    """The list of the entries of one part.

    Signals: `picked(ContextEntry | None)`, emitted when the selection changes; `opened(ContextEntry)`,
    emitted when the user presses Enter on a row or double-clicks it.
    """

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(EntryModel(), icons, parent, right_from=_WIDE)
        self.setAccessibleName(self.tr("Memories and whether they are loaded"))

    @property
    def current(self) -> ContextEntry | None:
        """The selected entry, None if there is none."""
        found: ContextEntry | None = self.current_value
        return found

    def show_entries(self, found: Sequence[ContextEntry]) -> None:
        """Show these entries; the selected entry stays selected if its file is among them."""
        before = self.current
        # One file may have several entries.
        self.set_values((entry.path, entry) for entry in found)
        if self.current != before:
            self.picked.emit(self.current)


_BAR = 64
_AMBER_SHARE = 0.9


class BudgetGauge(QWidget):
    """A widget that shows how much of a budget is used: as text and, if there is a limit, as a short bar."""

    def __init__(self, gauge: Gauge, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.gauge = gauge
        self.setFont(tabular(self.font()))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.text)

    @property
    def text(self) -> str:
        """The used amount, and the limit if there is one, as text."""
        return gauge_text(self.gauge)

    def show_gauge(self, gauge: Gauge) -> None:
        """Show the values of `gauge`; nothing is repainted if they have not changed."""
        if gauge != self.gauge:
            self.gauge = gauge
            self.setAccessibleName(self.text)
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        bar = _BAR + GAP if self.gauge.cap else 0
        return QSize(metrics.horizontalAdvance(self.text) + bar + 2, metrics.height() + UNIT)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = theme_of(self.palette())
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left = 0
        # Without room for both, only the text is drawn.
        if self.gauge.cap and self.width() >= self.sizeHint().width():
            share = min(1.0, self.gauge.used / self.gauge.cap)
            groove = QRectF(0.5, self.height() / 2 - 3, _BAR, 6)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme.line)
            painter.drawRoundedRect(groove, 3, 3)
            if share:
                painter.setBrush(theme.warn if share > _AMBER_SHARE else theme.accent)
                filled = QRectF(groove.left(), groove.top(), max(6.0, _BAR * share), 6)
                painter.drawRoundedRect(filled, 3, 3)
            left = _BAR + GAP
        painter.setPen(theme.dim_window)
        area = self.rect().adjusted(left, 0, 0, 0)
        text = self.fontMetrics().elidedText(self.text, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, text)


MOST_DAYS = 28


class ContextTab(PartTab):
    """The view of a context: a tab for each part, with its entries and its text.

    Signals: `days_wanted(int)`, emitted when the user moves the slider, with the number of days from now;
    `pin_wanted(str, bool)`, request to pin (True) or unpin the memory at a path; `open_wanted(str)`, request
    to open the memory at a path.
    """

    days_wanted = Signal(int)
    pin_wanted = Signal(str, bool)
    open_wanted = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(icons, "context-message", "preview", parent)
        self.view: ContextView | None = None
        self._text_of: tuple[str, str] | None = None
        self._gone_to: tuple[str, str] | None = None
        self.since = WrapLabel()
        self.clock_name = QLabel(self.tr("As of:"))
        self.clock = QSlider(Qt.Orientation.Horizontal)
        self.clock.setRange(0, MOST_DAYS)
        self.clock.setPageStep(7)
        self.clock.setMinimumWidth(80)
        self.clock.setMaximumWidth(260)
        self.clock.setAccessibleName(self.tr("Number of days from today"))
        self.clock.setToolTip(
            self.tr("Show what would be loaded on a later day if no memory is used until then")
        )
        self.clock_says = QLabel()
        self.clock_name.setBuddy(self.clock)
        self.bar.setAccessibleName(self.tr("Parts of the context"))
        self.gauges = QWidget()
        self._gauge_row = FlowLayout(holder=self.gauges, gap=MARGIN)
        self._gauges: list[BudgetGauge] = []
        self.note = WrapLabel()
        self.marks = WrapLabel()
        self.list = EntryList(icons)
        self.text = LoadedText()
        self.only = QCheckBox(self.tr("Show only &loaded"))
        self.pin = FitPushButton()
        self.open = FitPushButton(self.tr("Open"), self.tr("Show the selected memory in the editor"))
        self.copy = FitPushButton(
            self.tr("Copy the text"), self.tr("Copy this part exactly as the agent loads it")
        )
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
        time = row_of(self.clock_name)
        time.addWidget(self.clock, 2)
        time.addWidget(self.clock_says)
        time.addStretch(1)
        self._time = QWidget()
        time.setContentsMargins(0, 0, 0, 0)
        self._time.setLayout(time)
        self.marks.setContentsMargins(MARGIN, UNIT, MARGIN, UNIT)
        # The marks are below the list, which would otherwise move under the pointer when they change.
        self.lay_out(
            (self.since, self._time),
            (self.gauges, self.note),
            (self.pin, self.open, self.copy, self.only),
            self.list,
            pane(self.marks, self.text, grows=self.text, gap=0),
            (300, 300),
        )

    def forget(self, title: str = "", sentence: str = "") -> None:
        """Clear the view and show in its place why there is no context.

        `title` and `sentence` state the reason; if they are empty, the user is asked to select a place.
        """
        self.view = None
        self.message.clear()
        self.nothing.say(
            title or self.tr("No context to show"),
            sentence
            or self.tr("Select a workspace or a project on the left to see what its agent would load."),
        )
        self.turn_to(self.nothing)

    def show_view(self, view: ContextView, place: str, *, drafts: int = 0) -> None:
        """Show the context `view`, which belongs to the workspace or project named `place`.

        `drafts`: the number of unsaved texts in the editor that the context includes.
        """
        self.view = view
        said = self.tr("{place}, as the agent sees it: about {tokens} tokens").format(
            place=place, tokens=f"{view.tokens:,}"
        )
        if drafts:
            said += " · " + self.tr("includes unsaved text")
        self.title.say(said)
        self._show_bar(view)
        self._time.setVisible(view.part("hot-set") is not None or view.part("lessons") is not None)
        self.clock_says.setText(in_days(self.clock.value()))
        self.turn_to(self.page)
        self._show_part()

    def show_since(self, since: Since | None, now: int) -> None:
        """Show how the context has changed since the user last viewed it; None hides this. `now`: UTC ms."""
        said = since_words(since, now)
        self.since.say(said)
        self.since.setVisible(bool(said))

    def say_error(self, error: UserError) -> None:
        """Show an error above the view; the view stays."""
        self.message.say_error(error)

    @property
    def part(self) -> ContextPart | None:
        """The part that is shown; None if there is no context."""
        index = self.bar.currentIndex()
        parts = self.view.parts if self.view is not None else ()
        return parts[index] if 0 <= index < len(parts) else None

    def select(self, path: str) -> None:
        """Select the entry of the memory at `path`, if it has one; the text scrolls to it."""
        row = next((row for row, entry in enumerate(self.list.values) if entry.path == path), None)
        if row is not None:
            self.list.setCurrentIndex(self.list.rows.index(row, 0))

    def _show_bar(self, view: ContextView) -> None:
        titles = [f"{part_title(part)} · {len(part.loaded):,}" for part in view.parts]
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
        self.note.say(note_lines(part))
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

    @Slot(object)
    def _on_picked(self, entry: ContextEntry | None) -> None:
        is_memory = entry is not None and entry.is_memory
        pinned = entry is not None and entry.pinned
        can_pin = is_memory and self.part is not None and self.part.key in ("hot-set", "index")
        self.pin.say(
            self.tr("Unpin") if pinned else self.tr("Pin"),
            self.tr("The agent loads pinned memories before frequently used ones"),
        )
        self.pin.setEnabled(can_pin)
        self.pin.setVisible(self.view is not None and self.view.part("hot-set") is not None)
        shown = (entry.path, self.part.key) if entry is not None and self.part is not None else None
        if shown != self._gone_to:
            self._gone_to = shown
            if entry is not None and self.part is not None and entry.state != "out":
                self.text.go_to(place_of(entry, self.part))
        said = marks(entry)
        self.marks.say(said)
        self.marks.setVisible(bool(said))
        self.open.setEnabled(is_memory)

    @Slot(object)
    def _on_opened(self, entry: ContextEntry) -> None:
        if entry.is_memory:
            self.open_wanted.emit(entry.path)

    @Slot(int)
    def _on_clock(self, days: int) -> None:
        self.clock_says.setText(in_days(days))
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


_DAY_MS = 86_400_000


class _Gathered(Struct, frozen=True):
    facts: ContextFacts
    now: int


class _ContextSeen(Struct):
    """The context that the user saw at the last visit, shared by all jobs of this visit.

    A visit is the time in which one context is selected. Each job replaces the stored context by the present
    one, so only the first job of a visit reads the stored one, and keeps it here as `glance`. A second job
    can be submitted before the first has ended.
    """

    is_known: bool = False
    glance: Mapping[str, Any] | None = None


class ContextControl(QObject):
    """The controller of the Context tab: gathers the facts about a home and assembles the context from them.

    Facts are gathered in a job when the tab is visible and something has changed. They are cached: after
    typing, a pin or a move of the slider, the context is only assembled again, which takes less than a frame.
    Unsaved texts of the editor are treated as if they were saved. After each gathering, the engine stores the
    context of the present time without unsaved texts, so that the next visit can show what has changed.

    Signal: `open_wanted(str)`, request to show the memory at this path in the editor. Threading: GUI thread;
    gathering runs on its own lane, which starts when the tab is first shown. Failure: shown in the tab.
    """

    open_wanted = Signal(str)

    def __init__(
        self,
        tab: ContextTab,
        clock: Clock,
        buffers: Buffers,
        edits: Edits,
        stale: Callable[[str], tuple[LintFinding, ...]],
    ) -> None:
        """Connect the controller to the tab.

        `stale` returns, for a memory path, the findings about statements that are no longer true.
        """
        super().__init__(tab)
        self.tab = tab
        self._stale_at = stale
        self._clock = clock
        self._buffers = buffers
        self._edits = edits
        self._lane = Lane("context", self)
        self._session: HomeSession | None = None
        self._update: TreeUpdate | None = None
        self._facts: ContextFacts | None = None
        self._now = 0
        self._seen = _ContextSeen()
        self._stale = True
        tab.shown.connect(self._on_shown)
        tab.days_wanted.connect(self._on_days)
        tab.pin_wanted.connect(self._on_pin)
        tab.open_wanted.connect(self.open_wanted)
        buffers.changed.connect(self._on_typed)
        buffers.opened.connect(self._on_typed)
        buffers.typed.connect(self._on_typed)

    @property
    def busy(self) -> bool:
        """True if facts are being gathered."""
        return self._lane.busy

    @property
    def is_settled(self) -> bool:
        """True if the tab shows the current context, so that no job is needed or running."""
        return not self._stale and not self.busy

    def set_session(self, session: HomeSession | None, update: TreeUpdate | None = None) -> None:
        """Show the context in the home of this session; None shows none.

        `update`: the memory trees of the home; None if they are not known yet.
        """
        if self._session is not None:
            self._session.tree_changed.disconnect(self._on_tree)
        self._session = session
        self._forget()
        if session is not None:
            session.tree_changed.connect(self._on_tree)
        if update is not None:
            self._on_tree(update)

    def stop(self) -> None:
        """Stop the lane and cancel its jobs, because the window closes."""
        self._lane.stop()

    def _forget(self) -> None:
        self._update, self._facts, self._seen = None, None, _ContextSeen()
        self._stale = True
        self._lane.abandon("gather")
        self.tab.forget()

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """Gather the facts again after the memories or the selected context have changed."""
        if self._update is not None and self._update.context != update.context:
            self._forget()
        self._update, self._stale = update, True
        if self.tab.isVisible():
            self._gather()

    @Slot()
    def _on_shown(self) -> None:
        if self._stale:
            self._gather()
        else:
            self._put_together()

    @Slot(int)
    def _on_days(self, _days: int) -> None:
        self._put_together()
        # Another time may rank memories that have not been read yet.
        if self._update is not None:
            self._gather()

    def _gather(self) -> None:
        """Read the facts in a job, then assemble the context."""
        session, update = self._session, self._update
        if session is None or update is None or update.names_only:
            return
        if session.info.kind not in AGENTS:
            self._stale = False
            self.tab.forget(
                self.tr("Context unknown for this agent"),
                self.tr("Reverie does not know what {agent} loads.").format(agent=session.info.label),
            )
            return
        now, before = self._clock(), self._facts
        times = (now, now + self.tab.clock.value() * _DAY_MS)
        context, scopes, workbench = update.context, update.view.scopes, session.workbench
        seen = self._seen

        async def work(_control: JobControl) -> _Gathered:
            found = await ask(workbench.gather_context, context, times)
            if not seen.is_known:
                seen.glance, seen.is_known = found.glance, True
            facts = replace(found.facts, listings=scopes)
            # Assemble once here, so that the GUI thread finds everything except unsaved texts cached.
            for at in dict.fromkeys(times):
                assemble(facts, at)
            return _Gathered(facts, now)

        self._stale = False
        if before is None:
            self.tab.turn_to(self.tab.blank)  # not the hint to select something: something is selected
        self._lane.submit(
            "gather the context", work, done=self._on_gathered, failed=self._on_failed, group="gather"
        )

    def _on_gathered(self, found: _Gathered) -> None:
        self._facts, self._now = found.facts, found.now
        self.tab.message.clear()
        self._put_together()

    def _on_failed(self, error: UserError) -> None:
        self._stale = True
        self.tab.say_error(error)

    @Slot()
    def _on_typed(self, *_file: object) -> None:
        """Assemble the context again after a text in the editor has changed."""
        if self.tab.isVisible():
            self._put_together()

    @Slot()
    def mark_again(self) -> None:
        """Assemble the context again, because the findings about outdated statements have changed."""
        if self.tab.isVisible():
            self._put_together()

    def _put_together(self) -> None:
        """Assemble the context from the gathered facts and unsaved texts, and show it."""
        facts = self._facts
        if facts is None or self._update is None or facts.context != self._update.context:
            return
        drafts = self._drafts(facts)
        days = self.tab.clock.value()
        view = with_marks(assemble(facts, self._now + days * _DAY_MS, drafts), self._stale_at)
        self.tab.show_view(view, self._place, drafts=len(drafts))
        self.tab.show_since(self._since(view, shown_now=not days and not drafts), self._now)

    def _since(self, view: ContextView, *, shown_now: bool) -> Since | None:
        """Return how the context has changed since the last visit; None if there was no earlier visit.

        Also None if not `shown_now`: if `view` is for a later day or includes unsaved texts.
        """
        return since(self._seen.glance, view) if shown_now else None

    def _drafts(self, facts: ContextFacts) -> dict[str, str]:
        """Return the unsaved texts of the memories in `facts`, by memory path."""
        if self._session is None:
            return {}
        home = self._session.info.id
        keys = {listing.root.key for listing in facts.listings.values() if listing.root is not None}
        return {
            file.buffer.address.path: file.content
            for file in self._buffers.unsaved()
            if file.buffer.ref.home == home and file.buffer.ref.store in keys
        }

    @property
    def _place(self) -> str:
        """The name of the selected workspace; without one, that of the project, else of the home."""
        session, update = self._session, self._update
        if session is None or update is None:
            return ""
        context = update.context
        for workspace in session.info.contents.workspaces():
            if workspace.id == context.workspace_id:
                return visible(workspace.label)
        for project in session.info.contents.projects:
            if project.path == context.project_path:
                return visible(project.name or project.path)
        return visible(session.info.label)

    @Slot(str, bool)
    def _on_pin(self, path: str, pinned: bool) -> None:
        """Pin or unpin the memory at `path`.

        The tab shows the change once the watcher has reported it.
        """
        if self._session is not None and self._update is not None:
            self._edits.pin(self._session, self._update.context, [path], pinned)
