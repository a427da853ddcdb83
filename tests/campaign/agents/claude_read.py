"""What Reverie reads of a home that the real Claude Code made: looking changes nothing, projects and sessions
have their names, transcripts are the conversation that took place, what is recorded as loaded is what was
sent, and the lock of consolidations is understood by both sides.

`python -m campaign.agents.claude_read CLAUDE_COMMAND DIRECTORY` (in `tests/`) runs it alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from campaign.agents.base import Outcome, Programs, differences, snapshot
from campaign.agents.claude_program import (
    Answer,
    ClaudeProgram,
    Rule,
    attachments,
    calls,
    git,
    has_tmux,
    holds,
    memory_text,
    says,
    sent_files,
    uses,
    wait_until,
    writes_index,
    writes_memory,
)
from helpers.context_homes import view_at
from reverie.agents.claude.attachments import RECALL_BYTES, recorded
from reverie.agents.claude.consolidation import read_lock
from reverie.agents.claude.home import ClaudeHome
from reverie.agents.claude.locations import LOCK_NAME
from reverie.agents.claude.messages import ClaudeReadable
from reverie.agents.claude.settings import Machine
from reverie.agents.transcripts import Message, ReadStatistics
from reverie.clock import DAY_MS

_NOT_OURS = r"\A(?!.*SCRIPT:)"
"""A request that no prompt of these checks asked for: a compaction, a consolidation."""
_DREAMING = {
    "tengu_slate_thimble": True,
    "tengu_passport_quail": True,
    "tengu_onyx_plover": {"enabled": True, "minHours": 1, "minSessions": 1},
}
_RECALLING = {"tengu_slate_thimble": True, "tengu_passport_quail": True, "tengu_moth_copse": True}
_SOURCES = Path(__file__).parents[3] / "app"


def checks(programs: Programs, directory: Path) -> Iterator[Outcome]:
    """Every rule, tried against the program in `directory`."""
    if programs.claude is None:
        yield Outcome.skip("Claude Code: everything that is read", "the program is not installed")
        return
    with ClaudeProgram(programs.claude, directory / "used") as program:
        ids = _use(program)
        yield _projects(program, ids)
        yield _titles(program, ids)
        yield _transcripts(program, ids)
        yield _explained(program)
        yield _looking(program, ids, directory)
        yield _looking_while_it_works(program)
    with ClaudeProgram(programs.claude, directory / "loaded") as program:
        yield _recorded(program)
        yield _explained(program)
        yield _recalled(program)
    if not has_tmux():
        yield Outcome.skip("Claude Code: the lock both ways", "tmux is not installed")
        return
    with ClaudeProgram(programs.claude, directory / "locked") as program:
        yield from _lock(program, directory)


# A home in use


def _use(program: ClaudeProgram) -> dict[str, Answer]:
    """Sessions without a terminal in several places, with memories, tools, a compaction and a fork."""
    program.file(program.home / "CLAUDE.md", "# Mia\nAnswer briefly.\n")
    shop = program.project("shop", {"CLAUDE.md": "# Shop\nThe till is old.\n", "src/till.py": "total = 0\n"})
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "shop")
    memory = program.memory(shop)
    program.service.scripts = {
        "remember": [
            [says("I write it down."), writes_memory(memory, "till", "project", "The till.", "It is old.")],
            [writes_index(memory, "[Till](till.md) — it is old")],
            [says("Remembered.")],
        ],
        "work": [
            [
                calls("Bash", command="echo hello", description="greets"),
                calls("Read", file_path=f"{shop}/none"),
            ],
            [calls("Read", file_path=f"{shop}/src/till.py")],
            [says("It counts from 0."), uses(60_000)],
        ],
        "hi": [[says("Hello Mia.")]],
    }
    program.service.rules = [Rule([[says("<summary>The till is old.</summary>")]], match=_NOT_OURS)]
    found = {
        "remember": program.ask(shop, "Remember the till SCRIPT:remember"),
        "work": program.ask(shop, "Work SCRIPT:work", "--permission-mode", "bypassPermissions"),
        "named": program.ask(shop, "Something SCRIPT:hi", "--name", "The till, by hand"),
    }
    found["resumed"] = program.ask(shop, "More SCRIPT:hi", "--resume", found["work"].session)
    program.ask(shop, "/compact", "--resume", found["work"].session)
    found["compacted"] = program.ask(shop, "After it SCRIPT:hi", "--resume", found["work"].session)
    fork = ("--resume", found["remember"].session, "--fork-session")
    found["fork"] = program.ask(shop, "A copy SCRIPT:hi", *fork)
    for name in ("a.b", "a-b", "Ünïcode (v1.2)", "emoji😀", "/".join(["a-long-corridor"] * 14)):
        place = program.project(name, repository=False)
        for number in (1, 2):
            found[f"{name} {number}"] = program.ask(place, f"Hello from {name[:20]}, {number} SCRIPT:hi")
    git(shop, "worktree", "add", "-q", "-b", "fix", str(program.work / "shop-fix"))
    found["worktree"] = program.ask(program.work / "shop-fix", "In a worktree SCRIPT:hi")
    (shop / "src/deep").mkdir()
    found["deep"] = program.ask(shop / "src/deep", "From below SCRIPT:hi")
    moved = program.project("moved")
    notes = moved / "notes"
    settings = json.dumps({"autoMemoryDirectory": str(notes)})
    program.file(moved / ".claude/settings.local.json", settings)
    program.service.scripts["moved"] = [
        [writes_memory(notes, "elsewhere", "reference", "Kept elsewhere.", "Elsewhere.")],
        [writes_index(notes, "[Elsewhere](elsewhere.md) — kept there")],
        [says("ok")],
    ]
    found["moved"] = program.ask(moved, "Remember SCRIPT:moved")
    return found


def _home(program: ClaudeProgram, cache: Path | None = None) -> ClaudeHome:
    machine = Machine({}, program.user, program.user / "managed")
    return ClaudeHome(program.home, cache, machine=machine)


def _projects(program: ClaudeProgram, ids: dict[str, Answer]) -> Outcome:
    """Each session in the project of its working directory, none unknown; what settings moved is a root."""
    work = program.work
    expected = {answer.session: str(work / name.rpartition(" ")[0]) for name, answer in ids.items()}
    in_shop = ("remember", "work", "named", "resumed", "compacted", "fork", "worktree", "deep")
    expected |= {ids[name].session: str(work / "shop") for name in in_shop}
    expected[ids["moved"].session] = str(work / "moved")
    home = _home(program)
    contents = home.contents()
    found = {one.id: project.path for project in contents.projects for one in project.workspaces}
    problems = [
        f"{key} is in {found.get(key)}, not {path}"
        for key, path in expected.items()
        if found.get(key) != path
    ]
    problems += [f"{project.name}" for project in contents.projects if "unknown" in project.name]
    problems += [f"{key} is not a session that was made" for key in found.keys() - expected.keys()]
    if work / "moved/notes" not in {root.directory for root in home.roots()}:
        problems.append("the memory that settings moved is not found")
    return Outcome("every session is in the project of its own directory", len(expected) + 1, tuple(problems))


def _titles(program: ClaudeProgram, ids: dict[str, Answer]) -> Outcome:
    home = _home(program)
    home.learn_titles(500)
    titles = {one.id: one.title for one in home.contents().workspaces()}
    expected = {
        ids["remember"].session: "Remember the till SCRIPT:remember",
        ids["work"].session: "Work SCRIPT:work",
        ids["named"].session: "The till, by hand",
        ids["a.b 1"].session: "Hello from a.b, 1 SCRIPT:hi",
        ids["moved"].session: "Remember SCRIPT:moved",
    }
    problems = [
        f"{key}: {titles.get(key)!r}, not {title!r}"
        for key, title in expected.items()
        if titles.get(key) != title
    ]
    problems += [f"{key} has no title" for key, title in titles.items() if not title]
    return Outcome("sessions have their titles", len(titles), tuple(problems))


def _messages(program: ClaudeProgram, session: str) -> tuple[list[Message], ReadStatistics]:
    reading = ReadStatistics()
    return list(ClaudeReadable(program.transcript(session)).messages(reading)), reading


def _transcripts(program: ClaudeProgram, ids: dict[str, Answer]) -> Outcome:
    """What was typed and answered is there in order, with tool calls; nothing is unknown, no raw data."""
    problems: list[str] = []
    count = 0
    for name, answer in ids.items():
        messages, reading = _messages(program, answer.session)
        count += 1
        if reading.unknown or reading.broken:
            problems.append(f"{name}: {reading.unknown} unknown and {reading.broken} broken lines")
        for each in messages:
            if "\x1b" in each.text or '"systemPrompt"' in each.text:
                problems.append(f"{name}: {each.text[:60]!r} is no text for people")
        setup = [each.text for each in messages if each.text.startswith("Setup of the agent")]
        if not setup:
            problems.append(f"{name}: nothing of what the agent was set up with")
    said = [each.text for each in _messages(program, ids["work"].session)[0] if each.kind == "message"]
    expected = [
        "Work SCRIPT:work",
        "It counts from 0.",
        "More SCRIPT:hi",
        "Hello Mia.",
        "After it SCRIPT:hi",
        "Hello Mia.",
    ]
    if said != expected:
        problems.append(f"said: {said}")
    tools = [
        (each.tool.name, each.tool.is_error)
        for each in _messages(program, ids["work"].session)[0]
        if each.tool is not None
    ]
    if tools != [("Bash", False), ("Read", True), ("Read", False)]:
        problems.append(f"tools: {tools}")
    return Outcome("transcripts are the conversation and nothing else", count + 2, tuple(problems))


# Looking


def _reverie(program: ClaudeProgram, profile: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))}
    env |= {"HOME": str(program.user), "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(_SOURCES)}
    options = ("--profile", str(profile), "--home", str(program.home))
    return subprocess.run(
        [sys.executable, "-m", "reverie", *options, *words],
        env=env, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def _commands(session: str) -> list[tuple[str, ...]]:
    chosen = ("--session", session)
    return [
        ("homes",),
        ("tree", *chosen),
        ("status", *chosen),
        ("search", "till"),
        ("context", *chosen),
        ("traces",),
        ("doctor", *chosen),
        ("runs",),
    ]


def _look(program: ClaudeProgram, profile: Path, session: str, *, window: bool = True) -> list[str]:
    """Look at everything; what failed."""
    failed = []
    for words in _commands(session):
        done = _reverie(program, profile, *words)
        if done.returncode or "Traceback" in done.stderr:
            failed.append(f"{words[0]}: {done.stderr[-200:]}")
    if window:
        picture = profile / "window.png"
        done = _reverie(program, profile, "--offscreen", "--screenshot", str(picture))
        if done.returncode or not picture.exists():
            failed.append(f"window: {done.stderr[-200:]}")
    home = _home(program)
    for source in home.sources():
        list(home.open_source(source).messages(ReadStatistics()))
    return failed


def _looking(program: ClaudeProgram, ids: dict[str, Answer], directory: Path) -> Outcome:
    before = snapshot(program.user)
    problems = _look(program, directory / "profile", ids["work"].session)
    problems += _look(program, directory / "profile", ids["moved"].session, window=False)
    problems += differences(before, snapshot(program.user))
    return Outcome("looking changes 0 bytes, times and modes", len(before), tuple(problems))


def _looking_while_it_works(program: ClaudeProgram) -> Outcome:
    """While the model thinks, the program writes nothing itself: what changes then would be ours."""
    shop = program.work / "shop"
    looked = threading.Event()
    program.service.scripts["slow"] = [[holds(looked), says("At last.")]]
    answers: list[Answer] = []
    asked = len(program.service.requests())
    slow = partial(program.ask, shop, "Slow SCRIPT:slow", timeout=600)
    thread = threading.Thread(target=lambda: answers.append(slow()))
    thread.start()
    problems: list[str] = []
    if not wait_until(lambda: len(program.service.requests()) > asked):
        problems.append("the program asked nothing")
    sessions = list(program.home.glob("sessions/*.json"))
    wait_until(lambda: _is_quiet(program.user), 5)
    before = snapshot(program.user)
    session = next((json.loads(path.read_text())["sessionId"] for path in sessions), "")
    problems += _look(program, program.user.parent / "profile", session, window=False)
    after = snapshot(program.user)
    if not thread.is_alive():
        problems.append("the program had answered before everything was looked at")
    # The program notes by itself, some seconds after its start, that it cleaned up.
    own = ("made: .claude/.last-cleanup", "changed: .claude/.last-cleanup", "changed: .claude")
    found = differences(before, after)
    problems += [each for each in found if not (own[0] in found or own[1] in found) or each not in own]
    looked.set()
    thread.join()
    if not answers or answers[0].text != "At last.":
        problems.append("the program did not answer")
    return Outcome("looking changes nothing while the program works", len(before), tuple(problems))


def _is_quiet(root: Path) -> bool:
    before = snapshot(root)
    threading.Event().wait(0.7)
    return not differences(before, snapshot(root))


# What was loaded


def _recorded(program: ClaudeProgram) -> Outcome:
    """What a transcript records as loaded is what the model got, byte for byte and in order."""
    program.file(program.home / "CLAUDE.md", "---\nowner: mia\n---\n# Mia\n@style/tone.md\n<!-- gone -->\n")
    program.file(program.home / "style/tone.md", "Friendly.\r\n")
    program.file(program.home / "rules/commits.md", "Present tense.\n")
    whole = {
        "CLAUDE.md": "\ufeff# Lamp <!-- kept -->\n<!-- gone\nall of it -->\n@docs/lamp.md\n",
        "docs/lamp.md": "Turns every 12 seconds.\n",
        ".claude/CLAUDE.md": "Never touch `keeper/`.\n",
        ".claude/rules/a.md": "Millimetres.\n",
        ".claude/rules/go.md": '---\npaths:\n  - "**/*.go"\n---\nTabs.\n',
        "CLAUDE.local.md": "Port 7001.\n",
    }
    places = {
        "whole": program.project("whole", whole),
        "agents": program.project("agents", {"AGENTS.md": "Only this.\n"}),
        "empty": program.project("empty"),
        "loose": program.project("loose", {"CLAUDE.md": "No repository.\n"}, repository=False),
    }
    below = places["whole"] / "src/deep"
    program.file(below / "CLAUDE.md", "Deep.\n")
    places["below"] = below
    indexes = {
        "short": "- [One](one.md) — one\n",
        "long": "".join(f"- [N {n}](n{n}.md) — the waters of chart {n}\n" for n in range(260)),
        "wide": "".join(f"- [N {n}](n{n}.md) — {'wide ' * 40}\n" for n in range(150)),
        "odd": "---\nx: 1\n---\n\n<!-- gone -->\n- [A](a.md) — ä€😀\r\n\n\n",
    }
    for name, index in indexes.items():
        places[name] = program.project(name, {"CLAUDE.md": f"{name}\n"})
        program.file(program.memory(places[name]) / "MEMORY.md", index)
        program.file(program.memory(places[name]) / "one.md", memory_text("one", "project", "One.", "1"))
    problems: list[str] = []
    count = 0

    def compare(name: str, answer: Answer) -> None:
        nonlocal count
        count += 1
        problems.extend(f"{name}: {problem}" for problem in _differs(program, answer))

    answers = {name: program.ask(place, "Hello") for name, place in places.items()}
    for name, answer in answers.items():
        compare(name, answer)
    # A resumed session gets what changed, a fork the same, a compacted one everything anew.
    root = places["whole"]
    program.file(root / "CLAUDE.md", "# Lamp, changed\n")
    (root / ".claude/rules/a.md").unlink()
    program.file(root / ".claude/rules/new.md", "Centimetres.\n")
    resume = ("--resume", answers["whole"].session)
    compare("resumed", program.ask(root, "Again", *resume))
    compare("forked", program.ask(root, "A fork", *resume, "--fork-session"))
    program.service.rules = [Rule([[says("<summary>Short.</summary>")]], match=_NOT_OURS)]
    with program.running(root, *resume) as live:
        live.ask("One more SCRIPT:none")
        program.file(root / "CLAUDE.md", "# Lamp, changed again\n")
        live.ask("/compact")
        compare("compacted", live.ask("And now SCRIPT:none"))
    program.service.rules = []
    return Outcome("what is recorded as loaded is what was sent", count, tuple(problems))


def _differs(program: ClaudeProgram, answer: Answer) -> Iterator[str]:
    """How the record of a session is not what its newest request holds."""
    if not answer.requests:
        yield f"nothing was sent: {answer.output[-200:]}"
        return
    sent = {str(each.path): each.text for each in sent_files(answer.requests[-1])}
    record = recorded(program.transcript(answer.session))
    lists = attachments(program.transcript(answer.session), "instructions")
    removed = {path for each in lists for path in each.get("removed", ())}
    if not record.complete:
        yield "the record is not complete"
    for path, each in record.files.items():
        if path not in sent:
            yield f"{path} is recorded and was not sent"
        elif not (sent[path] == each.text or (removed and sent[path].startswith(f"{each.text}\n\n"))):
            yield f"{path}: {each.text[:50]!r} is recorded, {sent[path][:50]!r} was sent"
    yield from (
        f"{path} was sent and is not recorded" for path in sent.keys() - record.files.keys() - removed
    )
    if (
        not removed
        and list(record.files) != list(dict.fromkeys(sent))
        and not any(each.get("changed") for each in lists)
    ):
        yield f"another order: {list(record.files)}, {list(sent)}"


_UNEXPLAINED = ("recorded-other", "recorded-only", "recorded-missed")


def _explained(program: ClaudeProgram) -> Outcome:
    """What the window shows as "Loaded in this session" is explained by Reverie's own rules of loading."""
    home = _home(program)
    found: dict[str, int] = {}
    problems: list[str] = []
    for workspace in home.contents().workspaces():
        part = view_at(home, home.context(workspace_id=workspace.id), 0).part("recorded")
        if part is None:
            problems.append(f"{workspace.id}: nothing is recorded")
            continue
        for entry in part.entries:
            found[entry.reason] = found.get(entry.reason, 0) + 1
            if entry.reason in _UNEXPLAINED:
                problems.append(f"{entry.reason}: {entry.file} in {workspace.path}")
    if not found.get("recorded-same"):
        problems.append(f"nothing is the same: {found}")
    return Outcome("Reverie's rules explain what sessions loaded", sum(found.values()), tuple(problems))


def _recalled(program: ClaudeProgram) -> Outcome:
    """In recall mode no index is sent, and the memories that are sent are recorded."""
    place = program.project("recall")
    memory = program.memory(place)
    for number in range(3):
        body = "\n".join(["W" * 99] * 50)
        text = memory_text(f"wick-{number}", "project", f"Wick {number} burns {number} hours.", body)
        program.file(memory / f"wick-{number}.md", text)
    program.file(memory / "MEMORY.md", "- [Wick](wick-0.md) — a wick\n")
    program.features(_RECALLING, place)
    chosen = json.dumps({"selected_memories": ["wick-2.md"]})
    program.service.scripts = {"w": [[calls("Bash", command="true", description="x")], [says("Two hours.")]]}
    program.service.rules = [Rule([[says(chosen)]], shape="selected_memories")]
    answer = program.ask(place, "How long burns wick 2? SCRIPT:w", "--allowedTools", "Bash", flags=True)
    program.service.rules = []
    program.features({})
    record = recorded(program.transcript(answer.session))
    problems = (
        [] if list(record.recalled) == [str(memory / "wick-2.md")] else [f"recalled: {record.recalled}"]
    )
    if record.loads_index:
        problems.append("the index is recorded as loaded")
    requests = json.dumps(answer.requests[-1], ensure_ascii=False) if answer.requests else ""
    lines = requests.count("W" * 99)
    if not RECALL_BYTES - 300 <= lines * 100 <= RECALL_BYTES:
        problems.append(f"{lines} lines of 100 bytes were sent, not those of the first {RECALL_BYTES:,}")
    return Outcome("recalled memories are recorded and no index is loaded", 3, tuple(problems))


# The lock


def _lock(program: ClaudeProgram, directory: Path) -> Iterator[Outcome]:
    lamp = program.project("lamp")
    memory = program.memory(lamp)
    program.service.scripts = {
        "r": [
            [writes_memory(memory, f"wick-{n}", "project", f"Wick {n}.", f"WICK {n}") for n in range(3)],
            [writes_index(memory, *(f"[Wick {n}](wick-{n}.md) — {n} hours" for n in range(3)))],
            [says("ok")],
        ],
        "w": [[says("Good morning.")]],
    }
    remembered = program.ask(lamp, "Remember the wicks SCRIPT:r")
    program.ask(lamp, "Another session SCRIPT:w")
    profile = directory / "lock-profile"
    lock = memory / LOCK_NAME
    yield _unchanged(program, profile, remembered.session, lock)
    program.features(_DREAMING, lamp)
    program.file(program.home / "settings.json", json.dumps({"autoDreamEnabled": True}))
    dream = [
        [calls("Read", file_path=f"{memory}/wick-1.md"), calls("Read", file_path=f"{memory}/MEMORY.md")],
        [calls("Edit", file_path=f"{memory}/wick-1.md", old_string="WICK 1", new_string="WICK 1, and 0")],
        [says("Improved one.")],
    ]
    program.service.rules = [Rule(dream, match=_NOT_OURS)]
    home = _home(program)
    context = home.context(project_path=str(lamp))
    with program.terminal(lamp) as terminal:
        terminal.wait_for("❯")
        terminal.type("Good morning SCRIPT:w")
        took = wait_until(lambda: lock.exists() and "and 0" in (memory / "wick-1.md").read_text(), 60)
        problems = [] if took else ["the program did not consolidate after our unchanged run"]
        yield Outcome("after an unchanged run of ours the program consolidates at once", 1, tuple(problems))
        yield _ended(program, home, context, lock, profile, remembered.session)
    program.service.rules = []


def _unchanged(program: ClaudeProgram, profile: Path, session: str, lock: Path) -> Outcome:
    """Runs that change nothing, and runs by rules, leave the lock as it was, there or not."""
    problems: list[str] = []
    for body, time_ns in ((None, 0), (b"", 1_700_000_000 * 10**9), (b"999999999", 1_700_000_000 * 10**9)):
        if body is not None:
            lock.write_bytes(body)
            os.utime(lock, ns=(time_ns, time_ns))
        done = _reverie(program, profile, "consolidate", "--session", session, "--engine", "rules")
        if done.returncode:
            problems.append(f"consolidate: {done.stderr[-200:]}")
        found = (lock.read_bytes(), lock.stat().st_mtime_ns) if lock.exists() else (None, 0)
        if found != (body, time_ns):
            problems.append(f"the lock was {body!r} and is {found}")
    lock.unlink(missing_ok=True)
    return Outcome("a run by rules leaves the lock as it was", 3, tuple(problems))


def _ended(
    program: ClaudeProgram, home: ClaudeHome, context: Any, lock: Path, profile: Path, session: str
) -> Outcome:
    """The program's process lives on with its id in the lock: its consolidation is said to be over, and ours
    is not refused."""
    state: Callable[[], str] = lambda: home.agent_status(context)[0].text  # noqa: E731
    ended = "Claude Code consolidated these memories"
    problems = [] if wait_until(lambda: state().startswith(ended), 30) else [f"status: {state()}"]
    now = lock.stat().st_mtime_ns // 1_000_000 + 1000
    if not read_lock(lock, now).alive:
        problems.append("the process of the lock does not live; nothing was tried")
    if not read_lock(lock, now).running or read_lock(lock, now + DAY_MS).running:
        problems.append("the bare lock reads otherwise than the program means it")
    done = _reverie(program, profile, "consolidate", "--session", session, "--engine", "rules")
    if done.returncode or "onsolidating these memories" in done.stderr + done.stdout:
        problems.append(f"refused: {(done.stderr + done.stdout)[-200:]}")
    return Outcome("a consolidation that ended is recognised while its session is open", 4, tuple(problems))


def main(arguments: Sequence[str]) -> int:
    """Run these checks alone."""
    programs = Programs(claude=Path(arguments[0]))
    kept = True
    for outcome in checks(programs, Path(arguments[1])):
        kept &= outcome.kept
        print(f"{'ok  ' if outcome.kept else 'FAIL'} {outcome.rule}: {outcome.skipped or outcome.cases}")
        for problem in outcome.problems:
            print(f"       {problem}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
