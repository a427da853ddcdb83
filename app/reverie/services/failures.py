"""Lessons from failures of a loki-mode project: lessons, anti-patterns, crashes; resolutions of errors.

An edit names the value that the user saw. It is made under the agent's own lock file, so that the agent and
Reverie wait for each other, and by compare-and-swap, because other writers take no lock. The history has the
file before and after.

Threading: blocking, any thread but the GUI's; `FailuresView` is frozen and its methods are pure. Failure:
files that cannot be read are listed in `problems`; an edit raises `UserError` (`Conflict` if the record
changed), and a problem that occurs after it is a warning in its result.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

from reverie.agents.base import TranscriptSource
from reverie.agents.capabilities import AntiPattern
from reverie.agents.loki.locations import DERIVED, FOLDERS, namespaces
from reverie.agents.loki.records import ErrorEntry, anti_patterns_of, errors_of, parse_to_write, read_object
from reverie.agents.loki.rendering import rendered
from reverie.agents.scopes import Scope, ScopeRoot
from reverie.errors import Conflict, StoreError, Unavailable, warned
from reverie.failures.crash import CrashGroup, crashes, groups
from reverie.failures.lessons import (
    FINGERPRINT_CHARS,
    MOST_LESSONS,
    Lesson,
    LessonState,
    all_lessons,
    anti_patterns_in,
    block_of,
    injected_among,
    is_on,
    priors_among,
    retrieve,
)
from reverie.failures.record import is_switched_off
from reverie.files.atomic import Undurable
from reverie.files.locks import file_lock, lock_beside
from reverie.memory.paths import memory_path
from reverie.memory.scope_files import sha256_of_bytes
from reverie.services.container import HomeContainer, rooted_files
from reverie.services.views import FieldChange, Undo
from reverie.values import replace


class RecordEdits:
    """The service that edits single fields of loki-mode's records of failures, and undoes such edits."""

    def __init__(self, parts: HomeContainer) -> None:
        if parts.home.failures is None:
            raise Unavailable("This home has no failure records.", next_step="Open a loki-mode project.")
        self._parts = parts
        self._root: ScopeRoot = parts.home.scope_root(parts.home.context(), Scope.PROJECT)
        self._files = rooted_files(self._root)

    def change(self, change: FieldChange, warnings: list[str] | None = None) -> FieldChange:
        """Change one field of a record; return the change that undoes this.

        `warnings` gets the problems that occur after the change is made; None: they are dropped. Raises
        `Conflict` if the record does not have the value that `change` expects.
        """
        rel = change.rel
        *folders, name = Path(rel).parts
        if name in DERIVED or not set(folders) & set(FOLDERS):
            raise StoreError(
                f"{rel} cannot be edited.", cause="Only the agent may change it.", reason="not-editable"
            )
        self._parts.write_guard.require(self._root)
        path = self._root.directory / rel
        with file_lock(self._parts.profile.locks, path), lock_beside(path):
            before = self._files.read(rel)
            after = spelled(made_in(change, parsed(before, rel)), before)
            if after != before:
                self._write(rel, before, after, [] if warnings is None else warnings)
        return FieldChange(rel, change.place, change.after, change.before, change.is_there, change.was_there)

    def apply(self, change: FieldChange) -> Undo:
        """Change one field of a record on behalf of a person; return the `Undo`.

        Raises `Conflict` if the record does not have the value that `change` expects.
        """
        warnings: list[str] = []
        back = self.change(change, warnings)
        path = str(memory_path(Scope.PROJECT, change.rel))
        context = self._parts.home.context()
        sentence = f"Undid the change in {path}."
        return Undo(context, path, (back,), sentence, warning=" ".join(warnings))

    def _write(self, rel: str, before: bytes, after: bytes, warnings: list[str]) -> None:
        path = self._root.directory / rel

        def compare(current: bytes | None) -> None:
            if current != before:
                raise Conflict(
                    f"{rel} was not written:", cause="it changed meanwhile.", next_step="Try again."
                )
            self._parts.actors.record(
                path, sha256_of_bytes(after), actor="user", run_id=None, at_ms=self._parts.clock()
            )

        self._parts.snapshots.observe(source="before a change", dirty=[path])
        try:
            with warned(warnings, Undurable):
                self._files.write(rel, after, before_replace=compare)
        finally:
            with warned(warnings):  # the change is made; the next snapshot includes it
                self._parts.snapshots.record(
                    actor="user", source="by hand", subject="Record changed by hand", dirty=[path]
                )


_PATTERNS = "semantic/patterns.json"


def patterns_in_words(records: Iterable[dict[str, Any]]) -> str:
    """Return the anti-patterns `records` as Markdown, one below the other, each without a heading.

    An anti-pattern is a rule of the agent that says what to avoid.
    """
    told = (rendered(_PATTERNS, json.dumps({"patterns": [record]}).encode()) for record in records)
    return "\n\n".join((text or "").partition("## ")[2].strip() for text in told)


@dataclass(frozen=True)
class FailuresView:
    """The lessons, anti-patterns and crashes of one home, read at one time."""

    lessons: tuple[Lesson, ...]
    anti_patterns: tuple[AntiPattern, ...]
    crashes: tuple[CrashGroup, ...]
    on: bool
    """Whether Reverie's own environment switches failure memory on."""
    recorded: bool
    """Whether the settings in the agent's directory let failures be recorded."""
    source: TranscriptSource | None
    """The Claude Code transcript that these settings name; None if they name none."""
    problems: tuple[str, ...]
    """Sentences about files that cannot be read."""
    difference: str = ""
    """How `block` differs from the block that loki-mode would inject, as a sentence; empty if it does not."""

    @property
    def injected(self) -> tuple[Lesson, ...]:
        """The lessons that the agent adds to its next prompt, in the order in which it adds them."""
        return tuple(each for each in self.lessons if each.injected)

    def priors(self, goal: str) -> tuple[str, ...]:
        """Return the lines about anti-patterns that the agent adds to its prompt if its goal is `goal`."""
        return priors_among(self.anti_patterns, goal) if self.on else ()

    def lessons_for(self, goal: str) -> tuple[AntiPattern, ...]:
        """Return the anti-patterns that the lines of `priors` are about, for the goal `goal`.

        Of several anti-patterns with the same meaning, only the one that the agent gets is returned.
        """
        return injected_among(self.anti_patterns, goal) if self.on else ()

    def block(self, goal: str = "") -> str:
        """Return the block of text that the agent would add to its prompt now: lessons, then anti-patterns.

        `goal`: the agent's goal, by which anti-patterns are chosen; empty: no goal.
        """
        return block_of(self.lessons, self.priors(goal))

    def crash_of(self, lesson: Lesson) -> CrashGroup | None:
        """Return the group of equal crashes that a lesson was made from; None if there is none."""
        beginning = lesson.fingerprint[:FINGERPRINT_CHARS]
        same = (each for each in self.crashes if each.fingerprint[:FINGERPRINT_CHARS] == beginning)
        return next(same, None) if beginning else None

    def lessons_of(self, group: CrashGroup) -> Sequence[Lesson]:
        """Return the lessons that were made from the crashes in `group`."""
        return self._lessons_by_beginning.get(group.fingerprint[:FINGERPRINT_CHARS], ())

    @cached_property
    def _lessons_by_beginning(self) -> Mapping[str, Sequence[Lesson]]:
        found: dict[str, list[Lesson]] = {}
        for each in self.lessons:
            if fingerprint := each.fingerprint:
                found.setdefault(fingerprint[:FINGERPRINT_CHARS], []).append(each)
        return found


class FailureService:
    """The service for the failures that the loki-mode agent of one home has recorded."""

    def __init__(
        self, parts: HomeContainer, records: RecordEdits, env: Mapping[str, str] = os.environ
    ) -> None:
        assert parts.home.failures is not None  # `records` exists for no other home
        self._parts = parts
        self._home = parts.home.failures
        self._records = records
        self._env = env

    def look(self) -> FailuresView:
        """Read all lessons, anti-patterns and crashes of the home."""
        home, problems, now = self._home, list[str](), self._parts.clock()
        transcripts = self._parts.home.transcripts
        on = is_on(self._env)
        found = retrieve(home.memory, now_ms=now)
        turns = {(each.path, each.index): turn for turn, each in enumerate(found.lessons)}
        lessons: list[Lesson] = []
        for name in ("", *namespaces(home.memory)):
            for each in all_lessons(home.memory / name, now, problems):
                turn = turns.get((each.path, each.index))
                if turn is None:
                    state: LessonState = "elsewhere" if name else "older"
                else:
                    state = "injected" if on and turn < MOST_LESSONS else "window"
                rel = each.path.relative_to(home.memory).as_posix()
                lessons.append(replace(each, state=state, rel=rel))
        last = len(turns)
        lessons.sort(key=lambda each: -1 if each.at is None else each.at, reverse=True)
        # The agent's own order, where it has one.
        lessons.sort(key=lambda each: turns.get((each.path, each.index), last))
        return FailuresView(
            tuple(lessons),
            (
                *anti_patterns_in(home.memory, problems),
                *anti_patterns_of(list(home.database_patterns(problems)), None),
            ),
            groups(crashes(home.crashes, problems)),
            on,
            not is_switched_off(self._parts.home.root),
            next(iter(transcripts.sources()), None) if transcripts is not None else None,
            tuple(dict.fromkeys(problems)),
            found.difference if on else "",
        )

    def resolve(self, lesson: Lesson, text: str) -> Undo:
        """Write `text` as the resolution of the error that `lesson` is about; return the `Undo`.

        Raises `Conflict` if the error differs from the one in `lesson`.
        """
        record = read_object(self._home.memory / lesson.rel, []) or {}
        seen = ErrorEntry(lesson.type, lesson.message, lesson.resolution, lesson.index)
        if seen not in errors_of(record):
            raise Conflict(
                f"{lesson.rel} was not changed:",
                cause="the error no longer exists or has changed.",
                next_step="Check that the failure records are complete and readable, then try again.",
            )
        error = record["errors_encountered"][lesson.index]
        return self._records.apply(resolution(lesson.rel, lesson.index, error, text))


def resolution(rel: str, index: int, error: Mapping[str, Any], after: str) -> FieldChange:
    """Build the change that sets the resolution of an error in an episode to the text `after`.

    The agent itself never sets it. `rel`: the path of the episode below the memory root; `index`: the
    position of the error in the episode; `error`: the error as the record has it.
    """
    place = ("errors_encountered", index, "resolution")
    return FieldChange(rel, place, error.get("resolution"), after, was_there="resolution" in error)


def spelled(document: Any, like: bytes) -> bytes:
    """Return a JSON document as the bytes to write, formatted as the agent does.

    Escapes and the final line break are as in `like`, the file's present content.
    """
    text = json.dumps(document, indent=2, ensure_ascii=like.isascii())
    tail = b"\n" if like.endswith(b"\n") else b""
    return text.encode("utf-8", "surrogatepass") + tail


def parsed(data: bytes, rel: str) -> Any:
    """Parse `data`, the JSON content of the file at the path `rel`.

    Raises `StoreError` if it cannot be parsed without loss, so that the file must not be rewritten.
    """
    try:
        return parse_to_write(data)
    except ValueError as error:
        raise StoreError(
            f"{rel} was not changed.",
            cause=f"The file cannot be read: {error}.",
            next_step="Repair the file with another program.",
            reason="not-text",
        ) from None


def made_in(change: FieldChange, document: Any) -> Any:
    """Return `document`, the parsed content of a record, with `change` applied.

    Read the document right before the call, so that changes by others are preserved. Unknown keys and their
    order are kept. Raises `Conflict` if the document does not have the value that `change` expects.
    """
    changed = copy.deepcopy(document)
    *above, last = change.place
    inside = reduce(_inside, above, changed)
    now = _inside(inside, last)
    if _same(now, change.after if change.is_there else _ABSENT):
        return changed
    if not _same(now, change.before if change.was_there else _ABSENT) or not isinstance(inside, dict | list):
        raise Conflict(
            f"{change.rel} was not changed:",
            cause="the records no longer exist or have changed.",
            next_step="Check that the failure records are complete and readable, then try again.",
        )
    if change.is_there:
        inside[last] = change.after  # type: ignore[index]
    else:
        del inside[last]  # type: ignore[arg-type]
    return changed


_ABSENT = object()


def _inside(value: Any, step: str | int) -> Any:
    if isinstance(value, dict) and isinstance(step, str):
        return value.get(step, _ABSENT)
    if isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
        return value[step]
    return _ABSENT


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal as JSON; Python's `==` treats 1 and True as equal."""
    if one is _ABSENT or other is _ABSENT:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
