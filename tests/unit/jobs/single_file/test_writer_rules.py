"""The writer without a model writes down what was said outright, once."""

from __future__ import annotations

import pytest

from reverie.jobs.single_file.writer import corrections, new_bullets, with_bullets


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("No, the port is 8081, not 8080.", ["The port is 8081, not 8080."]),
        (
            "Actually, we deploy with make ship instead of deploy.sh.",
            ["We deploy with make ship instead of deploy.sh."],
        ),
        ("Thanks. Wrong: staging runs Postgres 16, not 13.", ["Staging runs Postgres 16, not 13."]),
        ("No.", []),
        ("No, not that.", []),
        ("No, is the port 8081 and not 8080?", []),
        ("No, for now use the mock, not the server.", []),
        ("No, change that line, not this one.", []),
        ("The port is 8081, not 8080.", []),
    ],
)
def test_corrections(text: str, found: list[str]) -> None:
    assert list(corrections(text)) == found


def test_what_the_file_says_is_not_said_again() -> None:
    memory = "# M\n\n- Never retry 409 automatically.\n- Staging deploys from main.\n"
    said = [
        "never retry 409 automatically",
        "Always use pnpm.",
        "ALWAYS use pnpm!",
        "Staging deploys from main",
    ]
    assert new_bullets(said, memory) == ["Always use pnpm."]


def test_secrets_are_left_out() -> None:
    assert new_bullets(["Always use the token sk-proj-" + "9f8E7d6C5b4A3" * 3], "") == []


def test_a_new_file_has_a_title_of_the_project() -> None:
    assert with_bullets("", ["One."], "acme-api-1d659342") == "# acme-api memory\n\n- One.\n"


@pytest.mark.parametrize(
    ("memory", "after"),
    [
        ("- a", "- a\n- b\n"),
        ("- a\n", "- a\n- b\n"),
        ("- a\r\n", "- a\r\n- b\r\n"),
        ("- a\r\nx", "- a\r\nx\r\n- b\r\n"),
    ],
)
def test_bullets_go_to_the_end_in_the_files_own_line_ends(memory: str, after: str) -> None:
    assert with_bullets(memory, ["b"], "x-12345678") == after
