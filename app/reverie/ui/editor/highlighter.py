"""Colours Markdown with front matter in the source, sparingly, in the colours of the theme.

Threading: GUI thread. Failure: none.
"""

from __future__ import annotations

import re

from PySide6.QtCore import QSignalBlocker, Slot
from PySide6.QtGui import QColor, QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from reverie.ui.appearance import Theme
from reverie.ui.jobs import single_shot

LIMIT = 200_000
MOST_COLOURED = 1_000
"""The maximum number of lines that are coloured; more would block the window."""
LINES_AT_ONCE = 250
"""The maximum number of lines that are coloured in one event after a text was opened."""


FRONT_LINES = 300


_LONG_LINE = 2_000


# States of a line; from `_FENCE` on they encode the mark that ends the fence (see `_fence_state`).
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
    """A highlighter for Markdown: headings, emphasis, lists, quotes, code, links and the YAML front matter.

    Inside a code fence everything is code. A fence is ended only by a mark of the same character (backtick or
    tilde) that is at least as long as the one that began it. Front matter that does not end within
    `FRONT_LINES` lines is not coloured as such. Lines after the first `MOST_COLOURED` stay plain, and a text
    of more than `LIMIT` characters gets no highlighter, because colouring runs on the GUI thread, line by
    line.

    The state of a line is one of: plain, inside front matter, or inside a code fence that began with a
    certain mark.
    """

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._formats = _formats(theme)
        # Lines from this one on are coloured later, between events, so that a long text does not block.
        self._until = LINES_AT_ONCE
        self._next = single_shot(self, 0, self._go_on)

    def set_theme(self, theme: Theme) -> None:
        self._formats = _formats(theme)
        self._until = LINES_AT_ONCE
        self.rehighlight()

    @Slot()
    def _go_on(self) -> None:
        """Colour the next `LINES_AT_ONCE` lines of a long text.

        This method colours only the first of them. Colouring sets the state of a line, and when the state of
        a line has changed, Qt colours the next line too.
        """
        block = self.document().findBlockByNumber(self._until)
        self._until = min(self._until + LINES_AT_ONCE, MOST_COLOURED)
        if block.isValid():
            with QSignalBlocker(self.document()):  # colours are no change of the text
                self.rehighlightBlock(block)

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number >= self._until:
            if number < MOST_COLOURED and not self._next.isActive():
                self._next.start()
            return
        state = self.previousBlockState()
        if number == 0:
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
        # Most lines have none of these characters, and this search is cheaper than the expression.
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
    """Return True if `mark` ends the code fence whose beginning is encoded in the line state `state`.

    It does if it has the same character and is at least as long as the mark that began the fence.
    """
    length, tilde = divmod(state - _FENCE, 2)
    return (mark[0] == "~") == bool(tilde) and min(len(mark), _LONGEST_MARK) >= length


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _formats(theme: Theme) -> dict[str, QTextCharFormat]:
    def made(color: QColor | None = None, **style: bool) -> QTextCharFormat:
        found = QTextCharFormat()
        if color is not None:
            found.setForeground(color)
        if style.get("bold"):
            found.setFontWeight(QFont.Weight.Bold)
        found.setFontItalic(style.get("italic", False))
        found.setFontStrikeOut(style.get("strike", False))
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
