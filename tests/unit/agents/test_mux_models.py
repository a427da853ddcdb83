"""Which model mux would let dream: the cascade of formats/mux.md section 10."""

from __future__ import annotations

import json
from typing import Any

import pytest

from helpers.samples import SAMPLES
from reverie.agents.mux.models import dream_enabled, dream_model

OWN, HOME, WORKSPACE, APP = "openai:own", "anthropic:home", "ollama:qwen3:8b", "openrouter:a/app"


def config(**without: bool) -> dict[str, Any]:
    """A configuration that names a model in every place but those given."""
    entry: dict[str, Any] = {"id": "ws", "path": "/p/ws"}
    data: dict[str, Any] = {"projects": [["/p", {"workspaces": [{"id": "other", "path": "/p/o"}, entry]}]]}
    if "own" not in without:
        entry["aiSettingsByAgent"] = {"dream": {"model": OWN}, "exec": {"model": "openai:no"}}
    if "home" not in without:
        data["agentAiDefaults"] = {"dream": {"modelString": HOME}}
    if "workspace" not in without:
        entry["aiSettings"] = {"model": WORKSPACE}
    if "app" not in without:
        data["defaultModel"] = APP
    return data


def test_the_nearest_place_decides() -> None:
    assert dream_model(config(), "ws") == OWN
    assert dream_model(config(own=True), "ws") == HOME
    assert dream_model(config(own=True, home=True), "ws") == WORKSPACE
    assert dream_model(config(own=True, home=True, workspace=True), "ws") == APP
    assert dream_model(config(own=True, home=True, workspace=True, app=True), "ws") is None


@pytest.mark.parametrize("workspace_id", ["other", "unknown", None])
def test_another_workspace_does_not_count(workspace_id: str | None) -> None:
    assert dream_model(config(), workspace_id) == HOME
    assert dream_model(config(home=True), workspace_id) == APP


@pytest.mark.parametrize("value", [None, 1, "", "  ", "sonnet", ":model", "openai:", "a b:c", [], {}])
def test_what_is_no_model_string_is_passed_over(value: Any) -> None:
    data = config()
    data["projects"][0][1]["workspaces"][1]["aiSettingsByAgent"]["dream"]["model"] = value
    assert dream_model(data, "ws") == HOME


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"projects": {}},
        {"projects": [["/p", {"workspaces": [{"id": "ws", "aiSettings": []}]}]]},
        {"agentAiDefaults": [], "defaultModel": {}},
        {"agentAiDefaults": {"dream": "x"}},
    ],
)
def test_no_content_raises(data: Any) -> None:
    assert dream_model(data, "ws") is None
    assert dream_enabled(data)


def test_an_old_workspace_without_an_id_is_found_as_the_agent_finds_it() -> None:
    data = config(home=True)
    del data["projects"][0][1]["workspaces"][1]["id"]
    assert dream_model(data, "p-ws") == OWN
    assert dream_model(data, "deadbeef00", {"ws": "deadbeef00"}.get) == OWN


def test_the_home_can_switch_its_dream_off() -> None:
    assert not dream_enabled({"agentAiDefaults": {"dream": {"enabled": False}}})
    assert dream_enabled({"agentAiDefaults": {"dream": {"enabled": None}}})


def test_models_of_other_agents_do_not_count_in_a_file_of_the_agent_itself() -> None:
    data = json.loads((SAMPLES / "mux-home" / "config.json").read_text())
    assert dream_model(data, "a1f3c9e2b7") is None
    data["agentAiDefaults"] = {"dream": {"modelString": HOME}}
    assert dream_model(data, "a1f3c9e2b7") == HOME
