"""Asking a model: what the engines of all kinds of run have in common.

Threading: one run, one event loop. Failure: `ProviderError` where the service cannot be reached at all;
everything else that can go wrong with a model is in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from reverie.agent.account import Account
from reverie.agent.loop import AgentLimits, AgentResult, run_agent
from reverie.agent.messages import TokenUsage, UserMessage
from reverie.agent.provider import Provider
from reverie.agent.tools import Tool
from reverie.agent.trace import Trace, TraceHead
from reverie.agent.vault import Vault
from reverie.clock import Clock
from reverie.errors import MendableError, StoreError

EngineOutcome = Literal["completed", "time-limit", "cancelled", "failed"]


class ModelRunFailed(MendableError):
    """The model did not come to an end that counts."""

    reason = "model"


@dataclass(frozen=True, slots=True)
class EngineEnd:
    """How the thinking of a run ended. `error` says why it `failed`; `attempts` were made."""

    outcome: EngineOutcome
    error: MendableError | None = None
    account: Account = field(default_factory=Account)
    attempts: int = 1


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked. `open_provider` is called once per run, inside its event loop; `cost_of` prices
    what was used, None where the price is not known."""

    name: str
    open_provider: Callable[[], Provider]
    cost_of: Callable[[TokenUsage], Decimal | None]
    clock: Clock

    def account(
        self,
        head: TraceHead,
        usage: TokenUsage | None,
        told: Callable[[TraceHead], Mapping[str, Any]] | None,
    ) -> Account:
        """What a run came to so far, priced. `head` is that of its trace, which `told` makes; None: none."""
        cost = None if usage is None else self.cost_of(usage)
        return Account(usage, cost, None if told is None else told(replace(head, cost_usd=cost)))

    def cost(self, result: AgentResult) -> Decimal | None:
        """US dollars; None where the model said no usage or has no price."""
        return None if result.usage is None else self.cost_of(result.usage)

    async def ask(
        self,
        system: str,
        task: str,
        tools: Sequence[Tool],
        limits: AgentLimits,
        vault: Vault,
        trace: Trace,
        *,
        cancelled: Callable[[], bool],
        follow_up: Callable[[str], str | None],
    ) -> AgentResult:
        """One run of the agent loop. Raises `ProviderError`."""
        provider = self.open_provider()
        try:
            return await run_agent(
                provider,
                system=system,
                messages=[UserMessage(task)],
                tools=tools,
                limits=limits,
                vault=vault,
                cancelled=cancelled,
                follow_up=follow_up,
                trace=trace,
            )
        finally:
            await provider.close()


def end_of(result: AgentResult, account: Account, *, max_steps: int, attempts: int = 1) -> EngineEnd:
    """What a run of the loop is to whoever asked: a limit of the model's own fails it."""
    if result.outcome in ("completed", "time-limit", "cancelled"):
        return EngineEnd(result.outcome, None, account, attempts)
    error: MendableError | None = result.error
    if error is None:
        limit = f"{max_steps} answers" if result.outcome == "step-limit" else "the length that a run allows"
        error = StoreError(
            f"The model did not come to an end within {limit}.",
            next_step="Look at the trace of the run, or try another model.",
            reason="model",
        )
    return EngineEnd("failed", error, account, attempts)


def no_end(
    outcome: str, max_steps: int, otherwise: str = "The model did not come to an end."
) -> ModelRunFailed:
    """Why a run of the loop that ended without an error does not count."""
    why = {
        "step-limit": f"The model did not come to an end within {max_steps} answers.",
        "output-limit": "The model wrote more than a run allows.",
    }.get(outcome, otherwise)
    return ModelRunFailed(why, next_step="Look at the trace of the run, or try another model.")
