"""Light colouring of Markdown with front matter: headings, lists, quotes, code, links and YAML keys.

Colours come from the theme and follow it. Files above `LIMIT` characters stay plain: colouring runs on the
GUI thread, line by line, and must not be felt.
"""

from __future__ import annotations

import re

from PySide6.QtGui import QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from reverie.ui.theme import Theme

LIMIT = 200_000
_LONG_LINE = 2_000

_PLAIN, _FRONT, _FENCE = 0, 1, 2

_FENCE_MARK = re.compile(r"^\s{0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}(?:\s|$)")
_LIST = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])\s(\[[ xX]\]\s)?")
_QUOTE = re.compile(r"^\s{0,3}>")
_YAML_KEY = re.compile(r"^(\s*)([^\s:#][^:#]*:)(?=\s|$)")
_INLINE = re.compile(
    r"(?P<code>`[^`\n]+`)"
    r"|(?P<strong>\*\*[^*\n]+\*\*|__[^_\n]+__)"
    r"|(?P<link>\[[^\]\n]*\]\([^)\n]*\)|https?://[^\s<>)]+)"
)


class MarkdownHighlighter(QSyntaxHighlighter):
    """Colours one document. Block state: plain, inside front matter, inside a code fence."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self._formats = _formats(theme)

    def set_theme(self, theme: Theme) -> None:
        self._formats = _formats(theme)
        self.rehighlight()

    def highlightBlock(self, text: str) -> None:
        state = self.previousBlockState()
        if self.currentBlock().blockNumber() == 0:
            state = _FRONT if text.rstrip() == "---" else _PLAIN
            self._all(text, "mark" if state == _FRONT else "")
            self.setCurrentBlockState(state)
            if state == _FRONT:
                return
        if state == _FRONT:
            self._front_matter(text)
            return
        fence = _FENCE_MARK.match(text) if "`" in text or "~" in text else None
        if state == _FENCE:
            self._all(text, "code")
            self.setCurrentBlockState(_PLAIN if fence else _FENCE)
            return
        self.setCurrentBlockState(_FENCE if fence else _PLAIN)
        if fence:
            self._all(text, "code")
        elif text and len(text) <= _LONG_LINE:
            self._markdown(text)

    def _front_matter(self, text: str) -> None:
        closed = text.rstrip() == "---"
        self.setCurrentBlockState(_PLAIN if closed else _FRONT)
        if closed:
            self._all(text, "mark")
        elif match := _YAML_KEY.match(text):
            self.setFormat(match.start(2), match.end(2) - match.start(2), self._formats["key"])

    def _markdown(self, text: str) -> None:
        if _HEADING.match(text):
            self._all(text, "heading")
            return
        if _QUOTE.match(text):
            self._all(text, "quote")
        elif match := _LIST.match(text):
            self.setFormat(match.start(2), match.end(2) - match.start(2), self._formats["mark"])
        # Most lines hold none of these characters: a plain search is cheaper than the expression.
        if "`" in text or "*" in text or "_" in text or "](" in text or "://" in text:
            for match in _INLINE.finditer(text):
                kind = match.lastgroup or "code"
                self.setFormat(match.start(), match.end() - match.start(), self._formats[kind])

    def _all(self, text: str, kind: str) -> None:
        if kind:
            self.setFormat(0, len(text), self._formats[kind])


def _formats(theme: Theme) -> dict[str, QTextCharFormat]:
    def made(**wish: object) -> QTextCharFormat:
        found = QTextCharFormat()
        if "color" in wish:
            found.setForeground(wish["color"])  # type: ignore[arg-type]
        if wish.get("bold"):
            found.setFontWeight(QFont.Weight.Bold)
        return found

    return {
        "heading": made(color=theme.text, bold=True),
        "quote": made(color=theme.dim),
        "mark": made(color=theme.dim),
        "key": made(color=theme.hunk),
        "code": made(color=theme.code),
        "strong": made(bold=True),
        "link": made(color=theme.hunk),
    }
