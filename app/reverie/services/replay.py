"""Asking again what a memory writer asked, of another model or in other words, on a copy.

The copy is the memory as the trace has it, in memory only: nothing of a home is read or written, no schedule
advances, and no trace is kept. The tools are the writer's own, so a replay succeeds or fails for the same
reasons. Secrets of the texts do not leave (the vault), and nothing is sent to where no person agreed.

Threading: blocks on the network; any thread but the GUI's. Failure: `MendableError` before anything is sent;
what goes wrong afterwards is in the result, as in any trace.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reverie.agent.dump_facts import WRITER, Facts, facts_of
from reverie.agent.dump_reader import dump_of
from reverie.agent.timeline import timeline_of
from reverie.agent.verdict import judge
from reverie.errors import StoreError
from reverie.files.jsjson import stringify
from reverie.services.traces import TraceDetail
from reverie.services.views import ConsentView

if TYPE_CHECKING:
    from reverie.agent.provider import Provider
    from reverie.clock import Clock
    from reverie.services.models import Models

TIME_LIMIT_S = 60.0
_MEMORY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReplayWish:
    """What is to be asked, of whom (`provider:model`)."""

    engine: str
    system: str
    user: str
    time_limit_s: float = TIME_LIMIT_S


def why_no_replay(facts: Facts, *, shortened: bool = False) -> str:
    """Why a trace cannot be replayed; empty if it can."""
    if facts.kind != WRITER:
        return "Only runs of the memory writer are replayed; a consolidation has its own preview."
    if not facts.user_message:
        return "The trace does not hold what was asked."
    if shortened and facts.user_message.endswith("bytes in all]"):
        return "What was asked is too long to be asked again."
    return ""


class Replays:
    """Replays with the models of one home."""

    def __init__(self, models: Models, clock: Clock) -> None:
        self._models = models
        self._clock = clock

    def consent_needed(self, detail: TraceDetail, wish: ReplayWish) -> ConsentView | None:
        """What would leave this machine, if nobody has agreed to this destination yet. Raises
        `MendableError` for a model that cannot be asked."""
        try:
            self._models.require_consent(wish.engine)
        except StoreError as error:
            if error.reason != "consent":
                raise
        else:
            return None
        from reverie.agent.vault import Vault

        vault = Vault()
        for text in (wish.system, wish.user, detail.facts.existing_memory):
            vault.learn(text)
        destination = self._models.provider(wish.engine).destination
        return ConsentView(destination, (str(detail.row.path),), vault.secrets_hidden)

    def run(
        self,
        detail: TraceDetail,
        wish: ReplayWish,
        *,
        cancel: threading.Event,
        progress: Callable[[str], None] = lambda _step: None,
    ) -> TraceDetail:
        """Ask again; the new trace. Raises `MendableError` where it cannot begin."""
        problem = why_no_replay(detail.facts, shortened=detail.dump.shortened)
        if problem:
            raise StoreError(
                "This trace cannot be replayed.", cause=problem, next_step="Choose another trace."
            )
        self._models.require_consent(wish.engine)
        provider = self._models.provider(wish.engine)
        data = asyncio.run(_asked(provider, detail.facts, wish, self._clock, cancel, progress))
        dump = dump_of(data)
        facts = facts_of(dump.document)
        row = detail.row.judged(dump, facts, judge(facts))
        row = replace(row, kind="replay", started_at=facts.started_at or 0, run_id="", damage="")
        return TraceDetail(row, dump, facts, timeline_of(facts))


async def _asked(
    provider: Provider,
    facts: Facts,
    wish: ReplayWish,
    clock: Clock,
    cancel: threading.Event,
    progress: Callable[[str], None],
) -> bytes:
    """The writer's own two attempts on a copy of the memory; the trace as a document."""
    from reverie.agent.loop import AgentEvent, run_agent
    from reverie.agent.messages import UserMessage
    from reverie.agent.prices import cost_usd
    from reverie.agent.trace import Trace, TraceHead
    from reverie.agent.vault import Vault
    from reverie.writer.memory_tools import Draft, WriterTools
    from reverie.writer.model_writer import Attempts, limits_until

    memory = facts.existing_memory.encode("utf-8", "replace")
    draft = Draft(lambda: memory, max_bytes=_MEMORY_BYTES)
    tools = WriterTools(draft, facts.memory_path or facts.workspace_name)
    vault = Vault()
    vault.learn(facts.existing_memory)
    trace = Trace(vault.scrub, clock=clock)

    def on_event(event: AgentEvent) -> None:
        if event.kind in ("turn", "tool", "retry"):
            progress(event.tool or event.text or f"answer {event.step}")

    try:
        result = await run_agent(
            provider,
            system=wish.system,
            messages=[UserMessage(wish.user)],
            tools=tools.tools(),
            limits=limits_until(time.monotonic() + wish.time_limit_s),
            vault=vault,
            cancelled=cancel.is_set,
            observer=on_event,
            follow_up=Attempts(tools).follow_up,
            trace=trace,
        )
    finally:
        await provider.close()
    head = TraceHead(
        run_id="",
        kind=WRITER,
        workspace_id=facts.workspace_id,
        workspace_name=facts.workspace_name,
        trigger_message_id=facts.trigger_message_id,
        timeout_ms=round(wish.time_limit_s * 1000),
        existing_memory=vault.hide(facts.existing_memory),
        cost_usd=None if result.usage is None else cost_usd(wish.engine, result.usage),
    )
    return stringify(trace.to_document(head))
