"""Two people in one text: every line that either side wrote is in the text or in a conflict."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.text import matching as sequence_matching
from reverie.text import text_merge as co_editing
from reverie.text.text_merge import Merged, decided, merge, open_conflicts, settled

# Few different lines, so that they repeat, move and meet; new ones carry their author.
BASE = st.lists(st.sampled_from(["a", "b", "c", "", "d"]), min_size=1, max_size=10)
EDITS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 3)), max_size=4)


def edited(base: list[str], edits: list[tuple[int, int, int]], author: str) -> list[str]:
    lines = list(base)
    for number, (at, less, more) in enumerate(edits):
        at = min(at, len(lines))
        lines[at : at + less] = [f"{author}{number}{added}" for added in range(more)]
    return lines or [""]


def lost(merged: Merged, side: list[str], base: list[str]) -> Counter[str]:
    """Lines one side wrote that stand neither in the text nor in a conflict."""
    kept = Counter(merged.text.split("\n"))
    for conflict in merged.conflicts:
        kept.update(conflict.theirs)
    return (Counter(side) - Counter(base)) - kept


@settings(max_examples=examples(300))
@given(BASE, EDITS, EDITS)
def test_no_line_of_either_side_is_lost(
    base: list[str], mine: list[tuple[int, int, int]], theirs: list[tuple[int, int, int]]
) -> None:
    ours, others = edited(base, mine, "m"), edited(base, theirs, "t")
    texts = "\n".join(base), "\n".join(ours), "\n".join(others)
    merged = merge(*texts)
    assert not lost(merged, ours, base)
    assert not lost(merged, others, base)
    for conflict in merged.conflicts:
        assert merged.text.split("\n")[conflict.at.start : conflict.at.end] == list(conflict.mine)
    if not merged.conflicts:
        assert merged.rebased == texts[2]
        assert merge(texts[0], texts[2], texts[1]).text == merged.text, "whoever is asked, one result"
    # What is remembered gives the conflicts again and takes nothing twice.
    again = merge(merged.rebased, merged.text, texts[2])
    assert not lost(again, others, base)
    assert bool(open_conflicts(merged.rebased, merged.text, texts[2])) == bool(merged.conflicts)


@settings(max_examples=examples(200))
@given(BASE, EDITS, EDITS, st.lists(st.sampled_from(["mine", "theirs", "both"]), max_size=12))
def test_decisions_end_and_leave_the_base_that_stands_on_disk(
    base: list[str], mine: list[tuple[int, int, int]], theirs: list[tuple[int, int, int]], sides: list[str]
) -> None:
    ours, others = edited(base, mine, "m"), edited(base, theirs, "t")
    disk = "\n".join(others)
    merged = merge("\n".join(base), "\n".join(ours), disk)
    text, below = merged.text, merged.rebased
    rest = [*sides, *["both"] * 20]
    while found := open_conflicts(below, text, disk):
        side = rest.pop(0)
        before = Counter(text.split("\n"))
        text, below = decided(below, text, disk, found[0], side)  # type: ignore[arg-type]
        after = Counter(text.split("\n"))
        if side == "mine":
            assert after == before
        if side == "both":
            assert not before - after
            assert not Counter(found[0].theirs) - after
        if side == "theirs":
            assert not (before - Counter(found[0].mine)) - after
    assert below == disk


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "text"),
    [
        ("1\n2\n3\n4\n5", "1!\n2\n3\n4\n5", "1\n2\n3\n4\n5!", "1!\n2\n3\n4\n5!"),
        ("1\n2\n3", "0\n1\n2\n3", "1\n2", "0\n1\n2"),
        ("1\n2\n3", "1\n2\n3", "1\n3", "1\n3"),
        ("1\n2\n3", "1\nx\n3", "1\nx\n3", "1\nx\n3"),
        ("1\n2\n3\n4", "2\n3\n1\n4", "1\n2\n3\n4!", None),
        ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5", "0\n2\n3\n4\n5\n", "0\n2\n3\n4\n5"),
        ("1\n2", "1!\n2", "1\n2!", None),
        ("1\n2\n", "1\n2\nm\n", "1\n2\nt\n", None),
        ("1\n2\n3", "1\n3", "1\n2!\n3", None),
        ("", "m", "t", None),
    ],
    ids=[
        "changes apart", "a line and a deletion", "theirs alone", "the same at both sides once",
        "a moved line meets an edit beside it", "a final line break", "touching lines",
        "both append", "deleted and edited", "both begin a file",
    ],
)  # fmt: skip
def test_changes_apart_merge_and_touching_ones_ask(
    base: str, mine: str, theirs: str, text: str | None
) -> None:
    merged = merge(base, mine, theirs)
    assert bool(merged.conflicts) == (text is None)
    if text is not None:
        assert merged.text == text


def test_a_line_they_moved_away_from_my_edit_is_in_the_text_and_the_conflict_is_shown() -> None:
    merged = merge("a\nb\nc\nd\ne", "a!\nb\nc\nd\ne", "b\nc\nd\ne\na")
    assert merged.text == "a!\nb\nc\nd\ne\na"
    assert [(one.mine, one.theirs) for one in merged.conflicts] == [(("a!",), ())]


def test_typing_the_old_lines_back_decides_nothing_and_typing_theirs_does() -> None:
    merged = merge("1\n2\n3", "1\nm\n3", "1\nt\n3")
    assert merged.rebased == "1\n2\n3"
    assert [one.theirs for one in open_conflicts(merged.rebased, "1\n2\n3", "1\nt\n3")] == [("t",)]
    assert open_conflicts(merged.rebased, "1\nt\n3", "1\nt\n3") == ()
    assert settled(merged.rebased, "1\nt\n3", "1\nt\n3") == "1\nt\n3"


def test_a_newer_version_builds_on_what_is_decided() -> None:
    first = merge("1\n2\n3\n4\n5", "1\nm\n3\n4\n5", "1\nt\n3\n4\n5")
    second = merge(first.rebased, first.text, "1\nt\n3\n4\nT")
    assert second.text == "1\nm\n3\n4\nT"
    assert [one.theirs for one in second.conflicts] == [("t",)]
    gone = merge(first.rebased, first.text, "1\n2\n3\n4\n5")
    assert gone.conflicts == ()


def test_long_texts_that_repeat_stay_lossless(monkeypatch: pytest.MonkeyPatch) -> None:
    base = ["-", *(f"line {number}" for number in range(300)), *["same"] * 300]
    mine = ["mine", *base[:150], *base[151:]]
    theirs = [*base[:40], "theirs", *base[40:], *["same"] * 5, "end"]
    monkeypatch.setattr(co_editing, "TYPING_STEPS", 2_500)
    monkeypatch.setattr(sequence_matching, "STEPS_PER_ELEMENT", 0)
    merged = merge("\n".join(base), "\n".join(mine), "\n".join(theirs))
    assert not merged.conflicts
    assert merged.text.split("\n") == [
        "mine", *base[:40], "theirs", *base[40:150], *base[151:], *["same"] * 5, "end",
    ]  # fmt: skip
