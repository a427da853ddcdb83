"""What a loki-mode project learned from failures: lessons, anti-patterns, crashes; edits of its records.

An edit names what the user saw and is made under the store's own lock beside the file, so that the agent and
Reverie wait for each other, and by compare-and-swap, for writers that take no lock. The history has the file
before and after. The text of a skill beside its record follows, unless the user changed it.

Threading: blocking, any thread but the GUI's; `FailuresView` is frozen and its methods are pure. Failure:
what cannot be read is listed in `problems`; an edit raises `UserError` (`Conflict` where the record changed),
and what goes wrong after it is a warning beside its result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.agents.base import TranscriptSource
from reverie.agents.capabilities import AntiPattern
from reverie.agents.loki.anti_patterns import repeated
from reverie.agents.loki.locations import DERIVED, FOLDERS, namespaces
from reverie.agents.loki.records import (
    anti_patterns_of,
    errors_of,
    patterns_of,
    read_object,
    read_record,
    text_of,
)
from reverie.agents.loki.rendering import rendered
from reverie.agents.scopes import Scope, ScopeRoot
from reverie.errors import Conflict, StoreError, Unavailable, UserError
from reverie.failures.crash import CrashGroup, crashes, groups
from reverie.failures.lessons import (
    ABSENT,
    FINGERPRINT_CHARS,
    Lesson,
    RecordChange,
    all_lessons,
    anti_patterns_in,
    block_of,
    injected_among,
    is_on,
    merged,
    parsed,
    priors_among,
    resolution,
    retrieve,
    skill_text,
    spelled,
)
from reverie.failures.record import is_switched_off
from reverie.files.atomic import made_all_the_same
from reverie.files.locks import file_lock, lock_beside
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.services.container import HomeContainer, rooted_files
from reverie.services.views import Undo
from reverie.values import Struct, replace

if TYPE_CHECKING:
    from reverie.failures.lessons import PatternsChange


# Edits of records: a field, or merged patterns, and undoing each.


class RecordEdits:
    """The records of one home."""

    def __init__(self, parts: HomeContainer) -> None:
        if parts.home.failures is None:
            raise Unavailable("This home keeps no records.", next_step="Open a project of loki-mode.")
        self._parts = parts
        self._root: ScopeRoot = parts.home.scope_root(parts.home.context(), Scope.PROJECT)
        self._files = rooted_files(self._root)

    def patterns(self, rel: str = "semantic/patterns.json") -> tuple[dict[str, Any], ...]:
        """The patterns of a store, as they are on disk. Raises `StoreError`."""
        return patterns_of(parsed(self._files.read(rel), rel))

    def change(self, change: RecordChange, warnings: list[str] | None = None) -> RecordChange:
        """Make a change; what takes it back. `warnings` gets what went wrong once it was made. Raises
        `Conflict` where what it expects is not there."""
        rel = change.rel
        self._refuse_others(rel)
        self._parts.write_guard.require(self._root)
        path = self._root.directory / rel
        with file_lock(self._parts.profile.locks, path), lock_beside(path):
            before = self._files.read(rel)
            document = parsed(before, rel)
            changed = change.made_in(document)
            images = {rel: (before, spelled(changed, before))}
            with ExitStack() as held:
                images |= self._rendering(rel, document, changed, held)
                images = {name: pair for name, pair in images.items() if pair[0] != pair[1]}
                if images:
                    self._write(images, [] if warnings is None else warnings)
        return change.back(document)

    def apply(self, change: RecordChange) -> Undo:
        """`change` as a hand edit like any other. Raises `Conflict`."""
        warnings: list[str] = []
        back = self.change(change, warnings)
        path = str(memory_path(Scope.PROJECT, change.rel))
        context = self._parts.home.context()
        sentence = f"Took back the change in {path}."
        return Undo(context, path, (back,), sentence, warning=" ".join(warnings))

    def _write(self, images: dict[str, tuple[bytes, bytes]], warnings: list[str]) -> None:
        paths = [self._root.directory / rel for rel in images]
        self._parts.snapshots.observe(source="before a change", dirty=paths)
        try:
            for rel, (before, after) in images.items():
                with made_all_the_same(warnings):
                    self._replace(rel, before, after)
        finally:
            try:  # what is changed is changed; the next snapshot takes it in
                self._parts.snapshots.record(
                    actor="user", source="by hand", subject="Record changed by hand", dirty=paths
                )
            except UserError as error:
                warnings.append(str(error))

    def _replace(self, rel: str, before: bytes, after: bytes) -> None:
        def compare(current: bytes | None) -> None:
            if current != before:
                raise Conflict(
                    f"{rel} was not written:", cause="it changed meanwhile.", next_step="Try again."
                )
            self._parts.actors.record(
                self._root.directory / rel,
                sha256_of_bytes(after),
                actor="user",
                run_id=None,
                at_ms=self._parts.clock(),
            )

        self._files.write(rel, after, before_replace=compare)

    def _rendering(
        self, rel: str, before: Any, after: Any, held: ExitStack
    ) -> dict[str, tuple[bytes, bytes]]:
        """What becomes of the text beside a skill's record: anew, where it is the agent's."""
        folders, name = rel.split("/")[:-1], rel.removesuffix(".json") + ".md"
        if "skills" not in folders or not isinstance(before, dict) or self._files.entry(name) is None:
            return {}
        held.enter_context(file_lock(self._parts.profile.locks, self._root.directory / name))
        current = self._files.read(name)
        if current.decode("utf-8", "replace").strip() != skill_text(before).strip():
            return {}
        return {name: (current, skill_text(after).encode("utf-8", "surrogatepass"))}

    def _refuse_others(self, rel: str) -> None:
        parts = Path(rel).parts
        if not any(part in FOLDERS for part in parts[:-1]) or parts[-1] in DERIVED:
            raise StoreError(
                f"{rel} is not for editing.", cause="The agent keeps it for itself.", reason="not-editable"
            )


LessonState = Literal["injected", "window", "older", "elsewhere"]
"""In the block; in the agent's window but not among the newest; not in the window; in a namespace, which the
agent does not look into."""
_PATTERNS = "semantic/patterns.json"


class LessonView(Struct, frozen=True):
    """A lesson and where it stands. `rel`: its episode below the memory root, with `/`."""

    lesson: Lesson
    state: LessonState
    rel: str


class Repeated(Struct, frozen=True):
    """Anti-patterns of the store in `rel` that say the same, in its order."""

    rel: str
    records: tuple[dict[str, Any], ...]

    @property
    def title(self) -> str:
        """What the first of them says."""
        return text_of(self.records[0].get("pattern"))

    @property
    def change(self) -> PatternsChange:
        """What merging them would do: `after` holds the one that stays."""
        return merged(self.rel, self.records)


def patterns_in_words(records: Iterable[dict[str, Any]]) -> str:
    """Patterns as Markdown, one below the other, without the headings of the store."""
    told = (rendered(_PATTERNS, json.dumps({"patterns": [record]}).encode()) for record in records)
    return "\n\n".join((text or "").partition("## ")[2].strip() for text in told)


@dataclass(frozen=True)
class FailuresView:
    """Everything there is. `on`: the switch in Reverie's own environment; `recorded`: the store's settings
    let failures be recorded; `block`: what would be told now, without a goal; `source`: the transcript of
    Claude Code that the store names."""

    lessons: tuple[LessonView, ...]
    anti_patterns: tuple[AntiPattern, ...]
    repeated: tuple[Repeated, ...]
    crashes: tuple[CrashGroup, ...]
    on: bool
    recorded: bool
    source: TranscriptSource | None
    problems: tuple[str, ...]
    difference: str = ""
    """How what loki-mode itself would inject differs, and why: a sentence; empty where it does not."""

    @property
    def injected(self) -> tuple[Lesson, ...]:
        """The lessons in the block, in its order."""
        return tuple(each.lesson for each in self.lessons if each.state == "injected")

    def priors(self, goal: str) -> tuple[str, ...]:
        """What the anti-patterns add for an iteration about `goal`."""
        return priors_among(self.anti_patterns, goal) if self.on else ()

    def lessons_for(self, goal: str) -> tuple[AntiPattern, ...]:
        """The anti-patterns behind `priors`; of those that say the same only the ones that are told."""
        return injected_among(self.anti_patterns, goal) if self.on else ()

    def block(self, goal: str = "") -> str:
        """The block as the agent would get it now."""
        return block_of(self.injected, self.priors(goal))

    def block_with(self, lesson: Lesson, text: str, goal: str = "") -> str:
        """The block as it would be with this resolution of that lesson."""
        shown = (replace(each, resolution=text) if each == lesson else each for each in self.injected)
        return block_of(tuple(shown), self.priors(goal))

    def crash_of(self, lesson: Lesson) -> CrashGroup | None:
        """The crashes that a lesson was made of."""
        return self._crashes_by_beginning.get(lesson.fingerprint[:FINGERPRINT_CHARS])

    def lessons_of(self, group: CrashGroup) -> tuple[LessonView, ...]:
        """The lessons that were made of crashes of this kind."""
        return tuple(self._lessons_by_beginning.get(group.fingerprint[:FINGERPRINT_CHARS], ()))

    @cached_property
    def _crashes_by_beginning(self) -> Mapping[str, CrashGroup]:
        groups = (each for each in reversed(self.crashes) if each.fingerprint)
        return {each.fingerprint[:FINGERPRINT_CHARS]: each for each in groups}

    @cached_property
    def _lessons_by_beginning(self) -> Mapping[str, Sequence[LessonView]]:
        found: dict[str, list[LessonView]] = {}
        for each in self.lessons:
            if fingerprint := each.lesson.fingerprint:
                found.setdefault(fingerprint[:FINGERPRINT_CHARS], []).append(each)
        return found


class FailureService:
    """The failures of one home of loki-mode."""

    def __init__(
        self, parts: HomeContainer, records: RecordEdits, env: Mapping[str, str] = os.environ
    ) -> None:
        assert parts.home.failures is not None  # `records` exists for no other home
        self._parts = parts
        self._home = parts.home.failures
        self._records = records
        self._env = env

    def look(self) -> FailuresView:
        """Read all of it."""
        home, problems, now = self._home, list[str](), self._parts.clock()
        transcripts = self._parts.home.transcripts
        on = is_on(self._env)
        found = retrieve(home.memory, now_ms=now)
        states: dict[tuple[Path, int], LessonState] = {
            (each.path, each.index): "injected" if on and each.injected else "window"
            for each in found.lessons
        }
        lessons: list[LessonView] = []
        alike: list[Repeated] = []
        for name in ("", *namespaces(home.memory)):
            memory = home.memory / name if name else home.memory
            for each in all_lessons(memory, now, problems):
                state = states.get((each.path, each.index), "elsewhere" if name else "older")
                rel = each.path.relative_to(home.memory).as_posix()
                lessons.append(LessonView(replace(each, injected=state == "injected"), state, rel))
            rel = f"{name}/{_PATTERNS}" if name else _PATTERNS
            records = patterns_of(read_record(home.memory / rel, problems))
            alike += [Repeated(rel, group) for group in repeated(records)]
        turns = {(each.path, each.index): turn for turn, each in enumerate(found.lessons)}
        last = len(turns)
        lessons.sort(key=lambda each: -1 if each.lesson.at is None else each.lesson.at, reverse=True)
        # The agent's own order, where it has one.
        lessons.sort(key=lambda each: turns.get((each.lesson.path, each.lesson.index), last))
        return FailuresView(
            tuple(lessons),
            (
                *anti_patterns_in(home.memory, problems),
                *anti_patterns_of(list(home.database_patterns(problems)), None),
            ),
            tuple(alike),
            groups(crashes(home.crashes, problems)),
            on,
            not is_switched_off(self._parts.home.root),
            next(iter(transcripts.sources()), None) if transcripts is not None else None,
            tuple(dict.fromkeys(problems)),
            found.difference if on else "",
        )

    def resolve(self, view: LessonView, text: str) -> Undo:
        """Write what came of an error. Raises `Conflict` where the error is not there as it was seen."""
        lesson = view.lesson
        record = read_object(self._home.memory / view.rel, []) or {}
        seen = (lesson.type, lesson.message, lesson.resolution, lesson.index)
        now = ((each.type, each.message, each.resolution, each.index) for each in errors_of(record))
        if seen not in now:
            raise Conflict(
                f"{view.rel} was not changed:",
                cause="the error is not there any more as you saw it.",
                next_step="Look at it again, and repeat the change.",
            )
        before = record["errors_encountered"][lesson.index].get("resolution", ABSENT)
        return self._records.apply(resolution(view.rel, lesson.index, before, text))

    def merge(self, group: Repeated) -> Undo:
        """Make one of anti-patterns that say the same. Raises `Conflict` where one is not as it was seen."""
        return self._records.apply(group.change)
