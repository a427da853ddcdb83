"""A file's text in a text document, without losing a byte of what nobody edited.

The document holds the text without byte order mark and with the widget's line breaks; `content` puts both
back. A text that would not come back as it was (checked when it is loaded) is for reading only.

What others write meanwhile is followed or merged into the text (`text_merge`); `arrived` remembers which
lines came from them until the file is saved. The places a person has to decide about are always those of the
three texts base, typed and on disk, so no list of them has to be kept right.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QFont, QSyntaxHighlighter, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QPlainTextDocumentLayout

from reverie.agents.base import Companion
from reverie.agents.scopes import Refusal, ScopeContext
from reverie.services.views import BY_A_PERSON
from reverie.text.summaries import utf16_length
from reverie.ui.appearance import GAP, Theme, monospace
from reverie.ui.display_text import lines_shortened
from reverie.ui.editor import text_merge as co_editing
from reverie.ui.editor.text_merge import (
    MERGE_CHARS,
    MergeConflict,
    Region,
    Side,
    hunks,
    restored,
    smallest_edit,
    widget_text,
)
from reverie.ui.widgets.text_boxes import text_of
from reverie.values import Struct, field, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reverie.services.views import FileText


# Edits of an open text that nobody typed here: made line by line, and remembered in the undo stack.
#
# `become` touches only the lines that differ, from the last to the first, so that cursor, scroll and marks
# stay with their lines and the undo stack gets one step.
#
# Undo is for the person who types, and one step of it may be somebody else's change. `ForeignEdits` knows
# which: when such a step is undone the text has grown from an older version again, and saving it would take
# away what the other one wrote without a word. So the owner is told, and asks (`Undone`); when it is
# redone, all is as before (`Redone`).
#
# Threading: GUI thread (QTextDocument). Nothing fails.


MOST_EDITS = 50
MOST_STEPS = 20_000


class Undone(Struct, frozen=True):
    """A foreign edit was undone: the text grew from `before.base` again."""

    before: Buffer


class Redone(Struct, frozen=True):
    """It was redone: the buffer is `after` again, if the file is still that one."""

    after: Buffer


class _Edit(Struct):
    """`steps`: how many undo steps the document had once it was made. `text`: hash of the text then."""

    steps: int
    text: int
    before: Buffer
    after: Buffer | None = None
    undone: bool = False


class ForeignEdits:
    """The foreign edits in one document's undo stack, oldest first."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document
        self._edits: list[_Edit] = []

    def made(self, before: Buffer) -> None:
        """The last undo step is a foreign edit; the buffer was `before`."""
        self._forget_cut_off()
        self._edits.append(_Edit(self._document.availableUndoSteps(), self._hash(), before))

    def make_room(self) -> None:
        """Call it before others' text comes into one where nothing typed is unsaved. A file that an agent
        writes all day would keep every version of that day: what nobody undoes step by step is forgotten."""
        if len(self._edits) >= MOST_EDITS or self._document.availableUndoSteps() > MOST_STEPS:
            self._document.clearUndoRedoStacks()
            self._edits = []

    def changed(self, now: Buffer) -> Undone | Redone | None:
        """The text is another. `now`: the buffer that it had until then. Call it again until it says None."""
        steps = self._document.availableUndoSteps()
        for edit in reversed(self._edits):
            if not edit.undone and steps < edit.steps:
                edit.undone, edit.after = True, now
                return Undone(edit.before)
        for edit in self._edits:
            if edit.undone and steps == edit.steps and edit.after is not None and edit.text == self._hash():
                edit.undone = False
                return Redone(edit.after)
        self._forget_cut_off()
        return None

    def _forget_cut_off(self) -> None:
        """What was undone cannot come back once something else was typed."""
        if self._edits and not self._document.isRedoAvailable():
            self._edits = [edit for edit in self._edits if not edit.undone]

    def _hash(self) -> int:
        return hash(self._document.toRawText())


def become(document: QTextDocument, before: str, wanted: str) -> bool:
    """Make the text of `document`, which is `before`, `wanted`: one undo step, no line touched that stays.
    False: there was nothing to do."""
    if before == wanted:
        return False
    cursor = QTextCursor(document)
    cursor.beginEditBlock()
    if len(before) + len(wanted) > 2 * MERGE_CHARS:
        replace_text(cursor, 0, before, wanted)
    else:
        for start, old, new in reversed(_pieces(before.split("\n"), wanted.split("\n"))):
            replace_text(cursor, document.findBlockByNumber(start).position(), old, new)
    if text_of(document) != wanted:
        # Half a surrogate pair, which no Python text can hold, has moved the places.
        cursor.select(QTextCursor.SelectionType.Document)
        cursor.insertText(wanted)
    cursor.endEditBlock()
    return True


def _pieces(old: list[str], new: list[str]) -> list[tuple[int, str, str]]:
    """What differs: the first line, the old text from there on, the new one."""
    found = []
    for before, after in hunks(old, new):
        if before.end < len(old):
            was = "".join(line + "\n" for line in old[before.start : before.end])
            will = "".join(line + "\n" for line in new[after.start : after.end])
            found.append((before.start, was, will))
            continue
        # The last line has no line break of its own; the one before it goes along where a side has none.
        back = 1 if before.start == before.end or after.start == after.end else 0
        was = "\n".join(old[before.start - back :])
        found.append((before.start - back, was, "\n".join(new[after.start - back :])))
    return found


def replace_text(cursor: QTextCursor, position: int, old: str, new: str) -> None:
    """Make the text `old` at `position` that of `new`, by the smallest edit."""
    start, end, text = smallest_edit(old, new)
    cursor.setPosition(position + utf16_length(old[:start]))
    cursor.setPosition(position + utf16_length(old[:end]), QTextCursor.MoveMode.KeepAnchor)
    cursor.insertText(text)


# What an open file's text stands for: pure decisions about saving, following the disk and conflicts.
#
# A `Buffer` knows two versions: `base`, the one its text grew from, and `disk`, the last one seen on disk.
# They differ only while a person has to decide; then `base` is no version of the file, but that of the disk
# with the old lines where nothing is decided yet, so that a save (compare-and-swap against `base`) cannot
# go through. No decision ever throws typed text away: a changed file is followed where nothing was typed
# and merged where something was, and what is replaced stays in the editor's undo stack.


Banner = Literal["", "conflict", "deleted", "gone"]
Effect = Literal["none", "follow", "merge"]


class FileRef(Struct, frozen=True):
    """A file of a home. Equal when it is the same file, seen from whichever workspace."""

    home: str
    store: str
    rel: str

    @classmethod
    def memory(cls, home: str, root_key: str, rel: str) -> FileRef:
        """A memory, by the root it lies in."""
        return cls(home, root_key, rel)

    @classmethod
    def companion(cls, home: str, path: Path) -> FileRef:
        """A file that the agent loads beside its memories, by its path."""
        return cls(home, "companion", str(path))


class Address(Struct, frozen=True):
    """How the workbench reaches the file: a memory path in a context, or a companion."""

    context: ScopeContext
    path: str
    companion: Companion | None = None

    @property
    def name(self) -> str:
        return self.companion.label if self.companion else self.path.rpartition("/")[2]

    @property
    def label(self) -> str:
        return str(self.companion.path) if self.companion else self.path


class Buffer(Struct, frozen=True):
    """One open file. `modified`: its text is not that of `base`. `banner`: what a person has to be asked.
    `style`: whose byte order mark and line breaks the text has while there is no `base`."""

    ref: FileRef
    address: Address
    base: FileText | None
    disk: FileText | None
    modified: bool = False
    banner: Banner = ""
    style: FileText | None = None

    @property
    def expected_sha256(self) -> str | None:
        """What a save must find on disk; None: no file."""
        return self.base.sha256 if self.base is not None else None

    @property
    def read_only(self) -> str:
        return self.base.read_only if self.base is not None else ""

    @property
    def refusal(self) -> Refusal | None:
        """Why its whole store is read-only, where a person may decide otherwise."""
        refusal = self.base.refusal if self.base is not None else None
        return refusal if refusal is not None and refusal.permissible else None

    @property
    def note(self) -> str:
        return self.base.note if self.base is not None else ""


def opened(ref: FileRef, address: Address, found: FileText) -> Buffer:
    """A file as it was just read: nothing edited, nothing kept."""
    return Buffer(ref, address, found, found)


def typed(buffer: Buffer, modified: bool) -> Buffer:
    """The text changed, or was undone back to `base`; while a person has to decide that is no matter."""
    if buffer.banner == "conflict":
        return replace(buffer, modified=True)
    after = replace(buffer, modified=modified)
    if not modified and buffer.disk is None:
        return replace(after, banner="gone")
    return after


def seen_on_disk(buffer: Buffer, found: FileText | None, text: str) -> tuple[Buffer, Effect]:
    """`found` is on disk now (None: no file) while the buffer's text on disk would be `text`. `merge`: the
    text has to be merged with `disk`, and `merged` told."""
    if found is None:
        return replace(buffer, disk=None, banner="deleted" if buffer.modified else "gone"), "none"
    if found.sha256 == buffer.expected_sha256 and buffer.base is not None:
        # Size and time may be newer than those of the same content in `base`.
        return replace(buffer, base=found, disk=found, banner=""), "none"
    if found.content == text and not found.read_only:
        return replace(buffer, base=found, disk=found, modified=False, banner=""), "none"
    if not buffer.modified:
        return replace(buffer, base=found, disk=found, banner=""), "follow"
    if buffer.disk is not None and buffer.disk.sha256 == found.sha256:
        return replace(buffer, disk=found), "none"  # this very version is being decided about
    if found.read_only:
        return replace(buffer, disk=found, banner="conflict"), "none"
    return replace(buffer, disk=found), "merge"


def merged(buffer: Buffer, base: FileText | None, modified: bool) -> Buffer:
    """The text holds what the disk has, except where `base` differs from it: there a person decides.
    `modified`: it is not that of the disk."""
    undecided = base is not buffer.disk
    return replace(buffer, base=base, modified=modified or undecided, banner="conflict" if undecided else "")


def reopened(buffer: Buffer, base: FileText | None) -> Buffer:
    """A merge was undone: the text grew from `base` again, and a person decides about what came since."""
    same = base is not None and buffer.disk is not None and base.sha256 == buffer.disk.sha256
    if same or buffer.disk is None:
        return replace(buffer, base=base)
    return replace(buffer, base=base, modified=True, banner="conflict", style=buffer.base or buffer.style)


def saved(buffer: Buffer, found: FileText, still_modified: bool) -> Buffer:
    """A save ended with `found` on disk; `still_modified`: somebody typed on meanwhile."""
    return replace(buffer, base=found, disk=found, modified=still_modified, banner="")


def kept_mine(buffer: Buffer) -> Buffer:
    """The person's text wins: the next save replaces exactly the version that was shown, or creates the
    file. What nobody may write over (it is no text, or too large) stays a conflict."""
    if buffer.disk is not None and buffer.disk.read_only:
        return buffer
    return replace(buffer, base=buffer.disk, modified=True, banner="", style=buffer.base or buffer.style)


def from_draft(
    buffer: Buffer, base: FileText | None, style: FileText | None, disk: FileText | None
) -> Buffer:
    """A draft's text is back. It grew from `base` (None: there was no file) while `disk` stands now: where
    they differ a person decides, as for any conflict."""
    same = (base.sha256 if base else None) == (disk.sha256 if disk else None)
    banner: Banner = "" if same else "conflict"
    if disk is None:
        banner = "deleted"
    return replace(
        buffer, base=disk if same else base, disk=disk, modified=True, banner=banner, style=base or style
    )


def taken_theirs(buffer: Buffer) -> tuple[Buffer, Effect]:
    """The version on disk wins. Without one there is nothing to take."""
    if buffer.disk is None:
        return buffer, "none"
    return replace(buffer, base=buffer.disk, modified=False, banner=""), "follow"


def moved(buffer: Buffer, ref: FileRef, address: Address) -> Buffer:
    """The file was renamed by us."""
    return replace(buffer, ref=ref, address=address)


# Light colouring of Markdown with front matter: headings, emphasis, lists, quotes, code, links and YAML.
#
# Nothing inside a code fence is anything else than code, and a fence ends only with one of its own kind
# that is as long. Front matter that does not end within `FRONT_LINES` lines is none. Colours come from the
# theme and follow it. Files above `LIMIT` characters stay plain: colouring runs on the GUI thread, line by
# line, and must not be felt.


LIMIT = 200_000
FRONT_LINES = 300
_LONG_LINE = 2_000

# States of a line: from `_FENCE` on they say which mark ends the fence (see `_fence_state`).
_PLAIN, _FRONT, _FENCE = 0, 1, 8
_LONGEST_MARK = 1000

_FENCE_OPEN = re.compile(r"^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
_FENCE_CLOSE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*$")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s|$)")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-{2,}|(?:[*_-] *){3,})\s*$")
_LIST = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])\s(\[[ xX]\]\s)?")
_QUOTE = re.compile(r"^(\s{0,3}>)+")
_YAML_KEY = re.compile(r"^(\s*)((?:- )*)((?:\"[^\"]*\"|'[^']*'|[^\s:#\"'][^:#]*):)(?=\s|$)")
_YAML_COMMENT = re.compile(r"(?:^|\s)(#.*)$")
_YAML_STRING = re.compile(r"(?<=[\s:\[,{])(\"(?:[^\"\\]|\\.)*\"|'(?:[^']|'')*')(?=\s*(?:$|[,\]}#]))")
_INLINE = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`)[^\n]*?[^`](?P=ticks)(?!`))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<strong>\*\*(?=\S)[^*\n]*[^*\s]\*\*|(?<!\w)__(?=\S)[^_\n]*[^_\s]__(?!\w))"
    r"|(?P<emphasis>\*(?=[^\s*])[^*\n]*[^*\s]\*|\*[^\s*]\*|(?<!\w)_(?=[^\s_])[^_\n]*[^_\s]_(?!\w)"
    r"|(?<!\w)_[^\s_]_(?!\w))"
    r"|(?P<strike>~~(?=\S)[^~\n]+~~)"
    r"|(?P<link>!?\[[^\[\]\n]*\]\([^)\n]*\)|\[\[[^\[\]\n]+\]\]|^\s{0,3}\[[^\]\n]+\]:\s*\S+|https?://[^\s<>)]+)"
)
_SPECIAL = re.compile(r"[`*_~\[\\]|://")
_MARKS = {"strong": 2, "emphasis": 1, "strike": 2}


class MarkdownHighlighter(QSyntaxHighlighter):
    """Colours one document. Block state: plain, inside front matter, inside a code fence of some mark."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._formats = _formats(theme)

    def set_theme(self, theme: Theme) -> None:
        self._formats = _formats(theme)
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        state = self.previousBlockState()
        if self.currentBlock().blockNumber() == 0:
            state = _FRONT if text.rstrip("\r") == "---" and self._front_ends() else _PLAIN
            if state == _FRONT:
                self._all(text, "mark")
                self.setCurrentBlockState(state)
                return
        if state == _FRONT:
            self._front_matter(text)
            return
        if state >= _FENCE:
            self._all(text, "code")
            closed = _FENCE_CLOSE.match(text)
            ends = closed is not None and _ends(state, closed[1])
            self.setCurrentBlockState(_PLAIN if ends else state)
            return
        opened = _FENCE_OPEN.match(text) if "```" in text or "~~~" in text else None
        self.setCurrentBlockState(_fence_state(opened[1] or opened[2]) if opened is not None else _PLAIN)
        if opened is not None:
            self._all(text, "code")
        elif text and len(text) <= _LONG_LINE:
            self._markdown(text)

    def _front_ends(self) -> bool:
        block = self.currentBlock().next()
        for _ in range(FRONT_LINES):
            if not block.isValid():
                return False
            if block.text().rstrip("\r") == "---":
                return True
            block = block.next()
        return False

    def _front_matter(self, text: str) -> None:
        closed = text.rstrip("\r") == "---"
        self.setCurrentBlockState(_PLAIN if closed else _FRONT)
        if closed:
            self._all(text, "mark")
            return
        if len(text) > _LONG_LINE:
            return
        if match := _YAML_KEY.match(text):
            self.setFormat(match.start(3), match.end(3) - match.start(3), self._formats["key"])
        for match in _YAML_STRING.finditer(text):
            self.setFormat(match.start(1), match.end(1) - match.start(1), self._formats["code"])
        if "#" in text and (match := _YAML_COMMENT.search(_YAML_STRING.sub(_blank, text))):
            self.setFormat(match.start(1), len(text) - match.start(1), self._formats["mark"])

    def _markdown(self, text: str) -> None:
        heading = _HEADING.match(text)
        if heading is not None:
            self._all(text, "heading")
            self.setFormat(heading.start(1), len(heading[1]), self._formats["mark"])
        elif _UNDERLINE.match(text):
            self._all(text, "mark")
            return
        elif quote := _QUOTE.match(text):
            self._all(text, "quote")
            self.setFormat(0, quote.end(), self._formats["mark"])
        elif item := _LIST.match(text):
            self.setFormat(item.start(2), item.end(2) - item.start(2), self._formats["mark"])
            if item[3]:
                self.setFormat(item.start(3), 3, self._formats["key"])
        # Most lines hold none of these characters: a plain search is cheaper than the expression.
        if _SPECIAL.search(text):
            self._inline(text, bold=heading is not None)

    def _inline(self, text: str, *, bold: bool) -> None:
        for match in _INLINE.finditer(text):
            kind = next((name for name in _KINDS if match[name] is not None), "")
            if kind not in self._formats:
                continue
            form = self._formats[kind]
            if bold:
                form = QTextCharFormat(form)
                form.setFontWeight(QFont.Weight.Bold)
            self.setFormat(match.start(), match.end() - match.start(), form)
            mark = _MARKS.get(kind, 0)
            if mark:
                self.setFormat(match.start(), mark, self._formats["mark"])
                self.setFormat(match.end() - mark, mark, self._formats["mark"])

    def _all(self, text: str, kind: str) -> None:
        self.setFormat(0, len(text), self._formats[kind])


_KINDS = ("code", "escape", "strong", "emphasis", "strike", "link")


def _fence_state(mark: str) -> int:
    return _FENCE + 2 * min(len(mark), _LONGEST_MARK) + (mark[0] == "~")


def _ends(state: int, mark: str) -> bool:
    """A fence ends with a mark of its own kind that is at least as long."""
    length, tilde = divmod(state - _FENCE, 2)
    return (mark[0] == "~") == bool(tilde) and min(len(mark), _LONGEST_MARK) >= length


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _formats(theme: Theme) -> dict[str, QTextCharFormat]:
    def made(**wish: object) -> QTextCharFormat:
        found = QTextCharFormat()
        if "color" in wish:
            found.setForeground(wish["color"])  # type: ignore[arg-type]
        if wish.get("bold"):
            found.setFontWeight(QFont.Weight.Bold)
        found.setFontItalic(bool(wish.get("italic")))
        found.setFontStrikeOut(bool(wish.get("strike")))
        return found

    return {
        "heading": made(color=theme.text, bold=True),
        "quote": made(color=theme.dim),
        "mark": made(color=theme.dim),
        "key": made(color=theme.hunk),
        "code": made(color=theme.code),
        "strong": made(bold=True),
        "emphasis": made(italic=True),
        "strike": made(color=theme.dim, strike=True),
        "link": made(color=theme.hunk),
    }


BOM = "\ufeff"
# What is too large for the agent is for reading only, and reading needs no more than this.
SHOWN_CHARS = 1_000_000


class Arrived(Struct):
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
        self._before_others: str | None = None
        """The text before others began to write into it; None while nobody has since the person typed."""
        self.conflicts: tuple[MergeConflict, ...] = ()
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
        return text_of(self.document)

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
        so does the undo stack, up to `MOST_EDITS` times."""
        base = self.buffer.base
        if base is None:
            return
        if not before.modified:
            self._foreign.make_room()
        old, wanted = self.text, self._shown(base.content)
        if self._before_others is None:
            self._before_others = old
        self.arrived = Arrived()
        self.conflicts = ()
        # Back to what the person had before others wrote, a run was undone say, there is nothing to mark.
        changed = self._become(wanted, before)
        if changed and wanted != self._before_others and author not in BY_A_PERSON:
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
        """A person decided about one of the `conflicts`; one undo asks again."""
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
        """Undo all that was merged into the text, wherever in the undo stack it is; typed text stays, and a
        person decides about what others wrote."""
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
        """Look again at what has to be decided; True: it is another."""
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

    def mark_unseen(self, lines: Sequence[int], author: str) -> None:
        """Mark the lines that `author` wrote before the file was opened; what was merged into the text while
        it is open has marks of its own."""
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
        # What a person has typed into is never cut under their hands.
        self.whole = True
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
