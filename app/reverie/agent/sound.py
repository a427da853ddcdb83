"""What a model sent, made sound: no half characters, calls with ids of their own, counts that add up.

Pure functions; the text of a call stays as it is where it cannot be read.
"""

from __future__ import annotations

import re
from dataclasses import astuple, replace
from typing import Any

from reverie.agent.messages import (
    AssistantMessage,
    TokenUsage,
    ToolCall,
    Turn,
)
from reverie.agent.tools import decode_arguments
from reverie.agent.trace import AgentOutcome as AgentOutcome
from reverie.errors import StoreError

_MOST_TOKENS = 10**12
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _whole(text: str) -> str:
    """No file, request or record can hold half of a surrogate pair."""
    return _SURROGATE.sub("\ufffd", text)


def _plausible(usage: TokenUsage | None) -> TokenUsage | None:
    """Counts that can be added up and written down, whatever a service says."""
    if usage is None:
        return None
    return TokenUsage(*(min(max(count, 0), _MOST_TOKENS) for count in astuple(usage)))


def decoded(call: ToolCall) -> Any:
    """The arguments as the trace and observers see them: with placeholders; as text where unusable."""
    try:
        return decode_arguments(call.arguments)
    except StoreError:
        return call.arguments


def sound_turn(turn: Turn, step: int, call_ids: set[str]) -> Turn:
    """The turn without half characters, its calls with ids that are unique in the whole conversation;
    `call_ids` are those that it has, and get those of the turn."""
    message = turn.message
    calls: list[ToolCall] = []
    for call in message.tool_calls:
        identity = call.id
        if identity in call_ids or not _CALL_ID.fullmatch(identity):
            identity = f"call-{step}-{len(calls) + 1}"
            while identity in call_ids:
                identity += "x"
        call_ids.add(identity)
        calls.append(ToolCall(identity, _whole(call.name), _whole(call.arguments)))
    sound = AssistantMessage(_whole(message.text), tuple(calls), message.extra)
    return replace(turn, message=sound, usage=_plausible(turn.usage))
