"""The settings of Claude Code that count for a working directory (formats/claude-code.md section 12.1.9 and
12.1.10): which files, in which order, and what their environment variables change.

From strongest to weakest: the administrator's settings, the project's local ones, the project's shared ones,
the user's. `settings.local.json` in the agent's home is none of them. Each file may hold an `env` block; its
variables outrank those of the process, but a project may not use them to choose where memories lie.

A memory directory that would also hold transcripts, credentials or a whole disk is not followed: Reverie
would take everything in it for memories. A repository is written by others, so what its own settings name
must also lie inside of the checkout, links resolved. The agent itself does use such a directory, and
`refused` says so.

Threading: any thread but the GUI's. Failure: what cannot be read is not there; `settings_problems` names
broken files of the home.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.agents.reading import file_names, never_opened, read_json
from reverie.errors import UserError
from reverie.files.atomic import atomic_write
from reverie.files.directory import is_directory, is_file, is_there, read_regular, real_path
from reverie.values import Struct

# The repository of a working directory (sections 2 and 12.1.11): its root, all worktrees taken together.
#
# Read without git: `.git`, and for a worktree the two small files that lead to the main one. A worktree is
# believed only where the repository names it in turn, so that no file in a checkout can redirect Reverie to
# the memory of another project.


_POINTER_BYTES = 16 << 10
_CACHE_BYTES = 4 << 20
_MOST_KEPT = 5_000


class Machine(Struct, frozen=True):
    """What of the machine the agent looks at. `home_dir` is the user's; `managed` the directory of what
    administrators set."""

    env: Mapping[str, str]
    home_dir: Path
    managed: Path

    @classmethod
    def this(cls) -> Machine:
        """This machine and the person who runs Reverie."""
        home = os.path.expanduser("~")  # noqa: PTH111 - Path.home raises where there is no user
        return cls(os.environ, Path(home), managed_directory())


def managed_directory() -> Path:
    """Where an administrator's settings and instructions lie, by system."""
    if sys.platform == "darwin":
        return Path("/Library/Application Support/ClaudeCode")
    if sys.platform == "win32":
        return Path("C:/Program Files/ClaudeCode")
    return Path("/etc/claude-code")


def canonical_root(cwd: str) -> str:
    """The root of the repository that a directory is in, for a worktree that of the main one; the directory
    itself outside of one, or where it is not there."""
    path = Path(cwd)
    if not path.is_absolute() or not is_directory(path):
        return cwd
    for place in (path, *path.parents):
        git = place / ".git"
        if is_directory(git):
            return str(place)
        if is_file(git):
            return _of_worktree(place, git) or str(place)
    return cwd


class NestedWorktree(Struct, frozen=True):
    """A worktree that lies inside the main checkout of its own repository."""

    root: Path
    main: Path
    """The main checkout."""

    def hides(self, place: Path) -> bool:
        """Whether `place` is of the main checkout and not of the worktree: the agent does not load what the
        repository holds there, as the worktree has a copy."""
        return place.is_relative_to(self.main) and not place.is_relative_to(self.root)


def nested_worktree(cwd: str) -> NestedWorktree | None:
    """The worktree that a directory is in, if it lies inside its main checkout."""
    for place in (Path(cwd), *Path(cwd).parents):
        git = place / ".git"
        if is_directory(git):
            return None
        if is_file(git):
            main = _of_worktree(place, git)
            inside = main is not None and place.is_relative_to(main) and str(place) != main
            return NestedWorktree(place, Path(main)) if main is not None and inside else None
    return None


class Checkouts:
    """The repository roots of working directories. Roots of worktrees are kept in `file` (None: not kept), as
    a removed one cannot say where its repository is."""

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._kept: dict[str, str] | None = None

    def root(self, cwd: str) -> str:
        """As `canonical_root`, and for a worktree that is not there any more what it was before."""
        if is_directory(Path(cwd)):
            root = canonical_root(cwd)
            if not Path(cwd).is_relative_to(root):
                self.keep(cwd, root)
            return root
        with self._lock:
            kept = self._all().get(cwd)
        return kept or _root_by_place(cwd) or cwd

    def keep(self, cwd: str, root: str) -> None:
        """Remember where the repository of a worktree is."""
        with self._lock:
            kept = self._all()
            if kept.get(cwd) == root:
                return
            kept.pop(cwd, None)
            kept[cwd] = root
            for oldest in list(kept)[: max(0, len(kept) - _MOST_KEPT)]:
                del kept[oldest]
            if self._file is not None:
                with contextlib.suppress(OSError, UserError):  # it is learned again
                    self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    atomic_write(self._file, json.dumps(kept, indent=0).encode(), mode=0o600)

    def _all(self) -> dict[str, str]:
        if self._kept is None:
            data: object = None
            if self._file is not None:
                with contextlib.suppress(OSError, ValueError):
                    data = read_json(self._file, _CACHE_BYTES)
            found = data.items() if isinstance(data, dict) else ()
            self._kept = {cwd: root for cwd, root in found if isinstance(root, str)}
        return self._kept


def _root_by_place(cwd: str) -> str:
    """The repository of a removed worktree that the agent made, in `.claude/worktrees/`; else empty."""
    path = Path(cwd)
    for place in (path, *path.parents):
        if place.parent.name == "worktrees" and place.parent.parent.name == ".claude":
            main = place.parent.parent.parent
            return canonical_root(str(main)) if os.path.lexists(main / ".git") else ""
    return ""


def _of_worktree(place: Path, git: Path) -> str | None:
    """The main repository of a worktree; None for a submodule, and for what nothing confirms."""
    pointer = _line(git)
    if not pointer.startswith("gitdir:"):
        return None
    own = Path(real_path(place / pointer.removeprefix("gitdir:").strip()))
    common_line, back = _line(own / "commondir"), _line(own / "gitdir")
    if not common_line or not back:
        return None
    common = Path(real_path(own / common_line))
    if own.parent != common / "worktrees" or real_path(own / back) != real_path(git):
        return None
    return str(common.parent) if common.name == ".git" else str(common)


def _line(path: Path) -> str:
    try:
        text = read_regular(path, _POINTER_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""
    return "" if "\0" in text else text


_SETTINGS_BYTES = 4 << 20
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_MOST_PATTERNS = 500

PATH_OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
REMOTE_BASE = "CLAUDE_CODE_REMOTE_MEMORY_DIR"
_DISABLE = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
_NOTHING = ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_DISABLE_CLAUDE_MDS")
"""Variables that keep every file from being loaded, instructions and memory."""
_NOT_BY_PROJECTS = frozenset({PATH_OVERRIDE, REMOTE_BASE})
_REFUSED = (
    "{source} names {directory} for the memories, and Claude Code uses it. Reverie shows the usual place,"
    " because {why}. {advice}"
)
_ADVICE = "Name a directory that holds nothing else."
_OUTSIDE = "a file in the project names it and it lies outside of the project"
_WHOLE = "the project's own files lie there"
_ADVICE_INSIDE = "Name a directory inside of the project, or one in your own settings.json."


class MemorySettings(Struct, frozen=True):
    """What settings say of the memory of one working directory."""

    directory: Path | None = None
    """Where they put the memory; None for the usual place."""
    off: str = ""
    """What switches it off, in a few words; empty where it is on."""
    refused: str = ""
    """A sentence on a setting that Reverie does not follow though the agent does; empty for none."""
    source: str = ""
    """Which setting names `directory`; empty for none."""
    by_project: bool = False
    """Whether a file in the project itself names the directory, whether or not Reverie follows it."""


class _File(Struct, frozen=True):
    path: Path
    data: Mapping[str, Any]
    of_project: bool


def memory_settings(config: Path, cwd: str | None, machine: Machine) -> MemorySettings:
    """The settings that count in a working directory; None for those that count in each."""
    files = list(_files(config, cwd, machine))
    env = _environment(files, machine)
    directory, source, by_project = _absolute(env.get(PATH_OVERRIDE), machine.home_dir), PATH_OVERRIDE, False
    for file in files:
        if directory is None:
            directory = _absolute(file.data.get("autoMemoryDirectory"), machine.home_dir)
            source, by_project = f"autoMemoryDirectory in {file.path}", file.of_project
    off = _off(env, files)
    if directory is None:
        return MemorySettings(None, off)
    why, advice = _why_not(directory, config), _ADVICE
    if not why and by_project and cwd is not None:
        why, advice = _why_not_by_project(directory, cwd, machine), _ADVICE_INSIDE
    if why:
        refused = _REFUSED.format(source=source, directory=directory, why=why, advice=advice)
        return MemorySettings(None, off, refused, by_project=by_project)
    return MemorySettings(directory, off, "", source, by_project)


def loads_nothing(config: Path, cwd: str | None, machine: Machine) -> str:
    """The variable that keeps the agent from loading any instructions; empty for none."""
    env = _environment(list(_files(config, cwd, machine)), machine)
    return next((name for name in _NOTHING if env.get(name, "").strip().lower() in _TRUE), "")


def excluded_patterns(config: Path, cwd: str | None, machine: Machine) -> tuple[re.Pattern[str], ...]:
    """`claudeMdExcludes` of every settings file: patterns of absolute paths that are never loaded."""
    found: dict[str, None] = {}
    for file in _files(config, cwd, machine):
        listed = file.data.get("claudeMdExcludes")
        if isinstance(listed, list):
            found.update(dict.fromkeys(each for each in listed if isinstance(each, str) and each))
    return tuple(glob_pattern(each) for each in list(found)[:_MOST_PATTERNS])


def settings_files(config: Path, cwd: str | None, machine: Machine) -> tuple[Path, ...]:
    """The files of settings, the strongest first."""
    parts = machine.managed / "managed-settings.d"
    managed = [parts / name for name in reversed(file_names(parts, [])) if name.endswith(".json")]
    found = [*managed, machine.managed / "managed-settings.json"]
    if cwd:
        found += [Path(cwd) / ".claude" / name for name in ("settings.local.json", "settings.json")]
    return (*found, config / "settings.json")


def settings_problems(config: Path) -> tuple[str, ...]:
    """A sentence on the home's settings where they cannot be read."""
    try:
        read_json(config / "settings.json", _SETTINGS_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        return (f"settings.json cannot be read: {error.strerror or error}.",)
    except ValueError as error:
        return (f"settings.json is not valid JSON: {error}.",)
    return ()


def memory_base(config: Path, machine: Machine) -> Path:
    """The directory that holds `projects/` with the memories."""
    env = _environment(list(_files(config, None, machine)), machine)
    return Path(env[REMOTE_BASE]) if env.get(REMOTE_BASE) else config


def glob_pattern(pattern: str) -> re.Pattern[str]:
    """A pattern as settings have it, for whole absolute paths: `**` for any folders, `*` and `?` inside a
    name, `[...]`, `{a,b}`, `!` in front for everything else. One that cannot be read matches nothing."""
    negated = pattern.startswith("!") and not pattern.startswith("!(")
    body = pattern[1:] if negated else pattern
    try:
        expression = _expression(body)
        return re.compile(rf"(?!{expression}\Z).*\Z" if negated else rf"{expression}\Z", re.DOTALL)
    except re.error:
        return re.compile(r"(?!)")


def _expression(pattern: str) -> str:
    found, at, depth = "", 0, 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at) and (at == 0 or pattern[at - 1] == "/"):
            found += r"(?:[^/]*/)*"
            at += 3
            continue
        if pattern.startswith("/**", at) and at + 3 == len(pattern):
            return found + r"(?:/.*)?"
        if pattern.startswith("**", at):
            found += ".*" if at == 0 and len(pattern) == 2 else "[^/]*"
            at += 2
            continue
        if char == "*":
            found += "[^/]*"
        elif char == "?":
            found += "[^/]"
        elif char == "[" and (end := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            found += f"[{'^' + inside[1:] if inside[0] in '!^' else inside}]"
            at = end
        elif char == "{" and "}" in pattern[at:]:
            found, depth = found + "(?:", depth + 1
        elif char == "," and depth:
            found += "|"
        elif char == "}" and depth:
            found, depth = found + ")", depth - 1
        elif char == "\\" and at + 1 < len(pattern):
            at += 1
            found += re.escape(pattern[at])
        else:
            found += re.escape(char)
        at += 1
    return found


def _files(config: Path, cwd: str | None, machine: Machine) -> Iterator[_File]:
    user = config / "settings.json"
    for path in settings_files(config, cwd, machine):
        try:
            data = read_json(path, _SETTINGS_BYTES)
        except (OSError, ValueError):
            continue
        if isinstance(data, dict):
            inside = cwd is not None and path.is_relative_to(cwd) and path != user
            yield _File(path, data, inside)


def _environment(files: list[_File], machine: Machine) -> dict[str, str]:
    """The environment of a session: that of the process, then the settings, the strongest last."""
    env = dict(machine.env)
    for file in reversed(files):
        block = file.data.get("env")
        for name, value in block.items() if isinstance(block, dict) else ():
            if file.of_project and name in _NOT_BY_PROJECTS:
                continue
            if isinstance(value, bool):
                env[name] = "true" if value else "false"
            elif isinstance(value, (str, int, float)):
                env[name] = str(value)
    return env


def _off(env: Mapping[str, str], files: list[_File]) -> str:
    switch = env.get(_DISABLE, "").strip().lower()
    if switch in _TRUE:
        return f"{_DISABLE} is set"
    for name in _NOTHING:
        if env.get(name, "").strip().lower() in _TRUE:
            return f"{name} is set"
    if env.get("CLAUDE_CODE_REMOTE", "").strip().lower() in _TRUE and not env.get(REMOTE_BASE):
        return "the agent runs remotely without a memory directory"
    for file in files:
        enabled = file.data.get("autoMemoryEnabled")
        if isinstance(enabled, bool):
            # A variable that says no to switching it off outranks the setting.
            return "" if enabled or switch in _FALSE else f"autoMemoryEnabled is false in {file.path.name}"
    return ""


def _why_not(directory: Path, config: Path) -> str:
    """Why Reverie does not take a directory for memories; empty where it does."""
    if len(directory.parts) <= 2:
        return "everything below it would count as a memory"
    if never_opened(directory / "x", _real(directory) / "x"):
        return "credentials or files of the system lie there"
    place, home = _real(directory), _real(config)
    projects = home / "projects"
    inside = place.is_relative_to(projects) and "memory" not in place.relative_to(projects).parts[1:2]
    return "transcripts lie there" if inside or home.is_relative_to(place) else ""


def _why_not_by_project(directory: Path, cwd: str, machine: Machine) -> str:
    """Why Reverie does not take a directory that a file in the project names; empty where it does."""
    real, user, here = _real(directory), _real(machine.home_dir), Path(cwd)
    checkout = next((place for place in (here, *here.parents) if is_there(place / ".git")), here)
    places = {_real(place) for place in (here, checkout, canonical_root(cwd))}
    # A checkout around the user's directory, as some keep their dotfiles, would make everything "inside".
    roots = [root for root in places if not user.is_relative_to(root)]
    inside = [real.relative_to(root) for root in roots if real.is_relative_to(root)]
    if not inside:
        return _OUTSIDE
    # The checkout itself, what is around the working directory, and git's own files are no memories.
    if any(root.is_relative_to(real) for root in roots) or any(".git" in rel.parts for rel in inside):
        return _WHOLE
    return ""


def _real(path: Path | str) -> Path:
    return Path(os.path.normcase(real_path(path)))


def _absolute(value: object, home_dir: Path) -> Path | None:
    """An absolute directory, `..` folded; None for anything else."""
    if not isinstance(value, str) or "\0" in value or value in ("", "~", "~/"):
        return None
    path = home_dir / value[2:] if value.startswith("~/") else Path(value)
    return Path(os.path.normpath(path)) if path.is_absolute() else None
