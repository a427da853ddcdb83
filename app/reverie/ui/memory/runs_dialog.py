"""Past runs with what each changed. Stays open beside the window; follows the runs of its home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPushButton, QWidget

from reverie.errors import MendableError
from reverie.ui.columns import column
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.memory.review import ReviewPane
from reverie.ui.memory.run_list import RunList
from reverie.ui.panes import Panes

if TYPE_CHECKING:
    from reverie.services.views import RevertView, RunSummary, RunView
    from reverie.services.workbench import Workbench

RUNS_SHOWN = 200
SIDE_BY_SIDE = 700


class RunsDialog(QDialog):
    """`revert(run id)` asks for an undo, `open_wanted(Workbench, RunSummary, memory path)` for a file that a
    run is about."""

    revert = Signal(str)
    open_wanted = Signal(object, object, str)

    def __init__(
        self, lane: Lane, icons: Icons, parent: QWidget | None = None, *, with_list: bool = True
    ) -> None:
        super().__init__(parent)
        self._lane = lane
        self._workbench: Workbench | None = None
        self._wanted = ""
        self.setWindowTitle(self.tr("Runs") if with_list else self.tr("Review changes"))
        self.resize(1080 if with_list else 900, 600)
        self.runs = RunList()
        self.runs.picked.connect(self._on_picked)
        if not with_list:
            self.runs.hide()  # showing what has no parent yet would open a window
        self.empty = QLabel(self.tr("No runs yet. “Consolidate now” makes the first."))
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.pane = ReviewPane(lane, icons)
        self.pane.revert.connect(self.revert)
        self.pane.open_wanted.connect(self._on_open_wanted)
        self._lay_out()

    def _lay_out(self) -> None:
        self._splitter = Panes(
            self.runs, self.pane, beside_from=SIDE_BY_SIDE, sizes=(300, 780), below=(140, 420)
        )
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column(self, self.empty, self._splitter, buttons, grows=self._splitter)
        self.empty.hide()
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)  # Enter in a list is not for a button, least of all for the undo
        (self.pane.tree if self.runs.isHidden() else self.runs.list).setFocus()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._splitter.turn(event.size().width())

    def show_runs(self, workbench: Workbench, run_id: str = "") -> None:
        """Read the runs and select `run_id`, or keep the selection, or select the newest."""
        self._workbench = workbench
        self._wanted = run_id

        def work(_control: JobControl) -> tuple[RunSummary, ...]:
            return workbench.runs(limit=RUNS_SHOWN)

        self._lane.submit(
            "list runs",
            work,
            done=self._on_runs,
            failed=self.pane.message.say_error,
            group=f"runs {id(self)}",
        )

    def follow(self, workbench: Workbench) -> None:
        """Runs of this home changed; a dialog of another home has nothing to do with it."""
        if self._workbench is workbench:
            # A run that was asked for and has not been read yet stays asked for.
            self.show_runs(workbench, self._wanted)

    @property
    def is_read(self) -> bool:
        """The changes of the run that was asked for, or else of the selected one, are shown."""
        shown = self.runs.current
        arrived = not self._wanted or (shown is not None and shown.id == self._wanted)
        return arrived and self.pane.is_read

    def show_reverted(self, result: RevertView) -> None:
        self.pane.show_conflicts(result)
        if self._workbench is not None:
            self.show_runs(self._workbench, self._wanted)

    def show_applied(self, run: RunView) -> None:
        """What came of a choice: the review goes on with the run that it made."""
        self.pane.show_applied(run)
        if self._workbench is not None:
            self.show_runs(self._workbench, run.run_id if run.outcome == "completed" else self._wanted)

    def show_failed(self, error: MendableError) -> None:
        self.pane.show_failed(error)

    def _on_runs(self, runs: tuple[RunSummary, ...]) -> None:
        self.empty.setVisible(not runs)
        self._splitter.setVisible(bool(runs))
        before = self.runs.current
        self.runs.show_runs(runs, self._wanted)
        if self.runs.current is not None and self.runs.current.id == self._wanted:
            self._wanted = ""
        if before is not None and before == self.runs.current:
            self._on_picked(before)  # whether it can be applied depends on more than the run itself

    @Slot(object)
    def _on_picked(self, run: RunSummary | None) -> None:
        if run is None:
            self.pane.clear()
        elif self._workbench is not None:
            self.pane.show_run(self._workbench, run)

    @Slot(object, str)
    def _on_open_wanted(self, run: RunSummary, path: str) -> None:
        if self._workbench is not None:
            self.open_wanted.emit(self._workbench, run, path)
