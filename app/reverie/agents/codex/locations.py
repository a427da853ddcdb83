"""Names of Codex's files, and detection of its homes (formats/codex.md sections 1 to 3).

Pure, but for reading the disk in `detect`, `config` and the functions that resolve or list paths.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from reverie.agents.reading import cached_until_changed, directory_names, entries_in
from reverie.files.directory import is_directory, is_file, is_there, read_regular, real_path

KIND = "codex"
BUCKET = re.compile(r"[0-9a-f]{64}|[0-9a-f]{16}")
"""The name of a directory in `memories/` with the memory of one working directory: 64 hex digits in the first
generation, 16 in the next one."""
USER_BUCKET = "user"
STATE_DATABASES = re.compile(r"state(?:_(\d+))?\.sqlite")
MEMORY_DATABASES: Mapping[str, re.Pattern[str]] = {
    "v1": re.compile(r"memories(?:_(\d+))?\.sqlite"),
    "v2": re.compile(r"memories_v2(?:_(\d+))?\.sqlite"),
}
"""The file names of the database of memory jobs, by memory version."""
_CONFIG_BYTES = 4 << 20
_WINDOWS_DRIVE = re.compile(r"/mnt/[A-Za-z](?:/|$)")
_YEAR = re.compile(r"\d{4}")
_OWN_NAMES = ("session_index.jsonl", "archived_sessions", "memories_extensions", "memories_v2.lock")
_MEMORY_NAMES = ("raw_memories.md", "rollout_summaries", "memory_summary.md")


def bucket_of(cwd: str) -> str:
    """Return the name of the directory in `memories/` for `cwd`, a normalised path: 64 hex digits.

    Codex's first memory format uses the whole name, its second one only the first 16 digits.
    """
    try:
        name = cwd.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a character, which JSON may hold and no disk does
        name = cwd.encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()


def normalised_cwd(cwd: str, *, wsl: bool | None = None) -> str:
    """Return the working directory `cwd` with symlinks resolved; unchanged if it does not exist.

    Under WSL a path on a Windows drive is lower-cased. `wsl`: whether this is WSL; None: detect it.
    """
    try:
        real = real_path(cwd, strict=True)
    except (OSError, ValueError):
        return cwd
    mounted = _WINDOWS_DRIVE.match(real) and (_is_wsl() if wsl is None else wsl)
    return _ascii_lower(real) if mounted else real


def slug_of(title: str) -> str:
    """Return the part of a trace file's name that Codex makes from the `title` of its thread."""
    slug = re.sub(r"[^a-z0-9]+", "_", _ascii_lower(title)).strip("_")
    # Cut after trimming, so that a slug may end in an underscore.
    return slug[:64] or "trace"


def trace_name(thread_id: str, title: str) -> str:
    """Return the name of the file in `trace_summaries/` for the thread with this id and title."""
    return f"{thread_id}_{slug_of(title)}.md"


def thread_of_trace(name: str) -> str:
    """Return the thread id in the name of a trace file; empty for the name of any other file."""
    stem, dot, suffix = name.rpartition(".")
    head, underscore, _slug = stem.partition("_")
    return head if dot and suffix == "md" and underscore else ""


def home_root(env: Mapping[str, str], home_dir: Path) -> Path:
    """Return the directory that the agent uses as its home under this environment; it need not exist.

    `env`: the environment variables; `home_dir`: the user's home directory.
    """
    return Path(env["CODEX_HOME"]) if env.get("CODEX_HOME") else home_dir / ".codex"


def sqlite_home(root: Path, env: Mapping[str, str], home_dir: Path) -> Path | None:
    """Return the directory for databases of the home at `root` that the environment names, or None.

    The variable `CODEX_SQLITE_HOME` applies only to the home that the agent uses in this environment. A
    relative path in it is ignored, because it depends on the directory in which the agent is started.
    """
    told = env.get("CODEX_SQLITE_HOME", "")
    if not told or "\0" in told or not Path(told).is_absolute():
        return None
    return Path(told) if _same(root, home_root(env, home_dir)) else None


def usual_places(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return the paths at which a home may be: the one that the agent would use, then the usual one.

    `env`: the agent's environment; `home_dir`: the user's home directory.
    """
    return tuple(dict.fromkeys((home_root(env, home_dir), home_dir / ".codex")))


def existing_home_roots(env: Mapping[str, str], home_dir: Path) -> tuple[Path, ...]:
    """Return those of `usual_places` at which a directory exists."""
    return tuple(root for root in usual_places(env, home_dir) if is_directory(root))


def detect(root: Path) -> bool:
    """Return whether a directory is a home of this agent, judged by files that only this agent keeps."""
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
    # Credentials are never opened; their existence identifies the home.
    return is_file(root / "config.toml") and any(is_file(root / n) for n in ("auth.json", "history.jsonl"))


def database_names(directory: Path) -> tuple[str, ...]:
    """Return the names of the files that change when the agent writes to its databases of threads and jobs.

    These are existing files in `directory`, and the files that a recent version of Codex would create.
    """
    there = {"state_5.sqlite", "memories_1.sqlite", "memories_v2_1.sqlite"}
    patterns = (STATE_DATABASES, *MEMORY_DATABASES.values())
    there |= {name for name in _names(directory) if any(each.fullmatch(name) for each in patterns)}
    return tuple(sorted(each for name in there for each in (name, f"{name}-wal")))


def config(home: Path) -> tuple[Mapping[str, Any], str]:
    """Return the contents of config.toml, and a message on why it cannot be read (empty if it can).

    Both are empty if there is no file.
    """
    try:
        return _parsed(home / "config.toml")
    except FileNotFoundError:
        return {}, ""
    except OSError as error:
        return {}, f"config.toml cannot be read: {error.strerror or error}."


@cached_until_changed(64)
def _parsed(path: Path) -> tuple[Mapping[str, Any], str]:
    """Return the contents of config.toml and a message about its problem, as `config` does."""
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
