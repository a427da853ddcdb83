"""Homes of each agent as Reverie knows them, and what a version to come might make of them.

`WORLDS` builds a home; `DAMAGES` names, for each agent, changes that make a store unknown, with a word of the
evidence that has to be told; `HARMLESS` are changes that must not.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from helpers.claude_home import ClaudeHomeMaker
from helpers.codex_home import JOBS_TABLE, OUTPUTS_TABLE, CodexHomeMaker
from helpers.loki_home import LokiMaker
from helpers.samples import copy_sample
from reverie.agents.base import Home
from reverie.agents.codex.home import CodexHome
from reverie.agents.loki.home import LokiHome
from reverie.agents.mux.home import MuxHome

Change = Callable[[Path], object]
MIGRATIONS = "CREATE TABLE _sqlx_migrations (version INTEGER, description TEXT)"


def mux(place: Path) -> Home:
    return MuxHome(copy_sample("mux-home", place))


def codex(place: Path) -> Home:
    maker = CodexHomeMaker(place / "user" / ".codex")
    maker.newest()
    maker.file("AGENTS.md")
    maker.file("config.toml", '[memories]\nversion = "v1"\n')
    maker.file("memories/.git/codex-baseline-version", "1\n")
    maker.database("memories_1.sqlite", MIGRATIONS, _at(2), JOBS_TABLE, OUTPUTS_TABLE)
    return CodexHome(maker.root, place / "cache")


def claude(place: Path) -> Home:
    maker = ClaudeHomeMaker(place)
    cwd = maker.user / "shop"
    cwd.mkdir()
    maker.session(cwd, 1)
    maker.memory(
        cwd, {"MEMORY.md": "- [A](a.md) — a\n", "a.md": "---\nname: a\n---\nOne.\n", "b.md": "Two.\n"}
    )
    maker.lock(cwd, "", 60)
    return maker.home()


def loki(place: Path) -> Home:
    maker = LokiMaker(place / "shop")
    maker.everything()
    maker.json("memory/index.json", {"version": "1.1.0", "topics": []})
    maker.file("memory/decisions.md", "# Decisions\n")
    return LokiHome(maker.store, cache=place / "cache")


WORLDS: Mapping[str, Callable[[Path], Home]] = {"mux": mux, "codex": codex, "claude": claude, "loki": loki}


def put(rel: str, text: str = "") -> Change:
    """Write a file, its folders too."""

    def change(root: Path) -> None:
        path = root / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return change


def puts(*rels: str) -> Change:
    """Make empty files."""
    return lambda root: [put(rel)(root) for rel in rels]


def field(rel: str, **fields: Any) -> Change:
    """Set fields of a JSON file."""

    def change(root: Path) -> None:
        path = root / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**data, **fields}))

    return change


def sql(rel: str, *statements: str) -> Change:
    """Change a database."""

    def change(root: Path) -> None:
        connection = sqlite3.connect(root / rel)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    return change


def _at(version: int) -> str:
    return f"INSERT INTO _sqlx_migrations VALUES ({version}, 'x')"


def _in_memory(change: Callable[[Path], object]) -> Change:
    """In the memory directory of the one project of a Claude home."""
    return lambda root: change(next(root.glob("projects/*/memory")))


def _index_directory(memory: Path) -> None:
    (memory / "MEMORY.md").unlink()
    (memory / "MEMORY.md").mkdir()


def _index_json(memory: Path) -> None:
    (memory / "MEMORY.md").rename(memory / "MEMORY.json")


def _only_database(root: Path) -> None:
    memory = root / "memory"
    os.rename(memory, root / "memory-before")  # noqa: PTH104
    memory.mkdir()
    with contextlib.closing(sqlite3.connect(memory / "memory.db")) as database:
        database.executescript(f"{_META}; INSERT INTO metadata VALUES ('schema_version', '1');")


_META = "CREATE TABLE metadata (key TEXT, value TEXT)"
_EPISODE = "memory/episodic/2026-08-19/task-ep-2026-08-19-1.json"

DAMAGES: Mapping[str, Mapping[str, tuple[Change, str]]] = {
    "mux": {
        "config version": (field("config.json", version=2), "config.json has version 2"),
        "config version as text": (field("config.json", version="1"), "version “1”"),
        "projects of another type": (field("config.json", projects={"/p": {}}), "“projects” in config.json"),
        "state of the memory writer": (
            field("sessions/a1f3c9e2b7/system1-memory-writer-state.json", schemaVersion=2),
            "system1-memory-writer-state.json has schemaVersion 2",
        ),
        "usage version": (field("memory-meta.json", version=2), "memory-meta.json has version 2"),
        "coverage version": (field("memory-consolidation.json", version=3), "has version 3"),
        "locks": (put("locks/target-0f.lock"), "target-….lock"),
        "journal": (put("sessions/a1f3c9e2b7/durable-events.jsonl"), "durable-events.jsonl"),
        "database": (put("memory/memory.db"), "memory/memory.db is a database"),
        "marker": (put("memory/layout.json", '{"layout": 2}'), "indicates a different layout"),
    },
    "codex": {
        "third generation": (put("memories_v3/memory_summary.md", "v1\n"), "memories_v3"),
        "database of a third generation": (put("memories_v3_1.sqlite"), "memories_v3_1.sqlite"),
        "database of another schema": (put("memories_v2_2.sqlite"), "memories_v2_2.sqlite"),
        "version in the settings": (put("config.toml", '[memories]\nversion = "v3"\n'), "version “v3”"),
        "version of another type": (put("config.toml", "[memories]\nversion = 2\n"), "version 2"),
        "mark of the summary": (put("memories/memory_summary.md", "v2\n\n## User Profile\n"), "“v2”"),
        "baseline": (put("memories/.git/codex-baseline-version", "2"), "version “2”"),
        "missing table": (sql("memories_1.sqlite", "DROP TABLE jobs"), "no table “jobs”"),
        "renamed column": (
            sql("memories_1.sqlite", "ALTER TABLE jobs RENAME COLUMN job_key TO work_key"),
            "lacks “job_key”",
        ),
        "migrations far ahead": (sql("memories_1.sqlite", _at(40)), "migration 40"),
    },
    "claude": {
        "index is a directory": (_in_memory(_index_directory), "MEMORY.md is a directory"),
        "index of another format": (_in_memory(_index_json), "MEMORY.json"),
        "version in the index": (
            _in_memory(put("MEMORY.md", "---\nformat_version: 2\n---\n- [A](a.md)\n")),
            "format version “2”",
        ),
        "marker": (_in_memory(put(".version", "2\n")), ".version indicates"),
        "database": (_in_memory(put("memory.sqlite")), "memory.sqlite is a database"),
        "lock that holds no process": (
            _in_memory(put(".consolidate-lock", '{"pid": 4}')),
            "consolidate-lock",
        ),
    },
    "loki": {
        "index version": (field("memory/index.json", version="3.0"), "index.json has version “3.0”"),
        "index version as a number": (field("memory/index.json", version=1.0), "version 1.0"),
        "index schema": (field("memory/index.json", schema_version=2), "schema_version 2"),
        "patterns version": (field("memory/semantic/patterns.json", version="2.1"), "“2.1”"),
        "patterns of another type": (field("memory/semantic/patterns.json", patterns={}), "“patterns”"),
        "episode schema": (field(_EPISODE, schema_version="4"), "schema_version “4”"),
        "only a database": (_only_database, "only in memory.db"),
        "database schema": (
            sql("memory/memory.db", _META, "INSERT INTO metadata VALUES ('schema_version', '2')"),
            "schema_version “2”",
        ),
    },
}

HARMLESS: Mapping[str, Mapping[str, Change]] = {
    "mux": {
        "nothing": lambda root: None,
        "known version": field("config.json", version=1),
        "usage that the agent reads as none": field("memory-meta.json", entries=[]),
        "fields to come": field("config.json", memoryLayout="x", migrations={"all": True}),
        "usage fields to come": field("memory-meta.json", version=1, more=[]),
        "no sidecars": lambda root: [(root / n).unlink() for n in ("memory-meta.json", "config.json")],
        "torn": put("memory-meta.json", "{"),
        "other locks": put("locks/app.lock"),
        "a memory of that name": put("memory/global/version"),
    },
    "codex": {
        "nothing": lambda root: None,
        "second version beside it": put("memories_v2/memory_summary.md", "v1\n"),
        "its database and lock": lambda root: [
            put(n)(root) for n in ("memories_v2_1.sqlite", "memories_v2.lock")
        ],
        "versions that are known": put("config.toml", '[memories]\nversion = "v2"\ndual_write = true\n'),
        "no settings": lambda root: (root / "config.toml").unlink(),
        "broken settings": put("config.toml", "[memories\n"),
        "summary of the first generation": put("memories/memory_summary.md", "# Memory Summary\n"),
        "mark with a CR": put("memories/memory_summary.md", "v1\r\n\r\n## User Profile\r\n"),
        "no baseline": lambda root: (root / "memories/.git/codex-baseline-version").unlink(),
        "a few migrations more": sql("memories_1.sqlite", _at(3), _at(4), "CREATE TABLE more (x INTEGER)"),
        "a column more": sql("memories_1.sqlite", "ALTER TABLE jobs ADD COLUMN more TEXT"),
        "other directories": put("memories_extensions/x.md"),
        "a database that is none": put("memories_1.sqlite", "no database"),
    },
    "claude": {
        "nothing": lambda root: None,
        "held": _in_memory(put(".consolidate-lock", str(os.getpid()))),
        "front matter": _in_memory(
            put("MEMORY.md", "---\nversion: 2\nnode_type: memory\n---\n- [A](a.md)\n")
        ),
        "no index": _in_memory(lambda memory: (memory / "MEMORY.md").unlink()),
        "files of others": lambda root: [
            _in_memory(put(n))(root) for n in ("Thumbs.db", ".DS_Store", "x.json")
        ],
        "notes on versions": _in_memory(put("version.md", "format_version: 2\n")),
    },
    "loki": {
        "nothing": lambda root: None,
        "older version": field("memory/index.json", version="1.0"),
        "version of the database builds": field("memory/timeline.json", version="2.0.0"),
        "no version": put("memory/index.json", '{"topics": []}'),
        "fields to come": field("memory/index.json", layout=7),
        "torn index": put("memory/index.json", "{"),
        "a bare list of patterns": put("memory/semantic/patterns.json", "[]"),
        "patterns without a list": put("memory/semantic/patterns.json", "{}"),
        "known database": sql(
            "memory/memory.db", _META, "INSERT INTO metadata VALUES ('schema_version', '1')"
        ),
    },
}
