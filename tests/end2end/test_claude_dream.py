"""A dream over the memory of Claude Code: the agent's own lock, index and links that follow, review and undo,
coverage in our own directory, and a kill in the middle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time, contents
from helpers.claude_home import ClaudeHomeMaker, newer_topic, session_id, topic
from helpers.engines import ScriptedEngine, carried_out
from reverie.agents.claude.consolidation import read_lock
from reverie.agents.claude.locations import LOCK_NAME
from reverie.jobs.consolidate.apply import ApplyService, load_review
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest
from reverie.profile import Profile
from reverie.runs.record import RunResult
from reverie.runs.run import recover
from reverie.services.container import HomeContainer, HomeKey
from reverie.services.workbench import Workbench
from reverie.settings import Settings

FACT = "Deploys go through the canary cluster first.\n\n**Why:** an outage in May.\n"
INDEX = (
    "- [Deploy](deploy.md) — how deploys go\r\n"
    "- [Deploying](notes/deploying-1.md) — the same again\r\n"
    "- [Tests](tests.md) — how tests run\r\n"
)
TOPICS = {
    "deploy.md": topic("deploy", body=FACT),
    "notes/deploying-1.md": newer_topic("deploying", body=FACT).replace("feedback", "project"),
    "tests.md": topic("tests", body="Tests run with make check; see [[deploying]] and [[deploying-1]].\n"),
}
NOTES = "\n# Session Title\n_A title_\n"


class World:
    """A home with one project, one session with notes, and its parts."""

    def __init__(self, tmp_path: Path, clock: Time) -> None:
        self.maker = ClaudeHomeMaker(tmp_path)
        self.cwd = self.maker.repository("work")
        self.maker.session(self.cwd, 1)
        self.maker.typed(self.cwd)
        self.notes = self.maker.notes(self.cwd, 1, NOTES)
        self.memory = self.maker.memory(self.cwd, {"MEMORY.md": INDEX, **TOPICS})
        self.lock = self.memory / LOCK_NAME
        self.profile = Profile.under(tmp_path / "profile")
        self.parts = self.again(clock)

    def again(self, clock: Callable[[], int]) -> HomeContainer:
        return HomeContainer(HomeKey(self.maker.home(), "home-1"), self.profile, clock, Settings)

    def request(self, **more: Any) -> DreamRequest:
        context = self.parts.home.context(workspace_id=session_id(1), project_path=str(self.cwd))
        return DreamRequest(context, **more)

    def dream(self, engine: Any = None, **more: Any) -> RunResult:
        return self.parts.dreams.run(self.request(**more), engine or RulesEngine())

    def text(self, rel: str = "MEMORY.md") -> str:
        return (self.memory / rel).read_bytes().decode()

    def locked(self) -> tuple[bytes, int] | None:
        return (self.lock.read_bytes(), self.lock.stat().st_mtime_ns) if self.lock.exists() else None

    def lock_by(self, body: str, mtime: int) -> tuple[bytes, int] | None:
        self.lock.write_text(body)
        os.utime(self.lock, (mtime, mtime))
        return self.locked()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, Time())


def delete(rel: str) -> dict[str, Any]:
    return {"command": "delete", "path": f"/memories/project/{rel}"}


def test_a_merge_takes_index_line_and_links_along_and_the_undo_brings_every_byte_back(world: World) -> None:
    before = contents(world.maker.root)
    result = world.dream()
    assert result.outcome == "completed", result.summary
    assert not (world.memory / "notes/deploying-1.md").exists()
    assert world.text() == INDEX.replace("- [Deploying](notes/deploying-1.md) — the same again\r\n", "")
    assert "[[deploy]] and [[deploy]]" in world.text("tests.md")
    assert "**Why:** an outage in May." in world.text("deploy.md")
    assert world.notes.read_text() == NOTES
    # Coverage lies in our own directory. A run by rules leaves the agent's own consolidation its time.
    now = contents(world.maker.root)
    came = {rel for rel in now if rel not in before}
    assert came == set()
    coverage = json.loads((world.profile.own_sidecars("home-1") / "memory-consolidation.json").read_bytes())
    assert coverage["projects"][str(world.cwd)]["lastRunAt"] == NOW
    assert not world.lock.exists()
    # The same way back.
    reverted = world.parts.reverter.revert(result.run_id)
    assert not reverted.conflicts
    after = contents(world.maker.root)
    assert {rel: data for rel, data in after.items() if Path(rel).name != LOCK_NAME} == before


def test_rules_leave_an_index_and_session_notes_alone_and_the_second_run_finds_nothing(world: World) -> None:
    (world.memory / "MEMORY.md").write_bytes(b"trailing blanks   \n\n\n")
    world.dream()
    assert world.text() == "trailing blanks   \n\n\n"
    assert world.notes.read_text() == NOTES
    assert world.dream().outcome == "unchanged"


def test_no_dream_touches_what_the_agent_wrote_down_of_a_day(world: World) -> None:
    day, twin = "logs/2026/08/2026-08-05.md", "logs/2026/08/2026-08-06.md"
    world.maker.memory(world.cwd, {day: FACT, twin: FACT, "logs/notes.md": topic("notes", body="Other.\n")})
    before = contents(world.memory / "logs")
    edit = {"command": "insert", "path": f"/memories/project/{day}", "insert_line": 0, "insert_text": "x\n"}
    engine = ScriptedEngine(edit, delete(day), delete("logs"))
    assert world.dream(engine).outcome == "unchanged"
    assert [answer["success"] for answer in engine.answers] == [False] * 3
    world.dream()
    assert contents(world.memory / "logs") == before


def test_no_engine_deletes_or_renames_an_index_nor_touches_session_notes(world: World) -> None:
    new = {
        "command": "rename",
        "old_path": "/memories/project/MEMORY.md",
        "new_path": "/memories/project/i.md",
    }
    notes = "/memories/workspace/summary.md"
    edit = {"command": "str_replace", "path": notes, "old_str": "A title", "new_str": "B"}
    engine = ScriptedEngine(delete("MEMORY.md"), new, edit, {"command": "delete", "path": notes})
    before = contents(world.maker.root)
    assert world.dream(engine).outcome == "unchanged"
    assert [answer["success"] for answer in engine.answers] == [False] * 4
    after = contents(world.maker.root)
    assert {rel: data for rel, data in after.items() if Path(rel).name != LOCK_NAME} == before


def test_no_run_touches_the_agents_lock_as_a_file(world: World) -> None:
    path = f"/memories/project/{LOCK_NAME}"
    insert = {"command": "insert", "path": path, "insert_line": 0, "insert_text": "1"}
    create = {"command": "create", "path": path.upper().replace("/MEMORIES/PROJECT", "/memories/project")}
    rename = {"command": "rename", "old_path": path, "new_path": "/memories/project/a.md"}
    engine = ScriptedEngine(insert, delete(LOCK_NAME), rename, {**create, "file_text": "1"})
    was = world.lock_by("999999999", 1_700_000_000)
    world.dream(engine)
    assert [answer["success"] for answer in engine.answers] == [False] * 4
    assert was is not None
    assert world.locked() == was, "held and given back, nothing else"


@pytest.mark.parametrize("there", [False, True])
def test_only_a_run_by_a_model_that_changed_something_counts_as_a_consolidation(
    world: World, there: bool
) -> None:
    before = world.lock_by("999999999", 1_700_000_000) if there else None
    assert world.dream(ScriptedEngine()).outcome == "unchanged"
    assert world.locked() == before
    assert world.dream().outcome == "completed", "by rules"
    assert world.locked() == before
    rename = {
        "command": "rename",
        "old_path": "/memories/project/deploy.md",
        "new_path": "/memories/project/rollout.md",
    }
    assert world.dream(ScriptedEngine(rename)).outcome == "completed"
    found = world.locked()
    assert found is not None
    assert found[0] == b""
    assert found[1] > 1_700_000_000 * 10**9


@pytest.mark.parametrize("reviewed", [False, True])
def test_a_renamed_memory_keeps_its_mode(world: World, *, reviewed: bool) -> None:
    (world.memory / "deploy.md").chmod(0o600)
    rename = {
        "command": "rename",
        "old_path": "/memories/project/deploy.md",
        "new_path": "/memories/project/rollout.md",
    }
    result = world.dream(ScriptedEngine(rename), dry_run=reviewed)
    if reviewed:
        ApplyService(world.parts.dream_dependencies).apply(result.run_id, ReviewSelection())
    assert (world.memory / "rollout.md").stat().st_mode & 0o777 == 0o600


def test_a_rename_and_a_new_memory_have_their_lines(world: World) -> None:
    engine = ScriptedEngine(
        {
            "command": "rename",
            "old_path": "/memories/project/tests.md",
            "new_path": "/memories/project/how-tests-run.md",
        },
        {
            "command": "create",
            "path": "/memories/project/release.md",
            "file_text": topic("release", "when releases are cut"),
        },
    )
    assert carried_out(world.parts, world.request(), engine).outcome == "completed"
    assert "- [Tests](how-tests-run.md) — how tests run\r\n" in world.text()
    assert world.text().endswith("- [release](release.md) — when releases are cut\r\n")


def test_a_preview_shows_what_follows_and_takes_no_lock(world: World) -> None:
    before, lock = contents(world.maker.root), world.lock_by(str(os.getppid()), 2_000_000_000)
    shown = world.dream(dry_run=True)
    assert shown.outcome == "completed"
    assert world.locked() == lock
    world.lock.unlink()
    assert contents(world.maker.root) == before
    review = load_review(world.parts.dream_dependencies, shown.run_id).review
    files = {file.path for group in review.groups for file in group.files}
    assert "/memories/project/MEMORY.md" in files
    following = [group for group in review.groups if not group.ops]
    assert [group.reason for group in following] == [
        "The index and the links between memories are updated for the changes that you accept."
    ] * len(following)


@pytest.mark.parametrize("reject", ["the merge", "what follows", "nothing"])
def test_what_is_applied_of_a_review_is_what_the_index_follows(world: World, reject: str) -> None:
    shown = world.dream(ScriptedEngine(delete("tests.md"), delete("notes/deploying-1.md")), dry_run=True)
    review = load_review(world.parts.dream_dependencies, shown.run_id).review
    selection = ReviewSelection().with_agreed_loss("/memories/project/tests.md", agreed=True)
    selection = selection.with_agreed_loss("/memories/project/notes/deploying-1.md", agreed=True)
    for group in review.groups:
        paths = {file.path for file in group.files}
        doomed = (reject == "the merge" and "/memories/project/notes/deploying-1.md" in paths) or (
            reject == "what follows" and not group.ops
        )
        if doomed:
            selection = selection.with_group(group.index, accepted=False)
    result = ApplyService(world.parts.dream_dependencies).apply(shown.run_id, selection)
    assert result.outcome == "completed", result.summary
    lines = world.text()
    assert ("tests.md" in lines) == (reject == "what follows")
    assert ("deploying-1.md" in lines) == (reject != "nothing")
    assert (world.memory / "notes/deploying-1.md").exists() == (reject == "the merge")
    assert world.lock.read_bytes() == b""


def test_the_index_follows_on_what_stands_there_when_a_review_is_applied(world: World) -> None:
    shown = world.dream(dry_run=True)
    (world.memory / "MEMORY.md").write_bytes(b"# New head\r\n" + INDEX.encode() + b"- [X](x.md)\r\n")
    result = ApplyService(world.parts.dream_dependencies).apply(shown.run_id, ReviewSelection())
    assert result.outcome == "completed", result.summary
    line = "- [Deploying](notes/deploying-1.md) — the same again\r\n"
    assert world.text() == "# New head\r\n" + INDEX.replace(line, "") + "- [X](x.md)\r\n"


def test_nothing_is_dreamt_while_the_agent_consolidates(world: World) -> None:
    now = world.lock.parent.stat().st_mtime_ns // 1_000_000_000
    lock = world.lock_by(str(os.getppid()), now)
    before = contents(world.maker.root)
    result = world.dream()
    assert (result.outcome, result.reason) == ("skipped", "agent-busy")
    assert str(os.getppid()) in result.summary
    assert contents(world.maker.root) == before
    assert world.locked() == lock
    shown = world.dream(dry_run=True)
    applied = ApplyService(world.parts.dream_dependencies).apply(shown.run_id, ReviewSelection())
    assert (applied.outcome, applied.reason) == ("skipped", "agent-busy")
    assert world.locked() == lock


@pytest.mark.parametrize("there", [False, True])
def test_a_run_that_fails_or_is_held_puts_the_lock_back(world: World, there: bool) -> None:
    before = world.lock_by("", 1_700_000_000) if there else None
    held = world.dream(ScriptedEngine(delete("tests.md")))
    assert held.outcome == "held", held.summary
    assert world.locked() == before

    def in_the_way() -> None:
        assert world.lock.read_bytes() == str(os.getpid()).encode()
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        world.dream(ScriptedEngine(meanwhile=in_the_way))
    assert world.locked() == before
    kept = world.profile.own_sidecars("home-1") / "agent-lock.json"
    assert json.loads(kept.read_bytes()) == {}


def test_a_lock_that_another_took_from_us_is_theirs(world: World) -> None:
    result = world.dream(ScriptedEngine(meanwhile=lambda: world.lock_by("815", 1_900_000_000) and None))
    assert result.outcome == "unchanged"
    assert world.locked() == (b"815", 1_900_000_000 * 10**9)
    assert any(entry.event == "dream.agent-lock" for entry in world.parts.activity.read())


_VICTIM = """
import os, signal, sys
from helpers.nursery import live
step = sys.argv[4]
live({"kind": "dream", "home": sys.argv[1], "profile": sys.argv[2], "workspace": sys.argv[3], "step": step})
"""


@pytest.mark.parametrize(("step", "committed"), [("journal", False), ("usage", False), ("applied", True)])
def test_a_killed_dream_gives_the_lock_back_whoever_recovers_it(
    world: World, tmp_path: Path, step: str, committed: bool
) -> None:
    before = world.lock_by("", 1_700_000_000)
    old = contents(world.maker.root)
    environment = {**os.environ, "HOME": str(world.maker.user), "PYTHONPATH": os.pathsep.join(sys.path)}
    profile = tmp_path / "killed"
    arguments = [str(world.maker.root), str(profile), session_id(1), step]
    done = subprocess.run([sys.executable, "-c", _VICTIM, *arguments], env=environment, check=False)
    assert done.returncode == -9
    dead = read_lock(world.lock, 10**15)
    assert dead.holder is not None
    assert not dead.alive
    from reverie.compose import open_parts

    parts = open_parts(world.maker.root, Profile.under(profile), Time())
    if step == "usage":
        recover(parts.run_dependencies, "session notes, say")
    else:
        Workbench(parts).start_history()
    if committed:
        assert world.lock.read_bytes() == b""
        assert "deploying-1" not in world.text()
    else:
        assert contents(world.maker.root) == old
        assert world.locked() == before
