"""Which workspaces the lines of `reverie memory` may write to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.at_steps import no_more_locks
from helpers.ordinary_user import without_power
from reverie.cli.memory import LineClock, MemoryLines
from reverie.compose import open_parts
from reverie.errors import Unavailable
from reverie.profile import Profile
from reverie.resources import copy_demo_home
from reverie.services.merges import MergeService
from reverie.services.workbench import Workbench

NOW = 1_800_000_000_000
CREATE = json.dumps({"command": "create", "path": "/memories/workspace/new.md", "file_text": "x\n"})


def answer_to(home: Path, workspace_id: str, project: str | None, tmp_path: Path) -> dict[str, object]:
    clock = LineClock(lambda: NOW)
    parts = open_parts(home, Profile.under(tmp_path / "profile"), clock)
    lines = MemoryLines(parts, clock, workspace_id=workspace_id, project=project, warn=print)
    (answer,) = lines.answer_all([CREATE])
    return answer


@pytest.mark.parametrize("named", [False, True], ids=["alone", "with a project"])
def test_a_typing_error_in_a_workspaces_id_makes_no_store_and_a_listed_one_is_written(
    tmp_path: Path, named: bool
) -> None:
    home = copy_demo_home(tmp_path)
    listed = next(
        each
        for each in open_parts(home, Profile.under(tmp_path / "profile"), lambda: NOW)
        .home.contents()
        .workspaces()
        if each.project_paths
    )
    project = listed.project_paths[0] if named else None
    refused = answer_to(home, "typo1234", project, tmp_path)
    assert not refused["success"]
    assert "no workspace typo1234" in str(refused["error"])
    assert list(home.rglob("*typo1234*")) == []
    assert answer_to(home, listed.id, project, tmp_path)["success"]
    assert (home / "sessions" / listed.id / "memory" / "new.md").read_text() == "x\n"


@pytest.mark.parametrize("named", [False, True], ids=["alone", "with a project"])
def test_while_the_list_cannot_be_read_every_workspace_is_believed(tmp_path: Path, named: bool) -> None:
    home = copy_demo_home(tmp_path)
    (home / "config.json").write_text("{broken", encoding="utf-8")
    answer = answer_to(home, "0123456789", "/work/api" if named else None, tmp_path)
    assert answer["success"], answer
    assert (home / "sessions" / "0123456789" / "memory" / "new.md").is_file()


def test_lines_are_refused_once_another_home_is_in_the_place_of_this_one(tmp_path: Path) -> None:
    home = copy_demo_home(tmp_path)
    clock, profile = LineClock(lambda: NOW), Profile.under(tmp_path / "profile")
    parts = open_parts(home, profile, clock)
    parts.snapshots.observe(source="test")
    before = parts.snapshots.history.head()
    lines = MemoryLines(parts, clock, workspace_id=None, project=None, warn=print)
    create = {"command": "create", "path": "/memories/global/new.md", "file_text": "x\n"}
    read = {"command": "read", "path": "/memories/global/new.md"}

    def asked() -> Iterator[str]:
        home.rename(tmp_path / "away")
        copy_demo_home(tmp_path)
        yield json.dumps(create)
        yield json.dumps(read)

    for answer in lines.answer_all(asked()):
        assert not answer["success"]
        assert "now contains a different home" in str(answer["error"])
    assert not (home / "memory/global/new.md").exists()
    with pytest.raises(Unavailable, match="now contains a different home"):
        parts.snapshots.observe(source="test")
    with pytest.raises(Unavailable, match="now contains a different home"):
        parts.store(parts.home.context(), actor="user").pin("/memories/global/new.md", True)
    assert parts.snapshots.history.head() == before
    assert open_parts(home, profile, clock).home_id != parts.home_id


def test_the_index_goes_on_without_pins_and_warns_where_these_cannot_be_read(tmp_path: Path) -> None:
    home = copy_demo_home(tmp_path)
    clock = LineClock(lambda: NOW)
    parts = open_parts(home, Profile.under(tmp_path / "profile"), clock)
    lines = MemoryLines(parts, clock, workspace_id=None, project=None, warn=print)
    (home / "memory-meta.json").chmod(0)
    answer = without_power(lambda: lines.answer('{"command": "index"}'))
    assert answer["success"], answer
    assert answer["entries"]
    (warning,) = answer["warnings"]
    assert warning.startswith("Pins and use counts are unknown.")
    assert "Permission is denied." in warning


def test_duplicates_are_found_and_compared_without_pins(tmp_path: Path, expect_log: Any) -> None:
    expect_log("No suggestions can be made: .*memory-meta.json")
    home = copy_demo_home(tmp_path)
    names = ("deploy-notes.md", "deploy-notes-copy.md")
    for name in names:
        (home / "memory/global" / name).write_text(
            "# Deploy\n\n- Tag the release after the deploy, not before\n"
        )
    parts = open_parts(home, Profile.under(tmp_path / "profile"), lambda: NOW)
    context = parts.home.context(project_path=None, project_given=True)
    known = Workbench(parts).worth_a_look.find(context)
    (home / "memory-meta.json").chmod(0)
    report = without_power(lambda: Workbench(parts).worth_a_look.find(context))
    assert len(report.findings) == len(known.findings)
    # Whether a memory is pinned is unknown, so none is suggested for deletion.
    assert {each.suggestion for each in report.findings} == {None}
    paths = [f"/memories/global/{name}" for name in names]
    assert any(sorted(each.paths) == sorted(paths) for each in report.findings)
    files = without_power(lambda: MergeService(parts).files(context, paths))
    assert [(file.path, file.pinned) for file in files] == [(path, False) for path in paths]


def test_what_was_done_and_answered_is_no_failure_where_the_history_cannot_note_it(tmp_path: Path) -> None:
    profile, clock = Profile.under(tmp_path / "profile"), LineClock(lambda: NOW)
    parts = open_parts(copy_demo_home(tmp_path), profile, clock)
    told: list[str] = []
    lines = MemoryLines(parts, clock, workspace_id=None, project=None, warn=told.append)
    answers = lines.answer_all([json.dumps({**json.loads(CREATE), "path": "/memories/global/new.md"})])
    assert next(answers)["success"]
    no_more_locks(profile)
    assert list(answers) == []
    (sentence,) = told
    assert sentence.startswith("The change is not in the history yet.")
