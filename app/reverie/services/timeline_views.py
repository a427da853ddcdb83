"""What a timeline shows: frozen values, safe to hand between threads. Times are UTC ms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reverie.homes.scopes import Scope, ScopeContext
from reverie.memory.history_log import Cursor, Place, What

Who = Literal["you", "agent", "dream", "harvest", "extract", "writer", "notes", "revert", "outside", "other"]
WHO: tuple[Who, ...] = (
    "you",
    "agent",
    "dream",
    "harvest",
    "extract",
    "writer",
    "notes",
    "revert",
    "outside",
    "other",
)
Verb = Literal["create", "change", "delete", "rename"]

NOW = ""
"""The `State.commit` of what stands on disk."""


@dataclass(frozen=True, slots=True)
class Target:
    """A file, a folder or a whole scope (empty `place.rel`) whose history is looked at. `beside`: it is a
    companion, `path` the one on the disk."""

    context: ScopeContext
    scope: Scope
    path: str
    place: Place
    beside: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """What stood at `place` in a commit; `NOW`: what stands there; None: before the beginning, nothing."""

    commit: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class TimelinePoint:
    """One change of what is followed. `actor` is the history's own word for `who`. `run_number`: the how
    manieth run of its kind it was, None where its record is gone. `path`: where it stood after the change;
    `other_path`: where before (renamed), or where it went (moved away). The counts are of files."""

    id: str
    parent: str | None
    at_ms: int
    who: Who
    actor: str
    run_id: str | None
    run_number: int | None
    source: str
    subject: str
    notes: str
    what: What
    place: Place
    path: str
    other: Place | None = None
    other_path: str = ""
    created: int = 0
    changed: int = 0
    deleted: int = 0
    moved: int = 0

    @property
    def after(self) -> State:
        return State(self.id, self.place)

    @property
    def before(self) -> State:
        renamed = self.other if self.what == "renamed" and self.other is not None else self.place
        return State(self.parent, renamed)

    @property
    def gone(self) -> bool:
        """After it nothing stood there any more."""
        return self.what in ("deleted", "moved-away")


@dataclass(frozen=True, slots=True)
class TimelinePage:
    """Newest first; `next`: where to go on, None at the beginning of the history. `head`: the newest commit
    of the home when it was read."""

    points: tuple[TimelinePoint, ...] = ()
    next: Cursor | None = None
    head: str = ""


@dataclass(frozen=True, slots=True)
class ComparedFile:
    """One file that differs between two states. `inner`: its path below what is compared; `was`: that of
    before, where it only has another name now."""

    path: str
    inner: str
    verb: Verb
    was: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two states beside each other, every file that differs."""

    old: State
    new: State
    files: tuple[ComparedFile, ...]

    def count(self, verb: Verb) -> int:
        """How many files this happened to."""
        return sum(file.verb == verb for file in self.files)


@dataclass(frozen=True, slots=True)
class BlameRow:
    """One line. `point`: its place in `BlameView.points`, -1 for what is not in the history yet."""

    text: str
    point: int


@dataclass(frozen=True, slots=True)
class BlameView:
    """Who brought each line of one version."""

    rows: tuple[BlameRow, ...] = ()
    points: tuple[TimelinePoint, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One file of a restore: `blob` None: it goes; `expected_sha256`: what stands there now."""

    path: str
    verb: Verb
    blob: str | None
    expected_sha256: str | None
    mode: int | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What a restore would do. `files` come back, `newer` came since and would go if a person wants that;
    `refused`: (path, why) of what cannot be brought back."""

    target: Target
    state: State
    path: str
    files: tuple[PlannedFile, ...] = ()
    newer: tuple[PlannedFile, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    same: int = 0
