"""When the writer runs, turn by turn: every scheduler item of formats/mux.md sections 14 and 15."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.jobs.single_file.writer_turns import WriterState, completing, interval_of, on_turn, standing_gate
from reverie.values import replace

ENOUGH = interval_of(2, None)


def play(
    state: WriterState, interval: int, turns: int, *, in_flight: bool = False
) -> tuple[str, WriterState]:
    """One letter a turn: `r` starts a run (completed at once), `-` does not."""
    told = ""
    for turn in range(turns):
        decision = on_turn(
            state, interval=interval, in_flight=in_flight, message_id=f"m{turn}", now=1000 + turn
        )
        state = decision.state
        told += "r" if decision.gate is None else "-"
        if decision.gate is None:
            state = completing(state, started_at=1000 + turn, now=1000 + turn)
    return told, state


@pytest.mark.parametrize(("interval", "told"), [(1, "rrrrrr"), (2, "-r-r-r"), (3, "--r--r"), (5, "----r-")])
def test_a_run_comes_every_so_many_turns(interval: int, told: str) -> None:
    assert play(WriterState(), interval, 6)[0] == told


def test_starting_sets_the_turns_to_zero_and_forgets_the_last_completion() -> None:
    before = WriterState(1, 5, 6, "old")
    decision = on_turn(before, interval=2, in_flight=False, message_id="new", now=99)
    assert decision.gate is None
    assert decision.state == WriterState(0, 99, None, "new")


def test_the_count_survives_a_restart() -> None:
    assert play(WriterState(turns=1), 2, 1)[0] == "r"


def test_a_run_that_never_completed_is_due_at_the_next_turn_however_long_the_interval() -> None:
    crashed = WriterState(0, 100, None, "m")
    decision = on_turn(crashed, interval=50, in_flight=False, message_id="n", now=200)
    assert (decision.gate, decision.crashed) == (None, True)


def test_a_completion_older_than_the_start_is_none() -> None:
    assert WriterState(0, 100, 99, "m").unfinished
    assert not WriterState(0, 100, 100, "m").unfinished
    assert not WriterState(0, None, 100, "m").unfinished


def test_a_run_at_work_is_no_crash_and_nothing_starts_beside_it() -> None:
    at_work = WriterState(0, 100, None, "m")
    told, state = play(at_work, 2, 5, in_flight=True)
    assert told == "-----"
    assert state == WriterState(5, 100, None, "m")


def test_a_long_interval_is_not_collapsed_by_a_run_at_work() -> None:
    told, state = play(WriterState(0, 100, None, "m"), 50, 3, in_flight=True)
    done = completing(state, started_at=100, now=150)
    assert (told, done.turns) == ("---", 3)
    assert play(done, 50, 47)[0] == "-" * 46 + "r"


def test_turns_that_came_during_a_run_count_towards_the_next() -> None:
    _told, state = play(WriterState(0, 100, None, "m"), 2, 2, in_flight=True)
    assert play(completing(state, started_at=100, now=150), 2, 1)[0] == "r"


def test_completing_leaves_a_run_that_somebody_else_started_alone() -> None:
    others = WriterState(0, 500, None, "theirs")
    assert completing(others, started_at=100, now=600) == others
    assert completing(others, started_at=500, now=400).completed_at == 500, "a clock may go back"


@pytest.mark.parametrize(("value", "turns"), [(1, 1), (50, 50), (3.0, 3)])
def test_the_agents_own_interval_counts_before_ours(value: object, turns: int) -> None:
    found = interval_of(7, value)
    assert (found.turns, found.source) == (turns, "agent")


def test_ours_counts_where_the_agent_has_none() -> None:
    assert interval_of(7, None).turns == 7
    assert interval_of(7, None).source == "settings"


@pytest.mark.parametrize("value", [0, -1, 51, 2.5, "2", True, [2], {}, float("inf"), float("nan")])
def test_what_is_no_interval_is_told_and_stops_the_writer(value: object) -> None:
    found = interval_of(2, value)
    assert found.turns is None
    assert "1 to 50" in found.problem
    gate = standing_gate(switched_on=True, agent_allows=True, parent_id=None, interval=found)
    assert gate == "invalid-interval"


def test_standing_gates_come_in_their_order() -> None:
    bad = interval_of(2, 0)
    assert standing_gate(switched_on=False, agent_allows=True, parent_id="p", interval=bad) == "disabled"
    assert standing_gate(switched_on=True, agent_allows=False, parent_id="p", interval=bad) == "disabled"
    assert (
        standing_gate(switched_on=True, agent_allows=True, parent_id="p", interval=bad) == "child-workspace"
    )
    assert standing_gate(switched_on=True, agent_allows=True, parent_id=None, interval=ENOUGH) is None


states = st.builds(
    WriterState,
    st.integers(0, 60),
    st.none() | st.integers(1, 100),
    st.none() | st.integers(1, 100),
    st.none() | st.just("m"),
)


@given(states, st.integers(1, 50), st.booleans())
def test_whatever_the_state_a_turn_is_counted_or_starts_a_run(
    state: WriterState, interval: int, in_flight: bool
) -> None:
    decision = on_turn(state, interval=interval, in_flight=in_flight, message_id="n", now=200)
    if decision.gate is None:
        assert not in_flight
        assert decision.state == WriterState(0, 200, None, "n")
    else:
        assert decision.state.turns > state.turns
        assert replace(decision.state, turns=0) == replace(state, turns=0)
        assert in_flight or decision.state.turns < interval
