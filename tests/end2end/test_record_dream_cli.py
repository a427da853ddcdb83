"""A dream over a store of loki-mode from the command line: preview, dream, what it did, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import contents
from helpers.model_runs import MODEL, memory, serving, settle_on, turn
from helpers.samples import copy_sample
from reverie.cli import main

RECORDS = "/memories/project/semantic/patterns.json"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The sample after two more runs that failed as one before."""
    found = copy_sample("loki-project", tmp_path)
    path = found / ".loki" / "memory" / "semantic" / "patterns.json"
    document = json.loads(path.read_text())
    (one,) = [each for each in document["patterns"] if each["pattern"] == "Avoid: IterationError"]
    document["patterns"] += [
        {**one, "id": f"sem-again{number}", "source_episodes": [f"ep-again{number}"]} for number in range(2)
    ]
    path.write_text(json.dumps(document, indent=2))
    return found


def told(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_it_is_previewed_done_shown_and_undone(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = ("--home", str(project), "--profile", str(tmp_path / "profile"))
    before = contents(project)
    preview = told(capsys, "consolidate", *home, "--engine", "rules", "--dry-run")
    assert [op["note"] for op in preview["ops"]] == ["dry-run"] * 3
    assert contents(project) == before
    done = told(capsys, "consolidate", *home, "--engine", "rules")
    assert (done["outcome"], done["summary"]) == ("completed", "Merged 1 group of similar records.")
    changed = {rel for rel, data in contents(project).items() if before.get(rel) != data}
    assert changed == {".loki/memory/semantic/patterns.json"}
    assert told(capsys, "runs", *home)[0]["id"] == done["runId"]
    assert main(["diff", *home, done["runId"]]) == 0
    shown = capsys.readouterr().out
    assert f"--- a{RECORDS}/sem-again0" in shown
    assert "+- ep-again1" in shown
    assert main(["revert", *home, done["runId"]]) == 0
    assert contents(project) == before


def test_a_model_merges_records_and_the_store_stays_json(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEST_KEY", "k")
    one, two = f"{RECORDS}/sem-again0", f"{RECORDS}/sem-again1"
    replies = [
        turn(memory("str_replace", path=one, old_str="source_episodes:", new_str="source_episodes: {")),
        turn(memory("str_replace", path=one, old_str="- ep-again0", new_str="- ep-again0\n- ep-again1")),
        turn(memory("delete", path=two)),
        turn(text="Merged two."),
    ]
    path = project / ".loki" / "memory" / "semantic" / "patterns.json"
    with serving(replies) as server:
        settle_on(server, tmp_path / "profile")
        home = ("--home", str(project), "--profile", str(tmp_path / "profile"))
        done = told(capsys, "consolidate", *home, "--engine", MODEL)
        asked = json.dumps(server.requests[0].body)
    assert done["outcome"] == "completed", done
    assert [op["applied"] for op in done["ops"]] == [False, True, True]
    found = {each["id"]: each for each in json.loads(path.read_text())["patterns"]}
    assert found["sem-again0"]["source_episodes"] == ["ep-again0", "ep-again1"]
    assert found["sem-again0"]["confidence"] == 0.5, "its own sources were there by then"
    assert "sem-again1" not in found
    assert "one `key: value` a line" in asked
    assert "sem-again0 (" in asked
    assert "episodic" not in asked, "other files of the agent are not told of"
