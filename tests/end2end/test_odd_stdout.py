"""A command whose answer cannot be written as it is: no traceback, and what was done stays done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.samples import copy_sample


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = copy_sample("mux-home", tmp_path)
    (home / "memory" / "global" / "naïve-€-\U0001f600.md").write_text("text\n", encoding="utf-8")
    return home


def call(home: Path, *words: str) -> list[str]:
    profile = str(home.parent / "profile")
    return [sys.executable, "-m", "reverie", *words, "--home", str(home), "--profile", profile]


TREE = ("tree", "--workspace", "a1f3c9e2b7")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii"])
def test_what_the_output_cannot_spell_is_escaped(home: Path, encoding: str) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    for words in (TREE, (*TREE, "--json")):
        done = subprocess.run(call(home, *words), env=env, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        text = done.stdout.decode(encoding)
        if "--json" in words:
            assert "naïve-€-\U0001f600.md" in json.dumps(json.loads(text), ensure_ascii=False)
        else:
            assert "\\U0001f600" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_output_is_said_and_what_was_done_is_done(home: Path) -> None:
    for words in (TREE, (*TREE, "--json"), ("homes",)):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                call(home, *words), stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False
            )
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        assert "The output could not be written. The disk is full." in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="a shell closes it")
def test_a_closed_output_is_no_trouble(home: Path) -> None:
    for words, closing in ((TREE, ">&-"), ((*TREE, "--json"), ">&-"), (TREE, ">&- 2>&-")):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {closing}', "sh", *call(home, *words)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name == "nt", reason="a shell makes the pipe")
def test_a_reader_that_leaves_is_no_trouble(home: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" | true', "sh", *call(home, *TREE)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
