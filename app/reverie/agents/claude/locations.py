"""Names of Claude Code's files, and detection of its homes (formats/claude-code.md sections 1 and 2).

The environment and the user's home directory are arguments; the disk is only read.

Threading: any thread. Failure: files that cannot be read count as missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from reverie.agents.reading import entries_in
from reverie.files.directory import is_directory, is_file

KIND = "claude"
SESSION = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""A session id: the name of its transcript without the ending, and of its directory."""
SIDECHAIN = re.compile(r"agent-[\w-]+\.jsonl")
"""Transcripts of sub-agents by older versions, beside the transcripts of sessions."""
DIRECTORY = re.compile(r"[^./\\@\x00-\x1f\x7f][^/\\\x00-\x1f\x7f]*")
"""Names of directories in `projects/` by any version of the agent: older ones changed fewer characters of the
path. Hidden ones are excluded; `@` begins the keys of memories in directories that settings choose."""
MOST_SCANNED = 200
"""Number of memories, the last changed ones, of which the agent reads the descriptions when it searches."""
SCANNED = r"(?s:(?!logs/)(?!(?:.*/)?(?:\.|MEMORY\.md\Z)).*\.md)"
"""The files that the agent searches, by path in the memory directory: no hidden ones, daily logs or
indexes."""
TEAM = "team"
"""The folder of a memory directory that a server synchronises between the machines of a team."""
LOCK_NAME = ".consolidate-lock"
"""The lock in a memory directory; see `agents.claude.consolidation`."""
TEMPORARY = r"(?:.*/)?[^/]+\.tmp\.\d+\.[0-9a-f]+"
"""Temporary files in a memory directory, which the agent writes and then renames. A remaining one is from a
killed write."""
DAILY_LOG = re.compile(r"logs/\d{4}/\d{2}/\d{4}-\d{2}-\d{2}\.md")
"""The agent's record of one day, in a memory directory."""
LONGEST = 200
"""Maximum number of characters of a directory's name that come from the path; a longer one is cut and a hash
follows."""
_ABSOLUTE = re.compile(r"-|[A-Za-z]--")
_OWN_NAMES = (".credentials.json", "shell-snapshots", "file-history", "statsig", "todos", "session-memory")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_LOOKED_AT = 50


def directory_of(path: str) -> str:
    """Return the name of the directory in `projects/` for a working directory.

    The name is that of builds of the agent that run on Node. Other builds use different names for paths of
    more than 200 characters: see `same_directory`.
    """
    codes = _units(path)
    name = "".join(map(_kept, codes))
    return name if len(name) <= LONGEST else f"{name[:LONGEST]}-{_hash(codes)}"


def same_directory(name: str, path: str) -> bool:
    """Return whether any build of the current agent may use the directory `name` for the project `path`."""
    own = directory_of(path)
    if len(own) <= LONGEST:
        return name == own
    return name.startswith(own[: LONGEST + 1]) and len(name) > LONGEST + 1


def may_be_of(name: str, path: str) -> bool:
    """Return whether any version of the agent may have used the directory `name` for the project `path`.

    Older versions kept characters that become `-` today.
    """
    if same_directory(name, path):
        return True
    units, codes = _units(name), _units(path)
    return len(units) == len(codes) and all(
        unit == code or (unit == 0x2D and _kept(code) == "-") for unit, code in zip(units, codes, strict=True)
    )


def todays_name(name: str) -> str:
    """Return the name that the current agent gives to the directory that an older version called `name`.

    A name by the current agent is returned unchanged. For a path of more than 200 characters, only the first
    200 characters of the result are reliable, because the current agent replaces the rest by a hash.
    """
    return "".join(map(_kept, _units(name)))


def _units(text: str) -> list[int]:
    """Return the UTF-16 code units of a text; the agent counts in these."""
    data = text.encode("utf-16-le", "surrogatepass")
    return [data[at] | data[at + 1] << 8 for at in range(0, len(data), 2)]


def _kept(code: int) -> str:
    return chr(code) if chr(code).isascii() and chr(code).isalnum() else "-"


def existing_directory(names: Iterable[str], path: str) -> str:
    """Return the name of the directory in `projects/` that belongs to the project `path`.

    `names`: the directories that exist. If none of them fits, or several do, returns the name that builds of
    the agent on Node choose.
    """
    own = directory_of(path)
    names = set(names)
    if own in names or len(own) <= LONGEST:
        return own
    found = [name for name in names if same_directory(name, path)]
    return found[0] if len(found) == 1 else own


def home_root(env: Mapping[str, str], home_dir: Path) -> Path:
    """Return the directory that the agent uses as its home under this environment; it need not exist.

    `env`: the environment variables; `home_dir`: the user's home directory.
    """
    return Path(env["CLAUDE_CONFIG_DIR"]) if env.get("CLAUDE_CONFIG_DIR") else home_dir / ".claude"


def usual_places(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return the paths at which a home may be: the one that the agent would use, then the usual ones.

    `env`: the agent's environment; `home_dir`: the user's home directory.
    """
    usual = (home_dir / ".claude", home_dir / ".config" / "claude")
    return tuple(dict.fromkeys((home_root(env, home_dir), *usual)))


def existing_home_roots(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return those of `usual_places` at which a directory exists."""
    return tuple(root for root in usual_places(env, home_dir) if is_directory(root))


def detect(root: Path) -> bool:
    """Return whether a directory is a home of this agent, judged by files that only this agent keeps.

    A project's own `.claude` is not a home.
    """
    # Credentials are never opened; their existence identifies the home.
    if any(os.path.lexists(root / name) for name in _OWN_NAMES):
        return True
    for number, directory in enumerate(entries_in(root / "projects")):
        if number >= _LOOKED_AT:
            break
        if DIRECTORY.fullmatch(directory.name) and _ABSOLUTE.match(directory.name) and _is_project(directory):
            return True
    # Settings without any project yet; `settings.json` alone is what a project has, too.
    return is_file(root / "settings.json") and (
        is_file(root / "history.jsonl") or is_directory(root / "projects") or is_directory(root / "plugins")
    )


def _is_project(directory: os.DirEntry[str]) -> bool:
    for entry in entries_in(Path(directory.path)):
        if (
            entry.name == "memory"
            or SESSION.fullmatch(entry.name.removesuffix(".jsonl"))
            or SIDECHAIN.fullmatch(entry.name)
        ):
            return True
    return False


def _hash(codes: Iterable[int]) -> str:
    """Return the 32-bit hash common in JavaScript (`h * 31 + code`), as a positive number in base 36."""
    value = 0
    for code in codes:
        value = (value * 31 + code) & 0xFFFFFFFF
    value = abs(value - (1 << 32) if value >= 1 << 31 else value)
    digits = ""
    while value:
        value, digit = divmod(value, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
