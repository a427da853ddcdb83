"""Which engine a home's dreams use, consent before anything leaves, and what was spent."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, sample_parts, workspace
from helpers.model_server import ModelServer, Reply
from reverie.agents.codex.home import CodexHome
from reverie.agents.scopes import Scope, ScopeContext
from reverie.clock import HOUR_MS
from reverie.compose import open_parts
from reverie.errors import StoreError
from reverie.profile import Profile
from reverie.runs.record import RunRecord
from reverie.services.container import HomeContainer
from reverie.services.costs import month_start, spent_by_scope
from reverie.services.models import AUTO, Models
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
REMOTE = "anthropic:claude-sonnet-4-5"


class Keys(dict[str, str]):
    """A keyring in memory."""

    trouble = ""

    def set(self, provider: str, key: str) -> None:
        self[provider] = key

    def delete(self, provider: str) -> None:
        self.pop(provider, None)


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


def models(parts: HomeContainer, env: dict[str, str] | None = None, keys: Keys | None = None) -> Models:
    return Models(parts, env=env or {}, keys=keys or Keys())


def set_in_home(parts: HomeContainer, **changes: Any) -> None:
    path = parts.home.root / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def set_settings(parts: HomeContainer, text: str) -> None:
    path = parts.profile.settings_file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    parts.forget_settings()


def test_without_any_model_it_is_the_rules(parts: HomeContainer, context: ScopeContext) -> None:
    choice = models(parts).choose(context, "auto")
    assert choice.engine == "rules"
    assert "No model" in choice.reason


def test_what_was_asked_for_comes_before_the_settings_and_those_before_the_agents_own(
    parts: HomeContainer, context: ScopeContext
) -> None:
    set_in_home(parts, defaultModel=REMOTE)
    set_settings(parts, '[dream]\nengine = "ollama:qwen3:8b"\n')
    desk = models(parts, {"ANTHROPIC_API_KEY": "k" * 20})
    assert desk.choose(context, "rules").engine == "rules"
    assert desk.choose(context, "auto").engine == "ollama:qwen3:8b"
    set_settings(parts, "")
    assert desk.choose(context, "auto", before_consent=True).engine == REMOTE


def test_the_agents_own_model_without_a_key_is_the_rules_and_says_why(
    parts: HomeContainer, context: ScopeContext
) -> None:
    set_in_home(parts, defaultModel=REMOTE)
    choice = models(parts).choose(context, "auto", before_consent=True)
    assert choice.engine == "rules"
    assert "no key" in choice.reason
    assert models(parts, keys=Keys(anthropic="k" * 20)).view(context).engine == REMOTE


def test_a_dream_that_the_home_switched_off_is_not_done_by_its_model(
    parts: HomeContainer, context: ScopeContext
) -> None:
    set_in_home(parts, defaultModel=REMOTE, agentAiDefaults={"dream": {"enabled": False}})
    assert models(parts, {"ANTHROPIC_API_KEY": "k" * 20}).view(context).engine == "rules"


@pytest.mark.parametrize(
    ("config", "model"),
    [
        ("[memories]\nextract_model = 'gpt-5-mini'\n", "openai:gpt-5-mini"),
        ("model_provider = 'oss'\n[memories]\nextract_model = 'qwen3:8b'\n", "ollama:qwen3:8b"),
        ("model = 'gpt-5'\n[memories]\nextract_model = ' '\n", None),
        ("memories = 1\n", None),
        ("[memories]\nextract_model = 3\n", None),
        ("[memories\n", None),
        ("", None),
    ],
)
def test_each_phase_uses_the_model_that_codex_would_and_none_where_it_names_none(
    tmp_path: Path, config: str, model: str | None
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(config)
    home, gone = CodexHome(tmp_path), CodexHome(tmp_path / "gone")
    assert (home.extraction_model(), home.dream_config(None).model) == (model, None)
    file.write_text(config.replace("extract_model", "consolidation_model"))
    assert (home.extraction_model(), home.dream_config(None).model) == (None, model)
    assert (gone.extraction_model(), gone.dream_config(None).model) == (None, None)


def test_nothing_goes_away_before_a_person_agreed_and_then_it_may(
    parts: HomeContainer, context: ScopeContext
) -> None:
    set_in_home(parts, defaultModel=REMOTE)
    desk = models(parts, {"ANTHROPIC_API_KEY": "k" * 20, "OPENAI_API_KEY": "k" * 20})
    assert desk.choose(context, "auto").engine == "rules"
    (parts.home.root / "memory/global/huge.md").write_text("x" * 200_000)
    needed = desk.consent_needed(context, REMOTE)
    assert needed is not None
    assert "/memories/global/huge.md" in needed.stays
    assert not set(needed.stays) & set(needed.files)
    assert needed.destination == "https://api.anthropic.com"
    assert "/memories/global/testing.md" in needed.files
    assert needed.secrets_hidden >= 1
    with pytest.raises(StoreError) as refused:
        desk.require_consent(REMOTE)
    assert refused.value.reason == "consent"
    desk.give_consent(REMOTE)
    assert desk.consent_needed(context, REMOTE) is None
    assert desk.choose(context, "auto").engine == REMOTE
    elsewhere = desk.consent_needed(context, "openai:gpt-5")
    assert elsewhere is not None
    assert elsewhere.destination == "https://api.openai.com"


def test_rules_and_local_models_need_no_consent(parts: HomeContainer, context: ScopeContext) -> None:
    desk = models(parts)
    for engine in ("rules", "ollama:qwen3:8b"):
        assert desk.consent_needed(context, engine) is None
        desk.require_consent(engine)


def test_a_remote_dream_by_hand_is_refused_without_consent_and_sends_nothing(
    parts: HomeContainer, context: ScopeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k" * 20)
    with pytest.raises(StoreError) as refused:
        Workbench(parts).start_dream(
            context,
            dry_run=True,
            engine=REMOTE,
            progress=lambda _progress: None,
            cancel=threading.Event(),
        )
    assert refused.value.reason == "consent"
    assert parts.runs.ids() == ()


def test_the_homes_own_prompt_is_used_and_a_malformed_one_is_told(
    parts: HomeContainer, context: ScopeContext
) -> None:
    with ModelServer([Reply(text="Done."), Reply(text="Done.")]) as server:
        set_settings(parts, f'[providers.vllm]\nbase_url = "{server.openai_url}"\n')
        bench = Workbench(parts)
        agents = parts.home.root / "agents"
        agents.mkdir(exist_ok=True)
        for text in ("---\nname: Dream\n---\nOnly fix typos.\n", "no front matter"):
            (agents / "dream.md").write_text(text)
            run = bench.start_dream(
                context,
                dry_run=True,
                engine="vllm:test-model",
                progress=lambda _progress: None,
                cancel=threading.Event(),
            )
            assert run.outcome == "unchanged", run.summary
        assert server.requests[0].system.startswith("Only fix typos.")
        assert not server.requests[1].system.startswith("Only fix typos.")
    told = [entry.text for entry in parts.activity.read(20) if entry.event == "dream.prompt"]
    assert len(told) == 1
    assert "built-in" in told[0]


def test_a_key_is_kept_in_the_keyring_and_forgotten(parts: HomeContainer, context: ScopeContext) -> None:
    keys = Keys()
    desk = models(parts, keys=keys)
    desk.set_key("openai", "k" * 20)
    source = {info.name: info.key_source for info in desk.view(context).providers}
    assert (source["openai"], source["anthropic"]) == ("keyring", "missing")
    desk.forget_key("openai")
    assert keys == {}


def test_a_test_of_a_model_says_each_step(parts: HomeContainer) -> None:
    with ModelServer() as server:
        server.answer = lambda _request: Reply(status=404, error="no such model")
        set_settings(parts, f'[providers.vllm]\nbase_url = "{server.openai_url}"\n')
        lines = {line.name: line.state for line in models(parts).test("vllm:nothing")}
    assert lines["reachable"] == "pass"
    assert lines["model"] == "fail"
    assert models(parts).test("nobody:x")[0].state == "fail"


# What was spent


def record(number: int, started: int, cost: float | None = 0.5, **more: Any) -> RunRecord:
    fields: dict[str, Any] = {
        "workspace_id": ACME,
        "project_path": "/p",
        "usage": {"inputTokens": 100, "outputTokens": 10},
        "details": {"costUsd": cost},
        **more,
    }
    return RunRecord(
        id=f"{started}-{number:08x}",
        kind="dream",
        home_id="h",
        home_root="/h",
        trigger="manual",
        engine="m",
        started_at=started,
        **fields,
    )


def test_a_run_counts_for_its_workspace_its_project_and_everything() -> None:
    context = ScopeContext(ACME, "/p")
    records = [
        record(3, NOW, workspace_id="other", project_path="/q"),
        record(2, NOW - HOUR_MS, workspace_id="sibling"),
        record(1, NOW - 2 * HOUR_MS),
    ]
    spent = spent_by_scope(records, context, now=NOW)
    months = [spent[scope].month_tokens for scope in (Scope.WORKSPACE, Scope.PROJECT, Scope.GLOBAL)]
    assert months == [110, 220, 330]
    assert spent[Scope.GLOBAL].month_cost == pytest.approx(1.5)


def test_last_month_counts_for_the_last_run_only_and_an_unknown_price_is_not_nothing() -> None:
    old = record(1, month_start(NOW) - 1)
    context = ScopeContext(ACME, "/p")
    only_old = spent_by_scope([old], context, now=NOW)[Scope.WORKSPACE]
    assert (only_old.last_tokens, only_old.month_tokens, only_old.month_cost) == (110, 0, None)
    mixed = spent_by_scope([record(2, NOW, None), record(3, NOW), old], context, now=NOW)[Scope.WORKSPACE]
    assert (mixed.last_cost, mixed.month_cost, mixed.month_unknown) == (None, 0.5, True)


def test_runs_by_rules_cost_nothing_and_are_no_last_run() -> None:
    by_rules = record(2, NOW, usage=None, details={})
    spent = spent_by_scope([by_rules, record(1, NOW - 1)], ScopeContext(ACME, "/p"), now=NOW)
    assert spent[Scope.WORKSPACE].last_tokens == 110
    assert spent_by_scope([by_rules], ScopeContext(ACME, None), now=NOW)[Scope.PROJECT].month_tokens == 0


CODEX_SERVICES = """
model_provider = "work"
[model_providers.work]
name = "Work"
base_url = "http://127.0.0.1:9/v1"
wire_api = "responses"
[model_providers.far]
base_url = "https://models.example.com/v1"
env_key = "FAR_KEY"
http_headers = { X-Team = "blue", "bad name" = "x", Y = 7 }
[model_providers.login]
base_url = "https://api.example.com/v1"
requires_openai_auth = true
[model_providers.azure]
base_url = "https://azure.example.com/openai"
query_params = { api-version = "1" }
[model_providers.token]
base_url = "https://token.example.com/v1"
experimental_bearer_token = "in-the-file"
[model_providers.odd]
base_url = "https://odd.example.com/v1"
wire_api = "smoke signals"
[model_providers.listed]
base_url = "https://listed.example.com/v1"
wire_api = ["chat"]
[model_providers."no:name"]
base_url = "https://x.example.com"
[model_providers.nowhere]
base_url = 7
[memories]
extract_model = "small"
consolidation_model = "large"
"""


def codex_parts(tmp_path: Path, config: str) -> HomeContainer:
    root = tmp_path / "codex"
    (root / "sessions" / "2026").mkdir(parents=True)
    (root / "config.toml").write_text(config)
    (root / "auth.json").write_text("never read")
    (root / "auth.json").chmod(0)
    return open_parts(root, Profile.under(tmp_path / "profile"), lambda: 0)


def test_the_services_of_codex_are_offered_with_their_addresses_and_keys(tmp_path: Path) -> None:
    found = models(codex_parts(tmp_path, CODEX_SERVICES), {"FAR_KEY": "k" * 20})
    offered = {service.name: service for service in found.services()}
    assert (offered["work"].base_url, offered["work"].key_source) == ("http://127.0.0.1:9/v1", "none needed")
    assert (offered["far"].base_url, offered["far"].key_source) == (
        "https://models.example.com/v1",
        "environment",
    )
    assert offered["token"].key_source == "missing", "a token in the settings is never used"
    assert not {"login", "azure", "no:name", "nowhere", "odd", "listed"} & offered.keys()
    assert found.provider("far:m").destination == "https://models.example.com"
    assert found.choose_extraction(AUTO).engine == "work:small"
    assert found.choose(None, AUTO).engine == "work:large"


def test_headers_of_a_service_are_taken_and_never_printed(tmp_path: Path) -> None:
    services = {each.name: each for each in codex_parts(tmp_path, CODEX_SERVICES).home.model_services()}
    assert services["far"].headers == {"X-Team": "blue"}
    assert services["far"].wire == "openai-responses", "which is what Codex takes when nothing is said"
    assert "blue" not in repr(services["far"])


def test_the_settings_win_over_a_service_of_codex(tmp_path: Path) -> None:
    parts = codex_parts(tmp_path, "[model_providers.work]\nbase_url = 'http://127.0.0.1:9/v1'\n")
    set_settings(parts, "[providers.work]\nbase_url = 'http://127.0.0.1:8/v1'\n")
    assert {each.name: each.base_url for each in models(parts).services()}["work"] == "http://127.0.0.1:8/v1"


@pytest.mark.parametrize("config", ["model_providers = 3", "[model_providers]\nx = 1", "[broken", ""])
def test_settings_without_services_offer_none(tmp_path: Path, config: str) -> None:
    assert codex_parts(tmp_path, config).home.model_services() == ()
