"""Which threads are extracted, and why the others are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from reverie.agents.capabilities import Thread
from reverie.jobs.extraction.state import LOOKED_AT, SKIP_WORDS, select
from reverie.settings import ExtractSettings
from reverie.values import replace

NOW = 10_000_000_000
DAY = 86_400_000


def thread(number: int, **more: object) -> Thread:
    base = Thread(f"t{number:03}", Path(f"/r/{number}"), updated_at=NOW - DAY - number * 1000)
    return replace(base, **more)  # type: ignore[arg-type]


def reasons(
    *threads: Thread, stored: dict[str, int] | None = None, limits: ExtractSettings | None = None
) -> list[str]:
    found = select(threads, (stored or {}).get, limits or ExtractSettings(), NOW)
    assert all(skipped.reason in SKIP_WORDS for skipped in found.skipped)
    return [skipped.reason for skipped in found.skipped]


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (thread(1, subagent=True), "sub-agent"),
        (thread(1, archived=True), "archived"),
        (thread(1, source="exec"), "not-interactive"),
        (thread(1, memory_mode="polluted"), "memory-off"),
        (thread(1, memory_mode="disabled"), "memory-off"),
        (thread(1, path=None), "no-rollout"),
        (thread(1, updated_at=NOW - 1000), "active"),
        (thread(1, updated_at=NOW + 1000), "active"),
    ],
)
def test_each_reason_to_leave_a_thread_out(one: Thread, reason: str) -> None:
    assert reasons(one) == [reason]


@pytest.mark.parametrize(
    "one", [thread(1), thread(1, source="vscode", memory_mode="enabled"), thread(1, updated_at=NOW + DAY)]
)
def test_a_thread_that_is_chosen(one: Thread) -> None:
    assert select([one], {}.get, ExtractSettings(), NOW).chosen == (one,)


@pytest.mark.parametrize(("offset", "chosen"), [(-1, 1), (0, 0), (1, 0)])
def test_a_memory_at_least_as_new_as_its_thread_needs_no_extraction(offset: int, chosen: int) -> None:
    one = thread(1)
    assert one.updated_at is not None
    found = select([one], {one.id: one.updated_at + offset}.get, ExtractSettings(), NOW)
    assert len(found.chosen) == chosen


def test_the_newest_eight_of_two_hundred() -> None:
    threads = [thread(number) for number in range(300)]
    found = select(threads[::-1], {}.get, ExtractSettings(), NOW)
    assert [one.id for one in found.chosen] == [f"t{number:03}" for number in range(8)]
    assert found.counts() == {"over-the-limit": LOOKED_AT - 8}
    done = {one.id: NOW for one in threads[:LOOKED_AT]}
    assert not select(threads, done.get, ExtractSettings(), NOW).chosen, "beyond the 200 nobody looks"


def test_who_never_counts_takes_no_place_among_the_two_hundred() -> None:
    threads = [thread(number, subagent=True) for number in range(300)] + [thread(300)]
    assert [one.id for one in select(threads, {}.get, ExtractSettings(), NOW).chosen] == ["t300"]


def test_threads_that_failed_come_after_the_others_and_keep_nobody_out() -> None:
    threads = [thread(number) for number in range(1, 6)]
    newest_first = [
        each.id for each in select(threads, lambda _id: None, ExtractSettings(max_rollouts=5), NOW).chosen
    ]
    failed = newest_first[:2]
    found = select(threads, lambda _id: None, ExtractSettings(max_rollouts=4), NOW, failed)
    assert [each.id for each in found.chosen] == [*newest_first[2:], newest_first[0]]
    assert [(each.thread.id, each.reason) for each in found.skipped] == [(newest_first[1], "over-the-limit")]
