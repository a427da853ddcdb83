"""`reverie failures` as an agent's runner uses it: a process of its own, quiet on damage, light to start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.loki_home import NOON, LokiMaker
from helpers.samples import copy_sample, snapshot
from reverie.cli import main

HEAVY = (
    "pydantic",
    "pygit2",
    "PySide6",
    "watchdog",
    "httpx",
    "sqlite3",
    "yaml",
    "platformdirs",
    "logging",
    "reverie.profile",
)


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "reverie", "failures", "--now", str(NOON), *words]
    environ = {**os.environ, "PYTHONIOENCODING": "utf-8", **env}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def test_record_then_ask_as_two_processes(tmp_path: Path) -> None:
    maker = LokiMaker(tmp_path / "p")
    project = ("--project", str(maker.project))
    maker.crash(1_000, error_class="MemoryError", stack_signature=["build", "run"])
    done = run("record", *project, "--phase", "ACT", "--exit", "1", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert (told["recorded"], told["error"]["type"]) == (True, "MemoryError")
    asked = run(*project, "--goal", "todo REST API", "--phase", "ACT")
    assert (asked.returncode, asked.stderr) == (0, "")
    assert asked.stdout.startswith(
        "\nPAST FAILURES TO AVOID:\n- MemoryError: phase=ACT; signature: build > run; fp="
    )
    assert run(*project, LOKI_FAILURE_MEMORY="0").stdout == ""


def test_it_loads_little(tmp_path: Path) -> None:
    """Under 150 ms as a process: what costs the most is what is imported."""
    code = (
        "import sys; from reverie.cli import main; main(sys.argv[1:]);"
        f"sys.exit(' '.join(name for name in {HEAVY!r} if name in sys.modules) or 0)"
    )
    project = copy_sample("loki-project", tmp_path)
    # As most people have it: nothing says where the profile is.
    env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    for words in (("failures",), ("failures", "record", "--phase", "ACT", "--exit", "1")):
        command = [sys.executable, "-c", code, *words, "--project", str(project), "--now", str(NOON)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_sample_is_told_and_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = copy_sample("loki-project", tmp_path)
    before = snapshot(project)
    assert main(["failures", "--project", str(project), "--now", str(NOON), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [lesson["type"] for lesson in told["lessons"]] == [
        "SSHTimeout",
        "IterationError",
        "GateFailure",
        "MemoryError",
    ]
    assert [(group["errorClass"], group["count"]) for group in told["crashes"]] == [
        ("GateFailure", 1),
        ("MemoryError", 1),
        ("json.decoder.JSONDecodeError", 1),
    ]
    assert told["problems"] == []
    assert snapshot(project) == before


@pytest.mark.parametrize("now", ["0", "8640000000000000"])
def test_any_time_that_can_be_told_is_one(now: str, tmp_path: Path) -> None:
    options = ["--project", str(tmp_path), "--now", now]
    assert main(["failures", "record", *options, "--phase", "ACT", "--exit", "1"]) == 0
    assert main(["failures", *options]) == 0


def test_nothing_is_recorded_beside_an_index_of_an_unknown_version(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = LokiMaker(tmp_path / "p").file("memory/index.json", '{"version": "3.0.0", "topics": []}')
    before = snapshot(tmp_path / "p")
    options = ["--project", str(tmp_path / "p"), "--profile", str(tmp_path / "profile")]
    assert main(["failures", "record", *options, "--phase", "ACT", "--exit", "1"]) == 1
    assert "Reverie does not recognize the layout of these memories" in capsys.readouterr().err
    assert snapshot(tmp_path / "p") == before
    index.unlink()
    assert main(["failures", "record", *options, "--phase", "ACT", "--exit", "1"]) == 0


def test_damage_is_quiet_and_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    maker = LokiMaker(tmp_path / "p")
    maker.file("memory/episodic/2026-08-19/task-x.json", "{")
    for project in (maker.project, tmp_path / "gone", maker.file("a file", "")):
        assert main(["failures", "--project", str(project), "--now", str(NOON)]) == 0
        assert capsys.readouterr() == ("", "")


def test_redacting_prints_a_record_and_nothing_private(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "crash.json"
    file.write_text(json.dumps({"error_class": "Boom", "stack": " at f (/home/bob/x.js:1)", "who": "bob"}))
    assert main(["failures", "--redact", str(file), "--project", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert json.loads(told)["stack_signature"] == ["f"]
    assert "bob" not in told
    file.write_text("bob was here")
    assert main(["failures", "--redact", str(file)]) == 1
    out, err = capsys.readouterr()
    assert json.loads(out)["error_class"] == "ScrubError"
    assert "not valid JSON" in err
    assert main(["failures", "--redact", str(tmp_path / "gone.json")]) == 1
    assert "There is no file" in capsys.readouterr().err


def test_what_mended_an_error_is_written_into_its_episode(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = copy_sample("loki-project", tmp_path)
    options = ["failures", "resolve", "--project", str(project), "--profile", str(tmp_path / "profile")]
    episode = "ep-2026-08-19-0f1f5624"
    assert main([*options, "--episode", episode, "--text", "waited for the clock"]) == 0
    assert f"Marked IterationError of {episode} as resolved." in capsys.readouterr().out
    assert main(["failures", "--project", str(project), "--now", str(NOON), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [each["resolution"] for each in told["lessons"]] == ["", "waited for the clock", "", ""]
    for more in (
        ["--episode", "ep-gone"],
        ["--episode", episode, "--error", "2"],
        ["--episode", episode, "--error", "0"],
    ):
        assert main([*options, *more, "--text", "x"]) == 1
    assert main([*options, "--text", "x"]) == 2


def test_wrong_usage_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["failures"]) == 2
    err = capsys.readouterr().err
    assert "--project" in err
    assert "Choices" not in err  # there are none
    assert main(["failures", "record", "--project", str(tmp_path)]) == 2
    assert "--exit" in capsys.readouterr().err
    assert main(["failures", "record", "--project", str(tmp_path), "--phase", "ACT", "--exit", "0"]) == 1
    assert "does not mean a failure" in capsys.readouterr().err
