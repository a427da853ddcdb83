"""The notes by rules, and what a model is shown of a conversation."""

from __future__ import annotations

import json
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.notes_home import SECTIONS
from helpers.profiles import examples
from reverie.agents.transcripts import Message, MessageKind, Speaker, ToolUse
from reverie.jobs.single_file.notes import as_json, newest
from reverie.jobs.single_file.notes_rules import filled, found_in, own_lines
from reverie.jobs.single_file.notes_sections import (
    default_template,
    over_limits,
    parse_sections,
    structure_break,
)
from reverie.jobs.single_file.writer import corrections

TEMPLATE = default_template()
NOON = 1_786_017_600_000


def said(speaker: Speaker, text: str, at: int = 0, kind: MessageKind = "message") -> Message:
    return Message(0, speaker, kind, text, timestamp=NOON + at * 60_000)


def tool(name: str, *, output: str = "ok", is_error: bool = False, **arguments: object) -> Message:
    return Message(0, "tool", "tool", "", tool=ToolUse(name, json.dumps(arguments), output, is_error))


def body(text: str, name: str) -> list[str]:
    section = next(one for one in parse_sections(text) if one.name == f"# {name}")
    return [line for line in section.body.splitlines() if line.strip()]


TALK = (
    said("user", "Fix the till\nplease"),
    tool("Read", file_path="/p/read.py"),
    tool("Edit", file_path="/p/till.py", old_string="a", new_string="b"),
    tool("Edit", file_path="/p/till.py", old_string="b", new_string="c"),
    tool("Write", file_path="/p/new.py", content="x"),
    tool("Bash", command="make `x`", output="\nmake: *** no rule\nmore", is_error=True),
    tool(
        "TodoWrite",
        todos=[{"content": "Test it", "status": "pending"}, {"content": "Done", "status": "completed"}, 7],
    ),
    said("assistant", "The till is fixed.\n\nMore.", 1),
    said("user", "No, the port is 8081, not 8080.", 2),
    said("assistant", "Changed.", 3),
)


def test_four_sections_are_filled_from_the_transcript() -> None:
    text = filled(TEMPLATE, found_in(TALK, corrections))
    assert structure_break(TEMPLATE, text) == ""
    assert body(text, "Current State") == [
        "- Asked last: No, the port is 8081, not 8080.",
        "- Answered last: Changed.",
        "- Open: Test it",
    ]
    assert body(text, "Files and Functions") == [
        "- `/p/till.py` (changed 2 times)",
        "- `/p/new.py` (changed 1 time)",
    ]
    assert body(text, "Errors & Corrections") == [
        "- `Bash: make 'x'` failed: make: *** no rule",
        "- Corrected: The port is 8081, not 8080.",
    ]
    work = body(text, "Worklog")
    assert [line[2:6] for line in work] == ["2026", "2026"]
    assert work[0].endswith(" Fix the till → The till is fixed.")
    untouched = set(SECTIONS) - {"Current State", "Files and Functions", "Errors & Corrections", "Worklog"}
    assert all(body(text, name) == [] for name in untouched)


def test_once_more_changes_nothing_and_what_a_person_wrote_stays() -> None:
    found = found_in(TALK, corrections)
    text = filled(TEMPLATE, found)
    assert filled(text, found) == text
    own = text.replace("- Asked last:", "Mine: ask Ann\n- Asked last:", 1)
    ours = own_lines(TEMPLATE, text, ())
    later = filled(own, found_in((*TALK, said("user", "Ship it", 9)), corrections), ours)
    assert body(later, "Current State")[0] == "Mine: ask Ann"
    assert body(later, "Current State")[1] == "- Asked last: Ship it"
    assert body(later, "Current State")[2:] == ["- Answered last: Changed.", "- Open: Test it"]
    assert len(body(later, "Worklog")) == 2


_OUR_FORMS = (
    "- Open: the cable of the till",
    "- Asked last: by Ann, on the phone",
    "- Answered last: nobody",
    "- Corrected: the port is 9000",
    "- `make` failed: on my own machine",
    "- `/p/till.py` (changed 7 times)",
    "- 2026-11-20 09:00 called Ann",
    "- Open: Test it",
)


@given(
    st.lists(st.tuples(st.sampled_from(SECTIONS[1:]), st.sampled_from(_OUR_FORMS)), max_size=8),
    st.integers(0, 60),
)
@settings(max_examples=examples(75), deadline=None)
def test_no_line_of_a_person_goes_whatever_its_form_and_however_full_the_section(
    lines: list[tuple[str, str]], more: int
) -> None:
    text, ours = TEMPLATE, frozenset[str]()
    for name, line in lines:
        section = next(one for one in parse_sections(text) if one.name == f"# {name}")
        text = f"{text[: section.end].rstrip()}\n{line}\n\n{text[section.end :]}"
    theirs = [body(text, name) for name in SECTIONS]
    long = [said("user", f"Ask {number} " + "x" * 120, number) for number in range(more)]
    failed = [tool("Bash", command=f"c{number}", output="z" * 200, is_error=True) for number in range(more)]
    for talk in (TALK, (*TALK, *long, *failed), (*TALK, said("user", "Ship it", 99))):
        after = filled(text, found_in(talk, corrections), ours)
        ours = own_lines(text, after, ours)
        text = after
        for name, before in zip(SECTIONS, theirs, strict=True):
            assert not Counter(before) - Counter(body(text, name))


def test_line_ends_stay_and_a_file_without_these_sections_is_left_alone() -> None:
    windows = TEMPLATE.replace("\n", "\r\n")
    text = filled(windows, found_in(TALK, corrections))
    assert text.count("\n") == text.count("\r\n")
    assert filled(text, found_in(TALK, corrections)) == text
    assert filled("# Other\n_x_\n", found_in(TALK, corrections)) == "# Other\n_x_\n"


def test_a_secret_is_never_noted_and_a_full_section_loses_the_oldest_lines_of_ours_only() -> None:
    secret = "sk-ant-api03-" + "a1B2" * 20
    text = filled(TEMPLATE, found_in((said("user", f"use {secret}"), said("assistant", "ok")), corrections))
    assert secret not in text
    talk = [
        message
        for number in range(120)
        for message in (
            said("user", f"Do {number} " + "x" * 90, number),
            said("assistant", "y" * 100, number),
        )
    ]
    full = filled(TEMPLATE.rstrip() + "\n- my own line\n", found_in(talk, corrections))
    assert over_limits(full) == ()
    assert body(full, "Worklog")[0] == "- my own line"
    assert " Do 119 " in body(full, "Worklog")[-1]
    assert len(body(full, "Worklog")) < 100


_MESSAGES = st.lists(
    st.one_of(
        st.builds(said, st.sampled_from(["user", "assistant"]), st.text(max_size=60), st.integers(0, 99)),
        st.builds(
            tool,
            st.sampled_from(["Edit", "Bash", "TodoWrite"]),
            file_path=st.text(max_size=20),
            command=st.text(max_size=20),
            output=st.text(max_size=40),
            is_error=st.booleans(),
        ),
    ),
    max_size=12,
)


@given(_MESSAGES)
@settings(max_examples=examples(75), deadline=None)
def test_whatever_was_said_the_sections_stay(messages: list[Message]) -> None:
    found = found_in(messages, corrections)
    text = filled(TEMPLATE, found)
    assert structure_break(TEMPLATE, text) == ""
    assert filled(text, found) == text


def test_a_model_is_shown_the_newest_of_the_main_thread_within_a_bound() -> None:
    aside = [
        Message(0, "user", "message", "side", side=True),
        Message(0, "user", "message", "undone", undone=True),
        said("assistant", "thought", kind="reasoning"),
        said("system", "context", kind="context"),
        said("system", "what was", kind="summary"),
    ]
    shown = newest(iter([*aside, *TALK]))
    assert [message.text for message in shown[:2]] == ["what was", "Fix the till\nplease"]
    assert len(newest(TALK, max_chars=200)) == 3
    assert newest([said("user", "x" * 99_999)], max_chars=10)
    told = json.loads(as_json([*shown, said("user", "z" * 20_000)]))
    assert told[0] == {"role": "summary", "text": "what was"}
    assert told[6]["error"].startswith("\nmake: ***")
    assert len(told[-1]["text"]) < 8_100
    (told,) = json.loads(as_json([said("user", "y " * 3_995 + "the key ghp_" + "a1B2" * 9)]))
    assert told["text"].endswith("y the key … [cut]"), "half a key is one that nobody knows"
