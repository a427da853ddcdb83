"""The state file is read with the agent's own coercion, and written so that nothing of it is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reverie.agents.transcripts import Turn
from reverie.clock import fixed_clock
from reverie.files.sidecar import Sidecar
from reverie.jobs.single_file.service import StateTable
from reverie.jobs.single_file.writer_turns import (
    StateFile,
    StateMarks,
    WriterState,
    as_data,
    coerced,
)
from reverie.memory.scope_files import sha256_of_bytes
from reverie.values import replace


@pytest.mark.parametrize(
    ("data", "state"),
    [
        ({}, WriterState()),
        ({"turnsSinceLastRun": 3}, WriterState(3)),
        ({"turnsSinceLastRun": 2.9}, WriterState(2)),
        ({"turnsSinceLastRun": -4}, WriterState(0)),
        ({"turnsSinceLastRun": "3"}, WriterState(0)),
        ({"turnsSinceLastRun": True}, WriterState(0)),
        ({"turnsSinceLastRun": float("inf")}, WriterState(0)),
        ({"lastRunStartedAt": 5, "lastRunCompletedAt": "6"}, WriterState(0, 5, None)),
        ({"lastRunStartedAt": float("nan")}, WriterState()),
        ({"lastRunMessageId": "  m1 "}, WriterState(message_id="m1")),
        ({"lastRunMessageId": "   "}, WriterState()),
        ({"lastRunMessageId": 7}, WriterState()),
    ],
)
def test_coercion(data: dict[str, Any], state: WriterState) -> None:
    assert coerced(data) == state


def state_file(tmp_path: Path) -> tuple[StateFile, Path]:
    path = tmp_path / "state.json"
    return StateFile(Sidecar(path, lock_dir=tmp_path / "locks", clock=fixed_clock(1))), path


def test_the_file_is_written_as_the_agent_writes_it(tmp_path: Path) -> None:
    file, path = state_file(tmp_path)
    sha256 = file.change(lambda _state: WriterState(0, 10, None, "m"))
    assert path.read_bytes() == (
        b'{\n  "schemaVersion": 1,\n  "turnsSinceLastRun": 0,\n  "lastRunStartedAt": 10,\n'
        b'  "lastRunMessageId": "m"\n}'
    )
    assert sha256 == sha256_of_bytes(path.read_bytes()) == file.read().sha256


def test_unknown_fields_survive(tmp_path: Path) -> None:
    file, path = state_file(tmp_path)
    path.write_text('{"schemaVersion": 1, "turnsSinceLastRun": 1, "later": {"x": [1]}}')
    file.change(lambda state: WriterState(state.turns + 1))
    assert json.loads(path.read_bytes()) == {"schemaVersion": 1, "turnsSinceLastRun": 2, "later": {"x": [1]}}


def test_a_version_that_is_not_known_stays_as_it_is(tmp_path: Path) -> None:
    file, path = state_file(tmp_path)
    path.write_text('{"schemaVersion": 2, "turnsSinceLastRun": 1}')
    file.change(lambda state: WriterState(state.turns + 1))
    assert json.loads(path.read_bytes()) == {"schemaVersion": 2, "turnsSinceLastRun": 2}


def test_a_broken_file_counts_from_zero_and_is_kept_aside(tmp_path: Path) -> None:
    file, path = state_file(tmp_path)
    path.write_text('{"turnsSince')
    assert file.read().state == WriterState()
    assert file.read().problem
    file.change(lambda state: WriterState(state.turns + 1))
    assert file.read().state == WriterState(1)
    assert [aside.read_text() for aside in tmp_path.glob("state.json.unreadable-*")] == ['{"turnsSince']


def test_completing_keeps_what_there_is() -> None:
    assert as_data(WriterState(1, 2, 3, "m"), {"x": 1, "lastRunStartedAt": 9})["x"] == 1
    assert "lastRunCompletedAt" not in as_data(WriterState(1), {"lastRunCompletedAt": 9})


def table(path: Path) -> StateTable[StateMarks]:
    sidecar = Sidecar(path, lock_dir=path.parent / "locks", clock=fixed_clock(1))
    return StateTable(sidecar, "workspaces", StateMarks)


def turn(message_id: str, sequence: int, timestamp: int) -> Turn:
    return Turn(message_id, "assistant", "", sequence, timestamp)


def test_marks_know_the_turns_that_were_counted(tmp_path: Path) -> None:
    marks = table(tmp_path / "marks.json")
    assert marks.of("w") == StateMarks()
    marks.change("w", lambda old: replace(old.counting(turn("m1", 5, 100)), written="abc"))
    found = marks.of("w")
    assert found.written == "abc"
    assert found.has_counted(turn("m1", 99, 999)), "by its name"
    assert found.has_counted(turn("m0", 4, 90)), "an older one, seen late"
    assert not found.has_counted(turn("m2", 6, 100)), "a newer one"
    assert not found.has_counted(turn("m3", 0, 200)), "of a history that was cleared"
    assert marks.of("other") == StateMarks()


def test_damaged_marks_are_none(tmp_path: Path) -> None:
    path = tmp_path / "marks.json"
    marks = table(path)
    for text in ('{"workspaces": []}', '{"workspaces": {"w": {"turns": 3, "written": 4, "tail": []}}}', "x"):
        path.write_text(text)
        assert marks.of("w") == StateMarks()
