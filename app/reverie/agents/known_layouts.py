"""Detection of store layouts and versions that Reverie does not know.

The rule for future versions: fields that Reverie does not know are kept and are no reason to refuse writing.
These are reasons: an unknown version number, a missing part that Reverie relies on, and a value of another
type. Files that cannot be read or parsed are not judged here, because every reader reports them itself.
Facts: formats/mux.md sections 1 to 3 and 20, formats/codex.md sections 3, 4 and 10, formats/claude-code.md
sections 4, 5 and 12, formats/loki.md sections 3 to 9.

Evidence is a sentence that names the file, the value found in it and the values that Reverie knows. It is
stable, because a permission covers exactly that text (`memory.store`).

SQLite and TOML are imported where they are needed, because a hook of an agent runs the other checks, and the
agent waits for it.

Nothing is written. The module reads the few files named here, up to a limit, lists few directories, and reads
databases through a copy. Threading: any thread but the GUI's. Failure: nothing is raised; data that cannot be
reached is not judged.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.agents.codex.locations import config
from reverie.agents.reading import (
    as_object,
    cached_until_changed,
    entries_in,
    file_names,
    read_beginning,
    read_json,
)
from reverie.agents.scopes import Refusal
from reverie.errors import UserError
from reverie.files.directory import is_directory, is_file, is_there

if TYPE_CHECKING:
    from reverie.files.sqlite import Database, Row

WHOLE_HOME = ""
CODEX_MEMORIES = "memories"
"""The store key that covers all memory roots of a Codex home; its instructions are not part of them."""
MUX_WRITER_STATE = "system1-memory-writer-state.json"

_JSON_BYTES = 64 << 20
_HEAD_BYTES = 4096
_MOST_SESSIONS = 100
_MOST_LOCKS = 500
_JOURNAL = "durable-events.jsonl"
_MOST_RECORDS = 20
_LONGEST_VALUE = 60

_MARKERS = frozenset({".version", "version", "version.json", "layout.json"})
_DATABASE = re.compile(r"(?:memory|memories|index|store)\.(?:db|sqlite3?)", re.IGNORECASE)

_Shape = Mapping[str, Any]
"""A JSON object for checking: scalars as they are, and `list` or `dict` in place of a container."""


def refusals(store: str, evidence: Sequence[str], *, has_workspaces: bool = False) -> tuple[Refusal, ...]:
    """Return a tuple with one refusal to write into a store; empty if there is no `evidence`.

    `store`: the store's key, or `WHOLE_HOME`. `evidence`: a sentence about each part of the layout that
    Reverie does not know; the refusal contains all of them, and names the command that allows writing anyway.
    `has_workspaces`: whether the agent's homes have workspaces, so that this command needs a workspace id.
    """
    if not evidence:
        return ()
    command = (
        "`reverie doctor --workspace ID --fix known-layout`; a home with one workspace needs no ID"
        if has_workspaces
        else "`reverie doctor --fix known-layout`"
    )
    return (
        Refusal(
            "unknown-layout",
            store,
            "Reverie does not recognize the layout of these memories, so it only reads them."
            if store
            else "Reverie does not recognize the layout of this home, so it only reads the home.",
            " ".join(evidence),
            f"Update Reverie, or choose “Write anyway” in the checks of the Traces tab ({command}).",
        ),
    )


def mux_home(home: Path, session: Path | None = None) -> tuple[Refusal, ...]:
    """Return refusals for data of a mux home that has an unknown layout or version.

    Checks the home's lists and data files, and whether there are locks and journals, which no known version
    has. `home`: the agent's home. `session`: the directory of the session in question, None for none. This
    session is always checked, including the state of its memory writer; of the other sessions only some are
    checked.
    """
    found = [*_version(home / "config.json", known=(1,))]
    found += _types(home / "config.json", {"projects": list}, shown="config.json")
    found += _version(home / "memory-meta.json", known=(1,))
    found += _version(home / "memory-consolidation.json", known=(1,))
    found += _foreign_parts(home / "memory", "memory/", "folders of Markdown files for each scope")
    locks = sorted(
        entry.name
        for entry in islice(entries_in(home / "locks"), _MOST_LOCKS)
        if entry.name.startswith("target-") and entry.name.endswith(".lock")
    )
    if locks:
        found.append(
            "locks/ contains “target-….lock”: the agent locks memories while it changes them. Reverie "
            "recognizes only the layout without these locks."
        )
    if session is not None:
        found += _version(session / MUX_WRITER_STATE, known=(1,), fields=("schemaVersion",))
    if _journaled(home, session):
        found.append(
            "sessions/…/durable-events.jsonl records each change of a memory. Reverie recognizes only "
            "the layout without this record."
        )
    return refusals(WHOLE_HOME, found, has_workspaces=True)


def _journaled(home: Path, session: Path | None) -> bool:
    """Return whether any session records each change of a memory in a journal.

    `session` (None: no such session) is always checked, and of the other sessions a limited number.
    """
    if session is not None and is_file(session / _JOURNAL):
        return True
    return any(
        os.path.isfile(f"{entry.path}/{_JOURNAL}")  # noqa: PTH113 - asked for many
        for entry in islice(entries_in(home / "sessions"), _MOST_SESSIONS)
    )


_CODEX_GENERATION = re.compile(r"memories_v(\d+)(?:_(\d+))?(\.sqlite|\.lock)?", re.IGNORECASE)
_CODEX_DATABASE = re.compile(r"memories_(\d+)\.sqlite")
_CODEX_VERSIONS = ("v1", "v2")
_NEWEST_GENERATION = 2
_KNOWN_SCHEMA = 1
_KNOWN_MIGRATION = 2
_FAR_AHEAD = 10
"""Number of migrations beyond the known ones that are accepted, as later versions only add something."""
_CODEX_MEMORY_DATABASE = re.compile(r"memories(?:_v\d+)?(?:_\d+)?\.sqlite")
_CODEX_COLUMNS: Mapping[str, frozenset[str]] = {
    "jobs": frozenset({"kind", "job_key", "status"}),
    "stage1_outputs": frozenset({"thread_id", "source_updated_at"}),
}
"""The columns of the memory databases that Reverie relies on."""


def codex_memories(home: Path) -> tuple[str, ...]:
    """Return evidence that a Codex home's memories have an unknown layout: one sentence per unknown part.

    Empty if the layout is known. Checks the version numbers in the names of the home's files, and the version
    in the settings.
    """
    found: list[str] = []
    for name in sorted(entry.name for entry in entries_in(home)):
        generation, database = _CODEX_GENERATION.fullmatch(name), _CODEX_DATABASE.fullmatch(name)
        newer = generation and int(generation[1]) > _NEWEST_GENERATION
        schema = (generation and generation[2]) or (database and database[1])
        if newer or (schema and int(schema) > _KNOWN_SCHEMA):
            known = "memories/ and memories_v2/, with memories_1.sqlite and memories_v2_1.sqlite"
            found.append(f"The home contains {name}. Reverie recognizes {known}.")
    version = as_object(config(home)[0].get("memories")).get("version")
    if version is not None and version not in _CODEX_VERSIONS:
        found.append(
            f"config.toml has [memories] version {_shown(version)}. Reverie knows {_listed(_CODEX_VERSIONS)}."
        )
    return tuple(found)


def codex_root(directory: Path) -> tuple[str, ...]:
    """Return evidence that one memory root of Codex has an unknown layout: one sentence per unknown part.

    Empty if the layout is known. Checks the version in the first line of the summary, and the version of
    Codex's copy for comparison (its baseline).
    """
    found: list[str] = []
    first = _first_line(directory / "memory_summary.md")
    if re.fullmatch(r"v\d+", first) and first != "v1":
        found.append(
            f"{directory.name}/memory_summary.md begins with {_shown(first)}. Reverie knows {_shown('v1')}."
        )
    baseline = _first_line(directory / ".git" / "codex-baseline-version")
    if baseline and baseline != "1":
        found.append(f"The baseline of {directory.name}/ has version {_shown(baseline)}. Reverie knows 1.")
    return tuple(found)


def codex_databases(places: Sequence[Path], cache: Path | None) -> tuple[str, ...]:
    """Return evidence that Codex's memory databases have an unknown layout: one sentence per unknown part.

    Empty if the layout is known. `places`: the directories that may contain the databases. `cache`: the
    directory for copies of databases; None: the databases are not checked.
    """
    from reverie.files.sqlite import Database

    found: list[str] = []
    for place in places if cache is not None else ():
        for name in file_names(place, []):
            if cache is not None and _CODEX_MEMORY_DATABASE.fullmatch(name):
                database = Database(place / name, cache / "databases", otherwise="")
                with contextlib.suppress(UserError):  # its reader reports that it cannot be read
                    found += _codex_database(name, database)
    return tuple(dict.fromkeys(found))


def _codex_database(name: str, database: Database) -> Iterator[str]:
    applied = [row["version"] for row in database.rows("_sqlx_migrations", ("version",))]
    newest = max((each for each in applied if isinstance(each, int)), default=0)
    if not newest:
        return  # empty, or of a time before migrations were counted
    if newest > _KNOWN_MIGRATION + _FAR_AHEAD:
        yield f"{name} is at migration {newest}. Reverie recognizes migrations up to {_KNOWN_MIGRATION}."
    tables = database.tables()
    for table, needed in _CODEX_COLUMNS.items():
        if table not in tables:
            yield f"{name} has no table “{table}”, which Reverie needs."
        elif missing := sorted(needed - database.columns(table)):
            yield f"The table “{table}” of {name} lacks {_listed(missing)}, which Reverie needs."


_FRONT_VERSION = re.compile(r"^(?:memory|format|schema)_version:[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)


def claude_root(directory: Path) -> tuple[str, ...]:
    """Return evidence that Claude Code's memory `directory` has an unknown layout: one sentence per part.

    Empty if the layout is known.
    """
    found = [*_foreign_parts(directory, "", "Markdown files with MEMORY.md as their index")]
    index, lock = directory / "MEMORY.md", directory / ".consolidate-lock"
    if is_directory(index):
        found.append("MEMORY.md is a directory. Reverie expects a Markdown file.")
    elif not is_file(index):
        found += [
            f"The index is {name}. Reverie expects MEMORY.md."
            for name in ("MEMORY.json", "MEMORY.jsonl")
            if is_file(directory / name)
        ]
    else:
        head = _head(index)
        front = head.partition("\n---")[0] if head.startswith("---\n") else ""
        found += [
            f"MEMORY.md has format version {_shown(match[1])}. Reverie knows the one without a number."
            for match in _FRONT_VERSION.finditer(front)
        ]
    if is_directory(lock):
        found.append(".consolidate-lock is a directory. Reverie expects a file with a process ID.")
    elif (body := _head(lock).strip()) and not body[0].isdigit():
        found.append(
            f".consolidate-lock holds {_shown(body.splitlines()[0])}. Reverie knows a process id, or nothing."
        )
    return tuple(found)


_LOKI_VERSIONS = ("1.0", "1.1.0", "2.0.0")
_LOKI_FIELDS = ("version", "schema_version")
_LOKI_FILES: Mapping[str, Mapping[str, type]] = {
    "index.json": {"topics": list},
    "timeline.json": {"recent_actions": list, "key_decisions": list},
    "semantic/patterns.json": {"patterns": list},
    "semantic/anti-patterns.json": {"anti_patterns": list},
}
_LOKI_PARTS = ("index.json", "timeline.json", "episodic", "semantic", "skills")
_LOKI_DATABASE = "memory.db"
_LOKI_SCHEMA = "1"


def loki_root(memory: Path) -> tuple[str, ...]:
    """Return evidence that a memory root of loki-mode has an unknown layout: one sentence per unknown part.

    Empty if the layout is known. Only files below the root are checked; `loki_database` checks the database.
    """
    found: list[str] = []
    for name, types in _LOKI_FILES.items():
        found += _version(memory / name, known=_LOKI_VERSIONS, fields=_LOKI_FIELDS, shown=name)
        found += _types(memory / name, types, shown=name)
    for path in _newest_records(memory):
        shown = path.relative_to(memory).as_posix()
        of_record = [*_version(path, known=_LOKI_VERSIONS, fields=_LOKI_FIELDS, shown=shown)]
        if of_record:
            found += of_record
            break  # one is enough; the next one would need another permission for the same reason
    if is_file(memory / _LOKI_DATABASE) and not any(is_there(memory / part) for part in _LOKI_PARTS):
        found.append(f"The memories are only in {_LOKI_DATABASE}. Reverie recognizes stores of JSON files.")
    return tuple(found)


def loki_database(memory: Path, cache: Path | None) -> tuple[str, ...]:
    """Return a sentence, as evidence, if the database in a memory root of loki-mode has an unknown layout.

    Empty if the layout is known. `cache`: the directory for copies of databases; None: the database is not
    read.
    """
    path = memory / _LOKI_DATABASE
    if cache is None or not is_file(path):
        return ()
    from reverie.files.sqlite import Database

    rows: tuple[Row, ...] = ()
    with contextlib.suppress(UserError):  # its reader reports that it cannot be read
        rows = Database(path, cache / "databases", otherwise="").rows("metadata", ("key", "value"))
    schema = next((row.get("value") for row in rows if row.get("key") == "schema_version"), None)
    if schema is None or str(schema) == _LOKI_SCHEMA:
        return ()
    return (f"{_LOKI_DATABASE} has schema_version {_shown(schema)}. Reverie recognizes {_LOKI_SCHEMA}.",)


def _newest_records(memory: Path) -> Iterator[Path]:
    """Yield the files of a few of the newest episodes and skills below the memory root `memory`.

    These files are checked, because a new version of the agent changes the format of new files first.
    """
    days = sorted((entry.name for entry in entries_in(memory / "episodic")), reverse=True)
    for directory in [*(memory / "episodic" / day for day in days[:2]), memory / "skills"]:
        names = sorted(entry.name for entry in islice(entries_in(directory), 10 * _MOST_RECORDS))
        yield from (directory / name for name in names[-_MOST_RECORDS:] if name.endswith(".json"))


def _foreign_parts(directory: Path, prefix: str, known: str) -> Iterator[str]:
    """Yield a sentence for each file in `directory` that indicates another layout, and for each database.

    `prefix`: the path of the directory as the sentences name it, with a `/` at the end. `known`: the layout
    that Reverie knows, in words.
    """
    names = [entry.name for entry in islice(entries_in(directory), 5000)]
    for name in sorted(names):
        if name.lower() in _MARKERS and is_file(directory / name):
            found = _shown(" ".join(_head(directory / name).split()))
            yield f"{prefix}{name} indicates a different layout ({found}). Reverie recognizes {known}."
        elif _DATABASE.fullmatch(name):
            yield f"{prefix}{name} is a database. Reverie recognizes {known}."


def _version(
    path: Path, *, known: Collection[Any], fields: Sequence[str] = ("version",), shown: str = ""
) -> Iterator[str]:
    """Yield a sentence for each version field of a JSON file that has an unknown value.

    `known`: the values that Reverie knows. `fields`: the names of the version fields, which may be missing.
    `shown`: the name of the file in the sentence; empty: the last part of `path`.
    """
    shape = _shape(path)
    for name in fields:
        value = shape.get(name)
        if name in shape and not any(value == each and type(value) is type(each) for each in known):
            yield f"{shown or path.name} has {name} {_shown(value)}. Reverie recognizes {_listed(known)}."


def _types(path: Path, types: Mapping[str, type], *, shown: str = "") -> Iterator[str]:
    """Yield a sentence for each value in a JSON file that has another type than expected.

    `types`: field name -> expected type. A missing field and null are accepted. `shown`: the name of the file
    in the sentence; empty: the last part of `path`.
    """
    words: Mapping[type, str] = {list: "a list", dict: "an object"}
    shape = _shape(path)
    for name, wanted in types.items():
        value = shape.get(name)
        if value is not None and value is not wanted:
            yield f"“{name}” in {shown or path.name} is not {words[wanted]}, as Reverie expects."


def _shape(path: Path) -> _Shape:
    """Return the first 200 entries of the object in a JSON file; a list or object is replaced by its type.

    Empty if the file cannot be read or parsed, or contains something other than an object.
    """
    try:
        return _shape_of(path)
    except OSError:
        return {}


@cached_until_changed(512)
def _shape_of(path: Path) -> _Shape:
    try:
        data = as_object(read_json(path, _JSON_BYTES))
    except (OSError, ValueError):
        return {}
    return {
        key: type(value) if isinstance(value, list | dict) else value
        for key, value in islice(data.items(), 200)
    }


def _first_line(path: Path) -> str:
    return _head(path).partition("\n")[0].rstrip("\r ")


def _head(path: Path) -> str:
    """Return the beginning of a file as text; empty if the file is missing or cannot be read."""
    try:
        return read_beginning(path, _HEAD_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


def _shown(value: object) -> str:
    """Return a value from disk as text for a sentence: short, on one line."""
    if isinstance(value, type):
        return "a list or an object"
    text = f"“{value}”" if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _listed(values: Collection[Any]) -> str:
    words = [_shown(value) for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
