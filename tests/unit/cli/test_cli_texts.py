"""What commands print for people: short, plain, and safe whatever the memories hold."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from helpers.benches import NOW, with_op
from reverie.agents.capabilities import StatusLine
from reverie.agents.scopes import Scope
from reverie.cli import answers
from reverie.cli.main import COMMANDS, build_parser, parse
from reverie.cli.memory import ago, status_lines, tree_lines
from reverie.clock import DAY_MS, HOUR_MS
from reverie.errors import Ambiguous, Unavailable
from reverie.jobs.consolidate.coverage import Status


def status(**changes: Any) -> Status:
    record = {
        "lastRunAt": NOW - 3 * HOUR_MS,
        "trigger": "manual",
        "summary": "merged \x1b[31mtwo",
        "ops": [with_op("delete", "/memories/global/a.md")],
    }
    fields: dict[str, Any] = {
        "workspace_record": record,
        "project_record": None,
        "global_record": record,
        "latest_harvest": None,
        "project_available": True,
    }
    return Status(**{**fields, **changes})


def test_the_status_has_a_line_a_scope_and_never_only_where_there_could_have_been_a_run() -> None:
    workspace, project, whole = status_lines(status(), now=NOW)
    assert workspace.startswith("Workspace: 3 h ago, manual, 0 changes - merged")
    assert "\x1b" not in workspace
    assert project == "Project: never"
    assert whole.startswith("Global: 3 h ago, manual, 1 change - merged"), "where the change was"
    assert "never" not in list(status_lines(status(project_available=False), now=NOW))[1]


def test_the_status_leaves_out_scopes_that_the_agent_does_not_have() -> None:
    lines = list(status_lines(status(), without=(Scope.WORKSPACE, Scope.PROJECT), now=NOW))
    assert [line.partition(":")[0] for line in lines] == ["Global"]


def test_beside_the_agents_own_consolidation_a_scope_is_never_consolidated_by_reverie() -> None:
    agent = StatusLine(Scope.GLOBAL, "Codex consolidation", "Done.")
    lines = list(status_lines(status(global_record=None), (agent,), now=NOW))
    assert "Global: never by Reverie" in lines
    assert "Project: never by Reverie" in lines


def test_a_harvest_has_its_own_line_with_its_error() -> None:
    harvest = {"startedAt": NOW, "status": "failed", "acceptedCandidates": 0, "error": "no\x07 luck"}
    line = list(status_lines(status(latest_harvest=harvest), now=NOW))[-1]
    assert "failed" in line
    assert "luck" in line
    assert "\x07" not in line


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (-5, "just now"),
        (59_999, "just now"),
        (60_000, "1 min ago"),
        (HOUR_MS - 1, "59 min ago"),
        (DAY_MS - 1, "23 h ago"),
        (40 * DAY_MS, "40 d ago"),
    ],
)
def test_an_age_is_told_in_the_largest_unit_that_fits(age: int, text: str) -> None:
    assert ago(age) == text


def test_a_tree_is_indented_with_remarks_and_hides_no_bad_name() -> None:
    file = {"name": "a\nb\x1b.md", "size": 5, "pinned": True, "accessCount": 2, "description": "d"}
    unseen = {"name": "big.md", "size": 200_000, "seenByAgent": False, "unseenReason": "too large"}
    nodes = [
        {"name": "global", "children": [{"name": "d", "children": [file]}, unseen]},
        {"name": "project", "unavailable": "no project"},
    ]
    lines = list(tree_lines(nodes))
    assert [line.partition("[")[0].rstrip() for line in lines[:2]] == ["global/", "  d/"]
    assert "pinned" in lines[2]
    assert "used 2 times" in lines[2]
    assert "\x1b" not in lines[2]
    assert "not seen by the agent: too large" in lines[3]
    assert lines[4] == "project  (unavailable: no project)"


def test_trouble_is_one_line_whatever_it_holds(capsys: pytest.CaptureFixture[str]) -> None:
    answers.trouble("two\nlines \x1b[0m and half a \ud800 character")
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "\x1b" not in err


@pytest.mark.parametrize(
    ("error", "code"), [(Unavailable("gone"), 1), (Ambiguous("which?", choices=("a", "b")), 2)]
)
def test_an_error_has_its_code_and_its_reason(
    error: Any, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answers.failed(error, as_json=True) == code
    out = capsys.readouterr().out
    assert f'"reason": "{error.reason}"' in out


def test_the_operation_table_is_empty_without_operations() -> None:
    assert answers.ops_rows([]) == []
    rows = answers.ops_rows([with_op("rename", "/a", newPath="/b"), with_op("delete", "/c", applied=False)])
    assert rows[1] == ("yes", "rename", "/a -> /b", "")
    assert rows[2][0] == "no"


@pytest.mark.parametrize(
    "words",
    [
        ["runs", "--limit", "-1"],
        ["runs", "--limit", "x"],
        ["--now", "-5", "status"],
        ["--now", "soon", "status"],
        ["--now", "9" * 30, "status"],
        ["consolidate", "--trigger", "boredom"],
    ],
)
def test_wrong_usage_exits_2(words: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        build_parser().parse_args(words)
    assert end.value.code == 2


def test_a_parser_of_one_command_reads_and_says_what_the_whole_one_does(
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = build_parser()

    def said(parser: argparse.ArgumentParser, *words: str) -> tuple[str, str]:
        with pytest.raises(SystemExit):
            parser.parse_args(words)
        return capsys.readouterr()

    for name in COMMANDS:
        one = build_parser([name])
        for words in ((name, "--help"), (name, "--unknown"), (name, "--now", "soon")):
            assert said(one, *words) == said(whole, *words)
    words = ("search", "retry", "status", "--limit", "3", "--home", "x", "--json")
    assert build_parser(["search"]).parse_args(words) == whole.parse_args(words)


WRONG = (
    ["bogus"],
    ["--home", "x", "bogus"],
    ["--bogus"],
    ["--home"],
    ["--now", "soon"],
    ["--host", "nowhere"],
)


@pytest.mark.parametrize("words", [*WRONG, ["--help"], ["-h"], ["--home", "status", "bogus"]], ids=" ".join)
def test_options_without_a_command_are_refused_as_by_the_whole_parser(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for ends in (parse, build_parser().parse_args):
        with pytest.raises(SystemExit):
            ends(words)
    said = capsys.readouterr()
    text = said.out + said.err
    assert text[: len(text) // 2] == text[len(text) // 2 :]


@pytest.mark.parametrize(
    "words",
    [[], ["--home", "x", "--home", "y"], ["--offscreen", "--workspace", "w"], ["--host", "ssh://there"]],
)
def test_options_without_a_command_open_the_window(words: list[str]) -> None:
    assert parse(words) == build_parser().parse_args(words)
    assert parse(words).command is None
