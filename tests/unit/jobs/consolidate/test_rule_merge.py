"""Merging one note into another: both wordings stay, nothing is twisted, nothing grows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.agents.scopes import Caps
from reverie.jobs.consolidate.rules.merge import ends_in_code, merge, merged_body
from reverie.jobs.consolidate.rules.reading import split_passages
from reverie.values import replace

CAPS = Caps(102_400, 1000, 200, 4096, 2)


def merged(target: str, source: str, caps: Caps = CAPS) -> str:
    result = merge(target, source, caps)
    assert result is not None
    return result


def test_what_the_target_has_already_changes_nothing() -> None:
    target = "# Rules\n\n- One thing\n- another   thing\n"
    assert merged(target, "* another thing\n1. one thing\n") == target


def test_a_missing_line_goes_where_it_stands_in_the_source() -> None:
    assert merged("- a one\n- c three\n", "- a one\n- b two\n") == "- a one\n- b two\n- c three\n"


def test_a_missing_line_goes_to_the_section_of_the_same_name() -> None:
    target = "## Build\n- fast\n\n## Test\n- slow\n"
    assert merged(target, "## Build\n- cached\n") == "## Build\n- fast\n- cached\n\n## Test\n- slow\n"


def test_a_new_section_goes_to_the_end_whole() -> None:
    target = "- root\n\n## Test\n- slow\n"
    source = "## New\n- n\n\n## Test\n- flaky\n"
    assert merged(target, source) == "- root\n\n## Test\n- slow\n- flaky\n\n## New\n- n\n"


def test_the_same_line_under_another_heading_is_kept() -> None:
    result = merged("## Staging\n- port 80\n## Live\n- port 90\n", "## Live\n- port 80\n\n")
    assert result == "## Staging\n- port 80\n## Live\n- port 90\n- port 80\n"


def test_nested_entries_keep_their_parents() -> None:
    target = "- staging\n  - port 80\n- live\n  - port 90\n"
    assert (
        merged(target, "- live\n  - port 80\n")
        == "- staging\n  - port 80\n- live\n  - port 80\n  - port 90\n"
    )
    assert merged("- a\n  - a1\n- b\n", "- a\n- x\n") == "- a\n  - a1\n- x\n- b\n"


def test_a_paragraph_is_never_split() -> None:
    target = "The importer reads from the bucket each hour and writes\nto the warehouse in one go.\n\nLast.\n"
    source = "The importer reads from the bucket each hour and writes\nto the archive in two goes.\n\nLast.\n"
    result = merged(target, source)
    assert target.split("\n\n")[0] in result
    assert source.split("\n\n")[0] in result


def test_code_is_carried_whole() -> None:
    target = "Run it:\n\n```sh\nmake a\nmake b\n```\n"
    source = "Run it:\n\n```sh\nmake a\nmake c\n```\n"
    assert merged(target, source).count("make a") == 2


def test_code_that_differs_in_blank_lines_only_is_not_said_twice() -> None:
    target = "Run it:\n\n```sh\nmake a\n\nmake b\n```\n"
    assert merged(target, "Run it:\n\n```sh\nmake a\nmake b\n```\n") == target


def test_the_opening_of_another_block_closes_none() -> None:
    assert ends_in_code("text\n```sh\nls\n```py")
    assert not ends_in_code("text\n```sh\nls\n```")
    assert merge("a\n\n```sh\nls\n```py\n", "b\n", CAPS) is None


def test_code_that_is_never_closed_stops_a_merge() -> None:
    assert merge("text\n```\nmake a\n", "other\n", CAPS) is None
    assert merge("other\n", "text\n```\nmake a\n", CAPS) is None


def test_table_rows_go_into_the_table() -> None:
    target = "| a | b |\n| --- | --- |\n| x | 1 |\n\nEnd.\n"
    source = "| a | b |\n|---|---|\n| x | 1 |\n| y | 2 |\n"
    assert merged(target, source) == "| a | b |\n| --- | --- |\n| x | 1 |\n| y | 2 |\n\nEnd.\n"


def test_a_source_that_holds_the_whole_target_lends_its_order() -> None:
    source = "# All\n\n## First\n- b two\n\n## Second\n- a one\n"
    assert merged("- a one\n- b two\n", source) == source


def test_both_descriptions_are_kept_in_one() -> None:
    result = merged("---\ndescription: First\n---\nbody\n", "---\ndescription: Second\n---\nbody\n")
    assert result == "---\ndescription: First; Second\n---\nbody\n"


def test_a_description_contained_in_the_other_is_not_repeated() -> None:
    target = "---\ndescription: The first thing of all\n---\nbody\n"
    assert merged(target, "---\ndescription: First thing\n---\nbody\n") == target


def test_descriptions_too_long_for_one_end_up_in_the_body() -> None:
    one, other = "word " * 35 + "one", "other " * 30 + "two"
    source = f"---\ndescription: {other}\n---\nbody\n" + "more\n" * 60
    result = merged(f"---\ndescription: {one}\n---\nbody\nmore\n", source)
    assert result == f"---\ndescription: {one}\n---\nbody\nmore\n\n{other}\n"


def test_a_description_is_taken_over_where_there_is_none() -> None:
    assert merged("body\n", "---\ndescription: Mine\n---\nbody\n") == "---\ndescription: Mine\n---\nbody\n"


def test_other_keys_are_taken_over_with_their_lines() -> None:
    target = "---\ndescription: A\nowner: dev # chief\n---\nbody\n"
    source = "---\ntags:\n  - a # first\n  - b\nowner: dev # chief\n---\nbody\n"
    expected = "---\ndescription: A\nowner: dev # chief\ntags:\n  - a # first\n  - b\n---\nbody\n"
    assert merged(target, source) == expected


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("---\nowner: a\n---\nx\n", "---\nowner: b\n---\nx\n"),
        ("---\nkeys: {a: b\n---\nx\n", "---\nowner: b\n---\nx\n"),
        ("---\n{owner: a}\n---\nx\n", "---\ntags: b\n---\nx\n"),
        ("---\ndescription: a\n---\nx\n", "---\ndescription: [b, c]\n---\nx\n"),
        ("---\nbase: 1\n---\nx\n", "---\nlater: &it 2\nagain: *it\n---\nx\n"),
    ],
)
def test_front_matter_that_cannot_be_united_stops_a_merge(target: str, source: str) -> None:
    assert merge(target, source, CAPS) is None


def test_line_ends_of_the_target_are_kept() -> None:
    assert merged("- a one\r\n- b two", "- b two\n- c three\n") == "- a one\r\n- b two\r\n- c three"


def test_a_result_over_the_cap_stops_a_merge() -> None:
    caps = replace(CAPS, file_bytes=40)
    assert merge("- one line of some length\n", "- another line of some length\n", caps) is None


def test_bodies_never_grow_in_total() -> None:
    target, source = "- first of the lines\n", "Second of the lines.\n"
    assert len(merged(target, source)) <= len(target) + len(source)
    assert merge("```\ncode\n```", "text", CAPS) is None


def test_the_case_of_code_counts() -> None:
    assert "`X`" not in merged("use `x` here\n", "Use `X` here\n")
    assert "    FROM=1" in merged("Run:\n\n    from=1\n\nEnd.\n", "Run:\n\n    FROM=1\n\nEnd.\n")


ODD_LINES = st.sampled_from(
    [
        "# A", "## B", "## C", "Text one.", "Text two goes on", "a:", "- a", "- b", "  - c", "    - deep",
        "1. n", "    code x", "\tcode y", "---", "***", "* * *", "", "", "> q", "| a | b |", "| - | - |",
        "| 1 | 2 |", "```\ncode\n```", "~~~\nt\n~~~", "Title\n---", "===", "<!-- x -->", "b" * 60,
    ]
)  # fmt: skip
ODD_BODIES = st.lists(ODD_LINES, min_size=1, max_size=8).map("\n".join)


def kinds_of(body: str) -> Counter[tuple[str, str]]:
    """How often each line is what it is."""
    return Counter((each.kind, line.strip()) for each in split_passages(body) for line in each.lines)


@settings(max_examples=examples(1_000), deadline=None)
@given(ODD_BODIES, ODD_BODIES, st.booleans())
def test_a_merge_of_odd_markdown_keeps_breaks_and_kinds_and_adds_nothing_twice(
    target: str, source: str, compact: bool
) -> None:
    merged = merged_body(target, source, compact=compact)
    if merged is None:
        return
    assert merged_body(merged, source, compact=compact) == merged, "a further merge has nothing to add"
    before, after = kinds_of(target), kinds_of(merged)
    breaks, breaks_after = (
        sum(count for (kind, _line), count in each.items() if kind == "rule") for each in (before, after)
    )
    assert breaks_after >= breaks
    if merged != source:
        assert before <= after, "no line of the target became something else"


@pytest.mark.parametrize(
    ("target", "source"),
    [
        ("- a\n  - c", "    code y"),  # behind an entry it would be part of it
        ("Text.\n\n---", "Text.\n\nOther."),
        ("- - -\n\n* * *", "* * *\n~~~\nt\n~~~\n> q"),
    ],
)
def test_code_and_breaks_stay_what_they_are_or_the_notes_stay_apart(target: str, source: str) -> None:
    merged = merged_body(target, source, compact=False)
    assert merged is None or kinds_of(target) <= kinds_of(merged)
    assert merged is None or merged_body(merged, source, compact=False) == merged
