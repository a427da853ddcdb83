"""loki-mode's records as they are on disk: read whatever is there, and never let one hide another
(formats/loki.md sections 2 to 6 and 8).

A file that cannot be read becomes one problem in words; a record with odd fields stays, with those fields
taken as absent. Nothing here trusts a field: paths come from the disk alone. Pure but for reading; imports
little, because a command that has to answer at once stands on it.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from reverie.agents.capabilities import AntiPattern
from reverie.agents.loki.locations import DATE
from reverie.agents.reading import as_object, objects_of, texts_of
from reverie.files.directory import leads_to_directory, read_regular
from reverie.values import Struct

LARGEST = 32 << 20
"""Bytes; more is no record."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_MS = 253_402_300_799_999
"""The last moment that the agent's dates can name."""
ANTI_PATTERN = "anti-pattern"


def moment(value: object) -> int | None:
    """Microseconds since 1970 UTC of a date as any of the agent's writers spells it; None: no date. Without a
    zone it is UTC."""
    if not isinstance(value, str):
        return None
    text = value.strip()
    # One writer puts a Z after the offset.
    if text[-1:] in ("Z", "z") and text[-7:-6] in ("+", "-"):
        text = text[:-1]
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    since = when - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def text_of(value: object) -> str:
    """A text field; null and what is no text read as empty. Numbers are spelt out."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def number_of(value: object, absent: float) -> float:
    """A number; null, no number and not finite read as `absent`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return absent
    try:
        return float(value) if math.isfinite(value) else absent
    except OverflowError:
        return absent


def count_of(value: object) -> int:
    """A count; null, negative, no number and booleans read as 0."""
    found = number_of(value, 0)
    return int(found) if found > 0 else 0


class ErrorEntry(Struct, frozen=True):
    """What went wrong in an episode. `index`: its place in the record's own list."""

    type: str
    message: str
    resolution: str
    index: int


class Action(Struct, frozen=True):
    """One step of an episode. `at_s`: seconds after its start."""

    tool: str
    target: str
    result: str
    at_s: float


@dataclasses.dataclass(frozen=True, slots=True)
class Episode:
    """One run of a task. `at` is its start in µs UTC, None where nobody can tell; `when` as it is written."""

    id: str
    task_id: str
    at: int | None
    when: str
    outcome: str
    phase: str
    goal: str
    agent: str
    duration_s: float
    errors: tuple[ErrorEntry, ...]
    actions: tuple[Action, ...]
    files_read: tuple[str, ...]
    files_modified: tuple[str, ...]
    artifacts: tuple[str, ...]
    git_commit: str
    tokens: int
    importance: float
    access_count: int
    last_accessed: int | None
    record: dict[str, Any] = dataclasses.field(repr=False, compare=False, default_factory=dict)


def episode_of(record: dict[str, Any]) -> Episode:
    """A record's fields under any of the names its writers gave them."""
    context = _context_of(record)
    read = record.get("files_read")
    return Episode(
        id=text_of(record.get("id")),
        task_id=text_of(record.get("task_id")),
        at=moment(record.get("timestamp")),
        when=text_of(record.get("timestamp")),
        outcome=text_of(record.get("outcome", "success")),
        phase=phase_of(record),
        goal=text_of(context.get("goal")) or text_of(record.get("goal")),
        agent=text_of(record.get("agent")),
        duration_s=max(0.0, number_of(record.get("duration_seconds"), 0)),
        errors=errors_of(record),
        actions=_actions_of(record.get("action_log")),
        files_read=texts_of(context.get("files_involved") if read is None else read),
        files_modified=texts_of(record.get("files_modified")),
        artifacts=texts_of(record.get("artifacts_produced")),
        git_commit=text_of(record.get("git_commit")),
        tokens=count_of(record.get("tokens_used")),
        importance=number_of(record.get("importance"), 0.5),
        access_count=count_of(record.get("access_count")),
        last_accessed=moment(record.get("last_accessed")),
        record=record,
    )


def phase_of(record: dict[str, Any]) -> str:
    """The phase in which an episode ran."""
    return text_of(_context_of(record).get("phase")) or text_of(record.get("phase"))


def _context_of(record: dict[str, Any]) -> dict[str, Any]:
    return as_object(record.get("context"))


def errors_of(record: dict[str, Any]) -> tuple[ErrorEntry, ...]:
    """The errors of an episode."""
    listed = record.get("errors_encountered")
    if not isinstance(listed, list):
        return ()
    return tuple(
        ErrorEntry(
            text_of(item.get("type", item.get("error_type"))) or text_of(item.get("error_type")),
            text_of(item.get("message")),
            text_of(item.get("resolution")),
            index,
        )
        for index, item in enumerate(listed)
        if isinstance(item, dict)
    )


def _actions_of(value: object) -> tuple[Action, ...]:
    return tuple(
        Action(
            text_of(item.get("tool")) or text_of(item.get("action")),
            text_of(item.get("input")) or text_of(item.get("target")),
            text_of(item.get("output")) or text_of(item.get("result")),
            number_of(item.get("t", item.get("timestamp")), 0),
        )
        for item in objects_of(value)
    )


def patterns_of(document: object) -> tuple[dict[str, Any], ...]:
    """The patterns in `patterns.json`, whose shape varies."""
    if isinstance(document, dict):
        document = document.get("patterns")
    return objects_of(document)


def anti_patterns_of(patterns: object, legacy: object) -> tuple[AntiPattern, ...]:
    """Both stores as one, the legacy one first, as the agent's own search goes through them: what the other
    store holds, too, is left out of it."""
    consolidated = [
        AntiPattern(
            text_of(each.get("id")),
            text_of(each.get("incorrect_approach")) or text_of(each.get("pattern")),
            text_of(each.get("description")),
            text_of(each.get("correct_approach")),
            legacy=False,
            record=each,
        )
        for each in patterns_of(patterns)
        if each.get("category") == ANTI_PATTERN
    ]
    if isinstance(legacy, dict):
        legacy = legacy.get("anti_patterns", legacy.get("patterns"))
    listed = objects_of(legacy)
    if not listed:
        return tuple(consolidated)
    ids = {each.id for each in consolidated if each.id}
    said = {_said(each) for each in consolidated}
    older = (
        AntiPattern(
            text_of(each.get("id")),
            text_of(each.get("what_fails")),
            text_of(each.get("why")),
            text_of(each.get("prevention")),
            legacy=True,
            record=each,
        )
        for each in listed
    )
    kept = [each for each in older if not (each.id and each.id in ids) and _said(each) not in said]
    return (*kept, *consolidated)


def _said(each: AntiPattern) -> tuple[str, str, str]:
    """What an anti-pattern says, however it is spaced and capitalised."""
    what, why, prevention = (
        " ".join(text.lower().split()) for text in (each.what_fails, each.why, each.prevention)
    )
    return what, why, prevention


def parse_record(data: bytes) -> Any:
    """JSON as the agent accepts it. Raises `ValueError` with the cause in words."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not valid UTF-8") from None
    if not text.strip():
        raise ValueError("it is empty")
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except ValueError as error:
        raise ValueError(f"it is not valid JSON ({error})") from None


def parse_to_write(data: bytes) -> Any:
    """As `parse_record`, of a file that is to be written again: of two equal keys one would be lost then.
    Raises `ValueError`."""
    document = parse_record(data)
    json.loads(data, object_pairs_hook=_each_key_once)
    return document


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it holds a key twice")
    return found


def read_record(path: Path, problems: list[str]) -> Any:
    """The JSON in a file; None for a missing one, and for one that cannot be read, which adds a sentence to
    `problems`."""
    try:
        return parse_record(read_regular(path, LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or error
        problems.append(f"{path}: {cause}.")
        return None


def read_object(path: Path, problems: list[str]) -> dict[str, Any] | None:
    """`read_record` for a file that has to hold an object."""
    found = read_record(path, problems)
    if found is None or isinstance(found, dict):
        return found
    problems.append(f"{path}: it holds no record.")
    return None


def episode_files(memory: Path) -> Iterator[tuple[str, Path]]:
    """`(directory name, file)` of every episode, directories and files by name, last first. Directories need
    not be named by a date; `index.json` is none."""
    for day in _names(memory / "episodic", directories=True):
        for name in _names(memory / "episodic" / day, directories=False):
            if name.endswith(".json") and not name.startswith(".") and name != "index.json":
                yield day, memory / "episodic" / day / name


def episode_days(memory: Path) -> list[str]:
    """The dates for which there are episodes, last first. Directories with other names are none."""
    return [day for day in _names(memory / "episodic", directories=True) if _is_date(day)]


def files_of_day(memory: Path, day: str, most: int) -> list[Path]:
    """The episodes of one date in the agent's own order, by name, last first; at most this many."""
    directory = memory / "episodic" / day
    names = _names(directory, directories=False)
    episodes = (name for name in names if name.startswith("task-") and name.endswith(".json"))
    return [directory / name for name in islice(episodes, most)]


def _is_date(name: str) -> bool:
    if not DATE.fullmatch(name):
        return False
    try:
        datetime.fromisoformat(name)
    except ValueError:
        return False
    return True


def _names(directory: Path, *, directories: bool) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            found = [each.name for each in entries if leads_to_directory(each) is directories]
            return sorted(found, reverse=True)
    except OSError:
        return []
