"""Markdown as passages."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.jobs.consolidate.relations import ComparedText, TextIndex
from reverie.jobs.consolidate.rules.inbox import candidates_of
from reverie.jobs.consolidate.rules.noise import is_empty, without_noise
from reverie.jobs.consolidate.rules.reading import code_among, fold_line, split_passages


def kinds(text: str) -> list[str]:
    return [passage.kind for passage in split_passages(text)]


def test_every_kind_is_told_apart() -> None:
    text = (
        "# T\n\nprose\n- item\n  more\n\n| a |\n| - |\n| 1 |\n\n```\n# x\n```\n***\nSetext\n---\n\n    code\n"
    )
    assert kinds(text) == ["heading", "prose", "item", "head", "row", "code", "rule", "heading", "code"]


def test_a_wrapped_sentence_is_one_passage_and_short_lines_are_several() -> None:
    assert len(kinds("A sentence that is long enough to have been wrapped\nhere. Next.\nThird.\n")) == 2
    assert len(kinds("milk\nbread\n")) == 2


def test_passages_know_what_they_stand_under() -> None:
    passages = split_passages("## Live\n- a\n  - b\n\nRules:\n- c\n")
    assert [(each.section, each.parent, each.nested) for each in passages if each.kind == "item"] == [
        ("Live", "", False),
        ("Live", "a", True),
        ("Live", "rules:", False),
    ]


@pytest.mark.parametrize(
    "line", ["- One  thing", "* one thing", "3. ONE thing", "> one thing", "  one thing  "]
)
def test_folding_a_line(line: str) -> None:
    assert fold_line(line) == "one thing"


@given(st.text(st.sampled_from("a \n\t-#|`~>*1.:="), max_size=80))
def test_every_line_that_is_not_blank_is_in_one_passage(text: str) -> None:
    lines = text.split("\n")
    seen = [number for each in split_passages(text) for number in range(each.first, each.end)]
    assert seen == sorted(set(seen))
    assert {number for number, line in enumerate(lines) if line.strip()} <= set(seen)


@pytest.mark.parametrize(
    "pattern", ["# {spaces}x", "a|b\n{spaces}-x", "x{newlines}y", "{dots}", "x{tabs}y", "{brackets}"]
)
def test_a_hostile_line_costs_no_more_than_its_length(pattern: str) -> None:
    size = 50_000
    text = pattern.format(
        spaces=" " * size,
        newlines="\n" * size,
        dots="a." * (size // 2),
        tabs="\t" * size,
        brackets="[a](" * (size // 4),
    )
    assert not is_empty(text)
    for function in (split_passages, without_noise, candidates_of):
        function(text)
    assert ComparedText("/memories/global/a.md", text).weight >= 0
    assert TextIndex([text, text]).pairs() == [(0, 1)]


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("x{newlines}y\n", None),
        ("x{returns}y\n", None),
        ("x{spaces}y \nz\n", "x{spaces}y\nz\n"),
    ],
)
def test_white_space_is_tidied_in_time_however_much_there_is(text: str, tidied: str | None) -> None:
    size = 60_000
    parts = {"newlines": "\n" * size, "returns": "\r\n" * (size // 2), "spaces": " " * size}
    begun = time.monotonic()
    found = without_noise(text.format(**parts))
    assert time.monotonic() - begun < 2
    assert found == (None if tidied is None else tidied.format(**parts))


LINES = (
    "Some words.",
    "- item",
    "    four deep",
    "```",
    "~~~ py",
    "````",
    "| a | b |",
    "|---|---|",
    "# A",
    "==",
    "",
)


@given(st.lists(st.sampled_from(LINES), max_size=14), st.sets(st.integers(0, 13)))
def test_lines_are_code_where_the_passages_have_them_as_code(lines: list[str], asked: set[int]) -> None:
    text, numbers = "\n".join(lines), {number for number in asked if number < max(1, len(lines))}
    code = (each for each in split_passages(text) if each.kind == "code")
    wanted = {number for each in code for number in range(each.first, each.end)}
    assert code_among(text, numbers) == wanted & numbers
