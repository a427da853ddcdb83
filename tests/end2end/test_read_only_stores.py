"""Nothing writes into a store whose layout Reverie does not know: every command and service, agent by agent.

Each operation is carried out three times on homes of its own: on a known home, where it must change
something (so that the test can fail); on one that is unknown, where it must be refused with the reason and
leave every inode, size, mode and time below the home as it was; and after a person permitted writing.
"""

from __future__ import annotations

import io
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time
from helpers.kills import nursery
from helpers.unknown_layouts import DAMAGES, WORLDS, Change, field, put
from reverie.agents.scopes import ScopeContext
from reverie.cli import main
from reverie.compose import open_parts
from reverie.errors import UserError
from reverie.jobs.consolidate.engine import RulesEngine
from reverie.jobs.consolidate.review import ReviewSelection
from reverie.jobs.consolidate.run import DreamRequest
from reverie.profile import Profile
from reverie.services.timeline import State
from reverie.services.views import HandChange
from reverie.services.workbench import Workbench

REASON = "unknown-layout"
Stamps = dict[str, tuple[int, ...]]


def stamps(root: Path) -> Stamps:
    """What any write below `root` changes: a change time cannot be set back."""
    found: Stamps = {}
    for path in (root, *root.rglob("*")):
        status = path.lstat()
        found[path.relative_to(root).as_posix()] = (
            status.st_ino,
            status.st_size,
            status.st_mode,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
    return found


class World:
    """One home with a workbench, and the context that the operations work in."""

    def __init__(self, agent: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.agent = agent
        self.home = WORLDS[agent](place)
        self.root = self.home.root
        self.profile = place / "profile"
        self._capsys = capsys
        self.reopen()

    def reopen(self) -> None:
        parts = open_parts(self.root, Profile.under(self.profile), Time())
        self.bench = Workbench(parts)
        self.parts = parts

    @property
    def context(self) -> ScopeContext:
        if self.agent == "mux":
            return self.parts.home.context(workspace_id="a1f3c9e2b7")
        if self.agent == "claude":
            return self.parts.home.context(workspace_id=self.session)
        if self.agent == "codex":
            return self.parts.home.context()
        (project, *_others) = self.parts.home.contents().projects
        return self.parts.home.context(project_path=project.path)

    @property
    def where(self) -> tuple[str, ...]:
        """The context as options of a command."""
        context = self.context
        if context.workspace_id:
            return ("--workspace", context.workspace_id)
        return ("--project", context.project_path) if context.project_path else ()

    @property
    def session(self) -> str:
        return next(self.root.glob("projects/*/*.jsonl")).stem

    @property
    def note(self) -> str:
        """A memory that a person may edit."""
        return {
            "mux": "/memories/project/deploy.md",
            "codex": "/memories/global/skills/release/SKILL.md",
            "claude": "/memories/project/b.md",
            "loki": "/memories/project/decisions.md",
        }[self.agent]

    @property
    def scope(self) -> str:
        return self.note.split("/")[2]

    def text(self, path: str) -> Any:
        return self.bench.read(self.context, path)

    def cli(self, *words: str, stdin: str = "") -> str:
        """One command with `--json`; its reason, empty for success."""
        options = ["--profile", str(self.profile), "--now", str(NOW), "--home", str(self.root)]
        before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin.encode()))
        try:
            code = main([*options, *words, "--json"])
        finally:
            sys.stdin = before
        out, err = self._capsys.readouterr()
        told = json.loads(out.splitlines()[-1] if stdin else out)
        if code == 0 and not (isinstance(told, dict) and told.get("success") is False):
            return ""
        assert stdin or err, "a person reads one line on stderr"
        return str(told.get("reason") or told.get("gate") or told.get("error") or out)


@dataclass(frozen=True)
class Operation:
    """`prepare` happens on the known home; `act` returns a reason or raises, or changes the home."""

    act: Callable[[World, Any], Any]
    prepare: Callable[[World], Any] = lambda _world: None


def lines(world: World, **command: Any) -> str:
    context = world.context
    request = {"workspace_id": context.workspace_id, "project_path": context.project_path, **command}
    answer = world.cli("memory", stdin=json.dumps(request) + "\n")
    # The agent's own shape of an answer has no place for a reason but the sentence.
    return REASON if "Reverie does not recognize the layout of" in answer else answer


def save(world: World, _prepared: Any) -> None:
    text = world.text(world.note)
    world.bench.save(world.context, world.note, text.content + "More.\n", text.sha256)


def consolidated(world: World) -> str:
    run = world.parts.dreams.run(DreamRequest(world.context), RulesEngine()).run_id
    assert world.parts.runs.load(run).outcome == "completed"
    return run


def two_alike(world: World) -> None:
    """Two memories that the rules merge."""
    text = "The build takes ten minutes on the small machine, and fails without a network.\n"
    for name in ("alike-1.md", "alike-2.md"):
        world.bench.save(world.context, f"/memories/{world.scope}/{name}", text, None)


def consolidated_alike(world: World) -> str:
    two_alike(world)
    return consolidated(world)


def previewed(world: World) -> str:
    two_alike(world)
    return world.parts.dreams.run(DreamRequest(world.context, dry_run=True), RulesEngine()).run_id


def interrupted(world: World) -> None:
    """A consolidation that was killed after its first file."""
    two_alike(world)
    where = {"home": str(world.root), "profile": str(world.profile), "workspace": world.context.workspace_id}
    with nursery() as raising:
        report = raising.raise_victim({"kind": "dream", "step": "usage", "nth": 1, **where})
    assert report["killed"]
    world.reopen()
    assert world.parts.runs.unsettled()


def recover(world: World, _prepared: Any) -> None:
    with world.parts.leases.acquire(f"dream:{world.parts.home_id}", purpose="test"):
        world.parts.recovery.run()


def companion(world: World, _prepared: Any) -> None:
    found = next(each for each in world.parts.home.companions(world.context) if each.exists)
    text = world.bench.companions.read(found)
    world.bench.companions.save(found, "Other.\n", text.sha256)


def deleted(world: World) -> Any:
    return world.bench.edits.delete(world.context, world.note)


def restore_from_trash(world: World, _prepared: Any) -> None:
    world.bench.trash.restore(world.bench.trash.page()[0])


def edited(world: World) -> None:
    world.bench.start_history()
    save(world, None)


def restore_point(world: World, _prepared: Any) -> None:
    timeline = world.bench.timeline
    target = timeline.target(world.context, world.note)
    newest = world.bench.change_log.page(target=target).changes[0]
    assert newest.place is not None
    world.bench.restore(timeline.plan(target, State(newest.parent, newest.place)))


def rename(world: World, _prepared: Any) -> None:
    world.bench.edits.rename(world.context, world.note, world.note.replace(".md", "-new.md"))


def change_several(world: World, _prepared: Any) -> None:
    text = world.text(world.note)
    changes = [HandChange(f"/memories/{world.scope}/together.md", b"One.\n", None)]
    changes.append(HandChange(world.note, b"Two.\n", text.sha256))
    world.bench.apply_changes(world.context, changes, kind="merge", subject="together")


EVERYWHERE = {
    "save": Operation(save),
    "save a new memory": Operation(
        lambda world, _: world.bench.save(world.context, f"/memories/{world.scope}/new.md", "New.\n", None)
    ),
    "delete": Operation(lambda world, _: world.bench.edits.delete(world.context, world.note)),
    "delete several": Operation(lambda world, _: world.bench.edits.delete_all(world.context, [world.note])),
    "rename": Operation(rename),
    "several as one": Operation(change_several),
    "undo of a deletion": Operation(lambda world, undo: world.bench.undo(undo), deleted),
    "trash": Operation(restore_from_trash, deleted),
    "restore": Operation(restore_point, edited),
    "command create": Operation(
        lambda world, _: lines(
            world, command="create", path=f"/memories/{world.scope}/by-command.md", file_text="x\n"
        )
    ),
    "command insert": Operation(
        lambda world, _: lines(
            world, command="insert", path=world.note, insert_line=0, insert_text="First.\n"
        )
    ),
    "command delete": Operation(lambda world, _: lines(world, command="delete", path=world.note)),
    "command rename": Operation(
        lambda world, _: lines(
            world, command="rename", old_path=world.note, new_path=world.note.replace(".md", "-2.md")
        )
    ),
}


def consolidate(world: World, _prepared: Any) -> str:
    return world.cli("consolidate", "--engine", "rules", *world.where)


def mux_pin(world: World, _prepared: Any) -> None:
    world.bench.edits.pin(world.context, ["/memories/project/todo.txt"], True)


def mux_overwritten(world: World) -> None:
    """The agent writes its sidecar without a pin of ours, which would be put back."""
    sidecar = world.root / "memory-meta.json"
    before = sidecar.read_bytes()
    mux_pin(world, None)
    time.sleep(0.02)
    sidecar.write_bytes(before)


def harvest_due(world: World) -> None:
    field("memory-consolidation.json", harvestsByWorkspace={})(world.root)
    for path in world.root.glob("sessions/*/memory/harvest/*.md"):
        path.unlink()


def orphan(world: World, _prepared: Any) -> None:
    stores = [each for each in world.bench.orphans.survey().stores if each.removable]
    world.bench.orphans.remove(stores[0].store)


def writer_turn(world: World, _prepared: Any) -> str:
    return world.cli("write", "--workspace", "a1f3c9e2b7", "--force")


def state_fix(world: World, _prepared: Any) -> None:
    from reverie.doctor.facts import DoctorHooks
    from reverie.doctor.fixes import Fixes

    Fixes(world.parts, DoctorHooks()).set_aside(world.root / "memory-consolidation.json").apply()


def mode_fix(world: World, _prepared: Any) -> None:
    from reverie.doctor.facts import DoctorHooks
    from reverie.doctor.fixes import Fixes

    Fixes(world.parts, DoctorHooks()).make_writable(world.root / "memory-meta.json").apply()


def dump(world: World, _prepared: Any) -> None:
    from reverie.services.background import writer_dependencies

    place = world.parts.home.writer_place("a1f3c9e2b7")
    assert place is not None
    document = {"runStartedAt": NOW, "triggerMessageId": "m"}
    writer_dependencies(world.parts).dumps.write(place.dump_directory, document)


def _applied(world: World, run: str) -> str:
    done = world.bench.reviews.apply
    view = done(run, ReviewSelection(), progress=lambda _: None, cancel=threading.Event())
    return "" if view.outcome in ("completed", "unchanged") else view.reason


def loki_resolution(world: World, _prepared: Any) -> str:
    return world.cli(
        "failures",
        "resolve",
        "--project",
        str(world.root.parent),
        "--episode",
        "ep-2026-08-19-1",
        "--text",
        "Asked Ada.",
    )


def loki_failure(world: World, _prepared: Any) -> str:
    where = ("--project", str(world.root.parent))
    return world.cli("failures", "record", *where, "--phase", "ACT", "--exit", "1")


OWN: dict[str, dict[str, Operation]] = {
    "mux": {
        "consolidate": Operation(consolidate, two_alike),
        "sweep": Operation(lambda world, _: world.cli("sweep", "--engine", "rules"), two_alike),
        "harvest": Operation(
            lambda world, _: world.cli("harvest", "--workspace", "a1f3c9e2b7", "--engine", "rules"),
            harvest_due,
        ),
        "write": Operation(writer_turn),
        "revert": Operation(lambda world, run: world.cli("revert", run), consolidated_alike),
        "apply a preview": Operation(_applied, previewed),
        "recovery": Operation(recover, interrupted),
        "pin": Operation(mux_pin),
        "overwritten pins": Operation(lambda world, _: world.parts.usage.reapply_lost(), mux_overwritten),
        "companion": Operation(companion),
        "move to another scope": Operation(
            lambda world, _: world.bench.moves.move(
                world.context, {world.note: "/memories/global/deploy-moved.md"}
            )
        ),
        "orphaned store": Operation(orphan),
        "doctor moves a file aside": Operation(state_fix),
        "doctor changes a mode": Operation(
            mode_fix, lambda world: (world.root / "memory-meta.json").chmod(0o400)
        ),
        "trace dump": Operation(dump),
        "view counts as use": Operation(lambda world, _: lines(world, command="view", path=world.note)),
    },
    "codex": {},
    "claude": {
        "consolidate": Operation(consolidate),
        "notes": Operation(
            lambda world, _: world.cli("notes", "--session", world.session, "--force"),
        ),
        "revert": Operation(lambda world, run: world.cli("revert", run), consolidated_alike),
        "recovery": Operation(recover, interrupted),
    },
    "loki": {
        "resolve": Operation(loki_resolution),
        "record a failure": Operation(loki_failure),
    },
}
UNKNOWN: dict[str, Change] = {
    "mux": put("locks/target-0f.lock"),
    "codex": put("memories_v3/memory_summary.md", "v1\n"),
    "claude": DAMAGES["claude"]["marker"][0],
    "loki": field("memory/index.json", version="3.0"),
}
"""One that leaves everything else in order, so that nothing but the guard stands in the way."""
READS_ON = {"overwritten pins", "view counts as use"}
"""What goes on without the write: no error is due."""
OPERATIONS = [(agent, name) for agent in WORLDS for name in (*EVERYWHERE, *OWN[agent]) if name not in ("",)]


def operation(agent: str, name: str) -> Operation:
    return EVERYWHERE.get(name) or OWN[agent][name]


def done(operation: Operation, world: World, prepared: Any) -> str:
    """The reason why it was not done; empty: it was."""
    try:
        outcome = operation.act(world, prepared)
    except UserError as error:
        return error.reason
    return outcome if isinstance(outcome, str) and outcome in (REASON, "failed") else ""


@pytest.mark.parametrize(("agent", "name"), OPERATIONS)
def test_only_a_known_or_permitted_store_is_written(
    agent: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    act = operation(agent, name)
    world = World(agent, tmp_path, capsys)
    prepared = act.prepare(world)
    UNKNOWN[agent](world.root)
    world.reopen()
    before = stamps(world.root)
    time.sleep(0.02)  # a clock tick, so that a write has another time

    assert done(act, world, prepared) == ("" if name in READS_ON else REASON)
    assert stamps(world.root) == before

    world.parts.write_guard.permit(refusal for refusal, _permitted in world.parts.write_guard.unknown())
    world.reopen()
    assert done(act, world, prepared) == ""
    assert stamps(world.root) != before, "it would have written, were it not for the guard"


ANOTHER: dict[str, Change] = {
    "mux": field("config.json", version=7),
    "codex": put("memories_v4/memory_summary.md", "v1\n"),
    "claude": lambda root: put(".version", "3\n")(next(root.glob("projects/*/memory"))),
    "loki": field("memory/index.json", version="4.0"),
}
"""The next version, after a person permitted writing into this one."""


@pytest.mark.parametrize("agent", WORLDS)
def test_what_is_not_written_is_read_as_ever(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(agent, tmp_path, capsys)
    UNKNOWN[agent](world.root)
    world.reopen()
    before = stamps(world.root)
    text = world.text(world.note)
    assert text.content
    assert text.refusal is not None
    assert text.refusal.title in text.read_only
    assert text.refusal.evidence in text.read_only
    where = world.where if agent in ("mux", "claude") else ()
    for words in (("tree", *where), ("status", *where), ("context", *where), ("search", "the"), ("homes",)):
        assert world.cli(*words) == "", words
    world.bench.start_history()
    target = world.bench.timeline.target(world.context, world.note)
    assert world.bench.change_log.page(target=target).changes
    assert stamps(world.root) == before


@pytest.mark.parametrize("agent", WORLDS)
def test_the_doctor_names_the_evidence_and_a_permission_is_forgotten_with_the_next_version(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(agent, tmp_path, capsys)
    options = ["--profile", str(world.profile), "--home", str(world.root), "--json"]

    def layout(*words: str) -> dict[str, Any]:
        main([*options, "doctor", *world.where, *words])
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
        return next(each for each in found if each["check"] == "known-layout")

    known = layout()
    assert (known["check"], known["state"], known["fix"]) == ("known-layout", "pass", None)
    UNKNOWN[agent](world.root)
    world.reopen()
    refusal = world.text(world.note).refusal
    unknown = layout()
    assert (unknown["state"], unknown["fix"]) == ("fail", "Write anyway")
    assert refusal.evidence in unknown["evidence"]
    permitted = layout("--fix", "known-layout")
    assert (permitted["state"], permitted["fix"]) == ("warn", None)
    save(world, None)
    ANOTHER[agent](world.root)
    world.reopen()
    with pytest.raises(UserError) as caught:
        save(world, None)
    assert caught.value.reason == REASON
    assert layout()["state"] == "fail"


@pytest.mark.parametrize("agent", ["mux", "claude", "codex"])
def test_a_run_that_stands_down_says_why_in_activity(
    agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(agent, tmp_path, capsys)
    UNKNOWN[agent](world.root)
    world.reopen()
    assert consolidate(world, None) == REASON
    entries = world.parts.activity.read(10)
    (entry,) = [each for each in entries if each.event == "dream.skipped"]
    assert entry.details["reason"] == REASON
    assert "does not recognize the layout of" in entry.text
    assert world.parts.runs.all() == ()
    preview = world.parts.dreams.run(DreamRequest(world.context, dry_run=True), RulesEngine())
    assert (preview.outcome, preview.reason) == ("skipped", REASON)


def test_the_writer_the_sweep_and_a_revert_say_why_in_activity(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World("mux", tmp_path, capsys)
    run = consolidated_alike(world)
    UNKNOWN["mux"](world.root)
    world.reopen()
    assert writer_turn(world, None) == REASON
    assert world.cli("sweep", "--engine", "rules") == REASON
    assert world.cli("harvest", "--workspace", "a1f3c9e2b7", "--engine", "rules") == REASON
    assert world.cli("revert", run) == REASON
    events = {
        entry.event
        for entry in world.parts.activity.read(20)
        if "does not recognize the layout of" in entry.text
    }
    assert {"dream.skipped", "harvest.skipped", "revert.skipped"} <= events
    assert any(event.startswith("writer.") for event in events), events


def test_the_writer_leaves_a_state_of_an_unknown_version_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World("mux", tmp_path, capsys)
    state = world.root / "sessions/a1f3c9e2b7/system1-memory-writer-state.json"
    DAMAGES["mux"]["state of the memory writer"][0](world.root)
    world.reopen()
    before = stamps(world.root)
    assert writer_turn(world, None) == REASON
    assert stamps(world.root) == before
    world.parts.write_guard.permit(refusal for refusal, _permitted in world.parts.write_guard.unknown())
    assert writer_turn(world, None) == ""
    assert json.loads(state.read_bytes())["schemaVersion"] == 2
