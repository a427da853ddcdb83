"""The rail that keeps a dream from losing lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reverie.runs.retention import folded_lines, judge_retention, missing_lines

A = "/memories/project/a.md"
B = "/memories/project/b.md"


def test_a_run_that_changes_nothing_loses_nothing() -> None:
    retention = judge_retention({A: "one\ntwo"}, {A: "one\ntwo"})
    assert (retention.lost, retention.blocked_deletes, dict(retention.loss_percent)) == ((), (), {})


def test_a_delete_whose_lines_stand_elsewhere_is_free() -> None:
    before = {A: "- One  thing\n- two things\n", B: "one thing"}
    retention = judge_retention(before, {A: "1. one thing\n2. Two things"})
    assert not retention.lost


def test_a_delete_that_takes_a_line_with_it_is_blocked() -> None:
    retention = judge_retention({A: "kept", B: "kept\nonly here"}, {A: "kept"})
    assert retention.blocked_deletes == (B,)
    assert [line.number for line in retention.lost] == [2]


def test_a_description_folded_into_another_is_kept() -> None:
    before = {A: "---\ndescription: First words\n---\nx y", B: '---\ndescription: "Second: words"\n---\nx y'}
    retention = judge_retention(before, {A: "---\ndescription: 'First words; Second: words'\n---\nx y"})
    assert not retention.lost


def test_half_a_word_is_not_a_kept_line() -> None:
    retention = judge_retention({A: "pin", B: "x"}, {B: "x pinned"})
    assert [line.path for line in retention.lost] == [A]


def test_losses_are_measured_by_scope() -> None:
    before = {A: "\n".join(f"line number {number}" for number in range(10)), "/memories/global/g.md": "g h"}
    after = {A: "\n".join(f"line number {number}" for number in range(7)), "/memories/global/g.md": "g h"}
    retention = judge_retention(before, after)
    assert dict(retention.loss_percent) == {"project": 30.0}
    assert retention.exceeds(20)
    assert not retention.exceeds(30)
    assert not retention.blocked_deletes


def test_of_a_harvest_inbox_only_its_candidates_count() -> None:
    inbox = "/memories/workspace/harvest/summary-1.md"
    text = (
        "---\ndescription: Harvested memory candidates for compaction 1\n---\n# Harvest inbox: compaction 1\n"
        "Source boundary: x\n## preference\n\nNever retry a 409.\n\n"
        "Evidence: u1\nConfidence: 0.9\nRationale: said so\n"
    )
    assert not judge_retention({inbox: text, A: "- never retry a `409`"}, {A: "- never retry a `409`"}).lost
    assert judge_retention({inbox: text, A: "other"}, {A: "other"}).blocked_deletes == (inbox,)


_LINES = st.lists(st.lists(st.sampled_from(["a", "b", "c"]), max_size=5).map(" ".join), max_size=6)


@given(_LINES, _LINES)
def test_words_are_missing_where_no_line_holds_them_in_a_row(lines: list[str], asked: list[str]) -> None:
    kept, words = folded_lines(["\n".join(lines)]), folded_lines(["\n".join(asked)])
    assert missing_lines(words, kept) == {
        each for each in words if each and not any(each in line for line in kept)
    }
