"""Pins and use in the agent's own sidecar: nothing anybody wrote is lost, not even to a running agent's
cache.

Rules: formats/mux.md section 8; design.md section 4 (lost-update promise, deliberate differences).
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.foreign_home import make_foreign_home
from helpers.profiles import examples
from helpers.samples import copy_sample, snapshot
from reverie.agents.base import Home
from reverie.agents.mux.home import MuxHome
from reverie.agents.mux.stores import MuxStores
from reverie.errors import Conflict, Unavailable, UserError
from reverie.files.atomic import set_observer
from reverie.memory.usage import LEDGER, UsageLog
from reverie.memory.usage_rules import MemoryUsage, to_raw, usages

START = 1_787_300_000_000
A, B, NEW = "global:commit-style.md", "global:testing.md", "global:new.md"


class Time:
    """A clock that goes on by a second each time it is asked."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += 1000
        return self.now


def log_of(home: Home, directory: Path, clock: Callable[[], int] | None = None) -> UsageLog:
    own = directory / "own" / "memory-meta.json"
    return UsageLog(home, own_sidecar=own, lock_dir=directory / "locks", clock=clock or Time())


@pytest.fixture
def home(tmp_path: Path) -> MuxHome:
    return MuxHome(copy_sample("mux-home", tmp_path))


@pytest.fixture
def clock() -> Time:
    """One clock for Reverie and the agent, as on one machine."""
    return Time()


@pytest.fixture
def log(home: MuxHome, tmp_path: Path, clock: Time) -> UsageLog:
    return log_of(home, tmp_path, clock)


def sidecar(home: MuxHome) -> Path:
    return home.root / "memory-meta.json"


def raw(home: MuxHome) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(sidecar(home).read_text(encoding="utf-8"))
    return data


def rewrite(home: MuxHome, data: object) -> None:
    sidecar(home).write_text(json.dumps(data, indent=2), encoding="utf-8")


# Reading and writing


def test_the_sample_sidecar_is_read_whole_and_left_alone(home: MuxHome, log: UsageLog):
    before = snapshot(home.root)
    found = log.load()
    assert found == usages(raw(home))
    assert len(found) == len(raw(home)["entries"])
    assert found["project:/home/dev/projects/data-pipeline:kafka%3Atopics.md"].access_count == 3
    assert log.reapply_lost().keys == ()
    assert snapshot(home.root) == before


def test_a_use_changes_its_entry_and_no_other_byte(home: MuxHome, log: UsageLog):
    before = sidecar(home).read_text(encoding="utf-8")
    log.record_read(B)
    old, new = (
        '"accessCount": 7,\n      "lastAccessedAt": 1787072280000',
        '"accessCount": 8,\n      "lastAccessedAt": ',
    )
    after = sidecar(home).read_text(encoding="utf-8")
    # A file that Reverie wrote is known by the newline at its end, which the agent never writes.
    assert after == before.replace(old, new + str(log.load()[B].last_accessed_at)) + "\n"


def test_every_change_does_what_the_agents_own_code_would(home: MuxHome, log: UsageLog):
    log.record_write(NEW)
    log.set_pinned(NEW, True)
    log.record_read(NEW)
    log.rename("global:people", "global:staff")
    log.delete("global:machines")
    log.set_pinned("global:preferences.md", False)
    found = log.load()
    assert found[NEW] == MemoryUsage(True, 3, found[NEW].last_accessed_at, found[NEW].last_write_at)
    assert {key for key in found if "people" in key or "machines" in key} == set()
    assert found["global:staff/reviewers.md"] == MemoryUsage(False, 5, 1786961702055, 1785088800000)
    assert found["global:staff"].access_count == 1
    assert found["global:preferences.md"] == MemoryUsage(False, 11, 1787146800000, 1783328400000)


def test_what_changes_nothing_writes_nothing(home: MuxHome, log: UsageLog):
    before = snapshot(home.root)
    log.delete("global:nobody.md")
    log.set_pinned(B, False)
    log.apply_delta({}, {})
    log.apply_delta({B: MemoryUsage()}, {B: MemoryUsage()})
    assert snapshot(home.root) == before


def test_a_missing_sidecar_is_none_yet_and_made_by_the_first_change(home: MuxHome, log: UsageLog):
    sidecar(home).unlink()
    assert log.load() == {}
    log.record_read(A)
    assert list(raw(home)["entries"]) == [A]


def test_unknown_fields_survive_at_every_level(home: MuxHome, log: UsageLog):
    data = raw(home)
    data["version"] = 7
    data["entries"][A]["label"] = {"colour": "red"}
    data["entries"]["future:x"] = {"weight": 2}
    rewrite(home, data)
    log.record_read(A)
    log.rename(A, NEW)
    after = raw(home)
    assert after["version"] == 7
    assert after["entries"][NEW]["label"] == {"colour": "red"}
    assert after["entries"]["future:x"] == {"weight": 2}


def test_one_bad_record_empties_nothing_and_is_kept_beside_the_sidecar(home: MuxHome, log: UsageLog):
    data = raw(home)
    data["entries"] |= {"bad:1": None, "bad:2": ["x"], "bad:3": {"accessCount": "lots"}}
    rewrite(home, data)
    known = log.load()
    assert len(known) == len(data["entries"]) - 3
    before = snapshot(home.root)
    log.delete("global:nobody.md")
    assert snapshot(home.root) == before
    log.record_read(B)
    assert raw(home)["entries"]["bad:3"] == {"accessCount": "lots"}
    assert not {"bad:1", "bad:2"} & raw(home)["entries"].keys()
    rejected = home.root / "memory-meta.json.rejected.json"
    assert json.loads(rejected.read_text(encoding="utf-8")) == {"bad:1": [None], "bad:2": [["x"]]}
    assert log.load().keys() == known.keys()


def test_entries_of_another_shape_are_kept_beside_the_sidecar(home: MuxHome, log: UsageLog):
    rewrite(home, {"entries": ["not", "mine"], "more": 1})
    assert log.load() == {}
    log.record_read(B)
    assert raw(home)["more"] == 1
    assert list(raw(home)["entries"]) == [B]
    rejected = home.root / "memory-meta.json.rejected.json"
    assert json.loads(rejected.read_text(encoding="utf-8")) == {"entries": [["not", "mine"]]}


def test_an_unreadable_sidecar_reads_as_nothing_and_is_set_aside_by_the_first_change(
    home: MuxHome, log: UsageLog
):
    sidecar(home).write_text('{"entries": {', encoding="utf-8")
    assert log.load() == {}
    assert [path.name for path in home.root.glob("memory-meta.json*")] == ["memory-meta.json"]
    log.record_read(B)
    aside = list(home.root.glob("memory-meta.json.unreadable-*"))
    assert [path.read_text(encoding="utf-8") for path in aside] == ['{"entries": {']


def test_a_vanished_home_has_no_usage_rather_than_empty_usage(home: MuxHome, log: UsageLog, tmp_path: Path):
    log.record_read(B)
    home.root.rename(tmp_path / "elsewhere")
    for act in (log.load, lambda: log.record_read(B), log.reapply_lost):
        with pytest.raises(Unavailable):
            act()
    assert not home.root.exists()


def test_a_home_without_a_sidecar_gets_one_in_reveries_own_directory(tmp_path: Path):
    home = make_foreign_home(tmp_path / "jotter", "/p")
    before = snapshot(home.root)
    log = log_of(home, tmp_path)
    assert log.load() == {}
    log.set_pinned("common|a.md", True)
    log.rename("common|a.md", "common|b.md")
    assert log.load()["common|b.md"].pinned
    assert log.reapply_lost().keys == ()
    assert snapshot(home.root) == before
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["memory-meta.json"]


def test_a_delta_is_merged_three_ways(home: MuxHome, log: UsageLog):
    before = {A: log.load()[A], B: log.load()[B], NEW: None}
    after = {A: None, B: MemoryUsage(True, 8, 5, 5), NEW: MemoryUsage(False, 1, 3, 3)}
    log.record_read(B)
    log.apply_delta(before, after)
    found = log.load()
    assert A not in found
    assert (found[B].pinned, found[B].access_count) == (True, 8)
    assert found[B].last_accessed_at > 5
    assert found[B].last_write_at == 5
    log.apply_delta(after, before)
    assert (log.load()[A], NEW in log.load()) == (before[A], False)


def test_a_delta_taken_back_leaves_a_use_that_somebody_else_counted_meanwhile(log: UsageLog):
    used = log.load()[B]
    counted = MemoryUsage(used.pinned, used.access_count + 1, START, START)
    log.record_read(B)
    log.apply_delta({B: used}, {B: counted})
    log.apply_delta({B: counted}, {B: used})
    assert log.load()[B].access_count == used.access_count + 1


# Keys of the real home


@given(
    st.tuples(st.text(max_size=8), st.text(max_size=8)), st.tuples(st.text(max_size=8), st.text(max_size=8))
)
def test_keys_of_different_projects_and_paths_never_collide(one: tuple[str, str], two: tuple[str, str]):
    def key(owner: str, rel: str) -> str:
        home = MuxHome(Path("/nowhere"))
        found = home.usage_key(MuxStores(home.root).project_root("x", owner), rel)
        assert found is not None
        return found

    assert (key(*one) == key(*two)) == (one == two)


# A running agent that overwrites its sidecar from memory


class Agent:
    """The agent app: reads its sidecar once, then changes and writes what it remembers."""

    def __init__(self, home: MuxHome, clock: Callable[[], int]) -> None:
        self._path = sidecar(home)
        self._clock = clock
        self._entries = {key: to_raw(usage) for key, usage in usages(raw(home)).items()}

    def use(self, key: str, *, write: bool = False) -> None:
        entry = self._entries.setdefault(key, to_raw(MemoryUsage()))
        now = self._clock()
        entry |= {"accessCount": entry["accessCount"] + 1, "lastAccessedAt": now}
        if write:
            entry["lastWriteAt"] = now
        self._save()

    def pin(self, key: str, pinned: bool) -> None:
        if pinned:
            self.use(key)
        self._entries.setdefault(key, to_raw(MemoryUsage()))["pinned"] = pinned
        self._save()

    def delete(self, key: str) -> None:
        self._entries.pop(key, None)
        self._save()

    def _save(self) -> None:
        kept = {key: entry for key, entry in self._entries.items() if entry != to_raw(MemoryUsage())}
        new = self._path.with_name("memory-meta.json.1")
        new.write_text(json.dumps({"entries": kept}, indent=2, ensure_ascii=False), encoding="utf-8")
        new.replace(self._path)


@pytest.fixture
def stale(home: MuxHome, clock: Time) -> Agent:
    """An agent that has read its sidecar before anything below happens."""
    return Agent(home, clock)


def test_a_pin_that_the_agent_overwrote_is_put_back_on_top_and_told(
    home: MuxHome, log: UsageLog, stale: Agent
):
    log.set_pinned(A, True)
    stale.use(B)
    assert not log.load()[A].pinned
    assert log.reapply_lost().keys == (A,)
    assert (log.load()[A].pinned, log.load()[A].access_count) == (True, 8)
    assert log.load()[B].access_count == 8


def test_a_pin_is_put_back_at_each_overwrite_until_the_agent_was_restarted(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time
):
    log.set_pinned(A, True)
    for _ in range(100):
        stale.use(B)
        assert not log.load()[A].pinned
        assert log.reapply_lost().keys == (A,)
        assert log.reapply_lost().keys == ()
        assert log.load()[A].pinned
    assert log.load()[A].access_count == 8
    assert log.load()[B].access_count == 7 + 100
    Agent(home, clock).use(B)
    assert log.reapply_lost().keys == ()
    assert log.load()[A].pinned
    assert log.unknown_pins() == frozenset()


def test_a_person_is_told_once_how_many_changes_the_agent_lacks(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time
):
    log.set_pinned(A, True)
    log.record_read("global:preferences.md")
    stale.use(B)
    assert log.reapply_lost().announce == 2
    stale.use(B)
    assert log.reapply_lost().announce == 0
    Agent(home, clock).use(B)
    assert log.reapply_lost().announce == 0
    again = Agent(home, clock)
    log.set_pinned(B, True)
    again.use(A)
    assert log.reapply_lost().announce == 1


def test_a_pin_is_marked_only_while_a_running_agent_is_known_to_lack_it(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time
):
    log.set_pinned(A, True)
    log.record_read(B)
    assert log.unknown_pins() == frozenset()
    stale.use("global:preferences.md")
    log.reapply_lost()
    assert log.unknown_pins() == {A}
    # That agent cannot know what was set later either.
    log.set_pinned(B, True)
    assert log.unknown_pins() == {A, B}
    log.set_pinned(A, False)
    assert log.unknown_pins() == {B}
    Agent(home, clock).use(A)
    log.reapply_lost()
    assert log.unknown_pins() == frozenset()


def test_a_pin_that_a_person_took_away_is_not_put_back(home: MuxHome, log: UsageLog, stale: Agent):
    log.set_pinned(A, True)
    stale.use(B)
    log.reapply_lost()
    log.set_pinned(A, False)
    stale.use(B)
    log.reapply_lost()
    assert not log.load()[A].pinned


def test_a_pin_of_a_file_that_is_gone_is_not_put_back(home: MuxHome, log: UsageLog, stale: Agent):
    log.set_pinned(A, True)
    (home.root / "memory" / "global" / "commit-style.md").unlink()
    stale.use(B)
    assert log.reapply_lost().keys == ()
    (home.root / "memory" / "global" / "commit-style.md").write_text("again")
    stale.use(B)
    assert log.reapply_lost().keys == ()


def test_a_pin_that_the_agent_changed_itself_is_the_agents(home: MuxHome, log: UsageLog, stale: Agent):
    log.set_pinned("global:preferences.md", False)
    log.record_write(A)
    stale.use(B)
    log.reapply_lost()
    assert not log.load()["global:preferences.md"].pinned
    stale.pin("global:preferences.md", False)
    stale.pin(A, True)
    log.reapply_lost()
    stale.pin("global:preferences.md", True)
    log.reapply_lost()
    assert log.load()["global:preferences.md"].pinned
    assert log.load()[A].pinned


def test_use_counts_and_write_times_of_both_sides_add_up(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time
):
    start = {key: usage.access_count for key, usage in log.load().items()}
    for number in range(40):
        log.record_read(A)
        log.record_write(B)
        for _ in range(number % 4):
            stale.use(A)
            stale.use(B)
        if number % 3 == 0:
            log.reapply_lost()
    written = clock.now
    log.record_write(B)
    stale.use("global:preferences.md")
    log.reapply_lost()
    Agent(home, clock).use("global:preferences.md")
    log.reapply_lost()
    theirs = sum(number % 4 for number in range(40))
    assert log.load()[A].access_count == start[A] + 40 + theirs
    assert log.load()[B].access_count == start[B] + 41 + theirs
    assert (log.load()[B].last_write_at or 0) > written


def test_changes_of_two_profiles_survive_a_running_agent(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time, tmp_path: Path
):
    other = log_of(home, tmp_path / "other", clock)
    log.set_pinned(A, True)
    other.set_pinned(B, True)
    other.record_read(A)
    for number in range(20):
        stale.use("global:preferences.md")
        for each in (log, other) if number % 2 else (other, log):
            each.reapply_lost(patient=True)
        for each in (log, other):
            each.reapply_lost()
        assert (log.load()[A].pinned, log.load()[B].pinned) == (True, True)
        assert (log.load()[A].access_count, log.load()[B].access_count) == (9, 8)
    Agent(home, clock).use("global:preferences.md")
    for each in (log, other):
        assert each.reapply_lost().keys == ()
        assert each.unknown_pins() == frozenset()


def test_the_file_of_another_profile_does_not_count_as_the_agents(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time, tmp_path: Path
):
    log.set_pinned(A, True)
    log_of(home, tmp_path / "other", clock).record_read(B)
    assert log.reapply_lost().keys == ()
    stale.use(B)
    assert log.reapply_lost().keys == (A,)


def test_who_asks_again_puts_back_only_every_few_seconds_and_not_at_once(
    home: MuxHome, tmp_path: Path, stale: Agent, clock: Time
):
    now = [100.0]
    own = tmp_path / "own" / "memory-meta.json"
    log = UsageLog(home, own_sidecar=own, lock_dir=tmp_path / "locks", clock=clock, seconds=lambda: now[0])
    log.set_pinned(A, True)
    put_back = []
    for _ in range(100):
        stale.use(B)
        kept = log.reapply_lost(patient=True)
        put_back.append(bool(kept.keys))
        assert kept.pending is not bool(kept.keys)
        now[0] += 0.1
    assert sum(put_back) == 3
    assert put_back.index(True) in (8, 9)
    now[0] += 5
    assert log.reapply_lost(patient=True).keys == (A,)
    assert not log.reapply_lost(patient=True).pending
    assert log.load()[A].pinned


def test_the_ledger_survives_the_end_of_every_process(
    home: MuxHome, tmp_path: Path, stale: Agent, clock: Time
):
    log_of(home, tmp_path, clock).set_pinned(A, True)
    for _ in range(3):
        stale.use(B)
        assert log_of(home, tmp_path, clock).reapply_lost().keys == (A,)
    assert log_of(home, tmp_path, clock).unknown_pins() == {A}


def test_it_is_put_back_even_where_the_agent_wrote_the_old_state_again(
    home: MuxHome, log: UsageLog, stale: Agent
):
    old = sidecar(home).read_bytes()
    log.set_pinned(A, True)
    stale.pin(B, False)
    assert sidecar(home).read_bytes() == old
    assert log.reapply_lost().keys == (A,)
    assert log.load()[A].pinned


def test_it_is_put_back_on_top_of_what_the_agent_counted_on_the_same_memory(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time
):
    log.set_pinned(A, True)
    stale.use(A, write=True)
    used = clock.now
    assert log.reapply_lost().keys == (A,)
    assert log.load()[A] == MemoryUsage(True, 9, used, used)


@pytest.mark.parametrize("uses", [0, 1, 3])
def test_an_unpin_is_put_back_whatever_the_agent_counted(log: UsageLog, stale: Agent, uses: int):
    log.set_pinned("global:preferences.md", False)
    stale.use(B)
    for _ in range(uses):
        stale.use("global:preferences.md")
    assert log.reapply_lost().keys == ("global:preferences.md",)
    assert log.load()["global:preferences.md"].access_count == 11 + uses
    assert not log.load()["global:preferences.md"].pinned


def test_lost_counts_are_put_back(log: UsageLog, stale: Agent):
    log.record_read(A)
    log.record_write(A)
    stale.use(B)
    assert log.reapply_lost().keys == (A,)
    assert log.load()[A].access_count == 9
    assert (log.load()[A].last_write_at or 0) > START


def test_a_lost_rename_is_put_back(home: MuxHome, log: UsageLog, stale: Agent):
    notes = home.root / "memory" / "global"
    (notes / "people").rename(notes / "staff")
    log.rename("global:people", "global:staff")
    stale.use(B)
    assert set(log.reapply_lost().keys) == {
        "global:people/reviewers.md",
        "global:people/équipe.md",
        "global:staff",
        "global:staff/reviewers.md",
        "global:staff/équipe.md",
    }
    assert log.load()["global:staff/reviewers.md"] == MemoryUsage(False, 5, 1786961702055, 1785088800000)
    assert not any("people" in key for key in log.load())


def test_a_lost_delete_is_put_back(home: MuxHome, log: UsageLog, stale: Agent):
    (home.root / "memory" / "global" / "testing.md").unlink()
    log.delete(B)
    stale.use(A)
    assert log.reapply_lost().keys == (B,)
    assert B not in log.load()


def test_a_deleted_memory_that_the_agent_made_anew_keeps_only_its_new_life(
    home: MuxHome, log: UsageLog, stale: Agent, clock: Time
):
    log.delete("global:preferences.md")
    stale.use("global:preferences.md", write=True)
    used_at = clock.now
    assert log.reapply_lost().keys == ("global:preferences.md",)
    assert log.load()["global:preferences.md"] == MemoryUsage(False, 1, used_at, used_at)


def test_use_of_a_memory_that_is_gone_is_not_brought_back(home: MuxHome, log: UsageLog, stale: Agent):
    note = home.root / "memory" / "global" / "new.md"
    note.write_text("x")
    log.record_write(NEW)
    note.unlink()
    stale.use(B)
    assert log.reapply_lost().keys == ()
    assert NEW not in log.load()


def test_use_of_a_new_memory_is_put_back(home: MuxHome, log: UsageLog, stale: Agent):
    (home.root / "memory" / "global" / "new.md").write_text("x")
    log.record_write(NEW)
    stale.use(B)
    assert log.reapply_lost().keys == (NEW,)
    assert log.load()[NEW].access_count == 1


def test_an_agent_that_knows_our_change_is_left_alone(home: MuxHome, log: UsageLog, clock: Time):
    log.set_pinned(A, True)
    log.record_read(B)
    Agent(home, clock).use(A)
    after = snapshot(home.root)
    assert log.reapply_lost().keys == ()
    assert snapshot(home.root) == after


def test_what_the_agent_does_knowing_our_change_stands(home: MuxHome, log: UsageLog, clock: Time):
    log.set_pinned(A, True)
    agent = Agent(home, clock)
    agent.pin(A, False)
    assert log.reapply_lost().keys == ()
    assert not log.load()[A].pinned
    log.set_pinned(A, True)
    agent = Agent(home, clock)
    agent.use(A)
    assert log.reapply_lost().keys == ()
    agent.use(A)
    agent.pin(A, False)
    assert log.reapply_lost().keys == ()
    assert not log.load()[A].pinned
    agent.delete(B)
    assert log.reapply_lost().keys == ()


def test_the_next_change_puts_back_too_and_it_is_told_later(home: MuxHome, log: UsageLog, stale: Agent):
    log.set_pinned(A, True)
    stale.use(B)
    log.record_read(B)
    assert log.load()[A].pinned
    assert log.load()[B].access_count == 9
    assert log.reapply_lost().announce == 2
    assert log.reapply_lost().announce == 0


def test_a_change_made_after_the_loss_is_kept_as_well(log: UsageLog, stale: Agent):
    log.set_pinned(A, True)
    stale.use(B)
    log.set_pinned(B, True)
    stale.use(A)
    assert log.reapply_lost().keys == (A, B)
    assert log.load()[B].pinned
    assert log.load()[A].pinned


def test_the_ledger_is_shared_by_all_processes_of_the_profile(home: MuxHome, tmp_path: Path, stale: Agent):
    log_of(home, tmp_path).set_pinned(A, True)
    stale.use(B)
    assert log_of(home, tmp_path).reapply_lost().keys == (A,)
    assert log_of(home, tmp_path).load()[A].pinned


def test_a_damaged_ledger_is_no_ledger(home: MuxHome, log: UsageLog, tmp_path: Path, stale: Agent):
    log.set_pinned(A, True)
    ledger = tmp_path / "own" / LEDGER
    good = json.loads(ledger.read_text(encoding="utf-8"))
    for damage in (
        "",
        "[]",
        "{",
        json.dumps(good | {"deltas": {A: 5}}),
        json.dumps(good | {"deltas": 7, "origin": 3}),
    ):
        ledger.write_text(damage, encoding="utf-8")
        stale.use(B)
        assert log.reapply_lost().keys == ()
        log.record_read(B)


def test_a_removed_sidecar_is_not_filled_from_the_ledger(home: MuxHome, log: UsageLog):
    log.set_pinned(A, True)
    sidecar(home).unlink()
    assert log.reapply_lost().keys == ()
    assert not sidecar(home).exists()


class KilledError(BaseException):
    """The process ends here."""


@contextmanager
def killed_at(step: str) -> Iterator[None]:
    def observe(name: str) -> None:
        if name == step:
            raise KilledError

    set_observer(observe)
    try:
        with pytest.raises(KilledError):
            yield
    finally:
        set_observer(None)


@pytest.mark.parametrize("step", ["temp", "fsync"])
def test_a_change_that_a_kill_prevented_is_never_made_later(
    home: MuxHome, log: UsageLog, clock: Time, step: str
):
    log.set_pinned(B, True)
    with killed_at(step):
        log.set_pinned(A, True)
    agent = Agent(home, clock)
    assert log.reapply_lost().keys == ()
    assert not log.load()[A].pinned
    agent.use("global:preferences.md")
    assert log.reapply_lost().keys == ()
    assert not log.load()[A].pinned


def test_a_kill_does_not_unprotect_what_was_changed_before(home: MuxHome, log: UsageLog, stale: Agent):
    log.set_pinned(A, True)
    with killed_at("fsync"):
        log.set_pinned(B, True)
    stale.use("global:preferences.md")
    assert A in log.reapply_lost().keys
    assert log.load()[A].pinned


def test_a_change_after_the_replace_is_protected_even_if_the_process_ends_there(
    home: MuxHome, log: UsageLog, stale: Agent
):
    with killed_at("replace"):
        log.set_pinned(A, True)
    assert log.load()[A].pinned
    stale.use(B)
    assert log.reapply_lost().keys == (A,)


def test_a_refused_change_is_not_made_later(
    home: MuxHome, log: UsageLog, clock: Time, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_change: Callable[..., object]) -> None:
        _change(raw(home))
        raise Conflict("Another program keeps changing the file.")

    real = log._sidecar.update
    monkeypatch.setattr(log._sidecar, "update", refuse)
    with pytest.raises(UserError):
        log.set_pinned(A, True)
    monkeypatch.setattr(log._sidecar, "update", real)
    Agent(home, clock).use(B)
    assert log.reapply_lost().keys == ()
    assert not log.load()[A].pinned


KEYS = st.sampled_from([A, B, "global:preferences.md", "global:people/reviewers.md"])
OURS = st.one_of(
    st.tuples(st.just("read"), KEYS),
    st.tuples(st.just("write"), KEYS),
    st.tuples(st.just("pin"), KEYS),
    st.tuples(st.just("unpin"), KEYS),
)


@settings(max_examples=examples(75), deadline=None)
@given(st.lists(OURS, max_size=6), st.tuples(st.sampled_from(["use", "write"]), KEYS))
def test_with_one_stale_write_between_no_use_and_no_pin_of_anybody_is_lost(
    ours: list[tuple[str, str]], theirs: tuple[str, str]
):
    with tempfile.TemporaryDirectory() as name:
        home = MuxHome(copy_sample("mux-home-legacy", Path(name)))
        shutil.copy(Path(__file__).parents[2] / "samples" / "mux-home" / "memory-meta.json", sidecar(home))
        samples = Path(__file__).parents[2] / "samples" / "mux-home" / "memory" / "global"
        shutil.copytree(samples, home.root / "memory" / "global", dirs_exist_ok=True)
        clock = Time()
        log = log_of(home, Path(name), clock)
        expected = {key: [usage.pinned, usage.access_count] for key, usage in log.load().items()}
        agent = Agent(home, clock)
        for kind, key in ours:
            if kind in ("read", "write"):
                getattr(log, f"record_{kind}")(key)
            else:
                log.set_pinned(key, kind == "pin")
                expected[key][0] = kind == "pin"
            expected[key][1] += kind != "unpin"
        agent.use(theirs[1], write=theirs[0] == "write")
        expected[theirs[1]][1] += 1
        log.reapply_lost()
        assert {key: [usage.pinned, usage.access_count] for key, usage in log.load().items()} == expected
