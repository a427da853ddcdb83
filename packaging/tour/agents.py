"""The parts of the tour on the other agents: a home of Codex, a home of Claude Code, a project of loki-mode.

Each home is created for the tour, beside the copy of the demo home, and deleted with it. The contents are
invented.
"""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from reverie.agents.codex.locations import bucket_of, trace_name
from reverie.clock import system_clock
from reverie.ui.screenshot import is_loaded
from tour.camera import Camera, dark_colours

# --- codex ---

_CWD = "/projects/shop"
_ASKED = (
    ("Fix the login test", "make test", "1 failed: test_login", 2, "The token ran out; it lives longer now."),
    ("Add a page for returns", "npm run build", "built in 2.1 s", 0, "The page is there, with its form."),
    ("Why is the checkout slow?", "python -m cProfile shop.py", "queries: 412", 0, "It asks 412 times."),
)
_TABLES = (
    "CREATE TABLE jobs (kind TEXT, job_key TEXT, status TEXT, started_at INTEGER, finished_at INTEGER,"
    " lease_until INTEGER, retry_at INTEGER, retry_remaining INTEGER, last_error TEXT)",
    "INSERT INTO jobs VALUES ('memory_consolidate_global', 'global', 'done', NULL, {now} - 9000, NULL, NULL,"
    " 3, NULL)",
    "INSERT INTO jobs VALUES ('memory_stage1', '{first}', 'error', NULL, {now} - 7000, NULL, {now} + 1800, 2,"
    " 'The answer was no JSON.')",
    "INSERT INTO jobs VALUES ('memory_stage1', '{second}', 'done', NULL, {now} - 8000, NULL, NULL, 3, NULL)",
)


def _thread(number: int) -> str:
    return f"0198a1b2-c3d4-7e5f-8a9b-{number:012x}"


def make_codex_home(root: Path, now_s: int) -> None:
    """Create a Codex home for the tour in `root`: memories, three conversations and the job databases.

    The memories are the global ones and those of one directory. `now_s`: the present time in seconds.
    """
    memory = root / "memories" / bucket_of(_CWD) / "memory"
    traces = memory / "trace_summaries"
    traces.mkdir(parents=True)
    sessions = root / "sessions" / "2026" / "08" / "06"
    sessions.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# The shop\n\n- `make test` runs everything.\n")
    (memory / "memory_summary.md").write_text("# Memory Summary\n\nNo memory traces yet.\n")
    (root / "memories" / "memory_summary.md").write_text("v1\n\n## User Profile\nWorks on a shop.\n")
    (root / "memories" / "raw_memories.md").write_text("# Raw Memories\n\nNo raw memories yet.\n")
    for number, asked in enumerate(_ASKED, start=1):
        file = sessions / f"rollout-2026-08-06T10-0{number}-00-{_thread(number)}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in _rollout(number, *asked)))
        os.utime(file, (now_s - number * 4_000,) * 2)
    header = f"thread_id: {_thread(1)}\ncwd: {_CWD}\nrollout_path: /r\nupdated_at: 2026-02-09T10:00:00Z\n\n"
    (traces / trace_name(_thread(1), _ASKED[0][0])).write_text(header + "# Trace Summary\n")
    state = sqlite3.connect(root / "state_5.sqlite")
    state.execute("CREATE TABLE threads (id TEXT, title TEXT, cwd TEXT, source TEXT)")
    threads = [(_thread(number), asked[0], _CWD, "cli") for number, asked in enumerate(_ASKED, start=1)]
    state.executemany("INSERT INTO threads VALUES (?, ?, ?, ?)", threads)
    state.commit()
    state.close()
    connection = sqlite3.connect(root / "memories_1.sqlite")
    for statement in _TABLES:
        connection.execute(statement.format(now=now_s, first=_thread(1), second=_thread(2)))
    connection.commit()
    connection.close()


def _rollout(number: int, prompt: str, command: str, output: str, code: int, answer: str) -> list[object]:
    def row(kind: str, payload: object) -> dict[str, object]:
        return {"timestamp": f"2026-08-06T10:0{number}:00.000Z", "type": kind, "payload": payload}

    def said(role: str, text: str) -> dict[str, object]:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        return row("response_item", {"type": "message", "role": role, "content": content})

    arguments = json.dumps({"command": ["bash", "-lc", command]})
    told = json.dumps({"output": output, "metadata": {"exit_code": code}})
    call = {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": "c"}
    meta = {"id": _thread(number), "timestamp": "2026-08-06T10:00:00.000Z", "cwd": _CWD, "source": "cli"}
    return [
        row("session_meta", meta),
        said("user", "<environment_context>\n<cwd>/projects/shop</cwd>\n</environment_context>"),
        said("user", prompt),
        row("response_item", call),
        row("response_item", {"type": "function_call_output", "call_id": "c", "output": told}),
        said("assistant", answer),
        said("user", "Thanks. Always run the tests before you say that it works."),
    ]


def show_codex(camera: Camera, directory: Path) -> None:
    """Take pictures of a Codex home, light, dark and narrow."""
    window = camera.window
    home = directory / "codex-home"
    make_codex_home(home, system_clock() // 1000)
    window.homes.open(home)

    def shown() -> bool:
        session = window.session
        there = session is not None and session.info.root.resolve() == home.resolve()
        return there and is_loaded(window)

    def picked() -> bool:
        session = next((each for each in window.homes.sessions if each.info.root.name == home.name), None)
        return session is not None and window.picker.pick_project(session.info.id, _CWD)

    camera.wait("the Codex home", picked)
    camera.wait("its trees", shown)
    tab = window.tab
    camera.wait("the footer", lambda: len(tab.footer.agent.rows) > 2)
    tab.tree.expandAll()
    camera.picture("60-codex")
    late = window.lazy_tabs
    late.show_transcripts()
    camera.wait("the transcripts", lambda: late.transcripts.is_settled)
    late.transcripts.view.search.setText("test")
    late.transcripts.view.finding.find_next()
    camera.wait("the search", lambda: late.transcripts.is_settled)
    camera.picture("61-transcripts")
    late.show_agent_jobs()
    camera.wait("the jobs", lambda: late.agent_jobs is not None and late.agent_jobs.is_read)
    camera.picture("62-agent-jobs", late.agent_jobs)
    if late.agent_jobs is not None:
        late.agent_jobs.close()
    control = tab.extraction
    control.show()
    camera.wait("the candidates", lambda: control.is_listed)
    control.run_rules()
    camera.wait("the extraction", lambda: not control.running)
    camera.picture("63-extraction", control.dialog)
    with dark_colours():
        camera.picture("64-extraction-dark", control.dialog)
        camera.picture("65-transcripts-dark")
        if control.dialog is not None:
            control.dialog.close()
    with camera.narrow():
        camera.picture("66-transcripts-narrow")
        window.show_memory()
        camera.picture("67-codex-narrow")


# --- claude ---

_SESSION = "3f2c1b0a-1111-4222-8333-444455556666"
_CWD = "/projects/shop"
_INDEX = "/memories/project/MEMORY.md"
_TOPIC = (
    "---\nname: {name}\ndescription: {said}\nmetadata:\n  node_type: memory\n  type: project\n---\n{body}\n"
)
_LINES = 206


def make_claude_home(root: Path) -> None:
    """Create a Claude Code home for the tour in `root`.

    It has one project, whose index of memories is longer than the agent loads, and one session with notes.
    """
    place = root / "projects" / "-projects-shop"
    memory = place / "memory"
    (memory / "topics").mkdir(parents=True)
    (root / "settings.json").write_text("{}\n", encoding="utf-8")
    typed = {"display": "Fix the deploy", "timestamp": 1, "project": _CWD}
    (root / "history.jsonl").write_text(json.dumps(typed) + "\n", encoding="utf-8")
    lines = [
        "- [Deploy](deploy.md) — through the canary cluster first",
        "- [Staging](staging.md) — the old staging machine",
        "- [Tests](tests.md) — which tests to run before a commit, in which order, what each costs, and "
        "who to ask when one of them fails again without a reason that anybody understands",
    ]
    texts = {"deploy": "See [[tests]].", "tests": "Run make check.", "release": "Tag after the deploy."}
    for name, body in texts.items():
        text = _TOPIC.format(name=name, said=f"What to know of the {name}", body=body)
        (memory / f"{name}.md").write_text(text, encoding="utf-8")
    for number in range(_LINES - len(lines)):
        name = f"finding-{number:03}"
        lines.append(f"- [Finding {number}](topics/{name}.md) — what was found out on day {number}")
        text = _TOPIC.format(name=name, said=f"Found out on day {number}", body=f"Number {number}.")
        (memory / "topics" / f"{name}.md").write_text(text, encoding="utf-8")
    (memory / "MEMORY.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [
        _said("user", "1", "Fix the deploy", None),
        _said("assistant", "2", "The canary was skipped.", "1"),
    ]
    (place / f"{_SESSION}.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )


def _said(role: str, uuid: str, text: str, parent: str | None) -> dict[str, object]:
    content: object = text if role == "user" else [{"type": "text", "text": text}]
    return {
        "type": role,
        "uuid": uuid,
        "parentUuid": parent,
        "timestamp": "2026-08-06T10:00:00.000Z",
        "sessionId": _SESSION,
        "cwd": _CWD,
        "isSidechain": False,
        "message": {"role": role, "content": content},
    }


def show_claude(camera: Camera, directory: Path) -> None:
    """Take pictures of a Claude Code home, light, dark and narrow."""
    window = camera.window
    home = directory / "claude-home"
    make_claude_home(home)
    window.homes.open(home)

    def picked() -> bool:
        session = next((each for each in window.homes.sessions if each.info.root.name == home.name), None)
        return session is not None and window.picker.pick(session.info.id, workspace_id=_SESSION)

    def shown() -> bool:
        session = window.session
        return session is not None and session.info.root.name == home.name and is_loaded(window)

    camera.wait("the Claude Code home", picked)
    camera.wait("its trees", shown)
    tab, control = window.tab, window.tab.index_care
    camera.wait("the index", lambda: tab.tree.select_path(_INDEX))
    camera.wait("the care of the index", lambda: control.panel.isVisible() and not window.lanes.scan.busy)
    camera.wait("the notes", lambda: tab.notes.row.isVisible())
    camera.picture("70-index")
    tab.pane.text.go_to_line(201)
    with dark_colours():
        camera.picture("71-index-cut-dark")
    control.rename({"/memories/project/tests.md": "/memories/project/testing.md"}, _nothing)
    camera.wait("the plan of a rename", lambda: control.dialog is not None)
    if control.dialog is not None:
        camera.picture("72-index-rename", control.dialog)
        control.dialog.reject()
    tab.notes.update_now()
    camera.wait("the update of the notes", lambda: not tab.notes.running)
    camera.wait("the notes in the tree", lambda: tab.tree.select_path("/memories/workspace/summary.md"))
    camera.wait("the open notes", lambda: tab.pane.file is not None and not control.panel.isVisible())
    camera.picture("73-session-notes")
    camera.wait("the index again", lambda: tab.tree.select_path(_INDEX))
    camera.wait("its care again", lambda: control.panel.isVisible())
    with camera.narrow():
        camera.picture("74-index-narrow")


def _nothing(_not_followed: str) -> None:
    """Do nothing; passed to a rename as the report of links that it could not update."""


# --- loki ---

_FINGERPRINT = "9b1f0c44d7e2a6b8" * 4
_OTHER = "42d0aa7716fe0c3d" * 4
_FAILED = (
    (1, "ImportError", f"phase=ACT; signature: load_feed > parse_stops; fp={_FINGERPRINT[:12]}", ""),
    (4, "ImportError", f"phase=ACT; signature: load_feed > parse_stops; fp={_FINGERPRINT[:12]}", ""),
    (6, "IterationError", "phase=VERIFY; exit=1", "The fixtures had to be rebuilt first."),
    (9, "Friction", f"phase=VERIFY; friction=gate_failure; fp={_OTHER[:12]}", ""),
    (80, "IterationError", "phase=REFLECT; exit=2", ""),
)


def make_loki_project(project: Path, now_s: int) -> None:
    """Create a loki-mode store in `project`: recent failures, three anti-patterns, and two kinds of crashes.

    The anti-patterns are similar, so that they can be merged. `now_s`: the present time in seconds.
    """
    store = project / ".loki"
    for number, (hours, kind, message, resolution) in enumerate(_FAILED):
        when = datetime.fromtimestamp(now_s - hours * 3600, UTC)
        episode = {
            "id": f"ep-{when:%Y-%m-%d}-{number}",
            "task_id": f"iteration-{12 - number}",
            "timestamp": f"{when:%Y-%m-%dT%H:%M:%S}Z",
            "context": {"phase": "ACT", "goal": "Import the timetable of the harbour line"},
            "outcome": "failure",
            "errors_encountered": [{"type": kind, "message": message, "resolution": resolution}],
        }
        _write(store / "memory" / "episodic" / f"{when:%Y-%m-%d}" / f"task-{episode['id']}.json", episode)
    alike = {
        "pattern": "Avoid: IterationError",
        "category": "anti-pattern",
        "conditions": ["When encountering: IterationError"],
        "incorrect_approach": "",
        "confidence": 0.5,
    }
    patterns = [
        {"id": "sem-0000000a", **alike, "correct_approach": "", "source_episodes": ["ep-a"]},
        {"id": "sem-0000000b", **alike, "correct_approach": "", "source_episodes": ["ep-b"]},
        {
            "id": "sem-0000000c",
            **alike,
            "correct_approach": "Rebuild the fixtures before the checks",
            "source_episodes": ["ep-c"],
        },
        {
            "id": "sem-0000000d",
            "pattern": "Avoid: ImportError",
            "category": "anti-pattern",
            "incorrect_approach": "Import the feed parser at module level",
            "correct_approach": "Import it where a feed is read",
        },
    ]
    _write(store / "memory" / "semantic" / "patterns.json", {"version": "1.1.0", "patterns": patterns})
    frames = ["load_feed", "parse_stops"]
    kinds: list[tuple[str, str, list[str], str | None]] = [("ImportError", _FINGERPRINT, frames, None)] * 3
    kinds.append(("Friction", _OTHER, [], "gate_failure"))
    for number, (kind, fingerprint, signature, friction) in enumerate(kinds):
        at = now_s - 3600 * (number + 1)
        crash = {
            "captured_at": f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}Z",
            "error_class": kind,
            "exit_code": 1,
            "fingerprint": fingerprint,
            "friction_kind": friction,
            "os": "Linux",
            "rarv_phase": "ACT",
            "redactions_count": 2,
            "rules_version": "1.0",
            "stack_signature": signature,
        }
        _write(store / "crash" / f"{fingerprint}-{at}.json", crash)


def _write(path: Path, record: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2), encoding="utf-8")


def show_loki(camera: Camera, directory: Path) -> None:
    """Take pictures of the lessons learnt from failures, light, dark and narrow."""
    window = camera.window
    project = directory / "harbour-line"
    make_loki_project(project, system_clock() // 1000)
    window.homes.open(project)

    def picked() -> bool:
        sessions = window.homes.sessions
        session = next((each for each in sessions if each.info.root.parent.name == project.name), None)
        return session is not None and window.picker.pick_project(
            session.info.id, str(session.info.root.parent)
        )

    late = window.lazy_tabs
    camera.wait("the project of loki-mode", picked)
    camera.wait("its trees", lambda: late.has_failures and is_loaded(window))
    late.show_failures()
    tab = late.failures
    camera.wait("its failures", lambda: tab.is_settled and len(tab.list.values) > 1)
    camera.picture("80-lessons")
    tab.list.setCurrentIndex(tab.list.rows.index(1, 0))
    with dark_colours():
        camera.picture("81-lessons-dark")
    tab.resolve.click()
    if tab.dialog is not None:
        camera.picture("82-resolution", tab.dialog)
        tab.dialog.reject()
    tab.bar.setCurrentIndex(1)
    tab.goal.setText("import feeds")
    camera.picture("83-anti-patterns")
    tab.goal.clear()
    tab.bar.setCurrentIndex(2)
    camera.picture("85-crashes")
    with camera.narrow():
        tab.bar.setCurrentIndex(0)
        camera.picture("86-lessons-narrow")
        with dark_colours():
            tab.bar.setCurrentIndex(2)
            camera.picture("87-crashes-narrow-dark")
        window.show_memory()
