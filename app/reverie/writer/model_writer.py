"""The writer by a model: the one agent loop with three tools, and a second attempt after a reminder
(formats/mux.md section 14).

The model sees everything through a vault (no secret leaves). An attempt that neither wrote nor declined is
followed by one more, with a reminder; then the run ends as it is. Threading: one run, one event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from reverie.agent.account import Account
from reverie.agent.asking import Asking, EngineEnd, end_of
from reverie.agent.loop import AgentLimits
from reverie.agent.prompting import random_mark
from reverie.agent.provider import ProviderError
from reverie.agent.trace import Trace, TraceHead
from reverie.agent.vault import Vault
from reverie.writer.engine import WriterTask
from reverie.writer.memory_tools import Draft, WriterTools
from reverie.writer.prompts import reminder, system_prompt, user_message

MAX_ATTEMPTS = 2
MAX_STEPS = 16
MAX_OUTPUT_TOKENS = 3_000


class ModelWriter:
    """Implements `writer.engine.WriterEngine`. `instructions`: the home's own."""

    def __init__(self, asking: Asking, instructions: str = "") -> None:
        self._asking = asking
        self._instructions = instructions

    @property
    def name(self) -> str:
        return self._asking.name

    async def write(
        self, task: WriterTask, draft: Draft, tools: WriterTools, cancelled: Callable[[], bool]
    ) -> EngineEnd:
        vault, mark = Vault(), random_mark()
        memory = draft.text
        vault.learn(memory)
        trace = Trace(vault.scrub, clock=self._asking.clock)
        attempts = Attempts(tools)
        try:
            result = await self._asking.ask(
                system_prompt(mark, self._instructions),
                user_message(task, memory, mark),
                tools.tools(),
                limits_until(task.deadline),
                vault,
                trace,
                cancelled=cancelled,
                follow_up=attempts.follow_up,
            )
        except ProviderError as refused:
            return EngineEnd("failed", refused)
        cost = self._asking.cost(result)
        account = Account(result.usage, cost, _document(trace, task, draft.original, vault, cost))
        return end_of(result, account, max_steps=MAX_STEPS, attempts=attempts.made)


class Attempts:
    """Whether a model that is done is asked once more."""

    def __init__(self, tools: WriterTools) -> None:
        self._tools = tools
        self.made = 1

    def follow_up(self, _text: str) -> str | None:
        """The reminder; None after an attempt that wrote or declined, and after the last one."""
        if self._tools.satisfied or self.made >= MAX_ATTEMPTS:
            return None
        self.made += 1
        self._tools.new_attempt()
        return reminder()


def limits_until(deadline: float) -> AgentLimits:
    """What all attempts together may take. `deadline` is on `time.monotonic`'s clock."""
    return AgentLimits(MAX_STEPS, deadline, MAX_OUTPUT_TOKENS, attempt_steps=MAX_STEPS // MAX_ATTEMPTS)


def _document(
    trace: Trace, task: WriterTask, memory: str, vault: Vault, cost: Decimal | None
) -> dict[str, Any]:
    head = TraceHead(
        run_id=task.run_id,
        kind="writer",
        workspace_id=task.workspace_id,
        workspace_name=task.workspace_name,
        trigger_message_id=task.message_id,
        timeout_ms=task.timeout_ms,
        existing_memory=vault.hide(memory),
        cost_usd=cost,
    )
    return {
        **trace.to_document(head),
        "globalAgentsMd": None if task.instructions is None else vault.hide(task.instructions),
        "contextAgentsMd": None
        if task.context_instructions is None
        else vault.hide(task.context_instructions),
        "eventsSummary": task.events.summary(),
        "events": [_hidden(vault, event) for event in task.events.items],
    }


def _hidden(vault: Vault, value: Any) -> Any:
    if isinstance(value, str):
        return vault.hide(value)
    if isinstance(value, dict):
        return {vault.hide(key): _hidden(vault, item) for key, item in value.items()}
    return [_hidden(vault, item) for item in value] if isinstance(value, list) else value
