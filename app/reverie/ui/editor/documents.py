"""An open file: its text in a Qt document, such that every byte that is not edited stays the same.

The document has the text without the byte order mark and with one kind of line breaks; `content` restores
both. The file is read-only if its document would not return the text unchanged, which is checked when it is
loaded. It is also read-only if a line has more than `LONGEST_LINE` characters; then only the beginning of the
line is shown.

Changes by others replace the text or are merged into it (`text_merge`). `arrived` records which lines others
wrote, until the file is saved. The conflicts are always computed from three texts (base, typed, and on disk),
so no list of conflicts has to be maintained.

Threading: GUI thread (QTextDocument). Failure: none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextDocumentLayout

from reverie.services.views import BY_A_PERSON
from reverie.text.text_merge import MERGE_CHARS, MergeConflict, Region, Side
from reverie.ui.appearance import GAP, Theme, monospace
from reverie.ui.display_text import has_long_line, lines_shortened
from reverie.ui.editor import merge_steps as steps
from reverie.ui.editor.line_breaks import body, widget_text, written
from reverie.ui.widgets.text_boxes import for_document, text_of
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from reverie.services.views import FileText
from reverie.ui.editor.buffer import Buffer, Display, merged, reopened
from reverie.ui.editor.foreign_edits import ForeignEdits, Version, become
from reverie.ui.editor.highlighter import LIMIT, MarkdownHighlighter
from reverie.ui.jobs import single_shot

# Files that are too large for the agent are read-only, and nobody reads more than this.
SHOWN_CHARS = 1_000_000
PART_LINES, PART_CHARS = 500, 20_000
"""The most lines and characters that are added to an open text in one event; a line is never split."""
ARRIVING = "arriving"
"""The group of the jobs for a version that was read from disk; a newer version replaces an older one."""
MOST_MARKS = 1_000
"""The most changes of others that are marked in an open text."""
Later = Callable[["OpenFile", str, Callable[[], steps.MergeStep], Callable[[steps.MergeStep], None]], None]
"""A function that computes a `MergeStep` of an open file in a job.

Its arguments: the file, the group of the job (a newer job of a group replaces an older one), the work, and a
function that gets the result.
"""


class Arrived(Struct):
    """The changes that others made to an open text since it was last saved."""

    spans: list[tuple[QTextCursor, str]] = field(default_factory=list)
    """The lines that others wrote: selections that move with the text, each with its author ("": unknown)."""
    count: int = 0
    """The number of changes that were merged into typed text."""
    authors: list[str] = field(default_factory=list)
    """The authors of the merged changes; "" for an unknown one."""
    base: FileText | None = None
    """The version on which the typed text was based before the first merge since the last save.

    None if nothing was merged, or if there was no file.
    """


class OpenFile(QObject):
    """An open file: its state (`Buffer`), its document with undo stack, and the user's position in the text.

    `conflicts` are the conflicts that the user has not decided, in the order of the text.

    Signals:
        renewed(): The state has changed: a long text is now shown in full, changes by others were merged,
            undone or restored, or the open conflicts were computed again.
    """

    renewed = Signal()

    def __init__(self, buffer: Buffer, theme: Theme, parent: QObject, later: Later) -> None:
        """Create the document for `buffer`.

        `later` runs the merges and comparisons of long texts in a job; those of short texts run at once.
        """
        super().__init__(parent)
        self._later = later
        self.buffer = buffer
        self.cursor = 0
        self.scroll = 0
        self.saving = False
        self.waiting = ""
        """A sentence about why the save waits; it is retried automatically. Empty if no save waits."""
        self.lossless = True
        self.display: Display = ""
        self.whole = False
        """True if all lines are shown, however many, because the user edits the text or asked for all of
        it."""
        self._parts: Iterator[str] = iter(())
        self._next = single_shot(self, 0, self._add_part)
        self.arrived = Arrived()
        self._before_others: str | None = None
        """The text before others changed it; None if nobody has changed it since the user last typed."""
        self.conflicts: tuple[MergeConflict, ...] = ()
        self.newest: FileText | None = None
        """The version that was last read from disk; a job may still be comparing it."""
        self.document = QTextDocument(self)
        self.document.setDocumentLayout(QPlainTextDocumentLayout(self.document))
        self.document.setDefaultFont(monospace())
        self.document.setDocumentMargin(GAP)
        self._following = False
        self._foreign = ForeignEdits(self.document)
        if buffer.base is not None:
            self._show(buffer.base.content)
        self.document.contentsChanged.connect(self._on_changed)
        # Attached after the text was set, so that the first colouring is one pass.
        self._highlighter: MarkdownHighlighter | None = None
        if self.document.characterCount() <= LIMIT:
            self._highlighter = MarkdownHighlighter(self.document, theme)

    def set_theme(self, theme: Theme) -> None:
        """Set the colours of the text without marking it as edited."""
        if self._highlighter is not None:
            modified = self.document.isModified()
            self._highlighter.set_theme(theme)
            self.document.setModified(modified)

    @property
    def shortened(self) -> bool:
        """True if some lines are left out, cut, or not yet added to the document."""
        return self.display in ("lines", "long")

    @property
    def text(self) -> str:
        r"""The text of the document, with line breaks `\n`."""
        return text_of(self.document)

    @property
    def content(self) -> str:
        """The content that a save would write.

        If the document cannot reproduce the whole content exactly, for example because lines are left out,
        this is the content that was read from disk.
        """
        return self.contents()()

    def contents(self) -> Callable[[], str]:
        """Return a function that computes the `content` that the file has now.

        A job can call it, because it does not use the document.
        """
        base = self.buffer.base
        if base is not None and (self.display or not self.lossless):
            return partial(str, base.content)
        return partial(written, base or self.buffer.style, self.text)

    def content_like(self, found: FileText | None) -> str | None:
        """Return the content of `found` if its text equals the text in the document, apart from line breaks.

        Return None if the texts differ, if `found` is None, or if the document does not have the whole text.
        """
        if found is None or self.display or not self.lossless:
            return None
        return found.content if widget_text(body(found.content)) == self.text else None

    @property
    def differs(self) -> bool:
        """True if the text in the document differs from that of `base`.

        `QTextDocument.isModified` cannot be used, because the base can change while the text stays ("keep
        mine").
        """
        base = self.buffer.base
        return base is None or (not self.shortened and self.text != _whole(self.buffer, base.content))

    @property
    def read_only(self) -> bool:
        return bool(self.buffer.read_only) or not self.lossless or self.shortened

    def show_whole(self) -> None:
        """Show all lines of the file, adding them in parts between events.

        The text is read-only until the last part has been added. Does nothing if a line is too long to be
        shown.
        """
        if self.buffer.base is not None and self.display != "long":
            self._parts = _parts(_whole(self.buffer, self.buffer.base.content))
            self.display = "lines"
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
            shown, self.display = self._fitting(self.buffer, self.buffer.base.content)
            self.lossless = self.text == shown
            self.renewed.emit()

    def follow(self, after: Buffer, author: str, again: Callable[[], None], group: str = "") -> None:
        """Replace the text by the version on disk, `after.base`, and set the state `after`.

        The cursor and the scroll position stay, and so does the undo stack, unless it has too many steps.
        `author`: the actor who wrote the version; "" if unknown. A long text is compared in a job of the
        group `group`. If the text or the state changes before the job ends, nothing is replaced, and `again`
        is called.
        """
        base, before, old = after.base, self.buffer, self.text
        if base is None:
            return
        wanted, display = self._fitting(after, base.content)

        def done(step: steps.MergeStep) -> None:
            self._next.stop()
            version = before, self.display
            self.buffer, self.display = after, display
            if not before.modified:
                self._foreign.make_room()
            if self._before_others is None:
                self._before_others = old
            self.arrived = Arrived()
            self.conflicts = ()
            # If the text is as before the others wrote (a run was undone), there is nothing to mark.
            self._become(step, version)
            if step.edits and step.text != self._before_others and author not in BY_A_PERSON:
                self._mark(step.taken, author)
            self.lossless = self.text == step.text
            self.document.setModified(False)

        self._step(steps.Texts(wanted, old, base), steps.following, done, again, group)

    def merge(self, after: Buffer, author: str, again: Callable[[], None]) -> None:
        """Merge the changes on disk, from `after.base` to `after.disk`, into the text.

        `after`: the state after the changes were read. `author`: the actor who made them. A long text is
        merged in a job. If the text or the state changes before the job ends, nothing is merged, and `again`
        is called. If the versions cannot be merged, the user must choose one of them.
        """
        before, texts = self.buffer, self._three(after)
        if texts is None:
            self.buffer, self.conflicts = replace(after, banner="conflict"), ()
            self.renewed.emit()
            return

        def done(step: steps.MergeStep) -> None:
            self._settle(after, step, before)
            if step.taken:
                self._mark(step.taken, author)
                if not self.arrived.count:
                    self.arrived.base = before.base
                self.arrived.count += len(step.taken)
                if author not in self.arrived.authors:
                    self.arrived.authors.append(author)

        self._step(texts, steps.merging, done, again, ARRIVING)

    def decide(self, index: int, side: Side) -> None:
        """Replace the conflict `conflicts[index]` by the lines of `side`; the user can undo this in one step.

        `side`: `mine` (the lines in the editor), `theirs` (the lines on disk) or `both`.
        """
        if index < len(self.conflicts):
            self._recheck(partial(steps.deciding, chosen=self.conflicts[index], index=index, side=side))

    def recheck(self) -> None:
        """Update `conflicts` to those that are still open; for a long text, this is done in a job."""
        self._recheck(steps.rechecking, "recheck")

    def take_back(self) -> None:
        """Remove from the text all changes by others that were merged into it since the last save.

        Text that the user typed stays, even if it was typed after those changes. The user must then decide
        about the version on disk.
        """
        before, base = self.buffer, self.arrived.base
        if before.base is None or not self.arrived.count:
            return
        below = widget_text(body(base.content)) if base is not None else ""
        texts = steps.Texts(widget_text(body(before.base.content)), self.text, before.disk or before.base)

        def done(step: steps.MergeStep) -> None:
            self.arrived = Arrived()
            after = reopened(before, base)
            if after.banner == "conflict" and self._three(after) is not None:
                self._settle(after, step, before)
            else:
                self.buffer, self.conflicts = after, ()
                self._become(step, (before, self.display))

        self._step(texts, partial(steps.taking_back, before=below), done, self.take_back, "")

    def _recheck(self, work: Callable[[steps.Texts], steps.MergeStep], group: str = "") -> None:
        before = self.buffer
        texts = self._three(before) if before.banner == "conflict" else None
        if texts is None:
            self.conflicts = ()
        else:
            self._step(
                texts,
                work,
                lambda step: self._settle(before, step, before),
                partial(self._recheck, work, group),
                group,
            )

    def _settle(self, after: Buffer, step: steps.MergeStep, before: Buffer) -> None:
        """Show `step`, the result of a merge or of a decision about a conflict, and set the new state.

        `after`: the new state, which still lacks the base and the conflicts of `step`. `before`: the state
        before the step, recorded so that an undo of the step is noticed.
        """
        self.buffer = merged(after, step.base, step.modified)
        self._become(step, (before, self.display))
        self.conflicts = step.conflicts if self.buffer.banner == "conflict" else ()
        self.document.setModified(self.buffer.modified)

    def _step(
        self,
        texts: steps.Texts,
        work: Callable[[steps.Texts], steps.MergeStep],
        done: Callable[[steps.MergeStep], None],
        again: Callable[[], None],
        group: str,
    ) -> None:
        """Compute `work(texts)` and pass the result to `done`: at once for short texts, else in a job.

        If the text or the state changes before the job ends, its result is dropped and `again` is called. A
        newer job of the same non-empty `group` replaces an older one.
        """
        buffer, short = self.buffer, texts.are_short

        def ended(step: steps.MergeStep) -> None:
            if self.buffer is not buffer or self.text != texts.mine or (self.saving and not short):
                again()
            else:
                done(step)
                self.renewed.emit()

        if short:
            ended(work(texts))
        else:
            self._later(self, group, partial(work, texts), ended)

    def saved(self) -> None:
        """Forget which lines others wrote; call this after the file was saved."""
        self.arrived = Arrived()

    def retype(self, content: str) -> None:
        """Change the text to `content` in one undo step, and mark it as edited, as if it had been typed.

        The user cannot undo this if the earlier text had a line that is too long to be shown.
        """
        self.whole = True
        wanted = widget_text(body(content))
        if self.shortened and self.buffer.base is not None:
            self._next.stop()
            self._show(self.buffer.base.content)
            if self.display == "long":
                self.display = ""
                self._load(wanted)
        self._become(steps.MergeStep(wanted, None, ((0, self.text, wanted),)))
        self.document.setModified(True)

    def _three(self, buffer: Buffer) -> steps.Texts | None:
        """Return the three texts to merge (base, typed text, disk); None if they cannot be merged.

        They cannot be merged if there is no file on disk, if a version cannot be edited, or if the texts are
        too long.
        """
        base, disk = buffer.base, buffer.disk
        if disk is None or disk.read_only or self.read_only:
            return None
        texts = steps.Texts(widget_text(body(base.content)) if base is not None else "", self.text, disk)
        all_three = texts.base, texts.mine, texts.theirs
        too_long = max(map(len, all_three)) > MERGE_CHARS or any(map(has_long_line, all_three))
        return None if too_long else texts

    def _become(self, step: steps.MergeStep, before: Version | None = None) -> None:
        """Apply the edits of `step` to the document in one undo step; this does not count as typing.

        `before`: the version before the edits, recorded so that an undo of them is noticed; None to record
        nothing.
        """
        if not step.edits:
            return
        self._following = True
        become(self.document, step.edits, step.text)
        self._following = False
        if before is not None:
            self._foreign.made(before)

    def mark_unseen(self, lines: Sequence[int], author: str) -> None:
        """Mark the lines with these numbers, from 0, which `author` wrote since the user last saw the file.

        Does nothing if changes were merged since the last save, because their lines are marked already.
        """
        if self.arrived.count:
            return
        self.arrived = Arrived()
        self._mark([Region(line, line + 1) for line in lines if line <= self._last], author)

    def _mark(self, regions: Iterable[Region], author: str) -> None:
        for region in islice(regions, MOST_MARKS):
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
        while (found := self._foreign.changed((self.buffer, self.display))) is not None:
            undone, (buffer, self.display) = found
            if undone:
                self.buffer = reopened(self.buffer, buffer.base)
                self.arrived = Arrived()
            elif buffer.disk == self.buffer.disk:
                self.buffer = buffer
            self.recheck()
            self.document.setModified(self.buffer.modified)
            self.renewed.emit()

    def _load(self, text: str, *, behind: bool = False) -> None:
        """Replace the text of the document by `text`, or append `text` if `behind`; clear the undo stack."""
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

    def _show(self, content: str) -> None:
        """Show `content`, or as much of it as can be shown at once; this clears the undo stack."""
        shown, self.display = self._fitting(self.buffer, content)
        self._load(shown)

    def _fitting(self, buffer: Buffer, content: str) -> tuple[str, Display]:
        """Return the part of `content` to show, as the text of a document, and how it was shortened.

        The second item is `cut` (the end of a large read-only file is left out), `lines` (lines beyond the
        first ones are left out), `long` (lines that are too long are cut) or "" (the text is whole).
        """
        text = _whole(buffer, content)
        if has_long_line(text):
            return lines_shortened(text), "long"
        shown = text if self.whole else lines_shortened(text)
        if len(shown) < len(text):
            return shown, "lines"
        return shown, "cut" if buffer.read_only and len(content) > SHOWN_CHARS else ""


def _whole(buffer: Buffer, content: str) -> str:
    """Return the text of a file's `content` for the document: no byte order mark, lines end with LF.

    `buffer`: the state of the file. The end of a large read-only file is left out.
    """
    return widget_text(body(content[:SHOWN_CHARS] if buffer.read_only else content))


def _parts(text: str) -> Iterator[str]:
    """Split a text at line breaks into parts, each small enough to be added without blocking the window."""
    at = 0
    while at < len(text):
        lines = text[at : at + PART_CHARS].split("\n", PART_LINES)
        end = at + sum(map(len, lines[:-1])) + len(lines) - 1
        if end == at:
            end = text.find("\n", at) + 1 or len(text)
        yield text[at:end]
        at = end
