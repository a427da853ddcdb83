"""What a model's tokens cost, from the dated table in `resources/prices.json`.

A price is an estimate: discounts, batch and long-prompt rates are not in it. A model that the table does not
name costs None, which is shown as unknown, never as nothing. Pure but for reading the table once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from reverie.agent.messages import TokenUsage
from reverie.resources import resource

_MILLION = Decimal(1_000_000)
_VERSION = re.compile(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: Decimal
    cached_input: Decimal
    cache_write: Decimal
    output: Decimal

    def of(self, usage: TokenUsage) -> Decimal:
        """US dollars for this usage; input that was cached is priced as such and not twice."""
        fresh = max(0, usage.input - usage.cached_input - usage.cache_write)
        return (
            fresh * self.input
            + usage.cached_input * self.cached_input
            + usage.cache_write * self.cache_write
            + usage.output * self.output
        ) / _MILLION


@dataclass(frozen=True, slots=True)
class PriceTable:
    """`exact` by `provider:model`; `families` by what such a name begins with, longest first."""

    as_of: str
    exact: Mapping[str, Price]
    families: tuple[tuple[str, Price], ...]
    free: frozenset[str]

    def find(self, model: str) -> Price | None:
        """The price of `provider:model`, or None."""
        provider, _, name = model.partition(":")
        if provider == "ollama" and name.endswith(("-cloud", ":cloud")):
            return None
        if provider in self.free or (provider == "openrouter" and name.endswith(":free")):
            return _NOTHING
        if provider == "openrouter" and "/" in name:
            # OpenRouter passes prices on, and writes versions with a dot where Anthropic has a dash.
            maker, _, name = name.partition("/")
            model = f"{maker}:{name.replace('.', '-') if maker == 'anthropic' else name}"
        for candidate in (model, _VERSION.sub("", model)):
            if candidate in self.exact:
                return self.exact[candidate]
        return next((price for start, price in self.families if model.startswith(start)), None)


_NOTHING = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))


def cost_usd(model: str, usage: TokenUsage) -> Decimal | None:
    """What `usage` of `provider:model` costs in US dollars; None: unknown."""
    price = price_table().find(model)
    return None if price is None else price.of(usage)


@cache
def price_table() -> PriceTable:
    """The table that comes with the program."""
    return parse_table(resource("prices.json").read_text(encoding="utf-8"))


def parse_table(text: str) -> PriceTable:
    """A table from its JSON text; anything wrong with it is a bug of ours."""
    data = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    prices = {
        name: Price(row["input"], row["cached_input"], row["cache_write"], row["output"])
        for name, row in data["usd_per_million_tokens"].items()
    }
    families = [(name[:-1], price) for name, price in prices.items() if name.endswith("*")]
    return PriceTable(
        as_of=data["as_of"],
        exact={name: price for name, price in prices.items() if not name.endswith("*")},
        families=tuple(sorted(families, key=lambda family: -len(family[0]))),
        free=frozenset(data["free"]),
    )
