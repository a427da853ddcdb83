"""Consolidation as people and scripts run it: one process a command, on copies of the sample homes. Merges,
review, undo; siblings and workspaces over several projects; looking that changes nothing; no Qt."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.battery import put, run_here
from helpers.benches import NOW, contents
from helpers.forked_commands import run_command
from helpers.samples import copy_sample, snapshot
from reverie.clock import HOUR_MS
from reverie.resources import resource

ACME, GARDEN, PIPELINE, BACKFILL = "a1f3c9e2b7", "77b0d2c4e5", "c04d8e91aa", "5d6e7f8091"
MULTI, ARCHIVED = "e8f1a2b3c4", "3e9a1b5c6d"
PIPELINE_PATH = "/home/dev/projects/data-pipeline"
PIPELINE_STORE = "memory/project/data-pipeline-21ca8fe13a59"
ACME_STORE = "memory/project/acme-api-db553efff149"
STYLE, MESSAGES = "memory/global/commit-style.md", "memory/global/commit-messages.md"
CURSORS = f"{ACME_STORE}/api/v2/pagination/cursors.md"
NOTES = f"{ACME_STORE}/api/v2/pagination/cursor-notes.md"
REDUNDANT = (
    "---\ndescription: Retry policy of the loader\n---\n# Retries\n- Retry five times.\n- Then page.\n"
)

Command = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def process(home: Path, tmp_path: Path) -> Command:
    """One command in a process of its own: its JSON, after checking how it ended."""

    def run(*words: str, code: int = 0, now: int = NOW, text: bool = False) -> Any:
        options = ["--home", str(home), "--profile", str(tmp_path / "profile"), "--now", str(now)]
        done = run_command(*options, *words, *([] if text else ["--json"]))
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return done.stdout if text else json.loads(done.stdout)

    return run


@pytest.fixture
def here(home: Path, tmp_path: Path) -> Command:
    """The same in this process."""

    def run(*words: str, code: int = 0, now: int = NOW, text: bool = False) -> Any:
        how = [] if text else ["--json"]
        ended, out, err = run_here(home, tmp_path / "profile", *words, *how, now=now)
        assert ended == code, (words, out, err)
        return out if text else json.loads(out)

    return run


def test_a_dream_merges_within_its_budget_is_shown_by_diff_and_undone_to_the_byte(
    process: Command, here: Command, home: Path
) -> None:
    (home / PIPELINE_STORE / "queue.md").write_text("The queue retries a failed job three times.\n", "utf-8")
    before, pinned = _memories(home), _pinned(home)
    runs = [process("consolidate", "--workspace", ACME, "--engine", "rules")]
    runs.append(here("consolidate", "--workspace", PIPELINE, "--engine", "rules", now=NOW + 1))
    for run in runs:
        assert run["outcome"] == "completed"
        assert 0 < sum(op["applied"] for op in run["ops"]) <= len(run["ops"]) <= 8
    merged = _memories(home)
    gone = before.keys() - merged.keys()
    assert merged.keys() <= before.keys()
    assert {len(gone & {STYLE, MESSAGES}), len(gone & {CURSORS, NOTES})} == {1}
    assert gone <= {STYLE, MESSAGES, CURSORS, NOTES}
    _every_line_is_kept(before, merged, MESSAGES, STYLE)
    _every_line_is_kept(before, merged, NOTES, CURSORS)
    assert pinned <= merged.keys()
    schema = [f"{PIPELINE_STORE}/schema/{name}" for name in ("events.md", "events-v2.md", "v1-seconds.md")]
    for apart in (f"{ACME_STORE}/deploy.md", f"{ACME_STORE}/deploy-staging.md", *schema):
        assert merged[apart] == before[apart], apart

    shown = here("diff", runs[0]["runId"], text=True)
    changed = {name for name in before if before[name] != merged.get(name)} - {"memory-meta.json"}
    assert all(Path(name).name in shown for name in changed if PIPELINE_STORE not in name)
    listed = here("runs")
    assert [run["id"] for run in listed] == [runs[1]["runId"], runs[0]["runId"]]

    for run, command in zip(reversed(runs), (here, process), strict=True):
        assert command("revert", run["runId"], now=NOW + 2)["conflicts"] == []
    after = _memories(home)
    assert {name for name in before | after if before.get(name) != after.get(name)} <= {"memory-meta.json"}
    assert json.loads(after["memory-meta.json"]) == json.loads(before["memory-meta.json"])
    assert here("revert", runs[0]["runId"], code=1)["reason"] == "reverted"


def test_an_edit_after_the_dream_survives_the_revert_or_is_a_conflict_with_both_versions_kept(
    process: Command, here: Command, home: Path
) -> None:
    before = _memories(home)
    run = here("consolidate", "--workspace", ACME, "--engine", "rules")
    text = (home / STYLE).read_text("utf-8")
    (home / STYLE).write_text(text.replace("Subject in the", "SUBJECT IN THE"), "utf-8")
    (home / CURSORS).write_text("by hand, from scratch\n", "utf-8")

    undone = process("revert", run["runId"], code=1, now=NOW + 1)
    assert undone["reason"] == "conflict"
    assert undone["conflicts"] == ["/memories/project/api/v2/pagination/cursors.md"]
    after = _memories(home)
    assert after[STYLE] == before[STYLE].replace(b"Subject in the", b"SUBJECT IN THE") != before[STYLE]
    assert after[CURSORS] == b"by hand, from scratch\n"
    kept = here("diff", run["runId"], text=True)
    for old in before[CURSORS].decode().splitlines():
        assert old in kept
    changed = {name for name in before if before[name] != after[name]} - {"memory-meta.json"}
    assert changed == {STYLE, CURSORS}


def test_siblings_share_project_and_global_and_keep_their_own_workspace_row(
    here: Command, home: Path
) -> None:
    put(home, {f"sessions/{BACKFILL}/memory/own.md": "# Own\n- Only here.\n"})
    first = here("consolidate", "--workspace", BACKFILL)
    own = (home / f"sessions/{BACKFILL}/memory/own.md").read_bytes()
    put(home, {f"{PIPELINE_STORE}/{name}.md": REDUNDANT for name in ("retries", "retry-notes")})
    put(home, {f"sessions/{PIPELINE}/memory/retry.md": REDUNDANT})
    names = _names(here("tree", "--workspace", BACKFILL), "project")
    assert {"retries.md", "retry-notes.md"} <= names
    later = NOW + HOUR_MS

    mine = here("consolidate", "--workspace", PIPELINE, now=later)
    assert mine["outcome"] == "completed"
    one, other = (here("status", "--workspace", name, now=later) for name in (PIPELINE, BACKFILL))
    assert one["projectRecord"] == other["projectRecord"]
    assert one["projectRecord"]["lastRunAt"] == one["globalRecord"]["lastRunAt"] == later
    assert other["globalRecord"] == one["globalRecord"] == one["workspaceRecord"]
    assert other["workspaceRecord"]["lastRunAt"] == first["lastRunAt"] == NOW
    names = _names(here("tree", "--workspace", BACKFILL), "project")
    assert len(names & {"retries.md", "retry-notes.md"}) == 1
    assert _names(here("tree", "--workspace", BACKFILL), "workspace") >= {"own.md"}
    assert (home / f"sessions/{BACKFILL}/memory/own.md").read_bytes() == own


def test_a_run_of_one_project_leaves_the_coverage_and_files_of_others(here: Command, home: Path) -> None:
    before = contents(home)
    here("consolidate", "--workspace", GARDEN)
    status = here("status", "--workspace", ACME)
    assert status["projectRecord"]["lastRunAt"] < NOW
    assert status["globalRecord"]["lastRunAt"] == NOW
    after = contents(home)
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    own = ("memory/global/", "memory/project/pixel-garden-", f"sessions/{GARDEN}/memory/", "memory-")
    assert all(name.startswith(own) for name in changed)


@pytest.mark.parametrize("workspace", [MULTI, "f0f0f0f0f0", "f1f1f1f1f1"])
def test_a_workspace_over_several_projects_has_no_project_tree_row_or_record(
    here: Command, home: Path, workspace: str
) -> None:
    _add_multi_project_workspaces(home)
    projects = _coverage(home)["projects"]
    stores = contents(home / "memory/project")

    tree = next(node for node in here("tree", "--workspace", workspace) if node["name"] == "project")
    assert tree["children"] == []
    assert (tree["gap"], bool(tree["unavailable"])) == ("multi-project", True)
    result = here("consolidate", "--workspace", workspace)
    assert result["outcome"] == "completed"
    assert not any(op["path"].startswith("/memories/project") for op in result["ops"])
    status = here("status", "--workspace", workspace)
    assert (status["projectAvailable"], status["projectRecord"]) == (False, None)
    assert status["workspaceRecord"]["lastRunAt"] == status["globalRecord"]["lastRunAt"] == NOW
    assert _coverage(home)["projects"] == projects
    assert contents(home / "memory/project") == stores
    assert here("status", "--workspace", ACME)["projectRecord"] == projects["/home/dev/projects/acme-api"]


def test_status_for_people_says_unavailable_and_never_never(home: Path, tmp_path: Path) -> None:
    _add_multi_project_workspaces(home)
    for workspace in (MULTI, "f0f0f0f0f0", "f1f1f1f1f1"):
        _code, out, _err = run_here(home, tmp_path / "profile", "status", "--workspace", workspace)
        (line,) = [line for line in out.splitlines() if line.startswith("Project")]
        assert "unavailable" in line
        assert "never" not in line


def test_the_legacy_home_says_never_until_its_first_dream_writes_the_project_record(tmp_path: Path) -> None:
    home, profile = copy_sample("mux-home-legacy", tmp_path), tmp_path / "profile"

    def status() -> Any:
        return json.loads(run_here(home, profile, "status", "--workspace", "2b3c4d5e6f", "--json")[1])

    before = status()
    assert (before["projectAvailable"], before["projectRecord"]) == (True, None)
    assert before["workspaceRecord"]["lastRunAt"] == 1_781_384_416_000
    assert run_here(home, profile, "consolidate", "--workspace", "2b3c4d5e6f")[0] == 0
    assert status()["projectRecord"]["lastRunAt"] == NOW
    assert _coverage(home)["projects"].keys() == {"/home/dev/projects/bookstall"}


@pytest.mark.parametrize(
    ("sample", "workspaces"),
    [
        ("mux-home", (ACME, GARDEN, PIPELINE, BACKFILL, MULTI, ARCHIVED)),
        ("mux-home-legacy", ("2b3c4d5e6f", "90817263f4", "1029384756")),
    ],
)
def test_looking_at_anything_leaves_bytes_modes_and_mtimes(
    sample: str, workspaces: tuple[str, ...], tmp_path: Path
) -> None:
    home = copy_sample(sample, tmp_path)
    before = snapshot(home)
    looks: list[tuple[int, tuple[str, ...]]] = [(0, ("homes",)), (0, ("runs",)), (1, ("diff", "0-00000000"))]
    for workspace in workspaces:
        looks += [(0, ("tree", "--workspace", workspace)), (0, ("status", "--workspace", workspace))]
        looks.append((0, ("consolidate", "--dry-run", "--workspace", workspace)))
    for code, words in looks:
        assert run_here(home, tmp_path / "profile", *words)[0] == code, words
    assert snapshot(home) == before


def test_looking_in_processes_of_their_own_changes_nothing_either(process: Command, home: Path) -> None:
    before = snapshot(home)
    process("homes")
    process("tree", "--workspace", ACME)
    process("status", "--workspace", ACME)
    assert snapshot(home) == before


def test_no_command_but_the_window_loads_qt(home: Path, tmp_path: Path) -> None:
    script = """
import io, json, sys
from reverie.cli import main
options, run = sys.argv[1:], None
for words in (["homes"], ["tree", "--workspace", "W"], ["status", "--workspace", "W"], ["memory"],
              ["consolidate", "--workspace", "W", "--json"], ["runs"], ["diff"], ["revert"]):
    words = ["a1f3c9e2b7" if word == "W" else word for word in words]
    sys.stdin = io.TextIOWrapper(io.BytesIO(b'{"command":"index"}'))
    sys.stdout = out = io.StringIO()
    if words[0] in ("diff", "revert"):
        words.append(run)
    code = main([*options, *words])
    sys.stdout = sys.__stdout__
    assert code == 0, words
    if words[0] == "consolidate":
        run = json.loads(out.getvalue())["runId"]
print(sorted(name for name in sys.modules if name.partition(".")[0] in ("PySide6", "shiboken6")))
print(sorted(name for name in sys.modules if name.startswith("reverie.ui")))
"""
    options = ["--home", str(home), "--profile", str(tmp_path / "profile"), "--now", str(NOW)]
    done = subprocess.run(
        [sys.executable, "-c", script, *options], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()) == (0, ["[]", "[]"]), done.stderr


def _memories(home: Path) -> dict[str, bytes]:
    """All that a dream may change, and the rest of the home, but for its coverage."""
    return {name: data for name, data in contents(home).items() if name != "memory-consolidation.json"}


def _pinned(home: Path) -> set[str]:
    """The sample's pinned files that a dream in `ACME` or `PIPELINE` sees."""
    entries = json.loads((home / "memory-meta.json").read_bytes())["entries"]
    stores = {
        "global:": "memory/global",
        "project:/home/dev/projects/acme-api:": ACME_STORE,
        f"project:{PIPELINE_PATH}:": PIPELINE_STORE,
        f"workspace:{PIPELINE}:": f"sessions/{PIPELINE}/memory",
    }
    found = {
        f"{store}/{key.removeprefix(prefix)}"
        for key, entry in entries.items()
        for prefix, store in stores.items()
        if entry["pinned"] and key.startswith(prefix)
    }
    assert len(found) >= 4
    return found


def _every_line_is_kept(before: dict[str, bytes], after: dict[str, bytes], *names: str) -> None:
    """Each line of the body of two merged files is in the one that stayed."""
    (kept,) = [after[name] for name in names if name in after]
    for name in names:
        body = before[name].decode().split("---\n", 2)[2]
        for line in filter(str.strip, body.splitlines()):
            words = line.strip("-#* ")
            assert words in kept.decode(), f"{name}: {line}"


def _names(tree: list[dict[str, Any]], scope: str) -> set[str]:
    return {child["name"] for node in tree if node["name"] == scope for child in node["children"]}


def _coverage(home: Path) -> dict[str, Any]:
    return dict(json.loads((home / "memory-consolidation.json").read_bytes()))


def _add_multi_project_workspaces(home: Path) -> None:
    """A workspace over two projects in an ordinary bucket, and a task started from it."""
    config = home / "config.json"
    data = json.loads(config.read_bytes())
    listed = next(dict(pair[1]) for pair in data["projects"] if pair[0] == "_multi")["workspaces"][0][
        "projects"
    ]
    bucket = next(pair[1] for pair in data["projects"] if pair[0] == "/home/dev/projects/acme-api")
    parent = {
        "id": "f0f0f0f0f0",
        "name": "wide",
        "path": "/home/dev/.xum/src/acme-api/wide",
        "projects": listed,
    }
    child = {**parent, "id": "f1f1f1f1f1", "name": "task", "path": "/home/dev/.xum/src/acme-api/task"}
    bucket["workspaces"] += [parent, {**child, "parentWorkspaceId": parent["id"], "taskStatus": "running"}]
    config.write_text(json.dumps(data, indent=2), "utf-8")


def test_the_demo_shows_what_a_consolidation_by_rules_does_and_holds_nothing(tmp_path: Path) -> None:
    home = tmp_path / "demo-home"
    shutil.copytree(resource("demo-home"), home)
    said = {}
    for workspace in sorted(each.name for each in (home / "sessions").iterdir()):
        options = ["--home", str(home), "--profile", str(tmp_path / "profile"), "--json"]
        words = [*options, "consolidate", "--workspace", workspace, "--engine", "rules", "--dry-run"]
        done = run_command(*words)
        assert done.returncode == 0, done.stderr
        said[workspace] = json.loads(done.stdout)
    assert {each["outcome"] for each in said.values()} == {"completed"}
    first = said["4b7d02e9c1"]["summary"]
    for words in (
        "Removed 1 note from a conversation",
        "deleted 1 empty file",
        "2 pairs of memories are worth a look",
    ):
        assert words in first
    assert said["4b7d02e9c1"]["card"]["kept"] == said["4b7d02e9c1"]["card"]["facts"] > 0
