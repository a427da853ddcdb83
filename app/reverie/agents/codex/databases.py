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


class CodexDatabases:
    """The databases of one home.

    `cache`: the directory for copies of databases; None: no database is read. `elsewhere`: a further
    directory that may contain the databases, named by the agent's environment; None if it names none.
    """

    def __init__(self, home: Path, cache: Path | None, elsewhere: Path | None = None) -> None:
        self._home = home
        self.cache = cache
        self._elsewhere = elsewhere

    def places(self) -> tuple[Path, ...]:
        """Return the directories that may contain the databases; they need not exist."""
        places = [self._home, self._home / "sqlite", *filter(None, [self._elsewhere])]
        named = config(self._home)[0].get("sqlite_home")
        if isinstance(named, str) and named and "\0" not in named:
            places.append(self._home / named)  # an absolute path stands for itself
        return tuple(dict.fromkeys(places))

    def of_threads(self) -> Database | None:
        """Return the newest database of threads, or None."""
        return self._newest(STATE_DATABASES)

    def of_memory(self, version: str) -> Database | None:
        """Return the newest database of memory jobs for the memory version `version`, or None.

        Early versions of Codex kept the jobs in the database of threads.
        """
        return self._newest(MEMORY_DATABASES[version])

    def _newest(self, pattern: re.Pattern[str]) -> Database | None:
        if self.cache is None:
            return None
        found: list[tuple[int, int, str, Path]] = []
        for directory in self.places():
            for name in file_names(directory, []):
                if match := pattern.fullmatch(name):
                    path = directory / name
                    touched = max((each[0] for each in stamp(path) or () if each), default=0)
                    found.append((int(match[1] or 0), touched, str(path), path))
        return Database(max(found)[3], self.cache / "databases", otherwise=_OTHERWISE) if found else None
