"""The timeline of the Changes tab: proposals on top, then change sets and runs by day, or deleted memories.

A run and its commits share one row. Filter and search apply to the rows read so far; if few of them match and
there are more to read, the list requests the next page.

Threading: GUI thread; nothing is read here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import QFont, QPainter
from PySide6.QtWidgets import QComboBox, QListWidget, QListWidgetItem, QStyleOptionViewItem, QWidget

from reverie.agents.scopes import Scope
from reverie.ui import display_text as words
from reverie.ui.appearance import GAP, UNIT, theme_of
from reverie.ui.changes.review import card_words
from reverie.ui.display_text import CRUMB, age, as_tooltip, counted, tr, translated, visible, when
from reverie.ui.memory.footer import can_revert, headline, state_words
from reverie.ui.metrics import row_height
from reverie.ui.run_labels import LABELS, kind_title, summary_words
from reverie.ui.tree.memory_tree import parse_shown
from reverie.ui.widgets.controls import FitCombo, FitPushButton, SearchField, WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.values import Struct

if TYPE_CHECKING:
    from reverie.runs.record import RunRecord
    from reverie.services.change_log import LoggedChange
    from reverie.services.trash import TrashEntry

DELETED = "deleted"
"""The filter that lists deleted memories instead of change sets."""
_ENDED_BADLY = ("failed", "interrupted", "cancelled", "skipped")
_FEW = 30
"""If fewer rows than this match, the next page is requested."""
_ROW = int(Qt.ItemDataRole.UserRole)


class ChangeRow(Struct, frozen=True):
    """One row of the timeline: a run, a commit of the history, both, or a deleted memory.

    `key`: the id of the run or commit. `is_proposal`: the run waits for the user's decision.
    """

    key: str
    at_ms: int
    run: RunRecord | None = None
    change: LoggedChange | None = None
    deleted: TrashEntry | None = None
    is_proposal: bool = False

    @property
    def who(self) -> str:
        """The author as a key of `filter_names`."""
        if self.run is not None:
            return self.run.kind
        return self.change.who if self.change is not None else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The changed memory paths."""
        if self.deleted is not None:
            return (self.deleted.path,)
        if self.change is not None:
            return tuple(file.path for file in self.change.files)
        ops = self.run.ops if self.run is not None else ()
        return tuple(dict.fromkeys(str(op.get("newPath") or op["path"]) for op in ops))


def change_rows(runs: Sequence[RunRecord], changes: Sequence[LoggedChange]) -> tuple[ChangeRow, ...]:
    """Return the rows for runs and commits, newest first, but proposals before all other rows.

    `runs` and `changes` are sorted from newest to oldest. A run and its newest commit share a row.
    """
    by_id = {run.id: run for run in runs}
    commits: dict[str, LoggedChange] = {}
    rows = []
    for change in changes:
        if change.run_id in by_id:
            commits.setdefault(change.run_id, change)
        else:
            rows.append(ChangeRow(change.id, change.at_ms, change=change))
    proposals = {run.id for run in proposals_of(runs)}
    for run in runs:
        at_ms = run.ended_at or run.started_at
        rows.append(ChangeRow(run.id, at_ms, run, commits.get(run.id), is_proposal=run.id in proposals))
    return tuple(sorted(rows, key=lambda row: (row.is_proposal, row.at_ms), reverse=True))


def proposals_of(runs: Sequence[RunRecord]) -> tuple[RunRecord, ...]:
    """Return the runs that wait for the user's decision: held runs and current previews.

    The changes of a held run are not applied until the user has reviewed them. `runs` is sorted from newest
    to oldest. A preview is current until its workspace or project is consolidated or previewed again.
    Discarded runs are left out, and so are applied runs, unless the run that applied them has been undone.
    """
    by_id = {run.id: run for run in runs}
    overtaken: set[tuple[str | None, str | None]] = set()
    found = []
    for run in runs:
        place = run.workspace_id, run.project_path
        done_by = by_id.get(run.applied_by)
        done = bool(run.applied_by) and (done_by is None or not done_by.reverted)
        planned = run.outcome == "held" or (run.dry_run and run.outcome == "completed")
        if (
            planned
            and run.ops
            and not run.discarded
            and not done
            and not (run.dry_run and place in overtaken)
        ):
            found.append(run)
        if run.kind == "dream" and run.outcome in ("completed", "unchanged"):
            overtaken.add(place)
    return tuple(found)


def filter_names() -> tuple[tuple[str, str], ...]:
    """Return the (key, name) pairs of the filters in displayed order; the key "" stands for all changes."""
    return (
        ("", tr("All changes")),
        ("proposal", tr("Proposals")),
        ("you", tr("You")),
        ("agent", tr("The agent")),
        *((kind, translated(LABELS[kind].plural)) for kind in LABELS),
        ("outside", tr("Another program")),
        ("undone", tr("Undone")),
        ("failed", tr("Failed runs")),
        (DELETED, tr("Deleted memories")),
    )


def takes(row: ChangeRow, show: str, text: str, wanted: str = "") -> bool:
    """Return True if a row passes the filter `show` and contains the search text `text`.

    A row with the key `wanted` always passes.
    """
    run = row.run
    if row.key == wanted:
        return True
    if text and text not in _searched(row):
        return False
    if row.deleted is not None:
        return True
    if run is not None and show != "failed" and not _did_something(row, run):
        return False
    if show == "failed":
        return run is not None and run.outcome in _ENDED_BADLY
    if show == "undone":
        return run is not None and (run.reverted or run.partly_undone)
    return not show or show == row.who or (show == "proposal" and row.is_proposal)


def _did_something(row: ChangeRow, run: RunRecord) -> bool:
    """Return True if a run changed or proposes something, or if it failed; other runs are not listed."""
    planned = bool(run.ops) and (run.dry_run or run.outcome == "held") and not run.applied_by
    stands = bool(run.ops) and can_revert(run)
    return row.is_proposal or row.change is not None or planned or stands or run.reverted


def _searched(row: ChangeRow) -> str:
    """Return the case-folded text of a row, in which a search looks for the typed text."""
    parts = [who(row), title(row), below(row), *row.paths]
    if row.run is not None:
        parts += [headline(row.run), row.run.summary, row.run.reason, row.run.id]
    if row.deleted is not None:
        parts.append(row.deleted.owner)
    return "\n".join(parts).casefold()


def who(row: ChangeRow) -> str:
    """Return the author of a row for display, such as `You`, `Consolidation` or `Another program`."""
    if row.deleted is not None:
        return actor(row.deleted.actor)
    if row.run is not None:
        return kind_title(row.run.kind)
    assert row.change is not None
    if row.change.is_first:
        return tr("First seen")
    return actor(row.change.actor if row.change.who == "other" else row.change.who)


def actor(name: str) -> str:
    """Return the name of an author for display, given the name in the history or a key of `filter_names`."""
    known = {"user": tr("You"), "you": tr("You"), "agent": tr("The agent"), "outside": tr("Another program")}
    return known.get(name) or kind_title(name)


def title(row: ChangeRow) -> str:
    """Return the first line of a row: the kind of a run, or what was done, such as `Deleted scratch.md`."""
    change = row.change
    if row.run is not None or change is None or change.is_first or not change.count:
        return who(row)
    count = change.count - len(change.moved)
    if change.moved and count == len(change.moved):
        return _moved_words(change.moved)
    verbs = {file.verb for file in change.files}
    verb = verbs.pop() if len(verbs) == 1 and change.count == len(change.files) == count else ""
    if count == 1:
        one = {"create": tr("Created {name}"), "edit": tr("Edited {name}"), "delete": tr("Deleted {name}")}
        return one[verb].format(name=_name(row.paths[0]))
    return {
        "create": counted("Created 1 note", "Created %n notes", count),
        "edit": counted("Edited 1 note", "Edited %n notes", count),
        "delete": counted("Deleted 1 note", "Deleted %n notes", count),
        "": counted("Changed 1 note", "Changed %n notes", count),
    }[verb]


def _moved_words(moved: Sequence[tuple[str, str]]) -> str:
    """Return where files were moved, such as `Moved 3 notes to Project` or `Renamed a.md to b.md`."""
    (old_folder, _, old), (folder, _, name) = (path.rpartition("/") for path in moved[0])
    if old_folder == folder and len(moved) == 1:
        return tr("Renamed {old} to {name}").format(old=visible(old), name=visible(name))
    if any(new.rpartition("/")[0] != folder for _old, new in moved):
        return counted("Moved 1 note", "Moved %n notes", len(moved))
    scope, folders = parse_shown(folder) or (Scope.GLOBAL, ())
    place = CRUMB.join((words.scope_name(scope), *map(visible, folders)))
    if len(moved) == 1:
        said = tr("Moved {old} to {place}") if old == name else tr("Moved {old} to {place} as {name}")
        return said.format(old=visible(old), place=place, name=visible(name))
    return counted("Moved 1 note to {place}", "Moved %n notes to {place}", len(moved)).format(place=place)


def below(row: ChangeRow) -> str:
    """Return the second line of a row, such as `You · Card holds` or, for a run, `8 files · Card holds`."""
    change, paths = row.change, row.paths
    count = change.count - len(change.moved) if change is not None else len(paths)
    if row.run is None and change is not None and not change.is_first:
        said = who(row)
    elif not count:
        return state_words(row.run) if row.run is not None else ""
    else:
        said = counted("1 file", "%n files", count) if count > 1 else _name(paths[0])
    owner = visible(change.owner) if change is not None else ""
    return f"{said} · {owner}" if owner else said


def _name(path: str) -> str:
    return visible(path.rpartition("/")[2])


def lines(change: LoggedChange | None) -> str:
    """Return the numbers of added and removed lines, such as `+3 −1`.

    Empty if they are unknown, if `change` is None, and for the first commit.
    """
    if change is None or change.is_first:
        return ""
    sides = (("+", change.added), ("−", change.removed))
    return " ".join(f"{sign}{count}" for sign, count in sides if count)


def state(row: ChangeRow) -> str:
    """Return the state of a row, such as `undone` or `proposal`; for a plain change its numbers of lines."""
    run = row.run
    if run is None:
        how = row.change.how if row.change is not None else ""
        return {"restored": tr("restored"), "undone": tr("undone")}.get(how) or lines(row.change)
    if row.is_proposal:
        return tr("held") if run.outcome == "held" else tr("proposal")
    if run.discarded:
        return tr("discarded")
    if run.reverted or run.partly_undone:
        return state_words(run)
    if run.dry_run:
        return tr("applied") if run.applied_by else tr("preview")
    return lines(row.change) if run.outcome == "completed" else words.outcome(run.outcome)


def day(at_ms: int, now_ms: int) -> str:
    """Return the heading of a day: `Today`, `Yesterday` or a date such as `2026-11-17`."""
    then, today = (datetime.fromtimestamp(each / 1000).date() for each in (at_ms, now_ms))
    return {today: tr("Today"), today - timedelta(days=1): tr("Yesterday")}.get(then, date.isoformat(then))


class DayDelegate(TwoLineDelegate):
    """A delegate that paints rows of two lines, and the headings of days."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        if index.data(self.ROLE) is not None:
            return super().sizeHint(option, index)
        return QSize(80, row_height(option.font))

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        if index.data(self.ROLE) is not None:
            super().paint(painter, option, index)
            return
        painter.save()
        font = QFont(option.font)
        font.setBold(True)
        painter.setFont(font)
        painter.setPen(theme_of(option.palette).dim)
        area = option.rect.adjusted(GAP, 0, -GAP, -UNIT // 2)
        painter.drawText(area, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, index.data())
        painter.restore()


class ChangeList(QWidget):
    """The list of changes with its filter and search field."""

    picked = Signal(object)
    """Emitted when the selection has changed, with the selected `ChangeRow` or None."""
    more_wanted = Signal()
    """Emitted when the next page is needed."""
    kind_changed = Signal()
    """Emitted when the filter changes from changes to deleted memories, or back."""
    entered = Signal()
    """Emitted on a click or Enter on a row."""
    everything_wanted = Signal()
    """Emitted when the user wants the changes of the whole home, not only of one path."""

    def __init__(self, now: Callable[[], int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._now = now
        self._rows: tuple[ChangeRow, ...] = ()
        self._picked: ChangeRow | None = None
        self._wanted = self._asked = ""
        self._more = False
        self.who: QComboBox = FitCombo(self.tr("Filter changes"), most_chars=18)
        for key, name in filter_names():
            self.who.addItem(name, key)
        self.text = SearchField(self.tr("Search changes"))
        self.target = FitPushButton(clicked=self.everything_wanted.emit)
        self.target.hide()
        self.none = WrapLabel()
        self.none.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self.list: QListWidget = two_line_list(self.tr("Changes, newest first"))
        self.list.setItemDelegate(DayDelegate(self.list))
        self.list.setUniformItemSizes(False)
        self.list.setVerticalScrollMode(QListWidget.ScrollMode.ScrollPerPixel)
        parts = self.who, self.text, self.target, self.none, self.list
        column(self, *parts, grows=self.list, margin=0, gap=UNIT)
        self.none.hide()
        self.who.currentIndexChanged.connect(self._on_who)
        self.text.textChanged.connect(self._fill)
        self.list.itemSelectionChanged.connect(self._on_chosen)
        self.list.itemClicked.connect(self._on_entered)
        self.list.itemActivated.connect(self._on_entered)
        self.list.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    @property
    def show_only(self) -> str:
        """The chosen key of `filter_names`."""
        return str(self.who.currentData())

    @property
    def shows_deleted(self) -> bool:
        """Whether deleted memories are listed instead of changes."""
        return self.show_only == DELETED

    @property
    def current(self) -> ChangeRow | None:
        return self._picked

    @property
    def shown_rows(self) -> tuple[ChangeRow, ...]:
        return tuple(row for _item, row in self._items())

    @property
    def selected(self) -> tuple[ChangeRow, ...]:
        return tuple(row for item, row in self._items() if item.isSelected())

    def _items(self) -> Iterable[tuple[QListWidgetItem, ChangeRow]]:
        """Yield the rows with their items, without the headings."""
        for number in range(self.list.count()):
            item = self.list.item(number)
            if item is not None and item.data(_ROW) is not None:
                yield item, item.data(_ROW)

    def say_target(self, path: str) -> None:
        """Show a button with `path`, the memory or folder to which the list is restricted; empty: hide it."""
        name = visible(path.rpartition("/")[2])
        self.target.say(self.tr("Only {name}  ✕").format(name=name), self.tr("Show all changes"))
        self.target.setAccessibleName(self.tr("Show all changes, not only those of {name}").format(name=name))
        self.target.setVisible(bool(path))

    def select(self, key: str, *, show_only: str | None = None) -> None:
        """Clear the search, set the filter to `show_only` (None: no change), and select the row `key`.

        If the row has not been read yet, it is selected as soon as it has been read.
        """
        for control in (self.who, self.text):
            control.blockSignals(True)
        self.text.clear()
        at = self.who.findData(show_only or "")
        was = self.shows_deleted
        self.who.setCurrentIndex(at)
        for control in (self.who, self.text):
            control.blockSignals(False)
        self._wanted = self._asked = key
        self._follow_kind(was)

    def show_rows(self, rows: Sequence[ChangeRow], *, more: bool) -> None:
        """Show the rows. The selected row stays selected if it still exists; otherwise select the first row.

        `more`: whether there are older rows that can be read.
        """
        same = tuple(rows) == self._rows and more == self._more
        self._rows, self._more = tuple(rows), more
        if not same or self._wanted:
            self._fill()
        elif more and len(self.shown_rows) < _FEW:
            self.more_wanted.emit()

    @Slot()
    def _on_who(self) -> None:
        self._asked = ""
        modes = QListWidget.SelectionMode
        self._follow_kind(self.list.selectionMode() == modes.ExtendedSelection)

    def _follow_kind(self, was_deleted: bool) -> None:
        """Set the selection mode for changes or for deleted memories.

        `was_deleted`: whether deleted memories were listed before. `kind_changed` is emitted if the kind
        of the listed rows has changed.
        """
        modes = QListWidget.SelectionMode
        deleted = self.shows_deleted
        self.list.setSelectionMode(modes.ExtendedSelection if deleted else modes.SingleSelection)
        if deleted != was_deleted:
            self._rows, self._more = (), True  # the rows are of the other kind
            self.kind_changed.emit()
        self._fill()

    @Slot()
    def _fill(self) -> None:
        """List the rows that pass the filter and the search, and keep the selection."""
        text, show = self.text.text().casefold().strip(), self.show_only
        now, last = self._now(), ""
        kept = self._wanted or (self._picked.key if self._picked is not None else "")
        chosen = {kept} if self._wanted else {row.key for row in self.selected}
        at = self.list.verticalScrollBar().value()
        self.list.blockSignals(True)
        self.list.clear()
        found = False
        for row in self._rows:
            if not takes(row, show, text, self._asked):
                continue
            title = self.tr("Proposals") if row.is_proposal else day(row.at_ms, now)
            if title != last:
                last = title
                head = QListWidgetItem(title, self.list)
                head.setFlags(Qt.ItemFlag.NoItemFlags)
            item = self._item(row, now)
            self.list.addItem(item)
            if row.key in chosen:
                item.setSelected(True)
                if not found:
                    self.list.setCurrentItem(item)
                found = True
        items = list(self._items())
        if not found and items and not self._wanted:
            self.list.setCurrentItem(items[0][0])
        self.list.verticalScrollBar().setValue(at)
        current = self.list.currentItem()
        if self._wanted and found and current is not None:
            self.list.scrollToItem(current)
        self.list.blockSignals(False)
        if found:
            self._wanted = ""
        self._say_none(bool(items))
        self._on_selected()
        if self._more and (len(items) < _FEW or self._wanted):
            self.more_wanted.emit()

    def _item(self, row: ChangeRow, now: int) -> QListWidgetItem:
        """Return the list item of a row."""
        first, second, right = title(row), below(row), age(now, row.at_ms)
        quiet = row.run is not None and (row.run.reverted or row.run.discarded)
        if row.deleted is not None:
            entry = row.deleted
            first, place = _name(entry.path), visible(entry.path.rpartition("/")[0])
            place = place.removeprefix("/memories/")
            second = " · ".join(part for part in (who(row), place, visible(entry.owner)) if part)
            quiet = not entry.reachable
        said = state(row) if row.deleted is None else ""
        item = QListWidgetItem(f"{first}, {second}")
        item.setData(_ROW, row)
        item.setData(
            TwoLineDelegate.ROLE,
            TwoLines(first, second, right, quiet=quiet, right_below=said, cut_below="end"),
        )
        spoken = ", ".join(part for part in (first, second, said, right) if part)
        item.setData(Qt.ItemDataRole.AccessibleTextRole, spoken)
        summary = summary_words(row.run.summary) if row.run is not None else ""
        card = card_words(row.run.card) if row.run is not None and row.run.card is not None else ""
        item.setToolTip(as_tooltip(f"{first}, {when(row.at_ms)}", second, summary, card))
        return item

    def _say_none(self, any_shown: bool) -> None:
        """Show the reason why no row is listed; hide it if `any_shown`."""
        if self._more or self._wanted:
            said = self.tr("Loading older changes…")
        elif self.shows_deleted:
            said = (
                self.tr("No matching deleted memories.")
                if self._rows
                else self.tr("No memories have been deleted yet.")
            )
        else:
            said = self.tr("No matching changes.") if self._rows else self.tr("No changes yet.")
        self.none.say(said)
        self.none.setVisible(not any_shown)
        self.list.setVisible(any_shown)

    @Slot()
    def _on_chosen(self) -> None:
        """Emit the row that the user has selected, and no longer wait for a requested row to be read."""
        self._wanted = ""
        self._on_selected()

    def _on_selected(self) -> None:
        chosen = self.selected
        row = chosen[0] if chosen else None
        if row != self._picked or len(chosen) > 1:
            self._picked = row
            self.picked.emit(row)

    @Slot(QListWidgetItem)
    def _on_entered(self, item: QListWidgetItem) -> None:
        if item.data(_ROW) is not None:
            self.entered.emit()

    @Slot(int)
    def _on_scrolled(self, value: int) -> None:
        if self._more and value >= self.list.verticalScrollBar().maximum() - self.list.height():
            self.more_wanted.emit()

    @Slot()
    def update_ages(self) -> None:
        """Update the relative times."""
        if self.isVisible():
            self._fill()


def restored(count: int) -> str:
    """Return the message after `count` memories were restored."""
    return counted("1 memory was restored.", "%n memories were restored.", count)
