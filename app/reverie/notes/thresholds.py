"""When session notes are due: the rules of formats/claude-code.md section 3 as pure functions.

A session is watched from a certain size on; from then on notes are due whenever the context has grown by
enough since the last update AND either enough tools were called since the last trigger or the model has just
come to the end of its answer. Growth is always required. A trigger moves the point from which tool calls
count; only a success records the tokens. A manual update asks for none of this, starts nothing and moves no
counting point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Gate = Literal["no-messages", "too-small", "not-grown", "at-work"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Tokens of context at which notes begin, growth between two updates, tool calls that make one due."""

    start_tokens: int = 10_000
    growth_tokens: int = 5_000
    tool_calls: int = 3

    def overridden(self, *, start_tokens: int = 0, growth_tokens: int = 0, tool_calls: int = 0) -> Thresholds:
        """Each value counts only if it is above 0."""
        return Thresholds(
            start_tokens if start_tokens > 0 else self.start_tokens,
            growth_tokens if growth_tokens > 0 else self.growth_tokens,
            tool_calls if tool_calls > 0 else self.tool_calls,
        )

    def as_json(self) -> dict[str, int]:
        """By the agent's own names, as its runs log them."""
        return {
            "minimumMessageTokensToInit": self.start_tokens,
            "minimumTokensBetweenUpdate": self.growth_tokens,
            "toolCallsBetweenUpdates": self.tool_calls,
        }


@dataclass(frozen=True, slots=True)
class Counters:
    """What is kept of one session. `begun`: it once was large enough. `tokens`: the context at the last
    update. `counting_from`: tool calls count after this message, None from the first one on. `summarised`: up
    to this message the notes are complete, as far as that can be told."""

    begun: bool = False
    tokens: int = 0
    counting_from: str | None = None
    summarised: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A session at one moment. `tool_calls` since `Counters.counting_from`; `at_break`: the last answer asks
    for no tools."""

    messages: int
    context_tokens: int
    tool_calls: int
    at_break: bool
    last_uuid: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """`gate` None: an update is due. `counters` are to be kept either way."""

    counters: Counters
    gate: Gate | None


def decide(counters: Counters, seen: Measured, thresholds: Thresholds) -> Decision:
    """Whether an update is due now."""
    if not seen.messages:
        return Decision(counters, "no-messages")
    if not counters.begun:
        if seen.context_tokens < thresholds.start_tokens:
            return Decision(counters, "too-small")
        counters = replace(counters, begun=True)
    if seen.context_tokens - counters.tokens < thresholds.growth_tokens:
        return Decision(counters, "not-grown")
    if seen.tool_calls < thresholds.tool_calls and not seen.at_break:
        return Decision(counters, "at-work")
    return Decision(replace(counters, counting_from=seen.last_uuid or counters.counting_from), None)


def succeeded(counters: Counters, seen: Measured) -> Counters:
    """After an update of the notes with what was `seen`, by hand or not. In the middle of the model's work
    nobody can tell up to where they are complete."""
    summarised = seen.last_uuid if seen.at_break and seen.last_uuid else counters.summarised
    return replace(counters, tokens=seen.context_tokens, summarised=summarised)
