"""The Activity tab: what runs now, and every decision of the background services, newest first.

Shows what it is given and asks by signal; `activity.control` reads and acts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from reverie.ui.activity.decision_list import DecisionList
from reverie.ui.activity.entries import Decision, DecisionFilter, facts, filter_names
from reverie.ui.activity.running import RunningJobs
from reverie.ui.buttons import FitPushButton
from reverie.ui.columns import scrolled
from reverie.ui.flow import FlowLayout
from reverie.ui.icons import Icons
from reverie.ui.labels import WrapLabel
from reverie.ui.memory.bars import MessageBar
from reverie.ui.memory.heading import EmptyPage
from reverie.ui.panes import Panes
from reverie.ui.search_field import SearchField
from reverie.ui.shown import as_tooltip
from reverie.ui.tab_page import TabPage
from reverie.ui.theme import GAP, MARGIN

SIDE_BY_SIDE = 720


class ActivityTab(TabPage):
    """`review(run id)`, `doctor()` and `debug(bool)` ask."""

    review = Signal(str)
    doctor = Signal()
    debug = Signal(bool)

    def __init__(self, icons: Icons, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._decisions: tuple[Decision, ...] = ()
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
        wishes = FlowLayout(gap=GAP)
        for control in (self.text, self.show_only, self.here, self.debug_log):
            wishes.addWidget(control)
        head = QWidget()
        column = QVBoxLayout(head)
        column.setContentsMargins(MARGIN, GAP, MARGIN, GAP)
        column.addLayout(wishes)
        self._pages = QStackedWidget()
        self._pages.addWidget(self.list)
        self._pages.addWidget(self.none)
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
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(0)
        outer.addWidget(self.running)
        outer.addWidget(self.services)
        outer.addWidget(self.message)
        outer.addWidget(head)
        outer.addWidget(self.splitter, 1)

    # What is known

    def show_decisions(self, found: Sequence[Decision]) -> None:
        """Decisions of one home, newest first."""
        self._decisions = tuple(found)
        self._narrow()

    def show_place(self, workspace_id: str | None) -> None:
        """Which workspace is “this one”."""
        self._workspace_id = workspace_id
        self.here.setEnabled(workspace_id is not None)
        self._narrow()

    def say_log(self, *, debug: bool, file: str) -> None:
        """Whether the log tells everything, and where it lies."""
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
        self._decision: Decision | None = None
        self.text = WrapLabel(self.tr("Select a decision to see all of it."))
        self.facts_shown: tuple[tuple[str, str], ...] = ()
        self.changes = FitPushButton(self.tr("Show the run"))
        self.why = FitPushButton(self.tr("Ask the Doctor"))
        self.copy = FitPushButton(self.tr("Copy"))
        self._grid = QVBoxLayout()
        self._grid.setSpacing(GAP)
        row = FlowLayout(gap=GAP)
        for button in (self.changes, self.why, self.copy):
            row.addWidget(button)
            button.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(MARGIN, GAP, MARGIN, MARGIN)
        column.setSpacing(MARGIN)
        column.addWidget(self.text)
        column.addLayout(row)
        column.addLayout(self._grid)
        column.addStretch(1)
        self.changes.clicked.connect(self._on_changes)
        self.why.clicked.connect(self.doctor)
        self.copy.clicked.connect(self._on_copy)

    @Slot(object)
    def show_decision(self, decision: Decision | None) -> None:
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
