"""Access to a model for a job: one run of the agent loop, and the account of its usage and cost.

Threading: one run, one event loop. Failure: `ProviderError` if the service cannot be reached at all; any
other failure of a model is in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

from reverie.clock import Clock
from reverie.errors import UserError
from reverie.llm.loop import AgentEvent, AgentLimits, AgentResult, run_agent
from reverie.llm.provider import Provider, TokenUsage, UserMessage
from reverie.llm.tools import Tool
from reverie.llm.trace import Trace, TraceHead
from reverie.llm.vault import Vault
from reverie.values import Struct, columns, field, replace


class Account(Struct, frozen=True):
    """The token usage, cost and trace of an engine's work, whatever the outcome of the run.

    Each is None if it is unknown or does not exist.
    """

    usage: TokenUsage | None = None
    """The tokens that were used; None if no model was used, or if it did not report its usage."""
    cost_usd: Decimal | None = None
    """The cost in US dollars; None if the price is not known."""
    trace: Mapping[str, Any] | None = None
    """The trace document (formats/mux.md section 14); None if there is none."""


def spent(account: Account) -> tuple[dict[str, int] | None, float | None]:
    """Return the token counts by name and the cost in US dollars of `account`, as a run's record stores them.

    Each is None if unknown.
    """
    usage = account.usage
    if usage is None:
        return None, None
    counted = columns(
        usage,
        "inputTokens=input outputTokens=output cachedInputTokens=cached_input "
        "cacheWriteTokens=cache_write reasoningTokens=reasoning",
    )
    return counted, None if account.cost_usd is None else float(account.cost_usd)


EngineOutcome = Literal["completed", "time-limit", "cancelled", "failed"]


class ModelRunFailed(UserError):
    """The error of a model run that ended without a result; raised, or stored in the result."""

    reason = "model"


class EngineResult(Struct, frozen=True):
    """The result of a model's work in a run: its outcome, error, costs and number of attempts."""

    outcome: EngineOutcome
    error: UserError | None = None
    """The reason of a `failed` outcome; None for any other outcome."""
    account: Account = field(default_factory=Account)
    attempts: int = 1
    """The number of attempts made."""


class ModelClient(Struct, frozen=True):
    """The access of a job to the model `name`: it opens the provider, and knows the model's prices."""

    name: str
    open_provider: Callable[[], Provider]
    """A function that opens the provider; called once per run, inside its event loop."""
    cost_of: Callable[[TokenUsage], Decimal | None]
    """A function that returns the price of a usage, or None if the price is not known."""
    clock: Clock

    def account(
        self,
        head: TraceHead,
        usage: TokenUsage | None,
        build: Callable[[TraceHead], Mapping[str, Any]] | None,
    ) -> Account:
        """Return the usage, cost and trace of a run so far.

        `usage`: the tokens used so far; None if unknown. `build` makes the trace document from `head` with
        the cost added; None for no trace.
        """
        cost = None if usage is None else self.cost_of(usage)
        return Account(usage, cost, None if build is None else build(replace(head, cost_usd=cost)))

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
        observer: Callable[[AgentEvent], None] = lambda _event: None,
        answer_schema: Mapping[str, Any] | None = None,
    ) -> AgentResult:
        """Run the agent loop once, with `task` as the first message; return its result.

        For the other arguments see `llm.loop.run_agent`. Raises `ProviderError` if the service cannot be
        reached at all, and any exception that `cancelled` raises.
        """
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
                observer=observer,
                follow_up=follow_up,
                trace=trace,
                answer_schema=answer_schema,
            )
        finally:
            await provider.close()


def end_of(result: AgentResult, account: Account, *, max_steps: int, attempts: int = 1) -> EngineResult:
    """Convert `result`, of the agent loop, to an `EngineResult` with the costs in `account`.

    A run that reached its limit of steps or of output counts as failed. `max_steps`: the limit of steps, for
    the message; `attempts`: the number of attempts that were made.
    """
    if result.outcome in ("completed", "time-limit", "cancelled"):
        return EngineResult(result.outcome, None, account, attempts)
    error = result.error or no_end(result.outcome, max_steps)
    return EngineResult("failed", error, account, attempts)


def no_end(outcome: str, max_steps: int, otherwise: str = "The model did not finish.") -> ModelRunFailed:
    """Return the error for a run of the agent loop that has neither a result nor an error of its own.

    `outcome`: the outcome of the loop, such as "step-limit". `max_steps`: the limit of steps, for the
    message. `otherwise`: the title of the error if the outcome is neither "step-limit" nor "output-limit".
    """
    why = {
        "step-limit": f"The model did not finish within {max_steps} steps.",
        "output-limit": "The model wrote more than a run may write.",
    }.get(outcome, otherwise)
    return ModelRunFailed(why, next_step="Open the trace of the run, or try another model.")
