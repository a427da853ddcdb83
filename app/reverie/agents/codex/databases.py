"""The databases of a Codex home (formats/codex.md sections 1, 2, 4 and 5).

Each version of Codex numbers its databases. The one with the highest number is used; it may be in the home,
in its `sqlite/`, or in a directory from the settings or the environment, and the newest file is read.
Databases are read through copies.

Threading, failure: as in `agents.base`.
"""

from __future__ import annotations

import re
from pathlib import Path

from reverie.agents.codex.locations import MEMORY_DATABASES, STATE_DATABASES, config
from reverie.agents.reading import file_names
from reverie.files.sqlite import Database, stamp

_OTHERWISE = "; Reverie can still read the rollouts"


def state_database(home: Path, cache: Path | None, elsewhere: Path | None = None) -> Database | None:
    """Return the newest database of threads; None if there is none, or if `cache` is None.

    `cache`: the directory for copies of databases. `elsewhere`: a further directory that may contain the
    databases, named by the agent's environment; None if it names none.
    """
    return _newest(home, STATE_DATABASES, cache, elsewhere)


def memory_database(
    home: Path, cache: Path | None, elsewhere: Path | None = None, version: str = "v1"
) -> Database | None:
    """Return the newest database of memory jobs for one memory version, or None.

    None if there is none, or if `cache` is None. Early versions of Codex kept the jobs in the database of
    threads. `cache`: the directory for copies of databases. `elsewhere`: a further directory that may contain
    the databases, named by the agent's environment; None if it names none. `version`: the version of the
    memory.
    """
    return _newest(home, MEMORY_DATABASES[version], cache, elsewhere)


def database_places(home: Path, elsewhere: Path | None = None) -> tuple[Path, ...]:
    """Return the directories that may contain the databases; they need not exist.

    `elsewhere`: the directory that the agent's environment names, if any.
    """
    places = [home, home / "sqlite", *([elsewhere] if elsewhere is not None else [])]
    named = config(home)[0].get("sqlite_home")
    if isinstance(named, str) and named and "\0" not in named:
        places.append(home / named)  # an absolute path stands for itself
    return tuple(dict.fromkeys(places))


def _newest(
    home: Path, pattern: re.Pattern[str], cache: Path | None, elsewhere: Path | None
) -> Database | None:
    if cache is None:
        return None
    found: list[tuple[int, int, str, Path]] = []
    for directory in database_places(home, elsewhere):
        for name in file_names(directory, []):
            match = pattern.fullmatch(name)
            if match:
                path = directory / name
                touched_at = stamp(path)
                touched = max((each[0] for each in touched_at or () if each), default=0)
                found.append((int(match[1] or 0), touched, str(path), path))
    return Database(max(found)[3], cache / "databases", otherwise=_OTHERWISE) if found else None
