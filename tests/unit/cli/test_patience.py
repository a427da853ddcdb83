"""A command whose home does not answer says so, and Ctrl+C ends it."""

from __future__ import annotations

import os
import signal
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from reverie.agents.discovery import KINDS, usual_places
from reverie.cli.main import main
from reverie.cli.patience import patience

# The package has a function of this name, too.
rooms = sys.modules["reverie.cli.main"]


@pytest.fixture
def silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A home whose disk answers once `answers` is set."""
    answers, stat = threading.Event(), os.stat

    def slow_stat(path: Any, **more: Any) -> os.stat_result:
        if path == tmp_path:
            assert answers.wait(30)
        return stat(path, **more)

    monkeypatch.setattr(os, "stat", slow_stat)
    monkeypatch.setattr("reverie.cli.patience.ANSWER_S", 0.01)
    yield answers
    answers.set()


@pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="this system cannot wait for signals")
def test_a_home_that_does_not_answer_is_named_and_ctrl_c_leaves(
    tmp_path: Path, silent: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    left, codes = threading.Event(), []

    def leave(code: int) -> None:
        codes.append(code)
        silent.set()
        left.set()

    # As a main thread that hangs in the kernel: it does not take the signal. The one that looks is sent it by
    # name, as a worker of pytest-xdist has another thread that would take it and end all tests.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with patience(lambda: (tmp_path,), first_s=0.0, leave=leave):
            (looking,) = (each for each in threading.enumerate() if "_watch_homes" in each.name)
            signal.pthread_kill(looking.ident or 0, signal.SIGINT)
            assert left.wait(30)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    said = capsys.readouterr().err
    assert f"{tmp_path} is not responding" in said
    assert "Interrupted. The next command recovers unfinished work." in said
    assert codes == [1]


def test_a_home_that_answers_is_not_spoken_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with patience(lambda: (tmp_path,), first_s=0.0):
        pass
    assert not capsys.readouterr().err


def test_a_command_that_names_no_home_is_looked_after_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[Path, ...]] = []
    monkeypatch.setenv("MUX_ROOT", str(Path(os.devnull) / "elsewhere"))
    monkeypatch.setenv("CODEX_HOME", str(Path(os.devnull) / "codex"))
    monkeypatch.setattr(rooms, "patience", lambda homes: asked.append(homes()) or nullcontext())
    main(["homes"])
    main(["failures", "--project", str(Path(os.devnull))])
    (homes,) = asked
    assert {"elsewhere", "codex", ".mux", ".xum", ".codex", ".claude"} <= {home.name for home in homes}
    capsys.readouterr()


def test_every_home_that_is_found_lies_at_a_place_that_is_looked_after(tmp_path: Path) -> None:
    env = {"MUX_ROOT": str(tmp_path / "m"), "CODEX_HOME": str(tmp_path / "c"), "CLAUDE_CONFIG_DIR": ""}
    made = ("m", "c", ".mux", ".cmux", ".codex", ".claude", ".config/claude")
    for name in made:
        (tmp_path / name).mkdir(parents=True)
    roots = {root for kind in KINDS for root in kind.roots(env, tmp_path)}
    assert roots == {tmp_path / name for name in made}
    assert roots <= set(usual_places(env, tmp_path))


def test_ctrl_c_ends_a_command_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_session: Any) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["reverie.cli.main"], "_command", lambda _name: interrupted)
    assert main(["--home", str(tmp_path), "--profile", str(tmp_path), "tree"]) == 1
    assert "Interrupted. The next command recovers unfinished work." in capsys.readouterr().err
