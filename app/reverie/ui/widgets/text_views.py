"""Read-only views: of a unified diff, of a version of a file, and of a part of the agent's context.

Texts come from disk: hidden characters are escaped, and very long texts and lines are cut. Threading: GUI
thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QEvent
from PySide6.QtGui import QTextCursor, QTextFormat
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from reverie.memory.diff import InvisibleKind, invisible_in
from reverie.ui.appearance import monospace, theme_of
from reverie.ui.display_text import rows_of, shortened, tr, visible_lines
from reverie.ui.widgets.read_only_text import LONGEST_ROW, ReadOnlyText
from reverie.ui.widgets.text_boxes import READABLE, PlainTextBox

_HEAD = (
    "+++ ",
    "--- ",
    "diff ",
    "index ",
    "new file",
    "deleted file",
    "similarity",
    "rename ",
    "old mode",
    "new mode",
)
_HUNK = re.compile(r"^@@ .*\n", re.MULTILINE)
# Longer texts are cut: this view is for reading; the editor and `reverie diff` show everything.
LIMIT = 400_000
"""The maximum number of characters that a view can show without blocking the window."""
MOST_ROWS = 4_000
"""The maximum number of rows that a view can show without blocking the window."""


def invisible_words(kinds: Sequence[InvisibleKind]) -> str:
    """Return a sentence that names the kinds of invisible differences between lines; "" if there are none."""
    if not kinds:
        return ""
    words: dict[InvisibleKind, str] = {
        "line ends": tr("line endings (LF or CR LF)"),
        "last line end": tr("line break at the end of the file"),
        "blanks at the end": tr("trailing spaces"),
        "spaces": tr("kind or number of spaces"),
        "composition": tr("encoding of accented letters"),
    }
    found = ", ".join(words[kind] for kind in kinds)
    return tr("Some lines look the same but differ in: {found}.").format(found=found)


def fitting_rows(text: str) -> tuple[list[str], bool]:
    """Return as many rows of `text` as a view can show, and True if the text has more.

    A row is a line of the text; hidden characters in it are escaped, and a very long row is shortened.
    """
    rows = rows_of(text[:LIMIT], MOST_ROWS + 1)
    fitting = visible_lines(
        "".join(f"{row[:LONGEST_ROW]}{'…' * (len(row) > LONGEST_ROW)}\n" for row in rows[:MOST_ROWS])
    )
    # Shorten again, because an escape is longer than its character.
    shown = [shortened(row, LONGEST_ROW) for row in fitting.split("\n")] if rows else []
    return shown, len(text) > LIMIT or len(rows) > MOST_ROWS


def read_only_text(name: str, text: str = "", *, fixed: bool = False) -> PlainTextBox:
    """Return a read-only text box that shows `text`, which can be selected with mouse and keyboard.

    `name` is its accessible name. `fixed`: use a monospaced font.
    """
    made = PlainTextBox(text)
    made.setAccessibleName(name)
    made.setTextInteractionFlags(READABLE)
    if fixed:
        made.setFont(monospace())
    return made


class DiffView(ReadOnlyText):
    """A read-only view of a unified diff."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self.setAccessibleName(self.tr("Difference"))

    def show_diff(self, text: str) -> None:
        """Show a unified diff; if it is too long, a note says that it was cut."""
        theme = self.begin(lambda: self.show_diff(text))
        shown = text
        # The diff's header names the file, which the view around it already does.
        if text.startswith("diff --git "):
            _head, *hunks = _HUNK.split(text)
            shown = "…\n".join(hunks)
        rows, is_cut = fitting_rows(shown)
        words = invisible_words(invisible_in("\n".join(shown[:LIMIT].split("\n", MOST_ROWS)[:MOST_ROWS])))
        colours = {"+": theme.added, "-": theme.removed, "@": theme.hunk, "\\": theme.dim}
        backs = {"+": theme.added_back, "-": theme.removed_back}

        def steps() -> Iterator[None]:
            for row in [words] * bool(words) + rows + [_too_long()] * is_cut:
                kind = "\\" if row.startswith(_HEAD) else row[:1]
                self.line(row, colours.get(kind), backs.get(kind))
                yield

        self.fill(steps())


def _too_long() -> str:
    return tr("… the rest is too long to show here.")


class TextView(PlainTextBox):
    """A read-only view of the content of a file, with a caret that the keyboard moves."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFont(monospace())
        self.setAccessibleName(self.tr("Text of this version"))
        self.setTextInteractionFlags(READABLE)

    def show_bytes(self, content: bytes | None) -> None:
        """Show the content of a file; None shows an empty view."""
        if content is None:
            self.setPlainText("")
            return
        if b"\0" in content[:LIMIT]:
            self.setPlainText(self.tr("This version is not text."))
            return
        rows, is_cut = fitting_rows(content[: 4 * LIMIT].decode("utf-8", "replace"))
        self.setPlainText("\n".join(rows + [_too_long()] * is_cut))


_MARKED_LINES = 500


class LoadedText(PlainTextBox):
    """A read-only view of a text, in which some lines are marked.

    A line that contains a CR is shown as several rows; all of them are marked.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marked: list[int] = []
        self._rows: list[int] = []
        self.setReadOnly(True)
        self.setFont(monospace())
        self.setAccessibleName(self.tr("Loaded text"))
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setPlaceholderText(self.tr("Nothing is loaded."))

    @property
    def marked(self) -> list[str]:
        """The texts of the marked rows, from top to bottom."""
        return [each.cursor.block().text() for each in self.extraSelections()]

    def show_text(self, text: str, marked: tuple[int, ...]) -> None:
        """Show `text`, and mark the lines with the numbers `marked`, counted from 1."""
        self.setPlainText("\n".join(fitting_rows(text)[0]))
        self._rows = _first_rows(text[:LIMIT])
        lines = [line for line in marked if line < len(self._rows)][:_MARKED_LINES]
        self._marked = [
            row for line in lines for row in range(self._rows[line - 1], self._rows[line]) if row < MOST_ROWS
        ]
        self._mark()

    def go_to(self, line: int) -> None:
        """Scroll to a line, by its number counted from 1; do nothing for 0."""
        if 0 < line < len(self._rows):
            block = self.document().findBlockByNumber(self._rows[line - 1])
            self.setTextCursor(QTextCursor(block))
            # Put the line at the top, so that the lines after it are visible.
            self.verticalScrollBar().setValue(block.firstLineNumber())

    def _mark(self) -> None:
        found = []
        for row in self._marked:
            each = QTextEdit.ExtraSelection()
            each.format.setBackground(theme_of(self.palette()).warn_back)
            each.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            each.cursor = QTextCursor(self.document().findBlockByNumber(row))
            # The whole line, if it is wrapped.
            each.cursor.movePosition(QTextCursor.MoveOperation.EndOfBlock, QTextCursor.MoveMode.KeepAnchor)
            found.append(each)
        self.setExtraSelections(found)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and self._marked:
            self._mark()


def _first_rows(text: str) -> list[int]:
    """Return, for each line of `text`, the index of its first row, and at the end the number of all rows.

    A line ends at LF, a row also at CR.
    """
    found = [0]
    for line in text.split("\n", MOST_ROWS)[:MOST_ROWS]:
        if found[-1] >= MOST_ROWS:
            break
        found.append(found[-1] + max(1, len(rows_of(line, MOST_ROWS))))
    return found
