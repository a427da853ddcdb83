"""Where mux's memory writer keeps its things, and what `config.json` says of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.samples import copy_sample, snapshot
from reverie.agents.capabilities import AgentWriterConfig
from reverie.agents.mux.home import MuxHome
from reverie.errors import Unavailable

ACME, MULTI = "a1f3c9e2b7", "e8f1a2b3c4"


@pytest.fixture
def home(tmp_path: Path) -> MuxHome:
    return MuxHome(copy_sample("mux-home", tmp_path))


def configure(home: MuxHome, **changes: Any) -> None:
    path = home.root / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}))


def test_the_writers_places(home: MuxHome) -> None:
    before = snapshot(home.root)
    place = home.writer_place(ACME)
    assert place is not None
    assert place.state_file == home.root / "sessions" / ACME / "system1-memory-writer-state.json"
    assert place.dump_directory == home.root / "debug_obj" / ACME / "system1_memory_writer"
    assert place.memory_file == home.root / "memories" / "acme-api-1d659342.md"
    assert place.memory_id == "acme-api-1d659342"
    assert place.instructions[0] == home.root / "AGENTS.md"
    assert place.context_instructions[0] == Path("/home/dev/.xum/src/acme-api/main/AGENTS.md")
    assert snapshot(home.root) == before


def test_a_workspace_of_several_projects_has_no_file(home: MuxHome) -> None:
    place = home.writer_place(MULTI)
    assert place is not None
    assert (place.memory_file, place.memory_id) == (None, "")


def test_one_workspace_is_found_without_the_others(home: MuxHome) -> None:
    found = home.workspace(ACME)
    assert found is not None
    assert found in home.contents().workspaces()
    assert home.workspace("nobody") is None
    for hostile in ("..", "a/b"):
        with pytest.raises(Unavailable):
            home.workspace(hostile)
        with pytest.raises(Unavailable):
            home.writer_place(hostile)


def test_a_config_that_cannot_be_read_is_no_empty_one(home: MuxHome) -> None:
    (home.root / "config.json").write_text("{")
    with pytest.raises(Unavailable):
        home.workspace(ACME)


def test_nothing_said_means_allowed(home: MuxHome) -> None:
    assert home.writer_config(ACME) == AgentWriterConfig()


def test_what_the_agent_says_of_its_writer(home: MuxHome) -> None:
    configure(
        home,
        agentAiDefaults={"system1_memory_writer": {"enabled": False, "modelString": "a:default"}},
        taskSettings={"memoryWriterIntervalMessages": 7},
        defaultModel="a:any",
    )
    assert home.writer_config(ACME) == AgentWriterConfig(False, 7, "a:default", "a:any")


def test_the_workspaces_own_model_comes_first(home: MuxHome) -> None:
    config = json.loads((home.root / "config.json").read_bytes())
    workspace = config["projects"][0][1]["workspaces"][0]
    workspace["aiSettingsByAgent"]["system1_memory_writer"] = {"model": "a:own"}
    workspace["aiSettings"] = {"model": "a:usual"}
    configure(home, **config, agentAiDefaults={"system1_memory_writer": {"modelString": "a:default"}})
    wishes = home.writer_config(ACME)
    assert (wishes.model, wishes.default_model) == ("a:own", "a:usual")


@pytest.mark.parametrize(
    "changes",
    [
        {"agentAiDefaults": 3, "taskSettings": []},
        {"agentAiDefaults": {"system1_memory_writer": "x"}},
        {"agentAiDefaults": {"system1_memory_writer": {"modelString": "no model", "enabled": "no"}}},
    ],
)
def test_values_of_the_wrong_type_are_passed_over(home: MuxHome, changes: dict[str, Any]) -> None:
    configure(home, **changes)
    assert home.writer_config(ACME) == AgentWriterConfig()
