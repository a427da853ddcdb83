"""A Codex home made by code: every generation of its memory, both places of its databases, rollouts of every
shape (formats/codex.md)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from helpers.rollouts import (
    START,
    Line,
    call,
    event,
    line,
    meta,
    result,
    rollout_name,
    said,
    shell,
    write_rollout,
)
from reverie.agents.codex.locations import bucket_of, trace_name

NOW_S = START + 100_000
THREADS_TABLE = (
    "CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT, created_at INTEGER, updated_at INTEGER,"
    " source TEXT, cwd TEXT, title TEXT, archived INTEGER DEFAULT 0{more})"
)
JOBS_TABLE = (
    "CREATE TABLE jobs (kind TEXT, job_key TEXT, status TEXT, worker_id TEXT,"
    " ownership_token TEXT,"
    " started_at INTEGER, finished_at INTEGER, lease_until INTEGER, retry_at INTEGER,"
    " retry_remaining INTEGER,"
    " last_error TEXT, input_watermark INTEGER, last_success_watermark INTEGER, PRIMARY KEY (kind, job_key))"
)
OUTPUTS_TABLE = (
    "CREATE TABLE stage1_outputs (thread_id TEXT PRIMARY KEY, source_updated_at INTEGER, raw_memory TEXT,"
    " rollout_summary TEXT, generated_at INTEGER)"
)
LOCKS_TABLE = (
    "CREATE TABLE memory_consolidation_locks"
    " (cwd TEXT PRIMARY KEY, working_thread_id TEXT, updated_at INTEGER)"
)


def thread_id(number: int) -> str:
    """A made-up thread id that sorts by its number."""
    return f"0198a1b2-c3d4-7e5f-8a9b-{number:012x}"


def trace_text(thread: str, cwd: str, body: str = "# Trace\n") -> str:
    return f"thread_id: {thread}\ncwd: {cwd}\nrollout_path: /r\nupdated_at: 2026-02-09T10:00:00Z\n\n{body}"


class CodexHomeMaker:
    """Builds a home step by step."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.memories = root / "memories"
        root.mkdir(parents=True)

    def file(self, rel: str, text: str = "text\n") -> Path:
        path = self.root / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def bucket(self, cwd: str, *, digits: int = 64, told: bool = True, threads: Iterable[int] = (1,)) -> Path:
        """The memory of a working directory. `told`: the trace files say which one it is."""
        memory = self.memories / bucket_of(cwd)[:digits] / "memory"
        memory.mkdir(parents=True)
        (memory / "MEMORY.md").write_text(f"# What is known of {cwd}\n")
        (memory / "memory_summary.md").write_text("# Memory Summary\n\nNo memory traces yet.\n")
        for number in threads:
            path = memory / "trace_summaries" / trace_name(thread_id(number), f"Fix {number}")
            path.parent.mkdir(exist_ok=True)
            path.write_text(trace_text(thread_id(number), cwd) if told else "no header\n")
        return memory

    def version_two(self) -> None:
        """The store of a home of today, as Codex makes it by itself."""
        headings = ("## User Profile", "## User preferences", "## General Tips", "## What's in Memory")
        self.file("memories_v2/memory_summary.md", "v1\n\n" + "\n\nBrief.\n\n".join(headings) + "\n")
        self.file(
            "memories_v2/rollout_summaries/2026-02-09T10-00-00-a1b2-fix.md",
            f"thread_id: {thread_id(1)}\ncwd: /projects/demo\n\nx\n",
        )
        self.file("memories_v2/extensions/ad_hoc/instructions.md")
        self.file("memories_v2/.git/HEAD", "ref: refs/heads/main\n")
        self.file("memories_v2.lock", "")

    def newest(self) -> None:
        """The global store of version 1."""
        self.file("memories/memory_summary.md", "v1\n\n## User Profile\nBrief.\n")
        self.file("memories/MEMORY.md", "# Task Group: build\nscope: repo\n")
        self.file("memories/raw_memories.md", "# Raw Memories\n\nNo raw memories yet.\n")
        self.file(
            "memories/rollout_summaries/2026-02-09T10-00-00-a1b2-fix.md", f"thread_id: {thread_id(1)}\n\nx\n"
        )
        self.file("memories/skills/release/SKILL.md", "---\nname: release\n---\n")
        self.file("memories/extensions/ad_hoc/instructions.md")
        self.file("memories/extensions/ad_hoc/resources/note.md")
        self.file("memories/extensions/ad_hoc/manifest.json", "{}\n")
        self.file("memories/phase2_workspace_diff.md")
        self.file("memories/.git/HEAD", "ref: refs/heads/main\n")
        self.file("memories/user/memory/preferences.md")

    def rollout(
        self, number: int, lines: Iterable[Line | str], *, suffix: str = ".jsonl", archived: bool = False
    ) -> Path:
        name = rollout_name(thread_id(number), number * 60, suffix)
        place = self.root / "archived_sessions" if archived else self.root / "sessions" / "2026" / "08" / "06"
        return write_rollout(place / name, lines)

    def state(self, *statements: str, name: str = "state_5.sqlite", more: str = "") -> Path:
        return self.database(name, THREADS_TABLE.format(more=more), *statements)

    def database(self, name: str, *statements: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA journal_mode = WAL")
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return path

    def thread_row(
        self, number: int, cwd: str, title: str = "", *, archived: int = 0, source: str = "cli"
    ) -> str:
        at = START + number * 60
        columns = "id, rollout_path, created_at, updated_at, source, cwd, title, archived"
        values = f"'{thread_id(number)}', '/gone', {at}, {at}, '{source}', '{cwd}', '{title}', {archived}"
        return f"INSERT INTO threads ({columns}) VALUES ({values})"


def talk(number: int, cwd: str, prompt: str = "Fix the build") -> list[Line | str]:
    """A short, whole session."""
    return [
        meta(thread_id(number), cwd),
        said("user", "<environment_context>\n<cwd>x</cwd>"),
        said("user", prompt, 1),
        *shell(f"c{number}", "make test", "1 failed", 2, 2),
        *shell(f"d{number}", "make test", "ok", 0, 4),
        said("assistant", "The build works again.", 6, phase="final_answer"),
        event("task_complete", 7, last_agent_message="The build works again."),
    ]


def varied_rollouts(maker: CodexHomeMaker, cwd: str) -> None:
    """Fourteen rollouts, each of a shape of its own; numbers 1 to 14."""
    maker.rollout(1, talk(1, cwd))
    maker.rollout(2, talk(2, cwd), suffix=".jsonl.zst")
    maker.rollout(3, [*talk(3, cwd), '{"timestamp":"2026-08-0'])
    maker.rollout(
        4, [*talk(4, cwd), meta(thread_id(99), cwd, 9, forked_from_id=thread_id(4)), said("user", "Go on", 9)]
    )
    maker.rollout(
        5, [*talk(5, cwd), said("user", "Never mind", 9), event("thread_rolled_back", 10, num_turns=1)]
    )
    maker.rollout(6, [*talk(6, cwd), line("compacted", 9, message="Summary", replacement_history=[])])
    maker.rollout(
        7,
        [
            meta(thread_id(7), cwd),
            event("user_message", 1, message="Old style"),
            event("agent_message", 2, message="Yes"),
        ],
    )
    maker.rollout(
        8,
        [
            {"id": thread_id(8), "timestamp": "2026-08-06T10:00:00.000Z", "instructions": None},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Bare"}]},
        ],
    )
    maker.rollout(
        9, [meta(thread_id(9), cwd), "{broken\n", line("brand_new", x=1), said("user", "Still here")]
    )
    maker.rollout(
        10,
        [
            meta(thread_id(10), cwd),
            said("user", "Look"),
            line(
                "response_item",
                type="message",
                role="user",
                content=[{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}],
            ),
        ],
    )
    maker.rollout(11, [meta(thread_id(11), cwd, source={"subagent": "review"}), said("user", "Review this")])
    maker.rollout(12, talk(12, cwd), archived=True)
    maker.rollout(
        13,
        [
            meta(thread_id(13), cwd),
            call("x", "apply_patch", "not json"),
            result("x", [{"type": "input_text", "text": "ok"}]),
        ],
    )
    maker.rollout(14, [])
