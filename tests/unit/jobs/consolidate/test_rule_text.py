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


@pytest.mark.parametrize(
    ("text", "description"),
    [
        ("# jq snippets\n\ntext\n", "jq snippets"),
        ("First sentence here. Second one.\n", "First sentence here."),
        ("- **bold** `code` [link](https://x.test) entry\n- more\n", "bold code link entry"),
        ("- [ ] open task\n", "open task"),
        ("```sh\nmake\n```\n\nAfter the code.\n", "After the code."),
        ("| a | b |\n| --- | --- |\n| 1 | 2 |\n", "a, b"),
        ("---\ntags: [x]\n---\n## Section\ntext\n", "Section"),
        ("---\ndescription: '  '\n---\nOnly line\n", "Only line"),
        ("---\ndescription:\n---\nOnly line\n", "Only line"),
        ("---\ndescription:\n# comment\n---\nOnly line\n", "Only line"),
        ("---\ndescription: 42\n---\nx\n", "42"),
        ("---\ndescription: [a, b]\n---\nx\n", "a, b"),
        ("Version 1.2.3 is out, see e.g. the notes. More.\n", "Version 1.2.3 is out, see e.g. the notes."),
    ],
)
def test_a_missing_description_is_made_of_the_notes_own_words(text: str, description: str) -> None:
    result = with_description(text, CAPS)
    assert result is not None
    assert shown(result) == description
    assert with_description(result, CAPS) is None


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


def test_a_long_sentence_is_cut_between_words() -> None:
    result = with_description("word " * 100 + "end.\n", CAPS)
    assert result is not None
    assert len(shown(result)) <= CAPS.description_chars
    assert shown(result).endswith("word…")


def test_a_secret_is_never_copied() -> None:
    text = "Key: sk-test-FAKE-FAKE-FAKE-FAKE-0000000000\n\nRotate it monthly.\n"
    result = with_description(text, CAPS)
    assert result is not None
    assert shown(result) == "Rotate it monthly."
    assert with_description("api_key = sk-test-FAKE-FAKE-FAKE-FAKE-0000000000\n", CAPS) is None


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
    text = "The parser lives in src/parse.py and is fast.\n\nIt reads one record a line.\n"
    result = with_description(text, CAPS, stale=("src/parse.py",))
    assert result is not None
    assert shown(result) == "It reads one record a line."


def test_a_cut_description_is_neither_written_over_nor_completed() -> None:
    assert with_description("---\ndescription: PR #928: guard\n---\nBody of it.\n", CAPS) is None
