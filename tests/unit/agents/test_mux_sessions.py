"""Which transcripts of a mux home may still grow, and which memories its agent loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.samples import copy_sample, snapshot
from reverie.agents.mux.home import MuxHome
from reverie.errors import Unavailable

ACME, PIPELINE, ARCHIVED = "a1f3c9e2b7", "c04d8e91aa", "3e9a1b5c6d"


def home_with(root: Path, config: dict[str, Any] | None = None) -> MuxHome:
    root.mkdir(exist_ok=True)
    (root / "config.json").write_text(json.dumps({"projects": [], **(config or {})}))
    return MuxHome(root)


def test_sessions_in_use_are_those_of_live_workspaces_used_last_first(tmp_path: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    before = snapshot(home)
    places = MuxHome(home).sessions_in_use()
    assert [place.workspace_id for place in places][:2] == [ACME, "5d6e7f8091"]
    assert ARCHIVED not in {place.workspace_id for place in places}
    assert all(place.directory.is_dir() and place.files[-1] == "chat.jsonl" for place in places)
    assert snapshot(home) == before


def test_a_session_that_is_not_there_is_not_in_use_but_has_a_place(tmp_path: Path) -> None:
    home = home_with(tmp_path, {"projects": [["/p", {"workspaces": [{"id": "w1", "path": "/p/w1"}]}]]})
    assert home.sessions_in_use() == ()
    place = home.session_place("w1")
    assert place is not None
    assert place.directory == tmp_path / "sessions" / "w1"
    with pytest.raises(Unavailable):
        home.session_place("../w1")


@pytest.mark.parametrize(
    ("config", "directory", "expected"),
    [
        ({}, None, (None, None)),
        ({}, "memory/project", (False, True)),
        ({}, "debug_obj/memories", (True, False)),
        ({"taskSettings": {"memoryWriterIntervalMessages": 4}}, None, (True, False)),
        ({"agentAiDefaults": {"system1_memory_writer": {}}}, "memory/global", (True, True)),
        ({"taskSettings": 3, "agentAiDefaults": []}, None, (None, None)),
    ],
)
def test_which_memories_the_agent_loads_is_judged_by_what_only_it_writes(
    tmp_path: Path, config: dict[str, Any], directory: str | None, expected: tuple[bool | None, bool | None]
) -> None:
    if directory:
        (tmp_path / directory).mkdir(parents=True)
    kinds = home_with(tmp_path, config).memory_kinds()
    assert (kinds.project_file, kinds.project_store) == expected
    assert kinds.evidence


def test_what_reverie_writes_itself_is_no_sign_of_the_writer(tmp_path: Path) -> None:
    (tmp_path / "memories").mkdir()
    (tmp_path / "memories" / "x-01234567.md").write_text("- x")
    (tmp_path / "debug_obj" / "w" / "system1_memory_writer").mkdir(parents=True)
    assert home_with(tmp_path).memory_kinds().project_file is None


def test_what_tells_of_other_sessions_in_use_is_watched_without_the_memories(tmp_path: Path) -> None:
    places = home_with(tmp_path).session_watches()
    assert [(place.directory, place.names) for place in places] == [
        (tmp_path, ("config.json", "extensionMetadata.json")),
        (tmp_path / "sessions", ()),
    ]


def test_a_transcript_is_of_the_project_that_lists_its_workspace(tmp_path: Path) -> None:
    both = [{"projectPath": "/p/one"}, {"projectPath": "/p/two"}]
    home = home_with(
        tmp_path,
        {
            "projects": [
                ["/p/one", {"displayName": "The first", "workspaces": [{"id": "w1", "path": "/p/one/w1"}]}],
                ["_scratch", {"workspaces": [{"id": "w2", "path": "/s/w2", "kind": "scratch"}]}],
                ["_multi", {"workspaces": [{"id": "w3", "path": "/m/w3", "projects": both}]}],
            ]
        },
    )
    for name in ("w1", "w2", "w3"):
        session = tmp_path / "sessions" / name
        session.mkdir(parents=True)
        (session / "chat.jsonl").write_text("{}\n")
    assert {each.id: (each.project_path, each.project_name) for each in home.sources()} == {
        "w1": ("/p/one", "The first"),
        "w2": ("_scratch", "Scratch"),
        "w3": ("_multi", "Several projects"),
    }
    assert {each.id for each in home.sources("/p/one")} == {"w1", "w3"}
    assert [each.id for each in home.sources("/s/w2")] == ["w2"]
    assert [each.id for each in home.sources("_scratch")] == ["w2"]
    assert home.sources("/p/other") == ()
