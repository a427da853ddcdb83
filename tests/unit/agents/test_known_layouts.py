"""Which layouts and versions are known, and what of a home is not, agent by agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.samples import SAMPLES, copy_sample, snapshot
from helpers.unknown_layouts import DAMAGES, HARMLESS, WORLDS, codex, loki, mux, put
from reverie.agents.base import Home
from reverie.agents.codex.home import CodexHome
from reverie.agents.scopes import Refusal, Scope, ScopeRoot


def found(home: Home) -> tuple[Refusal, ...]:
    roots: tuple[ScopeRoot | None, ...] = (None, *home.roots())
    return tuple(dict.fromkeys(each for root in roots for each in home.write_refusals(root)))


@pytest.mark.parametrize(
    ("agent", "name"), [(agent, name) for agent, damages in DAMAGES.items() for name in damages]
)
def test_what_reverie_does_not_know_is_named_with_its_evidence(agent: str, name: str, tmp_path: Path) -> None:
    home = WORLDS[agent](tmp_path)
    damage, evidence = DAMAGES[agent][name]
    damage(home.root)
    before = snapshot(home.root)
    refused = found(home)
    assert {each.reason for each in refused} == {"unknown-layout"}
    told = " ".join(each.evidence for each in refused)
    assert evidence in told
    assert "Reverie" in told
    assert all(each.permissible and each.title and each.next_step for each in refused)
    assert found(home) == refused, "a permission needs evidence that stays the same"
    assert snapshot(home.root) == before


@pytest.mark.parametrize(
    ("agent", "name"), [(agent, name) for agent, changes in HARMLESS.items() for name in changes]
)
def test_what_is_known_or_only_more_is_no_reason(agent: str, name: str, tmp_path: Path) -> None:
    home = WORLDS[agent](tmp_path)
    HARMLESS[agent][name](home.root)
    assert found(home) == ()


def test_the_homes_that_the_agents_made_are_known(tmp_path: Path) -> None:
    from reverie.agents.discovery import User, open_home

    # The sample rollouts are transcripts without a home.
    homes = {each.name for each in SAMPLES.iterdir() if each.is_dir()} - {"codex-rollouts", "profile-0.1"}
    for name in sorted(homes):
        root = copy_sample(name, tmp_path / name)
        home = open_home(root, tmp_path / "cache", User({}, tmp_path))
        assert home.roots(), name
        assert found(home) == (), name


def test_a_home_of_a_generation_to_come_alone_is_told_so(tmp_path: Path) -> None:
    put("memories_v3/memory_summary.md", "v1\n")(tmp_path)
    home = CodexHome(tmp_path)
    root = home.scope_root(home.context(), Scope.GLOBAL)
    assert root.read_only == "Codex stores its memory in memories_v3/ here, which Reverie does not recognize."
    steps = {each.next_step for each in home.write_refusals(root) if each.permissible}
    assert steps
    assert not any("--workspace" in step for step in steps)


def test_unknown_memories_of_codex_leave_its_instructions_writable(tmp_path: Path) -> None:
    home = codex(tmp_path)
    put("memories_v3/x.md")(home.root)
    assert home.write_refusals() == ()
    assert all(home.write_refusals(root) for root in home.roots())


def test_another_version_has_other_evidence(tmp_path: Path) -> None:
    home = loki(tmp_path)
    seen = set()
    for version in ("3.0", "4.0", "5"):
        put("memory/index.json", f'{{"version": "{version}"}}')(home.root)
        seen |= {each.evidence for each in found(home)}
    assert len(seen) == 3


def test_the_journal_of_the_session_in_question_is_found_among_many(tmp_path: Path) -> None:
    home = mux(tmp_path)
    for number in range(300):
        (home.root / "sessions" / f"{number:010x}").mkdir()
    put("sessions/0000000123/durable-events.jsonl")(home.root)
    root = home.scope_root(home.context(workspace_id="0000000123"), Scope.WORKSPACE)
    (refusal,) = home.write_refusals(root)
    assert "durable-events.jsonl" in refusal.evidence
