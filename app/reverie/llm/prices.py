"""Prices of models, from the dated table in `resources/prices.json`.

Pure, except that the table is read when first needed; any thread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from reverie.llm.provider import TokenUsage
from reverie.resources import resource
from reverie.values import Struct

_MILLION = Decimal(1_000_000)
_VERSION = re.compile(r"[-@:](?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$")


class Price(Struct, frozen=True):
    """Prices in US dollars per million tokens.

    `cached_input`: input read from the service's cache; `cache_write`: input written to it.
    """

    input: Decimal
    cached_input: Decimal
    cache_write: Decimal
    output: Decimal

    def of(self, usage: TokenUsage) -> Decimal:
        """Return the cost of `usage` in US dollars; cached input is charged only at its own price."""
        fresh = max(0, usage.input - usage.cached_input - usage.cache_write)
        return (
            fresh * self.input
            + usage.cached_input * self.cached_input
            + usage.cache_write * self.cache_write
            + usage.output * self.output
        ) / _MILLION


class PriceTable(Struct, frozen=True):
    """Prices of models on the date `as_of`; estimates, without discounts, batch or long-prompt rates."""

    as_of: str
    exact: Mapping[str, Price]
    """`provider:model` -> its price."""
    families: tuple[tuple[str, Price], ...]
    """Prefix of `provider:model` -> the price of these models; longest prefix first."""
    free: frozenset[str]
    """The providers whose models cost nothing."""

    def find(self, model: str) -> Price | None:
        """Return the price of `model` (`provider:model`); None if it is not known."""
        provider, _, name = model.partition(":")
        if provider == "ollama" and name.endswith(("-cloud", ":cloud")):
            return None
        if provider in self.free or (provider == "openrouter" and name.endswith(":free")):
            return _NOTHING
        if provider == "openrouter" and "/" in name:
            # OpenRouter charges the maker's prices, and writes versions with a dot instead of a dash.
            maker, _, name = name.partition("/")
            model = f"{maker}:{name.replace('.', '-') if maker == 'anthropic' else name}"
        for candidate in (model, _VERSION.sub("", model)):
            if candidate in self.exact:
                return self.exact[candidate]
        return next((price for start, price in self.families if model.startswith(start)), None)


_NOTHING = Price(Decimal(0), Decimal(0), Decimal(0), Decimal(0))


def cost_usd(model: str, usage: TokenUsage) -> Decimal | None:
    """Return the cost of `usage` in US dollars; None if the price of `model` is not known.

    `model`: written `provider:model`.
    """
    price = price_table().find(model)
    return None if price is None else price.of(usage)


@cache
def price_table() -> PriceTable:
    """Return the dated table of prices that is part of the program (`resources/prices.json`).

    It is read once.
    """
    return parse_table(resource("prices.json").read_text(encoding="utf-8"))


def parse_table(text: str) -> PriceTable:
    """Return the price table in a JSON text.

    Invalid text raises an exception, which is a bug, because the table is part of the program.
    """
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
