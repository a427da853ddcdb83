"""What the jobs that ask a model have in common: one run of the agent loop under the limits of a run, and the
account of all of them.

A job that asks several times (an attempt anew, a part of a transcript) has one account. Every ending that is
not a plain one is raised, so that it keeps its name. What was spent and the traces are kept in each case.

Threading: one run, one event loop. Failure: `ProviderError` and the other `UserError`s, `TimedOut`, and what
`StopCheck.check` raises, which the loop asks every 50 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from reverie.llm.client import Account, ModelClient
from reverie.llm.loop import AgentEvent, AgentLimits, AgentResult
from reverie.llm.provider import TokenUsage
from reverie.llm.tools import Tool
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault
from reverie.runs.run import StopCheck, TimedOut

_SUMMARY_CHARS = 300


class ModelWork:
    """An engine that asks a model. The provider is opened once for each `_ask`."""

    kind: ClassVar[str]
    """What its traces are of."""

    def __init__(self, asking: ModelClient, *, workspace_name: str = "") -> None:
        self.name = asking.name
        self._asking = asking
        self._workspace_name = workspace_name
        self._usage: TokenUsage | None = None
        self._traces: list[Trace] = []
        self._timeout_ms = 0

    def account(self) -> Account:
        """What was spent so far, all in all, and the trace."""
        head = TraceHead(
            run_id="", kind=self.kind, workspace_name=self._workspace_name, timeout_ms=self._timeout_ms
        )
        return self._asking.account(head, self._usage, self._document if self._traces else None)

    def _document(self, head: TraceHead) -> Mapping[str, Any]:
        """The trace that is kept: that of the last time."""
        return self._traces[-1].to_document(head)

    async def _ask(
        self,
        limits: StopCheck,
        agent_limits: AgentLimits,
        vault: Vault,
        *,
        system: str,
        task: str,
        tools: Sequence[Tool] = (),
        observer: Callable[[AgentEvent], None] = lambda _event: None,
        follow_up: Callable[[str], str | None] = lambda _text: None,
        answer_schema: Mapping[str, Any] | None = None,
    ) -> AgentResult:
        """One run of the loop. Raises the error that ended it, and `TimedOut`."""
        trace, before = Trace(vault.scrub, clock=self._asking.clock), self._usage
        self._traces.append(trace)
        self._timeout_ms = limits.allowed_ms

        def on_event(event: AgentEvent) -> None:
            if event.kind == "turn" and event.usage is not None:
                self._usage = event.usage if before is None else before + event.usage
            observer(event)

        def stopped() -> bool:
            """Never true: what stops the run is raised, so that it keeps its name."""
            limits.check()
            return False

        result = await self._asking.ask(
            system,
            task,
            tools,
            agent_limits,
            vault,
            trace,
            cancelled=stopped,
            follow_up=follow_up,
            observer=on_event,
            answer_schema=answer_schema,
        )
        if result.outcome == "time-limit":
            raise TimedOut
        if result.error is not None:
            raise result.error
        return result


def last_line(text: str) -> str:
    """The last line of an answer that says something, as a summary; empty for none."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[-1][:_SUMMARY_CHARS] if lines else ""


def step_of(event: AgentEvent) -> str:
    """What a call of a memory command is about, for progress."""
    return f"{event.arguments.get('command', event.tool)} {event.arguments.get('path') or ''}".strip()
