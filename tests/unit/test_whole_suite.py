"""The suite under other Pythons and as another user: which Pythons, what is read from a run, the sample."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from campaign.whole_suite import Interpreter, asked, chosen, clean_environment, outcome
from helpers import ordinary_user
from helpers.sampled import is_chosen


def python(version: str, place: str = "/opt") -> Interpreter:
    return Interpreter(Path(place) / f"python{version}", tuple(map(int, version.split("."))))


def test_each_minor_version_is_tested_once_with_its_newest_and_the_systems_own() -> None:
    system = Interpreter(Path("/usr/bin/python3"), (3, 11, 2))
    found = [
        system,
        python("3.11.7"),
        python("3.10.9"),
        None,
        python("3.12.1"),
        python("3.12.0"),
        python("3.11.7"),
    ]
    assert chosen(found, []) == [system, python("3.11.7"), python("3.12.1")]
    named = [python("3.12.0"), python("3.11.7", "/home/me")]
    assert set(chosen(found, named)) == {system, python("3.11.7"), python("3.12.1"), *named}


def test_an_environment_stands_for_the_python_that_made_it(tmp_path: Path) -> None:
    found = asked(Path(sys.executable))
    assert found is not None
    assert found.version == sys.version_info[:3]
    assert found.program == Path(getattr(sys, "_base_executable", sys.executable))
    (tmp_path / "python3").write_text("#!/bin/sh\necho PyPy\n")
    (tmp_path / "python3").chmod(0o755)
    assert asked(tmp_path / "python3") is None
    assert asked(tmp_path / "missing") is None


SUITE = """\
  ok      ruff check (0.1 s)
FAILED tests/unit/a.py::test_a - AssertionError
ERROR tests/unit/b.py::test_b
1 failed, 8700 passed, 58 skipped, 1 error in 301.20s (0:05:01)
  ok      a part of the tests as an ordinary user (seed abc): 130 passed (12.0 s)
"""


def test_the_counts_are_those_of_the_suite_and_every_failure_is_named() -> None:
    done = outcome(SUITE, 1, 320.0)
    assert done.counts == {"failed": 1, "passed": 8700, "skipped": 58, "error": 1}
    assert [problem.split()[1] for problem in done.problems] == [
        "tests/unit/a.py::test_a",
        "tests/unit/b.py::test_b",
    ]
    assert not done.kept
    assert (
        done.lines("here")[0]
        == "here: 8,700 passed, 1 failed, 58 skipped, 1 errors, 320 s, BROKEN (exit code 1)"
    )
    assert outcome("10 passed in 1.00s\n", 0, 2.0).kept


@pytest.mark.parametrize(
    ("output", "code"), [("", 0), ("no tests ran in 0.1s\n", 0), ("It lacks venv.\n", 1)]
)
def test_a_run_without_a_passed_test_is_broken_and_says_its_last_words(output: str, code: int) -> None:
    done = outcome(output, code, 1.0)
    assert not done.kept
    assert done.problems == (tuple(output.splitlines()) if code else ())


def test_a_clone_is_tested_without_what_the_campaign_and_another_home_set() -> None:
    given = {"PATH": "/bin", "REVERIE_TEST_PROFILE": "campaign", "HOME": "/root", "XDG_DATA_HOME": "/root/x"}
    assert clean_environment({**given, "PIP_CERT": "/c"}) == {"PATH": "/bin", "PIP_CERT": "/c"}


def test_a_seed_chooses_about_the_share_asked_for_and_all_seeds_reach_every_test() -> None:
    tests = [f"tests/unit/test_{number}.py::test_it" for number in range(2_000)]
    seen: set[str] = set()
    for seed in map(str, range(120)):
        taken = {test for test in tests if is_chosen(test, seed, 20)}
        assert 60 < len(taken) < 140
        seen |= taken
    assert len(seen) > 1_950
    assert all(is_chosen(test, "any", 1) for test in tests)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="single rights are Linux's")
def test_a_command_without_roots_rights_and_its_children_are_asked_by_modes(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0)
    look = "import os, subprocess, sys\nsys.exit(subprocess.run(['ls', sys.argv[1]]).returncode)"
    command = [
        sys.executable,
        "-P",
        ordinary_user.__file__,
        sys.executable,
        "-c",
        look,
        str(tmp_path / "closed"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (tmp_path / "closed").chmod(0o700)
    assert done.returncode != 0
    assert "Permission denied" in done.stderr
