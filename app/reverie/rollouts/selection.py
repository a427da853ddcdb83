"""Which threads are extracted: the newest that went on since their memory was made (formats/codex.md
section 2).

Looked at are the 200 newest threads that a person led and that are not archived. A thread that is still being
written is left for the next time: instead of the thread that is running in this very process, which a program
beside the agent has none of, that is one whose rollout changed a moment ago. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from reverie.homes.codex_threads import Thread

INTERACTIVE = frozenset({"cli", "vscode", "atlas", "chatgpt"})
LOOKED_AT = 200

SkipReason = Literal[
    "active", "up-to-date", "over-the-limit", "no-rollout", "memory-off", "sub-agent", "not-interactive",
    "archived", "no-directory", "lease-held", "changed",
]  # fmt: skip

SKIP_WORDS: Mapping[SkipReason, str] = {
    "active": "its rollout is still growing",
    "up-to-date": "its memory is as new as the thread",
    "over-the-limit": "enough threads were chosen; it comes next time",
    "no-rollout": "its rollout is gone",
    "memory-off": "its memory is switched off",
    "sub-agent": "a sub-agent led it",
    "not-interactive": "no person led it",
    "archived": "it is archived",
    "no-directory": "its rollout names no working directory",
    "lease-held": "another process extracts it",
    "changed": "it was extracted meanwhile",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many threads at once, and how long (ms) a rollout must have been left alone."""

    rollouts: int = 8
    idle_ms: int = 120_000


@dataclass(frozen=True, slots=True)
class Skipped:
    """A thread that is not extracted, and why."""

    thread: Thread
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class Selection:
    """`chosen` are to be extracted, newest first; `skipped` says why the others are not."""

    chosen: tuple[Thread, ...]
    skipped: tuple[Skipped, ...]

    def counts(self) -> dict[str, int]:
        """How many were left out, by reason."""
        found: dict[str, int] = {}
        for each in self.skipped:
            found[each.reason] = found.get(each.reason, 0) + 1
        return found


def select(
    threads: Sequence[Thread],
    stored: Callable[[str], int | None],
    limits: Limits,
    now_ms: int,
    failed: Collection[str] = (),
) -> Selection:
    """Choose among `threads`. `stored`: when the rollout that a thread's memory was made from had last
    changed (UTC ms), None for a thread without one. `failed`: threads that did not go on since their
    extraction failed; they come after the others, so that some that always fail keep nobody out."""
    wanted: list[Thread] = []
    skipped: list[Skipped] = []
    looked_at = 0
    for thread in sorted(threads, key=lambda each: (-(each.updated_at or 0), each.id)):
        reason = _never(thread)
        if reason is None:
            looked_at += 1
            if looked_at > LOOKED_AT:
                break
            reason = _not_now(thread, stored(thread.id), limits, now_ms)
        if reason is None:
            wanted.append(thread)
        else:
            skipped.append(Skipped(thread, reason))
    wanted.sort(key=lambda each: each.id in failed)
    skipped += [Skipped(each, "over-the-limit") for each in wanted[limits.rollouts :]]
    return Selection(tuple(wanted[: limits.rollouts]), tuple(skipped))


def led_by_person(source: str) -> bool:
    """Whether a thread of this source is one that people have; old rollouts do not say."""
    return not source or source in INTERACTIVE


def _never(thread: Thread) -> SkipReason | None:
    if thread.subagent:
        return "sub-agent"
    if thread.archived:
        return "archived"
    if not led_by_person(thread.source):
        return "not-interactive"
    if thread.memory_mode not in ("", "enabled"):
        return "memory-off"
    return None


def _not_now(thread: Thread, stored: int | None, limits: Limits, now_ms: int) -> SkipReason | None:
    if thread.path is None or thread.updated_at is None:
        return "no-rollout"
    if stored is not None and stored >= thread.updated_at:
        return "up-to-date"
    # Both ways: a rollout from a clock that goes ahead is not for ever in use.
    if abs(now_ms - thread.updated_at) < limits.idle_ms:
        return "active"
    return None
