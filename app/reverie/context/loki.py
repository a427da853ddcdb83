"""The context of loki-mode: the block of lessons from failed iterations that its next iteration gets.

Lessons were retrieved for the times that were requested from `context.gather`; for another time, the lessons
of the nearest requested time are used (formats/loki.md section 11).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from reverie.agents.scopes import Scope
from reverie.context.facts import ContextFacts
from reverie.context.marks import Marks, marked_lines, marks_in_line
from reverie.context.view import ContextEntry, ContextPart, ContextView, Gauge, Note
from reverie.failures.lessons import MOST_LESSONS, Lesson, Retrieved
from reverie.memory.paths import memory_path
from reverie.text.summaries import estimate_tokens


def loki_context(facts: ContextFacts, at: int, _drafts: Mapping[str, str]) -> ContextView:
    """Return the block of text that an iteration of loki-mode would get at the time `at` (UTC ms).

    `facts`: the files and settings that were read before. Unsaved texts have no effect: the block is made
    from the agent's records of failures, which cannot be edited as text.
    """
    nearest = min(facts.lessons, key=lambda known: abs(known - at), default=None)
    found = Retrieved() if nearest is None else facts.lessons[nearest]
    size, tokens = len(found.block.encode("utf-8", "surrogatepass")), estimate_tokens(found.block)
    sent = sum(lesson.injected for lesson in found.lessons)
    notes: tuple[Note, ...] = ("lessons-off",) if facts.off else ("no-goal",)
    if found.difference:
        notes = ("agent-differs", *notes)
    entries = tuple(_entries(facts, found))
    part = ContextPart(
        "lessons",
        entries,
        (Gauge("bytes", size), Gauge("tokens", tokens), Gauge("lessons", sent, MOST_LESSONS)),
        found.block,
        notes,
        detail=found.difference,
        marked=marked_lines(_pieces(found, entries)),
    )
    return ContextView(facts.agent, at, (part,), size, tokens)


def _entries(facts: ContextFacts, found: Retrieved) -> Iterator[ContextEntry]:
    for lesson in found.lessons:
        line = lesson.line
        yield ContextEntry(
            _path(facts, lesson),
            "in" if lesson.injected else "out",
            "lesson" if lesson.injected else "newest-only",
            bytes=len(line.encode("utf-8", "surrogatepass")) if lesson.injected else 0,
            tokens=estimate_tokens(line) if lesson.injected else 0,
            scope=Scope.PROJECT,
            description=line.removeprefix("- "),
            detail=str(lesson.seen) if lesson.seen > 1 else "",
            marks=marks_in_line(line, facts.caps),
        )
    for prior in found.priors:
        yield ContextEntry(
            prior,
            "in",
            "prior",
            bytes=len(prior.encode("utf-8", "surrogatepass")),
            tokens=estimate_tokens(prior),
            marks=marks_in_line(prior, facts.caps),
        )


def _pieces(found: Retrieved, entries: tuple[ContextEntry, ...]) -> Iterator[tuple[int, Marks]]:
    """Yield the number of the first line, and the marks, of each lesson and anti-pattern in the loaded text.

    Marks are findings that a person should look at, such as secrets. `found`: the lessons and anti-patterns;
    `entries`: an entry for each of them, in order. A lesson may have several lines.
    """
    line = 3  # after a blank line and the heading
    for lesson, entry in zip(found.lessons, entries, strict=False):
        if lesson.injected:
            yield line, entry.marks
            line += lesson.line.count("\n") + 1
    for prior, entry in zip(found.priors, entries[len(found.lessons) :], strict=True):
        yield line, entry.marks
        line += prior.count("\n") + 1


def _path(facts: ContextFacts, lesson: Lesson) -> str:
    """Return the memory path of the lesson's episode, or its path on disk if it lies outside the memories.

    An episode is the file with the record of one run of a task.
    """
    listing = facts.listings.get(Scope.PROJECT)
    root = None if listing is None else listing.root
    if root is None or not lesson.path.is_relative_to(root.directory):
        return str(lesson.path)
    return str(memory_path(Scope.PROJECT, lesson.path.relative_to(root.directory).as_posix()))
