"""The Traces tab: above, those of the place selected at the left or of all homes; below, one of them.

Answers the wishes of the detail: the transcript at the trigger, comparing two, replaying, copying, exporting.
Everything from disk comes in jobs on the feed's own lane.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QFileDialog, QSplitter, QStackedWidget, QVBoxLayout, QWidget

from reverie.errors import MendableError, mendable_from_os
from reverie.ui.columns import scrolled
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl
from reverie.ui.memory.heading import EmptyPage
from reverie.ui.tab_page import TabPage
from reverie.ui.traces.compare import TraceCompare
from reverie.ui.traces.detail import Shown, TraceDetailView
from reverie.ui.traces.feed import Listed, TraceFeed
from reverie.ui.traces.list_view import TraceList
from reverie.ui.traces.places import Followed
from reverie.ui.traces.replay import ReplayDialog
from reverie.ui.traces.transcript import TranscriptDialog

if TYPE_CHECKING:
    from reverie.ui.session import HomeSession

_LEAST_ROWS = 96


class TracesTab(TabPage):
    """`said(str)`: a sentence for the status bar."""

    said = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._wanted: Listed | None = None
        self.feed = TraceFeed(self)
        self.list = TraceList(icons)
        self.detail = TraceDetailView(self.feed, icons)
        self.empty = EmptyPage(icons, "runs")
        self.empty.say(
            self.tr("No traces yet"),
            self.tr(
                "A trace tells what a run asked, was told and did. Consolidations by a model leave one; "
                "the memory writer leaves one when it fails."
            ),
        )
        self.compare: TraceCompare | None = None
        self.replay: ReplayDialog | None = None
        self.transcript: TranscriptDialog | None = None
        self._lay_out()
        self.feed.changed.connect(self._on_lines)
        self.feed.failed.connect(self._on_failed)
        self.list.picked.connect(self._on_picked)
        self.list.opened.connect(self._on_opened)
        self.detail.asked.connect(self._on_asked)

    def _lay_out(self) -> None:
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.addWidget(self.list)
        self.list.view.setMinimumHeight(_LEAST_ROWS)
        self.splitter.addWidget(self.detail)
        self.splitter.setSizes([220, 520])
        self.splitter.setChildrenCollapsible(False)
        self.pages = QStackedWidget()
        self.pages.addWidget(self.empty)
        self.area = scrolled(self.splitter)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is inside can be reached
        self.pages.addWidget(self.area)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(self.pages)

    @Slot(object)
    def add_session(self, session: HomeSession) -> None:
        self.feed.add(session)

    def remove_session(self, session: HomeSession) -> None:
        """A home was closed: its traces leave the list."""
        self.feed.remove(session)

    def follow_place(self, followed: Followed | None) -> None:
        """Another home or project is selected at the left; None: none is open."""
        self.list.follow_place(followed)

    def stop(self) -> None:
        self.feed.stop()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.feed.start()

    @property
    def is_settled(self) -> bool:
        """Everything is read: the list, and the selected trace."""
        wanted, shown = self._wanted, self.detail.shown
        return self.feed.is_complete and (
            wanted is None or (shown is not None and shown.detail.row.path == wanted.row.path)
        )

    @Slot()
    def _on_lines(self) -> None:
        lines = self.feed.lines
        self.pages.setCurrentWidget(self.area if lines else self.empty)
        self.list.show_lines(lines)
        self._follow()

    @Slot(object)
    def _on_failed(self, error: MendableError) -> None:
        self.said.emit(str(error))

    @Slot()
    def _on_picked(self) -> None:
        self._follow()

    def _follow(self) -> None:
        """Show what is selected, as it is now."""
        selected = self.list.selected
        self.detail.buttons["compare"].setEnabled(len(selected) == 2)
        wanted = selected[0] if selected else None
        if wanted is None:
            self._wanted = None
            self.feed.cancel("open a trace")
            self.detail.clear(self._nothing_shown())
            return
        if self._wanted is not None and (self._wanted.row, self._wanted.place) == (
            wanted.row,
            wanted.place,
        ):
            return
        self._wanted = wanted
        desk, row, workspace = wanted.session.workbench, wanted.row, wanted.place.workspace

        def work(_control: JobControl) -> Shown:
            from reverie.services.replay import why_no_replay
            from reverie.services.trace_texts import tried_diff

            detail = desk.traces.open(str(row.path))
            no_replay = why_no_replay(detail.facts, shortened=detail.dump.shortened)
            return Shown(detail, tried_diff(detail.facts), no_replay, workspace)

        self.feed.submit(
            "open a trace", work, done=self._on_read, failed=self._on_unreadable, group="open a trace"
        )

    def _nothing_shown(self) -> str:
        if self.list.shown:
            return self.tr("Select a trace.")
        if self.list.has_none_here:
            return self.tr("No trace of {place} yet. “All homes” shows those of the others.").format(
                place=self.list.place.currentText()
            )
        return self.tr("No trace fits.")

    def _on_read(self, shown: Shown) -> None:
        if self._wanted is not None and self._wanted.row.path == shown.detail.row.path:
            self.detail.show_trace(shown)
            self.detail.buttons["compare"].setEnabled(len(self.list.selected) == 2)

    def _on_unreadable(self, error: MendableError) -> None:
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
        """What was said when the run of the shown trace was triggered."""
        shown, wanted = self.detail.shown, self._wanted
        if shown is None or wanted is None:
            return
        if self.transcript is None:
            self.transcript = TranscriptDialog(self.feed, self._icons, self)
        facts = shown.detail.facts
        self.transcript.open_at(
            wanted.session.workbench.transcripts, wanted.row.workspace_id, facts.trigger_message_id
        )

    def compare_selected(self) -> None:
        """The two selected traces beside each other."""
        selected = self.list.selected
        if len(selected) != 2:
            return
        if self.compare is None:
            self.compare = TraceCompare(self.feed, self)
        older, newer = sorted(selected, key=lambda line: line.row.started_at)
        self.compare.open_on(older, newer)

    def replay_shown(self) -> None:
        """Ask again what the shown run asked."""
        shown, wanted = self.detail.shown, self._wanted
        if shown is None or wanted is None:
            return
        if self.replay is None:
            self.replay = ReplayDialog(self.feed, self._icons, self)
        known = dict.fromkeys(line.row.model for line in self.feed.lines)
        self.replay.open_on(wanted.session.workbench, shown.detail, tuple(known))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.detail.summary())
        self.said.emit(self.tr("The summary is in the clipboard."))

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
        """Copy the shown document, byte by byte, to a place that a person chose."""
        shown = self.detail.shown
        if shown is None:
            return
        source = shown.detail.row.path

        def work(_control: JobControl) -> Path:
            try:
                return Path(shutil.copyfile(source, target))
            except OSError as error:
                raise mendable_from_os(error, f"The trace was not exported to {target}.") from error

        self.feed.submit("export a trace", work, done=self._on_exported)

    def _on_exported(self, target: Path) -> None:
        self.said.emit(self.tr("Exported to {path}").format(path=target))
