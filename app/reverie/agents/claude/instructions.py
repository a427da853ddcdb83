"""The instruction files of Claude Code in the order in which it loads them, with what they import
(formats/claude-code.md sections 7 and 12.1): what administrators and the user set for every project, then
from the root of the disk down to the working directory; then what sub-agents remember in the project.

Later files are closer, and win. Imports follow the file that names them, at most four deep, each file once.
`AGENTS.md` counts only where no CLAUDE file of a project says something. Of the main checkout around a nested
worktree only `CLAUDE.local.md` counts. Rules come in the order of their directory, links to other places
resolved. Files of a project belong to its repository and lie outside of the home.

Files of the system and credentials are neither listed nor opened, whatever a file imports or links to; an
import from outside of the project is listed and not opened. Threading: any thread but the GUI's. Failure:
what cannot be read imports nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from reverie.agents.base import Companion, Loading
from reverie.agents.claude.instruction_text import imports_in, is_limited, loaded_text, may_be_imported
from reverie.agents.claude.settings import Machine, excluded_patterns, nested_worktree
from reverie.agents.reading import CREDENTIAL, UNAPPROVED, may_be_named, never_opened
from reverie.agents.scopes import Scope
from reverie.files.directory import is_directory, is_file, is_link, read_regular, real_path, walk_paths
from reverie.values import Struct

DEEPEST = 4
"""How deep imports are followed."""
MOST_BYTES = 4 << 20
"""A larger file is not loaded at all."""
_MOST_FILES = 1000
_CLAUDE = ("CLAUDE.md", ".claude/CLAUDE.md")
_AGENTS = ("AGENTS.md", ".claude/AGENTS.md")
_LOCAL = "CLAUDE.local.md"

_SOME_FILES = "Loaded only for the files that its front matter names."
_APPROVED = (
    "Outside of the project: loaded only if approved. Claude Code asks once, and keeps the answer in a file"
    " that Reverie never opens."
)
_MANAGED = "Set by an administrator for everybody on this machine."
_REPOSITORY = "It belongs to the project's repository: others may get the change."
_PRIVATE = "In the project, but of this machine only."
_NO_CLAUDE = "Loaded because no CLAUDE.md of the project says anything."
_A_CLAUDE = "Not loaded: a CLAUDE.md is there. Claude Code reads AGENTS.md only where none says anything."
_EXCLUDED = "Not loaded: claudeMdExcludes in the settings names it."
_TOO_LARGE = "Not loaded: it is larger than 4 MB."
_NOTES_UNUSED = "Claude Code of today makes no session notes and does not read this."
_ONE_AGENT = "Only this sub-agent reads it."


def companions(
    config: Path, cwd: str | None, machine: Machine, added: Sequence[Path] = ()
) -> tuple[Companion, ...]:
    """Every instruction file there is, and the ones that one would write first. `cwd`: the working directory,
    None where there is none or nobody knows. `added`: the directories that a session gets by `--add-dir`, if
    CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD makes their files count."""
    order = _Order(config, machine, Path(cwd) if cwd else None)
    order.add(
        _Origin(Scope.GLOBAL, _MANAGED, "managed"), machine.managed / "CLAUDE.md", "CLAUDE.md (managed)"
    )
    order.add_rules(_Origin(Scope.GLOBAL, _MANAGED, "managed"), machine.managed / ".claude" / "rules")
    user = _Origin(Scope.GLOBAL, "", "user")
    order.add(user, config / "CLAUDE.md", "CLAUDE.md", expected=True)
    order.add_rules(user, config / "rules")
    for name in ("template.md", "prompt.md"):
        path = config / "session-memory" / "config" / name
        order.add_unread(Scope.GLOBAL, path, path.relative_to(config).as_posix(), _NOTES_UNUSED)
    if cwd and is_directory(Path(cwd)):
        order.add_project(Path(cwd), added)
    for name, note in (("agent-memory", _REPOSITORY), ("agent-memory-local", _PRIVATE)):
        closed: list[OSError] = []
        for path in _notes_in(Path(cwd) / ".claude" / name, closed) if cwd else ():
            order.add_unread(Scope.PROJECT, path, order.called(path), f"{_ONE_AGENT} {note}")
        for error in closed:
            order.add_closed(Scope.PROJECT, error)
    return tuple(order.found)


class _Origin(Struct, frozen=True):
    """Whose a file is, and what follows from that."""

    scope: Scope
    note: str
    kind: str
    """`managed`: its imports do not count, nothing excludes it. `user`: it may import and link to any place.
    `project`: only to places in the working directory."""


class _Version(Struct, frozen=True):
    """What the text of a file means for loading."""

    imports: tuple[str, ...] = ()
    limited: bool = False
    empty: bool = True


class _Order:
    """Collects each file once, with its imports behind it."""

    def __init__(self, config: Path, machine: Machine, cwd: Path | None) -> None:
        self.found: list[Companion] = []
        self._machine = machine
        self._config = config
        self._cwd = cwd
        self._seen: set[str] = set()
        self._excluded = excluded_patterns(config, None if cwd is None else str(cwd), machine)

    def add_project(self, cwd: Path, added: Sequence[Path]) -> None:
        nested = nested_worktree(str(cwd))
        places = (*reversed(cwd.parents), cwd)
        shown = [place for place in places if nested is None or not nested.hides(place)]
        shared, private = (_Origin(Scope.PROJECT, note, "project") for note in (_REPOSITORY, _PRIVATE))
        speaks = any(self._says_something(place / name) for place in shown for name in _CLAUDE) or any(
            self._says_something(place / _LOCAL) for place in places
        )
        began = len(self.found)
        for place in places:
            if place in shown:
                own = place == cwd
                for name in _CLAUDE:
                    self.add(shared, place / name, expected=own and name == _CLAUDE[0])
                self.add_rules(shared, place / ".claude" / "rules")
                for name in _AGENTS:
                    self._add_agents(shared, place / name, speaks=speaks)
            self.add(private, place / _LOCAL, expected=place == cwd)
        if not speaks:
            self.found[began:] = _agents_first(self.found[began:])
        for place in added:
            for name in _CLAUDE:
                self.add(shared, place / name)
            self.add_rules(shared, place / ".claude" / "rules")
            self.add(private, place / _LOCAL)

    def add(
        self,
        origin: _Origin,
        path: Path,
        label: str = "",
        *,
        expected: bool = False,
        note: str = "",
        depth: int = 0,
        rule: bool = False,
    ) -> None:
        """Add a file and its imports. `expected`: shown though it is not there."""
        there = is_file(path)
        real = real_path(path)
        if not (there or expected):
            return
        if there and origin.kind == "project" and self._name_credential(origin, path, real):
            return
        if self._is_taken(path, real):
            return
        self._seen.add(real)
        label = label or self.called(path)
        version, loading, why = self._judge(origin, path, rule=rule)
        parts = (why, note, origin.note if not note else "")
        words = " ".join(part for part in parts if part)
        self.found.append(Companion(origin.scope, path, label, there, words, loading=loading))
        if not there or depth >= DEEPEST or loading in ("excluded", "too-large"):
            return
        for target in version.imports:  # also those of a rule for some files count at the start
            self._import(origin, label, self._target(path, target), depth + 1)

    def _name_credential(self, origin: _Origin, path: Path, real: str) -> bool:
        """List a file of the project that the agent loads and that may hold credentials, without opening
        it. False where it is no such file."""
        resolved = Path(real)
        if real in self._seen or not never_opened(path, resolved) or not may_be_named(path, resolved):
            return False
        if not self._inside(resolved):
            return False
        self._seen.add(real)
        self.found.append(
            Companion(
                origin.scope,
                path,
                self.called(path),
                exists=True,
                note=CREDENTIAL,
                loading="unopened",
                unopened=CREDENTIAL,
            )
        )
        return True

    def add_rules(self, origin: _Origin, directory: Path) -> None:
        """Every rule in a directory and below, in the directory's own order."""
        if self._excludes(origin, directory):
            return
        if is_link(directory):
            directory = Path(real_path(directory))
            if origin.kind == "project" and not self._inside(directory):
                return
        self._add_rules(origin, directory, {})

    def add_unread(self, scope: Scope, path: Path, label: str, note: str) -> None:
        """Add a file that another part of the agent reads, or none of today."""
        real = real_path(path)
        if is_file(path) and not self._is_taken(path, real):
            self._seen.add(real)
            self.found.append(Companion(scope, path, label, exists=True, note=note, loading="elsewhere"))

    def add_closed(self, scope: Scope, error: OSError) -> None:
        """Add a folder that could not be listed; one that is not there is no news."""
        if isinstance(error, FileNotFoundError | NotADirectoryError) or len(self.found) >= _MOST_FILES:
            return
        path = Path(error.filename)
        why = f"This folder cannot be looked into: {error.strerror}."
        self.found.append(Companion(scope, path, self.called(path), True, why, "", "unopened", why))

    def called(self, path: Path) -> str:
        """How people see a path: relative to the working directory, the agent's home or the user's."""
        for place, before in ((self._cwd, ""), (self._config, ""), (self._machine.home_dir, "~/")):
            if place is not None and path.is_relative_to(place):
                return before + path.relative_to(place).as_posix()
        return str(path)

    def _add_agents(self, origin: _Origin, path: Path, *, speaks: bool) -> None:
        if not speaks:
            self.add(origin, path, note=f"{_NO_CLAUDE} {_REPOSITORY}")
            return
        real = real_path(path)
        if is_file(path) and not self._is_taken(path, real):
            # A CLAUDE.md may import it or be a link to it: whatever comes later may still load it.
            self.found.append(
                Companion(
                    origin.scope, path, self.called(path), exists=True, note=_A_CLAUDE, loading="replaced"
                )
            )

    def _import(self, origin: _Origin, label: str, target: Path, depth: int) -> None:
        if origin.kind == "managed" or not may_be_imported(target.name) or not is_file(target):
            return
        if origin.kind == "project" and not self._inside(target):
            real = real_path(target)
            if not self._is_taken(target, real):
                self._seen.add(real)
                note = f"Imported by {label}. {_APPROVED}"
                where = self.called(target)
                self.found.append(
                    Companion(
                        origin.scope, target, where, True, note, loading="approval", unopened=UNAPPROVED
                    )
                )
            return
        self._forget_unread(target)
        self.add(origin, target, note=f"Imported by {label}.", depth=depth)

    def _forget_unread(self, path: Path) -> None:
        """An AGENTS.md that was listed as not loaded is loaded after all."""
        self.found = [each for each in self.found if each.loading != "replaced" or each.path != path]

    def _add_rules(self, origin: _Origin, directory: Path, visited: dict[str, None]) -> None:
        real = real_path(directory)
        if real in visited or len(self.found) >= _MOST_FILES:
            return
        visited[real] = None
        try:
            with os.scandir(directory) as listed:
                entries = list(listed)
        except OSError as error:
            self.add_closed(origin.scope, error)
            return
        for entry in entries:
            path = Path(entry.path)
            if _is_link(entry):
                path = Path(real_path(path))
                if origin.kind == "project" and not self._inside(path):
                    continue
            if is_directory(path):
                self._add_rules(origin, path, visited)
            elif entry.name.endswith(".md"):
                self.add(origin, path, rule=True)

    def _judge(self, origin: _Origin, path: Path, *, rule: bool) -> tuple[_Version, Loading, str]:
        if self._excludes(origin, path):
            return _Version(), "excluded", _EXCLUDED
        try:
            status = path.stat()
            if status.st_size > MOST_BYTES:
                return _Version(), "too-large", _TOO_LARGE
            version = _read_version(path, status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            return _Version(), "start", ""
        if rule and version.limited:
            return version, "on-demand", _SOME_FILES
        return version, "start", ""

    def _says_something(self, path: Path) -> bool:
        """Whether a CLAUDE file of the project is loaded and not empty."""
        real = real_path(path)
        if real in self._seen or not is_file(path) or never_opened(path, Path(real)):
            return False
        version, loading, _why = self._judge(_Origin(Scope.PROJECT, "", "project"), path, rule=False)
        return loading == "start" and not version.empty

    def _excludes(self, origin: _Origin, path: Path) -> bool:
        if origin.kind == "managed":
            return False
        return any(pattern.match(str(path)) for pattern in self._excluded)

    def _is_taken(self, path: Path, real: str) -> bool:
        return real in self._seen or len(self.found) >= _MOST_FILES or never_opened(path, Path(real))

    def _target(self, path: Path, target: str) -> Path:
        # Of a link, imports are relative to the file that it leads to.
        folder = Path(real_path(path)).parent if is_link(path) else path.parent
        whole = self._machine.home_dir / target[2:] if target.startswith("~/") else folder / target
        return Path(os.path.normpath(str(whole).replace("\0", "")))

    def _inside(self, path: Path) -> bool:
        return self._cwd is not None and Path(real_path(path)).is_relative_to(real_path(self._cwd))


def _agents_first(found: list[Companion]) -> list[Companion]:
    """The order where AGENTS.md is loaded in a directory below some `.claude`, such as a worktree that the
    agent made: what lies in its own `.claude` comes after every plain AGENTS.md."""
    early: list[Companion] = []
    late: list[Companion] = []
    place = early
    for each in found:
        if not each.note.startswith("Imported by "):  # an import stays behind its file
            place = late if each.path.parts.count(".claude") > 1 else early
        place.append(each)
    return early + late


@lru_cache(maxsize=4096)
def _read_version(path: Path, _mtime_ns: int, _size: int, _inode: int) -> _Version:
    text = read_regular(path, MOST_BYTES).decode("utf-8", "replace")
    return _Version(imports_in(text), is_limited(text), not loaded_text(text))


def _is_link(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink()
    except OSError:
        return False


def _notes_in(directory: Path, closed: list[OSError]) -> Iterator[Path]:
    """Every note at and below a directory, by path; links to directories are not followed. `closed` gets why
    a folder could not be listed."""
    found: list[Path] = []
    for folder, folders, names in walk_paths(directory, onerror=closed.append):
        folders.sort()
        found += [Path(folder) / name for name in names if name.endswith(".md")]
        if len(found) > _MOST_FILES:
            break
    yield from sorted(found)
