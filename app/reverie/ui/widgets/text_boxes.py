"""Text boxes that return every character of their text unchanged, also when text is copied, cut or dragged.

Qt's own `toPlainText`, and therefore its copy, turns no-break spaces into blanks and the separators U+2028
and U+2029 into line breaks. Every text box of the window is one of these instead.

A document of Qt begins a new block at U+2029 and at two noncharacters, which then cannot be distinguished
from line breaks. So each of these three is replaced in the document by another noncharacter, its stand-in. A
block of a document is then always a line of its text. Threading: GUI thread.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QTextBrowser, QTextEdit

from reverie.ui.display_text import MOST_LINES, has_long_line

_BREAKING, _STAND_INS = "\u2029\ufdd0\ufdd1", "\ufdd2\ufdd3\ufdd4"
_MOST_CHARS = 120_000
MOST_BYTES = 4 * _MOST_CHARS
"""The bytes of the largest file that can be edited in a text box."""
READABLE = Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
"""The interactions of the user with a read-only text."""
_INTO = str.maketrans(_BREAKING, _STAND_INS)
_OUT_OF = str.maketrans(_STAND_INS + "\u2029", _BREAKING + "\n")


def for_document(text: str) -> str:
    """Return `text` for a document, with stand-ins for the characters that Qt would take for line breaks.

    The length stays the same.
    """
    return text.translate(_INTO) if any(map(text.__contains__, _BREAKING)) else text


def can_be_edited(text: str) -> bool:
    r"""Return True if a text box can show `text` without delay and return it unchanged.

    `text` has only the line break `\n`. What a box would change is a stand-in and a lone surrogate.
    """
    if len(text) > _MOST_CHARS or text.count("\n") > MOST_LINES or has_long_line(text):
        return False
    return _fits_document(text) and text == text.encode("utf-8", "ignore").decode()


def _fits_document(text: str) -> bool:
    """Return True if a document would return `text` unchanged; False if the text contains a stand-in."""
    return not any(map(text.__contains__, _STAND_INS))


def _from_document(raw: str) -> str:
    return raw.replace("\u2029", "\n") if _fits_document(raw) else raw.translate(_OUT_OF)


def text_of(document: QTextDocument) -> str:
    r"""Return the text of a document, with line breaks `\n`."""
    return _from_document(document.toRawText())


def selected_text(cursor: QTextCursor) -> str:
    r"""Return the selected text, with line breaks `\n`."""
    return _from_document(cursor.selectedText())


def _copied(cursor: QTextCursor) -> QMimeData:
    data = QMimeData()
    data.setText(selected_text(cursor))
    return data


class PlainTextBox(QPlainTextEdit):
    """A text box for plain text."""

    def setPlainText(self, text: str) -> None:
        super().setPlainText(for_document(text))

    @property
    def content(self) -> str:
        r"""The full text, with line breaks `\n`."""
        return text_of(self.document())

    def createMimeDataFromSelection(self) -> QMimeData:
        return _copied(self.textCursor())

    def insertFromMimeData(self, source: QMimeData) -> None:
        data = QMimeData()
        data.setText(for_document(source.text()))
        super().insertFromMimeData(data)


class FormattedTextBox(QTextEdit):
    """A text box for formatted lines; text that is copied from it is plain text."""

    @property
    def content(self) -> str:
        r"""The full text, with line breaks `\n`."""
        return text_of(self.document())

    def createMimeDataFromSelection(self) -> QMimeData:
        return _copied(self.textCursor())


class PageBox(QTextBrowser):
    """A box for a rendered page; text that is copied from it is available formatted and as plain text."""

    def createMimeDataFromSelection(self) -> QMimeData:
        data = _copied(self.textCursor())
        data.setHtml(self.textCursor().selection().toHtml())
        return data
