"""Lessons from failed iterations, and the block of them that the agent gets.

See formats/loki.md sections 11, as shipped, and 13. The error entry is made from the newest crash record or,
without one, from phase and exit code. The block has the newest three errors of failed episodes, one per line;
at most fifty episodes are read, from directories dated within 24 hours. The anti-patterns about goal and
phase follow. Unlike in loki-mode, a malformed episode does not hide others; `as_injected` computes the block
that loki-mode itself would inject.

Nothing is written: neither directories nor lock files. Threading: any thread but the GUI's. Failure: never
raises because of the store's content; problems are listed beside the block.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, Literal

from reverie.agents.capabilities import AntiPattern
from reverie.agents.loki.locations import safe_name
from reverie.agents.loki.records import (
    LATEST_MS,
    anti_patterns_of,
    episode_days,
    episode_files,
    errors_of,
    files_of_day,
    moment,
    phase_of,
    read_object,
    read_record,
    text_of,
    utc,
)
from reverie.files.directory import is_directory, is_file, is_there, read_regular
from reverie.values import Struct, replace

HEADING = "PAST FAILURES TO AVOID:"
SWITCH = "LOKI_FAILURE_MEMORY"
DEFAULT_TYPE = "IterationError"
WINDOW = timedelta(hours=24)
MOST_SCANNED = 2000
MOST_EPISODES = 50
MOST_LESSONS = 3
MOST_PRIORS = 3
TYPE_CHARS = 80
MESSAGE_CHARS = 160
PRIOR_CHARS = 120
FINGERPRINT_CHARS = 12
FRAMES = 5
MOST_READ = 3000
"""Maximum number of episodes that `all_lessons` reads."""
_EPISODE_BYTES = 8 << 20
_RANKED = 6
_RETRIEVED = 3
_PREFIX = "task-"


class _Closed(Exception):
    """Raised if loki-mode would stop with an error because of the file `path`, and so add nothing more.

    `cause`: the rest of a sentence that begins with the name of the file.
    """

    def __init__(self, path: Path, cause: str) -> None:
        super().__init__(path, cause)
        self.path = path
        self.cause = cause


def as_injected(
    memory: Path, *, now_ms: int, goal: str, phase: str, priors: Sequence[str], ours: str
) -> tuple[str, str]:
    """Return the block of lessons as loki-mode would add it to the prompt, and why it differs from `ours`.

    `ours`: the block that Reverie computes. Reverie only leaves out files that it cannot read. loki-mode is
    stricter: without `index.json`, it adds nothing; one malformed episode makes it add no lessons; it leaves
    out an episode that it looks for under a different file name; and it compares times as text. The
    difference names the first file that matters (formats/loki.md sections 11 and 17.1); it is empty if the
    blocks are equal.

    `memory`: the directory of the memories, which need not exist; `now_ms`: the present time (UTC); `goal`,
    `phase`: the subject of the next iteration; `priors`: the lines of the anti-patterns.
    """
    if not is_file(memory / "index.json"):
        return "", "loki-mode adds no lessons until memory/index.json exists." if ours else ""
    left_out: list[tuple[Path, str]] = []
    block, closed = "", None
    try:
        retrieved = _rank(memory, goal, phase)
        block = _block((), priors)
        lessons = _lessons(memory, now_ms, retrieved, left_out)[:MOST_LESSONS]
        lines = (_line(str(kind), str(message) if message else "") for _at, kind, message in lessons)
        block = _block(lines, priors)
    except _Closed as stopped:
        closed = stopped
    return block, "" if block == ours else _difference(block, ours, closed, left_out, memory)


def _difference(
    block: str, ours: str, closed: _Closed | None, left_out: Sequence[tuple[Path, str]], memory: Path
) -> str:
    if closed is not None:
        name = closed.path.relative_to(memory).as_posix()
        return f"loki-mode adds no lessons now: memory/{name} {closed.cause}."
    for path, cause in left_out:
        return f"loki-mode leaves out memory/{path.relative_to(memory).as_posix()}: {cause}."
    if sorted(block.splitlines()) == sorted(ours.splitlines()):
        return "loki-mode sorts the lessons by their times as text, not as points in time."
    return "loki-mode selects or words the lessons differently, because it compares times as text."


def _rank(memory: Path, goal: str, phase: str) -> frozenset[Path]:
    """Return the episodes below `memory` that loki-mode's search would find for `goal` and `phase`.

    They matter because the search changes the time of their last use. It runs before the lessons are
    collected, and if it fails, loki-mode adds nothing; then this function raises `_Closed`. If `goal` and
    `phase` are empty, which never happens in loki-mode, no episode is found, but all are checked.
    """
    query = " ".join(part for part in (goal, f"phase: {phase}" if phase else "") if part)
    words = query.lower().split()
    scored: list[tuple[float, Path, dict[str, Any]]] = []
    for path in _scanned(memory):
        data = _loaded(path)
        if not data:
            continue
        if not isinstance(data, dict):
            raise _Closed(path, "contains no record")
        context = data.get("context") or {}
        if not isinstance(context, dict):
            raise _Closed(path, "has a context that is not an object")
        texts = []
        for name in ("goal", "phase"):
            text = context.get(name) or ""
            if not isinstance(text, str):
                raise _Closed(path, f"has a {name} that is not text")
            texts.append(text.lower())
        score = sum((word in texts[0]) + 0.5 * (word in texts[1]) for word in words)
        if not words:
            _require_figures(path, data)
        if score:
            scored.append((score, path, data))
    _require_patterns(memory, words)
    scored.sort(key=lambda each: each[0], reverse=True)
    for place, (_score, path, data) in enumerate(scored[:_RANKED]):
        _require_figures(path, data)
        at = data.get("timestamp") or data.get("last_used")
        if at and not isinstance(at, str) and place < _RETRIEVED:
            raise _Closed(path, "has a time that is not text")
    return frozenset(path for _score, path, _data in scored[:_RETRIEVED])


_PATTERNS = "semantic/patterns.json"
_PATTERN_TEXTS = ("pattern", "category", "correct_approach")


def _require_patterns(memory: Path, words: Sequence[str]) -> None:
    """Raise `_Closed` if loki-mode's search for `words` would fail because of a pattern.

    The search computes a score from `importance` and `confidence` of each pattern that contains a word, and
    from `confidence` alone of every other pattern. It fails if such a value is not a number.
    """
    data = _loaded(memory / _PATTERNS)
    listed = data.get("patterns") if isinstance(data, dict) else None
    for pattern in listed if isinstance(listed, list) else ():
        if not isinstance(pattern, dict) or text_of(pattern.get("category")).lower() == "anti-pattern":
            continue
        texts = [text_of(pattern.get(name)).lower() for name in _PATTERN_TEXTS]
        found = not words or any(word in text for word in words for text in texts)
        names = ("importance", "confidence") if found else ("confidence",)
        _require_figures(memory / _PATTERNS, pattern, names)


def _require_figures(
    path: Path, record: Mapping[str, Any], names: Sequence[str] = ("importance", "confidence")
) -> None:
    for name in names:
        if not isinstance(record.get(name), (int, float, type(None))):
            raise _Closed(path, f"has {_an(name)} that is not a number")


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
    """Return (time as text, type, message) of each error, sorted by that text, newest first.

    `retrieved`: the episodes that loki-mode's search finds. The path of each episode that loki-mode would
    leave out is added to `left_out`, with the cause. Raises `_Closed` if loki-mode would stop at an episode.
    """
    found: list[tuple[str, Any, Any]] = []
    now = utc(now_ms * 1000)
    for number, listed in enumerate(_listed(memory, now)):
        name = f"{_PREFIX}{safe_name(listed.stem.replace(_PREFIX, ''))}.json"
        places = (directory / name for directory in (listed.parent, *_days(memory)))
        path = next((place for place in places if is_there(place)), None)
        if path is None:
            left_out.append((listed, "it looks for this episode under a different name"))
            continue
        data = _loaded(path)
        if not data:
            left_out.append((listed, _why_unread(path)))
        elif isinstance(data, dict):
            if path in retrieved:
                data = {**data, "last_accessed": None}
            # An episode without a time counts as of the moment in which it is read.
            found += _errors(path, data, now + timedelta(microseconds=number + 1))
    found.sort(key=lambda each: each[0], reverse=True)
    return found


def _listed(memory: Path, now: datetime) -> list[Path]:
    """Return at most `MOST_EPISODES` files of episodes, from directories dated the day before `now` or later.

    They are sorted by directory and name, last first.
    """
    since = (now - WINDOW).replace(hour=0, minute=0, second=0, microsecond=0)
    found: list[Path] = []
    for day in _days(memory):
        try:
            # As loki-mode reads it: a day or month of one digit counts.
            at = datetime.strptime(day.name, "%Y-%m-%d").replace(tzinfo=UTC)
        except ValueError:
            continue  # no date, so loki-mode ignores it
        if at >= since:
            names = [path for path in _names(day) if path.name.startswith(_PREFIX) and path.suffix == ".json"]
            found += sorted(names, reverse=True)
        if len(found) >= MOST_EPISODES:
            break
    return found[:MOST_EPISODES]


def _errors(path: Path, data: dict[str, Any], now: datetime) -> list[tuple[str, Any, Any]]:
    """Return (time as text, type, message) of each error of the episode `data`; none if it did not fail.

    `now`: the time of an episode without one. Raises `_Closed` if the episode is malformed, even if it did
    not fail, because loki-mode stops at such an episode.
    """
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
        raise _Closed(path, f"has {what} in a form other than a list")
    if not all(isinstance(each, dict) for each in value):
        raise _Closed(path, f"has {what} with an entry that is not an object")
    return value


def _time(path: Path, text: str, what: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        raise _Closed(path, f"has a {what} that cannot be read") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _loaded(path: Path) -> Any:
    """Return the JSON value in a file; None if it cannot be read or parsed, so that loki-mode skips it."""
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
    return "it is empty" if data.strip() in (b"", b"{}", b"null", b"[]") else "it is not valid JSON"


def _days(memory: Path) -> list[Path]:
    return sorted((path for path in _names(memory / "episodic") if is_directory(path)), reverse=True)


def _names(directory: Path) -> list[Path]:
    try:
        return list(directory.iterdir())
    except OSError:
        return []


def _an(name: str) -> str:
    return f"an {name}" if name[0] in "aeiou" else f"a {name}"


LessonState = Literal["injected", "window", "older", "elsewhere"]
"""The state of a lesson, which depends on what the agent adds to its next prompt.

`injected`: in the block of text that the agent adds to its prompt. `window`: in the agent's time window, but
not among the newest lessons, or the block is switched off. `older`: outside the time window. `elsewhere`: in
a namespace (a part of the records) that the agent does not read.
"""


class Lesson(Struct, frozen=True):
    """One error of a failed episode (one run of a task), which a later iteration may get as a lesson.

    `at`: the episode's start in µs UTC, None if unknown; `path`: the file of the episode; `index`: the
    position of the error in it; `seen`: the number of lessons with the same fingerprint; `rel`: the path of
    the file below the memory root, with `/` as separator, empty if it was not asked for.
    """

    type: str
    message: str
    resolution: str
    at: int | None
    episode_id: str
    task_id: str
    phase: str
    path: Path
    index: int
    state: LessonState = "window"
    seen: int = 1
    rel: str = ""

    @property
    def injected(self) -> bool:
        """Whether the next iteration gets the lesson in its prompt."""
        return self.state == "injected"

    @property
    def fingerprint(self) -> str:
        """The first characters of the crash's fingerprint, as in `message`; empty if the message has none."""
        parts = self.message.split("; ")
        return next((part[3:] for part in reversed(parts) if part.startswith("fp=")), "")

    @property
    def line(self) -> str:
        """The line of the lesson in the agent's prompt."""
        return _line(self.type, self.message)


def _line(kind: str, message: str) -> str:
    head = f"- {kind[:TYPE_CHARS]}"
    return f"{head}: {message[:MESSAGE_CHARS]}" if message else head


class Retrieved(Struct, frozen=True):
    """The lessons for the next iteration.

    `lessons`: all lessons in the time window, newest first; `priors`: the lines of anti-patterns; `block`:
    the text to inject, empty without lessons and anti-patterns. `problems`: sentences on files that could not
    be read. `agent_block`: the block that loki-mode itself would inject; `difference`: one sentence with file
    and cause if that block differs from `block`.
    """

    lessons: tuple[Lesson, ...] = ()
    priors: tuple[str, ...] = ()
    block: str = ""
    problems: tuple[str, ...] = ()
    agent_block: str = ""
    difference: str = ""


def is_on(env: Mapping[str, str]) -> bool:
    """Return whether lessons are on: True unless the agent's environment variable `SWITCH` is `0`."""
    return (env.get(SWITCH) or "1") != "0"


def error_entry(crash: Mapping[str, Any] | None, phase: str, exit_code: int) -> dict[str, str]:
    """Return the error (type, message, resolution) to store in the episode of a failed iteration.

    `crash`: the redacted crash record from which the error is made; None: it states only `phase` and
    `exit_code`.
    """
    if crash is None:
        return {"type": DEFAULT_TYPE, "message": f"phase={phase}; exit={exit_code}", "resolution": ""}
    kind = text_of(crash.get("error_class")) or text_of(crash.get("friction_kind")) or DEFAULT_TYPE
    signature = crash.get("stack_signature")
    frames = " > ".join(map(text_of, signature[:FRAMES])) if isinstance(signature, list) else ""
    told = (
        ("phase=", text_of(crash.get("rarv_phase")) or phase),
        ("friction=", text_of(crash.get("friction_kind"))),
        ("signature: ", frames),
        ("fp=", text_of(crash.get("fingerprint"))[:FINGERPRINT_CHARS]),
    )
    message = "; ".join(name + value for name, value in told if value)
    return {"type": kind, "message": message or "iteration failed", "resolution": ""}


def retrieve(memory: Path, *, now_ms: int, goal: str = "", phase: str = "", on: bool = True) -> Retrieved:
    """Return the lessons that the agent would get now.

    `memory`: the directory of the memories, which need not exist; `now_ms`: the present time (UTC); `goal`,
    `phase`: the subject of the next iteration; `on`: whether lessons are on; if not, the result is empty.
    """
    if not on:
        return Retrieved()
    now_ms = min(now_ms, LATEST_MS)
    problems: list[str] = []
    found = _read(_in_window(memory, now_ms), now_ms, problems)
    told = (replace(each, state="injected") for each in found[:MOST_LESSONS])
    lessons = (*told, *found[MOST_LESSONS:])
    query = f"{goal} {phase}"
    priors = priors_among(anti_patterns_in(memory, problems), query) if query.strip() else ()
    block = block_of(lessons, priors)
    agents = as_injected(memory, now_ms=now_ms, goal=goal, phase=phase, priors=priors, ours=block)
    return Retrieved(lessons, priors, block, tuple(problems), *agents)


def all_lessons(memory: Path, now_ms: int, problems: list[str]) -> list[Lesson]:
    """Return the lessons of every failed episode, inside or outside of the agent's window, newest first.

    `memory`: the directory of the memories; `now_ms`: the present time (UTC). A sentence is added to
    `problems` for each episode that cannot be read. At most `MOST_READ` episodes are read, from the newest
    directories; `Lesson.seen` counts only their lessons.
    """
    files = (path for _day, path in islice(episode_files(memory), MOST_READ))
    return _read(files, min(now_ms, LATEST_MS), problems)


def _read(files: Iterable[Path], now_ms: int, problems: list[str]) -> list[Lesson]:
    """Return the lessons of the episodes in `files`, newest first; those of unknown time come last."""
    found: list[Lesson] = []
    for path in files:
        record = read_object(path, problems)
        if record:
            found += _lessons_of(path, record, now_ms)
    found.sort(key=lambda each: (each.at is not None, each.at or 0), reverse=True)
    counts = Counter(each.fingerprint for each in found)
    return [replace(each, seen=counts[name]) if (name := each.fingerprint) else each for each in found]


def block_of(lessons: Iterable[Lesson], priors: Iterable[str]) -> str:
    """Return the text to add to the agent's prompt: injected `lessons`, then anti-patterns, one per line.

    `priors`: the lines of the anti-patterns. If any of `lessons` are injected, the text begins with a blank
    line and a heading. Each line ends with a line break.
    """
    return _block((each.line for each in lessons if each.injected), priors)


def _block(lessons: Iterable[str], priors: Iterable[str]) -> str:
    lines = ["", HEADING, *lessons]
    told = (f"- (prior) {prior[:PRIOR_CHARS]}" for prior in priors)
    return "".join(f"{line}\n" for line in (*(lines if len(lines) > 2 else ()), *told))


def _in_window(memory: Path, now_ms: int) -> Iterator[Path]:
    """Return the files of episodes in the time window, which the agent reads.

    The window has whole days, by the names of directories, and includes future days, because clocks differ.
    """
    first = (utc(now_ms * 1000) - WINDOW).date().isoformat()
    days = takewhile(lambda day: day >= first, episode_days(memory))
    files = chain.from_iterable(files_of_day(memory, day, MOST_EPISODES) for day in days)
    return islice(files, MOST_EPISODES)


def _lessons_of(path: Path, record: dict[str, Any], now_ms: int) -> list[Lesson]:
    if record.get("outcome") != "failure":
        return []
    # To the agent, an episode without a date is of this moment.
    at = moment(record["timestamp"]) if record.get("timestamp") else now_ms * 1000
    id_, task_id, phase = text_of(record.get("id")), text_of(record.get("task_id")), phase_of(record)
    return [
        Lesson(each.type, each.message, each.resolution, at, id_, task_id, phase, path, each.index)
        for each in errors_of(record)
    ]


def anti_patterns_in(memory: Path, problems: list[str]) -> tuple[AntiPattern, ...]:
    """Return the anti-patterns of both stores in the directory `memory` (the present and the older one).

    A sentence is added to `problems` for each file that cannot be read.
    """
    patterns = read_record(memory / "semantic" / "patterns.json", problems)
    legacy = read_record(memory / "semantic" / "anti-patterns.json", problems)
    return anti_patterns_of(patterns, legacy)


def priors_among(known: Iterable[AntiPattern], query: str) -> tuple[str, ...]:
    """Return the lines of the anti-patterns in `known` that an iteration about `query` gets, best first.

    See `injected_among`.
    """
    return tuple(map(_pattern_line, injected_among(known, query)))


def injected_among(known: Iterable[AntiPattern], query: str) -> tuple[AntiPattern, ...]:
    """Return the anti-patterns in `known` that an iteration about `query` gets, best first.

    These are at most `MOST_PRIORS` that contain a word of `query`; none if it is blank.
    """
    words = query.lower().split()
    scored = [(_score(each, words), each) for each in known] if words else []
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: pair[0], reverse=True)
    return tuple(each for _score, each in best[:MOST_PRIORS] if _pattern_line(each))


def _pattern_line(each: AntiPattern) -> str:
    return text_of(each.record.get("what_fails")) or each.what_fails


def _score(each: AntiPattern, words: list[str]) -> int:
    """Return how well an anti-pattern matches `words`; 0 if it contains none of them.

    Each word counts 1 for each text of the anti-pattern that contains it, and 2 for `what_fails`. A word may
    also be a part of another word, as in the agent's own search.
    """
    what, why, prevention = each.what_fails.lower(), each.why.lower(), each.prevention.lower()
    return sum(2 * (word in what) + (word in why) + (word in prevention) for word in words)
