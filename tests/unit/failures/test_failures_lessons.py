"""Lessons and their block, exact against the sheet's section 11 on prepared stores."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.loki_home import FINGERPRINT, NOON, LokiMaker, error, iso
from helpers.samples import copy_sample, snapshot
from reverie.failures.lessons import error_entry, is_on, retrieve
from reverie.failures.record import Failure, record
from reverie.files.directory import read_regular

H = "\nPAST FAILURES TO AVOID:\n"
DAY = "2026-08-19"


def at(minute: int, hour: int = 10) -> str:
    return f"{DAY}T{hour:02}:{minute:02}:00.000000Z"


def lines(*told: str) -> str:
    return H + "".join(f"- {line}\n" for line in told) if told else ""


def no(*numbers: int | str) -> str:
    return lines(*(f"IterationError: no {number}" for number in numbers))


Case = tuple[str, Callable[[LokiMaker], Any], str]
STORES: list[Case] = []


def store(name: str, expected: str) -> Callable[[Callable[[LokiMaker], Any]], None]:
    return lambda build: STORES.append((name, build, expected))


def with_errors(*errors: Any) -> Callable[[LokiMaker], Any]:
    return lambda m: m.episode(1, errors=list(errors))


def _simple() -> None:
    add = STORES.append
    add(("no store", lambda m: None, ""))
    add(("an empty store", lambda m: (m.memory / "episodic").mkdir(parents=True), ""))
    add(("one failure", lambda m: m.episode(1), no(1)))
    add(("a success", lambda m: m.episode(1, outcome="success"), ""))
    add(("a partial outcome", lambda m: m.episode(1, outcome="partial"), ""))
    add(("a failure without errors", lambda m: m.episode(1, errors=[]), ""))
    add(("outcome in capitals", lambda m: m.episode(1, outcome="FAILURE"), ""))
    add(("outcome null", lambda m: m.episode(1, outcome=None), ""))
    add(("outcome of a wrong type", lambda m: m.episode(1, outcome=["failure"]), ""))
    add(
        (
            "no outcome is success",
            lambda m: m.json(f"memory/episodic/{DAY}/task-1.json", {"errors_encountered": [error()]}),
            "",
        )
    )
    # What a line says
    add(("type and message", with_errors(error("A", "b")), lines("A: b")))
    add(("an empty message", with_errors(error("A", "")), lines("A")))
    add(("a null message", with_errors({"type": "A", "message": None}), lines("A")))
    add(("no message", with_errors({"type": "A"}), lines("A")))
    add(("the reader's alias of type", with_errors({"error_type": "A", "message": "b"}), lines("A: b")))
    add(("a type of 80", with_errors(error("t" * 80, "")), lines("t" * 80)))
    add(("a type of 81", with_errors(error("t" * 81, "b")), lines("t" * 80 + ": b")))
    add(("a message of 160", with_errors(error("A", "m" * 160)), lines("A: " + "m" * 160)))
    add(("a message of 161", with_errors(error("A", "m" * 161)), lines("A: " + "m" * 160)))
    add(
        (
            "letters outside of ASCII count once",
            with_errors(error("é" * 81, "日" * 161)),
            lines("é" * 80 + ": " + "日" * 160),
        )
    )
    add(("outside of the basic plane, too", with_errors(error("A", "🙂" * 161)), lines("A: " + "🙂" * 160)))
    add(("a resolution is not told", with_errors(error("A", "b", "mended")), lines("A: b")))
    add(("a number as type", with_errors({"type": 7, "message": 1.5}), lines("7: 1.5")))
    # Errors of an episode
    add(("two errors of one episode", with_errors(error("A", "1"), error("B", "2")), lines("A: 1", "B: 2")))
    add(
        (
            "four errors of one episode",
            with_errors(*(error("A", str(n)) for n in range(4))),
            lines("A: 0", "A: 1", "A: 2"),
        )
    )
    add(("errors that are none", with_errors("x", None, 3, ["y"], error("A", "1")), lines("A: 1")))
    add(("errors null", lambda m: m.episode(1, errors_encountered=None), ""))
    add(("errors of a wrong type", lambda m: m.episode(1, errors_encountered={"type": "A"}), ""))


def _order() -> None:
    add = STORES.append

    def several(*when: tuple[int, str]) -> Callable[[LokiMaker], Any]:
        return lambda m: [m.episode(number, text, day=DAY) for number, text in when]

    add(("newest first on one day", several((1, at(1)), (2, at(2)), (3, at(3))), no(3, 2, 1)))
    add(("names do not count", several((1, at(9)), (9, at(1)), (5, at(5))), no(1, 5, 9)))
    add(("the fourth goes", several((4, at(1)), (1, at(2)), (2, at(3)), (3, at(4))), no(3, 2, 1)))
    add(
        (
            "parts of a second count",
            several((1, f"{DAY}T10:00:00.000001Z"), (2, f"{DAY}T10:00:00Z")),
            no(1, 2),
        )
    )
    add(("zones count", several((1, f"{DAY}T10:30:00+02:00"), (2, f"{DAY}T09:00:00+00:00")), no(2, 1)))
    add(("no zone is UTC", several((1, f"{DAY}T10:30:00"), (2, f"{DAY}T10:29:00Z")), no(1, 2)))
    add(("a Z behind an offset", several((1, f"{DAY}T10:30:00+00:00Z"), (2, at(29))), no(1, 2)))
    add(("equal moments stand by name, last first", several((1, at(5)), (2, at(5))), no(2, 1)))
    add(("a date that lies moves only itself", several((1, "2019-01-01T00:00:00Z"), (2, at(1))), no(2, 1)))
    add(("a date to come is the newest", several((1, "2031-01-01T00:00:00Z"), (2, at(1))), no(1, 2)))
    add(("no date is this moment", several((1, ""), (2, at(1))), no(1, 2)))
    add(
        ("a null date is this moment", lambda m: (m.episode(1, None, day=DAY), m.episode(2, at(1))), no(1, 2))
    )
    add(("a broken date comes last and hides nothing", several((1, "yesterday"), (2, at(1))), no(2, 1)))
    add(("a date of a wrong type, too", lambda m: (m.episode(1, 17, day=DAY), m.episode(2, at(1))), no(2, 1)))
    add(("an impossible date, too", several((1, f"{DAY}T25:00:00Z"), (2, at(1))), no(2, 1)))


def _window() -> None:
    add = STORES.append

    def days(*names: str) -> Callable[[LokiMaker], Any]:
        return lambda m: [m.episode(n, at(n), day=name) for n, name in enumerate(names, 1)]

    add(("yesterday counts whole", lambda m: m.episode(1, "2026-08-18T00:00:00Z"), no(1)))
    add(("the day before does not", lambda m: m.episode(1, "2026-08-17T23:59:59Z"), ""))
    add(("the directory decides, not the date", days("2026-08-17"), ""))
    add(
        (
            "a directory in the window with an old date",
            lambda m: m.episode(1, "2020-01-01T00:00:00Z", day=DAY),
            no(1),
        )
    )
    add(("a day to come counts", days("2026-08-20"), no(1)))
    add(("a directory that is no date", days("older"), ""))
    add(("a date that does not exist", days("2026-08-99"), ""))
    add(("a longer name", days(f"{DAY}-x"), ""))
    add(("days in the window together", days("2026-08-17", "2026-08-18", DAY), no(3, 2)))
    add(("a file instead of a directory", lambda m: (m.file(f"memory/episodic/{DAY}", "x"), None)[1], ""))
    add(("files by other names", lambda m: (m.episode(1, name="x-1"), m.episode(2, name="index")), ""))

    def fifty(m: LokiMaker) -> None:
        # By name, last first: the fifty that are read are 02 to 51.
        for number in range(52):
            failed = number in (0, 1, 2, 3)
            m.episode(f"{number:02}", at(number), outcome="failure" if failed else "success")

    add(("fifty files, successes among them", fifty, no("03", "02")))

    def fifty_damaged(m: LokiMaker) -> None:
        for number in range(10, 60):
            m.file(f"memory/episodic/{DAY}/task-{number}.json", "{")
        m.episode(1, name="task-01")

    add(("damaged files count among the fifty", fifty_damaged, ""))

    def older_day(m: LokiMaker) -> None:
        for number in range(49):
            m.episode(f"{number:02}", at(number), outcome="success")
        for number in (1, 2):
            m.episode(number, f"2026-08-18T10:0{number}:00Z")

    add(("fifty over two days", older_day, no(2)))


def _damage() -> None:
    add = STORES.append
    for name, content in {
        "empty": b"",
        "torn": b'{"id": ',
        "latin": b'{"id": "\xe9"}',
        "list": b"[1]",
        "text": b'"x"',
        "null": b"null",
        "false": b"false",
        "deep": b"[" * 100_000,
    }.items():

        def damaged(m: LokiMaker, name: str = name, content: bytes = content) -> None:
            m.file(f"memory/episodic/{DAY}/task-9-{name}.json", content)
            m.episode(1)

        add((f"a sibling that is {name}", damaged, no(1)))

    def directory(m: LokiMaker) -> None:
        (m.memory / "episodic" / DAY / "task-9.json").mkdir(parents=True)
        m.episode(1)

    def dangling(m: LokiMaker) -> None:
        m.episode(1)
        (m.memory / "episodic" / DAY / "task-9.json").symlink_to("nowhere")

    def fifo(m: LokiMaker) -> None:
        m.episode(1)
        os.mkfifo(m.memory / "episodic" / DAY / "task-9.json")

    add(("a sibling that is a directory", directory, no(1)))
    add(("a sibling that leads nowhere", dangling, no(1)))
    add(("a sibling that is a pipe", fifo, no(1)))
    add(
        (
            "a context that is null",
            lambda m: (m.episode(2, at(1), context=None), m.episode(1, at(2))),
            no(1, 2),
        )
    )
    add(("an id that leads elsewhere", lambda m: m.episode(1, id="../../x"), no(1)))
    add(("a store with everything", LokiMaker.everything, no(1)))


_simple()
_order()
_window()
_damage()


@pytest.mark.parametrize(
    ("build", "expected"), [each[1:] for each in STORES], ids=[each[0] for each in STORES]
)
def test_the_block_is_what_the_agent_would_be_told(
    build: Callable[[LokiMaker], Any], expected: str, tmp_path: Path
) -> None:
    maker = LokiMaker(tmp_path / "project")
    build(maker)
    before = snapshot(maker.project)
    assert retrieve(maker.memory, now_ms=NOON).block == expected
    assert snapshot(maker.project) == before, "looking changes nothing"


def test_there_are_at_least_sixty_prepared_stores() -> None:
    assert len(STORES) >= 60
    assert len({each[0] for each in STORES}) == len(STORES)


@pytest.mark.parametrize(
    ("now", "expected"),
    [("2026-08-19T23:59:59.999", no(1)), ("2026-08-20T00:00:00", ""), ("2026-08-18T00:00:00", no(1))],
)
def test_the_window_is_whole_days_of_the_day_24_hours_ago(now: str, expected: str, tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.episode(1, "2026-08-18T12:00:00Z")
    assert retrieve(maker.memory, now_ms=iso(now)).block == expected


def test_damage_is_told_beside_the_block(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.episode(1)
    maker.file(f"memory/episodic/{DAY}/task-torn.json", "{")
    (maker.memory / "episodic" / DAY / "task-missing.json").symlink_to("nowhere")
    found = retrieve(maker.memory, now_ms=NOON)
    assert (len(found.lessons), len(found.problems)) == (1, 1), "what is missing is no damage"
    assert "task-torn.json: it is not valid JSON" in found.problems[0]


def test_an_episode_that_may_not_be_read_hides_no_other_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = LokiMaker(tmp_path)
    maker.episode(1)
    closed = maker.episode(2, at(5))

    def refusing(path: Path, limit: int) -> bytes:
        if path == closed:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read_regular(path, limit)

    monkeypatch.setattr("reverie.agents.loki.records.read_regular", refusing)
    found = retrieve(maker.memory, now_ms=NOON)
    assert found.block == no(1)
    assert found.problems == (f"{closed}: Permission denied.",)


def test_the_block_of_the_sample_is_that_of_its_three_newest_failures(tmp_path: Path) -> None:
    memory = copy_sample("loki-project", tmp_path) / ".loki" / "memory"
    found = retrieve(memory, now_ms=NOON)
    assert found.block == lines(
        "SSHTimeout: connection timed out after 30 s",
        "IterationError: phase=REFLECT; exit=2",
        "GateFailure: phase=VERIFY; friction=gate_failure; fp=e4f6f518ef7d",
    )
    assert [each.injected for each in found.lessons] == [True, True, True, False]
    assert not found.problems


def test_repeats_of_a_fingerprint_are_counted(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    for number in range(4):
        maker.episode(number, at(number), errors=[error(message=f"phase=ACT; fp={FINGERPRINT[:12]}")])
    maker.episode(9, at(9))
    found = retrieve(maker.memory, now_ms=NOON)
    assert [each.seen for each in found.lessons] == [1, 4, 4, 4, 4]
    assert found.lessons[1].fingerprint == FINGERPRINT[:12]


# The second part: anti-patterns


def priors(maker: LokiMaker, goal: str, phase: str = "") -> list[str]:
    return list(retrieve(maker.memory, now_ms=NOON, goal=goal, phase=phase).priors)


def test_anti_patterns_that_share_a_word_with_goal_or_phase_follow(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.episode(1)
    maker.patterns(
        maker.anti_pattern(1, what="collect all ROWS in a list"),
        maker.anti_pattern(2, what="guess", correct="count rows first"),
        {**maker.anti_pattern(3, what="rows rows"), "category": "performance"},
    )
    found = retrieve(maker.memory, now_ms=NOON, goal="fewer Rows", phase="ACT")
    assert found.block == no(1) + "- (prior) collect all ROWS in a list\n- (prior) guess\n"
    assert priors(maker, "nothing alike") == []
    assert priors(maker, "", "GUESS") == ["guess"]
    assert retrieve(maker.memory, now_ms=NOON).block == no(1), "without a goal there is nothing to match"


def test_three_priors_of_120_characters_the_best_first(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.patterns(
        *(maker.anti_pattern(n, what=f"rows {n} " + "x" * 200) for n in range(3)),
        maker.anti_pattern(9, what="rows of the table"),
    )
    found = retrieve(maker.memory, now_ms=NOON, goal="table rows")
    assert [prior[:17] for prior in found.priors] == [
        "rows of the table",
        "rows 0 xxxxxxxxxx",
        "rows 1 xxxxxxxxxx",
    ]
    assert [len(line) for line in found.block.splitlines()[1:]] == [len("- (prior) ") + 120] * 2
    assert found.block.startswith("- (prior) rows of"), "without a lesson there is no heading, as shipped"


def test_an_anti_pattern_in_both_stores_is_one(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.everything()
    assert priors(maker, "rows the guessing") == ["guessing", "collect all rows"]


def test_the_usual_duplicates_match_no_goal(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.patterns(*(maker.anti_pattern(n) for n in range(3)))
    assert priors(maker, "build todo REST API", "ACT") == []


@pytest.mark.parametrize("content", ["", "{", "[1]", "null", '{"version": "1.1.0"}', '{"patterns": "x"}'])
def test_a_damaged_store_of_patterns_costs_only_the_priors(content: str, tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.episode(1)
    maker.file("memory/semantic/patterns.json", content)
    assert retrieve(maker.memory, now_ms=NOON, goal="rows").block == no(1)


def test_a_bare_list_of_patterns_is_read(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.json("memory/semantic/patterns.json", [maker.anti_pattern(1, what="rows")])
    assert priors(maker, "rows") == ["rows"]


# The entry, and the switch


@pytest.mark.parametrize(
    ("crash", "expected"),
    [
        (None, ("IterationError", "phase=ACT; exit=2")),
        ({}, ("IterationError", "phase=ACT")),
        ({"error_class": "Boom"}, ("Boom", "phase=ACT")),
        ({"error_class": "ScrubError", "rules_version": "1.0"}, ("ScrubError", "phase=ACT")),
        ({"friction_kind": "retry_loop"}, ("retry_loop", "phase=ACT; friction=retry_loop")),
        (
            {"rarv_phase": "VERIFY", "fingerprint": FINGERPRINT},
            ("IterationError", "phase=VERIFY; fp=d9e1058f4fe3"),
        ),
        ({"stack_signature": list("abcdef")}, ("IterationError", "phase=ACT; signature: a > b > c > d > e")),
        ({"stack_signature": None, "fingerprint": None}, ("IterationError", "phase=ACT")),
    ],
)
def test_an_entry_is_made_of_the_crash_or_of_phase_and_exit_code(
    crash: dict[str, Any] | None, expected: tuple[str, str]
) -> None:
    entry = error_entry(crash, "ACT", 2)
    assert (entry["type"], entry["message"]) == expected
    assert entry["resolution"] == ""


def test_an_entry_that_knows_nothing_says_that_it_failed() -> None:
    assert error_entry({}, "", 1)["message"] == "iteration failed"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, True),
        ({"LOKI_FAILURE_MEMORY": "0"}, False),
        ({"LOKI_FAILURE_MEMORY": ""}, True),
        ({"LOKI_FAILURE_MEMORY": "1"}, True),
        ({"LOKI_FAILURE_MEMORY": "false"}, True),
    ],
)
def test_only_a_zero_switches_it_off(env: dict[str, str], expected: bool) -> None:
    assert is_on(env) is expected


def test_switched_off_there_is_nothing(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path)
    maker.episode(1)
    assert retrieve(maker.memory, now_ms=NOON, on=False).block == ""


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just("failure"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
FIELDS = (
    "id",
    "task_id",
    "timestamp",
    "context",
    "outcome",
    "errors_encountered",
    "action_log",
    "category",
    "id",
)
RECORDS = st.dictionaries(
    st.sampled_from(FIELDS), ODD | st.lists(st.dictionaries(st.text(), ODD, max_size=2))
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(episode=RECORDS | ODD, patterns=RECORDS | ODD | st.lists(RECORDS), crash=RECORDS | ODD)
def test_nothing_in_a_store_stops_the_block_or_what_is_recorded(
    episode: object, patterns: object, crash: object, tmp_path: Path
) -> None:
    maker = LokiMaker(tmp_path)
    maker.json(f"memory/episodic/{DAY}/task-odd.json", episode)
    maker.episode(1)
    maker.json("memory/semantic/patterns.json", {"patterns": patterns})
    maker.json("memory/semantic/anti-patterns.json", patterns)
    maker.json("crash/odd-1.json", crash)
    maker.json("memory/index.json", crash)
    maker.json("memory/timeline.json", episode)
    assert "no 1" in retrieve(maker.memory, now_ms=NOON, goal="a e i", phase="ACT").block
    done = record(tmp_path, Failure("ACT", 1), env={}, home_dir=tmp_path, now_ms=NOON)
    assert done.path is not None
    done.path.unlink()
