"""A pipe, a device or a folder in place of a file of the profile holds nobody up; it is said in words."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.benches import sample_parts, workspace
from helpers.expect_log import ExpectLog
from reverie.errors import Unavailable
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.run import DreamRequest
from reverie.llm.trace_store import TraceStore
from reverie.memory.history.repository import DamagedHistoryError, Repository, create
from reverie.memory.ledger import Ledger
from reverie.memory.ledger_file import LedgerFile
from reverie.memory.own_uses import OwnUses
from reverie.profile import Profile
from reverie.runs.journal import Images, load_journal
from reverie.runs.record import RunStore
from reverie.services.window_state import Remembered, read_remembered, remembered_file

RUN, NAME = "1700000000000-abcdef", "a" * 64
PIPELINE = "c04d8e91aa"
IN_ITS_PLACE = "It is not a regular file|There is a folder at this path"

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")


def put(kind: str, path: Path) -> Path:
    """Something of this kind at `path`, in place of what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    return path


def ledger(path: Path) -> Ledger:
    return LedgerFile(path).read()


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a record": (f"{RUN}/record.json", lambda path: RunStore(path.parents[1]).load(RUN)),
    "a journal": ("journal.json", lambda path: load_journal(path.parent)),
    "an image": (NAME, lambda path: Images(path.parent).get(NAME)),
    "a trace": (f"{RUN}.json", lambda path: TraceStore(path.parent).load(RUN)),
    "the use of memories": ("memory-meta.json", ledger),
}


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
@pytest.mark.parametrize("what", READERS)
def test_what_is_no_regular_file_is_said_and_never_waited_for(tmp_path: Path, what: str, kind: str) -> None:
    name, read = READERS[what]
    path = put(kind, tmp_path / "store" / name)
    with pytest.raises(Unavailable, match=IN_ITS_PLACE):
        read(path)


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_the_tally_of_own_uses_is_none_where_it_is_no_regular_file(tmp_path: Path, kind: str) -> None:
    path = put(kind, tmp_path / "store" / "own-uses.json")
    assert OwnUses(path, lock_dir=tmp_path / "locks").read() == {}


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_an_object_or_the_head_of_the_history_in_another_shape_is_an_error(tmp_path: Path, kind: str) -> None:
    create(tmp_path / "h.git")
    repository, raw = Repository(tmp_path / "h.git"), bytes(20)
    repository.loose_path(raw).parent.mkdir()
    put(kind, repository.loose_path(raw))
    with pytest.raises(OSError):
        repository.refuse_cut_short(raw)
    put(kind, tmp_path / "h.git" / "HEAD")
    with pytest.raises((OSError, DamagedHistoryError)):
        Repository(tmp_path / "h.git")


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_window_without_what_it_remembers_begins_with_the_defaults(tmp_path: Path, kind: str) -> None:
    profile = Profile.under(tmp_path)
    put(kind, remembered_file(profile))
    assert read_remembered(profile) == Remembered()


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_a_consolidation_runs_whatever_lies_in_place_of_the_activity_log(
    tmp_path: Path, kind: str, expect_log: ExpectLog
) -> None:
    parts = sample_parts("mux-home", tmp_path)
    put(kind, parts.profile.activity(parts.home_id))
    expect_log("Activity was not written")
    assert parts.dreams.run(DreamRequest(workspace(parts, PIPELINE)), RulesEngine()).succeeded
