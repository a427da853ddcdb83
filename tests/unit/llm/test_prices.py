"""What tokens cost: by name, family and date; unknown is unknown, local is free."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.llm.prices import cost_usd, parse_table, price_table
from reverie.llm.provider import TokenUsage

MILLION = TokenUsage(input=1_000_000, output=1_000_000)
TABLE = """{"as_of": "2026-01", "free": ["ollama"], "usd_per_million_tokens": {
  "a:one": {"input": 1, "cached_input": 0.1, "cache_write": 1.25, "output": 5},
  "a:one*": {"input": 2, "cached_input": 0.2, "cache_write": 2.5, "output": 10},
  "a:one-big*": {"input": 3, "cached_input": 0.3, "cache_write": 3.75, "output": 15}}}"""


@pytest.mark.parametrize(
    ("model", "input_price"),
    [
        *((name, 1) for name in ("a:one", "a:one-2025-08-07", "a:one-20250807", "a:one-latest")),
        ("a:one-mini", 2),
        ("a:one-big-2", 3),
        *((name, None) for name in ("a:two", "b:one", "a:")),
    ],
)
def test_a_name_counts_before_its_family_and_the_longest_family_first(
    model: str, input_price: int | None
) -> None:
    price = parse_table(TABLE).find(model)
    assert (None if price is None else price.input) == input_price


def test_each_kind_of_token_has_its_own_price() -> None:
    price = parse_table(TABLE).find("a:one")
    assert price is not None
    usage = TokenUsage(input=1000, output=200, cached_input=600, cache_write=300, reasoning=150)
    assert price.of(usage) == Decimal("0.0000") + Decimal(100 + 60 + 375 + 1000) / 1_000_000


@pytest.mark.parametrize(
    "model", ["ollama:qwen3:8b", "llamacpp:x", "lmstudio:x", "vllm:x", "openrouter:a/b:free"]
)
def test_a_model_on_ones_own_machine_costs_nothing(model: str) -> None:
    assert cost_usd(model, MILLION) == 0


@pytest.mark.parametrize("model", ["openai:gpt-99", "work:x", "ollama:big:120b-cloud", "", "openrouter:x"])
def test_an_unknown_price_is_unknown_and_not_nothing(model: str) -> None:
    assert cost_usd(model, MILLION) is None


def test_a_broker_passes_the_makers_prices_on() -> None:
    assert cost_usd("openrouter:anthropic/claude-haiku-4.5", MILLION) == Decimal(6)
    assert cost_usd("openrouter:openai/gpt-5-mini", MILLION) == cost_usd("openai:gpt-5-mini", MILLION)


def test_the_table_that_comes_with_the_program_is_dated_and_plausible() -> None:
    table = price_table()
    assert re.fullmatch(r"\d{4}-\d{2}(-\d{2})?", table.as_of)
    for price in [*table.exact.values(), *(price for _, price in table.families)]:
        assert 0 < price.cached_input <= price.input <= price.cache_write <= price.output


@given(st.sampled_from(sorted(price_table().exact)), st.lists(st.integers(0, 10**7), min_size=4, max_size=4))
@settings(max_examples=30)
def test_a_sum_of_turns_costs_the_sum(model: str, counts: list[int]) -> None:
    first = TokenUsage(counts[0] + counts[1], counts[2], counts[1])
    second = TokenUsage(counts[3], counts[0])
    costs = [cost_usd(model, usage) for usage in (first, second, first + second)]
    assert None not in costs
    assert sum(filter(None, costs[:2]), Decimal(0)) == costs[2]
