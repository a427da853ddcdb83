"""The test of a model: one real request to call a tool, reported step by step.

Threading: one event loop. Failure: none; an error that a person can fix is a failed step.
"""

from __future__ import annotations

import json
import time
from typing import Literal

from reverie.llm.provider import (
    ModelRequest,
    ModelTurn,
    Provider,
    ProviderError,
    StreamProgress,
    ToolSpec,
    UserMessage,
)
from reverie.values import Struct

StepName = Literal["reachable", "key", "model", "tool-calling", "streaming"]
StepState = Literal["pass", "fail", "skip"]
"""The result of a step; it is skipped if an earlier step failed."""
_STEPS: tuple[StepName, ...] = ("reachable", "key", "model", "tool-calling", "streaming")
_WORD = "marmalade"
_TOOL = ToolSpec(
    "repeat_word",
    "Repeats one word back to the tester.",
    {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word to repeat."}},
        "required": ["word"],
    },
)
_FAILS_AT: dict[str, StepName] = {
    "unreachable": "reachable",
    "settings": "reachable",
    "timeout": "reachable",
    "key": "key",
}
_PASSES = {
    "reachable": "The service responds.",
    "key": "The key is accepted, or no key is needed.",
    "model": "The model responds.",
    "tool-calling": "The model called the tool as asked.",
    "streaming": "The response arrived in parts.",
}


class ProbeStep(Struct, frozen=True):
    """One step of the test of a model: passed, failed or skipped, with a sentence for people."""

    name: str
    """The name of the step, such as `reachable`, or `settings` if the model cannot be asked at all."""
    state: StepState
    sentence: str


class ProbeReport(Struct, frozen=True):
    """All steps of the test of a model, in order."""

    steps: tuple[ProbeStep, ...]


async def probe(provider: Provider, *, limit_s: float = 60) -> ProbeReport:
    """Test the model `provider` with one real request to call a tool; return the result of each step.

    `limit_s`: the time limit of the request in seconds. If the request fails, the steps after the failed one
    are skipped. The request contains no memory text. An error that a person can fix is a failed step, never
    an exception.
    """
    seen: list[StreamProgress] = []
    request = ModelRequest(
        system="You test whether tool calls work. Answer with a tool call only.",
        messages=[UserMessage(f"Call {_TOOL.name} with the word {_WORD}.")],
        tools=[_TOOL],
        max_output_tokens=2000,
        deadline=time.monotonic() + limit_s,
    )
    try:
        turn = await provider.complete(request, progress=seen.append)
    except ProviderError as error:
        return _failed(error)
    streamed = any(progress.text or progress.tool_name for progress in seen)
    return _answered(turn, streamed=streamed)


def _failed(error: ProviderError) -> ProbeReport:
    tools = error.fault == "model" and "tool" in error.title
    at: StepName = "tool-calling" if tools else _FAILS_AT.get(error.fault, "model")
    place = _STEPS.index(at)
    return ProbeReport(
        (
            *(ProbeStep(name, "pass", _PASSES[name]) for name in _STEPS[:place]),
            ProbeStep(at, "fail", str(error)),
            *(ProbeStep(name, "skip", "Not tested.") for name in _STEPS[place + 1 :]),
        )
    )


def _answered(turn: ModelTurn, *, streamed: bool) -> ProbeReport:
    trouble = _tool_trouble(turn)
    streaming = ProbeStep("streaming", "pass", _PASSES["streaming"])
    if not streamed:
        sentence = "The response arrived all at once. Runs work, but show no progress."
        streaming = ProbeStep("streaming", "fail", sentence)
    calling = ProbeStep("tool-calling", "pass", _PASSES["tool-calling"])
    if trouble:
        sentence = f"{trouble} Choose a model with tool calling; runs need it."
        calling = ProbeStep("tool-calling", "fail", sentence)
    first = tuple(ProbeStep(name, "pass", _PASSES[name]) for name in _STEPS[:3])
    return ProbeReport((*first, calling, streaming))


def _tool_trouble(turn: ModelTurn) -> str:
    """Return a sentence that says what is wrong with the tool call in `turn`; empty if it is right."""
    if not turn.message.tool_calls:
        return "The model responded with text instead of a tool call."
    call = turn.message.tool_calls[0]
    if call.name != _TOOL.name:
        return "The model called a tool that does not exist."
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return "The model's tool call is not valid JSON."
    word = arguments.get("word") if isinstance(arguments, dict) else None
    if not isinstance(word, str) or word.strip().lower() != _WORD:
        return "The model called the tool with the wrong arguments."
    return ""
