"""Session notes end to end: a transcript that another process writes, a model over real sockets, rules, a
kill in the middle, several sessions at once."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import NOW, Time, contents
from helpers.claude_transcripts import SESSION, Chat, jsonl, use
from helpers.isolation import TEST_PROFILE
from helpers.model_runs import MODEL, Wire, everything_below, write_settings
from helpers.model_server import Call, ModelServer, Reply
from helpers.notes_home import notes_file, session_path
from helpers.watching import wait_until
from reverie.cli import main
from reverie.compose import open_parts
from reverie.files.watch import Changes
from reverie.jobs.single_file.notes_sections import default_template, structure_of
from reverie.profile import Profile
from reverie.services.background import open_notes
from reverie.services.container import HomeContainer
from reverie.services.host import Host

Run = Callable[..., Any]
OTHER = "1b2c3d4e-1111-4222-8333-444455556666"
TEMPLATE = default_template()
WORKLOG = "_What was tried and done, step by step, one short line each_\n"
STATE = "_What is being worked on right now, what is still open, what comes next_\n"
STEPS = (
    "journal",
    "temp",
    "fsync",
    "replace",
    "usage",
    "coverage",
    "applied",
    "history-objects",
    "history-ref",
)
"""Where a run that writes can be killed."""
SECRET = "sk-ant-api03-" + "a1B2" * 20


def edit(path: Path | str, old: str, new: str) -> Call:
    return Call("Edit", {"file_path": str(path), "old_string": old, "new_string": new})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    root = tmp_path / "claude"
    Chat().write(session_path(root))
    (root / "settings.json").write_text("{}", encoding="utf-8")
    return root


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "tk-0123456789-abcdefghij-KEY")


@pytest.fixture
def run(home: Path, profile: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """One command on the home; the JSON it printed, with its exit code under `code`."""

    def invoke(*words: str) -> Any:
        options = ["--profile", str(profile), "--now", str(NOW), "--home", str(home), "--json"]
        code = main([*options, *words])
        told = json.loads(capsys.readouterr().out)
        return {**told, "code": code} if isinstance(told, dict) else told

    return invoke


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as serving:
        yield serving


def open_home_again(home: Path, profile: Path) -> HomeContainer:
    return open_parts(home, Profile.under(profile), Time())


def say(home: Path, *turns: tuple[str, str, int], session: str = SESSION, tools: int = 0) -> Chat:
    """Another process appends, as the agent does."""
    path = session_path(home, session)
    chat = Chat(session, first=path.stat().st_size + 1)
    for said, answer, tokens in turns:
        chat.turn(said, answer, tokens=tokens, tools=tools)
    code = "import sys; f = open(sys.argv[1], 'a', encoding='utf-8'); f.write(sys.stdin.read()); f.close()"
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(path)],
        input=jsonl(chat.lines) + "\n",
        text=True,
        check=True,
        timeout=30,
    )
    return chat


def test_by_rules_the_notes_follow_a_growing_transcript_and_a_run_can_be_reverted(
    home: Path, run: Run
) -> None:
    empty = run("notes", "--session", SESSION)
    assert empty == {"success": False, "error": "No messages to summarize.", "code": 1}
    before = contents(home)
    say(home, ("Fix the till", "The till is fixed.", 800), tools=1)
    file = notes_file(home)
    assert run("notes", "--session", SESSION) == {"success": True, "memoryPath": str(file), "code": 0}
    text = file.read_text(encoding="utf-8")
    assert "- Asked last: Fix the till" in text
    assert structure_of(text) == structure_of(TEMPLATE)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    say(home, ("And the door", "The door, too.", 900))
    assert run("notes", "--session", SESSION)["success"]
    both = file.read_text(encoding="utf-8")
    assert "Fix the till → The till is fixed." in both
    assert "And the door → The door, too." in both
    runs = run("runs")
    assert [(one["kind"], one["outcome"]) for one in runs] == [("notes", "completed")] * 2
    assert run("revert", runs[0]["id"])["code"] == 0
    assert file.read_text(encoding="utf-8") == text
    # Nothing but the notes changed in the home.
    changed = {path for path, data in contents(home).items() if before.get(path) != data}
    assert changed == {
        file.relative_to(home).as_posix(),
        session_path(home).relative_to(home).as_posix(),
    }


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
def test_a_model_edits_one_file_and_what_it_used_is_written_down(
    home: Path, profile: Path, run: Run, server: ModelServer, wire: Wire
) -> None:
    say(home, ("Use the key " + SECRET, "Used.", 800))
    write_settings(profile, server.settings_toml("test", wire) + f'[notes]\nmodel = "{MODEL}"\n')
    file = notes_file(home)
    server.script(
        [
            Reply(
                calls=(
                    edit(file, STATE, STATE + "The key was used.\n"),
                    edit(file, WORKLOG, WORKLOG + "- used it\n"),
                    edit(home / "settings.json", "{}", '{"a": 1}'),
                    Call("Write", {"file_path": str(file), "content": ""}),
                ),
                usage=(100, 20, 60, 30),
            ),
            Reply(text="done"),
        ]
    )
    assert run("notes", "--session", SESSION)["success"]
    text = file.read_text(encoding="utf-8")
    assert "The key was used.\n" in text
    assert "- used it\n" in text
    assert (home / "settings.json").read_text() == "{}"
    assert SECRET not in server.sent
    assert server.requests[0].tool_names == ["Edit"]
    answers = server.requests[1].tool_results
    assert [answer.startswith("Edited") for answer in answers] == [True, True, False, False]
    assert "was not edited" in answers[2]
    one = run("runs")[0]
    assert one["usage"]["cachedInputTokens"] == 60
    trace = open_home_again(home, profile).traces.load(one["id"])
    told = json.dumps(trace)
    assert "was not edited" in told
    assert SECRET not in told


@pytest.mark.parametrize("before", ["\n", "\t", "\r"])
def test_a_secret_at_the_start_of_a_line_of_the_conversation_goes_nowhere(
    home: Path, profile: Path, run: Run, server: ModelServer, before: str
) -> None:
    said = f"Use this one:{before}{SECRET}{before}thanks"
    chat = say(home, (said, f"Used:{before}{SECRET}", 800))
    assert SECRET in json.dumps(chat.lines)
    write_settings(profile, server.settings_toml("test") + f'[notes]\nmodel = "{MODEL}"\n')
    file = notes_file(home)
    server.script([Reply(calls=(edit(file, WORKLOG, WORKLOG + "- used it\n"),)), Reply(text="done")])
    assert run("notes", "--session", SESSION)["success"]
    assert "Use this one" in server.sent
    assert SECRET not in server.sent
    kept = dict(everything_below(profile))
    assert any(b"Use this one" in data for data in kept.values())
    assert [path for path, data in kept.items() if SECRET.encode() in data] == []


def test_a_model_that_breaks_the_notes_is_reminded_once_and_then_thrown_away(
    home: Path, profile: Path, run: Run, server: ModelServer
) -> None:
    say(home, ("Go", "Gone.", 800))
    write_settings(profile, server.settings_toml("test") + f'[notes]\nmodel = "{MODEL}"\n')
    file = notes_file(home)
    server.script(
        [
            Reply(calls=(edit(file, "# Learnings\n", ""),)),
            Reply(text="done"),
            Reply(calls=(edit(file, "_What worked", "# Learnings\n_What worked"),)),
            Reply(text="done"),
        ]
    )
    mended = run("notes", "--session", SESSION)
    assert mended["success"]
    assert not file.exists()
    assert "The header '# Learnings' is missing." in server.requests[2].user_texts[-1]
    for reply in (
        Reply(calls=(edit(file, "# Learnings\n", "# Lessons\n"),)),
        Reply(calls=(edit(file, WORKLOG, WORKLOG + "x" * 1_000_000),)),
        Reply(text="", status=500),
        Reply(text="Half", fault="cut"),
        Reply(calls=(Call("Edit", "{broken"),)),
    ):
        server.script([reply, Reply(text="done"), Reply(text="done")])
        told = run("notes", "--session", SESSION, "--force")
        assert not file.exists()
        assert told["success"] in (True, False)
        if reply.calls and "# Lessons" in reply.calls[0].text:
            assert told["success"] is False
            assert "damaged the section structure" in told["error"]
            trace = next(one for one in run("traces") if one["kind"] == "notes")
            assert trace["verdict"] == "rejected"


@pytest.mark.parametrize("step", STEPS if TEST_PROFILE == "campaign" else ("journal", "replace"))
def test_a_kill_at_any_step_leaves_old_or_new_notes_and_the_next_run_works(
    home: Path, profile: Path, run: Run, step: str
) -> None:
    say(home, ("One", "First.", 800))
    assert run("notes", "--session", SESSION)["success"]
    file = notes_file(home)
    say(home, ("Two", "Second.", 900))
    old = file.read_bytes()
    code = (
        "import os, signal, sys\n"
        "from reverie.files.atomic import set_observer\n"
        "from reverie.cli import main\n"
        "step = sys.argv.pop(1)\n"
        "def die(name):\n"
        "    if name == step: os.kill(os.getpid(), signal.SIGKILL)\n"
        "set_observer(die)\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    options = ["--profile", str(profile), "--now", str(NOW), "--home", str(home), "--json"]
    killed = subprocess.run(
        [sys.executable, "-c", code, step, *options, "notes", "--session", SESSION],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = file.read_text(encoding="utf-8")
    assert left.encode() == old or "Two → Second." in left
    assert run("notes", "--session", SESSION)["success"]
    text = file.read_text(encoding="utf-8")
    assert text.count("Two → Second.") == 1
    assert structure_of(text) == structure_of(TEMPLATE)
    assert [path.name for path in file.parent.iterdir()] == ["summary.md"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not [one for one in run("runs") if one["outcome"] == "running"]


def test_several_sessions_at_once_by_several_services(home: Path, profile: Path) -> None:
    sessions = [SESSION, OTHER, OTHER.replace("1b", "2b")]
    for session in sessions:
        Chat(session).write(session_path(home, session))
        say(home, (f"Do {session[:2]}", "Done.", 12_000), session=session)
    write_settings(profile, "[notes]\nenabled = true\n")

    def keep(session: str) -> Any:
        return open_notes(open_home_again(home, profile), threading.Event()).on_change(session)

    with ThreadPoolExecutor(len(sessions) * 2) as pool:
        outcomes = list(pool.map(keep, sessions * 2))
    assert {(one.gate, one.outcome) for one in outcomes} <= {
        (None, "completed"),
        ("in-flight", "skipped"),
        ("not-grown", "skipped"),
    }
    for session in sessions:
        text = notes_file(home, session).read_text(encoding="utf-8")
        assert text.count(f"Do {session[:2]} → Done.") == 1


def test_which_session_has_to_be_said_where_there_are_several(
    home: Path, profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    say(home, ("One", "First.", 800))
    options = ["--profile", str(profile), "--home", str(home)]
    assert main([*options, "notes"]) == 0
    Chat(OTHER).write(session_path(home, OTHER))
    capsys.readouterr()
    assert main([*options, "notes"]) == 2
    assert OTHER in capsys.readouterr().err
    assert main([*options, "notes", "--session", "none"]) == 1


def test_a_host_keeps_the_notes_of_a_session_that_grows(home: Path, profile: Path) -> None:
    write_settings(profile, "[notes]\nenabled = true\n")
    say(home, ("Small", "Yes.", 2_000))
    parts = open_home_again(home, profile)
    host = Host(parts)
    host.start()
    try:
        assert host._session is not None
        assert host._session.ready.wait(30)
        assert not notes_file(home).exists()
        say(home, ("Large", "Done.", 12_000))
        host._session.deliver(Changes(frozenset({session_path(home)}), False, 1, ()))
        wait_until(lambda: [run.outcome for run in parts.runs.all()] == ["completed"])
    finally:
        host.stop()
    assert "Large → Done." in notes_file(home).read_text(encoding="utf-8")
    said = [entry.event for entry in parts.activity.read()]
    assert "notes.too-small" in said
    assert "notes.completed" in said


def test_a_directory_that_leads_out_of_the_home_is_never_written_to(
    home: Path, tmp_path: Path, run: Run
) -> None:
    say(home, ("One", "First.", 800))
    outside = tmp_path / "outside"
    outside.mkdir()
    session = notes_file(home).parent.parent
    session.mkdir(parents=True)
    (session / "session-memory").symlink_to(outside)
    assert "outside the home" in run("notes", "--session", SESSION)["error"]
    assert list(outside.iterdir()) == []


def test_the_modes_of_a_directory_that_is_there_are_left_alone(home: Path, run: Run) -> None:
    say(home, ("One", "First.", 800))
    directory = notes_file(home).parent
    directory.mkdir(parents=True)
    directory.chmod(0o750)
    assert run("notes", "--session", SESSION)["success"]
    assert stat.S_IMODE(directory.stat().st_mode) == 0o750
    assert stat.S_IMODE(notes_file(home).stat().st_mode) == 0o600


def test_tool_calls_that_failed_are_noted(home: Path, run: Run) -> None:
    chat = Chat(first=5000)
    chat.user("Build")
    chat.answer(use("t1", "Bash", command="make"), tokens=500)
    chat.results(("t1", "make: *** no rule"), is_error=True)
    chat.answer("It does not build.", tokens=600)
    chat.write(session_path(home))
    assert run("notes", "--session", SESSION)["success"]
    assert "- `Bash: make` failed: make: *** no rule" in notes_file(home).read_text(encoding="utf-8")
