"""What the thinking of a run came to: tokens, money and the trace, whatever kind of run it was.

A value; nothing fails here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from reverie.agent.messages import TokenUsage


@dataclass(frozen=True, slots=True)
class Account:
    """What an engine's work came to, however it ended. `usage` None: no model was asked, or it did not say;
    `cost_usd` None: the price is not known. `trace`: the document of formats/mux.md section 14, or None."""

    usage: TokenUsage | None = None
    cost_usd: Decimal | None = None
    trace: Mapping[str, Any] | None = None


def spent(account: Account) -> tuple[dict[str, int] | None, float | None]:
    """Usage and cost in US dollars, as a run record keeps them."""
    usage = account.usage
    if usage is None:
        return None, None
    counted = {
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cachedInputTokens": usage.cached_input,
        "cacheWriteTokens": usage.cache_write,
        "reasoningTokens": usage.reasoning,
    }
    return counted, None if account.cost_usd is None else float(account.cost_usd)
