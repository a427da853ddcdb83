"""Crash records: the whitelist, signatures, fingerprints, groups; never what came in (sheet section 10)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from helpers.loki_home import FINGERPRINT, NOON, LokiMaker
from helpers.samples import copy_sample, snapshot
from reverie.failures import crash
from reverie.failures.git_remote import names_of, normalised, project_id_hash, remote_of
from reverie.failures.record import capture, places_of
from reverie.failures.redaction import PrivatePlaces

PLACES = PrivatePlaces("/srv/work/night-bus", "/srv/people/ada", ("nightowl/night-bus",))
PYTHON_STACK = """Traceback (most recent call last):
  File "/home/bob/x.py", line 3, in load
    return json.loads(text)
  File "/usr/lib/python3/json/__init__.py", line 346, in loads
  File "/usr/lib/python3/json/decoder.py", line 337, in <lambda>
json.decoder.JSONDecodeError: Expecting value
"""
JS_STACK = """MemoryError: too much
    at buildTimetable (/home/bob/web/build.ts:30:11)
    at async run (/home/bob/web/main.ts:3:1)
    at /home/bob/web/main.ts:9:1
    at new Foo (x.js:1)
    at Object.<anonymous> (x.js:2)
    at sixth (x.js:3)
"""


def test_a_fingerprint_is_that_of_the_sheet() -> None:
    assert crash.fingerprint("IterationError", []) == FINGERPRINT
    assert project_id_hash("").startswith("5f9ec62febacc5d7")


def test_the_samples_records_scrub_to_themselves(tmp_path: Path) -> None:
    project = copy_sample("loki-project", tmp_path)
    for path in (project / ".loki" / "crash").iterdir():
        before = json.loads(path.read_text())
        assert crash.scrubbed(before, PLACES) == before
        assert before["fingerprint"] == path.name[:64]


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        (PYTHON_STACK, ["load", "loads", "<lambda>"]),
        (JS_STACK, ["buildTimetable", "async run", "<anonymous>", "new Foo", "Object.<anonymous>"]),
        ("#0  0x00007f in malloc () from /lib\n#1 main ()", []),
        ("#0 0x7f3a in malloc (size=3)", ["malloc"]),
        ("at step (x.js:1)\nsome prose in the middle\nat <anonymous>", ["step", "<anonymous>"]),
        ("  at secret words of a person (x.js:1)", []),
        ("exit 1: overflow on page 2", []),
        ("", []),
    ],
)
def test_a_signature_is_the_names_of_functions(stack: str, expected: list[str]) -> None:
    assert crash.signature_of(stack) == expected


def test_only_the_fifteen_keys_can_exist_and_each_is_checked() -> None:
    raw: dict[str, Any] = {
        "os": "Linux",
        "arch": "x86_64 of bob",
        "node_version": "v22.11.0",
        "error_class": "ValueError(bob@example.com) at /home/bob",
        "stack": JS_STACK,
        "rarv_phase": "act",
        "exit_code": True,
        "friction_kind": "boredom",
        "project_id_hash": "nightowl",
        "fingerprint": "0" * 64,
        "redactions_count": 2,
        "captured_at": "yesterday",
        "message": "nobody needs this",
        "token": "abc",
    }
    found = crash.scrubbed(raw, PLACES)
    assert set(found) == set(crash.KEYS)
    assert len(crash.KEYS) == 15
    nulls = {key for key, value in found.items() if value is None}
    absent = {"arch", "loki_version", "bun_version"}
    assert nulls == {*absent, "exit_code", "friction_kind", "project_id_hash", "captured_at"}
    assert found["error_class"] == "ValueErrorREDACTED:EMAIL"
    assert found["rarv_phase"] == "ACT"
    assert found["fingerprint"] == crash.fingerprint(found["error_class"], found["stack_signature"])
    assert found["redactions_count"] >= 6, "mail, four places, token, and two of before"
    assert "bob" not in json.dumps(found)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("IterationError", "IterationError"),
        ("  a.b:C-1_x and more", "a.b:C-1_x"),
        ("x" * 70, "x" * 64),
        ("", "UnknownError"),
        (None, "UnknownError"),
        (["x"], "UnknownError"),
        (4, "UnknownError"),
        ("naïve", "nave"),
    ],
)
def test_an_error_class_is_one_plain_word(value: Any, expected: str) -> None:
    assert crash.error_class_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("verify", "VERIFY"),
        ("iteration", "iteration"),
        ("ITERATION", "iteration"),
        (" Verify ", "VERIFY"),
        ("x", None),
        (3, None),
    ],
)
def test_a_phase_is_one_of_the_agents(value: Any, expected: str | None) -> None:
    assert crash.phase_of(value) == expected


def test_whatever_cannot_be_scrubbed_leaves_the_minimal_record() -> None:
    class Odd(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError("bob")

    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    for raw in (None, "bob", ["bob"], Odd(a=1), {"a": deep}):
        assert crash.scrubbed(raw, PLACES) == {
            "error_class": "ScrubError",
            "redactions_count": 0,
            "rules_version": "1.0",
        }
    while isinstance(deep, list):  # so that freeing it does not recurse
        deep = deep[0]


def test_crashes_are_grouped_by_fingerprint_the_kind_seen_last_first(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path / "p")
    maker.everything()
    other = maker.crash(1_787_052_650, fingerprint="a" * 64, error_class="MemoryError", stack_signature=["f"])
    before, problems = snapshot(maker.project), list[str]()
    found = crash.groups(crash.crashes(maker.store / "crash", problems))
    assert [(group.fingerprint[:4], len(group.crashes)) for group in found] == [
        ("", 1),
        ("d9e1", 2),
        ("aaaa", 1),
    ]
    assert found[0].newest.error_class == "ScrubError"
    assert found[0].newest.at == 1_787_052_800_000_000, "by its name, for want of its own word"
    assert found[1].newest.at == 1_787_052_700_000_000
    assert found[2].newest.path == other
    assert [("broken.json" in problem) for problem in problems] == [True]
    assert snapshot(maker.project) == before


def test_the_newest_file_is_the_one_written_last(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path / "p")
    assert crash.newest_file(maker.store / "crash") is None
    later = maker.crash(2_000)
    maker.crash(3_000)
    os.utime(later, (9_000, 9_000))
    assert crash.newest_file(maker.store / "crash") == later


def test_a_capture_writes_what_may_stand_there_and_no_more(tmp_path: Path) -> None:
    project = tmp_path / "home" / "ada" / "night-bus"
    (project / ".git").mkdir(parents=True)
    config = '[core]\n[remote "origin"]\n\turl = git@github.com:nightowl/night-bus.git\n'
    (project / ".git" / "config").write_text(config)
    places = places_of(project, tmp_path / "home" / "ada")
    raw = {"error_class": "Boom", "stack": JS_STACK, "rarv_phase": "ACT", "exit_code": 1}
    path = capture(project, {**raw, "note": f"{project} of ada@example.com, nightowl"}, places, NOON)
    text = path.read_text()
    record = json.loads(text)
    assert path.name == f"{record['fingerprint']}-{NOON // 1000}.json"
    assert list(record) == sorted(crash.KEYS)
    assert record["project_id_hash"] == project_id_hash("https://github.com/nightowl/night-bus")
    assert record["captured_at"] == "2026-08-19T12:00:00Z"
    assert text == json.dumps(record, indent=2, sort_keys=True)
    assert not [word for word in ("ada", "nightowl", "bob", str(tmp_path)) if word in text]


def test_a_capture_of_what_cannot_be_scrubbed_is_named_so(tmp_path: Path) -> None:
    places = PrivatePlaces("", "", (None,))  # type: ignore[arg-type]
    path = capture(tmp_path, {"error_class": "bob"}, places, NOON)
    assert path.name == f"scruberror-{NOON // 1000}.json"
    assert json.loads(path.read_text()) == crash.minimal()


def test_a_stack_as_a_list_of_lines_has_the_signature_of_its_text() -> None:
    as_text = crash.scrubbed({"error_class": "Boom", "stack": JS_STACK}, PLACES)
    as_lines = crash.scrubbed({"error_class": "Boom", "stack": JS_STACK.splitlines()}, PLACES)
    assert as_lines["stack_signature"]
    assert as_lines == as_text


def test_a_record_that_could_not_be_scrubbed_before_stays_the_minimal_one() -> None:
    assert crash.scrubbed(crash.minimal(), PLACES) == crash.minimal()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2", 2),
        (" 3 ", 3),
        ("-1", -1),
        (2, 2),
        ("x", None),
        ("", None),
        (True, None),
        (4.9, 4),
        (-4.9, -4),
        ("4.9", None),
        ("\u0664", 4),
        ("1_000", 1000),
        (float("nan"), None),
        (float("inf"), None),
        ("9" * 30, None),
    ],
)
def test_an_exit_code_is_read_as_loki_mode_reads_it(value: object, code: int | None) -> None:
    assert crash.exit_code_of(value) == code


@pytest.mark.parametrize(
    ("line", "symbols"),
    [
        ("    at 0x7ffe12", ["<anonymous>"]),
        ("    at 0x7ffe12 (x.js:1:2)", ["<anonymous>"]),
        ('  File "a.py", line 3, in 0x7ffe', ["<anonymous>"]),
        ("    at shop.pay", ["shop.pay"]),
        ("    at /p/shop.js:1:2", ["<anonymous>"]),
    ],
)
def test_a_frame_without_a_name_is_anonymous_and_one_without_a_place_is_not(
    line: str, symbols: list[str]
) -> None:
    assert crash.signature_of(line) == symbols


def test_a_kind_of_friction_to_come_stays_in_a_record_that_was_scrubbed() -> None:
    record = crash.scrubbed({"error_class": "Boom", "friction_kind": "context_loop"}, PLACES)
    assert record["friction_kind"] is None
    stored = {**record, "friction_kind": "context_loop"}
    assert crash.scrubbed(stored, PLACES)["friction_kind"] == "context_loop"
    assert crash.scrubbed({**stored, "friction_kind": "It is 4f0c"}, PLACES)["friction_kind"] is None


@pytest.mark.parametrize(
    ("remote", "beginning"),
    [
        ("git@github.com:nightowl/night-bus.git", "7533049e"),
        ("https://GitHub.com/nightowl/night-bus", "7533049e"),
        # loki-mode keeps user and port of these, so that its ids differ.
        ("https://ada:pw@github.com/nightowl/night-bus.git/", "8f2b21d4"),
        ("ssh://git@github.com:22/nightowl/night-bus.git", "725cca50"),
    ],
)
def test_a_remote_is_named_as_loki_mode_names_it_and_hidden_in_every_spelling(
    remote: str, beginning: str
) -> None:
    assert normalised(remote) == "github.com/nightowl/night-bus"
    assert project_id_hash(remote).startswith(beginning)
    assert names_of(remote) == ("nightowl/night-bus", "nightowl", "night-bus")


def test_a_worktree_has_the_remote_of_its_repository(tmp_path: Path) -> None:
    git = tmp_path / "main" / ".git"
    (git / "worktrees" / "w").mkdir(parents=True)
    (git / "config").write_text('[remote "up"]\nurl = https://example.org/a/b\n')
    (git / "worktrees" / "w" / "commondir").write_text("../..\n")
    work = tmp_path / "w"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {git / 'worktrees' / 'w'}\n")
    assert remote_of(work) == "https://example.org/a/b"
    assert remote_of(tmp_path) == ""
    assert names_of("") == ()
