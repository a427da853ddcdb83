"""Agent definition files: read as the agent reads them, and refused in words where it would refuse them."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agents.definition import MAX_BYTES, AgentDefinition, parse_agent_definition
from reverie.errors import StoreError

FULL = """---
name: Night shift
description: Tidies the notes
base: exec
disabled: false
ui:
  hidden: true
  color: "#123456"
prompt:
  append: true
subagent:
  runnable: false
ai:
  model: anthropic:claude-sonnet-4-5
  thinkingLevel: medium
tools:
  add: [memory, "read.*"]
  remove:
    - bash
  require: [memory]
later: {anything: [1, 2]}
---
Tidy.

---
More.
"""


def parsed(text: str) -> AgentDefinition:
    return parse_agent_definition(text.encode())


def test_every_known_key_is_read_and_unknown_ones_are_ignored() -> None:
    assert parsed(FULL) == AgentDefinition(
        name="Night shift",
        body="Tidy.\n\n---\nMore.\n",
        description="Tidies the notes",
        base="exec",
        model="anthropic:claude-sonnet-4-5",
        thinking_level="medium",
        prompt_append=True,
        tools_add=("memory", "read.*"),
        tools_remove=("bash",),
        tools_require=("memory",),
    )


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    assert parsed("\ufeff" + FULL.replace("\n", "\r\n")) == parsed(FULL)


def test_a_name_and_a_prompt_are_enough() -> None:
    assert parsed("---\nname: x\n---\nGo.") == AgentDefinition(name="x", body="Go.")


@pytest.mark.parametrize("name", ["yes", "2026-07-14", "on", "'true'", '"12"', "12:30:00", "é" * 128])
def test_words_that_are_text_in_yaml_1_2_are_names(name: str) -> None:
    assert parsed(f"---\nname: {name}\n---\nGo.").name == name.strip("'\"")


@pytest.mark.parametrize(
    ("front", "words"),
    [
        ("", "not a mapping"),
        ("- a", "not a mapping"),
        ("description: x", "no name"),
        ("name: ''", "name must have"),
        ("name: " + "x" * 129, "name must have"),
        ("name: " + "😀" * 65, "name must have"),
        ("name: x\ndescription: ''", "description must have"),
        ("name: x\ndescription: " + "y" * 1025, "description must have"),
        ("name: true", "name must be text"),
        ("name: 12", "name must be text"),
        ("name: 0.5", "name must be text"),
        ("name:", "name must be text"),
        ("name: [x]", "name must be text"),
        ("name: x\ndisabled: yes", "disabled must be true or false"),
        ("name: x\nui: hidden", "ui must be a mapping"),
        ("name: x\nai: {model: 4}", "ai.model must be text"),
        ("name: x\ntools: {add: memory}", "tools.add must be a list of texts"),
        ("name: x\ntools: {require: [1]}", "tools.require must be a list of texts"),
        ("name: x\nname: y", "not valid YAML"),
        ("name: [x", "not valid YAML"),
        ("name: *nothing", "not valid YAML"),
        ("name: !!python/object/apply:os.getcwd []", "not valid YAML"),
        ("? [a]\n: b", "not valid YAML"),
        ("name: " + "[" * 700, "not valid YAML"),
    ],
)
def test_front_matter_that_the_agent_would_refuse_is_refused_with_the_reason(front: str, words: str) -> None:
    with pytest.raises(StoreError, match=words) as refused:
        parsed(f"---\n{front}\n---\nGo.")
    assert refused.value.reason == "malformed"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "first line"),
        (b"Go.", "first line"),
        (b"\n---\nname: x\n---\nGo.", "first line"),
        (b"---\nname: x\nGo.", "no closing"),
        (b"---", "no closing"),
        (b"---\nname: \xff\n---\nGo.", "not UTF-8"),
        (b"---\nname: x\n---\n" + b"x" * MAX_BYTES, "bytes"),
        (b"---\nname: x\n" + b"#" * 70_000 + b"\n---\nGo.", "more than"),
    ],
)
def test_a_file_that_is_no_definition_is_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(StoreError, match=words):
        parse_agent_definition(data)


@pytest.mark.parametrize("body", ["", "\n", "  \n\t\n"])
def test_an_empty_prompt_is_told_apart(body: str) -> None:
    with pytest.raises(StoreError) as refused:
        parsed(f"---\nname: x\n---\n{body}")
    assert refused.value.reason == "empty"


@given(st.text(st.sampled_from("ab:-[]{}'\"&*!|>#%@? \n\t0é\x00\x85")), st.binary(max_size=20))
def test_any_bytes_are_a_definition_or_refused(front: str, noise: bytes) -> None:
    for data in (noise, f"---\nname: x\n{front}\n---\nGo.".encode(), f"---\n{front}\n---\n".encode() + noise):
        with contextlib.suppress(StoreError):
            assert parse_agent_definition(data).body.strip()
