"""Which engine a writer's run uses: the settings, the agent's own, the turn's, the default, else rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import sample_parts, workspace
from reverie.agents.capabilities import AgentWriterConfig
from reverie.errors import UserError
from reverie.files.log_file import wanted_level
from reverie.jobs.single_file.writer import system_prompt
from reverie.services.background import WriterEngines, debugging
from reverie.services.container import HomeContainer
from reverie.services.models import Models, own_instructions
from reverie.settings import System1Settings

PROVIDERS = """
[providers.near]
base_url = "http://127.0.0.1:1/v1"
[providers.far]
base_url = "https://models.invalid/v1"
key_env = "FAR_KEY"
"""
EVERYTHING = AgentWriterConfig(model="near:own", default_model="near:default")


class NoKeys:
    """A keyring without keys."""

    trouble = ""

    def get(self, provider: str) -> str | None:
        return None

    def set(self, provider: str, key: str) -> None: ...
    def delete(self, provider: str) -> None: ...


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    parts = sample_parts("mux-home", tmp_path)
    parts.profile.settings_file.parent.mkdir(parents=True)
    parts.profile.settings_file.write_text(PROVIDERS)
    return parts


def chosen(
    parts: HomeContainer, setting: str, wishes: AgentWriterConfig, turn: str | None, **more: bool
) -> str:
    engines = WriterEngines(parts, Models(parts, env={"FAR_KEY": "k" * 20}, keys=NoKeys()), **more)
    return engines.choose(System1Settings(model=setting), wishes, turn)[0]


def test_the_order_of_models(parts: HomeContainer) -> None:
    assert chosen(parts, "near:set", EVERYTHING, "near:turn") == "near:set"
    assert chosen(parts, "rules", EVERYTHING, "near:turn") == "rules"
    assert chosen(parts, "", EVERYTHING, "near:turn") == "near:own"
    assert chosen(parts, "", AgentWriterConfig(default_model="near:default"), "near:turn") == "near:turn"
    assert chosen(parts, "", AgentWriterConfig(default_model="near:default"), None) == "near:default"
    assert chosen(parts, "", AgentWriterConfig(), None) == "rules"


def test_a_guessed_model_that_cannot_be_asked_is_passed_over(parts: HomeContainer) -> None:
    assert chosen(parts, "", AgentWriterConfig(), "nobody:model") == "rules"
    assert (
        chosen(parts, "", AgentWriterConfig(default_model="near:default"), "nobody:model") == "near:default"
    )


def test_nothing_goes_where_nobody_agreed_to(parts: HomeContainer) -> None:
    assert chosen(parts, "", AgentWriterConfig(), "far:model") == "rules"
    with pytest.raises(UserError, match="Nothing was sent"):
        chosen(parts, "far:model", AgentWriterConfig(), None)
    assert chosen(parts, "far:model", AgentWriterConfig(), None, by_hand=True) == "far:model"


def test_a_model_that_the_settings_name_must_be_there(parts: HomeContainer) -> None:
    with pytest.raises(UserError):
        chosen(parts, "nobody:model", EVERYTHING, "near:turn")


def test_the_engine_is_the_one_chosen(parts: HomeContainer) -> None:
    engines = WriterEngines(parts, Models(parts, env={}, keys=NoKeys()))
    context = workspace(parts, "a1f3c9e2b7")
    assert engines.engine(context, AgentWriterConfig(), None).name == "rules"
    assert engines.engine(context, AgentWriterConfig(), "near:turn").name == "near:turn"


def test_the_homes_own_prompt_takes_the_place_of_the_built_in_one(parts: HomeContainer) -> None:
    own = parts.home.root / "agents" / "system1_memory_writer.md"
    own.parent.mkdir(exist_ok=True)
    own.write_text("---\nname: Keeper\n---\nKeep it in rhymes.\n")
    wishes = parts.home.writer_config("a1f3c9e2b7")
    assert wishes.definition == own.read_bytes()
    context = workspace(parts, "a1f3c9e2b7")
    prompt = system_prompt("mark", own_instructions(parts, context, wishes, "writer"))
    assert prompt.startswith("Keep it in rhymes.")
    assert "no_new_memories" in prompt, "how to use the tools is said in any case"
    assert parts.activity.read() == ()


def test_a_malformed_prompt_is_told_and_the_built_in_one_used(parts: HomeContainer) -> None:
    context = workspace(parts, "a1f3c9e2b7")
    wishes = AgentWriterConfig(definition=b"no front matter")
    assert own_instructions(parts, context, wishes, "writer") == ""
    assert [entry.event for entry in parts.activity.read()] == ["writer.prompt"]
    assert system_prompt("mark").startswith("You keep the memory")


@pytest.mark.parametrize(
    ("env", "level"),
    [
        ({}, None),
        ({"REVERIE_DEBUG": "0"}, None),
        ({"REVERIE_DEBUG": "1"}, 10),
        ({"REVERIE_LOG_LEVEL": "debug"}, 10),
        ({"REVERIE_LOG_LEVEL": "INFO"}, 20),
        ({"REVERIE_LOG_LEVEL": "loud"}, None),
    ],
)
def test_the_log_is_asked_for_by_the_environment(
    monkeypatch: pytest.MonkeyPatch, env: dict[str, str], level: int | None
) -> None:
    for name in ("REVERIE_DEBUG", "REVERIE_LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert wanted_level(env) == level
    assert debugging() is (level == 10)


def test_debug_output_can_be_switched_on_without_an_environment(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("REVERIE_DEBUG", "REVERIE_LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    caplog.set_level("INFO", logger="reverie")
    assert not debugging()
    caplog.set_level("DEBUG", logger="reverie")
    assert debugging()
