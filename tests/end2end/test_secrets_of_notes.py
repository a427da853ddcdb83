"""Secrets in the forms that notes have do not reach a model, a trace or a log; other text stays as it is.

A local service stands for the model; what it gets is read off the socket. All secrets are invented, with a
seed (`helpers.noted_secrets`).
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from helpers.benches import NOW
from helpers.model_runs import MODEL, memory, settle_on, turn
from helpers.model_server import ModelServer, Reply
from helpers.noted_secrets import FORMS, KINDS, Noted, noted, sample
from helpers.profiles import examples
from helpers.samples import copy_sample
from reverie.agents.scopes import Caps
from reverie.cli import main
from reverie.memory.lint import lint
from reverie.text.redact import find_secrets, redact

ACME = "a1f3c9e2b7"
KEY = "tk-0123456789-abcdefghij-KEY"
COUNT, MOST_LEFT = 200, 10
_A_FILE = 10
CAPS = Caps(1 << 20, 1000, 100, 4096, 2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


def write_notes(home: Path, secrets: list[Noted]) -> list[str]:
    """Ten secrets a file, with prose between them; the memory paths."""
    paths = []
    for number in range(0, len(secrets), _A_FILE):
        rel = f"notes-{number // _A_FILE:02}.md"
        text = f"---\ndescription: Notes {number}\n---\n# Notes {number}\n"
        for each in secrets[number : number + _A_FILE]:
            text += f"\nAda wrote this down after the deploy of week {number + 3}.\n\n{each.text}\n"
        (home / "memory" / "global" / rel).write_text(text, "utf-8")
        paths.append(f"/memories/global/{rel}")
    return paths


def left_in(text: str, secrets: list[Noted]) -> list[Noted]:
    return [each for each in secrets if each.value in text or json.dumps(each.value)[1:-1] in text]


def test_of_200_secrets_of_60_kinds_hardly_any_reaches_a_model_a_trace_or_a_log(
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    secrets = sample(COUNT, seed=20)
    assert len({each.kind for each in secrets}) >= 60
    assert len({each.form for each in secrets}) == len(FORMS)
    paths = write_notes(home, secrets)
    profile = tmp_path / "profile"
    replies = [turn(*(memory("view", path=path) for path in paths)), Reply(text="Nothing to do.")]
    with ModelServer(replies) as server, caplog.at_level(logging.DEBUG):
        settle_on(server, profile)
        options = ["--profile", str(profile), "--now", str(NOW), "--home", str(home), "--json"]
        code = main([*options, "consolidate", "--workspace", ACME, "--engine", MODEL])
        answer = capsys.readouterr()
        assert code == 0, answer.err
        sent = server.sent
    assert "after the deploy of week 3" in sent, "the notes were read at all"
    assert left_in(sent, secrets)[MOST_LEFT:] == []
    traces = [path.read_text("utf-8") for path in (profile / "data").rglob("traces/**/*.json")]
    assert traces
    assert left_in("\n".join(traces), secrets)[MOST_LEFT:] == []
    assert left_in(caplog.text + answer.err, secrets) == []
    for number, path in enumerate(paths):
        text = (home / "memory/global" / path.rpartition("/")[2]).read_text("utf-8")
        assert len(left_in(text, secrets[number * _A_FILE : (number + 1) * _A_FILE])) == _A_FILE


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_in_every_form_is_taken_out_whole(form: str) -> None:
    """Of each kind some; of all together at most one in a hundred may slip through."""
    cases = [noted(kind, form, seed) for kind in KINDS for seed in range(examples(3))]
    missed = [each.text for each in cases if each.value in redact(each.text)]
    assert len(missed) * 100 <= len(cases), missed


def test_what_is_marked_in_a_memory_is_never_sent_and_random_values_are_marked() -> None:
    """A mark is only where the redactor takes something out; values made only of words have none."""
    unmarked = []
    for each in sample(COUNT, seed=31):
        marks = [found for found in lint(each.text.encode(), CAPS) if found.kind == "secret"]
        found = find_secrets(each.text)
        assert bool(found) == (redact(each.text) != each.text), each.text
        assert not marks or found, each.text
        if found and not marks and any(map(str.isdigit, each.value)):
            unmarked.append(each.text)
    assert len(unmarked) * 100 <= COUNT, unmarked
