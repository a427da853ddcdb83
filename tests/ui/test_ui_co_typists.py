"""One types while another rewrites the file: nothing of either is lost without a shown conflict."""

from __future__ import annotations

from pathlib import Path

from helpers.co_typists import run_co_typists


def test_two_thousand_rounds_lose_no_word_without_a_shown_conflict(qapp: object, tmp_path: Path) -> None:
    tally = run_co_typists(tmp_path, rounds=2000, seed=20_261_121)
    assert not tally.problems, "\n".join(tally.lines())
    assert tally.rounds == 2000
    assert min(tally.events[each] for each in ("saved", "decide", "conflicts shown", "take back")) > 100
