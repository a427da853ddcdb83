"""Reverie's own writes are no use of a memory; those of its commands count, apart from the agent's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.benches import sample_parts, workspace
from reverie.agents.scopes import ScopeContext
from reverie.memory.own_uses import FILE, MOST_GONE, Tally
from reverie.memory.usage_rules import MemoryUsage
from reverie.services.container import HomeContainer
from reverie.services.edits import UserEdits

ACME = "a1f3c9e2b7"
PATH, KEY = "/memories/global/notes.md", "global:notes.md"


@pytest.fixture
def parts(tmp_path: Path) -> HomeContainer:
    return sample_parts("mux-home", tmp_path)


@pytest.fixture
def context(parts: HomeContainer) -> ScopeContext:
    return workspace(parts, ACME)


def counts(parts: HomeContainer, key: str = KEY) -> tuple[int, int]:
    """(the agent's, ours)"""
    usage = parts.usage.load_for_showing().get(key, MemoryUsage())
    assert usage.access_count == parts.usage.load().get(key, MemoryUsage()).access_count
    return usage.agent_count, usage.own_count


def test_saves_and_pins_by_hand_are_no_use_and_those_by_command_are(
    parts: HomeContainer, context: ScopeContext
) -> None:
    store = parts.store(context, actor="agent")
    store.create(PATH, "one\n")
    parts.usage.record_read(KEY)
    assert counts(parts) == (2, 0)

    hand = UserEdits(parts)
    text = hand.read(context, PATH)
    text = hand.save(context, PATH, "two\n", text.sha256)
    hand.save(context, PATH, "three\n", text.sha256)
    used = parts.usage.load()[KEY]
    assert used.last_write_at == parts.clock(), "sweeps go by it"
    assert counts(parts) == (2, 0)
    pinned = hand.pin(context, [PATH], True)
    assert counts(parts) == (2, 0)
    hand.undo(pinned)
    assert parts.usage.load()[KEY] == used
    parts.store(context, actor="user").pin(PATH, True)
    assert counts(parts) == (2, 1), "by a command it counts, as the agent's own does"
    parts.store(context, actor="agent").pin(PATH, True)
    assert counts(parts) == (3, 1)


def test_the_tally_follows_a_move_and_comes_back_with_an_undone_delete(
    parts: HomeContainer, context: ScopeContext
) -> None:

    hand = UserEdits(parts)
    parts.store(context, actor="agent").create(PATH, "one\n")
    parts.store(context, actor="user").pin(PATH, True)
    renamed = hand.rename(context, PATH, "/memories/global/other.md")
    assert counts(parts, "global:other.md") == (1, 1), "a rename by a person is no use"
    hand.undo(renamed)
    assert counts(parts) == (1, 1)
    deleted = hand.delete(context, PATH)
    assert counts(parts) == (0, 0)
    hand.undo(deleted)
    assert counts(parts) == (1, 1)


def test_a_rename_of_an_unused_memory_counts_nothing(parts: HomeContainer, context: ScopeContext) -> None:

    file = parts.home.root / "memory/global/unused.md"
    file.write_text("Never used.\n")
    UserEdits(parts).rename(context, "/memories/global/unused.md", "/memories/global/still-unused.md")
    assert "global:still-unused.md" not in parts.usage.load()


def test_what_a_run_counts_is_ours_and_its_undo_takes_it_back() -> None:
    tally = Tally({"kept": 1, "goes": 2})
    before = {"kept": MemoryUsage(access_count=9), "goes": MemoryUsage(access_count=4), "made": None}
    after = {"kept": MemoryUsage(access_count=10), "goes": None, "made": MemoryUsage(access_count=1)}
    tally.apply(before, after)
    assert tally.uses == {"kept": 2, "made": 1}
    tally.apply(after, before)
    assert tally.uses == {"kept": 1, "goes": 2}


def test_the_uses_of_the_agent_stay_its_own_when_a_deleted_memory_comes_back(
    parts: HomeContainer, context: ScopeContext
) -> None:
    parts.store(context, actor="agent").create(PATH, "one\n")
    for _ in range(3):
        parts.usage.record_read(KEY)
    hand = UserEdits(parts)
    hand.undo(hand.delete(context, PATH))
    assert counts(parts) == (4, 0)
    run, undone = Tally(), {"goes": MemoryUsage(access_count=4)}
    run.apply(undone, {"goes": None})
    run.apply({"goes": None}, undone)
    assert run.uses == {}


def test_a_folder_takes_its_tally_along_and_what_was_deleted_is_not_kept_for_ever() -> None:
    tally = Tally({"global:a/x": 1, "global:a/y": 2, "global:ab": 3})
    tally.move("global:a", "global:b")
    assert tally.uses == {"global:b/x": 1, "global:b/y": 2, "global:ab": 3}
    tally.drop("global:b")
    assert (tally.uses, tally.gone) == ({"global:ab": 3}, {"global:b/x": 1, "global:b/y": 2})
    tally = Tally({str(number): 1 for number in range(MOST_GONE + 5)})
    for key in list(tally.uses):
        tally.drop(key)
    assert len(tally.gone) == MOST_GONE
    assert "0" not in tally.gone


@pytest.mark.parametrize("damage", ["{", "[]", '{"uses": {"global:notes.md": "x", "b": -1, "c": true}}'])
def test_a_damaged_tally_costs_only_itself(parts: HomeContainer, context: ScopeContext, damage: str) -> None:
    parts.store(context, actor="agent").create(PATH, "one\n")
    parts.own_sidecars.mkdir(parents=True, exist_ok=True)
    (parts.own_sidecars / FILE).write_text(damage)
    assert counts(parts) == (1, 0)
    parts.usage.set_pinned(KEY, True, own=True)
    assert counts(parts) == (1, 1)


@pytest.mark.parametrize("made", [MemoryUsage(False, 2, 90, 90), MemoryUsage(False, 3, 90, 90)])
def test_what_is_written_first_while_another_goes_takes_none_of_its_uses(made: MemoryUsage) -> None:
    """Two may count alike by chance, as in the first consolidation of the demo."""
    tally, gone = Tally(), MemoryUsage(False, 2, 10, 10)
    before, after = {"goes": gone, "written": None}, {"goes": None, "written": made}
    tally.apply(before, after)
    tally.apply({"goes": None}, {"goes": gone})
    assert "goes" not in tally.uses
