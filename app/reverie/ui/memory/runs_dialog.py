"""Past runs with what each changed. Stays open beside the window; follows the runs of its home."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QLabel,
    QListWidgetItem,
    QPushButton,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui import display_text as words
from reverie.ui.appearance import Icons
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.jobs import Lane
from reverie.ui.memory.footer import (
    RunFilter,
    applied_words,
    can_revert,
    conflict_words,
    cost_words,
    filter_names,
    headline,
    run_line,
    state_words,
)
from reverie.ui.memory.review import Choices, ReviewActions, ReviewDetail, ReviewPart, ReviewTree
from reverie.ui.translation import counted
from reverie.ui.widgets.controls import SearchField, WrapLabel, embolden
from reverie.ui.widgets.layouts import Panes, column, row_of
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.ui.widgets.message_bar import MessageBar, Tone

if TYPE_CHECKING:
    from reverie.runs.record import Parts
    from reverie.runs.result import RunResult
    from reverie.services.views import ReviewView, RunSummary
    from reverie.services.workbench import Workbench


# The list of runs, and above it what narrows it down. Shows what it is given; reads nothing.


class RunList(QWidget):
    """`picked(RunSummary | None)`: another run is selected."""

    picked = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._runs: tuple[RunSummary, ...] = ()
        self._shown: tuple[RunSummary, ...] = ()
        self._picked: RunSummary | None = None
        self.text = SearchField(self.tr("Search runs"))
        self.text.textChanged.connect(self._narrow)
        self.show_only = QComboBox()
        self.show_only.setAccessibleName(self.tr("Which runs"))
        for key, name in filter_names():
            self.show_only.addItem(name, key)
        self.show_only.currentIndexChanged.connect(self._narrow)
        self.list = two_line_list(self.tr("Runs, newest first"))
        self.list.currentRowChanged.connect(self._on_row)
        self.none = QLabel(self.tr("No run fits."))
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.none.hide()
        column(self, self.text, self.show_only, self.none, self.list, grows=self.list, margin=0)

    @property
    def runs(self) -> tuple[RunSummary, ...]:
        """All of them, narrowed down or not."""
        return self._runs

    @property
    def current(self) -> RunSummary | None:
        return self._picked

    def show_runs(self, runs: Sequence[RunSummary], wanted: str = "") -> None:
        """Show `runs`; select the run `wanted`, or keep the selection, or select the newest. A run asked for
        by id is shown whatever the filter says."""
        same = tuple(runs) == self._runs
        self._runs = tuple(runs)
        asked = next((run for run in self._runs if run.id == wanted), None)
        if asked is not None and not self.filter.takes(asked):
            self._open_filter()
        kept = wanted or (self._picked.id if self._picked is not None else "")
        if not same or asked is not None:
            self._fill(kept)

    @property
    def filter(self) -> RunFilter:
        return RunFilter(str(self.show_only.currentData()), self.text.text())

    def _open_filter(self) -> None:
        for control in (self.text, self.show_only):
            control.blockSignals(True)
        self.text.clear()
        self.show_only.setCurrentIndex(0)
        for control in (self.text, self.show_only):
            control.blockSignals(False)

    @Slot()
    def _narrow(self) -> None:
        self._fill(self._picked.id if self._picked is not None else "")

    def _fill(self, wanted: str) -> None:
        wants = self.filter
        self._shown = tuple(run for run in self._runs if wants.takes(run))
        self.list.blockSignals(True)
        self.list.clear()
        for run in self._shown:
            item = QListWidgetItem(headline(run))
            item.setData(
                TwoLineDelegate.ROLE,
                TwoLines(words.when(run.started_at), run_line(run), state_words(run), quiet=run.reverted),
            )
            item.setToolTip(as_tooltip(headline(run), run.summary, run.reason))
            self.list.addItem(item)
        row = next((row for row, run in enumerate(self._shown) if run.id == wanted), 0 if self._shown else -1)
        self.list.setCurrentRow(row)
        self.list.blockSignals(False)
        self.none.setVisible(bool(self._runs) and not self._shown)
        self._on_row(row)

    @Slot(int)
    def _on_row(self, row: int) -> None:
        run = self._shown[row] if 0 <= row < len(self._shown) else None
        if run != self._picked:
            self._picked = run
            self.picked.emit(run)


# What a run changed or would change, to read, to choose from and to take back.
#
# At the left groups, files and hunks, at the right what the selected one changes and why. A plan (a
# preview, or a run held for review) can be applied in part and in other words; a run that is on disk can be
# undone, as a whole or in part. All of it is read in jobs; applying and undoing are asked for by signal,
# and what comes of them is shown here as well as in the footer.


REVIEW_SIDE_BY_SIDE = 560


class _Result(NamedTuple):
    """What came of applying or undoing, to be said when the run it is about is shown next."""

    run_id: str
    words: str
    tone: Tone


class ReviewPane(QWidget):
    """One run. `revert(run id)` asks for its undo, `take_back(run id, Parts)` for that of a part, `apply(run
    id, Selection)` for what is chosen of a plan, `open_wanted(RunSummary, memory path)` to show a file in the
    editor."""

    revert = Signal(str)
    take_back = Signal(str, object)
    apply = Signal(str, object)
    open_wanted = Signal(object, str)

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._lane = lane
        self._run: RunSummary | None = None
        self._read = False
        self._told = False  # what came of applying or undoing is shown
        self._result: _Result | None = None
        self.choices: Choices | None = None
        self.title = WrapLabel()
        self.facts = WrapLabel()
        self.tree = ReviewTree()
        self.tree.picked.connect(self._on_picked)
        self.tree.chosen.connect(self._on_chosen)
        self.detail = ReviewDetail(icons)
        self.detail.changed.connect(self._on_worded)
        self.actions_ = ReviewActions(self.tree, self.detail)
        self.actions_.open_wanted.connect(self._ask_open)
        self.actions_.take_back_wanted.connect(self._ask_take_back_now)
        self.message = MessageBar(icons, "review-message", closable=False)
        self.undo = QPushButton(icons.icon("undo"), self.tr("Undo this run"))
        self.undo.setToolTip(self.tr("Give back every byte this run changed; later edits by hand are kept"))
        self.undo.clicked.connect(self._ask_revert)
        self.chosen = WrapLabel()
        self.apply_button = QPushButton(icons.icon("check"), self.tr("A&pply"))
        self.apply_button.setToolTip(self.tr("Write what is ticked; it can be undone"))
        self.apply_button.clicked.connect(self._ask_apply)
        self.take_back_button = QPushButton(icons.icon("undo"), self.tr("&Take back"))
        self.take_back_button.setToolTip(
            self.tr("Undo what is not ticked; later edits by hand are kept, and it can be undone")
        )
        self.take_back_button.clicked.connect(self._ask_take_back)
        self._lay_out()
        self._show_choices(None)

    def _lay_out(self) -> None:
        embolden(self.title)
        self._head = head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        texts = column(None, self.title, self.facts, margin=0, gap=2)
        head.addLayout(texts, 1)
        head.addWidget(self.undo, 0, Qt.AlignmentFlag.AlignTop)
        self.splitter = Panes(
            self.tree, self.detail, beside_from=REVIEW_SIDE_BY_SIDE, sizes=(320, 560), below=(200, 300)
        )
        self._bottom = QWidget()
        row_of(self.chosen, self.apply_button, self.take_back_button, holder=self._bottom, grows=self.chosen)
        column(self, head, self.message, self.splitter, self._bottom, grows=self.splitter, margin=0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = event.size().width()
        self.splitter.turn(width)
        wide = width >= REVIEW_SIDE_BY_SIDE
        self._head.setDirection(
            QBoxLayout.Direction.LeftToRight if wide else QBoxLayout.Direction.TopToBottom
        )

    def show_run(self, workbench: Workbench, run: RunSummary) -> None:
        """Read and show what `run` changed. The same run again (it was undone, applied, or others changed
        what it is about): what a person has chosen of it stays as long as it can be applied."""
        known = self._run
        self._run = run
        self.title.say(headline(run))
        self.facts.say(" ".join(part for part in (run.summary, cost_words(run)) if part))
        if known is None or known.id != run.id:
            self._read = self._told = False
            self._show_choices(None)
        if run != known:
            self._say_state(run)
        result = self._result
        if result is not None and result.run_id == run.id:
            self._result = None
            self._told = True
            self.message.say(result.words, tone=result.tone)

        self._lane.submit(
            "read a run",
            ask(workbench.review, run.id),
            done=self._on_read,
            failed=self.message.say_error,
            group=f"review {id(self)}",
        )

    def clear(self) -> None:
        """No run is selected."""
        self._run = None
        self.title.say(self.tr("No run selected"))
        self.facts.say("")
        self.undo.setEnabled(False)
        self._show_choices(None)
        self.message.clear()

    @property
    def is_read(self) -> bool:
        return self._read

    def show_conflicts(self, result: RunResult) -> None:
        """What came of an undo of the shown run, and what it could not give back."""
        if self._run is None or self._run.id != result.reverts:
            return
        self._told = True
        tone: Tone = "warn" if result.conflicts else "info"
        said = conflict_words(result) if result.conflicts else visible(result.summary)
        self.message.say(said, tone=tone)
        self._result = _Result(result.reverts, said, tone)

    def show_applied(self, run: RunResult) -> None:
        """What came of applying a choice."""
        self._told = True
        tone: Tone = "info" if run.outcome in ("completed", "unchanged") else "warn"
        self.message.say(applied_words(run), tone=tone)
        if run.outcome == "completed":
            self._result = _Result(run.run_id, applied_words(run), tone)
        self._say_chosen()

    def show_failed(self, error: UserError) -> None:
        """Applying or undoing did not work; it may be tried again."""
        self.message.say_error(error)
        self.undo.setEnabled(self._run is not None and can_revert(self._run))
        self._say_chosen()

    def _say_state(self, run: RunSummary) -> None:
        self.undo.setEnabled(can_revert(run))
        if run.conflicts:
            paths = ", ".join(visible(path) for path in run.conflicts)
            self.message.say(self.tr("In conflict: {paths}").format(paths=paths), tone="warn")
        elif run.outcome == "held":
            self.message.say(
                self.tr("Held for review, nothing of this was written. {reason}").format(
                    reason=visible(run.reason)
                ),
                tone="warn",
            )
        elif run.dry_run:
            self.message.say(self.tr("A preview: nothing of this was written."))
        elif run.reverted:
            self.message.say(self.tr("This run was undone."))
        elif run.partly_undone:
            self.message.say(self.tr("Parts of this run were taken back."))
        elif run.outcome not in ("completed", "unchanged") and run.reason:
            self.message.say(
                self.tr("{outcome}: {reason}").format(
                    outcome=words.outcome(run.outcome), reason=visible(run.reason)
                ),
                tone="warn",
            )
        else:
            self.message.clear()

    def _on_read(self, view: ReviewView) -> None:
        if self._run is None or view.run.id != self._run.id:
            return
        self._read = True
        known = self.choices
        if known is not None and _chosen_from(known.view) == _chosen_from(view):
            if known.view != view:
                known.renew(view)
                self._on_worded()
            return
        self._show_choices(Choices(view))
        planned = view.run.dry_run or view.run.outcome == "held"
        if planned and not view.can_apply and view.why_not and not self._told:
            self.message.say(visible(view.why_not))
        if not view.groups:
            self.detail.show_text(self.tr("This run changed no file."))

    def _show_choices(self, choices: Choices | None) -> None:
        self.choices = choices
        self.detail.show_part(None, None)
        self.tree.show_choices(choices)
        self._say_chosen()

    # Choosing

    @Slot(object)
    def _on_picked(self, part: ReviewPart | None) -> None:
        self.detail.show_part(self.choices, part)
        self.actions_.follow(self.choices)

    @Slot()
    def _on_chosen(self) -> None:
        self.detail.show_part(self.choices, self.tree.part)
        self._say_chosen()

    @Slot()
    def _on_worded(self) -> None:
        self.tree.follow()
        self.detail.refresh()
        self._say_chosen()

    def _say_chosen(self) -> None:
        choices = self.choices
        self.actions_.follow(choices)
        self._bottom.setVisible(choices is not None and choices.is_open)
        if choices is None or not choices.is_open:
            return
        self.apply_button.setVisible(choices.view.can_apply)
        self.take_back_button.setVisible(choices.view.can_take_back)
        if choices.view.can_take_back:
            self._say_leaving(choices)
            return
        changed, known = choices.changed_files, choices.all_files
        parts = [
            self.tr("{changed} of {all} would be changed.").format(
                changed=changed, all=counted(self.tr("1 file"), "%n files", known)
            )
        ]
        if choices.blocked:
            stays = counted(self.tr("1 has to stay."), "%n have to stay.", len(choices.blocked))
            parts.append(stays)
        self.chosen.say(" ".join(parts))
        self.apply_button.setEnabled(changed > 0)

    def _say_leaving(self, choices: Choices) -> None:
        """What of a finished run is to be taken back."""
        count = choices.count_to_take_back
        self.take_back_button.setEnabled(count > 0)
        if not count:
            self.chosen.say(self.tr("Untick what you want to take back."))
            return
        all_words = counted(self.tr("1 change"), "%n changes", choices.count_standing)
        self.chosen.say(self.tr("{count} of {all} would be taken back.").format(count=count, all=all_words))

    @Slot()
    def _ask_take_back(self) -> None:
        if self._run is not None and self.choices is not None:
            self._begin(self.take_back_button)
            self.take_back.emit(self._run.id, self.choices.to_take_back)

    @Slot(object)
    def _ask_take_back_now(self, parts: Parts) -> None:
        if self._run is not None:
            self._begin(self.take_back_button)
            self.take_back.emit(self._run.id, parts)

    @Slot(str)
    def _ask_open(self, path: str) -> None:
        if self._run is not None:
            self.open_wanted.emit(self._run, path)

    @Slot()
    def _ask_apply(self) -> None:
        self.detail.flush()
        if self._run is not None and self.choices is not None:
            self._begin(self.apply_button)
            self.apply.emit(self._run.id, self.choices.selection)

    @Slot()
    def _ask_revert(self) -> None:
        if self._run is not None:
            self._begin(self.undo)
            self.revert.emit(self._run.id)

    def _begin(self, button: QPushButton) -> None:
        """Switch `button` off until what it asked for is done. Qt would hand its focus to the next button,
        where the keys of the review do nothing and Space presses."""
        if button.hasFocus():
            self.tree.setFocus()
        button.setEnabled(False)


def _chosen_from(view: ReviewView) -> tuple[object, ...]:
    """What makes the choices of a person be about something else."""
    return view.groups, view.can_apply, view.can_take_back, view.taken_back


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
        self.empty = QLabel(self.tr("No runs yet. “Consolidate” makes the first."))
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

        self._lane.submit(
            "list runs",
            ask(workbench.runs, limit=RUNS_SHOWN),
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

    def show_reverted(self, result: RunResult) -> None:
        self.pane.show_conflicts(result)
        if self._workbench is not None:
            self.show_runs(self._workbench, self._wanted)

    def show_applied(self, run: RunResult) -> None:
        """What came of a choice: the review goes on with the run that it made."""
        self.pane.show_applied(run)
        if self._workbench is not None:
            self.show_runs(self._workbench, run.run_id if run.outcome == "completed" else self._wanted)

    def show_failed(self, error: UserError) -> None:
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
