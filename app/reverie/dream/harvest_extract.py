"""From turns to an inbox: chunks for the extractor, checks of what it proposes, and the inbox's text
(formats/mux.md section 11).

An `Extractor` (rules, or a model) sees one chunk at a time and proposes candidates; nothing it says is
trusted. A candidate is accepted only with evidence from the very chunk, enough confidence and no trace of a
secret. Beyond the agent's own filter, anything `text.redact` knows as a secret is refused as well: harvesting
must not copy a key from a transcript into a file that every later session reads.

Pure, except for extractors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from reverie.agent.account import Account
from reverie.runs.limits import Limits
from reverie.text.redact import find_secrets
from reverie.text.tokens import cut_utf16, utf16_length
from reverie.transcripts.turns import Boundary, Turn

CHUNK_CHARS = 40_000
MESSAGE_CHARS = 8_000
TEXT_CHARS = 1_000
LEAST_CONFIDENCE = 0.8

Category = Literal["preference", "project", "environment", "workflow", "other"]
SkipReason = Literal["malformed", "confidence", "evidence", "secret", "duplicate"]

# The agent's own words, by which it refuses a candidate.
_SECRET = re.compile(r"api[_-]?key|secret|token|password|sk-[A-Za-z0-9_-]{12,}", re.IGNORECASE)
_OUTSIDE_A_NAME = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Said:
    """One message as an extractor sees it; a long one is cut."""

    id: str
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of the compacted epoch that an extractor sees at once."""

    messages: tuple[Said, ...]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(message.id for message in self.messages)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One memory worth keeping, with the ids of the messages that show it."""

    category: Category
    text: str
    evidence: tuple[str, ...]
    confidence: float
    rationale: str


class Extractor(Protocol):
    """What does a harvest's thinking, one per harvest. `extract` proposes candidates for one chunk: JSON
    objects with the names of `Candidate`. It raises the `MendableError` family; nothing is written then.
    `account` may be asked at any time, also after it failed, and is about all chunks."""

    name: str

    def account(self) -> Account:
        """What was spent so far, and the trace; nothing of either for rules."""

    async def extract(self, chunk: Chunk, *, limits: Limits) -> Sequence[Any]:
        """Candidates of one chunk, unchecked."""


@dataclass(slots=True)
class Checked:
    """The verdict on everything proposed so far. Duplicates are known across chunks."""

    accepted: list[Candidate] = field(default_factory=list)
    skipped: list[SkipReason] = field(default_factory=list)
    _known: set[tuple[str, str, tuple[str, ...]]] = field(default_factory=set)

    def add(self, proposed: Iterable[Any], chunk: Chunk) -> None:
        """Judge what was proposed for `chunk`."""
        for item in proposed:
            candidate = parse_candidate(item)
            reason = "malformed" if candidate is None else self._refusal(candidate, chunk)
            if candidate is None or reason is not None:
                self.skipped.append(reason or "malformed")
            else:
                self._known.add(_identity(candidate))
                self.accepted.append(candidate)

    def _refusal(self, candidate: Candidate, chunk: Chunk) -> SkipReason | None:
        if candidate.confidence < LEAST_CONFIDENCE:
            return "confidence"
        if not chunk.ids.issuperset(candidate.evidence):
            return "evidence"
        if any(_SECRET.search(text) or find_secrets(text) for text in (candidate.text, candidate.rationale)):
            return "secret"
        return "duplicate" if _identity(candidate) in self._known else None


def parse_candidate(item: Any) -> Candidate | None:
    """A proposed JSON object as a candidate, None for one that is not of the agreed form."""
    if not isinstance(item, Mapping):
        return None
    category: Any = item.get("category")
    confidence, evidence = item.get("confidence"), item.get("evidence")
    text, rationale = _text(item.get("text")), _text(item.get("rationale"))
    if category not in get_args(Category) or text is None or rationale is None:
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
        return None
    if not isinstance(evidence, list | tuple) or not evidence:
        return None
    if not all(isinstance(message_id, str) and message_id for message_id in evidence):
        return None
    # One line, so that the inbox stays readable by the rules that later take it apart.
    return Candidate(
        category, text, tuple(dict.fromkeys(evidence)), float(confidence), " ".join(rationale.split())
    )


def chunks(turns: Iterable[Turn]) -> Iterator[Chunk]:
    """What people and the model said, in chunks of at most 40,000 characters, each message cut to 8,000."""
    messages: list[Said] = []
    used = 0
    for turn in turns:
        if turn.kind != "message" or turn.role == "system" or not turn.text.strip():
            continue
        text = cut_utf16(turn.text, MESSAGE_CHARS)
        cost = utf16_length(text) + len(turn.id) + len(turn.role) + 4
        if messages and used + cost > CHUNK_CHARS:
            yield Chunk(tuple(messages))
            messages, used = [], 0
        messages.append(Said(turn.id, turn.role, text))
        used += cost
    if messages:
        yield Chunk(tuple(messages))


def inbox_rel(boundary: Boundary) -> str:
    """Where the inbox of a compaction lies below the workspace scope."""
    return f"harvest/{_OUTSIDE_A_NAME.sub('_', boundary.summary_message_id)}.md"


def inbox_text(boundary: Boundary, candidates: Sequence[Candidate]) -> str:
    """The inbox file, exactly as the agent writes it."""
    blocks = [
        f"---\ndescription: Harvested memory candidates for compaction {boundary.epoch}\n---",
        f"# Harvest inbox: compaction {boundary.epoch}",
        f"Source boundary: {boundary.summary_message_id}\nSummary message: {boundary.summary_message_id}",
    ]
    for candidate in candidates:
        blocks += [
            f"## {candidate.category}",
            candidate.text,
            f"Evidence: {', '.join(candidate.evidence)}\n"
            f"Confidence: {_number(candidate.confidence)}\n"
            f"Rationale: {candidate.rationale}",
        ]
    return "\n\n".join(blocks) + "\n"


def fitting(boundary: Boundary, candidates: Sequence[Candidate], *, file_bytes: int) -> list[Candidate]:
    """As many candidates as the inbox file can hold, the most confident first, in their order."""
    empty = _size(inbox_text(boundary, ()))
    room = file_bytes - empty
    kept: set[int] = set()
    for position in sorted(range(len(candidates)), key=lambda at: -candidates[at].confidence):
        size = _size(inbox_text(boundary, (candidates[position],))) - empty
        if size <= room:
            room -= size
            kept.add(position)
    return [candidate for position, candidate in enumerate(candidates) if position in kept]


def _identity(candidate: Candidate) -> tuple[str, str, tuple[str, ...]]:
    folded = " ".join(candidate.text.lower().split())
    return candidate.category, folded, tuple(sorted(candidate.evidence))


def _text(value: Any) -> str | None:
    """1 to 1000 characters of valid text without the spaces around it."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text if 0 < utf16_length(text) <= TEXT_CHARS and "\0" not in text else None


def _size(text: str) -> int:
    return len(text.encode())


def _number(value: float) -> str:
    """As JavaScript writes it."""
    return str(int(value)) if value == int(value) else repr(value)
