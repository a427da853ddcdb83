"""The attempted change: what the run wanted to write, and where it did not fit, what the memory really has.

The two texts stand below each other with the words that differ marked, since one word left out is the whole
explanation. Texts come from a model and from the memory: drawn as plain text. Threading: GUI thread.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from reverie.ui.appearance import mixed, readable, theme_of
from reverie.ui.display_text import visible, visible_lines
from reverie.ui.widgets.layouts import column, split
from reverie.ui.widgets.text_views import DiffView

if TYPE_CHECKING:
    from reverie.services.traces import MissedEdit, TraceDetail

_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
_MOST_WORDS = 4_000
"""Longer texts are not compared word by word: that takes the square of it."""
_WORD = 0.35
"""How much stronger a word is marked than its line."""

Piece = tuple[str, bool]
"""A part of a text, and whether the other text lacks it."""


def word_differences(one: str, other: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces."""
    words = _WORDS.findall(one), _WORDS.findall(other)
    if max(map(len, words)) > _MOST_WORDS:
        return [(one, False)], [(other, False)]
    pieces: tuple[list[Piece], list[Piece]] = ([], [])
    for tag, a, b, c, d in SequenceMatcher(None, *words, autojunk=False).get_opcodes():
        for side, part in ((0, words[0][a:b]), (1, words[1][c:d])):
            if part:
                pieces[side].append(("".join(part), tag != "equal"))
    return pieces


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
            wanted, found = word_differences(edit.wanted, edit.found)
            if edit.wanted:
                cursor.insertText("\n" + self.tr("The model wanted to replace"), note)
                self._insert(cursor, wanted, theme.removed_back, theme.removed, edit.found)
            if edit.found:
                cursor.insertText("\n" + self.tr("The memory has"), note)
                self._insert(cursor, found, theme.added_back, theme.added, edit.found)
            elif edit.wanted:
                cursor.insertText("\n" + self.tr("Nothing in the memory is like it."), note)
            if edit.new:
                cursor.insertText("\n" + self.tr("It would have written"), note)
                self._insert(cursor, [(edit.new, False)], None, theme.text, "")
        self.moveCursor(QTextCursor.MoveOperation.Start)

    def _insert(
        self, cursor: QTextCursor, pieces: Sequence[Piece], back: QColor | None, tint: QColor, other: str
    ) -> None:
        """One text, its words marked where there is another one to differ from."""
        line = QTextCharFormat()
        word = QTextCharFormat()
        if back is not None and other:
            strong = mixed(tint, back, _WORD)
            word.setBackground(strong)
            word.setForeground(readable(self.palette().text().color(), strong))
            word.setFontUnderline(True)  # colour alone is no mark
        cursor.insertText("\n  ", line)
        for text, differs in pieces:
            cursor.insertText(visible_lines(text).replace("\n", "\n  "), word if differs else line)


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
