"""The duplicate finder: a page beside the trees that lists groups of memories with the same content.

The page compares two memories of a group side by side, and opens the dialog for merging them by hand.

Threading: GUI thread. The search runs on a lane of its own, so that no other job waits for it; it reports
progress and can be stopped. Outdated results are dropped. Failure: shown above the list, or above the text of
the merge dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QResizeEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QListWidget,
    QListWidgetItem,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from reverie.engine.asking import ask
from reverie.errors import UserError
from reverie.memory.diff import changed_spans, word_spans
from reverie.memory.union import lost_lines
from reverie.text.summaries import utf16_length
from reverie.ui import display_text as words
from reverie.ui.appearance import GAP, MARGIN, UNIT, monospace, theme_of
from reverie.ui.display_text import as_tooltip, counted, human_size, tr, visible
from reverie.ui.editor.line_breaks import restored, widget_text
from reverie.ui.icons import Icons
from reverie.ui.jobs import JobControl, Lane, Ticket, single_shot
from reverie.ui.memory.edits import Edits, TakeBack
from reverie.ui.metrics import scaled
from reverie.ui.session import HomeSession
from reverie.ui.widgets.controls import FitCombo, FitPushButton, WrapLabel, embolden
from reverie.ui.widgets.layouts import FlowLayout, Panes, column, pane, row_of
from reverie.ui.widgets.lists import TwoLineDelegate, TwoLines, two_line_list
from reverie.ui.widgets.messages import MessageBar
from reverie.ui.widgets.text_boxes import READABLE, PlainTextBox
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.agents.scopes import ScopeContext
    from reverie.services.duplicates import (
        DuplicateFile,
        DuplicateGroup,
        DuplicateProgress,
        DuplicateReport,
        MergeSeed,
    )
    from reverie.services.views import Undo
    from reverie.services.workbench import Workbench


# Two texts cannot be compared in a narrower page, so the trees shrink instead.
NARROWEST = 320
# Two lines less similar than this are marked as wholly different, not word by word.
_ALIKE = 0.3

Spans = tuple[tuple[int, int], ...]
"""Start and end of each part of a line, in characters."""
_MOST_ROWS, _LONGEST_ROW, _MOST_TINTED, _MOST_SPANS = 2_000, 1_000, 500, 50
"""Limits of the comparison, because more would block the window.

In this order: rows, characters of a row, tinted rows, and marked spans.
"""


class AlignedSide(Struct, frozen=True):
    """One side of a row in the comparison of two texts."""

    text: str = ""
    number: int = 0
    """The line number, from 1; 0 if this side has no line here."""
    spans: Spans = ()
    """The parts of `text` that differ from the other side."""


class AlignedRow(Struct, frozen=True):
    """One row in the comparison of two texts."""

    left: AlignedSide
    right: AlignedSide
    same: bool
    """Whether both sides have this line."""


def aligned(
    left: str, right: str, check: Callable[[], None] = lambda: None, *, at: tuple[int, int] = (0, 0)
) -> tuple[AlignedRow, ...]:
    """Align two texts line by line, and return the rows with the words that differ. Pure.

    `at` is a pair of line numbers, counted from 1, that must be in the same row; (0, 0) for no such pair.
    `check` is called again and again and can raise to stop the work.
    """
    one, other = _lines(left), _lines(right)
    if not (0 < at[0] <= len(one) and 0 < at[1] <= len(other)):
        return tuple(_rows(one, other, check))
    first, second = at[0] - 1, at[1] - 1
    if one[first] == other[second]:
        between = _same(one, first, other, second, 1)
    else:
        between = _changed(one, (first, at[0]), other, (second, at[1]))
    behind = _rows(one[at[0] :], other[at[1] :], check)
    before = _rows(one[:first], other[:second], check)
    return (*before, *between, *(_moved(row, *at) for row in behind))


def _moved(row: AlignedRow, left: int, right: int) -> AlignedRow:
    """Return the row with `left` and `right` added to the line numbers of its sides."""

    def side(of: AlignedSide, by: int) -> AlignedSide:
        return replace(of, number=of.number + by) if of.number else of

    return replace(row, left=side(row.left, left), right=side(row.right, right))


def _rows(one: Sequence[str], other: Sequence[str], check: Callable[[], None]) -> list[AlignedRow]:
    """Return the aligned rows of two lists of lines; `check` may raise to stop."""
    rows: list[AlignedRow] = []
    at_one = at_other = 0
    for span in changed_spans(one, other):
        check()
        rows += _same(one, at_one, other, at_other, span.old_start - at_one)
        rows += _changed(one, (span.old_start, span.old_end), other, (span.new_start, span.new_end))
        at_one, at_other = span.old_end, span.new_end
    return rows + _same(one, at_one, other, at_other, len(one) - at_one)


def _lines(text: str) -> list[str]:
    """Return the lines of a text, without BOM and line ends."""
    lines = [line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n")]
    return lines[:-1] if lines and not lines[-1] else lines


def _same(
    one: Sequence[str], at_one: int, other: Sequence[str], at_other: int, count: int
) -> list[AlignedRow]:
    """Return rows for `count` equal lines, from `at_one` in `one` and `at_other` in `other` on."""
    return [
        AlignedRow(
            AlignedSide(one[at_one + step], at_one + step + 1),
            AlignedSide(other[at_other + step], at_other + step + 1),
            True,
        )
        for step in range(count)
    ]


def _changed(
    one: Sequence[str], here: tuple[int, int], other: Sequence[str], there: tuple[int, int]
) -> list[AlignedRow]:
    """Return rows for the lines in the ranges `here` and `there`, paired in order, with their differences."""
    rows = []
    for left, right in zip_longest(range(*here), range(*there)):
        if left is None or right is None:
            left_side = (
                AlignedSide(one[left], left + 1, ((0, len(one[left])),))
                if left is not None
                else AlignedSide()
            )
            right_side = (
                AlignedSide(other[right], right + 1, ((0, len(other[right])),))
                if right is not None
                else AlignedSide()
            )
        else:
            marks = word_marks(one[left], other[right])
            left_side, right_side = (
                AlignedSide(one[left], left + 1, marks[0]),
                AlignedSide(other[right], right + 1, marks[1]),
            )
        rows.append(AlignedRow(left_side, right_side, False))
    return rows


def word_marks(left: str, right: str) -> tuple[Spans, Spans]:
    """Return, for each of two lines, the spans of the words that differ.

    If the lines have little in common, each span is the whole line.
    """
    spans = word_spans(left, right, alike=_ALIKE)
    if left != right and not any(spans):
        return ((0, len(left)),), ((0, len(right)),)
    one, other = ([(start, start + length) for start, length in side] for side in spans)
    return tuple(one), tuple(other)


class SideBySide(QWidget):
    """A read-only comparison of two memories side by side, which scroll together.

    Lines that differ are tinted, and words that differ are marked. Hidden characters are shown escaped.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.left = _Half()
        self.right = _Half()
        self.left.setAccessibleName(self.tr("First memory"))
        self.right.setAccessibleName(self.tr("Second memory"))
        row = row_of(self.left, holder=self, grows=self.left, gap=UNIT)
        row.addWidget(self.right, 1)
        self._rows: tuple[AlignedRow, ...] = ()
        for here, there in ((self.left, self.right), (self.right, self.left)):
            here.verticalScrollBar().valueChanged.connect(there.verticalScrollBar().setValue)
            here.horizontalScrollBar().valueChanged.connect(there.horizontalScrollBar().setValue)
            here.verticalScrollBar().actionTriggered.connect(self.left.forget_first)
            here.verticalScrollBar().actionTriggered.connect(self.right.forget_first)

    @property
    def rows(self) -> tuple[AlignedRow, ...]:
        return self._rows

    def show_rows(self, rows: Sequence[AlignedRow], number: int | None = None) -> None:
        """Show the rows, and scroll to the row `number`, counted from 0; None for the top."""
        self._rows = tuple(rows)
        is_cut = len(rows) > _MOST_ROWS
        rows = rows[:_MOST_ROWS]
        for half, sides in (
            (self.left, [(row.left, row.same) for row in rows]),
            (self.right, [(row.right, row.same) for row in rows]),
        ):
            half.show_sides(sides, number, is_cut)
        self._tint()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_rows"):
            self._tint()

    @Slot()
    def _tint(self) -> None:
        theme = theme_of(self.palette())
        self.left.tint(theme.removed_back, theme.removed)
        self.right.tint(theme.added_back, theme.added)


class _Half(PlainTextBox):
    """One side of the comparison. Lines do not wrap, so that both sides have the same rows."""

    def __init__(self) -> None:
        super().__init__()
        self.setFont(monospace())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(READABLE)
        self._sides: list[tuple[AlignedSide, bool]] = []
        self._first: int | None = None
        self._marked: int | None = None

    def show_sides(self, sides: Sequence[tuple[AlignedSide, bool]], first: int | None, is_cut: bool) -> None:
        """Show one side of each row, scrolled to the row `first` (None: the top).

        The flag beside each side tells whether the row is the same on both sides. With `is_cut`, a note says
        that there are more rows.
        """
        self._sides = list(sides)
        self._first = self._marked = first
        shown = "\n".join(_shown(side.text) for side, _same in sides)
        self.setPlainText(shown + (self.tr("\n… the rest is too long to show here.") if is_cut else ""))
        self._look_at_first()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._look_at_first()

    def forget_first(self) -> None:
        """Stop scrolling to the first row on a resize, because the user has scrolled."""
        self._first = None

    def _look_at_first(self) -> None:
        """Scroll to the first row to show, unless the user has scrolled."""
        if self._first is not None:
            self.setTextCursor(QTextCursor(self.document().findBlockByNumber(self._first)))
            self.centerCursor()

    def tint(self, back: QColor, mark: QColor) -> None:
        """Tint the lines that differ with `back`, and mark the words that differ with a shade of `mark`."""
        selections: list[QTextEdit.ExtraSelection] = []
        strong = QColor(mark)
        strong.setAlpha(45)
        for number, (side, same) in enumerate(self._sides):
            if len(selections) >= _MOST_TINTED:
                break
            if same or not side.number:
                continue
            block = self.document().findBlockByNumber(number)
            line = QTextEdit.ExtraSelection()
            line.format.setBackground(strong if number == self._marked else back)
            line.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            line.cursor = QTextCursor(block)
            selections.append(line)
            for start, end in side.spans[:_MOST_SPANS]:
                if end - start >= len(side.text) or start >= _LONGEST_ROW:
                    continue
                word = QTextEdit.ExtraSelection()
                word.format.setBackground(strong)
                word.format.setFontUnderline(True)
                word.cursor = QTextCursor(block)
                at = block.position()
                word.cursor.setPosition(at + utf16_length(_shown(side.text[:start])))
                word.cursor.setPosition(
                    at + utf16_length(_shown(side.text[:end])), QTextCursor.MoveMode.KeepAnchor
                )
                selections.append(word)
        self.setExtraSelections(selections)


def _shown(text: str) -> str:
    """Return a line as displayed: escaped, with its tabs, and cut at `_LONGEST_ROW` characters."""
    return "\t".join(visible(cell) for cell in text[:_LONGEST_ROW].split("\t"))[:_LONGEST_ROW]


SIDE_BY_SIDE = 700


class DuplicatesPage(QWidget):
    """The page with the groups of duplicates, and the comparison of two files of the selected group."""

    merge_wanted = Signal(object)
    """Emitted with the files of a group, the one to keep first, when the user wants to merge them."""

    def __init__(self, lane: Lane, icons: Icons, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message = MessageBar(icons, "duplicates-message")
        self._lane = lane
        self._workbench: Workbench | None = None
        self._context: ScopeContext | None = None
        self._report: DuplicateReport | None = None
        self._ticket: Ticket | None = None
        self._comparing = False
        self.setAccessibleName(self.tr("Duplicates"))
        self.title = WrapLabel()
        embolden(self.title, 1.15)
        self.where = FitCombo()
        self.where.setAccessibleName(self.tr("Search in"))
        self.where.addItem(self.tr("Shown scopes"), "shown")
        self.where.addItem(self.tr("Whole home"), "home")
        self.which = FitCombo()
        self.which.setAccessibleName(self.tr("Groups to show"))
        for key, name in (
            ("", self.tr("All groups")),
            ("exact", self.tr("Same text")),
            ("near", self.tr("Same content")),
            ("alike", self.tr("Similar, but different")),
        ):
            self.which.addItem(name, key)
        self.finder = FitPushButton(self.tr("&Find"), icon=icons.icon("refresh"))
        self.list = two_line_list(self.tr("Groups of duplicates"))
        self.none = WrapLabel()
        self.none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.facts = WrapLabel()
        self.first = FitCombo()
        self.first.setAccessibleName(self.tr("Memory on the left"))
        self.second = FitCombo()
        self.second.setAccessibleName(self.tr("Memory on the right"))
        self.sides = SideBySide()
        self.merge = FitPushButton(self.tr("&Merge by hand…"))
        self.setMinimumWidth(scaled(self.font(), NARROWEST))
        self._arrange()
        self._connect()

    def _arrange(self) -> None:
        top = FlowLayout(self.where, self.which, self.finder)
        chosen = QHBoxLayout()
        chosen.setSpacing(UNIT)
        for box in (self.first, self.second):
            chosen.addWidget(box, 1)
        row = FlowLayout(self.merge)
        left = pane(self.none, self.list, grows=self.list)
        right = pane(self.facts, chosen, self.sides, row, grows=self.sides)
        panes = Panes(left, right, beside_from=SIDE_BY_SIDE, sizes=(300, 740))
        self.splitter = panes
        column(self, self.title, top, self.message, panes, grows=panes, margin=MARGIN, gap=GAP)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.splitter.turn(event.size().width())

    def _connect(self) -> None:
        self.finder.clicked.connect(self._on_find)
        self.where.currentIndexChanged.connect(self.look)
        self.which.currentIndexChanged.connect(self._fill)
        self.list.currentRowChanged.connect(self._on_row)
        self.first.currentIndexChanged.connect(self._compare)
        self.second.currentIndexChanged.connect(self._compare)
        self.merge.clicked.connect(self._on_merge)

    # Finding

    def show_home(self, workbench: Workbench, context: ScopeContext, label: str) -> None:
        """Search for duplicates in a home.

        Groups of the same context stay listed until there is a result. `label` is the name of the home.
        """
        if (workbench, context) != (self._workbench, self._context):
            self._report = None
            self.message.clear()
        self._workbench, self._context = workbench, context
        self.title.say(self.tr("Duplicate memories in {home}").format(home=label))
        self.look()

    @property
    def is_found(self) -> bool:
        """Whether a result is shown, and no search or comparison is running."""
        return self._report is not None and self._ticket is None and not self._comparing

    @property
    def group(self) -> DuplicateGroup | None:
        """The selected group; None if there is none."""
        item = self.list.currentItem()
        found: DuplicateGroup | None = item.data(Qt.ItemDataRole.UserRole) if item is not None else None
        return found

    @Slot()
    def _on_find(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
        else:
            self.look()

    @Slot()
    def look(self) -> None:
        """Start the search for duplicates again."""
        workbench = self._workbench
        if workbench is None:
            return
        context = self._context if self.where.currentData() == "shown" else None

        async def work(control: JobControl) -> DuplicateReport:
            return await ask(workbench.duplicates.find, context, progress=control.report)

        self._ticket = self._lane.submit(
            "look for duplicates",
            work,
            done=self._on_found,
            failed=self._on_failed,
            cancelled=self._on_stopped,
            progress=self._on_progress,
            group="find",
        )
        self.finder.say(self.tr("&Stop"), self.tr("Stop the search"))
        self._say_none(self.tr("Searching…"))

    def _on_progress(self, step: DuplicateProgress) -> None:
        share = f"{step.done:,} / {step.total:,}"
        self._say_none(
            {
                "read": self.tr("Reading… {share}").format(share=share),
                "pair": self.tr("Choosing memories to compare…"),
                "judge": self.tr("Comparing… {share}").format(share=share),
            }[step.step]
        )

    def _on_found(self, report: DuplicateReport) -> None:
        self._end()
        self._report = report
        self._fill()

    def _on_failed(self, error: UserError) -> None:
        self._end()
        self.message.say_error(error)
        self._fill()

    def _on_stopped(self) -> None:
        """Show that the user stopped the search.

        This is not called if one search replaces another.
        """
        self._end()
        self._fill()

    def _end(self) -> None:
        """Turn the Stop button into Find, after the end of a search."""
        self._ticket = None
        self.finder.say(self.tr("&Find"), self.tr("Search for duplicates again"))

    def _say_none(self, sentence: str) -> None:
        """Show a sentence above the list; "" hides the label."""
        self.none.say(sentence)
        self.none.setVisible(bool(sentence))

    @Slot()
    def _fill(self) -> None:
        """List the groups of the chosen kind, and keep the selection."""
        report, kind = self._report, self.which.currentData()
        groups = [group for group in report.groups if kind in ("", group.kind)] if report is not None else []
        wanted = {file.path for file in self.group.files} if self.group is not None else set()
        self.list.blockSignals(True)
        self.list.clear()
        for group in groups:
            self.list.addItem(_item(group))
        kept = [row for row, group in enumerate(groups) if wanted & {file.path for file in group.files}]
        self.list.setCurrentRow(kept[0] if kept else 0 if groups else -1)
        self.list.blockSignals(False)
        self.list.setVisible(bool(groups))
        if self._ticket is None:
            self._say_none("" if groups else self._why_none())
        self._on_row(self.list.currentRow())

    def _why_none(self) -> str:
        """Return a sentence that explains why no group is listed."""
        if self._report is None:
            return self.tr("The search was stopped.")
        return counted(
            "No duplicates: there is only 1 memory.",
            "No duplicates among %n memories.",
            self._report.looked_at,
        )

    # One group

    @Slot(int)
    def _on_row(self, _row: int) -> None:
        group = self.group
        files = group.files if group is not None else ()
        for box, at in ((self.first, 0), (self.second, 1)):
            box.blockSignals(True)
            box.clear()
            for file in files:
                box.addItem(_file_name(file), file)
                box.setItemData(box.count() - 1, as_tooltip(file.path), Qt.ItemDataRole.ToolTipRole)
            box.setCurrentIndex(min(at, len(files) - 1))
            box.setEnabled(len(files) > 1)
            box.blockSignals(False)
            box.follow()
        self.merge.setEnabled(group is not None)
        problem = visible(self._report.problem) if self._report is not None else ""
        self.facts.say(" ".join(filter(None, (_facts(group), problem))) if group is not None else "")
        self._compare()

    @Slot()
    def _compare(self) -> None:
        """Compare the two chosen files in a job, and show the result."""
        workbench, one, other = self._workbench, self.first.currentData(), self.second.currentData()
        if workbench is None or one is None or other is None:
            self.sides.show_rows(())
            return
        self._comparing = True

        async def work(control: JobControl) -> tuple[AlignedRow, ...]:
            left, right = await ask(workbench.duplicates.texts, (one, other))
            return aligned(left, right, control.check)

        self._lane.submit(
            "compare two memories",
            work,
            done=self._on_compared,
            failed=self._on_compare_failed,
            group="compare",
        )

    def _on_compared(self, rows: tuple[AlignedRow, ...]) -> None:
        self._comparing = False
        self.sides.show_rows(rows)

    def _on_compare_failed(self, error: UserError) -> None:
        self._comparing = False
        self.sides.show_rows(())
        self.message.say_error(error)

    @Slot()
    def _on_merge(self) -> None:
        group = self.group
        if group is not None:
            first = self.first.currentData()
            self.merge_wanted.emit((first, *(file for file in group.files if file != first)))


def percent(similarity: float) -> str:
    """Return the similarity as text, such as `97 %`; only a similarity of 1 gives `100 %`."""
    return f"{100 if similarity >= 1 else min(99, int(similarity * 100))} %"


def _item(group: DuplicateGroup) -> QListWidgetItem:
    """Return the list item of a group."""
    names = [visible(file.rel.rpartition("/")[2]) for file in group.files]
    kind = {"exact": tr("same text"), "near": tr("same content"), "alike": tr("similar, but different")}[
        group.kind
    ]
    files = counted("1 memory", "%n memories", len(names))
    item = QListWidgetItem(names[0])
    item.setData(Qt.ItemDataRole.UserRole, group)
    lines = TwoLines(", ".join(names), f"{files} · {kind}", percent(group.similarity))
    item.setData(TwoLineDelegate.ROLE, lines)
    item.setData(Qt.ItemDataRole.AccessibleTextRole, f"{lines.title}, {lines.below}, {lines.right}")
    item.setToolTip(as_tooltip(*(file.path for file in group.files)))
    return item


def _facts(group: DuplicateGroup) -> str:
    """Return a sentence about the similarity of the memories of a group."""
    share = percent(group.similarity)
    match group.kind:
        case "exact":
            return tr("The text is the same except for white space.")
        case "near":
            return tr("{share} of the smaller memory is also in the other memory.").format(share=share)
        case _:
            said = tr("{share} of the words are the same, but these memories do not count as duplicates:")
            return f"{said.format(share=share)} {group.reason}."


def _file_name(file: DuplicateFile) -> str:
    """Return the text to show for a file: its path, scope, size and owner."""
    where = f"{visible(file.rel)} · {words.scope_name(file.scope)} · {human_size(file.size)}"
    return f"{where} · {visible(file.owner)}" if file.owner else where


_CHECK_MS = 200
"""Milliseconds after the last keystroke before the text is checked for lost lines."""
_SHOWN_LOST = 200
"""The number of lost lines that are listed."""


class MergeMemoriesDialog(QDialog):
    """A dialog for merging memories: the files to merge, the one that stays, and its new text.

    The text starts as the union of all files. While the user edits the text, every line that would be lost is
    listed. Merging is possible only if no line would be lost, or if the user agrees to the loss. Reading and
    checking run in jobs; a result for an older text is dropped.
    """

    merge = Signal(object, str)
    """Emitted with the files, the one that stays first, and its text, when the user confirms."""

    def __init__(
        self,
        lane: Lane,
        workbench: Workbench,
        files: Sequence[DuplicateFile],
        icons: Icons,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._lane = lane
        self._workbench = workbench
        self._files = tuple(files)
        self._seed: MergeSeed | None = None
        self._seeded = ""
        self._checking = True
        self.lost: tuple[str, ...] = ()
        self.setWindowTitle(self.tr("Merge memories"))
        self.resize(820, 640)
        self.message = MessageBar(icons, "merge-message", closable=False)
        self.target = FitCombo()
        self.target.setAccessibleName(self.tr("Memory to keep"))
        self.members = QListWidget()
        self.members.setAccessibleName(self.tr("Memories to merge"))
        self.members.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for file in self._files:
            self._add(file)
        self.text = PlainTextBox()
        self.text.setFont(monospace())
        self.text.setAccessibleName(self.tr("Merged text"))
        self.text.setTabChangesFocus(False)
        self.check = WrapLabel()
        self.lost_list = QListWidget()
        self.lost_list.setAccessibleName(self.tr("Lines that would be lost"))
        self.lost_list.setFont(monospace())
        self.lost_list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.agreed = QCheckBox(self.tr("I &no longer need these lines"))
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.accept_button = self.buttons.addButton(self.tr("&Merge"), QDialogButtonBox.ButtonRole.AcceptRole)
        self._timer = single_shot(self, _CHECK_MS, self._check_now)
        self._lay_out()
        self._connect()
        self._read()

    def _add(self, file: DuplicateFile) -> None:
        """Add a file to the list of files that can stay, and, checked, to the list of files to merge."""
        name = visible(file.path)
        self.target.addItem(name, file)
        item = QListWidgetItem(f"{name} · {human_size(file.size)}")
        item.setToolTip(as_tooltip(file.path))
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Checked)
        self.members.addItem(item)

    def _lay_out(self) -> None:
        metrics = self.fontMetrics()
        self.members.setFixedHeight(min(4, len(self._files)) * (metrics.height() + GAP) + GAP)
        self.lost_list.setFixedHeight(4 * (metrics.height() + GAP))
        form = QFormLayout()
        form.setSpacing(GAP)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.addRow(self.tr("Memory to &keep"), self.target)
        form.addRow(self.tr("Memories &to merge"), self.members)
        column(
            self,
            self.message,
            form,
            self.text,
            self.check,
            self.lost_list,
            self.agreed,
            self.buttons,
            grows=self.text,
        )
        self.lost_list.hide()
        self.agreed.hide()

    def _connect(self) -> None:
        self.target.currentIndexChanged.connect(self._read)
        self.members.itemChanged.connect(self._read)
        self.text.textChanged.connect(self._on_text)
        self.agreed.toggled.connect(self._follow)
        self.buttons.accepted.connect(self._on_accepted)
        self.buttons.rejected.connect(self.reject)

    @property
    def chosen(self) -> tuple[DuplicateFile, ...]:
        """The files to merge, the one that stays first."""
        target: DuplicateFile = self.target.currentData()
        checked = [
            file
            for row, file in enumerate(self._files)
            if self.members.item(row).checkState() == Qt.CheckState.Checked
        ]
        return (target, *(file for file in checked if file != target))

    @property
    def content(self) -> str:
        """The merged text, with the line ends of the file that stays."""
        base = self._seed.result if self._seed is not None else ""
        return restored(base, self.text.content)

    @property
    def is_checked(self) -> bool:
        """Whether the text that is shown has been checked for lost lines."""
        return self._seed is not None and not self._checking

    @Slot()
    def _read(self) -> None:
        """Read the chosen files and create the merged text; text that the user typed is kept."""
        files, workbench = self.chosen, self._workbench
        self._checking = True
        self._follow()

        self._lane.submit(
            "prepare a merge",
            ask(workbench.duplicates.seed, files),
            done=self._on_seed,
            failed=self._on_failed,
            group="merge seed",
        )

    def _on_seed(self, seed: MergeSeed) -> None:
        typed = self._seed is not None and self.text.content != self._seeded
        self._seed = seed
        if not typed:
            self._seeded = widget_text(seed.result)
            self.text.setPlainText(self._seeded)
        self._check_now()

    @Slot()
    def _on_text(self) -> None:
        self._checking = True
        self._follow()
        self._timer.start()

    @Slot()
    def _check_now(self) -> None:
        """Find, in a job, the lines of the chosen files that the text does not contain."""
        seed, content = self._seed, self.content
        if seed is None:
            return
        self._timer.stop()

        def work(_control: JobControl) -> tuple[str, tuple[str, ...]]:

            after = content.encode("utf-8", "surrogatepass")
            lost = lost_lines(after, *(text.encode() for text in seed.texts))
            return content, tuple(dict.fromkeys(lost))

        self._lane.submit(
            "check a merge", work, done=self._on_checked, failed=self._on_failed, group="merge check"
        )

    def _on_checked(self, found: tuple[str, tuple[str, ...]]) -> None:
        content, lost = found
        if content != self.content:
            return
        self._checking = False
        if lost != self.lost:
            self.lost = lost
            self.agreed.setChecked(False)
            self.lost_list.clear()
            for line in lost[:_SHOWN_LOST]:
                item = QListWidgetItem(visible(line))
                item.setToolTip(as_tooltip(line))
                self.lost_list.addItem(item)
        self.lost_list.setVisible(bool(lost))
        self.agreed.setVisible(bool(lost))
        self._follow()

    @Slot()
    def _follow(self) -> None:
        """Update the result of the check, and the Merge button."""
        count = len(self.chosen)
        if self._checking:
            self.check.say(self.tr("Checking for lines that would be lost…"))
        elif self.lost:
            self.check.say(counted("1 line would be lost:", "%n lines would be lost:", len(self.lost)))
        else:
            self.check.say(self.tr("Every line of all these memories is kept."))
        self.accept_button.setEnabled(
            count > 1 and self.is_checked and (not self.lost or self.agreed.isChecked())
        )
        gone = counted("&Merge and delete 1 memory", "&Merge and delete %n memories", count - 1)
        self.accept_button.setText(gone if count > 1 else self.tr("&Merge"))

    def _on_failed(self, error: UserError) -> None:
        self._seed = None
        self.show_error(error)
        self._follow()

    def show_error(self, error: UserError) -> None:
        self.message.say_error(error)

    @Slot()
    def _on_accepted(self) -> None:
        if self.accept_button.isEnabled():
            self.merge.emit(self.chosen, self.content)


class DuplicatesControl(QObject):
    """Controller of the duplicate finder of the home that is shown.

    The page is created on first use, and closed when another home is shown.
    """

    changed = Signal()
    """Emitted after memories were merged."""
    merged = Signal(object, str)
    """Emitted with `Undo` and a sentence after a merge, if the page is hidden and cannot report it."""
    page_wanted = Signal(object)
    """Emitted with the page to show it, or with None to show the editor again."""

    def __init__(self, edits: Edits, icons: Icons, owner: QWidget) -> None:
        super().__init__(owner)
        self._edits, self._icons, self._owner = edits, icons, owner
        self._session: HomeSession | None = None
        self._back: TakeBack | None = None
        self.page: DuplicatesPage | None = None
        self._lane = Lane("duplicates", self)
        self.dialog: MergeMemoriesDialog | None = None
        edits.undone.connect(self._on_undone)

    def set_session(self, session: HomeSession | None) -> None:
        """Set the home to show, and close the dialog and the page of the previous one."""
        if self.dialog is not None:
            self.dialog.reject()
        self._session = session
        # Also while another tab covers it: it would reappear with the old home's memories.
        if self.page is not None and not self.page.isHidden():
            self.page_wanted.emit(None)

    def stop(self) -> None:
        """End the lane when the window closes; calling it again is harmless."""
        self._lane.stop()

    @property
    def is_page_shown(self) -> bool:
        return self.page is not None and self.page.isVisible()

    @Slot()
    def show(self) -> None:
        """Show the page, and search for duplicates in the home that is shown."""
        session = self._session
        if session is None or session.context is None:
            return
        page = self.page
        if page is None:
            page = self.page = DuplicatesPage(self._lane, self._icons)
            page.merge_wanted.connect(self.merge_by_hand)
            self._back = TakeBack(page.message, self._edits)
        elif self._back is not None:
            self._back.forget()
        self.page_wanted.emit(page)
        page.list.setFocus()
        page.show_home(session.workbench, session.context, visible(session.info.label))

    @Slot(object)
    def merge_by_hand(self, files: tuple[DuplicateFile, ...]) -> None:
        """Open the dialog to merge `files` into the first one, and merge them when the user confirms."""
        session, lane = self._session, self._lane
        if session is None:
            return
        self.dialog = MergeMemoriesDialog(lane, session.workbench, files, self._icons, self._owner)
        self.dialog.merge.connect(self._merge)
        self.dialog.finished.connect(self._on_dialog_gone)
        self.dialog.open()

    @Slot()
    def _on_dialog_gone(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
        self.dialog = None

    @Slot(object, str)
    def _merge(self, files: tuple[DuplicateFile, ...], content: str) -> None:
        """Merge `files` into the first one, which gets the text `content`."""
        session = self._session
        if session is None:
            return
        workbench = session.workbench

        work = ask(workbench.duplicates.merge, files, content)

        done, failed = partial(self._on_merged, session), partial(self._say_failed, session)
        self._edits.apply(session, "merge memories", work, done, failed)

    def _on_merged(self, session: HomeSession, undo: Undo) -> None:
        self.changed.emit()
        if session is not self._session:
            return
        if self.dialog is not None:
            self.dialog.accept()
        said = counted(
            "Memories merged; 1 memory was deleted.",
            "Memories merged; %n memories were deleted.",
            len(undo.removed),
        )
        if self.page is not None and self.is_page_shown and self._back is not None:
            self._back.offer(undo, said)
            self.page.look()
        else:
            self.merged.emit(undo, said)

    @Slot()
    def _on_undone(self) -> None:
        if self.page is not None and self.is_page_shown:
            self.page.look()

    def _say_failed(self, session: HomeSession, error: UserError) -> None:
        """Show the error of a merge in its dialog if the same home is still shown."""
        if session is self._session and self.dialog is not None:
            self.dialog.show_error(error)
