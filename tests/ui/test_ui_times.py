"""Ages are rounded down to the largest unit that still tells something."""

from datetime import UTC

import pytest

from reverie.ui.display_text import DAY_MS, HOUR_MS, MINUTE_MS, YEAR_MS, Ago, exact_time, relative_time, when

NOW = 1_786_900_000_000


@pytest.mark.parametrize(
    ("age_ms", "expected"),
    [
        (0, Ago("now")),
        (MINUTE_MS - 1, Ago("now")),
        (MINUTE_MS, Ago("minutes", 1)),
        (HOUR_MS - 1, Ago("minutes", 59)),
        (HOUR_MS, Ago("hours", 1)),
        (2 * DAY_MS - 1, Ago("hours", 47)),
        (2 * DAY_MS, Ago("days", 2)),
        (14 * DAY_MS, Ago("weeks", 2)),
        (70 * DAY_MS, Ago("months", 2)),
        (2 * YEAR_MS, Ago("years", 2)),
    ],
)
def test_an_age_is_rounded_down_to_its_unit(age_ms: int, expected: Ago) -> None:
    assert relative_time(NOW, NOW - age_ms) == expected


def test_a_clock_slightly_ahead_counts_as_now_and_one_far_ahead_does_not() -> None:
    assert relative_time(NOW, NOW + MINUTE_MS) == Ago("now")
    assert relative_time(NOW, NOW + MINUTE_MS + 1) == Ago("future")


def test_the_exact_time_is_one_of_its_zone() -> None:
    assert exact_time(0, UTC) == "1970-01-01 00:00:00"


@pytest.mark.parametrize("beyond", [10**18, -(10**18)])
def test_a_time_that_no_calendar_holds_is_shown_as_nothing(beyond: int) -> None:
    assert exact_time(beyond, UTC) == ""
    assert when(beyond) == "an unknown time"


def test_a_time_in_a_list_is_one_of_the_minute() -> None:
    assert when(NOW) == exact_time(NOW)[: len("1970-01-01 00:00")]
