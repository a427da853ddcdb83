"""Renders the Markdown of a memory as a Qt document, which loads no external resources.

Threading: GUI thread. Failure: none; text that is not Markdown becomes a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import (
    QFont,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFragment,
)

from reverie.memory.front_matter import Front, read
from reverie.memory.front_matter_rules import block_of
from reverie.ui.appearance import MARGIN, Theme
from reverie.ui.display_text import shortened, visible

# Longer texts would make each rendering noticeable while typing.
LIMIT = 40_000
MOST_LINES = 500
"""The most lines of a rendered text: Qt lays out a list in time that grows with the square of its items."""


_LONGEST_RENDERED = 4_000


MOST_COLUMNS = 60
"""Tables with more columns are shown as source, because Qt's layout of wide tables takes seconds."""


MOST_CELLS = 300
"""The most cells of the tables of one text; Qt needs 0.1 ms for each. Later tables are shown as source."""


_DEEPEST_QUOTE = 12


_MOST_KEYS = 200


_QUOTES = re.compile(r"\s{0,3}(?:>[ \t]*)+")


_PIPE = re.compile(r"(?<!\\)\|")


_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


class PlainDocument(QTextDocument):
    """A document that loads no external resources, such as images or style sheets."""

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """Refuse to load a picture or style sheet."""


def rendered(text: str, theme: Theme, font: QFont, parent: QObject) -> PlainDocument:
    """Return a document with the rendered Markdown `text` of a file, and its front matter as lines above.

    `parent`: the object that owns the document. The text is untrusted, so no external resource is loaded, and
    raw HTML is shown as text. Long lines, wide tables and deep quotes are cut first, because their layout
    takes more than linear time. An image is replaced by its alternative text and its address before the
    document has a layout, because Qt's layout would open a local file of that name. Text that is not Markdown
    becomes a paragraph.
    """
    document = PlainDocument(parent)
    document.setUndoRedoEnabled(False)
    document.setDefaultFont(font)
    document.setDocumentMargin(MARGIN)
    block = block_of(text)
    features = QTextDocument.MarkdownFeature
    document.setMarkdown(
        _with_alternatives(_bounded(text[block.body_start :] if block is not None else text)),
        features.MarkdownDialectGitHub | features.MarkdownNoHTML,
    )
    for start, length, words in reversed(_images(document)):
        cursor = QTextCursor(document)
        cursor.setPosition(start)
        cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
        form = QTextCharFormat()
        form.setForeground(theme.dim)
        form.setFontItalic(True)
        cursor.insertText(words, form)
    _colour(document, theme)
    if block is not None:
        _put_front(document, read(text), text[block.block_start : block.block_end], theme)
    return document


def _images(document: QTextDocument) -> list[tuple[int, int, str]]:
    """Return (position, length, replacement text) of every image in the document, in UTF-16 units."""
    found = []
    block = document.begin()
    while block.isValid():
        for fragment in _fragments(block):
            form = fragment.charFormat()
            if form.isImageFormat():
                image = form.toImageFormat()
                about = str(image.property(QTextFormat.Property.ImageAltText) or "-")
                words = f"[{visible(about)}: {visible(image.name())}]"
                # Equal images next to each other are one fragment.
                found.append((fragment.position(), fragment.length(), words * fragment.length()))
        block = block.next()
    return found


def _fragments(block: QTextBlock) -> Iterator[QTextFragment]:
    each = block.begin()
    while not each.atEnd():
        fragment = each.fragment()
        if fragment.isValid():
            yield fragment
        each += 1


def _bounded(markdown: str) -> str:
    """Return `markdown` in a form that is fast to lay out.

    Long lines and deep quotes are shortened, and tables that are too wide or too many are shown as source.
    """
    lines, cells = list[str](), 0
    for is_table, part in groupby(_lines(markdown), lambda line: not line[1] and line[0].count("|") > 1):
        rows = [
            shortened(line, _LONGEST_RENDERED) if is_code else _bounded_line(line) for line, is_code in part
        ]
        cells += sum(row.count("|") for row in rows) if is_table else 0
        lines += [_PIPE.sub(r"\|", row) if is_table and cells > MOST_CELLS else row for row in rows]
    return "\n".join(lines)


def _lines(markdown: str) -> Iterator[tuple[str, bool]]:
    """Yield each line of `markdown`, with True if it belongs to a fenced block of code."""
    fence = ""
    for line in markdown.split("\n"):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1][:3]
            yield line, True
        else:
            yield line, fence != ""


def _bounded_line(line: str) -> str:
    line = shortened(line, _LONGEST_RENDERED)
    if line.count(">") > _DEEPEST_QUOTE and (quotes := _QUOTES.match(line)) is not None:
        depth = min(_DEEPEST_QUOTE, quotes[0].count(">"))
        line = ">" * depth + " " + line[quotes.end() :]
    return _PIPE.sub(r"\|", line) if line.count("|") > MOST_COLUMNS + 1 else line


def _with_alternatives(markdown: str) -> str:
    """Return the Markdown with "-" as the alternative text of each image that has none.

    Otherwise Qt would leave these images out.
    """
    if "![](" not in markdown:
        return markdown
    return "\n".join(line if is_code else line.replace("![](", "![-](") for line, is_code in _lines(markdown))


def _colour(document: QTextDocument, theme: Theme) -> None:
    """Set the colours of code, quotes and links as in the source; Qt's own colours ignore the theme."""
    block, cursor = document.begin(), QTextCursor(document)
    # As one edit: otherwise each move of the cursor would lay out its line again, however long.
    cursor.beginEditBlock()
    while block.isValid():
        form = block.blockFormat()
        is_code = form.hasProperty(QTextFormat.Property.BlockCodeFence) or form.hasProperty(
            QTextFormat.Property.BlockCodeLanguage
        )
        if is_code:
            back = QTextBlockFormat()
            back.setBackground(theme.window)
            cursor.setPosition(block.position())
            cursor.mergeBlockFormat(back)
        quoted = form.hasProperty(QTextFormat.Property.BlockQuoteLevel)
        for fragment in _fragments(block):
            given = fragment.charFormat()
            wanted = None
            if given.isAnchor():
                wanted = theme.hunk
            elif given.fontFixedPitch() and not is_code:
                wanted = theme.code
            elif quoted:
                wanted = theme.dim
            if wanted is not None:
                change = QTextCharFormat()
                change.setForeground(wanted)
                cursor.setPosition(fragment.position())
                end = fragment.position() + fragment.length()
                cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
                cursor.mergeCharFormat(change)
        block = block.next()
    cursor.endEditBlock()


def _put_front(document: QTextDocument, front: Front, raw: str, theme: Theme) -> None:
    """Insert the front matter above the text as lines of the form `key: value`.

    `raw`: the source of the front matter; its lines are inserted instead if `front` has no keys, because it
    could not be read. Long lines, and lines after the first `_MOST_KEYS`, are cut.
    """
    lines = [
        f"{' / '.join(entry.path)}: {entry.raw if entry.text is None else entry.text}"
        for entry in front.entries
    ]
    cursor = QTextCursor(document)
    cursor.insertBlock()
    cursor.setPosition(0)
    above = QTextBlockFormat()
    above.setBackground(theme.accent_back)
    above.setBottomMargin(MARGIN)
    cursor.setBlockFormat(above)
    form = QTextCharFormat()
    form.setForeground(theme.text)
    # A line separator keeps them one block, which has one background.
    shown = [visible(shortened(line)) for line in (lines or raw.splitlines())[:_MOST_KEYS]]
    cursor.insertText("\u2028".join(shown), form)
