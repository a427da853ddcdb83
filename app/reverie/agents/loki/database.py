"""The SQLite store that some builds of loki-mode keep beside the files (formats/loki.md section 9): what it
holds, in words, merged by id with the files.

Patterns and skills may stand in it alone; episodes stand in the files, too. It is read through a copy
(`files.sqlite`) and never written. Every table may be missing, and any row odd: what is no record is
told as such. Threading: blocking. Failure: `Unavailable`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.agents.loki.records import (
    episode_files,
    parse_record,
    patterns_of,
    read_object,
    read_record,
    text_of,
)
from reverie.agents.loki.rendering import rendered
from reverie.agents.reading import file_names
from reverie.errors import UserError
from reverie.files.directory import is_file
from reverie.files.sqlite import Database

NAME = "memory.db"
BESIDE = ("memory.db-wal", "memory.db-shm")
_TABLES = ("episodes", "patterns", "skills", "timeline_actions")
_MOST = 20_000


def database_records(path: Path, cache: Path) -> dict[str, list[Any]]:
    """The records of each table, as they are, oldest row first. Raises `Unavailable`."""
    database = Database(path, cache / "databases", otherwise="; the files beside it are read all the same")
    return {table: [_record(row) for row in database.rows(table, _COLUMNS, limit=_MOST)] for table in _TABLES}


def database_patterns(memory: Path, cache: Path | None, problems: list[str]) -> tuple[dict[str, Any], ...]:
    """The patterns that stand in the database and in no file."""
    path = memory / NAME
    if cache is None or not is_file(path):
        return ()
    try:
        found = database_records(path, cache)["patterns"]
    except UserError as error:
        problems.append(f"{path}: {error}")
        return ()
    known = _ids(patterns_of(read_record(memory / "semantic" / "patterns.json", [])))
    return tuple(
        each for each in found if isinstance(each, dict) and text_of(each.get("id")) not in known - {""}
    )


def rendered_database(path: Path, cache: Path | None) -> str:
    """What the database holds, as Markdown."""
    if path.name in BESIDE:
        return f"# {path.name}\n\nThis belongs to {NAME}, where what it holds is told.\n"
    if cache is None:
        return f"# {NAME}\n\nIt is read through a copy, for which there is no place now.\n"
    try:
        found = database_records(path, cache)
    except UserError as error:
        return f"# {NAME}\n\n{error}\n"
    return "\n".join(_lines(path.parent, found)).rstrip() + "\n"


_COLUMNS = ("data", "id", "timestamp", "type", "action", "description", "outcome", "created_at")


def _record(row: Any) -> Any:
    """The record in a row: its `data`, else its columns."""
    data = row.get("data")
    if isinstance(data, str | bytes):
        try:
            return parse_record(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        except ValueError:
            return data if isinstance(data, str) else data.decode("utf-8", "replace")
    return {key: value for key, value in row.items() if value is not None}


def _lines(memory: Path, found: dict[str, list[Any]]) -> Iterator[str]:
    yield f"# {NAME}"
    yield ""
    yield "The store that some builds of loki-mode keep beside the files. It is only read."
    if not any(found.values()):
        yield from ("", "It holds nothing so far.")
        return
    files = _in_files(memory)
    for table, records in found.items():
        also = [each for each in records if isinstance(each, dict) and _same(each, files.get(table, {}))]
        own = [each for each in records if each not in also]
        if records:
            yield from ("", f"# {table.replace('_', ' ').capitalize()}", "")
        if also:
            yield f"{len(also)} of these stand in the files, too, word for word, and are told there."
        if table == "patterns" and own:
            yield from ("", _below_heading(_rendered_record("semantic/patterns.json", {"patterns": own})))
        elif table == "timeline_actions" and own:
            yield from ("", _below_heading(_rendered_record("timeline.json", {"recent_actions": own})))
        else:
            folder = "skills/x.json" if table == "skills" else "episodic/x/y.json"
            for each in own:
                yield from ("", _rendered_record(folder, each))


def _rendered_record(rel: str, record: Any) -> str:
    """As the file of this name would be told, its headings one level deeper."""
    text = rendered(rel, json.dumps(record).encode()) or ""
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in text.splitlines())


def _below_heading(text: str) -> str:
    """Without the first heading, in whose place the table's own stands."""
    return text.partition("\n")[2].strip("\n")


def _in_files(memory: Path) -> dict[str, dict[str, Any]]:
    """What the files hold, by table and id."""
    problems: list[str] = []
    skills = memory / "skills"
    names = (name for name in file_names(skills, problems) if name.endswith(".json"))
    return {
        "episodes": _by_id(read_object(path, problems) for _day, path in episode_files(memory)),
        "patterns": _by_id(patterns_of(read_record(memory / "semantic" / "patterns.json", problems))),
        "skills": _by_id(read_object(skills / name, problems) for name in names),
    }


def _by_id(records: Any) -> dict[str, Any]:
    return {text_of(each.get("id")): each for each in records if each and each.get("id")}


def _ids(records: tuple[dict[str, Any], ...]) -> set[str]:
    return {text_of(each.get("id")) for each in records}


def _same(record: dict[str, Any], files: dict[str, Any]) -> bool:
    return bool(record.get("id")) and files.get(text_of(record["id"])) == record
