"""Session notes of a real home: gates, effects, what is kept and said. The thinking is scripted."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.benches import Time
from helpers.claude_transcripts import SESSION, Chat, jsonl
from helpers.notes_home import notes_file, notes_parts, parts_of, session_path, settle
from reverie.errors import StoreError
from reverie.jobs.single_file.notes import NotesDraft, NotesTask, RulesNotes
from reverie.jobs.single_file.notes_sections import default_template
from reverie.jobs.single_file.notes_service import NotesService
from reverie.jobs.single_file.service import lease_name
from reverie.jobs.single_file.writer import corrections
from reverie.llm.client import EngineResult
from reverie.services.background import open_notes
from reverie.services.container import HomeContainer
from reverie.values import replace

Act = Callable[[NotesTask, NotesDraft], None]
TEMPLATE = default_template()


def adding(
    line: str, after: str = "# Worklog\n_What was tried and done, step by step, one short line each_\n"
) -> Act:
    def act(_task: NotesTask, draft: NotesDraft) -> None:
        draft.replace(after, f"{after}{line}\n")

    return act


def editing(old: str, new: str, path: str = "") -> Act:
    """One call of the tool, as a model makes it."""

    def act(task: NotesTask, draft: NotesDraft) -> None:
        (tool,) = draft.tools()
        tool.call({"file_path": path or task.path, "old_string": old, "new_string": new})

    return act


class Scripted:
    name = "scripted:model"

    def __init__(self) -> None:
        self.act: Act = adding("- first")
        self.tasks: list[NotesTask] = []
        self.end = EngineResult("completed")

    async def edit(self, task: NotesTask, draft: NotesDraft, cancelled: Callable[[], bool]) -> EngineResult:
        self.tasks.append(task)
        try:
            self.act(task, draft)
        except StoreError as error:
            return EngineResult("failed", error)
        return EngineResult("cancelled") if cancelled() else self.end


class Desk:
    def __init__(self, tmp_path: Path) -> None:
        self.tmp_path, self.time, self.chat = tmp_path, Time(), Chat()
        self.parts = notes_parts(tmp_path, self.time, self.chat)
        self.root = self.parts.home.root
        self.engine, self.cancel = Scripted(), threading.Event()
        settle(self.parts, "enabled = true")
        self.notes = self.another()
        self.file = notes_file(self.root)

    def another(self, parts: HomeContainer | None = None) -> NotesService:
        """A service as another process would have it."""
        made = open_notes(parts or parts_of(self.root, self.tmp_path, self.time))
        dependencies = replace(made._parts, engine_for=lambda _context: self.engine)
        return NotesService(dependencies, self.cancel)

    def turn(self, tokens: int, *, tools: int = 0, said: str = "Go on") -> None:
        """The transcript grows."""
        before = len(self.chat.lines)
        self.chat.turn(said, "Done.", tokens=tokens, tools=tools)
        with session_path(self.root).open("a", encoding="utf-8") as file:
            file.write(jsonl(self.chat.lines[before:]) + "\n")

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")

    @property
    def said(self) -> list[tuple[str, int]]:
        return [(entry.event, entry.times) for entry in self.parts.activity.read()]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    old = os.umask(0o022)
    try:
        yield Desk(tmp_path)
    finally:
        os.umask(old)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_nothing_runs_before_it_is_switched_on_and_a_closed_gate_is_said_once(desk: Desk) -> None:
    settle(desk.parts, "enabled = false")
    desk.turn(20_000)
    assert {desk.notes.on_change(SESSION).gate for _ in range(3)} == {"disabled"}
    assert desk.said == [("notes.disabled", 1)]
    assert desk.parts.activity.read()[0].workspace_id is None
    assert not desk.file.parent.exists()
    assert desk.engine.tasks == []


def test_thresholds_decide_and_the_file_is_made_from_the_template_for_its_owner_only(desk: Desk) -> None:
    desk.turn(9_000)
    assert desk.notes.on_change(SESSION).gate == "too-small"
    assert not desk.file.parent.exists()
    desk.turn(12_000)
    outcome = desk.notes.on_change(SESSION)
    assert (outcome.outcome, outcome.path) == ("completed", desk.file)
    assert desk.text == TEMPLATE.rstrip("\n") + "\n- first\n"
    assert (mode(desk.file), mode(desk.file.parent), mode(desk.file.parent.parent)) == (0o600, 0o700, 0o700)
    assert desk.notes.on_change(SESSION).gate == "not-grown"
    # Another process goes on where this one was.
    other = desk.another()
    assert other.on_change(SESSION).gate == "not-grown"
    desk.turn(17_000)
    desk.engine.act = adding("- second")
    assert other.on_change(SESSION).outcome == "completed"
    assert desk.text.index("- second") < desk.text.index("- first")
    assert [event for event, _times in desk.said][:2] == ["notes.completed", "notes.not-grown"]


def test_an_update_that_ends_late_does_not_set_back_what_another_one_noted(desk: Desk) -> None:
    book = desk.notes._parts.book

    def overtaken(task: NotesTask, draft: NotesDraft) -> None:
        adding("- late")(task, draft)
        book.change(SESSION, lambda state: replace(state, run_id="the-other", written="newer"))

    desk.turn(12_000)
    desk.engine.act = overtaken
    assert desk.notes.on_change(SESSION).outcome == "completed"
    assert (book.of(SESSION).run_id, book.of(SESSION).written) == ("the-other", "newer")


def test_the_numbers_of_a_run_are_in_its_record_and_it_can_be_reverted(desk: Desk) -> None:
    desk.turn(12_000, tools=2)
    outcome = desk.notes.on_change(SESSION)
    record = desk.parts.runs.load(outcome.run_id)
    assert (record.kind, record.trigger, record.outcome) == ("notes", "thresholds", "completed")
    assert record.details["contextTokens"] == 12_000
    assert record.details["thresholds"]["minimumTokensBetweenUpdate"] == 5_000
    assert record.ops[0]["path"] == "/memories/workspace/summary.md"
    entry = desk.parts.activity.read()[0]
    assert entry.details["toolCalls"] == 2
    desk.parts.reverter.revert(outcome.run_id)
    assert not desk.file.exists()


def test_a_manual_update_knows_no_thresholds_and_moves_no_counting_point(desk: Desk) -> None:
    settle(desk.parts, "enabled = false")
    assert desk.notes.update_now(SESSION).as_json() == {
        "success": False,
        "error": "No messages to summarize.",
    }
    desk.turn(500, tools=2)
    outcome = desk.notes.update_now(SESSION)
    assert outcome.as_json() == {"success": True, "memoryPath": str(desk.file)}
    state = desk.notes._parts.book.of(SESSION)
    assert (state.begun, state.counting_from, state.tokens) == (False, None, 500)
    assert state.summarised == desk.chat.last
    # Nothing was said since: a model need not be asked, unless a person insists.
    assert desk.notes.update_now(SESSION).gate == "nothing-new"
    assert desk.notes.update_now(SESSION).succeeded
    assert len(desk.engine.tasks) == 1
    assert desk.notes.update_now(SESSION, force=True).ran
    assert desk.notes.update_now("00000000-0000-4000-8000-000000000000").gate == "unknown-session"


def test_an_existing_file_is_never_made_from_the_template_again_and_keeps_its_mode(desk: Desk) -> None:
    desk.turn(12_000)
    desk.file.parent.mkdir(parents=True)
    own = "# Mine\r\n_what_\r\nbody\r\n"
    desk.file.write_bytes(own.encode())
    desk.file.chmod(0o640)
    desk.engine.act = editing("body\n", "body\nmore\n")
    assert desk.notes.update_now(SESSION).outcome == "completed"
    assert desk.file.read_bytes() == b"# Mine\r\n_what_\r\nbody\r\nmore\r\n"
    assert mode(desk.file) == 0o640
    desk.file.write_bytes(b"")
    empty = desk.notes.update_now(SESSION, force=True)
    assert (empty.outcome, empty.reason) == ("failed", "empty-notes")
    assert desk.file.read_bytes() == b""
    desk.file.write_bytes(b"# A\n\xff\n")
    assert desk.notes.update_now(SESSION, force=True).reason == "not-text"


def test_a_persons_own_template_and_prompt_count(desk: Desk) -> None:
    own = desk.root / "session-memory" / "config"
    own.mkdir(parents=True)
    (own / "template.md").write_text("# Only\n_one_\n", encoding="utf-8")
    (own / "prompt.md").write_text("Note {{notesPath}} {{unknown}}", encoding="utf-8")
    desk.turn(500)
    desk.engine.act = editing("_one_\n", "_one_\ntext\n")
    assert desk.notes.update_now(SESSION).succeeded
    assert desk.text == "# Only\n_one_\ntext\n"
    assert desk.engine.tasks[0].prompt == "Note {{notesPath}} {{unknown}}"


@pytest.mark.parametrize(
    ("act", "reason"),
    [
        (editing("# Learnings\n", ""), "structure"),
        (editing("# Learnings\n", "# Lessons\n"), "structure"),
        (editing("_What worked", "_Worked"), "structure"),
        (editing("# Learnings\n", "# Learnings\n# Learnings\n"), "structure"),
        (editing("# Worklog\n", "# Worklog\n", path="/etc/passwd"), "other-file"),
        (editing("# Worklog\n", "# Worklog\n", path="summary.md"), "other-file"),
        (editing("each_\n", "each_\n" + "x" * 1_000_000), "notes-edit"),
        (editing("each_\n", "each_\nkey: sk-ant-api03-" + "a1B2" * 20 + "\n"), "notes-edit"),
        (editing("_", "*"), "notes-edit"),
        (editing("", "x"), "notes-edit"),
        (editing("not there", "x"), "notes-edit"),
    ],
)
def test_an_update_that_breaks_the_rules_changes_nothing(desk: Desk, act: Act, reason: str) -> None:
    desk.turn(500)
    desk.file.parent.mkdir(parents=True)
    desk.file.write_text(TEMPLATE, encoding="utf-8")
    desk.engine.act = act
    outcome = desk.notes.update_now(SESSION)
    assert (outcome.outcome, outcome.reason) == ("failed", reason)
    assert outcome.as_json()["success"] is False
    assert desk.text == TEMPLATE
    assert sorted(path.name for path in desk.file.parent.iterdir()) == ["summary.md"]


def test_what_somebody_writes_meanwhile_stays_and_the_edit_is_made_on_top_of_it(desk: Desk) -> None:
    desk.turn(500)
    desk.file.parent.mkdir(parents=True)
    desk.file.write_text(TEMPLATE, encoding="utf-8")

    def act(task: NotesTask, draft: NotesDraft) -> None:
        adding("- ours")(task, draft)
        theirs = TEMPLATE.replace("read_\n", "read_\n- theirs\n")
        desk.file.write_text(theirs, encoding="utf-8")

    desk.engine.act = act
    assert desk.notes.update_now(SESSION).outcome == "completed"
    assert "- theirs" in desk.text
    assert "- ours" in desk.text

    def act_again(task: NotesTask, draft: NotesDraft) -> None:
        editing("- ours\n", "- ours, more\n")(task, draft)
        desk.file.write_text(TEMPLATE, encoding="utf-8")

    desk.engine.act = act_again
    assert desk.notes.update_now(SESSION, force=True).outcome == "failed"
    assert desk.text == TEMPLATE


def test_when_somebody_else_keeps_the_notes_one_update_is_left_out(desk: Desk) -> None:
    desk.turn(12_000)
    assert desk.notes.on_change(SESSION).outcome == "completed"
    desk.file.write_text(desk.text + "- by the agent\n", encoding="utf-8")
    desk.turn(20_000)
    assert desk.notes.on_change(SESSION).gate == "stood-down"
    desk.turn(30_000)
    desk.engine.act = editing("- by the agent\n", "- by the agent\n- by us\n")
    assert desk.notes.on_change(SESSION).outcome == "completed"


def test_what_a_person_changed_in_reverie_is_nobody_elses_keeping(desk: Desk) -> None:
    desk.turn(12_000)
    first = desk.notes.on_change(SESSION)
    desk.parts.reverter.revert(first.run_id)
    desk.turn(20_000)
    again = desk.notes.on_change(SESSION)
    assert again.outcome == "completed"
    store = desk.parts.store(desk.parts.home.context(workspace_id=SESSION), actor="user")
    path = "/memories/workspace/summary.md"
    content = store.read_text(path, as_use=False)
    store.save(path, content.content + "- by hand\n", content.sha256)
    desk.turn(30_000)
    desk.engine.act = editing("- by hand\n", "- by hand\n- by us\n")
    assert desk.notes.on_change(SESSION).outcome == "completed"


def test_one_update_at_a_time_and_a_run_that_fails_is_tried_at_the_next_break(desk: Desk) -> None:
    desk.turn(12_000)
    with desk.parts.leases.acquire(lease_name("notes", "home-1", SESSION), purpose="test"):
        assert desk.notes.on_change(SESSION).gate == "in-flight"
    desk.engine.act = editing("# Learnings\n", "")
    assert desk.notes.on_change(SESSION).outcome == "failed"
    desk.engine.act = adding("- now")
    assert desk.notes.on_change(SESSION).outcome == "completed"


def test_a_cancel_or_a_switch_turned_off_meanwhile_changes_nothing(desk: Desk) -> None:
    desk.turn(12_000)

    def switching_off(task: NotesTask, draft: NotesDraft) -> None:
        adding("- late")(task, draft)
        settle(desk.parts, "enabled = false")

    desk.engine.act = switching_off
    outcome = desk.notes.on_change(SESSION)
    assert (outcome.outcome, outcome.reason) == ("cancelled", "disabled")
    desk.engine.act = lambda _task, _draft: desk.cancel.set()
    assert desk.notes.update_now(SESSION).outcome == "cancelled"
    assert not desk.file.exists()


def test_notes_switched_off_while_they_wait_for_another_run_are_not_written(desk: Desk) -> None:
    desk.turn(12_000)
    lease = desk.parts.leases.acquire(f"dream:{desk.parts.home_id}", purpose="test")

    def switch_off() -> None:
        settle(desk.parts, "enabled = false")
        lease.release()

    waiting = threading.Timer(0.4, switch_off)

    def act(task: NotesTask, draft: NotesDraft) -> None:
        adding("- late")(task, draft)
        waiting.start()

    desk.engine.act = act
    outcome = desk.notes.on_change(SESSION)
    waiting.join()
    assert (outcome.outcome, outcome.reason) == ("cancelled", "disabled")
    assert not desk.file.exists()


def test_there_are_no_notes_by_itself_where_the_agent_never_compacts(desk: Desk) -> None:
    desk.turn(20_000)
    settings = desk.root / "settings.json"
    for data, gate in (
        ({"autoCompactEnabled": False}, "no-compaction"),
        ({"env": {"DISABLE_AUTO_COMPACT": "1"}}, "no-compaction"),
        ({"env": {"CLAUDE_CODE_REMOTE": "true"}}, "remote"),
    ):
        settings.write_text(json.dumps(data))
        assert desk.notes.on_change(SESSION).gate == gate
        assert desk.notes.standing(SESSION).gate == gate
    assert desk.engine.tasks == []
    # A person may want them all the same.
    assert desk.notes.update_now(SESSION).outcome == "completed"
    settings.write_text(json.dumps({"autoCompactEnabled": True, "env": {"DISABLE_COMPACT": "0"}}))
    desk.turn(40_000)
    assert desk.notes.on_change(SESSION).outcome == "completed"


def test_an_idle_session_is_left_alone(desk: Desk) -> None:
    desk.turn(12_000)
    path = session_path(desk.root)
    old = path.stat().st_mtime - 7_200
    os.utime(path, (old, old))
    assert desk.notes.on_change(SESSION).gate == "idle"


def test_the_standing_says_what_is_missing_until_the_next_update(desk: Desk) -> None:
    desk.turn(8_000)
    before = desk.notes.standing(SESSION)
    assert (before.exists, before.gate, before.path) == (False, "too-small", desk.file)
    assert before.sentence == "Notes start when the session contains 10,000 tokens."
    assert not desk.file.parent.exists()
    desk.turn(12_000)
    assert desk.notes.standing(SESSION).gate is None
    desk.engine.act = editing("# Learnings\n", "# Learnings\n")
    desk.notes.on_change(SESSION)
    desk.file.parent.mkdir(parents=True, exist_ok=True)
    desk.file.write_text(f"{TEMPLATE}\n", encoding="utf-8")
    assert desk.notes.standing(SESSION).is_template, "nothing was noted in it"
    desk.file.write_text(TEMPLATE.replace("# Workflow", "# Flow"), encoding="utf-8")
    after = desk.notes.standing(SESSION)
    assert not after.is_template
    assert [(problem.kind, problem.section) for problem in after.problems] == [("missing", "# Workflow")]
    assert (after.gate, after.noted_tokens, after.running) == ("not-grown", 12_000, False)
    assert desk.notes.standing("0" * 8).gate == "unknown-session"


def test_the_rules_know_their_lines_by_the_last_run_and_leave_a_persons_of_the_same_form(desk: Desk) -> None:
    rules = replace(
        open_notes(desk.parts)._parts, engine_for=lambda _context: RulesNotes(corrections, desk.time)
    )
    desk.turn(12_000, said="Fix the till")
    assert NotesService(rules, desk.cancel).update_now(SESSION).outcome == "completed"
    assert desk.text.count("- Asked last: ") == 1
    desk.file.write_text(desk.text.replace("- Asked last", "- Open: call Ann\n- Asked last"))
    for wish in ("Ship it", "Rest"):
        desk.turn(20_000, said=wish)
        assert NotesService(rules, desk.cancel).update_now(SESSION).outcome == "completed"
        assert "- Open: call Ann\n" in desk.text
        assert desk.text.count("- Asked last: ") == desk.text.count(f"- Asked last: {wish}") == 1


def test_a_state_file_with_anything_in_it_is_read(desk: Desk) -> None:
    path = desk.parts.own_sidecars / "session-notes.json"
    path.write_text(json.dumps({"sessions": {SESSION: {"tokens": "x", "begun": 1, "countingFrom": []}}}))
    desk.turn(12_000)
    assert desk.notes.on_change(SESSION).outcome == "completed"
