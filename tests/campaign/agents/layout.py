"""What a program's home is made of, by name, and how that differs from what is known.

A layout has five kinds of facts: the names in each place, the tables of each database, the columns of each
table, the kinds of records in a transcript, the keys of records and sidecars. Names that differ from home to
home are patterns: `<uuid>`, `<time>`, `<n>`, `<hex>`, `<name>`. `layouts.json` has the known facts of the
versions that Reverie was written for; `python -m campaign.agents.layout AGENT VERSION HOME...` adds what
other homes hold. No content of a home is ever in a layout.

Invariants: a home is only read, databases through a copy. No file is opened that this module does not name,
so no credential file is. Failure: what cannot be read is a difference by name, never an exception.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KNOWN = Path(__file__).with_name("layouts.json")
Facts = dict[str, dict[str, set[str]]]
"""Names by kind (`entries`, `tables`, `columns`, `records`, `keys`) and by the place they are in."""

_PARTS = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>"),
    (r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d", "<time>"),
    (r"(?<![0-9a-zA-Z])[0-9a-f]{10,}(?![0-9a-zA-Z])", "<hex>"),
    (r"(?<![0-9a-zA-Z_])\d{1,20}(?=\.|$)", "<n>"),
)
_KINDS = ("entries", "tables", "columns", "records", "keys")
_KIND_WORDS = {"tables": "table", "columns": "column", "records": "kind of record", "keys": "key"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How the home of one agent is read."""

    title: str
    names: tuple[tuple[str, str, str], ...]
    """`(place, name, pattern)`: what a name that matches becomes in a place that matches."""
    opaque: tuple[str, ...]
    """Places that are not looked into: text of people, copies of programs, git's own files."""
    transcripts: str
    """Which files are transcripts, as a regular expression of their pattern."""
    record: Callable[[Mapping[str, Any]], tuple[str, Mapping[str, Any]]]
    """The kind of a transcript's record, and the object whose keys are its own."""
    sidecars: tuple[str, ...] = ()
    """Patterns of JSON files (`.jsonl`: one value a line) whose keys are facts."""


def read_layout(home: Path, shape: Shape) -> Facts:
    """The facts of a home."""
    facts: Facts = {kind: {} for kind in _KINDS}
    for path, place, name in _walk(home, home, "", shape):
        _add(facts, "entries", place, [name])
        pattern = f"{place}/{name}" if place else name
        if path.is_dir() or path.is_symlink():
            continue
        if name.endswith(".sqlite"):
            for table, columns in _tables(path):
                _add(facts, "tables", pattern, [table])
                _add(facts, "columns", f"{table} of {pattern}", columns)
        elif re.fullmatch(shape.transcripts, pattern):
            for row in _rows(path):
                kind, own = shape.record(row)
                _add(facts, "records", "transcripts", [kind])
                _add(facts, "keys", f"{kind} in transcripts", own)
        elif pattern in shape.sidecars:
            for row in _rows(path) if name.endswith(".jsonl") else _whole(path):
                _add(facts, "keys", pattern, row)
    return facts


def known_layout(agent: str, file: Path = KNOWN) -> Facts:
    """The known facts of an agent (`codex`, `claude`, `mux`)."""
    told = json.loads(file.read_text("utf-8"))[agent]["facts"]
    return {kind: {place: set(names) for place, names in told.get(kind, {}).items()} for kind in _KINDS}


def differences(known: Facts, seen: Facts) -> list[str]:
    """A line for each name that is not known, and for each table and column that is gone.

    Other names may be missing: what a home holds depends on what was done in it.
    """
    lines = []
    for kind, places in seen.items():
        for place, names in sorted(places.items()):
            if _is_known(known, *_container(kind, place)):  # else what contains them is named itself
                new = sorted(names - known[kind].get(place, set()))
                lines += [f"unknown {_what(kind, name)} in {place or 'the home'}" for name in new]
    for kind in ("tables", "columns"):
        for place, names in sorted(known[kind].items()):
            gone = names - seen[kind].get(place, names)
            lines += [f"no {_what(kind, name)} in {place} any more" for name in sorted(gone)]
    return lines


def learn(agent: str, version: str, homes: Iterable[Path], file: Path = KNOWN) -> None:
    """Add the facts of these homes to those that are known."""
    told = json.loads(file.read_text("utf-8")) if file.exists() else {}
    facts = known_layout(agent, file) if agent in told else {}
    for home in homes:
        for kind, places in read_layout(home, SHAPES[agent]).items():
            for place, names in places.items():
                facts.setdefault(kind, {}).setdefault(place, set()).update(names)
    ordered = {
        kind: {place: sorted(names) for place, names in sorted(places.items())}
        for kind, places in facts.items()
    }
    told[agent] = {"version": version, "facts": ordered}
    file.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _container(kind: str, place: str) -> tuple[str, str, str]:
    """What contains a place, as a fact `(kind, place, name)`; an empty name for the home itself."""
    if kind == "columns":
        table, _, database = place.partition(" of ")
        return "tables", database, table
    if kind == "keys" and place.endswith(" in transcripts"):
        return "records", "transcripts", place.removesuffix(" in transcripts")
    if kind == "records" or not place:
        return "entries", "", ""
    above, _, name = place.rpartition("/")
    return "entries", above, name + ("/" if kind == "entries" else "")


def _is_known(known: Facts, kind: str, place: str, name: str) -> bool:
    return not name or name in known[kind].get(place, set())


def _what(kind: str, name: str) -> str:
    if kind == "entries":
        return f"directory {name[:-1]}" if name.endswith("/") else f"file {name}"
    return f"{_KIND_WORDS[kind]} {name}"


def _add(facts: Facts, kind: str, place: str, names: Iterable[str]) -> None:
    facts[kind].setdefault(place, set()).update(names)


def _walk(home: Path, directory: Path, place: str, shape: Shape) -> Iterator[tuple[Path, str, str]]:
    try:
        entries = sorted(directory.iterdir())
    except OSError as error:
        yield home, place, f"<unreadable: {error.strerror}>"
        return
    for path in entries:
        if path.name.endswith(("-wal", "-shm")):
            continue
        is_directory = path.is_dir() and not path.is_symlink()
        name = _pattern(place, path.name + ("/" if is_directory else ""), shape)
        yield path, place, name
        below = f"{place}/{name}"[:-1] if place else name[:-1]
        if is_directory and not any(re.fullmatch(each, below) for each in shape.opaque):
            yield from _walk(home, path, below, shape)


def _pattern(place: str, name: str, shape: Shape) -> str:
    end = "/" if name.endswith("/") else ""
    plain = name.removesuffix("/")
    if not plain.endswith(".sqlite"):
        for pattern, word in _PARTS:
            plain = re.sub(pattern, word, plain)
    for where, pattern, word in shape.names:
        if re.fullmatch(where, place) and re.fullmatch(pattern, plain + end):
            return word
    return plain + end


def _tables(path: Path) -> Iterator[tuple[str, list[str]]]:
    with tempfile.TemporaryDirectory() as copy:
        for end in ("", "-wal"):
            if Path(f"{path}{end}").exists():
                shutil.copy(f"{path}{end}", Path(copy) / f"{path.name}{end}")
        with contextlib.closing(sqlite3.connect(Path(copy) / path.name)) as database:
            try:
                names = [
                    row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type='table'")
                ]
                for name in names:
                    if not name.startswith("sqlite_"):
                        columns = database.execute("SELECT name FROM pragma_table_info(?)", (name,))
                        yield name, [row[0] for row in columns]
            except sqlite3.Error as error:
                yield f"<unreadable: {error}>", []


def _rows(path: Path) -> Iterator[Mapping[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            with contextlib.suppress(ValueError):
                row = json.loads(line)
                if isinstance(row, dict):
                    yield row


def _whole(path: Path) -> Iterator[Mapping[str, Any]]:
    with contextlib.suppress(ValueError):
        value = json.loads(path.read_text("utf-8", "replace"))
        if isinstance(value, dict):
            yield value


# The agents


def _codex_record(row: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    payload = row.get("payload")
    kind = str(row.get("type"))
    if not isinstance(payload, dict):
        return kind, row
    inner = payload.get("type")
    item = payload.get("item")
    if isinstance(item, dict):
        return f"{kind} {inner} {item.get('type')}", item
    return (f"{kind} {inner}" if isinstance(inner, str) else kind), payload


def _claude_record(row: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    kind = str(row.get("type"))
    attachment = row.get("attachment")
    if isinstance(attachment, dict):
        return f"attachment {attachment.get('type')}", attachment
    subtype = row.get("subtype")
    return (f"{kind} {subtype}" if isinstance(subtype, str) else kind), row


def _mux_record(row: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    return f"message of {row.get('role')}", row


SHAPES: Mapping[str, Shape] = {
    "codex": Shape(
        "Codex",
        names=(
            (
                r"memories(_v2)?/rollout_summaries",
                r"<time>-[0-9A-Za-z]{4}(-.*)?\.md",
                "<time>-<hash>-<slug>.md",
            ),
            (r"memories(_v2)?/extensions/ad_hoc/notes", r"<time>-.*\.md", "<time>-<slug>.md"),
            (r"memories(_v2)?", r"skills/", "skills/"),
        ),
        opaque=(
            *(r"skills", r"memories(_v2)?/(skills|\.git|\.codex-baseline)", r"\.tmp", r"tmp", r"log"),
            *(r"shell_snapshots", r"thread-writer-locks", r"tui-thread-reference-capabilities", r"plugins"),
        ),
        transcripts=r"(sessions/<n>/<n>/<n>|archived_sessions)/rollout-.*\.jsonl",
        record=_codex_record,
        sidecars=("session_index.jsonl", "history.jsonl"),
    ),
    "claude": Shape(
        "Claude Code",
        names=(
            (r"projects", r".*/", "<project>/"),
            (
                r"(projects/<project>/memory|agent-memory/<name>)(/.*)?",
                r"(?!MEMORY\.md)[^/]*\.md",
                "<name>.md",
            ),
            (r"agent-memory", r".*/", "<name>/"),
            (r"telemetry", r".*\.json", "<name>.json"),
            (r"projects/<project>/<uuid>/subagents", r"agent-[0-9a-z]+(\..*)", "agent-<hex>.<kind>"),
            (r"projects/<project>/<uuid>/tool-results", r".*", "<name>"),
        ),
        opaque=(
            *(r"plugins", r"rules", r"agents", r"style", r"skills", r"commands", r"backups", r"session-env"),
            *(r"shell-snapshots", r"statsig", r"telemetry", r"file-history", r"cache"),
        ),
        transcripts=r"projects/<project>/(<uuid>\.jsonl|<uuid>/subagents/.*\.jsonl)",
        record=_claude_record,
        sidecars=("history.jsonl", "sessions/<n>.json", "projects/<project>/<uuid>/custom-title.json"),
    ),
    "mux": Shape(
        "mux",
        names=(
            (r"sessions|scratch", r".*/", "<workspace>/"),
            (r"memory/project", r".*/", "<project>/"),
            (
                r"(memory/(global|project/<project>)|sessions/<workspace>/memory)(/.*)?",
                r"[^/]*\.md",
                "<name>.md",
            ),
            (r"(memory/(global|project/<project>)|sessions/<workspace>/memory)(/.*)?", r".*/", "<name>/"),
        ),
        opaque=(r"src", r"logs", r"scratch/<workspace>"),
        transcripts=r"sessions/<workspace>/chat\.jsonl",
        record=_mux_record,
        sidecars=("memory-meta.json", "memory-consolidation.json", "extensionMetadata.json", "config.json"),
    ),
}


if __name__ == "__main__":
    learn(sys.argv[1], sys.argv[2], [Path(each) for each in sys.argv[3:]])
