"""The memory writer end to end: a model over real sockets, real processes, kills; `reverie write`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.chats import Chat
from helpers.isolation import TEST_PROFILE
from helpers.model_runs import MODEL, Wire, everything_below, serving, settle_on, turn, write_settings
from helpers.model_server import Call, ModelServer, Reply
from helpers.samples import copy_sample
from reverie.agents.mux.tail import TranscriptTail
from reverie.cli import main
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.jobs.single_file.writer_service import WriterOutcome, WriterService
from reverie.profile import Profile
from reverie.services.background import open_writer
from reverie.services.workbench import Workbench

ACME = "a1f3c9e2b7"
MEMORY = "memories/acme-api-1d659342.md"
KEY = "tk-0123456789-abcdefghij-KEY"
SECRET = "sk-proj-" + "9f8E7d6C5b4A3" * 3
TESTS = Path(__file__).parent.parent
Run = Callable[..., tuple[int, str, str]]

READ = Call("memory_read")
DECLINE = Call("no_new_memories")


def wrote(line: str) -> Call:
    return Call(
        "memory_write",
        {
            "old_string": "- Staging deploys from main.",
            "new_string": f"- Staging deploys from main.\n- {line}",
        },
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return copy_sample("mux-home", tmp_path)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


@pytest.fixture
def chat(home: Path) -> Chat:
    return Chat(home / "sessions" / ACME)


@pytest.fixture
def run(home: Path, profile: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """One command on the sample home; its exit code, what it printed, what it complained of."""

    def invoke(*words: str) -> tuple[int, str, str]:
        code = main(["--profile", str(profile), "--home", str(home), *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def writer_of(home: Path, profile: Path) -> WriterService:
    return open_writer(open_parts(home, Profile.under(profile), system_clock))


def take_turns(
    home: Path, profile: Path, chat: Chat, count: int, said: str = "Go on."
) -> list[WriterOutcome]:
    """So many turns, each handed to the writer as the host does."""
    writer, tail = writer_of(home, profile), TranscriptTail(chat.path.parent)
    told = []
    for _ in range(count):
        chat.turn(said)
        told += [writer.on_turn_end(ACME, event) for event in tail.poll() if event.event == "turn-end"]
    return told


def dumps(home: Path) -> list[dict[str, Any]]:
    place = home / "debug_obj" / ACME / "system1_memory_writer"
    found = [json.loads(path.read_bytes()) for path in sorted(place.iterdir())]
    return [dump for dump in found if "reverie" in dump]


def with_model(server: ModelServer, profile: Path, wire: Wire = "openai", more: str = "") -> None:
    settle_on(server, profile, wire, f'\n[system1]\nenabled = true\nmodel = "{MODEL}"\n{more}')


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_updates_the_file_after_every_second_turn(
    home: Path, profile: Path, chat: Chat, wire: Wire
) -> None:
    replies = [turn(wrote("Always pnpm.")), Reply(text="done"), turn(DECLINE), Reply(text="done")]
    with serving(replies) as server:
        with_model(server, profile, wire)
        told = take_turns(home, profile, chat, 4, "We use pnpm.")
        assert [(outcome.gate, outcome.outcome) for outcome in told] == [
            ("not-due", "skipped"),
            (None, "completed"),
            ("not-due", "skipped"),
            (None, "unchanged"),
        ]
        request = server.requests[0]
        assert sorted(request.tool_names) == ["memory_read", "memory_write", "no_new_memories"]
        (question,) = request.user_texts
        assert "projectId: acme-api-1d659342" in question
        assert "Postgres 16 in production" in question
        assert "We use pnpm." in question
        assert request.body["max_tokens"] == 3000
    assert "- Always pnpm." in (home / MEMORY).read_text()
    assert dumps(home) == [], "a run that reached its goal leaves none"


def test_a_second_attempt_comes_after_a_reminder(home: Path, profile: Path, chat: Chat) -> None:
    with serving([Reply(text="I shall remember."), turn(wrote("Second.")), Reply(text="done")]) as server:
        with_model(server, profile)
        assert take_turns(home, profile, chat, 2)[-1].wrote
        assert "Nothing was recorded" in server.requests[1].user_texts[-1]


@pytest.mark.parametrize("before", ["\n", "\t", "\r\n"])
def test_a_secret_at_the_start_of_a_line_said_by_a_person_goes_nowhere(
    home: Path, profile: Path, chat: Chat, before: str
) -> None:
    said = f"Use this one:{before}{SECRET}{before}thanks"
    with serving([Reply(text="Noted."), Reply(text=f"I shall keep{before}{SECRET}.")]) as server:
        with_model(server, profile, more='traces = "always"\n')
        assert take_turns(home, profile, chat, 2, said)[-1].reason == "no-write"
        assert "Use this one" in server.sent
        assert SECRET not in server.sent
    assert len(dumps(home)) == 1
    kept = dict(everything_below(profile, home / "debug_obj" / ACME))
    assert any(b"Use this one" in data for data in kept.values())
    assert [path for path, data in kept.items() if SECRET.encode() in data] == []


def test_prose_twice_ends_without_a_write_and_leaves_a_dump(home: Path, profile: Path, chat: Chat) -> None:
    with serving([Reply(text="Noted."), Reply(text="Noted again.")]) as server:
        with_model(server, profile)
        outcome = take_turns(home, profile, chat, 2)[-1]
    assert (outcome.outcome, outcome.reason) == ("failed", "no-write")
    (dump,) = dumps(home)
    assert len(dump["attempts"]) == 2
    assert [attempt["wrote"] for attempt in dump["attempts"]] == [False, False]
    assert (dump["didWriteMemory"], dump["satisfiedMemoryToolPolicy"], dump["timedOut"]) == (False,) * 3
    assert dump["triggerMessageId"] == outcome.message_id
    assert dump["modelString"] == MODEL
    assert dump["timeoutMs"] == 10_000
    assert dump["eventsSummary"]["maxJsonChars"] == 80_000
    assert dump["events"][-1]["role"] == "assistant"
    assert dump["existingMemory"].startswith("# acme-api memory")
    assert dump["globalAgentsMd"]
    assert dump["projectPath"] == "/home/dev/projects/acme-api"
    name = f"{dump['runStartedAt']}_{outcome.message_id}.json"
    assert outcome.dump is not None
    assert outcome.dump.name == name


def test_a_failed_write_and_a_no_op_are_tried_again(home: Path, profile: Path, chat: Chat) -> None:
    wrong = Call("memory_write", {"old_string": "not there", "new_string": "x"})
    replies = [turn(wrong), turn(DECLINE), Reply(text="done"), turn(wrote("Good.")), Reply(text="done")]
    with serving(replies) as server:
        with_model(server, profile)
        assert take_turns(home, profile, chat, 2)[-1].wrote
        assert "not in the memory file" in server.requests[1].tool_results[0]
        assert "does not count" in server.requests[2].tool_results[1]
        assert "Nothing was recorded" in server.requests[3].user_texts[-1]


def test_a_model_that_only_makes_failing_calls_is_reminded(home: Path, profile: Path, chat: Chat) -> None:
    after = iter([turn(wrote("Good.")), Reply(text="done")])
    with serving([]) as server:

        def answer(request: Any) -> Reply:
            reminded = len(request.user_texts) > 1
            return next(after) if reminded else turn(Call("memory_write", "{"))

        server.answer = answer
        with_model(server, profile)
        assert take_turns(home, profile, chat, 2)[-1].wrote


def test_a_file_that_changed_meanwhile_is_read_again_by_the_model(
    home: Path, profile: Path, chat: Chat
) -> None:
    path = home / MEMORY

    def answer(request: Any) -> Reply:
        results = request.tool_results
        if not results:
            path.write_text("# Rewritten\n\n- One.\n")
            return turn(wrote("Lost."))
        if len(results) == 1:
            return turn(READ)
        if len(results) == 2:
            assert results[1] == "# Rewritten\n\n- One.\n"
            return turn(Call("memory_write", {"old_string": "- One.", "new_string": "- One.\n- Two."}))
        return Reply(text="done")

    with serving([]) as server:
        server.answer = answer
        with_model(server, profile)
        assert take_turns(home, profile, chat, 2)[-1].wrote
    assert path.read_text() == "# Rewritten\n\n- One.\n- Two.\n"


def test_a_model_that_hangs_ends_at_the_limit(home: Path, profile: Path, chat: Chat) -> None:
    with serving([Reply(fault="hang")]) as server:
        with_model(server, profile, more="time_limit_s = 1\n")
        outcome = take_turns(home, profile, chat, 2)[-1]
    assert (outcome.timed_out, outcome.outcome, outcome.reason) == (True, "failed", "timeout")
    (dump,) = dumps(home)
    assert dump["timedOut"] is True
    assert dump["attempts"][-1]["error"] == "AbortError (timeout)"


def test_a_service_that_refuses_is_told(home: Path, profile: Path, chat: Chat) -> None:
    with serving([Reply(status=401, error="bad key")]) as server:
        with_model(server, profile)
        outcome = take_turns(home, profile, chat, 2)[-1]
    assert (outcome.outcome, outcome.reason) == ("failed", "provider-key")
    assert dumps(home)[0]["attempts"][0]["error"]


def test_no_key_and_no_secret_gets_anywhere(
    home: Path, profile: Path, chat: Chat, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_DEBUG", "1")
    (home / MEMORY).write_text(f"# M\n\n- Staging deploys from main.\n- old key: {SECRET}\n")
    chat.turn(f"The token is {SECRET}1, keep it. api_key={SECRET}2")
    chat.turn(f"Bearer {SECRET}3")

    def answer(request: Any) -> Reply:
        if len(request.tool_results) == 0:
            token = re.findall(r"\{\{REVERIE_SECRET_\d+\}\}", request.user_texts[0])[-1]
            return turn(wrote(f"The key is {token}"))
        if len(request.tool_results) == 1:
            return turn(wrote("A harmless line."))
        return Reply(text=f"done {KEY}")

    with serving([]) as server:
        server.answer = answer
        with_model(server, profile, more='traces = "always"\n')
        code, out, err = run("write", "--workspace", ACME, "--force")
        assert SECRET not in server.sent
        assert "no secrets" in server.requests[1].tool_results[0]
    assert code == 0
    assert "[system1][memory] completed" in err
    text = (home / MEMORY).read_text()
    assert "- A harmless line." in text
    assert text.count(SECRET) == 1, "what the file held stays, and nothing is added"
    places = [
        home / "debug_obj",
        profile / "data" / "traces",
        profile / "data" / "activity",
        profile / "state",
    ]
    for path, data in everything_below(*places):
        assert SECRET.encode() not in data, path
        assert KEY.encode() not in data, path
    for printed in (out, err):
        assert SECRET not in printed
        assert KEY not in printed
    assert dumps(home), "always"


def test_a_remote_model_is_not_asked_before_somebody_agreed(home: Path, profile: Path, chat: Chat) -> None:
    write_settings(
        profile,
        '[providers.far]\nbase_url = "https://models.invalid/v1"\nkey_env = "TEST_KEY"\n'
        '[system1]\nenabled = true\nmodel = "far:big"\n',
    )
    outcome = take_turns(home, profile, chat, 2)[-1]
    assert outcome.gate == "model-unavailable"
    assert "Nothing was sent" in outcome.summary


def test_without_a_model_the_rules_write_what_was_said_outright(
    home: Path, profile: Path, chat: Chat
) -> None:
    write_settings(profile, "[system1]\nenabled = true\n")
    told = take_turns(home, profile, chat, 2, "Always run pnpm lint before pushing. What about it?")
    assert (told[-1].model, told[-1].wrote) == ("rules", True)
    assert (home / MEMORY).read_text().endswith("\n- Always run pnpm lint before pushing.\n")
    told = take_turns(home, profile, chat, 2, "Always run pnpm lint before pushing!")
    assert told[-1].outcome == "unchanged"


def test_reverie_write_by_hand(run: Run, home: Path, chat: Chat) -> None:
    chat.turn("We use pnpm everywhere.")
    chat.turn()
    code, out, _err = run("write", "--workspace", ACME, "--json")
    said = json.loads(out)
    assert (code, said["outcome"], said["wrote"], said["model"]) == (0, "completed", True, "rules")
    assert said["triggerMessageId"] == "assistant-4"
    code, _out, err = run("write", "--workspace", ACME)
    assert code == 1
    assert "Not due: 0 of 2 turns." in err
    code, out, _err = run("write", "--workspace", ACME, "--force")
    assert (code, "There is nothing new to remember." in out) == (0, True)
    _code, out, _err = run("runs", "--json")
    assert {item["kind"] for item in json.loads(out)} == {"writer"}
    code, out, _err = run("diff", said["runId"])
    assert "+- We use pnpm everywhere." in out
    code, _out, _err = run("revert", said["runId"])
    assert (code, "pnpm" in (home / MEMORY).read_text()) == (0, False)


def test_the_log_says_which_environment_asks_for_it(
    run: Run, chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.turn()
    assert "[system1]" not in run("write", "--workspace", ACME)[2]
    monkeypatch.setenv("REVERIE_LOG_LEVEL", "debug")
    assert "[system1][memory] skipped (not-due)" in run("write", "--workspace", ACME)[2]


VICTIM = """
import sys
from pathlib import Path
from reverie.clock import system_clock
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.services.background import open_writer
from reverie.agents.mux.tail import TranscriptTail
from reverie.agents.transcripts import TailPosition

home, profile, workspace = sys.argv[1:4]
parts = open_parts(Path(home), Profile.under(Path(profile)), system_clock)
writer = open_writer(parts)
"""

TURNS = (
    VICTIM
    + """
last = sys.argv[4]
tail = TranscriptTail(Path(home) / "sessions" / workspace, TailPosition())
sys.stdout.write("ready\\n"); sys.stdout.flush(); sys.stdin.readline()
done = False
while not done:
    for event in tail.poll():
        # The rows of the sample were there before; their ids have one part more.
        if event.event == "turn-end" and event.id.count("-") == 1:
            outcome = writer.on_turn_end(workspace, event)
            if outcome.gate != "counted":
                print("ran" if outcome.ran else "waits", event.id, flush=True)
        done = done or event.id == last
"""
)


def process(code: str, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=TESTS,
    )


def test_a_killed_run_comes_again_at_the_next_turn(home: Path, profile: Path, chat: Chat) -> None:
    state = home / "sessions" / ACME / "system1-memory-writer-state.json"
    with serving([]) as server:
        server.answer = lambda _request: Reply(fault="hang")
        with_model(server, profile, more="time_limit_s = 60\ninterval = 2\n")
        take_turns(home, profile, chat, 1)
        chat.turn()
        code = VICTIM + (
            "tail = TranscriptTail(Path(home) / 'sessions' / workspace, TailPosition())\n"
            "writer.on_turn_end(workspace, tail.poll()[-1])\n"
        )
        victim = process(code, str(home), str(profile), ACME)
        try:
            until = time.monotonic() + 30
            while not server.requests and time.monotonic() < until:
                time.sleep(0.01)
            assert server.requests
            at_work = json.loads(state.read_bytes())
            os.kill(victim.pid, signal.SIGKILL)
        finally:
            victim.communicate()
        assert at_work["turnsSinceLastRun"] == 0
        assert "lastRunStartedAt" in at_work
        assert "lastRunCompletedAt" not in at_work
        assert json.loads(state.read_bytes()) == at_work
        server.answer = lambda request: Reply(text="done") if request.tool_results else turn(wrote("After."))
        (outcome,) = take_turns(home, profile, chat, 1)
    assert outcome.wrote
    after = json.loads(state.read_bytes())
    assert after["lastRunCompletedAt"] >= after["lastRunStartedAt"] > at_work["lastRunStartedAt"]
    assert after["lastRunMessageId"] == outcome.message_id
    assert "- After." in (home / MEMORY).read_text()


KILLED = (
    VICTIM
    + """
import os, signal
from reverie.files import atomic as checkpoint

armed = False

def die(name):
    global armed
    armed = armed or name == "journal"
    if armed and name == sys.argv[4]:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.set_observer(die)
writer.run_now(workspace, True)
"""
)
STEPS = ("journal", "temp", "fsync", "replace", "usage", "applied", "history-objects", "history-ref")


@pytest.mark.parametrize("step", STEPS if TEST_PROFILE == "campaign" else ("journal", "replace"))
def test_a_kill_while_it_writes_leaves_the_old_text_or_the_new(
    home: Path, profile: Path, chat: Chat, step: str
) -> None:
    write_settings(profile, '[system1]\nenabled = true\nmodel = "rules"\n')
    before = (home / MEMORY).read_text()
    after = f"{before}- Always run the linter before committing.\n"
    chat.turn("Always run the linter before committing.")
    victim = process(KILLED, str(home), str(profile), ACME, step)
    victim.communicate(timeout=60)
    assert victim.returncode == -signal.SIGKILL
    assert (home / MEMORY).read_text() in (before, after)
    (outcome,) = take_turns(home, profile, chat, 1)
    assert outcome.ran, "a run that died is due"
    assert outcome.succeeded
    assert (home / MEMORY).read_text() == after
    parts = open_parts(home, Profile.under(profile), system_clock)
    assert parts.runs.unsettled() == ()


def test_two_processes_never_run_twice_for_one_turn(home: Path, profile: Path, chat: Chat) -> None:
    turns = 200 if TEST_PROFILE == "campaign" else 24
    write_settings(profile, '[system1]\nenabled = true\nmodel = "rules"\n')
    last = f"assistant-{2 * turns}"
    watchers = [process(TURNS, str(home), str(profile), ACME, last) for _ in range(2)]
    for watcher in watchers:
        assert watcher.stdout is not None
        assert watcher.stdin is not None
        assert watcher.stdout.readline() == "ready\n"
        watcher.stdin.write("go\n")
        watcher.stdin.flush()
    for number in range(turns):
        chat.turn(f"Always run linter number {number} before committing.")
    told = [watcher.communicate(timeout=100)[0].splitlines() for watcher in watchers]
    counted = [line.split()[1] for lines in told for line in lines]
    assert sorted(counted) == sorted(f"assistant-{2 * number}" for number in range(1, turns + 1))
    runs = [line for lines in told for line in lines if line.startswith("ran")]
    # A turn that comes while a run is at work starts none, but counts.
    assert 1 <= len(runs) <= turns // 2
    records = open_parts(home, Profile.under(profile), system_clock).runs.all()
    assert len(records) == len(runs)
    assert {record.outcome for record in records} <= {"completed", "unchanged"}


@pytest.mark.parametrize("target", ["project-file", "project-memory"])
def test_a_write_is_shown_for_review_and_undone_in_the_window(
    home: Path, profile: Path, chat: Chat, target: str
) -> None:
    write_settings(profile, f'[system1]\nenabled = true\nmodel = "rules"\ntarget = "{target}"\n')
    outcome = take_turns(home, profile, chat, 2, "Always run the linter before committing.")[-1]
    desk = Workbench(open_parts(home, Profile.under(profile), system_clock))
    review = desk.reviews.review(outcome.run_id)
    (file,) = [file for group in review.groups for file in group.files]
    assert file.path == (MEMORY if target == "project-file" else "/memories/project/system-1.md")
    assert "- Always run the linter before committing." in (file.after or "")
    assert not review.can_apply
    assert desk.revert(outcome.run_id).applied == (file.path,)
