"""What Reverie changed is told from what the agent did, by the entry alone.

Scenes with files and processes are in test_usage.py; here are the rules.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.ledger import MAX_AGE_MS, MAX_DELTAS, Delta, Ledger, put_back
from reverie.memory.ledger import judged as left_of
from reverie.memory.ledger_file import LedgerFile
from reverie.memory.usage_rules import UNUSED, MemoryUsage, put, usage_of
from reverie.values import replace

NOW = 1_787_300_000_000


def judged(delta: Delta, now: MemoryUsage | None, *, exists: bool = True) -> MemoryUsage | None:
    """The entry after the agent made it `now`; None for no entry."""
    entries: dict[str, object] = {}
    if now is not None:
        put(entries, "k", now)
    left = left_of({"k": delta}, entries, lambda key: exists, by_agent=True, now=NOW)
    put_back(left, entries, lambda key: exists)
    return usage_of(entries["k"]) if "k" in entries else None


PIN = Delta(MemoryUsage(False, 5, 10, 8), MemoryUsage(True, 6, 20, 8), NOW)
UNPIN = Delta(MemoryUsage(True, 5, 10, 8), MemoryUsage(False, 5, 10, 8), NOW)
READ = Delta(MemoryUsage(False, 5, 10, 8), MemoryUsage(False, 6, 20, 8), NOW)
WRITE = Delta(MemoryUsage(False, 5, 10, 8), MemoryUsage(False, 6, 20, 20), NOW)
FIRST = Delta(None, MemoryUsage(False, 1, 20, 20), NOW)
GONE = Delta(MemoryUsage(True, 5, 10, 8), None, NOW)
LOWERED = Delta(MemoryUsage(False, 6, 20, 20), MemoryUsage(False, 5, 10, 8), NOW)


@pytest.mark.parametrize(
    ("delta", "now", "expected"),
    [
        # Overwritten from a cache: what was before, or what grew out of it.
        (PIN, MemoryUsage(False, 5, 10, 8), MemoryUsage(True, 6, 20, 8)),
        (PIN, MemoryUsage(False, 6, 30, 8), MemoryUsage(True, 7, 30, 8)),
        (PIN, MemoryUsage(False, 6, 30, 30), MemoryUsage(True, 7, 30, 30)),
        (UNPIN, MemoryUsage(True, 5, 10, 8), MemoryUsage(False, 5, 10, 8)),
        (UNPIN, MemoryUsage(True, 7, 30, 8), MemoryUsage(False, 7, 30, 8)),
        (READ, MemoryUsage(False, 5, 10, 8), MemoryUsage(False, 6, 20, 8)),
        (READ, MemoryUsage(False, 6, 30, 8), MemoryUsage(False, 7, 30, 8)),
        (READ, MemoryUsage(False, 6, 15, 8), MemoryUsage(False, 7, 20, 8)),
        (WRITE, MemoryUsage(False, 6, 30, 8), MemoryUsage(False, 7, 30, 20)),
        (FIRST, None, MemoryUsage(False, 1, 20, 20)),
        (GONE, MemoryUsage(True, 5, 10, 8), None),
        (GONE, MemoryUsage(True, 7, 30, 8), MemoryUsage(False, 2, 30, None)),
        (LOWERED, MemoryUsage(False, 6, 20, 20), MemoryUsage(False, 5, 10, 8)),
        # Known to the agent: ours, or what grew out of it.
        (PIN, MemoryUsage(True, 6, 20, 8), MemoryUsage(True, 6, 20, 8)),
        (PIN, MemoryUsage(True, 8, 40, 8), MemoryUsage(True, 8, 40, 8)),
        (PIN, MemoryUsage(False, 6, 20, 8), MemoryUsage(False, 6, 20, 8)),
        (READ, MemoryUsage(False, 7, 30, 8), MemoryUsage(False, 7, 30, 8)),
        (READ, MemoryUsage(True, 7, 30, 8), MemoryUsage(True, 7, 30, 8)),
        (FIRST, MemoryUsage(False, 2, 30, 20), MemoryUsage(False, 2, 30, 20)),
        (GONE, None, None),
        (GONE, MemoryUsage(False, 1, 30, 30), MemoryUsage(False, 1, 30, 30)),
        # Dropped by the agent, which had it.
        (PIN, None, None),
        (READ, None, None),
    ],
)
def test_a_change_that_was_overwritten_is_made_again_and_any_other_is_left(
    delta: Delta, now: MemoryUsage | None, expected: MemoryUsage | None
):
    assert judged(delta, now) == expected


def test_nothing_is_put_back_for_a_file_that_is_gone():
    assert judged(FIRST, None, exists=False) is None
    assert judged(GONE, MemoryUsage(True, 7, 30, 8), exists=False) is None


def after_agent(entries: dict[str, MemoryUsage], *deltas: tuple[str, Delta]) -> dict[str, Delta]:
    raw: dict[str, object] = {}
    for key, usage in entries.items():
        put(raw, key, usage)
    return left_of(dict(deltas), raw, lambda key: True, by_agent=True, now=NOW)


def test_an_agent_that_knows_one_change_knows_those_made_before_it():
    maybe = MemoryUsage(False, 9, 30, 8)
    told = Delta(READ.before, READ.after, NOW, overwritten=True)
    assert after_agent({"k": maybe, "l": MemoryUsage(True, 6, 20, 8)}, ("k", told), ("l", PIN)) == {}
    left = after_agent({"k": maybe, "l": MemoryUsage(True, 6, 20, 8)}, ("l", PIN), ("k", told))
    assert list(left) == ["k"]


def test_an_agent_that_lacks_one_change_lacks_those_made_after_it():
    maybe = MemoryUsage(False, 9, 30, 8)
    left = after_agent({"k": maybe, "l": MemoryUsage(False, 5, 10, 8)}, ("l", PIN), ("k", READ))
    assert list(left) == ["l", "k"]
    assert left["k"].after == MemoryUsage(False, 10, 30, 8)
    assert list(after_agent({"k": maybe, "l": MemoryUsage(False, 5, 10, 8)}, ("k", READ), ("l", PIN))) == [
        "l"
    ]


def test_a_change_that_may_be_known_counts_as_lost_only_where_it_was_overwritten_before():
    maybe = {"k": MemoryUsage(False, 9, 30, 8)}
    assert after_agent(maybe, ("k", READ)) == {}
    assert after_agent(maybe, ("k", Delta(READ.before, READ.after, NOW, overwritten=True))) != {}


@pytest.mark.parametrize("delta", [PIN, UNPIN, READ, WRITE, FIRST])
def test_another_reverie_that_kept_a_change_settles_nothing(delta: Delta):
    assert delta.after is not None
    raw: dict[str, object] = {}
    put(
        raw, "k", MemoryUsage(delta.after.pinned, delta.after.access_count + 1, 90, delta.after.last_write_at)
    )
    left = left_of({"k": delta}, raw, lambda key: True, by_agent=False, now=NOW)
    assert not left["k"].lost
    # What is then overwritten by the agent is made again, without what the other one counted.
    put(raw, "k", delta.before or UNUSED)
    left = left_of(left, raw, lambda key: True, by_agent=True, now=NOW)
    put_back(left, raw, lambda key: True)
    again = usage_of(raw["k"])
    assert again.access_count == delta.after.access_count
    assert again.pinned == delta.after.pinned


USAGES = st.builds(
    MemoryUsage,
    st.booleans(),
    st.integers(0, 4),
    st.none() | st.integers(1, 4),
    st.none() | st.integers(1, 4),
)


@given(st.none() | USAGES, st.none() | USAGES, st.none() | USAGES, st.booleans())
def test_no_judgement_fails_and_what_is_as_we_made_it_stays(
    before: MemoryUsage | None, after: MemoryUsage | None, now: MemoryUsage | None, exists: bool
):
    made = judged(Delta(before, after, NOW), now, exists=exists)
    assert made is None or made.access_count >= 0
    if (now or UNUSED) == (after or UNUSED):
        assert made == now


def test_changes_of_one_entry_are_one_delta_from_the_first_to_the_last():
    one, two, three = MemoryUsage(access_count=1), MemoryUsage(access_count=2), MemoryUsage(True, 3)
    ledger = (
        Ledger().with_changes({"k": one}, {"k": two}, NOW).with_changes({"k": two}, {"k": three}, NOW + 1)
    )
    assert ledger.deltas == {"k": Delta(one, three, NOW + 1)}
    assert ledger.with_changes({"k": three}, {"k": one}, NOW + 2).deltas == {}
    assert Ledger().with_changes({"k": one}, {"k": one}, NOW).deltas == {}


def test_old_deltas_and_too_many_are_let_go():
    used = MemoryUsage(access_count=1)
    ledger = Ledger().with_changes({}, {"old": used}, NOW - MAX_AGE_MS)
    many = {f"k{number}": used for number in range(MAX_DELTAS + 1)}
    ledger = ledger.with_changes({}, many, NOW)
    assert "old" not in ledger.deltas
    assert len(ledger.deltas) == MAX_DELTAS
    assert "k0" not in ledger.deltas


def test_a_ledger_whose_last_change_never_came_is_the_one_before():
    before = Ledger("one")
    ledger = Ledger("two", {"k": FIRST}, False, ("inode 1", before))
    assert ledger.as_of("inode 1") is before
    assert ledger.as_of("inode 2") is ledger


def test_a_stored_ledger_reads_back(tmp_path: Path):
    file = LedgerFile(tmp_path / "own" / "ledger.json")
    assert file.read() == Ledger()
    lost = Delta(FIRST.before, FIRST.after, NOW, lost=True, overwritten=True)
    ledger = Ledger("two", {"k": GONE, "l": lost}, True, ("one", Ledger("one", {"k": PIN})))
    file.write(ledger)
    assert file.read() == ledger
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["ledger.json"]


def test_a_change_that_no_agent_was_seen_to_lack_for_thirty_days_is_not_put_back() -> None:
    """Else an old copy of the sidecar, restored or synchronised, would be pinned again."""
    delta = Delta(None, MemoryUsage(True, 2, 2, None), at=NOW - MAX_AGE_MS)
    assert left_of({"k": delta}, {}, lambda _key: True, by_agent=True, now=NOW) == {}
    young = replace(delta, at=NOW - MAX_AGE_MS + 1)
    assert set(left_of({"k": young}, {}, lambda _key: True, by_agent=True, now=NOW)) == {"k"}
