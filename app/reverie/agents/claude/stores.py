"""The scope roots of a Claude Code home.

Threading: any thread but the GUI's. Failure: as in `agents.base`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from reverie.agents.claude.locations import (
    DIRECTORY,
    LONGEST,
    MOST_SCANNED,
    SCANNED,
    SESSION,
    TEMPORARY,
    existing_directory,
)
from reverie.agents.claude.projects import NOTES, ProjectCache
from reverie.agents.claude.settings import Checkouts, Machine, MemorySettings, memory_base, memory_settings
from reverie.agents.reading import directory_names
from reverie.agents.scopes import Scope, ScopeRoot, ScopeUnavailable
from reverie.errors import Unavailable
from reverie.files.directory import is_directory
from reverie.values import replace

_NOTES = "For session notes. Current versions of Claude Code do not read them."


class ClaudeStores:
    """The memory directories (scope roots) of one home (formats/claude-code.md sections 3, 4, 6 and 9).

    By default memories are below `projects/`; settings may choose other directories for one or all projects.
    A project is identified as in `ClaudeHome`: by its path, or by its directory in `projects/` if only that
    is known.
    """

    def __init__(self, config: Path, machine: Machine, known: ProjectCache, checkouts: Checkouts) -> None:
        self.projects = config / "projects"
        self._root = config
        self._machine = machine
        self._known = known
        self._checkouts = checkouts

    def global_root(self) -> ScopeRoot:
        """Return the root of the memories of sub-agents, which every project sees."""
        return ScopeRoot(Scope.GLOBAL, "global", self._root / "agent-memory", "global:", without=TEMPORARY)

    def memory_base(self) -> Path:
        """Return the directory of all project memories, unless a project's settings override it."""
        return memory_base(self._root, self._machine) / "projects"

    def memory_root(self, name: str) -> ScopeRoot:
        """Return the memory root of the project with this directory name; it need not exist."""
        key = f"project/{name}"
        directory = self.memory_base() / name / "memory"
        return ScopeRoot(
            Scope.PROJECT, key, directory, f"{key}:", newest=MOST_SCANNED, scanned=SCANNED, without=TEMPORARY
        )

    def notes_root(self, place: str, session_id: str) -> ScopeRoot:
        """Return the root of the notes of one session.

        `place`: the name of the directory in `projects/` that contains the session.
        """
        key = f"workspace/{session_id}"
        directory = self.projects / place / session_id / NOTES
        return ScopeRoot(Scope.WORKSPACE, key, directory, f"{key}:", private=True, empty=_NOTES)

    def memory_of(self, project_path: str, cwd: str | None = None) -> ScopeRoot:
        """Return the memory root of the project `project_path`: as settings choose it, or the usual one.

        `cwd`: the working directory whose settings are used; None: the project's checkout. Raises
        `Unavailable` if the project has no known directory and no valid name.
        """
        checkout = self.checkout(project_path)
        if checkout is None:
            return self.store(Path(project_path).name)
        moved = self.settings_of(cwd or checkout).directory
        return self.memory_root(self.directory_of(checkout)) if moved is None else _moved_root(moved)

    def settings_of(self, cwd: str | None) -> MemorySettings:
        """Return the memory settings of a working directory; `cwd` None: those that apply everywhere.

        Settings in the project itself are only used if sessions of this home have run in the project, because
        otherwise any directory that a person names could choose which files Reverie reads.
        """
        found = memory_settings(self._root, cwd, self._machine)
        if found.by_project and cwd not in self._working_directories():
            return replace(memory_settings(self._root, None, self._machine), off=found.off)
        return found

    def root_of(self, cwd: str) -> str:
        """Return the repository root of the working directory `cwd`, also of a removed worktree."""
        return self._checkouts.root(cwd)

    def has_memory(self, name: str) -> bool:
        """Return whether the project with the directory name `name` has a memory directory."""
        return is_directory(self.memory_root(name).directory)

    def memories(self, problems: list[str]) -> Iterator[str]:
        """Yield the names of the directories of projects with a memory.

        A message is added to `problems` if the directory of all projects cannot be listed.
        """
        for name in directory_names(self.memory_base(), problems):
            if DIRECTORY.fullmatch(name) and self.has_memory(name):
                yield name

    def memory_directories(self) -> tuple[Path, ...]:
        """Return every existing memory directory of a project."""
        usual = (self.memory_root(name).directory for name in self.memories([]))
        moved = (root.directory for root in self.moved() if is_directory(root.directory))
        return tuple(dict.fromkeys((*usual, *moved)))

    def moved(self) -> tuple[ScopeRoot, ...]:
        """Return the memory roots of known projects that settings place outside of `projects/`."""
        found = (each.directory for each in self._settings())
        return tuple({str(path): _moved_root(path) for path in found if path is not None}.values())

    def refusals(self) -> tuple[str, ...]:
        """Return a message about each memory setting that the agent uses but Reverie does not."""
        return tuple(dict.fromkeys(each.refused for each in self._settings() if each.refused))

    def _settings(self) -> Iterator[MemorySettings]:
        found: tuple[str | None, ...] = (None, *self._working_directories())
        return (memory_settings(self._root, each, self._machine) for each in found)

    def _working_directories(self) -> tuple[str, ...]:
        """Return every known working directory, and the repository root of each."""
        found: dict[str, None] = {}
        for name in directory_names(self.projects, []):
            for path in self._known.paths(name):
                found[self.root_of(path)] = None
                found[path] = None
        return tuple(found)

    def store(self, key: str) -> ScopeRoot:
        """Return the memory root whose `ScopeRoot.key` is `key`.

        Raises `Unavailable` if there is none.
        """
        name = key.removeprefix("project/")
        if DIRECTORY.fullmatch(name):
            return self.memory_root(name)
        for root in self.moved():
            if root.key == key:
                return root
        raise Unavailable(
            f"{name[:80]!r} is not a Claude Code memory.", cause="Claude Code never uses names like this."
        )

    def checkout(self, path: str) -> str | None:
        """Return the directory with the files of the project `path`; None if it is unknown.

        It is unknown if `path` is only the project's directory in `projects/`.
        """
        return None if Path(path).parent == self.projects else path

    def directory_of(self, path: str) -> str:
        """Return the name of the directory in `projects/` for `path`, which exists or would be created."""
        # The limit counts UTF-16 units; a character may be two of them.
        names = directory_names(self.projects, []) if 2 * len(path) > LONGEST else ()
        return existing_directory(names, path)


def _moved_root(directory: Path) -> ScopeRoot:
    # No name in `projects/` begins with `@`; the path itself may be too long for a name.
    key = f"project/@{hashlib.sha256(str(directory).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    return ScopeRoot(
        Scope.PROJECT, key, directory, f"{key}:", newest=MOST_SCANNED, scanned=SCANNED, without=TEMPORARY
    )


def no_session(session_id: str) -> ScopeUnavailable:
    """Return the error for an unknown session id."""
    return ScopeUnavailable(
        Scope.WORKSPACE,
        None,
        "There are no session notes in this scope.",
        cause=f"The home has no session {session_id}.",
        next_step="Choose another session.",
    )


def refuse_hostile_id(session_id: str) -> None:
    """Raise `Unavailable` if `session_id` is no UUID, before it becomes part of a path."""
    if not SESSION.fullmatch(session_id):
        raise Unavailable(
            f"There is no session {session_id[:80]!r}.",
            cause="A session ID must be a UUID.",
            next_step="Use one of the session IDs listed by `reverie homes`.",
        )
