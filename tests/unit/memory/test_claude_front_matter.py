"""Front matter in a home of Claude Code is read and written by that program's rules.

The table holds notes and what Claude Code 2.1.331 listed of them for recall: text, type, description
(recorded by `campaign.agents.claude_front_matter`).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reverie.agents.claude.home import CAPS
from reverie.jobs.consolidate.rules.descriptions import with_description
from reverie.memory.front_matter import (
    FrontError,
    begins_block,
    cut_description,
    declared,
    description,
    flattened,
    quote_description,
    read,
    repair,
    set_description,
    set_value,
)

RULES = CAPS.front_matter
KINDS = frozenset({"user", "feedback", "project", "reference"})
ROWS = [
    tuple(json.loads(line))
    for line in Path(__file__).with_name("claude_front_matter.jsonl").read_text("utf-8").splitlines()
]


def listed(text: str) -> tuple[str | None, str | None]:
    """The type and the description that the agent lists, as Reverie reads them."""
    shown = description(text.encode()[: CAPS.description_prefix_bytes], CAPS).text or None
    front = read(text, CAPS.description_prefix_bytes, rules=RULES)
    if front.problem == "too-long":
        return None, None
    nested = any(entry.path == ("metadata", "type") for entry in front.entries)
    kind = front.text("metadata", "type") if nested else front.text("type")
    return (kind if kind in KINDS else None), shown


def test_type_and_description_are_those_that_the_agent_lists():
    assert len(ROWS) > 300
    wrong = [
        (text, kind, said, listed(text))
        for text, kind, said in ROWS
        if listed(text) != (kind, (flattened(said, 10**6) or None) if said else None)
    ]
    assert not wrong


def test_a_description_by_hand_leaves_all_else_that_the_agent_reads():
    for text, kind, _said in ROWS:
        for value in ("Seen from: the tower", "a --- b", "PR #12"):
            before = read(text, CAPS.description_prefix_bytes, rules=RULES)
            if before.problem == "too-long":
                continue
            try:
                after = set_value(text, "description", value, CAPS.description_prefix_bytes, rules=RULES)
            except FrontError:
                continue
            assert listed(after) == (kind if before.there else listed(after)[0], value), text
            assert after.count("description") <= max(2, text.count("description")), text


def test_a_description_by_the_rules_keeps_name_and_type_and_puts_no_block_above_another():
    written = 0
    for text, kind, said in ROWS:
        after = with_description(text, CAPS)
        if after is None:
            continue
        written += 1
        assert not said or not said.strip(), text
        if kind is not None:
            assert listed(after)[0] == kind, text
            assert declared(after, key="name", rules=RULES) == declared(text, key="name", rules=RULES), text
        assert listed(after)[1], text
        if begins_block(text):
            assert not begins_block(after.partition("\n---")[2].partition("\n")[2]) or text.count("\n---") > 2
    assert written > 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "---\nname: a\nnote: b: c\nmetadata:\n\ttype: user\n--- \nbody\n",
            "---\ndescription: Seen\nname: a\nnote: b: c\nmetadata:\n\ttype: user\n--- \nbody\n",
        ),
        (
            "---\nname: a\ndescription: Avatar: the last\nmetadata:\n  type: user\n---\nbody\n",
            "---\nname: a\ndescription: Seen\nmetadata:\n  type: user\n---\nbody\n",
        ),
        (
            "---\nname: a\ndescription: first\ndescription: second\ntype: user\n---\nbody\n",
            "---\nname: a\ndescription: first\ndescription: Seen\ntype: user\n---\nbody\n",
        ),
        ("---\r\nname: [a] b\r\n--- \r\nb\r\n", "---\r\ndescription: Seen\r\nname: [a] b\r\n--- \r\nb\r\n"),
        ("\ufeff---\nname: a\n---\nb\n", "\ufeff---\ndescription: Seen\nname: a\n---\nb\n"),
        ("---\nname: a\n...\nb\n", "---\ndescription: Seen\nname: a\n---\nb\n"),
        ("\n---\nname: a\n---\nb\n", "---\ndescription: Seen\nname: a\n---\nb\n"),
        ("---\ndescription: a --- b\ntype: user\n---\nb\n", "---\ndescription: Seen\ntype: user\n---\nb\n"),
    ],
)
def test_writing_changes_only_the_line_of_the_description(text: str, expected: str):
    assert set_description(text, "Seen", prefix_bytes=CAPS.description_prefix_bytes, rules=RULES) == expected


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: a\nmetadata:\n  note: b: c\n  type: user\n---\nbody\n",
        "---\nname: a\ntags:\n  - @x\n---\nbody\n",
        "---\nname: 'a\n---\nbody\n",
    ],
)
def test_a_block_that_the_agent_does_not_read_becomes_one_it_reads_or_stays(text: str):
    mended = repair(text, rules=RULES)
    if mended is not None:
        assert read(mended, rules=RULES).text("name") is not None
    else:
        with pytest.raises(FrontError):
            set_description(text, "Seen", rules=RULES)


@pytest.mark.parametrize(
    ("text", "whole", "expected"),
    [
        (
            "---\nname: a\ndescription: PR #928: guard\ntype: user\n---\nb\n",
            "PR #928: guard",
            '---\nname: a\ndescription: "PR #928: guard"\ntype: user\n---\nb\n',
        ),
        ("---\r\ndescription: #tag\r\n---\r\nb\r\n", "#tag", '---\r\ndescription: "#tag"\r\n---\r\nb\r\n'),
        (
            "---\nnote: x: y\ndescription: a --- b\ntype: user\n---\nb\n",
            "a --- b",
            '---\nnote: x: y\ndescription: "a \\x2d-- b"\ntype: user\n---\nb\n',
        ),
    ],
)
def test_a_cut_description_is_quoted_whole_and_nothing_else_changes(text: str, whole: str, expected: str):
    after = quote_description(text, CAPS.description_prefix_bytes, rules=RULES)
    assert (after, declared(after, rules=RULES)) == (expected, whole)


def test_every_cut_description_of_the_table_can_be_quoted():
    cut = 0
    for text, kind, _said in ROWS:
        found = cut_description(text, CAPS.description_prefix_bytes, rules=RULES)
        if found is None:
            continue
        cut += 1
        after = quote_description(text, CAPS.description_prefix_bytes, rules=RULES)
        assert declared(after, CAPS.description_prefix_bytes, rules=RULES) == found.whole, text
        assert kind is None or listed(after)[0] == kind, text
    assert cut > 5


def test_utf_16_is_read_as_the_program_reads_it():
    data = "---\ndescription: Kränze\n---\nb\n".encode("utf-16")
    assert description(data, CAPS).text == "Kränze"
