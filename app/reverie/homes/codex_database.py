"""The databases of Codex, looked at through copies (formats/codex.md sections 1, 2, 4 and 5).

Which number a name carries differs between versions: the highest number counts, in the home, in its `sqlite/`
or where settings or environment put it, whichever is newer.

Threading and failure: as `homes.database_copy`; a missing database is None.
"""

from __future__ import annotations

import contextlib
import re
import tomllib
from pathlib import Path

from reverie.files.regular import read_regular
from reverie.homes.codex_names import MEMORY_DATABASES, STATE_DATABASES
from reverie.homes.database_copy import Database, stamp
from reverie.homes.database_copy import Row as Row
from reverie.homes.reading import file_names

_CONFIG_BYTES = 4 << 20
_OTHERWISE = "; the rollouts are read all the same"


def state_database(home: Path, cache: Path | None, elsewhere: Path | None = None) -> Database | None:
    """The database of threads; None where there is none, or no place for a copy. `elsewhere`: see
    `database_places`."""
    return _newest(home, STATE_DATABASES, cache, elsewhere)


def memory_database(
    home: Path, cache: Path | None, elsewhere: Path | None = None, version: str = "v1"
) -> Database | None:
    """The database of memory jobs, of one version of the memory; early programs kept those in the state
    database."""
    return _newest(home, MEMORY_DATABASES[version], cache, elsewhere)


def database_places(home: Path, elsewhere: Path | None = None) -> tuple[Path, ...]:
    """Where databases may lie; none of these need exist. `elsewhere`: where the agent's environment puts
    them, if it does."""
    places = [home, home / "sqlite", *([elsewhere] if elsewhere is not None else [])]
    with contextlib.suppress(OSError, ValueError, RecursionError):
        config = read_regular(home / "config.toml", _CONFIG_BYTES).decode("utf-8", "replace")
        told = tomllib.loads(config).get("sqlite_home")
        if isinstance(told, str) and told and "\0" not in told:
            places.append(home / told)  # an absolute path stands for itself
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
