"""Stage one: one rollout becomes a trace text and a short summary (formats/codex.md section 2).

What does the thinking (rules, or a model) is not trusted: `normalised` brings whatever it said into the form
that the agent's own code would have stored: trimmed, not empty, redacted, of the required shape, within the
limits. Pure, but for engines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from reverie.agent.account import Account
from reverie.errors import StoreError
from reverie.rollouts.sizes import cut_summary, cut_trace
from reverie.runs.limits import Limits
from reverie.text.codex_redact import REDACTED, codex_redact
from reverie.text.redact import find_secrets
from reverie.transcripts.reading import Reading

ANSWER_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"traceMemory": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["traceMemory", "summary"],
    "additionalProperties": False,
}
_REQUIRED = ("Trace context:", "User preferences:", "## Task:", "Outcome:")
_JSON_FENCE = re.compile(r"```json\s*\n(.*?)```", re.DOTALL)
_FENCE = re.compile(r"```[^\n`]*\n(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RolloutSource:
    """The rollout of one thread, and what is known of it besides."""

    thread_id: str
    path: Path
    title: str
    cwd: str
    git_branch: str = ""


@dataclass(frozen=True, slots=True)
class StageOneOutput:
    """A trace and its summary, as proposed or as stored."""

    trace: str
    summary: str


@dataclass(frozen=True, slots=True)
class Extracted:
    """What an engine proposes, and how the rollout read: `truncated` where it was cut for a model, `nothing`
    where there is nothing in it that could be remembered."""

    output: StageOneOutput
    reading: Reading
    truncated: bool = False
    nothing: bool = False


class StageOneEngine(Protocol):
    """Reads one rollout. `extract` raises the `MendableError` family, `Cancelled`, `TimedOut`; `account` may
    be asked at any time, also after it failed."""

    @property
    def name(self) -> str: ...

    def account(self) -> Account:
        """What was spent so far, and the trace; nothing of either for rules."""

    async def extract(self, source: RolloutSource, limits: Limits, tell: Callable[[str], None]) -> Extracted:
        """What one rollout taught; `tell` gets a word on how far it is."""


def parse_answer(text: str) -> StageOneOutput:
    """The answer of a model: the whole text, a JSON fence, any fence, or from the first to the last brace.
    Raises `StoreError` (reason "answer")."""
    for candidate in _candidates(text):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if not isinstance(value, dict):
            continue
        trace, summary = value.get("traceMemory"), value.get("summary")
        if isinstance(trace, str) and isinstance(summary, str):
            return StageOneOutput(trace, summary)
        raise _unusable("Its JSON lacks the texts traceMemory and summary.")
    raise _unusable("It holds no JSON object.")


def normalised(proposed: StageOneOutput) -> StageOneOutput:
    """As it is stored. Raises `StoreError` (reason "empty")."""
    trace, summary = proposed.trace.strip(), proposed.summary.strip()
    if not trace or not summary:
        raise StoreError(
            "Nothing was extracted.",
            cause="The trace, or its summary, is empty.",
            next_step="It is tried again with the next extraction.",
            reason="empty",
        )
    trace = structured(redacted(_sound(trace)))
    summary = redacted(" ".join(_sound(summary).split()))
    return StageOneOutput(cut_trace(trace), cut_summary(summary))


def redacted(text: str) -> str:
    """As the agent redacts, and without anything else that Reverie knows as a secret: a key must not get from
    a transcript into a file that every later session reads."""
    text = codex_redact(text)
    pieces, position = list[str](), 0
    for secret in find_secrets(text):
        found = text[secret.start : secret.end]
        # What the rules of the agent put there looks like a password itself, with or without its brackets.
        if REDACTED in found or found.strip("[]") == REDACTED.strip("[]"):
            continue
        pieces += [text[position : secret.start], REDACTED]
        position = secret.end
    return "".join([*pieces, text[position:]])


def is_structured(trace: str) -> bool:
    """Whether a trace has the required shape."""
    return trace.startswith("#") and all(part in trace for part in _REQUIRED)


def structured(trace: str) -> str:
    """The trace, put into the required shape where it is not of it."""
    if is_structured(trace):
        return trace
    return (
        "# Trace Summary\n\n"
        "Trace context: extracted without the usual structure; the raw notes are at the end.\n\n"
        "User preferences: none observed\n\n"
        "## Task: Extracted Memory\n\n"
        "Outcome: uncertain\n\n"
        "Key steps:\n- See the raw trace notes.\n\n"
        "Things that did not work / things that can be improved:\n- None told apart.\n\n"
        "Reusable knowledge:\n- See the raw trace notes.\n\n"
        "Pointers and references (annotate why each item matters):\n- See the raw trace notes.\n\n"
        f"### Raw trace notes\n\n{trace}"
    )


def _candidates(text: str) -> list[str]:
    found = [text.strip()]
    found += [match[1].strip() for match in _JSON_FENCE.finditer(text)]
    found += [match[1].strip() for match in _FENCE.finditer(text)]
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        found.append(text[start : end + 1])
    return found


def _sound(text: str) -> str:
    """No file holds half a character, nor a NUL."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _unusable(cause: str) -> StoreError:
    return StoreError(
        "The model's answer cannot be used.",
        cause=cause,
        next_step="Look at the trace of the run, or try another model.",
        reason="answer",
    )
