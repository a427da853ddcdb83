"""Two memories side by side: their lines aligned, and the words that differ marked.

Threading: `aligned` is pure and runs in jobs; the widget belongs to the GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest

from PySide6.QtCore import QEvent, Slot
from PySide6.QtGui import QColor, QResizeEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from reverie.memory.diff import changed_spans, word_spans
from reverie.text.summaries import utf16_length
from reverie.ui.appearance import UNIT, monospace, theme_of
from reverie.ui.display_text import visible
from reverie.ui.widgets.layouts import row_of
from reverie.ui.widgets.text_boxes import READABLE, PlainTextBox
from reverie.values import Struct, replace

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
    """True if both sides have this line."""


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
    """Return rows for the differing lines of two texts, paired in order, with the words that differ.

    `here`, `there`: the ranges of these lines in `one` and `other`, as (first, end), from 0.
    """
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
        for half in (self.left, self.right):
            half.tint(theme.accent_back, theme.accent)


class _Half(PlainTextBox):
    """One side of the comparison.

    Lines do not wrap, so that both sides have the same rows.
    """

    def __init__(self) -> None:
        super().__init__()
        self.setFont(monospace())
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setTextInteractionFlags(READABLE)
        self._sides: list[tuple[AlignedSide, bool]] = []
        self._first: int | None = None
        self._marked: int | None = None

    def show_sides(self, sides: Sequence[tuple[AlignedSide, bool]], first: int | None, is_cut: bool) -> None:
        """Show one side of each row, scrolled to the row number `first` (None: the top).

        The flag beside each side is True if the row is the same on both sides. With `is_cut`, a note says
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
