"""The SQLite store that some builds of loki-mode keep beside the files (formats/loki.md section 9).

Its contents are shown as text, merged by id with the files. Patterns and skills may be only in the database;
episodes are in the files, too. The database is read through a copy (`files.sqlite`) and never written. Any
table may be missing. A row with invalid data is shown as text.

Threading: blocking. Failure: `Unavailable`, or a sentence in `problems` or in the text.
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

DATABASE = "memory.db"
_BESIDE_DATABASE = ("memory.db-wal", "memory.db-shm")
_TABLES = ("episodes", "patterns", "skills", "timeline_actions")
_MOST = 20_000


def database_records(path: Path, cache: Path) -> dict[str, list[Any]]:
    """Return the records in the database `path` by table, unchanged, oldest row first.

    `cache`: the directory for a copy of the database, which is read in its place.

    Raises `Unavailable`.
    """
    from reverie.files.sqlite import Database  # late: sqlite3 comes with it

    database = Database(path, cache / "databases", otherwise="; Reverie can still read the files beside it")
    return {table: [_record(row) for row in database.rows(table, _COLUMNS, limit=_MOST)] for table in _TABLES}


def database_patterns(memory: Path, cache: Path | None, problems: list[str]) -> tuple[dict[str, Any], ...]:
    """Return the patterns that are in the database of the memory root `memory` and in no file.

    `cache`: the directory for copies of databases; None: the database is not read. A failure adds a message
    to `problems`.
    """
    path = memory / DATABASE
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
    """Return the contents of the database as Markdown.

    `cache`: the directory for copies of databases; None: the text says that the database cannot be read.
    """
    if path.name in _BESIDE_DATABASE:
        return f"# {path.name}\n\nThis file is part of {DATABASE}. Open that to see its contents.\n"
    if cache is None:
        return f"# {DATABASE}\n\nReverie reads it through a copy, and has nowhere to put one now.\n"
    try:
        found = database_records(path, cache)
    except UserError as error:
        return f"# {DATABASE}\n\n{error}\n"
    return "\n".join(_lines(path.parent, found)).rstrip() + "\n"


_COLUMNS = ("data", "id", "timestamp", "type", "action", "description", "outcome", "created_at")


def _record(row: Any) -> Any:
    """Return the record that a row of the database contains.

    It is the JSON value in the column `data`, or the text in that column if it is not valid JSON. If there
    is no `data`, the columns of the row, without those that are null, are the record.
    """
    data = row.get("data")
    if isinstance(data, str | bytes):
        try:
            return parse_record(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
        except ValueError:
            return data if isinstance(data, str) else data.decode("utf-8", "replace")
    return {key: value for key, value in row.items() if value is not None}


def _lines(memory: Path, found: dict[str, list[Any]]) -> Iterator[str]:
    yield f"# {DATABASE}"
    yield ""
    yield "A database that some versions of loki-mode keep beside the files. Reverie only reads it."
    if not any(found.values()):
        yield from ("", "The database contains no records yet.")
        return
    files = _in_files(memory)
    for table, records in found.items():
        also = [each for each in records if isinstance(each, dict) and _same(each, files.get(table, {}))]
        own = [each for each in records if each not in also]
        if records:
            yield from ("", f"# {table.replace('_', ' ').capitalize()}", "")
        if also:
            same = "is identical to a record" if len(also) == 1 else "are identical to records"
            yield f"{len(also)} of these {same} in the files and shown there."
        if table == "patterns" and own:
            yield from ("", _below_heading(_rendered_record("semantic/patterns.json", {"patterns": own})))
        elif table == "timeline_actions" and own:
            yield from ("", _below_heading(_rendered_record("timeline.json", {"recent_actions": own})))
        else:
            folder = "skills/x.json" if table == "skills" else "episodic/x/y.json"
            for each in own:
                yield from ("", _rendered_record(folder, each))


def _rendered_record(rel: str, record: Any) -> str:
    """Return a record rendered as if it were the content of the file `rel`, with deeper headings.

    The result is Markdown; its headings are one level deeper than those of the file would be.
    """
    text = rendered(rel, json.dumps(record).encode()) or ""
    return "\n".join(f"#{line}" if line.startswith("#") else line for line in text.splitlines())


def _below_heading(text: str) -> str:
    """Return a text without its first heading, which the table's own heading replaces."""
    return text.partition("\n")[2].strip("\n")


def _in_files(memory: Path) -> dict[str, dict[str, Any]]:
    """Return the records in the files below the memory root `memory`: table -> id -> record."""
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
