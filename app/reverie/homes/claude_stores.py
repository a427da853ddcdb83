"""Where Claude Code keeps the memories of projects, sessions and sub-agents, as roots of scopes
(formats/claude-code.md sections 3, 4, 6 and 9), and what is said where there are none.

The usual places lie below `projects/`; settings may put the memory of one project, or of all, elsewhere.
Threading, failure: as `homes.base` says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from reverie.errors import Unavailable
from reverie.files.there import is_directory
from reverie.homes.claude_names import (
    DIRECTORY,
    LONGEST,
    MOST_SCANNED,
    SESSION,
    TEMPORARY,
    existing_directory,
)
from reverie.homes.claude_places import Checkouts, Machine
from reverie.homes.claude_projects import NOTES, Known
from reverie.homes.claude_settings import MemorySettings, memory_base, memory_settings
from reverie.homes.reading import directory_names
from reverie.homes.scopes import ProjectGap, Scope, ScopeRoot, ScopeUnavailable

_NOTES = "For session notes; Claude Code of today does not read them."


class ClaudeStores:
    """The scope roots of one home. A project is called as `ClaudeHome` calls it: by its directory, or by its
    directory in `projects/` where that is all that is known."""

    def __init__(self, config: Path, machine: Machine, known: Known, checkouts: Checkouts) -> None:
        self.projects = config / "projects"
        self._root = config
        self._machine = machine
        self._known = known
        self._checkouts = checkouts

    def global_root(self) -> ScopeRoot:
        """The memories of sub-agents, which every project sees."""
        return ScopeRoot(Scope.GLOBAL, "global", self._root / "agent-memory", "global:", without=TEMPORARY)

    def memory_base(self) -> Path:
        """Below which directory the memories of projects lie, unless a project's settings say otherwise."""
        return memory_base(self._root, self._machine) / "projects"

    def memory_root(self, name: str) -> ScopeRoot:
        """The memory of the project with this directory name; it need not exist."""
        key = f"project/{name}"
        directory = self.memory_base() / name / "memory"
        return ScopeRoot(Scope.PROJECT, key, directory, f"{key}:", newest=MOST_SCANNED, without=TEMPORARY)

    def notes_root(self, place: str, session_id: str) -> ScopeRoot:
        """The notes of one session in the project directory `place`."""
        key = f"workspace/{session_id}"
        directory = self.projects / place / session_id / NOTES
        return ScopeRoot(Scope.WORKSPACE, key, directory, f"{key}:", private=True, empty=_NOTES)

    def memory_of(self, project_path: str, cwd: str | None = None) -> ScopeRoot:
        """The memory of a project: that of its checkout, or where the settings put it. `cwd`: the working
        directory whose settings count, where it is not the checkout itself."""
        checkout = self.checkout(project_path)
        if checkout is None:
            return self.memory_root(Path(project_path).name)
        moved = self.settings_of(cwd or checkout).directory
        return self.memory_root(self.directory_of(checkout)) if moved is None else _moved_root(moved)

    def settings_of(self, cwd: str | None) -> MemorySettings:
        """The settings of a working directory (None: those for any). Those in the project itself move its
        memory only if this home has worked there: whoever names any other directory does not choose what
        Reverie reads."""
        found = memory_settings(self._root, cwd, self._machine)
        if found.by_project and cwd not in self._working_directories():
            return replace(memory_settings(self._root, None, self._machine), off=found.off)
        return found

    def root_of(self, cwd: str) -> str:
        """The checkout of a working directory, also of a worktree that was removed."""
        return self._checkouts.root(cwd)

    def has_memory(self, name: str) -> bool:
        """Whether the memory with this directory name is there."""
        return is_directory(self.memory_root(name).directory)

    def memories(self, problems: list[str]) -> Iterator[str]:
        """The directory names of projects with a memory. What cannot be read is added to `problems`."""
        for name in directory_names(self.memory_base(), problems):
            if DIRECTORY.fullmatch(name) and self.has_memory(name):
                yield name

    def memory_directories(self) -> tuple[Path, ...]:
        """Every memory of a project that is there."""
        usual = (self.memory_root(name).directory for name in self.memories([]))
        moved = (root.directory for root in self.moved() if is_directory(root.directory))
        return tuple(dict.fromkeys((*usual, *moved)))

    def moved(self) -> tuple[ScopeRoot, ...]:
        """The memories that settings put elsewhere, of all projects whose directory is known."""
        found = (each.directory for each in self._settings())
        return tuple({str(path): _moved_root(path) for path in found if path is not None}.values())

    def refusals(self) -> tuple[str, ...]:
        """A sentence for each setting that is not followed."""
        return tuple(dict.fromkeys(each.refused for each in self._settings() if each.refused))

    def _settings(self) -> Iterator[MemorySettings]:
        found: tuple[str | None, ...] = (None, *self._working_directories())
        return (memory_settings(self._root, each, self._machine) for each in found)

    def _working_directories(self) -> tuple[str, ...]:
        """Every working directory that is known, and their checkouts."""
        found: dict[str, None] = {}
        for name in directory_names(self.projects, []):
            for path in self._known.paths(name):
                found[self.root_of(path)] = None
                found[path] = None
        return tuple(found)

    def store(self, key: str) -> ScopeRoot:
        """The root with this key, as `ScopeRoot.key` has it. Raises `Unavailable`."""
        name = key.removeprefix("project/")
        if DIRECTORY.fullmatch(name):
            return self.memory_root(name)
        for root in self.moved():
            if root.key == key:
                return root
        raise Unavailable(
            f"{name[:80]!r} is no memory of Claude Code.", cause="Its name is not one that the agent gives."
        )

    def checkout(self, path: str) -> str | None:
        """The directory of a project, if it is known."""
        return None if Path(path).parent == self.projects else path

    def directory_of(self, path: str) -> str:
        """The directory name of a path: the one there is, else the one the agent would make."""
        # A character may be two units, and those count.
        names = directory_names(self.projects, []) if 2 * len(path) > LONGEST else ()
        return existing_directory(names, path)


def _moved_root(directory: Path) -> ScopeRoot:
    # No name in `projects/` begins so; the path itself may be too long for a name.
    key = f"project/@{hashlib.sha256(str(directory).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    return ScopeRoot(Scope.PROJECT, key, directory, f"{key}:", newest=MOST_SCANNED, without=TEMPORARY)


def nothing_chosen(scope: Scope, gap: ProjectGap | None, what: str) -> ScopeUnavailable:
    """Nothing in the context says which project or session is meant. `what`: the word for it."""
    return ScopeUnavailable(
        scope,
        gap,
        f"There is no {scope.value} memory here.",
        cause=f"No {what} is chosen.",
        next_step=f"Choose a {what}.",
    )


def no_session(session_id: str) -> ScopeUnavailable:
    """An id that no session of this home has."""
    return ScopeUnavailable(
        Scope.WORKSPACE,
        None,
        "There are no session notes here.",
        cause=f"The home has no session {session_id}.",
        next_step="Choose another session.",
    )


def refuse_hostile_id(session_id: str) -> None:
    """Raises `Unavailable` for what is no UUID, before it becomes part of a path."""
    if not SESSION.fullmatch(session_id):
        raise Unavailable(
            f"There is no session {session_id[:80]!r}.",
            cause="A session is called by its UUID.",
            next_step="Use an id as `reverie homes` shows it.",
        )
