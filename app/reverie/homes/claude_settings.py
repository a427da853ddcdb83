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

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.files.real_path import real_path
from reverie.files.there import is_there
from reverie.homes.claude_places import canonical_root
from reverie.homes.reading import file_names, read_json
from reverie.homes.unopened import never_opened

if TYPE_CHECKING:
    from reverie.homes.claude_places import Machine

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


@dataclass(frozen=True, slots=True)
class MemorySettings:
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


@dataclass(frozen=True, slots=True)
class _File:
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
