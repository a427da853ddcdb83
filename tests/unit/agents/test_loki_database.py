"""The SQLite store of some builds: told in words, merged by id with the files, and never opened in place."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.benches import Time, contents
from helpers.loki_home import LokiMaker
from reverie.agents.loki.home import LokiHome
from reverie.compose import open_parts
from reverie.profile import Profile
from reverie.services.workbench import Workbench


@pytest.fixture
def maker(tmp_path: Path) -> LokiMaker:
    found = LokiMaker(tmp_path / "project")
    found.episode(1)
    found.patterns(found.anti_pattern(1))
    return found


@pytest.fixture
def database(maker: LokiMaker) -> Iterator[sqlite3.Connection]:
    """A store that its agent holds open, with what is newest in the write-ahead log only."""
    connection = sqlite3.connect(maker.memory / "memory.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    for table in ("episodes", "patterns", "skills"):
        connection.execute(f"CREATE TABLE {table} (id TEXT PRIMARY KEY, data TEXT)")
    connection.execute("CREATE TABLE metadata (key TEXT, value TEXT)")
    yield connection
    connection.close()


def put(connection: sqlite3.Connection, table: str, identity: str, record: Any) -> None:
    data = record if isinstance(record, str | bytes) else json.dumps(record)
    connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (identity, data))


def told(maker: LokiMaker, tmp_path: Path, name: str = "memory.db") -> str:
    home = LokiHome(maker.store, cache=tmp_path / "cache")
    (root,) = home.roots()
    assert home.file_rule(root, name).kind == "read-only"
    return home.rendered(root, name, b"") or ""


def test_its_records_are_told_as_those_of_files_and_each_once(
    maker: LokiMaker, database: sqlite3.Connection, tmp_path: Path
) -> None:
    episode = json.loads(next(maker.memory.glob("episodic/*/*.json")).read_text())
    put(database, "episodes", episode["id"], episode)
    put(database, "episodes", "ep-db", {"id": "ep-db", "goal": "Stand alone", "outcome": "failure"})
    put(database, "patterns", "sem-00000001", maker.anti_pattern(1))
    put(
        database, "patterns", "sem-db", {**maker.anti_pattern(2), "id": "sem-db", "pattern": "Avoid: DbError"}
    )
    put(database, "patterns", "broken", "{")
    put(database, "patterns", "blob", b"\xff")
    put(database, "skills", "skill-x", {"id": "skill-x", "name": "Mend it", "steps": ["look"]})
    before = contents(maker.store)
    text = told(maker, tmp_path)
    assert text.count("1 of these is identical to a record in the files") == 2
    for line in ("## Stand alone", "### Avoid: DbError", "## Skill: Mend it", "1. look"):
        assert line in text.splitlines()
    assert text.count("# Patterns\n") == 1
    assert "Publish the timetable" not in text
    assert "IterationError\n" not in text.replace("When encountering: IterationError", "")
    assert contents(maker.store) == before
    assert told(maker, tmp_path, "memory.db-wal").endswith("Open that to see its contents.\n")


def test_anti_patterns_that_stand_in_it_alone_are_shown_with_the_others(
    maker: LokiMaker, database: sqlite3.Connection, tmp_path: Path
) -> None:
    put(database, "patterns", "sem-00000001", {**maker.anti_pattern(1), "usage_count": 3})
    put(database, "patterns", "sem-db", {**maker.anti_pattern(2), "id": "sem-db"})
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), Time())
    view = Workbench(parts).failures.look()
    assert [each.id for each in view.anti_patterns] == ["sem-00000001", "sem-db"]
    assert view.problems == ()


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough to be looked at " * 40])
def test_what_is_no_database_is_said_and_hides_nothing(
    content: bytes, maker: LokiMaker, tmp_path: Path
) -> None:
    maker.file("memory/memory.db", content)
    assert told(maker, tmp_path).startswith("# memory.db\n\n")
    parts = open_parts(maker.project, Profile.under(tmp_path / "profile"), Time())
    view = Workbench(parts).failures.look()
    assert [each.id for each in view.anti_patterns] == ["sem-00000001"]
    assert len(view.problems) == bool(content)
    assert sorted(each.name for each in maker.memory.glob("memory.db*")) == ["memory.db"]
