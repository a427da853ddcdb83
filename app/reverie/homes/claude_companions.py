"""The instruction files of Claude Code in the order in which it loads them, with what they import
(formats/claude-code.md sections 6 and 7): what administrators and the user set for every project, then from
the root of the disk down to the working directory; then what sub-agents remember in the project.

Later files are closer, and win. Imports stand behind the file that names them, at most five deep, each file
once; those in code and comments are none. Files of a project belong to its repository and lie outside of the
home.

Threading: any thread but the GUI's. Failure: what cannot be read imports nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from reverie.homes.claude_index import prose_lines
from reverie.homes.claude_places import Machine
from reverie.homes.listing import Companion
from reverie.homes.reading import is_directory, is_file, read_regular
from reverie.homes.scopes import Scope

DEEPEST = 5
_FILE_BYTES = 4 << 20
_MOST_FILES = 1000
_IMPORT = re.compile(r"(?:^|(?<=\s))@((?:[^\s\\]|\\ )+)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PATHS = re.compile(r"\A\ufeff?---\r?\n(?:(?!---).*\n)*?paths[ \t]*:", re.MULTILINE)

# Credentials are never opened, whatever file names one as an import or links to it.
_SECRET_NAMES = frozenset({".credentials.json", ".claude.json", "auth.json", ".netrc", ".git-credentials"})
_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg"})
_IMPORTING = (".md", ".mdc", ".txt")

_SOME_FILES = "Loaded only for the files that its front matter names."
_APPROVED = "Outside of the project: loaded only once its import was approved."
_MANAGED = "Set by an administrator for everybody on this machine."
_REPOSITORY = "It belongs to the project's repository: others may get the change."
_PRIVATE = "In the project, but of this machine only."


def companions(config: Path, cwd: str | None, machine: Machine) -> tuple[Companion, ...]:
    """Every instruction file there is, and the ones that one would write first. `cwd`: the working directory,
    None where there is none or nobody knows."""
    order = _Order(machine, Path(cwd) if cwd else None)
    order.add(Scope.GLOBAL, machine.managed / "CLAUDE.md", "CLAUDE.md (managed)", _MANAGED)
    order.add(Scope.GLOBAL, config / "CLAUDE.md", "CLAUDE.md", expected=True)
    for path in _markdown(config / "rules"):
        order.add(Scope.GLOBAL, path, path.relative_to(config).as_posix())
    for path in (config / "session-memory" / "config" / name for name in ("template.md", "prompt.md")):
        order.add(Scope.GLOBAL, path, path.relative_to(config).as_posix(), imports=False)
    if cwd and is_directory(Path(cwd)):
        order.add_project(Path(cwd))
    return tuple(order.found)


def is_conditional(companion: Companion) -> bool:
    """Whether the agent does not load it at the start, but only for some files or once a person agreed."""
    return _SOME_FILES in companion.note or _APPROVED in companion.note


def without_comments(text: str) -> str:
    """A text as it is loaded."""
    return _COMMENT.sub("", text)


class _Order:
    """Collects each file once, with its imports behind it."""

    def __init__(self, machine: Machine, cwd: Path | None) -> None:
        self.found: list[Companion] = []
        self._machine = machine
        self._cwd = cwd
        self._seen: set[str] = set()

    def add_project(self, cwd: Path) -> None:
        for place in (*reversed(cwd.parents), cwd):
            own = place == cwd
            for name in ("CLAUDE.md", ".claude/CLAUDE.md"):
                self._of_project(place / name, _REPOSITORY, expected=own and name == "CLAUDE.md")
            for path in _markdown(place / ".claude" / "rules"):
                self._of_project(path, _REPOSITORY)
            self._of_project(place / "CLAUDE.local.md", _PRIVATE, expected=own)
        for name, note in (("agent-memory", _REPOSITORY), ("agent-memory-local", _PRIVATE)):
            for path in _markdown(cwd / ".claude" / name):
                self._of_project(path, note, imports=False)

    def _of_project(self, path: Path, note: str, *, expected: bool = False, imports: bool = True) -> None:
        self.add(Scope.PROJECT, path, self._called(path), note, expected=expected, imports=imports)

    def add(
        self,
        scope: Scope,
        path: Path,
        label: str,
        note: str = "",
        *,
        expected: bool = False,
        imports: bool = True,
        depth: int = 0,
    ) -> None:
        """`expected`: shown though it is not there."""
        there = is_file(path)
        real = os.path.realpath(path)
        if not (there or expected) or real in self._seen or len(self.found) >= _MOST_FILES:
            return
        if _is_secret(Path(real)):
            return
        self._seen.add(real)
        reads = there and imports and path.suffix.lower() in _IMPORTING
        said = _read(path) if reads else ((), False)
        if said[1]:
            note = f"{_SOME_FILES} {note}".strip()
        self.found.append(Companion(scope, path, label, there, note))
        if depth >= DEEPEST:
            return
        for target in said[0]:
            imported = self._target(path, target)
            if imported is None or not is_file(imported):
                continue  # a name or an address, or a file that is not there: nothing is loaded
            outside = scope is Scope.PROJECT and not self._inside(imported)
            why = f"Imported by {label}. {_APPROVED if outside else ''}".strip()
            self.add(scope, imported, self._called(imported), why, depth=depth + 1)

    def _target(self, path: Path, target: str) -> Path | None:
        if "\0" in target:
            return None
        whole = self._machine.home_dir / target[2:] if target.startswith("~/") else path.parent / target
        return Path(os.path.normpath(whole))

    def _inside(self, path: Path) -> bool:
        return self._cwd is not None and Path(os.path.realpath(path)).is_relative_to(
            os.path.realpath(self._cwd)
        )

    def _called(self, path: Path) -> str:
        if self._cwd is not None and path.is_relative_to(self._cwd):
            return path.relative_to(self._cwd).as_posix()
        if path.is_relative_to(self._machine.home_dir):
            return f"~/{path.relative_to(self._machine.home_dir).as_posix()}"
        return str(path)


def _is_secret(path: Path) -> bool:
    return path.name in _SECRET_NAMES or not _SECRET_FOLDERS.isdisjoint(path.parts)


def imports_in(text: str) -> tuple[str, ...]:
    """What a text imports, as written, in order."""
    # A comment becomes as many line breaks as it had, so that a fence after it still begins a line.
    bare = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    found: dict[str, None] = {}
    for _number, _start, line in prose_lines(bare):
        for match in _IMPORT.finditer(line):
            target = match[1].replace("\\ ", " ").partition("#")[0]
            if target and target not in ("/", ".", "..", "~/"):
                found[target] = None
    return tuple(found)


def _read(path: Path) -> tuple[tuple[str, ...], bool]:
    """What a file imports, and whether it counts for some files only."""
    try:
        status = path.stat()
        return _read_version(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except OSError:
        return (), False


@lru_cache(maxsize=4096)
def _read_version(path: Path, _mtime_ns: int, _size: int, _inode: int) -> tuple[tuple[str, ...], bool]:
    text = read_regular(path, _FILE_BYTES).decode("utf-8", "replace")
    limited = "rules" in path.parts and _PATHS.match(text) is not None
    return imports_in(text), limited


def _markdown(directory: Path) -> Iterator[Path]:
    """Every note at and below a directory, by path; links to directories are not followed."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        for folder, folders, names in os.walk(directory):
            folders.sort()
            found += [Path(folder) / name for name in names if name.endswith(".md")]
            if len(found) > _MOST_FILES:
                break
    yield from sorted(found)
