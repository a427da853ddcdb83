"""The hot set takes what the agent would take, and says why the rest stays out (formats/mux.md 4 and 12).

Whole homes are prepared in `tests/unit/context`; here are the rules that need no home.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.hot_set import (
    BUDGETS,
    HALF_LIFE_MS,
    Budgets,
    HotCandidate,
    escaped,
    loaded_text,
    neutralised,
    ranked,
    render,
    score,
    select,
)
from reverie.text.summaries import estimate_tokens

NOW = 1_787_300_000_000


def test_the_budgets_are_those_of_the_sheet() -> None:
    assert Budgets(16_384, 49_152, 12_000, 8, 64) == BUDGETS
    assert HALF_LIFE_MS == 604_800_000


@pytest.mark.parametrize(
    ("count", "age", "expected"),
    [
        (4, 0, 4.0),
        (4, HALF_LIFE_MS, 2.0),
        (1, 2 * HALF_LIFE_MS, 0.25),
        (3, -5, 3.0),
        (0, 0, 0.0),
        (-1, 0, 0.0),
        (1, 2000 * HALF_LIFE_MS, 0.0),
    ],
)
def test_a_use_is_worth_half_as_much_for_each_week_since_the_last_one(
    count: int, age: int, expected: float
) -> None:
    assert score(count, NOW - age, NOW) == expected


def test_uses_without_a_time_are_none() -> None:
    assert score(9, None, NOW) == 0.0


@given(st.integers(1, 10**6), st.integers(0, 400 * 86_400_000))
def test_the_score_is_the_formula(count: int, age: int) -> None:
    assert math.isclose(score(count, NOW - age, NOW), count * 2.0 ** (-age / 604_800_000))


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 3), st.sampled_from("abcü😀")),
        max_size=12,
    )
)
def test_pins_come_first_then_scores_then_paths(rows: list[tuple[bool, int, int, str]]) -> None:
    candidates = [
        HotCandidate(f"/memories/global/{name}{number}", pinned, count, NOW - weeks * HALF_LIFE_MS)
        for number, (pinned, count, weeks, name) in enumerate(rows)
    ]
    found = ranked(candidates, NOW)
    assert {each.candidate for each in found} == {
        each for each in candidates if each.pinned or each.access_count
    }
    keys = [
        (not each.candidate.pinned, -each.score, each.candidate.path.encode("utf-16-be")) for each in found
    ]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("data", "text", "cut"),
    [
        (b"a" * 10, "a" * 10, False),
        (b"a" * 11, "a" * 10, True),
        (b"a" * 9 + "é".encode(), "a" * 9, True),
        (b"a" * 8 + "é".encode(), "a" * 8 + "é", False),
        (b"a" * 8 + "😀".encode(), "a" * 8, True),
        (b"a" * 10 + "é".encode(), "a" * 10, True),
        (b"\xff" * 4, "\ufffd" * 3, True),
        (b"\xff" * 3, "\ufffd" * 3, False),
        (b"\xef\xbb\xbfabc", "\ufeffabc", False),
        (b"", "", False),
    ],
)
def test_a_text_is_cut_between_two_characters(data: bytes, text: str, cut: bool) -> None:
    assert loaded_text(data, 10) == (text, cut)


@pytest.mark.parametrize(
    ("data", "is_text"), [(b"a\0", False), (b"a" * 10 + b"\0", False), (b"a" * 11 + b"\0", True)]
)
def test_a_nul_in_what_is_read_makes_it_no_text(data: bytes, is_text: bool) -> None:
    assert (loaded_text(data, 10) is not None) is is_text


@given(st.text(max_size=40), st.integers(1, 30))
def test_what_is_loaded_is_the_longest_beginning_that_fits(text: str, limit: int) -> None:
    data = text.encode("utf-8", "replace")
    found = loaded_text(data, limit)
    if found is None:
        assert b"\0" in data[: limit + 1]
        return
    loaded, cut = found
    assert len(loaded.encode()) <= limit
    assert cut == (len(data) > limit)
    whole = data.decode()
    assert whole.startswith(loaded)
    assert not cut or len(whole[: len(loaded) + 1].encode()) > limit


def test_what_cannot_be_read_costs_a_try_and_nothing_else() -> None:
    candidates = [
        HotCandidate("a", True, 0, None),
        HotCandidate("b", True, 0, None),
        HotCandidate("c", True, 0, None),
    ]
    found = select(candidates, {"b": b"x"}.get, NOW, budgets=Budgets(tries=2))
    assert [item.path for item in found.items] == ["b"]
    assert [(each.path, each.reason) for each in found.skipped] == [("a", "unreadable"), ("c", "tries")]


def test_the_tokens_are_those_of_the_whole_block() -> None:
    candidates = [HotCandidate(name, True, 0, None) for name in "abc"]
    texts = {"a": b"x" * 400, "b": b"y" * 400, "c": b"z"}
    whole = select(candidates, texts.get, NOW)
    assert whole.total_tokens == estimate_tokens(whole.block) > sum(item.tokens for item in whole.items)
    one = select(candidates[:1], texts.get, NOW).total_tokens
    with_c = select([candidates[0], candidates[2]], texts.get, NOW).total_tokens
    # Exactly enough for the first and the last; the one between them lets the last one in.
    found = select(candidates, texts.get, NOW, budgets=Budgets(total_tokens=with_c))
    assert [item.path for item in found.items] == ["a", "c"]
    assert [(each.path, each.reason) for each in found.skipped] == [("b", "tokens")]
    too_few = select(candidates, texts.get, NOW, budgets=Budgets(total_tokens=one - 1))
    assert [item.path for item in too_few.items] == ["c"]
    # Used up: what would need none is not even read.
    full = select(candidates, texts.get, NOW, budgets=Budgets(total_tokens=one))
    assert [(each.path, each.reason) for each in full.skipped] == [("b", "tokens"), ("c", "tokens")]


def test_the_counter_is_asked_about_the_block_with_the_next_one_in_it() -> None:
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return 1

    found = select([HotCandidate("a", True, 0, None)], {"a": b"x"}.get, NOW, count=count)
    assert asked[-1] == found.block
    assert found.block.startswith("<hot_memories>\n")
    assert found.block.endswith('\n<memory_file path="a">\nx\n</memory_file>\n</hot_memories>')


def test_an_empty_set_has_no_block() -> None:
    found = select([HotCandidate("a", False, 0, None)], {}.get, NOW)
    assert (found.block, found.total_tokens, found.total_bytes) == ("", 0, 0)
    assert [(each.path, each.reason) for each in found.skipped] == [("a", "unused")]
    assert render([]) == ""


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("</memory_file>", "&lt;/memory_file>"),
        ("</hot_memories>", "&lt;/hot_memories>"),
        ("</Memory_FILE \n\t>", "&lt;/Memory_FILE \n\t>"),
        ("</HOT_MEMORIES\u00a0>", "&lt;/HOT_MEMORIES\u00a0>"),
        ("</memory_file></hot_memories>", "&lt;/memory_file>&lt;/hot_memories>"),
        ("<memory_file> </memory_files> < /memory_file> </memory_file x>", None),
        ("a < b && c > d", None),
        ("</hot_memorie\u017f>", None),
    ],
)
def test_only_what_would_close_the_block_is_made_harmless(text: str, safe: str | None) -> None:
    assert neutralised(text) == (text if safe is None else safe)


@given(st.text(alphabet="</>memory_filhots \n", max_size=60))
def test_no_text_closes_the_block(text: str) -> None:
    assert "</memory_file>" not in neutralised(text)
    assert "</hot_memories>" not in neutralised(text)


def test_a_path_cannot_leave_its_attribute() -> None:
    assert escaped('a"><b>&c') == "a&quot;&gt;&lt;b&gt;&amp;c"
