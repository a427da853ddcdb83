"""A file's text in a text document, without losing a byte of what nobody edited.

The document holds the text without byte order mark and with the widget's line breaks; `content` puts both
back. A text that would not come back as it was (checked when it is loaded) is for reading only.

What others write meanwhile is followed or merged into the text (`co_editing`); `arrived` remembers which
lines came from them until the file is saved. The places a person has to decide about are always those of the
three texts base, typed and on disk, so no list of them has to be kept right.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextDocumentLayout

from reverie.ui.memory import co_editing
from reverie.ui.memory import editor_state as state
from reverie.ui.memory.co_editing import MERGE_CHARS, Conflict, Region, Side
from reverie.ui.memory.editor_state import Buffer
from reverie.ui.memory.foreign_edits import ForeignEdits, Undone, become
from reverie.ui.memory.highlighter import LIMIT, MarkdownHighlighter
from reverie.ui.memory.newlines import restored, widget_text
from reverie.ui.shown import lines_shortened
from reverie.ui.theme import GAP, Theme, monospace

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reverie.services.views import FileText

BOM = "\ufeff"
# What is too large for the agent is for reading only, and reading needs no more than this.
SHOWN_CHARS = 1_000_000


@dataclass(slots=True)
class Arrived:
    """What others wrote into an open text. `spans`: their lines, each a selection that moves along, and who
    wrote them (an actor of the log, empty: not one of us). `count`: how many changes were merged into typed
    text, by `authors`; `base`: what that text grew from before."""

    spans: list[tuple[QTextCursor, str]] = field(default_factory=list)
    count: int = 0
    authors: list[str] = field(default_factory=list)
    base: FileText | None = None


class OpenFile(QObject):
    """One open file: the pure `Buffer`, its document with undo stack, and where the person was in it.
    `conflicts`: what has to be decided, in the order of the text. `reopened()`: an undo took away what others
    wrote, or a redo brought it back."""

    reopened = Signal()

    def __init__(self, buffer: Buffer, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.buffer = buffer
        self.cursor = 0
        self.scroll = 0
        self.saving = False
        self.waiting = ""
        """Why the save waits, as a sentence; it goes on by itself. Empty: nothing is waited for."""
        self.lossless = True
        self.cut = False
        self.whole = False
        """Lines are shown in full, however long: a person edits the text, or asked for it."""
        self.shortened = False
        """A line is too long to be shown in full, so the text is for reading only."""
        self.arrived = Arrived()
        self.conflicts: tuple[Conflict, ...] = ()
        self.document = QTextDocument(self)
        self.document.setDocumentLayout(QPlainTextDocumentLayout(self.document))
        self.document.setDefaultFont(monospace())
        self.document.setDocumentMargin(GAP)
        self._load()
        self._foreign = ForeignEdits(self.document)
        self._following = False
        self.document.contentsChanged.connect(self._on_changed)
        # Attached after the text, so that the first colouring is one pass.
        self._highlighter: MarkdownHighlighter | None = None
        if self.document.characterCount() <= LIMIT:
            self._highlighter = MarkdownHighlighter(self.document, theme)

    def set_theme(self, theme: Theme) -> None:
        """Other colours; that is no edit."""
        if self._highlighter is not None:
            modified = self.document.isModified()
            self._highlighter.set_theme(theme)
            self.document.setModified(modified)

    @property
    def text(self) -> str:
        """The text as the widget has it, line breaks `\\n`."""
        return self.document.toRawText().replace("\u2029", "\n")

    @property
    def content(self) -> str:
        """The text as it would be written; that on disk where only a part of it is shown."""
        if self.buffer.base is not None and (self.cut or self.shortened):
            return self.buffer.base.content
        return written(self.buffer.base or self.buffer.style, self.text)

    @property
    def differs(self) -> bool:
        """The text is not that of `base`. The document's own flag does not know that a base can change while
        the text stays ("keep mine")."""
        base = self.buffer.base
        return base is None or self.text != self._shown(base.content)

    @property
    def read_only(self) -> bool:
        return bool(self.buffer.read_only) or not self.lossless or self.shortened

    def show_whole(self) -> None:
        """Show every line in full from now on, though that may take a while."""
        self.whole = True
        self._following = True
        self._load()
        self._following = False

    def follow(self, before: Buffer, author: str = "") -> None:
        """Take over `buffer.base`, which is now on disk; the buffer was `before`. Cursor and scroll stay, and
        so does the undo stack, up to `foreign_edits.MOST_EDITS` times."""
        base = self.buffer.base
        if base is None:
            return
        if not before.modified:
            self._foreign.make_room()
        old, wanted = self.text, self._shown(base.content)
        self.arrived = Arrived()
        self.conflicts = ()
        if self._become(wanted, before):
            self._mark([after for _, after in _hunks(old, wanted)], author)
        self.lossless = self.text == wanted
        self.document.setModified(False)

    def merge(self, author: str = "") -> None:
        """Take into the text what changed on disk from `buffer.base` to `buffer.disk`."""
        before, texts = self.buffer, self._three()
        if texts is None:
            self.buffer = replace(before, banner="conflict")
            self.conflicts = ()
            return
        result = co_editing.merge(*texts)
        self.buffer = state.merged(before, self._based(result.rebased, texts[2]), result.text != texts[2])
        self._become(result.text, before)
        if result.taken:
            self._mark(result.taken, author)
            if not self.arrived.count:
                self.arrived.base = before.base
            self.arrived.count += len(result.taken)
            if author not in self.arrived.authors:
                self.arrived.authors.append(author)
        self.document.setModified(self.buffer.modified)
        self.recheck()

    def decide(self, index: int, side: Side) -> None:
        """A person decided about one of the `conflicts`; one undo asks again."""
        self.recheck()
        texts = self._three()
        if texts is None or index >= len(self.conflicts):
            return
        before = self.buffer
        text, base = co_editing.decided(*texts, self.conflicts[index], side)
        self.buffer = state.merged(before, self._based(base, texts[2]), text != texts[2])
        self._become(text, before)
        self.document.setModified(self.buffer.modified)
        self.recheck()

    def take_back(self) -> None:
        """Undo all that was merged into the text, wherever in the undo stack it is; typed text stays, and a
        person decides about what others wrote."""
        before, base = self.buffer, self.arrived.base
        if before.base is None or not self.arrived.count:
            return
        below = widget_text(_body(base.content)) if base is not None else ""
        without = co_editing.merge(widget_text(_body(before.base.content)), self.text, below)
        self.buffer = state.reopened(before, base)
        self.arrived = Arrived()
        self._become(without.text, before)
        self.recheck()

    def recheck(self) -> bool:
        """Look again at what has to be decided; True: it is another."""
        before = (self.buffer.base, self.buffer.banner, self.conflicts)
        texts = self._three() if self.buffer.banner == "conflict" else None
        if texts is None:
            self.conflicts = ()
        else:
            settled = co_editing.settled(*texts)
            self.conflicts = co_editing.open_conflicts(settled, *texts[1:])
            self.buffer = state.merged(self.buffer, self._based(settled, texts[2]), texts[1] != texts[2])
            self.document.setModified(self.buffer.modified)
        return (self.buffer.base, self.buffer.banner, self.conflicts) != before

    def saved(self) -> None:
        """What others wrote is part of what is on disk now, as everything else."""
        self.arrived = Arrived()

    def retype(self, content: str) -> None:
        """Make the text that of `content`, by the smallest edit, as if a person had typed it."""
        if self.shortened:
            self.show_whole()
        self.whole = True
        self._become(widget_text(_body(content)))
        self.document.setModified(True)

    def _three(self) -> tuple[str, str, str] | None:
        """Base, typed text and text on disk as the widget has them; None: they cannot be merged."""
        base, disk = self.buffer.base, self.buffer.disk
        if disk is None or disk.read_only or self.read_only:
            return None
        below = widget_text(_body(base.content)) if base is not None else ""
        texts = (below, self.text, widget_text(_body(disk.content)))
        return None if max(map(len, texts)) > MERGE_CHARS else texts

    def _based(self, text: str, theirs: str) -> FileText | None:
        """The version the text grew from: that on disk, or one that never was, with what is undecided."""
        disk = self.buffer.disk
        if disk is None or text == theirs:
            return disk
        content = written(disk, text)
        sha256 = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        return replace(disk, content=content, sha256=sha256)

    def _become(self, wanted: str, before: Buffer | None = None) -> bool:
        """`before`: the edit is somebody else's, and the buffer was this one."""
        self._following = True
        done = become(self.document, self.text, wanted)
        self._following = False
        if done and before is not None:
            self._foreign.made(before)
        return done

    def _mark(self, regions: Iterable[Region], author: str) -> None:
        for region in regions:
            cursor = QTextCursor(self.document.findBlockByNumber(max(0, min(region.start, self._last))))
            if region.end > region.start:
                end = self.document.findBlockByNumber(region.end - 1)
                cursor.setPosition(end.position() + end.length() - 1, QTextCursor.MoveMode.KeepAnchor)
            self.arrived.spans.append((cursor, author))

    @property
    def _last(self) -> int:
        return self.document.blockCount() - 1

    @Slot()
    def _on_changed(self) -> None:
        if self._following:
            return
        # What a person has typed into is never cut under their hands.
        self.whole = True
        while (found := self._foreign.changed(self.buffer)) is not None:
            if isinstance(found, Undone):
                self.buffer = state.reopened(self.buffer, found.before.base)
                self.arrived = Arrived()
            elif found.after.disk == self.buffer.disk:
                self.buffer = found.after
            self.recheck()
            self.document.setModified(self.buffer.modified)
            self.reopened.emit()

    def _load(self) -> None:
        base = self.buffer.base
        if base is None:
            return
        wanted = self._shown(base.content)
        self.document.setUndoRedoEnabled(False)
        cursor = QTextCursor(self.document)
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(wanted)
        self.document.setUndoRedoEnabled(True)
        self.document.setModified(False)
        self.lossless = self.text == wanted

    def _shown(self, content: str) -> str:
        self.cut = bool(self.buffer.read_only) and len(content) > SHOWN_CHARS
        text = widget_text(_body(content[:SHOWN_CHARS] if self.cut else content))
        shown = text if self.whole else lines_shortened(text)
        self.shortened = len(shown) != len(text)
        return shown


def written(style: FileText | None, text: str) -> str:
    """`text` of the widget with the byte order mark and the line breaks of `style`. Pure."""
    if style is None:
        return text
    content = restored(_body(style.content), text, style.newline)
    return BOM + content if style.bom else content


def _body(content: str) -> str:
    return content.removeprefix(BOM)


def _hunks(old: str, new: str) -> list[tuple[Region, Region]]:
    if len(old) + len(new) > 2 * MERGE_CHARS:
        return []
    return co_editing.hunks(old.split("\n"), new.split("\n"))
