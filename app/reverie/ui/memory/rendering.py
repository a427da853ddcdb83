"""Markdown of a memory as a document to look at. The text is untrusted: nothing is ever loaded for it.

What Qt lays out in more than linear time is cut before it sees it: long lines, wide tables, deep quotes. Raw
HTML stays text (`MarkdownNoHTML`). An image becomes its alternative text and its address before the
document has a layout: Qt's layout would ask for the picture, and open a local file of that name when nobody
has it. What a document is asked to load, from wherever, is refused (`PlainDocument`).

Threading: GUI thread. Nothing fails; what is no Markdown is a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

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

from reverie.memory.front_edit import Front, read
from reverie.memory.frontmatter import split
from reverie.ui.shown import shortened, visible
from reverie.ui.theme import MARGIN, Theme

# Above this rendering at each rest of typing is felt.
LIMIT = 40_000
_LONGEST_RENDERED = 5_000
MOST_COLUMNS = 60
"""A row of a table with more columns is shown as it is written: Qt's layout of wide tables takes seconds."""
_DEEPEST_QUOTE = 12
_MOST_KEYS = 200
_QUOTES = re.compile(r"\s{0,3}(?:>[ \t]*)+")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


class PlainDocument(QTextDocument):
    """A document that loads nothing."""

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """No picture, no style sheet, from nowhere."""


def rendered(text: str, theme: Theme, font: QFont, parent: QObject) -> PlainDocument:
    """The document for a file's whole text; its front matter as lines above."""
    document = PlainDocument(parent)
    document.setUndoRedoEnabled(False)
    document.setDefaultFont(font)
    document.setDocumentMargin(MARGIN)
    block = split(text)
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
    """Place, length and replacement of every image."""
    found = []
    block = document.begin()
    while block.isValid():
        for fragment in _fragments(block):
            form = fragment.charFormat()
            if form.isImageFormat():
                image = form.toImageFormat()
                about = str(image.property(QTextFormat.Property.ImageAltText) or "-")
                words = f"[{visible(about)}: {visible(image.name())}]"
                # Several equal images beside each other are one fragment.
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
    """The text without what takes long to lay out."""
    return "\n".join(_bounded_line(line) for line in markdown.split("\n"))


def _bounded_line(line: str) -> str:
    line = shortened(line, _LONGEST_RENDERED)
    if line.count(">") > _DEEPEST_QUOTE and (quotes := _QUOTES.match(line)) is not None:
        depth = min(_DEEPEST_QUOTE, quotes[0].count(">"))
        line = ">" * depth + " " + line[quotes.end() :]
    return line.replace("|", "\\|") if line.count("|") > MOST_COLUMNS + 1 else line


def _with_alternatives(markdown: str) -> str:
    """Qt leaves images without an alternative text out; nobody would see that there is one."""
    if "![](" not in markdown:
        return markdown
    lines, fence = markdown.split("\n"), ""
    for at, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1][:3]
        elif not fence:
            lines[at] = line.replace("![](", "![-](")
    return "\n".join(lines)


def _colour(document: QTextDocument, theme: Theme) -> None:
    """Code and quotes as in the source; Qt's own colours do not know the dark scheme."""
    block = document.begin()
    cursor = QTextCursor(document)
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


def _put_front(document: QTextDocument, front: Front, raw: str, theme: Theme) -> None:
    """`key: value` lines above the text, as written where they cannot be read."""
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
