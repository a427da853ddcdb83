"""An update by a model: the one agent loop with a single tool, and one reminder if it broke or overfilled the
notes.

The model sees everything through a vault (no secret leaves). Threading: one run, one event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from reverie.agent.account import Account
from reverie.agent.loop import AgentEvent, AgentLimits, AgentResult, run_agent
from reverie.agent.messages import TokenUsage, UserMessage
from reverie.agent.provider import Provider, ProviderError
from reverie.agent.trace import Trace, TraceHead
from reverie.agent.vault import Vault
from reverie.clock import Clock
from reverie.errors import MendableError, StoreError
from reverie.notes.engine import EngineEnd, EngineOutcome, NotesTask
from reverie.notes.prompts import random_mark, reminder, system_prompt, user_message
from reverie.notes.sections import reminder_of
from reverie.notes.tool import NotesDraft, edit_tool

MAX_STEPS = 12
ATTEMPT_STEPS = 8
MAX_OUTPUT_TOKENS = 16_000


class ModelNotes:
    """Implements `notes.engine.NotesEngine`. `open_provider` is called inside the run's event loop; `cost_of`
    prices what was used, None where the price is not known."""

    def __init__(
        self,
        name: str,
        *,
        open_provider: Callable[[], Provider],
        cost_of: Callable[[TokenUsage], Decimal | None],
        clock: Clock,
    ) -> None:
        self._name = name
        self._open_provider = open_provider
        self._cost_of = cost_of
        self._clock = clock

    @property
    def name(self) -> str:
        return self._name

    async def update(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineEnd:
        vault, mark = Vault(), random_mark()
        vault.learn(draft.text)
        trace = Trace(vault.scrub, clock=self._clock)
        reminded: list[str] = []
        usage: list[TokenUsage] = []

        def follow_up(_text: str) -> str | None:
            if reminded:
                return None
            told = reminder(draft.broken, reminder_of(draft.text) if draft.changed else "")
            reminded.append(told)
            return told or None

        def on_event(event: AgentEvent) -> None:
            if event.kind == "turn" and event.usage is not None:
                usage[:] = [event.usage]

        try:
            provider = self._open_provider()
        except ProviderError as refused:
            return EngineEnd("failed", refused)
        try:
            result = await run_agent(
                provider,
                system=system_prompt(mark),
                messages=[UserMessage(user_message(task, draft.text, mark))],
                tools=(edit_tool(draft, task.path),),
                limits=AgentLimits(MAX_STEPS, task.deadline, MAX_OUTPUT_TOKENS, attempt_steps=ATTEMPT_STEPS),
                vault=vault,
                cancelled=cancelled,
                observer=on_event,
                follow_up=follow_up,
                trace=trace,
            )
        finally:
            await provider.close()
        cost = self._cost_of(usage[0]) if usage else None
        head = TraceHead(
            run_id=task.run_id,
            kind="notes",
            workspace_id=task.session_id,
            workspace_name=task.title,
            timeout_ms=task.timeout_ms,
            existing_memory=vault.hide(draft.original),
            cost_usd=cost,
        )
        outcome, error = _ended(result)
        return EngineEnd(outcome, error, Account(result.usage, cost, trace.to_document(head)))


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
