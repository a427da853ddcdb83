"""The command line as scripts use it (design.md section 5), on copies of the sample homes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, contents
from helpers.samples import copy_sample, snapshot
from reverie.cli import main

ACME = "a1f3c9e2b7"
Run = Callable[..., "Answer"]


class Answer:
    """What one invocation printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path, whole=True)


@pytest.fixture
def run(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run one command in this process, on the sample home and a profile of its own."""

    def invoke(*words: str, given: bool = True) -> Answer:
        options = ["--profile", str(tmp_path / "profile"), "--now", str(NOW)]
        code = main([*options, *(["--home", str(home)] if given else []), *words])
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def lines(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """`reverie memory` with these requests."""

    def invoke(*requests: dict[str, Any] | str) -> list[dict[str, Any]]:
        text = "\n".join(request if isinstance(request, str) else json.dumps(request) for request in requests)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogatepass"))))
        answer = run("memory")
        assert answer.code == 0
        return [json.loads(line) for line in answer.out.splitlines()]

    return invoke


def test_homes_tells_projects_workspaces_and_counts(run: Run) -> None:
    (found,) = run("homes", "--json").json
    assert (found["kind"], found["workspaces"]) == ("mux", 6)
    assert found["counts"] == {"global": 13, "project": 31, "workspace": 9}
    marks = {w["id"]: (w["archived"], w["multiProject"]) for p in found["projects"] for w in p["workspaces"]}
    assert marks["3e9a1b5c6d"] == (True, False)
    assert marks["e8f1a2b3c4"] == (False, True)
    titles = {w["id"]: w["title"] or w["name"] for p in found["projects"] for w in p["workspaces"]}
    shown = run("homes").out
    assert all(f"{identity}  {title}" in shown for identity, title in titles.items())
    assert "Several projects" in shown
    assert "_multi" not in shown


def test_memory_commands_refuse_a_workspace_that_the_home_does_not_know(
    home: Path, lines: Callable[..., list[dict[str, Any]]]
) -> None:
    request = {"command": "create", "path": "/memories/workspace/x.md", "file_text": "x"}
    orphan = home / "sessions" / "0000aaaa11" / "memory"
    orphan.mkdir(parents=True)
    unknown, listed, on_disk, named = lines(
        {**request, "workspace_id": "nope"},
        {**request, "workspace_id": ACME},
        {**request, "workspace_id": "0000aaaa11"},
        {**request, "workspace_id": "new0000001", "project_path": "/p"},
    )
    assert not unknown["success"]
    assert "no workspace nope" in unknown["error"]
    assert ACME in unknown["error"]
    assert not (home / "sessions" / "nope").exists()
    assert not named["success"], "a project beside it says nothing about the workspace"
    assert "no workspace new0000001" in named["error"]
    assert not (home / "sessions" / "new0000001").exists()
    assert [each["success"] for each in (listed, on_disk)] == [True, True]


def test_no_consolidation_covers_a_workspace_that_the_agent_does_not_list(home: Path, run: Run) -> None:
    (home / "sessions" / "0000aaaa11" / "memory").mkdir(parents=True)
    before = (home / "memory-consolidation.json").read_bytes()
    answer = run("consolidate", "--workspace", "0000aaaa11", "--engine", "rules")
    assert answer.code == 2
    assert "no workspace 0000aaaa11" in answer.err
    assert (home / "memory-consolidation.json").read_bytes() == before


def test_tree_is_nested_with_pins_use_size_and_description(run: Run) -> None:
    nodes = {node["name"]: node for node in run("tree", "--workspace", ACME, "--json").json}
    assert set(nodes) == {"global", "project", "workspace"}
    files = _files(nodes["project"])
    assert files["/memories/project/architecture.md"]["pinned"] is True
    assert files["/memories/project/architecture.md"]["accessCount"] == 10
    assert files["/memories/project/todo.txt"]["size"] == 76
    assert files["/memories/project/reference/trace-dump.md"]["seenByAgent"] is False
    assert files["/memories/project/glossary.md"]["description"].endswith("…")
    assert len(files) == 15


def test_tree_says_that_pins_cannot_be_read_instead_of_showing_none(run: Run, home: Path) -> None:
    assert run("tree", "--workspace", "a1f3c9e2b7").err == ""
    (home / "memory-meta.json").write_bytes(b'{"entries": {')
    answer = run("tree", "--workspace", "a1f3c9e2b7", "--json")
    assert (answer.code, len(answer.json)) == (0, 3)
    assert answer.err.startswith("Pins and use counts are unknown. memory-meta.json cannot be read")


def test_tree_says_why_a_project_is_unavailable(run: Run) -> None:
    nodes = {node["name"]: node for node in run("tree", "--workspace", "e8f1a2b3c4", "--json").json}
    assert nodes["project"]["unavailable"]
    assert not nodes["project"].get("children")


def test_status_is_what_the_sidecar_says(run: Run) -> None:
    status = run("status", "--workspace", ACME, "--json").json
    assert set(status) == {
        "workspaceRecord",
        "projectRecord",
        "globalRecord",
        "latestHarvestRecord",
        "projectAvailable",
    }
    assert status["workspaceRecord"]["lastRunAt"] == status["projectRecord"]["lastRunAt"] == 1_786_528_649_809
    assert status["globalRecord"]["lastRunAt"] == 1_787_126_415_000
    text = run("status", "--workspace", "e8f1a2b3c4").out
    assert "Project: unavailable" in text
    assert "never" not in text


def test_an_ambiguous_context_exits_2_and_lists_the_choices(run: Run) -> None:
    for words in (["status"], ["tree"], ["consolidate"], ["status", "--workspace", "nope"]):
        answer = run(*words, "--json")
        assert answer.code == 2
        assert answer.json["reason"] == "ambiguous"
        assert ACME in answer.err
        assert answer.err.count("\n") == 1


def test_a_directory_that_is_no_home_exits_1_with_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = run("tree", "--home", str(tmp_path / "empty"), given=False)
    assert answer.code == 1
    assert answer.err.count("\n") == 1


def test_looking_leaves_the_home_as_it_was(run: Run, lines: Callable[..., Any], home: Path) -> None:
    before = snapshot(home)
    run("homes")
    run("tree", "--workspace", ACME)
    run("status", "--workspace", ACME)
    run("runs")
    lines(
        {"command": "index", "workspace_id": "77b0d2c4e5"},
        {"command": "read", "path": "/memories/global/testing.md"},
    )
    assert snapshot(home) == before


def test_consolidate_prints_the_record_and_runs_diff_and_revert_follow(run: Run, home: Path) -> None:
    before = {
        name: data for name, data in contents(home).items() if name.startswith(("memory/", "sessions/"))
    }
    record = run("consolidate", "--workspace", ACME, "--engine", "rules", "--json").json
    assert (record["lastRunAt"], record["trigger"]) == (NOW, "manual")
    assert {op["path"] for op in record["ops"] if op["command"] == "delete"} >= {
        "/memories/project/api/v2/pagination/cursor-notes.md"
    }
    (listed,) = run("runs", "--json").json
    assert listed["id"] == record["runId"]
    promised = "id kind home workspaceId startedAt endedAt outcome engine summary ops usage reverted"
    assert set(listed) >= set(promised.split())
    diff = run("diff", record["runId"]).out
    assert "-description: Pagination cursors" in diff
    assert "cursor-notes.md" in diff
    assert run("revert", record["runId"]).code == 0
    after = {name: data for name, data in contents(home).items() if name.startswith(("memory/", "sessions/"))}
    assert after == before
    again = run("revert", record["runId"], "--json")
    assert (again.code, again.json["reason"]) == (1, "reverted")


def test_a_diff_on_a_terminal_cannot_command_it_and_goes_into_a_pipe_as_it_is(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "memory/global/evil.md").write_text("")
    (home / "memory/global/evil.md").write_text("# Colours\n\nred \x1b[31m\tis\n\n\n\n\n\n")
    run_id = run("consolidate", "--workspace", ACME, "--json").json["runId"]
    piped = run("diff", run_id).out
    assert "\x1b[31m\t" in piped
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    shown = run("diff", run_id).out
    assert "\x1b" not in shown
    assert "red \\x1b[31m" in shown


def test_a_dry_run_changes_nothing_and_an_unknown_engine_is_refused(run: Run, home: Path) -> None:
    before = snapshot(home)
    answer = run("consolidate", "--workspace", ACME, "--dry-run", "--json")
    assert answer.code == 0
    assert all(op["note"] == "dry-run" for op in answer.json["ops"])
    text = run("consolidate", "--workspace", ACME, "--dry-run").out
    assert "Preview, nothing is written yet." in text, "R14: its summary is in the past tense"
    assert ": completed, dry run." in text
    unknown = run("consolidate", "--workspace", ACME, "--engine", "nobody:gpt", "--json")
    assert (unknown.code, unknown.json["reason"]) == (1, "provider-settings")
    assert snapshot(home) == before


def test_memory_lines_answer_each_line_and_a_bad_one_stops_nothing(
    lines: Callable[..., Any], home: Path
) -> None:
    answers = lines(
        {
            "command": "create",
            "workspace_id": ACME,
            "path": "/memories/workspace/n.md",
            "file_text": "x",
            "now": 5,
        },
        "not json",
        "[]",
        {
            "command": "pin",
            "workspace_id": ACME,
            "path": "/memories/workspace/n.md",
            "pinned": True,
            "now": 6,
        },
        {"command": "read", "workspace_id": ACME, "path": "/memories/workspace/n.md"},
        {"command": "view", "workspace_id": ACME, "project_path": None, "path": "/memories/project"},
        {"command": "fly", "path": "/memories/global/x.md"},
        {"command": "view", "path": 7},
        {"command": "view", "path": "/memories/global", "now": "soon"},
    )
    assert [answer["success"] for answer in answers] == [
        True,
        False,
        False,
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert answers[4]["content"] == "x"
    entry = json.loads((home / "memory-meta.json").read_bytes())["entries"][f"workspace:{ACME}:n.md"]
    assert entry == {"pinned": True, "accessCount": 2, "lastAccessedAt": 6, "lastWriteAt": 5}


@pytest.mark.parametrize(
    "request_",
    [
        {"command": []},
        {"command": {}},
        {"command": "view", "path": "/memories", "now": 10**30},
        {"command": "create", "path": "/memories/global/x.md", "file_text": "x", "now": -1},
        {"command": "view", "path": "/memories/global", "actor": ["x"]},
        {"command": "save", "path": 5, "content": "x"},
        {"command": "index", "workspace_id": 5},
    ],
    ids=str,
)
def test_an_odd_request_is_answered_and_the_next_one_too(
    lines: Callable[..., Any], request_: dict[str, Any]
) -> None:
    odd, good = lines(request_, {"command": "view", "path": "/memories/global"})
    assert odd["success"] is False
    assert odd["error"]
    assert ("kind" in odd) == (request_["command"] == "save")
    assert good["success"]


def test_memory_commands_are_kept_under_the_name_of_each_actor(
    lines: Callable[..., Any], tmp_path: Path
) -> None:
    lines(
        {"command": "create", "path": "/memories/global/agents.md", "file_text": "x"},
        {"command": "create", "path": "/memories/global/mine.md", "file_text": "y", "actor": "user"},
    )
    from reverie.clock import system_clock
    from reverie.memory.history.history import History

    (repository,) = (tmp_path / "profile/data/history").glob("*.git")
    history = History(repository, lock_dir=tmp_path / "locks", clock=system_clock)
    newest = history.commits(limit=2)
    assert {commit.actor for commit in newest} == {"agent", "user"}


def test_a_moved_home_is_told_and_takes_over_its_runs_when_it_is_said_so(run: Run, home: Path) -> None:
    (before,) = run("homes", "--json").json
    run("consolidate", "--workspace", ACME)
    assert before["adoptable"] == []
    moved = home.rename(home.with_name("moved"))
    told = run("homes", "--home", str(moved), given=False)
    assert f"--adopt {before['id']}" in told.err
    assert run("runs", "--home", str(moved), "--json", given=False).json == []
    (after,) = run("homes", "--home", str(moved), "--adopt", before["id"], "--json", given=False).json
    assert (after["id"], after["adoptable"]) == (before["id"], [])
    assert len(run("runs", "--home", str(moved), "--json", given=False).json) == 1
    again = run("homes", "--home", str(moved), "--adopt", "0" * 16, given=False)
    assert again.code == 1
    assert run("homes", "--adopt", before["id"], given=False).code == 2


def test_a_home_that_cannot_be_read_hides_no_other(run: Run, home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = run("homes", "--json", "--home", str(tmp_path / "empty"), "--home", str(home), given=False)
    assert answer.code == 1
    assert [found["root"] for found in answer.json] == [str(home)]
    assert answer.err.count("\n") == 1


def test_save_is_a_compare_and_swap(lines: Callable[..., Any]) -> None:
    path = "/memories/global/s.md"
    created, taken = lines(
        {"command": "save", "path": path, "content": "one", "expected_sha256": None},
        {"command": "save", "path": path, "content": "two", "expected_sha256": None},
    )
    assert created["success"]
    assert taken["kind"] == "conflict"
    saved, stale, over, directory = lines(
        {"command": "save", "path": path, "content": "two", "expected_sha256": created["sha256"]},
        {"command": "save", "path": path, "content": "three", "expected_sha256": created["sha256"]},
        {
            "command": "save",
            "path": "/memories/global/big.md",
            "content": "x" * 102_401,
            "expected_sha256": None,
        },
        {"command": "save", "path": "/memories/global/machines", "content": "x", "expected_sha256": None},
    )
    assert saved["success"]
    assert stale["kind"] == "conflict"
    assert over["kind"] == "error"
    assert directory["kind"] == "error"
    (deleted, missing) = lines(
        {"command": "delete", "path": path},
        {"command": "save", "path": path, "content": "x", "expected_sha256": saved["sha256"]},
    )
    assert deleted["success"]
    assert missing["kind"] == "conflict"


def test_index_lists_what_the_agent_would_see(lines: Callable[..., Any]) -> None:
    (answer,) = lines({"command": "index", "workspace_id": ACME})
    entries = {entry["path"]: entry for entry in answer["entries"]}
    assert entries["/memories/global/preferences.md"]["pinned"] is True
    assert entries["/memories/global/broken-frontmatter.md"]["description"] == ""
    assert entries["/memories/project/architecture.md"]["accessCount"] == 10
    assert set(answer["entries"][0]) == {
        "path",
        "scope",
        "description",
        "pinned",
        "accessCount",
        "lastAccessedAt",
    }
    scopes = [entry["scope"] for entry in answer["entries"]]
    assert scopes == sorted(scopes, key=["global", "project", "workspace"].index)


def test_everything_memory_commands_change_is_in_the_history(
    lines: Callable[..., Any], run: Run, tmp_path: Path
) -> None:
    lines({"command": "delete", "path": "/memories/global/testing.md", "workspace_id": ACME})
    from reverie.clock import system_clock
    from reverie.memory.history.history import History

    (repository,) = (tmp_path / "profile/data/history").glob("*.git")
    history = History(repository, lock_dir=tmp_path / "locks", clock=system_clock)
    newest, before = history.commits()[:2]
    assert history.read(newest.id, "global", "testing.md") is None
    kept = history.read(before.id, "global", "testing.md")
    assert kept is not None
    assert kept.startswith(b"---\ndescription: Testing habits")


def test_two_homes_found_are_ambiguous_and_one_is_taken(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "user"
    user.mkdir()
    monkeypatch.setenv("HOME", str(user))
    assert run("status", given=False).code == 1
    copy_sample("mux-home-legacy", tmp_path).rename(user / ".mux")
    assert run("status", "--workspace", "2b3c4d5e6f", given=False).code == 0
    copy_sample("mux-home-legacy", tmp_path).rename(user / ".xum")
    assert run("status", "--workspace", "2b3c4d5e6f", given=False).code == 2


def test_where_only_a_project_has_a_store_every_command_finds_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, project = tmp_path / "user", tmp_path / "shop"
    monkeypatch.setenv("HOME", str(user))
    assert "try `reverie --demo`" in run("search", "word", given=False).out
    (project / ".loki/memory/episodic").mkdir(parents=True)
    (project / ".loki/session.json").write_text("{}")
    listed = user / ".loki/knowledge/project-index.json"
    listed.parent.mkdir(parents=True)
    listed.write_text(json.dumps({"projects": [{"path": str(project)}]}))
    assert [home["kind"] for home in run("homes", "--json", given=False).json] == ["loki"]
    assert run("tree", given=False).code == 0
    checks = {each["check"]: each["state"] for each in run("doctor", "--self", "--json", given=False).json}
    assert checks["homes"] == "pass"


def test_what_a_command_says_it_says_once(run: Run) -> None:
    assert run("runs").out == "There are no runs yet.\n"
    assert run("runs", "--json").json == []
    extract = run("extract")
    assert (extract.out, extract.err.count("There is nothing to extract in this home.")) == ("", 1)
    assert "Claude Code" in run("notes").err


def test_the_program_runs_as_a_module_and_answers_wrong_usage_with_2(home: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "reverie", "--profile", str(tmp_path / "p"), "--home", str(home)]
    good = subprocess.run(
        [*command, "tree", "--workspace", ACME], capture_output=True, text=True, check=False
    )
    assert good.returncode == 0, good.stderr
    assert "architecture.md" in good.stdout
    assert subprocess.run([*command, "explode"], capture_output=True, check=False).returncode == 2


def _files(node: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for child in node.get("children", ()):
        if "children" in child:
            found |= _files(child)
        else:
            found[child["path"]] = child
    return found


def test_search_finds_what_another_process_wrote_and_leaves_the_home_as_it_was(run: Run, home: Path) -> None:
    target = home / "memory/global/planted.md"
    write = f"from pathlib import Path; Path({str(target)!r}).write_text('the zyzzyva_count is 3\\n')"
    assert run("search", "zyzzyva", "--json").json == []
    subprocess.run([sys.executable, "-c", write], check=True)
    before = snapshot(home)
    (found,) = run("search", "zyzzyva", "--json").json
    assert (found["home"], found["path"], found["scope"]) == (
        str(home),
        "/memories/global/planted.md",
        "global",
    )
    assert found["snippet"] == "the zyzzyva_count is 3"
    assert found["score"] > 0
    assert "/memories/global/planted.md" in run("search", "zyzzyva_count").out
    assert len(run("search", "the", "--limit", "2", "--json").json) == 2
    assert snapshot(home) == before


def test_a_search_that_cannot_be_meant_says_why_and_one_that_finds_nothing_is_done(run: Run) -> None:
    answer = run("search", "scope:galaxy", "x", "--json")
    assert (answer.code, answer.json) == (1, [])
    assert "galaxy" in answer.err
    assert run("search", "nosuchword").code == 0
