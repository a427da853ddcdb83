"""The Doctor behind the engine: what crosses the wire, and what is mended there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers.benches import NOW
from helpers.model_runs import write_settings
from helpers.samples import copy_sample
from reverie.agents.scopes import ScopeContext
from reverie.cli import main
from reverie.doctor.findings import FindingView, FixOffer
from reverie.engine.client import EngineClient
from reverie.engine.doctor import Examination
from reverie.engine.engine import HomeEngine, ProfileEngine
from reverie.engine.process import inline_channel
from reverie.profile import Profile
from reverie.settings import load_settings
from reverie.text.summaries import plain
from reverie.values import replace

ACME = "a1f3c9e2b7"
LEVEL = "info"


@pytest.fixture
def profile(tmp_path: Path) -> Profile:
    return Profile.under(tmp_path / "profile")


@pytest.fixture
def home(profile: Profile, tmp_path: Path) -> Iterator[HomeEngine]:
    engine = ProfileEngine(profile, lambda: NOW)
    client = EngineClient(lambda: inline_channel(engine))
    info = client.services.open(copy_sample("mux-home", tmp_path)).info
    yield client.home(info.root, info.id)
    client.stop()
    engine.close()


@pytest.fixture
def context(home: HomeEngine) -> ScopeContext:
    return home.context(ACME, None)


def finding(found: Examination, check: str) -> FindingView:
    return next(each for each in found.findings if each.check == check)


def test_the_findings_and_the_fix_are_those_of_the_command(
    home: HomeEngine,
    context: ScopeContext,
    profile: Profile,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def by_command(*words: str) -> list[tuple[str, str, str | None]]:
        root = str(context_root)
        options = ["--profile", str(tmp_path / "profile"), "--now", str(NOW), "--home", root]
        main([*options, "doctor", "--workspace", ACME, "--json", *words])
        found = json.loads(capsys.readouterr().out)
        return [(each["check"], each["evidence"], each["fix"]) for each in found]

    def by_engine() -> list[tuple[str, str, str | None]]:
        found = home.doctor.examine(context, log_level=LEVEL).findings
        # The command has no window whose log could be switched.
        return [
            (each.check, each.evidence, each.fix.label if each.fix and each.check != "log-level" else None)
            for each in found
        ]

    context_root = home.contents().root
    before = by_engine()
    assert before == by_command()
    shown = finding(home.doctor.examine(context, log_level=LEVEL), "feature")
    assert home.doctor.fix(context, shown, log_level=LEVEL)
    assert load_settings(profile.settings_file)[0].system1.enabled
    after = by_engine()
    assert after == by_command() != before
    assert not home.doctor.fix(context, shown, log_level=LEVEL), "mended: it is not offered any more"


def test_nothing_is_applied_that_was_not_shown(
    home: HomeEngine, context: ScopeContext, profile: Profile
) -> None:
    shown = finding(home.doctor.examine(context, log_level=LEVEL), "feature")
    other = replace(shown, fix=FixOffer(plain("Turn on"), "Something else was agreed to."))
    assert not home.doctor.fix(context, other, log_level=LEVEL)
    assert not load_settings(profile.settings_file)[0].system1.enabled


def test_the_log_of_the_client_is_told_of_and_not_that_of_the_engine(
    home: HomeEngine, context: ScopeContext
) -> None:
    quiet = finding(home.doctor.examine(context, log_level="info"), "log-level")
    assert quiet.fix == FixOffer(plain("Turn on debug logging"))
    loud = finding(home.doctor.examine(context, log_level="debug (REVERIE_DEBUG)"), "log-level")
    assert loud.evidence.startswith("debug (REVERIE_DEBUG): ")
    assert loud.fix is None


def test_what_only_a_test_of_the_model_found_is_mended_without_another_one(
    home: HomeEngine, context: ScopeContext, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(
        profile.config.parent,
        '[system1]\nenabled = true\nmodel = "ollama:none"\n'
        '[providers.ollama]\nbase_url = "http://127.0.0.1:9/v1"\nmax_retries = 0\n',
    )
    found = home.doctor.examine(context, log_level=LEVEL, with_probe=True)
    shown = finding(found, "model-reachable")
    assert shown.state == "fail"
    assert found.probe
    monkeypatch.setattr("reverie.services.models.Models.test", lambda *_: pytest.fail("asked again"))
    assert shown.fix is not None
    assert home.doctor.fix(context, shown, log_level=LEVEL, probe=found.probe)
    assert load_settings(profile.settings_file)[0].system1.model == "rules"
