"""The text of a transcript: entries one below the other; the first line of each names speaker and time.

Tool calls, reasoning and text that the agent added are folded to that line. Folded text is not in the
document, so that a long transcript costs only its displayed part. Texts are untrusted: they are shown as
plain text, with hidden and reordering characters escaped.

Threading: GUI thread; no file is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from PySide6.QtCore import QEvent, QRect, QSignalBlocker, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
)
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from reverie.agents.base import TranscriptSource
from reverie.agents.transcript_pages import is_prompt
from reverie.agents.transcripts import SHOWN_CHARS, Citation, Message, ReadStatistics, Speaker, ToolUse
from reverie.ui.appearance import UNIT, mixed, monospace, readable, theme_of
from reverie.ui.display_text import counted, tr, visible, visible_lines, when
from reverie.ui.widgets.text_boxes import PlainTextBox
from reverie.ui.widgets.text_views import MOST_ROWS

# Labels of entries, transcripts and jobs.
_PREVIEW = 160
_SMALL = 20_000
_LONG_CHARS, _LONG_LINES = 600, 8
_TELLING = (
    "command", "cmd", "script", "file_path", "path", "pattern", "query", "url", "prompt", "description",
)  # fmt: skip
_SECTION = re.compile(r"in section “(.*)”")
SEPARATOR = " · "


class HeadedMessage(Message, frozen=True):
    """A message that has a heading in place of its speaker and time, and is folded at first if it is long."""

    heading: str = ""

    @property
    def is_long(self) -> bool:
        """True if the text has too many characters or lines to be shown whole at first."""
        return len(self.text) > _LONG_CHARS or self.text.count("\n") >= _LONG_LINES


def headed(number: int, role: str, title: str, text: str) -> HeadedMessage:
    """Return a message for display under a heading; of a long text, only the beginning is shown.

    `number`: its position; `title`: the first part of the heading. `role`: the speaker; an unknown one counts
    as the system.
    """
    speaker: Speaker = "user" if role == "user" else "assistant" if role == "assistant" else "system"
    heading = SEPARATOR.join((title, counted(tr("1 character"), "%n characters", len(text))))
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = "\n".join(text[:SHOWN_CHARS].split("\n", MOST_ROWS)[:MOST_ROWS])
    return HeadedMessage(number, speaker, "message", shown, cut=len(text) - len(shown), heading=heading)


def starts_folded(message: Message) -> bool:
    """Return True if only the first line of an entry is shown at first."""
    return message.folded or (isinstance(message, HeadedMessage) and message.is_long)


def who(message: Message) -> str:
    """Return the speaker of an entry for display or, for a special kind of entry, the name of the kind."""
    if isinstance(message, HeadedMessage):
        return visible(message.heading)
    name = {
        "reasoning": tr("Reasoning"),
        "context": tr("Added by the agent"),
        "summary": tr("Summary of earlier messages"),
        "event": tr("Event"),
        "tool": tr("Tool"),
    }.get(message.kind, "")
    return (
        name
        or {"user": tr("You"), "assistant": tr("Assistant"), "system": tr("System"), "tool": tr("Tool")}[
            message.speaker
        ]
    )


def facts_of(message: Message) -> tuple[str, ...]:
    """Return the facts, besides speaker and time, for the first line of an entry."""
    found = []
    if message.tool is not None:
        found.append(tool_state(message.tool))
    if message.undone:
        found.append(tr("undone"))
    if message.side:
        found.append(tr("sub-agent"))
    if message.timestamp is not None:
        found.append(when(message.timestamp))
    if message.model and message.speaker == "assistant":
        found.append(visible(message.model))
    return tuple(found)


def tool_state(tool: ToolUse) -> str:
    """Return a word for the result of a tool call."""
    if tool.output is None:
        return tr("no result")
    return tr("failed") if tool.is_error else tr("done")


def tool_summary(tool: ToolUse) -> str:
    """Return the most informative argument of a tool call, else its whole input."""
    if len(tool.input) > _SMALL or not tool.input.startswith("{"):
        return tool.input
    try:
        value = json.loads(tool.input)
    except (ValueError, RecursionError):
        return tool.input
    for key in _TELLING:
        found = value.get(key) if isinstance(value, dict) else None
        if isinstance(found, str) and found:
            return found
        if isinstance(found, list) and found and all(isinstance(each, str) for each in found):
            return found[2] if len(found) == 3 and found[1] in ("-c", "-lc") else " ".join(found)
    return tool.input


def preview(message: Message) -> str:
    """Return the beginning of an entry as one line, which is shown while the entry is folded."""
    text = message.text
    if message.tool is not None:
        text = f"{message.tool.name}  {tool_summary(message.tool)}"
    shown = visible(" ".join(text[: 4 * _PREVIEW].split()))[:_PREVIEW]
    return f"{shown}…" if isinstance(message, HeadedMessage) else shown


def memory_used(message: Message) -> tuple[str, ...]:
    """Return lines about the agent's memory that an answer cites; empty if it cites none."""
    found = [citation(each) for each in message.citations]
    found += [tr("earlier session {id}").format(id=each) for each in message.cited_threads]
    return (tr("Memory used:"), *(f"• {each}" for each in found)) if found else ()


def citation(cited: Citation) -> str:
    """Return a text about a cited place in the agent's memory, with the note of the citation."""
    if not cited.first:
        place = cited.path
    elif cited.first == cited.last:
        place = tr("{path}, line {first}").format(path=cited.path, first=cited.first)
    else:
        place = tr("{path}, lines {first} to {last}").format(
            path=cited.path, first=cited.first, last=cited.last
        )
    return f"{place}: {cited.note}" if cited.note else place


def left_out(count: int) -> str:
    """Return a sentence that says how many characters were left out."""
    return counted("1 character is left out here.", "%n characters are left out here.", count)


def read_so_far(entries: int, first: int, facts: ReadStatistics, *, at_end: bool) -> str:
    """Return the line of facts below a transcript.

    `entries` is the number of entries read so far, `first` the number of the first one shown.
    """
    count = counted("1 entry", "%n entries", entries)
    found = [count if at_end else tr("{entries} so far").format(entries=count)]
    if first:
        found.append(tr("starting at entry {number}").format(number=first + 1))
    if facts.unknown:
        found.append(counted("1 line of an unknown type", "%n lines of an unknown type", facts.unknown))
    if facts.broken:
        found.append(counted("1 broken line", "%n broken lines", facts.broken))
    if facts.half_written:
        found.append(tr("the last line is incomplete"))
    return SEPARATOR.join(found)


def state_of(source: TranscriptSource) -> str:
    """Return the special states of a transcript, separated by commas."""
    states = [_state(part) for part in source.state.split(", ")] if source.state else []
    if source.archived and "archived" not in source.state:
        states.insert(0, tr("archived"))
    return ", ".join(states)


def _state(part: str) -> str:
    known = {
        "archived": tr("archived"),
        "sub-agent": tr("sub-agent"),
        "pinned": tr("pinned"),
        "memory disabled": tr("memory disabled"),
        "extraction failed": tr("extraction failed"),
    }
    section = _SECTION.fullmatch(part)
    if section is not None:
        return tr("in section “{name}”").format(name=visible(section[1]))
    return known.get(part) or visible(part)


def job_state(state: str) -> str:
    """Return the state of a job for display."""
    return {
        "waiting": tr("waiting"),
        "running": tr("running"),
        "done": tr("done"),
        "failed": tr("failed"),
        "stale": tr("stale"),
    }.get(state, visible(state))


def job_kind(kind: str) -> str:
    """Return the kind of a job for display."""
    return {"extraction": tr("Extraction"), "consolidation": tr("Consolidation")}.get(kind, visible(kind))


LONGEST_LINE = 4_000
CLOSED, OPEN = "▸ ", "▾ "

Line = tuple[str, QTextCharFormat, QTextBlockFormat]


class EntryStyle:
    """The maker of the lines of entries, with the text formats for one palette.

    Very long lines are broken, because Qt lays out a line as a whole. No state is shown by colour alone: the
    first line of an entry also names the state.
    """

    def __init__(self, palette: QPalette) -> None:
        theme = theme_of(palette)
        text = palette.color(QPalette.ColorRole.Text)
        tint = mixed(theme.accent, theme.base, 0.10)
        self._stripes = {"user": theme.accent, "assistant": theme.good, "tool": theme.line}
        self._text, self._quiet = _format(text), _format(theme.dim)
        self._bad = _format(readable(theme.bad, theme.base))
        self._code, self._quiet_code = _format(text), _format(theme.dim)
        for code in (self._code, self._quiet_code):
            code.setFont(monospace())
        self._heads = {
            "user": _format(readable(theme.accent, tint), bold=True),
            "assistant": _format(readable(theme.good, theme.base), bold=True),
            "system": _format(theme.dim, bold=True),
        }
        self._plain, self._prompt = QTextBlockFormat(), QTextBlockFormat()
        self._prompt.setBackground(tint)

    def stripe(self, message: Message) -> QColor | None:
        """Return the colour of the stripe at the edge of an entry; None for no stripe."""
        quiet = message.undone or (message.folded and message.tool is None)
        return None if quiet else self._stripes.get(message.speaker)

    def lines(self, message: Message, *, unfolded: bool) -> Iterator[Line]:
        """Yield the lines of an entry, the one with the speaker first; `unfolded`: show the whole text."""
        back = self._prompt if is_prompt(message) and not message.undone else self._plain
        yield _head(message, unfolded=unfolded), self._head_format(message), back
        if not unfolded:
            return
        if message.tool is not None:
            yield from self._tool_lines(message, message.tool, back)
        else:
            body = self._quiet if message.folded else self._text
            yield from ((line, body, back) for line in _broken(message.text))
        yield from ((line, self._quiet, back) for each in memory_used(message) for line in _broken(each))
        if message.cut:
            yield left_out(message.cut), self._quiet, back
        yield "", self._text, self._plain

    def _tool_lines(self, message: Message, tool: ToolUse, back: QTextBlockFormat) -> Iterator[Line]:
        code = self._quiet_code if message.undone else self._code
        yield from ((line, code, back) for line in _broken(tool.input))
        if tool.output is not None:
            yield tr("Result"), self._bad if tool.is_error else self._quiet, back
            yield from ((line, code, back) for line in _broken(tool.output))

    def _head_format(self, message: Message) -> QTextCharFormat:
        if message.tool is not None and message.tool.is_error and not message.undone:
            return self._bad
        return self._quiet if message.folded else self._heads.get(message.speaker, self._heads["system"])


def _head(message: Message, *, unfolded: bool) -> str:
    sign = (OPEN if unfolded else CLOSED) if starts_folded(message) or not unfolded else ""
    facts = facts_of(message)
    if unfolded:
        name = visible_lines(message.tool.name) if message.tool is not None else ""
        parts = (who(message), name, *facts)
    else:
        most = 2 if message.undone else 1
        parts = (who(message), *(facts[:most] if message.tool or message.undone else ()))
        parts = (*parts, preview(message))
    return sign + SEPARATOR.join(part for part in parts if part)


def _broken(text: str) -> Iterator[str]:
    """Yield the lines of a text with hidden characters escaped; a very long line is yielded in pieces."""
    for line in visible_lines(text).split("\n"):
        for start in range(0, max(1, len(line)), LONGEST_LINE):
            yield line[start : start + LONGEST_LINE]


def _format(color: QColor, *, bold: bool = False) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(color)
    if bold:
        made.setFontWeight(700)
    return made


Carried = tuple[int, QTextBlockFormat]


class EntryBlocks:
    """The entries of a transcript in a document, found by their numbers.

    Each block has the number of its entry as user state, in order, so that an entry is found by bisection. Qt
    may lose the user state when blocks are joined or split; `carried` and `carry` restore it. Arguments must
    be numbers of entries in the document.
    """

    def __init__(self, document: QTextDocument) -> None:
        self._document = document

    def first_of(self, number: int) -> QTextBlock:
        """Return the first text block of the entry `number`."""
        low, high = 0, self._document.blockCount() - 1
        while low < high:
            middle = (low + high) // 2
            if self._document.findBlockByNumber(middle).userState() < number:
                low = middle + 1
            else:
                high = middle
        return self._document.findBlockByNumber(low)

    def select(self, number: int, *, last: bool) -> QTextCursor:
        """Return a cursor that selects an entry without the line break after it.

        `last`: True if no entry follows.
        """
        cursor = QTextCursor(self.first_of(number))
        if last:
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        else:
            cursor.setPosition(self.first_of(number + 1).position() - 1, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def write(self, cursor: QTextCursor, number: int, lines: Iterable[Line]) -> None:
        """Write the entry `number` at the cursor, which must be in an empty block."""
        start = cursor.block()
        for row, ((format_, back), run) in enumerate(groupby(lines, key=lambda line: line[1:])):
            if row:
                cursor.insertBlock()
            cursor.setBlockFormat(back)
            cursor.insertText("\n".join(text for text, _format, _back in run), format_)
        while start.isValid() and start.position() <= cursor.position():
            start.setUserState(number)
            start = start.next()

    def remove(self, start: int, end: int | None) -> None:
        """Remove the entries from `start` to before `end`; None removes all to the end."""
        begin = self.first_of(start)
        cursor = QTextCursor(begin)
        if end is not None:
            following = self.first_of(end)
            kept, place = carried(following), begin.position()
            cursor.setPosition(following.position(), QTextCursor.MoveMode.KeepAnchor)
            cursor.removeSelectedText()
            carry(self._document.findBlock(place), kept)
            return
        before = begin.previous()
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if before.isValid():
            kept = carried(before)
            cursor.deletePreviousChar()  # the line break before the removed text
            carry(cursor.block(), kept)


def begins(block: QTextBlock) -> bool:
    """Return True if an entry begins with this block."""
    return not block.previous().isValid() or block.previous().userState() != block.userState()


def goes_on(block: QTextBlock) -> bool:
    """Return True if the block's entry continues in the next block."""
    following = block.next()
    return following.isValid() and following.userState() == block.userState()


def carried(block: QTextBlock) -> Carried:
    """Return the number of the entry and the format of a block, to be restored by `carry`."""
    return block.userState(), block.blockFormat()


def carry(block: QTextBlock, kept: Carried) -> None:
    """Set the user state and format of a block to values that `carried` returned."""
    QTextCursor(block).setBlockFormat(kept[1])
    block.setUserState(kept[0])


_STRIPE = 3
_MARGIN = 14
_WHOLE = (Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Up, Qt.Key.Key_Down)
_FLAGS = Qt.TextInteractionFlag


class ReaderText(PlainTextBox):
    """Read-only view of consecutive messages, with a caret.

    Signals: `near_start()` and `near_end()`, emitted when the text is scrolled near its start or end, so that
    more text must be loaded.
    """

    near_start = Signal()
    near_end = Signal()

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        """Create the view; `name` is its accessible name."""
        super().__init__(parent)
        self._messages: list[Message] = []
        self._unfolded: set[int] = set()
        self._folded: set[int] = set()
        self._all = False
        self._marked = -1
        self._blocks = EntryBlocks(self.document())
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setTextInteractionFlags(_FLAGS.TextSelectableByMouse | _FLAGS.TextSelectableByKeyboard)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName(name)
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(_MARGIN)
        self._style()
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    @property
    def messages(self) -> Sequence[Message]:
        """The messages in the document."""
        return self._messages

    @property
    def first(self) -> int:
        """The number of the first entry in the document; 0 if it is empty."""
        return self._messages[0].number if self._messages else 0

    @property
    def end(self) -> int:
        """The number of the last entry in the document, plus one; 0 if it is empty."""
        return self._messages[-1].number + 1 if self._messages else 0

    def holds(self, number: int) -> bool:
        """Return True if the entry with this number is in the document."""
        return bool(self._messages) and self.first <= number < self.end

    def message(self, number: int) -> Message:
        """Return the entry with this number, which must be in the document."""
        return self._messages[number - self.first]

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Replace all messages and scroll to the top."""
        with QSignalBlocker(self):
            self._messages = []
            self.clear()
            self._insert_at_end(messages)
            self.verticalScrollBar().setValue(0)
            self.moveCursor(QTextCursor.MoveOperation.Start)

    def forget(self) -> None:
        """Remove all messages and the folding of each entry. Called when another transcript is shown."""
        self._unfolded.clear()
        self._folded.clear()
        self._marked = -1
        self.show_messages(())

    def append(self, messages: Sequence[Message]) -> None:
        """Add the following messages without moving the visible text."""
        self.replace_from(self.end, messages)

    def prepend(self, messages: Sequence[Message]) -> None:
        """Add the preceding messages without moving the visible text."""
        if not messages:
            return
        with self._same_place():
            kept = carried(self.document().firstBlock())
            cursor = QTextCursor(self.document())
            cursor.beginEditBlock()
            cursor.insertBlock()
            cursor.setPosition(0)
            for number, message in enumerate(messages):
                if number:
                    cursor.insertBlock()
                self._insert(cursor, message)
            cursor.endEditBlock()
            carry(cursor.block().next(), kept)
            self._messages[:0] = messages

    def replace_from(self, number: int, messages: Sequence[Message]) -> None:
        """Replace the entries from `number` on."""
        with QSignalBlocker(self):
            place = self.verticalScrollBar().value()
            self._remove(number, self.end)
            self._insert_at_end(messages)
            self.verticalScrollBar().setValue(place)

    def drop_before(self, number: int) -> None:
        """Remove the entries before `number` without moving the visible text."""
        with self._same_place():
            self._remove(self.first, number)

    def is_unfolded(self, message: Message) -> bool:
        """Return True if the whole text of an entry is shown, given its kind and the user's choice."""
        if message.number in self._unfolded or message.number in self._folded:
            return message.number in self._unfolded
        return self._all or not starts_folded(message)

    def toggle(self, number: int) -> None:
        """Fold or unfold the entry `number`."""
        message = self.message(number)
        self._set_unfolded(message, not self.is_unfolded(message))

    def unfold(self, number: int) -> None:
        """Show the whole text of the entry `number`."""
        message = self.message(number)
        if not self.is_unfolded(message):
            self._set_unfolded(message, True)

    def unfold_all(self, wanted: bool) -> None:
        """Unfold all entries or, if `wanted` is False, restore the initial folding."""
        self._all = wanted
        self._unfolded.clear()
        self._folded.clear()
        self._show_anew()

    def _set_unfolded(self, message: Message, wanted: bool) -> None:
        own, other = (self._unfolded, self._folded) if wanted else (self._folded, self._unfolded)
        own.add(message.number)
        other.discard(message.number)
        place, cursor = self.verticalScrollBar().value(), self._cursor_of(message.number)
        with QSignalBlocker(self):
            cursor.beginEditBlock()
            cursor.removeSelectedText()
            self._insert(cursor, message)
            cursor.endEditBlock()
            self.verticalScrollBar().setValue(place)
        caret = self.textCursor()
        caret.setPosition(self._blocks.first_of(message.number).position())
        self.setTextCursor(caret)

    def current(self) -> int:
        """Return the number of the entry with the caret."""
        return max(self.first, self.textCursor().block().userState())

    def go_to(self, number: int) -> None:
        """Move the caret to the beginning of the entry `number` and scroll it near the top."""
        block = self._blocks.first_of(number)
        caret = self.textCursor()
        caret.setPosition(block.position())
        self.setTextCursor(caret)
        self.verticalScrollBar().setValue(max(0, block.firstLineNumber() - 1))

    def go_to_end(self) -> None:
        """Move the caret to the end and scroll there."""
        self.moveCursor(QTextCursor.MoveOperation.End)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @property
    def at_bottom(self) -> bool:
        """True if the text is scrolled to its end."""
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 1

    def mark(self, needle: str, number: int, *, back: bool = False) -> bool:
        """Select the next occurrence of `needle` in an entry and highlight all of them.

        Return False if there is no further occurrence in this direction.
        """
        flags = QTextDocument.FindFlag.FindBackward if back else QTextDocument.FindFlag(0)
        block = self._blocks.first_of(number)
        caret = self.textCursor()
        inside = caret.block().userState() == number and self._marked == number
        if not inside:
            caret.setPosition(self._cursor_of(number).selectionEnd() if back else block.position())
        found = self.document().find(needle, caret, flags)
        if found.isNull() or found.block().userState() != number:
            return False
        self._marked = number
        self.setTextCursor(found)
        self.ensureCursorVisible()
        self._colour(needle)
        return True

    def unmark(self) -> None:
        """Remove the highlights."""
        self._marked = -1
        self.setExtraSelections([])

    def _insert_at_end(self, messages: Sequence[Message]) -> None:
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        for message in messages:
            if self._messages:
                cursor.insertBlock()
            self._messages.append(message)
            self._insert(cursor, message)
        cursor.endEditBlock()

    def _insert(self, cursor: QTextCursor, message: Message) -> None:
        """Write one entry at the cursor, which must be in an empty block."""
        lines = self._entries.lines(message, unfolded=self.is_unfolded(message))
        self._blocks.write(cursor, message.number, lines)

    def _remove(self, start: int, end: int) -> None:
        """Remove the entries from `start` to before `end`."""
        if start >= end or not self._messages:
            return
        first = self.first
        self._blocks.remove(start, end if end < self.end else None)
        del self._messages[start - first : end - first]

    def _cursor_of(self, number: int) -> QTextCursor:
        """Return a cursor that selects an entry without the line break after it."""
        return self._blocks.select(number, last=number + 1 >= self.end)

    @contextmanager
    def _same_place(self) -> Iterator[None]:
        """Keep the top visible line where it is while entries before it are added or removed."""
        number, bar = self.firstVisibleBlock().userState(), self.verticalScrollBar()
        held = self.holds(number)
        lines = bar.value() - self._blocks.first_of(number).firstLineNumber() if held else 0
        with QSignalBlocker(self):
            yield
            if held and self.holds(number):
                bar.setValue(self._blocks.first_of(number).firstLineNumber() + lines)

    def _on_scrolled(self, value: int) -> None:
        if not self._messages:
            return
        bar = self.verticalScrollBar()
        if value >= bar.maximum() - bar.pageStep():
            self.near_end.emit()
        if value <= bar.pageStep():
            self.near_start.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._messages:
            self.toggle(self.current())
            return
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.key() in _WHOLE:
            event.ignore()  # the parent handles these keys: they address the whole transcript
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        cursor = self.cursorForPosition(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            block = cursor.block()
            if begins(block) and block.text().startswith((CLOSED, OPEN)):
                self.toggle(block.userState())

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_entries"):
            self._style()
            self._show_anew()

    def _show_anew(self) -> None:
        """Write all messages again, with the current folding and style."""
        current, messages = self.current(), list(self._messages)
        self.unmark()
        if messages:
            self.show_messages(messages)
            self.go_to(current)

    def _style(self) -> None:
        self._entries = EntryStyle(self.palette())

    def _colour(self, needle: str) -> None:
        """Highlight the occurrences of `needle` in the marked entry, at most 200."""
        theme = theme_of(self.palette())
        found: list[QTextEdit.ExtraSelection] = []
        cursor = QTextCursor(self._blocks.first_of(self._marked))
        end = self._cursor_of(self._marked).selectionEnd()
        while len(found) < 200:
            cursor = self.document().find(needle, cursor)
            if cursor.isNull() or cursor.position() > end:
                break
            each = QTextEdit.ExtraSelection()
            each.cursor, each.format = cursor, QTextCharFormat()
            each.format.setBackground(theme.warn_back)
            found.append(each)
        self.setExtraSelections(found)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        block = self.firstVisibleBlock()
        while block.isValid():
            area = self.blockBoundingGeometry(block).translated(self.contentOffset())
            if area.top() > event.rect().bottom():
                break
            number = block.userState()
            if self.holds(number):
                message = self.message(number)
                color = self._entries.stripe(message)
                if color is not None and (block.text() or goes_on(block)):
                    stripe = QRect(UNIT, int(area.top()), _STRIPE, int(area.height()) + 1)
                    painter.fillRect(stripe, QColor(color))
            block = block.next()
