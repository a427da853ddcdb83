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
from reverie.agent.loop import AgentEvent, AgentLimits, AgentResult, run_agent
from reverie.agent.messages import TokenUsage, UserMessage
from reverie.agent.provider import Provider, ProviderError
from reverie.agent.trace import Trace, TraceHead
from reverie.agent.vault import Vault
from reverie.clock import Clock
from reverie.errors import MendableError, StoreError
from reverie.writer.engine import EngineEnd, EngineOutcome, WriterTask
from reverie.writer.memory_tools import Draft, WriterTools
from reverie.writer.prompts import random_mark, reminder, system_prompt, user_message

MAX_ATTEMPTS = 2
MAX_STEPS = 16
MAX_OUTPUT_TOKENS = 3_000


class ModelWriter:
    """Implements `writer.engine.WriterEngine`. `open_provider` is called inside the run's event loop;
    `cost_of` prices what was used, None where the price is not known; `instructions`: the home's own."""

    def __init__(
        self,
        name: str,
        *,
        open_provider: Callable[[], Provider],
        cost_of: Callable[[TokenUsage], Decimal | None],
        clock: Clock,
        instructions: str = "",
    ) -> None:
        self._instructions = instructions
        self._name = name
        self._open_provider = open_provider
        self._cost_of = cost_of
        self._clock = clock

    @property
    def name(self) -> str:
        return self._name

    async def write(
        self, task: WriterTask, draft: Draft, tools: WriterTools, cancelled: Callable[[], bool]
    ) -> EngineEnd:
        vault, mark = Vault(), random_mark()
        memory = draft.text
        vault.learn(memory)
        trace = Trace(vault.scrub, clock=self._clock)
        attempts = [1]
        usage: list[TokenUsage] = []

        def follow_up(_text: str) -> str | None:
            if tools.satisfied or attempts[0] >= MAX_ATTEMPTS:
                return None
            attempts[0] += 1
            tools.new_attempt()
            return reminder()

        def on_event(event: AgentEvent) -> None:
            if event.kind == "turn" and event.usage is not None:
                usage[:] = [event.usage]

        try:
            provider = self._open_provider()
        except ProviderError as refused:
            return EngineEnd("failed", error=refused)
        try:
            result = await run_agent(
                provider,
                system=system_prompt(mark, self._instructions),
                messages=[UserMessage(user_message(task, memory, mark))],
                tools=tools.tools(),
                limits=AgentLimits(
                    MAX_STEPS, task.deadline, MAX_OUTPUT_TOKENS, attempt_steps=MAX_STEPS // MAX_ATTEMPTS
                ),
                vault=vault,
                cancelled=cancelled,
                observer=on_event,
                follow_up=follow_up,
                trace=trace,
            )
        finally:
            await provider.close()
        cost = self._cost_of(usage[0]) if usage else None
        outcome, error = _ended(result)
        document = _document(trace, task, draft.original, vault, cost)
        return EngineEnd(outcome, attempts[0], error, Account(result.usage, cost, document))


def _ended(result: AgentResult) -> tuple[EngineOutcome, MendableError | None]:
    if result.outcome == "completed":
        return "completed", None
    if result.outcome == "time-limit":
        return "time-limit", None
    if result.outcome == "cancelled":
        return "cancelled", None
    if result.error is not None:
        return "failed", result.error
    limit = f"{MAX_STEPS} answers" if result.outcome == "step-limit" else "the length that a run allows"
    return "failed", StoreError(
        f"The model did not come to an end within {limit}.",
        next_step="Look at the trace of the run, or try another model.",
        reason="model",
    )


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
