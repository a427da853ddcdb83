"""The rendered text of a memory, beside or instead of its source.

Nothing is loaded, from the network or from the disk. A link is never followed by a click: its
whole address is shown in plain text first, with Cancel as the answer that Return gives, and only web and mail
addresses can be opened at all.

Threading: GUI thread. Rendering waits for a rest of typing; a text above `LIMIT` is not rendered
and a sentence says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from PySide6.QtCore import QEvent, QObject, Qt, QUrl, Signal, Slot
from PySide6.QtGui import (
    QDesktopServices,
    QFont,
    QFontMetrics,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextFormat,
    QTextFragment,
)
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QDialogButtonBox,
    QTextBrowser,
    QWidget,
)

from reverie.memory.front_matter import Front, read
from reverie.memory.front_matter_rules import block_of
from reverie.ui.appearance import GAP, MARGIN, UNIT, Theme, theme_of
from reverie.ui.display_text import shortened, visible
from reverie.ui.jobs import single_shot
from reverie.ui.widgets.controls import ElidedLabel, WrapLabel
from reverie.ui.widgets.layouts import column
from reverie.ui.widgets.text_boxes import PageBox
from reverie.ui.widgets.text_views import read_only_text

# Markdown of a memory as a document to look at. The text is untrusted: nothing is ever loaded for it.
#
# What Qt lays out in more than linear time is cut before it sees it: long lines, wide tables, deep quotes.
# Raw HTML stays text (`MarkdownNoHTML`). An image becomes its alternative text and its address before the
# document has a layout: Qt's layout would ask for the picture, and open a local file of that name when
# nobody has it. What a document is asked to load, from wherever, is refused (`PlainDocument`).
#
# Threading: GUI thread. Nothing fails; what is no Markdown is a paragraph.


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


OPENED = frozenset({"http", "https", "mailto"})
_REST_MS = 180


class PreviewPane(QWidget):
    """Feed it with `say_text`; it renders while it is visible. `rendered()`: the text shown is another.
    `scrolled()`: a person moved it."""

    rendered = Signal()
    scrolled = Signal()

    def __init__(
        self, parent: QWidget | None = None, opener: Callable[[QUrl], bool] = QDesktopServices.openUrl
    ) -> None:
        super().__init__(parent)
        self._opener = opener
        self._text = ""
        self._shown: str | None = None
        self._zoom = 0
        self._rendering = False
        self.question: LinkDialog | None = None
        self.browser = _Browser()
        self.browser.setAccessibleName(self.tr("Rendered text of the memory"))
        self.browser.anchorClicked.connect(self.ask)
        self.browser.highlighted.connect(self._show_address)
        self.browser.verticalScrollBar().valueChanged.connect(self._on_scroll)
        self.note = WrapLabel()
        self.note.setContentsMargins(GAP, UNIT, GAP, UNIT)
        self.note.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.address = ElidedLabel()
        self.address.setContentsMargins(GAP, 0, GAP, UNIT)
        self._rest = single_shot(self, _REST_MS, self.render_now)
        column(self, self.note, self.browser, self.address, grows=self.browser, margin=0, gap=0)
        self.note.hide()
        self.address.hide()

    def say_text(self, text: str, *, at_once: bool = False) -> None:
        """The file's text as it is now; `at_once`: another file, nobody is typing."""
        self._text = text
        if not self.isVisible():
            self._shown = None
        elif at_once:
            self.render_now()
        else:
            self._rest.start()

    def set_zoom(self, points: int) -> None:
        """The text larger or smaller, as the source."""
        if points != self._zoom:
            self._zoom = points
            self._again()

    @Slot()
    def render_now(self) -> None:
        """Render what was said last, if it is not shown yet."""
        self._rest.stop()
        if self._shown == self._text:
            return
        self._shown = self._text
        too_large = len(self._text) > LIMIT
        self.note.setVisible(too_large)
        self.browser.setVisible(not too_large)
        self._say("")
        if too_large:
            self.note.say(self.tr("This file is too large to preview. The source is still available."))
            return
        bar = self.browser.verticalScrollBar()
        place = bar.value()
        self._rendering = True
        self.browser.show_document(rendered(self._text, theme_of(self.palette()), self._font(), self.browser))
        bar.setValue(place)
        self._rendering = False
        self.rendered.emit()

    @Slot()
    def _on_scroll(self) -> None:
        """New text moves the view, too; that is nobody's wish."""
        if not self._rendering and (self.browser.hasFocus() or self.browser.underMouse()):
            self.scrolled.emit()

    def _font(self) -> QFont:
        font = QFont(QApplication.font())
        if font.pointSizeF() > 0:
            font.setPointSizeF(max(4.0, font.pointSizeF() + self._zoom))
        return font

    def _again(self) -> None:
        self._shown = None
        if self.isVisible():
            self.render_now()

    # Links

    @Slot(QUrl)
    def _show_address(self, url: QUrl) -> None:
        self._say(_address(url))

    def _say(self, sentence: str) -> None:
        self.address.say(sentence)
        self.address.setVisible(bool(sentence))

    @Slot(QUrl)
    def ask(self, url: QUrl) -> None:
        """Show where a link leads; it is opened only when a person says so then."""
        if url.scheme().lower() not in OPENED:
            self._say(
                self.tr("Not opened, only web and mail addresses are: {address}").format(
                    address=_address(url)
                )
            )
            return
        dialog = LinkDialog(url, self)
        dialog.accepted.connect(self._open)
        dialog.finished.connect(dialog.deleteLater)
        self.question = dialog
        dialog.open()

    @Slot()
    def _open(self) -> None:
        if self.question is not None and not self._opener(self.question.url):
            self._say(self.tr("Nothing on this computer opens {address}").format(
                address=_address(self.question.url)))  # fmt: skip

    # Events

    def showEvent(self, event) -> None:  # type: ignore[no-untyped-def]
        super().showEvent(event)
        self.render_now()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "note"):
            self._again()


class _Browser(PageBox):
    """Follows no link by itself, loads nothing and shows no tool tip of the text's own, which Qt would read
    as markup."""

    def __init__(self) -> None:
        super().__init__()
        self.setOpenLinks(False)
        self.setOpenExternalLinks(False)
        self.setFrameShape(QTextBrowser.Shape.NoFrame)

    def show_document(self, document: PlainDocument) -> None:
        before = self.document()
        self.setDocument(document)
        if isinstance(before, PlainDocument):
            before.deleteLater()

    def loadResource(self, _kind: int, _name: QUrl | str) -> None:
        """Nothing, from nowhere."""

    def viewportEvent(self, event: QEvent) -> bool:
        return True if event.type() == QEvent.Type.ToolTip else super().viewportEvent(event)


class LinkDialog(QDialog):
    """Where a link leads, in full. Return cancels."""

    def __init__(self, url: QUrl, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.url = url
        self.setWindowTitle(self.tr("Open this link?"))
        question = WrapLabel(self.tr("A memory may have been written by anybody. Its link leads to:"))
        self.address = read_only_text(self.tr("Address"), _address(url))
        self.address.setFixedHeight(5 * QFontMetrics(self.address.font()).height())
        self.buttons = QDialogButtonBox()
        self.open_button = self.buttons.addButton(
            self.tr("&Open in the browser"), QDialogButtonBox.ButtonRole.AcceptRole
        )
        self.cancel_button = self.buttons.addButton(QDialogButtonBox.StandardButton.Cancel)
        self.open_button.setAutoDefault(False)
        self.cancel_button.setDefault(True)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        column(self, question, self.address, self.buttons)
        self.cancel_button.setFocus()
        self.setMinimumWidth(340)


def _address(url: QUrl) -> str:
    """In full and encoded, so that no look-alike letter can pretend to be another address."""
    return visible(bytes(url.toEncoded().data()).decode("ascii", "replace"))
