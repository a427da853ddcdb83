"""The text of a transcript: entries below each other, each with a line that says who and when; tool calls,
reasoning and what the agent added are folded to that line.

Folded text is not in the document, so a long transcript costs only what is shown of it. Texts are
untrusted: shown plain, with hidden and reordering characters escaped.

Threading: GUI thread; no file is read here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from PySide6.QtCore import QEvent, QRect, Qt, Signal
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
from reverie.agents.transcript_pages import TranscriptStatistics, is_prompt
from reverie.agents.transcripts import Citation, Message, ToolUse
from reverie.ui.appearance import UNIT, mixed, monospace, readable, theme_of
from reverie.ui.display_text import counted, tr, visible, visible_lines, when
from reverie.ui.widgets.text_boxes import PlainTextBox

# Labels: who speaks, what kind of entry it is, the result of a tool call. Pure, except for translation.


_PREVIEW = 160
_SMALL = 20_000
_TELLING = (
    "command", "cmd", "script", "file_path", "path", "pattern", "query", "url", "prompt", "description",
)  # fmt: skip
_SECTION = re.compile(r"in section “(.*)”")
SEPARATOR = " · "


def who(message: Message) -> str:
    """Who speaks, or what the entry is."""
    name = {
        "reasoning": tr("Reasoning"),
        "context": tr("Added by the agent"),
        "summary": tr("Summary of what came before"),
        "event": tr("Event"),
        "tool": tr("Tool"),
    }.get(message.kind, "")
    return (
        name
        or {
            "user": tr("You"),
            "assistant": tr("Assistant"),
            "system": tr("System"),
            "tool": tr("Tool"),
        }[message.speaker]
    )


def facts_of(message: Message) -> tuple[str, ...]:
    """The rest of the first line of an entry."""
    found = []
    if message.tool is not None:
        found.append(tool_state(message.tool))
    if message.undone:
        found.append(tr("taken back"))
    if message.side:
        found.append(tr("sub-agent"))
    if message.timestamp is not None:
        found.append(when(message.timestamp))
    if message.model and message.speaker == "assistant":
        found.append(visible(message.model))
    return tuple(found)


def tool_state(tool: ToolUse) -> str:
    if tool.output is None:
        return tr("no result")
    return tr("failed") if tool.is_error else tr("done")


def result() -> str:
    """Above what a tool answered."""
    return tr("Result")


def tool_summary(tool: ToolUse) -> str:
    """The most telling argument of a tool call, if there is one."""
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
    """The beginning of what is folded, on one line."""
    text = message.text
    if message.tool is not None:
        text = f"{message.tool.name}  {tool_summary(message.tool)}"
    return visible(" ".join(text[: 4 * _PREVIEW].split()))[:_PREVIEW]


def memory_used(message: Message) -> tuple[str, ...]:
    """What an answer says it used of the agent's memory, a line each; empty for nothing."""
    found = [citation(each) for each in message.citations]
    found += [tr("earlier session {id}").format(id=each) for each in message.cited_threads]
    return (tr("Memory used:"), *(f"• {each}" for each in found)) if found else ()


def citation(cited: Citation) -> str:
    """A place in the agent's memory, and what it was used for."""
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
    return counted("1 character is left out here.", "%n characters are left out here.", count)


def read_so_far(entries: int, first: int, facts: TranscriptStatistics, *, at_end: bool) -> str:
    """The line of facts below a transcript. `entries`: those read so far, `first`: the first one shown."""
    count = counted("1 entry", "%n entries", entries)
    found = [count if at_end else tr("{entries} so far").format(entries=count)]
    if first:
        found.append(tr("shown from number {number}").format(number=first + 1))
    if facts.unknown:
        found.append(counted("1 line of an unknown kind", "%n lines of an unknown kind", facts.unknown))
    if facts.broken:
        found.append(counted("1 broken line", "%n broken lines", facts.broken))
    if facts.half_written:
        found.append(tr("the last line is half-written"))
    return SEPARATOR.join(found)


def state_of(source: TranscriptSource) -> str:
    """What is special about a transcript."""
    states = [_state(part) for part in source.state.split(", ")] if source.state else []
    if source.archived and "archived" not in source.state:
        states.insert(0, tr("archived"))
    return ", ".join(states)


def _state(part: str) -> str:
    known = {
        "archived": tr("archived"),
        "sub-agent": tr("sub-agent"),
        "pinned": tr("pinned"),
        "memory disabled": tr("not to be remembered"),
        "extraction failed": tr("extraction failed"),
    }
    section = _SECTION.fullmatch(part)
    if section is not None:
        return tr("in section “{name}”").format(name=visible(section[1]))
    return known.get(part) or visible(part)


def job_state(state: str) -> str:
    return {
        "waiting": tr("waiting"),
        "running": tr("running"),
        "done": tr("done"),
        "failed": tr("failed"),
        "stale": tr("stale"),
    }.get(state, visible(state))


def job_kind(kind: str) -> str:
    return {"extraction": tr("Extraction"), "consolidation": tr("Consolidation")}.get(kind, visible(kind))


# The lines of an entry with their formats. Very long lines are broken, because Qt lays out a line as a
# whole. No state is shown by colour alone: the first line of an entry has it in words.


LONGEST_LINE = 4_000
CLOSED, OPEN = "▸ ", "▾ "

Line = tuple[str, QTextCharFormat, QTextBlockFormat]


class EntryStyle:
    """The formats for one palette."""

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
        """The colour at the edge of an entry."""
        quiet = message.undone or (message.folded and message.tool is None)
        return None if quiet else self._stripes.get(message.speaker)

    def lines(self, message: Message, *, unfolded: bool) -> Iterator[Line]:
        """The lines of an entry, the one that says who first."""
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
            yield result(), self._bad if tool.is_error else self._quiet, back
            yield from ((line, code, back) for line in _broken(tool.output))

    def _head_format(self, message: Message) -> QTextCharFormat:
        if message.tool is not None and message.tool.is_error and not message.undone:
            return self._bad
        return self._quiet if message.folded else self._heads.get(message.speaker, self._heads["system"])


def _head(message: Message, *, unfolded: bool) -> str:
    sign = (OPEN if unfolded else CLOSED) if message.folded or not unfolded else ""
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
    """The lines of a text, safe to show; a very long one in pieces."""
    for line in visible_lines(text).split("\n"):
        for start in range(0, max(1, len(line)), LONGEST_LINE):
            yield line[start : start + LONGEST_LINE]


def _format(color: QColor, *, bold: bool = False) -> QTextCharFormat:
    made = QTextCharFormat()
    made.setForeground(color)
    if bold:
        made.setFontWeight(700)
    return made


# Entries in the document: each block carries the number of its entry as user state, in order, so an entry
# is found by bisection. Qt may lose the user state when blocks are joined or split; `carried` and `carry`
# restore it.


Carried = tuple[int, QTextBlockFormat]


class EntryBlocks:
    """What stands where in `document`. Numbers are those of entries that are in it."""

    def __init__(self, document: QTextDocument) -> None:
        self._document = document

    def first_of(self, number: int) -> QTextBlock:
        """The first block of an entry."""
        low, high = 0, self._document.blockCount() - 1
        while low < high:
            middle = (low + high) // 2
            if self._document.findBlockByNumber(middle).userState() < number:
                low = middle + 1
            else:
                high = middle
        return self._document.findBlockByNumber(low)

    def select(self, number: int, *, last: bool) -> QTextCursor:
        """A cursor that selects an entry, without the break behind it; `last`: none follows it."""
        cursor = QTextCursor(self.first_of(number))
        if last:
            cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        else:
            cursor.setPosition(self.first_of(number + 1).position() - 1, QTextCursor.MoveMode.KeepAnchor)
        return cursor

    def write(self, cursor: QTextCursor, number: int, lines: Iterable[Line]) -> None:
        """One entry from the cursor on, which stands in an empty block."""
        for row, (text, format_, back) in enumerate(lines):
            if row:
                cursor.insertBlock()
            cursor.setBlockFormat(back)
            cursor.insertText(text, format_)
            cursor.block().setUserState(number)

    def remove(self, start: int, end: int | None) -> None:
        """Let go of the entries from `start` to before `end`; None: to the end."""
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
            cursor.deletePreviousChar()  # the break before it
            carry(cursor.block(), kept)


def begins(block: QTextBlock) -> bool:
    """Whether an entry begins with this block."""
    return not block.previous().isValid() or block.previous().userState() != block.userState()


def goes_on(block: QTextBlock) -> bool:
    """Whether its entry goes on below this block."""
    following = block.next()
    return following.isValid() and following.userState() == block.userState()


def carried(block: QTextBlock) -> Carried:
    """What a block carries beside its text: the number of its entry and its format."""
    return block.userState(), block.blockFormat()


def carry(block: QTextBlock, kept: Carried) -> None:
    """Give a block what another one carried."""
    QTextCursor(block).setBlockFormat(kept[1])
    block.setUserState(kept[0])


_STRIPE = 3
_MARGIN = 14
_WHOLE = (Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Up, Qt.Key.Key_Down)
_FLAGS = Qt.TextInteractionFlag


class ReaderText(PlainTextBox):
    """Shows a run of messages without a gap; read only, the caret walks through it. `near_start()`,
    `near_end()`: scrolled to where more is wanted."""

    near_start = Signal()
    near_end = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._messages: list[Message] = []
        self._unfolded: set[int] = set()
        self._folded: set[int] = set()
        self._all = False
        self._telling = True
        self._marked = -1
        self._blocks = EntryBlocks(self.document())
        self.setReadOnly(True)
        self.setUndoRedoEnabled(False)
        self.setTextInteractionFlags(_FLAGS.TextSelectableByMouse | _FLAGS.TextSelectableByKeyboard)
        self.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.setAccessibleName(self.tr("Transcript"))
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(_MARGIN)
        self._style()
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)

    # What is shown

    @property
    def messages(self) -> Sequence[Message]:
        return self._messages

    @property
    def first(self) -> int:
        """The number of the first entry shown; 0 where none is."""
        return self._messages[0].number if self._messages else 0

    @property
    def end(self) -> int:
        """The number behind the last entry shown."""
        return self._messages[-1].number + 1 if self._messages else 0

    def holds(self, number: int) -> bool:
        """Whether the entry of this number is among those read so far."""
        return bool(self._messages) and self.first <= number < self.end

    def message(self, number: int) -> Message:
        """The entry of this number; it must be held."""
        return self._messages[number - self.first]

    def show_messages(self, messages: Sequence[Message]) -> None:
        """These and no others, from the top."""
        self._telling = False
        self._messages = []
        self.clear()
        self._insert_at_end(messages)
        self.verticalScrollBar().setValue(0)
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self._telling = True

    def forget(self) -> None:
        """Another transcript: what was folded or not there counts no more."""
        self._unfolded.clear()
        self._folded.clear()
        self._marked = -1
        self.show_messages(())

    def append(self, messages: Sequence[Message]) -> None:
        """What follows; nothing that is looked at moves."""
        self._telling = False
        place = self.verticalScrollBar().value()
        self._insert_at_end(messages)
        self.verticalScrollBar().setValue(place)
        self._telling = True

    def prepend(self, messages: Sequence[Message]) -> None:
        """What comes before; nothing that is looked at moves."""
        if not messages:
            return
        place = self._place()
        self._telling = False
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
        self._return_to(place)
        self._telling = True

    def replace_from(self, number: int, messages: Sequence[Message]) -> None:
        """The entries from `number` on changed."""
        self._telling = False
        place = self.verticalScrollBar().value()
        self._remove(number, self.end)
        self._insert_at_end(messages)
        self.verticalScrollBar().setValue(place)
        self._telling = True

    def drop_before(self, number: int) -> None:
        """Let go of what comes before an entry."""
        place = self._place()
        self._telling = False
        self._remove(self.first, number)
        self._return_to(place)
        self._telling = True

    # Folding

    def is_unfolded(self, message: Message) -> bool:
        """Whether it shows its whole text now, by its kind and what a person folded."""
        if not message.folded:
            return message.number not in self._folded
        return message.number in self._unfolded or (self._all and message.number not in self._folded)

    def toggle(self, number: int) -> None:
        """Fold an entry, or unfold it."""
        message = self.message(number)
        self._set_unfolded(message, not self.is_unfolded(message))

    def unfold(self, number: int) -> None:
        """Show the whole text of an entry."""
        message = self.message(number)
        if not self.is_unfolded(message):
            self._set_unfolded(message, True)

    def unfold_all(self, wanted: bool) -> None:
        """Everything unfolded, or folded as at first."""
        self._all = wanted
        self._unfolded.clear()
        self._folded.clear()
        self._show_anew()

    def _set_unfolded(self, message: Message, wanted: bool) -> None:
        own, other = (self._unfolded, self._folded) if wanted else (self._folded, self._unfolded)
        own.add(message.number)
        other.discard(message.number)
        place, cursor = self.verticalScrollBar().value(), self._cursor_of(message.number)
        self._telling = False
        self._write_over(cursor, message)
        self.verticalScrollBar().setValue(place)
        self._telling = True
        caret = self.textCursor()
        caret.setPosition(self._blocks.first_of(message.number).position())
        self.setTextCursor(caret)

    # Places

    def current(self) -> int:
        """The number of the entry the caret is in."""
        return max(self.first, self.textCursor().block().userState())

    def go_to(self, number: int) -> None:
        """The caret at the beginning of an entry, which is scrolled near the top."""
        block = self._blocks.first_of(number)
        caret = self.textCursor()
        caret.setPosition(block.position())
        self.setTextCursor(caret)
        self.verticalScrollBar().setValue(max(0, block.firstLineNumber() - 1))

    def go_to_end(self) -> None:
        self.moveCursor(QTextCursor.MoveOperation.End)
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @property
    def at_bottom(self) -> bool:
        bar = self.verticalScrollBar()
        return bar.value() >= bar.maximum() - 1

    def mark(self, needle: str, number: int, *, back: bool = False) -> bool:
        """Show the words in one entry, and all of them coloured; False if they are not in it (any more in
        that direction)."""
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
        self._marked = -1
        self.setExtraSelections([])

    # Writing

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
        """One entry from the cursor on, which stands in an empty block."""
        lines = self._entries.lines(message, unfolded=self.is_unfolded(message))
        self._blocks.write(cursor, message.number, lines)

    def _write_over(self, cursor: QTextCursor, message: Message) -> None:
        cursor.beginEditBlock()
        cursor.removeSelectedText()
        self._insert(cursor, message)
        cursor.endEditBlock()

    def _remove(self, start: int, end: int) -> None:
        """Let go of the entries from `start` to before `end`."""
        if start >= end or not self._messages:
            return
        first = self.first
        self._blocks.remove(start, end if end < self.end else None)
        del self._messages[start - first : end - first]

    # Places on screen

    def _cursor_of(self, number: int) -> QTextCursor:
        """A cursor that selects an entry, without the break behind it."""
        return self._blocks.select(number, last=number + 1 >= self.end)

    def _place(self) -> tuple[int, int]:
        """The entry at the top, and how many lines of it are above."""
        block = self.firstVisibleBlock()
        number = block.userState()
        top = self.verticalScrollBar().value()
        return number, top - self._blocks.first_of(number).firstLineNumber() if self.holds(number) else 0

    def _return_to(self, place: tuple[int, int]) -> None:
        number, lines = place
        if self.holds(number):
            self.verticalScrollBar().setValue(self._blocks.first_of(number).firstLineNumber() + lines)

    def _on_scrolled(self, value: int) -> None:
        if not self._telling or not self._messages:
            return
        bar = self.verticalScrollBar()
        if value >= bar.maximum() - bar.pageStep():
            self.near_end.emit()
        if value <= bar.pageStep():
            self.near_start.emit()

    # Keys and mouse

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._messages:
            self.toggle(self.current())
            return
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.key() in _WHOLE:
            event.ignore()  # these go through the whole transcript, of which this is a part
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        cursor = self.cursorForPosition(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection():
            block = cursor.block()
            if begins(block) and block.text().startswith((CLOSED, OPEN)):
                self.toggle(block.userState())

    # Colours

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.PaletteChange, QEvent.Type.FontChange) and hasattr(self, "_entries"):
            self._style()
            self._show_anew()

    def _show_anew(self) -> None:
        """The same messages, written again."""
        current, messages = self.current(), list(self._messages)
        self.unmark()
        if messages:
            self.show_messages(messages)
            self.go_to(current)

    def _style(self) -> None:
        self._entries = EntryStyle(self.palette())

    def _colour(self, needle: str) -> None:
        """Every occurrence that is on screen or near it."""
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
