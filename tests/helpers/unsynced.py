"""Finds new directories that a power failure could still remove: their parent was not synced since."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest


class Unsynced:
    """Watches this process from now on, as far as `monkeypatch` lasts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._by_parent: dict[tuple[int, int], list[str]] = {}
        mkdir, fsync = os.mkdir, os.fsync

        def made(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
            mkdir(path, mode, dir_fd=dir_fd)
            name = os.fspath(path)
            above = os.fstat(dir_fd) if dir_fd is not None else Path(name).parent.stat()
            self._by_parent.setdefault((above.st_dev, above.st_ino), []).append(str(name))

        def synced(fd: int) -> None:
            fsync(fd)
            status = os.fstat(fd)
            self._by_parent.pop((status.st_dev, status.st_ino), None)

        monkeypatch.setattr(os, "mkdir", made)
        monkeypatch.setattr(os, "fsync", synced)

    def names(self) -> list[str]:
        """The directories that a power failure could take away now, as they were made; none that is gone."""
        made = [name for names in self._by_parent.values() for name in names]
        return [name for name in made if not Path(name).is_absolute() or Path(name).exists()]
