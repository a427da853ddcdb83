"""Names of loki-mode's files, and detection of its stores (formats/loki.md sections 1, 3, 10).

Pure, but for reading the disk in `is_store`, `store_of`, `namespaces` and `indexed_projects`. The module
imports little, because a command that must respond at once uses it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

from reverie.files.directory import is_directory, is_file, read_regular

KIND = "loki"
STORE = ".loki"
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
CRASH_NAME = re.compile(r"(?:[0-9a-f]{64}|scruberror)-[0-9]+\.json")
_LARGEST_LIST = 4 << 20
FOLDERS = ("episodic", "semantic", "skills")
"""The folders of a memory root that hold records."""
DERIVED = ("index.json", "timeline.json")
"""Files that the agent makes from the records."""
_OWN_BOOKS = ("timeline.json", "index.json")


def is_store(directory: Path) -> bool:
    """Return whether a directory is a project's store, judged by files that only this agent keeps."""
    memory = directory / "memory"
    if any(is_directory(memory / part) for part in ("episodic", "semantic")):
        return True
    if all(is_file(memory / book) for book in _OWN_BOOKS):
        return True
    return any(CRASH_NAME.fullmatch(name) for name in _names(directory / "crash"))


def store_of(directory: Path) -> Path | None:
    """Return the store at `directory`, or the store in the project `directory`; None if there is none."""
    return next((each for each in (directory, directory / STORE) if is_store(each)), None)


def memory_root(project: Path, env: Mapping[str, str]) -> Path:
    """Return the memory root of a project under this environment; it need not exist."""
    return memory_elsewhere(project, env) or project / STORE / "memory"


def memory_elsewhere(project: Path, env: Mapping[str, str]) -> Path | None:
    """Return the memory root that the environment `env` names; None if it names none.

    A relative path is below `project`.
    """
    named = env.get("LOKI_MEMORY_BASE_PATH")
    return Path(os.path.normpath(project / named)) if named else None


def indexed_projects(home_dir: Path) -> tuple[Path, ...]:
    """Return the projects in the agent's own list in the user's home directory; none if unreadable.

    The list is described in formats/loki.md section 12.
    """
    path = home_dir / STORE / "knowledge" / "project-index.json"
    try:
        document = json.loads(read_regular(path, _LARGEST_LIST))
    except (OSError, ValueError, RecursionError):
        return ()
    listed = document.get("projects") if isinstance(document, dict) else None
    paths = (
        each.get("path") for each in (listed if isinstance(listed, list) else ()) if isinstance(each, dict)
    )
    return tuple(Path(path) for path in paths if isinstance(path, str) and Path(path).is_absolute())


def namespaces(memory: Path) -> tuple[str, ...]:
    """Return the names of the namespaces below a memory root.

    A namespace is a directory with the same structure as the memory root.
    """
    return tuple(
        name
        for name in sorted(_names(memory))
        if not name.startswith(".")
        and name not in FOLDERS
        and any(is_directory(memory / name / part) for part in FOLDERS)
    )


def safe_name(text: str) -> str:
    """Return an id as a safe part of a file name, without characters such as `/`."""
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in text)


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)  # noqa: PTH208 - a missing directory must cost one call
    except OSError:
        return []
