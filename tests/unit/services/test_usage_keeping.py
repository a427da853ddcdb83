"""Pins that a running agent overwrites: who puts them back, what a person reads of it, what is marked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers.benches import again, sample_parts, workspace
from helpers.samples import snapshot
from helpers.watching import wait_until
from reverie.context.gather import gather
from reverie.context.mux import mux_context
from reverie.files.watch import Changes
from reverie.services.container import HomeContainer
from reverie.services.host import EVENT, Host, keep_usage
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
STYLE = "/memories/global/commit-style.md"
KEY = "global:commit-style.md"


class Agent:
    """A running agent: it has read its sidecar, and writes all of it at each use."""

    def __init__(self, parts: HomeContainer) -> None:
        self._file = parts.home.root / "memory-meta.json"
        self._data = json.loads(self._file.read_text(encoding="utf-8"))

    def use(self) -> None:
        entry = self._data["entries"]["global:testing.md"]
        entry["accessCount"] += 1
        entry["lastAccessedAt"] += 1000
        new = self._file.with_name("memory-meta.json.tmp")
        new.write_text(json.dumps(self._data, indent=2, ensure_ascii=False), encoding="utf-8")
        new.replace(self._file)


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


def is_pinned(parts: HomeContainer) -> bool:
    return parts.usage.load()[KEY].pinned


def entries(parts: HomeContainer) -> list[str]:
    return [entry.text for entry in parts.activity.read() if entry.event == EVENT]


def test_a_person_reads_of_it_once_however_often_it_is_put_back(parts: HomeContainer) -> None:
    agent = Agent(parts)
    Workbench(parts).edits.pin(workspace(parts, ACME), [STYLE], True)
    for _ in range(5):
        agent.use()
        keep_usage(parts)
        assert is_pinned(parts)
    (text,) = entries(parts)
    assert text == (
        "mux is running and overwrites pins and use counts. Reverie keeps 1 change and "
        "writes them again until the agent is restarted."
    )
    Agent(parts).use()
    keep_usage(parts)
    assert is_pinned(parts)
    agent.use()
    keep_usage(parts)
    assert len(entries(parts)) == 1


def test_the_window_notes_it_at_once_and_puts_it_back_when_it_asks_again(parts: HomeContainer) -> None:
    workbench, agent = Workbench(parts), Agent(parts)
    workbench.start_history()
    workbench.edits.pin(workspace(parts, ACME), [STYLE], True)
    agent.use()
    changed = Changes(frozenset({parts.home.root / "memory-meta.json"}), False, 1, ())
    assert workbench.observe(changed).pending
    assert not is_pinned(parts)
    wait_until(lambda: not workbench.keep_usage().pending)
    assert is_pinned(parts)
    other = Changes(frozenset({parts.home.root / "config.json"}), False, 1, ())
    agent.use()
    assert not workbench.observe(other).pending


def test_the_background_services_put_it_back_while_they_run(parts: HomeContainer) -> None:
    agent = Agent(parts)
    Workbench(parts).edits.pin(workspace(parts, ACME), [STYLE], True)
    agent.use()
    host = Host(parts, retry_s=0.02)
    try:
        assert host.start().state == "hosting"
        wait_until(lambda: is_pinned(parts))
        agent.use()
        wait_until(lambda: is_pinned(parts))
    finally:
        host.stop()
    assert len(entries(parts)) == 1


def test_a_pin_that_the_agent_does_not_know_is_marked_in_tree_and_context(parts: HomeContainer) -> None:
    def marks() -> tuple[set[str], set[str]]:
        context = workspace(parts, ACME)
        view = Workbench(parts).view(context)
        files = [file for listing in view.scopes.values() for file in listing.files]
        facts = gather(parts.home, context, view.scopes, times=(0,))
        listed = [entry for part in mux_context(facts, 0, {}).parts for entry in part.entries]
        return (
            {file.rel for file in files if file.usage.unknown_to_agent},
            {entry.path for entry in listed if entry.pin_unknown},
        )

    agent = Agent(parts)
    Workbench(parts).edits.pin(workspace(parts, ACME), [STYLE], True)
    assert marks() == (set(), set())
    agent.use()
    keep_usage(parts)
    assert marks() == ({"commit-style.md"}, {STYLE})
    Agent(parts).use()
    keep_usage(parts)
    assert marks() == (set(), set())


def test_looking_puts_nothing_back(parts: HomeContainer) -> None:
    agent = Agent(parts)
    Workbench(parts).edits.pin(workspace(parts, ACME), [STYLE], True)
    agent.use()
    before = snapshot(parts.home.root)
    Workbench(again(parts)).view(workspace(parts, ACME))
    assert snapshot(parts.home.root) == before
