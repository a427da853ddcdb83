"""`reverie doctor`: the stable JSON, the first cause on stderr, and a fix that is pressed by name."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW
from helpers.model_server import ModelServer, Reply
from helpers.samples import copy_sample, snapshot
from reverie.cli import main
from reverie.cli.main import build_parser

ACME = "a1f3c9e2b7"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


def run(home: Path, *words: str) -> int:
    profile = str(home.parent / "profile")
    return main(["--profile", profile, "--now", str(NOW), "--home", str(home), "doctor", *words])


def test_a_writer_that_is_off_is_the_first_cause(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(home)
    assert run(home, "--workspace", ACME, "--json") == 1
    out, err = capsys.readouterr()
    findings: list[dict[str, Any]] = json.loads(out)
    assert {"check": "known-layout", "state": "pass"}.items() <= findings[1].items()
    assert {"check": "feature", "state": "fail"}.items() <= findings[2].items()
    assert all(set(item) == {"check", "state", "evidence", "fix"} for item in findings)
    assert err.startswith("The memory writer is off.")
    assert len(err.splitlines()) == 1
    assert snapshot(home) == before


def test_a_fix_is_pressed_by_the_name_of_its_check(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(home, "--workspace", ACME, "--fix", "feature", "--json")
    findings = {item["check"]: item for item in json.loads(capsys.readouterr().out)}
    assert findings["feature"]["state"] == "pass"
    assert findings["services"]["state"] == "fail"
    assert run(home, "--workspace", ACME, "--fix", "interval") == 1
    assert "No fix is available for interval" in capsys.readouterr().err


def test_people_read_each_check_and_what_to_look_at_first(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(home, "--workspace", ACME) == 1
    out = capsys.readouterr().out
    assert "FAIL  The memory writer is off  [feature]" in out
    assert "To fix it: Turn on (`reverie " in out
    assert f" doctor --workspace {ACME} --fix feature`)" in out
    assert out.rstrip().endswith("[feature].")


def test_an_ambiguous_place_is_wrong_usage(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(home) == 2
    assert "Choose one with --workspace ID" in capsys.readouterr().err


def test_reverie_itself_needs_no_workspace(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(home, "--self", "--json")
    checks = {item["check"] for item in json.loads(capsys.readouterr().out)}
    assert {"python", "libraries", "sqlite", "settings", "disk"} <= checks


def wish(home: Path, text: str) -> None:
    path = home.parent / "profile" / "config" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def found(home: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, Any]]:
    run(home, "--workspace", ACME, "--json", *words)
    return {item["check"]: item for item in json.loads(capsys.readouterr().out)}


def test_a_model_without_a_key_is_named_and_the_rules_take_its_place(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    wish(home, '[system1]\nenabled = true\nmodel = "openai:gpt-5"\n')
    model = found(home, capsys)["model"]
    assert (model["state"], "no key for openai" in model["evidence"]) == ("fail", True)
    assert found(home, capsys, "--fix", "model")["model"]["state"] == "pass"


def test_a_model_nobody_agreed_to_is_no_model_for_the_background(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "tk-0123456789-abcdefghij-KEY")
    wish(home, '[system1]\nenabled = true\nmodel = "openai:gpt-5"\n[dream]\nengine = "openai:gpt-5"\n')
    checks = found(home, capsys)
    for check in ("model", "dream-model"):
        assert checks[check]["state"] == "fail"
        assert "You have not approved sending memories of this home" in checks[check]["evidence"]
        assert "KEY" not in checks[check]["evidence"]


def test_a_run_that_crashed_is_made_up_for_by_its_fix(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wish(home, '[system1]\nenabled = true\nmodel = "rules"\n')
    state = home / "sessions" / ACME / "system1-memory-writer-state.json"
    state.write_text(json.dumps({"schemaVersion": 1, "turnsSinceLastRun": 0, "lastRunStartedAt": NOW - 9}))
    assert "did not finish" in found(home, capsys)["state-file"]["evidence"]
    after = found(home, capsys, "--fix", "state-file")["state-file"]
    assert "crashed" not in after["evidence"]
    assert "lastRunCompletedAt" in json.loads(state.read_text())


def test_a_real_test_of_the_model_is_made_on_request_only(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "tk-0123456789-abcdefghij-KEY")
    with ModelServer() as server:
        server.answer = lambda _request: Reply(text="I would rather talk.")
        settings = server.settings_toml("test", "openai")
        wish(home, f'[system1]\nenabled = true\nmodel = "test:test-model"\n{settings}')
        assert found(home, capsys)["tool-calling"]["state"] == "pass"
        assert server.requests == []
        checks = found(home, capsys, "--probe")
        assert checks["model-reachable"]["state"] == "pass"
        assert checks["tool-calling"]["state"] == "fail"
        assert checks["tool-calling"]["fix"] == "Write without a model"
        assert run(home, "--workspace", ACME, "--probe") == 1
        assert " --probe --fix tool-calling`" in capsys.readouterr().out, "without it, it has no fix"


def test_the_hint_is_a_command_that_works_as_it_stands(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "locks").mkdir(exist_ok=True)
    (home / "locks/target-0f.lock").touch()
    assert run(home, "--workspace", ACME) == 1
    out, err = capsys.readouterr()
    hint = next(line for line in out.splitlines() if "To fix it: Write anyway" in line)
    command = hint.partition("`")[2].rpartition("`")[0]
    assert f"`{command}`" in err
    assert command.endswith(f"doctor --workspace {ACME} --fix known-layout")
    first, *words = shlex.split(command)
    assert first == "reverie"
    main(["--now", str(NOW), *words])
    out, err = capsys.readouterr()
    assert "Done: Write anyway." in err
    assert "WARN  Reverie does not know this layout" in out


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a shell, and names of any bytes")
@pytest.mark.parametrize(
    "name",
    ["-dash", "two words", 'it\'s "x" `y` $z', "two\nlines", "bell\a and\u202e", os.fsdecode(b"caf\xe9")],
)
def test_the_hint_names_any_home_as_a_shell_takes_it(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("no bash")
    monkeypatch.chdir(home.parent)
    home.rename(name)
    assert (
        main(["--profile=profile", "--now", str(NOW), f"--home={name}", "doctor", "--workspace", ACME]) == 1
    )
    out, _err = capsys.readouterr()
    hint = next(line for line in out.splitlines() if "To fix it: Turn on" in line)
    command = hint.partition("(`")[2].removesuffix("`)")
    done = subprocess.run([shell, "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True)
    words = [os.fsdecode(word) for word in done.stdout.split(b"\0")[1:-1]]
    arguments = build_parser(["doctor"]).parse_args(words)
    assert (arguments.home, arguments.workspace) == ([Path(name)], ACME)


def test_a_refused_write_says_that_the_fix_needs_a_workspace(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "locks").mkdir(exist_ok=True)
    (home / "locks/target-0f.lock").touch()
    profile = str(home.parent / "profile")
    options = ["--profile", profile, "--now", str(NOW), "--home", str(home)]
    assert main([*options, "consolidate", "--workspace", ACME]) == 1
    assert "`reverie doctor --workspace ID --fix known-layout`" in capsys.readouterr().err
