"""The attempted change: what the run wanted to write, and where it did not fit, what the memory really has.

The two texts stand below each other with the words that differ marked, since one word left out is the whole
explanation. Texts come from a model and from the memory: drawn as plain text. Threading: GUI thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from reverie.memory.diff import WordSpans, word_spans
from reverie.ui.appearance import mixed, readable, theme_of
from reverie.ui.display_text import visible, visible_lines
from reverie.ui.widgets.layouts import column, split
from reverie.ui.widgets.text_views import DiffView

if TYPE_CHECKING:
    from reverie.services.traces import MissedEdit, TraceDetail

_WORD = 0.35
"""How much stronger a word is marked than its line."""


class MissedView(QPlainTextEdit):
    """The writes that did not fit. Read-only."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._edits: tuple[MissedEdit, ...] = ()
        self.setReadOnly(True)
        self.setAccessibleName(self.tr("Writes that did not fit the memory"))

    def show_edits(self, edits: tuple[MissedEdit, ...]) -> None:
        """Show these; none: empty."""
        self._edits = edits
        self._fill()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange:
            self._fill()

    def _fill(self) -> None:
        self.clear()
        theme, cursor = theme_of(self.palette()), QTextCursor(self.document())
        heading, note = QTextCharFormat(), QTextCharFormat()
        heading.setFontWeight(600)
        note.setForeground(theme.dim)
        for number, edit in enumerate(self._edits):
            name = self.tr("Attempt {n}, {tool}").format(n=edit.attempt, tool=edit.tool)
            why = visible(edit.problem) or self.tr("The text to replace is not in the memory.")
            cursor.insertText("\n\n" * bool(number) + visible(name) + ": ", heading)
            cursor.insertText(why, QTextCharFormat())
            wanted, found = word_spans(edit.wanted, edit.found)
            if edit.wanted:
                cursor.insertText("\n" + self.tr("The model wanted to replace"), note)
                self._insert(
                    cursor, edit.wanted, theme.removed_back, theme.removed, wanted if edit.found else ()
                )
            if edit.found:
                cursor.insertText("\n" + self.tr("The memory has"), note)
                self._insert(cursor, edit.found, theme.added_back, theme.added, found)
            elif edit.wanted:
                cursor.insertText("\n" + self.tr("Nothing in the memory is like it."), note)
            if edit.new:
                cursor.insertText("\n" + self.tr("It would have written"), note)
                self._insert(cursor, edit.new, theme.base, theme.text, ())
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _insert(self, cursor: QTextCursor, text: str, back: QColor, tint: QColor, marked: WordSpans) -> None:
        """One text with some of its words marked."""
        line, word = QTextCharFormat(), QTextCharFormat()
        strong = mixed(tint, back, _WORD)
        word.setBackground(strong)
        word.setForeground(readable(self.palette().text().color(), strong))
        word.setFontUnderline(True)  # colour alone is no mark
        cursor.insertText("\n  ", line)
        done = 0
        for start, length in (*marked, (len(text), 0)):
            for part, style in ((text[done:start], line), (text[start : start + length], word)):
                cursor.insertText(visible_lines(part).replace("\n", "\n  "), style)
            done = start + length


class AttemptView(QWidget):
    """What did not fit above, what fits the memory below; either is hidden where there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.missed = MissedView()
        self.diff = DiffView()
        column(self, split(self.missed, self.diff, sizes=(260, 200), upright=True), margin=0, gap=None)

    def show_trace(self, detail: TraceDetail | None) -> None:
        """None: nothing is shown."""
        missed = detail.missed if detail is not None else ()
        tried = detail.tried if detail is not None else ""
        self.missed.show_edits(missed)
        self.missed.setVisible(bool(missed))
        nothing = "" if detail is None else self.tr("The run tried to change nothing.")
        self.diff.show_diff(tried or nothing)
        self.diff.setVisible(bool(tried) or not missed)


def tried_text(detail: TraceDetail) -> str:
    """All of it as one diff, to be compared with another one."""
    parts = [detail.tried]
    for edit in detail.missed:
        lines = [f"-{line}" for line in edit.wanted.splitlines()] + [
            f"+{line}" for line in edit.new.splitlines()
        ]
        parts.append("\n".join((f"@@ {edit.attempt}: {' '.join(edit.problem.split())} @@", *lines, "")))
    return "".join(parts)
