"""Where the memory of a working directory lies (formats/claude-code.md sections 2 and 4): the root of its
repository, all worktrees taken together, and the settings that move the memory or switch it off.

Repositories are read without git: `.git`, and for a worktree the two small files that lead to the main one. A
worktree is believed only where the repository names it in turn, so that no file in a checkout can steer to
the memory of another project. A setting that would make transcripts memories is not followed, for those are
never to be edited or dreamt over. Settings of the project itself count for nothing here; local and user ones
do.

Threading: any thread but the GUI's. Failure: what cannot be read is not there; settings that cannot are told
by `settings_problems`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.homes.reading import is_directory, read_json, read_regular

_SETTINGS_BYTES = 4 << 20
_POINTER_BYTES = 16 << 10
_TRUE = ("1", "true", "yes", "on")
_REFUSED = (
    "{told_by} names {directory} for the memories. The agent's transcripts lie there, which are none; so the"
    " usual place counts. Name a directory of its own."
)
PATH_OVERRIDE = "CLAUDE_COWORK_MEMORY_PATH_OVERRIDE"
REMOTE_BASE = "CLAUDE_CODE_REMOTE_MEMORY_DIR"


@dataclass(frozen=True, slots=True)
class Machine:
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
        if git.is_file():
            return _of_worktree(place, git) or str(place)
    return cwd


def _of_worktree(place: Path, git: Path) -> str | None:
    """The main repository of a worktree; None for a submodule, and for what nothing confirms."""
    pointer = _line(git)
    if not pointer.startswith("gitdir:"):
        return None
    own = Path(os.path.realpath(place / pointer.removeprefix("gitdir:").strip()))
    common_line, back = _line(own / "commondir"), _line(own / "gitdir")
    if not common_line or not back:
        return None
    common = Path(os.path.realpath(own / common_line))
    if own.parent != common / "worktrees" or os.path.realpath(own / back) != os.path.realpath(git):
        return None
    return str(common.parent) if common.name == ".git" else str(common)


def _line(path: Path) -> str:
    try:
        return read_regular(path, _POINTER_BYTES).decode("utf-8", "surrogateescape").strip()
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """What moves the memory of a project, or switches it off. `directory` None: the usual place; `off` says
    in words what switches it off, and is empty where it is on; `refused` is a sentence on a setting that is
    not followed."""

    directory: Path | None = None
    off: str = ""
    refused: str = ""


def memory_settings(config: Path, project: str | None, machine: Machine) -> MemorySettings:
    """The settings that count for a project (None: for every one): environment, then managed, local, user."""
    env = machine.env
    directory = _path(env.get(PATH_OVERRIDE), machine.home_dir)
    off, told_by = "", PATH_OVERRIDE
    if env.get("CLAUDE_CODE_DISABLE_AUTO_MEMORY", "").lower() in _TRUE:
        off = "CLAUDE_CODE_DISABLE_AUTO_MEMORY is set"
    elif env.get("CLAUDE_CODE_SIMPLE", "").lower() in _TRUE:
        off = "CLAUDE_CODE_SIMPLE is set"
    elif env.get("CLAUDE_CODE_REMOTE", "").lower() in _TRUE and not env.get(REMOTE_BASE):
        off = "the agent runs remotely without a memory directory"
    # The project's own settings may switch it off, too, but never move it: whoever wrote the repository would
    # choose where the agent writes.
    shared = Path(project) / ".claude" / "settings.json" if project else None
    enabled: bool | None = None
    for path in settings_files(config, project, machine):
        data = _settings(path)
        if directory is None and path != shared:
            directory = _path(data.get("autoMemoryDirectory"), machine.home_dir)
            told_by = f"autoMemoryDirectory in {path}"
        if enabled is None and isinstance(data.get("autoMemoryEnabled"), bool):
            enabled = data["autoMemoryEnabled"]
            off = off or ("" if enabled else f"autoMemoryEnabled is false in {path.name}")
    if directory is not None and _holds_transcripts(directory, config):
        return MemorySettings(None, off, _REFUSED.format(told_by=told_by, directory=directory))
    return MemorySettings(directory, off)


def _holds_transcripts(directory: Path, config: Path) -> bool:
    """Whether what lies below a directory would be transcripts, or the whole home: the home itself, what is
    above it, and `projects/` but for the memories in it."""
    place, home = (os.path.normcase(os.path.realpath(path)) for path in (directory, config))
    if Path(home).is_relative_to(place):
        return True
    projects = Path(home) / "projects"
    return (
        Path(place).is_relative_to(projects) and "memory" not in Path(place).relative_to(projects).parts[1:2]
    )


def settings_files(config: Path, project: str | None, machine: Machine) -> tuple[Path, ...]:
    """The files of settings, those that win first."""
    found = [machine.managed / "managed-settings.json"]
    if project:
        found += [Path(project) / ".claude" / name for name in ("settings.local.json", "settings.json")]
    return (*found, config / "settings.local.json", config / "settings.json")


def settings_problems(config: Path) -> tuple[str, ...]:
    """A sentence for each file of the home's settings that cannot be read."""
    found = []
    for path in (config / "settings.json", config / "settings.local.json"):
        try:
            read_json(path, _SETTINGS_BYTES)
        except FileNotFoundError:
            continue
        except OSError as error:
            found.append(f"{path.name} cannot be read: {error.strerror or error}.")
        except ValueError as error:
            found.append(f"{path.name} is not valid JSON: {error}.")
    return tuple(found)


def memory_base(config: Path, machine: Machine) -> Path:
    """The directory that holds `projects/` with the memories."""
    return Path(machine.env[REMOTE_BASE]) if machine.env.get(REMOTE_BASE) else config


def _settings(path: Path) -> dict[str, Any]:
    try:
        data = read_json(path, _SETTINGS_BYTES)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _path(value: object, home_dir: Path) -> Path | None:
    """An absolute directory; None for anything else."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        return None
    text = value.strip()
    path = home_dir / text[2:] if text.startswith("~/") else Path(text)
    # A memory at the root of a disk would make everything a memory.
    return path if path.is_absolute() and ".." not in path.parts and len(path.parts) > 2 else None
