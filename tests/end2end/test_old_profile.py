"""What version 0.1 left is still read, undone and recovered (`helpers.make_old_profile` made the sample)."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from helpers import old_profile
from helpers.old_profile import COMMITTED, INTERRUPTED, OldProfile, copy_old_profile

SAMPLE = "profile-0.1"
WORKSPACE, OTHER = "4b7d02e9c1", "d26b90f3ae"


@pytest.fixture
def old(tmp_path: Path) -> OldProfile:
    """A run was killed while its files changed."""
    return copy_old_profile(SAMPLE, INTERRUPTED, tmp_path)


def run_of(old: OldProfile, name: str) -> dict[str, Any]:
    """One of the runs of the sample as it is listed now."""
    (found,) = [run for run in old.command("runs") if run["id"] == old.expected["runs"][name]]
    return dict(found)


def lacks(expected: Any, found: Any) -> list[str]:
    """Where `found` lacks or changes a value of `expected`; what is new in it is no fault."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            f"{key}: {fault}" if key in found else f"{key} is missing"
            for key, value in expected.items()
            for fault in (lacks(value, found[key]) if key in found else [""])
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [f"{place}: {fault}" for place, (one, other) in pairs for fault in lacks(one, other)]
    return [] if expected == found else [f"{expected!r} became {found!r}"]


def undone(texts: Mapping[str, Mapping[str, str]], now: str, before: str, after: str) -> dict[str, str]:
    """The texts of `now`, but what changed from `before` to `after` as it was before."""
    changed = {
        path
        for path in texts[before].keys() | texts[after].keys()
        if texts[before].get(path) != texts[after].get(path)
    }
    assert changed
    kept = {path: text for path, text in texts[now].items() if path not in changed}
    return kept | {path: texts[before][path] for path in changed if path in texts[before]}


def test_the_sample_is_as_a_killed_process_leaves_it(old: OldProfile) -> None:
    texts = old.expected["texts"]
    assert old.texts() == texts["left by killed"]
    assert old.texts() not in (texts["before killed"], texts["left by killed at its end"])
    assert run_of(old, "killed")["outcome"] == "running"
    with closing(sqlite3.connect(old.profile / "state" / "leases.sqlite")) as leases:
        assert leases.execute("SELECT count(*) FROM leases").fetchone() == (1,)


def test_runs_sidecars_and_what_runs_changed_are_read(old: OldProfile) -> None:
    said = old.expected["said"]
    found = {
        "runs": old.command("runs"),
        "homes": old.command("homes"),
        "usage": {
            name: old_profile.usage(old.command("tree", "--workspace", name)) for name in said["usage"]
        },
        "status": {name: old.command("status", "--workspace", name) for name in said["status"]},
        "diff": {name: old.command("diff", old.expected["runs"][name]) for name in said["diff"]},
    }
    assert lacks(said, found) == []
    assert said["usage"][WORKSPACE]["/memories/global/testing.md"]["pinned"]
    assert said["usage"][WORKSPACE]["/memories/workspace/plan.md"]["accessCount"] >= 2
    assert {run["kind"] for run in said["runs"]} == {"dream", "revert", "writer"}
    assert run_of(old, "dream")["takenBack"] == {"/memories/global/shell.md": "all"}
    assert run_of(old, "second dream")["reverted"]


def test_the_history_lists_every_change_and_opens_every_text(old: OldProfile) -> None:
    found = old_profile.histories(old.home, old.profile)
    assert lacks(old.expected["history"], found) == []
    changes = [change for path in old.expected["history"].values() for change in path]
    assert {change["who"] for change in changes} >= {"you", "agent", "dream", "revert", "outside"}
    assert len({change["after"] for change in changes}) > 20
    assert old.texts() == old.expected["texts"]["left by killed"], "looking changes nothing"


def test_the_activity_is_read(old: OldProfile) -> None:
    assert lacks(old.expected["activity"], old_profile.activity(old.home, old.profile)) == []


def test_a_deleted_memory_comes_back_from_the_trash(old: OldProfile) -> None:
    gone = "/memories/project/pricing-2025.md"
    expected = old.expected["deleted"]
    assert lacks(expected, old_profile.deleted(old.home, old.profile)) == []
    old_profile.restore(old.home, old.profile, gone)
    (back,) = [text for path, text in old.texts().items() if path.endswith("/pricing-2025.md")]
    assert back == expected[gone]["text"]


def test_the_interrupted_run_is_taken_back_and_nothing_stands_in_the_way_of_the_next(
    old: OldProfile,
) -> None:
    texts = old.expected["texts"]
    for _time in range(2):
        old_profile.recover(old.home, old.profile)
        assert old.texts() == texts["before killed"]
        assert run_of(old, "killed")["outcome"] == "interrupted"
    again = old.command("consolidate", "--workspace", OTHER, "--engine", "rules")
    assert again["outcome"] == "completed"
    assert old.texts() != texts["before killed"]
    done = old.texts()
    assert old.command("consolidate", "--workspace", OTHER, "--engine", "rules")["ops"] == []
    assert old.texts() == done, "the next run has nothing left to do"


def test_a_run_that_had_changed_all_its_files_is_completed_and_can_be_undone(tmp_path: Path) -> None:
    old = copy_old_profile(SAMPLE, COMMITTED, tmp_path)
    texts = old.expected["texts"]
    assert run_of(old, "killed")["outcome"] == "interrupted"
    assert run_of(old, "killed at its end")["outcome"] == "running"
    old_profile.recover(old.home, old.profile)
    assert old.texts() == texts["left by killed at its end"]
    assert run_of(old, "killed at its end")["outcome"] == "completed"
    old.command("revert", old.expected["runs"]["killed at its end"])
    assert old.texts() == texts["before killed"]


@pytest.mark.parametrize(
    ("run", "before", "after"),
    [
        ("dream", "before dream", "after dream"),
        ("writer", "before writer", "after writer"),
        ("undo", "after second dream", "after undo"),
    ],
)
def test_undo_of_an_old_run_gives_every_byte_back(old: OldProfile, run: str, before: str, after: str) -> None:
    """Whatever asks for it first recovers what was interrupted."""
    texts = old.expected["texts"]
    old.command("revert", old.expected["runs"][run])
    assert old.texts() == undone(texts, "before killed", before, after)
    assert run_of(old, run)["reverted"]
    assert run_of(old, "killed")["outcome"] == "interrupted"
