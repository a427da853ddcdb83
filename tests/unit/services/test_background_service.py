"""Background runs of one home: which engine, whether it may be asked, and the switch as the settings have
it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from helpers.benches import sample_parts, workspace
from reverie.agents.scopes import ScopeContext
from reverie.errors import StoreError, UserError
from reverie.jobs.consolidate.engine import ModelEngine, RulesEngine
from reverie.jobs.consolidate.harvest import ModelExtractor, RulesExtractor
from reverie.services.background import BackgroundJobs
from reverie.services.container import HomeContainer
from reverie.services.models import Models

ACME = "a1f3c9e2b7"
REMOTE = "anthropic:claude-sonnet-4-5"


class NoKeys:
    """A keyring with nothing in it."""

    trouble = ""

    def get(self, provider: str) -> str | None:
        return None

    def set(self, provider: str, key: str) -> None: ...

    def delete(self, provider: str) -> None: ...


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


@pytest.fixture
def models(parts: HomeContainer) -> Models:
    return Models(parts, env={"ANTHROPIC_API_KEY": "tk-0123456789-abcdefghij"}, keys=NoKeys())


def write_settings(parts: HomeContainer, text: str) -> None:
    path = parts.profile.settings_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    parts.forget_settings()


def test_without_a_model_it_is_the_rules(parts: HomeContainer, context: ScopeContext) -> None:
    background = BackgroundJobs(parts, Models(parts, env={}, keys=NoKeys()))
    assert isinstance(background.engine_for(context, "launch"), RulesEngine)
    assert isinstance(background.extractor_for(context), RulesExtractor)


def test_nothing_is_sent_by_itself_to_where_nobody_agreed(
    parts: HomeContainer, context: ScopeContext, models: Models
) -> None:
    write_settings(parts, f'[dream]\nengine = "{REMOTE}"\n')
    background = BackgroundJobs(parts, models)
    for ask in (lambda: background.engine_for(context, "launch"), lambda: background.extractor_for(context)):
        with pytest.raises(StoreError) as refused:
            ask()
        assert refused.value.reason == "consent"
    models.give_consent(REMOTE)
    assert isinstance(background.engine_for(context, "launch"), ModelEngine)
    assert isinstance(background.extractor_for(context), ModelExtractor)


def test_by_hand_the_engine_of_the_settings_was_chosen_by_a_person(
    parts: HomeContainer, context: ScopeContext, models: Models
) -> None:
    write_settings(parts, f'[dream]\nengine = "{REMOTE}"\n')
    background = BackgroundJobs(parts, models, by_hand=True)
    assert background.engine_for(context, "launch").name == REMOTE
    assert background.extractor_for(context, "rules").name == "rules"


def test_an_engine_that_cannot_be_asked_is_told_before_anything_starts(
    parts: HomeContainer, context: ScopeContext
) -> None:
    background = BackgroundJobs(parts, Models(parts, env={}, keys=NoKeys()), by_hand=True)
    for ask in (
        lambda: background.engine_for(context, "launch", REMOTE),
        lambda: background.extractor_for(context, REMOTE),
        lambda: background.extractor_for(context, "nobody:model"),
    ):
        with pytest.raises(UserError):
            ask()
    assert parts.runs.all() == ()


def test_the_switch_in_the_settings_is_read_anew_each_time(parts: HomeContainer, models: Models) -> None:
    triggers = BackgroundJobs(parts, models).triggers(threading.Event())
    assert triggers.on_launch().gate == "off"
    table = f'[background."{parts.home_id}"]\n'
    write_settings(parts, f'[dream]\nengine = "rules"\n{table}enabled = true\nruns_per_day = 1\n')
    assert triggers.on_archived(ACME).gate is None
    assert triggers.on_archived(ACME).gate == "runs-used-up"
    write_settings(parts, f"{table}enabled = false\n")
    assert triggers.on_archived(ACME).gate == "off"
    assert parts.runs.all()[0].trigger == "archive"


def test_a_trigger_without_consent_says_so_in_activity(parts: HomeContainer, models: Models) -> None:
    table = f'[background."{parts.home_id}"]\nenabled = true\n'
    write_settings(parts, f'[dream]\nengine = "{REMOTE}"\n{table}')
    result = BackgroundJobs(parts, models).triggers(threading.Event()).on_archived(ACME)
    assert result.gate == "error"
    assert "You have not approved sending memories of this home" in parts.activity.read()[0].text
    assert parts.runs.all() == ()
