"""Tolerant readers for loki-mode's records on disk (formats/loki.md sections 2 to 6 and 8).

A file that cannot be read adds one sentence to the problems. A record with malformed fields is kept, and
these fields count as absent. No field is trusted; paths come only from the disk. Pure except for reading. The
module imports little, because a command that must respond at once uses it.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from reverie.agents.capabilities import AntiPattern
from reverie.agents.loki.locations import DATE
from reverie.agents.reading import as_object, entries_in, objects_of, texts_of
from reverie.files.directory import leads_to_directory, read_regular
from reverie.values import Struct

LARGEST = 32 << 20
"""Maximum size of a record, in bytes."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST_MS = 253_402_300_799_999
"""The last moment that the agent's dates can express, UTC ms."""
ANTI_PATTERN = "anti-pattern"


def moment(value: object) -> int | None:
    """Return a date in any of the agent's formats as microseconds since 1970 UTC; None if it is no date.

    A date without a zone is UTC.
    """
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


def utc(micros: int) -> datetime:
    """Return the date of a number of microseconds since 1970 UTC, as `moment` returns it."""
    return _EPOCH + timedelta(microseconds=micros)


def text_of(value: object) -> str:
    """Return a text field; a number becomes text, null and any other value become empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return ""


def number_of(value: object, absent: float) -> float:
    """Return a number; null, other types and values that are not finite become `absent`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return absent
    try:
        return float(value) if math.isfinite(value) else absent
    except OverflowError:
        return absent


def count_of(value: object) -> int:
    """Return a count; null, negative numbers, booleans and other types become 0."""
    found = number_of(value, 0)
    return int(found) if found > 0 else 0


class ErrorEntry(Struct, frozen=True):
    """One error in an episode (one run of a task by loki-mode)."""

    type: str
    message: str
    resolution: str
    """The way in which the error was resolved; empty if that is unknown."""
    index: int
    """The position of the error in the list `errors_encountered` of the stored record."""


class Action(Struct, frozen=True):
    """One step of an episode (one run of a task by loki-mode), such as a call of a tool."""

    tool: str
    target: str
    """The input of the tool, such as a path."""
    result: str
    at_s: float
    """The time of the step in seconds after the start of the episode."""


@dataclasses.dataclass(frozen=True, slots=True)
class Episode:
    """One run of a task by loki-mode, as its record describes it."""

    id: str
    task_id: str
    at: int | None
    """The start of the episode (UTC µs); None if unknown."""
    when: str
    """The start of the episode as the record has it."""
    outcome: str
    phase: str
    """The phase of the agent's cycle, such as `ACT`."""
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
    """The last use of the episode (UTC µs); None if unknown."""
    record: dict[str, Any] = dataclasses.field(repr=False, compare=False, default_factory=dict)
    """The record from which the other fields were read."""


def episode_of(record: dict[str, Any]) -> Episode:
    """Return the episode in a record; the record's fields may have the names that any of its writers uses."""
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
        actions=tuple(
            Action(
                text_of(item.get("tool")) or text_of(item.get("action")),
                text_of(item.get("input")) or text_of(item.get("target")),
                text_of(item.get("output")) or text_of(item.get("result")),
                number_of(item.get("t", item.get("timestamp")), 0),
            )
            for item in objects_of(record.get("action_log"))
        ),
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
    """Return the phase of the agent's cycle, such as `ACT`, in which an episode ran; "" if unknown.

    `record`: the agent's record of the episode.
    """
    return text_of(_context_of(record).get("phase")) or text_of(record.get("phase"))


def _context_of(record: dict[str, Any]) -> dict[str, Any]:
    return as_object(record.get("context"))


def errors_of(record: dict[str, Any]) -> tuple[ErrorEntry, ...]:
    """Return the errors of the episode in `record`."""
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


def patterns_of(document: object) -> tuple[dict[str, Any], ...]:
    """Return the patterns in the document of `patterns.json`.

    The document is a list, or an object with the list under the key `patterns`; other values contain none.
    """
    if isinstance(document, dict):
        document = document.get("patterns")
    return objects_of(document)


def anti_patterns_of(patterns: object, legacy: object) -> tuple[AntiPattern, ...]:
    """Return the anti-patterns of the older ("legacy") store and of the present one, without duplicates.

    `patterns`: the document of `patterns.json`; `legacy`: the document of the older store. An anti-pattern
    that is in both counts as one of the present store. Those of the older store come first, as in the
    agent's own search.
    """
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
    """Return the three texts of an anti-pattern, with case and white space normalised for comparison."""
    what, why, prevention = (
        " ".join(text.lower().split()) for text in (each.what_fails, each.why, each.prevention)
    )
    return what, why, prevention


def parse_record(data: bytes) -> Any:
    """Return the value of the JSON text `data`, read as tolerantly as the agent reads it.

    Raises `ValueError` with the cause in words.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not valid UTF-8") from None
    if not text.strip():
        raise ValueError("it is empty")
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("it has too many levels of nesting") from None
    except ValueError as error:
        raise ValueError(f"it is not valid JSON ({error})") from None


def parse_to_write(data: bytes) -> Any:
    """Return the record in `data`, as `parse_record` does, for a caller that changes it and writes it again.

    Raises `ValueError` also for an object with two equal keys, because one of their values would be lost.
    """
    document = parse_record(data)
    json.loads(data, object_pairs_hook=_each_key_once)
    return document


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it contains a key twice")
    return found


def read_record(path: Path, problems: list[str]) -> Any:
    """Return the JSON value in a file; None if the file is missing or unreadable.

    An unreadable file adds a message to `problems`.
    """
    try:
        return parse_record(read_regular(path, LARGEST))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        cause = (error.strerror if isinstance(error, OSError) else None) or error
        problems.append(f"{path}: {cause}.")
        return None


def read_object(path: Path, problems: list[str]) -> dict[str, Any] | None:
    """Return the JSON object in a file, as `read_record` does; None also if it holds no object."""
    found = read_record(path, problems)
    if found is None or isinstance(found, dict):
        return found
    problems.append(f"{path}: the file contains no record.")
    return None


def episode_files(memory: Path) -> Iterator[tuple[str, Path]]:
    """Yield `(directory name, file)` of every episode below the memory root `memory`, by name, last first.

    Directories need not be named by a date; `index.json` is no episode.
    """
    for day in _names(memory / "episodic", directories=True):
        for name in _names(memory / "episodic" / day, directories=False):
            if name.endswith(".json") and not name.startswith(".") and name != "index.json":
                yield day, memory / "episodic" / day / name


def episode_days(memory: Path) -> list[str]:
    """Return the dates with episodes below the memory root, last first; other directories are ignored."""
    return [day for day in _names(memory / "episodic", directories=True) if _is_date(day)]


def files_of_day(memory: Path, day: str, most: int) -> list[Path]:
    """Return at most `most` files of episodes of the date `day`, in the agent's own order.

    They are sorted by name, last first. `memory`: the memory root.
    """
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
    found = (each.name for each in entries_in(directory) if leads_to_directory(each) is directories)
    return sorted(found, reverse=True)
