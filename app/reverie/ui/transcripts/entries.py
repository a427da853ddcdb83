"""How an entry of a transcript is written: its lines with their formats, in the colours of a palette.

Texts are untrusted: what hides or reorders is shown as an escape. Very long lines are broken, for one line is
laid out as a whole. No state is told by colour alone: words in the first line of an entry say the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QColor, QPalette, QTextBlockFormat, QTextCharFormat

from reverie.transcripts.paging import is_prompt
from reverie.transcripts.reading import Message, ToolUse
from reverie.ui.shown import visible_lines
from reverie.ui.theme import mixed, monospace, readable, theme_of
from reverie.ui.transcripts import words

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
        yield from (
            (line, self._quiet, back) for each in words.memory_used(message) for line in _broken(each)
        )
        if message.cut:
            yield words.left_out(message.cut), self._quiet, back
        yield "", self._text, self._plain

    def _tool_lines(self, message: Message, tool: ToolUse, back: QTextBlockFormat) -> Iterator[Line]:
        code = self._quiet_code if message.undone else self._code
        yield from ((line, code, back) for line in _broken(tool.input))
        if tool.output is not None:
            yield words.result(), self._bad if tool.is_error else self._quiet, back
            yield from ((line, code, back) for line in _broken(tool.output))

    def _head_format(self, message: Message) -> QTextCharFormat:
        if message.tool is not None and message.tool.is_error and not message.undone:
            return self._bad
        return self._quiet if message.folded else self._heads.get(message.speaker, self._heads["system"])


def _head(message: Message, *, unfolded: bool) -> str:
    sign = (OPEN if unfolded else CLOSED) if message.folded or not unfolded else ""
    facts = words.facts_of(message)
    if unfolded:
        name = visible_lines(message.tool.name) if message.tool is not None else ""
        parts = (words.who(message), name, *facts)
    else:
        most = 2 if message.undone else 1
        parts = (words.who(message), *(facts[:most] if message.tool or message.undone else ()))
        parts = (*parts, words.preview(message))
    return sign + words.SEPARATOR.join(part for part in parts if part)


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
