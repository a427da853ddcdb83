"""An open file: its text in a text document, such that every byte that is not edited stays the same.

The document holds the text without byte order mark and with the widget's line breaks; `content` restores
both. A text that would not come back unchanged (checked when it is loaded) is read-only.

Changes by others replace the text or are merged into it (`text_merge`); `arrived` records which lines others
wrote, until the file is saved. The conflicts are always computed from three texts (base, typed, and on disk),
so no list of conflicts has to be maintained.

Threading: GUI thread (QTextDocument). Failure: none.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextDocumentLayout

from reverie.services.views import BY_A_PERSON
from reverie.ui.appearance import GAP, Theme, monospace
from reverie.ui.display_text import lines_shortened
from reverie.ui.editor import text_merge as co_editing
from reverie.ui.editor.line_breaks import restored, widget_text
from reverie.ui.editor.text_merge import MERGE_CHARS, MergeConflict, Region, Side
from reverie.ui.widgets.text_boxes import for_document, text_of
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reverie.services.views import FileText
from reverie.ui.editor.buffer import Buffer, merged, reopened
from reverie.ui.editor.foreign_edits import ForeignEdits, Undone, become
from reverie.ui.editor.highlighter import LIMIT, MarkdownHighlighter
from reverie.ui.jobs import single_shot

BOM = "\ufeff"
# Files that are too large for the agent are read-only, and nobody reads more than this.
SHOWN_CHARS = 1_000_000
PART_LINES, PART_CHARS = 2_000, 100_000
"""The most lines and characters that are added to an open text in one event; a line is never split."""


class Arrived(Struct):
    """The changes that others made to an open text."""

    spans: list[tuple[QTextCursor, str]] = field(default_factory=list)
    """The lines of others, as selections that move with the text, each with its actor (empty: not known)."""
    count: int = 0
    """The number of changes merged into typed text."""
    authors: list[str] = field(default_factory=list)
    """The actors of the merged changes."""
    base: FileText | None = None
    """The version on which the typed text was based before the merge."""


class OpenFile(QObject):
    """An open file: its `Buffer`, its document with undo stack, and the user's position in the text.

    `conflicts` are the open conflicts in the order of the text.

    Signals:
        reopened(): A long text is now shown in full, or undo removed the changes of others, or redo restored
        them.
    """

    reopened = Signal()

    def __init__(self, buffer: Buffer, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.buffer = buffer
        self.cursor = 0
        self.scroll = 0
        self.saving = False
        self.waiting = ""
        """A sentence about why the save waits; it is retried automatically. Empty if no save waits."""
        self.lossless = True
        self.cut = False
        self.whole = False
        """Whether the text is shown in full, however long, because the user edits it or asked for it."""
        self.shortened = False
        """Whether the text is read-only because it is too long to show in full, or not all shown yet."""
        self._parts: Iterator[str] = iter(())
        self._next = single_shot(self, 0, self._add_part)
        self.arrived = Arrived()
        self._before_others: str | None = None
        """The text before others changed it; None if nobody has changed it since the user last typed."""
        self.conflicts: tuple[MergeConflict, ...] = ()
        self.document = QTextDocument(self)
        self.document.setDocumentLayout(QPlainTextDocumentLayout(self.document))
        self.document.setDefaultFont(monospace())
        self.document.setDocumentMargin(GAP)
        self._following = False
        self._foreign = ForeignEdits(self.document)
        if buffer.base is not None:
            self._load(self._shown(buffer.base.content))
        self.document.contentsChanged.connect(self._on_changed)
        # Attached after the text was set, so that the first colouring is one pass.
        self._highlighter: MarkdownHighlighter | None = None
        if self.document.characterCount() <= LIMIT:
            self._highlighter = MarkdownHighlighter(self.document, theme)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours without marking the text as edited."""
        if self._highlighter is not None:
            modified = self.document.isModified()
            self._highlighter.set_theme(theme)
            self.document.setModified(modified)

    @property
    def text(self) -> str:
        r"""The text of the widget, with line breaks `\n`."""
        return text_of(self.document)

    @property
    def content(self) -> str:
        """The text as it would be written; the text on disk if not all of it is shown, or not exactly."""
        if self.buffer.base is not None and (self.cut or self.shortened or not self.lossless):
            return self.buffer.base.content
        return written(self.buffer.base or self.buffer.style, self.text)

    @property
    def differs(self) -> bool:
        """Whether the text differs from the text of `base`.

        The document's own flag cannot be used: the base can change while the text stays ("keep mine").
        """
        base = self.buffer.base
        return base is None or (not self.shortened and self.text != self._shown(base.content))

    @property
    def read_only(self) -> bool:
        return bool(self.buffer.read_only) or not self.lossless or self.shortened

    def show_whole(self) -> None:
        """Show all of the text, adding parts between events; it is read-only until the last part is added."""
        if self.buffer.base is not None:
            self._parts = _parts(self._full(self.buffer.base.content))
            self.shortened = True
            self._load("")
            self._add_part()

    @Slot()
    def _add_part(self) -> None:
        part = next(self._parts, None)
        if part is not None:
            self._load(part, behind=True)
            self._next.start()
        elif self.buffer.base is not None:
            self.whole = True
            self.lossless = self.text == self._shown(self.buffer.base.content)
            self.reopened.emit()

    def follow(self, before: Buffer, author: str = "") -> None:
        """Show `buffer.base`, which is now on disk; the buffer was `before`.

        Cursor and scroll position stay, and so does the undo stack, up to `MOST_EDITS` times.
        """
        base = self.buffer.base
        if base is None:
            return
        self._next.stop()
        if not before.modified:
            self._foreign.make_room()
        old, wanted = self.text, self._shown(base.content)
        if self._before_others is None:
            self._before_others = old
        self.arrived = Arrived()
        self.conflicts = ()
        # If the text is as before the others wrote (a run was undone), there is nothing to mark.
        changed = self._become(wanted, before)
        if changed and wanted != self._before_others and author not in BY_A_PERSON:
            self._mark([after for _, after in _hunks(old, wanted)], author)
        self.lossless = self.text == wanted
        self.document.setModified(False)

    def merge(self, author: str = "") -> None:
        """Merge the changes on disk from `buffer.base` to `buffer.disk` into the text."""
        before, texts = self.buffer, self._three()
        if texts is None:
            self.buffer = replace(before, banner="conflict")
            self.conflicts = ()
            return
        result = co_editing.merge(*texts)
        self.buffer = merged(before, self._based(result.rebased, texts[2]), result.text != texts[2])
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
        """Resolve one of the `conflicts`; one undo opens it again."""
        self.recheck()
        texts = self._three()
        if texts is None or index >= len(self.conflicts):
            return
        before = self.buffer
        text, base = co_editing.decided(*texts, self.conflicts[index], side)
        self.buffer = merged(before, self._based(base, texts[2]), text != texts[2])
        self._become(text, before)
        self.document.setModified(self.buffer.modified)
        self.recheck()

    def take_back(self) -> None:
        """Undo all that was merged into the text, wherever it is in the undo stack.

        Typed text stays. The user then has to decide about the changes of others.
        """
        before, base = self.buffer, self.arrived.base
        if before.base is None or not self.arrived.count:
            return
        below = widget_text(_body(base.content)) if base is not None else ""
        without = co_editing.merge(widget_text(_body(before.base.content)), self.text, below)
        self.buffer = reopened(before, base)
        self.arrived = Arrived()
        self._become(without.text, before)
        self.recheck()

    def recheck(self) -> bool:
        """Compute the open conflicts again and return whether they, the base or the banner changed."""
        before = (self.buffer.base, self.buffer.banner, self.conflicts)
        texts = self._three() if self.buffer.banner == "conflict" else None
        if texts is None:
            self.conflicts = ()
        else:
            settled = co_editing.settled(*texts)
            self.conflicts = co_editing.open_conflicts(settled, *texts[1:])
            self.buffer = merged(self.buffer, self._based(settled, texts[2]), texts[1] != texts[2])
            self.document.setModified(self.buffer.modified)
        return (self.buffer.base, self.buffer.banner, self.conflicts) != before

    def saved(self) -> None:
        """Forget which lines others wrote, because the text has been saved."""
        self.arrived = Arrived()

    def retype(self, content: str) -> None:
        """Change the text to `content` with the smallest edit, as if the user had typed the change."""
        self.whole = True
        if self.shortened and self.buffer.base is not None:
            self._next.stop()
            self._load(self._shown(self.buffer.base.content))
        self._become(widget_text(_body(content)))
        self.document.setModified(True)

    def _three(self) -> tuple[str, str, str] | None:
        """Return (base, typed, on disk) as texts of the widget; None if they cannot be merged."""
        base, disk = self.buffer.base, self.buffer.disk
        if disk is None or disk.read_only or self.read_only:
            return None
        below = widget_text(_body(base.content)) if base is not None else ""
        texts = (below, self.text, widget_text(_body(disk.content)))
        return None if max(map(len, texts)) > MERGE_CHARS else texts

    def _based(self, text: str, theirs: str) -> FileText | None:
        """Return the version on which the text is based.

        If `text` equals `theirs`, this is the version on disk. Otherwise it is a version that never existed,
        with the content `text`: the text on disk, but with the old lines at the undecided places.
        """
        disk = self.buffer.disk
        if disk is None or text == theirs:
            return disk
        content = written(disk, text)
        sha256 = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
        return replace(disk, content=content, sha256=sha256)

    def _become(self, wanted: str, before: Buffer | None = None) -> bool:
        """Edit the text without treating it as typing.

        `before` is the buffer before a foreign edit; None for an edit of the user. Returns whether the text
        changed.
        """
        self._following = True
        done = become(self.document, self.text, wanted)
        self._following = False
        if done and before is not None:
            self._foreign.made(before)
        return done

    def mark_unseen(self, lines: Sequence[int], author: str) -> None:
        """Mark the lines that `author` wrote before the file was opened.

        Does nothing if changes were merged since, because those have their own marks.
        """
        if self.arrived.count:
            return
        self.arrived = Arrived()
        self._mark([Region(line, line + 1) for line in lines if line <= self._last], author)

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
        # A text that the user has edited is never cut. A shortened one cannot be edited: it gets its colours,
        # or what others wrote is undone.
        self.whole |= self.document.isUndoAvailable() and not self.shortened
        self._before_others = None
        while (found := self._foreign.changed(self.buffer)) is not None:
            if isinstance(found, Undone):
                self.buffer = reopened(self.buffer, found.before.base)
                self.arrived = Arrived()
            elif found.after.disk == self.buffer.disk:
                self.buffer = found.after
            self.recheck()
            self.document.setModified(self.buffer.modified)
            self.reopened.emit()

    def _load(self, text: str, *, behind: bool = False) -> None:
        """Show `text` or, with `behind`, append it to the text that is shown, without an undo step."""
        self._following = True
        self.document.setUndoRedoEnabled(False)
        cursor = QTextCursor(self.document)
        cursor.movePosition(QTextCursor.MoveOperation.End)
        if not behind:
            cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(for_document(text))
        self.document.setUndoRedoEnabled(True)
        self._foreign = ForeignEdits(self.document)  # the undo stack is empty
        self.document.setModified(False)
        self._following = False
        self.lossless = behind or self.text == text

    def _full(self, content: str) -> str:
        self.cut = bool(self.buffer.read_only) and len(content) > SHOWN_CHARS
        return widget_text(_body(content[:SHOWN_CHARS] if self.cut else content))

    def _shown(self, content: str) -> str:
        text = self._full(content)
        shown = text if self.whole else lines_shortened(text)
        self.shortened = len(shown) != len(text)
        return shown


def _parts(text: str) -> Iterator[str]:
    r"""Split a text at line breaks (`\\n`) into parts, each small enough not to block the window."""
    at = 0
    while at < len(text):
        lines = text[at : at + PART_CHARS].split("\n", PART_LINES)
        end = at + sum(map(len, lines[:-1])) + len(lines) - 1
        if end == at:
            end = text.find("\n", at) + 1 or len(text)
        yield text[at:end]
        at = end


def written(style: FileText | None, text: str) -> str:
    """Return the widget's `text` with the byte order mark and the line breaks of `style`."""
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
