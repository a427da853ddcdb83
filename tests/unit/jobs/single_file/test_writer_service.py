"""The writer of a real home, turn by turn: gates, state, effects, what is said. The thinking is scripted."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import Time, again, sample_parts
from helpers.chats import Chat
from reverie.agents.mux.tail import TranscriptTail
from reverie.agents.transcripts import TailPosition, Turn
from reverie.errors import StoreError
from reverie.jobs.single_file.writer import MemoryDraft, WriterTask
from reverie.jobs.single_file.writer_service import WriterOutcome, WriterService
from reverie.jobs.single_file.writer_turns import TurnCounter
from reverie.llm.client import Account, EngineResult
from reverie.memory.scope_files import sha256_of_text
from reverie.runs import run
from reverie.services.background import writer_dependencies
from reverie.services.container import HomeContainer
from reverie.values import replace

ACME, MULTI = "a1f3c9e2b7", "e8f1a2b3c4"
MEMORY = "memories/acme-api-1d659342.md"
Act = Callable[[WriterTask, MemoryDraft], None]


def nothing_new(_task: WriterTask, draft: MemoryDraft) -> None:
    draft.declined = True


def adding(line: str) -> Act:
    """Adds one line at the end, as a model would."""

    def act(_task: WriterTask, draft: MemoryDraft) -> None:
        last = draft.text.splitlines()[-1] if draft.text else ""
        draft.replace(last, f"{last}\n{line}")

    return act


class Scripted:
    """An engine that does what a test says. `tasks` are the runs it was asked for."""

    name = "scripted:model"

    def __init__(self, act: Act = nothing_new) -> None:
        self.act = act
        self.tasks: list[WriterTask] = []
        self.end = EngineResult("completed")

    async def edit(self, task: WriterTask, draft: MemoryDraft, cancelled: Callable[[], bool]) -> EngineResult:
        self.tasks.append(task)
        self.act(task, draft)
        return replace(self.end, outcome="cancelled") if cancelled() else self.end


class Desk:
    """A copy of the sample home, its transcript, and a writer with a scripted engine."""

    def __init__(self, tmp_path: Path) -> None:
        self.time = Time()
        self.parts = sample_parts("mux-home", tmp_path, self.time)
        self.root = self.parts.home.root
        self.engine = Scripted()
        self.cancel = threading.Event()
        self.settings("enabled = true")
        self.chat = Chat(self.root / "sessions" / ACME)
        self.tail = TranscriptTail(self.chat.path.parent)
        self.writer = self.another(self.parts)

    def another(self, parts: HomeContainer) -> WriterService:
        """A service as another process would have it."""
        dependencies = replace(
            writer_dependencies(parts), engine_for=lambda _context, _wishes, _model: self.engine
        )
        return WriterService(dependencies, self.cancel)

    def settings(self, text: str) -> None:
        path = self.parts.profile.settings_file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[system1]\n{text}\n", encoding="utf-8")

    def config(self, **changes: Any) -> None:
        path = self.root / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}))

    def event(self, said: str = "Go on.", **metadata: Any) -> Turn:
        self.time.now += 60_000
        self.chat.turn(said, **metadata)
        return self.tail.poll()[-1]

    def turn(self, said: str = "Go on.", **metadata: Any) -> WriterOutcome:
        return self.writer.on_turn_end(ACME, self.event(said, **metadata))

    @property
    def counter(self) -> TurnCounter:
        state_file = self.root / "sessions" / ACME / "system1-memory-writer-state.json"
        return self.writer.counter(ACME, state_file)

    @property
    def state(self) -> dict[str, Any]:
        path = self.root / "sessions" / ACME / "system1-memory-writer-state.json"
        return dict(json.loads(path.read_bytes())) if path.exists() else {}

    @state.setter
    def state(self, data: dict[str, Any]) -> None:
        path = self.root / "sessions" / ACME / "system1-memory-writer-state.json"
        path.write_text(json.dumps(data))

    @property
    def memory(self) -> str:
        return (self.root / MEMORY).read_text(encoding="utf-8")

    @property
    def said(self) -> list[tuple[str, int]]:
        return [(entry.event, entry.times) for entry in self.parts.activity.read()]

    @property
    def dumps(self) -> list[dict[str, Any]]:
        place = self.root / "debug_obj" / ACME / "system1_memory_writer"
        found = [json.loads(path.read_bytes()) for path in sorted(place.iterdir())]
        return [dump for dump in found if "reverie" in dump]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# The schedule, on disk


def test_a_run_comes_after_every_second_turn_and_the_state_says_so_at_every_point(desk: Desk) -> None:
    seen: list[dict[str, Any]] = []
    desk.engine.act = lambda _task, _draft: (
        seen.append(desk.state),
        nothing_new(_task, _draft),
    )[1]
    gates = [desk.turn().gate for _ in range(4)]
    assert gates == ["not-due", None, "not-due", None]
    assert [task.message_id for task in desk.engine.tasks] == ["assistant-4", "assistant-8"]
    started = desk.time.now
    assert seen[-1] == {
        "schemaVersion": 1,
        "turnsSinceLastRun": 0,
        "lastRunStartedAt": started,
        "lastRunMessageId": "assistant-8",
    }
    assert desk.state == {
        "schemaVersion": 1,
        "turnsSinceLastRun": 0,
        "lastRunStartedAt": started,
        "lastRunCompletedAt": started,
        "lastRunMessageId": "assistant-8",
    }


def test_the_count_goes_on_in_another_process(desk: Desk) -> None:
    assert desk.turn().gate == "not-due"
    desk.writer = desk.another(again(desk.parts))
    assert desk.turn().ran


def test_a_turn_counts_once_whoever_sees_it(desk: Desk) -> None:
    other = desk.another(again(desk.parts))
    told = []
    for _ in range(6):
        event = desk.event()
        told.append((desk.writer.on_turn_end(ACME, event).gate, other.on_turn_end(ACME, event).gate))
    assert told == [("not-due", "counted"), (None, "counted")] * 3
    assert len(desk.engine.tasks) == 3


def test_a_turn_seen_late_by_another_process_does_not_count(desk: Desk) -> None:
    late = [desk.event() for _ in range(3)]
    assert desk.writer.on_turn_end(ACME, late[-1]).gate == "not-due"
    assert {desk.writer.on_turn_end(ACME, event).gate for event in late} == {"counted"}


@pytest.mark.parametrize("metadata", [{"partial": True}, {"error": "overloaded"}, {"errorType": "x"}])
def test_an_aborted_or_failed_turn_never_advances_the_schedule(desk: Desk, metadata: dict[str, Any]) -> None:
    desk.turn()
    before = desk.state
    assert {desk.turn(**metadata).gate for _ in range(3)} == {"not-completed"}
    assert desk.state == before
    assert desk.turn().ran


def test_rows_that_end_no_turn_are_nothing_to_the_writer(desk: Desk) -> None:
    desk.chat.user("Only a question.")
    desk.writer.on_turn_end(ACME, desk.tail.poll()[-1])
    assert (desk.said, desk.state) == ([], {})


def test_a_run_that_died_is_due_at_the_next_turn(desk: Desk) -> None:
    desk.settings("enabled = true\ninterval = 40")
    desk.state = {"turnsSinceLastRun": 0, "lastRunStartedAt": 5, "lastRunMessageId": "m", "kept": [1]}
    outcome = desk.turn()
    assert outcome.ran
    assert desk.state["kept"] == [1]
    assert desk.turn().gate == "not-due"
    started = [entry for entry in desk.parts.activity.read() if entry.event == "writer.started"]
    assert "did not finish" in started[0].text


def test_a_run_at_work_is_neither_doubled_nor_taken_for_dead(desk: Desk) -> None:
    inside: list[WriterOutcome] = []

    def act(task: WriterTask, draft: MemoryDraft) -> None:
        other = desk.another(again(desk.parts))
        inside.extend(other.on_turn_end(ACME, desk.event()) for _ in range(2))
        nothing_new(task, draft)

    desk.engine.act = act
    desk.turn()
    assert desk.turn().ran
    assert [outcome.gate for outcome in inside] == ["in-flight", "in-flight"]
    assert desk.state["turnsSinceLastRun"] == 2
    assert "lastRunCompletedAt" in desk.state
    desk.engine.act = nothing_new
    assert desk.turn().ran, "what came meanwhile counts"


def test_cancelling_leaves_the_run_unfinished_so_that_it_comes_again(desk: Desk) -> None:
    def act(task: WriterTask, draft: MemoryDraft) -> None:
        adding("- never written")(task, draft)
        desk.cancel.set()

    desk.engine.act = act
    before = desk.memory
    desk.turn()
    assert desk.turn().outcome == "cancelled"
    assert "lastRunCompletedAt" not in desk.state
    assert desk.memory == before
    desk.cancel.clear()
    desk.engine.act = nothing_new
    assert desk.turn().ran


def test_a_bug_is_raised_and_leaves_no_run_stuck(desk: Desk) -> None:
    def act(_task: WriterTask, _draft: MemoryDraft) -> None:
        raise ZeroDivisionError

    desk.engine.act = act
    desk.turn()
    with pytest.raises(ZeroDivisionError):
        desk.turn()
    assert "lastRunCompletedAt" in desk.state
    assert not desk.counter.in_flight()


# Standing gates


def test_off_is_said_once(desk: Desk) -> None:
    desk.settings("enabled = false")
    assert [desk.turn().gate for _ in range(3)] == ["disabled"] * 3
    assert desk.said == [("writer.disabled", 3)]
    assert desk.state == {}


def test_the_agents_own_switch_counts(desk: Desk) -> None:
    desk.config(agentAiDefaults={"system1_memory_writer": {"enabled": False}})
    outcome = desk.turn()
    assert outcome.gate == "disabled"
    assert "agent's own settings" in outcome.summary


def test_the_agents_own_interval_counts(desk: Desk) -> None:
    desk.config(taskSettings={"memoryWriterIntervalMessages": 3})
    assert [desk.turn().gate for _ in range(3)] == ["not-due", "not-due", None]
    assert "2 of 3" in [entry.text for entry in desk.parts.activity.read()][2]


def test_an_interval_that_is_none_stops_the_writer_and_says_where_it_stands(desk: Desk) -> None:
    desk.config(taskSettings={"memoryWriterIntervalMessages": 0})
    outcome = desk.turn()
    assert outcome.gate == "invalid-interval"
    assert "config.json" in outcome.summary


def test_a_sub_agents_workspace_is_left_out(desk: Desk) -> None:
    config = json.loads((desk.root / "config.json").read_bytes())
    config["projects"][0][1]["workspaces"][0]["parentWorkspaceId"] = "p"
    desk.config(**config)
    assert desk.turn().gate == "child-workspace"
    assert desk.state == {}


def test_a_workspace_of_several_projects_has_no_file_to_write(desk: Desk) -> None:
    outcome = desk.writer.on_turn_end(MULTI, desk.event())
    assert outcome.gate == "no-target"
    assert "several projects" in outcome.summary


def test_an_unknown_workspace_is_told(desk: Desk) -> None:
    assert desk.writer.on_turn_end("nobody", desk.event()).gate == "unknown-workspace"


def test_a_model_that_cannot_be_asked_is_told_and_the_run_is_over(desk: Desk) -> None:
    def refuse(*_given: Any) -> Scripted:
        raise StoreError("There is no key.")

    desk.writer = WriterService(replace(writer_dependencies(desk.parts), engine_for=refuse))
    desk.turn()
    assert desk.turn().gate == "model-unavailable"
    assert "lastRunCompletedAt" in desk.state


# The agent does this job itself


def test_reverie_stands_down_when_the_agent_advances_the_state(desk: Desk) -> None:
    desk.turn()
    for turns in (1, 0, 1):
        desk.state = {
            "schemaVersion": 1,
            "turnsSinceLastRun": turns,
            "lastRunStartedAt": 7,
            "lastRunCompletedAt": 8,
        }
        before = desk.state
        assert desk.turn().gate == "stood-down"
        assert desk.state == before
    assert ("writer.stood-down", 3) in desk.said
    assert desk.turn().ran, "the agent went away: turns go on from what it left"


@pytest.mark.parametrize("data", [b"{broken", b"[]", b"", b"\xff\xfe"])
def test_a_broken_state_is_nobodys_advance_and_counts_from_zero(desk: Desk, data: bytes) -> None:
    desk.turn()
    (desk.root / "sessions" / ACME / "system1-memory-writer-state.json").write_bytes(data)
    assert desk.turn().gate == "not-due"
    assert desk.state == {"schemaVersion": 1, "turnsSinceLastRun": 1}
    assert desk.turn().ran


def test_a_state_from_before_is_taken_over(desk: Desk) -> None:
    desk.state = {"schemaVersion": 1, "turnsSinceLastRun": 1}
    assert desk.turn().ran


def test_what_the_agent_writes_during_a_run_is_noticed_at_the_next_turn(desk: Desk) -> None:
    def act(task: WriterTask, draft: MemoryDraft) -> None:
        desk.state = {**desk.state, "turnsSinceLastRun": 1}
        nothing_new(task, draft)

    desk.engine.act = act
    desk.turn()
    assert desk.turn().ran
    assert desk.turn().gate == "stood-down"


# What is written


def test_a_write_is_a_run_that_can_be_shown_and_taken_back(desk: Desk) -> None:
    before = desk.memory
    desk.engine.act = adding("- Always pnpm.")
    desk.turn()
    outcome = desk.turn()
    assert (outcome.outcome, outcome.wrote) == ("completed", True)
    assert "- Always pnpm." in desk.memory
    record = desk.parts.runs.load(outcome.run_id)
    assert (record.kind, record.outcome, record.trigger, record.engine) == (
        "writer",
        "completed",
        "turn",
        "scripted:model",
    )
    assert [dict(op) for op in record.ops] == [{"command": "str_replace", "path": MEMORY, "applied": True}]
    history = desk.parts.snapshots.history
    newest = history.head()
    assert newest is not None
    assert MEMORY in history.files(newest, "companions")
    written = desk.parts.actors.actor_of(desk.root / MEMORY, sha256_of_text(desk.memory))
    assert written is not None
    assert (written.actor, written.run_id) == ("writer", outcome.run_id)
    assert desk.parts.reverter.revert(outcome.run_id).applied == (MEMORY,)
    assert desk.memory == before


def test_what_somebody_writes_meanwhile_survives(desk: Desk) -> None:
    def act(task: WriterTask, draft: MemoryDraft) -> None:
        adding("- ours")(task, draft)
        path = desk.root / MEMORY
        path.write_text("# By hand\n\n" + desk.memory, encoding="utf-8")

    desk.engine.act = act
    desk.turn()
    assert desk.turn().wrote
    assert desk.memory.startswith("# By hand\n")
    assert "- ours" in desk.memory


def test_a_write_that_no_longer_fits_leaves_the_file_alone(desk: Desk) -> None:
    def act(task: WriterTask, draft: MemoryDraft) -> None:
        adding("- ours")(task, draft)
        (desk.root / MEMORY).write_text("all new\n", encoding="utf-8")

    desk.engine.act = act
    desk.turn()
    outcome = desk.turn()
    assert (outcome.outcome, outcome.wrote) == ("failed", False)
    assert outcome.next_step == "The next run reads these messages again."
    assert desk.memory == "all new\n"
    assert desk.parts.runs.unsettled() == ()


def test_what_somebody_else_wrote_down_meanwhile_is_not_an_update(desk: Desk) -> None:
    def act(task: WriterTask, draft: MemoryDraft) -> None:
        draft.edit(lambda text: text if text.endswith("- same\n") else f"{text.rstrip()}\n- same\n")
        path = desk.root / MEMORY
        path.write_text(f"{desk.memory.rstrip()}\n- same\n", encoding="utf-8")

    desk.engine.act = act
    desk.turn()
    outcome = desk.turn()
    assert (outcome.outcome, outcome.wrote) == ("unchanged", False)
    assert outcome.summary == f"{MEMORY} already contains this."


def test_the_first_write_of_a_project_makes_its_file(desk: Desk) -> None:
    (desk.root / MEMORY).unlink()
    desk.engine.act = lambda _task, draft: draft.replace("", "# New\n")
    desk.turn()
    outcome = desk.turn()
    assert desk.memory == "# New\n"
    assert desk.parts.runs.load(outcome.run_id).ops[0]["command"] == "create"


def test_the_other_target_is_a_project_memory_that_counts_as_written(desk: Desk) -> None:
    desk.settings('enabled = true\ntarget = "project-memory"')
    desk.engine.act = lambda _task, draft: draft.replace("", "# New\n")
    before = desk.memory
    desk.turn()
    outcome = desk.turn()
    path = desk.root / "memory/project/acme-api-db553efff149/system-1.md"
    assert path.read_text() == "# New\n"
    assert desk.memory == before
    usage = desk.parts.usage.load()["project:/home/dev/projects/acme-api:system-1.md"]
    assert (usage.access_count, usage.last_write_at) == (0, desk.time.now)
    assert desk.parts.runs.load(outcome.run_id).ops[0]["path"] == "/memories/project/system-1.md"
    desk.parts.reverter.revert(outcome.run_id)
    assert not path.exists()


def test_a_dream_at_work_is_waited_for(desk: Desk) -> None:
    lease = desk.parts.leases.acquire(f"dream:{desk.parts.home_id}", purpose="test")
    waiting = threading.Timer(0.2, lease.release)

    def act(task: WriterTask, draft: MemoryDraft) -> None:
        adding("- later")(task, draft)
        waiting.start()

    desk.engine.act = act
    desk.turn()
    assert desk.turn().wrote
    waiting.join()


def test_switched_off_while_it_thinks_nothing_is_written(desk: Desk) -> None:
    def act(task: WriterTask, draft: MemoryDraft) -> None:
        adding("- never")(task, draft)
        desk.settings("enabled = false")

    desk.engine.act = act
    before = desk.memory
    desk.turn()
    outcome = desk.turn()
    assert (outcome.outcome, outcome.reason) == ("cancelled", "disabled")
    assert desk.memory == before
    assert "lastRunCompletedAt" in desk.state


def test_switched_off_while_it_waits_for_another_run_nothing_is_written(desk: Desk) -> None:
    def switch_off() -> None:
        desk.settings("enabled = false")
        lease.release()

    def act(task: WriterTask, draft: MemoryDraft) -> None:
        adding("- never")(task, draft)
        waiting.start()

    lease = desk.parts.leases.acquire(f"dream:{desk.parts.home_id}", purpose="test")
    waiting = threading.Timer(0.4, switch_off)
    desk.engine.act = act
    before = desk.memory
    desk.turn()
    outcome = desk.turn()
    waiting.join()
    assert (outcome.outcome, outcome.reason) == ("cancelled", "disabled")
    assert desk.memory == before


def test_what_was_written_before_the_time_ran_out_counts(desk: Desk) -> None:
    desk.engine.act = adding("- in time")
    desk.engine.end = EngineResult("time-limit")
    desk.turn()
    outcome = desk.turn()
    assert (outcome.outcome, outcome.timed_out, outcome.wrote) == ("completed", True, True)
    assert "- in time" in desk.memory


def test_what_was_said_is_read_from_the_last_run_on(desk: Desk) -> None:
    for said in ("one", "two", "three", "four"):
        desk.turn(said)
    assert desk.engine.tasks[-1].said == ("three", "four")
    assert "two" in desk.engine.tasks[-1].events.as_json()
    assert desk.engine.tasks[-1].instructions is not None
    assert desk.engine.tasks[-1].context_instructions is None


def test_what_was_said_before_a_run_that_failed_is_read_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "LEASE_WAIT_S", 0.05)
    desk.turn("one")
    desk.turn("two")
    desk.engine.act = adding("- later")
    with desk.parts.leases.acquire(f"dream:{desk.parts.home_id}", purpose="test"):
        desk.turn("three")
        assert desk.turn("four").outcome == "failed"
    desk.engine.act = nothing_new
    desk.engine.end = EngineResult("failed", StoreError("The service is down."))
    desk.turn("five")
    assert desk.turn("six").outcome == "failed"
    desk.engine.end = EngineResult("completed")
    desk.writer = desk.another(again(desk.parts))
    desk.turn("seven")
    assert desk.turn("eight").succeeded
    desk.turn("nine")
    assert desk.turn("ten").succeeded
    assert [task.said for task in desk.engine.tasks[1:]] == [
        ("three", "four"),
        ("three", "four", "five", "six"),
        ("three", "four", "five", "six", "seven", "eight"),
        ("nine", "ten"),
    ]


def test_a_run_that_never_had_a_model_leaves_what_was_said_to_the_next(desk: Desk) -> None:
    def refused(*_arguments: object) -> Scripted:
        raise StoreError("The model cannot be asked.")

    dependencies = replace(writer_dependencies(desk.parts), engine_for=refused)
    broken, works = WriterService(dependencies, desk.cancel), desk.writer
    desk.turn("one")
    assert desk.turn("two").succeeded
    desk.writer = broken
    desk.turn("three")
    assert desk.turn("four").gate == "model-unavailable"
    desk.writer = works
    desk.turn("five")
    assert desk.turn("six").succeeded
    assert desk.engine.tasks[-1].said == ("three", "four", "five", "six")


def test_what_the_agent_itself_read_after_a_run_that_failed_is_not_read_again(desk: Desk) -> None:
    desk.engine.end = EngineResult("failed", StoreError("The service is down."))
    desk.turn("one")
    assert desk.turn("two").outcome == "failed"
    desk.engine.end = EngineResult("completed")
    last = desk.event("three")
    desk.state = {**desk.state, "turnsSinceLastRun": 0, "lastRunMessageId": last.id}
    assert desk.writer.on_turn_end(ACME, last).gate == "stood-down"
    desk.turn("four")
    assert desk.turn("five").succeeded
    assert desk.engine.tasks[-1].said == ("four", "five")


# By hand


def test_by_hand_it_runs_though_it_is_off(desk: Desk) -> None:
    desk.settings("enabled = false")
    desk.engine.act = adding("- by hand")
    desk.chat.turn()
    desk.chat.turn()
    outcome = desk.writer.run_now(ACME)
    assert outcome.wrote
    assert desk.parts.runs.load(outcome.run_id).trigger == "manual"
    assert desk.writer.run_now(ACME).gate == "not-due"
    assert desk.writer.run_now(ACME, force=True).ran
    desk.settings("enabled = true")
    assert desk.turn().gate == "not-due", "what was counted by hand is not counted again"


def test_by_hand_nothing_comes_of_an_empty_transcript(desk: Desk) -> None:
    desk.chat.path.unlink()
    assert desk.writer.run_now(ACME, force=True).gate == "not-due"


def test_by_hand_a_run_at_work_is_not_doubled(desk: Desk) -> None:
    inside: list[str | None] = []
    desk.engine.act = lambda task, draft: (
        inside.append(desk.another(again(desk.parts)).run_now(ACME, force=True).gate),
        nothing_new(task, draft),
    )[1]
    desk.turn()
    desk.turn()
    assert inside == ["in-flight"]


# Saying so


def test_outcomes_are_told_in_the_log_and_in_activity(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    desk.engine.act = adding("- told")
    with caplog.at_level(logging.DEBUG, logger="reverie.writer"):
        desk.turn()
        desk.turn()
    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert all(line.startswith("[system1][memory] ") for _level, line in lines)
    assert lines[0] == (
        "DEBUG",
        "[system1][memory] skipped (not-due): Not due: 1 of 2 turns. "
        f"workspaceId={ACME} triggerMessageId=assistant-2 timedOut=false model=-",
    )
    level, written = lines[-1]
    assert level == "INFO"
    assert "triggerMessageId=assistant-4 timedOut=false model=scripted:model" in written
    assert [event for event, _times in desk.said] == [
        "writer.completed",
        "writer.started",
        "writer.not-due",
    ]


def test_each_attempt_and_its_tool_calls_are_told_in_the_log_and_in_activity(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    failed = {"toolName": "memory_write", "output": {"success": False}}
    worked = {"toolName": "memory_write", "output": {"success": True}}
    attempts = [
        {"attemptIndex": 1, "wrote": False, "toolExecutions": [failed, failed]},
        {"attemptIndex": 2, "wrote": True, "toolExecutions": [worked]},
    ]
    desk.engine.act = adding("- told")
    desk.engine.end = EngineResult(
        "completed", attempts=2, account=Account(trace={**TRACE, "attempts": attempts})
    )
    desk.turn()
    with caplog.at_level(logging.DEBUG, logger="reverie.writer"):
        desk.turn()
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[1] for line in lines] == [
        "started:",
        "attempt:",
        "tool",
        "tool",
        "attempt:",
        "tool",
        "completed:",
    ]
    told = [(entry.event, entry.text) for entry in reversed(desk.parts.activity.read())]
    assert told[2:-1] == [
        ("writer.attempt", "Attempt 1: 2 tools were called, and nothing was recorded."),
        ("writer.tool-call", "Attempt 1: memory_write failed, 2 times."),
        ("writer.attempt", "Attempt 2: the memory was changed."),
        ("writer.tool-call", "Attempt 2: memory_write succeeded."),
    ]


@pytest.mark.parametrize(
    ("end", "declined", "event"),
    [
        (EngineResult("time-limit"), False, "writer.timed-out"),
        (EngineResult("completed", attempts=2), False, "writer.exited-without-updating"),
        (EngineResult("failed", error=StoreError("No answer.")), False, "writer.failed"),
        (EngineResult("completed"), True, "writer.unchanged"),
    ],
)
def test_each_ending_has_its_name(desk: Desk, end: EngineResult, declined: bool, event: str) -> None:
    desk.engine.end = end
    desk.engine.act = lambda _task, draft: setattr(draft, "declined", declined)
    desk.turn()
    outcome = desk.turn()
    assert desk.said[0][0] == event
    assert outcome.succeeded is declined
    assert desk.parts.runs.load(outcome.run_id).outcome == outcome.outcome
    assert desk.parts.runs.unsettled() == ()


TRACE = {
    "schemaVersion": 1,
    "triggerMessageId": "m",
    "attempts": [
        {"attemptIndex": 1, "toolExecutions": [{"toolName": "memory_write", "output": {"success": False}}]}
    ],
    "reverie": {},
}


@pytest.mark.parametrize(
    ("setting", "debug", "failed", "dumped"),
    [
        ("failures", False, True, True),
        ("failures", False, False, False),
        ("never", False, True, False),
        ("never", True, True, True),
        ("always", False, False, True),
    ],
)
def test_dumps_follow_the_setting(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, setting: str, debug: bool, failed: bool, dumped: bool
) -> None:
    monkeypatch.setenv("REVERIE_DEBUG", "1" if debug else "")
    desk.settings(f'enabled = true\ntraces = "{setting}"')
    desk.engine.end = EngineResult("completed", account=Account(trace=TRACE))
    desk.engine.act = lambda _task, draft: setattr(draft, "declined", not failed)
    desk.turn()
    outcome = desk.turn()
    assert (outcome.dump is not None) is dumped
    assert len(desk.dumps) == int(dumped)
    assert desk.parts.traces.load(outcome.run_id)["didWriteMemory"] is False, (
        "the data directory has it always"
    )
    if dumped:
        assert desk.dumps[0]["memoryPath"] == str(desk.root / MEMORY)
        assert desk.dumps[0]["runStartedAt"] == desk.time.now


def test_looking_at_a_writer_changes_nothing(desk: Desk) -> None:
    from helpers.samples import snapshot

    before = snapshot(desk.root)
    assert desk.writer.gate(ACME) is None
    assert desk.counter.file.read().sha256 is None
    assert not desk.counter.in_flight()
    assert not desk.counter.advanced_by_others()
    assert snapshot(desk.root) == before


def test_a_kept_tail_goes_on_where_it_stood(desk: Desk) -> None:
    tail = desk.writer.open_tail(ACME)
    assert tail is not None
    desk.chat.turn()
    assert len(tail.poll()) == 2
    desk.writer.keep_tail(ACME, tail)
    desk.chat.turn()
    later = desk.another(again(desk.parts)).open_tail(ACME)
    assert later is not None
    assert later.position != TailPosition()
    assert [event.id for event in later.poll()] == ["user-3", "assistant-4"]
