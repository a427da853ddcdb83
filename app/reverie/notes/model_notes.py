"""An update by a model: the one agent loop with a single tool, and one reminder if it broke or overfilled the
notes.

The model sees everything through a vault (no secret leaves). Threading: one run, one event loop.
"""

from __future__ import annotations

from collections.abc import Callable

from reverie.agent.account import Account
from reverie.agent.asking import Asking, EngineEnd, end_of
from reverie.agent.loop import AgentLimits
from reverie.agent.prompting import random_mark
from reverie.agent.provider import ProviderError
from reverie.agent.trace import Trace, TraceHead
from reverie.agent.vault import Vault
from reverie.notes.engine import NotesTask
from reverie.notes.prompts import reminder, system_prompt, user_message
from reverie.notes.sections import reminder_of
from reverie.notes.tool import NotesDraft, edit_tool

MAX_STEPS = 12
ATTEMPT_STEPS = 8
MAX_OUTPUT_TOKENS = 16_000


class ModelNotes:
    """Implements `notes.engine.NotesEngine`."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    @property
    def name(self) -> str:
        return self._asking.name

    async def update(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineEnd:
        vault, mark = Vault(), random_mark()
        vault.learn(draft.text)
        trace = Trace(vault.scrub, clock=self._asking.clock)
        reminded: list[str] = []

        def follow_up(_text: str) -> str | None:
            if reminded:
                return None
            told = reminder(draft.broken, reminder_of(draft.text) if draft.changed else "")
            reminded.append(told)
            return told or None

        try:
            result = await self._asking.ask(
                system_prompt(mark),
                user_message(task, draft.text, mark),
                (edit_tool(draft, task.path),),
                AgentLimits(MAX_STEPS, task.deadline, MAX_OUTPUT_TOKENS, attempt_steps=ATTEMPT_STEPS),
                vault,
                trace,
                cancelled=cancelled,
                follow_up=follow_up,
            )
        except ProviderError as refused:
            return EngineEnd("failed", refused)
        cost = self._asking.cost(result)
        head = TraceHead(
            run_id=task.run_id,
            kind="notes",
            workspace_id=task.session_id,
            workspace_name=task.title,
            timeout_ms=task.timeout_ms,
            existing_memory=vault.hide(draft.original),
            cost_usd=cost,
        )
        account = Account(result.usage, cost, trace.to_document(head))
        return end_of(result, account, max_steps=MAX_STEPS)
