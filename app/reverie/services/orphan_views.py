"""What is shown of lost stores and of merging them: frozen values, safe to hand between threads.

Sizes are bytes, times ns since the epoch; `rel` is the path below the store's directory, with `/`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from reverie.homes.listing import LostStore
from reverie.homes.scopes import Scope
from reverie.services.orphan_matching import LiveProject, Match

MergeState = Literal["create", "same", "contained", "differs", "blocked"]
"""What merging does with a file: nothing stands at its place; the same bytes do; the note there has all its
lines; both differ, and a person may choose; it stays where it is, as `blocked` says."""

MergeChoice = Literal["both", "beside", "leave"]
"""For a file that differs: one note with every line of both; a note of its own beside the other; nothing."""

Blocked = Literal["", "name", "too-large", "folder", "unreadable"]


@dataclass(frozen=True, slots=True)
class StoreFile:
    """One file of a lost store."""

    rel: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class StoreView:
    """One lost store with what it holds. `best` None: nothing speaks for a project, or the same for several.
    `more`: there are more files than are listed. `removable`: the history keeps what is removed."""

    store: LostStore
    files: tuple[StoreFile, ...]
    more: bool
    matches: tuple[Match, ...]
    best: Match | None
    removable: bool

    @property
    def id(self) -> str:
        return str(self.store.directory)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class OrphansView:
    """The lost stores of one home, and the projects they may be merged into."""

    stores: tuple[StoreView, ...]
    projects: tuple[LiveProject, ...]


@dataclass(frozen=True, slots=True)
class MergeRow:
    """What merging does with one file. `path` is where it goes, `beside` a free place next to that. `lost`
    and `live` are the bytes on both sides, `union` those with every line of both (None: cannot be made).
    `why`: the rule that a name breaks."""

    rel: str
    path: str
    state: MergeState
    lost: bytes = b""
    live: bytes | None = None
    union: bytes | None = None
    beside: str = ""
    choices: tuple[MergeChoice, ...] = ()
    blocked: Blocked = ""
    why: str = ""
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class MergePreview:
    """A merge to look through; nothing was changed. `project_path` empty: into global memory."""

    store: LostStore
    scope: Scope
    project_path: str
    rows: tuple[MergeRow, ...] = field(default=())
    problem: str = ""
    """Why no pins are known, so that none follow; empty where they are."""
