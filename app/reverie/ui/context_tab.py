"""The Context tab: the text that an agent would load, in parts, and why each memory is loaded or not.

The facts about a home are gathered in a job and cached; the context is assembled from them.

Threading: GUI thread; gathering runs on its own lane. Failure: shown in the tab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QFontMetrics, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QLabel, QSizePolicy, QSlider, QWidget

from reverie.context.facts import ContextFacts
from reverie.context.glances import ChangeKind, Since, since
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
from reverie.ui.appearance import GAP, MARGIN, UNIT, tabular, theme_of
from reverie.ui.display_text import age, as_tooltip, counted, tr, visible
from reverie.ui.display_text import translatable as _
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.part_tab import PartTab
from reverie.ui.session import TreeUpdate
from reverie.ui.tree.findings import headline
from reverie.ui.tree.model import loaded_words
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, pane, row_of
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.text_views import LoadedText
from reverie.values import replace

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


def note_lines(part: ContextPart) -> str:
    """Return the notes about a part as one line of sentences."""
    return " ".join(
        tr(_NOTES[note]).format(detail=visible(part.detail), line=part.cut_line) for note in part.notes
    )


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
    named = (tr(_CHANGES[each.kind]).format(name=visible(short(each.path))) for each in listed[:_NAMED])
    said = "; ".join(named)
    more = len(listed) - _NAMED
    if more > 0:
        said += "; " + counted("1 more", "%n more", more)
    sign = "+" if found.tokens > 0 else "-" if found.tokens < 0 else "±"
    return tr("Since your last visit ({when}): {changes}. Change in size: {tokens} tokens.").format(
        when=when, changes=said, tokens=f"{sign}{abs(found.tokens):,}"
    )


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
    loaded = load_state(entry)
    said = (
        visible(short(entry.path)),
        tr("not loaded") if loaded in (None, "needed") else loaded_words(loaded),
        reason(entry),
        score(entry),
        amount(entry),
        tr("needs attention") if entry.marks else "",
    )
    return ", ".join(filter(None, said))


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
        used, cap = f"{self.gauge.used:,}", f"{self.gauge.cap:,}"
        return tr(_UNITS[self.gauge.unit][0 if self.gauge.cap else 1]).format(used=used, cap=cap)

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
_DAY_MS = 86_400_000


class ContextTab(PartTab):
    """The page with a context: a tab for each part, with its entries and its text.

    Facts about the home are gathered in a job when the page is visible and something has changed. They are
    cached: after typing, a pin or a move of the slider, the context is only assembled again, which takes less
    than a frame. Unsaved texts of the editor are treated as if they were saved. After each gathering, the
    engine stores the context of the present time without unsaved texts, so that the next visit can show what
    has changed.
    """

    def __init__(
        self,
        icons: Icons,
        clock: Clock,
        buffers: Buffers,
        edits: Edits,
        stale_at: Callable[[str], tuple[LintFinding, ...]],
    ) -> None:
        """Create the page.

        `stale_at` returns, for a memory path, the findings about statements that are no longer true.
        """
        super().__init__(icons, "context", "preview")
        self._clock = clock
        self._buffers = buffers
        self._edits = edits
        self._stale_at = stale_at
        self._update: TreeUpdate | None = None
        self._facts: ContextFacts | None = None
        self._now = 0
        self._last_seen: list[Mapping[str, Any] | None] = []
        """The context that the user saw at the last visit, once a job has read it; shared by all jobs.

        A visit is the time in which one context is selected. Each job replaces the stored context by the
        present one, so only the first job of a visit adds the stored one here. A second job can be submitted
        before the first has ended.
        """
        self.view: ContextView | None = None
        self._text_of: tuple[str, str] | None = None
        self._gone_to: tuple[str, str] | None = None
        self.since = WrapLabel()
        clock_name = QLabel(self.tr("As of:"))
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
        clock_name.setBuddy(self.clock)
        self._time = QWidget()
        time = row_of(clock_name, holder=self._time)
        time.addWidget(self.clock, 2)
        time.addWidget(self.clock_says)
        time.addStretch(1)
        self.bar.setAccessibleName(self.tr("Parts of the context"))
        gauges = QWidget()
        self._gauge_row = FlowLayout(holder=gauges, gap=MARGIN)
        self._gauges: list[BudgetGauge] = []
        self.note = WrapLabel()
        self.marks = WrapLabel()
        self.marks.setContentsMargins(MARGIN, UNIT, MARGIN, UNIT)
        self.list = LineList(
            EntryModel(), icons, self.tr("Memories and whether they are loaded"), right_from=_WIDE
        )
        self.text = LoadedText()
        self.only = QCheckBox(self.tr("Show only &loaded"))
        self.pin = FitPushButton(clicked=self._on_pin)
        self.open = FitPushButton(
            self.tr("Open"), self.tr("Show the selected memory in the editor"), clicked=self._on_open
        )
        self.copy = FitPushButton(
            self.tr("Copy the text"),
            self.tr("Copy this part exactly as the agent loads it"),
            clicked=self._on_copy,
        )
        # The marks are below the list, which would otherwise move under the pointer when they change.
        self.lay_out(
            (self.since, self._time),
            (gauges, self.note),
            (self.pin, self.open, self.copy, self.only),
            self.list,
            pane(self.marks, self.text, grows=self.text, gap=0),
            (300, 300),
        )
        self.bar.currentChanged.connect(self._show_part)
        self.only.toggled.connect(self._show_part)
        self.list.picked.connect(self._on_picked)
        self.list.opened.connect(self._on_open)
        self.clock.valueChanged.connect(self._on_clock)
        self.shown.connect(self._on_shown)
        for signal in (buffers.changed, buffers.opened, buffers.typed):
            signal.connect(self.refresh)
        self.forget()

    def set_session(self, session: HomeSession | None, update: TreeUpdate | None = None) -> None:
        """Show the context in the home of this session; None shows none.

        `update`: the memory trees of the home; None if they are not known yet.
        """
        if self.session is not None:
            self.session.tree_changed.disconnect(self._on_tree)
        self.session = session
        self._forget_facts()
        if session is not None:
            session.tree_changed.connect(self._on_tree)
        if update is not None:
            self._on_tree(update)

    def _forget_facts(self) -> None:
        self._update, self._facts, self._last_seen = None, None, []
        self.stale = True
        self.lane.abandon("gather")
        self.forget()

    @Slot(object)
    def _on_tree(self, update: TreeUpdate) -> None:
        """Gather the facts again after the memories or the selected context have changed."""
        if self._update is not None and self._update.context != update.context:
            self._forget_facts()
        self._update = update
        self.note_change()

    @Slot()
    def _on_shown(self) -> None:
        if self.stale:
            self.read()
        else:
            self.refresh()

    @Slot(int)
    def _on_clock(self, days: int) -> None:
        self.clock_says.setText(in_days(days))
        self.refresh()
        # Another time may rank memories that have not been read yet.
        self.read()

    def read(self) -> None:
        """Gather the facts in a job, then assemble the context."""
        session, update = self.session, self._update
        if session is None or update is None or update.names_only:
            return
        if session.info.kind not in AGENTS:
            self.stale = False
            self.forget(
                self.tr("Context unknown for this agent"),
                self.tr("Reverie does not know what {agent} loads.").format(agent=session.info.label),
            )
            return
        now = self._clock()
        times = (now, now + self.clock.value() * _DAY_MS)
        workbench, last_seen = session.workbench, self._last_seen

        async def work(_control: JobControl) -> ContextFacts:
            found = await ask(workbench.gather_context, update.context, times)
            if not last_seen:
                last_seen.append(found.glance)
            facts = replace(found.facts, listings=update.view.scopes)
            # Assemble once here, so that the GUI thread finds everything except unsaved texts cached.
            for at in dict.fromkeys(times):
                assemble(facts, at)
            return facts

        def done(facts: ContextFacts) -> None:
            self._facts, self._now = facts, now
            self.message.clear()
            self.refresh()

        self.stale = False
        if self._facts is None:
            self.turn_to(self.blank)  # not the hint to select something: something is selected
        self.lane.submit("gather the context", work, done=done, failed=self.show_unread, group="gather")

    @Slot()
    def refresh(self, *_file: object) -> None:
        """Assemble the context from the gathered facts and the unsaved texts, and show it.

        Call this after a text in the editor, or the findings about outdated statements, have changed. Does
        nothing while the page is not visible.
        """
        facts, update = self._facts, self._update
        if not self.isVisible() or facts is None or update is None or facts.context != update.context:
            return
        drafts, days = self._drafts(facts), self.clock.value()
        view = with_marks(assemble(facts, self._now + days * _DAY_MS, drafts), self._stale_at)
        self.show_view(view, self._place(update), drafts=len(drafts))
        # A context of a later day, or with unsaved texts, is not compared with that of the last visit.
        seen = self._last_seen[0] if self._last_seen and not days and not drafts else None
        said = since_words(since(seen, view), self._now)
        self.since.say(said)
        self.since.setVisible(bool(said))

    def _drafts(self, facts: ContextFacts) -> dict[str, str]:
        """Return the unsaved texts of the memories in `facts`, by memory path."""
        home = self.session.info.id if self.session is not None else ""
        keys = {listing.root.key for listing in facts.listings.values() if listing.root is not None}
        return {
            file.buffer.address.path: file.content
            for file in self._buffers.unsaved()
            if file.buffer.ref.home == home and file.buffer.ref.store in keys
        }

    def _place(self, update: TreeUpdate) -> str:
        """Return the name of the selected workspace; without one, that of the project, else of the home."""
        if self.session is None:
            return ""
        info, context = self.session.info, update.context
        names = [each.label for each in info.contents.workspaces() if each.id == context.workspace_id]
        names += [
            each.name or each.path for each in info.contents.projects if each.path == context.project_path
        ]
        return visible([*names, info.label][0])

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
        self.show_titles([f"{tr(PARTS[part.key])} · {len(part.loaded):,}" for part in view.parts])
        self._time.setVisible(view.part("hot-set") is not None or view.part("lessons") is not None)
        self.clock_says.setText(in_days(self.clock.value()))
        self.turn_to(self.page)
        self._show_part()

    @property
    def part(self) -> ContextPart | None:
        """The part that is shown; None if there is no context."""
        index = self.bar.currentIndex()
        parts = self.view.parts if self.view is not None else ()
        return parts[index] if 0 <= index < len(parts) else None

    @property
    def entry(self) -> ContextEntry | None:
        """The selected entry; None if there is none."""
        found: ContextEntry | None = self.list.current_value
        return found

    @Slot()
    def _show_part(self) -> None:
        part = self.part
        if part is None:
            return
        for gauge in part.gauges[len(self._gauges) :]:
            self._gauges.append(BudgetGauge(gauge))
            self._gauge_row.addWidget(self._gauges[-1])
        for index, widget in enumerate(self._gauges):
            widget.setVisible(index < len(part.gauges))
            if index < len(part.gauges):
                widget.show_gauge(part.gauges[index])
        self.note.say(note_lines(part))
        self.note.setVisible(bool(part.notes))
        shown = part.loaded if self.only.isChecked() else part.entries
        self.list.set_values((entry.path, entry) for entry in shown)  # a file may have several entries
        if self._text_of != (part.key, part.text):
            same = self._text_of is not None and self._text_of[0] == part.key
            at = self.text.verticalScrollBar().value() if same else 0
            self.text.show_text(part.text, part.marked)
            self.text.verticalScrollBar().setValue(at)
            self._text_of = (part.key, part.text)
        self.copy.setEnabled(bool(part.text))
        self._on_picked()

    @Slot()
    def _on_picked(self) -> None:
        """Show the marks of the selected entry, and scroll the text to it if another one was selected."""
        entry, part = self.entry, self.part
        self.pin.say(
            self.tr("Unpin") if entry is not None and entry.pinned else self.tr("Pin"),
            self.tr("The agent loads pinned memories before frequently used ones"),
        )
        is_memory = entry is not None and entry.is_memory
        self.pin.setEnabled(is_memory and part is not None and part.key in ("hot-set", "index"))
        self.pin.setVisible(self.view is not None and self.view.part("hot-set") is not None)
        shown = (entry.path, part.key) if entry is not None and part is not None else None
        if shown != self._gone_to:
            self._gone_to = shown
            if entry is not None and part is not None and entry.state != "out":
                self.text.go_to(place_of(entry, part))
        said = marks(entry)
        self.marks.say(said)
        self.marks.setVisible(bool(said))
        self.open.setEnabled(is_memory)

    @Slot()
    def _on_open(self) -> None:
        if self.entry is not None and self.entry.is_memory:
            self.open_wanted.emit(self.entry.path)

    @Slot()
    def _on_pin(self) -> None:
        """Pin or unpin the selected memory; the page shows the change once the watcher has reported it."""
        entry = self.entry
        if entry is not None and entry.is_memory and self.session is not None and self._update is not None:
            self._edits.pin(self.session, self._update.context, [entry.path], not entry.pinned)

    @Slot()
    def _on_copy(self) -> None:
        if self.part is not None:
            QGuiApplication.clipboard().setText(self.part.text)
