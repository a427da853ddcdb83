"""The battery of `reverie memory`: the rules of formats/mux.md sections 2, 3 and 5 to 9 as data, played on
homes on disk. What a line of the battery means, `helpers.battery` says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers.battery import BATTERY, cases, play, small_home, speak_here
from helpers.benches import NOW
from helpers.forked_commands import run_command

_FILES = sorted(path.stem for path in BATTERY.glob("*.jsonl") if path.stem != "rails")
_CASES = [pytest.param(case, id=f"{name}: {case['rule']}") for name in _FILES for case in cases(name)]


@pytest.mark.parametrize("case", _CASES)
def test_rule_holds(case: dict[str, Any], tmp_path: Path) -> None:
    play(case, tmp_path)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["rule"]) for case in cases("process")])
def test_a_second_process_answers_as_this_one_does(case: dict[str, Any], tmp_path: Path) -> None:
    def speak(home: Path, profile: Path, lines: Sequence[str]) -> list[dict[str, Any]]:
        options = ("--home", home, "--profile", profile, "--now", NOW)
        done = run_command(*options, "memory", given="\n".join(lines))
        assert (done.returncode, done.stderr) == (0, "")
        return [json.loads(line) for line in done.stdout.split("\n") if line]

    play(case, tmp_path, speak)


def test_a_file_far_over_the_cap_is_refused_without_being_read(tmp_path: Path) -> None:
    home = small_home(tmp_path)
    (home / "memory/global").mkdir(parents=True)
    with (home / "memory/global/huge.md").open("wb") as file:
        file.write(b"---\ndescription: huge\n---\n")
        file.truncate(1 << 40)
    path = "/memories/global/huge.md"
    asks = [
        {"command": "view", "path": path},
        {"command": "view", "path": path, "offset": 1, "limit": 1},
        {"command": "read", "path": path},
        {"command": "str_replace", "path": path, "old_str": "huge"},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "index"},
    ]
    answers = speak_here(home, tmp_path / "profile", [json.dumps(ask) for ask in asks])
    assert [answer["success"] for answer in answers] == [False] * 5 + [True]
    assert all("too large" in answer["error"] for answer in answers[:5])
    assert answers[5]["entries"][0]["description"] == "huge"


def test_a_memory_can_be_viewed_where_its_use_cannot_be_counted(
    tmp_path: Path, expect_log: Callable[..., None]
) -> None:
    home = small_home(tmp_path)
    (home / "memory/global").mkdir(parents=True)
    (home / "memory/global/a.md").write_text("Here.")
    (home / "memory-meta.json").unlink(missing_ok=True)
    (home / "memory-meta.json").mkdir()
    expect_log(r"a use of a\.md is not counted")
    view = json.dumps({"command": "view", "path": "/memories/global/a.md"})
    assert speak_here(home, tmp_path / "profile", [view]) == [{"success": True, "output": "1\tHere."}]


def test_every_line_of_the_battery_says_a_rule_of_its_own() -> None:
    rules = [case["rule"] for path in BATTERY.glob("*.jsonl") for case in cases(path.stem)]
    assert len(rules) == len(set(rules)) > 100
