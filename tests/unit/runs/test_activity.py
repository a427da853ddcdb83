"""The Activity log: newest first, an unchanged gate once with a counter, nothing secret, nothing fatal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.benches import Time
from helpers.expect_log import ExpectLog
from helpers.fault_room import file_limit
from helpers.profiles import examples
from reverie.errors import Unavailable
from reverie.runs import activity
from reverie.runs.activity import Activity


def a_log(tmp_path: Path, clock: Time | None = None) -> Activity:
    return Activity(tmp_path / "activity/h.jsonl", lock_dir=tmp_path / "locks", clock=clock or Time(0))


def say(log: Activity, text: str, workspace_id: str | None = "w", **more: Any) -> None:
    known: dict[str, Any] = {"level": "info", "home": "/h", "run_id": None, "details": {}, **more}
    log.add("gate", text=text, workspace_id=workspace_id, **known)


def test_entries_come_newest_first_and_limited(tmp_path: Path) -> None:
    clock = Time(1)
    log = a_log(tmp_path, clock)
    for clock.now in (1, 2, 3):
        say(log, f"text {clock.now}")
    assert [entry.text for entry in log.read(2)] == ["text 3", "text 2"]


def test_an_unchanged_gate_is_one_entry_with_a_counter(tmp_path: Path) -> None:
    clock = Time(1)
    log = a_log(tmp_path, clock)
    for clock.now in range(1, 6):
        say(log, "not due")
        say(log, "disabled", "other")
    entries = {entry.workspace_id: entry for entry in log.read()}
    assert len(log.read()) == 2
    assert (entries["w"].at, entries["w"].times, entries["w"].last_at) == (1, 5, 5)


def test_a_changed_gate_is_a_new_entry_and_so_is_the_return_of_the_old_one(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for text in ("a", "b", "a", "a"):
        say(log, text)
    assert sorted((entry.text, entry.times) for entry in log.read()) == [("a", 1), ("a", 2), ("b", 1)]


def test_gates_that_speak_in_turn_keep_their_own_counters(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for _ in range(3):
        for event in ("dream.skipped", "writer.skipped"):
            log.add(event, level="info", text="off", home="/h", workspace_id="w", run_id=None, details={})
    assert [(entry.event, entry.times) for entry in log.read()] == [
        ("writer.skipped", 3),
        ("dream.skipped", 3),
    ]


def test_entries_of_one_moment_come_newest_first_too(tmp_path: Path) -> None:
    log = a_log(tmp_path, Time(7))
    for text in ("first", "second", "third"):
        say(log, text)
    assert [entry.text for entry in log.read()] == ["third", "second", "first"]


def test_a_repetition_whose_entry_was_rotated_away_says_it_in_full_again(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(activity, "_ROTATE_BYTES", 300)
    log = a_log(tmp_path)
    for _ in range(40):
        say(log, "not due")
    assert log.read()[0].text == "not due"
    assert log.damaged_lines == 0


def test_secrets_are_redacted_in_text_and_details(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    secret = "sk-ant-api03-" + "A1b2C3d4" * 8
    say(log, f"key {secret} refused", details={"error": [f"bad {secret}"], secret[:3]: 1})
    assert secret not in (tmp_path / "activity/h.jsonl").read_text()
    assert log.read()[0].details["error"] != [f"bad {secret}"]


def test_damaged_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    say(log, "one")
    file = tmp_path / "activity/h.jsonl"
    file.write_bytes(file.read_bytes() + b'\xff\n[1]\n{"event": 1}\n{"again": "x"}\n{"at": 1, "ev')
    say(log, "two")
    assert {entry.text for entry in log.read()} == {"one", "two"}
    assert log.damaged_lines == 5


def test_a_large_log_is_rotated_and_both_files_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(activity, "_ROTATE_BYTES", 500)
    log = a_log(tmp_path)
    for number in range(6):
        say(log, f"text {number} " + "x" * 100)
    assert (tmp_path / "activity/h.jsonl.1").exists()
    assert any(entry.text.startswith("text 5") for entry in log.read())
    assert len(log.read()) >= 3


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=12),
    st.integers(1, 5),
    st.sampled_from((1, 100, 1 << 18)),
)
def test_the_newest_are_those_of_the_whole_log_whatever_is_read_of_it(
    tmp_path: Path, monkeypatch: Any, said: list[tuple[str, str]], limit: int, block: int
) -> None:
    monkeypatch.setattr(activity, "_BLOCK_BYTES", block)
    log = a_log(tmp_path / str(uuid4()))
    told: list[tuple[str, str, int]] = []
    for gate, text in said:
        say(log, text, gate)
        last = next((entry for entry in reversed(told) if entry[0] == gate), ("", "", 0))
        if last[1] == text:
            told.remove(last)
        told.append((gate, text, last[2] + 1 if last[1] == text else 1))
    found = [(entry.workspace_id, entry.text, entry.times) for entry in log.read(limit)]
    assert found == told[::-1][:limit]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")
@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_whatever_lies_in_place_of_the_log_neither_holds_up_nor_stops_who_speaks(
    tmp_path: Path, kind: str, expect_log: ExpectLog
) -> None:
    log, file = a_log(tmp_path), tmp_path / "activity/h.jsonl"
    file.parent.mkdir()
    if kind == "folder":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to("/dev/zero")
    expect_log("Activity was not written: .* Move it elsewhere", count=1)
    say(log, "one")
    say(log, "two")
    with pytest.raises(Unavailable, match="Move it elsewhere"):
        log.read()
    file.rmdir() if kind == "folder" else file.unlink()
    say(log, "three")
    assert [entry.text for entry in log.read()] == ["three"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_sentence_that_finds_only_a_part_of_its_room_is_a_warning(
    tmp_path: Path, expect_log: ExpectLog
) -> None:
    log = a_log(tmp_path)
    say(log, "one")
    expect_log("Activity was not written: .*", count=1)
    with file_limit((tmp_path / "activity/h.jsonl").stat().st_size + 20):
        say(log, "two")
    say(log, "three")
    assert [entry.text for entry in log.read()] == ["three", "one"]


def test_reading_creates_nothing(tmp_path: Path) -> None:
    assert a_log(tmp_path).read() == ()
    assert not (tmp_path / "activity").exists()


def test_two_processes_write_whole_lines(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from reverie.runs.activity import Activity\n"
        "log = Activity(Path(sys.argv[1]), lock_dir=Path(sys.argv[2]), clock=lambda: 1)\n"
        "for n in range(40): log.add('e', level='info', text=sys.argv[3] + str(n), home='h',"
        " workspace_id=None, run_id=None, details={})\n"
    )
    file = tmp_path / "a.jsonl"
    command = [sys.executable, "-c", script, str(file), str(tmp_path / "locks")]
    workers = [subprocess.Popen([*command, name]) for name in "ab"]
    assert [worker.wait(timeout=60) for worker in workers] == [0, 0]
    assert {json.loads(line)["text"] for line in file.read_text().splitlines()} == {
        f"{name}{number}" for name in "ab" for number in range(40)
    }
