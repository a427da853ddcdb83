"""The Traces tab: the diagnosis why nothing happened, the runs of the selected place, details of one run.

It carries out the requests of the detail view: show the transcript at the trigger, compare, replay, copy,
export. The checks that the diagnosis is based on, and the log, are further views of the tab.

Threading: GUI thread; everything from disk is read in jobs on the feed's own lane. Failure: in the status
bar.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QItemSelectionModel, Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QFileDialog, QWidget

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import GAP
from reverie.ui.display_text import as_tooltip, counted, said, tokens, tr, visible, when
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane
from reverie.ui.run_labels import RUN_KINDS
from reverie.ui.traces.checks import Answer, AnswerView, ChecksView, answer_of
from reverie.ui.traces.detail import Shown, TraceDetailView
from reverie.ui.traces.feed import Followed, ListedTrace, TraceFeed, View
from reverie.ui.traces.log import LogView
from reverie.ui.traces.replay import ReplayDialog, TraceCompare
from reverie.ui.traces.steps import VERDICTS, duration_label, kind_label, verdict_label, verdict_tone
from reverie.ui.transcripts.reader import ReadingStart, TranscriptView
from reverie.ui.widgets.controls import FitCombo, SearchField, WrapLabel
from reverie.ui.widgets.layouts import Column, FlowLayout, Panes, column, scrolled, stacked
from reverie.ui.widgets.lists import LineList, LineModel, TwoLines
from reverie.ui.widgets.pages import EmptyPage, TabPage

if TYPE_CHECKING:
    from reverie.services.traces import TranscriptService
    from reverie.ui.session import HomeSession


_SIGNS = {"info": "check", "warn": "warning", "bad": "error"}
_CHARS = 16
_LEAST_ROWS = 6
_LIST, _BESIDE = 58, 132
"""Width of the list, and minimum width of the tab with the detail beside it, in characters."""
_ORDERS: Mapping[str, Callable[[ListedTrace], int]] = {
    "newest": lambda line: line.row.started_at,
    "longest": lambda line: line.row.duration_ms or 0,
    "tokens": lambda line: line.row.tokens,
}
"""The sort key for each order of the list; the row with the largest value comes first."""


class TraceModel(LineModel):
    """The Qt model of the list, with one row per trace."""

    several = False
    """True if each row includes the name of its workspace."""

    def look(self, value: ListedTrace) -> TwoLines:
        row, tone = value.row, verdict_tone(value.row.verdict)
        tries = counted(tr("1 attempt"), "%n attempts", row.attempts) if row.attempts > 1 else ""
        place = value.place.workspace if self.several else ""
        model = row.model.partition(":")[2] or row.model  # without its service, to save space
        parts = (place, kind_label(row.kind), model, tries, tokens(row.tokens) if row.tokens else "")
        return TwoLines(
            verdict_label(row.verdict),
            " · ".join(visible(part) for part in parts if part),
            right=when(row.started_at),
            right_below=duration_label(row.duration_ms),
            sign=_SIGNS[tone],
            grave=tone == "bad",
            cut="end",
            cut_below="end",
        )

    def spoken(self, value: ListedTrace) -> str:
        look = self.look(value)
        parts = (look.title, look.right, value.place.workspace, look.below, look.right_below)
        return ", ".join(visible(part) for part in parts if part)

    def tooltip(self, value: ListedTrace) -> str:
        row = value.row
        return as_tooltip(said(row.sentence), said(row.evidence), value.place.workspace, str(row.path))


class TraceList(Column):
    """The list of the traces of the selected home, project or workspace, with filters and sort orders.

    By default the newest trace is first. Signals: `picked()`, emitted when the selection has changed;
    `opened()`, emitted on Enter or a double click.
    """

    picked = Signal()
    opened = Signal()

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._followed: Followed | None = None
        self._lines: tuple[ListedTrace, ...] = ()
        self.text = SearchField(self.tr("Search traces"))
        self.place = FitCombo(self.tr("Filter by home or workspace"), most_chars=_CHARS)
        self.place.addItem(self.tr("Selected home"), "selected")
        self.place.addItem(self.tr("All workspaces"), "home")
        self.place.addItem(self.tr("All homes"), "all")
        self.verdict = FitCombo(self.tr("Filter by verdict"), most_chars=_CHARS)
        self.verdict.addItem(self.tr("All verdicts"), "")
        self.verdict.addItem(self.tr("Wrote nothing"), "failed")
        for name in VERDICTS:
            self.verdict.addItem(verdict_label(name), name)
        self.kind = FitCombo(self.tr("Filter by kind of run"), most_chars=_CHARS)
        self.kind.addItem(self.tr("All runs"), "")
        for name in (*(labels.kind for labels in RUN_KINDS if labels.kind != "revert"), "consolidate"):
            self.kind.addItem(kind_label(name), name)
        self.order = FitCombo(self.tr("Sort order"), most_chars=_CHARS)
        for key, name in (
            ("newest", self.tr("Newest first")),
            ("longest", self.tr("Longest first")),
            ("tokens", self.tr("Most tokens first")),
        ):
            self.order.addItem(name, key)
        self.model = TraceModel()
        self.view = LineList(self.model, icons, self.tr("Traces"))
        self.view.setFrameShape(LineList.Shape.NoFrame)
        self.view.setSelectionMode(LineList.SelectionMode.ExtendedSelection)
        self.view.setMinimumHeight(_LEAST_ROWS * self.fontMetrics().height())
        boxes = FlowLayout(self.place, self.verdict, self.kind, self.order)
        head = column(None, self.text, boxes, margin=(GAP, GAP, GAP, 0))
        column(self, head, self.view, grows=self.view, margin=0)
        self.view.selectionModel().selectionChanged.connect(self.picked)
        self.view.opened.connect(self.opened)
        self.text.textChanged.connect(self.narrow)
        for box in (self.place, self.verdict, self.kind, self.order):
            box.currentIndexChanged.connect(self.narrow)

    @property
    def selected(self) -> tuple[ListedTrace, ...]:
        """The selected lines, the current one first."""
        current = self.view.currentIndex().row()
        rows = sorted(index.row() for index in self.view.selectionModel().selectedRows())
        shown = self.shown
        return tuple(shown[row] for row in sorted(rows, key=lambda row: row != current))

    @property
    def has_none_here(self) -> bool:
        """True if there are traces, but none of the selected home, project or workspace."""
        narrowed = self.text.text().strip() or self.verdict.currentData() or self.kind.currentData()
        return bool(self._lines) and not narrowed and not self.shown

    @property
    def shown(self) -> tuple[ListedTrace, ...]:
        """The lines that pass the filter, in the displayed order."""
        return self.view.values

    def newest_of(self, workspace_id: str) -> ListedTrace | None:
        """Return the newest run of the agent's own writer in a workspace of the selected home, or None."""
        home = self._followed.home if self._followed is not None else ""
        return next(
            (
                line
                for line in self._lines
                if line.session.info.id == home
                and line.place.workspace_id == workspace_id
                and not (line.row.own or line.row.run_id)
            ),
            None,
        )

    def show_lines(self, lines: Sequence[ListedTrace]) -> None:
        """Show the lines, changing only rows that differ.

        The selection stays; if no line is selected then, the first is.
        """
        self._lines = tuple(lines)
        self.narrow()

    def select(self, row: int, *, also: bool = False) -> None:
        """Select the shown line with the index `row`; `also` keeps the other selected lines."""
        flags = QItemSelectionModel.SelectionFlag
        how = flags.Select if also else flags.ClearAndSelect
        self.view.selectionModel().setCurrentIndex(self.model.index(row, 0), how)

    def select_id(self, trace_id: str) -> bool:
        """Select the trace with this id; return True if it is among the shown lines."""
        for row, line in enumerate(self.shown):
            if line.row.id == trace_id:
                self.select(row)
                return True
        return False

    @Slot()
    def narrow(self) -> None:
        """Apply search text and filters; if no line is selected then, select the first."""
        before = self.selected
        order = _ORDERS[self.order.currentData()]
        fitting = sorted(filter(self._takes, self._lines), key=order, reverse=True)
        followed = self._followed
        several = self.place.currentData() != "selected" or followed is None or not followed.workspace
        if several != self.model.several:
            self.model.several = several
            self.view.viewport().update()
        self.view.set_values((line.key, line) for line in fitting)
        if not self.selected and self.shown:
            self.select(0)
        elif self.selected != before or not self.shown:
            self.picked.emit()  # an empty list changes the text beside it

    def _takes(self, line: ListedTrace) -> bool:
        """Return True if a line passes the search text and the filters."""
        row, place, followed = line.row, self.place.currentData(), self._followed
        if place == "selected" and followed is not None and not followed.holds(line):
            return False
        if place == "home" and followed is not None and line.session.info.id != followed.home:
            return False
        verdict, kind = self.verdict.currentData(), self.kind.currentData()
        if verdict == "failed":
            if row.verdict in ("wrote", "nothing-to-write"):
                return False
        elif verdict and row.verdict != verdict:
            return False
        if kind and row.kind != kind:
            return False
        searched = (
            row.id, row.workspace_name, row.workspace_id, row.model, said(row.sentence), said(row.evidence),
            verdict_label(row.verdict), row.home, line.place.workspace,
        )  # fmt: skip
        return self.text.text().casefold().strip() in "\n".join(searched).casefold()

    @property
    def followed(self) -> Followed | None:
        """The home, project or workspace that is selected in the list of homes."""
        return self._followed

    def clear_filters(self) -> None:
        """Clear the filters, so that all traces of the selected home, project or workspace are shown."""
        self.text.clear()
        for box in (self.place, self.verdict, self.kind):
            box.setCurrentIndex(0)

    def follow_place(self, followed: Followed | None) -> None:
        """Show the traces of the home, project or workspace `followed`; None if no home is open."""
        if followed == self._followed:
            return
        self._followed = followed
        name = visible(followed.name) if followed is not None else self.tr("Selected home")
        tip = as_tooltip(name, visible(followed.home_name)) if followed is not None else ""
        self.place.setItemText(0, name)
        self.place.setItemData(0, tip, Qt.ItemDataRole.ToolTipRole)
        self.narrow()


class TranscriptDialog(QDialog):
    """Non-modal dialog with the agent's transcript around the message that triggered a run; read-only."""

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Transcript"))
        self.resize(900, 640)
        self.title = WrapLabel()
        self.view = TranscriptView(lane, icons)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        self.view.opened.connect(self._on_opened)
        column(self, self.title, self.view, self.buttons, grows=self.view)

    @property
    def is_read(self) -> bool:
        """True if the transcript has been read."""
        return self.view.is_read

    def open_at(self, service: TranscriptService, workspace_id: str, message_id: str) -> None:
        """Open the dialog, read the transcript of a workspace and show it at a message."""
        self.title.say(self.tr("Reading the transcript…"))
        self.show()

        self.view.open(service, ask(service.of_workspace, workspace_id), ReadingStart(message_id))

    @Slot(int)
    def _on_opened(self, place: int) -> None:
        if place >= 0:
            self.title.say(self.tr("The run was triggered by this message."))
            self.view.text.setFocus()
        elif self.view.text.messages:
            self.title.say(self.tr("The message that triggered the run is no longer in the transcript."))
        else:
            self.title.say(self.tr("This workspace has no transcript."))


class TracesTab(TabPage):
    """The Traces tab: the diagnosis, and below it one of three views: the runs, the checks or the log.

    Signals: `status_message(str)`; `settings_wanted(str)`, request to open this page of the settings.
    """

    status_message = Signal(str)
    settings_wanted = Signal(str)

    def __init__(self, icons: Icons, clock: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._wanted: ListedTrace | None = None
        self._replay_wanted = ""
        self.feed = TraceFeed(self)
        self.answer = AnswerView(icons)
        self.list = TraceList(icons)
        self.detail = TraceDetailView(self.feed.lane, icons)
        self.checks = ChecksView(icons)
        self.log = LogView(icons, clock)
        self.empty = EmptyPage(icons, "runs")
        self.compare: TraceCompare | None = None
        self.replay: ReplayDialog | None = None
        self.transcript: TranscriptDialog | None = None
        self._lay_out()
        self.feed.changed.connect(self._on_lines)
        self.feed.lane.unclaimed.connect(lambda error: self.status_message.emit(str(error)))
        self.list.picked.connect(self._follow)
        self.list.opened.connect(self._on_opened)
        self.detail.asked.connect(self._on_asked)
        self.answer.asked.connect(self._on_remedy)
        self.checks.changed.connect(self._on_findings)
        self.checks.rows.remedy.connect(self._on_remedy)
        self.log.detail.doctor.connect(self.show_checks)
        for view in (self.checks, self.log):
            view.back.connect(self.show_runs)
        self._on_findings()
        self._show_empty()

    def _show_empty(self) -> None:
        """Show, in place of the list, that there are no traces or that they are still being read."""
        if self.feed.is_read:
            self.empty.say(
                self.tr("No traces yet"),
                self.tr(
                    "A trace shows what a run sent to the model, what it received and what it did. Each "
                    "consolidation with a model writes a trace; the memory writer writes one when it fails."
                ),
            )
        else:
            self.empty.say(self.tr("Reading traces…"), "")

    def _lay_out(self) -> None:
        self.nothing = WrapLabel()
        self.nothing.setMargin(2 * GAP)
        self._shown = stacked(self.detail, self.nothing)
        char = self.fontMetrics().averageCharWidth()
        self.splitter = Panes(
            self.list,
            self._shown,
            beside_from=_BESIDE * char,
            sizes=(_LIST * char, (_BESIDE - _LIST) * char),
            below=(260, 520),
        )
        self.pages = stacked(self.empty, self.splitter)
        self.views = stacked(self.pages, self.checks, self.log)
        inside = Column()
        column(inside, self.answer, self.checks.message, self.views, grows=self.views, margin=0, gap=0)
        # In large type the answer alone may be higher than a low window.
        self.area = scrolled(inside)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its contents take the focus
        column(self, self.area, margin=0, gap=0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())

    def show_view(self, view: View) -> None:
        """Show the runs, the checks or the log."""
        self.views.setCurrentWidget({"runs": self.pages, "checks": self.checks, "log": self.log}[view])

    @Slot()
    def show_runs(self) -> None:
        """Show the list of runs and the details of one."""
        self.show_view("runs")

    @Slot()
    def show_checks(self) -> None:
        """Show the list of checks."""
        self.show_view("checks")

    @Slot()
    def show_log(self) -> None:
        """Show the log of the background services."""
        self.show_view("log")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.views.currentWidget() is not self.pages:
            self.show_runs()
        else:
            super().keyPressEvent(event)

    @Slot()
    def _on_findings(self) -> None:
        """Show the diagnosis that follows from the last checks, even while new checks are running."""
        findings = self.checks.findings
        if findings:
            answer = answer_of(findings, self.checks.place, can_replay=self._failed_run() is not None)
        elif self.checks.is_coming:
            answer = Answer(self.tr("Checking the settings…"))
        else:
            answer = Answer(self.tr("Why did nothing happen?"), self.tr("Select a workspace on the left."))
        self.answer.show_answer(answer, len(findings), busy=not self.checks.again.isEnabled())

    def _failed_run(self) -> ListedTrace | None:
        """Return the newest run of the agent's own writer in the selected workspace."""
        followed = self.list.followed
        return None if followed is None else self.list.newest_of(followed.workspace)

    @Slot(str)
    def _on_remedy(self, what: str) -> None:
        if what.startswith("fix "):
            self.checks.fix.emit(what.removeprefix("fix "))
        elif what == "replay":
            self._replay_newest()
        elif what == "checks":
            self.show_checks()
        elif what == "log":
            self.show_log()
        else:
            self.settings_wanted.emit({"model": "writer", "key": "models"}[what])

    def _replay_newest(self) -> None:
        """Open the replay of the run that the diagnosis is about, once the run has been read."""
        line = self._failed_run()
        if line is None:
            return
        self.show_runs()
        self._replay_wanted = line.key
        if not self.list.select_id(line.row.id):
            self.list.clear_filters()
            self.list.select_id(line.row.id)
        self._replay_if_read()

    def _replay_if_read(self) -> None:
        shown = self.detail.shown
        if shown is not None and self._replay_wanted == str(shown.detail.row.path):
            self._replay_wanted = ""
            self.replay_shown()

    @Slot(object)
    def add_session(self, session: HomeSession) -> None:
        """Add the traces of an opened home."""
        self.feed.add(session)
        self._show_empty()

    def remove_session(self, session: HomeSession) -> None:
        """Remove the traces of a closed home."""
        self.feed.remove(session)
        self._show_empty()

    def follow_place(self, followed: Followed | None) -> None:
        """Show the diagnosis and the runs of the home, project or workspace `followed`.

        None if no home is open.
        """
        self.list.follow_place(followed)
        self._on_findings()

    def stop(self) -> None:
        """Stop all reading."""
        self.feed.stop()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.feed.start()

    @property
    def is_settled(self) -> bool:
        """True if the list and the selected trace have been read completely."""
        wanted, shown = self._wanted, self.detail.shown
        return (
            self.feed.is_read
            and not self.feed.busy
            and (wanted is None or (shown is not None and shown.detail.row.path == wanted.row.path))
        )

    @Slot()
    def _on_lines(self) -> None:
        lines = self.feed.lines
        self.pages.setCurrentWidget(self.splitter if lines else self.empty)
        self._show_empty()
        self.list.show_lines(lines)
        self._follow()
        self._on_findings()

    @Slot()
    def _follow(self) -> None:
        """Read the selected trace and show it, because the selection has changed."""
        selected = self.list.selected
        self.detail.buttons["compare"].setEnabled(len(selected) == 2)
        wanted = selected[0] if selected else None
        if wanted is None:
            self._wanted = None
            self.feed.lane.abandon("open a trace")
            self.detail.clear()
            self.nothing.say(self._nothing_shown())
            self._shown.setCurrentWidget(self.nothing)
            return
        self._shown.setCurrentWidget(self.detail)
        if self._wanted is not None and (self._wanted.row, self._wanted.place) == (wanted.row, wanted.place):
            return
        self._wanted = wanted
        traces, workspace, is_here = (
            wanted.session.workbench.traces, wanted.place.workspace, wanted.session.is_here,
        )  # fmt: skip
        self.feed.lane.submit(
            "open a trace",
            ask(traces.open, wanted.key),
            done=lambda detail: self._on_read(Shown(traces, detail, workspace, is_here)),
            failed=self._on_unreadable,
            group="open a trace",
        )

    def _nothing_shown(self) -> str:
        if self.list.shown:
            return self.tr("Select a trace.")
        if self.list.has_none_here:
            return self.tr("No traces for {place} yet.").format(place=self.list.place.currentText())
        return self.tr("No matching traces.")

    def _on_read(self, shown: Shown) -> None:
        if self._wanted is not None and self._wanted.row.path == shown.detail.row.path:
            self.detail.show_trace(shown)
            self.detail.buttons["compare"].setEnabled(len(self.list.selected) == 2)
            self._replay_if_read()

    def _on_unreadable(self, error: UserError) -> None:
        self._wanted = None
        self.detail.show_error(str(error))

    @Slot()
    def _on_opened(self) -> None:
        self.detail.show_evidence()
        self.detail.steps.tree.setFocus()

    @Slot(str)
    def _on_asked(self, what: str) -> None:
        {
            "transcript": self.show_transcript,
            "compare": self.compare_selected,
            "replay": self.replay_shown,
            "copy": self._copy,
            "export": self._export,
        }[what]()

    def show_transcript(self) -> None:
        """Open the transcript at the message that triggered the run of the trace that is shown."""
        shown, wanted = self.detail.shown, self._wanted
        if shown is None or wanted is None:
            return
        if self.transcript is None:
            self.transcript = TranscriptDialog(self.feed.lane, self._icons, self)
        facts = shown.detail.facts
        self.transcript.open_at(
            wanted.session.workbench.transcripts, wanted.row.workspace_id, facts.trigger_message_id
        )

    def compare_selected(self) -> None:
        """Open the comparison of the two selected traces."""
        selected = self.list.selected
        if len(selected) != 2:
            return
        if self.compare is None:
            self.compare = TraceCompare(self.feed.lane, self)
        older, newer = sorted(selected, key=lambda line: line.row.started_at)
        self.compare.open_on(older, newer)

    def replay_shown(self) -> None:
        """Open the replay of the trace that is shown."""
        shown, wanted = self.detail.shown, self._wanted
        if shown is None or wanted is None:
            return
        if self.replay is None:
            self.replay = ReplayDialog(self.feed.lane, self._icons, self)
        known = dict.fromkeys(line.row.model for line in self.feed.lines)
        self.replay.open_on(wanted.session.workbench, shown.detail, tuple(known))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.detail.summary())
        self.status_message.emit(self.tr("The summary was copied to the clipboard."))

    def _export(self) -> None:
        shown = self.detail.shown
        if shown is None:
            return
        name, _kind = QFileDialog.getSaveFileName(
            self, self.tr("Export the trace"), str(Path.home() / shown.detail.row.path.name), "JSON (*.json)"
        )
        if name:
            self.export_to(Path(name))

    def export_to(self, target: Path) -> None:
        """Copy the document that is shown, byte for byte, to a file."""
        shown = self.detail.shown
        if shown is None:
            return
        done = self.tr("Exported to {path}").format(path=target)
        self.feed.lane.submit(
            "export a trace",
            ask(shown.traces.export, shown.trace_id, target),
            done=lambda _nothing: self.status_message.emit(done),
        )
