"""A read-only text with coloured lines, which is filled in parts so that the window does not block.

Texts come from disk: hidden characters are escaped, and very long lines are cut. Threading: GUI thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from PySide6.QtCore import QEvent, Slot
from PySide6.QtGui import QColor, QTextBlock, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QWidget

from reverie.ui.appearance import Theme, monospace, theme_of
from reverie.ui.display_text import shortened, visible_lines
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.text_boxes import READABLE, FormattedTextBox

Done = Callable[[], None]
AT_ONCE, CHARS_AT_ONCE = 40, 1_000
"""The maximum number of lines and of characters that are added to a text in one event."""
_MOST_ROWS = 100
"""The maximum number of rows of one line, which may contain bare carriage returns."""
LONGEST_ROW = 2_000
"""The longest row, in characters, that a view can show without blocking the window."""


class ReadOnlyText(FormattedTextBox):
    """A read-only text in a monospaced font; each line can have its own background colour.

    It can be selected with mouse and keyboard.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAcceptRichText(False)
        self.setUndoRedoEnabled(False)
        self.setFont(monospace())
        self.setAccessibleName(name)
        self.setTextInteractionFlags(READABLE)
        self._again: Done = self._nothing
        self._cursor = QTextCursor(self.document())
        self._first = True
        self._steps: Iterator[object] = iter(())
        self._done: Done = self._nothing
        self._rest = single_shot(self, 0, self._go_on)

    def _nothing(self) -> None:
        """Do nothing; used while no callback is set."""

    def begin(self, again: Callable[[], None]) -> Theme:
        """Clear the text and return the theme with the colours to use.

        `again` is called when the theme has changed, and must fill the text again.
        """
        self._again = again
        self._rest.stop()
        self.clear()
        self._cursor = QTextCursor(self.document())
        self._first = True
        return theme_of(self.palette())

    def fill(self, steps: Iterator[object], done: Done | None = None, *, later: bool = False) -> None:
        """Advance `steps` until it ends, then call `done`; each step must add one line by calling `line`.

        At most `AT_ONCE` lines are added in one event, so that the window does not block: the first ones now
        or, if `later`, in the next event. The caret stays at the beginning of the text.
        """
        self._steps, self._done = steps, done or self._nothing
        is_filled = not later and self._add()
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self._finish(is_filled)

    @property
    def is_filled(self) -> bool:
        """True if all lines of the last `fill` have been added."""
        return not self._rest.isActive()

    @Slot()
    def _go_on(self) -> None:
        self._finish(self._add())

    def _finish(self, is_filled: bool) -> None:
        if is_filled:
            self._done()
        else:
            self._rest.start()

    def _add(self) -> bool:
        """Add the next few lines; return True if these were the last."""
        most = self.document().characterCount() + CHARS_AT_ONCE
        self._cursor.beginEditBlock()
        try:
            for number, _line in enumerate(self._steps, 1):
                if number >= AT_ONCE or self.document().characterCount() >= most:
                    return False
            return True
        finally:
            self._cursor.endEditBlock()

    def line(
        self,
        text: str,
        colour: QColor | None = None,
        back: QColor | None = None,
        *,
        marks: Sequence[tuple[int, int]] = (),
        mark: QColor | None = None,
        struck: bool = False,
        height: int = 0,
    ) -> QTextBlock:
        """Add a line of text at the end; return its block.

        `colour` and `back` are its text and background colours; None: those of the theme. `marks`: the
        (start, length) pairs of parts with the background `mark`. `struck`: strike the text out. `height`:
        the minimum height of the line in pixels.
        """
        block, chars = QTextBlockFormat(), QTextCharFormat()
        if back is not None:
            block.setBackground(back)
        if height:
            block.setLineHeight(height, QTextBlockFormat.LineHeightTypes.MinimumHeight.value)
        if colour is not None:
            chars.setForeground(colour)
        chars.setFontStrikeOut(struck)
        if self._first:
            self._cursor.setBlockFormat(block)
            self._first = False
        else:
            self._cursor.insertBlock(block)
        text = shortened(visible_lines(text[:LONGEST_ROW]) + "…" * (len(text) > LONGEST_ROW), LONGEST_ROW)
        if text.count("\n") > _MOST_ROWS:
            text = "\n".join(text.split("\n", _MOST_ROWS)[:_MOST_ROWS]) + "…"
        at = 0
        for start, length in marks:
            self._cursor.insertText(text[at:start], chars)
            marked = QTextCharFormat(chars)
            if mark is not None:
                marked.setBackground(mark)
            self._cursor.insertText(text[start : start + length], marked)
            at = start + length
        self._cursor.insertText(text[at:], chars)
        return self._cursor.block()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._again()
