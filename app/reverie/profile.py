"""The paths of Reverie's own files: four directories and the names inside them.

Creating a `Profile` does not access the disk. `ensure` creates a directory just before something is written
there, with mode 0700, because it may hold memory text or history. None of Reverie's own files lies inside an
agent's home.

Threading: immutable, any thread. Failure: `ensure` raises `UserError` if it cannot create a directory.
"""

from __future__ import annotations

import os
from pathlib import Path

from reverie.files.directory import ensure_private
from reverie.values import Struct

_APP = "reverie"


class Profile(Struct, frozen=True):
    """The four directories with Reverie's own files for one user.

    A home is the state directory of one agent; the argument `home_id` of a method is the id of a home in
    `registry`.
    """

    config: Path
    """The directory of the settings."""
    data: Path
    """The directory of permanent data, such as histories and run records."""
    cache: Path
    """The directory of files that can be made again."""
    state: Path
    """The directory of logs, locks and the like."""

    @classmethod
    def under(cls, directory: Path) -> Profile:
        """Return a profile whose directories all lie below `directory`, for the option `--profile DIR`."""
        return cls(directory / "config", directory / "data", directory / "cache", directory / "state")

    @classmethod
    def default(cls) -> Profile:
        """Return the user's profile.

        Each directory comes from its variable, such as `XDG_DATA_HOME`, if that is an absolute path, else
        from the conventions of the platform.
        """
        return cls(
            _directory("XDG_CONFIG_HOME", "user_config_dir"),
            _directory("XDG_DATA_HOME", "user_data_dir"),
            _directory("XDG_CACHE_HOME", "user_cache_dir"),
            _directory("XDG_STATE_HOME", "user_state_dir"),
        )

    @property
    def settings_file(self) -> Path:
        return self.config / "config.toml"

    @property
    def registry(self) -> Path:
        """The file with the ids and paths of the homes seen so far."""
        return self.data / "homes.json"

    @property
    def leases_database(self) -> Path:
        return self.state / "leases.sqlite"

    @property
    def log_file(self) -> Path:
        """The path of the log file of the window."""
        return self.state / "logs" / "reverie.log"

    @property
    def engine_log(self) -> Path:
        """The path of the log file of the engine, the process that does the work for windows and commands."""
        return self.state / "logs" / "engine.log"

    @property
    def locks(self) -> Path:
        return self.state / "locks"

    @property
    def actor_log(self) -> Path:
        return self.state / "actors.sqlite"

    @property
    def catalogue(self) -> Path:
        """The path of the search database: facts about the files of all homes, and their full-text index."""
        return self.cache / "catalogue.sqlite"

    @property
    def homes_cache(self) -> Path:
        """The directory for copies of agents' databases, and for facts that were read from long files."""
        return self.cache / "homes"

    def history(self, home_id: str) -> Path:
        """Return the path of the git repository with the history of a home's files."""
        return self.data / "history" / f"{home_id}.git"

    def runs(self, home_id: str) -> Path:
        """Return the directory of a home's run records; a run is one job that may change memories."""
        return self.data / "runs" / home_id

    def edits(self, home_id: str) -> Path:
        """Return the directory for journals of edits by a person in a home.

        A journal lists the planned writes of one edit of several files. It exists only while the edit is in
        progress, and serves to finish or undo the edit after a crash.
        """
        return self.data / "edits" / home_id

    def traces(self, home_id: str) -> Path:
        """Return the directory of the traces of a home's runs; a trace records everything that a run did."""
        return self.data / "traces" / home_id

    def images(self, home_id: str) -> Path:
        """Return the directory for the contents of files before and after a home's runs.

        Each file in it is named by the hash of its content. The contents are stored apart from the run
        records, which contain no memory text.
        """
        return self.data / "images" / home_id

    def activity(self, home_id: str) -> Path:
        """Return the path of the log of a home's background activity (see `runs.activity`)."""
        return self.data / "activity" / f"{home_id}.jsonl"

    def own_sidecars(self, home_id: str) -> Path:
        """Return the directory for Reverie's own files about a home, such as usage and pins of memories.

        Usage and pins are stored here only if the agent itself keeps no such files.
        """
        return self.data / "sidecars" / home_id

    def ensure(self, directory: Path) -> Path:
        """Create `directory` and its missing parents with mode 0700, and return it.

        Raises `UserError` if that is impossible.
        """
        return ensure_private(directory)


def _directory(variable: str, platform_function: str) -> Path:
    value = os.environ.get(variable, "")
    if os.path.isabs(value):  # noqa: PTH117 - an empty Path is "." and would count as relative by luck only
        return Path(value) / _APP
    # Late, because a profile given on the command line never needs it.
    import platformdirs

    return Path(getattr(platformdirs, platform_function)(_APP, appauthor=False))
