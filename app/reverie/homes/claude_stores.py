"""Where Claude Code keeps the memories of projects, sessions and sub-agents, as roots of scopes
(formats/claude-code.md sections 3, 4, 6 and 9), and what is said where there are none.

The usual places lie below `projects/`; settings may put the memory of one project, or of all, elsewhere.
Threading, failure: as `homes.base` says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from reverie.errors import Unavailable
from reverie.homes.claude_names import DIRECTORY, LONGEST, MOST_SCANNED, SESSION, existing_directory
from reverie.homes.claude_places import Machine, MemorySettings, canonical_root, memory_base, memory_settings
from reverie.homes.claude_projects import NOTES, Known
from reverie.homes.reading import directory_names, is_directory
from reverie.homes.scopes import ProjectGap, Scope, ScopeRoot, ScopeUnavailable


class ClaudeStores:
    """The scope roots of one home. A project is called as `ClaudeHome` calls it: by its directory, or by its
    directory in `projects/` where that is all that is known."""

    def __init__(self, config: Path, machine: Machine, known: Known) -> None:
        self.projects = config / "projects"
        self._root = config
        self._machine = machine
        self._known = known

    def global_root(self) -> ScopeRoot:
        """The memories of sub-agents, which every project sees."""
        return ScopeRoot(Scope.GLOBAL, "global", self._root / "agent-memory", "global:")

    def memory_base(self) -> Path:
        """Below which directory the memories of projects lie, unless a project's settings say otherwise."""
        return memory_base(self._root, self._machine) / "projects"

    def memory_root(self, name: str) -> ScopeRoot:
        """The memory of the project with this directory name; it need not exist."""
        key = f"project/{name}"
        return ScopeRoot(
            Scope.PROJECT, key, self.memory_base() / name / "memory", f"{key}:", newest=MOST_SCANNED
        )

    def notes_root(self, place: str, session_id: str) -> ScopeRoot:
        """The notes of one session in the project directory `place`."""
        key = f"workspace/{session_id}"
        directory = self.projects / place / session_id / NOTES
        return ScopeRoot(Scope.WORKSPACE, key, directory, f"{key}:", private=True)

    def memory_of(self, project_path: str) -> ScopeRoot:
        """The memory of a working directory: that of its checkout, or where its settings put it."""
        checkout = self.checkout(project_path)
        if checkout is None:
            return self.memory_root(Path(project_path).name)
        moved = memory_settings(self._root, checkout, self._machine).directory
        return self.memory_root(self.directory_of(checkout)) if moved is None else _moved_root(moved)

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
        checkouts: dict[str | None, None] = {None: None}
        for name in directory_names(self.projects, []):
            checkouts.update((canonical_root(path), None) for path in self._known.paths(name))
        return (memory_settings(self._root, each, self._machine) for each in checkouts)

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
    return ScopeRoot(Scope.PROJECT, key, directory, f"{key}:", newest=MOST_SCANNED)


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
