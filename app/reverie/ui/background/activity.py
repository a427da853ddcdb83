"""The Activity tab: what runs now, and every decision of the background services, newest first.

The widgets show what they are given; `ActivityControl` reads the decisions when they changed and the tab is
visible, and carries out Cancel and Pause.

Threading: GUI thread; decisions are read by jobs on the scan lane. Failure: shown in the tab; the next
change, or coming back to the tab, tries again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.files.log_file import is_debug, set_debug
from reverie.runs.activity import ActivityEntry
from reverie.ui.appearance import GAP, MARGIN, UNIT, Icons
from reverie.ui.display_text import age, as_tooltip, exact_time, visible
from reverie.ui.jobs import JobControl, Lane, repeating
from reverie.ui.memory.footer import step_words
from reverie.ui.run_kinds import RUN_KINDS, kind_title
from reverie.ui.translation import counted, tr, translated
from reverie.ui.tree.rows import RowNode, shared
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.frames import EmptyPage, TabPage
from reverie.ui.widgets.layouts import FlowLayout, Panes, column, row_of, scrolled, stacked
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.message_bar import MessageBar

if TYPE_CHECKING:
    from reverie.runs.result import Progress
    from reverie.services.activity import RunningWork
    from reverie.services.views import StatusView
    from reverie.ui.memory.footer_control import Consolidation
    from reverie.ui.session import HomeSession


# Labels of decisions, and the filters. Pure; texts from disk are made safe to draw here.


_ROUTINE = ("debug", "info")
_LONGEST_DETAIL = 2000


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One entry as the list holds it; `place` names its workspace."""

    entry: ActivityEntry
    place: str


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """Which decisions are wanted. `show` is a key of `filter_names`; `workspace_id` leaves what is about that
    workspace or about none; `text` may stand anywhere in what is said."""

    show: str = "all"
    workspace_id: str | None = None
    text: str = ""

    def takes(self, decision: DecisionRow) -> bool:
        """Whether the filter shows this decision; one that is of no workspace belongs to each."""
        entry = decision.entry
        if self.workspace_id is not None and entry.workspace_id not in (None, self.workspace_id):
            return False
        return _is_shown(entry, self.show) and self.text.casefold().strip() in _searched(decision)


def filter_names() -> tuple[tuple[str, str], ...]:
    """(key, name) of each choice, in the order they are offered."""
    return (
        ("all", tr("All decisions")),
        ("problems", tr("Warnings and errors")),
        *((each.kind, translated(each.plural)) for each in RUN_KINDS if each.kind != "revert"),
        ("undo", tr("Undos and recoveries")),
        ("host", tr("Background services")),
    )


_KINDS: Mapping[str, tuple[str, ...]] = {
    **{each.kind: (each.kind,) for each in RUN_KINDS},
    "dream": ("dream", "trigger", "sweep"),
    "undo": ("revert", "run"),
    "host": ("host", "services", "watch"),
}


def _is_shown(entry: ActivityEntry, show: str) -> bool:
    if show == "all":
        return True
    if show == "problems":
        return entry.level not in _ROUTINE
    return entry.event.partition(".")[0] in _KINDS.get(show, ())


def _searched(decision: DecisionRow) -> str:
    entry = decision.entry
    searched = (entry.text, entry.event, kind_words(entry), decision.place, entry.workspace_id, entry.run_id)
    return "\n".join(part for part in searched if part).casefold()


def decisions(
    entries: Iterable[ActivityEntry], places: Mapping[str, str], before: Iterable[DecisionRow] = ()
) -> tuple[DecisionRow, ...]:
    """`entries` with the names of their workspaces, by id. One that says what one of `before` said is that
    one: the log is read again and again, and rows hold on to what they showed first."""
    known: dict[tuple[int, str], list[DecisionRow]] = {}
    for decision in before:
        known.setdefault((decision.entry.at, decision.entry.event), []).append(decision)

    def made(entry: ActivityEntry) -> DecisionRow:
        new = DecisionRow(entry, places.get(entry.workspace_id or "", entry.workspace_id or ""))
        return next((old for old in known.get((entry.at, entry.event), ()) if old == new), new)

    return tuple(made(entry) for entry in entries)


def as_tree(found: Sequence[DecisionRow], before: RowNode) -> RowNode:
    """The rows of a list, sharing what did not change. A repeated decision keeps its row and moves up."""
    known = {child.key: child for child in before.children}
    seen: Counter[str] = Counter()
    rows = []
    for decision in reversed(found):  # counted from the oldest, so that new ones rename none
        entry = decision.entry
        name = f"{entry.at} {entry.event} {entry.workspace_id} {entry.run_id}"
        key = f"{name} {seen[name]}"
        seen[name] += 1
        rows.append(shared(known.get(key), key, decision))
    return RowNode("", None, tuple(reversed(rows)))


def kind_words(entry: ActivityEntry) -> str:
    """Who decided."""
    kind, _, gate = entry.event.partition(".")
    if kind == "trigger":
        return {
            "launch": tr("Launch sweep"),
            "compaction": tr("After a compaction"),
            "archive": tr("After archiving"),
            "background": tr("Background runs"),
        }.get(gate, visible(gate))
    return {
        "sweep": tr("Launch sweep"),
        "run": tr("Recovery"),
        "history": tr("History"),
        "host": tr("Background services"),
        "services": tr("Background services"),
        "watch": tr("Background services"),
    }.get(kind) or kind_title(kind)


def below_words(decision: DecisionRow) -> str:
    """The second line of a row: who, where, which gate."""
    kind, _, gate = decision.entry.event.partition(".")
    gate = "" if kind == "trigger" else gate  # it is the name of the trigger, told already
    parts = (kind_words(decision.entry), visible(decision.place), visible(gate.replace("-", " ")))
    return " · ".join(part for part in parts if part)


def right_words(entry: ActivityEntry, now: int) -> str:
    """`12 times, 3 min ago`."""
    last = age(now, entry.last_at)
    if entry.times == 1:
        return last
    return tr("{times}, {age}").format(times=counted("once", "%n times", entry.times), age=last)


def sign(entry: ActivityEntry) -> str:
    """The icon of a level."""
    return {"warning": "warning", "error": "error", "critical": "error"}.get(entry.level, "info")


def spoken(decision: DecisionRow) -> str:
    """A whole row as one sentence, for readers and tool tips."""
    entry = decision.entry
    times = f", {counted('once', '%n times', entry.times)}" if entry.times > 1 else ""
    return f"{exact_time(entry.last_at)}{times}, {below_words(decision)}: {visible(entry.text)}"


def facts(decision: DecisionRow) -> tuple[tuple[str, str], ...]:
    """(name, value) of everything that is known of a decision."""
    entry = decision.entry
    rows = [(tr("Said"), exact_time(entry.at))]
    if entry.times > 1:
        rows += [
            (tr("Last said"), exact_time(entry.last_at)),
            (tr("How often"), counted("once", "%n times", entry.times)),
        ]
    rows += [(tr("Event"), entry.event), (tr("Level"), entry.level)]
    if entry.workspace_id:
        named = decision.place != entry.workspace_id
        rows.append(
            (tr("Workspace"), f"{decision.place} ({entry.workspace_id})" if named else entry.workspace_id)
        )
    if entry.run_id:
        rows.append((tr("Run"), entry.run_id))
    rows += [(str(name), _plain(value)) for name, value in entry.details.items()]
    return tuple((visible(name), visible(value)) for name, value in rows)


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"


class DecisionModel(LineModel):
    """Decisions, newest first. Ages are those of the moment in which a row is drawn."""

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__()
        self._now = now

    def look(self, value: DecisionRow) -> TwoLines:
        name = sign(value.entry)
        return TwoLines(
            visible(value.entry.text),
            below_words(value),
            sign=name,
            grave=name == "error",
            right_below=right_words(value.entry, self._now()),
            cut="end",
            cut_below="end",
        )

    def spoken(self, value: DecisionRow) -> str:
        return spoken(value)

    def tooltip(self, value: DecisionRow) -> str:
        return as_tooltip(value.entry.text)


class DecisionList(LineList):
    """`picked(Decision | None)`."""

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(DecisionModel(now), icons, parent)
        self.setAccessibleName(self.tr("Decisions of the background services, newest first"))

    @property
    def current(self) -> DecisionRow | None:
        found: DecisionRow | None = self.current_value
        return found

    def show_decisions(self, found: Sequence[DecisionRow]) -> None:
        """Show them; the selection stays on its decision while that is among them."""
        before = self.current
        # A list that stands at its top stays there: what is new is what one looks for.
        at_top = self.verticalScrollBar().value() == 0
        self.rows.set_tree(as_tree(found, self.rows.tree))
        self.rows.reveal_more(everything=True)
        if at_top:
            self.scrollToTop()
        if self.current != before:
            self.picked.emit(self.current)


# What runs now: a line, a progress bar and Cancel for each job. Hidden while nothing runs.


@dataclass(frozen=True, slots=True)
class RunningJob:
    """One job. `total` 0: unknown. `note`: why it cannot be cancelled."""

    id: str
    title: str
    step: str = ""
    done: int = 0
    total: int = 0
    cancellable: bool = True
    note: str = ""


class RunningJobs(QWidget):
    """`cancel(str)` names the job."""

    cancel = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: dict[str, _Line] = {}
        self._column = column(self, margin=(MARGIN, GAP, MARGIN, GAP))
        self.hide()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._lines)

    def line(self, id_: str) -> _Line:
        return self._lines[id_]

    def show_jobs(self, jobs: Sequence[RunningJob]) -> None:
        """Show `jobs`; lines that stay keep their focus."""
        wanted = {job.id for job in jobs}
        for id_ in [id_ for id_ in self._lines if id_ not in wanted]:
            line = self._lines.pop(id_)
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        for job in jobs:
            if job.id not in self._lines:
                line = self._lines[job.id] = _Line(job.id)
                line.cancelled.connect(self.cancel)
                self._column.addWidget(line)
            self._lines[job.id].say(job)
        self.setVisible(bool(jobs))


class _Line(QWidget):
    cancelled = Signal(str)

    def __init__(self, id_: str) -> None:
        super().__init__()
        self._id = id_
        self._asked = False
        self.text = WrapLabel()
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setMaximumHeight(6)
        self.button = FitPushButton(self.tr("Cancel"), clicked=self._on_cancel)
        head = row_of(self.text, self.button, grows=self.text)
        column(self, head, self.bar, margin=0, gap=UNIT)

    def say(self, job: RunningJob) -> None:
        self.text.say(" · ".join(part for part in (job.title, job.step, job.note) if part))
        self.bar.setAccessibleName(self.tr("Progress: {title}").format(title=job.title))
        self.bar.setRange(0, max(0, job.total))
        self.bar.setValue(min(job.done, job.total))
        self.button.setVisible(job.cancellable)
        self.button.setEnabled(not self._asked)
        self.button.setAccessibleDescription(job.title)

    @Slot()
    def _on_cancel(self) -> None:
        self._asked = True
        self.button.setEnabled(False)
        self.button.say(self.tr("Cancelling…"))
        self.cancelled.emit(self._id)


SIDE_BY_SIDE = 720


class ActivityTab(TabPage):
    """`review(run id)`, `doctor()` and `debug(bool)` ask."""

    review = Signal(str)
    doctor = Signal()
    debug = Signal(bool)

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._decisions: tuple[DecisionRow, ...] = ()
        self._workspace_id: str | None = None
        self.running = RunningJobs()
        self.message = MessageBar(icons, "activity-message")
        self.services = MessageBar(icons, "activity-services", closable=False)
        self.text = SearchField(self.tr("Search decisions"))
        self.text.setMinimumWidth(180)
        self.show_only = QComboBox()
        for part in (self.show_only, self.show_only.view()):
            part.setAccessibleName(self.tr("Which decisions"))
        for key, name in filter_names():
            self.show_only.addItem(name, key)
        self.here = QCheckBox(self.tr("&Only this workspace"))
        self.debug_log = QCheckBox(self.tr("&Debug logging"))
        self.list = DecisionList(icons, now)
        self.none = EmptyPage(icons, "info")
        self.detail = DecisionDetail()
        self._lay_out()
        self.text.textChanged.connect(self._narrow)
        self.show_only.currentIndexChanged.connect(self._narrow)
        self.here.toggled.connect(self._narrow)
        self.debug_log.clicked.connect(self.debug)
        self.list.picked.connect(self.detail.show_decision)
        self.detail.review.connect(self.review)
        self.detail.doctor.connect(self.doctor)
        self._narrow()

    def _lay_out(self) -> None:
        filters = FlowLayout(self.text, self.show_only, self.here, self.debug_log)
        head = QWidget()
        column(head, filters, margin=(MARGIN, GAP, MARGIN, GAP), gap=None)
        self._pages = stacked(self.list, self.none)
        self.list.setFrameShape(DecisionList.Shape.NoFrame)
        details = scrolled(self.detail, sideways=True)
        details.setMinimumSize(160, 80)
        self.splitter = Panes(
            self._pages,
            details,
            beside_from=SIDE_BY_SIDE,
            sizes=(700, 320),
            below=(420, 200),
            grows=0,
        )
        self.splitter.setHandleWidth(5)
        column(
            self,
            self.running,
            self.services,
            self.message,
            head,
            self.splitter,
            grows=self.splitter,
            margin=0,
            gap=0,
        )

    # What is known

    def show_decisions(self, found: Sequence[DecisionRow]) -> None:
        """Decisions of one home, newest first."""
        self._decisions = tuple(found)
        self._narrow()

    def show_place(self, workspace_id: str | None) -> None:
        """Which workspace is “this one”."""
        self._workspace_id = workspace_id
        self.here.setEnabled(workspace_id is not None)
        self._narrow()

    def say_log(self, *, debug: bool, file: str) -> None:
        """Show whether the log is at debug level, and where it is."""
        self.debug_log.setChecked(debug)
        self.debug_log.setToolTip(
            as_tooltip(self.tr("Every gate and outcome goes to the log until the window is closed."), file)
        )

    @property
    def filter(self) -> DecisionFilter:
        here = self.here.isChecked() and self.here.isEnabled()
        return DecisionFilter(
            str(self.show_only.currentData()), self._workspace_id if here else None, self.text.text()
        )

    @Slot()
    def _narrow(self) -> None:
        wants = self.filter
        fitting = [decision for decision in self._decisions if wants.takes(decision)]
        self.list.show_decisions(fitting)
        if self._decisions:
            self.none.say(
                self.tr("No decision fits"), self.tr("Another filter or another word may find some.")
            )
        else:
            self.none.say(
                self.tr("Nothing has been decided yet"),
                self.tr(
                    "Whatever the background services do, or leave undone and why, is told here. "
                    "They are switched on in the settings."
                ),
            )
        self._pages.setCurrentWidget(self.list if fitting else self.none)

    # Width

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())


class DecisionDetail(QWidget):
    """All that is known of one decision. `review(run id)`, `doctor()`."""

    review = Signal(str)
    doctor = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._decision: DecisionRow | None = None
        self.text = WrapLabel(self.tr("Select a decision to see all of it."))
        self.facts_shown: tuple[tuple[str, str], ...] = ()
        self.changes = FitPushButton(self.tr("Show the run"))
        self.why = FitPushButton(self.tr("Ask the Doctor"))
        self.copy = FitPushButton(self.tr("Copy"))
        self._grid = QVBoxLayout()
        self._grid.setSpacing(GAP)
        row = FlowLayout()
        for button in (self.changes, self.why, self.copy):
            row.addWidget(button)
            button.hide()
        outer = column(self, self.text, row, self._grid, margin=(MARGIN, GAP, MARGIN, MARGIN), gap=MARGIN)
        outer.addStretch(1)
        self.changes.clicked.connect(self._on_changes)
        self.why.clicked.connect(self.doctor)
        self.copy.clicked.connect(self._on_copy)

    @Slot(object)
    def show_decision(self, decision: DecisionRow | None) -> None:
        self._decision = decision
        self._clear()
        if decision is None:
            self.text.say(self.tr("Select a decision to see all of it."))
            self.facts_shown = ()
        else:
            self.text.say(decision.entry.text)
            self.facts_shown = facts(decision)
            for name, value in self.facts_shown:
                self._grid.addWidget(WrapLabel(f"{name}: {value}"))
        self.copy.setVisible(decision is not None)
        self.changes.setVisible(decision is not None and bool(decision.entry.run_id))
        self.why.setVisible(decision is not None and bool(decision.entry.workspace_id))

    def _clear(self) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            label = item.widget()
            if label is not None:
                label.hide()
                label.deleteLater()

    @Slot()
    def _on_changes(self) -> None:
        if self._decision is not None and self._decision.entry.run_id:
            self.review.emit(self._decision.entry.run_id)

    @Slot()
    def _on_copy(self) -> None:
        lines = [self.text.text(), *(f"{name}: {value}" for name, value in self.facts_shown)]
        QGuiApplication.clipboard().setText("\n".join(lines))


READ_AT_MOST = 2000
BY_HAND = "by-hand"
POLL_MS = 1000


@dataclass(frozen=True, slots=True)
class _ReadDecisions:
    work: tuple[RunningWork, ...]
    decisions: tuple[DecisionRow, ...] | None = None


class ActivityControl(QObject):
    """Wires one tab. `level_changed()`: the log tells more, or less. `pause(bool)`: the background services
    of the shown home are to stop, or to go on."""

    level_changed = Signal()
    pause = Signal(bool)

    def __init__(self, tab: ActivityTab, lane: Lane, dreams: Consolidation, log_file: Path) -> None:
        super().__init__(tab)
        self.tab = tab
        self._lane = lane
        self._dreams = dreams
        self._log_file = log_file
        self._session: HomeSession | None = None
        self._decisions: tuple[DecisionRow, ...] = ()
        self._stale = True
        self._jobs: dict[str, RunningJob] = {}
        # A lease changes without a file, so it is asked for while somebody looks at what runs.
        self._poll = repeating(self, POLL_MS, self._ask_who_works)
        tab.shown.connect(self._on_shown)
        tab.services.chosen.connect(self._on_resume)
        tab.debug.connect(self.set_debug)
        tab.running.cancel.connect(self._on_cancel)
        dreams.started.connect(self._on_started)
        dreams.progressed.connect(self._on_progress)
        for ended in (dreams.ended, dreams.reverted, dreams.failed):
            ended.connect(self._on_ended)
        dreams.cancelled.connect(self._on_cancelled)
        self.say_level()

    # Decisions

    def set_session(self, session: HomeSession | None) -> None:
        """The home whose decisions are shown."""
        old = self._session
        if old is not None:
            old.activity_changed.disconnect(self.refresh)
            old.status_changed.disconnect(self._on_status)
        self._session = session
        if session is not None:
            session.activity_changed.connect(self.refresh)
            session.status_changed.connect(self._on_status)
        self._poll.stop()
        self._show_work(())
        self._decisions = ()
        self.tab.show_decisions(())
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Decisions changed: read them, now or when the tab is shown."""
        self._stale = True
        if self.tab.isVisible():
            self._read()

    @Slot()
    def _on_shown(self) -> None:
        self.say_level()
        if self._stale:
            self._read()

    def _read(self) -> None:
        session = self._session
        if session is None:
            return
        workbench, places, before = session.workbench, _places(session), self._decisions
        self._stale = False

        async def work(_control: JobControl) -> _ReadDecisions:
            page = await ask(workbench.activity.page, tuple(places), READ_AT_MOST)
            return _ReadDecisions(page.running, decisions(page.entries, places, before))

        self._lane.submit(
            "read the decisions", work, done=self._on_read, failed=self._on_read_failed, group="activity"
        )

    def _on_read(self, found: _ReadDecisions) -> None:
        self._show_work(found.work)
        if found.decisions is not None:
            self.tab.message.clear()
            self._decisions = found.decisions
            self.tab.show_decisions(found.decisions)

    def _on_read_failed(self, error: UserError) -> None:
        self._stale = True
        self.tab.message.say_error(error)

    # What runs

    @Slot(object)
    def _on_status(self, _status: StatusView) -> None:
        session = self._session
        context = session.context if session is not None else None
        self.tab.show_place(context.workspace_id if context is not None else None)
        self._ask_who_works()

    @Slot()
    def _ask_who_works(self) -> None:
        session = self._session
        if session is None or not self.tab.isVisible():
            self._poll.stop()
            return
        workbench, places = session.workbench, tuple(_places(session))

        async def work(_control: JobControl) -> _ReadDecisions:
            return _ReadDecisions(await ask(workbench.activity.running, places))

        self._lane.submit(
            "ask who works", work, done=self._on_read, failed=self._on_read_failed, group="who works"
        )

    def _show_work(self, found: tuple[RunningWork, ...]) -> None:
        """Show the background runs of this and other processes; a run started by hand here is shown
        already."""
        by_hand = self._jobs.get(BY_HAND)
        self._jobs = {} if by_hand is None else {BY_HAND: by_hand}
        places = {} if self._session is None else _places(self._session)
        for work in found:
            of_home = work.workspace_id is None
            here = work.holder.ours
            if here and of_home and by_hand is not None:
                continue
            title = visible(work.holder.purpose) if of_home else tr("Memory writer")
            place = places.get(work.workspace_id or "", work.workspace_id or "")
            elsewhere = tr("in process {pid}, which alone can stop it")
            note = "" if here else elsewhere.format(pid=work.holder.owner.pid)
            self._jobs[work.name] = RunningJob(work.name, title, visible(place), cancellable=here, note=note)
        self.tab.running.show_jobs(tuple(self._jobs.values()))
        if found and self.tab.isVisible():
            self._poll.start()
        else:
            self._poll.stop()

    @Slot(str)
    def _on_started(self, kind: str) -> None:
        title = {
            "dream": tr("Consolidation"),
            "preview": tr("Preview of a consolidation"),
            "apply": tr("Applying what was chosen"),
            "revert": tr("Undo"),
        }.get(kind, visible(kind))
        self._show(RunningJob(BY_HAND, title, cancellable=kind != "revert"))

    @Slot(object)
    def _on_progress(self, progress: Progress) -> None:
        job = self._jobs.get(BY_HAND)
        if job is not None:
            self._show(
                RunningJob(
                    BY_HAND,
                    job.title,
                    step_words(progress.step),
                    progress.done,
                    progress.total,
                    job.cancellable,
                )
            )

    @Slot(object)
    def _on_ended(self, _what: object) -> None:
        self._drop(BY_HAND)

    @Slot()
    def _on_cancelled(self) -> None:
        self._drop(BY_HAND)

    @Slot(str)
    def _on_cancel(self, id_: str) -> None:
        if id_ == BY_HAND:
            self._dreams.cancel()
        else:
            # One run of them cannot be taken out: what called for it would call again.
            self.pause.emit(True)

    def say_paused(self, paused: bool) -> None:
        """Whether the background services of the shown home are paused."""
        if paused:
            self.tab.services.say(
                tr("The background services of this home are paused."),
                tone="warn",
                buttons=[("resume", tr("Go on"), tr("Let them run again"))],
            )
        else:
            self.tab.services.clear()

    @Slot(str)
    def _on_resume(self, _key: str) -> None:
        self.pause.emit(False)

    def _show(self, job: RunningJob) -> None:
        self._jobs[job.id] = job
        self.tab.running.show_jobs(tuple(self._jobs.values()))

    def _drop(self, id_: str) -> None:
        self._jobs.pop(id_, None)
        self.tab.running.show_jobs(tuple(self._jobs.values()))

    @property
    def jobs(self) -> Mapping[str, RunningJob]:
        return self._jobs

    # The log

    @Slot(bool)
    def set_debug(self, on: bool) -> None:
        """Whether gates and outcomes go to the log, until the window is closed."""
        set_debug(on)
        self.say_level()
        self.level_changed.emit()

    @Slot()
    def say_level(self) -> None:
        """Show the current log level."""
        self.tab.say_log(debug=is_debug(), file=str(self._log_file))


def _places(session: HomeSession) -> dict[str, str]:
    """The names of workspaces by id."""
    return {workspace.id: workspace.label for workspace in session.info.contents.workspaces()}
