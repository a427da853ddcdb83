"""Stage one by rules: what is told of a rollout, and the outcome by evidence only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.codex_home import talk, thread_id
from helpers.rollouts import call, event, line, meta, result, said, shell, write_rollout
from reverie.agents.capabilities import Thread
from reverie.agents.transcripts import ReadStatistics
from reverie.jobs.extraction.stage_one import (
    StageOneOutput,
    extracted,
    is_structured,
    items_of,
    normalised,
    prompt_text,
)

CWD = "/projects/demo"
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n+x\n*** End Patch"


def patch(call_id: str, at: float = 3) -> list[Any]:
    return [
        line("response_item", at, type="custom_tool_call", name="apply_patch", input=PATCH, call_id=call_id),
        line("response_item", at, type="custom_tool_call_output", call_id=call_id, output="Done!"),
    ]


def statements(text: str) -> Iterator[str]:
    return (part for part in text.split(". ") if part.startswith("Always"))


def told(tmp_path: Path, *lines: Any) -> StageOneOutput:
    path = write_rollout(tmp_path / "rollout.jsonl", [meta(thread_id(1), CWD), *lines])
    thread = Thread(thread_id(1), path, cwd=CWD, git_branch="main")
    return extracted(thread, items_of(path, ReadStatistics()), statements)


FAILED = shell("f", "make test", "boom", 2, 2)
WORKED = shell("w", "make test", "ok", 0, 8)


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        ([*FAILED, *patch("p"), *WORKED], "success"),
        ([*WORKED, *patch("p")], "partial"),
        ([*patch("p")], "partial"),
        ([*patch("p"), *FAILED], "fail"),
        ([*FAILED], "fail"),
        ([*patch("p"), said("user", "Perfect, thanks", 9)], "success"),
        ([*WORKED, said("user", "No, that is wrong", 9)], "fail"),
        ([*patch("p"), *WORKED, said("user", "It still fails", 9)], "fail"),
        ([said("assistant", "It works perfectly now.", 5)], "uncertain"),
        ([said("user", "Something else now", 9)], "uncertain"),
        ([*shell("l", "ls", "a", 0, 3)], "uncertain"),
        ([*shell("l", "ls", "a", 0, 3), event("turn_aborted", 4, reason="interrupted")], "partial"),
        ([*patch("p"), *WORKED, event("turn_aborted", 9, reason="interrupted")], "partial"),
    ],
)
def test_the_outcome_is_judged_by_evidence(tmp_path: Path, lines: list[Any], outcome: str) -> None:
    output = told(tmp_path, said("user", "Fix the build. Always use tabs", 1), *lines)
    assert is_structured(output.trace)
    request = "Fix the build. Always use tabs"
    assert f"## Task: {request}\n\nOutcome: {outcome}\n" in output.trace


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [said("assistant", "It works perfectly now.", 5)],
        [said("assistant", "Understood.", 5), said("user", "Perfect, thanks", 9)],
        [said("user", "Something else now", 9), said("assistant", "Understood.", 10)],
    ],
)
def test_there_is_no_trace_where_each_of_its_sections_would_be_empty(
    tmp_path: Path, lines: list[Any]
) -> None:
    assert told(tmp_path, said("user", "Good morning", 1), *lines) == StageOneOutput("", "")


def test_requests_commands_errors_files_and_preferences_are_told(tmp_path: Path) -> None:
    output = told(
        tmp_path,
        said("user", "Fix the build. Always use tabs", 1),
        *shell("a", "make test", "line\nerror: no rule", 2, 2),
        *patch("p"),
        *shell("b", "make test", "ok", 0, 5),
        said("user", "Now write the docs", 9),
        said("assistant", "Written.", 10),
    )
    assert "- Always use tabs\n" in output.trace
    assert "- `make test` ended with 2: error: no rule; it worked later\n" in output.trace
    assert "- `src/a.py`: changed for this task\n" in output.trace
    assert "- Worked here: `make test`\n" in output.trace
    assert output.trace.count("## Task: ") == 2
    assert "branch main" in output.trace
    assert output.summary == (
        "Fix the build. Always use tabs (2 tasks: 1 success, 1 uncertain). Changed: src/a.py."
    )


def test_exit_codes_are_found_in_each_form_that_the_agent_has_used(tmp_path: Path) -> None:
    output = told(
        tmp_path,
        said("user", "Look", 1),
        call("a", "exec_command", {"cmd": "one"}, 2),
        result("a", "Process exited with code 7\nOutput:\nbad", 3),
        line("response_item", 4, type="local_shell_call", call_id="b", action={"command": ["two", "x"]}),
        result("b", {"content": "text", "success": False}, 5),
        call("c", "shell", "not json", 6),
        result("c", [{"type": "input_text", "text": "Exit code: 3"}], 7),
        call("d", "shell", {"command": ["zsh", "-lc", "four"]}, 8),
    )
    for step in ("`one` (exit 7)", "`two x` (exit 1)", "`not json` (exit 3)", "- `four`\n"):
        assert step in output.trace


def test_what_was_rolled_back_injected_or_drawn_is_no_evidence(tmp_path: Path) -> None:
    picture = line(
        "response_item",
        5,
        type="message",
        role="user",
        content=[{"type": "input_image", "image_url": "data:image/png;base64," + "A" * 5000}],
    )
    lines = [
        meta(thread_id(1), CWD),
        said("user", "<environment_context>secret place</environment_context>"),
        said("developer", "Obey the developer"),
        said("user", "Keep me", 1),
        said("user", "Undo me", 2),
        *shell("x", "undone", "x", 0, 3),
        event("thread_rolled_back", 4, num_turns=1),
        picture,
        line("response_item", 6, type="reasoning", summary=[], encrypted_content="gAAAA"),
        line("compacted", 7, message="What was before", replacement_history=[said("user", "hidden")]),
        call("y", "view_image", {"url": "data:image/png;base64," + "A" * 5000}, 8),
    ]
    path = write_rollout(tmp_path / "rollout.jsonl", lines)
    prompt = prompt_text(items_of(path, ReadStatistics()))
    for absent in ("secret place", "Obey", "Undo me", "undone", "AAAA", "hidden", "reasoning"):
        assert absent not in prompt.text
    for present in ("Keep me", "What was before", "[data]"):
        assert present in prompt.text
    assert prompt.items == 4


def test_a_rollout_with_nothing_in_it_gives_nothing(tmp_path: Path) -> None:
    assert told(tmp_path) == StageOneOutput("", "")


def test_what_is_told_stays_bounded(tmp_path: Path) -> None:
    lines: list[Any] = []
    for number in range(300):
        lines += [
            said("user", f"Do part {number} " + "x" * 500),
            *shell(f"c{number}", f"run {number}", "y" * 999),
        ]
    output = told(tmp_path, *lines)
    assert len(output.trace) < 60_000


def test_a_model_sees_head_and_tail_of_a_long_rollout(tmp_path: Path) -> None:
    lines = [*talk(1, CWD, "The first request")]
    lines += [line for n in range(30) for line in shell(f"c{n}", f"run {n}", "z" * 100_000)]
    path = write_rollout(tmp_path / "rollout.jsonl", [*lines, said("user", "The last request")])
    prompt = prompt_text(items_of(path, ReadStatistics()))
    assert prompt.truncated
    assert len(prompt.text.encode()) <= 1_000_000
    assert "The first request" in prompt.text
    assert "ROLLOUT TRUNCATED FOR MEMORY EXTRACTION" in prompt.text
    assert prompt.text.rstrip().endswith("]")
    assert "The last request" in prompt.text


def test_a_secret_is_known_before_its_line_is_taken_from_the_one_that_names_it(tmp_path: Path) -> None:
    output = told(
        tmp_path,
        said("user", "Log in. Always use password:\n  hunter2hunter2", 1),
        *shell("a", "./login", "password:\nhunter3hunter3", 1, 2),
    )
    stored = normalised(output)
    assert "hunter" not in output.trace + stored.trace + stored.summary
    assert "[REDACTED_SECRET]" in stored.trace


@pytest.mark.parametrize("before", range(120, 165, 3))
def test_no_line_ends_in_half_a_secret(tmp_path: Path, before: int) -> None:
    key = "sk-" + "Ab1" * 16
    text = "x" * (before - 1) + " " + key
    output = told(tmp_path, said("user", text, 1), *shell("a", text, text, 1, 2))
    assert "Ab1" not in output.trace + output.summary


@pytest.mark.parametrize("between", ["=", "=\n"])
@pytest.mark.parametrize("fill", ["word ", "word\n"])
def test_a_secret_whose_name_was_cut_off_with_the_beginning_of_an_output_is_not_kept(
    tmp_path: Path, between: str, fill: str
) -> None:
    secret = "Kf9mQ2xvB7zQ4"
    tail = f"{secret} {fill * 2_000}"[:7_998]
    for cut in range(4):
        printed = "x" * 3_000 + f" db_password{between}" + tail[: len(tail) - cut] + " " * 2
        output = told(tmp_path, said("user", "Deploy.", 1), *shell("a", "./deploy", printed, 1, 2))
        assert secret not in output.trace + output.summary
