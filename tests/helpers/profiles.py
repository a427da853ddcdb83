"""Hypothesis profiles: `suite` (few examples, always the same ones) and `campaign` (many, always new).

`REVERIE_TEST_PROFILE=campaign`, set before pytest starts, chooses the second.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from hypothesis import HealthCheck, settings

from helpers.isolation import TEST_PROFILE

_Row = TypeVar("_Row")

settings.register_profile(
    "suite",
    max_examples=30,
    derandomize=True,
    database=None,
    deadline=None,
    # How long an example takes says more about the machine than about the code.
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "campaign",
    max_examples=5_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(TEST_PROFILE)


def examples(count: int, least: int = 15) -> int:
    """How many examples a test asks for that needs more (or fewer) than the profile says: all of them in the
    campaign, a fifth in the suite, but `least` of them (few for a test that runs for each row of a table),
    and never more than `count`."""
    return count if TEST_PROFILE == "campaign" else min(count, max(least, count // 5))


def a_share(rows: Iterable[_Row], each: int = 2) -> list[_Row]:
    """The rows of a long table that the suite tries: the first and every `each`-th after it. The campaign's
    part `tables` tries all."""
    return list(rows)[:: 1 if TEST_PROFILE == "campaign" else each]
