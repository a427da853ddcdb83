"""Find and replace in one text, without widgets.

Positions are UTF-16 units, as in text documents.

Threading: any thread. Failure: none; an error in a pattern is a sentence.
"""

from __future__ import annotations

import re
import time

from PySide6.QtCore import QRegularExpression

from reverie.ui.display_text import tr
from reverie.values import Struct

MAX_FOUND = 20_000


_BUDGET_S = 0.25


_REFERENCE = re.compile(r"\\(\\|n|t|[0-9])|\$(?:([0-9])|\{([0-9])\}|(\$))")


class FindQuery(Struct, frozen=True):
    """What to find in a text."""

    text: str
    """A regular expression in Perl's syntax if `regex`, else literal text."""
    case: bool = False
    """True to distinguish upper and lower case."""
    word: bool = False
    """True to find whole words only."""
    regex: bool = False


class TextMatch(Struct, frozen=True):
    """A match in a text, from `start` to `end` in UTF-16 units."""

    start: int
    end: int
    groups: tuple[str, ...]
    """The matched text, followed by the texts of the groups of the regular expression."""


class TextMatches(Struct, frozen=True):
    """The matches in a text, in their order."""

    found: tuple[TextMatch, ...] = ()
    error: str = ""
    """A sentence about why the search failed; empty if it did not."""
    more: bool = False
    """True if the text may have further matches, because the search was stopped early."""

    def at_or_after(self, position: int) -> int:
        """Return the index of the first match at or after `position`, which is in UTF-16 units.

        If there is no such match, return 0, the index of the first match of all; -1 if there are no matches.
        """
        later = (n for n, place in enumerate(self.found) if place.start >= position)
        return next(later, 0 if self.found else -1)

    def before(self, position: int) -> int:
        """Return the index of the last match before `position`, which is in UTF-16 units.

        If there is no such match, return the index of the last match of all; -1 if there are no matches.
        """
        last = len(self.found) - 1
        return next((n for n in range(last, -1, -1) if self.found[n].start < position), last)


def find(text: str, query: FindQuery) -> TextMatches:
    """Return the matches of `query` in `text`; empty matches are left out.

    An invalid regular expression gives an error and no matches, and so does one that takes too many steps:
    Qt's regular expressions are used, because Qt stops a search that would run for ever. If there are too
    many matches, or finding them takes too long, only the first are returned, and `more` is True.
    """
    if not query.text:
        return TextMatches()
    expression = _expression(query)
    if not expression.isValid():
        why = expression.errorString()
        return TextMatches(
            error=tr("This regular expression is incomplete or invalid: {why} (at character {at}).").format(
                why=why, at=max(1, expression.patternErrorOffset() - _offset(query) + 1)
            )
        )
    found: list[TextMatch] = []
    end = time.monotonic() + _BUDGET_S
    matches = expression.globalMatch(text)
    while matches.hasNext():
        match = matches.next()
        if match.capturedLength():
            found.append(TextMatch(match.capturedStart(), match.capturedEnd(), tuple(match.capturedTexts())))
        if len(found) >= MAX_FOUND or time.monotonic() > end:
            return TextMatches(tuple(found), more=matches.hasNext())
    if not matches.isValid():
        return TextMatches(
            error=tr(
                "Searching this text with this regular expression takes too long. Simplify the expression."
            )
        )
    return TextMatches(tuple(found))


def replacement(place: TextMatch, wanted: str, query: FindQuery) -> str:
    r"""Return the text that replaces the match `place`; `wanted` is the replacement as the user typed it.

    If `query` is a regular expression, `\1`, `$1` and `${1}` in `wanted` stand for the text of group 1, `\n`
    for a line break and `\t` for a tab. Otherwise `wanted` is returned unchanged.
    """
    if not query.regex:
        return wanted

    def filled(match: re.Match[str]) -> str:
        if match[4]:
            return "$"
        name = match[1] or match[2] or match[3]
        if name.isdigit():
            return place.groups[int(name)] if int(name) < len(place.groups) else ""
        return {"n": "\n", "t": "\t", "\\": "\\"}[name]

    return _REFERENCE.sub(filled, wanted)


def _expression(query: FindQuery) -> QRegularExpression:
    pattern = query.text if query.regex else QRegularExpression.escape(query.text)
    if query.word:
        pattern = rf"(?<!\w)(?:{pattern})(?!\w)"
    option = QRegularExpression.PatternOption
    options = option.UseUnicodePropertiesOption | option.MultilineOption
    if not query.case:
        options |= option.CaseInsensitiveOption
    return QRegularExpression(pattern, options)


def _offset(query: FindQuery) -> int:
    return len(r"(?<!\w)(?:") if query.word else 0
