"""YAML blocks are read as the agent's JavaScript parser reads them, and hostile ones cost nothing.

The vectors were taken from the `yaml` package for Node (2.9), the parser that mux and xum call.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from helpers.profiles import examples
from reverie.memory import yaml12
from reverie.memory.yaml12 import MalformedError, parse


def described(block: str) -> str | None:
    root = parse(block)
    assert root is not None
    assert root.kind == "mapping"
    entry = root.entry("description")
    return entry[1].value.text if entry is not None else None


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ('"ship \\ud83d\\udea2 it"', "ship 🚢 it"),
        ('"\\uD83D\\uDEA2\\ud83d\\udea2"', "🚢🚢"),
        ('"\\ue000 \\ud83d\\udea2 \ue001"', "\ue000 🚢 \ue001"),
        ("'ship \\ud83d\\udea2 it'", "ship \\ud83d\\udea2 it"),
        ("ship \\ud83d\\udea2 it", "ship \\ud83d\\udea2 it"),
        ('"a \\\\ud83d\\\\udea2"', "a \\ud83d\\udea2"),
    ],
)
def test_two_escapes_of_one_character_are_that_character_where_escapes_count(block: str, text: str):
    assert described(f"description: {block}\n") == text


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "2026-07",
        "2026-07-14",
        "1_000",
        "0o18",
        "0x",
        "1:30",
        "12e",
        "-x",
        "1.2.3",
        "nul",
        "Nulls",
        "<<",
    ],
)
def test_words_that_yaml_1_1_takes_for_something_else_are_strings(text: str):
    assert described(f"description: {text}") == text


@pytest.mark.parametrize(
    "text",
    [
        "null",
        "Null",
        "NULL",
        "~",
        "true",
        "True",
        "TRUE",
        "false",
        "False",
        "FALSE",
        "12",
        "-12",
        "+1",
        "0o14",
        "0xfF",
        "1.5",
        ".5",
        "5.",
        "1e3",
        "1.e-3",
        ".inf",
        "-.INF",
        ".nan",
    ],
)
def test_nulls_booleans_and_numbers_are_no_strings_unless_quoted_or_tagged(text: str):
    assert described(f"description: {text}") is None
    assert described(f"description: '{text}'") == text
    assert described(f"description: !!str {text}") == text


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ("description: two words # and a comment", "two words"),
        ("description: a#b:c", "a#b:c"),
        ('description: "a\\tb\\u00e9"', "a\tbé"),
        ("description: 'it''s'", "it's"),
        ("description: >-\n  two\n  lines", "two lines"),
        ("description: |\n  two\n  lines\n", "two\nlines\n"),
        ("description: two\n  lines", "two lines"),
        ('description: "two\n\n  lines"', "two\nlines"),
        ("description:\n  below", "below"),
        ("description:\ttab", "tab"),
        ("description: x\n\t\ntags: y", "x"),
        ("? description\n: explicit", "explicit"),
        ("{description: in flow, b: [c]}", "in flow"),
        ("a: &a shared\ndescription: *a", "shared"),
        ("a: &a shared\n*a : 1\ndescription: x", "x"),
        ("a: &a [*a, *a]\ndescription: x", "x"),
        ("description: !unknown tag", "tag"),
        ("description: !!int none", "none"),
        ("description: x\ntags: [a,\n b\n]", "x"),
        ("description: x\ntags:\n- a\n- b", "x"),
        ("description: x\n...", "x"),
        ("--- \ndescription: x", "x"),
        ("\ufeffdescription: after a mark", "after a mark"),
        ("description: a\u0085b\u2028c\ufeffd\x07e\rf", "a\u0085b\u2028c\ufeffd\x07e\rf"),
        ("description: &a", None),
        ("description: [a]", None),
        ("description: !!binary aGk=", None),
        ("description: !!timestamp 2026-07-14", None),
        ("Description: x", None),
    ],
)
def test_a_description_is_what_the_agents_parser_says(block: str, text: str | None):
    assert described(block) == text


@pytest.mark.parametrize(
    "block",
    [
        "description: [unclosed\ntags: {a: b",
        "description: a: b",
        "description: x\nbare words",
        "description: @x",
        "description: `x`",
        "description: %x",
        'description: "a" b',
        "description: *nobody",
        "description: - a",
        "description: a\ndescription: b",
        "description: a\n'description': b",
        "description: x\ntags: {a: 1, a: 2}",
        "description: x\n1: a\n0x1: b",
        "description: x\n~: a\nnull: b",
        "description: x\n---\nsecond: document",
        "description: x\ntags:\n\t- a",
        'description: "long\ntext"',
        "description: x\ntags: [a,\nb]",
        "description:\n>-\n  x",
        "description: !!timestamp soon",
    ],
)
def test_what_the_agents_parser_refuses_is_malformed(block: str):
    with pytest.raises(MalformedError):
        parse(block)


@pytest.mark.parametrize("block", ["", "\n\n", "# only a comment", "\ufeff", "  \n \t \n"])
def test_a_block_of_blank_lines_and_comments_has_no_root(block: str):
    assert parse(block) is None


def test_equal_keys_are_told_from_keys_that_only_look_alike():
    assert described("description: x\n1: a\n'1': b\ntrue: c\n'true': d") == "x"


@pytest.mark.parametrize("opening", ["[", "{", "- ", "? ", "{a: "])
def test_deep_nesting_is_refused_instead_of_followed(opening: str):
    with pytest.raises(MalformedError):
        parse(opening * 50_000)


def test_an_alias_bomb_is_refused_instead_of_expanded():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 8)]
    with pytest.raises(MalformedError, match="too many aliases"):
        parse("\n".join([*lines, "description: x"]))


def test_as_many_aliases_as_the_agent_allows_are_fine_and_one_more_is_not():
    block = "a: &a x\n" + "".join(f"b{n}: *a\n" for n in range(yaml12.MAX_ALIASES)) + "description: y\n"
    assert described(block) == "y"
    with pytest.raises(MalformedError):
        parse(block + "one_more: *a")


def test_numbers_beyond_every_size_are_still_numbers():
    assert described(f"description: {'9' * 6000}") is None
    assert described(f"description: 0x{'f' * 6000}") is None


FRAGMENTS = st.sampled_from(
    [
        "description",
        "tags",
        "a",
        "b",
        ":",
        ": ",
        ":\n",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\n  ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "#",
        " #",
        "'",
        '"',
        "\\",
        "&x ",
        "*x",
        "!",
        "!!str ",
        "!!int ",
        "|",
        ">-\n  ",
        "%",
        "@",
        "`",
        "? ",
        "---",
        "...",
        "\t",
        "\r\n",
        "1",
        "null",
        "\xe9",
        "\u2028",
        "\x07",
        "\x85",
        "\ufeff",
        "\U0010fffd",
        "\\U0010fffd",
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(FRAGMENTS, max_size=14).map("".join) | st.text(max_size=40))
@example("description: \U0010fffd\x07\\U0010fffc")
def test_nothing_but_malformed_is_ever_raised_and_spans_lie_in_the_block(block: str):
    try:
        root = parse(block)
    except MalformedError:
        return
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        assert 0 <= node.start <= node.end <= len(block) + 1
        waiting += node.children


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="'\r\n"), min_size=1, max_size=30))
def test_every_character_inside_quotes_stands_for_itself(text: str):
    assert described(f"description: '{text}'") == text


def test_a_tab_does_not_indent_inside_brackets():
    with pytest.raises(MalformedError):
        parse("tags: [\n\ta,\n\tb ]\n")
    assert parse("tags: [a,\tb]\n") is not None
