"""Finding and replacing in one text: what matches where, and what a replacement becomes.

Places are UTF-16 units, as text documents count them. Qt's expressions are used because they give up: a
pattern that would try for ever ends after a bounded number of steps and is told of, and so is one with more
places than anybody looks at. Nothing here fails; what is wrong with a pattern is a sentence.

No widgets; any thread.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from PySide6.QtCore import QRegularExpression

from reverie.ui.translation import tr

MAX_FOUND = 20_000
_BUDGET_S = 0.25
_REFERENCE = re.compile(r"\\(\\|n|t|[0-9])|\$(?:([0-9])|\{([0-9])\}|(\$))")


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for. `regex`: the text is an expression of Perl's kind."""

    text: str
    case: bool = False
    word: bool = False
    regex: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """One match: `start` to `end`, and the texts of its groups, the whole first."""

    start: int
    end: int
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Places:
    """Every match in order; `error` says what is wrong with the pattern, `more` that there are further
    ones."""

    found: tuple[Place, ...] = ()
    error: str = ""
    more: bool = False

    def at_or_after(self, position: int) -> int:
        """The number of the first match that begins there or later, round to the first; -1 without any."""
        later = (n for n, place in enumerate(self.found) if place.start >= position)
        return next(later, 0 if self.found else -1)

    def before(self, position: int) -> int:
        """The number of the last match that begins before, round to the last; -1 without any."""
        last = len(self.found) - 1
        return next((n for n in range(last, -1, -1) if self.found[n].start < position), last)


def find(text: str, query: Query) -> Places:
    """Where `query` matches in `text`; matches of no length are left out."""
    if not query.text:
        return Places()
    expression = _expression(query)
    if not expression.isValid():
        why = expression.errorString()
        return Places(
            error=tr("This expression is not complete or not valid: {why} (at character {at}).").format(
                why=why, at=max(1, expression.patternErrorOffset() - _offset(query) + 1)
            )
        )
    found: list[Place] = []
    end = time.monotonic() + _BUDGET_S
    matches = expression.globalMatch(text)
    while matches.hasNext():
        match = matches.next()
        if match.capturedLength():
            found.append(Place(match.capturedStart(), match.capturedEnd(), tuple(match.capturedTexts())))
        if len(found) >= MAX_FOUND or time.monotonic() > end:
            return Places(tuple(found), more=matches.hasNext())
    if not matches.isValid():
        return Places(error=tr("This expression needs too many steps in this text; make it simpler."))
    return Places(tuple(found))


def replacement(place: Place, wanted: str, query: Query) -> str:
    """What a match becomes: `wanted` as it is, or for an expression with `\\1`, `$1`, `${1}`, `\\n`, `\\t`
    filled in."""
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


def _expression(query: Query) -> QRegularExpression:
    pattern = query.text if query.regex else QRegularExpression.escape(query.text)
    if query.word:
        pattern = rf"(?<!\w)(?:{pattern})(?!\w)"
    option = QRegularExpression.PatternOption
    options = option.UseUnicodePropertiesOption | option.MultilineOption
    if not query.case:
        options |= option.CaseInsensitiveOption
    return QRegularExpression(pattern, options)


def _offset(query: Query) -> int:
    return len(r"(?<!\w)(?:") if query.word else 0
