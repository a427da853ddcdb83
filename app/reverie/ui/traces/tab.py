"""The Traces tab: above, the traces of the selected place or of all homes; below, one of them.

Carries out what the detail asks for: the transcript at the trigger, comparing, replaying, copying,
exporting.

Threading: GUI thread; everything from disk comes in jobs on the feed's own lane. Failure: in the status
bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QGuiApplication, QIcon, QPalette, QShowEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.ui.appearance import SIZE, Icons, Theme, theme_of
from reverie.ui.display_text import amount, as_tooltip, visible, when
from reverie.ui.jobs import JobControl
from reverie.ui.run_kinds import RUN_KINDS
from reverie.ui.traces.detail import Shown, TraceDetailView
from reverie.ui.traces.feed import Followed, ListedTrace, TraceFeed
from reverie.ui.traces.replay import ReplayDialog, TraceCompare
from reverie.ui.traces.timeline import VERDICTS, duration_label, kind_label, verdict_label, verdict_tone
from reverie.ui.transcripts.reader import ReadingStart, TranscriptView
from reverie.ui.translation import translatable as _
from reverie.ui.translation import translated
from reverie.ui.widgets.controls import WrapLabel
from reverie.ui.widgets.frames import EmptyPage, TabPage
from reverie.ui.widgets.layouts import column, scrolled, split, stacked
from reverie.ui.widgets.lists import SearchedTable

if TYPE_CHECKING:
    from reverie.services.traces import TranscriptService
    from reverie.ui.session import HomeSession


# The list: sortable and filterable, by keyboard too. Shows what it is given.


Index = QModelIndex | QPersistentModelIndex
SORT = Qt.ItemDataRole.UserRole + 1
_SIGNS = {"info": "check", "warn": "warning", "bad": "error"}
_CHARS = 13


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of the list."""

    title: str
    """Not translated yet."""
    width: int
    """In pixels, as long as nobody drags it."""
    text: Callable[[ListedTrace], str]
    key: Callable[[ListedTrace], Any]
    """What it is sorted by."""
    is_number: bool = False


_COLUMNS = (
    _Column(_("Time"), 152, lambda line: when(line.row.started_at), lambda line: line.row.started_at),
    _Column(
        _("Workspace"),
        116,
        lambda line: visible(line.place.workspace or "–"),
        lambda line: line.place.workspace,
    ),
    _Column(_("Run"), 116, lambda line: kind_label(line.row.kind), lambda line: line.row.kind),
    _Column(
        _("Verdict"),
        162,
        lambda line: verdict_label(line.row.verdict),
        lambda line: verdict_label(line.row.verdict),
    ),
    _Column(
        _("Attempts"),
        70,
        lambda line: str(line.row.attempts) if line.row.attempts else "–",
        lambda line: line.row.attempts,
        is_number=True,
    ),
    _Column(
        _("Duration"),
        76,
        lambda line: duration_label(line.row.duration_ms) or "–",
        lambda line: -1 if line.row.duration_ms is None else line.row.duration_ms,
        is_number=True,
    ),
    _Column(_("Model"), 206, lambda line: visible(line.row.model) or "–", lambda line: line.row.model),
    _Column(
        _("Tokens"),
        68,
        lambda line: amount(line.row.tokens) if line.row.tokens else "–",
        lambda line: line.row.tokens,
        is_number=True,
    ),
)
_VERDICT = 3
"""The column with the sign."""


class TraceModel(QAbstractTableModel):
    """One line a trace."""

    def __init__(self, icons: Icons, parent: QWidget) -> None:
        super().__init__(parent)
        self._icons = icons
        self._view = parent
        self.lines: tuple[ListedTrace, ...] = ()

    def show_lines(self, lines: Sequence[ListedTrace]) -> None:
        """Other lines, newest first; what stays the same keeps its place, selection and all."""
        wanted = {line.key: line for line in lines}
        for row in range(len(self.lines) - 1, -1, -1):
            if self.lines[row].key not in wanted:
                self.beginRemoveRows(QModelIndex(), row, row)
                self.lines = self.lines[:row] + self.lines[row + 1 :]
                self.endRemoveRows()
        kept = {line.key for line in self.lines}
        order = [line.key for line in lines if line.key in kept]
        if order != [line.key for line in self.lines]:
            self.beginResetModel()
            self.lines = tuple(lines)
            self.endResetModel()
            return
        self._renew(tuple(wanted[key] for key in order))
        for first, group in _groups(lines, kept):
            self.beginInsertRows(QModelIndex(), first, first + len(group) - 1)
            self.lines = (*self.lines[:first], *group, *self.lines[first:])
            self.endInsertRows()

    def _renew(self, lines: tuple[ListedTrace, ...]) -> None:
        """The same lines, some of which may say something else."""
        other = [
            row
            for row, line in enumerate(lines)
            if (line.row, line.place) != (self.lines[row].row, self.lines[row].place)
        ]
        self.lines = lines
        if other:
            self.dataChanged.emit(self.index(other[0], 0), self.index(other[-1], self.columnCount() - 1))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.lines)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(_COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = 0) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return translated(_COLUMNS[section].title)
        if role == Qt.ItemDataRole.TextAlignmentRole and _COLUMNS[section].is_number:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        line, column = self.lines[index.row()], _COLUMNS[index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return column.text(line)
        if role == SORT:
            return column.key(line)
        if role == Qt.ItemDataRole.ToolTipRole:
            return as_tooltip(line.row.sentence, line.row.evidence, str(line.row.path))
        if role == Qt.ItemDataRole.TextAlignmentRole and column.is_number:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        if role == Qt.ItemDataRole.DecorationRole and index.column() == _VERDICT:
            tone = verdict_tone(line.row.verdict)
            theme: Theme = theme_of(self._view.palette())
            color = {"info": theme.good, "warn": theme.warn, "bad": theme.bad}[tone]
            icon = self._icons.icon(_SIGNS[tone], color)
            chosen = self._view.palette().color(QPalette.ColorRole.HighlightedText)
            ratio = self._view.devicePixelRatioF()
            icon.addPixmap(
                self._icons.pixmap(_SIGNS[tone], SIZE, chosen, ratio), QIcon.Mode.Selected, QIcon.State.Off
            )
            return icon
        return None


def _groups(lines: Sequence[ListedTrace], kept: set[str]) -> Iterator[tuple[int, list[ListedTrace]]]:
    """Runs of new lines, each with the row it begins at."""
    group: list[ListedTrace] = []
    for row, line in enumerate(lines):
        if line.key not in kept:
            group.append(line)
        elif group:
            yield row - len(group), group
            group = []
    if group:
        yield len(lines) - len(group), group


class _Narrowed(QSortFilterProxyModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.text = ""
        self.verdict = ""
        self.kind = ""
        self.followed: Followed | None = None
        self.setSortRole(SORT)
        self.setDynamicSortFilter(True)

    def narrow(self, text: str, verdict: str, kind: str, followed: Followed | None) -> None:
        """`followed` None: of all homes."""
        self.text, self.verdict, self.kind = text.casefold().strip(), verdict, kind
        self.followed = followed
        self.invalidate()

    def filterAcceptsRow(self, row: int, parent: Index) -> bool:
        model = self.sourceModel()
        if not isinstance(model, TraceModel):
            return False
        line = model.lines[row]
        found = line.row
        if self.followed is not None and not self.followed.holds(line.session.info.id, line.place.project):
            return False
        if self.verdict == "failed":
            if found.verdict in ("wrote", "nothing-to-write"):
                return False
        elif self.verdict and found.verdict != self.verdict:
            return False
        if self.kind and found.kind != self.kind:
            return False
        searched = (
            found.id, found.workspace_name, found.workspace_id, found.model, found.sentence, found.evidence,
            found.home, line.place.workspace,
        )  # fmt: skip
        return not self.text or self.text in "\n".join(searched).casefold()

    def lessThan(self, left: Index, right: Index) -> bool:
        one, other = left.data(SORT), right.data(SORT)
        return bool(one < other)


class TraceList(SearchedTable):
    """The traces of the selected place, or of all homes on request."""

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Search traces"), self.tr("Traces"), parent)
        self._followed: Followed | None = None
        self.place = self.add_box(self.tr("Whose traces"), _CHARS)
        self.place.addItem(self.tr("Selected home"), "selected")
        self.place.addItem(self.tr("All homes"), "all")
        self.verdict = self.add_box(self.tr("Which verdicts"), _CHARS)
        self.verdict.addItem(self.tr("All verdicts"), "")
        self.verdict.addItem(self.tr("Wrote nothing"), "failed")
        for name in VERDICTS:
            self.verdict.addItem(verdict_label(name), name)
        self.kind = self.add_box(self.tr("Which runs"), _CHARS)
        self.kind.addItem(self.tr("All runs"), "")
        for name in (*(labels.kind for labels in RUN_KINDS if labels.kind != "revert"), "consolidate"):
            self.kind.addItem(kind_label(name), name)
        self.model = TraceModel(icons, self.view)
        self.narrowed = _Narrowed(self)
        self.narrowed.setSourceModel(self.model)
        self.set_up(
            self.narrowed,
            (self.place, self.verdict, self.kind),
            widths=tuple(column.width for column in _COLUMNS),
            newest_by=0,
            many=True,
        )
        self.view.selectionModel().selectionChanged.connect(self._on_selection)

    @property
    def selected(self) -> tuple[ListedTrace, ...]:
        """The selected lines, the current one first."""
        rows = self.view.selectionModel().selectedRows()
        current = self.view.currentIndex().row()
        ordered = sorted(rows, key=lambda index: index.row() != current)
        return tuple(self.model.lines[self.narrowed.mapToSource(index).row()] for index in ordered)

    @property
    def has_none_here(self) -> bool:
        """There are traces, but none of the selected place."""
        narrowed = self.narrowed
        if narrowed.followed is None or narrowed.text or narrowed.verdict or narrowed.kind:
            return False
        return bool(self.model.lines) and not narrowed.rowCount()

    @property
    def shown(self) -> tuple[ListedTrace, ...]:
        """What the filter lets through, in the order shown."""
        return tuple(
            self.model.lines[self.narrowed.mapToSource(self.narrowed.index(row, 0)).row()]
            for row in range(self.narrowed.rowCount())
        )

    def show_lines(self, lines: Sequence[ListedTrace]) -> None:
        """Rows change by what differs; the selection stays, at first the newest is selected."""
        first = not self.model.lines
        self.model.show_lines(lines)
        if first and self.narrowed.rowCount() and not self.view.currentIndex().isValid():
            self.select(0)

    def select(self, row: int, *, also: bool = False) -> None:
        """Select a shown line, instead of or beside what is selected."""
        flags = QItemSelectionModel.SelectionFlag
        how = (flags.Select if also else flags.ClearAndSelect) | flags.Rows
        self.view.selectionModel().setCurrentIndex(self.narrowed.index(row, 0), how)

    def select_id(self, trace_id: str) -> bool:
        """Whether the trace is among those shown, and selected now."""
        for row, line in enumerate(self.shown):
            if line.row.id == trace_id:
                self.select(row)
                return True
        return False

    @Slot()
    def narrow(self) -> None:
        followed = self._followed if self.place.currentData() == "selected" else None
        self.narrowed.narrow(self.text.text(), self.verdict.currentData(), self.kind.currentData(), followed)
        if self.selected:
            return
        if self.narrowed.rowCount():
            self.select(0)
        else:
            self.picked.emit()  # what is said of an empty list is another

    def follow_place(self, followed: Followed | None) -> None:
        """Another place is selected at the left; None: no home is open."""
        if followed == self._followed:
            return
        self._followed = followed
        name = visible(followed.name) if followed is not None else self.tr("Selected home")
        tip = as_tooltip(name, visible(followed.home_name)) if followed is not None else ""
        self.place.setItemText(0, name)
        self.place.setItemData(0, tip, Qt.ItemDataRole.ToolTipRole)
        self.narrow()

    @Slot()
    def _on_selection(self) -> None:
        self.picked.emit()


# The messages around the one that triggered a run, from the agent's own transcript. Reads only.


class TranscriptDialog(QDialog):
    """Stays open beside the window."""

    def __init__(self, feed: TraceFeed, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(self.tr("Transcript"))
        self.resize(900, 640)
        self.title = WrapLabel()
        self.view = TranscriptView(feed.lane, icons)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.buttons.rejected.connect(self.reject)
        self.buttons.button(QDialogButtonBox.StandardButton.Close).setAutoDefault(False)
        self.view.opened.connect(self._on_opened)
        column(self, self.title, self.view, self.buttons, grows=self.view)

    @property
    def is_read(self) -> bool:
        return self.view.is_read

    def open_at(self, service: TranscriptService, workspace_id: str, message_id: str) -> None:
        """Read the transcript of a workspace and show it at a message."""
        self.title.say(self.tr("Reading the transcript…"))
        self.show()

        self.view.open(service, ask(service.of_workspace, workspace_id), ReadingStart(message_id))

    @Slot(int)
    def _on_opened(self, place: int) -> None:
        if place >= 0:
            self.title.say(self.tr("The run was triggered by this message."))
            self.view.text.setFocus()
        elif self.view.text.messages:
            self.title.say(self.tr("The message that triggered the run is not in the transcript any more."))
        else:
            self.title.say(self.tr("There is no transcript of this workspace."))


_LEAST_ROWS = 96


class TracesTab(TabPage):
    """The tab. Signal: `status_message(str)`."""

    status_message = Signal(str)

    def __init__(self, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icons = icons
        self._wanted: ListedTrace | None = None
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
        self.list.view.setMinimumHeight(_LEAST_ROWS)
        self.splitter = split(self.list, self.detail, sizes=(220, 520), upright=True)
        self.area = scrolled(self.splitter)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what is inside can be reached
        self.pages = stacked(self.empty, self.area)
        column(self, self.pages, margin=0, gap=None)

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
    def _on_failed(self, error: UserError) -> None:
        self.status_message.emit(str(error))

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
        traces, row, workspace = wanted.session.workbench.traces, wanted.row, wanted.place.workspace
        is_here = wanted.session.is_here

        async def work(_control: JobControl) -> Shown:
            return Shown(traces, await ask(traces.open, str(row.path)), workspace, is_here)

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
        self.status_message.emit(self.tr("The summary is in the clipboard."))

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
        """Copy the shown document, byte for byte, to a chosen file."""
        shown = self.detail.shown
        if shown is None:
            return
        traces, trace_id = shown.traces, str(shown.detail.row.path)

        async def work(_control: JobControl) -> Path:
            await ask(traces.export, trace_id, target)
            return target

        self.feed.submit("export a trace", work, done=self._on_exported)

    def _on_exported(self, target: Path) -> None:
        self.status_message.emit(self.tr("Exported to {path}").format(path=target))
