"""Finding homes and opening them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from helpers.samples import copy_sample, snapshot
from reverie.agents.base import FoundHome
from reverie.agents.discovery import discover, find_homes, open_home
from reverie.errors import Unavailable


def test_homes_are_found_at_the_usual_places_the_one_in_use_first(tmp_path: Path) -> None:
    copy_sample("mux-home", tmp_path).rename(tmp_path / ".xum-dev")
    copy_sample("mux-home-legacy", tmp_path).rename(tmp_path / ".mux")
    assert discover({}, tmp_path) == (
        FoundHome(tmp_path / ".mux", "mux"),
        FoundHome(tmp_path / ".xum-dev", "mux"),
    )
    env = {"NODE_ENV": "development"}
    assert [found.root.name for found in discover(env, tmp_path)] == [".xum-dev", ".mux"]


def test_a_home_named_by_the_environment_is_found(tmp_path: Path) -> None:
    home = copy_sample("mux-home", tmp_path)
    assert discover({"XUM_ROOT": str(home)}, tmp_path / "nobody") == (FoundHome(home, "mux"),)


def test_one_directory_under_two_names_is_one_home(tmp_path: Path) -> None:
    home = copy_sample("mux-home", tmp_path).rename(tmp_path / ".mux")
    (tmp_path / ".xum").symlink_to(home)
    assert [found.root.name for found in discover({}, tmp_path)] == [".xum"]


def test_a_usual_place_with_nothing_of_the_agent_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".xum").mkdir()
    (tmp_path / ".mux" / "memory").mkdir(parents=True)
    assert discover({}, tmp_path) == ()


def test_looking_for_homes_changes_nothing(tmp_path: Path) -> None:
    copy_sample("mux-home", tmp_path).rename(tmp_path / ".xum")
    before = snapshot(tmp_path)
    discover({}, tmp_path)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("name", ["mux-home", "mux-home-legacy"])
def test_a_home_is_opened_by_its_structure(name: str, tmp_path: Path) -> None:
    root = copy_sample(name, tmp_path)
    assert (open_home(root).kind, open_home(root).root) == ("mux", root)


def test_a_relative_path_stays_put_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy_sample("mux-home", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert open_home(Path("mux-home")).root == root
    assert discover({"XUM_ROOT": "mux-home"}, tmp_path / "nobody") == (FoundHome(root, "mux"),)


@pytest.mark.parametrize("make", ["missing", "file", "other"])
def test_what_is_no_home_is_refused_with_a_next_step(tmp_path: Path, make: str) -> None:
    path = tmp_path / "x"
    if make == "file":
        path.write_text("")
    elif make == "other":
        path.mkdir()
    with pytest.raises(Unavailable) as refusal:
        open_home(path)
    assert refusal.value.cause
    assert refusal.value.next_step


def test_a_place_that_does_not_answer_is_named_and_the_others_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = copy_sample("mux-home", tmp_path).rename(tmp_path / ".xum")
    hung, over, stat = tmp_path / ".claude", threading.Event(), os.stat

    def slow_stat(path: Any, **more: Any) -> os.stat_result:
        if path == hung:
            over.wait(30)
        return stat(path, **more)

    monkeypatch.setattr(os, "stat", slow_stat)
    try:
        found = find_homes({}, tmp_path, 0.2)
    finally:
        over.set()
    assert found.homes == (FoundHome(good, "mux"),)
    (place,) = found.troubled
    assert (place.root, place.silent) == (hung, True)
    assert "is not responding" in place.error.title


def test_the_usual_places_are_looked_at_in_the_order_of_the_agent(tmp_path: Path) -> None:
    copy_sample("mux-home", tmp_path).rename(tmp_path / ".cmux")
    copy_sample("mux-home-legacy", tmp_path).rename(tmp_path / ".mux")
    copy_sample("mux-home", tmp_path).rename(tmp_path / ".xum")
    found = find_homes({"MUX_ROOT": str(tmp_path / ".cmux")}, tmp_path)
    assert [home.root.name for home in found.homes] == [".cmux", ".xum", ".mux"]
    assert found.troubled == ()
