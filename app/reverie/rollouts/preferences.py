"""Preferences that a person states in the middle of a request: "Fix the parser, and by the way I always want
the tests next to the code."

What begins such a clause leaves no doubt: "I always want", "we never want", "please always", "please never".
The clause counts, not the request around it. Left out is what only looks like it: a condition, a question
about it, what somebody else says, quoted text, and what holds for the moment. Pure; time linear in the text.
"""

from __future__ import annotations

import re

_LONGEST = 500
_LEAST_WORDS = 4
_BEGINS = re.compile(
    r"\b(?:(?:i|we)(?:['’]d)?\s+(?:(?:always|never)\s+(?:ever\s+)?|(?:don['’]?t|do not)\s+ever\s+)"
    r"(?:want|expect|prefer)"
    r"|please,?\s+(?:always|never|(?:don['’]?t|do not)\s+ever)\s+(?!mind\b)[a-z]+)\s+"
    r"(?!(?:it|this|that|these|those)\b)(?=\S)",
    re.IGNORECASE,
)
_ENDS = re.compile(r"\s*(?:[;?!]|\.(?:\s|$)|\s[-–—]\s)")
_BEFORE = re.compile(
    r"\b(?:if|whether|unless|suppose|imagine|do|does|did|should|would|could|can|will|why|what|how"
    r"|say|says|said|claims?|claimed|reads?|think|thinks|guess|that|maybe|perhaps)\s*$",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"\b(?:for now|right now|at the moment|this time|just this once|today|temporarily|until|yet"
    r"|in this (?:branch|pr|commit|file|test|task|session|run))\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`")


def preference_in(sentence: str) -> str | None:
    """The clause of a person's sentence that says how things are to be from now on; None for none."""
    if len(sentence) > _LONGEST:
        return None
    # As long as what it hides, so that a place in one is the place in the other.
    plain = _QUOTED.sub(lambda found: "…" * len(found[0]), sentence)
    for found in _BEGINS.finditer(plain):
        end = _ENDS.search(plain, found.end())
        place = slice(found.start(), end.start() if end else len(plain))
        if _BEFORE.search(plain[: found.start()]) or _MOMENT.search(plain[place]):
            continue
        clause = sentence[place].strip().rstrip(",")
        if len(clause.split()) >= _LEAST_WORDS:
            return clause[0].upper() + clause[1:]
    return None
