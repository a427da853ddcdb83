"""The block of lessons exactly as loki-mode itself would inject it, and why it differs from Reverie's
(formats/loki.md sections 11 and 17.1).

Reverie's own block (`failures.lessons`) leaves out what it cannot read and keeps the rest. loki-mode gives up
as a whole: without `index.json` it reads nothing; one episode of the wrong form closes the block, whether or
not that episode failed; some names are listed and then not found again; times are compared as texts. This
module does what loki-mode does, step by step, and names the first file that makes a difference.

The sources are plain JSON of any form; nothing here raises over them. What depends on the goal of the next
iteration is judged by the goal given. Looking changes nothing. Threading: any thread but the GUI's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from reverie.files.regular import read_regular
from reverie.files.there import is_directory, is_file, is_there

HEADING = "PAST FAILURES TO AVOID:"
MOST_SCANNED = 2000
MOST_LISTED = 50
MOST_LESSONS = 3
_EPISODE_BYTES = 8 << 20
_RANKED = 6
_RETRIEVED = 3
_PREFIX = "task-"


@dataclass(frozen=True, slots=True)
class AsInjected:
    """What loki-mode would inject. `difference`: one sentence with the file and the cause where that is not
    `ours`; else empty."""

    block: str
    difference: str = ""


class _Closed(Exception):
    """loki-mode gives up over this file."""

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(path, cause)
        self.path = path
        self.cause = cause


def as_injected(
    memory: Path, *, now_ms: int, goal: str, phase: str, prior_lines: Sequence[str], ours: str
) -> AsInjected:
    """`memory`: the memory root, which need not exist; `prior_lines`: what the anti-patterns add; `ours`:
    Reverie's own block."""
    if not is_file(memory / "index.json"):
        why = "loki-mode injects nothing until memory/index.json exists."
        return AsInjected("", why if ours else "")
    left_out: list[tuple[Path, str]] = []
    priors = "".join(f"{line}\n" for line in prior_lines)
    try:
        retrieved = _rank(memory, goal, phase)
    except _Closed as closed:
        return _compared("", ours, closed, left_out, memory)
    try:
        block = _lines(_lessons(memory, now_ms, retrieved, left_out)) + priors
    except _Closed as closed:
        return _compared(priors, ours, closed, left_out, memory)
    return _compared(block, ours, None, left_out, memory)


def _compared(
    block: str, ours: str, closed: _Closed | None, left_out: Sequence[tuple[Path, str]], memory: Path
) -> AsInjected:
    if block == ours:
        return AsInjected(block)
    if closed is not None:
        name = closed.path.relative_to(memory).as_posix()
        return AsInjected(block, f"loki-mode injects no lesson now: memory/{name} {closed.cause}.")
    for path, cause in left_out:
        name = path.relative_to(memory).as_posix()
        return AsInjected(block, f"loki-mode leaves out memory/{name}: {cause}.")
    if sorted(block.splitlines()) == sorted(ours.splitlines()):
        return AsInjected(block, "loki-mode orders the lessons by their times as texts, not as instants.")
    return AsInjected(block, "loki-mode chooses or words the lessons otherwise, by their times as texts.")


def _rank(memory: Path, goal: str, phase: str) -> frozenset[Path]:
    """The retrieval that goes before the lessons: its failure silences everything. Returns the episodes that
    it retrieves, as far as that is told by episodes alone: it writes the time of their last use anew."""
    query = " ".join(part for part in (goal, f"phase: {phase}" if phase else "") if part)
    words = query.lower().split()
    scored: list[tuple[float, Path, dict[str, Any]]] = []
    for path in _scanned(memory):
        data = _loaded(path)
        if not data:
            continue
        if not isinstance(data, dict):
            raise _Closed(path, "holds no record")
        context = data.get("context") or {}
        if not isinstance(context, dict):
            raise _Closed(path, "has a context that is no object")
        texts = []
        for name in ("goal", "phase"):
            text = context.get(name) or ""
            if not isinstance(text, str):
                raise _Closed(path, f"has a {name} that is no text")
            texts.append(text.lower())
        score = sum((word in texts[0]) + 0.5 * (word in texts[1]) for word in words)
        if score:
            scored.append((score, path, data))
    scored.sort(key=lambda each: each[0], reverse=True)
    for place, (_score, path, data) in enumerate(scored[:_RANKED]):
        for name in ("importance", "confidence"):
            if not isinstance(data.get(name), (int, float, type(None))):
                raise _Closed(path, f"has {_an(name)} that is no number")
        at = data.get("timestamp") or data.get("last_used")
        if at and not isinstance(at, str) and place < _RETRIEVED:
            raise _Closed(path, "has a time that is no text")
    return frozenset(path for _score, path, _data in scored[:_RETRIEVED])


def _scanned(memory: Path) -> Iterator[Path]:
    count = 0
    for day in _days(memory):
        for path in _names(day):
            if path.suffix == ".json" and path.name != "index.json":
                if count == MOST_SCANNED:
                    return
                count += 1
                yield path


def _lessons(
    memory: Path, now_ms: int, retrieved: frozenset[Path], left_out: list[tuple[Path, str]]
) -> list[tuple[str, Any, Any]]:
    """Time as text, type and message of each error, the newest text first."""
    found: list[tuple[str, Any, Any]] = []
    now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms)
    for number, listed in enumerate(_listed(memory, now)):
        name = f"{_PREFIX}{_safe(listed.stem.replace(_PREFIX, ''))}.json"
        places = (directory / name for directory in (listed.parent, *_days(memory)))
        path = next((place for place in places if is_there(place)), None)
        if path is None:
            left_out.append((listed, "it looks for this episode under another name"))
            continue
        data = _loaded(path)
        if not data:
            left_out.append((listed, _why_unread(path)))
        elif isinstance(data, dict):
            if path in retrieved:
                data = {**data, "last_accessed": None}
            # An episode without a time is of the moment in which it is read.
            found += _errors(path, data, now + timedelta(microseconds=number + 1))
    found.sort(key=lambda each: each[0], reverse=True)
    return found


def _listed(memory: Path, now: datetime) -> list[Path]:
    """The episodes of the last day, by the names of their directories."""
    since = (now - timedelta(hours=24)).replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[Path] = []
    for day in _days(memory):
        try:
            # As loki-mode reads it: a day or month of one digit counts.
            at = datetime.strptime(day.name, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            continue  # no date, so loki-mode passes it by
        if at >= since:
            names = [path for path in _names(day) if path.name.startswith(_PREFIX) and path.suffix == ".json"]
            found += sorted(names, reverse=True)
        if len(found) >= MOST_LISTED:
            break
    return found[:MOST_LISTED]


def _errors(path: Path, data: dict[str, Any], now: datetime) -> list[tuple[str, Any, Any]]:
    """What this episode adds. Every episode is read in full, also one that did not fail."""
    context = data.get("context", {})
    if not isinstance(context, dict):
        raise _Closed(path, "has no context")
    at = data.get("timestamp", "")
    moment = _time(path, at, "time") if isinstance(at, str) and at else now
    accessed = data.get("last_accessed")
    if accessed and isinstance(accessed, str):
        _time(path, accessed, "time of its last use")
    _objects(path, data, "action_log", "an action log")
    errors = _objects(path, data, "errors_encountered", "errors")
    if data.get("outcome", "success") != "failure":
        return []
    key = moment.isoformat()
    return [(key, each.get("type", each.get("error_type", "")), each.get("message", "")) for each in errors]


def _objects(path: Path, data: dict[str, Any], name: str, what: str) -> list[dict[str, Any]]:
    value = data.get(name, [])
    if isinstance(value, (str, dict)) and not value:
        return []
    if not isinstance(value, list):
        raise _Closed(path, f"has {what} of another form than a list")
    if not all(isinstance(each, dict) for each in value):
        raise _Closed(path, f"has {what} with an entry that is no object")
    return value


def _time(path: Path, text: str, what: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        raise _Closed(path, f"has a {what} that cannot be read") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _lines(lessons: Sequence[tuple[str, Any, Any]]) -> str:
    lines = []
    for _at, kind, message in lessons[:MOST_LESSONS]:
        lines.append(f"- {str(kind)[:80]}" + (f": {str(message)[:160]}" if message else ""))
    return "".join(f"{line}\n" for line in ["", HEADING, *lines]) if lines else ""


def _safe(name: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in name)


def _loaded(path: Path) -> Any:
    """What the file holds as any JSON; None where loki-mode skips it."""
    try:
        return json.loads(read_regular(path, _EPISODE_BYTES).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _why_unread(path: Path) -> str:
    try:
        data = read_regular(path, _EPISODE_BYTES)
    except OSError:
        return "it cannot be read"
    if data.startswith(b"\xef\xbb\xbf"):
        return "it begins with a byte order mark"
    return "it holds nothing" if data.strip() in (b"", b"{}", b"null", b"[]") else "it is not valid JSON"


def _days(memory: Path) -> list[Path]:
    return sorted((path for path in _names(memory / "episodic") if is_directory(path)), reverse=True)


def _names(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _an(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"
