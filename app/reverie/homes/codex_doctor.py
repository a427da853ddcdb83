"""What decides in Codex itself whether memories are made and loaded, as checks for the doctor
(formats/codex.md sections 4 and 10.2).

Pure, but for asking whether paths exist: the rows of Codex's books and its settings are handed in. Only what
the program was seen to do counts; a setting that is not written has the default of Codex 0.169.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.clock import DAY_MS, HOUR_MS
from reverie.files.there import is_directory, is_file
from reverie.homes import codex_store
from reverie.homes.agents import AgentCheck, AgentJob
from reverie.homes.codex_jobs import MemoryBooks
from reverie.homes.codex_threads import Thread
from reverie.text.counts import some

IDLE_HOURS = 6
AGE_DAYS = 10
AT_ONCE = 2
"""Sessions that Codex extracts at each start."""
INTERACTIVE = frozenset({"cli", "vscode", "atlas", "chatgpt"})
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class CodexFacts:
    """What the checks judge."""

    home: Path
    now_ms: int
    threads: Sequence[Thread]
    books: MemoryBooks
    jobs: Sequence[AgentJob]
    is_locked: Callable[[Path], bool]


def checks(facts: CodexFacts) -> tuple[AgentCheck, ...]:
    """In the order of the gates."""
    settings = codex_store.settings(facts.home)
    return (
        _version(facts.home, settings),
        _switch(facts.home, settings),
        _threads(facts, settings),
        _lock(facts),
        _jobs(facts),
        _usage(facts.books),
    )


def _version(home: Path, settings: Mapping[str, Any]) -> AgentCheck:
    check, title = "codex-memories-made", "Codex uses the memory that it filled"
    used = codex_store.version_in_use(home)
    one, two = (home / codex_store.DIRECTORIES[version] for version in ("v1", "v2"))
    if used.name == "v1" and "version" not in settings and os.path.lexists(one) and _filled(two):
        loaded = "" if _filled(one) else " There is no summary in memories/, so Codex loads no memory at all."
        return AgentCheck(
            check,
            title,
            "warn" if _filled(one) else "fail",
            f"memories/ exists beside memories_v2/. So Codex uses version 1 and nothing of version 2.{loaded}"
            ' To use version 2, remove memories/ or set [memories] version = "v2" in config.toml.',
            one if is_directory(one) else None,
        )
    if not is_directory(home / codex_store.DIRECTORIES[used.name]):
        return AgentCheck(check, title, "warn", f"{codex_store.NO_STORE} {used.reason}")
    return AgentCheck(check, title, "pass", f"{codex_store.DIRECTORIES[used.name]}/ is in use. {used.reason}")


def _switch(home: Path, settings: Mapping[str, Any]) -> AgentCheck:
    check, title = "codex-switch", "Codex's memory is turned on"
    if codex_store.features(home).get("memories") is not True:
        evidence = "[features] memories is not true in config.toml, so Codex makes and loads no memories."
        return AgentCheck(check, title, "fail", evidence)
    off = [name for name in ("generate_memories", "use_memories") if settings.get(name) is False]
    if off:
        return AgentCheck(check, title, "warn", f"Turned off in [memories]: {', '.join(off)}.")
    return AgentCheck(check, title, "pass", "[features] memories is true in config.toml.")


def _threads(facts: CodexFacts, settings: Mapping[str, Any]) -> AgentCheck:
    check, title = "codex-sessions", "Sessions that Codex may extract"
    idle_ms = _number(settings, "min_rollout_idle_hours", IDLE_HOURS) * HOUR_MS
    age_ms = _number(settings, "max_rollout_age_days", AGE_DAYS) * DAY_MS
    at_once = _number(settings, "max_rollouts_per_startup", AT_ONCE)
    counts = {"ready": 0, "done": 0, "off": 0, "not led by a person": 0, "still in use": 0, "too old": 0}
    for thread in facts.threads:
        age, made = facts.now_ms - (thread.updated_at or 0), facts.books.outputs.get(thread.id)
        if thread.subagent or (thread.source and thread.source not in INTERACTIVE):
            counts["not led by a person"] += 1
        elif thread.memory_mode not in ("", "enabled"):
            counts["off"] += 1
        elif made is not None and made // 1000 >= (thread.updated_at or 0) // 1000:
            counts["done"] += 1
        elif age < idle_ms:
            counts["still in use"] += 1
        elif age > age_ms:
            counts["too old"] += 1
        else:
            counts["ready"] += 1
    parts = [f"{count} {name}" for name, count in counts.items() if count]
    evidence = (
        f"{', '.join(parts) or 'There are none'}. Codex takes {some(at_once, 'session')} at each start,"
    )
    evidence += f" {idle_ms // HOUR_MS} hours after the last change and at most {age_ms // DAY_MS} days old."
    return AgentCheck(check, title, "pass", evidence)


def _lock(facts: CodexFacts) -> AgentCheck:
    check, title = "codex-lock", "Codex is not consolidating now"
    version = codex_store.version_in_use(facts.home).name
    name = codex_store.LOCKS[version]
    if facts.is_locked(facts.home / name):
        evidence = (
            f"{name} is held: Codex consolidates. Until it is done, nothing else writes into its memory."
        )
        return AgentCheck(check, title, "warn", evidence)
    return AgentCheck(check, title, "pass", f"{name} is free.")


def _jobs(facts: CodexFacts) -> AgentCheck:
    check, title = "codex-jobs", "Codex's own jobs ended well"
    failed = [job for job in facts.jobs if job.state == "failed"]
    if not failed:
        return AgentCheck(check, title, "pass", f"{some(len(facts.jobs), 'job')}, none failed.")
    said = [f"{job.about}: {job.sentence}{_retry(job, facts.now_ms)}" for job in failed[:_SHOWN]]
    more = f" And {len(failed) - _SHOWN} more." if len(failed) > _SHOWN else ""
    return AgentCheck(check, title, "warn", f"{some(len(failed), 'job')} failed. {' '.join(said)}{more}")


def _retry(job: AgentJob, now_ms: int) -> str:
    if job.retry_at is None:
        return "."
    minutes = max(0, job.retry_at - now_ms) // 60_000
    return f"; next try in {some(minutes, 'minute')}." if minutes else "; next try at the next start."


def _usage(books: MemoryBooks) -> AgentCheck:
    check, title = "codex-usage", "What Codex used of its memory"
    used = [count for count in books.usage.values() if count]
    evidence = f"Answers cited {len(used)} of {len(books.usage)} rollout summaries, "
    evidence += f"{some(sum(used), 'time')} in all. What is never cited goes after 30 days."
    return AgentCheck(check, title, "pass", evidence)


def _filled(store: Path) -> bool:
    return is_file(store / codex_store.SUMMARY)


def _number(settings: Mapping[str, Any], name: str, default: int) -> int:
    value = settings.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
