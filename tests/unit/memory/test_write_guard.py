"""The permission to write into a store that a home reports as unknown."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.samples import copy_sample
from reverie.agents.base import Home
from reverie.agents.mux.home import MuxHome
from reverie.agents.scopes import Refusal, Scope, ScopeRoot
from reverie.errors import StoreError
from reverie.memory.write_guard import ReadOnlyStore, WriteGuard
from reverie.values import replace

OF_HOME = Refusal("unknown-layout", "", "Nothing was written.", "config.json has version 2.", "Ask first.")
OF_GLOBAL = replace(OF_HOME, store="global", evidence="index.json has version 9.")


class Reporting(MuxHome):
    """A real home, with what it reports given."""

    found: tuple[Refusal, ...] = ()

    def write_refusals(self, root: ScopeRoot | None = None) -> tuple[Refusal, ...]:
        return tuple(each for each in self.found if each.store in ("", root.key if root else ""))


@pytest.fixture
def home(tmp_path: Path) -> Reporting:
    return Reporting(copy_sample("mux-home", tmp_path))


@pytest.fixture
def guard(home: Reporting, tmp_path: Path) -> WriteGuard:
    return WriteGuard(home, tmp_path / "own" / "p.json", lock_dir=tmp_path / "locks", clock=lambda: 7)


def root(home: Reporting, scope: Scope = Scope.GLOBAL) -> ScopeRoot:
    return home.scope_root(home.context(project_path="/home/dev/projects/acme-api"), scope)


def test_what_is_known_may_be_written_and_nothing_is_kept(
    home: Reporting, guard: WriteGuard, tmp_path: Path
) -> None:
    guard.require()
    guard.require(root(home))
    guard.require_context(home.context())
    assert guard.unknown() == ()
    assert not (tmp_path / "own").exists()


def test_a_refusal_of_the_home_holds_for_every_root(home: Reporting, guard: WriteGuard) -> None:
    home.found = (OF_HOME,)
    for place in (None, root(home), root(home, Scope.PROJECT)):
        with pytest.raises(ReadOnlyStore) as caught:
            guard.require(place)
        assert caught.value.reason == "unknown-layout"
        assert caught.value.cause == OF_HOME.evidence


def test_a_refusal_of_one_store_leaves_the_others_writable(home: Reporting, guard: WriteGuard) -> None:
    home.found = (OF_GLOBAL,)
    guard.require()
    guard.require(root(home, Scope.PROJECT))
    with pytest.raises(ReadOnlyStore):
        guard.require(root(home))
    with pytest.raises(ReadOnlyStore):
        guard.require_context(home.context())


def test_a_permission_covers_exactly_the_evidence_that_was_seen(home: Reporting, guard: WriteGuard) -> None:
    home.found = (OF_HOME,)
    guard.permit([OF_HOME])
    guard.require(root(home))
    assert guard.unknown() == ((OF_HOME, True),)
    home.found = (replace(OF_HOME, evidence="config.json has version 3."),)
    with pytest.raises(ReadOnlyStore):
        guard.require(root(home))


def test_a_permission_for_the_home_does_not_open_a_store_that_is_unknown_itself(
    home: Reporting, guard: WriteGuard
) -> None:
    home.found = (OF_HOME, OF_GLOBAL)
    guard.permit([OF_HOME])
    guard.require()
    with pytest.raises(ReadOnlyStore) as caught:
        guard.require(root(home))
    assert caught.value.refusal == OF_GLOBAL
    guard.permit([OF_GLOBAL])
    guard.require(root(home))


def test_nobody_can_permit_writing_into_a_store_that_the_agent_does_not_use(
    home: Reporting, guard: WriteGuard
) -> None:
    unused = replace(OF_GLOBAL, reason="not-in-use", permissible=False)
    home.found = (unused,)
    with pytest.raises(StoreError):
        guard.permit([unused])
    with pytest.raises(ReadOnlyStore):
        guard.require(root(home))


def test_a_store_that_is_not_in_use_stops_a_run_only_where_there_is_no_other(
    home: Reporting, guard: WriteGuard
) -> None:
    unused = replace(OF_GLOBAL, reason="not-in-use", permissible=False)
    context = home.context(project_path="/home/dev/projects/acme-api")
    home.found = (unused,)
    guard.require_context(context)
    assert guard.unknown(context) == ()
    home.found = (unused, replace(unused, store=root(home, Scope.PROJECT).key))
    with pytest.raises(ReadOnlyStore) as caught:
        guard.require_context(context)
    assert caught.value.reason == "not-in-use"


def test_a_root_that_its_home_calls_read_only_is_not_in_use(home: Reporting, tmp_path: Path) -> None:
    unused = replace(root(home), read_only="The agent uses another version.")
    (refusal,) = Home.write_refusals(home, unused)
    assert (refusal.reason, refusal.evidence) == ("not-in-use", "The agent uses another version.")
    assert not refusal.permissible
    assert Home.write_refusals(home, root(home)) == ()


def test_a_damaged_list_of_permissions_permits_nothing(
    home: Reporting, guard: WriteGuard, tmp_path: Path
) -> None:
    home.found = (OF_HOME,)
    guard.permit([OF_HOME])
    for damage in ("{", '{"permitted": []}', '{"permitted": {"": 1}}', '{"permitted": {"": {}}}'):
        (tmp_path / "own" / "p.json").write_text(damage)
        with pytest.raises(ReadOnlyStore):
            guard.require()
