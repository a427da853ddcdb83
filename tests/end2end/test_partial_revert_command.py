"""`reverie revert RUN --path P --hunk N`: a part of a run by command, and how it is shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.battery import run_here
from helpers.samples import copy_sample, snapshot

ACME = "a1f3c9e2b7"
STYLE, MESSAGES = "/memories/global/commit-style.md", "/memories/global/commit-messages.md"


class Shell:
    def __init__(self, tmp_path: Path) -> None:
        self.home = copy_sample("mux-home", tmp_path)
        self._profile = tmp_path / "profile"

    def __call__(self, *words: str, code: int = 0, as_json: bool = True) -> Any:
        ended, out, err = run_here(self.home, self._profile, *words, *(["--json"] if as_json else []))
        assert ended == code, (words, out, err)
        return json.loads(out) if as_json else out + err


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def run_id(shell: Shell) -> str:
    return str(shell("consolidate", "--workspace", ACME)["runId"])


def edited(shell: Shell, run_id: str) -> tuple[str, int]:
    """A file that the run edited in more than one place, and in how many."""
    for change in shell("diff", run_id):
        headers = [line for line in change["diff"].splitlines() if line.startswith("@@ ")]
        last = headers[-1].rpartition(" ")[2].rpartition("-")[2] if headers else "0"
        if last.isdecimal() and int(last) > 1:
            return change["path"], int(last)
    raise AssertionError("the sample has such a file")


def test_a_hunk_is_taken_back_by_its_number_and_shown_so(shell: Shell, run_id: str) -> None:
    path, _count = edited(shell, run_id)
    before = {change["path"]: change for change in shell("diff", run_id)}
    assert before[path]["takenBack"] == []
    done = shell("revert", run_id, "--path", path, "--hunk", "1")
    assert (done["reverted"], done["conflicts"]) == (run_id, [])
    after = {change["path"]: change for change in shell("diff", run_id)}
    assert after[path]["takenBack"] == [1]
    assert "taken back)" in after[path]["diff"]
    listed = next(run for run in shell("runs") if run["id"] == run_id)
    assert (listed["reverted"], listed["takenBack"][path]) == (False, [1])
    assert "reverted in part" in shell("runs", as_json=False)
    again = shell("revert", run_id, "--path", path, "--hunk", "1", code=1)
    assert "Already undone: hunk 1" in json.dumps(again)


def test_what_received_a_merge_brings_back_the_file_that_was_merged_into_it(
    shell: Shell, run_id: str
) -> None:
    original = (shell.home / "memory/global/commit-messages.md").exists()
    done = shell("revert", run_id, "--path", STYLE)
    assert sorted(done["restored"]) == sorted((STYLE, MESSAGES))
    assert f"Also restored, because their lines would otherwise be lost: {MESSAGES}." in done["summary"]
    assert not original
    assert (shell.home / "memory/global/commit-messages.md").exists()


def test_a_path_may_be_named_as_the_diff_shows_it(shell: Shell, run_id: str) -> None:
    done = shell("revert", run_id, "--path", STYLE.lstrip("/"), "--hunk", "1")
    assert STYLE in done["restored"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--hunk", "1"), 2),
        (("--path", STYLE, "--path", MESSAGES, "--hunk", "1"), 2),
        (("--path", "/memories/global/nothing.md"), 1),
        (("--path", STYLE, "--hunk", "99"), 1),
        (("--path", MESSAGES, "--hunk", "1"), 1),
    ],
)
def test_a_part_that_is_not_clear_or_not_there_changes_nothing(
    shell: Shell, run_id: str, words: tuple[str, ...], code: int
) -> None:
    before = snapshot(shell.home)
    shell("revert", run_id, *words, code=code)
    assert snapshot(shell.home) == before
