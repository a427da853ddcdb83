"""What the agent's own books say of its background jobs: running, failed and why, stale, when it tries again;
from a job to the transcript it is about. Looking only; stays open beside the window.

Threading: GUI thread; the books are read in a job. Failure: told above the table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from reverie.errors import UserError
from reverie.ui import display_text as common
from reverie.ui.appearance import (
    GAP,
    MARGIN,
    SIGN_CONTRAST,
    CalmSelection,
    Icons,
    readable,
    tabular,
    theme_of,
)
from reverie.ui.display_text import as_tooltip, visible
from reverie.ui.jobs import JobControl, Lane
from reverie.ui.transcripts import text as words
from reverie.ui.widgets.controls import FitPushButton, WrapLabel
from reverie.ui.widgets.layouts import size_sections
from reverie.ui.widgets.message_bar import MessageBar

if TYPE_CHECKING:
    from reverie.agents.capabilities import AgentJob
    from reverie.ui.session import HomeSession

_SIGNS = {"done": "check", "running": "refresh", "failed": "error", "stale": "warning", "waiting": "runs"}
_WIDTHS = (110, 110, 240, 110, 160)
_JOB = Qt.ItemDataRole.UserRole


class JobsDialog(QDialog):
    """`transcript_wanted(str)`: the id of a transcript to show."""

    transcript_wanted = Signal(str)

    def __init__(
        self, icons: Icons, now: Callable[[], int], lane: Lane, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._icons = icons
        self._now = now
        self._lane = lane
        self._session: HomeSession | None = None
        self.is_read = False
        self.setWindowTitle(self.tr("Jobs of the agent"))
        self.resize(900, 460)
        self.summary = WrapLabel()
        self.message = MessageBar(icons, "jobs-message", closable=False)
        self.table = QTreeWidget()
        self.reason = WrapLabel()
        self.open_button = FitPushButton()
        self.open_button.say(self.tr("&Open transcript"), self.tr("What the job is about"))
        self._lay_out()

    def _lay_out(self) -> None:
        table = self.table
        table.setHeaderLabels(
            [self.tr("State"), self.tr("Job"), self.tr("About"), self.tr("When"), self.tr("Tries again"),
             self.tr("Reason")]
        )  # fmt: skip
        table.setRootIsDecorated(False)
        table.setUniformRowHeights(True)
        table.setAllColumnsShowFocus(True)
        table.setAccessibleName(self.tr("Jobs"))
        table.setFont(tabular(table.font()))
        table.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        size_sections(table.header(), _WIDTHS)
        CalmSelection(table)
        table.currentItemChanged.connect(self._on_current)
        table.itemActivated.connect(self._on_open)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self.open_button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        for button in (self.open_button, buttons.button(QDialogButtonBox.StandardButton.Close)):
            button.setAutoDefault(False)
        self.open_button.clicked.connect(self._on_open)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(MARGIN, MARGIN, MARGIN, MARGIN)
        outer.setSpacing(GAP)
        for widget in (self.summary, self.message):
            outer.addWidget(widget)
        outer.addWidget(table, 1)
        outer.addWidget(self.reason)
        outer.addWidget(buttons)

    def show_jobs(self, session: HomeSession) -> None:
        """Read the books of a home and show them; they are read again when they change."""
        self._listen(session)
        self._read()
        if self.isVisible():
            self.raise_()
            self.activateWindow()
        else:
            self.show()

    def _listen(self, session: HomeSession | None) -> None:
        if self._session is not None:
            self._session.status_changed.disconnect(self._read)
        self._session = session
        if session is not None:
            session.status_changed.connect(self._read)

    def done(self, result: int) -> None:
        """Closed: nothing is read any more."""
        self._listen(None)
        super().done(result)

    @Slot()
    def _read(self) -> None:
        session = self._session
        if session is None:
            return
        self.is_read = False
        desk = session.workbench

        def work(_control: JobControl) -> tuple[AgentJob, ...]:
            return desk.transcripts.jobs()

        self._lane.submit("read the agent's jobs", work, done=self._on_read, failed=self._on_failed,
                          group="agent jobs")  # fmt: skip

    def _on_failed(self, error: UserError) -> None:
        self.is_read = True
        self.message.say_error(error)

    def _on_read(self, jobs: tuple[AgentJob, ...]) -> None:
        self.is_read = True
        self.message.clear()
        counts = {state: sum(job.state == state for job in jobs) for state in _SIGNS}
        told = [f"{count} {words.job_state(state)}" for state, count in counts.items() if count]
        self.summary.say(", ".join(told) or self.tr("The agent has no jobs in its books."))
        current = self._current()
        self.table.clear()
        for job in jobs:
            item = self._item(job)
            self.table.addTopLevelItem(item)
            if current is not None and job.id == current.id:
                self.table.setCurrentItem(item)
        first = self.table.topLevelItem(0)
        if self.table.currentItem() is None and first is not None:
            self.table.setCurrentItem(first)
        self._on_current()

    def _item(self, job: AgentJob) -> QTreeWidgetItem:
        now = self._now()
        at = common.age(now, job.at) if job.at is not None else "–"
        retry = "–"
        if job.retry_at is not None and job.state == "failed":
            # The agent tries when it starts, not at that minute.
            retry = common.when(job.retry_at) if job.retry_at > now else self.tr("at its next start")
        state = words.job_state(job.state)
        texts = (state, words.job_kind(job.kind), visible(job.about), at, retry, visible(job.sentence))
        item = QTreeWidgetItem(list(texts))
        theme = theme_of(self.table.palette())
        color = {"failed": theme.bad, "stale": theme.warn, "running": theme.accent, "done": theme.good}.get(
            job.state, theme.dim
        )
        sign = readable(color, theme.base, SIGN_CONTRAST)
        item.setIcon(0, self._icons.sign(_SIGNS.get(job.state, "info"), sign, self.table.palette()))
        item.setToolTip(3, as_tooltip(common.when(job.at)) if job.at is not None else "")
        item.setToolTip(5, as_tooltip(job.sentence))
        item.setData(0, _JOB, job)
        return item

    def _current(self) -> AgentJob | None:
        item = self.table.currentItem()
        return item.data(0, _JOB) if item is not None else None

    @Slot()
    def _on_current(self) -> None:
        job = self._current()
        self.reason.say(job.sentence if job is not None else "")
        self.open_button.setEnabled(job is not None and bool(job.source_id))

    @Slot()
    def _on_open(self) -> None:
        job = self._current()
        if job is not None and job.source_id:
            self.transcript_wanted.emit(job.source_id)
