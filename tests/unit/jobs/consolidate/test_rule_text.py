"""Empty files, descriptions and noise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agents.scopes import Caps
from reverie.jobs.consolidate.rules.descriptions import with_description
from reverie.jobs.consolidate.rules.noise import is_empty, without_noise
from reverie.memory import front_matter as frontmatter

CAPS = Caps(102_400, 1000, 200, 4096, 2)


def shown(text: str) -> str:
    return frontmatter.description(text.encode(), CAPS).text


@pytest.mark.parametrize(
    "text", ["", " \n\t\r\n", "\ufeff\n", "---\n---\n", "---\n\n---\n\n\n", "---\r\n---"]
)
def test_white_space_and_empty_front_matter_are_nothing(text: str) -> None:
    assert is_empty(text)


@pytest.mark.parametrize(
    "text", ["x", "---\n", "---\ndescription: x\n---\n", "---\n# comment\n---\n", "---\n---\nx"]
)
def test_anything_else_is_something(text: str) -> None:
    assert not is_empty(text)


QUEUE = "The queue retries a failed job three times."


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (f"# Queue\n\n{QUEUE} Then it gives up.\n", QUEUE),
        (
            "The **queue** retries `jobs` of [ours](https://x.test) daily.\n",
            "The queue retries jobs of ours daily.",
        ),
        (f"# Queue\n\n**Status**: done\n**Date**: 2026-01-02\n\n{QUEUE}\n", QUEUE),
        (f"# Queue\n\n## Overview\n\n{QUEUE}\n\n## Files\n\n- a.py\n", QUEUE),
        (f"# Queue\n\n## Files\n\n- a.py\n\n## Purpose\n\n{QUEUE}\n", QUEUE),
        ("# Queue\n\n**Purpose**: retry jobs that failed\n", "retry jobs that failed"),
        ("- **Goal**: Retry jobs that failed\n- **Status**: done\n", "Retry jobs that failed"),
        ("# Queue\n\n目的: 失敗したジョブを三回まで再試行する\n", "失敗したジョブを三回まで再試行する"),
        (
            "Decision (superseded): all failed jobs are retried.\n",
            "Decision (superseded): all failed jobs are retried.",
        ),
        (
            "# Queue\n\nSteps after a failed nightly job:\n- stop it\n- start it\n",
            "Steps after a failed nightly job",
        ),
        ("# Queue\n\n- The nightly job fails on Sundays.\n", "The nightly job fails on Sundays."),
        (f"---\ntags: [x]\n---\n{QUEUE}\n", QUEUE),
        (f"---\ndescription: '  '\n---\n{QUEUE}\n", QUEUE),
        (f"---\ndescription:\n---\n{QUEUE}\n", QUEUE),
        (f"---\ndescription:\n# comment\n---\n{QUEUE}\n", QUEUE),
        ("---\ndescription: 42\n---\nx\n", "42"),
        ("---\ndescription: [a, b]\n---\nx\n", "a, b"),
        (
            "Version 1.2.3 has new tools, see e.g. the notes. More.\n",
            "Version 1.2.3 has new tools, see e.g. the notes.",
        ),
    ],
)
def test_a_missing_description_is_the_text_that_says_what_the_note_is_about(
    text: str, description: str
) -> None:
    result = with_description(text, CAPS)
    assert result is not None
    assert shown(result) == description
    assert with_description(result, CAPS) is None


@pytest.mark.parametrize(
    "text",
    [
        "# Queue\n\n- Retry three times\n- Log each failed job\n",
        "# Queue\n\nAlways retry failed nightly jobs three times.\n",
        "# Queue\n\n**Status**: all failed nightly jobs are retried\n",
        "# Queue of failed nightly jobs\n\n- stop it\n- start it\n",
        "# Queue\n\nThe queue is currently in a phase of testing all its jobs.\n",
        "# Queue\n\n## Problem\n\nPeople wait for hours until somebody restarts jobs.\n",
        "# Queue\n\nJobs are stopped by hand. Steps after a failed nightly job:\n- stop it\n- start it\n",
        "# Queue\n\n## Files\n\n- a.py\n\n## Times\n\n- daily\n\n## Goal\n\nAll nightly jobs end by six.\n",
        "# Queue\n\nIt retries all failed nightly jobs.\n",
        "# Queue\n\nHow often are failed nightly jobs retried?\n",
        "# Queue\n\n✅ The failed nightly jobs are retried now.\n",
        "# Queue\n\n- [ ] The failed nightly jobs are retried now.\n- [x] Written.\n",
        "# Queue\n\nLast updated on Monday by the nightly job.\n",
        "# Queue\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\nThe nightly job fails on Sundays.\n",
        "# Queue\n\n```sh\nmake\n```\n\nThe nightly job fails on Sundays.\n",
        "# Queue\n\n**Goal**: nightly deployment of jobs - COMPLETED!\n",
        "# Queue\n\nThe second pass over all nightly jobs is complete in the working tree.\n",
        "# Queue\n\nRetrying of failed nightly jobs is done.\n",
    ],
)
def test_orders_states_and_points_of_a_list_do_not_describe_a_note(text: str) -> None:
    assert with_description(text, CAPS) is None


@pytest.mark.parametrize("name", ["readme", "index", "memory"])
def test_a_list_of_files_gets_no_description(name: str) -> None:
    assert with_description(f"{QUEUE}\n", CAPS, (name,)) is None
    assert with_description(f"{QUEUE}\n", CAPS, (name, "jobs")) is not None


def test_a_block_that_does_not_parse_is_mended() -> None:
    text = "---\ndescription: [unclosed list\ntags: {a: b\n---\n\nBody.\n"
    result = with_description(text, CAPS)
    assert result is not None
    assert shown(result) == "[unclosed list"
    assert result.endswith("\n---\n\nBody.\n")


@pytest.mark.parametrize(
    "text",
    [
        "---\ndescription: Never closed\n\n# Title\n",
        "---\nname: dup\ndescription: first\ndescription: second\n---\nThe queue retries three times.\n",
    ],
)
def test_a_block_that_cannot_be_mended_is_left_alone(text: str) -> None:
    assert with_description(text, CAPS) is None


@pytest.mark.parametrize(
    "text", ["---\ndescription: there\n---\nx\n", "```\ncode only\n```\n", "***\n", "1 2 3\n"]
)
def test_nothing_is_written_where_there_is_one_or_nothing_to_say(text: str) -> None:
    assert with_description(text, CAPS) is None


def test_a_sentence_that_is_too_long_loses_an_explaining_clause_or_is_not_written() -> None:
    assert with_description("word " * 100 + "end.\n", CAPS) is None
    clause = "including the mail to everybody who asked for it, the entry in the calendar of the team"
    text = f"The nightly job of the queue retries what failed in the last night and before, {clause}"
    assert with_description(f"{text}.\n", CAPS) is not None
    text = f"{text}, and the message in the chat of the people on call.\n"
    result = with_description(text, CAPS)
    assert result is not None
    assert shown(result) == "The nightly job of the queue retries what failed in the last night and before."


def test_a_secret_is_never_copied() -> None:
    text = "Key: sk-test-FAKE-FAKE-FAKE-FAKE-0000000000\n\nThe key changes on the first day of each month.\n"
    result = with_description(text, CAPS)
    assert result is not None
    assert shown(result) == "The key changes on the first day of each month."
    secret = "The key for all jobs of the queue is sk-test-FAKE-FAKE-FAKE-FAKE-0000000000 today.\n"
    assert with_description(secret, CAPS) is None


def test_a_block_beyond_what_the_agent_reads_is_left_alone() -> None:
    assert with_description(f"---\nkey: {'x' * 5000}\n---\nbody\n", CAPS) is None


def test_a_description_that_would_break_the_cap_is_not_written() -> None:
    assert with_description("x" * 10 + " words\n" + "y" * CAPS.file_bytes, CAPS) is None


@pytest.mark.parametrize(
    ("text", "tidied"),
    [
        ("a \nb\t\nc", "a\nb\nc"),
        ("a\n\n\n", "a\n"),
        ("a\r\nb \r\n\r\n", "a\r\nb\r\n"),
        ("hard  \nbreak  \n\nend", "hard  \nbreak\n\nend"),
        ("a\n   \nb\n", "a\n\nb\n"),
        ("---\ndescription: x \n---\n\nbody \n", "---\ndescription: x \n---\n\nbody\n"),
        ("---\ndescription: x\n---\n\n\n", "---\ndescription: x\n---\n"),
        ("a \n```\ncode \n```\n", "a\n```\ncode \n```\n"),
    ],
)
def test_noise_is_removed(text: str, tidied: str) -> None:
    assert without_noise(text) == tidied
    assert without_noise(tidied) is None


@pytest.mark.parametrize(
    "text",
    [
        "a\n",
        "a",
        "hard  \nbreak\n",
        "```\ncode \n\n\n",
        "    code \n    more\n",
        "--- \n",
        "---\nopen \n",
        "a\u3000\n",
    ],
)
def test_what_is_no_noise_stays(text: str) -> None:
    assert without_noise(text) is None


@given(st.text(st.sampled_from("ab \t\r\n`~-#|>"), max_size=60))
def test_tidying_keeps_every_word_and_is_done_once(text: str) -> None:
    tidied = without_noise(text)
    if tidied is not None:
        assert tidied.split() == text.split()
        assert len(tidied) < len(text)
        assert without_noise(tidied) is None


@given(st.text(st.sampled_from("ab\n-#:[]{}'\" |`."), max_size=60))
def test_a_description_once_written_stays(text: str) -> None:
    result = with_description(text, CAPS)
    if result is not None:
        assert shown(result)
        assert with_description(result, CAPS) is None


@pytest.mark.parametrize(
    "text",
    [
        "[Rest of the existing file content remains unchanged...]\n",
        "<<<<<<< HEAD\nThe queue retries three times.\n=======\nTwice.\n>>>>>>> other\n",
    ],
)
def test_no_description_is_made_of_a_placeholder_or_an_unfinished_merge(text: str) -> None:
    assert with_description(text, CAPS) is None


def test_no_description_repeats_what_is_known_to_be_stale() -> None:
    text = "The parser lives in src/parse.py and is fast.\n\nEach line holds one record.\n"
    result = with_description(text, CAPS, stale=("src/parse.py",))
    assert result is not None
    assert shown(result) == "Each line holds one record."


def test_a_cut_description_is_neither_written_over_nor_completed() -> None:
    assert with_description("---\ndescription: PR #928: guard\n---\nBody of it.\n", CAPS) is None


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (
            "A lock named `flaky-*` loses every tenth message.",
            "A lock named flaky-* loses every tenth message.",
        ),
        (
            "The **job `sync_*_all`** copies _every_ table at night.",
            "The job sync_*_all copies every table at night.",
        ),
        (
            "`__init__` of each [plugin](x.md) registers a `*.rule` file.",
            "__init__ of each plugin registers a *.rule file.",
        ),
        (
            "The glob `a` <!-- `b*` --> and `c_*` are read by the build.",
            "The glob a and c_* are read by the build.",
        ),
    ],
)
def test_the_text_of_a_code_span_stays_as_it_is_in_a_description(sentence: str, said: str) -> None:
    result = with_description(f"# Title\n\n{sentence}\n", CAPS)
    assert result is not None
    assert shown(result) == said
