"""The doctor's checks of whether Codex makes and loads memories (formats/codex.md sections 4 and 10.2).

The checks use only observed behaviour of the program; a missing setting has the default of Codex 0.169.

Threading: any thread but the GUI's. Failure: the check has a sentence on data that cannot be read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from reverie.agents.capabilities import AgentCheck, AgentJob, Thread
from reverie.agents.codex import store as codex_store
from reverie.agents.codex.memory_jobs import MemoryBooks
from reverie.clock import DAY_MS, HOUR_MS
from reverie.files.directory import is_directory, is_file
from reverie.text.summaries import phrase, plural, together
from reverie.values import Struct

IDLE_HOURS = 6
AGE_DAYS = 10
AT_ONCE = 2
"""Number of sessions that Codex extracts at each start."""
INTERACTIVE = frozenset({"cli", "vscode", "atlas", "chatgpt"})
_SHOWN = 3


class Due(Struct, frozen=True):
    """The conditions under which Codex extracts a thread by its own stage one, without Reverie."""

    idle_ms: int
    """The time (ms) that a thread must have been unchanged before it is extracted."""
    age_ms: int
    """The time (ms) without a change after which a thread is too old to be extracted."""
    at_once: int
    """The largest number of threads that Codex extracts at each start."""


Standing = Literal[
    "ready", "done", "off", "archived", "not started by a person", "waiting for a retry", "still in use",
    "too old",
]  # fmt: skip


def due_of(settings: Mapping[str, Any]) -> Due:
    """Return the conditions under which Codex extracts memories from a thread (its stage one).

    `settings`: the table `[memories]` of config.toml. The conditions are those observed in the program
    (formats/codex.md sections 4 and 10.2); a missing setting has the default of Codex 0.169.
    """
    return Due(
        _number(settings, "min_rollout_idle_hours", IDLE_HOURS) * HOUR_MS,
        _number(settings, "max_rollout_age_days", AGE_DAYS) * DAY_MS,
        _number(settings, "max_rollouts_per_startup", AT_ONCE),
    )


def standings(
    threads: Iterable[Thread], made: Mapping[str, int], jobs: Iterable[AgentJob], due: Due, now_ms: int
) -> dict[str, Standing]:
    """Return thread id -> whether Codex itself has extracted the thread, will extract it, or why not.

    `made`: the result of `Extraction.extracted_at`. `jobs`: Codex's own jobs, for the times of retries.
    `due`: the conditions for extraction. `now_ms`: the current time (UTC).
    """
    retries = {job.source_id: job.retry_at or 0 for job in jobs if job.state == "failed"}
    found: dict[str, Standing] = {}
    for thread in threads:
        changed = thread.updated_at or 0
        at = made.get(thread.id)
        if at is not None and at >= changed:
            found[thread.id] = "done"
        elif thread.subagent or (thread.source and thread.source not in INTERACTIVE):
            found[thread.id] = "not started by a person"
        elif thread.memory_mode not in ("", "enabled"):
            found[thread.id] = "off"
        elif thread.archived:
            found[thread.id] = "archived"
        elif retries.get(thread.id, 0) > now_ms:
            found[thread.id] = "waiting for a retry"
        elif now_ms - changed < due.idle_ms:
            found[thread.id] = "still in use"
        else:
            found[thread.id] = "too old" if now_ms - changed > due.age_ms else "ready"
    return found


def makes_memories(home: Path) -> bool:
    """Return whether the settings allow Codex to extract threads itself."""
    on = codex_store.features(home).get("memories") is True
    return on and codex_store.settings(home).get("generate_memories") is not False


class CodexFacts(Struct, frozen=True):
    """The facts about a Codex home that the doctor's checks use."""

    home: Path
    now_ms: int
    """The current time (UTC)."""
    threads: Sequence[Thread]
    made: Mapping[str, int]
    """The threads from which Codex has extracted memories: the result of `Extraction.extracted_at`."""
    books: MemoryBooks
    """The rows about memory jobs in Codex's databases."""
    jobs: Sequence[AgentJob]
    """The jobs in these rows: the result of `jobs_of`."""
    is_locked: Callable[[Path], bool]
    """Returns whether a process holds the lock on a file."""


def checks(facts: CodexFacts) -> tuple[AgentCheck, ...]:
    """Return the doctor's checks of whether Codex makes and loads memories, judged by `facts`.

    The checks are in the order in which Codex tests the conditions.
    """
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
    check, uses = "codex-memories-made", phrase("Codex uses the memory that it has written")
    used = codex_store.version_in_use(home)
    one, two = (home / codex_store.DIRECTORIES[version] for version in ("v1", "v2"))
    if used.name == "v1" and "version" not in settings and os.path.lexists(one) and _filled(two):
        evidence = together(
            phrase("Both memories/ and memories_v2/ exist, so Codex uses version 1 and ignores version 2."),
            ""
            if _filled(one)
            else phrase("There is no summary in memories/, so Codex loads no memory at all."),
            phrase('To use version 2, remove memories/ or set [memories] version = "v2" in config.toml.'),
        )
        title = phrase("Codex does not use the memory that it has written")
        state: Literal["warn", "fail"] = "warn" if _filled(one) else "fail"
        return AgentCheck(check, title, state, evidence, one if is_directory(one) else None)
    if not is_directory(home / codex_store.DIRECTORIES[used.name]):
        title = phrase("Codex has not created a memory here yet")
        return AgentCheck(check, title, "warn", together(codex_store.NO_STORE, used.reason))
    name = codex_store.DIRECTORIES[used.name]
    return AgentCheck(check, uses, "pass", together(phrase("Codex uses {name}/.", name=name), used.reason))


def _switch(home: Path, settings: Mapping[str, Any]) -> AgentCheck:
    check, off_title = "codex-switch", phrase("Codex's memory is off")
    if codex_store.features(home).get("memories") is not True:
        evidence = phrase(
            "[features] memories is not true in config.toml, so Codex neither creates nor loads memories."
        )
        return AgentCheck(check, off_title, "fail", evidence)
    off = [name for name in ("generate_memories", "use_memories") if settings.get(name) is False]
    if off:
        partly = phrase("Codex's memory is partly off")
        evidence = phrase("Turned off in [memories]: {names}.", names=", ".join(off))
        return AgentCheck(check, partly, "warn", evidence)
    evidence = phrase("[features] memories is true in config.toml.")
    return AgentCheck(check, phrase("Codex's memory is on"), "pass", evidence)


def _threads(facts: CodexFacts, settings: Mapping[str, Any]) -> AgentCheck:
    due = due_of(settings)
    counts = Counter(standings(facts.threads, facts.made, facts.jobs, due, facts.now_ms).values())
    parts = [
        phrase("{n} {state}.", n=counts[name], state=words)
        for name, words in _SESSIONS.items()
        if counts[name]
    ]
    rule = phrase(
        "Codex takes {n} at each start, {hours} after the last change and at most {days} old.",
        n=due.at_once,
        hours=plural("1 hour", "%n hours", due.idle_ms // HOUR_MS),
        days=plural("1 day", "%n days", due.age_ms // DAY_MS),
    )
    evidence = together(*(parts or [phrase("There are no such sessions.")]), rule)
    return AgentCheck("codex-sessions", phrase("Sessions that Codex may extract"), "pass", evidence)


_SESSIONS: Mapping[Standing, str] = {
    "ready": phrase("ready"),
    "done": phrase("done"),
    "off": phrase("off"),
    "archived": phrase("archived"),
    "not started by a person": phrase("not started by a person"),
    "waiting for a retry": phrase("waiting for a retry"),
    "still in use": phrase("still in use"),
    "too old": phrase("too old"),
}


def _lock(facts: CodexFacts) -> AgentCheck:
    check = "codex-lock"
    version = codex_store.version_in_use(facts.home).name
    name = codex_store.LOCKS[version]
    if facts.is_locked(facts.home / name):
        evidence = phrase(
            "{name} is locked. Until it is free, no other process can change its memory.", name=name
        )
        return AgentCheck(check, phrase("Codex is consolidating now"), "warn", evidence)
    free = phrase("{name} is not locked.", name=name)
    return AgentCheck(check, phrase("Codex is not consolidating now"), "pass", free)


def _jobs(facts: CodexFacts) -> AgentCheck:
    check = "codex-jobs"
    failed = [job for job in facts.jobs if job.state == "failed"]
    if not failed:
        well = plural("1 job, which did not fail.", "%n jobs, none failed.", len(facts.jobs))
        return AgentCheck(check, phrase("Codex's own jobs finished without errors"), "pass", well)
    said = [
        phrase("{job}: {text}{retry}", job=job.about, text=job.sentence, retry=_retry(job, facts.now_ms))
        for job in failed[:_SHOWN]
    ]
    more = phrase("{n} more are not shown.", n=len(failed) - _SHOWN) if len(failed) > _SHOWN else ""
    title = plural("1 job of Codex failed", "%n jobs of Codex failed", len(failed))
    return AgentCheck(check, title, "warn", together(*said, more))


def _retry(job: AgentJob, now_ms: int) -> str:
    if job.retry_at is None:
        return "."
    minutes = max(0, job.retry_at - now_ms) // 60_000
    if not minutes:
        return phrase("; Codex will try again at its next start.")
    return plural("; Codex will try again in 1 minute.", "; Codex will try again in %n minutes.", minutes)


def _usage(books: MemoryBooks) -> AgentCheck:
    used = [count for count in books.usage.values() if count]
    evidence = phrase(
        "Codex has cited {used} of {all} rollout summaries; total citations: {times}. Summaries that "
        "are never cited are deleted after 30 days.",
        used=len(used),
        all=len(books.usage),
        times=sum(used),
    )
    return AgentCheck("codex-usage", phrase("Parts of its memory that Codex has used"), "pass", evidence)


def _filled(store: Path) -> bool:
    return is_file(store / codex_store.SUMMARY)


def _number(settings: Mapping[str, Any], name: str, default: int) -> int:
    value = settings.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
