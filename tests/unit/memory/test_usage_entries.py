"""The rules of the usage sidecar (formats/mux.md section 8), on raw entries."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.agents.scopes import unescape_key
from reverie.memory.usage_rules import (
    UNUSED,
    MemoryUsage,
    keys_below,
    merge,
    note_delete,
    note_pin,
    note_rename,
    note_use,
    prune,
    put,
    take_rejects,
    usage_of,
    usages,
)

NOW = 1_787_300_000_000


@pytest.mark.parametrize(
    ("raw", "usage"),
    [
        ({}, UNUSED),
        (
            {"pinned": True, "accessCount": 3, "lastAccessedAt": 5, "lastWriteAt": 4},
            MemoryUsage(True, 3, 5, 4),
        ),
        ({"pinned": "true"}, UNUSED),
        ({"pinned": 1}, UNUSED),
        ({"accessCount": 2.9}, MemoryUsage(access_count=2)),
        ({"accessCount": 0.5}, UNUSED),
        ({"accessCount": -3}, UNUSED),
        ({"accessCount": "7"}, UNUSED),
        ({"accessCount": True}, UNUSED),
        ({"accessCount": float("inf")}, UNUSED),
        ({"accessCount": float("nan")}, UNUSED),
        ({"accessCount": 10**400}, UNUSED),
        ({"accessCount": [1]}, UNUSED),
        ({"lastAccessedAt": 0}, UNUSED),
        ({"lastAccessedAt": -1}, UNUSED),
        ({"lastAccessedAt": "2026-08-20"}, UNUSED),
        ({"lastAccessedAt": 12.75}, MemoryUsage(last_accessed_at=12)),
        ({"lastWriteAt": 0.25}, MemoryUsage(last_write_at=1)),
        ({"lastWriteAt": None, "unknown": 1}, UNUSED),
    ],
)
def test_each_value_is_read_for_itself(raw: dict[str, Any], usage: MemoryUsage):
    assert usage_of(raw) == usage


@pytest.mark.parametrize("raw", [None, 1, "x", [], [{"pinned": True}], True])
def test_an_entry_that_is_no_object_says_nothing(raw: object):
    assert usage_of(raw) == UNUSED


@pytest.mark.parametrize(
    "data", [{}, {"entries": None}, {"entries": []}, {"entries": "x"}, {"entries": 3}, {"other": {}}]
)
def test_a_sidecar_without_an_object_of_entries_says_nothing(data: dict[str, Any]):
    assert usages(data) == {}


def test_one_bad_entry_hides_no_other_and_empty_ones_are_left_out():
    data = {
        "entries": {
            "a": {"pinned": True},
            "b": None,
            "c": 5,
            "d": {"accessCount": 0},
            "e": {"accessCount": 2},
        }
    }
    assert usages(data) == {"a": MemoryUsage(True), "e": MemoryUsage(access_count=2)}


def test_a_read_counts_and_a_write_is_dated_too():
    entries: dict[str, Any] = {}
    note_use(entries, "k", NOW, write=False)
    assert entries == {"k": {"pinned": False, "accessCount": 1, "lastAccessedAt": NOW, "lastWriteAt": None}}
    note_use(entries, "k", NOW + 5, write=True)
    note_use(entries, "k", NOW + 9, write=False)
    assert usage_of(entries["k"]) == MemoryUsage(False, 3, NOW + 9, NOW + 5)


def test_pinning_is_a_use_and_unpinning_keeps_the_statistics():
    entries: dict[str, Any] = {}
    note_pin(entries, "k", True, NOW)
    assert usage_of(entries["k"]) == MemoryUsage(True, 1, NOW, None)
    note_pin(entries, "k", True, NOW + 1)
    assert usage_of(entries["k"]) == MemoryUsage(True, 2, NOW + 1, None)
    note_pin(entries, "k", False, NOW + 2)
    assert usage_of(entries["k"]) == MemoryUsage(False, 2, NOW + 1, None)


def test_unpinning_what_was_never_used_leaves_nothing():
    entries: dict[str, Any] = {"k": {"pinned": True}}
    note_pin(entries, "k", False, NOW)
    prune(entries)
    assert entries == {}


def test_a_rename_moves_the_entry_and_those_below_it_over_what_is_there():
    entries = {
        "g:dir": {"accessCount": 1},
        "g:dir/a": {"pinned": True, "accessCount": 4},
        "g:new/a": {"accessCount": 9},
        "g:new/stale": {"accessCount": 2},
        "g:dir/sub/b": {"accessCount": 5},
        "g:directory": {"accessCount": 6},
        "g:dir.md": {"accessCount": 7},
    }
    note_rename(entries, "g:dir", "g:new", NOW)
    assert {key: usage_of(raw) for key, raw in entries.items()} == {
        "g:new": MemoryUsage(False, 2, NOW, NOW),
        "g:new/a": MemoryUsage(True, 4),
        "g:new/sub/b": MemoryUsage(access_count=5),
        "g:new/stale": MemoryUsage(access_count=2),
        "g:directory": MemoryUsage(access_count=6),
        "g:dir.md": MemoryUsage(access_count=7),
    }
    # In place where there was an entry, else at the end, as the agent's own code leaves it.
    assert list(entries) == ["g:new/a", "g:new/stale", "g:directory", "g:dir.md", "g:new", "g:new/sub/b"]


def test_a_rename_of_what_was_never_used_counts_one_write():
    entries: dict[str, Any] = {}
    note_rename(entries, "g:a", "g:b", NOW)
    assert {key: usage_of(raw) for key, raw in entries.items()} == {"g:b": MemoryUsage(False, 1, NOW, NOW)}


def test_a_delete_drops_the_subtree_and_nothing_beside_it():
    entries = {key: {"accessCount": 1} for key in ("g:d", "g:d/a", "g:d/e/f", "g:d2", "g:d.md", "p:d/a")}
    note_delete(entries, "g:d")
    assert list(entries) == ["g:d2", "g:d.md", "p:d/a"]


def test_unknown_fields_survive_a_change_of_their_entry():
    entries: dict[str, Any] = {"k": {"note": {"deep": [1]}, "accessCount": "bad", "pinned": True}}
    note_use(entries, "k", NOW, write=False)
    note_rename(entries, "k", "l", NOW)
    assert entries["l"]["note"] == {"deep": [1]}
    assert usage_of(entries["l"]) == MemoryUsage(True, 2, NOW, NOW)


def test_only_entries_that_say_nothing_at_all_are_pruned():
    entries: dict[str, Any] = {
        "default": {"pinned": False, "accessCount": 0, "lastAccessedAt": None, "lastWriteAt": None},
        "empty": {},
        "unknown": {"pinned": False, "note": "mine"},
        "odd": {"accessCount": "many"},
        "used": {"accessCount": 1},
        "no object": 7,
    }
    prune(entries)
    assert list(entries) == ["unknown", "odd", "used", "no object"]


def test_what_the_agents_loader_throws_away_is_taken_out_as_it_is():
    entries: dict[str, Any] = {"a": {"accessCount": 1}, "b": [1], "c": None, "d": "x"}
    assert take_rejects(entries) == {"b": [1], "c": None, "d": "x"}
    assert entries == {"a": {"accessCount": 1}}


def test_the_rules_replay_the_agents_own_sidecar():
    """The last change in the sample sidecar was a write of a new memory."""
    entries: dict[str, Any] = {}
    note_use(entries, "project:/home/dev/projects/data-pipeline:schema/v1-seconds.md", 1, write=True)
    note_use(
        entries, "project:/home/dev/projects/data-pipeline:schema/v1-seconds.md", 1787126405000, write=True
    )
    assert list(entries.values()) == [
        {"pinned": False, "accessCount": 2, "lastAccessedAt": 1787126405000, "lastWriteAt": 1787126405000}
    ]


# Three-way

USAGES = st.builds(
    MemoryUsage,
    st.booleans(),
    st.integers(0, 3),
    st.none() | st.integers(1, 3),
    st.none() | st.integers(1, 3),
)


def test_a_merge_changes_what_stood_still_and_keeps_what_others_changed():
    entries: dict[str, Any] = {
        "k": {"pinned": True, "accessCount": 9, "lastAccessedAt": 50, "lastWriteAt": 20}
    }
    merge(entries, {"k": MemoryUsage(True, 5, 30, 20)}, {"k": MemoryUsage(False, 2, 10, None)})
    assert usage_of(entries["k"]) == MemoryUsage(False, 9, 50, None)


def test_a_merge_removes_an_entry_and_brings_it_back():
    entries: dict[str, Any] = {"k": {"pinned": True, "accessCount": 5}}
    merge(entries, {"k": MemoryUsage(True, 5)}, {"k": None})
    assert entries == {}
    merge(entries, {"k": None}, {"k": MemoryUsage(True, 5)})
    assert usage_of(entries["k"]) == MemoryUsage(True, 5)


def test_a_merge_of_a_removal_keeps_what_others_counted_meanwhile():
    entries: dict[str, Any] = {"k": {"pinned": True, "accessCount": 6, "lastAccessedAt": 9}}
    merge(entries, {"k": MemoryUsage(True, 5, 8)}, {"k": None})
    assert usage_of(entries["k"]) == MemoryUsage(False, 6, 9)


@given(st.dictionaries(st.sampled_from("abc"), USAGES), st.dictionaries(st.sampled_from("abc"), USAGES))
def test_merging_there_and_back_leaves_everything_as_it_was(
    before: dict[str, MemoryUsage], after: dict[str, MemoryUsage]
):
    entries: dict[str, Any] = {}
    for key, usage in before.items():
        put(entries, key, usage)
    start = copy.deepcopy({key: usage_of(raw) for key, raw in entries.items()})
    keys = before.keys() | after.keys()
    old, new = {key: before.get(key) for key in keys}, {key: after.get(key) for key in keys}
    merge(entries, old, new)
    assert all(usage_of(entries.get(key)) == (new[key] or UNUSED) for key in keys)
    merge(entries, new, old)
    assert {key: usage_of(entries.get(key)) for key in keys} == {key: start.get(key, UNUSED) for key in keys}


# Keys


@given(st.text(max_size=20))
def test_escaped_components_read_back(text: str):
    assert unescape_key(text.replace("%", "%25").replace(":", "%3A")) == text


def test_below_means_the_key_or_its_directory():
    keys = {"g:a": 1, "g:a/b": 1, "g:ab": 1, "g:a.md": 1, "g:A/b": 1}
    assert keys_below(keys, "g:a") == ["g:a", "g:a/b"]
