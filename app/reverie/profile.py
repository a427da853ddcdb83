"""Where Reverie keeps its own files: four directories, and the names inside them.

A profile is a value: reading it touches nothing. A directory appears only when `ensure` is called for it,
just before it is written to, with mode 0700 (it holds memory text or history). Nothing of Reverie's own is
ever inside an agent's home.

Threading: immutable, any thread. Failure: `ensure` raises `UserError` when it cannot make a directory.
"""

from __future__ import annotations

import os
from pathlib import Path

from reverie.files.directory import ensure_private
from reverie.values import Struct

_APP = "reverie"


class Profile(Struct, frozen=True):
    """Settings in `config`, permanent data in `data`, rebuildable files in `cache`, process state in
    `state`."""

    config: Path
    data: Path
    cache: Path
    state: Path

    @classmethod
    def under(cls, directory: Path) -> Profile:
        """A profile that lies entirely under one directory (`--profile DIR`)."""
        return cls(directory / "config", directory / "data", directory / "cache", directory / "state")

    @classmethod
    def default(cls) -> Profile:
        """The user's profile: `XDG_*` wherever it is set to an absolute path, else what the platform uses."""
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
        """Ids of the homes seen so far."""
        return self.data / "homes.json"

    @property
    def leases_database(self) -> Path:
        return self.state / "leases.sqlite"

    @property
    def log_file(self) -> Path:
        """The log of the window."""
        return self.state / "logs" / "reverie.log"

    @property
    def engine_log(self) -> Path:
        """The log of the engine."""
        return self.state / "logs" / "engine.log"

    @property
    def locks(self) -> Path:
        return self.state / "locks"

    @property
    def actor_log(self) -> Path:
        return self.state / "actors.sqlite"

    @property
    def catalogue(self) -> Path:
        """What is known of the files of all homes, and the index of their words."""
        return self.cache / "catalogue.sqlite"

    @property
    def homes_cache(self) -> Path:
        """Copies of agents' databases and what was found out by reading long files."""
        return self.cache / "homes"

    def history(self, home_id: str) -> Path:
        """The repository of a home's history."""
        return self.data / "history" / f"{home_id}.git"

    def runs(self, home_id: str) -> Path:
        """The directory of a home's run records."""
        return self.data / "runs" / home_id

    def edits(self, home_id: str) -> Path:
        """The journal of the change by hand that is being made in a home; nothing is in it otherwise."""
        return self.data / "edits" / home_id

    def traces(self, home_id: str) -> Path:
        """The directory of the traces of a home's runs."""
        return self.data / "traces" / home_id

    def images(self, home_id: str) -> Path:
        """File contents before and after runs, by hash: apart from the records, which hold no memory text."""
        return self.data / "images" / home_id

    def activity(self, home_id: str) -> Path:
        """The Activity log of a home."""
        return self.data / "activity" / f"{home_id}.jsonl"

    def own_sidecars(self, home_id: str) -> Path:
        """The directory for the sidecars of a home whose agent has none of its own."""
        return self.data / "sidecars" / home_id

    def ensure(self, directory: Path) -> Path:
        """Make `directory` (and missing parents) private and return it. Raises `UserError`."""
        return ensure_private(directory)


def _directory(variable: str, platform_function: str) -> Path:
    value = os.environ.get(variable, "")
    if os.path.isabs(value):  # noqa: PTH117 - an empty Path is "." and would count as relative by luck only
        return Path(value) / _APP
    # Late: a profile given on the command line never needs it.
    import platformdirs

    return Path(getattr(platformdirs, platform_function)(_APP, appauthor=False))
