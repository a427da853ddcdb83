"""Base class of the engines that use a model: runs of the agent loop with one account.

A job that runs the loop several times (for another attempt, or for the parts of a transcript) has one
account. If the loop does not complete, its error is raised. The usage and the traces are recorded in either
case.

Threading: one run, one event loop. Failure: `ProviderError`, `ModelRunFailed` and the other `UserError`s,
`TimedOut`, and whatever `StopCheck.check` raises; the loop calls it every 50 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from reverie.llm.client import Account, ModelClient, no_end, spent
from reverie.llm.loop import AgentEvent, AgentLimits, AgentResult
from reverie.llm.provider import TokenUsage
from reverie.llm.tools import Tool
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault
from reverie.runs.run import Costs
from reverie.runs.stops import StopCheck, TimedOut

_SUMMARY_CHARS = 300


class ModelWork:
    """Base class of an engine that uses a model, with the account of its requests.

    The provider is opened once for each call of `_ask`.
    """

    kind: ClassVar[str]
    """The kind of run that its traces record."""

    def __init__(self, asking: ModelClient, *, workspace_name: str = "") -> None:
        self.name = asking.name
        self._asking = asking
        self._workspace_name = workspace_name
        self._usage: TokenUsage | None = None
        self._traces: list[Trace] = []
        self._timeout_ms = 0

    def account(self) -> Account:
        """Return the total usage and cost so far, with the trace."""
        head = TraceHead(
            run_id="", kind=self.kind, workspace_name=self._workspace_name, timeout_ms=self._timeout_ms
        )
        return self._asking.account(head, self._usage, self._document if self._traces else None)

    def _document(self, head: TraceHead) -> Mapping[str, Any]:
        """Return the trace document to store; by default that of the last run of the loop."""
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
        """Run the agent loop, a conversation with tool calls, once; add its usage and trace to the account.

        `system`, `task`: the two parts of the prompt. `vault` replaces secrets. `observer` gets the events of
        the loop; `follow_up` gets the model's last text and returns a further message, or None to end;
        `answer_schema` is the JSON schema of the final answer. Raises the error that ended the loop,
        `ModelRunFailed` if a limit did, or `TimedOut`.
        """
        trace, before = Trace(vault.scrub, clock=self._asking.clock), self._usage
        self._traces.append(trace)
        self._timeout_ms = limits.allowed_ms

        def on_event(event: AgentEvent) -> None:
            if event.kind == "turn" and event.usage is not None:
                self._usage = event.usage if before is None else before + event.usage
            observer(event)

        def stopped() -> bool:
            """Raise if the run must stop; otherwise return False.

            Raising the reason, instead of returning True, makes it the error of the run.
            """
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
        if result.outcome != "completed":
            raise no_end(result.outcome, agent_limits.max_steps)
        return result


def costs_of(account: Account) -> Costs:
    """Return the costs of a run from the account of its engine."""
    return Costs(*spent(account), account.trace)


def last_line(text: str) -> str:
    """Return the last line of an answer that is not blank, at most 300 characters; empty if there is none."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    return lines[-1][:_SUMMARY_CHARS] if lines else ""


def step_of(event: AgentEvent) -> str:
    """Return the text of a progress step for a tool call: its command (or tool) and its path."""
    return f"{event.arguments.get('command', event.tool)} {event.arguments.get('path') or ''}".strip()


def steps_to(tell: Callable[[str], None]) -> Callable[[AgentEvent], None]:
    """Return an observer of the agent loop that sends retries and tool calls to `tell` as text."""

    def on_event(event: AgentEvent) -> None:
        if event.kind == "retry":
            tell(event.text)
        elif event.kind == "tool":
            tell(step_of(event))

    return on_event
