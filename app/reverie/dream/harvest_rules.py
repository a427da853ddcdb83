"""The rules' harvest: what a person said outright that it should hold from now on.

Only sentences of the person count, one candidate each, with the message id as evidence: "remember ...",
"always ...", "never ...", "I prefer ...", "we use ...", "don't ...". What looks like it but is none is left
out, since a wrong memory costs more than a missing one: questions, conditions, quoted or pasted text, reports
of what a program always does, and requests for the task in hand ("for now", "in this branch", "yet").

Pure but for the limits it looks at. Time is linear in the length of the text: no pattern nests repetition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reverie.agent.account import Account
from reverie.dream.harvest_extract import TEXT_CHARS, Category, Chunk
from reverie.dream.reading import BULLET
from reverie.runs.limits import Limits

_LONGEST = 500
_LEAST_WORDS = 3


@dataclass(frozen=True, slots=True)
class _Statement:
    """One way to say that something shall hold: `pattern` is looked for in the plain sentence, `veto` takes
    it back. `lasting`: said so explicitly that words of the moment do not make it a request."""

    name: str
    pattern: re.Pattern[str]
    confidence: float
    veto: re.Pattern[str] | None = None
    lasting: bool = False
    category: Category | None = None


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# Where a clause may begin: at the start, after a comma or colon, after a filler.
_START = r"(?:^|[,;:(]\s*|\b(?:and|but|so|then|please|also|you|must|should|to|okay|ok|yes|no)\s+)"
_PAST = r"(?!\w+(?:ed|ing)\b)(?!\w*[^s\W]s\b)"

_STATEMENTS = (
    _Statement(
        "remember",
        _words(r"(?:^|[,;:.]\s*|\b(?:please|and|also|but)\s+)remember\b(?!\s*$)"),
        0.95,
        _words(r"\bremember\s+(?:when|how|me|if|whether|what|where|why|the time)\b"),
        lasting=True,
    ),
    _Statement(
        "from now on",
        _words(r"\b(?:from now on|going forward|in future|for future reference|as a rule)\b"),
        0.95,
        lasting=True,
    ),
    _Statement("keep in mind", _words(r"\bkeep in mind that\b"), 0.85, lasting=True),
    _Statement(
        "always",
        _words(rf"{_START}(?:(?:we|i)\s+(?:want\s+(?:you\s+)?(?:to\s+)?)?)?always\s+{_PAST}[a-z]"),
        0.9,
        _words(
            r"\balways\s+(?:been|be|was|were|is|are|has|had|the|a|an|get|got|see|saw|forget|forgot|end|gets|fails"
            r"|seem|knew|thought|happen)\b"
        ),
    ),
    _Statement(
        "never",
        _words(rf"{_START}(?:(?:we|i)\s+)?never\s+(?:ever\s+)?{_PAST}[a-z]"),
        0.9,
        _words(
            r"\bnever\s+(?:mind|been|be|was|were|is|are|has|had|got|get|saw|see|said|did|knew|thought|heard|before"
            r"|again|happen|found|ran|made|came|went|took|gave|wrote|read|understood|quite|really|the|a|an)\b"
        ),
    ),
    _Statement(
        "prefer",
        _words(r"\b(?:i|we)\s+(?:(?:really|generally|usually|strongly|always|much|still|do)\s+)?prefer\b"),
        0.9,
        category="preference",
    ),
    _Statement(
        "preferred",
        _words(r"\bmy\s+(?:preferred\s+\w+|preference)\s+(?:is|are)\b"),
        0.9,
        category="preference",
    ),
    _Statement(
        "we use",
        _words(
            r"(?:^|[,;:(]\s*|\b(?:here|and|but|that|because|since|btw|fyi|so)\s+)we\s+(?:(?:only|still|all|do)\s+)?"
            r"(?:use|deploy|release|ship|target|support|host|follow|require|squash|rebase|tag|name|store|keep)\b"
        ),
        0.85,
        _words(
            r"\bwe\s+(?:keep\s+(?:getting|seeing|having|running)|use\s+to\b|use(?:d)?\s+(?:this|that|it)\b)"
        ),
    ),
    _Statement(
        "don't",
        _words(
            r"(?:^|[,;:(]\s*|\bplease\s+)(?:don['’]?t|do not)\s+(?:ever\s+)?"
            r"(?:use|commit|push|add|write|import|mock|introduce|rely|deploy|merge|amend|rebase|put|leave|hard-?code|log|print|store|create|install|send"
            r"|call me)\b"
        ),
        0.85,
    ),
    _Statement(
        "convention",
        _words(r"\b(?:our|the)\s+(?:convention|rule|policy|standard)\s+(?:here\s+)?is\b"),
        0.85,
        category="workflow",
    ),
)

# Said of the task in hand, not for good.
_MOMENT = _words(
    r"\b(?:this time|for now|right now|just now|at the moment|for the moment|today|tomorrow|yesterday|tonight"
    r"|this (?:test|file|commit|branch|pr|function|line|bug|one|case|task|change|method|class|directory|week"
    r"|run|patch|module|part)|these|those"
    r"|that (?:test|file|commit|branch|pr|function|line|bug|one|case|task|change)"
    r"|the (?:above|last one|second one|first one)|yet|just (?:do|use|add|write)|once more|temporarily|until"
    r"|first|instead of (?:this|that))\b"
)
_CONDITION = _words(
    r"^(?:and |but |so |or )?(?:if we (?:use|deploy|always|never)|suppose|imagine|what if|unless|could|can"
    r"|should|would|do(?! not)|does|did|is|are|was|were|why|how|when do|when should|where|which|who|let['’]?s"
    r"|maybe|perhaps)\b"
)
_DOUBT = _words(
    r"\b(?:i think|i guess|not sure|maybe|perhaps|probably|might|apparently|it says|says? that)\b"
)

_FENCE = re.compile(r"^\s*(?:```|~~~)")
_PASTED = re.compile(r"^\s*(?:>|\||\$ |#!|[+-]{3} |@@ |at \S+\(|Traceback|\d{4}-\d\d-\d\d[T ])")
_QUOTED = re.compile(r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`")
_SENTENCE_END = re.compile(r"(?<=[.!?。])[\"”)]?\s+(?=[A-Z0-9\"“(`'ÀÁÂÄÅÆÇÈÉÊÍÎÑÓÔÖØÚÜ]|\w)")

_CATEGORIES: tuple[tuple[Category, re.Pattern[str]], ...] = (
    (
        "preference",
        _words(r"\b(?:i|me|my|mine|answer|answers|reply|replies|tone|explain|explanations|emoji|concise)\b"),
    ),
    (
        "environment",
        _words(
            r"\b(?:laptop|machine|macos|linux|windows|ubuntu|docker|podman|shell|zsh|bash|fish|vpn|proxy|port|gpu|wsl"
            r"|nix|homebrew|brew|installed|python 3|node \d|venv|localhost|ssh)\b"
        ),
    ),
    (
        "workflow",
        _words(
            r"\b(?:commits?|branch|branches|pr|prs|pull requests?|reviews?|merge|merging|rebase|push|deploys?"
            r"|deploying|releases?|changelog|ci|tests?|lint|linter|format|formatter|squash|tag|tags|before|after|run)\b"
        ),
    ),
    (
        "project",
        _words(
            r"\b(?:we|our|us|repo|repository|project|service|api|database|schema|table|module|package|client|clients"
            r"|server|library|framework|codebase)\b"
        ),
    ),
)


class RulesExtractor:
    """The embedded, offline extractor."""

    name = "rules"

    def account(self) -> Account:
        """Rules ask no model."""
        return Account()

    async def extract(self, chunk: Chunk, *, limits: Limits) -> Sequence[Any]:
        found: dict[str, dict[str, Any]] = {}
        for message in chunk.messages:
            limits.check()
            if message.role != "user":
                continue
            for candidate in candidates_in(message.text):
                same = found.setdefault(_folded(candidate["text"]), {**candidate, "evidence": []})
                if message.id not in same["evidence"]:
                    same["evidence"].append(message.id)
        return tuple(found.values())


def candidates_in(text: str) -> Iterator[dict[str, Any]]:
    """The explicit statements of one message, without their evidence."""
    for sentence in sentences(text):
        statement = _statement_in(sentence)
        if statement is not None and len(sentence) <= TEXT_CHARS:
            yield {
                "category": statement.category or _category(sentence),
                "text": sentence,
                "confidence": statement.confidence,
                "rationale": f"Said outright by the person (“{statement.name}”).",
            }


def sentences(text: str) -> Iterator[str]:
    """The sentences a person typed: without code blocks, quotes, logs and tables."""
    in_code = False
    for line in text.splitlines():
        if _FENCE.match(line):
            in_code = not in_code
            continue
        if in_code or _PASTED.match(line) or line.startswith(("    ", "\t")):
            continue
        for sentence in _SENTENCE_END.split(BULLET.sub("", line)):
            folded = " ".join(sentence.split())
            if folded:
                yield folded


def _statement_in(sentence: str) -> _Statement | None:
    if len(sentence) > _LONGEST or sentence.rstrip("\"”')").endswith(("?", "？", ":")):
        return None
    # What stands in quotes is somebody else's word, or a name.
    plain = " ".join(_QUOTED.sub(" … ", sentence).split())
    if len(plain.split()) < _LEAST_WORDS or _CONDITION.search(plain):
        return None
    for statement in _STATEMENTS:
        if not statement.pattern.search(plain):
            continue
        if statement.veto is not None and statement.veto.search(plain):
            continue
        if not statement.lasting and (_MOMENT.search(plain) or _DOUBT.search(plain)):
            continue
        return statement
    return None


def _category(sentence: str) -> Category:
    for category, pattern in _CATEGORIES:
        if pattern.search(sentence):
            return category
    return "other"


def _folded(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".!")
