"""The Transcripts tab: the list of the home's transcripts and the selected one; and the dialog of the jobs.

Transcripts are listed when the tab is first shown, and periodically while it is visible, since most agents'
transcripts are outside the watched directories. Missing titles are read in small jobs, so that opening a
transcript never waits for them.

Threading: GUI thread; a lane of its own. Failure: in the status bar, or above the table of jobs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QDialog,
    QDialogButtonBox,
    QHeaderView,
    QTreeView,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from reverie.clock import Clock
from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import GAP, SIGN_CONTRAST, readable, tabular, theme_of
from reverie.ui.display_text import age, as_tooltip, human_size, translated, visible, when
from reverie.ui.display_text import translatable as _
from reverie.ui.icons import Icons
from reverie.ui.jobs import Lane, repeating, single_shot
from reverie.ui.metrics import scaled
from reverie.ui.session import reconnect
from reverie.ui.transcripts.reader import TranscriptView
from reverie.ui.transcripts.text import job_kind, job_state, state_of
from reverie.ui.widgets.controls import FitCombo, FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.layouts import column, size_sections, split, stacked
from reverie.ui.widgets.lists import follow_pointer
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.pages import EmptyPage, TabPage
from reverie.values import replace

if TYPE_CHECKING:
    from reverie.agents.base import TranscriptSource
    from reverie.agents.capabilities import AgentJob
    from reverie.ui.session import HomeSession


Index = QModelIndex | QPersistentModelIndex
_WIDTHS = (200, 150, 110, 76, 130)
"""The widths of the columns in pixels; the first column can be wider, as it takes the remaining width."""
_GOES = (4, 3, 1, 2)
"""The columns to hide in a narrow table, the first one first."""
_NEWEST = 2
_LEAST_SEARCH = 14
"""The least width of the search field in characters; if there is less room, the filter box is below it."""
_CHARS = 18
_SIZE = 3
_TOLD_BY_LIST = (2, 3)


class SourceModel(QAbstractTableModel):
    """Table of transcripts, one per row, sorted and filtered.

    The texts of a row are made when it is drawn, so that thousands of rows cost little. A sub-agent's
    transcript is listed after the transcript that it belongs to. Facts that are read from the files are added
    later by `add_facts`.
    """

    def __init__(self, now: Callable[[], int], parent: QWidget) -> None:
        super().__init__(parent)
        self._now = now
        self.sources: tuple[TranscriptSource, ...] = ()
        self._listed: tuple[TranscriptSource, ...] = ()
        self._text = ""
        self._project: str | None = None
        self._column, self._down = 2, True
        self._known_facts: dict[str, TranscriptSource] = {}

    def show_sources(self, sources: Sequence[TranscriptSource]) -> None:
        """Show other transcripts; rows that do not change are only redrawn."""
        self._listed = tuple(self._with_facts(each) for each in sources)
        self._arrange()

    def add_facts(self, known: Mapping[str, TranscriptSource]) -> None:
        """Add facts read from the beginnings of some transcripts; `known`: transcript id -> facts."""
        self._known_facts.update(known)
        self._listed = tuple(self._with_facts(each) if each.id in known else each for each in self._listed)
        if self._text or self._project is not None or self._column not in _TOLD_BY_LIST:
            self._arrange()
            return
        rows = [row for row, source in enumerate(self.sources) if source.id in known]
        after = list(self.sources)
        for row in rows:
            after[row] = self._with_facts(after[row])
        self.sources = tuple(after)
        self._touch(rows)

    def narrow(self, text: str, project: str | None) -> None:
        """Show only transcripts of `project` (None: of all) with `text` in title, project, id or state."""
        self._text, self._project = text.casefold().strip(), project
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort by a column; rows with equal values are sorted newest first."""
        self._column, self._down = column, order == Qt.SortOrder.DescendingOrder
        self._arrange()

    def _arrange(self) -> None:
        # Sorted here, because a proxy model would call Python twice for each comparison.
        """Filter and sort the transcripts; reset the model only if the rows have changed."""
        found = [each for each in self._listed if self._fits(each)]
        found.sort(key=lambda each: -(each.updated_at or 0))
        found.sort(key=_COLUMNS[self._column][2], reverse=self._down)
        found = _with_parts(found)
        if [each.id for each in found] == [each.id for each in self.sources]:
            self.sources = tuple(found)
            self._touch(range(len(found)))
            return
        self.beginResetModel()
        self.sources = tuple(found)
        self.endResetModel()

    def _fits(self, source: TranscriptSource) -> bool:
        if self._project is not None and source.project_path != self._project:
            return False
        project = f"{source.project_name}\n{source.project_path or ''}"
        searched = (source.title, project, source.id, state_of(source))
        return not self._text or self._text in "\n".join(searched).casefold()

    def _with_facts(self, source: TranscriptSource) -> TranscriptSource:
        known = self._known_facts.get(source.id)
        if known is None:
            return source
        return replace(
            source,
            title=source.title or known.title,
            project_path=source.project_path or known.project_path,
            state=source.state or known.state,
        )

    def _touch(self, rows: Sequence[int]) -> None:
        if rows:
            self.dataChanged.emit(self.index(rows[0], 0), self.index(rows[-1], len(_COLUMNS) - 1))

    def forget(self) -> None:
        """Remove all transcripts and facts. Called when another home is shown."""
        self._known_facts.clear()
        self.show_sources(())

    @property
    def projects(self) -> tuple[tuple[str, str], ...]:
        """Paths and names of the projects of all transcripts, filtered or not."""
        found = {each.project_path: _project_of(each) for each in self._listed if each.project_path}
        return tuple(sorted(found.items()))

    def without_facts(self) -> tuple[TranscriptSource, ...]:
        """Return the transcripts that lack facts and whose files have not been read yet."""
        return tuple(
            each
            for each in self._listed
            if each.id not in self._known_facts and not (each.title and each.project_path)
        )

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.sources)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(_COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return translated(_COLUMNS[section][0])
        if role == Qt.ItemDataRole.TextAlignmentRole and section == _SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        source, column = self.sources[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return _COLUMNS[column][1](source, self._now())
        if role == Qt.ItemDataRole.ToolTipRole:
            updated = when(source.updated_at) if source.updated_at is not None else ""
            return as_tooltip(source.title, source.project_path or "", updated, str(source.path))
        if role == Qt.ItemDataRole.TextAlignmentRole and column == _SIZE:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None


def _project_of(source: TranscriptSource) -> str:
    """Return the name of a transcript's project; empty if it has none."""
    path = source.project_path or ""
    return source.project_name or path.rstrip("/").rpartition("/")[2] or path


def _with_parts(sources: Sequence[TranscriptSource]) -> list[TranscriptSource]:
    """Return `sources` with each transcript moved directly behind the one to which it belongs, if listed."""
    there = {each.id for each in sources}
    parts: defaultdict[str, list[TranscriptSource]] = defaultdict(list)
    for each in sources:
        if each.under in there:
            parts[each.under].append(each)
    tops = (each for each in sources if each.under not in there)
    return [each for top in tops for each in (top, *parts[top.id])] if parts else list(sources)


_COLUMNS: tuple[
    tuple[str, Callable[[TranscriptSource, int], str], Callable[[TranscriptSource], Any]], ...
] = (
    (
        _("Title"),
        lambda source, _now: ("↳ " if source.under else "") + visible(source.title or source.id),
        lambda source: source.title.casefold(),
    ),
    (
        _("Project"),
        lambda source, _now: visible(_project_of(source) or "–"),
        lambda source: (source.project_name or source.project_path or "").casefold(),
    ),
    (
        _("Changed"),
        lambda source, now: age(now, source.updated_at) if source.updated_at is not None else "–",
        lambda source: source.updated_at or 0,
    ),
    (_("Size"), lambda source, _now: human_size(source.size), lambda source: source.size),
    (_("State"), lambda source, _now: state_of(source), state_of),
)
"""For each column its heading, the text of a cell, given the time in ms, and the value to sort by."""


class SourceList(QWidget):
    """The list of a home's transcripts, with a search field and a filter.

    Signals: `picked()`, emitted when the user selects a transcript; `opened()`, emitted on Enter or a double
    click.
    """

    picked = Signal()
    opened = Signal()

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = SearchField(self.tr("Find a transcript"))
        self.project = FitCombo(self.tr("Filter by project"), most_chars=_CHARS)
        self.project.addItem(self.tr("All projects"), None)
        self.view = QTreeView()
        self.view.setAccessibleName(self.tr("Transcripts"))
        self.model = SourceModel(now, self.view)
        self._projects: tuple[tuple[str, str], ...] = ()
        self._selected = ""
        self._restoring = False
        self._lay_out()
        self.text.textChanged.connect(self.narrow)
        self.project.currentIndexChanged.connect(self.narrow)
        self.view.activated.connect(self.opened)
        self.view.selectionModel().currentRowChanged.connect(self._on_current)
        self.model.modelAboutToBeReset.connect(self._before_reset)
        self.model.modelReset.connect(self._after_reset)

    def _lay_out(self) -> None:
        view = self.view
        view.setModel(self.model)
        view.setRootIsDecorated(False)
        view.setUniformRowHeights(True)
        view.setFrameShape(QTreeView.Shape.NoFrame)
        view.setSortingEnabled(True)
        view.sortByColumn(_NEWEST, Qt.SortOrder.DescendingOrder)
        view.setFont(tabular(view.font()))
        view.setTextElideMode(Qt.TextElideMode.ElideRight)
        header = view.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        follow_pointer(view)
        self._head = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._head.setContentsMargins(GAP, GAP, GAP, 0)
        self._head.setSpacing(GAP)
        self._head.addWidget(self.text, 1)
        self._head.addWidget(self.project)
        column(self, self._head, view, grows=view, margin=0)

    def _show_columns(self, room: int) -> None:
        """Show as many columns as fit into `room` pixels."""
        widths = [scaled(self.view.font(), width) for width in _WIDTHS]
        header, hidden = self.view.header(), set[int]()
        for section in _GOES:
            if sum(widths) - sum(widths[each] for each in hidden) <= room:
                break
            hidden.add(section)
        for section in _GOES:
            header.setSectionHidden(section, section in hidden)
            if section not in hidden:
                header.resizeSection(section, widths[section])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        least = self.text.fontMetrics().averageCharWidth() * _LEAST_SEARCH
        fits = event.size().width() >= least + self.project.sizeHint().width() + 3 * GAP
        ways = QBoxLayout.Direction
        self._head.setDirection(ways.LeftToRight if fits else ways.TopToBottom)
        self._show_columns(event.size().width())

    @property
    def selected(self) -> TranscriptSource | None:
        """The selected transcript, None if there is none."""
        index = self.view.currentIndex()
        return self.model.sources[index.row()] if index.isValid() else None

    @property
    def shown(self) -> tuple[TranscriptSource, ...]:
        """The transcripts that pass the filter, in the displayed order."""
        return self.model.sources

    def show_sources(self, sources: Sequence[TranscriptSource]) -> None:
        """Show other transcripts; the selected one stays selected if it is still listed."""
        self.model.show_sources(sources)
        self._list_projects()

    @Slot()
    def _before_reset(self) -> None:
        self._restoring = True
        selected = self.selected
        self._selected = selected.id if selected is not None else self._selected

    @Slot()
    def _after_reset(self) -> None:
        if self._selected:
            self.select_id(self._selected)
        self._restoring = False

    def add_facts(self, known: Mapping[str, TranscriptSource]) -> None:
        """Show facts read from the beginnings of some transcripts; `known`: transcript id -> facts."""
        self.model.add_facts(known)
        self._list_projects()

    def _list_projects(self) -> None:
        known = self.model.projects
        if known == self._projects:
            return
        self._projects = known
        chosen = self.project.currentData()
        self.project.blockSignals(True)
        while self.project.count() > 1:
            self.project.removeItem(1)
        for path, name in known:
            self.project.addItem(visible(name), path)
            self.project.setItemData(self.project.count() - 1, as_tooltip(path), Qt.ItemDataRole.ToolTipRole)
        self.project.setCurrentIndex(max(0, self.project.findData(chosen)) if chosen else 0)
        self.project.blockSignals(False)
        self.narrow()

    def select_id(self, source_id: str) -> bool:
        """Select the row of the transcript with this id; return True if it is shown."""
        for row, source in enumerate(self.shown):
            if source.id == source_id:
                flags = QItemSelectionModel.SelectionFlag
                index = self.model.index(row, 0)
                self.view.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
                self.view.scrollTo(index)
                return True
        return False

    def forget(self) -> None:
        """Remove all transcripts and the selection. Called when another home is shown."""
        self._selected = ""
        self.view.setCurrentIndex(QModelIndex())
        self.model.forget()

    def show_all(self) -> None:
        """Clear search field and filter."""
        self.text.clear()
        self.project.setCurrentIndex(0)

    @Slot()
    def narrow(self) -> None:
        """Apply search field and filter."""
        self.project.setToolTip(as_tooltip(self.project.currentData() or ""))
        self.model.narrow(self.text.text(), self.project.currentData())

    @Slot()
    def _on_current(self) -> None:
        selected = self.selected
        if not self._restoring and selected is not None:
            self._selected = selected.id
            self.picked.emit()


LIST_MS = 10_000
PICK_MS = 120
_TITLES_AT_ONCE = 20


class TranscriptsTab(TabPage):
    """The tab that lists the transcripts of a home's conversations and shows one.

    Signal: `status_message(str)`.
    """

    status_message = Signal(str)

    def __init__(self, icons: Icons, now: Clock, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session: HomeSession | None = None
        self._lane = Lane("transcripts", self)
        self._listed = False
        self._stopped = False
        self._titling = False
        self._wanted = ""
        self._open = ""
        self._open_path: Path | None = None
        self.list = SourceList(now)
        self.view = TranscriptView(self._lane, icons)
        self.empty = EmptyPage(icons, "source")
        self.empty.say(
            self.tr("No transcripts yet"),
            self.tr("Your conversations with the agent appear here once there is a session."),
        )
        self._lay_out()
        self._again = repeating(self, LIST_MS, self.read_again)
        self._pick = single_shot(self, PICK_MS, self._open_selected)
        self.list.picked.connect(self._pick.start)
        self.list.opened.connect(self._on_opened)

    def _lay_out(self) -> None:
        self.splitter = split(self.list, self.view, sizes=(220, 520), upright=True)
        # The blank page is shown until the transcripts are listed.
        self.pages = stacked(QWidget(), self.empty, self.splitter)
        column(self, self.pages, margin=0, gap=None)

    def set_session(self, session: HomeSession | None) -> None:
        """Show the transcripts of another home; None shows none."""
        if session is self._session:
            return
        reconnect(self._session, session, lambda home: (home.outside_changed,), self.read_again)
        self._session = session
        self._listed = self._titling = False
        self._wanted = self._open = ""
        for group in ("list transcripts", "titles"):
            self._lane.abandon(group)
        self.view.clear()
        self.list.forget()
        self.list.show_all()
        self.pages.setCurrentIndex(0)
        self.read_again()

    def stop(self) -> None:
        """Stop all reading; repeated calls have no effect."""
        self._stopped = True
        self.view.clear()
        self._again.stop()
        self._pick.stop()
        self._lane.stop()

    @property
    def is_settled(self) -> bool:
        """True if listing, reading of titles and the reading of the selected transcript are finished."""
        quiet = not self._pick.isActive() and not self._titling
        return self._listed and quiet and not self._lane.busy

    def show_source(self, source_id: str) -> None:
        """Open the transcript with this id as soon as it is listed."""
        self._wanted = source_id
        if self._listed:
            self._find_wanted()
        else:
            self.read_again()

    @Slot()
    def read_again(self) -> None:
        """List the transcripts again if the tab is visible."""
        session = self._session
        if session is None or self._stopped or not (self.isVisible() or self._wanted):
            return
        workbench = session.workbench

        self._lane.submit(
            "list transcripts",
            ask(workbench.transcripts.sources),
            done=self._on_listed,
            failed=self._on_failed,
            group="list transcripts",
        )

    def _on_listed(self, sources: tuple[TranscriptSource, ...]) -> None:
        first, self._listed = not self._listed, True
        self.list.show_sources(sources)
        self.pages.setCurrentWidget(self.splitter if sources else self.empty)
        if self._wanted:
            self._find_wanted()
        elif first and self.list.shown:
            self.list.select_id(self.list.shown[0].id)
        selected = self.list.selected
        if selected is not None and selected.id == self._open and selected.path != self._open_path:
            self._open = ""  # it continues in another file after a revert or archiving
            self._open_selected()
        self._read_titles()

    def _on_failed(self, error: UserError) -> None:
        self.status_message.emit(str(error))

    def _find_wanted(self) -> None:
        wanted, self._wanted = self._wanted, ""
        if not self.list.select_id(wanted):
            self.list.show_all()
            if not self.list.select_id(wanted):
                self.status_message.emit(self.tr("Transcript {id} no longer exists.").format(id=wanted))

    def _read_titles(self) -> None:
        """Read missing titles in jobs of up to 20 transcripts, one after the other."""
        session, without_facts = self._session, self.list.model.without_facts()[:_TITLES_AT_ONCE]
        if session is None or not without_facts or self._titling or not self.isVisible():
            return
        self._titling = True
        self._lane.submit(
            "read titles",
            ask(session.workbench.transcripts.described, without_facts),
            done=partial(self._on_titles, session),
            failed=self._on_no_titles,
            group="titles",
        )

    def _on_no_titles(self, error: UserError) -> None:
        # The next listing retries.
        self._titling = False
        self._on_failed(error)

    def _on_titles(self, session: HomeSession, found: Sequence[TranscriptSource]) -> None:
        self._titling = False
        if session is self._session:
            self.list.add_facts({source.id: source for source in found})
            self._read_titles()

    @Slot()
    def _open_selected(self) -> None:
        session, source = self._session, self.list.selected
        if session is None or source is None:
            self._open = ""
            self.view.clear()
            return
        if source.id == self._open:
            return
        self._open, self._open_path = source.id, source.path
        self.view.open(session.workbench.transcripts, source)

    @Slot()
    def _on_opened(self) -> None:
        """Open the selected transcript at once and focus its text."""
        self._pick.stop()
        self._open_selected()
        self.view.text.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._again.start()
        self.read_again()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._again.stop()


_SIGNS = {"done": "check", "running": "refresh", "failed": "error", "stale": "warning", "waiting": "runs"}
_JOB_WIDTHS = (110, 110, 240, 110, 160)
_JOB = Qt.ItemDataRole.UserRole


class JobsDialog(QDialog):
    """Non-modal, read-only dialog with the agent's own background jobs, their states and transcripts.

    It shows why a job failed and when the agent tries again. Signal: `transcript_wanted(str)`, request to
    show the transcript with this id.
    """

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
        self.setWindowTitle(self.tr("The agent's background jobs"))
        self.resize(900, 460)
        self.summary = WrapLabel()
        self.message = MessageBar(icons, "jobs-message", closable=False)
        self.table = QTreeWidget()
        self.reason = WrapLabel()
        self.open_button = FitPushButton(
            self.tr("&Open transcript"), self.tr("Open the transcript that the job processes")
        )
        self._lay_out()

    def _lay_out(self) -> None:
        table = self.table
        table.setHeaderLabels(
            [self.tr("State"), self.tr("Job"), self.tr("Subject"), self.tr("When"), self.tr("Next attempt"),
             self.tr("Reason")]
        )  # fmt: skip
        table.setRootIsDecorated(False)
        table.setUniformRowHeights(True)
        table.setAccessibleName(self.tr("Jobs"))
        table.setFont(tabular(table.font()))
        table.header().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        size_sections(table.header(), _JOB_WIDTHS)
        table.currentItemChanged.connect(self._on_current)
        table.itemActivated.connect(self._on_open)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.addButton(self.open_button, QDialogButtonBox.ButtonRole.ActionRole)
        buttons.rejected.connect(self.reject)
        for button in (self.open_button, buttons.button(QDialogButtonBox.StandardButton.Close)):
            button.setAutoDefault(False)
        self.open_button.clicked.connect(self._on_open)
        column(self, self.summary, self.message, table, self.reason, buttons, grows=table)

    def show_jobs(self, session: HomeSession) -> None:
        """Read and show the jobs of a home, and read them again on changes."""
        self._listen(session)
        self._read()
        if self.isVisible():
            self.raise_()
            self.activateWindow()
        else:
            self.show()

    def _listen(self, session: HomeSession | None) -> None:
        reconnect(self._session, session, lambda home: (home.status_changed,), self._read)
        self._session = session

    def done(self, result: int) -> None:
        """Close the dialog and stop reading."""
        self._listen(None)
        super().done(result)

    @Slot()
    def _read(self) -> None:
        session = self._session
        if session is None:
            return
        self.is_read = False
        workbench = session.workbench

        self._lane.submit(
            "read the agent's jobs",
            ask(workbench.transcripts.jobs),
            done=self._on_read,
            failed=self._on_failed,
            group="agent jobs",
        )

    def _on_failed(self, error: UserError) -> None:
        self.is_read = True
        self.message.say_error(error)

    def _on_read(self, jobs: tuple[AgentJob, ...]) -> None:
        self.is_read = True
        self.message.clear()
        counts = {state: sum(job.state == state for job in jobs) for state in _SIGNS}
        texts = [f"{count} {job_state(state)}" for state, count in counts.items() if count]
        self.summary.say(", ".join(texts) or self.tr("The agent has no background jobs."))
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
        at = age(now, job.at) if job.at is not None else "–"
        retry = "–"
        if job.retry_at is not None and job.state == "failed":
            # The agent retries at its next start after this time, not at this time.
            retry = when(job.retry_at) if job.retry_at > now else self.tr("when the agent next starts")
        state = job_state(job.state)
        texts = (state, job_kind(job.kind), visible(job.about), at, retry, visible(job.sentence))
        item = QTreeWidgetItem(list(texts))
        theme = theme_of(self.table.palette())
        color = {"failed": theme.bad, "stale": theme.warn, "running": theme.accent, "done": theme.good}.get(
            job.state, theme.dim
        )
        sign = readable(color, theme.base, SIGN_CONTRAST)
        item.setIcon(0, self._icons.icon(_SIGNS.get(job.state, "info"), sign))
        item.setToolTip(3, as_tooltip(when(job.at)) if job.at is not None else "")
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
