"""Lessons: what a failed iteration leaves for the next one, and the block that tells it (formats/loki.md
section 11, as shipped).

The error entry is made of the newest crash record or, without one, of phase and exit code. The block is read
by recency: episodes in directories dated within 24 hours, at most fifty files, failures only, every error of
theirs, newest first, three lines; then what the anti-patterns have on goal and phase. In one way it is better
than the original: an odd episode hides no other. What the original makes of a store says
`failures.as_injected`.

Looking changes nothing: neither directories nor lock files are made. Failure: never raises over what lies in
the store; problems are told beside the block.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from reverie.failures.as_injected import as_injected
from reverie.homes.loki_records import (
    LATEST_MS,
    AntiPattern,
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
)

SWITCH = "LOKI_FAILURE_MEMORY"
HEADING = "PAST FAILURES TO AVOID:"
DEFAULT_TYPE = "IterationError"
WINDOW_HOURS = 24
MOST_EPISODES = 50
MOST_LESSONS = 3
MOST_PRIORS = 3
TYPE_CHARS = 80
MESSAGE_CHARS = 160
PRIOR_CHARS = 120
FINGERPRINT_CHARS = 12
FRAMES = 5
MOST_READ = 3000
"""Episodes that `all_lessons` reads."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One error of a failed episode. `at`: the episode's start in µs UTC, None where nobody can tell;
    `index`: its place among the episode's errors; `injected`: it stands in the block; `seen`: how often its
    fingerprint is among the lessons."""

    type: str
    message: str
    resolution: str
    at: int | None
    episode_id: str
    task_id: str
    phase: str
    path: Path
    index: int
    injected: bool = False
    seen: int = 1

    @property
    def fingerprint(self) -> str:
        """The beginning of the crash's fingerprint; empty where the message names none."""
        parts = self.message.split("; ")
        return next((part[3:] for part in reversed(parts) if part.startswith("fp=")), "")

    @property
    def line(self) -> str:
        """As it is injected."""
        head = f"- {self.type[:TYPE_CHARS]}"
        return f"{head}: {self.message[:MESSAGE_CHARS]}" if self.message else head


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the next iteration is to learn. `lessons`: all in the window, newest first; `priors`: what the
    anti-patterns add; `block` empty where there is nothing to tell. `problems`: what could not be read.
    `agent_block`: what loki-mode itself would inject; `difference`: one sentence with file and cause where
    that is another text."""

    lessons: tuple[Lesson, ...] = ()
    priors: tuple[str, ...] = ()
    block: str = ""
    problems: tuple[str, ...] = ()
    agent_block: str = ""
    difference: str = ""


def is_on(env: Mapping[str, str]) -> bool:
    """The switch of the agent's environment: on unless it is `0`."""
    return (env.get(SWITCH) or "1") != "0"


def error_entry(crash: Mapping[str, Any] | None, phase: str, exit_code: int) -> dict[str, str]:
    """What is kept of a failure. `crash`: a scrubbed record; None: there is none that can be read."""
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
    """What the agent would be told now. `memory`: the memory root, which need not exist; `goal`, `phase`:
    what the next iteration is about; `on`: the switch."""
    if not on:
        return Retrieved()
    now_ms = min(now_ms, LATEST_MS)
    problems: list[str] = []
    lessons = lessons_in(memory, now_ms, problems)
    told = (replace(each, injected=True) for each in lessons[:MOST_LESSONS])
    lessons = (*told, *lessons[MOST_LESSONS:])
    priors = _priors(memory, f"{goal} {phase}", problems)
    block = block_of(lessons, priors)
    agents = as_injected(
        memory, now_ms=now_ms, goal=goal, phase=phase, prior_lines=list(map(_prior_line, priors)), ours=block
    )
    return Retrieved(lessons, priors, block, tuple(problems), agents.block, agents.difference)


def lessons_in(memory: Path, now_ms: int, problems: list[str]) -> tuple[Lesson, ...]:
    """Every lesson in the window, newest first; those of which nobody knows the time come last."""
    found: list[Lesson] = []
    for path in _in_window(memory, now_ms):
        record = read_object(path, problems)
        if record:
            found += _lessons_of(path, record, now_ms)
    return _newest_first(found)


def all_lessons(memory: Path, now_ms: int, problems: list[str]) -> tuple[Lesson, ...]:
    """The lessons of every failed episode, the agent's window or not, newest first; of a great many episodes
    those in the last directories. `seen` counts all of them."""
    found: list[Lesson] = []
    for _day, path in islice(episode_files(memory), MOST_READ):
        record = read_object(path, problems)
        if record:
            found += _lessons_of(path, record, min(now_ms, LATEST_MS))
    return _newest_first(found)


def _newest_first(found: list[Lesson]) -> tuple[Lesson, ...]:
    found.sort(key=lambda each: (each.at is not None, each.at or 0), reverse=True)
    names = [each.fingerprint for each in found]
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return tuple(
        replace(each, seen=counts[name]) if name and counts[name] > 1 else each
        for name, each in zip(names, found, strict=True)
    )


def block_of(lessons: tuple[Lesson, ...], priors: tuple[str, ...]) -> str:
    """The text as it is injected, a line break at its end. A blank line comes before the heading."""
    lines = [each.line for each in lessons if each.injected]
    if lines:
        lines = ["", HEADING, *lines]
    lines += map(_prior_line, priors)
    return "".join(f"{line}\n" for line in lines)


def _prior_line(prior: str) -> str:
    return f"- (prior) {prior[:PRIOR_CHARS]}"


def _in_window(memory: Path, now_ms: int) -> list[Path]:
    """The files that the agent looks at. Whole days count, by the name of their directory; days to come, too:
    their clock is not ours."""
    first = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=now_ms, hours=-WINDOW_HOURS)).date()
    found: list[Path] = []
    for day in episode_days(memory):
        if day < first.isoformat():
            break
        found += files_of_day(memory, day, MOST_EPISODES - len(found))
        if len(found) == MOST_EPISODES:
            break
    return found


def _lessons_of(path: Path, record: dict[str, Any], now_ms: int) -> list[Lesson]:
    if record.get("outcome") != "failure":
        return []
    # The agent takes an episode without a date for one of this moment.
    at = moment(record["timestamp"]) if record.get("timestamp") else now_ms * 1000
    id_, task_id, phase = text_of(record.get("id")), text_of(record.get("task_id")), phase_of(record)
    return [
        Lesson(each.type, each.message, each.resolution, at, id_, task_id, phase, path, each.index)
        for each in errors_of(record)
    ]


def _priors(memory: Path, query: str, problems: list[str]) -> tuple[str, ...]:
    """What not to do, of the anti-patterns that share a word with the query, best first."""
    return priors_among(anti_patterns_in(memory, problems), query) if query.strip() else ()


def anti_patterns_in(memory: Path, problems: list[str]) -> tuple[AntiPattern, ...]:
    """The anti-patterns of both stores of a memory root."""
    patterns = read_record(memory / "semantic" / "patterns.json", problems)
    legacy = read_record(memory / "semantic" / "anti-patterns.json", problems)
    return anti_patterns_of(patterns, legacy)


def priors_among(known: Iterable[AntiPattern], query: str) -> tuple[str, ...]:
    """What of them is told where the next iteration is about `query`, best first."""
    return tuple(map(_told, told_among(known, query)))


def told_among(known: Iterable[AntiPattern], query: str) -> tuple[AntiPattern, ...]:
    """Those of which `priors_among` tells, in its order."""
    words = query.lower().split()
    scored = [(_score(each, words), each) for each in known] if words else []
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: pair[0], reverse=True)
    return tuple(each for _score, each in best[:MOST_PRIORS] if _told(each))


def _told(each: AntiPattern) -> str:
    return text_of(each.record.get("what_fails")) or each.what_fails


def _score(each: AntiPattern, words: list[str]) -> int:
    """What fails counts twice. A word is found inside of others, too, as the agent looks for it."""
    what, why, prevention = each.what_fails.lower(), each.why.lower(), each.prevention.lower()
    return sum(2 * (word in what) + (word in why) + (word in prevention) for word in words)
