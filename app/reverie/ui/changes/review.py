"""The review of a change set: the tree of its groups, files and hunks, the actions on these, and the choices.

`ReviewTree` shows the tree, with check boxes if the user can choose parts, `ReviewActions` provides the keys
and the context menu, and `Choices` holds the user's choices.

Threading: GUI thread; no file is read here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import (
    QEvent,
    QObject,
    QPoint,
    QSignalBlocker,
    Qt,
    Signal,
    Slot,
)
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QHeaderView,
    QMenu,
    QTreeWidget,
    QTreeWidgetItem,
    QWidget,
)

from reverie.jobs.consolidate.review import (
    Resolution,
    ReviewedFile,
    ReviewSelection,
    resolve,
    standing,
    text_of,
    to_take_back,
)
from reverie.ui.appearance import theme_of
from reverie.ui.changes.shortcuts import REVIEW_ACTIONS, review_shortcuts
from reverie.ui.display_text import MOST_LINES, as_tooltip, counted, tr, translated, visible
from reverie.ui.editor.line_breaks import restored, widget_text
from reverie.ui.widgets.lists import RowHeightDelegate
from reverie.ui.widgets.text_boxes import MOST_BYTES, can_be_edited
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.runs.card import CardCounts, ReportCard
    from reverie.runs.parts import Parts
    from reverie.services.views import ReviewFile, ReviewGroup, ReviewHunk, ReviewView


_ROLE = Qt.ItemDataRole.UserRole
MOST_ROWS = 200
"""The most rows that are added below a row at once; a last row then loads as many more."""


class ReviewPart(Struct, frozen=True):
    """A row of the tree: a group, a file, a hunk, or a refused change."""

    group: ReviewGroup | None = None
    file: ReviewFile | None = None
    hunk: int | None = None
    refused: str = ""
    """A sentence about a refused change; empty for the other rows. A refused change has no group."""


class ReviewTree(QTreeWidget):
    """The tree of groups, files and hunks of a change set, with check boxes if the user can choose parts."""

    picked = Signal(object)
    """Emitted with the selected `ReviewPart` or None."""
    chosen = Signal()
    """Emitted when the user has ticked or unticked a row."""

    def __init__(self, parent: QWidget | None = None) -> None:
        self._choices: Choices | None = None
        self._rest: dict[int, tuple[QTreeWidgetItem, Iterator[QTreeWidgetItem], int]] = {}
        """For each row "Show more", by its `id`: the row, the rows still to be added, and their number."""
        super().__init__(parent)
        self.setAccessibleName(self.tr("Changes"))
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QTreeWidget.ScrollMode.ScrollPerPixel)
        header = self.header()
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(8)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.ResizeToContents)
        self.setItemDelegate(RowHeightDelegate(self))
        self.currentItemChanged.connect(self._on_current)
        self.itemChanged.connect(self._on_changed)

    def show_choices(self, choices: Choices | None) -> None:
        """Show another review and select its first file; None clears the tree."""
        self._choices = choices
        with QSignalBlocker(self):
            self.clear()
            self._rest = {}
            if choices is not None:
                self._fill(choices)
        first = self.topLevelItem(0)
        if first is None:
            self.picked.emit(None)
            return
        with QSignalBlocker(self):
            self.setCurrentItem(first.child(0) or first)
        self._on_current()

    @property
    def part(self) -> ReviewPart | None:
        """The selected row; None if no row is selected."""
        item = self.currentItem()
        found: ReviewPart | None = item.data(0, _ROLE) if item is not None else None
        return found

    # By keyboard

    @property
    def can_tick(self) -> bool:
        """True if the selected row has a check box."""
        item = self.currentItem()
        return item is not None and bool(item.flags() & Qt.ItemFlag.ItemIsUserCheckable)

    def tick(self, on: bool) -> None:
        """Tick or untick the selected row, like a click on its check box."""
        item = self.currentItem()
        if item is not None and self.can_tick:
            item.setCheckState(0, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)

    def step(self, by: int, *, files: bool = False) -> None:
        """Select the next change (`by` 1) or the previous one (-1); with `files`, the next or previous file.

        A change is a hunk, or a file that is not divided into hunks. At the end, the selection stays.
        """
        start = self.currentItem()
        if files and start is not None and self.part is not None and self.part.hunk is not None:
            start = start.parent()  # so that the previous file is not the one of this hunk
        rows = list(self.parts())[::by]
        at = next((row for row, (_part, item) in enumerate(rows) if item is start), -1)
        for part, item in rows[at + 1 :]:
            more = id(item) in self._rest
            if more or (part.file is not None and (part.hunk is None if files else not item.childCount())):
                self.setCurrentItem(item)
                self.scrollToItem(item)
                return

    @Slot(str, int)
    def select_part(self, path: str, hunk: int | None) -> bool:
        """Select the file `path`, or its hunk number `hunk`; return True if it exists.

        `hunk` None: the file itself.
        """
        while True:
            best = None
            for part, item in self.parts():
                if part.file is not None and path in (part.file.path, part.file.old_path):
                    best = item if part.hunk == hunk else best or item
                    if part.hunk == hunk:
                        break
            rest = (row for row, _rows, _left in self._rest.values() if best is None or row.parent() is best)
            is_found = best is not None and best.data(0, _ROLE).hunk == hunk
            if is_found or (more := next(rest, None)) is None:
                break
            self._load(more)
        if best is not None and best is not self.currentItem():
            self.setCurrentItem(best)
            self.scrollToItem(best)
        return best is not None

    def keyboardSearch(self, _typed: str) -> None:
        """Do nothing: typed letters are keys of the review, and do not search for a row."""

    def follow(self) -> None:
        """Update the check boxes and states of all rows, because the user's choices have changed."""
        choices = self._choices
        if choices is None:
            return
        with QSignalBlocker(self):
            for part, item in self.parts():
                if part.group is not None and choices.can_choose(part.group, part.file, part.hunk):
                    item.setCheckState(0, _TICKS[_taken(choices, part)])
                self._say_state(item, choices, part)

    def _fill(self, choices: Choices) -> None:
        view, root = choices.view, self.invisibleRootItem()
        self._add(root, map(self._group_item, view.groups), len(view.groups))
        if view.refused:
            refused = self._item(
                ReviewPart(), self.tr("Refused") if view.run is not None else self.tr("Not shown"), ""
            )
            refused.setText(1, str(len(view.refused)))
            self.addTopLevelItem(refused)
            rows = (self._item(ReviewPart(refused=sentence), sentence, sentence) for sentence in view.refused)
            self._add(refused, rows, len(view.refused))
        for part, item in self.parts():
            item.setExpanded(part.group is not None and part.file is None)
        self.follow()

    def _add(self, above: QTreeWidgetItem, rows: Iterator[QTreeWidgetItem], count: int) -> None:
        """Add the first of `count` rows below `above`, and a row that loads more if there are more."""
        above.addChildren(list(islice(rows, MOST_ROWS)))
        if count > MOST_ROWS:
            more = self._item(ReviewPart(), "", "")
            above.addChild(more)
            self._wait(more, rows, count - MOST_ROWS)

    def _wait(self, more: QTreeWidgetItem, rows: Iterator[QTreeWidgetItem], left: int) -> None:
        more.setText(0, self.tr("… and {n} more").format(n=left))
        self._rest[id(more)] = more, rows, left

    def _load(self, more: QTreeWidgetItem) -> QTreeWidgetItem:
        """Add the next rows above the row `more` and return the first; hide `more` after the last."""
        _more, rows, left = self._rest.pop(id(more))
        above, added = more.parent() or self.invisibleRootItem(), list(islice(rows, MOST_ROWS))
        with QSignalBlocker(self):
            above.insertChildren(above.indexOfChild(more), added)
            if left > len(added):
                self._wait(more, rows, left - len(added))
            else:
                more.setHidden(True)
            for item in added:
                part = item.data(0, _ROLE)
                item.setExpanded(part.group is not None and part.file is None)
            self.follow()
        return added[0]

    def _group_item(self, group: ReviewGroup) -> QTreeWidgetItem:
        """Return the row of a group with its files, or of its only file."""
        if len(group.files) == 1:
            return self._file_item(group, group.files[0])
        title = group_words(group, short=True)
        top = self._item(ReviewPart(group), title, f"{title}\n{group.reason}")
        self._add(top, (self._file_item(group, file) for file in group.files), len(group.files))
        return top

    def _file_item(self, group: ReviewGroup, file: ReviewFile) -> QTreeWidgetItem:
        """Return the row of a file, with a row for each of its hunks if it has several."""
        made = self._item(ReviewPart(group, file), file_words(file), file.path)
        if len(file.hunks) > 1:
            rows = (
                self._item(ReviewPart(group, file, hunk.index), hunk_words(file, hunk), "")
                for hunk in file.hunks
            )
            self._add(made, rows, len(file.hunks))
        return made

    def _item(self, part: ReviewPart, text: str, tip: str) -> QTreeWidgetItem:
        """Create the row of `part`, with a check box if the user can choose the part."""
        item = QTreeWidgetItem([visible(text), ""])
        item.setData(0, _ROLE, part)
        item.setToolTip(0, as_tooltip(tip))
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        choices, group = self._choices, part.group
        if choices is not None and group is not None and choices.can_choose(group, part.file, part.hunk):
            flags |= Qt.ItemFlag.ItemIsUserCheckable
        item.setFlags(flags)
        return item

    def _say_state(self, item: QTreeWidgetItem, choices: Choices, part: ReviewPart) -> None:
        """Show the state of a row, with the reason in its tool tip."""
        if part.group is None:
            return
        reason = choices.blocked.get(part.file.path, "") if part.file is not None else ""
        state = ""
        if part.file is not None and choices.is_gone(part.file, part.hunk):
            state, reason = self.tr("undone"), ""
        elif part.file is not None and choices.goes_back(part.file, part.hunk):
            state = self.tr("to be undone")
        elif part.file is not None and part.hunk is None and reason and choices.view.can_apply:
            state = self.tr("not changed")
        elif part.file is not None and choices.is_written(part.file, part.hunk):
            state = self.tr("edited")
        elif part.file is not None and part.hunk is None:
            state = _verbs().get(part.file.verb, "")
        theme = theme_of(self.palette())
        item.setText(1, state)
        item.setToolTip(1, as_tooltip(reason))
        item.setForeground(1, theme.warn_text if reason else theme.dim)

    def parts(self) -> Iterator[tuple[ReviewPart, QTreeWidgetItem]]:
        """Yield every row, as part and item, from top to bottom."""
        waiting = [self.topLevelItem(row) for row in reversed(range(self.topLevelItemCount()))]
        while waiting:
            item = waiting.pop()
            if item is not None:
                yield item.data(0, _ROLE), item
                waiting += [item.child(row) for row in reversed(range(item.childCount()))]

    @property
    def blocked(self) -> Mapping[str, str]:
        """The reasons why files are not changed, by path."""
        return self._choices.blocked if self._choices is not None else {}

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self.follow()

    @Slot()
    def _on_current(self) -> None:
        current = self.currentItem()
        if current is not None and id(current) in self._rest:
            self.setCurrentItem(self._load(current))
        else:
            self.picked.emit(self.part)

    @Slot(QTreeWidgetItem, int)
    def _on_changed(self, item: QTreeWidgetItem, column: int) -> None:
        part: ReviewPart = item.data(0, _ROLE)
        choices = self._choices
        if column != 0 or choices is None or part.group is None:
            return
        choices.take(part.group, part.file, part.hunk, item.checkState(0) != Qt.CheckState.Unchecked)
        self.follow()
        self.chosen.emit()


_TICKS: dict[Taken, Qt.CheckState] = {
    "all": Qt.CheckState.Checked,
    "some": Qt.CheckState.PartiallyChecked,
    "none": Qt.CheckState.Unchecked,
}


def _taken(choices: Choices, part: ReviewPart) -> Taken:
    """Return how much of `part` is accepted: `all`, `some` or `none`."""
    assert part.group is not None
    if part.file is None:
        return choices.group_taken(part.group)
    if part.hunk is None:
        return choices.file_taken(part.group, part.file)
    return "all" if choices.hunk_taken(part.group, part.file, part.hunk) else "none"


def _verbs() -> dict[str, str]:
    """Return the name of each kind of change to a file for display, by verb."""
    return {"create": tr("new"), "delete": tr("deleted"), "rename": tr("renamed")}


def file_words(file: ReviewFile) -> str:
    """Return the name of a file, with its old name if it was renamed, then its folder.

    The folder is last because the end may be cut.
    """
    folder, _, name = file.path.removeprefix("/memories/").rpartition("/")
    if file.old_path:
        name = f"{file.old_path.rpartition('/')[2]} → {name}"
    return f"{name} · {folder}" if folder else name


def _line_counts(hunk: ReviewHunk) -> tuple[int, int]:
    """Return the number of removed lines and the number of added lines."""
    start = next((at for at, (kind, _text) in enumerate(hunk.lines) if kind != " "), 0)
    removed = bisect_left(hunk.lines, True, start, key=lambda line: line[0] != "-")
    added = bisect_left(hunk.lines, True, removed, key=lambda line: line[0] != "+")
    return removed - start, added - removed


def hunk_words(file: ReviewFile, hunk: ReviewHunk) -> str:
    """Return the position of a hunk in words: its old lines or, for a pure insertion, its first new line."""
    count = _line_counts(hunk)[0]
    if not hunk.lines:
        return {
            "rename": tr("Renamed from {name}").format(name=file.old_path.rpartition("/")[2]),
            "create": tr("An empty file is created"),
            "delete": tr("An empty file is deleted"),
        }.get(file.verb, "")
    if count <= 1:
        return tr("Line {n}").format(n=hunk.start + 1)
    return tr("Lines {first}–{last}").format(first=hunk.start + 1, last=hunk.start + count)


def card_words(counts: CardCounts) -> str:
    """Return in one line how many facts a run kept, changed or lost, from the counts of its report card.

    Example: `kept 212 of 212 facts · 1 changed value · 3 contradictions fewer · −840 tokens`.
    """
    changed, invented, cut = counts.changed, counts.invented, counts.below_cut
    links, more, tokens = counts.broken_links, counts.contradictions, counts.tokens
    stale = counts.stale
    said = [
        tr("kept {kept} of {all} facts").format(kept=counts.kept, all=counts.facts) if counts.facts else "",
        counted("1 changed value", "%n changed values", changed) if changed else "",
        counted("1 fact without a source", "%n facts without a source", invented) if invented else "",
        counted("1 fact no longer loaded", "%n facts no longer loaded", cut) if cut else "",
        counted("1 broken link", "%n broken links", links) if links else "",
        counted("1 more contradiction", "%n more contradictions", more) if more > 0 else "",
        counted("1 fewer contradiction", "%n fewer contradictions", -more) if more < 0 else "",
        counted("1 more stale statement", "%n more stale statements", stale) if stale > 0 else "",
        counted("1 fewer stale statement", "%n fewer stale statements", -stale) if stale < 0 else "",
        counted("+1 token", "+%n tokens", tokens) if tokens > 0 else "",
        counted("−1 token", "−%n tokens", -tokens) if tokens < 0 else "",
    ]
    return " · ".join(part for part in said if part)


def card_notes(card: ReportCard | None, file: ReviewFile) -> dict[int, list[str]]:
    """Return notes about lost and changed facts of a file, by hunk index; empty if `card` is None."""
    if card is None:
        return {}
    what = {
        "number": tr("The number was changed (was: {before})"),
        "version": tr("The version was changed (was: {before})"),
        "name": tr("The name was changed (was: {before})"),
        "negation": tr("The meaning was reversed (was: {before})"),
        "certainty": tr("The statement is more certain now (was: {before})"),
        "merged": tr("The values of two facts were combined (was: {before})"),
        "generalised": tr("The statement is less precise now (was: {before})"),
        "place": tr("The fact was moved under a heading that changes its meaning (was: {before})"),
    }
    lost, invented = tr("Lost: {text}"), tr("No source: {text}")
    unloaded, broken = tr("No longer loaded: {text}"), tr("Broken link: {target}")
    before = [(each.path, each.line, lost.format(text=each.text)) for each in card.lost]
    before += [(each.path, each.line, what[each.what].format(before=each.before)) for each in card.changed]
    after = [(each.path, each.line, invented.format(text=each.text)) for each in card.invented]
    after += [(each.path, each.line, unloaded.format(text=each.text)) for each in card.below_cut]
    after += [(each.path, each.line, broken.format(target=each.target)) for each in card.broken_links]
    was = [(line, said) for path, line, said in before if path == (file.old_path or file.path)]
    now = [(line, said) for path, line, said in after if path == file.path]
    found: dict[int, list[str]] = {}
    grown = 0
    for hunk in file.hunks if was or now else ():
        removed, added = _line_counts(hunk)
        start = hunk.start + grown
        notes = [said for line, said in was if 0 < line - hunk.start <= removed]
        notes += [said for line, said in now if 0 < line - start <= added]
        if notes:
            found[hunk.index] = list(dict.fromkeys(notes))
        grown += added - removed
    return found


def group_words(group: ReviewGroup, *, short: bool = False) -> str:
    """Return a title for a group of several files.

    With `short` the title is short, because the files are listed below it.
    """
    kept = [file.path.rpartition("/")[2] for file in group.files if file.verb != "delete"]
    gone = [file.path.rpartition("/")[2] for file in group.files if file.verb == "delete"]
    count = len(group.files)
    if group.kind == "merge" and len(kept) == 1:
        if short:
            return tr("Merge into {kept}").format(kept=kept[0])
        return tr("Merge {gone} into {kept}").format(gone=", ".join(gone), kept=kept[0])
    return {
        "rename": counted("Rename 1 memory", "Rename %n memories", count),
        "delete": counted("Delete 1 memory", "Delete %n memories", count),
        "create": counted("Create 1 memory", "Create %n memories", count),
    }.get(group.kind, counted("Change 1 memory", "Change %n memories together", count))


class ReviewActions(QObject):
    """The actions on the selected part, for its keys, its context menu and the list of shortcuts.

    The actions for a preview and for a finished run are the same; only some texts differ. Most keys are
    single letters. They work in the tree and in the diff beside it, never in a text field. Return is not used
    as a key, so that it can neither apply nor undo anything by accident.
    """

    open_wanted = Signal(str)
    """Emitted with the path of a memory to open."""
    take_back_wanted = Signal(object)
    """Emitted with the `ReviewSelection` that is to remain, to undo the other parts at once."""

    def __init__(
        self, tree: ReviewTree, difference: QWidget, edit: Callable[[], None], can_edit: Callable[[], bool]
    ) -> None:
        """Create the actions; `edit` opens the editor for the selected part, if `can_edit` returns True."""
        super().__init__(tree)
        self._tree = tree
        self._difference = difference
        self._can_edit = can_edit
        self._choices: Choices | None = None
        self.menu = QMenu(tree)
        self.menu.setAccessibleName(tr("Change"))
        does: dict[str, Callable[[], None]] = {
            "next": lambda: self._in_tree(lambda: tree.step(1)),
            "previous": lambda: self._in_tree(lambda: tree.step(-1)),
            "next-file": lambda: self._in_tree(lambda: tree.step(1, files=True)),
            "previous-file": lambda: self._in_tree(lambda: tree.step(-1, files=True)),
            "accept": lambda: self._in_tree(lambda: tree.tick(True)),
            "reject": lambda: self._in_tree(lambda: tree.tick(False)),
            "edit": edit,
            "take-back": self._take_back,
            "open": self._open,
            "copy-path": self._copy_path,
        }
        self._made: dict[str, QAction] = {}
        for spec in REVIEW_ACTIONS:
            if spec.separator:
                self.menu.addSeparator()
            action = self.menu.addAction(translated(spec.text or spec.finished))
            action.setObjectName(f"review.{spec.id}")
            action.triggered.connect(does[spec.id])
            self._made[spec.id] = action
            if spec.key:
                action.setShortcut(QKeySequence(spec.key))
                action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
                tree.addAction(action)
                difference.addAction(action)
        tree.setAccessibleDescription(", ".join(f"{keys}: {what}" for what, keys in review_shortcuts()[1]))
        tree.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        tree.customContextMenuRequested.connect(self._show_menu)
        self.follow(None)

    def __getitem__(self, id_: str) -> QAction:
        return self._made[id_]

    def follow(self, choices: Choices | None) -> None:
        """Update the texts and states of the actions for the selected part of `choices`."""
        self._choices = choices
        finished = choices is not None and choices.view.can_take_back
        for spec in REVIEW_ACTIONS:
            text = spec.finished if finished else spec.text
            self._made[spec.id].setVisible(bool(text))
            if text:
                self._made[spec.id].setText(translated(text))
        part = self._tree.part
        tickable = self._tree.can_tick
        possible = {
            "accept": tickable,
            "reject": tickable,
            "edit": self._can_edit(),
            "take-back": bool(self._now(part)),
            "open": bool(self._path(part)),
            "copy-path": part is not None and part.group is not None,
        }
        for id_, action in self._made.items():
            action.setEnabled(possible.get(id_, choices is not None))

    def _in_tree(self, do: Callable[[], None]) -> None:
        """Call `do`; if that replaced the focused diff by the editor, move the focus to the tree.

        In the editor, the next key would be typed as text.
        """
        in_difference = self._difference.hasFocus()
        do()
        if in_difference and not self._difference.isVisible():
            self._tree.setFocus()

    @Slot(QPoint)
    def _show_menu(self, at: QPoint) -> None:
        if self._tree.part is not None:
            self.follow(self._choices)
            self.menu.popup(self._tree.viewport().mapToGlobal(at))

    def _path(self, part: ReviewPart | None) -> str:
        """Return the current path of the selected file; empty if there is none."""
        if self._choices is None or part is None or part.file is None:
            return ""
        return self._choices.path_now(part.file)

    def _now(self, part: ReviewPart | None) -> ReviewSelection | None:
        """Return the choices with which exactly `part` is undone at once; None if that is not possible.

        It is not possible if there is nothing to undo, or if other parts are marked to be undone, because
        their marks would be lost.
        """
        choices = self._choices
        if choices is None or part is None or part.group is None or not self._tree.can_tick:
            return None
        wanted = choices.without(part.group, part.file, part.hunk)
        return wanted if choices.selection in (choices.first, wanted) else None

    def _take_back(self) -> None:
        wanted = self._now(self._tree.part)
        if wanted:
            self.take_back_wanted.emit(wanted)

    def _open(self) -> None:
        path = self._path(self._tree.part)
        if path:
            self.open_wanted.emit(path)

    def _copy_path(self) -> None:
        """Copy the memory path of the selected part; for a group, one path per line."""
        part = self._tree.part
        if part is not None and part.group is not None:
            files = part.group.files if part.file is None else (part.file,)
            QGuiApplication.clipboard().setText("\n".join(file.path for file in files))


Taken = Literal["all", "some", "none"]
RESOLVED_AT_ONCE = 50_000
"""The most characters of texts for which a click is resolved at once; longer ones would block the window."""


class Choices:
    """The user's choices in the review of a run: accepted groups, files and hunks, and edited texts.

    The accepted parts of a plan are written. The accepted parts of a finished run stay, and its other parts
    are undone. At first everything is accepted; for a finished run, everything that has not been undone
    already.

    Rejecting a group rejects all of it; accepting one part of it again accepts only that part. Text that the
    user typed is never dropped: if a file is rejected and accepted again, the typed text is restored.

    Resolving a selection means applying the rules of the review to it, to find which text each file would
    get; the time grows with the length of the texts. Up to `RESOLVED_AT_ONCE` characters, a selection is
    resolved when its result is needed. For longer texts a job resolves it and sets `resolved`; until then
    the methods return the results for the previous selection. Uses neither Qt nor files.
    """

    def __init__(self, view: ReviewView) -> None:
        """Create the choices and resolve the first selection, so call it in a job."""
        self.view = view
        self.selection = standing(view.plan, view.taken_back) if view.can_take_back else ReviewSelection()
        self.first = self.selection  # before the user chose anything
        self._aside: dict[str, str] = {}
        self.resolved = self.selection, resolve(view.plan, self.selection)
        self._leaving: tuple[ReviewSelection, Resolution, Parts] | None = None
        texts = (text for file in view.plan.files for text in (file.before, file.after) if text)
        self.at_once = sum(map(len, texts)) <= RESOLVED_AT_ONCE

    def renew(self, newer: Choices) -> None:
        """Use the view of `newer`: the same changes, read again because other memories changed.

        The choices stay.
        """
        self.view, self.resolved = newer.view, newer.resolved

    @property
    def is_resolved(self) -> bool:
        """True if the results for the current choices are known, or can be computed without a job."""
        return self.at_once or self.resolved[0] is self.selection

    # Accepted parts

    def hunk_taken(self, group: ReviewGroup, file: ReviewFile, index: int) -> bool:
        """Return True if the hunk number `index` of the file is accepted."""
        if group.index in self.selection.rejected_groups:
            return False
        return index not in self.selection.rejected_hunks.get(file.path, frozenset())

    def file_taken(self, group: ReviewGroup, file: ReviewFile) -> Taken:
        """Return how many of the file's hunks are accepted: `all`, `some` or `none`.

        A file that the user has edited counts as accepted as a whole.
        """
        if group.index in self.selection.rejected_groups:
            return "none"
        if file.path in self.selection.edited_files:
            return "all"
        rejected = len(self.selection.rejected_hunks.get(file.path, ()))
        return "none" if rejected >= len(file.hunks) else "some" if rejected else "all"

    def group_taken(self, group: ReviewGroup) -> Taken:
        """Return how many of the group's files are accepted: `all`, `some` or `none`."""
        states = {self.file_taken(group, file) for file in group.files}
        return states.pop() if len(states) == 1 else "some"

    def find(self, path: str) -> tuple[ReviewGroup, ReviewFile] | None:
        """Return the file with this path and its group; None if there is none."""
        return next((found for found in self._files if found[1].path == path), None)

    @property
    def _files(self) -> Iterator[tuple[ReviewGroup, ReviewFile]]:
        """Each file of the review with its group."""
        return ((group, file) for group in self.view.groups for file in group.files)

    # Undone parts of a finished run

    @property
    def is_open(self) -> bool:
        """True if the user can choose anything: the changes can be applied or undone."""
        return self.view.can_apply or self.view.can_take_back

    def is_gone(self, file: ReviewFile, index: int | None = None) -> bool:
        """Return True if the whole file, or its hunk `index`, has been undone already."""
        gone = self.view.taken_back.get(file.path, frozenset())
        if gone is None or index is None:
            return bool(file.hunks) and self._count_gone(file) == len(file.hunks)
        return index in gone

    def goes_back(self, file: ReviewFile, index: int | None = None) -> bool:
        """Return True if the file, or its hunk `index`, is marked to be undone.

        For a file: if each of its changes that has not been undone already is marked.
        """
        if not self.view.can_take_back or file.path not in self.to_take_back:
            return False
        hunks = self.to_take_back[file.path]
        if index is None or hunks is None:
            return hunks is None and (index is None or not self.is_gone(file, index))
        return index in hunks

    def can_choose(self, group: ReviewGroup, file: ReviewFile | None, index: int | None) -> bool:
        """Return True if a part has a check box: a hunk (`index`), a file, or a whole group (`file` None).

        `index`: the number of the hunk; None: the whole file. A file that a finished run created, deleted or
        renamed can only be undone as a whole.
        """
        if self.view.can_apply or not self.view.can_take_back:
            return self.view.can_apply
        if file is None:
            return not all(self.is_gone(each) for each in group.files)
        return not self.is_gone(file, index) and (index is None or file.verb == "edit")

    @property
    def to_take_back(self) -> Parts:
        """The parts that are marked to be undone, in the form of a request to undo."""
        now = self._resolution
        if self._leaving is None or self._leaving[0] is not self.selection or self._leaving[1] is not now:
            parts = to_take_back(self.view.plan, self.selection, self.view.taken_back, now)
            self._leaving = self.selection, now, parts
        return self._leaving[2]

    def without(self, group: ReviewGroup, file: ReviewFile | None, index: int | None) -> ReviewSelection:
        """Return the selection in which only this part is to be undone, whatever parts are marked.

        The part is a group, or its `file`, or the hunk `index` of the file.
        """
        alone = copy(self)
        alone.selection, alone._aside = self.first, {}
        alone.take(group, file, index, False)
        return alone.selection

    def path_now(self, file: ReviewFile) -> str:
        """Return the file's current path, given the state of this run; empty if the file does not exist."""
        run = self.view.run
        planned = run is not None and (run.dry_run or run.outcome == "held" or run.reverted)
        if planned or self.is_gone(file):
            return "" if file.verb == "create" else file.old_path or file.path
        return "" if file.verb == "delete" else file.path

    @property
    def count_to_take_back(self) -> int:
        """The number of changes marked to be undone: hunks, and created, deleted or renamed files."""
        return sum(
            self._count_back(file) if file.verb == "edit" else int(self.goes_back(file))
            for _group, file in self._files
        )

    @property
    def count_standing(self) -> int:
        """The number of changes of a finished run that have not been undone."""
        return sum(
            len(file.hunks) - self._count_gone(file) if file.verb == "edit" else int(not self.is_gone(file))
            for _group, file in self._files
        )

    def _count_back(self, file: ReviewFile) -> int:
        """Return the number of hunks of an edited file that are marked to be undone."""
        hunks = self.to_take_back.get(file.path, frozenset())
        return len(file.hunks) - self._count_gone(file) if hunks is None else len(hunks)

    def _count_gone(self, file: ReviewFile) -> int:
        """Return the number of hunks that have been undone."""
        found = self.view.taken_back.get(file.path, frozenset())
        return len(file.hunks) if found is None else len(found)

    def _gone(self, file: ReviewFile) -> frozenset[int]:
        """Return the indexes of the hunks that have been undone."""
        found = self.view.taken_back.get(file.path, frozenset())
        return frozenset(hunk.index for hunk in file.hunks) if found is None else found

    @property
    def blocked(self) -> Mapping[str, str]:
        """The reasons why files would not be changed according to the rules of the review, by path."""
        return self._resolution.blocked

    @property
    def count_to_apply(self) -> int:
        """The number of changes that would be made: hunks, and created, deleted or renamed files."""
        changed = self._resolution.files
        return sum(
            self._count_taken(group, file) if file.verb == "edit" else 1
            for group, file in self._files
            if any(path in changed for path in (file.path, file.old_path))
        )

    def _count_taken(self, group: ReviewGroup, file: ReviewFile) -> int:
        """Return the number of accepted hunks of a file."""
        taken = self.file_taken(group, file)
        rejected = len(self.selection.rejected_hunks.get(file.path, ())) if taken == "some" else 0
        return 0 if taken == "none" else len(file.hunks) - rejected

    @property
    def count_of_all(self) -> int:
        """The number of all changes, counted as in `count_to_apply`."""
        return sum(len(file.hunks) if file.verb == "edit" else 1 for _group, file in self._files)

    @property
    def is_plan(self) -> bool:
        """True if the changes are not on disk yet, and can be applied."""
        return self.view.can_apply

    def may_agree(self, path: str) -> bool:
        """Return True if a file is blocked only because lines would be lost.

        Such a file is unblocked if the user agrees to the loss.
        """
        return path in self.blocked and path not in self._resolution.pinned

    def has_agreed(self, path: str) -> bool:
        """Return True if the user agreed to lose more lines of this file than the run itself removes."""
        return path in self.selection.agreed_losses - self.first.agreed_losses

    @property
    def _resolution(self) -> Resolution:
        if self.at_once and self.resolved[0] is not self.selection:
            self.resolved = self.selection, resolve(self.view.plan, self.selection)
        return self.resolved[1]

    # Accepting and rejecting

    def take(self, group: ReviewGroup, file: ReviewFile | None, index: int | None, taken: bool) -> None:
        """Accept or reject a group or, unless that is None, its `file`, or the hunk `index` of the file."""
        if file is None:
            self.take_group(group, taken)
        elif index is None:
            self.take_file(group, file, taken)
        else:
            self.take_hunk(group, file, index, taken)

    def take_group(self, group: ReviewGroup, taken: bool) -> None:
        """Accept a group of changes with all its hunks if `taken`; else reject the group."""
        if taken:
            for file in group.files:
                self._take_hunks(file, True)
        self.selection = self.selection.with_group(group.index, accepted=taken)

    def take_file(self, group: ReviewGroup, file: ReviewFile, taken: bool) -> None:
        """Accept or reject a file.

        If its whole group was rejected, each other file of the group stays rejected.
        """
        self._revive(group)
        self._take_hunks(file, taken)

    def take_hunk(self, group: ReviewGroup, file: ReviewFile, index: int, taken: bool) -> None:
        """Accept or reject a hunk.

        If its whole group was rejected, each other hunk of the group stays rejected.
        """
        self._revive(group)
        self.selection = self.selection.with_hunk(file.path, index, accepted=taken)

    def agree(self, path: str, agreed: bool) -> None:
        """Set whether the user agrees to the loss of lines in a file."""
        self.selection = self.selection.with_agreed_loss(path, agreed=agreed)

    def _revive(self, group: ReviewGroup) -> None:
        """If a whole group was rejected, reject each of its files instead, so that one can be accepted."""
        if group.index not in self.selection.rejected_groups:
            return
        for file in group.files:
            self._take_hunks(file, False)
        self.selection = self.selection.with_group(group.index, accepted=True)

    def _take_hunks(self, file: ReviewFile, taken: bool) -> None:
        """Accept or reject all hunks of a file; its edited text is stored while it is rejected."""
        rejected = {path: hunks for path, hunks in self.selection.rejected_hunks.items() if path != file.path}
        if not taken:
            rejected[file.path] = frozenset(hunk.index for hunk in file.hunks)
        elif gone := self._gone(file):
            rejected[file.path] = gone
        self.selection = replace(self.selection, rejected_hunks=rejected)
        written = self.selection.edited_files.get(file.path)
        if not taken and written is not None:
            self._aside[file.path] = written
            self.selection = self.selection.with_file_text(file.path, None)
        elif taken and file.path in self._aside:
            self.selection = self.selection.with_file_text(file.path, self._aside.pop(file.path))

    # Edited texts

    def is_written(self, file: ReviewFile, index: int | None = None) -> bool:
        """Return True if the user has edited the file, or its hunk `index`."""
        if index is None:
            return file.path in self.selection.edited_files
        return index in self.selection.edited_hunks.get(file.path, {})

    def can_write(self, file: ReviewFile, index: int | None = None) -> bool:
        """Return True if the user can edit the file, or its hunk `index`.

        A text that a text box cannot hold, a hunk without lines or with too many, and a file of which the
        selected text is not known yet cannot be edited.
        """
        if index is None:
            size = len(self._resolution.files.get(file.path) or b"")
            has_text = (self.is_resolved or self.is_written(file)) and size <= MOST_BYTES
        else:
            has_text = any(0 < len(hunk.lines) <= MOST_LINES for hunk in file.hunks if hunk.index == index)
        return has_text and self.view.can_apply and can_be_edited(self.text(file, index))

    def text(self, file: ReviewFile, index: int | None = None) -> str:
        """Return the text of the file, or of its hunk `index`, to be edited."""
        if index is None:
            return widget_text(self._text(file))
        written = self.selection.edited_hunks.get(file.path, {}).get(index)
        return widget_text(written if written is not None else self._added(file, index)).removesuffix("\n")

    def write(self, file: ReviewFile, text: str | None, index: int | None = None) -> None:
        """Store the user's text for the file, or for the hunk `index`; None restores the text of the run.

        The line breaks of the file are kept.
        """
        self._aside.pop(file.path, None)
        if index is None:
            whole = None if text is None else restored(self._original(file), text)
            self.selection = self.selection.with_file_text(file.path, whole)
            return
        added = self._added(file, index)
        if text is not None and text and (added.endswith("\n") or not added):
            text += "\n"
        newline = "\r\n" if "\r\n" in self._original(file) else "\n"
        words = None if text is None else restored(added, text, newline)
        self.selection = self.selection.with_hunk_text(file.path, index, words)

    def _text(self, file: ReviewFile) -> str:
        """Return the text of a file: the user's text, else the resolved one, else the planned one."""
        written = self.selection.edited_files.get(file.path)
        if written is not None:
            return written
        resolved = self._resolution.files.get(file.path)
        return text_of(resolved) if resolved is not None else self._original(file)

    def _original(self, file: ReviewFile) -> str:
        """Return the exact planned text or, for a deleted file, its old text.

        The texts of the view cannot be used, because they may be shortened.
        """
        planned = self._planned(file)
        return planned.after if planned.after is not None else planned.before or ""

    def _added(self, file: ReviewFile, index: int) -> str:
        """Return the planned new lines of a hunk."""
        hunks = self._planned(file).hunks
        return "".join(line for hunk in hunks if hunk.index == index for line in hunk.added)

    def _planned(self, file: ReviewFile) -> ReviewedFile:
        return next(planned for planned in self.view.plan.files if planned.path == file.path)
