"""The log of the Traces tab: the active background runs, and the entries of the background services.

An entry says what a service did, or why it did nothing.

A run is one row with its duration: the entry of its start is merged into the entry of its end. The widgets
show the given data; `LogControl` reads the entries when they have changed and the tab is visible, and carries
out Cancel and Pause.

Threading: GUI thread; entries are read by jobs on the scan lane. Failure: shown in the tab; reading is
repeated at the next change, or when the tab is shown again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.runs.activity import ActivityEntry
from reverie.ui.appearance import GAP, MARGIN
from reverie.ui.display_text import age, as_tooltip, counted, exact_time, tr, visible
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, repeating
from reverie.ui.run_labels import kind_title
from reverie.ui.session import reconnect
from reverie.ui.traces.steps import duration_label
from reverie.ui.widgets.controls import FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.layouts import FlowLayout, Panes, column, keyed_rows, row_of, scrolled, stacked
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.pages import EmptyPage, TabPage
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.services.activity import RunningWork
    from reverie.services.views import StatusView
    from reverie.ui.memory.footer_control import Consolidation
    from reverie.ui.session import HomeSession


# Rows and their labels. The functions are pure and make texts from disk safe to draw.
_LONGEST_DETAIL = 2000
_WITHIN_A_RUN = ("attempt", "tool-call")


class LogRow(Struct, frozen=True):
    """One entry of Activity, the log of background work, with the data of its row."""

    entry: ActivityEntry
    place: str
    """The name of the workspace."""
    began: int | None = None
    """The start (UTC ms) of the run whose end this entry reports; None if it reports no end of a run."""


def takes(row: LogRow, text: str, workspace_id: str | None = None) -> bool:
    """Return True if a row contains the search text and belongs to the workspace.

    Entries without a workspace belong to every workspace. `workspace_id` None: the workspace does not matter.
    """
    entry = row.entry
    if workspace_id is not None and entry.workspace_id not in (None, workspace_id):
        return False
    searched = (entry.text, entry.event, kind_words(entry), row.place, entry.workspace_id, entry.run_id)
    return text.casefold().strip() in "\n".join(part for part in searched if part).casefold()


def log_rows(entries: Iterable[ActivityEntry], places: Mapping[str, str]) -> tuple[LogRow, ...]:
    """Return the rows of `entries`, newest first; the entry of a run's start is merged into that of its end.

    `places`: the names of workspaces by id.
    """
    made: list[LogRow] = []
    ends: dict[tuple[str, str | None], int] = {}
    for entry in entries:
        kind, _, what = entry.event.partition(".")
        run = kind, entry.workspace_id
        if what == "started" and entry.times == 1 and run in ends:
            place = ends.pop(run)
            ended = made[place]
            if entry.run_id in (None, ended.entry.run_id):
                made[place] = LogRow(ended.entry, ended.place, entry.at)
                continue
        elif what not in _WITHIN_A_RUN and (entry.run_id or what == "stopped"):
            ends[run] = len(made)
        made.append(LogRow(entry, places.get(entry.workspace_id or "", entry.workspace_id or "")))
    return tuple(made)


def kind_words(entry: ActivityEntry) -> str:
    """Return the name of the service that an entry is from."""
    kind, _, gate = entry.event.partition(".")
    if kind == "trigger":
        return {
            "launch": tr("At startup"),
            "compaction": tr("After a compaction"),
            "archive": tr("After archiving"),
            "background": tr("Background runs"),
        }.get(gate, visible(gate))
    return {
        "sweep": tr("At startup"),
        "run": tr("Recovery"),
        "history": tr("History"),
        "host": tr("Background services"),
        "services": tr("Background services"),
        "watch": tr("Background services"),
    }.get(kind) or kind_title(kind)


def below_words(row: LogRow) -> str:
    """Return the second line of a row: service, workspace, and the decision or outcome."""
    kind, _, gate = row.entry.event.partition(".")
    gate = "" if kind == "trigger" else gate  # it is the name of the trigger, shown already
    gate = tr("preview") if _is_preview(row.entry) else gate
    parts = (kind_words(row.entry), visible(row.place), visible(gate.replace("-", " ")))
    return " · ".join(part for part in parts if part)


def _is_preview(entry: ActivityEntry) -> bool:
    return entry.event.endswith(".completed") and entry.details.get("dryRun") is True


def text_words(entry: ActivityEntry) -> str:
    """Return the text of an entry; for a preview, it begins with the statement that nothing was written."""
    text = visible(entry.text)
    if not _is_preview(entry):
        return text
    return tr("Preview: nothing has been changed yet. {summary}").format(summary=text)


def right_words(row: LogRow, now: int) -> str:
    """Return the text at the right of a row.

    It is the count and age of an entry, `12 times, 3 min ago`, or the duration and age of a run, `4.1 s, 3
    min ago`.
    """
    entry, last = row.entry, age(now, row.entry.last_at)
    if row.began is not None:
        return tr("{duration}, {age}").format(duration=duration_label(entry.at - row.began), age=last)
    if entry.times == 1:
        return last
    return tr("{times}, {age}").format(times=counted("once", "%n times", entry.times), age=last)


def sign(entry: ActivityEntry) -> str:
    """Return the name of the icon for an entry's level."""
    return {"warning": "warning", "error": "error", "critical": "error"}.get(entry.level, "info")


def spoken(row: LogRow) -> str:
    """Return a row as one sentence, for screen readers."""
    entry = row.entry
    times = f", {counted('once', '%n times', entry.times)}" if entry.times > 1 else ""
    return f"{exact_time(entry.last_at)}{times}, {below_words(row)}: {text_words(entry)}"


def facts(row: LogRow) -> tuple[tuple[str, str], ...]:
    """Return the facts about an entry as (name, value) pairs."""
    entry = row.entry
    rows = [(tr("Time"), exact_time(entry.at))]
    if row.began is not None:
        rows += [
            (tr("Started"), exact_time(row.began)),
            (tr("Duration"), duration_label(entry.at - row.began)),
        ]
    if entry.times > 1:
        rows += [
            (tr("Last time"), exact_time(entry.last_at)),
            (tr("How often"), counted("once", "%n times", entry.times)),
        ]
    if entry.workspace_id:
        named = row.place != entry.workspace_id
        rows.append((tr("Workspace"), f"{row.place} ({entry.workspace_id})" if named else entry.workspace_id))
    if entry.run_id:
        rows.append((tr("Run"), entry.run_id))
    rows += [(str(name), _plain(value)) for name, value in entry.details.items()]
    return tuple((visible(name), visible(value)) for name, value in rows)


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"


class LogModel(LineModel):
    """Entries, newest first; the age of an entry is computed when its row is drawn."""

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__()
        self._now = now

    def look(self, value: LogRow) -> TwoLines:
        name = sign(value.entry)
        return TwoLines(
            text_words(value.entry),
            below_words(value),
            sign=name,
            grave=name == "error",
            right_below=right_words(value, self._now()),
            cut="end",
            cut_below="end",
        )

    def spoken(self, value: LogRow) -> str:
        return spoken(value)

    def tooltip(self, value: LogRow) -> str:
        return as_tooltip(text_words(value.entry))


def _key(entry: ActivityEntry) -> str:
    """Return a key that stays the same when an entry is repeated, so that its row is kept."""
    return f"{entry.at} {entry.event} {entry.workspace_id} {entry.run_id}"


class RunningJob(Struct, frozen=True):
    """A background job that is running; `id` is the name of its lease."""

    id: str
    title: str
    place: str = ""
    """The name of the job's workspace."""
    note: str = ""
    """The reason why the job cannot be cancelled here; empty if it can."""


class RunningJobs(QWidget):
    """The list of the active background jobs, each with a Cancel button; hidden if there are none.

    Signal: `cancel(str)`, request to cancel the job with this id.
    """

    cancel = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lines: dict[str, _Line] = {}
        self._column = column(self, margin=(MARGIN, GAP, MARGIN, GAP))
        self.hide()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the listed jobs."""
        return tuple(self._lines)

    def line(self, id_: str) -> _Line:
        """Return the line of a job."""
        return self._lines[id_]

    def show_jobs(self, jobs: Sequence[RunningJob]) -> None:
        """Show the jobs; a line whose job is still listed keeps the focus."""
        self._lines = keyed_rows(self._column, self._lines, [job.id for job in jobs], self._line)
        for job in jobs:
            self._lines[job.id].say(job)
        self.setVisible(bool(jobs))

    def _line(self, id_: str) -> _Line:
        made = _Line()
        made.button.clicked.connect(lambda: self.cancel.emit(id_))
        return made


class _Line(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self._asked = False
        self.text = WrapLabel()
        self.button = FitPushButton(self.tr("Cancel"), clicked=self._on_cancel)
        row_of(self.text, self.button, holder=self, grows=self.text)

    def say(self, job: RunningJob) -> None:
        self.text.say(" · ".join(part for part in (job.title, job.place, job.note) if part))
        self.button.setVisible(not job.note)
        self.button.setEnabled(not self._asked)
        self.button.setAccessibleDescription(job.title)

    @Slot()
    def _on_cancel(self) -> None:
        self._asked = True
        self.button.setEnabled(False)
        self.button.say(self.tr("Cancelling…"))


SIDE_BY_SIDE = 720


class LogView(QWidget):
    """The view of the log: its filters, the active jobs, the entries, and the details of the selected entry.

    Signal: `back()`, request to show the runs.
    """

    back = Signal()

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[LogRow, ...] = ()
        self._workspace_id: str | None = None
        self.running = RunningJobs()
        self.message = MessageBar(icons, "log-message")
        self.services = MessageBar(icons, "log-services", closable=False)
        self.runs = FitPushButton(self.tr("‹ Runs"), clicked=self.back.emit)
        self.text = SearchField(self.tr("Search the log"))
        self.here = QCheckBox(self.tr("&Only this workspace"))
        self.list = LineList(LogModel(now), icons, self.tr("Log, newest first"))
        self.none = EmptyPage(icons, "info")
        self.detail = LogDetail()
        self._lay_out()
        self.text.textChanged.connect(self._narrow)
        self.here.toggled.connect(self._narrow)
        self.list.picked.connect(self.detail.show_row)
        self._narrow()

    def _lay_out(self) -> None:
        filters = FlowLayout(self.runs, self.text, self.here)
        head = column(None, filters, margin=(MARGIN, GAP, MARGIN, GAP), gap=None)
        self._pages = stacked(self.list, self.none)
        self.list.setFrameShape(LineList.Shape.NoFrame)
        details = scrolled(self.detail, sideways=True)
        details.setMinimumSize(160, 80)
        self.splitter = Panes(
            self._pages, details, beside_from=SIDE_BY_SIDE, sizes=(700, 320), below=(420, 200), grows=0
        )
        bars = (self.running, self.services, self.message)
        column(self, *bars, head, self.splitter, grows=self.splitter, margin=0, gap=0)

    def show_rows(self, found: Sequence[LogRow]) -> None:
        """Show the log of one home, newest first."""
        self._rows = tuple(found)
        self._narrow()

    def show_place(self, workspace_id: str | None) -> None:
        """Set the workspace for the filter “Only this workspace”; None if no workspace is selected."""
        self._workspace_id = workspace_id
        self.here.setEnabled(workspace_id is not None)
        self._narrow()

    @Slot()
    def _narrow(self) -> None:
        here = self.here.isChecked() and self.here.isEnabled()
        place = self._workspace_id if here else None
        fitting = [row for row in self._rows if takes(row, self.text.text(), place)]
        # A list that is scrolled to its top stays there, so that new entries are visible.
        at_top = self.list.verticalScrollBar().value() == 0
        self.list.show_values((_key(row.entry), row) for row in fitting)
        if at_top:
            self.list.scrollToTop()
        if self._rows:
            self.none.say(self.tr("No matching entries"), "")
        else:
            self.none.say(
                self.tr("The log is empty"),
                self.tr("The log shows what the background services do, what they skip, and why."),
            )
        self._pages.setCurrentWidget(self.list if fitting else self.none)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())


class LogDetail(QWidget):
    """Details of one entry.

    Signals: `review(str)`, request to show the run with this id; `doctor()`, request to show the checks.
    """

    review = Signal(str)
    doctor = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._row: LogRow | None = None
        self.text = WrapLabel()
        self.facts_shown: tuple[tuple[str, str], ...] = ()
        self.changes = FitPushButton(self.tr("Show the run"), clicked=self._on_changes)
        self.why = FitPushButton(self.tr("Show the checks"), clicked=self.doctor.emit)
        self.copy = FitPushButton(self.tr("Copy"), clicked=self._on_copy)
        self._grid = QVBoxLayout()
        self._grid.setSpacing(GAP)
        row = FlowLayout(self.changes, self.why, self.copy)
        outer = column(self, self.text, row, self._grid, margin=(MARGIN, GAP, MARGIN, MARGIN), gap=MARGIN)
        outer.addStretch(1)
        self.show_row(None)

    @Slot(object)
    def show_row(self, row: LogRow | None) -> None:
        """Show an entry; None shows a hint to select one."""
        self._row = row
        while (item := self._grid.takeAt(0)) is not None:
            label = item.widget()
            if label is not None:
                label.hide()
                label.deleteLater()
        self.text.say(text_words(row.entry) if row is not None else self.tr("Select an entry"))
        self.facts_shown = facts(row) if row is not None else ()
        for name, value in self.facts_shown:
            self._grid.addWidget(WrapLabel(f"{name}: {value}"))
        self.copy.setVisible(row is not None)
        self.changes.setVisible(row is not None and bool(row.entry.run_id))
        self.why.setVisible(row is not None and bool(row.entry.workspace_id))

    @Slot()
    def _on_changes(self) -> None:
        if self._row is not None and self._row.entry.run_id:
            self.review.emit(self._row.entry.run_id)

    @Slot()
    def _on_copy(self) -> None:
        lines = [self.text.text(), *(f"{name}: {value}" for name, value in self.facts_shown)]
        QGuiApplication.clipboard().setText("\n".join(lines))


READ_AT_MOST = 2000
POLL_MS = 1000


class _ReadLog(Struct, frozen=True):
    work: tuple[RunningWork, ...]
    rows: tuple[LogRow, ...] | None = None


class LogControl(QObject):
    """Controller of the log in one tab.

    Signal: `pause(bool)`, request to pause or resume the background services of the home that is shown.
    """

    pause = Signal(bool)

    def __init__(self, page: TabPage, view: LogView, lane: Lane, dreams: Consolidation) -> None:
        """Connect the view; `page` is the tab with the view."""
        super().__init__(view)
        self.view = view
        self._page = page
        self._lane = lane
        self._dreams = dreams
        self._session: HomeSession | None = None
        self._stale = True
        # No watched file changes with a lease, so poll while the active jobs are visible.
        self._poll = repeating(self, POLL_MS, self._ask_who_works)
        page.shown.connect(self._on_shown)
        view.services.chosen.connect(lambda _key: self.pause.emit(False))
        # Pause all services: a single cancelled run would be started again by its trigger.
        view.running.cancel.connect(lambda _id: self.pause.emit(True))

    def set_session(self, session: HomeSession | None) -> None:
        """Show the log of another home; None if no home is open."""
        reconnect(self._session, session, lambda home: (home.activity_changed,), self.refresh)
        reconnect(self._session, session, lambda home: (home.status_changed,), self._on_status)
        self._session = session
        self._poll.stop()
        self._show_work(())
        self.view.show_rows(())
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read the log after a change, now or when the tab is next shown."""
        self._stale = True
        if self._page.isVisible():
            self._read()

    @Slot()
    def _on_shown(self) -> None:
        if self._stale:
            self._read()

    def _read(self) -> None:
        session = self._session
        if session is None:
            return
        workbench, places = session.workbench, _places(session)
        self._stale = False

        async def work(_control: JobControl) -> _ReadLog:
            entries, running = await ask(workbench.activity.page, tuple(places), READ_AT_MOST)
            return _ReadLog(running, log_rows(entries, places))

        self._lane.submit("read the log", work, done=self._on_read, failed=self._on_read_failed, group="log")

    def _on_read(self, found: _ReadLog) -> None:
        self._show_work(found.work)
        if found.rows is not None:
            self.view.message.clear()
            self.view.show_rows(found.rows)

    def _on_read_failed(self, error: UserError) -> None:
        self._stale = True
        self.view.message.say_error(error)

    @Slot(object)
    def _on_status(self, _status: StatusView) -> None:
        session = self._session
        context = session.context if session is not None else None
        self.view.show_place(context.workspace_id if context is not None else None)
        self._ask_who_works()

    @Slot()
    def _ask_who_works(self) -> None:
        session = self._session
        if session is None or not self._page.isVisible():
            self._poll.stop()
            return
        workbench, places = session.workbench, tuple(_places(session))

        async def work(_control: JobControl) -> _ReadLog:
            return _ReadLog(await ask(workbench.activity.running, places))

        self._lane.submit(
            "ask who works", work, done=self._on_read, failed=self._on_read_failed, group="who works"
        )

    def _show_work(self, found: tuple[RunningWork, ...]) -> None:
        """Show the background runs of this and other processes.

        A consolidation that was started in this window is left out, because the footer shows it.
        """
        places = {} if self._session is None else _places(self._session)
        jobs = []
        for work in found:
            of_home = work.workspace_id is None
            here = work.holder.ours
            if here and of_home and self._dreams.running:
                continue
            title = visible(work.holder.purpose) if of_home else tr("Memory writer")
            place = places.get(work.workspace_id or "", work.workspace_id or "")
            elsewhere = tr("in process {pid}; only that process can stop this job")
            note = "" if here else elsewhere.format(pid=work.holder.owner.pid)
            jobs.append(RunningJob(work.name, title, visible(place), note))
        self.view.running.show_jobs(jobs)
        if found and self._page.isVisible():
            self._poll.start()
        else:
            self._poll.stop()

    def say_paused(self, paused: bool) -> None:
        """Show whether the background services of the home that is shown are paused."""
        if paused:
            self.view.services.say(
                tr("The background services of this home are paused."),
                tone="warn",
                buttons=[("resume", tr("Resume"), tr("Resume background runs"))],
            )
        else:
            self.view.services.clear()


def _places(session: HomeSession) -> dict[str, str]:
    """Return the names of workspaces by id."""
    return {workspace.id: workspace.label for workspace in session.info.contents.workspaces()}
