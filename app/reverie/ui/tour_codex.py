"""The part of the tour on a home of Codex: its tree, its footer, its transcripts, jobs, and an extraction.

The home is a small one of its own, made here and thrown away with the tour's others.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from PySide6.QtWidgets import QApplication

from reverie.homes.codex_names import bucket_of, trace_name
from reverie.ui.main_window import MainWindow
from reverie.ui.theme import dark_palette

Picture = Callable[..., None]
Wait = Callable[[str, Callable[[], bool]], None]

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
    """A home with one directory's memory, the global one, three rollouts, and books of jobs."""
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


def show_codex(
    window: MainWindow, directory: Path, picture: Picture, wait: Wait, narrow: tuple[int, int]
) -> None:
    """Pictures of a Codex home, light, dark and narrow."""
    from reverie.clock import system_clock
    from reverie.ui.settle import is_loaded

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

    wait("the Codex home", picked)
    wait("its trees", shown)
    tab = window.tab
    wait("the footer", lambda: len(tab.footer.agent.rows) > 2)
    tab.tree.expandAll()
    picture("60-codex")
    light = QApplication.palette()
    late = window.late
    late.show_transcripts()
    wait("the transcripts", lambda: late.transcripts.is_settled)
    late.transcripts.view.search.setText("test")
    late.transcripts.view.finding.find_next()
    wait("the search", lambda: late.transcripts.is_settled)
    picture("61-transcripts")
    late.show_agent_jobs()
    wait("the jobs", lambda: late.agent_jobs is not None and late.agent_jobs.is_read)
    picture("62-agent-jobs", late.agent_jobs)
    if late.agent_jobs is not None:
        late.agent_jobs.close()
    control = tab.extraction
    control.show()
    wait("the candidates", lambda: control.is_listed)
    control.run_rules()
    wait("the extraction", lambda: not control.running)
    picture("63-extraction", control.dialog)
    QApplication.setPalette(dark_palette())
    picture("64-extraction-dark", control.dialog)
    picture("65-transcripts-dark")
    if control.dialog is not None:
        control.dialog.close()
    QApplication.setPalette(light)
    size = window.size()
    window.picker.hide()
    wait("the window to ask for less room", lambda: window.minimumWidth() <= narrow[0])
    window.resize(*narrow)
    picture("66-transcripts-narrow")
    window.show_memory()
    picture("67-codex-narrow")
    window.picker.show()
    window.resize(size)
