"""How Codex names what it keeps (formats/codex.md sections 1 to 3), and how to tell one of its homes.

Pure, but for looking at the disk in `detect` and `config`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from reverie.agents.reading import directory_names, entries_in
from reverie.files.directory import is_directory, is_file, is_there, read_regular, real_path

KIND = "codex"
BUCKET = re.compile(r"[0-9a-f]{64}|[0-9a-f]{16}")
"""A directory in `memories/` that holds the memory of one working directory: 64 digits in the first
generation, 16 in the one after it."""
USER_BUCKET = "user"
STATE_DATABASES = re.compile(r"state(?:_(\d+))?\.sqlite")
MEMORY_DATABASES: Mapping[str, re.Pattern[str]] = {
    "v1": re.compile(r"memories(?:_(\d+))?\.sqlite"),
    "v2": re.compile(r"memories_v2(?:_(\d+))?\.sqlite"),
}
"""The database of memory jobs, by the version of the memory that it is about."""
_CONFIG_BYTES = 4 << 20
_WINDOWS_DRIVE = re.compile(r"/mnt/[A-Za-z](?:/|$)")
_YEAR = re.compile(r"\d{4}")
_OWN_NAMES = ("session_index.jsonl", "archived_sessions", "memories_extensions", "memories_v2.lock")
_MEMORY_NAMES = ("raw_memories.md", "rollout_summaries", "memory_summary.md")


def bucket_of(cwd: str) -> str:
    """The directory in `memories/` for a normalised working directory, first generation; the next one uses
    its first 16 digits."""
    try:
        name = cwd.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, which JSON may hold and no disk does
        name = cwd.encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()


def normalised_cwd(cwd: str, *, wsl: bool | None = None) -> str:
    """Symlinks resolved; as given where it does not exist. On a drive of Windows, under WSL, lower-cased.
    `wsl`: whether this is one; None: find out."""
    try:
        real = real_path(cwd, strict=True)
    except (OSError, ValueError):
        return cwd
    mounted = _WINDOWS_DRIVE.match(real) and (_is_wsl() if wsl is None else wsl)
    return _ascii_lower(real) if mounted else real


def slug_of(title: str) -> str:
    """The part of a trace file's name that tells what it is about."""
    slug = re.sub(r"[^a-z0-9]+", "_", _ascii_lower(title)).strip("_")
    # Cut after trimming, so that a slug may end in an underscore.
    return slug[:64] or "trace"


def trace_name(thread_id: str, title: str) -> str:
    """The name of a thread's file in `trace_summaries/`."""
    return f"{thread_id}_{slug_of(title)}.md"


def thread_of_trace(name: str) -> str:
    """The thread whose trace a file is; empty for a file that no pruning touches."""
    stem, dot, suffix = name.rpartition(".")
    head, underscore, _slug = stem.partition("_")
    return head if dot and suffix == "md" and underscore else ""


def home_root(env: Mapping[str, str], home_dir: Path) -> Path:
    """The directory the agent uses under this environment; it need not exist."""
    return Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home_dir / ".codex"


def sqlite_home(root: Path, env: Mapping[str, str], home_dir: Path) -> Path | None:
    """Where this environment puts the databases of the home at `root`: it speaks of the home that the agent
    uses under it, and of no other. None: it says nothing. A relative path is of wherever the agent runs."""
    told = env.get("CODEX_SQLITE_HOME", "")
    if not told or "\0" in told or not Path(told).is_absolute():
        return None
    return Path(told) if _same(root, home_root(env, home_dir)) else None


def usual_places(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Where a home may be: the one the agent would use, then the usual one."""
    return tuple(dict.fromkeys((home_root(env, home_dir), home_dir / ".codex")))


def existing_home_roots(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Those of the usual places that exist."""
    return tuple(root for root in usual_places(env, home_dir) if is_directory(root))


def detect(root: Path) -> bool:
    """Whether a directory is a home of this agent, judged by what only this agent keeps in one."""
    if any(is_there(root / name) for name in _OWN_NAMES):
        return True
    for directory in (root, root / "sqlite"):
        if any(STATE_DATABASES.fullmatch(name) for name in _names(directory)):
            return True
    if any(_YEAR.fullmatch(name) for name in directory_names(root / "sessions", [])):
        return True
    memories = root / "memories"
    if any(BUCKET.fullmatch(name) and is_directory(memories / name / "memory") for name in _names(memories)):
        return True
    if any(is_there(store / name) for store in (memories, root / "memories_v2") for name in _MEMORY_NAMES):
        return True
    # Credentials are never opened; that they are there says whose home it is.
    return is_file(root / "config.toml") and any(is_file(root / n) for n in ("auth.json", "history.jsonl"))


def database_names(directory: Path) -> tuple[str, ...]:
    """The files that change when the agent writes in its books of threads and jobs: of those in a directory,
    and of those the newest generation has."""
    there = {"state_5.sqlite", "memories_1.sqlite", "memories_v2_1.sqlite"}
    patterns = (STATE_DATABASES, *MEMORY_DATABASES.values())
    there |= {name for name in _names(directory) if any(each.fullmatch(name) for each in patterns)}
    return tuple(sorted(each for name in there for each in (name, f"{name}-wal")))


def config(home: Path) -> tuple[Mapping[str, Any], str]:
    """What config.toml says, and a sentence where it cannot be read; nothing of either without the file."""
    path = home / "config.toml"
    try:
        status = path.stat()
        return _parsed(path, status.st_mtime_ns, status.st_size, status.st_ino)
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"config.toml cannot be read: {error.strerror or error}."


@lru_cache(maxsize=64)
def _parsed(path: Path, _mtime_ns: int, _size: int, _inode: int) -> tuple[Mapping[str, Any], str]:
    """Kept until the file changes."""
    import tomllib  # late: the first names need no settings

    try:
        return tomllib.loads(read_regular(path, _CONFIG_BYTES).decode("utf-8", "replace")), ""
    except (ValueError, RecursionError) as error:
        return {}, f"config.toml is not valid TOML: {error}."


def _same(one: Path, other: Path) -> bool:
    return real_path(one) == real_path(other)


def _names(directory: Path) -> Iterator[str]:
    return (entry.name for entry in entries_in(directory))


@cache
def _is_wsl() -> bool:
    try:
        return "microsoft" in Path("/proc/version").read_text(encoding="utf-8", errors="replace").lower()
    except OSError:
        return False


def _ascii_lower(text: str) -> str:
    return "".join(chr(ord(char) + 32) if "A" <= char <= "Z" else char for char in text)
