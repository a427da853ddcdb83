"""Text boxes that change no character of their text, nor of what is copied, cut or dragged out of them.

Qt's own `toPlainText`, and therefore its copy, turns no-break spaces into blanks and the separators U+2028
and U+2029 into line ends. Every text box of the window is one of these instead. Threading: GUI thread.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextEdit, QTextBrowser, QTextEdit


def text_of(document: QTextDocument) -> str:
    r"""Return the text of a document, with line breaks `\n`."""
    return document.toRawText().replace("\u2029", "\n")


def selected_text(cursor: QTextCursor) -> str:
    r"""Return the selected text, with line breaks `\n`."""
    return cursor.selectedText().replace("\u2029", "\n")


def _copied(cursor: QTextCursor) -> QMimeData:
    data = QMimeData()
    data.setText(selected_text(cursor))
    return data


class PlainTextBox(QPlainTextEdit):
    """A box for plain text."""

    @property
    def content(self) -> str:
        r"""The full text, with line breaks `\n`."""
        return text_of(self.document())

    def createMimeDataFromSelection(self) -> QMimeData:
        return _copied(self.textCursor())


class FormattedTextBox(QTextEdit):
    """A box for formatted lines; what is copied from it is plain."""

    @property
    def content(self) -> str:
        r"""The full text, with line breaks `\n`."""
        return text_of(self.document())

    def createMimeDataFromSelection(self) -> QMimeData:
        return _copied(self.textCursor())


class PageBox(QTextBrowser):
    """A box for a rendered page, copied both with its formats and as plain text."""

    def createMimeDataFromSelection(self) -> QMimeData:
        data = _copied(self.textCursor())
        data.setHtml(self.textCursor().selection().toHtml())
        return data
